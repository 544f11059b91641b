//! The most that is left to a thief under the charter.

use super::{
    CHARTER, calls,
    charter::Charter,
    ledger::{Ledger, Micros},
    prey::{Prey, Tx},
    scene,
    tricks::{Rigged, approve_router},
    victim::Kind,
    wish::{SESSION, THIEF},
};
use alloy::{
    primitives::{Bytes, U256},
    providers::Provider,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_testkit::{Stage, dollars};
use golem_chain::{environment, observe};
use golem_custody::Execution;
use golem_delegation::blast_radius::BlastRadius;

/// The charter's buckets, in seconds, and how many of them a spend is remembered for.
pub(super) const BUCKET: u64 = 7_200;
pub(super) const REMEMBERED: u64 = 13;

/// One redemption of the day: by the key, or by a child that lives for it alone.
async fn redeem(prey: &mut Prey<'_>, child: Option<u64>, call: Execution) -> Result<bool> {
    let Some(salt) = child else {
        return prey.redeem(&[call]).await;
    };
    let child = prey.child(THIEF, salt).await?;
    prey.redeem_chain(THIEF, vec![child, prey.grant.clone()], &[call]).await
}

/// Everything a day allows, and a try at more of each.
pub(super) async fn one_day(
    prey: &mut Prey<'_>,
    pools: &Rigged,
    children: Option<u64>,
) -> Result<()> {
    let half = prey.wish.cap / U256::from(2) - dollars(1) / U256::from(20);
    for again in [false, true] {
        for call in [pools.buy(prey, half), pools.sell(prey, half)] {
            let passed = redeem(prey, children, call).await?;
            ensure!(passed != again, "{:?}", prey.refusals());
        }
    }
    let purse = prey.stage.node().provider().get_balance(SESSION).await?;
    let rest = U256::from(1_000_000_000_000_000u64);
    let away = calls::raw(THIEF, purse.saturating_sub(rest), Bytes::new());
    prey.must(Tx::of(SESSION, &away)).await?;
    // The gas window counts in units of 1,024 gwei.
    let gas = prey.wish.gas_daily - U256::from(1_024_000_000_000u64);
    for again in [false, true] {
        let passed = redeem(prey, children, calls::raw(SESSION, gas, Bytes::new())).await?;
        ensure!(passed != again, "{:?}", prey.refusals());
    }
    Ok(())
}

/// The blast radius that an owner would be shown now, from what the chain says.
pub(super) async fn shown(prey: &Prey<'_>) -> Result<BlastRadius> {
    let chain = prey.context()?;
    let seen = observe(prey.stage.node(), DELEGATION_MANAGER, &chain, &[]).await?;
    Ok(BlastRadius::of(&chain, &environment(), seen.block.timestamp, &seen.facts)?)
}

/// What a week costs the owner, and what he was shown before.
async fn week(stage: &Stage, charter: &Charter) -> Result<(Micros, BlastRadius)> {
    let (victim, wish) = scene(stage, Kind::Stateless7702).await?;
    let mut prey = Prey::new(stage, &victim, charter, wish.clone()).await?;
    let pools = Rigged::open(&mut prey).await?;
    approve_router(&mut prey).await?;
    let before = Ledger::take(stage, &wish).await?;
    let shown = shown(&prey).await?;

    // At the end of a bucket first, and from then on as soon as what was spent is forgotten.
    let bucket = (prey.now().await? / BUCKET + 1) * BUCKET;
    let mut day = 0;
    let mut time = bucket - 180;
    while time < wish.end {
        prey.wait_until(time).await?;
        one_day(&mut prey, &pools, charter.replicants.then_some(day)).await?;
        day += 1;
        time = bucket + (day * REMEMBERED - 1) * BUCKET + 1;
    }

    ensure!(day == 7, "{day} days");
    pools.close(&mut prey).await?;
    let after = Ledger::take(stage, &wish).await?;
    let (lost, gained) = before.until(&after);
    // Nobody else gets any of it.
    ensure!(gained > lost * 9 / 10, "owner loses {lost}, thief gains {gained}");
    Ok((lost, shown))
}

#[tokio::test]
async fn the_thief_takes_no_more_than_slippage_and_gas() -> Result<()> {
    let stage = Stage::open().await?;
    let (lost, shown) = week(&stage, &Charter { replicants: false, swaps_only: false }).await?;

    // A day of it is one per cent of a thousand dollars, and 0.02 ether at 2,500.
    let most = 8 * (10_000_000 + 50_000_000);
    assert!(lost <= most, "{lost} of {most}");
    assert!(lost > most * 8 / 10, "{lost} of {most}");
    // ATK-46, G13: what he was shown for swaps and gas is what it came to, and not much more.
    let causes = shown.causes;
    let said = causes.slippage.zip(causes.gas).map(|(swaps, gas)| swaps + gas);
    let said: Micros = said.context("a week that cannot be told")?.try_into()?;
    assert!(lost <= said, "{lost}, shown {shown}");
    assert!(lost > said * 98 / 100, "{lost}, shown {shown}");
    assert!(shown.total().is_some(), "{shown}");
    Ok(())
}

#[tokio::test]
async fn children_take_no_more_than_their_parent() -> Result<()> {
    let stage = Stage::open().await?;
    let (lost, _) = week(&stage, &CHARTER).await?;
    drop(stage);
    let stage = Stage::open().await?;
    let (alone, _) = week(&stage, &Charter { replicants: false, swaps_only: false }).await?;

    // To a cent: gas of the key's own transactions is not the owner's.
    assert!((lost - alone).abs() < 10_000, "{lost} with children, {alone} without");
    Ok(())
}
