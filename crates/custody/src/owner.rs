use crate::{
    Answer, BequestError, BoxError, CustodyError, Execution, KeyFileError, OwnOperation, Password,
    Question, SignIn, SignedOwnOperation, SignedTransaction, TransactionPlan, bequest, keyfile,
    secret::Kept,
    transaction::{self, Body, sign_digest},
};
use alloy_eips::eip7702::{Authorization, SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, U256, eip191_hash_message};
use alloy_signer_local::PrivateKeySigner;
use bardo_bindings::framework::STATELESS_7702_IMPL;
use golem_delegation::{Delegation, SigningDomain};
use std::path::Path;
use zeroize::Zeroizing;

/// An owner's key on his own command line (SPEC G14).
///
/// It signs grants, the account's upgrade, and transactions and operations of his vault that he asks for. No Golem ever has one.
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct OwnerSigner {
    address: Address,
    key: Kept<PrivateKeySigner>,
}

impl OwnerSigner {
    /// A new key.
    #[must_use]
    pub fn born() -> Self {
        Self::holding(Kept::born(PrivateKeySigner::random))
    }

    fn holding(key: Kept<PrivateKeySigner>) -> Self {
        Self { address: key.with(PrivateKeySigner::address), key }
    }

    /// Reads a private key in hex. A file that others could read is refused.
    pub fn from_key_file(path: &Path) -> Result<Self, KeyFileError> {
        Kept::new(|| keyfile::open_hex(path)).map(Self::holding)
    }

    /// Opens an encrypted keystore (V3). A file that others could read is refused.
    pub fn from_keystore(path: &Path, password: &Password) -> Result<Self, KeyFileError> {
        Kept::new(|| keyfile::open_keystore(path, password)).map(Self::holding)
    }

    /// Writes an encrypted keystore (V3), readable by its owner only. Never overwrites.
    pub fn save(&self, path: &Path, password: &Password) -> Result<(), KeyFileError> {
        self.key.with(|key| keyfile::save_keystore(key, path, password))
    }

    /// The owner's EOA.
    #[must_use]
    pub const fn address(&self) -> Address {
        self.address
    }

    /// Says yes or no to what a Golem asks (SPEC P8).
    pub fn answer(&self, question: &Question, approved: bool) -> Result<Answer, CustodyError> {
        let signed = self.key.with(|key| sign_digest(key, &question.answer_digest(approved)));
        let signed = signed
            .map_err(|source| CustodyError::Sign { signer: self.address, source: source.into() })?;
        Ok(Answer { approved, signature: signed.as_bytes().into() })
    }

    /// Signs a delegation for one manager on one chain.
    pub fn grant(
        &self,
        domain: &SigningDomain,
        delegation: Delegation,
    ) -> Result<Delegation, CustodyError> {
        let signature = self
            .key
            .with(|key| sign_digest(key, &domain.digest(&delegation)))
            .map_err(|e| self.failed(e.into()))?;
        Ok(delegation.signed(signature.as_bytes().to_vec()))
    }

    /// Signs an operation by which his own vault does `calls`, all or none, and which he hands to the entry point himself. It bids
    /// nothing, and is good once: under its nonce, on its chain, for that vault. Where others must sign, too, it is good with theirs.
    pub fn operation(
        &self,
        own: &OwnOperation,
        calls: &[Execution],
    ) -> Result<SignedOwnOperation, CustodyError> {
        own.signed(calls, |digest| {
            let signature = self.key.with(|key| sign_digest(key, digest));
            let signature = signature.map_err(|source| self.failed(source.into()))?;
            Ok(signature.as_bytes().into())
        })
    }

    /// Opens what his Golem `golem` left him (SPEC P7). Nothing else is decrypted with his key, and nothing is signed.
    pub fn open_bequest(
        &self,
        golem: B256,
        sealed: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, BequestError> {
        self.key.with(|key| bequest::open(key.credential(), self.address, golem, sealed))
    }

    /// Signs that it is he who asks (ERC-4361).
    pub fn sign_in(&self, request: &SignIn) -> Result<Bytes, CustodyError> {
        let message = request.message().map_err(|source| self.failed(source.into()))?;
        let digest = eip191_hash_message(message);
        let signature = self.key.with(|key| sign_digest(key, &digest));
        let signature = signature.map_err(|source| self.failed(source.into()))?;
        Ok(signature.as_bytes().to_vec().into())
    }

    /// Signs the upgrade of the owner's EOA to the framework's account (EIP-7702).
    ///
    /// The chain id is the plan's and never 0, the code is never the caller's choice (ATK-32).
    pub fn upgrade(&self, plan: &TransactionPlan) -> Result<SignedAuthorization, CustodyError> {
        let authorization = Authorization {
            chain_id: U256::from(plan.chain_id),
            address: STATELESS_7702_IMPL,
            // The transaction that carries it uses up the plan's nonce first.
            nonce: plan.nonce.saturating_add(1),
        };
        let signature = self
            .key
            .with(|key| sign_digest(key, &authorization.signature_hash()))
            .map_err(|e| self.failed(e.into()))?;
        Ok(authorization.into_signed(signature))
    }

    /// Signs a transaction of the owner's EOA, with the upgrade where one is given.
    pub fn transaction(
        &self,
        plan: &TransactionPlan,
        to: Address,
        value: U256,
        data: Bytes,
        gas_limit: u64,
        upgrade: Option<SignedAuthorization>,
    ) -> Result<SignedTransaction, CustodyError> {
        let authorizations = upgrade.into_iter().collect();
        let body = Body { to, value, data, gas_limit, authorizations };
        self.key.with(|key| transaction::sign(key, plan, body)).map_err(|e| self.failed(e.into()))
    }

    fn failed(&self, source: BoxError) -> CustodyError {
        CustodyError::Sign { signer: self.address, source }
    }
}
