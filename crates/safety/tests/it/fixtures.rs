//! One Golem with a thousand dollars, and calls that it could make.

use alloy_primitives::{
    Address, B256, Bytes, I256, U256,
    aliases::{I24, U24, U80, U160},
    keccak256,
};
use alloy_sol_types::{SolCall as _, sol};
use golem_delegation::terms::{Class, ListedTarget, ListedToken, Listing, Role};
use golem_safety::{
    Boot, Cage, Call, Denial, DenialCode, Facts, Intent, MicroDollars, Observed, Parties, Permit,
    Policy, PoolKey, PositionView, Published, Round, VaultView, Verdict,
};
use std::collections::BTreeMap;

sol! {
    interface Token {
        function transfer(address to, uint256 amount);
        function transferFrom(address from, address to, uint256 amount);
        function approve(address spender, uint256 amount);
        function increaseAllowance(address spender, uint256 added);
        function deposit();
        function withdraw(uint256 amount);
    }
    struct Single {
        address tokenIn;
        address tokenOut;
        uint24 fee;
        address recipient;
        uint256 amountIn;
        uint256 amountOutMinimum;
        uint160 sqrtPriceLimitX96;
    }
    interface Router {
        function exactInputSingle(Single params);
        function multicall(bytes[] data);
    }
    struct Mint {
        address token0;
        address token1;
        uint24 fee;
        int24 tickLower;
        int24 tickUpper;
        uint256 amount0Desired;
        uint256 amount1Desired;
        uint256 amount0Min;
        uint256 amount1Min;
        address recipient;
        uint256 deadline;
    }
    interface Positions {
        function mint(Mint params);
        function increaseLiquidity((uint256, uint256, uint256, uint256, uint256, uint256) params);
        function decreaseLiquidity((uint256, uint128, uint256, uint256, uint256) params);
        function collect((uint256, address, uint128, uint128) params);
        function burn(uint256 tokenId);
    }
    interface Vault {
        function deposit(uint256 assets, address receiver);
        function withdraw(uint256 assets, address receiver, address owner);
    }
    interface Golem {
        function spawnReplicant(bytes32 golemId, address replicant, bytes32 delegationHash);
        function settle(bytes32 golemId, bytes32 manifestHash);
        function heartbeat(bytes32 golemId, bytes32 auditHead);
        function sell(bytes32 entryId, address seller, address buyer);
    }
}

pub(crate) const NOW: u64 = 1_767_225_600;
pub(crate) const CONSTITUTION: &[u8] = b"Lose nothing that is not yours.\n";
pub(crate) const GOLEM: B256 = B256::repeat_byte(0x60);
pub(crate) const ACCOUNT: Address = Address::repeat_byte(0xac);
pub(crate) const HOME: Address = Address::repeat_byte(0xbe);
pub(crate) const KEY: Address = Address::repeat_byte(0x4e);
pub(crate) const STRANGER: Address = Address::repeat_byte(0xba);
pub(crate) const COIN: Address = Address::ZERO;
pub(crate) const USDC: Address = Address::repeat_byte(0x11);
pub(crate) const WETH: Address = Address::repeat_byte(0x22);
/// Listed and priced by the charter, and not by the policy.
pub(crate) const MEME: Address = Address::repeat_byte(0x33);
pub(crate) const ROUTER: Address = Address::repeat_byte(0x44);
pub(crate) const POSITIONS: Address = Address::repeat_byte(0x55);
pub(crate) const VAULT: Address = Address::repeat_byte(0x66);
pub(crate) const LIFECYCLE: Address = Address::repeat_byte(0x77);
pub(crate) const REGISTRY: Address = Address::repeat_byte(0x78);
pub(crate) const MARKET: Address = Address::repeat_byte(0x79);
pub(crate) const USDC_FEED: Address = Address::repeat_byte(0xf1);
pub(crate) const ETH_FEED: Address = Address::repeat_byte(0xf2);
pub(crate) const MAX_AGE: u32 = 3_600;
pub(crate) const FEE: u32 = 500;
pub(crate) const DOLLAR: u64 = 1_000_000;
pub(crate) const POSITION: u64 = 7;

pub(crate) const fn dollars(dollars: u64) -> MicroDollars {
    MicroDollars::new(dollars as u128 * 1_000_000)
}

/// So many dollars of USDC, in base units.
pub(crate) fn usdc(dollars: u64) -> U256 {
    U256::from(dollars * DOLLAR)
}

/// So many dollars of ether at $2500, in wei.
pub(crate) fn ether(dollars: u64) -> U256 {
    U256::from(dollars) * U256::from(400_000_000_000_000u64)
}

