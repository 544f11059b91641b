//! Rules by the dice: a parent's, and a child's that is near it.

use super::arena::{AGENT, ANYTHING, ANYTHING_ELSE, Arena, MANY, OTHER, ROYALTY_BPS};
use alloy::primitives::{Address, B256, Bytes, Selector, U256, keccak256};
use alloy::sol_types::SolCall as _;
use bardo_bindings::{
    GolemRegistry,
    defi::{Erc20, SwapRouter02},
    golem_registry, knowledge_market,
};
use bardo_testkit::dollars;
use golem_chain::local::CharterParties;
use golem_delegation::{
    Caveat, Kind, Rule, enforcers,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, Cadence, ChangeType, CharterMood, Class, Classes, DailySpendLimit, Deployed,
        DreamMode, EmotionalState, Erc20BalanceChange, Erc20PeriodTransfer, Erc20Streaming,
        Erc20TransferAmount, Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange,
        ExactCalldata, ExactCalldataBatch, ExactExecution, ExactExecutionBatch, Execution,
        GolemCharter, GolemPhase, Holdings, Id, KnowledgeRoyalty, LimitedCalls, ListedTarget,
        Listing, LogicalOrWrapper, MaxSlippage, MoodBounds, MortalityTimeWindow, MultiTokenPeriod,
        NativeBalanceChange, NativeTokenPayment, NativeTokenPeriodTransfer, NativeTokenStreaming,
        NativeTokenTransferAmount, Nonce, OwnershipTransfer, Redeemer, ReplicantBudget, Role,
        SpecificActionErc20TransferBatch, Threshold, Timestamp, TokenPeriod, ValueLte, VaultNav,
    },
};
use std::num::{NonZeroU8, NonZeroU32};

/// The same throws from the same seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    const fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(super) const fn below(&mut self, sides: u64) -> u64 {
        self.word() % sides
    }

    pub(super) const fn one_in(&mut self, sides: u64) -> bool {
        self.below(sides) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        let at = self.below(from.len() as u64);
        from[usize::try_from(at).unwrap_or_default()].clone()
    }

    /// The same, one off, or far off.
    pub(super) fn near(&mut self, value: U256) -> U256 {
        match self.below(8) {
            0 | 1 => value,
            2 => value.saturating_sub(U256::ONE),
            3 => value.saturating_add(U256::ONE),
            4 => value / U256::from(2),
            5 => value / U256::from(3),
            6 => value.saturating_mul(U256::from(2)),
            _ => value.saturating_sub(value / U256::from(16)),
        }
    }

    fn near_u64(&mut self, value: u64) -> u64 {
        u64::try_from(self.near(U256::from(value))).unwrap_or(value)
    }

    fn near_u32(&mut self, value: u32) -> u32 {
        u32::try_from(self.near(U256::from(value))).unwrap_or(value)
    }

    fn near_bps(&mut self, value: u16) -> u16 {
        u16::try_from(self.near(U256::from(value))).unwrap_or(value).min(10_000)
    }

    /// A subset, or one more.
    fn near_list<T: Clone + PartialEq>(&mut self, list: &[T], others: &[T]) -> Vec<T> {
        let mut near = list.to_vec();
        match self.below(4) {
            0 => {}
            1 | 2 if near.len() > 1 => {
                let gone = self.below(near.len() as u64);
                near.remove(usize::try_from(gone).unwrap_or_default());
            }
            _ => near.push(self.pick(others)),
        }
        near
    }
}

const DAY: u64 = 86_400;
const MONTH: u32 = 30 * 86_400;
/// Lengths of buckets: neighbours among them, for which a spend's place in its bucket decides.
const BUCKETS: [u16; 5] = [1, 119, 120, 121, 840];

pub(super) fn transfer(to: Address, amount: U256) -> Bytes {
    Erc20::transferCall { to, amount }.abi_encode().into()
}

fn amount(dice: &mut Dice) -> U256 {
    dollars(100 + dice.below(900)) + U256::from(dice.below(3))
}

/// The charter that Golems of the local chain live under.
pub(super) fn charter(arena: &Arena) -> GolemCharter {
    let account = arena.account();
    let parties = CharterParties {
        golem_id: arena.golem_id,
        owner: account,
        account,
        agent_key: AGENT,
        epoch: 1,
    };
    let window = MortalityTimeWindow::new(arena.now - 60, arena.now + 7 * DAY).unwrap();
    arena.book.charter(&parties, window)
}

