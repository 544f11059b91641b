//! What a dead Golem held under a grant, brought to its end on the chain (SPEC K8, D18).
//!
//! ```text
//! liquidity ──► tokens ──┐
//! vault shares ──► asset ┼─► settlement asset ──► allowances to zero ──► home ──► settle, close ──► keys wiped
//! coins ──► wrapped ─────┘   what has no price    asked for, pair by pair  transfers need no price
//!                            stays what it is
//! ```
//!
//! Everything the account does goes the whole way of an intent: cage, dry run, books, one key's queue. What is to be done is read
//! from the chain each time, so that what was done is not done again; what was set out to be done is written down before it
//! is, so that a process that ended in between is told by the books what became of it.

mod closing;
mod homecoming;
mod journal;

use crate::{Landing, Lane, LaneFault, Ledger, Node, Registry, facts};
use alloy::primitives::{Address, B256, U256};
use async_trait::async_trait;
use bardo_bindings::{
    GolemLifecycle, framework::DELEGATION_MANAGER, golem_charter_enforcer, golem_lifecycle,
};
use golem_custody::{
    Asset, BoxError, BroughtHome, Denial, DenialCode, Effect, Execution, Holding, IntentId, Judged,
    Judgement, Keys, Leftover, Positions, Proposed, Redemption, RegistryUpdate, Says,
    SessionSigner, SettledPosition, Steps, SweepOrder, Undertaker,
};
use golem_delegation::{
    PermissionContext,
    grant::Phase,
    terms::{Class, GolemCharter, Role},
};
use golem_safety::{Cage, Call, MicroDollars, role_of};
use journal::Journal;
use std::collections::BTreeSet;

/// Settles what a Golem held under a grant, in the modes Delegation and LocalKey.
///
/// The registry has to say that the Golem is in its Terminal phase before: the charter lets nothing settle that is not dying.
#[expect(missing_debug_implementations, reason = "it leads to keys (INV-2)")]
pub struct GrantedEstate<'a, K> {
    lane: &'a Lane<K>,
    cage: &'a Cage,
    keys: &'a Keys,
    steps: &'a dyn Steps,
    context: PermissionContext,
    charter: GolemCharter,
    paid_in: BTreeSet<Address>,
}

/// An estate cannot be settled: nobody knows by which rules.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstateError {
    /// The grant has no charter that can be read, or more than one.
    #[error("the grant has no charter of its own to settle by; nothing was done")]
    NoCharter,
}

/// Why something is not gone through with.
#[derive(Debug)]
enum Stop {
    /// It is asked for again later.
    Halted(Denial),
    Fault(BoxError),
}

impl<E: Into<BoxError>> From<E> for Stop {
    fn from(fault: E) -> Self {
        Self::Fault(fault.into())
    }
}

/// Something that the account does as a whole or not at all.
#[derive(Clone, Debug)]
struct Deed {
    /// Part of its name, and its words in the books.
    what: String,
    /// What it ends.
    ends: Vec<(Holding, U256)>,
    calls: Vec<Execution>,
}

/// Why a deed was not done: for this one alone.
#[derive(Clone, Debug)]
struct Undone {
    reason: String,
    transaction: Option<B256>,
}

impl Undone {
    /// Of a contract that does not answer.
    fn silent() -> Self {
        let reason = "it does not say how much of it the account has".to_owned();
        Self { reason, transaction: None }
    }
}

impl<'a, K: SessionSigner> GrantedEstate<'a, K> {
    /// Of a Golem that acted under `context` by way of `lane`. `steps` keep what was set out to be done.
    pub fn new(
        context: PermissionContext,
        lane: &'a Lane<K>,
        cage: &'a Cage,
        keys: &'a Keys,
        steps: &'a dyn Steps,
    ) -> Result<Self, EstateError> {
        let root = context.root();
        let mut terms =
            root.caveats.iter().filter(|caveat| caveat.enforcer == golem_charter_enforcer());
        let (Some(only), None) = (terms.next(), terms.next()) else {
            return Err(EstateError::NoCharter);
        };
        let charter =
            GolemCharter::decode(&only.terms).map_err(|_malformed| EstateError::NoCharter)?;
        let paid_in = BTreeSet::new();
        Ok(Self { lane, cage, keys, steps, context, charter, paid_in })
    }

    /// The same, where the key itself may have been paid in these tokens too: what is left of them is the owner's (SPEC D25).
    #[must_use]
    pub fn paid_in(mut self, tokens: impl IntoIterator<Item = Address>) -> Self {
        self.paid_in.extend(tokens);
        self
    }

    fn node(&self) -> &Node {
        self.lane.foresight.node()
    }

    const fn account(&self) -> Address {
        self.charter.account
    }

