//! SPEC G5: the owner's wallet and a node are enough. No process of Bardo runs while he revokes.

use crate::command::{Key, bardo};
use alloy::{
    primitives::{Address, B256, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    GolemRegistry,
    framework::{DELEGATION_MANAGER, DelegationManager, MultiSigDeleGator},
    golem_registry,
};
use bardo_testkit::{Agent, Fault, Proxy, Stage, dollars, fair_swap, swap, swap_grant, unsigned};
use golem_chain::{AccountKind, Node, Registry, hybrid_account};
use golem_custody::{Execution, Password, SessionKey, SessionSigner};
use golem_delegation::{
    Caveat, Delegation, ROOT_AUTHORITY, Rule, enforcers,
    terms::{AllowedTargets, MortalityTimeWindow},
};
use std::{
    fs, os::unix::fs::PermissionsExt, path::Path, process::Command, sync::Arc, time::Duration,
};

alloy::sol! {
    function updateThreshold(uint256 threshold) external;
    function pause() external;
}

async fn revoked_by_a_wallet_that_is_not_ours(kind: AccountKind) -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(kind).await?;
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("pw"), "pw")?;
    fs::set_permissions(path("pw"), fs::Permissions::from_mode(0o600))?;
    let pw = Password::from_file(Path::new(&path("pw")))?;
    owner.signer.save(Path::new(&path("owner.json")), &pw)?;

    // Bardo: the agent is born, the owner signs, the agent acts. Each is a process that ends.
    let secret = ["--keystore", &path("session.json"), "--password-file", &path("pw")];
    let born = bardo([&["session", "new", "--json"], &secret[..]].concat())?;
    let session = born.json()?["address"].as_str().context("no address")?.parse()?;
    stage.fund(session, bardo_testkit::STIPEND, Default::default()).await?;
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 3600)?;
    let account = owner.account.address;
    let terms = swap_grant(&stage, session, account, 5, window);
    fs::write(path("grant.json"), serde_json::to_string(&unsigned(account, &terms))?)?;
    let sign = [
        "delegation",
        "sign",
        &path("grant.json"),
        "--chain-id",
        "8453",
        "--keystore",
        &path("owner.json"),
        "--password-file",
        &path("pw"),
    ];
    let signed = bardo(sign)?;
    ensure!(signed.code == 0, "{signed:?}");
    fs::write(path("grant.json"), &signed.stdout)?;
    let grant = serde_json::from_str(&signed.stdout)?;
    let stop = owner.account.revocation(8453, &owner.signer, &grant)?;
    let good = swap(&stage, account, dollars(1));
    let redeem = |call: &Execution| {
        let words = [
            "delegation",
            "redeem",
            "--rpc",
            stage.chain().url().as_str(),
            "--context",
            &path("grant.json"),
            "--target",
            &call.target.to_string(),
            "--data",
            &call.data.to_string(),
            "--json",
        ];
        bardo([&words[..], &secret[..]].concat())
    };
    let first = redeem(&good)?;
    ensure!(first.code == 0 && first.json()?["success"] == true, "{first:?}");

    // A bundler that ran is stopped, as everything else.
    let bundler = stage.bundler()?;
    let address = bundler.url().clone();
    assert!(Node::connect(&address).await.is_ok());
    drop(bundler);
    assert!(Node::connect(&address).await.is_err());

    // Nothing of Bardo from here to the end of the transaction: cast, the key, a node.
    let output = Command::new(stage.chain().files().foundry("cast"))
        .args(["send", "--json", "--rpc-url", stage.chain().url().as_str()])
        .args(["--keystore", &path("owner.json"), "--password-file", &path("pw")])
        .args([stop.to.to_string(), stop.data.to_string()])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let after = redeem(&good)?;
    assert_eq!(after.code, 1, "{after:?}");
    assert_eq!(after.json()?["code"], "DELEGATION_DISABLED");
    Ok(())
}

#[tokio::test]
async fn a_7702_owner_revokes_with_his_wallet_alone() -> Result<()> {
    revoked_by_a_wallet_that_is_not_ours(AccountKind::Stateless7702).await
}

#[tokio::test]
async fn a_hybrid_owner_revokes_with_his_wallet_alone() -> Result<()> {
    revoked_by_a_wallet_that_is_not_ours(AccountKind::Hybrid).await
}

