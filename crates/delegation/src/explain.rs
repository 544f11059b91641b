//! What a delegation says, in words that its owner understands.

use crate::{
    ANY_DELEGATE, Caveat, Delegation, Environment, Kind, Rule, TermsError, Utc,
    terms::{
        ApprovalRevocation, ChangeType, Class, Classes, Execution, GolemCharter, Holdings, Listing,
        MoodBounds, Role,
    },
    utc::NEVER,
};
use alloy_primitives::{Address, Selector, U256, keccak256};
use std::{collections::BTreeSet, fmt};

const SECONDS_OF_DAY: u64 = 86_400;
/// How deep groups within groups are read.
const MOST_DEEP: usize = 4;

/// A delegation in words: who may act for whom, what each caveat says, and what nobody said.
///
/// ```
/// use golem_delegation::{Caveat, Delegation, Environment, Explanation, Gap, Kind, ROOT_AUTHORITY};
/// use golem_delegation::terms::LimitedCalls;
/// # use alloy_primitives::{Address, Bytes, U256};
/// let enforcer = Address::repeat_byte(0xee);
/// let environment = Environment::default().with(Kind::LimitedCalls, enforcer);
/// let grant = Delegation {
///     delegate: Address::repeat_byte(1),
///     delegator: Address::repeat_byte(2),
///     authority: ROOT_AUTHORITY,
///     caveats: vec![Caveat::new(enforcer, LimitedCalls(U256::from(3)).encode())],
///     salt: U256::ZERO,
///     signature: Bytes::new(),
/// };
/// let words = Explanation::of(&grant, &environment);
/// assert_eq!(words.clauses[0].sentences, ["It can be used 3 times at most."]);
/// assert!(words.gaps.contains(&Gap::NoExpiry));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Who may act for whom.
    pub parties: String,
    /// One for each caveat, in their order.
    pub clauses: Vec<Clause>,
    /// What an owner should know is not there.
    pub gaps: Vec<Gap>,
}

/// What one caveat says.
///
/// ```
/// use golem_delegation::{Environment, Explanation, Kind};
/// # use golem_delegation::{Caveat, Delegation, ROOT_AUTHORITY, enforcers, terms::LimitedCalls};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let known = Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(1)).encode());
/// # let stranger = Caveat::new(Address::repeat_byte(0xee), vec![]);
/// # let [delegate, delegator] = [1, 2].map(Address::repeat_byte);
/// # let grant = Delegation { delegate, delegator, authority: ROOT_AUTHORITY,
/// #     caveats: vec![known, stranger], salt: U256::ZERO, signature: Bytes::new() };
/// let clauses = Explanation::of(&grant, &Environment::stock()).clauses;
/// assert_eq!(clauses[0].kind, Some(Kind::LimitedCalls));
/// assert_eq!(clauses[0].sentences, ["It can be used once at most."]);
/// // Of the second caveat nothing is known but its enforcer.
/// assert_eq!((clauses[1].kind, clauses[1].enforcer), (None, Address::repeat_byte(0xee)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// Its enforcer.
    pub enforcer: Address,
    /// What stands there, where that is known.
    pub kind: Option<Kind>,
    /// In words: one sentence, or for a charter one for each of its rules.
    pub sentences: Vec<String>,
}

