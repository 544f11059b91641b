//! The charter's rules as caveats of their own.

use super::{Listing, Reader, TermsError, check_bps};
use crate::{SpendRefusal, SpendTerms};
use alloy_primitives::{Address, B256};

/// `GolemPhaseEnforcer`: what the Golem's phase of life still allows.
///
/// Terms: `golemId 32 ‖ registry 20 ‖ staleness u32`, then a [`Listing`] of which roles are read.
///
/// ```
/// use golem_delegation::terms::{GolemPhase, Listing};
/// # use alloy_primitives::{Address, B256};
/// let rule = GolemPhase {
///     golem_id: B256::repeat_byte(7),
///     registry: Address::repeat_byte(1),
///     staleness: 86_400,
///     listing: Listing::default(),
/// };
/// assert_eq!(GolemPhase::decode(&rule.encode()?)?, rule);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GolemPhase {
    /// The Golem.
    pub golem_id: B256,
    /// GolemRegistry.
    pub registry: Address,
    /// Age in seconds at which the registry's word counts as Conservation.
    pub staleness: u32,
    /// Targets and their roles.
    pub listing: Listing,
}

/// `DreamModeEnforcer`: nothing while the Golem dreams, unless it dies.
///
/// Terms: `golemId 32 ‖ registry 20`.
///
/// ```
/// use golem_delegation::{TermsError, terms::DreamMode};
/// # use alloy_primitives::{Address, B256};
/// let rule = DreamMode { golem_id: B256::repeat_byte(7), registry: Address::repeat_byte(1) };
/// assert_eq!(DreamMode::decode(&rule.encode())?, rule);
/// assert_eq!(rule.encode().len(), DreamMode::LEN);
///
/// let longer = [rule.encode(), vec![0]].concat();
/// assert_eq!(DreamMode::decode(&longer), Err(TermsError::Length { expected: 52, actual: 53 }));
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DreamMode {
    /// The Golem.
    pub golem_id: B256,
    /// GolemRegistry.
    pub registry: Address,
}

/// `MaxSlippageEnforcer`: swaps and liquidity near the feeds' prices.
///
/// Terms: `bps u16`, then a [`Listing`].
///
/// ```
/// use golem_delegation::{TermsError, terms::{Listing, MaxSlippage}};
/// let rule = MaxSlippage { bps: 100, listing: Listing::default() };
/// assert_eq!(MaxSlippage::decode(&rule.encode()?)?, rule);
///
/// let beyond = MaxSlippage { bps: 10_001, ..rule };
/// assert_eq!(beyond.encode(), Err(TermsError::Bps { bps: 10_001 }));
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MaxSlippage {
    /// Bound, in basis points.
    pub bps: u16,
    /// Tokens and targets.
    pub listing: Listing,
}

/// `DailySpendLimitEnforcer`: a cap in any twelve buckets.
///
/// Terms: `golemId 32 ‖ epoch u16 ‖ cap u64 ‖ bucketMinutes u16`, then a [`Listing`].
///
/// ```
/// use golem_delegation::{SpendRefusal, terms::{DailySpendLimit, Listing}};
/// # use alloy_primitives::B256;
/// // Twenty-five dollars in any day, which is twelve buckets of two hours.
/// let rule = DailySpendLimit {
///     golem_id: B256::repeat_byte(7),
///     epoch: 1,
///     cap: 25_000_000,
///     bucket_minutes: 120,
///     listing: Listing::default(),
/// };
/// assert_eq!(DailySpendLimit::decode(&rule.encode()?)?, rule);
///
/// let nothing = DailySpendLimit { cap: 0, ..rule };
/// assert_eq!(nothing.encode(), Err(SpendRefusal::ZeroCap.into()));
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DailySpendLimit {
    /// The Golem.
    pub golem_id: B256,
    /// Number of the grant; the highest used one counts.
    pub epoch: u16,
    /// Micro-dollars.
    pub cap: u64,
    /// A twelfth of the period.
    pub bucket_minutes: u16,
    /// Tokens and targets.
    pub listing: Listing,
}

