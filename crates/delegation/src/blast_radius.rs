//! What a stolen key can cost: the most that its thief can take, by day, asset and cause.
//!
//! ```text
//! chain of delegations ──► Law        what binds him, link by link, at its tightest
//! facts of the chain ────► Reckoning  what is there, and what is used up
//!                              │
//!                              ▼
//!                         BlastRadius: numbers · a series · a sentence · what was assumed
//! ```
//!
//! The thief has the key and the grant, skips all of our code, owns the pools he trades in, and writes phase,
//! dreams and feelings himself: so he is Thriving for as long as he likes and Terminal when that pays, and none of
//! it is an input. Everything rounds against the owner. A rule that is not understood takes nothing off, a
//! fact that is missing leaves its asset open, and the total says so.
//!
//! # Under a charter
//!
//! | cause | by which he gains | bound |
//! |---|---|---|
//! | slippage | swaps, and liquidity in a pool that he moved | slippage × what the spend window lets through |
//! | vaults | shares that round in his favour, bought and sold | slippage × the same, once more, and × what lies in vaults |
//! | settlement | Terminal lifts the caps, and every asset converts once, one way | slippage × what is not the settlement asset |
//! | gas | gas money for the key | the gas window |
//! | in hand | what the key itself holds | all of it |
//!
//! Tokens go to the beneficiary or stay, so there is no outflow; unless the beneficiary is the key or a contract of the
//! listing, or there is no charter at all. Nothing exceeds what is there; but a runway, which no charter guards, counts whole (SPEC D6), and
//! one without an end has no sum.
//!
//! Who holds the leaf's key and was also given a link above it redeems that one alone: then only what binds there counts.
//! Dollars are dollars of one listing: a budget, or a second charter, that prices a token by another feed or by other
//! decimals takes nothing off.

mod decimal;
mod golem;
mod law;
mod object;
mod observed;
mod outflow;
mod reckoning;
mod schedule;
mod words;
mod worth;

pub use observed::{CharterFacts, GolemFacts, Observed, Price, TokenFacts};
pub use schedule::SpendSchedule;
pub use words::{Assumption, Date, Dollars, Ended};

use crate::{Environment, MAX_CONTEXT_BYTES, PermissionContext};
use alloy_primitives::{Address, U256};
use law::Law;
use reckoning::Reckoning;
use serde::Serialize;
use worth::{Known, least, sum};

/// Seconds of a day.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, DAY, Observed};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext};
/// # use golem_delegation::{ROOT_AUTHORITY, terms::Timestamp};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// let radius = BlastRadius::of(&chain, &environment, now, &Observed::default())?;
/// // The grant ends in three days: this is its last second, and where its last day begins.
/// assert_eq!(radius.until, Some(now + 3 * DAY - 1));
/// assert_eq!(radius.days[2].start, now + 2 * DAY);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const DAY: u64 = 86_400;
/// Days that are listed one by one; totals go on to the end.
///
/// ```
/// use golem_delegation::blast_radius::{Assumption, BlastRadius, MAX_DAYS, Observed};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext};
/// # use golem_delegation::{ROOT_AUTHORITY, terms::Timestamp};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 1000 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// // The grant ends in a thousand days.
/// let radius = BlastRadius::of(&chain, &environment, now, &Observed::default())?;
/// assert_eq!(radius.days.len(), MAX_DAYS);
/// assert!(radius.assumptions.contains(&Assumption::SeriesCut { days: 366 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const MAX_DAYS: usize = 366;
/// Assets that are looked at.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, BlastRadiusError, MAX_ASSETS, Observed};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext};
/// # use golem_delegation::{ROOT_AUTHORITY, terms::Timestamp};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// let token = |n: usize| Address::left_padding_from(&n.to_be_bytes());
/// let tokens = (1..=MAX_ASSETS).map(|n| (token(n), Default::default())).collect();
/// // The chain's own coin is one more.
/// let mut observed = Observed { tokens, ..Observed::default() };
/// let radius = BlastRadius::of(&chain, &environment, now, &observed);
/// assert_eq!(radius, Err(BlastRadiusError::TooManyAssets { limit: 512, actual: 513 }));
/// observed.tokens.remove(&token(1));
/// assert_eq!(BlastRadius::of(&chain, &environment, now, &observed)?.assets.len(), MAX_ASSETS);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub const MAX_ASSETS: usize = 512;
/// Caveats that are looked at.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, MAX_CAVEATS, Observed};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext};
/// # use golem_delegation::{ROOT_AUTHORITY, terms::Timestamp};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// let radius = |count| {
///     let caveats = vec![Caveat::new(clock, until.encode()); count];
///     let chain = PermissionContext::new(vec![Delegation { caveats, ..root.clone() }]).unwrap();
///     BlastRadius::of(&chain, &environment, now, &Observed::default())
/// };
/// assert!(radius(MAX_CAVEATS).is_ok());
/// assert!(radius(MAX_CAVEATS + 1).is_err());
/// ```
pub const MAX_CAVEATS: usize = 256;

