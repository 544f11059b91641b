// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {Action} from "../rules/Actions.sol";
import {Appraisal} from "../rules/Appraisal.sol";
import {Executions} from "../rules/Executions.sol";
import {Listing} from "../rules/Listing.sol";
import {NavBound, VaultNav} from "../rules/VaultNav.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice A circuit breaker: the swaps, added liquidity and deposits of one execution are worth no more
///         than a share of a vault's assets, by what it holds now and held an hour ago or more, and no
///         more than a fixed amount.
/// @dev Terms: golemId 32 ‖ vault 20 ‖ bps u16 ‖ cap u64 in micro-dollars, 62 bytes; then a {Listing}.
///      Twin: `VaultNav` in Rust. Without a vault (zero) the fixed amount stands alone. Modes: single
///      and batch; a batch counts as a sum.
///
///      State is keyed by manager, delegator, golemId and vault. Anyone may call a hook, and writes
///      under his own address only.
///
///      Not promised: where money goes. Transfers, collected fees and gas money do not count here: a
///      rule about recipients decides over them. Nor a bound on many executions together; see
///      {DailySpendLimitEnforcer}.
contract VaultNAVEnforcer is CaveatEnforcer {
    using Listing for bytes;

    /// @notice Malformed terms: shorter than `least` bytes.
    error VaultNAVEnforcer_TermsLength(uint256 least, uint256 actual);

    uint256 private constant HEADER = 62;

    mapping(
        address manager
            => mapping(
            address delegator => mapping(bytes32 golemId => mapping(address vault => uint256 word))
        )
    ) private _checkpoints;

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
        (uint256 value, uint256[] memory answers) = _value(terms, mode, execution);
        if (value != 0) _check(terms, delegator, answers, value);
    }

    /// @notice Checkpoints of the vault's assets, as {VaultNav} packs them.
    function navCheckpointsOf(address manager, address delegator, bytes32 golemId, address vault)
        external
        view
        returns (uint256)
    {
        return _checkpoints[manager][delegator][golemId][vault];
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (bytes32 golemId, NavBound memory bound, bytes calldata listing)
    {
        if (terms.length < HEADER) {
            revert VaultNAVEnforcer_TermsLength(HEADER, terms.length);
        }
        golemId = bytes32(terms[0:32]);
        bound.vault = address(bytes20(terms[32:52]));
        bound.bps = uint16(bytes2(terms[52:54]));
        bound.cap = uint64(bytes8(terms[54:62]));
        VaultNav.requireBps(bound.bps);
        listing = terms[HEADER:];
        listing.requireWhole();
    }

    function _value(bytes calldata terms, ModeCode mode, bytes calldata execution)
        private
        view
        returns (uint256 value, uint256[] memory answers)
    {
        (,, bytes calldata listing) = getTermsInfo(terms);
        Action[] memory actions = Executions.actions(listing, mode, execution);
        answers = listing.noAnswers();
        value = Appraisal.total(listing, answers, actions);
    }

    function _check(
        bytes calldata terms,
        address delegator,
        uint256[] memory answers,
        uint256 value
    ) private {
        (bytes32 golemId, NavBound memory bound, bytes calldata listing) = getTermsInfo(terms);
        mapping(address => uint256) storage checkpoints =
            _checkpoints[msg.sender][delegator][golemId];
        (uint256 most, uint256 next) =
            VaultNav.limit(listing, answers, bound, checkpoints[bound.vault]);
        VaultNav.check(value, most);
        checkpoints[bound.vault] = next;
    }
}
