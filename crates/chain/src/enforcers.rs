use bardo_bindings::{
    cadence_enforcer, enforcers, golem_charter_enforcer, holdings_enforcer,
    replicant_budget_enforcer,
};
use golem_delegation::bundles::Enforcers;

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
