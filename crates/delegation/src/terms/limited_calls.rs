use super::{TermsError, exact};
use alloy_primitives::U256;

/// Stock `LimitedCallsEnforcer`: at most this many redemptions of the delegation.
///
/// Terms: `uint256`.
///
/// ```
/// use golem_delegation::terms::LimitedCalls;
/// # use alloy_primitives::U256;
/// let limit = LimitedCalls(U256::from(3));
/// assert_eq!(LimitedCalls::decode(&limit.encode())?, limit);
/// assert_eq!(limit.encode().len(), LimitedCalls::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LimitedCalls(pub U256);

impl LimitedCalls {
    /// The only length the contract accepts.
    pub const LEN: usize = 32;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.0.to_be_bytes::<32>().to_vec()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms).map(|word| Self(U256::from_be_bytes(word)))
    }
}
