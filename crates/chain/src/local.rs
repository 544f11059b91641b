//! The local chain and its bundler: processes of others, ended with this one.
//!
//! Both come from npm packages and bind to loopback only. Neither is needed to talk to a public
//! chain. Starting one blocks until it answers: 0.1 s for the chain, seconds for the bundler.

mod guard;

use alloy::primitives::{Address, B256, Bytes, U256, address, b256};
use bardo_bindings::{golem_lifecycle, golem_registry};
use golem_delegation::terms::{
    Classes, GolemCharter, ListedTarget, ListedToken, Listing, MortalityTimeWindow, Role,
};
use guard::Guarded;
use serde::{Deserialize, Serialize};
use std::{
    env, fs, io,
    path::{Path, PathBuf},
};
use url::Url;

/// First account of the development mnemonic that anvil funds. Everybody knows its key.
pub const FAUCET: Address = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");

/// Keys of the same mnemonic that the bundler pays and simulates with.
const BUNDLER_EXECUTOR: B256 =
    b256!("2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6");
const BUNDLER_UTILITY: B256 =
    b256!("dbda1821b80551c9d65939329250298aa3472ba22feea921c0cf5d620ea67b97");

/// Where the parts of the local chain are.
#[derive(Clone, Debug)]
pub struct LocalFiles {
    root: PathBuf,
}

/// The local chain is not there, or does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// No folder above has a built local chain.
    #[error("no local chain found from {from} upwards; build it with `make devchain`")]
    NotBuilt {
        /// Where the search began.
        from: PathBuf,
    },
    /// A file is missing or broken.
    #[error("local chain file {path} cannot be read; rebuild it with `make devchain`")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The address book does not parse.
    #[error("address book {path} does not parse; rebuild it with `make devchain`")]
    Book {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A program did not start.
    #[error("{program} did not start: {said}")]
    Start {
        /// Which.
        program: &'static str,
        /// Its last words.
        said: String,
        /// Why.
        source: io::Error,
    },
}

/// What stands where on the local chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddressBook {
    /// Time of the newest block in the state.
    pub timestamp: u64,
    /// Wrapped ether.
    pub weth: Address,
    /// Six decimals, minted by the faucet.
    pub usdc: Address,
    /// Uniswap V3 factory.
    pub factory: Address,
    /// Uniswap's first router.
    pub swap_router: Address,
    /// Uniswap's SwapRouter02.
    pub swap_router_02: Address,
    /// Uniswap V3 positions.
    pub position_manager: Address,
    /// Uniswap's QuoterV2.
    pub quoter: Address,
    /// WETH/USDC at 0.05 %.
    pub pool_500: Address,
    /// WETH/USDC at 0.3 %.
    pub pool_3000: Address,
    /// ETH/USD feed.
    pub eth_usd: Address,
    /// USDC/USD feed.
    pub usdc_usd: Address,
    /// Uptime feed of a sequencer, as rollups have one.
    pub sequencer_uptime: Address,
    /// ERC-4626 vault over USDC.
    pub vault: Address,
    /// Whole dollars per ether at which pools and feed start.
    pub eth_price: U256,
    /// Creation code of the framework's account proxy.
    pub proxy_code: Bytes,
}

/// Whose Golem a charter is for, and which of his grants it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CharterParties {
    /// The Golem.
    pub golem_id: B256,
    /// Its owner's EOA, to which sweeps go.
    pub owner: Address,
    /// Where the money is.
    pub account: Address,
    /// Who acts.
    pub agent_key: Address,
    /// Number of the grant.
    pub epoch: u16,
}

