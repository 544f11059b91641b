use super::{
    Listing, MoodBounds, MortalityTimeWindow, Reader, TermsError, check_bps, check_moment,
};
use crate::{SpendRefusal, SpendTerms};
use alloy_primitives::{Address, B256};

/// What a call does; `Class` of `Actions.sol`.
///
/// ```
/// use golem_delegation::terms::Class;
/// // Numbers are those of the contract, from one on.
/// assert!(Class::ALL.into_iter().zip(1..).all(|(class, number)| class as u8 == number));
/// assert_eq!(Class::GasTopUp.name(), "gasTopUp");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Class {
    /// One token for another.
    Swap = 1,
    /// Into a liquidity position.
    AddLiquidity,
    /// Out of one.
    RemoveLiquidity,
    /// Fees and removed liquidity to the account.
    Collect,
    /// An empty position's end.
    BurnPosition,
    /// Into a vault.
    Deposit,
    /// Out of a vault.
    Withdraw,
    /// An allowance.
    Approve,
    /// An allowance taken back.
    Disapprove,
    /// Tokens to the beneficiary.
    Transfer,
    /// Ether into wrapped ether.
    Wrap,
    /// And back.
    Unwrap,
    /// Gas money for the agent's key.
    GasTopUp,
    /// A child.
    SpawnReplicant,
    /// The last act.
    Settle,
    /// What an agent says of itself.
    Publish,
    /// Knowledge for tokens, with what its authors are due.
    Sell,
}

impl Class {
    /// Every class, in the order of their numbers.
    pub const ALL: [Self; 17] = [
        Self::Swap,
        Self::AddLiquidity,
        Self::RemoveLiquidity,
        Self::Collect,
        Self::BurnPosition,
        Self::Deposit,
        Self::Withdraw,
        Self::Approve,
        Self::Disapprove,
        Self::Transfer,
        Self::Wrap,
        Self::Unwrap,
        Self::GasTopUp,
        Self::SpawnReplicant,
        Self::Settle,
        Self::Publish,
        Self::Sell,
    ];

    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Swap => "swap",
            Self::AddLiquidity => "addLiquidity",
            Self::RemoveLiquidity => "removeLiquidity",
            Self::Collect => "collect",
            Self::BurnPosition => "burnPosition",
            Self::Deposit => "deposit",
            Self::Withdraw => "withdraw",
            Self::Approve => "approve",
            Self::Disapprove => "disapprove",
            Self::Transfer => "transfer",
            Self::Wrap => "wrap",
            Self::Unwrap => "unwrap",
            Self::GasTopUp => "gasTopUp",
            Self::SpawnReplicant => "spawnReplicant",
            Self::Settle => "settle",
            Self::Publish => "publish",
            Self::Sell => "sell",
        }
    }
}

/// A set of classes.
///
/// ```
/// use golem_delegation::terms::{Class, Classes};
/// let trade = Classes::of(&[Class::Swap, Class::Wrap]);
/// let vault = Classes::of(&[Class::Deposit, Class::Wrap]);
/// assert!(trade.contains(Class::Swap) && !trade.contains(Class::Deposit));
/// assert_eq!(trade.both(vault), Classes::of(&[Class::Wrap]));
/// assert_eq!(trade.and(vault).without(trade), Classes::of(&[Class::Deposit]));
/// assert_eq!(trade.bits(), 1 << Class::Swap as u32 | 1 << Class::Wrap as u32);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Classes(u32);

impl Classes {
    /// All there are.
    pub const ALL: Self = Self::of(&Class::ALL);

    /// These.
    #[must_use]
    pub const fn of(classes: &[Class]) -> Self {
        let mut bits = 0;
        let mut rest = classes;
        while let [first, tail @ ..] = rest {
            bits |= 1 << *first as u32;
            rest = tail;
        }
        Self(bits)
    }

    /// These and those.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn both(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    /// These, less those.
    #[must_use]
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Whether `class` is one of them.
    #[must_use]
    pub const fn contains(self, class: Class) -> bool {
        self.0 >> class as u32 & 1 == 1
    }

