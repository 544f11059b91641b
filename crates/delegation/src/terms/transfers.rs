//! Rules about a transfer or a payment of one thing.

use super::{Reader, TermsError, exact};
use alloy_primitives::{Address, U256};

/// Stock `ERC20TransferAmountEnforcer`: transfers of one token, so much in all.
///
/// Terms: `token 20 ‖ maxAmount u256`.
///
/// ```
/// use golem_delegation::terms::Erc20TransferAmount;
/// # use alloy_primitives::{Address, U256};
/// let limit =
///     Erc20TransferAmount { token_address: Address::repeat_byte(1), max_amount: U256::from(7) };
/// assert_eq!(Erc20TransferAmount::decode(&limit.encode())?, limit);
/// assert_eq!(limit.encode().len(), Erc20TransferAmount::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Erc20TransferAmount {
    /// The token.
    pub token_address: Address,
    /// Most that is ever transferred.
    pub max_amount: U256,
}

/// Stock `NativeTokenTransferAmountEnforcer`: so much native value in all, in wei.
///
/// Terms: `uint256`. The contract does not look behind the word; here nothing may stand there.
///
/// ```
/// use golem_delegation::terms::NativeTokenTransferAmount;
/// # use alloy_primitives::U256;
/// let limit = NativeTokenTransferAmount(U256::from(7));
/// assert_eq!(NativeTokenTransferAmount::decode(&limit.encode())?, limit);
/// assert_eq!(limit.encode().len(), NativeTokenTransferAmount::LEN);
/// assert!(NativeTokenTransferAmount::decode(&[0; 33]).is_err());
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NativeTokenTransferAmount(pub U256);

/// Stock `NativeTokenPaymentEnforcer`: who redeems pays somebody, by another delegation of his own.
///
/// Terms: `recipient 20 ‖ amount u256`.
///
/// ```
/// use golem_delegation::terms::NativeTokenPayment;
/// # use alloy_primitives::{Address, U256};
/// let fee = NativeTokenPayment { recipient: Address::repeat_byte(1), amount: U256::from(7) };
/// assert_eq!(NativeTokenPayment::decode(&fee.encode())?, fee);
/// assert_eq!(fee.encode().len(), NativeTokenPayment::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NativeTokenPayment {
    /// Who is paid.
    pub recipient: Address,
    /// How much, in wei.
    pub amount: U256,
}

/// Stock `ERC721TransferEnforcer`: the transfer of one token of one collection.
///
/// Terms: `collection 20 ‖ tokenId u256`.
///
/// ```
/// use golem_delegation::terms::Erc721Transfer;
/// # use alloy_primitives::{Address, U256};
/// let one = Erc721Transfer { token_address: Address::repeat_byte(1), token_id: U256::from(7) };
/// assert_eq!(Erc721Transfer::decode(&one.encode())?, one);
/// assert_eq!(one.encode().len(), Erc721Transfer::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Erc721Transfer {
    /// The collection.
    pub token_address: Address,
    /// Which token.
    pub token_id: U256,
}

/// Stock `OwnershipTransferEnforcer`: one contract gets a new owner.
///
/// Terms: `contract 20`.
///
/// ```
/// use golem_delegation::terms::OwnershipTransfer;
/// # use alloy_primitives::Address;
/// let contract = OwnershipTransfer(Address::repeat_byte(1));
/// assert_eq!(OwnershipTransfer::decode(&contract.encode())?, contract);
/// assert_eq!(contract.encode().len(), OwnershipTransfer::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnershipTransfer(pub Address);

/// An address and a number: what most of these have.
fn pair(address: Address, number: U256) -> Vec<u8> {
    [address.as_slice(), &number.to_be_bytes::<32>()].concat()
}

fn decode_pair(terms: &[u8]) -> Result<(Address, U256), TermsError> {
    exact::<52>(terms)?;
    let mut reader = Reader::new(terms);
    Ok((reader.address()?, reader.u256()?))
}

impl Erc20TransferAmount {
    /// The only length the contract accepts.
    pub const LEN: usize = 52;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        pair(self.token_address, self.max_amount)
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let (token_address, max_amount) = decode_pair(terms)?;
        Ok(Self { token_address, max_amount })
    }
}

impl NativeTokenTransferAmount {
    /// The only length that is taken.
    pub const LEN: usize = 32;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.0.to_be_bytes::<32>().to_vec()
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let amount = reader.u256()?;
        reader.end()?;
        Ok(Self(amount))
    }
}

impl NativeTokenPayment {
    /// The only length the contract accepts.
    pub const LEN: usize = 52;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        pair(self.recipient, self.amount)
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let (recipient, amount) = decode_pair(terms)?;
        Ok(Self { recipient, amount })
    }
}

impl Erc721Transfer {
    /// The only length the contract accepts.
    pub const LEN: usize = 52;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        pair(self.token_address, self.token_id)
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let (token_address, token_id) = decode_pair(terms)?;
        Ok(Self { token_address, token_id })
    }
}

impl OwnershipTransfer {
    /// The only length the contract accepts.
    pub const LEN: usize = 20;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        self.0.to_vec()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms).map(|contract| Self(contract.into()))
    }
}
