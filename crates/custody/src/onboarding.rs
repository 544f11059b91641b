//! From a stranger with a wallet to a Golem that lives: six steps, forward only, each on the disk before the next (SPEC K7).
//!
//! ```text
//! sign in ──► custody ──► wallet ──► strategy ──► identity ──► summoning ──► live
//! ```
//!
//! Whoever stops anywhere goes on where he was; a step that was made is never made again, nor otherwise.
//!
//! Who holds what is not kept here but by [`CustodyChoice`], which the first tick fixes: there is no second copy that a crash
//! between two writings could leave behind.

use crate::{
    AuthorizationPublicKey, Binding, BoxError, ChoiceError, Choosing, CustodyChoice, SignIn,
    SignInError, Steps, Ticking, crash::Failpoint,
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use golem_delegation::Delegation;
use serde::{Deserialize, Serialize};

/// Where it is kept.
const CELL: &str = "onboarding";
/// Most letters of a strategy, or of its rhythm.
const MOST_TEXT: usize = 64 * 1024;

/// Who holds what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CustodyMode {
    /// The money stays in the owner's account; the Golem has a key that ends with its process.
    Delegation,
    /// The money is in a wallet that a provider signs for.
    Embedded,
    /// As in the first, on the owner's own machine: the key is in an encrypted file.
    LocalKey,
}

/// What a Golem acts with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Means {
    /// A key and what it may do.
    Granted {
        /// The owner's account.
        account: Address,
        /// The Golem's key.
        session: Address,
        /// What it may do.
        grant: Box<Delegation>,
    },
    /// A wallet elsewhere.
    Provided {
        /// What the provider calls it.
        wallet: String,
        /// Its address.
        address: Address,
        /// What the provider calls the rules that the Golem's key asks under; none while no key of its is let in.
        policy: Option<String>,
        /// The Golem's key, which asks; none while no key of its is let in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<AuthorizationPublicKey>,
    },
}

/// The Golem's key, as its owner knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentKey {
    /// To which he grants.
    Session(Address),
    /// Which asks a wallet elsewhere for its signatures.
    Asking(AuthorizationPublicKey),
}

impl Means {
    /// The key that they are of; none where that is not kept.
    #[must_use]
    pub fn key(&self) -> Option<AgentKey> {
        match self {
            Self::Granted { session, .. } => Some(AgentKey::Session(*session)),
            Self::Provided { key, .. } => key.clone().map(AgentKey::Asking),
        }
    }

    /// Whether they are of this mode, and whole.
    fn fit(&self, mode: CustodyMode) -> Result<(), OnboardingError> {
        let why = match (self, mode) {
            (Self::Provided { .. }, CustodyMode::Embedded) => return Ok(()),
            (
                Self::Granted { account, session, grant },
                CustodyMode::Delegation | CustodyMode::LocalKey,
            ) => {
                if grant.delegate != *session {
                    "the grant is to another key"
                } else if grant.delegator != *account {
                    "the grant is of another account"
                } else if grant.signature.is_empty() {
                    "the grant is not signed"
                } else {
                    return Ok(());
                }
            }
            _ => "it is of another kind than was chosen",
        };
        Err(OnboardingError::Wallet { why })
    }
}

/// How far somebody is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase", deny_unknown_fields)]
pub enum Onboarding {
    /// 1: the wallet is asked who its owner is.
    SigningIn {
        /// What it is asked.
        request: SignIn,
    },
    /// 2: the owner chooses who holds what.
    ChoosingCustody {
        /// Who he is.
        owner: Address,
    },
    /// 3: the Golem gets its key and its grant.
    SettingUpWallet {
        /// Who he is.
        owner: Address,
    },
    /// 4: STRATEGY.md and HEARTBEAT.md are written.
    WritingStrategy {
        /// Who he is.
        owner: Address,
        /// What the Golem acts with.
        means: Means,
    },
    /// 5: an ERC-8004 identity, if he wants one.
    Registering {
        /// Who he is.
        owner: Address,
        /// What the Golem acts with.
        means: Means,
        /// Of STRATEGY.md.
        strategy: B256,
        /// Of HEARTBEAT.md.
        heartbeat: B256,
    },
    /// 6: all is there; the first tick is due.
    Summoning {
        /// Who he is.
        owner: Address,
        /// What the Golem acts with.
        means: Means,
        /// Of STRATEGY.md.
        strategy: B256,
        /// Of HEARTBEAT.md.
        heartbeat: B256,
        /// Its number on the register of identities.
        identity: Option<U256>,
    },
    /// It had its first tick: from here on nothing of all this changes (SPEC K1).
    Live {
        /// Its id on chain.
        golem: B256,
        /// Who he is.
        owner: Address,
        /// What it began with. Its first grant is kept nowhere else.
        means: Means,
    },
}

impl Onboarding {
    /// Its number, from one; the seventh is its end.
    #[must_use]
    pub const fn number(&self) -> u8 {
        match self {
            Self::SigningIn { .. } => 1,
            Self::ChoosingCustody { .. } => 2,
            Self::SettingUpWallet { .. } => 3,
            Self::WritingStrategy { .. } => 4,
            Self::Registering { .. } => 5,
            Self::Summoning { .. } => 6,
            Self::Live { .. } => 7,
        }
    }

