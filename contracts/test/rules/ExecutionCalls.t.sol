// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Execution} from "../../src/interfaces/IDelegationManager.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract CallReader {
    function count(ModeCode mode, bytes calldata execution) external pure returns (uint256) {
        return Executions.count(mode, execution);
    }

    function callAt(ModeCode mode, bytes calldata execution, uint256 index)
        external
        pure
        returns (address target, uint256 value, bytes memory data)
    {
        return Executions.callAt(mode, execution, index);
    }
}

/// @notice Calls of an execution as a rule without a listing reads them.
contract ExecutionCallsTest is TestBase {
    CallReader private _reader;

    function setUp() public {
        _reader = new CallReader();
    }

    function testFuzz_a_single_call_is_read_whole(
        address target,
        uint256 value,
        bytes memory data,
        uint256 index
    ) public view {
        bytes memory execution = abi.encodePacked(target, value, data);

        vm.assertEq(_reader.count(SINGLE_DEFAULT, execution), 1, "count");
        _assertCall(SINGLE_DEFAULT, execution, index, Execution(target, value, data));
    }

    /// @dev ATK-16.
    function test_less_than_a_target_and_a_value_is_no_call() public {
        bytes memory call = abi.encodePacked(address(7), uint256(1));
        for (uint256 length = 0; length < 52; length++) {
            bytes memory short = new bytes(length);
            for (uint256 i = 0; i < length; i++) {
                short[i] = call[i];
            }
            vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Short.selector, length));
            _reader.callAt(SINGLE_DEFAULT, short, 0);
        }
        _reader.callAt(SINGLE_DEFAULT, call, 0);
    }

    function testFuzz_every_call_of_a_batch_is_read_whole(
        address[5] memory targets,
        uint256[5] memory values,
        bytes[5] memory datas,
        uint256 count
    ) public view {
        Execution[] memory calls = new Execution[](within(count, 1, 5));
        for (uint256 i = 0; i < calls.length; i++) {
            calls[i] = Execution(targets[i], values[i], datas[i]);
        }
        bytes memory execution = abi.encode(calls);

        vm.assertEq(_reader.count(BATCH_DEFAULT, execution), calls.length, "count");
        for (uint256 i = 0; i < calls.length; i++) {
            _assertCall(BATCH_DEFAULT, execution, i, calls[i]);
        }
    }

    /// @dev ATK-15: one encoding, and no call more or less than an account finds.
    function testFuzz_a_batch_in_another_encoding_is_not_counted(
        Execution[3] memory three,
        uint256 at,
        uint8 flip
    ) public view {
        Execution[] memory calls = new Execution[](3);
        (calls[0], calls[1], calls[2]) = (three[0], three[1], three[2]);
        bytes memory execution = abi.encode(calls);
        bytes32 whole = keccak256(execution);
        execution[at % execution.length] ^= bytes1(uint8(within(flip, 1, 255)));

        try _reader.count(BATCH_DEFAULT, execution) returns (uint256 found) {
            // Another value of a field, in its own one encoding.
            Execution[] memory others = abi.decode(execution, (Execution[]));
            vm.assertEq(found, others.length, "count");
            vm.assertEq(keccak256(abi.encode(others)), keccak256(execution), "canonical");
            vm.assertTrue(keccak256(execution) != whole, "another one");
        } catch {}
    }

    function test_a_batch_of_nothing_or_with_more_behind_it_is_not_counted() public {
        Execution[] memory calls = new Execution[](1);
        calls[0] = Execution(address(7), 1, hex"01020304");

        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 0));
        _reader.count(BATCH_DEFAULT, abi.encode(new Execution[](0)));
        vm.expectRevert(abi.encodeWithSelector(Executions.Executions_Batch.selector, 1));
        _reader.count(BATCH_DEFAULT, bytes.concat(abi.encode(calls), new bytes(32)));
    }

    function _assertCall(
        ModeCode mode,
        bytes memory execution,
        uint256 index,
        Execution memory expected
    ) private view {
        (address target, uint256 value, bytes memory data) = _reader.callAt(mode, execution, index);
        vm.assertEq(target, expected.target, "target");
        vm.assertEq(value, expected.value, "value");
        vm.assertEq(data, expected.callData, "data");
    }
}
