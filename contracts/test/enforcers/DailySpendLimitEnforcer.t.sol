// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {DailySpendLimitEnforcer} from "../../src/enforcers/DailySpendLimitEnforcer.sol";
import {Delegation, Execution} from "../../src/interfaces/IDelegationManager.sol";
import {IVault} from "../../src/interfaces/ITokens.sol";
import {IMulticall} from "../../src/interfaces/IUniswapV3.sol";
import {BATCH_DEFAULT, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class} from "../../src/rules/Actions.sol";
import {SpendWindow} from "../../src/rules/SpendWindow.sol";
import {PricedEnforcerTest} from "./EnforcerTest.sol";

contract DailySpendLimitEnforcerTest is PricedEnforcerTest {
    uint64 private constant CAP = 1000e6;
    /// @dev A cap of 30 bits is counted in units of 2^15 micro-dollars, of which it has 30,517.
    uint256 private constant UNIT = 1 << 15;
    uint256 private constant MOST = CAP / UNIT * UNIT;

    DailySpendLimitEnforcer private _limit;

    function setUp() public override {
        super.setUp();
        _limit = new DailySpendLimitEnforcer();
        enforcer = _limit;
    }

    function terms() internal view override returns (bytes memory) {
        return
            abi.encodePacked(law.golemId, law.epoch, law.spendCap, law.bucketMinutes, listing(law));
    }

    function header() internal pure override returns (uint256) {
        return 44;
    }

    function tooShort(uint256 actual) internal pure override returns (bytes memory) {
        return abi.encodeWithSelector(
            DailySpendLimitEnforcer.DailySpendLimitEnforcer_TermsLength.selector, 44, actual
        );
    }

    function bad() internal view override returns (Execution memory) {
        return sell(MOST + 1);
    }

    function reason() internal pure override returns (bytes memory) {
        return _overCap(0, MOST + 1);
    }

    function reasonOfBatch() internal pure override returns (bytes memory) {
        return _overCap(0, SOLD + MOST + 1);
    }

    // The bound

    function test_the_cap_can_be_spent_and_not_a_micro_dollar_more() public {
        refuses(_overCap(0, MOST + 1), sell(MOST + 1));
        accepts(sell(MOST));
        refuses(_overCap(MOST, 1), sell(1));

        vm.assertEq(_window() & 0x7fff, CAP / UNIT, "units in the newest bucket");
    }

    function test_a_cap_is_reached_in_steps() public {
        // Each is counted up to a whole unit.
        accepts(sell(600e6 + 1));
        uint256 spent = (600e6 / UNIT + 1) * UNIT;
        refuses(_overCap(spent, MOST - spent + 1), sell(MOST - spent + 1));
        accepts(sell(MOST - spent));
    }

    /// @dev ATK-23: a batch is a sum, and so is a multicall.
    function test_a_batch_counts_as_a_sum() public {
        refuses(_overCap(0, MOST + 1), two(sell(500e6), sell(MOST - 500e6 + 1)));
        accepts(two(sell(500e6), sell(MOST - 500e6)));
    }

    function test_a_multicall_counts_as_a_sum() public {
        bytes[] memory inner = new bytes[](2);
        (inner[0], inner[1]) = (sell(500e6).callData, sell(MOST - 500e6 + 1).callData);
        refuses(
            _overCap(0, MOST + 1),
            Execution(ROUTER_02, 0, abi.encodeCall(IMulticall.multicall, (inner)))
        );
        inner[1] = sell(MOST - 500e6).callData;
        accepts(Execution(ROUTER_02, 0, abi.encodeCall(IMulticall.multicall, (inner))));
    }

    function test_swaps_liquidity_and_deposits_share_the_cap() public {
        uint256 id = position();
        accepts(sell(400e6));
        accepts(deposit(200e6));
        accepts(addLiquidity(200e6));
        uint256 spent = (400e6 / UNIT + 1 + 2 * (200e6 / UNIT + 1)) * UNIT;

        vm.assertEq(_spent(), spent, "all three");
        refuses(_overCap(spent, 200e6), increase(id, 200e6));
        refuses(_overCap(spent, 200e6), deposit(200e6));
    }

    /// @dev Shares are asked for; what they cost is the vault's to say.
    function test_minted_shares_count_at_what_they_cost() public {
        uint256 shares = 100e12;
        uint256 assets = IVault(vault).previewMint(shares);
        accepts(Execution(vault, 0, abi.encodeCall(IVault.mint, (shares, law.account))));

        vm.assertEq(_spent(), (assets + UNIT - 1) / UNIT * UNIT, "assets, not shares");
    }

    function test_the_value_is_the_feeds_and_the_moments() public {
        setPrice(usdcUsd, 2e8);
        refuses(_overCap(0, 2 * 500e6), _free(500e6));
        setPrice(usdcUsd, 0.5e8);
        accepts(_free(1999e6));
    }

    /// @dev Anything sold for anything: only this rule is attached.
    function _free(uint256 amount) private view returns (Execution memory) {
        return Execution(ROUTER_02, 0, sellUsdc(amount, 0, law.account));
    }

    // The window

    /// @dev ATK-19: no period of 24 hours has more than the cap, wherever it starts.
    function test_what_was_spent_is_free_again_after_a_day_and_not_before() public {
        uint256 bucket = uint256(NOW) / 7200 * 7200;
        vm.warp(bucket + 7199);
        accepts(sell(MOST));
        vm.warp(bucket + 1 days + 7199);
        refuses(_overCap(MOST, 1), sell(1));
        vm.warp(bucket + 1 days + 7200);
        accepts(sell(MOST));
    }

    function test_the_period_is_a_parameter() public {
        law.bucketMinutes = 840;
        uint256 bucket = uint256(NOW) / 50_400 * 50_400;
        vm.warp(bucket + 50_399);
        accepts(sell(MOST));
        vm.warp(bucket + 7 days + 50_399);
        refuses(_overCap(MOST, 1), sell(1));
        vm.warp(bucket + 7 days + 50_400);
        accepts(sell(SOLD));
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

        vm.assertEq(_window(), 0, "nothing written");
    }

    // Who shares, and who does not (SPEC D17)

    /// @dev ATK-08, ATK-23: two delegations of one owner for one Golem.
    function test_two_delegations_for_one_golem_share_the_cap() public {
        Delegation memory one = given(me());
        law.tokens = bytes.concat(law.tokens, token(address(1), usdcUsd, 6));
        Delegation memory other = given(me());
        vm.assertTrue(
            MANAGER.getDelegationHash(one) != MANAGER.getDelegationHash(other), "two of them"
        );

        redeem(agent.account, one, SINGLE_DEFAULT, packed(sell(MOST)));
        vm.expectRevert(_overCap(MOST, 1));
        redeem(agent.account, other, SINGLE_DEFAULT, packed(sell(1)));
    }

    function test_children_of_one_grant_share_the_cap() public {
        Delegation memory above = given(me());
        Actor memory one = actor("one replicant");
        Actor memory other = actor("other replicant");
        Delegation memory first = child(above, agent, one.account, noCaveats());
        Delegation memory second = child(above, agent, other.account, noCaveats());

        redeem(one.account, first, above, SINGLE_DEFAULT, packed(sell(MOST)));
        vm.expectRevert(_overCap(MOST, 1));
        redeem(other.account, second, above, SINGLE_DEFAULT, packed(sell(1)));
    }

    /// @dev Two children that each carry the caveat: the window is their delegator's.
    function test_caveats_on_two_children_share_the_cap() public {
        Delegation memory above = root(me(), agent.account, noCaveats());
        Actor memory one = actor("one replicant");
        Actor memory other = actor("other replicant");
        Delegation memory first = child(above, agent, one.account, only(address(enforcer), terms()));
        Delegation memory second =
            child(above, agent, other.account, only(address(enforcer), terms()));

        redeem(one.account, first, above, SINGLE_DEFAULT, packed(sell(MOST)));
        vm.expectRevert(_overCap(MOST, 1));
        redeem(other.account, second, above, SINGLE_DEFAULT, packed(sell(1)));
        vm.assertEq(_window(), 0, "not the owner's window");
    }

    /// @dev ATK-31: feed, rotation and re-grant shed nothing.
    function test_a_new_grant_refills_nothing() public {
        accepts(sell(MOST));

        law.epoch = 2;
        refuses(_overCap(MOST, 1), sell(1));
        Actor memory next = actor("next key");
        Delegation memory rotated = root(me(), next.account, only(address(enforcer), terms()));
        vm.expectRevert(_overCap(MOST, 1));
        redeem(next.account, rotated, SINGLE_DEFAULT, packed(sell(1)));
        law.epoch = type(uint16).max;
        refuses(_overCap(MOST, 1), sell(1));
    }

    /// @dev SPEC D4: the first use of a new grant ends the old one.
    function test_a_lower_epoch_is_refused_once_a_higher_was_used() public {
        accepts(sell(SOLD));
        law.epoch = 2;
        accepts(sell(SOLD));
        law.epoch = 1;
        bytes memory stale =
            abi.encodeWithSelector(SpendWindow.SpendWindow_StaleEpoch.selector, 1, 2);
        refuses(stale, sell(SOLD));
        // Also where nothing is spent.
        refuses(stale, callOf(Class.Approve, 0));
    }

    function test_a_larger_cap_counts_what_was_spent_before() public {
        accepts(sell(MOST));
        law.spendCap = 2 * CAP;
        refuses(
            abi.encodeWithSelector(
                SpendWindow.SpendWindow_OverCap.selector, 15_259 << 16, MOST + UNIT, 2 * CAP
            ),
            sell(MOST + UNIT)
        );
        accepts(sell(900e6));
    }

    function test_two_golems_of_one_owner_do_not_share() public {
        accepts(sell(MOST));
        law.golemId = keccak256("another Golem");
        accepts(sell(MOST));
        refuses(_overCap(MOST, 1), sell(1));
    }

    function test_two_owners_do_not_share() public {
        accepts(sell(MOST));
        bytes32 golemId = law.golemId;
        Owner memory other = hybridOwner();
        law = golemOf(other);
        law.golemId = golemId;
        Delegation memory leaf = given(other);

        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(sell(MOST)));
        vm.expectRevert(_overCap(MOST, 1));
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(sell(1)));
    }

    /// @dev ATK-01: anybody may call a hook, and is a manager of his own.
    function test_two_managers_do_not_share() public {
        address stranger = actor("stranger").account;
        vm.prank(stranger);
        hook(terms(), SINGLE_DEFAULT, packed(sell(MOST)));

        vm.assertEq(_window(), 0, "the manager's window");
        uint256 strange = _limit.spendWindowOf(stranger, law.account, law.golemId);
        vm.assertTrue(strange != 0, "his own");
        accepts(sell(MOST));
        vm.assertEq(
            _limit.spendWindowOf(stranger, law.account, law.golemId), strange, "his own again"
        );
    }

    /// @dev A stranger cannot end a grant by an epoch either.
    function test_a_strangers_epoch_is_his_own() public {
        law.epoch = type(uint16).max;
        vm.prank(actor("stranger").account);
        hook(terms(), SINGLE_DEFAULT, packed(sell(1)));
        law.epoch = 1;

        accepts(sell(MOST));
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
        slot = keccak256(abi.encode(law.golemId, slot));
        vm.assertEq(writes.length, 1, "slots written");
        vm.assertEq(writes[0], slot, "his own");
    }

    // What does not count

    /// @dev No token is listed, and more moves than the cap.
    function test_other_classes_do_not_count() public {
        uint256 id = position();
        unprice();
        for (uint8 class = 0; class <= uint8(type(Class).max); class++) {
            if (isUnmeasured(Class(class))) {
                hook(terms(), SINGLE_DEFAULT, packed(callOf(Class(class), id)));
            }
        }
        accepts(callOf(Class.Transfer, 0));

        vm.assertEq(_spent(), 0, "nothing spent");
        vm.assertEq(_window() >> 240, 1, "the epoch was seen");
    }

    function test_liquidity_taken_back_does_not_count() public {
        uint256 id = position();
        accepts(removeLiquidity(id));
        vm.assertEq(_spent(), 0, "nothing spent");
    }

    /// @dev SPEC D18: a feed outage must not trap funds. Liquidity taken back sends nothing out, so there
    ///      is nothing to be priced.
    function test_liquidity_taken_back_needs_no_feed() public {
        uint256 id = position();
        vm.warp(NOW + 60 days);
        accepts(removeLiquidity(id));
    }

    function test_liquidity_taken_back_needs_no_listed_token() public {
        uint256 id = position();
        law.tokens = "";
        accepts(removeLiquidity(id));
    }

    // Terms

    function test_a_cap_of_nothing_is_refused() public {
        law.spendCap = 0;
        refuses(abi.encodeWithSelector(SpendWindow.SpendWindow_ZeroCap.selector), sell(SOLD));
    }

    function test_buckets_are_a_minute_to_sixteen_thousand_and_some() public {
        uint16[3] memory wrong = [0, 16_384, type(uint16).max];
        for (uint256 i = 0; i < wrong.length; i++) {
            law.bucketMinutes = wrong[i];
            refuses(
                abi.encodeWithSelector(
                    SpendWindow.SpendWindow_BucketLength.selector, wrong[i], 16_383
                ),
                sell(SOLD)
            );
        }
        law.bucketMinutes = 16_383;
        accepts(sell(SOLD));
        law.bucketMinutes = 1;
        law.golemId = keccak256("another Golem");
        accepts(sell(SOLD));
    }

    function testFuzz_the_terms_are_read_back(
        bytes32 golemId,
        uint16 epoch,
        uint64 cap,
        uint16 bucketMinutes
    ) public view {
        bytes memory listed = listing(law);

        (bytes32 id, uint16 number, uint64 most, uint16 minutes_, bytes memory rest) =
            _limit.getTermsInfo(abi.encodePacked(golemId, epoch, cap, bucketMinutes, listed));

        vm.assertEq(id, golemId, "golemId");
        vm.assertEq(number, epoch, "epoch");
        vm.assertEq(most, cap, "cap");
        vm.assertEq(minutes_, bucketMinutes, "bucketMinutes");
        vm.assertEq(rest, listed, "listing");
    }

    function testFuzz_no_sequence_gets_past_the_cap(uint64[6] memory amounts, uint16[6] memory gaps)
        public
    {
        bytes memory made = terms();
        uint256 time = NOW;
        uint256 first = time;
        uint256 sum = 0;
        for (uint256 i = 0; i < amounts.length; i++) {
            time += within(gaps[i], 0, 4 hours);
            vm.warp(time);
            uint256 amount = within(amounts[i], 1, CAP);
            bytes memory execution = packed(_free(amount));
            vm.prank(address(MANAGER));
            try enforcer.beforeHook(
                made, "", SINGLE_DEFAULT, execution, bytes32(0), law.account, agent.account
            ) {
                sum += amount;
            } catch {}
        }
        vm.assertTrue(time - first <= 1 days, "within one period");
        vm.assertTrue(sum <= CAP, "never more than the cap");
    }

    function test_a_batch_of_what_does_not_count_and_what_does() public {
        Delegation memory leaf = given(me());
        redeem(
            agent.account,
            leaf,
            BATCH_DEFAULT,
            abi.encode(two(callOf(Class.Transfer, 0), sell(MOST)))
        );
        vm.assertEq(_spent(), MOST, "the swap alone");
    }

    function _window() private view returns (uint256) {
        return _limit.spendWindowOf(address(MANAGER), law.account, law.golemId);
    }

    /// @dev Of the newest bucket, in micro-dollars.
    function _spent() private view returns (uint256) {
        return (_window() & 0x7fff) << ((_window() >> 234) & 0x3f);
    }

    function _overCap(uint256 spent, uint256 amount) private pure returns (bytes memory) {
        return abi.encodeWithSelector(SpendWindow.SpendWindow_OverCap.selector, spent, amount, CAP);
    }
}
