//! The watcher: it stands outside of the Golem, and needs nothing of its process (SPEC L1, D19).

use super::{archive, connected, moment, now};
use crate::{
    answer::{Answer, Failure},
    cli::WatchArgs,
    commands::onboard::folder::HEARTBEAT,
};
use alloy::primitives::B256;
use anyhow::anyhow;
use golem_chain::{Node, Registry};
use golem_delegation::grant::Phase;
use golem_runtime::{Glance, GolemEvent, Rhythm};
use serde_json::{Value, json};
use std::{
    io::{Write as _, stderr, stdout},
    path::Path,
    time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

/// Without a folder nobody knows a Golem's rhythm; that it anchors its log once a day is known.
const BY_REGISTRY: u64 = 86_400;
/// How often it looks, of a chain on this machine and of another.
const NEAR: Duration = Duration::from_millis(200);
const FAR: Duration = Duration::from_secs(10);

/// What a look found.
struct Look {
    golem: B256,
    /// The second in which it was to be heard of.
    due: Option<u64>,
    /// How many times it was not.
    missed: u64,
    anomaly: bool,
    /// It died: nothing is left that could stay away.
    closed: bool,
    /// Its death is accepted, and not at its end.
    dies: bool,
    now: u64,
}

/// `bardo golem watch`
pub(super) async fn watch(args: &WatchArgs, json: bool) -> Result<Answer, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let node = connected(args.rpc.as_ref()).await?;
    let mut last = look(args, node.as_ref()).await?;
    if args.once || last.closed {
        return Ok(answer(&last));
    }
    let pause = if node.as_ref().is_some_and(Node::is_near) { NEAR } else { FAR };
    let mut raised = false;
    loop {
        if last.anomaly != raised {
            raised = last.anomaly;
            tell(&last, json);
        }
        tokio::select! {
            _ = interrupt.recv() => return Ok(answer(&last)),
            _ = terminate.recv() => return Ok(answer(&last)),
            () = sleep(pause) => {}
        }
        match look(args, node.as_ref()).await {
            Ok(look) => last = look,
            // A watcher that cannot look says so and looks again: it does not go away.
            Err(failure) => {
                let _gone = writeln!(stderr(), "cannot look: {}", failure.why());
            }
        }
        if last.closed {
            return Ok(answer(&last));
        }
    }
}

async fn look(args: &WatchArgs, node: Option<&Node>) -> Result<Look, Failure> {
    let now = now(node).await?;
    match (&args.data, args.golem, node) {
        (Some(data), ..) => by_books(args, data, now),
        (None, Some(golem), Some(node)) => by_registry(args, golem, node).await,
        _ => {
            Err(Failure::Use(anyhow!("say which: --data DIR, or --golem GOLEM_ID with --rpc URL")))
        }
    }
}

/// By the Golem's own folder: it says there when it is due.
fn by_books(args: &WatchArgs, data: &Path, now: u64) -> Result<Look, Failure> {
    let glance = Glance::of(&archive(data)?, now)?;
    let written: Rhythm = HEARTBEAT.text(data)?.parse().unwrap_or_default();
    let rhythm = as_asked(args, written);
    // The registry closes it before its keys are wiped and its will is written: its books alone know that nothing is left to do.
    let closed = glance.is_dead();
    let dies = !closed && glance.dying.is_some();
    let later = |at: Option<u64>| at.map(|at| at.saturating_add(rhythm.every));
    let due = match &glance.life {
        // One that dies has no more ticks, but a record of each step: as often as it ticked, at least, something is to be done about it.
        _ if dies => later(glance.written_at),
        Some(life) => Some(life.next_at),
        // A wallet at a service has no ticks of this program's.
        None if glance.grant.is_none() => None,
        None => later(glance.onboarded_at),
    };
    let missed = due.map_or(0, |due| rhythm.missed_ticks(due, now));
    let anomaly = rhythm.is_anomaly(missed) && !closed;
    Ok(Look { golem: glance.golem, due, missed, anomaly, closed, dies, now })
}

/// By the registry alone: it says when the Golem was last written about. The chain's own clock counts, since that is what wrote it.
async fn by_registry(args: &WatchArgs, golem: B256, node: &Node) -> Result<Look, Failure> {
    let Some(entry) = Registry::open(node).await?.entry(golem).await? else {
        let chain = node.chain_id();
        return Err(Failure::Use(anyhow!("{golem} was never registered on chain {chain}")));
    };
    let usual = Rhythm { every: BY_REGISTRY, ..Rhythm::default() };
    let rhythm = as_asked(args, usual);
    let due = entry.state.updated_at.saturating_add(rhythm.every);
    let now = entry.block.timestamp.max(now(Some(node)).await?);
    let missed = rhythm.missed_ticks(due, now);
    let closed = entry.state.closed;
    let anomaly = rhythm.is_anomaly(missed) && !closed;
    let dies = entry.state.phase == Phase::Terminal && !closed;
    Ok(Look { golem, due: Some(due), missed, anomaly, closed, dies, now })
}

fn as_asked(args: &WatchArgs, rhythm: Rhythm) -> Rhythm {
    Rhythm {
        every: args.every.map_or(rhythm.every, |every| every.as_secs().max(1)),
        missed: args.missed.unwrap_or(rhythm.missed),
        ..rhythm
    }
}

fn said(look: &Look) -> (Value, String) {
    let Look { golem, due, missed, anomaly, closed, dies, now } = look;
    let event = anomaly.then(|| GolemEvent::HeartbeatAnomaly { missed: *missed });
    let json = json!({
        "golem": golem, "alive": !anomaly && !closed, "closed": closed, "dies": dies, "due": due,
        "missed": missed, "now": now, "event": event,
    });
    let due = due.map_or_else(|| "never".to_owned(), moment);
    let text = if *closed {
        format!("{golem} died: nothing is watched any more")
    } else if *anomaly && *dies {
        format!(
            "HeartbeatAnomaly: the death of {golem} does not go on; a step of it was due at {due}\n\
             - start it again, or see what it waits for: bardo golem run --data DIR --rpc URL\n\
             - sign for its new key, where it has one: bardo golem grant --data DIR --rpc URL\n\
             - get what it held: bardo vault withdraw --rpc URL"
        )
    } else if *anomaly {
        format!(
            "HeartbeatAnomaly: {missed} ticks of {golem} did not come; the first was due at {due}\n\
             - start it again: bardo golem run --data DIR --rpc URL\n\
             - end all that it may do: bardo golem kill --data DIR --rpc URL, or without its folder\n  \
               bardo delegation revoke --golem {golem} --rpc URL\n\
             - get what it held: bardo vault withdraw --rpc URL"
        )
    } else if *dies {
        format!("{golem} dies: the next step is due by {due}")
    } else if *missed > 0 {
        format!("{golem} is late: {missed} missed, the first at {due}; that is within its bounds")
    } else {
        format!("{golem} is well: next heard of by {due}")
    };
    (json, text)
}

fn tell(look: &Look, json: bool) {
    let (value, words) = said(look);
    // Who does not listen any more has seen enough; the watch goes on.
    let _gone = if json { writeln!(stdout(), "{value}") } else { writeln!(stderr(), "{words}") };
}

fn answer(look: &Look) -> Answer {
    let (json, words) = said(look);
    if look.anomaly { Answer::no(json, words) } else { Answer::yes(json, words) }
}
