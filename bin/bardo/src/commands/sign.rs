use super::attenuates::within;
use crate::{
    answer::{Answer, Failure},
    cli::SignArgs,
    input,
};
use golem_chain::environment;
use golem_custody::OwnerSigner;
use golem_delegation::{ANY_DELEGATE, Delegation, SigningDomain};
use serde_json::json;
use std::io::{Write, stderr};

/// `bardo delegation sign`
pub(crate) fn sign(args: &SignArgs) -> Result<Answer, Failure> {
    let delegation = input::delegation(&args.file)?;
    if !args.unbounded
        && let Some(reason) = unbounded(&delegation)
    {
        let reason = format!("{reason}; sign it with --unbounded if that is what you want");
        return Ok(Answer::no(json!({ "signed": false, "reason": reason }), reason));
    }
    if let Some(parent) = &args.parent {
        let verdict = within(&input::delegations(parent)?, &delegation);
        if !verdict.yes {
            return Ok(verdict);
        }
    }
    let owner = input::owner(&args.key)?;
    for warning in malformed(&delegation).into_iter().chain(strange(&owner, &delegation)) {
        let _ = writeln!(stderr(), "bardo: {warning}");
    }
    let domain = SigningDomain { chain_id: args.domain.chain_id, manager: args.domain.manager };
    let signed = owner.grant(&domain, delegation)?;
    let json = serde_json::to_value(&signed)?;
    let text = serde_json::to_string_pretty(&signed)?;
    Ok(Answer::yes(json, text))
}

/// A signature by this key is good for a smart account alone.
fn strange(owner: &OwnerSigner, delegation: &Delegation) -> Option<String> {
    let (key, delegator) = (owner.address(), delegation.delegator);
    (key != delegator).then(|| {
        format!("the key {key} is not the delegator {delegator}: good only where it owns that smart account")
    })
}

/// Terms that their enforcer always refuses: no money is at risk, but whoever signs them meant something.
fn malformed(delegation: &Delegation) -> Option<String> {
    let environment = environment();
    let refused = (1..).zip(&delegation.caveats).find_map(|(number, caveat)| {
        Some((number, environment.kind(caveat.enforcer)?, environment.read(caveat).err()?))
    });
    refused.map(|(number, kind, error)| {
        format!("nothing can be done under this grant: caveat {number} ({kind}): {error}; `bardo caveat encode` writes terms")
    })
}

/// ATK-11: authority without bounds is not given by accident, nor any that nobody could use.
fn unbounded(delegation: &Delegation) -> Option<&'static str> {
    if delegation.delegate.is_zero() {
        return Some("nobody could ever redeem this delegation: it names no delegate");
    }
    if delegation.caveats.iter().any(|caveat| caveat.enforcer.is_zero()) {
        return Some("nobody could ever redeem this delegation: a caveat names no enforcer");
    }
    if delegation.delegate == ANY_DELEGATE {
        return Some("whoever sees this delegation could redeem it");
    }
    delegation.caveats.is_empty().then_some("this delegation has no caveats: it allows everything")
}
