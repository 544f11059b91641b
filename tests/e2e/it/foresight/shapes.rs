//! What agents do all day, in every form that it has, and what becomes of each form with one thing wrong in it.

use super::{
    scenes::{Calls, DOLLAR, Dice, Scene, Wanted, call, fair, golem},
    stock::{Allowance, OVER_AMOUNT, allowances, payee},
};
use crate::{
    field::Field,
    raw::{RawKey, granted},
};
use alloy::{
    primitives::{
        Address, B256, Bytes, U256,
        aliases::{I24, U24},
    },
    sol_types::SolCall as _,
};
use anyhow::Result;
use bardo_bindings::{
    defi::{
        Erc20, Erc4626,
        NonfungiblePositionManager::{
            CollectParams, DecreaseLiquidityParams, IncreaseLiquidityParams, MintParams,
            collectCall, decreaseLiquidityCall, increaseLiquidityCall, mintCall,
        },
    },
    framework::DELEGATION_MANAGER,
};
use bardo_testkit::{Stage, charter_of, dollars, fair_swap};
use golem_chain::{AccountKind, bundle_enforcers};
use golem_custody::{DenialCode, Execution, Redemption, SessionSigner as _};
use golem_delegation::{
    Delegation, PermissionContext,
    bundles::{Bundle, Law, Spend},
    terms::GolemCharter,
};

/// The forms of what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Shape {
    Swap,
    /// Two swaps at once.
    Batch,
    ApproveAndSwap,
    Deposit,
    Withdraw,
    Mint,
    Increase,
    /// Liquidity out of the pool, and out of the position.
    Decrease,
    /// Gas money for the agent's key.
    Stipend,
    /// A Replicant's, under its parent's.
    SecondLink,
    /// Under stock enforcers alone.
    Stock,
    /// Several grants, of several owners, redeemed at once.
    Tuples,
}

impl Shape {
    /// All of them, and how often each is tried: those that take the machine longest not as often.
    pub(super) const ALL: [(Self, u64); 12] = [
        (Self::Swap, 1_200),
        (Self::Batch, 80),
        (Self::ApproveAndSwap, 500),
        (Self::Deposit, 100),
        (Self::Withdraw, 400),
        (Self::Mint, 70),
        (Self::Increase, 70),
        (Self::Decrease, 70),
        (Self::Stipend, 1_700),
        (Self::SecondLink, 60),
        (Self::Stock, 500),
        (Self::Tuples, 40),
    ];

    pub(super) fn times(self) -> u64 {
        Self::ALL.iter().filter(|(shape, _)| *shape == self).map(|(_, times)| times).sum()
    }
}

/// A shape with one thing wrong is tried less often: each rule has a scene of its own.
const FEW: u64 = 4;

/// Golems that trade, that hold and that have children.
pub(super) async fn of_accounts(field: &Field) -> Result<Vec<Scene>> {
    let stage = &field.stage;
    let mut scenes = Vec::new();
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let (_, agent, _) = golem(stage, kind, |_| ()).await?;
        let (account, key) = (agent.account, agent.key.address());
        for (shape, calls) in trades(account, key) {
            let links = vec![agent.grant.clone()];
            scenes.push(Scene::new(Wanted::Allowed(shape), links, key, calls)?.one_in(2));
        }
        for (rule, calls) in foul_trades(account, key) {
            let links = vec![agent.grant.clone()];
            scenes.push(Scene::refused(rule, links, key, calls)?.one_in(2 * FEW));
        }
    }
    scenes.extend(of_holdings(field).await?);
    scenes.extend(of_replicants(field).await?);
    Ok(scenes)
}

/// Gas money, within a day's.
fn stipend(key: Address) -> impl Fn(&Stage, &mut Dice) -> Vec<Execution> {
    move |_, dice| {
        let value = U256::from(1 + dice.below(9_000)) * U256::from(1_000_000_000_000_u64);
        vec![Execution { target: key, value, data: Bytes::new() }]
    }
}

/// Leave for a spender, and a swap of as much.
fn allowed_swap(stage: &Stage, account: Address, spender: Address, amount: U256) -> Vec<Execution> {
    let allow = Erc20::approveCall { spender, amount };
    vec![call(stage.book().usdc, &allow), fair_swap(stage, account, amount)]
}

