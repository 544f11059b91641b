//! What the framework's own enforcers say, all of it: each of their strings has a code, and the bound that was signed.

use super::{said, under, with};
use alloy::{
    primitives::{Address, B256, Bytes, U256, bytes, fixed_bytes, hex},
    sol_types::{SolError, SolValue},
};
use bardo_bindings::{GolemCharterEnforcer::GolemPhase_NotAllowed, golem_charter_enforcer};
use golem_chain::explain_revert;
use golem_custody::DenialCode as Code;
use golem_delegation::{
    Caveat, Delegation, Environment, PermissionContext, Rule, enforcers,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, ApprovalRevocation, ArgsEqualityCheck,
        BlockNumber, ChangeType, Deployed, Erc20BalanceChange, Erc20PeriodTransfer, Erc20Streaming,
        Erc20TransferAmount, Erc721BalanceChange, Erc721Transfer, Erc1155BalanceChange,
        ExactCalldata, ExactCalldataBatch, ExactExecution, ExactExecutionBatch, Execution, Id,
        LimitedCalls, LogicalOrWrapper, MultiTokenPeriod, NativeBalanceChange, NativeTokenPayment,
        NativeTokenPeriodTransfer, NativeTokenStreaming, NativeTokenTransferAmount, Nonce,
        OwnershipTransfer, Redeemer, SpecificActionErc20TransferBatch, Timestamp, TokenPeriod,
        ValueLte,
    },
};
use std::{collections::BTreeSet, fs, path::Path};

const TOKEN: Address = Address::repeat_byte(0x11);
const SOMEBODY: Address = Address::repeat_byte(0x22);
const TARGET: Address = Address::repeat_byte(0x33);
const AMOUNT: u64 = 4_711;
const START: u64 = 1_800_000_000;
const DATE: &str = "2027-01-15T08:00:00Z";

fn number(number: u64) -> U256 {
    U256::from(number)
}

/// What one enforcer can say, and a bound of it whose numbers must be told.
struct Says {
    rule: Rule,
    shows: Vec<String>,
    words: &'static [(&'static str, Code)],
}

fn says<const N: usize>(
    rule: Rule,
    shows: [&dyn ToString; N],
    words: &'static [(&'static str, Code)],
) -> Says {
    Says { rule, shows: shows.map(ToString::to_string).into(), words }
}

const TERMS: (&str, Code) = ("invalid-terms-length", Code::Terms);
const LENGTH: (&str, Code) = ("invalid-execution-length", Code::Calldata);
const CONTRACT: (&str, Code) = ("invalid-contract", Code::Target);
const METHOD: (&str, Code) = ("invalid-method", Code::Method);
const ALLOWANCE: (&str, Code) = ("allowance-exceeded", Code::Spend);
const ZERO_TIME: (&str, Code) = ("invalid-zero-start-time", Code::Terms);
const MOST: (&str, Code) = ("invalid-max-amount", Code::Terms);
const CHANGES: &[(&str, Code)] = &[
    TERMS,
    ("enforcer-is-locked", Code::Mode),
    ("exceeded-balance-decrease", Code::Spend),
    ("insufficient-balance-increase", Code::Slippage),
];
const WINDOW: &[(&str, Code)] =
    &[TERMS, ("early-delegation", Code::WindowEarly), ("expired-delegation", Code::WindowExpired)];

