use crate::{
    following::{Following, Heard, News},
    snapshot::Snapshot,
    transport::{ANSWER, is_busy, redacted, repeating, without_url},
};
use alloy::{
    consensus::Transaction as _,
    eips::{BlockNumberOrTag, eip7702::SignedAuthorization},
    primitives::{Address, B256, Bytes, U256},
    providers::{DynProvider, Provider, ext::DebugApi},
    rpc::types::{
        Header, TransactionReceipt,
        trace::geth::{CallConfig, CallFrame, GethDebugTracingOptions, GethTrace},
    },
    sol_types::SolCall,
    transports::{RpcError, TransportErrorKind, utils::guess_local_url},
};
use async_trait::async_trait;
use golem_custody::{
    BlockRef, BoxError, Offer, Receipt, SignedTransaction, Submit, TransactionPlan,
};
use std::{
    fmt, iter,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use url::Url;

/// What nodes say of a transaction that they did not take: geth's words, and those of others beside them.
const REJECTIONS: [&str; 14] = [
    "insufficient funds",
    "underpriced",
    "intrinsic gas",
    "gas limit",
    "gas too low",
    "base fee",
    "fee cap",
    "gas price",
    "invalid sender",
    "invalid signature",
    "chain id",
    "not supported",
    "oversized",
    "nonce too high",
];
/// What they say of a price.
const PRICE: [&str; 8] = [
    "underpriced",
    "base fee",
    "fee cap",
    "feecap",
    "gas price",
    "maxfee",
    "maxpriorityfee",
    "fee too low",
];
/// Most requests in one batch, unless a node takes fewer; larger ones are sent in parts, all at once.
const BATCH: usize = 500;
/// How often something that was refused is looked for before it is left alone.
pub(crate) const LOOKS: u32 = 5;
/// How often a node on this machine is asked for a receipt.
const POLL_NEAR: Duration = Duration::from_millis(50);
/// How often any other is.
const POLL_FAR: Duration = Duration::from_secs(1);
/// How long somebody who is behind the others has to catch up.
const CATCH_UP: Duration = Duration::from_secs(15);
/// How long a transaction that nobody sees in a block is left before it is handed in again.
const AGAIN: Duration = Duration::from_secs(20);
/// What chains to play with call themselves.
const TOYS: [&str; 3] = ["anvil", "hardhat", "ganache"];
/// How long a sent transaction may take to be mined, unless the caller says otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// Something about the chain could not be read or done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainFault {
    /// The node did not answer.
    #[error("node at {url} does not answer as one; check the URL and that the node runs")]
    Unreachable {
        /// Where, without credentials.
        url: String,
        /// Why.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// The node has no room for more requests.
    #[error("node at {url} takes no more requests for now; wait a while, or use another")]
    Busy {
        /// Where, without credentials.
        url: String,
        /// In its own words.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// The bundler did not answer.
    #[error("the bundler at {url} does not answer as one; check the URL and that it runs")]
    NoBundler {
        /// Where, without credentials.
        url: String,
        /// Why.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// The node has not got as far as another one that was asked before.
    #[error(
        "the node is at block {number}, and something of yours is in block {reached}: ask again when it has caught up"
    )]
    Behind {
        /// Where it is.
        number: u64,
        /// What it must have.
        reached: u64,
    },
    /// Nothing of this key waits under that hash.
    #[error("{hash} is no transaction of {sender} that waits for its block; nothing was sent")]
    NotWaiting {
        /// The transaction.
        hash: B256,
        /// Whose key it is.
        sender: Address,
    },
    /// The HTTP client could not be made.
    #[error("no HTTP client could be made")]
    Client {
        /// Why.
        source: alloy::transports::http::reqwest::Error,
    },
    /// The bundler refused something.
    #[error("the bundler refused {what}")]
    Bundler {
        /// What was asked.
        what: &'static str,
        /// Why.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// A request failed.
    #[error("node refused {what}")]
    Rpc {
        /// What was asked.
        what: &'static str,
        /// Why.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// A contract's answer does not decode.
    #[error("answer of {contract} to {what} does not decode; is it the expected contract?")]
    Answer {
        /// Who answered.
        contract: Address,
        /// What was asked.
        what: &'static str,
        /// Why.
        source: Box<alloy::sol_types::Error>,
    },
    /// A contract that must be there is not.
    #[error(
        "no code at {address} ({what}) on chain {chain_id}; `bardo chains check` says what is missing and what to do"
    )]
    Missing {
        /// What should be there.
        what: &'static str,
        /// Where.
        address: Address,
        /// On which chain.
        chain_id: u64,
    },
    /// A block the node named cannot be read from it.
    #[error("node has no newest block")]
    NoHead,
    /// Another chain is served than the one that is meant.
    #[error("chain {found} is served there, and {wanted} is meant; check the URL")]
    OtherChain {
        /// The one that is meant.
        wanted: u64,
        /// The one that is served.
        found: u64,
    },
    /// The bundler serves another entry point.
    #[error("the bundler does not serve entry point {wanted} (ERC-4337 v0.7); use one that does")]
    EntryPoint {
        /// The one that is needed.
        wanted: Address,
    },
    /// The bundler speaks of another operation than the one it was given.
    #[error("the bundler was given operation {sent} and speaks of {named}; do not trust it")]
    OtherOperation {
        /// What it was given.
        sent: B256,
        /// What it named.
        named: B256,
    },
    /// A block is not there.
    #[error(
        "node has no block {number}; it may have been undone, or the node keeps no such old ones"
    )]
    NoBlock {
        /// Its number.
        number: u64,
    },
    /// A header does not hash to what the node says.
    #[error("the node's header of block {number} is not the one of {hash}; do not trust this node")]
    FalseHeader {
        /// The number it gives.
        number: u64,
        /// The hash it gives.
        hash: B256,
    },
    /// A call touches more than is read for one verdict.
    #[error("the call touches too much: it was not decided after {stops} stops to read state")]
    TooMuchUnread {
        /// How often it stopped.
        stops: usize,
    },
    /// The machine did not take the call for one.
    #[error("the call cannot be run here: {why}")]
    Machine {
        /// In its words.
        why: String,
    },
    /// A transaction was sent, and the node did not say what it made of it.
    #[error("transaction {hash} was sent but not answered; look it up before sending again")]
    Unanswered {
        /// The transaction.
        hash: B256,
        /// Why.
        source: Box<RpcError<TransportErrorKind>>,
    },
    /// A sent transaction was not seen in a block in time; it may still land.
    #[error(
        "transaction {hash} was sent but is not in a block yet; look it up before sending again; `--instead-of {hash}` takes its \
         place at a higher price"
    )]
    NotMined {
        /// The transaction.
        hash: B256,
        /// What the node last failed at, where it did.
        source: Option<Box<Self>>,
    },
    /// Another transaction of the same key was mined in its place.
    #[error(
        "the node says that the place of {hash} is taken, by it or by another of the same key: look it up before sending again"
    )]
    PlaceTaken {
        /// The transaction.
        hash: B256,
    },
}

