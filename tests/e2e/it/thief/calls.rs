//! Calls a thief makes, or has the owner's account make.

use alloy::{
    primitives::{
        Address, Bytes, U256,
        aliases::{I24, U24, U160},
    },
    sol,
    sol_types::SolCall,
};
use bardo_bindings::defi::{Erc4626, NonfungiblePositionManager, SwapRouter, SwapRouter02, Weth9};
use golem_custody::Execution;

sol! {
    /// What both routers and the position manager have beside the functions of the bindings.
    interface Periphery {
        struct ExactInputParams {
            bytes path;
            address recipient;
            uint256 amountIn;
            uint256 amountOutMinimum;
        }

        function exactInput(ExactInputParams params) external payable returns (uint256 amountOut);
        function multicall(bytes[] data) external payable returns (bytes[] results);
        function sweepToken(address token, uint256 amountMinimum, address recipient) external payable;
        function pull(address token, uint256 value) external payable;
    }

    /// Exact outputs of SwapRouter02; the first router has a deadline before the amounts.
    interface ExactOutput02 {
        struct ExactOutputSingleParams {
            address tokenIn;
            address tokenOut;
            uint24 fee;
            address recipient;
            uint256 amountOut;
            uint256 amountInMaximum;
            uint160 sqrtPriceLimitX96;
        }

        struct ExactOutputParams {
            bytes path;
            address recipient;
            uint256 amountOut;
            uint256 amountInMaximum;
        }

        function exactOutput(ExactOutputParams params) external payable returns (uint256 amountIn);
        function exactOutputSingle(ExactOutputSingleParams params) external payable returns (uint256 amountIn);
    }

    /// What the thief's contract does: `contracts/test/thief/Accomplice.sol`.
    interface Accomplice {
        struct Step {
            address target;
            uint256 value;
            bytes callData;
        }

        function wait(Step[] plan) external;
        function run(Step[] plan) external;
    }

    /// What a pool asks of whoever swaps, and a checker of whoever asks: anybody may try.
    interface Callbacks {
        function uniswapV3SwapCallback(int256 amount0Delta, int256 amount1Delta, bytes data) external;
        function uniswapV3MintCallback(uint256 amount0Owed, uint256 amount1Owed, bytes data) external;
    }

    /// A vault by shares.
    interface Shares {
        function mint(uint256 shares, address receiver) external returns (uint256 assets);
        function redeem(uint256 shares, address receiver, address owner) external returns (uint256 assets);
        function convertToShares(uint256 assets) external view returns (uint256);
    }

    /// The ways a token can be moved or let go.
    interface Token {
        function approve(address spender, uint256 amount) external returns (bool);
        function increaseAllowance(address spender, uint256 increment) external returns (bool);
        function transfer(address to, uint256 amount) external returns (bool);
        function transferFrom(address from, address to, uint256 amount) external returns (bool);
        function permit(address owner, address spender, uint256 value, uint256 deadline, bytes signature) external;
        function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature) external;
    }

    /// Entry of an account that only its manager may use.
    interface Executor {
        function executeFromExecutor(bytes32 mode, bytes executionCalldata) external payable returns (bytes[] returnData);
    }

    /// The local chain's word on its sequencer.
    interface Uptime {
        function set(bool down) external;
    }

    /// Stock `NonceEnforcer`.
    interface NonceEnforcer {
        function incrementNonce(address delegationManager) external;
    }
}

/// Deadline of what never expires by itself.
const NEVER: U256 = U256::MAX;

/// A call without ether.
pub(super) fn call<C: SolCall>(target: Address, call: C) -> Execution {
    Execution { target, value: U256::ZERO, data: call.abi_encode().into() }
}

/// One hop through a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swap {
    pub(super) token_in: Address,
    pub(super) token_out: Address,
    pub(super) fee: u16,
    pub(super) recipient: Address,
    pub(super) amount: U256,
    pub(super) minimum: U256,
    /// Price at which the swap stops; zero for none.
    pub(super) limit: U160,
}

impl Swap {
    /// On SwapRouter02.
    pub(super) fn on_02(&self, router: Address) -> Execution {
        let params = SwapRouter02::ExactInputSingleParams {
            tokenIn: self.token_in,
            tokenOut: self.token_out,
            fee: U24::from(self.fee),
            recipient: self.recipient,
            amountIn: self.amount,
            amountOutMinimum: self.minimum,
            sqrtPriceLimitX96: self.limit,
        };
        call(router, SwapRouter02::exactInputSingleCall { params })
    }

    /// On the first router.
    pub(super) fn on_01(&self, router: Address) -> Execution {
        let params = SwapRouter::ExactInputSingleParams {
            tokenIn: self.token_in,
            tokenOut: self.token_out,
            fee: U24::from(self.fee),
            recipient: self.recipient,
            deadline: NEVER,
            amountIn: self.amount,
            amountOutMinimum: self.minimum,
            sqrtPriceLimitX96: self.limit,
        };
        call(router, SwapRouter::exactInputSingleCall { params })
    }

    /// For an exact output of `minimum`, at most `amount`, on SwapRouter02.
    pub(super) fn exact_output(&self, router: Address) -> Execution {
        let params = ExactOutput02::ExactOutputSingleParams {
            tokenIn: self.token_in,
            tokenOut: self.token_out,
            fee: U24::from(self.fee),
            recipient: self.recipient,
            amountOut: self.minimum,
            amountInMaximum: self.amount,
            sqrtPriceLimitX96: self.limit,
        };
        call(router, ExactOutput02::exactOutputSingleCall { params })
    }

