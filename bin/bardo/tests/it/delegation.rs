//! `bardo delegation` and `bardo session`.

use crate::command::{Key, Ran, bardo, bardo_knowing, bardo_with};
use alloy::{
    primitives::{Address, U256, bytes},
    providers::{Provider, ext::AnvilApi},
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    defi::Erc20,
    framework::{DELEGATION_MANAGER, ENTRY_POINT, EntryPoint},
};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{
    Agent, Fault, Owner, Proxy, Stage, charter, chartered, dollars, fair_swap, root, swap,
    swap_grant, unsigned as unsigned_by,
};
use golem_chain::AccountKind;
use golem_custody::Execution;
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, PermissionContext, enforcers,
    terms::{LimitedCalls, MortalityTimeWindow},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

fn unsigned() -> Value {
    json!({
        "delegate": "0x0101010101010101010101010101010101010101",
        "delegator": "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf",
        "authority": format!("0x{}", "ff".repeat(32)),
        "caveats": [{ "enforcer": "0x0202020202020202020202020202020202020202", "terms": "0x01", "args": "0x" }],
        "salt": "0x7",
        "signature": "0x"
    })
}

fn key_file(folder: &Path, mode: u32) -> Result<PathBuf> {
    let path = folder.join("key");
    // The key whose address is the delegator above.
    fs::write(&path, format!("0x{:064x}\n", 1))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
    Ok(path)
}

fn private(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o600))?)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn hash_agrees_with_metamasks_packages_for_object_list_and_lines() -> Result<()> {
    let file = fs::read_to_string(root().join("testdata/vectors/delegations.json"))?;
    let vectors: Value = serde_json::from_str(&file)?;
    let cases = vectors["delegations"].as_array().unwrap();
    let all: Vec<&Value> = cases.iter().map(|case| &case["delegation"]).collect();
    let expected: Vec<&str> = cases.iter().filter_map(|case| case["hash"].as_str()).collect();
    let lines: String = all.iter().map(|d| format!("{d}\n")).collect();

    let one = bardo_with(&all[0].to_string(), ["delegation", "hash", "-"])?;
    let list = bardo_with(&serde_json::to_string(&all)?, ["delegation", "hash", "-"])?;
    let each = bardo_with(&lines, ["delegation", "hash", "-"])?;

    assert_eq!(one.stdout.trim(), expected[0]);
    assert_eq!(list.stdout.lines().collect::<Vec<_>>(), expected);
    assert_eq!(each.stdout, list.stdout);
    Ok(())
}

#[test]
fn what_is_signed_verifies_and_what_is_changed_does_not() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = text(&key_file(folder.path(), 0o600)?);
    let grant = unsigned().to_string();
    let sign = ["delegation", "sign", "-", "--chain-id", "8453", "--key-file", &key];
    let signed = bardo_with(&grant, sign)?;
    assert_eq!(signed.code, 0, "{signed:?}");
    let verify = |input: &str, more: &[&str]| {
        bardo_with(input, [&["delegation", "verify", "-"], more].concat())
    };

    assert_eq!(verify(&signed.stdout, &["--chain-id", "8453"])?.code, 0);
    let elsewhere = verify(&signed.stdout, &["--chain-id", "1"])?;
    assert_eq!(elsewhere.code, 1);
    let manager = format!("0x{}", "11".repeat(20));
    assert_eq!(verify(&signed.stdout, &["--chain-id", "8453", "--manager", &manager])?.code, 1);
    let mut changed: Delegation = serde_json::from_str(&signed.stdout)?;
    changed.caveats[0].terms = vec![2].into();
    let changed = verify(&serde_json::to_string(&changed)?, &["--chain-id", "8453", "--json"])?;
    assert_eq!(changed.code, 1);
    assert_eq!(changed.json()?["valid"], false);
    assert_eq!(verify(&grant, &["--chain-id", "8453"])?.code, 1, "unsigned");
    Ok(())
}

#[test]
fn whoever_signs_what_cannot_be_meant_is_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = text(&key_file(folder.path(), 0o600)?);
    let sign = ["delegation", "sign", "-", "--chain-id", "8453", "--key-file", &key];
    let mut malformed = unsigned();
    malformed["caveats"][0]["enforcer"] = json!(enforcers::LIMITED_CALLS);
    let mut account = unsigned();
    account["delegator"] = json!(format!("0x{}", "0a".repeat(20)));

    let quiet = bardo_with(&unsigned().to_string(), sign)?;
    let malformed = bardo_with(&malformed.to_string(), sign)?;
    let account = bardo_with(&account.to_string(), sign)?;

    let mut child = unsigned();
    child["authority"] = json!(format!("0x{}", "07".repeat(32)));
    let child = bardo_with(&child.to_string(), sign)?;

    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
    assert!(child.stderr.contains("--parent"), "ATK-07: {}", child.stderr);
    let verify = ["delegation", "verify", "-", "--chain-id", "8453"];
    let unusable = bardo_with(&malformed.stdout, verify)?;
    assert_eq!(unusable.code, 0, "it is signed");
    assert!(unusable.stderr.contains("caveat 1 (limitedCalls)"), "and worth nothing: {unusable:?}");
    assert_eq!((malformed.code, account.code), (0, 0));
    let said = "caveat 1 (limitedCalls): terms have 1 bytes, the contract accepts 32";
    assert!(malformed.stderr.contains(said), "{}", malformed.stderr);
    assert!(account.stderr.contains("is not the delegator"), "{}", account.stderr);
    Ok(())
}

#[test]
fn a_keystores_password_comes_from_a_file_or_from_the_input() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| text(&folder.path().join(name));
    let (store, password, grant) = (path("key.json"), path("pw"), path("grant.json"));
    private(Path::new(&password), "correct horse\n")?;
    fs::write(&grant, unsigned().to_string())?;
    let made = bardo(["session", "new", "--keystore", &store, "--password-file", &password])?;
    assert_eq!(made.code, 0, "{made:?}");
    let sign = ["delegation", "sign", &grant, "--chain-id", "1", "--keystore", &store];

    let by_file = bardo(sign.iter().chain(&["--password-file", password.as_str()]))?;
    let by_input = bardo_with("correct horse\n", sign)?;
    let wrong = bardo_with("wrong horse\n", sign)?;
    let none = bardo(sign)?;

    assert_eq!((by_file.code, by_input.code), (0, 0), "{by_input:?}");
    assert_eq!(by_file.stdout, by_input.stdout);
    assert_eq!((wrong.code, none.code), (2, 2));
    assert!(none.stderr.contains("--password-file"), "{}", none.stderr);
    Ok(())
}

