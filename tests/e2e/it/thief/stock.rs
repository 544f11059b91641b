//! The wish, as far as stock caveats can say it.

use super::{Expectation, Grant, Wish, calls, calls::Swap};
use alloy::{
    primitives::{Address, B256, Selector, U256},
    sol_types::SolCall,
};
use anyhow::Result;
use bardo_bindings::defi::{Erc4626, NonfungiblePositionManager, SwapRouter, SwapRouter02, Weth9};
use bardo_testkit::dollars;
use golem_custody::Execution;
use golem_delegation::{
    Caveat, enforcers,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, LimitedCalls, Redeemer, Timestamp,
        ValueLte,
    },
};

/// Two-second blocks, as on Base: a week of them.
const WEEK_OF_BLOCKS: u64 = 302_400;

/// `TimestampEnforcer` leaves out both ends of its window; the wish has them inside.
fn window(wish: &Wish) -> Caveat {
    let window = Timestamp { after: (wish.start - 1).into(), before: (wish.end + 1).into() };
    Caveat::new(enforcers::TIMESTAMP, window.encode())
}

/// Terms of `ERC20BalanceChangeEnforcer`: `decrease ‖ token ‖ holder ‖ amount`. A decrease is the most
/// that a redemption may take, an increase the least that it must bring.
fn balance_change(decrease: bool, token: Address, holder: Address, amount: U256) -> Caveat {
    let amount = amount.to_be_bytes::<32>();
    let terms = [&[u8::from(decrease)], token.as_slice(), holder.as_slice(), &amount].concat();
    Caveat::new(enforcers::ERC20_BALANCE_CHANGE, terms)
}

/// The seven caveats of the seeds' list (004 S4) around the whole job.
///
/// One of them had to be replaced: `ERC20TransferAmountEnforcer` refuses every call but a `transfer`,
/// so with it there is no swap. The nearest that allows one is `ERC20BalanceChangeEnforcer`; it
/// bounds what one redemption takes, where the other counts over all of them.
#[derive(Debug)]
pub(super) struct Seven;

impl Grant for Seven {
    fn name(&self) -> &'static str {
        "seven stock caveats"
    }

    fn caveats(&self, wish: &Wish) -> Result<Vec<Caveat>> {
        let book = &wish.book;
        let targets = vec![
            book.usdc,
            book.weth,
            book.swap_router,
            book.swap_router_02,
            book.position_manager,
            book.vault,
            // Gas money for the agent.
            wish.session,
        ];
        let methods: Vec<Selector> = [
            calls::Token::approveCall::SELECTOR,
            // Money home. Whom it goes to would be an argument, and arguments differ by function.
            calls::Token::transferCall::SELECTOR,
            SwapRouter02::exactInputSingleCall::SELECTOR,
            SwapRouter::exactInputSingleCall::SELECTOR,
            calls::Periphery::exactInputCall::SELECTOR,
            calls::ExactOutput02::exactOutputSingleCall::SELECTOR,
            // Uniswap's own SDK sends nothing else.
            calls::Periphery::multicallCall::SELECTOR,
            NonfungiblePositionManager::mintCall::SELECTOR,
            NonfungiblePositionManager::increaseLiquidityCall::SELECTOR,
            NonfungiblePositionManager::decreaseLiquidityCall::SELECTOR,
            NonfungiblePositionManager::collectCall::SELECTOR,
            Erc4626::depositCall::SELECTOR,
            Erc4626::withdrawCall::SELECTOR,
            // Also how the agent's key is paid: a call without a selector is refused.
            Weth9::depositCall::SELECTOR,
            Weth9::withdrawCall::SELECTOR,
        ]
        .map(Into::into)
        .to_vec();
        // Ether leaves by wrapping too, so the cap is the day's and not the stipend's.
        let native = wish.cap_in_ether().to_be_bytes::<32>();
        let blocks = [0u128.to_be_bytes(), u128::from(wish.block + WEEK_OF_BLOCKS).to_be_bytes()];
        Ok(vec![
            balance_change(true, book.usdc, wish.account, wish.cap),
            Caveat::new(enforcers::NATIVE_TOKEN_TRANSFER_AMOUNT, native.to_vec()),
            Caveat::new(enforcers::ALLOWED_TARGETS, AllowedTargets(targets).encode()),
            window(wish),
            Caveat::new(enforcers::BLOCK_NUMBER, blocks.concat()),
            Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(100)).encode()),
            Caveat::new(enforcers::ALLOWED_METHODS, AllowedMethods(methods).encode()),
        ])
    }

    fn honest(&self, wish: &Wish) -> Vec<Vec<Execution>> {
        wish.whole_job().into_iter().map(|call| vec![call]).collect()
    }

    fn expects(&self) -> Expectation {
        Expectation::LosesAtLeast(&[
            "08", "10", "11", "12", "15", "17", "18", "19", "20", "22", "23", "24", "25", "26",
            "27", "28", "29", "31", "34", "45", "46",
        ])
    }
}

