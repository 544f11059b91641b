// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IDaimonOracle} from "../interfaces/IDaimonOracle.sol";
import {
    ANY_DELEGATE,
    Caveat,
    Delegation,
    IDelegationManager
} from "../interfaces/IDelegationManager.sol";
import {IDreamOracle} from "../interfaces/IDreamOracle.sol";
import {IGolemRegistry} from "../interfaces/IGolemRegistry.sol";
import {IVitalityOracle} from "../interfaces/IVitalityOracle.sol";
import {GolemState, GolemWord, GolemWords} from "./GolemWord.sol";
import {GrantSignature} from "./GrantSignature.sol";

/// @notice The one place on chain that knows a Golem. There is no platform owner, no upgrade, no
///         pause.
/// @dev Three slots per Golem and one per owner:
///      - its word ({GolemWord}), the only one a rule reads besides the owner's generation;
///      - its binding: owner, and the highest epoch of a grant that attached a key;
///      - its agent key, the one that may write;
///      - the owner's generation, which grants name.
///      A key that the owner detached leaves one more: the epoch from which on a grant may bring it
///      back.
///
///      Two epochs, two meanings. The *minimum* epoch is in the word: grants below it cannot be
///      redeemed. The *attached* epoch is in the binding: grants up to it attach no key. A grant
///      names an epoch from the minimum on, within a series of 1024; `revoke` begins the next
///      series, so it ends also the grants that the registry never saw. When all series are used
///      up, revoking ends grants for good.
///
///      A grant handed in again, by anybody, at any time, changes nothing: its epoch is not higher
///      than the one it attached. A grant that was never handed in cannot bring back a key which
///      the owner detached by a call, unless its epoch is of a series that began after that.
///
///      Not promised: that a grant is in its time when it attaches a key; that is for the rules
///      around money, and an attached key can write here and nothing else. Nor that the word is
///      true: an agent key may be stolen, and its thief can push the phase forward or close the
///      Golem. Whoever can make the owner's account call, by a delegation from it, is the owner
///      here.
contract GolemRegistry is IGolemRegistry {
    /// @dev One slot.
    struct Binding {
        address owner;
        uint16 attachedEpoch;
    }

    /// @dev golemId 32 ‖ owner 20 ‖ epoch 2 ‖ generation 4; what follows is the charter's.
    uint256 private constant TERMS_PREFIX = 58;

    mapping(bytes32 golemId => GolemWord) private _words;
    mapping(bytes32 golemId => Binding) private _bindings;
    mapping(bytes32 golemId => address agentKey) private _agentKeys;
    mapping(bytes32 golemId => mapping(address agentKey => uint32 epoch)) private _returnEpochs;
    mapping(address owner => uint32 generation) private _generations;

    /// @inheritdoc IGolemRegistry
    function register(bytes32 salt, address agentKey) external returns (bytes32 golemId) {
        golemId = golemIdOf(msg.sender, salt);
        if (_bindings[golemId].owner != address(0)) {
            revert GolemRegistry_AlreadyRegistered(golemId);
        }
        if (agentKey != address(0)) _checkKey(agentKey);

        _register(golemId, msg.sender, salt);
        if (agentKey != address(0)) _attach(golemId, agentKey, 0, bytes32(0));
    }

    /// @inheritdoc IGolemRegistry
    /// @dev Neither the grant's delegator nor its authority matters: what counts is that the
    ///      owner's key signed the caveat and the agent key.
    function registerWithGrant(Delegation calldata grant, uint256 caveatIndex, bytes32 salt)
        external
        returns (bytes32 golemId)
    {
        bytes32 delegationHash = GrantSignature.structHash(grant);
        address owner =
            GrantSignature.signerOf(GrantSignature.digestOf(delegationHash), grant.signature);
        uint16 epoch;
        uint32 generation;
        (golemId, epoch, generation) = _readTerms(grant, caveatIndex, owner, salt);
        _checkKey(grant.delegate);
        if (generation != _generations[owner]) {
            revert GolemRegistry_OtherGeneration(owner, generation, _generations[owner]);
        }
        if (IDelegationManager(GrantSignature.MANAGER).disabledDelegations(delegationHash)) {
            revert GolemRegistry_GrantDisabled(delegationHash);
        }
        bool known = _bindings[golemId].owner != address(0);
        if (known) _checkSuccession(golemId, grant.delegate, epoch);
        _checkEpoch(golemId, epoch);

        if (!known) _register(golemId, owner, salt);
        _attach(golemId, grant.delegate, epoch, delegationHash);
    }

    /// @inheritdoc IGolemRegistry
    function attach(bytes32 golemId, address agentKey) external {
        GolemState memory golem = _openAsOwner(golemId);
        _checkKey(agentKey);

        address before = _agentKeys[golemId];
        if (before != address(0) && before != agentKey) _bar(golemId, before, golem.minEpoch);
        delete _returnEpochs[golemId][agentKey];
        _attach(golemId, agentKey, _bindings[golemId].attachedEpoch, bytes32(0));
    }

    /// @inheritdoc IGolemRegistry
    function detach(bytes32 golemId) external {
        GolemState memory golem = _openAsOwner(golemId);
        address agentKey = _agentKeys[golemId];
        if (agentKey == address(0)) revert GolemRegistry_NoAgent(golemId);

        _bar(golemId, agentKey, golem.minEpoch);
        delete _agentKeys[golemId];
        emit AgentDetached(golemId, agentKey);
    }

    /// @inheritdoc IGolemRegistry
    function advance(bytes32 golemId, uint8 phase) external {
        GolemState memory golem = _openAsOwner(golemId);
        _moveForward(golemId, golem, phase);
    }

    /// @inheritdoc IGolemRegistry
    function feed(bytes32 golemId, uint8 phase) external {
        GolemState memory golem = _openAsOwner(golemId);
        uint8 current = golem.phase;
        if (current == GolemWords.TERMINAL || phase >= current || phase > GolemWords.STABLE) {
            revert GolemRegistry_CannotFeed(golemId, current, phase);
        }

        golem.phase = phase;
        _store(golemId, golem);
        emit PhaseChanged(golemId, current, phase, msg.sender);
    }

    /// @inheritdoc IGolemRegistry
    /// @dev The agent key stays attached: a Golem without grants must still be able to anchor its
    ///      log and to report its death. Where the key itself is in wrong hands, `detach` it too.
    function revoke(bytes32 golemId) external {
        GolemState memory golem = _asOwner(golemId);

        golem.minEpoch = GolemWords.nextSeries(golem.minEpoch);
        _words[golemId] = GolemWords.pack(golem);
        emit GolemRevoked(golemId, msg.sender, golem.minEpoch);
    }

    /// @inheritdoc IGolemRegistry
    function revokeAll() external {
        uint32 generation = _generations[msg.sender] + 1;

        _generations[msg.sender] = generation;
        emit AllRevoked(msg.sender, generation);
    }

    /// @inheritdoc IGolemRegistry
    /// @dev Word and binding remain, so that neither a call nor an old grant can register it again.
    function deregister(bytes32 golemId) external {
        GolemState memory golem = _asOwner(golemId);
        address agentKey = _agentKeys[golemId];

        golem.registered = false;
        delete _agentKeys[golemId];
        _die(golemId, golem);
        if (agentKey != address(0)) emit AgentDetached(golemId, agentKey);
        emit GolemDeregistered(golemId, msg.sender);
    }

    /// @inheritdoc IGolemRegistry
    function updateVitality(bytes32 golemId, uint8 phase, uint16 score) external {
        GolemState memory golem = _openAsAgent(golemId);

        golem.score = score;
        _moveForward(golemId, golem, phase);
    }

    /// @inheritdoc IGolemRegistry
    function setDreaming(bytes32 golemId, bool dreaming) external {
        GolemState memory golem = _openAsAgent(golemId);

        golem.dreaming = dreaming;
        _store(golemId, golem);
        emit DreamingSet(golemId, dreaming);
    }

    /// @inheritdoc IGolemRegistry
    function updatePad(bytes32 golemId, int8 pleasure, int8 arousal, int8 dominance) external {
        GolemState memory golem = _openAsAgent(golemId);

        (golem.pleasure, golem.arousal, golem.dominance) = (pleasure, arousal, dominance);
        _store(golemId, golem);
        emit PadUpdated(golemId, pleasure, arousal, dominance);
    }

    /// @inheritdoc IGolemRegistry
    function heartbeat(bytes32 golemId, bytes32 auditHead) external {
        GolemState memory golem = _openAsAgent(golemId);

        _store(golemId, golem);
        emit HeartbeatRecorded(golemId, auditHead);
    }

    /// @inheritdoc IGolemRegistry
    function close(bytes32 golemId) external {
        GolemState memory golem = _openAsAgent(golemId);

        _die(golemId, golem);
    }

    /// @inheritdoc IGolemRegistry
    function golemIdOf(address owner, bytes32 salt) public pure returns (bytes32) {
        return keccak256(abi.encode(owner, salt));
    }

    /// @inheritdoc IGolemRegistry
    function word(bytes32 golemId) external view returns (GolemWord) {
        return _words[golemId];
    }

    /// @inheritdoc IGolemRegistry
    function state(bytes32 golemId, address owner)
        external
        view
        returns (GolemWord golemWord, uint32 generation)
    {
        return (_words[golemId], _generations[owner]);
    }

    /// @inheritdoc IGolemRegistry
    function ownerOf(bytes32 golemId) external view returns (address) {
        return _bindings[golemId].owner;
    }

    /// @inheritdoc IGolemRegistry
    function agentOf(bytes32 golemId) external view returns (address agentKey, uint16 epoch) {
        return (_agentKeys[golemId], _bindings[golemId].attachedEpoch);
    }

    /// @inheritdoc IGolemRegistry
    function generationOf(address owner) external view returns (uint32) {
        return _generations[owner];
    }

    /// @inheritdoc IGolemRegistry
    function returnEpochOf(bytes32 golemId, address agentKey) external view returns (uint32) {
        return _returnEpochs[golemId][agentKey];
    }

    /// @inheritdoc IVitalityOracle
    function vitalityOf(bytes32 golemId)
        external
        view
        returns (uint8 phase, uint16 score, uint40 updatedAt)
    {
        GolemWord known = _registered(golemId);
        return (known.phase(), known.score(), known.updatedAt());
    }

    /// @inheritdoc IDreamOracle
    function isDreaming(bytes32 golemId) external view returns (bool) {
        return _registered(golemId).isDreaming();
    }

    /// @inheritdoc IDaimonOracle
    function padOf(bytes32 golemId)
        external
        view
        returns (int8 pleasure, int8 arousal, int8 dominance)
    {
        GolemWord known = _registered(golemId);
        return (known.pleasure(), known.arousal(), known.dominance());
    }

    /// @dev A newborn thrives, with the whole score, awake and in no mood.
    function _register(bytes32 golemId, address owner, bytes32 salt) private {
        GolemState memory golem;
        golem.registered = true;
        golem.phase = GolemWords.THRIVING;
        golem.score = GolemWords.MAX_SCORE;
        _bindings[golemId].owner = owner;
        _store(golemId, golem);
        emit GolemRegistered(golemId, owner, salt);
        emit VitalityUpdated(golemId, golem.phase, golem.score);
    }

    /// @dev The key before, if there is another, is out from here on.
    function _attach(bytes32 golemId, address agentKey, uint16 epoch, bytes32 delegationHash)
        private
    {
        address before = _agentKeys[golemId];
        _agentKeys[golemId] = agentKey;
        _bindings[golemId].attachedEpoch = epoch;
        if (before != address(0) && before != agentKey) emit AgentDetached(golemId, before);
        emit AgentAttached(golemId, agentKey, epoch, delegationHash);
    }

    /// @dev The registry cannot know which grants name the key. But those that are good today end
    ///      with this series.
    function _bar(bytes32 golemId, address agentKey, uint16 minEpoch) private {
        _returnEpochs[golemId][agentKey] = uint32(minEpoch) + GolemWords.EPOCH_SERIES;
    }

    /// @dev Shared by the owner's push and the agent's report.
    function _moveForward(bytes32 golemId, GolemState memory golem, uint8 phase) private {
        GolemWords.checkPhase(phase);
        uint8 current = golem.phase;
        if (phase < current) revert GolemRegistry_PhaseBackward(golemId, current, phase);

        golem.phase = phase;
        _store(golemId, golem);
        if (phase != current) emit PhaseChanged(golemId, current, phase, msg.sender);
        emit VitalityUpdated(golemId, phase, golem.score);
    }

    /// @dev Awake, so that a rule against acting in dreams cannot keep it from being settled.
    function _die(bytes32 golemId, GolemState memory golem) private {
        uint8 current = golem.phase;
        bool wasClosed = golem.closed;
        golem.closed = true;
        golem.dreaming = false;
        golem.phase = GolemWords.TERMINAL;
        golem.score = 0;
        _store(golemId, golem);
        if (current != GolemWords.TERMINAL) {
            emit PhaseChanged(golemId, current, GolemWords.TERMINAL, msg.sender);
        }
        if (!wasClosed) emit GolemClosed(golemId, msg.sender);
    }

    /// @dev What anybody writes about a Golem's state is news.
    function _store(bytes32 golemId, GolemState memory golem) private {
        // 40 bits of seconds last 34,000 years.
        // forge-lint: disable-next-line(unsafe-typecast)
        golem.updatedAt = uint40(block.timestamp);
        _words[golemId] = GolemWords.pack(golem);
    }

    function _registered(bytes32 golemId) private view returns (GolemWord known) {
        known = _words[golemId];
        if (!known.isRegistered()) revert GolemRegistry_NotRegistered(golemId);
    }

    function _asOwner(bytes32 golemId) private view returns (GolemState memory golem) {
        golem = _registered(golemId).unpack();
        if (msg.sender != _bindings[golemId].owner) {
            revert GolemRegistry_NotOwner(golemId, msg.sender);
        }
    }

    function _openAsOwner(bytes32 golemId) private view returns (GolemState memory golem) {
        golem = _asOwner(golemId);
        if (golem.closed) revert GolemRegistry_Closed(golemId);
    }

    /// @dev Where no key is attached, address zero is none: a simulated call may come from there.
    function _openAsAgent(bytes32 golemId) private view returns (GolemState memory golem) {
        golem = _registered(golemId).unpack();
        if (msg.sender != _agentKeys[golemId] || msg.sender == address(0)) {
            revert GolemRegistry_NotAgent(golemId, msg.sender);
        }
        if (golem.closed) revert GolemRegistry_Closed(golemId);
    }

    /// @dev For a Golem that is or was on the register.
    function _checkSuccession(bytes32 golemId, address agentKey, uint16 epoch) private view {
        GolemWord known = _registered(golemId);
        if (known.isClosed()) revert GolemRegistry_Closed(golemId);
        uint16 attachedEpoch = _bindings[golemId].attachedEpoch;
        if (epoch <= attachedEpoch) {
            revert GolemRegistry_EpochNotHigher(golemId, epoch, attachedEpoch);
        }
        uint32 returnEpoch = _returnEpochs[golemId][agentKey];
        if (epoch < returnEpoch) {
            revert GolemRegistry_AgentWasDetached(golemId, agentKey, returnEpoch);
        }
    }

    /// @dev A Golem not yet known has the word zero, and so the first series.
    function _checkEpoch(bytes32 golemId, uint16 epoch) private view {
        GolemWord known = _words[golemId];
        if (!known.admitsEpoch(epoch)) {
            revert GolemRegistry_EpochNotGood(golemId, epoch, known.minEpoch());
        }
    }

    function _readTerms(
        Delegation calldata grant,
        uint256 caveatIndex,
        address signer,
        bytes32 salt
    ) private pure returns (bytes32 golemId, uint16 epoch, uint32 generation) {
        Caveat[] calldata caveats = grant.caveats;
        if (caveatIndex >= caveats.length) {
            revert GolemRegistry_NoSuchCaveat(caveatIndex, caveats.length);
        }
        bytes calldata terms = caveats[caveatIndex].terms;
        if (terms.length < TERMS_PREFIX) {
            revert GolemRegistry_TermsTooShort(TERMS_PREFIX, terms.length);
        }
        golemId = bytes32(terms[0:32]);
        address owner = address(bytes20(terms[32:52]));
        epoch = uint16(bytes2(terms[52:54]));
        generation = uint32(bytes4(terms[54:58]));
        if (owner != signer) revert GolemRegistry_NotSignedByOwner(owner, signer);
        bytes32 derived = golemIdOf(signer, salt);
        if (golemId != derived) revert GolemRegistry_OtherGolem(golemId, derived);
    }

    /// @dev Nobody holds the key of the address that stands for anybody.
    function _checkKey(address agentKey) private pure {
        if (agentKey == address(0) || agentKey == ANY_DELEGATE) {
            revert GolemRegistry_NotAKey(agentKey);
        }
    }
}
