//! The thief for weeks: what he takes against what `blast-radius` said before.

use super::{
    CHARTER, Expectation, Grant, calls,
    charter::Charter,
    ledger::{Ledger, Micros, judge},
    prey::{Prey, Tx},
    scene,
    tricks::{Rigged, approve_router, die_rich, settle},
    victim::Kind,
    week::{BUCKET, REMEMBERED, shown},
    wish::{STRANGER, THIEF, Wish},
};
use alloy::{
    primitives::{Address, I256, U256, keccak256},
    sol_types::SolValue,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{GolemRegistry, golem_registry};
use bardo_testkit::{Stage, dollars};
use golem_chain::environment;
use golem_custody::Execution;
use golem_delegation::{
    Caveat, Rule,
    blast_radius::{BlastRadius, Causes},
    terms::{Erc20PeriodTransfer, Timestamp, ValueLte},
};

const WEEK: u64 = 604_800;
pub(super) const DAY: u64 = 86_400;

/// What was said, without gas: all but what the key gets for it and has in hand.
fn said(causes: &Causes) -> Result<Micros> {
    let Causes { outflow, slippage, vaults, settlement, .. } = *causes;
    let all = [outflow, slippage, vaults, settlement].into_iter().sum::<Option<U256>>();
    Ok(all.context("what cannot be told")?.try_into()?)
}

/// Everything but the last per cent of what was said, and nothing beyond it.
fn reaches(lost: Micros, shown: &BlastRadius) -> Result<()> {
    let said = said(&shown.causes)?;
    ensure!(lost <= said, "{lost} of {said}: {shown}");
    ensure!(lost * 100 >= said * 99, "{lost} of {said}: {shown}");
    Ok(())
}

/// Dollars a day, and nothing else: what a wallet grants by ERC-7715.
pub(super) struct Runway;

/// What it lets go in a day.
pub(super) const DAILY: u64 = 40;

impl Grant for Runway {
    fn name(&self) -> &'static str {
        "a runway"
    }

    fn caveats(&self, wish: &Wish) -> Result<Vec<Caveat>> {
        let rules = [
            Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                token_address: wish.book.usdc,
                period_amount: dollars(DAILY),
                period_duration: U256::from(DAY),
                start_date: U256::from(wish.start),
            }),
            Rule::ValueLte(ValueLte(U256::ZERO)),
            Rule::Timestamp(Timestamp { after: 0, before: u128::from(wish.end) + 1 }),
        ];
        let environment = environment();
        let caveat = |rule| environment.caveat(rule)?.context("no such enforcer");
        rules.iter().map(caveat).collect()
    }

    fn honest(&self, wish: &Wish) -> Vec<Vec<Execution>> {
        vec![vec![calls::transfer(wish.book.usdc, wish.beneficiary, dollars(1))]]
    }

    fn expects(&self) -> Expectation {
        Expectation::Holds
    }
}

/// Sells all the account's WETH with nothing to spare: each part in pools that nobody has moved yet, and as large as goes.
async fn settle_at_the_bound(prey: &mut Prey<'_>) -> Result<()> {
    for day in 1..40 {
        let weth = prey.stage.balance_of(prey.wish.book.weth, prey.wish.account).await?;
        let worth = U256::from(prey.wish.ether_in_dollars(weth)?.unsigned_abs());
        if worth < dollars(10) {
            return Ok(());
        }
        let pools = Rigged::open_on(prey, day).await?;
        for part in [100, 70, 50, 40, 30, 25, 20, 16, 13, 10, 8, 6, 5, 4, 3, 2] {
            let sale = pools.sell(prey, worth * U256::from(part) / U256::from(100));
            if prey.redeem(&[sale]).await? {
                break;
            }
        }
        pools.close(prey).await?;
    }
    anyhow::bail!("something is left: {:?}", prey.refusals())
}