fn trades(account: Address, key: Address) -> Vec<(Shape, Calls)> {
    let some = fair(account, 1, 200);
    vec![
        (Shape::Swap, Box::new(fair(account, 1, 400))),
        (
            Shape::Batch,
            Box::new(move |stage, dice| [some(stage, dice), some(stage, dice)].concat()),
        ),
        (
            Shape::ApproveAndSwap,
            Box::new(move |stage, dice| {
                let router = stage.book().swap_router_02;
                allowed_swap(stage, account, router, dollars(1 + dice.below(400)))
            }),
        ),
        (Shape::Stipend, Box::new(stipend(key))),
    ]
}

fn foul_trades(account: Address, key: Address) -> Vec<(DenialCode, Calls)> {
    let gas = stipend(key);
    vec![
        (
            DenialCode::Recipient,
            Box::new(move |stage, dice| {
                let (thief, amount) = (dice.address(), dollars(1 + dice.below(200)));
                vec![fair_swap(stage, account, amount), fair_swap(stage, thief, amount)]
            }),
        ),
        (
            DenialCode::Spender,
            Box::new(move |stage, dice| {
                let (thief, amount) = (dice.address(), dollars(1 + dice.below(400)));
                allowed_swap(stage, account, thief, amount)
            }),
        ),
        (
            DenialCode::Target,
            Box::new(move |stage, dice| {
                let target = dice.address();
                gas(stage, dice).into_iter().map(|pay| Execution { target, ..pay }).collect()
            }),
        ),
    ]
}

/// Vault and pool, of an account that has something in both.
async fn of_holdings(field: &Field) -> Result<Vec<Scene>> {
    let stage = &field.stage;
    let (book, account) = (stage.book(), field.account());
    let (vault, positions) = (book.vault, book.position_manager);
    let (weth, usdc) = (book.weth, book.usdc);
    // Its owner puts something into each.
    let _ = field.deposited().await?;
    let [remove, _] = field.position().await?;
    let id = decreaseLiquidityCall::abi_decode(&remove.data)?.params.tokenId;

    let key = RawKey::born(stage).await?;
    let law = charter_of(stage, &field.owner, HOLDER, key.address(), |_| ()).await?;
    let charter = Law::new(law).caveats(&bundle_enforcers())?;
    let links = granted(stage, &field.owner, key.address(), charter)?;

    let deposit = move |receiver: Address, dice: &mut Dice| {
        vec![call(vault, &Erc4626::depositCall { assets: dollars(1 + dice.below(200)), receiver })]
    };
    let withdraw = move |receiver: Address, dice: &mut Dice| {
        let assets = U256::from(1 + dice.below(9 * DOLLAR));
        vec![call(vault, &Erc4626::withdrawCall { assets, receiver, owner: account })]
    };
    // Ten dollars at most, and as much ether: what the owner left.
    let amounts = |dice: &mut Dice| {
        let cents = 1 + dice.below(1_000);
        (U256::from(cents) * U256::from(4_000_000_000_000_u64), U256::from(cents * 10_000))
    };
    let mint = move |recipient: Address, dice: &mut Dice| {
        let (ether, cash) = amounts(dice);
        let edge = I24::try_from(887_270).unwrap_or(I24::ZERO);
        let params = MintParams {
            token0: weth,
            token1: usdc,
            fee: U24::from(500),
            tickLower: -edge,
            tickUpper: edge,
            amount0Desired: ether,
            amount1Desired: cash,
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            recipient,
            deadline: U256::MAX,
        };
        vec![call(positions, &mintCall { params })]
    };
    let increase = move |position: U256, dice: &mut Dice| {
        let (ether, cash) = amounts(dice);
        let params = IncreaseLiquidityParams {
            tokenId: position,
            amount0Desired: ether,
            amount1Desired: cash,
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            deadline: U256::MAX,
        };
        vec![call(positions, &increaseLiquidityCall { params })]
    };
    let decrease = move |recipient: Address, dice: &mut Dice| {
        let params = DecreaseLiquidityParams {
            tokenId: id,
            liquidity: 1 + u128::from(dice.below(1 << 30)),
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            deadline: U256::MAX,
        };
        let taken =
            CollectParams { tokenId: id, recipient, amount0Max: u128::MAX, amount1Max: u128::MAX };
        vec![
            call(positions, &decreaseLiquidityCall { params }),
            call(positions, &collectCall { params: taken }),
        ]
    };
    let fine: [(Shape, Calls); 5] = [
        (Shape::Deposit, Box::new(move |_, dice| deposit(account, dice))),
        (Shape::Withdraw, Box::new(move |_, dice| withdraw(account, dice))),
        (Shape::Mint, Box::new(move |_, dice| mint(account, dice))),
        (Shape::Increase, Box::new(move |_, dice| increase(id, dice))),
        (Shape::Decrease, Box::new(move |_, dice| decrease(account, dice))),
    ];
    let foul: [(DenialCode, Calls); 5] = [
        (DenialCode::Recipient, Box::new(move |_, dice| deposit(dice.address(), dice))),
        (DenialCode::Recipient, Box::new(move |_, dice| withdraw(dice.address(), dice))),
        (DenialCode::Recipient, Box::new(move |_, dice| mint(dice.address(), dice))),
        (DenialCode::Position, Box::new(move |_, dice| increase(U256::ONE, dice))),
        (DenialCode::Recipient, Box::new(move |_, dice| decrease(dice.address(), dice))),
    ];
    let by = key.address();
    let mut scenes = Vec::new();
    for (shape, calls) in fine {
        scenes.push(Scene::new(Wanted::Allowed(shape), links.clone(), by, calls)?);
    }
    for (rule, calls) in foul {
        scenes.push(Scene::refused(rule, links.clone(), by, calls)?.one_in(FEW));
    }
    Ok(scenes)
}

