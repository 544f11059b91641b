//! How often a Golem looks at the world, and when it sleeps: HEARTBEAT.md, read (SPEC L1, L4).
//!
//! ```text
//! # Heartbeat                      any text; only lines of this form count
//! - every: 1h                      how often, when all is as usual
//! - fastest: 5m                    and never more often
//! - slowest: 6h                    nor less
//! - dream: 1h every 24h            the last hour of each day of its life
//! - missed: 3                      so many ticks late, and its owner is told
//! ```

use golem_custody::Mood;
use golem_delegation::grant::Phase;
use std::{str::FromStr, time::Duration};

/// Most letters that are read.
const MOST: usize = 64 * 1024;
/// Shortest tick, in seconds: what a chain can follow.
const LEAST: u64 = 1;
/// Longest tick, in seconds: a week.
const MOST_SECONDS: u64 = 7 * 86_400;

/// When a Golem sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dreams {
    /// One sleep in so many seconds.
    pub every: u64,
    /// For so many, at their end.
    pub length: u64,
}

/// How often a Golem looks at the world, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rhythm {
    /// When all is as usual.
    pub every: u64,
    /// Never more often.
    pub fastest: u64,
    /// Never less often.
    pub slowest: u64,
    /// When it sleeps; never, if there is none.
    pub dreams: Option<Dreams>,
    /// How many ticks may be missing before somebody is told.
    pub missed: u32,
}

impl Default for Rhythm {
    /// Once an hour; between five minutes and six hours; three ticks may be missing.
    fn default() -> Self {
        Self { every: 3_600, fastest: 300, slowest: 21_600, dreams: None, missed: 3 }
    }
}

/// Why a text is no rhythm. Nothing starts with one that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RhythmError {
    /// Too long.
    #[error("HEARTBEAT.md is longer than {MOST} letters")]
    Long,
    /// A word before a colon that means nothing here.
    #[error(
        "line {line} of HEARTBEAT.md: `{key}` is none of every, fastest, slowest, dream and missed"
    )]
    Unknown {
        /// Its number, from one.
        line: usize,
        /// The word.
        key: String,
    },
    /// The same twice.
    #[error("line {line} of HEARTBEAT.md: `{key}` was said before")]
    Twice {
        /// Its number, from one.
        line: usize,
        /// The word.
        key: String,
    },
    /// A value that is none.
    #[error("line {line} of HEARTBEAT.md: {wanted}, as in `- {example}`")]
    Value {
        /// Its number, from one.
        line: usize,
        /// What it should be.
        wanted: &'static str,
        /// One that is.
        example: &'static str,
    },
    /// Bounds that do not hold each other.
    #[error(
        "HEARTBEAT.md: fastest {fastest} s, every {every} s and slowest {slowest} s are not in that order"
    )]
    Order {
        /// Shortest.
        fastest: u64,
        /// Usual.
        every: u64,
        /// Longest.
        slowest: u64,
    },
}

/// Lines `- key: value` of a text, with their numbers. Everything else in it is for people.
pub(crate) fn settings(text: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let (key, value) = line.trim().strip_prefix("- ")?.split_once(':')?;
        let (key, value) = (key.trim(), value.trim());
        let word = !key.is_empty() && key.chars().all(|char| char.is_ascii_lowercase());
        (word && !value.is_empty()).then_some((number, key, value))
    })
}

impl FromStr for Rhythm {
    type Err = RhythmError;

    fn from_str(text: &str) -> Result<Self, RhythmError> {
        if text.len() > MOST {
            return Err(RhythmError::Long);
        }
        let (mut every, mut fastest, mut slowest) = (None, None, None);
        let (mut dreams, mut missed) = (None, None);
        for (line, key, value) in settings(text) {
            let twice = match key {
                "every" => every.replace(seconds(line, value, "every: 1h")?).is_some(),
                "fastest" => fastest.replace(seconds(line, value, "fastest: 5m")?).is_some(),
                "slowest" => slowest.replace(seconds(line, value, "slowest: 6h")?).is_some(),
                "dream" => dreams.replace(dream(line, value)?).is_some(),
                "missed" => missed.replace(count(line, value)?).is_some(),
                _ => {
                    return Err(RhythmError::Unknown { line, key: key.chars().take(40).collect() });
                }
            };
            if twice {
                return Err(RhythmError::Twice { line, key: key.to_owned() });
            }
        }
        let usual = Self::default();
        let every = every.unwrap_or(usual.every);
        let rhythm = Self {
            every,
            fastest: fastest.unwrap_or(usual.fastest.min(every)),
            slowest: slowest.unwrap_or(usual.slowest.max(every)),
            dreams,
            missed: missed.unwrap_or(usual.missed),
        };
        let Self { fastest, slowest, .. } = rhythm;
        if fastest > every || every > slowest {
            return Err(RhythmError::Order { fastest, every, slowest });
        }
        Ok(rhythm)
    }
}

