use crate::{
    answer::{Answer, Failure},
    cli::RedeemArgs,
    commands::simulate::{fault, redemption, refused},
    input,
};
use golem_chain::Foresight;
use golem_custody::{Clearance, ClearingPolicy, SessionSigner, Submit, clear};
use serde_json::json;
use std::{
    io::{Write, stderr},
    time::Duration,
};

/// `bardo delegation redeem`
pub(crate) async fn redeem(args: &RedeemArgs) -> Result<Answer, Failure> {
    let redemption = redemption(&args.call)?;
    let key = input::session(&args.secret)?;
    let node = args.call.node.connect().await?.with_patience(Duration::from_secs(args.timeout));
    let mut policy = ClearingPolicy::default();
    if let Some(ceiling) = args.fee_ceiling {
        policy.fee_ceiling = ceiling;
    }

    let cleared =
        match clear(&Foresight::new(node.clone()), redemption, key.address(), &policy).await? {
            Clearance::Granted(cleared) => cleared,
            Clearance::Refused(denial) => return refused(&denial),
        };
    // The chain's clock is the one the clearance was made by.
    let now = node.head().await?.timestamp;
    let signed = key.sign(cleared, now).await?;
    // Whatever happens next, the sender can look it up.
    writeln!(stderr(), "sending {}", signed.hash)?;
    let receipt = node.submit(&signed).await.map_err(fault)?;
    let json = json!({
        "transaction": receipt.hash,
        "success": receipt.success,
        "gasUsed": receipt.gas_used,
        "block": receipt.block_number,
    });
    Ok(if receipt.success {
        let text = format!("done: {} ({} gas)", receipt.hash, receipt.gas_used);
        Answer::yes(json, text)
    } else {
        let text = format!("allowed by the dry run, but failed on chain: {}", receipt.hash);
        Answer::no(json, text)
    })
}
