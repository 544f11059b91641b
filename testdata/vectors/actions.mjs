// Writes the vectors that every reader of a Golem's calls must agree on: what a call means, or why it is refused.
//
//   node testdata/vectors/actions.mjs           writes actions.json beside this file
//   node testdata/vectors/actions.mjs --check   writes nothing; exits 1 if the file is stale
//
// Calls are encoded by viem from the interfaces that Uniswap publishes and from viem's own of ERC-20 and
// ERC-4626; what they mean is written down here by hand. There is no clock and no randomness.

import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  concat,
  encodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  erc4626Abi,
  maxUint128,
  maxUint160,
  maxUint256,
  numberToHex,
  pad,
  parseAbi,
  size,
  slice,
} from 'viem';

const require = createRequire(import.meta.url);
const ROUTER_ABI = published('v3-periphery', 'SwapRouter');
const ROUTER02_ABI = published('swap-router-contracts', 'SwapRouter02');
const MANAGER_ABI = published('v3-periphery', 'NonfungiblePositionManager');
const WETH_ABI = parseAbi(['function deposit() payable', 'function withdraw(uint256 wad)']);
const HIDDEN_ABI = parseAbi([
  'function increaseAllowance(address spender, uint256 added)',
  'function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
]);
// Three functions of one name; viem wants one at a time.
const PLAIN_MULTICALL = parseAbi(['function multicall(bytes[] data)']);
const DEADLINE_MULTICALL = parseAbi(['function multicall(uint256 deadline, bytes[] data)']);
const HASH_MULTICALL = parseAbi(['function multicall(bytes32 previousBlockhash, bytes[] data)']);
const LIFECYCLE_ABI = parseAbi([
  'function spawnReplicant(bytes32 golemId, address replicant, bytes32 delegationHash)',
  'function settle(bytes32 golemId, bytes32 manifestHash)',
]);
const REGISTRY_ABI = parseAbi([
  'struct Caveat { address enforcer; bytes terms; bytes args; }',
  'struct Delegation { address delegate; address delegator; bytes32 authority; Caveat[] caveats; uint256 salt; bytes signature; }',
  'function updateVitality(bytes32 golemId, uint8 phase, uint16 score)',
  'function setDreaming(bytes32 golemId, bool dreaming)',
  'function updatePad(bytes32 golemId, int8 pleasure, int8 arousal, int8 dominance)',
  'function heartbeat(bytes32 golemId, bytes32 auditHead)',
  'function close(bytes32 golemId)',
  'function register(bytes32 salt, address agentKey)',
  'function registerWithGrant(Delegation grant, uint256 caveatIndex, bytes32 salt)',
  'function attach(bytes32 golemId, address agentKey)',
  'function detach(bytes32 golemId)',
  'function advance(bytes32 golemId, uint8 phase)',
  'function feed(bytes32 golemId, uint8 phase)',
  'function revoke(bytes32 golemId)',
  'function revokeAll()',
  'function deregister(bytes32 golemId)',
  'function state(bytes32 golemId, address owner)',
]);

const MARKET_ABI = parseAbi([
  'function sell(bytes32 entryId, address seller, address buyer)',
  'function publish(bytes32 contentHash, bytes32 parent, uint16 royaltyBps, address token, uint96 price)',
  'function bequeath(bytes32 entryId, address heir)',
  'function order(bytes32 entryId, address seller, uint256 notAfter)',
  'function cancel(bytes32 entryId, address seller)',
  'function royaltiesOf(bytes32 entryId, address seller)',
]);

// The local chain's addresses, where it has them.
const WETH = '0x4200000000000000000000000000000000000006';
const USDC = '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913';
const ROUTER = '0x05e695e736b65a90330482c36dbd3c5efb2d697c';
const ROUTER02 = '0x2626664c2603336e57b271c5c0b26f421741e481';
const MANAGER = '0x03a520b32c04bf3beef7beb72e919cf822ed34f1';
const VAULT = '0x21c75182ca2f9e9fac0a39fcba1422a3d650d2bc';
const LIFECYCLE = '0x00000000000000000000000000000000000011fe';
const REGISTRY = '0x0000000000000000000000000000000000006e61';
const MARKET = '0x000000000000000000000000000000000003a4e7';
const AGENT = '0x00000000000000000000000000000000000a6e47';
const ACCOUNT = '0x00000000000000000000000000000000000acc07';
const THIEF = '0x0000000000000000000000000000000000bad001';
const THIRD = '0x1111111111111111111111111111111111111111';
const FOURTH = '0x2222222222222222222222222222222222222222';
const ZERO = '0x0000000000000000000000000000000000000000';
const DEADLINE = 1_800_000_600n;
const HASH_ONE = `0x${'a1'.repeat(32)}`;
const HASH_TWO = `0x${'b2'.repeat(32)}`;
const NO_HASH = `0x${'00'.repeat(32)}`;
const LAST_HASH = `0x${'ff'.repeat(32)}`;

