// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

import {IERC721} from "@openzeppelin/contracts/token/ERC721/IERC721.sol";
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {
    ERC721URIStorage
} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721URIStorage.sol";
import {ERC721Utils} from "@openzeppelin/contracts/token/ERC721/utils/ERC721Utils.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";
import {IIdentityRegistry} from "../src/interfaces/IIdentityRegistry.sol";

/// @notice Stands in for the public ERC-8004 identity registry on the local chain: functions, events,
///         typed data and conditions are those of version 2.0.0 of it.
/// @dev Local chain only. Left out: the owner who upgrades. Refusals are custom errors, where the public
///      one has strings. A receiver with code is asked last, when the agent is whole; the public one
///      asks before it has written the URI.
contract IdentityRegistry is ERC721URIStorage, EIP712, IIdentityRegistry {
    /// @notice Neither the agent's owner nor approved by him.
    error IdentityRegistry_NotAuthorized(address caller, uint256 agentId);
    /// @notice The wallet is no plain entry: {setAgentWallet} and {unsetAgentWallet} write it.
    error IdentityRegistry_ReservedKey(string metadataKey);
    /// @notice Zero is no wallet; {unsetAgentWallet} clears it.
    error IdentityRegistry_NoWallet(uint256 agentId);
    /// @notice The wallet's consent was good until `deadline`.
    error IdentityRegistry_Expired(uint256 deadline, uint256 nowAt);
    /// @notice A consent is good for a few minutes: until `latest` at most.
    error IdentityRegistry_DeadlineTooFar(uint256 deadline, uint256 latest);
    /// @notice The wallet did not sign `digest`.
    error IdentityRegistry_NoConsent(address wallet, bytes32 digest);

    /// @notice EIP-712 type of a wallet's consent.
    bytes32 public constant AGENT_WALLET_SET_TYPEHASH = keccak256(
        "AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)"
    );
    /// @notice How far ahead the deadline of a consent may lie.
    uint256 public constant MAX_DEADLINE_DELAY = 5 minutes;

    string private constant WALLET_KEY = "agentWallet";

    uint256 private _nextId;
    mapping(uint256 agentId => mapping(string metadataKey => bytes)) private _metadata;

    constructor() ERC721("AgentIdentity", "AGENT") EIP712("ERC8004IdentityRegistry", "1") {}

    /// @dev For the owner and whom he approved; an unknown agent is refused as ERC-721 refuses it.
    modifier onlyAuthorized(uint256 agentId) {
        if (!_isAuthorized(ownerOf(agentId), msg.sender, agentId)) {
            revert IdentityRegistry_NotAuthorized(msg.sender, agentId);
        }
        _;
    }

    /// @inheritdoc IIdentityRegistry
    function register() external returns (uint256 agentId) {
        agentId = _register("", false);
        _askReceiver(agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function register(string calldata agentURI) external returns (uint256 agentId) {
        agentId = _register(agentURI, true);
        _askReceiver(agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function register(string calldata agentURI, MetadataEntry[] calldata metadata)
        external
        returns (uint256 agentId)
    {
        agentId = _register(agentURI, true);
        for (uint256 i = 0; i < metadata.length; i++) {
            _refuseReserved(metadata[i].metadataKey);
            _set(agentId, metadata[i].metadataKey, metadata[i].metadataValue);
        }
        _askReceiver(agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function setAgentURI(uint256 agentId, string calldata newURI) external onlyAuthorized(agentId) {
        _setTokenURI(agentId, newURI);
        emit URIUpdated(agentId, newURI, msg.sender);
    }

    /// @inheritdoc IIdentityRegistry
    function setMetadata(
        uint256 agentId,
        string calldata metadataKey,
        bytes calldata metadataValue
    ) external onlyAuthorized(agentId) {
        _refuseReserved(metadataKey);
        _set(agentId, metadataKey, metadataValue);
    }

    /// @inheritdoc IIdentityRegistry
    function setAgentWallet(
        uint256 agentId,
        address newWallet,
        uint256 deadline,
        bytes calldata signature
    ) external onlyAuthorized(agentId) {
        if (newWallet == address(0)) revert IdentityRegistry_NoWallet(agentId);
        if (block.timestamp > deadline) revert IdentityRegistry_Expired(deadline, block.timestamp);
        uint256 latest = block.timestamp + MAX_DEADLINE_DELAY;
        if (deadline > latest) revert IdentityRegistry_DeadlineTooFar(deadline, latest);
        bytes32 digest = _hashTypedDataV4(
            keccak256(
                abi.encode(
                    AGENT_WALLET_SET_TYPEHASH, agentId, newWallet, ownerOf(agentId), deadline
                )
            )
        );
        if (!_consents(newWallet, digest, signature)) {
            revert IdentityRegistry_NoConsent(newWallet, digest);
        }

        _set(agentId, WALLET_KEY, abi.encodePacked(newWallet));
    }

    /// @inheritdoc IIdentityRegistry
    function unsetAgentWallet(uint256 agentId) external onlyAuthorized(agentId) {
        _set(agentId, WALLET_KEY, "");
    }

    /// @inheritdoc IIdentityRegistry
    function getMetadata(uint256 agentId, string calldata metadataKey)
        external
        view
        returns (bytes memory)
    {
        return _metadata[agentId][metadataKey];
    }

    /// @inheritdoc IIdentityRegistry
    function getAgentWallet(uint256 agentId) external view returns (address) {
        // It is empty or an address: nobody else writes this key.
        // forge-lint: disable-next-line(unsafe-typecast)
        return address(bytes20(_metadata[agentId][WALLET_KEY]));
    }

    /// @inheritdoc IIdentityRegistry
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool) {
        return _isAuthorized(ownerOf(agentId), spender, agentId);
    }

    /// @notice The version of the public registry whose behaviour this is.
    function getVersion() external pure returns (string memory) {
        return "2.0.0";
    }

    /// @inheritdoc IIdentityRegistry
    function ownerOf(uint256 agentId)
        public
        view
        override(ERC721, IERC721, IIdentityRegistry)
        returns (address)
    {
        return super.ownerOf(agentId);
    }

    /// @inheritdoc IIdentityRegistry
    function tokenURI(uint256 agentId)
        public
        view
        override(ERC721URIStorage, IIdentityRegistry)
        returns (string memory)
    {
        return super.tokenURI(agentId);
    }

    /// @dev A new owner has to name a wallet anew, also where it is the old owner again.
    function _update(address to, uint256 agentId, address auth)
        internal
        override
        returns (address)
    {
        if (_ownerOf(agentId) != address(0)) _set(agentId, WALLET_KEY, "");
        return super._update(to, agentId, auth);
    }

    function _register(string memory agentURI, bool hasURI) private returns (uint256 agentId) {
        agentId = _nextId++;
        _mint(msg.sender, agentId);
        if (hasURI) _setTokenURI(agentId, agentURI);
        emit Registered(agentId, agentURI, msg.sender);
        _set(agentId, WALLET_KEY, abi.encodePacked(msg.sender));
    }

    function _askReceiver(uint256 agentId) private {
        ERC721Utils.checkOnERC721Received(msg.sender, address(0), msg.sender, agentId, "");
    }

    function _set(uint256 agentId, string memory key, bytes memory value) private {
        _metadata[agentId][key] = value;
        emit MetadataSet(agentId, key, key, value);
    }

    function _refuseReserved(string calldata key) private pure {
        if (keccak256(bytes(key)) == keccak256(bytes(WALLET_KEY))) {
            revert IdentityRegistry_ReservedKey(key);
        }
    }

    /// @dev A key's own signature counts also where the address has code by EIP-7702.
    function _consents(address wallet, bytes32 digest, bytes memory signature)
        private
        view
        returns (bool)
    {
        (address signer, ECDSA.RecoverError fault,) = ECDSA.tryRecover(digest, signature);
        if (fault == ECDSA.RecoverError.NoError && signer == wallet) return true;
        return SignatureChecker.isValidERC1271SignatureNow(wallet, digest, signature);
    }
}
