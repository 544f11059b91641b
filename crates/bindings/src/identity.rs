//! ERC-8004 identities: the functions of the registry that Bardo calls.

use alloy_primitives::{Address, address};

alloy_sol_types::sol! {
    /// An ERC-721 whose tokens are agents.
    #[derive(Debug)]
    interface IdentityRegistry {
        function register(string agentURI) external returns (uint256 agentId);
        function setAgentWallet(uint256 agentId, address newWallet, uint256 deadline, bytes signature) external;
        function unsetAgentWallet(uint256 agentId) external;
        function ownerOf(uint256 agentId) external view returns (address);
        function tokenURI(uint256 agentId) external view returns (string);
        function getAgentWallet(uint256 agentId) external view returns (address);
        function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool);
        function supportsInterface(bytes4 interfaceId) external view returns (bool);
        function transferFrom(address from, address to, uint256 agentId) external;

        error ERC721NonexistentToken(uint256 tokenId);

        event Registered(uint256 indexed agentId, string agentURI, address indexed owner);
    }

    /// What a wallet signs to become an agent's; EIP-712, domain `ERC8004IdentityRegistry` version `1`.
    #[derive(Debug)]
    struct AgentWalletSet {
        uint256 agentId;
        address newWallet;
        address owner;
        uint256 deadline;
    }
}

/// The registry of main networks.
pub const IDENTITY_REGISTRY: Address = address!("8004A169FB4a3325136EB29fA0ceB6D2e539a432");
/// The registry of test networks.
pub const TESTNET_IDENTITY_REGISTRY: Address = address!("8004A818BFB912233c491871b3d84c89A494BD9e");
