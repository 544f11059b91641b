//! Prices, pools, vaults and recipients.

use super::{SIZES, fair_jobs};
use crate::thief::{
    calls,
    calls::Swap,
    prey::{Prey, Tx, one_tuple_each},
    wish::{FEE, THIEF},
};
use alloy::{
    primitives::{Address, Bytes, I256, U160, U256, address, aliases::U24},
    providers::ext::AnvilApi,
};
use anyhow::Result;
use bardo_bindings::{
    defi::{Erc20, NonfungiblePositionManager, PriceFeed, UniswapV3Factory, UniswapV3Pool},
    framework::DELEGATION_MANAGER,
};
use bardo_testkit::dollars;
use golem_chain::local::FAUCET;
use golem_custody::Execution;
use golem_delegation::PermissionContext;

/// A hundred times the price, in basis points: it costs the thief more than it brings him, and the owner
/// too.
const FAR: u64 = 1_000_000;
/// A thousand times.
pub(super) const ABSURD: u64 = 10_000_000;
/// A fee tier that nobody has opened a pool in.
pub(super) const UNUSED: u16 = 10_000;
/// What the thief calls USDC.
const LOOK_ALIKE: Address = address!("83358900000000000000000000000000dA02913F");
/// A token without a book.
pub(super) const LIAR: Address = address!("11a1000000000000000000000000000000000011");

/// A price in Uniswap's form, at `bps` of the pool's.
pub(super) async fn pushed(prey: &Prey<'_>, bps: u64) -> Result<U160> {
    let pool = prey.wish.book.pool_500;
    let now = prey.stage.node().read(pool, UniswapV3Pool::slot0Call {}).await?.sqrtPriceX96;
    let scaled: U256 = U256::from(now) * U256::from(now) * U256::from(bps) / U256::from(10_000);
    Ok(U160::from(scaled.root(2)))
}

/// Around `middle`, in one block: pushes WETH in the 0.05 % pool to `bps` of its price, and back.
/// The thief ends up with as much WETH as he had. Answers for the middle.
async fn squeeze(prey: &mut Prey<'_>, bps: u64, middle: Vec<Tx>) -> Result<Vec<bool>> {
    let book = prey.wish.book.clone();
    let router = book.swap_router_02;
    let push = Swap {
        recipient: THIEF,
        limit: pushed(prey, bps).await?,
        ..prey.wish.sale(dollars(90_000_000))
    };
    let home = UniswapV3Pool::slot0Call {};
    let home = prey.stage.node().read(book.pool_500, home).await?.sqrtPriceX96;
    let back = Swap {
        token_in: book.weth,
        token_out: book.usdc,
        // More than enough: the price stops it.
        amount: U256::from(40_000_000_000_000_000_000_000u128),
        limit: home,
        ..push
    };
    let mut block = vec![Tx::thief(&push.on_02(router))];
    let count = middle.len();
    block.extend(middle);
    block.push(Tx::thief(&back.on_02(router)));
    let answers = prey.in_one_block(&block).await?;
    Ok(answers.into_iter().skip(1).take(count).collect())
}

/// Lets the account sell dollars between two pushes: as much as it may, as badly as it may.
async fn sandwich(prey: &mut Prey<'_>) -> Result<()> {
    let router = prey.wish.book.swap_router_02;
    // Price pushed to, and the least output that is asked for, in basis points of the fair ones. The
    // first is what pays best for ten thousand dollars: further, the pool's fee takes more than the
    // owner loses. The next two are for grants that look at the output.
    for (push, minimum) in [(25_000, 0), (12_400, 0), (10_090, 9_900)] {
        for (size, times) in [(10_000, 1), (1_000, 10), (990, 1)] {
            let clean = prey.snapshot().await?;
            let sale = prey.wish.fair_sale(dollars(size), minimum).on_02(router);
            let redemption = prey.redemption(&[sale])?;
            let answers = squeeze(prey, push, vec![redemption; times]).await?;
            if answers.contains(&true) {
                return Ok(());
            }
            prey.revert(clean).await?;
        }
    }
    Ok(())
}

pub(super) async fn atk_24_feed_zero(prey: &mut Prey<'_>) -> Result<()> {
    prey.feed_says(prey.wish.book.eth_usd, I256::ZERO).await?;
    sandwich(prey).await
}

pub(super) async fn atk_24_feed_negative(prey: &mut Prey<'_>) -> Result<()> {
    prey.feed_says(prey.wish.book.eth_usd, I256::MINUS_ONE).await?;
    sandwich(prey).await
}

