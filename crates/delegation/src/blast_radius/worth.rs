//! Integers that only ever round against the owner.

use super::{Price, law::WHOLE};
use alloy_primitives::U256;

/// Micro-dollars in a dollar, as a power of ten.
const MICRO_DECIMALS: u8 = 6;

/// `None` is what cannot be told: more than any number.
pub(super) type Known = Option<U256>;

pub(super) fn sum(parts: impl IntoIterator<Item = Known>) -> Known {
    parts.into_iter().try_fold(U256::ZERO, |total, part| Some(total.saturating_add(part?)))
}

/// The smaller one; what cannot be told bounds nothing.
pub(super) fn least(one: Known, other: Known) -> Known {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (known, None) | (None, known) => known,
    }
}

/// A share of a value, rounded up.
pub(super) fn share(value: U256, bps: u16) -> U256 {
    let (bps, whole) = (U256::from(bps.min(WHOLE)), U256::from(WHOLE));
    ratio(value, bps, whole)
}

/// `value * part / whole`, rounded up, and where it would not fit, as much as fits.
fn ratio(value: U256, part: U256, whole: U256) -> U256 {
    if whole.is_zero() {
        return U256::MAX;
    }
    match value.checked_mul(part) {
        Some(product) => product.div_ceil(whole),
        None => value.div_ceil(whole).saturating_mul(part),
    }
}

/// Micro-dollars of an amount, rounded up.
pub(super) fn value(amount: U256, price: Price, decimals: u8) -> U256 {
    let scale = ten(u16::from(decimals) + u16::from(price.decimals));
    let micro = ten(MICRO_DECIMALS.into()).unwrap_or(U256::MAX);
    match (price.answer.checked_mul(micro), scale) {
        (Some(answer), Some(scale)) => ratio(amount, answer, scale),
        _ if amount.is_zero() => U256::ZERO,
        _ => U256::MAX,
    }
}

/// The amount that is worth so many micro-dollars, rounded up.
pub(super) fn amount(micro_dollars: U256, price: Price, decimals: u8) -> U256 {
    let scale = ten(u16::from(decimals) + u16::from(price.decimals));
    let micro = ten(MICRO_DECIMALS.into()).unwrap_or(U256::MAX);
    match (price.answer.checked_mul(micro), scale) {
        (Some(answer), Some(scale)) => ratio(micro_dollars, scale, answer),
        _ => U256::MAX,
    }
}

fn ten(power: u16) -> Option<U256> {
    U256::from(10).checked_pow(U256::from(power))
}
