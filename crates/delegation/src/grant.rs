//! The next grant of a Golem, and what a Golem hands on to others.
//!
//! ```text
//! owner ── root, epoch n ──── feed / rotate / regrant ───► root, epoch n + 1: unsigned, for the owner
//!              │
//!              └── Parent ── replicant / to_golem / for_phase / council ───► child: unsigned, for the agent's key
//! ```
//!
//! Nothing here signs, and nothing is sent. What the chain would refuse is refused here with its reason; what the chain
//! knows alone (the registry's word, what was spent) is not asked.

use crate::{
    ANY_DELEGATE, Caveat, ContextError, Delegation, Environment, Kind, Looser, PermissionContext,
    Rule, TermsError, attenuates,
    bundles::{Bundle, BundleError, Enforcers, Law, Spend},
    terms::{
        AllowedMethods, AllowedTargets, GolemCharter, LimitedCalls, Listing, MortalityTimeWindow,
        Redeemer, Role, Threshold, Timestamp,
    },
};
use alloy_primitives::{Address, B256, Bytes, Selector, U256};
use serde::{Deserialize, Serialize};
use std::{fmt, num::NonZeroU64};

/// Why there is no such grant.
///
/// ```
/// use golem_delegation::grant::{Grant, GrantError};
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
/// #     all.with(*kind, Address::repeat_byte(byte))
/// # });
/// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
/// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
/// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
/// let shorter = Grant::read(&root, &environment)?.feed(2_000);
/// assert_eq!(shorter, Err(GrantError::NotExtended { end: 200_000, until: 2_000 }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// Not one that starts at its delegator.
    #[error("the grant is not a root delegation")]
    NotRoot,
    /// Without a charter a grant has no epoch, and no newer grant ends it (SPEC D4).
    #[error("the grant has {found} charters, and needs one")]
    Charters {
        /// How many there are.
        found: usize,
    },
    /// Terms that their contract would refuse.
    #[error(transparent)]
    Terms(#[from] TermsError),
    /// Bundles that contradict each other.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// Links that no manager takes.
    #[error(transparent)]
    Context(#[from] ContextError),
    /// Nothing is known of where an enforcer stands.
    #[error("no {kind} enforcer is known")]
    NoEnforcer {
        /// Which.
        kind: Kind,
    },
    /// A child that would be wider than a link above it (ATK-07).
    #[error("link {link} gives less: {looser}")]
    Wider {
        /// Which link, from the leaf.
        link: usize,
        /// The first bound that is looser.
        looser: Looser,
    },
    /// There is no number after it.
    #[error("epoch {epoch} is the last one")]
    LastEpoch {
        /// The grant's.
        epoch: u16,
    },
    /// There is no salt above it.
    #[error("the grant's salt is the highest there is")]
    LastSalt,
    /// A new grant that would not end the old one.
    #[error("epoch {epoch} is not above {highest}")]
    StaleEpoch {
        /// What was given.
        epoch: u16,
        /// The old grant's.
        highest: u16,
    },
    /// A mark that ended: everything would be refused.
    #[error("series {series} of the drawdown's mark is below {highest}")]
    StaleSeries {
        /// What was given.
        series: u16,
        /// The old grant's.
        highest: u16,
    },
    /// The owner has revoked everything since.
    #[error("generation {generation} is below {known}")]
    StaleGeneration {
        /// What was given.
        generation: u32,
        /// The old grant's.
        known: u32,
    },
    /// Another Golem, owner, registry or account.
    #[error("the new grant is about another {what}")]
    Other {
        /// What differs.
        what: &'static str,
    },
    /// A feed that does not extend.
    #[error("the grant already lasts until {end}, and {until} is not later")]
    NotExtended {
        /// Its last second.
        end: u64,
        /// What was asked for.
        until: u64,
    },
    /// Another caveat ends the grant before its charter does, so the charter's end does not matter.
    #[error("the {kind} caveat ends the grant at {end}, before its charter does")]
    EndsEarlier {
        /// Which caveat.
        kind: Kind,
        /// Its last second.
        end: u128,
    },
    /// An address that cannot be an agent's key here.
    #[error("{key} cannot be the agent's key: {why}")]
    Key {
        /// Which.
        key: Address,
        /// Why not.
        why: &'static str,
    },
    /// A rule that nothing could pass.
    #[error("{what}: none, and so nothing could be done")]
    Nothing {
        /// Of what.
        what: &'static str,
    },
    /// A charter above lets nobody redeem but its own key.
    #[error("the charter of link {link} lets {agent_key} redeem, and no children")]
    NoReplicants {
        /// Index from the leaf.
        link: usize,
        /// Who redeems.
        agent_key: Address,
    },
    /// A caveat above lists those who redeem.
    #[error("link {link} does not list {key} among those who redeem")]
    NotListed {
        /// Index from the leaf.
        link: usize,
        /// Who is not there.
        key: Address,
    },
    /// A child that would live longer than its parent.
    #[error("a child until {until} would outlive link {link}, which ends at {end}")]
    Outlives {
        /// Index from the leaf.
        link: usize,
        /// The link's last second.
        end: u128,
        /// The child's.
        until: u64,
    },
    /// A child with more to spend than its parent ever has, in micro-dollars.
    #[error("a child's {asked} are more than the {most} of link {link}")]
    Budget {
        /// Index from the leaf.
        link: usize,
        /// The link's.
        most: u64,
        /// The child's.
        asked: u64,
    },
}

/// A root delegation with a charter: what an owner gave one Golem.
///
/// ```
/// use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY, grant::Grant};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: false, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 2_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// let enforcer = Address::repeat_byte(0xc1);
/// let environment = Environment::default().with(Kind::GolemCharter, enforcer);
/// let signed = Delegation {
///     delegate: key,
///     delegator: account,
///     authority: ROOT_AUTHORITY,
///     caveats: vec![Caveat::new(enforcer, charter.encode()?)],
///     salt: U256::ZERO,
///     signature: Bytes::from(vec![1; 65]),
/// };
///
/// // Same key, more time: one signature, and the old grant dies with the first redemption of the new one.
/// let fed = Grant::read(&signed, &environment)?.feed(3_000)?;
/// assert_eq!((fed.charter.epoch, fed.charter.window.end()), (2, 3_000));
/// assert!(fed.delegation.signature.is_empty());
/// assert!(fed.supersedes.ends(&signed, &environment)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant<'a> {
    delegation: &'a Delegation,
    environment: &'a Environment,
    rules: Vec<Rule>,
    charter: GolemCharter,
}

