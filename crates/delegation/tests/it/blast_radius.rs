//! G13: what a stolen key can cost. Numbers by hand, the window against every sequence there is, and what may
//! never raise or lower the answer.

use alloy_primitives::{Address, B256, Bytes, U256};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, Environment, Kind, MAX_CONTEXT_BYTES, PermissionContext,
    ROOT_AUTHORITY, Rule, SpendTerms, SpendWindow,
    blast_radius::{
        Assumption, BlastRadius, BlastRadiusError, CharterFacts, DAY, Ended, GolemFacts, Life,
        MAX_ASSETS, MAX_CAVEATS, MAX_DAYS, Missing, Observed, Price, SpendSchedule, TokenFacts,
    },
    terms::{
        Cadence, CharterMood, Class, Classes, DreamMode, Erc20PeriodTransfer, Erc20Streaming,
        Erc20TransferAmount, ExactCalldata, GolemCharter, GolemPhase, Id, LimitedCalls,
        ListedTarget, ListedToken, Listing, MoodBounds, MortalityTimeWindow, MultiTokenPeriod,
        NativeTokenPeriodTransfer, NativeTokenStreaming, NativeTokenTransferAmount, Nonce,
        Redeemer, ReplicantBudget, Role, Timestamp, TokenPeriod, ValueLte,
    },
};
use proptest::prelude::*;
use std::{collections::HashMap, num::NonZeroU32};

/// 2026-11-15 00:00 UTC, which begins a bucket of two hours.
const NOW: u64 = 1_794_700_800;
const WEEK: u64 = 7 * DAY;
const ACCOUNT: Address = Address::repeat_byte(0xac);
const KEY: Address = Address::repeat_byte(0x5e);
const OWNER: Address = Address::repeat_byte(0x0e);
const USDC: Address = Address::repeat_byte(0x0c);
const WETH: Address = Address::repeat_byte(0x3e);
const VAULT: Address = Address::repeat_byte(0x7a);
const LAIR: Address = Address::repeat_byte(0x7b);
const COIN: Address = Address::ZERO;
const GOLEM: B256 = B256::repeat_byte(0x60);
const OTHER_GOLEM: B256 = B256::repeat_byte(0x61);
const DOLLAR: u64 = 1_000_000;
const ETHER: u64 = 1_000_000_000_000_000_000;

fn environment() -> Environment {
    let at = |kind: &Kind| Address::left_padding_from(&[0xee, *kind as u8]);
    Kind::ALL.iter().fold(Environment::default(), |all, kind| all.with(*kind, at(kind)))
}

const fn token(token: Address, role: Role, token_decimals: u8) -> ListedToken {
    let feed = Address::repeat_byte(0xfe);
    ListedToken { token, role: Some(role), feed, token_decimals, feed_decimals: 8, max_age: 3_600 }
}

/// A thousand dollars a day, one per cent, 0.02 ether of gas money a day, for a week; no vault.
fn charter() -> GolemCharter {
    let target = |target, role| ListedTarget { target, role };
    GolemCharter {
        golem_id: GOLEM,
        owner: OWNER,
        epoch: 1,
        generation: 0,
        registry: Address::repeat_byte(0x4e),
        account: ACCOUNT,
        beneficiary: OWNER,
        agent_key: KEY,
        replicants: true,
        classes: Classes::ALL,
        window: MortalityTimeWindow::new(NOW, NOW + WEEK - 1).unwrap(),
        spend_cap: 1_000 * DOLLAR,
        bucket_minutes: SpendTerms::DAY,
        slippage_bps: 100,
        vault: Address::ZERO,
        nav_bps: 0,
        nav_cap: 1_000 * DOLLAR,
        staleness: 86_400,
        gas_ceiling: 20_000_000,
        gas_daily_cap: 20_000_000,
        settlement_asset: USDC,
        max_royalty_bps: None,
        mood: None,
        listing: Listing {
            sequencer_feed: Address::ZERO,
            sequencer_grace: 0,
            tokens: vec![token(USDC, Role::Token, 6), token(WETH, Role::Weth, 18)],
            targets: vec![
                target(Address::repeat_byte(0x10), Role::SwapRouter02),
                target(KEY, Role::AgentKey),
            ],
        },
    }
}

fn price(dollars: u64) -> Option<Price> {
    Some(Price { answer: U256::from(dollars * 100_000_000), decimals: 8 })
}

fn held(dollars: u64, balance: u64, key_balance: u64) -> TokenFacts {
    let nothing = Some(U256::ZERO);
    TokenFacts {
        price: price(dollars),
        balance: Some(U256::from(balance)),
        key_balance: Some(U256::from(key_balance)),
        in_vaults: nothing,
        in_positions: nothing,
        decimals: Some(if dollars == 1 { 6 } else { 18 }),
        ..TokenFacts::default()
    }
}

/// 10,000 dollars, 10 ether and one wrapped, at 2,500 each; the key has 0.01. Nothing is spent.
fn facts() -> Observed {
    let unused = CharterFacts {
        spend_window: Some(U256::ZERO),
        gas_window: Some(U256::ZERO),
        settlement: Some(U256::ZERO),
        min_epoch: Some(1),
        generation: Some(0),
    };
    Observed {
        charters: [((ACCOUNT, GOLEM), unused)].into(),
        tokens: [
            (COIN, held(2_500, 10 * ETHER, ETHER / 100)),
            (USDC, held(1, 10_000 * DOLLAR, 0)),
            (WETH, held(2_500, ETHER, 0)),
        ]
        .into(),
        vaults: [(VAULT, USDC), (LAIR, USDC)].into(),
        ..Observed::default()
    }
}

fn caveat(rule: &Rule) -> Caveat {
    environment().caveat(rule).unwrap().unwrap()
}

fn root(rules: &[Rule]) -> Delegation {
    Delegation {
        delegate: KEY,
        delegator: ACCOUNT,
        authority: ROOT_AUTHORITY,
        caveats: rules.iter().map(caveat).collect(),
        salt: U256::ZERO,
        signature: Bytes::new(),
    }
}

fn child(parent: &Delegation, rules: &[Rule]) -> Delegation {
    Delegation {
        delegate: Address::repeat_byte(0xcc),
        delegator: parent.delegate,
        authority: parent.hash().0,
        ..root(rules)
    }
}

fn of(links: Vec<Delegation>, now: u64, facts: &Observed) -> BlastRadius {
    BlastRadius::of(&PermissionContext::new(links).unwrap(), &environment(), now, facts).unwrap()
}

fn radius(charter: GolemCharter, facts: &Observed) -> BlastRadius {
    of(vec![root(&[Rule::GolemCharter(Box::new(charter))])], NOW, facts)
}

fn micro(value: u64) -> Option<U256> {
    Some(U256::from(value))
}

/// What cannot be told is more than anything.
fn no_more(lesser: Option<U256>, greater: Option<U256>) -> bool {
    match (lesser, greater) {
        (_, None) => true,
        (Some(lesser), Some(greater)) => lesser <= greater,
        (None, Some(_)) => false,
    }
}

#[test]
fn a_week_of_a_thousand_dollars_a_day_by_hand() {
    let radius = radius(charter(), &facts());

    // $1,000 is 30,517 units of 2^15 micro-dollars: $999.981056 in any 13 buckets, which are 26 hours.
    // 168 hours begin seven of those.
    let volume = 7u64 * 999_981_056;
    assert_eq!(volume, 6_999_867_392);
    // One per cent of it, rounded up.
    assert_eq!(radius.causes.slippage, micro(69_998_674));
    // Settlement: 11 ether are $27,500, and as much USDC as was turned into ether before, within the cap.
    // One per cent of 27,500,000,000 + 6,999,867,392.
    assert_eq!(radius.causes.settlement, micro(344_998_674));
    // 0.02 ether are 19,531 units of 2^10 gwei: 19,999,744 gwei, seven times, at $2,500.
    assert_eq!(7 * 19_999_744u64 * 2_500 / 1_000, 349_995_520);
    assert_eq!(radius.causes.gas, micro(349_995_520));
    assert_eq!(radius.causes.in_hand, micro(25 * DOLLAR));
    assert_eq!(radius.causes.vaults, micro(0));
    assert_eq!(radius.causes.outflow, micro(0));
    assert_eq!(radius.total(), micro(69_998_674 + 344_998_674 + 349_995_520 + 25_000_000));
    assert_eq!(
        radius.to_string(),
        "Whoever steals this key today can cost you at most $790.00 of what is there until 2026-11-21: \
         $70.00 by trading badly within the cap, $345.00 by settling everything at once, \
         $350.00 as gas money, $25.00 that the key already holds."
    );
    // The first day: all of the window and of the gas money once, and all that can be settled by then.
    let first = 9_999_811 + (275_000_000 + 9_999_811) + 49_999_360 + 25_000_000;
    assert_eq!(radius.days[0].cumulative, micro(first));
    assert_eq!(radius.days.len(), 7);
    assert_eq!(radius.days[6].cumulative, radius.total());
}

#[test]
fn a_window_half_spent_and_a_purse_that_is_small_by_hand() {
    // $600 at noon the day before yesterday's midnight: spent twelve hours ago.
    let terms = SpendTerms::new(1_000 * DOLLAR, SpendTerms::DAY, 1).unwrap();
    let spent =
        SpendWindow::default().spend(U256::from(600 * DOLLAR), &terms, NOW - 12 * 3_600).unwrap();
    let mut facts = facts();
    facts.charters.get_mut(&(ACCOUNT, GOLEM)).unwrap().spend_window = Some(spent.to_word());
    // Dollars alone, and no gas.
    facts.tokens =
        [(COIN, held(2_500, 0, 0)), (USDC, held(1, 50 * DOLLAR, 0)), (WETH, held(2_500, 0, 0))]
            .into();
    let mut charter = charter();
    charter.window = MortalityTimeWindow::new(NOW, NOW + DAY - 1).unwrap();
    charter.gas_ceiling = 0;
    charter.slippage_bps = 300;

    let radius = radius(charter, &facts);

    // $600 are 18,311 units (rounded up); 12,206 of 30,517 are left: $399.966208. The rest frees 13 buckets after
    // its own, which is in 14 hours: $600.014848. Together 999,981,056.
    let window = SpendSchedule::new(&spent, &terms, NOW).unwrap();
    assert_eq!(window.most_by(NOW + 14 * 3_600 - 1), 399_966_208);
    assert_eq!(window.most_by(NOW + 14 * 3_600), 399_966_208 + 600_014_848);
    // Three per cent of $999.981056 to and fro are $29.999431..., three per cent of $50 turned around are $1.50.
    assert_eq!(radius.causes.slippage, micro(29_999_432));
    assert_eq!(radius.causes.settlement, micro(1_500_000));
    assert_eq!(radius.total(), micro(31_499_432));
}

