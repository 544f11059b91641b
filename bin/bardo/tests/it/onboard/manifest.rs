//! One file instead of flags, looked at as a whole before anything else (SPEC K7).

use super::{SESSION, Scene};
use alloy::primitives::Address;
use anyhow::{Context as _, Result, ensure};
use bardo_testkit::dollars;
use serde_json::{Value, json};
use std::fs;

impl Scene {
    /// By a manifest, and these words.
    fn wished(&self, manifest: &str, words: &[&str]) -> Result<crate::command::Ran> {
        fs::write(self.folder.path().join("wishes.toml"), manifest)?;
        let file = self.path("wishes.toml");
        self.onboard(&[&["--manifest", &file], words].concat())
    }
}

#[tokio::test]
async fn a_manifest_says_what_flags_say_and_the_eight_steps_add_up() -> Result<()> {
    let scene = Scene::open().await?;
    let usdc = scene.stage.book().usdc;
    let manifest = format!(
        "mode = \"local\"\nsession-password-file = \"pw\"\ndays = 3\ndrawdown-bps = 1500\n\
         stipend = \"50000000000000000\"\ndeposit = [\"{usdc}={}\"]\nidentity = \"ipfs://golem\"\n",
        dollars(500)
    );

    let ran = scene.wished(&manifest, &["--json"])?;

    assert_eq!(ran.code, 0, "{ran:?}");
    let said = ran.json()?;
    let account: Address = serde_json::from_value(said["account"].clone())?;
    assert_eq!(scene.stage.balance_of(usdc, account).await?, dollars(500));
    let eight = said["provisioning"].as_array().context("no list")?;
    let names: Vec<&str> = eight.iter().filter_map(|one| one["step"].as_str()).collect();
    let expected = [
        "validateManifest",
        "createWallet",
        "approvePermit2",
        "fundWallet",
        "registerIdentity",
        "provisionMachine",
        "deploy",
        "startHeartbeat",
    ];
    assert_eq!(names, expected);
    for what in ["transactions", "gas"] {
        let sum: u64 = eight.iter().filter_map(|one| one[what].as_u64()).sum();
        assert_eq!(json!(sum), said["total"][what], "{what}");
    }
    let prompts: usize =
        eight.iter().filter_map(|one| one["prompts"].as_array()).map(Vec::len).sum();
    assert_eq!(json!(prompts), said["total"]["prompts"]);
    assert_eq!(eight[1]["prompts"], json!(["signIn", "grant"]));
    assert_eq!(eight[3]["prompts"], json!(["transaction"]));
    let skipped: Vec<bool> = eight.iter().map(|one| one["skipped"] == true).collect();
    assert_eq!(skipped, [false, false, true, false, false, false, false, true]);
    ensure!(eight[2]["why"].as_str().is_some_and(|why| why.contains("Permit2 has no part")));
    ensure!(eight[4]["why"].as_str().is_some_and(|why| why.contains("same transaction")));
    ensure!(eight[7]["why"].as_str().is_some_and(|why| why.contains("bardo golem run")));

    let file = fs::read_to_string(said["config"].as_str().context("no config")?)?;
    let file: toml::Table = toml::from_str(&file)?;
    assert_eq!(file["golem"].as_str(), said["golem"].as_str());
    assert_eq!(file["mode"].as_str(), Some("localKey"));
    assert_eq!(file["grant"].as_str(), Some("grant.json"));
    assert_eq!(json!(file["session"].as_str()), said["session"]);
    let again = scene.wished(&manifest, &[])?;
    ensure!(again.stdout.contains("3 approve Permit2    skipped: the money stays"), "{again:?}");
    ensure!(again.stdout.contains("It was done before"), "{again:?}");
    Ok(())
}

