use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{Eip712Domain, SolStruct as _, eip712_domain};

mod wire {
    alloy_sol_types::sol! {
        struct GolemAttestation {
            bytes32 golemId;
            address owner;
            address agentKey;
            address account;
            address registry;
            address identityRegistry;
            uint256 agentId;
            uint64 issuedAt;
            uint64 expiresAt;
        }
    }
}

/// What an owner, an agent's key and an account sign together: that they belong to one Golem, and to one
/// ERC-8004 identity. `GolemAttestations.sol` tells whether it holds.
///
/// ```
/// use golem_delegation::GolemAttestation;
/// # use alloy_primitives::{Address, B256, U256};
/// let said = GolemAttestation {
///     golem_id: B256::repeat_byte(7),
///     owner: Address::repeat_byte(1),
///     agent_key: Address::repeat_byte(2),
///     account: Address::repeat_byte(1),
///     registry: Address::repeat_byte(3),
///     identity_registry: Address::ZERO,
///     agent_id: U256::ZERO,
///     issued_at: 1_000,
///     expires_at: 2_000,
/// };
/// // A longer life is another statement, and needs its own signatures.
/// let longer = GolemAttestation { expires_at: 3_000, ..said };
/// assert_ne!(said.struct_hash(), longer.struct_hash());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GolemAttestation {
    /// The Golem.
    pub golem_id: B256,
    /// Its owner.
    pub owner: Address,
    /// The key that speaks for it.
    pub agent_key: Address,
    /// The account it acts from: zero for none, the owner for his own.
    pub account: Address,
    /// GolemRegistry.
    pub registry: Address,
    /// The ERC-8004 registry; zero for no identity.
    pub identity_registry: Address,
    /// The identity's number there.
    pub agent_id: U256,
    /// First second.
    pub issued_at: u64,
    /// Last second.
    pub expires_at: u64,
}

impl GolemAttestation {
    /// EIP-712 hash of the struct alone.
    #[must_use]
    pub fn struct_hash(&self) -> B256 {
        self.wire().eip712_hash_struct()
    }

    /// What is signed, for the contract at `verifier` on one chain.
    ///
    /// ```
    /// # use golem_delegation::GolemAttestation;
    /// # use alloy_primitives::{Address, B256, U256};
    /// # let said = GolemAttestation {
    /// #     golem_id: B256::repeat_byte(7),
    /// #     owner: Address::repeat_byte(1),
    /// #     agent_key: Address::repeat_byte(2),
    /// #     account: Address::repeat_byte(1),
    /// #     registry: Address::repeat_byte(3),
    /// #     identity_registry: Address::ZERO,
    /// #     agent_id: U256::ZERO,
    /// #     issued_at: 1_000,
    /// #     expires_at: 2_000,
    /// # };
    /// let verifier = Address::repeat_byte(9);
    /// // What is signed for one chain says nothing on another.
    /// assert_ne!(said.digest(8453, verifier), said.digest(1, verifier));
    /// ```
    #[must_use]
    pub fn digest(&self, chain_id: u64, verifier: Address) -> B256 {
        let domain: Eip712Domain = eip712_domain! {
            name: "GolemAttestations",
            version: "1",
            chain_id: chain_id,
            verifying_contract: verifier,
        };
        self.wire().eip712_signing_hash(&domain)
    }

    const fn wire(&self) -> wire::GolemAttestation {
        wire::GolemAttestation {
            golemId: self.golem_id,
            owner: self.owner,
            agentKey: self.agent_key,
            account: self.account,
            registry: self.registry,
            identityRegistry: self.identity_registry,
            agentId: self.agent_id,
            issuedAt: self.issued_at,
            expiresAt: self.expires_at,
        }
    }
}
