//! What holds for every rule of every kind, drawn from a fixed seed.

use crate::fuzz_bodies;
use alloy_primitives::{Address, B256, Bytes, Selector, U256};
use golem_delegation::{
    Caveat, Kind, Rule, SpendTerms, attenuates,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, Cadence, ChangeType, CharterMood, Class, Classes, DailySpendLimit, Deployed,
        DreamMode, EmotionalState, Erc20BalanceChange, Erc20PeriodTransfer, Erc20Streaming,
        Erc20TransferAmount, Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange,
        ExactCalldata, ExactCalldataBatch, ExactExecution, ExactExecutionBatch, Execution,
        GolemCharter, GolemPhase, Holdings, Id, KnowledgeRoyalty, LimitedCalls, ListedTarget,
        ListedToken, Listing, LogicalOrWrapper, MaxSlippage, MoodBounds, MortalityTimeWindow,
        MultiTokenPeriod, NativeBalanceChange, NativeTokenPayment, NativeTokenPeriodTransfer,
        NativeTokenStreaming, NativeTokenTransferAmount, Nonce, OwnershipTransfer, Redeemer,
        ReplicantBudget, Role, SpecificActionErc20TransferBatch, Threshold, Timestamp, TokenPeriod,
        ValueLte, VaultNav,
    },
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    sample::{Index, select},
    test_runner::{Config, RngSeed, TestRunner},
};

const CASES_OF_A_KIND: u32 = 48;

fn number() -> impl Strategy<Value = U256> {
    prop_oneof![
        any::<[u8; 32]>().prop_map(U256::from_be_bytes),
        any::<u64>().prop_map(U256::from),
        select(vec![U256::ZERO, U256::ONE, U256::MAX, U256::from(1_u64 << 53)]),
    ]
}

fn positive() -> impl Strategy<Value = U256> {
    number().prop_map(|number| number.max(U256::ONE))
}

fn address() -> impl Strategy<Value = Address> {
    prop_oneof![4 => any::<[u8; 20]>().prop_map(Address::from), 1 => Just(Address::ZERO)]
}

fn word() -> impl Strategy<Value = B256> {
    any::<[u8; 32]>().prop_map(B256::from)
}

fn bytes(least: usize) -> impl Strategy<Value = Bytes> {
    prop_oneof![
        vec(any::<u8>(), least..=least + 1),
        vec(any::<u8>(), 31..=33),
        vec(any::<u8>(), least..100)
    ]
    .prop_map(Bytes::from)
}

fn selector() -> impl Strategy<Value = Selector> {
    any::<[u8; 4]>().prop_map(Selector::from)
}

fn change() -> impl Strategy<Value = ChangeType> {
    any::<u8>().prop_map(ChangeType)
}

fn execution() -> impl Strategy<Value = Execution> {
    (address(), number(), bytes(0)).prop_map(|(target, value, call_data)| Execution {
        target,
        value,
        call_data,
    })
}

fn caveat() -> impl Strategy<Value = Caveat> {
    (address(), bytes(0), bytes(0)).prop_map(|(enforcer, terms, args)| Caveat {
        enforcer,
        terms,
        args,
    })
}

fn period() -> impl Strategy<Value = [U256; 3]> {
    [positive(), positive(), positive()]
}

/// Initial, most, a second's worth, start.
fn stream() -> impl Strategy<Value = [U256; 4]> {
    ([number(), number(), number()], positive())
        .prop_map(|([one, other, rate], start)| [one.min(other), one.max(other), rate, start])
}

fn bps() -> impl Strategy<Value = u16> {
    prop_oneof![0_u16..=10_000, select(vec![0, 1, 10_000])]
}

fn classes(least: usize) -> impl Strategy<Value = Classes> {
    vec(select(Class::ALL.to_vec()), least..8).prop_map(|classes| Classes::of(&classes))
}

fn mood() -> impl Strategy<Value = MoodBounds> {
    [-100_i8..=100, -100_i8..=100, -100_i8..=100].prop_map(
        |[min_pleasure, max_arousal, min_dominance]| MoodBounds {
            min_pleasure,
            max_arousal,
            min_dominance,
        },
    )
}

