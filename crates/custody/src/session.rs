use crate::{
    Birth, ByOperation, ByTransaction, ChildGrant, Cleared, CustodyError, Introduction, JudgedHead,
    KeyFileError, Offer, Password, Sealed, SessionSigner, SignedOperation, SignedTransaction,
    Unkept, keyfile, operation, secret::Kept, transaction,
};
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_signer_local::PrivateKeySigner;
use async_trait::async_trait;
use golem_delegation::Delegation;
use std::path::Path;

/// A disposable key with no authority of its own.
///
/// Neither shown, serialised nor copied (INV-2); wiped on drop, and so is what its use left on the stack.
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct SessionKey {
    address: Address,
    key: Kept<PrivateKeySigner>,
}

impl SessionKey {
    /// A key born here, from the operating system's randomness (SPEC D12).
    #[must_use]
    pub fn born() -> Self {
        Self::holding(Kept::born(PrivateKeySigner::random))
    }

    fn holding(key: Kept<PrivateKeySigner>) -> Self {
        Self { address: key.with(PrivateKeySigner::address), key }
    }

    /// One of the few texts that this key signs beside transactions and operations.
    fn typed(&self, digest: &B256) -> Result<Bytes, CustodyError> {
        let signed = self.key.with(|key| transaction::sign_digest(key, digest));
        let signed = signed
            .map_err(|source| CustodyError::Sign { signer: self.address, source: source.into() })?;
        Ok(signed.as_bytes().into())
    }

    /// Opens an encrypted keystore (V3). A file that others could read is refused.
    pub fn open(path: &Path, password: &Password) -> Result<Self, KeyFileError> {
        Kept::new(|| keyfile::open_keystore(path, password)).map(Self::holding)
    }

    /// Writes an encrypted keystore (V3), readable by its owner only. Never overwrites.
    pub fn save(&self, path: &Path, password: &Password) -> Result<(), KeyFileError> {
        self.key.with(|key| keyfile::save_keystore(key, path, password))
    }
}

#[async_trait]
impl SessionSigner for SessionKey {
    fn address(&self) -> Address {
        self.address
    }

    async fn sign(
        &self,
        cleared: Cleared<ByTransaction>,
        now: u64,
    ) -> Result<Sealed<SignedTransaction>, CustodyError> {
        let signer = self.address;
        let (judged, way, since) = cleared.for_signer(signer, now)?;
        let (plan, body) = way.into_parts(judged.act());
        let signed = self
            .key
            .with(|key| transaction::sign(key, &plan, body))
            .map_err(|source| CustodyError::Sign { signer, source: source.into() })?;
        Ok(Sealed::new(signed, judged, since))
    }

    async fn sign_operation(
        &self,
        cleared: Cleared<ByOperation>,
        now: u64,
    ) -> Result<Sealed<SignedOperation>, CustodyError> {
        let (judged, way, since) = cleared.for_signer(self.address, now)?;
        let signed = self.key.with(|key| operation::sign(key, way))?;
        Ok(Sealed::new(signed, judged, since))
    }

    async fn raise(
        &self,
        signed: &SignedTransaction,
        offer: Offer,
        ceiling: U256,
    ) -> Result<Unkept<SignedTransaction>, CustodyError> {
        self.key.with(|key| transaction::raise(key, signed, offer, ceiling)).map(Unkept::new)
    }

    async fn raise_operation(
        &self,
        signed: &SignedOperation,
        offer: Offer,
        ceiling: U256,
    ) -> Result<Unkept<SignedOperation>, CustodyError> {
        self.key.with(|key| operation::raise(key, signed, offer, ceiling)).map(Unkept::new)
    }

    async fn seal(&self, head: JudgedHead) -> Result<Bytes, CustodyError> {
        self.typed(&head.digest())
    }

    async fn says_born(&self, at: u64) -> Result<Bytes, CustodyError> {
        self.typed(&Birth { key: self.address, at }.digest())
    }

    async fn delegate(&self, child: ChildGrant) -> Result<Delegation, CustodyError> {
        let (child, digest) = child.for_signer(self.address)?;
        let signature = self.typed(&digest)?;
        Ok(child.signed(signature))
    }

    async fn introduce(&self, child: &Introduction) -> Result<Bytes, CustodyError> {
        if child.child != self.address {
            let (session, signer) = (child.child, self.address);
            return Err(CustodyError::WrongKey { session, signer });
        }
        self.typed(&child.digest())
    }
}
