// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ReplicantBudgetEnforcer} from "../../src/enforcers/ReplicantBudgetEnforcer.sol";
import {
    Caveat,
    Delegation,
    Execution,
    IDelegationManager
} from "../../src/interfaces/IDelegationManager.sol";
import {IVault} from "../../src/interfaces/ITokens.sol";
import {SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class} from "../../src/rules/Actions.sol";
import {ReplicantBudget} from "../../src/rules/ReplicantBudget.sol";
import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {PricedEnforcerTest} from "./EnforcerTest.sol";

contract ReplicantBudgetEnforcerTest is PricedEnforcerTest {
    uint64 private constant BUDGET = 50e6;
    uint40 private constant LAST = NOW + 1 days;

    ReplicantBudgetEnforcer private _rule;
    bytes32 private _replicantId = keccak256("Alpha-1");
    uint64 private _budget = BUDGET;
    uint40 private _notAfter = NOW + 365 days;

    function setUp() public override {
        super.setUp();
        _rule = new ReplicantBudgetEnforcer();
        enforcer = _rule;
    }

    function terms() internal view override returns (bytes memory) {
        return abi.encodePacked(_replicantId, _budget, _notAfter, listing(law));
    }

    function header() internal pure override returns (uint256) {
        return 45;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(
            ReplicantBudgetEnforcer.ReplicantBudgetEnforcer_TermsLength.selector, 45, actual
        );
    }

    function bad() internal view override returns (Execution memory) {
        return sell(BUDGET + 1);
    }

    function reason() internal pure override returns (bytes memory) {
        return _exceeded(0, BUDGET + 1, BUDGET);
    }

    function reasonOfBatch() internal pure override returns (bytes memory) {
        return _exceeded(0, SOLD + BUDGET + 1, BUDGET);
    }

    /// @dev EIP-170; forge's own chain would not say so.
    function test_its_code_is_small_enough_for_a_chain() public view {
        vm.assertTrue(address(enforcer).code.length <= 24_576, "code size");
    }

    // The budget

    function test_the_budget_can_be_spent_and_not_a_micro_dollar_more() public {
        refuses(_exceeded(0, BUDGET + 1, BUDGET), sell(BUDGET + 1));
        accepts(sell(BUDGET));
        refuses(_exceeded(BUDGET, 1, BUDGET), sell(1));
        vm.assertEq(_spent(), BUDGET, "spent");
    }

    function test_a_batch_counts_as_a_sum() public {
        refuses(_exceeded(0, BUDGET + 1, BUDGET), two(sell(20e6), sell(BUDGET - 20e6 + 1)));
        accepts(two(sell(20e6), sell(BUDGET - 20e6)));
    }

    function test_it_never_refills() public {
        _budget = 100e6;
        accepts(sell(60e6));
        for (uint256 i = 1; i <= 12; i++) {
            vm.warp(NOW + i * 30 days);
            setPrice(usdcUsd, 1e8);
            setPrice(ethUsd, 2500e8);
            refuses(_exceeded(60e6, 40e6 + 1, 100e6), sell(40e6 + 1));
        }
        accepts(sell(40e6));
    }

    /// @dev Measured as {DailySpendLimitEnforcer} measures: deposits, minted shares and liquidity alike.
    function test_swaps_liquidity_and_deposits_share_the_budget() public {
        uint256 id = position();
        accepts(sell(20e6));
        accepts(deposit(10e6));
        accepts(addLiquidity(10e6));
        refuses(_exceeded(40e6, 10e6 + 1, BUDGET), increase(id, 10e6 + 1));
        uint256 shares = 1e12;
        uint256 assets = IVault(vault).previewMint(shares);
        accepts(Execution(vault, 0, abi.encodeCall(IVault.mint, (shares, law.account))));
        vm.assertEq(_spent(), 40e6 + assets, "all of them");
    }

    function test_the_value_is_the_feeds_and_the_moments() public {
        setPrice(usdcUsd, 2e8);
        Execution memory call = Execution(ROUTER_02, 0, sellUsdc(30e6, 0, law.account));
        refuses(_exceeded(0, 60e6, BUDGET), call);
        setPrice(usdcUsd, 1e8);
        accepts(call);
    }

    function test_other_classes_do_not_count() public {
        uint256 id = position();
        unprice();
        for (uint8 class = 0; class <= uint8(type(Class).max); class++) {
            if (isUnmeasured(Class(class))) {
                hook(terms(), SINGLE_DEFAULT, packed(callOf(Class(class), id)));
            }
        }
        accepts(callOf(Class.Transfer, 0));
        accepts(removeLiquidity(id));
        vm.assertEq(_spent(), 0, "nothing spent");
    }

    function test_an_execution_that_fails_is_not_counted() public {
        Delegation memory leaf = given(me());
        bytes memory call = packed(Execution(ROUTER_02, 0, sellUsdc(SOLD, 1 ether, law.account)));
        vm.expectRevert(abi.encodeWithSignature("Error(string)", "Too little received"));
        redeem(agent.account, leaf, SINGLE_DEFAULT, call);
        vm.assertEq(_spent(), 0, "nothing spent");
    }

    // The last second

    /// @dev ATK-33.
    function test_life_ends_a_second_after_its_last() public {
        _notAfter = LAST;
        vm.warp(LAST);
        accepts(sell(SOLD));
        accepts(callOf(Class.Approve, 0));
        vm.warp(LAST + 1);
        bytes memory over = abi.encodeWithSelector(
            ReplicantBudget.ReplicantBudget_Outlived.selector, LAST, LAST + 1
        );
        refuses(over, sell(SOLD));
        // Whatever it is that it wants to do.
        refuses(over, callOf(Class.Approve, 0));
    }

    /// @dev SPEC C6: a grant that was signed and kept grows no younger.
    function test_life_does_not_begin_with_the_first_use() public {
        _notAfter = LAST;
        Delegation memory leaf = given(me());
        vm.warp(LAST + 1);
        vm.expectRevert(
            abi.encodeWithSelector(
                ReplicantBudget.ReplicantBudget_Outlived.selector, LAST, LAST + 1
            )
        );
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(sell(SOLD)));
    }

    // Who shares, and who does not (SPEC D17)

    /// @dev ATK-31: another salt, another delegate, another life.
    function test_a_new_grant_refills_nothing() public {
        accepts(sell(BUDGET));
        Actor memory next = actor("next key");
        Delegation memory rotated = root(me(), next.account, only(address(enforcer), terms()));
        vm.expectRevert(_exceeded(BUDGET, 1, BUDGET));
        redeem(next.account, rotated, SINGLE_DEFAULT, packed(sell(1)));
        _notAfter += 1;
        refuses(_exceeded(BUDGET, 1, BUDGET), sell(1));
        law.targets = bytes.concat(law.targets, law.targets);
        refuses(_exceeded(BUDGET, 1, BUDGET), sell(1));
    }

    function test_a_larger_budget_gives_the_difference() public {
        accepts(sell(30e6));
        _budget = BUDGET + 10e6;
        refuses(_exceeded(30e6, 30e6 + 1, BUDGET + 10e6), sell(30e6 + 1));
        accepts(sell(30e6));
    }

    function test_a_smaller_budget_than_was_spent_gives_nothing_and_traps_nothing() public {
        accepts(sell(30e6));
        _budget = 20e6;
        refuses(_exceeded(30e6, 1, 20e6), sell(1));
        accepts(callOf(Class.Transfer, 0));
        _budget = 30e6 + 1;
        refuses(_exceeded(30e6, 2, 30e6 + 1), sell(2));
    }

    function test_two_replicants_do_not_share_a_budget() public {
        accepts(sell(BUDGET));
        _replicantId = keccak256("Alpha-2");
        accepts(sell(BUDGET));
    }

    function test_two_owners_do_not_share_a_budget() public {
        accepts(sell(BUDGET));
        Owner memory other = hybridOwner();
        law = golemOf(other);
        Delegation memory leaf = given(other);
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(sell(BUDGET)));
        vm.expectRevert(_exceeded(BUDGET, 1, BUDGET));
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(sell(1)));
    }

    /// @dev ATK-01.
    function test_two_managers_do_not_share_a_budget() public {
        address stranger = actor("stranger").account;
        vm.prank(stranger);
        hook(terms(), SINGLE_DEFAULT, packed(sell(BUDGET)));
        vm.assertEq(_spent(), 0, "the manager's");
        vm.assertEq(_rule.spentBy(stranger, law.account, _replicantId), BUDGET, "his own");
        accepts(sell(BUDGET));
    }

    function testFuzz_a_strangers_direct_call_writes_one_slot_under_his_address(address stranger)
        public
    {
        vm.assume(stranger != address(vm) && stranger != address(MANAGER));
        bytes memory made = terms();
        bytes memory execution = packed(sell(SOLD));
        vm.record();
        vm.prank(stranger);
        enforcer.beforeHook(made, "", SINGLE_DEFAULT, execution, bytes32(0), law.account, stranger);

        (, bytes32[] memory writes) = vm.accesses(address(enforcer));
        bytes32 slot = keccak256(abi.encode(stranger, uint256(0)));
        slot = keccak256(abi.encode(law.account, slot));
        slot = keccak256(abi.encode(_replicantId, slot));
        vm.assertEq(writes.length, 1, "slots written");
        vm.assertEq(writes[0], slot, "his own");
    }

    // Owner, parent, Replicant (SPEC G9)

    function test_a_replicant_spends_its_budget_under_its_parents_charter() public {
        (Delegation memory above, Delegation memory below) = _family("replicant");
        Actor memory replicant = actor("replicant");
        redeem(replicant.account, below, above, SINGLE_DEFAULT, packed(sell(BUDGET)));
        _refusesChild(_exceeded(BUDGET, 1, BUDGET), "replicant", below, above, sell(1));

        vm.assertEq(
            _rule.spentBy(address(MANAGER), agent.account, _replicantId), BUDGET, "its parent's"
        );
        // The parent is not bound by its child's budget.
        redeem(agent.account, above, SINGLE_DEFAULT, packed(sell(100e6)));
    }

    /// @dev ATK-08: each has all that the parent has, and together they have no more.
    function test_replicants_together_never_exceed_their_parent() public {
        uint64 cap = 1 << 29;
        (law.spendCap, law.navCap, law.slippageBps) = (cap, type(uint64).max, 200);
        _budget = cap;
        string[3] memory names = ["one", "two", "three"];
        Delegation memory above;
        Delegation memory below;
        for (uint256 i = 0; i < 2; i++) {
            _replicantId = keccak256(bytes(names[i]));
            (above, below) = _family(names[i]);
            redeem(actor(names[i]).account, below, above, SINGLE_DEFAULT, packed(sell(cap / 2)));
        }
        _replicantId = keccak256("three");
        (above, below) = _family("three");
        bytes memory over =
            abi.encodeWithSelector(SpendWindow.SpendWindow_OverCap.selector, cap, 1e6, cap);
        _refusesChild(over, "three", below, above, sell(1e6));
        vm.assertEq(
            _rule.spentBy(address(MANAGER), agent.account, _replicantId), 0, "nothing counted"
        );
    }

    /// @dev ATK-09: switched off by the owner, revoked at the registry, or over.
    function test_a_parent_that_ends_ends_its_replicants() public {
        (Delegation memory above, Delegation memory below) = _family("replicant");
        uint256 state = vm.snapshotState();

        vm.prank(law.account);
        MANAGER.disableDelegation(above);
        _refusesChild(
            abi.encodeWithSelector(IDelegationManager.CannotUseADisabledDelegation.selector),
            "replicant",
            below,
            above,
            sell(SOLD)
        );

        vm.revertToState(state);
        vm.prank(law.owner);
        registry.revoke(law.golemId);
        _refusesChild(
            abi.encodeWithSignature(
                "GolemLife_EpochRevoked(bytes32,uint256,uint256)", law.golemId, 1, 1_024
            ),
            "replicant",
            below,
            above,
            sell(SOLD)
        );

        vm.revertToState(state);
        vm.warp(law.end + 1);
        _refusesChild(
            abi.encodeWithSignature(
                "MortalityTimeWindow_Expired(uint256,uint256)", law.end, law.end + 1
            ),
            "replicant",
            below,
            above,
            sell(SOLD)
        );

        vm.revertToState(state);
        vm.warp(law.end);
        redeem(actor("replicant").account, below, above, SINGLE_DEFAULT, packed(sell(SOLD)));
    }

    function test_a_parent_can_switch_off_its_replicant_alone() public {
        (Delegation memory above, Delegation memory below) = _family("replicant");
        vm.prank(agent.account);
        MANAGER.disableDelegation(below);
        _refusesChild(
            abi.encodeWithSelector(IDelegationManager.CannotUseADisabledDelegation.selector),
            "replicant",
            below,
            above,
            sell(SOLD)
        );
        redeem(agent.account, above, SINGLE_DEFAULT, packed(sell(SOLD)));
    }

    /// @dev ATK-46: to itself, or to a friend, with a budget as large as it likes, or with none.
    function test_a_replicant_that_delegates_on_gains_nothing() public {
        (Delegation memory above, Delegation memory middle) = _family("replicant");
        Actor memory replicant = actor("replicant");
        address[2] memory to = [replicant.account, actor("friend").account];
        (_budget, _notAfter) = (type(uint64).max, type(uint40).max);
        for (uint256 i = 0; i < 2; i++) {
            for (uint256 j = 0; j < 2; j++) {
                uint256 state = vm.snapshotState();
                Caveat[] memory caveats = j == 0 ? noCaveats() : only(address(enforcer), terms());
                Delegation[] memory chain = new Delegation[](3);
                chain[0] = child(middle, replicant, to[i], caveats);
                (chain[1], chain[2]) = (middle, above);

                redeem(to[i], chain, SINGLE_DEFAULT, packed(sell(30e6)));
                vm.expectRevert(_exceeded(30e6, 20e6 + 1, BUDGET));
                redeem(to[i], chain, SINGLE_DEFAULT, packed(sell(20e6 + 1)));
                redeem(to[i], chain, SINGLE_DEFAULT, packed(sell(20e6)));
                _refusesChild(_exceeded(BUDGET, 1, BUDGET), "replicant", middle, above, sell(1));
                vm.revertToState(state);
            }
        }
    }

    /// @dev ATK-23: twice on one delegation counts twice.
    function test_two_budgets_on_one_delegation_never_allow_more_than_one() public {
        Caveat[] memory both = new Caveat[](2);
        both[0] = Caveat({enforcer: address(enforcer), terms: terms(), args: ""});
        both[1] = both[0];
        Delegation memory leaf = root(me(), agent.account, both);
        vm.expectRevert(_exceeded(25e6 + 1, 25e6 + 1, BUDGET));
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(sell(25e6 + 1)));
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(sell(25e6)));
        vm.assertEq(_spent(), BUDGET, "counted twice");
    }

    // Terms

    function testFuzz_the_terms_are_read_back(bytes32 replicantId, uint64 budget, uint40 notAfter)
        public
        view
    {
        bytes memory listed = listing(law);

        (bytes32 id, uint64 most, uint40 last, bytes memory rest) =
            _rule.getTermsInfo(abi.encodePacked(replicantId, budget, notAfter, listed));

        vm.assertEq(id, replicantId, "replicantId");
        vm.assertEq(most, budget, "budget");
        vm.assertEq(last, notAfter, "notAfter");
        vm.assertEq(rest, listed, "listing");
    }

    // Helpers

    /// @dev The owner's charter for the agent, which allows Replicants, and the agent's grant to one.
    function _family(string memory name)
        private
        returns (Delegation memory above, Delegation memory below)
    {
        law.flags = 1;
        above = grant(me(), law);
        below = child(above, agent, actor(name).account, only(address(enforcer), terms()));
    }

    function _refusesChild(
        bytes memory why,
        string memory name,
        Delegation memory below,
        Delegation memory above,
        Execution memory call
    ) private {
        address redeemer = actor(name).account;
        vm.expectRevert(why);
        redeem(redeemer, below, above, SINGLE_DEFAULT, packed(call));
    }

    function _spent() private view returns (uint256) {
        return _rule.spentBy(address(MANAGER), law.account, _replicantId);
    }

    function _exceeded(uint256 spent, uint256 amount, uint256 budget)
        private
        pure
        returns (bytes memory)
    {
        return abi.encodeWithSelector(
            ReplicantBudget.ReplicantBudget_Exceeded.selector, spent, amount, budget
        );
    }
}
