// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice What a Replicant may spend in its whole life, and when that life ends.
/// @dev Terms: budget u64 in micro-dollars ‖ notAfter u40. Nothing ever refills: a larger budget, granted
///      anew, gives what it has more than the one before.
library ReplicantBudget {
    /// @notice `spent` in its life and `amount` together exceed `budget`, in micro-dollars.
    error ReplicantBudget_Exceeded(uint256 spent, uint256 amount, uint256 budget);
    /// @notice Its life ended after `notAfter`; it is `nowAt`.
    error ReplicantBudget_Outlived(uint256 notAfter, uint256 nowAt);

    /// @notice What is spent with `amount`, or a refusal; an amount of zero is never too much.
    function spend(uint256 spent, uint256 amount, uint256 budget) internal pure returns (uint256) {
        if (amount == 0) return spent;
        if (spent > budget || amount > budget - spent) {
            revert ReplicantBudget_Exceeded(spent, amount, budget);
        }
        return spent + amount;
    }

    /// @notice Refuses from the second after `notAfter` on.
    function requireAlive(uint256 notAfter, uint256 nowAt) internal pure {
        if (nowAt > notAfter) revert ReplicantBudget_Outlived(notAfter, nowAt);
    }
}
