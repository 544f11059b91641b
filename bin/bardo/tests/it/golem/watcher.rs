//! L1, D19: whoever watches stands outside.

use super::{HOUR, Process, Scene, until};
use crate::command::bardo;
use anyhow::{Context as _, Result, ensure};
use std::fs;

#[tokio::test]
async fn a_heartbeat_that_stays_away_is_told_after_three_ticks_and_not_before() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    let due = scene.status()?["life"]["next_at"].as_u64();
    let due = due.or(scene.status()?["life"]["nextAt"].as_u64()).context("no next tick")?;
    let look =
        |words: &[&str]| scene.golem("watch", &[&["--rpc", scene.rpc(), "--once"], words].concat());
    assert_eq!(look(&[])?.code, 0);
    golem.lost()?;
    let watcher =
        Process::start(&["golem", "watch", "--data", &scene.path("golem"), "--rpc", scene.rpc()])?;

    scene.until(due + 2 * HOUR).await?;
    let late = look(&[])?;
    assert_eq!((late.code, &late.json()?["missed"]), (0, &2.into()), "{late:?}");
    assert_eq!(look(&["--missed", "2"])?.code, 1);
    assert_eq!(scene.status()?["anomaly"], false);

    scene.until(due + 2 * HOUR + 1).await?;
    let gone = look(&[])?;
    assert_eq!(gone.code, 1, "{gone:?}");
    let event = gone.json()?["event"].clone();
    assert_eq!((&event["kind"], &event["missed"]), (&"heartbeatAnomaly".into(), &3.into()));
    assert_eq!(watcher.says("event")?["event"], event, "it tells by itself");
    assert_eq!(scene.status()?["asks"][0]["what"], "heartbeat");

    // It comes back, and says itself that it was away.
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    assert_eq!(look(&[])?.code, 0);
    assert_eq!(watcher.says("event")?["alive"], true);
    ensure!(scene.kinds()?.iter().any(|kind| kind == "step"));
    let history = scene.golem("history", &["--limit", "500"])?.json()?;
    let events = history["events"].as_array().context("no events")?;
    ensure!(events.iter().any(|event| event["kind"] == "heartbeatAnomaly"), "{history}");
    golem.stops()?;
    Ok(())
}

/// Without its folder, and without its process: the registry is enough.
#[tokio::test]
async fn the_registry_alone_tells_that_a_golem_stays_away() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    golem.lost()?;
    let status = scene.status()?;
    let id = status["golem"].as_str().context("no id")?;
    let heard = status["registry"]["updatedAt"].as_u64().context("never heard of")?;
    let look = || {
        bardo([
            "golem",
            "watch",
            "--golem",
            id,
            "--rpc",
            scene.rpc(),
            "--every",
            "12h",
            "--once",
            "--json",
        ])
    };

    scene.until(heard + 36 * HOUR).await?;
    assert_eq!(look()?.code, 0);
    scene.until(heard + 36 * HOUR + 1).await?;
    let gone = look()?;

    assert_eq!(gone.code, 1, "{gone:?}");
    assert_eq!(gone.json()?["event"]["missed"], 3, "{gone:?}");
    Ok(())
}

/// Whoever onboarded a Golem and never saw it tick is told, too: its first tick is due as any other.
#[tokio::test]
async fn a_golem_that_never_ticked_is_missed() -> Result<()> {
    let scene = Scene::local().await?;
    let look = || scene.golem("watch", &["--rpc", scene.rpc(), "--once"]);
    let due = look()?.json()?["due"].as_u64().context("nothing is due")?;
    ensure!(due.abs_diff(scene.stage.now().await? + HOUR) < 600, "{due}");

    scene.until(due + 2 * HOUR).await?;
    assert_eq!(look()?.code, 0);
    scene.until(due + 2 * HOUR + 1).await?;
    let gone = look()?;

    assert_eq!(gone.code, 1, "{gone:?}");
    assert_eq!(gone.json()?["event"]["missed"], 3, "{gone:?}");
    Ok(())
}

/// The registry closes a Golem before its keys are wiped and its will is written: whoever watches by its folder watches until that is so.
#[tokio::test]
async fn a_death_is_watched_until_its_will_is_written() -> Result<()> {
    let scene = Scene::local().await?;
    // Its will finds no place: where its process is lost then, its death is not over.
    let place = scene.data().join("legacy");
    fs::write(&place, "")?;
    let golem = scene.runs_local()?;
    golem.does()?;
    assert_eq!(scene.owner("kill", &[])?.code, 0);
    until("its place at the registry", || Ok(scene.status()?["registry"]["closed"] == true))?;
    golem.says("notSettled")?;
    golem.lost()?;
    let look = || scene.golem("watch", &["--rpc", scene.rpc(), "--once"]);

    let said = look()?.json()?;

    assert_eq!((&said["closed"], &said["dies"]), (&false.into(), &true.into()), "{said}");
    scene.later(4 * HOUR).await?;
    let gone = look()?;
    assert_eq!(gone.code, 1, "{gone:?}");
    assert_eq!(gone.json()?["event"]["kind"], "heartbeatAnomaly", "{gone:?}");
    fs::remove_file(place)?;
    let golem = scene.runs_local()?;
    assert_eq!(golem.says("ended")?["ended"], "died");
    let over = look()?;
    assert_eq!((over.code, &over.json()?["closed"]), (0, &true.into()), "{over:?}");
    Ok(())
}
