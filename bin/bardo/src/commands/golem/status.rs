use super::{
    archive, connected,
    kin::Kin,
    moment, now,
    policy::{spent, used_up},
};
use crate::{
    answer::{Answer, Failure},
    cli::LookArgs,
    commands::onboard::{
        bounds::Bounds,
        folder::{GolemFile, HEARTBEAT},
    },
    prose::{dollars, length},
};
use alloy::primitives::{Address, U256, utils::format_ether};
use bardo_bindings::framework::{DELEGATION_MANAGER, DelegationManager};
use golem_chain::{Entry, Node, Registry, environment, observe, printable, published_policy};
use golem_custody::Runway;
use golem_delegation::{PermissionContext, blast_radius::Life as GrantLife, enforcers};
use golem_runtime::{
    DeathReserve, Economy, FolderInbox, Glance, GolemEvent, Life, Rhythm, THRESHOLDS,
};
use golem_safety::Policy;
use serde_json::{Value, json};
use std::path::Path;

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
    /// What bounds its key beside its charter, where something does.
    bounds: Option<Bounds>,
    /// Calls that were counted, where the chain was asked.
    calls: Option<U256>,
    /// What its owner published, and why its key can spend nothing by that, or nearly so: where the chain was asked.
    policy: Option<Policy>,
    used_up: Option<String>,
    /// Letters that wait for its next tick.
    letters: usize,
    /// His wallet's answer waits for it, too.
    pays_soon: bool,
    /// Its children.
    kin: Vec<Kin>,
}

/// `bardo golem status`
pub(super) async fn status(args: &LookArgs) -> Result<Answer, Failure> {
    let archive = archive(&args.data)?;
    let node = connected(args.rpc.as_ref()).await?;
    let now = now(node.as_ref()).await?;
    let mut glance = Glance::of(&archive, now)?;
    if let (Some(node), Some(runway)) = (&node, &glance.given_up)
        && is_ended(node, runway).await?
    {
        glance.given_up = None;
    }
    // One that cannot be read keeps it from starting, and nobody from looking.
    let rhythm: Rhythm = HEARTBEAT.text(&args.data)?.parse().unwrap_or_default();
    let missed = glance.life.as_ref().map_or(0, |life| rhythm.missed_ticks(life.next_at, now));
    let OnChain { entry, ended, calls, policy, used_up } = match &node {
        Some(node) => on_chain(node, &args.data, &glance, now).await?,
        None => OnChain::default(),
    };
    let inbox = FolderInbox::of(&args.data);
    let mut kin = Vec::new();
    for one in Kin::of(&args.data, &glance, now) {
        kin.push(match &node {
            Some(node) => one.by_chain(node).await?,
            None => one,
        });
    }
    let seen = Seen {
        kin,
        file: GolemFile::of(&args.data)?,
        now,
        missed,
        anomaly: rhythm.is_anomaly(missed),
        entry,
        ended,
        bounds: glance.grant.as_ref().and_then(|(grant, _)| Bounds::of(grant)),
        calls,
        policy,
        used_up,
        letters: inbox.waiting()?,
        pays_soon: inbox.has_runway(),
        glance,
    };
    let (json, text) = (seen.json(), seen.text());
    let well = !seen.is_dead() && !seen.anomaly;
    Ok(if well { Answer::yes(json, text) } else { Answer::no(json, text) })
}

/// Whether its owner has ended it.
async fn is_ended(node: &Node, runway: &Runway) -> Result<bool, Failure> {
    let Some(grant) = runway.grant() else { return Ok(false) };
    let asked = DelegationManager::disabledDelegationsCall { delegationHash: grant.0 };
    Ok(node.read(DELEGATION_MANAGER, asked).await?)
}

/// What the registry says, why the grant is over if it is, how many calls it has counted, and what is published.
#[derive(Default)]
struct OnChain {
    entry: Option<Entry>,
    ended: Option<String>,
    calls: Option<U256>,
    policy: Option<Policy>,
    used_up: Option<String>,
}

