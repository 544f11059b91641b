//! `bardo audit`: what anybody can find out about a Golem's log.

use crate::command::{Ran, bardo, bardo_with};
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{GolemRegistry, golem_registry};
use bardo_store::{DATABASE, Store, StoreConfig};
use bardo_testkit::{Fault, Proxy, STIPEND, Stage};
use golem_chain::Registry;
use golem_custody::Audit;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, sync::Mutex, time::Duration};
use tempfile::TempDir;
use tokio::sync::mpsc;

const NOW: u64 = 1_800_000_000;

/// A Golem's store with a few records.
struct Log {
    folder: TempDir,
    store: Store,
    heads: Vec<B256>,
}

impl Log {
    async fn of(golem: B256, records: u64) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        let config = StoreConfig { folder: folder.path().into(), golem, max_pages: None };
        let store = Store::open(&config, None)?;
        let mut heads = Vec::new();
        for number in 0..records {
            let head = store.note("note", &json!({ "n": number }), NOW + number).await;
            heads.push(head.ok().context("not noted")?.hash);
        }
        Ok(Self { folder, store, heads })
    }

    fn data(&self) -> String {
        self.folder.path().display().to_string()
    }

    fn verify(&self, more: &[&str]) -> Result<Ran> {
        bardo([&["audit", "verify", "--data", &self.data()], more].concat())
    }
}

const fn golem() -> B256 {
    B256::repeat_byte(0x60)
}

#[tokio::test]
async fn a_running_golems_log_is_verified_and_says_that_nothing_vouches_for_it() -> Result<()> {
    let log = Log::of(golem(), 3).await?;

    let ran = log.verify(&[])?;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("whole: 3 records"), "{ran:?}");
    assert!(ran.stdout.contains("no anchor") && ran.stdout.contains("give --rpc"), "{ran:?}");
    let json = log.verify(&["--json"])?.json()?;
    assert_eq!((&json["whole"], &json["length"]), (&json!(true), &json!(3)));
    assert_eq!((&json["anchored"], &json["unanchored"]), (&json!(null), &json!(3)));
    drop(log.store);
    Ok(())
}

#[tokio::test]
async fn an_export_verifies_alone_and_shows_where_it_was_changed() -> Result<()> {
    let log = Log::of(golem(), 3).await?;
    let file = log.folder.path().join("audit.jsonl").display().to_string();
    let written = bardo(["audit", "export", "--data", &log.data(), "--out", &file])?;
    assert_eq!((written.code, written.stdout.trim()), (0, "3 records and 0 seals"));
    let printed = bardo(["audit", "export", "--data", &log.data()])?;
    assert_eq!(printed.stdout, fs::read_to_string(&file)?);
    let again = bardo(["audit", "export", "--data", &log.data(), "--out", &file])?;
    assert_eq!(again.code, 2, "what is there is not overwritten: {again:?}");

    let whole = bardo(["audit", "verify", "--file", &file])?;
    assert_eq!(whole.code, 0, "{whole:?}");
    let verify = |text: &str| bardo_with(text, ["audit", "verify", "--file", "-", "--json"]);
    let changed = verify(&printed.stdout.replacen("\"n\":1", "\"n\":7", 1))?;
    assert_eq!(changed.code, 1, "{changed:?}");
    let damage = &changed.json()?["damage"];
    assert_eq!((&damage["sequence"], &damage["kind"]), (&json!(2), &json!("changed")));
    let cut: Vec<&str> = printed.stdout.lines().take(2).collect();
    let cut = verify(&cut.join("\n"))?;
    assert_eq!((cut.code, &cut.json()?["damage"]["sequence"]), (1, &json!(3)));
    let garbage = verify("garbage\n")?;
    assert_eq!((garbage.code, &garbage.json()?["whole"]), (1, &json!(false)));
    assert!(garbage.json()?["reason"].as_str().is_some_and(|words| words.contains("line 1")));
    Ok(())
}

