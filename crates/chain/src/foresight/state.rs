//! What is known of one block's state.

use crate::{
    ChainFault, Node,
    node::rpc,
    snapshot::{POLL, lacks_block},
};
use alloy::{
    eips::BlockId,
    primitives::{Address, B256, Bytes, U256, map::HashMap},
    providers::Provider,
    rpc::{
        client::{BatchRequest, Waiter},
        json_rpc::{RpcRecv, RpcSend},
        types::Header,
    },
    transports::{RpcError, TransportErrorKind},
};
use golem_custody::BlockRef;
use revm::{
    bytecode::Bytecode,
    context_interface::result::ExecutionResult,
    database_interface::{DBErrorMarker, DatabaseRef},
    primitives::{KECCAK_EMPTY, StorageKey, StorageValue},
    state::AccountInfo,
};
use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

/// Blocks after which what nobody used is forgotten, so that what is re-read does not grow for ever.
const FORGOTTEN_AFTER: u64 = 64;

/// A piece of state that was never read. The machine stops at it: a zero in its place would be a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(super) enum Unread {
    #[error("account {0} was not read")]
    Account(Address),
    #[error("slot {1} of {0} was not read")]
    Slot(Address, U256),
    #[error("the hash of block {0} was not read")]
    BlockHash(u64),
}

impl DBErrorMarker for Unread {}

/// Something that was read, and the last block that needed it.
#[derive(Debug)]
struct Known<T> {
    value: T,
    used: AtomicU64,
}

impl<T> Known<T> {
    const fn at(block: u64, value: T) -> Self {
        Self { value, used: AtomicU64::new(block) }
    }

    fn lately(&self, block: u64) -> bool {
        block.saturating_sub(self.used.load(Relaxed)) <= FORGOTTEN_AFTER
    }
}

impl<T: Clone> Clone for Known<T> {
    fn clone(&self) -> Self {
        Self::at(self.used.load(Relaxed), self.value.clone())
    }
}

/// Code by address, with its hash.
pub(super) type Codes = HashMap<Address, (Bytecode, B256)>;

/// A block's state, as far as it was read. Everything in it is of that one block.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) header: Header,
    /// The block that calls run in: the same, unless a transaction is run again as its own block had it.
    pub(super) within: Header,
    accounts: HashMap<Address, Known<AccountInfo>>,
    slots: HashMap<(Address, U256), Known<U256>>,
    hashes: HashMap<u64, Known<B256>>,
    /// What its contracts answered: whatever else is read of the block, their answers stay.
    answers: Arc<Mutex<HashMap<Asked, ExecutionResult>>>,
}

/// In which block, by its number as contracts see it, whom, and what.
pub(super) type Asked = (u64, Address, Bytes);

/// Most answers that are kept of a block.
const MOST_ANSWERS: usize = 4_096;

