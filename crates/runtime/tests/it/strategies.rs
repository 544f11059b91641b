//! STRATEGY.md, and those who do what it says.

use alloy_primitives::{Address, B256, U256};
use golem_custody::{Mood, Sustainability};
use golem_delegation::{
    grant::Phase,
    terms::{Classes, GolemCharter, ListedToken, Listing, MortalityTimeWindow, Role},
};
use golem_runtime::{
    Dca, Held, Rebalance, Strategist, Strategy, StrategyError, Thought, Wish, World,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

const USDC: Address = Address::repeat_byte(0x51);
const WETH: Address = Address::repeat_byte(0x52);
const DOLLAR: u64 = 1_000_000;
const DAY: u64 = 86_400;

fn charter() -> GolemCharter {
    let token = |token, role| ListedToken {
        token,
        role: Some(role),
        feed: Address::repeat_byte(0xfe),
        token_decimals: 6,
        feed_decimals: 8,
        max_age: 1,
    };
    GolemCharter {
        golem_id: B256::ZERO,
        owner: Address::ZERO,
        epoch: 1,
        generation: 0,
        registry: Address::ZERO,
        account: Address::ZERO,
        beneficiary: Address::ZERO,
        agent_key: Address::ZERO,
        replicants: false,
        classes: Classes::ALL,
        window: MortalityTimeWindow::new(1, 2).unwrap(),
        spend_cap: 1,
        bucket_minutes: 120,
        slippage_bps: 100,
        vault: Address::ZERO,
        nav_bps: 0,
        nav_cap: 1,
        staleness: 1,
        gas_ceiling: 1,
        gas_daily_cap: 1,
        settlement_asset: USDC,
        max_royalty_bps: None,
        mood: None,
        listing: Listing {
            tokens: vec![token(USDC, Role::Token), token(WETH, Role::Weth)],
            ..Listing::default()
        },
    }
}

fn read(text: &str) -> Result<Strategy, StrategyError> {
    Strategy::read(text, &charter())
}

const DCA: &str =
    "- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $12.50\n- every: 1d\n";

#[test]
fn two_strategies_are_read_and_words_are_for_people() {
    let text = format!("# Strategy\n\n- goal: sleep well\n- never: use leverage\n\n{DCA}");
    let dca = Dca { sell: USDC, buy: WETH, micro_dollars: 12_500_000, every: DAY };
    assert_eq!(read(&text), Ok(Strategy::Dca(dca)));
    let text = format!(
        "- strategy: rebalance\n- token: {WETH}\n- against: settlement\n- target: 40%\n- band: 2.50%"
    );
    let kept = Rebalance { token: WETH, against: USDC, target_bps: 4_000, band_bps: 250 };
    assert_eq!(read(&text), Ok(Strategy::Rebalance(kept)));
    assert_eq!(read("# Nothing yet\n- goal:\n"), Ok(Strategy::Observe));
}

/// ATK-25, ATK-43: a token is one that the owner listed, whatever a text calls it.
#[test]
fn what_is_not_understood_or_not_listed_is_refused_with_its_line() {
    let stranger = format!("- buy: {}", Address::repeat_byte(9));
    for (from, to) in [
        ("- buy: weth", stranger.as_str()),
        ("- buy: weth", "- buy: WETH"),
        ("- amount: $12.50", "- amount: 12.50"),
        ("- amount: $12.50", "- amount: $12.5"),
        ("- amount: $12.50", "- amount: $-1"),
        ("- amount: $12.50", "- amount: $0"),
        ("- amount: $12.50", "- amount: $99999999999999"),
        ("- every: 1d", "- every: whenever"),
        ("- strategy: dca", "- strategy: yolo"),
    ] {
        let refused = read(&DCA.replace(from, to));
        assert!(matches!(refused, Err(StrategyError::Value { .. })), "{to}: {refused:?}");
    }
    let missing = read(&DCA.replace("- every: 1d\n", ""));
    assert!(matches!(missing, Err(StrategyError::Missing { key: "every", .. })));
    let more = read(&format!("{DCA}- leverage: 3x\n"));
    assert!(matches!(more, Err(StrategyError::Unknown { line: 6, .. })), "{more:?}");
    assert!(matches!(
        read(&format!("{DCA}- buy: weth\n")),
        Err(StrategyError::Twice { line: 6, .. })
    ));
    assert!(matches!(read("- leverage: 3x\n"), Err(StrategyError::Unknown { .. })));
}

fn world(usdc: u64, weth: u64) -> World {
    let held = |usd: u64| Held { amount: U256::from(usd), worth: (usd * DOLLAR).into() };
    World {
        now: 10 * DAY,
        phase: Phase::Stable,
        vitality: 9_000,
        mood: Mood::default(),
        held: BTreeMap::from([(USDC, held(usdc)), (WETH, held(weth))]),
        spendable: 500 * DOLLAR,
        last_deed: None,
        sustainability: Sustainability::Free,
    }
}

async fn wishes(who: &dyn Strategist, world: &World) -> Vec<Wish> {
    match who.think(world).await.unwrap() {
        Thought::Wishes(wishes) => wishes,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_same_is_bought_when_it_is_due_and_there_is_enough_of_everything() {
    let dca = Dca { sell: USDC, buy: WETH, micro_dollars: 50 * DOLLAR, every: DAY };
    let wish = vec![Wish::Swap { sell: USDC, buy: WETH, micro_dollars: 50 * DOLLAR }];
    assert_eq!(wishes(&dca, &world(100, 0)).await, wish);
    let before = |last| World { last_deed: Some(last), ..world(100, 0) };
    assert_eq!(wishes(&dca, &before(9 * DAY)).await, wish);
    assert_eq!(wishes(&dca, &before(9 * DAY + 1)).await, []);
    assert_eq!(wishes(&dca, &world(50, 0)).await, wish);
    assert_eq!(wishes(&dca, &world(49, 0)).await, []);
    assert_eq!(wishes(&dca, &World { spendable: 50 * DOLLAR - 1, ..world(100, 0) }).await, []);
    assert_eq!(wishes(&dca, &World { held: BTreeMap::new(), ..world(100, 0) }).await, []);
}

#[tokio::test]
async fn a_share_is_kept_within_its_band_both_ways() {
    let kept = Rebalance { token: WETH, against: USDC, target_bps: 5_000, band_bps: 500 };
    let swap = |sell, buy, usd: u64| vec![Wish::Swap { sell, buy, micro_dollars: usd * DOLLAR }];
    assert_eq!(wishes(&kept, &world(500, 500)).await, []);
    assert_eq!(wishes(&kept, &world(550, 450)).await, [], "at the edge");
    assert_eq!(wishes(&kept, &world(560, 440)).await, swap(USDC, WETH, 60));
    assert_eq!(wishes(&kept, &world(300, 700)).await, swap(WETH, USDC, 200));
    // Never more than may be spent.
    assert_eq!(wishes(&kept, &world(5_000, 0)).await, swap(USDC, WETH, 500));
}

proptest! {
    #[test]
    fn no_text_is_more_than_read_or_refused(text in "(- [a-z]{1,9}: \\PC{0,20}\n|\\PC{0,30}\n){0,8}") {
        let _ = read(&text);
    }
}