/// ATK-11.
#[test]
fn a_grant_without_bounds_is_signed_only_in_so_many_words() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = text(&key_file(folder.path(), 0o600)?);
    let mut bare = unsigned();
    bare["caveats"] = json!([]);
    let mut open = unsigned();
    open["delegate"] = json!(ANY_DELEGATE);

    // One group of caveats, and there is none in it; and the same in a form that the contract reads and nobody here does.
    let params = r#"{"caveatGroups":[[]]}"#;
    let made = ["caveat", "encode", "--kind", "logicalOrWrapper", "--params", params, "--json"];
    let either: Value = serde_json::from_str(&bardo(made)?.stdout)?;
    let mut empty = unsigned();
    empty["caveats"] =
        json!([{ "enforcer": either["enforcer"], "terms": either["terms"], "args": "0x" }]);
    let mut unread = empty.clone();
    let terms = either["terms"].as_str().context("no terms")?;
    unread["caveats"][0]["terms"] = json!(format!("{terms}{}", "00".repeat(32)));
    let explained = bardo_with(&unread.to_string(), ["delegation", "explain", "-"])?;
    assert!(explained.stdout.contains("may allow anything"), "{explained:?}");

    for grant in [bare, open, empty, unread] {
        let words = ["delegation", "sign", "-", "--chain-id", "8453", "--key-file", &key];
        let refused = bardo_with(&grant.to_string(), words)?;
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stdout.contains("--unbounded"));
        let insisted = bardo_with(&grant.to_string(), words.iter().chain(&["--unbounded"]))?;
        assert_eq!(insisted.code, 0);
    }
    Ok(())
}

#[test]
fn a_key_file_that_others_can_read_is_refused_with_the_remedy() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = text(&key_file(folder.path(), 0o644)?);
    let words = ["delegation", "sign", "-", "--chain-id", "8453", "--key-file", &key];

    let refused = bardo_with(&unsigned().to_string(), words)?;

    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("chmod 600"), "{}", refused.stderr);
    Ok(())
}

#[test]
fn malformed_delegations_are_refused_and_the_key_is_not_touched() -> Result<()> {
    let mut extra = unsigned();
    extra["surprise"] = json!(1);
    let mut missing = unsigned();
    missing.as_object_mut().unwrap().remove("authority");
    let mut long = unsigned();
    long["delegate"] = json!(format!("0x{}", "01".repeat(21)));
    let mut no_signature = unsigned();
    no_signature.as_object_mut().unwrap().remove("signature");
    let mut no_args = unsigned();
    no_args["caveats"][0].as_object_mut().unwrap().remove("args");
    let bad = [extra, missing, long, no_signature, no_args].map(|one| one.to_string());
    let bad = bad.iter().map(String::as_str);
    for input in ["", "nonsense", "[]x", "{}"].into_iter().chain(bad) {
        let ran = bardo_with(input, ["delegation", "hash", "-"])?;
        assert_eq!(ran.code, 2, "{input}: {ran:?}");
        assert!(ran.stdout.is_empty());
    }
    Ok(())
}

#[test]
fn a_session_key_is_private_encrypted_and_never_overwritten() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (store, password) = (folder.path().join("session.json"), folder.path().join("pw"));
    private(&password, "correct horse\n")?;
    let words = [
        "session",
        "new",
        "--keystore",
        &text(&store),
        "--password-file",
        &text(&password),
        "--json",
    ];

    let born = bardo(words)?;
    let before = fs::read(&store)?;
    let again = bardo(words)?;

    let address = born.json()?["address"].as_str().unwrap().to_lowercase();
    assert_eq!(address.len(), 42);
    assert_eq!(fs::metadata(&store)?.permissions().mode() & 0o777, 0o600);
    assert_eq!(again.code, 2, "{again:?}");
    assert_eq!(fs::read(&store)?, before, "the first key is still there");
    let left: Vec<_> = fs::read_dir(folder.path())?.collect();
    assert_eq!(left.len(), 2, "nothing half-written stays: {left:?}");

    private(&password, "wrong")?;
    let sign = [
        "delegation",
        "sign",
        "-",
        "--chain-id",
        "1",
        "--keystore",
        &text(&store),
        "--password-file",
        &text(&password),
    ];
    let locked = bardo_with(&unsigned().to_string(), sign)?;
    assert_eq!(locked.code, 2);
    assert!(locked.stderr.contains("wrong password"), "{}", locked.stderr);
    Ok(())
}

#[tokio::test]
async fn simulate_names_the_enforcer_and_the_reason() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let folder = tempfile::tempdir()?;
    let context = folder.path().join("grant.json");
    fs::write(&context, serde_json::to_string(&agent.grant)?)?;
    let good = swap(&stage, agent.account, dollars(1));
    let words = |target: String, data: String| {
        vec![
            "delegation".into(),
            "simulate".into(),
            "--rpc".into(),
            stage.chain().url().to_string(),
            "--context".into(),
            text(&context),
            "--target".into(),
            target,
            "--data".into(),
            data,
            "--json".to_owned(),
        ]
    };

    let allowed = bardo(words(good.target.to_string(), good.data.to_string()))?;
    let refused = bardo(words(stage.book().weth.to_string(), good.data.to_string()))?;

    assert_eq!(allowed.code, 0, "{allowed:?}");
    assert_eq!(allowed.json()?["allowed"], true);
    assert_eq!(refused.code, 1);
    let answer = refused.json()?;
    assert_eq!(answer["allowed"], false);
    assert_eq!(answer["code"], "CAV-TARGET");
    assert_eq!(answer["enforcerName"], "AllowedTargetsEnforcer");
    assert!(answer["reason"].as_str().unwrap().contains("only these contracts"));
    Ok(())
}

/// The context may be given as the bytes that go on chain; what is not canonical is refused.
#[tokio::test]
async fn a_context_in_hex_is_taken_and_a_padded_one_is_not() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let good = swap(&stage, agent.account, dollars(1));
    let context = golem_delegation::PermissionContext::new(vec![agent.grant.clone()])?.encode();
    let words = [
        "delegation",
        "simulate",
        "--rpc",
        stage.chain().url().as_str(),
        "--context",
        "-",
        "--target",
        &good.target.to_string(),
        "--data",
        &good.data.to_string(),
    ];

    let plain = bardo_with(&context.to_string(), words)?;
    let padded = bardo_with(&format!("{context}00"), words)?;

    assert_eq!(plain.code, 0, "{plain:?}");
    assert_eq!(padded.code, 2, "{padded:?}");
    assert!(padded.stderr.contains("canonical"), "{}", padded.stderr);
    Ok(())
}

#[test]
fn verify_asks_for_the_signer_that_was_named() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = text(&key_file(folder.path(), 0o600)?);
    let mut grant = unsigned();
    grant["delegator"] = json!("0x0303030303030303030303030303030303030303");
    let sign = ["delegation", "sign", "-", "--chain-id", "8453", "--key-file", &key];
    let signed = bardo_with(&grant.to_string(), sign)?.stdout;
    let verify = ["delegation", "verify", "-", "--chain-id", "8453"];
    let owner = "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf";

    let by_delegator = bardo_with(&signed, verify)?;
    let by_owner = bardo_with(&signed, verify.iter().chain(&["--signer", owner]))?;

    assert_eq!(by_delegator.code, 1, "an account's own key did not sign");
    assert_eq!(by_owner.code, 0, "its owner's did: {by_owner:?}");
    Ok(())
}