    /// All that has a role in the charter's listing and one of these.
    fn listed(&self, roles: &[Role]) -> BTreeSet<Address> {
        let listing = &self.charter.listing;
        let tokens = listing.tokens.iter().map(|entry| entry.token);
        let all = tokens.chain(listing.targets.iter().map(|entry| entry.target));
        let has = |at: &Address| role_of(listing, *at).is_some_and(|role| roles.contains(&role));
        all.filter(|at| !at.is_zero() && has(at)).collect()
    }

    /// Tokens that can be called and are no shares.
    fn tokens(&self) -> BTreeSet<Address> {
        self.listed(&[Role::Token, Role::Weth])
    }

    const fn may(&self, class: Class) -> bool {
        self.charter.classes.contains(class)
    }

    /// Whether what is in the account goes elsewhere at the end: an EOA that is its own beneficiary has it already.
    fn sweeps(&self) -> bool {
        let Self { charter: GolemCharter { account, beneficiary, .. }, .. } = self;
        !beneficiary.is_zero() && beneficiary != account && self.may(Class::Transfer)
    }

    /// Waits for what was signed before: what it did is seen in the chain when this returns.
    async fn looks_back(&self) -> Result<(), Stop> {
        for (_intent, end) in self.lane.finish().await {
            match end {
                // It is known what became of these; or the next one takes its place.
                Ok(_)
                | Err(
                    LaneFault::Displaced { .. }
                    | LaneFault::Unproven { .. }
                    | LaneFault::Forsaken { .. },
                ) => {}
                Err(fault) => return Err(fault.into()),
            }
        }
        Ok(())
    }

    /// Waits for the phase in which the charter lets a Golem settle. One that is closed is past it.
    async fn is_dying(&self) -> Result<(), Stop> {
        let entry = Registry::open(self.node()).await?.entry(self.charter.golem_id).await?;
        match entry {
            Some(entry) if entry.state.phase != Phase::Terminal && !entry.state.closed => {
                let reason = "the registry does not say yet that the Golem is in its last phase";
                Err(Stop::Halted(Denial::new(DenialCode::Phase, reason)))
            }
            _ => Ok(()),
        }
    }

    /// The first name for this that nothing had. What came of earlier ones is known, and the chain shows that it is still to be done.
    async fn name(&self, effect: IntentId, what: &str) -> Result<IntentId, Stop> {
        let mut name = effect.part(what);
        while self.lane.mandate.books.ended(name).await?.is_some() {
            name = name.again();
        }
        Ok(name)
    }

    /// Brings a deed the whole way of an intent.
    async fn does(&self, effect: IntentId, deed: &Deed) -> Result<Result<(), Undone>, Stop> {
        let name = self.name(effect, &deed.what).await?;
        let now = (self.lane.clock)();
        let spent = self.lane.mandate.books.spent(self.lane.sender(), now).await?;
        let ledger = Ledger {
            spent_in_session: MicroDollars::from(spent.session),
            spent_in_day: MicroDollars::from(spent.day),
            is_settling: true,
            ..Ledger::default()
        };
        let typed: Vec<Call> = deed.calls.iter().map(call).collect();
        let facts = facts(self.node(), &self.charter, &typed, ledger).await?;
        let context = self.context.clone();
        let redemption = Redemption::of(DELEGATION_MANAGER, context, &deed.calls);
        let proposed = Proposed::new(name, redemption).about(format!("settlement: {}", deed.what));
        let judged = match proposed.judge(self.cage, &facts) {
            Judgement::Permitted(judged) => judged,
            Judgement::Refused(denials) => {
                let reasons: Vec<_> = denials.iter().map(ToString::to_string).collect();
                return Ok(Err(Undone { reason: reasons.join("; "), transaction: None }));
            }
        };
        self.journal().sets_out(effect, name, &deed.ends, now).await?;
        landed(self.lane.redeem(judged).await?)
    }

    /// Does all of these at once, or those of them that can be done: one that cannot does not hold up the rest.
    async fn does_all(
        &self,
        effect: IntentId,
        what: &str,
        deeds: Vec<Deed>,
    ) -> Result<Vec<(Deed, Undone)>, Stop> {
        let mut undone = Vec::new();
        for some in deeds.chunks(golem_safety::MOST_CALLS) {
            if some.len() > 1 {
                let whole = Deed {
                    what: what.to_owned(),
                    ends: some.iter().flat_map(|deed| deed.ends.clone()).collect(),
                    calls: some.iter().flat_map(|deed| deed.calls.clone()).collect(),
                };
                if self.does(effect, &whole).await?.is_ok() {
                    continue;
                }
            }
            for deed in some {
                if let Err(why) = self.does(effect, deed).await? {
                    undone.push((deed.clone(), why));
                }
            }
        }
        Ok(undone)
    }