#[test]
fn a_vault_loses_twice_by_hand() {
    let mut charter = charter();
    charter.listing.targets.push(ListedTarget { target: VAULT, role: Role::Vault });
    charter.classes = Classes::of(&[Class::Deposit, Class::Withdraw, Class::Approve]);
    charter.window = MortalityTimeWindow::new(NOW, NOW + DAY - 1).unwrap();
    charter.slippage_bps = 200;
    let mut facts = facts();
    facts.tokens.get_mut(&USDC).unwrap().in_vaults = Some(U256::from(3_000 * DOLLAR));

    let radius = radius(charter, &facts);

    // Two per cent of $999.981056 when shares are bought: $19.99962112; two of what is left when they are sold:
    // of 979,981,434 19,599,628.68; and two of the $3,000 that lie there: $60.
    assert_eq!(radius.causes.slippage, micro(19_999_622));
    assert_eq!(radius.causes.vaults, micro(19_599_629 + 60_000_000));
    // Nothing swaps and no gas is fetched: nothing settles.
    assert_eq!(radius.causes.settlement, micro(0));
    assert_eq!(radius.causes.gas, micro(0));
}

// The window

/// The most that any sequence of spends reaches: each minute, every amount that fits.
fn brute_force(
    window: SpendWindow,
    terms: &SpendTerms,
    (at, last, step): (u64, u64, u64),
    known: &mut HashMap<(u64, U256), u64>,
) -> u64 {
    if at > last {
        return 0;
    }
    if let Some(best) = known.get(&(at, window.to_word())) {
        return *best;
    }
    // To leave the window alone is a choice of its own: a spend of nothing moves its grid.
    let mut best = brute_force(window, terms, (at + step, last, step), known);
    for amount in 0..=window.remaining(terms, at).unwrap() {
        let next = window.spend(U256::from(amount), terms, at).unwrap();
        best = best.max(amount + brute_force(next, terms, (at + step, last, step), known));
    }
    known.insert((at, window.to_word()), best);
    best
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Exactly what the best of all sequences reaches, with any past, grid and epoch.
    #[test]
    fn no_sequence_of_spends_exceeds_the_schedule_and_the_best_one_reaches_it(
        past in prop::collection::vec((0u64..12, 1u64..4), 0..4),
        (old_minutes, old_epoch, old_cap) in (1u16..4, 1u16..3, 1u64..6),
        (minutes, epochs_later, cap) in (1u16..4, 0u16..2, 1u64..4),
        length in 1u64..24,
    ) {
        let start = 6_000_000u64;
        let mut window = SpendWindow::default();
        let old = SpendTerms::new(old_cap, old_minutes, old_epoch).unwrap();
        let mut at = start;
        for (minutes, amount) in past {
            at += minutes * 60;
            let fits = window.remaining(&old, at).unwrap().min(amount);
            window = window.spend(U256::from(fits), &old, at).unwrap();
        }
        let terms = SpendTerms::new(cap, minutes, old_epoch + epochs_later).unwrap();

        let schedule = SpendSchedule::new(&window, &terms, at).unwrap();

        for length in [0, length / 2, length] {
            let last = at + length * 60;
            let best = brute_force(window, &terms, (at, last, 60), &mut HashMap::new());
            prop_assert_eq!(schedule.most_by(last), u128::from(best), "after {} minutes", length);
        }
    }

    /// Over long times and real sums: what is spent at random never exceeds it.
    #[test]
    fn spends_at_random_stay_below_the_schedule(
        cap in 1u64..1_000_000_000_000,
        (first_minutes, minutes) in (1u16..300, 1u16..300),
        spends in prop::collection::vec((0u64..40_000, 0u64..=100), 1..60),
    ) {
        let old = SpendTerms::new(cap / 2 + 1, first_minutes, 1).unwrap();
        let window = SpendWindow::default().spend(U256::from(cap / 3), &old, NOW - 3_000).unwrap();
        let terms = SpendTerms::new(cap, minutes, 2).unwrap();
        let schedule = SpendSchedule::new(&window, &terms, NOW).unwrap();

        let (mut state, mut at, mut total) = (window, NOW, 0u128);
        for (wait, part) in spends {
            at += wait;
            let amount = state.remaining(&terms, at).unwrap() / 100 * part;
            state = state.spend(U256::from(amount), &terms, at).unwrap();
            total += u128::from(amount);
            prop_assert!(total <= schedule.most_by(at), "{} at {}", total, at - NOW);
        }
    }
}

#[test]
fn an_end_centuries_away_costs_no_loop_and_the_total_is_still_exact() {
    let mut charter = charter();
    let end = NOW + 26 * 3_600 * 1_000_000 - 1;
    charter.window = MortalityTimeWindow::new(NOW, end).unwrap();
    charter.classes = Classes::of(&[Class::Swap, Class::Approve]);
    let mut facts = facts();
    // Rich enough for all of it.
    facts.tokens.get_mut(&USDC).unwrap().balance = Some(U256::from(u128::MAX));

    let radius = radius(charter, &facts);

    assert_eq!(radius.days.len(), MAX_DAYS);
    assert_eq!(radius.causes.slippage, micro(1_000_000 * 999_981_056 / 100));
    assert!(no_more(radius.days[MAX_DAYS - 1].cumulative, radius.total()));
    assert!(radius.assumptions.iter().any(|said| said.to_string().contains("366 days")));
}

// What ends it

#[test]
fn nothing_is_left_to_take_once_the_grant_is_over() {
    let mut poor = facts();
    poor.tokens.get_mut(&COIN).unwrap().key_balance = Some(U256::ZERO);
    let charter = || Rule::GolemCharter(Box::new(charter()));
    let link = root(&[charter()]);
    let change = |change: &dyn Fn(&mut CharterFacts)| {
        let mut facts = poor.clone();
        change(facts.charters.get_mut(&(ACCOUNT, GOLEM)).unwrap());
        facts
    };
    let disabled = Observed { disabled: vec![link.hash().0], ..poor.clone() };
    let epoch = change(&|facts| facts.min_epoch = Some(2));
    let generation = change(&|facts| facts.generation = Some(1));
    let newer = SpendTerms::new(1, SpendTerms::DAY, 2).unwrap();
    let word = SpendWindow::default().spend(U256::ZERO, &newer, NOW).unwrap().to_word();
    let superseded = change(&|facts| facts.spend_window = Some(word));
    let mut counted = poor.clone();
    let limited = root(&[charter(), Rule::LimitedCalls(LimitedCalls(U256::from(3)))]);
    let enforcer = environment().enforcer(Kind::LimitedCalls).unwrap();
    counted.counters.insert((limited.hash().0, enforcer), U256::from(3));
    let numbered = |nonce: u64| root(&[charter(), Rule::Nonce(Nonce(U256::from(nonce)))]);
    let enforcer = environment().enforcer(Kind::Nonce).unwrap();
    let mut raised = poor.clone();
    for nonce in [4, 5, 6] {
        raised.counters.insert((numbered(nonce).hash().0, enforcer), U256::from(5));
    }
    // The account's own, and one that has yet to come.
    assert!([5, 6].iter().all(|nonce| of(vec![numbered(*nonce)], NOW, &raised).ended.is_none()));

    let lives = |registered: bool, closed: bool| {
        let golems =
            [((Address::repeat_byte(0x4e), GOLEM), GolemFacts { registered, closed })].into();
        Observed { golems, ..poor.clone() }
    };
    // One that is not on the register yet may be put there.
    for alive in [lives(true, false), lives(false, false)] {
        assert_eq!(of(vec![link.clone()], NOW, &alive), of(vec![link.clone()], NOW, &poor));
    }
    let once = root(&[charter(), Rule::Id(Id(U256::from(8)))]);
    let enforcer = environment().enforcer(Kind::Id).unwrap();
    let mut ids = poor.clone();
    ids.counters.insert((once.hash().0, enforcer), U256::ZERO);
    assert!(of(vec![once.clone()], NOW, &ids).ended.is_none());
    ids.counters.insert((once.hash().0, enforcer), U256::from(1));

    let ends = [
        of(vec![link.clone()], NOW + WEEK, &poor),
        of(vec![link.clone()], NOW, &disabled),
        of(vec![link.clone()], NOW, &epoch),
        of(vec![link.clone()], NOW, &generation),
        of(vec![link.clone()], NOW, &superseded),
        of(vec![limited], NOW, &counted),
        of(vec![numbered(4)], NOW, &raised),
        of(vec![link.clone()], NOW, &lives(true, true)),
        of(vec![link.clone()], NOW, &lives(false, true)),
        of(vec![once], NOW, &ids),
    ];

    assert!(matches!(ends[0].ended, Some(Ended::Expired { .. })));
    assert!(matches!(ends[1].ended, Some(Ended::Disabled { .. })));
    assert!(matches!(ends[2].ended, Some(Ended::EpochRevoked { epoch: 1, lowest: 2 })));
    assert!(matches!(ends[3].ended, Some(Ended::GenerationRevoked { generation: 0, current: 1 })));
    assert!(matches!(ends[4].ended, Some(Ended::WindowRefuses { .. })));
    assert!(matches!(ends[5].ended, Some(Ended::NoCallsLeft { .. })));
    assert_eq!(
        ends[6].to_string().matches("nonce 4 is revoked: the account's is 5 now").count(),
        1
    );
    assert_eq!(ends[7].ended, Some(Ended::Closed { golem: GOLEM }));
    assert_eq!(ends[8].ended, Some(Ended::Deregistered { golem: GOLEM }));
    assert_eq!(ends[9].ended, Some(Ended::IdUsed { id: U256::from(8) }));
    for end in ends {
        assert_eq!(end.total(), micro(0), "{end}");
        assert!(end.assets.iter().all(|asset| asset.amount == micro(0)));
    }
    // One second earlier it is worth something.
    assert_ne!(of(vec![link], NOW + WEEK - 1, &poor).total(), micro(0));
}

#[test]
fn a_disabled_parent_ends_its_children() {
    let parent = root(&[Rule::GolemCharter(Box::new(charter()))]);
    let leaf = child(&parent, &[]);
    let facts = Observed { disabled: vec![parent.hash().0], ..facts() };

    let radius = of(vec![leaf, parent], NOW, &facts);

    assert!(radius.ended.is_some());
    // What the key holds is in the thief's hand all the same.
    assert_eq!(radius.total(), micro(25 * DOLLAR));
    assert!(radius.to_string().ends_with("the key itself holds $25.00."), "{radius}");
}

