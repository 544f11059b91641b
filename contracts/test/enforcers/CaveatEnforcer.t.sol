// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {CaveatEnforcer} from "../../src/enforcers/CaveatEnforcer.sol";
import {ExecutionModes} from "../../src/enforcers/ExecutionModes.sol";
import {
    BATCH_DEFAULT,
    BATCH_TRY,
    ModeCode,
    SINGLE_DEFAULT,
    SINGLE_TRY
} from "../../src/interfaces/ModeCode.sol";
import {TestBase} from "../TestBase.sol";

/// @notice An enforcer with nothing of its own, and the mode checks as functions.
contract BareEnforcer is CaveatEnforcer {
    function defaultExecution(ModeCode mode) external pure onlyDefaultExecutionMode(mode) {}

    function singleDefault(ModeCode mode) external pure onlySingleDefaultMode(mode) {}

    function batchDefault(ModeCode mode) external pure onlyBatchDefaultMode(mode) {}
}

contract CaveatEnforcerTest is TestBase {
    BareEnforcer private _enforcer;

    function setUp() public {
        _enforcer = new BareEnforcer();
    }

    /// @dev The values are those the framework and MetaMask's packages use on the wire.
    function test_modes_are_the_words_of_the_framework() public pure {
        _assertMode(
            SINGLE_DEFAULT, 0x0000000000000000000000000000000000000000000000000000000000000000
        );
        _assertMode(SINGLE_TRY, 0x0001000000000000000000000000000000000000000000000000000000000000);
        _assertMode(
            BATCH_DEFAULT, 0x0100000000000000000000000000000000000000000000000000000000000000
        );
        _assertMode(BATCH_TRY, 0x0101000000000000000000000000000000000000000000000000000000000000);
    }

    function test_each_check_lets_its_own_modes_through() public view {
        _enforcer.defaultExecution(SINGLE_DEFAULT);
        _enforcer.defaultExecution(BATCH_DEFAULT);
        _enforcer.singleDefault(SINGLE_DEFAULT);
        _enforcer.batchDefault(BATCH_DEFAULT);
    }

    function test_a_single_rule_refuses_a_batch() public {
        vm.expectRevert(
            _error(ExecutionModes.ExecutionModes_NotSingleDefault.selector, BATCH_DEFAULT)
        );
        _enforcer.singleDefault(BATCH_DEFAULT);
    }

    function test_a_batch_rule_refuses_a_single_call() public {
        vm.expectRevert(
            _error(ExecutionModes.ExecutionModes_NotBatchDefault.selector, SINGLE_DEFAULT)
        );
        _enforcer.batchDefault(SINGLE_DEFAULT);
    }

    /// @dev ATK-12.
    function test_no_check_lets_try_delegatecall_or_staticcall_through() public {
        ModeCode[6] memory refused = [
            SINGLE_TRY,
            BATCH_TRY,
            ModeCode.wrap(bytes32(uint256(0xff00) << 240)),
            ModeCode.wrap(bytes32(uint256(0xff01) << 240)),
            ModeCode.wrap(bytes32(uint256(0xfe00) << 240)),
            ModeCode.wrap(bytes32(uint256(0xfe01) << 240))
        ];
        for (uint256 i = 0; i < refused.length; i++) {
            _assertNoCheckPasses(refused[i]);
        }
    }

    function testFuzz_no_check_lets_a_stray_bit_through(uint256 word) public {
        // Everything below the call type must be zero; make sure that something is not.
        vm.assume(word << 8 != 0);
        _assertNoCheckPasses(ModeCode.wrap(bytes32(word)));
    }

    function testFuzz_hooks_do_nothing_unless_overridden(
        bytes memory terms,
        bytes memory args,
        bytes32 mode,
        bytes memory execution,
        bytes32 hash
    ) public {
        ModeCode any = ModeCode.wrap(mode);
        vm.record();

        _enforcer.beforeAllHook(terms, args, any, execution, hash, address(1), address(2));
        _enforcer.beforeHook(terms, args, any, execution, hash, address(1), address(2));
        _enforcer.afterHook(terms, args, any, execution, hash, address(1), address(2));
        _enforcer.afterAllHook(terms, args, any, execution, hash, address(1), address(2));

        (, bytes32[] memory writes) = vm.accesses(address(_enforcer));
        vm.assertEq(writes.length, 0, "slots written");
    }

    function _assertNoCheckPasses(ModeCode mode) private {
        vm.expectRevert(_error(ExecutionModes.ExecutionModes_NotDefaultExecution.selector, mode));
        _enforcer.defaultExecution(mode);
        vm.expectRevert(_error(ExecutionModes.ExecutionModes_NotSingleDefault.selector, mode));
        _enforcer.singleDefault(mode);
        vm.expectRevert(_error(ExecutionModes.ExecutionModes_NotBatchDefault.selector, mode));
        _enforcer.batchDefault(mode);
    }

    function _assertMode(ModeCode mode, bytes32 word) private pure {
        vm.assertEq(ModeCode.unwrap(mode), word, "mode");
    }

    function _error(bytes4 selector, ModeCode mode) private pure returns (bytes memory) {
        return abi.encodeWithSelector(selector, mode);
    }
}
