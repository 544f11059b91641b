use super::{Action, Counts, Dice, HARNESS, RulesHarness, is_wordless, stage};
use alloy::{
    primitives::{Address, Bytes, Selector, U256, hex},
    sol,
    sol_types::{SolCall as _, SolError as _, SolValue as _},
};
use anyhow::Result;
use bardo_testkit::root;
use golem_delegation::terms::{ListedTarget, ListedToken, Listing, Role};
use golem_safety::{ActionRefusal, decode_call, hidden_call, is_multicall, read_call};
use serde::Deserialize;
use std::fs;

sol! {
    error Actions_UnknownTarget(address target);
    error Actions_UnknownCall(address target, bytes4 selector);
    error Actions_NoSelector(address target, uint256 length);
    error Actions_NotCanonical(address target, bytes4 selector);
    error Actions_UnexpectedValue(address target, uint256 value);
    error Actions_Sentinel(address target, uint256 value);
    error Actions_NotAPayment(address target, uint256 length);
    error Actions_PriceLimit(address target, uint256 limit);
    error Actions_Path(uint256 length);
    error Actions_Multicall(address target, uint256 length);
    error Actions_HiddenApproval(address token, bytes4 selector);
    error HiddenCalls_Refused(address target, bytes4 selector);
}

const CALLS: usize = 40_000;
const CLASSES: [&str; 17] = [
    "swap",
    "addLiquidity",
    "removeLiquidity",
    "collect",
    "burnPosition",
    "deposit",
    "withdraw",
    "approve",
    "disapprove",
    "transfer",
    "wrap",
    "unwrap",
    "gasTopUp",
    "spawnReplicant",
    "settle",
    "publish",
    "sell",
];
const REFUSALS: [&str; 12] = [
    "UnknownTarget",
    "UnknownCall",
    "NoSelector",
    "NotCanonical",
    "Malformed",
    "UnexpectedValue",
    "Sentinel",
    "NotAPayment",
    "PriceLimit",
    "Path",
    "Multicall",
    "HiddenApproval",
];

#[derive(Deserialize)]
struct File {
    vectors: Vec<Seed>,
}

#[derive(Clone, Deserialize)]
struct Seed {
    role: String,
    target: Address,
    value: String,
    data: Bytes,
}

#[derive(Clone, Debug)]
struct Drawn {
    role: Option<Role>,
    target: Address,
    value: U256,
    data: Vec<u8>,
}

fn seeds() -> Result<Vec<Drawn>> {
    let file = fs::read_to_string(root().join("testdata/vectors/actions.json"))?;
    let role =
        |name: &str| Role::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(name));
    let vectors = serde_json::from_str::<File>(&file)?.vectors;
    vectors
        .into_iter()
        .map(|Seed { role: name, target, value, data }| {
            Ok(Drawn { role: role(&name), target, value: value.parse()?, data: data.to_vec() })
        })
        .collect()
}

/// Words on which decoders disagree, if they do.
fn odd_word(dice: &mut Dice) -> U256 {
    let bits = dice.of(&[0, 1, 7, 8, 15, 16, 23, 24, 63, 64, 127, 128, 159, 160, 161, 255]);
    let edge = U256::ONE << bits;
    match dice.below(9) {
        0 => U256::from(dice.below(5)),
        1 => edge,
        2 => edge - U256::ONE,
        3 => !edge,
        4 => !(edge - U256::ONE),
        5 => U256::MAX,
        6 => U256::from(dice.below(12) * 32),
        7 => U256::from(dice.next()),
        _ => dice.word(),
    }
}

fn mutate(dice: &mut Dice, call: &mut Drawn, seeds: &[Drawn]) {
    let words = call.data.len().saturating_sub(4) / 32;
    match dice.below(14) {
        0..=3 if words > 0 => {
            let at = 4 + 32 * dice.below(words);
            let word = odd_word(dice);
            call.data[at..at + 32].copy_from_slice(&word.to_be_bytes::<32>());
        }
        4 | 5 if words > 0 => {
            // One byte more or less in an offset, a length or an amount.
            let at = 4 + 32 * dice.below(words) + 31;
            let by = dice.of(&[1u8, 31, 32, 255, 224]);
            call.data[at] = call.data[at].wrapping_add(by);
        }
        6 if !call.data.is_empty() => {
            let at = dice.below(call.data.len());
            call.data[at] ^= 1 << dice.below(8);
        }
        7 => {
            let keep = dice.below(call.data.len() + 1);
            call.data.truncate(keep);
        }
        8 => {
            let more = dice.of(&[1usize, 4, 31, 32, 33, 64]);
            let byte = dice.of(&[0u8, 0, 1, 0xff]);
            call.data.extend(vec![byte; more]);
        }
        9 => call.role = dice.of(&Role::ALL.map(Some)),
        10 => call.value = dice.of(&[U256::ZERO, U256::ONE, U256::MAX]),
        11 => {
            let other = &seeds[dice.below(seeds.len())];
            let head = call.data.len().min(4).min(other.data.len());
            call.data[..head].copy_from_slice(&other.data[..head]);
        }
        12 if words > 1 => {
            // A word of another place.
            let (from, to) = (4 + 32 * dice.below(words), 4 + 32 * dice.below(words));
            call.data.copy_within(from..from + 32, to);
        }
        _ => wrap(dice, call, seeds),
    }
}

