// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice How a Golem says it feels. See {IVitalityOracle} for what its word is worth.
interface IDaimonOracle {
    /// @notice The Golem feels otherwise.
    event PadUpdated(bytes32 indexed golemId, int8 pleasure, int8 arousal, int8 dominance);

    /// @notice Each −100 to 100. Refuses a Golem that is not registered.
    function padOf(bytes32 golemId)
        external
        view
        returns (int8 pleasure, int8 arousal, int8 dominance);
}
