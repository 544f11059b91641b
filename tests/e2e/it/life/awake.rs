//! SPEC L1, D19, D32, K8: what a fault, a kill or a pause does not make a Golem miss.

use super::{DCA, HOUR, Home, awake, crashes::house, ticks};
use alloy::{primitives::U256, sol_types::SolCall as _};
use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use bardo_bindings::{GolemRegistry, golem_registry};
use golem_chain::Writing;
use golem_custody::{BoxError, DeathSettlement};
use golem_delegation::grant::Phase;
use golem_runtime::{
    Clock, DeathTrigger, Ending, FolderInbox, Passing, Provisions, Pulse, Strategist, Thought,
    World,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{Notify, mpsc},
    time::timeout,
};

const RARELY: &str = "- every: 1d\n- fastest: 1d\n- slowest: 1d\n";
/// Longer than anything here takes, and shorter than any pause.
const PATIENCE: Duration = Duration::from_secs(90);

/// Never knows what it wants: each tick is a fault.
struct Lost;

#[async_trait]
impl Strategist for Lost {
    fn name(&self) -> &str {
        "lost"
    }

    async fn think(&self, _: &World) -> Result<Thought, BoxError> {
        Err("nobody knows".into())
    }
}

/// D32: a fault is left alone for minutes, whatever HEARTBEAT.md says, and never beyond the second in which time alone makes it Terminal.
#[tokio::test]
async fn a_fault_is_left_alone_for_minutes_and_not_beyond_its_end() -> Result<()> {
    for (left, most) in [(30 * 86_400, 300), (60_479 + 100, 100)] {
        let home = Home::with("- goal: to be there\n", RARELY).await?;
        let machine_ends = Some(home.now() + left);
        let strategist: Option<Arc<dyn Strategist>> = Some(Arc::new(Lost));
        let mut golem =
            awake(Provisions { machine_ends, strategist, ..home.provisions()? }).await?;
        let clock = Clock::of(home.stage.node(), || 0).await?;
        let (known, pauses) = (Notify::new(), Mutex::new(Vec::new()));

        let lives = golem.live(&clock, known.notified(), |pulse| {
            if let Pulse::Faulted { pause, .. } = pulse {
                pauses.lock().unwrap().push(pause);
                known.notify_one();
            }
        });
        let ending = timeout(PATIENCE, lives).await?;

        assert_eq!(ending, Ending::Stopped);
        let pauses = pauses.lock().unwrap();
        let first = pauses.first().context("no fault")?;
        ensure!((most - 60..=most).contains(&first.as_secs()), "{left}: {first:?}");
    }
    Ok(())
}

/// D19: while it leaves a fault alone it hears of what its owner sends, and of his revocation.
#[tokio::test]
async fn what_its_owner_does_is_known_while_a_fault_is_left_alone() -> Result<()> {
    let home = Home::with("- goal: to be there\n", RARELY).await?;
    let inbox = Arc::new(FolderInbox::of(home.path()));
    let strategist: Option<Arc<dyn Strategist>> = Some(Arc::new(Lost));
    let provided = Provisions { inbox: Some(inbox.clone()), strategist, ..home.provisions()? };
    let mut golem = awake(provided).await?;
    let clock = Clock::of(home.stage.node(), || 0).await?;
    let (tell, mut told) = mpsc::unbounded_channel();
    let lives = golem.live(&clock, std::future::pending(), |pulse| match pulse {
        Pulse::Faulted { .. } => tell.send("fault").unwrap(),
        Pulse::GrantEnded(_) => tell.send("over").unwrap(),
        _ => {}
    });
    let owner = async {
        assert_eq!(told.recv().await, Some("fault"));
        inbox.ask_rotation(home.owner.address())?;
        assert_eq!(told.recv().await, Some("fault"), "it did not hear of a letter");
        let data = GolemRegistry::revokeCall { golemId: home.id }.abi_encode().into();
        let from = home.owner.address();
        home.stage.send_as(from, golem_registry(), U256::ZERO, data).await?;
        assert_eq!(told.recv().await, Some("over"), "it did not hear of its end");
        anyhow::Ok(())
    };

    let (lived, done) = tokio::join!(timeout(PATIENCE, lives), timeout(PATIENCE, owner));

    done??;
    assert_eq!(lived?, Ending::Died(DeathTrigger::GrantEnded));
    Ok(())
}

/// INV-9, K8: lost behind its last tick and before its death was accepted, the next process does not wait for the next tick, and knows still
/// what it dies of.
#[tokio::test]
async fn lost_before_its_death_was_accepted_it_dies_at_once_and_of_the_same() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    home.writes(&Writing::Advance { golem: home.id, phase: Phase::Terminal }).await?;
    home.later(HOUR).await?;
    let last = ticks(&mut golem).await?;
    assert_eq!(last.dies_of, Some(DeathTrigger::OwnerKillSwitch), "{:?}", last.clocks);
    drop(golem);

    let mut golem = home.wakes().await?;
    let clock = Clock::of(home.stage.node(), || 0).await?;
    let ending = timeout(PATIENCE, golem.live(&clock, std::future::pending(), |_| ())).await?;

    assert_eq!(ending, Ending::Died(DeathTrigger::OwnerKillSwitch));
    Ok(())
}

/// K8: that the registry has its last phase by its own word, of before a kill, is not its owner's doing, whatever its clocks say by then.
#[tokio::test]
async fn what_it_said_itself_before_a_kill_is_not_taken_for_its_owners_word() -> Result<()> {
    let home = house("- goal: to be there\n").await?;
    home.has_ether(1_000).await?;
    home.ticks_again().await?;
    let price = home.ether_price().await?;
    home.ether_costs(price * 40 / 100).await?;
    home.later(HOUR).await?;
    home.killed_at("heartbeat.told").await?;
    assert_eq!(home.entry().await?.state.phase, Phase::Terminal);

    // Prices come back, and the phase does not.
    home.ether_costs(price).await?;
    home.later(HOUR).await?;
    let mut golem = home.wakes().await?;
    let ticked = ticks(&mut golem).await?;

    assert_eq!((ticked.phase, ticked.dies_of), (Phase::Terminal, Some(DeathTrigger::Loss)));
    let passing = golem.dies(DeathTrigger::Loss).await?;
    ensure!(
        matches!(passing, Passing::Dead(DeathSettlement::DelegationExpiry { .. })),
        "{passing:?}"
    );
    Ok(())
}