#[test]
fn a_grant_of_an_epoch_or_a_generation_to_come_is_not_taken_for_dead() {
    let mut facts = facts();
    let known = facts.charters.get_mut(&(ACCOUNT, GOLEM)).unwrap();
    (known.min_epoch, known.generation) = (Some(1), Some(0));
    let mut charter = charter();
    (charter.epoch, charter.generation) = (2_000, 7);

    assert!(radius(charter, &facts).ended.is_none());
}

// What is not known

#[test]
fn without_facts_the_terms_alone_speak_and_what_is_not_known_is_named() {
    let radius = radius(charter(), &Observed::default());

    assert_eq!(radius.total(), None);
    assert_eq!(radius.causes.slippage, micro(69_998_674));
    assert_eq!((radius.causes.settlement, radius.causes.in_hand), (None, None));
    let said = radius.to_string();
    assert!(said.contains("cost you $70.00 and what cannot be told until 2026-11-21"), "{said}");
    assert!(said.contains("Not known: balance of the chain's coin"), "{said}");
}

/// The name of a fact, and its removal.
type Drop<Facts> = (&'static str, fn(&mut Facts));

#[test]
fn every_fact_that_is_missing_leaves_the_total_open_or_as_high() {
    let all = radius(charter(), &facts());
    let mut taken: Vec<(&str, Observed)> = Vec::new();
    for holder in [COIN, USDC, WETH] {
        let drop: [Drop<TokenFacts>; 3] = [
            ("price", |facts| facts.price = None),
            ("balance", |facts| facts.balance = None),
            ("keyBalance", |facts| facts.key_balance = None),
        ];
        for (what, drop) in drop {
            let mut facts = facts();
            drop(facts.tokens.get_mut(&holder).unwrap());
            taken.push((what, facts));
        }
        let mut facts = facts();
        facts.tokens.remove(&holder);
        taken.push(("token", facts));
    }
    let drop: [Drop<CharterFacts>; 5] = [
        ("spendWindow", |facts| facts.spend_window = None),
        ("gasWindow", |facts| facts.gas_window = None),
        ("settlement", |facts| facts.settlement = None),
        ("minEpoch", |facts| facts.min_epoch = None),
        ("generation", |facts| facts.generation = None),
    ];
    for (what, drop) in drop {
        let mut facts = facts();
        drop(facts.charters.get_mut(&(ACCOUNT, GOLEM)).unwrap());
        taken.push((what, facts));
    }

    for (what, facts) in taken {
        let radius = radius(charter(), &facts);
        assert!(no_more(all.total(), radius.total()), "without {what}: {radius}");
    }
    let mut blind = facts();
    blind.tokens.get_mut(&WETH).unwrap().balance = None;
    assert_eq!(radius(charter(), &blind).total(), None);
}

#[test]
fn a_window_of_a_later_time_counts_as_unused() {
    let terms = SpendTerms::new(1_000 * DOLLAR, SpendTerms::DAY, 1).unwrap();
    let later = SpendWindow::default().spend(U256::from(DOLLAR), &terms, NOW + WEEK).unwrap();
    let mut facts = facts();
    facts.charters.get_mut(&(ACCOUNT, GOLEM)).unwrap().spend_window = Some(later.to_word());

    assert_eq!(radius(charter(), &facts).total(), radius(charter(), &self::facts()).total());
}

// Where the charter does not hold

#[test]
fn a_chain_without_a_charter_is_everything_in_so_many_words() {
    let radius = of(vec![root(&[])], NOW, &facts());

    assert!(radius.everything);
    assert_eq!(radius.total(), None);
    assert_eq!(radius.causes.outflow, micro((25_000 + 10_000 + 2_500) * DOLLAR));
    assert_eq!(
        radius.to_string(),
        "Whoever steals this key today can take everything that this grant can reach, for as long as it is \
         not revoked: nothing bounds it. Known of it are $37,525.00."
    );
}

/// ATK-17: a call that carries nothing can have the manager make others, so that a cap on coins alone caps nothing.
#[test]
fn a_cap_on_coins_bounds_nothing_where_any_call_can_be_made() {
    let sum = Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(U256::from(7)));
    let each = Rule::ValueLte(ValueLte(U256::from(7)));
    let calls = Rule::LimitedCalls(LimitedCalls(U256::from(2)));
    let nothing = Rule::ExactCalldata(ExactCalldata(Bytes::new()));
    let coins = |rules: &[Rule]| {
        let radius = of(vec![root(rules)], NOW, &facts());
        let row = radius.assets.iter().find(|asset| asset.token == COIN).unwrap();
        (radius.everything, row.amount.unwrap())
    };
    let (_, all) = coins(&[]);

    assert!(all > U256::from(1_000_000));
    assert_eq!(coins(std::slice::from_ref(&sum)), (true, all));
    assert_eq!(coins(&[each, calls]), (true, all));
    let (everything, some) = coins(&[sum, nothing]);
    assert!(!everything && some < all, "where the data is fixed it does");
}

/// What more may be done never costs less: wrapped coins become gas money without any allowance.
#[test]
fn leave_to_trade_does_not_hide_what_unwraps() {
    let mut facts = facts();
    facts.tokens.get_mut(&COIN).unwrap().balance = Some(U256::ZERO);
    facts.tokens.get_mut(&WETH).unwrap().allowance = Some(U256::ZERO);
    let gas = |classes: &[Class]| {
        let mut charter = charter();
        charter.classes = Classes::of(classes);
        radius(charter, &facts).causes.gas.unwrap()
    };

    let quiet = gas(&[Class::Unwrap, Class::GasTopUp]);

    assert!(!quiet.is_zero());
    assert_eq!(gas(&[Class::Swap, Class::Unwrap, Class::GasTopUp]), quiet);
}

/// What any call can reach it counts, in vaults and pools too.
#[test]
fn without_bounds_nothing_is_out_of_reach() {
    let mut facts = facts();
    let usdc = facts.tokens.get_mut(&USDC).unwrap();
    usdc.in_vaults = Some(U256::from(90_000 * DOLLAR));
    usdc.in_positions = Some(U256::from(50_000 * DOLLAR));
    let (balance, key) = (usdc.balance.unwrap(), usdc.key_balance.unwrap());

    let radius = of(vec![root(&[])], NOW, &facts);

    let row = radius.assets.iter().find(|asset| asset.token == USDC).unwrap();
    assert_eq!(row.amount, Some(balance + key + U256::from(140_000 * DOLLAR)));
    assert!(radius.causes.known() >= U256::from(140_000 * DOLLAR));
}

#[test]
fn a_beneficiary_that_is_the_key_makes_a_charter_worth_nothing() {
    let mut charter = charter();
    charter.beneficiary = KEY;

    let radius = radius(charter, &facts());

    assert!(radius.everything);
    assert_eq!(radius.causes.outflow, micro(37_500 * DOLLAR));
}

#[test]
fn proceeds_that_go_to_another_account_are_lost_whole() {
    let mut charter = charter();
    charter.account = Address::repeat_byte(0xbb);

    let radius = radius(charter, &facts());

    assert_eq!(radius.causes.slippage, micro(6_999_867_392));
}

// Chains

#[test]
fn the_tightest_link_counts_in_each_dimension() {
    let wide = root(&[Rule::GolemCharter(Box::new(charter()))]);
    let mut tight = charter();
    tight.spend_cap = 100 * DOLLAR;
    tight.slippage_bps = 500;
    let both = child(&wide, &[Rule::GolemCharter(Box::new(tight))]);

    let radius = of(vec![both, wide], NOW, &facts());

    // The child's cap, and the parent's slippage. $100 are 25,000 units of 4,000... : 24,414 of 2^12.
    let volume = 7 * 24_414 * 4_096;
    assert_eq!(radius.causes.slippage, micro(u64::div_ceil(volume, 100)));
}

/// SPEC D6: a charter below a runway binds only who has none of the keys above it.
#[test]
fn whose_key_it_is_about_is_said() {
    let rules = [Rule::GolemCharter(Box::new(charter()))];
    let parent = root(&runway());
    let anybody = Delegation { delegate: ANY_DELEGATE, ..root(&rules) };

    let alone = of(vec![root(&rules)], NOW, &facts());
    let chain = of(vec![child(&parent, &rules), parent], NOW, &facts());
    let anybody = of(vec![anybody], NOW, &facts());

    assert!(!alone.assumptions.contains(&Assumption::OnlyTheLeafsKey));
    assert!(chain.assumptions.contains(&Assumption::OnlyTheLeafsKey));
    assert!(anybody.assumptions.contains(&Assumption::AnyDelegate));
}

#[test]
fn a_budget_for_life_and_a_number_of_calls_bound_what_goes_through() {
    let rule = || Rule::GolemCharter(Box::new(charter()));
    let replicant_id = B256::repeat_byte(1);
    let listing = charter().listing;
    let budget =
        ReplicantBudget { replicant_id, budget: 50 * DOLLAR, not_after: NOW + DAY, listing };
    let budget = Rule::ReplicantBudget(budget);
    let calls = Rule::LimitedCalls(LimitedCalls(U256::from(2)));

    let under_budget = of(vec![root(&[rule(), budget])], NOW, &facts());
    let under_calls = of(vec![root(&[rule(), calls])], NOW, &facts());

    assert_eq!(under_budget.until, Some(NOW + DAY));
    assert_eq!(under_budget.causes.slippage, micro(500_000));
    assert_eq!(under_budget.causes.settlement, micro(500_000));
    assert_eq!(under_calls.causes.slippage, micro(20 * DOLLAR));
}

#[test]
fn rules_that_are_not_understood_take_nothing_off_and_are_named() {
    let rule = || Rule::GolemCharter(Box::new(charter()));
    let plain = of(vec![root(&[rule()])], NOW, &facts());
    let mut strange = root(&[rule()]);
    strange.caveats.push(Caveat::new(Address::repeat_byte(0x99), vec![1]));
    let malformed = environment().enforcer(Kind::Cadence).unwrap();
    strange.caveats.push(Caveat::new(malformed, vec![1]));

    let radius = of(vec![strange], NOW, &facts());

    assert_eq!(radius.total(), plain.total());
    let said: Vec<String> = radius.assumptions.iter().map(ToString::to_string).collect();
    assert!(said.contains(&format!("Nothing is taken off for {}.", Address::repeat_byte(0x99))));
    assert!(said.contains(&format!("Nothing is taken off for {malformed}.")));
}

