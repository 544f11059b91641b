//! What is left to a thief when the price is looked at: his own pools, his own code, and the time between
//! the look and the deed.

use super::{
    SIZES, built, fair_jobs,
    life::report,
    market::{
        ABSURD, LIAR, UNUSED, approve_positions, close_position, milk, open_deep_pool, open_pool,
        pushed,
    },
};
use crate::thief::{
    calls,
    calls::{Accomplice, Shares, Swap},
    prey::{Prey, Tx},
    wish::{FEE, SESSION, THIEF},
};
use alloy::{
    primitives::{Address, Bytes, U160, U256, address},
    providers::{Provider, ext::AnvilApi},
};
use anyhow::Result;
use bardo_bindings::defi::{Erc20, NonfungiblePositionManager, UniswapV3Pool};
use bardo_testkit::dollars;
use golem_chain::local::FAUCET;
use golem_custody::Execution;
use golem_delegation::Caveat;

/// Where the thief's code stands.
const ACCOMPLICE: Address = address!("acc0000000000000000000000000000000000acc");
/// A token of the thief's that is what it seems; below all others, so that it is every pool's first.
const TOKEN: Address = address!("0000000000000000000000000000000000107e11");
/// A thousandth of an ether.
const LITTLE: U256 = U256::from_limbs([1_000_000_000_000_000, 0, 0, 0]);
/// The 0.3 % tier.
const MIDDLE: u16 = 3_000;

// Code

/// Gives the stolen key code, as its holder may at any time (EIP-7702).
async fn key_with_code(prey: &Prey<'_>) -> Result<()> {
    let provider = prey.stage.node().provider();
    provider.anvil_set_code(ACCOMPLICE, built("Accomplice")?).await?;
    let pointer = [&[0xef, 0x01, 0x00], ACCOMPLICE.as_slice()].concat();
    provider.anvil_set_code(SESSION, pointer.into()).await?;
    Ok(())
}

/// Lends the key some of the thief's money, and lets router and vault take it.
async fn lend_to_key(prey: &mut Prey<'_>, usdc: U256, weth: U256) -> Result<()> {
    let book = prey.wish.book.clone();
    prey.thief_does(&[
        calls::transfer(book.usdc, SESSION, usdc),
        calls::transfer(book.weth, SESSION, weth),
    ])
    .await?;
    for (token, spender) in [
        (book.usdc, book.swap_router_02),
        (book.weth, book.swap_router_02),
        (book.usdc, book.vault),
    ] {
        prey.must(Tx::of(SESSION, &calls::approve(token, spender, U256::MAX))).await?;
    }
    Ok(())
}

/// What the key's code does when it is next paid.
async fn wait(prey: &mut Prey<'_>, plan: &[Execution]) -> Result<()> {
    let wait = Accomplice::waitCall { plan: calls::steps(plan) };
    prey.must(Tx::of(SESSION, &calls::call(SESSION, wait))).await
}

/// Several calls of the key in one transaction, a redemption among them.
async fn in_one_transaction(prey: &mut Prey<'_>, plan: &[Execution]) -> Result<bool> {
    let run = Accomplice::runCall { plan: calls::steps(plan) };
    let passed = prey.send(Tx::of(SESSION, &calls::call(SESSION, run))).await?;
    prey.passed(passed);
    Ok(passed)
}

/// A payment of nothing: enough to wake the key's code.
fn wake() -> Execution {
    calls::raw(SESSION, U256::ZERO, Bytes::new())
}

/// A redemption as a call.
fn as_call(redemption: Tx) -> Execution {
    calls::raw(redemption.to, redemption.value, redemption.data)
}

pub(super) async fn atk_32_key_with_code(prey: &mut Prey<'_>) -> Result<()> {
    key_with_code(prey).await?;
    for sale in fair_jobs(&prey.wish) {
        let again = as_call(prey.redemption(std::slice::from_ref(&sale))?);
        wait(prey, std::slice::from_ref(&again)).await?;
        prey.redeem(&[wake(), sale.clone()]).await?;
        // Gas money first, and the second redemption inside the first.
        prey.redeem(&[calls::raw(SESSION, LITTLE, Bytes::new()), sale]).await?;
    }
    Ok(())
}

