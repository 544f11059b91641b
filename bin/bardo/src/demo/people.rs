//! Who acts in the demo, and by which program.

use alloy::{
    eips::BlockNumberOrTag,
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, I256, U256},
    providers::{
        Provider,
        ext::{AnvilApi, DebugApi},
    },
    rpc::types::{
        TransactionRequest,
        trace::geth::{CallConfig, CallFrame, GethDebugTracingOptions, GethTrace},
    },
    sol_types::SolCall,
};
use anyhow::{Context, Result, bail, ensure};
use bardo_bindings::defi::{Erc20, PriceAggregator, PriceFeed};
use golem_chain::{
    Node, OwnerCall,
    local::{FAUCET, LocalChain},
};
use golem_custody::{Execution, Password};
use golem_delegation::Delegation;
use serde_json::Value;
use std::{fs, io::Write, os::unix::fs::OpenOptionsExt, path::PathBuf, process::Command, rc::Rc};
use url::Url;

/// Play money needs no better one.
const PASSWORD: &str = "demo";

/// A private folder that goes away with the play.
#[derive(Clone, Debug)]
pub(super) struct Folder(Rc<tempfile::TempDir>);

impl Folder {
    pub(super) fn new() -> Result<Self> {
        let folder = Self(Rc::new(tempfile::tempdir()?));
        folder.write("password", PASSWORD)?;
        Ok(folder)
    }

    pub(super) fn password(&self) -> Result<Password> {
        Ok(Password::from_file(&self.path("password"))?)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        // Keys and passwords lie here; the commands refuse files that others can read.
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        Ok(file.write_all(text.as_bytes())?)
    }

    pub(super) fn read(&self, name: &str) -> Result<String> {
        Ok(fs::read_to_string(self.path(name))?)
    }
}

/// What a command answered.
#[derive(Debug)]
pub(super) struct Reply {
    code: i32,
    json: Value,
}

impl Reply {
    pub(super) const fn yes(&self) -> bool {
        self.code == 0
    }

    /// A field, as text.
    pub(super) fn field(&self, name: &str) -> String {
        match self.json.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        }
    }

    /// All of it.
    pub(super) const fn json(&self) -> &Value {
        &self.json
    }

    pub(super) fn words(&self) -> String {
        if self.yes() {
            format!("done, {} gas", self.field("gasUsed"))
        } else {
            self.field("reason")
        }
    }

    pub(super) fn hash(&self) -> Result<B256> {
        self.field("transaction").parse().context("the answer names no transaction")
    }
}

/// The agent: `bardo` itself, a new process for each act.
#[derive(Debug)]
pub(super) struct Agent {
    rpc: Url,
    folder: Folder,
}

impl Agent {
    pub(super) const fn new(rpc: Url, folder: Folder) -> Self {
        Self { rpc, folder }
    }

    /// Makes the session key.
    pub(super) fn born(&self) -> Result<Address> {
        let mut words = vec!["session".to_owned(), "new".into()];
        words.extend(self.secret("session.json"));
        let reply = self.bardo(&words)?;
        reply.field("address").parse().context("no address")
    }

    /// Signs the delegation in `file` with a keystore.
    pub(super) fn sign_with(
        &self,
        keystore: &str,
        file: &str,
        unbounded: bool,
    ) -> Result<Delegation> {
        let mut words = vec![
            "delegation".to_owned(),
            "sign".into(),
            self.folder.path(file).display().to_string(),
            "--chain-id".into(),
            "8453".into(),
        ];
        words.extend(self.secret(keystore));
        if unbounded {
            words.push("--unbounded".into());
        }
        let reply = self.bardo(&words)?;
        ensure!(reply.yes(), "was not signed: {}", reply.field("reason"));
        Ok(serde_json::from_value(reply.json)?)
    }

    /// Asks whether a call would be allowed.
    pub(super) fn simulate(&self, context: &str, call: &Execution) -> Result<Reply> {
        self.bardo(&self.call("simulate", context, call))
    }

    /// Acts.
    pub(super) fn redeem(&self, context: &str, call: &Execution) -> Result<Reply> {
        let mut words = self.call("redeem", context, call);
        words.extend(self.secret("session.json"));
        self.bardo(&words)
    }

