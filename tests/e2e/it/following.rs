//! SPEC X2, G5, D19: what one task hears of new blocks is what every dry run and every watch goes by; and nothing old is taken for new.

use crate::{
    life::{DCA, Home, awake, ticks},
    watch::{Wire, socket},
};
use alloy::{primitives::U256, providers::ext::AnvilApi as _, sol_types::SolCall as _};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{GolemRegistry, golem_registry};
use bardo_store::Archive;
use bardo_testkit::{Agent, Proxy, Stage, dollars, fair_swap, judged, mandate, swap};
use golem_chain::{AccountKind, Follow, Foresight, Heads, Landing, Lane, LanePolicy, Node};
use golem_custody::{Outcome, Preview, Redemption, SessionSigner as _};
use golem_runtime::{Clock, Glance, GolemEvent, Provisions, Pulse};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, time::timeout};
use url::Url;

const PATIENCE: Duration = Duration::from_secs(60);
/// Longer than a test lasts: whoever knows sooner was told.
const NEVER: Duration = Duration::from_secs(600);
const OFTEN: Duration = Duration::from_millis(50);

async fn judge(foresight: &Foresight, sale: &Redemption, agent: &Agent) -> Result<Preview> {
    match foresight.judge(sale, agent.key.address()).await? {
        Outcome::Allowed(preview) => Ok(preview),
        Outcome::Refused(denial) => bail!("{denial:?}"),
    }
}

/// X2: as the product judges, and not with a header that a test has fetched before.
#[tokio::test]
async fn two_dry_runs_in_one_block_ask_once_and_a_new_block_costs_three_round_trips() -> Result<()>
{
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::from_millis(50)).await?;
    let follow = Follow { socket: Some(socket(&stage)?), poll: NEVER, fresh: NEVER };
    let node = Node::connect(proxy.url()).await?.following(follow);
    let mut heads = Heads::of(node.clone(), NEVER);
    let foresight = Foresight::new(node);
    let sale = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;
    timeout(PATIENCE, heads.next()).await??;
    judge(&foresight, &sale, &agent).await?;
    let _ = (proxy.requests(), proxy.round_trips());

    let again = judge(&foresight, &sale, &agent).await?;

    ensure!(proxy.requests() == 0, "a known block was asked about");
    for moved in [1, 300] {
        let other = stage.owner(AccountKind::Stateless7702).await?;
        let before = stage.node().head().await?.number;
        while timeout(PATIENCE, heads.next()).await??.number < before {}
        judge(&foresight, &sale, &agent).await?;
        let _ = (proxy.requests(), proxy.round_trips());
        let call = fair_swap(&stage, other.account.address, dollars(moved));
        other.account.act(stage.node(), &other.signer, &[call]).await?;
        let head = timeout(PATIENCE, heads.next()).await??;
        ensure!(head.number > before, "{head:?}");

        let preview = judge(&foresight, &sale, &agent).await?;

        ensure!(preview.block == head && head.number > again.block.number, "{preview:?}");
        let trips = proxy.round_trips();
        ensure!(trips <= 3, "{trips} round trips, that of the header included");
    }
    Ok(())
}

/// Somebody who follows and has not asked for too long knows nothing: the node is asked.
#[tokio::test]
async fn what_was_heard_too_long_ago_is_asked_for() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
    let sale = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;
    for (fresh, is_new) in [(Duration::ZERO, true), (NEVER, false)] {
        let node = Node::connect(stage.chain().url()).await?;
        let node = node.following(Follow { socket: None, poll: NEVER, fresh });
        timeout(PATIENCE, Heads::of(node.clone(), NEVER).next()).await??;
        let foresight = Foresight::new(node);
        judge(&foresight, &sale, &agent).await?;
        stage.node().provider().anvil_mine(Some(1), None).await?;

        let seen = judge(&foresight, &sale, &agent).await?.block;

        assert_eq!(seen == stage.node().head().await?, is_new, "{fresh:?}");
    }
    Ok(())
}

