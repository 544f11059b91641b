//! A session key is replaced by another, step by step, each of them on the disk before it counts (SPEC K3, D11).
//!
//! ```text
//!            a rule is due                the owner signs               nothing of the old key is afloat
//!  resting ───────────────► asked ───────────────────────► granted ─────────────────────────────► resting
//!                 new key born      old key works on            new key in its place, old one wiped
//! ```
//!
//! The new key signs nothing before it is in the old one's place, and from then on there is no old one: never do two keys have
//! live budgets (INV-7). While the owner is away the old key works on until its grant ends; nobody but him issues a grant.
//!
//! Every step has the grants that count with it, since a process can end before its caller has kept them; and the highest epoch
//! that the owner was ever asked for: whoever is asked again after a crash is asked for a higher one, since of two grants of
//! one epoch neither ends the other.

use crate::{Books, BoxError, Steps, crash::Failpoint};
use alloy_primitives::Address;
use async_trait::async_trait;
use golem_delegation::{
    Delegation, Environment, SignatureError, SigningDomain,
    grant::{Grant, GrantError},
};
use serde::{Deserialize, Serialize};

/// Where a rotation is kept.
const CELL: &str = "rotation";

/// When a key has done its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotationPolicy {
    /// After so many signatures.
    pub operations: u64,
    /// After so many seconds.
    pub age: u64,
    /// When no more than this is left of the whole grant, in basis points.
    pub floor_bps: u16,
}

impl Default for RotationPolicy {
    /// 10,000 operations, seven days, a tenth of the grant.
    fn default() -> Self {
        Self { operations: 10_000, age: 7 * 86_400, floor_bps: 1_000 }
    }
}

/// What a key has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyUse {
    /// The second in which it was granted something.
    pub since: u64,
    /// What it signed.
    pub operations: u64,
    /// All that it was granted, in micro-dollars; none where that is not known, or has no end.
    pub granted: Option<u128>,
    /// What is left of that.
    pub left: u128,
}

/// Why a key is to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RotationReason {
    /// It signed often enough.
    Operations,
    /// It is old enough.
    Age,
    /// Little of its grant is left.
    Budget,
    /// The owner wants another.
    Asked,
    /// It ended with its process (SPEC D21).
    Gone,
}

impl RotationPolicy {
    /// Whether a key is due, and why: the first rule that says so.
    ///
    /// ```
    /// use golem_custody::{KeyUse, RotationPolicy, RotationReason};
    /// let policy = RotationPolicy::default();
    /// let young = KeyUse { since: 1_000, operations: 9_999, granted: Some(100), left: 11 };
    /// assert_eq!(policy.due(&young, 2_000), None);
    /// assert_eq!(policy.due(&KeyUse { left: 10, ..young }, 2_000), Some(RotationReason::Budget));
    /// ```
    #[must_use]
    pub fn due(&self, used: &KeyUse, now: u64) -> Option<RotationReason> {
        if used.operations >= self.operations {
            return Some(RotationReason::Operations);
        }
        if now.saturating_sub(used.since) >= self.age {
            return Some(RotationReason::Age);
        }
        let granted = used.granted?;
        let floor = granted.saturating_mul(u128::from(self.floor_bps)) / 10_000;
        (used.left <= floor).then_some(RotationReason::Budget)
    }
}

/// Port: where a Golem's key is, and the one that comes after it.
#[async_trait]
pub trait Keyring: Send + Sync {
    /// The key that signs; none where there is none any more.
    async fn current(&self) -> Option<Address>;

    /// The next key, born on the first call; it signs nothing yet.
    async fn next(&self) -> Result<Address, BoxError>;

    /// Puts the next key in the place of the current one, which is wiped. On a disk it is one rename.
    async fn switch(&self) -> Result<(), BoxError>;

    /// Wipes the next key.
    async fn discard(&self) -> Result<(), BoxError>;
}

/// A key that was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replaced {
    /// The key, which is wiped.
    pub key: Address,
    /// Why.
    pub reason: RotationReason,
}

/// How far a rotation is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase", deny_unknown_fields)]
pub enum Rotation {
    /// Nothing is under way.
    Resting {
        /// Whose turn it is.
        key: Address,
        /// The last grant in use. One of another key is of one that is gone: `key` has none, and observes until the owner
        /// gives it one (SPEC D21).
        grant: Delegation,
        /// The highest epoch that was asked for.
        epoch: u16,
        /// What came before it, where this is the end of a rotation and not of an attempt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<Replaced>,
    },
    /// There is a next key, and the owner was asked for its grant.
    Asked {
        /// The key that works on.
        old: Address,
        /// The one that waits.
        new: Address,
        /// Why.
        reason: RotationReason,
        /// What the old one may do.
        grant: Delegation,
        /// What the owner is to sign.
        wanted: Delegation,
        /// The highest epoch that was asked for.
        epoch: u16,
    },
    /// The owner signed: the next key takes its place as soon as nothing of the old one is afloat.
    Granted {
        /// The key that worked so far.
        old: Address,
        /// The one that follows.
        new: Address,
        /// Why.
        reason: RotationReason,
        /// What the old one could do.
        before: Delegation,
        /// What the new one may do.
        grant: Delegation,
        /// The highest epoch that was asked for.
        epoch: u16,
    },
}