impl ChainFault {
    /// A name that programs can match on.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } | Self::Client { .. } => "UNREACHABLE",
            Self::Busy { .. } => "BUSY",
            Self::NoBundler { .. } | Self::Bundler { .. } | Self::EntryPoint { .. } => "BUNDLER",
            Self::Behind { .. } | Self::NoBlock { .. } | Self::NoHead => "BEHIND",
            Self::Missing { .. } => "MISSING_CONTRACT",
            Self::OtherChain { .. } => "OTHER_CHAIN",
            Self::Unanswered { .. } | Self::NotMined { .. } | Self::PlaceTaken { .. } => {
                "UNSETTLED"
            }
            Self::NotWaiting { .. } => "NOT_WAITING",
            Self::FalseHeader { .. } | Self::OtherOperation { .. } => "UNTRUSTED",
            Self::TooMuchUnread { .. } | Self::Machine { .. } => "UNDECIDED",
            Self::Rpc { .. } | Self::Answer { .. } => "NODE",
        }
    }
}

/// Who sent a transaction, and as which of his.
#[derive(Clone, Debug, serde::Deserialize)]
pub(crate) struct Sender {
    pub(crate) hash: B256,
    pub(crate) from: Address,
    #[serde(with = "alloy::serde::quantity")]
    nonce: u64,
    /// Upgrades by EIP-7702 that it carries: each takes a place of its signer's too.
    #[serde(default, rename = "authorizationList")]
    authorizations: Option<Vec<SignedAuthorization>>,
}