const ALL_FIELDS = {
  class: '',
  target: ZERO,
  tokenOut: ZERO,
  amountOut: 0n,
  tokenOut2: ZERO,
  amountOut2: 0n,
  tokenIn: ZERO,
  minimumIn: 0n,
  minimum0: 0n,
  minimum1: 0n,
  recipient: ZERO,
  spender: ZERO,
  source: ZERO,
  positionId: 0n,
  fee: 0n,
  golemId: NO_HASH,
  entryId: NO_HASH,
};

/** Kinds of targets: the role, an address that has it, and the interface its calls are encoded with. */
const TOKEN = { role: 'Token', target: USDC, abi: erc20Abi };
const WRAPPED = { role: 'Weth', target: WETH, abi: [...WETH_ABI, ...erc20Abi] };
const FIRST = { role: 'SwapRouter', target: ROUTER, abi: ROUTER_ABI };
const SECOND = { role: 'SwapRouter02', target: ROUTER02, abi: ROUTER02_ABI };
const POSITIONS = { role: 'PositionManager', target: MANAGER, abi: MANAGER_ABI };
const SAVINGS = { role: 'Vault', target: VAULT, abi: erc4626Abi };
const LIFE = { role: 'Lifecycle', target: LIFECYCLE, abi: LIFECYCLE_ABI };
const REGISTER = { role: 'Registry', target: REGISTRY, abi: REGISTRY_ABI };
const SHOP = { role: 'Market', target: MARKET, abi: MARKET_ABI };
const KEY = { role: 'AgentKey', target: AGENT };
const STRANGER = { role: 'None', target: THIRD, abi: erc20Abi };
const ROLES = [TOKEN, WRAPPED, FIRST, SECOND, POSITIONS, SAVINGS, LIFE, REGISTER, SHOP];

const vectors = [];

function published(project, contract) {
  return require(`@uniswap/${project}/artifacts/contracts/${contract}.sol/${contract}.json`).abi;
}

function call(kind, functionName, ...args) {
  return encodeFunctionData({ abi: kind.abi, functionName, args });
}

/** A call that means `effects`, one or several. */
function means(name, kind, data, effects, value = 0n) {
  const actions = [effects].flat().map((effect) => {
    const unknown = Object.keys(effect).filter((field) => !(field in ALL_FIELDS));
    if (unknown.length > 0) throw new Error(`${name}: no field ${unknown[0]}`);
    return { ...ALL_FIELDS, target: kind.target, ...effect };
  });
  push({ name, role: kind.role, target: kind.target, value, data, ok: true, error: '', actions });
}

/** A call that must not be made; `Malformed` is a refusal without a word, by the ABI decoder itself. */
function refused(name, kind, data, error, value = 0n) {
  push({ name, role: kind.role, target: kind.target, value, data, ok: false, error, actions: [] });
}

function push(vector) {
  if (vectors.some(({ name }) => name === vector.name)) throw new Error(`two vectors are called: ${vector.name}`);
  vectors.push(vector);
}

/** Replaces word `index` after the selector. */
function withWord(data, index, word) {
  const at = 4 + index * 32;
  const rest = size(data) > at + 32 ? slice(data, at + 32) : '0x';
  return concat([slice(data, 0, at), pad(word), rest]);
}

function withoutEnd(data, bytes) {
  return slice(data, 0, size(data) - bytes);
}

function inserted(data, index) {
  const at = 4 + index * 32;
  return concat([slice(data, 0, at), pad('0x'), slice(data, at)]);
}

function path(...parts) {
  return concat(parts.map((part) => (typeof part === 'number' ? numberToHex(part, { size: 3 }) : part)));
}

// ---------------------------------------------------------------------------------------------------- tokens

