// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC1271} from "../interfaces/IERC1271.sol";
import {IGolemRegistry} from "../interfaces/IGolemRegistry.sol";
import {IIdentityRegistry} from "../interfaces/IIdentityRegistry.sol";
import {GrantSignature} from "../registry/GrantSignature.sol";

/// @notice An owner, his account and an agent key say together that they belong to one Golem, and to
///         one ERC-8004 identity.
struct GolemAttestation {
    bytes32 golemId;
    address owner;
    address agentKey;
    /// @dev The account that the Golem acts from. Zero: none is named; the owner: his own.
    address account;
    /// @dev The {GolemRegistry} that knows the Golem.
    address registry;
    /// @dev The ERC-8004 registry, and the agent's id there. Zero: no identity, and then no id.
    address identityRegistry;
    uint256 agentId;
    /// @dev First and last second.
    uint64 issuedAt;
    uint64 expiresAt;
}

/// @notice Who signed. An account signs where it is named and is not the owner.
struct AttestationSignatures {
    bytes owner;
    bytes agentKey;
    bytes account;
}

/// @notice Tells whether a Golem's attestation holds now: signed by everybody it names, in its time, and
///         what both registries still say (SPEC C16). There is no state.
/// @dev Every link is confirmed from both ends, so that nobody is drawn into an attestation: the owner and
///      the key sign and stand in the Golem's registry; the account signs; the identity belongs to one
///      of the two, and its wallet, which only its owner can name, is the key. What changes in a
///      registry ends an attestation at once: a key rotated or detached, an identity transferred.
///
///      EIP-712, domain `GolemAttestations` version `1`, this chain and this contract. A plain key, also
///      with code by EIP-7702, signs with 65 bytes, low s; the code has no say, whatever it is
///      (ATK-32). Every other account is asked by ERC-1271, once, without leave to write. Nothing is
///      unwrapped and nothing prepared: an ERC-6492 signature is none (ATK-4).
///
///      Not promised: that the Golem lives, or that a registry tells the truth. Which registries count is
///      the caller's to say (ATK-6).
contract GolemAttestations {
    /// @notice The attestation rests on another registry than the caller.
    error GolemAttestations_OtherRegistry(address named, address expected);
    /// @notice The attestation's identity is in another registry than the caller asks.
    error GolemAttestations_OtherIdentityRegistry(address named, address expected);
    /// @notice An id without a registry is no identity.
    error GolemAttestations_NoIdentityRegistry(uint256 agentId);
    /// @notice There is no contract at the registry's address.
    error GolemAttestations_NoCode(address registry);
    /// @notice It ends before it begins.
    error GolemAttestations_InvertedWindow(uint256 issuedAt, uint256 expiresAt);
    /// @notice It begins in the future.
    error GolemAttestations_NotYetIssued(uint256 issuedAt, uint256 nowAt);
    /// @notice It was good until `expiresAt`.
    error GolemAttestations_Expired(uint256 expiresAt, uint256 nowAt);
    /// @notice Somebody else signed.
    error GolemAttestations_OtherSigner(address signer, address expected);
    /// @notice The account does not stand by the signature.
    error GolemAttestations_NotSigned(address account, bytes32 digest);
    /// @notice No account has to sign, but something is signed in its place.
    error GolemAttestations_UnexpectedSignature(uint256 length);
    /// @notice By the registry, the Golem is `registered`'s.
    error GolemAttestations_OtherOwner(bytes32 golemId, address registered, address owner);
    /// @notice By the registry, the key that speaks for the Golem is `registered`, or none.
    error GolemAttestations_OtherKey(bytes32 golemId, address registered, address agentKey);
    /// @notice The identity belongs to `holder`: neither the owner nor his account.
    error GolemAttestations_OtherHolder(uint256 agentId, address holder);
    /// @notice The identity's wallet is another, or none.
    error GolemAttestations_OtherWallet(uint256 agentId, address wallet, address agentKey);

    /// @notice EIP-712 type of {GolemAttestation}.
    bytes32 public constant ATTESTATION_TYPEHASH = keccak256(
        "GolemAttestation(bytes32 golemId,address owner,address agentKey,address account,"
        "address registry,address identityRegistry,uint256 agentId,uint64 issuedAt,"
        "uint64 expiresAt)"
    );

    bytes32 private constant DOMAIN_TYPEHASH = keccak256(
        "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
    );
    bytes32 private constant NAME_HASH = keccak256("GolemAttestations");
    bytes32 private constant VERSION_HASH = keccak256("1");
    /// @dev What EIP-7702 leaves as an EOA's code: three bytes and an address. No contract begins so.
    bytes3 private constant DESIGNATOR = 0xef0100;
    uint256 private constant DESIGNATOR_LENGTH = 23;

    /// @notice Refuses an attestation that does not hold.
    /// @param registry The {GolemRegistry} that the caller relies on.
    /// @param identityRegistry The ERC-8004 registry that the caller relies on; zero for none.
    /// @return digest What was signed.
    function verify(
        GolemAttestation calldata attestation,
        AttestationSignatures calldata signatures,
        address registry,
        address identityRegistry
    ) external view returns (bytes32 digest) {
        if (attestation.registry != registry) {
            revert GolemAttestations_OtherRegistry(attestation.registry, registry);
        }
        if (attestation.identityRegistry != identityRegistry) {
            revert GolemAttestations_OtherIdentityRegistry(
                attestation.identityRegistry, identityRegistry
            );
        }
        _checkTime(attestation);
        digest = digestOf(attestation);
        _checkSignatures(attestation, signatures, digest);
        _checkGolem(attestation);
        _checkIdentity(attestation);
    }

    /// @notice What each of them signs.
    function digestOf(GolemAttestation calldata attestation) public view returns (bytes32) {
        return keccak256(abi.encodePacked(hex"1901", domainSeparator(), structHashOf(attestation)));
    }

    /// @notice EIP-712 struct hash. All fields are words, so they are encoded as they stand.
    function structHashOf(GolemAttestation calldata attestation) public pure returns (bytes32) {
        return keccak256(abi.encode(ATTESTATION_TYPEHASH, attestation));
    }

    /// @notice EIP-712 domain separator.
    /// @dev The chain id is read every time, so that a fork does not inherit signatures.
    function domainSeparator() public view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN_TYPEHASH, NAME_HASH, VERSION_HASH, block.chainid, address(this))
        );
    }

    /// @dev Both ends belong to it.
    function _checkTime(GolemAttestation calldata attestation) private view {
        (uint64 first, uint64 last) = (attestation.issuedAt, attestation.expiresAt);
        if (last < first) revert GolemAttestations_InvertedWindow(first, last);
        if (block.timestamp < first) revert GolemAttestations_NotYetIssued(first, block.timestamp);
        if (block.timestamp > last) revert GolemAttestations_Expired(last, block.timestamp);
    }

    function _checkSignatures(
        GolemAttestation calldata attestation,
        AttestationSignatures calldata signatures,
        bytes32 digest
    ) private view {
        _requireSigned(attestation.owner, digest, signatures.owner);
        _requireSigned(attestation.agentKey, digest, signatures.agentKey);
        address account = attestation.account;
        if (account != address(0) && account != attestation.owner) {
            _requireSigned(account, digest, signatures.account);
        } else if (signatures.account.length != 0) {
            revert GolemAttestations_UnexpectedSignature(signatures.account.length);
        }
    }

    function _checkGolem(GolemAttestation calldata attestation) private view {
        bytes32 golemId = attestation.golemId;
        IGolemRegistry registry = IGolemRegistry(_withCode(attestation.registry));
        address owner = registry.ownerOf(golemId);
        if (owner != attestation.owner) {
            revert GolemAttestations_OtherOwner(golemId, owner, attestation.owner);
        }
        (address agentKey,) = registry.agentOf(golemId);
        if (agentKey != attestation.agentKey) {
            revert GolemAttestations_OtherKey(golemId, agentKey, attestation.agentKey);
        }
    }

    /// @dev The holder is never zero, so an account that is not named holds nothing.
    function _checkIdentity(GolemAttestation calldata attestation) private view {
        uint256 agentId = attestation.agentId;
        if (attestation.identityRegistry == address(0)) {
            if (agentId != 0) revert GolemAttestations_NoIdentityRegistry(agentId);
            return;
        }
        IIdentityRegistry identities = IIdentityRegistry(_withCode(attestation.identityRegistry));
        address holder = identities.ownerOf(agentId);
        if (holder != attestation.owner && holder != attestation.account) {
            revert GolemAttestations_OtherHolder(agentId, holder);
        }
        address wallet = identities.getAgentWallet(agentId);
        if (wallet != attestation.agentKey) {
            revert GolemAttestations_OtherWallet(agentId, wallet, attestation.agentKey);
        }
    }

    function _requireSigned(address by, bytes32 digest, bytes calldata signature) private view {
        if (_isKey(by)) {
            address signer = GrantSignature.signerOf(digest, signature);
            if (signer != by) revert GolemAttestations_OtherSigner(signer, by);
            return;
        }
        (bool ok, bytes memory answer) =
            by.staticcall(abi.encodeCall(IERC1271.isValidSignature, (digest, signature)));
        bool yes = ok && answer.length == 32
            && abi.decode(answer, (bytes32)) == bytes32(IERC1271.isValidSignature.selector);
        if (!yes) revert GolemAttestations_NotSigned(by, digest);
    }

    /// @dev Without code, or with another's by EIP-7702: then its key speaks for it.
    function _isKey(address signer) private view returns (bool) {
        uint256 length = signer.code.length;
        if (length == 0) return true;
        return length == DESIGNATOR_LENGTH && bytes3(signer.code) == DESIGNATOR;
    }

    function _withCode(address registry) private view returns (address) {
        if (registry.code.length == 0) revert GolemAttestations_NoCode(registry);
        return registry;
    }
}