impl State {
    /// What was answered before, on this very state.
    pub(super) fn answer(&self, asked: &Asked) -> Option<ExecutionResult> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(asked).cloned()
    }

    /// Keeps an answer that was given on this very state, before anything ran on it.
    pub(super) fn answered(&self, asked: Asked, answer: &ExecutionResult) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST_ANSWERS {
            answers.clear();
        }
        answers.insert(asked, answer.clone());
    }

    /// Nothing is known of the block but its header.
    pub(super) fn of(header: Header) -> Self {
        let within = header.clone();
        Self::before(header, within)
    }

    /// The state after one block, for calls in another.
    pub(super) fn before(header: Header, within: Header) -> Self {
        Self {
            header,
            within,
            accounts: HashMap::default(),
            slots: HashMap::default(),
            hashes: HashMap::default(),
            answers: Arc::default(),
        }
    }

    pub(super) fn block(&self) -> BlockRef {
        BlockRef {
            number: self.header.number,
            hash: self.header.hash,
            timestamp: self.header.timestamp,
        }
    }

    /// All that was used of late: what the next block is asked for first.
    pub(super) fn used_lately(&self) -> BTreeSet<Unread> {
        let block = self.header.number;
        let accounts = self.accounts.iter().filter(|(_, known)| known.lately(block));
        let slots = self.slots.iter().filter(|(_, known)| known.lately(block));
        accounts
            .map(|(address, _)| Unread::Account(*address))
            .chain(slots.map(|(&(address, slot), _)| Unread::Slot(address, slot)))
            .collect()
    }

    /// Takes over when each piece was last used: that it was read again is no use.
    pub(super) fn remember(&self, before: &Self) {
        let keep = |used: &AtomicU64, before: &AtomicU64| used.store(before.load(Relaxed), Relaxed);
        for (address, known) in &self.accounts {
            if let Some(before) = before.accounts.get(address) {
                keep(&known.used, &before.used);
            }
        }
        for (place, known) in &self.slots {
            if let Some(before) = before.slots.get(place) {
                keep(&known.used, &before.used);
            }
        }
    }

    /// Those of `wanted` that were not read yet.
    pub(super) fn unknown(&self, wanted: impl IntoIterator<Item = Unread>) -> BTreeSet<Unread> {
        wanted
            .into_iter()
            .filter(|one| match one {
                Unread::Account(address) => !self.accounts.contains_key(address),
                Unread::Slot(address, slot) => !self.slots.contains_key(&(*address, *slot)),
                Unread::BlockHash(number) => !self.hashes.contains_key(number),
            })
            .collect()
    }

    /// Code that stays what it is: a contract's, once it is there. An account without code may get some, and one
    /// that EIP-7702 upgraded may get other.
    pub(super) fn lasting_code(&self) -> Codes {
        let lasting = |info: &AccountInfo| {
            let code = info.code.clone().filter(|code| !code.is_empty() && !code.is_eip7702())?;
            Some((code, info.code_hash))
        };
        self.accounts
            .iter()
            .filter_map(|(address, known)| Some((*address, lasting(&known.value)?)))
            .collect()
    }

    /// Reads `wanted` from the node, in one round trip, and on this block by its hash.
    pub(super) async fn read(
        &mut self,
        node: &Node,
        wanted: &BTreeSet<Unread>,
        codes: &Codes,
    ) -> Result<(), ChainFault> {
        let number = self.header.number;
        let began = Instant::now();
        let answers = loop {
            match ask(node, self.header.hash, wanted, codes).await {
                Ok(answers) => break answers,
                // Of several nodes behind one address one may not have the block yet.
                Err(Refused::Alone(fault) | Refused::Together(_, fault))
                    if lacks_block(&fault) && began.elapsed() < node.catching_up() =>
                {
                    sleep(POLL).await;
                }
                // Nodes have no code for what is too much at once: whatever they refuse is asked for in smaller parts.
                Err(Refused::Together(size, _)) if size > 1 => node.takes_less_than(size),
                Err(Refused::Together(_, fault) | Refused::Alone(fault)) => return Err(fault),
            }
        };
        for answer in answers {
            match answer {
                Answer::Account(address, info) => {
                    self.accounts.insert(address, Known::at(number, info));
                }
                Answer::Slot(address, slot, value) => {
                    self.slots.insert((address, slot), Known::at(number, value));
                }
                Answer::BlockHash(block, hash) => {
                    self.hashes.insert(block, Known::at(number, hash));
                }
            }
        }
        Ok(())
    }
}

impl DatabaseRef for State {
    type Error = Unread;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, Unread> {
        let known = self.accounts.get(&address).ok_or(Unread::Account(address))?;
        known.used.store(self.header.number, Relaxed);
        Ok(Some(known.value.clone()))
    }

    fn code_by_hash_ref(&self, _hash: B256) -> Result<Bytecode, Unread> {
        // Every account brings its code with it.
        Ok(Bytecode::default())
    }

