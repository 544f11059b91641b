//! What becomes of children whose parent is killed, rotated, fed or dead.

use super::{
    Ask, Kin, Letters, Nursling, Reply, Sells, errand, heard, on_chain, parent, said, told,
};
use crate::{
    books::password,
    life::{DAY, DOLLAR, HOUR, Home, awake, documents, provisions, ticks},
};
use alloy::{
    primitives::{B256, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{GolemRegistry, golem_registry};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::STIPEND;
use golem_chain::{Node, environment};
use golem_custody::{DenialCode, Keys, RotationReason, Rotations};
use golem_delegation::{grant::Grant, terms::GolemCharter};
use golem_runtime::{DeathTrigger, Outcome, Passing, Provisions, Spawning, Upbringing};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A parent in a process of its own: its key and its books are in its folder.
pub(super) async fn kin(folder: &Path, node: Node, golem: B256, now: Arc<AtomicU64>) -> Result<()> {
    let config = StoreConfig { folder: folder.join("books"), golem, max_pages: None };
    let store = Arc::new(Store::open(&config, None)?);
    let documents = documents("- goal: none of its own\n", "- every: 1h\n");
    let keys = Keys::local(folder, password()?)?;
    let golem = awake(provisions(node, store, keys, documents, now)).await?;
    while let Some(ask) = heard()? {
        let Ask::Spawn { errand, introduced } = ask else {
            bail!("a parent is asked for children")
        };
        match golem.spawns(&errand, &introduced).await? {
            Spawning::Spawned(inheritance) => said(&Reply::Spawned(inheritance))?,
            other => bail!("{other:?}"),
        }
    }
    Ok(())
}

/// A Golem on its owner's machine, so that another process of it has the same key.
async fn on_a_machine(change: impl FnOnce(&mut GolemCharter)) -> Result<Home> {
    let keys = |folder: &Path| Ok(Keys::local(folder, password()?)?);
    Home::keeping(keys, "- goal: none of its own\n", "- every: 1h\n", change).await
}

/// kill -9 at every step of making a child: the next process goes on with the same one, once.
#[tokio::test]
async fn a_parent_that_is_killed_while_it_makes_a_child_makes_it_once() -> Result<()> {
    for step in ["asked", "recorded", "signed", "living"] {
        let home = on_a_machine(|law| law.replicants = true).await?;
        let mut golem = home.wakes().await?;
        let _ = ticks(&mut golem).await?;
        let mut child = Nursling::born(&home, &golem).await?;
        drop(golem);
        let crash = format!("replicant.{step}");
        let mut process = Kin::starts(&home, "parent", home.folder.path(), Some(&crash))?;
        let spawn = Ask::Spawn { errand: errand(50), introduced: child.introduced.clone() };
        ensure!(process.asked(&spawn).await?.is_none(), "{step}: it was not killed");
        let _ = process.process.wait().await?;

        let golem = home.wakes().await?;
        let spawned = golem.spawns(&errand(50), &child.introduced).await?;

        child.inherits(spawned).await.context(step)?;
        child.sold(&home, 10).await.context(step)?;
        assert_eq!(on_chain(&home).await?, U256::ONE, "{step}");
        assert_eq!(golem.children().await?.len(), 1, "{step}");
    }
    Ok(())
}

/// A parent whose process is killed is not dead: its child goes on within its bounds. But nobody reports for it any more, and once its
/// word is old the chain lets the child open nothing either.
#[tokio::test]
async fn a_killed_parents_child_goes_on_until_nobody_answers_for_it() -> Result<()> {
    let home = on_a_machine(|law| {
        law.replicants = true;
        law.staleness = u32::try_from(DAY).unwrap_or(u32::MAX);
    })
    .await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let mut child = Nursling::born(&home, &golem).await?;
    drop(golem);
    let mut process = Kin::starts(&home, "parent", home.folder.path(), None)?;
    let spawn = Ask::Spawn { errand: errand(50), introduced: child.introduced.clone() };
    let Reply::Spawned(inheritance) = process.answers(&spawn).await? else { bail!("no child") };
    child.inherits(Spawning::Spawned(inheritance)).await?;
    process.killed().await?;

    child.sold(&home, 10).await?;
    assert_eq!(child.stolen(&home, 41).await?, Some(DenialCode::Budget));
    home.later(DAY + HOUR).await?;

    assert_eq!(child.stolen(&home, 1).await?, Some(DenialCode::Phase));
    assert_eq!(child.sells(&home, 1).await?.0, [DenialCode::Phase.to_string()]);
    Ok(())
}

/// The owner's kill switch: one revocation at the register ends parent and child in the same block.
#[tokio::test]
async fn a_revoked_parents_child_does_nothing_any_more() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let mut child = Nursling::of(&home, &golem, &errand(50)).await?;
    child.sold(&home, 10).await?;

    let revoke = GolemRegistry::revokeCall { golemId: home.id };
    let data = revoke.abi_encode();
    let receipt =
        home.stage.send_as(home.owner.address(), golem_registry(), U256::ZERO, data.into()).await?;
    ensure!(receipt.status());

    assert_eq!(child.stolen(&home, 1).await?, Some(DenialCode::Revoked));
    ensure!(child.over(&home).await?.starts_with("its parent's grant is revoked"));
    ensure!(child.sells(&home, 1).await?.1, "it goes on");
    let _ = ticks(&mut golem).await?;
    ensure!(!golem.children().await?[0].lives());
    drop(golem);
    assert_eq!(told(&home, "replicantEnded")?, 1);
    Ok(())
}

/// A child's process that is killed is a child that ended; nobody else is made in its place while its grant counts.
#[tokio::test]
async fn a_child_whose_process_is_killed_ended_and_has_no_second_budget() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let mut child = Nursling::of(&home, &golem, &errand(50)).await?;
    child.sold(&home, 10).await?;
    let (key, id) = (child.key(), child.id()?);
    child.kin.killed().await?;

    golem.lost_child(key).await?;

    let next = Nursling::born(&home, &golem).await?;
    let Spawning::Refused(denials) = golem.spawns_again(id, &next.introduced).await? else {
        bail!("two budgets")
    };
    assert_eq!(denials[0].code, DenialCode::IntentUsed);
    let Upbringing::Ended { spent, .. } = golem.children().await?[0].upbringing else {
        bail!("it lives")
    };
    ensure!((10 * DOLLAR..11 * DOLLAR).contains(&spent), "{spent}");
    Ok(())
}