#[test]
fn what_nobody_could_redeem_is_not_signed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = text(&key_file(folder.path(), 0o600)?);
    let zero = "0x0000000000000000000000000000000000000000";
    let mut nobody = unsigned();
    nobody["delegate"] = json!(zero);
    let mut nothing = unsigned();
    nothing["caveats"][0]["enforcer"] = json!(zero);

    for grant in [nobody, nothing] {
        let words = ["delegation", "sign", "-", "--chain-id", "8453", "--key-file", &key];
        assert_eq!(bardo_with(&grant.to_string(), words)?.code, 1);
    }
    let chain_zero = ["delegation", "sign", "-", "--chain-id", "0", "--key-file", &key];
    assert_eq!(bardo_with(&unsigned().to_string(), chain_zero)?.code, 2);
    Ok(())
}

#[test]
fn too_much_input_is_refused_by_its_size() -> Result<()> {
    let flood = " ".repeat(4 * 1024 * 1024 + 1);

    let refused = bardo_with(&flood, ["delegation", "hash", "-"])?;

    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("larger than"), "{}", refused.stderr);
    Ok(())
}

#[test]
fn a_password_file_that_others_can_read_is_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let password = folder.path().join("pw");
    fs::write(&password, "pw")?;
    fs::set_permissions(&password, fs::Permissions::from_mode(0o644))?;
    let store = text(&folder.path().join("key.json"));

    let refused =
        bardo(["session", "new", "--keystore", &store, "--password-file", &text(&password)])?;

    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("chmod 600"), "{}", refused.stderr);
    Ok(())
}

/// A keystore with a key that is funded and may call `target` on the owner's account.
struct Hired {
    folder: tempfile::TempDir,
    session: String,
}

impl Hired {
    async fn new(stage: &Stage, target: alloy::primitives::Address) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        private(&folder.path().join("pw"), "pw")?;
        let made = Self { folder, session: String::new() };
        let born = bardo(
            [&["session", "new", "--json"], &made.secret().each_ref().map(String::as_str)[..]]
                .concat(),
        )?;
        let session = born.json()?["address"].as_str().unwrap_or_default().to_owned();
        stage.fund(session.parse()?, bardo_testkit::STIPEND, Default::default()).await?;
        let owner = stage.owner(AccountKind::Stateless7702).await?;
        let mut grant = Agent::hired(stage, &owner, 5).await?.grant;
        grant.delegate = session.parse()?;
        // Only where, so that whatever else happens is the target's doing.
        let allowed = golem_delegation::terms::AllowedTargets(vec![target]);
        grant.caveats = vec![golem_delegation::Caveat::new(
            golem_delegation::enforcers::ALLOWED_TARGETS,
            allowed.encode(),
        )];
        let grant = owner.signer.grant(&stage.domain(), grant)?;
        fs::write(made.folder.path().join("grant.json"), serde_json::to_string(&grant)?)?;
        Ok(Self { session, ..made })
    }

    /// The same under a charter.
    async fn chartered(stage: &Stage, owner: &Owner) -> Result<Self> {
        let made = Self::new(stage, Address::ZERO).await?;
        let law = charter(stage, owner, made.session.parse()?, |_| ()).await?;
        let grant = owner.signer.grant(&stage.domain(), chartered(&law)?)?;
        fs::write(made.folder.path().join("grant.json"), serde_json::to_string(&grant)?)?;
        Ok(made)
    }

    fn secret(&self) -> [String; 4] {
        let path = |name: &str| text(&self.folder.path().join(name));
        ["--keystore".into(), path("key.json"), "--password-file".into(), path("pw")]
    }

    fn words(&self, stage: &Stage, verb: &str, target: &str) -> Vec<String> {
        let context = text(&self.folder.path().join("grant.json"));
        [
            "delegation",
            verb,
            "--json",
            "--rpc",
            stage.chain().url().as_str(),
            "--context",
            &context,
            "--target",
            target,
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

#[tokio::test]
async fn redeem_says_no_when_the_chain_failed_what_the_dry_run_allowed() -> Result<()> {
    let stage = Stage::open().await?;
    let (target, provider) = (Address::repeat_byte(0x2f), stage.node().provider());
    // Reverts in every other block: NUMBER PUSH1 1 AND PUSH1 8 JUMPI STOP JUMPDEST PUSH0 PUSH0 REVERT.
    provider.anvil_set_code(target, bytes!("43600116600857005b5f5ffd")).await?;
    let hired = Hired::new(&stage, target).await?;
    if !stage.node().head().await?.number.is_multiple_of(2) {
        provider.anvil_mine(Some(1), None).await?;
    }

    let mut words = hired.words(&stage, "redeem", &target.to_string());
    words.extend(hired.secret());
    let failed = bardo(words)?;

    assert_eq!(failed.code, 1, "{failed:?}");
    assert_eq!(failed.json()?["success"], false);
    assert!(failed.stderr.contains("sending 0x"), "the hash is known before the answer");
    Ok(())
}

/// X1: approve and swap in one go, all or nothing, judged and sent as one.
#[tokio::test]
async fn several_calls_are_simulated_and_redeemed_in_one_go() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Hired::chartered(&stage, &owner).await?;
    let (router, usdc) = (stage.book().swap_router_02, stage.book().usdc);
    let approve = Erc20::approveCall { spender: router, amount: dollars(7) };
    let swap = fair_swap(&stage, owner.account.address, dollars(7));
    let calls = json!([
        { "target": usdc, "data": alloy::hex::encode_prefixed(approve.abi_encode()) },
        { "target": swap.target, "value": "0", "data": swap.data },
    ]);
    let file = agent.folder.path().join("calls.json");
    fs::write(&file, calls.to_string())?;
    let words = |verb: &str, file: &Path| {
        let mut words = agent.words(&stage, verb, "");
        words.truncate(words.len() - 2);
        words.extend(["--calls".to_owned(), text(file)]);
        words
    };
    let before = stage.balance_of(usdc, owner.account.address).await?;

    let simulated = bardo(words("simulate", &file))?;
    assert_eq!(simulated.code, 0, "{simulated:?}");
    let mut redeem = words("redeem", &file);
    redeem.extend(agent.secret());
    let done = bardo(&redeem)?;

    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stderr.contains("sending 0x"), "{done:?}");
    assert_eq!(before - stage.balance_of(usdc, owner.account.address).await?, dollars(7));
    // What is no list of calls is refused, and nothing is sent.
    for (odd, said) in [
        ("[]", "names no call"),
        ("{}", "no JSON list of calls"),
        (r#"[{"target":"0x01"}]"#, "no JSON list of calls"),
        (
            r#"[{"target":"0x0101010101010101010101010101010101010101","value":"0x1"}]"#,
            "no sum in wei",
        ),
    ] {
        fs::write(&file, odd)?;
        let refused = bardo(words("simulate", &file))?;
        assert_eq!(refused.code, 2, "{refused:?}");
        assert!(refused.stderr.contains(said), "{odd}: {refused:?}");
    }
    Ok(())
}

/// X1: through the real bundler, of a key that never had a wei.
#[tokio::test]
async fn a_grant_is_redeemed_through_a_bundler() -> Result<()> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Hired::chartered(&stage, &owner).await?;
    let session: Address = agent.session.parse()?;
    let empty = stage.node().provider().get_balance(session).await?;
    stage.node().provider().anvil_set_balance(session, U256::ZERO).await?;
    let deposit = EntryPoint::depositToCall { account: session };
    let deposit =
        Execution { target: ENTRY_POINT, value: empty, data: deposit.abi_encode().into() };
    owner.account.act(stage.node(), &owner.signer, &[deposit]).await?;
    let swap = fair_swap(&stage, owner.account.address, dollars(7));
    let usdc = stage.book().usdc;
    let before = stage.balance_of(usdc, owner.account.address).await?;

    let mut words = agent.words(&stage, "redeem", &swap.target.to_string());
    words.extend(["--data".to_owned(), swap.data.to_string()]);
    words.extend(["--bundler".to_owned(), bundler.url().to_string()]);
    words.extend(agent.secret());
    let done = bardo(&words)?;
    let nobody =
        bardo(words.iter().map(|word| {
            if word == bundler.url().as_str() { "http://127.0.0.1:1/" } else { word }
        }))?;

    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(before - stage.balance_of(usdc, owner.account.address).await?, dollars(7));
    assert_eq!(nobody.code, 3, "{nobody:?}");
    assert!(nobody.stderr.contains("the bundler at http://127.0.0.1:1 does not"), "{nobody:?}");
    Ok(())
}

