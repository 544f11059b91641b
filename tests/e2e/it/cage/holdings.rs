use super::{COIN, DOLLAR, Scene, dollars, judging::add, total, typed};
use alloy::primitives::{
    Address, U256,
    aliases::{I24, U24, U160},
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    HoldingsEnforcer,
    defi::{
        Erc20,
        NonfungiblePositionManager::{MintParams, mintCall, multicallCall},
        SwapRouter02::{ExactInputSingleParams, exactInputSingleCall},
        UniswapV3Pool,
    },
    framework::DELEGATION_MANAGER,
    holdings_enforcer,
};
use bardo_testkit::{Fault, Proxy, dollars as usdc};
use golem_chain::{ChainFault, Ledger, Node, bundle_enforcers, facts, local::FAUCET, observe};
use golem_delegation::{
    Delegation, PermissionContext,
    bundles::{Bundle, Law},
    terms::ListedToken,
};
use golem_safety::{DenialCode, Facts};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};

const ETHER: u64 = 1_000_000_000_000_000_000;

fn of(facts: &Facts, asset: Address) -> u128 {
    facts.holdings.get(&asset).copied().unwrap_or_default().get()
}

/// The contract that keeps a mark counts coins, wrapped coins, dollars and a vault's shares, and so does the cage: to the
/// micro-dollar.
#[tokio::test]
async fn holdings_are_worth_what_the_contract_says() -> Result<()> {
    let mut scene = Scene::open(|law| {
        // The contract counts coins where they are listed.
        let coins = law.listing.tokens.iter().find(|entry| entry.token_decimals == 18).copied();
        law.listing.tokens.extend(coins.map(|coin| ListedToken {
            token: COIN,
            role: None,
            ..coin
        }));
    })
    .await?;
    let Scene { field, agent, law } = &mut scene;
    let stage = &field.stage;
    let bundles = [Bundle::MaxDrawdown(5_000)];
    let caveats = Law::new(law.clone()).under(&bundles)?.caveats(&bundle_enforcers())?;
    let unsigned = Delegation { caveats, ..agent.grant.clone() };
    agent.grant = field.owner.signer.grant(&stage.domain(), unsigned)?;
    stage.fund(field.account(), U256::from(3 * ETHER + 7), U256::ZERO).await?;
    let _ = field.deposited().await?;
    let gain = Erc20::mintCall { to: stage.book().vault, amount: U256::from(987_654_321_987_u64) };
    stage.faucet(stage.book().usdc, gain).await?;
    field.owner_does(&[field.swap(77)]).await?;
    stage.set_price(stage.book().eth_usd, 251_234_567_891).await?;
    stage.set_price(stage.book().usdc_usd, 99_912_345).await?;

    let before = scene.facts(&[], Ledger::default()).await?;
    let call = scene.field.swap(10);
    let _ = scene.agent.attempt(&scene.field.stage, &call).await?.receipt()?;
    let after = scene.facts(&[], Ledger::default()).await?;

    let mark = HoldingsEnforcer::highWaterMarkOfCall {
        manager: DELEGATION_MANAGER,
        delegator: scene.law.account,
        golemId: scene.law.golem_id,
    };
    let mark = scene.field.stage.node().read(holdings_enforcer(), mark).await?.mark;
    assert_eq!(U256::from(total(&before).max(total(&after))), mark);
    // All of it is there.
    let book = scene.field.stage.book();
    for asset in [COIN, book.weth, book.usdc] {
        ensure!(of(&before, asset) > 0, "{asset}: {before:?}");
    }
    assert_eq!(before.holdings.len(), 3, "{before:?}");
    Ok(())
}

/// A coin has the price of its wrapped form where it is not listed itself; and what is not held needs none.
#[tokio::test]
async fn coins_count_by_the_feed_of_their_wrapped_form() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let (stage, usdc) = (&scene.field.stage, scene.field.stage.book().usdc);
    let held = scene.facts(&[], Ledger::default()).await?.holdings;
    assert_eq!(held, BTreeMap::from([(usdc, dollars(10_000))]));

    stage.fund(scene.field.account(), U256::from(2 * ETHER), U256::ZERO).await?;

    let held = scene.facts(&[], Ledger::default()).await?.holdings;
    assert_eq!(held, BTreeMap::from([(COIN, dollars(5_000)), (usdc, dollars(10_000))]));
    Ok(())
}

