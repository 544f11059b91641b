//! SPEC X3: a budget that is kept here, held against what the charter counted.

use alloy::{
    primitives::{Address, U256},
    providers::ext::AnvilApi,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_testkit::{Agent, Stage, dollars, fair_swap};
use golem_chain::{AccountKind, environment, observe};
use golem_custody::DenialCode;
use golem_delegation::{Budget, Drift, PermissionContext, Rule, SpendTerms, terms::GolemCharter};

const DOLLAR: u64 = 1_000_000;

fn terms(agent: &Agent) -> Result<SpendTerms> {
    let rules = environment().rules(&agent.grant.caveats)?;
    let charter = rules.iter().find_map(|rule| match rule {
        Rule::GolemCharter(charter) => Some(charter),
        _ => None,
    });
    Ok(charter.context("no charter")?.spend_window()?)
}

/// What the charter has counted, and on which block.
async fn asked(stage: &Stage, agent: &Agent) -> Result<(U256, u64, u64)> {
    let chain = PermissionContext::new(vec![agent.grant.clone()])?;
    let seen = observe(stage.node(), DELEGATION_MANAGER, &chain, &[]).await?;
    let facts = seen.facts.charters.values().next().context("no facts")?;
    let word = facts.spend_window.context("no window")?;
    Ok((word, seen.block.number, seen.block.timestamp))
}

#[tokio::test]
async fn a_budget_kept_here_is_the_chains() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    // Nothing but the day's cap bounds a swap.
    let by_the_day =
        |law: &mut GolemCharter| (law.nav_cap, law.vault) = (law.spend_cap, Address::ZERO);
    let agent = Agent::chartered(&stage, &owner, by_the_day).await?;
    let mut budget = Budget::new(terms(&agent)?);
    let sale = |usd: u64| fair_swap(&stage, agent.account, dollars(usd));

    // Kept, done, and counted alike.
    let now = stage.now().await?;
    let mine = budget.reserve(100 * DOLLAR, now)?;
    let receipt = agent.attempt(&stage, &sale(100)).await?.receipt()?;
    budget.settle(mine, receipt.block_number);
    let (word, block, now) = asked(&stage, &agent).await?;
    assert_eq!(budget.reconcile(word, block, now)?, Drift::None);

    // Whatever was spent without being kept is learnt.
    let before = stage.node().provider().anvil_snapshot().await?;
    let _ = agent.attempt(&stage, &sale(50)).await?.receipt()?;
    let (word, block, now) = asked(&stage, &agent).await?;
    let drift = budget.reconcile(word, block, now)?;
    ensure!(matches!(drift, Drift::ChainCountsMore(more) if more >= 50_000_000), "{drift:?}");

    // What is refused here is refused there, and what is left here passes there.
    let left = budget.remaining(now)?;
    ensure!(budget.reserve(left + 1, now).is_err());
    let denial = agent.attempt(&stage, &sale(left / DOLLAR + 1)).await?.refusal()?;
    assert_eq!(denial.code, DenialCode::Spend, "{denial}");
    let rest = budget.reserve(left / DOLLAR * DOLLAR, now)?;
    let receipt = agent.attempt(&stage, &sale(left / DOLLAR)).await?.receipt()?;
    budget.settle(rest, receipt.block_number);
    let (word, block, now) = asked(&stage, &agent).await?;
    assert_eq!(budget.reconcile(word, block, now)?, Drift::None);

    // A reorganisation gives back, once the chain has come as far again: until then it may be a node that is behind.
    let provider = stage.node().provider();
    ensure!(provider.anvil_revert(before).await?, "no such state");
    let (word, block, now) = asked(&stage, &agent).await?;
    let drift = budget.reconcile(word, block, now)?;
    ensure!(matches!(drift, Drift::ChainCountsLess(_)), "{drift:?}");
    ensure!(budget.remaining(now)? < 100 * DOLLAR, "it may have been done");
    provider.anvil_mine(Some(receipt.block_number - block), None).await?;
    let (word, block, now) = asked(&stage, &agent).await?;
    budget.reconcile(word, block, now)?;
    ensure!(budget.remaining(now)? >= 890 * DOLLAR, "it was not");
    Ok(())
}
