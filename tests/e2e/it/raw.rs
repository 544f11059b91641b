//! A key and what it was granted, with nothing of ours between it and the chain.
//!
//! It signs with alloy's signer and sends to the node: no clearing, no policy, no custody. What is
//! refused to it is refused by contracts alone.

use alloy::{
    eips::eip7702::Authorization,
    network::{EthereumWallet, TransactionBuilder as _, TransactionBuilder7702 as _},
    primitives::{Address, B256, Bytes, Signature, U256, hex},
    providers::{Provider as _, ProviderBuilder},
    rpc::types::{TransactionReceipt, TransactionRequest},
    signers::{SignerSync as _, local::PrivateKeySigner},
    sol_types::{SolCall as _, SolValue as _},
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::framework::{
    DELEGATION_MANAGER, DelegationManager::redeemDelegationsCall, MODE_BATCH, MODE_SINGLE,
    STATELESS_7702_IMPL,
};
use bardo_testkit::{Owner, STIPEND, Stage, judged};
use golem_chain::explain_revert;
use golem_custody::{
    ClearingPolicy, Denial, DenialCode, Execution, OwnerSigner, Redemption, Rehearsal,
    encode_batch, rehearse,
};
use golem_delegation::{Caveat, Delegation, PermissionContext, ROOT_AUTHORITY};
use std::{fs::OpenOptions, io::Write as _, os::unix::fs::OpenOptionsExt as _, path::Path};

/// A private key in somebody's hands.
pub(crate) struct RawKey(PrivateKeySigner);

/// What a manager is asked to do under one context.
#[derive(Clone)]
pub(crate) struct Tuple {
    context: Bytes,
    mode: B256,
    execution: Bytes,
}

impl RawKey {
    /// A new one with gas money.
    pub(crate) async fn born(stage: &Stage) -> Result<Self> {
        let key = Self(PrivateKeySigner::random());
        stage.fund(key.address(), STIPEND, U256::ZERO).await?;
        Ok(key)
    }

    /// One that never changes, for numbers that must not.
    pub(crate) fn fixed(byte: u8) -> Result<Self> {
        Ok(Self(PrivateKeySigner::from_bytes(&B256::repeat_byte(byte))?))
    }

    pub(crate) const fn address(&self) -> Address {
        self.0.address()
    }

    /// The same key as an owner's.
    pub(crate) fn owner(&self, folder: &Path) -> Result<OwnerSigner> {
        let file = folder.join("key.hex");
        let mut private = OpenOptions::new();
        private.write(true).create_new(true).mode(0o600);
        private.open(&file)?.write_all(hex::encode(self.0.to_bytes()).as_bytes())?;
        Ok(OwnerSigner::from_key_file(&file)?)
    }

    /// Hands in somebody else's transaction with an authorization of this key at `nonce`.
    pub(crate) async fn upgraded_by(&self, stage: &Stage, nonce: u64) -> Result<()> {
        let authorization = Authorization {
            chain_id: U256::from(stage.node().chain_id()),
            address: STATELESS_7702_IMPL,
            nonce,
        };
        let signature = Signature::try_from(&self.sign(authorization.signature_hash())?[..])?;
        let carrier = Self::born(stage).await?;
        let provider = ProviderBuilder::new()
            .wallet(EthereumWallet::from(carrier.0.clone()))
            .connect_http(stage.chain().url().clone());
        let request = TransactionRequest::default()
            .with_to(carrier.address())
            .with_gas_limit(100_000)
            .with_authorization_list(vec![authorization.into_signed(signature)]);
        let _pending = provider.send_transaction(request).await?;
        Ok(())
    }

    /// 65 bytes over whatever it is given: a thief's signer is not picky.
    #[expect(clippy::disallowed_methods, reason = "that it signs anything is the point")]
    pub(crate) fn sign(&self, digest: B256) -> Result<[u8; 65]> {
        Ok(self.0.sign_hash_sync(&digest)?.as_bytes())
    }

    /// Hands on what `above` (leaf first) gives it.
    pub(crate) fn delegate(
        &self,
        stage: &Stage,
        above: &[Delegation],
        delegate: Address,
        caveats: Vec<Caveat>,
    ) -> Result<Vec<Delegation>> {
        let parent = above.first().context("nothing to hand on")?;
        let link = Delegation {
            delegate,
            delegator: self.address(),
            authority: parent.hash().0,
            caveats,
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let signature = self.sign(stage.domain().digest(&link))?;
        Ok([&[link.signed(signature.to_vec())], above].concat())
    }

    /// Sends to the chain and waits for the receipt, whatever it says.
    pub(crate) async fn send(
        &self,
        stage: &Stage,
        to: Address,
        data: Bytes,
    ) -> Result<TransactionReceipt> {
        let provider = ProviderBuilder::new()
            .wallet(EthereumWallet::from(self.0.clone()))
            .connect_http(stage.chain().url().clone());
        // Gas is given, not estimated: an attempt that must fail has to reach the chain.
        let request =
            TransactionRequest::default().with_to(to).with_input(data).with_gas_limit(15_000_000);
        Ok(provider.send_transaction(request).await?.get_receipt().await?)
    }

    pub(crate) async fn redeem(
        &self,
        stage: &Stage,
        tuples: &[Tuple],
    ) -> Result<TransactionReceipt> {
        self.send(stage, DELEGATION_MANAGER, redeeming(tuples)).await
    }

    /// One call under `links`, which goes through.
    pub(crate) async fn does(
        &self,
        stage: &Stage,
        links: &[Delegation],
        call: &Execution,
    ) -> Result<TransactionReceipt> {
        let receipt = self.redeem(stage, &[single(links, call)?]).await?;
        ensure!(receipt.status(), "{:?} was refused", self.verdict(stage, links, call).await?);
        Ok(receipt)
    }

    /// One call under `links`, which the chain refuses, and for which the judge names `code`.
    pub(crate) async fn refused(
        &self,
        stage: &Stage,
        links: &[Delegation],
        call: &Execution,
        code: DenialCode,
    ) -> Result<Denial> {
        let denial = self.verdict(stage, links, call).await?;
        let denial = denial.with_context(|| format!("{code:?}: nothing against it"))?;
        ensure!(denial.code == code, "{denial:?} instead of {code:?}");
        let receipt = self.redeem(stage, &[single(links, call)?]).await?;
        ensure!(!receipt.status(), "{denial:?}: went through");
        Ok(denial)
    }

    /// Several executions in one transaction, which the chain refuses for a reason of `code`.
    pub(crate) async fn refused_all(
        &self,
        stage: &Stage,
        links: &[Delegation],
        tuples: &[Tuple],
        code: DenialCode,
    ) -> Result<()> {
        let ask = TransactionRequest::default()
            .with_from(self.address())
            .with_to(DELEGATION_MANAGER)
            .with_input(redeeming(tuples));
        let Err(refusal) = stage.node().provider().call(ask).await else {
            bail!("{code:?}: nothing against it");
        };
        let data = refusal.as_error_resp().and_then(|answer| answer.as_revert_data());
        let data = data.context("no reason was given")?;
        let denial = explain_revert(&data, &PermissionContext::new(links.to_vec())?);
        ensure!(denial.code == code, "{denial:?} instead of {code:?}");
        ensure!(!self.redeem(stage, tuples).await?.status(), "{denial:?}: went through");
        Ok(())
    }

    /// What an honest runtime would be told.
    async fn verdict(
        &self,
        stage: &Stage,
        links: &[Delegation],
        call: &Execution,
    ) -> Result<Option<Denial>> {
        let context = PermissionContext::new(links.to_vec())?;
        let one = Redemption::single(DELEGATION_MANAGER, context, call);
        let policy = ClearingPolicy::default();
        Ok(match rehearse(&stage.foresight(), judged(one), self.address(), &policy).await? {
            Rehearsal::Passed(_) => None,
            Rehearsal::Refused(denial) => Some(denial),
        })
    }
}

fn redeeming(tuples: &[Tuple]) -> Bytes {
    redeemDelegationsCall {
        permissionContexts: tuples.iter().map(|tuple| tuple.context.clone()).collect(),
        modes: tuples.iter().map(|tuple| tuple.mode).collect(),
        executionCallDatas: tuples.iter().map(|tuple| tuple.execution.clone()).collect(),
    }
    .abi_encode()
    .into()
}

/// One call.
pub(crate) fn single(links: &[Delegation], call: &Execution) -> Result<Tuple> {
    let execution = (call.target, call.value, call.data.as_ref()).abi_encode_packed().into();
    Ok(Tuple { context: encoded(links)?, mode: MODE_SINGLE, execution })
}

/// Several calls at once.
pub(crate) fn batch(links: &[Delegation], calls: &[Execution]) -> Result<Tuple> {
    Ok(Tuple { context: encoded(links)?, mode: MODE_BATCH, execution: encode_batch(calls) })
}

impl Tuple {
    /// What a council signs of it.
    pub(crate) const fn execution(&self) -> (B256, &Bytes) {
        (self.mode, &self.execution)
    }
}

fn encoded(links: &[Delegation]) -> Result<Bytes> {
    Ok(PermissionContext::new(links.to_vec())?.encode())
}

/// A root delegation that `owner` signs.
pub(crate) fn granted(
    stage: &Stage,
    owner: &Owner,
    delegate: Address,
    caveats: Vec<Caveat>,
) -> Result<Vec<Delegation>> {
    let grant = Delegation {
        delegate,
        delegator: owner.account.address,
        authority: ROOT_AUTHORITY,
        caveats,
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    Ok(vec![owner.signer.grant(&stage.domain(), grant)?])
}