fn listing() -> impl Strategy<Value = Listing> {
    let role = || select(Role::ALL.to_vec());
    let token = (address(), option::of(role()), address(), any::<(u8, u8, u32)>()).prop_map(
        |(token, role, feed, (token_decimals, feed_decimals, max_age))| ListedToken {
            token,
            role,
            feed,
            token_decimals,
            feed_decimals,
            max_age,
        },
    );
    let target = (address(), role()).prop_map(|(target, role)| ListedTarget { target, role });
    (address(), any::<u32>(), vec(token, 0..4), vec(target, 0..4)).prop_map(
        |(sequencer_feed, sequencer_grace, tokens, targets)| Listing {
            sequencer_feed,
            sequencer_grace,
            tokens,
            targets,
        },
    )
}

fn charter() -> impl Strategy<Value = GolemCharter> {
    let parties = [address(), address(), address(), address()];
    let places = [address(), address(), address()];
    let moments = [0_u64..1 << 40, 0_u64..1 << 40];
    let gas = [0_u64..1 << 48, 0_u64..1 << 48];
    let mood = (mood(), classes(1)).prop_map(|(bounds, classes)| CharterMood { bounds, classes });
    let spend = (1..=u64::MAX, 1..=SpendTerms::MAX_BUCKET_MINUTES);
    let small = (any::<(u16, u32)>(), spend, any::<(u64, u32)>());
    let sections = (option::of(bps()), option::of(mood));
    let rest = (any::<bool>(), classes(0), [bps(), bps()], sections, listing());
    (word(), parties, places, moments, gas, small, rest).prop_map(
        |(golem_id, parties, places, moments, gas, small, rest)| {
            let [owner, account, beneficiary, agent_key] = parties;
            let [registry, vault, settlement_asset] = places;
            let [one, other] = moments;
            let [gas_ceiling, gas_daily_cap] = gas;
            let ((epoch, generation), (spend_cap, bucket_minutes), (nav_cap, staleness)) = small;
            let (replicants, classes, [slippage_bps, nav_bps], (max_royalty_bps, mood), listing) =
                rest;
            GolemCharter {
                golem_id,
                owner,
                epoch,
                generation,
                registry,
                account,
                beneficiary,
                agent_key,
                replicants,
                classes,
                window: MortalityTimeWindow::new(one.min(other), one.max(other)).unwrap(),
                spend_cap,
                bucket_minutes,
                slippage_bps,
                vault,
                nav_bps,
                nav_cap,
                staleness,
                gas_ceiling,
                gas_daily_cap,
                settlement_asset,
                max_royalty_bps,
                mood,
                listing,
            }
        },
    )
}

