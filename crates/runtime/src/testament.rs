//! A Golem's last word to its owner: who it was, what it did in numbers, what it learned, and what is left to him.

use crate::{
    BundleError, DeathTrigger, GolemEvent, Life,
    bequest::{self, FOLDER, RUNWAY},
    life::CELL,
};
use alloy_primitives::{Address, B256, U256};
use bardo_store::{Memory, MemoryKind, Record, Store, Untrusted};
use golem_chain::printable;
use golem_custody::{DeathSettlement, DeferredPosition, Holding, IntentId, Runways};
use golem_delegation::{DelegationHash, blast_radius::Dollars};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    time::{Duration, UNIX_EPOCH},
};

/// Most lessons of one kind.
const LESSONS: usize = 12;
/// Longest lesson, in characters; the memories have the whole of it.
const LESSON: usize = 500;
/// The last second of the year 9999: beyond it no date can be written.
const LAST_SECOND: u64 = 253_402_300_799;

/// What became of what a Golem wanted, counted over its audit chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Deeds {
    /// Intents that took effect.
    pub done: u64,
    /// Intents that somebody said no to.
    pub refused: u64,
    /// Intents that failed in their block.
    pub failed: u64,
    /// What was set aside for those that took effect, in micro-dollars.
    pub spent: u64,
}

impl Deeds {
    /// Those that `records` speak of. An intent counts once for each thing that became of it.
    #[must_use]
    pub fn of(records: &[Record]) -> Self {
        let mut sums: HashMap<IntentId, u64> = HashMap::new();
        let [mut done, mut refused, mut failed] = [(); 3].map(|()| HashSet::new());
        let mut spent = 0u64;
        for record in records {
            match GolemEvent::of_record(&record.kind, &record.body) {
                GolemEvent::IntentReserved { intent, micro_dollars, .. } => {
                    sums.insert(intent, micro_dollars);
                }
                GolemEvent::IntentDone { intent, .. } if done.insert(intent) => {
                    spent = spent.saturating_add(sums.get(&intent).copied().unwrap_or_default());
                }
                GolemEvent::IntentRefused { intent, .. } => {
                    refused.insert(intent);
                }
                GolemEvent::IntentFailed { intent, .. } => {
                    failed.insert(intent);
                }
                _ => {}
            }
        }
        let count = |intents: &HashSet<IntentId>| u64::try_from(intents.len()).unwrap_or(u64::MAX);
        Self { done: count(&done), refused: count(&refused), failed: count(&failed), spent }
    }
}

/// What a Golem's holdings were worth, in micro-dollars; none where nobody could say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Worth {
    /// When it first looked.
    pub start: Option<u64>,
    /// The most.
    pub peak: u64,
    /// When it last looked.
    pub end: Option<u64>,
}

/// Something that a Golem learned, in the words of its Grimoire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Lesson {
    /// A warning or a rule of thumb.
    pub kind: MemoryKind,
    /// How many memories say it.
    pub times: u64,
    /// When it last came up.
    pub at: u64,
    /// In words. They may be anybody's.
    #[serde(with = "as_data")]
    pub text: Untrusted,
}

impl Lesson {
    /// The most frequent warnings and rules of thumb of a Grimoire; of equally frequent ones the newest.
    #[must_use]
    pub fn of(memories: &[Memory]) -> Vec<Self> {
        let of_kind = |kind: MemoryKind| {
            let mut found: HashMap<String, (u64, u64)> = HashMap::new();
            for memory in memories.iter().filter(|memory| memory.kind == kind) {
                let text = memory.text.as_data().chars().take(LESSON).collect();
                let (times, at) = found.entry(text).or_default();
                (*times, *at) = (times.saturating_add(1), memory.at.max(*at));
            }
            let mut found: Vec<_> = found.into_iter().collect();
            found.sort_unstable_by(|(one, (times, at)), (other, (often, late))| {
                (often, late).cmp(&(times, at)).then_with(|| one.cmp(other))
            });
            found.into_iter().take(LESSONS).map(move |(text, (times, at))| Self {
                kind,
                times,
                at,
                text: Untrusted::new(text),
            })
        };
        of_kind(MemoryKind::Warning).chain(of_kind(MemoryKind::Heuristic)).collect()
    }
}

/// A text that stays data on its way through JSON.
pub(crate) mod as_data {
    use bardo_store::Untrusted;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(text: &Untrusted, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(text.as_data())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Untrusted, D::Error> {
        String::deserialize(from).map(Untrusted::new)
    }
}

/// A dead Golem's last word. Money in micro-dollars, times in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Testament {
    /// Whose it is.
    pub golem: B256,
    /// For whom.
    pub owner: Address,
    /// Its first tick.
    pub born: u64,
    /// When its death was accepted.
    pub died: u64,
    /// How many ticks it had.
    pub ticks: u64,
    /// What it died of.
    pub cause: DeathTrigger,
    /// What it did.
    pub deeds: Deeds,
    /// What its holdings were worth.
    pub worth: Worth,
    /// What its life cost.
    pub cost: u64,
    /// What it learned.
    pub lessons: Vec<Lesson>,
    /// How its settlement is called: what the registry was told.
    pub settlement: B256,
    /// What is left for its owner to look after.
    pub deferred: Vec<DeferredPosition>,
    /// His grant for running costs, where it had one: it gave that up, and only he can end it (SPEC D19).
    #[serde(default)]
    pub runway: Option<LeftGrant>,
}