/// `VaultNAVEnforcer`: one execution is small beside a vault.
///
/// Terms: `golemId 32 ‖ vault 20 ‖ bps u16 ‖ cap u64`, then a [`Listing`].
///
/// ```
/// use golem_delegation::terms::{Listing, VaultNav};
/// # use alloy_primitives::{Address, B256};
/// // A twentieth of the vault at once, and never more than fifty dollars.
/// let rule = VaultNav {
///     golem_id: B256::repeat_byte(7),
///     vault: Address::repeat_byte(1),
///     bps: 500,
///     cap: 50_000_000,
///     listing: Listing::default(),
/// };
/// assert_eq!(VaultNav::decode(&rule.encode()?)?, rule);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VaultNav {
    /// The Golem.
    pub golem_id: B256,
    /// ERC-4626 vault; zero leaves the cap alone.
    pub vault: Address,
    /// Share of its assets, in basis points.
    pub bps: u16,
    /// Micro-dollars.
    pub cap: u64,
    /// Tokens and targets.
    pub listing: Listing,
}

impl GolemPhase {
    /// The terms.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let mut out = [self.golem_id.as_slice(), self.registry.as_slice()].concat();
        out.extend(self.staleness.to_be_bytes());
        out.extend(self.listing.encode()?);
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let rule = Self {
            golem_id: B256::from(reader.take()?),
            registry: reader.address()?,
            staleness: reader.u32()?,
            listing: Listing::read(&mut reader)?,
        };
        reader.end()?;
        Ok(rule)
    }
}

impl DreamMode {
    /// Length `DreamModeEnforcer.getTermsInfo` insists on.
    pub const LEN: usize = 52;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        [self.golem_id.as_slice(), self.registry.as_slice()].concat()
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        if terms.len() != Self::LEN {
            return Err(TermsError::Length { expected: Self::LEN, actual: terms.len() });
        }
        let mut reader = Reader::new(terms);
        Ok(Self { golem_id: B256::from(reader.take()?), registry: reader.address()? })
    }
}

impl MaxSlippage {
    /// The terms.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let mut out = check_bps(self.bps)?.to_be_bytes().to_vec();
        out.extend(self.listing.encode()?);
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let rule = Self { bps: check_bps(reader.u16()?)?, listing: Listing::read(&mut reader)? };
        reader.end()?;
        Ok(rule)
    }
}

impl DailySpendLimit {
    /// What it lets the Golem spend; the hook refuses everything where this is refused.
    ///
    /// ```
    /// use golem_delegation::{SpendRefusal, SpendTerms, terms::{DailySpendLimit, Listing}};
    /// # use alloy_primitives::B256;
    /// # let rule = DailySpendLimit { golem_id: B256::repeat_byte(7), epoch: 1, cap: 25_000_000,
    /// #     bucket_minutes: SpendTerms::DAY, listing: Listing::default() };
    /// let window = rule.window()?;
    /// assert_eq!((window.cap(), window.epoch()), (25_000_000, 1));
    ///
    /// let longest = SpendTerms::MAX_BUCKET_MINUTES;
    /// let long = DailySpendLimit { bucket_minutes: longest + 1, ..rule };
    /// let refusal = SpendRefusal::BucketLength { bucket_minutes: longest + 1, longest };
    /// assert_eq!(long.window(), Err(refusal));
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    pub const fn window(&self) -> Result<SpendTerms, SpendRefusal> {
        SpendTerms::new(self.cap, self.bucket_minutes, self.epoch)
    }

    /// The terms.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        self.window()?;
        let mut out = self.golem_id.to_vec();
        out.extend(self.epoch.to_be_bytes());
        out.extend(self.cap.to_be_bytes());
        out.extend(self.bucket_minutes.to_be_bytes());
        out.extend(self.listing.encode()?);
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let rule = Self {
            golem_id: B256::from(reader.take()?),
            epoch: reader.u16()?,
            cap: reader.u64()?,
            bucket_minutes: reader.u16()?,
            listing: Listing::read(&mut reader)?,
        };
        reader.end()?;
        rule.window()?;
        Ok(rule)
    }
}

impl VaultNav {
    /// The terms.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let mut out = [self.golem_id.as_slice(), self.vault.as_slice()].concat();
        out.extend(check_bps(self.bps)?.to_be_bytes());
        out.extend(self.cap.to_be_bytes());
        out.extend(self.listing.encode()?);
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let rule = Self {
            golem_id: B256::from(reader.take()?),
            vault: reader.address()?,
            bps: check_bps(reader.u16()?)?,
            cap: reader.u64()?,
            listing: Listing::read(&mut reader)?,
        };
        reader.end()?;
        Ok(rule)
    }
}