/// Why there is no answer.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, BlastRadiusError, MAX_CAVEATS, Observed};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
/// # use golem_delegation::terms::Timestamp;
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())], salt: U256::ZERO,
/// #     signature: Bytes::new() };
/// let caveats = vec![Caveat::new(clock, until.encode()); MAX_CAVEATS + 1];
/// let chain = PermissionContext::new(vec![Delegation { caveats, ..root }])?;
/// let radius = BlastRadius::of(&chain, &environment, now, &Observed::default());
/// assert_eq!(radius, Err(BlastRadiusError::TooManyCaveats { limit: 256, actual: 257 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlastRadiusError {
    /// More caveats than [`MAX_CAVEATS`], over all links.
    #[error("{actual} caveats are more than {limit}")]
    TooManyCaveats {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// Longer terms than [`MAX_CONTEXT_BYTES`], over all links.
    #[error("terms of {actual} bytes are longer than {limit}")]
    TooLong {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// More assets than [`MAX_ASSETS`].
    #[error("{actual} assets are more than {limit}")]
    TooManyAssets {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
}

/// A fact that was asked for and not given.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, Missing, Observed, TokenFacts};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
/// # use golem_delegation::terms::Timestamp;
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())], salt: U256::ZERO,
/// #     signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// let token = Address::repeat_byte(4);
/// let mut observed = Observed::default();
/// observed.tokens.insert(token, TokenFacts { balance: Some(U256::from(5)), ..TokenFacts::default() });
/// let radius = BlastRadius::of(&chain, &environment, now, &observed)?;
/// assert!(radius.missing.contains(&Missing { token, what: "price" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Missing {
    /// Of which token; zero is the chain's own coin.
    pub token: Address,
    /// The name of the field in [`TokenFacts`], in camelCase.
    pub what: &'static str,
}

/// Micro-dollars by the way they are lost; `None` is what cannot be told.
///
/// ```
/// use golem_delegation::blast_radius::Causes;
/// # use alloy_primitives::U256;
/// let (nothing, dollar) = (Some(U256::ZERO), Some(U256::from(1_000_000)));
/// let causes = Causes {
///     outflow: nothing, slippage: dollar, vaults: nothing, settlement: dollar, gas: None, in_hand: nothing,
/// };
/// // What cannot be told is not nothing.
/// assert_eq!((causes.total(), causes.known()), (None, U256::from(2_000_000)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Causes {
    /// Sent away for nothing.
    #[serde(serialize_with = "decimal::some")]
    pub outflow: Option<U256>,
    /// Lost in swaps and pools.
    #[serde(serialize_with = "decimal::some")]
    pub slippage: Option<U256>,
    /// Lost in buying and selling shares of vaults.
    #[serde(serialize_with = "decimal::some")]
    pub vaults: Option<U256>,
    /// Lost in the one conversion of a dying Golem.
    #[serde(serialize_with = "decimal::some")]
    pub settlement: Option<U256>,
    /// Fetched as gas money.
    #[serde(serialize_with = "decimal::some")]
    pub gas: Option<U256>,
    /// Held by the key itself.
    #[serde(serialize_with = "decimal::some")]
    pub in_hand: Option<U256>,
}