#[tokio::test]
async fn what_is_no_log_is_wrong_use_and_nothing_is_made_of_it() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data = folder.path().display().to_string();
    for words in [
        vec!["audit", "verify"],
        vec!["audit", "verify", "--data", &data],
        vec!["audit", "verify", "--data", &data, "--file", "x"],
        vec!["audit", "verify", "--file", "/nowhere/at/all"],
        vec!["audit", "export", "--data", &data],
    ] {
        let ran = bardo(&words)?;
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
    }
    assert!(!folder.path().join(DATABASE).exists());
    Ok(())
}

/// ATK-47, to the end: the head is on chain, then the log's tail is cut off.
#[tokio::test]
async fn a_log_that_was_cut_is_seen_against_the_chain() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, agent) = (Address::repeat_byte(0x51), Address::repeat_byte(0x52));
    for who in [owner, agent] {
        stage.fund(who, STIPEND, U256::ZERO).await?;
    }
    let salt = B256::repeat_byte(7);
    let golem = Registry::golem_id(owner, salt);
    let register = GolemRegistry::registerCall { salt, agentKey: agent }.abi_encode();
    stage.send_as(owner, golem_registry(), U256::ZERO, register.into()).await?;
    let log = Log::of(golem, 5).await?;
    let rpc = stage.chain().url().as_str();
    let bare = log.verify(&["--rpc", rpc])?;
    assert!(bare.code == 0 && bare.stdout.contains("no heartbeat"), "{bare:?}");
    for head in [log.heads[1], log.heads[3]] {
        let beat = GolemRegistry::heartbeatCall { golemId: golem, auditHead: head }.abi_encode();
        stage.send_as(agent, golem_registry(), U256::ZERO, beat.into()).await?;
    }

    let whole = log.verify(&["--rpc", rpc, "--json"])?.json()?;
    assert_eq!((&whole["whole"], &whole["anchors"]), (&json!(true), &json!(2)));
    assert_eq!((&whole["anchored"]["sequence"], &whole["unanchored"]), (&json!(4), &json!(1)));

    // The first three lines, with an end that fits them: by itself it is whole.
    let exported = bardo(["audit", "export", "--data", &log.data()])?.stdout;
    let kept: Vec<&str> = exported.lines().take(3).collect();
    let end = json!({ "end": { "golem": golem, "length": 3, "hash": log.heads[2] } });
    // Keys in the order of their bytes, as exports have them.
    let end = format!(
        "{{\"end\":{{\"golem\":{},\"hash\":{},\"length\":3}}}}",
        end["end"]["golem"], end["end"]["hash"]
    );
    let cut = format!("{}\n{end}\n", kept.join("\n"));
    let alone = bardo_with(&cut, ["audit", "verify", "--file", "-"])?;
    assert_eq!(alone.code, 0, "{alone:?}");
    let seen = bardo_with(&cut, ["audit", "verify", "--file", "-", "--rpc", rpc, "--json"])?;
    assert_eq!(seen.code, 1, "{seen:?}");
    let damage = seen.json()?["damage"].clone();
    assert_eq!((&damage["sequence"], &damage["kind"]), (&json!(3), &json!("missing")));
    ensure!(log.store.golem() == golem);
    Ok(())
}

/// One owner's Golem on the register, whose heads its key can bring on chain.
async fn registered(stage: &Stage, owner: Address, agent: Address, salt: u8) -> Result<B256> {
    for who in [owner, agent] {
        stage.fund(who, STIPEND, U256::ZERO).await?;
    }
    let salt = B256::repeat_byte(salt);
    let register = GolemRegistry::registerCall { salt, agentKey: agent }.abi_encode();
    stage.send_as(owner, golem_registry(), U256::ZERO, register.into()).await?;
    Ok(Registry::golem_id(owner, salt))
}

async fn beats(stage: &Stage, agent: Address, golem: B256, head: B256) -> Result<()> {
    let beat = GolemRegistry::heartbeatCall { golemId: golem, auditHead: head }.abi_encode();
    let receipt = stage.send_as(agent, golem_registry(), U256::ZERO, beat.into()).await?;
    ensure!(receipt.status(), "no heartbeat");
    Ok(())
}

