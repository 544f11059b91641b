use super::{estate::Estate, moment};
use crate::{
    answer::{Answer, Failure},
    cli::KillArgs,
};
use bardo_bindings::{GolemRegistry, golem_registry};
use golem_chain::{OwnerCall, Registry};
use serde_json::json;

/// `bardo golem kill`: all that it may do ends on the chain; a process that is there is told why.
pub(super) async fn kill(args: &KillArgs) -> Result<Answer, Failure> {
    let estate = match Estate::in_need("killed", &args.data, &args.send, &args.key).await? {
        Ok(estate) => estate,
        Err(no) => return Ok(no),
    };
    let (node, golem, owner) = (&estate.node, estate.glance.golem, estate.signer.address());
    let registry = Registry::open(node).await?;
    let before = registry.entry(golem).await?;
    let ended = before.as_ref().is_some_and(|entry| {
        entry.state.closed
            || !entry.state.registered
            || entry.state.min_epoch > estate.charter.epoch
    });
    // Before the chain has it: a process that sees its grants end at once knows whose will that is. By itself the note ends nothing.
    estate.inbox.ask_end()?;
    let (transaction, after) = if ended {
        (None, before)
    } else {
        let call = GolemRegistry::revokeCall { golemId: golem };
        let call = OwnerCall::new(owner, golem_registry(), &call);
        let sent = call.send(node, &estate.signer, args.send.ceiling(node)?).await;
        if matches!(&sent, Err(error) if error.is_refusal()) {
            estate.inbox.take_back_end()?;
        }
        let receipt = sent?;
        (Some(receipt.transaction_hash), registry.entry_after(golem, &receipt).await?)
    };
    // Believe the chain, not the receipt.
    let least = after.as_ref().map_or(0, |entry| entry.state.min_epoch);
    let dead = ended || least > estate.charter.epoch;
    let json = json!({
        "killed": dead, "golem": golem, "minEpoch": least, "transaction": transaction,
        "runway": estate.glance.runway.as_ref().filter(|runway| runway.expires_at > estate.now).map(|runway| &runway.context),
    });
    if !dead {
        let text = "it is in a block, and the registry does not show that its grants ended";
        return Ok(Answer::no(json, text));
    }
    let first = transaction.map_or_else(
        || "its grants had ended before; nothing was sent".to_owned(),
        |hash| format!("every charter of {golem} is over: {hash}"),
    );
    // It has no charter, and is on his own wallet.
    let runway = estate.glance.runway.as_ref().filter(|runway| runway.expires_at > estate.now);
    let besides = runway.map_or_else(String::new, |runway| {
        format!(
            "\nYour wallet's grant for its running costs goes on until {}, and whoever has the key {} may use it: end it in your wallet, \
             or by `bardo delegation revoke --context FILE` with its context {}",
            moment(runway.expires_at),
            runway.session,
            runway.context
        )
    });
    let text = format!(
        "{first}{besides}\nIts process, if it is there, sees that within a block and dies. What it held is in {}:\n\
         `bardo vault withdraw` takes it out.",
        estate.file.account
    );
    Ok(Answer::yes(json, text))
}
