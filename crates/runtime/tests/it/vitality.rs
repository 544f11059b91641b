//! SPEC L2, D9, D32: three clocks, one number, five phases, as `docs/vitality.md` has them.

use alloy_primitives::B256;
use golem_custody::{DailyCosts, DenialCode, Metabolism};
use golem_delegation::grant::Phase;
use golem_runtime::{
    Clocks, DeathTrigger, Economy, Experience, Life, THRESHOLDS, WHOLE, chance, kept_to_live,
    misjudged, moved, phase_of, terminal_at,
};
use proptest::prelude::*;

const DAY: u64 = 86_400;

fn economy() -> Economy {
    let daily_costs = DailyCosts { inference: 1_000_000, ..DailyCosts::default() };
    let metabolism = Some(Metabolism { balance: 30_000_000, daily_revenue: 0, daily_costs });
    Economy {
        metabolism,
        seconds_left: 7 * DAY,
        worth: Some(1_000_000_000),
        mark: 1_000_000_000,
        bound_bps: 2_000,
    }
}

/// The page is the law: its table of phases is the code's.
#[test]
fn the_page_and_the_code_have_the_same_thresholds() {
    let page = include_str!("../../../../docs/vitality.md");
    for (phase, from) in THRESHOLDS {
        let thousands = match from {
            0 => "0".to_owned(),
            from => format!("{},{:03}", from / 1_000, from % 1_000),
        };
        let row = format!("| {phase:?} | {thousands} |");
        assert!(page.contains(&row), "{row}");
    }
    assert!(page.contains("(right + 8) / (right + wrong + 8)"));
    assert!(page.contains("last 32 outcomes of the last 7 days"));
    let costs = DailyCosts { inference: 3, compute: 2, ..DailyCosts::default() };
    assert_eq!((kept_to_live(&costs), page.contains("7 days of its costs")), (7 * 5, true));
    assert!(
        page.contains("beside 720") && page.contains("604,800") && page.contains("(180 unless")
    );
}

#[test]
fn each_share_of_the_economic_clock_counts_and_the_least_is_it() {
    assert_eq!(economy().clock(), WHOLE);
    let means = |balance, daily_revenue| {
        let lives = economy().metabolism.map(|it| Metabolism { balance, daily_revenue, ..it });
        Economy { metabolism: lives, ..economy() }
    };
    assert_eq!(means(15_000_000, 0).clock(), 5_000);
    assert_eq!(means(0, 0).clock(), 0);
    assert_eq!(Economy { seconds_left: DAY, ..economy() }.clock(), 1_428);
    assert_eq!(Economy { seconds_left: 0, ..economy() }.clock(), 0);
    // A fall of a tenth is half of what the owner bears; one of a fifth is all of it.
    assert_eq!(Economy { worth: Some(900_000_000), ..economy() }.clock(), 5_000);
    assert_eq!(Economy { worth: Some(800_000_000), ..economy() }.clock(), 0);
    assert_eq!(Economy { worth: Some(1), ..economy() }.clock(), 0);
    // What nobody knows is no loss.
    assert_eq!(Economy { worth: None, ..economy() }.clock(), WHOLE);
    assert_eq!(Economy { metabolism: None, ..economy() }.clock(), WHOLE);
    assert_eq!(Economy { metabolism: None, worth: None, ..economy() }.clock(), WHOLE);
    assert_eq!(means(0, 1_000_000).clock(), WHOLE);
    // Who bears no fall bears that there was none.
    assert_eq!(Economy { bound_bps: 0, ..economy() }.clock(), WHOLE);
}

/// K8: what a life ends of is told by the share that ended it.
#[test]
fn the_least_share_is_what_it_dies_of() {
    let poor = economy().metabolism.map(|it| Metabolism { balance: 0, ..it });
    assert_eq!(Economy { metabolism: poor, ..economy() }.cause(), DeathTrigger::Exhaustion);
    assert_eq!(Economy { worth: Some(1), ..economy() }.cause(), DeathTrigger::Loss);
    assert_eq!(Economy { seconds_left: 0, ..economy() }.cause(), DeathTrigger::Expiry);
}

