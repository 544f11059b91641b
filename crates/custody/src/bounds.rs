//! What the owner of a local key allows it, in four numbers, and the caveats that these are (SPEC K6).
//!
//! ```text
//! daily sum ──► charter: spend window of a day, and to whom money may go at all
//! expiry ─────► charter: last second
//! targets ────► charter: what is listed, and what it is;  AllowedTargets: one call at a time, to one of them
//! calls ──────► LimitedCalls
//! ```
//!
//! A key in a file is not secret enough to be trusted: what bounds it is on the chain or it is no bound (INV-4). A spend limit
//! alone would not do, because it does not count what is given away; so the sum is the charter's, which lets nothing go but home.

use alloy_primitives::{Address, U256};
use golem_delegation::{
    Caveat, Environment, Kind, Rule, TermsError,
    bundles::{Bundle, BundleError, Law, Spend},
    terms::{
        AllowedTargets, Class, Classes, GolemCharter, LimitedCalls, MortalityTimeWindow, Role,
    },
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a local key may do. Nothing here means "as much as you like": nothing is nothing.
///
/// ```
/// use golem_custody::{DelegationBounds, DelegationBoundsError};
/// # use golem_delegation::{Environment, Kind, terms::{Classes, GolemCharter, ListedTarget, Listing}};
/// # use golem_delegation::terms::{MortalityTimeWindow, Role};
/// # use alloy_primitives::{Address, B256};
/// # let (router, key) = (Address::repeat_byte(3), Address::repeat_byte(2));
/// # let targets = vec![ListedTarget { target: router, role: Role::SwapRouter02 }];
/// # let charter = GolemCharter {
/// #     golem_id: B256::ZERO, owner: Address::ZERO, epoch: 1, generation: 0, registry: Address::ZERO,
/// #     account: Address::ZERO, beneficiary: Address::ZERO, agent_key: key, replicants: true,
/// #     classes: Classes::ALL, window: MortalityTimeWindow::new(1_000, 200_000)?, spend_cap: 1_000_000_000,
/// #     bucket_minutes: 120, slippage_bps: 100, vault: Address::ZERO, nav_bps: 0, nav_cap: 1,
/// #     staleness: 86_400, gas_ceiling: 1, gas_daily_cap: 1, settlement_asset: Address::ZERO,
/// #     max_royalty_bps: None, mood: None, listing: Listing { targets, ..Listing::default() },
/// # };
/// # let environment = Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
/// #     all.with(*kind, Address::repeat_byte(byte))
/// # });
/// let bounds = DelegationBounds {
///     max_daily_micro_dollars: 25_000_000,
///     max_total_calls: 100,
///     expires_at: 90_000,
///     allowed_targets: vec![router],
/// };
/// // `charter` is the most that its owner would ever grant.
/// assert_eq!(bounds.compile(charter.clone(), &environment, 2_000)?.len(), 3);
///
/// let idle = DelegationBounds { max_total_calls: 0, ..bounds };
/// let refused = idle.compile(charter, &environment, 2_000);
/// assert_eq!(refused, Err(DelegationBoundsError::Nothing { bound: "maxTotalCalls" }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DelegationBounds {
    /// Most that it spends in any 24 hours. What settles a dying Golem's account is no spending (SPEC D18).
    pub max_daily_micro_dollars: u64,
    /// Most calls that it makes under one grant. Whatever it makes in one transaction is counted call by call.
    pub max_total_calls: u32,
    /// The last second in which it acts.
    pub expires_at: u64,
    /// What it calls.
    pub allowed_targets: Vec<Address>,
}