/// Something that a careful owner would have said.
///
/// ```
/// use golem_delegation::{ANY_DELEGATE, Delegation, Environment, Explanation, Gap, ROOT_AUTHORITY};
/// # use alloy_primitives::{Address, Bytes, U256};
/// # let [delegate, delegator] = [1, 2].map(Address::repeat_byte);
/// # let grant = Delegation { delegate, delegator, authority: ROOT_AUTHORITY, caveats: vec![],
/// #     salt: U256::ZERO, signature: Bytes::from(vec![1; 65]) };
/// let grant = Delegation { delegate: ANY_DELEGATE, ..grant };
/// let gaps = Explanation::of(&grant, &Environment::stock()).gaps;
/// assert_eq!(gaps, [Gap::NoCaveats, Gap::AnyDelegate, Gap::NoExpiry, Gap::NoSpendBound]);
/// assert_eq!(gaps[2].to_string(), "no expiry: it never ends by itself");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gap {
    /// Everything the delegator can do is lent.
    NoCaveats,
    /// Whoever learns of it may use it.
    AnyDelegate,
    /// It names nobody.
    Nobody,
    /// It never ends by itself.
    NoExpiry,
    /// Nothing bounds what is spent in its life.
    NoSpendBound,
    /// Nothing bounds the coins that a call carries.
    CoinsUnbounded,
    /// A caveat that adds no bound: its contract keeps the amounts that the first of its kind said.
    OnlyCounts {
        /// Which, from zero.
        caveat: usize,
    },
    /// What goes home goes to whoever uses it, or to a contract that anybody can call.
    NoHome {
        /// Whom the charter calls home.
        beneficiary: Address,
    },
    /// What trades bring goes to another account than the one that pays for them.
    OtherAccount {
        /// Where it goes.
        account: Address,
    },
    /// Nobody signed it.
    NotSigned,
    /// Of so many caveats nobody knows what they allow.
    Unknown(usize),
    /// A caveat that is in no form that is read here: it may allow anything.
    Unreadable {
        /// Which, from zero.
        caveat: usize,
        /// What is wrong with it.
        error: TermsError,
    },
    /// A caveat that its contract refuses: nothing can ever be done.
    Malformed {
        /// Which, from zero.
        caveat: usize,
        /// What is wrong with it.
        error: TermsError,
    },
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCaveats => f.write_str("no caveats: everything the account can do is lent"),
            Self::AnyDelegate => f.write_str("any delegate: whoever learns of it may use it"),
            Self::Nobody => f.write_str("no delegate: nobody can ever use it"),
            Self::NoExpiry => f.write_str("no expiry: it never ends by itself"),
            Self::NoSpendBound => {
                f.write_str("no spend bound: nothing limits what it spends in all")
            }
            Self::CoinsUnbounded => {
                f.write_str("no bound on coins: a call may carry all that the account has")
            }
            Self::OnlyCounts { caveat } => write!(
                f,
                "caveat {} adds no bound: its contract keeps the amounts that the first of its kind said",
                caveat + 1
            ),
            Self::NoHome { beneficiary } => write!(
                f,
                "no home: what is sent to {beneficiary} is not yours any more, and anything may be sent there"
            ),
            Self::OtherAccount { account } => write!(
                f,
                "another account: what is bought and withdrawn goes to {account}, which is not the one that pays"
            ),
            Self::NotSigned => f.write_str("no signature: it is worth nothing yet"),
            Self::Unknown(1) => {
                f.write_str("one unknown enforcer: nothing is known of what it allows")
            }
            Self::Unknown(count) => {
                write!(f, "{count} unknown enforcers: nothing is known of what they allow")
            }
            Self::Unreadable { caveat, error } => write!(
                f,
                "caveat {} cannot be read here, and may allow anything: {error}",
                caveat + 1
            ),
            Self::Malformed { caveat, error } => {
                write!(
                    f,
                    "caveat {} cannot be used, and so nothing can be done: {error}",
                    caveat + 1
                )
            }
        }
    }
}

impl Explanation {
    /// Reads every caveat by what is known of its enforcer.
    #[must_use]
    pub fn of(delegation: &Delegation, environment: &Environment) -> Self {
        let read: Vec<_> = delegation.caveats.iter().map(|one| environment.read(one)).collect();
        let clauses = delegation.caveats.iter().zip(&read).map(|(caveat, rule)| Clause {
            enforcer: caveat.enforcer,
            kind: environment.kind(caveat.enforcer),
            sentences: match rule {
                Ok(rule) => rule.explain_in(environment, MOST_DEEP),
                Err(error) => vec![unread(error)],
            },
        });
        Self {
            parties: parties(delegation),
            clauses: clauses.collect(),
            gaps: gaps(delegation, environment, &read),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.parties)?;
        for (index, clause) in (1..).zip(&self.clauses) {
            for (at, sentence) in clause.sentences.iter().enumerate() {
                if at == 0 {
                    writeln!(f, "  {index}. {sentence}")?;
                } else {
                    writeln!(f, "     - {sentence}")?;
                }
            }
        }
        for gap in &self.gaps {
            writeln!(f, "  ! {gap}")?;
        }
        Ok(())
    }
}

fn parties(delegation: &Delegation) -> String {
    let who = match delegation.delegate {
        ANY_DELEGATE => "Anyone".to_owned(),
        Address::ZERO => "Nobody".to_owned(),
        delegate => delegate.to_string(),
    };
    let whom = delegation.delegator;
    if delegation.is_root() {
        format!("{who} may act for {whom}.")
    } else {
        format!("{who} may use what {whom} was lent by {}.", delegation.authority)
    }
}

