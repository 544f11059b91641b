#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

use super::{BACKOFF, OWNER, ROLL, Scene};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::ext::AnvilApi,
    sol_types::SolCall as _,
};
use anyhow::{Context, Result, bail, ensure};
use async_trait::async_trait;
use bardo_bindings::defi::{Erc20, Erc4626};
use bardo_testkit::{FakePrivy, PrivyTrouble, Stage, dollars, root};
use golem_chain::Privy;
use golem_custody::{
    AuthorizationKey, BardoManifest, BoxError, ClearingPolicy, EmbeddedWallet, Holding, KeeperKey,
    Password, Step, Steps, Sweep, SweepOrder, Swept, WalletKeeper,
};
use serde_json::Value;
use std::{
    future::pending,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use tokio::sync::Notify;

/// Books in memory, which outlive the process that is played here; at its nth write that process stands still for ever.
#[derive(Default)]
struct Books {
    step: Mutex<Option<Step>>,
    writes: AtomicUsize,
    /// Which write, and whether the disk has it by then.
    stop: Mutex<Option<(usize, bool)>>,
    stopped: Notify,
}

impl Books {
    async fn stand_still(&self, write: usize, taken: bool) {
        let stop = *self.stop.lock().unwrap();
        if stop == Some((write, taken)) {
            self.stopped.notify_one();
            pending::<()>().await;
        }
    }
}

#[async_trait]
impl Steps for Books {
    async fn load(&self, _: &str) -> Result<Option<Step>, BoxError> {
        Ok(self.step.lock().unwrap().clone())
    }

    async fn advance(&self, _: &str, from: u64, to: &Value, _: u64) -> Result<(), BoxError> {
        let write = self.writes.fetch_add(1, SeqCst) + 1;
        self.stand_still(write, false).await;
        {
            let mut step = self.step.lock().unwrap();
            if step.as_ref().map_or(0, |step| step.version) != from {
                return Err("somebody else was there".into());
            }
            *step = Some(Step { version: from + 1, value: to.clone() });
        }
        self.stand_still(write, true).await;
        Ok(())
    }
}

const fn order() -> SweepOrder {
    let golem = B256::repeat_byte(7);
    SweepOrder { golem, closed: vec![], unclosed: vec![], reserve: U256::ZERO }
}

async fn sweep(stage: &Stage, scene: &Scene, books: &Books) -> Result<Swept> {
    let sweep = Sweep {
        wallet: &scene.wallet,
        bounds: &scene.bounds,
        policy: ClearingPolicy::default(),
        steps: books,
        submit: stage.node(),
        purse: stage.node(),
    };
    Ok(sweep.run(&order(), scene.now, ROLL).await?)
}

async fn swept(stage: &Stage, scene: &Scene, books: &Books) -> Result<BardoManifest> {
    match sweep(stage, scene, books).await? {
        Swept::Done(manifest) => Ok(manifest),
        Swept::Halted(denial) => bail!("{denial}"),
    }
}

/// Says 1000 for every balance, and ends every other call by `halt`: REVERT of nothing, or INVALID.
fn stuck(halt: [u8; 3]) -> Bytes {
    // PUSH0 CALLDATALOAD PUSH1 e0 SHR PUSH4 70a08231 EQ PUSH1 11 JUMPI, halt, JUMPDEST
    let mut code =
        vec![0x5f, 0x35, 0x60, 0xe0, 0x1c, 0x63, 0x70, 0xa0, 0x82, 0x31, 0x14, 0x60, 0x11, 0x57];
    code.extend(halt);
    code.push(0x5b);
    code.extend(HOLLOW);
    code.into()
}

/// Says 1000 to everything: a transfer that moves nothing.
/// PUSH2 03e8 PUSH0 MSTORE PUSH1 20 PUSH0 RETURN
const HOLLOW: [u8; 9] = [0x61, 0x03, 0xe8, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3];

/// The manifest's name by code that is not ours.
fn named_elsewhere(manifest: &BardoManifest) -> Result<B256> {
    let script = root().join("tests/e2e/kit/manifest.mjs");
    let text = serde_json::to_string_pretty(manifest)?;
    let output = Command::new("node").arg(script).arg(text).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[tokio::test]
async fn a_dead_golems_wallet_goes_home_and_what_cannot_is_in_the_manifest() -> Result<()> {
    let stage = Stage::open().await?;
    let [reverts, halts, hollow] = [0x51, 0x52, 0x53].map(Address::repeat_byte);
    let provider = stage.node().provider();
    provider.anvil_set_code(reverts, stuck([0x5f, 0x5f, 0xfd])).await?;
    provider.anvil_set_code(halts, stuck([0xfe, 0xfe, 0xfe])).await?;
    provider.anvil_set_code(hollow, Bytes::from_static(&HOLLOW)).await?;
    let scene = Scene::with(&stage, &[reverts, halts, hollow]).await?;
    let books = Books::default();
    let usdc = stage.book().usdc;

    let manifest = swept(&stage, &scene, &books).await?;

    assert_eq!(stage.balance_of(usdc, OWNER).await?, dollars(1_000));
    assert_eq!(stage.balance_of(usdc, scene.address()).await?, U256::ZERO);
    let left = stage.node().balance(scene.address()).await?;
    let home = stage.node().balance(OWNER).await?;
    assert!(
        home > left * U256::from(1_000),
        "{home} went, {left} stayed: less than gas could cost"
    );
    let settled: Vec<_> = manifest.positions_settled.iter().map(|p| p.of).collect();
    assert_eq!(settled, [Holding::Token(usdc), Holding::Native]);
    let deferred: Vec<_> =
        manifest.positions_deferred.iter().map(|p| (p.of, p.amount, p.transaction)).collect();
    let thousand = U256::from(1_000);
    assert_eq!(deferred.len(), 3);
    assert_eq!(deferred[0], (Holding::Token(reverts), thousand, None));
    assert_eq!(deferred[1], (Holding::Token(halts), thousand, None));
    assert_eq!((deferred[2].0, deferred[2].1), (Holding::Token(hollow), thousand));
    assert!(deferred[2].2.is_some(), "it was sent, and moved nothing");
    assert_eq!(manifest.beneficiary, OWNER);
    let again = swept(&stage, &scene, &books).await?;
    assert_eq!(again.hash(), manifest.hash());
    assert_eq!(named_elsewhere(&manifest)?, manifest.hash());
    Ok(())
}

/// SPEC K5, K8: of a real vault that the Golem entered by its policy the shares go home by the same policy, as they are.
#[tokio::test]
async fn shares_of_a_vault_that_the_golem_entered_go_home_too() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    let (book, wallet, assets) = (stage.book(), scene.address(), dollars(100));
    let allow = Erc20::approveCall { spender: book.vault, amount: assets }.abi_encode();
    let enter = Erc4626::depositCall { assets, receiver: wallet }.abi_encode();
    for (to, data) in [(book.usdc, allow), (book.vault, enter)] {
        ensure!(scene.act(&stage, to, U256::ZERO, data.into()).await?.success);
    }
    let shares = stage.balance_of(book.vault, wallet).await?;
    ensure!(!shares.is_zero());

    let manifest = swept(&stage, &scene, &Books::default()).await?;

    assert_eq!(stage.balance_of(book.vault, OWNER).await?, shares);
    assert_eq!(stage.balance_of(book.vault, wallet).await?, U256::ZERO);
    assert_eq!(stage.balance_of(book.usdc, OWNER).await?, dollars(900));
    assert_eq!(manifest.positions_deferred, []);
    let settled: Vec<_> = manifest.positions_settled.iter().map(|one| one.of).collect();
    assert_eq!(settled, [Holding::Token(book.usdc), Holding::Token(book.vault), Holding::Native]);
    Ok(())
}

/// Another process: it has the key that the owner let in for it, the bounds, and the books.
async fn reborn(scene: &Scene) -> Result<EmbeddedWallet<Privy>> {
    let key = AuthorizationKey::born();
    let admitted = scene.keeper.admit(&scene.made, &key.public(), &scene.bounds, scene.now).await?;
    super::done(admitted)?;
    let (id, address) = (scene.made.id.clone(), scene.made.address);
    Ok(EmbeddedWallet::new(scene.fake.client()?, id, address, key, BACKOFF))
}

/// INV-9: stopped at every write, before and after the disk has it, and gone on with by another process with another key.
#[tokio::test]
async fn stopped_anywhere_a_sweep_is_finished_by_the_next_process_and_nothing_is_sent_twice()
-> Result<()> {
    let stage = Arc::new(Stage::open().await?);
    let now = stage.now().await?;
    let usdc = stage.book().usdc;
    let fake = Arc::new(FakePrivy::start(now).await?);
    let mut stops = 0;
    for (round, (write, taken)) in (1u8..).zip((1..9).flat_map(|w| [(w, false), (w, true)])) {
        let keeper = WalletKeeper::new(fake.client()?, KeeperKey::born());
        let golem = B256::repeat_byte(round);
        let scene = Arc::new(Scene::at(&stage, fake.clone(), keeper, &[], golem, now).await?);
        let books = Arc::new(Books::default());
        *books.stop.lock().unwrap() = Some((write, taken));
        let dollars_before = stage.balance_of(usdc, OWNER).await?;

        let mut task = tokio::spawn({
            let (stage, scene, books) = (stage.clone(), scene.clone(), books.clone());
            async move { sweep(&stage, &scene, &books).await.map(drop) }
        });
        let finished = tokio::select! {
            () = books.stopped.notified() => false,
            ended = &mut task => { ended??; true }
        };
        task.abort();
        let _ = task.await;
        stops += usize::from(!finished);
        *books.stop.lock().unwrap() = None;
        let Ok(mut scene) = Arc::try_unwrap(scene) else { bail!("somebody still has it") };
        scene.wallet = reborn(&scene).await?;
        let manifest = swept(&stage, &scene, &books).await?;

        let wallet = scene.address();
        let what = format!("write {write}, taken {taken}");
        assert_eq!(stage.node().plan(wallet).await?.nonce, 2, "two transactions in all: {what}");
        let got = stage.balance_of(usdc, OWNER).await? - dollars_before;
        assert_eq!(got, dollars(1_000), "{what}");
        assert_eq!(manifest.positions_settled.len(), 2, "{what}");
        assert_eq!(manifest.positions_deferred, [], "{what}");
    }
    assert_eq!(stops, 2 * (1 + 2 * 3 + 1), "begin, three steps for each of two, conclude");
    Ok(())
}

#[tokio::test]
async fn a_sweep_waits_for_privy_and_survives_lost_answers() -> Result<()> {
    let stage = Stage::open().await?;
    let mut scene = Scene::open(&stage).await?;
    let books = Books::default();
    scene.fake.fail("/rpc", 1, &PrivyTrouble::Busy { seconds: 30 }).await?;
    scene.fake.fail("/rpc", 1, &PrivyTrouble::DropAfter).await?;

    let halted = sweep(&stage, &scene, &books).await?;
    assert!(matches!(halted, Swept::Halted(_)), "{halted:?}");
    scene.now += 30;
    scene.fake.set_clock(scene.now).await?;
    assert!(sweep(&stage, &scene, &books).await.is_err(), "the answer was lost");
    scene.now += 30;
    scene.fake.set_clock(scene.now).await?;
    let manifest = swept(&stage, &scene, &books).await?;

    assert_eq!(manifest.positions_deferred, []);
    assert_eq!(scene.fake.log().await?.signatures, 2, "one for each of two");
    assert_eq!(stage.node().plan(scene.address()).await?.nonce, 2);
    Ok(())
}

/// SPEC K5: the Golem sweeps; if it is gone, its owner does, with the key that he kept.
#[tokio::test]
async fn what_a_golem_that_is_gone_left_behind_its_owner_fetches_with_the_key_he_kept() -> Result<()>
{
    let stage = Stage::open().await?;
    let now = stage.now().await?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("keeper.json");
    let password = Password::typed("a password".to_owned().into()).context("typed")?;
    let born = KeeperKey::born();
    born.save(&path, &password)?;
    let fake = Arc::new(FakePrivy::start(now).await?);
    let keeper = WalletKeeper::new(fake.client()?, born);
    let mut scene = Scene::at(&stage, fake, keeper, &[], B256::repeat_byte(7), now).await?;
    super::done(scene.keeper.dismiss(&scene.made.id, now).await?)?;

    let kept = KeeperKey::open(&path, &password)?;
    let (id, address) = (scene.made.id.clone(), scene.made.address);
    scene.wallet = EmbeddedWallet::of_owner(scene.fake.client()?, id, address, kept, BACKOFF);
    let manifest = swept(&stage, &scene, &Books::default()).await?;

    assert_eq!(manifest.positions_deferred, []);
    assert_eq!(stage.balance_of(stage.book().usdc, OWNER).await?, dollars(1_000));
    Ok(())
}
