//! What bundles do to a charter, and that none of them gives anything.

use alloy_primitives::{Address, B256};
use golem_delegation::{
    bundles::{Bundle, BundleError, Enforcers, Law, Spend},
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, Cadence, Class, Classes, GolemCharter,
        Holdings, ListedTarget, ListedToken, Listing, MortalityTimeWindow, Redeemer,
        ReplicantBudget, Role,
    },
};
use proptest::prelude::*;
use std::num::NonZeroU32;

pub(crate) const USDC: Address = Address::repeat_byte(1);
pub(crate) const WETH: Address = Address::repeat_byte(2);
pub(crate) const ROUTER: Address = Address::repeat_byte(3);
const KEY: Address = Address::repeat_byte(4);
pub(crate) const AT: Enforcers = Enforcers {
    golem_charter: Address::repeat_byte(0xc1),
    holdings: Address::repeat_byte(0xc2),
    cadence: Address::repeat_byte(0xc3),
    replicant_budget: Address::repeat_byte(0xc4),
    redeemer: Address::repeat_byte(0xc5),
    allowed_targets: Address::repeat_byte(0xc6),
    allowed_methods: Address::repeat_byte(0xc7),
    allowed_calldata: Address::repeat_byte(0xc8),
};

pub(crate) fn whole() -> GolemCharter {
    let token = |token, role| ListedToken {
        token,
        role: Some(role),
        feed: Address::repeat_byte(9),
        token_decimals: 6,
        feed_decimals: 8,
        max_age: 3_600,
    };
    GolemCharter {
        golem_id: B256::repeat_byte(7),
        owner: Address::repeat_byte(5),
        epoch: 3,
        generation: 0,
        registry: Address::repeat_byte(6),
        account: Address::repeat_byte(8),
        beneficiary: Address::repeat_byte(5),
        agent_key: KEY,
        replicants: true,
        classes: Classes::ALL,
        window: MortalityTimeWindow::new(1_000, 10_000).unwrap(),
        spend_cap: 1_000_000_000,
        bucket_minutes: 60,
        slippage_bps: 100,
        vault: Address::ZERO,
        nav_bps: 0,
        nav_cap: 500_000_000,
        staleness: 3_600,
        gas_ceiling: 1,
        gas_daily_cap: 1,
        settlement_asset: USDC,
        max_royalty_bps: None,
        mood: None,
        listing: Listing {
            tokens: vec![token(USDC, Role::Token), token(WETH, Role::Weth)],
            targets: vec![ListedTarget { target: ROUTER, role: Role::SwapRouter02 }],
            ..Listing::default()
        },
    }
}

fn law(bundles: &[Bundle]) -> Law {
    Law::new(whole()).under(bundles).unwrap()
}

/// Terms of the one caveat at `enforcer`, if there is one.
fn terms(law: &Law, enforcer: Address) -> Option<Vec<u8>> {
    let caveats = law.caveats(&AT).unwrap();
    let mut found = caveats.iter().filter(|caveat| caveat.enforcer == enforcer);
    let terms = found.next().map(|caveat| caveat.terms.to_vec());
    assert!(found.next().is_none(), "twice");
    terms
}

#[test]
fn without_a_bundle_a_law_is_its_charter() {
    let law = law(&[]);

    assert_eq!(law.charter(), whole());
    assert_eq!(law.caveats(&AT).unwrap().len(), 1);
    assert_eq!(GolemCharter::decode(&terms(&law, AT.golem_charter).unwrap()), Ok(whole()));
}

#[test]
fn what_is_allowed_adds_up_and_what_is_forbidden_wins() {
    let classes = |bundles: &[Bundle]| law(bundles).charter().classes;
    let close = classes(&[Bundle::CloseOnly]);

    assert!(close.contains(Class::RemoveLiquidity) && !close.contains(Class::Withdraw));
    let both = classes(&[Bundle::CloseOnly, Bundle::NoNewPositions, Bundle::WithdrawAllowed]);
    assert_eq!(both, close.and(Classes::of(&[Class::Withdraw])));
    assert_eq!(
        classes(&[Bundle::FullTrading, Bundle::NoNewPositions]),
        classes(&[Bundle::NoNewPositions, Bundle::FullTrading])
    );
    assert!(!classes(&[Bundle::NoNewPositions, Bundle::FullTrading]).contains(Class::Swap));
    assert_eq!(classes(&[Bundle::ReadOnly]), Classes::of(&[]));
    assert_eq!(
        classes(&[Bundle::ReadOnly, Bundle::NoTransfers, Bundle::OraclePublishOnly]),
        Classes::of(&[Class::Publish])
    );
    let kept = classes(&[Bundle::NoTransfers]);
    assert!(kept.contains(Class::Swap), "who forbids leaves the rest");
    assert!(!kept.contains(Class::Transfer) && !kept.contains(Class::GasTopUp));
    assert!(classes(&[Bundle::SettlementOnly]).contains(Class::Swap));
    assert!(!classes(&[Bundle::SettlementOnly]).contains(Class::Deposit));
}

