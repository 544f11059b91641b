//! What an owner reads before he signs.

use crate::{
    bundles::{ROUTER, USDC, WETH, whole},
    fixtures::environment,
};
use alloy_primitives::{Address, B256, Bytes, Selector, U256, bytes};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, Explanation, Gap, Kind, Opaque, ROOT_AUTHORITY, Rule,
    TermsError,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, Cadence, ChangeType, CharterMood, Class, Classes, DailySpendLimit, Deployed,
        DreamMode, EmotionalState, Erc20BalanceChange, Erc20PeriodTransfer, Erc20Streaming,
        Erc20TransferAmount, Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange,
        ExactCalldata, ExactCalldataBatch, ExactExecution, ExactExecutionBatch, Execution,
        GolemCharter, GolemPhase, Holdings, Id, KnowledgeRoyalty, LimitedCalls, Listing,
        LogicalOrWrapper, MaxSlippage, MoodBounds, MortalityTimeWindow, MultiTokenPeriod,
        NativeBalanceChange, NativeTokenPayment, NativeTokenPeriodTransfer, NativeTokenStreaming,
        NativeTokenTransferAmount, Nonce, OwnershipTransfer, Redeemer, ReplicantBudget,
        SpecificActionErc20TransferBatch, Threshold, Timestamp, TokenPeriod, ValueLte, VaultNav,
    },
};
use std::{
    collections::BTreeSet,
    num::{NonZeroU8, NonZeroU32},
};

const ONE: Address = Address::repeat_byte(1);
const TWO: Address = Address::repeat_byte(2);
const GOLEM: B256 = B256::repeat_byte(7);
const NOON: u64 = 1_800_014_400;
const NOON_TEXT: &str = "2027-01-15T12:00:00Z";

fn number(value: u64) -> U256 {
    U256::from(value)
}

