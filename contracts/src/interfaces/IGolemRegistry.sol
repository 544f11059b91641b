// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {GolemWord} from "../registry/GolemWord.sol";
import {IDaimonOracle} from "./IDaimonOracle.sol";
import {Delegation} from "./IDelegationManager.sol";
import {IDreamOracle} from "./IDreamOracle.sol";
import {IVitalityOracle} from "./IVitalityOracle.sol";

/// @notice Whose a Golem is, which key speaks for it, which of its grants still count, and how it
///         is.
interface IGolemRegistry is IVitalityOracle, IDreamOracle, IDaimonOracle {
    /// @notice No such Golem, or its owner took it off the register.
    error GolemRegistry_NotRegistered(bytes32 golemId);
    /// @notice Once only.
    error GolemRegistry_AlreadyRegistered(bytes32 golemId);
    /// @notice It died. Nothing about it changes any more but its revocation.
    error GolemRegistry_Closed(bytes32 golemId);
    /// @notice The caller does not own this Golem.
    error GolemRegistry_NotOwner(bytes32 golemId, address caller);
    /// @notice The caller is not the key that is attached to this Golem.
    error GolemRegistry_NotAgent(bytes32 golemId, address caller);
    /// @notice Nobody, or anybody, cannot be an agent.
    error GolemRegistry_NotAKey(address agentKey);
    /// @notice Nothing is attached.
    error GolemRegistry_NoAgent(bytes32 golemId);
    /// @notice Phases advance; `phase` lies behind `current`.
    error GolemRegistry_PhaseBackward(bytes32 golemId, uint8 current, uint8 phase);
    /// @notice Feeding leads from before Terminal back to an earlier phase, Stable or Thriving.
    error GolemRegistry_CannotFeed(bytes32 golemId, uint8 current, uint8 phase);
    /// @notice The grant has `count` caveats.
    error GolemRegistry_NoSuchCaveat(uint256 index, uint256 count);
    /// @notice The terms are too short to name a Golem, its owner, epoch and generation.
    error GolemRegistry_TermsTooShort(uint256 least, uint256 actual);
    /// @notice The grant names `owner`, but `signer` signed it.
    error GolemRegistry_NotSignedByOwner(address owner, address signer);
    /// @notice The grant is for the Golem `named`; signer and salt give `derived`.
    error GolemRegistry_OtherGolem(bytes32 named, bytes32 derived);
    /// @notice The grant was switched off at the DelegationManager.
    error GolemRegistry_GrantDisabled(bytes32 delegationHash);
    /// @notice The grant's epoch was revoked, or its series has not begun.
    error GolemRegistry_EpochNotGood(bytes32 golemId, uint16 epoch, uint16 minEpoch);
    /// @notice The owner has revoked everything since, or not as often as the grant says.
    error GolemRegistry_OtherGeneration(address owner, uint32 generation, uint32 current);
    /// @notice A key has been attached by a grant of this epoch, or of a later one.
    error GolemRegistry_EpochNotHigher(bytes32 golemId, uint16 epoch, uint16 attachedEpoch);
    /// @notice The owner detached this key: grants before `returnEpoch` do not bring it back.
    error GolemRegistry_AgentWasDetached(bytes32 golemId, address agentKey, uint256 returnEpoch);

    /// @notice A Golem is on the register.
    event GolemRegistered(bytes32 indexed golemId, address indexed owner, bytes32 salt);
    /// @notice A key speaks for the Golem from now on, and no other. `delegationHash` is the grant
    ///         that says so, or zero where the owner called.
    event AgentAttached(
        bytes32 indexed golemId, address indexed agentKey, uint16 epoch, bytes32 delegationHash
    );
    /// @notice A key does not speak for the Golem any more.
    event AgentDetached(bytes32 indexed golemId, address indexed agentKey);
    /// @notice The Golem lives; `auditHead` is the newest entry of its audit log.
    event HeartbeatRecorded(bytes32 indexed golemId, bytes32 indexed auditHead);
    /// @notice Grants of an epoch below `minEpoch` are dead.
    event GolemRevoked(bytes32 indexed golemId, address indexed owner, uint16 minEpoch);
    /// @notice Grants of an earlier generation are dead, for every Golem of the owner.
    event AllRevoked(address indexed owner, uint32 generation);
    /// @notice The Golem died.
    event GolemClosed(bytes32 indexed golemId, address indexed writer);
    /// @notice The owner took the Golem off the register, for ever.
    event GolemDeregistered(bytes32 indexed golemId, address indexed owner);