/// A grant that takes an older one's place, for the owner to sign.
///
/// ```
/// use golem_delegation::grant::Grant;
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
/// #     all.with(*kind, Address::repeat_byte(byte))
/// # });
/// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
/// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
/// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
/// let renewal = Grant::read(&root, &environment)?.feed(300_000)?;
/// // The owner reads what dies before he signs.
/// assert!(renewal.delegation.signature.is_empty());
/// assert!(renewal.supersedes.to_string().contains("epoch below 2"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Nobody has signed it.
    pub delegation: Delegation,
    /// Its charter.
    pub charter: GolemCharter,
    /// What dies when it is first redeemed.
    pub supersedes: Supersession,
}

/// Which grants a new one ends (SPEC D4): those of the same Golem and account with a lower epoch. Nothing ends before
/// the first redemption; what was spent is carried over (SPEC D17).
///
/// ```
/// use golem_delegation::grant::Supersession;
/// # use alloy_primitives::{Address, B256};
/// let new = Supersession { delegator: Address::repeat_byte(1), golem_id: B256::repeat_byte(7), epoch: 3 };
/// assert!(new.to_string().ends_with("until then the older ones work, and what they spent counts"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Supersession {
    /// The account that grants.
    pub delegator: Address,
    /// The Golem.
    pub golem_id: B256,
    /// Of the new grant.
    pub epoch: u16,
}

/// Limits that an owner changes; the rest stays.
///
/// ```
/// use golem_delegation::grant::Adjustment;
/// let less = Adjustment { spend_cap: Some(50_000_000), ..Adjustment::default() };
/// assert_eq!((less.until, less.slippage_bps), (None, None));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjustment {
    /// Its last second.
    pub until: Option<u64>,
    /// Most that it spends in a period, in micro-dollars.
    pub spend_cap: Option<u64>,
    /// Most that a swap loses against the feeds, in basis points.
    pub slippage_bps: Option<u16>,
}

impl Supersession {
    /// Whether `older` is among them. One without a charter never is.
    ///
    /// ```
    /// use golem_delegation::grant::Supersession;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// let new = Supersession { delegator: account, golem_id: charter.golem_id, epoch: 2 };
    /// assert!(new.ends(&root, &environment)?);
    ///
    /// // A grant does not end itself, nor one of its own age.
    /// assert!(!Supersession { epoch: 1, ..new }.ends(&root, &environment)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ends(&self, older: &Delegation, environment: &Environment) -> Result<bool, TermsError> {
        let rules = rules(older, environment)?;
        let ended = |charter: &&GolemCharter| {
            charter.golem_id == self.golem_id && charter.epoch < self.epoch
        };
        Ok(older.delegator == self.delegator && charters(&rules).iter().any(ended))
    }
}

impl fmt::Display for Supersession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { delegator, golem_id, epoch } = self;
        write!(
            f,
            "the first redemption of this grant ends every grant of {delegator} to Golem {golem_id} with an epoch \
             below {epoch}; until then the older ones work, and what they spent counts"
        )
    }
}

impl<'a> Grant<'a> {
    /// Reads a root delegation, and refuses one that its own charter would never let anybody redeem.
    ///
    /// ```
    /// use golem_delegation::grant::{Grant, GrantError};
    /// # use golem_delegation::{Delegation, Environment, ROOT_AUTHORITY};
    /// # use alloy_primitives::{Address, Bytes, U256};
    /// # let bare = Delegation { delegate: Address::repeat_byte(2), delegator: Address::repeat_byte(1),
    /// #     authority: ROOT_AUTHORITY, caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// // A delegation without a charter is no grant of a Golem's.
    /// let read = Grant::read(&bare, &Environment::default()).map(drop);
    /// assert_eq!(read, Err(GrantError::Charters { found: 0 }));
    /// ```
    pub fn read(
        delegation: &'a Delegation,
        environment: &'a Environment,
    ) -> Result<Self, GrantError> {
        if !delegation.is_root() {
            return Err(GrantError::NotRoot);
        }
        let rules = rules(delegation, environment)?;
        let charter = only_charter(&rules)?;
        if charter.account != delegation.delegator {
            return Err(GrantError::Other { what: "account" });
        }
        check(delegation.delegate, &charter)?;
        Ok(Self { delegation, environment, rules, charter })
    }

