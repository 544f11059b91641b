// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PriceAggregator} from "../../local/PriceAggregator.sol";
import {PriceFeed} from "../../local/PriceFeed.sol";
import {IPriceFeed} from "../../src/interfaces/IPriceFeed.sol";
import {PricedToken, Valuation} from "../../src/rules/Valuation.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract Valued {
    function price(PricedToken memory priced, uint256 nowAt) external view returns (uint256) {
        return Valuation.price(priced, nowAt);
    }

    function valueOut(PricedToken memory priced, uint256 answer, uint256 amount)
        external
        pure
        returns (uint256)
    {
        return Valuation.valueOut(priced, answer, amount);
    }

    function valueIn(PricedToken memory priced, uint256 answer, uint256 amount)
        external
        pure
        returns (uint256)
    {
        return Valuation.valueIn(priced, answer, amount);
    }

    function requireSequencer(address feed, uint256 grace, uint256 nowAt) external view {
        Valuation.requireSequencer(feed, grace, nowAt);
    }
}

// forge-lint: disable-start(unsafe-typecast)
// Prices here are small constants, or values that the test itself has bounded.

contract ValuationTest is TestBase {
    uint256 private constant NOW = 1_800_000_000;
    uint32 private constant MAX_AGE = 3600;
    int256 private constant ETH = 2500e8;

    Valued private _valued;
    PriceAggregator private _aggregator;
    PriceFeed private _feed;

    function setUp() public {
        vm.warp(NOW);
        _valued = new Valued();
        _aggregator = new PriceAggregator("ETH / USD", 8, address(this));
        _aggregator.set(ETH);
        _feed = new PriceFeed(IPriceFeed(address(_aggregator)), address(this));
    }

    function test_a_fresh_answer_is_the_price() public view {
        vm.assertEq(_valued.price(_eth(), NOW), uint256(ETH), "price");
    }

    function test_an_answer_counts_to_its_last_second_and_no_longer() public {
        vm.assertEq(_valued.price(_eth(), NOW + MAX_AGE), uint256(ETH), "the last second");

        vm.expectRevert(
            abi.encodeWithSelector(
                Valuation.Valuation_Stale.selector, address(_feed), NOW, NOW + MAX_AGE + 1, MAX_AGE
            )
        );
        _valued.price(_eth(), NOW + MAX_AGE + 1);
    }

    function test_an_answer_from_the_future_or_from_nowhere_is_stale() public {
        _aggregator.setRound(2, ETH, NOW, NOW + 1, 2);
        vm.expectRevert(
            abi.encodeWithSelector(
                Valuation.Valuation_Stale.selector, address(_feed), NOW + 1, NOW, MAX_AGE
            )
        );
        _valued.price(_eth(), NOW);

        _aggregator.setRound(3, ETH, NOW, 0, 3);
        vm.expectRevert(
            abi.encodeWithSelector(
                Valuation.Valuation_Stale.selector, address(_feed), 0, NOW, MAX_AGE
            )
        );
        _valued.price(_eth(), NOW);
    }

    function testFuzz_no_answer_is_a_price_unless_it_is_positive_and_sane(int128 answer) public {
        _aggregator.set(answer);
        bool sane = answer > 0 && answer <= int256(uint256(type(uint96).max));
        if (!sane) {
            vm.expectRevert(
                abi.encodeWithSelector(
                    Valuation.Valuation_Answer.selector, address(_feed), int256(answer)
                )
            );
        }
        uint256 price = _valued.price(_eth(), NOW);
        if (sane) vm.assertEq(price, uint256(int256(answer)), "price");
    }

    function test_the_bounds_of_an_answer() public {
        int256 most = int256(uint256(type(uint96).max));
        _aggregator.set(most);
        vm.assertEq(_valued.price(_eth(), NOW), uint256(most), "most");
        _aggregator.set(1);
        vm.assertEq(_valued.price(_eth(), NOW), 1, "least");

        for (uint256 i = 0; i < 3; i++) {
            int256 answer = [most + 1, int256(0), int256(-1)][i];
            _aggregator.set(answer);
            vm.expectRevert(
                abi.encodeWithSelector(
                    Valuation.Valuation_Answer.selector, address(_feed), int256(answer)
                )
            );
            _valued.price(_eth(), NOW);
        }
    }

    function test_an_unfinished_round_is_refused() public {
        _aggregator.setRound(7, ETH, NOW, NOW, 6);
        uint80 phased = (uint80(1) << 64) | 7;
        vm.expectRevert(
            abi.encodeWithSelector(
                Valuation.Valuation_Incomplete.selector, address(_feed), phased, phased - 1
            )
        );
        _valued.price(_eth(), NOW);
    }

    function test_other_decimals_than_signed_are_refused() public {
        PricedToken memory priced = _eth();
        priced.feedDecimals = 18;
        vm.expectRevert(
            abi.encodeWithSelector(Valuation.Valuation_Decimals.selector, address(_feed), 18, 8)
        );
        _valued.price(priced, NOW);
    }

    function test_an_address_without_code_is_no_feed() public {
        PricedToken memory priced = _eth();
        priced.feed = address(0xfeed);
        vm.expectRevert(bytes(""));
        _valued.price(priced, NOW);
    }

    function test_dollars_of_known_amounts() public view {
        vm.assertEq(_valued.valueOut(_eth(), uint256(ETH), 1 ether), 2_500e6, "an ether");
        vm.assertEq(_valued.valueOut(_usdc(), 1e8, 100e6), 100e6, "a hundred dollars");
        vm.assertEq(_valued.valueOut(_usdc(), 99_990_000, 1e6), 999_900, "off the peg");
    }

    function test_what_leaves_is_rounded_up_and_what_arrives_down() public view {
        vm.assertEq(_valued.valueOut(_eth(), uint256(ETH), 1), 1, "a wei leaves");
        vm.assertEq(_valued.valueIn(_eth(), uint256(ETH), 1), 0, "a wei arrives");
        vm.assertEq(_valued.valueOut(_eth(), uint256(ETH), 0), 0, "nothing leaves");
    }

    /// @dev Exact in wide arithmetic: value × unit brackets amount × price.
    function testFuzz_rounding_is_at_most_one_micro_dollar(uint96 answer, uint128 amount)
        public
        view
    {
        uint256 price = within(answer, 1, type(uint96).max);
        uint256 up = _valued.valueOut(_eth(), price, amount);
        uint256 down = _valued.valueIn(_eth(), price, amount);
        uint256 exact = uint256(amount) * price * 1e6;
        uint256 unit = 10 ** 26;

        vm.assertTrue(down * unit <= exact && exact <= up * unit, "brackets");
        vm.assertTrue(up - down <= 1, "one micro-dollar");
        vm.assertTrue((up == down) == (exact % unit == 0), "exact where it divides");
    }

    function testFuzz_an_amount_beyond_any_token_is_refused(uint256 amount) public {
        amount = within(amount, uint256(type(uint128).max) + 1, type(uint256).max);
        vm.expectRevert(abi.encodeWithSelector(Valuation.Valuation_Amount.selector, amount));
        _valued.valueOut(_eth(), uint256(ETH), amount);
    }

    function test_the_largest_amount_at_the_largest_price_is_valued() public view {
        uint256 value = _valued.valueOut(_eth(), type(uint96).max, type(uint128).max);
        vm.assertTrue(value > 0, "valued");
    }

    function test_a_sequencer_that_is_up_long_enough_passes() public {
        PriceAggregator uptime = _uptime(0, NOW - 3600);
        _valued.requireSequencer(address(uptime), 3600, NOW);
    }

    /// @dev Who asks for no grace gets none: it counts from its very second.
    function test_without_grace_a_sequencer_that_just_came_back_passes() public {
        PriceAggregator uptime = _uptime(0, NOW);
        _valued.requireSequencer(address(uptime), 0, NOW);
    }

    function test_a_sequencer_that_is_down_or_just_back_or_unknown_is_refused() public {
        int256[4] memory answers = [int256(1), 0, 0, 0];
        uint256[4] memory since = [NOW - 9999, NOW - 3599, 0, NOW + 1];
        for (uint256 i = 0; i < 4; i++) {
            PriceAggregator uptime = _uptime(answers[i], since[i]);
            vm.expectRevert(
                abi.encodeWithSelector(
                    Valuation.Valuation_Sequencer.selector,
                    address(uptime),
                    answers[i],
                    since[i],
                    3600
                )
            );
            _valued.requireSequencer(address(uptime), 3600, NOW);
        }
    }

    function _uptime(int256 answer, uint256 since) private returns (PriceAggregator uptime) {
        uptime = new PriceAggregator("sequencer", 0, address(this));
        uptime.setRound(1, answer, since, since, 1);
    }

    function _eth() private view returns (PricedToken memory) {
        return PricedToken(address(0), address(_feed), 18, 8, MAX_AGE);
    }

    function _usdc() private view returns (PricedToken memory) {
        return PricedToken(address(1), address(_feed), 6, 8, MAX_AGE);
    }
}

// forge-lint: disable-end(unsafe-typecast)
