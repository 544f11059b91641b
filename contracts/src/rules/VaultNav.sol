// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IVault} from "../interfaces/ITokens.sol";
import {Listing} from "./Listing.sol";

/// @notice Which vault, which share of it, and how much at most in micro-dollars.
struct NavBound {
    address vault;
    uint256 bps;
    uint256 cap;
}

/// @notice One execution is small beside a vault, by what the vault holds now and by what it held an
///         hour ago or more: to fill it for a moment is not enough (SPEC D31). Whoever fills it twice, an
///         hour apart, meets the cap alone.
/// @dev Terms: vault 20 ‖ bps u16 ‖ cap u64 in micro-dollars. State, one word of two checkpoints, low
///      bits first: newer assets u88 ‖ time u40 ‖ older assets u88 ‖ time u40. Assets beyond 88 bits
///      are kept as the most, which can only lower the limit.
library VaultNav {
    using Listing for bytes;

    /// @notice The execution is worth more than the vault allows.
    error VaultNav_TooMuch(uint256 value, uint256 most);
    /// @notice Malformed terms: more than the whole.
    error VaultNav_Bps(uint256 bps);

    /// @notice Age from which a checkpoint counts, in seconds.
    uint256 internal constant SETTLED = 1 hours;

    uint256 private constant WHOLE = 10_000;
    uint256 private constant ASSETS = type(uint88).max;
    uint256 private constant TIME = type(uint40).max;
    uint256 private constant TIME_AT = 88;
    uint256 private constant CHECKPOINT = 128;

    /// @notice Refuses a bound beyond the whole.
    function requireBps(uint256 bps) internal pure {
        if (bps > WHOLE) revert VaultNav_Bps(bps);
    }

    /// @notice Refuses what is worth more than `most`.
    function check(uint256 value, uint256 most) internal pure {
        if (value > most) revert VaultNav_TooMuch(value, most);
    }

    /// @notice The most one execution may be worth, and the state to keep. Without a vault, or while no
    ///         checkpoint has settled, the cap stands alone.
    /// @param word What the caller stores, zero at first.
    function limit(
        bytes calldata listing,
        uint256[] memory answers,
        NavBound memory bound,
        uint256 word
    ) internal view returns (uint256 most, uint256 next) {
        if (bound.vault == address(0)) return (bound.cap, word);
        IVault vault = IVault(bound.vault);
        uint256 assets = vault.totalAssets();
        next = checkpoint(word, assets, block.timestamp);
        (bool settled, uint256 then) = settledAssets(word, block.timestamp);
        if (!settled) return (bound.cap, next);
        uint256 least = assets < then ? assets : then;
        // Both are counted in the vault's asset and priced by now's feed.
        most = listing.valueIn(answers, vault.asset(), least * bound.bps / WHOLE);
        if (most > bound.cap) most = bound.cap;
    }

    /// @notice The state to keep: a checkpoint is made once the newer one has settled.
    function checkpoint(uint256 word, uint256 assets, uint256 nowAt)
        internal
        pure
        returns (uint256)
    {
        uint256 time = (word >> TIME_AT) & TIME;
        if (time != 0 && nowAt < time + SETTLED) return word;
        uint256 kept = assets < ASSETS ? assets : ASSETS;
        // What is older than the newer one is shifted out.
        return (word << CHECKPOINT) | ((nowAt & TIME) << TIME_AT) | kept;
    }

    /// @notice The newest checkpoint that is old enough, if there is one.
    function settledAssets(uint256 word, uint256 nowAt) internal pure returns (bool, uint256) {
        for (uint256 i = 0; i < 2; i++) {
            uint256 time = (word >> TIME_AT) & TIME;
            if (time != 0 && nowAt >= time + SETTLED) return (true, word & ASSETS);
            word >>= CHECKPOINT;
        }
        return (false, 0);
    }
}