fn gaps(
    delegation: &Delegation,
    environment: &Environment,
    read: &[Result<Rule, TermsError>],
) -> Vec<Gap> {
    let rules: Vec<&Rule> = read.iter().flatten().collect();
    let unknown = rules.iter().map(|rule| rule.unknown_in(environment, MOST_DEEP)).sum();
    let named = rules.iter().any(|rule| matches!(rule, Rule::Redeemer(_)));
    let found = [
        (delegation.caveats.is_empty(), Gap::NoCaveats),
        (delegation.delegate == ANY_DELEGATE && !named, Gap::AnyDelegate),
        (delegation.delegate.is_zero(), Gap::Nobody),
        (!rules.iter().any(|rule| rule.ends()), Gap::NoExpiry),
        (!bounds_spending(&rules), Gap::NoSpendBound),
        (leaves_coins(&rules), Gap::CoinsUnbounded),
        (delegation.signature.is_empty(), Gap::NotSigned),
        (unknown > 0, Gap::Unknown(unknown)),
    ];
    let mut schedules = BTreeSet::new();
    let only_count = read.iter().enumerate().filter_map(|(caveat, rule)| {
        let rule = rule.as_ref().ok().filter(|rule| rule.keeps_its_first())?;
        (!schedules.insert(rule.kind())).then_some(Gap::OnlyCounts { caveat })
    });
    let homeless = rules.iter().filter_map(|rule| match rule {
        Rule::GolemCharter(charter) => {
            let home = charter.beneficiary;
            let key = home == charter.agent_key || home == delegation.delegate;
            let sends = charter.classes.contains(Class::Transfer);
            let lost = charter.keeps(home) || environment.contains(home);
            (sends && (key || lost)).then_some(Gap::NoHome { beneficiary: home })
        }
        _ => None,
    });
    let elsewhere = rules.iter().filter_map(|rule| match rule {
        // Below the root a delegator hands on what is not his: the charter's account is the root's.
        Rule::GolemCharter(charter) if delegation.is_root() => {
            let account = charter.account;
            (account != delegation.delegator).then_some(Gap::OtherAccount { account })
        }
        _ => None,
    });
    let malformed = read.iter().enumerate().filter_map(|(caveat, rule)| {
        let error = rule.as_ref().err()?.clone();
        Some(if error.is_final() {
            Gap::Malformed { caveat, error }
        } else {
            Gap::Unreadable { caveat, error }
        })
    });
    let found = found.into_iter().filter_map(|(is, gap)| is.then_some(gap));
    found.chain(only_count).chain(homeless).chain(elsewhere).chain(malformed).collect()
}

/// Whether only tokens are bounded, and a call to one may carry coins.
fn leaves_coins(rules: &[&Rule]) -> bool {
    let any = |is: fn(&Rule) -> bool| rules.iter().any(|rule| is(rule));
    let tokens = any(|rule| {
        matches!(
            rule,
            Rule::Erc20PeriodTransfer(_)
                | Rule::Erc20Streaming(_)
                | Rule::Erc20TransferAmount(_)
                | Rule::Erc721Transfer(_)
        )
    });
    let coins = any(|rule| {
        matches!(
            rule,
            Rule::ApprovalRevocation(_)
                | Rule::ExactExecution(_)
                | Rule::ExactExecutionBatch(_)
                | Rule::GolemCharter(_)
                | Rule::MultiTokenPeriod(_)
                | Rule::NativeTokenPeriodTransfer(_)
                | Rule::NativeTokenStreaming(_)
                | Rule::NativeTokenTransferAmount(_)
                | Rule::SpecificActionErc20TransferBatch(_)
        )
    });
    let limited = any(|rule| matches!(rule, Rule::LimitedCalls(_)));
    let capped = rules.iter().any(|rule| {
        matches!(rule, Rule::ValueLte(most) if most.0.is_zero() || (limited && most.0 != U256::MAX))
    });
    tokens && !coins && !capped
}

/// Whether all that is ever spent under these rules, or in any period, has a bound.
///
/// A cap on coins alone has none: a call that carries nothing can still move everything (ATK-17). It bounds where the
/// call's data is fixed too. Nor have a spend limit or a budget beside no charter: they count what is traded, and not
/// what is sent away.
fn bounds_spending(rules: &[&Rule]) -> bool {
    let any = |is: fn(&Rule) -> bool| rules.iter().any(|rule| is(rule));
    let alone = any(|rule| {
        matches!(
            rule,
            Rule::GolemCharter(_)
                | Rule::ApprovalRevocation(_)
                | Rule::Erc20PeriodTransfer(_)
                | Rule::Erc20Streaming(_)
                | Rule::Erc20TransferAmount(_)
                | Rule::Erc721Transfer(_)
        )
    });
    // Of two lists of periods whoever redeems picks the entry that counts.
    let lists = rules.iter().filter(|rule| matches!(rule, Rule::MultiTokenPeriod(_))).count();
    let coins = any(|rule| {
        matches!(
            rule,
            Rule::NativeTokenPeriodTransfer(_)
                | Rule::NativeTokenStreaming(_)
                | Rule::NativeTokenTransferAmount(_)
        )
    });
    // A call with data can do more than carry coins, each time it is made: of those that are fixed only a transfer says
    // how much it moves. An approval lets another take it later.
    let data = |is: fn(&[u8]) -> bool| {
        rules.iter().any(|rule| match rule {
            Rule::ExactCalldata(rule) => is(&rule.0),
            Rule::ExactExecution(rule) => is(&rule.0.call_data),
            _ => false,
        })
    };
    let moves = |data: &[u8]| data.is_empty() || is_transfer(data);
    let whole = rules.iter().any(|rule| match rule {
        Rule::ExactExecution(rule) => moves(&rule.0.call_data),
        Rule::ExactExecutionBatch(rule) => rule.0.iter().all(|call| moves(&call.call_data)),
        _ => false,
    });
    // That one is good once, whatever else there is.
    let once = rules.iter().any(|rule| {
        matches!(rule, Rule::SpecificActionErc20TransferBatch(rule) if moves(&rule.calldata))
    });
    let (plain, fixed) = (data(<[u8]>::is_empty), data(is_transfer));
    let limited = any(|rule| matches!(rule, Rule::LimitedCalls(_)));
    alone || once || lists == 1 || (coins && (plain || (fixed && limited))) || (whole && limited)
}

