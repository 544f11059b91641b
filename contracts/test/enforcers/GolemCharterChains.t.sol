// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Caveat, Delegation, IDelegationManager} from "../../src/interfaces/IDelegationManager.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {CharterCalls} from "../CharterCalls.sol";

/// @notice Charters in chains of delegations: children, grandchildren, and what they share.
contract GolemCharterChainsTest is CharterCalls {
    function setUp() public override {
        super.setUp();
        law.navCap = type(uint64).max;
    }

    /// @dev D29: the delegator of the link is the session key, the account of the law is the executor.
    function test_a_charter_on_the_child_alone_counts_for_the_childs_delegator() public {
        Actor memory worker = actor("worker");
        Delegation memory above = root(home(), agent.account, noCaveats());
        law.agentKey = worker.account;
        Delegation memory below =
            child(above, agent, worker.account, only(address(charterEnforcer), encode(law)));

        redeem(worker.account, below, above, SINGLE_DEFAULT, single(ROUTER_02, swap(CAP)));

        vm.assertEq(USDC.balanceOf(account), 10_000e6 - CAP, "the root's account sold");
        vm.assertEq(spendWord(), 0, "nothing counted for the account");
        vm.assertTrue(
            charterEnforcer.spendWindowOf(address(MANAGER), agent.account, law.golemId) != 0,
            "counted for the session key"
        );
        vm.expectRevert(overCap(CAP, 1e6, CAP));
        redeem(worker.account, below, above, SINGLE_DEFAULT, single(ROUTER_02, swap(1e6)));
        // The session key itself, as recipient, is not the account.
        bytes memory toKey = sellUsdc(1e6, atTheBound(1e6), agent.account);
        vm.expectRevert(wrongRecipient(agent.account, account));
        redeem(worker.account, below, above, SINGLE_DEFAULT, single(ROUTER_02, toKey));
    }

    /// @dev ATK-08: many children, each holding all that is left.
    function test_children_together_never_exceed_the_parents_cap() public {
        law.flags = 1;
        Delegation memory above = grant(home(), law);
        Actor[3] memory replicants = [actor("one"), actor("two"), actor("three")];
        Delegation[3] memory links;
        for (uint256 i = 0; i < 3; i++) {
            links[i] = child(above, agent, replicants[i].account, noCaveats());
        }
        uint256 half = CAP / 2;

        redeem(
            replicants[0].account, links[0], above, SINGLE_DEFAULT, single(ROUTER_02, swap(half))
        );
        vm.expectRevert(overCap(half, half + 1, CAP));
        redeem(
            replicants[1].account,
            links[1],
            above,
            SINGLE_DEFAULT,
            single(ROUTER_02, swap(half + 1))
        );
        redeem(
            replicants[1].account, links[1], above, SINGLE_DEFAULT, single(ROUTER_02, swap(half))
        );
        vm.expectRevert(overCap(CAP, 1e6, CAP));
        redeem(replicants[2].account, links[2], above, SINGLE_DEFAULT, single(ROUTER_02, swap(1e6)));
        // Nor does the parent's own key have any left.
        vm.expectRevert(overCap(CAP, 1e6, CAP));
        redeem(agent.account, above, SINGLE_DEFAULT, single(ROUTER_02, swap(1e6)));
    }

    /// @dev ATK-46: every caveat of every link runs; a wider child is harmless.
    function test_a_child_with_a_wider_charter_gains_nothing() public {
        law.flags = 1;
        Delegation memory above = grant(home(), law);
        Actor memory thief = actor("thief");
        (law.agentKey, law.beneficiary) = (thief.account, thief.account);
        law.spendCap = type(uint64).max;
        law.slippageBps = 10_000;
        law.end = type(uint40).max;
        Delegation memory below =
            child(above, agent, thief.account, only(address(charterEnforcer), encode(law)));

        _refusesChild(thief, below, above, overCap(0, CAP + 1, CAP), ROUTER_02, swap(CAP + 1));
        law.slippageBps = 100;
        _refusesChild(
            thief, below, above, tooMuchSlippage(100e6, 0), ROUTER_02, sellUsdc(100e6, 0, account)
        );
        _refusesChild(
            thief,
            below,
            above,
            wrongRecipient(thief.account, human.account),
            address(USDC),
            transfer(thief.account, 1)
        );
        vm.warp(NOW + 7 days + 1);
        _refusesChild(
            thief,
            below,
            above,
            abi.encodeWithSignature(
                "MortalityTimeWindow_Expired(uint256,uint256)", NOW + 7 days, NOW + 7 days + 1
            ),
            ROUTER_02,
            swap(1e6)
        );
    }

    function test_a_child_with_a_narrower_charter_is_bound_by_it() public {
        law.flags = 1;
        Delegation memory above = grant(home(), law);
        Actor memory replicant = actor("replicant");
        law.agentKey = replicant.account;
        law.spendCap = CAP / 2;
        Delegation memory below =
            child(above, agent, replicant.account, only(address(charterEnforcer), encode(law)));

        _refusesChild(
            replicant, below, above, overCap(0, CAP / 2 + 1, CAP / 2), ROUTER_02, swap(CAP / 2 + 1)
        );
        redeem(replicant.account, below, above, SINGLE_DEFAULT, single(ROUTER_02, swap(CAP / 2)));

        vm.assertEq(spent(), CAP / 2, "counted for the parent");
    }

    /// @dev ATK-09.
    function test_a_parent_switched_off_ends_its_children() public {
        law.flags = 1;
        Delegation memory above = grant(home(), law);
        Actor memory replicant = actor("replicant");
        Delegation memory below = child(above, agent, replicant.account, noCaveats());
        redeem(replicant.account, below, above, SINGLE_DEFAULT, single(ROUTER_02, swap(1e6)));

        vm.prank(account);
        MANAGER.disableDelegation(above);

        _refusesChild(
            replicant,
            below,
            above,
            abi.encodeWithSelector(IDelegationManager.CannotUseADisabledDelegation.selector),
            ROUTER_02,
            swap(1e6)
        );
    }

    /// @dev ATK-09: and so does one call of the owner's EOA to the registry.
    function test_a_revocation_ends_the_children_too() public {
        law.flags = 1;
        Delegation memory above = grant(home(), law);
        Actor memory replicant = actor("replicant");
        Delegation memory below = child(above, agent, replicant.account, noCaveats());

        vm.prank(human.account);
        registry.revoke(law.golemId);

        _refusesChild(
            replicant,
            below,
            above,
            abi.encodeWithSignature(
                "GolemLife_EpochRevoked(bytes32,uint256,uint256)", law.golemId, 1, 1_024
            ),
            ROUTER_02,
            swap(1e6)
        );
    }

    /// @dev ATK-23: two caveats of the same kind on one delegation share one window and count twice.
    function test_two_charters_on_one_delegation_never_allow_more_than_one() public {
        Delegation memory once = grant(home(), law);
        Delegation memory twice = once;
        twice.caveats = _double(once);
        twice = root(home(), agent.account, twice.caveats);

        vm.expectRevert(overCap(CAP / 2 + 32_768, CAP / 2 + 1, CAP));
        redeem(agent.account, twice, SINGLE_DEFAULT, single(ROUTER_02, swap(CAP / 2 + 1)));
        redeem(agent.account, twice, SINGLE_DEFAULT, single(ROUTER_02, swap(CAP / 2)));
        vm.assertEq(spent(), CAP, "counted twice");
    }

    function _double(Delegation memory from) private pure returns (Caveat[] memory both) {
        both = new Caveat[](2);
        (both[0], both[1]) = (from.caveats[0], from.caveats[0]);
    }

    function _refusesChild(
        Actor memory redeemer,
        Delegation memory below,
        Delegation memory above,
        bytes memory reason,
        address to,
        bytes memory data
    ) private {
        vm.expectRevert(reason);
        redeem(redeemer.account, below, above, SINGLE_DEFAULT, single(to, data));
    }
}