    /// @notice Registers the caller's Golem. `agentKey` zero: no key yet.
    function register(bytes32 salt, address agentKey) external returns (bytes32 golemId);

    /// @notice Registers a Golem, or attaches its next key, by a grant that its owner signed.
    ///         Whoever sends it changes nothing.
    /// @param grant Delegation signed by the owner's EOA; its delegate is the agent key.
    /// @param caveatIndex Which caveat names the Golem: its terms begin with golemId (32 bytes),
    ///        owner (20), epoch (2) and generation (4).
    /// @param salt What the golemId was made from.
    function registerWithGrant(Delegation calldata grant, uint256 caveatIndex, bytes32 salt)
        external
        returns (bytes32 golemId);

    // The owner's calls

    /// @notice Lets another key speak for the Golem; the one before is detached.
    function attach(bytes32 golemId, address agentKey) external;

    /// @notice Lets no key speak for the Golem. Its grants are another matter: {revoke}.
    function detach(bytes32 golemId) external;

    /// @notice Moves the phase forward.
    function advance(bytes32 golemId, uint8 phase) external;

    /// @notice Moves the phase back to Stable or Thriving, after economic degradation. What
    ///         degraded the Golem is the owner's to judge. Never from Terminal.
    function feed(bytes32 golemId, uint8 phase) external;

    /// @notice Ends every grant of the Golem, whatever their number; works on a dead one too. A
    ///         later grant begins with the new minimum epoch.
    function revoke(bytes32 golemId) external;

    /// @notice Ends every grant of every Golem of the caller, registered or not.
    function revokeAll() external;

    /// @notice Takes the Golem off the register: it counts as dead and unknown, for ever.
    function deregister(bytes32 golemId) external;

    // The agent's calls

    /// @notice Reports phase and survival score; the phase never goes back.
    function updateVitality(bytes32 golemId, uint8 phase, uint16 score) external;

    /// @notice Falls asleep or wakes up.
    function setDreaming(bytes32 golemId, bool dreaming) external;

    /// @notice Reports how it feels.
    function updatePad(bytes32 golemId, int8 pleasure, int8 arousal, int8 dominance) external;

    /// @notice Lives, and anchors the head of its audit log.
    function heartbeat(bytes32 golemId, bytes32 auditHead) external;

    /// @notice Dies. The entry remains: Terminal and closed, for ever.
    function close(bytes32 golemId) external;

    // Views

    /// @notice Id of an owner's Golem: keccak256(abi.encode(owner, salt)).
    function golemIdOf(address owner, bytes32 salt) external pure returns (bytes32);

    /// @notice All that is known, packed; zero for a Golem never registered.
    function word(bytes32 golemId) external view returns (GolemWord);

    /// @notice What a rule needs, in one call. Whether `owner` owns `golemId` is not compared:
    ///         terms name both, and the owner signed them.
    function state(bytes32 golemId, address owner)
        external
        view
        returns (GolemWord golemWord, uint32 generation);

    /// @notice Owner of the Golem; zero where it was never registered.
    function ownerOf(bytes32 golemId) external view returns (address);

    /// @notice The key that speaks for the Golem, or zero; and the highest epoch of a grant that
    ///         attached one: only a higher one attaches the next.
    function agentOf(bytes32 golemId) external view returns (address agentKey, uint16 epoch);

    /// @notice How often the owner has revoked everything. A grant is good for the generation it
    ///         names.
    function generationOf(address owner) external view returns (uint32);

    /// @notice Lowest epoch of a grant that can bring back a key which the owner detached; zero
    ///         where he did not.
    function returnEpochOf(bytes32 golemId, address agentKey) external view returns (uint32);
}