/// Has liquidity added to a pool of the thief's own that is pushed between the look and the deed, by
/// `trap`, which gets the push and the mint and redeems; and trades against it.
async fn push_between<'p, 's>(
    prey: &'p mut Prey<'s>,
    pusher: Address,
    trap: impl AsyncFn(&mut Prey<'s>, Execution, Execution) -> Result<bool>,
) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    let home = prey.stage.node().read(book.pool_500, UniswapV3Pool::slot0Call {}).await?;
    let tokens = [(book.weth, LITTLE), (book.usdc, prey.wish.cap)];
    let pool = open_pool(prey, tokens, UNUSED, home.sqrtPriceX96).await?;
    // He is the only one in it, and a push costs him what he gets back.
    let push = Swap {
        fee: UNUSED,
        recipient: pusher,
        limit: pushed(prey, ABSURD).await?,
        ..prey.wish.sale(dollars(1_000))
    };
    let push = push.on_02(book.swap_router_02);
    for size in [10_000, 995, 900] {
        approve_positions(prey, dollars(size)).await?;
        let tokens = [(book.weth, LITTLE), (book.usdc, dollars(size))];
        let mint = calls::mint(book.position_manager, tokens, UNUSED, account);
        if trap(prey, push.clone(), mint).await? {
            milk(prey, home.sqrtPriceX96).await?;
            break;
        }
    }
    close_position(prey, pool).await
}

pub(super) async fn atk_28_woken_by_gas_money(prey: &mut Prey<'_>) -> Result<()> {
    key_with_code(prey).await?;
    lend_to_key(prey, dollars(10_000), U256::ZERO).await?;
    push_between(prey, SESSION, async |prey, push, mint| {
        wait(prey, &[push]).await?;
        prey.redeem(&[wake(), mint]).await
    })
    .await
}

pub(super) async fn atk_28_woken_by_a_caveat(prey: &mut Prey<'_>) -> Result<()> {
    let usdc = prey.wish.book.usdc;
    let router = prey.wish.book.swap_router_02;
    prey.stage.node().provider().anvil_set_code(LIAR, built("Accomplice")?).await?;
    prey.thief_does(&[calls::transfer(usdc, LIAR, dollars(5_000))]).await?;
    let mut child = prey.child(SESSION, 0).await?;
    child.caveats = vec![Caveat::new(LIAR, vec![])];
    let child = prey.sign_link(child, SESSION).await?;
    push_between(prey, THIEF, async |prey, push, mint| {
        let plan = [calls::approve(usdc, router, U256::MAX), push];
        let plan = Accomplice::waitCall { plan: calls::steps(&plan) };
        prey.must(Tx::thief(&calls::call(LIAR, plan))).await?;
        prey.redeem_chain(SESSION, vec![child.clone(), prey.grant.clone()], &[mint]).await
    })
    .await?;
    take_back(prey).await
}

/// What the thief lent his token and it did not need; and nothing waits there any more.
async fn take_back(prey: &mut Prey<'_>) -> Result<()> {
    let usdc = prey.wish.book.usdc;
    let nothing = calls::call(LIAR, Accomplice::waitCall { plan: vec![] });
    let left = prey.stage.balance_of(usdc, LIAR).await?;
    let back = [calls::transfer(usdc, THIEF, left)];
    let back = Accomplice::runCall { plan: calls::steps(&back) };
    prey.thief_does(&[nothing, calls::call(LIAR, back)]).await
}