#[test]
fn a_charter_that_gives_less_stays_that_way() {
    let mut less = whole();
    less.classes = Classes::of(&[Class::Swap]);
    less.replicants = false;
    let law = Law::new(less).under(&[Bundle::FullTrading, Bundle::ReplicantSpawning]).unwrap();

    assert_eq!(law.charter().classes, Classes::of(&[Class::Swap]));
    assert!(!law.charter().replicants);
}

#[test]
fn sums_are_bounded_by_the_window_they_are_named_for() {
    let day = law(&[Bundle::MaxSpend(Spend::Day(5))]).charter();
    assert_eq!((day.spend_cap, day.bucket_minutes), (5, 120));
    let week = law(&[Bundle::MaxSpend(Spend::Week(100)), Bundle::MaxSpend(Spend::Week(200))]);
    assert_eq!((week.charter().spend_cap, week.charter().bucket_minutes), (100, 840));
    let both = [Bundle::MaxSpend(Spend::Week(100)), Bundle::MaxSpend(Spend::Day(50))];
    assert_eq!(Law::new(whole()).under(&both), Err(BundleError::TwoPeriods));
    let more = law(&[Bundle::MaxSpend(Spend::Day(u64::MAX))]).charter();
    assert_eq!(more.spend_cap, whole().spend_cap);

    let total = law(&[Bundle::MaxSpend(Spend::Total(7)), Bundle::MaxSpend(Spend::Total(9))]);
    let rule = ReplicantBudget::decode(&terms(&total, AT.replicant_budget).unwrap()).unwrap();
    assert_eq!((rule.budget, rule.not_after), (7, 10_000));
    assert_eq!((rule.replicant_id, rule.listing), (whole().golem_id, whole().listing));
    let child = total.of_child(B256::repeat_byte(1));
    let rule = ReplicantBudget::decode(&terms(&child, AT.replicant_budget).unwrap()).unwrap();
    assert_eq!(rule.replicant_id, B256::repeat_byte(1));
}

#[test]
fn lifespans_and_windows_only_get_shorter() {
    let window = |bundles: &[Bundle]| law(bundles).charter().window;
    let until = |start, end| MortalityTimeWindow::new(start, end).unwrap();

    assert_eq!(window(&[Bundle::MaxLifespan(60)]), until(1_000, 1_060));
    assert_eq!(window(&[Bundle::MaxLifespan(u64::MAX)]), until(1_000, 10_000));
    assert_eq!(window(&[Bundle::TimeWindow(until(0, 2_000))]), until(1_000, 2_000));
    assert_eq!(window(&[Bundle::TimeWindow(until(2_000, u64::MAX))]), until(2_000, 10_000));
    // A life begins with the grant's first second, in whatever order it is said.
    for order in [[0, 1], [1, 0]] {
        let bundles = [Bundle::MaxLifespan(60), Bundle::TimeWindow(until(2_000, u64::MAX))];
        let named: Vec<_> = order.iter().map(|index| bundles[*index].clone()).collect();
        assert_eq!(window(&named), until(2_000, 2_060));
    }
    let apart = Law::new(whole()).under(&[Bundle::TimeWindow(until(1, 999))]);
    assert_eq!(apart, Err(BundleError::NoTime));
}

#[test]
fn one_pair_is_pinned_in_the_calldata_of_one_router() {
    let pair = Bundle::OnlySwap { sells: USDC, buys: WETH };
    let pinned = law(&[pair.clone(), pair.clone()]);

    let targets = AllowedTargets::decode(&terms(&pinned, AT.allowed_targets).unwrap()).unwrap();
    assert_eq!(targets.0, [ROUTER]);
    let calldata = AllowedCalldata::decode(&terms(&pinned, AT.allowed_calldata).unwrap()).unwrap();
    assert_eq!(calldata.value.len(), 64);
    assert_eq!(calldata.value[12..32], USDC.0);
    assert_eq!(calldata.value[44..], WETH.0);
    let back = Bundle::OnlySwap { sells: WETH, buys: USDC };
    assert_eq!(Law::new(whole()).under(&[pair.clone(), back]), Err(BundleError::TwoSwaps));
    let mut nowhere = whole();
    nowhere.listing.targets.clear();
    let nowhere = Law::new(nowhere).under(&[pair]).unwrap();
    assert_eq!(nowhere.caveats(&AT), Err(BundleError::NoRouter));
}

