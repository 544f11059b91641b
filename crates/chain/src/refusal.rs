mod beside;
mod origin;
mod rules;
mod stock;
mod tokens;

use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::{Revert, SolError, SolInterface},
};
use bardo_bindings::framework::DelegationManager::DelegationManagerErrors as ManagerError;
use golem_custody::{Denial, DenialCode};
use golem_delegation::{Caveat, PermissionContext, enforcers, terms::LogicalOrWrapper};
pub(crate) use origin::{Failure, Frame, Lack};
use std::{
    iter,
    time::{Duration, UNIX_EPOCH},
};

/// Says in plain words why the chain refused, with the bound the owner signed.
///
/// What is not recognised is still a refusal: the revert data is shown as it came.
///
/// Data does not say who reverted with it. A target that reverts with an error of the manager, or of
/// an enforcer that the grant names, is taken for it; of two caveats of one enforcer both bounds are
/// shown; and a rule that several enforcers of the grant share is said in the name of one of them. A
/// dry run sees who it was and has none of these doubts.
#[must_use]
pub fn explain_revert(data: &Bytes, context: &PermissionContext) -> Denial {
    if let Some(denial) = explain_manager(data) {
        return denial;
    }
    enforcer(data, &asked(caveats(context))).unwrap_or_else(|| target(data))
}

/// What the manager said, where it is one of its own errors.
pub(crate) fn explain_manager(data: &Bytes) -> Option<Denial> {
    ManagerError::abi_decode(data).ok().map(|error| manager(&error))
}

/// What a caveat that was asked alone said.
pub(crate) fn explain_caveat(data: &Bytes, caveat: &Caveat) -> Option<Denial> {
    enforcer(data, &asked(iter::once(caveat)))
}

/// What one of the caveats that were asked says.
fn enforcer(data: &Bytes, asked: &[Caveat]) -> Option<Denial> {
    beside::explain(data, asked)
        .or_else(|| rules::explain(data, asked))
        .or_else(|| stock::explain_error(data, asked))
        .or_else(|| {
            let revert = Revert::abi_decode(data).ok()?;
            stock::explain(&printable(&revert.reason), asked)
        })
}

/// What anybody else says, in his own words.
fn target(data: &Bytes) -> Denial {
    let words = format!("the call failed at its target{}", said(data));
    Denial::new(DenialCode::Reverted, words)
}

/// The end of a sentence about somebody who reverted.
fn said(data: &Bytes) -> String {
    if data.is_empty() {
        ", which gave no reason".to_owned()
    } else if let Ok(revert) = Revert::abi_decode(data) {
        format!(", which said: {}", printable(&revert.reason))
    } else if let Some(words) = tokens::words(data) {
        format!(", which said that {words}")
    } else {
        format!(" with data {}", printable(&data.to_string()))
    }
}

fn manager(error: &ManagerError) -> Denial {
    let (code, reason) = match error {
        ManagerError::CannotUseADisabledDelegation(_) => (
            DenialCode::DelegationDisabled,
            "the owner has revoked this delegation, or one it stands on",
        ),
        ManagerError::AlreadyDisabled(_) => {
            (DenialCode::DelegationDisabled, "the owner has revoked this delegation before")
        }
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
        | ManagerError::EmptySignature(_) => return unsigned(),
        _ => (DenialCode::BrokenChain, "the DelegationManager refused the delegation"),
    };
    Denial::new(code, reason)
}

fn unsigned() -> Denial {
    let words = "the delegator, as it stands now, did not sign this delegation on this chain for this manager";
    Denial::new(DenialCode::Signature, words)
}

/// How deep groups within groups are looked into.
const MOST_DEEP: usize = 4;

fn caveats(context: &PermissionContext) -> impl Iterator<Item = &Caveat> {
    context.links().iter().flat_map(|link| &link.caveats)
}

/// Caveats of the groups that a `LogicalOrWrapperEnforcer` chooses from and asks itself.
fn grouped<'a>(caveats: impl Iterator<Item = &'a Caveat>, deep: usize) -> Vec<Caveat> {
    let mut found: Vec<Caveat> = caveats
        .filter(|caveat| caveat.enforcer == enforcers::LOGICAL_OR_WRAPPER)
        .filter_map(|wrapper| LogicalOrWrapper::decode(&wrapper.terms).ok())
        .flat_map(|LogicalOrWrapper(groups)| groups.into_iter().flatten())
        .collect();
    if let Some(deep) = deep.checked_sub(1) {
        found.extend(grouped(found.iter(), deep));
    }
    found
}

/// These caveats, and those that they may ask.
fn asked<'a>(caveats: impl Iterator<Item = &'a Caveat>) -> Vec<Caveat> {
    let mut all: Vec<Caveat> = caveats.cloned().collect();
    all.extend(grouped(all.iter(), MOST_DEEP));
    all
}

/// Whether `enforcer` may have been asked. A target can revert with any data it likes; it must not
/// be able to speak for an enforcer that was not asked.
fn names(asked: &[Caveat], enforcer: Address) -> bool {
    asked.iter().any(|caveat| caveat.enforcer == enforcer)
}

/// Longest text of somebody else that is shown.
const MAX_WORDS: usize = 300;

/// Text of somebody else, as it may stand on a terminal: nothing in it can move the cursor, hide
/// itself or fill the screen.
#[must_use]
pub fn printable(text: &str) -> String {
    shortened(text, MAX_WORDS)
}

fn shortened(text: &str, most: usize) -> String {
    let mut shown = String::new();
    let mut length = 0;
    for letter in text.chars() {
        let plain = !letter.is_control()
            && !matches!(letter, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        // Escaped, a letter is several: what counts is what is shown.
        length += if plain { 1 } else { letter.escape_default().count() };
        if length > most {
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
