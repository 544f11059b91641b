//! SPEC G4, ATK-07: a child that is wider in any single dimension is refused, and the dimension is named.
//!
//! That what is accepted is a subset on chain is shown by `bardo-e2e::it attenuation`.

use alloy_primitives::{Address, B256, Bytes, Selector, U256};
use golem_delegation::{
    Looser, MOST_OF_ONE_KIND, Opaque, Rule, attenuates,
    terms::{
        AllowedTargets, CharterMood, Class, Classes, DailySpendLimit, EmotionalState,
        Erc20PeriodTransfer, Erc20Streaming, GolemCharter, Holdings, LimitedCalls, ListedTarget,
        ListedToken, Listing, MoodBounds, MortalityTimeWindow, MultiTokenPeriod, Nonce, Role,
        Timestamp, TokenPeriod,
    },
};

fn refused(parent: &Rule, child: &Rule) -> Vec<Looser> {
    attenuates(std::slice::from_ref(parent), std::slice::from_ref(child)).unwrap_err()
}

fn calls(limit: u64) -> Rule {
    Rule::LimitedCalls(LimitedCalls(U256::from(limit)))
}

fn targets(bytes: &[u8]) -> Rule {
    Rule::AllowedTargets(AllowedTargets(bytes.iter().copied().map(Address::repeat_byte).collect()))
}

const fn until(after: u128, before: u128) -> Rule {
    Rule::Timestamp(Timestamp { after, before })
}

fn every(amount: u64, seconds: u64, start: u64) -> Rule {
    Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
        token_address: Address::repeat_byte(1),
        period_amount: U256::from(amount),
        period_duration: U256::from(seconds),
        start_date: U256::from(start),
    })
}

fn stream(initial: u64, most: u64, rate: u64, start: u64) -> Rule {
    Rule::Erc20Streaming(Erc20Streaming {
        token_address: Address::repeat_byte(1),
        initial_amount: U256::from(initial),
        max_amount: U256::from(most),
        amount_per_second: U256::from(rate),
        start_time: U256::from(start),
    })
}

fn cap(cap: u64) -> Rule {
    Rule::DailySpendLimit(DailySpendLimit {
        golem_id: B256::ZERO,
        epoch: 1,
        cap,
        bucket_minutes: 120,
        listing: Listing::default(),
    })
}

fn one(parent: Rule, child: Rule) -> bool {
    attenuates(&[parent], &[child]).is_ok()
}

#[test]
fn what_a_child_leaves_out_it_inherits_and_what_it_adds_is_its_own() {
    let parent = [calls(3), targets(&[1])];

    assert_eq!(attenuates(&parent, &[]), Ok(()));
    assert_eq!(attenuates(&[], &parent), Ok(()));
    assert_eq!(attenuates(&parent, &[until(1, 2)]), Ok(()));
}

#[test]
fn every_looser_bound_is_named_with_both_numbers() {
    let parent = [calls(3), targets(&[1, 2]), until(0, 50)];
    let child = [until(0, 51), calls(4), targets(&[1, 3])];

    let looser = attenuates(&parent, &child).unwrap_err();

    let shown: Vec<_> = looser.iter().map(ToString::to_string).collect();
    let address = |byte: u8| Address::repeat_byte(byte).to_string();
    assert_eq!(
        shown,
        [
            format!(
                "allowedTargets: target {} is looser than the parent's [{}, {}]",
                address(3),
                address(1),
                address(2)
            ),
            "limitedCalls: limit 4 is looser than the parent's 3".to_owned(),
            "timestamp: beforeThreshold 51 is looser than the parent's 50".to_owned(),
        ]
    );
}

#[test]
fn no_end_is_looser_than_any_end() {
    assert!(one(until(0, 0), until(0, 50)));

    let looser = refused(&until(0, 50), &until(0, 0));

    assert_eq!((looser[0].bound, looser[0].parent.as_str()), ("beforeThreshold", "50"));
    assert_eq!(looser[0].child, "0 (no end)");
}