/// Two Golems of one owner.
const HOLDER: B256 = B256::repeat_byte(0x61);
const PARENT: B256 = B256::repeat_byte(0x62);

/// A Replicant with fifty dollars of its own, whom somebody else lets pay too.
async fn of_replicants(field: &Field) -> Result<Vec<Scene>> {
    let (stage, account) = (&field.stage, field.account());
    let parent = RawKey::born(stage).await?;
    let law = charter_of(stage, &field.owner, PARENT, parent.address(), |law| {
        law.replicants = true;
    })
    .await?;
    let caveats = Law::new(law.clone()).caveats(&bundle_enforcers())?;
    let above = granted(stage, &field.owner, parent.address(), caveats)?;
    let child = Address::repeat_byte(0x32);
    let below = Law::new(GolemCharter { agent_key: child, ..law })
        .of_child(child.into_word())
        .under(&[Bundle::MaxSpend(Spend::Total(50 * DOLLAR))])?;
    let caveats = below.caveats(&bundle_enforcers())?;
    let links = parent.delegate(stage, &above, child, caveats)?;
    let second = Wanted::Allowed(Shape::SecondLink);
    let mut scenes = vec![
        Scene::new(second, links.clone(), child, fair(account, 1, 49))?,
        Scene::refused(DenialCode::Budget, links.clone(), child, fair(account, 51, 400))?
            .one_in(FEW),
    ];
    scenes.extend(of_tuples(stage, account, links, child).await?);
    Ok(scenes)
}

/// The Replicant's swaps, and somebody else's dollars under a stock enforcer, in either order.
async fn of_tuples(
    stage: &Stage,
    account: Address,
    links: Vec<Delegation>,
    by: Address,
) -> Result<Vec<Scene>> {
    let other = stage.owner(AccountKind::Stateless7702).await?;
    let [Allowance { caveat, pay }, ..] = allowances(stage).await?;
    let pays = PermissionContext::new(granted(stage, &other, by, vec![caveat])?)?;
    let swaps = PermissionContext::new(links)?;
    let both = |least: u64, most: u64| {
        let (swaps, pays) = (swaps.clone(), pays.clone());
        move |stage: &Stage, dice: &mut Dice| {
            let swap = fair_swap(stage, account, dollars(1 + dice.below(20)));
            let to = payee(dice);
            let paid = pay(stage, to, dollars(least + dice.below(most - least + 1)));
            let (swaps, pays) = (swaps.clone(), pays.clone());
            Ok(if dice.below(2) == 0 {
                Redemption::single(DELEGATION_MANAGER, swaps.clone(), &swap)
                    .and_single(pays, &paid)
                    .and_single(swaps, &swap)
            } else {
                Redemption::single(DELEGATION_MANAGER, pays, &paid)
                    .and_batch(swaps, &[swap.clone(), swap])
            })
        }
    };
    Ok(vec![
        Scene::made(Wanted::Allowed(Shape::Tuples), by, both(1, 50)),
        Scene::made(Wanted::Refused(OVER_AMOUNT), by, both(51, 400)).one_in(FEW),
    ])
}