async fn on_chain(node: &Node, data: &Path, glance: &Glance, now: u64) -> Result<OnChain, Failure> {
    let entry = Registry::open(node).await?.entry(glance.golem).await?;
    let Some((grant, charter)) = &glance.grant else {
        return Ok(OnChain { entry, ..OnChain::default() });
    };
    let context = PermissionContext::new(vec![grant.clone()])?;
    let seen = observe(node, DELEGATION_MANAGER, &context, &[]).await?;
    let life = GrantLife::of(&context, &environment(), seen.block.timestamp, &seen.facts)?;
    let counter = (grant.hash().0, enforcers::LIMITED_CALLS);
    let calls = seen.facts.counters.get(&counter).copied();
    let ended = life.ended.map(|ended| format!("{ended:?}"));
    let published = published_policy(node, glance.golem).await?;
    let policy = published.and_then(Result::ok).map(|published| published.policy().clone());
    let used_up = match &policy {
        Some(policy) => used_up(policy, charter, spent(data, glance, node, now).await?),
        None => None,
    };
    Ok(OnChain { entry, ended, calls, policy, used_up })
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
        let Self { glance, letters, missed, now, .. } = self;
        if let Some(runway) = glance.given_up.as_ref().filter(|runway| *now < runway.expires_at) {
            let until = moment(runway.expires_at);
            let words = format!(
                "it gave up your grant for its running costs, which counts on the chain until {until} unless you end it: \
                 `bardo delegation revoke --context legacy/runway.context --rpc URL`, in its folder"
            );
            all.push(Asked { what: "revoke", words });
        }
        if self.is_dead() {
            return all;
        }
        let mut ask = |what, words| all.push(Asked { what, words });
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
            if is_short(left) {
                let left = length(left);
                ask("feed", format!("its grant ends in {left}: `bardo golem feed`"));
            }
        }
        let reserve = glance.life.as_ref().and_then(|life| life.reserve);
        if let Some(DeathReserve { needed, balance }) = reserve.filter(DeathReserve::is_short) {
            let key = glance.grant.as_ref().map_or(Address::ZERO, |(grant, _)| grant.delegate);
            let (has, costs) = (format_ether(balance), format_ether(needed));
            let words = format!(
                "its key has {has} coins, its death costs {costs}, and it does only what that needs: send {key} coins"
            );
            ask("coins", words);
        }
        if let Some(words) = &self.used_up {
            ask("budget", words.clone());
        }
        if let Some(words) = self.unpaid() {
            ask("runway", words);
        }
        for words in super::approval::asked(glance, self.now) {
            ask("approval", words);
        }
        if self.anomaly {
            let words = format!(
                "{missed} ticks did not come: start it again by `bardo golem run`, or end it by `bardo golem kill`"
            );
            ask("heartbeat", words);
        }
        all
    }

    /// Why it pays no running costs, though his wallet once granted them.
    fn unpaid(&self) -> Option<String> {
        let (runway, (grant, _)) = (self.glance.runway.as_ref()?, self.glance.grant.as_ref()?);
        let why = if runway.session != grant.delegate {
            format!("is for {}, and its key is {}", runway.session, grant.delegate)
        } else if runway.expires_at <= self.now {
            format!("ended {}", moment(runway.expires_at))
        } else {
            return None;
        };
        let next = if self.pays_soon {
            "what your wallet granted since waits in its inbox for its next tick"
        } else {
            "`bardo golem runway --print-request`"
        };
        Some(format!("your grant for its running costs {why}, and it pays none: {next}"))
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
            "policy": self.policy.as_ref().map(|policy| json!({
                "spendPerTransaction": policy.spend_per_transaction,
                "spendPerSession": policy.spend_per_session, "spendPerDay": policy.spend_per_day,
            })),
            "capPerDay": charter.map(|charter| charter.spend_cap),
            "calls": self.calls.map(|calls| calls.to_string()),
            "bounds": self.bounds.as_ref().map(Bounds::json),
            "deathReserve": life.and_then(|life| life.reserve).map(|one| one.needed.to_string()),
            "keyBalance": life.and_then(|life| life.reserve).map(|one| one.balance.to_string()),
            "epoch": charter.map(|charter| charter.epoch),
            "expiresAt": charter.map(|charter| charter.window.end()),
            "records": glance.records,
            "replicants": self.kin.iter().map(Kin::json).collect::<Vec<_>>(),
            "asks": asks,
            "registry": registry,
            "ended": ended,
            "grantEnded": glance.ended,
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
        if let Some(DeathReserve { needed, balance }) =
            glance.life.as_ref().and_then(|life| life.reserve)
        {
            let (has, kept) = (format_ether(balance), format_ether(needed));
            lines.push(format!("coins     {has} for gas, of which {kept} are for its death"));
        }
        if let Some((_, charter)) = &glance.grant {
            let money = |micro: u64| dollars(U256::from(micro));
            lines.push(format!(
                "spent     {} of {} in 24 hours, {}{} by this key",
                money(glance.spent.day),
                money(self.policy.as_ref().map_or(charter.spend_cap, |policy| {
                    policy.spend_per_day.min(charter.spend_cap)
                })),
                money(glance.spent.session),
                self.policy.as_ref().map_or_else(String::new, |policy| {
                    format!(" of {}", money(policy.spend_per_session))
                })
            ));
            let end = moment(charter.window.end());
            lines.push(format!("grant     number {}, until {end}", charter.epoch));
        }
        if let Some(bounds) = &self.bounds {
            let made = self.calls.map_or_else(String::new, |calls| format!("{calls} of "));
            let targets = bounds.targets.len();
            lines.push(format!("calls     {made}{}, to {targets} contracts", bounds.calls));
        }
        lines.extend(self.kin.iter().map(|one| format!("child     {}", one.text())));
        if let Some(entry) = entry {
            let ago = length(now.saturating_sub(entry.state.updated_at));
            let closed = if entry.state.closed { ", closed" } else { "" };
            lines.push(format!("registry  {:?}{closed}, written {ago} ago", entry.state.phase));
        }
        match (ended, &glance.ended) {
            (Some(ended), _) => lines.push(format!("Its grant is over: {ended}")),
            (None, Some(GolemEvent::GrantEnded { block, why, .. })) => {
                lines.push(format!("Its grant is over since block {block}: {}", printable(why)));
            }
            (None, _) => {}
        }
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

/// Whether so much time is what keeps it from Thriving (docs/vitality.md).
fn is_short(seconds_left: u64) -> bool {
    let time = Economy { metabolism: None, seconds_left, worth: None, mark: 0, bound_bps: 0 };
    THRESHOLDS.first().is_some_and(|(_, thriving)| time.clock() < *thriving)
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
