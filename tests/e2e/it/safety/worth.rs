use super::{
    Counts, Dice, HARNESS, NOW, RulesHarness, Told, Worth, actions::on_chain, built, is_panic,
    stage,
};
use alloy::{
    primitives::{
        Address, Bytes, I256, U256,
        aliases::{U24, U80, U160},
    },
    sol,
    sol_types::{SolCall, SolError as _, SolValue as _},
};
use anyhow::Result;
use bardo_testkit::Course;
use golem_delegation::terms::{Class, ListedToken, Listing};
use golem_safety::{
    Action, Appraisal, Observed, PoolKey, PositionView, Round, Uptime, ValuationRefusal, VaultView,
};

sol! {
    error Valuation_Answer(address feed, int256 answer);
    error Valuation_Incomplete(address feed, uint80 roundId, uint80 answeredInRound);
    error Valuation_Stale(address feed, uint256 updatedAt, uint256 nowAt, uint256 maxAge);
    error Valuation_Decimals(address feed, uint256 signed, uint256 actual);
    error Valuation_Amount(uint256 amount);
    error Valuation_Sequencer(address feed, int256 answer, uint256 since, uint256 grace);
    error Listing_UnknownToken(address token);
    error Positions_NoPool(address token0, address token1, uint24 fee);

    function decimals() returns (uint8);
    function latestRoundData() returns (uint80, int256, uint256, uint256, uint80);
    function asset() returns (address);
    function previewMint(uint256 shares) returns (uint256);
    function factory() returns (address);
    function getPool(address, address, uint24) returns (address);
    function slot0() returns (uint160, int24, uint16, uint16, uint16, uint8, bool);
    function positions(uint256) returns (
        uint96, address, address, address, uint24, int24, int24, uint128, uint256, uint256, uint128, uint128
    );
}

const FEEDS: [Address; 3] =
    [Address::repeat_byte(0xf1), Address::repeat_byte(0xf2), Address::repeat_byte(0xf3)];
/// Nobody ever answers there.
const NO_FEED: Address = Address::repeat_byte(0xf9);
const UPTIME: Address = Address::repeat_byte(0xf5);
const VAULT: Address = Address::repeat_byte(0xd1);
const MANAGER: Address = Address::repeat_byte(0xe1);
const FACTORY: Address = Address::repeat_byte(0xe2);
const POOL: Address = Address::repeat_byte(0xe3);
const TOKENS: [Address; 4] =
    [Address::ZERO, Address::repeat_byte(1), Address::repeat_byte(2), Address::repeat_byte(3)];
const UNLISTED: Address = Address::repeat_byte(9);
const FEE: u32 = 500;

const SCENES: usize = 4_000;
const QUESTIONS: usize = 8;

/// Everything that could be asked, on chain and beside it.
struct Scene {
    listing: Listing,
    observed: Observed,
}

fn tell<C: SolCall>(course: &mut Course, at: Address, answer: Vec<u8>) -> Result<()> {
    let told = Told::tellCall { selector: C::SELECTOR.into(), answer: answer.into() };
    course.must(Address::ZERO, at, &told)
}

/// A feed that can be relied on.
fn good_round(dice: &mut Dice) -> Round {
    Round {
        decimals: 8,
        round_id: U80::from(5),
        answer: I256::try_from(dice.next() % 100_000_000_000 + 1).unwrap(),
        updated_at: U256::from(NOW - dice.next() % 3_600),
        answered_in_round: U80::from(5),
    }
}

fn draw_round(dice: &mut Dice) -> Round {
    let round_id = U80::from(dice.of(&[1u64, 5, 1 << 40]));
    Round {
        decimals: dice.of(&[8, 8, 8, 8, 8, 8, 6, 18]),
        round_id,
        answer: match dice.below(14) {
            0 => I256::ZERO,
            1 => I256::MINUS_ONE,
            2 => I256::MIN,
            3 => I256::try_from(u128::MAX >> 32).unwrap(),
            4 => I256::try_from((u128::MAX >> 32) + 1).unwrap(),
            5 => I256::MAX,
            6 => I256::ONE,
            _ => I256::try_from(dice.next() % 100_000_000_000 + 1).unwrap(),
        },
        updated_at: match dice.below(12) {
            0 => U256::ZERO,
            1 => U256::from(NOW + 1),
            2 => U256::from(NOW - 3_600),
            3 => U256::from(NOW - 3_601),
            4 => dice.word(),
            _ => U256::from(NOW - dice.next() % 3_600),
        },
        answered_in_round: if dice.one_in(10) { round_id - U80::from(1) } else { round_id },
    }
}

