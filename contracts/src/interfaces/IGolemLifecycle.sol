// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice Birth of children and the last act of a Golem, as calls that the phase matrix can tell
///         apart (SPEC C15). The caller is the account the Golem acts from.
interface IGolemLifecycle {
    /// @notice Zero is no Golem.
    error GolemLifecycle_NoGolem(address account);
    /// @notice Zero is no child.
    error GolemLifecycle_NoReplicant(address account, bytes32 golemId);
    /// @notice A child acts under a delegation; zero is none.
    error GolemLifecycle_NoDelegation(address account, bytes32 golemId, address replicant);
    /// @notice A settlement says what is left; zero says nothing.
    error GolemLifecycle_NoManifest(address account, bytes32 golemId);
    /// @notice The Golem is done, and said so by `manifestHash`: no second settlement, no child after.
    error GolemLifecycle_Settled(address account, bytes32 golemId, bytes32 manifestHash);
    /// @notice The child exists; it acts under `delegationHash`.
    error GolemLifecycle_KnownReplicant(
        address account, bytes32 golemId, address replicant, bytes32 delegationHash
    );
    /// @notice The delegation is another child's, `replicant`.
    error GolemLifecycle_KnownDelegation(
        address account, bytes32 golemId, bytes32 delegationHash, address replicant
    );

    /// @notice A Golem of the account made a child that acts under `delegationHash`.
    event ReplicantSpawned(
        address indexed account,
        bytes32 indexed golemId,
        address indexed replicant,
        bytes32 delegationHash
    );
    /// @notice A Golem of the account is done; `manifestHash` is its BardoManifest's.
    event GolemSettled(
        address indexed account, bytes32 indexed golemId, bytes32 indexed manifestHash
    );

    /// @notice A Golem made a child that acts under `delegationHash`.
    function spawnReplicant(bytes32 golemId, address replicant, bytes32 delegationHash) external;

    /// @notice A Golem is done; `manifestHash` says what it left and where.
    function settle(bytes32 golemId, bytes32 manifestHash) external;
}
