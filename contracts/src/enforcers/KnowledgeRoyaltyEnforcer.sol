// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {Executions} from "../rules/Executions.sol";
import {HiddenCalls} from "../rules/HiddenCalls.sol";
import {KnowledgeRoyalty} from "../rules/KnowledgeRoyalty.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice A Golem that sells knowledge pays those who wrote it, in the same batch.
/// @dev Terms: market 20 ‖ maxRoyaltyBps u16, 22 bytes; twin `KnowledgeRoyalty` in Rust. Modes: single and
///      batch; alone, a sale passes when nothing is due. There is no state.
///
///      The rule demands and does not permit: a transfer that is no royalty is not its business, nor is any
///      call of the market but a sale.
///
///      Not promised: that a Golem sells at this market, rather than elsewhere or not on chain; that the
///      price is worth anything; that the market at that address is ours.
contract KnowledgeRoyaltyEnforcer is CaveatEnforcer {
    /// @notice Malformed terms: not `expected` bytes long.
    error KnowledgeRoyaltyEnforcer_TermsLength(uint256 expected, uint256 actual);

    uint256 private constant TERMS_LENGTH = 22;

    /// @inheritdoc CaveatEnforcer
    function beforeHook(
        bytes calldata terms,
        bytes calldata,
        ModeCode mode,
        bytes calldata execution,
        bytes32,
        address delegator,
        address
    ) public view override onlyDefaultExecutionMode(mode) {
        (address market, uint16 maxBps) = getTermsInfo(terms);
        _judge(market, maxBps, mode, execution, delegator);
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (address market, uint16 maxRoyaltyBps)
    {
        if (terms.length != TERMS_LENGTH) {
            revert KnowledgeRoyaltyEnforcer_TermsLength(TERMS_LENGTH, terms.length);
        }
        market = address(bytes20(terms[0:20]));
        maxRoyaltyBps = uint16(bytes2(terms[20:22]));
        KnowledgeRoyalty.requireBps(maxRoyaltyBps);
    }

    function _judge(
        address market,
        uint16 maxBps,
        ModeCode mode,
        bytes calldata execution,
        address delegator
    ) private view {
        uint256 count = Executions.count(mode, execution);
        uint256 i = 0;
        while (i < count) {
            (address target,, bytes calldata data) = Executions.callAt(mode, execution, i);
            HiddenCalls.requireNone(target, data, msg.sender, delegator);
            // A sale is judged with all it owes: what follows it are transfers to the letter.
            i = KnowledgeRoyalty.isSale(market, target, data)
                ? KnowledgeRoyalty.checkSale(market, maxBps, mode, execution, count, i)
                : i + 1;
        }
    }
}