/// `transfer(address,uint256)`, and nothing behind it.
fn is_transfer(data: &[u8]) -> bool {
    data.len() == 68 && data.starts_with(&[0xa9, 0x05, 0x9c, 0xbb])
}

impl Rule {
    /// Whether its contract stores the terms that it met first on a link, and goes by them for every later one.
    pub(crate) const fn keeps_its_first(&self) -> bool {
        matches!(
            self,
            Self::Erc20PeriodTransfer(_)
                | Self::Erc20Streaming(_)
                | Self::NativeTokenPeriodTransfer(_)
                | Self::NativeTokenStreaming(_)
        )
    }

    /// Whether the rule itself comes to an end.
    const fn ends(&self) -> bool {
        match self {
            Self::GolemCharter(_) | Self::MortalityTimeWindow(_) | Self::ReplicantBudget(_) => true,
            Self::Timestamp(stock) => stock.before != 0 && stock.before < NEVER as u128,
            Self::BlockNumber(stock) => stock.before != 0,
            _ => false,
        }
    }

    /// For whoever signs it: one sentence, or for a charter one for each of its rules. Amounts are exact and name their
    /// unit; times are UTC.
    ///
    /// ```
    /// use golem_delegation::{Rule, terms::{MortalityTimeWindow, ValueLte}};
    /// # use alloy_primitives::U256;
    /// let window = Rule::MortalityTimeWindow(MortalityTimeWindow::new(0, 1_800_000_000)?);
    /// assert_eq!(
    ///     window.explain(),
    ///     ["It works from 1970-01-01T00:00:00Z until 2027-01-15T08:00:00Z, both included."]
    /// );
    /// let value = Rule::ValueLte(ValueLte(U256::ZERO));
    /// assert_eq!(value.explain(), ["A call carries 0 wei of native value at most."]);
    /// # Ok::<(), golem_delegation::TermsError>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> Vec<String> {
        vec![match self {
            Self::GolemCharter(rule) => return charter(rule),
            Self::AllowedCalldata(rule) => {
                format!("The call's data holds {} from byte {} on.", hex(&rule.value), rule.start)
            }
            Self::AllowedMethods(rule) => format!("It calls {}.", selectors(&rule.0)),
            Self::AllowedTargets(rule) => format!("It calls {} alone.", addresses(&rule.0)),
            Self::ApprovalRevocation(rule) => {
                format!("It only takes approvals back, by {}.", revocations(rule))
            }
            Self::ArgsEqualityCheck(rule) => {
                format!("Whoever uses it must bring the arguments {}.", hex(&rule.0))
            }
            Self::BlockNumber(rule) => {
                between("block", rule.after, rule.before, |n| format!("block {n}"))
            }
            Self::Deployed(rule) => format!(
                "A contract must stand at {}, and is put there by the salt {} from the code {} where it does not.",
                rule.contract_address,
                rule.salt,
                hex(&rule.bytecode)
            ),
            Self::Erc1155BalanceChange(rule) => changed(
                rule.change_type,
                rule.recipient,
                &format!("{} of token {} at {}", rule.balance, rule.token_id, rule.token_address),
            ),
            Self::Erc20BalanceChange(rule) => {
                changed(rule.change_type, rule.recipient, &units(rule.balance, rule.token_address))
            }
            Self::Erc20PeriodTransfer(rule) => format!(
                "It transfers {} at most in each {}, from {} on.",
                units(rule.period_amount, rule.token_address),
                duration(rule.period_duration),
                date(rule.start_date)
            ),
            Self::Erc20Streaming(rule) => streamed(
                &format!("base units of token {}", rule.token_address),
                [rule.initial_amount, rule.amount_per_second, rule.max_amount, rule.start_time],
            ),
            Self::Erc20TransferAmount(rule) => format!(
                "It transfers {} at most in its whole life.",
                units(rule.max_amount, rule.token_address)
            ),
            Self::Erc721BalanceChange(rule) => changed(
                rule.change_type,
                rule.recipient,
                &format!("{} tokens of the collection {}", rule.amount, rule.token_address),
            ),
            Self::Erc721Transfer(rule) => format!(
                "It transfers token {} of the collection {}, and nothing else.",
                rule.token_id, rule.token_address
            ),
            Self::ExactCalldata(rule) => {
                format!("The call's data is {}, to the byte.", hex(&rule.0))
            }
            Self::ExactCalldataBatch(rule) => format!(
                "It makes {} with this very data, wherever and with whatever value: {}.",
                calls(rule.0.len()),
                joined(rule.0.iter().map(|one| hex(&one.call_data)))
            ),
            Self::ExactExecution(rule) => {
                format!("It makes one call and no other: {}.", call(&rule.0))
            }
            Self::ExactExecutionBatch(rule) => format!(
                "It makes {} together and no others: {}.",
                calls(rule.0.len()),
                joined(rule.0.iter().map(call))
            ),
            Self::Id(rule) => format!(
                "It is used once, and not at all where another grant numbered {} was used before.",
                rule.0
            ),
            Self::LimitedCalls(rule) => format!("It can be used {} at most.", times(rule.0)),
            Self::LogicalOrWrapper(rule) => either(&rule.0),
            Self::MultiTokenPeriod(rule) => format!(
                "It transfers at most {}.",
                joined(rule.0.iter().map(|one| {
                    let amount = match one.token {
                        Address::ZERO => format!("{} wei", one.period_amount),
                        token => units(one.period_amount, token),
                    };
                    let (period, start) = (duration(one.period_duration), date(one.start_date));
                    format!("{amount} in each {period} from {start} on")
                }))
            ),
            Self::NativeBalanceChange(rule) => {
                changed(rule.change_type, rule.recipient, &format!("{} wei", rule.balance))
            }
            Self::NativeTokenPayment(rule) => format!(
                "Whoever uses it pays {} wei to {} each time, from an account of his own.",
                rule.amount, rule.recipient
            ),
            Self::NativeTokenPeriodTransfer(rule) => format!(
                "It sends {} wei at most in each {}, from {} on.",
                rule.period_amount,
                duration(rule.period_duration),
                date(rule.start_date)
            ),
            Self::NativeTokenStreaming(rule) => streamed(
                "wei",
                [rule.initial_amount, rule.amount_per_second, rule.max_amount, rule.start_time],
            ),
            Self::NativeTokenTransferAmount(rule) => {
                format!("It sends {} wei at most in its whole life.", rule.0)
            }
            Self::Nonce(rule) => format!(
                "It works while the account's nonce is {}; raising that ends every grant that names it.",
                rule.0
            ),
            Self::OwnershipTransfer(rule) => {
                format!("It makes somebody else the owner of {}, and nothing else.", rule.0)
            }
            Self::Redeemer(rule) => format!("Only {} may use it.", addresses(&rule.0)),
            Self::SpecificActionErc20TransferBatch(rule) => format!(
                "Once, it calls {} with {} wei and {}, and then transfers {} to {}.",
                rule.target,
                rule.value,
                hex(&rule.calldata),
                units(rule.amount, rule.token_address),
                rule.recipient
            ),
            Self::Timestamp(rule) => {
                between("time", rule.after, rule.before, |n| date(U256::from(n)))
            }
            Self::ValueLte(rule) => {
                format!("A call carries {} wei of native value at most.", rule.0)
            }
            Self::Cadence(rule) => format!(
                "It can be used {} at most in any {}, with all grants of Golem {} together.",
                times(U256::from(rule.count.get())),
                duration(U256::from(rule.period.get())),
                rule.golem_id
            ),
            Self::DailySpendLimit(rule) => format!(
                "It spends {} at most in any {}, with all grants of Golem {} together, {}; it is number {} of \
                 its grants, and the highest that was used counts.",
                dollars(rule.cap),
                period(rule.bucket_minutes),
                rule.golem_id,
                priced(&rule.listing),
                rule.epoch
            ),
            Self::DreamMode(rule) => format!(
                "Nothing is done while Golem {} dreams and is not dying, by the registry {}.",
                rule.golem_id, rule.registry
            ),
            Self::EmotionalState(rule) => format!(
                "It calls {} only while Golem {} feels {} and has said so in the last {}, by the registry {}.",
                selectors(&rule.selectors),
                rule.golem_id,
                mood(rule.bounds),
                duration(U256::from(rule.staleness)),
                rule.registry
            ),
            Self::GolemPhase(rule) => format!(
                "It does what the phase of life of Golem {} still allows by the registry {}, at {}; unheard of for \
                 {}, only what closes positions and fetches gas money.",
                rule.golem_id,
                rule.registry,
                targets(&rule.listing),
                duration(U256::from(rule.staleness))
            ),
            Self::Holdings(rule) => holdings(rule),
            Self::KnowledgeRoyalty(rule) => format!(
                "Whoever sells knowledge at {} pays its authors in the same batch, {} of the price at most.",
                rule.market,
                percent(rule.max_royalty_bps)
            ),
            Self::MaxSlippage(rule) => format!(
                "Swaps and liquidity lose {} at most against the prices of {}, at {}.",
                percent(rule.bps),
                feeds(&rule.listing),
                targets(&rule.listing)
            ),
            Self::MortalityTimeWindow(rule) => format!(
                "It works from {} until {}, both included.",
                date(U256::from(rule.start())),
                date(U256::from(rule.end()))
            ),
            Self::ReplicantBudget(rule) => format!(
                "The child {} spends {} at most in its whole life, which ends after {}, {}.",
                rule.replicant_id,
                dollars(rule.budget),
                date(U256::from(rule.not_after)),
                priced(&rule.listing)
            ),
            Self::Threshold(rule) => format!(
                "{} of {} must agree to each very call.",
                rule.needed(),
                addresses(rule.signers())
            ),
            Self::VaultNav(rule) => format!(
                "One execution of Golem {} spends {}, {}.",
                rule.golem_id,
                share(rule.vault, rule.bps, rule.cap),
                priced(&rule.listing)
            ),
            Self::Opaque(rule) => {
                format!(
                    "An unknown enforcer {}: nothing is known of what it allows.",
                    rule.enforcer
                )
            }
        }]
    }
}

