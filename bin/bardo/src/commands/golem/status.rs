use super::{archive, connected, moment, now};
use crate::{
    answer::{Answer, Failure},
    cli::LookArgs,
    commands::onboard::folder::{GolemFile, HEARTBEAT},
    prose::{dollars, length},
};
use alloy::primitives::U256;
use bardo_bindings::framework::DELEGATION_MANAGER;
use golem_chain::{Entry, Node, Registry, environment, observe};
use golem_delegation::{PermissionContext, blast_radius::Life as GrantLife};
use golem_runtime::{FolderInbox, Glance, Life, Rhythm};
use serde_json::{Value, json};

/// Less time than this is something to tell an owner of.
const SOON: u64 = 86_400;

/// What is asked of an owner.
struct Asked {
    what: &'static str,
    words: String,
}

/// `bardo golem status`
pub(super) async fn status(args: &LookArgs) -> Result<Answer, Failure> {
    let archive = archive(&args.data)?;
    let file = GolemFile::of(&args.data)?;
    let node = connected(args.rpc.as_ref()).await?;
    let now = now(node.as_ref()).await?;
    let glance = Glance::of(&archive, now)?;
    let rhythm: Result<Rhythm, _> = HEARTBEAT.text(&args.data)?.parse();
    let rhythm = rhythm.unwrap_or_default();
    let life = glance.life.as_ref();
    let missed = life.map_or(0, |life| rhythm.missed_ticks(life.next_at, now));
    let (entry, ended) = match &node {
        Some(node) => on_chain(node, &glance).await?,
        None => (None, None),
    };
    let dead = ended.is_some() || entry.as_ref().is_some_and(|entry| entry.state.closed);
    let asked = asks(&glance, &FolderInbox::of(&args.data), missed, &rhythm, now, dead)?;
    let charter = glance.grant.as_ref().map(|(_, charter)| charter);
    let mut json = json!({
        "golem": glance.golem,
        "owner": glance.owner(),
        "mode": file.as_ref().map(|file| file.mode),
        "account": file.as_ref().map(|file| file.account),
        "key": glance.grant.as_ref().map(|(grant, _)| grant.delegate),
        "life": life,
        "vitality": life.map(|life| life.clocks.vitality()),
        "missed": missed,
        "anomaly": rhythm.is_anomaly(missed) && !dead,
        "now": now,
        "spent": { "session": glance.spent.session, "day": glance.spent.day },
        "capPerDay": charter.map(|charter| charter.spend_cap),
        "epoch": charter.map(|charter| charter.epoch),
        "expiresAt": charter.map(|charter| charter.window.end()),
        "records": glance.records,
        "asks": asked.iter().map(|one| json!({ "what": one.what, "words": one.words })).collect::<Vec<_>>(),
        "ended": ended,
        "dead": dead,
    });
    if let Some(entry) = &entry {
        let state = &entry.state;
        json["registry"] = json!({
            "phase": format!("{:?}", state.phase), "score": state.score, "dreaming": state.dreaming,
            "closed": state.closed, "updatedAt": state.updated_at, "agentKey": entry.agent_key,
        });
    }
    let text = shown(&glance, &json, life, missed, now, &asked, entry.as_ref(), ended.as_deref());
    let well = !dead && !rhythm.is_anomaly(missed);
    Ok(if well { Answer::yes(json, text) } else { Answer::no(json, text) })
}

/// What the registry says, and why the grant is over if it is.
async fn on_chain(
    node: &Node,
    glance: &Glance,
) -> Result<(Option<Entry>, Option<String>), Failure> {
    let entry = Registry::open(node).await?.entry(glance.golem).await?;
    let Some((grant, _)) = &glance.grant else { return Ok((entry, None)) };
    let context = PermissionContext::new(vec![grant.clone()])?;
    let seen = observe(node, DELEGATION_MANAGER, &context, &[]).await?;
    let life = GrantLife::of(&context, &environment(), seen.block.timestamp, &seen.facts)?;
    Ok((entry, life.ended.map(|ended| format!("{ended:?}"))))
}