    fn call(&self, verb: &str, context: &str, call: &Execution) -> Vec<String> {
        vec![
            "delegation".into(),
            verb.into(),
            "--rpc".into(),
            self.rpc.to_string(),
            "--context".into(),
            self.folder.path(context).display().to_string(),
            "--target".into(),
            call.target.to_string(),
            "--value".into(),
            call.value.to_string(),
            "--data".into(),
            call.data.to_string(),
        ]
    }

    fn secret(&self, keystore: &str) -> Vec<String> {
        vec![
            "--keystore".into(),
            self.folder.path(keystore).display().to_string(),
            "--password-file".into(),
            self.folder.path("password").display().to_string(),
        ]
    }

    fn bardo(&self, words: &[String]) -> Result<Reply> {
        bardo(words)
    }
}

/// `bardo` itself, as a process that has ended when this returns.
pub(super) fn bardo(words: &[String]) -> Result<Reply> {
    let output = Command::new(std::env::current_exe()?).args(words).arg("--json").output()?;
    let code = output.status.code().context("bardo was killed")?;
    ensure!(
        code == 0 || code == 1,
        "bardo {words:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(Reply { code, json: serde_json::from_slice(&output.stdout)? })
}

/// A mined transaction.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) hash: B256,
    pub(super) success: bool,
    pub(super) gas_used: u64,
}

/// Foundry's `cast`: a wallet that is not ours.
#[derive(Debug)]
pub(super) struct Cast {
    program: PathBuf,
    rpc: Url,
    folder: Folder,
}

impl Cast {
    pub(super) fn new(chain: &LocalChain, folder: Folder) -> Self {
        Self { program: chain.files().foundry("cast"), rpc: chain.url().clone(), folder }
    }

    /// An address of the thief's own.
    pub(super) fn thief(&self) -> Result<Address> {
        Ok(self.wallet()?.0)
    }

    /// Somebody's wallet: its address, and its key for as long as the play lasts.
    pub(super) fn wallet(&self) -> Result<(Address, String)> {
        let output = Command::new(&self.program).args(["wallet", "new", "--json"]).output()?;
        let made: Value = serde_json::from_slice(&output.stdout).context("cast made no wallet")?;
        let first = made.get(0).unwrap_or(&made);
        let text = |name: &str| {
            first.get(name).and_then(Value::as_str).with_context(|| format!("cast named no {name}"))
        };
        Ok((text("address")?.parse().context("not an address")?, text("private_key")?.to_owned()))
    }

    /// Signs as it stands, with a key of [`wallet`](Self::wallet).
    pub(super) fn sign(&self, key: &str, digest: B256) -> Result<[u8; 65]> {
        let output = Command::new(&self.program)
            .args(["wallet", "sign", "--no-hash", "--private-key", key, &digest.to_string()])
            .output()?;
        let bytes: Bytes =
            String::from_utf8(output.stdout)?.trim().parse().context("cast signed nothing")?;
        bytes.as_ref().try_into().context("a signature of another length")
    }

    /// Sends what the owner kept from the day of his grant.
    pub(super) fn send_as_owner(&self, call: &OwnerCall) -> Result<Sent> {
        self.send("owner.json", call.to, &call.data, &[])
    }

    /// Sends a call of the owner's wallet that he makes today.
    pub(super) fn owner_calls<C: SolCall>(&self, to: Address, call: &C) -> Result<Sent> {
        self.send("owner.json", to, &call.abi_encode().into(), &[])
    }

    /// Sends a call of the agent's key that needs no grant.
    pub(super) fn agent_calls<C: SolCall>(&self, to: Address, call: &C) -> Result<Sent> {
        self.send("session.json", to, &call.abi_encode().into(), &[])
    }

    /// Sends with the stolen key. Gas is fixed: an estimate would fail and nothing would be sent.
    pub(super) fn force_with_session_key(&self, to: Address, data: &Bytes) -> Result<Sent> {
        self.send("session.json", to, data, &["--gas-limit", "1000000"])
    }

