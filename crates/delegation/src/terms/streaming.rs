//! Allowances that grow by the second.
//!
//! The getters of these contracts look at lengths alone; it is the hooks that refuse a maximum below the initial
//! amount and a start of zero, always, and so they are refused here.

use super::{Reader, TermsError, exact, nonzero};
use alloy_primitives::{Address, U256};

/// Stock `ERC20StreamingEnforcer`: transfers of one token, more of it every second.
///
/// Terms: `token 20 ‖ initialAmount u256 ‖ maxAmount u256 ‖ amountPerSecond u256 ‖ startTime u256`, with
/// `initialAmount ≤ maxAmount` and a start that is not zero.
///
/// ```
/// use golem_delegation::terms::Erc20Streaming;
/// # use alloy_primitives::{Address, U256};
/// let stream = Erc20Streaming {
///     token_address: Address::repeat_byte(1),
///     initial_amount: U256::ZERO,
///     max_amount: U256::from(1_000),
///     amount_per_second: U256::from(2),
///     start_time: U256::from(1_800_000_000),
/// };
/// assert_eq!(Erc20Streaming::decode(&stream.encode()?)?, stream);
/// assert_eq!(stream.encode()?.len(), Erc20Streaming::LEN);
///
/// assert!(Erc20Streaming { initial_amount: U256::from(1_001), ..stream }.encode().is_err());
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Erc20Streaming {
    /// The token.
    pub token_address: Address,
    /// Available from the start on.
    pub initial_amount: U256,
    /// Most there ever is.
    pub max_amount: U256,
    /// What each second adds.
    pub amount_per_second: U256,
    /// When it starts.
    pub start_time: U256,
}

/// Stock `NativeTokenStreamingEnforcer`: native value, more of it every second.
///
/// Terms: `initialAmount u256 ‖ maxAmount u256 ‖ amountPerSecond u256 ‖ startTime u256`, bound likewise.
///
/// ```
/// use golem_delegation::terms::NativeTokenStreaming;
/// # use alloy_primitives::U256;
/// let stream = NativeTokenStreaming {
///     initial_amount: U256::ONE,
///     max_amount: U256::from(1_000),
///     amount_per_second: U256::from(2),
///     start_time: U256::from(1_800_000_000),
/// };
/// assert_eq!(NativeTokenStreaming::decode(&stream.encode()?)?, stream);
/// assert_eq!(stream.encode()?.len(), NativeTokenStreaming::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NativeTokenStreaming {
    /// Available from the start on, in wei.
    pub initial_amount: U256,
    /// Most there ever is.
    pub max_amount: U256,
    /// What each second adds.
    pub amount_per_second: U256,
    /// When it starts.
    pub start_time: U256,
}

impl Erc20Streaming {
    /// The only length the contract accepts.
    pub const LEN: usize = 148;

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        Ok([self.token_address.to_vec(), self.stream().encode()?].concat())
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        let token_address = reader.address()?;
        let NativeTokenStreaming { initial_amount, max_amount, amount_per_second, start_time } =
            NativeTokenStreaming::read(&mut reader)?;
        Ok(Self { token_address, initial_amount, max_amount, amount_per_second, start_time })
    }

    const fn stream(&self) -> NativeTokenStreaming {
        NativeTokenStreaming {
            initial_amount: self.initial_amount,
            max_amount: self.max_amount,
            amount_per_second: self.amount_per_second,
            start_time: self.start_time,
        }
    }
}

impl NativeTokenStreaming {
    /// The only length the contract accepts.
    pub const LEN: usize = 128;

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        self.check()?;
        let words = [self.initial_amount, self.max_amount, self.amount_per_second, self.start_time];
        Ok(words.into_iter().flat_map(|word| word.to_be_bytes::<32>()).collect())
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        Self::read(&mut Reader::new(terms))
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, TermsError> {
        let stream = Self {
            initial_amount: reader.u256()?,
            max_amount: reader.u256()?,
            amount_per_second: reader.u256()?,
            start_time: reader.u256()?,
        };
        stream.check()?;
        Ok(stream)
    }

    fn check(&self) -> Result<(), TermsError> {
        if self.max_amount < self.initial_amount {
            let (initial, most) = (self.initial_amount, self.max_amount);
            return Err(TermsError::StreamStart { initial, most });
        }
        nonzero("start time", self.start_time).map(drop)
    }
}
