//! What a Golem keeps of its own spending, between two looks at the chain (SPEC X3).
//!
//! ```text
//! reserve ──► open ──► settle(done, block) ──► counted here until the chain's word is of that block or later
//!                 └──► release ──► forgotten
//! reconcile(word, block): the chain's count takes the place of what was counted here up to that block
//! ```
//!
//! What is kept here is never less than what the chain counts for the same deeds, so that whoever keeps to it is not
//! refused for the cap. The chain alone decides; what others spend under the same Golem's name is learnt from its word.

use crate::{SpendRefusal, SpendTerms, SpendWindow};
use alloy_primitives::U256;
use std::collections::BTreeMap;

/// A reservation's name.
///
/// ```
/// use golem_delegation::{Budget, Reservation, SpendTerms};
/// let mut budget = Budget::new(SpendTerms::new(1_000_000, SpendTerms::DAY, 1)?);
/// let swap: Reservation = budget.reserve(400_000, 1_000)?;
/// let other = budget.reserve(400_000, 1_000)?;
/// assert_ne!(swap, other);
///
/// // Released twice it gives back once.
/// budget.release(swap);
/// budget.release(swap);
/// assert_eq!(budget.remaining(1_000)?, 600_000);
/// # Ok::<(), golem_delegation::SpendRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reservation(u64);

/// How what was counted here and what the chain counted differ, in micro-dollars.
///
/// ```
/// use golem_delegation::{Budget, Drift, SpendTerms, SpendWindow};
/// # use alloy_primitives::U256;
/// let terms = SpendTerms::new(1_000_000, 120, 1)?;
/// let mut budget = Budget::new(terms);
/// // Somebody else spent under the same name.
/// let word = SpendWindow::default().spend(U256::from(600_000), &terms, 1_000)?.to_word();
/// assert_eq!(budget.reconcile(word, 5, 1_000)?, Drift::ChainCountsMore(600_000));
/// assert_eq!(budget.remaining(1_000)?, 400_000);
/// # Ok::<(), golem_delegation::SpendRefusal>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// Not at all.
    None,
    /// Somebody else spent, or an estimate was too low.
    ChainCountsMore(u128),
    /// An estimate was too high, or a reorganisation undid something.
    ChainCountsLess(u128),
}

/// A spend that took effect, as far as is known.
#[derive(Clone, Copy, Debug)]
struct Settled {
    block: u64,
    amount: u64,
}

/// A spend window as its Golem knows it.
///
/// ```
/// use golem_delegation::{Budget, SpendTerms};
/// let mut budget = Budget::new(SpendTerms::new(1_000_000, 120, 1)?);
/// let swap = budget.reserve(400_000, 1_000)?;
/// // What is under way is not there twice.
/// assert!(budget.reserve(700_000, 1_000).is_err());
/// budget.release(swap);
/// assert!(budget.reserve(700_000, 1_000).is_ok());
/// # Ok::<(), golem_delegation::SpendRefusal>(())
/// ```
#[derive(Clone, Debug)]
pub struct Budget {
    terms: SpendTerms,
    /// As the chain last had it.
    counted: SpendWindow,
    /// Of which block that was.
    block: u64,
    /// What took effect in blocks after that.
    settled: Vec<Settled>,
    open: BTreeMap<Reservation, u64>,
    next: u64,
}

impl Budget {
    /// Of a grant of which nothing is known to be spent.
    #[must_use]
    pub fn new(terms: SpendTerms) -> Self {
        let (counted, settled) = (SpendWindow::default(), Vec::new());
        Self { terms, counted, block: 0, settled, open: BTreeMap::new(), next: 0 }
    }