/// Rules of one kind that its contract takes.
fn rule(kind: Kind) -> BoxedStrategy<Rule> {
    let listing = listing();
    let flags = any::<[bool; 6]>().prop_filter("one at least", |ways| ways.contains(&true));
    let addresses = vec(address(), 1..20);
    match kind {
        Kind::AllowedCalldata => (number(), bytes(1))
            .prop_map(|(start, value)| Rule::AllowedCalldata(AllowedCalldata { start, value }))
            .boxed(),
        Kind::AllowedMethods => vec(selector(), 1..20)
            .prop_map(|selectors| Rule::AllowedMethods(AllowedMethods(selectors)))
            .boxed(),
        Kind::AllowedTargets => {
            addresses.prop_map(|all| Rule::AllowedTargets(AllowedTargets(all))).boxed()
        }
        Kind::ApprovalRevocation => flags
            .prop_map(|[one, two, three, four, five, six]| {
                Rule::ApprovalRevocation(ApprovalRevocation {
                    erc20_approve: one,
                    erc721_approve: two,
                    erc721_set_approval_for_all: three,
                    permit2_approve: four,
                    permit2_lockdown: five,
                    permit2_invalidate_nonces: six,
                })
            })
            .boxed(),
        Kind::ArgsEqualityCheck => {
            bytes(0).prop_map(|args| Rule::ArgsEqualityCheck(ArgsEqualityCheck(args))).boxed()
        }
        Kind::BlockNumber => any::<(u128, u128)>()
            .prop_map(|(after, before)| Rule::BlockNumber(BlockNumber { after, before }))
            .boxed(),
        Kind::Deployed => (address(), word(), bytes(1))
            .prop_map(|(contract_address, salt, bytecode)| {
                Rule::Deployed(Deployed { contract_address, salt, bytecode })
            })
            .boxed(),
        Kind::Erc1155BalanceChange => (change(), address(), address(), number(), number())
            .prop_map(|(change_type, token_address, recipient, token_id, balance)| {
                Rule::Erc1155BalanceChange(Erc1155BalanceChange {
                    change_type,
                    token_address,
                    recipient,
                    token_id,
                    balance,
                })
            })
            .boxed(),
        Kind::Erc20BalanceChange => (change(), address(), address(), number())
            .prop_map(|(change_type, token_address, recipient, balance)| {
                Rule::Erc20BalanceChange(Erc20BalanceChange {
                    change_type,
                    token_address,
                    recipient,
                    balance,
                })
            })
            .boxed(),
        Kind::Erc721BalanceChange => (change(), address(), address(), number())
            .prop_map(|(change_type, token_address, recipient, amount)| {
                Rule::Erc721BalanceChange(Erc721BalanceChange {
                    change_type,
                    token_address,
                    recipient,
                    amount,
                })
            })
            .boxed(),
        Kind::NativeBalanceChange => (change(), address(), number())
            .prop_map(|(change_type, recipient, balance)| {
                Rule::NativeBalanceChange(NativeBalanceChange { change_type, recipient, balance })
            })
            .boxed(),
        Kind::Erc20PeriodTransfer => (address(), period())
            .prop_map(|(token_address, [period_amount, period_duration, start_date])| {
                Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                    token_address,
                    period_amount,
                    period_duration,
                    start_date,
                })
            })
            .boxed(),
        Kind::NativeTokenPeriodTransfer => period()
            .prop_map(|[period_amount, period_duration, start_date]| {
                Rule::NativeTokenPeriodTransfer(NativeTokenPeriodTransfer {
                    period_amount,
                    period_duration,
                    start_date,
                })
            })
            .boxed(),
        Kind::MultiTokenPeriod => {
            let entry = (address(), period()).prop_map(
                |(token, [period_amount, period_duration, start_date])| TokenPeriod {
                    token,
                    period_amount,
                    period_duration,
                    start_date,
                },
            );
            vec(entry, 1..5).prop_map(|all| Rule::MultiTokenPeriod(MultiTokenPeriod(all))).boxed()
        }
        Kind::Erc20Streaming => (address(), stream())
            .prop_map(|(token_address, stream)| {
                let [initial_amount, max_amount, amount_per_second, start_time] = stream;
                Rule::Erc20Streaming(Erc20Streaming {
                    token_address,
                    initial_amount,
                    max_amount,
                    amount_per_second,
                    start_time,
                })
            })
            .boxed(),
        Kind::NativeTokenStreaming => stream()
            .prop_map(|[initial_amount, max_amount, amount_per_second, start_time]| {
                Rule::NativeTokenStreaming(NativeTokenStreaming {
                    initial_amount,
                    max_amount,
                    amount_per_second,
                    start_time,
                })
            })
            .boxed(),
        Kind::Erc20TransferAmount => (address(), number())
            .prop_map(|(token_address, max_amount)| {
                Rule::Erc20TransferAmount(Erc20TransferAmount { token_address, max_amount })
            })
            .boxed(),
        Kind::Erc721Transfer => (address(), number())
            .prop_map(|(token_address, token_id)| {
                Rule::Erc721Transfer(Erc721Transfer { token_address, token_id })
            })
            .boxed(),
        Kind::ExactCalldata => {
            bytes(0).prop_map(|data| Rule::ExactCalldata(ExactCalldata(data))).boxed()
        }
        Kind::ExactCalldataBatch => vec(execution(), 0..5)
            .prop_map(|calls| Rule::ExactCalldataBatch(ExactCalldataBatch(calls)))
            .boxed(),
        Kind::ExactExecution => {
            execution().prop_map(|call| Rule::ExactExecution(ExactExecution(call))).boxed()
        }
        Kind::ExactExecutionBatch => vec(execution(), 0..5)
            .prop_map(|calls| Rule::ExactExecutionBatch(ExactExecutionBatch(calls)))
            .boxed(),
        Kind::Id => number().prop_map(|id| Rule::Id(Id(id))).boxed(),
        Kind::LimitedCalls => {
            number().prop_map(|limit| Rule::LimitedCalls(LimitedCalls(limit))).boxed()
        }
        Kind::LogicalOrWrapper => vec(vec(caveat(), 0..4), 1..4)
            .prop_map(|groups| Rule::LogicalOrWrapper(LogicalOrWrapper(groups)))
            .boxed(),
        Kind::NativeTokenPayment => (address(), number())
            .prop_map(|(recipient, amount)| {
                Rule::NativeTokenPayment(NativeTokenPayment { recipient, amount })
            })
            .boxed(),
        Kind::NativeTokenTransferAmount => number()
            .prop_map(|most| Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(most)))
            .boxed(),
        Kind::Nonce => number().prop_map(|nonce| Rule::Nonce(Nonce(nonce))).boxed(),
        Kind::OwnershipTransfer => {
            address().prop_map(|at| Rule::OwnershipTransfer(OwnershipTransfer(at))).boxed()
        }
        Kind::Redeemer => addresses.prop_map(|all| Rule::Redeemer(Redeemer(all))).boxed(),
        Kind::SpecificActionErc20TransferBatch => {
            (address(), address(), number(), address(), number(), bytes(0))
                .prop_map(|(token_address, recipient, amount, target, value, calldata)| {
                    Rule::SpecificActionErc20TransferBatch(SpecificActionErc20TransferBatch {
                        token_address,
                        recipient,
                        amount,
                        target,
                        value,
                        calldata,
                    })
                })
                .boxed()
        }
        Kind::Timestamp => any::<(u128, u128)>()
            .prop_map(|(after, before)| Rule::Timestamp(Timestamp { after, before }))
            .boxed(),
        Kind::ValueLte => number().prop_map(|most| Rule::ValueLte(ValueLte(most))).boxed(),
        Kind::Cadence => (word(), any::<(std::num::NonZeroU32, std::num::NonZeroU8)>())
            .prop_map(|(golem_id, (period, count))| {
                Rule::Cadence(Cadence { golem_id, period, count })
            })
            .boxed(),
        Kind::DailySpendLimit => {
            (word(), (any::<u16>(), 1..=u64::MAX, 1..=SpendTerms::MAX_BUCKET_MINUTES), listing)
                .prop_map(|(golem_id, (epoch, cap, bucket_minutes), listing)| {
                    Rule::DailySpendLimit(DailySpendLimit {
                        golem_id,
                        epoch,
                        cap,
                        bucket_minutes,
                        listing,
                    })
                })
                .boxed()
        }
        Kind::DreamMode => (word(), address())
            .prop_map(|(golem_id, registry)| Rule::DreamMode(DreamMode { golem_id, registry }))
            .boxed(),
        Kind::EmotionalState => (word(), address(), any::<u32>(), mood(), vec(selector(), 1..20))
            .prop_map(|(golem_id, registry, staleness, bounds, selectors)| {
                Rule::EmotionalState(EmotionalState {
                    golem_id,
                    registry,
                    staleness,
                    bounds,
                    selectors,
                })
            })
            .boxed(),
        Kind::GolemCharter => {
            charter().prop_map(|charter| Rule::GolemCharter(Box::new(charter))).boxed()
        }
        Kind::GolemPhase => (word(), address(), any::<u32>(), listing)
            .prop_map(|(golem_id, registry, staleness, listing)| {
                Rule::GolemPhase(GolemPhase { golem_id, registry, staleness, listing })
            })
            .boxed(),
        Kind::Holdings => {
            let places = [address(), address(), address()];
            (word(), places, any::<(u32, u16)>(), [bps(), bps(), bps(), bps()], listing)
                .prop_map(|(golem_id, places, (staleness, epoch), shares, listing)| {
                    let [account, registry, cash] = places;
                    let [thriving_bps, stable_bps, drawdown_bps, loss_bps] = shares;
                    Rule::Holdings(Holdings {
                        golem_id,
                        account,
                        staleness,
                        series: epoch,
                        thriving_bps,
                        stable_bps,
                        drawdown_bps,
                        registry,
                        cash,
                        loss_bps,
                        listing,
                    })
                })
                .boxed()
        }
        Kind::KnowledgeRoyalty => (address(), bps())
            .prop_map(|(market, max_royalty_bps)| {
                Rule::KnowledgeRoyalty(KnowledgeRoyalty { market, max_royalty_bps })
            })
            .boxed(),
        Kind::MaxSlippage => (bps(), listing)
            .prop_map(|(bps, listing)| Rule::MaxSlippage(MaxSlippage { bps, listing }))
            .boxed(),
        Kind::MortalityTimeWindow => any::<(u64, u64)>()
            .prop_map(|(one, other)| {
                let window = MortalityTimeWindow::new(one.min(other), one.max(other));
                Rule::MortalityTimeWindow(window.unwrap())
            })
            .boxed(),
        Kind::ReplicantBudget => (word(), any::<u64>(), 0_u64..1 << 40, listing)
            .prop_map(|(replicant_id, budget, not_after, listing)| {
                Rule::ReplicantBudget(ReplicantBudget { replicant_id, budget, not_after, listing })
            })
            .boxed(),
        Kind::Threshold => (proptest::collection::btree_set(1_u64.., 1..20), any::<Index>())
            .prop_map(|(signers, needed)| {
                let needed = u8::try_from(needed.index(signers.len()) + 1).unwrap();
                let signer = |number| Address::from_word(U256::from(number).into());
                let signers = signers.into_iter().map(signer).collect();
                Rule::Threshold(Threshold::new(needed, signers).unwrap())
            })
            .boxed(),
        Kind::VaultNav => (word(), address(), bps(), any::<u64>(), listing)
            .prop_map(|(golem_id, vault, bps, cap, listing)| {
                Rule::VaultNav(VaultNav { golem_id, vault, bps, cap, listing })
            })
            .boxed(),
        other => panic!("{other} has no strategy"),
    }
}