    /// What the owner signed.
    ///
    /// ```
    /// use golem_delegation::grant::Grant;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// assert_eq!(Grant::read(&root, &environment)?.charter(), &charter);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn charter(&self) -> &GolemCharter {
        &self.charter
    }

    /// The same charter with the next number: what a new grant starts from.
    ///
    /// ```
    /// use golem_delegation::grant::Grant;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// let next = Grant::read(&root, &environment)?.next_charter()?;
    /// assert_eq!(next, GolemCharter { epoch: 2, ..charter });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_charter(&self) -> Result<GolemCharter, GrantError> {
        self.charter_past(0)
    }

    fn charter_past(&self, asked: u16) -> Result<GolemCharter, GrantError> {
        let epoch = self.charter.epoch.max(asked);
        // The registry never admits the last number there is.
        let next = epoch.checked_add(1).filter(|next| *next != u16::MAX);
        let epoch = next.ok_or(GrantError::LastEpoch { epoch })?;
        Ok(GolemCharter { epoch, ..self.charter.clone() })
    }

    /// More time for the same key (SPEC G8): everything else stays, and what ended with the charter ends with it again.
    ///
    /// ```
    /// use golem_delegation::grant::Grant;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// let fed = Grant::read(&root, &environment)?.feed(300_000)?;
    /// assert_eq!(fed.charter.window, MortalityTimeWindow::new(1_000, 300_000)?);
    /// assert_eq!(fed.delegation.delegate, root.delegate);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn feed(&self, until: u64) -> Result<Renewal, GrantError> {
        let (start, end) = (self.charter.window.start(), self.charter.window.end());
        if until <= end {
            return Err(GrantError::NotExtended { end, until });
        }
        let mut next = self.next_charter()?;
        next.window = MortalityTimeWindow::new(start, until)?;
        let rules = self.rules.iter().map(|rule| extended(rule.clone(), end, until));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        self.renewed(self.delegation.delegate, next, rules)
    }

    /// Other limits for the same key (SPEC G11): what is not named stays. The old grant works until the new one first redeems, and what
    /// was spent counts on (SPEC D17).
    ///
    /// ```
    /// use golem_delegation::grant::{Adjustment, Grant};
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// let less = Adjustment { until: Some(100_000), spend_cap: Some(5_000_000), slippage_bps: None };
    /// let adjusted = Grant::read(&root, &environment)?.adjust(less)?;
    /// assert_eq!(adjusted.charter.window, MortalityTimeWindow::new(1_000, 100_000)?);
    /// assert_eq!((adjusted.charter.spend_cap, adjusted.charter.slippage_bps), (5_000_000, 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn adjust(&self, to: Adjustment) -> Result<Renewal, GrantError> {
        let Adjustment { until, spend_cap, slippage_bps } = to;
        let (start, end) = (self.charter.window.start(), self.charter.window.end());
        let mut next = self.next_charter()?;
        let mut rules = self.rules.clone();
        if let Some(until) = until {
            next.window = MortalityTimeWindow::new(start, until)?;
            // Where it is to end sooner, its charter ends first, whatever else there is.
            if until > end {
                let longer = rules.into_iter().map(|rule| extended(rule, end, until));
                rules = longer.collect::<Result<_, _>>()?;
            }
        }
        next.spend_cap = spend_cap.unwrap_or(next.spend_cap);
        next.slippage_bps = slippage_bps.unwrap_or(next.slippage_bps);
        self.renewed(self.delegation.delegate, next, rules)
    }

    /// The same for another key (SPEC D11). The old one works until the new one first redeems.
    ///
    /// ```
    /// use golem_delegation::grant::Grant;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// let fresh = Address::repeat_byte(9);
    /// let rotated = Grant::read(&root, &environment)?.rotate(fresh)?;
    /// assert_eq!((rotated.delegation.delegate, rotated.charter.agent_key), (fresh, fresh));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rotate(&self, key: Address) -> Result<Renewal, GrantError> {
        self.rotate_past(key, 0)
    }

    /// The same, where the owner was asked before: above `asked` too, so that no two keys ever have grants of one epoch, of
    /// which neither would end the other.
    ///
    /// ```
    /// use golem_delegation::grant::Grant;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// let grant = Grant::read(&root, &environment)?;
    /// let lost = grant.rotate(Address::repeat_byte(8))?.charter.epoch;
    /// assert_eq!(grant.rotate_past(Address::repeat_byte(9), lost)?.charter.epoch, lost + 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rotate_past(&self, key: Address, asked: u16) -> Result<Renewal, GrantError> {
        let old = self.charter.agent_key;
        if key == old {
            return Err(GrantError::Key { key, why: "it is the old one" });
        }
        if self.delegation.delegate != old {
            let why = "the grant is not to its charter's key";
            return Err(GrantError::Key { key: self.delegation.delegate, why });
        }
        let mut next = self.charter_past(asked)?;
        next.agent_key = key;
        rename(&mut next.listing, old, key);
        let rules = self.rules.iter().map(|rule| {
            let mut rule = rule.clone();
            if let Rule::Redeemer(Redeemer(keys)) | Rule::AllowedTargets(AllowedTargets(keys)) =
                &mut rule
            {
                keys.iter_mut().filter(|listed| **listed == old).for_each(|listed| *listed = key);
            }
            // A rule that does not know the new key would refuse its gas money.
            if let Some(listing) = rule.listing_mut() {
                rename(listing, old, key);
            }
            rule
        });
        let renewal = self.renewed(key, next, rules.collect())?;
        // A wrapped caveat, or one that nobody can read: whatever it says, it says it of a key that is gone.
        let names = |caveat: &Caveat| caveat.terms.windows(20).any(|bytes| bytes == old.as_slice());
        if renewal.delegation.caveats.iter().any(names) {
            let why = "a caveat that cannot be rewritten names it";
            return Err(GrantError::Key { key: old, why });
        }
        Ok(renewal)
    }

    /// Other limits for the same Golem: `caveats` in place of all there were.
    ///
    /// ```
    /// use golem_delegation::grant::{Grant, GrantError};
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// let grant = Grant::read(&root, &environment)?;
    /// let less = GolemCharter { spend_cap: 5_000_000, ..grant.next_charter()? };
    /// let renewal = grant.regrant(key, vec![Caveat::new(enforcer, less.encode()?)])?;
    /// assert_eq!(renewal.charter.spend_cap, 5_000_000);
    ///
    /// // With the old number it would not end the old grant.
    /// let stale = grant.regrant(key, root.caveats.clone());
    /// assert_eq!(stale, Err(GrantError::StaleEpoch { epoch: 1, highest: 1 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn regrant(&self, delegate: Address, caveats: Vec<Caveat>) -> Result<Renewal, GrantError> {
        let salt = self.next_salt()?;
        let signature = Bytes::new();
        let delegation =
            Delegation { delegate, caveats, salt, signature, ..self.delegation.clone() };
        let new = Grant::read(&delegation, self.environment)?;
        if let (Some(series), Some(highest)) = (series(&new.rules), series(&self.rules))
            && series < highest
        {
            return Err(GrantError::StaleSeries { series, highest });
        }
        let charter = new.charter;
        let old = &self.charter;
        for (same, what) in [
            (charter.golem_id == old.golem_id, "Golem"),
            (charter.owner == old.owner, "owner"),
            (charter.registry == old.registry, "registry"),
        ] {
            if !same {
                return Err(GrantError::Other { what });
            }
        }
        // The registry never admits the last number there is.
        if charter.epoch == u16::MAX {
            return Err(GrantError::LastEpoch { epoch: charter.epoch });
        }
        if charter.epoch <= old.epoch {
            let (epoch, highest) = (charter.epoch, old.epoch);
            return Err(GrantError::StaleEpoch { epoch, highest });
        }
        if charter.generation < old.generation {
            let (generation, known) = (charter.generation, old.generation);
            return Err(GrantError::StaleGeneration { generation, known });
        }
        let supersedes = Supersession {
            delegator: delegation.delegator,
            golem_id: charter.golem_id,
            epoch: charter.epoch,
        };
        Ok(Renewal { delegation, charter, supersedes })
    }

    fn next_salt(&self) -> Result<U256, GrantError> {
        self.delegation.salt.checked_add(U256::from(1)).ok_or(GrantError::LastSalt)
    }

    /// The rules under the next charter, in their order.
    fn renewed(
        &self,
        delegate: Address,
        next: GolemCharter,
        rules: Vec<Rule>,
    ) -> Result<Renewal, GrantError> {
        let caveats = rules.into_iter().map(|rule| {
            let rule = match rule {
                Rule::GolemCharter(_) => Rule::GolemCharter(Box::new(next.clone())),
                Rule::DailySpendLimit(mut rule) if rule.golem_id == next.golem_id => {
                    rule.epoch = next.epoch;
                    Rule::DailySpendLimit(rule)
                }
                other => other,
            };
            caveat(self.environment, &rule)
        });
        self.regrant(delegate, caveats.collect::<Result<_, _>>()?)
    }
}