/// ATK-47: what a log says of itself is its writer's word, also of whose log it is.
#[tokio::test]
async fn a_log_that_was_written_anew_under_another_id_is_not_taken_for_this_golems() -> Result<()> {
    let stage = Stage::open().await?;
    let rpc = stage.chain().url().as_str();
    let (owner, agent) = (Address::repeat_byte(0x51), Address::repeat_byte(0x52));
    let golem = registered(&stage, owner, agent, 7).await?;
    let log = Log::of(golem, 4).await?;
    beats(&stage, agent, golem, log.heads[2]).await?;
    let whole = log.verify(&["--rpc", rpc, "--golem", &golem.to_string(), "--json"])?;
    assert_eq!((whole.code, &whole.json()?["namedBy"]), (0, &json!("caller")), "{whole:?}");

    // By a thief, who made the log of another Golem, or left nothing of it but its end.
    let unknown = B256::repeat_byte(0x99);
    let other = Log::of(unknown, 4).await?;
    let forged = bardo(["audit", "export", "--data", &other.data()])?.stdout;
    let end = |golem: B256| {
        let zero = B256::ZERO;
        format!("{{\"end\":{{\"golem\":\"{golem}\",\"hash\":\"{zero}\",\"length\":0}}}}\n")
    };
    let verify = |text: &str, more: &[&str]| {
        let words = ["audit", "verify", "--file", "-", "--json"];
        bardo_with(text, [&words[..], more].concat())
    };
    let id = golem.to_string();
    for text in [&forged, &end(unknown), &end(B256::ZERO)] {
        // Whoever knows whose log it has to be sees it at once, with a chain or without.
        for more in [&["--golem", &id][..], &["--golem", &id, "--rpc", rpc]] {
            let ran = verify(text, more)?;
            assert_eq!(ran.code, 1, "{more:?}: {ran:?}");
            let json = ran.json()?;
            assert_eq!((&json["whole"], &json["golem"]), (&json!(false), &json!(golem)));
            assert_eq!(json["damage"]["kind"], "foreign", "{json}");
        }
        // Whoever does not is not told that it is whole: the chain knows no such Golem.
        let ran = verify(text, &["--rpc", rpc])?;
        ensure!(ran.code == 1 && ran.json()?["unvouched"].is_string(), "{ran:?}");
    }
    let emptied = verify(&end(golem), &["--rpc", rpc, "--golem", &id])?;
    assert_eq!((emptied.code, &emptied.json()?["damage"]["kind"]), (1, &json!("missing")));

    // A thief registers a Golem of his own, and beats for it: then the id alone says that it is another.
    let thief = Address::repeat_byte(0x53);
    let his = registered(&stage, thief, thief, 8).await?;
    let other = Log::of(his, 2).await?;
    beats(&stage, thief, his, other.heads[1]).await?;
    let shown = other.verify(&["--rpc", rpc])?;
    ensure!(shown.stdout.contains(&his.to_string()), "{shown:?}");
    ensure!(shown.stdout.contains("as the log itself says"), "{shown:?}");
    let json = other.verify(&["--rpc", rpc, "--json"])?.json()?;
    assert_eq!((&json["golem"], &json["namedBy"]), (&json!(his), &json!("log")));
    // Beside books, golem.toml knows better, and so does whoever is asked for a page of them.
    let file = format!(
        "golem = \"{golem}\"\nchain-id = 8453\nmode = \"localKey\"\nowner = \"{owner}\"\naccount = \"{owner}\"\n"
    );
    fs::write(other.folder.path().join("golem.toml"), file)?;
    for more in [&["--json"][..], &["--rpc", rpc, "--json"]] {
        let ran = other.verify(more)?;
        assert_eq!((ran.code, &ran.json()?["namedBy"]), (1, &json!("golemToml")), "{ran:?}");
        assert_eq!(ran.json()?["damage"]["kind"], "foreign", "{ran:?}");
    }
    let page = other.folder.path().join("report.html").display().to_string();
    let ran = bardo(["golem", "report", "--data", &other.data(), "--rpc", rpc, "--out", &page])?;
    ensure!(ran.code == 2 && ran.stderr.contains(&id), "{ran:?}");
    Ok(())
}

