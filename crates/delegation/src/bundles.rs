//! Named bundles of limits, as owners speak of them, and the caveats each one is.
//!
//! A [`Law`] begins as the most that an owner would ever grant, one charter, and every bundle takes
//! something from it. Bundles that say what may be done add up (`closeOnly` with `withdrawAllowed` is
//! both); those that forbid win over them; bounds only get tighter; what would contradict itself is refused. Whatever the charter cannot say
//! becomes a caveat beside it.

use crate::{
    Caveat, TermsError,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, Cadence, Class, Classes, GolemCharter,
        Holdings, ListedToken, Listing, MortalityTimeWindow, Redeemer, ReplicantBudget, Role,
    },
};
use alloy_primitives::{Address, B256, Selector, U256, fixed_bytes};
use std::num::{NonZeroU8, NonZeroU32};

/// `exactInputSingle` of SwapRouter02.
const EXACT_INPUT_SINGLE: Selector = fixed_bytes!("04e45aaf");

/// `updatePad` and `heartbeat` of GolemRegistry: what an observer says, and nothing that ends a life.
const UPDATE_PAD: Selector = fixed_bytes!("fb62da2f");
const HEARTBEAT: Selector = fixed_bytes!("e798ab25");

/// Minutes of a bucket, twelve of which are a day or a week.
const DAY_BUCKET: u16 = 120;
const WEEK_BUCKET: u16 = 840;

/// Whoever works on chain needs gas money; the charter bounds it.
const CLOSE: Classes = Classes::of(&[
    Class::RemoveLiquidity,
    Class::Collect,
    Class::BurnPosition,
    Class::Disapprove,
    Class::GasTopUp,
]);
const TRADE: Classes = CLOSE.and(Classes::of(&[
    Class::Swap,
    Class::AddLiquidity,
    Class::Deposit,
    Class::Withdraw,
    Class::Approve,
    Class::Wrap,
    Class::Unwrap,
]));
const UNWIND: Classes = CLOSE.and(Classes::of(&[Class::Withdraw, Class::Wrap]));
const SWEEP: Classes = Classes::of(&[Class::Transfer, Class::Wrap]);
const SETTLE: Classes = UNWIND.and(SWEEP).and(Classes::of(&[Class::Swap, Class::Settle]));
const OBSERVE: Classes = Classes::of(&[Class::Publish]);

/// A limit with a name. Money is in micro-dollars, shares in basis points, time in seconds.
///
/// ```
/// use golem_delegation::bundles::{Bundle, Law};
/// use golem_delegation::terms::Class;
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// // What is forbidden wins over what may be done.
/// let bundles = [Bundle::FullTrading, Bundle::NoNewPositions];
/// let classes = Law::new(charter).under(&bundles)?.charter().classes;
/// assert!(classes.contains(Class::Withdraw) && !classes.contains(Class::Swap));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Bundle {
    /// Swaps, liquidity, vaults and what they need.
    FullTrading,
    /// Nothing on chain at all.
    ReadOnly,
    /// Nothing is sent away, not even home, nor as gas money.
    NoTransfers,
    /// How the agent feels, and that it is there. Alone, nothing that moves or ends its life.
    OraclePublishOnly,
    /// Positions are closed.
    CloseOnly,
    /// Nothing is bought, deposited or put into a pool.
    NoNewPositions,
    /// Vaults are left.
    WithdrawAllowed,
    /// Positions are closed and vaults are left.
    UnwindOnly,
    /// Tokens go home.
    SweepToOwner,
    /// All that settles an account (SPEC D18): close, leave, swap to the settlement asset, take allowances back, send
    /// home, settle.
    SettlementOnly,
    /// The last act, and the last words.
    DeathProtocol,
    /// Children are made, and act.
    ReplicantSpawning,
    /// No children.
    NoReplicantSpawning,
    /// The agent's key redeems, and nobody it hands the grant on to.
    NoSubDelegation,
    /// Swaps of one token for one other.
    OnlySwap {
        /// What is sold.
        sells: Address,
        /// What is bought.
        buys: Address,
    },
    /// Other tokens have no price, and so cannot be traded, nor are they called.
    ApprovedAssets(Vec<Address>),
    /// So much and no more.
    MaxSpend(Spend),
    /// So many seconds from the grant's first on, whatever else bounds it.
    MaxLifespan(u64),
    /// From one second until another.
    TimeWindow(MortalityTimeWindow),
    /// So much at once.
    MaxValue(u64),
    /// No position grows beyond this share of everything, by phase. Liquidity has no price here, so none is added.
    MaxPosition {
        /// Of a thriving Golem.
        thriving: u16,
        /// Of a stable one.
        stable: u16,
    },
    /// So far below the most it was worth the account only closes.
    MaxDrawdown(u16),
    /// Once in so many seconds.
    CronOnly(NonZeroU32),
}

