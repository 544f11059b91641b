//! INV-6: a process that is lost, and one whose owner ends it.

use super::{DAY, Scene, until};
use crate::command::Key;
use anyhow::{Result, ensure};
use bardo_testkit::dollars;

/// Killed as soon as its log has the step, whatever it was about to do next.
#[tokio::test]
async fn killed_in_the_middle_of_a_buy_it_goes_on_and_buys_once() -> Result<()> {
    let scene = Scene::local().await?;
    let mut have = 1_000;
    for step in ["intent.reserved", "intent.signed", "intent.settled"] {
        let golem = scene.runs_local()?;
        golem.says("awake")?;
        let buys = |kinds: &[String]| kinds.iter().filter(|kind| *kind == step).count();
        let before = buys(&scene.kinds()?);
        until(step, || Ok(buys(&scene.kinds()?) > before))?;
        golem.lost()?;

        let golem = scene.runs_local()?;
        golem.says("tick")?;
        have -= 50;
        assert_eq!(scene.dollars().await?, dollars(have), "{step}");
        golem.stops()?;
        let whole = crate::command::bardo(["audit", "verify", "--data", &scene.path("golem")])?;
        assert_eq!(whole.code, 0, "{whole:?}");
        scene.later(DAY).await?;
    }
    Ok(())
}

/// D19: the owner's one transaction ends it within a block, whatever its rhythm is.
#[tokio::test]
async fn its_owner_ends_it_by_one_transaction() -> Result<()> {
    let scene = Scene::local().await?;
    let mut golem = scene.runs_local()?;
    golem.does()?;
    let stranger = Key::kept(0x62)?;
    let no = scene.golem("kill", &["--rpc", scene.rpc(), "--key-file", &stranger.file])?;
    assert_eq!(no.code, 1, "{no:?}");
    let sent = scene.owner.sent(&scene.stage).await?;

    let killed = scene.owner("kill", &[])?;

    assert_eq!(killed.code, 0, "{killed:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1);
    let ended = golem.says("ended")?;
    assert_eq!((&ended["ended"], &ended["of"]), (&"died".into(), &"ownerKillSwitch".into()));
    ensure!(golem.child.wait()?.success());
    let status = scene.golem("status", &["--rpc", scene.rpc()])?;
    assert_eq!(status.code, 1, "{status:?}");
    assert_eq!(status.json()?["dead"], true, "{status:?}");
    let again = scene.owner("kill", &[])?;
    ensure!(again.code == 0 && again.json()?["transaction"].is_null(), "{again:?}");
    Ok(())
}

/// The same without a word in its folder: a revocation is known by its block, and not by a tick an hour later.
#[tokio::test]
async fn a_revocation_is_known_within_a_block() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    let key = ["--rpc", scene.rpc(), "--key-file", &scene.owner.file];

    let revoked = crate::command::bardo([&["delegation", "revoke", "--all"][..], &key].concat())?;

    assert_eq!(revoked.code, 0, "{revoked:?}");
    let ended = golem.says("ended")?;
    assert_eq!((&ended["ended"], &ended["of"]), (&"died".into(), &"grantEnded".into()));
    Ok(())
}
