//! SPEC G9, C6, D12, D21: a Replicant by its owner's command, made and looked after by its parent's process.

use super::{DAY, HOUR, Process, Scene, until};
use crate::command::{Ran, bardo};
use alloy::primitives::{Address, B256, U256};
use anyhow::{Context as _, Result, ensure};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{STIPEND, dollars};
use golem_chain::local::CharterParties;
use golem_custody::Steps as _;
use golem_delegation::{Rule, terms::MortalityTimeWindow};
use serde_json::{Value, json};
use std::{fs, process::Command};

const TASK: &str = "- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $20\n- every: 6h\n";
const DOLLAR: u64 = 1_000_000;

impl Scene {
    /// A Golem that looks on by itself, and whose owner lets it have children.
    async fn local_parent() -> Result<Self> {
        let scene = Self::open().await?;
        let pw = scene.path("pw");
        let mode = ["--mode", "local", "--by-charter-alone", "--session-password-file", &pw];
        scene.grants(true, &mode)?;
        Ok(scene)
    }

    fn grants(&self, replicants: bool, mode: &[&str]) -> Result<()> {
        let owner = self.owner.address;
        let parties = CharterParties {
            golem_id: B256::ZERO,
            owner,
            account: owner,
            agent_key: owner,
            epoch: 1,
        };
        let mut law = self.stage.book().charter(&parties, MortalityTimeWindow::new(1, 2)?);
        law.replicants = replicants;
        let shown = serde_json::to_value(Rule::GolemCharter(Box::new(law)))?;
        let charter = self.private("charter.json", &shown["params"].to_string())?;
        fs::write(self.data().join("STRATEGY.md"), "- goal: none of its own\n")?;
        self.private("task.md", TASK)?;
        self.onboards(&[mode, &["--charter", &charter]].concat())?;
        Ok(())
    }

    fn replicates(&self, name: &str, words: &[&str]) -> Result<Ran> {
        self.owner("replicate", &[&["--name", name], words].concat())
    }

    /// With this task, a share and two days.
    fn scout(&self) -> Result<Value> {
        let ran = self.wants_a_scout()?;
        ensure!(ran.code == 0, "{ran:?}");
        ran.json()
    }

    fn wants_a_scout(&self) -> Result<Ran> {
        let task = self.path("task.md");
        let words = ["--task", &task, "--budget", "50", "--for", "2d", "--every", "6h"];
        self.replicates("scout", &words)
    }

    fn kin(&self) -> Result<Value> {
        Ok(self.status()?["replicants"][0].clone())
    }
}

impl Process {
    /// The next thing of that kind that a child of its says.
    fn relays(&self, what: &str) -> Result<Value> {
        loop {
            let said = self.says("replicant")?;
            if said["says"].get(what).is_some() {
                return Ok(said["says"].clone());
            }
        }
    }

    /// The next tick of a child's in which it wanted something.
    fn deed(&self) -> Result<Value> {
        loop {
            let tick = self.relays("tick")?;
            if tick["deeds"].as_array().is_some_and(|deeds| !deeds.is_empty()) {
                return Ok(tick);
            }
        }
    }
}

/// kill -9 of a process that another one started.
fn killed(process: &Value) -> Result<()> {
    let id = process.as_u64().context("no process")?.to_string();
    ensure!(Command::new("kill").args(["-KILL", &id]).status()?.success(), "no such process");
    Ok(())
}

