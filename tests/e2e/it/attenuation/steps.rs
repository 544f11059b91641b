//! What happens under two rules: deeds at their bounds, and the time and the world in between.

use super::{
    arena::{
        AGENT, ANYTHING, ANYTHING_ELSE, AUTHOR, Arena, BUYERS, MANY, MANY_OWNED, OTHER, PRICE,
        ROYALTY_BPS, ether, many_call,
    },
    drawn::{Dice, charter, transfer},
};
use alloy::{
    primitives::{
        Address, B256, Bytes, U256, address,
        aliases::{U24, U48, U160},
    },
    sol,
    sol_types::{SolCall as _, SolValue as _},
};
use anyhow::Result;
use bardo_bindings::{
    GolemRegistry, KnowledgeMarket,
    defi::{
        Erc20, Erc4626,
        SwapRouter02::{ExactInputSingleParams, exactInputSingleCall},
        Weth9,
    },
    framework::{
        DELEGATION_MANAGER, DelegationManager::redeemDelegationsCall, MODE_BATCH, MODE_SINGLE,
        MODE_SINGLE_TRY, SelectedGroup,
    },
    golem_registry, knowledge_market, threshold_enforcer,
};
use bardo_testkit::{Course, dollars};
use golem_custody::{Execution, encode_batch};
use golem_delegation::{
    Delegation, Kind, PermissionContext, Rule,
    terms::{CoSignature, MoodBounds, Threshold},
};

sol! {
    /// Of tokens that are one of a kind.
    function transferFrom(address from, address to, uint256 tokenId) external;
    /// Of whatever has an owner.
    function transferOwnership(address newOwner) external;
    function setApprovalForAll(address operator, bool approved) external;

    /// Of Permit2.
    interface Permit2 {
        function approve(address token, address spender, uint160 amount, uint48 expiration) external;
        function lockdown((address,address)[] approvals) external;
        function invalidateNonces(address token, address spender, uint48 newNonce) external;
    }
}

/// One attempt.
pub(super) struct Deed {
    redeemer: Address,
    mode: B256,
    execution: Bytes,
    /// The token that leaves, as a rule with several counts each in its own place.
    token: Address,
    /// Which group of a wrapper.
    group: u64,
    /// Who of the council agrees.
    agree: Vec<usize>,
    /// What is said where a rule wants to hear something.
    said: Bytes,
    /// What is paid at most where a rule wants to be paid.
    paid: U256,
    /// No two are the same.
    number: u64,
}

pub(super) enum Step {
    /// Until this second.
    Until(u64),
    Mine,
    /// Somebody else acts.
    Others(Address, Address, Vec<u8>),
    Deed(Deed),
}

/// Which deeds a rule of a kind is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Theme {
    Transfer,
    Coin,
    Revocation,
    Position,
    Many,
    Ownership,
    Batch,
    Trade,
}

const fn theme(kind: Kind) -> Theme {
    match kind {
        Kind::NativeBalanceChange
        | Kind::NativeTokenPayment
        | Kind::NativeTokenPeriodTransfer
        | Kind::NativeTokenStreaming
        | Kind::NativeTokenTransferAmount
        | Kind::ValueLte => Theme::Coin,
        Kind::ApprovalRevocation => Theme::Revocation,
        Kind::Erc721BalanceChange | Kind::Erc721Transfer => Theme::Position,
        Kind::Erc1155BalanceChange => Theme::Many,
        Kind::OwnershipTransfer => Theme::Ownership,
        Kind::ExactCalldataBatch
        | Kind::ExactExecutionBatch
        | Kind::SpecificActionErc20TransferBatch => Theme::Batch,
        Kind::DailySpendLimit
        | Kind::EmotionalState
        | Kind::GolemCharter
        | Kind::GolemPhase
        | Kind::Holdings
        | Kind::KnowledgeRoyalty
        | Kind::MaxSlippage
        | Kind::ReplicantBudget
        | Kind::VaultNav => Theme::Trade,
        _ => Theme::Transfer,
    }
}