/// Each kind once, with a part of its sentence that only the right field gives.
fn sentences() -> Vec<(Rule, Vec<String>)> {
    let listing = Listing { sequencer_feed: TWO, sequencer_grace: 60, ..whole().listing };
    let call = Execution { target: ONE, value: number(5), call_data: bytes!("abcd") };
    let bounds = MoodBounds { min_pleasure: -10, max_arousal: 60, min_dominance: -70 };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let (one, golem) = (ONE.to_string(), GOLEM.to_string());
    vec![
        (
            Rule::AllowedCalldata(AllowedCalldata { start: number(4), value: bytes!("beef") }),
            words(&["0xbeef", "byte 4"]),
        ),
        (
            Rule::AllowedMethods(AllowedMethods(vec![Selector::repeat_byte(0xa9)])),
            words(&["0xa9a9a9a9"]),
        ),
        (Rule::AllowedTargets(AllowedTargets(vec![ONE])), words(&[&one])),
        (
            Rule::ApprovalRevocation(ApprovalRevocation {
                erc20_approve: true,
                erc721_approve: false,
                erc721_set_approval_for_all: false,
                permit2_approve: false,
                permit2_lockdown: true,
                permit2_invalidate_nonces: false,
            }),
            words(&["only takes approvals back", "approving 0 of a token", "lockdown"]),
        ),
        (Rule::ArgsEqualityCheck(ArgsEqualityCheck(bytes!("0102"))), words(&["0x0102"])),
        (
            Rule::BlockNumber(BlockNumber { after: 5, before: 9 }),
            words(&["after block 5", "before block 9"]),
        ),
        (
            Rule::Deployed(Deployed {
                contract_address: ONE,
                salt: B256::ZERO,
                bytecode: bytes!("6001"),
            }),
            words(&[&one, "code 0x6001"]),
        ),
        (
            Rule::Erc1155BalanceChange(Erc1155BalanceChange {
                change_type: ChangeType::INCREASE,
                token_address: TWO,
                recipient: ONE,
                token_id: number(8),
                balance: number(3),
            }),
            words(&[&one, "brings", "3 of token 8", "at least"]),
        ),
        (
            Rule::Erc20BalanceChange(Erc20BalanceChange {
                change_type: ChangeType::DECREASE,
                token_address: TWO,
                recipient: ONE,
                balance: number(3),
            }),
            words(&[&one, "costs", "3 base units", "at most"]),
        ),
        (
            Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                token_address: ONE,
                period_amount: number(100),
                period_duration: number(604_800),
                start_date: number(NOON),
            }),
            words(&["100 base units", &one, "7 days", NOON_TEXT]),
        ),
        (
            Rule::Erc20Streaming(Erc20Streaming {
                token_address: ONE,
                initial_amount: number(11),
                max_amount: number(33),
                amount_per_second: number(22),
                start_time: number(NOON),
            }),
            words(&["11 base units", &one, "22 more with every second", "33 at most", NOON_TEXT]),
        ),
        (
            Rule::Erc20TransferAmount(Erc20TransferAmount {
                token_address: ONE,
                max_amount: number(44),
            }),
            words(&["44 base units", &one, "whole life"]),
        ),
        (
            Rule::Erc721BalanceChange(Erc721BalanceChange {
                change_type: ChangeType::INCREASE,
                token_address: ONE,
                recipient: TWO,
                amount: number(2),
            }),
            words(&["2 tokens of the collection", &one]),
        ),
        (
            Rule::Erc721Transfer(Erc721Transfer { token_address: ONE, token_id: number(12) }),
            words(&["token 12", &one]),
        ),
        (Rule::ExactCalldata(ExactCalldata(bytes!("c0de"))), words(&["0xc0de"])),
        (
            Rule::ExactCalldataBatch(ExactCalldataBatch(vec![call.clone()])),
            words(&["one call", "0xabcd"]),
        ),
        (Rule::ExactExecution(ExactExecution(call.clone())), words(&[&one, "5 wei", "0xabcd"])),
        (
            Rule::ExactExecutionBatch(ExactExecutionBatch(vec![call.clone(), call])),
            words(&["2 calls", "5 wei"]),
        ),
        (Rule::Id(Id(number(77))), words(&["once", "77"])),
        (Rule::LimitedCalls(LimitedCalls(number(1))), words(&["can be used once at most"])),
        (
            Rule::LogicalOrWrapper(LogicalOrWrapper(vec![vec![Caveat::new(ONE, vec![])], vec![]])),
            words(&["One of 2 groups", &one, "allows everything"]),
        ),
        (
            Rule::MultiTokenPeriod(MultiTokenPeriod(vec![TokenPeriod {
                token: Address::ZERO,
                period_amount: number(6),
                period_duration: number(3_600),
                start_date: number(NOON),
            }])),
            words(&["6 wei in each 1 hour", NOON_TEXT]),
        ),
        (
            Rule::NativeBalanceChange(NativeBalanceChange {
                change_type: ChangeType::DECREASE,
                recipient: ONE,
                balance: number(9),
            }),
            words(&[&one, "9 wei at most"]),
        ),
        (
            Rule::NativeTokenPayment(NativeTokenPayment { recipient: ONE, amount: number(10) }),
            words(&["10 wei", &one]),
        ),
        (
            Rule::NativeTokenPeriodTransfer(NativeTokenPeriodTransfer {
                period_amount: number(13),
                period_duration: number(90),
                start_date: number(NOON),
            }),
            words(&["13 wei", "90 seconds", NOON_TEXT]),
        ),
        (
            Rule::NativeTokenStreaming(NativeTokenStreaming {
                initial_amount: number(14),
                max_amount: number(16),
                amount_per_second: number(15),
                start_time: number(NOON),
            }),
            words(&["14 wei", "15 more", "16 at most"]),
        ),
        (
            Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(number(17))),
            words(&["17 wei at most"]),
        ),
        (Rule::Nonce(Nonce(number(18))), words(&["nonce is 18"])),
        (Rule::OwnershipTransfer(OwnershipTransfer(ONE)), words(&["owner of", &one])),
        (Rule::Redeemer(Redeemer(vec![ONE])), words(&["Only", &one])),
        (
            Rule::SpecificActionErc20TransferBatch(SpecificActionErc20TransferBatch {
                token_address: TWO,
                recipient: USDC,
                amount: number(19),
                target: ONE,
                value: number(23),
                calldata: bytes!("d00d"),
            }),
            words(&["Once", &one, "23 wei", "0xd00d", "19 base units"]),
        ),
        (
            Rule::Timestamp(Timestamp { after: 0, before: NOON.into() }),
            words(&["before", NOON_TEXT]),
        ),
        (Rule::ValueLte(ValueLte(number(20))), words(&["20 wei of native value"])),
        (
            Rule::Cadence(Cadence {
                golem_id: GOLEM,
                period: NonZeroU32::new(604_800).unwrap(),
                count: NonZeroU8::MIN,
            }),
            words(&["once at most in any 7 days", &golem]),
        ),
        (
            Rule::DailySpendLimit(DailySpendLimit {
                golem_id: GOLEM,
                epoch: 6,
                cap: 1_500_000,
                bucket_minutes: 120,
                listing: listing.clone(),
            }),
            words(&["$1.50 at most in any 1 day", &golem, "number 6"]),
        ),
        (Rule::DreamMode(DreamMode { golem_id: GOLEM, registry: ONE }), words(&["dreams", &golem])),
        (
            Rule::EmotionalState(EmotionalState {
                golem_id: GOLEM,
                registry: ONE,
                staleness: 3_600,
                bounds,
                selectors: vec![Selector::repeat_byte(4)],
            }),
            words(&[
                "0x04040404",
                "pleasure of -10 or more",
                "arousal of 60 or less",
                "-70",
                "1 hour",
            ]),
        ),
        (
            Rule::GolemCharter(Box::new(GolemCharter {
                classes: Classes::of(&[Class::Swap, Class::Transfer]),
                max_royalty_bps: Some(250),
                mood: Some(CharterMood { bounds, classes: Classes::of(&[Class::Swap]) }),
                vault: ONE,
                nav_bps: 200,
                listing: listing.clone(),
                ..whole()
            })),
            words(&[
                "or a child of it",
                "1970-01-01T00:16:40Z",
                "1970-01-01T02:46:40Z",
                "It may swap, send home, at",
                "$1000 at most in any 12 hours, and at once 2 % of the vault",
                "and $500 at most",
                "lose 1 % at most",
                "by feed 0x0909090909090909090909090909090909090909 (",
                "2.50 % of the price",
                "only while it feels pleasure of -10",
                "grant number 3 of generation 0",
                &format!("router {ROUTER}"),
            ]),
        ),
        (
            Rule::GolemPhase(GolemPhase {
                golem_id: GOLEM,
                registry: ONE,
                staleness: 60,
                listing: listing.clone(),
            }),
            words(&["phase of life", &golem, "1 minute"]),
        ),
        (
            Rule::Holdings(Holdings {
                golem_id: GOLEM,
                account: ONE,
                staleness: 1,
                series: 1,
                thriving_bps: 3_000,
                stable_bps: 2_000,
                drawdown_bps: 1_525,
                registry: TWO,
                cash: USDC,
                loss_bps: 100,
                listing: listing.clone(),
            }),
            words(&[&one, "30 %", "20 %", "15.25 % below its best", "1 % at most"]),
        ),
        (
            Rule::KnowledgeRoyalty(KnowledgeRoyalty { market: ONE, max_royalty_bps: 1_000 }),
            words(&[&one, "10 % of the price"]),
        ),
        (
            Rule::MaxSlippage(MaxSlippage { bps: 50, listing: listing.clone() }),
            words(&["lose 0.50 % at most", "by feed"]),
        ),
        (
            Rule::MortalityTimeWindow(MortalityTimeWindow::new(0, NOON).unwrap()),
            words(&["1970-01-01T00:00:00Z", NOON_TEXT, "both included"]),
        ),
        (
            Rule::ReplicantBudget(ReplicantBudget {
                replicant_id: GOLEM,
                budget: 50_000_001,
                not_after: NOON,
                listing: listing.clone(),
            }),
            words(&[&golem, "$50.000001 at most", NOON_TEXT]),
        ),
        (
            Rule::Threshold(Threshold::new(2, vec![ONE, TWO, USDC_TWIN]).unwrap()),
            words(&["2 of", &one, "very call"]),
        ),
        (
            Rule::VaultNav(VaultNav {
                golem_id: GOLEM,
                vault: ONE,
                bps: 500,
                cap: 7_000_000,
                listing,
            }),
            words(&["5 % of the vault", &one, "$7 at most"]),
        ),
    ]
}