for (const kind of [TOKEN, WRAPPED, SAVINGS]) {
  const own = { tokenOut: kind.target };
  const of = kind.role;
  means(`transfer of ${of}`, kind, call(kind, 'transfer', ACCOUNT, 25n), {
    class: 'Transfer', ...own, amountOut: 25n, recipient: ACCOUNT,
  });
  means(`transferFrom of ${of}`, kind, call(kind, 'transferFrom', THIRD, THIEF, maxUint256), {
    class: 'Transfer', ...own, amountOut: maxUint256, source: THIRD, recipient: THIEF,
  });
  refused(`transferFrom of nobody’s ${of}`, kind, call(kind, 'transferFrom', ZERO, THIEF, 1n), 'Sentinel');
  means(`approve of ${of}`, kind, call(kind, 'approve', ROUTER02, 1n), {
    class: 'Approve', ...own, amountOut: 1n, spender: ROUTER02,
  });
  means(`approve without end of ${of}`, kind, call(kind, 'approve', THIEF, maxUint256), {
    class: 'Approve', ...own, amountOut: maxUint256, spender: THIEF,
  });
  means(`approve of zero of ${of}`, kind, call(kind, 'approve', ROUTER02, 0n), {
    class: 'Disapprove', ...own, spender: ROUTER02,
  });
  const hidden = { ...kind, abi: HIDDEN_ABI };
  refused(`increaseAllowance of ${of}`, kind, call(hidden, 'increaseAllowance', THIEF, 1n), 'HiddenApproval');
  const permit = call(hidden, 'permit', ACCOUNT, THIEF, 1n, DEADLINE, 27, HASH_ONE, HASH_TWO);
  refused(`permit of ${of}`, kind, permit, 'HiddenApproval');
  refused(`transfer with coins of ${of}`, kind, call(kind, 'transfer', ACCOUNT, 25n), 'UnexpectedValue', 1n);
  refused(`balanceOf of ${of}`, kind, call(kind, 'balanceOf', ACCOUNT), 'UnknownCall');
}
means('transfer of nothing to nobody', TOKEN, call(TOKEN, 'transfer', ZERO, 0n), { class: 'Transfer', tokenOut: USDC });
const transfer = call(TOKEN, 'transfer', ACCOUNT, 25n);
refused('transfer with a byte too many', TOKEN, concat([transfer, '0x00']), 'NotCanonical');
refused('transfer with a word too many', TOKEN, concat([transfer, pad('0x')]), 'NotCanonical');
refused('transfer with a word too few', TOKEN, withoutEnd(transfer, 32), 'NotCanonical');
refused('transfer with a byte too few', TOKEN, withoutEnd(transfer, 1), 'NotCanonical');
refused('transfer to an address with a dirty bit', TOKEN, withWord(transfer, 0, numberToHex(2n ** 160n + 7n)), 'Malformed');
refused('transfer without arguments', TOKEN, slice(transfer, 0, 4), 'NotCanonical');
refused('no calldata', TOKEN, '0x', 'NoSelector');
refused('three bytes', TOKEN, slice(transfer, 0, 3), 'NoSelector');
refused('an authorization of EIP-3009', TOKEN, concat(['0xe3ee160e', pad('0x', { size: 288 })]), 'UnknownCall');
refused('transfer at a target without a role', STRANGER, transfer, 'UnknownTarget');
refused('a payment to a target without a role', STRANGER, '0x', 'UnknownTarget', 1n);

// ------------------------------------------------------------------------------------------------------ coins

const wrap = call(WRAPPED, 'deposit');
means('wrap', WRAPPED, wrap, { class: 'Wrap', amountOut: 10n ** 18n, tokenIn: WETH, minimumIn: 10n ** 18n }, 10n ** 18n);
means('wrap of nothing', WRAPPED, wrap, { class: 'Wrap', tokenIn: WETH });
refused('wrap with arguments', WRAPPED, concat([wrap, '0x00']), 'NotCanonical', 1n);
refused('wrap by a bare payment', WRAPPED, '0x', 'NoSelector', 1n);
refused('wrap at a plain token', TOKEN, wrap, 'UnexpectedValue', 1n);
refused('wrap of nothing at a plain token', TOKEN, wrap, 'UnknownCall');
means('unwrap', WRAPPED, call(WRAPPED, 'withdraw', 5n), { class: 'Unwrap', tokenOut: WETH, amountOut: 5n, minimumIn: 5n });
refused('unwrap with coins', WRAPPED, call(WRAPPED, 'withdraw', 5n), 'UnexpectedValue', 1n);
refused('unwrap with a byte too many', WRAPPED, concat([call(WRAPPED, 'withdraw', 5n), '0x00']), 'NotCanonical');
refused('unwrap at a vault', SAVINGS, call(WRAPPED, 'withdraw', 5n), 'UnknownCall');
means('gas top-up', KEY, '0x', { class: 'GasTopUp', amountOut: 7n, recipient: AGENT }, 7n);
means('gas top-up of nothing', KEY, '0x', { class: 'GasTopUp', recipient: AGENT });
refused('gas top-up with a byte', KEY, '0x00', 'NotAPayment', 7n);
refused('gas top-up with a call', KEY, transfer, 'NotAPayment', 7n);

// ------------------------------------------------------------------------------------------------------ swaps

const ONE_HOP = path(USDC, 500, WETH);
const TWO_HOPS = path(USDC, 500, WETH, 3000, THIRD);
const THREE_HOPS = path(USDC, 100, WETH, 3000, THIRD, 10000, FOURTH);