/// G5: the command does in one transaction what a wallet would, for either kind of account, and says so when the key
/// is not the owner's.
#[tokio::test]
async fn an_owner_revokes_one_grant_or_all_charters_by_one_transaction() -> Result<()> {
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let stage = Stage::open().await?;
        let owner = stage.owner(kind).await?;
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("pw"), "pw")?;
        fs::set_permissions(path("pw"), fs::Permissions::from_mode(0o600))?;
        let pw = Password::from_file(Path::new(&path("pw")))?;
        owner.signer.save(Path::new(&path("owner.json")), &pw)?;
        let stranger = bardo([
            "session",
            "new",
            "--keystore",
            &path("other.json"),
            "--password-file",
            &path("pw"),
        ])?;
        ensure!(stranger.code == 0, "{stranger:?}");
        let rpc = stage.chain().url().as_str();
        let revoke = |key: &str, more: &[&str]| {
            let (key, pw) = (path(key), path("pw"));
            let words = ["delegation", "revoke", "--rpc", rpc, "--json", "--keystore", &key];
            bardo([&words[..], &["--password-file", &pw], more].concat())
        };
        let allowed = |grant: &str, call: &Execution| {
            let (grant, target) = (path(grant), call.target.to_string());
            let (data, words) = (call.data.to_string(), ["delegation", "simulate", "--rpc", rpc]);
            let call = ["--context", &grant, "--target", &target, "--data", &data, "--json"];
            bardo([&words[..], &call].concat())
        };

        let stock = Agent::hired(&stage, &owner, 5).await?;
        fs::write(path("stock.json"), serde_json::to_string(&stock.grant)?)?;
        let one = swap(&stage, stock.account, dollars(1));
        let seen = allowed("stock.json", &one)?.json()?;
        ensure!(
            seen["allowed"] == true && seen["changes"].as_array().is_some_and(|all| all.len() >= 4),
            "{seen}"
        );
        let refused = revoke("other.json", &["--context", &path("stock.json")])?;
        ensure!(refused.code == 1 && refused.stdout.contains("does not rule"), "{refused:?}");
        let done = revoke("owner.json", &["--context", &path("stock.json")])?;
        ensure!(done.code == 0 && done.json()?["revoked"] == true, "{done:?}");
        ensure!(allowed("stock.json", &one)?.json()?["code"] == "DELEGATION_DISABLED");
        let again = revoke("owner.json", &["--context", &path("stock.json")])?;
        ensure!(again.code == 0 && again.json()?["transaction"].is_null(), "{again:?}");

        let law = Agent::chartered(&stage, &owner, |_| ()).await?;
        let id = golem_of(&law)?;
        fs::write(path("law.json"), serde_json::to_string(&law.grant)?)?;
        let fair = fair_swap(&stage, law.account, dollars(1));
        ensure!(allowed("law.json", &fair)?.code == 0);
        // Another Golem of the same owner goes on where one ends.
        let other = Agent::chartered(&stage, &owner, |law| {
            law.golem_id = Registry::golem_id(owner.signer.address(), B256::repeat_byte(3))
        })
        .await?;
        let (salt, agent_key) = (B256::repeat_byte(3), other.key.address());
        let register = GolemRegistry::registerCall { salt, agentKey: agent_key }.abi_encode();
        let human = owner.signer.address();
        stage.send_as(human, golem_registry(), U256::ZERO, register.into()).await?;
        fs::write(path("other.grant"), serde_json::to_string(&other.grant)?)?;
        let refused = revoke("other.json", &["--golem", &id])?;
        ensure!(refused.code == 1 && refused.stdout.contains("nothing was sent"), "{refused:?}");
        let nobody = revoke("owner.json", &["--golem", &B256::repeat_byte(9).to_string()])?;
        ensure!(nobody.code == 1 && nobody.stdout.contains("never registered"), "{nobody:?}");
        let done = revoke("owner.json", &["--golem", &id])?;
        ensure!(done.code == 0 && done.json()?["revoked"] == true, "{done:?}");
        ensure!(allowed("law.json", &fair)?.json()?["code"] == "CAV-REVOKED");
        let on = allowed("other.grant", &fair)?;
        ensure!(on.code == 0, "the other goes on: {on:?}");
        let done = revoke("owner.json", &["--all"])?;
        ensure!(done.code == 0 && done.json()?["generation"] == 1, "{done:?}");
        ensure!(done.json()?["golems"] == 2, "{done:?}");
        ensure!(allowed("other.grant", &fair)?.json()?["code"] == "CAV-REVOKED");
        ensure!(revoke("owner.json", &[])?.code == 2, "which one?");
    }
    Ok(())
}

