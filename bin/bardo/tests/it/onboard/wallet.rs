//! `bardo wallet`: the owner fetches what a Golem of the embedded mode left at the service (SPEC K5, K8, D33).

use super::Scene;
use crate::command::{Ran, bardo};
use alloy::{
    primitives::{Address, Bytes, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::defi::{Erc20, Erc4626};
use bardo_store::Archive;
use bardo_testkit::{FakePrivy, PrivyTrouble, dollars};
use golem_custody::{AuthorizationKey, BardoManifest, SweepSoFar, WalletId};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// A wallet with five hundred dollars and some gas money, whose Golem is gone.
struct Left {
    scene: Scene,
    fake: FakePrivy,
    address: Address,
    id: WalletId,
}

impl Left {
    async fn behind() -> Result<Self> {
        let scene = Scene::open().await?;
        let fake = FakePrivy::start(scene.stage.now().await?).await?;
        scene.private("secret", FakePrivy::credentials().1)?;
        let deposit = format!("{}={}", scene.stage.book().usdc, dollars(500));
        let words = ["--deposit", deposit.as_str(), "--json"];
        let ran = scene.embedded(&fake, &AuthorizationKey::born(), &words)?;
        ensure!(ran.code == 0, "{ran:?}");
        let wallet = &ran.json()?["wallet"];
        let address = serde_json::from_value(wallet["address"].clone())?;
        let id = serde_json::from_value(wallet["id"].clone())?;
        Ok(Self { scene, fake, address, id })
    }

    fn status(&self, words: &[&str]) -> Result<Ran> {
        let data = self.scene.path("golem");
        let where_ = ["--data", &data, "--rpc", self.scene.stage.chain().url().as_str(), "--json"];
        bardo([&["wallet", "status"][..], &where_, words].concat())
    }

    fn words(&self) -> Vec<String> {
        let (scene, rpc) = (&self.scene, self.scene.stage.chain().url().to_string());
        let to = scene.owner.address.to_string();
        [
            ["wallet", "sweep"],
            ["--data", &scene.path("golem")],
            ["--rpc", &rpc],
            ["--to", &to],
            ["--privy-app-secret-file", &scene.path("secret")],
            ["--keeper-keystore", &scene.path("keeper.json")],
            ["--keeper-password-file", &scene.path("pw")],
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .chain(["--json".to_owned()])
        .collect()
    }

    fn sweeps(&self, more: &[&str]) -> Result<Ran> {
        let mut words = self.words();
        words.extend(more.iter().map(|word| (*word).to_owned()));
        bardo(words)
    }

    async fn sent(&self) -> Result<u64> {
        Ok(self.scene.stage.node().provider().get_transaction_count(self.address).await?)
    }

    async fn dollars(&self, whose: Address) -> Result<U256> {
        self.scene.stage.balance_of(self.scene.stage.book().usdc, whose).await
    }

    /// How often what is written down of the sweep moved.
    fn written(&self) -> Result<u64> {
        let archive = Archive::open(&self.scene.data())?;
        Ok(archive.step(&SweepSoFar::name(&self.id))?.map_or(0, |step| step.version))
    }
}

#[tokio::test]
async fn an_owner_gets_everything_out_of_a_golems_wallet_and_once() -> Result<()> {
    let left = Left::behind().await?;
    let (scene, owner) = (&left.scene, left.scene.owner.address);
    let secret = scene.path("secret");
    let before = left.status(&["--privy-app-secret-file", &secret])?;
    assert_eq!(before.code, 0, "{before:?}");
    let said = before.json()?;
    assert_eq!((&said["sweep"], &said["answers"]), (&"not begun".into(), &true.into()), "{said}");
    assert_eq!(said["signers"], 1, "its Golem's key: {said}");
    let usdc = scene.stage.book().usdc;
    let rows = said["tokens"].as_array().context("no tokens")?;
    let row = json!({ "token": usdc, "balance": dollars(500).to_string() });
    ensure!(rows.contains(&row), "{said}");
    let coins = scene.stage.node().balance(owner).await?;

    let swept = left.sweeps(&[])?;

    assert_eq!(swept.code, 0, "{swept:?}");
    assert_eq!(
        (left.dollars(owner).await?, left.dollars(left.address).await?),
        (dollars(5_000), U256::ZERO)
    );
    let home = scene.stage.node().balance(owner).await? - coins;
    let stay = scene.stage.node().balance(left.address).await?;
    ensure!(home > stay * U256::from(100), "{home} wei went, {stay} stay");
    let file = scene.data().join("bardo-manifest.json");
    let manifest: BardoManifest = serde_json::from_str(&fs::read_to_string(file)?)?;
    assert_eq!(json!(manifest.hash()), swept.json()?["hash"]);
    assert_eq!((manifest.positions_settled.len(), manifest.beneficiary), (2, owner));
    ensure!(manifest.positions_deferred.is_empty(), "{manifest:?}");

    // Once more it does nothing, also while nobody is there to be asked.
    left.fake.fail("v1/wallets", 9, &PrivyTrouble::Away).await?;
    let again = left.sweeps(&[])?;
    assert_eq!((again.code, &again.json()?["wasDone"]), (0, &true.into()), "{again:?}");
    assert_eq!((&again.json()?["hash"], left.sent().await?), (&json!(manifest.hash()), 2));
    let away = left.status(&["--privy-app-secret-file", &secret])?;
    assert_eq!(away.code, 3, "{away:?}");
    ensure!(away.stderr.contains("without --privy-app-secret-file"), "{away:?}");
    let alone = left.status(&[])?;
    assert_eq!((alone.code, &alone.json()?["sweep"]), (0, &"done".into()), "{alone:?}");
    left.fake.recover().await?;
    let after = left.status(&["--privy-app-secret-file", &secret])?.json()?;
    assert_eq!((&after["sweep"], &after["signers"]), (&"done".into(), &0.into()), "{after}");

    // What came since goes home when it is asked for.
    scene.stage.fund(left.address, U256::from(10_000_000_000_000_000_u64), dollars(7)).await?;
    assert_eq!(left.sweeps(&[])?.json()?["wasDone"], true);
    assert_eq!(left.dollars(left.address).await?, dollars(7));
    let more = left.sweeps(&["--again"])?;
    assert_eq!((more.code, &more.json()?["wasDone"]), (0, &false.into()), "{more:?}");
    assert_eq!(left.dollars(owner).await?, dollars(5_007));
    Ok(())
}

/// A service that is away has not answered, and one that refuses has.
#[tokio::test]
async fn a_service_that_says_nothing_is_a_fault_and_one_that_refuses_is_not() -> Result<()> {
    let left = Left::behind().await?;
    let secret = left.scene.path("secret");

    for trouble in [
        PrivyTrouble::Away,
        PrivyTrouble::Busy { seconds: 5 },
        PrivyTrouble::Drop,
        PrivyTrouble::Half,
    ] {
        left.fake.fail("v1/wallets", 1, &trouble).await?;
        let away = left.status(&["--privy-app-secret-file", &secret])?;
        left.fake.recover().await?;
        assert_eq!(away.code, 3, "{trouble:?}: {away:?}");
        ensure!(away.json()?["error"].is_string(), "{trouble:?}: {away:?}");
    }
    left.scene.private("secret", "another secret")?;
    let no = left.status(&["--privy-app-secret-file", &secret])?;

    assert_eq!((no.code, &no.json()?["answers"]), (1, &false.into()), "{no:?}");
    ensure!(no.json()?["reason"].as_str().is_some_and(|why| why.contains("refused")), "{no:?}");
    Ok(())
}

/// What its Golem put into a vault is in the wallet as shares: they are shown, come home, and where they cannot are left for all to see.
#[tokio::test]
async fn shares_of_a_vault_are_shown_and_come_home_with_the_rest() -> Result<()> {
    let left = Left::behind().await?;
    let (scene, owner, wallet) = (&left.scene, left.scene.owner.address, left.address);
    let (stage, book, assets) = (&scene.stage, scene.stage.book(), dollars(400));
    let allow = Erc20::approveCall { spender: book.vault, amount: assets }.abi_encode();
    let enter = Erc4626::depositCall { assets, receiver: wallet }.abi_encode();
    for (to, data) in [(book.usdc, allow), (book.vault, enter)] {
        ensure!(stage.send_as(wallet, to, U256::ZERO, data.into()).await?.status());
    }
    let shares = stage.balance_of(book.vault, wallet).await?;
    let row = json!({ "token": book.vault, "balance": shares.to_string() });
    let status = left.status(&[])?.json()?;
    ensure!(status["tokens"].as_array().is_some_and(|rows| rows.contains(&row)), "{status}");

    let swept = left.sweeps(&[])?;

    assert_eq!((swept.code, &swept.json()?["swept"]), (0, &true.into()), "{swept:?}");
    assert_eq!(stage.balance_of(book.vault, owner).await?, shares);
    assert_eq!(stage.balance_of(book.vault, wallet).await?, U256::ZERO);
    assert_eq!(left.dollars(owner).await?, dollars(4_600));

    // Says 1000 for every balance, and ends every other call.
    let stuck = "5f3560e01c6370a08231146011575f5ffd5b6103e85f5260205ff3".parse::<Bytes>()?;
    stage.node().provider().anvil_set_code(book.vault, stuck).await?;
    stage.fund(wallet, U256::from(10_000_000_000_000_000_u64), dollars(7)).await?;
    let more = left.sweeps(&["--again"])?;

    let said = more.json()?;
    assert_eq!((more.code, &said["swept"]), (1, &false.into()), "{more:?}");
    let deferred = &said["manifest"]["positionsDeferred"];
    assert_eq!(deferred[0]["of"], json!({ "token": book.vault }), "{said}");
    assert_eq!((&deferred[0]["amount"], &deferred[1]), (&"1000".into(), &json!(null)), "{said}");
    assert_eq!(left.dollars(owner).await?, dollars(4_607));
    Ok(())
}

/// INV-6: killed behind every step that is written down, the next one goes on, and two transactions are all that is ever sent.
#[tokio::test]
async fn a_sweep_that_is_killed_goes_on_and_sends_nothing_twice() -> Result<()> {
    let left = Left::behind().await?;
    let end = Instant::now() + Duration::from_secs(90);

    for step in 1..=6 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bardo"))
            .args(left.words())
            .current_dir(bardo_testkit::root())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        while left.written()? < step && child.try_wait()?.is_none() {
            ensure!(Instant::now() < end, "step {step} never came");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        child.kill()?;
        child.wait()?;
    }
    let done = left.sweeps(&[])?;

    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(left.dollars(left.scene.owner.address).await?, dollars(5_000));
    assert_eq!(left.sent().await?, 2);
    Ok(())
}

#[tokio::test]
async fn a_sweep_waits_for_a_service_that_is_away_and_loses_nothing() -> Result<()> {
    let left = Left::behind().await?;
    let owner = left.scene.owner.address;

    for (path, trouble) in [
        ("v1/wallets", PrivyTrouble::Away),
        ("rpc", PrivyTrouble::Drop),
        ("rpc", PrivyTrouble::DropAfter),
        ("rpc", PrivyTrouble::Busy { seconds: 5 }),
    ] {
        left.fake.fail(path, 1, &trouble).await?;
        let away = left.sweeps(&[])?;
        left.fake.recover().await?;
        assert_eq!(away.code, 3, "{path}, {trouble:?}: {away:?}");
        ensure!(away.stderr.contains("the same command goes on"), "{away:?}");
        assert_eq!(left.dollars(left.address).await?, dollars(500), "{path}, {trouble:?}");
    }
    let status = left.status(&[])?.json()?;
    assert_eq!((&status["sweep"], &status["onTheWay"]), (&"begun".into(), &2.into()), "{status}");

    let done = left.sweeps(&[])?;

    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!((left.dollars(owner).await?, left.sent().await?), (dollars(5_000), 2));
    Ok(())
}

/// Whoever was in the folder sends nobody's money to himself, and another key than the keeper's rules nothing.
#[tokio::test]
async fn a_sweep_goes_to_the_owner_by_his_key_or_nowhere() -> Result<()> {
    let left = Left::behind().await?;
    let scene = &left.scene;
    let toml = scene.data().join("golem.toml");
    let file = fs::read_to_string(&toml)?;
    let thief = Address::repeat_byte(0x66);
    let no = |ran: Ran, says: &str| -> Result<()> {
        ensure!(ran.code == 1 && ran.stdout.contains(says), "{says}: {ran:?}");
        Ok(())
    };

    fs::write(&toml, file.replace(&scene.owner.address.to_string(), &thief.to_string()))?;
    fs::write(
        &toml,
        fs::read_to_string(&toml)?
            .replace(&format!("{:?}", scene.owner.address), &format!("{thief:?}")),
    )?;
    no(left.sweeps(&[])?, "golem.toml 0x6666")?;
    let mut to_thief = left.words();
    let at = to_thief.iter().position(|word| word == "--to").context("no --to")? + 1;
    to_thief[at] = thief.to_string();
    no(bardo(&to_thief)?, "as owner")?;
    fs::write(&toml, file.replace(left.id.as_str(), "another"))?;
    no(left.sweeps(&[])?, "another wallet")?;
    fs::write(&toml, &file)?;

    let other = scene.path("other.json");
    let password = golem_custody::Password::from_file(scene.path("pw").as_ref())?;
    golem_custody::KeeperKey::born().save(other.as_ref(), &password)?;
    let mut words = left.words();
    let at = words.iter().position(|word| word == "--keeper-keystore").context("no key")? + 1;
    words[at] = other.clone();
    no(bardo(&words)?, "nothing was signed")?;
    fs::set_permissions(&other, fs::Permissions::from_mode(0o644))?;
    let loose = bardo(&words)?;
    ensure!(loose.code == 2 && loose.stderr.contains("chmod 600"), "{loose:?}");
    assert_eq!((left.sent().await?, left.written()?), (0, 0), "nothing began");
    assert_eq!(left.dollars(left.address).await?, dollars(500));
    Ok(())
}

/// Money that never left its owner is in no wallet elsewhere.
#[tokio::test]
async fn a_golem_of_another_mode_has_no_wallet() -> Result<()> {
    let scene = Scene::open().await?;
    ensure!(scene.vault(&[])?.code == 0);
    let (data, rpc) = (scene.path("golem"), scene.stage.chain().url().to_string());

    let ran = bardo(["wallet", "status", "--data", &data, "--rpc", &rpc])?;

    ensure!(ran.code == 1 && ran.stdout.contains("bardo vault withdraw"), "{ran:?}");
    Ok(())
}