#[test]
fn another_token_is_looser_than_the_one_that_is_pinned() {
    let Rule::Erc20PeriodTransfer(mut other) = every(1, 1, 1) else { panic!() };
    other.token_address = Address::repeat_byte(2);

    let looser = refused(&every(100, 60, 1), &Rule::Erc20PeriodTransfer(other));

    assert_eq!(looser[0].bound, "tokenAddress");
}

#[test]
fn a_shorter_period_passes_only_while_its_worst_sum_fits_into_the_parents() {
    let parent = || every(100, 60, 1_000);

    // Six of ten seconds fit exactly where both begin together, and touch a seventh where they do not.
    assert!(one(parent(), every(16, 10, 1_000)));
    assert!(!one(parent(), every(17, 10, 1_000)));
    assert!(one(parent(), every(14, 10, 1_005)));
    assert!(!one(parent(), every(15, 10, 1_005)));
    // A longer one touches two of the parent's, and lies in two of them whole.
    assert!(one(parent(), every(50, 61, 1_000)));
    assert!(!one(parent(), every(51, 61, 1_000)));
    assert!(one(parent(), every(100, 120, 1_060)));
    assert!(!one(parent(), every(100, 120, 1_030)));
    // Not before the parent's first.
    assert!(!one(parent(), every(1, 60, 999)));
}

/// The closed form against every second of a few hours.
#[test]
fn the_worst_sum_is_what_counting_gives() {
    let worst = |child: (u64, u64), parent: (u64, u64)| {
        let (duration, start) = child;
        let mut most = 0;
        for period in 0..400 {
            let begins = parent.1 + period * parent.0;
            let touched: std::collections::BTreeSet<u64> = (begins..begins + parent.0)
                .filter(|second| *second >= start)
                .map(|second| (second - start) / duration)
                .collect();
            most = most.max(touched.len() as u64);
        }
        most
    };
    for length in 1..14 {
        for theirs in 1..14 {
            for offset in 0..14 {
                let most = worst((length, 100 + offset), (theirs, 100));
                let parent = every(most, theirs, 100);
                assert!(one(parent, every(1, length, 100 + offset)), "{length} {theirs} {offset}");
                if most > 1 {
                    let parent = every(most - 1, theirs, 100);
                    let looser = !one(parent, every(1, length, 100 + offset));
                    assert!(looser, "{length} {theirs} {offset}");
                }
            }
        }
    }
}

#[test]
fn a_stream_is_within_another_that_is_never_behind_it() {
    let parent = || stream(100, 1_000, 5, 50);

    assert!(one(parent(), stream(100, 1_000, 5, 51)));
    assert!(one(parent(), stream(0, 500, 5, 50)));
    // Faster, and later: at no second is it ahead.
    assert!(one(parent(), stream(0, 200, 10, 60)));
    assert!(!one(parent(), stream(0, 1_000, 10, 60)));
    assert!(!one(parent(), stream(101, 1_000, 5, 50)));
    assert!(!one(parent(), stream(100, 1_001, 5, 50)));
    assert!(!one(parent(), stream(100, 1_000, 5, 49)));
}

/// Against every second.
#[test]
fn streams_are_compared_as_if_second_by_second() {
    let unlocked = |(initial, most, rate, start): (u64, u64, u64, u64), now: u64| {
        if now < start { 0 } else { (initial + rate * (now - start)).min(most) }
    };
    let mut shapes = Vec::new();
    for initial in [0, 3] {
        for most in [3, 4, 10] {
            for rate in [0, 1, 3] {
                for start in [1, 2, 4] {
                    shapes.push((initial, most, rate, start));
                }
            }
        }
    }
    for parent in &shapes {
        for child in &shapes {
            let within = (0..40).all(|now| unlocked(*child, now) <= unlocked(*parent, now));
            let rule = |(initial, most, rate, start): (u64, u64, u64, u64)| {
                stream(initial, most, rate, start)
            };
            assert_eq!(one(rule(*parent), rule(*child)), within, "{child:?} under {parent:?}");
        }
    }
}

