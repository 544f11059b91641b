//! INV-6: a process that is lost, and one whose owner ends it.

use super::{DAY, HOUR, Process, Scene, until};
use crate::command::{Key, bardo};
use alloy::{
    primitives::{Bytes, U256},
    providers::ext::AnvilApi as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{Fault, Proxy, dollars, fixed_signer};
use golem_chain::environment;
use golem_custody::{Runway, Runways};
use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY, Rule, terms::Timestamp};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

impl Scene {
    /// Letters of its owner's that wait for it.
    fn letters(&self) -> Result<usize> {
        let inbox = self.data().join("inbox");
        let Ok(found) = std::fs::read_dir(inbox) else { return Ok(0) };
        let all: Vec<_> = found.collect::<Result<_, _>>()?;
        Ok(all.iter().filter(|one| one.file_name().to_string_lossy().ends_with(".json")).count())
    }
}

/// Killed as soon as its log has the step, whatever it was about to do next: what was given up with the process is wanted again, and
/// what was signed is bought once.
#[tokio::test]
async fn killed_in_the_middle_of_a_buy_it_goes_on_and_buys_once() -> Result<()> {
    let scene = Scene::local().await?;
    let mut have = 1_000;
    for step in ["event.intentProposed", "intent.reserved", "intent.signed", "intent.settled"] {
        let before = scene.kinds()?.len();
        let golem = scene.runs_local()?;
        until(step, || {
            let kinds = scene.kinds()?;
            // What it says to the registry has no proposal: what follows one is the buy.
            let buy = kinds.iter().skip(before).skip_while(|kind| *kind != "event.intentProposed");
            Ok(buy.into_iter().any(|kind| kind == step))
        })?;
        golem.lost()?;

        let golem = scene.runs_local()?;
        golem.says("awake")?;
        have -= 50;
        // It did so before it was lost, or in the same tick, or in the next.
        for _ in 0..2 {
            if scene.dollars().await? == dollars(have) {
                break;
            }
            golem.says("tick")?;
            scene.later(HOUR).await?;
        }
        assert_eq!(scene.dollars().await?, dollars(have), "{step}");
        golem.stops()?;
        assert_eq!(scene.dollars().await?, dollars(have), "{step}");
        let whole = crate::command::bardo(["audit", "verify", "--data", &scene.path("golem")])?;
        assert_eq!(whole.code, 0, "{whole:?}");
        scene.later(DAY).await?;
    }
    Ok(())
}

/// D19: a process that sees its grants end in the very block knows that its owner wanted it; who could not send has wanted nothing.
#[tokio::test(flavor = "multi_thread")]
async fn whose_will_its_end_is_stands_written_before_the_chain_has_it() -> Result<()> {
    let scene = Scene::local().await?;
    let note = scene.data().join("inbox/end");
    let proxy = Proxy::before(scene.stage.chain().url(), Duration::ZERO).await?;
    let (seen, looked_for) = (Arc::new(AtomicBool::new(false)), note.clone());
    let sees = Arc::clone(&seen);
    let look = move |_: &mut Value| sees.store(looked_for.is_file(), Ordering::SeqCst);
    proxy.fail("eth_sendRawTransaction", 1, Fault::lie(look));
    let (data, rpc) = (scene.path("golem"), proxy.url().to_string());
    let kill = || {
        let whose = ["--data", &data, "--rpc", &rpc, "--key-file", &scene.owner.file];
        bardo([&["golem", "kill"][..], &whose].concat())
    };
    let provider = scene.stage.node().provider();
    let had = scene.stage.node().balance(scene.owner.address).await?;
    provider.anvil_set_balance(scene.owner.address, U256::ZERO).await?;
    let broke = kill()?;
    let nothing = !note.exists();
    provider.anvil_set_balance(scene.owner.address, had).await?;

    let killed = kill()?;

    ensure!(broke.code == 1 && nothing, "{broke:?}");
    assert_eq!((killed.code, proxy.failed()), (0, 1), "{killed:?}");
    ensure!(seen.load(Ordering::SeqCst) && note.is_file(), "it was written afterwards");
    Ok(())
}