impl Sender {
    /// Whether it takes place `nonce` of the queue of `account`: as its transaction, or by an authorization in it.
    pub(crate) fn uses(&self, account: Address, nonce: u64) -> bool {
        let carried = || {
            self.authorizations.iter().flatten().any(|one| {
                one.nonce() == nonce && one.recover_authority().is_ok_and(|by| by == account)
            })
        };
        (self.from == account && self.nonce == nonce) || carried()
    }
}

/// What a node said to a signed transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It has it now.
    New,
    /// It had it.
    Known,
    /// Another transaction has this one's place in the queue, or it is mined already.
    NonceUsed,
    /// It does not have it: of an account with code it takes one at a time, and another one waits for its block.
    OneAtATime,
}

/// A node whose chain id was asked for once, at the start.
#[derive(Clone, Debug)]
pub struct Node {
    provider: DynProvider,
    /// Who alone gets what is signed, where that is not who is asked.
    private: Option<DynProvider>,
    /// Whom to tell where that one does not take something, and whoever is asked gets it, too.
    openly: Option<Tell>,
    chain_id: u64,
    patience: Duration,
    confirmations: u64,
    near: bool,
    tell: Tell,
    /// The last block that something of ours is known to be in: whoever answers for an earlier one is behind.
    reached: Arc<AtomicU64>,
    /// The last block that a receipt was seen in, or that was told of: whatever is known of an earlier one is not the newest.
    seen: Arc<AtomicU64>,
    /// What was last heard of the newest block.
    news: Arc<News>,
    /// Who follows it, if anybody does.
    pub(crate) following: Option<Arc<Following>>,
    /// A transaction whose place the next one takes.
    instead: Arc<Mutex<Option<B256>>>,
    /// Most requests that it takes in one batch, as far as is known.
    batch: Arc<AtomicUsize>,
}

/// Whom to tell the hash of what is signed before anybody else has it.
#[derive(Clone)]
struct Tell(Arc<dyn Fn(B256) + Send + Sync>);

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}

impl Node {
    /// Connects over HTTP and asks for the chain id.
    pub async fn connect(url: &Url) -> Result<Self, ChainFault> {
        Self::connect_within(url, ANSWER).await
    }

    /// The same, giving the node `answer` for each of its answers. Redirects are not followed: what
    /// is signed goes to the node that was named.
    pub async fn connect_within(url: &Url, answer: Duration) -> Result<Self, ChainFault> {
        let provider = repeating(url, answer)?;
        let chain_id = provider.get_chain_id().await.map_err(|source| {
            let (url, busy) = (redacted(url), is_busy(&source));
            let source = without_url(source).into();
            if busy {
                ChainFault::Busy { url, source }
            } else {
                ChainFault::Unreachable { url, source }
            }
        })?;
        // A real node on this machine, or one behind a tunnel, is no chain to play with.
        let near = guess_local_url(url)
            && provider
                .get_client_version()
                .await
                .is_ok_and(|name| TOYS.iter().any(|toy| name.to_lowercase().contains(toy)));
        let tell = Tell(Arc::new(|_: B256| ()));
        let (reached, instead) = (Arc::default(), Arc::default());
        let (patience, confirmations) = (PATIENCE, 1);
        let batch = Arc::new(AtomicUsize::new(BATCH));
        Ok(Self {
            provider,
            private: None,
            openly: None,
            chain_id,
            patience,
            confirmations,
            near,
            tell,
            reached,
            seen: Arc::default(),
            news: Arc::default(),
            following: None,
            instead,
            batch,
        })
    }

