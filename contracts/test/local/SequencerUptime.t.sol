// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PriceFeed} from "../../local/PriceFeed.sol";
import {SequencerUptime} from "../../local/SequencerUptime.sol";
import {TestBase} from "../TestBase.sol";

contract SequencerUptimeTest is TestBase {
    uint256 private constant NOW = 1_800_000_000;

    SequencerUptime private _uptime;
    PriceFeed private _feed;
    Actor private _setter;

    function setUp() public {
        vm.warp(NOW);
        _setter = actor("setter");
        _uptime = new SequencerUptime(_setter.account);
        _feed = new PriceFeed(_uptime, _setter.account);
    }

    function test_it_is_up_from_the_start() public view {
        _assertLatest(1, 0, NOW, NOW);
    }

    function test_a_change_starts_a_round_and_a_confirmation_does_not() public {
        vm.warp(NOW + 60);
        _set(true);
        _assertLatest(2, 1, NOW + 60, NOW + 60);

        vm.warp(NOW + 90);
        _set(true);
        _assertLatest(2, 1, NOW + 60, NOW + 90);

        vm.warp(NOW + 120);
        _set(false);
        _assertLatest(3, 0, NOW + 120, NOW + 120);
    }

    function test_only_the_latest_round_is_known() public {
        _set(true);
        (uint80 id,,,,) = _uptime.getRoundData(2);
        vm.assertEq(uint256(id), 2, "latest");
        vm.expectRevert(
            abi.encodeWithSelector(SequencerUptime.SequencerUptime_NoData.selector, uint80(1))
        );
        _uptime.getRoundData(1);
    }

    function testFuzz_only_the_setter_sets(address caller) public {
        vm.assume(caller != _setter.account);
        vm.expectRevert(
            abi.encodeWithSelector(
                SequencerUptime.SequencerUptime_NotSetter.selector, caller, _setter.account
            )
        );
        vm.prank(caller);
        _uptime.set(true);
    }

    function _set(bool down) private {
        vm.prank(_setter.account);
        _uptime.set(down);
    }

    /// @dev Read through both hops.
    function _assertLatest(uint256 round, int256 answer, uint256 startedAt, uint256 updatedAt)
        private
        view
    {
        (uint80 id, int256 found, uint256 started, uint256 updated, uint80 answeredIn) =
            _feed.latestRoundData();
        vm.assertEq(uint256(id), (1 << 64) | round, "round");
        vm.assertEq(found, answer, "answer");
        vm.assertEq(started, startedAt, "started");
        vm.assertEq(updated, updatedAt, "updated");
        vm.assertEq(uint256(answeredIn), id, "answered");
    }
}