fn listing(arena: &Arena, dice: &mut Dice) -> Listing {
    let mut listing = charter(arena).listing;
    listing.targets.push(ListedTarget { target: knowledge_market(), role: Role::Market });
    let age = dice.pick(&[MONTH, MONTH, 3_600, 900]);
    for token in &mut listing.tokens {
        token.max_age = age;
    }
    if dice.one_in(4) {
        listing.sequencer_feed = arena.book.sequencer_uptime;
        listing.sequencer_grace = dice.pick(&[0, 60, 3_600]);
    }
    listing
}

fn near_listing(listing: &Listing, arena: &Arena, dice: &mut Dice) -> Listing {
    let mut near = listing.clone();
    match dice.below(9) {
        0 => {
            near.tokens.pop();
        }
        1 => {
            near.targets.remove(0);
        }
        2 => near.tokens[0].max_age = dice.near_u32(near.tokens[0].max_age),
        3 => near.tokens[0].feed = arena.book.eth_usd,
        4 => near.targets[0].role = Role::SwapRouter,
        5 => near.tokens[0].role = None,
        6 => {
            near.sequencer_feed = arena.book.sequencer_uptime;
            near.sequencer_grace = dice.near_u32(near.sequencer_grace);
        }
        7 => near.sequencer_feed = Address::ZERO,
        _ => near.tokens.reverse(),
    }
    near
}

fn execution(arena: &Arena, dice: &mut Dice) -> Execution {
    let small = U256::from(1 + dice.below(3));
    match dice.below(3) {
        0 => Execution { target: ANYTHING, value: small, call_data: Bytes::new() },
        _ => {
            let data = transfer(OTHER, dollars(1) * small);
            Execution { target: arena.book.usdc, value: U256::ZERO, call_data: data }
        }
    }
}

/// One byte of code, by a creation code of eight.
const CREATION: [u8; 8] = [0x60, 0x00, 0x5f, 0x53, 0x60, 0x01, 0x5f, 0xf3];

fn deployed(salt: B256) -> Deployed {
    let at = enforcers::DEPLOYED.create2(salt, keccak256(CREATION));
    Deployed { contract_address: at, salt, bytecode: CREATION.to_vec().into() }
}

fn mood(dice: &mut Dice) -> MoodBounds {
    let mut bound = || i8::try_from(dice.below(41)).unwrap_or_default() - 20;
    MoodBounds { min_pleasure: bound(), max_arousal: bound(), min_dominance: bound() }
}

fn near_mood(bounds: MoodBounds, dice: &mut Dice) -> MoodBounds {
    let mut near = bounds;
    let step = dice.pick(&[-1, 1, 5, -5]);
    match dice.below(3) {
        0 => near.min_pleasure += step,
        1 => near.max_arousal += step,
        _ => near.min_dominance += step,
    }
    near
}

fn schedule(arena: &Arena, dice: &mut Dice) -> (U256, U256, U256) {
    let duration = dice.pick(&[60_u64, 600, 1_200, 3_600]);
    let start = arena.now - dice.below(2 * duration);
    (amount(dice), U256::from(duration), U256::from(start))
}

/// What fits often into one of the parent's periods, and what fits nearly.
fn near_schedule(
    (amount, duration, start): (U256, U256, U256),
    dice: &mut Dice,
) -> (U256, U256, U256) {
    let parts = U256::from(dice.pick(&[1_u64, 1, 2, 3, 4]));
    let lengths = [duration, duration / parts, duration * parts, duration + U256::ONE];
    let starts = [start, start + duration, start + duration / parts, start + U256::ONE];
    let amounts = [amount, amount / parts, amount / (parts + U256::ONE), dice.near(amount)];
    let before = start - U256::ONE;
    let start = if dice.one_in(12) { before } else { dice.pick(&starts) };
    (dice.pick(&amounts), dice.pick(&lengths), start)
}

fn stream(arena: &Arena, dice: &mut Dice) -> [U256; 4] {
    let initial = amount(dice);
    let rate = U256::from(dice.below(3) * 50_000);
    let most = initial + dollars(dice.below(500));
    [initial, most, rate, U256::from(arena.now - dice.below(600))]
}

fn near_stream(stream: [U256; 4], dice: &mut Dice) -> [U256; 4] {
    let mut near = stream;
    for _ in 0..=dice.below(2) {
        let field = usize::try_from(dice.below(4)).unwrap_or_default();
        near[field] = match field {
            3 => {
                near[3] + dice.pick(&[U256::ZERO, U256::ONE, U256::from(300)])
                    - U256::from(dice.below(2))
            }
            _ => dice.near(near[field]),
        };
    }
    near
}

