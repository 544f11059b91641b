// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IVault} from "../interfaces/ITokens.sol";
import {Action, Class} from "./Actions.sol";
import {Listing} from "./Listing.sol";
import {Positions} from "./Positions.sol";
import {PricedToken} from "./Valuation.sol";

/// @notice What an action is worth, in micro-dollars. Unused fields are zero.
struct Worth {
    /// @dev What leaves the account at most.
    uint256 out;
    /// @dev What a swap brings back at least.
    uint256 back;
    /// @dev For liquidity: the pool's own price, and the feeds' price of the same, alike in scale.
    uint256 poolPrice;
    uint256 feedPrice;
}

/// @notice Measures an action once, for every rule that limits it: slippage, spending, share of a vault.
/// @dev Measured are the classes that send value out of the account, and liquidity taken back, whose
///      pool must not be askew. All others are worth nothing here: they stay with the account, or a
///      rule about recipients decides over them.
library Appraisal {
    using Listing for bytes;

    /// @notice Whether an action of this class has a worth.
    function measures(Class class) internal pure returns (bool) {
        return class == Class.Swap || class == Class.AddLiquidity || class == Class.RemoveLiquidity
            || class == Class.Deposit;
    }

    /// @notice What all of these send out together. Liquidity that is taken back sends nothing out, and
    ///         so needs no price here.
    function total(bytes calldata listing, uint256[] memory answers, Action[] memory actions)
        internal
        view
        returns (uint256 value)
    {
        for (uint256 i = 0; i < actions.length; i++) {
            Class class = actions[i].class;
            if (class == Class.RemoveLiquidity || !measures(class)) continue;
            value += measure(listing, answers, actions[i]).out;
        }
    }

    /// @notice The worth of an action whose class is measured.
    /// @param answers Feeds already read; see {Listing.noAnswers}.
    function measure(bytes calldata listing, uint256[] memory answers, Action memory action)
        internal
        view
        returns (Worth memory worth)
    {
        if (action.class == Class.Swap) {
            worth.out = listing.valueOut(answers, action.tokenOut, action.amountOut);
            worth.back = listing.valueIn(answers, action.tokenIn, action.minimumIn);
        } else if (action.class == Class.Deposit) {
            IVault vault = IVault(action.target);
            // Shares are asked for by `mint`; only the vault knows what it will take for them.
            uint256 assets = action.tokenIn == address(0)
                ? action.amountOut
                : vault.previewMint(action.minimumIn);
            worth.out = listing.valueOut(answers, vault.asset(), assets);
        } else {
            _liquidity(listing, answers, action, worth);
        }
    }

    function _liquidity(
        bytes calldata listing,
        uint256[] memory answers,
        Action memory action,
        Worth memory worth
    ) private view {
        (address token0, address token1, uint24 fee) =
            (action.tokenOut, action.tokenOut2, action.fee);
        // Only a mint names its pool; other calls name a position, and that names it.
        if (token0 == address(0)) {
            (token0, token1, fee) = Positions.poolOf(action.target, action.positionId);
        }
        worth.poolPrice = Positions.spot(action.target, token0, token1, fee);
        worth.feedPrice = _feedPrice(listing, answers, token0, token1);
        worth.out = listing.valueOut(answers, token0, action.amountOut)
            + listing.valueOut(answers, token1, action.amountOut2);
    }

    function _feedPrice(
        bytes calldata listing,
        uint256[] memory answers,
        address token0,
        address token1
    ) private view returns (uint256) {
        (PricedToken memory priced0, uint256 answer0) = listing.quote(answers, token0);
        (PricedToken memory priced1, uint256 answer1) = listing.quote(answers, token1);
        return Positions.byFeeds(priced0, answer0, priced1, answer1);
    }
}
