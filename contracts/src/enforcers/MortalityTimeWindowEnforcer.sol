// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {MortalityTimeWindow} from "../rules/MortalityTimeWindow.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Lets a delegation be redeemed between two moments, both included.
/// @dev Modes: single and batch, because the rule never looks at the execution. Try modes are
///      refused although time alone would not mind them: a redemption whose call fails unnoticed
///      would still move the state of the other caveats beside this one (ATK-12, ATK-13), so no
///      rule of Bardo lets try through.
///
///      There is no state, so it does not matter that anyone may call a hook.
///
///      Not promised: anything about what is executed, how often, or for how much; nor a clock
///      better than the block's, which its producer can shift by seconds.
contract MortalityTimeWindowEnforcer is CaveatEnforcer {
    /// @inheritdoc CaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata,
        bytes32,
        address,
        address
    ) public view override onlyDefaultExecutionMode(mode) {
        (uint64 start, uint64 end) = getTermsInfo(terms);
        MortalityTimeWindow.check(start, end, block.timestamp);
    }

    /// @notice Reads terms, refusing those that no redemption could satisfy.
    /// @return start First second at which the delegation can be redeemed.
    /// @return end Last second at which it can.
    function getTermsInfo(bytes calldata terms) public pure returns (uint64 start, uint64 end) {
        return MortalityTimeWindow.decode(terms);
    }
}