/// G5: whoever has another key than the EOA's is not sent to create anything, and an owner without coins has asked for nothing that
/// went wrong.
#[tokio::test]
async fn another_key_than_the_eoas_is_told_whose_it_takes() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, other) = (Key::funded(&stage, 0x23).await?, Key::funded(&stage, 0x24).await?);
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let terms = swap_grant(&stage, SessionKey::born().address(), owner.address, 5, window);
    let signer = bardo_testkit::fixed_signer(0x23)?;
    let grant = signer.grant(&stage.domain(), unsigned(owner.address, &terms))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grant.json").display().to_string();
    fs::write(&file, serde_json::to_string(&grant)?)?;
    let (rpc, whose) = (stage.chain().url().as_str(), owner.address.to_string());
    let by = |key: &Key, words: &[&str]| {
        bardo([words, &["--rpc", rpc, "--key-file", &key.file, "--json"]].concat())
    };
    let home = Address::repeat_byte(0xb0).to_string();
    let revoke = ["delegation", "revoke", "--context", &file, "--anyway"];
    let withdraw = ["vault", "withdraw", "--account", &whose, "--all-ether", "--to", &home];

    for words in [&revoke[..], &withdraw] {
        let told = by(&other, words)?;
        ensure!(told.code == 1 && told.stdout.contains("its own key is needed"), "{told:?}");
    }
    let broke = Key::kept(0x25)?;
    let poor = by(&broke, &["vault", "create"])?;

    assert_eq!(other.sent(&stage).await?, 0);
    assert_eq!((poor.code, &poor.json()?["code"]), (1, &"CUS-NO-GAS".into()), "{poor:?}");
    ensure!(poor.json()?["reason"].as_str().is_some_and(|why| why.contains("fund it")), "{poor:?}");
    Ok(())
}

/// G5: a grant of a vault that is not on the chain yet says what to do, and is revoked once it is.
#[tokio::test]
async fn a_grant_of_an_uncreated_vault_says_what_to_do() -> Result<()> {
    let stage = Stage::open().await?;
    let key = Key::funded(&stage, 0x21).await?;
    let vault = hybrid_account(key.address, B256::ZERO, &stage.book().proxy_code);
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let terms = swap_grant(&stage, SessionKey::born().address(), vault.address, 5, window);
    let signer = bardo_testkit::fixed_signer(0x21)?;
    let grant = signer.grant(&stage.domain(), unsigned(vault.address, &terms))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grant.json").display().to_string();
    fs::write(&file, serde_json::to_string(&grant)?)?;
    let rpc = stage.chain().url().as_str();
    let revoke =
        ["delegation", "revoke", "--rpc", rpc, "--context", &file, "--key-file", &key.file];

    let early = bardo(revoke)?;
    let created = bardo(["vault", "create", "--rpc", rpc, "--key-file", &key.file])?;
    let done = bardo(revoke)?;

    ensure!(early.code == 1 && early.stdout.contains("bardo vault create"), "{early:?}");
    ensure!(created.code == 0, "{created:?}");
    ensure!(done.code == 0, "{done:?}");
    let disabled = DelegationManager::disabledDelegationsCall { delegationHash: grant.hash().0 };
    ensure!(stage.node().read(DELEGATION_MANAGER, disabled).await?);
    Ok(())
}