pub(super) async fn atk_24_feed_stale(prey: &mut Prey<'_>) -> Result<()> {
    // Only one of the two is old; the other one has just answered.
    let later = prey.now().await? + 2 * prey.wish.staleness;
    prey.stage.warp(later).await?;
    prey.feed_says(prey.wish.book.usdc_usd, "100000000".parse()?).await?;
    sandwich(prey).await
}

pub(super) async fn atk_24_sequencer_down(prey: &mut Prey<'_>) -> Result<()> {
    let feed = PriceFeed::aggregatorCall {};
    let feed = prey.stage.node().read(prey.wish.book.sequencer_uptime, feed).await?;
    let down = calls::call(feed, calls::Uptime::setCall { down: true });
    prey.must(Tx::of(FAUCET, &down)).await?;
    sandwich(prey).await
}

/// Opens a pool and fills it; answers with the position.
pub(super) async fn open_pool(
    prey: &mut Prey<'_>,
    tokens: [(Address, U256); 2],
    fee: u16,
    price: U160,
) -> Result<U256> {
    create_pool(prey, tokens, fee, price).await?;
    let manager = prey.wish.book.position_manager;
    fill_pool(prey, calls::mint(manager, tokens, fee, THIEF)).await
}

/// The same with all of it within about one per cent of the price: large trades hardly move it.
pub(super) async fn open_deep_pool(
    prey: &mut Prey<'_>,
    tokens: [(Address, U256); 2],
    fee: u16,
    price: U160,
) -> Result<U256> {
    create_pool(prey, tokens, fee, price).await?;
    let (node, book) = (prey.stage.node(), &prey.wish.book);
    let [first, second] = tokens.map(|(token, _)| token);
    let find = UniswapV3Factory::getPoolCall { tokenA: first, tokenB: second, fee: U24::from(fee) };
    let pool = node.read(book.factory, find).await?;
    let tick = node.read(pool, UniswapV3Pool::slot0Call {}).await?.tick.as_i32();
    // A multiple of every spacing in use.
    let (width, grid) = (110, 60);
    let ticks = [(tick - width).div_euclid(grid) * grid, (tick + width).div_euclid(grid) * grid];
    let manager = book.position_manager;
    fill_pool(prey, calls::mint_between(manager, tokens, fee, THIEF, ticks)).await
}

async fn create_pool(
    prey: &mut Prey<'_>,
    tokens: [(Address, U256); 2],
    fee: u16,
    price: U160,
) -> Result<()> {
    let [(token0, _), (token1, _)] = tokens;
    let create = NonfungiblePositionManager::createAndInitializePoolIfNecessaryCall {
        token0,
        token1,
        fee: U24::from(fee),
        sqrtPriceX96: price,
    };
    prey.thief_does(&[calls::call(prey.wish.book.position_manager, create)]).await
}

/// Answers with the thief's newest position.
async fn fill_pool(prey: &mut Prey<'_>, fill: Execution) -> Result<U256> {
    let manager = prey.wish.book.position_manager;
    let count = prey
        .stage
        .node()
        .read(manager, NonfungiblePositionManager::balanceOfCall { owner: THIEF })
        .await?;
    prey.thief_does(&[fill]).await?;
    let newest = NonfungiblePositionManager::tokenOfOwnerByIndexCall { owner: THIEF, index: count };
    Ok(prey.stage.node().read(manager, newest).await?)
}

/// Takes everything out of one of the thief's positions.
pub(super) async fn close_position(prey: &mut Prey<'_>, id: U256) -> Result<()> {
    let manager = prey.wish.book.position_manager;
    let position = prey
        .stage
        .node()
        .read(manager, NonfungiblePositionManager::positionsCall { tokenId: id })
        .await?;
    let remove = calls::decrease(manager, id, position.liquidity);
    prey.thief_does(&[remove, calls::collect(manager, id, THIEF)]).await
}

