//! SPEC G5, G11: what an owner is told of his grant, by the chain alone.

use crate::command::{Ran, bardo};
use anyhow::{Context, Result};
use bardo_testkit::{Agent, Stage, dollars, fair_swap, swap};
use golem_chain::{AccountKind, revocation};
use golem_delegation::Delegation;
use serde_json::json;
use std::fs;

async fn asked(stage: &Stage, grant: &Delegation, command: &str) -> Result<Ran> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("grant.json").display().to_string();
    fs::write(&file, serde_json::to_string(grant)?)?;
    let url = stage.chain().url().as_str();
    match command {
        "status" => bardo(["delegation", "status", "--rpc", url, "--context", &file, "--json"]),
        _ => bardo(["delegation", command, &file, "--rpc", url, "--json"]),
    }
}

#[tokio::test]
async fn a_charter_shows_what_is_spent_and_what_a_thief_could_take() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
    let call = fair_swap(&stage, agent.account, dollars(100));
    let before = asked(&stage, &agent.grant, "status").await?;
    let _ = agent.attempt(&stage, &call).await?.receipt()?;

    let after = asked(&stage, &agent.grant, "status").await?;

    assert_eq!((before.code, after.code), (0, 0), "{before:?}");
    let (before, after) = (before.json()?, after.json()?);
    assert_eq!(after["state"], "active");
    assert_eq!(before["limits"][0]["used"], "0");
    // One unit of its window more at most: it counts in 2^k micro-dollars, rounded up.
    let used: u64 = after["limits"][0]["used"].as_str().context("none")?.parse()?;
    assert!((100_000_000..100_100_000).contains(&used), "{used}");
    let most = after["limits"][0]["most"].as_str().context("none")?;
    assert!(most.parse::<u64>()? >= used);
    // What is spent is gone for a day, so that less can be taken.
    let total = |shown: &serde_json::Value| -> Result<u64> {
        Ok(shown["blastRadius"]["total"].as_str().context("unbounded")?.parse()?)
    };
    assert!(total(&after)? < total(&before)?, "{before} {after}");
    let radius = asked(&stage, &agent.grant, "blast-radius").await?.json()?;
    assert_eq!(radius["total"], after["blastRadius"]["total"]);
    Ok(())
}

#[tokio::test]
async fn each_end_of_a_grant_is_told_apart() -> Result<()> {
    // Its calls.
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 1).await?;
    let alive = asked(&stage, &agent.grant, "status").await?;
    assert_eq!((alive.code, &alive.json()?["state"]), (0, &json!("active")));
    assert_eq!(alive.json()?["limits"][0], json!({ "kind": "calls", "used": "0", "most": "1" }));
    let _ = agent.attempt(&stage, &swap(&stage, agent.account, dollars(1))).await?.receipt()?;
    let used = asked(&stage, &agent.grant, "status").await?;
    assert_eq!((used.code, &used.json()?["state"]), (1, &json!("exhausted")));
    assert_eq!(used.json()?["limits"][0]["used"], "1");
    // Its owner.
    let second = Agent::hired(&stage, &owner, 5).await?;
    let disable = revocation(&second.grant);
    let manager = bardo_bindings::framework::DELEGATION_MANAGER;
    stage.send_as(second.account, manager, Default::default(), disable).await?;
    let revoked = asked(&stage, &second.grant, "status").await?;
    assert_eq!((revoked.code, &revoked.json()?["state"]), (1, &json!("revokedByOwner")));
    assert_eq!(revoked.json()?["links"][0]["disabled"], true);
    // Its owner, by the registry.
    let golem = Agent::chartered(&stage, &owner, |_| ()).await?;
    let all = bardo_bindings::GolemRegistry::revokeAllCall {};
    let data = alloy::sol_types::SolCall::abi_encode(&all).into();
    let registry = bardo_bindings::golem_registry();
    stage.send_as(owner.signer.address(), registry, Default::default(), data).await?;
    let ended = asked(&stage, &golem.grant, "status").await?;
    assert_eq!((ended.code, &ended.json()?["state"]), (1, &json!("revokedByOwner")));
    // Its time.
    let third = Agent::hired(&stage, &owner, 5).await?;
    stage.warp(stage.now().await? + 604_801).await?;
    let late = asked(&stage, &third.grant, "status").await?;
    assert_eq!((late.code, &late.json()?["state"]), (1, &json!("expired")));
    Ok(())
}