/// G13, in a named scenario: fixed prices, pools that are the thief's alone, gas left out. A week of buying at the bound,
/// and then the death in which all of it is sold again.
#[tokio::test]
async fn a_week_of_swaps_and_a_death_cost_what_was_said() -> Result<()> {
    let stage = Stage::open().await?;
    let (victim, wish) = scene(&stage, Kind::Stateless7702).await?;
    let charter = Charter { replicants: false, swaps_only: true };
    let mut prey = Prey::new(&stage, &victim, &charter, wish.clone()).await?;
    let pools = Rigged::open(&mut prey).await?;
    approve_router(&mut prey).await?;
    let before = Ledger::take(&stage, &wish).await?;
    let shown = shown(&prey).await?;

    let bucket = (prey.now().await? / BUCKET + 1) * BUCKET;
    let cap = wish.cap - dollars(1) / U256::from(20);
    let mut day = 0;
    let mut time = bucket - 180;
    while time < wish.end {
        prey.wait_until(time).await?;
        let bought = prey.redeem(&[pools.buy(&prey, cap)]).await?;
        ensure!(bought, "{:?}", prey.refusals());
        day += 1;
        time = bucket + (day * REMEMBERED - 1) * BUCKET + 1;
    }
    ensure!(day == 7, "{day} days");
    pools.close(&mut prey).await?;
    die_rich(&mut prey).await?;
    settle_at_the_bound(&mut prey).await?;

    let (lost, gained) = before.until(&Ledger::take(&stage, &wish).await?);
    ensure!(gained * 100 >= lost * 99, "owner loses {lost}, thief gains {gained}");
    reaches(lost, &shown)
}

/// G13, in another: a runway is taken to the last unit, every day of it.
#[tokio::test]
async fn a_runway_costs_what_was_said() -> Result<()> {
    let stage = Stage::open().await?;
    let (victim, mut wish) = scene(&stage, Kind::Stateless7702).await?;
    // The last of seven periods is cut in half, and worth as much.
    wish.end = wish.start + WEEK - DAY / 2;
    let mut prey = Prey::new(&stage, &victim, &Runway, wish.clone()).await?;
    let before = Ledger::take(&stage, &wish).await?;
    let seen = shown(&prey).await?;
    // Nobody told the wallet what a token is worth, so the owner is shown units.
    let asset = seen.assets.iter().find(|asset| asset.token == wish.book.usdc);
    let said: Micros = asset.and_then(|asset| asset.amount).context("no amount")?.try_into()?;

    let daily = calls::transfer(wish.book.usdc, THIEF, dollars(DAILY));
    let more = calls::transfer(wish.book.usdc, THIEF, U256::from(1));
    let mut time = prey.now().await? + 60;
    while time <= wish.end {
        prey.wait_until(time).await?;
        ensure!(prey.redeem(std::slice::from_ref(&daily)).await?, "{:?}", prey.refusals());
        ensure!(!prey.redeem(std::slice::from_ref(&more)).await?, "one unit past it");
        time += DAY;
    }

    let (lost, _) = before.until(&Ledger::take(&stage, &wish).await?);
    assert_eq!(lost, said, "{seen}");
    Ok(())
}

/// A price for a day: up to eight per cent from that of the day before.
fn next_price(price: U256, seed: u64, day: u64) -> U256 {
    let drawn = U256::from_be_bytes(keccak256((seed, day).abi_encode()).0);
    let percent = U256::from(92) + drawn % U256::from(17);
    (price * percent / U256::from(100)).max(U256::from(50))
}

/// One of his days, at whatever the feeds say: all he can buy and sell at the bound, and through a vault as well.
async fn greedy_day(prey: &mut Prey<'_>, pools: &Rigged, even: bool) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    let quarter = prey.wish.cap / U256::from(4) - dollars(1) / U256::from(20);
    let mut deeds = vec![pools.buy(prey, quarter), pools.sell(prey, quarter)];
    if even {
        deeds.reverse();
    }
    for deed in deeds {
        prey.redeem_greedily(&[deed]).await?;
    }
    let through = [
        calls::approve(book.usdc, book.vault, dollars(100)),
        calls::vault_deposit(book.vault, dollars(100), account),
        calls::vault_withdraw(book.vault, dollars(99), account, account),
    ];
    prey.redeem_each(&through).await
}