/// Draws rules of every kind, the same in every run.
fn for_every_kind(check: impl Fn(Kind, Rule, Index) -> Result<(), TestCaseError>) {
    for kind in Kind::ALL {
        let mut runner = TestRunner::new(Config {
            cases: CASES_OF_A_KIND,
            rng_seed: RngSeed::Fixed(0x7710),
            failure_persistence: None,
            ..Config::default()
        });
        let drawn = (rule(*kind), any::<Index>());
        let held = runner.run(&drawn, |(rule, index)| check(*kind, rule, index));
        held.unwrap_or_else(|failure| panic!("{kind}: {failure}"));
    }
}

#[test]
fn every_rule_survives_its_terms_and_its_json() {
    for_every_kind(|kind, rule, _| {
        let terms = rule.encode().unwrap();
        let text = serde_json::to_string(&rule).unwrap();

        prop_assert_eq!(Rule::decode(kind, &terms), Ok(rule.clone()));
        prop_assert_eq!(serde_json::from_str::<Rule>(&text).unwrap(), rule);
        Ok(())
    });
}

/// No byte of terms goes unread: with one bit turned they say something else, or nothing.
#[test]
fn no_two_terms_say_the_same() {
    for_every_kind(|kind, rule, index| {
        let mut terms = rule.encode().unwrap();
        if terms.is_empty() {
            return Ok(());
        }
        let bit = index.index(terms.len() * 8);
        terms[bit / 8] ^= 1 << (bit % 8);

        prop_assert_ne!(Rule::decode(kind, &terms), Ok(rule), "bit {} of {}", bit, kind);
        fuzz_bodies::terms(&terms);
        Ok(())
    });
}

/// And alone of its kind it is inherited by whoever says nothing (SPEC G4).
#[test]
fn every_rule_is_within_itself() {
    for_every_kind(|_, rule, _| {
        let rules = [rule];

        prop_assert_eq!(attenuates(&rules, &rules), Ok(()));
        prop_assert_eq!(attenuates(&rules, &[]), Ok(()));
        Ok(())
    });
}
