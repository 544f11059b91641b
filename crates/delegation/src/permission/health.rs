use super::{Allowance, Periodic, Permission, Stream};
use alloy_primitives::U256;

/// Seconds in a day.
///
/// ```
/// use golem_delegation::permission::{Allowance, Asset, Condition, DAY, Health, Permission, Usage};
/// # use alloy_primitives::U256;
/// # let (asset, amount) = (Asset::Native, U256::from(10));
/// # let all = Permission::Allowance(Allowance { asset, amount, start: None });
/// let usage = Usage { spent: U256::ZERO, now: 2_000, disabled: false };
/// let ends_in = |seconds| Health::of(&all, Some(2_000 + seconds), usage).condition;
/// assert_eq!([DAY - 1, DAY].map(ends_in), [Condition::Critical, Condition::Low]);
/// assert_eq!([7 * DAY, 7 * DAY + 1].map(ends_in), [Condition::Low, Condition::Healthy]);
/// ```
pub const DAY: u64 = 86_400;

/// What is known from outside about a permission.
///
/// ```
/// use golem_delegation::permission::{Allowance, Asset, Cause, Condition, Health, Permission, Usage};
/// # use alloy_primitives::U256;
/// # let all = Permission::Allowance(Allowance { asset: Asset::Native, amount: U256::from(10), start: None });
/// let usage = Usage { spent: U256::ZERO, now: 2_000, disabled: true };
/// // However much is left.
/// assert_eq!(Health::of(&all, None, usage).condition, Condition::Revoked(Cause::ByOwner));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Spent in the current period; for streams and allowances, spent in all.
    pub spent: U256,
    /// The second it is.
    pub now: u64,
    /// Whether the owner disabled the delegation, or its nonce has passed.
    pub disabled: bool,
}

/// Why nothing can be redeemed any more.
///
/// ```
/// use golem_delegation::permission::{Allowance, Asset, Cause, Condition, Health, Permission, Usage};
/// # use alloy_primitives::U256;
/// # let all = Permission::Allowance(Allowance { asset: Asset::Native, amount: U256::from(10), start: None });
/// // The expiry is the first second that is too late.
/// let usage = Usage { spent: U256::ZERO, now: 2_000, disabled: false };
/// assert_eq!(Health::of(&all, Some(2_000), usage).condition, Condition::Revoked(Cause::Expired));
/// assert_eq!(Cause::Expired.name(), "expired");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// The owner took it back.
    ByOwner,
    /// Its time is over.
    Expired,
    /// All that it may ever give was taken.
    Exhausted,
}

impl Cause {
    /// One word for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ByOwner => "revokedByOwner",
            Self::Expired => "expired",
            Self::Exhausted => "exhausted",
        }
    }
}

/// How a permission is doing (SPEC G10).
///
/// ```
/// use golem_delegation::permission::{Allowance, Asset, Condition, Health, Permission, Usage};
/// # use alloy_primitives::U256;
/// # let all = Permission::Allowance(Allowance { asset: Asset::Native, amount: U256::from(100), start: None });
/// let after = |spent| Health::of(&all, None, Usage { spent: U256::from(spent), now: 2_000, disabled: false });
/// let conditions = [49, 50, 91].map(|spent| after(spent).condition);
/// assert_eq!(conditions, [Condition::Healthy, Condition::Low, Condition::Critical]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Condition {
    /// More than half of the cap left, and more than seven days.
    Healthy,
    /// Neither healthy nor critical.
    Low,
    /// Less than a tenth of the cap left, or less than a day.
    Critical,
    /// Nothing can be redeemed.
    Revoked(Cause),
}

impl Condition {
    /// One word for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Low => "low",
            Self::Critical => "critical",
            Self::Revoked(_) => "revoked",
        }
    }
}

/// A permission's condition and the numbers it comes from.
///
/// ```
/// use golem_delegation::permission::{Asset, Health, Periodic, Permission, Usage};
/// # use alloy_primitives::U256;
/// # let daily = Permission::Periodic(Periodic {
/// #     asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: Some(1_000),
/// # });
/// let health = Health::of(&daily, None, Usage { spent: U256::from(4), now: 2_000, disabled: false });
/// assert_eq!((health.left, health.period_ends), (Some(U256::from(6)), Some(87_400)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// The verdict.
    pub condition: Condition,
    /// The cap that is compared with; none where no money is moved.
    pub cap: Option<U256>,
    /// What can still be taken of it, which is nothing once it is revoked; none where no money is moved.
    pub left: Option<U256>,
    /// What can be taken at once, which is nothing once it is revoked. Of a stream it is all that has come together, and may be
    /// many times its cap.
    pub available: Option<U256>,
    /// Seconds until it ends, 0 once it has; none where it never does.
    pub seconds_left: Option<u64>,
    /// Seconds until it can first be redeemed; 0 from then on.
    pub starts_in: u64,
    /// When the current period ends and the cap is whole again; none where it never is.
    pub period_ends: Option<u64>,
}