const USDC_TWIN: Address = Address::repeat_byte(0x0c);

#[test]
fn every_kind_has_a_sentence_with_its_numbers() {
    let all = sentences();
    let kinds: BTreeSet<Kind> = all.iter().filter_map(|(rule, _)| rule.kind()).collect();
    assert_eq!(kinds, Kind::ALL.iter().copied().collect(), "every kind is here");

    for (rule, parts) in all {
        let sentences = rule.explain();
        assert!(sentences.iter().all(|one| one.ends_with('.') && !one.contains("  ")));
        let sentence = sentences.join(" ");
        for part in parts {
            assert!(sentence.contains(&part), "{:?}: no {part:?} in {sentence:?}", rule.kind());
        }
    }
}

#[test]
fn an_unknown_enforcer_is_called_unknown() {
    let rule = Rule::Opaque(Opaque { enforcer: ONE, terms: bytes!("01") });

    let sentences = rule.explain();

    assert_eq!(
        sentences,
        [
            "An unknown enforcer 0x0101010101010101010101010101010101010101: nothing is known of what it allows."
        ]
    );
}

/// SPEC D8: to the last micro-dollar, and never a float.
#[test]
fn money_is_shown_to_the_last_unit() {
    let budget = |budget| {
        let rule = ReplicantBudget {
            replicant_id: GOLEM,
            budget,
            not_after: 1,
            listing: Listing::default(),
        };
        Rule::ReplicantBudget(rule).explain().concat()
    };

    for (micros, text) in [
        (0, "$0 at"),
        (1, "$0.000001 at"),
        (100_000, "$0.10 at"),
        (999_999, "$0.999999 at"),
        (1_000_000, "$1 at"),
        (u64::MAX, "$18446744073709.551615 at"),
    ] {
        assert!(budget(micros).contains(text), "{}", budget(micros));
    }
}