impl Rotation {
    /// The grant in use: a next one counts once its key has its place.
    #[must_use]
    pub const fn grant(&self) -> &Delegation {
        match self {
            Self::Resting { grant, .. } | Self::Asked { grant, .. } => grant,
            Self::Granted { before, .. } => before,
        }
    }

    const fn epoch(&self) -> u16 {
        match self {
            Self::Resting { epoch, .. }
            | Self::Asked { epoch, .. }
            | Self::Granted { epoch, .. } => *epoch,
        }
    }
}

/// Why a rotation does not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RotationError {
    /// The disk did not take it, or did not say.
    #[error("the rotation's books could not be kept; the key in use is the same")]
    Books {
        /// Why.
        source: BoxError,
    },
    /// Keys could not be made or moved.
    #[error("the keyring could not be used")]
    Keyring {
        /// Why.
        source: BoxError,
    },
    /// What stands on the disk is none of its steps.
    #[error("what is kept of the rotation is not understood; nothing was changed")]
    Unread {
        /// Why.
        source: serde_json::Error,
    },
    /// Something is asked for that does not follow from where it is.
    #[error("a rotation that is {at} cannot be {wanted}")]
    OutOfStep {
        /// Where it is.
        at: &'static str,
        /// What was asked for.
        wanted: &'static str,
    },
    /// A grant that does not follow from the one before.
    #[error("the grant is not the next one for {key}: {why}; nothing was changed")]
    NotTheNext {
        /// The key that waits.
        key: Address,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A grant that nothing follows from.
    #[error("no next grant follows from the one in use")]
    Grant(#[from] GrantError),
    /// A signature that is not the owner's.
    #[error("the next grant is not signed by its owner; nothing was changed")]
    Unsigned {
        /// Why.
        source: SignatureError,
    },
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Switching {
    /// The key that signs from now on, with its grant. The old one is wiped.
    Done(Address, Box<Delegation>),
    /// So many intents of the old key are afloat: the tick goes by without a write.
    Waits(usize),
}

/// One Golem's rotations.
#[derive(Clone, Copy, Debug)]
pub struct Rotations<'a, S, K> {
    steps: &'a S,
    keyring: &'a K,
}

impl<'a, S: Steps, K: Keyring> Rotations<'a, S, K> {
    /// Kept by `steps`, of the keys in `keyring`.
    pub const fn new(steps: &'a S, keyring: &'a K) -> Self {
        Self { steps, keyring }
    }

    /// Where it is, and how often that was written.
    async fn at(&self) -> Result<(u64, Option<Rotation>), RotationError> {
        let books = |source| RotationError::Books { source };
        let Some(step) = self.steps.load(CELL).await.map_err(books)? else { return Ok((0, None)) };
        let rotation = serde_json::from_value(step.value)
            .map_err(|source| RotationError::Unread { source })?;
        Ok((step.version, Some(rotation)))
    }

    async fn write(&self, from: u64, to: &Rotation, now: u64) -> Result<(), RotationError> {
        let value = serde_json::to_value(to).map_err(|source| RotationError::Unread { source })?;
        let advanced = self.steps.advance(CELL, from, &value, now).await;
        advanced.map_err(|source| RotationError::Books { source })
    }

    /// Begins one: the next key is born, and the grant that the owner is to sign for it is given back. Asked again, it is the
    /// same.
    pub async fn begin(
        &self,
        reason: RotationReason,
        grant: &Delegation,
        environment: &Environment,
        now: u64,
    ) -> Result<Delegation, RotationError> {
        let keyring = |source| RotationError::Keyring { source };
        let (version, at) = self.at().await?;
        if matches!(at, Some(Rotation::Granted { .. })) {
            return Err(RotationError::OutOfStep { at: "granted", wanted: "begun" });
        }
        let new = self.keyring.next().await.map_err(keyring)?;
        Failpoint::RotationBorn.reached();
        let asked = at.as_ref().map_or(0, Rotation::epoch);
        if let Some(Rotation::Asked { new: waits, grant: before, wanted, .. }) = at
            && (waits, &before) == (new, grant)
        {
            return Ok(wanted);
        }
        let renewal = Grant::read(grant, environment)?.rotate_past(new, asked)?;
        let (wanted, epoch) = (renewal.delegation, renewal.charter.epoch);
        let asked = Rotation::Asked {
            old: grant.delegate,
            new,
            reason,
            grant: grant.clone(),
            wanted: wanted.clone(),
            epoch,
        };
        self.write(version, &asked, now).await?;
        Failpoint::RotationAsked.reached();
        Ok(wanted)
    }

    /// Takes the owner's signature: of the very grant that he was asked for, and of no other.
    pub async fn granted(
        &self,
        signed: Delegation,
        owner: Address,
        domain: &SigningDomain,
        now: u64,
    ) -> Result<(), RotationError> {
        let (version, at) = self.at().await?;
        let (old, new, reason, before, wanted, epoch) = match at {
            Some(Rotation::Asked { old, new, reason, grant, wanted, epoch }) => {
                (old, new, reason, grant, wanted, epoch)
            }
            Some(Rotation::Granted { grant, .. }) if grant == signed => return Ok(()),
            Some(Rotation::Granted { .. }) => {
                return Err(RotationError::OutOfStep {
                    at: "granted",
                    wanted: "granted otherwise",
                });
            }
            _ => return Err(RotationError::OutOfStep { at: "resting", wanted: "granted" }),
        };
        if wanted.hash() != signed.hash() {
            let why = "it is not what he was asked for";
            return Err(RotationError::NotTheNext { key: new, why });
        }
        domain.verify(&signed, owner).map_err(|source| RotationError::Unsigned { source })?;
        Failpoint::RotationAnswered.reached();
        let granted = Rotation::Granted { old, new, reason, before, grant: signed, epoch };
        self.write(version, &granted, now).await?;
        Failpoint::RotationGranted.reached();
        Ok(())
    }

    /// Puts the next key in its place, once nothing of the old one is afloat.
    pub async fn switch(&self, books: &dyn Books, now: u64) -> Result<Switching, RotationError> {
        let (version, at) = self.at().await?;
        let Some(Rotation::Granted { old, new, reason, grant, epoch, .. }) = at else {
            return Err(RotationError::OutOfStep { at: "not granted", wanted: "finished" });
        };
        let open = books.open().await.map_err(|source| RotationError::Books { source })?;
        let afloat = open.iter().filter(|one| one.entry.session == old).count();
        if afloat > 0 {
            return Ok(Switching::Waits(afloat));
        }
        Failpoint::RotationSwitching.reached();
        // One that was switched before a crash is in its place already.
        if self.keyring.current().await != Some(new) {
            self.keyring.switch().await.map_err(|source| RotationError::Keyring { source })?;
        }
        Failpoint::RotationSwitched.reached();
        let replaced = Some(Replaced { key: old, reason });
        let resting = Rotation::Resting { key: new, grant: grant.clone(), epoch, replaced };
        self.write(version, &resting, now).await?;
        Failpoint::RotationResting.reached();
        Ok(Switching::Done(new, Box::new(grant)))
    }

    /// After a start: goes on where it was if its keys are still there, and forgets it if not. A hosted Golem's keys are not:
    /// what was signed for them is nobody's (SPEC D21).
    pub async fn resume(&self, now: u64) -> Result<Option<Rotation>, RotationError> {
        let (version, at) = self.at().await?;
        let Some(at) = at else { return Ok(None) };
        let current = self.keyring.current().await;
        let whole = match &at {
            Rotation::Resting { key, .. } => current.is_none_or(|current| current == *key),
            Rotation::Asked { old, new, .. } => current == Some(*old) && self.waits(*new).await?,
            Rotation::Granted { new, .. } => current == Some(*new) || self.waits(*new).await?,
        };
        if whole {
            return Ok(Some(at));
        }
        self.keyring.discard().await.map_err(|source| RotationError::Keyring { source })?;
        Failpoint::RotationDiscarded.reached();
        let (last, grant, epoch) = match at {
            Rotation::Resting { key, grant, epoch, .. } => (key, grant, epoch),
            Rotation::Asked { old, grant, epoch, .. } => (old, grant, epoch),
            Rotation::Granted { old, before, epoch, .. } => (old, before, epoch),
        };
        let key = current.unwrap_or(last);
        let resting = Rotation::Resting { key, grant, epoch, replaced: None };
        self.write(version, &resting, now).await?;
        Failpoint::RotationForgotten.reached();
        Ok(Some(resting))
    }

    /// Whether the next key is this one.
    async fn waits(&self, new: Address) -> Result<bool, RotationError> {
        let next = self.keyring.next().await;
        Ok(next.map_err(|source| RotationError::Keyring { source })? == new)
    }
}
