//! Whether what a child states is within what its parent stated.

mod golem;
mod grants;
mod schedules;

use crate::{Caveat, Environment, Kind, Rule, TermsError};
use alloy_primitives::{Address, keccak256};
use std::{collections::BTreeSet, fmt};

/// A bound of a child that is looser than its parent's, or that cannot be compared with it.
///
/// ```
/// use golem_delegation::{Rule, attenuates, terms::LimitedCalls};
/// # use alloy_primitives::U256;
/// let calls = |limit: u64| [Rule::LimitedCalls(LimitedCalls(U256::from(limit)))];
///
/// let looser = attenuates(&calls(3), &calls(5)).unwrap_err();
/// assert_eq!(looser[0].to_string(), "limitedCalls: limit 5 is looser than the parent's 3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Looser {
    /// Of which caveat; none for an enforcer that nobody here knows.
    pub kind: Option<Kind>,
    /// Which of its bounds.
    pub bound: &'static str,
    /// What the parent says.
    pub parent: String,
    /// What the child says.
    pub child: String,
}

impl fmt::Display for Looser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.map_or("unknown enforcer", Kind::name);
        let Self { bound, parent, child, .. } = self;
        write!(f, "{kind}: {bound} {child} is looser than the parent's {parent}")
    }
}

/// Decides whether a child with these rules stays within a parent with those: `child ⊆ parent` (SPEC G4).
///
/// Only kinds that the child states are compared. What it leaves out it inherits, because the chain runs
/// the caveats of every link; so check a child against each link above it.
///
/// Where this says yes, the chain allows nobody under the child's rules, as a root of their own, any
/// sequence of actions that it would refuse him under the parent's rules of the same kinds on the same
/// state. A nonce and an id belong to each link's own delegator and are never looser. Two things are left out of
/// that promise, and both are about counting: more than [`EXECUTIONS_IN_A_PERIOD`] executions within one spend period,
/// and a clock beyond 2^64 seconds.
///
/// Where it says no, every bound that is looser is named, with both values. No can also mean "not comparable":
/// the child states what the parent does in a way that nothing is known about.
///
/// ```
/// use golem_delegation::{Rule, attenuates, terms::{AllowedTargets, LimitedCalls}};
/// # use alloy_primitives::{Address, U256};
/// let [router, token] = [1, 2].map(Address::repeat_byte);
/// let parent = [Rule::AllowedTargets(AllowedTargets(vec![router, token]))];
///
/// // One target of two, and a limit that the parent did not have.
/// let child = [
///     Rule::AllowedTargets(AllowedTargets(vec![router])),
///     Rule::LimitedCalls(LimitedCalls(U256::from(3))),
/// ];
/// assert!(attenuates(&parent, &child).is_ok());
/// assert!(attenuates(&child, &parent).is_err());
/// ```
pub fn attenuates(parent: &[Rule], child: &[Rule]) -> Result<(), Vec<Looser>> {
    let (parent, child) = (by_judge(parent), by_judge(child));
    let same_judge = |one: &Stated<'_>, other: &Stated<'_>| one.0 == other.0;
    let judge_of = |rules: &[Stated<'_>]| rules.first().map(|(judge, _)| *judge);
    let mut looser = Vec::new();
    let mut stated = child.chunk_by(same_judge).peekable();
    for bounds in parent.chunk_by(same_judge) {
        let judge = judge_of(bounds);
        while stated.next_if(|rules| judge_of(rules) < judge).is_some() {}
        if let Some(rules) = stated.next_if(|rules| judge_of(rules) == judge) {
            compare(bounds, rules, &mut looser);
        }
    }
    if looser.is_empty() { Ok(()) } else { Err(looser) }
}

/// Most executions in one period of a spend cap for which a lower cap is known to be within a higher one.
///
/// The chain counts in units that grow with the cap and rounds every spend up to one, so that under a higher cap
/// many tiny spends can add up to more than under a lower one. One execution every twenty seconds, day and
/// night, is what this number allows for.
pub const EXECUTIONS_IN_A_PERIOD: u64 = 4_096;

/// How many caveats of one kind are compared; a child or a parent with more of one kind is not comparable. It
/// keeps the work linear.
pub const MOST_OF_ONE_KIND: usize = 32;

impl Environment {
    /// What a delegation's caveats say, in their order.
    pub fn rules(&self, caveats: &[Caveat]) -> Result<Vec<Rule>, TermsError> {
        caveats.iter().map(|caveat| self.read(caveat)).collect()
    }
}

/// A kind is a judge of its own, and so is every enforcer that nobody here knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Judge {
    Known(Kind),
    Unknown(Address),
}

