use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::{Revert, SolError, SolInterface},
};
use bardo_bindings::{
    MortalityTimeWindowEnforcer::MortalityTimeWindowEnforcerErrors as WindowError, enforcers,
    framework::DelegationManager::DelegationManagerErrors as ManagerError,
    mortality_time_window_enforcer,
};
use golem_custody::{Denial, DenialCode};
use golem_delegation::{
    PermissionContext,
    terms::{AllowedTargets, LimitedCalls, Redeemer, Timestamp, ValueLte},
};
use std::time::{Duration, UNIX_EPOCH};

/// Says in plain words why the chain refused, with the bound the owner signed.
///
/// What is not recognised is still a refusal: the revert data is shown as it came. The words are
/// as good as the data: a target that reverts with the manager's own errors is taken for it.
#[must_use]
pub fn explain_revert(data: &Bytes, context: &PermissionContext) -> Denial {
    if data.is_empty() {
        return Denial::new(
            DenialCode::Reverted,
            "the call failed at its target, which gave no reason",
        );
    }
    if let Ok(error) = ManagerError::abi_decode(data) {
        return manager(&error);
    }
    if names(context, mortality_time_window_enforcer())
        && let Ok(error) = WindowError::abi_decode(data)
    {
        return window(&error);
    }
    if let Ok(revert) = Revert::abi_decode(data) {
        return stock(&revert.reason, context)
            .unwrap_or_else(|| Denial::new(DenialCode::Reverted, target_words(&revert.reason)));
    }
    Denial::new(DenialCode::Reverted, format!("the call failed at its target with data {data}"))
}

fn manager(error: &ManagerError) -> Denial {
    let (code, reason) = match error {
        ManagerError::CannotUseADisabledDelegation(_) => (
            DenialCode::DelegationDisabled,
            "the owner has revoked this delegation, or one it stands on",
        ),
        ManagerError::EnforcedPause(_) => {
            (DenialCode::Paused, "the DelegationManager is paused by its operator")
        }
        ManagerError::InvalidDelegate(_) => {
            (DenialCode::NotTheDelegate, "the redeemer is not the one the delegation names")
        }
        ManagerError::InvalidAuthority(_)
        | ManagerError::InvalidDelegator(_)
        | ManagerError::BatchDataLengthMismatch(_) => {
            (DenialCode::BrokenChain, "the delegations do not form a chain to the owner")
        }
        ManagerError::InvalidEOASignature(_)
        | ManagerError::InvalidERC1271Signature(_)
        | ManagerError::EmptySignature(_) => (
            DenialCode::Signature,
            "the delegator did not sign this delegation, on this chain, for this manager",
        ),
        _ => (DenialCode::BrokenChain, "the DelegationManager refused the delegation"),
    };
    Denial::new(code, reason)
}

fn window(error: &WindowError) -> Denial {
    let denial = match error {
        WindowError::MortalityTimeWindow_NotYetBorn(e) => Denial::new(
            DenialCode::WindowEarly,
            format!("the Golem's life begins at {}, it is {}", moment(e.start), moment(e.nowAt)),
        ),
        WindowError::MortalityTimeWindow_Expired(e) => Denial::new(
            DenialCode::WindowExpired,
            format!("the Golem's life ended at {}, it is {}", moment(e.end), moment(e.nowAt)),
        ),
        WindowError::MortalityTimeWindow_InvertedWindow(e) => Denial::new(
            DenialCode::Terms,
            format!("the grant's window ends at {}, before it starts at {}", e.end, e.start),
        ),
        WindowError::MortalityTimeWindow_TermsLength(e) => Denial::new(
            DenialCode::Terms,
            format!("the grant's window has {} bytes instead of {}", e.actual, e.expected),
        ),
        _ => Denial::new(DenialCode::Mode, "the time window judges plain calls and batches only"),
    };
    denial.by(mortality_time_window_enforcer(), "MortalityTimeWindowEnforcer")
}

/// Whether a link of the chain carries a caveat of `enforcer`. A target can revert with any data
/// it likes; it must not be able to speak for an enforcer that was not asked.
fn names(context: &PermissionContext, enforcer: Address) -> bool {
    context.links().iter().flat_map(|link| &link.caveats).any(|caveat| caveat.enforcer == enforcer)
}

/// Stock enforcers say `<Name>Enforcer:<reason>`; older ones only the contract's name.
fn stock(reason: &str, context: &PermissionContext) -> Option<Denial> {
    let name = reason.split(':').next()?;
    let (name, enforcer) = *enforcers::STOCK.iter().find(|(stock, _)| *stock == name)?;
    if !names(context, enforcer) {
        return None;
    }
    let terms = context
        .links()
        .iter()
        .flat_map(|link| &link.caveats)
        .find(|caveat| caveat.enforcer == enforcer)
        .map(|caveat| &caveat.terms)?;
    let (code, sentence) = match enforcer {
        enforcers::ALLOWED_TARGETS => (
            DenialCode::Target,
            match AllowedTargets::decode(terms) {
                Ok(AllowedTargets(list)) => format!("only these contracts may be called: {list:?}"),
                Err(_) => "that contract may not be called".into(),
            },
        ),
        enforcers::ALLOWED_METHODS => {
            (DenialCode::Method, "that function may not be called".into())
        }
        enforcers::ALLOWED_CALLDATA => (
            DenialCode::Calldata,
            "an argument of the call was fixed by the owner to another value".into(),
        ),
        enforcers::VALUE_LTE => (
            DenialCode::Value,
            match ValueLte::decode(terms) {
                Ok(ValueLte(wei)) => format!("the call may carry at most {wei} wei"),
                Err(_) => "the call carries too much native value".into(),
            },
        ),
        enforcers::LIMITED_CALLS => (
            DenialCode::Calls,
            match LimitedCalls::decode(terms) {
                Ok(LimitedCalls(calls)) => format!("all {calls} calls of this grant are used"),
                Err(_) => "all calls of this grant are used".into(),
            },
        ),
        enforcers::REDEEMER => (
            DenialCode::Redeemer,
            match Redeemer::decode(terms) {
                Ok(Redeemer(list)) => format!("only these may redeem: {list:?}"),
                Err(_) => "that account may not redeem".into(),
            },
        ),
        enforcers::TIMESTAMP => match Timestamp::decode(terms) {
            Ok(window) if reason.ends_with("early-delegation") => {
                (DenialCode::WindowEarly, format!("the grant begins after {}", window.after))
            }
            Ok(window) => {
                (DenialCode::WindowExpired, format!("the grant ended before {}", window.before))
            }
            Err(_) => (DenialCode::Terms, "the grant's time limits are malformed".into()),
        },
        _ => (DenialCode::OtherCaveat, "a limit of the grant does not allow it".into()),
    };
    // The contract's own words follow: they tell apart what one sentence of ours covers.
    Some(Denial::new(code, format!("{sentence} ({reason})")).by(enforcer, name))
}

fn target_words(reason: &str) -> String {
    format!("the call failed at its target, which said: {reason}")
}

/// A second of the chain's clock, for people and for programs.
fn moment(seconds: U256) -> String {
    u64::try_from(seconds)
        .ok()
        .and_then(|whole| UNIX_EPOCH.checked_add(Duration::from_secs(whole)))
        // Past the year 9999 there is no calendar to write it in.
        .filter(|_| seconds < U256::from(253_402_300_800u64))
        .map_or_else(
            || seconds.to_string(),
            |time| format!("{} ({seconds})", humantime::format_rfc3339_seconds(time)),
        )
}
