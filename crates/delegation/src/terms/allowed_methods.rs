use super::{TermsError, entries};
use alloy_primitives::Selector;

/// Stock `AllowedMethodsEnforcer`: the call's first four bytes are one of these.
///
/// Terms: selectors of 4 bytes, back to back.
///
/// ```
/// use golem_delegation::terms::AllowedMethods;
/// # use alloy_primitives::fixed_bytes;
/// let methods = AllowedMethods(vec![fixed_bytes!("a9059cbb")]);
/// assert_eq!(AllowedMethods::decode(&methods.encode())?, methods);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AllowedMethods(pub Vec<Selector>);

impl AllowedMethods {
    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|selector| selector.0).collect()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        Ok(Self(entries::<4>(terms)?.into_iter().map(Selector::from).collect()))
    }
}
