use crate::{
    answer::{Answer, Failure},
    cli::DeployArgs,
    input,
};
use bardo_bindings::deployables;
use golem_chain::{DeployError, Deployed, Node, Presence, inspect};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

/// `bardo deploy`
pub(crate) async fn deploy(args: &DeployArgs) -> Result<Answer, Failure> {
    // A missing key is the caller's to mend, and needs no node to be seen.
    let signer = if args.check { None } else { Some(input::owner(&args.key)?) };
    let node = args.send.connect().await?;
    let chain_id = node.chain_id();
    let name = input::chains()?
        .of(chain_id)
        .map_or_else(|| "unnamed chain".to_owned(), |chain| chain.name.clone());
    let Some(signer) = signer else { return check(&node, &name).await };
    let ceiling = args.send.ceiling(&node)?;

    let contracts = deployables();
    // Drawn on standard error, and only where that is a terminal.
    let bar = ProgressBar::new(u64::try_from(contracts.len())?);
    bar.set_style(ProgressStyle::with_template("{bar:24} {pos}/{len} {msg}")?);
    let mut book: Vec<Deployed> = Vec::new();
    for contract in contracts {
        bar.set_message(contract.name);
        match golem_chain::deploy(&node, &signer, contract, ceiling).await {
            Ok(deployed) => book.push(deployed),
            Err(error @ DeployError::Mismatch { .. }) => {
                bar.finish_and_clear();
                return Ok(mismatch(&error));
            }
            Err(error) => return Err(error.into()),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();

    let mut text = format!("{name} ({chain_id})\n");
    for line in &book {
        let word = if line.created {
            format!("deployed, {} gas", line.gas_used)
        } else {
            "there, verified".to_owned()
        };
        text.push_str(&format!("  {:<32} {}  {word}\n", line.name, line.address));
    }
    Ok(Answer::yes(json!({ "chainId": chain_id, "chain": name, "contracts": book }), text))
}

async fn check(node: &Node, name: &str) -> Result<Answer, Failure> {
    let chain_id = node.chain_id();
    let mut text = format!("{name} ({chain_id})\n");
    let mut rows = Vec::new();
    let mut complete = true;
    for contract in deployables() {
        let presence = match inspect(node, contract).await {
            Ok(presence) => presence,
            Err(error @ DeployError::Mismatch { .. }) => return Ok(mismatch(&error)),
            Err(error) => return Err(error.into()),
        };
        complete &= presence == Presence::Verified;
        let word = match presence {
            Presence::Verified => "there, verified",
            Presence::Absent => "not deployed",
        };
        text.push_str(&format!("  {:<32} {}  {word}\n", contract.name, contract.address));
        rows.push(json!({
            "name": contract.name, "address": contract.address, "presence": presence,
        }));
    }
    let json = json!({ "chainId": chain_id, "chain": name, "contracts": rows });
    Ok(if complete { Answer::yes(json, text) } else { Answer::no(json, text) })
}

/// Somebody else's code at our address: nothing is sent, and it is not papered over.
fn mismatch(error: &DeployError) -> Answer {
    let reason = format!("{error}; nothing was sent for it");
    Answer::no(json!({ "reason": reason }), reason)
}
