//! `bardo vault`: the account where the owner's money is, and the way out of it.

use crate::command::{Key, Ran, bardo};
use alloy::{
    primitives::{
        Address, B256, Bytes, U256, address,
        aliases::{I24, U24},
        hex, keccak256,
    },
    providers::{Provider, ext::AnvilApi},
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    defi::{Erc20, NonfungiblePositionManager, Weth9},
    framework::{
        DELEGATION_MANAGER, ENTRY_POINT, EntryPoint, HYBRID_IMPL, PROXY_CODE_HASH,
        STATELESS_7702_IMPL,
    },
};
use bardo_testkit::{Stage, dollars, fixed_signer, root};
use golem_chain::{Account, hybrid_account, local::FAUCET};
use golem_custody::Execution;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

alloy::sol! {
    function pause() external;
    function multicall(bytes[] data) external;
}

/// Where chains of the OP stack say what they charge for data.
const ORACLE: Address = address!("420000000000000000000000000000000000000F");

fn ether(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000_000_000_000_000u64)
}

/// A hundredth of a coin: more than gas costs here, less than anybody's savings.
fn dust() -> U256 {
    ether(1) / U256::from(100)
}

struct Scene {
    stage: Stage,
    owner: Key,
    vault: Account,
}

impl Scene {
    async fn open() -> Result<Self> {
        let stage = Stage::open().await?;
        let owner = Key::funded(&stage, 0x59).await?;
        let vault = hybrid_account(owner.address, B256::ZERO, &stage.book().proxy_code);
        Ok(Self { stage, owner, vault })
    }

    /// With a vault that is created.
    async fn created() -> Result<Self> {
        let scene = Self::open().await?;
        let ran = scene.by(&scene.owner, &["create"])?;
        ensure!(ran.code == 0, "{ran:?}");
        Ok(scene)
    }

    /// Coins, dollars and wrapped coins for `account`.
    async fn endow(&self, account: Address) -> Result<()> {
        self.stage.fund(account, ether(3), dollars(5_000)).await?;
        let weth = self.stage.book().weth;
        let wrap = Weth9::depositCall {}.abi_encode();
        ensure!(self.stage.send_as(FAUCET, weth, ether(1), wrap.into()).await?.status());
        self.stage.faucet(weth, Erc20::transferCall { to: account, amount: ether(1) }).await?;
        Ok(())
    }

    fn by(&self, key: &Key, words: &[&str]) -> Result<Ran> {
        let rpc = self.stage.chain().url().as_str();
        bardo([&["vault"], words, &["--rpc", rpc, "--key-file", &key.file, "--json"]].concat())
    }

    fn status(&self, words: &[&str]) -> Result<Ran> {
        let rpc = self.stage.chain().url().as_str();
        bardo([&["vault", "status", "--rpc", rpc, "--json"], words].concat())
    }

    fn tokens(&self) -> (String, String) {
        (self.stage.book().usdc.to_string(), self.stage.book().weth.to_string())
    }

    /// Ether, USDC and WETH.
    async fn held(&self, account: Address) -> Result<[U256; 3]> {
        let book = self.stage.book();
        Ok([
            self.stage.node().balance(account).await?,
            self.stage.balance_of(book.usdc, account).await?,
            self.stage.balance_of(book.weth, account).await?,
        ])
    }
}

fn count(answer: &Value) -> usize {
    answer["transactions"].as_array().map_or(0, Vec::len)
}

#[tokio::test]
async fn a_vault_has_its_address_before_it_is_created_and_is_created_once() -> Result<()> {
    let scene = Scene::open().await?;
    let (owner, at) = (scene.owner.address.to_string(), json!(scene.vault.address));
    let (usdc, _) = scene.tokens();
    scene.stage.fund(scene.vault.address, ether(2), dollars(7)).await?;

    let before = scene.status(&["--owner", &owner, "--token", &usdc])?.json()?;
    assert_eq!((&before["account"], &before["deployed"]), (&at, &json!(false)));
    assert_eq!(before["owner"], json!(scene.owner.address));
    assert_eq!(before["ether"], ether(2).to_string());
    assert_eq!(before["tokens"][0]["balance"], dollars(7).to_string());

    let first = scene.by(&scene.owner, &["create"])?;
    ensure!(first.code == 0 && first.json()?["created"] == true, "{first:?}");
    assert_eq!(first.json()?["account"], at);
    ensure!(!scene.stage.node().code(scene.vault.address).await?.is_empty());
    let sent = scene.owner.sent(&scene.stage).await?;
    let again = scene.by(&scene.owner, &["create"])?;
    ensure!(again.code == 0 && again.json()?["created"] == false, "{again:?}");
    assert_eq!(again.json()?["account"], at, "it says where it is");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent, "nothing was sent");

    let account = scene.vault.address.to_string();
    for which in [["--owner", &owner], ["--account", &account]] {
        let after = scene.status(&which)?.json()?;
        assert_eq!((&after["account"], &after["deployed"]), (&at, &json!(true)));
        assert_eq!(
            (&after["kind"], &after["owner"]),
            (&json!("hybrid"), &json!(scene.owner.address))
        );
    }
    let salt = B256::repeat_byte(7).to_string();
    let second = scene.by(&scene.owner, &["create", "--salt", &salt])?;
    ensure!(second.code == 0 && second.json()?["account"] != at, "{second:?}");
    Ok(())
}