#[test]
fn more_than_is_looked_at_is_refused() {
    let mut facts = facts();
    for number in 0..600u16 {
        let token = Address::left_padding_from(&number.to_be_bytes());
        facts.tokens.insert(token, TokenFacts::default());
    }
    let refused = |link: Delegation, facts: &Observed| {
        let chain = PermissionContext::new(vec![link]).unwrap();
        BlastRadius::of(&chain, &environment(), NOW, facts).unwrap_err()
    };
    let calls = Rule::LimitedCalls(LimitedCalls(U256::from(3)));
    let mut long = root(&[]);
    long.caveats.push(Caveat::new(Address::repeat_byte(0x99), vec![0; MAX_CONTEXT_BYTES + 1]));

    let assets = refused(root(&[]), &facts);
    let caveats = refused(root(&vec![calls; MAX_CAVEATS + 1]), &Observed::default());
    let bytes = refused(long, &Observed::default());

    assert!(matches!(assets, BlastRadiusError::TooManyAssets { limit: MAX_ASSETS, .. }));
    let (limit, actual) = (MAX_CAVEATS, MAX_CAVEATS + 1);
    assert_eq!(caveats, BlastRadiusError::TooManyCaveats { limit, actual });
    let (limit, actual) = (MAX_CONTEXT_BYTES, MAX_CONTEXT_BYTES + 1);
    assert_eq!(bytes, BlastRadiusError::TooLong { limit, actual });
}

/// As many caveats, entries and assets as are looked at, and no end. Each list stands on a link of its own, since two on
/// one link bind nothing.
#[test]
fn the_largest_chain_is_reckoned_in_bounded_work() {
    let entry = |number: usize| TokenPeriod {
        token: Address::left_padding_from(&(number + 1).to_be_bytes()),
        period_amount: U256::from(5),
        period_duration: U256::from(1),
        start_date: U256::from(1),
    };
    // With the coin and what the facts name there are as many assets as there may be.
    let entries = MAX_ASSETS - facts().tokens.len();
    let many = Rule::MultiTokenPeriod(MultiTokenPeriod((0..entries).map(entry).collect()));
    let calls = Rule::LimitedCalls(LimitedCalls(U256::MAX));
    let mut rules = vec![many];
    rules.extend(vec![calls; MAX_CAVEATS / 4 - 1]);
    let mut links = vec![Delegation { delegate: Address::repeat_byte(0xd0), ..root(&rules) }];
    for (delegate, _) in (0xd1..).zip(1..4) {
        let delegate = Address::repeat_byte(delegate);
        let link = Delegation { delegate, ..child(links.last().unwrap(), &rules) };
        links.push(link);
    }
    links.reverse();

    let radius = of(links, NOW, &facts());

    assert_eq!((radius.days.len(), radius.assets.len()), (MAX_DAYS, MAX_ASSETS));
    let bounded = radius.assets.iter().filter(|asset| !asset.days.is_empty()).count();
    assert_eq!(bounded, MAX_ASSETS);
    assert!(!radius.everything, "four lists bind");
}

/// Many charters that price many tokens: each is looked at once.
#[test]
fn the_largest_charters_are_compared_in_bounded_work() {
    let mut wide = charter();
    let tokens = (0..250u16).map(|number| {
        let address = Address::left_padding_from(&(number + 1).to_be_bytes());
        token(address, Role::Token, 6)
    });
    wide.listing.tokens.extend(tokens);
    let one = Rule::GolemCharter(Box::new(wide));
    let size = caveat(&one).terms.len();
    let rules = vec![one; (MAX_CONTEXT_BYTES / size).min(MAX_CAVEATS)];

    let radius = of(vec![root(&rules)], NOW, &facts());

    assert_eq!(radius.assets.len(), 253);
    assert!(!radius.assumptions.contains(&Assumption::PricesDiffer));
}

#[test]
fn a_price_of_nothing_or_of_another_feed_is_no_price() {
    for odd in
        [Price { answer: U256::ZERO, decimals: 8 }, Price { answer: U256::from(1), decimals: 18 }]
    {
        let mut facts = facts();
        facts.tokens.get_mut(&WETH).unwrap().price = Some(odd);

        assert_eq!(radius(charter(), &facts).total(), None);
    }
}

#[test]
fn gas_money_comes_out_of_vaults_and_pools_where_nothing_trades() {
    let mut charter = charter();
    charter.classes =
        Classes::of(&[Class::GasTopUp, Class::Unwrap, Class::Collect, Class::RemoveLiquidity]);
    let manager = Address::repeat_byte(0x11);
    charter.listing.targets.push(ListedTarget { target: manager, role: Role::PositionManager });
    let mut facts = facts();
    facts.tokens =
        [(COIN, held(2_500, 0, 0)), (WETH, held(2_500, 0, 0)), (USDC, held(1, DOLLAR, 0))].into();
    facts.tokens.get_mut(&WETH).unwrap().in_positions = Some(U256::from(ETHER / 1_000));

    let radius = radius(charter, &facts);

    // A thousandth of an ether, at $2,500; dollars cannot become gas money.
    assert_eq!(radius.total(), micro(2_500_000));
}

// Without a charter

/// Ten dollars a day since yesterday noon, until tomorrow night's end.
fn runway() -> Vec<Rule> {
    let period = Erc20PeriodTransfer {
        token_address: USDC,
        period_amount: U256::from(10 * DOLLAR),
        period_duration: U256::from(DAY),
        start_date: U256::from(NOW - DAY / 2),
    };
    vec![
        Rule::Erc20PeriodTransfer(period),
        Rule::ValueLte(ValueLte(U256::ZERO)),
        Rule::Timestamp(Timestamp { after: 0, before: (NOW + 2 * DAY).into() }),
        Rule::Redeemer(Redeemer(vec![KEY])),
    ]
}

#[test]
fn a_runway_is_what_its_periods_let_out_by_hand() {
    let link = root(&runway());
    let enforcer = environment().enforcer(Kind::Erc20PeriodTransfer).unwrap();
    let mut used = facts();
    used.counters.insert((link.hash().0, enforcer), U256::from(4 * DOLLAR));

    let fresh = of(vec![link.clone()], NOW, &facts());
    let radius = of(vec![link], NOW, &used);

    // Two days of two calendar halves each touch three periods: 30 dollars, of which 4 are used.
    assert_eq!(fresh.causes.outflow, micro(30 * DOLLAR));
    assert_eq!(radius.causes.outflow, micro(26 * DOLLAR));
    // Today the rest of this period and all of the next.
    assert_eq!(radius.days[0].cumulative, micro((16 + 25) * DOLLAR));
    assert_eq!(radius.until, Some(NOW + 2 * DAY - 1));
    assert!(!radius.everything);
    let row = |token| radius.assets.iter().find(|asset| asset.token == token).unwrap();
    assert_eq!(row(USDC).amount, micro(26 * DOLLAR));
    assert_eq!(row(WETH).amount, micro(0));
    // Nothing of the account's; the key has its own.
    assert_eq!(row(COIN).amount, Some(U256::from(ETHER / 100)));
    assert_eq!(
        radius.to_string(),
        "Whoever steals this key today can cost you at most $51.00 until 2026-11-16: $26.00 sent away, \
         $25.00 that the key already holds."
    );
}

#[test]
fn a_runway_without_facts_still_says_how_many_tokens() {
    let radius = of(vec![root(&runway())], NOW, &Observed::default());
    let row = radius.assets.iter().find(|asset| asset.token == USDC).unwrap();

    assert_eq!(radius.total(), None);
    // The key may hold more of it.
    assert_eq!(row.amount, None);
    let facts: Observed = serde_json::from_value(serde_json::json!({
        "tokens": [{ "token": USDC, "keyBalance": "0" }, { "token": COIN, "keyBalance": "0" }]
    }))
    .unwrap();
    let radius = of(vec![root(&runway())], NOW, &facts);
    let row = radius.assets.iter().find(|asset| asset.token == USDC).unwrap();
    assert_eq!((row.amount, row.micro_dollars), (micro(30 * DOLLAR), None));
}

/// The contract keeps the terms that it met first for the whole link, so a smaller one behind it takes nothing off.
#[test]
fn of_two_periods_on_one_link_the_first_counts() {
    let period = |amount: u64, seconds: u64| {
        Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
            token_address: USDC,
            period_amount: U256::from(amount * DOLLAR),
            period_duration: U256::from(seconds),
            start_date: U256::from(NOW),
        })
    };
    let no_coins = Rule::ValueLte(ValueLte(U256::ZERO));
    let day = Rule::Timestamp(Timestamp { after: 0, before: (NOW + DAY).into() });
    let most = |rules: &[Rule]| {
        let radius = of(vec![root(rules)], NOW, &facts());
        radius.assets.into_iter().find(|asset| asset.token == USDC).unwrap().amount.unwrap()
    };

    let alone = most(&[period(1_000, DAY), no_coins.clone(), day.clone()]);
    let both = most(&[period(1_000, DAY), period(1, 365 * DAY), no_coins, day]);

    assert_eq!(both, alone);
}

#[test]
fn streams_and_sums_let_out_what_they_say() {
    let (initial_amount, max_amount) = (U256::from(DOLLAR), U256::from(100 * DOLLAR));
    let (amount_per_second, start_time) = (U256::from(100), U256::from(NOW - 1_000));
    let tokens = Erc20Streaming {
        token_address: USDC,
        initial_amount,
        max_amount,
        amount_per_second,
        start_time,
    };
    let coins = NativeTokenStreaming { initial_amount, max_amount, amount_per_second, start_time };
    let no_coins = Rule::ValueLte(ValueLte(U256::ZERO));
    let payments = Rule::ExactCalldata(ExactCalldata(Bytes::new()));
    let day = Rule::Timestamp(Timestamp { after: 0, before: (NOW + DAY).into() });
    let most = |rules: &[Rule], token| {
        let radius = of(vec![root(rules)], NOW, &facts());
        assert!(!radius.everything, "{radius}");
        radius.assets.into_iter().find(|asset| asset.token == token).unwrap().amount.unwrap()
    };
    let key = U256::from(ETHER / 100);

    // A dollar, and 100 a second for the 1,000 seconds before and the 86,399 of the day.
    let unlocked = U256::from(DOLLAR + 100 * (1_000 + DAY - 1));
    assert_eq!(
        most(&[Rule::Erc20Streaming(tokens), no_coins.clone(), day.clone()], USDC),
        unlocked
    );
    // Without an end, up to the maximum.
    assert_eq!(most(&[Rule::Erc20Streaming(tokens), no_coins.clone()], USDC), max_amount);
    assert_eq!(
        most(&[Rule::NativeTokenStreaming(coins), payments.clone(), day.clone()], COIN),
        unlocked + key
    );
    let sum = Erc20TransferAmount { token_address: USDC, max_amount: U256::from(7) };
    assert_eq!(most(&[Rule::Erc20TransferAmount(sum), no_coins.clone()], USDC), U256::from(7));
    let sum = NativeTokenTransferAmount(U256::from(7));
    assert_eq!(
        most(&[Rule::NativeTokenTransferAmount(sum), payments.clone()], COIN),
        U256::from(7) + key
    );
    let period = NativeTokenPeriodTransfer {
        period_amount: U256::from(5),
        period_duration: U256::from(DAY),
        start_date: U256::from(NOW + DAY / 2),
    };
    // It begins at noon.
    assert_eq!(
        most(&[Rule::NativeTokenPeriodTransfer(period), payments, day], COIN),
        U256::from(5) + key
    );
    // Two links: the lesser.
    let smaller = Erc20TransferAmount { token_address: USDC, max_amount: U256::from(3) };
    let both = [Rule::Erc20TransferAmount(smaller), Rule::Erc20Streaming(tokens), no_coins];
    assert_eq!(most(&both, USDC), U256::from(3));
}

