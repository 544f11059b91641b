//! Caveat terms: typed values on one side, the bytes an enforcer reads on the other.
//!
//! Each type decodes exactly what its contract accepts and nothing more, so that a caveat that
//! decodes here is one the chain will judge as shown.

mod allowed_calldata;
mod allowed_methods;
mod allowed_targets;
mod approval_revocation;
mod balance_change;
mod executions;
mod golem_charter;
mod golem_life;
mod golem_rules;
mod grants;
mod limited_calls;
mod listing;
mod logical_or_wrapper;
mod mortality_time_window;
mod period_transfer;
mod redeemer;
mod streaming;
mod threshold;
mod timestamp;
mod transfers;
mod value_lte;

pub use allowed_calldata::AllowedCalldata;
pub use allowed_methods::AllowedMethods;
pub use allowed_targets::AllowedTargets;
pub use approval_revocation::ApprovalRevocation;
pub use balance_change::{
    ChangeType, Erc20BalanceChange, Erc721BalanceChange, Erc1155BalanceChange, NativeBalanceChange,
};
pub use executions::{
    ExactCalldata, ExactCalldataBatch, ExactExecution, ExactExecutionBatch, Execution,
    SpecificActionErc20TransferBatch,
};
pub use golem_charter::{CharterMood, Class, Classes, GolemCharter};
pub use golem_life::{
    Cadence, EmotionalState, Holdings, KnowledgeRoyalty, MoodBounds, ReplicantBudget,
};
pub use golem_rules::{DailySpendLimit, DreamMode, GolemPhase, MaxSlippage, VaultNav};
pub use grants::{ArgsEqualityCheck, BlockNumber, Deployed, Id, Nonce};
pub use limited_calls::LimitedCalls;
pub use listing::{ListedTarget, ListedToken, Listing, Role};
pub use logical_or_wrapper::LogicalOrWrapper;
pub use mortality_time_window::MortalityTimeWindow;
pub use period_transfer::{
    Erc20PeriodTransfer, MultiTokenPeriod, NativeTokenPeriodTransfer, TokenPeriod,
};
pub use redeemer::Redeemer;
pub use streaming::{Erc20Streaming, NativeTokenStreaming};
pub use threshold::{CoSignature, Threshold};
pub use timestamp::Timestamp;
pub use transfers::{
    Erc20TransferAmount, Erc721Transfer, NativeTokenPayment, NativeTokenTransferAmount,
    OwnershipTransfer,
};
pub use value_lte::ValueLte;

use crate::SpendRefusal;
use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{Error as AbiError, SolValue, abi::AbiDecoderConfig};

