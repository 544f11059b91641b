//! Caveat terms: typed values on one side, the bytes an enforcer reads on the other.
//!
//! Each type decodes exactly what its contract accepts and nothing more, so that a caveat that
//! decodes here is one the chain will judge as shown.

mod allowed_calldata;
mod allowed_methods;
mod allowed_targets;
mod limited_calls;
mod mortality_time_window;
mod redeemer;
mod timestamp;
mod value_lte;

pub use allowed_calldata::AllowedCalldata;
pub use allowed_methods::AllowedMethods;
pub use allowed_targets::AllowedTargets;
pub use limited_calls::LimitedCalls;
pub use mortality_time_window::MortalityTimeWindow;
pub use redeemer::Redeemer;
pub use timestamp::Timestamp;
pub use value_lte::ValueLte;

use alloy_primitives::Address;

/// Why bytes are not the terms of an enforcer.
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
