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

/// All that is to be said.
struct Seen {
    glance: Glance,
    file: Option<GolemFile>,
    now: u64,
    /// Ticks that did not come.
    missed: u64,
    /// More than its owner bears.
    anomaly: bool,
    /// What the registry says, where the chain was asked.
    entry: Option<Entry>,
    /// Why its grant is over, if it is.
    ended: Option<String>,
    /// Letters that wait for its next tick.
    letters: usize,
}

/// `bardo golem status`
pub(super) async fn status(args: &LookArgs) -> Result<Answer, Failure> {
    let archive = archive(&args.data)?;
    let node = connected(args.rpc.as_ref()).await?;
    let now = now(node.as_ref()).await?;
    let glance = Glance::of(&archive, now)?;
    // One that cannot be read keeps it from starting, and nobody from looking.
    let rhythm: Rhythm = HEARTBEAT.text(&args.data)?.parse().unwrap_or_default();
    let missed = glance.life.as_ref().map_or(0, |life| rhythm.missed_ticks(life.next_at, now));
    let (entry, ended) = match &node {
        Some(node) => on_chain(node, &glance).await?,
        None => (None, None),
    };
    let seen = Seen {
        file: GolemFile::of(&args.data)?,
        now,
        missed,
        anomaly: rhythm.is_anomaly(missed),
        entry,
        ended,
        letters: FolderInbox::of(&args.data).waiting()?,
        glance,
    };
    let (json, text) = (seen.json(), seen.text());
    let well = !seen.is_dead() && !seen.anomaly;
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

impl Seen {
    /// Or about to be. As far as the chain was asked.
    fn is_dead(&self) -> bool {
        self.glance.dying.is_some()
            || self.ended.is_some()
            || self.entry.as_ref().is_some_and(|entry| entry.state.closed)
    }

    fn asks(&self) -> Vec<Asked> {
        let mut all = Vec::new();
        if self.is_dead() {
            return all;
        }
        let mut ask = |what, words| all.push(Asked { what, words });
        let Self { glance, letters, missed, .. } = self;
        if *letters > 0 {
            ask("inbox", format!("{letters} letters of yours wait in its inbox for its next tick"));
        } else if let Some(wanted) = glance.asks() {
            let key = wanted.delegate;
            ask("grant", format!("{key} is to follow its key: `bardo golem grant`"));
        } else if glance.life.as_ref().is_some_and(|life| life.observing.is_some()) {
            let words = "it looks on, since its key has no grant: `bardo golem grant`";
            ask("grant", words.to_owned());
        }
        if let Some((_, charter)) = &glance.grant {
            let left = charter.window.end().saturating_sub(self.now);
            if left < SOON {
                let left = length(left);
                ask("feed", format!("its grant ends in {left}: `bardo golem feed`"));
            }
        }
        if self.anomaly {
            let words = format!(
                "{missed} ticks did not come: start it again by `bardo golem run`, or end it by `bardo golem kill`"
            );
            ask("heartbeat", words);
        }
        all
    }

    fn json(&self) -> Value {
        let Self { glance, file, now, missed, anomaly, entry, ended, .. } = self;
        let charter = glance.grant.as_ref().map(|(_, charter)| charter);
        let life = glance.life.as_ref();
        let asks: Vec<Value> =
            self.asks().iter().map(|one| json!({ "what": one.what, "words": one.words })).collect();
        let registry = entry.as_ref().map(|entry| {
            let state = &entry.state;
            json!({
                "phase": format!("{:?}", state.phase), "score": state.score,
                "dreaming": state.dreaming, "closed": state.closed,
                "updatedAt": state.updated_at, "agentKey": entry.agent_key,
            })
        });
        json!({
            "golem": glance.golem,
            "owner": glance.owner(),
            "mode": file.as_ref().map(|file| file.mode),
            "account": file.as_ref().map(|file| file.account),
            "key": glance.grant.as_ref().map(|(grant, _)| grant.delegate),
            "life": life,
            "vitality": life.map(|life| life.clocks.vitality()),
            "missed": missed,
            "anomaly": *anomaly && !self.is_dead(),
            "now": now,
            "spent": { "session": glance.spent.session, "day": glance.spent.day },
            "capPerDay": charter.map(|charter| charter.spend_cap),
            "epoch": charter.map(|charter| charter.epoch),
            "expiresAt": charter.map(|charter| charter.window.end()),
            "records": glance.records,
            "asks": asks,
            "registry": registry,
            "ended": ended,
            "dying": glance.dying,
            "dead": self.is_dead(),
        })
    }

    fn text(&self) -> String {
        let Self { glance, missed, now, entry, ended, .. } = self;
        let mut lines = vec![format!("golem     {}", glance.golem)];
        lines.extend(glance.owner().map(|owner| format!("owner     {owner}")));
        lines.extend(
            glance.grant.as_ref().map(|(grant, _)| format!("key       {}", grant.delegate)),
        );
        match &glance.life {
            None => lines.push("life      no tick yet".to_owned()),
            Some(life) => lines.extend(living(life, *missed)),
        }
        if let Some((_, charter)) = &glance.grant {
            let money = |micro: u64| dollars(U256::from(micro));
            lines.push(format!(
                "spent     {} of {} in 24 hours, {} by this key",
                money(glance.spent.day),
                money(charter.spend_cap),
                money(glance.spent.session)
            ));
            let end = moment(charter.window.end());
            lines.push(format!("grant     number {}, until {end}", charter.epoch));
        }
        if let Some(entry) = entry {
            let ago = length(now.saturating_sub(entry.state.updated_at));
            let closed = if entry.state.closed { ", closed" } else { "" };
            lines.push(format!("registry  {:?}{closed}, written {ago} ago", entry.state.phase));
        }
        lines.extend(ended.as_ref().map(|ended| format!("Its grant is over: {ended}")));
        match &glance.dying {
            Some(dying) if glance.is_dead() => {
                lines.push(format!("It is dead: {:?}", dying.trigger()));
            }
            Some(dying) => lines.push(format!("It dies: {:?}", dying.trigger())),
            None if self.is_dead() => lines.push("It dies with its next tick.".to_owned()),
            None => {}
        }
        lines.extend(self.asks().iter().map(|one| format!("! {}", one.words)));
        lines.join("\n")
    }
}

fn living(life: &Life, missed: u64) -> [String; 4] {
    let (clocks, mood) = (life.clocks, life.mood);
    let how = match (&life.observing, life.dreaming) {
        (Some(why), _) => format!("looks on: {why}"),
        (None, true) => "dreams".to_owned(),
        (None, false) => "acts".to_owned(),
    };
    let late = if missed > 0 { format!(", {missed} did not come") } else { String::new() };
    [
        format!("phase     {:?}, and {how}", life.phase),
        format!(
            "vitality  {} of 10000: money {}, knowledge {}, chance {}",
            clocks.vitality(),
            clocks.economic,
            clocks.epistemic,
            clocks.stochastic
        ),
        format!("mood      {} {} {}", mood.pleasure, mood.arousal, mood.dominance),
        format!("ticks     {}, next {}{late}", life.ticks, moment(life.next_at)),
    ]
}
