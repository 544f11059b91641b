//! The three ways to hold what a Golem acts with, behind one port, and the choice between them (SPEC K1).
//!
//! ```text
//!  nothing ──► chosen ──► chosen otherwise ──► set up: bound ──► first tick: fixed, for life
//! ```
//!
//! This is the one place where a Golem's mode is kept: onboarding chooses here, and has no copy that could say otherwise.
//!
//! Funds lie elsewhere in each mode, and a death ends each otherwise: a Golem that changed it while it lives would leave
//! behind what nobody looks for. So the first heartbeat fixes it, on the disk, before anything else that the tick does.

use crate::{
    BoxError, CustodyMode, EmbeddedWallet, Keyring as _, Keys, Presence, Steps, WalletService,
    crash::Failpoint,
};
use alloy_primitives::Address;
use async_trait::async_trait;
use golem_delegation::Delegation;
use serde::{Deserialize, Serialize};

/// Where the choice is kept.
const CELL: &str = "custody";

/// Who makes the signatures that move money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigningParty {
    /// A key in this process's memory, which ends with it.
    SessionKey,
    /// A key in an encrypted file of the owner's, which outlives the process.
    KeyFile,
    /// Somebody else's enclave, on request.
    WalletService,
}

/// How a death ends what a mode holds (SPEC K8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SettlementKind {
    /// The money never left the owner: the grant is let go.
    DelegationExpiry,
    /// The money is in a wallet elsewhere, and is sent to the owner.
    PrivySweep,
}

impl CustodyMode {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Delegation, Self::Embedded, Self::LocalKey];

    /// Its name, on disk and in events.
    ///
    /// ```
    /// use golem_custody::CustodyMode;
    /// assert!(CustodyMode::ALL.iter().all(|mode| serde_json::json!(mode) == mode.name()));
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delegation => "delegation",
            Self::Embedded => "embedded",
            Self::LocalKey => "localKey",
        }
    }

    /// Who signs.
    #[must_use]
    pub const fn signing_party(self) -> SigningParty {
        match self {
            Self::Delegation => SigningParty::SessionKey,
            Self::Embedded => SigningParty::WalletService,
            Self::LocalKey => SigningParty::KeyFile,
        }
    }

    /// How it ends.
    #[must_use]
    pub const fn settlement(self) -> SettlementKind {
        match self {
            Self::Delegation | Self::LocalKey => SettlementKind::DelegationExpiry,
            Self::Embedded => SettlementKind::PrivySweep,
        }
    }

    /// Whether its key is replaced by another from time to time (SPEC K3). An enclave's is the wallet itself.
    #[must_use]
    pub const fn rotates_keys(self) -> bool {
        match self {
            Self::Delegation | Self::LocalKey => true,
            Self::Embedded => false,
        }
    }

    /// Whether a restart finds the same key (SPEC D21).
    #[must_use]
    pub const fn keeps_its_key(self) -> bool {
        matches!(self, Self::LocalKey)
    }

    /// Whether anything of Permit2 may be signed (SPEC D27).
    #[must_use]
    pub const fn allows_permit2(self) -> bool {
        matches!(self, Self::Embedded)
    }
}

/// Whether a Golem can act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Acting {
    /// It can; this is who signs for it.
    Signs(Address),
    /// It looks on, and signs nothing.
    Observes(Observing),
}

/// Why a Golem looks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observing {
    /// There is no key any more.
    NoKey,
    /// The owner has granted nothing to this key: a hosted Golem's after each start (SPEC D21).
    Unattached {
        /// The key that waits.
        key: Address,
    },
    /// The wallet service does not answer (SPEC K5).
    WalletAway {
        /// The second in which it first did not.
        since: u64,
        /// The second from which on it is looked for again.
        next: u64,
    },
}

/// Port: what every mode can do, whichever it is.
#[async_trait]
pub trait Custody: Send + Sync {
    /// Which of the three.
    fn mode(&self) -> CustodyMode;

    /// Whether it can act now.
    async fn acting(&self) -> Acting;
}

/// Delegation and LocalKey: a key of the Golem's own, and what the owner granted it.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "INV-2: it reaches a key")]
pub struct KeyCustody {
    keys: Keys,
    mode: CustodyMode,
    grant: Option<Delegation>,
}

impl KeyCustody {
    /// Of keys that end with this process.
    #[must_use]
    pub const fn hosted(keys: Keys, grant: Option<Delegation>) -> Self {
        Self { keys, mode: CustodyMode::Delegation, grant }
    }

    /// Of keys in a folder of the owner's.
    #[must_use]
    pub const fn local(keys: Keys, grant: Option<Delegation>) -> Self {
        Self { keys, mode: CustodyMode::LocalKey, grant }
    }
}

#[async_trait]
impl Custody for KeyCustody {
    fn mode(&self) -> CustodyMode {
        self.mode
    }

    async fn acting(&self) -> Acting {
        let Some(key) = self.keys.current().await else {
            return Acting::Observes(Observing::NoKey);
        };
        match &self.grant {
            Some(grant) if grant.delegate == key && !grant.signature.is_empty() => {
                Acting::Signs(key)
            }
            _ => Acting::Observes(Observing::Unattached { key }),
        }
    }
}

#[async_trait]
impl<S: WalletService> Custody for EmbeddedWallet<S> {
    fn mode(&self) -> CustodyMode {
        CustodyMode::Embedded
    }

