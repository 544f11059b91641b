// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice Calls that make somebody act for the account once more. What they carry would never be seen by a
///         rule that reads calls and has no list of targets (ATK-14, ATK-18).
/// @dev A rule knows its link's delegator, which below the root is not the account that executes. So an
///      account's own entrances are known by selector as well. Not known: contracts that carry calls in
///      forms of their own; through those the account is not the caller.
library HiddenCalls {
    /// @notice The call is to the manager, to the delegator, or carries other calls.
    error HiddenCalls_Refused(address target, bytes4 selector);

    /// @notice Refuses a call that could carry another.
    /// @param manager Who asks: the DelegationManager.
    /// @param data Its calldata. Without any it is a payment, which carries nothing.
    function requireNone(address target, bytes calldata data, address manager, address delegator)
        internal
        pure
    {
        if (data.length == 0) return;
        // What is shorter is filled up with zeros.
        // forge-lint: disable-next-line(unsafe-typecast)
        bytes4 selector = bytes4(data);
        if (target == manager || target == delegator || isCarrier(selector)) {
            revert HiddenCalls_Refused(target, selector);
        }
    }

    /// @notice Whether a function of the framework's accounts or of Uniswap's second router makes a call
    ///         that its caller encodes.
    function isCarrier(bytes4 selector) internal pure returns (bool) {
        // execute(Execution), execute(ModeCode,bytes): an account that calls itself.
        return selector == 0x5c1c6dcd || selector == 0xe9ae5c53
            // redeemDelegations(bytes[],ModeCode[],bytes[]), of the manager and of accounts.
            || selector == 0xcef6d209
            // upgradeToAndCall(address,bytes), upgradeToAndCallAndRetainStorage(address,bytes).
            || selector == 0x4f1ef286 || selector == 0xa24c8f32
            // callPositionManager(bytes) of SwapRouter02.
            || selector == 0xb3a2af13;
    }
}