#[test]
fn what_the_charter_cannot_say_stands_beside_it() {
    let week = NonZeroU32::new(604_800).unwrap();
    let day = NonZeroU32::new(86_400).unwrap();
    let law = law(&[
        Bundle::MaxPosition { thriving: 3_000, stable: 1_000 },
        Bundle::max_position(2_000),
        Bundle::MaxDrawdown(1_500),
        Bundle::CronOnly(day),
        Bundle::CronOnly(week),
        Bundle::NoSubDelegation,
        Bundle::ApprovedAssets(vec![USDC]),
        Bundle::MaxValue(1),
    ]);

    let held = Holdings::decode(&terms(&law, AT.holdings).unwrap()).unwrap();
    assert_eq!((held.thriving_bps, held.stable_bps, held.drawdown_bps), (2_000, 1_000, 1_500));
    assert_eq!((held.account, held.cash, held.series), (whole().account, USDC, 1));
    let cadence = Cadence::decode(&terms(&law, AT.cadence).unwrap()).unwrap();
    assert_eq!((cadence.period, cadence.count.get()), (week, 1));
    let redeemer = Redeemer::decode(&terms(&law, AT.redeemer).unwrap()).unwrap();
    assert_eq!(redeemer.0, [KEY]);
    let charter = law.charter();
    assert!(!charter.replicants);
    assert_eq!(charter.nav_cap, 1);
    assert_eq!(charter.listing.tokens.len(), 1);
    // One of the two alone bounds the other by nothing.
    let alone = Holdings::decode(
        &terms(&Law::new(whole()).under(&[Bundle::MaxDrawdown(1)]).unwrap(), AT.holdings).unwrap(),
    );
    assert_eq!(alone.unwrap().thriving_bps, 10_000);
}

/// Wrapped ether that is unwrapped is still held, and liquidity, which has no price, is not added.
#[test]
fn a_share_counts_plain_coins_and_keeps_from_pools() {
    let law = law(&[Bundle::FullTrading, Bundle::max_position(3_000)]);

    let held = Holdings::decode(&terms(&law, AT.holdings).unwrap()).unwrap();
    let [_, wrapped, plain] = held.listing.tokens[..] else { panic!("three tokens") };
    assert_eq!((wrapped.token, plain.token, plain.role), (WETH, Address::ZERO, None));
    assert_eq!((plain.feed, plain.token_decimals), (wrapped.feed, wrapped.token_decimals));
    assert!(!law.charter().classes.contains(Class::AddLiquidity));
    assert_eq!(law.charter().listing, whole().listing, "the charter's own is as it was");
}

/// SPEC D18, and nothing wider: what settles buys the settlement asset alone, in every phase.
#[test]
fn who_settles_buys_nothing_else() {
    let law = law(&[Bundle::SettlementOnly]);

    let held = Holdings::decode(&terms(&law, AT.holdings).unwrap()).unwrap();
    assert_eq!((held.thriving_bps, held.stable_bps, held.cash), (0, 0, USDC));
    let classes = law.charter().classes;
    assert!(classes.contains(Class::Settle) && classes.contains(Class::Swap));
    assert!(!classes.contains(Class::AddLiquidity) && !classes.contains(Class::Approve));
}

#[test]
fn an_observer_says_nothing_that_ends_a_life() {
    let observer = law(&[Bundle::ReadOnly, Bundle::NoTransfers, Bundle::OraclePublishOnly]);
    let says = AllowedMethods::decode(&terms(&observer, AT.allowed_methods).unwrap()).unwrap();
    assert_eq!(says.0.len(), 2);
    // Who settles as well has to close.
    let dying = law(&[Bundle::OraclePublishOnly, Bundle::DeathProtocol]);
    assert_eq!(terms(&dying, AT.allowed_methods), None);
}

#[test]
fn what_contradicts_itself_is_refused() {
    let under = |bundles: &[Bundle]| Law::new(whole()).under(bundles).map(drop);
    let swap = Bundle::OnlySwap { sells: USDC, buys: WETH };

    assert_eq!(under(&[Bundle::FullTrading, Bundle::ReadOnly]), Err(BundleError::ReadOnlyAndMore));
    assert_eq!(under(&[swap.clone(), Bundle::WithdrawAllowed]), Err(BundleError::OnlySwapAndMore));
    assert_eq!(under(&[Bundle::ReadOnly, Bundle::OraclePublishOnly]), Ok(()));
    assert_eq!(under(&[swap, Bundle::NoTransfers]), Ok(()));
}

