//! What a Golem sets out in a tick, written down before: what it tells once that took effect, and what it wanted.
//!
//! ```text
//! promised on the disk ──► reserved, signed, sent ──► took effect ──► told once, by the deed's name
//!                                 │
//!                                 └─ killed, or not settled: the books know what became of it, and the next tick tells
//!
//! wanted, on the disk ───► reserved, signed, sent ──► the tick is recorded
//!                                 │
//!                                 └─ killed, or a fault behind it: done again, the tick counts it as done, whatever it wants then
//! ```

use crate::{
    DeathTrigger, Golem, GolemEvent, Life, Outcome, TickError, Wish, approval::Fate, crash,
};
use alloy_primitives::Address;
use golem_custody::{Books as _, Ending, IntentId, Steps as _};
use golem_delegation::grant::Phase;
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

/// Something that was wanted, and was about to be done.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Wanted {
    /// Its name in the books.
    intent: IntentId,
    /// What it is.
    wish: Wish,
    /// The second of its tick.
    at: u64,
}

/// Those of one tick.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Promises {
    /// How many ticks were behind it.
    tick: u64,
    /// Whether it saw a Feed.
    fed: bool,
    /// What made it Terminal, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ends_of: Option<DeathTrigger>,
    /// All of them.
    owed: Vec<Owed>,
    /// What it wanted and set out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    wanted: Vec<Wanted>,
}

/// What a tick of this number did before it was interrupted.
#[derive(Default)]
pub(crate) struct Before {
    /// Whether it saw a Feed.
    pub(crate) fed: bool,
    /// What it wanted and did, or may have done.
    pub(crate) deeds: Vec<(Wish, Outcome)>,
}

impl Golem {
    /// Tells what took effect since the last tick ended, and counts as done what was done in a tick that never was recorded.
    pub(crate) async fn recall(&self, next: &mut Life, now: u64) -> Result<Before, TickError> {
        // Those of a tick that came to its end are in its life, as far as they are afloat.
        let (_, kept) = self.promises_of_this_tick().await?;
        add(&mut next.owed, kept.owed);
        // What was not settled in its tick may be by now.
        let afloat = !next.owed.is_empty() || !kept.wanted.is_empty();
        if let (true, Some(lane)) = (afloat, &self.lane) {
            lane.look_back().await;
        }
        self.keep_word(next, now).await?;
        // Told before it was written down; what its clocks say by now is another matter.
        if next.seen == Some(Phase::Terminal) {
            next.ends_of = next.ends_of.or(kept.ends_of);
        }
        let mut deeds = Vec::new();
        for Wanted { intent, wish, at } in kept.wanted {
            if let Some(outcome) = self.outcome_before(intent).await? {
                self.learn(next, &outcome, at);
                deeds.push((wish, outcome));
            }
        }
        Ok(Before { fed: kept.fed, deeds })
    }

    /// What the books have of something that was set out: done, or perhaps done. What was never reserved, failed or was given up is
    /// none of these, and wanted again.
    async fn outcome_before(&self, intent: IntentId) -> Result<Option<Outcome>, TickError> {
        Ok(match self.fate(intent).await? {
            Fate::Ended(Ending::Done { .. }) => Some(Outcome::Done),
            Fate::Open => Some(Outcome::Unsettled("its tick was interrupted".to_owned())),
            Fate::Ended(Ending::Failed { .. } | Ending::Abandoned { .. }) | Fate::Unknown => None,
        })
    }

    /// The name of the next wish of this tick, of which `so_far` were named: one that the books never had. What has one of before is
    /// done, or was given up.
    pub(crate) async fn name_of_wish(&self, so_far: &mut usize) -> Result<IntentId, TickError> {
        loop {
            let name = self.name("wish", *so_far);
            *so_far = so_far.saturating_add(1);
            if self.fate(name).await? == Fate::Unknown {
                return Ok(name);
            }
        }
    }

    /// Writes down what is wanted, before anything of it is set out.
    pub(crate) async fn sets_out(
        &self,
        intent: IntentId,
        wish: &Wish,
        now: u64,
    ) -> Result<(), TickError> {
        let (version, mut kept) = self.promises_of_this_tick().await?;
        let mut wanted = Vec::new();
        for one in kept.wanted {
            // What came to nothing is forgotten: a tick may be begun again for days.
            if one.intent != intent && self.outcome_before(one.intent).await?.is_some() {
                wanted.push(one);
            }
        }
        wanted.push(Wanted { intent, wish: wish.clone(), at: now });
        kept.wanted = wanted;
        self.keep_promises(version, &kept, now).await?;
        crash::at("heartbeat.wanted");
        Ok(())
    }

    /// Writes down what will be told, before anything of it is set out.
    pub(crate) async fn promise(
        &self,
        next: &mut Life,
        fed: bool,
        owed: Vec<Owed>,
        now: u64,
    ) -> Result<(), TickError> {
        let (version, mut kept) = self.promises_of_this_tick().await?;
        add(&mut next.owed, owed);
        kept.fed |= fed;
        kept.ends_of = next.ends_of;
        kept.owed.clone_from(&next.owed);
        self.keep_promises(version, &kept, now).await
    }

    async fn keep_promises(
        &self,
        version: u64,
        promises: &Promises,
        now: u64,
    ) -> Result<(), TickError> {
        let value =
            serde_json::to_value(promises).map_err(|error| TickError::Books(error.into()))?;
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

    /// What was promised in the tick of this number; nothing yet where the newest is of another.
    async fn promises_of_this_tick(&self) -> Result<(u64, Promises), TickError> {
        let tick = self.life.ticks;
        let none = Promises { tick, ..Promises::default() };
        let Some(step) = self.store.load(CELL).await.map_err(TickError::Books)? else {
            return Ok((0, none));
        };
        let kept = serde_json::from_value(step.value);
        let kept: Promises = kept.map_err(|error| TickError::Books(error.into()))?;
        Ok((step.version, if kept.tick == tick { kept } else { none }))
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
