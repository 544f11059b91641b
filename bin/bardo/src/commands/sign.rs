use super::attenuates::{chained, within};
use crate::{
    answer::{Answer, Failure},
    cli::SignArgs,
    input,
};
use alloy::primitives::Address;
use anyhow::anyhow;
use golem_chain::{SharedAccount, environment};
use golem_custody::OwnerSigner;
use golem_delegation::{ANY_DELEGATE, Caveat, Delegation, Rule, SigningDomain};
use serde_json::json;
use std::io::{Write, stderr};

/// `bardo delegation sign`
pub(crate) fn sign(args: &SignArgs) -> Result<Answer, Failure> {
    let delegation = input::delegation(&args.file)?;
    if !args.unbounded
        && let Some(reason) = unbounded(&delegation, args.parent.is_some())
    {
        let reason = format!("{reason}; sign it with --unbounded if that is what you want");
        return Ok(Answer::no(json!({ "signed": false, "reason": reason }), reason));
    }
    if let Some(parent) = &args.parent {
        let above = input::delegations(parent)?;
        if let Err(broken) = chained(&above, &delegation) {
            let reason = format!(
                "it does not stand on what --parent names ({broken}): give every link above it, the nearest first"
            );
            return Ok(Answer::no(json!({ "signed": false, "reason": reason }), reason));
        }
        let verdict = within(&above, &delegation);
        if !verdict.yes {
            return Ok(verdict);
        }
    }
    let mut keys = vec![input::owner(&args.key)?];
    keys.extend(input::co_owners(&args.co_keys)?);
    let owners = together(&keys, delegation.delegator)?;
    for warning in warnings(&owners, &delegation, args.parent.is_some()) {
        let _ = writeln!(stderr(), "bardo: {warning}");
    }
    let domain = SigningDomain { chain_id: args.domain.chain_id, manager: args.domain.manager };
    let signed = match keys.as_slice() {
        [owner] => owner.grant(&domain, delegation)?,
        keys => owners.grant(&domain, keys, delegation)?,
    };
    let json = serde_json::to_value(&signed)?;
    let text = serde_json::to_string_pretty(&signed)?;
    Ok(Answer::yes(json, text))
}

/// Whoever rules the delegator, if all of these keys must agree there.
fn together(keys: &[OwnerSigner], delegator: Address) -> Result<SharedAccount, Failure> {
    let mut signers: Vec<Address> = keys.iter().map(OwnerSigner::address).collect();
    signers.sort_unstable();
    signers.dedup();
    if signers.len() < keys.len() {
        return Err(Failure::Use(anyhow!("the same key twice is one signature")));
    }
    Ok(SharedAccount { address: delegator, threshold: signers.len(), signers })
}

/// What is signed all the same, but may not be what was meant.
fn warnings(owners: &SharedAccount, delegation: &Delegation, held_against: bool) -> Vec<String> {
    let mut all = Vec::new();
    if let Some((words, _)) = malformed(delegation) {
        all.push(format!("{words}; `bardo caveat encode` writes terms"));
    }
    let delegator = delegation.delegator;
    match owners.signers.as_slice() {
        [key] if *key != delegator => all.push(format!(
            "the key {key} is not the delegator {delegator}: good only where it owns that smart account"
        )),
        [_] => {}
        keys => all.push(format!(
            "good only where {delegator} is a MultiSig account of these keys that needs exactly {} of them",
            keys.len()
        )),
    }
    if !delegation.is_root() && !held_against {
        all.push(format!(
            "nobody checked that it stays within {}: give the links above it with --parent",
            delegation.authority
        ));
    }
    all
}

/// Terms that cannot be read, and whether their enforcer may allow something by them all the same.
pub(super) fn malformed(delegation: &Delegation) -> Option<(String, bool)> {
    let environment = environment();
    let mut found = (1..).zip(&delegation.caveats).filter_map(|(number, caveat)| {
        let (kind, error) = (environment.kind(caveat.enforcer)?, environment.read(caveat).err()?);
        let words = if error.is_final() {
            format!("nothing can be done under this grant: caveat {number} ({kind}): {error}")
        } else {
            format!("caveat {number} ({kind}) cannot be read here, and may allow anything: {error}")
        };
        Some((words, !error.is_final()))
    });
    // What may allow something matters more than what allows nothing.
    let first = found.next();
    match first {
        Some((_, true)) | None => first,
        Some((_, false)) => found.find(|(_, open)| *open).or(first),
    }
}

/// ATK-11: authority without bounds is not given by accident, nor any that nobody could use.
fn unbounded(delegation: &Delegation, inherits: bool) -> Option<String> {
    if let Some((words, true)) = malformed(delegation) {
        return Some(words);
    }
    bare(delegation, inherits).map(str::to_owned)
}

fn bare(delegation: &Delegation, inherits: bool) -> Option<&'static str> {
    if delegation.delegate.is_zero() {
        return Some("nobody could ever redeem this delegation: it names no delegate");
    }
    if delegation.caveats.iter().any(|caveat| caveat.enforcer.is_zero()) {
        return Some("nobody could ever redeem this delegation: a caveat names no enforcer");
    }
    if delegation.delegate == ANY_DELEGATE {
        return Some("whoever sees this delegation could redeem it");
    }
    // Below others it is bound as they are.
    let own = !inherits || delegation.is_root();
    let environment = environment();
    // Whoever redeems says which group holds, and one without caveats always does.
    let empty = |caveat: &Caveat| match environment.read(caveat) {
        Ok(Rule::LogicalOrWrapper(groups)) => groups.0.iter().any(Vec::is_empty),
        _ => false,
    };
    let everything = own && delegation.caveats.iter().all(empty);
    everything.then_some("this delegation has no caveats: it allows everything")
}