/// The number of the drawdown's mark, where there is one.
fn series(rules: &[Rule]) -> Option<u16> {
    rules.iter().find_map(|rule| match rule {
        Rule::Holdings(rule) => Some(rule.series),
        _ => None,
    })
}

/// The agent's key is another one now.
fn rename(listing: &mut Listing, old: Address, key: Address) {
    for listed in &mut listing.targets {
        if listed.role == Role::AgentKey && listed.target == old {
            listed.target = key;
        }
    }
}

impl Rule {
    /// What a rule that looks at actions knows of them; the charter's own is its next one's.
    const fn listing_mut(&mut self) -> Option<&mut Listing> {
        match self {
            Self::DailySpendLimit(rule) => Some(&mut rule.listing),
            Self::GolemPhase(rule) => Some(&mut rule.listing),
            Self::Holdings(rule) => Some(&mut rule.listing),
            Self::MaxSlippage(rule) => Some(&mut rule.listing),
            Self::ReplicantBudget(rule) => Some(&mut rule.listing),
            Self::VaultNav(rule) => Some(&mut rule.listing),
            _ => None,
        }
    }
}

/// The last second that a rule lets anything happen, if it knows one.
fn last_second(rule: &Rule) -> Option<(Kind, u128)> {
    Some(match rule {
        Rule::GolemCharter(charter) => (Kind::GolemCharter, charter.window.end().into()),
        Rule::MortalityTimeWindow(window) => (Kind::MortalityTimeWindow, window.end().into()),
        Rule::ReplicantBudget(budget) => (Kind::ReplicantBudget, budget.not_after.into()),
        // The stock enforcer's end is the first second that is too late; zero is none.
        Rule::Timestamp(stock) => (Kind::Timestamp, stock.before.checked_sub(1)?),
        _ => return None,
    })
}

