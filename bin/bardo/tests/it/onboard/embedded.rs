//! A wallet at a fake of Privy, which verifies with code that is not ours (SPEC K5, K7).

use super::Scene;
use crate::command::Ran;
use alloy::{
    primitives::{Address, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::defi::Erc20;
use bardo_testkit::{FakePrivy, PrivyTrouble, STIPEND, dollars};
use golem_custody::{
    AllowedCall, Answered, AuthorizationKey, Backoff, ClearingPolicy, EmbeddedWallet, Permit, Pin,
    RiskBounds, SignedTransaction, Submit as _, TokenBound, WalletTransaction,
};
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt as _};

impl Scene {
    pub(super) fn embedded(
        &self,
        fake: &FakePrivy,
        key: &AuthorizationKey,
        words: &[&str],
    ) -> Result<Ran> {
        let (url, public, pw) = (fake.url().as_str(), key.public().to_string(), self.path("pw"));
        let (secret, keeper) = (self.path("secret"), self.path("keeper.json"));
        let whose = [
            ["--mode", "embedded", "--privy-url", url],
            ["--privy-app-id", FakePrivy::credentials().0, "--privy-app-secret-file", &secret],
            ["--keeper-keystore", &keeper, "--keeper-password-file", &pw],
        ];
        let golem = ["--session-public-key", public.as_str()];
        self.onboard(&[&whose.concat()[..], &golem, words].concat())
    }
}

#[expect(clippy::disallowed_methods, reason = "the service and its rules are what is tried")]
/// What the Golem asks for, by bounds that are wider than the policy: the policy is what is tried.
async fn approves(
    scene: &Scene,
    wallet: &EmbeddedWallet<golem_chain::Privy>,
    amount: U256,
) -> Result<Answered<SignedTransaction>> {
    let (book, now) = (scene.stage.book(), scene.stage.now().await?);
    let spender = book.swap_router_02;
    let pins = vec![Pin::is("spender", spender), Pin::at_most("amount", U256::MAX)];
    let approve = "function approve(address spender, uint256 amount) returns (bool)";
    let bounds = RiskBounds {
        wallet: wallet.address(),
        chains: [scene.stage.node().chain_id()].into(),
        calls: vec![
            AllowedCall::new(book.usdc, approve, pins)?,
            AllowedCall::new(spender, "function refundETH()", vec![])?,
        ],
        max_value: U256::ZERO,
        tokens: vec![TokenBound { token: book.usdc, cap: U256::ZERO }],
        payees: vec![],
        beneficiary: scene.owner.address,
        expires_at: now + 60,
    };
    let plan = scene.stage.node().plan(wallet.address()).await?;
    let data = Erc20::approveCall { spender, amount }.abi_encode();
    let tx = WalletTransaction::new(&plan, book.usdc, U256::ZERO, data.into(), 100_000);
    match bounds.permit(tx, &ClearingPolicy::default(), U256::from(u64::MAX), now) {
        Permit::Granted(permitted) => Ok(wallet.sign(permitted, now, 0).await?),
        Permit::Refused(denial) => bail!("{denial}"),
    }
}

#[tokio::test]
async fn an_embedded_wallet_is_made_funded_and_ruled_and_its_golem_acts() -> Result<()> {
    let scene = Scene::open().await?;
    let fake = FakePrivy::start(scene.stage.now().await?).await?;
    let key = AuthorizationKey::born();
    let (app_id, secret) = FakePrivy::credentials();
    scene.private("secret", secret)?;
    let usdc = scene.stage.book().usdc;
    let deposit = format!("{usdc}={}", dollars(500));
    let words = ["--deposit", deposit.as_str(), "--json"];

    let ran = scene.embedded(&fake, &key, &words)?;

    assert_eq!(ran.code, 0, "{ran:?}");
    let warned = ran.stderr.find("`bardo golem run` does not wake its Golem").context("no word")?;
    ensure!(ran.stderr.find("sending 0x").is_some_and(|sent| warned < sent), "{}", ran.stderr);
    ensure!(ran.stderr.contains("`bardo wallet sweep` brings everything home"), "{}", ran.stderr);
    let said = ran.json()?;
    let total = &said["total"];
    assert_eq!((&total["prompts"], &total["transactions"]), (&json!(2), &json!(1)), "{said}");
    assert_eq!(said["provisioning"][1]["prompts"], json!(["signIn"]), "no grant");
    ensure!(said["provisioning"][2]["skipped"] == true, "{said}");
    let address: Address = serde_json::from_value(said["wallet"]["address"].clone())?;
    assert_eq!(scene.stage.balance_of(usdc, address).await?, dollars(500));
    assert_eq!(scene.stage.node().balance(address).await?, STIPEND);
    let config = fs::read_to_string(scene.data().join("golem.toml"))?;
    ensure!(!config.contains(secret) && config.contains(app_id), "{config}");
    let file: toml::Table = toml::from_str(&config)?;
    let id = file["wallet"]["id"].as_str().context("no wallet")?;
    assert_eq!(json!(file["wallet"]["policy"].as_str()), said["wallet"]["policy"]);
    let keeper = fs::metadata(scene.path("keeper.json"))?.permissions().mode() & 0o777;
    assert_eq!(keeper, 0o600);

    // What was let in asks within the rules, and not beyond them.
    let backoff = Backoff { first: 10, most: 100 };
    let id = id.to_owned().try_into()?;
    let wallet = EmbeddedWallet::new(fake.client()?, id, address, key, backoff);
    let Answered::Done(signed) = approves(&scene, &wallet, dollars(500)).await? else {
        bail!("the policy refuses what the charter allows")
    };
    ensure!(scene.stage.node().submit(&signed).await.is_ok_and(|receipt| receipt.success));
    let over = approves(&scene, &wallet, dollars(500) + U256::from(1)).await?;
    ensure!(matches!(over, Answered::Refused(_)), "{over:?}");
    Ok(())
}

#[tokio::test]
async fn a_service_that_is_away_or_says_no_leaves_nothing_half_done() -> Result<()> {
    let scene = Scene::open().await?;
    let fake = FakePrivy::start(scene.stage.now().await?).await?;
    let key = AuthorizationKey::born();
    let (_, secret) = FakePrivy::credentials();
    scene.private("secret", "another secret")?;

    // Before anything is asked: what is off is named.
    fs::set_permissions(scene.path("secret"), fs::Permissions::from_mode(0o644))?;
    let loose = scene.embedded(&fake, &key, &[])?;
    assert_eq!(loose.code, 2, "{loose:?}");
    ensure!(loose.stderr.contains("chmod 600") && loose.stderr.contains("privy-app-secret-file"));
    ensure!(!scene.data().exists() && fake.log().await?.requests.is_empty());
    fs::set_permissions(scene.path("secret"), fs::Permissions::from_mode(0o600))?;
    for (words, says) in [
        (&["--account", "eoa"][..], "account: it is not for embedded mode"),
        (&["--most-per-call", "0"], "most-per-call: it is nothing"),
    ] {
        let ran = scene.embedded(&fake, &key, words)?;
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        ensure!(ran.stderr.contains(says), "{words:?}: {ran:?}");
    }
    ensure!(!scene.data().exists() && fake.log().await?.requests.is_empty());

    let no = scene.embedded(&fake, &key, &["--json"])?;
    assert_eq!(no.code, 1, "{no:?}");
    ensure!(no.json()?["reason"].as_str().is_some_and(|why| why.contains("step 3 is not made")));
    scene.private("secret", secret)?;
    for (path, trouble) in [
        ("v1/wallets", PrivyTrouble::Away),
        ("v1/wallets", PrivyTrouble::DropAfter),
        ("v1/policies", PrivyTrouble::DropAfter),
        ("v1/key_quorums", PrivyTrouble::DropAfter),
    ] {
        fake.fail(path, 1, &trouble).await?;
        let away = scene.embedded(&fake, &key, &[])?;
        assert_eq!(away.code, 3, "{path}, {trouble:?}: {away:?}");
        fake.recover().await?;
    }
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0, "nothing is paid to nobody");
    // In another mode it does not go on.
    let other = scene.vault(&[])?;
    assert_eq!(other.code, 1, "{other:?}");

    let ran = scene.embedded(&fake, &key, &["--json"])?;
    assert_eq!(ran.code, 0, "{ran:?}");
    let wallet = &ran.json()?["wallet"];
    let again = scene.embedded(&fake, &key, &["--json"])?;
    ensure!(again.json()?["wasDone"] == true && again.json()?["wallet"] == *wallet, "{again:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 2);
    Ok(())
}

/// The wallet was let to the first key: no other is paid for, and what it was begun with goes on.
#[tokio::test]
async fn an_embedded_wallet_is_funded_for_the_key_that_was_let_in_and_for_no_other() -> Result<()> {
    let scene = Scene::open().await?;
    let fake = FakePrivy::start(scene.stage.now().await?).await?;
    scene.private("secret", FakePrivy::credentials().1)?;
    let (first, second) = (AuthorizationKey::born(), AuthorizationKey::born());
    let dear = scene.embedded(&fake, &first, &["--fee-ceiling", "1"])?;
    ensure!(dear.code == 1 && dear.stderr.contains("--fee-ceiling says"), "{dear:?}");
    ensure!(dear.stderr.contains("does not wake its Golem"), "before anything is sent: {dear:?}");

    let other = scene.embedded(&fake, &second, &["--json"])?;

    assert_eq!(other.code, 1, "{other:?}");
    let reason = other.json()?["reason"].as_str().context("no reason")?.to_owned();
    ensure!(reason.contains("another session") && reason.contains("another folder"), "{reason}");
    ensure!(reason.contains(&first.public().to_string()), "{reason}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0);
    assert_eq!(scene.embedded(&fake, &first, &[])?.code, 0);
    let sent = scene.owner.sent(&scene.stage).await?;
    let late = scene.embedded(&fake, &second, &[])?;
    ensure!(late.code == 1 && late.stdout.contains("bardo wallet sweep"), "{late:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent);
    Ok(())
}
