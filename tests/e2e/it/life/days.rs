//! Ordinary days, and what changes them.

use super::{DAY, DCA, DOLLAR, HOUR, Home, ticks};
use alloy::primitives::{Address, B256, U256};
use anyhow::{Result, ensure};
use async_trait::async_trait;
use bardo_store::{MemoryKind, Page};
use bardo_testkit::dollars;
use golem_chain::Writing;
use golem_custody::{BoxError, DenialCode, InferenceTier, Keys, Parameter, Recommendation};
use golem_delegation::grant::Phase;
use golem_runtime::{
    Counsel, GolemEvent, Model, ObservingCause, Outcome, Strategist, Thought, Told, Wish, World,
};
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
    assert_eq!(home.once("fed")?, 1);
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
    assert_eq!((home.once("dreamBegan")?, home.once("dreamEnded")?), (1, 1));
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
    assert_eq!(home.once("modelsDisagreed")?, 1);

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

/// Wants the same in every tick.
pub(super) struct Greedy(pub(super) Wish);

#[async_trait]
impl Strategist for Greedy {
    fn name(&self) -> &str {
        "greedy"
    }
    async fn think(&self, _: &World) -> Result<Thought, BoxError> {
        Ok(Thought::Wishes(vec![self.0.clone()]))
    }
}

/// L4, P2: a dream brings together what refused it more than once, and says how much came of it; a dream about nothing says nothing.
#[tokio::test]
async fn a_dream_makes_one_insight_of_what_refused_it_again_and_again() -> Result<()> {
    let home =
        Home::with("- goal: none of its own\n", "- every: 1h\n- dream: 6h every 24h\n").await?;
    let (usdc, weth) = (home.stage.book().usdc, home.stage.book().weth);
    let wish = Wish::Swap { sell: usdc, buy: weth, micro_dollars: 501 * DOLLAR };
    let mut golem = home.wakes_with(Arc::new(Greedy(wish))).await?;
    for _ in 0..3 {
        let _ = ticks(&mut golem).await?;
        home.later(HOUR).await?;
    }
    drop(golem);
    let mut golem = home.wakes().await?;
    home.later(16 * HOUR).await?;
    ensure!(ticks(&mut golem).await?.dreaming);
    home.later(6 * HOUR).await?;

    ensure!(!ticks(&mut golem).await?.dreaming);

    // The second dream has nothing new to be about.
    home.later(18 * HOUR).await?;
    ensure!(ticks(&mut golem).await?.dreaming);
    home.later(6 * HOUR).await?;
    ensure!(!ticks(&mut golem).await?.dreaming);
    drop(golem);
    let ended: Vec<u64> = home
        .log()?
        .iter()
        .filter_map(|record| match Told::of(record).event {
            GolemEvent::DreamEnded { memories } => Some(memories),
            _ => None,
        })
        .collect();
    assert_eq!(ended, [1, 0]);
    let store = home.store()?;
    let insights = store.memories(Some(MemoryKind::Insight), Page::first(9)).await?;
    assert_eq!(insights.len(), 1, "{insights:?}");
    assert_eq!(insights[0].data["times"], 3);
    assert_eq!(insights[0].parents.len(), 3);
    Ok(())
}

/// L2, K9: what the market made of what it held is its revenue, a deposit is none, and a day that is not over says nothing.
#[tokio::test]
async fn it_earns_what_the_market_made_of_what_it_held_and_no_deposit() -> Result<()> {
    let home = Home::with(DCA, "- every: 1h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    home.later(HOUR).await?;
    let _ = ticks(&mut golem).await?;
    let before = golem.life().earnings.today;
    home.stage.fund(home.vault.address, U256::ZERO, dollars(500)).await?;
    home.later(HOUR).await?;
    let _ = ticks(&mut golem).await?;
    let deposited = golem.life().earnings.today;
    ensure!((deposited - before).abs() <= 5, "a deposit is no revenue: {before} {deposited}");
    let price = home.ether_price().await?;
    home.ether_costs(price + price / 10).await?;
    home.later(HOUR).await?;

    let _ = ticks(&mut golem).await?;

    let earned = golem.life().earnings.today - deposited;
    ensure!((4_900_000..5_100_000).contains(&earned), "a tenth of fifty dollars: {earned}");
    assert_eq!(golem.life().earnings.daily(), 0);
    home.later(DAY).await?;
    let _ = ticks(&mut golem).await?;
    let daily = golem.life().earnings.daily();
    ensure!((700_000..730_000).contains(&daily), "a seventh of it: {daily}");
    Ok(())
}

/// P2, L2: what its own policy refuses is remembered and excites; what nobody should have proposed teaches it that it does not know its
/// world, and a bound that holds does not.
#[tokio::test]
async fn what_its_policy_refuses_excites_it_and_an_error_costs_it_life() -> Result<()> {
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
    assert_eq!(again.clocks.epistemic, 10_000, "a bound that holds");
    assert_eq!(home.entry().await?.state.mood.arousal, 9, "ten, and a tick later");
    drop(golem);
    assert_eq!(home.once("intentRefused")?, 2);
    let nothing = Wish::Swap { sell: usdc, buy: weth, micro_dollars: 0 };
    let mut golem = home.wakes_with(Arc::new(Greedy(nothing))).await?;
    for _ in 0..2 {
        home.later(HOUR).await?;
        let _ = ticks(&mut golem).await?;
    }
    assert_eq!(golem.life().clocks.epistemic, 8_888, "8 of 9");
    Ok(())
}