/// X1: who was not told what became of it and asks again is told, and has not asked twice; somebody else's books are waited for.
#[tokio::test]
async fn what_was_asked_for_again_is_done_once_unless_it_is_meant() -> Result<()> {
    let stage = Stage::open().await?;
    let target = Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;
    let session: Address = hired.session.parse()?;
    let bundler = stage.bundler()?;
    let provider = stage.node().provider();
    let books = hired.folder.path().join("books");
    let redeem = |more: &[&str]| {
        let mut words = hired.words(&stage, "redeem", &target.to_string());
        let always = ["--timeout", "2", "--books", &text(&books)].map(str::to_owned);
        words.extend(always.into_iter().chain(more.iter().copied().map(str::to_owned)));
        words.extend(hired.secret());
        bardo(words)
    };
    provider.anvil_set_auto_mine(false).await?;

    let first = redeem(&[])?;
    let waits = redeem(&[])?;
    provider.anvil_mine(Some(1), None).await?;
    provider.anvil_set_auto_mine(true).await?;
    let again = redeem(&[])?;
    let third = redeem(&["--again"])?;
    provider.anvil_set_auto_mine(false).await?;
    let fourth = redeem(&[])?;
    let otherwise = redeem(&["--bundler", bundler.url().as_str()])?;
    provider.anvil_mine(Some(1), None).await?;
    provider.anvil_set_auto_mine(true).await?;
    let told = redeem(&[])?;
    let anew = redeem(&[])?;
    let chain = stage.node().chain_id().to_string();
    let folder = books.join(chain).join(session.to_string());
    let config = StoreConfig { folder, golem: session.into_word(), max_pages: None };
    let held = Store::open(&config, None)?;
    let busy = redeem(&[])?;
    drop(held);

    assert_eq!((first.code, waits.code), (3, 3), "{first:?} {waits:?}");
    assert_eq!(first.json()?["code"], "UNSETTLED", "{first:?}");
    assert_eq!(waits.json()?["code"], "UNSETTLED", "{waits:?}");
    assert_eq!((again.code, &again.json()?["earlier"]), (0, &json!(true)), "{again:?}");
    assert_eq!(again.json()?["transaction"], first.json()?["sent"][0]);
    assert_eq!((third.code, anew.code), (0, 0), "{third:?} {anew:?}");
    // By the other way it has a place of its own: it is not signed beside what is not known to be done.
    assert_eq!((fourth.code, otherwise.code), (3, 1), "{fourth:?} {otherwise:?}");
    assert_eq!(otherwise.json()?["code"], "UNSETTLED", "{otherwise:?}");
    assert_eq!(otherwise.json()?["sent"], fourth.json()?["sent"], "{otherwise:?}");
    assert_eq!((told.code, &told.json()?["earlier"]), (0, &json!(true)), "{told:?}");
    assert_eq!(provider.get_transaction_count(session).await?, 4, "one for each that was meant");
    assert_eq!((busy.code, &busy.json()?["code"]), (1, &json!("BUSY_BOOKS")), "{busy:?}");
    Ok(())
}

/// K2: a key of P-256 is in a keystore of its own, acts through an account of its own, and by a bundler alone.
#[tokio::test]
async fn a_p256_key_redeems_through_an_account_of_its_own() -> Result<()> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let folder = tempfile::tempdir()?;
    let path = |name: &str| text(&folder.path().join(name));
    private(&folder.path().join("pw"), "pw")?;
    let secret = ["--keystore", &path("key.json"), "--password-file", &path("pw")];
    let session = |verb, more: &[&str]| bardo([&["session", verb], &secret[..], more].concat());
    let born = session("new", &["--curve", "p256", "--json"])?;
    let account: Address = born.json()?["address"].as_str().unwrap_or_default().parse()?;
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let terms = swap_grant(&stage, account, owner.account.address, 5, window);
    let grant = owner.signer.grant(&stage.domain(), unsigned_by(owner.account.address, &terms))?;
    fs::write(folder.path().join("grant.json"), serde_json::to_string(&grant)?)?;
    let deposit = EntryPoint::depositToCall { account };
    let deposit = Execution {
        target: ENTRY_POINT,
        value: bardo_testkit::STIPEND,
        data: deposit.abi_encode().into(),
    };
    owner.account.act(stage.node(), &owner.signer, &[deposit]).await?;
    let call = swap(&stage, owner.account.address, dollars(7));
    let (rpc, target, data) =
        (stage.chain().url().to_string(), call.target.to_string(), call.data.to_string());
    let (grant, bundler) = (path("grant.json"), bundler.url().to_string());
    let redeem = |more: &[&str]| {
        let what = ["delegation", "redeem", "--json", "--rpc", &rpc, "--context", &grant];
        let call = ["--target", &target, "--data", &data];
        bardo([&what[..], &call, &secret, more].concat())
    };
    let usdc = stage.book().usdc;
    let before = stage.balance_of(usdc, owner.account.address).await?;

    let shown = session("show", &["--curve", "p256"])?;
    let other = session("show", &[])?;
    let direct = redeem(&["--curve", "p256"])?;
    let as_key = redeem(&["--curve", "p256", "--bundler", &bundler, "--account", "key"])?;
    let done = redeem(&["--curve", "p256", "--bundler", &bundler])?;

    assert_eq!(born.json()?["curve"], "p256");
    assert_eq!(shown.stdout.trim(), account.to_string());
    assert_ne!(other.stdout.trim(), shown.stdout.trim(), "a file does not say its curve");
    assert_eq!((direct.code, as_key.code), (2, 2), "{direct:?} {as_key:?}");
    assert!(direct.stderr.contains("--bundler") && direct.stderr.contains("nothing was sent"));
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(before - stage.balance_of(usdc, owner.account.address).await?, dollars(7));
    Ok(())
}