/// ATK-33: dates off by one would let an owner sign another day.
#[test]
fn seconds_are_shown_as_their_dates() {
    let at = |end| {
        Rule::MortalityTimeWindow(MortalityTimeWindow::new(end, end).unwrap()).explain().concat()
    };

    for (second, date) in [
        (0, "1970-01-01T00:00:00Z"),
        (86_399, "1970-01-01T23:59:59Z"),
        (86_400, "1970-01-02T00:00:00Z"),
        (951_782_399, "2000-02-28T23:59:59Z"),
        (951_782_400, "2000-02-29T00:00:00Z"),
        (951_868_800, "2000-03-01T00:00:00Z"),
        (1_709_164_800, "2024-02-29T00:00:00Z"),
        (1_735_689_599, "2024-12-31T23:59:59Z"),
        (1_735_689_600, "2025-01-01T00:00:00Z"),
        (4_107_542_399, "2100-02-28T23:59:59Z"),
        (4_107_542_400, "2100-03-01T00:00:00Z"),
        (253_402_300_799, "9999-12-31T23:59:59Z"),
        (253_402_300_800, "second 253402300800"),
        (u64::MAX, "second 18446744073709551615"),
    ] {
        assert!(at(second).contains(&format!("until {date}")), "{}", at(second));
    }
    let open = |after, before| Rule::Timestamp(Timestamp { after, before }).explain().concat();
    assert_eq!(open(0, 0), "It works at any time.");
    assert_eq!(open(5, 6), "It never works: no time lies between its ends.");
    assert_eq!(open(u128::MAX, 0), format!("It works after second {}.", u128::MAX));
}

/// Whoever signs a list is bound by its last entry too; only bytes that nobody reads are cut, and say so.
#[test]
fn long_lists_are_whole_and_long_bytes_are_cut_and_say_so() {
    let many: Vec<Address> = (1..=20).map(Address::repeat_byte).collect();
    let targets = Rule::AllowedTargets(AllowedTargets(many.clone())).explain().concat();
    let entry = |token: Address, amount: u64| TokenPeriod {
        token,
        period_amount: number(amount),
        period_duration: number(1),
        start_date: number(1),
    };
    let mut entries: Vec<TokenPeriod> = many.iter().map(|token| entry(*token, 1)).collect();
    entries.push(entry(USDC, 1_000_000_000_000_000));
    let periods = Rule::MultiTokenPeriod(MultiTokenPeriod(entries)).explain().concat();
    let long = Rule::ExactCalldata(ExactCalldata(vec![7; 5_000].into())).explain().concat();

    assert!(many.iter().all(|target| targets.contains(&target.to_string())), "{targets}");
    assert!(periods.contains("1000000000000000 ") && periods.contains(&USDC.to_string()));
    assert!(long.contains("(5000 bytes, keccak-256 0x") && long.len() < 400, "{long}");
}

fn charter_of(account: Address) -> Rule {
    Rule::GolemCharter(Box::new(GolemCharter { account, ..whole() }))
}

fn grant(rules: &[Rule]) -> Delegation {
    let environment = environment();
    Delegation {
        delegate: ONE,
        delegator: TWO,
        authority: ROOT_AUTHORITY,
        caveats: rules.iter().map(|rule| environment.caveat(rule).unwrap().unwrap()).collect(),
        salt: U256::ZERO,
        signature: Bytes::from(vec![1]),
    }
}