/// All of them, by the sources of the framework.
fn all() -> Vec<Says> {
    let change_type = ChangeType::DECREASE;
    let call = Execution { target: TARGET, value: number(AMOUNT), call_data: bytes!("d0e30db0") };
    let mut all = bounds_of_calls(&call);
    all.extend(bounds_of_sums());
    all.extend([
        says(
            Rule::ApprovalRevocation(ApprovalRevocation {
                permit2_lockdown: true,
                ..ApprovalRevocation::default()
            }),
            [&"lockdown"],
            &[
                TERMS,
                LENGTH,
                METHOD,
                ("invalid-terms", Code::Terms),
                ("no-methods-allowed", Code::Terms),
                ("erc20-approve-not-allowed", Code::Method),
                ("erc721-approve-not-allowed", Code::Method),
                ("permit2-approve-not-allowed", Code::Method),
                ("permit2-invalidate-nonces-not-allowed", Code::Method),
                ("permit2-lockdown-not-allowed", Code::Method),
                ("setApprovalForAll-not-allowed", Code::Method),
                ("invalid-permit2-target", Code::Target),
                ("invalid-value", Code::Value),
                ("non-zero-amount", Code::Calldata),
                ("non-zero-expiration", Code::Calldata),
                ("not-a-revocation", Code::Calldata),
                ("permit2-invalid-execution-length", Code::Calldata),
                ("no-approval-to-revoke", Code::OtherCaveat),
            ],
        ),
        says(
            Rule::ArgsEqualityCheck(ArgsEqualityCheck(bytes!("c0ffee"))),
            [&"0xc0ffee"],
            &[("different-args-and-terms", Code::Calldata)],
        ),
        says(
            Rule::BlockNumber(BlockNumber { after: 100, before: 200 }),
            [&"after block 100", &"before block 200"],
            WINDOW,
        ),
        says(
            Rule::Deployed(Deployed {
                contract_address: TARGET,
                salt: B256::repeat_byte(7),
                bytecode: bytes!("6000"),
            }),
            [&TARGET, &B256::repeat_byte(7), &"0x6000"],
            &[TERMS, ("deployed-address-mismatch", Code::Terms)],
        ),
        says(
            Rule::Erc1155BalanceChange(Erc1155BalanceChange {
                change_type,
                token_address: TOKEN,
                recipient: SOMEBODY,
                token_id: number(77),
                balance: number(AMOUNT),
            }),
            [&TOKEN, &SOMEBODY, &77, &AMOUNT],
            CHANGES,
        ),
        says(
            Rule::Erc20BalanceChange(Erc20BalanceChange {
                change_type,
                token_address: TOKEN,
                recipient: SOMEBODY,
                balance: number(AMOUNT),
            }),
            [&TOKEN, &SOMEBODY, &AMOUNT],
            CHANGES,
        ),
        says(
            Rule::Erc721BalanceChange(Erc721BalanceChange {
                change_type,
                token_address: TOKEN,
                recipient: SOMEBODY,
                amount: number(AMOUNT),
            }),
            [&TOKEN, &SOMEBODY, &AMOUNT],
            CHANGES,
        ),
        says(
            Rule::NativeBalanceChange(NativeBalanceChange {
                change_type,
                recipient: SOMEBODY,
                balance: number(AMOUNT),
            }),
            [&SOMEBODY, &AMOUNT],
            CHANGES,
        ),
        says(Rule::Id(Id(number(AMOUNT))), [&AMOUNT], &[TERMS, ("id-already-used", Code::Calls)]),
        says(
            Rule::LimitedCalls(LimitedCalls(number(AMOUNT))),
            [&AMOUNT],
            &[TERMS, ("limit-exceeded", Code::Calls)],
        ),
        says(
            Rule::LogicalOrWrapper(LogicalOrWrapper(vec![vec![Caveat::new(TARGET, vec![7])]])),
            [&"1 groups", &TARGET],
            &[
                ("invalid-caveat-args-length", Code::Calldata),
                ("invalid-group-index", Code::Calldata),
                ("only-delegation-manager", Code::OtherCaveat),
            ],
        ),
        says(
            Rule::NativeTokenPayment(NativeTokenPayment {
                recipient: SOMEBODY,
                amount: number(AMOUNT),
            }),
            [&SOMEBODY, &AMOUNT],
            &[
                TERMS,
                ("invalid-allowance-delegations-length", Code::Payment),
                ("missing-argsEqualityCheckEnforcer", Code::Payment),
                ("payment-not-received", Code::Payment),
                ("only-delegation-manager", Code::OtherCaveat),
            ],
        ),
        says(
            Rule::Nonce(Nonce(number(AMOUNT))),
            [&AMOUNT],
            &[TERMS, ("invalid-nonce", Code::Revoked)],
        ),
        says(
            Rule::Redeemer(Redeemer(vec![SOMEBODY])),
            [&SOMEBODY],
            &[TERMS, ("unauthorized-redeemer", Code::Redeemer)],
        ),
        says(
            Rule::Timestamp(Timestamp { after: START.into(), before: (START + 60).into() }),
            [&format!("after {DATE}"), &"before 2027-01-15T08:01:00Z"],
            WINDOW,
        ),
    ]);
    all
}