impl Causes {
    const fn none() -> Self {
        let nothing = Some(U256::ZERO);
        Self {
            outflow: nothing,
            slippage: nothing,
            vaults: nothing,
            settlement: nothing,
            gas: nothing,
            in_hand: nothing,
        }
    }

    const fn all(&self) -> [Option<U256>; 6] {
        [self.outflow, self.slippage, self.vaults, self.settlement, self.gas, self.in_hand]
    }

    /// All of them; none where one of them cannot be told.
    ///
    /// ```
    /// use golem_delegation::blast_radius::Causes;
    /// # use alloy_primitives::U256;
    /// # let (nothing, dollar) = (Some(U256::ZERO), Some(U256::from(1_000_000)));
    /// # let causes = Causes {
    /// #     outflow: nothing, slippage: dollar, vaults: nothing, settlement: dollar, gas: nothing, in_hand: nothing,
    /// # };
    /// assert_eq!(causes.total(), Some(U256::from(2_000_000)));
    /// assert_eq!(Causes { gas: None, ..causes }.total(), None);
    /// ```
    #[must_use]
    pub fn total(&self) -> Option<U256> {
        sum(self.all())
    }

    /// All that can be told.
    ///
    /// ```
    /// use golem_delegation::blast_radius::Causes;
    /// # use alloy_primitives::U256;
    /// # let (nothing, dollar) = (Some(U256::ZERO), Some(U256::from(1_000_000)));
    /// # let causes = Causes {
    /// #     outflow: nothing, slippage: dollar, vaults: nothing, settlement: dollar, gas: nothing, in_hand: nothing,
    /// # };
    /// assert_eq!(Causes { slippage: None, ..causes }.known(), U256::from(1_000_000));
    /// ```
    #[must_use]
    pub fn known(&self) -> U256 {
        self.all().into_iter().flatten().fold(U256::ZERO, U256::saturating_add)
    }

    /// Cut to what is there; what is in hand is in hand.
    fn at_most(mut self, wealth: Known) -> Self {
        let mut left = wealth;
        let account = [
            &mut self.outflow,
            &mut self.slippage,
            &mut self.vaults,
            &mut self.settlement,
            &mut self.gas,
        ];
        for cause in account {
            *cause = least(*cause, left);
            left = left.map(|left| left.saturating_sub(cause.unwrap_or_default()));
        }
        self
    }
}

/// One day of the series.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, Observed};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
/// # use golem_delegation::terms::Timestamp;
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())], salt: U256::ZERO,
/// #     signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// let radius = BlastRadius::of(&chain, &environment, now, &Observed::default())?;
/// // The grant ends in three days.
/// let starts: Vec<u64> = radius.days.iter().map(|day| day.start).collect();
/// assert_eq!(starts, [now, now + 86_400, now + 2 * 86_400]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Day {
    /// Days from now.
    pub day: u64,
    /// Its first second, UTC.
    #[serde(serialize_with = "decimal::text")]
    pub start: u64,
    /// The most by its end, from now on, in micro-dollars; `None` is what cannot be told.
    #[serde(serialize_with = "decimal::some")]
    pub cumulative: Option<U256>,
    /// What it adds to the day before.
    #[serde(serialize_with = "decimal::some")]
    pub added: Option<U256>,
}

