mod beside;
mod rules;

use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::{Revert, SolError, SolInterface},
};
use bardo_bindings::framework::DelegationManager::DelegationManagerErrors as ManagerError;
use golem_custody::{Denial, DenialCode};
use golem_delegation::{
    PermissionContext, TermsError, enforcers,
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
    if let Some(denial) = beside::explain(data, context).or_else(|| rules::explain(data, context)) {
        return denial;
    }
    if let Ok(revert) = Revert::abi_decode(data) {
        let reason = printable(&revert.reason);
        return stock(&reason, context)
            .unwrap_or_else(|| Denial::new(DenialCode::Reverted, target_words(&reason)));
    }
    Denial::new(
        DenialCode::Reverted,
        format!("the call failed at its target with data {}", printable(&data.to_string())),
    )
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

/// Whether a link of the chain carries a caveat of `enforcer`. A target can revert with any data
/// it likes; it must not be able to speak for an enforcer that was not asked.
fn names(context: &PermissionContext, enforcer: Address) -> bool {
    context.links().iter().flat_map(|link| &link.caveats).any(|caveat| caveat.enforcer == enforcer)
}

/// Stock enforcers say `<Name>Enforcer:<reason>`; what they share says `CaveatEnforcer:<reason>`.
///
/// Two caveats of one enforcer, on one link or on two, cannot be told apart by its words, so every
/// bound that may have been the one is shown.
fn stock(reason: &str, context: &PermissionContext) -> Option<Denial> {
    let (speaker, detail) = reason.split_once(':')?;
    if speaker == "CaveatEnforcer" {
        // The base of every stock enforcer; any caveat may have called it.
        let any = context.links().iter().any(|link| !link.caveats.is_empty());
        let words = format!("a limit of the grant does not judge this form of call ({reason})");
        return any.then(|| Denial::new(DenialCode::Mode, words));
    }
    let (name, enforcer) = *enforcers::STOCK.iter().find(|(stock, _)| *stock == speaker)?;
    let bounds: Vec<&Bytes> = context
        .links()
        .iter()
        .flat_map(|link| &link.caveats)
        .filter(|caveat| caveat.enforcer == enforcer)
        .map(|caveat| &caveat.terms)
        .collect();
    if bounds.is_empty() {
        return None;
    }
    let (code, sentence) = if detail.starts_with("invalid-terms") {
        (DenialCode::Terms, "a limit of the grant is malformed, so it refuses for ever".into())
    } else {
        words(enforcer, detail, &bounds)
    };
    // The contract's own words follow: they tell apart what one sentence of ours covers.
    Some(Denial::new(code, format!("{sentence} ({reason})")).by(enforcer, name))
}

/// The rule's code, and its bounds in a sentence.
fn words(enforcer: Address, detail: &str, bounds: &[&Bytes]) -> (DenialCode, String) {
    match enforcer {
        enforcers::ALLOWED_TARGETS => (
            DenialCode::Target,
            format!(
                "only these contracts may be called: {}",
                each(bounds, |terms| AllowedTargets::decode(terms)
                    .map(|AllowedTargets(list)| format!("{list:?}")))
            ),
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
            format!(
                "the call may carry at most {} wei",
                each(bounds, |terms| ValueLte::decode(terms).map(|ValueLte(wei)| wei.to_string()))
            ),
        ),
        enforcers::LIMITED_CALLS => (
            DenialCode::Calls,
            format!(
                "all {} calls of this grant are used",
                each(bounds, |terms| LimitedCalls::decode(terms)
                    .map(|LimitedCalls(calls)| calls.to_string()))
            ),
        ),
        enforcers::REDEEMER => (
            DenialCode::Redeemer,
            format!(
                "only these may redeem: {}",
                each(bounds, |terms| Redeemer::decode(terms)
                    .map(|Redeemer(list)| format!("{list:?}")))
            ),
        ),
        enforcers::TIMESTAMP if detail == "early-delegation" => (
            DenialCode::WindowEarly,
            format!(
                "the grant begins after {}",
                each(bounds, |terms| Timestamp::decode(terms)
                    .map(|window| window.after.to_string()))
            ),
        ),
        enforcers::TIMESTAMP => (
            DenialCode::WindowExpired,
            format!(
                "the grant ended before {}",
                each(bounds, |terms| Timestamp::decode(terms)
                    .map(|window| window.before.to_string()))
            ),
        ),
        _ => (DenialCode::OtherCaveat, "a limit of the grant does not allow it".into()),
    }
}

/// The bound, or every one that it may have been.
fn each(bounds: &[&Bytes], show: impl Fn(&[u8]) -> Result<String, TermsError>) -> String {
    bounds
        .iter()
        .map(|terms| show(terms).unwrap_or_else(|error| error.to_string()))
        .collect::<Vec<_>>()
        .join(" or ")
}

/// Longest text of somebody else that is shown.
const MAX_WORDS: usize = 300;

/// Text of somebody else, as it may stand on a terminal: nothing in it can move the cursor, hide
/// itself or fill the screen.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut shown = String::new();
    let mut length = 0;
    for letter in text.chars() {
        let plain = !letter.is_control()
            && !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        // Escaped, a letter is several: what counts is what is shown.
        length += if plain { 1 } else { letter.escape_default().count() };
        if length > MAX_WORDS {
            shown.push('…');
            break;
        }
        if plain {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_default());
        }
    }
    shown
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