/// A rule of this kind that lets something through.
pub(super) fn draw(kind: Kind, arena: &Arena, dice: &mut Dice) -> Rule {
    let book = &arena.book;
    let (now, account) = (arena.now, arena.account());
    let (usdc, weth) = (book.usdc, book.weth);
    match kind {
        Kind::AllowedCalldata => {
            let data = transfer(OTHER, dollars(5));
            let start = dice.below(40);
            let end = start + 1 + dice.below(28);
            let [from, to] = [start, end].map(|at| usize::try_from(at).unwrap_or_default());
            Rule::AllowedCalldata(AllowedCalldata {
                start: U256::from(start),
                value: data.slice(from..to),
            })
        }
        Kind::AllowedMethods => Rule::AllowedMethods(AllowedMethods(vec![
            Erc20::transferCall::SELECTOR.into(),
            Erc20::approveCall::SELECTOR.into(),
        ])),
        Kind::AllowedTargets => Rule::AllowedTargets(AllowedTargets(vec![usdc, weth, ANYTHING])),
        Kind::ApprovalRevocation => Rule::ApprovalRevocation(ApprovalRevocation {
            erc20_approve: true,
            erc721_approve: dice.one_in(2),
            erc721_set_approval_for_all: dice.one_in(2),
            permit2_approve: dice.one_in(2),
            permit2_lockdown: dice.one_in(2),
            permit2_invalidate_nonces: dice.one_in(2),
        }),
        Kind::ArgsEqualityCheck => Rule::ArgsEqualityCheck(ArgsEqualityCheck(
            vec![7; 1 + usize::from(dice.one_in(2))].into(),
        )),
        Kind::BlockNumber => Rule::BlockNumber(BlockNumber {
            after: u128::from(arena.block - dice.below(3)) * u128::from(dice.below(2)),
            before: u128::from(arena.block + 2 + dice.below(8)) * u128::from(dice.below(4).min(1)),
        }),
        Kind::Cadence => Rule::Cadence(Cadence {
            golem_id: arena.golem_id,
            period: NonZeroU32::new(60 + dice.near_u32(60)).unwrap(),
            count: NonZeroU8::new(1 + u8::try_from(dice.below(4)).unwrap_or_default()).unwrap(),
        }),
        Kind::DailySpendLimit => Rule::DailySpendLimit(DailySpendLimit {
            golem_id: arena.golem_id,
            epoch: 1,
            cap: cap(dice),
            bucket_minutes: dice.pick(&BUCKETS),
            listing: listing(arena, dice),
        }),
        Kind::Deployed => Rule::Deployed(deployed(B256::with_last_byte(1))),
        Kind::DreamMode => {
            Rule::DreamMode(DreamMode { golem_id: arena.golem_id, registry: golem_registry() })
        }
        Kind::EmotionalState => Rule::EmotionalState(EmotionalState {
            golem_id: arena.golem_id,
            registry: golem_registry(),
            staleness: dice.pick(&[600, 3_600, MONTH]),
            bounds: mood(dice),
            selectors: vec![
                Erc20::transferCall::SELECTOR.into(),
                SwapRouter02::exactInputSingleCall::SELECTOR.into(),
            ],
        }),
        Kind::Erc1155BalanceChange => Rule::Erc1155BalanceChange(Erc1155BalanceChange {
            change_type: dice.pick(&[ChangeType::INCREASE, ChangeType::DECREASE]),
            token_address: MANY,
            recipient: account,
            token_id: U256::ZERO,
            balance: U256::from(dice.below(20)),
        }),
        Kind::Erc20BalanceChange => Rule::Erc20BalanceChange(Erc20BalanceChange {
            change_type: ChangeType::DECREASE,
            token_address: usdc,
            recipient: account,
            balance: amount(dice),
        }),
        Kind::Erc20PeriodTransfer => {
            let (period_amount, period_duration, start_date) = schedule(arena, dice);
            Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                token_address: usdc,
                period_amount,
                period_duration,
                start_date,
            })
        }
        Kind::Erc20Streaming => {
            let [initial_amount, max_amount, amount_per_second, start_time] = stream(arena, dice);
            Rule::Erc20Streaming(Erc20Streaming {
                token_address: usdc,
                initial_amount,
                max_amount,
                amount_per_second,
                start_time,
            })
        }
        Kind::Erc20TransferAmount => Rule::Erc20TransferAmount(Erc20TransferAmount {
            token_address: usdc,
            max_amount: amount(dice),
        }),
        Kind::Erc721BalanceChange => Rule::Erc721BalanceChange(Erc721BalanceChange {
            change_type: ChangeType::DECREASE,
            token_address: book.position_manager,
            recipient: account,
            amount: U256::from(dice.below(3)),
        }),
        Kind::Erc721Transfer => Rule::Erc721Transfer(Erc721Transfer {
            token_address: book.position_manager,
            token_id: dice.pick(&arena.positions),
        }),
        Kind::ExactCalldata => {
            Rule::ExactCalldata(ExactCalldata(transfer(OTHER, dollars(1 + dice.below(3)))))
        }
        Kind::ExactCalldataBatch => Rule::ExactCalldataBatch(ExactCalldataBatch(vec![
            execution(arena, dice),
            execution(arena, dice),
        ])),
        Kind::ExactExecution => Rule::ExactExecution(ExactExecution(execution(arena, dice))),
        Kind::ExactExecutionBatch => Rule::ExactExecutionBatch(ExactExecutionBatch(vec![
            execution(arena, dice),
            execution(arena, dice),
        ])),
        Kind::GolemCharter => {
            let mut law = charter(arena);
            law.listing = listing(arena, dice);
            law.replicants = dice.one_in(2);
            law.spend_cap = cap(dice);
            law.bucket_minutes = dice.pick(&BUCKETS);
            law.nav_cap = law.spend_cap / (1 + dice.below(2));
            law.slippage_bps = dice.pick(&[50, 100, 200]);
            law.staleness = dice.pick(&[3_600, MONTH]);
            law.gas_ceiling = 50_000_000;
            law.max_royalty_bps = dice.pick(&[None, Some(ROYALTY_BPS), Some(2_000)]);
            if dice.one_in(2) {
                law.vault = Address::ZERO;
            }
            if dice.one_in(3) {
                law.mood = Some(CharterMood {
                    bounds: MoodBounds { min_pleasure: -10, max_arousal: 10, min_dominance: -10 },
                    classes: Classes::of(&[Class::Swap, Class::Deposit]),
                });
            }
            Rule::GolemCharter(Box::new(law))
        }
        Kind::GolemPhase => Rule::GolemPhase(GolemPhase {
            golem_id: arena.golem_id,
            registry: golem_registry(),
            staleness: dice.pick(&[600, 3_600, MONTH]),
            listing: listing(arena, dice),
        }),
        Kind::Holdings => Rule::Holdings(Holdings {
            golem_id: arena.golem_id,
            account,
            staleness: dice.pick(&[600, MONTH]),
            series: 1,
            thriving_bps: dice.pick(&[2_000, 2_010, 10_000]),
            stable_bps: 2_000,
            drawdown_bps: dice.pick(&[1, 100]),
            registry: golem_registry(),
            cash: usdc,
            loss_bps: dice.pick(&[50, 100]),
            listing: listing(arena, dice),
        }),
        Kind::Id => Rule::Id(Id(U256::from(dice.below(3)))),
        Kind::KnowledgeRoyalty => Rule::KnowledgeRoyalty(KnowledgeRoyalty {
            market: knowledge_market(),
            max_royalty_bps: dice.pick(&[ROYALTY_BPS, ROYALTY_BPS - 1, 2_000]),
        }),
        Kind::LimitedCalls => Rule::LimitedCalls(LimitedCalls(U256::from(1 + dice.below(4)))),
        Kind::LogicalOrWrapper => {
            let first = Timestamp { after: 0, before: u128::from(now + 300) };
            let second = LimitedCalls(U256::from(1 + dice.below(2)));
            Rule::LogicalOrWrapper(LogicalOrWrapper(vec![
                vec![Caveat::new(enforcers::TIMESTAMP, first.encode())],
                vec![Caveat::new(enforcers::LIMITED_CALLS, second.encode())],
            ]))
        }
        Kind::MaxSlippage => Rule::MaxSlippage(MaxSlippage {
            bps: dice.pick(&[50, 100, 200]),
            listing: listing(arena, dice),
        }),
        Kind::MortalityTimeWindow => {
            let start = now - dice.below(2) + dice.below(2) * 30;
            let end = start + 60 + dice.below(600);
            Rule::MortalityTimeWindow(MortalityTimeWindow::new(start, end).unwrap())
        }
        Kind::MultiTokenPeriod => {
            let mut entry = |token: Address, unit: U256| {
                let (amount, period_duration, start_date) = schedule(arena, dice);
                TokenPeriod { token, period_amount: amount * unit, period_duration, start_date }
            };
            let one = U256::ONE;
            Rule::MultiTokenPeriod(MultiTokenPeriod(vec![
                entry(usdc, one),
                entry(Address::ZERO, one),
            ]))
        }
        Kind::NativeBalanceChange => Rule::NativeBalanceChange(NativeBalanceChange {
            change_type: ChangeType::DECREASE,
            recipient: account,
            balance: amount(dice),
        }),
        Kind::NativeTokenPayment => {
            Rule::NativeTokenPayment(NativeTokenPayment { recipient: OTHER, amount: amount(dice) })
        }
        Kind::NativeTokenPeriodTransfer => {
            let (period_amount, period_duration, start_date) = schedule(arena, dice);
            Rule::NativeTokenPeriodTransfer(NativeTokenPeriodTransfer {
                period_amount,
                period_duration,
                start_date,
            })
        }
        Kind::NativeTokenStreaming => {
            let [initial_amount, max_amount, amount_per_second, start_time] = stream(arena, dice);
            Rule::NativeTokenStreaming(NativeTokenStreaming {
                initial_amount,
                max_amount,
                amount_per_second,
                start_time,
            })
        }
        Kind::NativeTokenTransferAmount => {
            Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(amount(dice)))
        }
        Kind::Nonce => Rule::Nonce(Nonce(U256::ZERO)),
        Kind::OwnershipTransfer => Rule::OwnershipTransfer(OwnershipTransfer(ANYTHING)),
        Kind::Redeemer => Rule::Redeemer(Redeemer(vec![AGENT, OTHER])),
        Kind::ReplicantBudget => Rule::ReplicantBudget(ReplicantBudget {
            replicant_id: B256::repeat_byte(0x4e),
            budget: cap(dice),
            not_after: now + 600 + dice.below(7_200),
            listing: listing(arena, dice),
        }),
        Kind::SpecificActionErc20TransferBatch => {
            Rule::SpecificActionErc20TransferBatch(SpecificActionErc20TransferBatch {
                token_address: usdc,
                recipient: OTHER,
                amount: dollars(1 + dice.below(3)),
                target: ANYTHING,
                value: U256::ZERO,
                calldata: vec![1, 2, 3, 4].into(),
            })
        }
        Kind::Threshold => {
            let signers: Vec<_> = arena.council.iter().map(|key| key.address()).collect();
            let needed = 1 + u8::try_from(dice.below(3)).unwrap_or_default();
            Rule::Threshold(Threshold::new(needed, signers).unwrap())
        }
        Kind::Timestamp => Rule::Timestamp(Timestamp {
            after: u128::from(now - 1 + dice.below(40)) * u128::from(dice.below(2)),
            before: u128::from(now + 60 + dice.below(600)) * u128::from(dice.below(4).min(1)),
        }),
        Kind::ValueLte => Rule::ValueLte(ValueLte(amount(dice))),
        Kind::VaultNav => Rule::VaultNav(VaultNav {
            golem_id: arena.golem_id,
            vault: dice.pick(&[Address::ZERO, book.vault]),
            bps: dice.pick(&[10, 100]),
            cap: cap(dice),
            listing: listing(arena, dice),
        }),
        other => panic!("nothing is drawn for {other}"),
    }
}