fn seconds(line: usize, value: &str, example: &'static str) -> Result<u64, RhythmError> {
    let wanted = "a time between a second and a week is wanted";
    let parsed = humantime::parse_duration(value).ok().map(|time: Duration| time.as_secs());
    parsed.filter(|seconds| (LEAST..=MOST_SECONDS).contains(seconds)).ok_or(RhythmError::Value {
        line,
        wanted,
        example,
    })
}

fn dream(line: usize, value: &str) -> Result<Dreams, RhythmError> {
    const EXAMPLE: &str = "dream: 1h every 24h";
    let wanted = "how long, and how often, are wanted, and the first is less than the second";
    let wrong = || RhythmError::Value { line, wanted, example: EXAMPLE };
    let (length, every) = value.split_once(" every ").ok_or_else(wrong)?;
    let (length, every) = (seconds(line, length, EXAMPLE)?, seconds(line, every, EXAMPLE)?);
    if length < every { Ok(Dreams { every, length }) } else { Err(wrong()) }
}

fn count(line: usize, value: &str) -> Result<u32, RhythmError> {
    let wanted = "a number from 1 to 1000 is wanted";
    let parsed = value.parse().ok().filter(|count| (1..=1_000).contains(count));
    parsed.ok_or(RhythmError::Value { line, wanted, example: "missed: 3" })
}

/// What a rhythm goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How far its life is.
    pub phase: Phase,
    /// How it feels.
    pub mood: Mood,
    /// How far its holdings moved since the last tick, in basis points, up or down.
    pub moved_bps: u32,
    /// Whether it did something.
    pub acted: bool,
    /// How many ticks there were in a row in which nothing happened.
    pub quiet: u32,
}

impl Rhythm {
    /// Seconds until the next tick: four times as often when something is the matter, twice as often after a deed, half as often with
    /// every fourth tick in which nothing happened; within the owner's bounds.
    ///
    /// ```
    /// use golem_delegation::grant::Phase;
    /// use golem_runtime::{Pace, Rhythm};
    /// let calm = Pace { phase: Phase::Stable, mood: Default::default(), moved_bps: 0, acted: false, quiet: 0 };
    /// let rhythm = Rhythm::default();
    /// assert_eq!(rhythm.pause(&calm), 3_600);
    /// assert_eq!(rhythm.pause(&Pace { moved_bps: 200, ..calm }), 900);
    /// assert_eq!(rhythm.pause(&Pace { quiet: 99, ..calm }), 21_600);
    /// ```
    #[must_use]
    pub fn pause(&self, pace: &Pace) -> u64 {
        let excited = pace.mood.arousal >= 50 || pace.moved_bps >= 200;
        let pause = if excited || pace.phase >= Phase::Declining {
            self.every / 4
        } else if pace.acted {
            self.every / 2
        } else {
            self.every.saturating_mul(1 << (pace.quiet / 4).min(3))
        };
        pause.clamp(self.fastest, self.slowest)
    }

    /// How many ticks did not come, of a Golem whose next one was due at `next_at`: that one, and those that should have followed it.
    ///
    /// ```
    /// let rhythm = golem_runtime::Rhythm::default();
    /// assert_eq!([7_000, 7_001, 10_601].map(|now| rhythm.missed_ticks(7_000, now)), [0, 1, 2]);
    /// ```
    #[must_use]
    pub fn missed_ticks(&self, next_at: u64, now: u64) -> u64 {
        match now.saturating_sub(next_at) {
            0 => 0,
            late => late
                .saturating_sub(1)
                .checked_div(self.every)
                .map_or(1, |more| more.saturating_add(1)),
        }
    }

    /// Whether that is more than somebody should not be told of.
    #[must_use]
    pub fn is_anomaly(&self, missed: u64) -> bool {
        missed >= self.missed.into()
    }

    /// Whether a Golem that was born then sleeps now.
    #[must_use]
    pub fn is_dreaming(&self, born: u64, now: u64) -> bool {
        self.dreams.is_some_and(|Dreams { every, length }| {
            now.saturating_sub(born).checked_rem(every).is_some_and(|at| at >= every - length)
        })
    }

    /// The next second in which it falls asleep or wakes up.
    #[must_use]
    pub fn next_turn(&self, born: u64, now: u64) -> Option<u64> {
        let Dreams { every, length } = self.dreams?;
        let at = now.saturating_sub(born).checked_rem(every)?;
        let asleep = every - length;
        let left = if at < asleep { asleep - at } else { every - at };
        now.checked_add(left)
    }
}
