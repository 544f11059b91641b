//! G8, D11: what an owner sends his Golem, and what is no letter of his.

use super::{DAY, Scene};
use crate::command::Key;
use anyhow::{Context as _, Result, ensure};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::fixed_signer;
use golem_chain::environment;
use golem_custody::{Rotation, RotationReason, Steps as _};
use golem_delegation::{Delegation, SigningDomain, grant::Grant};
use serde_json::Value;
use std::{fs, os::unix::fs::PermissionsExt as _};

impl Scene {
    /// What came of a letter.
    fn answer(&self, file: &str) -> Result<String> {
        let path = self.data().join("inbox/done").join(file);
        super::until("an answer", || Ok(path.is_file()))?;
        let said: Value = serde_json::from_str(&fs::read_to_string(path)?)?;
        Ok(said["answer"].as_str().context("no answer")?.to_owned())
    }

    fn letter(&self, name: &str, text: &[u8], mode: u32) -> Result<()> {
        let (inbox, draft) = (self.data().join("inbox"), self.data().join("draft"));
        fs::create_dir_all(&inbox)?;
        fs::write(&draft, text)?;
        fs::set_permissions(&draft, fs::Permissions::from_mode(mode))?;
        fs::rename(draft, inbox.join(name))?;
        Ok(())
    }
}

#[tokio::test]
async fn more_time_counts_once_it_is_verified_and_what_is_no_letter_stops_nobody() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    let before = scene.status()?;
    let grant: Delegation =
        serde_json::from_str(&fs::read_to_string(scene.data().join("grant.json"))?)?;

    // What somebody else signed, what is nothing, what is too much, what others could have written.
    let end = before["expiresAt"].as_u64().context("no end")?;
    let environment = environment();
    let wider = Grant::read(&grant, &environment)?.feed(end + 90 * DAY)?.delegation;
    let domain = SigningDomain {
        chain_id: scene.stage.node().chain_id(),
        manager: bardo_bindings::framework::DELEGATION_MANAGER,
    };
    let forged = fixed_signer(0x66)?.grant(&domain, wider)?;
    let forged = serde_json::to_vec(&forged)?;
    for (name, text, mode, says) in [
        ("1.json", forged.clone(), 0o600, "sign"),
        ("2.json", b"{}".to_vec(), 0o600, "no delegation"),
        ("3.json", vec![b' '; 70_000], 0o600, "more than 65536 bytes"),
        ("4.json", forged, 0o644, "mode 600"),
    ] {
        scene.letter(name, &text, mode)?;
        let words = scene.answer(name)?;
        ensure!(words.contains(says), "{name}: {words}");
        let status = scene.status()?;
        assert_eq!(
            (&status["expiresAt"], &status["epoch"]),
            (&before["expiresAt"], &1.into()),
            "{name}"
        );
    }

    // Another's key feeds nobody.
    let stranger = Key::kept(0x62)?;
    let no = scene.golem("feed", &["--rpc", scene.rpc(), "--key-file", &stranger.file])?;
    assert_eq!(no.code, 1, "{no:?}");

    let sent = scene.owner.sent(&scene.stage).await?;
    let fed = scene.owner("feed", &["--days", "30"])?;
    assert_eq!(fed.code, 0, "{fed:?}");
    let file = fed.json()?["file"].as_str().context("no file")?.to_owned();
    let name = file.rsplit('/').next().context("no name")?;
    assert_eq!(scene.answer(name)?, "it is in use");
    let status = scene.status()?;
    assert_eq!((&status["expiresAt"], &status["epoch"]), (&(end + 30 * DAY).into(), &2.into()));
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent, "one signature, and no transaction");
    golem.stops()?;
    Ok(())
}

/// SPEC G11: other limits are one signature and no transaction, and what is above them is refused from the next deed on.
#[tokio::test]
async fn an_owner_adjusts_its_limits_by_a_signature() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    let tick = golem.does()?;
    assert_eq!(tick["deeds"][0]["outcome"], "done", "{tick}");
    let sent = scene.owner.sent(&scene.stage).await?;
    assert_eq!(scene.owner("adjust", &[])?.code, 2, "nothing is named");

    let adjusted = scene.owner("adjust", &["--cap", "40000000", "--days", "5"])?;
    assert_eq!(adjusted.code, 0, "{adjusted:?}");
    let json = adjusted.json()?;
    assert_eq!((&json["spendCap"], &json["epoch"]), (&40_000_000.into(), &2.into()));
    let file = json["file"].as_str().context("no file")?.to_owned();
    assert_eq!(scene.answer(file.rsplit('/').next().context("no name")?)?, "it is in use");
    let tick = scene.does_after(&golem, DAY).await?;
    assert_eq!(tick["deeds"][0]["outcome"], "refused", "{tick}");
    assert_eq!(scene.status()?["expiresAt"], json["until"]);
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent, "one signature, and no transaction");

    // And as much again as it needs, of time too: with three days left a Golem buys nothing.
    assert_eq!(scene.owner("adjust", &["--cap", "500000000", "--days", "30"])?.code, 0);
    super::until("the third grant", || Ok(scene.status()?["epoch"] == 3))?;
    let tick = scene.does_after(&golem, DAY).await?;
    assert_eq!(tick["deeds"][0]["outcome"], "done", "{tick}");
    golem.stops()?;
    Ok(())
}

