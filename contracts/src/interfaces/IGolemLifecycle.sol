// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice Birth of children and the last act of a Golem, as calls that the phase matrix can tell
///         apart (SPEC C15). The contract behind them comes with part 3.
interface IGolemLifecycle {
    /// @notice A Golem made a child that acts under `delegationHash`.
    function spawnReplicant(bytes32 golemId, address replicant, bytes32 delegationHash) external;

    /// @notice A Golem is done; `manifestHash` says what it left and where.
    function settle(bytes32 golemId, bytes32 manifestHash) external;
}
