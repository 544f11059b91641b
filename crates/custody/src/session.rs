use crate::{
    Cleared, ClearedOperation, CustodyError, KeyFileError, Offer, Password, SessionSigner,
    SignedOperation, SignedTransaction, keyfile, operation, transaction,
};
use alloy_primitives::{Address, U256};
use alloy_signer_local::PrivateKeySigner;
use async_trait::async_trait;
use std::path::Path;

/// A disposable key with no authority of its own.
///
/// Neither shown, serialised nor copied (INV-2); the curve library wipes it on drop.
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct SessionKey(PrivateKeySigner);

impl SessionKey {
    /// A key born here, from the operating system's randomness (SPEC D12).
    #[must_use]
    pub fn born() -> Self {
        Self(PrivateKeySigner::random())
    }

    /// Opens an encrypted keystore (V3). A file that others could read is refused.
    pub fn open(path: &Path, password: &Password) -> Result<Self, KeyFileError> {
        keyfile::open_keystore(path, password).map(Self)
    }

    /// Writes an encrypted keystore (V3), readable by its owner only. Never overwrites.
    pub fn save(&self, path: &Path, password: &Password) -> Result<(), KeyFileError> {
        keyfile::save_keystore(&self.0, path, password)
    }
}

#[async_trait]
impl SessionSigner for SessionKey {
    fn address(&self) -> Address {
        self.0.address()
    }

    async fn sign(&self, cleared: Cleared, now: u64) -> Result<SignedTransaction, CustodyError> {
        cleared.within().holds(now)?;
        let signer = self.0.address();
        if cleared.redeemer() != signer {
            return Err(CustodyError::WrongKey { redeemer: cleared.redeemer(), signer });
        }
        let (plan, body) = cleared.into_parts();
        transaction::sign(&self.0, &plan, body)
            .map_err(|source| CustodyError::Sign { signer, source: source.into() })
    }

    async fn sign_operation(
        &self,
        cleared: ClearedOperation,
        now: u64,
    ) -> Result<SignedOperation, CustodyError> {
        cleared.within().holds(now)?;
        operation::sign(&self.0, cleared)
    }

    async fn raise(
        &self,
        signed: &SignedTransaction,
        offer: Offer,
        ceiling: U256,
    ) -> Result<SignedTransaction, CustodyError> {
        transaction::raise(&self.0, signed, offer, ceiling)
    }

    async fn raise_operation(
        &self,
        signed: &SignedOperation,
        offer: Offer,
        ceiling: U256,
    ) -> Result<SignedOperation, CustodyError> {
        operation::raise(&self.0, signed, offer, ceiling)
    }
}