/// Puts the call, and perhaps others, into a multicall of any of the three forms.
fn wrap(dice: &mut Dice, call: &mut Drawn, seeds: &[Drawn]) {
    let mut inner = vec![Bytes::from(call.data.clone())];
    let is_like = |seed: &&Drawn| seed.role == call.role && !seed.data.starts_with(&call.data);
    let same_role: Vec<_> = seeds.iter().filter(is_like).collect();
    for _ in 0..dice.of(&[0usize, 0, 1, 2, 7, 8]) {
        let other = if same_role.is_empty() || dice.one_in(2) {
            &*call
        } else {
            same_role[dice.below(same_role.len())]
        };
        inner.push(other.data.clone().into());
    }
    if dice.one_in(30) {
        inner.clear();
    }
    call.data = match dice.below(3) {
        0 => [&hex!("ac9650d8")[..], &(inner,).abi_encode_params()].concat(),
        1 => [&hex!("5ae401dc")[..], &(dice.word(), inner).abi_encode_params()].concat(),
        _ => [&hex!("1f0464d1")[..], &(dice.word(), inner).abi_encode_params()].concat(),
    };
}

/// What the contract reverts with where this is the refusal; none for a revert without a word.
fn revert_of(refusal: &ActionRefusal) -> Option<Vec<u8>> {
    let number = |length: usize| U256::from(length);
    Some(match *refusal {
        ActionRefusal::UnknownTarget { target } => Actions_UnknownTarget { target }.abi_encode(),
        ActionRefusal::UnknownCall { target, selector } => {
            Actions_UnknownCall { target, selector }.abi_encode()
        }
        ActionRefusal::NoSelector { target, length } => {
            Actions_NoSelector { target, length: number(length) }.abi_encode()
        }
        ActionRefusal::NotCanonical { target, selector } => {
            Actions_NotCanonical { target, selector }.abi_encode()
        }
        ActionRefusal::UnexpectedValue { target, value } => {
            Actions_UnexpectedValue { target, value }.abi_encode()
        }
        ActionRefusal::Sentinel { target, value } => {
            Actions_Sentinel { target, value }.abi_encode()
        }
        ActionRefusal::NotAPayment { target, length } => {
            Actions_NotAPayment { target, length: number(length) }.abi_encode()
        }
        ActionRefusal::PriceLimit { target, limit } => {
            Actions_PriceLimit { target, limit }.abi_encode()
        }
        ActionRefusal::Path { length } => Actions_Path { length: number(length) }.abi_encode(),
        ActionRefusal::Multicall { target, length } => {
            Actions_Multicall { target, length: number(length) }.abi_encode()
        }
        ActionRefusal::HiddenApproval { token, selector } => {
            Actions_HiddenApproval { token, selector }.abi_encode()
        }
        _ => return None,
    })
}

/// The contract's form of an action.
pub(super) const fn on_chain(action: &golem_safety::Action) -> Action {
    Action {
        class: action.class as u8,
        target: action.target,
        tokenOut: action.token_out,
        amountOut: action.amount_out,
        tokenOut2: action.token_out2,
        amountOut2: action.amount_out2,
        tokenIn: action.token_in,
        minimumIn: action.minimum_in,
        minimum0: action.minimum0,
        minimum1: action.minimum1,
        recipient: action.recipient,
        spender: action.spender,
        source: action.source,
        positionId: action.position_id,
        fee: action.fee,
        golemId: action.golem_id,
        entryId: action.entry_id,
    }
}

/// Holds one answer of the contract against the twin's, and counts it.
#[track_caller]
fn compare(
    counts: &mut Counts,
    call: &Drawn,
    ours: Result<Vec<golem_safety::Action>, ActionRefusal>,
    theirs: std::result::Result<Bytes, Bytes>,
) {
    match (ours, theirs) {
        (Ok(actions), Ok(answer)) => {
            let theirs = RulesHarness::decodeCall::abi_decode_returns_validate(&answer).unwrap();
            let ours: Vec<_> = actions.iter().map(on_chain).collect();
            assert_eq!(ours, theirs, "{call:?}");
            for action in &actions {
                counts.add(action.class.name());
            }
            counts.add("(read)");
            if actions.len() > 1 {
                counts.add("(read, of several effects)");
            }
        }
        (Err(refusal), Err(revert)) => {
            match revert_of(&refusal) {
                Some(expected) => assert_eq!(revert, expected, "{refusal} of {call:?}"),
                None => assert!(is_wordless(&revert), "{refusal}, {revert} of {call:?}"),
            }
            let name = format!("{refusal:?}");
            counts.add(name.split(' ').next().unwrap());
            counts.add("(refused)");
        }
        (ours, theirs) => panic!("we say {ours:?}, the contract {theirs:?} of {call:?}"),
    }
    counts.add("(all)");
}