/// Has the account buy a worthless token in the thief's own pool, and empties the pool.
async fn sell_junk(prey: &mut Prey<'_>, token: Address) -> Result<()> {
    let book = prey.wish.book.clone();
    let mut tokens = [(token, dollars(10_000_000)), (book.usdc, dollars(10_000_000))];
    tokens.sort_by_key(|(token, _)| *token);
    // One for one.
    let price = U160::from(1) << 96;
    let pool = open_pool(prey, tokens, FEE, price).await?;
    for size in SIZES {
        for minimum in [dollars(size) * U256::from(99) / U256::from(100), U256::ZERO] {
            let buy = Swap { token_out: token, minimum, ..prey.wish.sale(dollars(size)) };
            let approve = calls::approve(book.usdc, book.swap_router, dollars(size));
            prey.redeem_greedily(&[buy.on_02(book.swap_router_02)]).await?;
            prey.redeem_greedily(&[approve, buy.on_01(book.swap_router)]).await?;
        }
    }
    close_position(prey, pool).await
}

pub(super) async fn atk_25_look_alike_token(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    let node = prey.stage.node();
    node.provider().anvil_set_code(LOOK_ALIKE, node.code(book.usdc).await?).await?;
    let mint = Erc20::mintCall { to: THIEF, amount: dollars(10_000_000) };
    prey.must(Tx::of(FAUCET, &calls::call(LOOK_ALIKE, mint))).await?;
    prey.thief_does(&[calls::approve(LOOK_ALIKE, book.position_manager, U256::MAX)]).await?;
    sell_junk(prey, LOOK_ALIKE).await
}

pub(super) async fn atk_26_lying_token(prey: &mut Prey<'_>) -> Result<()> {
    // To a question of one word it answers `not(gas << 100)`, which grows from call to call, so
    // that every pool believes it was paid; to anything else it says yes and does nothing.
    let code: [u8; 27] = [
        0x36, 0x60, 0x24, 0x14, 0x60, 0x0f, 0x57, // if calldatasize == 36, jump to 0x0f
        0x60, 0x01, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3, // return 1
        0x5b, 0x5a, 0x60, 0x64, 0x1b, 0x19, // not(gas << 100)
        0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3, // return it
    ];
    let code = Bytes::copy_from_slice(&code);
    prey.stage.node().provider().anvil_set_code(LIAR, code).await?;
    sell_junk(prey, LIAR).await
}

/// A token that lies as the other one does, and in its `transfer` redeems a child of the grant.
pub(super) async fn atk_28_re_entrancy(prey: &mut Prey<'_>) -> Result<()> {
    let child = prey.child(LIAR, 0).await?;
    let context = PermissionContext::new(vec![child, prey.grant.clone()])?;
    let [sale, _] = fair_jobs(&prey.wish);
    let payload = one_tuple_each(&context, &[sale]);
    let length = u16::try_from(payload.len())?.to_be_bytes();
    let head = [
        0x36, 0x60, 0x24, 0x14, 0x60, 0x16, 0x57, // if calldatasize == 36, jump to 0x16
        0x36, 0x60, 0x44, 0x14, 0x60, 0x22, 0x57, // if calldatasize == 68, jump to 0x22
        0x60, 0x01, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3, // return 1
        0x5b, 0x5a, 0x60, 0x64, 0x1b, 0x19, // not(gas << 100)
        0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3, // return it
        0x5b, 0x61,
    ];
    // codecopy(0, 0x54, length), call(gas, manager, 0, 0, length, 0, 0), return 1
    let copy = [0x60, 0x54, 0x5f, 0x39, 0x5f, 0x5f, 0x61];
    let call = [0x5f, 0x5f, 0x73];
    let end = [0x5a, 0xf1, 0x50, 0x60, 0x01, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3];
    let mut code =
        [&head[..], &length, &copy, &length, &call, DELEGATION_MANAGER.as_slice(), &end].concat();
    code.resize(0x54, 0);
    code.extend_from_slice(&payload);
    prey.stage.node().provider().anvil_set_code(LIAR, code.into()).await?;
    sell_junk(prey, LIAR).await
}

pub(super) async fn atk_27_sandwich(prey: &mut Prey<'_>) -> Result<()> {
    sandwich(prey).await
}

pub(super) async fn atk_27_own_pool_in_an_unused_tier(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    let price = pushed(prey, ABSURD).await?;
    let ether = U256::from(1_000_000_000_000_000_000u64);
    let tokens = [(book.weth, ether), (book.usdc, dollars(2_500_000))];
    let pool = open_pool(prey, tokens, UNUSED, price).await?;
    for size in SIZES {
        for minimum in [0, 9_900] {
            let sale = Swap { fee: UNUSED, ..prey.wish.fair_sale(dollars(size), minimum) };
            prey.redeem_greedily(&[sale.on_02(book.swap_router_02)]).await?;
            let approve = calls::approve(book.usdc, book.swap_router, dollars(size));
            prey.redeem_greedily(&[approve, sale.on_01(book.swap_router)]).await?;
        }
    }
    close_position(prey, pool).await
}