/// L2: whatever comes, leaves and is swapped without a move of prices, no fall comes of it.
#[test]
fn what_comes_and_leaves_is_no_fall() {
    let (mut worth, mut mark) = (1_000_000_000u64, 1_000_000_000u64);
    for flow in [-300_000_000i64, 50_000_000, -650_000_000, 7, -99_999_999, 500_000_000] {
        worth = worth.saturating_add_signed(flow);
        mark = moved(mark, worth, flow).max(worth);
        let clock = Economy { worth: Some(worth.into()), mark: mark.into(), ..economy() }.clock();
        assert_eq!(clock, WHOLE, "{flow}: {worth} of {mark}");
    }
    // And a fall stays the share that it was.
    let fallen = |worth: u64, mark: u64| {
        Economy { worth: Some(worth.into()), mark: mark.into(), ..economy() }.clock()
    };
    let before = fallen(900_000_000, 1_000_000_000);
    let left = moved(1_000_000_000, 450_000_000, -450_000_000);
    assert_eq!((before, fallen(450_000_000, left)), (5_000, 5_000));
}

#[test]
fn the_last_outcomes_count_and_those_before_them_do_not() {
    let mut golem = Experience::default();
    for _ in 0..32 {
        golem.learn(false, 0);
    }
    assert_eq!(golem.clock(0), 2_000, "8 of 40");
    for _ in 0..32 {
        golem.learn(true, 0);
    }
    assert_eq!(golem.clock(0), WHOLE);
}

/// L2: whoever cannot trade, and so can be right in nothing, is not held to its errors for ever.
#[test]
fn an_outcome_counts_for_a_week() {
    let mut golem = Experience::default();
    for hour in 0..40 {
        golem.learn(false, hour * 3_600);
    }
    let hours = |hours: u64| golem.clock(7 * DAY + hours * 3_600);

    assert_eq!(golem.clock(39 * 3_600), 2_000, "8 of 40");
    // The last 32 are those from the ninth hour on.
    assert_eq!([7, 8, 38, 39].map(hours), [2_000, 2_051, 8_888, WHOLE]);
}

/// D9: what its owner knew when he fed it does not move its phase again; what it knows stays what it knows.
#[test]
fn what_was_before_a_feed_moves_no_phase_and_is_not_forgotten() {
    let mut golem = Experience::default();
    for _ in 0..9 {
        golem.learn(false, 0);
    }
    assert_eq!((golem.clock(1), golem.clock_since_feed(1)), (4_705, 4_705));

    golem.fed();

    assert_eq!((golem.clock(1), golem.clock_since_feed(1)), (4_705, WHOLE));
    golem.learn(false, 1);
    assert_eq!((golem.clock(1), golem.clock_since_feed(1)), (4_444, 8_888));
    let kept = serde_json::to_value(&golem).unwrap();
    assert_eq!(serde_json::from_value::<Experience>(kept).unwrap(), golem);
}

/// D9: what nobody knows, what its owner bounds or changes, and what a chain, a market, a custodian or an owner refuses is no error of
/// judgement.
#[test]
fn only_what_nobody_should_have_proposed_is_misjudged() {
    use DenialCode as Code;
    for code in [
        Code::PolicyTarget,
        Code::PolicySelector,
        Code::PolicyAction,
        Code::PolicyBatch,
        Code::PolicyAmount,
        Code::PolicyParty,
        Code::PolicySignature,
        Code::PolicyTainted,
    ] {
        assert!(misjudged(code), "{code}");
    }
    for code in [
        Code::PolicyPriceUnknown,
        Code::PolicyPriceStale,
        Code::PolicyAsset,
        Code::PolicyConcentration,
        Code::PolicySpendTransaction,
        Code::PolicySpendSession,
        Code::PolicySpendDay,
        Code::PolicyDrawdown,
        Code::PolicyConstitution,
        Code::NoPolicy,
        Code::PolicyMalformed,
        Code::Phase,
        Code::Slippage,
        Code::Price,
        Code::NoGas,
        Code::BudgetDay,
        Code::ApprovalMissing,
        Code::ApprovalDenied,
    ] {
        assert!(!misjudged(code), "{code}");
    }
}