/// Run again while the first waits, it is harmless: the vault stands.
#[tokio::test(flavor = "multi_thread")]
async fn a_vault_that_is_created_twice_at_once_stands() -> Result<()> {
    let scene = Scene::open().await?;
    let provider = scene.stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let first = scene.by(&scene.owner, &["create", "--timeout", "1"])?;
    let (rpc, file) = (scene.stage.chain().url().to_string(), scene.owner.file.clone());
    let second = tokio::task::spawn_blocking(move || {
        bardo(["vault", "create", "--rpc", &rpc, "--key-file", &file, "--json"])
    });
    let queued = async || {
        let status: Value = provider.raw_request("txpool_status".into(), ()).await?;
        anyhow::Ok(status["pending"] == "0x2")
    };
    while !queued().await? {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    provider.anvil_mine(Some(1), None).await?;

    let second = second.await??;

    assert_eq!((first.code, second.code), (3, 0), "{first:?} {second:?}");
    ensure!(!scene.stage.node().code(scene.vault.address).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_vault_is_emptied_by_one_transaction_of_its_owner() -> Result<()> {
    let scene = Scene::created().await?;
    let (vault, owner) = (scene.vault.address, scene.owner.address);
    scene.endow(vault).await?;
    let [coins, ..] = scene.held(vault).await?;
    let had = scene.stage.node().balance(owner).await?;
    let sent = scene.owner.sent(&scene.stage).await?;
    let (usdc, weth) = scene.tokens();

    // A token named twice can only leave once.
    let words = ["withdraw", "--token", &usdc, "--token", &weth, "--token", &usdc, "--all-ether"];
    let ran = scene.by(&scene.owner, &words)?;

    ensure!(ran.code == 0 && ran.json()?["withdrawn"] == true, "{ran:?}");
    assert_eq!(count(&ran.json()?), 1);
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1);
    assert_eq!(scene.held(vault).await?, [U256::ZERO; 3]);
    let [now, usdc, weth] = scene.held(owner).await?;
    assert_eq!((usdc, weth), (dollars(5_000), ether(1)), "his own EOA unless he says otherwise");
    ensure!(now > had + coins - dust(), "{now} of {had} and {coins}");
    Ok(())
}

/// ADR 2: the manager is MetaMask's, and the vault is its owner's. He asks for the same, and has all of it by one transaction: what lies
/// with the entry point, too.
#[tokio::test]
async fn a_vault_is_emptied_while_the_manager_is_paused() -> Result<()> {
    let scene = Scene::created().await?;
    let (vault, to) = (scene.vault.address, Address::repeat_byte(0x5c));
    scene.endow(vault).await?;
    let deposit = EntryPoint::depositToCall { account: vault }.abi_encode();
    ensure!(scene.stage.send_as(FAUCET, ENTRY_POINT, ether(1), deposit.into()).await?.status());
    let [coins, ..] = scene.held(vault).await?;
    scene.stage.faucet(DELEGATION_MANAGER, pauseCall {}).await?;
    let sent = scene.owner.sent(&scene.stage).await?;
    let (usdc, weth) = scene.tokens();

    let to_word = to.to_string();
    let words = ["withdraw", "--token", &usdc, "--token", &weth, "--all-ether", "--to", &to_word];
    let ran = scene.by(&scene.owner, &words)?;

    ensure!(ran.code == 0 && ran.json()?["withdrawn"] == true, "{ran:?}");
    assert_eq!(count(&ran.json()?), 1);
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1);
    assert_eq!(scene.held(vault).await?, [U256::ZERO; 3]);
    assert_eq!(scene.held(to).await?, [coins + ether(1), dollars(5_000), ether(1)]);
    // There is nothing left to ask for.
    let ran = scene.by(&scene.owner, &words)?;
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1, "{ran:?}");
    Ok(())
}

