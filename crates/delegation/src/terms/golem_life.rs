//! Rules about a Golem's time, moods and children, and about what its account comes to hold.

use super::{Listing, Reader, TermsError, check_bps, check_moment, exact};
use alloy_primitives::{Address, B256, Selector};
use std::num::{NonZeroU8, NonZeroU32};

/// `CadenceEnforcer`: so many redemptions in any period.
///
/// Terms: `golemId 32 ‖ period u32 ‖ count u8`.
///
/// ```
/// use golem_delegation::terms::Cadence;
/// # use alloy_primitives::B256;
/// # use std::num::{NonZeroU8, NonZeroU32};
/// let weekly = Cadence {
///     golem_id: B256::repeat_byte(7),
///     period: NonZeroU32::new(604_800).unwrap(),
///     count: NonZeroU8::MIN,
/// };
/// assert_eq!(Cadence::decode(&weekly.encode())?, weekly);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cadence {
    /// The Golem.
    pub golem_id: B256,
    /// Seconds.
    pub period: NonZeroU32,
    /// Most redemptions in any of them.
    pub count: NonZeroU8,
}

/// `ReplicantBudgetEnforcer`: what a child may spend in its whole life, and that life's last second.
///
/// Terms: `replicantId 32 ‖ budget u64 ‖ notAfter u40`, then a [`Listing`].
///
/// ```
/// use golem_delegation::{TermsError, terms::{Listing, ReplicantBudget}};
/// # use alloy_primitives::B256;
/// let rule = ReplicantBudget {
///     replicant_id: B256::repeat_byte(3),
///     budget: 50_000_000,
///     not_after: 1_800_000_000,
///     listing: Listing::default(),
/// };
/// assert_eq!(ReplicantBudget::decode(&rule.encode()?)?, rule);
///
/// // A moment that does not fit is refused, and not cut.
/// let endless = ReplicantBudget { not_after: 1 << 40, ..rule };
/// assert_eq!(endless.encode(), Err(TermsError::Moment { moment: 1 << 40 }));
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReplicantBudget {
    /// The child, under the parent who grants.
    pub replicant_id: B256,
    /// Micro-dollars.
    pub budget: u64,
    /// Last second; the contract keeps 40 bits.
    pub not_after: u64,
    /// Tokens and targets.
    pub listing: Listing,
}

/// `HoldingsEnforcer`: how large a position may get, and how far the account may fall.
///
/// Terms: `golemId 32 ‖ account 20 ‖ staleness u32 ‖ series u16 ‖ thrivingBps u16 ‖ stableBps u16 ‖
/// drawdownBps u16 ‖ registry 20 ‖ cash 20 ‖ lossBps u16`, then a [`Listing`].
///
/// ```
/// use golem_delegation::terms::{Holdings, Listing};
/// # use alloy_primitives::{Address, B256};
/// let rule = Holdings {
///     golem_id: B256::repeat_byte(7),
///     account: Address::repeat_byte(1),
///     staleness: 86_400,
///     series: 1,
///     thriving_bps: 3_000,
///     stable_bps: 2_000,
///     drawdown_bps: 1_500,
///     registry: Address::repeat_byte(2),
///     cash: Address::repeat_byte(3),
///     loss_bps: 100,
///     listing: Listing::default(),
/// };
/// assert_eq!(Holdings::decode(&rule.encode()?)?, rule);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Holdings {
    /// The Golem.
    pub golem_id: B256,
    /// Whose holdings.
    pub account: Address,
    /// Age in seconds at which the registry's word counts as Conservation.
    pub staleness: u32,
    /// Number of the mark: a higher one begins anew. A feed, a rotation or a new grant keeps it (SPEC D17).
    pub series: u16,
    /// Largest position of a thriving Golem, in basis points of everything.
    pub thriving_bps: u16,
    /// And of a stable one.
    pub stable_bps: u16,
    /// How far below its mark the account may fall before it only closes.
    pub drawdown_bps: u16,
    /// GolemRegistry.
    pub registry: Address,
    /// What is no position itself.
    pub cash: Address,
    /// What an execution may lose of what it gives, below the mark.
    pub loss_bps: u16,
    /// Tokens and targets.
    pub listing: Listing,
}

