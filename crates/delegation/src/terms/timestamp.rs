use super::{TermsError, exact};

/// Stock `TimestampEnforcer`: redeemable while `after < now < before`; 0 means no bound.
///
/// Terms: `uint128 after ‖ uint128 before`. Unlike [`super::MortalityTimeWindow`] both ends are
/// exclusive, and the contract lets an inverted window stand (it is simply never open).
///
/// ```
/// use golem_delegation::terms::Timestamp;
/// let until = Timestamp { after: 0, before: 1_800_000_000 };
/// assert_eq!(Timestamp::decode(&until.encode())?, until);
/// assert_eq!(until.encode().len(), Timestamp::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    /// Not redeemable at or before this second.
    pub after: u128,
    /// Not redeemable at or after this second.
    pub before: u128,
}

impl Timestamp {
    /// The only length the contract accepts.
    pub const LEN: usize = 32;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [self.after.to_be_bytes(), self.before.to_be_bytes()].concat()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let bytes = exact::<{ Self::LEN }>(terms)?;
        let ([after, before], []) = bytes.as_chunks::<16>() else {
            return Err(TermsError::Length { expected: Self::LEN, actual: terms.len() });
        };
        Ok(Self { after: u128::from_be_bytes(*after), before: u128::from_be_bytes(*before) })
    }
}