pub(super) async fn atk_28_woken_by_a_token(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    let manager = book.position_manager;
    prey.stage.node().provider().anvil_set_code(LIAR, built("Accomplice")?).await?;
    let mut tokens = [(LIAR, dollars(1_000)), (book.usdc, dollars(1_000))];
    tokens.sort_by_key(|(token, _)| *token);
    let gift = open_pool(prey, tokens, FEE, U160::from(1) << 96).await?;
    let held = NonfungiblePositionManager::positionsCall { tokenId: gift };
    let held = prey.stage.node().read(manager, held).await?;
    // He keeps the dollars. What is left in the position is his own token.
    let [dollars0, dollars1] =
        [held.token0, held.token1].map(|token| if token == book.usdc { u128::MAX } else { 0 });
    let params = NonfungiblePositionManager::CollectParams {
        tokenId: gift,
        recipient: THIEF,
        amount0Max: dollars0,
        amount1Max: dollars1,
    };
    let give =
        NonfungiblePositionManager::transferFromCall { from: THIEF, to: account, tokenId: gift };
    prey.thief_does(&[
        calls::decrease(manager, gift, held.liquidity),
        calls::call(manager, NonfungiblePositionManager::collectCall { params }),
        calls::call(manager, give),
        calls::transfer(book.usdc, LIAR, dollars(5_000)),
    ])
    .await?;
    push_between(prey, THIEF, async |prey, push, mint| {
        let plan = [calls::approve(book.usdc, book.swap_router_02, U256::MAX), push];
        let plan = Accomplice::waitCall { plan: calls::steps(&plan) };
        prey.must(Tx::thief(&calls::call(LIAR, plan))).await?;
        let both = [calls::collect(manager, gift, account), mint];
        prey.redeem(&[calls::multicall(manager, &both)]).await
    })
    .await?;
    take_back(prey).await
}

pub(super) async fn atk_27_sandwich_in_one_transaction(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    let router = book.swap_router_02;
    key_with_code(prey).await?;
    let weth = U256::from(40_000_000_000_000_000_000_000u128);
    lend_to_key(prey, dollars(90_000_000), weth).await?;
    let home = prey.stage.node().read(book.pool_500, UniswapV3Pool::slot0Call {}).await?;
    for (to, minimum) in [(25_000, 0), (12_400, 0), (10_090, 9_900)] {
        let push = Swap {
            recipient: SESSION,
            limit: pushed(prey, to).await?,
            ..prey.wish.sale(dollars(90_000_000))
        };
        let back = Swap {
            token_in: book.weth,
            token_out: book.usdc,
            amount: weth,
            limit: home.sqrtPriceX96,
            ..push
        };
        for size in SIZES {
            let sale = prey.wish.fair_sale(dollars(size), minimum).on_02(router);
            let redemption = as_call(prey.redemption(&[sale])?);
            let plan = [push.on_02(router), redemption, back.on_02(router)];
            if in_one_transaction(prey, &plan).await? {
                return Ok(());
            }
        }
    }
    Ok(())
}

pub(super) async fn atk_27_donation_in_one_transaction(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    key_with_code(prey).await?;
    lend_to_key(prey, dollars(60_000_000), U256::ZERO).await?;
    let leave = prey.stage.node().read(
        book.vault,
        Shares::convertToSharesCall { assets: dollars(50_000_000) - U256::from(1) },
    );
    let leave = Shares::redeemCall { shares: leave.await?, receiver: SESSION, owner: SESSION };
    for size in SIZES {
        prey.redeem(&[calls::approve(book.usdc, book.vault, dollars(size))]).await?;
        let deposit = calls::vault_deposit(book.vault, dollars(size), account);
        let plan = [
            calls::vault_deposit(book.vault, dollars(50_000_000), SESSION),
            calls::transfer(book.usdc, book.vault, dollars(10_000_000)),
            as_call(prey.redemption(&[deposit])?),
            calls::call(book.vault, leave.clone()),
        ];
        if in_one_transaction(prey, &plan).await? {
            return Ok(());
        }
    }
    Ok(())
}