#[test]
fn entries_of_several_periods_add_up_and_leave_nothing_else() {
    let entry = |token| TokenPeriod {
        token,
        period_amount: U256::from(5),
        period_duration: U256::from(DAY),
        start_date: U256::from(NOW),
    };
    let day = Rule::Timestamp(Timestamp { after: 0, before: (NOW + DAY).into() });
    let twice = Rule::MultiTokenPeriod(MultiTokenPeriod(vec![entry(USDC), entry(USDC)]));

    let radius = of(vec![root(&[twice, day])], NOW, &facts());

    let amounts: Vec<_> = radius.assets.iter().map(|asset| (asset.token, asset.amount)).collect();
    assert!(amounts.contains(&(USDC, micro(10))), "{amounts:?}");
    assert!(amounts.contains(&(WETH, micro(0))));
    assert!(amounts.contains(&(COIN, Some(U256::from(ETHER / 100)))));
}

#[test]
fn coins_that_no_rule_mentions_count_whole() {
    let sum = Erc20TransferAmount { token_address: USDC, max_amount: U256::from(7) };
    let calls = Rule::LimitedCalls(LimitedCalls(U256::from(3)));
    let each = Rule::ValueLte(ValueLte(U256::from(1_000)));

    let loose = of(vec![root(&[Rule::Erc20TransferAmount(sum)])], NOW, &facts());
    let tight = of(vec![root(&[Rule::Erc20TransferAmount(sum), calls, each])], NOW, &facts());

    let coins = |radius: &BlastRadius| {
        radius.assets.iter().find(|asset| asset.token == COIN).unwrap().amount.unwrap()
    };
    assert_eq!(coins(&loose), U256::from(10 * ETHER) + U256::from(ETHER / 100));
    assert_eq!(coins(&tight), U256::from(3_000) + U256::from(ETHER / 100));
    assert!(loose.assumptions.contains(&Assumption::CoinsUnbounded));
    assert!(!tight.assumptions.contains(&Assumption::CoinsUnbounded));
}

// As JSON

#[test]
fn numbers_leave_as_decimal_strings_and_facts_that_stand_twice_are_refused() {
    let json = serde_json::to_value(radius(charter(), &facts())).unwrap();
    let token = serde_json::json!({ "token": USDC, "balance": "1" });
    let twice = serde_json::json!({ "tokens": [token, token] });
    let number = serde_json::json!({ "tokens": [{ "token": USDC, "balance": 1 }] });
    let signed = serde_json::json!({ "tokens": [{ "token": USDC, "balance": "+1" }] });
    let unknown = serde_json::json!({ "phase": "4" });

    assert_eq!(json["causes"]["slippage"], "69998674");
    assert_eq!(json["until"], (NOW + WEEK - 1).to_string());
    let by_order = serde_json::json!({ "tokens": [[USDC]] });
    let list = serde_json::json!([]);
    for odd in [twice, number, signed, unknown, by_order, list] {
        assert!(serde_json::from_value::<Observed>(odd.clone()).is_err(), "{odd}");
    }
}

#[test]
fn the_series_begins_with_nothing_and_ends_with_the_total() {
    let radius = radius(charter(), &facts());
    let series = radius.series();

    assert_eq!(series.len(), 8);
    assert_eq!((series[0].at, series[0].micro_dollars), (NOW, micro(0)));
    assert_eq!(series[7].at, NOW + WEEK - 1);
    assert_eq!(series[7].micro_dollars, radius.total());
    assert!(series.windows(2).all(|two| no_more(two[0].micro_dollars, two[1].micro_dollars)));
}

// What may never raise it

prop_compose! {
    fn any_charter()(
        cap in 1u64..5_000_000_000,
        bucket_minutes in prop::sample::select(vec![1u16, 30, 120, 840]),
        slippage_bps in 0u16..=10_000,
        nav_cap in 0u64..2_000_000_000,
        (gas_ceiling, gas_daily_cap) in (0u64..100_000_000, 0u64..100_000_000),
        bits in any::<u32>(),
        length in 0u64..40 * DAY,
        start in 0u64..2 * DAY,
        (vault, pools, shares, bare, second) in any::<(bool, bool, bool, bool, bool)>(),
        asset in prop::sample::select(vec![USDC, WETH, VAULT]),
    ) -> GolemCharter {
        let mut charter = charter();
        // Most classes, most of the time.
        let dropped: Vec<Class> =
            Class::ALL.into_iter().filter(|class| bits >> (*class as u32) & 7 == 0).collect();
        charter.classes = Classes::ALL.without(Classes::of(&dropped));
        charter.spend_cap = cap;
        charter.bucket_minutes = bucket_minutes;
        charter.slippage_bps = slippage_bps;
        charter.nav_cap = nav_cap;
        charter.gas_ceiling = gas_ceiling;
        charter.gas_daily_cap = gas_daily_cap;
        charter.settlement_asset = asset;
        let from = NOW - DAY + start;
        charter.window = MortalityTimeWindow::new(from, from + length).unwrap();
        if bare {
            // Known and priced, and not to be called: nobody can approve it.
            charter.listing.tokens[0].role = None;
        }
        if vault {
            charter.listing.targets.push(ListedTarget { target: VAULT, role: Role::Vault });
        }
        if shares {
            charter.listing.tokens.push(token(VAULT, Role::Vault, 18));
        }
        if pools {
            let target = Address::repeat_byte(0x11);
            charter.listing.targets.push(ListedTarget { target, role: Role::PositionManager });
        }
        if second {
            charter.golem_id = OTHER_GOLEM;
        }
        charter
    }
}