fn asks(
    glance: &Glance,
    inbox: &FolderInbox,
    missed: u64,
    rhythm: &Rhythm,
    now: u64,
    dead: bool,
) -> Result<Vec<Asked>, Failure> {
    let mut all = Vec::new();
    if dead {
        return Ok(all);
    }
    let waiting = inbox.waiting()?;
    if waiting > 0 {
        let words = format!("{waiting} letters of yours wait in its inbox for its next tick");
        all.push(Asked { what: "inbox", words });
    } else if let Some(wanted) = glance.asks() {
        let words = format!("{} is to follow its key: `bardo golem grant`", wanted.delegate);
        all.push(Asked { what: "grant", words });
    } else if glance.life.as_ref().is_some_and(|life| life.observing.is_some()) {
        let words = "it looks on, since its key has no grant: `bardo golem grant`".to_owned();
        all.push(Asked { what: "grant", words });
    }
    if let Some((_, charter)) = &glance.grant {
        let left = charter.window.end().saturating_sub(now);
        if left < SOON {
            let words = format!("its grant ends in {}: `bardo golem feed`", length(left));
            all.push(Asked { what: "feed", words });
        }
    }
    if rhythm.is_anomaly(missed) {
        let words = format!(
            "{missed} ticks did not come: start it again by `bardo golem run`, or end it by `bardo golem kill`"
        );
        all.push(Asked { what: "heartbeat", words });
    }
    Ok(all)
}

#[expect(clippy::too_many_arguments, reason = "everything that is said at once")]
fn shown(
    glance: &Glance,
    json: &Value,
    life: Option<&Life>,
    missed: u64,
    now: u64,
    asked: &[Asked],
    entry: Option<&Entry>,
    ended: Option<&str>,
) -> String {
    let mut lines = vec![format!("golem     {}", glance.golem)];
    if let Some(owner) = glance.owner() {
        lines.push(format!("owner     {owner}"));
    }
    if let Some((grant, _)) = &glance.grant {
        lines.push(format!("key       {}", grant.delegate));
    }
    match life {
        None => lines.push("life      no tick yet".to_owned()),
        Some(life) => {
            let (clocks, mood) = (life.clocks, life.mood);
            let how = match (&life.observing, life.dreaming) {
                (Some(why), _) => format!("looks on: {why}"),
                (None, true) => "dreams".to_owned(),
                (None, false) => "acts".to_owned(),
            };
            lines.push(format!("phase     {:?}, and {how}", life.phase));
            lines.push(format!(
                "vitality  {} of 10000: money {}, knowledge {}, chance {}",
                clocks.vitality(),
                clocks.economic,
                clocks.epistemic,
                clocks.stochastic
            ));
            lines.push(format!("mood      {} {} {}", mood.pleasure, mood.arousal, mood.dominance));
            let late = if missed > 0 { format!(", {missed} did not come") } else { String::new() };
            lines.push(format!("ticks     {}, next {}{late}", life.ticks, moment(life.next_at)));
        }
    }
    if let Some((_, charter)) = &glance.grant {
        let money = |micro: u64| dollars(U256::from(micro));
        lines.push(format!(
            "spent     {} of {} in 24 hours, {} by this key",
            money(glance.spent.day),
            money(charter.spend_cap),
            money(glance.spent.session)
        ));
        let end = charter.window.end();
        lines.push(format!("grant     number {}, until {}", charter.epoch, moment(end)));
    }
    if let Some(entry) = entry {
        let ago = length(now.saturating_sub(entry.state.updated_at));
        let closed = if entry.state.closed { ", closed" } else { "" };
        lines.push(format!("registry  {:?}{closed}, written {ago} ago", entry.state.phase));
    }
    if let Some(ended) = ended {
        lines.push(format!("Its grant is over: {ended}"));
    }
    if json["dead"] == true {
        lines.push("It is dead, or dies with its next tick.".to_owned());
    }
    lines.extend(asked.iter().map(|one| format!("! {}", one.words)));
    lines.join("\n")
}
