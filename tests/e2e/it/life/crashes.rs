//! SPEC L1, D9, INV-8, INV-10: a tick that is killed anywhere is done again, each of its events is told once, and no phase goes back for it.

use super::{
    DAY, DOLLAR, HOUR, Home, awake,
    costs::{MACHINE, MODELS, payees, runway},
    documents, provisions, ticks,
};
use alloy::{primitives::U256, providers::ext::AnvilApi as _};
use anyhow::{Context as _, Result, ensure};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::dollars;
use golem_chain::{LanePolicy, Node, Writing};
use golem_custody::{Keys, Password, Runways};
use golem_delegation::grant::Phase;
use golem_runtime::{ObservingCause, Outcome, Provisions};
use std::{
    env,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};
use tokio::process::Command;

const NOTHING: &str = "- goal: to be there\n";
const SLEEPS: &str = "- every: 6h\n- dream: 6h every 24h\n";

fn password() -> Result<Password> {
    Password::typed("a tick".to_owned().into()).context("a password")
}

pub(super) async fn house(strategy: &str) -> Result<Home> {
    let local = |folder: &Path| Ok(Keys::local(folder, password()?)?);
    Home::keeping(local, strategy, SLEEPS, |_| ()).await
}

impl Home {
    /// One tick in a process of its own, which is killed at a step if one is named.
    async fn one_tick(&self, crash_at: Option<&str>) -> Result<ExitStatus> {
        let mut process = Command::new(env::current_exe()?);
        process
            .args(["--exact", "life::crashes::victim", "--nocapture"])
            .env("BARDO_TICKING", self.path())
            .env("BARDO_TICKING_GOLEM", self.id.to_string())
            .env("BARDO_TICKING_URL", self.stage.chain().url().as_str())
            .env("BARDO_TICKING_NOW", self.now().to_string())
            .env("BARDO_TICKING_STRATEGY", &self.documents.strategy)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        if let Some(step) = crash_at {
            process.env("BARDO_CRASH_AT", step);
        }
        Ok(process.status().await?)
    }

    pub(super) async fn killed_at(&self, step: &str) -> Result<()> {
        let killed = self.one_tick(Some(step)).await?;
        assert_eq!(killed.signal(), Some(9), "{step}: {killed}");
        Ok(())
    }

    pub(super) async fn ticks_again(&self) -> Result<()> {
        let finished = self.one_tick(None).await?;
        ensure!(finished.success(), "{finished}");
        Ok(())
    }

    /// A little of its worth is ether, and that falls by more than half.
    pub(super) async fn falls(&self) -> Result<()> {
        let price = self.ether_price().await?;
        self.ether_costs(price * 45 / 100).await
    }
}

/// A process that ticks once. By itself it does nothing.
#[tokio::test]
async fn victim() -> Result<()> {
    let Ok(folder) = env::var("BARDO_TICKING") else { return Ok(()) };
    let folder = PathBuf::from(folder);
    let node = Node::connect(&env::var("BARDO_TICKING_URL")?.parse()?).await?;
    let golem = env::var("BARDO_TICKING_GOLEM")?.parse()?;
    let config = StoreConfig { folder: folder.join("books"), golem, max_pages: None };
    let store = Arc::new(Store::open(&config, None)?);
    let keys = Keys::local(&folder, password()?)?;
    let now = Arc::new(AtomicU64::new(env::var("BARDO_TICKING_NOW")?.parse()?));
    let written = documents(&env::var("BARDO_TICKING_STRATEGY")?, SLEEPS);
    let provided = provisions(node, store, keys, written, now);
    let mut golem = awake(Provisions { payees: payees(), ..provided }).await?;
    let _ = ticks(&mut golem).await?;
    Ok(())
}

const STEPS: [&str; 14] = [
    "heartbeat.promised",
    "intent.reserved",
    "intent.sealed",
    "intent.kept",
    "intent.ending",
    "intent.ended",
    "heartbeat.said-vitality",
    "heartbeat.said-mood",
    "heartbeat.said-dream",
    "heartbeat.told",
    "sustenance.promised",
    "sustenance.paid",
    "sustenance.told",
    "heartbeat.recorded",
];

