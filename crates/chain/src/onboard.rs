//! From a plain EOA, with nothing deployed, funded or registered, to a Golem that can act at once (SPEC K7).
//!
//! ```text
//! 1 sign in     a signature (ERC-4361)
//! 2 custody     ·
//! 3 wallet      a signature: the grant; none where somebody else holds the wallet
//! 4 strategy    ·
//! 5 identity    ONE transaction: the EOA's upgrade (EIP-7702) and, in a batch of its own,
//!               the vault ─ the Golem and its key ─ its policy ─ an identity ─ gas money ─ deposits
//! 6 summoning   ·                                                the first tick is the Golem's
//! ```
//!
//! The batch is done whole or not at all, and its bytes are kept before a node has them. Whoever is interrupted anywhere
//! looks for what he sent, hands in the same bytes again where nobody has them, and never signs a second batch beside
//! one that may still land.

mod costs;
mod lacking;
mod landed;
mod provisioning;

pub use costs::{Costs, Prompt, StepCost};
pub use provisioning::{Provision, Provisioned, Wished, provisioning};

use crate::{Account, ChainFault, Node, OwnerError, Registry, identity::registered, outbox::sign};
use alloy::{
    primitives::{Address, B256, U256},
    rpc::types::TransactionReceipt,
};
use bardo_bindings::{
    framework::{DELEGATION_MANAGER, STATELESS_7702_IMPL},
    golem_registry, policy_cage,
};
use costs::Ledger;
use golem_custody::{
    AgentKey, Asset, BoxError, Choice, CustodyChoice, CustodyError, CustodyMode, Means, Onboarding,
    OnboardingError, OnboardingSteps, OwnerSigner, SignIn, Steps,
};
use golem_delegation::SigningDomain;
use golem_safety::{Policy, PolicyRefusal};
use std::fmt;
use tokio::time::Instant;

/// Money that goes to where the Golem acts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deposit {
    /// What.
    pub asset: Asset,
    /// How much, in base units.
    pub amount: U256,
}

/// One owner's way to one Golem, and what he chose. The Golem's key is never needed: it stays where it was born (SPEC D12).
pub struct Onboard<'a, S> {
    /// The chain.
    pub node: &'a Node,
    /// Who is asked.
    pub owner: &'a OwnerSigner,
    /// Where the steps are kept.
    pub steps: &'a S,
    /// Who holds what.
    pub mode: CustodyMode,
    /// What the Golem's id is made from, with the owner.
    pub salt: B256,
    /// The Golem's key as it is now, which may be another than the one that step 3 was made for; none where that step finds it.
    pub key: Option<AgentKey>,
    /// Where the money is to be, if not in the owner's EOA itself: created where it is not there yet.
    pub vault: Option<Account>,
    /// What the Golem's runtime holds itself to (SPEC P1).
    pub policy: Policy,
    /// Gas money that the Golem's key is given: it is born without any (SPEC D20).
    pub stipend: U256,
    /// What is paid in.
    pub deposits: Vec<Deposit>,
    /// An ERC-8004 identity, if he wants one: at which registry, and where its file is.
    pub identity: Option<(Address, String)>,
    /// STRATEGY.md.
    pub strategy: String,
    /// HEARTBEAT.md.
    pub heartbeat: String,
    /// Most that a transaction may cost, in wei.
    pub ceiling: U256,
}

impl<S> fmt::Debug for Onboard<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, salt, .. } = self;
        let owner = self.owner.address();
        f.debug_struct("Onboard")
            .field("owner", &owner)
            .field("mode", mode)
            .field("salt", salt)
            .finish_non_exhaustive()
    }
}

/// Where an onboarding is when all is there that the first tick needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Onboarded {
    /// The Golem's id.
    pub golem: B256,
    /// Step six, or that it lives.
    pub at: Onboarding,
    /// What it took, over all runs.
    pub costs: Costs,
}

