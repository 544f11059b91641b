// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice When a Golem acted of late. Zero is one that never did.
/// @dev Word of `latest`, low bits first: 5 moments × 40 (newest first) ‖ number of redemptions 56. Once
///      five are full, the next one copies them to a page before it pushes the oldest out; `pages` is
///      a ring and remembers the last 320, more than a rule can ask for.
struct Redemptions {
    uint256 latest;
    uint256[64] pages;
}

/// @notice At most so many redemptions in any period, wherever the period begins.
/// @dev Terms: golemId 32 ‖ period u32 in seconds ‖ count u8, 37 bytes; twin `Cadence` in Rust.
///
///      Exact to the second: with `count` allowed, one is judged by the `count`-th last, which must
///      be a period ago or more. What is remembered does not depend on the terms, so a later grant
///      with another count or period is judged by all that happened before it.
///
///      Up to a count of five one slot is read; one is written, and a page every fifth time.
library Cadence {
    /// @notice There were `count` redemptions in the last `period`; the next is due at `dueAt`.
    error Cadence_TooSoon(uint256 dueAt, uint256 nowAt, uint256 count, uint256 period);
    /// @notice Malformed terms: not `expected` bytes long.
    error Cadence_TermsLength(uint256 expected, uint256 actual);
    /// @notice Malformed terms: a period of no length would hold any number.
    error Cadence_ZeroPeriod();
    /// @notice Malformed terms: a grant for nothing.
    error Cadence_ZeroCount();

    /// @notice Length of the terms in bytes; no other length is accepted.
    uint256 internal constant TERMS_LENGTH = 37;

    uint256 private constant PAGES = 64;
    /// @dev Moments of a page, and of the word.
    uint256 private constant LANES = 5;
    uint256 private constant LANE_BITS = 40;
    uint256 private constant MOMENT = type(uint40).max;
    uint256 private constant MOMENTS = (1 << 200) - 1;
    uint256 private constant TOTAL_AT = 200;

    /// @notice Reads the terms, refusing what is malformed.
    function decode(bytes calldata terms)
        internal
        pure
        returns (bytes32 golemId, uint32 period, uint8 count)
    {
        if (terms.length != TERMS_LENGTH) {
            revert Cadence_TermsLength(TERMS_LENGTH, terms.length);
        }
        golemId = bytes32(terms[0:32]);
        period = uint32(bytes4(terms[32:36]));
        count = uint8(terms[36]);
        if (period == 0) revert Cadence_ZeroPeriod();
        if (count == 0) revert Cadence_ZeroCount();
    }

    /// @notice Records a redemption at `nowAt`, or refuses it.
    /// @param nowAt Seconds, not before those of any call so far.
    function record(Redemptions storage self, uint32 period, uint8 count, uint256 nowAt) internal {
        uint256 word = self.latest;
        uint256 due = _dueAt(self, word, period, count);
        if (nowAt < due) revert Cadence_TooSoon(due, nowAt, count, period);

        uint256 number = word >> TOTAL_AT;
        if (number != 0 && number % LANES == 0) {
            self.pages[(number / LANES - 1) % PAGES] = word & MOMENTS;
        }
        uint256 moments = ((word << LANE_BITS) | (nowAt & MOMENT)) & MOMENTS;
        self.latest = (number + 1) << TOTAL_AT | moments;
    }

    /// @notice First second at which a redemption is accepted; zero where nothing stands in its way.
    function dueAt(Redemptions storage self, uint32 period, uint8 count)
        internal
        view
        returns (uint256)
    {
        return _dueAt(self, self.latest, period, count);
    }

    /// @notice How many redemptions there were, ever.
    function total(Redemptions storage self) internal view returns (uint256) {
        return self.latest >> TOTAL_AT;
    }

    function _dueAt(Redemptions storage self, uint256 word, uint256 period, uint256 count)
        private
        view
        returns (uint256)
    {
        uint256 number = word >> TOTAL_AT;
        if (count > number) return 0;
        if (count > LANES) {
            // Those before the latest five are on pages by now, five to each, oldest highest.
            uint256 index = number - count;
            word = self.pages[(index / LANES) % PAGES];
            count = LANES - index % LANES;
        }
        return ((word >> ((count - 1) * LANE_BITS)) & MOMENT) + period;
    }
}
