//! What a Golem's audit log says of its life. No chain here.

use super::story::{LeftOut, MOST_LETTERS, MOST_POINTS, Refusals, Tick, thinned};
use alloy::primitives::{Address, B256};
use bardo_store::Record;
use golem_chain::{environment, printable};
use golem_custody::{IntentId, Means, Onboarding, Rotation, Runway, Settlement};
use golem_delegation::{Delegation, grant::Grant, terms::GolemCharter};
use golem_runtime::{Child, GolemEvent, Life, Told};
use serde::Deserialize as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most names of refusals that are told apart: there are fewer, in a log of ours.
const MOST_CODES: usize = 96;

/// Most children that are told of.
const MOST_CHILDREN: usize = 64;

/// A grant, and since when it is the newest.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) at: u64,
    pub(super) grant: Delegation,
    pub(super) charter: GolemCharter,
}

/// Something that was signed and came to an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) record: u64,
    pub(super) at: u64,
    pub(super) hash: B256,
    pub(super) block: u64,
    /// What was set aside for it, in micro-dollars.
    pub(super) micro_dollars: u64,
}

/// A child that once lived, as its parent wrote of it last.
#[derive(Clone, Debug)]
pub(super) struct Raised {
    /// Since when it lived.
    pub(super) at: u64,
    pub(super) child: Child,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) owner: Option<Address>,
    pub(super) account: Option<Address>,
    pub(super) grants: Vec<Given>,
    /// Its children, the oldest first.
    pub(super) children: Vec<Raised>,
    /// The grants for running costs, and since when.
    runways: Vec<(u64, Runway)>,
    /// Hashes of what they paid.
    pub(super) running_costs: BTreeSet<B256>,
    pub(super) ticks: Vec<Tick>,
    pub(super) all_ticks: u64,
    pub(super) life: Option<Life>,
    pub(super) ended: Vec<Ended>,
    /// Hashes of everything that its keys signed in its own name.
    pub(super) signed: BTreeSet<B256>,
    pub(super) told: Vec<Told>,
    pub(super) refusals: Vec<Refusals>,
    pub(super) refused: u64,
    pub(super) settlement: Option<Settlement>,
    pub(super) died_of: Option<String>,
    pub(super) last: Option<u64>,
}

impl Log {
    /// What the records say, whatever they say: one that is not understood is passed over.
    pub(super) fn of(records: &[Record], left_out: &mut LeftOut) -> Self {
        let mut log = Self::default();
        let mut aside: HashMap<IntentId, u64> = HashMap::new();
        let mut landed: HashMap<IntentId, B256> = HashMap::new();
        let mut refusals: BTreeMap<String, Refusals> = BTreeMap::new();
        let mut block = 0;
        for record in records {
            log.last = log.last.max(Some(record.at));
            if record.kind == "step" {
                log.stepped(record, block);
            }
            let told = Told::of(record);
            match &told.event {
                GolemEvent::Tick { block: seen, .. } => block = *seen,
                GolemEvent::IntentReserved { intent, micro_dollars, .. } => {
                    aside.insert(*intent, *micro_dollars);
                }
                GolemEvent::OperationSigned { op_hash, .. } => {
                    log.signed.insert(*op_hash);
                }
                GolemEvent::RunwayRedeemed { intent, .. } => {
                    log.running_costs.extend(landed.get(intent));
                }
                GolemEvent::IntentDone { intent, hash, block } => {
                    landed.insert(*intent, *hash);
                    log.ends(record, *hash, *block, aside.get(intent));
                }
                GolemEvent::IntentFailed { intent, hash, block, .. } => {
                    log.ends(record, *hash, *block, aside.get(intent));
                }
                GolemEvent::IntentRefused { code, reason, enforcer, .. } => {
                    log.refused = log.refused.saturating_add(1);
                    refuse(&mut refusals, record.at, code, reason, *enforcer);
                }
                GolemEvent::DeathProtocolStarted { trigger, .. } => {
                    log.died_of = Some(super::words::trigger(*trigger).to_owned());
                }
                _ => {}
            }
            if super::words::is_told(&told.event) {
                log.told.push(told);
            }
        }
        log.all_ticks = log.life.as_ref().map_or(0, |life| life.ticks);
        let (ticks, left) = thinned(std::mem::take(&mut log.ticks), MOST_POINTS);
        (log.ticks, left_out.ticks) = (ticks, left);
        log.refusals = refusals.into_values().collect();
        log.refusals.sort_by(|a, b| b.times.cmp(&a.times).then(a.first.cmp(&b.first)));
        log
    }

    fn ends(&mut self, record: &Record, hash: B256, block: u64, aside: Option<&u64>) {
        self.signed.insert(hash);
        self.ended.push(Ended {
            record: record.sequence,
            at: record.at,
            hash,
            block,
            micro_dollars: aside.copied().unwrap_or(0),
        });
    }

