// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {HoldingsEnforcer} from "../../src/enforcers/HoldingsEnforcer.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IWeth} from "../../src/interfaces/ITokens.sol";
import {ISwapRouter02} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Phase} from "../../src/rules/GolemPhase.sol";
import {Holdings} from "../../src/rules/Holdings.sol";
import {ListedEnforcerTest} from "./EnforcerTest.sol";

/// @notice What tests of holdings have in common: a Golem whose account holds 10,000 USDC, with bounds of
///         30 and 20 percent a position, 15 percent of drawdown and one of loss.
abstract contract HoldingsTest is ListedEnforcerTest {
    /// @dev The position that ether is, wrapped or not.
    address internal constant ETHER = address(0);

    HoldingsEnforcer internal rule;
    uint16 internal series = 1;
    uint16 internal thrivingBps = 3_000;
    uint16 internal stableBps = 2_000;
    uint16 internal drawdownBps = 1_500;
    uint16 internal lossBps = 100;

    function setUp() public virtual override {
        super.setUp();
        rule = new HoldingsEnforcer();
        enforcer = rule;
        vm.prank(law.account);
        WETH.approve(ROUTER_02, type(uint256).max);
    }

    function terms() internal view override returns (bytes memory) {
        return bytes.concat(
            abi.encodePacked(law.golemId, law.account, law.staleness, series),
            abi.encodePacked(thrivingBps, stableBps, drawdownBps),
            abi.encodePacked(law.registry, law.settlementAsset, lossBps),
            listing(law)
        );
    }

    function header() internal pure override returns (uint256) {
        return 106;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(Holdings.Holdings_TermsLength.selector, 106, actual);
    }

    function forbid() internal override {
        advance(2);
    }

    function reason() internal pure override returns (bytes memory) {
        return noGrowth(ETHER, Phase.Conservation);
    }

    // Acting

    function advance(uint8 phase) internal {
        vm.prank(law.owner);
        registry.advance(law.golemId, phase);
    }

    /// @dev USDC for WETH, whatever comes back.
    function buy(uint256 usdc) internal view returns (Execution memory) {
        return Execution(ROUTER_02, 0, sellUsdc(usdc, 0, law.account));
    }

    /// @dev WETH for USDC, whatever comes back.
    function sellWeth(uint256 amount) internal view returns (Execution memory) {
        return sellWeth(amount, 0);
    }

    /// @dev The same for this much at least.
    function sellWeth(uint256 amount, uint256 minimum) internal view returns (Execution memory) {
        return Execution(
            ROUTER_02,
            0,
            abi.encodeCall(
                ISwapRouter02.exactInputSingle,
                (ISwapRouter02.ExactInputSingleParams({
                        tokenIn: address(WETH),
                        tokenOut: address(USDC),
                        fee: 500,
                        recipient: law.account,
                        amountIn: amount,
                        amountOutMinimum: minimum,
                        sqrtPriceLimitX96: 0
                    }))
            )
        );
    }

    /// @dev Ether of the account's, wrapped by its owner.
    function wrap(uint256 amount) internal {
        vm.prank(law.account);
        IWeth(address(WETH)).deposit{value: amount}();
    }

    /// @dev The account's USDC become this many, by its owner's hand or a stranger's.
    function setUsdc(uint256 amount) internal {
        uint256 has = USDC.balanceOf(law.account);
        if (has > amount) {
            vm.prank(law.account);
            vm.assertTrue(USDC.transfer(address(0xdead), has - amount), "taken");
        } else {
            vm.prank(FAUCET);
            USDC.mint(law.account, amount - has);
        }
    }

    /// @dev What a purchase brings, without making it.
    function brings(uint256 usdc) internal returns (uint256 weth) {
        uint256 state = vm.snapshotState();
        uint256 before = WETH.balanceOf(law.account);
        vm.prank(law.account);
        (bool done,) = ROUTER_02.call(buy(usdc).callData);
        vm.assertTrue(done, "bought");
        weth = WETH.balanceOf(law.account) - before;
        vm.revertToState(state);
    }

    /// @dev Micro-dollars of wei at 2,500, rounded down.
    function down(uint256 weth) internal pure returns (uint256) {
        return weth * 2500 / 1e12;
    }

    function mark() internal view returns (uint256 value) {
        (value,) = rule.highWaterMarkOf(address(MANAGER), law.account, law.golemId);
    }

    function begun() internal view returns (uint256 highest) {
        (, highest) = rule.highWaterMarkOf(address(MANAGER), law.account, law.golemId);
    }

    // Refusals

    function noGrowth(address position, Phase phase) internal pure returns (bytes memory) {
        return
            abi.encodeWithSelector(Holdings.Holdings_PhaseForbidsGrowth.selector, position, phase);
    }

    function tooLarge(address position, uint256 value, uint256 most)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(Holdings.Holdings_TooLarge.selector, position, value, most);
    }

    function drawdown(address position, uint256 total, uint256 least)
        internal
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(Holdings.Holdings_Drawdown.selector, position, total, least);
    }

    function tooMuchLost(uint256 out, uint256 back) internal view returns (bytes memory) {
        return abi.encodeWithSelector(Holdings.Holdings_Loss.selector, out, back, lossBps);
    }

    /// @dev Refused in these words, whatever the numbers.
    function refusesAs(bytes4 selector, Execution memory call) internal {
        _refusesAs(selector, SINGLE_DEFAULT, packed(call));
    }

    function refusesAs(bytes4 selector, Execution[] memory calls) internal {
        _refusesAs(selector, BATCH_DEFAULT, abi.encode(calls));
    }

    function _refusesAs(bytes4 selector, ModeCode mode, bytes memory execution) private {
        Delegation memory leaf = given(me());
        try this.attempt(leaf, mode, execution) {
            vm.assertTrue(false, "not refused");
        } catch (bytes memory why) {
            // The first four bytes are what is wanted.
            // forge-lint: disable-next-line(unsafe-typecast)
            vm.assertEq(bytes32(bytes4(why)), bytes32(selector), "why");
        }
    }

    /// @dev A redemption whose refusal can be looked at.
    function attempt(Delegation memory leaf, ModeCode mode, bytes memory execution) external {
        redeem(agent.account, leaf, mode, execution);
    }
}

