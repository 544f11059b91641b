// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemLifecycle} from "../../src/interfaces/IGolemLifecycle.sol";
import {GolemLifecycle} from "../../src/lifecycle/GolemLifecycle.sol";
import {TestBase} from "../TestBase.sol";

/// @notice SPEC C15: what Golems say of their children and of their end, each once.
contract GolemLifecycleTest is TestBase {
    bytes32 private constant GOLEM = keccak256("golem");
    bytes32 private constant OTHER = keccak256("other golem");
    bytes32 private constant GRANT = keccak256("delegation");
    bytes32 private constant GRANT_2 = keccak256("second delegation");
    bytes32 private constant MANIFEST = keccak256("manifest");

    GolemLifecycle private _lifecycle;
    address private _account;
    address private _stranger;
    address private _child;
    address private _child2;

    function setUp() public {
        _lifecycle = new GolemLifecycle();
        _account = actor("account").account;
        _stranger = actor("stranger").account;
        _child = actor("child").account;
        _child2 = actor("second child").account;
    }

    /// @dev The decoder of actions knows these two, and the phase matrix stands on them.
    function test_the_entry_points_are_the_ones_the_decoder_knows() public pure {
        vm.assertEq(
            bytes32(GolemLifecycle.spawnReplicant.selector),
            bytes32(bytes4(keccak256("spawnReplicant(bytes32,address,bytes32)"))),
            "spawn"
        );
        vm.assertEq(
            bytes32(GolemLifecycle.settle.selector),
            bytes32(bytes4(keccak256("settle(bytes32,bytes32)"))),
            "settle"
        );
    }

    // Children

    function test_a_child_is_announced_and_remembered() public {
        vm.expectEmit(address(_lifecycle));
        emit IGolemLifecycle.ReplicantSpawned(_account, GOLEM, _child, GRANT);
        _spawn(_account, GOLEM, _child, GRANT);

        vm.assertEq(_lifecycle.replicantsOf(_account, GOLEM), 1, "count");
        vm.assertEq(_lifecycle.delegationOf(_account, GOLEM, _child), GRANT, "its delegation");
        vm.assertEq(_lifecycle.replicantOf(_account, GOLEM, GRANT), _child, "whose delegation");
        vm.assertEq(_lifecycle.manifestOf(_account, GOLEM), bytes32(0), "not settled");
    }

    function test_a_second_child_under_a_second_delegation_is_another() public {
        _spawn(_account, GOLEM, _child, GRANT);
        _spawn(_account, GOLEM, _child2, GRANT_2);

        vm.assertEq(_lifecycle.replicantsOf(_account, GOLEM), 2, "count");
        vm.assertEq(_lifecycle.delegationOf(_account, GOLEM, _child), GRANT, "first");
        vm.assertEq(_lifecycle.delegationOf(_account, GOLEM, _child2), GRANT_2, "second");
    }

    function test_no_child_is_made_twice() public {
        _spawn(_account, GOLEM, _child, GRANT);

        bytes memory known = abi.encodeWithSelector(
            IGolemLifecycle.GolemLifecycle_KnownReplicant.selector, _account, GOLEM, _child, GRANT
        );
        vm.expectRevert(known);
        _spawn(_account, GOLEM, _child, GRANT_2);
        vm.expectRevert(known);
        _spawn(_account, GOLEM, _child, GRANT);
        vm.assertEq(_lifecycle.replicantsOf(_account, GOLEM), 1, "count");
    }

    function test_no_delegation_has_two_children() public {
        _spawn(_account, GOLEM, _child, GRANT);

        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemLifecycle.GolemLifecycle_KnownDelegation.selector,
                _account,
                GOLEM,
                GRANT,
                _child
            )
        );
        _spawn(_account, GOLEM, _child2, GRANT);
    }

    function test_a_child_is_somebody_under_some_delegation_of_some_golem() public {
        vm.expectRevert(_noGolem(_account));
        _spawn(_account, 0, _child, GRANT);
        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemLifecycle.GolemLifecycle_NoReplicant.selector, _account, GOLEM
            )
        );
        _spawn(_account, GOLEM, address(0), GRANT);
        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemLifecycle.GolemLifecycle_NoDelegation.selector, _account, GOLEM, _child
            )
        );
        _spawn(_account, GOLEM, _child, 0);

        _spawn(_account, bytes32(uint256(1)), address(1), bytes32(uint256(1)));
    }

    // The end

    function test_a_settlement_is_announced_and_remembered() public {
        vm.expectEmit(address(_lifecycle));
        emit IGolemLifecycle.GolemSettled(_account, GOLEM, MANIFEST);
        _settle(_account, GOLEM, MANIFEST);

        vm.assertEq(_lifecycle.manifestOf(_account, GOLEM), MANIFEST, "manifest");
    }

    /// @dev ATK-34.
    function test_a_settlement_is_made_once() public {
        _settle(_account, GOLEM, MANIFEST);

        vm.expectRevert(_settled(_account));
        _settle(_account, GOLEM, MANIFEST);
        vm.expectRevert(_settled(_account));
        _settle(_account, GOLEM, keccak256("another manifest"));
        vm.assertEq(_lifecycle.manifestOf(_account, GOLEM), MANIFEST, "manifest");
    }

    /// @dev ATK-34.
    function test_a_settled_golem_makes_no_child() public {
        _spawn(_account, GOLEM, _child, GRANT);
        _settle(_account, GOLEM, MANIFEST);

        vm.expectRevert(_settled(_account));
        _spawn(_account, GOLEM, _child2, GRANT_2);
        vm.assertEq(_lifecycle.replicantsOf(_account, GOLEM), 1, "count");
        vm.assertEq(_lifecycle.delegationOf(_account, GOLEM, _child), GRANT, "the first remains");
    }

    function test_a_settlement_is_some_golems_and_says_something() public {
        vm.expectRevert(_noGolem(_account));
        _settle(_account, 0, MANIFEST);
        vm.expectRevert(
            abi.encodeWithSelector(
                IGolemLifecycle.GolemLifecycle_NoManifest.selector, _account, GOLEM
            )
        );
        _settle(_account, GOLEM, 0);

        _settle(_account, bytes32(uint256(1)), bytes32(uint256(1)));
    }

    // Whose

    /// @dev ATK-34: settlement redirected. What a stranger says stands under his own address.
    function test_a_stranger_settles_nobodys_golem_but_his_own() public {
        _settle(_stranger, GOLEM, keccak256("forged"));

        vm.assertEq(_lifecycle.manifestOf(_account, GOLEM), bytes32(0), "the account's is open");
        _spawn(_account, GOLEM, _child, GRANT);
        _settle(_account, GOLEM, MANIFEST);
        vm.assertEq(_lifecycle.manifestOf(_account, GOLEM), MANIFEST, "the account's own");
        vm.assertEq(_lifecycle.manifestOf(_stranger, GOLEM), keccak256("forged"), "the stranger's");
    }

    function test_a_stranger_takes_neither_child_nor_delegation() public {
        _spawn(_stranger, GOLEM, _child, GRANT);
        vm.assertEq(_lifecycle.replicantsOf(_account, GOLEM), 0, "nothing of the account's");

        _spawn(_account, GOLEM, _child, GRANT);

        vm.assertEq(_lifecycle.delegationOf(_account, GOLEM, _child), GRANT, "the account's own");
    }

    function test_two_golems_of_one_account_share_nothing() public {
        _spawn(_account, GOLEM, _child, GRANT);
        _settle(_account, GOLEM, MANIFEST);

        _spawn(_account, OTHER, _child, GRANT);
        vm.assertEq(_lifecycle.manifestOf(_account, OTHER), bytes32(0), "the other is open");
        _settle(_account, OTHER, MANIFEST);
    }

    // Shape of the call

    function test_coins_and_unknown_calls_are_not_taken() public {
        bytes memory settle = abi.encodeCall(IGolemLifecycle.settle, (GOLEM, MANIFEST));
        vm.deal(address(this), 1);
        (bool paid,) = address(_lifecycle).call{value: 1}(settle);
        (bool unknown,) = address(_lifecycle).call(hex"12345678");
        (bool empty,) = address(_lifecycle).call("");

        vm.assertFalse(paid || unknown || empty, "taken");
    }

    /// @dev ATK-16.
    function test_calls_too_short_for_their_arguments_are_refused() public {
        bytes memory spawn = abi.encodeCall(IGolemLifecycle.spawnReplicant, (GOLEM, _child, GRANT));
        bytes memory settle = abi.encodeCall(IGolemLifecycle.settle, (GOLEM, MANIFEST));
        _refusesEveryShorter(spawn);
        _refusesEveryShorter(settle);
    }

    function testFuzz_a_child_is_found_by_address_and_by_delegation(
        address account,
        bytes32 golemId,
        address replicant,
        bytes32 delegationHash
    ) public {
        vm.assume(account != address(vm));
        bool good = golemId != 0 && replicant != address(0) && delegationHash != 0;

        vm.prank(account);
        (bool ok,) = address(_lifecycle)
            .call(
                abi.encodeCall(IGolemLifecycle.spawnReplicant, (golemId, replicant, delegationHash))
            );

        vm.assertTrue(ok == good, "made if and only if named");
        if (!good) return;
        vm.assertEq(_lifecycle.delegationOf(account, golemId, replicant), delegationHash, "by it");
        vm.assertEq(_lifecycle.replicantOf(account, golemId, delegationHash), replicant, "by hash");
    }

    // Helpers

    function _spawn(address account, bytes32 golemId, address child, bytes32 delegationHash)
        private
    {
        vm.prank(account);
        _lifecycle.spawnReplicant(golemId, child, delegationHash);
    }

    function _settle(address account, bytes32 golemId, bytes32 manifestHash) private {
        vm.prank(account);
        _lifecycle.settle(golemId, manifestHash);
    }

    function _refusesEveryShorter(bytes memory call) private {
        for (uint256 length = 0; length < call.length; length++) {
            bytes memory cut = new bytes(length);
            for (uint256 i = 0; i < length; i++) {
                cut[i] = call[i];
            }
            (bool ok,) = address(_lifecycle).call(cut);
            vm.assertFalse(ok, "a cut call was taken");
        }
    }

    function _noGolem(address account) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IGolemLifecycle.GolemLifecycle_NoGolem.selector, account);
    }

    function _settled(address account) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemLifecycle.GolemLifecycle_Settled.selector, account, GOLEM, MANIFEST
        );
    }
}
