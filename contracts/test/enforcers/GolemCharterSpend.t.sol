// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IGolemCharterEnforcer} from "../../src/interfaces/IGolemCharterEnforcer.sol";
import {IVault} from "../../src/interfaces/ITokens.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Actions, Class, Role} from "../../src/rules/Actions.sol";
import {Executions} from "../../src/rules/Executions.sol";
import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {CharterCalls} from "../CharterCalls.sol";
import {Puppet} from "../Puppet.sol";

/// @notice How much in any period (C8, D7, D17), and who shares a window with whom.
contract GolemCharterSpendTest is CharterCalls {
    /// @dev The first second of the bucket NOW is in, of two hours.
    uint256 private constant EDGE = 1_800_000_000;

    function setUp() public override {
        super.setUp();
        law.navCap = type(uint64).max;
    }

    function test_the_cap_is_accepted_and_one_micro_dollar_more_is_refused() public {
        refuses(overCap(0, CAP + 1, CAP), ROUTER_02, swap(CAP + 1));

        accepts(ROUTER_02, swap(CAP));
        vm.assertEq(spent(), CAP, "spent");
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
    }

    function test_what_is_left_is_accepted_and_one_micro_dollar_more_is_refused() public {
        accepts(ROUTER_02, swap(CAP / 4));

        refuses(overCap(CAP / 4, CAP - CAP / 4 + 1, CAP), ROUTER_02, swap(CAP - CAP / 4 + 1));
        accepts(ROUTER_02, swap(CAP - CAP / 4));
    }

    function test_deposits_count_and_withdrawals_give_nothing_back() public {
        refuses(overCap(0, CAP + 1, CAP), vault, deposit(CAP + 1, account));
        accepts(vault, deposit(CAP, account));
        accepts(vault, abi.encodeCall(IVault.withdraw, (CAP / 2, account, account)));

        refuses(overCap(CAP, 1, CAP), vault, deposit(1, account));
        refuses(overCap(CAP, 1, CAP), vault, abi.encodeCall(IVault.mint, (1e6, account)));
    }

    /// @dev A swap back is a spend again: churning does not refill.
    function test_selling_and_buying_back_both_count() public {
        accepts(ROUTER_02, swap(CAP / 2));
        uint256 weth = uint256(CAP) / 2 * 4e8;
        accepts(ROUTER_02, sellWeth(weth, CAP / 2 * 995 / 1000, account));

        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
    }

    /// @dev ATK-19: a cap on each side of a bucket's edge is still one cap.
    function test_both_sides_of_a_buckets_edge_share_the_cap() public {
        vm.warp(EDGE + 2 hours - 1);
        accepts(ROUTER_02, swap(CAP / 2));
        vm.warp(EDGE + 2 hours);
        accepts(ROUTER_02, swap(CAP / 2));
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));

        // 24 hours after the first spend it still counts; it is free with the 13th bucket.
        vm.warp(EDGE + 2 hours - 1 + 24 hours);
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        vm.warp(EDGE + 26 hours - 1);
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        vm.warp(EDGE + 26 hours);
        refuses(overCap(CAP / 2, CAP / 2 + 1, CAP), ROUTER_02, swap(CAP / 2 + 1));
        accepts(ROUTER_02, swap(CAP / 2));

        vm.warp(EDGE + 28 hours - 1);
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        vm.warp(EDGE + 28 hours);
        accepts(ROUTER_02, swap(CAP / 2));
    }

    /// @dev 004's "100 dollars a week": the period is a parameter.
    function test_a_weekly_cap_counts_for_a_week() public {
        law.bucketMinutes = 840;
        law.end = NOW + 60 days;
        accepts(ROUTER_02, swap(CAP));

        vm.warp(NOW + 7 days);
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        vm.warp(NOW + 7 days + 14 hours);
        accepts(ROUTER_02, swap(CAP));
    }

    // Grants: D4, ATK-31

    function test_a_higher_epoch_ends_every_lower_one() public {
        Delegation memory old = grant(home(), law);
        act(old, ROUTER_02, swap(1e6));
        law.epoch = 2;
        accepts(ROUTER_02, swap(1e6));

        vm.expectRevert(abi.encodeWithSelector(SpendWindow.SpendWindow_StaleEpoch.selector, 1, 2));
        act(old, ROUTER_02, swap(1e6));
    }

    /// @dev Also by an action that spends nothing.
    function test_a_higher_epoch_is_recorded_by_whatever_it_does_first() public {
        Delegation memory old = grant(home(), law);
        law.epoch = 2;
        accepts(address(USDC), approve(ROUTER_02, 0));

        vm.expectRevert(abi.encodeWithSelector(SpendWindow.SpendWindow_StaleEpoch.selector, 1, 2));
        act(old, address(USDC), approve(ROUTER_02, 0));
    }

    function test_a_grant_signed_anew_refills_nothing() public {
        accepts(ROUTER_02, swap(CAP));

        // Same epoch, another delegation.
        law.end += 1;
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        law.epoch = 2;
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        law.bucketMinutes = 240;
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        law.bucketMinutes = 1;
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        // A higher cap leaves the difference.
        law.spendCap = 2 * CAP;
        law.bucketMinutes = 120;
        refuses(overCap(CAP, CAP + 1, 2 * CAP), ROUTER_02, swap(CAP + 1));
        accepts(ROUTER_02, swap(CAP));
    }

    function test_feeding_refills_nothing() public {
        accepts(ROUTER_02, swap(CAP));
        advanceTo(2);

        vm.prank(human.account);
        registry.feed(law.golemId, 0);

        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
    }

    function test_a_new_key_refills_nothing() public {
        accepts(ROUTER_02, swap(CAP));
        Actor memory next = actor("next key");
        vm.prank(human.account);
        registry.attach(law.golemId, next.account);
        law.agentKey = next.account;
        law.epoch = 2;
        Delegation memory leaf = grant(home(), law);

        vm.expectRevert(overCap(CAP, 1e6, CAP));
        redeem(next.account, leaf, SINGLE_DEFAULT, single(ROUTER_02, swap(1e6)));
    }

    function test_two_delegations_of_one_golem_share_one_window() public {
        Delegation memory one = grant(home(), law);
        law.end += 1;
        Delegation memory two = grant(home(), law);

        act(one, ROUTER_02, swap(CAP / 2));
        act(two, ROUTER_02, swap(CAP / 2));

        vm.expectRevert(overCap(CAP, 1e6, CAP));
        act(one, ROUTER_02, swap(1e6));
        vm.expectRevert(overCap(CAP, 1e6, CAP));
        act(two, ROUTER_02, swap(1e6));
    }

    // Who shares nothing

    function test_two_golems_of_one_owner_do_not_share() public {
        bytes32 first = law.golemId;
        vm.prank(human.account);
        bytes32 second = registry.register("second", agent.account);
        accepts(ROUTER_02, swap(CAP));

        law.golemId = second;
        law.epoch = 0;
        accepts(ROUTER_02, swap(CAP));

        law.golemId = first;
        law.epoch = 1;
        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
    }

    function test_two_delegators_do_not_share() public {
        accepts(ROUTER_02, swap(CAP));
        Owner memory other = multiSigOwner();
        vm.prank(FAUCET);
        USDC.mint(other.account, 1_000e6);
        vm.prank(other.account);
        USDC.approve(ROUTER_02, type(uint256).max);
        law.account = other.account;
        Delegation memory leaf = grant(other, law);

        act(leaf, ROUTER_02, sellUsdc(CAP, uint256(CAP) * 4e8 * 995 / 1000, other.account));

        vm.assertEq(USDC.balanceOf(other.account), 1_000e6 - CAP, "sold");
    }

    /// @dev ATK-01: another deployment of the manager counts for itself.
    function test_two_managers_do_not_share() public {
        accepts(ROUTER_02, swap(CAP));
        address other = actor("other manager").account;
        vm.etch(other, address(MANAGER).code);
        bytes memory terms = encode(law);

        vm.prank(other);
        charterEnforcer.beforeHook(
            terms, "", SINGLE_DEFAULT, single(ROUTER_02, swap(CAP)), "", account, agent.account
        );

        refuses(overCap(CAP, 1e6, CAP), ROUTER_02, swap(1e6));
        vm.assertEq(
            charterEnforcer.spendWindowOf(other, account, law.golemId), spendWord(), "its own"
        );
    }
}