#[tokio::test]
async fn a_key_that_is_due_follows_once_its_owner_has_signed() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    let old = golem.says("awake")?["key"].clone();
    golem.does()?;
    assert_eq!(scene.owner("grant", &[])?.code, 1, "it asks for nothing yet");

    scene.later(8 * DAY).await?;
    golem.says("tick")?;
    let status = scene.status()?;
    assert_eq!(status["asks"][0]["what"], "grant", "{status}");
    // Two grants of one number would live beside each other.
    let fed = scene.owner("feed", &[])?;
    assert_eq!(fed.code, 1, "{fed:?}");

    let granted = scene.owner("grant", &[])?;
    assert_eq!(granted.code, 0, "{granted:?}");
    let new = granted.json()?["key"].clone();
    ensure!(new != old, "{new}");
    super::until("the next key", || Ok(scene.status()?["key"] == new))?;
    let tick = scene.does_after(&golem, DAY).await?;
    assert_eq!(tick["deeds"][0]["outcome"], "done", "{tick}");
    let history = scene.golem("history", &["--limit", "500"])?.json()?;
    let events = history["events"].as_array().context("no events")?;
    ensure!(events.iter().any(|event| event["kind"] == "sessionKeyRotated"), "{history}");
    golem.stops()?;
    Ok(())
}

/// The books are the Golem's word: whoever has taken it over gets no wider grant by asking.
#[tokio::test]
async fn an_owner_signs_nothing_wider_than_what_he_signed_before() -> Result<()> {
    let scene = Scene::local().await?;
    let text = fs::read_to_string(scene.data().join("grant.json"))?;
    let grant: Delegation = serde_json::from_str(&text)?;
    let environment = environment();
    let longer = |by: u64| {
        let read = Grant::read(&grant, &environment)?;
        anyhow::Ok(read.feed(read.charter().window.end() + by)?.delegation)
    };
    let new = Key::kept(0x77)?.address;
    let read = |of: &Delegation| anyhow::Ok(Grant::read(of, &environment)?.rotate(new)?.delegation);
    let asked = Rotation::Asked {
        old: grant.delegate,
        new,
        reason: RotationReason::Age,
        grant: grant.clone(),
        wanted: read(&longer(DAY)?)?,
        epoch: 3,
    };
    let id = scene.status()?["golem"].as_str().context("no id")?.parse()?;
    let config = StoreConfig { folder: scene.data(), golem: id, max_pages: None };
    let now = scene.stage.now().await?;
    let wrote = async |name: &str, value: Value| {
        let store = Store::open(&config, None)?;
        store.advance(name, 0, &value, now).await.map_err(|error| anyhow::anyhow!(error))
    };

    wrote("rotation", serde_json::to_value(asked)?).await?;
    let no = scene.owner("grant", &[])?;
    assert_eq!(no.code, 1, "{no:?}");
    ensure!(no.stdout.contains("more than the grant before"), "{no:?}");
    wrote("grant", serde_json::to_value(longer(9 * DAY)?)?).await?;
    for verb in ["feed", "grant"] {
        let no = scene.owner(verb, &[])?;
        assert_eq!(no.code, 1, "{no:?}");
        ensure!(no.stdout.contains("not signed by you"), "{no:?}");
    }

    ensure!(!scene.data().join("inbox").exists(), "something was signed");
    Ok(())
}

/// D9: a phase goes back by its owner's transaction, and by one only where it is needed.
#[tokio::test]
async fn a_phase_is_turned_back_by_its_owner() -> Result<()> {
    let scene = Scene::local().await?;
    let id = scene.status()?["golem"].as_str().context("no id")?.to_owned();
    let key = ["--rpc", scene.rpc(), "--key-file", &scene.owner.file];
    let advance = [&["registry", "advance", &id, "--phase", "conservation"][..], &key].concat();
    assert_eq!(crate::command::bardo(advance)?.code, 0);

    let fed = scene.owner("feed", &["--phase", "stable"])?;

    assert_eq!(fed.code, 0, "{fed:?}");
    ensure!(fed.json()?["transaction"].is_string() && fed.json()?["file"].is_null(), "{fed:?}");
    assert_eq!(scene.status()?["registry"]["phase"], "Stable");
    let sent = scene.owner.sent(&scene.stage).await?;
    assert_eq!(scene.owner("feed", &["--phase", "stable"])?.code, 0);
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent, "it was so already");
    assert_eq!(scene.owner("feed", &["--phase", "declining"])?.code, 2);
    Ok(())
}