/// The most that one asset can lose if he goes for it. Rows do not add up: together they lose no more than
/// the total.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, Observed, TokenFacts};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
/// # use golem_delegation::terms::Timestamp;
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())], salt: U256::ZERO,
/// #     signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// let token = Address::repeat_byte(4);
/// let mut observed = Observed::default();
/// let (five, none) = (Some(U256::from(5)), Some(U256::ZERO));
/// let facts = TokenFacts {
///     balance: five, in_vaults: none, in_positions: none, key_balance: none, ..TokenFacts::default()
/// };
/// observed.tokens.insert(token, facts);
/// let radius = BlastRadius::of(&chain, &environment, now, &observed)?;
/// let asset = radius.assets.iter().find(|asset| asset.token == token).unwrap();
/// // Nothing bounds what leaves, so all of it can. Without a price nobody can say what that is worth.
/// assert_eq!((asset.amount, asset.micro_dollars), (five, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Asset {
    /// Which; zero is the chain's own coin.
    pub token: Address,
    /// In base units; `None` is what cannot be told.
    #[serde(serialize_with = "decimal::some")]
    pub amount: Option<U256>,
    /// At the feed's price.
    #[serde(serialize_with = "decimal::some")]
    pub micro_dollars: Option<U256>,
    /// The same by the end of each day of the series.
    #[serde(serialize_with = "decimal::each")]
    pub days: Vec<Option<U256>>,
}

/// One point of a chart: a second, and the most by then in micro-dollars.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, Observed, Point};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
/// # use golem_delegation::terms::Timestamp;
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let clock = Address::repeat_byte(3);
/// # let environment = Environment::default().with(Kind::Timestamp, clock);
/// # let now = 1_800_000_000;
/// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())], salt: U256::ZERO,
/// #     signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// let radius = BlastRadius::of(&chain, &environment, now, &Observed::default())?;
/// let first = radius.series()[0];
/// assert_eq!(first, Point { at: now, micro_dollars: Some(U256::ZERO) });
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// When, UTC.
    pub at: u64,
    /// How much; `None` is what cannot be told.
    pub micro_dollars: Option<U256>,
}

/// How long a grant lives, whoever has its key: one that its owner took back is over, though the key be his own.
///
/// ```
/// use golem_delegation::blast_radius::{BlastRadius, Ended, Life, Observed};
/// # use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let account = Address::repeat_byte(2);
/// # let root = Delegation { delegate: account, delegator: account, authority: ROOT_AUTHORITY, caveats: vec![],
/// #     salt: U256::ZERO, signature: Bytes::new() };
/// # let (environment, now) = (Environment::default(), 1_800_000_000);
/// let disabled = Observed { disabled: vec![root.hash().0], ..Observed::default() };
/// // The account gave it to itself.
/// let chain = PermissionContext::new(vec![root])?;
/// let life = Life::of(&chain, &environment, now, &disabled)?;
/// assert!(matches!(life.ended, Some(Ended::Disabled { .. })));
/// assert!(BlastRadius::of(&chain, &environment, now, &disabled)?.everything);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// First second from now on at which all links are good.
    pub from: u64,
    /// The last; `None` where nothing ends it.
    pub until: Option<u64>,
    /// Why it is over, if it is.
    pub ended: Option<Ended>,
}

impl Life {
    /// Of a chain as it stands, with what is known of it at `now`, in seconds.
    ///
    /// ```
    /// use golem_delegation::blast_radius::{Ended, Life, Observed};
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::Timestamp;
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let clock = Address::repeat_byte(3);
    /// # let environment = Environment::default().with(Kind::Timestamp, clock);
    /// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
    /// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, Timestamp { after: 0, before: 9 }.encode())],
    /// #     salt: U256::ZERO, signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// // Good before the ninth second.
    /// let at = |now| Life::of(&chain, &environment, now, &Observed::default());
    /// assert_eq!(at(8)?, Life { from: 8, until: Some(8), ended: None });
    /// assert_eq!(at(9)?.ended, Some(Ended::Expired { at: 8 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(
        chain: &PermissionContext,
        environment: &Environment,
        now: u64,
        observed: &Observed,
    ) -> Result<Self, BlastRadiusError> {
        check_size(chain)?;
        let key = chain.leaf().delegate;
        let Law { from, until, ended, .. } =
            Law::of_the_grant(chain, key, environment, now, observed);
        Ok(Self { from, until, ended })
    }
}