fn bounds_of_calls(call: &Execution) -> Vec<Says> {
    vec![
        says(
            Rule::AllowedCalldata(AllowedCalldata { start: number(36), value: bytes!("beef") }),
            [&"0xbeef from byte 36"],
            &[
                ("invalid-terms-size", Code::Terms),
                ("invalid-calldata", Code::Calldata),
                ("invalid-calldata-length", Code::Calldata),
            ],
        ),
        says(
            Rule::AllowedMethods(AllowedMethods(vec![
                fixed_bytes!("a9059cbb"),
                fixed_bytes!("d0e30db0"),
            ])),
            [&"0xa9059cbb", &"0xd0e30db0"],
            &[
                TERMS,
                ("invalid-execution-data-length", Code::Method),
                ("method-not-allowed", Code::Method),
            ],
        ),
        says(
            Rule::AllowedTargets(AllowedTargets(vec![TARGET, TOKEN])),
            [&format!("{TARGET:?}").to_lowercase(), &format!("{TOKEN:?}").to_lowercase()],
            &[TERMS, ("target-address-not-allowed", Code::Target)],
        ),
        says(
            Rule::Erc721Transfer(Erc721Transfer { token_address: TOKEN, token_id: number(AMOUNT) }),
            [&TOKEN, &AMOUNT],
            &[
                TERMS,
                ("invalid-address", Code::Calldata),
                ("invalid-calldata-length", Code::Calldata),
                ("unauthorized-contract-target", Code::Target),
                ("unauthorized-selector", Code::Method),
                ("unauthorized-token-id", Code::Calldata),
            ],
        ),
        says(
            Rule::ExactCalldataBatch(ExactCalldataBatch(vec![call.clone()])),
            [&"one call", &"0xd0e30db0"],
            &[("invalid-batch-size", Code::Calldata), ("invalid-calldata", Code::Calldata)],
        ),
        says(
            Rule::ExactCalldata(ExactCalldata(bytes!("d0e30db0"))),
            [&"0xd0e30db0"],
            &[("invalid-calldata", Code::Calldata)],
        ),
        says(
            Rule::ExactExecutionBatch(ExactExecutionBatch(vec![call.clone()])),
            [&TARGET, &AMOUNT, &"0xd0e30db0"],
            &[("invalid-batch-size", Code::Calldata), ("invalid-execution", Code::Calldata)],
        ),
        says(
            Rule::ExactExecution(ExactExecution(call.clone())),
            [&TARGET, &AMOUNT, &"0xd0e30db0"],
            &[("invalid-execution", Code::Calldata)],
        ),
        says(
            Rule::OwnershipTransfer(OwnershipTransfer(TARGET)),
            [&TARGET],
            &[TERMS, LENGTH, CONTRACT, METHOD],
        ),
        says(
            Rule::SpecificActionErc20TransferBatch(SpecificActionErc20TransferBatch {
                token_address: TOKEN,
                recipient: SOMEBODY,
                amount: number(AMOUNT),
                target: TARGET,
                value: number(77),
                calldata: vec![7; 5_000].into(),
            }),
            [&TOKEN, &SOMEBODY, &AMOUNT, &TARGET, &77, &"5000 bytes"],
            &[
                TERMS,
                ("delegation-already-used", Code::Calls),
                ("invalid-batch-size", Code::Calldata),
                ("invalid-first-transaction", Code::Calldata),
                ("invalid-second-transaction", Code::Calldata),
            ],
        ),
        says(
            Rule::ValueLte(ValueLte(number(AMOUNT))),
            [&AMOUNT],
            &[TERMS, ("value-too-high", Code::Value)],
        ),
    ]
}