fn gaps(delegation: &Delegation) -> Vec<Gap> {
    Explanation::of(delegation, &environment()).gaps
}

#[test]
fn a_charter_alone_leaves_no_gap() {
    let charter = charter_of(TWO);

    assert_eq!(gaps(&grant(&[charter])), []);
}

/// ATK-11.
#[test]
fn what_nobody_said_is_said() {
    let bare = grant(&[]);
    assert_eq!(gaps(&bare), [Gap::NoCaveats, Gap::NoExpiry, Gap::NoSpendBound]);
    let charter = charter_of(TWO);
    let mut open = grant(std::slice::from_ref(&charter));
    open.delegate = ANY_DELEGATE;
    assert_eq!(gaps(&open), [Gap::AnyDelegate]);
    let mut council = grant(&[charter.clone(), Rule::Redeemer(Redeemer(vec![ONE]))]);
    council.delegate = ANY_DELEGATE;
    assert_eq!(gaps(&council), [], "anyone, but one of these redeems");
    let unsigned = grant(std::slice::from_ref(&charter)).signed(Vec::new());
    assert_eq!(gaps(&unsigned), [Gap::NotSigned]);
    let nobody = Delegation { delegate: Address::ZERO, ..grant(&[charter]) };
    assert_eq!(gaps(&nobody), [Gap::Nobody]);
    // A time without an end is none, and a bound on one call is none on all of them.
    let endless = grant(&[
        Rule::Timestamp(Timestamp { after: 9, before: 0 }),
        Rule::ValueLte(ValueLte(U256::ZERO)),
    ]);
    assert_eq!(gaps(&endless), [Gap::NoExpiry, Gap::NoSpendBound]);
    // ATK-17: a call that carries no coins can still move them, unless its data is fixed.
    let end = Rule::Timestamp(Timestamp { after: 0, before: 9 });
    let coins = Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(number(1)));
    let open = grant(&[end.clone(), coins.clone()]);
    assert_eq!(gaps(&open), [Gap::NoSpendBound]);
    let plain = Rule::ExactCalldata(ExactCalldata(Bytes::new()));
    assert_eq!(gaps(&grant(&[end.clone(), coins, plain])), []);
    // A spend limit counts what is traded, and not what is sent away.
    let (golem_id, listing) = (GOLEM, Listing::default());
    let (epoch, cap, bucket_minutes) = (1, 1_000_000, 120);
    let spend = DailySpendLimit { golem_id, epoch, cap, bucket_minutes, listing };
    let traded = grant(&[end, Rule::DailySpendLimit(spend)]);
    assert_eq!(gaps(&traded), [Gap::NoSpendBound]);
    let token = Erc20TransferAmount { token_address: WETH, max_amount: number(1) };
    let small = grant(&[
        Rule::Timestamp(Timestamp { after: 0, before: 9 }),
        Rule::Erc20TransferAmount(token),
    ]);
    assert_eq!(gaps(&small), [Gap::CoinsUnbounded]);
}

#[test]
fn what_cannot_be_read_is_not_guessed() {
    let environment = environment();
    let mut odd = grant(&[charter_of(TWO)]);
    odd.caveats.push(Caveat::new(Address::repeat_byte(0x99), vec![1]));
    odd.caveats.push(Caveat::new(environment.enforcer(Kind::LimitedCalls).unwrap(), vec![1]));

    let words = Explanation::of(&odd, &environment);

    let error = TermsError::Length { expected: 32, actual: 1 };
    assert_eq!(words.gaps, [Gap::Unknown(1), Gap::Malformed { caveat: 2, error }]);
    assert_eq!(words.clauses[1].kind, None);
    assert!(words.clauses[2].sentences[0].contains("nothing can be done"));
    let text = words.to_string();
    let rules = words.clauses[0].sentences.len();
    assert!(rules >= 9, "a charter's rules have a line each: {text}");
    assert_eq!(text.lines().count(), 1 + rules + 2 + 2);
    assert!(text.starts_with(&format!("{ONE} may act for {TWO}.\n  1. Golem")), "{text}");
    assert!(text.contains("\n  ! one unknown enforcer: nothing is known of what it allows\n"));
}

