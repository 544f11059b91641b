//! The spend window against an exact ledger, and bit for bit against the model that the contract is
//! held to as well.

use crate::fixtures::read;
use alloy_primitives::U256;
use golem_delegation::{SpendRefusal, SpendTerms, SpendWindow};
use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{Config, RngSeed},
};
use serde::Deserialize;

const NOW: u64 = 1_767_225_600;
const HOUR: u64 = 3600;

/// The same cases in every run, and no files left behind.
fn config() -> Config {
    Config {
        cases: 512,
        rng_seed: RngSeed::Fixed(0x5bed),
        failure_persistence: None,
        ..Config::default()
    }
}

#[derive(Debug, Deserialize)]
struct Steps {
    steps: Vec<Step>,
}

/// What a window does with one amount, as `spend-window.mjs` says.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Step {
    name: String,
    before: U256,
    amount: String,
    cap: String,
    bucket_minutes: String,
    epoch: String,
    now: String,
    verdict: String,
    numbers: Vec<String>,
    next: U256,
    spent: String,
    remaining: String,
}

/// Name and numbers of a refusal, as the vectors write them.
fn told(refusal: SpendRefusal) -> (&'static str, Vec<String>) {
    match refusal {
        SpendRefusal::OverCap { spent, amount, cap } => {
            ("OverCap", vec![spent.to_string(), amount.to_string(), cap.to_string()])
        }
        SpendRefusal::StaleEpoch { epoch, highest } => {
            ("StaleEpoch", vec![epoch.to_string(), highest.to_string()])
        }
        SpendRefusal::TimeWentBack { bucket, newest } => {
            ("TimeWentBack", vec![bucket.to_string(), newest.to_string()])
        }
        SpendRefusal::TimeOutOfRange { bucket, last } => {
            ("TimeOutOfRange", vec![bucket.to_string(), last.to_string()])
        }
        SpendRefusal::ZeroCap => ("ZeroCap", vec![]),
        SpendRefusal::BucketLength { bucket_minutes, longest } => {
            ("BucketLength", vec![bucket_minutes.to_string(), longest.to_string()])
        }
        other => panic!("a refusal that the contract does not know: {other:?}"),
    }
}

/// The same file drives the Solidity tests.
#[test]
fn every_step_is_the_models() {
    let Steps { steps } = read("spend-window.json");

    assert!(steps.len() >= 500);
    for (at, step) in steps.iter().enumerate() {
        let name = format!("step {at}, {}", step.name);
        let window = SpendWindow::from_word(step.before);
        assert_eq!(window.to_word(), step.before, "{name}");
        let amount: U256 = step.amount.parse().unwrap();
        let now = step.now.parse().unwrap();
        let terms = SpendTerms::new(
            step.cap.parse().unwrap(),
            step.bucket_minutes.parse().unwrap(),
            step.epoch.parse().unwrap(),
        );

        let outcome = terms.and_then(|terms| window.spend(amount, &terms, now));

        match outcome {
            Ok(after) => {
                assert_eq!(step.verdict, "ok", "{name}");
                assert_eq!(after.to_word(), step.next, "{name}");
            }
            Err(refusal) => {
                let (verdict, numbers) = told(refusal);
                assert_eq!(verdict, step.verdict, "{name}");
                assert_eq!(numbers, step.numbers, "{name}");
                assert_eq!(step.next, step.before, "{name}");
            }
        }
        let remaining = terms.and_then(|terms| window.remaining(&terms, now));
        if ["ok", "OverCap"].contains(&step.verdict.as_str()) {
            assert_eq!(window.spent(now).unwrap().to_string(), step.spent, "{name}");
            assert_eq!(remaining.unwrap().to_string(), step.remaining, "{name}");
        } else {
            assert_eq!(told(remaining.unwrap_err()).0, step.verdict, "{name}");
        }
    }
}

/// One accepted step, to the second and the micro-dollar.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    amount: u128,
    /// Seconds; within an epoch the longest so far.
    period: u64,
    epoch: u16,
}

/// Everything that was accepted, exactly.
#[derive(Clone, Debug, Default)]
struct Ledger(Vec<Entry>);

