// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PriceAggregator} from "../../local/PriceAggregator.sol";
import {PriceFeed} from "../../local/PriceFeed.sol";
import {IPriceFeed} from "../../src/interfaces/IPriceFeed.sol";
import {TestBase} from "../TestBase.sol";

/// @notice Proxy and aggregator together, because rules only ever see them so.
contract PriceFeedTest is TestBase {
    uint256 private constant NOW = 1_767_225_600;
    uint80 private constant PHASE_1 = 1 << 64;
    uint80 private constant PHASE_2 = 2 << 64;

    PriceAggregator private _aggregator;
    PriceFeed private _feed;
    Actor private _setter;
    Actor private _owner;

    function setUp() public {
        vm.warp(NOW);
        _setter = actor("setter");
        _owner = actor("feed owner");
        _aggregator = new PriceAggregator("ETH / USD", 8, _setter.account);
        _feed = new PriceFeed(_aggregator, _owner.account);
        vm.prank(_setter.account);
        _aggregator.set(3_000e8);
    }

    function test_the_feed_tells_what_its_aggregator_tells() public view {
        vm.assertEq(_feed.decimals(), 8, "decimals");
        vm.assertEq(_feed.description(), "ETH / USD", "description");
        vm.assertEq(_feed.version(), _aggregator.version(), "version");
        vm.assertEq(address(_feed.aggregator()), address(_aggregator), "aggregator");
        _assertLatest(PHASE_1 | 1, 3_000e8, NOW, NOW, PHASE_1 | 1);
    }

    function test_a_new_answer_is_a_new_round_of_now() public {
        vm.warp(NOW + 60);
        vm.prank(_setter.account);
        _aggregator.set(3_100e8);

        _assertLatest(PHASE_1 | 2, 3_100e8, NOW + 60, NOW + 60, PHASE_1 | 2);
        _assertRound(PHASE_1 | 1, 3_000e8);
    }

    /// @dev What ATK-24 needs: a round that a rule must refuse.
    function testFuzz_a_round_is_taken_as_given(
        uint64 roundId,
        int128 answer,
        uint40 startedAt,
        uint40 updatedAt,
        uint40 behind
    ) public {
        vm.assume(behind <= roundId);
        uint64 answeredInRound = roundId - behind;
        vm.prank(_setter.account);
        _aggregator.setRound(roundId, answer, startedAt, updatedAt, answeredInRound);

        _assertLatest(PHASE_1 | roundId, answer, startedAt, updatedAt, PHASE_1 | answeredInRound);
    }

    function testFuzz_only_the_setter_sets(address caller) public {
        vm.assume(caller != _setter.account && caller != address(vm));
        bytes memory refusal = abi.encodeWithSelector(
            PriceAggregator.PriceAggregator_NotSetter.selector, caller, _setter.account
        );

        vm.expectRevert(refusal);
        vm.prank(caller);
        _aggregator.set(1);
        vm.expectRevert(refusal);
        vm.prank(caller);
        _aggregator.setRound(9, 1, 1, 1, 9);
    }

    function test_a_replaced_aggregator_opens_a_phase_and_the_past_stays_readable() public {
        PriceAggregator next = new PriceAggregator("ETH / USD", 8, _setter.account);
        vm.prank(_setter.account);
        next.set(2_900e8);

        vm.expectEmit(address(_feed));
        emit PriceFeed.AggregatorReplaced(2, next);
        vm.prank(_owner.account);
        _feed.replaceAggregator(next);

        vm.assertEq(_feed.phaseId(), 2, "phase");
        vm.assertEq(address(_feed.phaseAggregators(1)), address(_aggregator), "first aggregator");
        _assertLatest(PHASE_2 | 1, 2_900e8, NOW, NOW, PHASE_2 | 1);
        _assertRound(PHASE_2 | 1, 2_900e8);
        _assertRound(PHASE_1 | 1, 3_000e8);
    }

    function testFuzz_only_the_owner_replaces_the_aggregator(address caller) public {
        vm.assume(caller != _owner.account && caller != address(vm));

        vm.expectRevert(
            abi.encodeWithSelector(PriceFeed.PriceFeed_NotOwner.selector, caller, _owner.account)
        );
        vm.prank(caller);
        _feed.replaceAggregator(_aggregator);
    }

    function test_a_round_that_was_not_is_refused() public {
        vm.expectRevert(
            abi.encodeWithSelector(PriceAggregator.PriceAggregator_NoData.selector, uint80(2))
        );
        _feed.getRoundData(PHASE_1 | 2);

        vm.expectRevert(abi.encodeWithSelector(PriceFeed.PriceFeed_NoSuchPhase.selector, uint16(2)));
        _feed.getRoundData(PHASE_2 | 1);

        PriceAggregator empty = new PriceAggregator("ETH / USD", 8, _setter.account);
        vm.expectRevert(
            abi.encodeWithSelector(PriceAggregator.PriceAggregator_NoData.selector, uint80(0))
        );
        empty.latestRoundData();
    }

    function _assertLatest(
        uint80 id,
        int256 answer,
        uint256 startedAt,
        uint256 updatedAt,
        uint80 answeredInRound
    ) private view {
        IPriceFeed feed = _feed;
        (uint80 a, int256 b, uint256 c, uint256 d, uint80 e) = feed.latestRoundData();
        vm.assertEq(a, id, "round");
        vm.assertEq(b, answer, "answer");
        vm.assertEq(c, startedAt, "started");
        vm.assertEq(d, updatedAt, "updated");
        vm.assertEq(e, answeredInRound, "answered in");
    }

    function _assertRound(uint80 id, int256 answer) private view {
        (uint80 readId, int256 readAnswer,,, uint80 answeredInRound) = _feed.getRoundData(id);
        vm.assertEq(readId, id, "round");
        vm.assertEq(readAnswer, answer, "answer");
        vm.assertEq(answeredInRound, id, "answered in");
    }
}