#[test]
fn a_child_says_whose_grant_it_uses() {
    let child = Delegation { authority: GOLEM, ..grant(&[]) };

    let words = Explanation::of(&child, &environment());

    assert_eq!(words.parties, format!("{ONE} may use what {TWO} was lent by {GOLEM}."));
}

/// What looks like a bound and is none.
#[test]
fn a_second_schedule_and_coins_that_ride_along_are_gaps() {
    let environment = environment();
    let every = |amount: u64| {
        Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
            token_address: Address::repeat_byte(1),
            period_amount: U256::from(amount),
            period_duration: U256::from(86_400),
            start_date: U256::from(1),
        })
    };
    let gaps = |rules: &[Rule]| {
        let caveat = |rule| environment.caveat(rule).unwrap().unwrap();
        let grant = Delegation {
            delegate: Address::repeat_byte(1),
            delegator: Address::repeat_byte(2),
            authority: ROOT_AUTHORITY,
            caveats: rules.iter().map(caveat).collect(),
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        Explanation::of(&grant, &environment).gaps
    };

    let two = gaps(&[every(1_000_000), every(1)]);
    assert!(
        two.contains(&Gap::OnlyCounts { caveat: 1 })
            && !two.contains(&Gap::OnlyCounts { caveat: 0 })
    );
    assert!(two.contains(&Gap::CoinsUnbounded));
    let none = Rule::ValueLte(ValueLte(U256::ZERO));
    let one = gaps(&[every(1), none]);
    assert!(!one.contains(&Gap::CoinsUnbounded) && !one.contains(&Gap::OnlyCounts { caveat: 1 }));
}

/// Proceeds of the account's money that another one keeps.
#[test]
fn a_charter_of_another_account_is_a_gap() {
    let foreign = grant(&[charter_of(ONE)]);
    let child = Delegation { authority: GOLEM, ..foreign.clone() };

    assert_eq!(gaps(&foreign), [Gap::OtherAccount { account: ONE }]);
    assert!(foreign.is_root() && !child.is_root());
    assert_eq!(gaps(&child), [], "below the root the delegator is not whose money it is");
}

/// An approval is one call that moves nothing, and everything later.
#[test]
fn a_fixed_call_bounds_only_where_it_says_how_much_it_moves() {
    let data = |selector: [u8; 4], length: usize| {
        let mut data = selector.to_vec();
        data.resize(length, 0xff);
        Bytes::from(data)
    };
    let transfer = data([0xa9, 0x05, 0x9c, 0xbb], 68);
    let approve = data([0x09, 0x5e, 0xa7, 0xb3], 68);
    let longer = data([0xa9, 0x05, 0x9c, 0xbb], 69);
    let call = |call_data: &Bytes| Execution {
        target: WETH,
        value: number(0),
        call_data: call_data.clone(),
    };
    let once = Rule::LimitedCalls(LimitedCalls(number(1)));
    let coins = Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(number(0)));
    let bounded = |rules: &[Rule]| {
        let rules = [rules, std::slice::from_ref(&once)].concat();
        !gaps(&grant(&rules)).contains(&Gap::NoSpendBound)
    };
    for (data, said) in
        [(transfer.clone(), true), (approve, false), (longer, false), (Bytes::new(), true)]
    {
        let single = Rule::ExactExecution(ExactExecution(call(&data)));
        let batch = vec![call(&transfer), call(&data)];
        let batch = Rule::ExactExecutionBatch(ExactExecutionBatch(batch));
        let fixed = Rule::ExactCalldata(ExactCalldata(data.clone()));
        assert_eq!(bounded(&[single]), said, "{data}");
        assert_eq!(bounded(&[batch]), said, "{data}");
        assert_eq!(bounded(&[fixed, coins.clone()]), said, "{data}");
    }
}

/// An approval before a transfer is an approval.
#[test]
fn a_batch_that_approves_first_bounds_nothing() {
    let action = |calldata: Vec<u8>| {
        Rule::SpecificActionErc20TransferBatch(SpecificActionErc20TransferBatch {
            token_address: USDC,
            recipient: ONE,
            amount: number(1),
            target: USDC,
            value: number(0),
            calldata: calldata.into(),
        })
    };
    let mut approve = vec![0x09, 0x5e, 0xa7, 0xb3];
    approve.resize(68, 0xff);

    assert!(gaps(&grant(&[action(approve)])).contains(&Gap::NoSpendBound));
    assert!(!gaps(&grant(&[action(vec![])])).contains(&Gap::NoSpendBound));
}

