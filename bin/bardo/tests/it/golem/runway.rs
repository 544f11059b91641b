//! SPEC T2, T3, D6a, D11, D25: running costs out of the owner's account, through the keys that follow each other.

use super::{DAY, HOUR, Scene, until};
use crate::onboard::runway::{granted_by, requested};
use alloy::primitives::{Address, U256};
use anyhow::{Context as _, Result, ensure};
use golem_delegation::permission::{Answer, Form};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _};

const MACHINE: Address = Address::repeat_byte(0x72);
/// What a day of it costs.
const COMPUTE: u64 = 500_000;

impl Scene {
    /// What the owner's wallet answers to what it is to be asked now.
    async fn wallet_answers(&self) -> Result<Answer> {
        let request = requested(&self.owner("runway", &["--print-request", "--days", "30"])?)?;
        granted_by(self.owner.address, request, self.stage.now().await?)
    }

    fn answer_file(&self, answer: &Answer) -> Result<String> {
        let text = Form::Today.write_answers(std::slice::from_ref(answer))?.to_string();
        self.private("answer.json", &text)
    }

    /// What came of the answer that was sent last.
    fn runway_taken(&self) -> Result<String> {
        let inbox = self.data().join("inbox");
        until("a word on the runway", || Ok(!inbox.join("runway").exists()))?;
        let said: Value = serde_json::from_str(&fs::read_to_string(inbox.join("done/runway"))?)?;
        Ok(said["answer"].as_str().context("no answer")?.to_owned())
    }

    fn asks_for_a_runway(&self) -> Result<bool> {
        let asks = self.status()?["asks"].clone();
        Ok(asks.as_array().is_some_and(|all| all.iter().any(|one| one["what"] == "runway")))
    }

    /// Events of a kind that say this.
    fn told(&self, kind: &str, words: &str) -> Result<usize> {
        let history = self.golem("history", &["--limit", "1000"])?.json()?;
        let events = history["events"].as_array().context("no events")?;
        let says = |event: &&Value| event["kind"] == kind && event.to_string().contains(words);
        Ok(events.iter().filter(says).count())
    }

    async fn costs_paid(&self) -> Result<U256> {
        self.stage.balance_of(self.stage.book().usdc, MACHINE).await
    }
}

/// A rotation ends what its wallet granted to the key before: that is said, once a day, and payment goes on behind the next grant.
#[tokio::test]
async fn running_costs_go_on_behind_a_rotation() -> Result<()> {
    let scene = Scene::local().await?;
    let toml = scene.data().join("golem.toml");
    let file = fs::read_to_string(&toml)?;
    let life = format!(
        "{file}\n[life]\ncompute = {COMPUTE}\npayees = [{{ address = \"{MACHINE}\", purpose = \"compute\" }}]\n"
    );
    fs::write(&toml, life)?;
    let first = scene.wallet_answers().await?;
    let answer = scene.answer_file(&first)?;
    let taken = scene.owner("runway", &["--take", &answer])?;
    ensure!(taken.code == 0 && taken.json()?["before"].is_null(), "{taken:?}");
    let golem = scene.runs_local()?;
    golem.does()?;
    assert_eq!(scene.runway_taken()?, "it is in use");
    scene.ticks_after(&golem, DAY).await?;
    assert_eq!(scene.costs_paid().await?, U256::from(COMPUTE));
    ensure!(!scene.asks_for_a_runway()?);

    // Another key.
    assert_eq!(scene.owner("rotate", &[])?.code, 0);
    let grants = || Ok(scene.status()?["asks"].to_string().contains("bardo golem grant"));
    until("the question for a grant", grants)?;
    let early = scene.owner("runway", &["--print-request"])?;
    ensure!(early.code == 1 && early.stdout.contains("golem grant"), "{early:?}");
    let granted = scene.owner("grant", &[])?;
    assert_eq!(granted.code, 0, "{granted:?}");
    let new = granted.json()?["key"].clone();
    until("the next key", || Ok(scene.status()?["key"] == new))?;
    scene.ticks_after(&golem, DAY).await?;
    scene.ticks_after(&golem, HOUR).await?;

    assert_eq!(scene.costs_paid().await?, U256::from(COMPUTE), "by a grant for a key that is gone");
    ensure!(scene.asks_for_a_runway()?, "{}", scene.status()?);
    assert_eq!(scene.told("intentRefused", "its runway is for the key")?, 1, "once a day");
    // What its wallet granted to the old key is for no other.
    let old = scene.owner("runway", &["--take", &answer])?;
    ensure!(old.code == 1 && !scene.data().join("inbox/runway").exists(), "{old:?}");
    let letter = json!({
        "beyondLimits": true, "answer": Form::Today.write_answers(std::slice::from_ref(&first))?,
    });
    let draft = scene.data().join("draft");
    fs::write(&draft, letter.to_string())?;
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))?;
    fs::rename(draft, scene.data().join("inbox/runway"))?;
    let words = scene.runway_taken()?;
    ensure!(words != "it is in use", "{words}");
    ensure!(scene.asks_for_a_runway()?);

    let next = scene.wallet_answers().await?;
    assert_eq!(json!(next.granted.to), new);
    let answer = scene.answer_file(&next)?;
    let taken = scene.owner("runway", &["--take", &answer])?;
    ensure!(taken.code == 0 && taken.json()?["before"].is_string(), "{taken:?}");
    until("its day's costs", || Ok(scene.told("runwayRedeemed", "")? == 2))?;

    assert_eq!(scene.costs_paid().await?, U256::from(2 * COMPUTE));
    ensure!(!scene.asks_for_a_runway()?);
    scene.ticks_after(&golem, DAY).await?;
    assert_eq!(scene.costs_paid().await?, U256::from(3 * COMPUTE));
    golem.stops()?;
    Ok(())
}