prop_compose! {
    fn any_facts()(
        amounts in prop::collection::vec(0u64..15_000_000_000, 20),
        spent in 0u64..3_000_000_000,
        gas in 0u64..100_000_000,
        ago in 0u64..100_000,
    ) -> Observed {
        let mut facts = facts();
        for ((token, price), amounts) in
            [(COIN, 2_500), (USDC, 1), (WETH, 2_500), (VAULT, 2_500)].into_iter().zip(amounts.chunks(5))
        {
            let unit = if token == USDC { 1 } else { 1_000_000_000 };
            let mut held = held(price, amounts[0] * unit, amounts[1] * unit / 100);
            if token != COIN {
                held.in_vaults = Some(U256::from(amounts[2] * unit));
                held.in_positions = Some(U256::from(amounts[3] * unit));
                held.allowance = (amounts[4] % 2 == 0).then(|| U256::from(amounts[4] * unit));
            }
            facts.tokens.insert(token, held);
        }
        let known = facts.charters.get_mut(&(ACCOUNT, GOLEM)).unwrap();
        let past = |cap: u64, amount: u64| {
            let terms = SpendTerms::new(cap, SpendTerms::DAY, 1).unwrap();
            SpendWindow::default().spend(U256::from(amount), &terms, NOW - ago).unwrap().to_word()
        };
        known.spend_window = Some(past(4_000_000_000, spent));
        known.gas_window = Some(past(200_000_000, gas));
        let known = known.clone();
        facts.charters.insert((ACCOUNT, OTHER_GOLEM), known);
        facts
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_is_tighter_never_costs_more(
        wide in any_charter(),
        facts in any_facts(),
        (part, other) in (0u64..=100, any_charter()),
        which in 0usize..12,
    ) {
        let before = radius(wide.clone(), &facts);
        let (mut tight, mut poor) = (wide.clone(), facts.clone());
        let less = |value: u64| value / 100 * part;
        let wide_rule = Rule::GolemCharter(Box::new(wide.clone()));
        let mut rules = vec![];
        match which {
            0 => tight.spend_cap = less(tight.spend_cap).max(1),
            1 => {
                let (start, end) = (tight.window.start(), tight.window.end());
                tight.window = MortalityTimeWindow::new(start, start + less(end - start)).unwrap();
            }
            2 => tight.slippage_bps = u16::try_from(less(tight.slippage_bps.into())).unwrap(),
            3 => tight.gas_daily_cap = less(tight.gas_daily_cap),
            4 => tight.nav_cap = less(tight.nav_cap),
            5 => {
                for held in poor.tokens.values_mut() {
                    held.balance = held.balance.map(|balance| balance / U256::from(100) * U256::from(part));
                }
            }
            6 => {
                // More spent, in the same bucket.
                let terms = SpendTerms::new(u64::MAX, SpendTerms::DAY, 1).unwrap();
                let known = poor.charters.get_mut(&(ACCOUNT, GOLEM)).unwrap();
                let word = SpendWindow::from_word(known.spend_window.unwrap());
                let more = word.spend(U256::from(less(1_000_000_000)), &terms, NOW).unwrap();
                known.spend_window = Some(more.to_word());
            }
            7 => rules.push(Rule::Timestamp(Timestamp { after: 0, before: (NOW + less(30 * DAY)).into() })),
            8 => rules.extend(runway()),
            9 => rules.push(Rule::LimitedCalls(LimitedCalls(U256::from(part)))),
            10 => rules.push(Rule::ValueLte(ValueLte(U256::from(part)))),
            _ => rules.push(Rule::GolemCharter(Box::new(GolemCharter { epoch: 1, ..other }))),
        }
        let after = if rules.is_empty() {
            radius(tight, &poor)
        } else {
            rules.insert(0, wide_rule);
            of(vec![root(&rules)], NOW, &poor)
        };

        prop_assert!(no_more(after.total(), before.total()), "{}\n{}", before, after);
        for (after, before) in after.days.iter().zip(&before.days) {
            prop_assert!(no_more(after.cumulative, before.cumulative), "day {}", after.day);
        }
    }

    /// Phase, staleness, mood: whatever a charter says of them, the answer is the same.
    #[test]
    fn what_a_key_says_of_itself_never_lowers_it(charter in any_charter(), facts in any_facts(), staleness in any::<u32>()) {
        let before = radius(charter.clone(), &facts);
        let mut moody = charter.clone();
        moody.staleness = staleness;
        let bounds = MoodBounds { min_pleasure: 100, max_arousal: -100, min_dominance: 100 };
        moody.mood = Some(CharterMood { bounds, classes: Classes::ALL });
        let dream = DreamMode { golem_id: GOLEM, registry: charter.registry };
        let phase = GolemPhase {
            golem_id: GOLEM, registry: charter.registry, staleness, listing: charter.listing.clone(),
        };
        let period = NonZeroU32::new(staleness | 1).unwrap();
        let cadence = Cadence { golem_id: GOLEM, period, count: 1.try_into().unwrap() };
        let rules = [
            Rule::GolemCharter(Box::new(moody)), Rule::DreamMode(dream), Rule::GolemPhase(phase), Rule::Cadence(cadence),
        ];

        let after = of(vec![root(&rules)], NOW, &facts);

        prop_assert_eq!(after.total(), before.total());
    }

    #[test]
    fn nobody_takes_more_than_there_is(charter in any_charter(), facts in any_facts()) {
        let all = |held: &TokenFacts| {
            let account = held.balance.unwrap() + held.in_vaults.unwrap() + held.in_positions.unwrap();
            account + held.key_balance.unwrap()
        };
        let wealth: u64 = facts.tokens.iter().map(|(token, held)| {
            let unit = if *token == USDC { U256::from(1) } else { U256::from(ETHER / (2_500 * DOLLAR)) };
            (all(held) / unit + U256::from(4)).to::<u64>()
        }).sum();
        let radius = radius(charter, &facts);
        prop_assert!(no_more(radius.total(), micro(wealth)), "{} of {}", radius, wealth);
        for asset in &radius.assets {
            prop_assert!(no_more(asset.amount, Some(all(&facts.tokens[&asset.token]))));
        }
    }

    /// A chain of several charters is no worse than the least of them, and no better than what one of them leaves: the
    /// thief keeps every other Golem in the phase that suits him, and a charter that says the same once more takes
    /// nothing off.
    #[test]
    fn several_charters_bind_as_each_of_them_does(one in any_charter(), other in any_charter(), facts in any_facts()) {
        let apart = GolemCharter { golem_id: OTHER_GOLEM, ..other };
        let one = GolemCharter { golem_id: GOLEM, ..one };
        let both = [rule_of(one.clone()), rule_of(apart.clone())];
        let both = of(vec![root(&both)], NOW, &facts);
        let twice = of(vec![root(&[rule_of(one.clone()), rule_of(one.clone())])], NOW, &facts);
        let alone = [radius(one, &facts), radius(apart, &facts)];

        prop_assert!(alone.iter().all(|alone| no_more(both.total(), alone.total())));
        prop_assert_eq!(twice.total(), alone[0].total());
    }

    /// Foreign words, absurd sums and times: an answer, and one that never falls from day to day.
    #[test]
    fn whatever_the_facts_say_there_is_an_answer_that_never_falls(
        charter in any_charter(),
        words in any::<[[u8; 32]; 3]>(),
        amounts in any::<[[u8; 32]; 4]>(),
        (answer, decimals, token_decimals) in (any::<[u8; 32]>(), any::<u8>(), any::<u8>()),
        now in prop_oneof![Just(0), Just(u64::MAX), Just(NOW), any::<u64>()],
        end in prop_oneof![Just((1u64 << 40) - 1), NOW..NOW + 9 * WEEK],
    ) {
        let [balance, in_vaults, in_positions, key_balance] =
            amounts.map(|bytes| Some(U256::from_be_bytes(bytes)));
        let held = TokenFacts {
            price: Some(Price { answer: U256::from_be_bytes(answer), decimals }),
            decimals: Some(token_decimals),
            balance,
            in_vaults,
            in_positions,
            key_balance,
            allowance: None,
        };
        let mut facts = facts();
        facts.tokens = [(COIN, held.clone()), (WETH, held.clone()), (USDC, held)].into();
        let [spend, gas, settlement] = words.map(|bytes| Some(U256::from_be_bytes(bytes)));
        let known = facts.charters.get_mut(&(ACCOUNT, GOLEM)).unwrap();
        (known.spend_window, known.gas_window, known.settlement) = (spend, gas, settlement);
        let mut charter = charter;
        charter.window = MortalityTimeWindow::new(0, end).unwrap();
        // Whatever epoch the words are of, some grant may be newer.
        charter.epoch = u16::MAX - 1;

        for rules in [vec![Rule::GolemCharter(Box::new(charter))], runway(), vec![]] {
            let radius = of(vec![root(&rules)], now, &facts);
            prop_assert!(radius.days.len() <= MAX_DAYS);
            prop_assert!(!radius.to_string().is_empty());
            for two in radius.series().windows(2) {
                prop_assert!(no_more(two[0].micro_dollars, two[1].micro_dollars));
            }
        }
    }
}

/// A thief of a key that was given two links of a chain, or of one whose upper link is anybody's, redeems the upper one.
#[test]
fn a_link_that_the_key_redeems_alone_frees_it_of_those_below() {
    let tight = [
        Rule::Erc20TransferAmount(Erc20TransferAmount {
            token_address: USDC,
            max_amount: U256::from(5),
        }),
        Rule::ValueLte(ValueLte(U256::ZERO)),
    ];
    let mine = root(&[]);
    let anybodys = Delegation { delegate: ANY_DELEGATE, ..root(&[]) };
    let below = |parent: &Delegation| Delegation { delegate: KEY, ..child(parent, &tight) };
    let from_any = Delegation { delegator: Address::repeat_byte(9), ..below(&anybodys) };
    let charter = Rule::GolemCharter(Box::new(charter()));
    let charter = Delegation { caveats: vec![caveat(&charter)], ..below(&mine) };

    for (leaf, parent) in [(below(&mine), &mine), (from_any, &anybodys), (charter, &mine)] {
        let radius = of(vec![leaf, parent.clone()], NOW, &facts());

        assert!(radius.everything, "{radius}");
        let delegation = parent.hash().0;
        assert!(radius.assumptions.contains(&Assumption::HigherLink { delegation }));
    }
    // Of three links with the key on the first and the last, only the root counts; with other keys, all do.
    let middle = child(&mine, &tight);
    let leaf = Delegation { delegate: KEY, ..child(&middle, &tight) };
    assert!(of(vec![leaf, middle, mine.clone()], NOW, &facts()).everything);
    let bound = of(vec![child(&mine, &tight), mine], NOW, &facts());
    assert_eq!(bound.causes.outflow, micro(5));
}

/// Dollars by other decimals or another feed are other dollars.
#[test]
fn what_prices_otherwise_takes_nothing_off() {
    let alone = radius(charter(), &facts());
    let other = |change: fn(&mut ListedToken)| {
        let mut listing = charter().listing;
        listing.tokens.iter_mut().for_each(change);
        listing
    };
    let listings = [
        other(|token| token.token_decimals = 36),
        other(|token| token.feed_decimals = 18),
        other(|token| token.feed = Address::repeat_byte(0xaa)),
    ];
    for listing in listings {
        let budget = ReplicantBudget {
            replicant_id: GOLEM,
            budget: DOLLAR,
            not_after: NOW + WEEK - 1,
            listing: listing.clone(),
        };
        let wide = root(&[Rule::GolemCharter(Box::new(charter()))]);
        let leaf = child(&wide, &[Rule::ReplicantBudget(budget)]);
        let under_budget = of(vec![leaf, wide.clone()], NOW, &facts());
        assert_eq!(under_budget.causes, alone.causes);
        let rule = "replicantBudget".to_owned();
        assert!(under_budget.assumptions.contains(&Assumption::RuleNotCounted { rule }));

        let second =
            GolemCharter { spend_cap: DOLLAR, slippage_bps: 1, nav_cap: 1, listing, ..charter() };
        let leaf = child(&wide, &[Rule::GolemCharter(Box::new(second))]);
        let under_two = of(vec![leaf, wide], NOW, &facts());
        assert!(no_more(alone.causes.slippage, under_two.causes.slippage), "{under_two}");
        assert!(under_two.assumptions.contains(&Assumption::PricesDiffer));
    }
}

/// A charter that counts dollars with eighteen decimals lets all of them go for a millionth.
#[test]
fn a_token_whose_decimals_are_not_the_charters_is_not_bounded_by_dollars() {
    let mut wrong = charter();
    wrong.listing.tokens[0].token_decimals = 18;

    let shown = radius(wrong.clone(), &facts());
    let mut silent = facts();
    silent.tokens.get_mut(&USDC).unwrap().decimals = None;
    let trusted = radius(wrong, &silent);

    // All that trades can touch: 10,000 dollars, and eleven ether.
    assert_eq!(shown.causes.slippage, micro(37_500 * DOLLAR));
    assert!(shown.assumptions.contains(&Assumption::DecimalsContradict { token: USDC }));
    assert!(trusted.causes.slippage < micro(100 * DOLLAR));
}

/// Whoever is listed can be called by anybody: what lies there is nobody's.
#[test]
fn a_beneficiary_that_is_a_listed_contract_is_no_home() {
    for beneficiary in [Address::repeat_byte(0x10), USDC, WETH] {
        let lost = radius(GolemCharter { beneficiary, ..charter() }, &facts());

        assert_eq!(lost.causes.outflow, micro(37_500 * DOLLAR), "{lost}");
        assert!(lost.assumptions.contains(&Assumption::BeneficiaryIsListed { beneficiary }));
    }
    let classes = Classes::ALL.without(Classes::of(&[Class::Transfer]));
    let closed = GolemCharter { beneficiary: USDC, classes, ..charter() };
    assert_eq!(radius(closed, &facts()).causes.outflow, micro(0));
}

/// Out of a vault of a vault's shares slippage is lost twice, wherever the two are listed.
#[test]
fn each_listed_vault_may_lead_through_another() {
    let mut flat = charter();
    flat.listing.targets.push(ListedTarget { target: VAULT, role: Role::Vault });
    let mut as_target = flat.clone();
    as_target.listing.targets.push(ListedTarget { target: LAIR, role: Role::Vault });
    let mut as_token = flat.clone();
    as_token.listing.tokens.push(token(LAIR, Role::Vault, 18));
    let mut observed = facts();
    observed.tokens.get_mut(&USDC).unwrap().in_vaults = Some(U256::from(10_000 * DOLLAR));
    observed.tokens.insert(LAIR, held(2_500, 0, 0));

    let lost = |charter| radius(charter, &observed).causes.vaults.unwrap();
    let once = lost(flat);

    // A hundred dollars of what lies there, and what was bought once more.
    assert_eq!(lost(as_target), once * U256::from(2));
    assert_eq!(lost(as_token), once * U256::from(2));
}

/// Shares that are listed as a token are bought by a swap, and lose on their way out like any others.
#[test]
fn bought_shares_lose_on_their_way_out() {
    let mut bought = charter();
    bought.classes = Classes::of(&[Class::Swap, Class::Withdraw, Class::Approve]);
    bought.listing.tokens.push(token(VAULT, Role::Vault, 18));
    let mut none = bought.clone();
    none.listing.tokens[2].role = Some(Role::Token);
    none.listing.targets.push(ListedTarget { target: LAIR, role: Role::Vault });
    let mut observed = facts();
    observed.tokens.insert(VAULT, held(2_500, 0, 0));

    let with = radius(bought, &observed).causes;
    let without = radius(none, &observed).causes;

    // One per cent of what is left of a week's volume.
    let volume = with.slippage.unwrap() * U256::from(99) / U256::from(100);
    assert!(with.vaults.unwrap() >= volume, "{with:?}");
    assert_eq!(without.vaults, micro(0));
}

/// The stolen key stays the stolen key, also where the part of the chain that counts does not name it.
#[test]
fn a_beneficiary_that_is_the_key_is_no_home_above_either() {
    let law = GolemCharter { beneficiary: Address::repeat_byte(0xcc), ..charter() };
    let rule = [Rule::GolemCharter(Box::new(law))];
    let open = Delegation { delegate: ANY_DELEGATE, ..root(&rule) };
    let named = root(&rule);
    // The leaf's delegate is that beneficiary.
    let below = |parent: &Delegation| {
        let from = if parent.delegate == ANY_DELEGATE { Address::repeat_byte(9) } else { KEY };
        Delegation { delegator: from, ..child(parent, &[]) }
    };

    let under_open = of(vec![below(&open), open], NOW, &facts());
    let under_named = of(vec![below(&named), named], NOW, &facts());

    assert_eq!(under_open.causes.outflow, under_named.causes.outflow);
    assert_eq!(under_open.causes.outflow, micro(37_500 * DOLLAR));
}

/// Whoever has the account's own key needs no grant.
#[test]
fn the_accounts_own_key_takes_everything() {
    let rule = [Rule::GolemCharter(Box::new(charter()))];
    let own = Delegation { delegate: ACCOUNT, ..root(&rule) };

    let radius = of(vec![own], NOW, &facts());

    assert!(radius.everything && radius.total().is_none(), "{radius}");
    assert!(radius.assumptions.contains(&Assumption::KeyIsTheAccount));
}

/// A pool that is traded in gives back whichever of its two it likes.
#[test]
fn liquidity_of_any_token_can_become_gas_money() {
    let mut dying = charter();
    dying.classes =
        Classes::of(&[Class::RemoveLiquidity, Class::Collect, Class::Unwrap, Class::GasTopUp]);
    let positions =
        ListedTarget { target: Address::repeat_byte(0x11), role: Role::PositionManager };
    dying.listing.targets.push(positions);
    let mut observed = facts();
    for token in [COIN, WETH] {
        observed.tokens.get_mut(&token).unwrap().balance = Some(U256::ZERO);
    }
    let none = radius(dying.clone(), &observed).causes.gas;
    observed.tokens.get_mut(&USDC).unwrap().in_positions = Some(U256::from(10_000 * DOLLAR));

    let gas = radius(dying, &observed).causes.gas;

    // A week of 0.02 ether a day at 2,500, in whole units of the window.
    assert_eq!((none, gas), (micro(0), micro(349_995_520)));
}

/// Two budgets of a link count under two names, and one fact is the first one's.
#[test]
fn a_second_budget_is_not_used_up_by_the_first() {
    let budget = |name: u8, budget: u64| {
        Rule::ReplicantBudget(ReplicantBudget {
            replicant_id: B256::repeat_byte(name),
            budget,
            not_after: NOW + WEEK - 1,
            listing: charter().listing,
        })
    };
    let rules = [
        Rule::GolemCharter(Box::new(charter())),
        budget(1, 2_000 * DOLLAR),
        budget(2, 500 * DOLLAR),
    ];
    let grant = root(&rules);
    let mut observed = facts();
    let at = (grant.hash().0, caveat(&rules[1]).enforcer);
    observed.counters.insert(at, U256::from(1_000 * DOLLAR));

    // A thousand are left of the first, and all of the second.
    assert_eq!(of(vec![grant], NOW, &observed).causes.slippage, micro(5 * DOLLAR));
}

/// Of two lists of periods on one link whoever redeems picks the entry: neither bounds by itself.
#[test]
fn two_lists_of_periods_on_one_link_bind_nothing() {
    let every = |amount: u64| TokenPeriod {
        token: USDC,
        period_amount: U256::from(amount),
        period_duration: U256::from(DAY),
        start_date: U256::from(NOW),
    };
    let list =
        |amount| Rule::MultiTokenPeriod(MultiTokenPeriod(vec![every(amount), every(amount)]));

    let one = of(vec![root(&[list(10)])], NOW, &facts());
    let two = of(vec![root(&[list(10), list(1_000)])], NOW, &facts());

    assert!(!one.everything && two.everything, "{one} {two}");
}

/// Decimals that nobody read are the charter's word, and that is said.
#[test]
fn decimals_that_nobody_read_are_named() {
    let mut silent = facts();
    silent.tokens.get_mut(&USDC).unwrap().decimals = None;

    let radius = radius(charter(), &silent);

    assert!(radius.assumptions.contains(&Assumption::DecimalsBelieved { token: USDC }));
    assert!(radius.missing.iter().any(|fact| fact.token == USDC && fact.what == "decimals"));
}

// Several charters

fn rule_of(charter: GolemCharter) -> Rule {
    Rule::GolemCharter(Box::new(charter))
}

/// The thief writes the phase of each Golem by itself: while one dies and lifts its caps, the other lives.
#[test]
fn charters_of_two_golems_are_never_in_one_phase() {
    // One settles to what there is, and so converts nothing; its window is wide. The other's is narrow.
    let dying = GolemCharter { spend_cap: 1, nav_cap: 1, settlement_asset: WETH, ..charter() };
    let living = GolemCharter { golem_id: OTHER_GOLEM, ..charter() };
    let mut observed = facts();
    observed.tokens.get_mut(&WETH).unwrap().balance = Some(U256::ZERO);
    observed.tokens.get_mut(&COIN).unwrap().balance = Some(U256::ZERO);
    let unused = observed.charters[&(ACCOUNT, GOLEM)].clone();
    observed.charters.insert((ACCOUNT, OTHER_GOLEM), unused);

    let first = radius(dying.clone(), &observed);
    let second = radius(living.clone(), &observed);
    let both = of(vec![root(&[rule_of(dying.clone()), rule_of(living.clone())])], NOW, &observed);

    // One per cent of 10,000 dollars at the death of the first; of a week's 7,000 in the second's life.
    assert_eq!(first.causes.settlement, micro(100 * DOLLAR));
    assert_eq!(second.causes.slippage, micro(69_998_674));
    let least = first.total().unwrap().min(second.total().unwrap());
    assert_eq!(both.total(), Some(least));
    // The same charters of one Golem are in one phase: what each leaves out, both leave out.
    let alike = GolemCharter { golem_id: GOLEM, ..living };
    let one = of(vec![root(&[rule_of(dying), rule_of(alike)])], NOW, &observed);
    assert!(one.total().unwrap() <= least, "{one}");
}

/// The chain keeps one settlement asset for a delegator's Golem, that of the charter that is judged first.
#[test]
fn the_first_charters_settlement_asset_counts_for_all() {
    let to_weth = GolemCharter { settlement_asset: WETH, ..charter() };
    let to_usdc = charter();
    let mut observed = facts();
    observed.tokens.get_mut(&WETH).unwrap().balance = Some(U256::ZERO);
    observed.tokens.get_mut(&COIN).unwrap().balance = Some(U256::ZERO);
    let settlement = |charters: [&GolemCharter; 2]| {
        let rules = charters.map(|charter| rule_of(charter.clone()));
        of(vec![root(&rules)], NOW, &observed).causes.settlement.unwrap()
    };
    let alone = |charter: &GolemCharter| radius(charter.clone(), &observed).causes.settlement;

    assert_eq!(alone(&to_weth), micro(100 * DOLLAR));
    assert_eq!(Some(settlement([&to_weth, &to_usdc])), alone(&to_weth));
    assert_eq!(Some(settlement([&to_usdc, &to_weth])), alone(&to_usdc));
    // Another registry may say first that its Golem dies.
    let elsewhere = GolemCharter { registry: Address::repeat_byte(0x4f), ..to_usdc };
    let apart = of(vec![root(&[rule_of(to_weth.clone()), rule_of(elsewhere)])], NOW, &observed);
    assert_eq!(apart.causes.settlement, alone(&to_weth));
}

/// What cannot be pulled does not stand in for what lies in pools.
#[test]
fn a_large_balance_hides_no_position() {
    let mut dying = charter();
    dying.classes =
        Classes::of(&[Class::Swap, Class::RemoveLiquidity, Class::Collect, Class::Disapprove]);
    (dying.spend_cap, dying.nav_cap) = (1, 1);
    let target = Address::repeat_byte(0x11);
    dying.listing.targets.push(ListedTarget { target, role: Role::PositionManager });
    let mut observed = facts();
    for token in [COIN, WETH] {
        observed.tokens.get_mut(&token).unwrap().balance = Some(U256::ZERO);
    }
    let settlement = |balance: u64, allowance: u64| {
        let mut observed = observed.clone();
        let dollars = observed.tokens.get_mut(&USDC).unwrap();
        dollars.balance = Some(U256::from(balance * DOLLAR));
        dollars.allowance = Some(U256::from(allowance * DOLLAR));
        dollars.in_positions = Some(U256::from(10_000 * DOLLAR));
        radius(dying.clone(), &observed).causes.settlement
    };

    // One per cent of what lies in pools, whatever lies beside it.
    assert_eq!(settlement(0, 0), micro(100 * DOLLAR));
    assert_eq!(settlement(10_000, 0), micro(100 * DOLLAR));
    // And of the one unit of volume that turns something else around first.
    assert_eq!(settlement(10_000, 5_000), micro(100 * DOLLAR + 1));
}

/// A pool gives back shares of a vault, and those lose on their way out.
#[test]
fn shares_that_lie_in_pools_count_as_in_a_vault() {
    let mut unwinding = charter();
    unwinding.classes = Classes::of(&[Class::Withdraw, Class::RemoveLiquidity, Class::Collect]);
    let target = Address::repeat_byte(0x11);
    unwinding.listing.targets.push(ListedTarget { target, role: Role::PositionManager });
    unwinding.listing.tokens.push(token(VAULT, Role::Vault, 18));
    let mut observed = facts();
    let mut shares = held(2_500, 0, 0);
    shares.in_positions = Some(U256::from(4 * ETHER));
    observed.tokens.insert(VAULT, shares);
    // The other token of a pool becomes shares where somebody moves its price.
    let mut moved = facts();
    moved.tokens.insert(VAULT, held(2_500, 0, 0));
    moved.tokens.get_mut(&USDC).unwrap().in_positions = Some(U256::from(10_000 * DOLLAR));

    for observed in [&observed, &moved] {
        let lost = radius(unwinding.clone(), observed);
        assert_eq!(lost.causes.vaults, micro(100 * DOLLAR), "{lost}");
    }
    let mut without = unwinding;
    without.listing.tokens[2].role = None;
    without.listing.targets.push(ListedTarget { target: LAIR, role: Role::Vault });
    assert_eq!(radius(without, &moved).causes.vaults, micro(0), "no shares in any pool");
}

/// Who owns the account needs no grant, so that neither its end nor its beginning helps.
#[test]
fn an_owners_key_takes_everything_also_under_a_dead_grant() {
    let own = Delegation { delegate: ACCOUNT, ..root(&[rule_of(charter())]) };
    let by_charter = root(&[rule_of(GolemCharter { owner: KEY, ..charter() })]);
    for grant in [own, by_charter] {
        let disabled = Observed { disabled: vec![grant.hash().0], ..facts() };
        let whole = |now: u64, facts: &Observed| {
            let radius = of(vec![grant.clone()], now, facts);
            assert_eq!(radius.ended, None);
            assert!(radius.everything && radius.total().is_none(), "{radius}");
            assert_eq!(radius.causes.outflow, micro(37_500 * DOLLAR));
            assert_eq!(radius.days[0].cumulative, micro(37_525 * DOLLAR), "from the first day on");
        };
        whole(NOW, &facts());
        whole(NOW, &disabled);
        whole(NOW + 2 * WEEK, &facts());
        whole(NOW - WEEK, &facts());
        // But the grant itself is over, or has not begun.
        let chain = PermissionContext::new(vec![grant.clone()]).unwrap();
        let life = |now, facts: &Observed| Life::of(&chain, &environment(), now, facts).unwrap();
        let last = NOW + WEEK - 1;
        assert_eq!(life(NOW, &facts()), Life { from: NOW, until: Some(last), ended: None });
        assert_eq!(life(NOW - WEEK, &facts()).from, NOW);
        assert!(matches!(life(NOW, &disabled).ended, Some(Ended::Disabled { .. })));
        assert_eq!(life(last + 1, &facts()).ended, Some(Ended::Expired { at: last }));
    }
}

/// SPEC D6: a runway is the whole grant, whatever the owner's own account has today; and a charter says that it is not.
#[test]
fn a_runway_counts_whole_and_not_what_is_there_today() {
    let mut poor = facts();
    poor.tokens.get_mut(&USDC).unwrap().balance = Some(U256::ZERO);

    let (rich, empty) =
        (of(vec![root(&runway())], NOW, &facts()), of(vec![root(&runway())], NOW, &poor));
    let charter = radius(charter(), &poor);

    assert!(rich.causes.outflow.is_some_and(|sum| !sum.is_zero()), "{rich}");
    assert_eq!(empty.causes.outflow, rich.causes.outflow);
    assert!(!empty.assumptions.contains(&Assumption::NoIncome));
    assert!(!empty.to_string().contains("of what is there"), "{empty}");
    assert!(charter.assumptions.contains(&Assumption::NoIncome));
    assert!(charter.to_string().contains("of what is there"), "{charter}");
}

/// What is sent to nobody has left.
#[test]
fn a_beneficiary_that_gives_nothing_back_is_no_home() {
    let enforcer = environment().enforcer(Kind::LimitedCalls).unwrap();
    for beneficiary in [Address::ZERO, ANY_DELEGATE, charter().registry, enforcer] {
        let lost = radius(GolemCharter { beneficiary, ..charter() }, &facts());
        assert_eq!(lost.causes.outflow, micro(37_500 * DOLLAR), "{lost}");
    }
}

/// Without an end a runway has no sum, but for what has one of its own; and a charter that guards nothing changes nothing.
#[test]
fn a_runway_without_an_end_is_not_cut_to_what_is_there() {
    let day = |amount: u64| {
        Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
            token_address: USDC,
            period_amount: U256::from(amount * DOLLAR),
            period_duration: U256::from(DAY),
            start_date: U256::from(NOW),
        })
    };
    let no_coins = Rule::ValueLte(ValueLte(U256::ZERO));
    let end = Rule::Timestamp(Timestamp { after: 0, before: (NOW + 90 * DAY).into() });
    let sum = Rule::Erc20TransferAmount(Erc20TransferAmount {
        token_address: USDC,
        max_amount: U256::from(9_000 * DOLLAR),
    });
    let mut poor = facts();
    poor.tokens.get_mut(&USDC).unwrap().balance = Some(U256::from(250 * DOLLAR));
    let taken = |rules: &[Rule]| of(vec![root(rules)], NOW, &poor);

    let ending = taken(&[day(100), no_coins.clone(), end.clone()]);
    let endless = taken(&[day(100), no_coins.clone()]);
    let finite = taken(&[sum.clone(), no_coins.clone()]);
    let coins = taken(&[day(100), end]);

    assert_eq!(ending.causes.outflow, micro(9_000 * DOLLAR));
    assert_eq!((endless.total(), endless.causes.outflow), (None, None));
    assert!(endless.to_string().contains("without an end"), "{endless}");
    assert!(endless.assumptions.contains(&Assumption::Endless));
    // By any day it is what it is by then.
    assert_eq!(endless.days[9].cumulative, micro(1_025 * DOLLAR));
    assert_eq!(finite.causes.outflow, micro(9_000 * DOLLAR));
    assert!(
        coins.assumptions.contains(&Assumption::NoIncome),
        "coins are counted by what is there"
    );
    // A charter whose home is the key guards nothing.
    let open = GolemCharter { beneficiary: KEY, ..charter() };
    let guarded = taken(&[sum, no_coins, rule_of(open)]);
    assert_eq!(guarded.causes.outflow, micro(9_000 * DOLLAR), "{guarded}");
}