pub(super) async fn atk_27_donation_inside_a_batch(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    key_with_code(prey).await?;
    lend_to_key(prey, dollars(90_000_000), U256::ZERO).await?;
    prey.must(Tx::of(SESSION, &calls::vault_deposit(book.vault, dollars(40_000_000), SESSION)))
        .await?;
    prey.redeem(&[calls::approve(book.usdc, book.vault, U256::MAX)]).await?;
    for size in SIZES {
        let shares = Shares::convertToSharesCall { assets: dollars(size) };
        let shares = prey.stage.node().read(book.vault, shares).await?;
        wait(prey, &[calls::transfer(book.usdc, book.vault, dollars(50_000_000))]).await?;
        let buy = calls::call(book.vault, Shares::mintCall { shares, receiver: account });
        if prey.redeem(&[wake(), buy]).await? {
            break;
        }
    }
    Ok(())
}

// Pools that look fair and are not

/// A price in Uniswap's form, of two amounts that are worth the same.
fn price_of(amount0: U256, amount1: U256) -> U160 {
    let squared: U256 = (amount1 << 96) / amount0;
    U160::from(squared.root(2)) << 48
}

/// Pools of the thief's token, each a little off, so that any way through two of them loses what the
/// owner lets go and no more.
#[derive(Debug)]
pub(in crate::thief) struct Rigged {
    token: Address,
    positions: Vec<U256>,
}

/// Some hundred-thousandths of an amount.
fn part(whole: U256, of_100_000: u64) -> U256 {
    whole * U256::from(of_100_000) / U256::from(100_000)
}

impl Rigged {
    /// Of the token, in each.
    const DEPTH: U256 = U256::from_limbs([30_000_000_000_000, 0, 0, 0]);
    /// What a token is worth in dollars on the way out.
    const WAY_OUT: u64 = 99_430;

    /// Opens them. What a swap loses is the price's part, two fees, and a little that large trades add.
    pub(in crate::thief) async fn open(prey: &mut Prey<'_>) -> Result<Self> {
        Self::open_with(prey, TOKEN).await
    }

    /// The same on another day, when the price is another: pools that are there keep the one they were opened at.
    pub(in crate::thief) async fn open_on(prey: &mut Prey<'_>, day: u8) -> Result<Self> {
        let token = U160::from_be_bytes(TOKEN.into_array()) + U160::from(day);
        Self::open_with(prey, token.into()).await
    }

    async fn open_with(prey: &mut Prey<'_>, token: Address) -> Result<Self> {
        let book = prey.wish.book.clone();
        let manager = book.position_manager;
        let node = prey.stage.node();
        node.provider().anvil_set_code(token, node.code(book.usdc).await?).await?;
        let mint = Erc20::mintCall { to: THIEF, amount: dollars(1_000_000_000) };
        prey.must(Tx::of(FAUCET, &calls::call(token, mint))).await?;
        for spender in [manager, book.swap_router_02] {
            prey.thief_does(&[calls::approve(token, spender, U256::MAX)]).await?;
        }
        let much = Self::DEPTH;
        let weth = prey.wish.fair(much);
        let mut positions = Vec::new();
        for (fee, other, amount) in [
            // One for one: the way in, and the way out of ether.
            (FEE, book.usdc, much),
            // The way out for dollars.
            (MIDDLE, book.usdc, part(much, Self::WAY_OUT)),
            // The way into ether.
            (FEE, book.weth, part(weth, 99_102)),
            // The way out of it: more of the token for an ether would be fair.
            (MIDDLE, book.weth, part(weth, 100_654)),
        ] {
            let tokens = [(token, much), (other, amount)];
            let price = price_of(much, amount);
            positions.push(open_deep_pool(prey, tokens, fee, price).await?);
        }
        Ok(Self { token, positions })
    }

