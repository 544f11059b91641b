use super::attenuates::{chained, within};
use crate::{
    answer::{Answer, Failure},
    cli::SignArgs,
    input,
};
use golem_chain::environment;
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
    let owner = input::owner(&args.key)?;
    for warning in warnings(&owner, &delegation, args.parent.is_some()) {
        let _ = writeln!(stderr(), "bardo: {warning}");
    }
    let domain = SigningDomain { chain_id: args.domain.chain_id, manager: args.domain.manager };
    let signed = owner.grant(&domain, delegation)?;
    let json = serde_json::to_value(&signed)?;
    let text = serde_json::to_string_pretty(&signed)?;
    Ok(Answer::yes(json, text))
}

/// What is signed all the same, but may not be what was meant.
fn warnings(owner: &OwnerSigner, delegation: &Delegation, held_against: bool) -> Vec<String> {
    let mut all = Vec::new();
    if let Some((words, _)) = malformed(delegation) {
        all.push(format!("{words}; `bardo caveat encode` writes terms"));
    }
    let (key, delegator) = (owner.address(), delegation.delegator);
    if key != delegator {
        all.push(format!(
            "the key {key} is not the delegator {delegator}: good only where it owns that smart account"
        ));
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