impl AddressBook {
    /// The charter that Golems of the local chain live under: a thousand dollars a day and half of
    /// it at once, one per cent of slippage, a tenth of the vault; 0.05 ether of gas money, 0.01 a
    /// day. The feeds answer once and are good for a month.
    #[must_use]
    pub fn charter(&self, parties: &CharterParties, window: MortalityTimeWindow) -> GolemCharter {
        const MONTH: u32 = 30 * 86_400;
        let token = |token, role, feed, token_decimals| ListedToken {
            token,
            role: Some(role),
            feed,
            token_decimals,
            feed_decimals: 8,
            max_age: MONTH,
        };
        let targets = [
            (self.swap_router_02, Role::SwapRouter02),
            (self.swap_router, Role::SwapRouter),
            (self.position_manager, Role::PositionManager),
            (self.vault, Role::Vault),
            (parties.agent_key, Role::AgentKey),
            (golem_lifecycle(), Role::Lifecycle),
            (golem_registry(), Role::Registry),
        ];
        GolemCharter {
            golem_id: parties.golem_id,
            owner: parties.owner,
            epoch: parties.epoch,
            generation: 0,
            registry: golem_registry(),
            account: parties.account,
            beneficiary: parties.owner,
            agent_key: parties.agent_key,
            replicants: false,
            classes: Classes::ALL,
            window,
            spend_cap: 1_000_000_000,
            bucket_minutes: 120,
            slippage_bps: 100,
            vault: self.vault,
            nav_bps: 1_000,
            nav_cap: 500_000_000,
            staleness: MONTH,
            gas_ceiling: 50_000_000,
            gas_daily_cap: 10_000_000,
            settlement_asset: self.usdc,
            max_royalty_bps: None,
            mood: None,
            listing: Listing {
                sequencer_feed: Address::ZERO,
                sequencer_grace: 0,
                tokens: vec![
                    token(self.usdc, Role::Token, self.usdc_usd, 6),
                    token(self.weth, Role::Weth, self.eth_usd, 18),
                ],
                targets: targets.map(|(target, role)| ListedTarget { target, role }).to_vec(),
            },
        }
    }
}

impl LocalFiles {
    /// Looks for a built local chain: `BARDO_HOME` if set, else here and in the folders above.
    pub fn find() -> Result<Self, LocalError> {
        let from = match env::var_os("BARDO_HOME") {
            Some(home) => PathBuf::from(home),
            None => env::current_dir()
                .map_err(|source| LocalError::File { path: ".".into(), source })?,
        };
        from.ancestors()
            .find(|folder| folder.join(".devchain/book.json").is_file())
            .map(|root| Self { root: root.into() })
            .ok_or(LocalError::NotBuilt { from })
    }

    /// The parts under `root`, built or not.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder that holds them.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// anvil's dumped state.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.root.join(".devchain/state.json")
    }

    /// The address book.
    #[must_use]
    pub fn book(&self) -> PathBuf {
        self.root.join(".devchain/book.json")
    }

    /// What stands where, from the file.
    pub fn address_book(&self) -> Result<AddressBook, LocalError> {
        let path = self.book();
        let text =
            fs::read(&path).map_err(|source| LocalError::File { path: path.clone(), source })?;
        serde_json::from_slice(&text).map_err(|source| LocalError::Book { path, source })
    }

    /// A native program of the Foundry suite, as its npm package ships it.
    #[must_use]
    pub fn foundry(&self, tool: &str) -> PathBuf {
        self.root.join(format!("node_modules/@foundry-rs/{tool}-linux-amd64/bin/{tool}"))
    }
}

/// A running local chain. Dropping it ends the process; so does the end of this one, however it
/// comes.
#[derive(Debug)]
pub struct LocalChain {
    url: Url,
    book: AddressBook,
    files: LocalFiles,
    process: Guarded,
}

impl LocalChain {
    /// Starts anvil from the built state, on a free port of the loopback interface.
    pub fn start(files: &LocalFiles) -> Result<Self, LocalError> {
        Self::start_with(files, &[])
    }

    /// The same by the rules of a fork that is named: not every chain has the newest.
    pub fn start_by(files: &LocalFiles, fork: &str) -> Result<Self, LocalError> {
        Self::start_with(files, &["--hardfork", fork])
    }

    fn start_with(files: &LocalFiles, words: &[&str]) -> Result<Self, LocalError> {
        let book = files.address_book()?;
        let state = files.state();
        let more = words.iter().map(Into::into);
        let arguments = ["--load-state".into(), state.into_os_string()].into_iter().chain(more);
        let (url, process) = start_anvil(files, book.timestamp, arguments)?;
        Ok(Self { url, book, files: files.clone(), process })
    }

    /// Where it listens.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// What stands where.
    #[must_use]
    pub const fn book(&self) -> &AddressBook {
        &self.book
    }

    /// Process id of its guard; gone when the chain is gone.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Where its parts are.
    #[must_use]
    pub const fn files(&self) -> &LocalFiles {
        &self.files
    }
}

