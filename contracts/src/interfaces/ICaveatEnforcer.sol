// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "./ModeCode.sol";

/// @notice What the DelegationManager asks of a rule that an owner attached to a delegation.
/// @dev For one `redeemDelegations` the manager calls all four hooks of every caveat of every link:
///      `beforeAllHook` for all tuples; then, tuple by tuple, `beforeHook` (leaf to root), the
///      execution, `afterHook` (root to leaf); at last `afterAllHook` for all tuples. A hook
///      refuses by reverting, which undoes the whole redemption.
///
///      All four share their parameters:
///      - `terms`: the bound, signed by the delegator as part of the delegation.
///      - `args`: not signed; whatever the redeemer liked to put there.
///      - `mode`: how the account will execute.
///      - `executionCalldata`: packed (target, value, data) for a single call, ABI-encoded
///        executions for a batch.
///      - `delegationHash`: the link that carries this caveat.
///      - `delegator`: who granted that link; not always the account that executes.
///      - `redeemer`: who called the manager.
interface ICaveatEnforcer {
    /// @notice Called before anything of the redemption is executed.
    function beforeAllHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata executionCalldata,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) external;

    /// @notice Called right before the execution of this tuple.
    function beforeHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata executionCalldata,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) external;

    /// @notice Called right after the execution of this tuple.
    function afterHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata executionCalldata,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) external;

    /// @notice Called when everything of the redemption has been executed.
    function afterAllHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata executionCalldata,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) external;
}