/// A rule that ended with the charter, ending later.
fn extended(rule: Rule, end: u64, until: u64) -> Result<Rule, GrantError> {
    if let Some((kind, last)) = last_second(&rule).filter(|(_, last)| *last < u128::from(end)) {
        return Err(GrantError::EndsEarlier { kind, end: last });
    }
    Ok(match rule {
        Rule::MortalityTimeWindow(window) => {
            let until = window.end().max(until);
            Rule::MortalityTimeWindow(MortalityTimeWindow::new(window.start(), until)?)
        }
        Rule::Timestamp(stock) if stock.before != 0 => Rule::Timestamp(Timestamp {
            before: stock.before.max(u128::from(until).saturating_add(1)),
            ..stock
        }),
        Rule::ReplicantBudget(mut budget) => {
            budget.not_after = budget.not_after.max(until);
            Rule::ReplicantBudget(budget)
        }
        other => other,
    })
}

/// Phases of a Golem's life, as the registry numbers them.
///
/// ```
/// use golem_delegation::grant::Phase;
/// assert!(Phase::ALL.is_sorted());
/// assert!(Phase::Thriving < Phase::Terminal);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Phase {
    /// Everything, and children.
    Thriving,
    /// Everything but children.
    Stable,
    /// Positions are closed, vaults are left.
    Conservation,
    /// And what is left goes home.
    Declining,
    /// The last acts.
    Terminal,
}

impl Phase {
    /// Every phase, in the order of life.
    pub const ALL: [Self; 5] =
        [Self::Thriving, Self::Stable, Self::Conservation, Self::Declining, Self::Terminal];

    /// As the registry numbers it.
    ///
    /// ```
    /// use golem_delegation::grant::Phase;
    /// assert_eq!(Phase::ALL.map(Phase::number), [0, 1, 2, 3, 4]);
    /// ```
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Thriving => 0,
            Self::Stable => 1,
            Self::Conservation => 2,
            Self::Declining => 3,
            Self::Terminal => 4,
        }
    }

    /// The phase of a number; none where there is none (INV-4).
    ///
    /// ```
    /// use golem_delegation::grant::Phase;
    /// assert_eq!(Phase::of_number(2), Some(Phase::Conservation));
    /// assert_eq!(Phase::of_number(5), None);
    /// ```
    #[must_use]
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// What the link for it alone is made of.
    ///
    /// ```
    /// use golem_delegation::{bundles::Bundle, grant::Phase};
    /// assert!(Phase::Conservation.bundles().contains(&Bundle::NoNewPositions));
    /// assert!(Phase::Declining.bundles().contains(&Bundle::SweepToOwner));
    /// ```
    #[must_use]
    pub fn bundles(self) -> Vec<Bundle> {
        match self {
            Self::Thriving => vec![
                Bundle::FullTrading,
                Bundle::MaxPosition { thriving: 3_000, stable: 0 },
                Bundle::ReplicantSpawning,
            ],
            Self::Stable => vec![
                Bundle::FullTrading,
                Bundle::MaxPosition { thriving: 0, stable: 2_000 },
                Bundle::NoReplicantSpawning,
            ],
            Self::Conservation => {
                vec![Bundle::CloseOnly, Bundle::NoNewPositions, Bundle::WithdrawAllowed]
            }
            Self::Declining => vec![Bundle::UnwindOnly, Bundle::SweepToOwner],
            Self::Terminal => vec![Bundle::SettlementOnly, Bundle::DeathProtocol],
        }
    }
}

/// A child agent: a key of its own, a sum for its whole life, and that life's length.
///
/// ```
/// use golem_delegation::grant::{GrantError, Parent, Replicant};
/// # use golem_delegation::PermissionContext;
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
/// #     all.with(*kind, Address::repeat_byte(byte))
/// # });
/// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
/// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
/// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// let poor = Replicant {
///     key: Address::repeat_byte(3),
///     id: B256::repeat_byte(3),
///     budget: 0,
///     born: 10_000,
///     lifespan: 86_400,
///     targets: vec![],
///     methods: vec![],
///     calls: None,
/// };
/// let child = Parent::read(&chain, &environment)?.replicant(&poor, U256::ZERO);
/// assert_eq!(child, Err(GrantError::Nothing { what: "budget" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicant {
    /// Its key, which redeems.
    pub key: Address,
    /// Its name under its parent: what it spends is counted by this, so a second one of the name shares the sum.
    pub id: B256,
    /// Micro-dollars.
    pub budget: u64,
    /// First second.
    pub born: u64,
    /// Seconds from then on.
    pub lifespan: u64,
    /// Where it acts; empty for wherever its parent may.
    pub targets: Vec<Address>,
    /// What it calls; empty for whatever its parent may.
    pub methods: Vec<Selector>,
    /// How often it acts, if that is bounded.
    pub calls: Option<NonZeroU64>,
}

/// Members of whom so many agree to each call.
///
/// ```
/// use golem_delegation::{ANY_DELEGATE, grant::{Council, Parent}};
/// # use golem_delegation::PermissionContext;
/// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
/// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
/// #     all.with(*kind, Address::repeat_byte(byte))
/// # });
/// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
/// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
/// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
/// # let chain = PermissionContext::new(vec![root])?;
/// let council = Council {
///     seats: vec![Address::repeat_byte(5), Address::repeat_byte(4), Address::repeat_byte(6)],
///     needed: 2,
///     most: 1_000_000,
///     targets: vec![],
/// };
/// let link = Parent::read(&chain, &environment)?.council(&council, 10_000, U256::ZERO)?;
/// assert_eq!(link.delegate, ANY_DELEGATE);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Council {
    /// Who, in any order. Each of them may redeem.
    pub seats: Vec<Address>,
    /// How many.
    pub needed: u8,
    /// Most that one call spends, in micro-dollars.
    pub most: u64,
    /// Where they act; empty for wherever the parent may.
    pub targets: Vec<Address>,
}

