//! What must hold of every verdict.

use crate::fixtures::{
    COIN, HOME, KEY, MEME, ROUTER, STRANGER, USDC, VAULT, WETH, approve, buy, cage, call, deposit,
    ether, example, facts, intent, mint, pay, policy, sell, swap, transfer, usdc,
};
use golem_delegation::terms::Class;
use golem_safety::{Call, Facts, MicroDollars, Policy, Verdict};
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, RngSeed},
};

/// The same cases in every run, and no files left behind.
fn config() -> Config {
    Config {
        cases: 1_024,
        rng_seed: RngSeed::Fixed(0x5afe),
        failure_persistence: None,
        ..Config::default()
    }
}

/// A call, and what it costs in dollars by arithmetic that is not the cage's: prices are $1 and $2500.
fn a_call() -> impl Strategy<Value = (Call, u64)> {
    let sized = (0u64..130, 1u64..130);
    prop_oneof![
        4 => (1u64..130).prop_map(|dollars| (buy(dollars), dollars)),
        3 => (1u64..130).prop_map(|dollars| (sell(dollars), dollars)),
        3 => (0u64..130).prop_map(|dollars| (deposit(dollars), dollars)),
        2 => sized.prop_map(|(first, second)| (mint(first, second), first + second)),
        2 => (0u64..130).prop_map(|dollars| (pay(KEY, ether(dollars)), dollars)),
        1 => (1u64..130).prop_map(|dollars| (swap(USDC, usdc(dollars), MEME), dollars)),
        2 => (0u64..500).prop_map(|dollars| (transfer(HOME, usdc(dollars)), 0)),
        1 => select(vec![ROUTER, VAULT, STRANGER]).prop_map(|spender| (approve(spender, usdc(9)), 0)),
        2 => select(Class::ALL.to_vec())
            .prop_filter("is free", |class| !matches!(class, Class::Swap | Class::AddLiquidity | Class::Deposit | Class::GasTopUp))
            .prop_map(|class| (example(class), 0)),
        1 => vec(any::<u8>(), 0..40).prop_map(|data| (call(USDC, data), 0)),
    ]
}

prop_compose! {
    fn some_facts()(
        session in 0u64..1_100, day in 0u64..600, high in 900u64..1_400, usd in 0u64..1_000, eth in 0u64..600, is_settling: bool,
    ) -> Facts {
        let dollars = |dollars: u64| MicroDollars::from(dollars * 1_000_000);
        Facts {
            holdings: [(USDC, dollars(usd)), (WETH, dollars(eth)), (COIN, dollars(eth / 8))].into(),
            high_water: dollars(high),
            spent_in_session: dollars(session),
            spent_in_day: dollars(day),
            is_settling,
            ..facts()
        }
    }
}

prop_compose! {
    fn some_policy()(
        once in 0u64..300, session in 300u64..1_200, day in 300u64..700, share in 0u16..=10_000, fall in 0u16..=10_000,
    ) -> Policy {
        Policy {
            concentration_bps: share,
            drawdown_bps: fall,
            spend_per_transaction: once * 1_000_000,
            spend_per_session: session * 1_000_000,
            spend_per_day: day * 1_000_000,
            ..policy()
        }
    }
}

fn is_permitted(policy: &Policy, calls: &[Call], facts: &Facts) -> Option<MicroDollars> {
    match cage(policy.clone()).judge(&intent(calls), facts) {
        Verdict::Permitted(permit) => Some(permit.most()),
        Verdict::Refused(_) => None,
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn nothing_is_permitted_beyond_any_remaining_limit(
        drawn in vec(a_call(), 1..5), policy in some_policy(), facts in some_facts(),
    ) {
        let facts = Facts { is_settling: false, ..facts };
        let (calls, costs): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
        if let Some(most) = is_permitted(&policy, &calls, &facts) {
            let cost = u128::from(costs.iter().sum::<u64>()) * 1_000_000;
            prop_assert_eq!(most.get(), cost);
            if cost > 0 {
                prop_assert!(cost <= u128::from(policy.spend_per_transaction));
                prop_assert!(cost + facts.spent_in_session.get() <= u128::from(policy.spend_per_session));
                prop_assert!(cost + facts.spent_in_day.get() <= u128::from(policy.spend_per_day));
            }
        }
    }

    #[test]
    fn an_order_of_calls_widens_nothing(
        drawn in vec(a_call(), 2..5), policy in some_policy(), facts in some_facts(), turn in 1usize..4,
    ) {
        let calls: Vec<_> = drawn.into_iter().map(|(call, _)| call).collect();
        let verdict = is_permitted(&policy, &calls, &facts);
        let mut turned = calls.clone();
        turned.rotate_left(turn % calls.len());
        prop_assert_eq!(is_permitted(&policy, &turned, &facts), verdict);
        turned.reverse();
        prop_assert_eq!(is_permitted(&policy, &turned, &facts), verdict);
    }

    /// But for an allowance beside the very sale that it is for (`judging`).
    #[test]
    fn one_call_more_makes_no_refusal_a_permit(
        drawn in vec(a_call(), 1..5), (more, _) in a_call(), at in 0usize..5, policy in some_policy(), facts in some_facts(),
    ) {
        let mut calls: Vec<_> = drawn.into_iter().map(|(call, _)| call).collect();
        let before = is_permitted(&policy, &calls, &facts);
        calls.insert(at.min(calls.len()), more);
        let after = is_permitted(&policy, &calls, &facts);
        prop_assert!(before.is_some() || after.is_none());
        prop_assert!(after.is_none_or(|after| before.is_some_and(|before| before <= after)));
    }

    /// Less room is never more leave.
    #[test]
    fn a_tighter_policy_permits_no_more(
        drawn in vec(a_call(), 1..4), policy in some_policy(), facts in some_facts(),
    ) {
        let calls: Vec<_> = drawn.into_iter().map(|(call, _)| call).collect();
        if is_permitted(&policy, &calls, &facts).is_none() {
            let tighter = [
                Policy { concentration_bps: policy.concentration_bps / 2, ..policy.clone() },
                Policy { drawdown_bps: policy.drawdown_bps / 2, ..policy.clone() },
                Policy { spend_per_transaction: policy.spend_per_transaction / 2, ..policy.clone() },
                Policy { assets: vec![USDC], ..policy.clone() },
            ];
            for tighter in tighter {
                prop_assert_eq!(is_permitted(&tighter, &calls, &facts), None);
            }
        }
    }
}

/// A property over refusals alone would show nothing.
#[test]
fn the_strategies_reach_both_verdicts() {
    use proptest::{strategy::ValueTree as _, test_runner::TestRunner};
    let mut runner = TestRunner::new(config());
    let strategy = (vec(a_call(), 1..3), some_policy(), some_facts());
    let (mut yes, mut no) = (0, 0);
    for _ in 0..1_000 {
        let (drawn, policy, facts) = strategy.new_tree(&mut runner).unwrap().current();
        let calls: Vec<_> = drawn.into_iter().map(|(call, _)| call).collect();
        match is_permitted(&policy, &calls, &facts) {
            Some(_) => yes += 1,
            None => no += 1,
        }
    }
    assert!(yes >= 100 && no >= 100, "{yes} permitted, {no} refused");
}