pub(super) async fn atk_27_exact_output_at_a_limit(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    let price = pushed(prey, ABSURD).await?;
    let ether = U256::from(1_000_000_000_000_000_000u64);
    let tokens = [(book.weth, ether), (book.usdc, dollars(2_500_000))];
    let pool = open_pool(prey, tokens, UNUSED, price).await?;
    for size in SIZES {
        // So near that nearly all of the dollars are used up before the promise is kept.
        let limit = pushed(prey, ABSURD + 7 * size).await?;
        let sale = prey.wish.fair_sale(dollars(size), 9_910);
        let stopped = Swap { fee: UNUSED, limit, ..sale }.exact_output(book.swap_router_02);
        prey.redeem(&[stopped]).await?;
    }
    close_position(prey, pool).await
}

pub(super) async fn atk_27_vault_inflated_by_donation(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    for size in SIZES {
        prey.redeem(&[calls::approve(book.usdc, book.vault, dollars(size))]).await?;
        let clean = prey.snapshot().await?;
        // He holds most of the vault, so most of his gift comes back to him.
        let enter = calls::vault_deposit(book.vault, dollars(50_000_000), THIEF);
        let gift = calls::transfer(book.usdc, book.vault, dollars(10_000_000));
        let deposit = calls::vault_deposit(book.vault, dollars(size), account);
        let block = [Tx::thief(&enter), Tx::thief(&gift), prey.redemption(&[deposit])?];
        let answers = prey.in_one_block(&block).await?;
        if answers.last() == Some(&true) {
            return Ok(());
        }
        prey.revert(clean).await?;
    }
    Ok(())
}

pub(super) async fn atk_29_swap_to_himself(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    for size in SIZES {
        let theft = Swap { recipient: THIEF, ..prey.wish.fair_sale(dollars(size), 9_910) };
        let path = calls::Periphery::exactInputCall { params: theft.path() };
        prey.redeem_greedily(&[theft.on_02(book.swap_router_02)]).await?;
        prey.redeem_greedily(&[calls::call(book.swap_router_02, path)]).await?;
        let approve = calls::approve(book.usdc, book.swap_router, dollars(size));
        prey.redeem_greedily(&[approve, theft.on_01(book.swap_router)]).await?;
    }
    Ok(())
}

pub(super) async fn atk_29_vault_to_himself(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    for size in SIZES {
        let amount = dollars(size);
        prey.redeem_greedily(&[
            calls::approve(book.usdc, book.vault, amount),
            calls::vault_deposit(book.vault, amount, THIEF),
        ])
        .await?;
        prey.redeem(&[calls::vault_deposit(book.vault, amount, THIEF)]).await?;
        // All but what the vault's rounding keeps.
        let out = amount - U256::from(1);
        prey.redeem(&[calls::vault_withdraw(book.vault, out, THIEF, account)]).await?;
    }
    Ok(())
}

pub(super) async fn atk_29_collect_to_himself(prey: &mut Prey<'_>) -> Result<()> {
    let (manager, id) = (prey.wish.book.position_manager, prey.wish.position);
    let position = prey
        .stage
        .node()
        .read(manager, NonfungiblePositionManager::positionsCall { tokenId: id })
        .await?;
    for part in [position.liquidity, position.liquidity / 3] {
        let remove = calls::decrease(manager, id, part);
        prey.redeem_each(&[remove, calls::collect(manager, id, THIEF)]).await?;
    }
    Ok(())
}

/// Lets the position manager take the account's tokens.
pub(super) async fn approve_positions(prey: &mut Prey<'_>, usdc: U256) -> Result<()> {
    let book = prey.wish.book.clone();
    let weth = prey.wish.fair(usdc);
    prey.redeem_each(&[
        calls::approve(book.usdc, book.position_manager, usdc),
        calls::approve(book.weth, book.position_manager, weth),
    ])
    .await
}

/// Dollars and as many WETH, biggest first; the account has one WETH.
const PAIRS: [u64; 3] = [2_400, 900, 450];

pub(super) async fn atk_45_foreign_position(prey: &mut Prey<'_>) -> Result<()> {
    let (manager, id) = (prey.wish.book.position_manager, prey.wish.foreign_position);
    for size in PAIRS {
        approve_positions(prey, dollars(size)).await?;
        let weth = prey.wish.fair(dollars(size));
        prey.redeem(&[calls::increase(manager, id, weth, dollars(size))]).await?;
    }
    close_position(prey, id).await
}

