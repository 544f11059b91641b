//! SPEC X3: what is kept of a budget here, and what the chain counted.

use alloy_primitives::U256;
use golem_delegation::{Budget, Drift, Reservation, SpendRefusal, SpendTerms, SpendWindow};
use proptest::prelude::*;

const NOW: u64 = 1_800_000_000;
const CAP: u64 = 1_000_000_000;

fn terms() -> SpendTerms {
    SpendTerms::new(CAP, SpendTerms::DAY, 1).unwrap()
}

/// A word in which `amount` was spent just now.
fn word(amount: u64) -> U256 {
    SpendWindow::default().spend(U256::from(amount), &terms(), NOW).unwrap().to_word()
}

#[test]
fn what_is_under_way_is_not_there_twice() {
    let mut budget = Budget::new(terms());
    let first = budget.reserve(600_000_000, NOW).unwrap();

    let refused = budget.reserve(500_000_000, NOW).unwrap_err();

    assert!(matches!(refused, SpendRefusal::OverCap { cap: CAP, .. }), "{refused}");
    budget.settle(first, 5);
    assert!(budget.reserve(500_000_000, NOW).is_err(), "done is spent");
    assert_eq!(budget.reconcile(U256::ZERO, 6, NOW).unwrap(), Drift::ChainCountsLess(600_014_848));
    assert!(budget.reserve(500_000_000, NOW).is_ok(), "undone is there again");
}

/// Another grant of the same Golem spends, and a word that is older than a receipt takes nothing back.
#[test]
fn the_chain_decides_and_takes_back_nothing_that_came_later() {
    let mut budget = Budget::new(terms());
    let mine = budget.reserve(200_000_000, NOW).unwrap();
    let under_way = budget.reserve(100_000_000, NOW).unwrap();
    budget.settle(mine, 10);

    // Of block 9: what was done in block 10 is not in it yet.
    let drift = budget.reconcile(word(300_000_000), 9, NOW).unwrap();

    assert_eq!(drift, Drift::ChainCountsMore(300_023_808));
    let left = budget.remaining(NOW).unwrap();
    assert!(left <= CAP - 600_000_000 && left > CAP - 601_000_000, "{left}");
    // Of block 10: it is.
    let both = SpendWindow::from_word(word(300_000_000));
    let both = both.spend(U256::from(200_000_000), &terms(), NOW).unwrap().to_word();
    assert_eq!(budget.reconcile(both, 10, NOW).unwrap(), Drift::None);
    assert_eq!(budget.remaining(NOW).unwrap(), left, "counted once");
    budget.release(under_way);
    assert!(budget.remaining(NOW).unwrap() > left);
}

#[test]
fn a_receipt_of_a_block_that_was_looked_at_is_counted_there() {
    let mut budget = Budget::new(terms());
    let mine = budget.reserve(200_000_000, NOW).unwrap();
    assert_eq!(
        budget.reconcile(word(200_000_000), 10, NOW).unwrap(),
        Drift::ChainCountsMore(200_015_872)
    );
    let twice = budget.remaining(NOW).unwrap();

    budget.settle(mine, 10);

    // That block may have been replaced by another: until the next word it counts twice.
    assert_eq!(budget.remaining(NOW).unwrap(), twice);
    assert_eq!(budget.reconcile(word(200_000_000), 11, NOW).unwrap(), Drift::None);
    assert!(budget.remaining(NOW).unwrap() > twice, "no longer under way");
}

#[test]
fn a_newer_grant_ends_the_budget() {
    let mut budget = Budget::new(terms());
    let newer = SpendTerms::new(CAP, SpendTerms::DAY, 2).unwrap();
    let word = SpendWindow::default().spend(U256::from(1), &newer, NOW).unwrap().to_word();
    budget.reconcile(word, 1, NOW).unwrap();

    let refused = budget.reserve(1, NOW).unwrap_err();

    assert!(matches!(refused, SpendRefusal::StaleEpoch { epoch: 1, highest: 2 }), "{refused}");
}