/// Micro-dollars: near a power of two as well, where the units of a window change.
const fn cap(dice: &mut Dice) -> u64 {
    match dice.below(3) {
        0 => (1 << 27) + dice.below(3) - 1,
        1 => 100_000_000 + dice.below(400_000_000),
        _ => 1_000_000 * (50 + dice.below(500)),
    }
}

/// A child's rule: the same, or one bound of it moved.
pub(super) fn vary(rule: &Rule, arena: &Arena, dice: &mut Dice) -> Rule {
    // Of some nothing is within them but they themselves.
    let same = match rule.kind() {
        Some(
            Kind::ArgsEqualityCheck
            | Kind::Deployed
            | Kind::Erc721Transfer
            | Kind::ExactCalldata
            | Kind::ExactExecution
            | Kind::OwnershipTransfer
            | Kind::SpecificActionErc20TransferBatch,
        ) => 2,
        _ => 5,
    };
    if dice.one_in(same) {
        return rule.clone();
    }
    let mut rule = rule.clone();
    let weth = arena.book.weth;
    match &mut rule {
        Rule::AllowedCalldata(rule) => match dice.below(4) {
            0 => rule.start += U256::ONE,
            1 => rule.value = rule.value.slice(..rule.value.len().div_ceil(2)),
            2 => {
                let data = transfer(OTHER, dollars(5));
                let (from, len) = (usize::try_from(rule.start).unwrap(), rule.value.len());
                let from = from.saturating_sub(1);
                rule.start = U256::from(from);
                rule.value = data.slice(from..(from + len + 2).min(data.len()));
            }
            _ => {
                let mut bytes = rule.value.to_vec();
                bytes[0] ^= 1;
                rule.value = bytes.into();
            }
        },
        Rule::AllowedMethods(rule) => {
            let other = [Selector::from(GolemRegistry::heartbeatCall::SELECTOR)];
            rule.0 = dice.near_list(&rule.0, &other);
        }
        Rule::AllowedTargets(rule) => {
            rule.0 = dice.near_list(&rule.0, &[ANYTHING_ELSE, OTHER]);
        }
        Rule::ApprovalRevocation(rule) => match dice.below(6) {
            0 => rule.erc20_approve = !rule.erc20_approve || !rule.permit2_lockdown,
            1 => rule.erc721_approve = !rule.erc721_approve,
            2 => rule.erc721_set_approval_for_all = !rule.erc721_set_approval_for_all,
            3 => rule.permit2_approve = !rule.permit2_approve,
            4 => rule.permit2_lockdown = !rule.permit2_lockdown,
            _ => rule.permit2_invalidate_nonces = !rule.permit2_invalidate_nonces,
        },
        Rule::ArgsEqualityCheck(rule) => rule.0 = vec![7; 1 + usize::from(dice.one_in(2))].into(),
        Rule::BlockNumber(rule) => near_window(&mut rule.after, &mut rule.before, dice),
        Rule::Timestamp(rule) => near_window(&mut rule.after, &mut rule.before, dice),
        Rule::Cadence(rule) => match dice.below(5) {
            0 | 1 => {
                rule.period =
                    NonZeroU32::new(dice.near_u32(rule.period.get())).unwrap_or(rule.period);
            }
            2 | 3 => {
                let count = u8::try_from(dice.near(U256::from(rule.count.get()))).unwrap_or(1);
                rule.count = NonZeroU8::new(count).unwrap_or(rule.count);
            }
            _ => rule.golem_id = arena.other_golem,
        },
        Rule::DailySpendLimit(rule) => match dice.below(6) {
            0..=2 => rule.cap = near_cap(rule.cap, dice),
            3 => rule.epoch += 1,
            4 => rule.bucket_minutes = dice.pick(&BUCKETS),
            _ => rule.listing = near_listing(&rule.listing, arena, dice),
        },
        Rule::Deployed(rule) => *rule = deployed(B256::with_last_byte(2)),
        Rule::DreamMode(rule) => {
            if dice.one_in(2) {
                rule.golem_id = arena.other_golem;
            }
        }
        Rule::EmotionalState(rule) => match dice.below(5) {
            0 | 1 => rule.bounds = near_mood(rule.bounds, dice),
            2 => rule.staleness = dice.near_u32(rule.staleness),
            3 => {
                let other = [Selector::from(Erc20::approveCall::SELECTOR)];
                rule.selectors = dice.near_list(&rule.selectors, &other);
            }
            _ => rule.golem_id = arena.other_golem,
        },
        Rule::Erc1155BalanceChange(rule) => match dice.below(4) {
            0 => rule.token_id = U256::ONE,
            1 => rule.change_type = ChangeType(1 - rule.change_type.0),
            _ => rule.balance = dice.near(rule.balance),
        },
        Rule::Erc20BalanceChange(rule) => match dice.below(4) {
            0 => rule.token_address = weth,
            1 => {
                rule.change_type = ChangeType::INCREASE;
                rule.balance = U256::ZERO;
            }
            _ => rule.balance = dice.near(rule.balance),
        },
        Rule::Erc721BalanceChange(rule) => rule.amount = dice.near(rule.amount),
        Rule::NativeBalanceChange(rule) => match dice.below(3) {
            0 => rule.recipient = OTHER,
            _ => rule.balance = dice.near(rule.balance),
        },
        Rule::Erc20PeriodTransfer(rule) => {
            let near = (rule.period_amount, rule.period_duration, rule.start_date);
            (rule.period_amount, rule.period_duration, rule.start_date) = near_schedule(near, dice);
            if dice.one_in(12) {
                rule.token_address = weth;
            }
        }
        Rule::NativeTokenPeriodTransfer(rule) => {
            let near = (rule.period_amount, rule.period_duration, rule.start_date);
            (rule.period_amount, rule.period_duration, rule.start_date) = near_schedule(near, dice);
        }
        Rule::MultiTokenPeriod(rule) => {
            if dice.one_in(3) {
                rule.0.reverse();
            }
            if dice.one_in(3) {
                rule.0.pop();
            }
            let entry = &mut rule.0[0];
            let near = (entry.period_amount, entry.period_duration, entry.start_date);
            (entry.period_amount, entry.period_duration, entry.start_date) =
                near_schedule(near, dice);
            if dice.one_in(12) {
                entry.token = weth;
            }
        }
        Rule::Erc20Streaming(rule) => {
            let near =
                [rule.initial_amount, rule.max_amount, rule.amount_per_second, rule.start_time];
            [rule.initial_amount, rule.max_amount, rule.amount_per_second, rule.start_time] =
                near_stream(near, dice);
        }
        Rule::NativeTokenStreaming(rule) => {
            let near =
                [rule.initial_amount, rule.max_amount, rule.amount_per_second, rule.start_time];
            [rule.initial_amount, rule.max_amount, rule.amount_per_second, rule.start_time] =
                near_stream(near, dice);
        }
        Rule::Erc20TransferAmount(rule) => match dice.below(6) {
            0 => rule.token_address = weth,
            _ => rule.max_amount = dice.near(rule.max_amount),
        },
        Rule::NativeTokenTransferAmount(rule) => rule.0 = dice.near(rule.0),
        Rule::NativeTokenPayment(rule) => match dice.below(4) {
            0 => rule.recipient = AGENT,
            // Less is looser, and shows; more is refused for what a payer may have allowed elsewhere.
            1 | 2 => rule.amount = dice.near(rule.amount).min(rule.amount),
            _ => rule.amount = dice.near(rule.amount),
        },
        Rule::Erc721Transfer(rule) => {
            rule.token_id = dice.pick(&arena.positions);
        }
        Rule::ExactCalldata(rule) => rule.0 = transfer(OTHER, dollars(1 + dice.below(3))),
        Rule::ExactExecution(rule) => rule.0 = execution(arena, dice),
        Rule::ExactCalldataBatch(rule) => {
            if dice.one_in(2) {
                rule.0[0] = execution(arena, dice);
            }
        }
        Rule::ExactExecutionBatch(rule) => {
            if dice.one_in(2) {
                rule.0[0] = execution(arena, dice);
            }
        }
        Rule::SpecificActionErc20TransferBatch(rule) => rule.amount = dollars(1 + dice.below(3)),
        Rule::GolemCharter(law) => near_charter(law, arena, dice),
        Rule::GolemPhase(rule) => match dice.below(4) {
            0 | 1 => rule.staleness = dice.near_u32(rule.staleness),
            2 => rule.listing = near_listing(&rule.listing, arena, dice),
            _ => rule.golem_id = arena.other_golem,
        },
        Rule::Holdings(rule) => match dice.below(8) {
            0 | 1 => rule.thriving_bps = dice.near_bps(rule.thriving_bps),
            2 => rule.stable_bps = dice.near_bps(rule.stable_bps),
            3 => rule.drawdown_bps = dice.near_bps(rule.drawdown_bps),
            4 => rule.loss_bps = dice.near_bps(rule.loss_bps),
            5 => rule.staleness = dice.near_u32(rule.staleness),
            6 => rule.cash = weth,
            _ => rule.listing = near_listing(&rule.listing, arena, dice),
        },
        Rule::Id(rule) => rule.0 = U256::from(dice.below(3)),
        Rule::Nonce(rule) => rule.0 = U256::from(dice.below(2)),
        Rule::KnowledgeRoyalty(rule) => rule.max_royalty_bps = dice.near_bps(rule.max_royalty_bps),
        Rule::LimitedCalls(rule) => rule.0 = dice.near(rule.0),
        Rule::LogicalOrWrapper(rule) => {
            if dice.one_in(2) {
                rule.0.pop();
            }
        }
        Rule::MaxSlippage(rule) => match dice.below(3) {
            0 | 1 => rule.bps = dice.near_bps(rule.bps),
            _ => rule.listing = near_listing(&rule.listing, arena, dice),
        },
        Rule::MortalityTimeWindow(rule) => {
            let (start, end) = (rule.start(), rule.end());
            let moved = match dice.below(5) {
                0 => (start + 1, end),
                1 => (start - 1, end),
                2 => (start, end - 1),
                3 => (start, end + 1),
                _ => (start + 10, end - 10),
            };
            *rule = MortalityTimeWindow::new(moved.0, moved.1).unwrap();
        }
        Rule::OwnershipTransfer(rule) => rule.0 = dice.pick(&[ANYTHING, ANYTHING_ELSE]),
        Rule::Redeemer(rule) => rule.0 = dice.near_list(&rule.0, &[arena.account(), MANY]),
        Rule::ReplicantBudget(rule) => match dice.below(6) {
            0..=2 => rule.budget = near_cap(rule.budget, dice),
            3 => rule.not_after = rule.not_after + dice.below(3) - 1,
            4 => rule.replicant_id = B256::repeat_byte(9),
            _ => rule.listing = near_listing(&rule.listing, arena, dice),
        },
        Rule::Threshold(rule) => {
            let mut signers = rule.signers().to_vec();
            if dice.one_in(2) {
                signers.truncate(2);
            }
            if dice.one_in(4) {
                signers.push(OTHER);
                signers.sort_unstable();
                signers.dedup();
            }
            let most = u64::try_from(signers.len()).unwrap_or(1);
            let needed = u8::try_from(1 + dice.below(most)).unwrap_or(1);
            *rule = Threshold::new(needed, signers).unwrap();
        }
        Rule::ValueLte(rule) => rule.0 = dice.near(rule.0),
        Rule::VaultNav(rule) => match dice.below(6) {
            0 | 1 => rule.cap = near_cap(rule.cap, dice),
            2 | 3 => rule.bps = dice.near_bps(rule.bps),
            4 => rule.vault = dice.pick(&[Address::ZERO, arena.book.vault]),
            _ => rule.listing = near_listing(&rule.listing, arena, dice),
        },
        other => panic!("nothing is near {other:?}"),
    }
    rule
}