for (const kind of [FIRST, SECOND]) {
  const of = kind.role;
  const deadline = kind === FIRST ? { deadline: DEADLINE } : {};
  const input = {
    tokenIn: USDC, tokenOut: WETH, fee: 500, recipient: ACCOUNT, ...deadline,
    amountIn: 1000n, amountOutMinimum: 990n, sqrtPriceLimitX96: 0n,
  };
  const output = {
    tokenIn: USDC, tokenOut: WETH, fee: 3000, recipient: ACCOUNT, ...deadline,
    amountOut: 990n, amountInMaximum: 1000n, sqrtPriceLimitX96: 0n,
  };
  const inputPath = { path: ONE_HOP, recipient: ACCOUNT, ...deadline, amountIn: 1000n, amountOutMinimum: 990n };
  const outputPath = { path: ONE_HOP, recipient: ACCOUNT, ...deadline, amountOut: 990n, amountInMaximum: 1000n };
  const swap = { class: 'Swap', amountOut: 1000n, minimumIn: 990n, recipient: ACCOUNT };
  const there = { ...swap, tokenOut: USDC, tokenIn: WETH };
  const back = { ...swap, tokenOut: WETH, tokenIn: USDC };

  means(`exactInputSingle of ${of}`, kind, call(kind, 'exactInputSingle', input), { ...there, fee: 500n });
  means(`exactOutputSingle of ${of}`, kind, call(kind, 'exactOutputSingle', output), { ...there, fee: 3000n });
  means(`exactInput of ${of}`, kind, call(kind, 'exactInput', inputPath), there);
  means(`exactOutput of ${of}`, kind, call(kind, 'exactOutput', outputPath), back);
  means(`exactInput with two hops of ${of}`, kind, call(kind, 'exactInput', { ...inputPath, path: TWO_HOPS }), {
    ...there, tokenIn: THIRD,
  });
  means(`exactOutput with three hops of ${of}`, kind, call(kind, 'exactOutput', { ...outputPath, path: THREE_HOPS }), {
    ...back, tokenOut: FOURTH,
  });
  const most = {
    ...input, tokenIn: THIEF, fee: 2 ** 24 - 1, amountIn: maxUint256, amountOutMinimum: 0n, sqrtPriceLimitX96: maxUint160,
  };
  means(`exactInputSingle at every bound of ${of}`, kind, call(kind, 'exactInputSingle', most), {
    ...there, tokenOut: THIEF, amountOut: maxUint256, minimumIn: 0n, fee: 2n ** 24n - 1n,
  });

  for (const [functionName, params] of Object.entries({
    exactInputSingle: input, exactOutputSingle: output, exactInput: inputPath, exactOutput: outputPath,
  })) {
    for (const sentinel of [0, 1, 2]) {
      const data = call(kind, functionName, { ...params, recipient: numberToHex(sentinel, { size: 20 }) });
      refused(`${functionName} to sentinel ${sentinel} of ${of}`, kind, data, 'Sentinel');
    }
    const amount = 'amountIn' in params ? 'amountIn' : 'amountInMaximum';
    refused(`${functionName} of nothing of ${of}`, kind, call(kind, functionName, { ...params, [amount]: 0n }), 'Sentinel');
    const data = call(kind, functionName, params);
    refused(`${functionName} with coins of ${of}`, kind, data, 'UnexpectedValue', 1n);
    refused(`${functionName} with a word too many of ${of}`, kind, concat([data, pad('0x')]), 'NotCanonical');
    const other = kind === FIRST ? SECOND : FIRST;
    refused(`${functionName} of ${of} at the other router`, other, data, 'UnknownCall');
  }

  const third = '0x0000000000000000000000000000000000000003';
  means(`exactInputSingle to address three of ${of}`, kind, call(kind, 'exactInputSingle', { ...input, recipient: third }), {
    ...there, fee: 500n, recipient: third,
  });
  const limited = call(kind, 'exactOutputSingle', { ...output, sqrtPriceLimitX96: 1n });
  refused(`exactOutputSingle with a price limit of ${of}`, kind, limited, 'PriceLimit');
  const plain = call(kind, 'exactInputSingle', input);
  const last = kind === FIRST ? 7 : 6;
  refused(`fee with a dirty bit of ${of}`, kind, withWord(plain, 2, numberToHex(2n ** 24n + 500n)), 'Malformed');
  refused(`price limit with a dirty bit of ${of}`, kind, withWord(plain, last, numberToHex(2n ** 160n)), 'Malformed');
  refused(`exactInputSingle with a word too few of ${of}`, kind, withoutEnd(plain, 32), 'NotCanonical');

  for (const [what, bent] of Object.entries({
    empty: '0x',
    'of one token': USDC,
    'with an end cut': withoutEnd(ONE_HOP, 1),
    'with a byte too many': concat([ONE_HOP, '0x00']),
    'with a fee too many': path(USDC, 500, WETH, 500),
  })) {
    refused(`path ${what} of ${of}`, kind, call(kind, 'exactInput', { ...inputPath, path: bent }), 'Path');
  }
  const hop = call(kind, 'exactInput', inputPath);
  const head = kind === FIRST ? 6 : 5;
  refused(`struct one word later of ${of}`, kind, withWord(inserted(hop, 1), 0, '0x40'), 'NotCanonical');
  refused(`path one word later of ${of}`, kind, withWord(inserted(hop, head), 1, numberToHex(head * 32)), 'NotCanonical');
  refused(`padding of a path of ${of}`, kind, concat([withoutEnd(hop, 1), '0x01']), 'NotCanonical');
  refused(`path beyond the end of ${of}`, kind, withoutEnd(hop, 32), 'Malformed');

  // Several calls
  const inner = [plain, call(kind, 'exactOutput', outputPath)];
  const effects = [{ ...there, fee: 500n }, back];
  const lists = { plain: (calls) => encodeFunctionData({ abi: PLAIN_MULTICALL, args: [calls] }) };
  if (kind === SECOND) {
    lists.deadline = (calls) => encodeFunctionData({ abi: DEADLINE_MULTICALL, args: [DEADLINE, calls] });
    lists['block hash'] = (calls) => encodeFunctionData({ abi: HASH_MULTICALL, args: [HASH_ONE, calls] });
  }
  multicalls(kind, lists, inner, effects);
}
function multicalls(kind, lists, inner, effects) {
  for (const [form, list] of Object.entries(lists)) {
    const of = `of ${kind.role}, form ${form}`;
    means(`multicall of one ${of}`, kind, list(inner.slice(0, 1)), effects.slice(0, 1));
    means(`multicall of two ${of}`, kind, list(inner), effects);
    means(`multicall of eight ${of}`, kind, list(Array(8).fill(inner[0])), Array(8).fill(effects[0]));
    refused(`multicall of nine ${of}`, kind, list(Array(9).fill(inner[0])), 'Multicall');
    refused(`multicall of none ${of}`, kind, list([]), 'Multicall');
    refused(`multicall of nine empty calls ${of}`, kind, list(Array(9).fill('0x')), 'Multicall');
    refused(`multicall of none with a word too many ${of}`, kind, concat([list([]), pad('0x')]), 'NotCanonical');
    refused(`multicall of none with coins ${of}`, kind, list([]), 'UnexpectedValue', 1n);
    refused(`multicall in a multicall ${of}`, kind, list([inner[0], list(inner)]), 'UnknownCall');
    refused(`multicall with a short call ${of}`, kind, list([inner[0], '0xac9650']), 'NoSelector');
    refused(`multicall with an empty call ${of}`, kind, list(['0x']), 'NoSelector');
    refused(`multicall with a long call ${of}`, kind, list([concat([inner[0], '0x00'])]), 'NotCanonical');
    refused(`multicall with coins ${of}`, kind, list(inner), 'UnexpectedValue', 1n);
    refused(`multicall with a byte too many ${of}`, kind, concat([list(inner), '0x00']), 'NotCanonical');
    refused(`multicall with dirty padding ${of}`, kind, concat([withoutEnd(list(inner), 1), '0x01']), 'NotCanonical');
    for (const foreign of ['unwrapWETH9', 'sweepToken', 'refundETH', 'selfPermit']) {
      const args = {
        unwrapWETH9: [0n, THIEF],
        sweepToken: [USDC, 0n, THIEF],
        refundETH: [],
        selfPermit: [USDC, 1n, DEADLINE, 27, HASH_ONE, HASH_TWO],
      }[foreign];
      refused(`multicall with ${foreign} ${of}`, kind, list([inner[0], call(kind, foreign, ...args)]), 'UnknownCall');
    }
  }
}