/// @notice Gas money for the agent's key (C19).
contract GolemCharterGasTest is CharterCalls {
    /// @dev A whole number of the window's units.
    uint48 private constant DAILY = 1 << 23;
    uint256 private constant DAILY_WEI = uint256(DAILY) * 1 gwei;
    uint256 private constant CEILING = 0.05 ether;

    function setUp() public override {
        super.setUp();
        law.gasDailyCap = DAILY;
    }

    function test_the_key_is_topped_up_to_its_ceiling_and_not_one_wei_higher() public {
        vm.deal(agent.account, CEILING - 1_000);

        refuses(_ceiling(CEILING + 1), SINGLE_DEFAULT, paid(agent.account, 1_001, ""));
        accepts(SINGLE_DEFAULT, paid(agent.account, 1_000, ""));

        vm.assertEq(agent.account.balance, CEILING, "balance");
        refuses(_ceiling(CEILING + 1), SINGLE_DEFAULT, paid(agent.account, 1, ""));
        vm.assertEq(spent(), 0, "no dollars were spent");
    }

    function test_the_days_gas_money_is_accepted_and_one_wei_more_is_refused() public {
        refuses(_overDaily(0, DAILY + 1), SINGLE_DEFAULT, paid(agent.account, DAILY_WEI + 1, ""));
        accepts(SINGLE_DEFAULT, paid(agent.account, DAILY_WEI, ""));
        vm.assertEq(agent.account.balance, DAILY_WEI, "paid");
        vm.deal(agent.account, 0);

        refuses(_overDaily(DAILY, 1), SINGLE_DEFAULT, paid(agent.account, 1, ""));
        vm.warp(1_800_000_000 + 26 hours - 1);
        refuses(_overDaily(DAILY, 1), SINGLE_DEFAULT, paid(agent.account, 1, ""));
        vm.warp(1_800_000_000 + 26 hours);
        accepts(SINGLE_DEFAULT, paid(agent.account, DAILY_WEI, ""));
    }

    function test_gas_money_is_paid_once_in_an_execution() public {
        bytes memory twice =
            abi.encodeWithSelector(Executions.Executions_Order.selector, Class.GasTopUp);

        refuses(twice, list(pay(agent.account, 1), pay(agent.account, 1)));
        refuses(twice, list(pay(agent.account, 1), pay(agent.account, 0)));
        accepts(list(pay(agent.account, 1), call(ROUTER_02, swap(1e6))));
        vm.assertEq(agent.account.balance, 1, "paid");
    }

    /// @dev ATK-28: a key with code redeems between two payments that are measured against one balance.
    function test_the_ceiling_holds_for_a_key_with_code() public {
        (law.gasCeiling, law.gasDailyCap) = (10_000_000, 1_000_000_000);
        vm.etch(agent.account, address(new Puppet()).code);
        Delegation memory leaf = grant(home(), law);
        bytes memory half = paid(agent.account, 0.005 ether, "");
        Execution memory nested = redemption(leaf, SINGLE_DEFAULT, half);
        Puppet(payable(agent.account)).plan(list(nested));

        redeem(agent.account, leaf, SINGLE_DEFAULT, half);
        vm.assertEq(agent.account.balance, 0.01 ether, "to the ceiling");
        refuses(
            abi.encodeWithSelector(
                IGolemCharterEnforcer.GolemCharter_GasCeiling.selector, 0.01 ether + 1, 0.01 ether
            ),
            SINGLE_DEFAULT,
            paid(agent.account, 1, "")
        );
        Execution[] memory both =
            list(pay(agent.account, 0.005 ether), pay(agent.account, 0.005 ether));
        vm.deal(agent.account, 0);
        refuses(abi.encodeWithSelector(Executions.Executions_Order.selector, Class.GasTopUp), both);
    }

    function test_gas_money_goes_to_the_agents_key_only() public {
        address other = actor("other key").account;
        law.targets = bytes.concat(law.targets, target(other, Role.AgentKey));

        refuses(wrongRecipient(other, agent.account), SINGLE_DEFAULT, paid(other, 1, ""));
    }

    function test_gas_money_carries_no_message() public {
        refuses(
            abi.encodeWithSelector(Actions.Actions_NotAPayment.selector, agent.account, 1),
            SINGLE_DEFAULT,
            paid(agent.account, 1, hex"00")
        );
    }

    /// @dev ATK-28: a key with code redeems again while it is being paid.
    function test_a_key_that_redeems_again_while_it_is_paid_gets_no_more() public {
        Puppet puppet = new Puppet();
        law.agentKey = address(puppet);
        law.targets = bytes.concat(law.targets, target(address(puppet), Role.AgentKey));
        Delegation memory leaf = grant(home(), law);
        uint256 half = DAILY_WEI / 2;
        Execution[] memory once =
            list(redemption(leaf, SINGLE_DEFAULT, paid(address(puppet), half, "")));
        Execution[] memory more =
            list(redemption(leaf, SINGLE_DEFAULT, paid(address(puppet), half + 1, "")));

        puppet.plan(more);
        vm.expectRevert(_overDaily(DAILY / 2, DAILY / 2 + 1));
        puppet.run(once);
        vm.assertEq(address(puppet).balance, 0, "nothing paid");

        puppet.plan(once);
        puppet.run(once);
        vm.assertEq(address(puppet).balance, DAILY_WEI, "the day's money, in two parts");
    }

    function test_a_grant_signed_anew_brings_no_new_gas_money() public {
        accepts(SINGLE_DEFAULT, paid(agent.account, DAILY_WEI, ""));
        law.epoch = 2;

        refuses(_overDaily(DAILY, 1), SINGLE_DEFAULT, paid(agent.account, 1, ""));
        vm.assertTrue(
            charterEnforcer.gasWindowOf(address(MANAGER), account, law.golemId) != 0, "window"
        );
    }

    function test_a_charter_without_gas_money_pays_none() public {
        law.gasDailyCap = 0;

        refuses(
            abi.encodeWithSelector(
                IGolemCharterEnforcer.GolemCharter_GasDailyCap.selector, 1, 0, 0
            ),
            SINGLE_DEFAULT,
            paid(agent.account, 1, "")
        );
        accepts(ROUTER_02, swap(1e6));
    }

    /// @dev Gas money and dollars are two windows.
    function test_a_spent_dollar_window_leaves_the_gas_money() public {
        law.navCap = type(uint64).max;
        accepts(ROUTER_02, swap(CAP));

        accepts(SINGLE_DEFAULT, paid(agent.account, DAILY_WEI, ""));
    }

    function _ceiling(uint256 balance) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_GasCeiling.selector, balance, CEILING
        );
    }

    function _overDaily(uint256 before, uint256 amount) private pure returns (bytes memory) {
        return abi.encodeWithSelector(
            IGolemCharterEnforcer.GolemCharter_GasDailyCap.selector, amount, DAILY - before, DAILY
        );
    }
}
