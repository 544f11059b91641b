// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IDaimonOracle} from "../../src/interfaces/IDaimonOracle.sol";
import {IDreamOracle} from "../../src/interfaces/IDreamOracle.sol";
import {IGolemRegistry} from "../../src/interfaces/IGolemRegistry.sol";
import {IVitalityOracle} from "../../src/interfaces/IVitalityOracle.sol";
import {GolemState, GolemWord, GolemWords} from "../../src/registry/GolemWord.sol";
import {RegistryTest} from "./RegistryTest.sol";

/// @notice Cheatcodes that only this file needs.
interface MoreVm {
    struct Gas {
        uint64 gasLimit;
        uint64 gasTotalUsed;
        uint64 gasMemoryUsed;
        int64 gasRefunded;
        uint64 gasRemaining;
    }

    struct Log {
        bytes32[] topics;
        bytes data;
        address emitter;
    }

    function lastCallGas() external view returns (Gas memory);
    function recordLogs() external;
    function getRecordedLogs() external returns (Log[] memory);
}

/// @notice What owners, agents and everybody else can do by calling.
contract GolemRegistryTest is RegistryTest {
    uint8 private constant THRIVING = 0;
    uint8 private constant STABLE = 1;
    uint8 private constant CONSERVATION = 2;
    uint8 private constant DECLINING = 3;
    uint8 private constant TERMINAL = 4;

    // Registration

    function test_an_owner_registers_his_golem_and_its_key() public {
        vm.expectEmit(address(registry));
        emit IGolemRegistry.GolemRegistered(golem, owner.account, SALT);
        vm.expectEmit(address(registry));
        emit IVitalityOracle.VitalityUpdated(golem, THRIVING, 10_000);
        vm.expectEmit(address(registry));
        emit IGolemRegistry.AgentAttached(golem, agent.account, 0, bytes32(0));
        vm.prank(owner.account);
        bytes32 made = registry.register(SALT, agent.account);

        GolemState memory state = registry.word(golem).unpack();
        vm.assertEq(made, golem, "id");
        vm.assertEq(registry.golemIdOf(owner.account, SALT), golem, "id by the view");
        vm.assertEq(registry.ownerOf(golem), owner.account, "owner");
        vm.assertEq(attached(), agent.account, "agent key");
        vm.assertTrue(state.registered && !state.dreaming && !state.closed, "flags");
        vm.assertEq(uint256(state.phase), THRIVING, "phase");
        vm.assertEq(uint256(state.score), 10_000, "score");
        vm.assertEq(uint256(state.updatedAt), BIRTH, "last update");
        vm.assertEq(uint256(state.minEpoch), 0, "minimum epoch");
    }

    function test_a_golem_can_be_registered_without_a_key() public {
        vm.prank(owner.account);
        registry.register(SALT, address(0));

        vm.assertEq(attached(), address(0), "agent key");
        refused(address(0), _heartbeat(golem), notAgent(golem, address(0)));
        refused(agent.account, _heartbeat(golem), notAgent(golem, agent.account));
    }

    /// @dev The id follows from the caller, so a front-runner registers another Golem: his own.
    function testFuzz_a_front_runner_cannot_take_an_id(address runner) public {
        vm.assume(runner != owner.account && runner != address(0) && runner != address(vm));

        vm.prank(runner);
        bytes32 his = registry.register(SALT, runner);
        vm.prank(owner.account);
        registry.register(SALT, agent.account);

        vm.assertTrue(his != golem, "ids differ");
        vm.assertEq(registry.ownerOf(his), runner, "owner of the runner's");
        vm.assertEq(registry.ownerOf(golem), owner.account, "owner of ours");
        vm.assertEq(attached(), agent.account, "agent key of ours");
    }

    function test_an_id_is_registered_once() public {
        registerBoth();

        refused(
            owner.account,
            abi.encodeCall(IGolemRegistry.register, (SALT, successor.account)),
            abi.encodeWithSelector(IGolemRegistry.GolemRegistry_AlreadyRegistered.selector, golem)
        );
    }

    function test_one_owner_has_as_many_golems_as_salts() public {
        registerBoth();
        vm.prank(owner.account);
        bytes32 second = registry.register("second", successor.account);

        vm.prank(agent.account);
        registry.updateVitality(golem, DECLINING, 1);

        vm.assertEq(phaseOf(golem), DECLINING, "first");
        vm.assertEq(phaseOf(second), THRIVING, "second");
    }

    /// @dev ATK-11.
    function test_nobody_and_anybody_are_no_keys() public {
        bytes4 notAKey = IGolemRegistry.GolemRegistry_NotAKey.selector;
        refused(
            owner.account,
            abi.encodeCall(IGolemRegistry.register, (SALT, address(0xa11))),
            abi.encodeWithSelector(notAKey, address(0xa11))
        );
        registerBoth();

        refused(
            owner.account,
            abi.encodeCall(IGolemRegistry.attach, (golem, address(0xa11))),
            abi.encodeWithSelector(notAKey, address(0xa11))
        );
        refused(
            owner.account,
            abi.encodeCall(IGolemRegistry.attach, (golem, address(0))),
            abi.encodeWithSelector(notAKey, address(0))
        );
    }

    // Who may what

    function test_agents_calls_are_the_attached_keys_alone() public {
        registerBoth();
        vm.prank(owner.account);
        registry.attach(golem, successor.account);
        address[5] memory others = [
            agent.account, // attached once
            owner.account,
            otherOwner.account,
            otherAgent.account,
            stranger.account
        ];
        bytes32 before = _whole();
        bytes[] memory calls = _agentCalls(golem);

        for (uint256 i = 0; i < calls.length; i++) {
            for (uint256 j = 0; j < others.length; j++) {
                refused(others[j], calls[i], notAgent(golem, others[j]));
            }
        }
        vm.assertEq(_whole(), before, "state");
        for (uint256 i = 0; i < calls.length; i++) {
            accepted(successor.account, calls[i]);
        }
    }

    function test_owners_calls_are_the_owners_alone() public {
        registerBoth();
        address[4] memory others =
            [agent.account, otherOwner.account, otherAgent.account, stranger.account];
        bytes32 before = _whole();
        bytes[] memory calls = _ownerCalls(golem);

        for (uint256 i = 0; i < calls.length; i++) {
            for (uint256 j = 0; j < others.length; j++) {
                refused(others[j], calls[i], notOwner(golem, others[j]));
            }
        }
        vm.assertEq(_whole(), before, "state");
        for (uint256 i = 0; i < calls.length; i++) {
            accepted(owner.account, calls[i]);
        }
    }

    function test_nothing_can_be_done_to_a_golem_that_is_not_registered() public {
        bytes[] memory agents = _agentCalls(golem);
        bytes[] memory owners = _ownerCalls(golem);

        for (uint256 i = 0; i < agents.length; i++) {
            refused(agent.account, agents[i], notRegistered(golem));
            refused(address(0), agents[i], notRegistered(golem));
        }
        for (uint256 i = 0; i < owners.length; i++) {
            refused(owner.account, owners[i], notRegistered(golem));
            refused(address(0), owners[i], notRegistered(golem));
        }
        refused(
            owner.account, abi.encodeCall(IVitalityOracle.vitalityOf, golem), notRegistered(golem)
        );
        refused(owner.account, abi.encodeCall(IDreamOracle.isDreaming, golem), notRegistered(golem));
        refused(owner.account, abi.encodeCall(IDaimonOracle.padOf, golem), notRegistered(golem));
        vm.assertEq(GolemWord.unwrap(registry.word(golem)), 0, "word");
        vm.assertEq(registry.ownerOf(golem), address(0), "owner");
    }

    // Keys

    function test_attaching_a_key_cuts_off_the_one_before() public {
        registerBoth();

        vm.expectEmit(address(registry));
        emit IGolemRegistry.AgentDetached(golem, agent.account);
        vm.expectEmit(address(registry));
        emit IGolemRegistry.AgentAttached(golem, successor.account, 0, bytes32(0));
        vm.prank(owner.account);
        registry.attach(golem, successor.account);

        vm.assertEq(attached(), successor.account, "agent key");
        refused(agent.account, _heartbeat(golem), notAgent(golem, agent.account));
        accepted(successor.account, _heartbeat(golem));
    }

    function test_a_detached_key_writes_nothing_until_its_owner_attaches_it_again() public {
        registerBoth();

        vm.expectEmit(address(registry));
        emit IGolemRegistry.AgentDetached(golem, agent.account);
        vm.prank(owner.account);
        registry.detach(golem);

        bytes[] memory calls = _agentCalls(golem);
        for (uint256 i = 0; i < calls.length; i++) {
            refused(agent.account, calls[i], notAgent(golem, agent.account));
            refused(address(0), calls[i], notAgent(golem, address(0)));
        }
        refused(
            owner.account,
            abi.encodeCall(IGolemRegistry.detach, golem),
            abi.encodeWithSelector(IGolemRegistry.GolemRegistry_NoAgent.selector, golem)
        );
        accepted(owner.account, abi.encodeCall(IGolemRegistry.attach, (golem, agent.account)));
        accepted(agent.account, _heartbeat(golem));
    }

    function test_keys_attach_without_touching_the_state() public {
        registerBoth();
        vm.prank(agent.account);
        registry.updateVitality(golem, CONSERVATION, 77);
        uint256 before = GolemWord.unwrap(registry.word(golem));
        vm.warp(BIRTH + 1 days);

        vm.prank(owner.account);
        registry.attach(golem, successor.account);
        vm.prank(owner.account);
        registry.detach(golem);

        vm.assertEq(GolemWord.unwrap(registry.word(golem)), before, "word");
    }

    // Vitality

    function test_an_agent_reports_phase_and_score() public {
        registerBoth();
        vm.warp(BIRTH + 60);

        vm.expectEmit(address(registry));
        emit IVitalityOracle.PhaseChanged(golem, THRIVING, CONSERVATION, agent.account);
        vm.expectEmit(address(registry));
        emit IVitalityOracle.VitalityUpdated(golem, CONSERVATION, 4_321);
        vm.prank(agent.account);
        registry.updateVitality(golem, CONSERVATION, 4_321);

        (uint8 phase, uint16 score, uint40 updatedAt) = registry.vitalityOf(golem);
        vm.assertEq(uint256(phase), CONSERVATION, "phase");
        vm.assertEq(uint256(score), 4_321, "score");
        vm.assertEq(uint256(updatedAt), BIRTH + 60, "last update");
    }

    /// @dev ATK-34, and the score moves both ways.
    function testFuzz_an_agent_moves_the_phase_forward_only(uint8 from, uint8 to, uint16 score)
        public
    {
        from = uint8(within(from, 0, 4));
        to = uint8(within(to, 0, 4));
        score = uint16(within(score, 0, 10_000));
        registerBoth();
        vm.prank(agent.account);
        registry.updateVitality(golem, from, 5_000);
        bytes memory report = abi.encodeCall(IGolemRegistry.updateVitality, (golem, to, score));

        if (to < from) refused(agent.account, report, _backward(from, to));
        else accepted(agent.account, report);

        vm.assertEq(phaseOf(golem), to < from ? from : to, "phase");
        vm.assertEq(uint256(registry.word(golem).score()), to < from ? 5_000 : score, "score");
    }

    function testFuzz_an_owners_push_is_forward_only(uint8 from, uint8 to) public {
        from = uint8(within(from, 0, 4));
        to = uint8(within(to, 0, 4));
        registerBoth();
        vm.prank(agent.account);
        registry.updateVitality(golem, from, 5_000);
        bytes memory push = abi.encodeCall(IGolemRegistry.advance, (golem, to));

        if (to < from) refused(owner.account, push, _backward(from, to));
        else accepted(owner.account, push);

        vm.assertEq(phaseOf(golem), to < from ? from : to, "phase");
        vm.assertEq(uint256(registry.word(golem).score()), 5_000, "score");
    }

    /// @dev ATK-46: against a thief the owner's push counts.
    function test_a_golem_cannot_undo_its_owners_push() public {
        registerBoth();
        vm.expectEmit(address(registry));
        emit IVitalityOracle.PhaseChanged(golem, THRIVING, DECLINING, owner.account);
        vm.prank(owner.account);
        registry.advance(golem, DECLINING);

        for (uint8 phase = 0; phase < DECLINING; phase++) {
            refused(
                agent.account,
                abi.encodeCall(IGolemRegistry.updateVitality, (golem, phase, 10_000)),
                _backward(DECLINING, phase)
            );
            refused(
                agent.account,
                abi.encodeCall(IGolemRegistry.feed, (golem, phase)),
                notOwner(golem, agent.account)
            );
        }
        vm.assertEq(phaseOf(golem), DECLINING, "phase");
    }

    function test_unknown_phases_and_scores_are_refused_by_number() public {
        registerBoth();
        bytes memory unknown = abi.encodeWithSelector(GolemWords.GolemWord_UnknownPhase.selector, 5);

        refused(
            agent.account, abi.encodeCall(IGolemRegistry.updateVitality, (golem, 5, 1)), unknown
        );
        refused(owner.account, abi.encodeCall(IGolemRegistry.advance, (golem, 5)), unknown);
        refused(
            agent.account,
            abi.encodeCall(IGolemRegistry.updateVitality, (golem, 0, 10_001)),
            abi.encodeWithSelector(GolemWords.GolemWord_ScoreTooHigh.selector, 10_001, 10_000)
        );
        accepted(agent.account, abi.encodeCall(IGolemRegistry.updateVitality, (golem, 0, 10_000)));
    }

    function testFuzz_feeding_leads_back_to_stable_or_thriving_and_never_from_terminal(
        uint8 from,
        uint8 to
    ) public {
        from = uint8(within(from, 0, 4));
        to = uint8(within(to, 0, 6));
        registerBoth();
        vm.prank(agent.account);
        registry.updateVitality(golem, from, 5_000);
        bytes memory meal = abi.encodeCall(IGolemRegistry.feed, (golem, to));
        bool expected = from != TERMINAL && to < from && to <= STABLE;

        if (expected) {
            accepted(owner.account, meal);
        } else {
            refused(
                owner.account,
                meal,
                abi.encodeWithSelector(
                    IGolemRegistry.GolemRegistry_CannotFeed.selector, golem, from, to
                )
            );
        }

        vm.assertEq(phaseOf(golem), expected ? to : from, "phase");
    }

    function test_a_fed_golem_goes_on_from_where_it_was_fed_to() public {
        registerBoth();
        vm.prank(agent.account);
        registry.updateVitality(golem, DECLINING, 100);
        vm.warp(BIRTH + 1 days);

        vm.expectEmit(address(registry));
        emit IVitalityOracle.PhaseChanged(golem, DECLINING, STABLE, owner.account);
        vm.prank(owner.account);
        registry.feed(golem, STABLE);

        vm.assertEq(uint256(registry.word(golem).updatedAt()), BIRTH + 1 days, "last update");
        accepted(
            agent.account, abi.encodeCall(IGolemRegistry.updateVitality, (golem, STABLE, 9_000))
        );
    }

    // Dreams, feelings, heartbeats

    function test_an_agent_falls_asleep_and_wakes_up() public {
        registerBoth();

        vm.expectEmit(address(registry));
        emit IDreamOracle.DreamingSet(golem, true);
        vm.prank(agent.account);
        registry.setDreaming(golem, true);
        vm.assertTrue(registry.isDreaming(golem), "asleep");
        vm.assertFalse(registry.isDreaming(otherGolem), "the other");

        vm.expectEmit(address(registry));
        emit IDreamOracle.DreamingSet(golem, false);
        vm.prank(agent.account);
        registry.setDreaming(golem, false);
        vm.assertFalse(registry.isDreaming(golem), "awake");
    }

    function testFuzz_an_agent_reports_feelings_from_minus_to_plus_a_hundred(
        int8 pleasure,
        int8 arousal,
        int8 dominance
    ) public {
        registerBoth();
        bytes memory report =
            abi.encodeCall(IGolemRegistry.updatePad, (golem, pleasure, arousal, dominance));

        if (!_felt(pleasure)) refused(agent.account, report, _padOutOfRange(pleasure));
        else if (!_felt(arousal)) refused(agent.account, report, _padOutOfRange(arousal));
        else if (!_felt(dominance)) refused(agent.account, report, _padOutOfRange(dominance));
        else _reportsPad(pleasure, arousal, dominance);
    }

    function test_feelings_at_their_bounds_are_read_back() public {
        registerBoth();

        _reportsPad(-100, 100, -100);
        _reportsPad(100, -100, 100);
        _reportsPad(-1, 0, 1);
        refused(
            agent.account,
            abi.encodeCall(IGolemRegistry.updatePad, (golem, 0, 101, 0)),
            _padOutOfRange(101)
        );
    }

    function test_a_heartbeat_anchors_the_audit_log_and_changes_nothing_else() public {
        registerBoth();
        vm.prank(agent.account);
        registry.updateVitality(golem, STABLE, 8_000);
        GolemState memory expected = registry.word(golem).unpack();
        vm.warp(BIRTH + 5 minutes);

        vm.expectEmit(address(registry));
        emit IGolemRegistry.HeartbeatRecorded(golem, "head");
        vm.prank(agent.account);
        registry.heartbeat(golem, "head");

        expected.updatedAt = BIRTH + 5 minutes;
        vm.assertEq(
            GolemWord.unwrap(registry.word(golem)),
            GolemWord.unwrap(GolemWords.pack(expected)),
            "word"
        );
    }

    /// @dev Each report is a sign of life; each leaves the others' fields alone.
    function test_every_report_refreshes_and_keeps_what_it_does_not_speak_of() public {
        registerBoth();
        GolemState memory expected = registry.word(golem).unpack();

        vm.warp(BIRTH + 1);
        vm.prank(agent.account);
        registry.setDreaming(golem, true);
        vm.warp(BIRTH + 2);
        vm.prank(agent.account);
        registry.updatePad(golem, 1, -2, 3);
        vm.warp(BIRTH + 3);
        vm.prank(agent.account);
        registry.updateVitality(golem, STABLE, 6);
        vm.warp(BIRTH + 4);
        vm.prank(owner.account);
        registry.advance(golem, CONSERVATION);

        expected.dreaming = true;
        (expected.pleasure, expected.arousal, expected.dominance) = (1, -2, 3);
        (expected.phase, expected.score) = (CONSERVATION, 6);
        expected.updatedAt = BIRTH + 4;
        vm.assertEq(
            GolemWord.unwrap(registry.word(golem)),
            GolemWord.unwrap(GolemWords.pack(expected)),
            "word"
        );
        vm.warp(BIRTH + 5);
        vm.prank(agent.account);
        registry.setDreaming(golem, false);
        vm.assertEq(uint256(registry.word(golem).updatedAt()), BIRTH + 5, "after waking");
        vm.warp(BIRTH + 6);
        vm.prank(agent.account);
        registry.updatePad(golem, 0, 0, 0);
        vm.assertEq(uint256(registry.word(golem).updatedAt()), BIRTH + 6, "after a feeling");
    }

    // Death

    function test_a_golem_dies_once_and_its_entry_remains() public {
        registerBoth();
        vm.prank(agent.account);
        registry.setDreaming(golem, true);
        vm.warp(BIRTH + 30 days);

        vm.expectEmit(address(registry));
        emit IVitalityOracle.PhaseChanged(golem, THRIVING, TERMINAL, agent.account);
        vm.expectEmit(address(registry));
        emit IGolemRegistry.GolemClosed(golem, agent.account);
        vm.prank(agent.account);
        registry.close(golem);

        GolemState memory state = registry.word(golem).unpack();
        vm.assertTrue(state.registered && state.closed && !state.dreaming, "flags");
        vm.assertEq(uint256(state.phase), TERMINAL, "phase");
        vm.assertEq(uint256(state.score), 0, "score");
        vm.assertEq(uint256(state.updatedAt), BIRTH + 30 days, "last update");
        vm.assertEq(registry.ownerOf(golem), owner.account, "owner");
    }

    function test_after_death_nothing_is_left_but_to_revoke_and_to_take_off_the_register() public {
        registerBoth();
        vm.prank(agent.account);
        registry.close(golem);
        bytes32 before = _whole();

        bytes[] memory calls = _agentCalls(golem);
        for (uint256 i = 0; i < calls.length; i++) {
            refused(agent.account, calls[i], isClosed(golem));
        }
        calls = _ownerCalls(golem);
        for (uint256 i = 0; i < 4; i++) {
            refused(owner.account, calls[i], isClosed(golem));
        }
        vm.assertEq(_whole(), before, "state");
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));
        vm.assertTrue(registry.word(golem).isClosed(), "still dead");
        accepted(owner.account, abi.encodeCall(IGolemRegistry.deregister, golem));
        vm.assertTrue(registry.word(golem).isClosed(), "dead for ever");
    }

    function test_a_deregistered_golem_is_dead_and_unknown_for_ever() public {
        registerBoth();
        vm.prank(owner.account);
        registry.revoke(golem);
        vm.warp(BIRTH + 1 days);

        vm.expectEmit(address(registry));
        emit IVitalityOracle.PhaseChanged(golem, THRIVING, TERMINAL, owner.account);
        vm.expectEmit(address(registry));
        emit IGolemRegistry.GolemClosed(golem, owner.account);
        vm.expectEmit(address(registry));
        emit IGolemRegistry.AgentDetached(golem, agent.account);
        vm.expectEmit(address(registry));
        emit IGolemRegistry.GolemDeregistered(golem, owner.account);
        vm.prank(owner.account);
        registry.deregister(golem);

        GolemState memory state = registry.word(golem).unpack();
        vm.assertTrue(!state.registered && state.closed, "flags");
        vm.assertEq(uint256(state.phase), TERMINAL, "phase");
        vm.assertEq(uint256(state.minEpoch), 1024, "minimum epoch");
        vm.assertEq(attached(), address(0), "agent key");
        refused(
            owner.account, abi.encodeCall(IVitalityOracle.vitalityOf, golem), notRegistered(golem)
        );
        bytes[] memory calls = _ownerCalls(golem);
        for (uint256 i = 0; i < calls.length; i++) {
            refused(owner.account, calls[i], notRegistered(golem));
        }
        refused(
            owner.account,
            abi.encodeCall(IGolemRegistry.register, (SALT, agent.account)),
            abi.encodeWithSelector(IGolemRegistry.GolemRegistry_AlreadyRegistered.selector, golem)
        );
    }

    // Revocation

    function test_an_owner_revokes_one_golem() public {
        registerBoth();
        vm.prank(owner.account);
        bytes32 second = registry.register("second", agent.account);
        GolemState memory expected = registry.word(golem).unpack();
        vm.warp(BIRTH + 1 days);

        vm.expectEmit(address(registry));
        emit IGolemRegistry.GolemRevoked(golem, owner.account, 1024);
        vm.prank(owner.account);
        registry.revoke(golem);

        expected.minEpoch = 1024;
        vm.assertEq(
            GolemWord.unwrap(registry.word(golem)),
            GolemWord.unwrap(GolemWords.pack(expected)),
            "nothing but the epoch, and no sign of life"
        );
        vm.assertEq(uint256(registry.word(second).minEpoch()), 0, "the owner's second");
        vm.assertEq(uint256(registry.word(otherGolem).minEpoch()), 0, "another owner's");
        vm.assertEq(attached(), agent.account, "agent key");
        accepted(agent.account, abi.encodeCall(IGolemRegistry.close, golem));
    }

    function testFuzz_no_epoch_survives_a_revocation(uint16 epoch, uint8 times) public {
        registerBoth();
        for (uint256 i = 0; i < times % 70; i++) {
            vm.prank(owner.account);
            registry.revoke(golem);
        }
        GolemWord before = registry.word(golem);

        vm.prank(owner.account);
        registry.revoke(golem);

        vm.assertFalse(
            before.admitsEpoch(epoch) && registry.word(golem).admitsEpoch(epoch), "survived"
        );
    }

    function test_revoking_all_raises_the_callers_generation_and_no_others() public {
        vm.expectEmit(address(registry));
        emit IGolemRegistry.AllRevoked(owner.account, 1);
        vm.prank(owner.account);
        registry.revokeAll();
        vm.expectEmit(address(registry));
        emit IGolemRegistry.AllRevoked(owner.account, 2);
        vm.prank(owner.account);
        registry.revokeAll();

        vm.assertEq(uint256(registry.generationOf(owner.account)), 2, "owner");
        vm.assertEq(uint256(registry.generationOf(otherOwner.account)), 0, "other owner");
    }

    function test_a_rule_gets_word_and_generation_in_one_call() public {
        registerBoth();
        vm.prank(otherOwner.account);
        registry.revokeAll();
        vm.prank(agent.account);
        registry.updateVitality(golem, DECLINING, 9);

        (GolemWord word, uint32 generation) = registry.state(golem, owner.account);
        vm.assertEq(GolemWord.unwrap(word), GolemWord.unwrap(registry.word(golem)), "word");
        vm.assertEq(uint256(generation), 0, "generation");
        (word, generation) = registry.state(otherGolem, otherOwner.account);
        vm.assertEq(GolemWord.unwrap(word), GolemWord.unwrap(registry.word(otherGolem)), "other");
        vm.assertEq(uint256(generation), 1, "other generation");
        (word, generation) = registry.state("unknown", stranger.account);
        vm.assertEq(GolemWord.unwrap(word), 0, "unknown Golem");
        vm.assertEq(uint256(generation), 0, "unknown owner");
    }

    /// @dev What a charter's hot path costs: the word and the generation, and nothing beside.
    function test_the_one_call_reads_two_slots() public {
        registerBoth();
        vm.record();

        registry.state(golem, owner.account);

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(registry));
        vm.assertEq(reads.length, 2, "slots read");
        vm.assertEq(writes.length, 0, "slots written");
    }

    // Silence

    function test_what_did_not_change_is_not_announced() public {
        registerBoth();

        bytes memory call = abi.encodeCall(IGolemRegistry.updateVitality, (golem, THRIVING, 1));
        vm.assertEq(_announced(agent.account, call), 1, "a report without a transition");
        call = abi.encodeCall(IGolemRegistry.attach, (golem, agent.account));
        vm.assertEq(_announced(owner.account, call), 1, "the same key again");
        accepted(agent.account, abi.encodeCall(IGolemRegistry.close, golem));
        accepted(owner.account, abi.encodeCall(IGolemRegistry.revoke, golem));
        call = abi.encodeCall(IGolemRegistry.deregister, golem);
        vm.assertEq(_announced(owner.account, call), 2, "detached and deregistered, not dead again");
        vm.prank(otherOwner.account);
        registry.detach(otherGolem);
        call = abi.encodeCall(IGolemRegistry.deregister, otherGolem);
        vm.assertEq(_announced(otherOwner.account, call), 3, "Terminal, closed, deregistered");
    }

    function _announced(address caller, bytes memory call) private returns (uint256) {
        MoreVm(address(vm)).recordLogs();
        accepted(caller, call);
        return MoreVm(address(vm)).getRecordedLogs().length;
    }

    function _agentCalls(bytes32 id) private pure returns (bytes[] memory calls) {
        calls = new bytes[](5);
        calls[0] = abi.encodeCall(IGolemRegistry.updateVitality, (id, STABLE, 1));
        calls[1] = abi.encodeCall(IGolemRegistry.setDreaming, (id, true));
        calls[2] = abi.encodeCall(IGolemRegistry.updatePad, (id, 1, 2, 3));
        calls[3] = _heartbeat(id);
        calls[4] = abi.encodeCall(IGolemRegistry.close, id);
    }

    /// @dev In an order in which the owner can make them all; the first four need a living Golem.
    function _ownerCalls(bytes32 id) private view returns (bytes[] memory calls) {
        calls = new bytes[](6);
        calls[0] = abi.encodeCall(IGolemRegistry.attach, (id, successor.account));
        calls[1] = abi.encodeCall(IGolemRegistry.detach, id);
        calls[2] = abi.encodeCall(IGolemRegistry.advance, (id, CONSERVATION));
        calls[3] = abi.encodeCall(IGolemRegistry.feed, (id, THRIVING));
        calls[4] = abi.encodeCall(IGolemRegistry.revoke, id);
        calls[5] = abi.encodeCall(IGolemRegistry.deregister, id);
    }

    function _heartbeat(bytes32 id) private pure returns (bytes memory) {
        return abi.encodeCall(IGolemRegistry.heartbeat, (id, "head"));
    }

    /// @dev Everything that is kept about the two Golems.
    function _whole() private view returns (bytes32) {
        (address key, uint16 epoch) = registry.agentOf(golem);
        return keccak256(
            abi.encode(
                registry.word(golem),
                registry.word(otherGolem),
                key,
                epoch,
                registry.ownerOf(golem),
                registry.returnEpochOf(golem, agent.account)
            )
        );
    }

    function _reportsPad(int8 pleasure, int8 arousal, int8 dominance) private {
        vm.expectEmit(address(registry));
        emit IDaimonOracle.PadUpdated(golem, pleasure, arousal, dominance);
        vm.prank(agent.account);
        registry.updatePad(golem, pleasure, arousal, dominance);

        (int8 p, int8 a, int8 d) = registry.padOf(golem);
        vm.assertEq(int256(p), pleasure, "pleasure");
        vm.assertEq(int256(a), arousal, "arousal");
        vm.assertEq(int256(d), dominance, "dominance");
    }

    function _felt(int8 value) private pure returns (bool) {
        return value >= -100 && value <= 100;
    }

    function _padOutOfRange(int8 value) private pure returns (bytes memory) {
        return abi.encodeWithSelector(GolemWords.GolemWord_PadOutOfRange.selector, value, int8(100));
    }

    function _backward(uint8 from, uint8 to) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemRegistry.GolemRegistry_PhaseBackward.selector, golem, from, to
        );
    }
}