/// Whether a second rule of this kind leaves the deeds of the first one alone.
pub(super) const fn goes_with(kind: Kind, second: Kind) -> bool {
    let single = !matches!(theme(kind), Theme::Batch | Theme::Trade);
    match second {
        Kind::Timestamp
        | Kind::MortalityTimeWindow
        | Kind::LimitedCalls
        | Kind::Redeemer
        | Kind::Cadence
        | Kind::DreamMode
        | Kind::Nonce
        | Kind::BlockNumber => true,
        Kind::ValueLte => single,
        Kind::AllowedTargets => matches!(theme(kind), Theme::Transfer),
        _ => false,
    }
}

/// Numbers at which a rule changes its mind.
fn amounts(rule: &Rule) -> Vec<U256> {
    match rule {
        Rule::Erc20TransferAmount(rule) => vec![rule.max_amount],
        Rule::Erc20PeriodTransfer(rule) => vec![rule.period_amount],
        Rule::Erc20Streaming(rule) => vec![rule.initial_amount, rule.max_amount],
        Rule::Erc20BalanceChange(rule) => vec![rule.balance],
        Rule::NativeTokenTransferAmount(rule) => vec![rule.0],
        Rule::NativeTokenPeriodTransfer(rule) => vec![rule.period_amount],
        Rule::NativeTokenStreaming(rule) => vec![rule.initial_amount, rule.max_amount],
        Rule::NativeBalanceChange(rule) => vec![rule.balance],
        Rule::MultiTokenPeriod(rule) => rule.0.iter().map(|entry| entry.period_amount).collect(),
        Rule::ValueLte(rule) => vec![rule.0],
        Rule::DailySpendLimit(rule) => vec![U256::from(rule.cap)],
        Rule::ReplicantBudget(rule) => vec![U256::from(rule.budget)],
        Rule::VaultNav(rule) => vec![U256::from(rule.cap)],
        Rule::GolemCharter(law) => vec![U256::from(law.spend_cap), U256::from(law.nav_cap)],
        Rule::Erc1155BalanceChange(rule) => vec![rule.balance],
        _ => Vec::new(),
    }
}

/// Seconds at which a rule changes its mind, near this one.
fn moments(rule: &Rule, now: u64) -> Vec<u64> {
    let small = |moment: u128| u64::try_from(moment).unwrap_or_default();
    let periods = |start: U256, duration: U256| -> Vec<u64> {
        let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(duration)) else {
            return Vec::new();
        };
        let Some(passed) = now.saturating_sub(start).checked_div(length) else { return Vec::new() };
        (0..5).map(|more| start + (passed + more) * length).collect()
    };
    match rule {
        Rule::Timestamp(rule) => vec![small(rule.after), small(rule.before)],
        Rule::MortalityTimeWindow(rule) => vec![rule.start(), rule.end()],
        Rule::Erc20PeriodTransfer(rule) => periods(rule.start_date, rule.period_duration),
        Rule::NativeTokenPeriodTransfer(rule) => periods(rule.start_date, rule.period_duration),
        Rule::MultiTokenPeriod(rule) => rule
            .0
            .iter()
            .flat_map(|entry| periods(entry.start_date, entry.period_duration))
            .collect(),
        Rule::Erc20Streaming(rule) => {
            vec![u64::try_from(rule.start_time).unwrap_or_default() + 900]
        }
        Rule::NativeTokenStreaming(rule) => {
            vec![u64::try_from(rule.start_time).unwrap_or_default() + 900]
        }
        Rule::Cadence(rule) => vec![now + u64::from(rule.period.get())],
        Rule::GolemPhase(rule) => vec![now + u64::from(rule.staleness)],
        Rule::EmotionalState(rule) => vec![now + u64::from(rule.staleness)],
        Rule::Holdings(rule) => vec![now + u64::from(rule.staleness)],
        Rule::ReplicantBudget(rule) => vec![rule.not_after],
        Rule::DailySpendLimit(rule) => {
            let [next, freed] = buckets(rule.bucket_minutes, now);
            vec![next, freed, now + listed_age(&rule.listing)]
        }
        Rule::VaultNav(_) => vec![now + 3_600, now + 7_200],
        Rule::MaxSlippage(rule) => vec![now + listed_age(&rule.listing)],
        Rule::GolemCharter(law) => {
            let [next, freed] = buckets(law.bucket_minutes, now);
            let stale = now + u64::from(law.staleness);
            vec![next, freed, stale, law.window.end(), now + listed_age(&law.listing)]
        }
        _ => Vec::new(),
    }
}

