// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ReplicantBudget} from "../../src/rules/ReplicantBudget.sol";
import {TestBase} from "../TestBase.sol";

/// @dev An internal library is judged through a contract that calls it.
contract BudgetRule {
    function spend(uint256 spent, uint256 amount, uint256 budget) external pure returns (uint256) {
        return ReplicantBudget.spend(spent, amount, budget);
    }

    function requireAlive(uint256 notAfter, uint256 nowAt) external pure {
        ReplicantBudget.requireAlive(notAfter, nowAt);
    }
}

contract ReplicantBudgetTest is TestBase {
    BudgetRule private _rule;

    function setUp() public {
        _rule = new BudgetRule();
    }

    function testFuzz_a_budget_is_spent_to_the_last_micro_dollar(uint64 budget, uint64 spent)
        public
    {
        spent = uint64(within(spent, 0, budget));
        uint256 left = budget - spent;
        vm.assertEq(_rule.spend(spent, left, budget), budget, "all of it");

        vm.expectRevert(_exceeded(spent, left + 1, budget));
        _rule.spend(spent, left + 1, budget);
    }

    /// @dev However much is asked for, the arithmetic does not give way.
    function testFuzz_more_than_is_left_is_refused(uint256 spent, uint256 amount, uint64 budget)
        public
    {
        spent = within(spent, 0, type(uint64).max);
        uint256 left = spent > budget ? 0 : budget - spent;
        amount = within(amount, left + 1, type(uint256).max);

        vm.expectRevert(_exceeded(spent, amount, budget));
        _rule.spend(spent, amount, budget);
    }

    function testFuzz_nothing_is_never_too_much(uint256 spent, uint256 budget) public view {
        vm.assertEq(_rule.spend(spent, 0, budget), spent, "as before");
    }

    /// @dev ATK-33.
    function testFuzz_life_has_a_last_second(uint40 notAfter) public {
        _rule.requireAlive(notAfter, 0);
        _rule.requireAlive(notAfter, notAfter);

        vm.expectRevert(
            abi.encodeWithSelector(
                ReplicantBudget.ReplicantBudget_Outlived.selector, notAfter, uint256(notAfter) + 1
            )
        );
        _rule.requireAlive(notAfter, uint256(notAfter) + 1);
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
