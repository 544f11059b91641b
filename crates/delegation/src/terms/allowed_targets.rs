use super::{TermsError, decode_addresses, encode_addresses};
use alloy_primitives::Address;

/// Stock `AllowedTargetsEnforcer`: the call goes to one of these contracts.
///
/// Terms: addresses of 20 bytes, back to back.
///
/// ```
/// use golem_delegation::terms::AllowedTargets;
/// # use alloy_primitives::Address;
/// let targets = AllowedTargets(vec![Address::repeat_byte(1)]);
/// assert_eq!(AllowedTargets::decode(&targets.encode())?, targets);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllowedTargets(pub Vec<Address>);

impl AllowedTargets {
    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        encode_addresses(&self.0)
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        decode_addresses(terms).map(Self)
    }
}