/// A redemption that found no block is made dearer by naming it: one of the two takes effect.
#[tokio::test]
async fn a_redemption_that_waits_is_replaced_and_not_followed() -> Result<()> {
    let stage = Stage::open().await?;
    let target = Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;
    let session: Address = hired.session.parse()?;
    let provider = stage.node().provider();
    let redeem = |more: &[&str]| {
        let mut words = hired.words(&stage, "redeem", &target.to_string());
        words.extend(["--timeout", "2"].into_iter().chain(more.iter().copied()).map(str::to_owned));
        words.extend(hired.secret());
        bardo(words)
    };
    provider.anvil_set_auto_mine(false).await?;

    let first = redeem(&[])?;
    let hash =
        |ran: &Ran| anyhow::Ok(ran.json()?["sent"][0].as_str().unwrap_or_default().to_owned());
    let second = redeem(&["--instead-of", &hash(&first)?])?;
    provider.anvil_mine(Some(1), None).await?;

    assert_eq!((first.code, second.code), (3, 3), "{first:?} {second:?}");
    assert_eq!(first.json()?["code"], "UNSETTLED", "{first:?}");
    assert_eq!(provider.get_transaction_count(session).await?, 1);
    let mined = provider.get_transaction_receipt(hash(&second)?.parse()?).await?;
    assert!(mined.is_some_and(|receipt| receipt.status()), "{second:?}");
    Ok(())
}

/// Every run is a restart: what nobody took is not brought back by the next one, which takes its place; and what no node has is given up
/// by naming it.
#[tokio::test(flavor = "multi_thread")]
async fn a_redemption_that_was_refused_is_not_done_beside_the_next() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let target = Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;
    let session: Address = hired.session.parse()?;
    let provider = stage.node().provider();
    let books = text(&hired.folder.path().join("books"));
    let redeem = |more: &[&str]| {
        let mut words = hired.words(&stage, "redeem", &target.to_string());
        for word in &mut words {
            if word == stage.chain().url().as_str() {
                *word = proxy.url().to_string();
            }
        }
        let rest = ["--timeout", "3", "--books", &books];
        words.extend(rest.into_iter().chain(more.iter().copied()).map(str::to_owned));
        words.extend(hired.secret());
        bardo(words)
    };
    let no = || {
        let no = json!({ "error": { "code": -32000, "message": "insufficient funds for gas" } });
        Fault::Claim(std::sync::Arc::new(move || no.clone()))
    };
    let hash =
        |ran: &Ran| anyhow::Ok(ran.json()?["sent"][0].as_str().unwrap_or_default().to_owned());

    // The key had no coins, its owner sends some, and asks again.
    proxy.fail("eth_sendRawTransaction", 1, no());
    let refused = redeem(&[])?;
    let again = redeem(&[])?;

    assert_eq!((refused.code, again.code), (3, 0), "{refused:?} {again:?}");
    assert_eq!(refused.json()?["code"], "UNSETTLED", "{refused:?}");
    assert!(refused.stderr.contains("takes its place"), "{refused:?}");
    assert!(again.stderr.contains(&hash(&refused)?), "{again:?}");
    assert_eq!(provider.get_transaction_count(session).await?, 1, "one deed");

    // What took the place of something refused waits when its process ends, and the node forgets it.
    proxy.fail("eth_sendRawTransaction", 1, no());
    let refused = redeem(&[])?;
    provider.anvil_set_auto_mine(false).await?;
    let waits = redeem(&[])?;
    assert_eq!((refused.code, waits.code), (3, 3), "{refused:?} {waits:?}");
    assert!(waits.stderr.contains(&format!("--instead-of {}", hash(&waits)?)), "{waits:?}");
    provider.anvil_drop_transaction(hash(&waits)?.parse()?).await?;
    provider.anvil_set_auto_mine(true).await?;
    let instead = redeem(&["--instead-of", &hash(&waits)?])?;
    let after = redeem(&[])?;

    assert_eq!((instead.code, after.code), (0, 0), "{instead:?} {after:?}");
    assert!(!after.stderr.contains("earlier redemption"), "all have ended: {after:?}");
    assert_eq!(provider.get_transaction_count(session).await?, 3);
    Ok(())
}

/// What is signed goes to the private endpoint, or nowhere.
#[tokio::test]
async fn a_private_endpoint_gets_what_is_signed_or_nobody_does() -> Result<()> {
    let stage = Stage::open().await?;
    let target = Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;
    let session: Address = hired.session.parse()?;
    let redeem = |private: &str| {
        let mut words = hired.words(&stage, "redeem", &target.to_string());
        words.extend(["--private-rpc".to_owned(), private.to_owned()]);
        words.extend(hired.secret());
        bardo(words)
    };

    // Nobody listens at the port of nobody.
    let nowhere = redeem("http://127.0.0.1:1/")?;
    let sent = stage.node().provider().get_transaction_count(session).await?;
    let done = redeem(stage.chain().url().as_str())?;

    assert_eq!((nowhere.code, sent), (3, 0), "{nowhere:?}");
    assert!(!nowhere.stderr.contains("sending 0x"), "{nowhere:?}");
    assert_eq!(done.code, 0, "{done:?}");
    Ok(())
}

