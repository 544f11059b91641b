// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {CadenceEnforcer} from "../../src/enforcers/CadenceEnforcer.sol";
import {
    Caveat,
    Delegation,
    Execution,
    IDelegationManager
} from "../../src/interfaces/IDelegationManager.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Cadence} from "../../src/rules/Cadence.sol";
import {Puppet} from "../Puppet.sol";
import {EnforcerTest} from "./EnforcerTest.sol";

/// @notice What the shared tests ask of a rule is asked with two a week; `cronOnly(weekly)` is one.
contract CadenceEnforcerTest is EnforcerTest {
    uint32 private constant WEEK = 7 days;

    CadenceEnforcer private _cadence;
    uint32 private _period = WEEK;
    uint8 private _count = 2;

    function setUp() public override {
        super.setUp();
        _cadence = new CadenceEnforcer();
        enforcer = _cadence;
    }

    function terms() internal view override returns (bytes memory) {
        return abi.encodePacked(law.golemId, _period, _count);
    }

    function header() internal pure override returns (uint256) {
        return 37;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(Cadence.Cadence_TermsLength.selector, 37, actual);
    }

    /// @dev Both have acted twice: the account, and the agent in the middle of a chain.
    function forbid() internal override {
        for (uint256 i = 0; i < 2; i++) {
            vm.prank(address(MANAGER));
            hook(terms(), SINGLE_DEFAULT, "");
            vm.prank(address(MANAGER));
            enforcer.beforeHook(
                terms(), "", SINGLE_DEFAULT, "", bytes32(0), agent.account, agent.account
            );
        }
    }

    function reason() internal pure override returns (bytes memory) {
        return _tooSoon(NOW + WEEK, NOW, 2, WEEK);
    }

    // The bound

    /// @dev SPEC C13: `cronOnly(weekly)`.
    function test_once_a_week_is_a_week_after_the_last_and_not_a_second_before() public {
        _count = 1;
        accepts(good());

        refuses(_tooSoon(NOW + WEEK, NOW, 1, WEEK), good());
        vm.warp(NOW + WEEK - 1);
        refuses(_tooSoon(NOW + WEEK, NOW + WEEK - 1, 1, WEEK), good());
        vm.warp(NOW + WEEK);
        accepts(good());
        vm.warp(NOW + 2 * WEEK - 1);
        refuses(_tooSoon(NOW + 2 * WEEK, NOW + 2 * WEEK - 1, 1, WEEK), good());

        vm.assertEq(_redemptions(), 2, "redemptions");
    }

    /// @dev ATK-19: the sixth and the seventh day of one week, and then the first of the next.
    function test_two_periods_beside_each_other_do_not_add_up() public {
        vm.warp(NOW + 6 days);
        accepts(good());
        vm.warp(NOW + 7 days);
        accepts(good());
        vm.warp(NOW + 8 days);
        refuses(_tooSoon(NOW + 13 days, NOW + 8 days, 2, WEEK), good());
        vm.warp(NOW + 13 days);
        accepts(good());
        refuses(_tooSoon(NOW + 14 days, NOW + 13 days, 2, WEEK), good());
    }

    function test_a_batch_counts_one() public {
        _count = 1;
        accepts(two(good(), good()));

        vm.assertEq(_redemptions(), 1, "redemptions");
        refuses(_tooSoon(NOW + WEEK, NOW, 1, WEEK), two(good(), good()));
    }

    /// @dev Two executions in one call of the manager are two.
    function test_each_execution_of_a_redemption_counts_one() public {
        Delegation memory leaf = given(me());
        _redeemTimes(leaf, 2);
        vm.assertEq(_redemptions(), 2, "redemptions");
        vm.assertEq(USDC.balanceOf(law.account), 10_000e6 - 2 * SOLD, "sold twice");

        vm.warp(NOW + WEEK);
        vm.expectRevert(_tooSoon(NOW + 2 * WEEK, NOW + WEEK, 2, WEEK));
        _redeemTimes(leaf, 3);
        vm.assertEq(_redemptions(), 2, "all or nothing");
    }

    function test_an_execution_that_fails_is_not_counted() public {
        Delegation memory leaf = given(me());
        vm.expectRevert(abi.encodeWithSignature("Error(string)", "Too little received"));
        redeem(
            agent.account,
            leaf,
            SINGLE_DEFAULT,
            packed(Execution(ROUTER_02, 0, sellUsdc(SOLD, 1 ether, law.account)))
        );

        vm.assertEq(_redemptions(), 0, "redemptions");
    }

    /// @dev ATK-28: the execution calls the agent's contract, which redeems again; what it is inside of
    ///      was counted before.
    function test_a_redemption_inside_a_redemption_counts_too() public {
        Puppet puppet = new Puppet();
        Delegation memory leaf = root(me(), address(puppet), only(address(enforcer), terms()));
        Execution[] memory again = new Execution[](1);
        again[0] = Execution(address(MANAGER), 0, redemption(leaf, good()).data);
        puppet.plan(again);
        bytes memory poke = abi.encodeCall(Puppet.poke, ());

        uint256 state = vm.snapshotState();
        redeem(address(puppet), leaf, SINGLE_DEFAULT, single(address(puppet), poke));
        vm.assertEq(_redemptions(), 2, "outer and inner");

        vm.revertToState(state);
        _count = 1;
        leaf = root(me(), address(puppet), only(address(enforcer), terms()));
        again[0] = Execution(address(MANAGER), 0, redemption(leaf, good()).data);
        puppet.plan(again);
        vm.expectRevert(_tooSoon(NOW + WEEK, NOW, 1, WEEK));
        redeem(address(puppet), leaf, SINGLE_DEFAULT, single(address(puppet), poke));
    }

    // Later grants (SPEC D17)

    /// @dev ATK-31: feed, rotation and re-grant refill nothing.
    function test_a_new_grant_refills_nothing() public {
        Delegation memory old = given(me());
        redeem(agent.account, old, SINGLE_DEFAULT, packed(good()));
        redeem(agent.account, old, SINGLE_DEFAULT, packed(good()));
        Actor memory next = actor("next key");
        Delegation memory rotated = root(me(), next.account, only(address(enforcer), terms()));

        vm.expectRevert(reason());
        redeem(next.account, rotated, SINGLE_DEFAULT, packed(good()));
    }

    function test_a_later_grant_with_another_count_or_period_is_judged_by_all_before() public {
        (_count, _period) = (1, 1 hours);
        for (uint256 i = 0; i < 8; i++) {
            vm.warp(NOW + i * 1 hours);
            accepts(good());
        }

        (_count, _period) = (7, 1 days);
        refuses(_tooSoon(NOW + 25 hours, NOW + 7 hours, 7, 1 days), good());
        _count = 9;
        accepts(good());
        refuses(_tooSoon(NOW + 1 days, NOW + 7 hours, 9, 1 days), good());
        (_count, _period) = (1, WEEK);
        refuses(_tooSoon(NOW + 7 hours + WEEK, NOW + 7 hours, 1, WEEK), good());
    }

    /// @dev Two grants alive together are two bounds on one history.
    function test_two_delegations_for_one_golem_share_the_count() public {
        Delegation memory twice = given(me());
        (_count, _period) = (3, 1 days);
        Delegation memory thrice = given(me());

        redeem(agent.account, twice, SINGLE_DEFAULT, packed(good()));
        redeem(agent.account, thrice, SINGLE_DEFAULT, packed(good()));
        vm.expectRevert(reason());
        redeem(agent.account, twice, SINGLE_DEFAULT, packed(good()));
        redeem(agent.account, thrice, SINGLE_DEFAULT, packed(good()));
        vm.expectRevert(_tooSoon(NOW + 1 days, NOW, 3, 1 days));
        redeem(agent.account, thrice, SINGLE_DEFAULT, packed(good()));
    }

    // Who shares, and who does not

    function test_children_of_one_grant_share_the_count() public {
        _count = 1;
        Delegation memory above = given(me());
        Actor memory one = actor("one replicant");
        Actor memory other = actor("other replicant");
        Delegation memory first = child(above, agent, one.account, noCaveats());
        Delegation memory second = child(above, agent, other.account, noCaveats());

        redeem(one.account, first, above, SINGLE_DEFAULT, packed(good()));
        vm.expectRevert(_tooSoon(NOW + WEEK, NOW, 1, WEEK));
        redeem(other.account, second, above, SINGLE_DEFAULT, packed(good()));
    }

    /// @dev The history is their delegator's, and not the owner's.
    function test_caveats_on_two_children_share_the_count() public {
        _count = 1;
        Delegation memory above = root(me(), agent.account, noCaveats());
        Actor memory one = actor("one replicant");
        Actor memory other = actor("other replicant");
        Delegation memory first = child(above, agent, one.account, only(address(enforcer), terms()));
        Delegation memory second =
            child(above, agent, other.account, only(address(enforcer), terms()));

        redeem(one.account, first, above, SINGLE_DEFAULT, packed(good()));
        vm.expectRevert(_tooSoon(NOW + WEEK, NOW, 1, WEEK));
        redeem(other.account, second, above, SINGLE_DEFAULT, packed(good()));
        vm.assertEq(_redemptions(), 0, "the owner's");
    }

    /// @dev Each link has its own bound and its own history.
    function test_caveats_on_both_links_both_bind() public {
        Actor memory replicant = actor("replicant");
        Delegation memory above = given(me());
        (_count, _period) = (1, 1 days);
        Delegation memory leaf =
            child(above, agent, replicant.account, only(address(enforcer), terms()));

        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(good()));
        vm.expectRevert(_tooSoon(NOW + 1 days, NOW, 1, 1 days));
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(good()));
        redeem(agent.account, above, SINGLE_DEFAULT, packed(good()));
        vm.warp(NOW + 1 days);
        vm.expectRevert(_tooSoon(NOW + WEEK, NOW + 1 days, 2, WEEK));
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(good()));
    }

    /// @dev ATK-23: they count twice, so they refuse early and never late.
    function test_two_caveats_on_one_link_count_each_execution_twice() public {
        (_count, _period) = (4, 1 days);
        Caveat[] memory caveats = new Caveat[](2);
        caveats[0] = Caveat(address(enforcer), terms(), "");
        (_count, _period) = (6, WEEK);
        caveats[1] = Caveat(address(enforcer), terms(), "");
        Delegation memory leaf = root(me(), agent.account, caveats);

        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
        vm.assertEq(_redemptions(), 4, "twice each");
        vm.expectRevert(_tooSoon(NOW + 1 days, NOW, 4, 1 days));
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
    }

    function test_two_golems_of_one_owner_do_not_share() public {
        forbid();
        refuses(reason(), good());
        law.golemId = keccak256("another Golem");
        accepts(good());
    }

    function test_two_owners_do_not_share() public {
        forbid();
        bytes32 golemId = law.golemId;
        Owner memory other = hybridOwner();
        law = golemOf(other);
        law.golemId = golemId;
        Delegation memory leaf = given(other);

        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
        vm.expectRevert(reason());
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
    }

    /// @dev ATK-01: anybody may call a hook, and is a manager of his own.
    function test_a_strangers_calls_use_nothing_up() public {
        address stranger = actor("stranger").account;
        for (uint256 i = 0; i < 2; i++) {
            vm.prank(stranger);
            hook(terms(), SINGLE_DEFAULT, packed(good()));
        }
        vm.prank(stranger);
        vm.expectRevert(reason());
        hook(terms(), SINGLE_DEFAULT, packed(good()));

        vm.assertEq(_redemptions(), 0, "the manager's");
        vm.assertEq(_cadence.redemptionsOf(stranger, law.account, law.golemId), 2, "his own");
        accepts(good());
        accepts(good());
        refuses(reason(), good());
    }

    function testFuzz_a_strangers_direct_call_writes_one_slot_under_his_address(address stranger)
        public
    {
        vm.assume(stranger != address(vm) && stranger != address(MANAGER));
        bytes memory made = terms();
        vm.record();
        vm.prank(stranger);
        enforcer.beforeHook(made, "", SINGLE_DEFAULT, "", bytes32(0), law.account, stranger);

        (, bytes32[] memory writes) = vm.accesses(address(enforcer));
        bytes32 slot = keccak256(abi.encode(stranger, uint256(0)));
        slot = keccak256(abi.encode(law.account, slot));
        slot = keccak256(abi.encode(law.golemId, slot));
        vm.assertEq(writes.length, 1, "slots written");
        vm.assertEq(writes[0], slot, "his own");
    }

    // What is looked at

    function test_longer_terms_are_refused() public {
        for (uint256 length = 38; length < 120; length++) {
            vm.expectRevert(tooShort(length));
            hook(bytes.concat(terms(), new bytes(length - 37)), SINGLE_DEFAULT, "");
        }
    }

    function test_a_period_or_a_count_of_nothing_is_never_redeemed() public {
        _period = 0;
        refuses(abi.encodeWithSelector(Cadence.Cadence_ZeroPeriod.selector), good());
        (_period, _count) = (WEEK, 0);
        refuses(abi.encodeWithSelector(Cadence.Cadence_ZeroCount.selector), good());
    }

    function test_an_empty_batch_counts_like_any_other() public {
        _count = 1;
        Delegation memory leaf = given(me());
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(new Execution[](0)));
        vm.expectRevert(_tooSoon(NOW + WEEK, NOW, 1, WEEK));
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(new Execution[](0)));
    }

    function testFuzz_nothing_but_terms_mode_and_delegator_counts(
        bytes memory noise,
        bytes32 word,
        address redeemer
    ) public {
        enforcer.beforeHook(terms(), noise, SINGLE_DEFAULT, noise, word, law.account, redeemer);
        hook(terms(), BATCH_DEFAULT, "");
        vm.expectRevert(reason());
        enforcer.beforeHook(terms(), noise, SINGLE_DEFAULT, noise, word, law.account, redeemer);
    }

    function testFuzz_the_terms_are_read_back(bytes32 golemId, uint32 period, uint8 count)
        public
        view
    {
        vm.assume(period != 0 && count != 0);

        (bytes32 readId, uint32 readPeriod, uint8 readCount) =
            _cadence.getTermsInfo(abi.encodePacked(golemId, period, count));

        vm.assertEq(readId, golemId, "golemId");
        vm.assertEq(readPeriod, period, "period");
        vm.assertEq(readCount, count, "count");
    }

    /// @dev What is said to be due is accepted then, and refused a second before.
    function test_the_moment_it_names_is_the_one_it_accepts() public {
        vm.assertEq(_due(), 0, "never acted");
        accepts(good());
        vm.assertEq(_due(), 0, "one of two");
        vm.warp(NOW + 1 days);
        accepts(good());
        vm.assertEq(_due(), NOW + WEEK, "two of two");

        vm.warp(_due() - 1);
        refuses(_tooSoon(NOW + WEEK, NOW + WEEK - 1, 2, WEEK), good());
        vm.warp(_due());
        accepts(good());
        vm.assertEq(_due(), NOW + 1 days + WEEK, "the second of before");
        vm.expectRevert(tooShort(36));
        _cadence.dueAt(address(MANAGER), law.account, cut(terms(), 36));
    }

    function _redeemTimes(Delegation memory leaf, uint256 times) private {
        Delegation[] memory chain = new Delegation[](1);
        chain[0] = leaf;
        bytes[] memory contexts = new bytes[](times);
        bytes[] memory executions = new bytes[](times);
        for (uint256 i = 0; i < times; i++) {
            contexts[i] = abi.encode(chain);
            executions[i] = packed(good());
        }
        vm.prank(agent.account);
        IDelegationManager(MANAGER).redeemDelegations(contexts, new ModeCode[](times), executions);
    }

    function _due() private view returns (uint256) {
        return _cadence.dueAt(address(MANAGER), law.account, terms());
    }

    function _redemptions() private view returns (uint256) {
        return _cadence.redemptionsOf(address(MANAGER), law.account, law.golemId);
    }

    function _tooSoon(uint256 dueAt, uint256 nowAt, uint256 count, uint256 period)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(Cadence.Cadence_TooSoon.selector, dueAt, nowAt, count, period);
    }
}
