use super::TermsError;
use alloy_primitives::{Bytes, U256};

/// Stock `AllowedCalldataEnforcer`: the call's data holds `value` from byte `start` on.
///
/// Terms: `uint256 start ‖ value`, with at least one byte of value.
///
/// ```
/// use golem_delegation::terms::AllowedCalldata;
/// # use alloy_primitives::{U256, bytes};
/// let pinned = AllowedCalldata { start: U256::from(4), value: bytes!("01") };
/// assert_eq!(AllowedCalldata::decode(&pinned.encode())?, pinned);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllowedCalldata {
    /// Offset into the call's data, selector included.
    pub start: U256,
    /// Bytes that must stand there.
    pub value: Bytes,
}

impl AllowedCalldata {
    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [self.start.to_be_bytes::<32>().as_slice(), &self.value].concat()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        match terms.split_first_chunk::<32>() {
            Some((start, value)) if !value.is_empty() => {
                Ok(Self { start: U256::from_be_bytes(*start), value: value.to_vec().into() })
            }
            _ => Err(TermsError::TooShort { least: 33, actual: terms.len() }),
        }
    }
}
