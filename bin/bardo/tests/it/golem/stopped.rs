//! INV-4, INV-6: a Golem whose books have stopped for good ends as a fault, and whoever looks after it starts it again.

use super::{HOUR, Process, Scene};
use alloy::primitives::B256;
use anyhow::{Result, ensure};
use bardo_store::{LOCK, Store, StoreConfig};
use bardo_testkit::dollars;
use golem_custody::Audit as _;
use serde_json::{Value, json};
use std::{fs, path::PathBuf};

impl Scene {
    /// Somebody deletes the lock of its books and writes to them: from then on they take nothing from it.
    async fn another_writes(&self) -> Result<()> {
        let golem = serde_json::from_value(self.status()?["golem"].clone())?;
        self.another_writes_to(self.data(), golem).await
    }

    /// The same of anybody's books.
    pub(super) async fn another_writes_to(&self, folder: PathBuf, golem: B256) -> Result<()> {
        fs::remove_file(folder.join(LOCK))?;
        let store = Store::open(&StoreConfig { folder, golem, max_pages: None }, None)?;
        let noted = store.note("note", &json!({}), self.stage.now().await?).await;
        ensure!(noted.is_ok(), "{noted:?}");
        Ok(())
    }

    /// The last that it says, when so much time has passed; it never means to try again what its books do not take.
    async fn ends_after(&self, golem: &Process, seconds: u64) -> Result<Value> {
        let last = |said: &Value| {
            let words = said["fault"].as_str().or(said["notSettled"].as_str()).unwrap_or_default();
            let stopped = words.contains("same books") || words.contains("has stopped");
            ensure!(!stopped || said["againIn"].is_null(), "it tries again: {said}");
            Ok(said.get("error").is_some())
        };
        self.says_after(golem, seconds, last).await
    }
}

#[tokio::test]
async fn a_golem_whose_books_have_stopped_ends_as_a_fault_and_the_next_process_goes_on()
-> Result<()> {
    let scene = Scene::local().await?;
    let mut golem = scene.runs_local()?;
    golem.does()?;
    scene.another_writes().await?;

    let said = scene.ends_after(&golem, HOUR).await?;

    let words = said["error"].as_str().unwrap_or_default();
    ensure!(words.contains("its books have stopped") && words.contains("start it again"), "{said}");
    assert_eq!(golem.child.wait()?.code(), Some(3));
    scene.later(25 * HOUR).await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    assert_eq!(scene.dollars().await?, dollars(900));
    golem.stops()?;
    let data = scene.path("golem");
    let audit = crate::command::bardo(["audit", "verify", "--data", &data, "--rpc", scene.rpc()])?;
    assert_eq!(audit.code, 0, "{audit:?}");
    Ok(())
}

/// INV-9: also while its death waits for something.
#[tokio::test]
async fn a_death_that_waits_does_not_wait_for_books_that_have_stopped() -> Result<()> {
    let scene = Scene::open().await?;
    let golem = scene.runs(&[])?;
    let key = golem.says("born")?["born"].as_str().unwrap_or_default().to_owned();
    scene.onboards(&["--mode", "vault", "--session", &key])?;
    golem.does()?;
    golem.lost()?;
    let mut golem = scene.runs(&[])?;
    golem.says("tick")?;
    assert_eq!(scene.owner("kill", &[])?.code, 0);
    golem.says("waits")?;
    scene.another_writes().await?;

    let said = scene.ends_after(&golem, HOUR).await?;

    ensure!(said["error"].as_str().is_some_and(|words| words.contains("start it again")), "{said}");
    assert_eq!(golem.child.wait()?.code(), Some(3));
    let golem = scene.runs(&[])?;
    golem.says("waits")?;
    golem.lost()?;
    Ok(())
}