/// G9, C6: its parent's process makes it; it trades on Uniswap within its share; it is seen beside its parent; its time ends it, its gas
/// money goes home, and its key is wiped.
#[tokio::test]
async fn a_running_golem_makes_a_replicant_that_trades_within_its_share_until_its_time_is_over()
-> Result<()> {
    let scene = Scene::local_parent().await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;

    let made = scene.scout()?;

    assert_eq!(
        (&made["replicated"], &made["budget"]),
        (&true.into(), &(50 * DOLLAR).into()),
        "{made}"
    );
    let key: Address = serde_json::from_value(made["key"].clone())?;
    ensure!(made["transaction"].is_string(), "no gas money: {made}");
    let tick = golem.deed()?;
    assert_eq!(tick["deeds"][0]["outcome"], "done", "{tick}");
    assert_eq!(scene.dollars().await?, dollars(980));
    let kin = scene.kin()?;
    assert_eq!(
        (&kin["name"], &kin["state"], &kin["runs"]),
        (&"scout".into(), &"living".into(), &true.into()),
        "{kin}"
    );
    assert_eq!((&kin["phase"], &kin["budget"]), (&"Thriving".into(), &made["budget"]), "{kin}");
    let spent = kin["spent"].as_u64().context("no sum")?;
    ensure!((20 * DOLLAR..21 * DOLLAR).contains(&spent), "{kin}");
    let home = scene.data().parent().context("no home")?.display().to_string();
    let list = bardo(["golem", "list", "--home", &home, "--json"])?.json()?;
    let listed = &list["golems"][0]["replicants"][0];
    assert_eq!((&listed["name"], &listed["budget"]), (&kin["name"], &kin["budget"]), "{list}");
    let words = bardo(["golem", "list", "--home", &home])?.stdout;
    ensure!(words.contains("scout: Thriving, acts; spent $20."), "{words}");
    // The same command goes on with it, and pays nothing twice.
    let again = scene.replicates("scout", &[])?.json()?;
    assert_eq!((&again["key"], &again["transaction"]), (&made["key"], &Value::Null), "{again}");

    // What is left of its share is not enough for a third time.
    scene.later(6 * HOUR).await?;
    assert_eq!(golem.deed()?["deeds"][0]["outcome"], "done");
    scene.later(6 * HOUR).await?;
    let third = golem.relays("tick")?;
    assert_eq!(third["deeds"], Value::Array(vec![]), "{third}");
    assert_eq!(scene.dollars().await?, dollars(960));

    scene.later(2 * DAY).await?;
    let ended = golem.relays("ended")?;
    ensure!(ended["of"].as_str().is_some_and(|why| why.contains("time is over")), "{ended}");
    until("its end in its parent's books", || Ok(scene.kin()?["state"] == "ended"))?;
    ensure!(!scene.data().join("replicants/scout/session-key.json").exists(), "its key is there");
    let left = scene.stage.node().balance(key).await?;
    ensure!(left < STIPEND / U256::from(50), "{left} wei stayed with it");
    let no = scene.replicates("scout", &[])?;
    ensure!(no.code == 1 && no.stdout.contains("its time is over"), "{no:?}");
    golem.stops()?;
    Ok(())
}

/// A Golem that does not run makes it when it does; its owner pays its gas then.
#[tokio::test]
async fn a_stopped_golem_makes_its_replicant_when_it_runs() -> Result<()> {
    let scene = Scene::local_parent().await?;

    let ran = scene.wants_a_scout()?;

    assert_eq!(ran.code, 1, "what waits is not made: {ran:?}");
    let waits = ran.json()?;
    ensure!(waits["replicated"] == false && waits["waits"].is_string(), "{waits}");
    assert_eq!(scene.kin()?["state"], "waits");
    let golem = scene.runs_local()?;
    golem.says("made")?;
    ensure!(golem.relays("waits")?["key"].is_string(), "it asks for no gas money");
    let paid = scene.replicates("scout", &[])?.json()?;
    ensure!(paid["replicated"] == true && paid["transaction"].is_string(), "{paid}");
    assert_eq!(golem.deed()?["deeds"][0]["outcome"], "done");
    // It stops with its parent, and goes on with it.
    golem.stops()?;
    until("its stop", || Ok(scene.kin()?["runs"] == false))?;
    assert_eq!(scene.kin()?["state"], "living");
    scene.later(6 * HOUR).await?;
    let golem = scene.runs_local()?;
    assert_eq!(golem.deed()?["deeds"][0]["outcome"], "done");
    golem.stops()?;
    Ok(())
}

/// D21: the key in a file is the same in the next process, which its parent starts; nobody spends twice.
#[tokio::test]
async fn a_replicant_that_is_killed_is_started_again_with_the_same_key() -> Result<()> {
    let scene = Scene::local_parent().await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    let made = scene.scout()?;
    let awake = golem.relays("awake")?;
    golem.deed()?;

    killed(&awake["process"])?;

    assert_eq!(golem.says("started")?["started"], made["key"]);
    let again = golem.relays("awake")?;
    assert_eq!(again["key"], made["key"]);
    ensure!(again["process"] != awake["process"], "{again}");
    scene.later(6 * HOUR).await?;
    assert_eq!(golem.deed()?["deeds"][0]["outcome"], "done");
    assert_eq!(scene.dollars().await?, dollars(960));

    // Its parent is killed: it goes on, and the next process of its parent's finds it.
    golem.lost()?;
    scene.later(HOUR).await?;
    ensure!(scene.kin()?["runs"] == true, "{}", scene.kin()?);
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    assert_eq!(scene.kin()?["state"], "living");
    killed(&again["process"])?;
    assert_eq!(golem.says("started")?["started"], made["key"]);
    golem.stops()?;
    Ok(())
}

