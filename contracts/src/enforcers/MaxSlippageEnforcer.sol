// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {Action} from "../rules/Actions.sol";
import {Appraisal} from "../rules/Appraisal.sol";
import {Executions} from "../rules/Executions.sol";
import {Listing} from "../rules/Listing.sol";
import {MaxSlippage} from "../rules/MaxSlippage.sol";
import {VaultShares} from "../rules/VaultShares.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Lets a swap through when its minimum is near what the owner's feeds say it is worth, liquidity
///         when its pool's price is near theirs, and a vault's shares when they are worth their assets.
/// @dev Terms: bps u16, 2 bytes; then a {Listing}. Twin: `MaxSlippage` in Rust. Modes: single and
///      batch; each call of a batch is judged on the state before it. There is no state.
///
///      Not promised: who receives what is bought; anything about classes that trade nothing.
contract MaxSlippageEnforcer is CaveatEnforcer {
    using Listing for bytes;

    /// @notice Malformed terms: shorter than `least` bytes.
    error MaxSlippageEnforcer_TermsLength(uint256 least, uint256 actual);

    uint256 private constant HEADER = 2;

    /// @inheritdoc CaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata execution,
        bytes32,
        address,
        address
    ) public view override onlyDefaultExecutionMode(mode) {
        (uint16 bps, bytes calldata listing) = getTermsInfo(terms);
        Action[] memory actions = Executions.actions(listing, mode, execution);
        uint256[] memory answers = listing.noAnswers();
        for (uint256 i = 0; i < actions.length; i++) {
            Action memory action = actions[i];
            VaultShares.check(action, bps);
            if (!MaxSlippage.binds(action.class)) continue;
            MaxSlippage.check(action.class, Appraisal.measure(listing, answers, action), bps);
        }
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (uint16 bps, bytes calldata listing)
    {
        if (terms.length < HEADER) {
            revert MaxSlippageEnforcer_TermsLength(HEADER, terms.length);
        }
        bps = uint16(bytes2(terms[0:2]));
        MaxSlippage.requireBps(bps);
        listing = terms[HEADER:];
        listing.requireWhole();
    }
}
