use super::{TermsError, decode_addresses, encode_addresses};
use alloy_primitives::Address;

/// Stock `RedeemerEnforcer`: one of these accounts redeems, so a re-delegation gains nothing.
///
/// Terms: addresses of 20 bytes, back to back.
///
/// ```
/// use golem_delegation::terms::Redeemer;
/// # use alloy_primitives::Address;
/// let only = Redeemer(vec![Address::repeat_byte(1)]);
/// assert_eq!(Redeemer::decode(&only.encode())?, only);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Redeemer(pub Vec<Address>);

impl Redeemer {
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
