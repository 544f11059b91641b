//! The decision matrix: what the cage says in every situation, in words, for people who do not read code.
//!
//! `BLESS_MATRIX=1` rewrites `decision-matrix.txt`.

use crate::fixtures::{
    ACCOUNT, CONSTITUTION, GOLEM, HOME, KEY, MAX_AGE, MEME, NOW, ROUTER, Router, STRANGER, Token,
    USDC, WETH, approve, buy, cage, call, collect, dollars, example, facts, intent, mint, pay,
    policy, sell, swap, swap_data, transfer, usdc,
};
use alloy_primitives::{B256, U256};
use alloy_sol_types::SolCall as _;
use golem_delegation::terms::Class;
use golem_safety::{
    Boot, Cage, Call, Denial, Facts, MicroDollars, Policy, Published, Verdict, refuse_typed_data,
};
use std::{env, fmt::Write as _, fs, path::Path};

const FILE: &str = "decision-matrix.txt";

fn code(denial: &Denial) -> String {
    serde_json::to_value(denial.code).unwrap().as_str().unwrap().to_owned()
}

fn told(verdict: Verdict) -> String {
    match verdict {
        Verdict::Permitted(permit) => format!("yes  counts {}", permit.most()),
        Verdict::Refused(denials) => {
            let mut codes: Vec<_> = denials.iter().map(code).collect();
            codes.dedup();
            format!("NO   {}", codes.join(", "))
        }
    }
}

/// Where a Golem stands, in words; each of its actions is of $50.
fn phases() -> Vec<(&'static str, Policy, Facts)> {
    let near = |session: u128, day: u128| Facts {
        spent_in_session: MicroDollars::new(session),
        spent_in_day: MicroDollars::new(day),
        ..facts()
    };
    let mut stale = facts();
    for round in stale.observed.rounds.values_mut() {
        round.updated_at = U256::from(NOW - u64::from(MAX_AGE) - 1);
    }
    let mut blind = facts();
    blind.observed.rounds.clear();
    let fifty = Policy { spend_per_transaction: 50_000_000, ..policy() };
    let less = Policy { spend_per_transaction: 49_999_999, ..policy() };
    let mut laden = facts();
    laden.holdings = [(USDC, dollars(549)), (WETH, dollars(451))].into();
    vec![
        ("well within every limit", policy(), facts()),
        ("exactly at every spend limit", fifty, near(950_000_000, 450_000_000)),
        ("a millionth over the transaction's limit", less, facts()),
        ("a millionth over the session's limit", policy(), near(950_000_001, 0)),
        ("a millionth over the day's limit", policy(), near(0, 450_000_001)),
        ("ether would be 50.1 % of all", policy(), laden),
        ("the policy names no asset", Policy { assets: vec![], ..policy() }, facts()),
        ("prices are a second too old", policy(), stale),
        ("there are no prices", policy(), blind.clone()),
        (
            "fallen below the drawdown floor",
            policy(),
            Facts { high_water: dollars(2_000), ..facts() },
        ),
        (
            "dying, limits used up",
            policy(),
            Facts {
                is_settling: true,
                spent_in_session: dollars(1_000),
                spent_in_day: dollars(500),
                ..facts()
            },
        ),
        (
            "all limits zero",
            Policy {
                concentration_bps: 0,
                drawdown_bps: 0,
                spend_per_transaction: 0,
                spend_per_session: 0,
                spend_per_day: 0,
                ..policy()
            },
            facts(),
        ),
    ]
}

const fn words(class: Class) -> &'static str {
    match class {
        Class::Swap => "buy ether for dollars",
        Class::AddLiquidity => "open a liquidity position",
        Class::RemoveLiquidity => "take liquidity out of a position",
        Class::Collect => "collect a position's fees",
        Class::BurnPosition => "end an empty position",
        Class::Deposit => "deposit into the vault",
        Class::Withdraw => "withdraw from the vault",
        Class::Approve => "let a listed router pull dollars",
        Class::Disapprove => "take an allowance back",
        Class::Transfer => "send dollars home to the owner",
        Class::Wrap => "wrap ether",
        Class::Unwrap => "unwrap ether",
        Class::GasTopUp => "pay gas money to the agent's key",
        Class::SpawnReplicant => "make a child",
        Class::Settle => "settle: the last act",
        Class::Publish => "report to the registry",
        Class::Sell => "sell knowledge",
        _ => "something new",
    }
}

