//! `bardo bequest`: an owner opens what his Golem left, with his key and nothing else.

use crate::command::{Key, Ran, bardo};
use alloy::primitives::{Address, B256, Bytes, U256};
use anyhow::{Context, Result};
use bardo_store::{MemoryKind, NewMemory, Store, StoreConfig, Untrusted};
use golem_custody::{Audit, DeathSettlement, ExpiryKind, OwnerSigner, seal};
use golem_delegation::{Delegation, ROOT_AUTHORITY, SigningDomain};
use golem_runtime::{DeathTrigger, Life, Testament, gather, keep_bequest};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt, path::Path};
use tempfile::TempDir;

const GOLEM: B256 = B256::repeat_byte(0x60);
const NOW: u64 = 1_800_000_000;
const DOMAIN: SigningDomain = SigningDomain { chain_id: 8453, manager: Address::repeat_byte(0xaa) };

/// A dead Golem's folder.
struct Left {
    folder: TempDir,
    owner: Key,
    plain: Vec<u8>,
    file: String,
}

impl Left {
    async fn behind() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        let owner = Key::kept(0x41)?;
        let config = StoreConfig { folder: folder.path().into(), golem: GOLEM, max_pages: None };
        let store = Store::open(&config, None)?;
        for number in 0..3 {
            store.note("note", &json!({ "n": number }), NOW).await.ok().context("not noted")?;
        }
        store
            .remember(NewMemory {
                kind: MemoryKind::Warning,
                author: owner.address,
                source: "test".into(),
                at: NOW,
                text: Untrusted::new("pools lie"),
                data: json!({}),
                parents: vec![],
            })
            .await?;
        let settlement = DeathSettlement::DelegationExpiry {
            delegation: B256::repeat_byte(3),
            cause: ExpiryKind::Relinquished,
            positions_settled: vec![],
            positions_deferred: vec![],
        };
        let cause = DeathTrigger::Age;
        let life = Life::born(NOW);
        let testament =
            Testament::written(&store, &life, owner.address, cause, &settlement, NOW).await?;
        let plain = gather(&store, &testament, &settlement, NOW).await?;
        let mut left = Self { folder, owner, plain, file: String::new() };
        left.file = left.sealed(&left.plain)?;
        Ok(left)
    }

    fn sealed(&self, plain: &[u8]) -> Result<String> {
        let signer = OwnerSigner::from_key_file(Path::new(&self.owner.file))?;
        let grant = Delegation {
            delegate: Address::repeat_byte(1),
            delegator: self.owner.address,
            authority: ROOT_AUTHORITY,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let grant = signer.grant(&DOMAIN, grant)?;
        let sealed = seal(&grant, &DOMAIN, self.owner.address, GOLEM, plain)?;
        Ok(keep_bequest(self.folder.path(), GOLEM, &sealed)?.display().to_string())
    }

    fn open(&self, key: &Key, more: &[&str]) -> Result<Ran> {
        bardo([&["bequest", "open", &self.file, "--key-file", &key.file], more].concat())
    }
}

#[tokio::test]
async fn an_owner_opens_what_his_golem_left() -> Result<()> {
    let left = Left::behind().await?;
    let out = left.folder.path().join("out");
    let folder = out.display().to_string();

    let ran = left.open(&left.owner, &["--out", &folder])?;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("# Testament") && ran.stdout.contains("`pools lie`"), "{ran:?}");
    assert!(ran.stdout.contains("1 memories. Its audit log is whole: 3 records"), "{ran:?}");
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 200), "{ran:?}");
    let text = fs::read_to_string(out.join("TESTAMENT.md"))?;
    assert!(text.starts_with("# Testament\n"), "{text}");
    assert!(fs::read_to_string(out.join("memories.jsonl"))?.starts_with("{\"memory\":"));
    let audit = out.join("audit.jsonl").display().to_string();
    assert_eq!(bardo(["audit", "verify", "--file", &audit])?.code, 0);
    assert_eq!(fs::metadata(&audit)?.permissions().mode() & 0o777, 0o600);

    fs::remove_file(&audit)?;
    let again = left.open(&left.owner, &["--out", &folder])?;
    assert_eq!(again.code, 2, "what is there is not overwritten: {again:?}");
    assert!(!Path::new(&audit).exists(), "and nothing is written beside it");
    let json = left.open(&left.owner, &["--json"])?.json()?;
    assert_eq!((&json["opened"], &json["golem"]), (&json!(true), &json!(GOLEM)));
    assert_eq!((&json["memories"], &json["audit"]["length"]), (&json!(1), &json!(3)));
    assert_eq!(json["testament"]["cause"], json!("age"));
    Ok(())
}

#[tokio::test]
async fn another_key_or_a_changed_file_opens_nothing() -> Result<()> {
    let left = Left::behind().await?;
    let out = left.folder.path().join("out");
    let folder = out.display().to_string();

    let other = left.open(&Key::kept(0x42)?, &["--out", &folder, "--json"])?;
    assert_eq!(other.code, 1, "{other:?}");
    let reason = other.json()?["reason"].clone();
    let names = format!("is for {}", left.owner.address);
    assert!(reason.as_str().is_some_and(|words| words.contains(&names)), "{reason}");
    let mut bytes = fs::read(&left.file)?;
    let last = bytes.last_mut().context("empty")?;
    *last ^= 1;
    fs::write(&left.file, bytes)?;
    let changed = left.open(&left.owner, &["--out", &folder])?;
    assert_eq!(changed.code, 1, "{changed:?}");
    assert!(changed.stdout.contains("its seal does not hold"), "{changed:?}");
    fs::write(&left.file, "garbage")?;
    assert_eq!(left.open(&left.owner, &["--out", &folder])?.code, 1);
    assert!(!out.exists());
    let nothing = ["bequest", "open", "/nowhere/at/all", "--key-file", &left.owner.file];
    assert_eq!(bardo(nothing)?.code, 2);
    Ok(())
}

/// Whoever knows the grant can seal something for its owner: what is inside has to hold by itself.
#[tokio::test]
async fn a_log_that_was_changed_before_it_was_sealed_is_not_written_out() -> Result<()> {
    let left = Left::behind().await?;
    let out = left.folder.path().join("out");
    let changed = String::from_utf8(left.plain.clone())?.replacen("\"n\":1", "\"n\":7", 1);
    left.sealed(changed.as_bytes())?;

    let ran = left.open(&left.owner, &["--out", &out.display().to_string()])?;

    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("damaged at record 2"), "{ran:?}");
    assert!(!out.exists());
    Ok(())
}