/// D32: a tick that comes in this second finds it Terminal by time alone, and one a second earlier does not.
#[test]
fn time_alone_makes_it_terminal_in_one_second_and_not_before() {
    let end = 10 * DAY;
    let at = |now: u64| phase_of(Economy { seconds_left: end - now, ..economy() }.clock());

    let last = terminal_at(end);

    assert_eq!((at(last - 1), at(last)), (Phase::Declining, Phase::Terminal));
}

#[test]
fn a_phase_begins_at_its_threshold_and_not_one_below() {
    for pair in THRESHOLDS.windows(2) {
        let [(earlier, from), (later, _)] = pair else { panic!("two") };
        assert_eq!((phase_of(*from), phase_of(from - 1)), (*earlier, *later));
    }
}

/// D9: a Feed undoes what the economic clock did, and neither of the others.
#[test]
fn the_phase_after_a_feed_is_what_the_other_clocks_allow() {
    let poor = Clocks { economic: 100, epistemic: 9_000, stochastic: 8_000 };
    assert_eq!(poor.phase(Phase::Thriving), Phase::Terminal);
    assert_eq!(poor.phase_after_feed(Phase::Stable), Phase::Stable);
    let lost = Clocks { epistemic: 3_500, ..poor };
    assert_eq!(lost.phase_after_feed(Phase::Stable), Phase::Conservation);
}

/// What an earlier version kept is a life still: it has seen no phase and no possessions, and its best is what its policy went by.
#[test]
fn a_life_that_was_kept_before_is_read() {
    let life = Life { high_water: 900, ticks: 3, ..Life::born(7) };
    let mut kept = serde_json::to_value(&life).unwrap();
    for new in ["seen", "possessions", "spent", "best", "inference", "owed"] {
        kept.as_object_mut().unwrap().remove(new);
    }
    kept["earnings"].as_object_mut().unwrap().remove("ever");
    let read: Life = serde_json::from_value(kept).unwrap();
    assert_eq!(read, life);
    assert_eq!((read.peak(), read.seen), (900, None));
    // Outcomes had no second: nobody knows how old they are, and they hold nobody back.
    let undated: Experience = serde_json::from_value(serde_json::json!([false, true])).unwrap();
    assert_eq!(undated.clock(7 * DAY), WHOLE);
}

proptest! {
    /// INV-8.
    #[test]
    fn no_clock_leads_back(economic in 0..=WHOLE, epistemic in 0..=WHOLE, stochastic in 0..=WHOLE, at in 0usize..5) {
        let on_chain = Phase::ALL[at];
        let clocks = Clocks { economic, epistemic, stochastic };
        prop_assert!(clocks.phase(on_chain) >= on_chain);
        prop_assert!(clocks.vitality() <= economic.min(epistemic).min(stochastic));
    }

    #[test]
    fn chance_takes_and_never_gives(golem in any::<[u8; 32]>(), days in 0u64..400, expected in 1u16..1_000) {
        let golem = B256::from(golem);
        let (today, tomorrow) = (chance(golem, days * DAY, expected), chance(golem, (days + 1) * DAY, expected));
        prop_assert!(tomorrow <= today);
        prop_assert_eq!(chance(golem, 0, expected), WHOLE);
    }

    #[test]
    fn no_economy_panics(balance in any::<u64>(), costs in any::<u64>(), left in any::<u64>(), worth in any::<Option<u128>>(), mark in any::<u128>(), bound in any::<u16>()) {
        let daily_costs = DailyCosts { gas: costs, ..DailyCosts::default() };
        let metabolism = Some(Metabolism { balance, daily_revenue: 0, daily_costs });
        let economy = Economy { metabolism, seconds_left: left, worth, mark, bound_bps: bound };
        prop_assert!(economy.clock() <= WHOLE);
    }
}

/// On the whole a Golem lives as long as was expected, give or take.
#[test]
fn chance_lasts_about_as_long_as_was_expected() {
    let lives = (0u8..60).map(|seed| {
        let golem = B256::repeat_byte(seed);
        (0..1_000).find(|day| chance(golem, day * DAY, 100) == 0).unwrap_or(1_000)
    });
    let all: Vec<u64> = lives.collect();
    let mean = all.iter().sum::<u64>() / 60;
    assert!((80..=120).contains(&mean), "{mean}");
    assert!(all.iter().min() != all.iter().max(), "all alike");
}
