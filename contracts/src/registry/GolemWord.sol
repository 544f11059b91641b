// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice What the chain knows about one Golem, in the one slot that a rule has to read.
/// @dev Low bits first: registered 1, dreaming 1, closed 1, phase 3, survival score 14, pleasure 8,
///      arousal 8, dominance 8, last update 40, minimum epoch 16; the upper 156 bits are zero.
type GolemWord is uint256;

using GolemWords for GolemWord global;

/// @notice The same, unpacked. {GolemWords.pack} refuses what has no place in a word.
/// @dev `minEpoch` is the lowest epoch of a grant that still counts; see {GolemWords.admitsEpoch}.
struct GolemState {
    bool registered;
    bool dreaming;
    bool closed;
    uint8 phase;
    uint16 score;
    int8 pleasure;
    int8 arousal;
    int8 dominance;
    uint40 updatedAt;
    uint16 minEpoch;
}

/// @notice Reads and makes words; decides what a word means for phase and epoch.
/// @dev Pure: the time is an argument, so that the registry and the rules judge by the same functions.
library GolemWords {
    /// @notice There are five phases, 0 to 4.
    error GolemWord_UnknownPhase(uint256 phase);
    /// @notice The survival score goes up to `max`.
    error GolemWord_ScoreTooHigh(uint256 score, uint256 max);
    /// @notice Pleasure, arousal and dominance go from `-bound` to `bound`.
    error GolemWord_PadOutOfRange(int256 value, int256 bound);

    uint8 internal constant THRIVING = 0;
    uint8 internal constant STABLE = 1;
    uint8 internal constant CONSERVATION = 2;
    uint8 internal constant DECLINING = 3;
    uint8 internal constant TERMINAL = 4;

    /// @notice Best survival score.
    uint16 internal constant MAX_SCORE = 10_000;
    /// @notice Farthest a component of PAD gets from zero.
    int8 internal constant PAD_BOUND = 100;

    /// @notice How many epochs, from the minimum on, are good at a time: a series.
    /// @dev A revocation begins the next series, so it ends every grant that was good before it,
    ///      also those that were never shown to the chain.
    uint16 internal constant EPOCH_SERIES = 1024;
    /// @notice Never good for a grant: as a minimum it says that no series is left.
    uint16 internal constant NO_EPOCH = type(uint16).max;

    uint256 private constant DREAMING_AT = 1;
    uint256 private constant CLOSED_AT = 2;
    uint256 private constant PHASE_AT = 3;
    uint256 private constant SCORE_AT = 6;
    uint256 private constant PLEASURE_AT = 20;
    uint256 private constant AROUSAL_AT = 28;
    uint256 private constant DOMINANCE_AT = 36;
    uint256 private constant UPDATED_AT = 44;
    uint256 private constant MIN_EPOCH_AT = 84;

    uint256 private constant PHASE_MASK = 0x7;
    uint256 private constant SCORE_MASK = 0x3fff;

    /// @notice Makes a word, refusing a state that no Golem can be in.
    function pack(GolemState memory from) internal pure returns (GolemWord) {
        checkPhase(from.phase);
        if (from.score > MAX_SCORE) revert GolemWord_ScoreTooHigh(from.score, MAX_SCORE);
        _checkPad(from.pleasure);
        _checkPad(from.arousal);
        _checkPad(from.dominance);
        uint256 flags = (from.registered ? 1 : 0) | (from.dreaming ? 1 << DREAMING_AT : 0)
            | (from.closed ? 1 << CLOSED_AT : 0);
        uint256 vitality = uint256(from.phase) << PHASE_AT | uint256(from.score) << SCORE_AT;
        uint256 mood = _bits(from.pleasure) << PLEASURE_AT | _bits(from.arousal) << AROUSAL_AT
            | _bits(from.dominance) << DOMINANCE_AT;
        uint256 counters =
            uint256(from.updatedAt) << UPDATED_AT | uint256(from.minEpoch) << MIN_EPOCH_AT;
        return GolemWord.wrap(flags | vitality | mood | counters);
    }

    /// @notice Reads the whole word.
    function unpack(GolemWord word) internal pure returns (GolemState memory) {
        return GolemState({
            registered: isRegistered(word),
            dreaming: isDreaming(word),
            closed: isClosed(word),
            phase: phase(word),
            score: score(word),
            pleasure: pleasure(word),
            arousal: arousal(word),
            dominance: dominance(word),
            updatedAt: updatedAt(word),
            minEpoch: minEpoch(word)
        });
    }

    // Narrowing is how a field is cut out of the word: what stands above it falls away.
    // forge-lint: disable-start(unsafe-typecast)

    function isRegistered(GolemWord word) internal pure returns (bool) {
        return GolemWord.unwrap(word) & 1 != 0;
    }

    function isDreaming(GolemWord word) internal pure returns (bool) {
        return GolemWord.unwrap(word) >> DREAMING_AT & 1 != 0;
    }

    function isClosed(GolemWord word) internal pure returns (bool) {
        return GolemWord.unwrap(word) >> CLOSED_AT & 1 != 0;
    }

    /// @notice The phase as it was last written, however long ago.
    function phase(GolemWord word) internal pure returns (uint8) {
        return uint8(GolemWord.unwrap(word) >> PHASE_AT & PHASE_MASK);
    }

    function score(GolemWord word) internal pure returns (uint16) {
        return uint16(GolemWord.unwrap(word) >> SCORE_AT & SCORE_MASK);
    }

    function pleasure(GolemWord word) internal pure returns (int8) {
        return int8(uint8(GolemWord.unwrap(word) >> PLEASURE_AT));
    }

    function arousal(GolemWord word) internal pure returns (int8) {
        return int8(uint8(GolemWord.unwrap(word) >> AROUSAL_AT));
    }

    function dominance(GolemWord word) internal pure returns (int8) {
        return int8(uint8(GolemWord.unwrap(word) >> DOMINANCE_AT));
    }

    function updatedAt(GolemWord word) internal pure returns (uint40) {
        return uint40(GolemWord.unwrap(word) >> UPDATED_AT);
    }

    function minEpoch(GolemWord word) internal pure returns (uint16) {
        return uint16(GolemWord.unwrap(word) >> MIN_EPOCH_AT);
    }

    /// @dev Two's complement in eight bits, without the sign running into the neighbours.
    function _bits(int8 value) private pure returns (uint256) {
        return uint8(value);
    }

    // forge-lint: disable-end(unsafe-typecast)

    /// @notice The phase to judge by: a word older than `maxAge` seconds is Conservation at best.
    function effectivePhase(GolemWord word, uint256 nowAt, uint256 maxAge)
        internal
        pure
        returns (uint8)
    {
        uint8 written = phase(word);
        if (written >= CONSERVATION) return written;
        uint256 since = updatedAt(word);
        return nowAt > since && nowAt - since > maxAge ? CONSERVATION : written;
    }

    /// @notice Whether a grant of this epoch is good: in the current series, and a number that
    ///         counts.
    /// @dev Says nothing about registered and closed.
    function admitsEpoch(GolemWord word, uint16 epoch) internal pure returns (bool) {
        uint16 lowest = minEpoch(word);
        return epoch >= lowest && epoch - lowest < EPOCH_SERIES && epoch != NO_EPOCH;
    }

    /// @notice The minimum after one more revocation. From {NO_EPOCH} it goes nowhere.
    function nextSeries(uint16 lowest) internal pure returns (uint16) {
        return lowest < NO_EPOCH - EPOCH_SERIES ? lowest + EPOCH_SERIES : NO_EPOCH;
    }

    function checkPhase(uint8 value) internal pure {
        if (value > TERMINAL) revert GolemWord_UnknownPhase(value);
    }

    function _checkPad(int8 value) private pure {
        if (value < -PAD_BOUND || value > PAD_BOUND) {
            revert GolemWord_PadOutOfRange(value, PAD_BOUND);
        }
    }
}
