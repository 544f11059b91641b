//! `bardo deploy`.

use crate::command::{Ran, bardo};
use alloy::{
    primitives::{B256, Bytes, U256},
    providers::{Provider, ext::AnvilApi},
};
use anyhow::Result;
use bardo_bindings::{
    deployables,
    framework::{DELEGATION_MANAGER, DETERMINISTIC_DEPLOYER},
};
use bardo_testkit::{STIPEND, Stage, fixed_signer};
use std::{fs, os::unix::fs::PermissionsExt};

struct Deployer {
    _folder: tempfile::TempDir,
    key: String,
}

async fn deployer(stage: &Stage) -> Result<Deployer> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("key");
    fs::write(&path, B256::repeat_byte(0x41).to_string())?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600))?;
    // Two deployments of everything at the local chain's price.
    stage.fund(fixed_signer(0x41)?.address(), STIPEND * U256::from(4), U256::ZERO).await?;
    Ok(Deployer { key: path.display().to_string(), _folder: folder })
}

/// A chain with the framework and without us.
async fn clear_ours(stage: &Stage) -> Result<()> {
    for contract in deployables() {
        stage.node().provider().anvil_set_code(contract.address, Bytes::new()).await?;
        stage.node().provider().anvil_set_nonce(contract.address, 0).await?;
    }
    Ok(())
}

fn deploy(stage: &Stage, deployer: &Deployer) -> Result<Ran> {
    let rpc = stage.chain().url().as_str();
    bardo(["deploy", "--rpc", rpc, "--key-file", &deployer.key, "--json"])
}

#[tokio::test]
async fn contracts_go_to_their_addresses_and_a_second_run_changes_nothing() -> Result<()> {
    let stage = Stage::open().await?;
    clear_ours(&stage).await?;
    let deployer = deployer(&stage).await?;
    let rpc = stage.chain().url().as_str();
    assert_eq!(bardo(["deploy", "--rpc", rpc, "--check"])?.code, 1, "not there yet");

    let first = deploy(&stage, &deployer)?;
    let nonce =
        stage.node().provider().get_transaction_count(fixed_signer(0x41)?.address()).await?;
    let second = deploy(&stage, &deployer)?;
    let nonce_after =
        stage.node().provider().get_transaction_count(fixed_signer(0x41)?.address()).await?;

    assert_eq!(first.code, 0, "{first:?}");
    let book = first.json()?;
    assert_eq!(book["chainId"], 8453);
    assert_eq!(book["chain"], "Base");
    for (row, contract) in book["contracts"].as_array().unwrap().iter().zip(deployables()) {
        assert_eq!(row["name"], contract.name);
        assert_eq!(row["created"], true);
        assert_eq!(
            row["address"].as_str().unwrap().to_lowercase(),
            contract.address.to_string().to_lowercase()
        );
        assert_eq!(stage.node().code(contract.address).await?, contract.runtime_code);
    }
    assert_eq!(second.code, 0);
    assert!(
        second.json()?["contracts"].as_array().unwrap().iter().all(|row| row["created"] == false)
    );
    assert_eq!(nonce, nonce_after, "the second run sent nothing");
    assert_eq!(bardo(["deploy", "--rpc", rpc, "--check"])?.code, 0);
    Ok(())
}

#[tokio::test]
async fn addresses_are_the_same_on_another_chain() -> Result<()> {
    let stage = Stage::open().await?;
    clear_ours(&stage).await?;
    let deployer = deployer(&stage).await?;
    let here = deploy(&stage, &deployer)?.json()?;
    clear_ours(&stage).await?;
    stage.node().provider().anvil_set_chain_id(42161).await?;

    let there = deploy(&stage, &deployer)?;
    stage.node().provider().anvil_set_chain_id(8453).await?;

    assert_eq!(there.code, 0, "{there:?}");
    let there = there.json()?;
    assert_eq!(there["chain"], "Arbitrum One");
    let addresses = |book: &serde_json::Value| -> Vec<String> {
        book["contracts"].as_array().unwrap().iter().map(|row| row["address"].to_string()).collect()
    };
    assert_eq!(addresses(&here), addresses(&there));
    Ok(())
}

#[tokio::test]
async fn other_code_at_our_address_is_refused_and_left_alone() -> Result<()> {
    let stage = Stage::open().await?;
    let deployer = deployer(&stage).await?;
    let contract = &deployables()[0];
    let mut code = contract.runtime_code.to_vec();
    let last = code.len() - 1;
    code[last] ^= 1;
    let planted = Bytes::from(code);
    stage.node().provider().anvil_set_code(contract.address, planted.clone()).await?;

    let refused = deploy(&stage, &deployer)?;
    let rpc = stage.chain().url().as_str();
    let checked = bardo(["deploy", "--rpc", rpc, "--check"])?;

    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stdout.contains(&format!("is not {}", contract.name)), "{refused:?}");
    assert_eq!(checked.code, 1);
    assert_eq!(stage.node().code(contract.address).await?, planted);
    Ok(())
}

