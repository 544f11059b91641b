// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../interfaces/ModeCode.sol";

/// @notice The checks of the execution mode. A rule names the modes it understands.
/// @dev A mode is accepted only as a whole word that is known: an unknown call type, or a stray bit
///      in selector or payload, is refused (INV-4), although today's accounts would ignore the bit.
abstract contract ExecutionModes {
    /// @notice Calls must be made so that a failing one undoes the redemption.
    error ExecutionModes_NotDefaultExecution(ModeCode mode);
    /// @notice The rule understands one call that undoes the redemption when it fails.
    error ExecutionModes_NotSingleDefault(ModeCode mode);
    /// @notice The rule understands a batch that undoes the redemption when a call of it fails.
    error ExecutionModes_NotBatchDefault(ModeCode mode);

    /// @dev Single or batch; never try, delegatecall or staticcall.
    modifier onlyDefaultExecutionMode(ModeCode mode) {
        if (mode != SINGLE_DEFAULT && mode != BATCH_DEFAULT) {
            revert ExecutionModes_NotDefaultExecution(mode);
        }
        _;
    }

    /// @dev For rules that read the execution as one packed call.
    modifier onlySingleDefaultMode(ModeCode mode) {
        if (mode != SINGLE_DEFAULT) revert ExecutionModes_NotSingleDefault(mode);
        _;
    }

    /// @dev For rules that read the execution as a list of calls.
    modifier onlyBatchDefaultMode(ModeCode mode) {
        if (mode != BATCH_DEFAULT) revert ExecutionModes_NotBatchDefault(mode);
        _;
    }
}