    /// The same connection, handing what is signed to `private` alone: a node of the same chain that does not show it to everybody.
    pub fn through(mut self, private: &Self) -> Result<Self, ChainFault> {
        let (wanted, found) = (self.chain_id, private.chain_id);
        if wanted != found {
            return Err(ChainFault::OtherChain { wanted, found });
        }
        self.private = Some(private.provider.clone());
        Ok(self)
    }

    /// The same connection for what cannot wait: what the private node does not take is handed in here, after `tell` heard its hash. It
    /// is the same transaction, and stays one.
    #[must_use]
    pub fn or_openly(mut self, tell: impl Fn(B256) + Send + Sync + 'static) -> Self {
        self.openly = Some(Tell(Arc::new(tell)));
        self
    }

    /// The same connection, whose next transaction takes the place of one that waits for its block, at a price that nodes
    /// take for it.
    #[must_use]
    pub fn instead_of(self, hash: Option<B256>) -> Self {
        *self.instead.lock().unwrap_or_else(PoisonError::into_inner) = hash;
        self
    }

    /// The same connection, for which a sent transaction is done only under so many blocks, its own included.
    #[must_use]
    pub const fn with_confirmations(mut self, confirmations: u64) -> Self {
        self.confirmations = confirmations;
        self
    }

    /// The same connection, telling the hash of everything that is sent through [`Self::send`] before the node has it:
    /// whatever happens next, it can be looked up.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(B256) + Send + Sync + 'static) -> Self {
        self.tell = Tell(Arc::new(tell));
        self
    }

    /// The same connection, waiting `patience` for a sent transaction to be mined.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Notes that a block is there: nobody who has not got as far is believed from now on.
    pub(crate) fn has_reached(&self, block: u64) {
        self.reached.fetch_max(block, Relaxed);
    }

    /// Notes that there may be a block: what is known of an earlier one is asked for anew.
    pub(crate) fn has_seen(&self, block: u64) {
        self.seen.fetch_max(block, Relaxed);
    }

    /// The newest block's header, where somebody follows it, heard of it a moment ago, and nobody knows of a later one.
    pub(crate) fn known(&self) -> Option<Header> {
        let fresh = self.following.as_ref()?.fresh;
        let lowest = self.reached.load(Relaxed).max(self.seen.load(Relaxed));
        self.news.current(fresh, lowest)
    }

    /// Wakes whoever waits for another block, where somebody follows them.
    pub(crate) fn listen(&self) -> Option<watch::Receiver<Option<Heard>>> {
        self.following.as_ref().map(|_| self.news.listen())
    }

    /// How long somebody who is behind has to catch up; a chain on this machine never is.
    pub(crate) const fn catching_up(&self) -> Duration {
        if self.near { Duration::ZERO } else { CATCH_UP }
    }

    /// Whether it is a chain to play with, on this machine: its clock is its own, and it has one node.
    #[must_use]
    pub const fn is_near(&self) -> bool {
        self.near
    }

    /// The chain's id.
    #[must_use]
    pub const fn chain_id(&self) -> u64 {
        self.chain_id
    }

    /// The connection, for requests this type has no word for.
    #[must_use]
    pub const fn provider(&self) -> &DynProvider {
        &self.provider
    }

    /// Calls a view function on the newest block: what only waits for a block is not there.
    pub async fn read<C: SolCall>(&self, to: Address, call: C) -> Result<C::Return, ChainFault> {
        Snapshot::newest(self).await?.read(to, call).await
    }

    /// The same on the block that holds a transaction.
    pub async fn read_after<C: SolCall>(
        &self,
        receipt: &TransactionReceipt,
        to: Address,
        call: C,
    ) -> Result<C::Return, ChainFault> {
        Snapshot::after(self, receipt).await?.read(to, call).await
    }

    /// The same on the newest block that is as deep as a sent transaction must be.
    pub async fn read_settled<C: SolCall>(
        &self,
        to: Address,
        call: C,
    ) -> Result<C::Return, ChainFault> {
        self.settled_state().await?.read(to, call).await
    }

    /// The state of that block.
    pub(crate) async fn settled_state(&self) -> Result<Snapshot<'_>, ChainFault> {
        let head = self.header().await?.number;
        let settled = head.saturating_sub(self.confirmations.max(1) - 1);
        Snapshot::at(self, settled).await
    }

    /// Code at an address.
    pub async fn code(&self, address: Address) -> Result<Bytes, ChainFault> {
        Snapshot::newest(self).await?.code(address).await
    }

    /// Fails unless there is code at `address`.
    pub async fn require(&self, what: &'static str, address: Address) -> Result<(), ChainFault> {
        Snapshot::newest(self).await?.require(what, address).await
    }

    /// Native balance, in wei.
    pub async fn balance(&self, address: Address) -> Result<U256, ChainFault> {
        self.provider.get_balance(address).await.map_err(rpc("a balance"))
    }

    /// Most that a rollup charges for a transaction with so many bytes of calldata, beside its gas, in wei; nothing elsewhere.
    pub async fn data_fee(&self, bytes: usize) -> Result<U256, ChainFault> {
        crate::foresight::toll::of_transaction(self, bytes, false).await
    }

    /// The newest block.
    pub async fn head(&self) -> Result<BlockRef, ChainFault> {
        let header = self.header().await?;
        Ok(BlockRef { number: header.number, hash: header.hash, timestamp: header.timestamp })
    }

    /// The newest block's header.
    pub async fn header(&self) -> Result<Header, ChainFault> {
        let began = Instant::now();
        loop {
            let asked = Instant::now();
            let head = self.header_at(BlockNumberOrTag::Latest).await?.ok_or(ChainFault::NoHead)?;
            let reached = self.reached.load(Relaxed);
            if head.number >= reached || self.near {
                self.news.heard(&head, asked);
                return Ok(head);
            }
            if began.elapsed() >= self.catching_up() {
                return Err(ChainFault::Behind { number: head.number, reached });
            }
            sleep(POLL_FAR).await;
        }
    }

    /// Whether a block is the one at its height and, with as many on it as must be, all of them hang together: of several
    /// nodes behind one address, or between two questions, each may speak of another line.
    pub(crate) async fn is_buried(
        &self,
        number: u64,
        hash: B256,
        confirmations: u64,
    ) -> Result<bool, ChainFault> {
        let (mut below, known) = (hash, self.known());
        for height in number..number.saturating_add(confirmations.max(1)) {
            let header = match known.as_ref().filter(|known| known.number == height) {
                Some(known) => Some(known.clone()),
                None => self.header_at(height.into()).await?,
            };
            let Some(header) = header else { return Ok(false) };
            let fits = if height == number { header.hash } else { header.parent_hash };
            if fits != below {
                return Ok(false);
            }
            below = header.hash;
        }
        Ok(true)
    }

    /// The header of a block that must be there.
    pub(crate) async fn header_of(&self, number: u64) -> Result<Header, ChainFault> {
        self.header_at(number.into()).await?.ok_or(ChainFault::NoBlock { number })
    }

    /// A header, where the node has that block. One whose hash is not its own is not believed: time and height would
    /// be whatever the node likes.
    pub(crate) async fn header_at(
        &self,
        which: BlockNumberOrTag,
    ) -> Result<Option<Header>, ChainFault> {
        let block = self.provider.get_block(which.into()).await.map_err(rpc("a block"))?;
        let Some(header) = block.map(|block| block.header) else { return Ok(None) };
        if header.inner.hash_slow() != header.hash {
            return Err(ChainFault::FalseHeader { number: header.number, hash: header.hash });
        }
        Ok(Some(header))
    }

    /// The calls of a mined transaction, from a node that keeps traces.
    pub(crate) async fn trace(&self, hash: B256) -> Option<CallFrame> {
        let options = GethDebugTracingOptions::call_tracer(CallConfig::default());
        match self.provider.debug_trace_transaction(hash, options).await {
            Ok(GethTrace::CallTracer(top)) => Some(top),
            _ => None,
        }
    }

    /// Next nonce, fees and balance of `sender`.
    pub async fn plan(&self, sender: Address) -> Result<TransactionPlan, ChainFault> {
        let plan = self.next(sender).await?;
        let Some(hash) = self.replaces() else { return Ok(plan) };
        let (place, bid) = self.waiting(hash, sender).await?;
        Ok(plan.over(place, Some(bid)))
    }

    /// The same, in nobody's place.
    pub(crate) async fn next(&self, sender: Address) -> Result<TransactionPlan, ChainFault> {
        let (offer, nonce, balance) =
            tokio::try_join!(self.offer(), self.pending(sender), self.balance(sender))?;
        let Offer { max_fee_per_gas, max_priority_fee_per_gas } = offer;
        let chain_id = self.chain_id;
        Ok(TransactionPlan { chain_id, nonce, max_fee_per_gas, max_priority_fee_per_gas, balance })
    }

    /// The first place of `sender` that the node has nothing for.
    pub(crate) async fn pending(&self, sender: Address) -> Result<u64, ChainFault> {
        let pending = self.provider.get_transaction_count(sender).pending();
        let shown = pending.await.map_err(rpc("a nonce"))?;
        // What waits in private others do not count; and not everybody who takes transactions counts any.
        let Some(private) = &self.private else { return Ok(shown) };
        let hidden = private.get_transaction_count(sender).pending().await;
        Ok(hidden.map_or(shown, |hidden| hidden.max(shown)))
    }

    /// The transaction whose place the next one takes.
    pub(crate) fn replaces(&self) -> Option<B256> {
        *self.instead.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that something was signed on a plan: what comes next stands behind it, and takes nobody's place. Whether this one
    /// was to.
    pub(crate) fn took_its_place(&self) -> bool {
        self.instead.lock().unwrap_or_else(PoisonError::into_inner).take().is_some()
    }

    /// Place and price of a transaction of `sender` that waits for its block.
    async fn waiting(&self, hash: B256, sender: Address) -> Result<(u64, Offer), ChainFault> {
        let mut found = self.provider.get_transaction_by_hash(hash).await;
        if let (Ok(None), Some(private)) = (&found, &self.private) {
            found = private.get_transaction_by_hash(hash).await;
        }
        let waits = found.map_err(rpc("a transaction"))?.filter(|transaction| {
            transaction.block_number.is_none() && transaction.inner.signer() == sender
        });
        let Some(waits) = waits else { return Err(ChainFault::NotWaiting { hash, sender }) };
        let max_fee_per_gas = waits.max_fee_per_gas();
        let tip = waits.max_priority_fee_per_gas().unwrap_or(max_fee_per_gas);
        Ok((waits.nonce(), Offer { max_fee_per_gas, max_priority_fee_per_gas: tip }))
    }

    /// Most requests that it takes in one batch, as far as is known.
    pub(crate) fn batch(&self) -> usize {
        self.batch.load(Relaxed)
    }

    /// Notes that a batch of `size` was too much for it.
    pub(crate) fn takes_less_than(&self, size: usize) {
        self.batch.fetch_min((size / 2).max(1), Relaxed);
    }

    /// Hands a signed transaction to the node. What it already has it may be given again: it stays one.
    pub(crate) async fn broadcast(&self, tx: &SignedTransaction) -> Result<Taken, ChainFault> {
        let Some(private) = &self.private else { return Self::handed(&self.provider, tx).await };
        match (Self::handed(private, tx).await, &self.openly) {
            (Err(_), Some(openly)) => {
                (openly.0)(tx.hash);
                Self::handed(&self.provider, tx).await
            }
            (said, _) => said,
        }
    }

    async fn handed(to: &DynProvider, tx: &SignedTransaction) -> Result<Taken, ChainFault> {
        match to.send_raw_transaction(&tx.raw).await {
            Ok(_pending) => Ok(Taken::New),
            Err(RpcError::ErrorResp(refused)) => {
                let words = refused.message.to_lowercase();
                // Nodes have no codes for these, only words: geth's, and those of others beside them.
                if ["already known", "already imported", "alreadyknown"]
                    .iter()
                    .any(|known| words.contains(known))
                {
                    return Ok(Taken::Known);
                }
                if words.contains("nonce too low") {
                    return Ok(Taken::NonceUsed);
                }
                if words.contains("delegated account") || words.contains("in-flight") {
                    return Ok(Taken::OneAtATime);
                }
                if REJECTIONS.iter().any(|known| words.contains(known)) {
                    return Err(rpc("a signed transaction")(RpcError::ErrorResp(refused)));
                }
                // Any other complaint may be about something that happened after it was taken.
                let source = without_url(RpcError::ErrorResp(refused)).into();
                Err(ChainFault::Unanswered { hash: tx.hash, source })
            }
            // It may have it, or not: whoever sent must go on as if it had.
            Err(other) => {
                Err(ChainFault::Unanswered { hash: tx.hash, source: without_url(other).into() })
            }
        }
    }

    /// Whose transactions a block holds. Rollups have kinds of their own, of which only this is asked.
    pub(crate) async fn senders(&self, block: B256) -> Result<Vec<Sender>, ChainFault> {
        #[derive(Clone, Debug, serde::Deserialize)]
        struct Block {
            transactions: Vec<Sender>,
        }
        let asked = self.provider.raw_request("eth_getBlockByHash".into(), (block, true)).await;
        let found: Option<Block> = asked.map_err(rpc("a block's transactions"))?;
        Ok(found.map(|block| block.transactions).unwrap_or_default())
    }

    /// Whether the node may have a transaction: one that cannot be asked may.
    pub(crate) async fn knows(&self, hash: B256) -> bool {
        for asked in iter::once(&self.provider).chain(&self.private) {
            if !matches!(asked.get_transaction_by_hash(hash).await, Ok(None)) {
                return true;
            }
        }
        false
    }

    /// Whether what a node refused is known all the same: of several behind one address another may have it, and not say so
    /// at once.
    async fn turns_up(&self, hash: B256) -> bool {
        for look in 0..LOOKS {
            if look > 0 {
                sleep(self.poll()).await;
            }
            if self.knows(hash).await {
                return true;
            }
        }
        false
    }

    const fn poll(&self) -> Duration {
        if self.near { POLL_NEAR } else { POLL_FAR }
    }

    /// Receipt of a transaction, where the node has one.
    pub(crate) async fn receipt(
        &self,
        hash: B256,
    ) -> Result<Option<TransactionReceipt>, ChainFault> {
        let receipt =
            self.provider.get_transaction_receipt(hash).await.map_err(rpc("a receipt"))?;
        if let Some(block) = receipt.as_ref().and_then(|receipt| receipt.block_number) {
            self.has_seen(block);
        }
        Ok(receipt)
    }

    /// How many transactions of `sender` a block and all before it hold.
    pub(crate) async fn sent_by(&self, sender: Address, block: u64) -> Result<u64, ChainFault> {
        self.provider.get_transaction_count(sender).number(block).await.map_err(rpc("a nonce"))
    }

    /// What the node thinks is a fair price.
    pub(crate) async fn offer(&self) -> Result<Offer, ChainFault> {
        let fees =
            self.provider.estimate_eip1559_fees().await.map_err(rpc("an estimate of fees"))?;
        Ok(Offer {
            max_fee_per_gas: fees.max_fee_per_gas,
            max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
        })
    }

    /// Sends a signed transaction and waits for the block that holds it, and for those that it must be buried under.
    ///
    /// It is handed over once. What the node says to that is believed only as far as it can be: an answer that names
    /// no reason to refuse it, or none at all, is waited out like a yes.
    pub async fn send(&self, tx: &SignedTransaction) -> Result<TransactionReceipt, ChainFault> {
        (self.tell.0)(tx.hash);
        self.took_its_place();
        let mut held_back = false;
        let mut fault = match self.broadcast(tx).await {
            Ok(Taken::New | Taken::Known) => None,
            // Perhaps by this very transaction, handed over twice by somebody between here and the node.
            Ok(Taken::NonceUsed) => Some(ChainFault::PlaceTaken { hash: tx.hash }),
            Ok(Taken::OneAtATime) => {
                held_back = true;
                None
            }
            Err(refused @ ChainFault::Rpc { .. }) if !self.turns_up(tx.hash).await => {
                return Err(refused);
            }
            Err(silent) => Some(silent),
        };
        let began = Instant::now();
        let mut handed_in = began;
        let mut taken = matches!(fault, Some(ChainFault::PlaceTaken { .. })).then_some(began);
        loop {
            // Whoever was to be waited for so long is not waited for longer, whatever the node does.
            let left = self.patience.saturating_sub(began.elapsed());
            let late = || ChainFault::NotMined { hash: tx.hash, source: None };
            let seen = timeout(left, self.settled(tx.hash)).await;
            match seen.unwrap_or_else(|_elapsed| Err(late())) {
                Ok(Some(receipt)) => {
                    self.has_reached(receipt.block_number.unwrap_or_default());
                    return Ok(receipt);
                }
                // What it forgot, or a reorganisation undid, it is given again: it stays one transaction.
                Ok(None) if held_back || handed_in.elapsed() >= AGAIN => {
                    handed_in = Instant::now();
                    let said = self.broadcast(tx).await;
                    held_back = matches!(said, Ok(Taken::OneAtATime));
                    if let Ok(Taken::NonceUsed) = said {
                        fault = Some(ChainFault::PlaceTaken { hash: tx.hash });
                        taken = taken.or(Some(handed_in));
                    }
                }
                Ok(None) => {}
                // That there was no time left is no fault of anybody's.
                Err(ChainFault::NotMined { .. }) => {}
                Err(away) => fault = fault.or(Some(away)),
            }
            // Where its place is taken, and not by itself, waiting is of no use: who has it is for the caller to see.
            let lost = taken.is_some_and(|since| since.elapsed() >= CATCH_UP)
                && matches!(self.receipt(tx.hash).await, Ok(None));
            if lost || began.elapsed() >= self.patience {
                return Err(match fault {
                    Some(
                        said @ (ChainFault::Unanswered { .. } | ChainFault::PlaceTaken { .. }),
                    ) => said,
                    other => ChainFault::NotMined { hash: tx.hash, source: other.map(Box::new) },
                });
            }
            sleep(self.poll()).await;
        }
    }

    /// The receipt of a transaction that is deep enough: its block is the one at that height, and as many stand on it as
    /// are asked for.
    pub(crate) async fn settled(
        &self,
        hash: B256,
    ) -> Result<Option<TransactionReceipt>, ChainFault> {
        let Some(receipt) = self.receipt(hash).await? else { return Ok(None) };
        let (Some(number), Some(block)) = (receipt.block_number, receipt.block_hash) else {
            return Ok(None);
        };
        let buried = self.is_buried(number, block, self.confirmations).await?;
        Ok(buried.then_some(receipt))
    }
}

#[async_trait]
impl Submit for Node {
    async fn plan(&self, sender: Address) -> Result<TransactionPlan, BoxError> {
        Ok(Self::plan(self, sender).await?)
    }

    async fn submit(&self, transaction: &SignedTransaction) -> Result<Receipt, BoxError> {
        let receipt = self.send(transaction).await?;
        Ok(Receipt {
            hash: receipt.transaction_hash,
            success: receipt.status(),
            gas_used: receipt.gas_used,
            block_number: receipt.block_number.unwrap_or_default(),
        })
    }
}

pub(crate) fn rpc(what: &'static str) -> impl FnOnce(RpcError<TransportErrorKind>) -> ChainFault {
    move |source| ChainFault::Rpc { what, source: without_url(source).into() }
}

/// Whether a refusal is one of the price.
pub(crate) fn asks_for_more(refused: &ChainFault) -> bool {
    let (ChainFault::Rpc { source, .. } | ChainFault::Bundler { source, .. }) = refused else {
        return false;
    };
    source.as_error_resp().is_some_and(|error| {
        let words = error.message.to_lowercase();
        PRICE.iter().any(|known| words.contains(known))
    })
}