fn bounds_of_sums() -> Vec<Says> {
    let [period_amount, period_duration, start_date] = [AMOUNT, 86_400, START].map(number);
    let [initial_amount, amount_per_second, start_time] = [77, 5, START].map(number);
    let max_amount = number(AMOUNT);
    vec![
        says(
            Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                token_address: TOKEN,
                period_amount,
                period_duration,
                start_date,
            }),
            [&TOKEN, &AMOUNT, &"each 1 day", &DATE],
            &[
                TERMS,
                LENGTH,
                CONTRACT,
                METHOD,
                ("invalid-zero-period-amount", Code::Terms),
                ("invalid-zero-period-duration", Code::Terms),
                ("invalid-zero-start-date", Code::Terms),
                ("transfer-amount-exceeded", Code::Spend),
                ("transfer-not-started", Code::WindowEarly),
            ],
        ),
        says(
            Rule::Erc20Streaming(Erc20Streaming {
                token_address: TOKEN,
                initial_amount,
                max_amount,
                amount_per_second,
                start_time,
            }),
            [&TOKEN, &AMOUNT, &77, &"5 more", &DATE],
            &[TERMS, LENGTH, CONTRACT, METHOD, MOST, ZERO_TIME, ALLOWANCE],
        ),
        says(
            Rule::Erc20TransferAmount(Erc20TransferAmount { token_address: TOKEN, max_amount }),
            [&TOKEN, &AMOUNT],
            &[TERMS, LENGTH, CONTRACT, METHOD, ALLOWANCE],
        ),
        says(
            Rule::MultiTokenPeriod(MultiTokenPeriod(vec![TokenPeriod {
                token: TOKEN,
                period_amount,
                period_duration,
                start_date,
            }])),
            [&TOKEN, &AMOUNT, &"each 1 day", &DATE],
            &[
                TERMS,
                METHOD,
                ("invalid-call-data-length", Code::Calldata),
                ("invalid-token-index", Code::Calldata),
                ("invalid-value-in-erc20-transfer", Code::Value),
                ("invalid-zero-value-in-native-transfer", Code::Value),
                ("invalid-zero-period-amount", Code::Terms),
                ("invalid-zero-period-duration", Code::Terms),
                ("invalid-zero-start-date", Code::Terms),
                ("token-mismatch", Code::Target),
                ("transfer-amount-exceeded", Code::Spend),
                ("transfer-not-started", Code::WindowEarly),
            ],
        ),
        says(
            Rule::NativeTokenPeriodTransfer(NativeTokenPeriodTransfer {
                period_amount,
                period_duration,
                start_date,
            }),
            [&AMOUNT, &"each 1 day", &DATE],
            &[
                TERMS,
                ("invalid-zero-period-amount", Code::Terms),
                ("invalid-zero-period-duration", Code::Terms),
                ("invalid-zero-start-date", Code::Terms),
                ("transfer-amount-exceeded", Code::Spend),
                ("transfer-not-started", Code::WindowEarly),
            ],
        ),
        says(
            Rule::NativeTokenStreaming(NativeTokenStreaming {
                initial_amount,
                max_amount,
                amount_per_second,
                start_time,
            }),
            [&AMOUNT, &77, &"5 more", &DATE],
            &[TERMS, MOST, ZERO_TIME, ALLOWANCE],
        ),
        says(
            Rule::NativeTokenTransferAmount(NativeTokenTransferAmount(max_amount)),
            [&AMOUNT],
            &[ALLOWANCE],
        ),
    ]
}

fn caveat(rule: &Rule) -> Caveat {
    Environment::stock().caveat(rule).unwrap().unwrap()
}

fn name(enforcer: Address) -> &'static str {
    enforcers::STOCK.iter().find(|(_, at)| *at == enforcer).unwrap().0
}

