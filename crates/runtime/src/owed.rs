//! What a Golem tells once something took effect, written down before that is set out.
//!
//! ```text
//! promised on the disk ──► reserved, signed, sent ──► took effect ──► told once, by the deed's name
//!                                 │
//!                                 └─ killed, or not settled: the books know what became of it, and the next tick tells
//! ```

use crate::{Golem, GolemEvent, Life, TickError};
use alloy_primitives::Address;
use golem_custody::{Books as _, Ending, IntentId, Steps as _};
use serde::{Deserialize, Serialize};

/// Where the promises of a tick are kept while it goes on.
const CELL: &str = "owed";

/// An event, and the deed that it tells of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Owed {
    /// The deed, by its name in the books.
    pub intent: IntentId,
    /// What is told once that took effect.
    pub event: GolemEvent,
}

/// Those of one tick.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Promises {
    /// How many ticks were behind it.
    tick: u64,
    /// Whether it saw a Feed.
    fed: bool,
    /// All of them.
    owed: Vec<Owed>,
}

impl Golem {
    /// Tells what took effect since the last tick ended. Whether a tick of this number saw a Feed before it was interrupted.
    pub(crate) async fn recall(&self, next: &mut Life, now: u64) -> Result<bool, TickError> {
        let (_, kept) = self.promises().await?;
        // Those of a tick that came to its end are in its life, as far as they are afloat.
        let same = kept.tick == self.life.ticks;
        if same {
            add(&mut next.owed, kept.owed);
        }
        // What was not settled in its tick may be by now.
        if let (false, Some(lane)) = (next.owed.is_empty(), &self.lane) {
            lane.look_back().await;
        }
        self.keep_word(next, now).await?;
        Ok(same && kept.fed)
    }

    /// Writes down what will be told, before anything of it is set out.
    pub(crate) async fn promise(
        &self,
        next: &mut Life,
        fed: bool,
        owed: Vec<Owed>,
        now: u64,
    ) -> Result<(), TickError> {
        let (version, kept) = self.promises().await?;
        add(&mut next.owed, owed);
        let tick = self.life.ticks;
        let fed = fed || (kept.fed && kept.tick == tick);
        let value = serde_json::to_value(Promises { tick, fed, owed: next.owed.clone() })
            .map_err(|error| TickError::Books(error.into()))?;
        self.store.advance(CELL, version, &value, now).await.map_err(TickError::Books)
    }

    /// Tells what took effect, forgets what never will, and keeps what is afloat.
    pub(crate) async fn keep_word(&self, next: &mut Life, now: u64) -> Result<(), TickError> {
        if next.owed.is_empty() {
            return Ok(());
        }
        let open = self.store.open().await.map_err(TickError::Books)?;
        for owed in std::mem::take(&mut next.owed) {
            match self.store.ended(owed.intent).await.map_err(TickError::Books)? {
                Some(Ending::Done { .. }) => self.told(next, owed, now).await?,
                // What failed, what was given up, and what was refused before the books had it.
                Some(_) => {}
                None if open.iter().any(|one| one.entry.intent == owed.intent) => {
                    next.owed.push(owed);
                }
                None => {}
            }
        }
        Ok(())
    }

    async fn told(&self, next: &mut Life, owed: Owed, now: u64) -> Result<(), TickError> {
        let event = match owed.event {
            GolemEvent::DreamEnded { .. } => {
                GolemEvent::DreamEnded { memories: self.consolidate(next, now).await? }
            }
            other => other,
        };
        if let GolemEvent::VitalityReported { phase, .. } = event {
            next.seen = next.seen.max(Some(phase));
        }
        // A machine's name has little room, and this one is for nobody to read.
        let name = format!("owed-{}", Address::from_word(owed.intent.0));
        self.fabric.emit_once(&name, &event, now).await?;
        Ok(())
    }

    /// The first of a deed's names that did not end, and whether it took effect under one before. A name whose attempt came to nothing
    /// stays known to the books, as of a process that was killed between its reservation and its signature.
    pub(crate) async fn unused(&self, mut name: IntentId) -> Result<(IntentId, bool), TickError> {
        let mut done = false;
        while let Some(ending) = self.store.ended(name).await.map_err(TickError::Books)? {
            done |= matches!(ending, Ending::Done { .. });
            name = name.again();
        }
        Ok((name, done))
    }

    /// Says what happens in a tick once, however often that tick is begun.
    pub(crate) async fn tell_in_tick(
        &self,
        what: &str,
        event: GolemEvent,
        now: u64,
    ) -> Result<(), TickError> {
        let name = format!("{what}.{}", self.life.ticks);
        self.fabric.emit_once(&name, &event, now).await?;
        Ok(())
    }

    async fn promises(&self) -> Result<(u64, Promises), TickError> {
        let Some(step) = self.store.load(CELL).await.map_err(TickError::Books)? else {
            return Ok((0, Promises::default()));
        };
        let kept = serde_json::from_value(step.value);
        Ok((step.version, kept.map_err(|error| TickError::Books(error.into()))?))
    }
}

/// Of one deed the first promise counts.
fn add(all: &mut Vec<Owed>, more: Vec<Owed>) {
    for one in more {
        if all.iter().all(|known| known.intent != one.intent) {
            all.push(one);
        }
    }
}