#[tokio::test]
async fn a_vault_that_was_never_created_can_be_emptied_too() -> Result<()> {
    let scene = Scene::open().await?;
    let (vault, to) = (scene.vault.address, Address::repeat_byte(0x5b));
    scene.endow(vault).await?;
    let [coins, ..] = scene.held(vault).await?;
    let (usdc, weth) = scene.tokens();

    let to_word = to.to_string();
    let words = ["withdraw", "--token", &usdc, "--token", &weth, "--all-ether", "--to", &to_word];
    let ran = scene.by(&scene.owner, &words)?;

    ensure!(ran.code == 0, "{ran:?}");
    assert_eq!(count(&ran.json()?), 2, "created, then emptied");
    assert_eq!(scene.held(vault).await?, [U256::ZERO; 3]);
    assert_eq!(scene.held(to).await?, [coins, dollars(5_000), ether(1)]);
    Ok(())
}

/// Upgraded before or by this very transaction.
#[tokio::test]
async fn an_eoa_is_emptied_by_one_transaction_and_keeps_its_gas() -> Result<()> {
    for upgraded in [false, true] {
        let scene = Scene::open().await?;
        let (owner, to) = (scene.owner.address, Address::repeat_byte(0x5c));
        if upgraded {
            let nothing = Execution { target: to, value: U256::ZERO, data: Bytes::new() };
            let signer = fixed_signer(0x59)?;
            Account::stateless_7702(owner).act(scene.stage.node(), &signer, &[nothing]).await?;
        }
        scene.endow(owner).await?;
        let [coins, ..] = scene.held(owner).await?;
        let sent = scene.stage.node().provider().get_transaction_count(owner).await?;
        let ((usdc, weth), own, to_word) = (scene.tokens(), owner.to_string(), to.to_string());

        let words = ["withdraw", "--account", &own, "--token", &usdc, "--token", &weth];
        let ran =
            scene.by(&scene.owner, &[&words[..], &["--all-ether", "--to", &to_word]].concat())?;

        ensure!(ran.code == 0 && ran.json()?["withdrawn"] == true, "{ran:?}");
        assert_eq!(count(&ran.json()?), 1);
        // The authorization that upgrades counts as one, too.
        let used = scene.owner.sent(&scene.stage).await? - sent;
        assert_eq!(used, if upgraded { 1 } else { 2 });
        let [left, usdc, weth] = scene.held(owner).await?;
        assert_eq!((usdc, weth), (U256::ZERO, U256::ZERO));
        ensure!(left < dust(), "{left} wei stay");
        let [got, usdc, weth] = scene.held(to).await?;
        assert_eq!((usdc, weth), (dollars(5_000), ether(1)));
        ensure!(got > coins - dust(), "{got} of {coins}");
        let status = scene.status(&["--account", &own])?.json()?;
        assert_eq!((&status["kind"], &status["owner"]), (&json!("7702"), &json!(owner)));
    }
    Ok(())
}

/// What waits is taken back: another withdrawal has its place, and one of them takes effect.
#[tokio::test]
async fn a_withdrawal_that_waits_is_replaced_and_not_followed() -> Result<()> {
    for by_vault in [false, true] {
        let scene = Scene::created().await?;
        let account = if by_vault { scene.vault.address } else { scene.owner.address };
        scene.endow(account).await?;
        let provider = scene.stage.node().provider();
        let (wrong, right) = (Address::repeat_byte(0x5c), Address::repeat_byte(0x5d));
        let own = account.to_string();
        let withdraw = |to: Address, more: &[&str]| {
            let to = to.to_string();
            let words = ["withdraw", "--account", &own, "--all-ether", "--to", &to];
            scene.by(&scene.owner, &[&words[..], &["--timeout", "2"], more].concat())
        };
        provider.anvil_set_auto_mine(false).await?;

        let first = withdraw(wrong, &[])?;
        let hash = first.json()?["sent"][0].as_str().context("nothing sent")?.to_owned();
        let second = withdraw(right, &["--instead-of", &hash])?;
        provider.anvil_mine(Some(2), None).await?;

        ensure!((first.code, second.code) == (3, 3), "{first:?} {second:?}");
        let [lost, ..] = scene.held(wrong).await?;
        let [got, ..] = scene.held(right).await?;
        ensure!(lost.is_zero() && got > ether(2), "{by_vault}: {lost} {got}");
    }
    Ok(())
}