/// The most that a thief of the key can take from now until the grant ends.
///
/// ```
/// use golem_delegation::{Delegation, Environment, PermissionContext, ROOT_AUTHORITY};
/// use golem_delegation::blast_radius::{BlastRadius, Observed};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
/// #     authority: ROOT_AUTHORITY, caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
/// let chain = PermissionContext::new(vec![root])?;
/// let radius = BlastRadius::of(&chain, &Environment::default(), 1_800_000_000, &Observed::default())?;
///
/// assert_eq!(radius.total(), None);
/// assert!(radius.to_string().contains("everything"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BlastRadius {
    /// The second it was asked for.
    #[serde(serialize_with = "decimal::text")]
    pub now: u64,
    /// Last second of the grant; `None` where nothing ends it.
    #[serde(serialize_with = "decimal::some")]
    pub until: Option<u64>,
    /// Why the grant is worth nothing to him, if it is not.
    pub ended: Option<Ended>,
    /// Whether nothing bounds what he takes of the account.
    pub everything: bool,
    /// The total by cause, in micro-dollars.
    pub causes: Causes,
    /// Each asset.
    pub assets: Vec<Asset>,
    /// Each day, up to [`MAX_DAYS`] of them.
    pub days: Vec<Day>,
    /// Facts that were missing.
    pub missing: Vec<Missing>,
    /// What was taken for granted.
    pub assumptions: Vec<Assumption>,
}

