//! What an action is worth: the twin of `Valuation.sol`, `Appraisal.sol`, and of what they ask of `Listing.sol` and
//! `Positions.sol`. Where the contracts ask the chain, this asks [`Observed`]; what is missing there is refused.

use crate::Action;
use alloy_primitives::{
    Address, I256, U256, U512,
    aliases::{U24, U80, U160},
};
use golem_delegation::terms::{Class, ListedToken, Listing};
use std::collections::BTreeMap;

/// Largest answer that is taken for a price: 2^96 − 1.
const MAX_ANSWER: U256 = U256::from_limbs([u64::MAX, u32::MAX as u64, 0, 0]);
/// Largest amount that is valued: 2^128 − 1.
const MAX_AMOUNT: U256 = U256::from_limbs([u64::MAX, u64::MAX, 0, 0]);
/// Micro-dollars of a dollar.
const MICRO: U256 = U256::from_limbs([1_000_000, 0, 0, 0]);

/// What a price feed answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// How many decimals the answer has.
    pub decimals: u8,
    /// Which round it is.
    pub round_id: U80,
    /// The price.
    pub answer: I256,
    /// Second at which it was answered.
    pub updated_at: U256,
    /// The round that the answer is of.
    pub answered_in_round: U80,
}

/// What a rollup's uptime feed answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uptime {
    /// Zero for up.
    pub answer: I256,
    /// Second of the last change.
    pub since: U256,
}

/// What a vault says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultView {
    /// What it is made of.
    pub asset: Address,
    /// What it takes for so many shares, for each number that is asked about.
    pub mint_previews: BTreeMap<U256, U256>,
}

/// A liquidity position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PositionView {
    /// Whose it is.
    pub owner: Address,
    /// Its pool.
    pub pool: PoolKey,
}

/// Which pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PoolKey {
    /// The lower of its two tokens.
    pub token0: Address,
    /// The other.
    pub token1: Address,
    /// Its fee tier.
    pub fee: U24,
}

/// What was read from the chain before judging. What is not here is not known, and refused (INV-4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// Feeds by address.
    pub rounds: BTreeMap<Address, Round>,
    /// Uptime feeds by address.
    pub uptimes: BTreeMap<Address, Uptime>,
    /// Vaults by address.
    pub vaults: BTreeMap<Address, VaultView>,
    /// Positions by manager and number.
    pub positions: BTreeMap<(Address, U256), PositionView>,
    /// Roots of prices, times 2^96, by manager and pool; zero for a pool that is not there or has no price.
    pub pool_roots: BTreeMap<(Address, PoolKey), U160>,
}

/// Why an action has no worth; what the contracts revert with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValuationRefusal {
    /// Zero, negative or beyond any price.
    #[error("feed {feed} answers {answer}, which is no price")]
    Answer {
        /// The feed.
        feed: Address,
        /// What it says.
        answer: I256,
    },
    /// The round has no answer of its own yet.
    #[error("round {round_id} of feed {feed} has the answer of round {answered_in_round}")]
    Incomplete {
        /// The feed.
        feed: Address,
        /// The round.
        round_id: U80,
        /// The earlier one.
        answered_in_round: U80,
    },
    /// Older than the owner allows, never answered, or from the future.
    #[error("feed {feed} answered at {updated_at}, it is {now}, and {max_age} seconds are allowed")]
    Stale {
        /// The feed.
        feed: Address,
        /// When.
        updated_at: U256,
        /// The time given.
        now: u64,
        /// Seconds.
        max_age: u32,
    },
    /// The feed counts in other decimals than the owner signed.
    #[error("feed {feed} has {actual} decimals, the owner signed {signed}")]
    Decimals {
        /// The feed.
        feed: Address,
        /// In the listing.
        signed: u8,
        /// On chain.
        actual: u8,
    },
    /// More than any token has.
    #[error("an amount of {amount} is more than any token has")]
    Amount {
        /// In base units.
        amount: U256,
    },
    /// The rollup's sequencer is down, or came back just now.
    #[error("sequencer feed {feed} says {answer} since {since}; {grace} seconds must pass")]
    Sequencer {
        /// The uptime feed.
        feed: Address,
        /// Zero for up.
        answer: I256,
        /// Second of the last change.
        since: U256,
        /// Seconds.
        grace: u32,
    },
    /// The owner named no feed for this token (ATK-25).
    #[error("the owner named no feed for {token}")]
    UnknownToken {
        /// The token.
        token: Address,
    },
    /// There is no such pool, or it has no price.
    #[error("there is no pool of {token0} and {token1} with fee {fee}, or it has no price")]
    NoPool {
        /// Its first token.
        token0: Address,
        /// Its second.
        token1: Address,
        /// Its fee tier.
        fee: U24,
    },
    /// What had to be asked did not answer, or was not asked.
    #[error("{contract} gave no answer")]
    Unread {
        /// Feed, vault or position manager.
        contract: Address,
    },
    /// Checked arithmetic stopped. The contract panics.
    #[error("decimals or amounts are beyond the arithmetic")]
    Overflow,
    /// Classes that have no worth are not measured.
    #[error("actions of this class are not measured")]
    NotMeasured,
}

