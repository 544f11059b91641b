use crate::{
    answer::{Answer, Failure},
    cli::VerifyArgs,
    input,
};
use golem_delegation::SigningDomain;
use serde_json::json;

/// `bardo delegation verify`
pub(crate) fn verify(args: &VerifyArgs) -> Result<Answer, Failure> {
    let delegation = input::delegation(&args.file)?;
    let domain = SigningDomain { chain_id: args.domain.chain_id, manager: args.domain.manager };
    let signer = args.signer.unwrap_or(delegation.delegator);
    let hash = delegation.hash();
    Ok(match domain.verify(&delegation, signer) {
        Ok(()) => Answer::yes(
            json!({ "valid": true, "hash": hash, "signer": signer }),
            format!("{hash} is signed by {signer}"),
        ),
        Err(error) => Answer::no(
            json!({ "valid": false, "hash": hash, "reason": error.to_string() }),
            error.to_string(),
        ),
    })
}
