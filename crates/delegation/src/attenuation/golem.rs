//! Bardo's enforcers.

use super::{
    Bound, EXECUTIONS_IN_A_PERIOD, Loose, Verdict, Within, all, at_least, at_most, every, missing,
    of, same, same_bytes,
};
use crate::{
    SpendTerms,
    terms::{
        Cadence, CharterMood, Class, Classes, DailySpendLimit, DreamMode, EmotionalState,
        GolemCharter, GolemPhase, Holdings, KnowledgeRoyalty, ListedToken, Listing, MaxSlippage,
        MoodBounds, MortalityTimeWindow, ReplicantBudget, Role, Threshold, VaultNav,
    },
};
use alloy_primitives::Address;
use std::fmt;

impl Within for MortalityTimeWindow {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            at_least("start", self.start(), parent.start()),
            at_most("end", self.end(), parent.end()),
        ])
    }
}

impl Within for Cadence {
    /// Both are judged by the same memory, which a looser grant may have filled: so neither bound makes up for the other.
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("golemId", self.golem_id, parent.golem_id),
            at_most("count", self.count, parent.count),
            at_least("period", self.period, parent.period),
        ])
    }
}

impl Within for DreamMode {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("golemId", self.golem_id, parent.golem_id),
            same("registry", self.registry, parent.registry),
        ])
    }
}

impl Within for GolemPhase {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("golemId", self.golem_id, parent.golem_id),
            same("registry", self.registry, parent.registry),
            at_most("staleness", self.staleness, parent.staleness),
            self.listing.within(&parent.listing),
        ])
    }
}

impl Within for MaxSlippage {
    fn within(&self, parent: &Self) -> Verdict {
        all([at_most("bps", self.bps, parent.bps), self.listing.within(&parent.listing)])
    }
}

impl Within for DailySpendLimit {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("golemId", self.golem_id, parent.golem_id),
            same("epoch", self.epoch, parent.epoch),
            // A spend frees twelve to thirteen buckets later, by its place in its bucket: of two lengths either can free first.
            same("bucketMinutes", self.bucket_minutes, parent.bucket_minutes),
            cap_within("cap", self.cap, parent.cap),
            self.listing.within(&parent.listing),
        ])
    }
}

/// A cap of a [`crate::SpendWindow`] within another one.
///
/// Both count in units, and a higher cap may have larger ones, to which every spend is rounded up.
fn cap_within(name: &'static str, child: u64, parent: u64) -> Verdict {
    at_most(name, child, parent)?;
    let (Ok(ours), Ok(theirs)) = (SpendTerms::new(child, 1, 0), SpendTerms::new(parent, 1, 0))
    else {
        // A cap of nothing allows nothing, or is the parent's own.
        return Ok(());
    };
    let (fine, coarse) = (ours.scale(), theirs.scale());
    // Every spend takes as many of the larger units as of the smaller ones, or fewer.
    if fine == coarse || child >> fine <= parent >> coarse {
        return Ok(());
    }
    // Each spend is rounded up by less than the units differ, and so is each bucket that was there before; the cap
    // is rounded down.
    let (unit, finer) = (1_u128 << coarse, 1_u128 << fine);
    let rounded = u128::from(EXECUTIONS_IN_A_PERIOD + 16) * (unit - finer) + unit;
    if u128::from(parent - child) >= rounded {
        return Ok(());
    }
    let unit = |cap: u64, scale: u32| format!("{cap}, counted in units of {}", 1_u64 << scale);
    Err(Loose::new(name, unit(parent, coarse), unit(child, fine)))
}

impl Within for VaultNav {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("golemId", self.golem_id, parent.golem_id),
            nav_within((self.vault, self.bps, self.cap), (parent.vault, parent.bps, parent.cap)),
            self.listing.within(&parent.listing),
        ])
    }
}

/// Vault, share of it, and cap.
fn nav_within(child: (Address, u16, u64), parent: (Address, u16, u64)) -> Verdict {
    let cap = at_most("navCap", child.2, parent.2);
    if parent.0.is_zero() {
        return cap;
    }
    all([same("vault", child.0, parent.0), at_most("navBps", child.1, parent.1), cap])
}

impl Within for ReplicantBudget {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("replicantId", self.replicant_id, parent.replicant_id),
            at_most("budget", self.budget, parent.budget),
            at_most("notAfter", self.not_after, parent.not_after),
            self.listing.within(&parent.listing),
        ])
    }
}

impl Within for Holdings {
    /// A share of everything depends on all that is counted, so the listing is the parent's own.
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("golemId", self.golem_id, parent.golem_id),
            same("account", self.account, parent.account),
            same("registry", self.registry, parent.registry),
            same("cash", self.cash, parent.cash),
            same("series", self.series, parent.series),
            at_most("staleness", self.staleness, parent.staleness),
            at_most("thrivingBps", self.thriving_bps, parent.thriving_bps),
            at_most("stableBps", self.stable_bps, parent.stable_bps),
            at_most("drawdownBps", self.drawdown_bps, parent.drawdown_bps),
            at_most("lossBps", self.loss_bps, parent.loss_bps),
            same_listing(&self.listing, &parent.listing),
        ])
    }
}