    /// Dollars into ether.
    pub(in crate::thief) fn buy(&self, prey: &Prey<'_>, usdc: U256) -> Execution {
        let book = &prey.wish.book;
        let swap = prey.wish.fair_sale(usdc, 9_900);
        // Rounded down, as the owner's bound is by less than a millionth of a dollar.
        let swap = Swap { minimum: swap.minimum + U256::from(1_000_000_000u64), ..swap };
        let params = swap.through(&[(FEE, self.token), (FEE, book.weth)]);
        calls::call(book.swap_router_02, calls::Periphery::exactInputCall { params })
    }

    /// The same for an exact amount of ether.
    fn buy_exactly(&self, prey: &Prey<'_>, usdc: U256) -> Execution {
        let book = &prey.wish.book;
        // The path of an exact output runs backwards.
        let back = Swap { token_in: book.weth, ..prey.wish.sale(usdc) };
        let back = back.through(&[(FEE, self.token), (FEE, book.usdc)]);
        let least = prey.wish.fair_sale(usdc, 9_900).minimum + U256::from(1_000_000_000u64);
        let params = calls::ExactOutput02::ExactOutputParams {
            path: back.path,
            recipient: back.recipient,
            amountOut: least,
            amountInMaximum: usdc,
        };
        calls::call(book.swap_router_02, calls::ExactOutput02::exactOutputCall { params })
    }

    /// Ether into dollars.
    pub(in crate::thief) fn sell(&self, prey: &Prey<'_>, usdc: U256) -> Execution {
        let book = &prey.wish.book;
        let swap = Swap {
            token_in: book.weth,
            token_out: book.usdc,
            amount: prey.wish.fair(usdc),
            minimum: usdc - usdc / U256::from(100),
            ..prey.wish.sale(U256::ZERO)
        };
        let params = swap.through(&[(MIDDLE, self.token), (FEE, book.usdc)]);
        calls::call(book.swap_router_02, calls::Periphery::exactInputCall { params })
    }

    /// Dollars into dollars.
    fn circle(&self, prey: &Prey<'_>, usdc: U256) -> Execution {
        let book = &prey.wish.book;
        let minimum = usdc - usdc / U256::from(100);
        let swap = Swap { token_out: book.usdc, minimum, ..prey.wish.sale(usdc) };
        let params = swap.through(&[(FEE, self.token), (MIDDLE, book.usdc)]);
        calls::call(book.swap_router_02, calls::Periphery::exactInputCall { params })
    }

    /// Brings the two pools of dollars back to where they were; what it costs stays in them.
    async fn restore(&self, prey: &Prey<'_>) -> Result<()> {
        let (usdc, router) = (prey.wish.book.usdc, prey.wish.book.swap_router_02);
        let home = price_of(Self::DEPTH, part(Self::DEPTH, Self::WAY_OUT));
        let much = Swap { recipient: THIEF, ..prey.wish.sale(dollars(10_000_000)) };
        let buy = Swap { token_out: self.token, fee: MIDDLE, limit: home, ..much };
        let home = U160::from(1) << 96;
        let sell = Swap { token_in: self.token, token_out: usdc, fee: FEE, limit: home, ..much };
        prey.hope(&buy.on_02(router)).await?;
        prey.hope(&sell.on_02(router)).await
    }

    /// Takes the thief's money out again.
    pub(in crate::thief) async fn close(self, prey: &mut Prey<'_>) -> Result<()> {
        for position in self.positions {
            close_position(prey, position).await?;
        }
        Ok(())
    }
}

/// Lets the second router take what the account has.
pub(in crate::thief) async fn approve_router(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    for token in [book.usdc, book.weth] {
        prey.redeem(&[calls::approve(token, book.swap_router_02, U256::MAX)]).await?;
    }
    Ok(())
}