    /// The same hop as a path, for `exactInput` of SwapRouter02.
    pub(super) fn path(&self) -> Periphery::ExactInputParams {
        self.through(&[(self.fee, self.token_out)])
    }

    /// The same by several hops: the fee tier and the token of each.
    pub(super) fn through(&self, hops: &[(u16, Address)]) -> Periphery::ExactInputParams {
        let mut path = self.token_in.to_vec();
        for (fee, token) in hops {
            path.extend(U24::from(*fee).to_be_bytes::<3>());
            path.extend(token);
        }
        Periphery::ExactInputParams {
            path: path.into(),
            recipient: self.recipient,
            amountIn: self.amount,
            amountOutMinimum: self.minimum,
        }
    }
}

pub(super) fn approve(token: Address, spender: Address, amount: U256) -> Execution {
    call(token, Token::approveCall { spender, amount })
}

pub(super) fn transfer(token: Address, to: Address, amount: U256) -> Execution {
    call(token, Token::transferCall { to, amount })
}

pub(super) fn pull(token: Address, from: Address, to: Address, amount: U256) -> Execution {
    call(token, Token::transferFromCall { from, to, amount })
}

pub(super) fn vault_deposit(vault: Address, assets: U256, receiver: Address) -> Execution {
    call(vault, Erc4626::depositCall { assets, receiver })
}

pub(super) fn vault_withdraw(
    vault: Address,
    assets: U256,
    receiver: Address,
    owner: Address,
) -> Execution {
    call(vault, Erc4626::withdrawCall { assets, receiver, owner })
}

pub(super) fn wrap(weth: Address, wei: U256) -> Execution {
    Execution { value: wei, ..call(weth, Weth9::depositCall {}) }
}

pub(super) fn unwrap(weth: Address, amount: U256) -> Execution {
    call(weth, Weth9::withdrawCall { amount })
}

/// Largest tick that every spacing in use (10, 60, 200) divides.
const EDGE: i32 = 886_800;

/// Liquidity over the whole range of a pool, whatever it costs.
pub(super) fn mint(
    manager: Address,
    tokens: [(Address, U256); 2],
    fee: u16,
    recipient: Address,
) -> Execution {
    mint_between(manager, tokens, fee, recipient, [-EDGE, EDGE])
}

/// Liquidity between two ticks, whatever it costs.
pub(super) fn mint_between(
    manager: Address,
    tokens: [(Address, U256); 2],
    fee: u16,
    recipient: Address,
    ticks: [i32; 2],
) -> Execution {
    let [(token0, amount0), (token1, amount1)] = tokens;
    let [lower, upper] = ticks.map(|tick| I24::try_from(tick).unwrap_or(I24::ZERO));
    let params = NonfungiblePositionManager::MintParams {
        token0,
        token1,
        fee: U24::from(fee),
        tickLower: lower,
        tickUpper: upper,
        amount0Desired: amount0,
        amount1Desired: amount1,
        amount0Min: U256::ZERO,
        amount1Min: U256::ZERO,
        recipient,
        deadline: NEVER,
    };
    call(manager, NonfungiblePositionManager::mintCall { params })
}

pub(super) fn increase(manager: Address, id: U256, amount0: U256, amount1: U256) -> Execution {
    let params = NonfungiblePositionManager::IncreaseLiquidityParams {
        tokenId: id,
        amount0Desired: amount0,
        amount1Desired: amount1,
        amount0Min: U256::ZERO,
        amount1Min: U256::ZERO,
        deadline: NEVER,
    };
    call(manager, NonfungiblePositionManager::increaseLiquidityCall { params })
}

pub(super) fn decrease(manager: Address, id: U256, liquidity: u128) -> Execution {
    let params = NonfungiblePositionManager::DecreaseLiquidityParams {
        tokenId: id,
        liquidity,
        amount0Min: U256::ZERO,
        amount1Min: U256::ZERO,
        deadline: NEVER,
    };
    call(manager, NonfungiblePositionManager::decreaseLiquidityCall { params })
}

pub(super) fn collect(manager: Address, id: U256, recipient: Address) -> Execution {
    let params = NonfungiblePositionManager::CollectParams {
        tokenId: id,
        recipient,
        amount0Max: u128::MAX,
        amount1Max: u128::MAX,
    };
    call(manager, NonfungiblePositionManager::collectCall { params })
}

/// `plan` in the form the thief's contract takes.
pub(super) fn steps(plan: &[Execution]) -> Vec<Accomplice::Step> {
    let step = |call: &Execution| Accomplice::Step {
        target: call.target,
        value: call.value,
        callData: call.data.clone(),
    };
    plan.iter().map(step).collect()
}

pub(super) fn multicall(target: Address, calls: &[Execution]) -> Execution {
    let data = calls.iter().map(|inner| inner.data.clone()).collect();
    call(target, Periphery::multicallCall { data })
}

/// A call to `target` with data that no encoder made.
pub(super) fn raw(target: Address, value: U256, data: impl Into<Bytes>) -> Execution {
    Execution { target, value, data: data.into() }
}
