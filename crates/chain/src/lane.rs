//! One session key's way to the chain.

use crate::{
    ChainFault, Foresight, Node,
    following::Heard,
    foresight::{By, arrived, recorded, redeemed, toll},
    node::{LOOKS, Taken, asks_for_more},
};
use alloy::{
    primitives::{Address, B256, U256},
    rpc::types::TransactionReceipt,
};
use async_trait::async_trait;
use golem_custody::{
    Act, Afloat, BoxError, ClearingPolicy, CustodyError, Denial, DenialCode, DryRun, Ending,
    IntentId, Judged, Mandate, Offer, Outcome, Receipt, Rehearsal, Reservation, SessionSigner,
    SignedTransaction, Submit, TransactionPlan, rehearse,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{
    sync::{Mutex, OwnedMutexGuard, watch},
    time::{Instant, sleep, timeout, timeout_at},
};

/// Blocks before the one that something was judged on in which it is looked for too: a reorganisation may put it there.
pub(crate) const BEFORE: u64 = 64;
/// How often a place in the queue is looked for where another process used the key.
const MOST_PLACES: usize = 3;
/// Longer than anything is waited for.
const NEVER: Duration = Duration::from_secs(30 * 365 * 86_400);
/// How many of the last that took effect are kept, to be handed in again should a reorganisation undo them.
const KEPT: usize = 64;
/// Most blocks that are read at once to find who has a place.
const WALK: usize = 128;

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
    /// It was sent, and is not known to be done when patience ended.
    #[error(
        "{hash} at place {nonce} is sent and not settled; it may still take effect: look it up before asking for it again, or \
         give it up with `--instead-of {hash}`, and at most one of both does"
    )]
    Unsettled {
        /// The last one of the bids.
        hash: B256,
        /// Its place in the queue.
        nonce: u64,
        /// What the node last refused or failed at, where it did.
        source: Option<ChainFault>,
    },
    /// Nothing was signed: another one has the account's place, and may still take effect.
    #[error(
        "nothing was signed: {hash} at place {nonce} is sent before and not settled; it may still take effect: wait for it, or \
         give it up with `--instead-of {hash}`, and at most one of both does"
    )]
    Waits {
        /// The last one of its bids.
        hash: B256,
        /// Its place in the queue.
        nonce: u64,
    },
    /// Nobody who was asked took it, and it is given up. Somebody may have it all the same.
    #[error(
        "{hash} at place {nonce} was not taken by anybody who was asked, and is given up: it is not sent again, and what is asked \
         for next takes its place, so that at most one of both takes effect"
    )]
    Forsaken {
        /// The last one of the bids.
        hash: B256,
        /// Its place in the queue.
        nonce: u64,
        /// Why it was not taken, where it was now.
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
            Self::Unsettled { .. } | Self::Waits { .. } | Self::Forsaken { .. } => "UNSETTLED",
        }
    }
}

/// Everything that one session key sends passes here: what was judged is rehearsed, set aside in the books, gets the next place
/// in the key's queue and is handed to the node before the next one is. Receipts are then waited for side by side.
///
/// Nothing that is signed leaves before the books have it, and what an earlier process left there is brought to its end. A price that finds no block is raised in its place, up to the ceiling. What a node forgot, or a reorganisation
/// undid, is handed to it again as it was signed. So of everything that is signed for one redemption at most one can
/// take effect.
///
/// What nobody took is given up, and the books say so: it is not handed in again by anybody, and the next one is signed for its
/// place. It ends when something has that place for good. A place below all that waits which nobody has any more is filled too.
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
    /// A place that nobody has, below one that is ours, and since when it has been seen so.
    gap: std::sync::Mutex<Option<(u64, Instant)>>,
    /// The last that were deep enough in the chain, by place. A reorganisation may go deeper.
    deep: std::sync::Mutex<BTreeMap<u64, SignedTransaction>>,
}

/// By place, and of several for one place by name.
type Fleet = BTreeMap<(u64, IntentId), Vessel>;

/// Something that is afloat, and what is known of it also while somebody holds it.
struct Vessel {
    sent: Arc<Mutex<Sent>>,
    /// All that was signed for it, once it is given up.
    given_up: Option<Vec<SignedTransaction>>,
}

impl Vessel {
    /// With whether it is given up.
    fn of(&self) -> (Arc<Mutex<Sent>>, bool) {
        (Arc::clone(&self.sent), self.given_up.is_some())
    }

