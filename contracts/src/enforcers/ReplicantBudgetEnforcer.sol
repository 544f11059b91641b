// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {Action} from "../rules/Actions.sol";
import {Appraisal} from "../rules/Appraisal.sol";
import {Executions} from "../rules/Executions.sol";
import {Listing} from "../rules/Listing.sol";
import {ReplicantBudget} from "../rules/ReplicantBudget.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Gives a Replicant a sum for its whole life, and a last second. Swaps, added liquidity and deposits
///         count at full value by the listed feeds, as {DailySpendLimitEnforcer} counts them.
/// @dev Terms: replicantId 32 ‖ budget u64 in micro-dollars ‖ notAfter u40, 45 bytes; then a {Listing}.
///      Twin: `ReplicantBudget` in Rust. Modes: single and batch; a batch counts as a sum.
///
///      The last second is a time, not a length: a grant that lies unused grows no younger. State is
///      keyed by manager, delegator and replicantId, so that a re-grant refills nothing, and what a
///      Replicant hands on to others is spent from the same sum. Anyone may call a hook, and writes under
///      his own address only.
///
///      Not promised: anything about the parent, which may spawn another Replicant, and keeps other books
///      with another key; its own caps bind it, and all of its Replicants together. Where money goes:
///      transfers, collected fees and gas money do not count here, and a rule about recipients decides
///      over them.
contract ReplicantBudgetEnforcer is CaveatEnforcer {
    using Listing for bytes;

    /// @notice Malformed terms: shorter than `least` bytes.
    error ReplicantBudgetEnforcer_TermsLength(uint256 least, uint256 actual);

    uint256 private constant HEADER = 45;

    mapping(
        address manager
            => mapping(address delegator => mapping(bytes32 replicantId => uint256 spent))
    ) private _spent;

    /// @inheritdoc CaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata execution,
        bytes32,
        address delegator,
        address
    ) public override onlyDefaultExecutionMode(mode) {
        _record(terms, delegator, _value(terms, mode, execution));
    }

    /// @notice What a Replicant has spent in its life, in micro-dollars.
    function spentBy(address manager, address delegator, bytes32 replicantId)
        external
        view
        returns (uint256)
    {
        return _spent[manager][delegator][replicantId];
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (bytes32 replicantId, uint64 budget, uint40 notAfter, bytes calldata listing)
    {
        if (terms.length < HEADER) {
            revert ReplicantBudgetEnforcer_TermsLength(HEADER, terms.length);
        }
        replicantId = bytes32(terms[0:32]);
        budget = uint64(bytes8(terms[32:40]));
        notAfter = uint40(bytes5(terms[40:45]));
        listing = terms[HEADER:];
        listing.requireWhole();
    }

    function _value(bytes calldata terms, ModeCode mode, bytes calldata execution)
        private
        view
        returns (uint256)
    {
        (,, uint40 notAfter, bytes calldata listing) = getTermsInfo(terms);
        ReplicantBudget.requireAlive(notAfter, block.timestamp);
        Action[] memory actions = Executions.actions(listing, mode, execution);
        return Appraisal.total(listing, listing.noAnswers(), actions);
    }

    function _record(bytes calldata terms, address delegator, uint256 value) private {
        if (value == 0) return;
        (bytes32 replicantId, uint64 budget,,) = getTermsInfo(terms);
        mapping(bytes32 => uint256) storage spent = _spent[msg.sender][delegator];
        spent[replicantId] = ReplicantBudget.spend(spent[replicantId], value, budget);
    }
}