/// A charter's rules, each a sentence.
fn charter(rule: &GolemCharter) -> Vec<String> {
    let redeems = if rule.replicants { "or a child of it" } else { "and nobody else" };
    let mut words = vec![
        format!(
            "Golem {} acts by the key {} {redeems}, from {} until {}, both included.",
            rule.golem_id,
            rule.agent_key,
            date(U256::from(rule.window.start())),
            date(U256::from(rule.window.end()))
        ),
        match classes(rule.classes).as_str() {
            "" => "It does nothing on chain.".to_owned(),
            listed => format!("It may {listed}, at {}.", targets(&rule.listing)),
        },
        format!(
            "It spends {} at most in any {}, and at once {}.",
            dollars(rule.spend_cap),
            period(rule.bucket_minutes),
            share(rule.vault, rule.nav_bps, rule.nav_cap)
        ),
        format!(
            "Swaps and liquidity lose {} at most against the prices of {}.",
            percent(rule.slippage_bps),
            feeds(&rule.listing)
        ),
        format!(
            "What comes in stays with {}, what goes home goes to {}.",
            rule.account, rule.beneficiary
        ),
        format!(
            "Its key gets {} of gas money at most in a day, and up to a balance of {}.",
            ether(rule.gas_daily_cap),
            ether(rule.gas_ceiling)
        ),
        format!(
            "Unheard of for {}, it only closes positions and fetches gas money.",
            duration(U256::from(rule.staleness))
        ),
        format!(
            "Dying, which its key may say at any time, it turns everything into {}, once and without a cap.",
            token(rule.settlement_asset)
        ),
        format!(
            "The registry {} says how it fares, and there {} ends this grant, or all, at any time.",
            rule.registry, rule.owner
        ),
    ];
    if let Some(bps) = rule.max_royalty_bps {
        words.push(format!(
            "Authors of knowledge it sells get {} of the price at most.",
            percent(bps)
        ));
    }
    if let Some(feeling) = rule.mood {
        words.push(format!(
            "It may {} only while it feels {}.",
            classes(feeling.classes),
            mood(feeling.bounds)
        ));
    }
    words.push(format!(
        "It is grant number {} of generation {}, and the highest that was used counts.",
        rule.epoch, rule.generation
    ));
    words
}