/// G5: owners of one account sign a grant together, in any order; it is good with as many keys as the account needs.
#[tokio::test]
async fn a_grant_that_owners_sign_together_redeems() -> Result<()> {
    let stage = Stage::open().await?;
    let owners = stage.multisig_owner().await?;
    let folder = tempfile::tempdir()?;
    let path = |name: &str| text(&folder.path().join(name));
    private(&folder.path().join("pw"), "pw")?;
    let secret = ["--keystore", &path("session.json"), "--password-file", &path("pw")];
    let session = bardo([&["session", "new", "--json"], &secret[..]].concat())?;
    let session: Address = session.json()?["address"].as_str().context("no address")?.parse()?;
    stage.fund(session, bardo_testkit::STIPEND, U256::ZERO).await?;
    let usdc = stage.book().usdc;
    let grant = Delegation {
        delegate: session,
        delegator: owners.address(),
        authority: golem_delegation::ROOT_AUTHORITY,
        caveats: vec![Caveat::new(
            enforcers::ALLOWED_TARGETS,
            golem_delegation::terms::AllowedTargets(vec![usdc]).encode(),
        )],
        salt: U256::ZERO,
        signature: Default::default(),
    };
    let grant = serde_json::to_string(&grant)?;
    let [one, two, three] = [Key::kept(0x11)?, Key::kept(0x12)?, Key::kept(0x13)?];
    let sign = |keys: &[&Key]| {
        let mut words = vec!["delegation", "sign", "-", "--chain-id", "8453"];
        for (at, key) in keys.iter().enumerate() {
            words.extend([if at == 0 { "--key-file" } else { "--co-key-file" }, &key.file]);
        }
        bardo_with(&grant, words)
    };
    let to = Address::repeat_byte(0x77);
    let data = Erc20::transferCall { to, amount: dollars(1) }.abi_encode();
    let (target, data) = (usdc.to_string(), alloy::hex::encode_prefixed(data));
    let file = path("signed.json");
    let with = |verb: &str, more: &[&str]| {
        let words = ["delegation", verb, "--rpc", stage.chain().url().as_str(), "--json"];
        let call = ["--context", &file, "--target", &target, "--data", &data];
        bardo([&words[..], &call, more].concat())
    };

    for keys in [&[&one][..], &[&one, &two, &three]] {
        let signed = sign(keys)?;
        ensure!(signed.code == 0 && !signed.stderr.is_empty(), "it is told: {signed:?}");
        fs::write(&file, &signed.stdout)?;
        let judged = with("simulate", &[])?;
        ensure!(judged.json()?["code"] == "DEL-SIGNATURE", "{}: {judged:?}", keys.len());
    }
    let forth = sign(&[&one, &two])?;
    ensure!(forth.code == 0 && forth.stderr.contains("exactly 2"), "{forth:?}");
    assert_eq!(sign(&[&two, &one])?.stdout, forth.stdout, "in the account's order, not in ours");
    fs::write(&file, &forth.stdout)?;
    let done = with("redeem", &secret)?;
    ensure!(done.code == 0 && done.json()?["success"] == true, "{done:?}");
    assert_eq!(stage.balance_of(usdc, to).await?, dollars(1));

    let twice = sign(&[&one, &one])?;
    ensure!(twice.code == 2 && twice.stdout.is_empty(), "{twice:?}");
    Ok(())
}

/// What a person mistypes is told so that he can mend it.
#[test]
fn an_endpoint_that_is_none_and_a_keystore_are_told() -> Result<()> {
    let folder = tempfile::tempdir()?;
    private(&folder.path().join("pw"), "pw")?;
    let (keystore, pw) = (text(&folder.path().join("key.json")), text(&folder.path().join("pw")));
    let secret = ["--keystore", &keystore, "--password-file", &pw];
    let born = bardo([&["session", "new"], &secret[..]].concat())?;

    let shown = bardo([&["session", "show"], &secret[..]].concat())?;
    let off = bardo(["chains", "check", "--rpc", "127.0.0.1:8545"])?;
    let odd = bardo(["chains", "check", "--rpc", "localhost:8545"])?;

    assert_eq!((shown.code, &shown.stdout), (0, &born.stdout), "{shown:?}");
    for off in [off, odd] {
        assert_eq!(off.code, 2, "{off:?}");
        assert!(off.stderr.contains("http://127.0.0.1:8545"), "{off:?}");
    }
    Ok(())
}

/// X1: the private endpoint of a chain file is used without being named again, and a file that is off is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_file_of_ones_own_names_the_private_endpoint() -> Result<()> {
    let stage = Stage::open().await?;
    let target = Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;
    let (reading, private) = (
        Proxy::before(stage.chain().url(), Duration::ZERO).await?,
        Proxy::before(stage.chain().url(), Duration::ZERO).await?,
    );
    // Whoever hands it to the node that is only asked would be found out.
    reading.fail("eth_sendRawTransaction", u64::MAX, Fault::DropBefore);
    let chains = tempfile::tempdir()?;
    let file = chains.path().join("here.toml");
    let id = stage.node().chain_id();
    fs::write(
        &file,
        format!(
            "name = \"Here\"\nchain_id = {id}\ntestnet = true\nprivate_rpc = \"{}?key=of-mine\"\n",
            private.url()
        ),
    )?;
    let mut words: Vec<String> = hired.words(&stage, "redeem", &target.to_string());
    words.extend(hired.secret());
    let words: Vec<String> =
        words
            .into_iter()
            .map(|word| {
                if word == stage.chain().url().as_str() { reading.url().to_string() } else { word }
            })
            .collect();

    let listed = bardo_knowing(chains.path(), ["chains", "--json"])?.json()?;
    let done = bardo_knowing(chains.path(), &words)?;

    let here = listed.as_array().and_then(|all| all.iter().find(|chain| chain["name"] == "Here"));
    // Where it is, and not what may be a key in it.
    let place = private.url().as_str().trim_end_matches('/');
    assert_eq!(here.context("not listed")?["privateRpc"], place);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(reading.failed(), 0, "nothing signed came this way");
    fs::write(&file, "name = 1")?;
    let off = bardo_knowing(chains.path(), ["chains"])?;
    assert_eq!(off.code, 2, "{off:?}");
    assert!(off.stderr.contains("here.toml"), "{off:?}");
    let nowhere = bardo_knowing(&chains.path().join("none"), ["chains"])?;
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    assert!(nowhere.stderr.contains("BARDO_CHAINS"), "{nowhere:?}");
    Ok(())
}