/// G5: what only waits for a block is no revocation, and is made dearer by naming it.
#[tokio::test]
async fn a_revocation_that_waits_is_not_called_done_and_can_be_raised() -> Result<()> {
    let stage = Stage::open().await?;
    let key = Key::funded(&stage, 0x21).await?;
    let created = |words: &[&str]| {
        let rpc = stage.chain().url().as_str();
        bardo([words, &["--rpc", rpc, "--key-file", &key.file, "--json"]].concat())
    };
    ensure!(created(&["vault", "create"])?.code == 0);
    let vault = hybrid_account(key.address, B256::ZERO, &stage.book().proxy_code);
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let terms = swap_grant(&stage, SessionKey::born().address(), vault.address, 5, window);
    let signer = bardo_testkit::fixed_signer(0x21)?;
    let grant = signer.grant(&stage.domain(), unsigned(vault.address, &terms))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grant.json").display().to_string();
    fs::write(&file, serde_json::to_string(&grant)?)?;
    let revoke = |more: &[&str]| {
        created(&[&["delegation", "revoke", "--context", &file, "--timeout", "2"], more].concat())
    };
    let provider = stage.node().provider();
    let disabled = DelegationManager::disabledDelegationsCall { delegationHash: grant.hash().0 };
    provider.anvil_set_auto_mine(false).await?;

    let first = revoke(&[])?;
    let hash = first.json()?["sent"][0].as_str().context("nothing sent")?.to_owned();
    let status =
        bardo(["delegation", "status", "--context", &file, "--rpc", stage.chain().url().as_str()])?;
    let again = revoke(&[])?;
    let raised = revoke(&["--instead-of", &hash])?;
    let wrong = revoke(&["--instead-of", &B256::repeat_byte(9).to_string()])?;

    ensure!(first.code == 3 && first.json()?["code"] == "UNSETTLED", "{first:?}");
    ensure!(first.stderr.contains(&format!("--instead-of {hash}")), "{first:?}");
    ensure!(status.code == 0 && status.stdout.starts_with("active"), "{status:?}");
    // Another one stands behind the first: neither is done.
    ensure!(again.code == 3 && !again.stdout.contains("\"revoked\":true"), "{again:?}");
    ensure!(raised.code == 3, "{raised:?}");
    assert_eq!(wrong.json()?["code"], "NOT_WAITING", "{wrong:?}");
    ensure!(wrong.code == 3 && wrong.stderr.contains("nothing was sent"), "{wrong:?}");
    provider.anvil_mine(Some(1), None).await?;
    ensure!(stage.node().read(DELEGATION_MANAGER, disabled).await?);
    let mined = provider.get_transaction_receipt(hash.parse()?).await?;
    ensure!(mined.is_none(), "the dearer one was mined in its place: {raised:?}");
    let done = revoke(&[])?;
    ensure!(done.code == 0 && done.json()?["transaction"].is_null(), "{done:?}");
    Ok(())
}

/// G5: to end a grant on another chain than its own ends nothing, and is not called a revocation.
#[tokio::test]
async fn a_grant_of_another_chain_is_not_revoked_here() -> Result<()> {
    let stage = Stage::open().await?;
    let key = Key::funded(&stage, 0x21).await?;
    let signer = bardo_testkit::fixed_signer(0x21)?;
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let terms = swap_grant(&stage, SessionKey::born().address(), key.address, 5, window);
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grant.json").display().to_string();
    let revoke = |chain_id: u64| {
        let domain = golem_delegation::SigningDomain { chain_id, ..stage.domain() };
        let grant = signer.grant(&domain, unsigned(key.address, &terms))?;
        fs::write(&file, serde_json::to_string(&grant)?)?;
        let rpc = stage.chain().url().as_str();
        let words = ["delegation", "revoke", "--rpc", rpc, "--context", &file];
        bardo([&words[..], &["--key-file", &key.file, "--json"]].concat())
    };

    let (there, here) = (revoke(1)?, revoke(stage.domain().chain_id)?);

    ensure!(there.code == 1 && there.stdout.contains("not signed for chain"), "{there:?}");
    ensure!(here.code == 0 && here.json()?["chainId"] == stage.domain().chain_id, "{here:?}");
    assert_eq!(key.sent(&stage).await?, 1);

    // An EOA that obeys other code now, which signs nothing: the grant comes back with the old code, and is ended all the same.
    let other = [&[0xef, 0x01, 0x00][..], stage.book().usdc.as_slice()].concat();
    stage.node().provider().anvil_set_code(key.address, other.into()).await?;
    let terms = swap_grant(&stage, SessionKey::born().address(), key.address, 6, window);
    let grant = signer.grant(&stage.domain(), unsigned(key.address, &terms))?;
    fs::write(&file, serde_json::to_string(&grant)?)?;
    let rpc = stage.chain().url().as_str();
    let words = ["delegation", "revoke", "--rpc", rpc, "--context", &file];
    let foreign = bardo([&words[..], &["--key-file", &key.file, "--json"]].concat())?;
    let disabled = DelegationManager::disabledDelegationsCall { delegationHash: grant.hash().0 };
    ensure!(foreign.code == 0, "{foreign:?}");
    ensure!(stage.node().read(DELEGATION_MANAGER, disabled).await?);
    Ok(())
}