    fn storage_ref(&self, address: Address, slot: StorageKey) -> Result<StorageValue, Unread> {
        let known = self.slots.get(&(address, slot)).ok_or(Unread::Slot(address, slot))?;
        known.used.store(self.header.number, Relaxed);
        Ok(known.value)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, Unread> {
        self.hashes.get(&number).map(|known| known.value).ok_or(Unread::BlockHash(number))
    }
}

enum Answer {
    Account(Address, AccountInfo),
    Slot(Address, U256, U256),
    BlockHash(u64, B256),
}

/// What will be answered to one piece that was asked for.
enum Pending {
    Account(Address, Waiter<U256>, Waiter<U256>, Code),
    Slot(Address, U256, Waiter<U256>),
    BlockHash(u64, Waiter<Option<Hashed>>),
}

enum Code {
    Known(Bytecode, B256),
    Asked(Waiter<Bytes>),
}

/// The part of a block that is looked at.
#[derive(Clone, Debug, serde::Deserialize)]
struct Hashed {
    hash: B256,
}

type Fault = RpcError<TransportErrorKind>;

/// Why there is no answer.
enum Refused {
    /// A whole batch of so many was refused.
    Together(usize, ChainFault),
    /// One request was.
    Alone(ChainFault),
}

async fn ask(
    node: &Node,
    at: B256,
    wanted: &BTreeSet<Unread>,
    codes: &Codes,
) -> Result<Vec<Answer>, Refused> {
    let fault = |source| Refused::Alone(rpc("the state of a block")(source));
    let at = BlockId::hash_canonical(at);
    let mut pending = Vec::with_capacity(wanted.len());
    let mut batches = Batches { node, most: node.batch(), sent: JoinSet::new(), open: None };
    for one in wanted {
        pending.push(match *one {
            Unread::Account(address) => {
                let code = match codes.get(&address) {
                    Some((code, hash)) => Code::Known(code.clone(), *hash),
                    None => Code::Asked(batches.add("eth_getCode", &(address, at)).map_err(fault)?),
                };
                let balance = batches.add("eth_getBalance", &(address, at)).map_err(fault)?;
                let nonce =
                    batches.add("eth_getTransactionCount", &(address, at)).map_err(fault)?;
                Pending::Account(address, balance, nonce, code)
            }
            Unread::Slot(address, slot) => {
                let value = batches.add("eth_getStorageAt", &(address, slot, at)).map_err(fault)?;
                Pending::Slot(address, slot, value)
            }
            Unread::BlockHash(number) => {
                let which = alloy::eips::BlockNumberOrTag::Number(number);
                let block = batches.add("eth_getBlockByNumber", &(which, false));
                Pending::BlockHash(number, block.map_err(fault)?)
            }
        });
    }
    batches.send();
    let mut refused = None;
    while let Some(sent) = batches.sent.join_next().await {
        // A batch that panics would be a fault of ours; its answers never come, and so nothing is decided.
        if let Ok((size, Err(no))) = sent {
            // What a node says to nothing in particular it says to all of it, and so does a server that finds it too large. Anything
            // else is no word of the node's.
            let status = no.as_transport_err().and_then(|kind| kind.as_http_error());
            let too_large = status.is_some_and(|http| matches!(http.status, 400 | 413));
            let whole = no.as_error_resp().is_some() || too_large;
            let no = rpc("the state of a block")(no);
            refused = Some(if whole { Refused::Together(size, no) } else { Refused::Alone(no) });
        }
    }
    if let Some(refused) = refused {
        return Err(refused);
    }
    let mut answers = Vec::with_capacity(pending.len());
    for one in pending {
        answers.push(answered(one).await.map_err(fault)?);
    }
    Ok(answers)
}

/// Requests on their way in parts that a node takes, all at once.
struct Batches<'a> {
    node: &'a Node,
    most: usize,
    sent: JoinSet<(usize, Result<(), Fault>)>,
    open: Option<(BatchRequest<'a>, usize)>,
}

impl<'a> Batches<'a> {
    fn add<P: RpcSend, R: RpcRecv>(
        &mut self,
        method: &'static str,
        params: &P,
    ) -> Result<Waiter<R>, Fault> {
        if self.open.as_ref().is_some_and(|(_, size)| *size >= self.most) {
            self.send();
        }
        let node: &'a Node = self.node;
        let begin = || (BatchRequest::new(node.provider().client()), 0);
        let (batch, size) = self.open.get_or_insert_with(begin);
        *size = size.saturating_add(1);
        batch.add_call(method, params)
    }

    fn send(&mut self) {
        if let Some((batch, size)) = self.open.take() {
            let sending = batch.send();
            self.sent.spawn(async move { (size, sending.await.map(|_| ())) });
        }
    }
}

async fn answered(pending: Pending) -> Result<Answer, Fault> {
    Ok(match pending {
        Pending::Account(address, balance, nonce, code) => {
            let (code, code_hash) = match code {
                Code::Known(code, hash) => (code, hash),
                Code::Asked(code) => {
                    let code = Bytecode::new_raw_checked(code.await?).map_err(|_malformed| {
                        TransportErrorKind::custom_str("code that is none")
                    })?;
                    let hash = if code.is_empty() { KECCAK_EMPTY } else { code.hash_slow() };
                    (code, hash)
                }
            };
            let nonce = u64::try_from(nonce.await?)
                .map_err(|_beyond| TransportErrorKind::custom_str("a nonce beyond 64 bits"))?;
            let info = AccountInfo {
                balance: balance.await?,
                nonce,
                code_hash,
                code: Some(code),
                ..AccountInfo::default()
            };
            Answer::Account(address, info)
        }
        Pending::Slot(address, slot, value) => Answer::Slot(address, slot, value.await?),
        Pending::BlockHash(number, block) => match block.await? {
            Some(block) => Answer::BlockHash(number, block.hash),
            None => return Err(TransportErrorKind::custom_str("no such block")),
        },
    })
}