fn holdings(rule: &Holdings) -> String {
    format!(
        "No position of {} but {}, which is cash, grows beyond {} of everything while Golem {} thrives, or {} while it \
         is stable, by the registry {}, and unheard of for {} it buys nothing; {} below its best it only closes, and \
         then loses {} at most of what it gives, {}. Its best is number {}: only a grant with a higher number forgets \
         it.",
        rule.account,
        token(rule.cash),
        percent(rule.thriving_bps),
        rule.golem_id,
        percent(rule.stable_bps),
        rule.registry,
        duration(U256::from(rule.staleness)),
        percent(rule.drawdown_bps),
        percent(rule.loss_bps),
        priced(&rule.listing),
        rule.series
    )
}

impl Rule {
    /// The same, with the caveats of groups read by what is known of their enforcers.
    fn explain_in(&self, environment: &Environment, deep: usize) -> Vec<String> {
        let Self::LogicalOrWrapper(either) = self else { return self.explain() };
        let Some(deep) = deep.checked_sub(1) else { return self.explain() };
        let count = either.0.len();
        let mut words = vec![format!(
            "One of {count} groups of caveats holds, whichever is named by who uses it."
        )];
        for (at, group) in (1..).zip(&either.0) {
            let said = group.iter().map(|caveat| match environment.read(caveat) {
                Ok(rule) => rule.explain_in(environment, deep).join(" "),
                Err(error) => unread(&error),
            });
            let said: Vec<String> = said.collect();
            words.push(match said.as_slice() {
                [] => format!("Group {at}: nothing at all, which allows everything."),
                some => format!("Group {at}: {}", some.join(" ")),
            });
        }
        words
    }

