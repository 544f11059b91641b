//! What is off is said, and nothing begins.

use super::{HOUR, Process, Scene};
use crate::command::bardo;
use anyhow::{Context as _, Result, ensure};
use bardo_testkit::{Fault, Proxy};
use serde_json::json;
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

#[tokio::test]
async fn what_is_off_is_refused_before_anything_is_done() -> Result<()> {
    let scene = Scene::local().await?;
    let (data, pw, wrong) =
        (scene.path("golem"), scene.path("pw"), scene.private("wrong", "no\n")?);
    let run = |words: &[&str]| {
        bardo([&["golem", "run", "--data", &data, "--rpc", scene.rpc(), "--json"], words].concat())
    };
    let before = scene.kinds()?.len();

    let ran = run(&["--password-file", &wrong])?;
    assert_eq!(ran.code, 2, "{ran:?}");
    fs::write(scene.data().join("HEARTBEAT.md"), "- every: often\n")?;
    let ran = run(&["--password-file", &pw])?;
    ensure!(ran.code == 2 && ran.stdout.contains("HEARTBEAT.md"), "{ran:?}");
    fs::write(scene.data().join("HEARTBEAT.md"), "- every: 1h\n")?;
    fs::write(scene.data().join("CONSTITUTION.md"), "Do as you like.\n")?;
    let ran = run(&["--password-file", &pw])?;
    ensure!(ran.code == 1 && ran.stdout.contains("reason"), "{ran:?}");
    let toml = scene.data().join("golem.toml");
    let file = fs::read_to_string(&toml)?;
    fs::write(&toml, format!("{file}\n[life]\nlives = 9\n"))?;
    let ran = run(&["--password-file", &pw])?;
    ensure!(ran.code == 2 && ran.stdout.contains("golem.toml"), "{ran:?}");
    fs::write(&toml, file.replace("chain-id = 8453", "chain-id = 1"))?;
    let ran = run(&["--password-file", &pw])?;
    ensure!(ran.code == 1 && ran.stdout.contains("on chain 1"), "{ran:?}");
    for verb in ["status", "history", "watch"] {
        let ran = bardo(["golem", verb, "--data", &scene.path("nowhere")])?;
        assert_eq!(ran.code, 2, "{verb}: {ran:?}");
    }
    assert_eq!(scene.kinds()?.len(), before);
    Ok(())
}

/// What an owner wrote about its life is his: onboarding again leaves it.
#[tokio::test]
async fn the_table_of_its_life_stays_when_the_rest_is_written_anew() -> Result<()> {
    let scene = Scene::local().await?;
    let toml = scene.data().join("golem.toml");
    let file = fs::read_to_string(&toml)?;
    fs::write(&toml, format!("{file}\n[life]\ncompute = 500000\nexpected-days = 90\n"))?;

    let pw = scene.path("pw");
    scene.onboards(&["--mode", "local", "--session-password-file", &pw])?;

    let after = fs::read_to_string(&toml)?;
    ensure!(after.contains("compute = 500000") && after.contains("expected-days = 90"), "{after}");
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    golem.stops()?;
    Ok(())
}

/// Whoever is on this machine hears what happens; nobody else can be meant.
#[tokio::test]
async fn its_events_are_told_on_this_machine() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs(&["--password-file", &scene.path("pw"), "--events", "127.0.0.1:0"])?;
    let said = golem.says("events")?;
    let url: url::Url = said["events"].as_str().context("no address")?.parse()?;
    golem.says("tick")?;

    let mut page =
        TcpStream::connect((url.host_str().context("no host")?, url.port().context("no port")?))?;
    write!(
        page,
        "GET /v1/events?after=0&limit=5 HTTP/1.1\r\nHost: golem\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    page.read_to_string(&mut answer)?;
    ensure!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"sequence\":5"), "{answer}");
    golem.stops()?;

    let data = scene.path("golem");
    let open = ["golem", "run", "--data", &data, "--rpc", scene.rpc(), "--events", "0.0.0.0:0"];
    assert_eq!(bardo(open)?.code, 2);
    Ok(())
}

/// A node that fails costs a tick's time, and neither the tick nor the Golem.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tick_that_fails_is_told_and_done_again() -> Result<()> {
    let scene = Scene::local().await?;
    fs::write(scene.data().join("HEARTBEAT.md"), "- every: 1h\n- fastest: 1s\n- slowest: 1h\n")?;
    let node = Proxy::before(scene.stage.chain().url(), Duration::ZERO).await?;
    let (data, pw) = (scene.path("golem"), scene.path("pw"));
    let words =
        ["golem", "run", "--data", &data, "--rpc", node.url().as_str(), "--password-file", &pw];
    let golem = Process::start(&words)?;
    golem.does()?;

    let away = || json!({ "jsonrpc": "2.0", "error": { "code": -32_000, "message": "not now" } });
    node.fail("eth_getBalance", 2, Fault::Claim(Arc::new(away)));
    scene.later(HOUR).await?;
    let fault = golem.says("fault")?;
    assert_eq!(fault["againIn"], 1, "{fault}");
    let fault = golem.says("fault")?;
    assert_eq!(fault["againIn"], 2, "{fault}");

    let tick = golem.says("tick")?;
    assert_eq!(tick["tick"], 2, "{tick}");
    golem.stops()?;
    Ok(())
}
