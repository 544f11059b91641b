//! Rules about what an execution leaves behind in somebody's balance.

use super::{Reader, TermsError, exact};
use alloy_primitives::{Address, U256};

/// Which way a balance may move, as the byte that the contracts read.
///
/// Every byte but 0 means a decrease to them, and each stays the byte it was.
///
/// ```
/// use golem_delegation::terms::ChangeType;
/// assert!(!ChangeType::INCREASE.is_decrease());
/// assert!(ChangeType(7).is_decrease());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChangeType(pub u8);

impl ChangeType {
    /// The balance rises by the amount at least.
    pub const INCREASE: Self = Self(0);
    /// The balance falls by the amount at most.
    pub const DECREASE: Self = Self(1);

    /// Whether the amount is the most that may be lost, and not the least that must be gained.
    #[must_use]
    pub const fn is_decrease(self) -> bool {
        self.0 != 0
    }
}

/// Stock `ERC20BalanceChangeEnforcer`: after the execution somebody's tokens have risen by so much at
/// least, or fallen by so much at most.
///
/// Terms: `changeType u8 ‖ token 20 ‖ recipient 20 ‖ balance u256`.
///
/// ```
/// use golem_delegation::terms::{ChangeType, Erc20BalanceChange};
/// # use alloy_primitives::{Address, U256};
/// let rises = Erc20BalanceChange {
///     change_type: ChangeType::INCREASE,
///     token_address: Address::repeat_byte(1),
///     recipient: Address::repeat_byte(2),
///     balance: U256::from(3),
/// };
/// assert_eq!(Erc20BalanceChange::decode(&rises.encode())?, rises);
/// assert_eq!(rises.encode().len(), Erc20BalanceChange::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Erc20BalanceChange {
    /// Up or down.
    pub change_type: ChangeType,
    /// The token.
    pub token_address: Address,
    /// Whose balance.
    pub recipient: Address,
    /// By how much.
    pub balance: U256,
}

/// Stock `ERC721BalanceChangeEnforcer`: the same for how many tokens of a collection somebody has.
///
/// Terms: `changeType u8 ‖ token 20 ‖ recipient 20 ‖ amount u256`.
///
/// ```
/// use golem_delegation::terms::{ChangeType, Erc721BalanceChange};
/// # use alloy_primitives::{Address, U256};
/// let keeps_all_but_one = Erc721BalanceChange {
///     change_type: ChangeType::DECREASE,
///     token_address: Address::repeat_byte(1),
///     recipient: Address::repeat_byte(2),
///     amount: U256::ONE,
/// };
/// assert_eq!(Erc721BalanceChange::decode(&keeps_all_but_one.encode())?, keeps_all_but_one);
/// assert_eq!(keeps_all_but_one.encode().len(), Erc721BalanceChange::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Erc721BalanceChange {
    /// Up or down.
    pub change_type: ChangeType,
    /// The collection.
    pub token_address: Address,
    /// Whose balance.
    pub recipient: Address,
    /// By how many.
    pub amount: U256,
}

/// Stock `ERC1155BalanceChangeEnforcer`: the same for one token of a collection of many.
///
/// Terms: `changeType u8 ‖ token 20 ‖ recipient 20 ‖ tokenId u256 ‖ balance u256`.
///
/// ```
/// use golem_delegation::terms::{ChangeType, Erc1155BalanceChange};
/// # use alloy_primitives::{Address, U256};
/// let rises = Erc1155BalanceChange {
///     change_type: ChangeType::INCREASE,
///     token_address: Address::repeat_byte(1),
///     recipient: Address::repeat_byte(2),
///     token_id: U256::from(7),
///     balance: U256::ONE,
/// };
/// assert_eq!(Erc1155BalanceChange::decode(&rises.encode())?, rises);
/// assert_eq!(rises.encode().len(), Erc1155BalanceChange::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Erc1155BalanceChange {
    /// Up or down.
    pub change_type: ChangeType,
    /// The collection.
    pub token_address: Address,
    /// Whose balance.
    pub recipient: Address,
    /// Which token.
    pub token_id: U256,
    /// By how much.
    pub balance: U256,
}

/// Stock `NativeBalanceChangeEnforcer`: the same for the chain's own coin, in wei.
///
/// Terms: `changeType u8 ‖ recipient 20 ‖ balance u256`.
///
/// ```
/// use golem_delegation::terms::{ChangeType, NativeBalanceChange};
/// # use alloy_primitives::{Address, U256};
/// let falls = NativeBalanceChange {
///     change_type: ChangeType::DECREASE,
///     recipient: Address::repeat_byte(2),
///     balance: U256::from(1_000),
/// };
/// assert_eq!(NativeBalanceChange::decode(&falls.encode())?, falls);
/// assert_eq!(falls.encode().len(), NativeBalanceChange::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NativeBalanceChange {
    /// Up or down.
    pub change_type: ChangeType,
    /// Whose balance.
    pub recipient: Address,
    /// By how much.
    pub balance: U256,
}

impl Erc20BalanceChange {
    /// The only length the contract accepts.
    pub const LEN: usize = 73;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.change_type.0];
        out.extend(self.token_address);
        out.extend(self.recipient);
        out.extend(self.balance.to_be_bytes::<32>());
        out
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        Ok(Self {
            change_type: ChangeType(reader.u8()?),
            token_address: reader.address()?,
            recipient: reader.address()?,
            balance: reader.u256()?,
        })
    }
}

impl Erc721BalanceChange {
    /// The only length the contract accepts.
    pub const LEN: usize = 73;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.change_type.0];
        out.extend(self.token_address);
        out.extend(self.recipient);
        out.extend(self.amount.to_be_bytes::<32>());
        out
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        Ok(Self {
            change_type: ChangeType(reader.u8()?),
            token_address: reader.address()?,
            recipient: reader.address()?,
            amount: reader.u256()?,
        })
    }
}

impl Erc1155BalanceChange {
    /// The only length the contract accepts.
    pub const LEN: usize = 105;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.change_type.0];
        out.extend(self.token_address);
        out.extend(self.recipient);
        out.extend(self.token_id.to_be_bytes::<32>());
        out.extend(self.balance.to_be_bytes::<32>());
        out
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        Ok(Self {
            change_type: ChangeType(reader.u8()?),
            token_address: reader.address()?,
            recipient: reader.address()?,
            token_id: reader.u256()?,
            balance: reader.u256()?,
        })
    }
}

impl NativeBalanceChange {
    /// The only length the contract accepts.
    pub const LEN: usize = 53;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![self.change_type.0];
        out.extend(self.recipient);
        out.extend(self.balance.to_be_bytes::<32>());
        out
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        Ok(Self {
            change_type: ChangeType(reader.u8()?),
            recipient: reader.address()?,
            balance: reader.u256()?,
        })
    }
}
