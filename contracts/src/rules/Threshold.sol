// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {ModeCode} from "../interfaces/ModeCode.sol";
import {GrantSignature} from "../registry/GrantSignature.sol";

/// @notice What signers agree to, with the execution hashed as EIP-712 hashes bytes.
struct CoSignature {
    address manager;
    bytes32 delegationHash;
    ModeCode mode;
    bytes32 executionHash;
    uint256 nonce;
    uint40 deadline;
}

/// @notice So many of the signers whom an owner named agreed to one execution, and it happens once.
/// @dev Terms: needed u8 ‖ signers 20 each, strictly ascending, none zero; twin `Threshold` in Rust.
///      Args: nonce 32 ‖ deadline u40 ‖ `needed` signatures of 65 each (r ‖ s ‖ v) in the order of their
///      signers. There is one way to write either, and nothing may follow.
///
///      Signed is EIP-712 data under the enforcer's domain ("ThresholdEnforcer", "1") on this chain:
///      `CoSignature(address manager,bytes32 delegationHash,bytes32 mode,bytes execution,uint256
///      nonce,uint40 deadline)`. The execution is in it as bytes, so that a wallet shows what it signs.
///
///      Signers are keys. A key whose account has code by EIP-7702 signs like any other. Contracts do
///      not sign (ERC-1271): nothing is called here, and a Hybrid account would answer for a message
///      that its key signed for another account.
library Threshold {
    /// @notice Malformed terms: not a byte and one signer or more of 20 bytes.
    error Threshold_TermsLength(uint256 actual);
    /// @notice Malformed terms: `needed` is nobody, or more than the `signers` there are.
    error Threshold_Needed(uint256 needed, uint256 signers);
    /// @notice Malformed terms: the signer at `index` is zero, or not above the one before.
    error Threshold_SignerOrder(uint256 index);
    /// @notice The redeemer's arguments are not `expected` bytes long.
    error Threshold_ArgsLength(uint256 expected, uint256 actual);
    /// @notice Signers agreed until `deadline`; it is `nowAt`.
    error Threshold_Expired(uint256 deadline, uint256 nowAt);
    /// @notice Signers agreed to this once, and it was done.
    error Threshold_NonceUsed(uint256 nonce);
    /// @notice `signer` signed twice, or stands behind one whom he should precede.
    error Threshold_SignatureOrder(address signer, address before);
    /// @notice `signer` is not on the list; whoever he is, he comes out when a signature is for
    ///         something else.
    error Threshold_NotASigner(address signer);

    bytes32 private constant TYPEHASH = keccak256(
        "CoSignature(address manager,bytes32 delegationHash,bytes32 mode,bytes execution,"
        "uint256 nonce,uint40 deadline)"
    );
    bytes32 private constant DOMAIN_TYPEHASH = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant NAME_HASH = keccak256("ThresholdEnforcer");
    bytes32 private constant VERSION_HASH = keccak256("1");

    uint256 private constant SIGNER = 20;
    uint256 private constant SIGNERS_AT = 1;
    uint256 private constant SIGNATURES_AT = 37;

    /// @notice Reads the terms, refusing what is malformed.
    function decode(bytes calldata terms)
        internal
        pure
        returns (uint8 needed, address[] memory signers)
    {
        uint256 length = terms.length;
        if (length <= SIGNERS_AT || (length - SIGNERS_AT) % SIGNER != 0) {
            revert Threshold_TermsLength(length);
        }
        needed = uint8(terms[0]);
        signers = new address[]((length - SIGNERS_AT) / SIGNER);
        if (needed == 0 || needed > signers.length) {
            revert Threshold_Needed(needed, signers.length);
        }
        address before = address(0);
        for (uint256 i = 0; i < signers.length; i++) {
            uint256 at = SIGNERS_AT + i * SIGNER;
            signers[i] = address(bytes20(terms[at:at + SIGNER]));
            if (signers[i] <= before) revert Threshold_SignerOrder(i);
            before = signers[i];
        }
    }

    /// @notice Reads the head of the arguments, refusing what is not `needed` signatures long.
    function decodeArgs(bytes calldata args, uint8 needed)
        internal
        pure
        returns (uint256 nonce, uint40 deadline, bytes calldata signatures)
    {
        uint256 expected = SIGNATURES_AT + uint256(needed) * GrantSignature.LENGTH;
        if (args.length != expected) revert Threshold_ArgsLength(expected, args.length);
        nonce = uint256(bytes32(args[0:32]));
        deadline = uint40(bytes5(args[32:SIGNATURES_AT]));
        signatures = args[SIGNATURES_AT:];
    }

    /// @notice Refuses after the deadline.
    function requireInTime(uint40 deadline, uint256 nowAt) internal pure {
        if (nowAt > deadline) revert Threshold_Expired(deadline, nowAt);
    }

    /// @notice What a signer signs.
    /// @param domain The enforcer's; see {domainOf}.
    function digestOf(bytes32 domain, CoSignature memory agreed) internal pure returns (bytes32) {
        // Every member is one word, so that the struct is encoded as EIP-712 wants it.
        bytes32 hash = keccak256(abi.encode(TYPEHASH, agreed));
        return keccak256(abi.encodePacked(hex"1901", domain, hash));
    }

    /// @notice The domain of `enforcer`.
    /// @dev The chain id is read every time, so that a fork does not inherit signatures.
    function domainOf(address enforcer) internal view returns (bytes32) {
        return
            keccak256(abi.encode(DOMAIN_TYPEHASH, NAME_HASH, VERSION_HASH, block.chainid, enforcer));
    }

    /// @notice Refuses unless each signature is of another one of `signers`.
    /// @param signatures As {decodeArgs} leaves them.
    function check(bytes32 digest, bytes calldata signatures, address[] memory signers)
        internal
        pure
    {
        address before = address(0);
        uint256 at = 0;
        for (uint256 from = 0; from < signatures.length; from += GrantSignature.LENGTH) {
            address signer =
                GrantSignature.signerOf(digest, signatures[from:from + GrantSignature.LENGTH]);
            if (signer <= before) revert Threshold_SignatureOrder(signer, before);
            // Both lists ascend, so that one walk finds everybody.
            while (at < signers.length && signers[at] < signer) at++;
            if (at == signers.length || signers[at] != signer) revert Threshold_NotASigner(signer);
            before = signer;
        }
    }

    /// @notice Whether `nonce` was used.
    function isUsed(mapping(uint256 page => uint256 bits) storage nonces, uint256 nonce)
        internal
        view
        returns (bool)
    {
        return nonces[nonce >> 8] & (1 << (nonce & 0xff)) != 0;
    }

    /// @notice Uses `nonce` up. They need no order: 256 share a slot.
    function use(mapping(uint256 page => uint256 bits) storage nonces, uint256 nonce) internal {
        uint256 bits = nonces[nonce >> 8];
        uint256 bit = 1 << (nonce & 0xff);
        if (bits & bit != 0) revert Threshold_NonceUsed(nonce);
        nonces[nonce >> 8] = bits | bit;
    }
}