    /// Whether step 4 would take these: STRATEGY.md and HEARTBEAT.md.
    pub fn check_texts(strategy: &str, heartbeat: &str) -> Result<(), OnboardingError> {
        for (file, text) in [("STRATEGY.md", strategy), ("HEARTBEAT.md", heartbeat)] {
            if text.trim().is_empty() || text.len() > MOST_TEXT {
                return Err(OnboardingError::Text { file });
            }
        }
        Ok(())
    }

    /// Whose it is, or would be.
    #[must_use]
    pub const fn owner(&self) -> Address {
        match self {
            Self::SigningIn { request } => request.address,
            Self::ChoosingCustody { owner }
            | Self::SettingUpWallet { owner, .. }
            | Self::WritingStrategy { owner, .. }
            | Self::Registering { owner, .. }
            | Self::Summoning { owner, .. }
            | Self::Live { owner, .. } => *owner,
        }
    }

    /// What the Golem acts with; none before it is set up.
    #[must_use]
    pub const fn means(&self) -> Option<&Means> {
        match self {
            Self::SigningIn { .. }
            | Self::ChoosingCustody { .. }
            | Self::SettingUpWallet { .. } => None,
            Self::WritingStrategy { means, .. }
            | Self::Registering { means, .. }
            | Self::Summoning { means, .. }
            | Self::Live { means, .. } => Some(means),
        }
    }

    /// Where a test ends the process: before this is written down, and after.
    const fn failpoints(&self) -> (Failpoint, Failpoint) {
        use Failpoint::*;
        match self {
            Self::SigningIn { .. } => (OnboardingAsks, OnboardingAsked),
            Self::ChoosingCustody { .. } => (OnboardingSignsIn, OnboardingSignedIn),
            Self::SettingUpWallet { .. } => (OnboardingChooses, OnboardingChose),
            Self::WritingStrategy { .. } => (OnboardingSetsUp, OnboardingSetUp),
            Self::Registering { .. } => (OnboardingWrites, OnboardingWrote),
            Self::Summoning { .. } => (OnboardingRegisters, OnboardingRegistered),
            Self::Live { .. } => (OnboardingSummons, OnboardingSummoned),
        }
    }
}

/// Why somebody is not a step further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnboardingError {
    /// The disk did not take it, or did not say.
    #[error("the step could not be kept; onboarding is where it was")]
    Books {
        /// Why.
        source: BoxError,
    },
    /// What stands on the disk is none of its steps.
    #[error("what is kept of the onboarding is not understood; nothing was changed")]
    Unread {
        /// Why.
        source: serde_json::Error,
    },
    /// Not a step from here.
    #[error(
        "onboarding is at step {at}, and this is step {wanted}: steps are made in order, and once"
    )]
    OutOfStep {
        /// Where it is; zero before the first.
        at: u8,
        /// What was asked for.
        wanted: u8,
    },
    /// The wallet did not say who its owner is.
    #[error("step 1 is not made")]
    SignIn(#[from] SignInError),
    /// The choice could not be kept, or not be read.
    #[error(transparent)]
    Choice(#[from] ChoiceError),
    /// Another mode than the Golem's.
    #[error(
        "step 2 is not made: this Golem is in mode {}, since second {since}, and stays so; {} cannot be chosen any more",
        fixed.name(),
        wanted.name()
    )]
    Bound {
        /// The Golem's.
        fixed: CustodyMode,
        /// The second from which on it is so.
        since: u64,
        /// What was asked for.
        wanted: CustodyMode,
    },
    /// The steps say that a mode was chosen, and no choice is kept: somebody took it away.
    #[error(
        "onboarding is beyond its second step, and no choice of custody is kept; nothing was changed"
    )]
    Unchosen,
    /// A wallet that does not fit what was chosen.
    #[error("step 3 is not made: {why}")]
    Wallet {
        /// What does not fit.
        why: &'static str,
    },
    /// A text that is none.
    #[error("step 4 is not made: {file} is empty or longer than {MOST_TEXT} letters")]
    Text {
        /// Which file.
        file: &'static str,
    },
}

/// One onboarding.
#[derive(Clone, Copy, Debug)]
pub struct OnboardingSteps<'a, S>(&'a S);

impl<'a, S: Steps> OnboardingSteps<'a, S> {
    /// Kept by `steps`.
    pub const fn new(steps: &'a S) -> Self {
        Self(steps)
    }

    /// Where it is; none before it began.
    pub async fn at(&self) -> Result<Option<Onboarding>, OnboardingError> {
        Ok(self.read().await?.1)
    }

    async fn read(&self) -> Result<(u64, Option<Onboarding>), OnboardingError> {
        let books = |source| OnboardingError::Books { source };
        let Some(step) = self.0.load(CELL).await.map_err(books)? else { return Ok((0, None)) };
        let at = serde_json::from_value(step.value)
            .map_err(|source| OnboardingError::Unread { source })?;
        Ok((step.version, Some(at)))
    }