/// A parent with another grant: that of another key, or a longer one.
async fn renewed(rotates: bool) -> Result<()> {
    let home = parent().await?;
    let book = home.stage.book();
    let sells = Arc::new(Sells { sell: book.usdc, buy: book.weth, usd: AtomicU64::new(0) });
    let letters = Arc::new(Letters::default());
    let provisions = Provisions {
        strategist: Some(sells.clone()),
        inbox: Some(letters.clone()),
        ..home.provisions()?
    };
    let store = Arc::clone(&provisions.store);
    let mut golem = awake(provisions).await?;
    let _ = ticks(&mut golem).await?;
    let mut child = Nursling::of(&home, &golem, &errand(50)).await?;
    child.sold(&home, 30).await?;

    let wanted = if rotates {
        let rotations = Rotations::new(store.as_ref(), &home.keys);
        rotations.begin(RotationReason::Asked, golem.grant(), &environment(), home.now()).await?
    } else {
        let until = home.now() + 120 * DAY;
        Grant::read(golem.grant(), &environment())?.feed(until)?.delegation
    };
    home.stage.fund(wanted.delegate, STIPEND, U256::ZERO).await?;
    let old = golem.grant().clone();
    let signed = home.owner.grant(&home.stage.domain(), wanted)?;
    letters.0.lock().map_err(|_poisoned| anyhow::anyhow!("poisoned"))?.push(signed);
    home.later(HOUR).await?;
    let _ = ticks(&mut golem).await?;
    ensure!(*golem.grant() != old, "the grant is the old one");
    assert_eq!(rotates, golem.grant().delegate != old.delegate);
    // The first deed under the new grant ends what hangs on the old one.
    sells.usd.store(5, Ordering::Relaxed);
    home.later(HOUR).await?;
    let ticked = ticks(&mut golem).await?;
    ensure!(matches!(&ticked.deeds[..], [(_, Outcome::Done)]), "{ticked:?}");
    sells.usd.store(0, Ordering::Relaxed);

    assert_eq!(child.stolen(&home, 1).await?, Some(DenialCode::Superseded));
    assert_eq!(child.over(&home).await?, "its parent has another grant");
    ensure!(child.sells(&home, 1).await?.1, "it goes on");
    home.later(HOUR).await?;
    let _ = ticks(&mut golem).await?;
    ensure!(golem.children().await?.iter().all(|one| !one.lives()));

    // Another one in its place has what it left, and no more.
    let mut next = Nursling::born(&home, &golem).await?;
    let spawning = golem.spawns_again(child.id()?, &next.introduced).await?;
    next.inherits(spawning).await?;
    assert_eq!(next.stolen(&home, 21).await?, Some(DenialCode::Budget));
    next.sold(&home, 18).await?;
    assert_eq!(next.stolen(&home, 3).await?, Some(DenialCode::Budget));
    drop((golem, store));
    assert_eq!(told(&home, "replicantEnded")?, 1);
    assert_eq!(told(&home, "replicantSpawned")?, 2);
    Ok(())
}

/// D17, ATK-09: another key of the parent's ends the child of the old one, and refills nothing.
#[tokio::test]
async fn a_rotated_parents_child_is_superseded_and_made_again_with_what_is_left() -> Result<()> {
    renewed(true).await
}

/// G8: a longer grant for the same key does, too.
#[tokio::test]
async fn a_fed_parents_child_is_superseded_and_made_again_with_what_is_left() -> Result<()> {
    renewed(false).await
}

/// A dead parent's children cannot act, and it has no others.
#[tokio::test]
async fn a_dead_parents_child_is_refused_and_not_made_again() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let mut child = Nursling::of(&home, &golem, &errand(50)).await?;
    child.sold(&home, 10).await?;
    let next = Nursling::born(&home, &golem).await?;

    let Passing::Dead(_) = golem.dies(DeathTrigger::OwnerKillSwitch).await? else {
        bail!("it lives")
    };

    assert_eq!(child.stolen(&home, 1).await?, Some(DenialCode::NotAlive));
    assert_eq!(child.over(&home).await?, "its parent is dead");
    ensure!(child.sells(&home, 1).await?.1, "it goes on");
    for spawning in [
        golem.spawns(&errand(50), &next.introduced).await?,
        golem.spawns_again(child.id()?, &next.introduced).await?,
    ] {
        let Spawning::Refused(denials) = spawning else { bail!("{spawning:?}") };
        assert_eq!(denials[0].code, DenialCode::NotAlive, "{denials:?}");
    }
    ensure!(golem.children().await?.iter().all(|one| !one.lives()));
    drop(golem);
    assert_eq!(told(&home, "replicantEnded")?, 1);
    Ok(())
}