/// X1: grants of two owners in one transaction, judged and sent as one.
#[tokio::test]
async fn several_grants_are_simulated_and_redeemed_in_one_transaction() -> Result<()> {
    let stage = Stage::open().await?;
    let (one, other) =
        (stage.owner(AccountKind::Stateless7702).await?, stage.owner(AccountKind::Hybrid).await?);
    let agent = Hired::chartered(&stage, &one).await?;
    let mut grants = Vec::new();
    for owner in [&one, &other] {
        let law = charter(&stage, owner, agent.session.parse()?, |_| ()).await?;
        let grant = owner.signer.grant(&stage.domain(), chartered(&law)?)?;
        let swap = fair_swap(&stage, owner.account.address, dollars(7));
        let call = json!({ "target": swap.target, "data": swap.data });
        let context = PermissionContext::new(vec![grant.clone()])?.encode();
        // In hex, and as delegations.
        let context = if grants.is_empty() { json!(context) } else { json!([grant]) };
        grants.push(json!({ "context": context, "calls": [call] }));
    }
    let file = agent.folder.path().join("grants.json");
    let words = |verb: &str| {
        let rpc = stage.chain().url().as_str();
        let grants = text(&file);
        ["delegation", verb, "--json", "--rpc", rpc, "--grants", &grants]
            .map(str::to_owned)
            .to_vec()
    };
    fs::write(&file, Value::from(grants.clone()).to_string())?;

    let simulated = bardo(words("simulate"))?;
    let mut redeem = words("redeem");
    redeem.extend(agent.secret());
    let done = bardo(&redeem)?;

    assert_eq!(simulated.code, 0, "{simulated:?}");
    assert_eq!(done.code, 0, "{done:?}");
    for owner in [&one, &other] {
        let left = stage.balance_of(stage.book().usdc, owner.account.address).await?;
        assert_eq!(left, dollars(9_993));
    }
    let sent = stage.node().provider().get_transaction_count(agent.session.parse()?).await?;
    assert_eq!(sent, 1);
    // All of them or none: one that is refused is a refusal of all.
    if let Some(second) = grants.get_mut(1) {
        second["calls"][0]["target"] = json!(Address::repeat_byte(9));
    }
    fs::write(&file, Value::from(grants).to_string())?;
    let refused = bardo(words("simulate"))?;
    assert_eq!(refused.code, 1, "{refused:?}");
    for odd in ["[]", "{}", r#"[{"context":"0x","calls":[]}]"#, r#"[{"context":"0x12"}]"#] {
        fs::write(&file, odd)?;
        let off = bardo(words("simulate"))?;
        assert_eq!(off.code, 2, "{odd}: {off:?}");
        assert!(off.stderr.contains("no list of grants with calls"), "{odd}: {off:?}");
    }
    Ok(())
}

/// A program hears which fault it was, and what of its own is out there.
#[tokio::test]
async fn a_fault_says_what_was_sent() -> Result<()> {
    let stage = Stage::open().await?;
    let target = Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;
    let mut words = hired.words(&stage, "redeem", &target.to_string());
    words.extend(hired.secret());
    words.extend(["--timeout".to_owned(), "2".to_owned()]);
    stage.node().provider().anvil_set_auto_mine(false).await?;

    let open = bardo(&words)?;
    let away = bardo(words.iter().map(|word| {
        if word == stage.chain().url().as_str() { "http://127.0.0.1:1/" } else { word }
    }))?;

    assert_eq!((open.code, away.code), (3, 3), "{open:?} {away:?}");
    let said = open.json()?;
    assert_eq!(said["code"], "UNSETTLED", "{open:?}");
    let sent = said["sent"].as_array().context("no list")?;
    let hash = sent.first().and_then(Value::as_str).context("nothing sent")?;
    assert!(open.stderr.contains(&format!("sending {hash}")), "{open:?}");
    let known = stage.node().provider().get_transaction_by_hash(hash.parse()?).await?;
    assert!(known.is_some(), "{hash}");
    assert_eq!(away.json()?["sent"], json!([]));
    Ok(())
}

/// X2: what could not be decided is neither allowed nor refused, and a program hears why.
#[tokio::test]
async fn a_simulation_that_came_to_nothing_is_neither_yes_nor_no() -> Result<()> {
    let stage = Stage::open().await?;
    let target = Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;
    let words = hired.words(&stage, "simulate", &target.to_string());

    let away = bardo(words.iter().map(|word| {
        if word == stage.chain().url().as_str() { "http://127.0.0.1:1/" } else { word }
    }))?;
    let provider = stage.node().provider();
    provider.anvil_set_code(DELEGATION_MANAGER, Default::default()).await?;
    let gone = bardo(&words)?;

    for (ran, code) in [(away, "UNREACHABLE"), (gone, "MISSING_CONTRACT")] {
        assert_eq!(ran.code, 3, "{ran:?}");
        let said = ran.json()?;
        assert!(said.get("allowed").is_some_and(Value::is_null), "{ran:?}");
        assert_eq!((&said["code"], &said["reason"]), (&json!(code), &said["error"]), "{ran:?}");
    }
    Ok(())
}

/// X2, D20: a key without coins is told how to go on; too little of a token is said in numbers.
#[tokio::test]
async fn a_refusal_says_what_is_lacking_and_how_to_go_on() -> Result<()> {
    let stage = Stage::open().await?;
    let usdc = stage.book().usdc;
    let hired = Hired::new(&stage, usdc).await?;
    let redeem = |amount: U256| {
        let send = Erc20::transferCall { to: Address::repeat_byte(5), amount };
        let mut words = hired.words(&stage, "redeem", &usdc.to_string());
        words.extend(["--data".to_owned(), alloy::hex::encode_prefixed(send.abi_encode())]);
        words.extend(hired.secret());
        bardo(words)
    };

    let poor = redeem(dollars(10_001))?;
    stage.fund(hired.session.parse()?, U256::ZERO, U256::ZERO).await?;
    let broke = redeem(dollars(1))?;

    assert_eq!((poor.code, broke.code), (1, 1), "{poor:?} {broke:?}");
    let reason = poor.json()?["reason"].to_string();
    assert!(
        reason.contains("has 10000000000 of the token, and 10001000000 are needed"),
        "{reason}"
    );
    let next = broke.json()?["next"].to_string();
    assert!(next.contains("send it coins") && next.contains("--bundler URL"), "{broke:?}");
    Ok(())
}

/// A node whose clock is another than this machine's: what it says is shown with its age, and nothing is signed.
#[tokio::test]
async fn a_head_of_another_time_is_called_so_and_nothing_is_signed_on_it() -> Result<()> {
    let stage = Stage::open().await?;
    let target = Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;
    // A node elsewhere has no clock to play with; this name of loopback is none that is taken for near.
    let far = |verb: &str| -> Vec<String> {
        let words = hired.words(&stage, verb, &target.to_string()).into_iter();
        words.map(|word| word.replace("127.0.0.1", "0.0.0.0")).collect()
    };
    let off = |seconds: &Value| seconds.as_i64().is_some_and(|off| off.unsigned_abs() > 120);

    let simulated = bardo(far("simulate"))?;
    let near = bardo(hired.words(&stage, "simulate", &target.to_string()))?;
    let told = bardo(far("simulate").iter().filter(|word| *word != "--json"))?;
    let mut status = far("status");
    status.truncate(status.len() - 2);
    let status = bardo(status)?;
    let redeemed = bardo(far("redeem").into_iter().chain(hired.secret()))?;

    assert!(off(&simulated.json()?["ageSeconds"]), "{simulated:?}");
    assert!(near.json()?["ageSeconds"].is_null(), "{near:?}");
    assert!(told.stdout.contains("The node's newest block is"), "{told:?}");
    assert!(off(&status.json()?["block"]["ageSeconds"]), "{status:?}");
    assert_eq!(redeemed.code, 3, "{redeemed:?}");
    assert_eq!(redeemed.json()?["code"], "NOT_SIGNED", "{redeemed:?}");
    assert_eq!(redeemed.json()?["sent"], json!([]));
    Ok(())
}