/// Less than its gas is told, and is not called nothing.
#[tokio::test]
async fn coins_that_do_not_cover_their_gas_stay_and_are_told() -> Result<()> {
    let scene = Scene::open().await?;
    let (own, to) = (scene.owner.address.to_string(), Address::repeat_byte(0x5c).to_string());
    let little = U256::from(100_000_000_000_000_u64);
    scene.stage.node().provider().anvil_set_balance(scene.owner.address, little).await?;
    scene.stage.node().provider().anvil_mine(Some(1), None).await?;

    let ran =
        scene.by(&scene.owner, &["withdraw", "--account", &own, "--all-ether", "--to", &to])?;

    ensure!(ran.code == 1 && ran.stdout.contains("less than its gas"), "{ran:?}");
    Ok(())
}

/// On a rollup data is paid for from the same purse: an EOA that empties itself keeps that, too, and no transaction of an owner's is sent
/// that could cost more with it than its ceiling, or than there is.
#[tokio::test]
async fn what_a_rollup_charges_for_data_is_kept_and_counted() -> Result<()> {
    const EACH: u64 = 10_000_000_000_000;
    let scene = Scene::open().await?;
    let (owner, to) = (scene.owner.address, Address::repeat_byte(0x5c));
    scene.endow(owner).await?;
    let provider = scene.stage.node().provider();
    let oracle = async |code: Bytes| {
        provider.anvil_set_code(ORACLE, code).await?;
        provider.anvil_mine(Some(1), None).await
    };
    let (own, to_word) = (owner.to_string(), to.to_string());
    let create = ["create", "--fee-ceiling", "5000000000000000"];

    // So much for each byte: what it is asked with, times that.
    oracle(Bytes::from_static(&hex!("6004356509184e72a000025f5260205ff3"))).await?;
    let dear = scene.by(&scene.owner, &create)?;
    ensure!(dear.code == 1 && dear.stderr.contains("ceiling of 5000000000000000 wei"), "{dear:?}");
    let rich = scene.stage.node().balance(owner).await?;
    provider.anvil_set_balance(owner, dust() / U256::from(2)).await?;
    let broke = scene.by(&scene.owner, &["create"])?;
    ensure!(broke.code == 1 && broke.stderr.contains("fund it"), "{broke:?}");
    provider.anvil_set_balance(owner, rich).await?;
    // One that does not say is not taken for a chain that charges nothing.
    oracle(Bytes::from_static(&hex!("5f5ffd"))).await?;
    let silent = scene.by(&scene.owner, &["create"])?;
    ensure!(silent.code == 3 && silent.stderr.contains("does not say"), "{silent:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0, "nothing was sent");

    oracle(Bytes::from_static(&hex!("6004356509184e72a000025f5260205ff3"))).await?;
    let words = ["withdraw", "--account", &own, "--all-ether", "--to", &to_word];
    let ran = scene.by(&scene.owner, &words)?;
    ensure!(ran.code == 0 && ran.json()?["withdrawn"] == true, "{ran:?}");
    let hash = ran.json()?["transactions"][0].as_str().context("no hash")?.parse()?;
    let sent = provider.get_transaction_by_hash(hash).await?.context("not found")?;
    // The upgrade is data, too.
    let bytes = u64::try_from(alloy::consensus::Transaction::input(&sent).len())? + 100;
    let [left, ..] = scene.held(owner).await?;
    ensure!(left >= U256::from(bytes * EACH), "{left} wei stay for {bytes} bytes");
    ensure!(left < U256::from(3 * (bytes + 200) * EACH), "{left} wei stay for {bytes} bytes");

    oracle(Bytes::new()).await?;
    provider.anvil_set_balance(owner, rich).await?;
    let free = scene.by(&scene.owner, &create)?;
    ensure!(free.code == 0, "where nothing is charged it is within its ceiling: {free:?}");
    Ok(())
}

#[tokio::test]
async fn only_what_is_named_leaves() -> Result<()> {
    let scene = Scene::created().await?;
    scene.endow(scene.vault.address).await?;
    let [coins, _, wrapped] = scene.held(scene.vault.address).await?;
    let (usdc, _) = scene.tokens();

    let ran = scene.by(&scene.owner, &["withdraw", "--token", &usdc])?;
    let again = scene.by(&scene.owner, &["withdraw", "--token", &usdc])?;

    ensure!(ran.code == 0, "{ran:?}");
    assert_eq!(scene.held(scene.vault.address).await?, [coins, U256::ZERO, wrapped]);
    ensure!(again.code == 1 && again.json()?["reason"] == "nothing to take", "{again:?}");
    Ok(())
}

#[tokio::test]
async fn somebody_elses_account_is_refused_and_nothing_is_sent() -> Result<()> {
    let scene = Scene::created().await?;
    scene.endow(scene.vault.address).await?;
    let held = scene.held(scene.vault.address).await?;
    let thief = Key::funded(&scene.stage, 0x66).await?;
    let vault = scene.vault.address.to_string();

    let ran = scene.by(&thief, &["withdraw", "--account", &vault, "--all-ether"])?;

    ensure!(ran.code == 1 && ran.json()?["withdrawn"] == false, "{ran:?}");
    ensure!(ran.stdout.contains("does not rule"), "{ran:?}");
    assert_eq!(thief.sent(&scene.stage).await?, 0);
    assert_eq!(scene.held(scene.vault.address).await?, held);
    Ok(())
}

/// ATK-32: an EOA that obeys other code is not driven through it.
#[tokio::test]
async fn an_eoa_with_foreign_code_is_refused() -> Result<()> {
    let scene = Scene::open().await?;
    let (own, to) = (scene.owner.address.to_string(), Address::repeat_byte(0x5c).to_string());
    let foreign = [&[0xef, 0x01, 0x00][..], Address::repeat_byte(0xee).as_slice()].concat();
    scene.stage.node().provider().anvil_set_code(scene.owner.address, foreign.into()).await?;

    let words = ["withdraw", "--account", &own, "--all-ether", "--to", &to];
    let ran = scene.by(&scene.owner, &words)?;
    let status = scene.status(&["--account", &own])?;

    ensure!(ran.code == 1 && ran.stdout.contains("not the framework's"), "{ran:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0);
    ensure!(status.code == 1 && status.json()?["kind"].is_null(), "{status:?}");
    Ok(())
}

/// SPEC C1, ATK-32: an EOA is not pointed at code that is not there, and one that is gets no transaction that would do nothing.
#[tokio::test]
async fn an_eoa_is_not_upgraded_to_an_implementation_that_is_not_there() -> Result<()> {
    for upgraded in [false, true] {
        let scene = Scene::open().await?;
        let (owner, to) = (scene.owner.address, Address::repeat_byte(0x5c));
        let provider = scene.stage.node().provider();
        if upgraded {
            let nothing = Execution { target: to, value: U256::ZERO, data: Bytes::new() };
            let signer = fixed_signer(0x59)?;
            Account::stateless_7702(owner).act(scene.stage.node(), &signer, &[nothing]).await?;
        }
        scene.endow(owner).await?;
        let (held, code) = (scene.held(owner).await?, scene.stage.node().code(owner).await?);
        let sent = scene.owner.sent(&scene.stage).await?;
        provider.anvil_set_code(STATELESS_7702_IMPL, Bytes::new()).await?;
        let ((usdc, _), own, to_word) = (scene.tokens(), owner.to_string(), to.to_string());

        for what in [&["--all-ether"][..], &["--token", &usdc], &["--token", &usdc, "--all-ether"]]
        {
            let words = ["withdraw", "--account", &own, "--to", &to_word];
            let ran = scene.by(&scene.owner, &[&words[..], what].concat())?;

            ensure!(ran.code == 3, "{upgraded} {what:?}: {ran:?}");
            ensure!(ran.stderr.contains("EIP7702StatelessDeleGator"), "{ran:?}");
            ensure!(ran.stderr.contains("bardo chains check"), "says what to do: {ran:?}");
        }
        assert_eq!(scene.owner.sent(&scene.stage).await?, sent, "nothing was sent");
        assert_eq!(scene.held(owner).await?, held);
        assert_eq!(scene.stage.node().code(owner).await?, code);
    }
    Ok(())
}

/// SPEC D18: what was sent and did not leave an EOA is not called out, though an EOA keeps its gas money.
#[tokio::test]
async fn coins_that_stayed_in_an_eoa_are_not_called_out() -> Result<()> {
    let scene = Scene::open().await?;
    let (owner, to) = (scene.owner.address, Address::repeat_byte(0x5c));
    scene.endow(owner).await?;
    let [coins, ..] = scene.held(owner).await?;
    // STOP: whatever it is told to do goes well, and nothing is done.
    let nothing = Bytes::from_static(&[0x00]);
    scene.stage.node().provider().anvil_set_code(STATELESS_7702_IMPL, nothing).await?;
    let (own, to_word) = (owner.to_string(), to.to_string());

    let words = ["withdraw", "--account", &own, "--all-ether", "--to", &to_word];
    let ran = scene.by(&scene.owner, &words)?;

    ensure!(ran.code == 1 && ran.json()?["withdrawn"] == false, "{ran:?}");
    assert_eq!(ran.json()?["moved"][0]["out"], false, "{ran:?}");
    let [left, ..] = scene.held(owner).await?;
    ensure!(left > coins - dust() && scene.held(to).await?[0].is_zero(), "{left}");
    Ok(())
}

/// SPEC D18: more positions than leave at once are not called withdrawn; how many are left is said, and asking again takes them.
#[tokio::test]
async fn positions_beyond_what_leaves_at_once_are_counted_and_taken_by_asking_again() -> Result<()>
{
    let scene = Scene::created().await?;
    let (vault, to) = (scene.vault.address, Address::repeat_byte(0x5e));
    let book = scene.stage.book();
    let params = NonfungiblePositionManager::MintParams {
        token0: book.weth,
        token1: book.usdc,
        fee: U24::from(500),
        tickLower: I24::try_from(-887_270)?,
        tickUpper: I24::try_from(887_270)?,
        amount0Desired: ether(1) / U256::from(100),
        amount1Desired: dollars(25),
        amount0Min: U256::ZERO,
        amount1Min: U256::ZERO,
        recipient: vault,
        deadline: U256::MAX,
    };
    let open: Bytes = NonfungiblePositionManager::mintCall { params }.abi_encode().into();
    for _ in 0..17 {
        let data = vec![open.clone(); 6];
        scene.stage.faucet(book.position_manager, multicallCall { data }).await?;
    }
    let (positions, to_word) = (book.position_manager.to_string(), to.to_string());
    let words = ["withdraw", "--positions", &positions, "--to", &to_word];
    let count = async |owner: Address| -> Result<U256> {
        let of = NonfungiblePositionManager::balanceOfCall { owner };
        Ok(scene.stage.node().read(book.position_manager, of).await?)
    };
    assert_eq!(count(vault).await?, U256::from(102));

    let first = scene.by(&scene.owner, &words)?;
    assert_eq!((count(vault).await?, count(to).await?), (U256::from(2), U256::from(100)));
    let second = scene.by(&scene.owner, &words)?;

    ensure!(first.code == 1 && first.json()?["withdrawn"] == false, "{first:?}");
    let still = first.json()?["still"].clone();
    assert_eq!(still, json!([{ "token": book.position_manager, "items": "2" }]));
    ensure!(second.code == 0 && second.json()?["withdrawn"] == true, "{second:?}");
    assert_eq!(count(to).await?, U256::from(102));
    Ok(())
}

/// A vault that was passed on is not its first owner's any more, whatever its address is derived from.
#[tokio::test]
async fn a_vault_that_was_passed_on_is_not_taken_for_his() -> Result<()> {
    let scene = Scene::created().await?;
    let next = Key::funded(&scene.stage, 0x5a).await?;
    let mut data = keccak256("transferOwnership(address)")[..4].to_vec();
    data.extend(next.address.into_word());
    let call = Execution { target: scene.vault.address, value: U256::ZERO, data: data.into() };
    scene.vault.act(scene.stage.node(), &fixed_signer(0x59)?, &[call]).await?;
    scene.endow(scene.vault.address).await?;
    let owner = scene.owner.address.to_string();
    let (vault, (usdc, _)) = (scene.vault.address.to_string(), scene.tokens());

    let created = scene.by(&scene.owner, &["create"])?;
    let status = scene.status(&["--owner", &owner])?;
    let refused = scene.by(&scene.owner, &["withdraw", "--token", &usdc])?;
    let taken = scene.by(&next, &["withdraw", "--account", &vault, "--token", &usdc])?;

    ensure!(created.code == 1 && created.json()?["owner"] == json!(next.address), "{created:?}");
    ensure!(status.code == 1 && status.json()?["owner"] == json!(next.address), "{status:?}");
    ensure!(refused.code == 1 && refused.stdout.contains("does not rule"), "{refused:?}");
    ensure!(taken.code == 0, "{taken:?}");
    let [_, usdc, _] = scene.held(next.address).await?;
    assert_eq!(usdc, dollars(5_000));
    Ok(())
}

/// The way out of an EOA never leads through the manager.
#[tokio::test]
async fn an_eoa_is_emptied_while_the_manager_is_paused() -> Result<()> {
    let scene = Scene::created().await?;
    scene.endow(scene.owner.address).await?;
    scene.stage.faucet(DELEGATION_MANAGER, pauseCall {}).await?;
    let ((usdc, _), own) = (scene.tokens(), scene.owner.address.to_string());
    let to = Address::repeat_byte(0x5d);

    let to_word = to.to_string();
    let words = ["withdraw", "--account", &own, "--token", &usdc, "--to", &to_word];
    let ran = scene.by(&scene.owner, &words)?;

    ensure!(ran.code == 0, "{ran:?}");
    assert_eq!(scene.stage.balance_of(scene.stage.book().usdc, to).await?, dollars(5_000));
    Ok(())
}

/// A token says what it likes; what counts is what is there afterwards.
#[tokio::test]
async fn a_token_that_only_says_it_moved_is_not_believed() -> Result<()> {
    let scene = Scene::created().await?;
    let liar = Address::repeat_byte(0x1a);
    // PUSH1 1 PUSH0 MSTORE PUSH1 32 PUSH0 RETURN: a balance of one, and every transfer went well.
    let code = Bytes::from_static(&hex!("60015f5260205ff3"));
    scene.stage.node().provider().anvil_set_code(liar, code).await?;

    let ran = scene.by(&scene.owner, &["withdraw", "--token", &liar.to_string()])?;

    ensure!(ran.code == 1 && ran.json()?["withdrawn"] == false, "{ran:?}");
    assert_eq!(ran.json()?["moved"][0]["left"], "1");
    Ok(())
}

#[tokio::test]
async fn a_creation_above_its_ceiling_or_without_the_framework_is_not_sent() -> Result<()> {
    let scene = Scene::open().await?;
    let no_token = Address::repeat_byte(0x44).to_string();
    scene.endow(scene.vault.address).await?;

    let dear = scene.by(&scene.owner, &["create", "--fee-ceiling", "1"])?;
    let lost = scene.by(&scene.owner, &["withdraw", "--token", &no_token])?;
    scene.stage.node().provider().anvil_set_code(HYBRID_IMPL, Bytes::new()).await?;
    let missing = scene.by(&scene.owner, &["create"])?;

    ensure!(dear.code == 1 && dear.stderr.contains("ceiling of 1 wei"), "{dear:?}");
    ensure!(dear.stderr.contains("--fee-ceiling"), "says what to do: {dear:?}");
    ensure!(lost.code == 3 && lost.stderr.contains("(token)"), "{lost:?}");
    ensure!(missing.code == 3 && missing.stderr.contains("HybridDeleGator"), "{missing:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0);
    Ok(())
}

#[tokio::test]
async fn a_withdrawal_above_its_ceiling_is_not_sent() -> Result<()> {
    let scene = Scene::created().await?;
    let (usdc, _) = scene.tokens();
    scene.endow(scene.vault.address).await?;
    let sent = scene.owner.sent(&scene.stage).await?;
    let dear = scene.by(&scene.owner, &["withdraw", "--token", &usdc, "--fee-ceiling", "1"])?;
    ensure!(dear.code == 1 && dear.stderr.contains("ceiling of 1 wei"), "{dear:?}");
    ensure!(dear.stderr.contains("--fee-ceiling"), "says what to do: {dear:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent);
    Ok(())
}

/// Other code than the framework's proxy would be an account that obeys who knows whom.
#[tokio::test]
async fn the_proxys_code_is_taken_from_a_file_or_the_local_chain_and_never_other_code() -> Result<()>
{
    let scene = Scene::open().await?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("proxy.hex").display().to_string();
    let code = &scene.stage.book().proxy_code;
    assert_eq!(keccak256(code), PROXY_CODE_HASH);
    let owner = scene.owner.address.to_string();
    let rpc = scene.stage.chain().url().as_str();
    // No local chain is found from there.
    let elsewhere = |more: &[&str]| -> Result<(Option<i32>, String, String)> {
        let output = Command::new(env!("CARGO_BIN_EXE_bardo"))
            .args(["vault", "status", "--rpc", rpc, "--owner", &owner, "--json"])
            .args(more)
            .env("BARDO_HOME", folder.path())
            .current_dir(root())
            .output()?;
        let text = |bytes| String::from_utf8(bytes);
        Ok((output.status.code(), text(output.stdout)?, text(output.stderr)?))
    };

    fs::write(&file, format!("{code}\n"))?;
    let (status, said, _) = elsewhere(&["--proxy-code", &file])?;
    assert_eq!(status, Some(0));
    let said: Value = serde_json::from_str(&said)?;
    assert_eq!(said["account"], json!(scene.vault.address));
    let (status, _, talk) = elsewhere(&[])?;
    ensure!(status == Some(2) && talk.contains("--proxy-code FILE"), "{talk}");

    let mut other = code.to_vec();
    *other.last_mut().context("empty")? ^= 1;
    for wrong in [Bytes::from(other).to_string(), "0x".to_owned(), "proxy".to_owned()] {
        fs::write(&file, &wrong)?;
        let ran = scene.by(&scene.owner, &["create", "--proxy-code", &file])?;
        ensure!(ran.code == 2, "{ran:?}");
    }
    assert_eq!(scene.owner.sent(&scene.stage).await?, 0);
    Ok(())
}

#[test]
fn a_withdrawal_that_nobody_can_have_meant_is_wrong_use() -> Result<()> {
    let key = Key::kept(0x59)?;
    let (own, to) = (key.address.to_string(), Address::repeat_byte(0x5c).to_string());
    let zero = Address::ZERO.to_string();
    // Nobody answers there: what is well said is a fault, and no wrong use.
    let withdraw = |words: &[&str]| {
        let node = ["--rpc", "http://127.0.0.1:1", "--key-file", &key.file];
        bardo([&["vault", "withdraw"], words, &node].concat())
    };

    let good = withdraw(&["--account", &own, "--to", &to, "--all-ether"])?;
    ensure!(good.code == 3, "{good:?}");
    for (words, why) in [
        (&["--to", &to][..], "say what to take out"),
        (&["--account", &own, "--all-ether"], "would send to itself"),
        (&["--to", &zero, "--all-ether"], "address zero"),
        (&["--to", &to, "--token", &to], "is lost"),
    ] {
        let ran = withdraw(words)?;
        ensure!(ran.code == 2 && ran.stderr.contains(why), "{words:?} {ran:?}");
    }
    let ran = bardo(["vault", "status", "--rpc", "http://127.0.0.1:1"])?;
    ensure!(ran.code == 2, "whose? {ran:?}");
    Ok(())
}

/// G5, D18: two of three keys take everything out by one transaction; one of them cannot.
#[tokio::test]
async fn owners_together_take_everything_out_by_one_transaction() -> Result<()> {
    taken_out_together(&Stage::open().await?).await
}

/// ADR 2: whoever stops the manager, the account is theirs.
#[tokio::test]
async fn owners_together_take_everything_out_while_the_manager_is_paused() -> Result<()> {
    let stage = Stage::open().await?;
    stage.faucet(DELEGATION_MANAGER, pauseCall {}).await?;
    taken_out_together(&stage).await
}

async fn taken_out_together(stage: &Stage) -> Result<()> {
    let owners = stage.multisig_owner().await?;
    let folder = tempfile::tempdir()?;
    let path = |byte: u8| folder.path().join(format!("{byte:x}.key")).display().to_string();
    for byte in [0x11_u8, 0x12] {
        fs::write(path(byte), B256::repeat_byte(byte).to_string())?;
        fs::set_permissions(path(byte), fs::Permissions::from_mode(0o600))?;
    }
    for key in owners.keys() {
        stage.fund(key.address(), bardo_testkit::STIPEND, U256::ZERO).await?;
    }
    let held = stage.balance_of(stage.book().usdc, owners.address()).await?;
    let coins = stage.node().balance(owners.address()).await?;
    ensure!(!held.is_zero() && !coins.is_zero(), "there is something to take out");
    let (usdc, home) = (stage.book().usdc, Address::repeat_byte(0xb0));
    let withdraw = |words: &[&str]| {
        let (account, token) = (owners.address().to_string(), usdc.to_string());
        let fixed = [
            "vault",
            "withdraw",
            "--json",
            "--rpc",
            stage.chain().url().as_str(),
            "--account",
            &account,
            "--to",
            &home.to_string(),
            "--token",
            &token,
            "--all-ether",
        ];
        bardo([&fixed[..], words].concat())
    };

    let alone = withdraw(&["--key-file", &path(0x11)])?;
    let twice = withdraw(&["--key-file", &path(0x11), "--co-key-file", &path(0x11)])?;
    assert_eq!((alone.code, twice.code), (1, 1), "{alone:?} {twice:?}");
    ensure!(twice.json()?["reason"].as_str().is_some_and(|why| why.contains("2 of its keys")));
    assert_eq!(stage.balance_of(usdc, home).await?, U256::ZERO);

    let both = withdraw(&["--key-file", &path(0x11), "--co-key-file", &path(0x12)])?;
    assert_eq!(both.code, 0, "{both:?}");
    assert_eq!(both.json()?["transactions"].as_array().map(Vec::len), Some(1));
    assert_eq!(stage.balance_of(usdc, home).await?, held);
    assert_eq!(stage.node().balance(home).await?, coins);
    assert_eq!(stage.node().balance(owners.address()).await?, U256::ZERO);
    Ok(())
}