/// A grant that lives on the chain, and that nobody uses any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LeftGrant {
    /// Its hash.
    pub delegation_hash: DelegationHash,
    /// The first second in which it is over by itself.
    pub expires_at: u64,
}

impl Testament {
    /// Writes it, from what the store has of a life: its chain for deeds and worth, its Grimoire for lessons.
    pub async fn written(
        store: &Store,
        life: &Life,
        owner: Address,
        cause: DeathTrigger,
        settlement: &DeathSettlement,
        died: u64,
    ) -> Result<Self, BundleError> {
        let (records, _) = bequest::chain(store).await?;
        let memories = bequest::grimoire(store).await?;
        Ok(Self {
            golem: store.golem(),
            owner,
            born: life.born,
            died,
            ticks: life.ticks,
            cause,
            deeds: Deeds::of(&records),
            worth: Worth {
                start: records.iter().find_map(worth),
                peak: life.peak(),
                end: life.worth,
            },
            cost: life.cost,
            lessons: Lesson::of(&memories),
            settlement: settlement.hash(),
            deferred: settlement.positions_deferred().to_vec(),
            runway: left_grant(store).await?,
        })
    }

    /// The same for people, in Markdown. Words that may be anybody's stand in code spans: they are shown, and format nothing.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let Self { golem, owner, deeds, worth, .. } = self;
        let known = |worth: Option<u64>| worth.map_or_else(|| "unknown".to_owned(), dollars);
        let cause = match self.cause {
            DeathTrigger::Age => "Its time was over.",
            DeathTrigger::Exhaustion => "It could not pay for itself.",
            DeathTrigger::Expiry => "Its grant, or its machine, had no time left.",
            DeathTrigger::Loss => "It lost all that its owner bears.",
            DeathTrigger::Staleness => "It no longer understood its world.",
            DeathTrigger::OwnerKillSwitch => "It was ended by its owner, or by whom he let do it.",
            DeathTrigger::GrantEnded => "Its grant was taken, or ended.",
        };
        let mut text = format!(
            "# Testament\n\n\
             Of Golem {golem}, for {owner}.\n\n\
             - Born {}, died {}, after {} ticks.\n\
             - {cause}\n\n\
             ## What it did\n\n\
             - {} intents took effect, {} were refused, {} failed in their block.\n\
             - Set aside for what took effect: {}.\n\
             - Worth at the start {}, at most {}, at the end {}.\n\
             - Its life cost {}.\n\n\
             ## What it learned\n\n",
            date(self.born),
            date(self.died),
            self.ticks,
            deeds.done,
            deeds.refused,
            deeds.failed,
            dollars(deeds.spent),
            known(worth.start),
            dollars(worth.peak),
            known(worth.end),
            dollars(self.cost),
        );
        if self.lessons.is_empty() {
            text.push_str("Nothing that it kept.\n");
        } else {
            text.push_str("What stands `like this` is quoted as data, whoever wrote it.\n\n");
        }
        for Lesson { kind, times, at, text: words } in &self.lessons {
            let (kind, words) = (kind.name(), quoted(words.as_data()));
            // Writing to a text does not fail.
            let _ = writeln!(text, "- {kind}, {times} times, last {}: {words}", date(*at));
        }
        text.push_str("\n## What is left to you\n\n");
        if self.deferred.is_empty() && self.runway.is_none() {
            text.push_str("Nothing stayed open.\n");
        }
        if let Some(LeftGrant { delegation_hash, expires_at }) = self.runway {
            let _ = writeln!(
                text,
                "- Your grant {delegation_hash} for its running costs. It gave that up and its key is wiped, and on the chain it \
                 counts until {} unless you end it: `bardo delegation revoke --context {FOLDER}/{RUNWAY} --rpc URL`, in its folder.",
                date(expires_at)
            );
        }
        for DeferredPosition { of, amount, reason, transaction } in &self.deferred {
            let what = match of {
                Holding::Native => "the chain's coin".to_owned(),
                Holding::Token(token) => format!("token {token}"),
                Holding::Position { contract, id } => format!("position {id} of {contract}"),
            };
            let _ = write!(text, "- {amount} base units of {what}: {}", quoted(reason));
            let _ = match transaction {
                Some(hash) => writeln!(text, " (transaction {hash})"),
                None => writeln!(text),
            };
        }
        let _ = writeln!(text, "\nSettlement {}, as the registry has it.", self.settlement);
        text
    }
}

/// The runway that it gave up before its end.
async fn left_grant(store: &Store) -> Result<Option<LeftGrant>, BundleError> {
    let runway = Runways::new(store).ended().await?;
    Ok(runway.and_then(|runway| {
        let (delegation_hash, expires_at) = (runway.grant()?, runway.expires_at);
        Some(LeftGrant { delegation_hash, expires_at })
    }))
}

/// What the holdings were worth by a record of a tick.
fn worth(record: &Record) -> Option<u64> {
    if record.kind != "step" {
        return None;
    }
    let body: Value = serde_json::from_str(&record.body).ok()?;
    if body.get("name")?.as_str()? == CELL { body.get("to")?.get("worth")?.as_u64() } else { None }
}

fn dollars(micros: u64) -> String {
    Dollars(U256::from(micros)).to_string()
}

fn date(second: u64) -> String {
    if second > LAST_SECOND {
        return format!("in second {second}");
    }
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(second)).to_string()
}

/// Somebody's words in a code span, on one line: without a backtick nothing in it ends the span.
fn quoted(words: &str) -> String {
    let words = printable(words).replace('`', "'");
    if words.trim().is_empty() { "(no words)".into() } else { format!("`{words}`") }
}