impl Ledger {
    /// Adds a step, and tells what lies in the longest window behind it that is promised: a spend
    /// counts for as long as the shortest period in force since.
    fn add(&mut self, amount: u64, terms: &SpendTerms, at: u64) -> u128 {
        let mut period = u64::from(terms.bucket_minutes()) * 60 * 12;
        if let Some(last) = self.0.last().filter(|last| last.epoch == terms.epoch()) {
            period = period.max(last.period);
        }
        self.0.push(Entry { at, amount: amount.into(), period, epoch: terms.epoch() });

        let mut shortest = period;
        let mut sum = 0;
        for past in self.0.iter().rev() {
            shortest = shortest.min(past.period);
            if at - past.at <= shortest {
                sum += past.amount;
            }
        }
        sum
    }

    /// Units of everything after `from`, each amount rounded up by itself.
    fn units_since(&self, from: u64, scale: u32) -> u128 {
        self.0
            .iter()
            .filter(|past| past.at > from)
            .map(|past| past.amount.div_ceil(1 << scale))
            .sum()
    }
}

/// Written the slow way on purpose.
fn scale_of(cap: u64) -> u32 {
    (0..64).find(|scale| cap >> scale < 1 << 15).unwrap()
}

fn cap() -> impl Strategy<Value = u64> {
    prop_oneof![
        1_u64..100,
        Just(32_767),
        Just(32_768),
        32_000_u64..70_000,
        1_000_000_u64..5_000_000_000,
        any::<u64>().prop_map(|cap| cap.max(1)),
        Just(u64::MAX),
    ]
}

fn minutes() -> impl Strategy<Value = u16> {
    prop_oneof![Just(1_u16), Just(2), Just(60), Just(120), Just(840), 1_u16..=16_383, Just(16_383)]
}

/// How far to go in time, in buckets and a rest, and how much to ask for.
#[derive(Clone, Copy, Debug)]
struct Try {
    buckets: u64,
    rest: u64,
    ask: Ask,
}

#[derive(Clone, Copy, Debug)]
enum Ask {
    Nothing,
    /// So many 64ths of the cap.
    Part(u64),
    /// What is left and so much more.
    Left(i64),
}

fn attempt() -> impl Strategy<Value = Try> {
    let ask = prop_oneof![
        Just(Ask::Nothing),
        (0_u64..64).prop_map(Ask::Part),
        (0_u64..6).prop_map(Ask::Part),
        (-2_i64..=2).prop_map(Ask::Left),
    ];
    let buckets = prop_oneof![4 => Just(0_u64), 3 => 0_u64..3, 2 => 10_u64..15];
    (buckets, any::<u64>(), ask).prop_map(|(buckets, rest, ask)| Try { buckets, rest, ask })
}

impl Try {
    fn later(&self, now: u64, terms: &SpendTerms) -> u64 {
        let length = u64::from(terms.bucket_minutes()) * 60;
        // The last and the first second of a bucket are where mistakes live.
        let rest = match self.rest % 4 {
            0 => 0,
            1 => length - 1 - now % length,
            2 => length - now % length,
            _ => self.rest % length,
        };
        now + self.buckets * length + rest
    }

