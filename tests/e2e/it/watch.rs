//! SPEC G5, D19: that a grant ended is known from the block in which it did, told or asked for.

use alloy::{
    primitives::{B256, U256},
    providers::ext::AnvilApi as _,
    sol,
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry, dream_mode_enforcer, framework::DELEGATION_MANAGER, golem_registry,
};
use bardo_testkit::{
    Agent, Fault, Owner, Proxy, STIPEND, Stage, charter_of, chartered, dollars, swap,
};
use golem_chain::{AccountKind, End, Heads, Node, WatchFault, observe, revocation, watch};
use golem_custody::{SessionKey, SessionSigner as _};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, State,
    blast_radius::Ended,
    enforcers,
    terms::{BlockNumber, DreamMode, GolemCharter, Nonce},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use url::Url;

const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a test waits: whoever knows sooner was told.
const NEVER: Duration = Duration::from_secs(600);
const OFTEN: Duration = Duration::from_millis(50);

pub(crate) fn socket(stage: &Stage) -> Result<Url> {
    let mut url = stage.chain().url().clone();
    ensure!(url.set_scheme("ws").is_ok());
    Ok(url)
}

sol! {
    function incrementNonce(address delegationManager) external;
}

type Watching = JoinHandle<Result<End, WatchFault>>;

/// Watches in the background, from a first block on.
async fn watching(mut heads: Heads, grant: &Delegation) -> Result<Watching> {
    heads.next().await?;
    watching_on(heads, grant)
}

fn watching_on(mut heads: Heads, grant: &Delegation) -> Result<Watching> {
    let chain = PermissionContext::new(vec![grant.clone()])?;
    Ok(tokio::spawn(async move { watch(&mut heads, DELEGATION_MANAGER, &chain).await }))
}

async fn ended(watching: Watching) -> Result<End> {
    Ok(tokio::time::timeout(PATIENCE, watching).await.context("not known in time")???)
}

/// The owner disables one grant; gives the block.
async fn disable(stage: &Stage, agent: &Agent) -> Result<u64> {
    let data = revocation(&agent.grant);
    let receipt = stage.send_as(agent.account, DELEGATION_MANAGER, U256::ZERO, data).await?;
    ensure!(receipt.status());
    receipt.block_number.context("no block")
}

async fn revoke_all(stage: &Stage, owner: &Owner) -> Result<u64> {
    let data = GolemRegistry::revokeAllCall {}.abi_encode().into();
    let receipt = stage.send_as(owner.signer.address(), golem_registry(), U256::ZERO, data).await?;
    ensure!(receipt.status());
    receipt.block_number.context("no block")
}

#[tokio::test]
async fn a_revocation_is_known_in_its_block_told_or_asked_for() -> Result<()> {
    for told in [true, false] {
        let stage = Stage::open().await?;
        let owner = stage.owner(AccountKind::Stateless7702).await?;
        let heads = |stage: &Stage| -> Result<Heads> {
            let node = stage.node().clone();
            Ok(if told {
                Heads::of(node, NEVER).told_by(socket(stage)?)
            } else {
                Heads::of(node, OFTEN)
            })
        };
        let agent = Agent::hired(&stage, &owner, 5).await?;
        let watched = watching(heads(&stage)?, &agent.grant).await?;
        // A block in which nothing ends.
        let _ = agent.attempt(&stage, &swap(&stage, agent.account, dollars(1))).await?.receipt()?;
        let block = disable(&stage, &agent).await?;
        let end = ended(watched).await?;
        assert_eq!(end.block.number, block, "{told}");
        ensure!(matches!(end.cause, Ended::Disabled { .. }), "{end:?}");

        let golem = Agent::chartered(&stage, &owner, |_| ()).await?;
        let watched = watching(heads(&stage)?, &golem.grant).await?;
        let block = revoke_all(&stage, &owner).await?;
        let end = ended(watched).await?;
        assert_eq!((end.block.number, end.cause.state()), (block, State::RevokedByOwner));

        // A Golem that dies, and one that its owner takes off the register; by a charter or by another rule.
        let ways = [(true, true), (true, false), (false, true), (false, false)];
        for (salt, (closes, by_charter)) in (1..).zip(ways) {
            let key = SessionKey::born();
            let salt = B256::repeat_byte(salt);
            let law = charter_of(&stage, &owner, salt, key.address(), |_| ()).await?;
            let GolemCharter { golem_id, registry, .. } = law;
            let mut grant = chartered(&law)?;
            if !by_charter {
                let awake = DreamMode { golem_id, registry };
                grant.caveats = vec![Caveat::new(dream_mode_enforcer(), awake.encode())];
            }
            let grant = owner.signer.grant(&stage.domain(), grant)?;
            let watched = watching(heads(&stage)?, &grant).await?;
            let (who, data, cause) = if closes {
                let close = GolemRegistry::closeCall { golemId: golem_id }.abi_encode();
                stage.fund(key.address(), STIPEND, U256::ZERO).await?;
                (key.address(), close, Ended::Closed { golem: golem_id })
            } else {
                let off = GolemRegistry::deregisterCall { golemId: golem_id }.abi_encode();
                (owner.signer.address(), off, Ended::Deregistered { golem: golem_id })
            };
            let receipt = stage.send_as(who, registry, U256::ZERO, data.into()).await?;
            let end = ended(watched).await?;
            assert_eq!((Some(end.block.number), end.cause), (receipt.block_number, cause));
        }

        // All grants that name the account's nonce end with it.
        let mut agent = Agent::hired(&stage, &owner, 5).await?;
        agent.grant.caveats.push(Caveat::new(enforcers::NONCE, Nonce(U256::ZERO).encode()));
        agent.grant = owner.signer.grant(&stage.domain(), agent.grant)?;
        let watched = watching(heads(&stage)?, &agent.grant).await?;
        let _ = agent.attempt(&stage, &swap(&stage, agent.account, dollars(1))).await?.receipt()?;
        let raise = incrementNonceCall { delegationManager: DELEGATION_MANAGER }.abi_encode();
        let raised =
            stage.send_as(agent.account, enforcers::NONCE, U256::ZERO, raise.into()).await?;
        let end = ended(watched).await?;
        assert_eq!(
            (Some(end.block.number), end.cause.state()),
            (raised.block_number, State::RevokedByOwner)
        );
        ensure!(matches!(end.cause, Ended::NonceRaised { .. }), "{end:?}");

        let agent = Agent::hired(&stage, &owner, 5).await?;
        let watched = watching(heads(&stage)?, &agent.grant).await?;
        stage.warp(stage.now().await? + 604_801).await?;
        assert_eq!(ended(watched).await?.cause.state(), State::Expired, "{told}");

        let mut agent = Agent::hired(&stage, &owner, 5).await?;
        let before = stage.node().head().await?.number + 3;
        let blocks = BlockNumber { after: 0, before: before.into() };
        agent.grant.caveats.push(Caveat::new(enforcers::BLOCK_NUMBER, blocks.encode()));
        agent.grant = owner.signer.grant(&stage.domain(), agent.grant)?;
        let watched = watching(heads(&stage)?, &agent.grant).await?;
        while stage.node().head().await?.number < before {
            ensure!(!watched.is_finished(), "it ended before its block");
            stage.node().provider().anvil_mine(Some(1), None).await?;
        }
        let end = ended(watched).await?;
        assert_eq!((end.block.number, end.cause.state()), (before, State::Expired), "{told}");

        let agent = Agent::hired(&stage, &owner, 1).await?;
        let watched = watching(heads(&stage)?, &agent.grant).await?;
        let _ = agent.attempt(&stage, &swap(&stage, agent.account, dollars(1))).await?.receipt()?;
        assert_eq!(ended(watched).await?.cause.state(), State::Exhausted, "{told}");
    }
    Ok(())
}

