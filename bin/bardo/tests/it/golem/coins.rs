//! SPEC L5: an owner is told what his Golem's death costs, and when its key has no more than that.

use super::{DAY, HOUR, Scene};
use crate::command::bardo;
use alloy::primitives::{Address, U256};
use anyhow::{Context as _, Result, ensure};
use bardo_testkit::STIPEND;
use serde_json::Value;

fn asks_for_coins(status: &Value) -> bool {
    let asks = status["asks"].as_array().into_iter().flatten();
    asks.into_iter().any(|ask| ask["what"] == "coins")
}

#[tokio::test]
async fn an_owner_is_asked_for_coins_when_there_are_no_more_than_a_death_costs() -> Result<()> {
    let scene = Scene::local().await?;
    let golem = scene.runs_local()?;
    golem.says("tick")?;
    let well = scene.status()?;
    let wei = |of: &Value| -> Result<U256> { Ok(of.as_str().context("no sum")?.parse()?) };
    ensure!(wei(&well["keyBalance"])? > wei(&well["deathReserve"])?, "{well}");
    ensure!(!asks_for_coins(&well), "{well}");
    let key: Address = serde_json::from_value(well["key"].clone())?;
    scene.stage.fund(key, wei(&well["deathReserve"])? / U256::from(3), U256::ZERO).await?;

    scene.ticks_after(&golem, DAY).await?;

    let poor = scene.status()?;
    ensure!(asks_for_coins(&poor), "{poor}");
    let told = bardo(["golem", "history", "--data", &scene.path("golem")])?;
    ensure!(told.stdout.contains("it does only what that needs"), "{told:?}");
    scene.stage.fund(key, STIPEND, U256::ZERO).await?;
    scene.ticks_after(&golem, HOUR).await?;
    ensure!(!asks_for_coins(&scene.status()?), "it asks on");
    golem.stops()?;
    Ok(())
}
