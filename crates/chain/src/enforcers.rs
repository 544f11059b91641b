use bardo_bindings::{
    cadence_enforcer, daily_spend_limit_enforcer, dream_mode_enforcer, emotional_state_enforcer,
    framework::{DELEGATION_MANAGER, ENTRY_POINT},
    golem_charter_enforcer, golem_phase_enforcer, holdings_enforcer, knowledge_royalty_enforcer,
    max_slippage_enforcer, mortality_time_window_enforcer, replicant_budget_enforcer,
    threshold_enforcer, vault_nav_enforcer,
};
use golem_delegation::{Environment, Kind, bundles::Enforcers, enforcers};

/// Where the enforcers of bundles are, on every chain.
#[must_use]
pub fn bundle_enforcers() -> Enforcers {
    Enforcers {
        golem_charter: golem_charter_enforcer(),
        holdings: holdings_enforcer(),
        cadence: cadence_enforcer(),
        replicant_budget: replicant_budget_enforcer(),
        redeemer: enforcers::REDEEMER,
        allowed_targets: enforcers::ALLOWED_TARGETS,
        allowed_methods: enforcers::ALLOWED_METHODS,
        allowed_calldata: enforcers::ALLOWED_CALLDATA,
    }
}

/// Every enforcer that is known, stock and ours, where it is on every chain.
///
/// ```
/// use golem_delegation::Kind;
/// let environment = golem_chain::environment();
/// assert!(Kind::ALL.iter().all(|kind| environment.enforcer(*kind).is_some()));
/// ```
#[must_use]
pub fn environment() -> Environment {
    let ours = [
        (Kind::Cadence, cadence_enforcer()),
        (Kind::DailySpendLimit, daily_spend_limit_enforcer()),
        (Kind::DreamMode, dream_mode_enforcer()),
        (Kind::EmotionalState, emotional_state_enforcer()),
        (Kind::GolemCharter, golem_charter_enforcer()),
        (Kind::GolemPhase, golem_phase_enforcer()),
        (Kind::Holdings, holdings_enforcer()),
        (Kind::KnowledgeRoyalty, knowledge_royalty_enforcer()),
        (Kind::MaxSlippage, max_slippage_enforcer()),
        (Kind::MortalityTimeWindow, mortality_time_window_enforcer()),
        (Kind::ReplicantBudget, replicant_budget_enforcer()),
        (Kind::Threshold, threshold_enforcer()),
        (Kind::VaultNav, vault_nav_enforcer()),
    ];
    let enforcers = ours
        .into_iter()
        .fold(Environment::stock(), |all, (kind, enforcer)| all.with(kind, enforcer));
    enforcers.beside(DELEGATION_MANAGER).beside(ENTRY_POINT)
}
