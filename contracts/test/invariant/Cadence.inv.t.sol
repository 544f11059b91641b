// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {CadenceEnforcer} from "../../src/enforcers/CadenceEnforcer.sol";
import {BATCH_DEFAULT, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Cadence} from "../../src/rules/Cadence.sol";
import {TestBase} from "../TestBase.sol";

/// @notice Two managers, two delegators and two Golems with a clock, and owners who grant anew whenever it
///         pleases them. Beside the enforcer stands a list of every moment of each.
contract CadenceHandler is TestBase {
    struct Grant {
        uint32 period;
        uint8 count;
    }

    CadenceEnforcer private immutable ENFORCER = new CadenceEnforcer();
    uint256 private constant WHO = 8;

    uint256 public accepted;
    uint256 public refused;
    /// @notice The first broken promise, if any.
    string public broken;

    /// @dev Three that lie side by side, so that they are tried in turn on one history.
    Grant[3] private _grants;
    uint256[][8] private _moments;
    uint256 private _now = 1_767_225_600;

    constructor() {
        _grants[0] = Grant(7 days, 1);
        _grants[1] = Grant(1 days, 3);
        _grants[2] = Grant(1 hours, 12);
    }

    function total() external view returns (uint256 sum) {
        for (uint256 i = 0; i < WHO; i++) {
            sum += _moments[i].length;
        }
    }

    /// @notice Every history is as long as the enforcer says.
    function counted() external view returns (bool) {
        for (uint256 who = 0; who < WHO; who++) {
            (address manager, address delegator, bytes32 golemId) = _parties(who);
            uint256 told = ENFORCER.redemptionsOf(manager, delegator, golemId);
            if (told != _moments[who].length) return false;
        }
        return true;
    }

    function wait(uint256 seconds_, uint8 kind) external {
        uint256[4] memory most = [uint256(2), 1 hours, 1 days, 14 days];
        _now += within(seconds_, 0, most[kind % 4]);
    }

    /// @dev To the second at which one of a history is a period old, or the one before.
    function waitForTheEdge(uint256 which, uint8 grant, uint8 who, bool before) external {
        uint256[] storage moments = _moments[who % WHO];
        if (moments.length == 0) return;
        uint256 edge = moments[which % moments.length] + _grants[grant % 3].period;
        if (before) edge--;
        if (edge > _now) _now = edge;
    }

    function regrant(uint8 grant, uint32 period, uint8 count, uint8 kind) external {
        uint32[4] memory most = [uint32(3), 1 hours, 14 days, type(uint32).max];
        _grants[grant % 3] = Grant(
            uint32(within(period, 1, most[kind % 4])),
            uint8(within(count, 1, kind % 8 == 0 ? 255 : 12))
        );
    }

    function act(uint8 grant, uint8 who, bool batch) external {
        _act(_grants[grant % 3], who % WHO, batch);
    }

    /// @dev Until it is refused, and so to the bound.
    function actAll(uint8 grant, uint8 who) external {
        for (uint256 i = 0; i < 20; i++) {
            _act(_grants[grant % 3], who % WHO, false);
        }
    }

    function _act(Grant memory terms, uint256 who, bool batch) private {
        (address manager, address delegator, bytes32 golemId) = _parties(who);
        bytes memory packed = abi.encodePacked(golemId, terms.period, terms.count);
        uint256[] storage moments = _moments[who];
        uint256 inPeriod = 0;
        for (uint256 i = 0; i < moments.length; i++) {
            if (_now - moments[i] < terms.period) inPeriod++;
        }
        bool fits = inPeriod < terms.count;
        if (fits != ENFORCER.dueAt(manager, delegator, packed) <= _now) broken = "a moment is off";

        vm.warp(_now);
        vm.prank(manager);
        try ENFORCER.beforeHook(
            packed,
            "",
            batch ? BATCH_DEFAULT : SINGLE_DEFAULT,
            "",
            bytes32(0),
            delegator,
            address(this)
        ) {
            if (!fits) broken = "more than the count in one period";
            moments.push(_now);
            accepted++;
        } catch (bytes memory reason) {
            // The first four bytes are what is wanted.
            // forge-lint: disable-next-line(unsafe-typecast)
            if (bytes4(reason) != Cadence.Cadence_TooSoon.selector) broken = "for no reason";
            if (fits) broken = "refused too early";
            refused++;
        }
    }

    /// @dev Each bit chooses one of two.
    function _parties(uint256 who)
        private
        pure
        returns (address manager, address delegator, bytes32 golemId)
    {
        manager = who & 1 == 0 ? address(0xa1) : address(0xa2);
        delegator = who & 2 == 0 ? address(0xb1) : address(0xb2);
        golemId = who & 4 == 0 ? keccak256("one") : keccak256("other");
    }
}

contract CadenceInvariantTest is TestBase {
    CadenceHandler private _handler;

    function setUp() public {
        _handler = new CadenceHandler();
    }

    /// @dev Asked by forge: what to call.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_handler);
    }

    /// @dev ATK-19, ATK-23, ATK-31.
    /// forge-config: default.invariant.runs = 128
    /// forge-config: default.invariant.depth = 96
    function invariant_no_period_has_more_than_its_count_and_none_is_refused_early() public view {
        vm.assertEq(_handler.broken(), "", "broken promise");
        vm.assertEq(_handler.total(), _handler.accepted(), "ledger");
    }

    function invariant_histories_are_apart_and_whole() public view {
        vm.assertTrue(_handler.counted(), "as many as were accepted");
    }
}
