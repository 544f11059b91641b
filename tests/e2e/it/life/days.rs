//! Ordinary days, and what changes them.

use super::{DAY, DCA, DOLLAR, HOUR, Home, ticks};
use alloy::primitives::{Address, B256};
use anyhow::{Result, ensure};
use async_trait::async_trait;
use bardo_testkit::dollars;
use golem_chain::Writing;
use golem_custody::{BoxError, DenialCode, InferenceTier, Keys, Parameter, Recommendation};
use golem_delegation::grant::Phase;
use golem_runtime::{Counsel, Model, ObservingCause, Outcome, Strategist, Thought, Wish, World};
use std::{collections::BTreeMap, sync::Arc};

/// L1: a week of buying the same for the same: once a day, from the owner's account, nothing for the key.
#[tokio::test]
async fn a_golem_buys_a_little_every_day() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let mut golem = home.wakes().await?;
    let (usdc, weth) = (home.stage.book().usdc, home.stage.book().weth);

    let mut bought = 0;
    for tick in 0..12u64 {
        let ticked = ticks(&mut golem).await?;
        assert_eq!(ticked.number, tick + 1);
        ensure!(ticked.observing.is_none(), "{ticked:?}");
        for (wish, outcome) in &ticked.deeds {
            assert_eq!(*outcome, Outcome::Done, "{wish:?}");
            bought += 1;
        }
        home.later(6 * HOUR).await?;
    }

    assert_eq!(bought, 3, "twelve ticks of six hours are three days");
    assert_eq!(home.holds(usdc).await?, dollars(2_000 - 150));
    ensure!(!home.holds(weth).await?.is_zero());
    // A dollar and a half a day, from its first tick to its last.
    let cost = golem.life().cost;
    ensure!((4_125_000..4_126_000).contains(&cost), "{cost}");
    let session = golem.grant().delegate;
    ensure!(home.stage.balance_of(usdc, session).await?.is_zero(), "the key holds dollars");
    ensure!(home.stage.balance_of(weth, session).await?.is_zero(), "the key holds ether");
    let beats =
        golem_chain::Registry::open(home.stage.node()).await?.heartbeats(home.id, 0).await?;
    ensure!(beats.len() >= 2, "the log is anchored once a day: {}", beats.len());
    drop(golem);
    assert_eq!(home.told("event.tick")?, 12);
    Ok(())
}

/// INV-8, D9: a crash in prices moves the phase forward and stops new positions, on chain and in the Golem; its owner's Feed alone leads
/// back.
#[tokio::test]
async fn a_fall_leads_to_conservation_and_only_feed_leads_back() -> Result<()> {
    let home = Home::with(
        "- strategy: rebalance\n- token: weth\n- against: settlement\n- target: 20%\n- band: 5%\n",
        "- every: 1h\n",
    )
    .await?;
    let mut golem = home.wakes().await?;
    for _ in 0..3 {
        let _ = ticks(&mut golem).await?;
        home.later(HOUR).await?;
    }
    let before = home.entry().await?.state.phase;
    ensure!(before < Phase::Conservation, "{before:?}");

    let price = home.ether_price().await?;
    home.ether_costs(price * 45 / 100).await?;
    let ticked = ticks(&mut golem).await?;

    assert_eq!(ticked.phase, Phase::Conservation, "{:?}", ticked.clocks);
    assert_eq!(home.entry().await?.state.phase, Phase::Conservation);
    for (wish, outcome) in &ticked.deeds {
        let Outcome::Refused(denials) = outcome else { anyhow::bail!("{wish:?}: {outcome:?}") };
        assert_eq!(denials[0].code, DenialCode::Phase, "{denials:?}");
    }
    ensure!(!ticked.deeds.is_empty(), "nothing was wanted");
    // Prices come back, and the phase does not.
    home.ether_costs(price).await?;
    home.later(HOUR).await?;
    assert_eq!(ticks(&mut golem).await?.phase, Phase::Conservation);

    home.writes(&Writing::Feed { golem: home.id, phase: Phase::Stable }).await?;
    home.later(HOUR).await?;
    let fed = ticks(&mut golem).await?;

    assert_eq!(fed.phase, Phase::Stable, "{:?}", fed.clocks);
    drop(golem);
    assert_eq!(home.told("event.fed")?, 1);
    Ok(())
}

