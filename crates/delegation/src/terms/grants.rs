//! Rules about the grant itself: which one it is, and what must be true of chain and redeemer.

use super::{Reader, TermsError, exact};
use alloy_primitives::{Address, B256, Bytes, U256};

/// Stock `NonceEnforcer`: good while it is the delegator's number; one step of that ends all grants of before.
///
/// Terms: `uint256`.
///
/// ```
/// use golem_delegation::terms::Nonce;
/// # use alloy_primitives::U256;
/// let first = Nonce(U256::ZERO);
/// assert_eq!(Nonce::decode(&first.encode())?, first);
/// assert_eq!(first.encode().len(), Nonce::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Nonce(pub U256);

/// Stock `IdEnforcer`: of all grants of a delegator with this number, one is redeemed, and once.
///
/// Terms: `uint256`.
///
/// ```
/// use golem_delegation::terms::Id;
/// # use alloy_primitives::U256;
/// let offer = Id(U256::from(7));
/// assert_eq!(Id::decode(&offer.encode())?, offer);
/// assert_eq!(offer.encode().len(), Id::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Id(pub U256);

/// Stock `ArgsEqualityCheckEnforcer`: the redeemer's arguments are these bytes.
///
/// Terms: the arguments; any bytes are terms.
///
/// ```
/// use golem_delegation::terms::ArgsEqualityCheck;
/// # use alloy_primitives::bytes;
/// let said = ArgsEqualityCheck(bytes!("0102"));
/// assert_eq!(said.encode(), said.0);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArgsEqualityCheck(pub Bytes);

/// Stock `BlockNumberEnforcer`: redeemable while `after < block < before`; 0 means no bound.
///
/// Terms: `uint128 after ‖ uint128 before`, like those of [`super::Timestamp`].
///
/// ```
/// use golem_delegation::terms::BlockNumber;
/// let until = BlockNumber { after: 0, before: 40_000_000 };
/// assert_eq!(BlockNumber::decode(&until.encode())?, until);
/// assert_eq!(until.encode().len(), BlockNumber::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockNumber {
    /// Not redeemable in this block or before.
    pub after: u128,
    /// Not redeemable in this block or later.
    pub before: u128,
}

/// Stock `DeployedEnforcer`: a contract stands at an address, and is put there where it does not.
///
/// Terms: `contract 20 ‖ salt 32 ‖ creation code`, with at least one byte of code.
///
/// ```
/// use golem_delegation::terms::Deployed;
/// # use alloy_primitives::{Address, B256, Bytes, bytes};
/// let there = Deployed {
///     contract_address: Address::repeat_byte(1),
///     salt: B256::ZERO,
///     bytecode: bytes!("6000"),
/// };
/// assert_eq!(Deployed::decode(&there.encode()?)?, there);
/// assert_eq!(there.encode()?.len(), Deployed::HEADER + 2);
/// assert!(Deployed { bytecode: Bytes::new(), ..there }.encode().is_err());
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Deployed {
    /// Where it stands.
    pub contract_address: Address,
    /// Salt of CREATE2.
    pub salt: B256,
    /// Creation code.
    pub bytecode: Bytes,
}

impl Nonce {
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

impl Id {
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

impl ArgsEqualityCheck {
    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// Decodes; the contract accepts all bytes.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        Ok(Self(terms.to_vec().into()))
    }
}

impl BlockNumber {
    /// The only length the contract accepts.
    pub const LEN: usize = 32;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [self.after.to_be_bytes(), self.before.to_be_bytes()].concat()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        Ok(Self { after: reader.u128()?, before: reader.u128()? })
    }
}

impl Deployed {
    /// Bytes before the creation code.
    pub const HEADER: usize = 52;

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let terms =
            [self.contract_address.as_slice(), self.salt.as_slice(), &self.bytecode].concat();
        if self.bytecode.is_empty() {
            return Err(TermsError::TooShort { least: Self::HEADER + 1, actual: terms.len() });
        }
        Ok(terms)
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let deployed = Self {
            contract_address: reader.address()?,
            salt: reader.take()?.into(),
            bytecode: reader.rest(),
        };
        if deployed.bytecode.is_empty() {
            return Err(TermsError::TooShort { least: Self::HEADER + 1, actual: terms.len() });
        }
        Ok(deployed)
    }
}
