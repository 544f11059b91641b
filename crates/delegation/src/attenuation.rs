//! Whether what a child states is within what its parent stated.

mod golem;
mod grants;
mod schedules;

use crate::{Caveat, Environment, Kind, Rule, TermsError};
use alloy_primitives::{Address, keccak256};
use std::{
    collections::{BTreeSet, HashMap},
    fmt,
};

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
    let mut looser = Vec::new();
    let (bounds, stated) = (ByKind::of(parent), ByKind::of(child));
    for kind in Kind::ALL {
        match (bounds.of_kind(*kind), stated.of_kind(*kind)) {
            ([], _) | (_, []) => {}
            (bounds, stated) => compare(bounds, stated, &mut looser),
        }
    }
    compare_unknown(parent, child, &mut looser);
    if looser.is_empty() { Ok(()) } else { Err(looser) }
}

/// Most executions in one period of a spend cap for which a lower cap is known to be within a higher one.
///
/// The chain counts in units that grow with the cap and rounds every spend up to one, so that under a higher cap
/// many tiny spends can add up to more than under a lower one. In a day this allows for one execution every
/// twenty-one seconds, in a week for one every two and a half minutes. Who does more is held by the parent's own
/// count, which the chain keeps too.
///
/// ```
/// use golem_delegation::{EXECUTIONS_IN_A_PERIOD, Rule, attenuates};
/// # use golem_delegation::terms::{DailySpendLimit, Listing};
/// # use alloy_primitives::B256;
/// # let golem_id = B256::repeat_byte(7);
/// # let day = |cap| [Rule::DailySpendLimit(DailySpendLimit {
/// #     golem_id, epoch: 1, cap, bucket_minutes: 120, listing: Listing::default() })];
/// // Of two daily caps the higher one counts in twos: each spend may count for one more.
/// let cap = 36_000 - EXECUTIONS_IN_A_PERIOD;
/// assert!(attenuates(&day(36_000), &day(cap)).is_err());
/// // Buckets that were there before round up too, and the cap rounds down.
/// assert!(attenuates(&day(36_000), &day(cap - 18)).is_ok());
/// ```
pub const EXECUTIONS_IN_A_PERIOD: u64 = 4_096;

/// How many caveats of one kind are compared; a child or a parent with more of one kind is not comparable. It
/// keeps the work linear.
///
/// ```
/// use golem_delegation::{MOST_OF_ONE_KIND, Rule, attenuates, terms::AllowedTargets};
/// # use alloy_primitives::Address;
/// let router = Rule::AllowedTargets(AllowedTargets(vec![Address::repeat_byte(1)]));
/// let most = vec![router.clone(); MOST_OF_ONE_KIND];
/// assert!(attenuates(&most, &most).is_ok());
///
/// let more = vec![router; MOST_OF_ONE_KIND + 1];
/// assert_eq!(attenuates(&more, &more).unwrap_err()[0].child, "33 caveats of one kind");
/// ```
pub const MOST_OF_ONE_KIND: usize = 32;

impl Environment {
    /// What a delegation's caveats say, in their order.
    ///
    /// ```
    /// use golem_delegation::{Caveat, Environment, Kind, enforcers};
    /// # use alloy_primitives::{Address, U256};
    /// # use golem_delegation::terms::LimitedCalls;
    /// let known = Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(3)).encode());
    /// let stranger = Caveat::new(Address::repeat_byte(1), vec![]);
    /// let rules = Environment::stock().rules(&[known, stranger])?;
    /// assert_eq!([rules[0].kind(), rules[1].kind()], [Some(Kind::LimitedCalls), None]);
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    pub fn rules(&self, caveats: &[Caveat]) -> Result<Vec<Rule>, TermsError> {
        caveats.iter().map(|caveat| self.read(caveat)).collect()
    }
}

/// Rules of a known kind: those of one kind next to each other, in the order in which they were stated. Counted into
/// place and not compared, so that the work stays linear.
struct ByKind<'a> {
    rules: Vec<&'a Rule>,
    ends: [usize; KINDS],
}

const KINDS: usize = Kind::ALL.len();

impl<'a> ByKind<'a> {
    fn of(rules: &'a [Rule]) -> Self {
        let known = || rules.iter().filter_map(|rule| Some((rule.kind()? as usize, rule)));
        let mut ends = [0; KINDS];
        for (kind, _) in known() {
            if let Some(count) = ends.get_mut(kind) {
                *count += 1;
            }
        }
        let mut sum = 0;
        // Where a kind begins; each rule then moves it on by one, and so it becomes where the kind ends.
        for count in &mut ends {
            (*count, sum) = (sum, sum + *count);
        }
        let Some(any) = rules.first() else { return Self { rules: Vec::new(), ends } };
        let mut placed = vec![any; sum];
        for (kind, rule) in known() {
            if let Some(next) = ends.get_mut(kind)
                && let Some(place) = placed.get_mut(*next)
            {
                *place = rule;
                *next += 1;
            }
        }
        Self { rules: placed, ends }
    }

    fn of_kind(&self, kind: Kind) -> &[&'a Rule] {
        let kind = kind as usize;
        let end = self.ends.get(kind).copied().unwrap_or_default();
        let start = kind.checked_sub(1).and_then(|before| self.ends.get(before)).copied();
        self.rules.get(start.unwrap_or_default()..end).unwrap_or_default()
    }
}

