//! SPEC G4, INV-11: what `child ⊆ parent` accepts is a subset, by the word of the contracts themselves.
//!
//! For a parent's rules P and a child's C near them, and for the kinds that C states: the account signs two roots, one with
//! C's caveats of those kinds and one with P's. Deeds at the bounds of both, with jumps of time between
//! them, are tried under the first. Whatever went through there must go through under the second, from the same
//! state on, wherever the checker has said yes. Where it said no, some deed should show why.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests fail like tests"
)]

mod arena;
mod drawn;
mod steps;

use anyhow::{Result, ensure};
use arena::Arena;
use drawn::{Dice, draw, vary};
use golem_delegation::{Kind, Looser, Rule, attenuates};
use std::{collections::BTreeMap, fmt::Write as _, thread};
use steps::{Grant, Step, goes_with, steps};

/// Accepted pairs that the test demands, and of each kind.
const ACCEPTED: u64 = 5_000;
const OF_EACH_KIND: u64 = 100;
/// Of pairs that are accepted, of pairs that are refused, and of deeds that are done under the child.
const LEAST_PERCENT: u64 = 30;
/// How many pairs of each kind are tried.
const ROUNDS: u64 = 180;
/// How often a witness of a refusal is looked for.
const ATTEMPTS: u64 = 8;
/// Least percentage of refused pairs for which a deed shows why.
const WITNESSED_PERCENT: u64 = 55;

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    pairs: u64,
    accepted: u64,
    refused: u64,
    /// Refused, and some deed that the child allows is refused by the parent.
    witnessed: u64,
    deeds: u64,
    done: u64,
}

impl Tally {
    const fn add(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.witnessed += other.witnessed;
        self.deeds += other.deeds;
        self.done += other.done;
    }
}

struct Pair {
    parent: Vec<Rule>,
    child: Vec<Rule>,
}

impl Pair {
    /// One kind, and now and then a second that leaves its deeds alone.
    fn drawn(kind: Kind, arena: &Arena, dice: &mut Dice) -> Self {
        let parent = draw(kind, arena, dice);
        let mut pair = Self { child: vec![near(&parent, arena, dice)], parent: vec![parent] };
        // Two of one kind know of each other, or bind together. What belongs to each link's own delegator stays out: two
        // nonces on one link end it, and are never looser.
        if dice.one_in(5) && !matches!(kind, Kind::Id | Kind::Nonce) {
            let another = draw(kind, arena, dice);
            match dice.below(4) {
                0 => pair.child.push(near(&another, arena, dice)),
                1 => pair.parent.push(another),
                _ => {
                    pair.child.push(if dice.one_in(2) {
                        another.clone()
                    } else {
                        near(&another, arena, dice)
                    });
                    pair.parent.push(another);
                }
            }
        }
        let second = dice.pick(Kind::ALL);
        if second != kind && goes_with(kind, second) {
            let parent = draw(second, arena, dice);
            // Left out by the child it is inherited; left out by the parent it is the child's own.
            match dice.below(4) {
                0 => pair.child.push(parent),
                1 => pair.parent.push(parent),
                _ => {
                    pair.child.push(near(&parent, arena, dice));
                    pair.parent.push(parent);
                }
            }
        }
        pair
    }

    /// Of the parent's rules those whose kind the child states.
    fn stated(&self) -> Vec<Rule> {
        let stated = |rule: &&Rule| self.child.iter().any(|child| child.kind() == rule.kind());
        self.parent.iter().filter(stated).cloned().collect()
    }
}

/// One that its contract does not call malformed.
fn near(rule: &Rule, arena: &Arena, dice: &mut Dice) -> Rule {
    loop {
        let varied = vary(rule, arena, dice);
        if varied.encode().is_ok() {
            return varied;
        }
    }
}

/// What a deed shows: done under the child, and refused under the parent.
fn witness(
    arena: &Arena,
    kind: Kind,
    pair: &Pair,
    dice: &mut Dice,
    tally: &mut Tally,
) -> Result<Option<usize>> {
    let parent = pair.stated();
    let (mut ours, mut theirs) = (Grant::of(arena, &pair.child)?, Grant::of(arena, &parent)?);
    let (mut under_child, mut under_parent) = (arena.course(), arena.course());
    for (at, step) in steps(kind, &pair.child, &pair.parent, arena, dice).iter().enumerate() {
        match step {
            Step::Until(moment) => {
                under_child.now = *moment;
                under_parent.now = *moment;
            }
            Step::Mine => {
                under_child.block += 1;
                under_parent.block += 1;
            }
            Step::Others(from, to, data) => {
                under_child.call(*from, *to, Default::default(), data.clone());
                under_parent.call(*from, *to, Default::default(), data.clone());
            }
            Step::Deed(deed) => {
                tally.deeds += 1;
                if ours.allows(&mut under_child, deed)? {
                    tally.done += 1;
                    if !theirs.allows(&mut under_parent, deed)? {
                        return Ok(Some(at));
                    }
                }
            }
        }
    }
    Ok(None)
}

