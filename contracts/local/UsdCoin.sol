// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// @notice Stands in for USDC on the local chain: what a signer signs for USDC is valid here, and
///         the functions through which USDC moves have its names, parameters and conditions.
/// @dev Local chain only. Left out: blacklist, pause, burning, upgrades, several minters. Refusals
///      are custom errors, where USDC has strings.
contract UsdCoin is ERC20, EIP712, Nonces {
    /// @notice Only the minter mints.
    error UsdCoin_NotMinter(address caller, address minter);
    /// @notice The permit was good until `deadline`.
    error UsdCoin_PermitExpired(uint256 deadline, uint256 nowAt);
    /// @notice The authorization is good after `validAfter`, not at it.
    error UsdCoin_AuthorizationNotYetValid(uint256 validAfter, uint256 nowAt);
    /// @notice The authorization was good before `validBefore`, not at it.
    error UsdCoin_AuthorizationExpired(uint256 validBefore, uint256 nowAt);
    /// @notice The nonce was used or cancelled.
    error UsdCoin_AuthorizationUsedOrCanceled(address authorizer, bytes32 nonce);
    /// @notice Only the payee may bring in a receive authorization.
    error UsdCoin_CallerNotPayee(address caller, address payee);
    /// @notice `signer` did not sign `digest`.
    error UsdCoin_InvalidSignature(address signer, bytes32 digest);

    /// @notice New coins were made.
    event Mint(address indexed minter, address indexed to, uint256 amount);
    /// @notice An authorization was carried out; its nonce is spent.
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    /// @notice An authorization was taken back; its nonce is spent.
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    /// @notice EIP-712 version of the domain.
    string public constant version = "2";

    /// @notice EIP-712 type of {permit}.
    bytes32 public constant PERMIT_TYPEHASH = keccak256(
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"
    );
    /// @notice EIP-712 type of {transferWithAuthorization}.
    bytes32 public constant TRANSFER_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,"
        "uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    /// @notice EIP-712 type of {receiveWithAuthorization}.
    bytes32 public constant RECEIVE_WITH_AUTHORIZATION_TYPEHASH = keccak256(
        "ReceiveWithAuthorization(address from,address to,uint256 value,"
        "uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    /// @notice EIP-712 type of {cancelAuthorization}.
    bytes32 public constant CANCEL_AUTHORIZATION_TYPEHASH =
        keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    /// @notice The one address that mints.
    address public immutable minter;

    mapping(address authorizer => mapping(bytes32 nonce => bool spent)) private _spent;

    constructor(address minter_) ERC20("USD Coin", "USDC") EIP712("USD Coin", "2") {
        minter = minter_;
    }

    /// @notice Makes coins.
    function mint(address to, uint256 amount) external returns (bool) {
        if (msg.sender != minter) revert UsdCoin_NotMinter(msg.sender, minter);
        _mint(to, amount);
        emit Mint(msg.sender, to, amount);
        return true;
    }

    /// @notice Raises an allowance.
    function increaseAllowance(address spender, uint256 increment) external returns (bool) {
        _approve(msg.sender, spender, allowance(msg.sender, spender) + increment);
        return true;
    }

    /// @notice Lowers an allowance; never below zero.
    function decreaseAllowance(address spender, uint256 decrement) external returns (bool) {
        uint256 current = allowance(msg.sender, spender);
        if (current < decrement) revert ERC20InsufficientAllowance(spender, current, decrement);
        _approve(msg.sender, spender, current - decrement);
        return true;
    }

    /// @notice Sets an allowance by a signature of its owner (EIP-2612).
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        permit(owner, spender, value, deadline, abi.encodePacked(r, s, v));
    }

    /// @notice The same for owners with code, who are asked by ERC-1271.
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        bytes memory signature
    ) public {
        if (block.timestamp > deadline) revert UsdCoin_PermitExpired(deadline, block.timestamp);
        bytes32 message = keccak256(
            abi.encode(PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline)
        );
        _requireSigned(owner, message, signature);
        _approve(owner, spender, value);
    }

    /// @notice Carries out a transfer that `from` signed; anyone may bring it in (EIP-3009).
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        transferWithAuthorization(
            from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v)
        );
    }

    /// @notice The same for senders with code, who are asked by ERC-1271.
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        bytes32 message = keccak256(
            abi.encode(
                TRANSFER_WITH_AUTHORIZATION_TYPEHASH,
                from,
                to,
                value,
                validAfter,
                validBefore,
                nonce
            )
        );
        _requireWithin(validAfter, validBefore);
        _spend(from, nonce, message, signature);
        emit AuthorizationUsed(from, nonce);
        _transfer(from, to, value);
    }

    /// @notice Carries out a transfer that `from` signed; only the payee may bring it in.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        receiveWithAuthorization(
            from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v)
        );
    }

    /// @notice The same for senders with code, who are asked by ERC-1271.
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) public {
        if (msg.sender != to) revert UsdCoin_CallerNotPayee(msg.sender, to);
        bytes32 message = keccak256(
            abi.encode(
                RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce
            )
        );
        _requireWithin(validAfter, validBefore);
        _spend(from, nonce, message, signature);
        emit AuthorizationUsed(from, nonce);
        _transfer(from, to, value);
    }

    /// @notice Spends a nonce without a transfer.
    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)
        external
    {
        cancelAuthorization(authorizer, nonce, abi.encodePacked(r, s, v));
    }

    /// @notice The same for authorizers with code, who are asked by ERC-1271.
    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) public {
        bytes32 message = keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce));
        _spend(authorizer, nonce, message, signature);
        emit AuthorizationCanceled(authorizer, nonce);
    }

    /// @notice Whether a nonce was used or cancelled.
    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool) {
        return _spent[authorizer][nonce];
    }

    /// @notice EIP-712 domain separator.
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    /// @inheritdoc ERC20
    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @dev Both ends are outside, as EIP-3009 has it.
    function _requireWithin(uint256 validAfter, uint256 validBefore) private view {
        if (block.timestamp <= validAfter) {
            revert UsdCoin_AuthorizationNotYetValid(validAfter, block.timestamp);
        }
        if (block.timestamp >= validBefore) {
            revert UsdCoin_AuthorizationExpired(validBefore, block.timestamp);
        }
    }

    function _spend(address authorizer, bytes32 nonce, bytes32 message, bytes memory signature)
        private
    {
        if (_spent[authorizer][nonce]) {
            revert UsdCoin_AuthorizationUsedOrCanceled(authorizer, nonce);
        }
        _requireSigned(authorizer, message, signature);
        _spent[authorizer][nonce] = true;
    }

    /// @dev As USDC: code at the address means ERC-1271, also for a 7702 account.
    function _requireSigned(address signer, bytes32 message, bytes memory signature) private view {
        bytes32 digest = _hashTypedDataV4(message);
        if (!SignatureChecker.isValidSignatureNow(signer, digest, signature)) {
            revert UsdCoin_InvalidSignature(signer, digest);
        }
    }
}
