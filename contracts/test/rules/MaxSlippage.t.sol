// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Class} from "../../src/rules/Actions.sol";
import {Worth} from "../../src/rules/Appraisal.sol";
import {MaxSlippage} from "../../src/rules/MaxSlippage.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract SlippageRule {
    function requireBps(uint256 bps) external pure {
        MaxSlippage.requireBps(bps);
    }

    function check(Class class, Worth memory worth, uint256 bps) external pure {
        MaxSlippage.check(class, worth, bps);
    }
}

contract MaxSlippageTest is TestBase {
    bytes private constant OVERFLOW = abi.encodeWithSignature("Panic(uint256)", 0x11);

    SlippageRule private _rule;

    function setUp() public {
        _rule = new SlippageRule();
    }

    function testFuzz_a_bound_is_at_most_the_whole(uint256 bps) public {
        _rule.requireBps(within(bps, 0, 10_000));

        bps = within(bps, 10_001, type(uint256).max);
        vm.expectRevert(abi.encodeWithSelector(MaxSlippage.MaxSlippage_Bps.selector, bps));
        _rule.requireBps(bps);
    }

    function test_the_whole_is_a_bound_and_one_more_is_none() public {
        _rule.requireBps(10_000);
        vm.expectRevert(abi.encodeWithSelector(MaxSlippage.MaxSlippage_Bps.selector, 10_001));
        _rule.requireBps(10_001);
    }

    /// @dev The least that may come back, as a fraction rounded up, and one less.
    function testFuzz_a_swap_brings_back_its_fraction_and_no_less(uint128 out, uint16 bps) public {
        bps = uint16(within(bps, 0, 10_000));
        uint256 numerator = uint256(out) * (10_000 - bps);
        uint256 least = numerator / 10_000 + (numerator % 10_000 == 0 ? 0 : 1);

        _swap(out, least, bps);
        if (least == 0) return;
        vm.expectRevert(_tooMuch(out, least - 1, bps));
        _swap(out, least - 1, bps);
    }

    /// @dev The same by what is missing: (out − back) ÷ out ≤ bps ÷ 10,000.
    function testFuzz_a_swap_is_judged_by_what_is_missing(uint128 out, uint128 back, uint16 bps)
        public
    {
        bps = uint16(within(bps, 0, 10_000));
        bool fine = back >= out || uint256(out - back) * 10_000 <= uint256(out) * bps;

        if (!fine) vm.expectRevert(_tooMuch(out, back, bps));
        _swap(out, back, bps);
    }

    function test_known_swaps() public {
        _swap(100e6, 99e6, 100);
        _swap(100e6, 100e6, 0);
        _swap(100e6, 0, 10_000);
        _swap(0, 0, 0);

        vm.expectRevert(_tooMuch(100e6, 99e6 - 1, 100));
        _swap(100e6, 99e6 - 1, 100);
        vm.expectRevert(_tooMuch(100e6, 100e6 - 1, 0));
        _swap(100e6, 100e6 - 1, 0);
        vm.expectRevert(_tooMuch(1, 0, 9999));
        _swap(1, 0, 9999);
    }

    /// @dev Both kinds of liquidity, the pool above and below the feeds.
    function testFuzz_a_pool_is_as_far_from_the_feeds_as_the_bound(
        uint192 pool,
        uint192 feed,
        uint16 bps
    ) public {
        bps = uint16(within(bps, 0, 10_000));
        uint256 apart = pool < feed ? feed - pool : pool - feed;
        bool near = apart * 10_000 <= uint256(feed) * bps;
        for (uint256 i = 0; i < 2; i++) {
            if (!near) vm.expectRevert(_moved(pool, feed, bps));
            _pool(_liquidity(i), pool, feed, bps);
        }
    }

    function testFuzz_a_pool_at_the_bound_passes_and_one_further_does_not(uint192 price, uint16 bps)
        public
    {
        bps = uint16(within(bps, 0, 9999));
        uint256 feed = within(price, 1, type(uint192).max);
        uint256 apart = feed * bps / 10_000;
        for (uint256 i = 0; i < 2; i++) {
            _pool(_liquidity(i), feed + apart, feed, bps);
            _pool(_liquidity(i), feed - apart, feed, bps);

            vm.expectRevert(_moved(feed + apart + 1, feed, bps));
            _pool(_liquidity(i), feed + apart + 1, feed, bps);
            vm.expectRevert(_moved(feed - apart - 1, feed, bps));
            _pool(_liquidity(i), feed - apart - 1, feed, bps);
        }
    }

    /// @dev A feed price too small for the scale is no excuse.
    function test_a_price_of_nothing_matches_nothing() public {
        vm.expectRevert(_moved(1, 0, 10_000));
        _pool(Class.AddLiquidity, 1, 0, 10_000);
        vm.expectRevert(_moved(0, 1, 9999));
        _pool(Class.AddLiquidity, 0, 1, 9999);
    }

    /// @dev What does not fit the arithmetic is refused, not wrapped around.
    function test_numbers_beyond_the_arithmetic_are_refused() public {
        vm.expectRevert(OVERFLOW);
        _swap(type(uint256).max, type(uint256).max, 0);
        vm.expectRevert(OVERFLOW);
        _swap(type(uint256).max, 1, 0);
        vm.expectRevert(OVERFLOW);
        _pool(Class.AddLiquidity, type(uint256).max, 1, 100);
        vm.expectRevert(OVERFLOW);
        _pool(Class.RemoveLiquidity, 1, type(uint256).max, 100);
    }

    /// @dev SPEC D26.
    function testFuzz_other_classes_pass(Worth memory worth, uint16 bps) public view {
        for (uint8 i = 0; i <= uint8(type(Class).max); i++) {
            Class class = Class(i);
            if (class == Class.Swap) continue;
            if (class == Class.AddLiquidity || class == Class.RemoveLiquidity) continue;
            _rule.check(class, worth, within(bps, 0, 10_000));
        }
    }

    function _liquidity(uint256 which) private pure returns (Class) {
        return which == 0 ? Class.AddLiquidity : Class.RemoveLiquidity;
    }

    /// @dev The prices are another class's: a swap is not judged by them.
    function _swap(uint256 out, uint256 back, uint256 bps) private view {
        _rule.check(Class.Swap, Worth(out, back, 1, 2), bps);
    }

    function _pool(Class class, uint256 pool, uint256 feed, uint256 bps) private view {
        _rule.check(class, Worth(1, 0, pool, feed), bps);
    }

    function _tooMuch(uint256 out, uint256 back, uint256 bps) private pure returns (bytes memory) {
        return abi.encodeWithSelector(MaxSlippage.MaxSlippage_TooMuch.selector, out, back, bps);
    }

    function _moved(uint256 pool, uint256 feed, uint256 bps) private pure returns (bytes memory) {
        return abi.encodeWithSelector(MaxSlippage.MaxSlippage_PoolMoved.selector, pool, feed, bps);
    }
}
