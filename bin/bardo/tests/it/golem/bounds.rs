//! SPEC K6: a local Golem lives within the bounds that its owner named at onboarding, and the chain keeps each of them.

use super::{DAY, HOUR, Scene};
use crate::command::bardo;
use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::defi::Erc20;
use bardo_testkit::{dollars, fair_swap};
use serde_json::{Value, json};

impl Scene {
    /// Eighty dollars a day, so many calls, and what is needed to buy: the router, what is sold, and what is bought.
    async fn bounded(calls: &str) -> Result<(Self, Value)> {
        let scene = Self::open().await?;
        let (pw, book) = (scene.path("pw"), scene.stage.book());
        let (usdc, router) = (book.usdc.to_string(), book.swap_router_02.to_string());
        let weth = book.weth.to_string();
        let said = scene.onboards(&[
            "--mode",
            "local",
            "--session-password-file",
            &pw,
            "--daily",
            "80000000",
            "--calls",
            calls,
            "--target",
            &router,
            "--target",
            &usdc,
            "--target",
            &weth,
        ])?;
        Ok((scene, said))
    }

    /// What the chain says to these calls of whoever has the key.
    fn tried(&self, grant: &str, calls: &[(Address, Bytes)]) -> Result<Value> {
        let calls: Vec<Value> =
            calls.iter().map(|(target, data)| json!({ "target": target, "data": data })).collect();
        let calls = self.private("calls.json", &json!(calls).to_string())?;
        let words = ["delegation", "simulate", "--rpc", self.rpc(), "--context", grant];
        bardo([&words[..], &["--calls", &calls, "--json"]].concat())?.json()
    }
}

/// It buys by an allowance and a swap, one call at a time in one transaction; a third purchase would be its fifth and sixth call.
#[tokio::test]
async fn a_local_golem_buys_within_its_bounds_and_its_calls_end() -> Result<()> {
    let (scene, said) = Scene::bounded("5").await?;
    let grant = said["grant"].as_str().context("no grant")?.to_owned();
    assert_eq!(said["bounds"]["calls"], "5", "{said}");
    assert_eq!(said["bounds"]["microDollarsInADay"], 80_000_000, "{said}");
    assert_eq!(said["bounds"]["targets"].as_array().map(Vec::len), Some(3), "{said}");
    let golem = scene.runs_local()?;

    let first = golem.does()?;

    assert_eq!(first["deeds"][0]["outcome"], "done", "{first}");
    assert_eq!(scene.dollars().await?, dollars(950));
    let status = scene.status()?;
    assert_eq!((&status["calls"], &status["bounds"]["calls"]), (&"2".into(), &"5".into()));
    assert_eq!(status["capPerDay"], 80_000_000, "{status}");
    let second = scene.does_after(&golem, DAY + 3 * HOUR).await?;
    assert_eq!(second["deeds"][0]["outcome"], "done", "{second}");
    let third = scene.does_after(&golem, DAY + 3 * HOUR).await?;
    assert_eq!(third["deeds"][0]["outcome"], "refused", "{third}");
    let history = scene.golem("history", &["--limit", "500"])?;
    ensure!(history.stdout.contains("CAV-CALLS"), "{history:?}");
    assert_eq!(scene.dollars().await?, dollars(900));
    golem.stops()?;

    // And whoever has the key meets the same bounds at the chain.
    let (book, account) = (scene.stage.book(), scene.status()?["account"].clone());
    let account: Address = serde_json::from_value(account)?;
    let allow =
        |spender, amount| -> Bytes { Erc20::approveCall { spender, amount }.abi_encode().into() };
    let buys = |amount| {
        let swap = fair_swap(&scene.stage, account, amount);
        [(book.usdc, allow(book.swap_router_02, amount)), (swap.target, swap.data)]
    };
    for (calls, code) in [
        (&buys(dollars(50))[..], "CAV-CALLS"),
        (&buys(dollars(81)), "CAV-SPEND"),
        (&[(book.position_manager, allow(book.swap_router_02, dollars(1)))], "CAV-TARGET"),
        (&[(book.vault, allow(book.swap_router_02, dollars(1)))], "CAV-TARGET"),
    ] {
        let no = scene.tried(&grant, calls)?;
        assert_eq!((&no["allowed"], &no["code"]), (&false.into(), &code.into()), "{no}");
    }
    let words = bardo(["delegation", "explain", &grant])?;
    ensure!(words.stdout.contains("It can be used 5 times at most."), "{words:?}");
    ensure!(words.stdout.contains("alone."), "{words:?}");
    Ok(())
}

#[tokio::test]
async fn a_local_golems_day_is_as_its_owner_said() -> Result<()> {
    let (scene, said) = Scene::bounded("50").await?;
    let grant = said["grant"].as_str().context("no grant")?;
    let account: Address = serde_json::from_value(said["account"].clone())?;
    let book = scene.stage.book();
    let buy = |amount: U256| {
        let swap = fair_swap(&scene.stage, account, amount);
        let allow = Erc20::approveCall { spender: book.swap_router_02, amount }.abi_encode();
        [(book.usdc, allow.into()), (swap.target, swap.data)]
    };
    let golem = scene.runs_local()?;
    golem.does()?;
    golem.stops()?;

    // Fifty of eighty are spent.
    let (fits, more) =
        (scene.tried(grant, &buy(dollars(29)))?, scene.tried(grant, &buy(dollars(31)))?);

    assert_eq!(fits["allowed"], true, "{fits}");
    assert_eq!((&more["allowed"], &more["code"]), (&false.into(), &"CAV-SPEND".into()), "{more}");
    Ok(())
}

/// What nobody named is usual, and shown; and a local key takes no gas money from the account.
#[tokio::test]
async fn a_local_golem_is_bounded_where_its_owner_says_nothing() -> Result<()> {
    let scene = Scene::open().await?;
    let (pw, data) = (scene.path("pw"), scene.path("golem"));
    let whose = ["--rpc", scene.rpc(), "--data", &data, "--key-file", &scene.owner.file];
    let mode = ["--mode", "local", "--session-password-file", &pw];

    let ran = bardo([&["onboard"][..], &whose, &mode].concat())?;

    assert_eq!(ran.code, 0, "{ran:?}");
    for says in [
        "bounds   $1,000.00 in any 24 hours, 1440 calls, until ",
        "two calls",
        "Its gas it pays itself",
    ] {
        ensure!(ran.stdout.contains(says), "{says}: {}", ran.stdout);
    }
    let words = bardo(["delegation", "explain", &scene.path("golem/grant.json")])?;
    ensure!(words.stdout.contains("It can be used 1440 times at most."), "{words:?}");
    let account = scene.status()?["account"].clone();
    let key = scene.status()?["key"].clone();
    let account: Address = serde_json::from_value(account)?;
    let key: Address = serde_json::from_value(key)?;
    scene.stage.fund(account, U256::from(1_000_000_000_000_000_000_u64), U256::ZERO).await?;
    let grant = scene.path("golem/grant.json");
    let no = scene.tried(&grant, &[(key, Bytes::new())])?;
    assert_eq!(no["code"], "CAV-TARGET", "{no}");
    Ok(())
}