/// When the next bucket begins, and when what is spent now is free again.
fn buckets(minutes: u16, now: u64) -> [u64; 2] {
    let length = 60 * u64::from(minutes);
    let bucket = now / length;
    [bucket + 1, bucket + 13].map(|index| index * length)
}

fn listed_age(listing: &golem_delegation::terms::Listing) -> u64 {
    listing.tokens.first().map(|token| u64::from(token.max_age)).unwrap_or_default()
}

/// What happens under a child's rule and its parent's.
pub(super) fn steps(
    kind: Kind,
    child: &[Rule],
    parent: &[Rule],
    arena: &Arena,
    dice: &mut Dice,
) -> Vec<Step> {
    let both = || child.iter().chain(parent);
    let sums: Vec<U256> = both().flat_map(amounts).collect();
    let mut steps = Vec::new();
    let mut now = arena.now;
    // Half of them take whatever the child leaves, to the last unit.
    let greedy = dice.one_in(2);
    let mut taken = U256::ZERO;
    for number in 0..5 {
        if dice.one_in(2) {
            now += dice.pick(&[0, 0, 1, 12, 60]);
        } else {
            let ahead: Vec<u64> = both()
                .flat_map(|rule| [moments(rule, now), moments(rule, arena.now)].concat())
                .flat_map(|moment| [moment.saturating_sub(1), moment, moment + 1])
                .filter(|moment| *moment > now && *moment - now < 2 * 86_400)
                .collect();
            if !ahead.is_empty() {
                now = dice.pick(&ahead);
            }
        }
        steps.push(Step::Until(now));
        for _ in 0..dice.below(4) {
            steps.push(Step::Mine);
        }
        if theme(kind) == Theme::Trade || kind == Kind::DreamMode {
            steps.extend(others(kind, child, parent, arena, dice));
        }
        let left = child.first().and_then(|rule| left(rule, taken, now)).filter(|_| greedy);
        taken += left.unwrap_or_default();
        let sum = left.unwrap_or_else(|| some(&sums, dice));
        steps.push(Step::Deed(deed(kind, child, parent, (sum, number), arena, dice)));
    }
    steps
}

/// All that a rule still allows, if everything so far was done.
fn left(rule: &Rule, taken: U256, now: u64) -> Option<U256> {
    let stream = |initial: U256, most: U256, rate: U256, start: U256| {
        let passed = U256::from(now).saturating_sub(start);
        (initial + rate * passed).min(most)
    };
    let all = match rule {
        Rule::Erc20PeriodTransfer(rule) => return Some(rule.period_amount),
        Rule::NativeTokenPeriodTransfer(rule) => return Some(rule.period_amount),
        Rule::MultiTokenPeriod(rule) => return rule.0.first().map(|entry| entry.period_amount),
        Rule::ValueLte(rule) => return Some(rule.0),
        Rule::Erc20BalanceChange(rule) => return Some(rule.balance),
        Rule::NativeBalanceChange(rule) => return Some(rule.balance),
        Rule::VaultNav(rule) => return Some(U256::from(rule.cap)),
        Rule::Erc20TransferAmount(rule) => rule.max_amount,
        Rule::NativeTokenTransferAmount(rule) => rule.0,
        Rule::Erc20Streaming(rule) => {
            stream(rule.initial_amount, rule.max_amount, rule.amount_per_second, rule.start_time)
        }
        Rule::NativeTokenStreaming(rule) => {
            stream(rule.initial_amount, rule.max_amount, rule.amount_per_second, rule.start_time)
        }
        Rule::DailySpendLimit(rule) => U256::from(rule.cap),
        Rule::ReplicantBudget(rule) => U256::from(rule.budget),
        Rule::GolemCharter(law) => U256::from(law.spend_cap.min(law.nav_cap)),
        _ => return None,
    };
    Some(all.saturating_sub(taken))
}