/// What is not read here may be read by its contract: only what that refuses each time is called dead.
#[test]
fn terms_in_another_form_are_not_called_dead() {
    let environment = environment();
    let caveat =
        |kind: Kind, terms: Vec<u8>| Caveat::new(environment.enforcer(kind).unwrap(), terms);
    let either = LogicalOrWrapper(vec![vec![]]).encode().unwrap();
    let good = TokenPeriod {
        token: USDC,
        period_amount: U256::from(1_000_000_000_000_000_u64),
        period_duration: number(86_400),
        start_date: number(1),
    };
    let entry = |period: &TokenPeriod| MultiTokenPeriod(vec![*period]).encode();
    let mut periods = entry(&good).unwrap();
    let mut dead = entry(&good).unwrap();
    // The amount of the second entry, behind its token, is none.
    dead[20..52].fill(0);
    periods.extend(dead);
    let may_allow = [
        caveat(Kind::LogicalOrWrapper, [either, vec![0; 32]].concat()),
        caveat(Kind::MultiTokenPeriod, periods),
    ];
    let refused = [
        caveat(Kind::LimitedCalls, vec![1]),
        caveat(Kind::Timestamp, vec![0; 31]),
        caveat(Kind::AllowedTargets, vec![0; 21]),
    ];
    let said = |caveat: &Caveat| {
        let grant = Delegation { caveats: vec![caveat.clone()], ..grant(&[]) };
        let words = Explanation::of(&grant, &environment);
        (words.clauses[0].sentences[0].clone(), words.gaps)
    };

    for caveat in &may_allow {
        let (sentence, gaps) = said(caveat);
        assert!(sentence.contains("may allow anything"), "{sentence}");
        assert!(gaps.iter().any(|gap| matches!(gap, Gap::Unreadable { caveat: 0, .. })));
    }
    for caveat in &refused {
        let (sentence, gaps) = said(caveat);
        assert!(sentence.contains("nothing can be done"), "{sentence}");
        assert!(gaps.iter().any(|gap| matches!(gap, Gap::Malformed { caveat: 0, .. })));
    }
}

/// What is sent to nobody, or to a contract that gives nothing back, has not come home.
#[test]
fn nobody_and_contracts_are_no_home() {
    let charter = whole();
    let enforcer = environment().enforcer(Kind::LimitedCalls).unwrap();
    for beneficiary in [Address::ZERO, ANY_DELEGATE, charter.registry, USDC, ROUTER, enforcer] {
        let law = GolemCharter { account: TWO, beneficiary, ..charter.clone() };
        let gaps = gaps(&grant(&[Rule::GolemCharter(Box::new(law))]));
        assert_eq!(gaps, [Gap::NoHome { beneficiary }]);
    }
}

/// Two calls that differ behind what is shown are told apart; and so are two charters that differ in their feeds alone.
#[test]
fn what_differs_reads_differently() {
    let call = |last: u8| {
        let mut data = vec![0x23, 0xb8, 0x72, 0xdd];
        data.resize(99, 0);
        data.push(last);
        Rule::ExactCalldata(ExactCalldata(data.into())).explain()
    };
    assert_ne!(call(1), call(2));
    let mut other = whole();
    other.listing.tokens[0].feed = Address::repeat_byte(0x66);
    let words = |charter: GolemCharter| Rule::GolemCharter(Box::new(charter)).explain();
    assert_ne!(words(whole()), words(other));
}

/// Whatever an owner signs he reads: of two rules of a kind that differ in one thing, the words differ.
#[test]
fn every_field_is_in_the_words() {
    // What a rule carries and does not look at says nothing: a phase asks for no price, and a batch that is fixed in
    // its data alone may go anywhere.
    let silent = |kind: Kind, path: &str| {
        let unread: &[&str] = match kind {
            Kind::GolemPhase => &["feed", "tokenDecimals", "feedDecimals", "maxAge", "sequencer"],
            Kind::ExactCalldataBatch => &["target", "value"],
            // Whoever redeems brings his own.
            Kind::LogicalOrWrapper => &["args"],
            _ => &[],
        };
        unread.iter().any(|name| path.contains(name))
    };
    for (rule, _) in sentences() {
        let kind = rule.kind().unwrap();
        let written = serde_json::to_value(&rule).unwrap();
        let mut leaves = Vec::new();
        collect(&written, String::new(), &mut leaves);
        assert!(!leaves.is_empty(), "{kind:?}");
        let mut changed = 0;
        for (path, leaf) in leaves {
            if path == "/kind" || silent(kind, &path) {
                continue;
            }
            for other in others(&leaf) {
                // Every number but zero says that a balance may fall.
                if path.ends_with("changeType") && leaf != 0 && other != 0 {
                    continue;
                }
                let mut written = written.clone();
                *written.pointer_mut(&path).unwrap() = other;
                let Ok(read) = serde_json::from_value::<Rule>(written) else { continue };
                if read == rule {
                    continue;
                }
                changed += 1;
                assert_ne!(read.explain(), rule.explain(), "{kind:?} {path}");
            }
        }
        assert!(changed > 0, "{kind:?}: nothing could be changed");
    }
}

