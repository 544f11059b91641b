//! What must hold for any bytes at all. The fuzz target runs this, and so do the stable tests.

use alloy::primitives::{Address, Bytes, U256};
use bardo_bindings::{
    cadence_enforcer, emotional_state_enforcer, golem_charter_enforcer, holdings_enforcer,
    knowledge_royalty_enforcer, mortality_time_window_enforcer, replicant_budget_enforcer,
    threshold_enforcer,
};
use golem_chain::explain_revert;
use golem_custody::DenialCode;
use golem_delegation::{Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, enforcers};

/// Longest reason that fits on a screen.
const REASON: usize = 500;

/// Whatever a chain answers is a refusal with a reason that a terminal can show; and who reverts cannot speak for a
/// rule that the grant does not carry.
pub(crate) fn revert(bytes: &[u8]) {
    let data = Bytes::copy_from_slice(bytes);
    let ours = [
        golem_charter_enforcer(),
        mortality_time_window_enforcer(),
        cadence_enforcer(),
        threshold_enforcer(),
        replicant_budget_enforcer(),
        holdings_enforcer(),
        emotional_state_enforcer(),
        knowledge_royalty_enforcer(),
    ];
    let stock = enforcers::STOCK.iter().map(|(_, enforcer)| *enforcer);
    let all: Vec<Address> = ours.into_iter().chain(stock).collect();
    let judged = explain_revert(&data, &under(&all));
    let bare = explain_revert(&data, &under(&[]));

    for denial in [&judged, &bare] {
        assert!(!denial.reason.is_empty());
        assert!(denial.reason.chars().count() < REASON, "{}", denial.reason);
        assert!(!denial.reason.chars().any(char::is_control), "{:?}", denial.reason);
    }
    assert_eq!(bare.enforcer, None, "{bare:?}");
    if judged.enforcer.is_some() {
        assert_eq!(bare.code, DenialCode::Reverted, "{bare:?}");
    }
    assert_eq!(explain_revert(&data, &under(&[])).reason, bare.reason);
}

fn under(enforcers: &[Address]) -> PermissionContext {
    let link = Delegation {
        delegate: Address::repeat_byte(1),
        delegator: Address::repeat_byte(2),
        authority: ROOT_AUTHORITY,
        caveats: enforcers.iter().map(|at| Caveat::new(*at, vec![0; 32])).collect(),
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    PermissionContext::new(vec![link]).unwrap()
}
