//! Row 1: the process ends, its disk is there.

use super::{Golem, World};
use crate::books::{PATIENCE, done, mandate, opened, password, policy, process, verified};
use alloy::primitives::{Address, U256, hex};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_testkit::{dollars, judged};
use golem_chain::{AccountKind, Lane, LaneFault, environment};
use golem_custody::{
    CustodyError, DenialCode, Keyring as _, Keys, RotationReason, Rotations, Switching,
    crash::Failpoint,
};
use std::{
    os::unix::process::ExitStatusExt as _,
    process::{ExitStatus, Stdio},
    sync::Arc,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::Child,
    time::timeout,
};

const SIGKILL: i32 = 9;

fn killed(status: ExitStatus, at: Failpoint) -> Result<()> {
    ensure!(status.signal() == Some(SIGKILL), "{}: {status}", at.name());
    Ok(())
}

/// K10, "process crash", of a Golem whose key is a file of its owner's: the next process has the same key, brings to its end what
/// was signed, and goes on. The owner does nothing.
#[tokio::test]
async fn after_a_crash_a_local_golem_goes_on_with_its_key_and_grant() -> Result<()> {
    for (at, first) in [(Failpoint::IntentSealed, 0), (Failpoint::IntentKept, 10)] {
        let world = World::open(AccountKind::Hybrid).await?;
        let folder = tempfile::tempdir()?;
        let key = Keys::local(folder.path(), password()?)?.current().await.context("no key")?;
        world.fuels(key).await?;
        let grant = world.first_grant(key).await?;
        let before = world.sent_by_owner().await?;
        let (url, now) = (world.stage.chain().url(), world.stage.now().await?);
        let mut victim = process(folder.path(), url, now, Some(at.name()))?;
        victim.env("BARDO_VICTIM_CALL", hex::encode(world.sale(&grant, 10)?.calldata()));
        killed(victim.status().await?, at)?;

        let keys = Keys::local(folder.path(), password()?)?;
        assert_eq!(keys.current().await, Some(key), "{}: the key is the one it was", at.name());
        let golem = Golem::in_folder(folder, keys, grant)?;
        let resumed = Rotations::new(golem.store.as_ref(), &golem.keys).resume(now).await?;
        ensure!(resumed.is_none(), "{}: the owner is asked for {resumed:?}", at.name());
        for (_, end) in golem.lane(&world).await?.finish().await {
            done(&end?)?;
        }
        assert_eq!(world.sold().await?, dollars(first), "{}", at.name());

        golem.sells(&world, 20).await?;
        assert_eq!(world.sold().await?, dollars(first + 20), "{}", at.name());
        assert_eq!(world.sent_by_owner().await?, before);
    }
    Ok(())
}

/// The key that a hosted process says it was born with.
async fn born(process: &mut Child) -> Result<Address> {
    let said = BufReader::new(process.stdout.as_mut().context("no output")?);
    let mut lines = said.lines();
    while let Some(line) = timeout(PATIENCE, lines.next_line()).await?? {
        if let Some(key) = line.strip_prefix("key ") {
            return Ok(key.parse()?);
        }
    }
    bail!("it ended without a word")
}

/// K10, "process crash", of a hosted Golem (D12, D21): its key is gone with its process, and the next one can do nothing before the
/// owner has signed again. What the old key had signed is brought to its end from the books, once; then its grant is dead.
#[tokio::test]
async fn after_a_crash_a_hosted_golem_is_born_anew_and_asks_its_owner() -> Result<()> {
    let world = World::open(AccountKind::Stateless7702).await?;
    let folder = tempfile::tempdir()?;
    let (url, now) = (world.stage.chain().url(), world.stage.now().await?);
    let at = Failpoint::IntentKept;
    let mut victim = process(folder.path(), url, now, Some(at.name()))?;
    victim.env("BARDO_VICTIM_HOSTED", "1").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut victim = victim.spawn()?;
    let lost = born(&mut victim).await?;
    world.fuels(lost).await?;
    let grant = world.first_grant(lost).await?;
    let call = format!("{}\n", hex::encode(world.sale(&grant, 10)?.calldata()));
    victim.stdin.as_mut().context("no input")?.write_all(call.as_bytes()).await?;
    killed(timeout(PATIENCE, victim.wait()).await??, at)?;
    let before = world.sent_by_owner().await?;

    // Another key, which nobody has granted anything.
    let keys = Keys::hosted();
    let newborn = keys.current().await.context("no key")?;
    assert_ne!(newborn, lost);
    assert_eq!(world.judges(&grant, newborn, 1).await?, Some(DenialCode::NotTheDelegate));
    let (mandate, store) = mandate(folder.path())?;
    let rotations = Rotations::new(store.as_ref(), &keys);
    ensure!(rotations.resume(now).await?.is_none(), "there was no rotation");
    let (why, domain) = (RotationReason::Gone, world.stage.domain());
    let wanted = rotations.begin(why, &grant, &environment(), now).await?;
    let owner = world.owner.signer.address();
    rotations.granted(world.signs(wanted)?, owner, &domain, now).await?;

    // Not while something of the lost key is afloat: nobody else has it but the books, and they bring it to its end.
    assert_eq!(rotations.switch(store.as_ref(), now).await?, Switching::Waits(1));
    assert_eq!(world.sold().await?, U256::ZERO);
    let foresight = Arc::new(world.stage.foresight());
    let gone = keys.gone(lost);
    let lane = Lane::open(foresight, gone, mandate, policy(), move || now).await?;
    let ends = lane.finish().await;
    assert_eq!(ends.len(), 1, "{ends:?}");
    for (_, end) in ends {
        done(&end?)?;
    }
    assert_eq!(world.sold().await?, dollars(10));
    // It signs nothing more, and what was set aside for that is given back.
    let more = lane.redeem(judged(world.sale(&grant, 1)?)).await;
    let Err(LaneFault::Custody(CustodyError::Replaced { signer })) = more else {
        bail!("it did not end: {more:?}");
    };
    assert_eq!(signer, lost);
    assert_eq!(opened(&store).await?.len(), 0);
    let Switching::Done(key, next) = rotations.switch(store.as_ref(), now).await? else {
        bail!("nothing is afloat");
    };
    drop((lane, store));

    // One signature, and no transaction of the owner's.
    world.fuels(key).await?;
    let golem = Golem::in_folder(folder, keys, *next)?;
    golem.sells(&world, 20).await?;
    assert_eq!(world.sold().await?, dollars(30));
    assert_eq!(world.sent_by_owner().await?, before);
    world.is_dead(&grant, DenialCode::Superseded).await?;
    assert_eq!(world.sold().await?, dollars(30));
    ensure!(opened(&golem.store).await?.is_empty(), "something is open");
    let records = verified(golem.path())?;
    let signed = records.iter().filter(|kind| *kind == "intent.signed").count();
    assert_eq!(signed, 2, "each deed was signed once: {records:?}");
    Ok(())
}