    /// One bit a class.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }
}

/// `GolemCharterEnforcer`: the whole of a Golem's law in one caveat.
///
/// Terms: see `CharterTerms.sol`; 232 bytes, the sections that its flags name, and a [`Listing`].
/// Money is in micro-dollars, gas money in gwei, time in seconds.
///
/// ```
/// use golem_delegation::terms::GolemCharter;
/// # use golem_delegation::{TermsError, terms::{Classes, Listing, MortalityTimeWindow}};
/// # use alloy_primitives::{Address, B256};
/// # let window = MortalityTimeWindow::new(1, 2)?;
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account: Address::ZERO, beneficiary: Address::ZERO, agent_key: Address::ZERO,
/// #     replicants: false, classes: Classes::ALL, window, spend_cap: 1_000_000_000,
/// #     bucket_minutes: 120, slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1,
/// #     staleness: 86_400, gas_ceiling: 1, gas_daily_cap: 1, settlement_asset: Address::ZERO,
/// #     max_royalty_bps: None, mood: None, listing: Listing::default(),
/// # };
/// let terms = charter.encode()?;
/// assert_eq!(GolemCharter::decode(&terms)?, charter);
/// // No section stands between.
/// assert_eq!(terms[GolemCharter::HEADER..], charter.listing.encode()?);
/// # Ok::<(), TermsError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GolemCharter {
    /// keccak256(abi.encode(owner, salt)).
    pub golem_id: B256,
    /// The owner's EOA.
    pub owner: Address,
    /// Number of the grant; the highest used one counts.
    pub epoch: u16,
    /// How often the owner has revoked everything.
    pub generation: u32,
    /// GolemRegistry.
    pub registry: Address,
    /// The executor: recipient of everything.
    pub account: Address,
    /// Where sweeps go.
    pub beneficiary: Address,
    /// Who redeems.
    pub agent_key: Address,
    /// Whether children may redeem as well.
    pub replicants: bool,
    /// What may be done at all.
    pub classes: Classes,
    /// From when until when; the contract keeps 40 bits of each.
    pub window: MortalityTimeWindow,
    /// Most that is spent in any twelve buckets.
    pub spend_cap: u64,
    /// A twelfth of the period.
    pub bucket_minutes: u16,
    /// Bound on slippage against the feeds, in basis points.
    pub slippage_bps: u16,
    /// Vault whose share bounds one execution; zero for none.
    pub vault: Address,
    /// The share, in basis points.
    pub nav_bps: u16,
    /// Most that one execution spends.
    pub nav_cap: u64,
    /// Age at which the registry's word counts as Conservation.
    pub staleness: u32,
    /// Most gas money that the agent's key may hold; below 2^48 gwei.
    pub gas_ceiling: u64,
    /// Most gas money that it gets in a day; below 2^48 gwei.
    pub gas_daily_cap: u64,
    /// The one asset a dying Golem converts to.
    pub settlement_asset: Address,
    /// Section royalty: how much of a price the authors of sold knowledge may take; without it, nothing.
    pub max_royalty_bps: Option<u16>,
    /// Section emotion.
    pub mood: Option<CharterMood>,
    /// Tokens and targets.
    pub listing: Listing,
}

