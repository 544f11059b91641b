// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ICaveatEnforcer} from "../../src/interfaces/ICaveatEnforcer.sol";
import {
    ANY_DELEGATE,
    Delegation,
    IDelegationManager
} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {BATCH_TRY, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {CharterCalls} from "../CharterCalls.sol";
import {CharterTest} from "../CharterTest.sol";

/// @notice The whole way, for each kind of account.
contract GolemCharterEnforcerTest is CharterTest {
    function test_every_kind_of_owners_golem_swaps_at_the_bound() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            setUp();
            Owner memory from = owner(kinds[i]);
            Law memory charter = golem(from);
            Delegation memory leaf = grant(from, charter);

            act(leaf, ROUTER_02, sellUsdc(100e6, atTheBound(100e6), from.account));
            act(leaf, ROUTER_02, sellUsdc(100e6, atTheBound(100e6), from.account));

            vm.assertEq(USDC.balanceOf(from.account), 9_800e6, "sold");
            vm.assertTrue(
                WETH.balanceOf(from.account) >= 2 * atTheBound(100e6), "bought for the account"
            );
        }
    }

    function test_no_kind_of_owners_golem_swaps_one_unit_past_the_bound() public {
        Kind[3] memory kinds = allKinds();
        for (uint256 i = 0; i < kinds.length; i++) {
            setUp();
            Owner memory from = owner(kinds[i]);
            Delegation memory leaf = grant(from, golem(from));

            vm.expectRevert(
                abi.encodeWithSignature(
                    "MaxSlippage_TooMuch(uint256,uint256,uint256)", 100e6, 99e6 - 1, 100
                )
            );
            act(leaf, ROUTER_02, sellUsdc(100e6, atTheBound(100e6) - 1, from.account));

            vm.assertEq(USDC.balanceOf(from.account), 10_000e6, "nothing sold");
        }
    }
}