/// @notice Gas of whole transactions, as a receipt has it.
/// @dev In isolation every call of the test is a transaction of its own, with cold slots and with
///      what a transaction costs before its first instruction.
/// forge-config: default.isolate = true
contract GolemRegistryGasTest is RegistryTest {
    /// @dev forge prints it.
    event log_named_uint(string name, uint256 value);

    uint256 private constant MOST = 60_000;

    function setUp() public override {
        super.setUp();
        registerBoth();
    }

    function test_revoking_costs_at_most_60k_gas() public {
        _measured("revoke, first", abi.encodeCall(IGolemRegistry.revoke, golem));
        _measured("revoke, later", abi.encodeCall(IGolemRegistry.revoke, golem));
        vm.assertEq(uint256(registry.word(golem).minEpoch()), 2048, "minimum epoch");
    }

    function test_revoking_all_costs_at_most_60k_gas() public {
        _measured("revokeAll, first", abi.encodeCall(IGolemRegistry.revokeAll, ()));
        _measured("revokeAll, later", abi.encodeCall(IGolemRegistry.revokeAll, ()));
        vm.assertEq(uint256(registry.generationOf(owner.account)), 2, "generation");
    }

    function test_a_revocation_costs_the_same_after_many_grants() public {
        uint256 few =
            _measured("revoke after no grant", abi.encodeCall(IGolemRegistry.revoke, golem));
        for (uint16 i = 0; i < 20; i++) {
            vm.prank(stranger.account);
            registry.registerWithGrant(grantFrom(owner, successor.account, 1024 + i), 1, SALT);
        }

        uint256 many =
            _measured("revoke after twenty grants", abi.encodeCall(IGolemRegistry.revoke, golem));

        vm.assertEq(many, few, "gas");
    }

    function _measured(string memory name, bytes memory call) private returns (uint256 gas) {
        accepted(owner.account, call);
        gas = MoreVm(address(vm)).lastCallGas().gasTotalUsed;
        emit log_named_uint(name, gas);
        vm.assertTrue(gas > 21_000, "a whole transaction");
        vm.assertTrue(gas <= MOST, name);
    }
}
