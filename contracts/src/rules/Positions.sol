// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {
    INonfungiblePositionManager,
    IUniswapV3Factory,
    IUniswapV3Pool
} from "../interfaces/IUniswapV3.sol";
import {PricedToken} from "./Valuation.sol";

/// @notice Whose a liquidity position is, and what its pool's price is beside the feeds'.
library Positions {
    /// @notice The position belongs to somebody else.
    error Positions_NotOwned(uint256 positionId, address owner, address account);
    /// @notice There is no such pool, or it has no price.
    error Positions_NoPool(address token0, address token1, uint24 fee);

    /// @dev Prices are token1 for token0, in base units, times 2^128.
    uint256 private constant ONE = 1 << 128;

    /// @notice Refuses a position that is not `account`'s: anybody may add to anybody's (ATK-45).
    function requireOwned(address manager, uint256 positionId, address account) internal view {
        address owner = INonfungiblePositionManager(manager).ownerOf(positionId);
        if (owner != account) revert Positions_NotOwned(positionId, owner, account);
    }

    /// @notice The two tokens and the fee tier of a position.
    function poolOf(address manager, uint256 positionId)
        internal
        view
        returns (address token0, address token1, uint24 fee)
    {
        (,, token0, token1, fee,,,,,,,) = INonfungiblePositionManager(manager).positions(positionId);
    }

    /// @notice The pool's price at this moment, which whoever trades in it can move.
    function spot(address manager, address token0, address token1, uint24 fee)
        internal
        view
        returns (uint256)
    {
        address factory = INonfungiblePositionManager(manager).factory();
        address pool = IUniswapV3Factory(factory).getPool(token0, token1, fee);
        if (pool == address(0)) revert Positions_NoPool(token0, token1, fee);
        (uint160 root,,,,,,) = IUniswapV3Pool(pool).slot0();
        if (root == 0) revert Positions_NoPool(token0, token1, fee);
        // The root is scaled by 2^96, so its square by 2^192.
        return Math.mulDiv(root, root, 1 << 64);
    }

    /// @notice The same price by two feeds.
    function byFeeds(
        PricedToken memory priced0,
        uint256 answer0,
        PricedToken memory priced1,
        uint256 answer1
    ) internal pure returns (uint256) {
        uint256 worth0 = answer0 * 10 ** (uint256(priced1.tokenDecimals) + priced1.feedDecimals);
        uint256 worth1 = answer1 * 10 ** (uint256(priced0.tokenDecimals) + priced0.feedDecimals);
        return Math.mulDiv(worth0, ONE, worth1);
    }
}