/// G5: what another was quicker with is a revocation once it is deep enough, and not before.
#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_that_another_was_quicker_with_is_deep_enough_or_none() -> Result<()> {
    let stage = Stage::open().await?;
    let key = Key::funded(&stage, 0x21).await?;
    let signer = bardo_testkit::fixed_signer(0x21)?;
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let terms = swap_grant(&stage, SessionKey::born().address(), key.address, 5, window);
    let grant = signer.grant(&stage.domain(), unsigned(key.address, &terms))?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grant.json").display().to_string();
    fs::write(&file, serde_json::to_string(&grant)?)?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    // Somebody between hands it over twice: its place is taken, by itself.
    proxy.fail("eth_sendRawTransaction", 1, Fault::Twice);
    let rpc = proxy.url().to_string();
    let key_file = key.file.clone();
    let (context, provider) = (file.clone(), stage.node().provider());
    let revoke = tokio::task::spawn_blocking(move || {
        let words = ["delegation", "revoke", "--rpc", &rpc, "--context", &context, "--json"];
        let more = ["--key-file", &key_file, "--confirmations", "3", "--timeout", "20"];
        bardo([&words[..], &more].concat())
    });
    while provider.get_transaction_count(key.address).await? == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    ensure!(!revoke.is_finished(), "one block is not three");
    provider.anvil_mine(Some(2), None).await?;

    let done = revoke.await??;

    ensure!(done.code == 0 && !done.json()?["transaction"].is_null(), "{done:?}");
    Ok(())
}

/// G5: what was revoked and is allowed again is revoked again, and not called revoked.
#[tokio::test]
async fn a_grant_that_was_enabled_again_is_revoked_again() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("grant.json"), serde_json::to_string(&agent.grant)?)?;
    fs::write(path("pw"), "pw")?;
    fs::set_permissions(path("pw"), fs::Permissions::from_mode(0o600))?;
    owner
        .signer
        .save(Path::new(&path("owner.json")), &Password::from_file(Path::new(&path("pw")))?)?;
    let (file, key, pw) = (path("grant.json"), path("owner.json"), path("pw"));
    let revoke = |blocks: &str| {
        let words = ["delegation", "revoke", "--rpc", stage.chain().url().as_str(), "--json"];
        let more = ["--context", &file, "--keystore", &key, "--password-file", &pw];
        bardo([&words[..], &more, &["--confirmations", blocks, "--timeout", "3"]].concat())
    };
    let provider = stage.node().provider();
    ensure!(revoke("1")?.code == 0);
    provider.anvil_mine(Some(3), None).await?;
    // The other way takes the same words.
    let disable = golem_chain::revocation(&agent.grant);
    let words = disable.strip_prefix(&DelegationManager::disableDelegationCall::SELECTOR);
    let enable = DelegationManager::enableDelegationCall::SELECTOR;
    let data = [&enable[..], words.context("no revocation")?].concat().into();
    ensure!(stage.send_as(agent.account, DELEGATION_MANAGER, U256::ZERO, data).await?.status());

    // Two blocks deep it is still disabled.
    let again = revoke("2")?;

    ensure!(!again.json()?["sent"][0].is_null(), "{again:?}");
    let disabled =
        DelegationManager::disabledDelegationsCall { delegationHash: agent.grant.hash().0 };
    ensure!(stage.node().read(DELEGATION_MANAGER, disabled).await?, "{again:?}");
    Ok(())
}

/// The Golem of a charter.
fn golem_of(agent: &Agent) -> Result<String> {
    let environment = golem_chain::environment();
    let golem = agent.grant.caveats.iter().find_map(|caveat| match environment.read(caveat) {
        Ok(Rule::GolemCharter(charter)) => Some(charter.golem_id.to_string()),
        _ => None,
    });
    golem.context("no charter")
}

/// How often charters of an owner were ended all at once.
async fn generation(stage: &Stage, owner: Address) -> Result<u64> {
    let asked = GolemRegistry::generationOfCall { owner };
    Ok(stage.node().read(golem_registry(), asked).await?.into())
}