/// X4: typed, by its enforcer, with the numbers that were signed; and from nobody who was not asked.
#[test]
fn every_word_of_every_stock_enforcer_has_its_code_and_the_bound_that_was_signed() {
    for Says { rule, shows, words } in all() {
        let bound = caveat(&rule);
        let (enforcer, name) = (bound.enforcer, name(bound.enforcer));
        let other = if enforcer == enforcers::ID { enforcers::NONCE } else { enforcers::ID };
        let context = with(vec![bound]);
        for (detail, code) in words {
            let revert = said(&format!("{name}:{detail}"));

            let denial = explain_revert(&revert, &context);

            assert_eq!(denial.code, *code, "{name}: {denial:?}");
            assert_eq!(denial.enforcer, Some(enforcer), "{name}: {denial:?}");
            assert_eq!(denial.enforcer_name.as_deref(), Some(name));
            assert!(denial.reason.ends_with(&format!("({name}:{detail})")), "{denial}");
            for number in &shows {
                assert!(denial.reason.contains(number), "{number} is not in: {denial}");
            }
            assert!(denial.reason.chars().count() < 700, "{denial}");
            for posed in [under(&[]), under(&[other])] {
                let posed = explain_revert(&revert, &posed);
                assert_eq!((posed.code, posed.enforcer), (Code::Reverted, None), "{posed:?}");
            }
        }
    }
}

/// What says something about the world, and nothing about the call or the grant.
const OTHERS: [(&str, &str); 3] = [
    ("ApprovalRevocationEnforcer", "no-approval-to-revoke"),
    ("LogicalOrWrapperEnforcer", "only-delegation-manager"),
    ("NativeTokenPaymentEnforcer", "only-delegation-manager"),
];

/// A framework that learns a new word is met here, and not by an owner.
#[test]
fn the_words_are_those_that_the_code_of_each_stock_enforcer_holds() {
    let table = all();
    assert_eq!(table.len(), enforcers::STOCK.len());
    for Says { rule, words, .. } in table {
        let name = name(caveat(&rule).enforcer);
        let told: BTreeSet<String> =
            words.iter().map(|(detail, _)| format!("{name}:{detail}")).collect();

        assert_eq!(strings(name, &code(name)), told, "{name}");
        for (detail, code) in words {
            let other = OTHERS.contains(&(name, detail));
            assert_eq!(*code == Code::OtherCaveat, other, "{name}:{detail}");
        }
    }
}

/// Code of an enforcer as it stands on a chain, from MetaMask's package.
fn code(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let package = "node_modules/@metamask/delegation-abis/dist/bytecode";
    let file = root.join(package).join(format!("{name}.mjs"));
    let text = fs::read_to_string(&file).unwrap();
    let whole = hex::decode(text.split('"').find(|part| part.starts_with("0x")).unwrap()).unwrap();
    // RETURN ends what only creates it.
    let start = whole.windows(2).position(|two| two == [0xf3, 0xfe]).unwrap();
    whole[start + 2..].to_vec()
}

/// Strings that begin with the enforcer's name. Code writes them word by word into memory: a word is pushed whole,
/// pushed and shifted to the left, or copied from the end of the code.
fn strings(name: &str, code: &[u8]) -> BTreeSet<String> {
    const SHL: u8 = 0x1b;
    const CODECOPY: u8 = 0x39;
    const JUMPDEST: u8 = 0x5b;
    const PUSH1: u8 = 0x60;
    const PUSH2: u8 = 0x61;
    const PUSH32: u8 = 0x7f;
    const REVERT: u8 = 0xfd;
    let mut operations: Vec<(u8, &[u8])> = Vec::new();
    let mut rest = code;
    while let [operation, after @ ..] = rest {
        let length = match *operation {
            push @ PUSH1..=PUSH32 => usize::from(push - PUSH1) + 1,
            _ => 0,
        };
        let (pushed, after) = after.split_at(length.min(after.len()));
        operations.push((*operation, pushed));
        rest = after;
    }
    let head = format!("{name}:");
    let head = head.get(..32).unwrap_or(&head);
    let (mut found, mut open) = (BTreeSet::new(), String::new());
    for (at, (operation, pushed)) in operations.iter().enumerate() {
        let before = &operations[at.saturating_sub(3)..at];
        let word = match (*operation, before) {
            (PUSH32, _) => pushed.to_vec(),
            (SHL, [.., (_, value), (PUSH1, [bits])]) if !value.is_empty() => {
                let value = U256::from_be_slice(value) << usize::from(*bits);
                value.to_be_bytes::<32>().to_vec()
            }
            (CODECOPY, _) => {
                let offset = before.iter().rev().find(|(push, _)| *push == PUSH2);
                let offset = offset.map_or(usize::MAX, |(_, two)| {
                    two.iter().fold(0, |offset, byte| offset << 8 | usize::from(*byte))
                });
                code.iter().skip(offset).take(32).copied().collect()
            }
            (JUMPDEST | REVERT, _) => {
                found.insert(std::mem::take(&mut open));
                continue;
            }
            _ => continue,
        };
        let end = word.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
        let letters = word[..end].iter().all(u8::is_ascii_graphic);
        let Ok(text) = std::str::from_utf8(&word[..end]) else { continue };
        if letters && text.starts_with(head) {
            found.insert(std::mem::take(&mut open));
        }
        if letters && (text.starts_with(head) || !open.is_empty()) {
            open.push_str(text);
        }
    }
    found.remove("");
    found
}

