// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {GolemWord, GolemWords} from "../registry/GolemWord.sol";

/// @notice Who acts must be alive and awake, and his grant must be one that its owner still stands by.
/// @dev Judged by the registry's word, which the rules read once.
library GolemLife {
    /// @notice The Golem was never registered, was taken off the register, or died.
    error GolemLife_NotAlive(bytes32 golemId);
    /// @notice The Golem dreams.
    error GolemLife_Dreaming(bytes32 golemId);
    /// @notice The owner revoked the Golem's grants, or the epoch is of a series not begun.
    error GolemLife_EpochRevoked(bytes32 golemId, uint256 epoch, uint256 minEpoch);
    /// @notice The owner revoked all of his grants since, or not as often as this one says.
    error GolemLife_OtherGeneration(address owner, uint256 generation, uint256 current);

    function requireAlive(GolemWord word, bytes32 golemId) internal pure {
        if (!word.isRegistered() || word.isClosed()) revert GolemLife_NotAlive(golemId);
    }

    /// @dev Who dies does not dream: nothing may keep what is left from going home (SPEC D18).
    function requireAwake(GolemWord word, bytes32 golemId) internal pure {
        if (word.isDreaming() && word.phase() != GolemWords.TERMINAL) {
            revert GolemLife_Dreaming(golemId);
        }
    }

    function requireEpoch(GolemWord word, bytes32 golemId, uint16 epoch) internal pure {
        if (!word.admitsEpoch(epoch)) {
            revert GolemLife_EpochRevoked(golemId, epoch, word.minEpoch());
        }
    }

    function requireGeneration(address owner, uint32 generation, uint32 current) internal pure {
        if (generation != current) revert GolemLife_OtherGeneration(owner, generation, current);
    }
}