/// A sum near one at which a rule changes its mind, or a part of it.
fn some(sums: &[U256], dice: &mut Dice) -> U256 {
    if sums.is_empty() || dice.one_in(6) {
        return dollars(1 + dice.below(20));
    }
    let bound = dice.pick(sums);
    match dice.below(3) {
        0 => bound / U256::from(dice.pick(&[3_u64, 5, 8])),
        _ => dice.near(bound),
    }
}

/// The Golem and its owner speak.
fn others(
    kind: Kind,
    child: &[Rule],
    parent: &[Rule],
    arena: &Arena,
    dice: &mut Dice,
) -> Option<Step> {
    let golem_id = arena.golem_id;
    let registry = golem_registry();
    let moods: Vec<MoodBounds> = child
        .iter()
        .chain(parent)
        .filter_map(|rule| match rule {
            Rule::EmotionalState(rule) => Some(rule.bounds),
            Rule::GolemCharter(law) => law.mood.map(|mood| mood.bounds),
            _ => None,
        })
        .collect();
    if !moods.is_empty() && dice.one_in(2) {
        let bounds = dice.pick(&moods);
        let mut off = |bound: i8| bound + dice.pick(&[-1, 0, 0, 1]);
        let say = GolemRegistry::updatePadCall {
            golemId: golem_id,
            pleasure: off(bounds.min_pleasure),
            arousal: off(bounds.max_arousal),
            dominance: off(bounds.min_dominance),
        };
        return Some(Step::Others(AGENT, registry, say.abi_encode()));
    }
    if kind == Kind::DreamMode || dice.one_in(60) {
        let dreaming = dice.one_in(3);
        let say = GolemRegistry::setDreamingCall { golemId: golem_id, dreaming };
        return Some(Step::Others(AGENT, registry, say.abi_encode()));
    }
    if matches!(kind, Kind::GolemPhase | Kind::GolemCharter | Kind::Holdings) && dice.one_in(16) {
        let phase = u8::try_from(1 + dice.below(4)).unwrap_or(1);
        let say = GolemRegistry::advanceCall { golemId: golem_id, phase };
        return Some(Step::Others(arena.account(), registry, say.abi_encode()));
    }
    let beat = GolemRegistry::heartbeatCall { golemId: golem_id, auditHead: B256::ZERO };
    dice.one_in(4).then(|| Step::Others(AGENT, registry, beat.abi_encode()))
}

