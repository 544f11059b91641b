//! What a Golem earns, as far as its own ticks have seen it (docs/vitality.md).

use crate::Held;
use alloy_primitives::{Address, U256, U512};
use golem_chain::Possession;
use golem_custody::Holding;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Whole days that count.
const DAYS: usize = 7;

/// What a market made of what was held, day by day, in micro-dollars.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Earnings {
    /// The day that it is, from its birth.
    pub day: u64,
    /// What this one brought or took so far.
    pub today: i64,
    /// What the whole days before it did, the last one last.
    pub days: Vec<i64>,
    /// What all of them did, this one too.
    #[serde(default)]
    pub ever: i64,
}

impl Earnings {
    /// Counts something on a day.
    ///
    /// ```
    /// let mut earnings = golem_runtime::Earnings::default();
    /// earnings.count(0, 7_000_000);
    /// assert_eq!(earnings.daily(), 0, "a day that is not over says nothing");
    /// earnings.count(1, -70_000_000);
    /// assert_eq!(earnings.daily(), 1_000_000, "a seventh of seven dollars");
    /// earnings.count(2, 0);
    /// assert_eq!(earnings.daily(), 0, "a loss is no revenue");
    /// ```
    pub fn count(&mut self, day: u64, gain: i64) {
        let passed = usize::try_from(day.saturating_sub(self.day)).unwrap_or(usize::MAX);
        if passed > 0 {
            self.days.push(self.today);
            // Days on which it did not run brought nothing that it saw.
            self.days.extend(std::iter::repeat_n(0, passed.saturating_sub(1).min(DAYS)));
            let old = self.days.len().saturating_sub(DAYS);
            self.days.drain(..old);
            (self.day, self.today) = (day, 0);
        }
        self.today = self.today.saturating_add(gain);
        self.ever = self.ever.saturating_add(gain);
    }

    /// What its whole life brought, and nothing where it took.
    #[must_use]
    pub fn lifetime(&self) -> u64 {
        u64::try_from(self.ever).unwrap_or(0)
    }

    /// What a day brings: a seventh of the last seven whole days, and nothing where they took.
    #[must_use]
    pub fn daily(&self) -> u64 {
        let sum = self.days.iter().copied().fold(0i64, i64::saturating_add);
        u64::try_from(sum / 7).unwrap_or(0)
    }
}

/// What the market made of what was held all the time between two looks: what came in, went out or was swapped meanwhile is no gain, and
/// what has no price is none. Rounded against the Golem.
///
/// ```
/// use alloy_primitives::{Address, U256};
/// use golem_runtime::{Held, gain};
/// let of = |amount: u64, worth: u128| [(Address::ZERO, Held { amount: U256::from(amount), worth })].into();
/// assert_eq!(gain(&of(10, 100), &of(10, 130)), 30);
/// assert_eq!(gain(&of(10, 100), &of(20, 260)), 30, "a deposit is no gain");
/// assert_eq!(gain(&of(10, 100), &of(5, 65)), 15, "what left has no part in it");
/// assert_eq!(gain(&of(10, 100), &of(0, 0)), 0);
/// ```
#[must_use]
pub fn gain(before: &BTreeMap<Address, Held>, after: &BTreeMap<Address, Held>) -> i64 {
    let mut sum = 0i64;
    for (token, then) in before {
        let Some(now) = after.get(token) else { continue };
        let held = then.amount.min(now.amount);
        let (Some(was), Some(is)) = (part(then, held, true), part(now, held, false)) else {
            continue;
        };
        sum = sum.saturating_add(is.saturating_sub(was));
    }
    sum
}

/// What a part of a holding is worth.
fn part(held: &Held, amount: U256, up: bool) -> Option<i64> {
    let (whole, product) = (U512::from(held.amount), U512::from(amount) * U512::from(held.worth));
    if whole.is_zero() {
        return None;
    }
    let more = if up { whole - U512::from(1) } else { U512::ZERO };
    i64::try_from((product + more) / whole).ok()
}

