use crate::{
    ChainFault, Node, OwnerCall, OwnerError, Registry,
    snapshot::{Snapshot, revert_data},
};
use alloy::{
    primitives::{Address, B256, U256},
    rpc::types::TransactionReceipt,
    sol_types::{Error as AbiError, SolCall, SolError, SolEvent},
};
use bardo_bindings::identity::IdentityRegistry;
use golem_custody::OwnerSigner;

/// An ERC-8004 identity registry, through one node. The public ones can be upgraded by their owner: what they say is
/// his word in the end.
#[derive(Clone, Debug)]
pub struct Identities {
    node: Node,
    at: Address,
}

/// An agent's identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its token.
    pub agent_id: U256,
    /// Who holds it.
    pub owner: Address,
    /// Where its registration file is; in the words of whoever registered it.
    pub uri: String,
    /// The wallet that agreed to be the agent's.
    pub wallet: Option<Address>,
}

/// An identity that was just registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewIdentity {
    /// Its token.
    pub agent_id: U256,
    /// The transaction.
    pub transaction: B256,
    /// What it used.
    pub gas_used: u64,
}

/// Whether an identity and a Golem belong to one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub enum Kinship {
    /// They do.
    Same {
        /// Whose they are.
        owner: Address,
    },
    /// They do not.
    Different {
        /// Whose the identity is.
        identity: Address,
        /// Whose the Golem is.
        golem: Address,
    },
    /// There is no such identity.
    NoIdentity,
    /// The Golem is not on the register, or not any more.
    NoGolem,
}

impl Identities {
    /// The registry at `at`; fails where there is no code.
    pub async fn open(node: &Node, at: Address) -> Result<Self, ChainFault> {
        node.require("identity registry", at).await?;
        Ok(Self { node: node.clone(), at })
    }

    /// Registers an agent of this key, which is its wallet too, for at most `ceiling` wei.
    pub async fn register(
        &self,
        signer: &OwnerSigner,
        uri: &str,
        ceiling: U256,
    ) -> Result<NewIdentity, OwnerError> {
        let register = IdentityRegistry::registerCall { agentURI: uri.to_owned() };
        let call = OwnerCall::new(signer.address(), self.at, &register);
        let receipt = call.send(&self.node, signer, ceiling).await?;
        let agent_id = registered(self.at, signer.address(), &receipt).ok_or_else(|| {
            self.unexpected(
                IdentityRegistry::registerCall::SIGNATURE,
                AbiError::custom("it registered nobody"),
            )
        })?;
        let (transaction, gas_used) = (receipt.transaction_hash, receipt.gas_used);
        Ok(NewIdentity { agent_id, transaction, gas_used })
    }

    /// An agent's identity; nothing where there is none.
    pub async fn identity(&self, agent_id: U256) -> Result<Option<Identity>, ChainFault> {
        let snapshot = Snapshot::newest(&self.node).await?;
        let Some(owner) = self.owner(&snapshot, agent_id).await? else { return Ok(None) };
        let uri =
            snapshot.read(self.at, IdentityRegistry::tokenURICall { agentId: agent_id }).await?;
        let wallet = snapshot
            .read(self.at, IdentityRegistry::getAgentWalletCall { agentId: agent_id })
            .await?;
        let wallet = Some(wallet).filter(|wallet| !wallet.is_zero());
        Ok(Some(Identity { agent_id, owner, uri, wallet }))
    }

    /// Whether an agent's identity and a Golem belong to one owner, on the state of one block.
    pub async fn kinship(
        &self,
        registry: &Registry,
        agent_id: U256,
        golem: B256,
    ) -> Result<Kinship, ChainFault> {
        let snapshot = Snapshot::newest(&self.node).await?;
        let Some(identity) = self.owner(&snapshot, agent_id).await? else {
            return Ok(Kinship::NoIdentity);
        };
        let entry = registry.entry_on(&snapshot, golem).await?;
        Ok(match entry.filter(|entry| entry.state.registered).map(|entry| entry.owner) {
            None => Kinship::NoGolem,
            Some(owner) if owner == identity => Kinship::Same { owner },
            Some(golem) => Kinship::Different { identity, golem },
        })
    }

    /// Who holds an identity. That there is none is an answer; any other refusal is a fault.
    async fn owner(
        &self,
        snapshot: &Snapshot<'_>,
        agent_id: U256,
    ) -> Result<Option<Address>, ChainFault> {
        let ask = IdentityRegistry::ownerOfCall { agentId: agent_id };
        match snapshot.read(self.at, ask).await {
            Ok(owner) => Ok(Some(owner)),
            Err(fault) => {
                let unknown = revert_data(&fault).is_some_and(|data| {
                    IdentityRegistry::ERC721NonexistentToken::abi_decode(&data).is_ok()
                });
                if unknown { Ok(None) } else { Err(fault) }
            }
        }
    }

    fn unexpected(&self, what: &'static str, source: AbiError) -> ChainFault {
        ChainFault::Answer { contract: self.at, what, source: source.into() }
    }
}

/// The agent that a transaction registered for `owner` at the registry `at`.
pub(crate) fn registered(
    at: Address,
    owner: Address,
    receipt: &TransactionReceipt,
) -> Option<U256> {
    // Whoever is called along the way may emit what he likes: only the registry's own word counts.
    let said = receipt.inner.logs().iter().filter(|log| log.address() == at);
    let mut events =
        said.filter_map(|log| IdentityRegistry::Registered::decode_log(&log.inner).ok());
    events.find(|event| event.owner == owner).map(|event| event.agentId)
}