/// How much, in micro-dollars, and in which time.
///
/// ```
/// use golem_delegation::bundles::{Bundle, Law, Spend};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// // Ten dollars in any day: twelve buckets of two hours.
/// let law = Law::new(charter).under(&[Bundle::MaxSpend(Spend::Day(10_000_000))])?;
/// assert_eq!((law.charter().spend_cap, law.charter().bucket_minutes), (10_000_000, 120));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spend {
    /// In the grant's whole life.
    Total(u64),
    /// In any day.
    Day(u64),
    /// In any week.
    Week(u64),
}

impl Bundle {
    /// One share for both phases in which positions grow.
    ///
    /// ```
    /// use golem_delegation::bundles::Bundle;
    /// assert_eq!(Bundle::max_position(2_000), Bundle::MaxPosition { thriving: 2_000, stable: 2_000 });
    /// ```
    #[must_use]
    pub const fn max_position(bps: u16) -> Self {
        Self::MaxPosition { thriving: bps, stable: bps }
    }

    /// The name that owners know it by.
    ///
    /// ```
    /// use golem_delegation::bundles::{Bundle, Spend};
    /// assert_eq!(Bundle::CloseOnly.name(), "closeOnly");
    /// assert_eq!(Bundle::MaxSpend(Spend::Week(1)).name(), "maxSpend(week)");
    /// ```
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::FullTrading => "fullTrading",
            Self::ReadOnly => "readOnly",
            Self::NoTransfers => "noTransfers",
            Self::OraclePublishOnly => "oraclePublishOnly",
            Self::CloseOnly => "closeOnly",
            Self::NoNewPositions => "noNewPositions",
            Self::WithdrawAllowed => "withdrawAllowed",
            Self::UnwindOnly => "unwindOnly",
            Self::SweepToOwner => "sweepToOwner",
            Self::SettlementOnly => "settlementOnly",
            Self::DeathProtocol => "deathProtocol",
            Self::ReplicantSpawning => "replicantSpawning",
            Self::NoReplicantSpawning => "noReplicantSpawning",
            Self::NoSubDelegation => "noSubDelegation",
            Self::OnlySwap { .. } => "onlySwap",
            Self::ApprovedAssets(_) => "approvedAssets",
            Self::MaxSpend(Spend::Total(_)) => "maxSpend(total)",
            Self::MaxSpend(Spend::Day(_)) => "maxSpend(day)",
            Self::MaxSpend(Spend::Week(_)) => "maxSpend(week)",
            Self::MaxLifespan(_) => "maxLifespan",
            Self::TimeWindow(_) => "timeWindow",
            Self::MaxValue(_) => "maxValue",
            Self::MaxPosition { .. } => "maxPosition",
            Self::MaxDrawdown(_) => "maxDrawdown",
            Self::CronOnly(_) => "cronOnly",
        }
    }

    /// The classes it lets a Golem act in, where it says so.
    const fn allows(&self) -> Option<Classes> {
        Some(match self {
            Self::FullTrading => TRADE,
            Self::ReadOnly => Classes::of(&[]),
            Self::OraclePublishOnly => OBSERVE,
            Self::CloseOnly => CLOSE,
            Self::WithdrawAllowed => Classes::of(&[Class::Withdraw]),
            Self::UnwindOnly => UNWIND,
            Self::SweepToOwner => SWEEP,
            Self::SettlementOnly => SETTLE,
            Self::DeathProtocol => Classes::of(&[Class::Settle, Class::Publish]),
            Self::ReplicantSpawning => Classes::of(&[Class::SpawnReplicant]),
            Self::OnlySwap { .. } => Classes::of(&[Class::Swap]),
            _ => return None,
        })
    }

    /// The classes it keeps from a Golem, whatever else allows them.
    const fn forbids(&self) -> Classes {
        match self {
            Self::NoTransfers => Classes::of(&[Class::Transfer, Class::GasTopUp]),
            Self::NoNewPositions => {
                Classes::of(&[Class::Swap, Class::AddLiquidity, Class::Deposit])
            }
            Self::NoReplicantSpawning => Classes::of(&[Class::SpawnReplicant]),
            Self::MaxPosition { .. } => Classes::of(&[Class::AddLiquidity]),
            _ => Classes::of(&[]),
        }
    }
}