    /// How many enforcers it leads to that nobody here knows.
    fn unknown_in(&self, environment: &Environment, deep: usize) -> usize {
        match (self, deep.checked_sub(1)) {
            (Self::Opaque(_), _) | (Self::LogicalOrWrapper(_), None) => 1,
            (Self::LogicalOrWrapper(either), Some(deep)) => {
                let read = either.0.iter().flatten().map(|caveat| environment.read(caveat));
                read.map(|rule| rule.map_or(0, |rule| rule.unknown_in(environment, deep))).sum()
            }
            _ => 0,
        }
    }
}

/// What is said of a caveat that does not read.
fn unread(error: &TermsError) -> String {
    if error.is_final() {
        format!("Its enforcer refuses it, and so nothing can be done: {error}.")
    } else {
        format!("It cannot be read here, and may allow anything: {error}.")
    }
}

fn either(groups: &[Vec<Caveat>]) -> String {
    let group = |caveats: &Vec<Caveat>| match caveats.as_slice() {
        [] => "nothing at all, which allows everything".to_owned(),
        some => joined(
            some.iter().map(|one| format!("{} by the terms {}", one.enforcer, hex(&one.terms))),
        ),
    };
    format!(
        "One of {} groups of caveats holds, whichever is named by who uses it, judged by: {}.",
        groups.len(),
        groups.iter().map(group).collect::<Vec<_>>().join("; or ")
    )
}

fn streamed(unit: &str, [initial, rate, most, start]: [U256; 4]) -> String {
    format!(
        "It transfers {initial} {unit} from {} on, {rate} more with every second, and {most} at most in its whole life.",
        date(start)
    )
}

fn changed(change: ChangeType, whose: Address, amount: &str) -> String {
    if change.is_decrease() {
        format!("An execution costs {whose} {amount} at most.")
    } else {
        format!("An execution brings {whose} {amount} at least.")
    }
}

/// Both ends are exclusive, and zero is none.
fn between(what: &str, after: u128, before: u128, show: impl Fn(u128) -> String) -> String {
    match (after, before) {
        (0, 0) => format!("It works at any {what}."),
        (0, before) => format!("It works before {}.", show(before)),
        (after, 0) => format!("It works after {}.", show(after)),
        (after, before) if before <= after.saturating_add(1) => {
            format!("It never works: no {what} lies between its ends.")
        }
        (after, before) => format!("It works after {} and before {}.", show(after), show(before)),
    }
}

fn share(vault: Address, bps: u16, cap: u64) -> String {
    if vault.is_zero() {
        return format!("{} at most", dollars(cap));
    }
    format!("{} of the vault {vault} and {} at most", percent(bps), dollars(cap))
}

fn classes(set: Classes) -> String {
    let listed = Class::ALL.into_iter().filter(|class| set.contains(*class)).map(class);
    listed.collect::<Vec<_>>().join(", ")
}

const fn class(class: Class) -> &'static str {
    match class {
        Class::Swap => "swap",
        Class::AddLiquidity => "add liquidity",
        Class::RemoveLiquidity => "remove liquidity",
        Class::Collect => "collect fees",
        Class::BurnPosition => "burn empty positions",
        Class::Deposit => "deposit into vaults",
        Class::Withdraw => "withdraw from vaults",
        Class::Approve => "approve listed spenders",
        Class::Disapprove => "take approvals back",
        Class::Transfer => "send home",
        Class::Wrap => "wrap",
        Class::Unwrap => "unwrap",
        Class::GasTopUp => "fetch gas money",
        Class::SpawnReplicant => "spawn children",
        Class::Settle => "settle",
        Class::Publish => "publish its state",
        Class::Sell => "sell knowledge",
    }
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Token => "token",
        Role::Weth => "wrapped ether",
        Role::SwapRouter => "first router",
        Role::SwapRouter02 => "router",
        Role::PositionManager => "position manager",
        Role::Vault => "vault",
        Role::Lifecycle => "lifecycle",
        Role::AgentKey => "agent's key",
        Role::Registry => "registry",
        Role::Market => "market",
    }
}

fn targets(listing: &Listing) -> String {
    let tokens = listing.tokens.iter().filter_map(|one| Some((one.token, one.role?)));
    let others = listing.targets.iter().map(|one| (one.target, one.role));
    let all: Vec<String> =
        tokens.chain(others).map(|(target, is)| format!("{} {target}", role(is))).collect();
    if all.is_empty() { "no contract".to_owned() } else { joined(all.into_iter()) }
}

/// What a sum in dollars rests on.
fn priced(listing: &Listing) -> String {
    format!("priced by {}, at {}", feeds(listing), targets(listing))
}