// -------------------------------------------------------------------------------------------------- positions

const mint = {
  token0: WETH, token1: USDC, fee: 500, tickLower: -887270, tickUpper: 887270, amount0Desired: 11n,
  amount1Desired: 22n, amount0Min: 9n, amount1Min: 8n, recipient: ACCOUNT, deadline: DEADLINE,
};
const minted = {
  class: 'AddLiquidity', tokenOut: WETH, amountOut: 11n, tokenOut2: USDC, amountOut2: 22n, minimum0: 9n, minimum1: 8n,
  recipient: ACCOUNT, fee: 500n,
};
const minting = call(POSITIONS, 'mint', mint);
means('mint', POSITIONS, minting, minted);
const increase = call(POSITIONS, 'increaseLiquidity', {
  tokenId: 42n, amount0Desired: 11n, amount1Desired: 22n, amount0Min: 9n, amount1Min: 8n, deadline: DEADLINE,
});
const increased = {
  class: 'AddLiquidity', positionId: 42n, amountOut: 11n, amountOut2: 22n, minimum0: 9n, minimum1: 8n,
};
means('increaseLiquidity', POSITIONS, increase, increased);
const decrease = call(POSITIONS, 'decreaseLiquidity', {
  tokenId: 42n, liquidity: maxUint128, amount0Min: 9n, amount1Min: 8n, deadline: DEADLINE,
});
const decreased = { class: 'RemoveLiquidity', positionId: 42n, minimum0: 9n, minimum1: 8n };
means('decreaseLiquidity', POSITIONS, decrease, decreased);
const gather = { tokenId: 42n, recipient: ACCOUNT, amount0Max: maxUint128, amount1Max: maxUint128 };
const collect = call(POSITIONS, 'collect', gather);
const collected = { class: 'Collect', positionId: 42n, recipient: ACCOUNT };
means('collect', POSITIONS, collect, collected);
means('collect for a thief', POSITIONS, call(POSITIONS, 'collect', { ...gather, recipient: THIEF }), {
  ...collected, recipient: THIEF,
});
const burn = call(POSITIONS, 'burn', maxUint256);
means('burn', POSITIONS, burn, { class: 'BurnPosition', positionId: maxUint256 });
for (const sentinel of [0, 1, 2]) {
  const recipient = numberToHex(sentinel, { size: 20 });
  refused(`mint to sentinel ${sentinel}`, POSITIONS, call(POSITIONS, 'mint', { ...mint, recipient }), 'Sentinel');
  refused(`collect to sentinel ${sentinel}`, POSITIONS, call(POSITIONS, 'collect', { ...gather, recipient }), 'Sentinel');
}
refused('mint with coins', POSITIONS, minting, 'UnexpectedValue', 1n);
refused('mint with a tick not extended', POSITIONS, withWord(minting, 3, numberToHex(2n ** 24n - 887270n)), 'Malformed');
refused('mint with a tick too large', POSITIONS, withWord(minting, 4, numberToHex(2n ** 23n)), 'Malformed');
refused('decreaseLiquidity with a dirty bit', POSITIONS, withWord(decrease, 1, numberToHex(2n ** 128n)), 'Malformed');
refused('collect with a dirty bit', POSITIONS, withWord(collect, 3, numberToHex(2n ** 128n)), 'Malformed');
refused('burn with a word too many', POSITIONS, concat([burn, pad('0x')]), 'NotCanonical');
refused('approve of a position', POSITIONS, call(POSITIONS, 'approve', THIEF, 42n), 'UnknownCall');
refused('transferFrom of a position', POSITIONS, call(POSITIONS, 'transferFrom', ACCOUNT, THIEF, 42n), 'UnknownCall');
refused('setApprovalForAll of positions', POSITIONS, call(POSITIONS, 'setApprovalForAll', THIEF, true), 'UnknownCall');
const positionLists = { plain: (calls) => encodeFunctionData({ abi: PLAIN_MULTICALL, args: [calls] }) };
multicalls(POSITIONS, positionLists, [decrease, collect], [decreased, collected]);
means('multicall of everything at positions', POSITIONS, positionLists.plain([minting, increase, decrease, collect, burn]), [
  minted, increased, decreased, collected, { class: 'BurnPosition', positionId: maxUint256 },
]);