/// How a Golem has to feel to act, by class. Nothing is known of a mood older than the charter's
/// staleness.
///
/// ```
/// use golem_delegation::{TermsError, terms::{CharterMood, Class, Classes, GolemCharter, MoodBounds}};
/// # use golem_delegation::terms::{Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256};
/// # let window = MortalityTimeWindow::new(1, 2)?;
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account: Address::ZERO, beneficiary: Address::ZERO, agent_key: Address::ZERO,
/// #     replicants: false, classes: Classes::ALL, window, spend_cap: 1_000_000_000,
/// #     bucket_minutes: 120, slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1,
/// #     staleness: 86_400, gas_ceiling: 1, gas_daily_cap: 1, settlement_asset: Address::ZERO,
/// #     max_royalty_bps: None, mood: None, listing: Listing::default(),
/// # };
/// let bounds = MoodBounds { min_pleasure: -50, max_arousal: 80, min_dominance: -50 };
/// let calm = CharterMood { bounds, classes: Classes::of(&[Class::Swap]) };
/// let charter = GolemCharter { mood: Some(calm), ..charter };
/// assert_eq!(GolemCharter::decode(&charter.encode()?)?.mood, Some(calm));
///
/// let idle = CharterMood { classes: Classes::default(), ..calm };
/// let refused = GolemCharter { mood: Some(idle), ..charter }.encode();
/// assert_eq!(refused, Err(TermsError::Zero { what: "classes of a mood" }));
/// # Ok::<(), TermsError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CharterMood {
    /// The bounds.
    pub bounds: MoodBounds,
    /// What they bind; one class at least.
    pub classes: Classes,
}

impl GolemCharter {
    /// Bytes before the listing.
    pub const HEADER: usize = 232;
    const REPLICANTS: u16 = 1;
    const ROYALTY: u16 = 2;
    const EMOTION: u16 = 4;

    /// What it lets the Golem spend; the hook refuses everything where this is refused.
    ///
    /// ```
    /// use golem_delegation::{SpendRefusal, terms::GolemCharter};
    /// # use golem_delegation::{TermsError, terms::{Classes, Listing, MortalityTimeWindow}};
    /// # use alloy_primitives::{Address, B256};
    /// # let window = MortalityTimeWindow::new(1, 2)?;
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account: Address::ZERO, beneficiary: Address::ZERO, agent_key: Address::ZERO,
    /// #     replicants: false, classes: Classes::ALL, window, spend_cap: 1_000_000_000,
    /// #     bucket_minutes: 120, slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1,
    /// #     staleness: 86_400, gas_ceiling: 1, gas_daily_cap: 1, settlement_asset: Address::ZERO,
    /// #     max_royalty_bps: None, mood: None, listing: Listing::default(),
    /// # };
    /// // A thousand dollars in any day.
    /// let window = charter.spend_window()?;
    /// assert_eq!((window.cap(), window.bucket_minutes()), (1_000_000_000, 120));
    ///
    /// let nothing = GolemCharter { spend_cap: 0, ..charter };
    /// assert_eq!(nothing.spend_window(), Err(SpendRefusal::ZeroCap));
    /// # Ok::<(), TermsError>(())
    /// ```
    pub const fn spend_window(&self) -> Result<SpendTerms, SpendRefusal> {
        SpendTerms::new(self.spend_cap, self.bucket_minutes, self.epoch)
    }

    /// The terms; refused where the contract would refuse them.
    pub fn encode(&self) -> Result<Vec<u8>, TermsError> {
        check_bps(self.slippage_bps)?;
        check_bps(self.nav_bps)?;
        self.spend_window()?;
        let mut out = Vec::with_capacity(Self::HEADER);
        out.extend(self.golem_id);
        out.extend(self.owner);
        out.extend(self.epoch.to_be_bytes());
        out.extend(self.generation.to_be_bytes());
        out.extend(self.bucket_minutes.to_be_bytes());
        out.extend(self.slippage_bps.to_be_bytes());
        out.extend(self.nav_bps.to_be_bytes());
        out.extend(self.account);
        out.extend(self.spend_cap.to_be_bytes());
        out.extend(self.staleness.to_be_bytes());
        out.extend(self.beneficiary);
        for moment in [self.window.start(), self.window.end()] {
            out.extend(check_moment(moment)?);
        }
        out.extend(self.flags().to_be_bytes());
        out.extend(self.agent_key);
        out.extend(self.nav_cap.to_be_bytes());
        out.extend(self.classes.0.to_be_bytes());
        out.extend(self.vault);
        for gwei in [self.gas_ceiling, self.gas_daily_cap] {
            let [0, 0, bytes @ ..] = gwei.to_be_bytes() else {
                return Err(TermsError::GasMoney { gwei });
            };
            out.extend(bytes);
        }
        out.extend(self.registry);
        out.extend(self.settlement_asset);
        if let Some(bps) = self.max_royalty_bps {
            out.extend(check_bps(bps)?.to_be_bytes());
        }
        if let Some(mood) = self.mood {
            out.extend(mood.encode()?);
        }
        out.extend(self.listing.encode()?);
        Ok(out)
    }