    async fn acting(&self) -> Acting {
        match self.presence() {
            Presence::Here => Acting::Signs(self.address()),
            Presence::Away { since, next } => {
                Acting::Observes(Observing::WalletAway { since, next })
            }
        }
    }
}

/// What was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase", deny_unknown_fields)]
pub enum Choice {
    /// This, until another is chosen.
    Open {
        /// Which.
        mode: CustodyMode,
    },
    /// This: what the Golem acts with was made for it.
    Bound {
        /// Which.
        mode: CustodyMode,
        /// The second in which that began.
        since: u64,
    },
    /// This, for life.
    Fixed {
        /// Which.
        mode: CustodyMode,
        /// The second of the first tick.
        since: u64,
    },
}

impl Choice {
    /// Which mode it is.
    #[must_use]
    pub const fn mode(&self) -> CustodyMode {
        match self {
            Self::Open { mode } | Self::Bound { mode, .. } | Self::Fixed { mode, .. } => *mode,
        }
    }
}

/// Whether a choice was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Choosing {
    /// It is what counts.
    Taken(Choice),
    /// It is not, because the Golem lives, or what it is to live with is made already.
    Refused {
        /// What it lives with.
        fixed: CustodyMode,
        /// The second from which on it is so.
        since: u64,
        /// What it was to live with.
        wanted: CustodyMode,
    },
}

/// What a tick begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ticking {
    /// It goes on, in this mode and no other.
    In(CustodyMode),
    /// Nothing was chosen: there is nothing to tick with.
    Unchosen,
}

/// What the making of a wallet begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Binding {
    /// It is made for this mode, and no other is chosen any more.
    To(CustodyMode),
    /// Nothing was chosen: there is nothing to make it for.
    Unchosen,
}

/// The choice could not be kept, or not be read. What was chosen before counts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// The disk did not take it or did not say, or somebody else chose at the same time.
    #[error("the choice of custody could not be kept; it is what it was")]
    Books {
        /// Why.
        source: BoxError,
    },
    /// What stands on the disk is no choice.
    #[error("what is kept of the choice of custody is not understood; nothing was changed")]
    Unread {
        /// Why.
        source: serde_json::Error,
    },
}

/// One Golem's choice. Of two who choose at once one is told that the other was there.
#[derive(Clone, Copy, Debug)]
pub struct CustodyChoice<'a, S>(&'a S);

impl<'a, S: Steps> CustodyChoice<'a, S> {
    /// Kept by `steps`.
    pub const fn new(steps: &'a S) -> Self {
        Self(steps)
    }

    /// What was chosen; none before anything was.
    pub async fn at(&self) -> Result<Option<Choice>, ChoiceError> {
        Ok(self.read().await?.1)
    }

    /// Chooses. Until what the Golem acts with is made a later choice counts; then there is none.
    pub async fn choose(&self, wanted: CustodyMode, now: u64) -> Result<Choosing, ChoiceError> {
        match self.read().await? {
            (_, Some(Choice::Bound { mode, since } | Choice::Fixed { mode, since }))
                if mode != wanted =>
            {
                Ok(Choosing::Refused { fixed: mode, since, wanted })
            }
            (_, Some(same)) if same.mode() == wanted => Ok(Choosing::Taken(same)),
            (version, _) => {
                let open = Choice::Open { mode: wanted };
                self.write(version, &open, now).await?;
                Failpoint::CustodyChosen.reached();
                Ok(Choosing::Taken(open))
            }
        }
    }

    /// What the making of a wallet does first: from here on no other mode is chosen, so that a key, a grant or a wallet of one
    /// mode never stands beside the choice of another.
    pub async fn bind(&self, now: u64) -> Result<Binding, ChoiceError> {
        match self.read().await? {
            (_, None) => Ok(Binding::Unchosen),
            (_, Some(Choice::Bound { mode, .. } | Choice::Fixed { mode, .. })) => {
                Ok(Binding::To(mode))
            }
            (version, Some(Choice::Open { mode })) => {
                self.write(version, &Choice::Bound { mode, since: now }, now).await?;
                Failpoint::CustodyBound.reached();
                Ok(Binding::To(mode))
            }
        }
    }

    /// What a tick does first: what was chosen is fixed by the first one.
    pub async fn tick(&self, now: u64) -> Result<Ticking, ChoiceError> {
        match self.read().await? {
            (_, None) => Ok(Ticking::Unchosen),
            (_, Some(Choice::Fixed { mode, .. })) => Ok(Ticking::In(mode)),
            (version, Some(Choice::Open { mode } | Choice::Bound { mode, .. })) => {
                self.write(version, &Choice::Fixed { mode, since: now }, now).await?;
                Failpoint::CustodyFixed.reached();
                Ok(Ticking::In(mode))
            }
        }
    }

    async fn read(&self) -> Result<(u64, Option<Choice>), ChoiceError> {
        let books = |source| ChoiceError::Books { source };
        let Some(step) = self.0.load(CELL).await.map_err(books)? else { return Ok((0, None)) };
        let choice =
            serde_json::from_value(step.value).map_err(|source| ChoiceError::Unread { source })?;
        Ok((step.version, Some(choice)))
    }

    async fn write(&self, from: u64, to: &Choice, now: u64) -> Result<(), ChoiceError> {
        let value = serde_json::to_value(to).map_err(|source| ChoiceError::Unread { source })?;
        let advanced = self.0.advance(CELL, from, &value, now).await;
        advanced.map_err(|source| ChoiceError::Books { source })
    }
}