/// Enforcers that nobody here knows, each by itself, in the parent's order.
fn compare_unknown(parent: &[Rule], child: &[Rule], out: &mut Vec<Looser>) {
    let unknown = |rule: &Rule| match rule {
        Rule::Opaque(opaque) => Some(opaque.enforcer),
        _ => None,
    };
    let mut stated: HashMap<Address, Vec<&Rule>> = HashMap::new();
    for rule in child {
        if let Some(enforcer) = unknown(rule) {
            stated.entry(enforcer).or_default().push(rule);
        }
    }
    if stated.is_empty() {
        return;
    }
    let mut order = Vec::new();
    let mut bounds: HashMap<Address, Vec<&Rule>> = HashMap::new();
    for rule in parent {
        if let Some(enforcer) = unknown(rule) {
            let of_it = bounds.entry(enforcer).or_default();
            if of_it.is_empty() {
                order.push(enforcer);
            }
            of_it.push(rule);
        }
    }
    for enforcer in order {
        if let (Some(bounds), Some(stated)) = (bounds.get(&enforcer), stated.get(&enforcer)) {
            compare(bounds, stated, out);
        }
    }
}

/// All bounds of one kind, or of one unknown enforcer.
fn compare(parent: &[&Rule], child: &[&Rule], out: &mut Vec<Looser>) {
    let kind = parent.first().and_then(|rule| rule.kind());
    let looser =
        |bound: Bound| Looser { kind, bound: bound.name, parent: bound.parent, child: bound.child };
    let mut name = |Loose(bounds): Loose| out.extend(bounds.into_iter().map(looser));
    if let ([parent], [child]) = (parent, child) {
        if let Err(loose) = within(child, parent) {
            name(loose);
        }
        return;
    }
    let most = MOST_OF_ONE_KIND;
    if parent.len() > most || child.len() > most {
        let count = |rules: &[&Rule]| format!("{} caveats of one kind", rules.len());
        name(Loose::new("list", count(parent), count(child)));
        return;
    }
    // Caveats of one kind on one link share their counters, and the first of them may set the bound of all: only
    // the same list is known to say the same.
    if kind.is_none_or(counts) {
        if parent != child {
            let first = (0..).find(|at| parent.get(*at) != child.get(*at)).unwrap_or_default();
            let said = |rules: &[&Rule]| {
                let words = rules.get(first).map(|rule| rule.explain().join(" "));
                let words = words.unwrap_or_else(|| "there is none".to_owned());
                format!("number {} of {} that share a count ({words})", first + 1, rules.len())
            };
            name(Loose::new("list", said(parent), said(child)));
        }
        return;
    }
    for parent in parent {
        let mut first = None;
        if child.iter().any(|child| match within(child, parent) {
            Ok(()) => true,
            Err(loose) => {
                first.get_or_insert(loose);
                false
            }
        }) {
            continue;
        }
        if let Some(loose) = first {
            name(loose);
        }
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

/// All of them, of one caveat.
#[derive(Debug)]
struct Loose(Vec<Bound>);

impl Loose {
    fn new(name: &'static str, parent: impl fmt::Display, child: impl fmt::Display) -> Self {
        Self(vec![Bound { name, parent: parent.to_string(), child: child.to_string() }])
    }
}

type Verdict = Result<(), Loose>;

/// Whose bounds these are, where there are several.
fn of(whose: Address, Loose(bounds): Loose) -> Loose {
    let named = |bound: Bound| Bound { child: format!("{} of {whose}", bound.child), ..bound };
    Loose(bounds.into_iter().map(named).collect())
}

/// Whoever refuses names everything that is looser, and not the first alone.
fn all<const N: usize>(verdicts: [Verdict; N]) -> Verdict {
    if verdicts.iter().all(Result::is_ok) {
        return Ok(());
    }
    every(verdicts)
}

/// The same of as many as there are.
fn every(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
    let loose = verdicts.into_iter().filter_map(Result::err).flat_map(|Loose(bounds)| bounds);
    let loose: Vec<Bound> = loose.collect();
    if loose.is_empty() { Ok(()) } else { Err(Loose(loose)) }
}

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
    if child > parent { Err(Loose::new(name, parent, child)) } else { Ok(()) }
}

fn at_least<T: PartialOrd + fmt::Display>(name: &'static str, child: T, parent: T) -> Verdict {
    if child < parent { Err(Loose::new(name, parent, child)) } else { Ok(()) }
}

fn same<T: PartialEq + fmt::Display>(name: &'static str, child: T, parent: T) -> Verdict {
    if child == parent { Ok(()) } else { Err(Loose::new(name, parent, child)) }
}

/// The same bytes, which are too long to be shown.
fn same_bytes(name: &'static str, child: &[u8], parent: &[u8]) -> Verdict {
    if child == parent {
        return Ok(());
    }
    let shown = |bytes: &[u8]| format!("{} bytes ({})", bytes.len(), keccak256(bytes));
    Err(Loose::new(name, shown(parent), shown(child)))
}

/// How long a list may be that is searched from front to back.
const SHORT: usize = 32;

/// Every entry of the child's list is one of the parent's.
fn among<T: Copy + Ord + fmt::Display>(name: &'static str, child: &[T], parent: &[T]) -> Verdict {
    match missing(child, parent).as_slice() {
        [] => Ok(()),
        [one] => Err(Loose::new(name, listed(parent), one)),
        several => Err(Loose::new(name, listed(parent), listed(several))),
    }
}

/// The entries that another list has not.
fn missing<T: Copy + Ord>(of: &[T], within: &[T]) -> Vec<T> {
    if within.len() <= SHORT {
        return of.iter().filter(|entry| !within.contains(entry)).copied().collect();
    }
    let within: BTreeSet<_> = within.iter().collect();
    of.iter().filter(|entry| !within.contains(entry)).copied().collect()
}

/// A list for people.
fn listed<T: fmt::Display>(entries: &[T]) -> String {
    let text: Vec<_> = entries.iter().map(ToString::to_string).collect();
    format!("[{}]", text.join(", "))
}
