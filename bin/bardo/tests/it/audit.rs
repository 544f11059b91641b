//! `bardo audit`: what anybody can find out about a Golem's log.

use crate::command::{Ran, bardo, bardo_with};
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{GolemRegistry, golem_registry};
use bardo_store::{DATABASE, Store, StoreConfig};
use bardo_testkit::{STIPEND, Stage};
use golem_chain::Registry;
use golem_custody::Audit;
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt};
use tempfile::TempDir;

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
