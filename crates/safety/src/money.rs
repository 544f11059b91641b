use alloy_primitives::U256;
use serde::{Serialize, Serializer};
use std::fmt;

/// Dollars in millionths: the one unit in which anything is limited (SPEC D8).
///
/// ```
/// use golem_safety::MicroDollars;
/// let price = MicroDollars::new(1_250_000_001);
/// assert_eq!(price.to_string(), "$1250.000001");
/// assert_eq!(price.checked_add(MicroDollars::new(u128::MAX)), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroDollars(u128);

impl MicroDollars {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    const DOLLAR: u128 = 1_000_000;

    /// So many millionths of a dollar.
    #[must_use]
    pub const fn new(micro: u128) -> Self {
        Self(micro)
    }

    /// Millionths of a dollar.
    #[must_use]
    pub const fn get(self) -> u128 {
        self.0
    }

    /// Both together; none beyond the arithmetic.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// All together; none beyond the arithmetic.
    pub fn checked_sum(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        all.into_iter().try_fold(Self::ZERO, Self::checked_add)
    }

    /// Times basis points, wide enough not to overflow.
    pub(crate) fn times(self, factor: u16) -> U256 {
        U256::from(self.0) * U256::from(factor)
    }
}

impl From<u64> for MicroDollars {
    fn from(micro: u64) -> Self {
        Self(micro.into())
    }
}

impl TryFrom<U256> for MicroDollars {
    type Error = <u128 as TryFrom<U256>>::Error;

    fn try_from(micro: U256) -> Result<Self, Self::Error> {
        micro.try_into().map(Self)
    }
}

impl fmt::Display for MicroDollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, part) = (self.0 / Self::DOLLAR, self.0 % Self::DOLLAR);
        match part {
            0 => write!(f, "${whole}"),
            part => write!(f, "${whole}.{part:06}"),
        }
    }
}

impl Serialize for MicroDollars {
    /// As decimal text: JSON's numbers lose digits in many readers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
