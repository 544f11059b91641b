// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {GolemState, GolemWord} from "../../src/registry/GolemWord.sol";
import {RegistryTest} from "./RegistryTest.sol";

/// @notice Everybody calls everything, in any order, at any time. What happened is judged after
///         every call, by rules that look at who called and never at what the contract said.
contract RegistryWalk is RegistryTest {
    /// @dev The calls, in the order of the contract.
    enum Call {
        Register,
        RegisterWithGrant,
        Attach,
        Detach,
        Advance,
        Feed,
        Revoke,
        RevokeAll,
        Deregister,
        UpdateVitality,
        SetDreaming,
        UpdatePad,
        Heartbeat,
        Close
    }

    /// @dev All that the registry keeps about one Golem.
    struct Entry {
        GolemState state;
        address owner;
        address agentKey;
        uint16 attachedEpoch;
        uint32 generation;
    }

    /// @dev One call of one caller. `epoch` and `generation` are a grant's.
    struct Step {
        Call kind;
        address caller;
        uint256 target;
        address key;
        uint16 epoch;
        uint32 generation;
        bool ok;
    }

    uint256 private _clock;
    Actor[2] private _owners;
    address[3] private _keys;
    address[6] private _callers;
    bytes32[2] private _golems;

    /// @dev Lowest epoch by which a grant may bring a key back, kept apart from the contract's.
    mapping(uint256 index => mapping(address key => uint256 epoch)) private _cutUntil;
    /// @dev Whether a key's last word on being attached was the owner's "no".
    mapping(uint256 index => mapping(address key => bool)) private _cut;

    mapping(Call kind => uint256 count) public accepts;
    mapping(Call kind => uint256 count) public refusals;
    uint256 public comebacks;

    constructor() {
        setUp();
        _clock = BIRTH;
        _owners[0] = owner;
        _owners[1] = otherOwner;
        _keys = [agent.account, successor.account, otherAgent.account];
        _callers = [
            owner.account,
            otherOwner.account,
            agent.account,
            successor.account,
            otherAgent.account,
            stranger.account
        ];
        _golems = [golem, otherGolem];
    }

    function walk(uint256 seed) external {
        _clock += uint256(keccak256(abi.encode(seed, "time"))) % 2 days;
        vm.warp(_clock);
        Step memory step = _choose(seed);
        Entry[2] memory before = [_entry(0), _entry(1)];

        bytes memory call = _encode(step, seed, before[step.target].state);
        vm.prank(step.caller);
        (step.ok,) = address(registry).call(call);

        if (step.ok) accepts[step.kind]++;
        else refusals[step.kind]++;
        for (uint256 i = 0; i < 2; i++) {
            _judge(step, i, before[i], _entry(i));
        }
    }

    function entryOf(uint256 index) external view returns (Entry memory) {
        return _entry(index);
    }

    // What may change, and by whom

    function _judge(Step memory step, uint256 index, Entry memory before, Entry memory then_)
        private
    {
        bool byOwner = step.ok && step.target == index && step.caller == _owners[index].account;
        bool byAgent = step.ok && step.target == index && step.kind >= Call.UpdateVitality;
        bool byGrant = step.ok && step.target == index && step.kind == Call.RegisterWithGrant;
        if (step.kind == Call.RevokeAll || !step.ok) (byAgent, byGrant) = (false, false);

        _judgeAgent(step, index, before, byAgent);
        _judgeState(step, before.state, then_.state, byOwner, byAgent);
        _judgeRevocation(step, index, before, then_, byOwner);
        _judgeKey(step, index, before, then_, byOwner, byGrant);
        _judgeExistence(step, before, then_, byOwner, byGrant);
    }

    /// @dev An agent's call that went through was the attached key's, and not a cut off one's.
    function _judgeAgent(Step memory step, uint256 index, Entry memory before, bool byAgent)
        private
        view
    {
        if (!byAgent) return;
        vm.assertEq(step.caller, before.agentKey, "an agent's call by another");
        vm.assertFalse(_cut[index][step.caller], "a detached key wrote");
        vm.assertTrue(before.state.registered && !before.state.closed, "a dead Golem wrote");
    }

    function _judgeState(
        Step memory step,
        GolemState memory before,
        GolemState memory then_,
        bool byOwner,
        bool byAgent
    ) private view {
        bool fed = byOwner && step.kind == Call.Feed;
        vm.assertTrue(then_.phase >= before.phase || fed, "phase moved back");
        if (fed) vm.assertTrue(then_.phase < before.phase && then_.phase <= 1, "fed to what");
        if (before.phase == 4) vm.assertEq(uint256(then_.phase), 4, "Terminal was reset");
        if (before.closed) vm.assertTrue(then_.closed, "closed was opened");
        if (before.closed) {
            vm.assertTrue(
                then_.score == before.score && then_.pleasure == before.pleasure
                    && then_.dreaming == before.dreaming,
                "the dead changed"
            );
        }
        vm.assertTrue(then_.updatedAt >= before.updatedAt, "last update moved back");
        vm.assertTrue(then_.updatedAt <= _clock, "last update in the future");
        vm.assertTrue(then_.score <= 10_000 && then_.phase <= 4, "out of range");
        if (then_.phase != before.phase || then_.score != before.score) {
            vm.assertTrue(byAgent || byOwner || !before.registered, "vitality by a stranger");
        }
        if (then_.dreaming != before.dreaming || then_.pleasure != before.pleasure) {
            vm.assertTrue(byAgent || byOwner, "dreams or feelings by a stranger");
        }
        if (byAgent) vm.assertEq(uint256(then_.updatedAt), _clock, "no sign of life");
    }

    function _judgeRevocation(
        Step memory step,
        uint256 index,
        Entry memory before,
        Entry memory then_,
        bool byOwner
    ) private view {
        uint16 minEpoch = before.state.minEpoch;
        vm.assertTrue(then_.state.minEpoch >= minEpoch, "minimum epoch fell");
        if (byOwner && step.kind == Call.Revoke) {
            vm.assertTrue(
                then_.state.minEpoch >= uint256(minEpoch) + 1024 || then_.state.minEpoch == 65_535,
                "a series survived"
            );
        } else {
            vm.assertEq(uint256(then_.state.minEpoch), minEpoch, "minimum epoch moved");
        }
        bool all = step.ok && step.kind == Call.RevokeAll && step.caller == _owners[index].account;
        vm.assertEq(uint256(then_.generation), before.generation + (all ? 1 : 0), "generation");
    }

    function _judgeKey(
        Step memory step,
        uint256 index,
        Entry memory before,
        Entry memory then_,
        bool byOwner,
        bool byGrant
    ) private {
        vm.assertTrue(then_.attachedEpoch >= before.attachedEpoch, "attached epoch fell");
        if (byGrant) {
            vm.assertTrue(
                !before.state.registered || step.epoch > before.attachedEpoch, "epoch not higher"
            );
            vm.assertTrue(step.epoch >= before.state.minEpoch, "a revoked grant attached");
            vm.assertEq(uint256(step.generation), before.generation, "an old generation attached");
            vm.assertEq(then_.agentKey, step.key, "another key attached");
            if (_cut[index][step.key]) {
                vm.assertTrue(step.epoch >= _cutUntil[index][step.key], "an old grant came back");
                comebacks++;
            }
            _cut[index][step.key] = false;
            return;
        }
        if (then_.agentKey == before.agentKey && step.kind != Call.Attach) return;
        if (then_.agentKey != before.agentKey) {
            vm.assertTrue(byOwner, "keys changed by a stranger");
            if (before.agentKey != address(0)) {
                _cut[index][before.agentKey] = true;
                _cutUntil[index][before.agentKey] = uint256(before.state.minEpoch) + 1024;
            }
        }
        if (byOwner && step.kind == Call.Attach) _cut[index][then_.agentKey] = false;
    }

    function _judgeExistence(
        Step memory step,
        Entry memory before,
        Entry memory then_,
        bool byOwner,
        bool byGrant
    ) private pure {
        if (before.owner != address(0)) {
            vm.assertEq(then_.owner, before.owner, "owner changed");
            vm.assertTrue(!then_.state.registered || before.state.registered, "registered again");
        } else if (then_.owner != address(0)) {
            vm.assertTrue(byGrant || (byOwner && step.kind == Call.Register), "by whom");
        }
        if (before.state.registered && !then_.state.registered) {
            vm.assertTrue(byOwner && step.kind == Call.Deregister, "taken off by a stranger");
        }
    }

    // What is called

    /// @dev Each caller tries each call; what ends a Golem is rare, or nothing else would be seen.
    function _choose(uint256 seed) private view returns (Step memory step) {
        step.kind = Call(_dice(seed, "kind") % 14);
        bool fatal = step.kind == Call.Close || step.kind == Call.Deregister;
        if (fatal && _dice(seed, "mercy") % 8 != 0) step.kind = Call.RegisterWithGrant;
        step.target = _dice(seed, "target") % 2;
        step.caller = _callers[_dice(seed, "caller") % 6];
        step.key = _keys[_dice(seed, "key") % 3];
        // Half of the calls come from the one who may make them.
        if (_dice(seed, "fair") % 2 == 0) {
            address key = _entry(step.target).agentKey;
            if (step.kind < Call.UpdateVitality) step.caller = _owners[step.target].account;
            else if (key != address(0)) step.caller = key;
        }
        // Whoever registers by call names no Golem: it is his own.
        if (step.kind == Call.Register) {
            if (step.caller == _owners[0].account) step.target = 0;
            if (step.caller == _owners[1].account) step.target = 1;
        }
    }

    function _encode(Step memory step, uint256 seed, GolemState memory state)
        private
        view
        returns (bytes memory)
    {
        bytes32 id = _golems[step.target];
        // forge-lint: disable-next-line(unsafe-typecast)
        uint8 phase = uint8(_dice(seed, "phase") % 6);
        // forge-lint: disable-next-line(unsafe-typecast)
        int8 feeling = int8(int256(_dice(seed, "feeling") % 203) - 101);
        if (step.kind == Call.Register) {
            return abi.encodeCall(IGolemRegistry.register, (SALT, step.key));
        }
        if (step.kind == Call.RegisterWithGrant) return _encodeGrant(step, seed, state);
        if (step.kind == Call.Attach) {
            return abi.encodeCall(IGolemRegistry.attach, (id, step.key));
        }
        if (step.kind == Call.Detach) return abi.encodeCall(IGolemRegistry.detach, id);
        if (step.kind == Call.Advance) return abi.encodeCall(IGolemRegistry.advance, (id, phase));
        if (step.kind == Call.Feed) return abi.encodeCall(IGolemRegistry.feed, (id, phase));
        if (step.kind == Call.Revoke) return abi.encodeCall(IGolemRegistry.revoke, id);
        if (step.kind == Call.RevokeAll) return abi.encodeCall(IGolemRegistry.revokeAll, ());
        if (step.kind == Call.Deregister) return abi.encodeCall(IGolemRegistry.deregister, id);
        if (step.kind == Call.UpdateVitality) {
            // forge-lint: disable-next-line(unsafe-typecast)
            uint16 score = uint16(_dice(seed, "score") % 10_500);
            return abi.encodeCall(IGolemRegistry.updateVitality, (id, phase, score));
        }
        if (step.kind == Call.SetDreaming) {
            return abi.encodeCall(IGolemRegistry.setDreaming, (id, phase % 2 == 0));
        }
        if (step.kind == Call.UpdatePad) {
            return abi.encodeCall(IGolemRegistry.updatePad, (id, feeling, -feeling, 0));
        }
        if (step.kind == Call.Heartbeat) {
            return abi.encodeCall(IGolemRegistry.heartbeat, (id, bytes32(seed)));
        }
        return abi.encodeCall(IGolemRegistry.close, id);
    }

    /// @dev Epochs around what is good: below the minimum, a little above what is attached, beyond
    ///      the series. Mostly of the right generation and signed by the owner.
    function _encodeGrant(Step memory step, uint256 seed, GolemState memory state)
        private
        view
        returns (bytes memory)
    {
        uint256 epoch = _entry(step.target).attachedEpoch;
        if (epoch < state.minEpoch || _dice(seed, "from") % 2 == 0) epoch = state.minEpoch;
        epoch += _dice(seed, "above") % 4;
        if (_dice(seed, "far") % 6 == 0) epoch += 1024;
        if (_dice(seed, "near") % 6 == 0) epoch = epoch > 900 ? epoch - 900 : 0;
        // forge-lint: disable-next-line(unsafe-typecast)
        step.epoch = uint16(epoch > 65_535 ? 65_535 : epoch);
        Actor memory signer = _owners[step.target];
        step.generation = registry.generationOf(signer.account);
        if (_dice(seed, "stale") % 6 == 0 && step.generation > 0) step.generation--;
        if (_dice(seed, "forged") % 8 == 0) signer = stranger;
        bytes memory ours = terms(_owners[step.target].account, step.epoch, step.generation);
        return handIn(grantFrom(signer, step.key, ours));
    }

    function _entry(uint256 index) private view returns (Entry memory made) {
        bytes32 id = _golems[index];
        GolemWord word;
        (word, made.generation) = registry.state(id, _owners[index].account);
        vm.assertTrue(GolemWord.unwrap(word) < 2 ** 100, "the rest is zero");
        made.state = word.unpack();
        made.owner = registry.ownerOf(id);
        (made.agentKey, made.attachedEpoch) = registry.agentOf(id);
    }

    function _dice(uint256 seed, string memory what) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(seed, what)));
    }
}

