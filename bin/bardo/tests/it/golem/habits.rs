//! What is off is said, and nothing begins.

use super::{HOUR, Process, Scene};
use crate::command::bardo;
use anyhow::{Context as _, Result, ensure};
use bardo_testkit::{Fault, Proxy, dollars};
use serde_json::json;
use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::Path,
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

/// INV-6, P8: a cap over all Golems of an owner has one ledger that all of them count in, or none of them starts.
#[tokio::test]
async fn an_owners_cap_is_counted_in_one_ledger_by_all_of_his_golems() -> Result<()> {
    let scene = Scene::local().await?;
    let (other, pw) = (scene.path("other"), scene.path("pw"));
    fs::create_dir(&other)?;
    fs::set_permissions(&other, fs::Permissions::from_mode(0o700))?;
    for file in ["STRATEGY.md", "HEARTBEAT.md"] {
        fs::copy(scene.data().join(file), Path::new(&other).join(file))?;
    }
    let salt = format!("0x{}", "02".repeat(32));
    let onboard = |data: &str, more: &[&str]| {
        let whose = ["--rpc", scene.rpc(), "--data", data, "--key-file", &scene.owner.file];
        let mode = ["--mode", "local", "--session-password-file", &pw, "--days", "60", "--json"];
        bardo([&["onboard"][..], &whose, &mode, more].concat())
    };
    let ran = onboard(&other, &["--salt", &salt])?;
    ensure!(ran.code == 0, "{ran:?}");
    let run = |data: &str| {
        ["golem", "run", "--data", data, "--rpc", scene.rpc(), "--password-file", &pw]
            .map(str::to_owned)
    };
    let refused =
        |data: &str| bardo(run(data).into_iter().chain(["--json".to_owned()]).collect::<Vec<_>>());
    let tables = [scene.path("golem"), other.clone()];
    let first: Vec<_> = tables
        .iter()
        .map(|data| fs::read_to_string(Path::new(data).join("golem.toml")))
        .collect::<Result<_, _>>()?;
    let writes = |ledger: &str| -> Result<()> {
        for (data, file) in tables.iter().zip(&first) {
            let life =
                format!("{file}\n[life]\nowner-day = 60000000\nask-above = 900000000\n{ledger}");
            fs::write(Path::new(data).join("golem.toml"), life)?;
        }
        Ok(())
    };

    // A ledger of each one's own is that cap for each of them.
    for ledger in ["", "owner-ledger = \"mine.db\"\n", "owner-ledger = \"../golem/mine.db\"\n"] {
        writes(ledger)?;
        let ran = refused(&tables[0])?;
        ensure!(ran.code == 2 && ran.stdout.contains("owner-ledger"), "{ledger}: {ran:?}");
        let ran = onboard(&tables[0], &[])?;
        ensure!(ran.code == 2 && ran.stdout.contains("owner-ledger"), "{ledger}: {ran:?}");
    }
    writes("owner-ledger = \"../shared/owner.db\"\n")?;
    let golems = [&tables[0], &tables[1]].map(|data| {
        let words = run(data);
        Process::start(&words.each_ref().map(String::as_str))
    });
    let mut outcomes = Vec::new();
    for golem in &golems {
        let Ok(golem) = golem else { anyhow::bail!("it did not start") };
        let told = golem.does()?;
        outcomes.push(told["deeds"][0]["outcome"].as_str().context("no outcome")?.to_owned());
    }

    // Each wants fifty, and there are sixty.
    outcomes.sort();
    assert_eq!(outcomes, ["done", "refused"]);
    assert_eq!(scene.dollars().await?, dollars(950));
    for golem in golems {
        golem?.stops()?;
    }
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