/// What three weeks under moving prices cost, day by day, and what was said before each of them.
async fn weeks(seed: u64) -> Result<()> {
    let stage = Stage::open().await?;
    let (victim, mut wish) = scene(&stage, Kind::Stateless7702).await?;
    wish.end = wish.start + 3 * WEEK;
    let mut prey = Prey::new(&stage, &victim, &CHARTER, wish.clone()).await?;
    approve_router(&mut prey).await?;
    let first = shown(&prey).await?;
    let swaps: Micros = first.causes.slippage.context("a bound")?.try_into()?;
    let vaults: Micros = first.causes.vaults.context("a bound")?.try_into()?;

    let mut sum = 0;
    let mut day = 0u8;
    let mut time = prey.now().await? + 60;
    while time < wish.end {
        let price = next_price(prey.wish.book.eth_price, seed, day.into());
        prey.wish.book.eth_price = price;
        prey.wait_until(time).await?;
        let answer = I256::try_from(price * U256::from(100_000_000))?;
        prey.feed_says(prey.wish.book.eth_usd, answer).await?;
        let said = shown(&prey).await?;
        let today: Micros =
            said.days.first().and_then(|day| day.cumulative).context("a day")?.try_into()?;
        let before = Ledger::take(&stage, &prey.wish).await?;
        let pools = Rigged::open_on(&mut prey, day).await?;
        greedy_day(&mut prey, &pools, day.is_multiple_of(2)).await?;
        // As soon as what was spent is forgotten.
        let next = time + REMEMBERED * BUCKET;
        let last = next >= wish.end;
        if last {
            die_rich(&mut prey).await?;
            settle(&mut prey, &pools).await?;
        }
        pools.close(&mut prey).await?;
        let (lost, _) = before.until(&Ledger::take(&stage, &prey.wish).await?);
        ensure!(lost <= today, "seed {seed}, day {day} at ${price}: {lost} of {today}");
        if !last {
            sum += lost;
        }
        day += 1;
        time = next;
    }

    ensure!(day == 20, "{day} times");
    // Caps are in dollars, whatever a coin costs: what swaps cost in all was known on the first day.
    ensure!(sum <= swaps + vaults, "seed {seed}: {sum} of {swaps} and {vaults}");
    ensure!(sum * 10 > swaps * 9, "seed {seed}: a thief who takes {sum} of {swaps} is none");
    Ok(())
}

/// ATK-46, G13: over drawn paths of prices no day costs more than was said in the morning, and what swaps cost on all of
/// them no more than was said on the first.
#[tokio::test]
async fn over_random_prices_nobody_takes_more_than_was_said() -> Result<()> {
    for seed in [1, 2] {
        weeks(seed).await?;
    }
    Ok(())
}

/// Buys as often as it goes through, in parts of a hundred dollars, as any key.
async fn spend(prey: &mut Prey<'_>, key: Address) -> Result<u32> {
    let sale = prey.wish.fair_sale(dollars(100), 9_910).on_02(prey.wish.book.swap_router_02);
    let mut passed = 0;
    let data = prey.column().redeem(&prey.context()?, std::slice::from_ref(&sale));
    while prey.redeem_with(key, data.clone()).await? {
        passed += 1;
        ensure!(passed < 20, "no cap at all");
    }
    Ok(passed)
}

/// D4, ATK-31: fed, rotated and replayed within a day, all grants of a Golem share one window.
#[tokio::test]
async fn fed_rotated_and_replayed_there_is_one_cap_a_day() -> Result<()> {
    let stage = Stage::open().await?;
    let (victim, wish) = scene(&stage, Kind::Stateless7702).await?;
    let mut first = Prey::new(&stage, &victim, &CHARTER, wish.clone()).await?;
    let before = Ledger::take(&stage, &wish).await?;
    approve_router(&mut first).await?;
    let start = first.now().await?;
    let sale = wish.fair_sale(dollars(300), 9_910).on_02(wish.book.swap_router_02);
    ensure!(first.redeem(std::slice::from_ref(&sale)).await?, "{:?}", first.refusals());

    // Fed: a later end, and the next number.
    let mut fed = first.granted_again().await?;
    ensure!(fed.redeem(&[sale]).await?, "{:?}", fed.refusals());
    // Rotated: another key speaks for the Golem, by a third grant.
    let attach = GolemRegistry::attachCall { golemId: wish.golem, agentKey: STRANGER };
    first.must(Tx::of(wish.owner, &calls::call(golem_registry(), attach))).await?;
    fed.wish.session = STRANGER;
    let mut rotated = fed.granted_again().await?;
    let by_new_key = spend(&mut rotated, STRANGER).await?;
    // Replayed: what was given before, by whoever had it, all day long.
    let mut replayed = 0;
    for hour in [0, 6, 12, 18, 23] {
        rotated.wait_until(start + hour * 3_600 + 600).await?;
        replayed += spend(&mut first, wish.session).await?;
        replayed += spend(&mut fed, wish.session).await?;
        replayed += spend(&mut rotated, STRANGER).await?;
    }

    // 600 went before, and 400 less what rounding keeps are left.
    assert_eq!((by_new_key, replayed), (3, 0), "{:?}", rotated.refusals());
    // A day later the newest grant spends again, and only that one.
    first.wait_until(start + DAY + 3 * BUCKET).await?;
    for (grant, key, passes) in
        [(&mut first, wish.session, 0), (&mut fed, wish.session, 0), (&mut rotated, STRANGER, 9)]
    {
        assert_eq!(spend(grant, key).await?, passes, "{:?}", grant.refusals());
    }
    first.absorb(fed);
    first.absorb(rotated);
    let outcome = judge(&first, &before).await?;
    assert!(!outcome.is_win(), "{outcome}");
    Ok(())
}
