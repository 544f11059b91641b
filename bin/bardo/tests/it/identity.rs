//! `bardo identity`: ERC-8004 identities, and whose Golem is whose.

use crate::command::{Key, Ran, bardo};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::ext::AnvilApi,
    sol_types::SolCall,
};
use anyhow::{Context, Result, ensure};
use bardo_bindings::{
    GolemRegistry, golem_registry,
    identity::{IDENTITY_REGISTRY, IdentityRegistry, TESTNET_IDENTITY_REGISTRY},
};
use bardo_testkit::Stage;
use golem_chain::Registry;
use serde_json::json;

const SALT: B256 = B256::repeat_byte(0x1d);

fn identity(stage: &Stage, words: &[&str]) -> Result<Ran> {
    let rpc = stage.chain().url().as_str();
    bardo([&["identity"], words, &["--rpc", rpc]].concat())
}

fn registered(stage: &Stage, key: &Key, uri: &str) -> Result<String> {
    let ran = identity(stage, &["register", "--uri", uri, "--key-file", &key.file, "--json"])?;
    ensure!(ran.code == 0, "{ran:?}");
    Ok(ran.json()?["agentId"].as_str().context("no id")?.to_owned())
}

async fn golem_of(stage: &Stage, owner: Address) -> Result<String> {
    let register = GolemRegistry::registerCall { salt: SALT, agentKey: Address::ZERO };
    let data = register.abi_encode().into();
    ensure!(stage.send_as(owner, golem_registry(), U256::ZERO, data).await?.status());
    Ok(Registry::golem_id(owner, SALT).to_string())
}

async fn hand_over(stage: &Stage, agent: &str, from: Address, to: Address) -> Result<()> {
    let sell = IdentityRegistry::transferFromCall { from, to, agentId: agent.parse()? };
    let sold = stage.send_as(from, IDENTITY_REGISTRY, U256::ZERO, sell.abi_encode().into()).await?;
    ensure!(sold.status());
    Ok(())
}

#[tokio::test]
async fn an_identity_is_registered_and_shown_as_the_chain_has_it() -> Result<()> {
    let stage = Stage::open().await?;
    let (first, owner) = (Key::funded(&stage, 0x57).await?, Key::funded(&stage, 0x58).await?);
    let earlier = registered(&stage, &first, "ipfs://other")?;

    let agent = registered(&stage, &owner, "ipfs://golem")?;

    ensure!(agent != earlier);
    let agent_id: U256 = agent.parse()?;
    let ask = IdentityRegistry::ownerOfCall { agentId: agent_id };
    assert_eq!(stage.node().read(IDENTITY_REGISTRY, ask).await?, owner.address);
    let shown = identity(&stage, &["show", &agent, "--json"])?.json()?;
    assert_eq!(shown["owner"], json!(owner.address));
    assert_eq!(shown["uri"], "ipfs://golem");
    assert_eq!(shown["wallet"], json!(owner.address), "the key that registers is the wallet");
    let words = identity(&stage, &["show", &agent])?;
    ensure!(words.code == 0 && words.stdout.contains("ipfs://golem"), "{words:?}");

    hand_over(&stage, &agent, owner.address, first.address).await?;
    let shown = identity(&stage, &["show", &agent, "--json"])?.json()?;
    assert_eq!(shown["owner"], json!(first.address));
    ensure!(shown["wallet"].is_null(), "a transfer clears the wallet: {shown}");
    Ok(())
}

/// A URI is the word of whoever registered it, and a terminal obeys control characters.
#[tokio::test]
async fn a_uri_cannot_move_the_cursor() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = Key::funded(&stage, 0x58).await?;

    let agent = registered(&stage, &owner, "ipfs://\u{1b}[2Jgolem\nowner   0x00")?;

    let words = identity(&stage, &["show", &agent])?;
    ensure!(!words.stdout.contains('\u{1b}'), "{words:?}");
    assert_eq!(words.stdout.lines().count(), 4, "{words:?}");
    Ok(())
}