    async fn write(
        &self,
        version: u64,
        to: Onboarding,
        now: u64,
    ) -> Result<Onboarding, OnboardingError> {
        let value =
            serde_json::to_value(&to).map_err(|source| OnboardingError::Unread { source })?;
        let (before, after) = to.failpoints();
        before.reached();
        self.0
            .advance(CELL, version, &value, now)
            .await
            .map_err(|source| OnboardingError::Books { source })?;
        after.reached();
        Ok(to)
    }

    /// Asks the wallet who its owner is. What was asked and not answered may be asked anew.
    pub async fn begin(&self, request: SignIn, now: u64) -> Result<Onboarding, OnboardingError> {
        request.message()?;
        match self.read().await? {
            (version, None | Some(Onboarding::SigningIn { .. })) => {
                self.write(version, Onboarding::SigningIn { request }, now).await
            }
            (_, Some(at)) => Err(out_of_step(Some(&at), 1)),
        }
    }

    /// Step 1: the wallet's answer.
    pub async fn signed_in(
        &self,
        signature: &Bytes,
        now: u64,
    ) -> Result<Onboarding, OnboardingError> {
        let (version, at) = self.read().await?;
        let Some(Onboarding::SigningIn { request }) = at else {
            return Err(out_of_step(at.as_ref(), 1));
        };
        let owner = request.verify(signature, now)?;
        self.write(version, Onboarding::ChoosingCustody { owner }, now).await
    }

    /// What was chosen; none before anything was.
    pub async fn mode(&self) -> Result<Option<CustodyMode>, OnboardingError> {
        Ok(CustodyChoice::new(self.0).at().await?.map(|choice| choice.mode()))
    }

    /// Step 2: who holds what. The choice is kept first: a step without a choice cannot be.
    pub async fn chose(&self, mode: CustodyMode, now: u64) -> Result<Onboarding, OnboardingError> {
        let (version, at) = self.read().await?;
        let Some(Onboarding::ChoosingCustody { owner }) = at else {
            return Err(out_of_step(at.as_ref(), 2));
        };
        match CustodyChoice::new(self.0).choose(mode, now).await? {
            Choosing::Taken(_) => {}
            Choosing::Refused { fixed, since, wanted } => {
                return Err(OnboardingError::Bound { fixed, since, wanted });
            }
        }
        self.write(version, Onboarding::SettingUpWallet { owner }, now).await
    }

    /// Step 3: the key and its grant, or the wallet that somebody else signs for. The choice is bound first.
    pub async fn set_up(&self, means: Means, now: u64) -> Result<Onboarding, OnboardingError> {
        let (version, at) = self.read().await?;
        let Some(Onboarding::SettingUpWallet { owner }) = at else {
            return Err(out_of_step(at.as_ref(), 3));
        };
        let Binding::To(mode) = CustodyChoice::new(self.0).bind(now).await? else {
            return Err(OnboardingError::Unchosen);
        };
        means.fit(mode)?;
        self.write(version, Onboarding::WritingStrategy { owner, means }, now).await
    }

    /// Step 4: what it is to do, and how often.
    pub async fn wrote(
        &self,
        strategy: &str,
        heartbeat: &str,
        now: u64,
    ) -> Result<Onboarding, OnboardingError> {
        let (version, at) = self.read().await?;
        let Some(Onboarding::WritingStrategy { owner, means }) = at else {
            return Err(out_of_step(at.as_ref(), 4));
        };
        Onboarding::check_texts(strategy, heartbeat)?;
        let (strategy, heartbeat) = (keccak256(strategy), keccak256(heartbeat));
        let next = Onboarding::Registering { owner, means, strategy, heartbeat };
        self.write(version, next, now).await
    }

    /// Step 5: its identity, or that it has none.
    pub async fn registered(
        &self,
        identity: Option<U256>,
        now: u64,
    ) -> Result<Onboarding, OnboardingError> {
        let (version, at) = self.read().await?;
        let Some(Onboarding::Registering { owner, means, strategy, heartbeat }) = at else {
            return Err(out_of_step(at.as_ref(), 5));
        };
        let next = Onboarding::Summoning { owner, means, strategy, heartbeat, identity };
        self.write(version, next, now).await
    }

    /// Step 6: the first tick. It fixes the choice, before anything else that it does.
    pub async fn summoned(&self, golem: B256, now: u64) -> Result<Onboarding, OnboardingError> {
        let (version, at) = self.read().await?;
        let Some(Onboarding::Summoning { owner, means, .. }) = at else {
            return Err(out_of_step(at.as_ref(), 6));
        };
        let Ticking::In(_) = CustodyChoice::new(self.0).tick(now).await? else {
            return Err(OnboardingError::Unchosen);
        };
        self.write(version, Onboarding::Live { golem, owner, means }, now).await
    }
}

fn out_of_step(at: Option<&Onboarding>, wanted: u8) -> OnboardingError {
    OnboardingError::OutOfStep { at: at.map_or(0, Onboarding::number), wanted }
}