/// @notice Who redeems, and who calls the hooks.
contract GolemCharterWhoTest is CharterCalls {
    function test_the_agent_key_redeems_and_nobody_else() public {
        accepts(ROUTER_02, swap(100e6));

        Delegation memory leaf = root(home(), ANY_DELEGATE, grant(home(), law).caveats);
        redeem(agent.account, leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(100e6)));
        address stranger = actor("stranger").account;

        vm.expectRevert(_redeemer(stranger));
        redeem(stranger, leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(100e6)));
    }

    function test_even_the_owner_is_not_the_agent() public {
        Delegation memory leaf = root(home(), ANY_DELEGATE, grant(home(), law).caveats);

        vm.expectRevert(_redeemer(human.account));
        redeem(human.account, leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(100e6)));
    }

    function test_a_replicant_redeems_only_where_the_owner_allowed_replicants() public {
        address replicant = actor("replicant").account;
        Delegation memory leaf = grant(home(), law);
        Delegation memory below = child(leaf, agent, replicant, noCaveats());

        vm.expectRevert(_redeemer(replicant));
        redeem(replicant, below, leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(100e6)));

        law.flags = 1;
        leaf = grant(home(), law);
        below = child(leaf, agent, replicant, noCaveats());
        redeem(replicant, below, leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(100e6)));
        vm.assertEq(USDC.balanceOf(account), 9_900e6, "the replicant sold");
    }

    /// @dev The manager itself checks the delegate, before any rule.
    function test_a_grant_is_of_no_use_to_a_stranger() public {
        Delegation memory leaf = grant(home(), law);

        vm.expectRevert(IDelegationManager.InvalidDelegate.selector);
        redeem(actor("stranger").account, leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(100e6)));
    }

    /// @dev ATK-13: anyone may call a hook, and writes under his own address only.
    function test_a_stranger_who_calls_the_hook_spends_nobodys_budget() public {
        address stranger = actor("stranger").account;
        bytes memory terms = encode(law);
        bytes memory execution = single(ROUTER_02, swap(CAP / 2));

        for (uint256 i = 0; i < 2; i++) {
            vm.prank(stranger);
            charterEnforcer.beforeHook(
                terms, "", SINGLE_DEFAULT, execution, "", account, agent.account
            );
        }
        vm.expectRevert(overCap(CAP, CAP / 2, CAP));
        vm.prank(stranger);
        charterEnforcer.beforeHook(terms, "", SINGLE_DEFAULT, execution, "", account, agent.account);

        vm.assertEq(spendWord(), 0, "the manager's window");
        vm.assertEq(
            charterEnforcer.navCheckpointsOf(address(MANAGER), account, law.golemId, vault),
            0,
            "the manager's checkpoints"
        );
        vm.assertTrue(
            charterEnforcer.spendWindowOf(stranger, account, law.golemId) != 0, "his own window"
        );
        accepts(ROUTER_02, swap(CAP / 2));
        accepts(ROUTER_02, swap(CAP / 2));
    }

    /// @dev Nor may he end a grant by an epoch of his own making.
    function test_a_stranger_cannot_raise_the_epoch() public {
        address stranger = actor("stranger").account;
        law.epoch = 1_000;
        bytes memory terms = encode(law);

        vm.prank(stranger);
        charterEnforcer.beforeHook(
            terms, "", SINGLE_DEFAULT, single(ROUTER_02, swap(1e6)), "", account, agent.account
        );

        law.epoch = 1;
        accepts(ROUTER_02, swap(100e6));
    }

    function test_what_was_counted_for_the_manager_does_not_count_for_a_stranger() public {
        address stranger = actor("stranger").account;
        accepts(ROUTER_02, swap(CAP / 2));
        accepts(ROUTER_02, swap(CAP / 2));

        vm.assertEq(charterEnforcer.spendWindowOf(stranger, account, law.golemId), 0, "his");
        vm.assertEq(spent(), CAP, "the manager's");
    }

    function test_the_other_three_hooks_do_nothing_and_refuse_nothing() public {
        ICaveatEnforcer hooks = ICaveatEnforcer(address(charterEnforcer));
        vm.record();

        hooks.beforeAllHook("", "", BATCH_TRY, "", "", address(1), address(2));
        hooks.afterHook("", "", BATCH_TRY, "", "", address(1), address(2));
        hooks.afterAllHook("", "", BATCH_TRY, "", "", address(1), address(2));

        (bytes32[] memory reads, bytes32[] memory writes) = vm.accesses(address(charterEnforcer));
        vm.assertEq(reads.length, 0, "slots read");
        vm.assertEq(writes.length, 0, "slots written");
    }

    function testFuzz_an_unknown_call_is_refused(bytes4 selector, bytes memory rest) public {
        vm.assume(
            selector != ICaveatEnforcer.beforeAllHook.selector
                && selector != ICaveatEnforcer.beforeHook.selector
                && selector != ICaveatEnforcer.afterHook.selector
                && selector != ICaveatEnforcer.afterAllHook.selector
                && selector != IGolemCharterEnforcer.getTermsInfo.selector
                && selector != IGolemCharterEnforcer.spendWindowOf.selector
                && selector != IGolemCharterEnforcer.gasWindowOf.selector
                && selector != IGolemCharterEnforcer.navCheckpointsOf.selector
        );

        (bool ok, bytes memory out) = address(charterEnforcer).call(bytes.concat(selector, rest));

        vm.assertFalse(ok, "answered");
        vm.assertEq(
            out,
            abi.encodeWithSelector(
                IGolemCharterEnforcer.GolemCharter_UnknownCall.selector, selector
            ),
            "why"
        );
    }

    function test_neither_an_empty_call_nor_coins_are_taken() public {
        vm.deal(address(this), 1 ether);

        (bool ok, bytes memory out) = address(charterEnforcer).call("");
        vm.assertFalse(ok, "empty call");
        vm.assertEq(
            out,
            abi.encodeWithSelector(
                IGolemCharterEnforcer.GolemCharter_UnknownCall.selector, bytes4(0)
            ),
            "why"
        );
        (ok,) = address(charterEnforcer).call{value: 1}("");
        vm.assertFalse(ok, "coins");
        (ok,) = address(charterEnforcer).call{value: 1}(
            abi.encodePacked(ICaveatEnforcer.afterHook.selector)
        );
        vm.assertFalse(ok, "coins with a hook");
    }

    function _redeemer(address redeemer) private view returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_Redeemer.selector, redeemer, agent.account
        );
    }
}
