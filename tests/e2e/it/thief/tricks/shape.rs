//! Shape of the execution.

use super::{SIZES, fair_jobs, forbidden};
use crate::thief::{
    calls,
    calls::Swap,
    prey::{Prey, redeem_calldata, single},
    wish::{SESSION, THIEF},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256, address, b256},
    providers::ext::AnvilApi,
    sol_types::{SolCall, SolValue},
};
use anyhow::Result;
use bardo_bindings::{
    GolemRegistry,
    defi::NonfungiblePositionManager,
    framework::{
        DELEGATION_MANAGER, DeleGator, MODE_BATCH, MODE_BATCH_TRY, MODE_SINGLE, MODE_SINGLE_TRY,
    },
    golem_registry,
};
use bardo_testkit::dollars;
use golem_chain::revocation;
use golem_custody::encode_batch;
use golem_delegation::enforcers;

/// Call type `ff` of ERC-7579.
const MODE_DELEGATECALL: B256 =
    b256!("ff00000000000000000000000000000000000000000000000000000000000000");
/// Where the thief puts code.
const LAIR: Address = address!("1a12000000000000000000000000000000001a12");

pub(super) async fn atk_12_batch_around_single_call_rules(prey: &mut Prey<'_>) -> Result<()> {
    let [honest, _] = fair_jobs(&prey.wish);
    let take = forbidden(&prey.wish);
    for batch in [vec![honest.clone(), take.clone()], vec![take.clone(), honest], vec![take]] {
        prey.redeem_raw(MODE_BATCH, encode_batch(&batch)).await?;
    }
    // A batch's bytes under the mode of a single call, and the other way round.
    let take = forbidden(&prey.wish);
    prey.redeem_raw(MODE_SINGLE, encode_batch(std::slice::from_ref(&take))).await?;
    prey.redeem_raw(MODE_BATCH, single(&take)).await?;
    Ok(())
}

pub(super) async fn atk_12_many_times_in_one_redemption(prey: &mut Prey<'_>) -> Result<()> {
    for sale in fair_jobs(&prey.wish) {
        let five = vec![sale; 5];
        prey.redeem(&five).await?;
        prey.redeem_raw(MODE_BATCH, encode_batch(&five)).await?;
    }
    Ok(())
}

pub(super) async fn atk_12_empty_batch(prey: &mut Prey<'_>) -> Result<()> {
    prey.redeem_raw(MODE_BATCH, encode_batch(&[])).await?;
    prey.redeem_raw(MODE_SINGLE, Bytes::new()).await?;
    let context = prey.context()?.encode();
    let take = single(&forbidden(&prey.wish));
    let uneven = redeem_calldata(vec![context.clone()], vec![], vec![take.clone()]);
    prey.redeem_with(SESSION, uneven).await?;
    let uneven = redeem_calldata(vec![context], vec![MODE_SINGLE; 2], vec![take.clone(), take]);
    prey.redeem_with(SESSION, uneven).await?;
    Ok(())
}

pub(super) async fn atk_12_delegatecall(prey: &mut Prey<'_>) -> Result<()> {
    // PUSH0 PUSH0 PUSH0 PUSH0 SELFBALANCE PUSH20 thief GAS CALL: all the ether of whoever runs it.
    let code = [&[0x5f, 0x5f, 0x5f, 0x5f, 0x47, 0x73], THIEF.as_slice(), &[0x5a, 0xf1]].concat();
    prey.stage.node().provider().anvil_set_code(LAIR, code.into()).await?;
    let run = calls::raw(LAIR, U256::ZERO, vec![0; 4]);
    // ERC-7579 packs target and data, without a value.
    let packed = [LAIR.as_slice(), &[0; 4]].concat();
    for execution in [packed.into(), single(&run)] {
        prey.redeem_raw(MODE_DELEGATECALL, execution).await?;
    }
    Ok(())
}

pub(super) async fn atk_13_try_mode(prey: &mut Prey<'_>) -> Result<()> {
    let wish = prey.wish.clone();
    let dear = Swap { minimum: U256::MAX, ..wish.sale(wish.cap) };
    let failing = dear.on_02(wish.book.swap_router_02);
    for call in [&failing, &forbidden(&wish)] {
        prey.redeem_raw(MODE_SINGLE_TRY, single(call)).await?;
        let batch = encode_batch(std::slice::from_ref(call));
        prey.redeem_raw(MODE_BATCH_TRY, batch).await?;
    }
    Ok(())
}

pub(super) async fn atk_14_self_call(prey: &mut Prey<'_>) -> Result<()> {
    let wish = prey.wish.clone();
    let take = forbidden(&wish);
    // Once the account calls itself, it may do anything.
    let inner = DeleGator::executeCall { mode: MODE_SINGLE, executionCalldata: single(&take) };
    let context = prey.context()?.encode();
    let nested = redeem_calldata(vec![context], vec![MODE_SINGLE], vec![single(&take)]);
    let nonce = calls::NonceEnforcer::incrementNonceCall { delegationManager: DELEGATION_MANAGER };
    let registry = golem_registry();
    let attach = GolemRegistry::attachCall { golemId: wish.golem, agentKey: THIEF };
    let revoke = GolemRegistry::revokeAllCall {};
    prey.redeem_each(&[
        calls::call(wish.account, inner),
        // Selectors that the wish allows, at places it does not mean.
        calls::approve(wish.account, THIEF, U256::MAX),
        calls::transfer(DELEGATION_MANAGER, THIEF, U256::MAX),
        calls::raw(DELEGATION_MANAGER, U256::ZERO, nested),
        calls::raw(DELEGATION_MANAGER, U256::ZERO, revocation(&prey.grant)),
        calls::call(enforcers::NONCE, nonce),
        calls::call(registry, attach),
        calls::call(registry, revoke),
    ])
    .await
}

