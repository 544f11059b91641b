// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice How an account with code says that it stands by a signature.
interface IERC1271 {
    /// @return magicValue The function's own selector for yes, anything else for no.
    function isValidSignature(bytes32 hash, bytes calldata signature)
        external
        view
        returns (bytes4 magicValue);
}