/// What lies in a pool is held as its two tokens, whatever somebody does to the pool.
#[tokio::test]
async fn liquidity_is_its_two_tokens_and_no_trade_changes_that() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let (field, book) = (&scene.field, scene.field.stage.book());
    let none = Ledger::default();
    let before = scene.facts(&[], none).await?;
    let _ = field.position().await?;
    // Around the price, above it and below it: of two tokens, and of either.
    let tick = field.stage.node().read(book.pool_500, UniswapV3Pool::slot0Call {}).await?.tick;
    let tick = tick.as_i32() / 10 * 10;
    for (lower, upper) in [(-500, 1_000), (4_000, 5_000), (-5_000, -4_000)] {
        let params = MintParams {
            token0: book.weth,
            token1: book.usdc,
            fee: U24::from(500),
            tickLower: I24::try_from(tick + lower)?,
            tickUpper: I24::try_from(tick + upper)?,
            amount0Desired: U256::from(ETHER / 500),
            amount1Desired: usdc(5),
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            recipient: field.account(),
            deadline: U256::MAX,
        };
        field.owner_does(&[field.call(book.position_manager, &mintCall { params })]).await?;
    }
    let chain = PermissionContext::new(vec![scene.agent.grant.clone()])?;

    let held = scene.facts(&[], none).await?;

    // $100 of each, and $50 of ether beside; what the swap cost is gone.
    let near = |found: u128, expected: u64| {
        let expected = u128::from(expected * DOLLAR);
        ensure!(found.abs_diff(expected) < expected / 1_000, "{found}, not {expected}");
        Ok(())
    };
    near(of(&held, book.weth), 150)?;
    near(of(&held, book.usdc), 9_850)?;
    ensure!(total(&before).abs_diff(total(&held)) < 200_000, "{} {}", total(&before), total(&held));
    // What the manager would pay out now, at the feeds' price but for one swap: 400,000,000 wei to the micro-dollar.
    let seen = observe(field.stage.node(), DELEGATION_MANAGER, &chain, &[]).await?;
    let mut paid = U256::ZERO;
    for (token, unit) in [(book.weth, 400_000_000_u64), (book.usdc, 1)] {
        let known = seen.facts.tokens.get(&token).context("not seen")?;
        let all = known.in_positions.zip(known.balance).context("not known")?;
        paid += (all.0 + all.1) / U256::from(unit);
    }
    ensure!(u128::try_from(paid)?.abs_diff(total(&held)) < 1_000, "{paid} {}", total(&held));

    // Somebody empties half of the pool.
    let amount = usdc(20_000_000);
    field.stage.faucet(book.usdc, Erc20::mintCall { to: FAUCET, amount }).await?;
    let spender = book.swap_router_02;
    field.stage.faucet(book.usdc, Erc20::approveCall { spender, amount }).await?;
    let params = ExactInputSingleParams {
        tokenIn: book.usdc,
        tokenOut: book.weth,
        fee: U24::from(500),
        recipient: FAUCET,
        amountIn: amount,
        amountOutMinimum: U256::ZERO,
        sqrtPriceLimitX96: U160::ZERO,
    };
    field.stage.faucet(book.swap_router_02, exactInputSingleCall { params }).await?;
    let moved = scene.facts(&[], none).await?;
    assert_eq!(of(&moved, book.weth), of(&held, book.weth));
    let fees = of(&moved, book.usdc) - of(&held, book.usdc);
    ensure!(0 < fees && fees < u128::from(10 * DOLLAR), "{fees}");
    Ok(())
}

/// Anybody can give liquidity away. Beside a token that the owner did not list it is nothing, whatever that token does; more
/// of it than is looked at leaves the whole unknown, until it is taken back.
#[tokio::test]
async fn liquidity_that_was_given_away_counts_where_it_can_be_priced() -> Result<()> {
    let mut scene = Scene::open(|_| ()).await?;
    let (cage, none) = (scene.caged(&scene.policy()).await?, Ledger::default());
    let (field, book) = (&scene.field, scene.field.stage.book());
    let one = add(field, None).data;
    let give = async |count| {
        let data = vec![one.clone(); count];
        field.stage.faucet(book.position_manager, multicallCall { data }).await
    };
    let whole = scene.law.listing.clone();
    scene.law.listing.tokens.retain(|entry| entry.token != book.weth);
    give(4).await?;
    let held = scene.facts(&[], none).await?.holdings;
    assert_eq!(held, BTreeMap::from([(book.usdc, dollars(10_000))]));
    scene.law.listing = whole;

    for _ in 1..16 {
        give(4).await?;
    }
    let held = scene.facts(&[], none).await?;
    let (ether, cents) = (of(&held, book.weth), of(&held, book.usdc) - 10_000 * u128::from(DOLLAR));
    for cents in [ether, cents] {
        ensure!((630_000..=640_000).contains(&cents), "64 cents: {held:?}");
    }

    give(1).await?;
    assert_eq!(scene.facts(&[], none).await?.holdings, BTreeMap::new());
    let swap = [field.swap(100)];
    scene.refused(&cage, &swap, none, &[DenialCode::PolicyPriceUnknown]).await?;
    let _permit = scene.permitted(&cage, &[field.home()], none).await?;
    Ok(())
}

