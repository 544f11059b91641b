//! What liquidity of Uniswap V3 is made of at a given price.

use alloy::primitives::{U256, U512, aliases::I24, uint};

/// 1 / √1.0001, times 2^128: what a tick takes off the root of a price.
const TICK: U256 = uint!(0xfffcb933bd6fad37aa2d162d1a594001_U256);
/// Ticks go to ±887,272, which is below 2^20.
const TICK_BITS: usize = 20;

/// Liquidity between two prices. Roots of prices are token1 for token0, times 2^96.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    liquidity: u128,
    lower: U256,
    upper: U256,
}

impl Range {
    /// Between two ticks; none where they are no range.
    pub(super) fn new(liquidity: u128, lower: I24, upper: I24) -> Option<Self> {
        let (lower, upper) = (root_at(lower)?, root_at(upper)?);
        (lower < upper).then_some(Self { liquidity, lower, upper })
    }

    /// Whether all of it was taken back.
    pub(super) const fn is_empty(&self) -> bool {
        self.liquidity == 0
    }

    /// How much there is of it.
    pub(super) const fn liquidity(&self) -> u128 {
        self.liquidity
    }

    /// How much of either token it is at a price, rounded down.
    pub(super) fn amounts(&self, root: U256) -> Option<[U256; 2]> {
        let Self { liquidity, lower, upper } = *self;
        let root = root.clamp(lower, upper);
        // 128 + 96 + 160 bits.
        let liquidity = U512::from(liquidity);
        let above: U512 = (liquidity << 96) * U512::from(upper - root);
        let amount0 = above.checked_div(U512::from(upper) * U512::from(root))?;
        let amount1 = (liquidity * U512::from(root - lower)) >> 96;
        Some([narrow(amount0)?, narrow(amount1)?])
    }
}

/// The root of a price that is scaled by 2^128.
pub(super) fn root_of(price: U256) -> Option<U256> {
    let scaled: U512 = U512::from(price) << 64;
    narrow(scaled.root(2))
}

/// The root of the price at a tick: 1.0001^(tick / 2). Off by less than one part in 2^40 at the very ends.
fn root_at(tick: I24) -> Option<U256> {
    let steps = tick.unsigned_abs();
    if steps.bit_len() > TICK_BITS {
        return None;
    }
    let (mut root, mut factor) = (U256::ONE << 128, TICK);
    for bit in 0..TICK_BITS {
        if steps.bit(bit) {
            root = (root * factor) >> 128;
        }
        factor = (factor * factor) >> 128;
    }
    if tick.is_positive() {
        root = U256::MAX.checked_div(root)?;
    }
    Some(root >> 32)
}

fn narrow(wide: U512) -> Option<U256> {
    (wide.bit_len() <= U256::BITS).then(|| U256::saturating_from(wide))
}