/// Whoever holds the leaf of a chain, about to hand it on (SPEC G9).
///
/// ```
/// use golem_delegation::{Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY};
/// use golem_delegation::grant::{GrantError, Parent, Replicant};
/// # use golem_delegation::{Caveat, terms::{Classes, GolemCharter, Listing, MortalityTimeWindow}};
/// # use alloy_primitives::{Address, B256, Bytes, U256};
/// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
/// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
/// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
/// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
/// #     listing: Listing::default(),
/// # };
/// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
/// #     all.with(*kind, Address::repeat_byte(byte))
/// # });
/// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
/// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
/// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
/// let chain = PermissionContext::new(vec![root.clone()])?;
/// let parent = Parent::read(&chain, &environment)?;
/// let tester = Replicant {
///     key: Address::repeat_byte(3),
///     id: B256::repeat_byte(3),
///     budget: 50_000_000,
///     born: 10_000,
///     lifespan: 86_400,
///     targets: vec![],
///     methods: vec![],
///     calls: None,
/// };
/// let child = parent.replicant(&tester, U256::ZERO)?;
/// assert_eq!((child.delegator, child.authority), (root.delegate, root.hash().0));
///
/// // It does not outlive its parent.
/// let late = Replicant { born: 150_000, ..tester };
/// assert!(matches!(parent.replicant(&late, U256::ZERO), Err(GrantError::Outlives { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Parent<'a> {
    chain: &'a PermissionContext,
    environment: &'a Environment,
    /// Of each link, leaf first.
    rules: Vec<Vec<Rule>>,
    charter: GolemCharter,
}