#[test]
fn a_stream_whose_contract_stops_counting_is_within_itself_alone() {
    let Rule::Erc20Streaming(mut parent) = stream(1, 2, 1, 1) else { panic!() };
    parent.amount_per_second = U256::MAX >> 8;
    let same = Rule::Erc20Streaming(parent);

    assert!(one(same.clone(), same.clone()));
    assert!(!one(same, stream(1, 2, 1, 1)));
}

/// A spend is rounded up to a unit of the cap's.
#[test]
fn a_lower_cap_in_finer_units_needs_room_for_rounding() {
    let edge = 1 << 27;

    assert!(one(cap(edge - 1), cap(edge - 2)));
    assert!(one(cap(1_000_000_000), cap(100_000_000)));
    assert!(one(cap(150_000_000), cap(100_000_000)));
    // What owners would call less is less: a fifth is room enough for the rounding of 4,096 spends.
    for (less, more) in [(1_000, 1_200), (60, 75), (500, 600), (2_000, 2_400)] {
        assert!(one(cap(more * 1_000_000), cap(less * 1_000_000)), "{less} under {more}");
    }
    // The parent's unit is twice the child's, and three spends could show it.
    let looser = refused(&cap(edge + 1), &cap(edge - 1));
    assert_eq!(looser[0].bound, "cap");
    assert!(looser[0].child.contains("units of 4096"), "{}", looser[0].child);
    assert!(!one(cap(edge), cap(edge + 1)));
}

#[test]
fn buckets_of_another_length_are_not_compared() {
    let every = |bucket_minutes: u16| {
        let Rule::DailySpendLimit(rule) = cap(100_000_000) else { panic!() };
        Rule::DailySpendLimit(DailySpendLimit { bucket_minutes, ..rule })
    };

    assert!(one(every(120), every(120)));
    // What is spent in the last minute of a bucket frees after twelve of them, in the first after thirteen: with 121
    // minutes it can be free while with 120 it still counts.
    for (parent, child) in [(120, 121), (120, 119), (120, 840), (840, 120), (1, 2)] {
        let looser = refused(&every(parent), &every(child));
        assert_eq!(looser[0].bound, "bucketMinutes");
    }
}

#[test]
fn caveats_that_share_a_count_are_compared_as_a_list() {
    let parent = [calls(3), calls(9)];

    assert_eq!(attenuates(&parent, &parent), Ok(()));
    // Each of the parent's takes one of the other's, so that it allows two calls.
    assert!(attenuates(&parent, &[calls(3)]).is_err());
    assert!(attenuates(&[calls(3)], &parent).is_err());
}

#[test]
fn of_caveats_without_a_count_each_of_the_parents_needs_one_of_the_childs() {
    let parent = [targets(&[1, 2]), targets(&[2, 3])];

    assert_eq!(attenuates(&parent, &[targets(&[2])]), Ok(()));
    assert_eq!(attenuates(&parent, &[targets(&[1]), targets(&[3])]), Ok(()));
    assert_eq!(attenuates(&parent, &[targets(&[1])]).unwrap_err().len(), 1);
}

#[test]
fn a_nonce_is_never_looser() {
    let nonce = |value: u64| Rule::Nonce(Nonce(U256::from(value)));

    assert!(one(nonce(1), nonce(2)));
}

