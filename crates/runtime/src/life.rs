//! What a Golem has to know of itself from one tick to the next, on disk between them.

use crate::{Clocks, DeathReserve, DeathTrigger, Earnings, Experience, Held, Owed, Pending};
use alloy_primitives::Address;
use golem_chain::Possession;
use golem_custody::{BoxError, Mood, Steps};
use golem_delegation::grant::Phase;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where it is kept. Each tick is one record of the audit chain.
pub(crate) const CELL: &str = "life";

/// A life, as far as it has come. Money in micro-dollars, times in seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Life {
    /// When it had its first tick.
    pub born: u64,
    /// How many ticks are behind it.
    pub ticks: u64,
    /// When the last one was.
    pub ticked_at: u64,
    /// When the next one is due.
    pub next_at: u64,
    /// The phase that it is in, whether or not the registry has it.
    pub phase: Phase,
    /// The three clocks, as they last stood.
    pub clocks: Clocks,
    /// How it feels.
    pub mood: Mood,
    /// Whether it sleeps.
    pub dreaming: bool,
    /// What came of what it expected.
    pub experience: Experience,
    /// What its holdings were last worth; none where nobody could say.
    pub worth: Option<u64>,
    /// The most that they were worth since its birth or its last Feed, moved by what came and left: the economic clock's.
    pub mark: u64,
    /// The same since its birth: its policy's.
    pub high_water: u64,
    /// When something that it wanted last took effect.
    pub last_deed: Option<u64>,
    /// Ticks in a row in which nothing happened.
    pub quiet: u32,
    /// When the newest record of its log was last anchored in the registry.
    pub anchored_at: u64,
    /// When running costs were last paid.
    pub paid_at: u64,
    /// What it cost so far.
    pub cost: u64,
    /// Why it looks on; none while it acts.
    pub observing: Option<String>,
    /// What it asked its owner about, and goes on proposing until he answers or it is too late (SPEC P8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Pending>,
    /// The key that it acts by, and since when; none before it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyed: Option<Keyed>,
    /// What it held when it last looked, of tokens that had a price.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub held: BTreeMap<Address, Held>,
    /// What that brought it.
    #[serde(default)]
    pub earnings: Earnings,
    /// The newest warning that a dream was about; none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dreamt: Option<u64>,
    /// The phase that the registry last had, as far as it knows: one before that is a Feed. None before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Phase>,
    /// What it had when all of that last had a price, each thing by itself; none before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possessions: Option<Vec<Possession>>,
    /// What its books had counted for its key then, its children's with it.
    #[serde(default)]
    pub spent: u64,
    /// The most that its holdings were ever worth, whoever put them there; 0 in what was kept before there was this.
    #[serde(default)]
    pub best: u64,
    /// The part of its cost that its thoughts were.
    #[serde(default)]
    pub inference: u64,
    /// What it tells once that took effect which is afloat.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<Owed>,
    /// What made it Terminal; none before that, and in what was kept before there was this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_of: Option<DeathTrigger>,
    /// What its death would cost its key, and what that has (SPEC L5); none before it could act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve: Option<DeathReserve>,
}

/// Since when a key is in use: what its age counts from (SPEC K3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Keyed {
    /// The key.
    pub key: Address,
    /// The second in which it began.
    pub at: u64,
    /// How many ticks its Golem had behind it then.
    pub ticks: u64,
}

impl Life {
    /// That of a newborn.
    #[must_use]
    pub fn born(now: u64) -> Self {
        Self {
            born: now,
            ticks: 0,
            ticked_at: now,
            next_at: now,
            phase: Phase::Thriving,
            clocks: Clocks {
                economic: crate::WHOLE,
                epistemic: crate::WHOLE,
                stochastic: crate::WHOLE,
            },
            mood: Mood::default(),
            dreaming: false,
            experience: Experience::default(),
            worth: None,
            mark: 0,
            high_water: 0,
            last_deed: None,
            quiet: 0,
            anchored_at: now,
            paid_at: now,
            cost: 0,
            observing: None,
            pending: Vec::new(),
            keyed: None,
            held: BTreeMap::new(),
            earnings: Earnings::default(),
            dreamt: None,
            seen: None,
            possessions: None,
            spent: 0,
            best: 0,
            inference: 0,
            owed: Vec::new(),
            ends_of: None,
            reserve: None,
        }
    }

    /// The most that its holdings were ever worth.
    #[must_use]
    pub const fn peak(&self) -> u64 {
        if self.best == 0 { self.high_water } else { self.best }
    }

    /// Whether it does only what its death needs, because its key has no more than that costs.
    #[must_use]
    pub fn is_sparing(&self) -> bool {
        self.reserve.is_some_and(|reserve| reserve.is_short())
    }

    /// As it was kept, and how often; none before the first tick.
    pub async fn load(steps: &impl Steps) -> Result<Option<(u64, Self)>, BoxError> {
        let Some(step) = steps.load(CELL).await? else { return Ok(None) };
        Ok(Some((step.version, serde_json::from_value(step.value)?)))
    }

    pub(crate) async fn keep(
        &self,
        steps: &impl Steps,
        version: u64,
        now: u64,
    ) -> Result<u64, BoxError> {
        steps.advance(CELL, version, &serde_json::to_value(self)?, now).await?;
        Ok(version.saturating_add(1))
    }
}