/// Every value in a document that is no list and no object, with the way to it.
fn collect(value: &serde_json::Value, path: String, into: &mut Vec<(String, serde_json::Value)>) {
    use serde_json::Value;
    match value {
        Value::Array(list) => {
            for (at, entry) in list.iter().enumerate() {
                collect(entry, format!("{path}/{at}"), into);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                collect(field, format!("{path}/{name}"), into);
            }
        }
        leaf => into.push((path, leaf.clone())),
    }
}

/// What could stand there instead.
fn others(leaf: &serde_json::Value) -> Vec<serde_json::Value> {
    use serde_json::{Value, json};
    match leaf {
        Value::Bool(is) => vec![json!(!is)],
        Value::Number(number) => match number.as_i64() {
            Some(number) => vec![json!(number + 1), json!(number - 1)],
            None => Vec::new(),
        },
        Value::String(text) => match text.strip_prefix("0x") {
            // Another last digit; and one byte more, where the length is free.
            Some(digits) => {
                let mut other = digits.to_owned();
                let last = other.pop();
                other.push(if last == Some('1') { '2' } else { '1' });
                vec![json!(format!("0x{other}")), json!(format!("0x{digits}00"))]
            }
            None => match text.parse::<u128>() {
                Ok(number) => vec![json!((number + 1).to_string())],
                Err(_name) => [
                    "token",
                    "weth",
                    "vault",
                    "swapRouter",
                    "swap",
                    "deposit",
                    "increase",
                    "decrease",
                ]
                .map(|name| json!(name))
                .into(),
            },
        },
        _ => Vec::new(),
    }
}

/// What stands in a group is read like any other caveat, and what nobody knows there is called so.
#[test]
fn groups_are_read_and_what_is_unknown_in_them_is_said() {
    let environment = environment();
    let known = |rule: &Rule| environment.caveat(rule).unwrap().unwrap();
    let targets = (1..=6).map(Address::repeat_byte).collect::<Vec<_>>();
    let clock = environment.enforcer(Kind::Timestamp).unwrap();
    let groups = vec![
        vec![known(&Rule::AllowedTargets(AllowedTargets(targets.clone())))],
        vec![Caveat::new(Address::repeat_byte(0xbb), vec![0x12, 0x34])],
        vec![Caveat::new(clock, vec![0])],
        vec![],
    ];
    let wrapped = Rule::LogicalOrWrapper(LogicalOrWrapper(groups));
    let words = Explanation::of(&grant(std::slice::from_ref(&wrapped)), &environment);
    let said = words.clauses[0].sentences.join("\n");

    assert!(targets.iter().all(|target| said.contains(&target.to_string())), "{said}");
    assert!(said.contains("Group 2: An unknown enforcer"), "{said}");
    assert!(said.contains("Group 3: Its enforcer refuses it"), "{said}");
    assert!(said.contains("Group 4: nothing at all, which allows everything."), "{said}");
    assert!(words.gaps.contains(&Gap::Unknown(1)), "{:?}", words.gaps);

    // Groups within groups are read to a depth, and what lies deeper is not known.
    let mut nested = wrapped;
    for _ in 0..50 {
        nested = Rule::LogicalOrWrapper(LogicalOrWrapper(vec![vec![known(&nested)]]));
    }
    assert!(Explanation::of(&grant(&[nested]), &environment).gaps.contains(&Gap::Unknown(1)));
}

/// An end that lies beyond all clocks is none.
#[test]
fn an_end_beyond_all_clocks_is_no_expiry() {
    let until = |before: u128| gaps(&grant(&[Rule::Timestamp(Timestamp { after: 0, before })]));
    assert!(until(1 << 40).contains(&Gap::NoExpiry));
    assert!(!until((1 << 40) - 1).contains(&Gap::NoExpiry));
}