contract GolemRegistryInvariantTest is RegistryTest {
    RegistryWalk private _walk;

    function setUp() public override {
        _walk = new RegistryWalk();
    }

    /// @dev forge asks for it: only the walk is called, and it judges every step by itself.
    function targetContracts() public view returns (address[] memory targets) {
        targets = new address[](1);
        targets[0] = address(_walk);
    }

    /// @dev Likewise: the walk's cheatcodes and helpers are no calls to make.
    function targetSelectors() public view returns (Selectors[] memory targets) {
        targets = new Selectors[](1);
        targets[0].addr = address(_walk);
        targets[0].selectors = new bytes4[](1);
        targets[0].selectors[0] = RegistryWalk.walk.selector;
    }

    struct Selectors {
        address addr;
        bytes4[] selectors;
    }

    function invariant_every_entry_is_one_a_golem_can_have() public view {
        for (uint256 i = 0; i < 2; i++) {
            RegistryWalk.Entry memory entry = _walk.entryOf(i);
            GolemState memory state = entry.state;

            if (state.registered) vm.assertTrue(entry.owner != address(0), "registered to nobody");
            if (state.closed) {
                vm.assertTrue(state.phase == 4 && state.score == 0, "dead and not Terminal");
                vm.assertFalse(state.dreaming, "dead and dreaming");
            }
            if (!state.registered && entry.owner != address(0)) {
                vm.assertTrue(state.closed, "taken off and not dead");
                vm.assertEq(entry.agentKey, address(0), "taken off with a key");
            }
            if (entry.owner == address(0)) {
                vm.assertEq(entry.agentKey, address(0), "a key of no Golem");
            }
        }
    }

    /// @dev A walk that never gets anywhere would prove nothing.
    function test_walks_make_every_call_with_and_without_success() public {
        uint256 comebacks = 0;
        uint256[14] memory accepts;
        uint256[14] memory refusals;
        for (uint256 run = 0; run < 24; run++) {
            RegistryWalk walk = new RegistryWalk();
            for (uint256 i = 0; i < 96; i++) {
                walk.walk(uint256(keccak256(abi.encode(run, i))));
            }
            for (uint256 kind = 0; kind < 14; kind++) {
                accepts[kind] += walk.accepts(RegistryWalk.Call(kind));
                refusals[kind] += walk.refusals(RegistryWalk.Call(kind));
            }
            comebacks += walk.comebacks();
        }

        for (uint256 kind = 0; kind < 14; kind++) {
            vm.assertTrue(accepts[kind] > 0, "never accepted");
            vm.assertTrue(
                refusals[kind] > 0 || kind == uint256(RegistryWalk.Call.RevokeAll), "never refused"
            );
        }
        vm.assertTrue(comebacks > 0, "no detached key came back by a later series");
    }
}