/// One round over every kind.
fn round(arena: &Arena, seed: u64, tallies: &mut BTreeMap<Kind, Tally>) -> Result<()> {
    for (at, kind) in (0_u64..).zip(Kind::ALL.iter().copied()) {
        let mut dice = Dice::seeded(seed << 16 | at);
        let pair = Pair::drawn(kind, arena, &mut dice);
        let verdict = attenuates(&pair.parent, &pair.child);
        let mut tally = Tally { pairs: 1, ..Tally::default() };
        let mut shown = witness(arena, kind, &pair, &mut dice, &mut tally)?;
        // Why something is refused may take a few attempts to show; what is accepted is shown by all pairs together.
        for _ in 1..ATTEMPTS {
            if verdict.is_ok() || shown.is_some() {
                break;
            }
            shown = witness(arena, kind, &pair, &mut dice, &mut Tally::default())?;
        }
        match (verdict, shown) {
            (Ok(()), Some(step)) => anyhow::bail!(
                "{kind}, round {seed}: accepted, and step {step} is allowed under the child alone\n{:#?}\n{:#?}",
                pair.child,
                pair.parent
            ),
            (Ok(()), None) => tally.accepted += 1,
            (Err(looser), shown) => {
                ensure!(named(&looser), "{kind}: a refusal names no bound");
                tally.refused += 1;
                tally.witnessed += u64::from(shown.is_some());
            }
        }
        tallies.entry(kind).or_default().add(&tally);
    }
    Ok(())
}

/// Both numbers are there.
fn named(looser: &[Looser]) -> bool {
    let whole = |one: &Looser| ![one.bound, &one.parent, &one.child].contains(&"");
    !looser.is_empty() && looser.iter().all(whole)
}

fn table(tallies: &BTreeMap<Kind, Tally>, all: &Tally) -> String {
    let mut text = String::new();
    let rows = tallies.iter().map(|(kind, tally)| (kind.name(), tally)).chain([("all", all)]);
    for (name, tally) in rows {
        let Tally { pairs, accepted, refused, witnessed, deeds, done } = tally;
        let over = refused - witnessed;
        let _ = writeln!(
            text,
            "{name:<34} {pairs:>6} pairs {accepted:>6} accepted {refused:>6} refused {over:>5} without a witness \
             {done:>6} of {deeds:>6} deeds done"
        );
    }
    text
}

#[test]
fn what_the_checker_accepts_the_chain_allows_the_parent_too() -> Result<()> {
    let arena = Arena::open()?;
    let halves = thread::scope(|scope| {
        let half = |from: u64| {
            let arena = &arena;
            scope.spawn(move || -> Result<BTreeMap<Kind, Tally>> {
                let mut tallies = BTreeMap::new();
                for seed in (from..ROUNDS).step_by(2) {
                    round(arena, seed, &mut tallies)?;
                }
                Ok(tallies)
            })
        };
        [half(0), half(1)].map(|half| half.join())
    });
    let mut tallies: BTreeMap<Kind, Tally> = BTreeMap::new();
    for half in halves {
        let half = half.map_err(|_panic| anyhow::anyhow!("a half of the pairs panicked"))??;
        for (kind, tally) in half {
            tallies.entry(kind).or_default().add(&tally);
        }
    }
    let mut all = Tally::default();
    tallies.values().for_each(|tally| all.add(tally));
    let shown = table(&tallies, &all);
    eprintln!("{shown}");

    ensure!(all.accepted >= ACCEPTED, "{} accepted pairs\n{shown}", all.accepted);
    for (kind, tally) in &tallies {
        ensure!(tally.pairs >= OF_EACH_KIND, "{kind}: {} pairs\n{shown}", tally.pairs);
        ensure!(tally.accepted > 0, "{kind}: nothing is accepted\n{shown}");
        ensure!(tally.done > 0, "{kind}: no deed is ever done\n{shown}");
    }
    let percent = |part: u64, whole: u64| part * 100 / whole;
    ensure!(percent(all.accepted, all.pairs) >= LEAST_PERCENT, "too few are accepted\n{shown}");
    ensure!(percent(all.refused, all.pairs) >= LEAST_PERCENT, "too few are refused\n{shown}");
    ensure!(percent(all.done, all.deeds) >= LEAST_PERCENT, "too few deeds are done\n{shown}");
    let witnessed = percent(all.witnessed, all.refused);
    ensure!(witnessed >= WITNESSED_PERCENT, "too few refusals have a witness\n{shown}");
    Ok(())
}
