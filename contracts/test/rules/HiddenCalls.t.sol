// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {HiddenCalls} from "../../src/rules/HiddenCalls.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract HiddenCallsRule {
    function requireNone(address target, bytes calldata data, address manager, address delegator)
        external
        pure
    {
        HiddenCalls.requireNone(target, data, manager, delegator);
    }

    function isCarrier(bytes4 selector) external pure returns (bool) {
        return HiddenCalls.isCarrier(selector);
    }
}

contract HiddenCallsTest is TestBase {
    address private constant MANAGER = address(0x3a);
    address private constant DELEGATOR = address(0xde);

    HiddenCallsRule private _rule;

    function setUp() public {
        _rule = new HiddenCallsRule();
    }

    function test_every_carrier_is_known_by_name() public {
        string[6] memory names = _names();
        for (uint256 i = 0; i < names.length; i++) {
            bytes4 selector = bytes4(keccak256(bytes(names[i])));

            vm.assertTrue(_rule.isCarrier(selector), names[i]);
            vm.expectRevert(_refused(address(7), selector));
            _rule.requireNone(address(7), abi.encodePacked(selector), MANAGER, DELEGATOR);
        }
    }

    /// @dev ATK-14: whatever is said to the manager or to the delegator.
    function testFuzz_manager_and_delegator_are_no_targets(bytes memory data) public {
        vm.assume(data.length != 0);
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes4 selector = bytes4(data);

        vm.expectRevert(_refused(MANAGER, selector));
        _rule.requireNone(MANAGER, data, MANAGER, DELEGATOR);
        vm.expectRevert(_refused(DELEGATOR, selector));
        _rule.requireNone(DELEGATOR, data, MANAGER, DELEGATOR);
    }

    /// @dev Gas money, below a delegation that the agent's key gave.
    function testFuzz_a_payment_carries_nothing(address target) public view {
        _rule.requireNone(target, "", MANAGER, DELEGATOR);
        _rule.requireNone(DELEGATOR, "", MANAGER, DELEGATOR);
    }

    function testFuzz_any_other_call_passes(address target, bytes4 selector, bytes memory rest)
        public
        view
    {
        vm.assume(target != MANAGER && target != DELEGATOR);
        string[6] memory names = _names();
        for (uint256 i = 0; i < names.length; i++) {
            if (bytes4(keccak256(bytes(names[i]))) == selector) return;
        }

        _rule.requireNone(target, abi.encodePacked(selector, rest), MANAGER, DELEGATOR);
    }

    function _names() private pure returns (string[6] memory) {
        return [
            "execute((address,uint256,bytes))",
            "execute(bytes32,bytes)",
            "redeemDelegations(bytes[],bytes32[],bytes[])",
            "upgradeToAndCall(address,bytes)",
            "upgradeToAndCallAndRetainStorage(address,bytes)",
            "callPositionManager(bytes)"
        ];
    }

    function _refused(address target, bytes4 selector) private pure returns (bytes memory) {
        return abi.encodeWithSelector(HiddenCalls.HiddenCalls_Refused.selector, target, selector);
    }
}