/// G5: charters whose owner is a vault are ended through the vault, by one transaction of its owner's key and without a bundler, also
/// while the manager is paused; those of the key go on.
#[tokio::test]
async fn a_vault_that_is_named_ends_its_own_charters_and_not_its_keys() -> Result<()> {
    for paused in [false, true] {
        let stage = Stage::open().await?;
        let key = Key::funded(&stage, 0x21).await?;
        let rpc = stage.chain().url().as_str();
        let by = |words: &[&str]| {
            bardo([words, &["--rpc", rpc, "--key-file", &key.file, "--json"]].concat())
        };
        let vault = hybrid_account(key.address, B256::ZERO, &stage.book().proxy_code).address;
        let named = vault.to_string();
        let all = ["delegation", "revoke", "--all", "--account", &named];
        let early = by(&all)?;
        ensure!(early.code == 1 && early.stdout.contains("bardo vault create"), "{early:?}");
        ensure!(by(&["vault", "create"])?.code == 0);
        // A Golem of the vault's own.
        stage.fund(vault, bardo_testkit::STIPEND, U256::ZERO).await?;
        let salt = B256::repeat_byte(4);
        let born = GolemRegistry::registerCall { salt, agentKey: Address::repeat_byte(0x99) };
        let born = stage.send_as(vault, golem_registry(), U256::ZERO, born.abi_encode().into());
        ensure!(born.await?.status());
        let golem = Registry::golem_id(vault, salt);
        if paused {
            stage.faucet(DELEGATION_MANAGER, pauseCall {}).await?;
        }
        let sent = key.sent(&stage).await?;

        let one = by(&["delegation", "revoke", "--golem", &golem.to_string()])?;
        let done = by(&all)?;

        ensure!(one.code == 0 && one.json()?["revoked"] == true, "{paused}: {one:?}");
        ensure!(done.code == 0 && done.json()?["revoked"] == true, "{paused}: {done:?}");
        assert_eq!((&done.json()?["generation"], &done.json()?["golems"]), (&1.into(), &1.into()));
        assert_eq!(generation(&stage, vault).await?, 1);
        assert_eq!(generation(&stage, key.address).await?, 0, "the key's own go on");
        assert_eq!(key.sent(&stage).await?, sent + 2, "one transaction each");
    }
    Ok(())
}

/// G5: an account that the key cannot speak for is refused before anything is sent: nothing is ended in its stead.
#[tokio::test]
async fn an_account_that_the_key_does_not_rule_is_refused_and_nothing_is_ended() -> Result<()> {
    let stage = Stage::open().await?;
    let (key, other) = (Key::funded(&stage, 0x21).await?, Key::funded(&stage, 0x22).await?);
    let rpc = stage.chain().url().as_str();
    let by = |key: &Key, words: &[&str]| {
        bardo([words, &["--rpc", rpc, "--key-file", &key.file, "--json"]].concat())
    };
    ensure!(by(&other, &["vault", "create"])?.code == 0);
    let theirs = hybrid_account(other.address, B256::ZERO, &stage.book().proxy_code).address;
    let owners = stage.multisig_owner().await?.address();
    for stranger in [other.address, theirs, owners, stage.book().usdc, Address::repeat_byte(7)] {
        let named = stranger.to_string();
        let ran = by(&key, &["delegation", "revoke", "--all", "--account", &named])?;

        ensure!(ran.code == 1 && ran.json()?["revoked"] == false, "{stranger}: {ran:?}");
        ensure!(ran.stdout.contains("nothing was sent"), "{stranger}: {ran:?}");
        assert_eq!(generation(&stage, stranger).await?, 0);
    }
    assert_eq!(key.sent(&stage).await?, 0);
    assert_eq!(generation(&stage, key.address).await?, 0);
    // His own address is his.
    let own = key.address.to_string();
    let done = by(&key, &["delegation", "revoke", "--all", "--account", &own])?;
    ensure!(done.code == 0 && generation(&stage, key.address).await? == 1, "{done:?}");
    Ok(())
}

