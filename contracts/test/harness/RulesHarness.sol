// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {PolicyCage} from "../../src/policy/PolicyCage.sol";
import {Action, Actions, Role} from "../../src/rules/Actions.sol";
import {Appraisal, Worth} from "../../src/rules/Appraisal.sol";
import {HiddenCalls} from "../../src/rules/HiddenCalls.sol";
import {Listing} from "../../src/rules/Listing.sol";
import {SpendWindow} from "../../src/rules/SpendWindow.sol";

/// @notice The rules that `golem-safety` has a twin of, for `tests/e2e` to ask in process.
contract RulesHarness is PolicyCage {
    using Listing for bytes;

    function decode(Role role, address target, uint256 value, bytes calldata data)
        external
        pure
        returns (Action[] memory)
    {
        return Actions.decode(role, target, value, data);
    }

    function read(bytes calldata listing, address target, uint256 value, bytes calldata data)
        external
        pure
        returns (Action[] memory)
    {
        listing.requireWhole();
        return Actions.decode(listing.role(target), target, value, data);
    }

    function requireNone(address target, bytes calldata data, address manager, address delegator)
        external
        pure
    {
        HiddenCalls.requireNone(target, data, manager, delegator);
    }

    function measure(bytes calldata listing, Action memory action)
        external
        view
        returns (Worth memory)
    {
        return Appraisal.measure(listing, listing.noAnswers(), action);
    }

    function total(bytes calldata listing, Action[] memory actions)
        external
        view
        returns (uint256)
    {
        return Appraisal.total(listing, listing.noAnswers(), actions);
    }

    function spend(
        uint256 word,
        uint256 amount,
        uint64 cap,
        uint16 bucketMinutes,
        uint16 epoch,
        uint256 nowAt
    ) external pure returns (uint256) {
        return SpendWindow.spend(word, amount, cap, bucketMinutes, epoch, nowAt);
    }
}

/// @notice A feed, an uptime feed, a vault, a position manager, a factory or a pool that says what it was told.
contract Stage {
    /// @dev What a function answers, whatever it is asked; empty for a revert.
    mapping(bytes4 selector => bytes answer) private _answers;

    function tell(bytes4 selector, bytes calldata answer) external {
        _answers[selector] = answer;
    }

    fallback() external {
        bytes memory answer = _answers[msg.sig];
        if (answer.length == 0) revert();
        assembly ("memory-safe") {
            return(add(answer, 32), mload(answer))
        }
    }
}