/// The words do not say which it was.
#[test]
fn of_two_bounds_of_one_stock_enforcer_both_are_shown() {
    let limit = |amount: u64| {
        let max_amount = number(amount);
        caveat(&Rule::Erc20TransferAmount(Erc20TransferAmount { token_address: TOKEN, max_amount }))
    };
    let root = with(vec![limit(1_001)]).leaf().clone();
    let leaf = Delegation {
        delegator: root.delegate,
        authority: root.hash().0,
        ..with(vec![limit(2_002)]).leaf().clone()
    };
    let links = PermissionContext::new(vec![leaf, root]);
    for context in [with(vec![limit(1_001), limit(2_002)]), links.unwrap()] {
        let words = said("ERC20TransferAmountEnforcer:allowance-exceeded");

        let denial = explain_revert(&words, &context);

        let both = denial.reason.contains("1001 base") && denial.reason.contains("2002 base");
        assert!(both, "{denial}");
    }
}

/// A word that nobody knew when this was written.
#[test]
fn a_new_word_of_a_stock_enforcer_is_still_its_own_and_shows_the_bound() {
    let context = with(vec![caveat(&Rule::Nonce(Nonce(number(AMOUNT))))]);

    let denial = explain_revert(&said("NonceEnforcer:something-new"), &context);

    assert_eq!(denial.code, Code::OtherCaveat);
    assert_eq!(denial.enforcer, Some(enforcers::NONCE));
    assert!(denial.reason.contains("4711") && denial.reason.contains("something-new"), "{denial}");
}

/// Terms that do not read are shown as what is wrong with them, and as they are where a contract may read them.
#[test]
fn terms_that_do_not_read_are_shown_too() {
    for (enforcer, terms, words, shows) in [
        (enforcers::NONCE, vec![1; 31], "NonceEnforcer:invalid-terms-length", "31 bytes"),
        (
            enforcers::ERC20_PERIOD_TRANSFER,
            vec![0; 116],
            "ERC20PeriodTransferEnforcer:invalid-zero-start-date",
            "period amount: none",
        ),
        (
            enforcers::EXACT_EXECUTION_BATCH,
            vec![0xab; 5_000],
            "ExactExecutionBatchEnforcer:invalid-execution",
            "0xabab",
        ),
    ] {
        let context = with(vec![Caveat::new(enforcer, terms)]);
        let denial = explain_revert(&said(words), &context);
        assert!(denial.reason.contains(shows), "{denial}");
        assert!(denial.reason.chars().count() < 1_500, "{denial}");
    }
}

/// Of a list only the entry that the redeemer named can have refused.
#[test]
fn of_a_list_of_periods_the_named_one_is_shown() {
    let entry = |token, amount: u64| TokenPeriod {
        token,
        period_amount: number(amount),
        period_duration: number(60),
        start_date: number(START),
    };
    let list = MultiTokenPeriod(vec![entry(TOKEN, 1_001), entry(SOMEBODY, 2_002)]);
    let list = caveat(&Rule::MultiTokenPeriod(list));
    let shown = |args: Vec<u8>| {
        let named = Caveat { args: args.into(), ..list.clone() };
        let words = said("MultiTokenPeriodEnforcer:transfer-amount-exceeded");
        let reason = explain_revert(&words, &with(vec![named])).reason;
        (reason.contains("1001 "), reason.contains("2002 "))
    };

    assert_eq!(shown(number(0).abi_encode()), (true, false));
    assert_eq!(shown(number(1).abi_encode()), (false, true));
    assert_eq!(shown(number(2).abi_encode()), (true, true));
    assert_eq!(shown(U256::MAX.abi_encode()), (true, true));
    assert_eq!(shown(vec![]), (true, true));
}