/// Why an onboarding is not at its end. It is where it was, and goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OnboardError {
    /// A step was not made.
    #[error(transparent)]
    Step(#[from] OnboardingError),
    /// The owner's transaction was not sent, or not seen.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The chain could not be asked.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The owner's key did not sign.
    #[error(transparent)]
    Custody(#[from] CustodyError),
    /// No policy that the chain would publish.
    #[error("the policy cannot be published; nothing was asked of the owner")]
    Policy(#[from] PolicyRefusal),
    /// The disk did not take what was spent, or did not say.
    #[error("what the onboarding took could not be kept")]
    Books {
        /// Why.
        source: BoxError,
    },
    /// What stands on the disk is no such list.
    #[error("what is kept of the onboarding's transactions is not understood; nothing was sent")]
    Unread {
        /// Why.
        source: serde_json::Error,
    },
    /// There is no key, or no wallet.
    #[error("step 3 is not made: there is nothing the Golem could act with")]
    SetUp {
        /// Why.
        source: BoxError,
    },
    /// It began otherwise.
    #[error("this onboarding began with another {what}, and goes on with that one only")]
    Otherwise {
        /// What differs.
        what: &'static str,
    },
    /// What was sent is in a block, and the chain does not show what it was for.
    #[error("the transaction is in a block, and the chain does not show {what}; look at it again")]
    NotShown {
        /// What.
        what: &'static str,
    },
    /// What was sent may be in a block, and no receipt says so.
    #[error(
        "the owner's transaction {hash} may have taken effect, and the node shows no receipt of it; nothing was signed or sent beside \
         it: ask again, or another node"
    )]
    Unseen {
        /// The transaction.
        hash: B256,
    },
}

