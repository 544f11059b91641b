//! Who says what a Golem wants. What it wants is not how: calls are made of it elsewhere, and judged like everybody's.

use alloy_primitives::{Address, U256};
use async_trait::async_trait;
use golem_custody::{
    AGREEMENT, BoxError, Disagreement, InferenceTier, Mood, Parameter, Recommendation,
    Sustainability, agree, inference_tier,
};
use golem_delegation::grant::Phase;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// All of it, in basis points.
const WHOLE: u128 = 10_000;

/// What an account holds of one token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Held {
    /// In base units.
    pub amount: U256,
    /// In micro-dollars, by the owner's feeds.
    pub worth: u128,
}

/// What a strategist sees of the world. All of it was read on one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Second.
    pub now: u64,
    /// How far the Golem's life is.
    pub phase: Phase,
    /// How much of it is left, out of 10,000.
    pub vitality: u16,
    /// How it feels.
    pub mood: Mood,
    /// What its account holds, of tokens that have a price now; of what it lives on, less the days of its costs that it keeps.
    pub held: BTreeMap<Address, Held>,
    /// What it may still spend today, in micro-dollars.
    pub spendable: u64,
    /// When something that it wanted last took effect.
    pub last_deed: Option<u64>,
    /// What it earns beside what it costs.
    pub sustainability: Sustainability,
}

/// What a Golem can want. Money in micro-dollars.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Wish {
    /// One token for another, at the market.
    Swap {
        /// What is given.
        sell: Address,
        /// What is got.
        buy: Address,
        /// For how much.
        micro_dollars: u64,
    },
}

/// What came of thinking.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Thought {
    /// These, in this order; often none.
    Wishes(Vec<Wish>),
    /// Two models do not agree, and so nothing is wanted.
    Disagreed(Disagreement),
}

/// Port: who says what a Golem wants.
#[async_trait]
pub trait Strategist: Send + Sync {
    /// What it is called in the log.
    fn name(&self) -> &str;

    /// What it wants now.
    async fn think(&self, world: &World) -> Result<Thought, BoxError>;
}

/// Buys the same for the same, every so often: deterministic, and never more than there is or may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dca {
    /// What is given.
    pub sell: Address,
    /// What is got.
    pub buy: Address,
    /// For how much each time, in micro-dollars.
    pub micro_dollars: u64,
    /// Seconds from one to the next.
    pub every: u64,
}

#[async_trait]
impl Strategist for Dca {
    fn name(&self) -> &str {
        "dca"
    }

    async fn think(&self, world: &World) -> Result<Thought, BoxError> {
        let Self { sell, buy, micro_dollars, every } = *self;
        let is_due = world.last_deed.is_none_or(|last| world.now >= last.saturating_add(every));
        let has = world.held.get(&sell).is_some_and(|held| held.worth >= micro_dollars.into());
        let may = world.spendable >= micro_dollars;
        let wish = (is_due && has && may).then_some(Wish::Swap { sell, buy, micro_dollars });
        Ok(Thought::Wishes(wish.into_iter().collect()))
    }
}

/// Keeps one token at a share of what it and another are worth together: sells and buys when the share is off by more than the band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebalance {
    /// The token with the share.
    pub token: Address,
    /// What it is bought with and sold for.
    pub against: Address,
    /// Its share of both, in basis points.
    pub target_bps: u16,
    /// How far off it may be, in basis points of both.
    pub band_bps: u16,
}

#[async_trait]
impl Strategist for Rebalance {
    fn name(&self) -> &str {
        "rebalance"
    }

    async fn think(&self, world: &World) -> Result<Thought, BoxError> {
        let Self { token, against, target_bps, band_bps } = *self;
        // What has no price now is not weighed against what has.
        let (Some(one), Some(other)) = (world.held.get(&token), world.held.get(&against)) else {
            return Ok(Thought::Wishes(Vec::new()));
        };
        let both = one.worth.saturating_add(other.worth);
        let part = |bps: u16| both.saturating_mul(bps.into()) / WHOLE;
        let (wanted, band) = (part(target_bps), part(band_bps));
        let off = one.worth.abs_diff(wanted);
        if off <= band {
            return Ok(Thought::Wishes(Vec::new()));
        }
        let (sell, buy) = if one.worth > wanted { (token, against) } else { (against, token) };
        let micro_dollars = u64::try_from(off).unwrap_or(u64::MAX).min(world.spendable);
        let wish = (micro_dollars > 0).then_some(Wish::Swap { sell, buy, micro_dollars });
        Ok(Thought::Wishes(wish.into_iter().collect()))
    }
}

