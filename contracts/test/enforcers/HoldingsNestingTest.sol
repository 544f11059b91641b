// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {CaveatEnforcer} from "../../src/enforcers/CaveatEnforcer.sol";
import {HoldingsEnforcer} from "../../src/enforcers/HoldingsEnforcer.sol";
import {ICaveatEnforcer} from "../../src/interfaces/ICaveatEnforcer.sol";
import {
    Caveat,
    Delegation,
    Execution,
    IDelegationManager
} from "../../src/interfaces/IDelegationManager.sol";
import {BATCH_DEFAULT, ModeCode, SINGLE_DEFAULT} from "../../src/interfaces/ModeCode.sol";
import {Class} from "../../src/rules/Actions.sol";
import {Holdings} from "../../src/rules/Holdings.sol";
import {Puppet} from "../Puppet.sol";
import {Accomplice} from "../thief/Accomplice.sol";
import {OneTransaction} from "./EnforcerTest.sol";
import {HoldingsTest} from "./HoldingsTest.sol";

/// @notice Code of a key that tries something when it is paid, and does not mind if it fails.
contract Shrug {
    Execution private _plan;
    bool public failed;
    bytes public why;

    function plan(Execution calldata call) external {
        _plan = call;
    }

    receive() external payable {
        (bool done, bytes memory reason) = _plan.target.call(_plan.callData);
        (failed, why) = (!done, reason);
    }
}

/// @notice Writes down which hook was called for which delegation, in which order.
contract Order is CaveatEnforcer {
    string public seen;

    function beforeHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode,
        bytes calldata,
        bytes32,
        address,
        address
    ) public override {
        seen = string.concat(seen, "b", string(terms), string(args), " ");
    }

    function afterHook(
        bytes calldata terms,
        bytes calldata args,
        ModeCode,
        bytes calldata,
        bytes32,
        address,
        address
    ) public override {
        seen = string.concat(seen, "a", string(terms), string(args), " ");
    }
}