    /// What the key does in its own name.
    async fn sends_own(
        &self,
        effect: IntentId,
        (of, asset, amount): (Holding, Asset, U256),
    ) -> Result<Result<(), Undone>, Stop> {
        let name = self.name(effect, &format!("own {of:?}")).await?;
        self.journal().sets_out(effect, name, &[(of, amount)], (self.lane.clock)()).await?;
        let leftover = Leftover { to: self.charter.owner, asset, amount };
        landed(self.lane.redeem(Judged::leftover(name, leftover)).await?)
    }

    const fn journal(&self) -> Journal<'_> {
        Journal { steps: self.steps }
    }

    /// All that was ended under an effect, by this process or another.
    async fn ended(&self, effect: IntentId) -> Result<Vec<SettledPosition>, Stop> {
        Ok(self.journal().ended(effect, self.lane.mandate.books.as_ref()).await?)
    }

    async fn settles(&self, effect: IntentId, manifest: B256) -> Result<(), Stop> {
        self.looks_back().await?;
        let golem = self.charter.golem_id;
        let known = GolemLifecycle::manifestOfCall { account: self.account(), golemId: golem };
        let listed = self.listed(&[Role::Lifecycle]).contains(&golem_lifecycle());
        if listed && self.node().read(golem_lifecycle(), known).await?.is_zero() {
            self.is_dying().await?;
            let settle = GolemLifecycle::settleCall { golemId: golem, manifestHash: manifest };
            let deed = Deed {
                what: "settle".to_owned(),
                ends: Vec::new(),
                calls: vec![execution(golem_lifecycle(), &settle)],
            };
            // Under a grant that has ended the account says nothing any more. The key still does.
            let _: Result<(), Undone> = self.does(effect, &deed).await?;
        }
        let registry = Registry::open(self.node()).await?;
        let entry = registry.entry(golem).await?;
        let speaks = entry.is_some_and(|entry| {
            !entry.state.closed && entry.agent_key == Some(self.lane.sender())
        });
        if speaks {
            let name = self.name(effect, "close").await?;
            let died = RegistryUpdate { golem, says: Says::Died };
            let landing = self.lane.redeem(Judged::said(name, died)).await?;
            if let Err(undone) = landed(landing)? {
                return Err(Stop::Fault(undone.reason.into()));
            }
        }
        self.empties_purse(effect).await
    }
}

#[async_trait]
impl<K: SessionSigner> Undertaker for GrantedEstate<'_, K> {
    async fn close_positions(&self, effect: IntentId) -> Result<Effect<Positions>, BoxError> {
        effected(self.closes(effect).await)
    }

    async fn zero_allowances(&self, effect: IntentId) -> Result<Effect<()>, BoxError> {
        effected(self.disallows(effect).await)
    }

    async fn bring_home(
        &self,
        effect: IntentId,
        order: &SweepOrder,
    ) -> Result<Effect<BroughtHome>, BoxError> {
        effected(self.brings_home(effect, order).await.map(BroughtHome::Leftovers))
    }

    async fn close_registry(
        &self,
        effect: IntentId,
        settlement: B256,
    ) -> Result<Effect<()>, BoxError> {
        effected(self.settles(effect, settlement).await)
    }

    async fn end_keys(&self) -> Result<(), BoxError> {
        self.keys.end().await
    }
}

fn effected<T>(made: Result<T, Stop>) -> Result<Effect<T>, BoxError> {
    match made {
        Ok(done) => Ok(Effect::Done(done)),
        Err(Stop::Halted(denial)) => Ok(Effect::Halted(denial)),
        Err(Stop::Fault(fault)) => Err(fault),
    }
}

/// What a landing means. A refusal that every other deed would meet as well is a wait; one of this deed is its own.
fn landed(landing: Landing) -> Result<Result<(), Undone>, Stop> {
    match landing {
        Landing::Done(_receipt) => Ok(Ok(())),
        Landing::Refused(denial) if is_about_all(denial.code) => Err(Stop::Halted(denial)),
        Landing::Refused(denial) => {
            Ok(Err(Undone { reason: denial.to_string(), transaction: None }))
        }
        Landing::Failed { receipt, cause } => {
            Ok(Err(Undone { reason: cause.to_string(), transaction: Some(receipt.hash) }))
        }
    }
}

/// Whether time or the owner undoes what stands in the way, and in the way of everything.
const fn is_about_all(code: DenialCode) -> bool {
    matches!(
        code,
        DenialCode::NoGas | DenialCode::FeeCeiling | DenialCode::Paused | DenialCode::Dreaming
    )
}

fn call(execution: &Execution) -> Call {
    let Execution { target, value, data } = execution.clone();
    Call { target, value, data }
}

fn execution<C: alloy::sol_types::SolCall>(target: Address, call: &C) -> Execution {
    Execution { target, value: U256::ZERO, data: call.abi_encode().into() }
}