/// A cap, what is left of it, and whether that is the end.
struct Budget {
    cap: U256,
    left: U256,
    available: U256,
    exhausted: bool,
}

impl Health {
    /// How a permission that starts at `start` and expires at `expiry` is doing.
    ///
    /// The cap is that of the period; of an allowance, the whole of it; of a stream, what one day adds, of which so
    /// much is left as is available now.
    ///
    /// ```
    /// use golem_delegation::permission::{Asset, Condition, Health, Periodic, Permission, Usage};
    /// # use alloy_primitives::U256;
    /// let daily = Permission::Periodic(Periodic {
    ///     asset: Asset::Native, amount: U256::from(10), duration: 86_400, start: Some(1_000),
    /// });
    /// let usage = Usage { spent: U256::from(4), now: 2_000, disabled: false };
    /// assert_eq!(Health::of(&daily, Some(2_000_000), usage).condition, Condition::Healthy);
    /// ```
    #[must_use]
    pub fn of(permission: &Permission, expiry: Option<u64>, usage: Usage) -> Self {
        let Usage { spent, now, disabled } = usage;
        let budget = budget(permission, spent, now);
        let seconds_left = expiry.map(|expiry| expiry.saturating_sub(now));
        let exhausted = budget.as_ref().is_some_and(|budget| budget.exhausted);
        let condition = if disabled {
            Condition::Revoked(Cause::ByOwner)
        } else if seconds_left == Some(0) {
            Condition::Revoked(Cause::Expired)
        } else if exhausted {
            Condition::Revoked(Cause::Exhausted)
        } else {
            judge(budget.as_ref(), seconds_left)
        };
        let alive = !matches!(condition, Condition::Revoked(_));
        Self {
            condition,
            cap: budget.as_ref().map(|budget| budget.cap),
            left: budget.as_ref().map(|budget| if alive { budget.left } else { U256::ZERO }),
            available: budget
                .as_ref()
                .map(|budget| if alive { budget.available } else { U256::ZERO }),
            seconds_left: if alive { seconds_left } else { Some(0) },
            starts_in: permission.start().map_or(0, |start| start.saturating_sub(now)),
            period_ends: period_ends(permission, now).filter(|_| alive),
        }
    }
}

fn judge(budget: Option<&Budget>, seconds_left: Option<u64>) -> Condition {
    // Sums instead of products: nothing overflows, nothing is rounded. `left` is never more than `cap`.
    let (most, hardly) = budget.map_or((true, false), |Budget { cap, left, .. }| {
        (*left > cap.saturating_sub(*left), *left < cap.div_ceil(U256::from(10)))
    });
    let long = seconds_left.is_none_or(|seconds| seconds > 7 * DAY);
    let short = seconds_left.is_some_and(|seconds| seconds < DAY);
    if hardly || short {
        Condition::Critical
    } else if most && long {
        Condition::Healthy
    } else {
        Condition::Low
    }
}

fn budget(permission: &Permission, spent: U256, now: u64) -> Option<Budget> {
    match *permission {
        Permission::Periodic(Periodic { amount, .. }) => {
            let left = amount.saturating_sub(spent);
            Some(Budget { cap: amount, left, available: left, exhausted: false })
        }
        Permission::Allowance(Allowance { amount, .. }) => {
            let left = amount.saturating_sub(spent);
            Some(Budget { cap: amount, left, available: left, exhausted: left.is_zero() })
        }
        Permission::Stream(Stream { per_second, initial, max, start, .. }) => {
            let max = max.unwrap_or(U256::MAX);
            let day = per_second.saturating_mul(U256::from(DAY)).min(max);
            let elapsed = now.saturating_sub(start.unwrap_or(now));
            let grown = per_second.saturating_mul(U256::from(elapsed));
            let unlocked = initial.unwrap_or_default().saturating_add(grown).min(max);
            let available = unlocked.saturating_sub(spent);
            Some(Budget { cap: day, left: available.min(day), available, exhausted: spent >= max })
        }
        Permission::ApprovalRevocation(_) => None,
    }
}

fn period_ends(permission: &Permission, now: u64) -> Option<u64> {
    let Permission::Periodic(Periodic { duration, start: Some(start), .. }) = permission else {
        return None;
    };
    let passed = now.saturating_sub(*start).checked_div(*duration)?;
    passed.checked_add(1)?.checked_mul(*duration)?.checked_add(*start)
}