/// L1, T3, INV-10: the tick that wakes, says so, pays and is in another phase; killed at each of its steps.
#[tokio::test]
async fn killed_at_any_step_a_tick_tells_and_pays_once() -> Result<()> {
    for step in STEPS {
        let home = house(NOTHING).await?;
        home.has_ether(400).await?;
        let usdc = home.stage.book().usdc;
        let store = home.store()?;
        Runways::new(store.as_ref()).keep(&runway(&home, usdc).await?, home.now()).await?;
        drop(store);
        home.ticks_again().await?;
        home.later(19 * HOUR).await?;
        home.ticks_again().await?;
        ensure!(home.entry().await?.state.dreaming, "{step}: it does not dream");
        home.falls().await?;
        home.later(6 * HOUR).await?;
        let kinds = ["phaseChanged", "vitalityReported", "moodChanged", "dreamEnded"];
        let mut before = Vec::new();
        for kind in kinds {
            before.push(home.once(kind)?);
        }

        home.killed_at(step).await?;
        home.ticks_again().await?;

        for (kind, before) in kinds.into_iter().zip(before) {
            assert_eq!(home.once(kind)? - before, 1, "{step}: {kind}");
        }
        assert_eq!(home.once("fed")?, 0, "{step}: nobody fed it");
        assert_eq!(home.once("runwayRedeemed")?, 2, "{step}");
        let state = home.entry().await?.state;
        assert_eq!((state.phase, state.dreaming), (Phase::Stable, false), "{step}");
        // Another tick of the same second changes nothing of that.
        home.ticks_again().await?;
        assert_eq!(home.once("runwayRedeemed")?, 2, "{step}");
        assert_eq!(home.once("dreamEnded")?, 1, "{step}");
        for (payee, cost) in [(MODELS, DOLLAR), (MACHINE, DOLLAR / 2)] {
            assert_eq!(home.stage.balance_of(usdc, payee).await?, U256::from(cost), "{step}");
        }
    }
    Ok(())
}

/// INV-8, D9: a phase that the registry never got is told again, and is not taken for one that its owner turned back.
#[tokio::test]
async fn a_phase_that_was_not_told_yet_is_told_and_is_no_feed() -> Result<()> {
    for step in
        ["intent.reserved", "intent.sealed", "heartbeat.promised", "heartbeat.said-vitality"]
    {
        let home = house(NOTHING).await?;
        home.has_ether(500).await?;
        home.ticks_again().await?;
        home.falls().await?;
        home.later(HOUR).await?;

        home.killed_at(step).await?;
        home.later(HOUR).await?;
        home.ticks_again().await?;

        assert_eq!(home.entry().await?.state.phase, Phase::Conservation, "{step}");
        assert_eq!((home.once("fed")?, home.once("phaseChanged")?), (0, 1), "{step}");
    }
    Ok(())
}

/// D9: what its owner turned back while it was not there is a Feed, whatever it had not written down.
#[tokio::test]
async fn a_feed_after_a_kill_counts() -> Result<()> {
    let home = house(NOTHING).await?;
    home.has_ether(500).await?;
    home.ticks_again().await?;
    home.falls().await?;
    home.later(HOUR).await?;
    home.killed_at("heartbeat.said-vitality").await?;
    assert_eq!(home.entry().await?.state.phase, Phase::Conservation);

    home.writes(&Writing::Feed { golem: home.id, phase: Phase::Stable }).await?;
    home.later(HOUR).await?;
    home.ticks_again().await?;

    assert_eq!((home.once("fed")?, home.entry().await?.state.phase), (1, Phase::Stable));
    home.later(HOUR).await?;
    home.ticks_again().await?;
    assert_eq!((home.once("fed")?, home.entry().await?.state.phase), (1, Phase::Stable));
    Ok(())
}