/// An empty anvil that writes its state to `dump` when it ends.
#[derive(Debug)]
pub struct EmptyChain {
    url: Url,
    process: Guarded,
}

impl EmptyChain {
    /// Starts at `timestamp`.
    pub fn start(files: &LocalFiles, timestamp: u64, dump: &Path) -> Result<Self, LocalError> {
        let arguments = ["--dump-state".into(), dump.as_os_str().to_owned()];
        let (url, process) = start_anvil(files, timestamp, arguments)?;
        Ok(Self { url, process })
    }

    /// Where it listens.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Ends it; the state is written when this returns.
    pub fn finish(self) {
        drop(self.process);
    }
}

fn start_anvil(
    files: &LocalFiles,
    timestamp: u64,
    arguments: impl IntoIterator<Item = std::ffi::OsString>,
) -> Result<(Url, Guarded), LocalError> {
    let program = files.foundry("anvil");
    let mut all: Vec<std::ffi::OsString> = vec![program.into_os_string()];
    for word in [
        "--port",
        "0",
        "--host",
        "127.0.0.1",
        "--chain-id",
        "8453",
        // Older states would go to disk, gigabytes in an hour, and stay there.
        "--prune-history",
        "256",
        "--timestamp",
    ] {
        all.push(word.into());
    }
    all.push(timestamp.to_string().into());
    all.extend(arguments);
    let (process, port) = Guarded::start("anvil", &all, &[], |line| {
        line.strip_prefix("Listening on 127.0.0.1:")?.trim().parse().ok()
    })?;
    Ok((loopback(port, ""), process))
}

/// The alto bundler. Dropping it ends the process.
#[derive(Debug)]
pub struct Bundler {
    url: Url,
    _process: Guarded,
}

impl Bundler {
    /// Starts alto for EntryPoint v0.7 on a free port of the loopback interface.
    pub fn start(files: &LocalFiles, node: &Url) -> Result<Self, LocalError> {
        let module = files.root().join("node_modules/@pimlico/alto/esm/cli/alto.js");
        let preload = files.root().join("crates/chain/node/loopback.cjs");
        let mut all: Vec<std::ffi::OsString> = vec!["node".into(), "--require".into()];
        all.push(preload.into_os_string());
        all.push(module.into_os_string());
        let executor = BUNDLER_EXECUTOR.to_string();
        let utility = BUNDLER_UTILITY.to_string();
        let entry_point = bardo_bindings::framework::ENTRY_POINT.to_string();
        for word in [
            "--entrypoints",
            &entry_point,
            "--executor-private-keys",
            &executor,
            "--utility-private-key",
            &utility,
            "--rpc-url",
            node.as_str(),
            "--port",
            "4337",
            "--safe-mode",
            "false",
            "--log-level",
            "warn",
            "--json",
        ] {
            all.push(word.into());
        }
        let (process, port) = Guarded::start("alto", &all, &[("BARDO_PORT_ZERO", "1")], |line| {
            line.strip_prefix("bardo-listening ")?.trim().parse().ok()
        })?;
        Ok(Self { url: loopback(port, "rpc"), _process: process })
    }

    /// Where it listens.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }
}

/// A Node program of this repository that serves on the loopback interface. Dropping it ends the process.
#[derive(Debug)]
pub struct Companion {
    url: Url,
    _process: Guarded,
}

impl Companion {
    /// Starts `script`, which chooses a free port and says `<name> listening <port>`.
    pub fn start(
        files: &LocalFiles,
        name: &'static str,
        script: &str,
        environment: &[(&str, &str)],
    ) -> Result<Self, LocalError> {
        let preload = files.root().join("crates/chain/node/loopback.cjs");
        let mut all: Vec<std::ffi::OsString> = vec!["node".into(), "--require".into()];
        all.push(preload.into_os_string());
        all.push(files.root().join(script).into_os_string());
        let (process, port) = Guarded::start(name, &all, environment, |line| {
            line.strip_prefix(name)?.strip_prefix(" listening ")?.trim().parse().ok()
        })?;
        Ok(Self { url: loopback(port, ""), _process: process })
    }

    /// Where it listens.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }
}

fn loopback(port: u16, path: &str) -> Url {
    #[expect(clippy::expect_used, reason = "a number and a constant always form a URL")]
    Url::parse(&format!("http://127.0.0.1:{port}/{path}")).expect("a loopback URL")
}