fn deed(
    kind: Kind,
    child: &[Rule],
    parent: &[Rule],
    (sum, number): (U256, u64),
    arena: &Arena,
    dice: &mut Dice,
) -> Deed {
    let calls = calls(kind, child, parent, (sum, number), arena, dice);
    let (mode, execution) = match calls.as_slice() {
        [only] if !dice.one_in(40) => {
            let mode = if dice.one_in(40) { MODE_SINGLE_TRY } else { MODE_SINGLE };
            (mode, packed(only))
        }
        several => (MODE_BATCH, encode_batch(several)),
    };
    let token = match calls.first() {
        Some(call) if call.data.is_empty() => Address::ZERO,
        Some(call) => call.target,
        None => Address::ZERO,
    };
    let redeemers: Vec<Address> = child
        .iter()
        .filter_map(|rule| match rule {
            Rule::Redeemer(rule) => Some(rule.0.clone()),
            Rule::GolemCharter(law) => Some(vec![law.agent_key]),
            _ => None,
        })
        .flatten()
        .chain([AGENT])
        .collect();
    let redeemer = if dice.one_in(10) { OTHER } else { dice.pick(&redeemers) };
    let said: Vec<Bytes> = child
        .iter()
        .chain(child)
        .chain(parent)
        .filter_map(|rule| match rule {
            Rule::ArgsEqualityCheck(rule) => Some(rule.0.clone()),
            _ => None,
        })
        .collect();
    let paid: Vec<U256> = child
        .iter()
        .chain(parent)
        .filter_map(|rule| match rule {
            Rule::NativeTokenPayment(rule) => Some(rule.amount),
            _ => None,
        })
        .collect();
    Deed {
        said: if said.is_empty() { Bytes::new() } else { dice.pick(&said) },
        paid: if paid.is_empty() { U256::ZERO } else { dice.pick(&paid) },
        redeemer,
        mode,
        execution,
        token,
        group: dice.below(2),
        agree: agree(child, arena, dice),
        number,
    }
}

/// One call as the manager takes it.
fn packed(call: &Execution) -> Bytes {
    let value = call.value.to_be_bytes::<32>();
    [call.target.as_slice(), &value, &call.data].concat().into()
}

/// As many of the child's council as it needs, and nobody else.
fn agree(child: &[Rule], arena: &Arena, dice: &mut Dice) -> Vec<usize> {
    let Some(rule) = child.iter().find_map(|rule| match rule {
        Rule::Threshold(rule) => Some(rule),
        _ => None,
    }) else {
        return Vec::new();
    };
    let mut members: Vec<usize> = (0..arena.council.len())
        .filter(|member| rule.signers().contains(&arena.council[*member].address()))
        .collect();
    while members.len() > usize::from(rule.needed()) {
        let gone = dice.below(members.len() as u64);
        members.remove(usize::try_from(gone).unwrap_or_default());
    }
    members
}

fn call(target: Address, data: impl Into<Bytes>) -> Execution {
    Execution { target, value: U256::ZERO, data: data.into() }
}