/// L1: what was not settled in its tick, and takes effect later, is told then, and once.
#[tokio::test]
async fn what_is_settled_after_its_tick_is_told_then() -> Result<()> {
    let home = Home::with(NOTHING, "- every: 1h\n").await?;
    home.has_ether(500).await?;
    let provisions = home.provisions()?;
    let lane = LanePolicy { give_up: Duration::from_millis(300), ..provisions.lane };
    let mut golem = awake(Provisions { lane, ..provisions }).await?;
    let _ = ticks(&mut golem).await?;
    home.falls().await?;
    home.later(HOUR).await?;
    let provider = home.stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let before = (home.once("vitalityReported")?, home.once("moodChanged")?);

    let afloat = ticks(&mut golem).await?;

    assert_eq!(afloat.phase, Phase::Conservation);
    assert_eq!((home.once("vitalityReported")?, home.once("moodChanged")?), before);
    assert_eq!(golem.life().owed.len(), 2, "{:?}", golem.life().owed);
    provider.anvil_set_auto_mine(true).await?;
    for _ in 0..2 {
        home.later(HOUR).await?;
        let _ = ticks(&mut golem).await?;
        let told = (home.once("vitalityReported")?, home.once("moodChanged")?);
        assert_eq!(told.0, before.0 + 1);
        ensure!(told.1 > before.1, "{told:?}");
        assert_eq!(home.entry().await?.state.phase, Phase::Conservation);
        ensure!(golem.life().owed.is_empty(), "{:?}", golem.life().owed);
    }
    drop(golem);
    assert_eq!((home.once("fed")?, home.once("phaseChanged")?), (0, 1));
    Ok(())
}

/// INV-8, D21: a Golem that looks on cannot tell its phase, and does not feed itself for that.
#[tokio::test]
async fn a_golem_that_looks_on_does_not_feed_itself() -> Result<()> {
    let mut home = Home::with(NOTHING, "- every: 1h\n").await?;
    home.has_ether(500).await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    drop(golem);
    home.keys = Keys::hosted();
    home.falls().await?;
    home.later(HOUR).await?;
    let mut golem = home.wakes().await?;
    for _ in 0..3 {
        let ticked = ticks(&mut golem).await?;
        assert_eq!(ticked.observing, Some(ObservingCause::Unattached));
        assert_eq!(ticked.phase, Phase::Conservation, "{:?}", ticked.clocks);
        ensure!(golem.life().mark > 2_490 * DOLLAR, "its mark began anew");
        home.later(HOUR).await?;
    }
    drop(golem);
    assert_eq!((home.once("fed")?, home.once("phaseChanged")?), (0, 1));
    assert_eq!(home.entry().await?.state.phase, Phase::Thriving, "it could not say so");
    Ok(())
}

/// T3: what was refused is the same day's still: it is paid once it can be, and once.
#[tokio::test]
async fn a_days_cost_that_was_refused_is_paid_when_it_can_be() -> Result<()> {
    let home = Home::with(NOTHING, "- every: 6h\n").await?;
    let (usdc, owner) = (home.stage.book().usdc, home.owner.address());
    let store = home.store()?;
    Runways::new(store.as_ref()).keep(&runway(&home, usdc).await?, home.now()).await?;
    drop(store);
    let mut golem = awake(Provisions { payees: payees(), ..home.provisions()? }).await?;
    let _ = ticks(&mut golem).await?;
    home.later(DAY).await?;
    let all = home.stage.balance_of(usdc, owner).await?;
    let away = bardo_bindings::defi::Erc20::transferCall {
        to: alloy::primitives::Address::repeat_byte(0x77),
        amount: all,
    };
    let away = alloy::sol_types::SolCall::abi_encode(&away);
    ensure!(home.stage.send_as(owner, usdc, U256::ZERO, away.into()).await?.status());
    let _ = ticks(&mut golem).await?;
    ensure!(home.stage.balance_of(usdc, MODELS).await?.is_zero());
    home.stage
        .faucet(usdc, bardo_bindings::defi::Erc20::mintCall { to: owner, amount: dollars(50) })
        .await?;
    home.later(HOUR).await?;

    for _ in 0..2 {
        let ticked = ticks(&mut golem).await?;
        ensure!(ticked.deeds.iter().all(|(_, outcome)| *outcome == Outcome::Done), "{ticked:?}");
        home.later(HOUR).await?;
    }

    for (payee, cost) in [(MODELS, DOLLAR), (MACHINE, DOLLAR / 2)] {
        assert_eq!(home.stage.balance_of(usdc, payee).await?, U256::from(cost));
    }
    drop(golem);
    assert_eq!(home.once("runwayRedeemed")?, 2);
    Ok(())
}