/// The very listing; where it is another one, by every entry that is.
fn same_listing(child: &Listing, parent: &Listing) -> Verdict {
    if child == parent {
        return Ok(());
    }
    // What the child lacks of the parent's is found by asking the other way round.
    let back = parent.within(child).err().map_or_else(Vec::new, |Loose(bounds)| bounds);
    let back = back.into_iter().map(|Bound { name, parent, child }| Bound {
        name,
        parent: child,
        child: parent,
    });
    let mut found = child.within(parent).err().map_or_else(Vec::new, |Loose(bounds)| bounds);
    // An entry that differs is found both ways, and with the same words.
    for bound in back {
        let known = |other: &Bound| {
            other.name == bound.name && other.parent == bound.parent && other.child == bound.child
        };
        if !found.iter().any(known) {
            found.push(bound);
        }
    }
    if found.is_empty() {
        // Entries in another order, or twice.
        let bytes = |rule: &Listing| rule.encode().unwrap_or_default();
        return same_bytes("listing", &bytes(child), &bytes(parent));
    }
    Err(Loose(found))
}

impl Within for EmotionalState {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("golemId", self.golem_id, parent.golem_id),
            same("registry", self.registry, parent.registry),
            at_most("staleness", self.staleness, parent.staleness),
            self.bounds.within(&parent.bounds),
            binds("selectors", &self.selectors, &parent.selectors),
        ])
    }
}

/// What the parent binds, the child binds too.
fn binds<T: Copy + Ord + fmt::Display>(name: &'static str, child: &[T], parent: &[T]) -> Verdict {
    let missing = missing(parent, child);
    if missing.is_empty() {
        return Ok(());
    }
    let without = format!("{} without {}", super::listed(child), super::listed(&missing));
    Err(Loose::new(name, super::listed(parent), without))
}

impl Within for MoodBounds {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            at_least("minPleasure", self.min_pleasure, parent.min_pleasure),
            at_most("maxArousal", self.max_arousal, parent.max_arousal),
            at_least("minDominance", self.min_dominance, parent.min_dominance),
        ])
    }
}

impl Within for KnowledgeRoyalty {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("market", self.market, parent.market),
            at_most("maxRoyaltyBps", self.max_royalty_bps, parent.max_royalty_bps),
        ])
    }
}

impl Within for Threshold {
    /// Even if all strangers sign, enough of the parent's signers have to.
    fn within(&self, parent: &Self) -> Verdict {
        let strangers =
            self.signers().iter().filter(|signer| parent.signers().binary_search(signer).is_err());
        let sure = usize::from(self.needed()).saturating_sub(strangers.count());
        if sure >= usize::from(parent.needed()) {
            return Ok(());
        }
        let shown = |rule: &Self| format!("{} of {}", rule.needed(), super::listed(rule.signers()));
        Err(Loose::new("threshold", shown(parent), shown(self)))
    }
}

impl Within for GolemCharter {
    fn within(&self, parent: &Self) -> Verdict {
        // Whoever redeems may be another one only where the parent lets children do so, and then gas money,
        // which goes to the key that is named, must not be among what he may do.
        let keyed = !parent.replicants || self.classes.contains(Class::GasTopUp);
        let royalty = |charter: &Self| charter.max_royalty_bps.unwrap_or_default();
        all([
            same("golemId", self.golem_id, parent.golem_id),
            same("owner", self.owner, parent.owner),
            same("epoch", self.epoch, parent.epoch),
            same("generation", self.generation, parent.generation),
            same("registry", self.registry, parent.registry),
            same("account", self.account, parent.account),
            same("beneficiary", self.beneficiary, parent.beneficiary),
            same("settlementAsset", self.settlement_asset, parent.settlement_asset),
            at_most("replicants", self.replicants, parent.replicants),
            if keyed { same("agentKey", self.agent_key, parent.agent_key) } else { Ok(()) },
            subset("classes", self.classes, parent.classes),
            self.window.within(&parent.window),
            same("bucketMinutes", self.bucket_minutes, parent.bucket_minutes),
            cap_within("spendCap", self.spend_cap, parent.spend_cap),
            at_most("slippageBps", self.slippage_bps, parent.slippage_bps),
            nav_within(
                (self.vault, self.nav_bps, self.nav_cap),
                (parent.vault, parent.nav_bps, parent.nav_cap),
            ),
            at_most("staleness", self.staleness, parent.staleness),
            at_most("gasCeiling", self.gas_ceiling, parent.gas_ceiling),
            cap_within("gasDailyCap", self.gas_daily_cap, parent.gas_daily_cap),
            at_most("maxRoyaltyBps", royalty(self), royalty(parent)),
            mood_within(self.mood.as_ref(), parent.mood.as_ref()),
            self.listing.within(&parent.listing),
        ])
    }
}