/// Nine stock caveats around one job: sell the day's dollars for WETH on one pool.
///
/// Everything that has a fixed place in the calldata is pinned, the amount too. The price has no
/// fixed place in the world: a minimum that is signed today must let the agent work all week, so it
/// stands a fifth below today's price. And no stock caveat counts by day what is not a `transfer`:
/// seven calls in seven days are what "a thousand a day" becomes.
#[derive(Debug)]
pub(super) struct Nine;

impl Nine {
    const fn job(wish: &Wish) -> Swap {
        wish.sale(wish.cap)
    }
}

impl Grant for Nine {
    fn name(&self) -> &'static str {
        "nine stock caveats"
    }

    fn caveats(&self, wish: &Wish) -> Result<Vec<Caveat>> {
        let book = &wish.book;
        let job = Self::job(wish);
        // Calldata is `selector ‖ tokenIn ‖ tokenOut ‖ fee ‖ recipient ‖ amountIn ‖ …`, a word each.
        let pinned = [
            job.token_in.into_word(),
            job.token_out.into_word(),
            B256::from(U256::from(job.fee)),
            wish.account.into_word(),
            B256::from(job.amount),
        ];
        let pinned = AllowedCalldata { start: U256::from(4), value: pinned.concat().into() };
        let least = wish.fair(job.amount) * U256::from(80) / U256::from(100);
        let method = SwapRouter02::exactInputSingleCall::SELECTOR.into();
        Ok(vec![
            Caveat::new(
                enforcers::ALLOWED_TARGETS,
                AllowedTargets(vec![book.swap_router_02]).encode(),
            ),
            Caveat::new(enforcers::ALLOWED_METHODS, AllowedMethods(vec![method]).encode()),
            Caveat::new(enforcers::ALLOWED_CALLDATA, pinned.encode()),
            Caveat::new(enforcers::VALUE_LTE, ValueLte(U256::ZERO).encode()),
            window(wish),
            Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(7)).encode()),
            Caveat::new(enforcers::REDEEMER, Redeemer(vec![wish.session]).encode()),
            // The delegator's nonce; no owner of ours has raised it yet.
            Caveat::new(enforcers::NONCE, vec![0; 32]),
            balance_change(false, book.weth, wish.account, least),
        ])
    }

    fn honest(&self, wish: &Wish) -> Vec<Vec<Execution>> {
        let fair = wish.fair(dollars(1_000)) * U256::from(99) / U256::from(100);
        vec![vec![Swap { minimum: fair, ..Self::job(wish) }.on_02(wish.book.swap_router_02)]]
    }

    fn expects(&self) -> Expectation {
        Expectation::LosesAtLeast(&["08", "10", "12", "19", "23", "24", "27", "31", "34", "46"])
    }
}