impl ValuationRefusal {
    /// Whether there is a price that may be good again by itself, soon.
    #[must_use]
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. } | Self::Incomplete { .. } | Self::Sequencer { .. })
    }

    /// Whether a number was too large, and not a price in doubt.
    #[must_use]
    pub const fn is_amount(&self) -> bool {
        matches!(self, Self::Amount { .. } | Self::Overflow)
    }
}

/// What an action is worth, in micro-dollars; `Worth` of `Appraisal.sol`. Unused fields are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// What leaves the account at most.
    pub out: U256,
    /// What a swap brings back at least.
    pub back: U256,
    /// For liquidity: the pool's own price.
    pub pool_price: U256,
    /// And the feeds' price of the same, alike in scale.
    pub feed_price: U256,
}

/// Whether an action of this class has a worth.
#[must_use]
pub const fn is_measured(class: Class) -> bool {
    matches!(class, Class::Swap | Class::AddLiquidity | Class::RemoveLiquidity | Class::Deposit)
}

/// Prices by the owner's feeds, at one second.
#[derive(Clone, Copy, Debug)]
pub struct Appraisal<'a> {
    listing: &'a Listing,
    observed: &'a Observed,
    now: u64,
}

impl<'a> Appraisal<'a> {
    /// By these feeds, as they were seen, at second `now`.
    #[must_use]
    pub const fn new(listing: &'a Listing, observed: &'a Observed, now: u64) -> Self {
        Self { listing, observed, now }
    }

    /// What all of these send out together. Liquidity that is taken back sends nothing out, and so needs no price here.
    pub fn total(&self, actions: &[Action]) -> Result<U256, ValuationRefusal> {
        actions.iter().filter(|action| sends_out(action.class)).try_fold(
            U256::ZERO,
            |sum, action| {
                sum.checked_add(self.measure(action)?.out).ok_or(ValuationRefusal::Overflow)
            },
        )
    }

    /// The worth of an action whose class is measured.
    pub fn measure(&self, action: &Action) -> Result<Worth, ValuationRefusal> {
        match action.class {
            Class::Swap => Ok(Worth {
                out: self.value_out(action.token_out, action.amount_out)?,
                back: self.value_in(action.token_in, action.minimum_in)?,
                ..Worth::default()
            }),
            Class::Deposit => {
                let (asset, assets) = self.deposited(action)?;
                Ok(Worth { out: self.value_out(asset, assets)?, ..Worth::default() })
            }
            Class::AddLiquidity | Class::RemoveLiquidity => self.liquidity(action),
            _ => Err(ValuationRefusal::NotMeasured),
        }
    }

    /// What `amount` is worth as it leaves, rounded up: a cap must hold for the true value.
    pub fn value_out(&self, token: Address, amount: U256) -> Result<U256, ValuationRefusal> {
        let (product, unit) = self.scaled(token, amount)?;
        product
            .checked_add(unit)
            .map(|sum| (sum - U256::ONE) / unit)
            .ok_or(ValuationRefusal::Overflow)
    }

    /// What `amount` is worth as it arrives, rounded down: a promise must hold for the true value.
    pub fn value_in(&self, token: Address, amount: U256) -> Result<U256, ValuationRefusal> {
        let (product, unit) = self.scaled(token, amount)?;
        Ok(product / unit)
    }

    /// The tokens of a pool that an action names, or that its position names.
    pub fn pool_of(&self, action: &Action) -> Result<PoolKey, ValuationRefusal> {
        if !action.token_out.is_zero() {
            let (token0, token1, fee) = (action.token_out, action.token_out2, action.fee);
            return Ok(PoolKey { token0, token1, fee });
        }
        let position = self.observed.positions.get(&(action.target, action.position_id));
        let position = position.ok_or(ValuationRefusal::Unread { contract: action.target })?;
        Ok(position.pool)
    }

    /// What a deposit is made in, and how much of it. Shares are asked for by `mint`; only the vault knows what it will take.
    pub fn deposited(&self, action: &Action) -> Result<(Address, U256), ValuationRefusal> {
        let unread = ValuationRefusal::Unread { contract: action.target };
        let vault = self.observed.vaults.get(&action.target).ok_or(unread)?;
        let assets = if action.token_in.is_zero() {
            action.amount_out
        } else {
            *vault.mint_previews.get(&action.minimum_in).ok_or(unread)?
        };
        Ok((vault.asset, assets))
    }