fn set_scene(course: &mut Course, dice: &mut Dice) -> Result<Scene> {
    // In most scenes little is wrong, so that something has a worth.
    let is_calm = !dice.one_in(3);
    let mut observed = Observed::default();
    for feed in FEEDS {
        let round = if is_calm { good_round(dice) } else { draw_round(dice) };
        tell::<decimalsCall>(course, feed, U256::from(round.decimals).abi_encode())?;
        let answer =
            (round.round_id, round.answer, U256::ZERO, round.updated_at, round.answered_in_round);
        tell::<latestRoundDataCall>(course, feed, answer.abi_encode_params())?;
        observed.rounds.insert(feed, round);
    }
    let uptime = Uptime {
        answer: if !is_calm && dice.one_in(8) { I256::ONE } else { I256::ZERO },
        since: match if is_calm { 9 } else { dice.below(8) } {
            0 => U256::ZERO,
            1 => U256::from(NOW + 1),
            2 => U256::from(NOW - 600),
            3 => U256::from(NOW - 599),
            _ => U256::from(NOW - 100_000),
        },
    };
    let answer = (U80::from(1), uptime.answer, uptime.since, U256::from(NOW), U80::from(1));
    tell::<latestRoundDataCall>(course, UPTIME, answer.abi_encode_params())?;
    observed.uptimes.insert(UPTIME, uptime);

    let asset = dice.of(&[TOKENS[1], TOKENS[2], UNLISTED]);
    tell::<assetCall>(course, VAULT, asset.abi_encode())?;
    let preview = dice.of(&[U256::ZERO, U256::from(77_000_000), U256::MAX]);
    tell::<previewMintCall>(course, VAULT, preview.abi_encode())?;
    observed.vaults.insert(VAULT, VaultView { asset, ..VaultView::default() });

    let pool = PoolKey {
        token0: dice.of(&TOKENS),
        token1: dice.of(&[TOKENS[1], TOKENS[2], TOKENS[3], UNLISTED]),
        fee: U24::from(FEE),
    };
    let zero = U256::ZERO;
    let position = (
        (zero, Address::ZERO, pool.token0, pool.token1, pool.fee, zero, zero, zero),
        (zero, zero, zero, zero),
    );
    tell::<positionsCall>(course, MANAGER, position.abi_encode())?;
    tell::<factoryCall>(course, MANAGER, FACTORY.abi_encode())?;
    let there = !dice.one_in(10);
    let at = if there { POOL } else { Address::ZERO };
    tell::<getPoolCall>(course, FACTORY, at.abi_encode())?;
    let root = match dice.below(if is_calm { 40 } else { 6 }) {
        0 => U160::ZERO,
        1 => U160::MAX,
        2 => U160::from(1),
        _ => U160::from(dice.next()) << (dice.below(64) + 16),
    };
    let slot = (root, zero, zero, zero, zero, zero, zero);
    tell::<slot0Call>(course, POOL, slot.abi_encode())?;
    let root = if there { root } else { U160::ZERO };
    for token0 in TOKENS.into_iter().chain([UNLISTED]) {
        for token1 in TOKENS.into_iter().chain([UNLISTED]) {
            let pool = PoolKey { token0, token1, fee: U24::from(FEE) };
            observed.pool_roots.insert((MANAGER, pool), root);
        }
    }
    for id in 0..3 {
        let view = PositionView { owner: Address::ZERO, pool };
        observed.positions.insert((MANAGER, U256::from(id)), view);
    }
    for shares in amounts() {
        if let Some(vault) = observed.vaults.get_mut(&VAULT) {
            vault.mint_previews.insert(shares, preview);
        }
    }
    Ok(Scene { listing: draw_listing(dice, is_calm), observed })
}

