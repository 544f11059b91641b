use super::{TermsError, decode_abi};
use crate::{Caveat, abi};
use alloy_sol_types::SolValue;

/// Stock `LogicalOrWrapperEnforcer`: all caveats of one of these groups, whichever the redeemer names.
///
/// A group without caveats allows everything: the contract takes it, and so it is taken here. The `args` of
/// these caveats are never read; the redeemer brings his own.
///
/// Terms: `abi.encode((Caveat[])[])`, of which one form is taken here; one group at least.
///
/// ```
/// use golem_delegation::{Caveat, terms::LogicalOrWrapper};
/// # use alloy_primitives::Address;
/// let either = LogicalOrWrapper(vec![
///     vec![Caveat::new(Address::repeat_byte(1), vec![1])],
///     vec![Caveat::new(Address::repeat_byte(2), vec![2])],
/// ]);
/// assert_eq!(LogicalOrWrapper::decode(&either.encode()?)?, either);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogicalOrWrapper(pub Vec<Vec<Caveat>>);

impl LogicalOrWrapper {
    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        check_groups(self.0.len())?;
        let raw: Vec<_> = self
            .0
            .iter()
            .map(|group| abi::CaveatGroup {
                caveats: group.iter().map(abi::Caveat::from).collect(),
            })
            .collect();
        Ok(raw.abi_encode())
    }

    /// Decodes the one canonical form, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let raw: Vec<abi::CaveatGroup> = decode_abi(terms)?;
        check_groups(raw.len())?;
        let group = |raw: abi::CaveatGroup| raw.caveats.into_iter().map(Caveat::from).collect();
        Ok(Self(raw.into_iter().map(group).collect()))
    }
}

/// There is no group to name where there is none.
const fn check_groups(groups: usize) -> Result<(), TermsError> {
    if groups == 0 {
        return Err(TermsError::Zero { what: "groups of caveats" });
    }
    Ok(())
}