pub(super) async fn atk_15_odd_offsets(prey: &mut Prey<'_>) -> Result<()> {
    let router = prey.wish.book.swap_router_02;
    for size in SIZES {
        let decoy = prey.wish.fair_sale(dollars(size), 9_910);
        let real = Swap { recipient: THIEF, minimum: U256::ZERO, ..decoy };
        // `0x20 ‖ struct` becomes `offset ‖ decoy ‖ struct`.
        let [decoy, real] = [decoy, real].map(|swap| swap.path().abi_encode());
        let (decoy, real) = (decoy.get(32..).unwrap_or(&[]), real.get(32..).unwrap_or(&[]));
        let offset = U256::from(32 + decoy.len()).to_be_bytes::<32>();
        let selector = calls::Periphery::exactInputCall::SELECTOR;
        let data = [selector.as_slice(), &offset, decoy, real].concat();
        prey.redeem_greedily(&[calls::raw(router, U256::ZERO, data)]).await?;
        // A recipient with a dirty upper half, for a checker that looks at the lower one only.
        let honest = prey.wish.fair_sale(dollars(size), 9_910).on_02(router);
        let mut dirty = honest.data.to_vec();
        if let Some(byte) = dirty.get_mut(4 + 3 * 32) {
            *byte = 1;
        }
        prey.redeem(&[calls::raw(router, U256::ZERO, dirty)]).await?;
    }
    Ok(())
}

pub(super) async fn atk_16_short_calldata(prey: &mut Prey<'_>) -> Result<()> {
    let (weth, usdc) = (prey.wish.book.weth, prey.wish.book.usdc);
    let whole = prey.stage.balance_of(weth, prey.wish.account).await?;
    // 1/256 of the WETH, and the last byte left out: an old compiler reads a zero there.
    let small = calls::transfer(weth, THIEF, whole >> 8);
    let mut cut = small.data.to_vec();
    cut.remove(36);
    prey.redeem_each(&[
        calls::raw(weth, U256::ZERO, cut.clone()),
        calls::raw(usdc, U256::ZERO, cut),
        calls::raw(usdc, U256::ZERO, vec![0xa9, 0x05, 0x9c]),
        calls::raw(THIEF, prey.wish.cap_in_ether(), Bytes::new()),
        calls::raw(weth, U256::ZERO, calls::Token::transferCall::SELECTOR),
    ])
    .await
}

pub(super) async fn atk_17_value_limit_avoided_by_token_transfer(
    prey: &mut Prey<'_>,
) -> Result<()> {
    let wish = prey.wish.clone();
    // Dollars last: a rule on their balance refuses everything once there are none left.
    for size in [2_500, 1_000, 500] {
        let weth = calls::transfer(wish.book.weth, THIEF, wish.fair(dollars(size)));
        prey.redeem_greedily(&[weth]).await?;
    }
    for size in SIZES {
        let usdc = calls::transfer(wish.book.usdc, THIEF, dollars(size));
        prey.redeem_greedily(&[usdc]).await?;
    }
    Ok(())
}

pub(super) async fn atk_17_position_transfer(prey: &mut Prey<'_>) -> Result<()> {
    let book = prey.wish.book.clone();
    let shares = prey.stage.balance_of(book.vault, prey.wish.account).await?;
    let everything =
        NonfungiblePositionManager::setApprovalForAllCall { operator: THIEF, approved: true };
    let one = NonfungiblePositionManager::approveCall { to: THIEF, tokenId: prey.wish.position };
    prey.redeem_each(&[
        forbidden(&prey.wish),
        calls::call(book.position_manager, everything),
        calls::call(book.position_manager, one),
        calls::transfer(book.vault, THIEF, shares),
    ])
    .await?;
    let take = forbidden(&prey.wish);
    prey.hope(&take).await
}

pub(super) async fn atk_18_forbidden_call_in_multicall(prey: &mut Prey<'_>) -> Result<()> {
    let wish = prey.wish.clone();
    let router = wish.book.swap_router_02;
    for size in SIZES {
        let amount = dollars(size);
        let theft = Swap { recipient: THIEF, ..wish.sale(amount) }.on_02(router);
        let pull = calls::Periphery::pullCall { token: wish.book.usdc, value: amount };
        let sweep = calls::Periphery::sweepTokenCall {
            token: wish.book.usdc,
            amountMinimum: U256::ZERO,
            recipient: THIEF,
        };
        let through = [calls::call(router, pull), calls::call(router, sweep)];
        prey.redeem_greedily(&[calls::multicall(router, &[theft])]).await?;
        prey.redeem_greedily(&[calls::multicall(router, &through)]).await?;
    }
    let manager = wish.book.position_manager;
    prey.redeem(&[calls::multicall(manager, &[forbidden(&wish)])]).await?;
    Ok(())
}
