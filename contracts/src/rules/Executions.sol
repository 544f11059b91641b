// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Execution} from "../interfaces/IDelegationManager.sol";
import {ModeCode, SINGLE_DEFAULT} from "../interfaces/ModeCode.sol";
import {Action, Actions, Class} from "./Actions.sol";
import {Listing} from "./Listing.sol";

/// @notice Everything one redemption is about to do, call by call, as its account will read it.
/// @dev All of it is judged on the state before the first call. So what can change a price must not come
///      before what is measured by that price and has no minimum of its own.
library Executions {
    using Listing for bytes;

    /// @notice One packed call has a target and a value at least.
    error Executions_Short(uint256 length);
    /// @notice A batch without calls, or not in its canonical encoding.
    error Executions_Batch(uint256 count);

    /// @notice Liquidity or a deposit behind a call that could move its price, or a second deposit or
    ///         payment of gas money.
    error Executions_Order(Class class);

    uint256 private constant WORD = 32;
    /// @dev Measured by what is looked at beforehand, and executed without a minimum: by a price, or gas money
    ///      by what the key holds. A key with code, or a token of his, could be paid in between.
    uint256 private constant MEASURED_BEFORE = (1 << uint256(Class.AddLiquidity))
        | (1 << uint256(Class.RemoveLiquidity)) | (1 << uint256(Class.Deposit))
        | (1 << uint256(Class.GasTopUp));
    /// @dev Not twice: a deposit makes shares dearer by what it rounds away, which the next one would pay.
    uint256 private constant ONCE = 1 << uint256(Class.Deposit);
    /// @dev Changes a price, or may run code that the owner did not list and that could: tokens on a swap's
    ///      path, tokens of a position that somebody gave the account, the agent key's own code
    ///      (EIP-7702), what a lifecycle contract calls, a buyer whom his token asks. A withdrawal can leave
    ///      few shares in a vault.
    uint256 private constant MOVES_PRICES = (1 << uint256(Class.Swap))
        | (1 << uint256(Class.Collect)) | (1 << uint256(Class.GasTopUp))
        | (1 << uint256(Class.Withdraw)) | (1 << uint256(Class.SpawnReplicant))
        | (1 << uint256(Class.Settle)) | (1 << uint256(Class.Sell));

    /// @notice All actions, in order.
    /// @param mode Single or batch, default; callers let no other through.
    function actions(bytes calldata listing, ModeCode mode, bytes calldata execution)
        internal
        pure
        returns (Action[] memory found)
    {
        found = mode == SINGLE_DEFAULT ? _single(listing, execution) : _batch(listing, execution);
        uint256 seen;
        for (uint256 i = 0; i < found.length; i++) {
            uint256 bit = 1 << uint256(found[i].class);
            bool late = bit & MEASURED_BEFORE != 0 && seen & MOVES_PRICES != 0;
            if (late || bit & seen & ONCE != 0) revert Executions_Order(found[i].class);
            seen |= bit;
        }
    }

    /// @notice How many calls there are, for rules that read calls without a listing. Refuses what an
    ///         account might read otherwise.
    function count(ModeCode mode, bytes calldata execution) internal pure returns (uint256) {
        return mode == SINGLE_DEFAULT ? 1 : _calls(execution).length;
    }

    /// @notice One of the calls that were counted.
    function callAt(ModeCode mode, bytes calldata execution, uint256 index)
        internal
        pure
        returns (address target, uint256 value, bytes calldata data)
    {
        if (mode == SINGLE_DEFAULT) return _one(execution);
        bytes calldata list = execution[2 * WORD:];
        bytes calldata head = list[_word(list, index * WORD):];
        (target, value) = abi.decode(head, (address, uint256));
        data = _data(execution, index);
    }

    function _single(bytes calldata listing, bytes calldata execution)
        private
        pure
        returns (Action[] memory)
    {
        (address target, uint256 value, bytes calldata data) = _one(execution);
        return Actions.decode(listing.role(target), target, value, data);
    }

    function _one(bytes calldata execution)
        private
        pure
        returns (address target, uint256 value, bytes calldata data)
    {
        if (execution.length < 52) revert Executions_Short(execution.length);
        // Target and, in the lower part of its word, the first bytes of the value behind it.
        target = address(uint160(abi.decode(execution[0:32], (uint256)) >> 96));
        value = abi.decode(execution[20:52], (uint256));
        data = execution[52:];
    }

    /// @dev Demands the list's canonical form: an account and a rule that found different calls in
    ///      the same bytes would be a way around every rule (ATK-15).
    function _calls(bytes calldata execution) private pure returns (Execution[] memory calls) {
        calls = abi.decode(execution, (Execution[]));
        if (calls.length == 0 || keccak256(abi.encode(calls)) != keccak256(execution)) {
            revert Executions_Batch(calls.length);
        }
    }

    function _batch(bytes calldata listing, bytes calldata execution)
        private
        pure
        returns (Action[] memory flat)
    {
        Execution[] memory calls = _calls(execution);
        Action[][] memory found = new Action[][](calls.length);
        uint256 total;
        for (uint256 i = 0; i < calls.length; i++) {
            address target = calls[i].target;
            found[i] =
                Actions.decode(listing.role(target), target, calls[i].value, _data(execution, i));
            total += found[i].length;
        }
        flat = new Action[](total);
        total = 0;
        for (uint256 i = 0; i < found.length; i++) {
            for (uint256 j = 0; j < found[i].length; j++) {
                flat[total++] = found[i][j];
            }
        }
    }

    /// @dev Calldata of one call in canonical form: offset of the list, length, offsets of the calls
    ///      from there; each call is target, value, offset and length of its data.
    function _data(bytes calldata execution, uint256 index) private pure returns (bytes calldata) {
        bytes calldata list = execution[2 * WORD:];
        bytes calldata call = list[_word(list, index * WORD):];
        uint256 length = _word(call, 3 * WORD);
        return call[4 * WORD:4 * WORD + length];
    }

    function _word(bytes calldata data, uint256 at) private pure returns (uint256) {
        return abi.decode(data[at:at + WORD], (uint256));
    }
}