fn oddities() -> Vec<(&'static str, Vec<Call>)> {
    let inside = vec![
        swap_data(USDC, usdc(1), WETH, U256::ZERO).into(),
        swap_data(USDC, usdc(1), MEME, U256::ZERO).into(),
    ];
    let mut longer = buy(1);
    longer.data = [&longer.data[..], &[0]].concat().into();
    let hidden = Token::increaseAllowanceCall { spender: ROUTER, added: usdc(1) }.abi_encode();
    vec![
        ("no call at all", vec![]),
        ("1000 calls", vec![approve(ROUTER, usdc(1)); 1_000]),
        ("a call to the account itself", vec![pay(ACCOUNT, U256::ZERO)]),
        ("a contract nobody listed", vec![pay(STRANGER, U256::ZERO)]),
        ("a function nobody knows", vec![call(USDC, vec![1, 2, 3, 4])]),
        ("a byte too many", vec![longer]),
        ("an allowance that no rule would see", vec![call(USDC, hidden)]),
        ("an allowance for a stranger", vec![approve(STRANGER, usdc(1))]),
        ("dollars to a stranger", vec![transfer(STRANGER, usdc(1))]),
        ("dollars to the agent's own key", vec![transfer(KEY, usdc(1))]),
        ("fees of a position to a stranger", vec![collect(7, STRANGER)]),
        ("fees of somebody else's position", vec![collect(8, ACCOUNT)]),
        ("an asset off the list, bought", vec![swap(USDC, usdc(1), MEME)]),
        ("an asset off the list, sold for dollars", vec![swap(MEME, U256::from(1), USDC)]),
        ("the same with an allowance for it", vec![allow_meme(), swap(MEME, U256::from(1), USDC)]),
        ("an allowance for it alone", vec![allow_meme()]),
        ("an asset off the list, sold for ether", vec![swap(MEME, U256::from(1), WETH)]),
        (
            "an asset off the list, bought in a multicall",
            vec![call(ROUTER, Router::multicallCall { data: inside }.abi_encode())],
        ),
        ("three purchases that together are over the limit", vec![buy(40), buy(40), buy(21)]),
        ("a good call and a bad one", vec![transfer(HOME, usdc(1)), transfer(STRANGER, usdc(1))]),
        ("ether sold into what a Golem settles in", vec![sell(50)]),
        ("more than any token has", vec![swap(USDC, U256::MAX, WETH)]),
        ("liquidity of $101", vec![mint(51, 50)]),
    ]
}

fn allow_meme() -> Call {
    call(MEME, Token::approveCall { spender: ROUTER, amount: U256::from(1) }.abi_encode())
}

fn boots() -> Vec<(&'static str, Boot)> {
    let said = |policy: Policy| {
        let hash = policy.hash(GOLEM, 1);
        Some(Published::new(GOLEM, policy, 1, hash))
    };
    let wrong = Policy { concentration_bps: 10_001, ..policy() };
    vec![
        (
            "the owner's constitution, byte for byte",
            Cage::boot(GOLEM, CONSTITUTION, said(policy())),
        ),
        ("one byte of it changed", Cage::boot(GOLEM, &CONSTITUTION[1..], said(policy()))),
        ("no constitution", Cage::boot(GOLEM, b"", said(policy()))),
        ("no policy published", Cage::boot(GOLEM, CONSTITUTION, None)),
        (
            "a policy with a share of more than the whole",
            Cage::boot(GOLEM, CONSTITUTION, said(wrong)),
        ),
        ("another Golem's policy", Cage::boot(B256::ZERO, CONSTITUTION, said(policy()))),
    ]
}

fn matrix() -> String {
    let mut out = String::from(
        "What the cage decides. Made by the tests of golem-safety; a change here is a change of what a Golem may do.\n\
         The Golem holds $600 and ether for $400; its limits are $100 a transaction, $500 a day, $1000 a session, half of all\n\
         in one asset, and a fifth below its highest. Every action is of $50 unless it says otherwise.\n",
    );
    let mut actions: Vec<_> =
        Class::ALL.into_iter().map(|class| (words(class), class.name(), example(class))).collect();
    actions.insert(1, ("sell ether for dollars", "swap", sell(50)));
    for (what, class, call) in actions {
        writeln!(out, "\n{what} ({class})").unwrap();
        for (phase, policy, facts) in phases() {
            let verdict = cage(policy).judge(&intent([call.clone()]), &facts);
            writeln!(out, "  {phase:<44}{}", told(verdict)).unwrap();
        }
    }
    out.push_str("\nwell within every limit, but\n");
    for (what, calls) in oddities() {
        let verdict = cage(policy()).judge(&intent(calls), &facts());
        writeln!(out, "  {what:<50}{}", told(verdict)).unwrap();
    }
    out.push_str("\nat boot\n");
    for (what, boot) in boots() {
        let answer = match boot {
            Boot::Caged(_) => "yes".to_owned(),
            Boot::Refused(denial) => format!("NO   {}", code(&denial)),
        };
        writeln!(out, "  {what:<50}{answer}").unwrap();
    }
    out.push_str("\nasked to sign a message\n");
    for name in crate::signing::MESSAGES {
        let denial = refuse_typed_data(crate::signing::message(name).as_bytes());
        let reason = denial.reason.split([';', ',']).next().unwrap();
        writeln!(out, "  {name:<32}NO   {}  {reason}", code(&denial)).unwrap();
    }
    out
}

#[test]
fn the_committed_decision_matrix_is_what_the_cage_decides() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let made = matrix();
    if env::var_os("BLESS_MATRIX").is_some() {
        fs::write(&path, &made).unwrap();
    }

    assert!(
        fs::read_to_string(&path).unwrap_or_default() == made,
        "{FILE} is not what the cage decides; if it should be, run with BLESS_MATRIX=1 and commit it"
    );
}