/// G5: a node that does not answer whose account it is has not said that it is nobody else's.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_fails_to_say_who_rules_an_account_ends_nothing() -> Result<()> {
    let stage = Stage::open().await?;
    let owners = stage.multisig_owner().await?;
    let from = owners.address();
    let fewer = updateThresholdCall { threshold: U256::from(1) }.abi_encode().into();
    ensure!(stage.send_as(from, from, U256::ZERO, fewer).await?.status());
    let key = Key::funded(&stage, 0x11).await?;
    let agent = SessionKey::born();
    let caveat =
        Caveat::new(enforcers::ALLOWED_TARGETS, AllowedTargets(vec![stage.book().usdc]).encode());
    let grant = Delegation {
        delegate: agent.address(),
        delegator: from,
        authority: ROOT_AUTHORITY,
        caveats: vec![caveat],
        salt: Default::default(),
        signature: Default::default(),
    };
    let grant = bardo_testkit::fixed_signer(0x11)?.grant(&stage.domain(), grant)?;
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grant.json").display().to_string();
    fs::write(&file, serde_json::to_string(&grant)?)?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let (rpc, named) = (proxy.url().to_string(), from.to_string());
    let revoke = |what: &[&str]| {
        let words = ["delegation", "revoke", "--rpc", &rpc, "--key-file", &key.file, "--json"];
        bardo([&words[..], what].concat())
    };
    let broken = Fault::Claim(Arc::new(
        || serde_json::json!({ "error": { "code": -32_603, "message": "internal error" } }),
    ));

    for what in [&["--all", "--account", &named][..], &["--context", &file]] {
        // What is asked of an account is these four bytes and no more.
        let who = alloy::hex::encode_prefixed(MultiSigDeleGator::getSignersCall::SELECTOR);
        proxy.fail(&who, 1, broken.clone());
        let ran = revoke(what)?;

        assert_eq!(proxy.failed(), 1, "it was asked");
        ensure!(ran.code == 3, "{what:?}: {ran:?}");
        assert_eq!(key.sent(&stage).await?, 0, "{what:?}");
    }
    assert_eq!((generation(&stage, key.address).await?, generation(&stage, from).await?), (0, 0));
    // As soon as it answers, one key of the account is enough.
    let done = revoke(&["--all", "--account", &named])?;
    ensure!(done.code == 0 && generation(&stage, from).await? == 1, "{done:?}");
    assert_eq!(generation(&stage, key.address).await?, 0);
    Ok(())
}

/// G5: two of three keys end a grant, or all charters, by one transaction; one of them cannot.
#[tokio::test]
async fn owners_together_revoke_one_grant_or_all_charters_by_one_transaction() -> Result<()> {
    let stage = Stage::open().await?;
    let owners = stage.multisig_owner().await?;
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    for byte in [0x11_u8, 0x12] {
        let file = path(&format!("{byte:x}.key"));
        fs::write(&file, alloy::primitives::B256::repeat_byte(byte).to_string())?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600))?;
    }
    for key in owners.keys() {
        stage.fund(key.address(), bardo_testkit::STIPEND, Default::default()).await?;
    }
    let agent = SessionKey::born();
    let grant = Delegation {
        delegate: agent.address(),
        delegator: owners.address(),
        authority: ROOT_AUTHORITY,
        caveats: vec![Caveat::new(
            enforcers::ALLOWED_TARGETS,
            AllowedTargets(vec![stage.book().usdc]).encode(),
        )],
        salt: Default::default(),
        signature: Default::default(),
    };
    let grant = owners.grant(&stage.domain(), grant)?;
    fs::write(path("grant.json"), serde_json::to_string(&grant)?)?;
    let revoke = |words: &[&str]| {
        let fixed = ["delegation", "revoke", "--json", "--rpc", stage.chain().url().as_str()];
        bardo([&fixed[..], words].concat())
    };
    let (one, two, file) = (path("11.key"), path("12.key"), path("grant.json"));

    let alone = revoke(&["--context", &file, "--key-file", &one])?;
    let twice = revoke(&["--context", &file, "--key-file", &one, "--co-key-file", &one])?;
    let both = revoke(&["--context", &file, "--key-file", &one, "--co-key-file", &two])?;
    let account = owners.address().to_string();
    let all = ["--all", "--account", &account, "--key-file", &one, "--co-key-file", &two];
    let all = revoke(&all)?;

    assert_eq!((alone.code, twice.code), (1, 1), "{alone:?} {twice:?}");
    ensure!(twice.json()?["reason"].as_str().is_some_and(|why| why.contains("2 of its keys")));
    assert_eq!(both.code, 0, "{both:?}");
    assert_eq!(all.code, 0, "{all:?}");
    let disabled = DelegationManager::disabledDelegationsCall { delegationHash: grant.hash().0 };
    ensure!(stage.node().read(DELEGATION_MANAGER, disabled).await?);
    let generation = GolemRegistry::generationOfCall { owner: owners.address() };
    // Where one of them is enough, one is enough.
    let fewer = updateThresholdCall { threshold: U256::from(1) }.abi_encode().into();
    let from = owners.address();
    ensure!(stage.send_as(from, from, U256::ZERO, fewer).await?.status());
    let second = Delegation { salt: U256::from(2), ..grant.clone() };
    let second = bardo_testkit::fixed_signer(0x11)?.grant(&stage.domain(), second)?;
    fs::write(path("second.json"), serde_json::to_string(&second)?)?;
    let one_alone = revoke(&["--context", &path("second.json"), "--key-file", &one])?;
    assert_eq!(one_alone.code, 0, "{one_alone:?}");
    let status = ["vault", "status", "--rpc", stage.chain().url().as_str(), "--account", &account];
    let status = bardo([&status[..], &["--json"]].concat())?;
    ensure!(status.code == 0 && status.json()?["kind"] == "multisig", "{status:?}");
    assert_eq!(stage.node().read(golem_registry(), generation).await?, 1);
    Ok(())
}