/// Nothing is there afterwards: no folder, no key, no document, and nothing was sent.
#[tokio::test]
async fn a_wish_that_is_off_is_named_before_anything_is_born() -> Result<()> {
    let scene = Scene::open().await?;
    let (usdc, session) = (scene.stage.book().usdc, SESSION);
    let none = format!("deposit = [\"{usdc}=0\"]");
    fs::write(scene.folder.path().join("loose"), "one key\n")?;

    for (wish, says) in [
        ("days = 0", "days: 0 is not 1 to 366"),
        ("days = 367", "days: 367 is not 1 to 366"),
        ("days = \"7\"", "days"),
        ("daily = 0", "maxDailyMicroDollars allows nothing"),
        ("calls = 0", "maxTotalCalls allows nothing"),
        ("calls = -1", "calls"),
        ("target = [\"0x6666666666666666666666666666666666666666\"]", "does not say what that is"),
        ("by-charter-alone = true\ndaily = 5", "by-charter-alone: there are bounds beside it"),
        ("dayz = 7", "unknown field `dayz`"),
        ("concentration-bps = 10001", "concentration-bps: 10001 is more than the whole"),
        ("drawdown-bps = 10001", "drawdown-bps: 10001 is more than the whole"),
        ("salt = \"0x5e\"", "salt = \"0x5e\""),
        ("stipend = 5", "stipend = 5"),
        ("stipend = \"-5\"", "not a whole number"),
        ("deposit = [\"native\"]", "not ASSET=AMOUNT"),
        (none.as_str(), "deposit: it is nothing"),
        ("account = \"eoa\"\ndeposit = [\"native=5\"]", "with account eoa"),
        ("identity = \"\"", "identity: it is no address"),
        ("identity = \"ipfs://a b\"", "identity: it is no address"),
        ("charter = \"pw\"", "does not hold a charter"),
        ("charter = \"nowhere\"", "nowhere"),
        ("proxy-code = \"pw\"", "does not hold code in hex"),
        ("privy-app-id = \"a\"", "privy-app-id: it is for embedded mode"),
        ("runway = \"pw\"", "is no permission request or answer"),
        ("mode = \"hosted\"", "mode"),
    ] {
        let mut manifest = format!("session-password-file = \"pw\"\n{wish}\n");
        if !wish.starts_with("mode") {
            manifest.push_str("mode = \"local\"\n");
        }
        let ran = scene.wished(&manifest, &[])?;
        assert_eq!(ran.code, 2, "{wish}: {ran:?}");
        ensure!(ran.stderr.contains(says), "{wish}: {ran:?}");
        ensure!(!scene.data().exists(), "{wish}: something was born");
    }
    for (manifest, says) in [
        ("session-password-file = \"pw\"\n".to_owned(), "mode: it is missing"),
        ("mode = \"local\"\n".to_owned(), "session-password-file: in local mode"),
        ("mode = \"vault\"\n".to_owned(), "session: in vault mode"),
        (format!("mode = \"local\"\nsession = \"{session}\"\n"), "session-password-file"),
        ("mode = \"local\"\nsession-password-file = \"loose\"\n".to_owned(), "chmod 600"),
    ] {
        let ran = scene.wished(&manifest, &[])?;
        assert_eq!(ran.code, 2, "{manifest}: {ran:?}");
        ensure!(ran.stderr.contains(says), "{manifest}: {ran:?}");
        ensure!(!scene.data().exists(), "{manifest}: something was born");
    }
    // Flags beside a manifest: nobody knows which is meant.
    let whole = "mode = \"local\"\nsession-password-file = \"pw\"\n";
    for words in [&["--days", "3"][..], &["--mode", "local"], &["--runway-beyond-limits"]] {
        let ran = scene.wished(whole, words)?;
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        ensure!(ran.stderr.contains("cannot be used with"), "{words:?}: {ran:?}");
    }
    assert_eq!(scene.onboard(&[])?.code, 2, "neither");
    ensure!(!scene.data().exists(), "something was born");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0);
    // A document that no step would take is seen as early.
    fs::create_dir(scene.data())?;
    fs::write(scene.data().join("HEARTBEAT.md"), " \n")?;
    let ran = scene.wished(whole, &["--json"])?;
    assert_eq!(ran.code, 2, "{ran:?}");
    ensure!(ran.json()?["error"].as_str().is_some_and(|why| why.contains("HEARTBEAT.md")));
    ensure!(!scene.data().join("session-key.json").exists());
    let _: Value = ran.json()?;
    Ok(())
}