pub(crate) fn policy() -> Policy {
    Policy {
        constitution_hash: keccak256(CONSTITUTION),
        concentration_bps: 5_000,
        drawdown_bps: 2_000,
        spend_per_transaction: 100 * DOLLAR,
        spend_per_session: 1_000 * DOLLAR,
        spend_per_day: 500 * DOLLAR,
        assets: vec![COIN, USDC, WETH],
    }
}

pub(crate) fn cage(policy: Policy) -> Cage {
    let hash = policy.hash(GOLEM, 3);
    let published = Published::new(GOLEM, policy, 3, hash);
    match Cage::boot(GOLEM, CONSTITUTION, Some(published)) {
        Boot::Caged(cage) => cage,
        Boot::Refused(denial) => panic!("{denial}"),
    }
}

pub(crate) fn listing() -> Listing {
    let token = |token, role, feed, token_decimals| ListedToken {
        token,
        role: Some(role),
        feed,
        token_decimals,
        feed_decimals: 8,
        max_age: MAX_AGE,
    };
    let target = |target, role| ListedTarget { target, role };
    Listing {
        tokens: vec![
            token(USDC, Role::Token, USDC_FEED, 6),
            token(WETH, Role::Weth, ETH_FEED, 18),
            token(MEME, Role::Token, ETH_FEED, 18),
        ],
        targets: vec![
            target(ROUTER, Role::SwapRouter02),
            target(POSITIONS, Role::PositionManager),
            target(VAULT, Role::Vault),
            target(LIFECYCLE, Role::Lifecycle),
            target(KEY, Role::AgentKey),
            target(REGISTRY, Role::Registry),
            target(MARKET, Role::Market),
        ],
        ..Listing::default()
    }
}

pub(crate) fn round(answer: u64) -> Round {
    Round {
        decimals: 8,
        round_id: U80::from(9),
        answer: I256::try_from(answer).unwrap(),
        updated_at: U256::from(NOW - 60),
        answered_in_round: U80::from(9),
    }
}

/// $600 in USDC and $400 in wrapped ether, nothing spent yet.
pub(crate) fn facts() -> Facts {
    let pool = PoolKey { token0: USDC, token1: WETH, fee: U24::from(FEE) };
    let observed = Observed {
        rounds: BTreeMap::from([
            (USDC_FEED, round(100_000_000)),
            (ETH_FEED, round(250_000_000_000)),
        ]),
        vaults: BTreeMap::from([(VAULT, VaultView { asset: USDC, ..VaultView::default() })]),
        positions: BTreeMap::from([(
            (POSITIONS, U256::from(POSITION)),
            PositionView { owner: ACCOUNT, pool },
        )]),
        pool_roots: BTreeMap::from([((POSITIONS, pool), U160::from(1) << 96)]),
        ..Observed::default()
    };
    Facts {
        observed,
        holdings: BTreeMap::from([(USDC, dollars(600)), (WETH, dollars(400))]),
        high_water: dollars(1_000),
        now: NOW,
        ..Facts::default()
    }
}

pub(crate) const fn parties() -> Parties {
    Parties { account: ACCOUNT, beneficiary: HOME, agent_key: KEY, settlement_asset: USDC }
}

pub(crate) fn intent(calls: impl Into<Vec<Call>>) -> Intent {
    Intent { parties: parties(), listing: listing(), calls: calls.into() }
}

pub(crate) fn call(target: Address, data: Vec<u8>) -> Call {
    Call { target, value: U256::ZERO, data: data.into() }
}

pub(crate) const fn pay(target: Address, value: U256) -> Call {
    Call { target, value, data: Bytes::new() }
}

pub(crate) fn swap_data(out: Address, amount: U256, back: Address, least: U256) -> Vec<u8> {
    let params = Single {
        tokenIn: out,
        tokenOut: back,
        fee: U24::from(FEE),
        recipient: ACCOUNT,
        amountIn: amount,
        amountOutMinimum: least,
        sqrtPriceLimitX96: U160::ZERO,
    };
    Router::exactInputSingleCall { params }.abi_encode()
}

pub(crate) fn swap(out: Address, amount: U256, back: Address) -> Call {
    call(ROUTER, swap_data(out, amount, back, U256::from(1)))
}

/// Buys wrapped ether for so many dollars.
pub(crate) fn buy(dollars: u64) -> Call {
    swap(USDC, usdc(dollars), WETH)
}

/// And sells.
pub(crate) fn sell(dollars: u64) -> Call {
    swap(WETH, ether(dollars), USDC)
}