/// `EmotionalStateEnforcer`: listed functions are not for a Golem in panic or despair.
///
/// Terms: `golemId 32 ‖ registry 20 ‖ staleness u32 ‖ minPleasure i8 ‖ maxArousal i8 ‖ minDominance i8`,
/// then 1 to 255 selectors.
///
/// ```
/// use golem_delegation::{TermsError, terms::{EmotionalState, MoodBounds}};
/// # use alloy_primitives::{Address, B256, fixed_bytes};
/// let calm = EmotionalState {
///     golem_id: B256::repeat_byte(7),
///     registry: Address::repeat_byte(1),
///     staleness: 3_600,
///     bounds: MoodBounds { min_pleasure: -50, max_arousal: 80, min_dominance: -50 },
///     selectors: vec![fixed_bytes!("04e45aaf")],
/// };
/// assert_eq!(EmotionalState::decode(&calm.encode()?)?, calm);
///
/// let nothing = EmotionalState { selectors: vec![], ..calm };
/// assert_eq!(nothing.encode(), Err(TermsError::Zero { what: "selectors" }));
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EmotionalState {
    /// The Golem.
    pub golem_id: B256,
    /// GolemRegistry.
    pub registry: Address,
    /// Seconds after which nothing is known of its mood.
    pub staleness: u32,
    /// What its mood must be.
    pub bounds: MoodBounds,
    /// The functions; a payment without calldata is `0x00000000`.
    pub selectors: Vec<Selector>,
}

/// Bounds on a mood, each from -100 to 100.
///
/// ```
/// use golem_delegation::{TermsError, terms::{EmotionalState, MoodBounds}};
/// # use alloy_primitives::{Address, B256, fixed_bytes};
/// let bounds = MoodBounds { min_pleasure: 101, max_arousal: 80, min_dominance: -50 };
/// # let (golem_id, registry, staleness) = (B256::repeat_byte(7), Address::repeat_byte(1), 3_600);
/// # let selectors = vec![fixed_bytes!("04e45aaf")];
/// let rule = EmotionalState { golem_id, registry, staleness, bounds, selectors };
/// assert_eq!(rule.encode(), Err(TermsError::Mood { bound: 101 }));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MoodBounds {
    /// Least pleasure.
    pub min_pleasure: i8,
    /// Most arousal.
    pub max_arousal: i8,
    /// Least dominance.
    pub min_dominance: i8,
}

/// `KnowledgeRoyaltyEnforcer`: who sells knowledge pays its authors in the same batch.
///
/// Terms: `market 20 ‖ maxRoyaltyBps u16`.
///
/// ```
/// use golem_delegation::terms::KnowledgeRoyalty;
/// # use alloy_primitives::Address;
/// let rule = KnowledgeRoyalty { market: Address::repeat_byte(1), max_royalty_bps: 1_000 };
/// assert_eq!(rule.encode()?.len(), KnowledgeRoyalty::LEN);
/// assert_eq!(KnowledgeRoyalty::decode(&rule.encode()?)?, rule);
/// # Ok::<(), golem_delegation::TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KnowledgeRoyalty {
    /// KnowledgeMarket.
    pub market: Address,
    /// Most that royalties take of a price, in basis points.
    pub max_royalty_bps: u16,
}

impl Cadence {
    /// Length `CadenceEnforcer.getTermsInfo` insists on.
    pub const LEN: usize = 37;

    /// The terms.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.golem_id.to_vec();
        out.extend(self.period.get().to_be_bytes());
        out.push(self.count.get());
        out
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        Ok(Self {
            golem_id: B256::from(reader.take()?),
            period: NonZeroU32::new(reader.u32()?).ok_or(TermsError::Zero { what: "period" })?,
            count: NonZeroU8::new(reader.u8()?).ok_or(TermsError::Zero { what: "count" })?,
        })
    }
}

