// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice How alive a Golem says it is.
/// @dev Written by the Golem's own key, which may be stolen: it binds an honest Golem, not a thief.
///      Nothing here is made older or newer for the reader; how old is too old is his to say.
interface IVitalityOracle {
    /// @notice The phase moved; back only by its owner's feeding.
    event PhaseChanged(
        bytes32 indexed golemId, uint8 indexed from, uint8 indexed to, address writer
    );
    /// @notice The Golem reported, with or without a change.
    event VitalityUpdated(bytes32 indexed golemId, uint8 phase, uint16 score);

    /// @notice What was last written. Refuses a Golem that is not registered.
    /// @return phase Thriving 0, Stable 1, Conservation 2, Declining 3, Terminal 4.
    /// @return score Survival score, 0 to 10000.
    /// @return updatedAt When the Golem, or its owner, last wrote anything about its state.
    function vitalityOf(bytes32 golemId)
        external
        view
        returns (uint8 phase, uint16 score, uint40 updatedAt);
}