/// INV-4: where one thing that is held has no price, nobody knows a share of the whole; what closes goes on.
#[tokio::test]
async fn a_holding_without_a_price_leaves_only_closing() -> Result<()> {
    let mut scene = Scene::open(|_| ()).await?;
    let (cage, account) = (scene.caged(&scene.policy()).await?, scene.field.account());
    let deposited = scene.field.deposited().await?;
    let ledger = Ledger { high_water: dollars(10_000), ..Ledger::default() };
    let _permit = scene.permitted(&cage, &[scene.field.deposit()], ledger).await?;
    for entry in &mut scene.law.listing.tokens {
        if entry.token_decimals == 18 {
            entry.feed = Address::repeat_byte(0xf9);
        }
    }
    // Nothing of it is held.
    let _permit = scene.permitted(&cage, &[scene.field.deposit()], ledger).await?;

    scene.field.stage.fund(account, U256::from(1), U256::ZERO).await?;

    assert_eq!(scene.facts(&[], ledger).await?.holdings, BTreeMap::new());
    let unknown = [DenialCode::PolicyPriceUnknown];
    scene.refused(&cage, &[scene.field.deposit()], ledger, &unknown).await?;
    let _permit = scene.permitted(&cage, &[deposited, scene.field.home()], ledger).await?;
    Ok(())
}

/// Of one block: nothing is asked of another one, however long the questions take.
#[tokio::test]
async fn all_facts_are_of_one_block() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let field = &scene.field;
    let [remove, _] = field.position().await?;
    let proxy = Proxy::before(field.stage.chain().url(), Duration::ZERO).await?;
    let node = Node::connect(proxy.url()).await?;
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let noted = Arc::clone(&asked);
    let note = Fault::LieTo(Arc::new(move |request, _| {
        let block = request.pointer("/params/1").map(ToString::to_string);
        noted.lock().unwrap().extend(block);
    }));
    proxy.fail("eth_call", u64::MAX, note.clone());
    proxy.fail("eth_getBalance", u64::MAX, note);

    let calls = typed(&[field.swap(1), field.deposit(), remove]);
    let seen = facts(&node, &scene.law, &calls, Ledger::default()).await?;

    let head = field.stage.node().header().await?;
    assert_eq!(seen.now, head.timestamp);
    let asked = asked.lock().unwrap().clone();
    ensure!(asked.len() == 1, "{asked:?}");
    ensure!(asked.iter().all(|block| block.contains(&head.hash.to_string())), "{asked:?}");
    ensure!(proxy.failed() > 15, "few questions");
    Ok(())
}

/// A node that fails at any of the questions is a fault, and no fact.
#[tokio::test]
async fn a_node_that_fails_at_anything_is_no_fact() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let field = &scene.field;
    let [remove, _] = field.position().await?;
    let _ = field.deposited().await?;
    let proxy = Proxy::before(field.stage.chain().url(), Duration::ZERO).await?;
    let node = Node::connect(proxy.url()).await?;
    let calls = typed(&[field.swap(1), field.deposit(), remove]);
    // All that is asked, and the one question at which the node fails: those of a look that was given up may still arrive.
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let failing: Arc<Mutex<Option<String>>> = Arc::default();
    let (noted, fails) = (Arc::clone(&asked), Arc::clone(&failing));
    let lie = Fault::LieTo(Arc::new(move |request, answer| {
        let question = request["params"][0].to_string();
        if fails.lock().unwrap().as_ref() == Some(&question) {
            *answer = serde_json::json!({
                "jsonrpc": "2.0", "id": answer["id"],
                "error": { "code": -32_603, "message": "internal error" },
            });
        }
        noted.lock().unwrap().insert(question);
    }));
    proxy.fail("eth_call", u64::MAX, lie.clone());
    proxy.fail("eth_getBalance", u64::MAX, lie);
    let look = async || facts(&node, &scene.law, &calls, Ledger::default()).await;
    let whole = look().await?;
    let questions = asked.lock().unwrap().clone();
    ensure!(questions.len() > 15, "{questions:?}");

    for question in questions {
        *failing.lock().unwrap() = Some(question.clone());
        let seen = look().await;
        ensure!(matches!(seen, Err(ChainFault::Rpc { .. })), "{question}: {seen:?}");
    }

    *failing.lock().unwrap() = None;
    assert_eq!(look().await?, whole);
    Ok(())
}