pub(super) async fn atk_45_mint_to_himself(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    for size in PAIRS {
        approve_positions(prey, dollars(size)).await?;
        let tokens = [(book.weth, prey.wish.fair(dollars(size))), (book.usdc, dollars(size))];
        prey.redeem(&[calls::mint(book.position_manager, tokens, FEE, THIEF)]).await?;
    }
    Ok(())
}

pub(super) async fn atk_45_mint_in_his_own_pool(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    let home = prey.stage.node().read(book.pool_500, UniswapV3Pool::slot0Call {}).await?;
    let price = pushed(prey, ABSURD).await?;
    let little = U256::from(1_000_000_000_000_000u64);
    let tokens = [(book.weth, little), (book.usdc, dollars(2_500))];
    let pool = open_pool(prey, tokens, UNUSED, price).await?;
    for size in SIZES {
        approve_positions(prey, dollars(size)).await?;
        let tokens = [(book.weth, little), (book.usdc, dollars(size))];
        let mint = calls::mint(book.position_manager, tokens, UNUSED, account);
        if prey.redeem(&[mint]).await? {
            break;
        }
    }
    milk(prey, home.sqrtPriceX96).await?;
    close_position(prey, pool).await
}

/// Buys the dollars of the thief's own pool until the price is `home`.
pub(super) async fn milk(prey: &mut Prey<'_>, home: U160) -> Result<()> {
    let book = prey.wish.book.clone();
    let buy = Swap {
        token_in: book.weth,
        token_out: book.usdc,
        fee: UNUSED,
        recipient: THIEF,
        amount: U256::from(1_000_000_000_000_000_000u64),
        limit: home,
        ..prey.wish.sale(U256::ZERO)
    };
    prey.thief_does(&[buy.on_02(book.swap_router_02)]).await
}

pub(super) async fn atk_45_mint_in_a_skewed_pool(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    for size in [10_000, 1_000, 450] {
        approve_positions(prey, dollars(size)).await?;
        let clean = prey.snapshot().await?;
        let weth = prey.wish.fair(dollars(size)).min(U256::from(1_000_000_000_000_000_000u64));
        let tokens = [(book.weth, weth), (book.usdc, dollars(size))];
        let mint = calls::mint(book.position_manager, tokens, FEE, account);
        let redemption = prey.redemption(&[mint])?;
        if squeeze(prey, FAR, vec![redemption]).await?.contains(&true) {
            return Ok(());
        }
        prey.revert(clean).await?;
    }
    Ok(())
}

pub(super) async fn atk_45_mint_at_the_bound(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    let tick = prey.stage.node().read(book.pool_500, UniswapV3Pool::slot0Call {}).await?.tick;
    // 0.9 % up, and the last whole step of the grid below it: nothing but dollars.
    let (push, spacing) = (10_093, 10);
    let upper = (tick.as_i32() + 91).div_euclid(spacing) * spacing;
    for size in SIZES {
        approve_positions(prey, dollars(size)).await?;
        let clean = prey.snapshot().await?;
        let tokens = [(book.weth, U256::ZERO), (book.usdc, dollars(size))];
        let ticks = [upper - spacing, upper];
        let mint = calls::mint_between(book.position_manager, tokens, FEE, account, ticks);
        let redemption = prey.redemption(&[mint])?;
        if squeeze(prey, push, vec![redemption]).await?.contains(&true) {
            return Ok(());
        }
        prey.revert(clean).await?;
    }
    Ok(())
}

pub(super) async fn atk_45_remove_in_a_skewed_pool(prey: &mut Prey<'_>) -> Result<()> {
    let (manager, id) = (prey.wish.book.position_manager, prey.wish.position);
    let read = NonfungiblePositionManager::positionsCall { tokenId: id };
    let liquidity = prey.stage.node().read(manager, read).await?.liquidity;
    let clean = prey.snapshot().await?;
    let remove = calls::decrease(manager, id, liquidity);
    let redemption = prey.redemption(&[remove])?;
    let collect = calls::collect(manager, id, prey.wish.account);
    let collect = prey.redemption(&[collect])?;
    if !squeeze(prey, FAR, vec![redemption, collect]).await?.contains(&true) {
        prey.revert(clean).await?;
    }
    Ok(())
}
