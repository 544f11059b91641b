//! SPEC P8 and D11 by an owner's commands, while the Golem runs and after it was lost.

use super::{DAY, HOUR, Process, Scene, until};
use crate::command::Key;
use anyhow::{Context as _, Result, ensure};
use bardo_testkit::dollars;
use serde_json::Value;

impl Scene {
    fn asks_above(&self, micro_dollars: &str) -> Result<Process> {
        let pw = self.path("pw");
        self.runs(&["--password-file", &pw, "--ask-above", micro_dollars, "--answer-within", "6h"])
    }

    fn waiting(&self) -> Result<Vec<Value>> {
        let said = self.golem("approvals", &["--rpc", self.rpc()])?;
        ensure!(said.code == 0, "{said:?}");
        Ok(said.json()?["waiting"].as_array().context("no list")?.clone())
    }
}

/// P8: asked by one process, lost by -9, answered between, bought once by the next, with a tick that does not wait for its hour.
#[tokio::test]
async fn an_owner_says_yes_and_it_is_bought_once_whatever_was_killed() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.asks_above("30000000")?;
    let asked = golem.does()?;
    assert_eq!(asked["deeds"][0]["outcome"], "asked", "{asked}");
    let waiting = scene.waiting()?;
    assert_eq!(waiting.len(), 1, "{waiting:?}");
    assert_eq!(waiting[0]["microDollars"], 50_000_000u64);
    ensure!(waiting[0]["what"].as_str().is_some_and(|what| what.contains("$50")), "{waiting:?}");
    let id = waiting[0]["id"].as_str().context("no id")?.to_owned();
    assert_eq!(scene.status()?["asks"][0]["what"], "approval");
    golem.lost()?;
    let golem = scene.asks_above("30000000")?;
    golem.says("awake")?;
    scene.later(HOUR).await?;
    golem.says("tick")?;
    assert_eq!(scene.waiting()?, waiting, "it is the same question");
    let stranger = Key::kept(0x62)?;
    let no = scene.golem("approve", &["--rpc", scene.rpc(), "--key-file", &stranger.file, &id])?;
    assert_eq!(no.code, 1, "{no:?}");
    let other = scene.owner("approve", &[&format!("0x{}", "11".repeat(32))])?;
    ensure!(other.code == 1 && other.stdout.contains("never asked"), "{other:?}");
    let sent = scene.owner.sent(&scene.stage).await?;

    let yes = scene.owner("approve", &[&id])?;

    assert_eq!(yes.code, 0, "{yes:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent, "a signature, and no transaction");
    let done = golem.does()?;
    assert_eq!(done["deeds"][0]["outcome"], "done", "{done}");
    assert_eq!(scene.dollars().await?, dollars(950));
    let again = scene.owner("approve", &[&id])?;
    ensure!(again.code == 1 && again.stdout.contains("said yes"), "{again:?}");
    golem.stops()?;
    let golem = scene.asks_above("30000000")?;
    scene.later(HOUR).await?;
    golem.says("tick")?;
    assert_eq!(scene.dollars().await?, dollars(950));
    ensure!(scene.waiting()?.is_empty());
    golem.stops()?;
    Ok(())
}

/// P8: a no, and an answer that comes too late, buy nothing.
#[tokio::test]
async fn a_no_and_a_late_yes_buy_nothing() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.asks_above("30000000")?;
    golem.does()?;
    let first = scene.waiting()?[0]["id"].as_str().context("no id")?.to_owned();

    let no = scene.owner("deny", &[&first])?;

    assert_eq!(no.code, 0, "{no:?}");
    let told = golem.does()?;
    assert_eq!(told["deeds"][0]["outcome"], "refused", "{told}");
    let turned = scene.owner("approve", &[&first])?;
    ensure!(turned.code == 1 && turned.stdout.contains("said no"), "{turned:?}");
    scene.later(7 * HOUR).await?;
    golem.does()?;
    let second = scene.waiting()?[0]["id"].as_str().context("no id")?.to_owned();
    ensure!(first != second);
    scene.later(7 * HOUR).await?;
    golem.says("tick")?;
    let late = scene.owner("approve", &[&second])?;
    ensure!(late.code == 1 && late.stdout.contains("counted until"), "{late:?}");
    assert_eq!(scene.dollars().await?, dollars(1_000));
    golem.stops()?;
    Ok(())
}

/// D11, K3: an owner asks for another key; it comes once, and neither that one nor one that age replaced asks again before it is due.
#[tokio::test]
async fn a_key_is_replaced_when_its_owner_asks_and_rests_after_it() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    let grants = |scene: &Scene| -> Result<bool> {
        let asks = scene.status()?["asks"].clone();
        Ok(asks.as_array().is_some_and(|all| all.iter().any(|one| one["what"] == "grant")))
    };
    ensure!(!grants(&scene)?);

    let asked = scene.owner("rotate", &[])?;

    assert_eq!(asked.code, 0, "{asked:?}");
    until("the question for a grant", || grants(&scene))?;
    ensure!(scene.owner("rotate", &[])?.code == 1, "it was asked for");
    let granted = scene.owner("grant", &[])?;
    assert_eq!(granted.code, 0, "{granted:?}");
    let new = granted.json()?["key"].clone();
    until("the next key", || Ok(scene.status()?["key"] == new))?;
    // Its Golem is older than seven days by then, and the key is not.
    for days in [3, 3] {
        scene.ticks_after(&golem, days * DAY).await?;
        ensure!(!grants(&scene)?, "a young key asks to be replaced");
    }
    scene.later(2 * DAY).await?;
    until("the question for a grant", || grants(&scene))?;
    let due = scene.owner("grant", &[])?.json()?["key"].clone();
    until("the key after it", || Ok(scene.status()?["key"] == due))?;
    scene.ticks_after(&golem, DAY).await?;
    ensure!(!grants(&scene)?, "a key that age replaced is young");
    let history = scene.golem("history", &["--limit", "1000"])?.json()?;
    let events = history["events"].as_array().context("no events")?;
    let rotated: Vec<_> =
        events.iter().filter(|event| event["kind"] == "sessionKeyRotated").collect();
    assert_eq!(rotated.len(), 2, "{rotated:?}");
    golem.stops()?;
    Ok(())
}