fn mood_within(child: Option<&CharterMood>, parent: Option<&CharterMood>) -> Verdict {
    match (child, parent) {
        (_, None) => Ok(()),
        (None, Some(theirs)) => {
            let MoodBounds { min_pleasure, max_arousal, min_dominance } = theirs.bounds;
            let classes = Shown(theirs.classes);
            let bounds = format!(
                "minPleasure {min_pleasure}, maxArousal {max_arousal}, minDominance {min_dominance} for {classes}"
            );
            Err(Loose::new("mood", bounds, "none"))
        }
        (Some(ours), Some(theirs)) => {
            let names = |classes: Classes| Shown(classes).names();
            all([
                ours.bounds.within(&theirs.bounds),
                binds("moodClasses", &names(ours.classes), &names(theirs.classes)),
            ])
        }
    }
}

fn subset(name: &'static str, child: Classes, parent: Classes) -> Verdict {
    let more = child.without(parent);
    if more == Classes::default() {
        return Ok(());
    }
    Err(Loose::new(name, Shown(parent), Shown(more)))
}

/// Classes by their names.
struct Shown(Classes);

impl Shown {
    fn names(&self) -> Vec<&'static str> {
        let all = Class::ALL.into_iter().filter(|class| self.0.contains(*class));
        all.map(Class::name).collect()
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().join(", "))
    }
}

impl Within for Listing {
    /// Every address means the same to both, or nothing to the child: what a rule does not know it refuses.
    fn within(&self, parent: &Self) -> Verdict {
        if self == parent {
            return Ok(());
        }
        let mut found = Vec::new();
        if !parent.sequencer_feed.is_zero() {
            found.push(same("sequencerFeed", self.sequencer_feed, parent.sequencer_feed));
            found.push(at_least("sequencerGrace", self.sequencer_grace, parent.sequencer_grace));
        }
        let (ours, theirs) = (Lookup::of(self), Lookup::of(parent));
        let targets = self.targets.iter().map(|entry| entry.target);
        found.extend(targets.map(|target| role_within(target, &ours, &theirs)));
        for token in self.tokens.iter().map(|entry| entry.token) {
            found.push(role_within(token, &ours, &theirs));
            found.extend(ours.token(token).map(|entry| match theirs.token(token) {
                Some(theirs) => entry.within(theirs).map_err(|loose| of(token, loose)),
                None => Err(Loose::new("token", "listing without it", token)),
            }));
        }
        every(found)
    }
}

/// What an address is to a rule; one without a role cannot be called.
fn role_within(address: Address, child: &Lookup<'_>, parent: &Lookup<'_>) -> Verdict {
    let (Some(ours), theirs) = (child.role(address), parent.role(address)) else { return Ok(()) };
    if theirs == Some(ours) {
        return Ok(());
    }
    let shown = |role: Option<Role>| role.map_or("none".to_owned(), |role| format!("{role:?}"));
    Err(Loose::new("role", shown(theirs), format!("{ours:?} of {address}")))
}

impl Within for ListedToken {
    fn within(&self, parent: &Self) -> Verdict {
        all([
            same("feed", self.feed, parent.feed),
            same("tokenDecimals", self.token_decimals, parent.token_decimals),
            same("feedDecimals", self.feed_decimals, parent.feed_decimals),
            at_most("maxAge", self.max_age, parent.max_age),
        ])
    }
}

/// A listing as the contract searches it: the first entry of an address counts, and targets before tokens.
struct Lookup<'a> {
    tokens: Vec<(Address, &'a ListedToken)>,
    roles: Vec<(Address, Option<Role>)>,
}

impl<'a> Lookup<'a> {
    fn of(listing: &'a Listing) -> Self {
        let mut tokens: Vec<_> = listing.tokens.iter().map(|entry| (entry.token, entry)).collect();
        let targets = listing.targets.iter().map(|entry| (entry.target, Some(entry.role)));
        let mut roles: Vec<_> =
            targets.chain(listing.tokens.iter().map(|entry| (entry.token, entry.role))).collect();
        // Stable: of equal ones the first stays first.
        tokens.sort_by_key(|(address, _)| *address);
        tokens.dedup_by_key(|(address, _)| *address);
        roles.sort_by_key(|(address, _)| *address);
        roles.dedup_by_key(|(address, _)| *address);
        Self { tokens, roles }
    }

    fn token(&self, address: Address) -> Option<&'a ListedToken> {
        found(&self.tokens, address).copied()
    }

    fn role(&self, address: Address) -> Option<Role> {
        found(&self.roles, address).copied().flatten()
    }
}

fn found<T>(entries: &[(Address, T)], address: Address) -> Option<&T> {
    let at = entries.binary_search_by_key(&address, |(entry, _)| *entry).ok()?;
    entries.get(at).map(|(_, entry)| entry)
}
