// Prints what the local chain takes from npm packages: creation code and canonical address of
// each contract of the Delegation Framework, and the creation code of the rest of the field.
// Nothing of it is committed; the builder of the local chain reads it from here.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import * as bytecode from '@metamask/delegation-abis/bytecode';
import { DELEGATOR_CONTRACTS } from '@metamask/delegation-deployments';

const require = createRequire(import.meta.url);
const VERSION = '1.3.0';
const CHAIN_ID = 8453;

// The package's code of this one is older than what is deployed under its address, so putting it
// there would make the local chain lie.
const LEFT_OUT = new Set(['SpecificActionERC20TransferBatchEnforcer', 'EntryPoint']);

const framework = {};
for (const [name, address] of Object.entries(DELEGATOR_CONTRACTS[VERSION][CHAIN_ID])) {
  if (LEFT_OUT.has(name)) continue;
  const code = bytecode[name] ?? bytecode[name.replace(/Impl$/, '')];
  if (code === undefined) throw new Error(`no creation code for ${name}`);
  framework[name] = { address, code };
}

const artifact = (path) => {
  const json = JSON.parse(readFileSync(require.resolve(path), 'utf8'));
  return typeof json.bytecode === 'string' ? json.bytecode : json.bytecode.object;
};

process.stdout.write(
  JSON.stringify({
    framework,
    proxy: bytecode.ERC1967Proxy,
    passkey_library: bytecode.SCL_RIP7212,
    entry_point: artifact('@account-abstraction/contracts/artifacts/EntryPoint.json'),
    weth: artifact('canonical-weth/build/contracts/WETH9.json'),
    factory: artifact('@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json'),
    swap_router: artifact('@uniswap/v3-periphery/artifacts/contracts/SwapRouter.sol/SwapRouter.json'),
    swap_router_02: artifact(
      '@uniswap/swap-router-contracts/artifacts/contracts/SwapRouter02.sol/SwapRouter02.json',
    ),
    position_manager: artifact(
      '@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json',
    ),
    quoter: artifact('@uniswap/swap-router-contracts/artifacts/contracts/lens/QuoterV2.sol/QuoterV2.json'),
  }),
);
