use super::sign::malformed;
use crate::{
    answer::{Answer, Failure},
    cli::VerifyArgs,
    input,
};
use alloy::primitives::{Address, B256};
use golem_delegation::{Delegation, PasskeyOwner, PermissionContext, SigningDomain};
use serde_json::{Value, json};
use std::io::{Write, stderr};

/// Whose signature it is.
#[derive(Clone, Copy)]
enum By {
    Key(Address),
    Passkey(B256),
}

/// `bardo delegation verify`
pub(crate) fn verify(args: &VerifyArgs) -> Result<Answer, Failure> {
    let links = input::links(&args.file)?;
    // ATK-10: a list that is no chain costs no signature.
    if links.len() > 1
        && let Err(error) = PermissionContext::new(links.clone())
    {
        let reason = error.to_string();
        return Ok(Answer::no(json!({ "valid": false, "reason": reason }), reason));
    }
    // A good signature under terms that are none: whoever asks should know, though it is not what he asked.
    for (words, _) in links.iter().filter_map(malformed) {
        let _ = writeln!(stderr(), "bardo: {words}");
    }
    let checked: Vec<(Delegation, Result<By, String>)> = links
        .iter()
        .enumerate()
        .map(|(index, link)| {
            // What was said of an owner is said of the root's, or of the only one there is.
            let is_owners = index + 1 == links.len();
            (link.clone(), signed(args, link, is_owners))
        })
        .collect();
    if let [(only, verdict)] = checked.as_slice() {
        return Ok(answer(verdict.is_ok(), row(only, verdict), &line(only, verdict)));
    }
    let valid = checked.iter().all(|(_, verdict)| verdict.is_ok());
    let rows: Vec<Value> = checked.iter().map(|(link, verdict)| row(link, verdict)).collect();
    let lines: Vec<String> = checked
        .iter()
        .enumerate()
        .map(|(index, (link, verdict))| format!("link {index}: {}", line(link, verdict)))
        .collect();
    Ok(answer(valid, json!({ "valid": valid, "links": rows }), &lines.join("\n")))
}

/// By whom a link is signed, or why it is not.
fn signed(args: &VerifyArgs, link: &Delegation, is_owners: bool) -> Result<By, String> {
    let domain = SigningDomain { chain_id: args.domain.chain_id, manager: args.domain.manager };
    if let Some(owner) = passkey(args).filter(|_| is_owners) {
        let verdict = domain.verify_passkey(link, &owner);
        return verdict.map(|()| By::Passkey(owner.key_id_hash)).map_err(|error| error.to_string());
    }
    let signer = args.signer.filter(|_| is_owners).unwrap_or(link.delegator);
    let verdict = domain.verify(link, signer);
    verdict.map(|()| By::Key(signer)).map_err(|error| error.to_string())
}

fn passkey(args: &VerifyArgs) -> Option<PasskeyOwner> {
    let mut owner = args.passkey?;
    if let Some(id) = &args.relying_party {
        owner = owner.of_relying_party(id);
    }
    if args.user_verified {
        owner = owner.verified();
    }
    Some(owner)
}

fn row(link: &Delegation, verdict: &Result<By, String>) -> Value {
    let hash = link.hash();
    match verdict {
        Ok(By::Key(signer)) => json!({ "valid": true, "hash": hash, "signer": signer }),
        Ok(By::Passkey(key)) => json!({ "valid": true, "hash": hash, "passkey": key }),
        Err(reason) => json!({ "valid": false, "hash": hash, "reason": reason }),
    }
}

fn line(link: &Delegation, verdict: &Result<By, String>) -> String {
    match verdict {
        Ok(By::Key(signer)) => format!("{} is signed by {signer}", link.hash()),
        Ok(By::Passkey(key)) => format!("{} is signed by the passkey {key}", link.hash()),
        Err(reason) => reason.clone(),
    }
}

fn answer(valid: bool, json: Value, text: &str) -> Answer {
    if valid { Answer::yes(json, text) } else { Answer::no(json, text) }
}