/// Why bounds are no grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DelegationBoundsError {
    /// A bound of nothing: so nothing is allowed, and there is nothing to sign.
    #[error("{bound} allows nothing, so that there is nothing to grant")]
    Nothing {
        /// Which.
        bound: &'static str,
    },
    /// A grant that is over before it begins.
    #[error("expiresAt is second {expires_at}, and it is {now} already")]
    Expired {
        /// Its last second.
        expires_at: u64,
        /// Now.
        now: u64,
    },
    /// More than [`DelegationBounds::MOST_TARGETS`].
    #[error("allowedTargets has {actual} entries, of which there are {limit} at most")]
    TooManyTargets {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// A target twice: whoever wrote that meant another.
    #[error("allowedTargets has {target} twice")]
    Duplicate {
        /// Which.
        target: Address,
    },
    /// A target of which the charter does not say what it is, so that nothing of what it is called with could be judged.
    #[error("allowedTargets has {target}, and the charter does not say what that is")]
    UnknownTarget {
        /// Which.
        target: Address,
    },
    /// The key itself: it would be paid gas money, which no daily sum counts.
    #[error("allowedTargets has the agent's own key {key}, and gas money is in no daily sum")]
    OwnKey {
        /// Which.
        key: Address,
    },
    /// An enforcer that does not stand on this chain.
    #[error("{enforcer} stands nowhere on this chain, so that a bound would bind nothing")]
    NoEnforcer {
        /// Which.
        enforcer: &'static str,
    },
    /// The charter does not take it.
    #[error("the charter cannot say this")]
    Charter(#[from] BundleError),
    /// A contract would not take it.
    #[error("a contract would not read this")]
    Terms(#[from] TermsError),
}

impl DelegationBounds {
    /// Each of them is paid for by every redemption.
    pub const MOST_TARGETS: usize = 64;

    /// What the owner signs: `most`, which is all that he would ever grant this key, within these bounds.
    ///
    /// Bounds only take away. Where `most` is tighter than they are, it stays so.
    pub fn compile(
        &self,
        most: GolemCharter,
        environment: &Environment,
        now: u64,
    ) -> Result<Vec<Caveat>, DelegationBoundsError> {
        let charter = self.charter(most, now)?;
        let rules = [
            Rule::GolemCharter(Box::new(charter)),
            // It takes one call at a time. Else a batch would count as one, however many calls it has.
            Rule::AllowedTargets(AllowedTargets(self.allowed_targets.clone())),
            Rule::LimitedCalls(LimitedCalls(U256::from(self.max_total_calls))),
        ];
        let mut caveats = Vec::with_capacity(rules.len());
        for rule in rules {
            let Some(caveat) = environment.caveat(&rule)? else {
                return Err(DelegationBoundsError::NoEnforcer {
                    enforcer: rule.kind().map_or("an enforcer", Kind::name),
                });
            };
            caveats.push(caveat);
        }
        Ok(caveats)
    }

    /// The charter among those caveats. Bounded once more it is the same.
    pub fn charter(
        &self,
        most: GolemCharter,
        now: u64,
    ) -> Result<GolemCharter, DelegationBoundsError> {
        self.check(&most, now)?;
        let bundles = [
            Bundle::MaxSpend(Spend::Day(self.max_daily_micro_dollars)),
            Bundle::TimeWindow(MortalityTimeWindow::new(0, self.expires_at)?),
            Bundle::NoReplicantSpawning,
        ];
        let mut charter = Law::new(most).under(&bundles)?.charter();
        // Gas money is in no daily sum: a local key pays for its own gas.
        charter.classes = charter.classes.without(Classes::of(&[Class::GasTopUp]));
        let listing = &mut charter.listing;
        listing.targets.retain(|listed| self.allowed_targets.contains(&listed.target));
        for listed in &mut listing.tokens {
            // Priced, so that it can be traded; but it cannot be called.
            listed.role = listed.role.filter(|_| self.allowed_targets.contains(&listed.token));
        }
        Ok(charter)
    }

    /// All that a charter lists and that can be called, but for the key itself: the widest that targets can be.
    #[must_use]
    pub fn targets_of(charter: &GolemCharter) -> Vec<Address> {
        let listing = &charter.listing;
        let targets = listing.targets.iter().map(|listed| (listed.target, Some(listed.role)));
        let tokens = listing.tokens.iter().map(|listed| (listed.token, listed.role));
        let mut seen = BTreeSet::new();
        targets
            .chain(tokens)
            .filter(|(target, role)| {
                let callable = role.is_some_and(|role| role != Role::AgentKey);
                callable && *target != charter.agent_key && seen.insert(*target)
            })
            .map(|(target, _)| target)
            .collect()
    }

    fn check(&self, most: &GolemCharter, now: u64) -> Result<(), DelegationBoundsError> {
        let Self { max_daily_micro_dollars, max_total_calls, expires_at, allowed_targets } = self;
        for (bound, nothing) in [
            ("maxDailyMicroDollars", *max_daily_micro_dollars == 0),
            ("maxTotalCalls", *max_total_calls == 0),
            ("allowedTargets", allowed_targets.is_empty()),
        ] {
            if nothing {
                return Err(DelegationBoundsError::Nothing { bound });
            }
        }
        if *expires_at <= now {
            return Err(DelegationBoundsError::Expired { expires_at: *expires_at, now });
        }
        let (limit, actual) = (Self::MOST_TARGETS, allowed_targets.len());
        if actual > limit {
            return Err(DelegationBoundsError::TooManyTargets { limit, actual });
        }
        let mut seen = BTreeSet::new();
        for target in allowed_targets.iter().copied() {
            if !seen.insert(target) {
                return Err(DelegationBoundsError::Duplicate { target });
            }
            match role(most, target) {
                None => return Err(DelegationBoundsError::UnknownTarget { target }),
                Some(role) if role == Role::AgentKey || target == most.agent_key => {
                    return Err(DelegationBoundsError::OwnKey { key: target });
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// What the charter says that an address is; targets count before tokens, as on chain.
fn role(charter: &GolemCharter, target: Address) -> Option<Role> {
    let listing = &charter.listing;
    let listed = listing.targets.iter().find(|listed| listed.target == target);
    let token = listing.tokens.iter().find(|listed| listed.token == target);
    listed.map(|listed| listed.role).or_else(|| token?.role)
}