#[tokio::test]
async fn a_chain_without_the_framework_or_the_deployer_is_a_fault_that_names_it() -> Result<()> {
    for (missing, words) in [
        (DELEGATION_MANAGER, "DelegationManager"),
        (DETERMINISTIC_DEPLOYER, "deterministic deployer"),
    ] {
        let stage = Stage::open().await?;
        clear_ours(&stage).await?;
        let deployer = deployer(&stage).await?;
        stage.node().provider().anvil_set_code(missing, Bytes::new()).await?;

        let fault = deploy(&stage, &deployer)?;

        assert_eq!(fault.code, 3, "{fault:?}");
        assert!(fault.stderr.contains(words), "{}", fault.stderr);
    }
    Ok(())
}

#[tokio::test]
async fn a_deployer_without_money_is_refused_and_nothing_is_there() -> Result<()> {
    let stage = Stage::open().await?;
    clear_ours(&stage).await?;
    let deployer = deployer(&stage).await?;
    stage.fund(fixed_signer(0x41)?.address(), U256::ZERO, U256::ZERO).await?;

    let refused = deploy(&stage, &deployer)?;

    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("fund it; nothing was sent"), "{refused:?}");
    assert!(!refused.stderr.contains("sending 0x"), "{refused:?}");
    assert!(stage.node().code(deployables()[0].address).await?.is_empty());
    Ok(())
}

/// A deployer that answers success and creates nothing is not believed.
#[tokio::test]
async fn what_is_not_there_afterwards_was_not_deployed() -> Result<()> {
    let stage = Stage::open().await?;
    clear_ours(&stage).await?;
    let deployer = deployer(&stage).await?;
    let stop = Bytes::from_static(&[0x00]);
    stage.node().provider().anvil_set_code(DETERMINISTIC_DEPLOYER, stop).await?;

    let fault = deploy(&stage, &deployer)?;

    assert_eq!(fault.code, 3, "{fault:?}");
    assert!(fault.stderr.contains("creation of"), "{}", fault.stderr);
    Ok(())
}

/// A transaction that no block takes: the answer comes in time, names it, and claims nothing.
#[tokio::test]
async fn a_transaction_that_is_not_mined_in_time_is_named() -> Result<()> {
    let stage = Stage::open().await?;
    clear_ours(&stage).await?;
    let deployer = deployer(&stage).await?;
    stage.node().provider().anvil_set_auto_mine(false).await?;
    let rpc = stage.chain().url().as_str();

    let fault = bardo(["deploy", "--rpc", rpc, "--key-file", &deployer.key, "--timeout", "1"])?;
    stage.node().provider().anvil_set_auto_mine(true).await?;

    assert_eq!(fault.code, 3, "{fault:?}");
    assert!(fault.stderr.contains("was sent but is not in a block yet"), "{}", fault.stderr);
    Ok(())
}

/// For people: every contract with its address and what was done, and progress on a terminal.
#[tokio::test]
async fn the_address_book_is_printed_and_a_terminal_sees_progress() -> Result<()> {
    let stage = Stage::open().await?;
    clear_ours(&stage).await?;
    let deployer = deployer(&stage).await?;
    let rpc = stage.chain().url().as_str();
    let words =
        format!("{} deploy --rpc {rpc} --key-file {}", env!("CARGO_BIN_EXE_bardo"), deployer.key);

    // `script` gives the command a terminal.
    let seen = std::process::Command::new("script")
        .args(["-qec", &words, "/dev/null"])
        .env("TERM", "xterm")
        .output()?;
    let seen = String::from_utf8_lossy(&seen.stdout).into_owned();
    let again = bardo(["deploy", "--rpc", rpc, "--key-file", &deployer.key])?;

    for contract in deployables() {
        let line = |text: &str, word: &str| {
            text.lines().any(|line| {
                line.contains(contract.name)
                    && line.contains(&contract.address.to_string())
                    && line.contains(word)
            })
        };
        assert!(line(&seen, "deployed"), "{seen}");
        assert!(line(&again.stdout, "there, verified"), "{}", again.stdout);
    }
    assert!(seen.contains(&format!("/{}", deployables().len())), "no progress: {seen}");
    assert!(again.stderr.is_empty(), "quiet in a pipe: {}", again.stderr);
    Ok(())
}
