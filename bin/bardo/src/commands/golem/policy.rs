//! What an owner published for his Golem, where that stands in the way of what he signs (SPEC P1, G11).

use super::{estate::Estate, kin::Kin, refused};
use crate::{
    answer::{Answer, Failure},
    prose::dollars,
};
use alloy::primitives::{Address, B256, U256};
use golem_chain::{Node, publish, published_policy};
use golem_custody::{RotationPolicy, Spent};
use golem_delegation::{SpendTerms, terms::GolemCharter};
use golem_runtime::Glance;
use golem_safety::Policy;
use serde_json::{Value, json};
use std::{
    io::{Write as _, stderr},
    path::Path,
};

const DAY: u64 = 86_400;

/// What an owner asks of his Golem's policy by what he signs.
pub(super) struct Asked<'a> {
    pub(super) what: &'static str,
    pub(super) data: &'a Path,
    /// The charter that he signs.
    pub(super) next: &'a GolemCharter,
    /// The cap that he named, if he did.
    pub(super) cap: Option<u64>,
    pub(super) salt: Option<B256>,
    pub(super) ceiling: U256,
}

/// A policy that was published, and by which transaction.
pub(super) struct Widened {
    policy: Policy,
    transaction: B256,
}

impl Widened {
    pub(super) fn json(&self) -> Value {
        let Policy { spend_per_transaction, spend_per_session, spend_per_day, .. } = &self.policy;
        json!({
            "transaction": self.transaction, "spendPerTransaction": spend_per_transaction,
            "spendPerSession": spend_per_session, "spendPerDay": spend_per_day,
        })
    }

    pub(super) fn text(&self) -> String {
        format!("its policy is wider: {}: {}", bounds(&self.policy), self.transaction)
    }
}

/// Publishes what is wide enough for what he signs, where what is published is not; none where it is. With the same constitution, and
/// nothing wider that he did not ask for.
pub(super) async fn widened(
    estate: &Estate,
    asked: Asked<'_>,
) -> Result<Result<Option<Widened>, Answer>, Failure> {
    let (node, golem) = (&estate.node, estate.glance.golem);
    // Where none can be read it does nothing, whatever is signed: there is nothing to be wider than.
    let Some(Ok(published)) = published_policy(node, golem).await? else { return Ok(Ok(None)) };
    let spent = spent(asked.data, &estate.glance, node, estate.now).await?.session;
    let before = published.policy();
    let wider = wider(before, &estate.charter, asked.next, asked.cap, spent, estate.now);
    let Some(policy) = wider else { return Ok(Ok(None)) };
    let salt = estate.salt(asked.salt)?;
    let _gone = writeln!(
        stderr(),
        "its policy on the chain has {}: with that, what you sign would have no effect. One transaction publishes {}, and one \
         signature follows",
        bounds(before),
        bounds(&policy)
    );
    let (transaction, shown) = publish(node, &estate.signer, salt, &policy, asked.ceiling).await?;
    if !shown {
        let reason = format!(
            "its policy is published by {transaction}, and the chain does not show it; nothing was signed"
        );
        return Ok(Err(refused(asked.what, &reason)));
    }
    Ok(Ok(Some(Widened { policy, transaction })))
}

fn bounds(policy: &Policy) -> String {
    let money = |micro: u64| dollars(U256::from(micro));
    let Policy { spend_per_transaction, spend_per_session, spend_per_day, .. } = policy;
    format!(
        "{} at once, {} in a day and {} by one key",
        money(*spend_per_transaction),
        money(*spend_per_day),
        money(*spend_per_session)
    )
}

/// What has to be published before `next` has effect; none where it has it.
fn wider(
    policy: &Policy,
    before: &GolemCharter,
    next: &GolemCharter,
    cap: Option<u64>,
    spent: u64,
    now: u64,
) -> Option<Policy> {
    let mut wider = policy.clone();
    if let Some(cap) = cap.filter(|cap| *cap > policy.spend_per_day) {
        wider.spend_per_day = cap;
        // What it may spend at once was the whole of a day, and stays that; less was its owner's will.
        if policy.spend_per_transaction == policy.spend_per_day.min(before.nav_cap) {
            wider.spend_per_transaction = cap.min(next.nav_cap);
        }
    }
    let left = next.window.end().saturating_sub(now);
    let more = next.spend_cap > before.spend_cap || next.window.end() > before.window.end();
    let needs = |seconds| spent.saturating_add(most(next, wider.spend_per_day, seconds));
    // A key is replaced by then, and what the next one spends is counted anew (SPEC K3); where it is not, it has all of what is left.
    let soon = needs(left.min(RotationPolicy::default().age));
    if more && soon > policy.spend_per_session {
        wider.spend_per_session = needs(left);
    }
    wider.spend_per_session = wider.spend_per_session.max(wider.spend_per_transaction);
    (wider != *policy).then_some(wider)
}

/// Most that charter and policy let a Golem spend in so many seconds, a day or period that has begun counted whole.
fn most(charter: &GolemCharter, per_day: u64, seconds: u64) -> u64 {
    let period = u64::from(charter.bucket_minutes)
        .saturating_mul(u64::from(SpendTerms::PERIOD_BUCKETS))
        .saturating_mul(60);
    let times = |sum: u64, period: u64| match period {
        0 => u64::MAX,
        period => sum.saturating_mul(seconds.div_ceil(period)),
    };
    times(charter.spend_cap, period).min(times(per_day, DAY))
}

