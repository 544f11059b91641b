//! SPEC K11, K8, D13, D18, INV-9: a death that was accepted comes to its end, however it is interrupted, and its owner has what was his.

use super::{DAY, DCA, DOLLAR, HOUR, Home, awake, documents, provisions, ticks};
use alloy::primitives::U256;
use anyhow::{Context as _, Result, bail, ensure};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::dollars;
use golem_chain::{Node, Writing};
use golem_custody::{DeathSettlement, DenialCode, Keyring as _, Keys, Password};
use golem_delegation::grant::Phase;
use golem_runtime::{DeathTrigger, Dying, Passing, Provisions};
use std::{
    env,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::process::Command;

/// All that the owner has, in dollars by the feeds and a little less: vault, purse and wrapped ether.
async fn fortune(home: &Home) -> Result<u64> {
    let (book, price) = (home.stage.book(), home.ether_price().await?);
    let mut micro = U256::ZERO;
    for who in [home.vault.address, home.owner.address()] {
        micro += home.stage.balance_of(book.usdc, who).await?;
        let weth = home.stage.balance_of(book.weth, who).await?;
        micro += weth * U256::from(price) / U256::from(10).pow(U256::from(20));
    }
    Ok(u64::try_from(micro)? / DOLLAR)
}

/// A Golem that bought a little, and now has no more life than a day.
async fn old(home: &Home, provisions: Provisions) -> Result<golem_runtime::Golem> {
    let mut golem = awake(provisions).await?;
    for _ in 0..2 {
        let _ = ticks(&mut golem).await?;
        home.later(DAY).await?;
    }
    Ok(golem)
}

/// The whole way: its last phase on the register, all of it home, no allowance, no key, no grant that does anything.
#[tokio::test]
async fn a_golem_dies_and_its_owner_has_everything() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let mut golem = old(&home, home.provisions()?).await?;
    let before = fortune(&home).await?;
    ensure!(!home.holds(home.stage.book().weth).await?.is_zero(), "it bought nothing");

    let passing = golem.dies(DeathTrigger::Age).await?;

    let Passing::Dead(death) = passing else { bail!("{passing:?}") };
    ensure!(death.positions_deferred().is_empty(), "{death:?}");
    ensure!(matches!(death, DeathSettlement::DelegationExpiry { .. }), "{death:?}");
    let after = fortune(&home).await?;
    ensure!(after * 100 >= before * 99, "{before} before, {after} after");
    let state = home.entry().await?.state;
    ensure!(state.closed && state.phase == Phase::Terminal, "{state:?}");
    ensure!(home.keys.current().await.is_none(), "the key is there");
    let denied = home.judged(&golem, 1).await?;
    assert_eq!(denied, Some(DenialCode::NotAlive));
    // It cannot be undone, and not be done twice.
    assert_eq!(golem.dies(DeathTrigger::Exhaustion).await?, Passing::Dead(death));
    let fed = home.writes(&Writing::Feed { golem: home.id, phase: Phase::Stable }).await;
    ensure!(fed.is_err(), "a dead Golem was fed");
    drop(golem);
    for once in ["deathProtocolStarted", "GOLEM_TERMINAL", "PERMISSION_REVOKED", "deathCompleted"] {
        let told = home.log()?.iter().filter(|record| record.body.contains(once)).count();
        assert_eq!(told, 1, "{once}");
    }
    Ok(())
}

/// D18: a life that ends by its clocks ends in its tick, and says of what.
#[tokio::test]
async fn a_life_at_its_end_says_what_it_dies_of() -> Result<()> {
    let home = Home::under(DCA, "- every: 6h\n", |law| {
        let start = law.window.start();
        law.window =
            golem_delegation::terms::MortalityTimeWindow::new(start, start + 3 * DAY).unwrap();
    })
    .await?;
    let mut golem = home.wakes().await?;
    let ticked = ticks(&mut golem).await?;
    ensure!(ticked.dies_of.is_none(), "{ticked:?}");
    home.later(2 * DAY + 20 * HOUR).await?;

    let ticked = ticks(&mut golem).await?;

    assert_eq!((ticked.phase, ticked.dies_of), (Phase::Terminal, Some(DeathTrigger::Exhaustion)));
    ensure!(ticked.deeds.is_empty(), "a dying Golem buys: {ticked:?}");
    let passing = golem.dies(DeathTrigger::Exhaustion).await?;
    ensure!(
        matches!(passing, Passing::Dead(DeathSettlement::EconomicExhaustion { .. })),
        "{passing:?}"
    );
    Ok(())
}

