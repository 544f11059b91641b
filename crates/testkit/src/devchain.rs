//! Builds the state of the local chain.
//!
//! The framework must stand at its canonical addresses, or MetaMask's own packages would not find
//! it. Their deployment cannot be replayed here, so each contract's creation code is put at its
//! address and run there: immutables and storage come out as if it had been deployed.

use alloy::{
    network::TransactionBuilder,
    primitives::{
        Address, B256, Bytes, U160, U256, address,
        aliases::{I24, U24},
        b256, keccak256,
    },
    providers::{Provider, ext::AnvilApi},
    rpc::types::{TransactionReceipt, TransactionRequest},
    sol_types::{SolCall, SolValue},
};
use anyhow::{Context, Result, bail, ensure};
use bardo_bindings::{
    create2_address, defi,
    defi::{Erc20, Erc4626, NonfungiblePositionManager, PriceAggregator, UniswapV3Factory, Weth9},
    deployables, deterministic_call,
    framework::{DELEGATION_MANAGER, DETERMINISTIC_DEPLOYER, DelegationManager, ENTRY_POINT},
    identity::IDENTITY_REGISTRY,
};
use golem_chain::{
    Node,
    local::{AddressBook, EmptyChain, FAUCET, LocalFiles},
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// 2027-01-15T08:00:00Z: the local chain's clock starts here, on every machine.
const GENESIS_TIME: u64 = 1_800_000_000;

/// Salt with which the canonical EntryPoint v0.7 was deployed.
const ENTRY_POINT_SALT: B256 =
    b256!("90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3");

/// Passkey library the canonical Hybrid implementation is linked with, by its authors' records.
const PASSKEY_LIBRARY: Address = address!("CCD3B747F3DBd349fa3af4eBC7d0C31aE6f21dd1");

// Where Base has these, so that what works here reads the same there.
const WETH: Address = address!("4200000000000000000000000000000000000006");
const USDC: Address = address!("833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
const FACTORY: Address = address!("33128a8fC17869897dcE68Ed026d694621f6FDfD");
const SWAP_ROUTER_02: Address = address!("2626664c2603336E57B271c5C0b26F421741e481");
const POSITION_MANAGER: Address = address!("03a520b32C04BF3bEEf7BEb72E919cf822Ed34f1");
const QUOTER: Address = address!("3d4e44Eb1374240CE5F1B871ab261CD16335B76a");

const ETH_PRICE: u64 = 2_500;
/// Ether and the matching dollars in each pool.
const POOL_ETHER: u64 = 2_000;
const USDC_UNIT: u64 = 1_000_000;
/// Dollars in the yield vault.
const VAULT_DOLLARS: u64 = 1_000_000;

const fn ether(amount: u64) -> U256 {
    U256::from_limbs([amount, 0, 0, 0]).saturating_mul(U256::from_limbs([
        1_000_000_000_000_000_000,
        0,
        0,
        0,
    ]))
}

fn dollars(amount: u64) -> U256 {
    U256::from(amount) * U256::from(USDC_UNIT)
}

/// Creation code out of npm packages, by `node/framework.mjs`.
#[derive(Debug, Deserialize)]
struct Parts {
    framework: BTreeMap<String, Part>,
    proxy: Bytes,
    passkey_library: Bytes,
    entry_point: Bytes,
    weth: Bytes,
    factory: Bytes,
    swap_router: Bytes,
    swap_router_02: Bytes,
    position_manager: Bytes,
    quoter: Bytes,
}

/// One contract of the framework.
#[derive(Debug, Deserialize)]
struct Part {
    address: Address,
    /// Text, because the Hybrid account's holds a placeholder for a library's address.
    code: String,
}

/// Builds the state under `root`, unless what it would be built from has not changed.
///
/// Returns whether it was built.
pub async fn build(root: &Path, mut progress: impl FnMut(&str)) -> Result<bool> {
    let files = LocalFiles::at(root);
    let parts = read_parts(root)?;
    let inputs = stamp(root, &parts.1)?;
    let folder = root.join(".devchain");
    // What was built must still be there as it was: a broken file is mended by building again.
    if let Ok(outputs) = outputs(&folder)
        && fs::read_to_string(folder.join("stamp"))
            .is_ok_and(|found| found == format!("{inputs}\n{outputs}\n"))
    {
        return Ok(false);
    }

    // Built aside and moved into place, so that a build that was stopped leaves no half of it.
    let staging = root.join(".devchain.new");
    if staging.exists() {
        fs::remove_dir_all(&staging)?;
    }
    fs::create_dir(&staging)?;
    let dump = staging.join("state.json");
    let chain = EmptyChain::start(&files, GENESIS_TIME, &dump)?;
    let node = Node::connect(chain.url()).await?;
    let book = Builder { node, root: root.into() }.run(&parts.0, &mut progress).await?;
    progress("state");
    chain.finish();

    let state = canonical(&fs::read(&dump).context("anvil wrote no state")?)?;
    fs::write(&dump, &state)?;
    fs::write(staging.join("allocs.json"), allocs(&state)?)?;
    fs::write(staging.join("book.json"), serde_json::to_vec_pretty(&book)?)?;
    fs::write(staging.join("stamp"), format!("{inputs}\n{}\n", outputs(&staging)?))?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::rename(&staging, &folder)?;
    Ok(true)
}

fn read_parts(root: &Path) -> Result<(Parts, Vec<u8>)> {
    let script = root.join("crates/testkit/node/framework.mjs");
    let output = Command::new("node")
        .arg(&script)
        .current_dir(root)
        .output()
        .context("node is needed to build the local chain")?;
    ensure!(
        output.status.success(),
        "reading npm packages failed; run `make setup`: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let parts = serde_json::from_slice(&output.stdout).context("parts do not parse")?;
    Ok((parts, output.stdout))
}

/// Hash of everything that was built.
fn outputs(folder: &Path) -> Result<String> {
    let mut hasher = Sha256::new();
    for name in ["state.json", "allocs.json", "book.json"] {
        hasher.update(fs::read(folder.join(name))?);
    }
    Ok(hex(hasher))
}

fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hash of everything the state is made from.
fn stamp(root: &Path, parts: &[u8]) -> Result<String> {
    let mut hasher = Sha256::new();
    hasher.update(parts);
    hasher.update(include_bytes!("devchain.rs"));
    for name in [
        "UsdCoin",
        "PriceAggregator",
        "PriceFeed",
        "SequencerUptime",
        "YieldVault",
        "IdentityRegistry",
    ] {
        hasher.update(local_code(root, name)?);
    }
    for contract in deployables() {
        hasher.update(&contract.init_code);
    }
    // anvil itself by the lock file that names its version and hash.
    hasher.update(fs::read(root.join("package-lock.json"))?);
    Ok(hex(hasher))
}

/// Creation code of a contract in `contracts/local`, as forge built it.
fn local_code(root: &Path, name: &str) -> Result<Bytes> {
    #[derive(Deserialize)]
    struct Artifact {
        bytecode: Object,
    }
    #[derive(Deserialize)]
    struct Object {
        object: Bytes,
    }
    let path = root.join(format!("contracts/out/{name}.sol/{name}.json"));
    let text =
        fs::read(&path).with_context(|| format!("{name} is not built; run `make contracts`"))?;
    let artifact: Artifact = serde_json::from_slice(&text)?;
    Ok(artifact.bytecode.object)
}

struct Builder {
    node: Node,
    root: PathBuf,
}

impl Builder {
    async fn run(&self, parts: &Parts, progress: &mut impl FnMut(&str)) -> Result<AddressBook> {
        // Blocks a second apart, so that the state does not depend on how fast it was built.
        self.node.provider().anvil_set_block_timestamp_interval(1).await?;
        // Enough for two pools, and for every owner a test wants.
        self.node.provider().anvil_set_balance(FAUCET, ether(1_000_000)).await?;

        progress("entry point");
        let entry_point = self.create(ENTRY_POINT_SALT, &parts.entry_point).await?;
        ensure!(entry_point == ENTRY_POINT, "entry point went to {entry_point}");

        progress("delegation framework");
        self.framework(parts).await?;

        progress("tokens");
        self.install(WETH, &parts.weth, &[]).await?;
        self.install(USDC, &local_code(&self.root, "UsdCoin")?, &FAUCET.abi_encode()).await?;

        progress("uniswap");
        self.install(FACTORY, &parts.factory, &[]).await?;
        let periphery = (FACTORY, WETH).abi_encode_params();
        let swap_router =
            self.create(B256::ZERO, &[parts.swap_router.as_ref(), &periphery].concat()).await?;
        // No descriptor: it only draws pictures of positions.
        self.install(
            POSITION_MANAGER,
            &parts.position_manager,
            &(FACTORY, WETH, Address::ZERO).abi_encode_params(),
        )
        .await?;
        self.install(
            SWAP_ROUTER_02,
            &parts.swap_router_02,
            &(Address::ZERO, FACTORY, POSITION_MANAGER, WETH).abi_encode_params(),
        )
        .await?;
        self.install(QUOTER, &parts.quoter, &periphery).await?;
        self.call(WETH, Weth9::depositCall {}, ether(3 * POOL_ETHER)).await?;
        self.mint(FAUCET, dollars(100_000_000)).await?;
        for token in [WETH, USDC] {
            let approve = Erc20::approveCall { spender: POSITION_MANAGER, amount: U256::MAX };
            self.call(token, approve, U256::ZERO).await?;
        }
        let pool_500 = self.pool(500, 10).await?;
        let pool_3000 = self.pool(3_000, 60).await?;

        progress("feeds and vault");
        let eth_usd = self.feed("ETH / USD", ETH_PRICE).await?;
        let usdc_usd = self.feed("USDC / USD", 1).await?;
        let code =
            [local_code(&self.root, "SequencerUptime")?.as_ref(), &FAUCET.abi_encode()].concat();
        let sequencer = self.create(B256::ZERO, &code).await?;
        let sequencer_uptime = self.proxied(sequencer).await?;
        let vault = self.vault().await?;

        progress("identities");
        self.install(IDENTITY_REGISTRY, &local_code(&self.root, "IdentityRegistry")?, &[]).await?;

        progress("bardo");
        for contract in deployables() {
            let at = self.create(contract.salt, &contract.init_code).await?;
            ensure!(at == contract.address, "{} went to {at}", contract.name);
            let code = self.node.code(at).await?;
            ensure!(code == contract.runtime_code, "{} is not what was built", contract.name);
        }

        Ok(AddressBook {
            timestamp: self.node.head().await?.timestamp,
            weth: WETH,
            usdc: USDC,
            factory: FACTORY,
            swap_router,
            swap_router_02: SWAP_ROUTER_02,
            position_manager: POSITION_MANAGER,
            quoter: QUOTER,
            pool_500,
            pool_3000,
            eth_usd,
            usdc_usd,
            sequencer_uptime,
            vault,
            eth_price: U256::from(ETH_PRICE),
            proxy_code: parts.proxy.clone(),
        })
    }

    async fn framework(&self, parts: &Parts) -> Result<()> {
        self.install(PASSKEY_LIBRARY, &parts.passkey_library, &[]).await?;
        let argument_of = |name: &str| -> Vec<u8> {
            match name {
                "DelegationManager" => FAUCET.abi_encode(),
                "LogicalOrWrapperEnforcer" => DELEGATION_MANAGER.abi_encode(),
                "NativeTokenPaymentEnforcer" => {
                    let equality = parts.framework.get("ArgsEqualityCheckEnforcer");
                    (DELEGATION_MANAGER, equality.map(|part| part.address).unwrap_or_default())
                        .abi_encode_params()
                }
                name if name.ends_with("DeleGatorImpl") => {
                    (DELEGATION_MANAGER, ENTRY_POINT).abi_encode_params()
                }
                _ => vec![],
            }
        };
        for (name, part) in &parts.framework {
            let code = link(&part.code, PASSKEY_LIBRARY)
                .with_context(|| format!("creation code of {name}"))?;
            self.install(part.address, &code, &argument_of(name))
                .await
                .with_context(|| format!("{name} at {}", part.address))?;
        }

        let owner = self.node.read(DELEGATION_MANAGER, DelegationManager::ownerCall {}).await?;
        ensure!(owner == FAUCET, "manager belongs to {owner}");
        Ok(())
    }

    /// Runs creation code at `at`: once as a call for the runtime code, once as a transaction for
    /// what the constructor stores.
    async fn install(&self, at: Address, code: &[u8], arguments: &[u8]) -> Result<()> {
        let provider = self.node.provider();
        provider.anvil_set_code(at, [code, arguments].concat().into()).await?;
        let request = TransactionRequest::default().with_from(FAUCET).with_to(at);
        let runtime = provider.call(request.clone()).await.context("constructor failed")?;
        ensure!(!runtime.is_empty(), "constructor at {at} returned no code");
        self.send(request).await?;
        provider.anvil_set_code(at, runtime).await?;
        // What was created by a transaction starts at one; factories derive addresses from it.
        provider.anvil_set_nonce(at, 1).await?;
        Ok(())
    }

    /// Creates through the deterministic deployer.
    async fn create(&self, salt: B256, code: &[u8]) -> Result<Address> {
        let request = TransactionRequest::default()
            .with_from(FAUCET)
            .with_to(DETERMINISTIC_DEPLOYER)
            .with_input(deterministic_call(salt, code));
        self.send(request).await?;
        let at = create2_address(salt, code);
        ensure!(!self.node.code(at).await?.is_empty(), "nothing was created at {at}");
        Ok(at)
    }

    async fn call<C: SolCall>(&self, to: Address, call: C, value: U256) -> Result<()> {
        let request = TransactionRequest::default()
            .with_from(FAUCET)
            .with_to(to)
            .with_value(value)
            .with_input(call.abi_encode());
        self.send(request).await.with_context(|| C::SIGNATURE).map(drop)
    }

    /// Sends from an account that anvil has unlocked.
    async fn send(&self, request: TransactionRequest) -> Result<TransactionReceipt> {
        // Not estimated: an estimate runs at the last block's time, and a pool does more work when
        // time has passed.
        let request = request.with_gas_limit(15_000_000);
        let receipt = self.node.provider().send_transaction(request).await?.get_receipt().await?;
        if !receipt.status() {
            bail!("transaction {} failed", receipt.transaction_hash);
        }
        Ok(receipt)
    }

    async fn mint(&self, to: Address, amount: U256) -> Result<()> {
        self.call(USDC, Erc20::mintCall { to, amount }, U256::ZERO).await
    }

    /// A pool at the start price with liquidity over the whole range.
    async fn pool(&self, fee: u16, spacing: i32) -> Result<Address> {
        let fee = U24::from(fee);
        // sqrt(USDC per WETH in base units) in Q96.
        let ratio: U256 = (dollars(ETH_PRICE) << 192) / ether(1);
        let create = NonfungiblePositionManager::createAndInitializePoolIfNecessaryCall {
            token0: WETH,
            token1: USDC,
            fee,
            sqrtPriceX96: U160::from(ratio.root(2)),
        };
        self.call(POSITION_MANAGER, create, U256::ZERO).await?;
        let edge = I24::try_from(887_272 / spacing * spacing)?;
        let mint = NonfungiblePositionManager::mintCall {
            params: NonfungiblePositionManager::MintParams {
                token0: WETH,
                token1: USDC,
                fee,
                tickLower: -edge,
                tickUpper: edge,
                amount0Desired: ether(POOL_ETHER),
                amount1Desired: dollars(POOL_ETHER * ETH_PRICE),
                amount0Min: U256::ZERO,
                amount1Min: U256::ZERO,
                recipient: FAUCET,
                deadline: U256::MAX,
            },
        };
        self.call(POSITION_MANAGER, mint, U256::ZERO).await?;
        let pool = UniswapV3Factory::getPoolCall { tokenA: WETH, tokenB: USDC, fee };
        Ok(self.node.read(FACTORY, pool).await?)
    }

    /// Two hops, eight decimals, as Chainlink's dollar feeds.
    async fn feed(&self, description: &str, price: u64) -> Result<Address> {
        let arguments = (description.to_owned(), U256::from(8), FAUCET).abi_encode_params();
        let code = [local_code(&self.root, "PriceAggregator")?.as_ref(), &arguments].concat();
        let aggregator = self.create(B256::ZERO, &code).await?;
        let answer = (U256::from(price) * U256::from(100_000_000u64)).try_into()?;
        self.call(aggregator, PriceAggregator::setCall { answer }, U256::ZERO).await?;

        let feed = self.proxied(aggregator).await?;
        let round = self.node.read(feed, defi::PriceFeed::latestRoundDataCall {}).await?;
        ensure!(round.answer == answer, "feed answers {}", round.answer);
        Ok(feed)
    }

    /// The first hop in front of an aggregator.
    async fn proxied(&self, aggregator: Address) -> Result<Address> {
        let arguments = (aggregator, FAUCET).abi_encode_params();
        let code = [local_code(&self.root, "PriceFeed")?.as_ref(), &arguments].concat();
        self.create(B256::ZERO, &code).await
    }

    async fn vault(&self) -> Result<Address> {
        let arguments =
            (USDC, "Yield USDC".to_owned(), "yUSDC".to_owned(), U256::from(6)).abi_encode_params();
        let code = [local_code(&self.root, "YieldVault")?.as_ref(), &arguments].concat();
        let vault = self.create(keccak256("yield vault"), &code).await?;
        let assets = dollars(VAULT_DOLLARS);
        let approve = Erc20::approveCall { spender: vault, amount: assets };
        self.call(USDC, approve, U256::ZERO).await?;
        self.call(vault, Erc4626::depositCall { assets, receiver: FAUCET }, U256::ZERO).await?;
        Ok(vault)
    }
}

/// Puts a library's address in place of the compiler's placeholder, if there is one.
fn link(code: &str, library: Address) -> Result<Bytes> {
    let linked = match code.find("__$") {
        Some(start) => {
            let end = start + 40;
            let placeholder = code.get(start..end).context("placeholder is cut")?;
            code.replace(placeholder, &format!("{library:x}").replace("0x", ""))
        }
        None => code.to_owned(),
    };
    linked.parse().context("not hex")
}

/// The same state in one order: anvil writes blocks and transactions as its hash tables have them.
fn canonical(state: &[u8]) -> Result<Vec<u8>> {
    let mut state: serde_json::Value =
        serde_json::from_slice(state).context("anvil's state does not parse")?;
    for list in ["blocks", "transactions"] {
        let entries = state.get_mut(list).and_then(|list| list.as_array_mut());
        entries
            .with_context(|| format!("anvil's state has no {list}"))?
            .sort_by_cached_key(ToString::to_string);
    }
    Ok(serde_json::to_vec(&state)?)
}

/// The state's accounts as a genesis file, which forge's `vm.loadAllocs` reads.
fn allocs(state: &[u8]) -> Result<Vec<u8>> {
    #[derive(Deserialize)]
    struct State {
        accounts: BTreeMap<String, serde_json::Value>,
    }
    let state: State = serde_json::from_slice(state).context("anvil's state does not parse")?;
    Ok(serde_json::to_vec(&state.accounts)?)
}