/// Why bundles make no law.
///
/// ```
/// use golem_delegation::bundles::{Bundle, BundleError, Law};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// let both = Law::new(charter).under(&[Bundle::FullTrading, Bundle::ReadOnly]);
/// assert_eq!(both, Err(BundleError::ReadOnlyAndMore));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A limit that its contract would not read.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// `onlySwap` needs a router to swap at.
    #[error("onlySwap: the charter lists no second router")]
    NoRouter,
    /// `onlySwap` twice, for different tokens.
    #[error("onlySwap: a grant swaps one pair")]
    TwoSwaps,
    /// Two windows of time that do not meet.
    #[error("windows of time that do not meet")]
    NoTime,
    /// `readOnly` beside something that acts.
    #[error("readOnly: with another bundle that lets the agent act it would mean nothing")]
    ReadOnlyAndMore,
    /// `onlySwap` beside something else that acts.
    #[error("onlySwap: with another bundle that lets the agent act it would not be only")]
    OnlySwapAndMore,
    /// A sum for a day and one for a week: a charter counts one.
    #[error("maxSpend: a grant counts days or weeks, not both")]
    TwoPeriods,
    /// `maxPosition` or `maxDrawdown` where the charter settles to nothing that it lists: what is cash, and may be any
    /// part of the whole, would be unsaid.
    #[error(
        "maxPosition, maxDrawdown: the charter's settlement asset is no token that it lists, so nothing is cash"
    )]
    NoCash,
}

/// Where the enforcers are that a law is made of.
///
/// ```
/// use golem_delegation::bundles::{Enforcers, Law};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// # let at = Enforcers {
/// #     golem_charter: Address::repeat_byte(0xc1), holdings: Address::repeat_byte(0xc2),
/// #     cadence: Address::repeat_byte(0xc3), replicant_budget: Address::repeat_byte(0xc4),
/// #     redeemer: Address::repeat_byte(0xc5), allowed_targets: Address::repeat_byte(0xc6),
/// #     allowed_methods: Address::repeat_byte(0xc7), allowed_calldata: Address::repeat_byte(0xc8),
/// # };
/// // Without a bundle a law is its charter, at the charter's enforcer.
/// let caveats = Law::new(charter).caveats(&at)?;
/// assert_eq!((caveats.len(), caveats[0].enforcer), (1, at.golem_charter));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enforcers {
    /// `GolemCharterEnforcer`.
    pub golem_charter: Address,
    /// `HoldingsEnforcer`.
    pub holdings: Address,
    /// `CadenceEnforcer`.
    pub cadence: Address,
    /// `ReplicantBudgetEnforcer`.
    pub replicant_budget: Address,
    /// Stock `RedeemerEnforcer`.
    pub redeemer: Address,
    /// Stock `AllowedTargetsEnforcer`.
    pub allowed_targets: Address,
    /// Stock `AllowedMethodsEnforcer`.
    pub allowed_methods: Address,
    /// Stock `AllowedCalldataEnforcer`.
    pub allowed_calldata: Address,
}