    /// Decodes, accepting nothing that the contract does not.
    pub fn decode(terms: &[u8]) -> Result<Self, TermsError> {
        let mut reader = Reader::new(terms);
        let golem_id = B256::from(reader.take()?);
        let owner = reader.address()?;
        let epoch = reader.u16()?;
        let generation = reader.u32()?;
        let bucket_minutes = reader.u16()?;
        let slippage_bps = check_bps(reader.u16()?)?;
        let nav_bps = check_bps(reader.u16()?)?;
        let account = reader.address()?;
        let spend_cap = reader.u64()?;
        let staleness = reader.u32()?;
        let beneficiary = reader.address()?;
        let window = MortalityTimeWindow::new(reader.u40()?, reader.u40()?)?;
        let flags = check_flags(reader.u16()?)?;
        let agent_key = reader.address()?;
        let nav_cap = reader.u64()?;
        let classes = classes(reader.u32()?)?;
        let vault = reader.address()?;
        let gas_ceiling = reader.u48()?;
        let gas_daily_cap = reader.u48()?;
        let registry = reader.address()?;
        let settlement_asset = reader.address()?;
        let max_royalty_bps = match flags & Self::ROYALTY {
            0 => None,
            _ => Some(check_bps(reader.u16()?)?),
        };
        let mood = match flags & Self::EMOTION {
            0 => None,
            _ => Some(CharterMood::read(&mut reader)?),
        };
        let charter = Self {
            golem_id,
            owner,
            epoch,
            generation,
            registry,
            account,
            beneficiary,
            agent_key,
            replicants: flags & Self::REPLICANTS != 0,
            classes,
            window,
            spend_cap,
            bucket_minutes,
            slippage_bps,
            vault,
            nav_bps,
            nav_cap,
            staleness,
            gas_ceiling,
            gas_daily_cap,
            settlement_asset,
            max_royalty_bps,
            mood,
            listing: Listing::read(&mut reader)?,
        };
        reader.end()?;
        charter.spend_window()?;
        Ok(charter)
    }

    const fn flags(&self) -> u16 {
        let mut flags = 0;
        if self.replicants {
            flags |= Self::REPLICANTS;
        }
        if self.max_royalty_bps.is_some() {
            flags |= Self::ROYALTY;
        }
        if self.mood.is_some() {
            flags |= Self::EMOTION;
        }
        flags
    }
}

impl CharterMood {
    fn encode(&self) -> Result<Vec<u8>, TermsError> {
        let mut out = self.bounds.encode()?.to_vec();
        out.extend(check_mood_classes(self.classes)?.0.to_be_bytes());
        Ok(out)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, TermsError> {
        let bounds = MoodBounds::read(reader)?;
        Ok(Self { bounds, classes: check_mood_classes(classes(reader.u32()?)?)? })
    }
}

const fn check_mood_classes(classes: Classes) -> Result<Classes, TermsError> {
    if classes.0 == 0 {
        return Err(TermsError::Zero { what: "classes of a mood" });
    }
    Ok(classes)
}

const fn check_flags(bits: u16) -> Result<u16, TermsError> {
    let known = GolemCharter::REPLICANTS | GolemCharter::ROYALTY | GolemCharter::EMOTION;
    if bits & !known != 0 {
        return Err(TermsError::UnknownBits { bits: bits as u32 });
    }
    Ok(bits)
}

const fn classes(bits: u32) -> Result<Classes, TermsError> {
    if bits & !Classes::ALL.0 != 0 {
        return Err(TermsError::UnknownBits { bits });
    }
    Ok(Classes(bits))
}
