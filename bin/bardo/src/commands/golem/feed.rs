use super::{
    estate::Estate,
    moment,
    policy::{Asked, Widened, widened},
    refused,
};
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::FeedArgs,
};
use anyhow::anyhow;
use golem_chain::{Registry, Writing, Written, environment};
use golem_delegation::grant::{Grant, Phase};
use serde_json::json;

const DAY: u64 = 86_400;

/// `bardo golem feed`: more time by a signature, an earlier phase by a transaction.
pub(super) async fn feed(args: &FeedArgs) -> Result<Answer, Failure> {
    if args.phase.is_some_and(|phase| phase > Phase::Stable) {
        return Err(Failure::Use(anyhow!(
            "a Feed leads to thriving or stable, and to no other phase"
        )));
    }
    let estate = match Estate::of("fed", &args.data, &args.send, &args.key).await? {
        Ok(estate) => estate,
        Err(no) => return Ok(no),
    };
    if let Some(over) = estate.is_over().await? {
        let reason = format!("{over}: it takes no Feed; nothing was signed or sent");
        return Ok(refused("fed", &reason));
    }
    let days = args.days.or(args.phase.is_none().then_some(7));
    let renewal = match days {
        None => None,
        Some(days) => {
            if let Some(reason) = estate.asks_in_vain()? {
                return Ok(refused("fed", reason));
            }
            let end = estate.charter.window.end().max(estate.now);
            let until = end.saturating_add(days.saturating_mul(DAY));
            Some(Grant::read(&estate.grant, &environment())?.feed(until).or_use()?)
        }
    };
    let turned = match turned_back(args, &estate).await? {
        Ok(turned) => turned,
        Err(no) => return Ok(no),
    };
    let widened = match &renewal {
        None => None,
        Some(renewal) => {
            let (next, ceiling) = (&renewal.charter, args.send.ceiling(&estate.node)?);
            let (data, salt) = (args.data.as_path(), args.salt);
            let asked = Asked { what: "fed", data, next, cap: None, salt, ceiling };
            match widened(&estate, asked).await? {
                Ok(widened) => widened,
                Err(no) => return Ok(no),
            }
        }
    };
    let stays = stays(args, &estate).await?;
    let mut answer = Answer::yes(
        json!({
            "fed": true, "golem": estate.glance.golem,
            "phase": turned.as_ref().map(|(phase, _)| phase),
            "transaction": turned.as_ref().and_then(|(_, transaction)| *transaction),
            "policy": widened.as_ref().map(Widened::json), "stays": stays,
        }),
        "",
    );
    let mut text = Vec::new();
    if let Some((phase, transaction)) = &turned {
        text.push(match transaction {
            Some(transaction) => format!("turned back to {phase:?}: {transaction}"),
            None => format!("it is {phase:?}: nothing was sent"),
        });
    }
    text.extend(widened.as_ref().map(Widened::text));
    if let Some(renewal) = renewal {
        let signed = estate.signer.grant(&estate.domain(), renewal.delegation)?;
        let path = estate.inbox.put(&signed, estate.now)?;
        let (until, epoch) = (renewal.charter.window.end(), renewal.charter.epoch);
        answer = answer.with("until", until).with("epoch", epoch).with("file", json!(path));
        text.push(format!(
            "signed until {}, as number {epoch}, and put into its inbox: it counts once the Golem has verified it",
            moment(until),
        ));
        text.push(format!("From then on {}", renewal.supersedes));
    }
    if let Some(phase) = stays {
        text.push(format!(
            "It is in {phase:?}, and time alone does not change that: `bardo golem feed --phase stable` does, by a transaction"
        ));
    }
    answer.text = text.join("\n");
    Ok(answer)
}

/// A phase in which it does not trade, and that no signature turns back; none where he turned it back, or it is in none.
async fn stays(args: &FeedArgs, estate: &Estate) -> Result<Option<Phase>, Failure> {
    if args.phase.is_some() {
        return Ok(None);
    }
    let entry = Registry::open(&estate.node).await?.entry(estate.glance.golem).await?;
    let own = estate.glance.life.as_ref().map(|life| life.phase);
    let phase = own.max(entry.map(|entry| entry.state.phase));
    Ok(phase.filter(|phase| *phase > Phase::Stable))
}

/// The phase that the registry has then, and the transaction if one was needed; none where nobody asked.
async fn turned_back(
    args: &FeedArgs,
    estate: &Estate,
) -> Result<Result<Option<(Phase, Option<alloy::primitives::B256>)>, Answer>, Failure> {
    let Some(phase) = args.phase else { return Ok(Ok(None)) };
    let (node, golem) = (&estate.node, estate.glance.golem);
    let registry = Registry::open(node).await?;
    let Some(entry) = registry.entry(golem).await? else {
        return Ok(Err(refused("fed", "it is not on the register; nothing was signed or sent")));
    };
    if entry.state.phase <= phase {
        return Ok(Ok(Some((entry.state.phase, None))));
    }
    let writing = Writing::Feed { golem, phase };
    match registry.write(&estate.signer, &writing, args.send.ceiling(node)?).await? {
        Written::Done { transaction, entry, .. } => {
            Ok(Ok(Some((entry.state.phase, Some(transaction)))))
        }
        Written::Refused { reason } => {
            Ok(Err(refused("fed", &format!("{reason}; nothing was signed or sent"))))
        }
    }
}