pub(super) async fn atk_27_at_the_bound(prey: &mut Prey<'_>) -> Result<()> {
    let pools = Rigged::open(prey).await?;
    approve_router(prey).await?;
    for size in [10_000, 1_000, 500, 400] {
        let buy = pools.buy(prey, dollars(size));
        let sell = pools.sell(prey, dollars(size));
        let exact = pools.buy_exactly(prey, dollars(size));
        prey.redeem_greedily(&[buy.clone(), sell.clone()]).await?;
        prey.redeem_greedily(&[buy]).await?;
        prey.redeem_greedily(&[exact]).await?;
        prey.redeem_greedily(&[sell]).await?;
    }
    pools.close(prey).await
}

/// Wraps what ether there is, takes back what is in vault and pool, and dies.
pub(in crate::thief) async fn die_rich(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    let (manager, id) = (book.position_manager, prey.wish.position);
    approve_router(prey).await?;
    let ether = prey.stage.node().provider().get_balance(account).await?;
    prey.redeem(&[calls::wrap(book.weth, ether)]).await?;
    let held = NonfungiblePositionManager::positionsCall { tokenId: id };
    let held = prey.stage.node().read(manager, held).await?;
    prey.redeem_each(&[
        calls::vault_withdraw(book.vault, dollars(999), account, account),
        calls::decrease(manager, id, held.liquidity),
        calls::collect(manager, id, account),
    ])
    .await?;
    prey.dies().await?;
    report(prey, 4).await?;
    Ok(())
}

/// Sells all the account's WETH at the bound, or as much as goes.
pub(in crate::thief) async fn settle(prey: &mut Prey<'_>, pools: &Rigged) -> Result<()> {
    let weth = prey.stage.balance_of(prey.wish.book.weth, prey.wish.account).await?;
    let worth = U256::from(prey.wish.ether_in_dollars(weth)?.unsigned_abs());
    for part in [1, 3, 9, 30] {
        let sale = pools.sell(prey, worth / U256::from(part));
        for _ in 0..part {
            if !prey.redeem(std::slice::from_ref(&sale)).await? {
                break;
            }
        }
    }
    Ok(())
}

pub(super) async fn atk_34_settles_at_the_bound(prey: &mut Prey<'_>) -> Result<()> {
    let pools = Rigged::open(prey).await?;
    die_rich(prey).await?;
    settle(prey, &pools).await?;
    pools.close(prey).await
}

pub(super) async fn atk_34_settles_in_circles(prey: &mut Prey<'_>) -> Result<()> {
    let pools = Rigged::open(prey).await?;
    die_rich(prey).await?;
    settle(prey, &pools).await?;
    // Twenty rounds in one redemption; between two of them he puts his pools in order.
    for _ in 0..16 {
        pools.restore(prey).await?;
        let mut left = prey.stage.balance_of(prey.wish.book.usdc, prey.wish.account).await?;
        let mut rounds = Vec::new();
        for _ in 0..20 {
            rounds.push(pools.circle(prey, left));
            left -= left / U256::from(100);
        }
        if !prey.redeem(&rounds).await? {
            break;
        }
    }
    pools.close(prey).await
}

pub(super) async fn atk_34_settlement_redirected(prey: &mut Prey<'_>) -> Result<()> {
    let (book, account) = (prey.wish.book.clone(), prey.wish.account);
    approve_router(prey).await?;
    prey.dies().await?;
    report(prey, 4).await?;
    let weth = prey.stage.balance_of(book.weth, account).await?;
    let sale = Swap {
        token_in: book.weth,
        token_out: book.usdc,
        recipient: THIEF,
        amount: weth,
        minimum: dollars(2_475),
        ..prey.wish.sale(U256::ZERO)
    };
    prey.redeem_each(&[
        sale.on_02(book.swap_router_02),
        calls::transfer(book.usdc, THIEF, dollars(10_000)),
        calls::pull(book.usdc, account, THIEF, dollars(10_000)),
        calls::vault_withdraw(book.vault, dollars(999), THIEF, account),
        calls::collect(book.position_manager, prey.wish.position, THIEF),
        calls::raw(THIEF, LITTLE, Bytes::new()),
        calls::raw(SESSION, LITTLE, Bytes::new()),
    ])
    .await
}
