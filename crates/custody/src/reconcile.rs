//! The books, held against what the chain counted (SPEC X3).
//!
//! ```text
//! dry run ──► Counted (the charter's own window, on the block that was judged on) ─┐
//! books ────► Spent (all that was reserved and not given back) ────────────────────┴─► the stricter of both gates the clearance
//! ```
//!
//! A deed that nobody here asked for, as by a thief or by a second process with the same key, is on the chain and not in the books:
//! it takes room away. One that a reorganisation undid is in the books and not on the chain: it gives none back. What is under way
//! is in the books and need not be on the chain: it covers nothing of what the chain counts. If it has landed all the same and the
//! books do not know yet, it is counted twice until they do, and what is asked for meanwhile is refused early.

use crate::{Caps, Spent};
use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

/// How many roundings may lie between two counts of the same deeds: what is within them is no drift, though it counts.
const ROUNDINGS: u64 = 64;

/// What the chain counted under a Golem's name by the end of a block, in micro-dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Whose spending it is.
    pub golem: B256,
    /// What is certainly of the last 24 hours.
    pub at_least: u64,
    /// What all of the last 24 hours can come to; none where the chain does not look back as far.
    pub at_most: Option<u64>,
    /// What each deed is rounded up to.
    pub grain: u64,
}

/// How the books and the chain differ, in micro-dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Drift {
    /// Somebody else spent under the same name, or an estimate was too low.
    ChainCountsMore(u64),
    /// An estimate was too high, something that no charter counts was paid, or a reorganisation undid something.
    ChainCountsLess(u64),
}

impl Counted {
    /// How the books differ, where they do; `open` is what they count and the chain need not have yet.
    pub(crate) fn against(&self, spent: &Spent, open: u64) -> Option<Drift> {
        let slack = self.grain.saturating_mul(ROUNDINGS);
        let more = self.more(spent, open);
        let landed = spent.day.saturating_sub(open);
        let less = self.at_most.map_or(0, |most| landed.saturating_sub(most));
        match (more > slack, less > slack) {
            (true, _) => Some(Drift::ChainCountsMore(more)),
            (false, true) => Some(Drift::ChainCountsLess(less)),
            (false, false) => None,
        }
    }

    /// What the books may still count up to, so that the stricter of both holds.
    pub(crate) fn tighten(&self, caps: &Caps, spent: &Spent, open: u64) -> Caps {
        let more = self.more(spent, open);
        Caps {
            session: caps.session,
            day: caps.day.saturating_sub(more),
            owner_day: caps.owner_day.map(|day| day.saturating_sub(more)),
        }
    }

    /// What the chain counts that the books do not. What is under way is not on the chain, and stands for nothing that is.
    ///
    /// Where something of it has landed and the books do not know yet, it is counted twice until they do: that takes room away, and
    /// never gives any.
    const fn more(&self, spent: &Spent, open: u64) -> u64 {
        self.at_least.saturating_sub(spent.day.saturating_sub(open))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOLLAR: u64 = 1_000_000;
    const CAPS: Caps = Caps { session: 900, day: 500 * DOLLAR, owner_day: Some(700 * DOLLAR) };

    fn counted(dollars: u64) -> Counted {
        let sum = dollars * DOLLAR;
        Counted { golem: B256::ZERO, at_least: sum, at_most: Some(sum), grain: 1 << 14 }
    }

    const fn spent(dollars: u64) -> Spent {
        Spent { session: 0, day: dollars * DOLLAR }
    }

    /// X3: somebody else spent under the same name.
    #[test]
    fn what_the_chain_counts_more_takes_room_away() {
        let (chain, books) = (counted(300), spent(100));

        let caps = chain.tighten(&CAPS, &books, 0);

        assert_eq!((caps.day, caps.owner_day), (300 * DOLLAR, Some(500 * DOLLAR)));
        assert_eq!(chain.against(&books, 0), Some(Drift::ChainCountsMore(200 * DOLLAR)));
        // More than there ever was room for.
        assert_eq!(counted(1_000).tighten(&CAPS, &books, 0).day, 0);
    }

    /// X3: what was done may be done again by the next block.
    #[test]
    fn what_a_reorganisation_undid_gives_no_room_back() {
        let (chain, books) = (counted(0), spent(100));

        assert_eq!(chain.tighten(&CAPS, &books, 0), CAPS);
        assert_eq!(chain.against(&books, 0), Some(Drift::ChainCountsLess(100 * DOLLAR)));
        // A window that is shorter than a day says nothing of what is missing in it.
        let short = Counted { at_most: None, ..chain };
        assert_eq!(short.against(&books, 0), None);
    }

    /// X3: two counts of the same deeds.
    #[test]
    fn what_is_under_way_or_rounded_is_no_drift() {
        assert_eq!(counted(100).against(&spent(100), 0), None);
        assert_eq!(counted(60).against(&spent(100), 40 * DOLLAR), None);
        let rounded = Counted { at_least: 100 * DOLLAR + 64 * (1 << 14), ..counted(100) };
        assert_eq!(rounded.against(&spent(100), 0), None);
        // It counts all the same.
        assert_eq!(rounded.tighten(&CAPS, &spent(100), 0).day, CAPS.day - 64 * (1 << 14));
        let beyond = Counted { at_least: rounded.at_least + 1, ..rounded };
        assert!(beyond.against(&spent(100), 0).is_some());
    }

    /// X3: what is under way covers nothing of what somebody else spent meanwhile. Where it is the very same, and the books do not
    /// know yet that it landed, it counts twice until they do: less room, and never more.
    #[test]
    fn what_is_under_way_stands_for_nothing_that_the_chain_counts() {
        let (chain, books, open) = (counted(400), spent(400), 400 * DOLLAR);

        let caps = chain.tighten(&CAPS, &books, open);

        assert_eq!((caps.day, caps.owner_day), (100 * DOLLAR, Some(300 * DOLLAR)));
        assert_eq!(chain.against(&books, open), Some(Drift::ChainCountsMore(400 * DOLLAR)));
        // Part of it landed and is known to have.
        assert_eq!(chain.tighten(&CAPS, &books, 100 * DOLLAR).day, 400 * DOLLAR);
        assert_eq!(chain.tighten(&CAPS, &books, 0), CAPS);
    }
}