fn any_bundle() -> impl Strategy<Value = Bundle> {
    prop_oneof![
        prop::sample::select(vec![
            Bundle::FullTrading,
            Bundle::ReadOnly,
            Bundle::NoTransfers,
            Bundle::OraclePublishOnly,
            Bundle::CloseOnly,
            Bundle::NoNewPositions,
            Bundle::WithdrawAllowed,
            Bundle::UnwindOnly,
            Bundle::SweepToOwner,
            Bundle::SettlementOnly,
            Bundle::DeathProtocol,
            Bundle::ReplicantSpawning,
            Bundle::NoReplicantSpawning,
            Bundle::NoSubDelegation,
            Bundle::OnlySwap { sells: USDC, buys: WETH },
            Bundle::ApprovedAssets(vec![WETH]),
        ]),
        any::<u64>().prop_map(|most| Bundle::MaxSpend(Spend::Total(most))),
        any::<u64>().prop_map(|most| Bundle::MaxSpend(Spend::Day(most))),
        any::<u64>().prop_map(|most| Bundle::MaxSpend(Spend::Week(most))),
        any::<u64>().prop_map(Bundle::MaxLifespan),
        any::<u64>().prop_map(Bundle::MaxValue),
        (0..=10_000_u16, 0..=10_000_u16)
            .prop_map(|(thriving, stable)| Bundle::MaxPosition { thriving, stable }),
        (0..=20_000_u64, 0..=20_000_u64).prop_filter_map("ordered", |(start, end)| {
            MortalityTimeWindow::new(start, end).ok().map(Bundle::TimeWindow)
        }),
        (0..=10_000_u16).prop_map(Bundle::MaxDrawdown),
        any::<NonZeroU32>().prop_map(Bundle::CronOnly),
    ]
}

proptest! {
    /// Whatever is named, in whatever order, a law never says more than its charter did.
    #[test]
    fn no_bundle_gives_anything(bundles in prop::collection::vec(any_bundle(), 0..6)) {
        let mut back = bundles.clone();
        back.reverse();
        let reversed = Law::new(whole()).under(&back).map(|law| law.charter());
        let Ok(made) = Law::new(whole()).under(&bundles) else {
            prop_assert!(reversed.is_err(), "refused in one order alone");
            return Ok(());
        };
        let charter = made.charter();
        let most = whole();

        prop_assert_eq!(charter.classes.without(most.classes), Classes::of(&[]));
        prop_assert!(charter.spend_cap <= most.spend_cap && charter.nav_cap <= most.nav_cap);
        prop_assert!(charter.bucket_minutes >= most.bucket_minutes);
        prop_assert!(charter.window.start() >= most.window.start());
        prop_assert!(charter.window.end() <= most.window.end());
        prop_assert!(charter.listing.tokens.iter().all(|token| most.listing.tokens.contains(token)));
        let dropped = bundles.contains(&Bundle::ApprovedAssets(vec![WETH]));
        let weighs = |bundle: &Bundle| {
            // A dying Golem buys cash alone, and so it has to be listed too.
            matches!(
                bundle,
                Bundle::MaxPosition { .. } | Bundle::MaxDrawdown(_) | Bundle::SettlementOnly
            )
        };
        let no_cash = dropped && bundles.iter().any(weighs);
        prop_assert_eq!(made.caveats(&AT).err(), no_cash.then_some(BundleError::NoCash));
        prop_assert_eq!(reversed, Ok(charter));
    }
}

/// Cash may be any part of the whole, so it has to be said which token that is.
#[test]
fn a_share_or_a_drawdown_needs_cash() {
    let unlisted = Address::repeat_byte(0x77);
    for bundle in [Bundle::max_position(3_000), Bundle::MaxDrawdown(1_500)] {
        for settlement_asset in [Address::ZERO, unlisted] {
            let charter = GolemCharter { settlement_asset, ..whole() };
            let law = Law::new(charter).under(std::slice::from_ref(&bundle)).unwrap();
            assert_eq!(law.caveats(&AT), Err(BundleError::NoCash));
        }
        let listed = Law::new(whole()).under(&[bundle]).unwrap();
        assert!(listed.caveats(&AT).is_ok());
    }
    // Without either nobody asks for cash.
    let charter = GolemCharter { settlement_asset: Address::ZERO, ..whole() };
    assert!(Law::new(charter).caveats(&AT).is_ok());
}

/// A position of wrapped coins is one with plain ones, wherever the listing says what they are.
#[test]
fn coins_are_held_too_wherever_wrapped_ones_are_named() {
    let mut among_targets = whole();
    among_targets.listing.tokens[1].role = None;
    among_targets.listing.targets.push(ListedTarget { target: WETH, role: Role::Weth });
    let mut none = whole();
    none.listing.tokens.truncate(1);

    for (charter, tokens) in [(whole(), 3), (among_targets, 3), (none, 1)] {
        let law = Law::new(charter).under(&[Bundle::max_position(3_000)]).unwrap();
        let held = Holdings::decode(&terms(&law, AT.holdings).unwrap()).unwrap();

        let coins = held.listing.tokens.iter().find(|listed| listed.token.is_zero());
        assert_eq!(held.listing.tokens.len(), tokens);
        assert_eq!(coins.map(|coins| coins.feed), (tokens == 3).then_some(Address::repeat_byte(9)));
    }
}
