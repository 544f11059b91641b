//! `bardo chains` and `bardo chains check`.

use crate::command::{Ran, bardo};
use alloy::{
    network::TransactionBuilder as _,
    primitives::{Address, B256, Bytes, keccak256},
    providers::{Provider as _, ext::AnvilApi},
    rpc::types::TransactionRequest,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    deployables,
    framework::{
        DELEGATION_MANAGER, DETERMINISTIC_DEPLOYER, ENTRY_POINT, HYBRID_IMPL, MULTISIG_IMPL,
        SIMPLE_FACTORY, STATELESS_7702_IMPL,
    },
    identity::IDENTITY_REGISTRY,
};
use bardo_testkit::{Stage, root};
use golem_chain::{environment, places};
use golem_delegation::{Kind, enforcers};
use serde_json::Value;
use std::process::Command;

fn check(stage: &Stage, more: &[&str]) -> Result<Ran> {
    let rpc = stage.chain().url().as_str();
    bardo([&["chains", "check", "--rpc", rpc, "--json"], more].concat())
}

async fn put(stage: &Stage, at: Address, code: &'static [u8]) -> Result<()> {
    Ok(stage.node().provider().anvil_set_code(at, Bytes::from_static(code)).await?)
}

/// The local chain lacks one stock enforcer, because its package has older code than its address: with that code there it has
/// everything.
async fn whole() -> Result<Stage> {
    let stage = Stage::open().await?;
    let script = "import('@metamask/delegation-abis/bytecode')\
        .then(all => process.stdout.write(all.SpecificActionERC20TransferBatchEnforcer))";
    let output = Command::new("node")
        .args(["--input-type=module", "--eval", script])
        .current_dir(root())
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let creation: Bytes = String::from_utf8(output.stdout)?.parse()?;
    // Run at the address itself, as the local chain is built: its answer is what is to stand there.
    let (at, provider) = (enforcers::SPECIFIC_ACTION_ERC20_TRANSFER_BATCH, stage.node().provider());
    provider.anvil_set_code(at, creation).await?;
    let code = provider.call(TransactionRequest::default().with_to(at)).await?;
    provider.anvil_set_code(at, code).await?;
    Ok(stage)
}

/// Names of contracts that are not as they should be, with what they are.
fn wrong(answer: &Value) -> Result<Vec<(String, String)>> {
    let rows = answer["contracts"].as_array().context("no contracts")?;
    let word = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    Ok(rows
        .iter()
        .filter(|row| row["standing"] != "present")
        .map(|row| (word(row, "name"), word(row, "standing")))
        .collect())
}

#[test]
fn a_listed_chain_is_known_and_no_more() -> Result<()> {
    let (words, json) = (bardo(["chains"])?, bardo(["chains", "--json"])?.json()?);

    ensure!(words.stdout.lines().filter(|line| line.contains("known, not checked")).count() == 6);
    ensure!(words.stdout.contains("bardo chains check"), "{words:?}");
    for row in json.as_array().context("no list")? {
        ensure!(row["status"] == "known" && row.get("supported").is_none(), "{row}");
    }
    Ok(())
}

#[tokio::test]
async fn a_chain_with_everything_is_supported_and_every_address_is_looked_at() -> Result<()> {
    let stage = whole().await?;

    let ran = check(&stage, &["--chain", "base"])?;

    let answer = ran.json()?;
    ensure!(ran.code == 0 && answer["supported"] == true && answer["chain"] == "Base", "{ran:?}");
    let rows = answer["contracts"].as_array().context("no contracts")?;
    let known = environment();
    let enforcers = Kind::ALL.iter().filter_map(|kind| known.enforcer(*kind));
    let ours = deployables().iter().map(|contract| contract.address);
    let framework = [
        DELEGATION_MANAGER,
        ENTRY_POINT,
        SIMPLE_FACTORY,
        STATELESS_7702_IMPL,
        HYBRID_IMPL,
        MULTISIG_IMPL,
        DETERMINISTIC_DEPLOYER,
        IDENTITY_REGISTRY,
    ];
    for address in enforcers.chain(ours).chain(framework) {
        let at = address.to_string().to_lowercase();
        ensure!(
            rows.iter()
                .any(|row| row["address"].as_str().map(str::to_lowercase) == Some(at.clone())),
            "{address} is not looked at"
        );
    }
    Ok(())
}