const conditional = (abi, condition, inner) => encodeFunctionData({ abi, args: [condition, [inner]] });
const single = vectors.find(({ name }) => name === 'exactInputSingle of SwapRouter').data;
for (const [kind, inner] of [[FIRST, single], [POSITIONS, collect]]) {
  const of = kind.role;
  refused(`multicall with a deadline at ${of}`, kind, conditional(DEADLINE_MULTICALL, DEADLINE, inner), 'UnknownCall');
  refused(`multicall with a block hash at ${of}`, kind, conditional(HASH_MULTICALL, HASH_ONE, inner), 'UnknownCall');
}
for (const kind of [TOKEN, WRAPPED, SAVINGS, LIFE, REGISTER]) {
  const data = encodeFunctionData({ abi: PLAIN_MULTICALL, args: [[transfer]] });
  refused(`multicall at ${kind.role}`, kind, data, 'UnknownCall');
}

// ----------------------------------------------------------------------------------------------------- vaults

means('deposit', SAVINGS, call(SAVINGS, 'deposit', 100n, ACCOUNT), { class: 'Deposit', amountOut: 100n, recipient: ACCOUNT });
means('mint of shares', SAVINGS, call(SAVINGS, 'mint', 100n, ACCOUNT), {
  class: 'Deposit', tokenIn: VAULT, minimumIn: 100n, recipient: ACCOUNT,
});
means('withdraw', SAVINGS, call(SAVINGS, 'withdraw', 100n, ACCOUNT, THIRD), {
  class: 'Withdraw', minimumIn: 100n, recipient: ACCOUNT, source: THIRD,
});
means('redeem', SAVINGS, call(SAVINGS, 'redeem', 100n, ACCOUNT, THIRD), {
  class: 'Withdraw', tokenOut: VAULT, amountOut: 100n, recipient: ACCOUNT, source: THIRD,
});
refused('deposit with coins', SAVINGS, call(SAVINGS, 'deposit', 100n, ACCOUNT), 'UnexpectedValue', 1n);
refused('deposit with a word too few', SAVINGS, withoutEnd(call(SAVINGS, 'deposit', 1n, ACCOUNT), 32), 'NotCanonical');
refused('redeem with a word too many', SAVINGS, concat([call(SAVINGS, 'redeem', 1n, ACCOUNT, ACCOUNT), pad('0x')]), 'NotCanonical');
const dirtyOwner = withWord(call(SAVINGS, 'redeem', 1n, ACCOUNT, ACCOUNT), 2, numberToHex(2n ** 160n));
refused('redeem for an owner with a dirty bit', SAVINGS, dirtyOwner, 'Malformed');
refused('deposit at a plain token', TOKEN, call(SAVINGS, 'deposit', 100n, ACCOUNT), 'UnknownCall');
refused('deposit of a vault at WETH', WRAPPED, call(SAVINGS, 'deposit', 100n, ACCOUNT), 'UnknownCall');