fn near_cap(cap: u64, dice: &mut Dice) -> u64 {
    match dice.below(3) {
        0 => cap.saturating_sub(1 + dice.below(20_000)),
        _ => dice.near_u64(cap),
    }
}

const fn near_window(after: &mut u128, before: &mut u128, dice: &mut Dice) {
    match dice.below(6) {
        0 => *after += 1,
        1 => *after = after.saturating_sub(1),
        2 => *before = before.saturating_sub(1),
        3 if *before != 0 => *before += 1,
        4 => *before = 0,
        _ => *after += 5,
    }
}

fn near_charter(law: &mut GolemCharter, arena: &Arena, dice: &mut Dice) {
    match dice.below(24) {
        22 => law.bucket_minutes = dice.pick(&BUCKETS),
        23 => {
            let classes = dice.pick(&[
                Classes::of(&[Class::Swap]),
                Classes::of(&[Class::Swap, Class::Deposit, Class::Approve]),
            ]);
            law.mood = law.mood.map(|mood| CharterMood { classes, ..mood });
        }
        0..=3 => law.spend_cap = near_cap(law.spend_cap, dice),
        4 | 5 => law.nav_cap = near_cap(law.nav_cap, dice),
        6 => law.nav_bps = dice.near_bps(law.nav_bps),
        7 | 8 => law.slippage_bps = dice.near_bps(law.slippage_bps),
        9 => {
            let gone = dice.pick(&[Class::Swap, Class::Approve, Class::GasTopUp, Class::Transfer]);
            law.classes = law.classes.without(Classes::of(&[gone]));
        }
        10 => law.gas_ceiling = dice.near_u64(law.gas_ceiling),
        11 => law.gas_daily_cap = dice.near_u64(law.gas_daily_cap),
        12 => law.staleness = dice.near_u32(law.staleness),
        13 => law.replicants = !law.replicants,
        14 => law.agent_key = OTHER,
        15 => law.max_royalty_bps = dice.pick(&[None, Some(ROYALTY_BPS), Some(2_000)]),
        16 => law.vault = dice.pick(&[Address::ZERO, arena.book.vault]),
        17 => {
            law.mood = law.mood.map(|mood| CharterMood {
                bounds: near_mood(mood.bounds, dice),
                classes: mood.classes,
            });
        }
        18 => {
            law.mood = match law.mood {
                None => {
                    Some(CharterMood { bounds: mood(dice), classes: Classes::of(&[Class::Swap]) })
                }
                Some(_) => None,
            }
        }
        19 => law.epoch += u16::try_from(dice.below(2)).unwrap_or_default(),
        20 => {
            let (start, end) = (law.window.start(), law.window.end());
            let end = end - 7 * DAY + dice.below(3_600);
            law.window = MortalityTimeWindow::new(start, end.max(start)).unwrap_or(law.window);
        }
        _ => law.listing = near_listing(&law.listing, arena, dice),
    }
}
