//! `bardo onboard`: from a key with coins to a Golem's first deed (SPEC K7).

mod embedded;
mod manifest;
pub(crate) mod runway;
mod wallet;

use crate::command::{Key, Ran, bardo};
use alloy::{
    primitives::{Address, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::defi::Erc20;
use bardo_testkit::{STIPEND, Stage, dollars, fair_swap};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf};
use tempfile::TempDir;

const SESSION: Address = Address::repeat_byte(0x5e);

struct Scene {
    stage: Stage,
    owner: Key,
    folder: TempDir,
}

impl Scene {
    async fn open() -> Result<Self> {
        let stage = Stage::open().await?;
        let owner = Key::kept(0x61)?;
        stage.fund(owner.address, STIPEND * U256::from(10), dollars(5_000)).await?;
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("pw"), "one key\n")?;
        fs::set_permissions(folder.path().join("pw"), fs::Permissions::from_mode(0o600))?;
        Ok(Self { stage, owner, folder })
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("golem")
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn onboard(&self, words: &[&str]) -> Result<Ran> {
        let (rpc, data) = (self.stage.chain().url().as_str(), self.path("golem"));
        let whose = ["--rpc", rpc, "--data", &data, "--key-file", &self.owner.file];
        bardo([&["onboard"][..], &whose, words].concat())
    }

    /// A file of the owner's alone.
    fn private(&self, name: &str, text: &str) -> Result<String> {
        let path = self.folder.path().join(name);
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
        Ok(path.display().to_string())
    }

    fn vault(&self, words: &[&str]) -> Result<Ran> {
        let session = SESSION.to_string();
        self.onboard(&[&["--mode", "vault", "--session", &session], words].concat())
    }

    fn local(&self, words: &[&str]) -> Result<Ran> {
        let pw = self.path("pw");
        self.onboard(&[&["--mode", "local", "--session-password-file", &pw], words].concat())
    }
}

#[tokio::test]
async fn a_person_sees_what_each_step_took_and_is_not_asked_again() -> Result<()> {
    let scene = Scene::open().await?;

    let first = scene.vault(&[])?;

    assert_eq!(first.code, 0, "{first:?}");
    for line in ["1 sign in     sign-in ", "3 wallet      grant ", "5 identity    transaction "] {
        ensure!(first.stdout.contains(line), "{line}: {}", first.stdout);
    }
    let sum = first.stdout.lines().find(|line| line.starts_with("sum")).context("no sum")?;
    let words: Vec<&str> = sum.split_whitespace().collect();
    assert_eq!(words[1..3], ["3", "1"], "{sum}");
    ensure!(words[3].parse::<u64>()? > 100_000 && words[4].contains('.'), "{sum}");
    for name in ["STRATEGY.md", "HEARTBEAT.md", "CONSTITUTION.md", "grant.json", "golem.toml"] {
        ensure!(scene.data().join(name).is_file(), "{name}");
    }
    assert_eq!(scene.owner.sent(&scene.stage).await?, 2, "one, with the upgrade in it");

    let again = scene.vault(&[])?;
    assert_eq!(again.code, 0, "{again:?}");
    ensure!(again.stdout.contains("It was done before: nothing was asked or sent"), "{again:?}");
    ensure!(again.stdout.contains(sum), "the same sum: {again:?}");
    ensure!(again.stderr.is_empty(), "{again:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 2);
    Ok(())
}

/// K6: with the key in the folder, and the grant as `status` and `redeem` take it.
#[tokio::test]
async fn a_local_golem_acts_by_what_was_written() -> Result<()> {
    let scene = Scene::open().await?;
    fs::create_dir(scene.data())?;
    fs::set_permissions(scene.data(), fs::Permissions::from_mode(0o700))?;
    fs::write(scene.data().join("STRATEGY.md"), "Buy ether.")?;
    // He has ended all that he ever granted: what he grants now counts from there.
    let rpc = scene.stage.chain().url().as_str();
    let all = ["delegation", "revoke", "--all", "--rpc", rpc, "--key-file", &scene.owner.file];
    assert_eq!(bardo(all)?.code, 0);
    let usdc = scene.stage.book().usdc;
    let deposit = format!("{usdc}={}", dollars(500));

    let ran = scene.local(&["--deposit", &deposit, "--identity", "ipfs://golem", "--json"])?;

    assert_eq!(ran.code, 0, "{ran:?}");
    let said = ran.json()?;
    let total = &said["total"];
    assert_eq!((&total["prompts"], &total["transactions"]), (&json!(3), &json!(1)));
    assert_eq!(said["steps"][0]["prompts"], json!(["signIn"]));
    assert_eq!(said["steps"].as_array().map(Vec::len), Some(6));
    ensure!(said["done"] == true && said["wasDone"] == false && said["identity"].is_string());
    assert_eq!(fs::read_to_string(scene.data().join("STRATEGY.md"))?, "Buy ether.", "his own");
    let account: Address = serde_json::from_value(said["account"].clone())?;
    assert_eq!(scene.stage.balance_of(usdc, account).await?, dollars(500));

    let grant = said["grant"].as_str().context("no grant")?;
    let status = bardo(["delegation", "status", "--rpc", rpc, "--context", grant, "--json"])?;
    assert_eq!(status.code, 0, "{status:?}");
    let spender = scene.stage.book().swap_router_02;
    let allow = Erc20::approveCall { spender, amount: dollars(100) }.abi_encode();
    let swap = fair_swap(&scene.stage, account, dollars(100));
    let calls: Value = json!([
        { "target": usdc, "data": alloy::primitives::Bytes::from(allow) },
        { "target": swap.target, "data": swap.data },
    ]);
    fs::write(scene.path("calls"), calls.to_string())?;
    let (calls, key, pw) =
        (scene.path("calls"), scene.path("golem/session-key.json"), scene.path("pw"));
    let redeem = [
        ["--rpc", rpc, "--context", grant, "--calls", &calls],
        ["--keystore", &key, "--password-file", &pw, "--json", "--timeout"],
    ];
    let redeemed = bardo([&["delegation", "redeem"][..], &redeem.concat(), &["60"]].concat())?;
    assert_eq!(redeemed.code, 0, "{redeemed:?}");
    assert_eq!(scene.stage.balance_of(usdc, account).await?, dollars(400));
    Ok(())
}

#[tokio::test]
async fn what_is_off_is_refused_and_nothing_is_sent() -> Result<()> {
    let scene = Scene::open().await?;
    let pw = scene.path("pw");

    for (words, code, says) in [
        (&["--mode", "embedded"][..], 2, "give --privy-app-id"),
        (&["--mode", "vault", "--privy-app-id", "a"], 2, "it is for embedded mode"),
        (&["--mode", "vault"], 2, "--session ADDRESS"),
        (&["--mode", "local"], 2, "--session-password-file FILE"),
        (&["--mode", "vault", "--session", "0x5e"], 2, "20 bytes"),
        (&["--mode", "vault", "--session-password-file", &pw], 2, "--session ADDRESS"),
        (&["--mode", "hosted"], 2, "invalid value"),
        (&["--mode", "vault", "--daily", "5"], 2, "daily: it is for local mode"),
        (&["--mode", "vault", "--by-charter-alone"], 2, "by-charter-alone: it is for local mode"),
        (&["--mode", "local", "--by-charter-alone", "--calls", "5"], 2, "cannot be used with"),
    ] {
        let ran = scene.onboard(words)?;
        assert_eq!(ran.code, code, "{words:?}: {ran:?}");
        ensure!(format!("{}{}", ran.stdout, ran.stderr).contains(says), "{words:?}: {ran:?}");
    }
    for (words, code, says) in [
        (&["--deposit", "native"][..], 2, "ASSET=AMOUNT"),
        (&["--deposit", "native=-1"], 2, "whole number"),
        (&["--charter", &pw], 2, "does not hold a charter"),
        (&["--concentration-bps", "10001"], 2, "more than the whole"),
        (&["--fee-ceiling", "1"], 1, "--fee-ceiling says"),
    ] {
        let ran = scene.vault(words)?;
        assert_eq!(ran.code, code, "{words:?}: {ran:?}");
        ensure!(format!("{}{}", ran.stdout, ran.stderr).contains(says), "{words:?}: {ran:?}");
    }
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0);

    // The last of these had come as far as its transaction: it goes on, and only as it began.
    let other = scene.local(&["--json"])?;
    assert_eq!(other.code, 1, "{other:?}");
    ensure!(other.json()?["reason"].as_str().is_some_and(|why| why.contains("another mode")));
    ensure!(!scene.data().join("session-key.json").exists(), "a key was born for nothing");
    let done = scene.vault(&["--json"])?;
    assert_eq!((done.code, &done.json()?["total"]["prompts"]), (0, &json!(3)), "{done:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 2);
    Ok(())
}

/// D12, D21: a key in no file ends with its process, and the next has another. Nothing is paid to one that is gone.
#[tokio::test]
async fn an_onboarding_is_gone_on_with_by_the_key_that_it_was_begun_for_or_not_at_all() -> Result<()>
{
    let scene = Scene::open().await?;
    let later = Address::repeat_byte(0x5f);
    let by_the_later = || {
        let later = later.to_string();
        scene.onboard(&["--mode", "vault", "--session", &later, "--json"])
    };
    ensure!(scene.vault(&["--fee-ceiling", "1"])?.code == 1, "its transaction is too dear");

    let other = by_the_later()?;

    assert_eq!(other.code, 1, "{other:?}");
    let reason = other.json()?["reason"].as_str().context("no reason")?.to_owned();
    ensure!(reason.contains(&format!("another session, {SESSION}")), "{reason}");
    ensure!(reason.contains("in another folder; nothing was sent"), "{reason}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0);
    assert_eq!(scene.stage.node().balance(SESSION).await?, U256::ZERO);
    // The first one is there all the same, and once it is on the chain another is granted to.
    assert_eq!(scene.vault(&[])?.code, 0);
    let late = by_the_later()?;
    assert_eq!(late.code, 1, "{late:?}");
    ensure!(late.stdout.contains("bardo golem grant"), "{late:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 2);
    assert_eq!(scene.stage.node().balance(later).await?, U256::ZERO);
    Ok(())
}

/// D21: the same of a key in a file.
#[tokio::test]
async fn an_onboarding_whose_key_file_is_gone_waits_for_it_and_none_is_born_in_its_place()
-> Result<()> {
    let scene = Scene::open().await?;
    ensure!(scene.local(&["--fee-ceiling", "1"])?.code == 1, "its transaction is too dear");
    let (key, kept) = (scene.data().join("session-key.json"), scene.path("kept.json"));
    fs::rename(&key, &kept)?;

    let no = scene.local(&[])?;

    assert_eq!(no.code, 1, "{no:?}");
    ensure!(no.stdout.contains("put back the session-key.json"), "{no:?}");
    ensure!(!key.exists() && scene.owner.sent(&scene.stage).await? == 0, "{no:?}");
    fs::rename(&kept, &key)?;
    assert_eq!(scene.local(&[])?.code, 0);
    Ok(())
}