/// SPEC C1: code alone is no enforcer. One that allows everything, one that refuses everything and one that is another enforcer
/// are not what a caveat names.
#[tokio::test]
async fn something_else_in_an_enforcers_place_is_not_supported() -> Result<()> {
    let stop = Bytes::from_static(&[0x00]);
    // PUSH0 PUSH0 REVERT
    let refusal = Bytes::from_static(&[0x5f, 0x5f, 0xfd]);
    let stock: Vec<Address> = enforcers::STOCK.iter().map(|(_, address)| *address).collect();
    let others = [
        ("deterministic deployer", DETERMINISTIC_DEPLOYER),
        ("SimpleFactory", SIMPLE_FACTORY),
        ("IdentityRegistry", IDENTITY_REGISTRY),
    ];
    for way in ["stop", "refusal", "the next one's"] {
        let stage = whole().await?;
        let provider = stage.node().provider();
        let mut codes = Vec::new();
        for at in &stock {
            codes.push(match way {
                "stop" => stop.clone(),
                "refusal" => refusal.clone(),
                _ => stage.node().code(*at).await?,
            });
        }
        codes.rotate_left(1);
        for (at, code) in stock.iter().zip(codes) {
            provider.anvil_set_code(*at, code).await?;
        }
        for (_, at) in &others {
            provider.anvil_set_code(*at, stop.clone()).await?;
        }

        let ran = check(&stage, &[])?;

        ensure!(ran.code == 1 && ran.json()?["supported"] == false, "{way}: {ran:?}");
        let names = enforcers::STOCK.iter().chain(&others).map(|(name, _)| name);
        let mut expected: Vec<(String, String)> =
            names.map(|name| ((*name).to_owned(), "other_code".to_owned())).collect();
        let mut found = wrong(&ran.json()?)?;
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{way}");
        let next = ran.json()?["next"].to_string();
        ensure!(next.contains("do not sign one") && !next.contains("bardo deploy"), "{next}");
    }
    Ok(())
}

/// SPEC C1: what is pinned is what stands behind its address on every chain: the address follows from the code.
#[tokio::test]
async fn pinned_code_is_what_leads_to_its_address() -> Result<()> {
    let stage = Stage::open().await?;
    let pinned: Vec<_> = places(None).into_iter().filter_map(|place| place.pinned()).collect();
    let names: Vec<_> = pinned.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, ["deterministic deployer", "EntryPoint", "ApprovalRevocationEnforcer"]);
    for (name, at, hash) in pinned {
        assert_eq!(keccak256(stage.node().code(at).await?), hash, "{name}");
    }
    let script = "import('@metamask/delegation-abis/bytecode')\
        .then(all => process.stdout.write(all.ApprovalRevocationEnforcer))";
    let output = Command::new("node")
        .args(["--input-type=module", "--eval", script])
        .current_dir(root())
        .output()?;
    let creation: Bytes = String::from_utf8(output.stdout)?.parse()?;
    let mut salt = B256::ZERO;
    salt[..5].copy_from_slice(b"GATOR");
    let at = DETERMINISTIC_DEPLOYER.create2(salt, keccak256(&creation));
    assert_eq!(at, enforcers::APPROVAL_REVOCATION);
    Ok(())
}