/// D21: without its key nothing can be settled, and it waits for its owner, whose money was his all the time.
#[tokio::test]
async fn a_death_without_a_key_waits_and_harms_nobody() -> Result<()> {
    let mut home = Home::with(DCA, "- every: 6h\n").await?;
    let golem = old(&home, home.provisions()?).await?;
    drop(golem);
    home.keys = Keys::hosted();
    let mut golem = home.wakes().await?;
    let passing = golem.dies(DeathTrigger::OwnerKillSwitch).await?;
    ensure!(matches!(passing, Passing::Waits(_)), "{passing:?}");
    let dying = golem.dying().await?.context("it lives")?;
    ensure!(matches!(dying, Dying::Accepted { .. }), "{dying:?}");
    Ok(())
}

const STEPS: [&str; 8] = [
    "thanatopsis.accepted",
    "settlement.accepted",
    "settlement.closed",
    "settlement.returned",
    "settlement.settled",
    "thanatopsis.settled",
    "thanatopsis.reflected",
    "thanatopsis.left",
];

fn password() -> Result<Password> {
    Password::typed("a death".to_owned().into()).context("a password")
}

/// A process that dies, and is killed on the way. By itself it does nothing.
#[tokio::test]
async fn victim() -> Result<()> {
    let Ok(folder) = env::var("BARDO_DYING") else { return Ok(()) };
    let folder = PathBuf::from(folder);
    let node = Node::connect(&env::var("BARDO_DYING_URL")?.parse()?).await?;
    let golem = env::var("BARDO_DYING_GOLEM")?.parse()?;
    let config = StoreConfig { folder: folder.join("books"), golem, max_pages: None };
    let store = Arc::new(Store::open(&config, None)?);
    let keys = Keys::local(&folder, password()?)?;
    let now = Arc::new(AtomicU64::new(env::var("BARDO_DYING_NOW")?.parse()?));
    let written = documents(DCA, "- every: 6h\n");
    let mut golem = awake(provisions(node, store, keys, written, now)).await?;
    let _ = golem.dies(DeathTrigger::Age).await?;
    Ok(())
}

/// INV-9: killed at each step, the next process goes on, and at the end all is as after one that nobody killed.
#[tokio::test]
async fn killed_in_any_phase_a_death_goes_on_where_it_was() -> Result<()> {
    for step in STEPS {
        let local = |folder: &Path| Ok(Keys::local(folder, password()?)?);
        let home = Home::keeping(local, DCA, "- every: 6h\n", |_| ()).await?;
        let folder = home.path().to_owned();
        let golem = old(&home, home.provisions()?).await?;
        drop(golem);
        let before = fortune(&home).await?;
        let process = |at: Option<&str>| {
            let mut process = Command::new(env::current_exe()?);
            process
                .args(["--exact", "life::deaths::victim", "--nocapture"])
                .env("BARDO_DYING", &folder)
                .env("BARDO_DYING_GOLEM", home.id.to_string())
                .env("BARDO_DYING_URL", home.stage.chain().url().as_str())
                .env("BARDO_DYING_NOW", home.now.load(Ordering::Relaxed).to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .kill_on_drop(true);
            if let Some(at) = at {
                process.env("BARDO_CRASH_AT", at);
            }
            anyhow::Ok(process)
        };

        let killed = process(Some(step))?.status().await?;
        assert_eq!(killed.signal(), Some(9), "{step}: {killed}");
        let finished = process(None)?.status().await?;

        ensure!(finished.success(), "{step}: {finished}");
        let after = fortune(&home).await?;
        ensure!(after * 100 >= before * 99, "{step}: {before} before, {after} after");
        ensure!(home.entry().await?.state.closed, "{step}: it lives on the register");
        let log = home.log()?;
        for once in ["deathProtocolStarted", "deathCompleted"] {
            let told = log.iter().filter(|record| record.body.contains(once)).count();
            assert_eq!(told, 1, "{step}: {once}");
        }
        ensure!(
            home.holds(home.stage.book().usdc).await? <= dollars(1),
            "{step}: left in the vault"
        );
    }
    Ok(())
}
