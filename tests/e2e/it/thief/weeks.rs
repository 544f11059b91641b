//! The thief for weeks: what he takes against what `blast-radius` said before.

use super::{
    CHARTER, Expectation, Grant, calls,
    charter::Charter,
    ledger::{Ledger, Micros, judge},
    prey::{Prey, Tx},
    scene,
    tricks::{Rigged, approve_router, die_rich, settle},
    victim::{Kind, Victim},
    week::{BUCKET, REMEMBERED, shown},
    wish::{STRANGER, THIEF, Wish},
};
use alloy::{
    primitives::{Address, I256, U256, keccak256},
    providers::ext::AnvilApi as _,
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

/// Draws a path's numbers, one after the other.
struct Draw {
    seed: u64,
    drawn: u64,
}

impl Draw {
    fn below(&mut self, end: u64) -> U256 {
        self.drawn += 1;
        let drawn = U256::from_be_bytes(keccak256((self.seed, self.drawn).abi_encode()).0);
        drawn % U256::from(end)
    }

    /// Up to so many per cent from the price before, either way.
    fn price(&mut self, before: U256, percent: u64) -> U256 {
        let part = U256::from(100 - percent) + self.below(2 * percent + 1);
        (before * part / U256::from(100)).max(U256::from(50))
    }
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

/// What he took while prices stood still, at those prices; said before it, and taken.
struct Spell {
    said: Micros,
    lost: Micros,
}

/// From one move of the price to the next: pools at the new price, and whatever `deeds` take.
async fn spell(
    prey: &mut Prey<'_>,
    price: U256,
    number: u8,
    (even, last): (bool, bool),
) -> Result<Spell> {
    prey.wish.book.eth_price = price;
    let answer = I256::try_from(price * U256::from(100_000_000))?;
    prey.feed_says(prey.wish.book.eth_usd, answer).await?;
    let said = shown(prey).await?;
    let said: Micros =
        said.days.first().and_then(|day| day.cumulative).context("a day")?.try_into()?;
    let before = Ledger::take(prey.stage, &prey.wish).await?;
    let pools = Rigged::open_on(prey, number).await?;
    greedy_day(prey, &pools, even).await?;
    if last {
        die_rich(prey).await?;
        settle(prey, &pools).await?;
    }
    pools.close(prey).await?;
    let (lost, _) = before.until(&Ledger::take(prey.stage, &prey.wish).await?);
    ensure!(lost <= said, "at ${price}: {lost} of {said}");
    Ok(Spell { said, lost })
}

/// How long a path is.
struct Length {
    days: u64,
    /// Moves of the price on each of them, at most.
    moves: u64,
    /// How long the grant is good for.
    grant: u64,
}

/// What some days under moving prices cost but for the death at their end, and what swaps could cost by what was said
/// on the first: prices move from day to day, and within a day as often as is drawn.
async fn path(
    stage: &Stage,
    victim: &Victim,
    mut wish: Wish,
    draw: &mut Draw,
    length: &Length,
) -> Result<(Micros, Micros)> {
    wish.end = wish.start + length.grant;
    let mut prey = Prey::new(stage, victim, &CHARTER, wish.clone()).await?;
    approve_router(&mut prey).await?;
    let first = shown(&prey).await?;
    let swaps: Micros = first.causes.slippage.context("a bound")?.try_into()?;
    let vaults: Micros = first.causes.vaults.context("a bound")?.try_into()?;

    let mut sum = 0;
    let mut number = 0;
    let mut time = prey.now().await? + 60;
    for day in 0..length.days {
        prey.wait_until(time).await?;
        let last_day = day + 1 == length.days;
        // Who dies did something before.
        let moves = u64::from(length.days == 1) + 1 + draw.below(length.moves).to::<u64>();
        let (mut morning, mut today) = (None, 0);
        for hour in 0..moves {
            let percent = if hour == 0 { 8 } else { 3 };
            let price = draw.price(prey.wish.book.eth_price, percent);
            if hour > 0 {
                let later = prey.now().await? + 600 + draw.below(3_000).to::<u64>();
                prey.wait_until(later).await?;
            }
            let last = last_day && hour + 1 == moves;
            let even = draw.below(2).is_zero();
            let Spell { said, lost } = spell(&mut prey, price, number, (even, last))
                .await
                .with_context(|| format!("day {day}, move {hour}"))?;
            number += 1;
            let morning = *morning.get_or_insert(said);
            if !last {
                today += lost;
                // However often the price moves, the day has one cap, and it is in dollars.
                ensure!(today <= morning, "day {day}: {today} of {morning}");
            }
        }
        sum += today;
        // As soon as what was spent is forgotten.
        time += REMEMBERED * BUCKET;
    }

    // What swaps cost in all was known on the first day, whatever a coin costs; this vault rounds by less than a cent.
    let crumbs = Micros::from(number) * 10_000;
    ensure!(sum <= swaps + vaults.min(crumbs), "{sum} of {swaps} and {vaults}");
    Ok((sum, swaps))
}

/// Where paths begin, the same in every run; `PRICE_PATHS` draws others, or those of a run that failed again.
fn base() -> Result<u64> {
    let Ok(base) = std::env::var("PRICE_PATHS") else { return Ok(2_026) };
    base.parse().context("PRICE_PATHS is a number")
}

/// Short paths of each kind of account.
const PATHS: u64 = 10;

/// ATK-46, G13: over drawn paths of prices, which move within a day as well, nothing costs more than was said right before it, no day
/// more than was said in the morning, and what swaps cost on all of them no more than was said on the first.
#[tokio::test]
async fn over_random_prices_nobody_takes_more_than_was_said() -> Result<()> {
    let base = base()?;
    for kind in [Kind::Stateless7702, Kind::Hybrid] {
        let stage = Stage::open().await?;
        let (victim, wish) = scene(&stage, kind).await?;
        for number in 0..PATHS {
            let clean = stage.node().provider().anvil_snapshot().await?;
            let mut draw = Draw { seed: base.wrapping_add(number), drawn: 0 };
            let days = 1 + number % 2;
            let length = Length { days, moves: 2, grant: days * REMEMBERED * BUCKET + DAY };
            let again = || format!("{kind:?}, path {number}; again by PRICE_PATHS={base}");
            let (sum, _) = path(&stage, &victim, wish.clone(), &mut draw, &length)
                .await
                .with_context(again)?;
            ensure!(sum > 0, "a thief who takes nothing is none: {}", again());
            ensure!(stage.node().provider().anvil_revert(clean).await?, "snapshot is gone");
        }
    }
    Ok(())
}

/// The same for three weeks; and he is a thief who takes nearly all that there is.
#[tokio::test]
async fn over_weeks_of_random_prices_a_thief_takes_what_was_said_and_no_more() -> Result<()> {
    let base = base()?;
    let stage = Stage::open().await?;
    let kind = if base.is_multiple_of(2) { Kind::Hybrid } else { Kind::Stateless7702 };
    let (victim, wish) = scene(&stage, kind).await?;
    let mut draw = Draw { seed: base.wrapping_add(PATHS), drawn: 0 };
    let length = Length { days: 20, moves: 1, grant: 3 * WEEK };

    let (sum, swaps) = path(&stage, &victim, wish, &mut draw, &length)
        .await
        .with_context(|| format!("{kind:?}; again by PRICE_PATHS={base}"))?;

    ensure!(sum * 10 > swaps * 9, "PRICE_PATHS={base}: a thief who takes {sum} of {swaps} is none");
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
