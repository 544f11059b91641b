//! SPEC L1: what was bought in a tick that was never recorded was bought: a kill or a fault behind it buys nothing twice.

use super::{DAY, DOLLAR, HOUR, Home, awake, crashes::house, documents, provisions, ticks};
use alloy::primitives::U256;
use anyhow::{Context as _, Result, bail, ensure};
use async_trait::async_trait;
use bardo_testkit::{Fault, Proxy, STIPEND, dollars};
use golem_chain::{Node, Writing, environment};
use golem_custody::{BoxError, Keyring as _, Keys};
use golem_delegation::grant::Grant;
use golem_runtime::{
    Dca, FolderInbox, Golem, ObservingCause, Outcome, Provisions, Strategist, Thought, TickError,
    Wish, World,
};
use golem_safety::Policy;
use std::{sync::Arc, time::Duration};

const WEEKLY: &str =
    "- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $50\n- every: 7d\n";
/// How the calls of a wish begin: which factory the router has.
const FACTORY: &str = "0xc45a0155";

/// Buys every week, and sells a little of it behind that.
struct Both(Dca);

#[async_trait]
impl Strategist for Both {
    fn name(&self) -> &str {
        "both"
    }

    async fn think(&self, world: &World) -> Result<Thought, BoxError> {
        let Thought::Wishes(mut wishes) = self.0.think(world).await? else {
            return Err("it disagrees".into());
        };
        if !wishes.is_empty() {
            let (sell, buy) = (self.0.buy, self.0.sell);
            wishes.push(Wish::Swap { sell, buy, micro_dollars: DOLLAR });
        }
        Ok(Thought::Wishes(wishes))
    }
}

/// A Golem that bought for fifty dollars, and met a fault behind that: its tick is not recorded.
async fn interrupted(home: &Home, proxy: &Proxy) -> Result<Golem> {
    let (sell, buy) = (home.stage.book().usdc, home.stage.book().weth);
    let both = Both(Dca { sell, buy, micro_dollars: 50 * DOLLAR, every: 7 * DAY });
    let node = Node::connect(proxy.url()).await?;
    let (store, keys) = (home.store()?, home.keys.clone());
    let provided =
        provisions(node, store, keys, documents(WEEKLY, "- every: 1h\n"), home.now.clone());
    let mut golem = awake(Provisions { strategist: Some(Arc::new(both)), ..provided }).await?;
    let fails = Fault::Claim(Arc::new(
        || serde_json::json!({ "error": { "code": -32_603, "message": "internal error" } }),
    ));
    proxy.fail_after(FACTORY, 1, 1, fails);

    let fault = golem.tick().await;

    ensure!(proxy.failed() == 1, "the second wish was not come to: {fault:?}");
    ensure!(matches!(fault, Err(TickError::Chain(_))), "{fault:?}");
    ensure!(home.holds(sell).await? == dollars(1_950), "it bought nothing");
    ensure!(golem.life().ticks == 0, "it is recorded");
    Ok(golem)
}

/// A fault behind a buy: the tick that is done again may spend nothing more that day, wants nothing, and the week counts from the buy.
#[tokio::test]
async fn a_fault_behind_a_buy_does_not_double_it() -> Result<()> {
    let home = Home::with(WEEKLY, "- every: 1h\n").await?;
    let proxy = Proxy::before(home.stage.chain().url(), Duration::ZERO).await?;
    let mut golem = interrupted(&home, &proxy).await?;
    let bought_at = home.now();
    let (spend_per_transaction, spend_per_day) = (50 * DOLLAR, 50 * DOLLAR);
    home.publishes(&Policy { spend_per_transaction, spend_per_day, ..home.policy() }).await?;
    home.later(HOUR).await?;

    let again = ticks(&mut golem).await?;

    let [(_, Outcome::Done)] = again.deeds.as_slice() else { bail!("{again:?}") };
    assert_eq!(golem.life().last_deed, Some(bought_at));
    for _ in 0..3 {
        home.later(DAY).await?;
        let quiet = ticks(&mut golem).await?;
        ensure!(quiet.deeds.is_empty(), "{quiet:?}");
    }
    assert_eq!(home.holds(home.stage.book().usdc).await?, dollars(1_950));
    Ok(())
}

/// D21: a hosted Golem that bought, and lost its process before it wrote that down, looks on at first, and does not buy again when its owner
/// grants its next key the same.
#[tokio::test]
async fn a_hosted_golem_does_not_buy_again_once_its_next_key_is_granted() -> Result<()> {
    let mut home = Home::with(WEEKLY, "- every: 1h\n").await?;
    let proxy = Proxy::before(home.stage.chain().url(), Duration::ZERO).await?;
    drop(interrupted(&home, &proxy).await?);
    home.keys = Keys::hosted();
    home.later(HOUR).await?;
    let inbox = Arc::new(FolderInbox::of(home.path()));
    let mut golem = awake(Provisions { inbox: Some(inbox.clone()), ..home.provisions()? }).await?;
    let looks_on = ticks(&mut golem).await?;
    assert_eq!(looks_on.observing, Some(ObservingCause::Unattached));
    let key = home.keys.current().await.context("no key")?;
    home.stage.fund(key, STIPEND, U256::ZERO).await?;
    home.writes(&Writing::Attach { golem: home.id, agent_key: key }).await?;
    let wanted = Grant::read(golem.grant(), &environment())?.rotate(key)?.delegation;
    inbox.put(&home.owner.grant(&home.stage.domain(), wanted)?, home.now())?;

    home.later(HOUR).await?;
    let acts = ticks(&mut golem).await?;

    assert_eq!(acts.observing, None, "{acts:?}");
    ensure!(acts.deeds.is_empty(), "{acts:?}");
    assert_eq!(home.holds(home.stage.book().usdc).await?, dollars(1_950));
    home.later(7 * DAY).await?;
    let due = ticks(&mut golem).await?;
    let [(_, Outcome::Done)] = due.deeds.as_slice() else { bail!("{due:?}") };
    assert_eq!(home.holds(home.stage.book().usdc).await?, dollars(1_900));
    Ok(())
}

/// L4: killed behind its buy, and started again while it sleeps: it wants nothing then, and the week counts from the buy when it wakes.
#[tokio::test]
async fn what_was_bought_before_a_kill_is_not_bought_again_after_a_dream() -> Result<()> {
    let mut home = house("- goal: to be there\n").await?;
    let usdc = home.stage.book().usdc;
    home.ticks_again().await?;
    home.documents.strategy = WEEKLY.to_owned();
    home.later(HOUR).await?;
    home.killed_at("heartbeat.acted").await?;
    assert_eq!(home.holds(usdc).await?, dollars(1_950), "it bought nothing");
    home.later(18 * HOUR).await?;
    home.ticks_again().await?;
    ensure!(home.entry().await?.state.dreaming, "it does not dream");
    assert_eq!(home.told("event.tick")?, 2);

    for _ in 0..3 {
        home.later(6 * HOUR).await?;
        home.ticks_again().await?;
    }

    assert_eq!(home.holds(usdc).await?, dollars(1_950), "it bought twice");
    Ok(())
}
