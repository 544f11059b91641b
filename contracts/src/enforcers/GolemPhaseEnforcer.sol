// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemRegistry} from "../interfaces/IGolemRegistry.sol";
import {ModeCode} from "../interfaces/ModeCode.sol";
import {GolemWord} from "../registry/GolemWord.sol";
import {Action} from "../rules/Actions.sol";
import {Executions} from "../rules/Executions.sol";
import {GolemLife} from "../rules/GolemLife.sol";
import {GolemPhase, Phase} from "../rules/GolemPhase.sol";
import {Listing} from "../rules/Listing.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Lets a Golem do what its phase of life still allows: all in Thriving, nothing but its own
///         settlement in Terminal.
/// @dev Terms: golemId 32 ‖ registry 20 ‖ staleness u32, 56 bytes; then a {Listing}, of which
///      roles are read. Twin: `GolemPhase` in Rust. Modes: single and batch; each call of a batch is
///      judged. There is no state.
///
///      Not promised: anything against a thief of the key, who reports the phase himself; for whom and
///      for how much an allowed action is.
contract GolemPhaseEnforcer is CaveatEnforcer {
    /// @notice Malformed terms: shorter than `least` bytes.
    error GolemPhaseEnforcer_TermsLength(uint256 least, uint256 actual);

    uint256 private constant HEADER = 56;

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
        Phase phase = _phase(terms);
        Action[] memory actions = Executions.actions(terms[HEADER:], mode, execution);
        for (uint256 i = 0; i < actions.length; i++) {
            GolemPhase.check(phase, actions[i].class);
        }
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (bytes32 golemId, address registry, uint32 staleness, bytes calldata listing)
    {
        if (terms.length < HEADER) revert GolemPhaseEnforcer_TermsLength(HEADER, terms.length);
        golemId = bytes32(terms[0:32]);
        registry = address(bytes20(terms[32:52]));
        staleness = uint32(bytes4(terms[52:56]));
        listing = terms[HEADER:];
        Listing.requireWhole(listing);
    }

    function _phase(bytes calldata terms) private view returns (Phase) {
        (bytes32 golemId, address registry, uint32 staleness,) = getTermsInfo(terms);
        GolemWord word = IGolemRegistry(registry).word(golemId);
        GolemLife.requireAlive(word, golemId);
        return Phase(word.effectivePhase(block.timestamp, staleness));
    }
}