/// What prices what: every sum in dollars is as good as these.
fn feeds(listing: &Listing) -> String {
    if listing.tokens.is_empty() {
        return "no feed".to_owned();
    }
    let each = listing.tokens.iter().map(|one| {
        format!(
            "{} by feed {} ({} and {} decimals, {} old at most)",
            token(one.token),
            one.feed,
            one.token_decimals,
            one.feed_decimals,
            duration(U256::from(one.max_age))
        )
    });
    let prices = joined(each);
    if listing.sequencer_feed.is_zero() {
        return prices;
    }
    let grace = duration(U256::from(listing.sequencer_grace));
    format!("{prices}, and none until {grace} after sequencer {} came back", listing.sequencer_feed)
}

fn revocations(rule: &ApprovalRevocation) -> String {
    let ways = [
        (rule.erc20_approve, "approving 0 of a token"),
        (rule.erc721_approve, "approving nobody for a token of a collection"),
        (rule.erc721_set_approval_for_all, "approving nobody for a collection"),
        (rule.permit2_approve, "approving 0 at Permit2"),
        (rule.permit2_lockdown, "Permit2's lockdown"),
        (rule.permit2_invalidate_nonces, "invalidating Permit2's nonces"),
    ];
    joined(ways.into_iter().filter(|(is, _)| *is).map(|(_, way)| way.to_owned()))
}

fn mood(bounds: MoodBounds) -> String {
    format!(
        "pleasure of {} or more, arousal of {} or less and dominance of {} or more",
        bounds.min_pleasure, bounds.max_arousal, bounds.min_dominance
    )
}

fn call(execution: &Execution) -> String {
    let Execution { target, value, call_data } = execution;
    format!("{target} with {value} wei and the data {}", hex(call_data))
}

fn calls(count: usize) -> String {
    if count == 1 { "one call".to_owned() } else { format!("{count} calls") }
}

fn times(count: U256) -> String {
    if count == U256::from(1) { "once".to_owned() } else { format!("{count} times") }
}

fn units(amount: U256, token: Address) -> String {
    format!("{amount} base units of token {token}")
}

fn token(token: Address) -> String {
    if token.is_zero() { "the chain's own coin".to_owned() } else { format!("token {token}") }
}

fn addresses(list: &[Address]) -> String {
    joined(list.iter().map(Address::to_string))
}

fn selectors(list: &[Selector]) -> String {
    let functions = list.iter().map(Selector::to_string);
    let noun = if list.len() == 1 { "the function" } else { "the functions" };
    format!("{noun} {}", joined(functions))
}

/// All of a list: whoever signs it is bound by its end too.
fn joined(all: impl Iterator<Item = String>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

/// Bytes, the long ones by their beginning and what tells them from all others.
pub(crate) fn hex(bytes: &[u8]) -> String {
    match bytes.get(..68) {
        Some(head) if bytes.len() > 68 => {
            let (head, hash) = (alloy_primitives::hex::encode_prefixed(head), keccak256(bytes));
            format!("{head}… ({} bytes, keccak-256 {hash})", bytes.len())
        }
        _ => alloy_primitives::hex::encode_prefixed(bytes),
    }
}

/// Micro-dollars as dollars, exactly.
fn dollars(micros: u64) -> String {
    let (whole, rest) = (micros / 1_000_000, micros % 1_000_000);
    if rest == 0 {
        return format!("${whole}");
    }
    let fraction = format!("{rest:06}");
    let fraction = fraction.trim_end_matches('0');
    format!("${whole}.{fraction:0<2}")
}

/// Gwei as ether, exactly.
fn ether(gwei: u64) -> String {
    let (whole, rest) = (gwei / 1_000_000_000, gwei % 1_000_000_000);
    if rest == 0 {
        return format!("{whole} ether");
    }
    let fraction = format!("{rest:09}");
    format!("{whole}.{} ether", fraction.trim_end_matches('0'))
}

fn percent(bps: u16) -> String {
    match (bps / 100, bps % 100) {
        (whole, 0) => format!("{whole} %"),
        (whole, rest) => format!("{whole}.{rest:02} %"),
    }
}

/// Twelve buckets.
fn period(bucket_minutes: u16) -> String {
    duration(U256::from(bucket_minutes) * U256::from(12 * 60))
}

fn duration(seconds: U256) -> String {
    let units = [(SECONDS_OF_DAY, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let whole = units
        .into_iter()
        .find(|(unit, _)| !seconds.is_zero() && (seconds % U256::from(*unit)).is_zero());
    let (unit, name) = whole.unwrap_or((1, "second"));
    let count = seconds / U256::from(unit);
    if count == U256::from(1) { format!("1 {name}") } else { format!("{count} {name}s") }
}

/// A second as a date, as far as there is one.
fn date(second: U256) -> String {
    match u64::try_from(second) {
        Ok(second) => Utc(second).to_string(),
        Err(_beyond) => format!("second {second}"),
    }
}
