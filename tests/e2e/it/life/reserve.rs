//! SPEC L5: what a death costs its key is kept back for it, and pays for it.

use super::{DAY, DCA, HOUR, Home, ticks};
use alloy::{
    eips::BlockId,
    primitives::{Address, U256},
    providers::Provider as _,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_testkit::STIPEND;
use golem_chain::{Registry, environment};
use golem_custody::{DenialCode, Keyring as _, Keys};
use golem_delegation::{
    grant::{Grant, Phase},
    terms::Role,
};
use golem_runtime::{DeathTrigger, Errand, Outcome, Passing, Replicant, Spawning, death_gas};

/// Gas of all that a key sent in blocks behind this one.
async fn spent_behind(home: &Home, block: u64, key: Address) -> Result<u64> {
    let (mut gas, last) = (0, home.stage.node().head().await?.number);
    for number in block + 1..=last {
        let id = BlockId::number(number);
        let receipts = home.stage.node().provider().get_block_receipts(id).await?;
        let own = receipts.context("no block")?.into_iter().filter(|one| one.from == key);
        gas += own.map(|receipt| receipt.gas_used).sum::<u64>();
    }
    Ok(gas)
}

/// Below it a Golem does what its death needs and nothing else, says so once, and goes on when it has coins again.
#[tokio::test]
async fn a_golem_with_no_more_than_its_death_costs_does_only_what_that_needs() -> Result<()> {
    let home = Home::under(DCA, "- every: 6h\n", |law| law.replicants = true).await?;
    home.has_ether(500).await?;
    let mut golem = home.wakes().await?;
    let bought = ticks(&mut golem).await?;
    ensure!(matches!(bought.deeds.as_slice(), [(_, Outcome::Done)]), "{bought:?}");
    let key = home.keys.current().await.context("no key")?;
    let reserve = golem.life().reserve.context("it does not know what its death costs")?;
    ensure!(!reserve.is_short() && reserve.needed > U256::ZERO, "{reserve:?}");
    let beats = async || {
        anyhow::Ok(Registry::open(home.stage.node()).await?.heartbeats(home.id, 0).await?.len())
    };
    let (anchored, mood) = (beats().await?, home.entry().await?.state.mood);
    // Prices of gas fall in empty blocks: half of it is enough to be short, and to say a phase.
    home.stage.fund(key, reserve.needed / U256::from(2), U256::ZERO).await?;
    let price = home.ether_price().await?;
    home.ether_costs(price * 45 / 100).await?;
    home.later(2 * DAY).await?;

    for _ in 0..2 {
        let spares = ticks(&mut golem).await?;
        ensure!(golem.life().is_sparing(), "{:?}", golem.life().reserve);
        ensure!(spares.deeds.is_empty(), "{spares:?}");
        home.later(HOUR).await?;
    }

    assert_eq!((beats().await?, home.entry().await?.state.mood), (anchored, mood));
    let phase = home.entry().await?.state.phase;
    ensure!(
        phase == golem.life().phase && phase > Phase::Thriving,
        "it tells its phase: {phase:?}"
    );
    home.stage.fund(key, STIPEND, U256::ZERO).await?;
    let _ = ticks(&mut golem).await?;
    ensure!(!golem.life().is_sparing() && beats().await? > anchored, "it spares on");
    drop(golem);
    assert_eq!((home.once("deathReserveShort")?, home.once("deathReserveRestored")?), (1, 1));
    Ok(())
}

/// Neither a wish nor a child is paid from it while everything else would allow them.
#[tokio::test]
async fn what_its_death_costs_pays_for_no_wish_and_no_child() -> Result<()> {
    let home = Home::under(DCA, "- every: 6h\n", |law| law.replicants = true).await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let key = home.keys.current().await.context("no key")?;
    let reserve = golem.life().reserve.context("no reserve")?;
    home.stage.fund(key, reserve.needed / U256::from(2), U256::ZERO).await?;
    home.later(DAY).await?;

    let spares = ticks(&mut golem).await?;

    ensure!(spares.deeds.is_empty() && spares.phase == Phase::Thriving, "{spares:?}");
    let asked = golem.asks_for_a_child(home.id).await?;
    let introduced = Replicant::introduces(&Keys::hosted(), asked).await?;
    let (budget, lifespan) = (1_000_000, DAY);
    let errand = Errand { budget, lifespan, targets: vec![], methods: vec![], calls: None };
    let Spawning::Refused(denials) = golem.spawns(&errand, &introduced).await? else {
        bail!("it has a child")
    };
    assert_eq!(denials[0].code, DenialCode::NoGas, "{denials:?}");
    home.stage.fund(key, STIPEND, U256::ZERO).await?;
    let again = ticks(&mut golem).await?;
    ensure!(matches!(again.deeds.as_slice(), [(_, Outcome::Done)]), "{again:?}");
    Ok(())
}

/// The figure is enough, with half as much again to spare, and a death may use all of it.
#[tokio::test]
async fn a_death_is_paid_from_its_reserve_alone() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    home.later(HOUR).await?;
    let _ = ticks(&mut golem).await?;
    let key = home.keys.current().await.context("no key")?;
    let reserve = golem.life().reserve.context("no reserve")?;
    home.stage.fund(key, reserve.needed, U256::ZERO).await?;
    let before = home.stage.node().head().await?.number;

    let passing = golem.dies(DeathTrigger::Age).await?;

    let Passing::Dead(death) = passing else { bail!("{passing:?}") };
    ensure!(death.positions_deferred().is_empty(), "{death:?}");
    ensure!(home.entry().await?.state.closed, "it lives on the register");
    let gas = spent_behind(&home, before, key).await?;
    let at = environment();
    let law = Grant::read(golem.grant(), &at)?;
    let listing = &law.charter().listing;
    let vaults = listing.targets.iter().filter(|one| one.role == Role::Vault).count();
    let figure = death_gas(u64::try_from(listing.tokens.len() + vaults)?);
    ensure!(gas * 3 / 2 <= figure, "{gas} of {figure}");
    eprintln!("a death took {gas} gas of {figure}");
    Ok(())
}
