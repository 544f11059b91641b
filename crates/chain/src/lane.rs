//! One session key's way to the chain.

use crate::{
    ChainFault, Foresight, Node,
    foresight::{arrived, recorded, redeemed},
    node::{LOOKS, Taken, asks_for_more},
};
use alloy::{
    primitives::{Address, B256},
    rpc::types::TransactionReceipt,
};
use async_trait::async_trait;
use golem_custody::{
    Act, Afloat, BoxError, ClearingPolicy, CustodyError, Denial, DenialCode, DryRun, Ending,
    IntentId, Judged, Mandate, Offer, Outcome, Receipt, Rehearsal, Reservation, SessionSigner,
    SignedTransaction, Submit, TransactionPlan, rehearse,
};
use std::{
    collections::BTreeMap,
    mem,
    sync::{Arc, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Mutex, OwnedMutexGuard},
    time::{Instant, sleep, timeout},
};

/// Blocks before the one that something was judged on in which it is looked for too: a reorganisation may put it there.
pub(crate) const BEFORE: u64 = 64;
/// How often a place in the queue is looked for where another process used the key.
const MOST_PLACES: usize = 3;

/// How a key's transactions are brought into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LanePolicy {
    /// What may be signed at all.
    pub clearing: ClearingPolicy,
    /// Blocks that a receipt needs before it counts, its own included. Less than one is one.
    pub confirmations: u64,
    /// How long a price is left to find its block before more is offered.
    pub patience: Duration,
    /// How often the node is asked.
    pub poll: Duration,
    /// How long a transaction is waited for in all.
    pub give_up: Duration,
}

impl Default for LanePolicy {
    /// Two blocks; half a minute for a price; ten minutes in all.
    fn default() -> Self {
        Self {
            clearing: ClearingPolicy::default(),
            confirmations: 2,
            patience: Duration::from_secs(30),
            poll: Duration::from_secs(1),
            give_up: Duration::from_secs(600),
        }
    }
}

/// What became of a redemption.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Landing {
    /// It took effect.
    Done(Receipt),
    /// It was refused before anything was signed.
    Refused(Denial),
    /// It was mined and did not take effect. Its gas is spent.
    Failed {
        /// What the chain has of it.
        receipt: Receipt,
        /// Why, as far as can be found out.
        cause: Denial,
    },
}

/// A redemption that was not brought to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaneFault {
    /// It was not decided or not signed.
    #[error(transparent)]
    Custody(#[from] CustodyError),
    /// Somebody else sends with the same key.
    #[error(
        "the key {sender} is used elsewhere at the same time: each place that it was signed for was taken by another"
    )]
    KeyInUse {
        /// Whose key it is.
        sender: Address,
    },
    /// Another one of the same sender was mined in its place.
    #[error("another one took place {nonce} of the queue of {sender}: this one never will")]
    Displaced {
        /// Whose key it is.
        sender: Address,
        /// The place.
        nonce: u64,
    },
    /// What became of it is known, and the books did not take it: they find it again when they are opened next.
    #[error("what became of it is known, and could not be written down: {landing:?}")]
    Unwritten {
        /// What became of it.
        landing: Box<Landing>,
        /// Why it is not written down.
        source: CustodyError,
    },
    /// It is in its block, and no word of the manager's that it redeemed.
    #[error(
        "{hash} is in its block and did not fail, but this node does not show that it took effect; ask another node"
    )]
    Unproven {
        /// The transaction.
        hash: B256,
    },
    /// It was sent, and is not known to be done when patience ended; or nobody who was asked took it, and somebody may have it
    /// all the same.
    #[error(
        "{hash} at place {nonce} is sent and not settled; it may still take effect: look it up before asking for it again"
    )]
    Unsettled {
        /// The last one of the bids.
        hash: B256,
        /// Its place in the queue.
        nonce: u64,
        /// What the node last refused or failed at, where it did.
        source: Option<ChainFault>,
    },
}