#[tokio::test]
async fn one_owner_of_both_is_told_from_two_and_from_none() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, other) = (Key::funded(&stage, 0x57).await?, Key::funded(&stage, 0x58).await?);
    let agent = registered(&stage, &owner, "ipfs://golem")?;
    let (golem, theirs) =
        (golem_of(&stage, owner.address).await?, golem_of(&stage, other.address).await?);
    let nobodys = B256::repeat_byte(0x99).to_string();
    let asked =
        |agent: &str, golem: &str| identity(&stage, &["same-owner", agent, golem, "--json"]);
    let refused = |agent: &str, golem: &str, words: &str| {
        let ran = asked(agent, golem)?;
        ensure!(ran.code == 1 && ran.json()?["sameOwner"] == false, "{ran:?}");
        ensure!(ran.stdout.contains(words), "{ran:?}");
        Ok(())
    };

    let same = asked(&agent, &golem)?;
    ensure!(same.code == 0 && same.json()?["sameOwner"] == true, "{same:?}");
    refused(&agent, &theirs, &other.address.to_string())?;
    refused(&agent, &nobodys, "is not on the register")?;
    refused("999999", &golem, "there is no agent 999999")?;

    // Sold: from that block on they are strangers, and kin to the buyer's.
    hand_over(&stage, &agent, owner.address, other.address).await?;
    refused(&agent, &golem, &other.address.to_string())?;
    ensure!(asked(&agent, &theirs)?.code == 0);

    let off = GolemRegistry::deregisterCall { golemId: theirs.parse()? }.abi_encode();
    let sent = stage.send_as(other.address, golem_registry(), U256::ZERO, off.into()).await?;
    ensure!(sent.status());
    refused(&agent, &theirs, "is not on the register")?;
    Ok(())
}

#[tokio::test]
async fn an_unknown_identity_is_a_refusal_and_a_missing_registry_a_fault() -> Result<()> {
    let stage = Stage::open().await?;
    let none = identity(&stage, &["show", "999999", "--json"])?;
    ensure!(none.code == 1 && none.json()?["known"] == false, "{none:?}");

    let empty = Address::repeat_byte(0x77).to_string();
    let missing = identity(&stage, &["show", "1", "--registry", &empty])?;
    ensure!(missing.code == 3 && missing.stderr.contains("identity registry"), "{missing:?}");
    // Something that stands there and refuses everything is no registry that knows nobody.
    let wall = Bytes::from_static(&[0x5f, 0x5f, 0xfd]);
    stage.node().provider().anvil_set_code(Address::repeat_byte(0x77), wall).await?;
    let other = identity(&stage, &["show", "1", "--registry", &empty])?;
    ensure!(other.code == 3, "{other:?}");
    Ok(())
}

/// One that takes the call and registers nobody is not believed.
#[tokio::test]
async fn a_registration_that_registered_nobody_is_a_fault() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = Key::funded(&stage, 0x57).await?;
    let stop = Address::repeat_byte(0x78);
    stage.node().provider().anvil_set_code(stop, Bytes::from_static(&[0x00])).await?;
    let at = stop.to_string();

    let words = ["register", "--uri", "ipfs://golem", "--key-file", &owner.file, "--registry", &at];
    let ran = identity(&stage, &words)?;

    ensure!(ran.code == 3 && ran.stderr.contains("registered nobody"), "{ran:?}");
    Ok(())
}

/// Main networks share a registry, test networks another; of an unknown chain none is known.
#[tokio::test]
async fn the_registry_is_the_chains_own_unless_one_is_named() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = Key::funded(&stage, 0x57).await?;
    let agent = registered(&stage, &owner, "ipfs://golem")?;
    let provider = stage.node().provider();

    provider.anvil_set_chain_id(84_532).await?;
    let testnet = identity(&stage, &["show", &agent]);
    provider.anvil_set_chain_id(424_242).await?;
    let unknown = identity(&stage, &["show", &agent]);
    let named = identity(&stage, &["show", &agent, "--registry", &IDENTITY_REGISTRY.to_string()]);
    provider.anvil_set_chain_id(8453).await?;

    let testnet = testnet?;
    let wanted = TESTNET_IDENTITY_REGISTRY.to_string();
    ensure!(testnet.code == 3 && testnet.stderr.contains(&wanted), "{testnet:?}");
    let unknown = unknown?;
    ensure!(unknown.code == 2 && unknown.stderr.contains("--registry"), "{unknown:?}");
    ensure!(named?.code == 0);
    Ok(())
}
