//! What a Golem lives on: pure reckoning, in whole numbers (INV-3, SPEC K9).

use alloy_primitives::{B256, U512};
use std::collections::BTreeMap;

/// Everything, in basis points.
const WHOLE: u64 = 10_000;

/// What a day costs, in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DailyCosts {
    /// Models.
    pub inference: u64,
    /// Transactions.
    pub gas: u64,
    /// The machine.
    pub compute: u64,
    /// Feeds and the like.
    pub data: u64,
}

impl DailyCosts {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u128 {
        [self.inference, self.gas, self.compute, self.data].map(u128::from).iter().sum()
    }
}

/// What comes in, what goes out, and what is there; in micro-dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metabolism {
    /// What is there to live on.
    pub balance: u64,
    /// What a day brings.
    pub daily_revenue: u64,
    /// What a day costs.
    pub daily_costs: DailyCosts,
}

/// Revenue beside costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sustainability {
    /// In basis points of the costs: 10,000 pays for itself.
    Share(u64),
    /// It costs nothing.
    Free,
}

/// How a Golem fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fare {
    /// Earns less than a half of its costs.
    Dying,
    /// Earns less than it costs.
    Declining,
    /// Pays for itself.
    SelfSustaining,
    /// Earns more than twice its costs.
    Thriving,
}

/// How long what is there lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lifespan {
    /// So many whole hours; never less than none.
    Hours(u64),
    /// For as long as it earns what it costs.
    Endless,
}

impl Metabolism {
    /// Revenue beside costs.
    ///
    /// ```
    /// use golem_custody::{DailyCosts, Metabolism, Sustainability};
    /// let costs = DailyCosts { inference: 3_000_000, gas: 1_000_000, ..DailyCosts::default() };
    /// let golem = Metabolism { balance: 10_000_000, daily_revenue: 2_000_000, daily_costs: costs };
    /// assert_eq!(golem.sustainability(), Sustainability::Share(5_000));
    /// ```
    #[must_use]
    pub fn sustainability(&self) -> Sustainability {
        let total = self.daily_costs.total();
        if total == 0 {
            return Sustainability::Free;
        }
        let share = u128::from(self.daily_revenue) * u128::from(WHOLE) / total;
        Sustainability::Share(u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// The same in a word.
    #[must_use]
    pub fn fare(&self) -> Fare {
        match self.sustainability() {
            Sustainability::Share(share) if share < WHOLE / 2 => Fare::Dying,
            Sustainability::Share(share) if share < WHOLE => Fare::Declining,
            Sustainability::Share(share) if share <= 2 * WHOLE => Fare::SelfSustaining,
            Sustainability::Share(_) | Sustainability::Free => Fare::Thriving,
        }
    }

    /// How long what is there lasts, at this revenue and these costs.
    ///
    /// ```
    /// use golem_custody::{DailyCosts, Lifespan, Metabolism};
    /// let costs = DailyCosts { compute: 4_000_000, ..DailyCosts::default() };
    /// let golem = Metabolism { balance: 10_000_000, daily_revenue: 2_000_000, daily_costs: costs };
    /// assert_eq!(golem.lifespan(), Lifespan::Hours(120));
    /// ```
    #[must_use]
    pub fn lifespan(&self) -> Lifespan {
        let short = self.daily_costs.total().saturating_sub(u128::from(self.daily_revenue));
        if short == 0 {
            return Lifespan::Endless;
        }
        let hours = u128::from(self.balance) * 24 / short;
        Lifespan::Hours(u64::try_from(hours).unwrap_or(u64::MAX))
    }
}

/// How dear a model may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InferenceTier {
    /// The cheapest: ten to fifty cents a day.
    T0,
    /// Fifty cents to two dollars a day.
    T1,
    /// Two to ten dollars a day.
    T2,
}

/// Which model to ask: a Golem that has little left thinks cheaply, except about what matters most.
///
/// `vitality` and `criticality` are out of 10,000.
///
/// | vitality | revenue beside costs | T2 above | T1 above |
/// |---|---|---|---|
/// | below 3,000 | any | never | 9,000 |
/// | below 5,000 | any | never | 7,000 |
/// | 5,000 and more | below the whole | never | 7,000 |
/// | 5,000 and more | the whole and more | 8,000 | 4,000 |
///
/// ```
/// use golem_custody::{InferenceTier, Sustainability, inference_tier};
/// let earning = Sustainability::Share(12_000);
/// assert_eq!(inference_tier(8_000, 8_001, earning), InferenceTier::T2);
/// assert_eq!(inference_tier(2_999, 9_000, earning), InferenceTier::T0);
/// ```
#[must_use]
pub fn inference_tier(
    vitality: u16,
    criticality: u16,
    sustainability: Sustainability,
) -> InferenceTier {
    let (dear, middle) = if vitality < 3_000 {
        (None, 9_000)
    } else if vitality < 5_000 || sustainability < Sustainability::Share(WHOLE) {
        (None, 7_000)
    } else {
        (Some(8_000), 4_000)
    };
    if dear.is_some_and(|least| criticality > least) {
        InferenceTier::T2
    } else if criticality > middle {
        InferenceTier::T1
    } else {
        InferenceTier::T0
    }
}

/// One part of what a model would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// One of several things: a token, a pool, a direction.
    Choice(String),
    /// How much.
    Amount(u128),
}