/// The local chain as it is: what it lacks is not papered over.
/// Code alone is no framework: it must answer as the framework does on this chain.
#[tokio::test]
async fn something_else_in_the_frameworks_place_is_not_supported() -> Result<()> {
    for at in [DELEGATION_MANAGER, ENTRY_POINT, HYBRID_IMPL] {
        let stage = whole().await?;
        put(&stage, at, &[0x00]).await?;
        let found = bardo(["chains", "check", "--json", "--rpc", stage.chain().url().as_str()])?;
        assert_eq!(found.code, 1, "{found:?}");
        assert!(found.stdout.contains("grant nothing on this chain"), "{found:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_missing_stock_enforcer_is_named() -> Result<()> {
    let stage = Stage::open().await?;
    let rpc = stage.chain().url().as_str();

    let ran = check(&stage, &[])?;
    let words = bardo(["chains", "check", "--rpc", rpc])?;

    let name = "SpecificActionERC20TransferBatchEnforcer";
    ensure!(ran.code == 1 && ran.json()?["supported"] == false, "{ran:?}");
    assert_eq!(wrong(&ran.json()?)?, [(name.to_owned(), "missing".to_owned())]);
    ensure!(words.code == 1 && words.stdout.contains("do not sign one"), "{words:?}");
    // What `bardo up` starts is told from the chain whose id it has.
    ensure!(ran.json()?["local"] == true && words.stdout.contains("a local chain"), "{words:?}");
    let line = words.stdout.lines().find(|line| line.contains(name)).context("no line")?;
    ensure!(line.ends_with("missing"), "{line}");
    Ok(())
}

#[tokio::test]
async fn where_only_ours_is_missing_the_next_step_is_to_deploy() -> Result<()> {
    let stage = whole().await?;
    let ours = &deployables()[0];
    put(&stage, ours.address, &[]).await?;

    let ran = check(&stage, &[])?;

    assert_eq!(ran.code, 1);
    assert_eq!(wrong(&ran.json()?)?, [(ours.name.to_owned(), "missing".to_owned())]);
    let next = ran.json()?["next"].to_string();
    ensure!(next.contains("bardo deploy --rpc URL"), "{next}");
    ensure!(!next.contains("127.0.0.1"), "URLs hold secrets: {next}");

    // Without the deployer that would not work, and is not said.
    put(&stage, DETERMINISTIC_DEPLOYER, &[]).await?;
    let next = check(&stage, &[])?.json()?["next"].to_string();
    ensure!(next.contains("deterministic deployer") && !next.contains("bardo deploy"), "{next}");
    Ok(())
}

#[tokio::test]
async fn other_code_at_our_address_is_told_from_none() -> Result<()> {
    let stage = whole().await?;
    let ours = &deployables()[3];
    put(&stage, ours.address, &[0x00]).await?;

    let ran = check(&stage, &[])?;

    assert_eq!(ran.code, 1);
    assert_eq!(wrong(&ran.json()?)?, [(ours.name.to_owned(), "other_code".to_owned())]);
    let next = ran.json()?["next"].to_string();
    ensure!(next.contains("grant nothing") && !next.contains("bardo deploy"), "{next}");
    Ok(())
}

#[tokio::test]
async fn a_chain_without_the_framework_is_not_sent_to_deploy() -> Result<()> {
    let stage = whole().await?;
    put(&stage, DELEGATION_MANAGER, &[]).await?;
    put(&stage, IDENTITY_REGISTRY, &[]).await?;
    put(&stage, deployables()[0].address, &[]).await?;

    let ran = check(&stage, &[])?;

    assert_eq!(ran.code, 1);
    assert_eq!(wrong(&ran.json()?)?.len(), 3, "{ran:?}");
    let next = ran.json()?["next"].to_string();
    ensure!(next.contains("no grant can be redeemed here"), "{next}");
    ensure!(next.contains("no identity registry"), "{next}");
    ensure!(!next.contains("bardo deploy"), "{next}");
    Ok(())
}

#[tokio::test]
async fn the_rpc_of_another_chain_is_refused_with_both_names() -> Result<()> {
    let stage = whole().await?;
    for meant in ["arbitrum", "Arbitrum One", "42161"] {
        let ran = check(&stage, &["--chain", meant])?;

        assert_eq!(ran.code, 1, "{ran:?}");
        let answer = ran.json()?;
        ensure!(answer["supported"] == false && answer["chainId"] == 8453, "{answer}");
        let reason = answer["reason"].as_str().context("no reason")?;
        ensure!(reason.contains("this is Base (8453), not Arbitrum One (42161)"), "{reason}");
        ensure!(answer.get("contracts").is_none(), "nothing was looked at");
    }
    Ok(())
}

/// Nobody knows where the identity registry of an unknown chain is; the rest is checked all the same.
#[tokio::test]
async fn a_chain_without_a_name_is_checked_without_an_identity_registry() -> Result<()> {
    let stage = whole().await?;
    stage.node().provider().anvil_set_chain_id(424_242).await?;
    let ran = check(&stage, &[]);
    stage.node().provider().anvil_set_chain_id(8453).await?;

    let ran = ran?;
    let answer = ran.json()?;
    ensure!(ran.code == 0 && answer["chain"].is_null() && answer["chainId"] == 424_242, "{ran:?}");
    ensure!(!ran.stdout.contains("IdentityRegistry"), "{ran:?}");
    Ok(())
}

#[test]
fn an_rpc_that_does_not_answer_is_a_fault_that_says_what_to_do() -> Result<()> {
    let ran = bardo(["chains", "check", "--rpc", "http://127.0.0.1:1", "--chain", "base"])?;

    ensure!(ran.code == 3 && ran.stdout.is_empty(), "{ran:?}");
    ensure!(ran.stderr.contains("check the URL and that the node runs"), "{ran:?}");
    Ok(())
}