impl ReplicantBudget {
    /// The terms; refused where a moment does not fit them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let mut out = self.replicant_id.to_vec();
        out.extend(self.budget.to_be_bytes());
        out.extend(check_moment(self.not_after)?);
        out.extend(self.listing.encode()?);
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let rule = Self {
            replicant_id: B256::from(reader.take()?),
            budget: reader.u64()?,
            not_after: reader.u40()?,
            listing: Listing::read(&mut reader)?,
        };
        reader.end()?;
        Ok(rule)
    }
}

impl Holdings {
    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let mut out = [self.golem_id.as_slice(), self.account.as_slice()].concat();
        out.extend(self.staleness.to_be_bytes());
        out.extend(self.series.to_be_bytes());
        for bps in [self.thriving_bps, self.stable_bps, self.drawdown_bps] {
            out.extend(check_bps(bps)?.to_be_bytes());
        }
        out.extend(self.registry);
        out.extend(self.cash);
        out.extend(check_bps(self.loss_bps)?.to_be_bytes());
        out.extend(self.listing.encode()?);
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let rule = Self {
            golem_id: B256::from(reader.take()?),
            account: reader.address()?,
            staleness: reader.u32()?,
            series: reader.u16()?,
            thriving_bps: check_bps(reader.u16()?)?,
            stable_bps: check_bps(reader.u16()?)?,
            drawdown_bps: check_bps(reader.u16()?)?,
            registry: reader.address()?,
            cash: reader.address()?,
            loss_bps: check_bps(reader.u16()?)?,
            listing: Listing::read(&mut reader)?,
        };
        reader.end()?;
        Ok(rule)
    }
}

impl MoodBounds {
    /// No mood is beyond it, on either side.
    const MOST: i8 = 100;

    pub(super) fn encode(self) -> Result<[u8; 3], TermsError> {
        let bound = |bound| check_mood(bound).map(i8::cast_unsigned);
        Ok([bound(self.min_pleasure)?, bound(self.max_arousal)?, bound(self.min_dominance)?])
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, TermsError> {
        Ok(Self {
            min_pleasure: check_mood(reader.i8()?)?,
            max_arousal: check_mood(reader.i8()?)?,
            min_dominance: check_mood(reader.i8()?)?,
        })
    }
}

const fn check_mood(bound: i8) -> Result<i8, TermsError> {
    if bound < -MoodBounds::MOST || bound > MoodBounds::MOST {
        return Err(TermsError::Mood { bound });
    }
    Ok(bound)
}

impl EmotionalState {
    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let mut out = [self.golem_id.as_slice(), self.registry.as_slice()].concat();
        out.extend(self.staleness.to_be_bytes());
        out.extend(self.bounds.encode()?);
        check_selectors(self.selectors.len())?;
        out.extend(self.selectors.iter().flatten());
        Ok(out)
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let golem_id = B256::from(reader.take()?);
        let registry = reader.address()?;
        let staleness = reader.u32()?;
        let bounds = MoodBounds::read(&mut reader)?;
        let selectors: Vec<_> =
            super::entries::<4>(reader.rest)?.into_iter().map(Selector::from).collect();
        check_selectors(selectors.len())?;
        Ok(Self { golem_id, registry, staleness, bounds, selectors })
    }
}

const fn check_selectors(count: usize) -> Result<(), TermsError> {
    match count {
        0 => Err(TermsError::Zero { what: "selectors" }),
        1..=255 => Ok(()),
        entries => Err(TermsError::TooManyEntries { entries }),
    }
}

impl KnowledgeRoyalty {
    /// Length `KnowledgeRoyaltyEnforcer.getTermsInfo` insists on.
    pub const LEN: usize = 22;

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let bps = check_bps(self.max_royalty_bps)?.to_be_bytes();
        Ok([self.market.as_slice(), bps.as_slice()].concat())
    }

    /// Decodes, accepting exactly what the contract accepts.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        exact::<{ Self::LEN }>(terms)?;
        let mut reader = Reader::new(terms);
        Ok(Self { market: reader.address()?, max_royalty_bps: check_bps(reader.u16()?)? })
    }
}