/// D19: the owner's one transaction ends it within a block, whatever its rhythm is.
#[tokio::test]
async fn its_owner_ends_it_by_one_transaction() -> Result<()> {
    let scene = Scene::local().await?;
    let mut golem = scene.runs_local()?;
    golem.does()?;
    let stranger = Key::kept(0x62)?;
    let no = scene.golem("kill", &["--rpc", scene.rpc(), "--key-file", &stranger.file])?;
    assert_eq!(no.code, 1, "{no:?}");
    let sent = scene.owner.sent(&scene.stage).await?;

    let killed = scene.owner("kill", &[])?;

    assert_eq!(killed.code, 0, "{killed:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1);
    let ended = golem.says("ended")?;
    assert_eq!((&ended["ended"], &ended["of"]), (&"died".into(), &"ownerKillSwitch".into()));
    ensure!(golem.child.wait()?.success());
    let status = scene.golem("status", &["--rpc", scene.rpc()])?;
    assert_eq!(status.code, 1, "{status:?}");
    let said = status.json()?;
    ensure!(said["dead"] == true && said["dying"]["phase"] == "left", "{said}");
    let home = scene.data().parent().context("no home")?.display().to_string();
    let list = bardo(["golem", "list", "--home", &home, "--json"])?.json()?;
    let listed = &list["golems"][0];
    ensure!(listed["dead"] == true && listed["dying"] == "ownerKillSwitch", "{list}");
    let words = bardo(["golem", "list", "--home", &home])?.stdout;
    ensure!(words.contains("dead: OwnerKillSwitch") && !words.contains("next"), "{words}");
    let watch = scene.golem("watch", &["--once"])?;
    ensure!(watch.code == 0 && watch.json()?["closed"] == true, "nobody is missed: {watch:?}");
    let pw = scene.path("pw");
    let run = scene.golem("run", &["--rpc", scene.rpc(), "--password-file", &pw])?;
    ensure!(run.code == 1 && run.stdout.contains("it is dead"), "{run:?}");
    ensure!(!scene.data().join("session-key.json").exists(), "a key was born for the dead");
    // D13: nobody feeds it, and it needs no key.
    for (verb, words) in
        [("feed", &["--days", "30"][..]), ("feed", &["--phase", "stable"]), ("grant", &[])]
    {
        let no = scene.owner(verb, words)?;
        ensure!(no.code == 1 && no.stdout.contains("it is dead"), "{verb}: {no:?}");
    }
    assert_eq!(scene.letters()?, 0, "it was signed for all the same");
    let again = scene.owner("kill", &[])?;
    ensure!(again.code == 0 && again.json()?["transaction"].is_null(), "{again:?}");
    Ok(())
}

/// D13, D19, D21: behind Acceptance it takes no Feed, and whoever watches is told when its death does not go on.
#[tokio::test]
async fn a_death_that_waits_takes_no_feed_and_is_watched_until_its_end() -> Result<()> {
    let scene = Scene::open().await?;
    let golem = scene.runs(&[])?;
    let key = golem.says("born")?["born"].as_str().context("no key")?.to_owned();
    scene.onboards(&["--mode", "vault", "--session", &key])?;
    golem.does()?;
    // Its key goes with its process: what it holds cannot be settled by the next one.
    golem.lost()?;
    let golem = scene.runs(&[])?;
    golem.says("tick")?;
    assert_eq!(scene.owner("kill", &[])?.code, 0);
    golem.says("waits")?;
    let look = || scene.golem("watch", &["--rpc", scene.rpc(), "--once"]);

    let no = scene.owner("feed", &["--days", "30"])?;

    ensure!(no.code == 1 && no.stdout.contains("its death is accepted"), "{no:?}");
    assert_eq!(scene.letters()?, 0);
    let dies = look()?;
    let said = dies.json()?;
    assert_eq!((dies.code, &said["closed"], &said["dies"]), (0, &false.into(), &true.into()));
    let home = scene.data().parent().context("no home")?.display().to_string();
    let list = bardo(["golem", "list", "--home", &home])?.stdout;
    ensure!(list.contains("dies: ") && !list.contains("next"), "{list}");
    // Nobody starts it again.
    golem.lost()?;
    let watcher =
        Process::start(&["golem", "watch", "--data", &scene.path("golem"), "--rpc", scene.rpc()])?;
    scene.later(4 * HOUR).await?;
    let gone = look()?;
    assert_eq!(gone.code, 1, "{gone:?}");
    assert_eq!(gone.json()?["event"]["kind"], "heartbeatAnomaly", "{gone:?}");
    assert_eq!(watcher.says("event")?["event"]["kind"], "heartbeatAnomaly");
    Ok(())
}

/// D19: a Golem ends its own side alone. Its owner is told which grant is his to end, and by which command, until he has done it.
#[tokio::test]
async fn an_owner_is_told_which_grant_is_his_to_end() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    golem.stops()?;
    let status = scene.status()?;
    let session = serde_json::from_value(status["key"].clone())?;
    let expires_at = scene.stage.now().await? + 60 * DAY;
    let end =
        environment().caveat(&Rule::Timestamp(Timestamp { after: 0, before: expires_at.into() }));
    let grant = Delegation {
        delegate: session,
        delegator: scene.owner.address,
        authority: ROOT_AUTHORITY,
        caveats: vec![end?.context("no such enforcer")?],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let grant = fixed_signer(0x61)?.grant(&scene.stage.domain(), grant)?;
    let runway = Runway {
        chain_id: scene.stage.node().chain_id(),
        owner: scene.owner.address,
        session,
        token: Some(scene.stage.book().usdc),
        manager: DELEGATION_MANAGER,
        context: PermissionContext::new(vec![grant])?.encode(),
        dependencies: Vec::new(),
        per_day: dollars(1),
        most: dollars(60),
        expires_at,
    };
    let golem = serde_json::from_value(status["golem"].clone())?;
    let config = StoreConfig { folder: scene.data(), golem, max_pages: None };
    let store = Store::open(&config, None)?;
    Runways::new(&store).keep(&runway, scene.stage.now().await?).await?;
    drop(store);
    assert_eq!(scene.status()?["asks"], json!([]));
    let golem = scene.runs_local()?;
    golem.says("awake")?;
    assert_eq!(scene.owner("kill", &[])?.code, 0);
    assert_eq!(golem.says("ended")?["ended"], "died");

    let asked = scene.status()?["asks"][0].clone();

    assert_eq!(asked["what"], "revoke", "{asked}");
    let words = asked["words"].as_str().context("no words")?;
    let context = scene.path("golem/legacy/runway.context");
    ensure!(words.contains("bardo delegation revoke --context legacy/runway.context"), "{words}");
    let revoke = ["delegation", "revoke", "--rpc", scene.rpc(), "--context", &context];
    let revoked = bardo([&revoke[..], &["--key-file", &scene.owner.file]].concat())?;
    assert_eq!(revoked.code, 0, "{revoked:?}");
    assert_eq!(scene.status()?["asks"], json!([]));
    Ok(())
}

/// The same without a word in its folder: a revocation is known by its block, and not by a tick an hour later.
#[tokio::test]
async fn a_revocation_is_known_within_a_block() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    let key = ["--rpc", scene.rpc(), "--key-file", &scene.owner.file];

    let revoked = crate::command::bardo([&["delegation", "revoke", "--all"][..], &key].concat())?;

    assert_eq!(revoked.code, 0, "{revoked:?}");
    let ended = golem.says("ended")?;
    assert_eq!((&ended["ended"], &ended["of"]), (&"died".into(), &"grantEnded".into()));
    Ok(())
}
