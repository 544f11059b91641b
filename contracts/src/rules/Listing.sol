// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Role} from "./Actions.sol";
import {PricedToken, Valuation} from "./Valuation.sol";

/// @notice What an owner listed by name: tokens with the feed that prices each, and other targets; each with
///         the role it plays. Every rule that looks at an action has one at the end of its terms.
/// @dev Packed: sequencerFeed 20 ‖ sequencerGrace u32 ‖ tokens u8 ‖ targets u8, 26 bytes; then per token:
///      token 20 ‖ role u8 ‖ feed 20 ‖ tokenDecimals u8 ‖ feedDecimals u8 ‖ maxAge u32; then per target:
///      address 20 ‖ role u8. Twin: `Listing` in Rust. A token of no role is priced and cannot be called.
///      Of two entries for one address the first counts; for its role, targets count before tokens.
library Listing {
    /// @notice Malformed terms: not as long as their own counts say.
    error Listing_Length(uint256 expected, uint256 actual);
    /// @notice Malformed terms: a target with a role nobody knows.
    error Listing_Role(address target, uint256 role);
    /// @notice The owner named no feed for this token.
    error Listing_UnknownToken(address token);

    uint256 internal constant HEADER = 26;
    uint256 internal constant TOKEN = 47;
    uint256 internal constant TARGET = 21;

    /// @notice Refuses a listing of any other length than the one its counts give.
    function requireWhole(bytes calldata listing) internal pure {
        if (listing.length < HEADER) revert Listing_Length(HEADER, listing.length);
        uint256 expected;
        // Two counts of one byte each.
        unchecked {
            expected = HEADER + tokenCount(listing) * TOKEN + targetCount(listing) * TARGET;
        }
        if (listing.length != expected) revert Listing_Length(expected, listing.length);
    }

    // Both counts are read without a check: {requireWhole} has seen that the header is there.

    function targetCount(bytes calldata listing) internal pure returns (uint256) {
        return uint8(_word(listing, 0) >> 48);
    }

    function tokenCount(bytes calldata listing) internal pure returns (uint256) {
        return uint8(_word(listing, 0) >> 56);
    }

    // Narrowing is how a field is cut out of a word: what stands above it falls away.
    // forge-lint: disable-start(unsafe-typecast)

    /// @notice What the owner said the target is; none for one he did not name.
    function role(bytes calldata listing, address target) internal pure returns (Role) {
        // At most 255 entries of each kind: too small to overflow.
        unchecked {
            uint256 tokens = HEADER + tokenCount(listing) * TOKEN;
            uint256 end = tokens + targetCount(listing) * TARGET;
            // Routers, which are called most, are no tokens.
            for (uint256 next = tokens; next != end;) {
                next += TARGET;
                // An entry stands in the lower part of its word, behind bytes of its neighbours.
                uint256 entry = _word(listing, next - 32);
                if (uint160(entry >> 8) == uint160(target)) return _role(target, uint8(entry));
            }
            for (uint256 at = HEADER; at != tokens; at += TOKEN) {
                uint256 entry = _word(listing, at);
                if (entry >> 96 == uint160(target)) return _role(target, uint8(entry >> 88));
            }
        }
        return Role.None;
    }

    /// @notice Nothing read yet: one answer for each token, and one for the sequencer.
    function noAnswers(bytes calldata listing) internal pure returns (uint256[] memory) {
        return new uint256[](tokenCount(listing) + 1);
    }

    /// @notice What `amount` is worth as it leaves, in micro-dollars, rounded up.
    /// @param answers Feeds already read, as {noAnswers} begins them; each is read once.
    function valueOut(
        bytes calldata listing,
        uint256[] memory answers,
        address token,
        uint256 amount
    ) internal view returns (uint256) {
        (PricedToken memory priced, uint256 answer) = quote(listing, answers, token);
        return Valuation.valueOut(priced, answer, amount);
    }

    /// @notice What `amount` is worth as it arrives, in micro-dollars, rounded down.
    function valueIn(
        bytes calldata listing,
        uint256[] memory answers,
        address token,
        uint256 amount
    ) internal view returns (uint256) {
        (PricedToken memory priced, uint256 answer) = quote(listing, answers, token);
        return Valuation.valueIn(priced, answer, amount);
    }

    /// @notice The token's feed and what it answers; a token without one is refused (ATK-25).
    function quote(bytes calldata listing, uint256[] memory answers, address token)
        internal
        view
        returns (PricedToken memory priced, uint256 answer)
    {
        uint256 index = _find(listing, token, priced);
        answer = answers[index];
        if (answer == 0) {
            _requireSequencer(listing, answers);
            answer = Valuation.price(priced, block.timestamp);
            answers[index] = answer;
        }
    }

    /// @notice Refuses a token that the owner did not name with a feed.
    function requireToken(bytes calldata listing, address token) internal pure {
        _find(listing, token, PricedToken(token, address(0), 0, 0, 0));
    }

    /// @dev 32 bytes from `at` on. Not checked, for every token costs it twice or more: {requireWhole} has
    ///      seen that all entries are there. The first of an empty listing reads six bytes of what follows,
    ///      and uses none of them.
    function _word(bytes calldata listing, uint256 at) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := calldataload(add(listing.offset, at))
        }
    }

    function _role(address target, uint256 found) private pure returns (Role) {
        if (found > uint256(type(Role).max)) revert Listing_Role(target, found);
        return Role(found);
    }

    /// @dev Fills `priced` in, which is the caller's: a second one would cost each price its memory.
    function _find(bytes calldata listing, address token, PricedToken memory priced)
        private
        pure
        returns (uint256)
    {
        // At most 255 tokens of 47 bytes: too small to overflow.
        unchecked {
            uint256 end = HEADER + tokenCount(listing) * TOKEN;
            uint256 at = _search(listing, token, end);
            if (at == end) revert Listing_UnknownToken(token);
            // The last 32 bytes of an entry: the end of the token, its role, and all the rest.
            uint256 word = _word(listing, at + TOKEN - 32);
            priced.token = token;
            priced.feed = address(uint160(word >> 48));
            priced.tokenDecimals = uint8(word >> 40);
            priced.feedDecimals = uint8(word >> 32);
            priced.maxAge = uint32(word);
            return (at - HEADER) / TOKEN;
        }
    }

    /// @dev Where the token's entry begins, or `end`. Every redemption searches three times, and each token
    ///      more is passed by every search: one jump for each instead of two.
    function _search(bytes calldata listing, address token, uint256 end)
        private
        pure
        returns (uint256 at)
    {
        assembly ("memory-safe") {
            at := HEADER
            // Zero where the token is found, and where there are no more.
            for {} mul(xor(shr(96, calldataload(add(listing.offset, at))), token), lt(at, end)) {} {
                at := add(at, TOKEN)
            }
        }
    }

    /// @dev No price of a rollup counts while its sequencer is away: one look covers them all.
    function _requireSequencer(bytes calldata listing, uint256[] memory answers) private view {
        uint256 last = answers.length - 1;
        if (answers[last] != 0) return;
        answers[last] = 1;
        uint256 word = _word(listing, 0);
        address feed = address(uint160(word >> 96));
        if (feed == address(0)) return;
        Valuation.requireSequencer(feed, uint32(word >> 64), block.timestamp);
    }

    // forge-lint: disable-end(unsafe-typecast)
}
