//! What the kernel needs of a disk. Every method returns once the disk has it: what was promised survives a crash.

use crate::{AuditHead, BoxError, Denial};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_sol_types::{Eip712Domain, SolStruct, eip712_domain};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is signed about the books. The type strings are part of what wallets show and others verify.
mod typed {
    alloy_sol_types::sol! {
        /// Signed by an owner.
        struct Approval {
            bytes32 intent;
            bytes32 golem;
            bytes32 digest;
            uint64 microDollars;
            uint64 expiresAt;
            bool approved;
        }
    }
}

/// Names an intent. Whoever proposes it chooses it, once: the books take no second intent of the same name (INV-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IntentId(pub B256);

impl IntentId {
    /// The name of a part of what this one names. Whoever knows the whole and the part finds it again.
    #[must_use]
    pub fn part(self, part: &str) -> Self {
        Self(keccak256([self.0.as_slice(), b" part ", part.as_bytes()].concat()))
    }

    /// The name of the same deed once more, after an attempt at it that can never take effect.
    #[must_use]
    pub fn again(self) -> Self {
        Self(keccak256([self.0.as_slice(), b"again"].concat()))
    }
}

/// What the books have of an intent before anything is signed (INV-5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// Its name.
    pub intent: IntentId,
    /// Whose it is: the Golem's id on chain.
    pub golem: B256,
    /// Whose money.
    pub owner: Address,
    /// The key that would sign.
    pub session: Address,
    /// Most that it can spend, in micro-dollars.
    pub micro_dollars: u64,
    /// The second in which it was asked for.
    pub at: u64,
    /// What is to be done, for whoever reads the log.
    pub what: Value,
}

/// What may be spent, in micro-dollars. Counted is everything that was reserved and not given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Caps {
    /// By one session key, in its whole life.
    pub session: u64,
    /// By one Golem, in any 24 hours.
    pub day: u64,
    /// By all Golems of one owner, in any 24 hours; none if he set no such cap.
    pub owner_day: Option<u64>,
}

/// What counts against [`Caps`], in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// By one session key, in its whole life.
    pub session: u64,
    /// By the Golem, in the last 24 hours.
    pub day: u64,
}

/// Whether a sum was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Reserving {
    /// It is, and the intent is in the audit chain.
    Made,
    /// It is not, and that is in the audit chain.
    Refused(Denial),
}

/// How something signed travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Route {
    /// By a transaction of the key's own.
    Transaction,
    /// By an operation of its account, through a bundler.
    Operation,
}

/// One signature for an intent, in the form in which it is handed over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bid {
    /// How it travels.
    pub route: Route,
    /// What the chain calls it.
    pub hash: B256,
    /// Its place in the sender's queue. Of all bids for one place at most one takes effect.
    pub place: U256,
    /// The block that it was judged on.
    pub since: u64,
    /// All of it.
    pub bytes: Bytes,
}

/// How an intent ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "camelCase", deny_unknown_fields)]
pub enum Ending {
    /// It took effect. What was reserved stays spent.
    Done {
        /// What the chain calls it.
        hash: B256,
        /// The block that holds it.
        block: u64,
    },
    /// It is in a block and took no effect. What was reserved is given back.
    Failed {
        /// What the chain calls it.
        hash: B256,
        /// The block that holds it.
        block: u64,
        /// The denial's code.
        code: String,
    },
    /// It never left, or never can take effect any more. What was reserved is given back.
    Abandoned {
        /// Why.
        why: String,
    },
}

/// An intent that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Open {
    /// As it was reserved.
    pub entry: Entry,
    /// Everything that was signed for it, the last one last. Where there is nothing, nothing can have left.
    pub bids: Vec<Bid>,
    /// Whether it was given up: nothing of it is handed over any more, and its place is the next one's.
    pub forsaken: bool,
}

/// Port: reservations, each in one transaction with its entry in the audit chain.
///
/// A second process on the same books is refused when it opens them (INV-6).
#[async_trait]
pub trait Books: Send + Sync {
    /// Sets the sum of `entry` aside if all `caps` have room for it. A name that was used is refused.
    async fn reserve(&self, entry: &Entry, caps: &Caps) -> Result<Reserving, BoxError>;

    /// What was reserved by second `at` and not given back: what a judgement goes by.
    async fn spent(&self, session: Address, at: u64) -> Result<Spent, BoxError>;

