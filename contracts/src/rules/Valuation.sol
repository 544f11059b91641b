// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IPriceFeed, IUptimeFeed} from "../interfaces/IPriceFeed.sol";

/// @notice A token and the one feed that prices it, as the owner signed them.
struct PricedToken {
    /// @dev address(0) is the chain's own coin.
    address token;
    address feed;
    uint8 tokenDecimals;
    uint8 feedDecimals;
    /// @dev Seconds after which an answer no longer counts.
    uint32 maxAge;
}

/// @notice What amounts are worth, by feeds that nobody but the owner chose. A price that cannot be
///         relied on is no price: the caller is refused, never guessed for.
/// @dev Dollars are micro-dollars.
library Valuation {
    /// @notice Zero, negative or beyond any price.
    error Valuation_Answer(address feed, int256 answer);
    /// @notice The round has no answer of its own yet.
    error Valuation_Incomplete(address feed, uint80 roundId, uint80 answeredInRound);
    /// @notice The answer is older than the owner allows, never came, or comes from the future.
    error Valuation_Stale(address feed, uint256 updatedAt, uint256 nowAt, uint256 maxAge);
    /// @notice The feed counts in other decimals than the owner signed.
    error Valuation_Decimals(address feed, uint256 signed, uint256 actual);
    /// @notice More than any token has; it would not fit the arithmetic.
    error Valuation_Amount(uint256 amount);
    /// @notice The rollup's sequencer is down, or was until `since`, less than `grace` seconds ago.
    error Valuation_Sequencer(address feed, int256 answer, uint256 since, uint256 grace);

    /// @notice Largest answer that is taken for a price.
    int256 internal constant MAX_ANSWER = int256(uint256(type(uint96).max));
    /// @notice Largest amount that is valued.
    uint256 internal constant MAX_AMOUNT = type(uint128).max;
    /// @notice Decimals of a micro-dollar.
    uint256 private constant MICRO = 1e6;

    /// @notice The feed's answer, if it can be relied on.
    function price(PricedToken memory priced, uint256 nowAt) internal view returns (uint256) {
        IPriceFeed feed = IPriceFeed(priced.feed);
        uint256 actual = feed.decimals();
        if (actual != priced.feedDecimals) {
            revert Valuation_Decimals(priced.feed, priced.feedDecimals, actual);
        }
        (uint80 roundId, int256 answer,, uint256 updatedAt, uint80 answeredInRound) =
            feed.latestRoundData();
        if (answer <= 0 || answer > MAX_ANSWER) revert Valuation_Answer(priced.feed, answer);
        if (answeredInRound < roundId) {
            revert Valuation_Incomplete(priced.feed, roundId, answeredInRound);
        }
        // Zero means that the round never ended.
        if (updatedAt == 0 || updatedAt > nowAt || nowAt - updatedAt > priced.maxAge) {
            revert Valuation_Stale(priced.feed, updatedAt, nowAt, priced.maxAge);
        }
        // casting to 'uint256' is safe because the answer is positive
        // forge-lint: disable-next-line(unsafe-typecast)
        return uint256(answer);
    }

    /// @notice What leaves the account, rounded up: a cap must hold for the true value.
    function valueOut(PricedToken memory priced, uint256 answer, uint256 amount)
        internal
        pure
        returns (uint256)
    {
        (uint256 product, uint256 unit) = _scale(priced, answer, amount);
        return (product + unit - 1) / unit;
    }

    /// @notice What arrives, rounded down: a promise must hold for the true value.
    function valueIn(PricedToken memory priced, uint256 answer, uint256 amount)
        internal
        pure
        returns (uint256)
    {
        (uint256 product, uint256 unit) = _scale(priced, answer, amount);
        return product / unit;
    }

    /// @notice Refuses while a rollup's sequencer is down and for `grace` seconds after.
    /// @dev Chainlink's uptime feed answers 0 for up, and starts a round at each change.
    function requireSequencer(address feed, uint256 grace, uint256 nowAt) internal view {
        (, int256 answer, uint256 since) = IUptimeFeed(feed).latestRoundData();
        if (answer != 0 || since == 0 || since > nowAt || nowAt - since < grace) {
            revert Valuation_Sequencer(feed, answer, since, grace);
        }
    }

    /// @dev `amount` × price in micro-dollars is product ÷ unit. Bounded factors: 2^128 × 2^96 ×
    ///      10^6 stays below 2^244, so nothing can overflow; decimals above 36 could make the unit
    ///      do so and are stopped by checked arithmetic, as a refusal.
    function _scale(PricedToken memory priced, uint256 answer, uint256 amount)
        private
        pure
        returns (uint256 product, uint256 unit)
    {
        if (amount > MAX_AMOUNT) revert Valuation_Amount(amount);
        unchecked {
            product = amount * answer * MICRO;
        }
        unit = 10 ** (uint256(priced.tokenDecimals) + priced.feedDecimals);
    }
}