impl BlastRadius {
    /// Of a chain, with what is known of it at `now`, in seconds.
    ///
    /// ```
    /// use golem_delegation::blast_radius::{BlastRadius, Ended, Observed};
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::Timestamp;
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let clock = Address::repeat_byte(3);
    /// # let environment = Environment::default().with(Kind::Timestamp, clock);
    /// # let now = 1_800_000_000;
    /// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
    /// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
    /// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())], salt: U256::ZERO,
    /// #     signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// let disabled = vec![chain.leaf().hash().0];
    /// let observed = Observed { disabled, ..Observed::default() };
    /// let radius = BlastRadius::of(&chain, &environment, now, &observed)?;
    /// assert!(matches!(radius.ended, Some(Ended::Disabled { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(
        chain: &PermissionContext,
        environment: &Environment,
        now: u64,
        observed: &Observed,
    ) -> Result<Self, BlastRadiusError> {
        check_size(chain)?;
        let key = chain.leaf().delegate;
        let alone = law::redeemable_alone(chain);
        let law = Law::read(alone.as_ref().unwrap_or(chain), key, environment, now, observed);
        let reckoning = Reckoning::new(&law, observed)?;
        let until = law.until;
        // Nothing changes after the end, and an end that never comes is reckoned as the last second there is.
        let last = until.unwrap_or(u64::MAX).max(now);
        let moments = moments(now, if law.ended.is_some() { now } else { last });
        let by_day: Vec<(u64, Causes)> =
            moments.iter().map(|moment| (*moment, reckoning.by(*moment))).collect();
        let causes = reckoning.by(last);
        let assets = reckoning.assets(&by_day, (last, causes));
        let mut before = Some(U256::ZERO);
        let days = (0u64..)
            .zip(&by_day)
            .map(|(day, (_, causes))| {
                let cumulative = causes.total();
                let added = cumulative.zip(before).map(|(now, before)| now.saturating_sub(before));
                before = cumulative;
                let start = now.saturating_add(day.saturating_mul(DAY));
                Day { day, start, cumulative, added }
            })
            .collect::<Vec<_>>();
        let everything = law.ended.is_none() && law.is_boundless();
        let mut missing = reckoning.missing.clone();
        if reckoning.needs_coin_price() {
            missing.insert(Missing { token: Address::ZERO, what: "price" });
        }
        let mut assumptions = law.assumptions.clone();
        if let Some(higher) = &alone {
            assumptions.insert(Assumption::HigherLink { delegation: higher.leaf().hash().0 });
        }
        assumptions.extend(words::ALWAYS);
        if reckoning.counts_balances() {
            assumptions.insert(Assumption::NoIncome);
        }
        if reckoning.is_endless() && law.ended.is_none() {
            assumptions.insert(Assumption::Endless);
        }
        assumptions.extend(
            reckoning.believed.iter().map(|token| Assumption::DecimalsBelieved { token: *token }),
        );
        assumptions.extend(
            reckoning.misread.iter().map(|token| Assumption::DecimalsContradict { token: *token }),
        );
        if until.is_none() && law.ended.is_none() {
            assumptions.insert(Assumption::NoExpiry);
        }
        if moments.last().is_some_and(|moment| *moment < last) && law.ended.is_none() {
            assumptions.insert(Assumption::SeriesCut { days: moments.len() });
        }
        let ended = law.ended.clone();
        Ok(Self {
            now,
            until,
            ended,
            everything,
            causes,
            assets,
            days,
            missing: missing.into_iter().collect(),
            assumptions: assumptions.into_iter().collect(),
        })
    }

    /// Micro-dollars in all; `None` where a bound or a fact is missing, and [`Causes::known`] is only a part.
    ///
    /// ```
    /// use golem_delegation::blast_radius::{BlastRadius, Observed};
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::Timestamp;
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let clock = Address::repeat_byte(3);
    /// # let environment = Environment::default().with(Kind::Timestamp, clock);
    /// # let now = 1_800_000_000;
    /// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
    /// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
    /// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())], salt: U256::ZERO,
    /// #     signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// // Only time bounds this grant.
    /// let radius = BlastRadius::of(&chain, &environment, now, &Observed::default())?;
    /// assert!(radius.everything);
    /// assert_eq!(radius.total(), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn total(&self) -> Option<U256> {
        if self.everything { None } else { self.causes.total() }
    }

    /// For a chart: what it comes to by the end of each day, from nothing on.
    ///
    /// ```
    /// use golem_delegation::blast_radius::{BlastRadius, Observed};
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::Timestamp;
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let clock = Address::repeat_byte(3);
    /// # let environment = Environment::default().with(Kind::Timestamp, clock);
    /// # let now = 1_800_000_000;
    /// # let until = Timestamp { after: 0, before: 1_800_000_000 + 3 * 86_400 };
    /// # let root = Delegation { delegate: Address::repeat_byte(1), delegator: Address::repeat_byte(2),
    /// #     authority: ROOT_AUTHORITY, caveats: vec![Caveat::new(clock, until.encode())], salt: U256::ZERO,
    /// #     signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// let radius = BlastRadius::of(&chain, &environment, now, &Observed::default())?;
    /// let ends: Vec<u64> = radius.series().iter().map(|point| point.at).collect();
    /// // The last point is the grant's last second.
    /// assert_eq!(ends, [now, now + 86_400, now + 2 * 86_400, now + 3 * 86_400 - 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn series(&self) -> Vec<Point> {
        let first = Point { at: self.now, micro_dollars: Some(U256::ZERO) };
        let ends = self.days.iter().map(|day| {
            let end = day.start.saturating_add(DAY);
            let at = self.until.map_or(end, |until| end.min(until.max(self.now)));
            Point { at, micro_dollars: day.cumulative }
        });
        std::iter::once(first).chain(ends).collect()
    }
}

/// Refuses what would be much work: a chain that came as JSON has no limit of its own.
fn check_size(chain: &PermissionContext) -> Result<(), BlastRadiusError> {
    let caveats = chain.links().iter().map(|link| link.caveats.len()).sum();
    if caveats > MAX_CAVEATS {
        return Err(BlastRadiusError::TooManyCaveats { limit: MAX_CAVEATS, actual: caveats });
    }
    let terms =
        chain.links().iter().flat_map(|link| &link.caveats).map(|caveat| caveat.terms.len());
    let actual = terms.sum();
    if actual > MAX_CONTEXT_BYTES {
        return Err(BlastRadiusError::TooLong { limit: MAX_CONTEXT_BYTES, actual });
    }
    Ok(())
}

/// Last seconds of the days from `now` to `last`, the first [`MAX_DAYS`] of them.
fn moments(now: u64, last: u64) -> Vec<u64> {
    let days = (last - now.min(last)) / DAY;
    (0..=days)
        .take(MAX_DAYS)
        .map(|day| {
            let next = day.saturating_add(1).saturating_mul(DAY).saturating_sub(1);
            now.saturating_add(next).min(last)
        })
        .collect()
}
