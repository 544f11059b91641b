use super::{DOLLAR, Scene, dollars};
use crate::field::Field;
use alloy::{
    primitives::{
        Address, U256,
        aliases::{I24, U24},
    },
    sol,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::defi::{
    Erc20,
    NonfungiblePositionManager::{
        IncreaseLiquidityParams, MintParams, increaseLiquidityCall, mintCall,
        tokenOfOwnerByIndexCall,
    },
    PriceFeed,
};
use golem_chain::{AccountKind, Ledger, local::FAUCET};
use golem_custody::Execution;
use golem_safety::{DenialCode, MicroDollars, Policy, PositionView};

sol! {
    interface Shares {
        function mint(uint256 shares, address receiver) external returns (uint256 assets);
    }
    interface Uptime {
        function set(bool down) external;
    }
}

const NOBODY: Address = Address::repeat_byte(0xf9);

/// A cent and as much ether, into a position or beside one.
pub(super) fn add(field: &Field, position: Option<U256>) -> Execution {
    let book = field.stage.book();
    let (wei, usdc) = (U256::from(4_000_000_000_000_u64), U256::from(10_000));
    let (least, deadline) = (U256::ZERO, U256::MAX);
    if let Some(id) = position {
        let params = IncreaseLiquidityParams {
            tokenId: id,
            amount0Desired: wei,
            amount1Desired: usdc,
            amount0Min: least,
            amount1Min: least,
            deadline,
        };
        return field.call(book.position_manager, &increaseLiquidityCall { params });
    }
    let params = MintParams {
        token0: book.weth,
        token1: book.usdc,
        fee: U24::from(500),
        tickLower: I24::try_from(-887_270).unwrap_or_default(),
        tickUpper: I24::try_from(887_270).unwrap_or_default(),
        amount0Desired: wei,
        amount1Desired: usdc,
        amount0Min: least,
        amount1Min: least,
        recipient: field.account(),
        deadline,
    };
    field.call(book.position_manager, &mintCall { params })
}

/// The first position of somebody.
async fn position_of(field: &Field, owner: Address) -> Result<U256> {
    let manager = field.stage.book().position_manager;
    let first = tokenOfOwnerByIndexCall { owner, index: U256::ZERO };
    Ok(field.stage.node().read(manager, first).await?)
}

/// SPEC P1, INV-11: what is permitted is done, and what is to be reserved for it is what the charter counts.
#[tokio::test]
async fn what_is_permitted_counts_for_as_much_as_the_charter_counts() -> Result<()> {
    for kind in [AccountKind::Hybrid, AccountKind::Stateless7702] {
        let scene = Scene::of(kind, |_| ()).await?;
        let field = &scene.field;
        let (stage, account) = (&field.stage, field.account());
        let book = stage.book();
        let _ = (field.position().await?, field.deposited().await?);
        // A share, of which there are a million for a dollar's unit, is worth more than it was.
        let gain = Erc20::mintCall { to: book.vault, amount: U256::from(1_234_567_890_123_u64) };
        stage.faucet(book.usdc, gain).await?;
        // One of the two has ether for its gas.
        let policy = Policy { concentration_bps: 10_000, ..scene.policy() };
        let cage = scene.caged(&policy).await?;
        let shares = Shares::mintCall { shares: U256::from(1_000_000 * DOLLAR), receiver: account };
        let ours = position_of(field, account).await?;
        let all = [
            field.swap(100),
            field.swap_back(),
            field.deposit(),
            field.call(book.vault, &shares),
            add(field, None),
            add(field, Some(ours)),
        ];
        for call in all {
            let (before, measured) = (scene.window().await?, scene.measured(&call).await?);
            let one = std::slice::from_ref(&call);
            let most = scene.permitted(&cage, one, Ledger::default()).await?.most();
            let _ = scene.agent.attempt(stage, &call).await?.receipt()?;
            let most = U256::from(most.get());
            assert_eq!(most, measured, "{kind:?}: {call:?}");
            ensure!(!most.is_zero(), "{call:?}");
            // The window counts in units of its own.
            let after = before.spend(most, &scene.law.spend_window()?, stage.now().await?)?;
            assert_eq!(after, scene.window().await?, "{kind:?}: {call:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn each_limit_of_the_owner_refuses_just_beyond_it() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let (field, none) = (&scene.field, Ledger::default());
    let swap = |usd: u64| [field.swap(usd)];
    let (policy, weth) = (scene.policy(), field.stage.book().weth);
    let cage = scene.caged(&policy).await?;

    // $500 at once, of $10,000.
    assert_eq!(scene.permitted(&cage, &swap(500), none).await?.most(), dollars(500));
    scene.refused(&cage, &swap(501), none, &[DenialCode::PolicySpendTransaction]).await?;
    // $800 a day, $1000 a session.
    let day = |spent| Ledger { spent_in_day: dollars(spent), ..none };
    let _permit = scene.permitted(&cage, &swap(100), day(700)).await?;
    scene.refused(&cage, &swap(100), day(701), &[DenialCode::PolicySpendDay]).await?;
    let session = |spent| Ledger { spent_in_session: dollars(spent), ..none };
    let _permit = scene.permitted(&cage, &swap(100), session(900)).await?;
    scene.refused(&cage, &swap(100), session(901), &[DenialCode::PolicySpendSession]).await?;

    let share = |concentration_bps| Policy { concentration_bps, ..policy.clone() };
    let cage = scene.caged(&share(100)).await?;
    let _permit = scene.permitted(&cage, &swap(100), none).await?;
    let cage = scene.caged(&share(99)).await?;
    scene.refused(&cage, &swap(100), none, &[DenialCode::PolicyConcentration]).await?;

    let mut without = policy;
    without.assets.retain(|asset| *asset != weth);
    let cage = scene.caged(&without).await?;
    scene.refused(&cage, &swap(100), none, &[DenialCode::PolicyAsset]).await
}

/// A price that falls takes the account below its mark: it may sell, and not buy.
#[tokio::test]
async fn what_fell_too_far_only_closes() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let (field, policy) = (&scene.field, scene.policy());
    let (stage, account) = (&field.stage, field.account());
    // Four ether at $2500, beside $10,000.
    stage.fund(account, U256::from(4_000_000_000_000_000_000_u64), U256::ZERO).await?;
    let high_water = scene.facts(&[], Ledger::default()).await?;
    let high_water = MicroDollars::checked_sum(high_water.holdings.into_values());
    let high_water = high_water.context("holdings")?;
    assert_eq!(high_water, dollars(20_000));
    let ledger = Ledger { high_water, ..Ledger::default() };
    let cage = scene.caged(&Policy { concentration_bps: 10_000, ..policy }).await?;

    stage.set_price(stage.book().eth_usd, 150_000_000_000).await?;
    let _permit = scene.permitted(&cage, &[field.swap(100)], ledger).await?;
    stage.set_price(stage.book().eth_usd, 149_999_999_999).await?;
    scene.refused(&cage, &[field.swap(100)], ledger, &[DenialCode::PolicyDrawdown]).await?;
    scene.refused(&cage, &[field.deposit()], ledger, &[DenialCode::PolicyDrawdown]).await?;

    let _permit = scene.permitted(&cage, &[field.swap_back(), field.home()], ledger).await?;
    Ok(())
}

/// ATK-24, ATK-25, INV-4: by no price, or an old one, nothing is bought.
#[tokio::test]
async fn a_feed_that_is_old_or_unknown_prices_nothing() -> Result<()> {
    let none = Ledger::default();
    let scene = Scene::open(|law| {
        for entry in &mut law.listing.tokens {
            if entry.token_decimals == 18 {
                entry.max_age = 86_400;
            }
        }
    })
    .await?;
    let (field, cage) = (&scene.field, scene.caged(&scene.policy()).await?);
    let stage = &field.stage;
    stage.set_price(stage.book().eth_usd, 250_000_000_000).await?;
    let set_at = stage.now().await?;
    stage.warp(set_at + 86_400).await?;
    let _permit = scene.permitted(&cage, &[field.swap(100)], none).await?;
    stage.warp(set_at + 86_401).await?;
    scene.refused(&cage, &[field.swap(100)], none, &[DenialCode::PolicyPriceStale]).await?;
    // Dollars have a price still.
    let _permit = scene.permitted(&cage, &[field.deposit()], none).await?;
    for answer in [0, -1] {
        stage.set_price(stage.book().eth_usd, answer).await?;
        scene.refused(&cage, &[field.swap(100)], none, &[DenialCode::PolicyPriceUnknown]).await?;
    }
    drop(scene);

    let scene = Scene::open(|law| {
        for entry in &mut law.listing.tokens {
            if entry.token_decimals == 18 {
                entry.feed = NOBODY;
            }
        }
    })
    .await?;
    let cage = scene.caged(&scene.policy()).await?;
    let swap = [scene.field.swap(100)];
    scene.refused(&cage, &swap, none, &[DenialCode::PolicyPriceUnknown]).await
}

/// No price of a rollup counts while nobody says that its sequencer is there, nor soon after.
#[tokio::test]
async fn a_sequencer_that_is_away_leaves_no_price() -> Result<()> {
    let none = Ledger::default();
    let mut scene = Scene::open(|_| ()).await?;
    let uptime = scene.field.stage.book().sequencer_uptime;
    (scene.law.listing.sequencer_feed, scene.law.listing.sequencer_grace) = (uptime, 600);
    let cage = scene.caged(&scene.policy()).await?;
    let stage = &scene.field.stage;
    let status = stage.node().read(uptime, PriceFeed::aggregatorCall {}).await?;
    let swap = [scene.field.swap(100)];
    let stale = [DenialCode::PolicyPriceStale];

    stage.faucet(status, Uptime::setCall { down: true }).await?;
    scene.refused(&cage, &swap, none, &stale).await?;
    assert!(scene.facts(&swap, none).await?.holdings.is_empty());
    stage.faucet(status, Uptime::setCall { down: false }).await?;
    let back_at = stage.now().await?;
    stage.warp(back_at + 599).await?;
    scene.refused(&cage, &swap, none, &stale).await?;
    // That it is still there begins nothing anew.
    stage.faucet(status, Uptime::setCall { down: false }).await?;
    stage.warp(back_at + 600).await?;
    let _permit = scene.permitted(&cage, &swap, none).await?;

    scene.law.listing.sequencer_feed = NOBODY;
    scene.refused(&cage, &swap, none, &[DenialCode::PolicyPriceUnknown]).await
}

/// ATK-45: whose a position is, the chain says; of what it does not say, nobody is the owner.
#[tokio::test]
async fn only_liquidity_of_the_account_is_added_to() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let (field, none) = (&scene.field, Ledger::default());
    let _ = field.position().await?;
    let cage = scene.caged(&scene.policy()).await?;
    let (ours, theirs) =
        (position_of(field, field.account()).await?, position_of(field, FAUCET).await?);
    let _permit = scene.permitted(&cage, &[add(field, Some(ours))], none).await?;
    scene.refused(&cage, &[add(field, Some(theirs))], none, &[DenialCode::PolicyParty]).await?;
    let unborn = [add(field, Some(U256::from(1_000_000)))];
    let codes = [DenialCode::PolicyParty, DenialCode::PolicyPriceUnknown];
    scene.refused(&cage, &unborn, none, &codes).await?;

    let manager = field.stage.book().position_manager;
    let facts = scene.facts(&[add(field, Some(theirs))], none).await?;
    let seen = facts.observed.positions.get(&(manager, theirs)).context("not read")?;
    let PositionView { owner, pool } = *seen;
    assert_eq!(owner, FAUCET);
    ensure!(facts.observed.pool_roots.contains_key(&(manager, pool)), "{facts:?}");
    Ok(())
}