fn draw_listing(dice: &mut Dice, is_calm: bool) -> Listing {
    let mut tokens: Vec<_> = TOKENS
        .into_iter()
        .map(|token| ListedToken {
            token,
            role: None,
            feed: if is_calm {
                dice.of(&FEEDS)
            } else {
                dice.of(&[FEEDS[0], FEEDS[1], FEEDS[2], FEEDS[0], FEEDS[1], NO_FEED])
            },
            token_decimals: dice.of(&[6, 18, 18, 0, 36, 60, 69, 70, 255]),
            feed_decimals: if is_calm { 8 } else { dice.of(&[8, 8, 8, 8, 8, 6]) },
            max_age: if is_calm { 3_600 } else { dice.of(&[3_600, 3_600, 3_600, 0, u32::MAX]) },
        })
        .collect();
    if dice.one_in(5) {
        // Of two entries the first counts.
        let again = tokens[dice.below(tokens.len())];
        tokens.push(ListedToken { token_decimals: 3, ..again });
        let last = tokens.len() - 1;
        let other = dice.below(tokens.len());
        tokens.swap(other, last);
    }
    Listing {
        sequencer_feed: if is_calm {
            dice.of(&[Address::ZERO, UPTIME])
        } else {
            dice.of(&[Address::ZERO, Address::ZERO, UPTIME, UPTIME, NO_FEED])
        },
        sequencer_grace: dice.of(&[600, 600, 0]),
        tokens,
        targets: vec![],
    }
}

fn amounts() -> [U256; 7] {
    [
        U256::ZERO,
        U256::ONE,
        U256::from(25_000_000),
        U256::from(10).pow(U256::from(18)),
        U256::from(u128::MAX),
        U256::from(u128::MAX) + U256::ONE,
        U256::MAX,
    ]
}

fn draw_action(dice: &mut Dice) -> Action {
    let token = |dice: &mut Dice| dice.of(&[TOKENS[0], TOKENS[1], TOKENS[2], TOKENS[3], UNLISTED]);
    let amount = |dice: &mut Dice| match dice.below(3) {
        0 => dice.of(&amounts()),
        1 => U256::from(dice.next()) << dice.below(65),
        _ => U256::from(dice.next() % 1_000_000_000_000),
    };
    let class = dice.of(&[
        Class::Swap,
        Class::Swap,
        Class::Deposit,
        Class::AddLiquidity,
        Class::RemoveLiquidity,
        Class::Approve,
    ]);
    match class {
        Class::Swap => Action {
            token_out: token(dice),
            amount_out: amount(dice),
            token_in: token(dice),
            minimum_in: amount(dice),
            ..Action::new(class, VAULT)
        },
        Class::Deposit if dice.one_in(2) => {
            let vault = dice.of(&[VAULT, VAULT, VAULT, NO_FEED]);
            Action { amount_out: amount(dice), ..Action::new(class, vault) }
        }
        // The preview is the same for all, and known for these.
        Class::Deposit => {
            Action { token_in: VAULT, minimum_in: dice.of(&amounts()), ..Action::new(class, VAULT) }
        }
        Class::AddLiquidity if dice.one_in(2) => Action {
            token_out: token(dice),
            amount_out: amount(dice),
            token_out2: token(dice),
            amount_out2: amount(dice),
            fee: U24::from(FEE),
            ..Action::new(class, MANAGER)
        },
        Class::AddLiquidity => Action {
            amount_out: amount(dice),
            amount_out2: amount(dice),
            position_id: U256::from(dice.below(3)),
            ..Action::new(class, MANAGER)
        },
        Class::RemoveLiquidity => {
            let manager = dice.of(&[MANAGER, MANAGER, MANAGER, NO_FEED]);
            Action { position_id: U256::from(1), ..Action::new(class, manager) }
        }
        _ => Action::new(class, TOKENS[1]),
    }
}

