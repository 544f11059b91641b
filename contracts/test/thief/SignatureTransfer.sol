// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// @notice The part of Permit2 that ATK-21 is about: a signed message that pays, and does not say whose
///         money it is. Whoever approved this contract and accepts the signature is a payer.
/// @dev For tests only: same typed data and same check as Permit2's `permitTransferFrom`, nonces simpler.
contract SignatureTransfer {
    using SafeERC20 for IERC20;

    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    /// @notice The message is used up or late, asks for too much, or was not signed.
    error SignatureTransfer_Refused(address owner);

    bytes32 private constant DOMAIN =
        keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
    bytes32 private constant TOKEN = keccak256("TokenPermissions(address token,uint256 amount)");
    bytes32 private constant PERMIT = keccak256(
        "PermitTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline)TokenPermissions(address token,uint256 amount)"
    );

    mapping(address owner => mapping(uint256 nonce => bool)) private _used;

    /// @notice Takes from `owner` what he signed for, to wherever the spender likes.
    function permitTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes calldata signature
    ) external {
        if (
            _used[owner][permit.nonce] || block.timestamp > permit.deadline
                || details.requestedAmount > permit.permitted.amount
                || !SignatureChecker.isValidSignatureNow(owner, _digest(permit), signature)
        ) revert SignatureTransfer_Refused(owner);

        _used[owner][permit.nonce] = true;
        IERC20(permit.permitted.token).safeTransferFrom(owner, details.to, details.requestedAmount);
    }

    function _digest(PermitTransferFrom calldata permit) private view returns (bytes32) {
        bytes32 domain =
            keccak256(abi.encode(DOMAIN, keccak256("Permit2"), block.chainid, address(this)));
        bytes32 token =
            keccak256(abi.encode(TOKEN, permit.permitted.token, permit.permitted.amount));
        bytes32 message =
            keccak256(abi.encode(PERMIT, token, msg.sender, permit.nonce, permit.deadline));
        return keccak256(abi.encodePacked(hex"1901", domain, message));
    }
}