/// Passes bytes to the node, and everything is cut when it is dropped.
pub(crate) struct Wire {
    pub(crate) url: Url,
    pub(crate) task: JoinHandle<()>,
}

impl Wire {
    pub(crate) async fn to(stage: &Stage) -> Result<Self> {
        let port = stage.chain().url().port().context("no port")?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("ws://{}/", listener.local_addr()?).parse()?;
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((mut from, _)) = listener.accept().await {
                open.spawn(async move {
                    let mut to = TcpStream::connect(("127.0.0.1", port)).await?;
                    tokio::io::copy_bidirectional(&mut from, &mut to).await
                });
            }
        });
        Ok(Self { url, task })
    }
}

/// A socket that is cut, or never was there: the node is asked.
#[tokio::test]
async fn where_nobody_tells_it_is_asked_for() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let wire = Wire::to(&stage).await?;
    let heads = Heads::of(stage.node().clone(), OFTEN);
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let mut heads = heads.told_by(wire.url.clone());
    heads.next().await?;
    ensure!(heads.is_told(), "at first it is told");
    let watched = watching_on(heads, &agent.grant)?;
    wire.task.abort();
    let block = disable(&stage, &agent).await?;
    assert_eq!(ended(watched).await?.block.number, block);

    // The port is closed by now.
    let agent = Agent::hired(&stage, &owner, 4).await?;
    let heads = Heads::of(stage.node().clone(), OFTEN).told_by(wire.url.clone());
    let watched = watching(heads, &agent.grant).await?;
    let block = disable(&stage, &agent).await?;
    assert_eq!(ended(watched).await?.block.number, block);
    Ok(())
}

/// A node that fails at one question has not said that nothing was counted: what is dead is never called alive.
#[tokio::test]
async fn a_node_that_fails_is_no_answer() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 1).await?;
    let _ = agent.attempt(&stage, &swap(&stage, agent.account, dollars(1))).await?.receipt()?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let node = Node::connect(proxy.url()).await?;
    let chain = PermissionContext::new(vec![agent.grant.clone()])?;
    for skipped in 0..4 {
        proxy.fail_after(
            "eth_call",
            skipped,
            1,
            Fault::Lie(Arc::new(|answer| {
                *answer = serde_json::json!({
                    "jsonrpc": "2.0", "id": answer["id"],
                    "error": { "code": -32_603, "message": "internal error" },
                });
            })),
        );
        let seen = observe(&node, DELEGATION_MANAGER, &chain, &[]).await;
        let failed = proxy.failed() > 0;
        ensure!(failed || skipped > 0, "nobody was asked");
        ensure!(seen.is_err() == failed, "{skipped}: {seen:?}");
    }
    Ok(())
}

/// A block of a rollup is two seconds: whether a grant lives is known in a few round trips, however much it holds.
#[tokio::test]
async fn a_look_takes_a_few_round_trips() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::from_millis(50)).await?;
    let node = Node::connect(proxy.url()).await?;
    let _ = (proxy.requests(), proxy.round_trips());
    let watched = watching_on(Heads::of(node, OFTEN), &agent.grant)?;
    let block = revoke_all(&stage, &owner).await?;

    let end = ended(watched).await?;

    assert_eq!(end.block.number, block);
    // At most one look before the revocation, one on its block, and the heads asked for in between.
    let trips = proxy.round_trips();
    ensure!(trips <= 12, "{trips} round trips");
    Ok(())
}