#[tokio::test]
async fn redeem_keeps_to_the_ceiling_and_simulate_to_the_redeemer_it_was_given() -> Result<()> {
    let stage = Stage::open().await?;
    let target = alloy::primitives::Address::repeat_byte(0x77);
    let hired = Hired::new(&stage, target).await?;

    let mut tight = hired.words(&stage, "redeem", &target.to_string());
    tight.extend(hired.secret());
    tight.extend(["--fee-ceiling".into(), "1".into()]);
    let dear = bardo(tight)?;
    let simulate = hired.words(&stage, "simulate", &target.to_string());
    let stranger = "0x5555555555555555555555555555555555555555".to_owned();
    let by_stranger = bardo(simulate.iter().cloned().chain(["--redeemer".to_owned(), stranger]))?;
    let by_delegate =
        bardo(simulate.iter().cloned().chain(["--redeemer".to_owned(), hired.session.clone()]))?;

    assert_eq!(dear.json()?["code"], "CUS-FEE-CEILING", "{dear:?}");
    assert_eq!(by_stranger.json()?["code"], "DEL-DELEGATE");
    // No enforcer refused, and that is said.
    assert_eq!(by_stranger.json()?.get("enforcer"), Some(&Value::Null));
    assert_eq!(by_delegate.code, 0, "{by_delegate:?}");
    Ok(())
}

#[test]
fn of_two_delegations_none_is_signed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = text(&key_file(folder.path(), 0o600)?);
    let two = format!("[{0},{0}]", unsigned());

    let refused =
        bardo_with(&two, ["delegation", "sign", "-", "--chain-id", "1", "--key-file", &key])?;

    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("one delegation"), "{}", refused.stderr);
    Ok(())
}

/// SPEC G4, ATK-07: yes is 0, no is 1, and no names the bound and both numbers.
#[test]
fn attenuates_says_yes_or_names_every_looser_bound() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let calls = |limit: u64| format!("0x{limit:064x}");
    let write = |name: &str, caveats: Value| -> Result<String> {
        let mut delegation = unsigned();
        delegation["caveats"] = caveats;
        let path = folder.path().join(name);
        fs::write(&path, delegation.to_string())?;
        Ok(text(&path))
    };
    let limit = |limit: u64| json!({ "enforcer": enforcers::LIMITED_CALLS, "terms": calls(limit), "args": "0x" });
    let (three, five) = (write("three", json!([limit(3)]))?, write("five", json!([limit(5)]))?);
    let broken = json!([{ "enforcer": enforcers::LIMITED_CALLS, "terms": "0x03", "args": "0x" }]);
    let (none, broken) = (write("none", json!([]))?, write("broken", broken)?);
    let judged = |parent: &str, child: &str| {
        bardo(["delegation", "attenuates", "--parent", parent, "--child", child, "--json"])
    };

    assert_eq!((judged(&five, &three)?.code, judged(&three, &none)?.code), (0, 0));
    assert_eq!(judged(&five, &three)?.json()?["attenuates"], true);
    let wider = judged(&three, &five)?;
    let shown = wider.json()?;
    assert_eq!((wider.code, &shown["attenuates"]), (1, &json!(false)));
    let bound = &shown["looser"][0];
    assert_eq!((&bound["kind"], &bound["bound"]), (&json!("limitedCalls"), &json!("limit")));
    assert_eq!((&bound["parent"], &bound["child"]), (&json!("3"), &json!("5")));
    assert_eq!(shown["reason"], "limitedCalls: limit 5 is looser than the parent's 3");
    let malformed = judged(&five, &broken)?;
    assert_eq!(malformed.code, 1);
    assert!(malformed.json()?["reason"].as_str().unwrap().contains("malformed"));

    // Bounds alone are no chain, and that is said.
    assert_eq!(judged(&five, &three)?.json()?["chained"], false);
    assert!(
        judged(&five, &three)?.stderr.contains("no chain"),
        "{}",
        judged(&five, &three)?.stderr
    );

    // A chain above: the link that says nothing inherits, and so the root is asked.
    let chain = bardo_with(
        &format!("{}\n{}", fs::read_to_string(&none)?, fs::read_to_string(&three)?),
        ["delegation", "attenuates", "--parent", "-", "--child", &five],
    )?;
    assert_eq!(chain.code, 1, "{}", chain.stdout);
    Ok(())
}

/// ATK-07: a child is signed where it stands on what it is held against, up to the root, and is no wider.
#[test]
fn a_child_is_signed_under_its_whole_chain_and_no_other() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = text(&key_file(folder.path(), 0o600)?);
    let write = |name: &str, delegation: &Delegation| -> Result<String> {
        let path = folder.path().join(name);
        fs::write(&path, serde_json::to_string(delegation)?)?;
        Ok(text(&path))
    };
    let limit = |limit: u64| {
        vec![Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(limit)).encode())]
    };
    let mut root: Delegation = serde_json::from_value(unsigned())?;
    root.caveats = limit(1);
    let below = |parent: &Delegation, caveats| Delegation {
        delegate: Address::repeat_byte(0x77),
        delegator: parent.delegate,
        authority: parent.hash().0,
        caveats,
        ..parent.clone()
    };
    let middle = below(&root, vec![]);
    let (strict, mid) = (write("strict", &root)?, write("mid", &middle)?);
    let mut loose = root.clone();
    loose.caveats = limit(1_000);
    let loose = write("loose", &loose)?;
    let wide = write("wide", &below(&root, limit(500)))?;
    let narrow = write("narrow", &below(&root, limit(1)))?;
    let grandchild = write("grandchild", &below(&middle, limit(500)))?;
    let small = write("small", &below(&middle, limit(1)))?;
    let both = folder.path().join("both");
    fs::write(&both, format!("{}\n{}", fs::read_to_string(&mid)?, fs::read_to_string(&strict)?))?;
    let both = text(&both);
    let sign = |child: &str, parent: &str| {
        let line = ["delegation", "sign", child, "--chain-id", "1", "--key-file", &key];
        bardo(line.iter().chain(&["--parent", parent]))
    };

    for (child, parent, words) in [
        (&wide, &strict, "looser"),
        // Somebody else's bounds, and half of a chain.
        (&wide, &loose, "does not stand on"),
        (&grandchild, &mid, "does not stand on"),
        (&grandchild, &both, "looser"),
    ] {
        let refused = sign(child, parent)?;
        assert_eq!(refused.code, 1, "{}", refused.stdout);
        assert!(refused.stdout.contains(words), "{}", refused.stdout);
    }
    assert_eq!(sign(&narrow, &strict)?.code, 0);
    assert_eq!(sign(&small, &both)?.code, 0);
    let judged =
        bardo(["delegation", "attenuates", "--parent", &both, "--child", &small, "--json"])?;
    assert_eq!((judged.code, &judged.json()?["chained"]), (0, &json!(true)));
    Ok(())
}