impl LaneFault {
    /// A name that programs can match on.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Custody(_) => "NOT_SIGNED",
            Self::Unwritten { .. } => "UNWRITTEN",
            Self::KeyInUse { .. } => "KEY_IN_USE",
            Self::Displaced { .. } => "DISPLACED",
            Self::Unproven { .. } => "UNPROVEN",
            Self::Unsettled { .. } => "UNSETTLED",
        }
    }
}

/// Everything that one session key sends passes here: what was judged is rehearsed, set aside in the books, gets the next place
/// in the key's queue and is handed to the node before the next one is. Receipts are then waited for side by side.
///
/// Nothing that is signed leaves before the books have it, and what an earlier process left there is brought to its end. A price that finds no block is raised in its place, up to the ceiling. What a node forgot, or a reorganisation
/// undid, is handed to it again as it was signed. So of everything that is signed for one redemption at most one can
/// take effect.
pub struct Lane<K> {
    pub(crate) foresight: Arc<Foresight>,
    submission: Node,
    key: K,
    pub(crate) mandate: Mandate,
    policy: LanePolicy,
    pub(crate) clock: Box<dyn Fn() -> u64 + Send + Sync>,
    tell: Box<dyn Fn(B256) + Send + Sync>,
    next: Mutex<u64>,
    /// All that was signed and is not known to be settled. Whoever waits for one holds it; what nobody holds was given up on.
    afloat: std::sync::Mutex<Fleet>,
}

/// By place, and of several for one place by name.
type Fleet = BTreeMap<(u64, IntentId), Arc<Mutex<Sent>>>;

impl<K> std::fmt::Debug for Lane<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lane").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// A transaction that the node may have.
struct Sent {
    nonce: u64,
    /// Every bid for this place, as the books have them.
    afloat: Afloat<SignedTransaction>,
    /// When the last bid was made or handed in.
    bid_at: Instant,
    /// Whether nobody who was asked has it: it is looked for, and not handed in again.
    forsaken: bool,
    /// Whether the node said that the place was taken when it was handed in.
    doubted: bool,
    /// Whether the node takes it only when the one before it is in its block.
    held_back: bool,
    /// Whether it was to take another one's place: what took that is the deed itself, perhaps, and nothing is signed again.
    replaces: bool,
    /// What was said to it, where that was no yes.
    complaint: Option<ChainFault>,
}

/// A receipt that is deep enough.
struct Mined(Box<TransactionReceipt>);

impl Mined {
    fn summary(&self) -> Receipt {
        Receipt {
            hash: self.0.transaction_hash,
            success: self.0.status(),
            gas_used: self.0.gas_used,
            block_number: self.0.block_number.unwrap_or_default(),
        }
    }
}

/// What the chain has of a sent transaction.
enum Sight {
    Nothing,
    Shallow,
    Deep(Mined),
    Displaced,
}

impl Sent {
    fn new(nonce: u64, afloat: Afloat<SignedTransaction>) -> Self {
        Self {
            nonce,
            afloat,
            bid_at: Instant::now(),
            forsaken: false,
            doubted: false,
            held_back: false,
            replaces: false,
            complaint: None,
        }
    }

    const fn name(&self) -> (u64, IntentId) {
        (self.nonce, self.afloat.intent())
    }

    const fn last(&self) -> &SignedTransaction {
        self.afloat.last()
    }
}

