//! From what a Golem wants to the calls that do it. Nobody has judged these: they go the way of every intent.

use crate::{Held, Wish};
use alloy_primitives::{Address, U256, U512, aliases::U24};
use alloy_sol_types::SolCall;
use bardo_bindings::defi::{
    Erc20,
    SwapRouter02::{self, ExactInputSingleParams, exactInputSingleCall},
    UniswapV3Factory, UniswapV3Pool,
};
use golem_chain::{ChainFault, Node};
use golem_custody::{Denial, DenialCode, Execution};
use golem_delegation::terms::{GolemCharter, Role};
use golem_safety::{Appraisal, Facts};
use std::collections::BTreeMap;

/// Uniswap's fees, in hundredths of a basis point.
const FEES: [u64; 4] = [100, 500, 3_000, 10_000];
/// All of it, in basis points.
const WHOLE: u64 = 10_000;

/// What an account holds of every listed token that has a price now.
pub(crate) async fn held(
    node: &Node,
    charter: &GolemCharter,
    facts: &Facts,
) -> Result<BTreeMap<Address, Held>, ChainFault> {
    let appraisal = Appraisal::new(&charter.listing, &facts.observed, facts.now);
    let mut all = BTreeMap::new();
    for listed in &charter.listing.tokens {
        let asked = Erc20::balanceOfCall { account: charter.account };
        let amount = node.read(listed.token, asked).await?;
        let Ok(worth) = appraisal.value_in(listed.token, amount) else { continue };
        let Ok(worth) = u128::try_from(worth) else { continue };
        all.insert(listed.token, Held { amount, worth });
    }
    Ok(all)
}

/// The calls that a wish is made of, or why there are none.
pub(crate) async fn calls(
    node: &Node,
    charter: &GolemCharter,
    facts: &Facts,
    wish: &Wish,
) -> Result<Result<Vec<Execution>, Denial>, ChainFault> {
    let Wish::Swap { sell, buy, micro_dollars } = *wish;
    let amounts = match amounts(charter, facts, sell, buy, micro_dollars) {
        Ok(amounts) => amounts,
        Err(denial) => return Ok(Err(denial)),
    };
    let routers = charter.listing.targets.iter();
    let Some(router) =
        routers.filter(|one| one.role == Role::SwapRouter02).map(|one| one.target).next()
    else {
        let reason = "the charter lists no router that swaps are made with";
        return Ok(Err(Denial::new(DenialCode::PolicyTarget, reason)));
    };
    let Some(fee) = deepest(node, router, sell, buy).await? else {
        let reason = format!("there is no pool of {sell} and {buy} with anything in it");
        // Whoever gave the last liquidity took it back: the market's business, and nobody's error.
        return Ok(Err(Denial::new(DenialCode::PolicyPriceUnknown, reason)));
    };
    let Amounts { give, least } = amounts;
    let call = |target, data: Vec<u8>| Execution { target, value: U256::ZERO, data: data.into() };
    let allow = |amount| call(sell, Erc20::approveCall { spender: router, amount }.abi_encode());
    let mut calls = Vec::new();
    let asked = Erc20::allowanceCall { owner: charter.account, spender: router };
    let allowed = node.read(sell, asked).await?;
    if allowed < give {
        // Some tokens take no allowance in the place of another (ATK-26).
        calls.extend((!allowed.is_zero()).then(|| allow(U256::ZERO)));
        calls.push(allow(give));
    }
    let params = ExactInputSingleParams {
        tokenIn: sell,
        tokenOut: buy,
        fee,
        recipient: charter.account,
        amountIn: give,
        amountOutMinimum: least,
        sqrtPriceLimitX96: Default::default(),
    };
    calls.push(call(router, exactInputSingleCall { params }.abi_encode()));
    Ok(Ok(calls))
}

struct Amounts {
    give: U256,
    least: U256,
}

/// How much is given for so many dollars, and the least that must come back, both by the owner's feeds and not by the pool.
fn amounts(
    charter: &GolemCharter,
    facts: &Facts,
    sell: Address,
    buy: Address,
    micro_dollars: u64,
) -> Result<Amounts, Denial> {
    let appraisal = Appraisal::new(&charter.listing, &facts.observed, facts.now);
    let unpriced = |refusal: golem_safety::ValuationRefusal| {
        let code = if refusal.is_stale() {
            DenialCode::PolicyPriceStale
        } else {
            DenialCode::PolicyPriceUnknown
        };
        Denial::new(code, refusal.to_string())
    };
    let listed = charter.listing.tokens.iter().find(|one| one.token == sell);
    let decimals = listed.map_or(0, |one| one.token_decimals);
    let unit = U256::from(10).pow(U256::from(decimals));
    let price = appraisal.value_out(sell, unit).map_err(unpriced)?;
    let rate = appraisal.price_by_feeds(sell, buy).map_err(unpriced)?;
    let too_much = || Denial::new(DenialCode::PolicyAmount, "the amount is beyond the arithmetic");
    let give = U256::from(micro_dollars)
        .checked_mul(unit)
        .and_then(|product| product.checked_div(price))
        .filter(|give| !give.is_zero())
        .ok_or_else(too_much)?;
    // One basis point less than the charter bears: both sides are rounded.
    let bears = u64::from(charter.slippage_bps).saturating_sub(1);
    let keeps = U512::from(WHOLE.saturating_sub(bears));
    let expected: U512 = (U512::from(give) * U512::from(rate)) >> 128;
    let least = expected * keeps / U512::from(WHOLE);
    if least.bit_len() > U256::BITS || least.is_zero() {
        return Err(too_much());
    }
    Ok(Amounts { give, least: U256::saturating_from(least) })
}

/// The fee of the pool with the most in it.
async fn deepest(
    node: &Node,
    router: Address,
    sell: Address,
    buy: Address,
) -> Result<Option<U24>, ChainFault> {
    let factory = node.read(router, SwapRouter02::factoryCall {}).await?;
    let mut deepest: Option<(u128, U24)> = None;
    for fee in FEES.map(U24::from) {
        let asked = UniswapV3Factory::getPoolCall { tokenA: sell, tokenB: buy, fee };
        let pool = node.read(factory, asked).await?;
        if pool.is_zero() {
            continue;
        }
        let depth = node.read(pool, UniswapV3Pool::liquidityCall {}).await?;
        if depth > deepest.map_or(0, |(most, _)| most) {
            deepest = Some((depth, fee));
        }
    }
    Ok(deepest.map(|(_, fee)| fee))
}