    /// Keeps a signature, before anybody else has it.
    async fn signed(&self, intent: IntentId, bid: &Bid, at: u64) -> Result<(), BoxError>;

    /// Keeps that what was signed for an intent is not handed over any more. It has not ended: somebody may have it, and its sum
    /// stays set aside until something else has its place. Twice is once.
    async fn forsake(&self, intent: IntentId, at: u64) -> Result<(), BoxError>;

    /// Ends an intent. The same end twice is one; another end is an error.
    async fn settle(&self, intent: IntentId, ending: &Ending, at: u64) -> Result<(), BoxError>;

    /// What has not ended, the oldest first.
    async fn open(&self) -> Result<Vec<Open>, BoxError>;

    /// How an intent ended; none where it has not, and where there never was one of this name.
    async fn ended(&self, intent: IntentId) -> Result<Option<Ending>, BoxError>;
}

/// Port: the audit chain, for what is no intent.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Adds a record.
    async fn note(&self, kind: &str, body: &Value, at: u64) -> Result<AuditHead, BoxError>;

    /// The newest record.
    async fn head(&self) -> Result<AuditHead, BoxError>;

    /// Keeps a signature of a head: by whom, over what was the head. One that does not verify is an error.
    async fn sealed(&self, head: &AuditHead, by: Address, seal: &Bytes) -> Result<(), BoxError>;
}

/// A value that is written step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How often it was written.
    pub version: u64,
    /// As it is.
    pub value: Value,
}

/// Port: durable machines of steps, such as a rotation or an onboarding.
#[async_trait]
pub trait Steps: Send + Sync {
    /// Where the machine of this name is; none if it never began.
    async fn load(&self, name: &str) -> Result<Option<Step>, BoxError>;

    /// Moves it on, if it is where the caller believes it to be: `from` is the version that he saw, zero before the first. In one
    /// transaction with a record of the audit chain.
    async fn advance(&self, name: &str, from: u64, to: &Value, at: u64) -> Result<(), BoxError>;
}

/// What an owner is asked before something large is signed (SPEC P8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Question {
    /// The intent.
    pub intent: IntentId,
    /// Whose Golem asks.
    pub golem: B256,
    /// Who is asked.
    pub owner: Address,
    /// Over every byte that would be done; an answer is for these and no others.
    pub digest: B256,
    /// Most that it can spend, in micro-dollars.
    pub micro_dollars: u64,
    /// In words.
    pub words: String,
    /// The last second in which an answer counts.
    pub expires_at: u64,
}

impl Question {
    /// Neither chain nor contract: an approval is for a digest, which has both.
    pub const DOMAIN: Eip712Domain = eip712_domain! { name: "Bardo Approval", version: "1", };

    /// What the owner signs to answer (EIP-712):
    /// `Approval(bytes32 intent,bytes32 golem,bytes32 digest,uint64 microDollars,uint64 expiresAt,bool approved)`.
    #[must_use]
    pub fn answer_digest(&self, approved: bool) -> B256 {
        let Self { intent, golem, digest, micro_dollars, expires_at, .. } = *self;
        let answer = typed::Approval {
            intent: intent.0,
            golem,
            digest,
            microDollars: micro_dollars,
            expiresAt: expires_at,
            approved,
        };
        answer.eip712_signing_hash(&Self::DOMAIN)
    }
}

/// What an owner said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    /// Yes or no.
    pub approved: bool,
    /// His signature over [`Question::answer_digest`].
    pub signature: Bytes,
}

/// Whether an owner's answer allows what he was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Approving {
    /// It does, this once: no later caller gets the same.
    Granted,
    /// It does not.
    Refused(Denial),
}

/// Port: questions to the owner, where another process of his can answer them.
#[async_trait]
pub trait Approvals: Send + Sync {
    /// Asks, once: the same question again changes nothing; another one under the same name is an error.
    async fn ask(&self, question: &Question) -> Result<(), BoxError>;

    /// What he said, if he did.
    async fn answer(&self, intent: IntentId) -> Result<Option<Answer>, BoxError>;

    /// What [`consume`](Self::consume) would say. Nothing is used by it.
    async fn weigh(&self, intent: IntentId, digest: B256, at: u64) -> Result<Approving, BoxError>;

    /// Uses up his yes to `digest`, durably: at most one caller is ever granted it (INV-10).
    async fn consume(&self, intent: IntentId, digest: B256, at: u64)
    -> Result<Approving, BoxError>;
}