/// Why bytes are not the terms of an enforcer.
///
/// ```
/// use golem_delegation::{TermsError, terms::Timestamp};
/// let short = Timestamp::decode(&[0; 31]);
/// assert_eq!(short, Err(TermsError::Length { expected: 32, actual: 31 }));
/// assert_eq!(short.unwrap_err().to_string(), "terms have 31 bytes, the contract accepts 32");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TermsError {
    /// Not the one length the contract accepts.
    #[error("terms have {actual} bytes, the contract accepts {expected}")]
    Length {
        /// The length.
        expected: usize,
        /// What was given.
        actual: usize,
    },
    /// Not a list of entries of one size.
    #[error("terms have {actual} bytes, the contract accepts a positive multiple of {entry}")]
    Entries {
        /// Size of an entry.
        entry: usize,
        /// What was given.
        actual: usize,
    },
    /// Shorter than the contract's fixed part.
    #[error("terms have {actual} bytes, the contract accepts {least} or more")]
    TooShort {
        /// The least length.
        least: usize,
        /// What was given.
        actual: usize,
    },
    /// A window that ends before it starts.
    #[error("window ends at {end}, before it starts at {start}")]
    InvertedWindow {
        /// First second.
        start: u64,
        /// Last second.
        end: u64,
    },
    /// More bytes than the terms' own counts say.
    #[error("terms have {extra} bytes behind their end")]
    Trailing {
        /// How many.
        extra: usize,
    },
    /// More entries than a byte counts.
    #[error("{entries} entries, of which a list has 255 at most")]
    TooManyEntries {
        /// How many.
        entries: usize,
    },
    /// A target with a role nobody knows.
    #[error("no target has the role {role}")]
    UnknownRole {
        /// Its number.
        role: u8,
    },
    /// Flags or classes with a bit that has no meaning.
    #[error("{bits:#x} has a bit without a meaning")]
    UnknownBits {
        /// All of them.
        bits: u32,
    },
    /// A moment later than the terms have room for.
    #[error("second {moment} is later than the terms can say")]
    Moment {
        /// In seconds.
        moment: u64,
    },
    /// More gas money than the terms have room for.
    #[error("{gwei} gwei of gas money do not fit the terms")]
    GasMoney {
        /// How much.
        gwei: u64,
    },
    /// None of what there must be one of at least.
    #[error("{what}: none, the contract accepts one or more")]
    Zero {
        /// Of what.
        what: &'static str,
    },
    /// A bound on a mood that no mood reaches.
    #[error("no mood reaches {bound}")]
    Mood {
        /// The bound.
        bound: i8,
    },
    /// A threshold of nobody, or of more than there are.
    #[error("{needed} of {signers} signers is no threshold")]
    Needed {
        /// How many must sign.
        needed: u8,
        /// How many there are.
        signers: usize,
    },
    /// Signers that do not ascend.
    #[error("signer {index} is zero, or not above the one before")]
    SignerOrder {
        /// Which, from zero.
        index: usize,
    },
    /// More than the whole.
    #[error("{bps} basis points are more than the whole")]
    Bps {
        /// How many.
        bps: u16,
    },
    /// A spend window without a cap, or with buckets of no length that counts.
    #[error(transparent)]
    Window(#[from] SpendRefusal),
    /// A stream that begins above its end.
    #[error("a stream begins with {initial} and ends at {most}")]
    StreamStart {
        /// What there is at once.
        initial: U256,
        /// What there ever is.
        most: U256,
    },
    /// Not the ABI form of what the contract reads.
    #[error("terms are not in the ABI form that the contract reads")]
    Malformed,
    /// Decodes, but is not what encoding the result gives: two readers could see two things (ATK-15).
    #[error("terms are not in canonical ABI form")]
    NotCanonical,
}

impl TermsError {
    /// Whether the contract refuses such terms each time it is asked, so that nothing can be done under them. Of others
    /// that is not known: they are not in the form that is read here, and the contract may read them otherwise, may
    /// look at a part of them alone, or may never look again.
    ///
    /// ```
    /// use golem_delegation::TermsError;
    /// assert!(TermsError::Length { expected: 32, actual: 1 }.is_final());
    /// assert!(!TermsError::NotCanonical.is_final());
    /// ```
    #[must_use]
    pub const fn is_final(&self) -> bool {
        match self {
            Self::Length { .. }
            | Self::Entries { .. }
            | Self::TooShort { .. }
            | Self::InvertedWindow { .. }
            | Self::Trailing { .. }
            | Self::Mood { .. }
            | Self::Needed { .. }
            | Self::SignerOrder { .. }
            | Self::Bps { .. }
            | Self::Window(_)
            | Self::StreamStart { .. } => true,
            // A list of periods whose other entries are good, or a period that is only ever counted, has such zeros too.
            Self::Zero { .. }
            // Only calls to that one target are refused.
            | Self::UnknownRole { .. }
            | Self::UnknownBits { .. }
            | Self::TooManyEntries { .. }
            | Self::Moment { .. }
            | Self::GasMoney { .. }
            | Self::Malformed
            | Self::NotCanonical => false,
        }
    }
}

/// Reads packed terms from front to back.
struct Reader<'a> {
    rest: &'a [u8],
    whole: usize,
}

impl<'a> Reader<'a> {
    const fn new(terms: &'a [u8]) -> Self {
        Self { rest: terms, whole: terms.len() }
    }

