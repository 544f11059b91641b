// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IVault} from "../interfaces/ITokens.sol";
import {Action, Class} from "./Actions.sol";
import {MaxSlippage} from "./MaxSlippage.sol";

/// @notice Assets and the shares they are exchanged for are worth the same, less a bound, by the vault's own
///         books: in a vault with few and dear shares, what is too little for one buys none, and a crumb
///         taken out costs a whole one.
/// @dev Counted in the vault's asset, so that no price is needed and a dead feed traps nothing.
library VaultShares {
    /// @notice `out` would leave the account for `back`, in the vault's asset.
    error VaultShares_TooFew(uint256 out, uint256 back, uint256 bps);

    /// @notice Refuses a deposit or a withdrawal that rounds away more than `bps`; other classes pass.
    function check(Action memory action, uint256 bps) internal view {
        if (action.class != Class.Deposit && action.class != Class.Withdraw) return;
        (uint256 out, uint256 back) = _exchanged(action, IVault(action.target));
        if (back * MaxSlippage.WHOLE < out * (MaxSlippage.WHOLE - bps)) {
            revert VaultShares_TooFew(out, back, bps);
        }
    }

    function _exchanged(Action memory action, IVault vault)
        private
        view
        returns (uint256 out, uint256 back)
    {
        if (action.class == Class.Deposit) {
            if (action.tokenIn == address(0)) {
                out = action.amountOut;
                back = vault.convertToAssets(vault.previewDeposit(out));
            } else {
                out = vault.previewMint(action.minimumIn);
                back = vault.convertToAssets(action.minimumIn);
            }
        } else if (action.tokenOut == address(0)) {
            out = vault.convertToAssets(vault.previewWithdraw(action.minimumIn));
            back = action.minimumIn;
        } else {
            out = vault.convertToAssets(action.amountOut);
            back = vault.previewRedeem(action.amountOut);
        }
    }
}