// -------------------------------------------------------------------------------------------------- lifecycle

const spawn = call(LIFE, 'spawnReplicant', HASH_ONE, THIRD, HASH_TWO);
const settle = call(LIFE, 'settle', HASH_ONE, HASH_TWO);
means('spawnReplicant', LIFE, spawn, { class: 'SpawnReplicant', golemId: HASH_ONE });
means('settle', LIFE, settle, { class: 'Settle', golemId: HASH_ONE });
means('spawnReplicant of no Golem', LIFE, withWord(spawn, 0, '0x'), { class: 'SpawnReplicant' });
means('settle of the last Golem', LIFE, withWord(settle, 0, LAST_HASH), { class: 'Settle', golemId: LAST_HASH });
refused('spawnReplicant with a dirty bit', LIFE, withWord(spawn, 1, numberToHex(2n ** 160n)), 'Malformed');
misshapen('spawnReplicant', LIFE, spawn);
misshapen('settle', LIFE, settle);
refused('transfer at the lifecycle', LIFE, transfer, 'UnknownCall');

/** What no call with a fixed number of words may be. */
function misshapen(name, kind, data) {
  refused(`${name} with a byte too many`, kind, concat([data, '0x00']), 'NotCanonical');
  refused(`${name} with a word too many`, kind, concat([data, pad('0x')]), 'NotCanonical');
  refused(`${name} with a byte too few`, kind, withoutEnd(data, 1), 'NotCanonical');
  refused(`${name} with a word too few`, kind, withoutEnd(data, 32), 'NotCanonical');
  refused(`${name} without arguments`, kind, slice(data, 0, 4), 'NotCanonical');
  refused(`${name} with coins`, kind, data, 'UnexpectedValue', 1n);
}

// --------------------------------------------------------------------------------------------------- registry

for (const [functionName, usual, others] of [
  ['updateVitality', [3, 4200], { 'at its least': [0, 0], 'at its most': [255, 65535] }],
  ['setDreaming', [true], { 'of waking': [false] }],
  ['updatePad', [-100, 0, 100], { 'at its least': [-128, -128, -128], 'at its most': [127, 127, 127] }],
  ['heartbeat', [HASH_TWO], { 'of an empty log': [NO_HASH] }],
  ['close', [], {}],
]) {
  const data = call(REGISTER, functionName, HASH_ONE, ...usual);
  const said = { class: 'Publish', golemId: HASH_ONE };
  means(functionName, REGISTER, data, said);
  for (const [what, args] of Object.entries(others)) {
    means(`${functionName} ${what}`, REGISTER, call(REGISTER, functionName, HASH_ONE, ...args), said);
  }
  means(`${functionName} of no Golem`, REGISTER, withWord(data, 0, '0x'), { class: 'Publish' });
  means(`${functionName} of the last Golem`, REGISTER, withWord(data, 0, LAST_HASH), { ...said, golemId: LAST_HASH });
  misshapen(functionName, REGISTER, data);
  refused(`${functionName} at the lifecycle`, LIFE, data, 'UnknownCall');
}

const awake = call(REGISTER, 'setDreaming', HASH_ONE, false);
const vitality = call(REGISTER, 'updateVitality', HASH_ONE, 3, 4200);
const mood = call(REGISTER, 'updatePad', HASH_ONE, -100, 0, 100);
for (const [name, data, index, words] of [
  ['phase', vitality, 1, { 'one too large': 2n ** 8n, 'with the highest bit': 2n ** 255n + 3n }],
  ['score', vitality, 2, { 'one too large': 2n ** 16n, 'with the highest bit': 2n ** 255n + 4200n }],
  ['dream', awake, 1, { 'of two': 2n, 'of all bits': maxUint256, 'with the highest bit': 2n ** 255n + 1n }],
  ...['pleasure', 'arousal', 'dominance'].map((name, i) => [name, mood, i + 1, {
    'one too large': 2n ** 7n,
    'not extended': 2n ** 8n - 1n,
    'extended by half': 2n ** 128n - 1n,
    'one too small': 2n ** 256n - 129n,
    'with the highest bit': 2n ** 255n + 1n,
  }]),
]) {
  for (const [what, word] of Object.entries(words)) {
    refused(`${name} ${what}`, REGISTER, withWord(data, index, numberToHex(word)), 'Malformed');
  }
}
refused('dream of two with a byte too many', REGISTER, concat([withWord(awake, 1, '0x02'), '0x00']), 'NotCanonical');