/// A grant of an account that several keys rule, signed by two of them, in a file; and the keys' files.
async fn granted_together(stage: &Stage, folder: &Path) -> Result<(Delegation, String, [Key; 2])> {
    let owners = stage.multisig_owner().await?;
    let keys = [Key::funded(stage, 0x11).await?, Key::funded(stage, 0x12).await?];
    let terms = AllowedTargets(vec![stage.book().usdc]).encode();
    let grant = Delegation {
        delegate: SessionKey::born().address(),
        delegator: owners.address(),
        authority: ROOT_AUTHORITY,
        caveats: vec![Caveat::new(enforcers::ALLOWED_TARGETS, terms)],
        salt: Default::default(),
        signature: Default::default(),
    };
    let grant = owners.grant(&stage.domain(), grant)?;
    let file = folder.join("grant.json").display().to_string();
    fs::write(&file, serde_json::to_string(&grant)?)?;
    Ok((grant, file, keys))
}

/// D6, ADR 2: while the manager is paused two of three keys end a grant, one Golem's charters or all of them, without a bundler.
#[tokio::test]
async fn owners_together_revoke_while_the_manager_is_paused() -> Result<()> {
    let (stage, folder) = (Stage::open().await?, tempfile::tempdir()?);
    let (grant, file, [one, two]) = granted_together(&stage, folder.path()).await?;
    stage.faucet(DELEGATION_MANAGER, pauseCall {}).await?;
    let revoke = |words: &[&str]| {
        let fixed = ["delegation", "revoke", "--json", "--rpc", stage.chain().url().as_str()];
        bardo([&fixed[..], &["--key-file", &one.file], words].concat())
    };
    let account = grant.delegator.to_string();

    let alone = revoke(&["--context", &file])?;
    let both = revoke(&["--context", &file, "--co-key-file", &two.file])?;
    let all = revoke(&["--all", "--account", &account, "--co-key-file", &two.file])?;

    ensure!(alone.code == 1 && alone.stdout.contains("2 of its keys"), "{alone:?}");
    ensure!(both.code == 0 && both.json()?["revoked"] == true, "{both:?}");
    ensure!(all.code == 0 && all.json()?["generation"] == 1, "{all:?}");
    assert_eq!((one.sent(&stage).await?, two.sent(&stage).await?), (2, 0), "one transaction each");
    let disabled = DelegationManager::disabledDelegationsCall { delegationHash: grant.hash().0 };
    ensure!(stage.node().read(DELEGATION_MANAGER, disabled).await?);
    Ok(())
}

/// What the manager says no to is said in words, with what to do: here it was paused a moment after it was asked.
#[tokio::test(flavor = "multi_thread")]
async fn a_manager_that_refuses_a_revocation_is_told_in_words() -> Result<()> {
    let (stage, folder) = (Stage::open().await?, tempfile::tempdir()?);
    let (_, file, [one, two]) = granted_together(&stage, folder.path()).await?;
    stage.faucet(DELEGATION_MANAGER, pauseCall {}).await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let asked = alloy::hex::encode_prefixed(DelegationManager::pausedCall::SELECTOR);
    proxy.fail(&asked, 1, Fault::lie(|said| *said = B256::ZERO.to_string().into()));
    let rpc = proxy.url().to_string();
    let words = ["delegation", "revoke", "--rpc", &rpc, "--context", &file, "--json"];
    let keys = ["--key-file", &one.file, "--co-key-file", &two.file];
    let revoke = || bardo([&words[..], &keys].concat());

    let refused = revoke()?;
    let done = revoke()?;

    ensure!(refused.code == 1 && refused.json()?["revoked"] == false, "{refused:?}");
    assert_eq!(refused.json()?["code"], "DEL-PAUSED");
    for words in ["paused", "nothing was sent", "ask again", "--all"] {
        ensure!(refused.stdout.contains(words), "{words}: {refused:?}");
    }
    ensure!(done.code == 0, "asked again: {done:?}");
    assert_eq!(one.sent(&stage).await?, 1);
    Ok(())
}