#[test]
fn of_an_unknown_enforcer_only_the_same_terms_are_within() {
    let opaque = |enforcer: u8, terms: u8| {
        Rule::Opaque(Opaque {
            enforcer: Address::repeat_byte(enforcer),
            terms: Bytes::from(vec![terms]),
        })
    };

    assert!(one(opaque(1, 7), opaque(1, 7)));
    // Another enforcer says nothing of this one, which is inherited.
    assert!(one(opaque(1, 7), opaque(2, 8)));
    let looser = refused(&opaque(1, 7), &opaque(1, 8));
    assert_eq!((looser[0].kind, looser[0].bound), (None, "terms"));
    assert!(looser[0].to_string().starts_with("unknown enforcer"));
}

#[test]
fn a_thousand_caveats_of_one_kind_are_refused_early() {
    let many = vec![targets(&[1]); MOST_OF_ONE_KIND + 1];

    assert!(attenuates(&many, &many).is_err());
    let few = vec![targets(&[1]); MOST_OF_ONE_KIND];
    assert_eq!(attenuates(&few, &few), Ok(()));
}

/// A change that makes a charter wider in one thing.
type Widening = (&'static str, fn(&mut GolemCharter));

/// Every dimension of a charter by itself: what is wider there is refused by that name, and the charter below is not.
#[test]
fn a_charter_that_is_wider_in_any_one_thing_is_refused_by_name() {
    let classes = Classes::of(&[Class::Swap, Class::Deposit]);
    let bounds = MoodBounds { min_pleasure: 1, max_arousal: 50, min_dominance: 2 };
    let token = |byte: u8| ListedToken {
        token: Address::repeat_byte(byte),
        role: Some(Role::Token),
        feed: Address::repeat_byte(0xfe),
        token_decimals: 6,
        feed_decimals: 8,
        max_age: 3_600,
    };
    let parent = GolemCharter {
        golem_id: B256::repeat_byte(1),
        owner: Address::repeat_byte(2),
        epoch: 3,
        generation: 4,
        registry: Address::repeat_byte(5),
        account: Address::repeat_byte(6),
        beneficiary: Address::repeat_byte(7),
        agent_key: Address::repeat_byte(8),
        replicants: false,
        classes,
        window: MortalityTimeWindow::new(1_000, 200_000).unwrap(),
        spend_cap: 1_000_000_000,
        bucket_minutes: 120,
        slippage_bps: 100,
        vault: Address::repeat_byte(9),
        nav_bps: 500,
        nav_cap: 1_000_000,
        staleness: 86_400,
        gas_ceiling: 1_000,
        gas_daily_cap: 1_000,
        settlement_asset: Address::repeat_byte(10),
        max_royalty_bps: Some(100),
        mood: Some(CharterMood { bounds, classes: Classes::of(&[Class::Swap]) }),
        listing: Listing {
            sequencer_feed: Address::repeat_byte(11),
            sequencer_grace: 60,
            tokens: vec![token(0x20)],
            targets: vec![ListedTarget {
                target: Address::repeat_byte(0x30),
                role: Role::SwapRouter02,
            }],
        },
    };
    let wider: &[Widening] = &[
        ("golemId", |law| law.golem_id = B256::ZERO),
        ("owner", |law| law.owner = Address::ZERO),
        ("epoch", |law| law.epoch = 4),
        ("epoch", |law| law.epoch = 2),
        ("generation", |law| law.generation = 5),
        ("registry", |law| law.registry = Address::ZERO),
        ("account", |law| law.account = Address::ZERO),
        ("beneficiary", |law| law.beneficiary = Address::ZERO),
        ("settlementAsset", |law| law.settlement_asset = Address::ZERO),
        ("replicants", |law| law.replicants = true),
        ("agentKey", |law| law.agent_key = Address::ZERO),
        ("classes", |law| law.classes = Classes::of(&[Class::Swap, Class::Transfer])),
        ("start", |law| law.window = MortalityTimeWindow::new(999, 200_000).unwrap()),
        ("end", |law| law.window = MortalityTimeWindow::new(1_000, 200_001).unwrap()),
        ("bucketMinutes", |law| law.bucket_minutes = 121),
        ("bucketMinutes", |law| law.bucket_minutes = 119),
        ("spendCap", |law| law.spend_cap += 1 << 20),
        ("slippageBps", |law| law.slippage_bps = 101),
        ("navBps", |law| law.nav_bps = 501),
        ("navCap", |law| law.nav_cap = 1_000_001),
        ("vault", |law| law.vault = Address::repeat_byte(0x55)),
        ("staleness", |law| law.staleness = 86_401),
        ("gasCeiling", |law| law.gas_ceiling = 1_001),
        ("gasDailyCap", |law| law.gas_daily_cap = 1_000_000),
        ("maxRoyaltyBps", |law| law.max_royalty_bps = Some(101)),
        ("mood", |law| law.mood = None),
        ("minPleasure", |law| law.mood.as_mut().unwrap().bounds.min_pleasure = 0),
        ("maxArousal", |law| law.mood.as_mut().unwrap().bounds.max_arousal = 51),
        ("minDominance", |law| law.mood.as_mut().unwrap().bounds.min_dominance = 1),
        ("moodClasses", |law| law.mood.as_mut().unwrap().classes = Classes::default()),
        ("sequencerFeed", |law| law.listing.sequencer_feed = Address::ZERO),
        ("sequencerGrace", |law| law.listing.sequencer_grace = 59),
        ("feed", |law| law.listing.tokens[0].feed = Address::ZERO),
        ("tokenDecimals", |law| law.listing.tokens[0].token_decimals = 18),
        ("feedDecimals", |law| law.listing.tokens[0].feed_decimals = 18),
        ("maxAge", |law| law.listing.tokens[0].max_age = 3_601),
        ("token", |law| {
            let more = ListedToken { token: Address::ZERO, role: None, ..law.listing.tokens[0] };
            law.listing.tokens.push(more);
        }),
        ("role", |law| law.listing.tokens[0].role = Some(Role::Vault)),
        ("role", |law| law.listing.targets[0].role = Role::SwapRouter),
        ("role", |law| {
            let target = Address::repeat_byte(0x31);
            law.listing.targets.push(ListedTarget { target, role: Role::Vault });
        }),
    ];
    let whole = Rule::GolemCharter(Box::new(parent.clone()));
    assert!(one(whole.clone(), whole.clone()));

    for (name, widen) in wider {
        let mut child = parent.clone();
        widen(&mut child);
        let looser = refused(&whole, &Rule::GolemCharter(Box::new(child)));
        let named: Vec<&str> = looser.iter().map(|bound| bound.bound).collect();
        assert_eq!(named, [*name]);
    }

    // And tighter in each thing that has a tighter side.
    let mut tighter = parent.clone();
    tighter.classes = Classes::of(&[Class::Swap]);
    tighter.window = MortalityTimeWindow::new(1_001, 199_999).unwrap();
    tighter.slippage_bps = 99;
    (tighter.nav_bps, tighter.nav_cap) = (499, 999_999);
    (tighter.staleness, tighter.gas_ceiling) = (86_399, 999);
    tighter.max_royalty_bps = None;
    tighter.mood.as_mut().unwrap().classes = classes;
    tighter.listing.sequencer_grace = 61;
    tighter.listing.tokens[0].max_age = 3_599;
    tighter.listing.targets.clear();
    assert!(one(whole, Rule::GolemCharter(Box::new(tighter))));
}

/// Whoever refuses says everything that is wrong, so that one correction is enough.
#[test]
fn every_bound_that_is_looser_is_named() {
    let parent = crate::bundles::whole();
    let mut child = parent.clone();
    child.spend_cap *= 2;
    child.slippage_bps += 1;
    child.nav_cap *= 9;
    child.gas_ceiling += 1;
    child.staleness += 1;
    let rule = |charter: &golem_delegation::terms::GolemCharter| {
        [Rule::GolemCharter(Box::new(charter.clone()))]
    };

    let looser = attenuates(&rule(&parent), &rule(&child)).unwrap_err();

    let named: Vec<&str> = looser.iter().map(|one| one.bound).collect();
    assert_eq!(named, ["spendCap", "slippageBps", "navCap", "staleness", "gasCeiling"]);
    assert!(looser.iter().all(|one| one.parent != one.child), "{looser:?}");
}

/// Lists that share a count, and groups, are told apart by more than their length.
#[test]
fn what_cannot_be_compared_is_shown_by_its_difference() {
    use golem_delegation::terms::{LimitedCalls, LogicalOrWrapper};
    let calls = |limit: u64| Rule::LimitedCalls(LimitedCalls(U256::from(limit)));
    let group = |byte: u8| {
        let caveat = golem_delegation::Caveat::new(Address::repeat_byte(byte), vec![byte]);
        Rule::LogicalOrWrapper(LogicalOrWrapper(vec![vec![caveat]]))
    };
    for (parent, child) in [
        (vec![calls(3), calls(4)], vec![calls(3), calls(5)]),
        (vec![calls(3), calls(4)], vec![calls(3)]),
        (vec![group(1)], vec![group(2)]),
    ] {
        let looser = attenuates(&parent, &child).unwrap_err();
        assert!(looser.iter().all(|one| one.parent != one.child), "{looser:?}");
    }
}

/// Also where several bounds of one rule, or several entries of one list, are looser.
#[test]
fn every_end_and_every_entry_that_is_looser_is_named() {
    let named = |parent: &Rule, child: &Rule| -> Vec<&'static str> {
        refused(parent, child).iter().map(|one| one.bound).collect()
    };
    assert_eq!(named(&until(1_000, 2_000), &until(500, 0)), ["afterThreshold", "beforeThreshold"]);
    let both = refused(&targets(&[1]), &targets(&[1, 2, 3]));
    let shown = &both[0].child;
    assert!([2, 3].iter().all(|byte| shown.contains(&Address::repeat_byte(*byte).to_string())));
    let stream = |each: u64| {
        Rule::Erc20Streaming(Erc20Streaming {
            token_address: Address::repeat_byte(1),
            initial_amount: U256::from(each),
            max_amount: U256::from(1_000 * each),
            amount_per_second: U256::from(each),
            start_time: U256::from(10_000 / each),
        })
    };
    let all = ["startTime", "initialAmount", "amountPerSecond", "maxAmount"];
    assert_eq!(named(&stream(1), &stream(2)), all);
    let whole = crate::bundles::whole();
    let mut other = whole.clone();
    for token in &mut other.listing.tokens {
        token.feed = Address::repeat_byte(0x66);
        token.max_age += 1;
    }
    let charter = |charter: &GolemCharter| Rule::GolemCharter(Box::new(charter.clone()));
    let feeds = named(&charter(&whole), &charter(&other));
    assert_eq!(feeds, ["feed", "maxAge", "feed", "maxAge"]);
    // Each says of which token.
    let said = refused(&charter(&whole), &charter(&other));
    let tokens = whole.listing.tokens.iter().flat_map(|known| [known.token, known.token]);
    assert!(tokens.zip(&said).all(|(token, one)| one.child.ends_with(&format!("of {token}"))));

    // A period that comes back sooner is named beside an amount and a beginning; one that does not is not.
    let amounts = ["startDate", "periodAmount", "periodDuration"];
    assert_eq!(named(&every(100, 1_000, 50), &every(200, 10, 40)), amounts);
    assert_eq!(named(&every(100, 1_000, 50), &every(200, 1_000, 40)), amounts[..2]);
    assert_eq!(named(&every(100, 1_000, 50), &every(10, 100, 40)), amounts[..1]);
}

