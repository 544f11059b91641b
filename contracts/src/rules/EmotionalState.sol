// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {GolemWord, GolemWords} from "../registry/GolemWord.sol";
import {Actions, Class} from "./Actions.sol";
import {HiddenCalls} from "./HiddenCalls.sol";

/// @notice How a Golem has to feel to do what its owner calls risky; each −100 to 100.
struct MoodBounds {
    int8 minPleasure;
    int8 maxArousal;
    int8 minDominance;
    /// @dev Seconds after which nothing is known of how it feels.
    uint32 staleness;
}

/// @notice How it feels, by the registry's word, and what it is measured by and when.
struct Mood {
    GolemWord word;
    MoodBounds bounds;
    uint256 nowAt;
}

/// @notice Keeps listed functions, or classes of action, from a Golem in panic or despair, or of which nothing
///         new is known.
/// @dev Judged by the registry's word, which the rules read once, and whose age is that of its last news of
///      any kind. The mood is what the agent's key says: it
///      binds an honest Golem, and a thief says what he likes (SPEC D10).
///
///      Selectors are packed, 4 bytes each, 1 to {MAX_SELECTORS}. A payment without calldata has none, and
///      counts as 0x00000000, which can be listed.
library EmotionalState {
    /// @notice A listed function, and a mood beyond its bounds.
    error EmotionalState_OutOfBounds(bytes4 selector, int8 pleasure, int8 arousal, int8 dominance);
    /// @notice A listed function, and a mood that was last told too long ago.
    error EmotionalState_Stale(
        bytes4 selector, uint256 updatedAt, uint256 nowAt, uint256 staleness
    );
    /// @notice A bound class of action, and a mood beyond its bounds.
    error EmotionalState_ClassOutOfBounds(Class class, int8 pleasure, int8 arousal, int8 dominance);
    /// @notice A bound class of action, and a mood that was last told too long ago.
    error EmotionalState_ClassStale(
        Class class, uint256 updatedAt, uint256 nowAt, uint256 staleness
    );
    /// @notice Malformed terms: no mood is beyond −100 or 100.
    error EmotionalState_Bound(int8 bound);
    /// @notice Malformed terms: not a list of one selector at least and 255 at most.
    error EmotionalState_Selectors(uint256 length);
    /// @notice Malformed terms: no class, or one that nobody knows.
    error EmotionalState_Classes(uint256 classes);

    /// @notice Longest list.
    uint256 internal constant MAX_SELECTORS = 255;

    uint256 private constant SELECTOR = 4;
    uint256 private constant CLASSES = (1 << (uint256(type(Class).max) + 1)) - 2;

    /// @notice Refuses bounds that no mood is beyond or within.
    function requireBounds(MoodBounds memory bounds) internal pure {
        _requireBound(bounds.minPleasure);
        _requireBound(bounds.maxArousal);
        _requireBound(bounds.minDominance);
    }

    /// @notice Refuses a list that binds nothing, is too long, or has half a selector.
    function requireSelectors(bytes calldata selectors) internal pure {
        uint256 length = selectors.length;
        if (length == 0 || length > MAX_SELECTORS * SELECTOR || length % SELECTOR != 0) {
            revert EmotionalState_Selectors(length);
        }
    }

    /// @notice Refuses classes that bind nothing, and bits that are none.
    /// @param classes One bit for each {Class}.
    function requireClasses(uint256 classes) internal pure {
        if (classes == 0 || classes & ~CLASSES != 0) revert EmotionalState_Classes(classes);
    }

    /// @notice Whether the Golem may do anything, as far as its mood goes.
    function isCalm(Mood memory mood) internal pure returns (bool) {
        (GolemWord word, MoodBounds memory bounds) = (mood.word, mood.bounds);
        return !_isStale(mood) && word.pleasure() >= bounds.minPleasure
            && word.arousal() <= bounds.maxArousal && word.dominance() >= bounds.minDominance;
    }

    /// @notice For a Golem that is not calm: refuses a function that is listed.
    function check(Mood memory mood, bytes calldata selectors, bytes4 selector) internal pure {
        if (!isListed(selectors, selector)) return;
        GolemWord word = mood.word;
        if (_isStale(mood)) {
            revert EmotionalState_Stale(
                selector, word.updatedAt(), mood.nowAt, mood.bounds.staleness
            );
        }
        revert EmotionalState_OutOfBounds(
            selector, word.pleasure(), word.arousal(), word.dominance()
        );
    }

    /// @notice For a Golem that is not calm: refuses an action whose class is bound.
    /// @param classes One bit for each {Class}.
    function checkClass(Mood memory mood, uint256 classes, Class class) internal pure {
        if (classes & (1 << uint256(class)) == 0) return;
        GolemWord word = mood.word;
        if (_isStale(mood)) {
            revert EmotionalState_ClassStale(
                class, word.updatedAt(), mood.nowAt, mood.bounds.staleness
            );
        }
        revert EmotionalState_ClassOutOfBounds(
            class, word.pleasure(), word.arousal(), word.dominance()
        );
    }

    /// @notice For a Golem that is not calm: refuses a call that is listed or inside which one is, and one
    ///         that cannot be read.
    /// @dev A multicall in any form that {Actions} knows is looked into at every target; one inside another
    ///      is refused, as there.
    function checkCall(
        Mood memory mood,
        bytes calldata selectors,
        address target,
        bytes calldata data
    ) internal pure {
        if (data.length != 0 && data.length < SELECTOR) {
            revert Actions.Actions_NoSelector(target, data.length);
        }
        // What is shorter is filled up with zeros.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes4 selector = bytes4(data);
        check(mood, selectors, selector);
        if (!Actions.isMulticall(selector)) return;
        (bytes[] memory inner,) = Actions.unwrap(target, selector, data[SELECTOR:]);
        for (uint256 i = 0; i < inner.length; i++) {
            if (inner[i].length < SELECTOR) {
                revert Actions.Actions_NoSelector(target, inner[i].length);
            }
            // The first four bytes are what is wanted.
            // forge-lint: disable-next-line(unsafe-typecast)
            selector = bytes4(inner[i]);
            if (Actions.isMulticall(selector)) {
                revert Actions.Actions_UnknownCall(target, selector);
            }
            if (HiddenCalls.isCarrier(selector)) {
                revert HiddenCalls.HiddenCalls_Refused(target, selector);
            }
            check(mood, selectors, selector);
        }
    }

    function isListed(bytes calldata selectors, bytes4 selector) internal pure returns (bool) {
        for (uint256 at = 0; at < selectors.length; at += SELECTOR) {
            if (bytes4(selectors[at:at + SELECTOR]) == selector) return true;
        }
        return false;
    }

    function _isStale(Mood memory mood) private pure returns (bool) {
        uint256 since = mood.word.updatedAt();
        return mood.nowAt > since && mood.nowAt - since > mood.bounds.staleness;
    }

    function _requireBound(int8 bound) private pure {
        if (bound < -GolemWords.PAD_BOUND || bound > GolemWords.PAD_BOUND) {
            revert EmotionalState_Bound(bound);
        }
    }
}