    /// Keeps `amount` micro-dollars for a deed that is about to be signed, or says why the chain would not let it pass.
    ///
    /// ```
    /// use golem_delegation::{Budget, SpendTerms};
    /// let mut budget = Budget::new(SpendTerms::new(1_000_000, 120, 1)?);
    /// let swap = budget.reserve(1_000_000, 1_000)?;
    /// assert_eq!(budget.remaining(1_000)?, 0);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    pub fn reserve(&mut self, amount: u64, now: u64) -> Result<Reservation, SpendRefusal> {
        let amounts = self.all().chain([amount]);
        // Whoever comes last is refused, whatever it was that left no room.
        self.counting(amounts, now).map_err(|refusal| match refusal {
            SpendRefusal::OverCap { spent, cap, .. } => {
                SpendRefusal::OverCap { spent, amount: U256::from(amount), cap }
            }
            other => other,
        })?;
        let name = Reservation(self.next);
        self.next += 1;
        self.open.insert(name, amount);
        Ok(name)
    }

    /// It took effect in that block. Until the chain's word is asked for it counts as if it had just happened, and so for longer
    /// than on the chain.
    ///
    /// ```
    /// use golem_delegation::{Budget, SpendTerms};
    /// let mut budget = Budget::new(SpendTerms::new(1_000_000, 120, 1)?);
    /// let swap = budget.reserve(400_000, 1_000)?;
    /// budget.settle(swap, 7);
    /// // Until the chain's own count is asked for, this one stands.
    /// assert!(budget.remaining(1_002)? <= 600_000);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    pub fn settle(&mut self, name: Reservation, block: u64) {
        if let Some(amount) = self.open.remove(&name) {
            self.settled.push(Settled { block, amount });
        }
    }

    /// It never took effect, and never will.
    ///
    /// ```
    /// use golem_delegation::{Budget, SpendTerms};
    /// let mut budget = Budget::new(SpendTerms::new(1_000_000, 120, 1)?);
    /// let swap = budget.reserve(400_000, 1_000)?;
    /// budget.release(swap);
    /// assert_eq!(budget.remaining(1_000)?, 1_000_000);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    pub fn release(&mut self, name: Reservation) {
        self.open.remove(&name);
    }

    /// What can still be reserved.
    ///
    /// ```
    /// use golem_delegation::{Budget, SpendTerms};
    /// let budget = Budget::new(SpendTerms::new(1_000_000, 120, 1)?);
    /// assert_eq!(budget.remaining(1_000)?, 1_000_000);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    pub fn remaining(&self, now: u64) -> Result<u64, SpendRefusal> {
        match self.counting(self.all(), now) {
            Ok(window) => window.remaining(&self.terms, now),
            // What is under way may find no room any more: nothing is left beside it.
            Err(SpendRefusal::OverCap { .. }) => Ok(0),
            Err(refusal) => Err(refusal),
        }
    }

    /// Takes over what the chain counted by the end of `block`. Nothing that took effect later, and nothing that is under way,
    /// is lost by it. A word of an earlier block than the last one gives nothing back, neither of this Golem's nor of anybody
    /// else's: a node may be behind. What a reorganisation undid is given back by the word of a block as late.
    ///
    /// ```
    /// use golem_delegation::{Budget, Drift, SpendTerms, SpendWindow};
    /// # use alloy_primitives::U256;
    /// let terms = SpendTerms::new(1_000_000, 120, 1)?;
    /// let mut budget = Budget::new(terms);
    /// let swap = budget.reserve(400_000, 1_000)?;
    /// budget.settle(swap, 7);
    /// let word = SpendWindow::default().spend(U256::from(400_000), &terms, 1_000)?.to_word();
    /// assert_eq!(budget.reconcile(word, 7, 1_000)?, Drift::None);
    /// # Ok::<(), golem_delegation::SpendRefusal>(())
    /// ```
    pub fn reconcile(&mut self, word: U256, block: u64, now: u64) -> Result<Drift, SpendRefusal> {
        let known = self.since().filter(|settled| settled.block <= block);
        let here = match self.counting(known.map(|settled| settled.amount), now) {
            Ok(window) => window.spent(now)?,
            // More took effect than there was room for: only the chain knows how.
            Err(_refusal) => self.counted.spent(now)?,
        };
        let counted = SpendWindow::from_word(word);
        let there = counted.spent(now)?;
        if block >= self.block {
            self.counted = counted;
            self.block = block;
            self.settled.retain(|settled| settled.block > block);
        }
        Ok(match (there.checked_sub(here), here.checked_sub(there)) {
            (Some(0), _) => Drift::None,
            (Some(more), _) => Drift::ChainCountsMore(more),
            (None, less) => Drift::ChainCountsLess(less.unwrap_or_default()),
        })
    }

    /// What took effect in blocks after the one that the chain's word is of.
    fn since(&self) -> impl Iterator<Item = &Settled> {
        self.settled.iter().filter(|settled| settled.block > self.block)
    }

    /// What took effect and was not asked for since, and what is under way. A block may have been replaced by another of its
    /// height: what is told of after its word counts until the next one.
    fn all(&self) -> impl Iterator<Item = u64> {
        let settled = self.settled.iter().map(|settled| settled.amount);
        settled.chain(self.open.values().copied())
    }

    /// What the chain counted, and these too.
    fn counting(
        &self,
        mut amounts: impl Iterator<Item = u64>,
        now: u64,
    ) -> Result<SpendWindow, SpendRefusal> {
        let count =
            |window: SpendWindow, amount| window.spend(U256::from(amount), &self.terms, now);
        amounts.try_fold(self.counted, count)
    }
}