/// INV-6: books that have stopped take nothing more; the next process of the same key goes on, and nobody spends twice.
#[tokio::test]
async fn a_replicant_whose_books_have_stopped_is_started_again() -> Result<()> {
    let scene = Scene::local_parent().await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    let made = scene.scout()?;
    let awake = golem.relays("awake")?;
    golem.deed()?;
    let id = serde_json::from_value(awake["awake"].clone())?;
    scene.another_writes_to(scene.data().join("replicants/scout"), id).await?;

    scene.later(6 * HOUR).await?;

    assert_eq!(golem.says("started")?["started"], made["key"]);
    assert_eq!(golem.deed()?["deeds"][0]["outcome"], "done");
    assert_eq!(scene.dollars().await?, dollars(960));
    golem.stops()?;
    Ok(())
}

/// D21: a key in no file is gone with its process, and so is the Replicant: it has no second budget.
#[tokio::test]
async fn a_replicant_whose_key_is_gone_counts_as_lost() -> Result<()> {
    let scene = Scene::open().await?;
    let golem = scene.runs(&[])?;
    let key = golem.says("born")?["born"].as_str().context("no key")?.to_owned();
    scene.grants(true, &["--mode", "vault", "--session", &key])?;
    golem.says("tick")?;
    let made = scene.scout()?;
    let awake = golem.relays("awake")?;
    golem.deed()?;
    ensure!(!scene.data().join("replicants/scout/session-key.json").exists(), "a key in a file");

    killed(&awake["process"])?;

    assert_eq!(golem.says("lost")?["lost"], made["key"]);
    let kin = scene.kin()?;
    assert_eq!(
        (&kin["state"], &kin["why"]),
        (&"ended".into(), &"its process is gone".into()),
        "{kin}"
    );
    let folder = scene.path("golem/replicants/scout");
    let alone = bardo(["golem", "run", "--replicant", "--data", &folder, "--rpc", scene.rpc()])?;
    ensure!(
        alone.code == 1 && alone.stdout.contains("its key ended with its process"),
        "{alone:?}"
    );
    golem.stops()?;
    Ok(())
}

/// ATK-09: one revocation ends parent and child; whoever starts the child is told why it can do nothing.
#[tokio::test]
async fn a_revoked_parents_replicant_is_refused_in_words() -> Result<()> {
    let scene = Scene::local_parent().await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    scene.scout()?;
    golem.deed()?;
    golem.stops()?;

    let killed = scene.owner("kill", &[])?;
    assert_eq!(killed.code, 0, "{killed:?}");

    let (folder, pw) = (scene.path("golem/replicants/scout"), scene.path("pw"));
    let run = [
        "golem",
        "run",
        "--replicant",
        "--data",
        &folder,
        "--rpc",
        scene.rpc(),
        "--password-file",
        &pw,
    ];
    let ran = bardo(run)?;
    ensure!(ran.code == 1 && ran.stdout.contains("its parent's grant is revoked"), "{ran:?}");
    let task = scene.path("task.md");
    let words = ["--task", &task, "--budget", "5", "--for", "1d"];
    let another = scene.replicates("another", &words)?;
    ensure!(another.code == 1 && another.stdout.contains("revoked"), "{another:?}");
    // Its parent dies of it, and so does the child.
    let golem = scene.runs_local()?;
    assert_eq!(golem.says("ended")?["ended"], "died");
    assert_eq!(scene.kin()?["state"], "ended");
    let ran = bardo(run)?;
    ensure!(ran.code == 1 && ran.stdout.contains("it can do nothing any more"), "{ran:?}");
    Ok(())
}

