use super::{TermsError, exact};
use alloy_primitives::U256;

/// Stock `ValueLteEnforcer`: the call carries at most this much native value, in wei.
///
/// Terms: `uint256`.
///
/// ```
/// use golem_delegation::terms::ValueLte;
/// # use alloy_primitives::U256;
/// let limit = ValueLte(U256::from(3));
/// assert_eq!(ValueLte::decode(&limit.encode())?, limit);
/// assert_eq!(limit.encode().len(), ValueLte::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValueLte(pub U256);

impl ValueLte {
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