/// What its key and the children that it lent to have spent.
pub(super) async fn spent(
    data: &Path,
    glance: &Glance,
    node: &Node,
    now: u64,
) -> Result<Spent, Failure> {
    let key = glance.grant.as_ref().map_or(Address::ZERO, |(grant, _)| grant.delegate);
    let mut spent = glance.spent;
    for kin in Kin::of(data, glance, now) {
        let lent = kin.by_chain(node).await?.spent_of(key);
        spent.session = spent.session.saturating_add(lent);
    }
    Ok(spent)
}

/// Why its policy lets its key spend nothing any more, or less than is left of the day; none where it does.
pub(super) fn used_up(policy: &Policy, charter: &GolemCharter, spent: Spent) -> Option<String> {
    let left = policy.spend_per_session.saturating_sub(spent.session);
    let today = policy.spend_per_day.min(charter.spend_cap).saturating_sub(spent.day);
    if left > 0 && left >= today {
        return None;
    }
    let money = |micro: u64| dollars(U256::from(micro));
    Some(format!(
        "{} is left of the {} that its policy lets one key spend: `bardo golem feed` publishes a wider one, and another key begins anew",
        money(left),
        money(policy.spend_per_session)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy::primitives::B256;
    use golem_delegation::terms::{Classes, Listing, MortalityTimeWindow};

    const DOLLAR: u64 = 1_000_000;

    fn charter(cap: u64, days: u64) -> GolemCharter {
        GolemCharter {
            golem_id: B256::ZERO,
            owner: Address::ZERO,
            epoch: 1,
            generation: 0,
            registry: Address::ZERO,
            account: Address::ZERO,
            beneficiary: Address::ZERO,
            agent_key: Address::ZERO,
            replicants: false,
            classes: Classes::ALL,
            window: MortalityTimeWindow::new(0, days * DAY).unwrap(),
            spend_cap: cap * DOLLAR,
            bucket_minutes: SpendTerms::DAY,
            slippage_bps: 100,
            vault: Address::ZERO,
            nav_bps: 0,
            nav_cap: 1_000 * DOLLAR,
            staleness: 0,
            gas_ceiling: 1,
            gas_daily_cap: 1,
            settlement_asset: Address::ZERO,
            max_royalty_bps: None,
            mood: None,
            listing: Listing::default(),
        }
    }

    /// In dollars: at once, by one key, in a day.
    fn policy(once: u64, session: u64, day: u64) -> Policy {
        Policy {
            constitution_hash: B256::repeat_byte(1),
            concentration_bps: 5_000,
            drawdown_bps: 1_000,
            spend_per_transaction: once * DOLLAR,
            spend_per_session: session * DOLLAR,
            spend_per_day: day * DOLLAR,
            assets: vec![Address::ZERO],
        }
    }

    #[test]
    fn more_time_widens_what_one_key_spends_and_nothing_else() {
        let (week, more) = (charter(50, 7), charter(50, 37));

        let wider = wider(&policy(50, 350, 50), &week, &more, None, 350 * DOLLAR, 7 * DAY);

        assert_eq!(wider, Some(policy(50, 350 + 30 * 50, 50)));
    }

    #[test]
    fn what_lasts_until_its_key_is_replaced_stands_in_nobodys_way() {
        let (before, more) = (charter(50, 60), charter(50, 90));
        let at = |spent| wider(&policy(50, 3_000, 50), &before, &more, None, spent * DOLLAR, DAY);

        assert_eq!(at(3_000 - 7 * 50), None);
        assert_eq!(at(3_000 - 7 * 50 + 1), Some(policy(50, 2_651 + 89 * 50, 50)));
    }

    #[test]
    fn a_higher_cap_widens_the_day_and_what_was_the_whole_of_it() {
        let (before, more) = (charter(50, 7), charter(200, 7));
        let to = |published: Policy| {
            wider(&published, &before, &more, Some(200 * DOLLAR), 0, 0).map(|wider| {
                let dollars = |micro| micro / DOLLAR;
                (
                    dollars(wider.spend_per_transaction),
                    dollars(wider.spend_per_session),
                    dollars(wider.spend_per_day),
                )
            })
        };

        assert_eq!(to(policy(50, 350, 50)), Some((200, 1_400, 200)));
        // Less at once was its owner's will; what is wide enough stays.
        assert_eq!(to(policy(20, 350, 50)), Some((20, 1_400, 200)));
        assert_eq!(to(policy(200, 1_400, 200)), None);
    }

    #[test]
    fn whoever_asks_for_less_widens_nothing() {
        let before = charter(50, 7);
        for less in [charter(40, 7), charter(50, 5)] {
            let cap = Some(less.spend_cap);
            assert_eq!(wider(&policy(50, 350, 50), &before, &less, cap, 350 * DOLLAR, DAY), None);
        }
    }

    #[test]
    fn a_key_that_may_spend_less_than_its_day_has_used_up_what_its_policy_lets_it() {
        let law = charter(50, 7);
        let told = |session, day| {
            let spent = Spent { session: session * DOLLAR, day: day * DOLLAR };
            used_up(&policy(50, 350, 50), &law, spent).is_some()
        };

        assert!(!told(300, 0) && !told(349, 49));
        assert!(told(350, 50) && told(301, 0));
    }
}