/// Port: a model that recommends one action.
#[async_trait]
pub trait Model: Send + Sync {
    /// Asks it, as dearly as the tier allows. No recommendation is none.
    async fn recommend(
        &self,
        tier: InferenceTier,
        world: &World,
    ) -> Result<Option<Recommendation>, BoxError>;
}

/// Two models that have to agree before anything is wanted (SPEC K9). How dear they may be is the tiers' table; what they recommend
/// becomes a wish only if it names tokens that the owner listed.
pub struct Counsel {
    first: Arc<dyn Model>,
    second: Arc<dyn Model>,
    tokens: Vec<Address>,
    criticality: u16,
}

impl fmt::Debug for Counsel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tokens, criticality, .. } = self;
        f.debug_struct("Counsel")
            .field("tokens", tokens)
            .field("criticality", criticality)
            .finish_non_exhaustive()
    }
}

impl Counsel {
    /// Of two models, over the tokens that the charter lists. `criticality` is out of 10,000.
    #[must_use]
    pub const fn new(
        first: Arc<dyn Model>,
        second: Arc<dyn Model>,
        tokens: Vec<Address>,
        criticality: u16,
    ) -> Self {
        Self { first, second, tokens, criticality }
    }

    /// A recommendation as a wish; none where it is not one that is understood (INV-4). A model's words choose among what the owner
    /// listed, and are never an address or an amount beyond what may be spent.
    fn wish(&self, recommended: &Recommendation, world: &World) -> Option<Wish> {
        let token = |name: &str| match recommended.with.get(name)? {
            Parameter::Choice(text) => {
                let address: Address = text.parse().ok()?;
                self.tokens.contains(&address).then_some(address)
            }
            Parameter::Amount(_) => None,
        };
        if recommended.action != "swap" {
            return None;
        }
        let (sell, buy) = (token("sell")?, token("buy")?);
        let Parameter::Amount(amount) = recommended.with.get("microDollars")? else { return None };
        let micro_dollars = u64::try_from(*amount).ok()?;
        let has = world.held.get(&sell).is_some_and(|held| held.worth >= micro_dollars.into());
        let fits = micro_dollars > 0 && micro_dollars <= world.spendable && has && sell != buy;
        fits.then_some(Wish::Swap { sell, buy, micro_dollars })
    }
}

#[async_trait]
impl Strategist for Counsel {
    fn name(&self) -> &str {
        "counsel"
    }

    async fn think(&self, world: &World) -> Result<Thought, BoxError> {
        let tier = inference_tier(world.vitality, self.criticality, world.sustainability);
        let (first, second) =
            tokio::join!(self.first.recommend(tier, world), self.second.recommend(tier, world));
        let (first, second) = match (first?, second?) {
            (Some(first), Some(second)) => (first, second),
            (None, None) => return Ok(Thought::Wishes(Vec::new())),
            _ => return Ok(Thought::Disagreed(Disagreement::OtherAction)),
        };
        if let Err(apart) = agree(&first, &second, AGREEMENT) {
            return Ok(Thought::Disagreed(apart));
        }
        // The smaller of what both would do: each of them agrees to that.
        let wishes = [self.wish(&first, world), self.wish(&second, world)];
        let [Some(one), Some(other)] = wishes else { return Ok(Thought::Wishes(Vec::new())) };
        let smaller = match (&one, &other) {
            (Wish::Swap { micro_dollars: a, .. }, Wish::Swap { micro_dollars: b, .. }) if b < a => {
                other
            }
            _ => one,
        };
        Ok(Thought::Wishes(vec![smaller]))
    }
}
