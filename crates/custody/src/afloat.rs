//! What is signed: nobody has it before the books do, and the books have it until its end is known.

use crate::{
    Act, Bid, CustodyError, Ending, Execution, IntentId, Judged, Mandate, Open, Route,
    SignedOperation, SignedTransaction, WalletCall,
    crash::Failpoint,
    intent::{WALLET, unwritten},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use std::mem;

/// A form in which an act is signed and handed over.
pub trait Carried: Clone + Sized {
    /// How it travels.
    const ROUTE: Route;

    /// What the chain calls it.
    fn hash(&self) -> B256;

    /// Its place in the sender's queue; none where its bytes are no such thing.
    fn place(&self) -> Option<U256>;

    /// All of it.
    fn bytes(&self) -> Bytes;

    /// What it does; none where its bytes are no act of ours.
    fn act(&self) -> Option<Act>;

    /// The same of a wallet at a service, which does what is in no form of ours; none where no wallet signs so.
    fn of_wallet(&self) -> Option<Act> {
        None
    }

    /// From its bytes, if they are what `hash` is of.
    fn read(hash: B256, bytes: &Bytes) -> Option<Self>;
}

/// A signature that the books do not have yet. There is nothing to be done with it but to put it there:
///
/// ```compile_fail,E0616
/// # use golem_custody::{SignedTransaction, Unkept};
/// fn leak(unkept: Unkept<SignedTransaction>) -> SignedTransaction { unkept.signed }
/// ```
#[derive(Debug)]
#[must_use = "what is not kept never leaves"]
pub struct Unkept<T> {
    signed: T,
}

impl<T> Unkept<T> {
    pub(crate) const fn new(signed: T) -> Self {
        Self { signed }
    }
}

impl<T: Carried> Unkept<T> {
    async fn kept(
        self,
        intent: IntentId,
        since: u64,
        mandate: &Mandate,
        now: u64,
    ) -> Result<T, CustodyError> {
        let signed = self.signed;
        let place = signed.place().ok_or(CustodyError::Unreadable { intent })?;
        let (route, hash, bytes) = (T::ROUTE, signed.hash(), signed.bytes());
        let bid = Bid { route, hash, place, since, bytes };
        let kept = mandate.books.signed(intent, &bid, now).await;
        kept.map_err(unwritten("a signature"))?;
        Ok(signed)
    }
}

/// A first signature, and what it was cleared as.
#[derive(Debug)]
#[must_use = "what is not kept never leaves"]
pub struct Sealed<T> {
    unkept: Unkept<T>,
    judged: Judged,
    since: u64,
}

impl<T: Carried> Sealed<T> {
    pub(crate) const fn new(signed: T, judged: Judged, since: u64) -> Self {
        Self { unkept: Unkept::new(signed), judged, since }
    }

    /// Puts it into the books: from here on it may leave, and is theirs until its end.
    pub async fn keep(self, mandate: &Mandate, now: u64) -> Result<Afloat<T>, CustodyError> {
        let Self { unkept, judged, since } = self;
        Failpoint::IntentSealed.reached();
        let intent = judged.intent();
        let act = judged.act().clone();
        let last = unkept.kept(intent, since, mandate, now).await?;
        Failpoint::IntentKept.reached();
        let before = Vec::new();
        let judged = Some(judged);
        Ok(Afloat { intent, act, judged, since, before, last, forsaken: false })
    }
}

/// Everything that was signed for one intent. Of it, at most one takes effect.
#[derive(Debug)]
pub struct Afloat<T> {
    intent: IntentId,
    act: Act,
    judged: Option<Judged>,
    since: u64,
    before: Vec<T>,
    last: T,
    forsaken: bool,
}

impl<T: Carried> Afloat<T> {
    /// What an earlier process left in the books; none where this is nothing of the kind, and then nothing of ours can be done
    /// with it.
    #[must_use]
    pub fn left(open: &Open) -> Option<Self> {
        let read = |bid: &Bid| {
            let signed = (bid.route == T::ROUTE).then(|| T::read(bid.hash, &bid.bytes))??;
            (signed.place() == Some(bid.place)).then_some(signed)
        };
        let mut before: Vec<T> = open.bids.iter().map(read).collect::<Option<_>>()?;
        let last = before.pop()?;
        let since = open.bids.first()?.since;
        // What it was reserved as says whose way it takes.
        let act = match open.entry.what.get(WALLET) {
            Some(_) => last.of_wallet()?,
            None => last.act()?,
        };
        // All bids of an intent are for one place.
        let one = before.iter().all(|bid| bid.place() == last.place());
        let (intent, forsaken) = (open.entry.intent, open.forsaken);
        one.then_some(Self { intent, act, judged: None, since, before, last, forsaken })
    }

    /// Its name.
    #[must_use]
    pub const fn intent(&self) -> IntentId {
        self.intent
    }

    /// What it does.
    #[must_use]
    pub const fn act(&self) -> &Act {
        &self.act
    }

    /// The block that it was judged on.
    #[must_use]
    pub const fn since(&self) -> u64 {
        self.since
    }

    /// Every signature, the last one last.
    pub fn bids(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.before.iter().chain([&self.last])
    }

    /// The last one.
    #[must_use]
    pub const fn last(&self) -> &T {
        &self.last
    }

    /// Whether it was given up: it is looked for, and not handed over any more. Its place is the next one's.
    #[must_use]
    pub const fn is_forsaken(&self) -> bool {
        self.forsaken
    }

    /// Gives it up, in the books first: whoever finds it there later does not hand it over either. It can still take effect, and
    /// stays open, until something else has its place.
    pub async fn forsake(&mut self, mandate: &Mandate, now: u64) -> Result<(), CustodyError> {
        if self.forsaken {
            return Ok(());
        }
        let kept = mandate.books.forsake(self.intent, now).await;
        kept.map_err(unwritten("that an intent is given up"))?;
        self.forsaken = true;
        Ok(())
    }

    /// Puts another signature for the same place into the books.
    pub async fn keep(
        &mut self,
        unkept: Unkept<T>,
        mandate: &Mandate,
        now: u64,
    ) -> Result<(), CustodyError> {
        let kept = unkept.kept(self.intent, self.since, mandate, now).await?;
        self.before.push(mem::replace(&mut self.last, kept));
        Ok(())
    }

    /// Writes down how it ended.
    pub async fn end(
        &self,
        mandate: &Mandate,
        ending: &Ending,
        now: u64,
    ) -> Result<(), CustodyError> {
        Failpoint::IntentEnding.reached();
        let ended = mandate.books.settle(self.intent, ending, now).await;
        ended.map_err(unwritten("the end of an intent"))?;
        Failpoint::IntentEnded.reached();
        Ok(())
    }

    /// Writes down that it never can take effect any more. The deed may be tried again, where it is this process that had it
    /// judged.
    pub async fn lost(
        &mut self,
        mandate: &Mandate,
        why: &str,
        now: u64,
    ) -> Result<Option<Judged>, CustodyError> {
        self.end(mandate, &Ending::Abandoned { why: why.to_owned() }, now).await?;
        Ok(self.judged.take().map(Judged::again))
    }
}

impl Mandate {
    /// Gives back what was set aside for something that was not signed in the end: nothing of it can have left.
    pub async fn give_back(
        &self,
        intent: IntentId,
        why: &str,
        now: u64,
    ) -> Result<(), CustodyError> {
        let ending = Ending::Abandoned { why: why.to_owned() };
        let ended = self.books.settle(intent, &ending, now).await;
        ended.map_err(unwritten("the end of an intent"))
    }

    /// What earlier processes signed with this key on the way of `T` and did not end. What they reserved and never signed is
    /// given back: nothing of it can have left.
    pub async fn left<T: Carried>(
        &self,
        session: Address,
        now: u64,
    ) -> Result<Vec<Afloat<T>>, CustodyError> {
        let open = self.books.open().await.map_err(unwritten("what is open"))?;
        let mut left = Vec::new();
        for one in open.iter().filter(|one| one.entry.session == session) {
            let Some(last) = one.bids.last() else {
                let why = "the process ended before it was signed";
                self.give_back(one.entry.intent, why, now).await?;
                continue;
            };
            if last.route == T::ROUTE {
                let intent = one.entry.intent;
                left.push(Afloat::left(one).ok_or(CustodyError::Unreadable { intent })?);
            }
        }
        Ok(left)
    }
}

impl Carried for SignedTransaction {
    const ROUTE: Route = Route::Transaction;

    fn hash(&self) -> B256 {
        self.hash
    }

    fn place(&self) -> Option<U256> {
        self.nonce().map(U256::from)
    }

    fn bytes(&self) -> Bytes {
        self.raw.clone()
    }

    fn act(&self) -> Option<Act> {
        let (to, coins, data) = self.call()?;
        Act::of_transaction(to, coins, &data)
    }

    fn of_wallet(&self) -> Option<Act> {
        let (target, value, data) = self.call()?;
        Some(WalletCall { wallet: self.from, call: Execution { target, value, data } }.into())
    }

    fn read(hash: B256, bytes: &Bytes) -> Option<Self> {
        Self::decode(bytes).filter(|read| read.hash == hash)
    }
}

impl Carried for SignedOperation {
    const ROUTE: Route = Route::Operation;

    fn hash(&self) -> B256 {
        self.hash
    }

    fn place(&self) -> Option<U256> {
        Some(self.plan.nonce)
    }

    fn bytes(&self) -> Bytes {
        self.encode()
    }

    fn act(&self) -> Option<Act> {
        self.draft.act()
    }

    fn read(hash: B256, bytes: &Bytes) -> Option<Self> {
        Self::decode(bytes).filter(|read| read.hash == hash)
    }
}
