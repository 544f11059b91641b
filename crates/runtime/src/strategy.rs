//! STRATEGY.md, read: what a Golem is to do, in a few lines that a person writes.
//!
//! ```text
//! - strategy: dca                  or rebalance
//! - sell: settlement               the charter's settlement asset, weth, or an address that it lists
//! - buy: weth
//! - amount: $50
//! - every: 1d
//!
//! - strategy: rebalance
//! - token: weth
//! - against: settlement
//! - target: 40%
//! - band: 5%
//! ```
//!
//! Lines `goal`, `never` and `budget` are for people. A text that names no strategy is one of a Golem that only looks on.

use crate::{Dca, Rebalance, rhythm::settings};
use alloy_primitives::Address;
use golem_delegation::terms::{GolemCharter, Role};
use std::collections::BTreeMap;

/// What a Golem is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strategy {
    /// Nothing was said yet.
    Observe,
    /// Buy the same for the same.
    Dca(Dca),
    /// Keep a share.
    Rebalance(Rebalance),
}

/// Why a text is no strategy. Nothing starts with one that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StrategyError {
    /// A word before a colon that means nothing there.
    #[error("line {line} of STRATEGY.md: `{key}` means nothing {here}")]
    Unknown {
        /// Its number, from one.
        line: usize,
        /// The word.
        key: String,
        /// For which strategy.
        here: String,
    },
    /// The same twice.
    #[error("line {line} of STRATEGY.md: `{key}` was said before")]
    Twice {
        /// Its number, from one.
        line: usize,
        /// The word.
        key: String,
    },
    /// Something that it needs.
    #[error("STRATEGY.md does not say `{key}`, as in `- {example}`")]
    Missing {
        /// The word.
        key: &'static str,
        /// How it is said.
        example: &'static str,
    },
    /// A value that is none.
    #[error("line {line} of STRATEGY.md: {wanted}, as in `- {example}`")]
    Value {
        /// Its number, from one.
        line: usize,
        /// What it should be.
        wanted: &'static str,
        /// One that is.
        example: &'static str,
    },
}

/// For people.
const PROSE: [&str; 3] = ["goal", "never", "budget"];

struct Said<'a>(BTreeMap<&'a str, (usize, &'a str)>);

impl<'a> Said<'a> {
    fn of(text: &'a str) -> Result<Self, StrategyError> {
        let mut said = BTreeMap::new();
        for (line, key, value) in settings(text) {
            if PROSE.contains(&key) {
                continue;
            }
            if said.insert(key, (line, value)).is_some() {
                return Err(StrategyError::Twice { line, key: key.to_owned() });
            }
        }
        Ok(Self(said))
    }

    fn take(
        &mut self,
        key: &'static str,
        example: &'static str,
    ) -> Result<(usize, &'a str), StrategyError> {
        self.0.remove(key).ok_or(StrategyError::Missing { key, example })
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        wanted: &'static str,
        example: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StrategyError> {
        let (line, value) = self.take(key, example)?;
        read(value).ok_or(StrategyError::Value { line, wanted, example })
    }

    fn end(self, here: &str) -> Result<(), StrategyError> {
        match self.0.into_iter().next() {
            None => Ok(()),
            Some((key, (line, _))) => {
                let key = key.chars().take(40).collect();
                Err(StrategyError::Unknown { line, key, here: here.to_owned() })
            }
        }
    }
}

impl Strategy {
    /// Of the owner's words. Tokens are those that his charter lists and gives a price: a name of somebody else's choosing is never one
    /// (ATK-25).
    pub fn read(text: &str, charter: &GolemCharter) -> Result<Self, StrategyError> {
        const LISTED: &str = "a token that the charter lists with a feed is wanted";
        let mut said = Said::of(text)?;
        let token = |word: &str| {
            let tokens = &charter.listing.tokens;
            let address = match word {
                "settlement" => charter.settlement_asset,
                "weth" => tokens.iter().find(|one| one.role == Some(Role::Weth))?.token,
                other => other.parse::<Address>().ok()?,
            };
            tokens.iter().any(|one| one.token == address).then_some(address)
        };
        if !said.0.contains_key("strategy") {
            said.end("without a line `strategy`")?;
            return Ok(Self::Observe);
        }
        let (line, name) = said.take("strategy", "strategy: dca")?;
        let strategy = match name {
            "dca" => Self::Dca(Dca {
                sell: said.read("sell", LISTED, "sell: settlement", token)?,
                buy: said.read("buy", LISTED, "buy: weth", token)?,
                micro_dollars: said.read("amount", "dollars are wanted", "amount: $50", dollars)?,
                every: said.read("every", "a time is wanted", "every: 1d", seconds)?,
            }),
            "rebalance" => Self::Rebalance(Rebalance {
                token: said.read("token", LISTED, "token: weth", token)?,
                against: said.read("against", LISTED, "against: settlement", token)?,
                target_bps: said.read("target", "a share is wanted", "target: 40%", percent)?,
                band_bps: said.read("band", "a share is wanted", "band: 5%", percent)?,
            }),
            _ => {
                let wanted = "dca or rebalance is wanted";
                return Err(StrategyError::Value { line, wanted, example: "strategy: dca" });
            }
        };
        said.end(&format!("for {name}"))?;
        Ok(strategy)
    }
}

/// Whole dollars or cents, as micro-dollars.
fn dollars(text: &str) -> Option<u64> {
    let (whole, cents) = match text.strip_prefix('$')?.split_once('.') {
        None => (text.strip_prefix('$')?, 0),
        Some((whole, cents)) if cents.len() == 2 => (whole, digits(cents)?),
        Some(_) => return None,
    };
    let micro = digits(whole)?.checked_mul(1_000_000)?.checked_add(cents.checked_mul(10_000)?)?;
    (micro > 0).then_some(micro)
}

/// Whole percents or hundredths of one, as basis points.
fn percent(text: &str) -> Option<u16> {
    let (whole, part) = match text.strip_suffix('%')?.split_once('.') {
        None => (text.strip_suffix('%')?, 0),
        Some((whole, part)) if part.len() == 2 => (whole, digits(part)?),
        Some(_) => return None,
    };
    let bps = digits(whole)?.checked_mul(100)?.checked_add(part)?;
    u16::try_from(bps).ok().filter(|bps| (1..=10_000).contains(bps))
}

/// Nothing but digits: no sign, no space.
fn digits(text: &str) -> Option<u64> {
    let all = !text.is_empty() && text.chars().all(|char| char.is_ascii_digit());
    if all { text.parse().ok() } else { None }
}

fn seconds(text: &str) -> Option<u64> {
    let seconds = humantime::parse_duration(text).ok()?.as_secs();
    (seconds > 0).then_some(seconds)
}
