//! Stock enforcers that count what is paid, the owner's grants and the chain's blocks.

use super::{
    scenes::{DOLLAR, Dice, Scene, Wanted, call},
    shapes::Shape,
};
use crate::raw::granted;
use alloy::{
    primitives::{Address, Bytes, U256},
    sol,
    sol_types::SolCall as _,
};
use anyhow::Result;
use bardo_bindings::{
    defi::{Erc20, SwapRouter02::exactInputSingleCall},
    framework::DELEGATION_MANAGER,
};
use bardo_testkit::{Stage, dollars, swap};
use golem_chain::AccountKind;
use golem_custody::{DenialCode, Execution};
use golem_delegation::{
    Caveat, enforcers,
    terms::{
        AllowedMethods, AllowedTargets, BlockNumber, Erc20PeriodTransfer, Erc20Streaming,
        LimitedCalls, NativeTokenPeriodTransfer, NativeTokenStreaming, Nonce, Redeemer, Timestamp,
        ValueLte,
    },
};

/// More than a period or a stream allows.
pub(super) const OVER_AMOUNT: DenialCode = DenialCode::Spend;
/// The owner raised his nonce.
const NONCE_RAISED: DenialCode = DenialCode::Revoked;
/// Not yet that block, and no longer.
const BLOCK_EARLY: DenialCode = DenialCode::WindowEarly;
const BLOCK_LATE: DenialCode = DenialCode::WindowExpired;

sol! {
    function incrementNonce(address delegationManager) external;
}

/// Fifty dollars, or as many parts of ether, and how they are paid.
pub(super) struct Allowance {
    pub(super) caveat: Caveat,
    pub(super) pay: fn(&Stage, Address, U256) -> Execution,
}

/// What stands for a dollar's millionth, in wei.
const PART: U256 = U256::from_limbs([100_000_000, 0, 0, 0]);

fn pay_dollars(stage: &Stage, to: Address, amount: U256) -> Execution {
    call(stage.book().usdc, &Erc20::transferCall { to, amount })
}

fn pay_ether(_: &Stage, to: Address, amount: U256) -> Execution {
    Execution { target: to, value: amount * PART, data: Bytes::new() }
}

/// One of a few: whoever was never heard of takes a round trip to read.
pub(super) fn payee(dice: &mut Dice) -> Address {
    Address::from_word(U256::from(0x4000 + dice.below(8)).into())
}

/// One for each of the enforcers that let an amount come back or grow.
pub(super) async fn allowances(stage: &Stage) -> Result<[Allowance; 4]> {
    let token_address = stage.book().usdc;
    let now = U256::from(stage.now().await?);
    let (fifty, thousand) = (dollars(50), dollars(1_000));
    let week = U256::from(604_800);
    let period = Erc20PeriodTransfer {
        token_address,
        period_amount: fifty,
        period_duration: week,
        start_date: now,
    };
    let stream = Erc20Streaming {
        token_address,
        initial_amount: fifty,
        max_amount: thousand,
        amount_per_second: U256::ONE,
        start_time: now,
    };
    let ether_period = NativeTokenPeriodTransfer {
        period_amount: fifty * PART,
        period_duration: week,
        start_date: now,
    };
    let ether_stream = NativeTokenStreaming {
        initial_amount: fifty * PART,
        max_amount: thousand * PART,
        amount_per_second: PART,
        start_time: now,
    };
    let (in_dollars, in_ether) = (pay_dollars, pay_ether);
    let of =
        |enforcer, terms: Vec<u8>, pay| Allowance { caveat: Caveat::new(enforcer, terms), pay };
    Ok([
        of(enforcers::ERC20_PERIOD_TRANSFER, period.encode()?, in_dollars),
        of(enforcers::ERC20_STREAMING, stream.encode()?, in_dollars),
        of(enforcers::NATIVE_TOKEN_PERIOD_TRANSFER, ether_period.encode()?, in_ether),
        of(enforcers::NATIVE_TOKEN_STREAMING, ether_stream.encode()?, in_ether),
    ])
}

/// The amounts that are paid, up to the bound and from there on.
pub(super) async fn of_amounts(stage: &Stage) -> Result<Vec<Scene>> {
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let by = Address::repeat_byte(0x33);
    let mut scenes = Vec::new();
    for Allowance { caveat, pay } in allowances(stage).await? {
        let links = granted(stage, &owner, by, vec![caveat])?;
        let paid = move |least: u64, most: u64| {
            move |stage: &Stage, dice: &mut Dice| {
                let to = payee(dice);
                vec![pay(stage, to, U256::from(least + dice.below(most - least + 1)))]
            }
        };
        let within = paid(1, 50 * DOLLAR);
        scenes
            .push(Scene::new(Wanted::Allowed(Shape::Stock), links.clone(), by, within)?.one_in(5));
        let beyond = paid(51 * DOLLAR, 400 * DOLLAR);
        scenes.push(Scene::refused(OVER_AMOUNT, links, by, beyond)?.one_in(4));
    }
    Ok(scenes)
}

/// Eight stock caveats around a swap, and the same where one of them says no.
pub(super) async fn of_swaps(stage: &Stage) -> Result<Vec<Scene>> {
    let by = Address::repeat_byte(0x34);
    let now = stage.now().await?;
    let any = BlockNumber { after: 0, before: 0 };
    let mut scenes = Vec::new();
    for (wanted, blocks, raised) in [
        (Wanted::Allowed(Shape::Stock), any, false),
        (Wanted::Refused(NONCE_RAISED), any, true),
        (Wanted::Refused(BLOCK_EARLY), BlockNumber { after: 1 << 40, before: 0 }, false),
        (Wanted::Refused(BLOCK_LATE), BlockNumber { after: 0, before: 1 }, false),
    ] {
        let owner = stage.owner(AccountKind::Hybrid).await?;
        let account = owner.account.address;
        if raised {
            let raise = incrementNonceCall { delegationManager: DELEGATION_MANAGER };
            owner.act(stage, enforcers::NONCE, raise).await?;
        }
        let window = Timestamp { after: (now - 1).into(), before: (now + 604_800).into() };
        let method = exactInputSingleCall::SELECTOR.into();
        let router = stage.book().swap_router_02;
        let caveats = vec![
            Caveat::new(enforcers::ALLOWED_TARGETS, AllowedTargets(vec![router]).encode()),
            Caveat::new(enforcers::ALLOWED_METHODS, AllowedMethods(vec![method]).encode()),
            Caveat::new(enforcers::VALUE_LTE, ValueLte(U256::ZERO).encode()),
            Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::ONE).encode()),
            Caveat::new(enforcers::REDEEMER, Redeemer(vec![by]).encode()),
            Caveat::new(enforcers::TIMESTAMP, window.encode()),
            Caveat::new(enforcers::BLOCK_NUMBER, blocks.encode()),
            Caveat::new(enforcers::NONCE, Nonce(U256::ZERO).encode()),
        ];
        let links = granted(stage, &owner, by, caveats)?;
        let swaps = move |stage: &Stage, dice: &mut Dice| {
            vec![swap(stage, account, dollars(1 + dice.below(400)))]
        };
        let scene = Scene::new(wanted, links, by, swaps)?;
        // Amounts that are paid are of this shape too.
        scenes.push(if wanted == Wanted::Allowed(Shape::Stock) { scene.one_in(5) } else { scene });
    }
    Ok(scenes)
}
