// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {Action} from "../rules/Actions.sol";
import {Appraisal} from "../rules/Appraisal.sol";
import {Executions} from "../rules/Executions.sol";
import {Listing} from "../rules/Listing.sol";
import {SpendWindow} from "../rules/SpendWindow.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Caps what a Golem sends out in any period of twelve buckets: a day, where a bucket is two
///         hours. Swaps, added liquidity and deposits count at full value by the owner's feeds.
/// @dev Terms: golemId 32 ‖ epoch u16 ‖ cap u64 in micro-dollars ‖ bucketMinutes u16, 44 bytes; then a
///      {Listing}. Twin: `DailySpendLimit` in Rust. Modes: single and batch; a batch counts as a sum.
///
///      State is keyed by manager, delegator and golemId: children of one grant share it, and feed,
///      rotation and re-grant refill nothing (SPEC D17). Anyone may call a hook, and writes under his
///      own address only.
///
///      Not promised: where money goes. Transfers, collected fees and gas money do not count here: a
///      rule about recipients decides over them.
contract DailySpendLimitEnforcer is CaveatEnforcer {
    using Listing for bytes;

    /// @notice Malformed terms: shorter than `least` bytes.
    error DailySpendLimitEnforcer_TermsLength(uint256 least, uint256 actual);

    uint256 private constant HEADER = 44;

    mapping(
        address manager => mapping(address delegator => mapping(bytes32 golemId => uint256 word))
    ) private _windows;

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

    /// @notice The spend window and epoch of one Golem, as {SpendWindow} packs them.
    function spendWindowOf(address manager, address delegator, bytes32 golemId)
        external
        view
        returns (uint256)
    {
        return _windows[manager][delegator][golemId];
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (
            bytes32 golemId,
            uint16 epoch,
            uint64 cap,
            uint16 bucketMinutes,
            bytes calldata listing
        )
    {
        if (terms.length < HEADER) {
            revert DailySpendLimitEnforcer_TermsLength(HEADER, terms.length);
        }
        golemId = bytes32(terms[0:32]);
        epoch = uint16(bytes2(terms[32:34]));
        cap = uint64(bytes8(terms[34:42]));
        bucketMinutes = uint16(bytes2(terms[42:44]));
        listing = terms[HEADER:];
        listing.requireWhole();
    }

    function _value(bytes calldata terms, ModeCode mode, bytes calldata execution)
        private
        view
        returns (uint256)
    {
        (,,,, bytes calldata listing) = getTermsInfo(terms);
        Action[] memory actions = Executions.actions(listing, mode, execution);
        return Appraisal.total(listing, listing.noAnswers(), actions);
    }

    function _record(bytes calldata terms, address delegator, uint256 value) private {
        (bytes32 golemId, uint16 epoch, uint64 cap, uint16 bucketMinutes,) = getTermsInfo(terms);
        mapping(bytes32 => uint256) storage windows = _windows[msg.sender][delegator];
        uint256 word =
            SpendWindow.spend(windows[golemId], value, cap, bucketMinutes, epoch, block.timestamp);
        windows[golemId] = word;
    }
}