impl<S: Steps> Onboard<'_, S> {
    /// The Golem's id.
    #[must_use]
    pub fn golem(&self) -> B256 {
        Registry::golem_id(self.owner.address(), self.salt)
    }

    /// Goes on from wherever it is, up to the first tick.
    ///
    /// `request` is what the owner signs in with, and `set_up` makes what the Golem acts with; a grant without a signature is
    /// given to the owner for one. Neither is used once its step is made. `now` is the second that it is.
    pub async fn run(
        &self,
        request: &SignIn,
        set_up: impl AsyncFnOnce() -> Result<Means, BoxError>,
        now: u64,
    ) -> Result<Onboarded, OnboardError> {
        let (steps, mut ledger) =
            (OnboardingSteps::new(self.steps), Ledger::open(self.steps).await?);
        let mut set_up = Some(set_up);
        loop {
            let at = steps.at().await?;
            self.began_so(at.as_ref()).await?;
            let began = Instant::now();
            match at {
                None | Some(Onboarding::SigningIn { .. }) => {
                    self.possible().await?;
                    steps.begin(request.clone(), now).await?;
                    let signature = self.owner.sign_in(request)?;
                    ledger.took(StepCost::new(1, vec![Prompt::SignIn], began), now).await?;
                    steps.signed_in(&signature, now).await?;
                }
                Some(Onboarding::ChoosingCustody { .. }) => {
                    ledger.took(StepCost::new(2, vec![], began), now).await?;
                    steps.chose(self.mode, now).await?;
                }
                Some(Onboarding::SettingUpWallet { .. }) => {
                    let Some(set_up) = set_up.take() else {
                        return Err(OnboardError::Otherwise { what: "wallet" });
                    };
                    let means = set_up().await.map_err(|source| OnboardError::SetUp { source })?;
                    let (means, prompts) = self.granted(means)?;
                    ledger.took(StepCost::new(3, prompts, began), now).await?;
                    steps.set_up(means, now).await?;
                }
                Some(Onboarding::WritingStrategy { .. }) => {
                    ledger.took(StepCost::new(4, vec![], began), now).await?;
                    steps.wrote(&self.strategy, &self.heartbeat, now).await?;
                }
                Some(Onboarding::Registering { means, .. }) => {
                    let receipts = self.done_on_chain(&means, &mut ledger, now).await?;
                    let identity = self.identified(&receipts)?;
                    let sent = vec![Prompt::Transaction; ledger.sent().len()];
                    let cost = StepCost::new(5, sent, began).with(&receipts);
                    ledger.took(cost, now).await?;
                    steps.registered(identity, now).await?;
                }
                Some(at @ (Onboarding::Summoning { .. } | Onboarding::Live { .. })) => {
                    if ledger.costs().step(6).is_none() {
                        ledger.took(StepCost::new(6, vec![], began), now).await?;
                    }
                    let costs = ledger.costs().clone();
                    return Ok(Onboarded { golem: self.golem(), at, costs });
                }
            }
        }
    }

    /// Whether a transaction of it was ever signed: it may be in a block, or yet get there.
    pub async fn has_signed(&self) -> Result<bool, OnboardError> {
        Ok(!Ledger::open(self.steps).await?.sent().is_empty())
    }

    /// Whether what is kept is of this owner and as he chose.
    async fn began_so(&self, at: Option<&Onboarding>) -> Result<(), OnboardError> {
        let choice = CustodyChoice::new(self.steps).at().await.map_err(OnboardingError::from)?;
        // Until the step is made another can be chosen, and after the first tick none, wherever the steps are.
        let chosen = choice.filter(|choice| {
            let made = at.is_some_and(|at| at.number() > 2);
            made || !matches!(choice, Choice::Open { .. })
        });
        let what = match at {
            Some(at) if at.owner() != self.owner.address() => "owner",
            _ if chosen.is_some_and(|chosen| chosen.mode() != self.mode) => "mode",
            Some(Onboarding::Live { golem, .. }) if *golem != self.golem() => "salt",
            Some(at) if self.has_another_key(at) => "session",
            _ => return Ok(()),
        };
        Err(OnboardError::Otherwise { what })
    }

    /// Whether step 3 was made for another key than the Golem has: it would get gas money, and speak for nobody. Which one that was
    /// is kept; where it is not, nothing more is sent.
    fn has_another_key(&self, at: &Onboarding) -> bool {
        let (Some(now), Some(means)) = (&self.key, at.means()) else { return false };
        means.key().map_or(at.number() < 6, |then| then != *now)
    }

    /// Finds out what could not be done before anybody is asked for anything.
    async fn possible(&self) -> Result<(), OnboardError> {
        self.policy.check()?;
        Onboarding::check_texts(&self.strategy, &self.heartbeat)?;
        for (what, at) in [
            ("DelegationManager", DELEGATION_MANAGER),
            ("EIP7702StatelessDeleGator", STATELESS_7702_IMPL),
            ("GolemRegistry", golem_registry()),
            ("PolicyCage", policy_cage()),
        ] {
            self.node.require(what, at).await?;
        }
        self.eoa().requires_creation(self.node).await?;
        // One that stands may have been passed on: another key rules it then.
        if let Some(vault) = &self.vault
            && !vault.requires_creation(self.node).await?
        {
            Account::ruled_by(self.node, self.owner.address(), vault.address).await?;
        }
        Ok(())
    }

    /// The means with the owner's signature, and what he was asked for.
    fn granted(&self, means: Means) -> Result<(Means, Vec<Prompt>), OnboardError> {
        let Means::Granted { account, session, grant } = means else { return Ok((means, vec![])) };
        let owned = self.vault.as_ref().map_or(self.owner.address(), |vault| vault.address);
        if account != owned {
            return Err(OnboardError::Otherwise { what: "account" });
        }
        if !grant.signature.is_empty() {
            return Ok((Means::Granted { account, session, grant }, vec![]));
        }
        let domain = SigningDomain { chain_id: self.node.chain_id(), manager: DELEGATION_MANAGER };
        let grant = Box::new(self.owner.grant(&domain, *grant)?);
        Ok((Means::Granted { account, session, grant }, vec![Prompt::Grant]))
    }

    /// The owner's EOA as the account that it is or becomes: all of the batch is its own doing.
    const fn eoa(&self) -> Account {
        Account::stateless_7702(self.owner.address())
    }

    /// Has everything on the chain that the first tick needs, by one transaction where something lacks. What took
    /// effect is given back.
    async fn done_on_chain(
        &self,
        means: &Means,
        ledger: &mut Ledger<'_, S>,
        now: u64,
    ) -> Result<Vec<TransactionReceipt>, OnboardError> {
        let mut receipts = self.landed(ledger.sent()).await?;
        let first = !receipts.iter().any(TransactionReceipt::status);
        let lacking = self.lacking(means, first).await?;
        if !lacking.calls.is_empty() || lacking.upgrade {
            let calls = &lacking.calls;
            let spends = calls.iter().fold(U256::ZERO, |sum, call| sum.saturating_add(call.value));
            let mut outgoing =
                self.eoa().own_outgoing(self.node, self.owner, calls, self.ceiling).await?;
            outgoing.spends = spends;
            let signed = sign(self.node, self.owner, outgoing).await?;
            // Kept before anybody has it: whatever happens next, it is looked for and not made again.
            ledger.sends(&signed.raw, now).await?;
            let receipt = self.node.send(&signed).await?;
            if !receipt.status() {
                return Err(OwnerError::Failed { hash: receipt.transaction_hash }.into());
            }
            receipts.push(receipt);
            // Believe the chain, not the receipt: a void authorization fails silently, and a call to an account without
            // code succeeds.
            let left = self.lacking(means, false).await?;
            if left.upgrade {
                return Err(OwnerError::NotUpgraded { account: self.owner.address() }.into());
            }
            if !left.calls.is_empty() {
                return Err(OnboardError::NotShown { what: "the Golem as it was registered" });
            }
        }
        Ok(receipts)
    }

    /// The identity that was registered along, where one was asked for.
    fn identified(&self, receipts: &[TransactionReceipt]) -> Result<Option<U256>, OnboardError> {
        let Some((at, _)) = &self.identity else { return Ok(None) };
        let found = receipts.iter().find_map(|one| registered(*at, self.owner.address(), one));
        found.map(Some).ok_or(OnboardError::NotShown { what: "the identity" })
    }
}