    fn new(sent: Sent) -> Self {
        let given_up = sent.afloat.is_forsaken().then(|| sent.afloat.bids().cloned().collect());
        Self { sent: Arc::new(Mutex::new(sent)), given_up }
    }
}

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
    /// Whether the node said that the place was taken when it was handed in.
    doubted: bool,
    /// Whether the node takes it only when the one before it is in its block.
    held_back: bool,
    /// Whether it was to take another one's place: what took that is the deed itself, perhaps, and nothing is signed again.
    replaces: bool,
    /// What was said to it, where that was no yes.
    complaint: Option<ChainFault>,
    /// The first block down to which it was looked for in vain who has its place, where counts do not tell.
    walked: AtomicU64,
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
            doubted: false,
            held_back: false,
            replaces: false,
            complaint: None,
            walked: AtomicU64::new(u64::MAX),
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
            fleet.insert(sent.name(), Vessel::new(sent));
        }
        let submission = foresight.node().clone();
        let (clock, tell) = (Box::new(clock), Box::new(|_: B256| ()));
        // Behind what is afloat: its place is its own until the chain says otherwise. What is given up has none.
        let live = fleet.iter().filter(|(_, vessel)| vessel.given_up.is_none());
        let next = live.map(|((nonce, _), _)| nonce.saturating_add(1)).max().unwrap_or(0);
        let (next, afloat) = (Mutex::new(next), std::sync::Mutex::new(fleet));
        let (gap, deep) = Default::default();
        Ok(Self {
            foresight,
            submission,
            key,
            mandate,
            policy,
            clock,
            tell,
            next,
            afloat,
            gap,
            deep,
        })
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
    ///
    /// What is given up for good is looked for, and not waited for: only what takes its place ends it.
    pub async fn finish(&self) -> Vec<(IntentId, Result<Landing, LaneFault>)> {
        // How long a place has been empty counts from here.
        if let Ok(pending) = self.foresight.node().pending(self.sender()).await {
            let _ = self.gap(pending);
        }
        let mut all: Vec<_> = self.fleet().values().map(Vessel::of).collect();
        // Whoever takes a place ends what was given up there.
        all.sort_by_key(|(_, given_up)| *given_up);
        let mut ends = Vec::new();
        for (one, _) in all {
            let Ok(mut sent) = one.try_lock_owned() else { continue };
            if !self.fleet().contains_key(&sent.name()) {
                continue;
            }
            let intent = sent.afloat.intent();
            if !sent.afloat.is_forsaken() {
                // Whoever ended may have done so before he handed it in. What comes of it is seen when it is looked for.
                let _ = self.submission.broadcast(sent.last()).await;
            } else if matches!(self.look(&sent).await, Ok(Sight::Nothing) | Err(_)) {
                let (hash, nonce) = (sent.last().hash, sent.nonce);
                ends.push((intent, Err(LaneFault::Forsaken { hash, nonce, source: None })));
                continue;
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

    /// Looks once for what nobody waits for, writes down what became of it, and hands in what is in no block. It waits for nothing.
    pub async fn look_back(&self) {
        let _turn = self.next.lock().await;
        self.hand_in_what_is_left(self.foresight.node().replaces()).await;
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
        self.displaced_by(sent).await;
        let (hash, block) = (mined.0.transaction_hash, mined.0.block_number.unwrap_or_default());
        if let Some(bid) = sent.afloat.bids().find(|bid| bid.hash == hash) {
            let mut deep = self.deep.lock().unwrap_or_else(PoisonError::into_inner);
            deep.insert(sent.nonce, bid.clone());
            while deep.len() > KEPT {
                deep.pop_first();
            }
        }
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

    /// Ends all else that was signed for the place of something that is deep enough in the chain, and that nobody waits for: it
    /// never can take effect. What the books do not take is found again.
    async fn displaced_by(&self, sent: &Sent) {
        let others: Vec<_> = {
            let fleet = self.fleet();
            let there = fleet.range((sent.nonce, IntentId(B256::ZERO))..);
            let there = there.take_while(|((nonce, _), _)| *nonce == sent.nonce);
            there.filter(|(name, _)| **name != sent.name()).map(|(_, it)| it.sent.clone()).collect()
        };
        for other in others {
            if let Ok(other) = other.try_lock_owned() {
                drop(self.displaced(other).await);
            }
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
                Act::Home(_) | Act::Wallet(_) => {
                    Ok(Denial::new(DenialCode::Reverted, "it failed in its block"))
                }
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
        let all: Vec<_> = self.fleet().values().map(|vessel| vessel.sent.clone()).collect();
        for one in all {
            let Ok(mut sent) = one.try_lock_owned() else { continue };
            // Whose place is to be taken is not helped to keep it.
            let replaced = sent.afloat.bids().any(|bid| Some(bid.hash) == replaced);
            match self.look(&sent).await {
                // Where the books do not take it, they are asked again when they are opened next: it is looked for until then.
                Ok(Sight::Deep(mined)) => drop(self.conclude(&sent, &mined).await),
                Ok(Sight::Displaced) => drop(self.displaced(sent).await),
                Ok(Sight::Nothing) if replaced || sent.afloat.is_forsaken() => {}
                // What comes of it is seen when it is looked for next.
                Ok(Sight::Nothing) if sent.bid_at.elapsed() >= self.policy.patience => {
                    let until = after(self.policy.give_up);
                    drop(self.again(&mut sent, until).await);
                }
                Ok(Sight::Nothing) => {
                    let _ = self.submission.broadcast(sent.last()).await;
                }
                Ok(Sight::Shallow) | Err(_) => {}
            }
        }
    }

    /// Place and price of what is to be replaced, where it is our own and nothing has its place: also of what no node has.
    async fn to_be_replaced(&self, hash: B256) -> Option<(OwnedMutexGuard<Sent>, (u64, Offer))> {
        let all: Vec<_> = self.fleet().values().map(|vessel| vessel.sent.clone()).collect();
        for one in all {
            let Ok(sent) = one.try_lock_owned() else { continue };
            if sent.afloat.bids().all(|bid| bid.hash != hash) {
                continue;
            }
            // Its place may be another's by now.
            let lost = self.fleet().iter().any(|(name, vessel)| {
                name.0 == sent.nonce && *name != sent.name() && vessel.given_up.is_none()
            });
            let waits = !lost
                && matches!(self.look(&sent).await, Ok(Sight::Nothing))
                && self.is_free(sent.nonce).await.unwrap_or(false);
            let offer = sent.last().offer().filter(|_| waits)?;
            let nonce = sent.nonce;
            return Some((sent, (nonce, offer)));
        }
        None
    }

    /// Gives something up: in the books first, so that its place can be the next one's.
    async fn forsake(&self, sent: &mut Sent) -> Result<(), CustodyError> {
        sent.afloat.forsake(&self.mandate, (self.clock)()).await?;
        if let Some(vessel) = self.fleet().get_mut(&sent.name()) {
            vessel.given_up = Some(sent.afloat.bids().cloned().collect());
        }
        Ok(())
    }

    /// The lowest place that nothing has but what was given up, and what has to be outbid there: where something of that has turned
    /// up, of both at most one takes effect. Failing that, one that nobody has had for as long as a price is left. `pending` is the
    /// first place that the node has nothing for.
    async fn vacant(
        &self,
        pending: u64,
        next: u64,
    ) -> Result<Option<(u64, Option<Offer>)>, ChainFault> {
        let given_up: Vec<_> = {
            let fleet = self.fleet();
            let live = |place: u64| {
                fleet.iter().any(|((nonce, _), it)| *nonce == place && it.given_up.is_none())
            };
            let all =
                fleet.iter().filter_map(|((place, _), it)| Some((*place, it.given_up.clone()?)));
            all.filter(|(place, _)| !live(*place)).collect()
        };
        let node = self.foresight.node();
        let mut known = None;
        for (place, bids) in given_up.into_iter().filter(|(place, _)| *place <= pending.max(next)) {
            if known.is_some_and(|(at, _)| at != place) {
                break;
            }
            if !self.is_free(place).await? {
                continue;
            }
            if pending <= place {
                return Ok(Some((place, None)));
            }
            // Something waits there. Another process's is left alone: it is what this one never comes behind.
            for bid in &bids {
                if self.submission.knows(bid.hash).await || node.knows(bid.hash).await {
                    let dearest = known.and_then(|(_, offer)| offer);
                    let offer = bids.last().and_then(SignedTransaction::offer);
                    let offer = [dearest, offer].into_iter().flatten().reduce(Offer::or_higher);
                    known = Some((place, offer));
                    break;
                }
            }
        }
        if known.is_some() {
            return Ok(known);
        }
        let gap = self.gap(pending);
        let patience = self.policy.patience.min(self.policy.give_up);
        Ok(gap.filter(|(_, since)| since.elapsed() >= patience).map(|(place, _)| (place, None)))
    }

    /// The first place that neither the node nor we have anything for, below one that is ours, and since when it has been so:
    /// what stood there was dropped, and all that is behind it waits.
    fn gap(&self, pending: u64) -> Option<(u64, Instant)> {
        let live: BTreeSet<u64> = {
            let fleet = self.fleet();
            let live = fleet.iter().filter(|(_, vessel)| vessel.given_up.is_none());
            live.map(|((place, _), _)| *place).collect()
        };
        let top = live.last().copied().unwrap_or_default();
        let place = (pending..top).find(|place| !live.contains(place));
        let mut gap = self.gap.lock().unwrap_or_else(PoisonError::into_inner);
        *gap = place.map(|place| match *gap {
            Some((before, since)) if before == place => (place, since),
            _ => (place, Instant::now()),
        });
        *gap
    }

    /// Hands in again, as it was signed, what was deep in the chain and is in no block any more: what is sent next would wait behind
    /// its place. `pending` is the first place that the node has nothing for, `next` the first that nothing was signed for.
    async fn restore(&self, pending: u64, next: u64) {
        let undone: Vec<_> = {
            let deep = self.deep.lock().unwrap_or_else(PoisonError::into_inner);
            deep.range(pending.min(next)..next).map(|(_, bid)| bid.clone()).collect()
        };
        for bid in undone {
            // A node that was only behind says that it knows it.
            let _ = self.submission.broadcast(&bid).await;
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
        let mut gives_way = None;
        let mut instead = None;
        if let Some(hash) = replaced {
            (gives_way, instead) = self.to_be_replaced(hash).await.unzip();
        }
        let road = Road { lane: self, next: *next, instead };
        let rehearsed = match rehearse(&road, judged, self.sender(), &self.policy.clearing).await? {
            Rehearsal::Passed(rehearsed) => rehearsed,
            Rehearsal::Refused(denial) => return Ok(Err(denial)),
        };
        let cleared = match rehearsed.reserve(&self.mandate, (self.clock)()).await? {
            Reservation::Made(cleared) => cleared,
            Reservation::Refused(denial) => return Ok(Err(denial)),
        };
        let (nonce, intent) = (cleared.nonce(), cleared.intent());
        // Whoever finds both in the books hands in the second alone.
        if let Some(gives_way) = &mut gives_way
            && let Err(fault) = self.forsake(gives_way).await
        {
            let why = "what it was to replace could not be given up";
            self.mandate.give_back(intent, why, (self.clock)()).await?;
            return Err(fault.into());
        }
        drop(gives_way);
        let takes_over = self.fleet().keys().any(|(place, _)| *place == nonce);
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
        sent.replaces = self.foresight.node().took_its_place() || takes_over;
        let (name, vessel) = (sent.name(), Vessel::new(sent));
        let mut held = Arc::clone(&vessel.sent).lock_owned().await;
        self.fleet().insert(name, vessel);
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
                    let (hash, source) = (signed.hash, Some(refused));
                    // What the books do not know to be given up keeps its place.
                    if self.forsake(&mut held).await.is_err() {
                        return Err(LaneFault::Unsettled { hash, nonce, source });
                    }
                    *next = before;
                    return Err(LaneFault::Forsaken { hash, nonce, source });
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
            let mut known = !self.is_free(sent.nonce).await.unwrap_or(false);
            for bid in sent.afloat.bids() {
                known |= self.submission.knows(bid.hash).await || node.knows(bid.hash).await;
            }
            if known {
                return true;
            }
        }
        false
    }

    /// Whether no block holds anything in a place of the key's queue.
    async fn is_free(&self, place: u64) -> Result<bool, ChainFault> {
        let node = self.foresight.node();
        let head = node.header().await?.number;
        Ok(node.sent_by(self.sender(), head).await? <= place)
    }

    /// Waits until one of the bids is deep enough in the chain.
    async fn settle(&self, sent: &mut Sent) -> Result<Mined, LaneFault> {
        // Whoever was to be waited for so long is not waited for longer, whatever the node does.
        let until = after(self.policy.give_up);
        let mut was_mined = false;
        let mut fault = sent.complaint.take();
        // From before the first look: a block that comes meanwhile is a reason to look again at once.
        let mut blocks = self.foresight.node().listen();
        loop {
            match timeout_at(until, self.look(sent)).await.unwrap_or(Ok(Sight::Nothing)) {
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
                    fault = self.again(sent, until).await.err().or(fault);
                }
                Ok(Sight::Nothing) if sent.held_back => {
                    let said = timeout_at(until, self.submission.broadcast(sent.last())).await;
                    sent.held_back = matches!(said, Ok(Ok(Taken::OneAtATime)));
                }
                Ok(Sight::Nothing) => {}
                Err(away) => fault = Some(away),
            }
            if Instant::now() >= until {
                let hash = sent.last().hash;
                return Err(LaneFault::Unsettled { hash, nonce: sent.nonce, source: fault });
            }
            another_block(&mut blocks, self.policy.poll).await;
        }
    }

    /// Looks for the bids in the chain.
    async fn look(&self, sent: &Sent) -> Result<Sight, ChainFault> {
        let sight = self.find(sent).await?;
        if !matches!(sight, Sight::Nothing) {
            return Ok(sight);
        }
        let node = self.foresight.node();
        let head = node.current().await?.number;
        let depth = self.policy.confirmations.max(1) - 1;
        let Some(settled) = head.checked_sub(depth) else { return Ok(Sight::Nothing) };
        // On the block that it was judged on the place was free, unless the node said otherwise.
        if settled <= sent.afloat.since() && !sent.doubted {
            return Ok(Sight::Nothing);
        }
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
        // None where the node has no such old state.
        let taken = async |block| match node.sent_by(self.sender(), block).await {
            Ok(count) => Ok(Some(count > sent.nonce)),
            Err(ChainFault::Rpc { source, .. }) if source.is_error_resp() => Ok(None),
            Err(away) => Err(away),
        };
        // The last block without it, and the first with it: a reorganisation may have put it before the one it was judged on.
        let since = sent.afloat.since();
        let (mut without, mut with) = (since.saturating_sub(BEFORE), settled);
        let mut seen_free = matches!(taken(without).await, Ok(Some(false)));
        if !seen_free {
            without = since;
            match taken(since).await? {
                Some(true) => return Ok(None),
                Some(false) => seen_free = true,
                // From the oldest state that it has.
                None => {}
            }
        }
        while with.saturating_sub(without) > 1 {
            let middle = without.midpoint(with);
            match taken(middle).await? {
                Some(true) => with = middle,
                at => {
                    seen_free |= at.is_some();
                    without = middle;
                }
            }
        }
        if let Some(taker) = self.taker_in(sent, with).await? {
            return Ok(Some(taker));
        }
        if seen_free {
            return Ok(None);
        }
        // It was taken before that. Blocks are kept where states are not: they are walked down, some at a time.
        let lowest = since.saturating_sub(BEFORE);
        let from = sent.walked.load(Relaxed).min(with);
        for number in (lowest..from).rev().take(WALK) {
            if let Some(taker) = self.taker_in(sent, number).await? {
                return Ok(Some(taker));
            }
            sent.walked.store(number, Relaxed);
        }
        Ok(None)
    }

    /// The same, in one block. That is believed like any other: it is the one at its height, and as deep as a receipt must be.
    async fn taker_in(&self, sent: &Sent, number: u64) -> Result<Option<B256>, ChainFault> {
        let node = self.foresight.node();
        let Some(header) = node.header_at(number.into()).await? else { return Ok(None) };
        let senders = node.senders(header.hash).await?;
        let (sender, place) = (self.sender(), sent.nonce);
        let Some(taker) = senders.iter().find(|one| one.uses(sender, place)) else {
            return Ok(None);
        };
        let buried = node.is_buried(number, header.hash, self.policy.confirmations).await?;
        Ok(buried.then_some(taker.hash))
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
    /// one. Where it is refused for something else, those before it are handed in. No node is waited for beyond `until`.
    async fn again(&self, sent: &mut Sent, until: Instant) -> Result<(), ChainFault> {
        sent.bid_at = Instant::now();
        let last = sent.last().clone();
        let Ok(room) = timeout_at(until, self.handed_in_again(sent, &last)).await else {
            return Ok(());
        };
        let Some((market, ceiling)) = room? else { return Ok(()) };
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
            let said = timeout_at(until, self.submission.broadcast(sent.last())).await;
            return said.map_or(Ok(()), |said| said.map(|_| ()));
        }
        Ok(())
    }

    /// Hands in what was bid, and says what others pay now and most that gas may cost in its place, where a better price would help.
    async fn handed_in_again(
        &self,
        sent: &mut Sent,
        last: &SignedTransaction,
    ) -> Result<Option<(Offer, U256)>, ChainFault> {
        // Some nodes say "known" to what they have, in words of their own, and some say its hash once more.
        let had = self.submission.knows(last.hash).await;
        match self.submission.broadcast(last).await {
            _ if had => {}
            Ok(Taken::New) => return Ok(None),
            // A better price does not help.
            Ok(Taken::OneAtATime) => {
                sent.held_back = true;
                return Ok(None);
            }
            // It is there.
            Ok(Taken::Known | Taken::NonceUsed) => {}
            Err(refused) if asks_for_more(&refused) => {}
            Err(refused) => {
                for bid in sent.afloat.bids().rev().skip(1) {
                    if self.submission.broadcast(bid).await.is_ok() {
                        return Ok(None);
                    }
                }
                return Err(refused);
            }
        }
        // What waits for a place below it is not helped by a better price.
        if let Ok(pending) = self.foresight.node().pending(self.sender()).await
            && self.gap(pending).is_some_and(|(place, _)| place < sent.nonce)
        {
            return Ok(None);
        }
        // Who takes transactions in private need not know what others pay.
        let node = self.foresight.node();
        let market = node.offer().await?;
        // What the key cannot pay nobody takes; what is sent along, and what a rollup charges for data, is not there for gas.
        let act = sent.afloat.act();
        let purse = node.balance(self.sender()).await?.saturating_sub(act.coins());
        let data = toll::of_transaction(node, act.calldata().len(), false).await?;
        let data = data.saturating_add(data >> 2);
        let ceiling = self.policy.clearing.fee_ceiling.min(purse).saturating_sub(data);
        Ok(Some((market, ceiling)))
    }
}

/// When so much time will have passed; where no clock goes so far, when nobody waits any more.
pub(crate) fn after(time: Duration) -> Instant {
    let now = Instant::now();
    now.checked_add(time).unwrap_or_else(|| now + NEVER)
}

/// Waits for another block where somebody follows them, and no longer than `poll`.
async fn another_block(blocks: &mut Option<watch::Receiver<Option<Heard>>>, poll: Duration) {
    let Some(heard) = blocks else { return sleep(poll).await };
    // Where nobody follows them any more there is nothing to wake by.
    if let Ok(Err(_gone)) = timeout(poll, heard.changed()).await {
        *blocks = None;
        sleep(poll).await;
    }
}

/// Whether what a transaction left in the chain says that the act took effect.
pub(crate) fn shown(receipt: &TransactionReceipt, act: &Act, sender: Address) -> bool {
    let logs = receipt.logs().iter().map(|log| &log.inner);
    match act {
        Act::Redemption(redemption) => redeemed(logs, redemption, sender),
        Act::Update(update) => recorded(logs, update),
        Act::Home(leftover) => arrived(logs, leftover, sender),
        // Whatever it calls has its own words: a transaction that did not fail has done it.
        Act::Wallet(call) => call.wallet == sender,
    }
}

/// The way to the chain from the next place in the queue.
struct Road<'a, K> {
    lane: &'a Lane<K>,
    next: u64,
    /// Place and price of what is to be replaced, where it is our own.
    instead: Option<(u64, Offer)>,
}

#[async_trait]
impl<K: SessionSigner> DryRun for Road<'_, K> {
    async fn dry_run(&self, act: &Act, sender: Address) -> Result<Outcome, BoxError> {
        Ok(self.lane.foresight.judge_by(act, sender, By::Key).await?)
    }
}

#[async_trait]
impl<K: SessionSigner> Submit for Road<'_, K> {
    async fn plan(&self, sender: Address) -> Result<TransactionPlan, BoxError> {
        let node = self.lane.foresight.node();
        if let Some((place, bid)) = self.instead {
            return Ok(node.next(sender).await?.over(place, Some(bid)));
        }
        let plan = node.plan(sender).await?;
        // What takes another one's place does not stand behind it.
        if node.replaces().is_some() {
            return Ok(plan);
        }
        self.lane.restore(plan.nonce, self.next).await;
        if let Some((place, bid)) = self.lane.vacant(plan.nonce, self.next).await? {
            return Ok(plan.over(place, bid));
        }
        // What this process has sent it knows before the node tells it.
        let place = plan.nonce.max(self.next);
        Ok(plan.over(place, None))
    }

    async fn submit(&self, transaction: &SignedTransaction) -> Result<Receipt, BoxError> {
        self.lane.foresight.submit(transaction).await
    }
}