pub(crate) fn transfer(to: Address, amount: U256) -> Call {
    call(USDC, Token::transferCall { to, amount }.abi_encode())
}

pub(crate) fn approve(spender: Address, amount: U256) -> Call {
    call(USDC, Token::approveCall { spender, amount }.abi_encode())
}

pub(crate) fn deposit(dollars: u64) -> Call {
    let assets = usdc(dollars);
    call(VAULT, Vault::depositCall { assets, receiver: ACCOUNT }.abi_encode())
}

pub(crate) fn mint(dollars0: u64, dollars1: u64) -> Call {
    let params = Mint {
        token0: USDC,
        token1: WETH,
        fee: U24::from(FEE),
        tickLower: I24::MINUS_ONE,
        tickUpper: I24::ONE,
        amount0Desired: usdc(dollars0),
        amount1Desired: ether(dollars1),
        amount0Min: U256::ZERO,
        amount1Min: U256::ZERO,
        recipient: ACCOUNT,
        deadline: U256::from(NOW),
    };
    call(POSITIONS, Positions::mintCall { params }.abi_encode())
}

pub(crate) fn collect(position: u64, to: Address) -> Call {
    let params = (U256::from(position), to, u128::MAX, u128::MAX);
    call(POSITIONS, Positions::collectCall { params }.abi_encode())
}

/// A call of each class, of fifty dollars where it moves money.
pub(crate) fn example(class: Class) -> Call {
    let position = U256::from(POSITION);
    let hash = B256::repeat_byte(1);
    match class {
        Class::Swap => buy(50),
        Class::AddLiquidity => mint(25, 25),
        Class::RemoveLiquidity => {
            let params = (position, 1u128, U256::ZERO, U256::ZERO, U256::ZERO);
            call(POSITIONS, Positions::decreaseLiquidityCall { params }.abi_encode())
        }
        Class::Collect => collect(POSITION, ACCOUNT),
        Class::BurnPosition => {
            call(POSITIONS, Positions::burnCall { tokenId: position }.abi_encode())
        }
        Class::Deposit => deposit(50),
        Class::Withdraw => {
            let (assets, receiver, owner) = (usdc(50), ACCOUNT, ACCOUNT);
            call(VAULT, Vault::withdrawCall { assets, receiver, owner }.abi_encode())
        }
        Class::Approve => approve(ROUTER, usdc(50)),
        Class::Disapprove => approve(ROUTER, U256::ZERO),
        Class::Transfer => transfer(HOME, usdc(50)),
        Class::Wrap => {
            let data = Token::depositCall {}.abi_encode();
            Call { value: ether(50), ..call(WETH, data) }
        }
        Class::Unwrap => call(WETH, Token::withdrawCall { amount: ether(50) }.abi_encode()),
        Class::GasTopUp => pay(KEY, ether(50)),
        Class::SpawnReplicant => call(
            LIFECYCLE,
            Golem::spawnReplicantCall { golemId: GOLEM, replicant: STRANGER, delegationHash: hash }
                .abi_encode(),
        ),
        Class::Settle => {
            call(LIFECYCLE, Golem::settleCall { golemId: GOLEM, manifestHash: hash }.abi_encode())
        }
        Class::Publish => {
            call(REGISTRY, Golem::heartbeatCall { golemId: GOLEM, auditHead: hash }.abi_encode())
        }
        Class::Sell => call(
            MARKET,
            Golem::sellCall { entryId: hash, seller: ACCOUNT, buyer: STRANGER }.abi_encode(),
        ),
        other => panic!("no example of {}", other.name()),
    }
}

pub(crate) fn codes(denials: &[Denial]) -> Vec<DenialCode> {
    denials.iter().map(|denial| denial.code).collect()
}

#[track_caller]
pub(crate) fn permitted(verdict: Verdict) -> Permit {
    match verdict {
        Verdict::Permitted(permit) => permit,
        Verdict::Refused(denials) => panic!("{denials:?}"),
    }
}

#[track_caller]
pub(crate) fn refused(verdict: Verdict) -> Vec<Denial> {
    match verdict {
        Verdict::Refused(denials) => {
            assert!(!denials.is_empty());
            denials
        }
        Verdict::Permitted(permit) => panic!("{permit:?}"),
    }
}

/// Refused for exactly this.
#[track_caller]
pub(crate) fn refused_for(verdict: Verdict, code: DenialCode) -> String {
    let denials = refused(verdict);
    assert_eq!(codes(&denials), [code], "{denials:?}");
    denials[0].reason.clone()
}