    /// What machines of steps write: lives, grants, an end.
    fn stepped(&mut self, record: &Record, block: u64) {
        let Ok(body) = serde_json::from_str::<Value>(&record.body) else { return };
        let (Some(name), Some(to)) = (body.get("name").and_then(Value::as_str), body.get("to"))
        else {
            return;
        };
        match name {
            "life" => {
                if let Ok(life) = Life::deserialize(to) {
                    self.lived(record.at, block, life);
                }
            }
            "onboarding" => {
                if let Ok(onboarding) = Onboarding::deserialize(to) {
                    self.owner = Some(onboarding.owner());
                    if let Some(Means::Granted { account, grant, .. }) = onboarding.means() {
                        self.account = Some(*account);
                        self.given(record.at, grant);
                    } else if let Some(Means::Provided { address, .. }) = onboarding.means() {
                        self.account = Some(*address);
                    }
                }
            }
            "grant" => {
                if let Ok(grant) = Delegation::deserialize(to) {
                    self.given(record.at, &grant);
                }
            }
            "rotation" => {
                if let Ok(rotation) = Rotation::deserialize(to) {
                    self.given(record.at, rotation.grant());
                }
            }
            "runway" => {
                if let Ok(runway) = Runway::deserialize(to) {
                    self.runways.push((record.at, runway));
                }
            }
            of_one if of_one.starts_with("replicant.") => {
                if let Ok(child) = Child::deserialize(to) {
                    self.raised(record.at, child);
                }
            }
            "settlement" => {
                if let Ok(settlement) = Settlement::deserialize(to) {
                    self.settlement = Some(settlement);
                }
            }
            _ => {}
        }
    }

    fn raised(&mut self, at: u64, child: Child) {
        let known = self.children.iter_mut().find(|one| one.child.key == child.key);
        if let Some(known) = known {
            known.child = child;
        } else if child.lives() && self.children.len() < MOST_CHILDREN {
            self.children.push(Raised { at, child });
        }
    }

    fn lived(&mut self, at: u64, block: u64, life: Life) {
        self.ticks.push(Tick {
            number: life.ticks,
            at,
            block,
            phase: life.phase,
            vitality: life.clocks.vitality(),
            clocks: life.clocks,
            mood: life.mood,
            dreaming: life.dreaming,
            worth: life.worth,
        });
        self.life = Some(life);
    }

    /// The newest grant is the one with the highest number (SPEC D4); the same one is not kept twice.
    fn given(&mut self, at: u64, grant: &Delegation) {
        let environment = environment();
        let Ok(read) = Grant::read(grant, &environment) else { return };
        let charter = read.charter().clone();
        if self.grants.last().is_none_or(|last| charter.epoch > last.charter.epoch) {
            self.grants.push(Given { at, grant: grant.clone(), charter });
        }
    }

    /// The grant in force then: the first one before any.
    pub(super) fn grant_at(&self, at: u64) -> Option<&Given> {
        self.grants.iter().rev().find(|given| given.at <= at).or_else(|| self.grants.first())
    }

    /// The grant for running costs, where it is that key's and was there then.
    pub(super) fn runway_at(&self, at: u64, key: Address) -> Option<&Runway> {
        let then = self.runways.iter().rev().find(|(since, _)| *since <= at);
        then.map(|(_, runway)| runway).filter(|runway| runway.session == key)
    }

    /// Every key that it had.
    pub(super) fn keys(&self) -> Vec<Address> {
        let mut keys: Vec<Address> = Vec::new();
        for given in &self.grants {
            if !keys.contains(&given.grant.delegate) {
                keys.push(given.grant.delegate);
            }
        }
        keys
    }
}

impl Log {
    /// Whether a key is a child's.
    pub(super) fn is_childs(&self, key: Address) -> bool {
        self.children.iter().any(|one| one.child.key == key)
    }
}

fn refuse(
    all: &mut BTreeMap<String, Refusals>,
    at: u64,
    code: &str,
    reason: &str,
    enforcer: Option<Address>,
) {
    let code = clipped(code);
    if all.len() >= MOST_CODES && !all.contains_key(&code) {
        return;
    }
    let kept = all.entry(code.clone()).or_insert(Refusals {
        code,
        times: 0,
        first: at,
        last: at,
        reason: String::new(),
        enforcer: None,
    });
    kept.times = kept.times.saturating_add(1);
    kept.last = at;
    kept.reason = clipped(reason);
    kept.enforcer = enforcer.map(super::words::contract);
}

/// Words of others: printable, and no more of them than anybody reads.
pub(super) fn clipped(text: &str) -> String {
    let text = printable(text);
    match text.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
