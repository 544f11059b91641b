use super::{TermsError, exact};

/// Stock `ApprovalRevocationEnforcer`: the call takes back an approval, in one of these ways.
///
/// Terms: one byte, a bit for each way, in this order from the lowest; one bit at least.
///
/// ```
/// use golem_delegation::terms::ApprovalRevocation;
/// let tokens = ApprovalRevocation { erc20_approve: true, ..ApprovalRevocation::default() };
/// assert_eq!(tokens.encode()?, [1]);
/// assert_eq!(tokens.encode()?.len(), ApprovalRevocation::LEN);
/// assert!(ApprovalRevocation::default().encode().is_err());
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ApprovalRevocation {
    /// `approve(spender, 0)` of an ERC-20.
    pub erc20_approve: bool,
    /// `approve(0, tokenId)` of an ERC-721.
    pub erc721_approve: bool,
    /// `setApprovalForAll(operator, false)`.
    pub erc721_set_approval_for_all: bool,
    /// Permit2's `approve` of 0.
    pub permit2_approve: bool,
    /// Permit2's `lockdown`.
    pub permit2_lockdown: bool,
    /// Permit2's `invalidateNonces`.
    pub permit2_invalidate_nonces: bool,
}

impl ApprovalRevocation {
    /// The only length the contract accepts.
    pub const LEN: usize = 1;
    const KNOWN: u8 = 0x3f;

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let ways = [
            self.erc20_approve,
            self.erc721_approve,
            self.erc721_set_approval_for_all,
            self.permit2_approve,
            self.permit2_lockdown,
            self.permit2_invalidate_nonces,
        ];
        let bits = ways.into_iter().rev().fold(0, |bits, way| bits << 1 | u8::from(way));
        Ok(vec![Self::check(bits)?])
    }

    /// Decodes, accepting exactly what the contract accepts.
    ///
    /// ```
    /// use golem_delegation::{TermsError, terms::ApprovalRevocation};
    /// let first_and_last = ApprovalRevocation::decode(&[0b10_0001])?;
    /// assert!(first_and_last.erc20_approve && first_and_last.permit2_invalidate_nonces);
    /// assert!(!first_and_last.permit2_lockdown);
    /// // Six bits have a meaning.
    /// assert_eq!(ApprovalRevocation::decode(&[0x40]), Err(TermsError::UnknownBits { bits: 0x40 }));
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let [bits] = exact::<{ Self::LEN }>(terms)?;
        let bits = Self::check(bits)?;
        let way = |bit: u8| bits & 1 << bit != 0;
        Ok(Self {
            erc20_approve: way(0),
            erc721_approve: way(1),
            erc721_set_approval_for_all: way(2),
            permit2_approve: way(3),
            permit2_lockdown: way(4),
            permit2_invalidate_nonces: way(5),
        })
    }

    fn check(bits: u8) -> Result<u8, TermsError> {
        if bits == 0 {
            return Err(TermsError::Zero { what: "ways to take back an approval" });
        }
        if bits & !Self::KNOWN != 0 {
            return Err(TermsError::UnknownBits { bits: bits.into() });
        }
        Ok(bits)
    }
}