/// What a model would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recommendation {
    /// Which model.
    pub model: String,
    /// What to do.
    pub action: String,
    /// With what.
    pub with: BTreeMap<String, Parameter>,
    /// How sure it is, out of 10,000.
    pub confidence: u16,
    /// Of its reasoning, which is kept elsewhere.
    pub reasoning: B256,
}

/// How like two answers are that must be alike before anything is signed: cosine similarity, out of 10,000.
pub const AGREEMENT: u16 = 7_000;

/// Why two models do not agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// It is one model, asked twice.
    SameModel,
    /// They would do different things.
    OtherAction,
    /// They would do it too differently.
    TooFar,
}

/// Whether two models recommend the same: the same action, with parameters whose cosine similarity is at least `least`.
///
/// Each choice is a direction of its own; each amount is measured by the larger of the two. Nothing is rounded.
pub fn agree(one: &Recommendation, other: &Recommendation, least: u16) -> Result<(), Disagreement> {
    if one.model == other.model {
        return Err(Disagreement::SameModel);
    }
    if one.action != other.action {
        return Err(Disagreement::OtherAction);
    }
    let (mut dot, mut own, mut others) = (U512::ZERO, U512::ZERO, U512::ZERO);
    let names =
        one.with.keys().chain(other.with.keys().filter(|name| !one.with.contains_key(*name)));
    for name in names {
        let unit = U512::from(u64::MAX);
        let (a, b, alike) = match (one.with.get(name), other.with.get(name)) {
            (Some(Parameter::Choice(a)), Some(Parameter::Choice(b))) => (unit, unit, a == b),
            (Some(Parameter::Amount(a)), Some(Parameter::Amount(b))) => {
                let (a, b) = (U512::from(*a), U512::from(*b));
                let larger = a.max(b).max(U512::from(1));
                // Two that are nothing are alike, and as large as anything.
                let measured = |amount: U512| {
                    if a.max(b).is_zero() { unit } else { amount.saturating_mul(unit) / larger }
                };
                (measured(a), measured(b), true)
            }
            (a, b) => {
                let there =
                    |answer: Option<&Parameter>| if answer.is_some() { unit } else { U512::ZERO };
                (there(a), there(b), false)
            }
        };
        own = own.saturating_add(a.saturating_mul(a));
        others = others.saturating_add(b.saturating_mul(b));
        if alike {
            dot = dot.saturating_add(a.saturating_mul(b));
        }
    }
    // Who has nothing to add agrees with who has nothing to add.
    if own.is_zero() && others.is_zero() {
        return Ok(());
    }
    // dot / (|one| |other|) >= least / 10,000, squared: all of it is whole and none of it below nothing.
    let (least, whole) = (U512::from(least), U512::from(WHOLE));
    let left = dot.saturating_mul(whole).checked_pow(U512::from(2));
    let right =
        own.checked_mul(others).and_then(|both| both.checked_mul(least.saturating_mul(least)));
    match (left, right) {
        (Some(left), Some(right)) if left >= right => Ok(()),
        _ => Err(Disagreement::TooFar),
    }
}
