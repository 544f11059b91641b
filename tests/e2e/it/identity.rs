//! SPEC C16: an owner, a Golem and an agent's key, bound to one ERC-8004 identity and to each other.

use crate::raw::RawKey;
use alloy::{
    network::TransactionBuilder as _,
    primitives::{Address, B256, Bytes, U256},
    providers::Provider as _,
    rpc::types::TransactionRequest,
    sol_types::{SolCall, SolError, SolInterface as _, SolStruct as _, eip712_domain},
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{
    GolemAttestations::{
        self, AttestationSignatures, GolemAttestations_Expired, GolemAttestations_OtherHolder,
        GolemAttestations_OtherKey, GolemAttestations_OtherOwner, GolemAttestations_OtherSigner,
        GolemAttestationsErrors,
    },
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

    /// What the chain says to it, signed by these two: what was signed, or what is against it.
    async fn asked(
        &self,
        attestation: &GolemAttestation,
        owner: &RawKey,
        agent: &RawKey,
    ) -> Result<Result<B256, Bytes>> {
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
        let request = TransactionRequest::default()
            .with_to(golem_attestations())
            .with_input(ask.abi_encode());
        match self.stage.node().provider().call(request).await {
            Ok(answer) => Ok(Ok(GolemAttestations::verifyCall::abi_decode_returns(&answer)?)),
            Err(refusal) => {
                let data = refusal.as_error_resp().and_then(|answer| answer.as_revert_data());
                Ok(Err(data.context("no reason was given")?))
            }
        }
    }

    /// The chain takes it.
    async fn holds(&self) -> Result<()> {
        let signed = self.asked(&self.attestation, &self.owner, &self.agent).await?;
        let digest = self.attestation.digest(self.stage.node().chain_id(), golem_attestations());
        ensure!(signed == Ok(digest), "{digest}: {signed:?}");
        Ok(())
    }

    /// The chain does not take it any more, for this very reason.
    async fn ended<E: SolError>(&self, reason: E) -> Result<()> {
        self.refused(&self.attestation, &self.owner, &self.agent, reason).await
    }

    /// The chain does not take it, signed by these two, for this very reason.
    async fn refused<E: SolError>(
        &self,
        attestation: &GolemAttestation,
        owner: &RawKey,
        agent: &RawKey,
        reason: E,
    ) -> Result<()> {
        let Err(said) = self.asked(attestation, owner, agent).await? else {
            bail!("{}: it holds", E::SIGNATURE);
        };
        ensure!(
            said == reason.abi_encode(),
            "{} with other words: {said}, {:?}",
            E::SIGNATURE,
            GolemAttestationsErrors::abi_decode(&said)
        );
        Ok(())
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

    bound.holds().await?;
    let instead = |of: &RawKey| GolemAttestations_OtherSigner {
        signer: stranger.address(),
        expected: of.address(),
    };
    bound.refused(&bound.attestation, &stranger, agent, instead(owner)).await?;
    bound.refused(&bound.attestation, owner, &stranger, instead(agent)).await?;
    let elsewhere = GolemAttestation { owner: stranger.address(), ..bound.attestation };
    let reason = GolemAttestations_OtherOwner {
        golemId: bound.attestation.golem_id,
        registered: owner.address(),
        owner: stranger.address(),
    };
    bound.refused(&elsewhere, &stranger, agent, reason).await?;
    let nobodys = bound.attestation.agent_id + U256::from(1);
    let other = GolemAttestation { agent_id: nobodys, ..bound.attestation };
    let reason = IdentityRegistry::ERC721NonexistentToken { tokenId: nobodys };
    bound.refused(&other, owner, agent, reason).await?;
    let last = bound.attestation.expires_at;
    bound.stage.warp(last).await?;
    bound.holds().await?;
    bound.stage.warp(last + 1).await?;
    let reason =
        GolemAttestations_Expired { expiresAt: U256::from(last), nowAt: U256::from(last + 1) };
    bound.ended(reason).await?;
    Ok(())
}

#[tokio::test]
async fn a_rotated_key_and_a_sold_identity_end_it_at_once() -> Result<()> {
    let bound = Bound::new().await?;
    let (stage, owner) = (&bound.stage, &bound.owner);
    let (golem, next) = (bound.attestation.golem_id, RawKey::born(stage).await?);
    let attach = |key: Address| GolemRegistry::attachCall { golemId: golem, agentKey: key };

    sent(stage, owner, golem_registry(), attach(next.address())).await?;
    let reason = GolemAttestations_OtherKey {
        golemId: golem,
        registered: next.address(),
        agentKey: bound.agent.address(),
    };
    bound.ended(reason).await?;
    sent(stage, owner, golem_registry(), attach(bound.agent.address())).await?;
    bound.holds().await?;

    let sell = IdentityRegistry::transferFromCall {
        from: owner.address(),
        to: next.address(),
        agentId: bound.attestation.agent_id,
    };
    sent(stage, owner, IDENTITY_REGISTRY, sell).await?;
    let wallet = IdentityRegistry::getAgentWalletCall { agentId: bound.attestation.agent_id };
    ensure!(stage.node().read(IDENTITY_REGISTRY, wallet).await?.is_zero(), "cleared on transfer");
    let reason = GolemAttestations_OtherHolder {
        agentId: bound.attestation.agent_id,
        holder: next.address(),
    };
    bound.ended(reason).await?;
    Ok(())
}
