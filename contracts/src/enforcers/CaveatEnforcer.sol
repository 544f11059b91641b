// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ICaveatEnforcer} from "../interfaces/ICaveatEnforcer.sol";
import {ModeCode} from "../interfaces/ModeCode.sol";
import {ExecutionModes} from "./ExecutionModes.sol";

/// @notice Four hooks that allow everything. A rule overrides the hook it needs.
abstract contract CaveatEnforcer is ExecutionModes, ICaveatEnforcer {
    /// @inheritdoc ICaveatEnforcer
    function beforeAllHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata executionCalldata,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) public virtual {}

    /// @inheritdoc ICaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata executionCalldata,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) public virtual {}

    /// @inheritdoc ICaveatEnforcer
    function afterHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata executionCalldata,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) public virtual {}

    /// @inheritdoc ICaveatEnforcer
    function afterAllHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode mode,
        bytes calldata executionCalldata,
        bytes32 delegationHash,
        address delegator,
        address redeemer
    ) public virtual {}
}
