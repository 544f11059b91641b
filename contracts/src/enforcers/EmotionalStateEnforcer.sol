// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IGolemRegistry} from "../interfaces/IGolemRegistry.sol";
import {ModeCode} from "../interfaces/ModeCode.sol";
import {EmotionalState, Mood, MoodBounds} from "../rules/EmotionalState.sol";
import {Executions} from "../rules/Executions.sol";
import {GolemLife} from "../rules/GolemLife.sol";
import {HiddenCalls} from "../rules/HiddenCalls.sol";
import {CaveatEnforcer} from "./CaveatEnforcer.sol";

/// @notice Keeps listed functions from a Golem in panic or despair.
/// @dev Terms: golemId 32 ‖ registry 20 ‖ staleness u32 ‖ minPleasure i8 ‖ maxArousal i8 ‖ minDominance i8,
///      59 bytes; then 1 to 255 selectors of 4 bytes. Twin: `EmotionalState` in Rust. Modes: single and
///      batch; each call of a batch is judged, and each inside a multicall. There is no state.
///
///      A calm Golem's calls are not looked at. Of another's, those that cannot be read are refused like
///      those that are listed; the rest pass, so that a mood traps no money.
///
///      Not promised: anything against a thief of the key, who reports the mood himself; that a function
///      does not do under another name what a listed one does.
contract EmotionalStateEnforcer is CaveatEnforcer {
    /// @notice Malformed terms: shorter than `least` bytes.
    error EmotionalStateEnforcer_TermsLength(uint256 least, uint256 actual);

    uint256 private constant HEADER = 59;

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
        Mood memory mood = _mood(terms);
        if (EmotionalState.isCalm(mood)) return;
        bytes calldata selectors = terms[HEADER:];
        uint256 count = Executions.count(mode, execution);
        for (uint256 i = 0; i < count; i++) {
            (address target, bytes calldata data) = _open(mode, execution, i, delegator);
            EmotionalState.checkCall(mood, selectors, target, data);
        }
    }

    /// @notice Reads terms, refusing what is malformed.
    function getTermsInfo(bytes calldata terms)
        public
        pure
        returns (
            bytes32 golemId,
            address registry,
            MoodBounds memory bounds,
            bytes calldata selectors
        )
    {
        if (terms.length < HEADER) {
            revert EmotionalStateEnforcer_TermsLength(HEADER, terms.length);
        }
        golemId = bytes32(terms[0:32]);
        registry = address(bytes20(terms[32:52]));
        bounds.staleness = uint32(bytes4(terms[52:56]));
        bounds.minPleasure = int8(uint8(terms[56]));
        bounds.maxArousal = int8(uint8(terms[57]));
        bounds.minDominance = int8(uint8(terms[58]));
        EmotionalState.requireBounds(bounds);
        selectors = terms[HEADER:];
        EmotionalState.requireSelectors(selectors);
    }

    function _mood(bytes calldata terms) private view returns (Mood memory mood) {
        bytes32 golemId;
        address registry;
        (golemId, registry, mood.bounds,) = getTermsInfo(terms);
        mood.word = IGolemRegistry(registry).word(golemId);
        mood.nowAt = block.timestamp;
        GolemLife.requireAlive(mood.word, golemId);
    }

    /// @dev One call, if it is one that hides none.
    function _open(ModeCode mode, bytes calldata execution, uint256 index, address delegator)
        private
        view
        returns (address target, bytes calldata data)
    {
        (target,, data) = Executions.callAt(mode, execution, index);
        HiddenCalls.requireNone(target, data, msg.sender, delegator);
    }
}