impl<K: SessionSigner> Lane<K> {
    /// Judges by `foresight` and sends to its node. `clock` gives the second it is.
    ///
    /// What an earlier process signed with this key is afloat again: [`finish`](Self::finish) waits for it, and the next
    /// redemption hands it in. What it only set aside is given back.
    pub async fn open(
        foresight: Arc<Foresight>,
        key: K,
        mandate: Mandate,
        policy: LanePolicy,
        clock: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<Self, CustodyError> {
        let left = mandate.left::<SignedTransaction>(key.address(), clock()).await?;
        let mut fleet = Fleet::new();
        for afloat in left {
            let Some(nonce) = afloat.last().nonce() else { continue };
            let sent = Sent::new(nonce, afloat);
            fleet.insert(sent.name(), Arc::new(Mutex::new(sent)));
        }
        let submission = foresight.node().clone();
        let (clock, tell) = (Box::new(clock), Box::new(|_: B256| ()));
        // Behind what is afloat: its place is its own until the chain says otherwise.
        let next = fleet.keys().map(|(nonce, _)| nonce.saturating_add(1)).max().unwrap_or(0);
        let (next, afloat) = (Mutex::new(next), std::sync::Mutex::new(fleet));
        Ok(Self { foresight, submission, key, mandate, policy, clock, tell, next, afloat })
    }

    /// The same, handing what is signed to another node: one that does not show it to everybody.
    #[must_use]
    pub fn through(mut self, private: Node) -> Self {
        self.submission = private;
        self
    }

    /// The same, telling the hash of everything that is signed before anybody else has it: whatever happens next, it can
    /// be looked up.
    #[must_use]
    pub fn telling(mut self, tell: impl Fn(B256) + Send + Sync + 'static) -> Self {
        self.tell = Box::new(tell);
        self
    }

    /// The key's address.
    pub fn sender(&self) -> Address {
        self.key.address()
    }

    /// Rehearses, signs, sends and waits.
    ///
    /// Whoever stops waiting, or is told that it is not settled, has not undone it: what was signed is handed in again by the
    /// next redemption, and may take effect. Who asks for the same once more asks for a second deed.
    pub async fn redeem(&self, judged: Judged) -> Result<Landing, LaneFault> {
        let mut judged = judged;
        for _ in 0..MOST_PLACES {
            let mut sent = match self.send(judged).await? {
                Ok(sent) => sent,
                Err(denial) => return Ok(Landing::Refused(denial)),
            };
            match self.settle(&mut sent).await {
                Ok(mined) => return self.conclude(&sent, &mined).await,
                Err(LaneFault::Displaced { sender, nonce }) => {
                    let (doubted, replaces) = (sent.doubted, sent.replaces);
                    match self.displaced(sent).await? {
                        // Its place was taken before it was handed in: another one is looked for.
                        Some(again) if doubted && !replaces => judged = again,
                        _ => return Err(LaneFault::Displaced { sender, nonce }),
                    }
                }
                // What may still take effect stays: what is sent next stands behind it.
                Err(fault) => return Err(fault),
            }
        }
        Err(LaneFault::KeyInUse { sender: self.sender() })
    }

    /// Waits for everything that nobody waits for: what an earlier process left, and what its caller gave up on. Each is
    /// named, with what became of it.
    pub async fn finish(&self) -> Vec<(IntentId, Result<Landing, LaneFault>)> {
        let all: Vec<_> = self.fleet().values().cloned().collect();
        let mut ends = Vec::new();
        for one in all {
            let Ok(mut sent) = one.try_lock_owned() else { continue };
            let intent = sent.afloat.intent();
            if !sent.forsaken {
                // Whoever ended may have done so before he handed it in. What comes of it is seen when it is looked for.
                let _ = self.submission.broadcast(sent.last()).await;
            }
            let end = match self.settle(&mut sent).await {
                Ok(mined) => self.conclude(&sent, &mined).await,
                Err(displaced @ LaneFault::Displaced { .. }) => {
                    let written = self.displaced(sent).await;
                    Err(written.map_or_else(LaneFault::from, |_judged| displaced))
                }
                Err(fault) => Err(fault),
            };
            ends.push((intent, end));
        }
        ends
    }

    /// Writes down that another one has its place for good. The deed may be tried again.
    async fn displaced(
        &self,
        mut sent: OwnedMutexGuard<Sent>,
    ) -> Result<Option<Judged>, CustodyError> {
        self.fleet().remove(&sent.name());
        let why = format!("another one took place {} of the key's queue", sent.nonce);
        sent.afloat.lost(&self.mandate, &why, (self.clock)()).await
    }

    /// What became of something that is deep enough in the chain, and in the books.
    async fn conclude(&self, sent: &Sent, mined: &Mined) -> Result<Landing, LaneFault> {
        let landing = self.landing(sent.afloat.act(), mined).await;
        let (hash, block) = (mined.0.transaction_hash, mined.0.block_number.unwrap_or_default());
        let ending = match &landing {
            // Whether it redeemed anything this node does not show: what it could have spent stays counted.
            Err(_) | Ok(Landing::Done(_) | Landing::Refused(_)) => Ending::Done { hash, block },
            Ok(Landing::Failed { cause, .. }) => {
                Ending::Failed { hash, block, code: cause.code.to_string() }
            }
        };
        let written = sent.afloat.end(&self.mandate, &ending, (self.clock)()).await;
        self.fleet().remove(&sent.name());
        match (landing, written) {
            (Ok(landing), Err(source)) => {
                Err(LaneFault::Unwritten { landing: Box::new(landing), source })
            }
            (landing, _) => landing,
        }
    }

    async fn landing(&self, act: &Act, mined: &Mined) -> Result<Landing, LaneFault> {
        let receipt = mined.summary();
        self.foresight.node().has_reached(receipt.block_number);
        if !receipt.success {
            let cause = match act {
                Act::Redemption(redemption) => {
                    self.foresight.autopsy(&receipt, redemption, self.sender()).await
                }
                Act::Update(update) => {
                    self.foresight.autopsy_of_update(&receipt, update, self.sender()).await
                }
                Act::Home(_) => Ok(Denial::new(DenialCode::Reverted, "it failed in its block")),
            };
            let cause = cause.unwrap_or_else(|_fault| {
                Denial::new(
                    DenialCode::Reverted,
                    "it failed in its block, and the node could not be asked why",
                )
            });
            return Ok(Landing::Failed { receipt, cause });
        }
        if !shown(&mined.0, act, self.sender()) {
            return Err(LaneFault::Unproven { hash: receipt.hash });
        }
        Ok(Landing::Done(receipt))
    }

    fn fleet(&self) -> std::sync::MutexGuard<'_, Fleet> {
        self.afloat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands in again what somebody gave up waiting for, at a better price where the node had it all the time: what is sent
    /// next would wait behind it for ever.
    async fn hand_in_what_is_left(&self, replaced: Option<B256>) {
        let all: Vec<_> = self.fleet().values().cloned().collect();
        for one in all {
            let Ok(mut sent) = one.try_lock_owned() else { continue };
            // Whose place is to be taken is not helped to keep it.
            let replaced = sent.afloat.bids().any(|bid| Some(bid.hash) == replaced);
            sent.forsaken |= replaced;
            match self.look(&sent).await {
                // Where the books do not take it, they are asked again when they are opened next: it is looked for until then.
                Ok(Sight::Deep(mined)) => drop(self.conclude(&sent, &mined).await),
                Ok(Sight::Displaced) => drop(self.displaced(sent).await),
                Ok(Sight::Nothing) if sent.forsaken => {}
                // What comes of it is seen when it is looked for next.
                Ok(Sight::Nothing) if sent.bid_at.elapsed() >= self.policy.patience => {
                    drop(self.again(&mut sent).await);
                }
                Ok(Sight::Nothing) => {
                    let _ = self.submission.broadcast(sent.last()).await;
                }
                Ok(Sight::Shallow) | Err(_) => {}
            }
        }
    }

    /// From rehearsal to the node's queue, one redemption at a time.
    async fn send(
        &self,
        judged: Judged,
    ) -> Result<Result<OwnedMutexGuard<Sent>, Denial>, LaneFault> {
        let mut next = self.next.lock().await;
        let replaced = self.foresight.node().replaces();
        self.hand_in_what_is_left(replaced).await;
        // What takes another one's place does not stand behind it.
        let behind = if replaced.is_some() { 0 } else { *next };
        let road = Road { foresight: &self.foresight, next: behind };
        let rehearsed = match rehearse(&road, judged, self.sender(), &self.policy.clearing).await? {
            Rehearsal::Passed(rehearsed) => rehearsed,
            Rehearsal::Refused(denial) => return Ok(Err(denial)),
        };
        let cleared = match rehearsed.reserve(&self.mandate, (self.clock)()).await? {
            Reservation::Made(cleared) => cleared,
            Reservation::Refused(denial) => return Ok(Err(denial)),
        };
        let (nonce, intent) = (cleared.nonce(), cleared.intent());
        let sealed = match self.key.sign(cleared, (self.clock)()).await {
            Ok(sealed) => sealed,
            Err(fault) => {
                let why = "the key did not sign it";
                self.mandate.give_back(intent, why, (self.clock)()).await?;
                return Err(fault.into());
            }
        };
        let afloat = sealed.keep(&self.mandate, (self.clock)()).await?;
        let signed = afloat.last().clone();
        (self.tell)(signed.hash);
        // From here on it may be out, whatever becomes of whoever asked for it.
        let mut sent = Sent::new(nonce, afloat);
        sent.replaces = self.foresight.node().took_its_place();
        let name = sent.name();
        let sent = Arc::new(Mutex::new(sent));
        let mut held = Arc::clone(&sent).lock_owned().await;
        self.fleet().insert(name, sent);
        let after = nonce.saturating_add(1).max(*next);
        let before = mem::replace(&mut *next, after);
        match self.submission.broadcast(&signed).await {
            Ok(Taken::New | Taken::Known) => {}
            // Not answered is not refused: it has its place until the chain says otherwise.
            Err(silent @ ChainFault::Unanswered { .. }) => held.complaint = Some(silent),
            // Somebody has the place, and that may be this very transaction, handed over twice by somebody between here and
            // the node. Only the chain can tell.
            Ok(Taken::NonceUsed) => held.doubted = true,
            Ok(Taken::OneAtATime) => held.held_back = true,
            // The price is raised in its place.
            Err(refused) if asks_for_more(&refused) => held.complaint = Some(refused),
            // Of several nodes behind one address another may have it: a no proves nothing. But nothing waits behind what nobody
            // shows: the next one is signed for its place, and at most one of the two takes effect.
            Err(refused) => {
                if !self.turns_up(&held).await {
                    *next = before;
                    held.forsaken = true;
                    let (hash, source) = (signed.hash, Some(refused));
                    return Err(LaneFault::Unsettled { hash, nonce, source });
                }
                held.complaint = Some(refused);
            }
        }
        Ok(Ok(held))
    }

    /// Whether what a node refused is known to somebody all the same, or its place taken: of several nodes behind one address
    /// another may have it, and not say so at once. Who cannot be asked may have it.
    async fn turns_up(&self, sent: &Sent) -> bool {
        let node = self.foresight.node();
        for look in 0..LOOKS {
            if look > 0 {
                sleep(self.policy.poll).await;
            }
            let free = async {
                let head = node.header().await?.number;
                Ok::<_, ChainFault>(node.sent_by(self.sender(), head).await? <= sent.nonce)
            };
            let mut known = !free.await.unwrap_or(false);
            for bid in sent.afloat.bids() {
                known |= self.submission.knows(bid.hash).await || node.knows(bid.hash).await;
            }
            if known {
                return true;
            }
        }
        false
    }

    /// Waits until one of the bids is deep enough in the chain.
    async fn settle(&self, sent: &mut Sent) -> Result<Mined, LaneFault> {
        let began = Instant::now();
        let mut was_mined = false;
        let mut fault = sent.complaint.take();
        loop {
            // Whoever was to be waited for so long is not waited for longer, whatever the node does.
            let left = self.policy.give_up.saturating_sub(began.elapsed());
            match timeout(left, self.look(sent)).await.unwrap_or(Ok(Sight::Nothing)) {
                Ok(Sight::Deep(mined)) => return Ok(mined),
                Ok(Sight::Displaced) => {
                    return Err(LaneFault::Displaced { sender: self.sender(), nonce: sent.nonce });
                }
                Ok(Sight::Shallow) => {
                    was_mined = true;
                    sent.bid_at = Instant::now();
                }
                Ok(Sight::Nothing)
                    if was_mined || sent.bid_at.elapsed() >= self.policy.patience =>
                {
                    was_mined = false;
                    fault = self.again(sent).await.err().or(fault);
                }
                Ok(Sight::Nothing) if sent.held_back => {
                    let said = self.submission.broadcast(sent.last()).await;
                    sent.held_back = matches!(said, Ok(Taken::OneAtATime));
                }
                Ok(Sight::Nothing) => {}
                Err(away) => fault = Some(away),
            }
            if began.elapsed() >= self.policy.give_up {
                let hash = sent.last().hash;
                return Err(LaneFault::Unsettled { hash, nonce: sent.nonce, source: fault });
            }
            sleep(self.policy.poll).await;
        }
    }

    /// Looks for the bids in the chain.
    async fn look(&self, sent: &Sent) -> Result<Sight, ChainFault> {
        let sight = self.find(sent).await?;
        if !matches!(sight, Sight::Nothing) {
            return Ok(sight);
        }
        let node = self.foresight.node();
        let head = node.header().await?.number;
        let depth = self.policy.confirmations.max(1) - 1;
        let Some(settled) = head.checked_sub(depth) else { return Ok(Sight::Nothing) };
        if node.sent_by(self.sender(), settled).await? <= sent.nonce {
            return Ok(Sight::Nothing);
        }
        // The place is taken. By whom is looked up: that there is no receipt of ours proves nothing.
        Ok(match self.taker(sent, settled).await? {
            Some(taker) if sent.afloat.bids().all(|bid| bid.hash != taker) => Sight::Displaced,
            // It is there, and its receipt will be.
            Some(_ours) => Sight::Shallow,
            None => Sight::Nothing,
        })
    }

    /// The transaction that took a place of this key's queue, in a block up to `settled`; none where no block shows it.
    async fn taker(&self, sent: &Sent, settled: u64) -> Result<Option<B256>, ChainFault> {
        let node = self.foresight.node();
        let taken = async |block| Ok(node.sent_by(self.sender(), block).await? > sent.nonce);
        // The last block without it, and the first with it: a reorganisation may have put it before the one it was judged on.
        let since = sent.afloat.since();
        let (mut without, mut with) = (since.saturating_sub(BEFORE), settled);
        // Not every node has blocks from before.
        if taken(without).await.unwrap_or(true) {
            without = since;
            if taken(without).await? {
                return Ok(None);
            }
        }
        while with.saturating_sub(without) > 1 {
            let middle = without.midpoint(with);
            if taken(middle).await? {
                with = middle;
            } else {
                without = middle;
            }
        }
        // That block is believed like any other: it is the one at its height, and as deep as a receipt must be.
        let Some(header) = node.header_at(with.into()).await? else { return Ok(None) };
        if !node.is_buried(with, header.hash, self.policy.confirmations).await? {
            return Ok(None);
        }
        let senders = node.senders(header.hash).await?;
        let (sender, place) = (self.sender(), sent.nonce);
        Ok(senders.iter().find(|one| one.uses(sender, place)).map(|one| one.hash))
    }

    async fn find(&self, sent: &Sent) -> Result<Sight, ChainFault> {
        let node = self.foresight.node();
        for bid in sent.afloat.bids().rev() {
            let Some(receipt) = node.receipt(bid.hash).await? else { continue };
            let (Some(number), Some(hash)) = (receipt.block_number, receipt.block_hash) else {
                continue;
            };
            // A receipt is as good as its block, and that as those on it.
            let buried = node.is_buried(number, hash, self.policy.confirmations).await?;
            return Ok(if buried { Sight::Deep(Mined(receipt.into())) } else { Sight::Shallow });
        }
        Ok(Sight::Nothing)
    }

    /// Hands the last bid to the node again; one that it has had all the time, or does not take at its price, gets a better
    /// one. Where it is refused for something else, those before it are handed in.
    async fn again(&self, sent: &mut Sent) -> Result<(), ChainFault> {
        sent.bid_at = Instant::now();
        let last = sent.last().clone();
        // Some nodes say "known" to what they have, in words of their own, and some say its hash once more.
        let had = self.submission.knows(last.hash).await;
        match self.submission.broadcast(&last).await {
            _ if had => {}
            Ok(Taken::New) => return Ok(()),
            // A better price does not help.
            Ok(Taken::OneAtATime) => {
                sent.held_back = true;
                return Ok(());
            }
            // It is there.
            Ok(Taken::Known | Taken::NonceUsed) => {}
            Err(refused) if asks_for_more(&refused) => {}
            Err(refused) => {
                for bid in sent.afloat.bids().rev().skip(1) {
                    if self.submission.broadcast(bid).await.is_ok() {
                        return Ok(());
                    }
                }
                return Err(refused);
            }
        }
        // Who takes transactions in private need not know what others pay.
        let market = self.foresight.node().offer().await?;
        // What the key cannot pay nobody takes.
        let purse = self.foresight.node().balance(self.sender()).await?;
        let ceiling = self.policy.clearing.fee_ceiling.min(purse);
        let Some(least) = last.offer().map(Offer::raised) else { return Ok(()) };
        // What the market asks, or the least that replaces the last bid, if that is all that the ceiling has room for.
        for offer in [least.or_higher(market), least] {
            // At its ceiling a price stays what it is, and the transaction waits.
            let Ok(raised) = self.key.raise(&last, offer, ceiling).await else { continue };
            // What the books do not take does not leave: the price stays what it is.
            if sent.afloat.keep(raised, &self.mandate, (self.clock)()).await.is_err() {
                break;
            }
            // Whatever will be said of it, it is signed and leaves: it has to be looked for too. One that nobody took is
            // handed in again with the next, better price.
            (self.tell)(sent.last().hash);
            return self.submission.broadcast(sent.last()).await.map(|_| ());
        }
        Ok(())
    }
}

/// Whether what a transaction left in the chain says that the act took effect.
pub(crate) fn shown(receipt: &TransactionReceipt, act: &Act, sender: Address) -> bool {
    let logs = receipt.logs().iter().map(|log| &log.inner);
    match act {
        Act::Redemption(redemption) => redeemed(logs, redemption, sender),
        Act::Update(update) => recorded(logs, update),
        Act::Home(leftover) => arrived(logs, leftover, sender),
    }
}

/// The way to the chain from the next place in the queue.
struct Road<'a> {
    foresight: &'a Foresight,
    next: u64,
}

#[async_trait]
impl DryRun for Road<'_> {
    async fn dry_run(&self, act: &Act, sender: Address) -> Result<Outcome, BoxError> {
        self.foresight.dry_run(act, sender).await
    }
}

#[async_trait]
impl Submit for Road<'_> {
    async fn plan(&self, sender: Address) -> Result<TransactionPlan, BoxError> {
        let mut plan = Submit::plan(self.foresight, sender).await?;
        // What this process has sent it knows before the node tells it.
        plan.nonce = plan.nonce.max(self.next);
        Ok(plan)
    }

    async fn submit(&self, transaction: &SignedTransaction) -> Result<Receipt, BoxError> {
        self.foresight.submit(transaction).await
    }
}