/// A grant in the making: a charter, and what bundles have taken from it.
///
/// ```
/// use golem_delegation::bundles::{Bundle, Law};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// // Bounds only get tighter: the longer life changes nothing.
/// let law = Law::new(charter).under(&[Bundle::MaxLifespan(60), Bundle::MaxLifespan(600)])?;
/// assert_eq!(law.charter().window, MortalityTimeWindow::new(1_000, 1_060)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Law {
    charter: GolemCharter,
    allowed: Option<Classes>,
    forbidden: Classes,
    replicants: bool,
    read_only: bool,
    observer: bool,
    budget_id: B256,
    total: Option<u64>,
    spend_bucket: Option<u16>,
    lifespan: Option<u64>,
    position: Option<(u16, u16)>,
    drawdown: Option<u16>,
    period: Option<NonZeroU32>,
    swap: Option<(Address, Address)>,
    pinned: bool,
    series: u16,
    above: Option<Box<Holdings>>,
}

impl Law {
    /// All that the charter gives.
    ///
    /// ```
    /// use golem_delegation::bundles::Law;
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// assert_eq!(Law::new(charter.clone()).charter(), charter);
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    #[must_use]
    pub const fn new(charter: GolemCharter) -> Self {
        let (replicants, budget_id) = (charter.replicants, charter.golem_id);
        Self {
            charter,
            allowed: None,
            forbidden: Classes::of(&[]),
            replicants,
            read_only: false,
            observer: false,
            budget_id,
            total: None,
            spend_bucket: None,
            lifespan: None,
            position: None,
            drawdown: None,
            period: None,
            swap: None,
            pinned: false,
            series: 1,
            above: None,
        }
    }

    /// The law of a child: what it may spend in its life is its own sum, kept under this name, and not one that all
    /// children of its Golem share. Gas money goes to the key that the parent's charter names, so a child gets none.
    ///
    /// ```
    /// use golem_delegation::bundles::{Bundle, Enforcers, Law, Spend};
    /// use golem_delegation::terms::ReplicantBudget;
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let at = Enforcers {
    /// #     golem_charter: Address::repeat_byte(0xc1), holdings: Address::repeat_byte(0xc2),
    /// #     cadence: Address::repeat_byte(0xc3), replicant_budget: Address::repeat_byte(0xc4),
    /// #     redeemer: Address::repeat_byte(0xc5), allowed_targets: Address::repeat_byte(0xc6),
    /// #     allowed_methods: Address::repeat_byte(0xc7), allowed_calldata: Address::repeat_byte(0xc8),
    /// # };
    /// let name = B256::repeat_byte(3);
    /// let law = Law::new(charter).of_child(name).under(&[Bundle::MaxSpend(Spend::Total(7))])?;
    /// let budget = ReplicantBudget::decode(&law.caveats(&at)?[1].terms)?;
    /// assert_eq!((budget.replicant_id, budget.budget), (name, 7));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn of_child(mut self, replicant: B256) -> Self {
        self.budget_id = replicant;
        self.forbidden = self.forbidden.and(Classes::of(&[Class::GasTopUp]));
        self
    }

