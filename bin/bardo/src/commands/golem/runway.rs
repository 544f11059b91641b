//! The owner's grant for running costs, for the key that his Golem has now (SPEC D6a, D25, T2).

use super::{estate::Estate, moment, refused};
use crate::{
    answer::{Answer, Failure},
    cli::{RunwayArgs, RunwayRequestArgs},
    commands::onboard::runway,
    input,
};
use golem_custody::{Rotation, RunwayFor};
use golem_runtime::SentRunway;
use serde_json::json;

/// `bardo golem runway`: what to ask the wallet for, and what it granted.
pub(super) async fn runway(args: &RunwayArgs) -> Result<Answer, Failure> {
    const WHAT: &str = "done";
    let estate = match Estate::of(WHAT, &args.data, &args.send, &args.key).await? {
        Ok(estate) => estate,
        Err(no) => return Ok(no),
    };
    if let Some(over) = estate.is_over().await? {
        let reason =
            format!("{over}: it pays no running costs any more; nothing was asked or sent");
        return Ok(refused(WHAT, &reason));
    }
    let (session, dollars) = (estate.grant.delegate, estate.charter.settlement_asset);
    let of = RunwayFor { chain_id: estate.file.chain_id, owner: estate.signer.address(), session };
    let beyond_limits = args.runway_beyond_limits;
    let Some(path) = &args.take else {
        if let Some(reason) = another_key(&estate) {
            return Ok(refused(WHAT, reason));
        }
        let request = RunwayRequestArgs {
            print_runway_request: true,
            runway_per_day: args.per_day,
            runway_days: args.days,
            runway_payee: args.payee,
        };
        return runway::asked(&request, &of, dollars, beyond_limits, estate.now);
    };
    let answer = runway::whole(input::permission_answer(path)?);
    let taken = match runway::taken(&answer, &of, dollars, beyond_limits, estate.now) {
        Ok(taken) => taken,
        Err(no) => return Ok(no),
    };
    let file = estate.inbox.put_runway(&SentRunway { answer, beyond_limits })?;
    let held = estate.node.balance(session).await?;
    let older = estate.glance.runway.filter(|older| older.context != taken.context);
    let mut text = format!(
        "{}\nIt is for {session}, and in its inbox: it counts once the Golem has verified it.",
        runway::said(&taken, held)
    );
    if let Some(older) = &older {
        text.push_str(&format!(
            "\nThe one before, for {}, counts on the chain until {}, unless you end it in your wallet.",
            older.session,
            moment(older.expires_at)
        ));
    }
    let json = json!({
        "done": true, "golem": estate.glance.golem, "key": session, "runway": runway::json(&taken, held),
        "before": older.map(|older| older.context), "file": file,
    });
    Ok(Answer::yes(json, text))
}

/// Why what is asked for now would soon be of a key that is gone.
fn another_key(estate: &Estate) -> Option<&'static str> {
    let waits =
        matches!(estate.glance.rotation, Some(Rotation::Asked { .. } | Rotation::Granted { .. }));
    let looks_on = estate.glance.life.as_ref().is_some_and(|life| life.observing.is_some());
    (waits || looks_on).then_some(
        "another key is to follow the one that it has: `bardo golem grant` first, and this when that is in use; nothing was asked",
    )
}