/// Whoever has a receipt knows of its block, whether the one who follows has heard of it or not.
#[tokio::test]
async fn after_a_receipt_nothing_is_judged_on_the_block_before() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let node = Node::connect(stage.chain().url()).await?;
    // It hears of one block, and of none after that.
    let node = node.following(Follow { socket: None, poll: NEVER, fresh: NEVER });
    let first = timeout(PATIENCE, Heads::of(node.clone(), NEVER).next()).await??;
    let foresight = Arc::new(Foresight::new(node));
    let sale = agent.redemption(&swap(&stage, agent.account, dollars(1)))?;
    let by = agent.key.address();
    let now = stage.now().await?;
    let quick = LanePolicy { confirmations: 1, poll: OFTEN, ..LanePolicy::default() };
    let lane = Lane::open(Arc::clone(&foresight), agent.key, mandate(), quick, move || now).await?;

    for _ in 0..2 {
        let landing = lane.redeem(judged(sale.clone())).await?;
        let Landing::Done(receipt) = landing else { bail!("{landing:?}") };

        let Outcome::Allowed(preview) = foresight.judge(&sale, by).await? else { bail!("refused") };

        ensure!(preview.block.number >= receipt.block_number, "{preview:?}: {receipt:?}");
        ensure!(preview.block.number > first.number, "{preview:?}");
    }
    Ok(())
}

/// What a Golem that lives says of the end of its grant: in which block, and why.
async fn revoked(home: &Home, follow: Follow, cut: Option<Wire>) -> Result<(u64, String)> {
    let node = home.stage.node().clone().following(follow);
    let clock = Clock::of(&node, || 0).await?;
    let mut golem = awake(Provisions { node, ..home.provisions()? }).await?;
    let _ = ticks(&mut golem).await?;
    if let Some(wire) = cut {
        wire.task.abort();
    }
    let said = Mutex::new(None);
    let known = Notify::new();
    let live = golem.live(&clock, known.notified(), |pulse| {
        if let Pulse::GrantEnded(end) = pulse {
            let found = (end.block.number, end.cause.code().to_owned());
            *said.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
            known.notify_one();
        }
    });
    let data = GolemRegistry::revokeCall { golemId: home.id }.abi_encode().into();
    let owner = home.owner.address();
    let revoke = home.stage.send_as(owner, golem_registry(), U256::ZERO, data);
    let (_ending, wrote) = timeout(PATIENCE, async { tokio::join!(live, revoke) }).await?;
    let wrote = wrote?;
    ensure!(wrote.status(), "it was not revoked");
    drop(golem);
    let found = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let (block, cause) = found.context("nothing was said of it")?;
    // While it mines, anvil shows a block's state under the hash of the one before.
    let mined = wrote.block_number.context("no block")?;
    ensure!(block == mined || block + 1 == mined, "{block}: {wrote:?}");
    Ok((block, cause))
}

/// G5: told by the socket, or asked for where that was cut; and the cause is in the log and in what is seen from outside.
#[tokio::test]
async fn a_golem_knows_in_one_block_that_its_grant_ended_and_why() -> Result<()> {
    for cut in [false, true] {
        let home = Home::with(DCA, "- every: 6h\n").await?;
        let wire = Wire::to(&home.stage).await?;
        let url: Url = wire.url.clone();
        let follow = if cut {
            Follow { socket: Some(url), poll: OFTEN, fresh: OFTEN }
        } else {
            Follow { socket: Some(url), poll: NEVER, fresh: NEVER }
        };
        let (block, cause) = if cut {
            revoked(&home, follow, Some(wire)).await?
        } else {
            let known = revoked(&home, follow, None).await?;
            drop(wire);
            known
        };

        assert_eq!(cause, "epochRevoked", "{cut}");
        let log = home.log()?;
        let told: Vec<_> =
            log.iter().filter(|record| record.body.contains("\"kind\":\"grantEnded\"")).collect();
        ensure!(
            told.len() == 1 && told.iter().all(|one| one.body.contains("epochRevoked")),
            "{told:?}"
        );
        let glance = Glance::of(&Archive::open(&home.books())?, home.now())?;
        let Some(GolemEvent::GrantEnded { block: seen, cause, .. }) = glance.ended else {
            bail!("{:?}", glance.ended);
        };
        assert_eq!((seen, cause.as_str()), (block, "epochRevoked"));
    }
    Ok(())
}