const grant = {
  delegate: AGENT, delegator: ACCOUNT, authority: LAST_HASH, salt: 7n, signature: concat([HASH_ONE, HASH_TWO, '0x1b']),
  caveats: [{ enforcer: THIRD, terms: concat([HASH_ONE, THIRD, pad('0x', { size: 6 })]), args: '0x' }],
};
for (const [functionName, args] of Object.entries({
  register: [HASH_ONE, AGENT],
  registerWithGrant: [grant, 0n, HASH_TWO],
  attach: [HASH_ONE, THIEF],
  detach: [HASH_ONE],
  advance: [HASH_ONE, 4],
  feed: [HASH_ONE, 0],
  revoke: [HASH_ONE],
  revokeAll: [],
  deregister: [HASH_ONE],
})) {
  const data = call(REGISTER, functionName, ...args);
  refused(`${functionName}, an owner's call`, REGISTER, data, 'UnknownCall');
  refused(`${functionName}, an owner's call, with coins`, REGISTER, data, 'UnexpectedValue', 1n);
}
refused('a question to the registry', REGISTER, call(REGISTER, 'state', HASH_ONE, ACCOUNT), 'UnknownCall');
refused('spawnReplicant at the registry', REGISTER, spawn, 'UnknownCall');
refused('settle at the registry', REGISTER, settle, 'UnknownCall');
refused('transfer at the registry', REGISTER, transfer, 'UnknownCall');
refused('a payment to the registry', REGISTER, '0x', 'NoSelector', 1n);
refused('three bytes at the registry', REGISTER, slice(awake, 0, 3), 'NoSelector');

// ----------------------------------------------------------------------------------------------------- market

const sale = call(SHOP, 'sell', HASH_ONE, ACCOUNT, THIRD);
means('sell', SHOP, sale, { class: 'Sell', entryId: HASH_ONE, source: ACCOUNT });
means('sell of the last entry', SHOP, withWord(sale, 0, LAST_HASH), { class: 'Sell', entryId: LAST_HASH, source: ACCOUNT });
means('sell of no entry by nobody', SHOP, call(SHOP, 'sell', NO_HASH, ZERO, ZERO), { class: 'Sell' });
means('sell in another’s name', SHOP, call(SHOP, 'sell', HASH_ONE, THIEF, ACCOUNT), { class: 'Sell', entryId: HASH_ONE, source: THIEF });
misshapen('sell', SHOP, sale);
refused('seller with a dirty bit', SHOP, withWord(sale, 1, numberToHex(2n ** 160n + 7n)), 'Malformed');
refused('buyer with the highest bit', SHOP, withWord(sale, 2, numberToHex(2n ** 255n + 7n)), 'Malformed');
for (const [functionName, ...args] of [
  ['publish', HASH_ONE, NO_HASH, 0, USDC, 1n],
  ['bequeath', HASH_ONE, THIEF],
  ['order', HASH_ONE, THIEF, DEADLINE],
  ['cancel', HASH_ONE, THIEF],
  ['royaltiesOf', HASH_ONE, THIEF],
]) {
  refused(`${functionName} at the market`, SHOP, call(SHOP, functionName, ...args), 'UnknownCall');
}
refused('sell at the registry', REGISTER, sale, 'UnknownCall');
refused('sell at a token', TOKEN, sale, 'UnknownCall');
refused('transfer at the market', SHOP, transfer, 'UnknownCall');
refused('a payment to the market', SHOP, '0x', 'NoSelector', 1n);

for (const kind of ROLES) {
  refused(`an unknown selector at ${kind.role}`, kind, concat(['0xdeadbeef', HASH_ONE]), 'UnknownCall');
  refused(`a selector of zeros at ${kind.role}`, kind, '0x00000000', 'UnknownCall');
}

// ------------------------------------------------------------------------------------------------------- file

/** Stops if the two ways viem has to encode a list of calls disagree. */
const twice = encodeAbiParameters([{ type: 'bytes[]' }], [[transfer]]);
if (slice(encodeFunctionData({ abi: PLAIN_MULTICALL, args: [[transfer]] }), 4) !== twice) {
  throw new Error('viem encodes a list of calls in two ways');
}

const { version } = require('viem/package.json');
const source = { generator: 'testdata/vectors/actions.mjs', packages: { viem: version } };
const rows = vectors.map((vector) =>
  JSON.stringify(vector, (_, value) => (typeof value === 'bigint' ? value.toString() : value)),
);
const text = `{\n"source": ${JSON.stringify(source)},\n"vectors": [\n${rows.join(',\n')}\n]\n}\n`;

const unknown = process.argv.slice(2).filter((argument) => argument !== '--check');
if (unknown.length > 0) {
  console.error(`unknown argument ${unknown[0]}; the only one is --check`);
  process.exit(2);
}
const url = new URL('actions.json', import.meta.url);
if (!process.argv.includes('--check')) {
  writeFileSync(url, text);
  console.log(`${vectors.length} vectors`);
} else if (readFileSync(url, 'utf8') !== text) {
  console.error('stale: testdata/vectors/actions.json; run: node testdata/vectors/actions.mjs');
  process.exitCode = 1;
}
