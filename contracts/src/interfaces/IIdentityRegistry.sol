// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.30;

/// @notice The identity registry of ERC-8004, as far as Bardo asks and tells it. An agent is an ERC-721
///         token; its URI leads to the registration file.
/// @dev The public ones: 0x8004A169FB4a3325136EB29fA0ceB6D2e539a432 on main networks,
///      0x8004A818BFB912233c491871b3d84c89A494BD9e on test networks. They can be upgraded by their owner:
///      what they say is his word in the end. There is no `operatorOf` (SPEC D23): who may act for an
///      agent is {isAuthorizedOrOwner}.
interface IIdentityRegistry {
    /// @notice One entry of what an agent says of itself on chain.
    struct MetadataEntry {
        string metadataKey;
        bytes metadataValue;
    }

    /// @notice An agent is on the register.
    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);
    /// @notice An entry was written; an empty value clears it.
    event MetadataSet(
        uint256 indexed agentId,
        string indexed indexedMetadataKey,
        string metadataKey,
        bytes metadataValue
    );
    /// @notice The registration file is elsewhere now.
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);

    /// @notice Registers an agent of the caller, who is its wallet too. Its URI comes later.
    function register() external returns (uint256 agentId);

    /// @notice Registers an agent of the caller, who is its wallet too.
    function register(string calldata agentURI) external returns (uint256 agentId);

    /// @notice The same with entries; `agentWallet` is none of them.
    function register(string calldata agentURI, MetadataEntry[] calldata metadata)
        external
        returns (uint256 agentId);

    /// @notice Says where the registration file is. For the owner and whom he approved.
    function setAgentURI(uint256 agentId, string calldata newURI) external;

    /// @notice Writes an entry; `agentWallet` is none. For the owner and whom he approved.
    function setMetadata(uint256 agentId, string calldata metadataKey, bytes calldata metadataValue)
        external;

    /// @notice Names the agent's wallet, which consents by a signature. For the owner and whom he
    ///         approved.
    /// @param deadline Last second of the consent; at most five minutes ahead.
    /// @param signature By the new wallet, or by ERC-1271, over
    ///        `AgentWalletSet(uint256 agentId,address newWallet,address owner,uint256 deadline)`.
    function setAgentWallet(
        uint256 agentId,
        address newWallet,
        uint256 deadline,
        bytes calldata signature
    ) external;

    /// @notice Leaves the agent without a wallet. For the owner and whom he approved.
    function unsetAgentWallet(uint256 agentId) external;

    /// @notice Owner of the agent; refuses an unknown one.
    function ownerOf(uint256 agentId) external view returns (address);

    /// @notice Where the registration file is; refuses an unknown agent.
    function tokenURI(uint256 agentId) external view returns (string memory);

    /// @notice An entry; empty where there is none.
    function getMetadata(uint256 agentId, string calldata metadataKey)
        external
        view
        returns (bytes memory);

    /// @notice The agent's wallet; zero where there is none, and after every transfer.
    function getAgentWallet(uint256 agentId) external view returns (address);

    /// @notice Whether somebody may act for the agent; refuses an unknown one.
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool);
}