fn calls(
    kind: Kind,
    child: &[Rule],
    parent: &[Rule],
    (sum, number): (U256, u64),
    arena: &Arena,
    dice: &mut Dice,
) -> Vec<Execution> {
    let book = &arena.book;
    let usdc = book.usdc;
    let one = |call: Execution| vec![call];
    let coin = |value: U256| Execution { target: ANYTHING, value, data: Bytes::new() };
    match theme(kind) {
        Theme::Transfer => {
            let exact = child.iter().chain(parent).filter_map(|rule| match rule {
                Rule::ExactCalldata(rule) => Some(call(usdc, rule.0.clone())),
                Rule::ExactExecution(rule) => Some(Execution {
                    target: rule.0.target,
                    value: rule.0.value,
                    data: rule.0.call_data.clone(),
                }),
                Rule::AllowedCalldata(rule) => {
                    let mut data = transfer(OTHER, dollars(5)).to_vec();
                    let from = usize::try_from(rule.start).unwrap_or_default();
                    for (byte, pinned) in data.iter_mut().skip(from).zip(&rule.value) {
                        *byte = *pinned;
                    }
                    Some(call(ANYTHING, data))
                }
                _ => None,
            });
            let exact: Vec<_> = exact.collect();
            if !exact.is_empty() && !dice.one_in(8) {
                return one(dice.pick(&exact));
            }
            match (kind, dice.below(6)) {
                (Kind::MultiTokenPeriod, 0..=2) => one(coin(sum)),
                (Kind::AllowedTargets | Kind::AllowedMethods, 0) => {
                    let amount = U256::from(5);
                    one(call(book.weth, Erc20::approveCall { spender: OTHER, amount }.abi_encode()))
                }
                (Kind::AllowedTargets, 1) => one(coin(U256::from(5))),
                (Kind::AllowedTargets, 2) => {
                    one(Execution { target: OTHER, ..coin(U256::from(5)) })
                }
                (Kind::AllowedMethods, 1) => {
                    let beat = GolemRegistry::heartbeatCall {
                        golemId: arena.golem_id,
                        auditHead: B256::ZERO,
                    };
                    one(call(ANYTHING, beat.abi_encode()))
                }
                (_, 3) if kind == Kind::AllowedCalldata => one(call(usdc, transfer(AGENT, sum))),
                _ => one(call(usdc, transfer(OTHER, sum))),
            }
        }
        Theme::Coin => one(coin(sum)),
        Theme::Revocation => one(revocation(arena, dice)),
        Theme::Position => {
            let next = usize::try_from(number).unwrap_or_default() % arena.positions.len();
            let id = arena.positions[next];
            let (from, to) = (arena.account(), OTHER);
            let pinned = child.iter().find_map(|rule| match rule {
                Rule::Erc721Transfer(rule) => Some(rule.token_id),
                _ => None,
            });
            let id = if dice.one_in(4) { id } else { pinned.unwrap_or(id) };
            one(call(
                book.position_manager,
                transferFromCall { from, to, tokenId: id }.abi_encode(),
            ))
        }
        Theme::Many => {
            let gone = u64::try_from(sum).unwrap_or(1) % 40;
            let left = if dice.one_in(2) { MANY_OWNED - gone } else { MANY_OWNED + gone };
            one(call(MANY, many_call(arena.account(), dice.below(2), left)))
        }
        Theme::Ownership => {
            let target = dice.pick(&[ANYTHING, ANYTHING_ELSE]);
            one(call(target, transferOwnershipCall { newOwner: OTHER }.abi_encode()))
        }
        Theme::Batch => {
            let rule = dice.pick(&[child, child, parent]).first().cloned();
            let batch = |executions: &[golem_delegation::terms::Execution]| {
                executions
                    .iter()
                    .map(|one| Execution {
                        target: one.target,
                        value: one.value,
                        data: one.call_data.clone(),
                    })
                    .collect()
            };
            match rule {
                Some(Rule::ExactCalldataBatch(rule)) => batch(&rule.0),
                Some(Rule::ExactExecutionBatch(rule)) => batch(&rule.0),
                // The only code of it in a registry is older and takes the value for the beginning of the data.
                Some(Rule::SpecificActionErc20TransferBatch(rule)) => {
                    let value = rule.value.to_be_bytes::<32>();
                    let data = [&value[..], &rule.calldata].concat();
                    vec![
                        call(rule.target, data),
                        call(rule.token_address, transfer(rule.recipient, rule.amount)),
                    ]
                }
                _ => one(coin(sum)),
            }
        }
        Theme::Trade => trade(kind, child, parent, (sum, number), arena, dice),
    }
}

