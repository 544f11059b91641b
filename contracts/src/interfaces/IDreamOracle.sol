// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice Whether a Golem says it is dreaming. See {IVitalityOracle} for what its word is worth.
interface IDreamOracle {
    /// @notice The Golem fell asleep or woke up.
    event DreamingSet(bytes32 indexed golemId, bool dreaming);

    /// @notice Refuses a Golem that is not registered.
    function isDreaming(bytes32 golemId) external view returns (bool);
}