/// D18, INV-9: from the acceptance of its parent's death on nobody acts for it, whoever is there to say so, and nobody is started; also
/// where that death waits.
#[tokio::test]
async fn a_dying_parents_replicant_ends_and_is_not_started_again() -> Result<()> {
    let scene = Scene::local_parent().await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    scene.scout()?;
    golem.deed()?;
    // Its parent is killed behind Acceptance: the child's own process is there, and what the chain permits it.
    golem.lost()?;
    assert_eq!(scene.kin()?["runs"], true);
    let status = scene.status()?;
    let golem_id = serde_json::from_value(status["golem"].clone())?;
    let config = StoreConfig { folder: scene.data(), golem: golem_id, max_pages: None };
    let accepted = json!({
        "phase": "accepted", "trigger": "exhaustion", "vitality": 0, "at": scene.stage.now().await?,
    });
    let store = Store::open(&config, None)?;
    store.advance("thanatopsis", 0, &accepted, scene.stage.now().await?).await.unwrap();
    drop(store);

    until("its end", || Ok(scene.kin()?["runs"] == false))?;

    let folder = scene.data().join("replicants/scout");
    ensure!(!folder.join("session-key.json").exists(), "its key is there");
    // What its parent has to say needs gas: its death waits, and nobody is started meanwhile.
    let key: Address = serde_json::from_value(status["key"].clone())?;
    scene.stage.fund(key, U256::ZERO, U256::ZERO).await?;
    let golem = scene.runs_local()?;
    let mut waits = 0;
    while waits < 2 {
        let said = golem.next()?;
        for never in ["started", "lost", "made"] {
            ensure!(said.get(never).is_none(), "{said}");
        }
        if let Some(pause) = said["againIn"].as_u64() {
            waits += 1;
            scene.later(pause).await?;
        }
    }
    assert_eq!(scene.kin()?["runs"], false);
    let (pw, folder) = (scene.path("pw"), folder.display().to_string());
    let run = ["golem", "run", "--replicant", "--data", &folder, "--rpc", scene.rpc()];
    let ran = bardo([&run[..], &["--password-file", &pw]].concat())?;
    ensure!(ran.code == 1 && ran.stdout.contains("its parent dies"), "{ran:?}");
    scene.stage.fund(key, STIPEND, U256::ZERO).await?;
    loop {
        let said = golem.next()?;
        if let Some(pause) = said["againIn"].as_u64() {
            scene.later(pause).await?;
        }
        if said["ended"] == "died" {
            break;
        }
    }
    assert_eq!(scene.kin()?["state"], "ended");
    Ok(())
}

/// ATK-07, C2: what its parent could not hand on is refused by the command, in words, and nothing is written.
#[tokio::test]
async fn what_a_golem_cannot_hand_on_is_refused_in_words() -> Result<()> {
    let scene = Scene::local_parent().await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    let (task, idle) = (scene.path("task.md"), scene.private("idle.md", "- goal: none\n")?);
    let no = |data: &str, words: &[&str], code: i32, says: &str| -> Result<()> {
        let key = ["--rpc", scene.rpc(), "--key-file", &scene.owner.file];
        let ran = bardo(
            [&["golem", "replicate", "--data", data, "--name", "other"][..], &key, words].concat(),
        )?;
        ensure!(
            ran.code == code && format!("{}{}", ran.stdout, ran.stderr).contains(says),
            "{says}: {ran:?}"
        );
        Ok(())
    };
    let data = scene.path("golem");
    let with = |budget: &'static str, life: &'static str| {
        ["--task", task.as_str(), "--budget", budget, "--for", life].map(str::to_owned)
    };
    for (words, says) in [
        (with("1000.01", "1d"), "more than its parent's own budget of $1,000.00"),
        (with("0", "1d"), "a budget of nothing"),
        (with("50", "61d"), "outlive its parent"),
    ] {
        no(&data, &words.each_ref().map(String::as_str), 1, says)?;
    }
    no(&data, &["--task", &idle, "--budget", "5", "--for", "1d"], 2, "something to do")?;
    no(&data, &[], 2, "--task FILE")?;
    scene.scout()?;
    let child = scene.path("golem/replicants/scout");
    let words = with("5", "1h");
    no(&child, &words.each_ref().map(String::as_str), 1, "a Replicant has no children")?;
    golem.stops()?;

    let golem = scene.status()?["golem"].as_str().context("no id")?.to_owned();
    let advance = ["registry", "advance", "--phase", "stable", &golem, "--rpc", scene.rpc()];
    let moved = bardo([&advance[..], &["--key-file", &scene.owner.file]].concat())?;
    ensure!(moved.code == 0, "{moved:?}");
    let words = with("5", "1d");
    no(&data, &words.each_ref().map(String::as_str), 1, "children are made in Thriving")?;
    ensure!(!scene.data().join("replicants/other").exists(), "something was written");
    Ok(())
}

/// G9: an owner who did not write that children may act gets none.
#[tokio::test]
async fn a_grant_without_replicants_has_none() -> Result<()> {
    let scene = Scene::open().await?;
    let pw = scene.path("pw");
    scene.grants(false, &["--mode", "local", "--session-password-file", &pw])?;

    let task = scene.path("task.md");
    let ran = scene.replicates("scout", &["--task", &task, "--budget", "5", "--for", "1d"])?;

    ensure!(ran.code == 1 && ran.stdout.contains("lets no child act"), "{ran:?}");
    Ok(())
}