impl<'a> Parent<'a> {
    /// Reads a chain, leaf first. The charter nearest to the leaf is what a child's is made from.
    ///
    /// ```
    /// use golem_delegation::grant::{GrantError, Parent};
    /// # use golem_delegation::PermissionContext;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// assert!(Parent::read(&chain, &environment).is_ok());
    ///
    /// // Where nothing is known of the charter's enforcer, there is no charter.
    /// let read = Parent::read(&chain, &Environment::default()).map(drop);
    /// assert_eq!(read, Err(GrantError::Charters { found: 0 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(
        chain: &'a PermissionContext,
        environment: &'a Environment,
    ) -> Result<Self, GrantError> {
        let rules = chain.links().iter().map(|link| rules(link, environment));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        let nearest = rules.iter().find(|rules| !charters(rules).is_empty());
        let charter = only_charter(nearest.map_or(&[], Vec::as_slice))?;
        Ok(Self { chain, environment, rules, charter })
    }

    /// A Replicant: its budget, its life, and no children of its own.
    ///
    /// ```
    /// use golem_delegation::grant::{GrantError, Parent, Replicant};
    /// # use golem_delegation::PermissionContext;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// # let tester = Replicant { key: Address::repeat_byte(3), id: B256::repeat_byte(3), budget: 50_000_000,
    /// #     born: 10_000, lifespan: 86_400, targets: vec![], methods: vec![], calls: None };
    /// let parent = Parent::read(&chain, &environment)?;
    /// assert!(parent.replicant(&tester, U256::ZERO).is_ok());
    ///
    /// // Its key is its own.
    /// let same = Replicant { key, ..tester };
    /// assert!(matches!(parent.replicant(&same, U256::ZERO), Err(GrantError::Key { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replicant(&self, child: &Replicant, salt: U256) -> Result<Delegation, GrantError> {
        self.distinct(child.key)?;
        if child.budget == 0 {
            return Err(GrantError::Nothing { what: "budget" });
        }
        for (link, rules) in self.rules.iter().enumerate() {
            for rule in rules {
                if let Rule::ReplicantBudget(above) = rule
                    && above.budget < child.budget
                {
                    let (most, asked) = (above.budget, child.budget);
                    return Err(GrantError::Budget { link, most, asked });
                }
            }
        }
        let bundles = [Bundle::MaxSpend(Spend::Total(child.budget)), Bundle::NoSubDelegation];
        let life = life(child.born, child.lifespan)?;
        let mut beside = bounded_to(&child.targets);
        if !child.methods.is_empty() {
            beside.push(Rule::AllowedMethods(AllowedMethods(child.methods.clone())));
        }
        if let Some(calls) = child.calls {
            beside.push(Rule::LimitedCalls(LimitedCalls(U256::from(calls.get()))));
        }
        self.child(child.key, life, &bundles, (child.id, beside), salt)
    }

    /// Another Golem, which gets what the bundles leave of this one's law, and hands nothing on.
    ///
    /// ```
    /// use golem_delegation::{Rule, bundles::Bundle, grant::Parent, terms::Class};
    /// # use golem_delegation::PermissionContext;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// let other = Address::repeat_byte(4);
    /// let parent = Parent::read(&chain, &environment)?;
    /// let link = parent.to_golem(other, 10_000, 3_600, &[Bundle::CloseOnly], U256::ZERO)?;
    ///
    /// let Rule::GolemCharter(law) = environment.read(&link.caveats[0])? else { panic!("a charter") };
    /// assert!(law.classes.contains(Class::Collect) && !law.classes.contains(Class::Swap));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_golem(
        &self,
        key: Address,
        born: u64,
        lifespan: u64,
        bundles: &[Bundle],
        salt: U256,
    ) -> Result<Delegation, GrantError> {
        self.distinct(key)?;
        let life = life(born, lifespan)?;
        let bundles = [bundles, &[Bundle::NoSubDelegation]].concat();
        self.child(key, life, &bundles, (key.into_word(), vec![]), salt)
    }

    /// The link for one phase of life. The charter asks the registry which phase it is; the bundles take from it what no
    /// such phase has.
    ///
    /// ```
    /// use golem_delegation::{Rule, grant::{Parent, Phase}, terms::Class};
    /// # use golem_delegation::PermissionContext;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// let parent = Parent::read(&chain, &environment)?;
    /// let link = parent.for_phase(Address::repeat_byte(4), Phase::Conservation, 10_000, U256::ZERO)?;
    ///
    /// let Rule::GolemCharter(law) = environment.read(&link.caveats[0])? else { panic!("a charter") };
    /// assert!(law.classes.contains(Class::Withdraw) && !law.classes.contains(Class::Deposit));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_phase(
        &self,
        key: Address,
        phase: Phase,
        born: u64,
        salt: U256,
    ) -> Result<Delegation, GrantError> {
        self.distinct(key)?;
        let life = MortalityTimeWindow::new(born, self.charter.window.end())?;
        self.child(key, life, &phase.bundles(), (key.into_word(), vec![]), salt)
    }

    /// A council: any of its members redeems what enough of them agreed to.
    ///
    /// ```
    /// use golem_delegation::grant::{Council, Parent};
    /// # use golem_delegation::PermissionContext;
    /// # use golem_delegation::{Caveat, Delegation, Environment, Kind, ROOT_AUTHORITY};
    /// # use golem_delegation::terms::{Classes, GolemCharter, Listing, MortalityTimeWindow};
    /// # use alloy_primitives::{Address, B256, Bytes, U256};
    /// # let (account, key) = (Address::repeat_byte(1), Address::repeat_byte(2));
    /// # let charter = GolemCharter {
    /// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
    /// #     account, beneficiary: Address::ZERO, agent_key: key, replicants: true, classes: Classes::ALL,
    /// #     window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000, bucket_minutes: 120,
    /// #     slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1, staleness: 86_400, gas_ceiling: 1,
    /// #     gas_daily_cap: 1, settlement_asset: Address::ZERO, max_royalty_bps: None, mood: None,
    /// #     listing: Listing::default(),
    /// # };
    /// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
    /// #     all.with(*kind, Address::repeat_byte(byte))
    /// # });
    /// # let enforcer = environment.enforcer(Kind::GolemCharter).unwrap();
    /// # let root = Delegation { delegate: key, delegator: account, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![Caveat::new(enforcer, charter.encode()?)], salt: U256::ZERO, signature: Bytes::new() };
    /// # let chain = PermissionContext::new(vec![root])?;
    /// let seats = vec![Address::repeat_byte(5), Address::repeat_byte(4)];
    /// let parent = Parent::read(&chain, &environment)?;
    /// // Three of two never agree.
    /// let torn = Council { seats, needed: 3, most: 1_000_000, targets: vec![] };
    /// assert!(parent.council(&torn, 10_000, U256::ZERO).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn council(
        &self,
        council: &Council,
        born: u64,
        salt: U256,
    ) -> Result<Delegation, GrantError> {
        let threshold = Threshold::new(council.needed, council.seats.clone())?;
        for seat in threshold.signers() {
            self.admit(*seat)?;
        }
        let mut beside = bounded_to(&council.targets);
        beside.push(Rule::Redeemer(Redeemer(threshold.signers().to_vec())));
        let Some(first) = threshold.signers().first().copied() else {
            return Err(GrantError::Nothing { what: "seats" });
        };
        beside.push(Rule::Threshold(threshold));
        let life = MortalityTimeWindow::new(born, self.charter.window.end())?;
        let bundles = [Bundle::MaxValue(council.most)];
        let link = self.child(first, life, &bundles, (first.into_word(), beside), salt)?;
        Ok(Delegation { delegate: ANY_DELEGATE, ..link })
    }

    /// A child has a key of its own; a member of a council need not.
    fn distinct(&self, key: Address) -> Result<(), GrantError> {
        if key == self.chain.leaf().delegate {
            return Err(GrantError::Key { key, why: "it is the parent's own" });
        }
        Ok(())
    }

    /// Whether everything above lets `key` redeem.
    fn admit(&self, key: Address) -> Result<(), GrantError> {
        check_key(key)?;
        for (link, rules) in self.rules.iter().enumerate() {
            for rule in rules {
                match rule {
                    Rule::GolemCharter(charter)
                        if !charter.replicants && charter.agent_key != key =>
                    {
                        let agent_key = charter.agent_key;
                        return Err(GrantError::NoReplicants { link, agent_key });
                    }
                    Rule::Redeemer(Redeemer(listed)) if !listed.contains(&key) => {
                        return Err(GrantError::NotListed { link, key });
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn outlive(&self, until: u64) -> Result<(), GrantError> {
        for (link, rules) in self.rules.iter().enumerate() {
            let ends = rules.iter().filter_map(last_second).map(|(_, end)| end);
            if let Some(end) = ends.min().filter(|end| u128::from(until) > *end) {
                return Err(GrantError::Outlives { link, end, until });
            }
        }
        Ok(())
    }

    fn child(
        &self,
        key: Address,
        life: MortalityTimeWindow,
        bundles: &[Bundle],
        (name, beside): (B256, Vec<Rule>),
        salt: U256,
    ) -> Result<Delegation, GrantError> {
        self.admit(key)?;
        let leaf = self.chain.leaf();
        self.outlive(life.end())?;
        let charter = GolemCharter { agent_key: key, ..self.charter.clone() };
        let mut law = Law::new(charter).of_child(name);
        // Leaf first: what it says of holdings is within what those above it say.
        let held = self.rules.iter().flatten().find_map(|rule| match rule {
            Rule::Holdings(held) => Some(held),
            _ => None,
        });
        if let Some(held) = held {
            law = law.beneath(held.clone());
        }
        let law = law.under(&[Bundle::TimeWindow(life)])?.under(bundles)?;
        check(key, &law.charter())?;
        let mut caveats = law.caveats(&enforcers(self.environment)?)?;
        for rule in &beside {
            caveats.push(caveat(self.environment, rule)?);
        }
        let link = Delegation {
            delegate: key,
            delegator: leaf.delegate,
            authority: leaf.hash().0,
            caveats,
            salt,
            signature: Bytes::new(),
        };
        self.contains(&link)?;
        // Nobody redeems a chain that is too long.
        PermissionContext::new([std::slice::from_ref(&link), self.chain.links()].concat())?;
        Ok(link)
    }

    /// ATK-07: no link above gives less than the child states. A budget of the child's own counts beside those above,
    /// which go on counting; its sum was compared before.
    fn contains(&self, child: &Delegation) -> Result<(), GrantError> {
        let stated = rules(child, self.environment)?;
        let own = |looser: &Looser| {
            looser.kind == Some(Kind::ReplicantBudget) && looser.bound == "replicantId"
        };
        for (link, above) in self.rules.iter().enumerate() {
            let wider = attenuates(above, &stated).err().into_iter().flatten();
            if let Some(looser) = wider.into_iter().find(|looser| !own(looser)) {
                return Err(GrantError::Wider { link, looser });
            }
        }
        Ok(())
    }
}

/// From `born` for so many seconds.
fn life(born: u64, lifespan: u64) -> Result<MortalityTimeWindow, GrantError> {
    Ok(MortalityTimeWindow::new(born, born.saturating_add(lifespan))?)
}

fn bounded_to(targets: &[Address]) -> Vec<Rule> {
    match targets {
        [] => vec![],
        _ => vec![Rule::AllowedTargets(AllowedTargets(targets.to_vec()))],
    }
}

fn rules(delegation: &Delegation, environment: &Environment) -> Result<Vec<Rule>, TermsError> {
    delegation.caveats.iter().map(|caveat| environment.read(caveat)).collect()
}

fn charters(rules: &[Rule]) -> Vec<&GolemCharter> {
    fn charter(rule: &Rule) -> Option<&GolemCharter> {
        match rule {
            Rule::GolemCharter(charter) => Some(charter),
            _ => None,
        }
    }
    rules.iter().filter_map(charter).collect()
}

fn only_charter(rules: &[Rule]) -> Result<GolemCharter, GrantError> {
    match charters(rules).as_slice() {
        [only] => Ok((*only).clone()),
        other => Err(GrantError::Charters { found: other.len() }),
    }
}

fn caveat(environment: &Environment, rule: &Rule) -> Result<Caveat, GrantError> {
    match (environment.caveat(rule)?, rule.kind()) {
        (Some(caveat), _) => Ok(caveat),
        (None, Some(kind)) => Err(GrantError::NoEnforcer { kind }),
        // An opaque rule brings its enforcer with it.
        (None, None) => Err(GrantError::Nothing { what: "enforcer" }),
    }
}

fn enforcers(environment: &Environment) -> Result<Enforcers, GrantError> {
    let at = |kind| environment.enforcer(kind).ok_or(GrantError::NoEnforcer { kind });
    Ok(Enforcers {
        golem_charter: at(Kind::GolemCharter)?,
        holdings: at(Kind::Holdings)?,
        cadence: at(Kind::Cadence)?,
        replicant_budget: at(Kind::ReplicantBudget)?,
        redeemer: at(Kind::Redeemer)?,
        allowed_targets: at(Kind::AllowedTargets)?,
        allowed_methods: at(Kind::AllowedMethods)?,
        allowed_calldata: at(Kind::AllowedCalldata)?,
    })
}

/// What a charter's own contract would refuse at every redemption.
fn check(delegate: Address, charter: &GolemCharter) -> Result<(), GrantError> {
    check_key(charter.agent_key)?;
    if charter.agent_key == charter.account {
        return Err(GrantError::Key { key: charter.agent_key, why: "it is the account itself" });
    }
    if delegate != charter.agent_key && delegate != ANY_DELEGATE && !charter.replicants {
        let why = "the charter lets another one redeem, and no children";
        return Err(GrantError::Key { key: delegate, why });
    }
    Ok(())
}

const fn check_key(key: Address) -> Result<(), GrantError> {
    let why = match key {
        Address::ZERO => "nobody has it",
        ANY_DELEGATE => "it stands for anybody",
        _ => return Ok(()),
    };
    Err(GrantError::Key { key, why })
}
