// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Class} from "./Actions.sol";
import {Worth} from "./Appraisal.sol";

/// @notice What comes back must be worth what leaves, less a bound: by feeds, not by the pool that is
///         about to be used.
/// @dev Terms: bps u16. Binds swaps, and liquidity by the state of its pool; other classes pass (SPEC
///      D26).
library MaxSlippage {
    /// @notice `back` is less than `out` allows at `bps`.
    error MaxSlippage_TooMuch(uint256 out, uint256 back, uint256 bps);
    /// @notice The pool's price is further from the feeds' than `bps`.
    error MaxSlippage_PoolMoved(uint256 poolPrice, uint256 feedPrice, uint256 bps);
    /// @notice Malformed terms: more than the whole.
    error MaxSlippage_Bps(uint256 bps);

    uint256 internal constant WHOLE = 10_000;

    /// @notice Refuses a bound beyond the whole.
    function requireBps(uint256 bps) internal pure {
        if (bps > WHOLE) revert MaxSlippage_Bps(bps);
    }

    /// @notice Whether an action of this class is bound at all.
    function binds(Class class) internal pure returns (bool) {
        return class == Class.Swap || class == Class.AddLiquidity || class == Class.RemoveLiquidity;
    }

    /// @notice Refuses a swap that may bring back too little, and liquidity in a pool that was moved.
    function check(Class class, Worth memory worth, uint256 bps) internal pure {
        if (class == Class.Swap) {
            if (worth.back * WHOLE < worth.out * (WHOLE - bps)) {
                revert MaxSlippage_TooMuch(worth.out, worth.back, bps);
            }
        } else if (class == Class.AddLiquidity || class == Class.RemoveLiquidity) {
            (uint256 pool, uint256 feed) = (worth.poolPrice, worth.feedPrice);
            uint256 apart = pool > feed ? pool - feed : feed - pool;
            if (apart * WHOLE > feed * bps) revert MaxSlippage_PoolMoved(pool, feed, bps);
        }
    }
}