/// L4: asleep, it wants nothing, and the chain takes nothing from its key either.
#[tokio::test]
async fn a_dreamer_does_nothing_and_the_chain_sees_to_it() -> Result<()> {
    let home = Home::with(DCA, "- every: 1h\n- dream: 6h every 24h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    home.later(19 * HOUR).await?;

    let asleep = ticks(&mut golem).await?;

    ensure!(asleep.dreaming && asleep.deeds.is_empty(), "{asleep:?}");
    ensure!(home.entry().await?.state.dreaming, "the registry does not know");
    let denied = home.judged(&golem, 10).await?;
    assert_eq!(denied, Some(DenialCode::Dreaming));
    home.later(6 * HOUR).await?;
    let awake = ticks(&mut golem).await?;
    ensure!(!awake.dreaming && awake.deeds.len() == 1, "{awake:?}");
    ensure!(!home.entry().await?.state.dreaming);
    drop(golem);
    assert_eq!((home.told("event.dreamBegan")?, home.told("event.dreamEnded")?), (1, 1));
    Ok(())
}

/// D21: a hosted Golem that starts again has another key, looks on, and says so.
#[tokio::test]
async fn a_golem_without_a_grant_for_its_key_looks_on() -> Result<()> {
    let mut home = Home::with(DCA, "- every: 1h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    drop(golem);
    home.keys = Keys::hosted();
    home.later(2 * DAY).await?;

    let mut golem = home.wakes().await?;
    let ticked = ticks(&mut golem).await?;

    assert_eq!(ticked.observing, Some(ObservingCause::Unattached));
    ensure!(ticked.deeds.is_empty());
    assert_eq!(home.holds(home.stage.book().usdc).await?, dollars(1_950));
    Ok(())
}

/// A model that says what it was told to say.
struct Says(Recommendation);

#[async_trait]
impl Model for Says {
    async fn recommend(
        &self,
        _: InferenceTier,
        _: &World,
    ) -> Result<Option<Recommendation>, BoxError> {
        Ok(Some(self.0.clone()))
    }
}

fn recommends(model: &str, sell: Address, buy: Address, usd: u64) -> Arc<Says> {
    let with = BTreeMap::from([
        ("sell".to_owned(), Parameter::Choice(sell.to_string())),
        ("buy".to_owned(), Parameter::Choice(buy.to_string())),
        ("microDollars".to_owned(), Parameter::Amount((usd * DOLLAR).into())),
    ]);
    Arc::new(Says(Recommendation {
        model: model.to_owned(),
        action: "swap".to_owned(),
        with,
        confidence: 9_000,
        reasoning: B256::ZERO,
    }))
}

/// K9: two models that disagree move nothing; two that agree move the smaller of both, and never what the owner did not list.
#[tokio::test]
async fn two_models_have_to_agree_before_anything_is_signed() -> Result<()> {
    let home = Home::with("- goal: none of its own\n", "- every: 1h\n").await?;
    let (usdc, weth) = (home.stage.book().usdc, home.stage.book().weth);
    let counsel = |a: Arc<Says>, b: Arc<Says>| -> Arc<dyn Strategist> {
        Arc::new(Counsel::new(a, b, vec![usdc, weth], 5_000))
    };
    let apart = counsel(recommends("one", usdc, weth, 40), recommends("two", weth, usdc, 40));
    let mut golem = home.wakes_with(apart).await?;
    let ticked = ticks(&mut golem).await?;
    ensure!(ticked.deeds.is_empty(), "{ticked:?}");
    drop(golem);
    assert_eq!(home.told("intent.signed")?, 0, "nothing is signed");
    assert_eq!(home.told("event.modelsDisagreed")?, 1);

    let stranger = Address::repeat_byte(0x99);
    let elsewhere =
        counsel(recommends("one", usdc, stranger, 40), recommends("two", usdc, stranger, 40));
    let mut golem = home.wakes_with(elsewhere).await?;
    ensure!(ticks(&mut golem).await?.deeds.is_empty());
    drop(golem);

    let alike = counsel(recommends("one", usdc, weth, 40), recommends("two", usdc, weth, 38));
    let mut golem = home.wakes_with(alike).await?;
    let ticked = ticks(&mut golem).await?;
    let wish = Wish::Swap { sell: usdc, buy: weth, micro_dollars: 38 * DOLLAR };
    assert_eq!(ticked.deeds, [(wish, Outcome::Done)]);
    Ok(())
}

/// P2: what its own policy refuses is remembered, excites, and teaches it that it does not know its world.
#[tokio::test]
async fn what_its_policy_refuses_excites_it_and_costs_it_life() -> Result<()> {
    struct Greedy(Wish);
    #[async_trait]
    impl Strategist for Greedy {
        fn name(&self) -> &str {
            "greedy"
        }
        async fn think(&self, _: &World) -> Result<Thought, BoxError> {
            Ok(Thought::Wishes(vec![self.0.clone()]))
        }
    }
    let home = Home::with("- goal: none of its own\n", "- every: 1h\n").await?;
    let (usdc, weth) = (home.stage.book().usdc, home.stage.book().weth);
    let wish = Wish::Swap { sell: usdc, buy: weth, micro_dollars: 501 * DOLLAR };
    let mut golem = home.wakes_with(Arc::new(Greedy(wish))).await?;

    let ticked = ticks(&mut golem).await?;

    let Outcome::Refused(denials) = &ticked.deeds[0].1 else { anyhow::bail!("{ticked:?}") };
    assert_eq!(denials[0].code, DenialCode::PolicySpendTransaction);
    ensure!(golem.life().mood.arousal >= 10, "{:?}", golem.life().mood);
    home.later(HOUR).await?;
    let again = ticks(&mut golem).await?;
    ensure!(again.clocks.epistemic < 10_000, "{:?}", again.clocks);
    assert_eq!(home.entry().await?.state.mood.arousal, 9, "ten, and a tick later");
    drop(golem);
    ensure!(home.told("event.intentRefused")? >= 1, "the log does not know");
    Ok(())
}
