//! Allowances that come back every period.
//!
//! The getters of these contracts look at lengths alone; it is the hooks that refuse a zero, always, and so it is
//! refused here.

use super::{Reader, TermsError, exact, nonzero};
use alloy_primitives::{Address, U256};

/// Stock `ERC20PeriodTransferEnforcer`: transfers of one token, so much in each period.
///
/// Terms: `token 20 ‖ periodAmount u256 ‖ periodDuration u256 ‖ startDate u256`, none of the numbers zero.
///
/// ```
/// use golem_delegation::terms::Erc20PeriodTransfer;
/// # use alloy_primitives::{Address, U256};
/// let weekly = Erc20PeriodTransfer {
///     token_address: Address::repeat_byte(1),
///     period_amount: U256::from(100_000_000),
///     period_duration: U256::from(604_800),
///     start_date: U256::from(1_800_000_000),
/// };
/// assert_eq!(Erc20PeriodTransfer::decode(&weekly.encode()?)?, weekly);
/// assert_eq!(weekly.encode()?.len(), Erc20PeriodTransfer::LEN);
///
/// assert!(Erc20PeriodTransfer { start_date: U256::ZERO, ..weekly }.encode().is_err());
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Erc20PeriodTransfer {
    /// The token.
    pub token_address: Address,
    /// Most that is transferred in a period.
    pub period_amount: U256,
    /// Seconds.
    pub period_duration: U256,
    /// First second of the first period.
    pub start_date: U256,
}

/// Stock `NativeTokenPeriodTransferEnforcer`: native value, so many wei in each period.
///
/// Terms: `periodAmount u256 ‖ periodDuration u256 ‖ startDate u256`, none of them zero.
///
/// ```
/// use golem_delegation::terms::NativeTokenPeriodTransfer;
/// # use alloy_primitives::U256;
/// let daily = NativeTokenPeriodTransfer {
///     period_amount: U256::from(1_000),
///     period_duration: U256::from(86_400),
///     start_date: U256::from(1_800_000_000),
/// };
/// assert_eq!(NativeTokenPeriodTransfer::decode(&daily.encode()?)?, daily);
/// assert_eq!(daily.encode()?.len(), NativeTokenPeriodTransfer::LEN);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NativeTokenPeriodTransfer {
    /// Most that is transferred in a period.
    pub period_amount: U256,
    /// Seconds.
    pub period_duration: U256,
    /// First second of the first period.
    pub start_date: U256,
}

/// Stock `MultiTokenPeriodEnforcer`: an allowance of its own for each of several tokens.
///
/// Terms: entries of 116 bytes, each like those of [`Erc20PeriodTransfer`].
///
/// Stricter than the contract in one thing: an entry with a zero is refused at once, and not when it is used.
///
/// ```
/// use golem_delegation::terms::{MultiTokenPeriod, TokenPeriod};
/// # use alloy_primitives::{Address, U256};
/// let daily = TokenPeriod {
///     token: Address::ZERO,
///     period_amount: U256::from(1_000),
///     period_duration: U256::from(86_400),
///     start_date: U256::from(1_800_000_000),
/// };
/// let tokens = MultiTokenPeriod(vec![daily, TokenPeriod { token: Address::repeat_byte(1), ..daily }]);
/// assert_eq!(MultiTokenPeriod::decode(&tokens.encode()?)?, tokens);
/// assert_eq!(tokens.encode()?.len(), 2 * MultiTokenPeriod::ENTRY);
/// assert!(MultiTokenPeriod(vec![]).encode().is_err());
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MultiTokenPeriod(pub Vec<TokenPeriod>);

/// One entry of a [`MultiTokenPeriod`].
///
/// ```
/// use golem_delegation::{TermsError, terms::{MultiTokenPeriod, TokenPeriod}};
/// # use alloy_primitives::{Address, U256};
/// let never = TokenPeriod {
///     token: Address::repeat_byte(1),
///     period_amount: U256::from(1_000),
///     period_duration: U256::ZERO,
///     start_date: U256::from(1_800_000_000),
/// };
/// let refused = MultiTokenPeriod(vec![never]).encode();
/// assert_eq!(refused, Err(TermsError::Zero { what: "period duration" }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TokenPeriod {
    /// The token; zero is the chain's own coin.
    pub token: Address,
    /// Most that is transferred in a period.
    pub period_amount: U256,
    /// Seconds.
    pub period_duration: U256,
    /// First second of the first period.
    pub start_date: U256,
}

/// Amount, duration and start, as all three of them are written.
fn encode_period(amount: U256, duration: U256, start: U256) -> Result<[u8; 96], TermsError> {
    let mut out = [0; 96];
    let words = [("period amount", amount), ("period duration", duration), ("start date", start)];
    for (slot, (what, word)) in out.as_chunks_mut::<32>().0.iter_mut().zip(words) {
        *slot = nonzero(what, word)?.to_be_bytes();
    }
    Ok(out)
}

fn read_period(reader: &mut Reader<'_>) -> Result<[U256; 3], TermsError> {
    let amount = nonzero("period amount", reader.u256()?)?;
    let duration = nonzero("period duration", reader.u256()?)?;
    Ok([amount, duration, nonzero("start date", reader.u256()?)?])
}

impl Erc20PeriodTransfer {
    /// The only length the contract accepts.
    pub const LEN: usize = 116;

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let period = encode_period(self.period_amount, self.period_duration, self.start_date)?;
        Ok([self.token_address.as_slice(), &period].concat())
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        let token_address = reader.address()?;
        let [period_amount, period_duration, start_date] = read_period(&mut reader)?;
        Ok(Self { token_address, period_amount, period_duration, start_date })
    }
}

impl NativeTokenPeriodTransfer {
    /// The only length the contract accepts.
    pub const LEN: usize = 96;

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let period = encode_period(self.period_amount, self.period_duration, self.start_date)?;
        Ok(period.to_vec())
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let [period_amount, period_duration, start_date] = read_period(&mut Reader::new(terms))?;
        Ok(Self { period_amount, period_duration, start_date })
    }
}

impl MultiTokenPeriod {
    /// Bytes of an entry.
    pub const ENTRY: usize = 116;

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let mut out = Vec::new();
        for entry in &self.0 {
            out.extend(entry.token);
            out.extend(encode_period(
                entry.period_amount,
                entry.period_duration,
                entry.start_date,
            )?);
        }
        if out.is_empty() {
            return Err(TermsError::Entries { entry: Self::ENTRY, actual: 0 });
        }
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let entries = super::entries::<{ Self::ENTRY }>(terms)?;
        let read = |entry: [u8; Self::ENTRY]| {
            let mut reader = Reader::new(&entry);
            let token = reader.address()?;
            let [period_amount, period_duration, start_date] = read_period(&mut reader)?;
            Ok(TokenPeriod { token, period_amount, period_duration, start_date })
        };
        entries.into_iter().map(read).collect::<Result<_, TermsError>>().map(Self)
    }
}
