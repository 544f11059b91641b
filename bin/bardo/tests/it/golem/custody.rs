//! SPEC K1, D21: what was chosen at onboarding counts for life, whatever a file says later; and a key that is gone is no other key.

use super::{HOUR, Scene};
use anyhow::{Context as _, Result, ensure};
use bardo_testkit::dollars;
use std::fs;

impl Scene {
    /// One line of golem.toml says another mode.
    fn says_mode(&self, was: &str, is: &str) -> Result<()> {
        let path = self.data().join("golem.toml");
        let text = fs::read_to_string(&path)?;
        let (was, is) = (format!("mode = \"{was}\""), format!("mode = \"{is}\""));
        ensure!(text.contains(&was), "{text}");
        fs::write(&path, text.replace(&was, &is))?;
        Ok(())
    }

    /// What `bardo golem run` says to whoever starts it so, who is refused.
    fn refuses_to_run(&self, words: &[&str]) -> Result<String> {
        let ran = self.golem("run", &[&["--rpc", self.rpc()], words].concat())?;
        ensure!(ran.code == 1, "{ran:?}");
        Ok(ran.json()?["reason"].as_str().context("no reason")?.to_owned())
    }
}

/// K1: a local Golem does not become one whose key is in no file; none is born for it, and none is granted anything.
#[tokio::test]
async fn a_local_golem_is_not_started_as_a_hosted_one() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    golem.stops()?;
    let before = scene.kinds()?.len();

    scene.says_mode("localKey", "delegation")?;

    let no = scene.refuses_to_run(&[])?;
    ensure!(no.contains("localKey mode and lives in no other"), "{no}");
    ensure!(!scene.data().join("born.json").exists(), "a key was born");
    let granted = scene.owner("grant", &[])?;
    ensure!(granted.code == 1 && granted.stdout.contains("lives in no other"), "{granted:?}");
    // Nor where there is no such file at all.
    let toml = scene.data().join("golem.toml");
    let text = fs::read_to_string(&toml)?;
    fs::remove_file(&toml)?;
    let no = scene.refuses_to_run(&[])?;
    ensure!(no.contains("localKey mode"), "{no}");
    ensure!(!scene.data().join("born.json").exists(), "a key was born");
    assert_eq!(scene.kinds()?.len(), before);

    fs::write(&toml, text)?;
    scene.says_mode("delegation", "localKey")?;
    scene.later(HOUR).await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    golem.stops()?;
    Ok(())
}

/// K1: nor the other way around; no key comes into its folder.
#[tokio::test]
async fn a_hosted_golem_is_not_started_as_a_local_one() -> Result<()> {
    let scene = Scene::open().await?;
    let golem = scene.runs(&[])?;
    let key = golem.says("born")?["born"].as_str().context("no key")?.to_owned();
    scene.onboards(&["--mode", "vault", "--session", &key])?;
    golem.does()?;
    golem.lost()?;
    let pw = scene.path("pw");

    for other in ["localKey", "embedded"] {
        scene.says_mode("delegation", other)?;
        let no = scene.refuses_to_run(&["--password-file", &pw])?;
        ensure!(no.contains("delegation mode and lives in no other"), "{other}: {no}");
        ensure!(!scene.data().join("session-key.json").exists(), "{other}: a key was born");
        scene.says_mode(other, "delegation")?;
    }
    // What ends it asks for no mode.
    scene.says_mode("delegation", "localKey")?;
    assert_eq!(scene.owner("kill", &[])?.code, 0);
    Ok(())
}

/// D21: the same key or none.
#[tokio::test]
async fn a_local_golem_whose_key_is_gone_gets_no_other() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    golem.stops()?;
    let (key, pw) = (scene.data().join("session-key.json"), scene.path("pw"));
    let kept = scene.path("kept.json");
    fs::rename(&key, &kept)?;

    let no = scene.refuses_to_run(&["--password-file", &pw])?;

    ensure!(no.contains("is not there") && no.contains("bardo golem kill"), "{no}");
    ensure!(!key.exists(), "another key was born");
    fs::rename(&kept, &key)?;
    scene.later(25 * HOUR).await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    assert_eq!(scene.dollars().await?, dollars(900));
    golem.stops()?;
    Ok(())
}