/// @notice Chains, tuples, and executions within executions, on the real manager (ATK-28).
abstract contract HoldingsNestingTest is HoldingsTest {
    /// @dev What the lock relies on: pairs are closed in the reverse of the order they were opened in.
    function test_the_manager_calls_hooks_in_pairs_from_the_outside_in() public {
        Order order = new Order();
        Actor memory replicant = actor("replicant");
        Delegation memory above =
            root(me(), agent.account, _both(address(order), "1", address(order), "2"));
        Delegation memory leaf =
            child(above, agent, replicant.account, _both(address(order), "3", address(order), "4"));
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(good()));
        vm.assertEq(order.seen(), "b3 b4 b1 b2 a2 a1 a4 a3 ", "order");
    }

    // What must work

    function test_parent_and_child_may_both_carry_it() public {
        Actor memory replicant = actor("replicant");
        Delegation memory above = given(me());
        thrivingBps = 1_000;
        Delegation memory leaf =
            child(above, agent, replicant.account, only(address(enforcer), terms()));
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(buy(900e6)));
        _refusesChild(Holdings.Holdings_TooLarge.selector, replicant, leaf, above, buy(200e6));

        vm.assertEq(mark(), 10_000e6, "the owner's");
        (uint256 agents,) = rule.highWaterMarkOf(address(MANAGER), agent.account, law.golemId);
        vm.assertEq(agents, 10_000e6, "the agent's for its child");
    }

    /// @dev ATK-46: a wider child changes nothing.
    function test_a_wider_child_is_bound_by_its_parent() public {
        Actor memory replicant = actor("replicant");
        Delegation memory above = given(me());
        (thrivingBps, drawdownBps, lossBps) = (10_000, 10_000, 10_000);
        series = 9;
        Delegation memory leaf =
            child(above, agent, replicant.account, only(address(enforcer), terms()));
        _refusesChild(Holdings.Holdings_TooLarge.selector, replicant, leaf, above, buy(3_100e6));
        redeem(replicant.account, leaf, above, SINGLE_DEFAULT, packed(buy(100e6)));
        vm.assertEq(begun(), 1, "nor the owner's series");
    }

    function test_several_executions_in_one_redemption_are_judged_one_by_one() public {
        Delegation memory leaf = given(me());
        Execution[] memory calls = two(buy(1_400e6), buy(1_400e6));
        _redeemEach(leaf, calls);
        // Together they are too much, and the second one is refused for what the first one left.
        calls = two(buy(150e6), buy(150e6));
        try this.redeemEach(leaf, calls) {
            vm.assertTrue(false, "not refused");
        } catch (bytes memory why) {
            _assertSelector(why, Holdings.Holdings_TooLarge.selector);
        }
        calls = two(callOf(Class.Approve, 0), buy(10e6));
        _redeemEach(leaf, calls);
    }

    function test_a_redemption_after_a_refused_one_is_judged_afresh() public {
        refusesAs(Holdings.Holdings_TooLarge.selector, buy(4_000e6));
        accepts(buy(2_900e6));
    }

    // What must not

    /// @dev Twice for one Golem on one delegation says nothing more than once, and looks like an
    ///      execution within an execution.
    function test_one_delegation_carries_it_once_for_a_golem() public {
        Delegation memory leaf = root(
            me(), agent.account, _both(address(enforcer), terms(), address(enforcer), terms())
        );
        vm.expectRevert(_nested());
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(good()));
    }

    /// @dev ATK-46: who delegates to himself has one key.
    function test_a_key_that_delegates_to_itself_carries_it_once() public {
        Delegation memory above = root(me(), agent.account, noCaveats());
        Delegation memory middle =
            child(above, agent, agent.account, only(address(enforcer), terms()));
        Delegation memory leaf =
            child(middle, agent, agent.account, only(address(enforcer), terms()));
        Delegation[] memory chain = new Delegation[](3);
        (chain[0], chain[1], chain[2]) = (leaf, middle, above);
        vm.expectRevert(_nested());
        redeem(agent.account, chain, SINGLE_DEFAULT, packed(good()));
    }

    /// @dev The key's own code redeems again when its gas money comes, so that the second execution's
    ///      "before" is the middle of the first one.
    function test_an_execution_within_an_execution_is_refused() public {
        Delegation memory leaf = given(me());
        vm.etch(agent.account, type(Puppet).runtimeCode);
        Puppet(payable(agent.account)).plan(_one(_redemptionOf(leaf, sellWeth(1e15))));

        vm.expectRevert(_nested());
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(two(_gasMoney(), buy(4_000e6))));
    }

    /// @dev Whatever the two are: measured in unmeasured, unmeasured in measured.
    function test_no_kind_of_execution_nests() public {
        Delegation memory leaf = given(me());
        vm.etch(agent.account, type(Puppet).runtimeCode);

        Puppet(payable(agent.account)).plan(_one(_redemptionOf(leaf, buy(10e6))));
        vm.expectRevert(_nested());
        redeem(agent.account, leaf, SINGLE_DEFAULT, packed(_gasMoney()));

        Puppet(payable(agent.account)).plan(_one(_redemptionOf(leaf, callOf(Class.Approve, 0))));
        vm.expectRevert(_nested());
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(two(_gasMoney(), buy(10e6))));
    }

    /// @dev Another grant for the same Golem has the same key.
    function test_nor_by_another_grant_for_the_same_golem() public {
        Delegation memory leaf = given(me());
        thrivingBps = 3_001;
        Delegation memory other = given(me());
        vm.etch(agent.account, type(Puppet).runtimeCode);
        Puppet(payable(agent.account)).plan(_one(_redemptionOf(other, sellWeth(1e15))));

        vm.expectRevert(_nested());
        redeem(agent.account, leaf, BATCH_DEFAULT, abi.encode(two(_gasMoney(), buy(4_000e6))));
    }

    /// @dev The inner refusal is swallowed: the outer execution is judged by its own "before".
    function test_a_swallowed_attempt_changes_no_verdict() public {
        Delegation memory leaf = given(me());
        vm.etch(agent.account, type(Shrug).runtimeCode);
        Shrug shrug = Shrug(payable(agent.account));
        shrug.plan(_redemptionOf(leaf, sellWeth(1e15)));

        refusesAs(Holdings.Holdings_TooLarge.selector, two(_gasMoney(), buy(4_000e6)));
        accepts(two(_gasMoney(), buy(2_900e6)));
        vm.assertTrue(shrug.failed(), "the inner one was refused");
        vm.assertEq(shrug.why(), _nested(), "as one within another");
        // And it is over.
        accepts(sellWeth(1e15));
    }

    /// @dev A stranger calls the hooks in the middle, as a manager of his own: his "before" and "after"
    ///      are not the real one's.
    function test_another_managers_hooks_in_the_middle_are_its_own() public {
        bytes4[2] memory hooks =
            [ICaveatEnforcer.beforeHook.selector, ICaveatEnforcer.afterHook.selector];
        for (uint256 i = 0; i < 2; i++) {
            uint256 state = vm.snapshotState();
            vm.etch(agent.account, type(Shrug).runtimeCode);
            Shrug shrug = Shrug(payable(agent.account));
            bytes memory data = abi.encodeWithSelector(
                hooks[i],
                terms(),
                "",
                SINGLE_DEFAULT,
                packed(buy(1e6)),
                bytes32(0),
                law.account,
                agent.account
            );
            shrug.plan(Execution(address(enforcer), 0, data));

            refusesAs(Holdings.Holdings_TooLarge.selector, two(_gasMoney(), buy(4_000e6)));
            accepts(two(_gasMoney(), buy(2_900e6)));
            // He may begin, and has nothing to end.
            vm.assertEq(shrug.failed() ? 1 : 0, i, "his own");
            vm.revertToState(state);
        }
    }

    /// @dev A child's caveat of the thief's own runs outside of the owner's pair: leaf first, leaf last.
    function test_a_thiefs_own_caveat_redeems_before_and_not_within() public {
        Accomplice thief = new Accomplice();
        Delegation memory above = given(me());
        Delegation memory his = child(above, agent, address(thief), noCaveats());
        Delegation memory leaf = child(above, agent, address(thief), only(address(thief), ""));
        Delegation[] memory chain = new Delegation[](2);
        (chain[0], chain[1]) = (his, above);
        thief.wait(_one(_redemptionOf(chain, buy(2_000e6))));

        // The first of both went through by itself, and the second is judged with it.
        try this.redeemChild(address(thief), leaf, above, buy(2_000e6)) {
            vm.assertTrue(false, "not refused");
        } catch (bytes memory why) {
            _assertSelector(why, Holdings.Holdings_TooLarge.selector);
        }
        redeem(address(thief), leaf, above, SINGLE_DEFAULT, packed(buy(800e6)));
        vm.assertTrue(USDC.balanceOf(law.account) == 7_200e6, "both, within the share");
    }

    // Helpers

    function redeemEach(Delegation memory leaf, Execution[] memory calls) external {
        _redeemEach(leaf, calls);
    }

    function redeemChild(
        address redeemer,
        Delegation memory leaf,
        Delegation memory above,
        Execution memory call
    ) external {
        redeem(redeemer, leaf, above, SINGLE_DEFAULT, packed(call));
    }

    function _refusesChild(
        bytes4 selector,
        Actor memory replicant,
        Delegation memory leaf,
        Delegation memory above,
        Execution memory call
    ) private {
        try this.redeemChild(replicant.account, leaf, above, call) {
            vm.assertTrue(false, "not refused");
        } catch (bytes memory why) {
            _assertSelector(why, selector);
        }
    }

    function _assertSelector(bytes memory why, bytes4 selector) private pure {
        // The first four bytes are what is wanted.
        // forge-lint: disable-next-line(unsafe-typecast)
        vm.assertEq(bytes32(bytes4(why)), bytes32(selector), "why");
    }

    function _redeemEach(Delegation memory leaf, Execution[] memory calls) private {
        Delegation[] memory chain = new Delegation[](1);
        chain[0] = leaf;
        bytes[] memory contexts = new bytes[](calls.length);
        bytes[] memory executions = new bytes[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            contexts[i] = abi.encode(chain);
            executions[i] = packed(calls[i]);
        }
        vm.prank(agent.account);
        MANAGER.redeemDelegations(contexts, new ModeCode[](calls.length), executions);
    }

    function _redemptionOf(Delegation memory leaf, Execution memory call)
        private
        pure
        returns (Execution memory)
    {
        OneTransaction.Step memory step = redemption(leaf, call);
        return Execution(step.target, 0, step.data);
    }

    function _redemptionOf(Delegation[] memory chain, Execution memory call)
        private
        pure
        returns (Execution memory)
    {
        bytes[] memory contexts = new bytes[](1);
        contexts[0] = abi.encode(chain);
        bytes[] memory executions = new bytes[](1);
        executions[0] = packed(call);
        return Execution(
            address(MANAGER),
            0,
            abi.encodeCall(
                IDelegationManager.redeemDelegations, (contexts, new ModeCode[](1), executions)
            )
        );
    }

    function _gasMoney() private view returns (Execution memory) {
        return Execution(agent.account, 1, "");
    }

    function _one(Execution memory call) private pure returns (Execution[] memory calls) {
        calls = new Execution[](1);
        calls[0] = call;
    }

    function _both(address first, bytes memory one, address second, bytes memory other)
        private
        pure
        returns (Caveat[] memory caveats)
    {
        caveats = new Caveat[](2);
        caveats[0] = Caveat({enforcer: first, terms: one, args: ""});
        caveats[1] = Caveat({enforcer: second, terms: other, args: ""});
    }

    function _nested() private view returns (bytes memory) {
        return
            abi.encodeWithSelector(HoldingsEnforcer.HoldingsEnforcer_Nested.selector, law.golemId);
    }
}