    const fn take<const N: usize>(&mut self) -> Result<[u8; N], TermsError> {
        let Some((field, rest)) = self.rest.split_first_chunk() else {
            let read = self.whole - self.rest.len();
            return Err(TermsError::TooShort { least: read + N, actual: self.whole });
        };
        self.rest = rest;
        Ok(*field)
    }

    fn address(&mut self) -> Result<Address, TermsError> {
        self.take().map(Address::from)
    }

    fn u8(&mut self) -> Result<u8, TermsError> {
        self.take().map(u8::from_be_bytes)
    }

    fn i8(&mut self) -> Result<i8, TermsError> {
        self.take().map(i8::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16, TermsError> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Result<u32, TermsError> {
        self.take().map(u32::from_be_bytes)
    }

    fn u40(&mut self) -> Result<u64, TermsError> {
        let [a, b, c, d, e] = self.take()?;
        Ok(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    fn u48(&mut self) -> Result<u64, TermsError> {
        let [a, b, c, d, e, f] = self.take()?;
        Ok(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }

    fn u64(&mut self) -> Result<u64, TermsError> {
        self.take().map(u64::from_be_bytes)
    }

    fn u128(&mut self) -> Result<u128, TermsError> {
        self.take().map(u128::from_be_bytes)
    }

    fn u256(&mut self) -> Result<U256, TermsError> {
        self.take().map(U256::from_be_bytes::<32>)
    }

    /// All that nobody read.
    fn rest(&mut self) -> Bytes {
        std::mem::take(&mut self.rest).to_vec().into()
    }

    /// Refuses what nobody read.
    const fn end(&self) -> Result<(), TermsError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(TermsError::Trailing { extra: self.rest.len() })
    }
}

/// The whole, in basis points.
const WHOLE: u16 = 10_000;

const fn check_bps(bps: u16) -> Result<u16, TermsError> {
    if bps > WHOLE {
        return Err(TermsError::Bps { bps });
    }
    Ok(bps)
}

/// A moment in the 40 bits that terms keep of it.
const fn check_moment(moment: u64) -> Result<[u8; 5], TermsError> {
    let [0, 0, 0, a, b, c, d, e] = moment.to_be_bytes() else {
        return Err(TermsError::Moment { moment });
    };
    Ok([a, b, c, d, e])
}

/// Splits a list of fixed-size entries; an empty list is not one.
fn entries<const N: usize>(terms: &[u8]) -> Result<Vec<[u8; N]>, TermsError> {
    let (entries, rest) = terms.as_chunks::<N>();
    if entries.is_empty() || !rest.is_empty() {
        return Err(TermsError::Entries { entry: N, actual: terms.len() });
    }
    Ok(entries.to_vec())
}

/// Reads terms of exactly `N` bytes.
fn exact<const N: usize>(terms: &[u8]) -> Result<[u8; N], TermsError> {
    let Ok(bytes) = <[u8; N]>::try_from(terms) else {
        return Err(TermsError::Length { expected: N, actual: terms.len() });
    };
    Ok(bytes)
}

fn encode_addresses(addresses: &[Address]) -> Vec<u8> {
    addresses.iter().flat_map(|address| address.into_array()).collect()
}

fn decode_addresses(terms: &[u8]) -> Result<Vec<Address>, TermsError> {
    Ok(entries::<20>(terms)?.into_iter().map(Address::from).collect())
}

/// Refuses a zero where the contract does.
fn nonzero(what: &'static str, number: U256) -> Result<U256, TermsError> {
    if number.is_zero() {
        return Err(TermsError::Zero { what });
    }
    Ok(number)
}

/// Reads the one canonical form of ABI terms, as [`crate::PermissionContext::decode`] does: work and memory grow with
/// the bytes given, whatever lengths and offsets they state (ATK-10).
fn decode_abi<T: SolValue + From<<T::SolType as alloy_sol_types::SolType>::RustType>>(
    terms: &[u8],
) -> Result<T, TermsError> {
    let strict = AbiDecoderConfig::new().strict(true);
    T::abi_decode_with_config(terms, strict).map_err(|error| match error {
        AbiError::ReserMismatch => TermsError::NotCanonical,
        // The other errors carry nothing a person could act on.
        _ => TermsError::Malformed,
    })
}