/// G13: wrapped coins that the charter lists to be called, and prices nowhere, are unwrapped into gas money all the same.
#[test]
fn wrapped_coins_that_are_a_target_alone_become_gas_money() {
    let mut poor = charter();
    poor.classes = Classes::of(&[Class::Publish, Class::Unwrap, Class::GasTopUp]);
    poor.listing.tokens.clear();
    poor.listing.targets.push(ListedTarget { target: WETH, role: Role::Weth });
    let mut observed = facts();
    observed.tokens.get_mut(&COIN).unwrap().balance = Some(U256::ZERO);
    let known = observed.tokens.get_mut(&WETH).unwrap();
    (known.balance, known.price, known.decimals) = (Some(U256::from(10 * ETHER)), None, None);

    // A week of 0.02 ether a day at 2,500, in whole units of the window.
    assert_eq!(radius(poor.clone(), &observed).causes.gas, micro(349_995_520));
    // And where nobody said how much there is, it is asked for.
    observed.tokens.remove(&WETH);
    let asked = radius(poor, &observed);
    assert_eq!(asked.total(), None);
    assert!(asked.missing.iter().any(|missing| missing.token == WETH && missing.what == "balance"));
}

/// G13: what a listed vault is made of need not be listed to be withdrawn, and so it is asked for.
#[test]
fn what_lies_in_a_vault_that_nobody_knows_is_not_nothing() {
    let dai = Address::repeat_byte(0xda);
    let mut law = charter();
    law.classes = Classes::of(&[Class::Withdraw, Class::Transfer]);
    law.slippage_bps = 500;
    law.listing.targets.push(ListedTarget { target: VAULT, role: Role::Vault });
    let mut observed = facts();
    observed.vaults.remove(&VAULT);

    let untold = radius(law.clone(), &observed);
    assert_eq!(untold.total(), None, "{untold}");
    let asked = Missing { token: VAULT, what: "asset" };
    assert_eq!(untold.missing, [asked]);

    // Told, its asset is asked for like any other.
    observed.vaults.insert(VAULT, dai);
    let asked = radius(law.clone(), &observed);
    assert_eq!(asked.total(), None, "{asked}");
    assert!(asked.missing.contains(&Missing { token: dai, what: "inVaults" }), "{asked:?}");
    // A hundred thousand dollars of it, of which five per cent are lost on their way out.
    let mut known = held(1, 0, 0);
    known.in_vaults = Some(U256::from(100_000 * DOLLAR));
    observed.tokens.insert(dai, known);
    assert_eq!(radius(law.clone(), &observed).causes.vaults, micro(5_000 * DOLLAR));

    // Who can neither withdraw nor send shares away takes nothing out of it.
    law.classes = Classes::of(&[Class::Deposit, Class::Approve]);
    observed.vaults.remove(&VAULT);
    assert!(radius(law, &observed).total().is_some());
}