    /// The law of a link below one that bounds what is held: whatever this one says of that, it says within it, of the same
    /// listing and the same mark.
    ///
    /// ```
    /// use golem_delegation::bundles::{Bundle, Enforcers, Law};
    /// use golem_delegation::terms::Holdings;
    /// # use golem_delegation::terms::{Classes, GolemCharter, ListedToken, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256};
    /// # let (account, key, usdc) = (Address::repeat_byte(1), Address::repeat_byte(2), Address::repeat_byte(5));
    /// # let dollars = ListedToken { token: usdc, role: None, feed: key, token_decimals: 6, feed_decimals: 8, max_age: 60 };
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: usdc, max_royalty_bps: None, mood: None,
    /// #     listing: Listing { tokens: vec![dollars], ..Listing::default() },
    /// # };
    /// # let at = Enforcers {
    /// #     golem_charter: Address::repeat_byte(0xc1), holdings: Address::repeat_byte(0xc2),
    /// #     cadence: Address::repeat_byte(0xc3), replicant_budget: Address::repeat_byte(0xc4),
    /// #     redeemer: Address::repeat_byte(0xc5), allowed_targets: Address::repeat_byte(0xc6),
    /// #     allowed_methods: Address::repeat_byte(0xc7), allowed_calldata: Address::repeat_byte(0xc8),
    /// # };
    /// let parent = Law::new(charter.clone()).under(&[Bundle::MaxDrawdown(1_500)])?;
    /// let above = Holdings::decode(&parent.caveats(&at)?[1].terms)?;
    ///
    /// let child = Law::new(charter).beneath(above).under(&[Bundle::max_position(2_000)])?;
    /// let held = Holdings::decode(&child.caveats(&at)?[1].terms)?;
    /// assert_eq!((held.stable_bps, held.drawdown_bps), (2_000, 1_500));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn beneath(mut self, above: Holdings) -> Self {
        self.above = Some(Box::new(above));
        self
    }

    /// The same with the mark of its drawdown begun anew, where `series` is higher than the last one: for an owner who
    /// took money out, and for nothing else. What is not said is the first.
    ///
    /// ```
    /// use golem_delegation::bundles::{Bundle, Enforcers, Law};
    /// use golem_delegation::terms::Holdings;
    /// # use golem_delegation::terms::{Classes, GolemCharter, ListedToken, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::repeat_byte(3), max_royalty_bps: None, mood: None,
    /// #     listing: Listing {
    /// #         tokens: vec![ListedToken {
    /// #             token: Address::repeat_byte(3), role: None, feed: Address::repeat_byte(4), token_decimals: 6,
    /// #             feed_decimals: 8, max_age: 3_600,
    /// #         }],
    /// #         ..Listing::default()
    /// #     },
    /// # };
    /// # let at = Enforcers {
    /// #     golem_charter: Address::repeat_byte(0xc1), holdings: Address::repeat_byte(0xc2),
    /// #     cadence: Address::repeat_byte(0xc3), replicant_budget: Address::repeat_byte(0xc4),
    /// #     redeemer: Address::repeat_byte(0xc5), allowed_targets: Address::repeat_byte(0xc6),
    /// #     allowed_methods: Address::repeat_byte(0xc7), allowed_calldata: Address::repeat_byte(0xc8),
    /// # };
    /// let law = Law::new(charter).in_series(2).under(&[Bundle::MaxDrawdown(1_500)])?;
    /// let held = Holdings::decode(&law.caveats(&at)?[1].terms)?;
    /// assert_eq!((held.series, held.drawdown_bps), (2, 1_500));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn in_series(mut self, series: u16) -> Self {
        self.series = series;
        self
    }

    /// The same under more bundles.
    ///
    /// ```
    /// use golem_delegation::bundles::{Bundle, BundleError, Law};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// let early = Bundle::TimeWindow(MortalityTimeWindow::new(1, 999)?);
    /// assert_eq!(Law::new(charter).under(&[early]), Err(BundleError::NoTime));
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    pub fn under(mut self, bundles: &[Bundle]) -> Result<Self, BundleError> {
        for bundle in bundles {
            if let Some(classes) = bundle.allows() {
                self.allowed = Some(self.allowed.unwrap_or_default().and(classes));
            }
            self.forbidden = self.forbidden.and(bundle.forbids());
            self.bound(bundle)?;
        }
        let allowed = self.allowed.unwrap_or_default();
        if self.read_only && allowed.without(OBSERVE) != Classes::of(&[]) {
            return Err(BundleError::ReadOnlyAndMore);
        }
        if self.swap.is_some() && allowed != Classes::of(&[Class::Swap]) {
            return Err(BundleError::OnlySwapAndMore);
        }
        Ok(self)
    }

    fn bound(&mut self, bundle: &Bundle) -> Result<(), BundleError> {
        let charter = &mut self.charter;
        match *bundle {
            Bundle::ReadOnly => self.read_only = true,
            Bundle::OraclePublishOnly => self.observer = true,
            // What is bought is the settlement asset, which is no position.
            Bundle::SettlementOnly => tighten_both(&mut self.position, (0, 0)),
            Bundle::NoReplicantSpawning => self.replicants = false,
            Bundle::NoSubDelegation => {
                self.replicants = false;
                self.pinned = true;
            }
            Bundle::OnlySwap { sells, buys } => {
                if self.swap.is_some_and(|pair| pair != (sells, buys)) {
                    return Err(BundleError::TwoSwaps);
                }
                self.swap = Some((sells, buys));
            }
            Bundle::ApprovedAssets(ref tokens) => {
                charter.listing.tokens.retain(|listed| tokens.contains(&listed.token));
            }
            Bundle::MaxSpend(Spend::Total(most)) => tighten(&mut self.total, most),
            Bundle::MaxSpend(Spend::Day(most)) => self.spend(most, DAY_BUCKET)?,
            Bundle::MaxSpend(Spend::Week(most)) => self.spend(most, WEEK_BUCKET)?,
            Bundle::MaxLifespan(seconds) => tighten(&mut self.lifespan, seconds),
            Bundle::TimeWindow(window) => {
                let start = charter.window.start().max(window.start());
                let end = charter.window.end().min(window.end());
                charter.window =
                    MortalityTimeWindow::new(start, end).map_err(|_empty| BundleError::NoTime)?;
            }
            Bundle::MaxValue(most) => charter.nav_cap = charter.nav_cap.min(most),
            Bundle::MaxPosition { thriving, stable } => {
                tighten_both(&mut self.position, (thriving, stable));
            }
            Bundle::MaxDrawdown(bps) => tighten(&mut self.drawdown, bps),
            Bundle::CronOnly(period) => {
                self.period = Some(self.period.map_or(period, |other| other.max(period)));
            }
            _ => {}
        }
        Ok(())
    }

    fn spend(&mut self, most: u64, bucket: u16) -> Result<(), BundleError> {
        if self.spend_bucket.is_some_and(|other| other != bucket) {
            return Err(BundleError::TwoPeriods);
        }
        self.spend_bucket = Some(bucket);
        let charter = &mut self.charter;
        charter.spend_cap = charter.spend_cap.min(most);
        charter.bucket_minutes = charter.bucket_minutes.max(bucket);
        Ok(())
    }

    /// The charter as the bundles left it.
    ///
    /// ```
    /// use golem_delegation::bundles::{Bundle, Law};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// let alone = Law::new(charter).under(&[Bundle::NoSubDelegation])?;
    /// assert!(!alone.charter().replicants);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn charter(&self) -> GolemCharter {
        let allowed = self.allowed.unwrap_or(Classes::ALL);
        GolemCharter {
            classes: self.charter.classes.both(allowed).without(self.forbidden),
            replicants: self.replicants,
            window: self.charter.window.no_longer_than(self.lifespan.unwrap_or(u64::MAX)),
            ..self.charter.clone()
        }
    }

    /// What the owner signs.
    ///
    /// ```
    /// use golem_delegation::bundles::{Bundle, Enforcers, Law};
    /// use golem_delegation::terms::Redeemer;
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let at = Enforcers {
    /// #     golem_charter: Address::repeat_byte(0xc1), holdings: Address::repeat_byte(0xc2),
    /// #     cadence: Address::repeat_byte(0xc3), replicant_budget: Address::repeat_byte(0xc4),
    /// #     redeemer: Address::repeat_byte(0xc5), allowed_targets: Address::repeat_byte(0xc6),
    /// #     allowed_methods: Address::repeat_byte(0xc7), allowed_calldata: Address::repeat_byte(0xc8),
    /// # };
    /// // The charter, and beside it who may redeem.
    /// let caveats = Law::new(charter).under(&[Bundle::NoSubDelegation])?.caveats(&at)?;
    /// assert_eq!(Redeemer::decode(&caveats[1].terms)?, Redeemer(vec![key]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn caveats(&self, at: &Enforcers) -> Result<Vec<Caveat>, BundleError> {
        let charter = self.charter();
        let mut caveats = vec![Caveat::new(at.golem_charter, charter.encode()?)];
        if let Some((sells, buys)) = self.swap {
            let router = charter
                .listing
                .targets
                .iter()
                .find(|listed| listed.role == Role::SwapRouter02)
                .ok_or(BundleError::NoRouter)?;
            let pair = [sells.into_word(), buys.into_word()].concat();
            let pair = AllowedCalldata { start: U256::from(4), value: pair.into() };
            caveats.extend([
                Caveat::new(at.allowed_targets, AllowedTargets(vec![router.target]).encode()),
                Caveat::new(at.allowed_methods, AllowedMethods(vec![EXACT_INPUT_SINGLE]).encode()),
                Caveat::new(at.allowed_calldata, pair.encode()),
            ]);
        }
        if self.observer && charter.classes == OBSERVE {
            let says = AllowedMethods(vec![UPDATE_PAD, HEARTBEAT]).encode();
            caveats.push(Caveat::new(at.allowed_methods, says));
        }
        if let Some(budget) = self.total {
            let rule = ReplicantBudget {
                replicant_id: self.budget_id,
                budget,
                not_after: charter.window.end(),
                listing: charter.listing.clone(),
            };
            caveats.push(Caveat::new(at.replicant_budget, rule.encode()?));
        }
        if self.position.is_some() || self.drawdown.is_some() {
            let listed = |known: &ListedToken| known.token == charter.settlement_asset;
            if !charter.listing.tokens.iter().any(listed) {
                return Err(BundleError::NoCash);
            }
            caveats.push(Caveat::new(at.holdings, self.holdings(&charter).encode()?));
        }
        if let Some(period) = self.period {
            let rule = Cadence { golem_id: charter.golem_id, period, count: NonZeroU8::MIN };
            caveats.push(Caveat::new(at.cadence, rule.encode()));
        }
        if self.pinned {
            caveats.push(Caveat::new(at.redeemer, Redeemer(vec![charter.agent_key]).encode()));
        }
        Ok(caveats)
    }

    fn holdings(&self, charter: &GolemCharter) -> Holdings {
        /// No bound.
        const WHOLE: u16 = 10_000;
        let (thriving_bps, stable_bps) = self.position.unwrap_or((WHOLE, WHOLE));
        if let Some(above) = self.above.as_deref() {
            return Holdings {
                thriving_bps: above.thriving_bps.min(thriving_bps),
                stable_bps: above.stable_bps.min(stable_bps),
                drawdown_bps: above.drawdown_bps.min(self.drawdown.unwrap_or(WHOLE)),
                ..above.clone()
            };
        }
        Holdings {
            golem_id: charter.golem_id,
            account: charter.account,
            staleness: charter.staleness,
            series: self.series,
            thriving_bps,
            stable_bps,
            drawdown_bps: self.drawdown.unwrap_or(WHOLE),
            registry: charter.registry,
            cash: charter.settlement_asset,
            loss_bps: charter.slippage_bps,
            listing: with_coins(charter.listing.clone()),
        }
    }
}

/// Wrapped coins that are unwrapped are the same position, so what is listed wrapped is held plain too: by the
/// same feed.
fn with_coins(mut listing: Listing) -> Listing {
    let is_wrapped = |listed: &&ListedToken| {
        listed.role == Some(Role::Weth)
            || listing
                .targets
                .iter()
                .any(|known| known.target == listed.token && known.role == Role::Weth)
    };
    let wrapped = listing.tokens.iter().find(is_wrapped).copied();
    let plain = listing.tokens.iter().any(|listed| listed.token.is_zero());
    if let (Some(wrapped), false) = (wrapped, plain) {
        listing.tokens.push(ListedToken { token: Address::ZERO, role: None, ..wrapped });
    }
    listing
}

fn tighten_both(bound: &mut Option<(u16, u16)>, most: (u16, u16)) {
    let (thriving, stable) = bound.unwrap_or(most);
    *bound = Some((thriving.min(most.0), stable.min(most.1)));
}

fn tighten<N: Ord + Copy>(bound: &mut Option<N>, most: N) {
    *bound = Some(bound.map_or(most, |other| other.min(most)));
}