/// ATK-15, ATK-16, ATK-18, ATK-29: what the checker reads is what the contract reads, to the field and to the refusal.
#[test]
fn mutated_calls_are_read_alike() -> Result<()> {
    let mut course = stage()?;
    let seeds = seeds()?;
    let mut dice = Dice(0xac71);
    let mut counts = Counts::default();
    let is_read =
        |seed: &&Drawn| decode_call(seed.role, seed.target, seed.value, &seed.data).is_ok();
    let good: Vec<_> = seeds.iter().filter(is_read).cloned().collect();
    for round in 0..CALLS {
        // A mutation of what is refused anyway shows less.
        let from = if dice.one_in(3) { &seeds } else { &good };
        let mut call = from[round % from.len()].clone();
        for _ in 0..dice.of(&[0usize, 1, 1, 1, 2, 2, 3]) {
            mutate(&mut dice, &mut call, &seeds);
        }
        let Drawn { role, target, value, data } = &call;

        let theirs = course.answer(
            HARNESS,
            RulesHarness::decodeCall {
                role: role.map_or(0, |role| role as u8),
                target: *target,
                value: *value,
                data: data.clone().into(),
            }
            .abi_encode(),
        );

        compare(&mut counts, &call, decode_call(*role, *target, *value, data), theirs);
    }
    counts.show();
    counts.require(20_000, &["(all)"]);
    counts.require(3_000, &["(read)", "(refused)"]);
    counts.require(300, &["(read, of several effects)"]);
    counts.require(40, &CLASSES);
    counts.require(40, &REFUSALS);
    Ok(())
}

/// The same through a listing, in which an address may stand more than once.
#[test]
fn roles_are_found_alike() -> Result<()> {
    let mut course = stage()?;
    let seeds = seeds()?;
    let mut dice = Dice(0x115);
    let mut counts = Counts::default();
    for round in 0..9_000 {
        let call = seeds[round % seeds.len()].clone();
        let others = [call.target, Address::repeat_byte(1), Address::ZERO];
        let tokens = (0..dice.below(4))
            .map(|_| ListedToken {
                token: dice.of(&others),
                role: dice.of(&[None, call.role, Some(Role::Token)]),
                feed: Address::repeat_byte(2),
                token_decimals: 18,
                feed_decimals: 8,
                max_age: 60,
            })
            .collect();
        let targets = (0..dice.below(3))
            .map(|_| ListedTarget {
                target: dice.of(&others),
                role: dice.of(&[call.role.unwrap_or(Role::Vault), Role::Market]),
            })
            .collect();
        let listing = Listing { tokens, targets, ..Listing::default() };
        let Drawn { target, value, data, .. } = &call;

        let theirs = course.answer(
            HARNESS,
            RulesHarness::readCall {
                listing: listing.encode()?.into(),
                target: *target,
                value: *value,
                data: data.clone().into(),
            }
            .abi_encode(),
        );

        compare(&mut counts, &call, read_call(&listing, *target, *value, data), theirs);
    }
    counts.show();
    counts.require(200, &["(read)", "(refused)", "UnknownTarget"]);
    Ok(())
}

#[test]
fn carriers_are_known_alike() -> Result<()> {
    let mut course = stage()?;
    let known = [
        hex!("5c1c6dcd"),
        hex!("e9ae5c53"),
        hex!("cef6d209"),
        hex!("4f1ef286"),
        hex!("a24c8f32"),
        hex!("b3a2af13"),
        hex!("ac9650d8"),
        hex!("a9059cbb"),
        hex!("00000000"),
    ];
    let parties = [1, 2, 3].map(Address::repeat_byte);
    let mut dice = Dice(7);
    let mut counts = Counts::default();
    for _ in 0..2_000 {
        let mut data = dice.of(&known).to_vec();
        data.extend([0; 8]);
        data.truncate(dice.below(data.len() + 1));
        if dice.one_in(3) && !data.is_empty() {
            let at = dice.below(data.len().min(4));
            data[at] ^= 1 << dice.below(8);
        }
        let [target, manager, delegator] = [0; 3].map(|_| dice.of(&parties));

        let theirs = course.answer(
            HARNESS,
            RulesHarness::requireNoneCall { target, data: data.clone().into(), manager, delegator }
                .abi_encode(),
        );

        let ours = hidden_call(target, &data, manager, delegator);
        let revert = ours.map(|selector| HiddenCalls_Refused { target, selector }.abi_encode());
        assert_eq!(theirs.err().map(|revert| revert.to_vec()), revert, "{data:02x?}");
        counts.add(if ours.is_some() { "refused" } else { "passed" });
        assert!(!is_multicall(Selector::ZERO));
    }
    counts.require(300, &["refused", "passed"]);
    Ok(())
}
