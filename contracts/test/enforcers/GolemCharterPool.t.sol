// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IVault, IWeth} from "../../src/interfaces/ITokens.sol";
import {
    IMulticall,
    INonfungiblePositionManager,
    ISwapRouter02,
    IUniswapV3Pool
} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class, Role} from "../../src/rules/Actions.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {MaxSlippage} from "../../src/rules/MaxSlippage.sol";
import {Positions} from "../../src/rules/Positions.sol";
import {CharterCalls} from "../CharterCalls.sol";
import {Puppet, WakingToken} from "../Puppet.sol";

/// @notice How a pool begins.
interface IPoolMaker {
    function createAndInitializePoolIfNecessary(
        address token0,
        address token1,
        uint24 fee,
        uint160 sqrtPriceX96
    ) external payable returns (address pool);
    function transferFrom(address from, address to, uint256 id) external;
}

/// @notice Pools that somebody moves: before, within and behind a redemption (ATK-27, ATK-45, D30).
contract GolemCharterPoolTest is CharterCalls {
    /// @dev 2,500 dollars of USDC for one WETH, in base units, times 2^128.
    uint256 private constant FEED_PRICE = uint256(2_500e6) * (1 << 128) / 1e18;

    Puppet private _puppet;
    IUniswapV3Pool private _pool;

    function setUp() public override {
        super.setUp();
        _pool =
            IUniswapV3Pool(vm.parseJsonAddress(vm.readFile("../.devchain/book.json"), ".pool_500"));
        _puppet = new Puppet();
        vm.label(address(_puppet), "puppet");
        vm.prank(FAUCET);
        USDC.mint(address(_puppet), 1e18);
        vm.deal(address(_puppet), 1e9 ether);
        vm.prank(address(_puppet));
        IWeth(address(WETH)).deposit{value: 9e8 ether}();
        address[3] memory pullers = [ROUTER_02, POSITIONS, vault];
        for (uint256 i = 0; i < pullers.length; i++) {
            vm.prank(address(_puppet));
            USDC.approve(pullers[i], type(uint256).max);
            vm.prank(address(_puppet));
            WETH.approve(pullers[i], type(uint256).max);
        }
    }

    // Liquidity where the pool stands beside the feeds

    function test_liquidity_is_added_and_removed_up_to_the_bound_above_the_feeds() public {
        (uint256 id, uint128 liquidity) = openPosition(account);
        uint160 last = _root(FEED_PRICE * 101 / 100);

        _moveTo(last);
        accepts(POSITIONS, mintPosition(0.01e18, 25e6, account));
        accepts(POSITIONS, increase(id, 0.01e18, 25e6));
        accepts(POSITIONS, decrease(id, liquidity / 4));

        _moveTo(last + 1);
        _refusesMoved(id);
    }

    function test_liquidity_is_added_and_removed_up_to_the_bound_below_the_feeds() public {
        (uint256 id, uint128 liquidity) = openPosition(account);
        // The feed's price is no whole number of the scale: one more is the first within.
        uint160 first = _root(FEED_PRICE - FEED_PRICE / 100 - 1) + 1;

        _moveTo(first);
        accepts(POSITIONS, mintPosition(0.01e18, 25e6, account));
        accepts(POSITIONS, increase(id, 0.01e18, 25e6));
        accepts(POSITIONS, decrease(id, liquidity / 4));

        _moveTo(first - 1);
        _refusesMoved(id);
    }

    /// @dev Burning and collecting look at no price.
    function test_what_a_position_owes_is_collected_from_a_moved_pool() public {
        (uint256 id,) = openPosition(account);
        _moveTo(_root(FEED_PRICE * 2));

        accepts(POSITIONS, collect(id, account));
    }

    function test_liquidity_in_a_pool_that_does_not_exist_is_refused() public {
        bytes memory data = abi.encodeCall(
            INonfungiblePositionManager.mint,
            (INonfungiblePositionManager.MintParams({
                    token0: address(WETH),
                    token1: address(USDC),
                    fee: 10_000,
                    tickLower: -887_200,
                    tickUpper: 887_200,
                    amount0Desired: 0.01e18,
                    amount1Desired: 25e6,
                    amount0Min: 0,
                    amount1Min: 0,
                    recipient: account,
                    deadline: DEADLINE
                }))
        );

        refuses(
            abi.encodeWithSelector(
                Positions.Positions_NoPool.selector, address(WETH), address(USDC), 10_000
            ),
            POSITIONS,
            data
        );
    }

    /// @dev D30: what is offered counts, not what the pool takes of it.
    function test_added_liquidity_counts_at_its_full_value() public {
        accepts(POSITIONS, mintPosition(0.1e18, 1e6, account));
        vm.assertEq(spent(), _units(251e6), "a mint");

        (uint256 id,) = openPosition(account);
        accepts(POSITIONS, increase(id, 1e12, 100e6));
        vm.assertEq(spent(), _units(251e6) + _units(100_002_500), "an increase");
    }

    function test_added_liquidity_is_accepted_at_the_cap_and_refused_one_micro_dollar_past()
        public
    {
        law.navCap = type(uint64).max;
        uint256 usdc = CAP - 250e6;

        refuses(overCap(0, CAP + 1, CAP), POSITIONS, mintPosition(0.1e18, usdc + 1, account));
        accepts(POSITIONS, mintPosition(0.1e18, usdc, account));
    }

    function test_removed_liquidity_is_no_spend() public {
        (uint256 id, uint128 liquidity) = openPosition(account);

        accepts(POSITIONS, decrease(id, liquidity));

        vm.assertEq(spent(), 0, "spent");
    }

    // One transaction: the pool is moved, the grant redeemed, the pool moved back

    /// @dev ATK-27: the thief holds the session key, and the key is his contract.
    function testFuzz_a_swap_in_a_moved_pool_costs_the_owner_no_more_than_the_bound(
        uint256 moved,
        bool up,
        uint256 sold
    ) public {
        law.agentKey = address(_puppet);
        sold = within(sold, 1e6, 400e6);
        uint160 from = _spot();
        uint160 to = _moved(from, moved, up);
        bytes memory theft = sellUsdc(sold, sold * 4e8 * 99 / 100 + 1, account);
        Delegation memory leaf = grant(home(), law);
        uint256 before = _worth();

        _tryRun(
            list(
                _move(from, to),
                redemption(leaf, SINGLE_DEFAULT, single(ROUTER_02, theft)),
                _move(to, from)
            )
        );

        vm.assertTrue(_worth() + sold / 100 + 1 >= before, "lost more than the bound");
    }

    /// @dev The same with replicants: the thief's contract redeems by a link below the key.
    function test_a_replicant_sandwiches_nobody() public {
        law.flags = 1;
        Delegation memory leaf = grant(home(), law);
        Delegation[] memory chain = new Delegation[](2);
        (chain[0], chain[1]) = (child(leaf, agent, address(_puppet), noCaveats()), leaf);
        uint160 from = _spot();
        uint160 to = _moved(from, 5_000, true);
        uint256 before = _worth();

        vm.expectRevert(abi.encodeWithSignature("Error(string)", "Too little received"));
        _puppet.run(
            list(
                _move(from, to),
                redemption(chain, SINGLE_DEFAULT, single(ROUTER_02, swap(400e6))),
                _move(to, from)
            )
        );

        vm.assertEq(_worth(), before, "nothing lost");
    }

    /// @dev ATK-45: minted in a skewed pool with zero minimums.
    function testFuzz_a_mint_in_a_moved_pool_costs_the_owner_no_more_than_the_bound(
        uint256 moved,
        bool up
    ) public {
        law.agentKey = address(_puppet);
        uint160 from = _spot();
        uint160 to = _moved(from, moved, up);
        Delegation memory leaf = grant(home(), law);
        uint256 before = _worth();

        _tryRun(
            list(
                _move(from, to),
                redemption(
                    leaf, SINGLE_DEFAULT, single(POSITIONS, mintPosition(0.05e18, 125e6, account))
                ),
                _move(to, from)
            )
        );

        _closeAll();
        vm.assertTrue(_worth() + 250e6 / 100 >= before, "lost more than the bound");
    }

    /// @dev ATK-27: elements are judged on the state before the batch. Gas money to a key with code (a
    ///      contract, or an EOA by EIP-7702) wakes the thief between that look and the mint behind it.
    function test_gas_money_does_not_wake_a_thief_between_the_look_and_the_mint() public {
        law.agentKey = address(_puppet);
        law.targets = bytes.concat(law.targets, target(address(_puppet), Role.AgentKey));
        law.gasCeiling = type(uint48).max;
        vm.deal(address(_puppet), 1 ether);
        Execution[] memory calls =
            list(pay(address(_puppet), 0), call(POSITIONS, mintPosition(0.05e18, 250e6, account)));

        _stealBy(calls);
    }

    /// @dev The same, woken by a token of the thief's own: he gives the account a position in a pool of
    ///      his, and the batch collects from it before it mints.
    function test_a_collect_does_not_wake_a_thief_between_the_look_and_the_mint() public {
        law.agentKey = address(_puppet);
        uint256 gift = _giveWakingPosition();
        Execution[] memory calls = list(
            call(POSITIONS, collect(gift, account)),
            call(POSITIONS, mintPosition(0.05e18, 250e6, account))
        );

        _stealBy(calls);
    }

    /// @dev ATK-28, C19: redemptions within redemptions, each measured before the others have paid.
    function test_the_ceiling_holds_however_deep_a_thief_is_woken() public {
        law.agentKey = address(_puppet);
        law.targets = bytes.concat(law.targets, target(address(_puppet), Role.AgentKey));
        (law.gasCeiling, law.gasDailyCap) = (10_000_000, 1_000_000_000);
        vm.deal(account, 10 ether);
        uint256 position = _giveWakingPosition();
        Delegation memory leaf = grant(home(), law);
        vm.deal(address(_puppet), 0);
        Execution memory inner = redemption(
            leaf, SINGLE_DEFAULT, abi.encodePacked(address(_puppet), uint256(0.01 ether))
        );
        Execution memory outer = redemption(
            leaf,
            BATCH_DEFAULT,
            abi.encode(
                list(call(POSITIONS, collect(position, account)), pay(address(_puppet), 0.01 ether))
            )
        );
        _puppet.plan(list(inner));

        vm.expectRevert(
            abi.encodeWithSelector(Executions.Executions_Order.selector, Class.GasTopUp)
        );
        _puppet.run(list(outer));
        _puppet.plan(new Execution[](0));
        _puppet.run(list(inner));
        vm.assertEq(address(_puppet).balance, 0.01 ether, "to the ceiling");
    }

    /// @dev One call is enough: the position manager's own multicall is judged before it runs as well.
    function test_a_multicall_does_not_wake_a_thief_between_the_look_and_the_mint() public {
        law.agentKey = address(_puppet);
        bytes[] memory inner = new bytes[](2);
        inner[0] = collect(_giveWakingPosition(), account);
        inner[1] = mintPosition(0.05e18, 250e6, account);

        _stealBy(list(call(POSITIONS, abi.encodeCall(IMulticall.multicall, (inner)))));
    }

    /// @dev C8: what a vault takes for shares was looked up before the batch; the thief raises the price
    ///      of a share in between, and the account pays more than was counted.
    function test_shares_cost_no_more_than_was_counted() public {
        law.agentKey = address(_puppet);
        law.targets = bytes.concat(law.targets, target(address(_puppet), Role.AgentKey));
        law.gasCeiling = type(uint48).max;
        vm.deal(address(_puppet), 1 ether);
        vm.prank(account);
        IVault(vault).deposit(1e6, account);
        uint256 shares = _sharesFor(50e6);
        Delegation memory leaf = grant(home(), law);
        uint256 before = USDC.balanceOf(account);
        _puppet.plan(
            list(call(address(USDC), transfer(vault, 20 * IVault(vault).totalAssets() + 1_000e6)))
        );

        _tryRun(
            list(
                redemption(
                    leaf,
                    BATCH_DEFAULT,
                    abi.encode(
                        list(
                            pay(address(_puppet), 0),
                            call(vault, abi.encodeCall(IVault.mint, (shares, account)))
                        )
                    )
                )
            )
        );

        vm.assertTrue(before - USDC.balanceOf(account) <= spent(), "paid more than was counted");
    }

    /// @dev The pool stands by the feeds when the hook looks, and a hundred times off when the mint comes.
    function _stealBy(Execution[] memory calls) private {
        uint160 from = _spot();
        Delegation memory leaf = grant(home(), law);
        uint256 before = _worth();
        _puppet.plan(list(_move(from, from * 10)));

        _tryRun(list(redemption(leaf, BATCH_DEFAULT, abi.encode(calls)), _move(from * 10, from)));

        _closeAll();
        vm.assertTrue(_worth() + 375e6 / 100 >= before, "lost more than the bound");
    }

    function _giveWakingPosition() private returns (uint256 id) {
        WakingToken waking = new WakingToken(_puppet, account);
        (address token0, address token1) = address(waking) < address(WETH)
            ? (address(waking), address(WETH))
            : (address(WETH), address(waking));
        vm.prank(address(_puppet));
        waking.approve(POSITIONS, type(uint256).max);
        IPoolMaker(POSITIONS)
            .createAndInitializePoolIfNecessary(token0, token1, 3000, uint160(1 << 96));
        vm.prank(address(_puppet));
        uint128 liquidity;
        (id, liquidity,,) = INonfungiblePositionManager(POSITIONS)
            .mint(
                INonfungiblePositionManager.MintParams({
                token0: token0,
                token1: token1,
                fee: 3000,
                tickLower: -887_220,
                tickUpper: 887_220,
                amount0Desired: 1e12,
                amount1Desired: 1e12,
                amount0Min: 0,
                amount1Min: 0,
                recipient: address(_puppet),
                deadline: DEADLINE
            })
            );
        vm.prank(address(_puppet));
        INonfungiblePositionManager(POSITIONS)
            .decreaseLiquidity(
                INonfungiblePositionManager.DecreaseLiquidityParams(
                    id, liquidity / 2, 0, 0, DEADLINE
                )
            );
        vm.prank(address(_puppet));
        IPoolMaker(POSITIONS).transferFrom(address(_puppet), account, id);
    }

    function _sharesFor(uint256 assets) private view returns (uint256) {
        return assets * 1e6 / IVault(vault).convertToAssets(1e6);
    }

    // The pool

    function _refusesMoved(uint256 id) private {
        uint256 root = _spot();
        bytes memory reason = abi.encodeWithSelector(
            MaxSlippage.MaxSlippage_PoolMoved.selector,
            root * root >> 64,
            FEED_PRICE,
            law.slippageBps
        );
        refuses(reason, POSITIONS, mintPosition(0.01e18, 25e6, account));
        refuses(reason, POSITIONS, increase(id, 0.01e18, 25e6));
        refuses(reason, POSITIONS, decrease(id, 1));
    }

    function _spot() private view returns (uint160 root) {
        (root,,,,,,) = _pool.slot0();
    }

    /// @dev The largest root whose price, as the rule scales it, is not above `price`.
    function _root(uint256 price) private pure returns (uint160) {
        uint256 square = ((price + 1) << 64) - 1;
        uint256 root = 1 << 90;
        for (uint256 i = 0; i < 255; i++) {
            uint256 next = (root + square / root) / 2;
            if (next == root) break;
            root = next;
        }
        while (root * root > square) root--;
        while ((root + 1) * (root + 1) <= square) root++;
        // Roots around the market's are far below 2^160.
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint160(root);
    }

    /// @dev Off by up to nine tenths down, or ten times up, in the root.
    function _moved(uint160 from, uint256 by, bool up) private pure returns (uint160) {
        by = within(by, 1, up ? 90_000 : 9_000);
        // At most ninety thousand by now.
        // forge-lint: disable-next-line(unsafe-typecast)
        uint160 part = from * uint160(by) / 10_000;
        return up ? from + part : from - part;
    }

    function _moveTo(uint160 to) private {
        _puppet.run(list(_move(_spot(), to)));
        vm.assertEq(_spot(), to, "moved");
    }

    /// @dev A swap that stops exactly at the root wanted.
    function _move(uint160 from, uint160 to) private view returns (Execution memory) {
        bool up = to > from;
        return call(
            ROUTER_02,
            abi.encodeCall(
                ISwapRouter02.exactInputSingle,
                (ISwapRouter02.ExactInputSingleParams({
                        tokenIn: up ? address(USDC) : address(WETH),
                        tokenOut: up ? address(WETH) : address(USDC),
                        fee: FEE,
                        recipient: address(_puppet),
                        amountIn: up ? 9e17 : 8e8 ether,
                        amountOutMinimum: 0,
                        sqrtPriceLimitX96: to
                    }))
            )
        );
    }

    // The thief

    /// @dev All in one transaction. A refusal is as good as a theft that brought nothing.
    function _tryRun(Execution[] memory calls) private {
        try _puppet.run(calls) {} catch {}
    }

    /// @dev What the account holds, at the feeds' prices, in micro-dollars.
    function _worth() private view returns (uint256) {
        return USDC.balanceOf(account) + WETH.balanceOf(account) * 2_500 / 1e12;
    }

    /// @dev Takes back what the account has in positions, if it has any.
    function _closeAll() private {
        INonfungiblePositionManager manager = INonfungiblePositionManager(POSITIONS);
        for (uint256 id = 1; id < 20; id++) {
            try manager.ownerOf(id) returns (address holder) {
                if (holder != account) continue;
            } catch {
                continue;
            }
            (,, address token0, address token1,,,, uint128 liquidity,,,,) = manager.positions(id);
            if (token0 != address(WETH) || token1 != address(USDC) || liquidity == 0) continue;
            vm.prank(account);
            (bool decreased,) = POSITIONS.call(decrease(id, liquidity));
            vm.prank(account);
            (bool collected,) = POSITIONS.call(collect(id, account));
            vm.assertTrue(decreased && collected, "closed");
        }
    }

    /// @dev As the window counts it.
    function _units(uint256 amount) private pure returns (uint256) {
        return (amount + (1 << 15) - 1) >> 15 << 15;
    }
}