/// What the contract reverts with where this is the refusal.
///
/// Of two amounts of liquidity that are both too large, which one is named depends on how the contract was compiled: the older
/// code generator works out the right side of a sum first, the newer one, which the charter goes through, the left.
#[track_caller]
fn assert_same(refusal: &ValuationRefusal, revert: &Bytes, of: &[Action]) {
    if let ValuationRefusal::Amount { .. } = refusal
        && let Ok(Valuation_Amount { amount }) = Valuation_Amount::abi_decode(revert)
        && of.iter().any(|action| {
            action.class == Class::AddLiquidity
                && action.amount_out.min(action.amount_out2) > U256::from(u128::MAX)
                && action.amount_out2 == amount
        })
    {
        return;
    }
    let expected = match *refusal {
        ValuationRefusal::Answer { feed, answer } => Valuation_Answer { feed, answer }.abi_encode(),
        ValuationRefusal::Incomplete { feed, round_id, answered_in_round } => {
            Valuation_Incomplete { feed, roundId: round_id, answeredInRound: answered_in_round }
                .abi_encode()
        }
        ValuationRefusal::Stale { feed, updated_at, now, max_age } => Valuation_Stale {
            feed,
            updatedAt: updated_at,
            nowAt: U256::from(now),
            maxAge: U256::from(max_age),
        }
        .abi_encode(),
        ValuationRefusal::Decimals { feed, signed, actual } => {
            Valuation_Decimals { feed, signed: U256::from(signed), actual: U256::from(actual) }
                .abi_encode()
        }
        ValuationRefusal::Amount { amount } => Valuation_Amount { amount }.abi_encode(),
        ValuationRefusal::Sequencer { feed, answer, since, grace } => {
            Valuation_Sequencer { feed, answer, since, grace: U256::from(grace) }.abi_encode()
        }
        ValuationRefusal::UnknownToken { token } => Listing_UnknownToken { token }.abi_encode(),
        ValuationRefusal::NoPool { token0, token1, fee } => {
            Positions_NoPool { token0, token1, fee }.abi_encode()
        }
        ValuationRefusal::Unread { .. } => vec![],
        ValuationRefusal::Overflow => {
            assert!(is_panic(revert), "{refusal}, {revert}");
            return;
        }
        ref other => panic!("{other} is none of the contract's"),
    };
    assert_eq!(revert, &expected, "{refusal}");
}

/// ATK-24, ATK-25, SPEC C17: every price that the contract refuses is refused here, and every other gives the same number.
#[test]
fn actions_are_worth_the_same() -> Result<()> {
    let mut course = stage()?;
    let puppet = built("Stage")?;
    for at in [FEEDS[0], FEEDS[1], FEEDS[2], UPTIME, VAULT, MANAGER, FACTORY, POOL] {
        course.put(at, U256::ZERO, &puppet);
    }
    let mut dice = Dice(0x3a1);
    let mut counts = Counts::default();
    for _ in 0..SCENES {
        let Scene { listing, observed } = set_scene(&mut course, &mut dice)?;
        let appraisal = Appraisal::new(&listing, &observed, NOW);
        let terms: Bytes = listing.encode()?.into();
        let drawn: Vec<_> = (0..QUESTIONS).map(|_| draw_action(&mut dice)).collect();
        for action in &drawn {
            if !golem_safety::is_measured(action.class) {
                continue;
            }
            let call =
                RulesHarness::measureCall { listing: terms.clone(), action: on_chain(action) };
            match (appraisal.measure(action), course.answer(HARNESS, call.abi_encode())) {
                (Ok(worth), Ok(answer)) => {
                    let theirs = RulesHarness::measureCall::abi_decode_returns_validate(&answer)?;
                    let golem_safety::Worth { out, back, pool_price, feed_price } = worth;
                    let ours = Worth { out, back, poolPrice: pool_price, feedPrice: feed_price };
                    assert_eq!(ours, theirs, "{action:?}");
                    counts.add(action.class.name());
                }
                (Err(refusal), Err(revert)) => {
                    assert_same(&refusal, &revert, std::slice::from_ref(action));
                    let name = format!("{refusal:?}");
                    counts.add(name.split(' ').next().unwrap());
                }
                (ours, theirs) => panic!("we say {ours:?}, the contract {theirs:?} of {action:?}"),
            }
        }

        let some = &drawn[..dice.below(4)];
        let call = RulesHarness::totalCall {
            listing: terms.clone(),
            actions: some.iter().map(on_chain).collect(),
        };
        match (appraisal.total(some), course.answer(HARNESS, call.abi_encode())) {
            (Ok(total), Ok(answer)) => {
                assert_eq!(total, RulesHarness::totalCall::abi_decode_returns_validate(&answer)?);
                counts.add("(summed)");
            }
            (Err(refusal), Err(revert)) => assert_same(&refusal, &revert, some),
            (ours, theirs) => panic!("we say {ours:?}, the contract {theirs:?} of {some:?}"),
        }
    }
    counts.show();
    counts.require(400, &["swap", "deposit", "addLiquidity", "removeLiquidity", "(summed)"]);
    counts.require(
        40,
        &[
            "Answer",
            "Incomplete",
            "Stale",
            "Decimals",
            "Amount",
            "Sequencer",
            "UnknownToken",
            "NoPool",
            "Unread",
            "Overflow",
        ],
    );
    Ok(())
}
