// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {
    CAVEAT_TYPEHASH,
    Caveat,
    DELEGATION_TYPEHASH,
    Delegation
} from "../interfaces/IDelegationManager.sol";

/// @notice Who signed a delegation, by the digest that the canonical DelegationManager itself
///         checks.
/// @dev The signature is the owner's key's own, also where the delegator is a Hybrid account that
///      the key owns. Signatures of several keys, of passkeys or wrapped ones (ERC-6492) are
///      refused by their length. Nothing is called, so a delegator's code has no say.
library GrantSignature {
    /// @notice A key's signature has `expected` bytes: r, s, v.
    error GrantSignature_Length(uint256 expected, uint256 actual);
    /// @notice The upper half of the curve: a second signature made from the first without the key.
    error GrantSignature_HighS(uint256 s, uint256 max);
    /// @notice v is 27 or 28.
    error GrantSignature_RecoveryId(uint256 v);
    /// @notice No key signs like this.
    error GrantSignature_NoSigner(bytes32 digest);

    /// @notice The framework's manager; the same address on every chain.
    address internal constant MANAGER = 0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3;

    uint256 internal constant LENGTH = 65;
    /// @notice Half of the order of secp256k1.
    uint256 internal constant MAX_S =
        0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0;

    bytes32 private constant DOMAIN_TYPEHASH = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant NAME_HASH = keccak256("DelegationManager");
    bytes32 private constant VERSION_HASH = keccak256("1");

    /// @notice EIP-712 struct hash: what the manager calls the delegation's hash.
    function structHash(Delegation calldata delegation) internal pure returns (bytes32) {
        uint256 count = delegation.caveats.length;
        bytes32[] memory caveatHashes = new bytes32[](count);
        for (uint256 i = 0; i < count; i++) {
            Caveat calldata caveat = delegation.caveats[i];
            caveatHashes[i] =
                keccak256(abi.encode(CAVEAT_TYPEHASH, caveat.enforcer, keccak256(caveat.terms)));
        }
        return keccak256(
            abi.encode(
                DELEGATION_TYPEHASH,
                delegation.delegate,
                delegation.delegator,
                delegation.authority,
                keccak256(abi.encodePacked(caveatHashes)),
                delegation.salt
            )
        );
    }

    /// @notice What is signed: the struct hash under the manager's domain on this chain.
    /// @dev The chain id is read every time, so that a fork does not inherit signatures.
    function digestOf(bytes32 hash) internal view returns (bytes32) {
        bytes32 domain =
            keccak256(abi.encode(DOMAIN_TYPEHASH, NAME_HASH, VERSION_HASH, block.chainid, MANAGER));
        return keccak256(abi.encodePacked(hex"1901", domain, hash));
    }

    /// @notice The key behind a signature.
    function signerOf(bytes32 digest, bytes calldata signature)
        internal
        pure
        returns (address signer)
    {
        if (signature.length != LENGTH) revert GrantSignature_Length(LENGTH, signature.length);
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        uint8 v = uint8(signature[64]);
        if (uint256(s) > MAX_S) revert GrantSignature_HighS(uint256(s), MAX_S);
        if (v != 27 && v != 28) revert GrantSignature_RecoveryId(v);
        signer = ecrecover(digest, v, r, s);
        if (signer == address(0)) revert GrantSignature_NoSigner(digest);
    }
}