/// A Golem that had no heartbeat yet lacks none; one that the chain does not know, or whose heartbeats are of other logs, is no yes.
#[tokio::test]
async fn a_young_golems_log_is_whole_and_one_that_nothing_on_chain_vouches_for_is_no_yes()
-> Result<()> {
    let stage = Stage::open().await?;
    let rpc = stage.chain().url().as_str();
    let (owner, agent) = (Address::repeat_byte(0x51), Address::repeat_byte(0x52));
    let golem = registered(&stage, owner, agent, 7).await?;
    let (id, log) = (golem.to_string(), Log::of(golem, 3).await?);
    let asked = ["--rpc", rpc, "--golem", &id];

    let young = log.verify(&asked)?;

    ensure!(young.code == 0 && young.stdout.starts_with("whole: 3 records"), "{young:?}");
    ensure!(young.stdout.contains("no heartbeat of this Golem"), "{young:?}");
    let late = log.verify(&[&asked[..], &["--from-block", "1"]].concat())?;
    ensure!(late.code == 1 && late.stdout.contains("from block 1 on"), "{late:?}");
    let other = B256::repeat_byte(0x99);
    let unknown = Log::of(other, 3).await?;
    for more in [vec!["--rpc", rpc], vec!["--rpc", rpc, "--golem", &other.to_string()]] {
        let ran = unknown.verify(&more)?;
        ensure!(ran.code == 1 && ran.stdout.contains("does not know this Golem"), "{ran:?}");
        let json = unknown.verify(&[&more[..], &["--json"]].concat())?.json()?;
        assert_eq!((&json["whole"], &json["registered"]), (&json!(true), &json!(false)));
    }
    // The head of a log without a record is nothing that could be lacked, and vouches for nothing.
    beats(&stage, agent, golem, B256::ZERO).await?;
    let empty = log.verify(&asked)?;
    ensure!(empty.code == 1 && empty.stdout.contains("are of no record"), "{empty:?}");
    beats(&stage, agent, golem, log.heads[0]).await?;
    assert_eq!(log.verify(&asked)?.code, 0);
    Ok(())
}

/// A Golem that runs brings a head on chain while its log is looked at.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_head_that_comes_on_chain_meanwhile_is_no_damage() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, agent) = (Address::repeat_byte(0x51), Address::repeat_byte(0x52));
    let golem = registered(&stage, owner, agent, 7).await?;
    let log = Log::of(golem, 3).await?;
    beats(&stage, agent, golem, log.heads[2]).await?;
    let (data, page) = (log.data(), log.folder.path().join("page.html").display().to_string());
    for (number, words) in [
        vec!["audit", "verify", "--data", &data],
        vec!["golem", "report", "--data", &data, "--out", &page],
    ]
    .into_iter()
    .enumerate()
    {
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        let (tell, mut asked) = mpsc::unbounded_channel();
        let (done, beaten) = std::sync::mpsc::channel::<()>();
        let beaten = Mutex::new(beaten);
        // Its first question is answered once the log has one record more, and the chain its hash.
        let holds = move |_: &mut Value| {
            let _ = tell.send(());
            let _ = beaten.lock().map(|beaten| beaten.recv());
        };
        proxy.fail("eth_chainId", 1, Fault::lie(holds));
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let words =
            [words, vec!["--rpc".into(), proxy.url().to_string(), "--json".into()]].concat();
        let asks = tokio::task::spawn_blocking(move || bardo(words));

        asked.recv().await.context("it asked nothing")?;
        let head = log.store.note("note", &json!({}), NOW + 10 + number as u64).await;
        beats(&stage, agent, golem, head.ok().context("not noted")?.hash).await?;
        done.send(())?;

        let ran = asks.await??;
        let json = ran.json()?;
        let audit = if number == 0 { &json } else { &json["story"]["audit"] };
        assert_eq!((ran.code, &audit["whole"]), (0, &json!(true)), "{ran:?}");
        assert_eq!(audit["anchors"], json!(number + 2), "{audit}");
    }
    Ok(())
}