/// A runway is counted whatever is there: so a price is asked for where nothing is.
#[test]
fn an_empty_runway_asks_for_its_price() {
    let mut empty = facts();
    let known = empty.tokens.get_mut(&USDC).unwrap();
    (known.balance, known.price) = (Some(U256::ZERO), None);

    let radius = of(vec![root(&runway())], NOW, &empty);

    assert_eq!(radius.total(), None);
    assert_eq!(radius.missing, [Missing { token: USDC, what: "price" }]);
}

/// An end that lies beyond all clocks is no end; and what has no end is not called a period.
#[test]
fn an_end_that_never_comes_is_none() {
    let mut rules = runway();
    rules[2] = Rule::Timestamp(Timestamp { after: 0, before: u128::MAX });
    let endless = of(vec![root(&rules)], NOW, &facts());
    assert_eq!(endless.until, None);
    assert!(endless.assumptions.contains(&Assumption::NoExpiry));
    assert!(endless.to_string().contains("ever more, without an end"), "{endless}");

    rules[2] = Rule::Timestamp(Timestamp { after: 0, before: (1 << 40) });
    assert_eq!(of(vec![root(&rules)], NOW, &facts()).until, Some((1 << 40) - 1));
}

/// What a charter says of revocation is its registry's word, and whose that is an owner reads.
#[test]
fn a_charter_believes_the_registry_that_it_names() {
    let charter = charter();
    let registry = charter.registry;
    let radius = radius(charter, &facts());
    assert!(radius.assumptions.contains(&Assumption::RegistryBehaves { registry }));
}

/// The framework's own contracts send nothing back.
#[test]
fn the_manager_is_no_home() {
    let manager = Address::repeat_byte(0xd0);
    let law = GolemCharter { beneficiary: manager, ..charter() };
    let chain = PermissionContext::new(vec![root(&[Rule::GolemCharter(Box::new(law))])]).unwrap();
    let taken = |environment: &Environment| {
        BlastRadius::of(&chain, environment, NOW, &facts()).unwrap().causes.outflow
    };
    assert_eq!(taken(&environment()), micro(0));
    assert_eq!(taken(&environment().beside(manager)), micro(37_500 * DOLLAR));
}
