//! SPEC C16: an owner, a Golem and an agent's key, bound to one ERC-8004 identity and to each other.

use crate::raw::RawKey;
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::{SolCall, SolStruct as _, eip712_domain},
};
use anyhow::{Result, ensure};
use bardo_bindings::{
    GolemAttestations::{self, AttestationSignatures},
    GolemRegistry, golem_attestations, golem_registry,
    identity::{AgentWalletSet, IDENTITY_REGISTRY, IdentityRegistry},
};
use bardo_testkit::Stage;
use golem_delegation::GolemAttestation;

const SALT: B256 = B256::repeat_byte(0x1d);

struct Bound {
    stage: Stage,
    owner: RawKey,
    agent: RawKey,
    attestation: GolemAttestation,
}

impl Bound {
    /// Registered in both registries, and everything said from both ends.
    async fn new() -> Result<Self> {
        let stage = Stage::open().await?;
        let (owner, agent) = (RawKey::born(&stage).await?, RawKey::born(&stage).await?);
        let register = GolemRegistry::registerCall { salt: SALT, agentKey: agent.address() };
        sent(&stage, &owner, golem_registry(), register).await?;
        let agent_id = Self::identified(&stage, &owner, &agent).await?;
        let golem_id = GolemRegistry::golemIdOfCall { owner: owner.address(), salt: SALT };
        let now = stage.now().await?;
        let attestation = GolemAttestation {
            golem_id: stage.node().read(golem_registry(), golem_id).await?,
            owner: owner.address(),
            agent_key: agent.address(),
            account: Address::ZERO,
            registry: golem_registry(),
            identity_registry: IDENTITY_REGISTRY,
            agent_id,
            issued_at: now,
            expires_at: now + 86_400,
        };
        Ok(Self { stage, owner, agent, attestation })
    }

    /// An identity of `owner` whose wallet agreed to be it.
    async fn identified(stage: &Stage, owner: &RawKey, agent: &RawKey) -> Result<U256> {
        let register = IdentityRegistry::registerCall { agentURI: "ipfs://golem".into() };
        let data = register.abi_encode().into();
        let receipt = owner.send(stage, IDENTITY_REGISTRY, data).await?;
        let registered = receipt.decoded_log::<IdentityRegistry::Registered>();
        let Some(registered) = registered else { anyhow::bail!("no identity") };
        let agent_id = registered.agentId;
        let consent = AgentWalletSet {
            agentId: agent_id,
            newWallet: agent.address(),
            owner: owner.address(),
            deadline: U256::from(stage.now().await? + 200),
        };
        let domain = eip712_domain! {
            name: "ERC8004IdentityRegistry",
            version: "1",
            chain_id: stage.node().chain_id(),
            verifying_contract: IDENTITY_REGISTRY,
        };
        let signature = agent.sign(consent.eip712_signing_hash(&domain))?;
        let set = IdentityRegistry::setAgentWalletCall {
            agentId: agent_id,
            newWallet: agent.address(),
            deadline: consent.deadline,
            signature: signature.to_vec().into(),
        };
        sent(stage, owner, IDENTITY_REGISTRY, set).await?;
        Ok(agent_id)
    }

    /// Whether the chain takes it, signed by these two.
    async fn holds(
        &self,
        attestation: &GolemAttestation,
        owner: &RawKey,
        agent: &RawKey,
    ) -> Result<bool> {
        let digest = attestation.digest(self.stage.node().chain_id(), golem_attestations());
        let signatures = AttestationSignatures {
            owner: owner.sign(digest)?.to_vec().into(),
            agentKey: agent.sign(digest)?.to_vec().into(),
            account: Bytes::new(),
        };
        let ask = GolemAttestations::verifyCall {
            attestation: GolemAttestations::GolemAttestation {
                golemId: attestation.golem_id,
                owner: attestation.owner,
                agentKey: attestation.agent_key,
                account: attestation.account,
                registry: attestation.registry,
                identityRegistry: attestation.identity_registry,
                agentId: attestation.agent_id,
                issuedAt: attestation.issued_at,
                expiresAt: attestation.expires_at,
            },
            signatures,
            registry: golem_registry(),
            identityRegistry: IDENTITY_REGISTRY,
        };
        match self.stage.node().read(golem_attestations(), ask).await {
            Ok(signed) => {
                ensure!(signed == digest, "another digest");
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    }

    async fn still(&self) -> Result<bool> {
        self.holds(&self.attestation, &self.owner, &self.agent).await
    }
}

async fn sent<C: SolCall>(stage: &Stage, from: &RawKey, to: Address, call: C) -> Result<()> {
    let receipt = from.send(stage, to, call.abi_encode().into()).await?;
    ensure!(receipt.status(), "{} failed", C::SIGNATURE);
    Ok(())
}

#[tokio::test]
async fn owner_golem_key_and_identity_hold_together_from_every_end() -> Result<()> {
    let bound = Bound::new().await?;
    let (owner, agent) = (&bound.owner, &bound.agent);
    let stranger = RawKey::born(&bound.stage).await?;

    ensure!(bound.still().await?, "it holds");
    ensure!(!bound.holds(&bound.attestation, &stranger, agent).await?, "not signed by the owner");
    ensure!(!bound.holds(&bound.attestation, owner, &stranger).await?, "not signed by the key");
    let elsewhere = GolemAttestation { owner: stranger.address(), ..bound.attestation };
    ensure!(!bound.holds(&elsewhere, &stranger, agent).await?, "a stranger's Golem");
    let other = GolemAttestation {
        agent_id: bound.attestation.agent_id + U256::from(1),
        ..bound.attestation
    };
    ensure!(!bound.holds(&other, owner, agent).await?, "an identity that nobody has");
    bound.stage.warp(bound.attestation.expires_at + 1).await?;
    ensure!(!bound.still().await?, "expired");
    Ok(())
}

#[tokio::test]
async fn a_rotated_key_and_a_sold_identity_end_it_at_once() -> Result<()> {
    let bound = Bound::new().await?;
    let (stage, owner) = (&bound.stage, &bound.owner);
    let (golem, next) = (bound.attestation.golem_id, RawKey::born(stage).await?);
    let attach = |key: Address| GolemRegistry::attachCall { golemId: golem, agentKey: key };

    sent(stage, owner, golem_registry(), attach(next.address())).await?;
    ensure!(!bound.still().await?, "the registry knows another key");
    sent(stage, owner, golem_registry(), attach(bound.agent.address())).await?;
    ensure!(bound.still().await?, "and knows the first again");

    let sell = IdentityRegistry::transferFromCall {
        from: owner.address(),
        to: next.address(),
        agentId: bound.attestation.agent_id,
    };
    sent(stage, owner, IDENTITY_REGISTRY, sell).await?;
    let wallet = IdentityRegistry::getAgentWalletCall { agentId: bound.attestation.agent_id };
    ensure!(stage.node().read(IDENTITY_REGISTRY, wallet).await?.is_zero(), "cleared on transfer");
    ensure!(!bound.still().await?, "the identity is another's");
    Ok(())
}
