// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Caveat, Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {GolemLifecycle} from "../../src/lifecycle/GolemLifecycle.sol";
import {Actions, Class, Role} from "../../src/rules/Actions.sol";
import {GolemLife} from "../../src/rules/GolemLife.sol";
import {GolemPhase, Phase} from "../../src/rules/GolemPhase.sol";
import {CharterTest} from "../CharterTest.sol";

/// @notice The lifecycle as a Golem reaches it: through the real manager, under a charter that lists it,
///         from every kind of account.
contract GolemLifecycleCharterTest is CharterTest {
    bytes32 private constant GRANT = keccak256("the child's delegation");
    bytes32 private constant MANIFEST = keccak256("manifest");

    GolemLifecycle private _lifecycle;
    address private _child;

    function setUp() public override {
        super.setUp();
        _lifecycle = new GolemLifecycle();
        _child = actor("child").account;
    }

    // Every kind of account

    function test_a_child_is_spawned_in_the_name_of_the_owners_account() public {
        for (uint256 i = 0; i < 3; i++) {
            (Owner memory from, Law memory law) = _golemOf(allKinds()[i]);
            Delegation memory leaf = grant(from, law);

            vm.expectEmit(address(_lifecycle));
            emit IGolemLifecycle.ReplicantSpawned(from.account, law.golemId, _child, GRANT);
            act(leaf, address(_lifecycle), _spawn(law.golemId));

            vm.assertEq(
                _lifecycle.delegationOf(from.account, law.golemId, _child), GRANT, "remembered"
            );
        }
    }

    function test_a_settlement_is_made_in_the_name_of_the_owners_account() public {
        for (uint256 i = 0; i < 3; i++) {
            (Owner memory from, Law memory law) = _golemOf(allKinds()[i]);
            Delegation memory leaf = grant(from, law);

            vm.expectEmit(address(_lifecycle));
            emit IGolemLifecycle.GolemSettled(from.account, law.golemId, MANIFEST);
            act(leaf, address(_lifecycle), _settle(law.golemId));

            vm.assertEq(_lifecycle.manifestOf(from.account, law.golemId), MANIFEST, "remembered");
        }
    }

    /// @dev ATK-34, for each kind; neither a new grant nor a new key makes a second settlement.
    function test_a_settlement_is_not_replayed_by_any_grant() public {
        for (uint256 i = 0; i < 3; i++) {
            (Owner memory from, Law memory law) = _golemOf(allKinds()[i]);
            Delegation memory leaf = grant(from, law);
            act(leaf, address(_lifecycle), _settle(law.golemId));

            vm.expectRevert(_settled(law));
            act(leaf, address(_lifecycle), _settle(law.golemId));
            vm.expectRevert(_settled(law));
            act(leaf, address(_lifecycle), _spawn(law.golemId));

            law.epoch += 1;
            Actor memory successor = actor("successor");
            law.agentKey = successor.account;
            leaf = grant(from, law);
            vm.expectRevert(_settled(law));
            redeem(
                successor.account,
                leaf,
                SINGLE_DEFAULT,
                single(address(_lifecycle), _settle(law.golemId))
            );
        }
    }

    // Phases: SPEC C2

    function test_children_are_spawned_while_thriving_only() public {
        for (uint256 i = 0; i < 3; i++) {
            for (uint8 phase = 0; phase <= 4; phase++) {
                uint256 snapshot = vm.snapshotState();
                (Owner memory from, Law memory law) = _golemAt(allKinds()[i], phase);
                Delegation memory leaf = grant(from, law);

                if (phase != 0) vm.expectRevert(_notAllowed(phase, Class.SpawnReplicant));
                act(leaf, address(_lifecycle), _spawn(law.golemId));

                vm.assertEq(
                    _lifecycle.replicantsOf(from.account, law.golemId),
                    phase == 0 ? 1 : 0,
                    "children"
                );
                vm.revertToState(snapshot);
            }
        }
    }

    /// @dev By the matrix: not in Conservation and not while Declining.
    function test_settlement_is_for_the_lively_and_the_terminal() public {
        for (uint256 i = 0; i < 3; i++) {
            for (uint8 phase = 0; phase <= 4; phase++) {
                uint256 snapshot = vm.snapshotState();
                (Owner memory from, Law memory law) = _golemAt(allKinds()[i], phase);
                Delegation memory leaf = grant(from, law);
                bool refused = phase == 2 || phase == 3;

                if (refused) vm.expectRevert(_notAllowed(phase, Class.Settle));
                act(leaf, address(_lifecycle), _settle(law.golemId));

                vm.assertEq(
                    _lifecycle.manifestOf(from.account, law.golemId),
                    refused ? bytes32(0) : MANIFEST,
                    "manifest"
                );
                vm.revertToState(snapshot);
            }
        }
    }

    /// @dev ATK-34: it settles first and closes then.
    function test_a_closed_golem_settles_nothing() public {
        (Owner memory from, Law memory law) = _golemOf(Kind.Hybrid);
        vm.prank(agent.account);
        registry.close(law.golemId);
        Delegation memory leaf = grant(from, law);

        vm.expectRevert(abi.encodeWithSelector(GolemLife.GolemLife_NotAlive.selector, law.golemId));
        act(leaf, address(_lifecycle), _settle(law.golemId));
    }

    // What the owner has to have allowed

    function test_each_class_has_to_be_in_the_charter() public {
        (Owner memory from, Law memory law) = _golemOf(Kind.Hybrid);
        law.classes = uint32(ALL_CLASSES & ~(1 << uint256(Class.Settle)));
        Delegation memory leaf = grant(from, law);
        vm.expectRevert(_noClass(Class.Settle));
        act(leaf, address(_lifecycle), _settle(law.golemId));
        act(leaf, address(_lifecycle), _spawn(law.golemId));

        law.classes = uint32(ALL_CLASSES & ~(1 << uint256(Class.SpawnReplicant)));
        leaf = grant(from, law);
        vm.expectRevert(_noClass(Class.SpawnReplicant));
        act(leaf, address(_lifecycle), _spawn(law.golemId));
        act(leaf, address(_lifecycle), _settle(law.golemId));
    }

    function test_the_lifecycle_has_to_be_listed_as_one() public {
        (Owner memory from, Law memory law) = _golemOf(Kind.Hybrid);
        GolemLifecycle unlisted = new GolemLifecycle();
        Delegation memory leaf = grant(from, law);
        vm.expectRevert(
            abi.encodeWithSelector(Actions.Actions_UnknownTarget.selector, address(unlisted))
        );
        act(leaf, address(unlisted), _settle(law.golemId));

        law.targets = target(address(_lifecycle), Role.Token);
        leaf = grant(from, law);
        vm.expectRevert(
            abi.encodeWithSelector(
                Actions.Actions_UnknownCall.selector,
                address(_lifecycle),
                IGolemLifecycle.settle.selector
            )
        );
        act(leaf, address(_lifecycle), _settle(law.golemId));
    }

    /// @dev ATK-34: two Golems, one account; neither settles the other.
    function test_a_golem_speaks_for_itself_alone() public {
        (Owner memory from, Law memory law) = _golemOf(Kind.Hybrid);
        vm.prank(law.owner);
        bytes32 other = registry.register("other", actor("other agent").account);
        Delegation memory leaf = grant(from, law);
        bytes memory reason = abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_OtherGolem.selector, other, law.golemId
        );

        vm.expectRevert(reason);
        act(leaf, address(_lifecycle), _settle(other));
        vm.expectRevert(reason);
        act(leaf, address(_lifecycle), _spawn(other));
    }

    /// @dev ATK-15, ATK-17: a longer call, or one with coins, is another call.
    function test_calls_out_of_shape_do_not_reach_it() public {
        (Owner memory from, Law memory law) = _golemOf(Kind.Hybrid);
        Delegation memory leaf = grant(from, law);

        bytes memory longer = bytes.concat(_settle(law.golemId), hex"00");
        vm.expectRevert(
            abi.encodeWithSelector(
                Actions.Actions_NotCanonical.selector,
                address(_lifecycle),
                IGolemLifecycle.settle.selector
            )
        );
        act(leaf, address(_lifecycle), longer);

        bytes memory paid = abi.encodePacked(address(_lifecycle), uint256(1), _settle(law.golemId));
        vm.expectRevert(
            abi.encodeWithSelector(Actions.Actions_UnexpectedValue.selector, address(_lifecycle), 1)
        );
        redeem(agent.account, leaf, SINGLE_DEFAULT, paid);
    }

    // Batches and chains

    function test_a_golem_spawns_and_settles_in_one_batch_and_in_no_other_order() public {
        (Owner memory from, Law memory law) = _golemOf(Kind.Stateless7702);
        Delegation memory leaf = grant(from, law);
        Execution[] memory calls = new Execution[](2);
        calls[0] = Execution(address(_lifecycle), 0, _settle(law.golemId));
        calls[1] = Execution(address(_lifecycle), 0, _spawn(law.golemId));

        vm.expectRevert(_settled(law));
        actBatch(leaf, calls);
        vm.assertEq(_lifecycle.manifestOf(law.account, law.golemId), bytes32(0), "undone");

        (calls[0], calls[1]) = (calls[1], calls[0]);
        actBatch(leaf, calls);
        vm.assertEq(_lifecycle.manifestOf(law.account, law.golemId), MANIFEST, "settled");
        vm.assertEq(_lifecycle.replicantsOf(law.account, law.golemId), 1, "one child");
    }

    /// @dev The account is the root's, wherever the charter hangs and whoever redeems.
    function test_a_chain_of_two_speaks_in_the_name_of_the_roots_account() public {
        (Owner memory from, Law memory law) = _golemOf(Kind.Hybrid);
        Actor memory worker = actor("worker");
        bytes memory spawn = single(address(_lifecycle), _spawn(law.golemId));
        bytes memory settle = single(address(_lifecycle), _settle(law.golemId));

        law.flags = 1;
        Delegation memory above = grant(from, law);
        Delegation memory below = child(above, agent, worker.account, noCaveats());
        redeem(worker.account, below, above, SINGLE_DEFAULT, spawn);

        above = root(from, agent.account, noCaveats());
        law.agentKey = worker.account;
        Caveat[] memory charter = only(address(charterEnforcer), encode(law));
        below = child(above, agent, worker.account, charter);
        redeem(worker.account, below, above, SINGLE_DEFAULT, settle);

        vm.assertEq(_lifecycle.replicantsOf(from.account, law.golemId), 1, "the account's child");
        vm.assertEq(_lifecycle.manifestOf(from.account, law.golemId), MANIFEST, "the account's");
        vm.assertEq(_lifecycle.manifestOf(agent.account, law.golemId), bytes32(0), "not the key's");
    }

    /// @dev What the agent's key says without its owner's account stands under the key.
    function test_the_agents_key_by_itself_settles_nothing_of_the_account() public {
        (, Law memory law) = _golemOf(Kind.Hybrid);

        vm.prank(agent.account);
        _lifecycle.settle(law.golemId, MANIFEST);

        vm.assertEq(_lifecycle.manifestOf(law.account, law.golemId), bytes32(0), "open");
    }

    // Helpers

    function _golemOf(Kind kind) private returns (Owner memory from, Law memory law) {
        from = owner(kind);
        law = golem(from);
        law.targets = bytes.concat(law.targets, target(address(_lifecycle), Role.Lifecycle));
    }

    function _golemAt(Kind kind, uint8 phase) private returns (Owner memory from, Law memory law) {
        (from, law) = _golemOf(kind);
        vm.prank(law.owner);
        registry.advance(law.golemId, phase);
    }

    function _spawn(bytes32 golemId) private view returns (bytes memory) {
        return abi.encodeCall(IGolemLifecycle.spawnReplicant, (golemId, _child, GRANT));
    }

    function _settle(bytes32 golemId) private pure returns (bytes memory) {
        return abi.encodeCall(IGolemLifecycle.settle, (golemId, MANIFEST));
    }

    function _settled(Law memory law) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemLifecycle.GolemLifecycle_Settled.selector, law.account, law.golemId, MANIFEST
        );
    }

    function _notAllowed(uint8 phase, Class class) private pure returns (bytes memory) {
        return
            abi.encodeWithSelector(GolemPhase.GolemPhase_NotAllowed.selector, Phase(phase), class);
    }

    function _noClass(Class class) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IGolemCharterEnforcer.GolemCharter_Class.selector, class);
    }
}