type Stated<'a> = (Judge, &'a Rule);

/// Those of one judge next to each other, in the order in which they were stated.
fn by_judge(rules: &[Rule]) -> Vec<Stated<'_>> {
    let judge = |rule: &Rule| match rule {
        Rule::Opaque(opaque) => Some(Judge::Unknown(opaque.enforcer)),
        known => known.kind().map(Judge::Known),
    };
    let mut sorted: Vec<_> = rules.iter().filter_map(|rule| Some((judge(rule)?, rule))).collect();
    sorted.sort_by_key(|(judge, _)| *judge);
    sorted
}

/// All bounds of one judge.
fn compare(parent: &[Stated<'_>], child: &[Stated<'_>], out: &mut Vec<Looser>) {
    let kind = parent.first().and_then(|(_, rule)| rule.kind());
    let looser =
        |bound: Bound| Looser { kind, bound: bound.name, parent: bound.parent, child: bound.child };
    if let ([(_, parent)], [(_, child)]) = (parent, child) {
        out.extend(within(child, parent).err().map(looser));
        return;
    }
    let most = MOST_OF_ONE_KIND;
    if parent.len() > most || child.len() > most {
        let count = |rules: &[Stated<'_>]| format!("{} caveats of one kind", rules.len());
        out.push(looser(Bound::new("list", count(parent), count(child))));
        return;
    }
    // Caveats of one kind on one link share their counters, and the first of them may set the bound of all: only
    // the same list is known to say the same.
    if kind.is_none_or(counts) {
        if !parent.iter().map(|(_, rule)| rule).eq(child.iter().map(|(_, rule)| rule)) {
            let count =
                |rules: &[Stated<'_>]| format!("{} caveats that share a count", rules.len());
            out.push(looser(Bound::new("list", count(parent), count(child))));
        }
        return;
    }
    for (_, parent) in parent {
        let mut first = None;
        if child.iter().any(|(_, child)| match within(child, parent) {
            Ok(()) => true,
            Err(bound) => {
                first.get_or_insert(bound);
                false
            }
        }) {
            continue;
        }
        out.extend(first.map(looser));
    }
}

/// Whether two caveats of this kind on one link know of each other, through a counter, a lock or a payment.
const fn counts(kind: Kind) -> bool {
    match kind {
        Kind::AllowedCalldata
        | Kind::AllowedMethods
        | Kind::AllowedTargets
        | Kind::ApprovalRevocation
        | Kind::ArgsEqualityCheck
        | Kind::BlockNumber
        | Kind::Deployed
        | Kind::DreamMode
        | Kind::EmotionalState
        | Kind::Erc721Transfer
        | Kind::ExactCalldata
        | Kind::ExactCalldataBatch
        | Kind::ExactExecution
        | Kind::ExactExecutionBatch
        | Kind::GolemPhase
        | Kind::Id
        | Kind::KnowledgeRoyalty
        | Kind::MaxSlippage
        | Kind::MortalityTimeWindow
        | Kind::Nonce
        | Kind::OwnershipTransfer
        | Kind::Redeemer
        | Kind::Timestamp
        | Kind::ValueLte => false,
        Kind::Cadence
        | Kind::DailySpendLimit
        | Kind::Erc1155BalanceChange
        | Kind::Erc20BalanceChange
        | Kind::Erc20PeriodTransfer
        | Kind::Erc20Streaming
        | Kind::Erc20TransferAmount
        | Kind::Erc721BalanceChange
        | Kind::GolemCharter
        | Kind::Holdings
        | Kind::LimitedCalls
        // What its groups count they count under its name.
        | Kind::LogicalOrWrapper
        | Kind::MultiTokenPeriod
        | Kind::NativeBalanceChange
        | Kind::NativeTokenPayment
        | Kind::NativeTokenPeriodTransfer
        | Kind::NativeTokenStreaming
        | Kind::NativeTokenTransferAmount
        | Kind::ReplicantBudget
        | Kind::SpecificActionErc20TransferBatch
        | Kind::Threshold
        | Kind::VaultNav => true,
    }
}

/// One bound of a child that its parent's does not contain.
#[derive(Debug)]
struct Bound {
    name: &'static str,
    parent: String,
    child: String,
}

impl Bound {
    fn new(name: &'static str, parent: impl fmt::Display, child: impl fmt::Display) -> Self {
        Self { name, parent: parent.to_string(), child: child.to_string() }
    }
}

type Verdict = Result<(), Bound>;

/// Terms that can be compared with their parent's.
trait Within {
    /// Whether these allow nothing that the parent's refuse; where they do, by which bound.
    fn within(&self, parent: &Self) -> Verdict;
}

macro_rules! compared {
    ($($kind:ident)*) => {
        /// Compares two rules; those of two kinds say nothing of each other.
        fn within(child: &Rule, parent: &Rule) -> Verdict {
            match (child, parent) {
                $((Rule::$kind(child), Rule::$kind(parent)) => child.within(parent),)*
                (Rule::Opaque(child), Rule::Opaque(parent)) => child.within(parent),
                _ => Ok(()),
            }
        }
    };
}

compared! {
    AllowedCalldata AllowedMethods AllowedTargets ApprovalRevocation ArgsEqualityCheck BlockNumber Cadence
    DailySpendLimit Deployed DreamMode EmotionalState Erc1155BalanceChange Erc20BalanceChange
    Erc20PeriodTransfer Erc20Streaming Erc20TransferAmount Erc721BalanceChange Erc721Transfer
    ExactCalldata ExactCalldataBatch ExactExecution ExactExecutionBatch GolemCharter GolemPhase
    Holdings Id KnowledgeRoyalty LimitedCalls LogicalOrWrapper MaxSlippage MortalityTimeWindow
    MultiTokenPeriod NativeBalanceChange NativeTokenPayment NativeTokenPeriodTransfer
    NativeTokenStreaming NativeTokenTransferAmount Nonce OwnershipTransfer Redeemer ReplicantBudget
    SpecificActionErc20TransferBatch Threshold Timestamp ValueLte VaultNav
}

fn at_most<T: PartialOrd + fmt::Display>(name: &'static str, child: T, parent: T) -> Verdict {
    if child > parent { Err(Bound::new(name, parent, child)) } else { Ok(()) }
}

fn at_least<T: PartialOrd + fmt::Display>(name: &'static str, child: T, parent: T) -> Verdict {
    if child < parent { Err(Bound::new(name, parent, child)) } else { Ok(()) }
}

fn same<T: PartialEq + fmt::Display>(name: &'static str, child: T, parent: T) -> Verdict {
    if child == parent { Ok(()) } else { Err(Bound::new(name, parent, child)) }
}

/// The same bytes, which are too long to be shown.
fn same_bytes(name: &'static str, child: &[u8], parent: &[u8]) -> Verdict {
    if child == parent {
        return Ok(());
    }
    let shown = |bytes: &[u8]| format!("{} bytes ({})", bytes.len(), keccak256(bytes));
    Err(Bound::new(name, shown(parent), shown(child)))
}

/// How long a list may be that is searched from front to back.
const SHORT: usize = 32;

/// Every entry of the child's list is one of the parent's.
fn among<T: Copy + Ord + fmt::Display>(name: &'static str, child: &[T], parent: &[T]) -> Verdict {
    let missing = if parent.len() <= SHORT {
        child.iter().find(|entry| !parent.contains(entry))
    } else {
        let parent: BTreeSet<_> = parent.iter().collect();
        child.iter().find(|entry| !parent.contains(entry))
    };
    missing.map_or(Ok(()), |entry| Err(Bound::new(name, listed(parent), entry)))
}

/// A list for people: the first of it, and how many more.
fn listed<T: fmt::Display>(entries: &[T]) -> String {
    const SHOWN: usize = 4;
    let mut text: Vec<_> = entries.iter().take(SHOWN).map(ToString::to_string).collect();
    if entries.len() > SHOWN {
        text.push(format!("and {} more", entries.len() - SHOWN));
    }
    format!("[{}]", text.join(", "))
}