fn trade(
    kind: Kind,
    child: &[Rule],
    parent: &[Rule],
    (sum, number): (U256, u64),
    arena: &Arena,
    dice: &mut Dice,
) -> Vec<Execution> {
    let (book, account) = (&arena.book, arena.account());
    let usdc = book.usdc;
    let sum = sum.min(dollars(20_000));
    let deed = if kind == Kind::KnowledgeRoyalty { 0 } else { dice.below(16) };
    match deed {
        0 | 1 => {
            let market = knowledge_market();
            let buyer = BUYERS[usize::try_from(number).unwrap_or_default() % BUYERS.len()];
            let sell = KnowledgeMarket::sellCall { entryId: arena.entry, seller: account, buyer };
            let due = U256::from(PRICE / 10_000 * u64::from(ROYALTY_BPS));
            let paid = if dice.one_in(8) { due - U256::ONE } else { due };
            vec![call(market, sell.abi_encode()), call(usdc, transfer(AUTHOR, paid))]
        }
        2 => {
            let spender = dice.pick(&[book.swap_router_02, book.vault, OTHER]);
            vec![call(usdc, Erc20::approveCall { spender, amount: sum }.abi_encode())]
        }
        3 => vec![call(usdc, transfer(account, sum))],
        4 => {
            let bounds: Vec<u64> = child
                .iter()
                .chain(parent)
                .filter_map(|rule| match rule {
                    Rule::GolemCharter(law) => Some([law.gas_ceiling, law.gas_daily_cap]),
                    _ => None,
                })
                .flatten()
                .collect();
            let gwei = if bounds.is_empty() { 1_000 } else { dice.pick(&bounds) };
            let wei = dice.near(U256::from(gwei) * U256::from(1_000_000_000_u64));
            vec![Execution { target: AGENT, value: wei.min(ether(1)), data: Bytes::new() }]
        }
        5 => {
            let deposit = Erc4626::depositCall { assets: sum, receiver: account };
            vec![call(book.vault, deposit.abi_encode())]
        }
        6 => {
            let beat =
                GolemRegistry::heartbeatCall { golemId: arena.golem_id, auditHead: B256::ZERO };
            vec![call(golem_registry(), beat.abi_encode())]
        }
        7 => {
            let wrap = Weth9::depositCall {}.abi_encode();
            vec![Execution { target: book.weth, value: ether(1), data: wrap.into() }]
        }
        _ => vec![swap(child, parent, sum, arena, dice)],
    }
}

/// Approvals that are taken back, each in its own way, and one that is given.
fn revocation(arena: &Arena, dice: &mut Dice) -> Execution {
    const PERMIT2: Address = address!("000000000022D473030F116dDEE9F6B43aC78BA3");
    let (usdc, positions) = (arena.book.usdc, arena.book.position_manager);
    let spenders = [OTHER, arena.book.swap_router_02, arena.book.vault, positions];
    let amount = if dice.one_in(8) { U256::ONE } else { U256::ZERO };
    match dice.below(6) {
        0 => call(usdc, Erc20::approveCall { spender: dice.pick(&spenders), amount }.abi_encode()),
        1 => {
            let amount = arena.positions.first().copied().unwrap_or_default();
            let none = Erc20::approveCall { spender: Address::ZERO, amount };
            call(positions, none.abi_encode())
        }
        2 => {
            let none = setApprovalForAllCall { operator: OTHER, approved: false };
            call(positions, none.abi_encode())
        }
        3 => {
            let none = Permit2::approveCall {
                token: usdc,
                spender: OTHER,
                amount: U160::ZERO,
                expiration: Default::default(),
            };
            call(PERMIT2, none.abi_encode())
        }
        4 => call(PERMIT2, Permit2::lockdownCall { approvals: Vec::new() }.abi_encode()),
        _ => {
            let none = Permit2::invalidateNoncesCall {
                token: usdc,
                spender: OTHER,
                newNonce: U48::from(1),
            };
            call(PERMIT2, none.abi_encode())
        }
    }
}

/// Dollars for ether, at the worst price that one of the two rules would take, or near it.
fn swap(child: &[Rule], parent: &[Rule], sum: U256, arena: &Arena, dice: &mut Dice) -> Execution {
    let book = &arena.book;
    let bounds: Vec<u16> = child
        .iter()
        .chain(parent)
        .filter_map(|rule| match rule {
            Rule::MaxSlippage(rule) => Some(rule.bps),
            Rule::GolemCharter(law) => Some(law.slippage_bps),
            _ => None,
        })
        .collect();
    let bps = if bounds.is_empty() { 100 } else { dice.pick(&bounds) };
    let whole = U256::from(10_000);
    let worth = sum * U256::from(1_000_000_000_000_u64) / book.eth_price;
    let least = worth * (whole - U256::from(bps)) / whole
        + U256::from(dice.pick(&[0_u64, 1_000, 1_000_000_000]));
    let (token_in, token_out) = (book.usdc, book.weth);
    let params = ExactInputSingleParams {
        tokenIn: token_in,
        tokenOut: token_out,
        fee: U24::from(500),
        recipient: charter(arena).account,
        amountIn: sum,
        amountOutMinimum: least,
        sqrtPriceLimitX96: U160::ZERO,
    };
    call(book.swap_router_02, exactInputSingleCall { params }.abi_encode())
}