    fn liquidity(&self, action: &Action) -> Result<Worth, ValuationRefusal> {
        let pool = self.pool_of(action)?;
        let PoolKey { token0, token1, fee } = pool;
        let root = self.observed.pool_roots.get(&(action.target, pool));
        let root = root.ok_or(ValuationRefusal::Unread { contract: action.target })?;
        if root.is_zero() {
            return Err(ValuationRefusal::NoPool { token0, token1, fee });
        }
        // The root is scaled by 2^96, so its square by 2^192; prices are scaled by 2^128.
        let root = U512::from(*root);
        let pool_price = narrow((root * root) >> 64)?;
        let feed_price = self.price_by_feeds(token0, token1)?;
        let out = self
            .value_out(token0, action.amount_out)?
            .checked_add(self.value_out(token1, action.amount_out2)?)
            .ok_or(ValuationRefusal::Overflow)?;
        Ok(Worth { out, back: U256::ZERO, pool_price, feed_price })
    }

    /// Token1 for token0, in base units, times 2^128. No pool is asked: whoever trades there moves what it says.
    pub fn price_by_feeds(
        &self,
        token0: Address,
        token1: Address,
    ) -> Result<U256, ValuationRefusal> {
        let (priced0, answer0) = self.quote(token0)?;
        let (priced1, answer1) = self.quote(token1)?;
        let overflow = ValuationRefusal::Overflow;
        let worth0 = answer0.checked_mul(unit(priced1)?).ok_or(overflow)?;
        let worth1 = answer1.checked_mul(unit(priced0)?).ok_or(overflow)?;
        let scaled: U512 = U512::from(worth0) << 128;
        narrow(scaled.checked_div(U512::from(worth1)).ok_or(overflow)?)
    }

    /// `amount` × price in micro-dollars is the first ÷ the second. Bounded factors: 2^128 × 2^96 × 10^6 stays below 2^244.
    fn scaled(&self, token: Address, amount: U256) -> Result<(U256, U256), ValuationRefusal> {
        let (priced, answer) = self.quote(token)?;
        if amount > MAX_AMOUNT {
            return Err(ValuationRefusal::Amount { amount });
        }
        let product = amount
            .checked_mul(answer)
            .and_then(|product| product.checked_mul(MICRO))
            .ok_or(ValuationRefusal::Overflow)?;
        Ok((product, unit(priced)?))
    }

    /// The token's feed and what it answers; a token without one is refused (ATK-25).
    fn quote(&self, token: Address) -> Result<(&'a ListedToken, U256), ValuationRefusal> {
        let priced = self.listing.tokens.iter().find(|entry| entry.token == token);
        let priced = priced.ok_or(ValuationRefusal::UnknownToken { token })?;
        self.require_sequencer()?;
        Ok((priced, self.price(priced)?))
    }

    fn price(&self, priced: &ListedToken) -> Result<U256, ValuationRefusal> {
        let feed = priced.feed;
        let round = self.observed.rounds.get(&feed);
        let round = round.ok_or(ValuationRefusal::Unread { contract: feed })?;
        if round.decimals != priced.feed_decimals {
            let (signed, actual) = (priced.feed_decimals, round.decimals);
            return Err(ValuationRefusal::Decimals { feed, signed, actual });
        }
        let answer = round.answer.into_raw();
        if round.answer.is_negative() || answer.is_zero() || answer > MAX_ANSWER {
            return Err(ValuationRefusal::Answer { feed, answer: round.answer });
        }
        let Round { round_id, answered_in_round, updated_at, .. } = *round;
        if answered_in_round < round_id {
            return Err(ValuationRefusal::Incomplete { feed, round_id, answered_in_round });
        }
        let max_age = priced.max_age;
        // Zero means that the round never ended.
        let age = U256::from(self.now).checked_sub(updated_at);
        if updated_at.is_zero() || age.is_none_or(|age| age > U256::from(max_age)) {
            return Err(ValuationRefusal::Stale { feed, updated_at, now: self.now, max_age });
        }
        Ok(answer)
    }

    /// No price of a rollup counts while its sequencer is away.
    fn require_sequencer(&self) -> Result<(), ValuationRefusal> {
        let (feed, grace) = (self.listing.sequencer_feed, self.listing.sequencer_grace);
        if feed.is_zero() {
            return Ok(());
        }
        let uptime = self.observed.uptimes.get(&feed);
        let Uptime { answer, since } =
            *uptime.ok_or(ValuationRefusal::Unread { contract: feed })?;
        let up_for = U256::from(self.now).checked_sub(since);
        if !answer.is_zero()
            || since.is_zero()
            || up_for.is_none_or(|up_for| up_for < U256::from(grace))
        {
            return Err(ValuationRefusal::Sequencer { feed, answer, since, grace });
        }
        Ok(())
    }
}

/// Whether actions of this class send value out of the account.
pub(crate) const fn sends_out(class: Class) -> bool {
    is_measured(class) && !matches!(class, Class::RemoveLiquidity)
}

fn unit(priced: &ListedToken) -> Result<U256, ValuationRefusal> {
    let digits = u64::from(priced.token_decimals) + u64::from(priced.feed_decimals);
    U256::from(10).checked_pow(U256::from(digits)).ok_or(ValuationRefusal::Overflow)
}

fn narrow(wide: U512) -> Result<U256, ValuationRefusal> {
    if wide.bit_len() > U256::BITS {
        return Err(ValuationRefusal::Overflow);
    }
    Ok(U256::saturating_from(wide))
}
