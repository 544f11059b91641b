//! INV-6: a process that is lost, and one whose owner ends it.

use super::{DAY, HOUR, Scene, until};
use crate::command::Key;
use anyhow::{Result, ensure};
use bardo_testkit::dollars;

/// Killed as soon as its log has the step, whatever it was about to do next: what was given up with the process is wanted again, and
/// what was signed is bought once.
#[tokio::test]
async fn killed_in_the_middle_of_a_buy_it_goes_on_and_buys_once() -> Result<()> {
    let scene = Scene::local().await?;
    let mut have = 1_000;
    for step in ["event.intentProposed", "intent.reserved", "intent.signed", "intent.settled"] {
        let before = scene.kinds()?.len();
        let golem = scene.runs_local()?;
        until(step, || {
            let kinds = scene.kinds()?;
            // What it says to the registry has no proposal: what follows one is the buy.
            let buy = kinds.iter().skip(before).skip_while(|kind| *kind != "event.intentProposed");
            Ok(buy.into_iter().any(|kind| kind == step))
        })?;
        golem.lost()?;

        let golem = scene.runs_local()?;
        golem.says("awake")?;
        have -= 50;
        // It did so before it was lost, or in the same tick, or in the next.
        for _ in 0..2 {
            if scene.dollars().await? == dollars(have) {
                break;
            }
            golem.says("tick")?;
            scene.later(HOUR).await?;
        }
        assert_eq!(scene.dollars().await?, dollars(have), "{step}");
        golem.stops()?;
        assert_eq!(scene.dollars().await?, dollars(have), "{step}");
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
    let said = status.json()?;
    ensure!(said["dead"] == true && said["dying"]["phase"] == "left", "{said}");
    let watch = scene.golem("watch", &["--once"])?;
    ensure!(watch.code == 0 && watch.json()?["closed"] == true, "nobody is missed: {watch:?}");
    let pw = scene.path("pw");
    let run = scene.golem("run", &["--rpc", scene.rpc(), "--password-file", &pw])?;
    ensure!(run.code == 1 && run.stdout.contains("it is dead"), "{run:?}");
    ensure!(!scene.data().join("session-key.json").exists(), "a key was born for the dead");
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