    /// Sends with any key of the folder. Options are cast's own.
    pub(super) fn send(
        &self,
        keystore: &str,
        to: Address,
        data: &Bytes,
        more: &[&str],
    ) -> Result<Sent> {
        let output = Command::new(&self.program)
            .args(["send", "--json", "--rpc-url", self.rpc.as_str(), "--keystore"])
            .arg(self.folder.path(keystore))
            .arg("--password-file")
            .arg(self.folder.path("password"))
            .args(more)
            .arg(to.to_string())
            .arg(data.to_string())
            .output()
            .context("cast is not installed; run `make setup`")?;
        let Ok(receipt) = serde_json::from_slice::<Value>(&output.stdout) else {
            bail!("cast sent nothing: {}", String::from_utf8_lossy(&output.stderr));
        };
        let text = |name: &str| receipt.get(name).and_then(Value::as_str).unwrap_or_default();
        let gas = text("gasUsed").trim_start_matches("0x");
        Ok(Sent {
            hash: text("transactionHash").parse().context("no transaction hash")?,
            success: text("status") == "0x1",
            gas_used: u64::from_str_radix(gas, 16)?,
        })
    }
}

/// Eighteen decimals, shown with six.
pub(super) fn decimal(wei: U256) -> String {
    let millionths = wei / U256::from(1_000_000_000_000u64);
    let million = U256::from(1_000_000);
    format!("{}.{:0>6}", millionths / million, (millionths % million).to_string())
}

/// Micro-dollars, in dollars and cents.
pub(super) fn cents(micro: u64) -> String {
    format!("${}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000)
}

pub(super) fn ether(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000_000_000_000_000u64)
}

/// Play money from the faucet.
pub(super) async fn fund(node: &Node, to: Address, wei: U256) -> Result<()> {
    give(node, TransactionRequest::default().with_to(to).with_value(wei)).await
}

/// Sets the answer of a two-hop feed, in its own decimals.
pub(super) async fn set_price(node: &Node, feed: Address, answer: I256) -> Result<()> {
    let aggregator = node.read(feed, PriceFeed::aggregatorCall {}).await?;
    let call = PriceAggregator::setCall { answer };
    give(node, TransactionRequest::default().with_to(aggregator).with_input(call.abi_encode()))
        .await
}

/// Play dollars from the faucet.
pub(super) async fn mint(node: &Node, usdc: Address, to: Address, amount: U256) -> Result<()> {
    let call = Erc20::mintCall { to, amount };
    give(node, TransactionRequest::default().with_to(usdc).with_input(call.abi_encode())).await
}

/// Any call of the faucet's.
pub(super) async fn give_call<C: SolCall>(node: &Node, to: Address, call: &C) -> Result<()> {
    give(node, TransactionRequest::default().with_to(to).with_input(call.abi_encode())).await
}

async fn give(node: &Node, request: TransactionRequest) -> Result<()> {
    let sent = node.provider().send_transaction(request.with_from(FAUCET)).await?;
    ensure!(sent.get_receipt().await?.status(), "the faucet's transaction failed");
    Ok(())
}

/// Moves the clock.
pub(super) async fn warp(node: &Node, timestamp: u64) -> Result<()> {
    node.provider().anvil_set_next_block_timestamp(timestamp).await?;
    node.provider().anvil_mine(Some(1), None).await?;
    Ok(())
}

/// Who called `target` in a transaction, by the node's own trace.
pub(super) async fn sender_at(node: &Node, hash: B256, target: Address) -> Result<Option<Address>> {
    let options = GethDebugTracingOptions::call_tracer(CallConfig::default());
    match node.provider().debug_trace_transaction(hash, options).await? {
        GethTrace::CallTracer(frame) => Ok(caller(&frame, target)),
        _ => bail!("the node gave another kind of trace"),
    }
}

fn caller(frame: &CallFrame, target: Address) -> Option<Address> {
    if frame.to == Some(target) {
        return Some(frame.from);
    }
    frame.calls.iter().find_map(|inner| caller(inner, target))
}

/// Every transaction an address has sent on this chain.
pub(super) async fn sent_by(node: &Node, sender: Address) -> Result<Vec<B256>> {
    let head = node.head().await?.number;
    let mut found = Vec::new();
    for number in 0..=head {
        let block = node
            .provider()
            .get_block_by_number(BlockNumberOrTag::Number(number))
            .full()
            .await?
            .with_context(|| format!("block {number} is missing"))?;
        for transaction in block.transactions.txns() {
            if transaction.inner.signer() == sender {
                found.push(*transaction.inner.tx_hash());
            }
        }
    }
    Ok(found)
}