/// Every entry of a list of periods, each by its token.
#[test]
fn every_period_that_is_looser_is_named() {
    let periods = |amounts: [u64; 3]| {
        let entries = amounts.into_iter().zip(1..).map(|(amount, token)| TokenPeriod {
            token: Address::repeat_byte(token),
            period_amount: U256::from(amount),
            period_duration: U256::from(100),
            start_date: U256::from(1),
        });
        Rule::MultiTokenPeriod(MultiTokenPeriod(entries.collect()))
    };

    let looser = refused(&periods([5, 5, 5]), &periods([6, 5, 7]));

    let said: Vec<String> = looser.iter().map(ToString::to_string).collect();
    let line = |amount: u64, token: u8| {
        let token = Address::repeat_byte(token);
        format!("multiTokenPeriod: periodAmount {amount} of {token} is looser than the parent's 5")
    };
    assert_eq!(said, [line(6, 1), line(7, 3)]);
}

/// What a Golem holds is weighed by all that is listed: so the listing is the parent's, and whatever is not is named.
#[test]
fn every_entry_of_holdings_that_differs_is_named() {
    let whole = crate::bundles::whole();
    let holdings = |listing: Listing| {
        Rule::Holdings(Holdings {
            golem_id: B256::ZERO,
            account: whole.account,
            staleness: 60,
            series: 1,
            thriving_bps: 3_000,
            stable_bps: 2_000,
            drawdown_bps: 1_000,
            registry: whole.registry,
            cash: whole.listing.tokens[0].token,
            loss_bps: 100,
            listing,
        })
    };
    let named = |child: Listing| -> Vec<&'static str> {
        let looser = refused(&holdings(whole.listing.clone()), &holdings(child));
        assert!(looser.iter().all(|one| one.parent != one.child), "{looser:?}");
        looser.iter().map(|one| one.bound).collect()
    };
    let mut other = whole.listing.clone();
    other.tokens[0].feed = Address::repeat_byte(0x66);
    other.tokens[1].max_age -= 1;
    assert_eq!(named(other), ["feed", "feed", "maxAge"]);
    let mut fewer = whole.listing.clone();
    fewer.tokens.pop();
    assert_eq!(named(fewer), ["role", "token"]);
    let mut turned = whole.listing.clone();
    turned.tokens.reverse();
    assert_eq!(named(turned), ["listing"]);
}

