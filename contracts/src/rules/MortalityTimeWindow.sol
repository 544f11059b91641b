// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice A Golem acts from its birth to its death, and at no other time.
/// @dev Terms: uint64 start ‖ uint64 end, 16 bytes; twin `MortalityTimeWindow` in Rust.
///      Both ends belong to the window. The time is an argument, so that every caller of the rule,
///      and its twins, judge by the same function.
library MortalityTimeWindow {
    /// @notice The window opens at `start`; it is `nowAt`.
    error MortalityTimeWindow_NotYetBorn(uint256 start, uint256 nowAt);
    /// @notice The window closed after `end`; it is `nowAt`.
    error MortalityTimeWindow_Expired(uint256 end, uint256 nowAt);
    /// @notice Malformed terms: a window that ends before it starts would never open.
    error MortalityTimeWindow_InvertedWindow(uint256 start, uint256 end);
    /// @notice Malformed terms: not `expected` bytes long.
    error MortalityTimeWindow_TermsLength(uint256 expected, uint256 actual);

    /// @notice Length of the terms in bytes; no other length is accepted.
    uint256 internal constant TERMS_LENGTH = 16;

    /// @notice Reads the terms, refusing what is malformed.
    function decode(bytes calldata terms) internal pure returns (uint64 start, uint64 end) {
        if (terms.length != TERMS_LENGTH) {
            revert MortalityTimeWindow_TermsLength(TERMS_LENGTH, terms.length);
        }
        start = uint64(bytes8(terms[0:8]));
        end = uint64(bytes8(terms[8:16]));
        requireOrdered(start, end);
    }

    /// @notice Refuses a window that would never open.
    function requireOrdered(uint64 start, uint64 end) internal pure {
        if (end < start) revert MortalityTimeWindow_InvertedWindow(start, end);
    }

    /// @notice Refuses unless `start` ≤ `nowAt` ≤ `end`.
    function check(uint64 start, uint64 end, uint256 nowAt) internal pure {
        if (nowAt < start) revert MortalityTimeWindow_NotYetBorn(start, nowAt);
        if (nowAt > end) revert MortalityTimeWindow_Expired(end, nowAt);
    }
}