/// One step of a life with the chain's own window beside it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Reserve(u64),
    /// The oldest reservation takes effect, or does not.
    Land(bool),
    /// Another grant of the same Golem spends.
    Other(u64),
    /// The chain is asked, as it was so many blocks ago.
    Ask(usize),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (1..CAP / 2).prop_map(Step::Reserve),
        any::<bool>().prop_map(Step::Land),
        (1..CAP / 4).prop_map(Step::Other),
        (0..3usize).prop_map(Step::Ask),
        (0..40_000u64).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whoever keeps to his budget, and has asked since others spent, is not refused for the cap.
    #[test]
    fn what_is_reserved_the_chain_lets_through(steps in prop::collection::vec(step(), 1..60)) {
        let (mut budget, mut chain) = (Budget::new(terms()), SpendWindow::default());
        let mut blocks = vec![chain];
        let mut open: Vec<(Reservation, u64)> = Vec::new();
        let (mut now, mut told) = (NOW, true);
        let mut others: Vec<usize> = Vec::new();
        for step in steps {
            match step {
                Step::Reserve(amount) => {
                    if let Ok(name) = budget.reserve(amount, now) {
                        open.push((name, amount));
                    }
                }
                Step::Land(done) if !open.is_empty() => {
                    let (name, amount) = open.remove(0);
                    match chain.spend(U256::from(amount), &terms(), now) {
                        Ok(next) if done => {
                            chain = next;
                            blocks.push(chain);
                            budget.settle(name, blocks.len() as u64 - 1);
                        }
                        Ok(_) => budget.release(name),
                        Err(refusal) => {
                            prop_assert!(!told, "reserved, and refused: {}", refusal);
                            budget.release(name);
                        }
                    }
                }
                Step::Land(_) => {}
                Step::Other(amount) => {
                    if let Ok(next) = chain.spend(U256::from(amount), &terms(), now) {
                        chain = next;
                        blocks.push(chain);
                        others.push(blocks.len() - 1);
                        told = false;
                    }
                }
                Step::Ask(ago) => {
                    let at = blocks.len().saturating_sub(1 + ago);
                    budget.reconcile(blocks[at].to_word(), at as u64, now).unwrap();
                    // What others did is known where nothing of it is later than the word; and an older word loses nothing of our own.
                    told = (told || open.is_empty()) && others.iter().all(|block| *block <= at);
                }
                Step::Wait(seconds) => now += seconds,
            }
            if told {
                let here = budget.remaining(now).unwrap();
                let there = chain.remaining(&terms(), now).unwrap();
                prop_assert!(here <= there, "{} here, {} there", here, there);
            }
        }
    }
}

/// A node behind the others says what was: what took effect since is not there to be spent again.
/// Nor what somebody else spent under another grant of the same Golem.
#[test]
fn an_older_word_gives_back_nothing_that_others_spent() {
    let mut budget = Budget::new(terms());
    let word = SpendWindow::default().spend(U256::from(CAP / 2), &terms(), NOW).unwrap().to_word();
    budget.reconcile(word, 10, NOW).unwrap();
    let left = budget.remaining(NOW).unwrap();

    budget.reconcile(U256::ZERO, 7, NOW).unwrap();

    assert_eq!(budget.remaining(NOW).unwrap(), left);
    budget.reconcile(U256::ZERO, 10, NOW).unwrap();
    let whole = Budget::new(terms()).remaining(NOW).unwrap();
    assert_eq!(budget.remaining(NOW).unwrap(), whole, "a word as late does");
}

#[test]
fn an_older_word_loses_nothing() {
    let mut budget = Budget::new(terms());
    let swap = budget.reserve(CAP / 2, NOW).unwrap();
    budget.settle(swap, 8);
    let word = SpendWindow::default().spend(U256::from(CAP / 2), &terms(), NOW).unwrap().to_word();
    budget.reconcile(word, 10, NOW).unwrap();
    let left = budget.remaining(NOW).unwrap();

    budget.reconcile(U256::ZERO, 7, NOW).unwrap();

    assert_eq!(budget.remaining(NOW).unwrap(), left);
}

/// A block that was asked for may be replaced by another of its height.
#[test]
fn what_is_told_of_after_its_block_was_asked_for_counts_until_the_next_word() {
    let mut budget = Budget::new(terms());
    let swap = budget.reserve(CAP / 2, NOW).unwrap();
    budget.reconcile(U256::ZERO, 10, NOW).unwrap();

    budget.settle(swap, 10);

    assert!(budget.remaining(NOW).unwrap() <= CAP - CAP / 2);
    let word = SpendWindow::default().spend(U256::from(CAP / 2), &terms(), NOW).unwrap().to_word();
    budget.reconcile(word, 10, NOW).unwrap();
    assert!(budget.remaining(NOW).unwrap() <= CAP - CAP / 2);
    budget.reconcile(U256::ZERO, 11, NOW).unwrap();
    assert!(budget.remaining(NOW).unwrap() > CAP - CAP / 2);
}