    fn amount(&self, window: &SpendWindow, terms: &SpendTerms, now: u64) -> u64 {
        match self.ask {
            Ask::Nothing => 0,
            Ask::Part(of_64) => terms.cap() / 64 * of_64 + 1,
            Ask::Left(more) => {
                window.remaining(terms, now).unwrap_or(1).saturating_add_signed(more)
            }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    /// ATK-19, D7: over the cap in no period, and early by one bucket at most.
    #[test]
    fn one_grant_never_exceeds_its_cap_and_is_early_by_a_bucket_at_most(
        cap in cap(),
        minutes in minutes(),
        start in 0_u64..1_900_000_000,
        tries in vec(attempt(), 1..60),
    ) {
        let terms = SpendTerms::new(cap, minutes, 1).unwrap();
        let bucket = u64::from(minutes) * 60;
        let (mut window, mut ledger, mut now) = (SpendWindow::default(), Ledger::default(), start);

        for attempt in tries {
            now = attempt.later(now, &terms);
            let amount = attempt.amount(&window, &terms, now);
            let scale = scale_of(cap);
            let from = now.checked_sub(13 * bucket);
            let late = match from {
                Some(from) => ledger.units_since(from, scale),
                None => ledger.0.iter().map(|past| past.amount.div_ceil(1 << scale)).sum(),
            };
            let fits = late + u128::from(amount).div_ceil(1 << scale) <= u128::from(cap >> scale);

            match window.spend(U256::from(amount), &terms, now) {
                Ok(next) => {
                    prop_assert!(ledger.add(amount, &terms, now) <= cap.into());
                    window = next;
                }
                Err(SpendRefusal::OverCap { .. }) => prop_assert!(!fits, "refused {}", amount),
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }

    /// ATK-23, ATK-31: whatever is granted in between, what a spend finds in the window behind it
    /// is within the cap it is made under.
    #[test]
    fn new_grants_refill_nothing(
        grants in vec((cap(), minutes(), 0_u16..3), 1..8),
        tries in vec((any::<prop::sample::Index>(), attempt()), 1..60),
    ) {
        let (mut window, mut ledger, mut now) = (SpendWindow::default(), Ledger::default(), NOW);

        for (which, attempt) in tries {
            let (cap, minutes, epoch) = grants[which.index(grants.len())];
            let terms = SpendTerms::new(cap, minutes, epoch).unwrap();
            now = attempt.later(now, &terms);
            let amount = attempt.amount(&window, &terms, now);

            match window.spend(U256::from(amount), &terms, now) {
                Ok(next) => {
                    prop_assert!(window.epoch() <= epoch && next.epoch() == epoch);
                    let sum = ledger.add(amount, &terms, now);
                    prop_assert!(amount == 0 || sum <= cap.into(), "{} of {}", sum, cap);
                    window = next;
                }
                Err(SpendRefusal::StaleEpoch { .. }) => prop_assert!(epoch < window.epoch()),
                Err(SpendRefusal::OverCap { .. }) => prop_assert!(amount > 0),
                Err(SpendRefusal::TimeOutOfRange { .. }) => {
                    prop_assert!(now / 60 / u64::from(minutes) > SpendWindow::LAST_BUCKET.into());
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
    }

    /// ATK-31: an amount of zero under any other grant never leaves more than there was.
    #[test]
    fn passing_through_another_grant_leaves_no_more(
        home in (cap(), minutes()),
        other in (cap(), minutes()),
        same_epoch in any::<bool>(),
        tries in vec(attempt(), 1..30),
    ) {
        let mine = SpendTerms::new(home.0, home.1, 1).unwrap();
        let (mut window, mut now) = (SpendWindow::default(), NOW);
        for attempt in tries {
            now = attempt.later(now, &mine);
            prop_assume!(now / 60 / u64::from(home.1) <= SpendWindow::LAST_BUCKET.into());
            let amount = U256::from(attempt.amount(&window, &mine, now));
            window = window.spend(amount, &mine, now).unwrap_or(window);
        }
        let others = SpendTerms::new(other.0, other.1, if same_epoch { 1 } else { 2 }).unwrap();
        let again = SpendTerms::new(home.0, home.1, others.epoch()).unwrap();
        let passed = window.spend(U256::ZERO, &others, now).unwrap();

        prop_assert!(passed.remaining(&again, now).unwrap() <= window.remaining(&mine, now).unwrap());
        prop_assert!(passed.spent(now).unwrap() >= window.spent(now).unwrap());
        if same_epoch {
            // Nor at any later time.
            for buckets in 1..16 {
                let later = now + buckets * u64::from(home.1) * 60;
                prop_assert!(passed.remaining(&again, later).unwrap_or(0)
                    <= window.remaining(&mine, later).unwrap_or(0));
            }
        }
    }

    /// For every word, whether a sequence leads to it or not.
    #[test]
    fn what_remains_is_exactly_what_is_accepted(
        word in any::<[u8; 32]>(),
        cap in cap(),
        minutes in minutes(),
        epoch in any::<u16>(),
        later in 0_u64..20,
        more in 1_u64..3,
    ) {
        let window = SpendWindow::from_word(U256::from_be_bytes(word));
        let word = window.to_word();
        let length = (word >> 220_usize).wrapping_to::<u64>() & 0x3fff;
        let newest = (word >> 195_usize).wrapping_to::<u64>() & 0x1ff_ffff;
        let now = (newest + later) * length * 60;
        let terms = SpendTerms::new(cap, minutes, epoch.max(window.epoch())).unwrap();

        match window.remaining(&terms, now) {
            Ok(left) => {
                let after = window.spend(U256::from(left), &terms, now).unwrap();
                prop_assert!(after.remaining(&terms, now).unwrap() == 0);
                let over = U256::from(left) + U256::from(more);
                let refused = window.spend(over, &terms, now);
                prop_assert!(matches!(refused, Err(SpendRefusal::OverCap { .. })), "{:?}", refused);
            }
            Err(refusal) => {
                prop_assert_eq!(window.spend(U256::ZERO, &terms, now), Err(refusal));
            }
        }
    }

    #[test]
    fn every_word_survives_the_round_trip(word in any::<[u8; 32]>()) {
        let word = U256::from_be_bytes(word);

        prop_assert_eq!(SpendWindow::from_word(word).to_word(), word);
    }

    #[test]
    fn no_word_and_no_time_panics(
        word in any::<[u8; 32]>(),
        amount in any::<[u8; 32]>(),
        cap in any::<u64>(),
        minutes in any::<u16>(),
        epoch in any::<u16>(),
        now in any::<u64>(),
    ) {
        let window = SpendWindow::from_word(U256::from_be_bytes(word));
        let _ = window.spent(now);
        if let Ok(terms) = SpendTerms::new(cap, minutes, epoch) {
            let _ = window.remaining(&terms, now);
            let _ = window.spend(U256::from_be_bytes(amount), &terms, now);
        }
    }
}

fn terms(cap: u64, minutes: u16, epoch: u16) -> SpendTerms {
    SpendTerms::new(cap, minutes, epoch).unwrap()
}

fn spend(window: &SpendWindow, amount: u64, terms: &SpendTerms, now: u64) -> SpendWindow {
    window.spend(U256::from(amount), terms, now).unwrap()
}

/// Bits by hand, so that model and code cannot be wrong together.
#[test]
fn the_word_is_laid_out_as_decided() {
    let day = terms(1 << 20, 120, 0xabcd);
    let bucket = NOW / 7200;

    let first = spend(&SpendWindow::default(), 65, &day, NOW);
    let second = spend(&first, 64, &day, NOW + 3 * 7200);

    let head = |bucket: u64| {
        U256::from(bucket) << 195
            | U256::from(120) << 220
            | U256::from(6) << 234
            | U256::from(0xabcd) << 240
    };
    assert_eq!(first.to_word(), head(bucket) | U256::from(2));
    assert_eq!(second.to_word(), head(bucket + 3) | U256::from(1) | U256::from(2) << 45);
}

/// ATK-19.
#[test]
fn a_cap_is_not_spent_on_both_sides_of_an_edge() {
    let day = terms(20_000, SpendTerms::DAY, 1);
    let midnight = NOW - NOW % (24 * HOUR);

    let window = spend(&SpendWindow::default(), 20_000, &day, midnight - 1);

    for later in [0, HOUR, 24 * HOUR - 1] {
        assert_eq!(window.remaining(&day, midnight + later), Ok(0), "{later}");
    }
    assert_eq!(window.remaining(&day, midnight + 24 * HOUR), Ok(20_000));
}

/// ATK-31: were the finer scale to cut off what it cannot hold, the larger cap would be whole again.
#[test]
fn a_small_grant_in_between_does_not_wash_a_spent_window() {
    let large = 1 << 40;
    let window = spend(&SpendWindow::default(), large / 2, &terms(large, 120, 1), NOW);

    let small = spend(&window, 0, &terms(1000, 120, 2), NOW);
    let third = spend(&small, 0, &terms(1000, 240, 3), NOW);

    for (window, minutes) in [(small, 120), (third, 240)] {
        assert_eq!(window.remaining(&terms(large, minutes, 3), NOW), Ok(large / 2));
        assert_eq!(window.remaining(&terms(1000, minutes, 3), NOW), Ok(0));
    }
}

/// ATK-31: two grants of one epoch, a long period and a short one.
#[test]
fn a_short_grant_beside_a_long_one_does_not_shed_its_window() {
    let (day, minute) = (terms(20_000, 120, 1), terms(20_000, 1, 1));
    let window = spend(&SpendWindow::default(), 20_000, &day, NOW);

    let washed = spend(&window, 0, &minute, NOW);

    for later in [13 * 60, HOUR, 24 * HOUR] {
        assert_eq!(washed.remaining(&day, NOW + later), Ok(0));
        assert_eq!(washed.remaining(&minute, NOW + later), Ok(0));
    }
}

/// A new epoch is the owner's word: its grid holds from then on.
#[test]
fn a_new_epoch_shortens_the_grid_and_frees_after_its_own_period() {
    let window = spend(&SpendWindow::default(), 20_000, &terms(20_000, 120, 1), NOW);
    let minute = terms(20_000, 1, 2);

    let next = spend(&window, 0, &minute, NOW);

    assert_eq!(next.remaining(&minute, NOW + 12 * 60), Ok(0));
    assert_eq!(next.remaining(&minute, NOW + 13 * 60), Ok(20_000));
}

#[test]
fn another_grid_drops_what_died_on_the_one_before() {
    let day = terms(20_000, 120, 1);
    let window = spend(&SpendWindow::default(), 7_000, &day, NOW);
    let window = spend(&window, 6_000, &day, NOW + 2 * HOUR);

    let next = spend(&window, 0, &terms(20_000, 240, 2), NOW + 26 * HOUR);

    assert_eq!(next.spent(NOW + 26 * HOUR), Ok(6_000));
}

#[test]
fn a_time_before_the_newest_bucket_is_refused() {
    let day = terms(20_000, 120, 1);
    let newest = u32::try_from(NOW / 7200).unwrap();
    let refusal = SpendRefusal::TimeWentBack { bucket: NOW / 7200 - 1, newest };

    let window = spend(&SpendWindow::default(), 1, &day, NOW + 1);

    spend(&window, 1, &day, NOW);
    assert_eq!(window.spend(U256::ZERO, &day, NOW - 1), Err(refusal));
    assert_eq!(window.spend(U256::ZERO, &terms(20_000, 240, 2), NOW - 1), Err(refusal));
    assert_eq!(window.spent(NOW - 1), Err(refusal));
}

/// No sequence leads to such a word, and it must not run over all the same.
#[test]
fn a_foreign_word_full_everywhere_stays_full_on_another_grid() {
    let buckets = (U256::ONE << 195) - U256::ONE;
    let full = buckets | U256::from(NOW / 7200) << 195 | U256::from(120) << 220;

    let next = spend(&SpendWindow::from_word(full), 0, &terms(20_000, 240, 1), NOW);

    assert_eq!(next.to_word() & buckets, U256::from(0x7fff));
}

#[test]
fn zero_is_accepted_over_a_cap_and_records_the_epoch() {
    let window = spend(&SpendWindow::default(), 20_000, &terms(20_000, 120, 1), NOW);

    let next = spend(&window, 0, &terms(100, 120, 9), NOW);

    assert_eq!(next.epoch(), 9);
    assert_eq!(
        next.spend(U256::ZERO, &terms(20_000, 120, 8), NOW),
        Err(SpendRefusal::StaleEpoch { epoch: 8, highest: 9 })
    );
}

#[test]
fn malformed_terms_are_refused_and_the_nearest_good_ones_taken() {
    assert_eq!(SpendTerms::new(0, 120, 0), Err(SpendRefusal::ZeroCap));
    for bucket_minutes in [0, 16_384, u16::MAX] {
        let refusal = SpendRefusal::BucketLength { bucket_minutes, longest: 16_383 };
        assert_eq!(SpendTerms::new(1, bucket_minutes, 0), Err(refusal));
    }
    let widest = terms(u64::MAX, 16_383, u16::MAX);
    assert_eq!((widest.cap(), widest.bucket_minutes(), widest.epoch()), (u64::MAX, 16_383, 65_535));
    assert_eq!(terms(1, 1, 0).cap(), 1);
}

#[test]
fn a_refusal_says_the_numbers() {
    let window = spend(&SpendWindow::default(), 15_000, &terms(20_000, 120, 1), NOW);

    let refusal = window.spend(U256::from(5_001), &terms(20_000, 120, 1), NOW).unwrap_err();

    assert_eq!(
        refusal.to_string(),
        "spending 5001 micro-dollars beside 15000 of late is over the cap of 20000 per period"
    );
}