/// The wrapper asks the caveats of its groups, and what they say comes through.
#[test]
fn a_caveat_within_a_group_speaks_and_one_that_is_nowhere_does_not() {
    let words = said("NonceEnforcer:invalid-nonce");
    let wrapped = |inner: Caveat| {
        caveat(&Rule::LogicalOrWrapper(LogicalOrWrapper(vec![vec![], vec![inner]])))
    };
    let nonce = caveat(&Rule::Nonce(Nonce(number(AMOUNT))));
    let other = caveat(&Rule::Id(Id(number(1))));

    for context in [wrapped(nonce.clone()), wrapped(wrapped(nonce))] {
        let denial = explain_revert(&words, &with(vec![context]));
        assert_eq!((denial.code, denial.enforcer), (Code::Revoked, Some(enforcers::NONCE)));
        assert!(denial.reason.contains("4711"), "{denial}");
    }
    assert_eq!(explain_revert(&words, &with(vec![wrapped(other)])).code, Code::Reverted);
    let phase = GolemPhase_NotAllowed { phase: 2, class: 1 }.abi_encode().into();
    let ours = wrapped(Caveat::new(golem_charter_enforcer(), vec![]));
    assert_eq!(explain_revert(&phase, &with(vec![ours])).code, Code::Phase);
}

/// The two that make calls of their own have errors that are no strings.
#[test]
fn errors_of_stock_enforcers_that_are_no_strings_are_theirs() {
    let error = |text: &str, of: Option<Address>| -> Bytes {
        let selector = &alloy::primitives::keccak256(text)[..4];
        [selector, &of.map(|of| of.abi_encode()).unwrap_or_default()].concat().into()
    };
    let inner = Caveat::new(TARGET, vec![]);
    let either = caveat(&Rule::LogicalOrWrapper(LogicalOrWrapper(vec![vec![inner]])));
    let deployed = caveat(&Rule::Deployed(Deployed {
        contract_address: TARGET,
        salt: B256::ZERO,
        bytecode: bytes!("6000"),
    }));
    for (data, bound, code) in [
        (error("DeployedEmptyContract(address)", Some(TARGET)), &deployed, Code::Terms),
        (error("Create2FailedDeployment()", None), &deployed, Code::OtherCaveat),
        (error("AddressEmptyCode(address)", Some(TARGET)), &either, Code::OtherCaveat),
    ] {
        let denial = explain_revert(&data, &with(vec![bound.clone()]));
        assert_eq!((denial.code, denial.enforcer), (code, Some(bound.enforcer)), "{denial:?}");
        assert!(denial.reason.contains(&TARGET.to_string()), "{denial}");
        let posed = explain_revert(&data, &under(&[enforcers::ID]));
        assert_eq!(posed.code, Code::Reverted, "{posed:?}");
    }
    let stranger = error("AddressEmptyCode(address)", Some(SOMEBODY));
    assert_eq!(explain_revert(&stranger, &with(vec![either])).code, Code::Reverted);
}

/// Whoever reads the answer finds the key, also where no enforcer refused.
#[test]
fn a_refusal_in_json_always_has_the_enforcer() {
    let of = |context| serde_json::to_value(explain_revert(&said("NonceEnforcer:x"), &context));

    let by_nobody = of(under(&[])).unwrap();
    let by_nonce = of(under(&[enforcers::NONCE])).unwrap();

    assert_eq!(by_nobody.get("enforcer"), Some(&serde_json::Value::Null), "{by_nobody}");
    assert_eq!(by_nonce["enforcer"], serde_json::json!(enforcers::NONCE));
}