/// What a parent binds and a child does not is named, with both lists the right way round.
#[test]
fn what_is_no_longer_bound_is_named() {
    let bounds = MoodBounds { min_pleasure: -10, max_arousal: 60, min_dominance: -70 };
    let mood = |selectors: &[u8]| {
        Rule::EmotionalState(EmotionalState {
            golem_id: B256::ZERO,
            registry: Address::ZERO,
            staleness: 60,
            bounds,
            selectors: selectors.iter().copied().map(Selector::repeat_byte).collect(),
        })
    };
    let looser = refused(&mood(&[1, 2]), &mood(&[2, 3]));
    assert_eq!(
        looser[0].to_string(),
        "emotionalState: selectors [0x02020202, 0x03030303] without [0x01010101] is looser than the parent's \
         [0x01010101, 0x02020202]"
    );
    let charter = |classes: Option<&[Class]>| {
        let mood = classes.map(|classes| CharterMood { bounds, classes: Classes::of(classes) });
        Rule::GolemCharter(Box::new(GolemCharter { mood, ..crate::bundles::whole() }))
    };
    let said = |child: Option<&[Class]>| {
        refused(&charter(Some(&[Class::Swap, Class::Deposit])), &charter(child))[0].to_string()
    };
    assert_eq!(
        said(Some(&[Class::Swap])),
        "golemCharter: moodClasses [swap] without [deposit] is looser than the parent's [swap, deposit]"
    );
    assert_eq!(
        said(None),
        "golemCharter: mood none is looser than the parent's minPleasure -10, maxArousal 60, minDominance -70 \
         for swap, deposit"
    );
}
