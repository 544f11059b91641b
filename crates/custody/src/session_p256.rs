use crate::{
    ByOperation, ByTransaction, ChildGrant, Cleared, CustodyError, Introduction, JudgedHead,
    KeyFileError, Offer, Password, Sealed, SessionAccount, SessionSigner, SignedOperation,
    SignedTransaction, Unkept, keyfile, operation, secret::Kept,
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_signer::k256::elliptic_curve::rand_core::OsRng;
use alloy_signer_local::PrivateKeySigner;
use async_trait::async_trait;
use golem_delegation::Delegation;
use p256::ecdsa::{
    Signature, SigningKey, VerifyingKey,
    signature::{Signer as _, Verifier as _},
};
use std::path::Path;
use zeroize::Zeroizing;

/// What a Hybrid account knows a session key of this curve by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct P256Owner {
    /// The name it is kept under.
    pub key_id: String,
    /// Its point.
    pub x: U256,
    /// Its point.
    pub y: U256,
}

/// A disposable P-256 key: a LocalKey's choice where what keeps it knows no other curve (SPEC K2).
///
/// Neither shown, serialised nor copied (INV-2); wiped on drop, and so is what its use left on the stack. Chains know no
/// transactions of this curve: it acts through a Hybrid account that it owns, by operations alone.
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct P256Key(Kept<SigningKey>);

impl P256Key {
    /// The name of a session key in its account.
    pub const KEY_ID: &str = "bardo-session";

    /// A key born here, from the operating system's randomness (SPEC D12).
    #[must_use]
    pub fn born() -> Self {
        Self(Kept::born(|| SigningKey::random(&mut OsRng)))
    }

    /// What its account has to be created with.
    #[must_use]
    pub fn owner(&self) -> P256Owner {
        let point = self.0.with(|key| key.verifying_key().to_encoded_point(false));
        let half = |half: Option<&p256::FieldBytes>| {
            half.map(|bytes| U256::from_be_slice(bytes)).unwrap_or_default()
        };
        P256Owner { key_id: Self::KEY_ID.to_owned(), x: half(point.x()), y: half(point.y()) }
    }

    /// Opens an encrypted keystore (V3). A file that others could read is refused.
    pub fn open(path: &Path, password: &Password) -> Result<Self, KeyFileError> {
        let key = Kept::new(|| {
            // A keystore holds 32 bytes, and its library makes a key of the other curve of them.
            let opened = keyfile::open_keystore(path, password)?;
            let secret = Zeroizing::new(opened.to_bytes().0);
            SigningKey::from_slice(secret.as_slice())
                .map_err(|_quotes_the_key| KeyFileError::NotAKey { path: path.into() })
        });
        key.map(Self)
    }

    /// Writes an encrypted keystore (V3), readable by its owner only. Never overwrites.
    pub fn save(&self, path: &Path, password: &Password) -> Result<(), KeyFileError> {
        self.0.with(|key| {
            let secret = Zeroizing::new(<[u8; 32]>::from(key.to_bytes()));
            let other = PrivateKeySigner::from_slice(secret.as_slice())
                .map_err(|_quotes_the_key| KeyFileError::NotAKey { path: path.into() })?;
            keyfile::save_keystore(&other, path, password)
        })
    }

    /// Signs for the Hybrid account at `account`, which it owns.
    #[must_use]
    pub const fn of_account(self, account: Address) -> P256SessionKey {
        P256SessionKey { key: self, account }
    }
}

/// A P-256 key and the account that it acts through.
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct P256SessionKey {
    key: P256Key,
    account: Address,
}

impl P256SessionKey {
    const fn other_curve<T>(&self, what: &'static str) -> Result<T, CustodyError> {
        Err(CustodyError::OtherCurve { signer: self.account, what })
    }

    /// The one place where this curve signs operations: SHA-256 of the account's digest, in the lower half of the curve's
    /// order, behind the name of the key.
    fn by(&self) -> impl FnOnce(&B256) -> Result<Bytes, CustodyError> {
        |digest| {
            let signed: Signature = self.key.0.with(|key| key.sign(digest.as_slice()));
            let signed = signed.normalize_s().unwrap_or(signed);
            let (r, s) = signed.split_bytes();
            Ok([name().as_slice(), &r, &s].concat().into())
        }
    }

    fn has_signed(&self, before: &SignedOperation) -> bool {
        let Some((key, signature)) = before.signature.split_first_chunk::<32>() else {
            return false;
        };
        let verifying: VerifyingKey = self.key.0.with(|key| *key.verifying_key());
        *key == name().0
            && before.draft.account.address() == self.account
            && Signature::from_slice(signature)
                .is_ok_and(|one| verifying.verify(before.digest().as_slice(), &one).is_ok())
    }
}

/// What an account finds the key by.
fn name() -> B256 {
    keccak256(P256Key::KEY_ID)
}

#[async_trait]
impl SessionSigner for P256SessionKey {
    fn address(&self) -> Address {
        self.account
    }

    fn stub(&self) -> Bytes {
        // In range and in the lower half, so that it is looked at to its end.
        [name().as_slice(), &[0x11; 64]].concat().into()
    }

    async fn sign(
        &self,
        _cleared: Cleared<ByTransaction>,
        _now: u64,
    ) -> Result<Sealed<SignedTransaction>, CustodyError> {
        self.other_curve("transactions")
    }

    async fn sign_operation(
        &self,
        cleared: Cleared<ByOperation>,
        now: u64,
    ) -> Result<Sealed<SignedOperation>, CustodyError> {
        let (judged, way, since) = cleared.for_signer(self.account, now)?;
        let ByOperation { draft, plan } = way;
        if !matches!(&draft.account, SessionAccount::Hybrid { address, .. } if *address == self.account)
        {
            let session = draft.account.address();
            return Err(CustodyError::WrongKey { session, signer: self.account });
        }
        let signed = operation::signed_by(draft, plan, None, self.by())?;
        Ok(Sealed::new(signed, judged, since))
    }

    async fn raise(
        &self,
        _signed: &SignedTransaction,
        _offer: Offer,
        _ceiling: U256,
    ) -> Result<Unkept<SignedTransaction>, CustodyError> {
        self.other_curve("transactions")
    }

    async fn raise_operation(
        &self,
        signed: &SignedOperation,
        offer: Offer,
        ceiling: U256,
    ) -> Result<Unkept<SignedOperation>, CustodyError> {
        if !self.has_signed(signed) {
            return Err(CustodyError::NotSignedBefore { signer: self.account });
        }
        operation::raised(signed, offer, ceiling, self.by()).map(Unkept::new)
    }

    async fn seal(&self, _head: JudgedHead) -> Result<Bytes, CustodyError> {
        self.other_curve("heads of an audit chain")
    }

    async fn says_born(&self, _at: u64) -> Result<Bytes, CustodyError> {
        self.other_curve("words of its own")
    }

    async fn delegate(&self, _child: ChildGrant) -> Result<Delegation, CustodyError> {
        self.other_curve("grants to children")
    }

    async fn introduce(&self, _child: &Introduction) -> Result<Bytes, CustodyError> {
        self.other_curve("introductions")
    }
}
