//! D12, D21: a key that is born with its process, is said to the owner, and ends with it.

use super::Scene;
use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::fs;

#[tokio::test]
async fn a_hosted_golem_is_born_first_and_after_a_restart_looks_on_until_it_is_granted()
-> Result<()> {
    let scene = Scene::open().await?;
    let golem = scene.runs(&[])?;
    let born = golem.says("born")?;
    assert_eq!(born["onboarded"], false);
    let key = born["born"].as_str().context("no key")?.to_owned();

    // Nobody else is born in this folder meanwhile.
    let mut second = scene.runs(&[])?;
    let said = second.next()?;
    ensure!(
        said["reason"].as_str().is_some_and(|why| why.contains("another process runs")),
        "{said}"
    );
    assert_eq!(second.child.wait()?.code(), Some(1));

    scene.onboards(&["--mode", "vault", "--session", &key])?;
    let awake = golem.says("awake")?;
    assert_eq!((awake["key"].as_str(), &awake["granted"]), (Some(key.as_str()), &awake["key"]));
    assert_eq!(golem.does()?["deeds"][0]["outcome"], "done");

    golem.lost()?;
    let golem = scene.runs(&[])?;
    let other = golem.says("born")?;
    ensure!(other["born"] != born["born"] && other["onboarded"] == true, "{other}");
    let awake = golem.says("awake")?;
    ensure!(awake["key"] == other["born"] && awake["granted"] == born["born"], "{awake}");
    let tick = golem.says("tick")?;
    assert_eq!(tick["observing"], "unattached", "{tick}");
    assert_eq!(tick["deeds"], Value::Array(vec![]), "{tick}");
    assert_eq!(scene.status()?["asks"][0]["what"], "grant");

    // An address that its key did not say is granted nothing.
    let file = scene.data().join("born.json");
    let said = fs::read_to_string(&file)?;
    let mut forged: Value = serde_json::from_str(&said)?;
    forged["address"] = scene.owner.address.to_string().into();
    fs::write(&file, forged.to_string())?;
    let no = scene.owner("grant", &[])?;
    assert_eq!(no.code, 1, "{no:?}");
    ensure!(no.stdout.contains("not the word of the key"), "{no:?}");
    fs::write(&file, said)?;

    let granted = scene.owner("grant", &[])?;
    assert_eq!(granted.code, 0, "{granted:?}");
    assert_eq!(granted.json()?["key"], other["born"]);
    let acting = loop {
        let tick = golem.says("tick")?;
        if tick["observing"].is_null() {
            break tick;
        }
    };
    ensure!(acting["diesOf"].is_null(), "{acting}");
    let status = scene.status()?;
    ensure!(status["key"] == other["born"] && status["epoch"] == 2, "{status}");
    assert_eq!(status["registry"]["agentKey"], other["born"], "{status}");
    assert_eq!(scene.owner("grant", &[])?.code, 1, "it asks for nothing");
    golem.stops()?;
    Ok(())
}
