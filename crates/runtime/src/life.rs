//! What a Golem has to know of itself from one tick to the next, on disk between them.

use crate::{Clocks, Experience};
use golem_custody::{BoxError, Mood, Steps};
use golem_delegation::grant::Phase;
use serde::{Deserialize, Serialize};

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
    /// The phase that it last saw or reported.
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
    /// The most that they were worth since its birth or its last Feed: the economic clock's.
    pub mark: u64,
    /// The most that they were ever worth: its policy's.
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
        }
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