/// What came to an account between two looks (above zero) or left it (below) other than by the market, in micro-dollars. `price` says what
/// so much of something is worth that is there no more.
///
/// How much more or less there is of each thing, at the prices of one look or of the other, whichever makes it less: what was swapped
/// at a price between the two then nets out, and no move of prices is taken for somebody's doing.
///
/// ```
/// use alloy_primitives::{Address, U256};
/// use golem_chain::Possession;
/// use golem_custody::Holding;
/// use golem_runtime::flow;
/// let of = |token: u8, units: u64, worth| Possession {
///     of: Holding::Token(Address::repeat_byte(token)),
///     units: U256::from(units),
///     worth,
/// };
/// let before = [of(1, 1_000, 1_000), of(2, 10, 1_000)];
/// let unknown = |_, _| None;
/// assert_eq!(flow(&before, &[of(1, 1_000, 1_000), of(2, 10, 700)], unknown), 0, "a fall is the market's");
/// assert_eq!(flow(&before, &[of(1, 600, 600), of(2, 10, 700)], unknown), -400, "a withdrawal is not");
/// assert_eq!(flow(&before, &[of(1, 600, 600), of(2, 14, 1_400)], unknown), 0, "nor is a swap");
/// assert_eq!(flow(&before, &[of(1, 600, 600), of(2, 14, 700)], unknown), 0, "before a fall or after it");
/// assert_eq!(flow(&before, &[of(1, 1_500, 1_500), of(2, 10, 1_000)], unknown), 500);
/// assert_eq!(flow(&before, &[of(1, 1_000, 1_000)], |_, _| Some(900)), -900, "all of something");
/// ```
#[must_use]
pub fn flow(
    before: &[Possession],
    after: &[Possession],
    price: impl Fn(Holding, U256) -> Option<u64>,
) -> i64 {
    let (mut then, mut now) = (0i128, 0i128);
    for old in before {
        let same = after.iter().find(|new| new.of == old.of);
        let is = same.map_or(U256::ZERO, |new| new.units);
        then = then.saturating_add(change(old, old.units, is));
        now = now.saturating_add(match same.filter(|new| !new.units.is_zero()) {
            Some(new) => change(new, old.units, new.units),
            None => {
                let worth = price(old.of, old.units).unwrap_or(old.worth);
                change(&Possession { worth, ..*old }, old.units, is)
            }
        });
    }
    for new in after.iter().filter(|new| before.iter().all(|old| old.of != new.of)) {
        then = then.saturating_add(new.worth.into());
        now = now.saturating_add(new.worth.into());
    }
    let least = match (then.signum(), now.signum()) {
        (1, 1) => then.min(now),
        (-1, -1) => then.max(now),
        _ => 0,
    };
    i64::try_from(least).unwrap_or(if least < 0 { i64::MIN } else { i64::MAX })
}

/// What the difference of two amounts is worth, by what one amount is.
fn change(by: &Possession, was: U256, is: U256) -> i128 {
    let product = U512::from(was.abs_diff(is)) * U512::from(by.worth);
    let worth = product.checked_div(U512::from(by.units)).unwrap_or_default();
    let worth = i128::try_from(worth).unwrap_or(i128::MAX);
    if is < was { worth.saturating_neg() } else { worth }
}

/// What is left of a flow beside what trades of one's own could lose or win.
///
/// ```
/// use golem_runtime::beyond;
/// assert_eq!([beyond(-3, 5), beyond(4, 5), beyond(-105, 5), beyond(105, 5)], [0, 0, -100, 100]);
/// ```
#[must_use]
pub fn beyond(flow: i64, own: u64) -> i64 {
    let own = i64::try_from(own).unwrap_or(i64::MAX);
    if flow < 0 { flow.saturating_add(own).min(0) } else { flow.saturating_sub(own).max(0) }
}

/// The mark of holdings that are worth `worth` behind a flow: what came raises it by as much, what left lowers it in the proportion, so
/// that a fall stays the same share of what is left.
///
/// ```
/// use golem_runtime::moved;
/// assert_eq!(moved(1_000, 700, -300), 700, "no fall before, and none after");
/// assert_eq!(moved(1_000, 450, -450), 500, "a tenth before, and a tenth after");
/// assert_eq!(moved(1_000, 1_400, 500), 1_500);
/// assert_eq!(moved(1_000, 0, -1_000), 0);
/// ```
#[must_use]
pub fn moved(mark: u64, worth: u64, flow: i64) -> u64 {
    if flow >= 0 {
        return mark.saturating_add(flow.unsigned_abs());
    }
    let whole = u128::from(worth).saturating_add(flow.unsigned_abs().into());
    let left = u128::from(mark).saturating_mul(worth.into()).checked_div(whole);
    left.and_then(|left| u64::try_from(left).ok()).unwrap_or(mark)
}