/// A grant with these rules and nothing else.
pub(super) struct Grant<'a> {
    arena: &'a Arena,
    rules: &'a [Rule],
    delegation: Delegation,
    hash: B256,
}

impl<'a> Grant<'a> {
    pub(super) fn of(arena: &'a Arena, rules: &'a [Rule]) -> Result<Self> {
        let environment = golem_chain::environment();
        let caveats = rules
            .iter()
            .filter_map(|rule| environment.caveat(rule).transpose())
            .collect::<Result<Vec<_>, _>>()?;
        let delegation = arena.root(caveats)?;
        Ok(Self { arena, rules, hash: delegation.hash().0, delegation })
    }

    /// Whether the chain lets the deed be done.
    pub(super) fn allows(&mut self, course: &mut Course, deed: &Deed) -> Result<bool> {
        for (caveat, rule) in self.delegation.caveats.iter_mut().zip(self.rules) {
            caveat.args = match rule {
                Rule::ArgsEqualityCheck(_) => deed.said.clone(),
                Rule::MultiTokenPeriod(rule) => {
                    let at = rule.0.iter().position(|entry| entry.token == deed.token);
                    U256::from(at.unwrap_or_default()).abi_encode().into()
                }
                Rule::LogicalOrWrapper(rule) => {
                    let group = usize::try_from(deed.group)?.min(rule.0.len() - 1);
                    SelectedGroup {
                        groupIndex: U256::from(group),
                        caveatArgs: vec![Bytes::new(); rule.0[group].len()],
                    }
                    .abi_encode()
                    .into()
                }
                Rule::NativeTokenPayment(_) => {
                    let paid = self.arena.payment(self.hash, deed.redeemer, deed.paid)?;
                    PermissionContext::new(vec![paid])?.encode()
                }
                Rule::Threshold(rule) => signed(self.arena, self.hash, rule, deed)?,
                _ => Bytes::new(),
            };
        }
        let call = redeemDelegationsCall {
            permissionContexts: vec![
                PermissionContext::new(vec![self.delegation.clone()])?.encode(),
            ],
            modes: vec![deed.mode],
            executionCallDatas: vec![deed.execution.clone()],
        };
        Ok(course.call(deed.redeemer, DELEGATION_MANAGER, U256::ZERO, call.abi_encode()))
    }
}

/// As many signatures of those who agree as the rule wants.
fn signed(arena: &Arena, hash: B256, rule: &Threshold, deed: &Deed) -> Result<Bytes> {
    let agreed = CoSignature {
        manager: DELEGATION_MANAGER,
        delegation_hash: hash,
        mode: deed.mode,
        execution: deed.execution.clone(),
        nonce: U256::from(deed.number),
        deadline: arena.now + 30 * 86_400,
    };
    let digest = agreed.digest(8453, threshold_enforcer());
    let mut signers: Vec<_> = deed
        .agree
        .iter()
        .map(|member| &arena.council[*member])
        .filter(|key| rule.signers().contains(&key.address()))
        .collect();
    signers.sort_by_key(|key| key.address());
    signers.truncate(usize::from(rule.needed()));
    let signatures = signers.iter().map(|key| key.sign(digest)).collect::<Result<Vec<_>>>()?;
    Ok(agreed.args(&signatures)?)
}
