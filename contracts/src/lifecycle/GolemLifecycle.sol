// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemLifecycle} from "../interfaces/IGolemLifecycle.sol";

/// @notice Keeps what Golems say of their children and of their end. There is no owner, no upgrade, no
///         pause.
/// @dev A Golem calls through a delegation, so the caller is its owner's account. All state is keyed by
///      that account first and by the Golem second: whoever writes here writes under his own address,
///      and can neither take a Golem's name nor settle somebody else's. Readers look under the account
///      that the charter names.
///
///      Not promised: that the account has such a Golem, that a child's delegation exists or is bounded,
///      or that a manifest is true. These are records, no limits: when they may be made is the
///      phase matrix's, and a thief of the agent's key who may settle can do so first, once, with a
///      manifest of his own.
contract GolemLifecycle is IGolemLifecycle {
    /// @dev What one Golem of one account has said.
    struct Life {
        bytes32 manifestHash;
        uint256 replicants;
        mapping(address replicant => bytes32 delegationHash) delegations;
        mapping(bytes32 delegationHash => address replicant) delegates;
    }

    mapping(address account => mapping(bytes32 golemId => Life)) private _lives;

    /// @inheritdoc IGolemLifecycle
    function spawnReplicant(bytes32 golemId, address replicant, bytes32 delegationHash) external {
        Life storage life = _open(golemId);
        if (replicant == address(0)) revert GolemLifecycle_NoReplicant(msg.sender, golemId);
        if (delegationHash == bytes32(0)) {
            revert GolemLifecycle_NoDelegation(msg.sender, golemId, replicant);
        }
        bytes32 known = life.delegations[replicant];
        if (known != bytes32(0)) {
            revert GolemLifecycle_KnownReplicant(msg.sender, golemId, replicant, known);
        }
        address delegate = life.delegates[delegationHash];
        if (delegate != address(0)) {
            revert GolemLifecycle_KnownDelegation(msg.sender, golemId, delegationHash, delegate);
        }

        life.replicants += 1;
        life.delegations[replicant] = delegationHash;
        life.delegates[delegationHash] = replicant;
        emit ReplicantSpawned(msg.sender, golemId, replicant, delegationHash);
    }

    /// @inheritdoc IGolemLifecycle
    function settle(bytes32 golemId, bytes32 manifestHash) external {
        Life storage life = _open(golemId);
        if (manifestHash == bytes32(0)) revert GolemLifecycle_NoManifest(msg.sender, golemId);

        life.manifestHash = manifestHash;
        emit GolemSettled(msg.sender, golemId, manifestHash);
    }

    /// @notice The manifest by which a Golem of the account settled; zero while it has not.
    function manifestOf(address account, bytes32 golemId) external view returns (bytes32) {
        return _lives[account][golemId].manifestHash;
    }

    /// @notice How many children it made.
    function replicantsOf(address account, bytes32 golemId) external view returns (uint256) {
        return _lives[account][golemId].replicants;
    }

    /// @notice What a child acts under; zero where it is none of this Golem's.
    function delegationOf(address account, bytes32 golemId, address replicant)
        external
        view
        returns (bytes32)
    {
        return _lives[account][golemId].delegations[replicant];
    }

    /// @notice The child that acts under a delegation; zero where this Golem has none.
    function replicantOf(address account, bytes32 golemId, bytes32 delegationHash)
        external
        view
        returns (address)
    {
        return _lives[account][golemId].delegates[delegationHash];
    }

    /// @dev Of the caller's own, one that has not settled (ATK-34).
    function _open(bytes32 golemId) private view returns (Life storage life) {
        if (golemId == bytes32(0)) revert GolemLifecycle_NoGolem(msg.sender);
        life = _lives[msg.sender][golemId];
        if (life.manifestHash != bytes32(0)) {
            revert GolemLifecycle_Settled(msg.sender, golemId, life.manifestHash);
        }
    }
}
