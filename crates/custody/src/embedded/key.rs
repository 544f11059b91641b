use super::{
    KeyQuorumId, PermittedTransaction, PolicyId, SigningPolicy, WalletApp, WalletId, WalletRequest,
};
use crate::{KeyFileError, Password, keyfile, secret::Kept};
use alloy_signer::k256::elliptic_curve::rand_core::OsRng;
use alloy_signer_local::PrivateKeySigner;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use p256::{
    ecdsa::{Signature, SigningKey, signature::Signer as _},
    pkcs8::{DecodePublicKey as _, EncodePublicKey as _},
};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use std::{fmt, path::Path};
use zeroize::Zeroizing;

/// The public half of a key that asks, as the service takes it: SPKI, DER, base64.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct AuthorizationPublicKey(String);

impl AuthorizationPublicKey {
    /// Reads one that was born elsewhere; none where it is no key of this curve in this form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let der = STANDARD.decode(text.trim()).ok()?;
        let key = p256::PublicKey::from_public_key_der(&der).ok()?;
        // In one form only, whatever else the decoder takes.
        let again = key.to_public_key_der().ok()?;
        (again.as_bytes() == der).then(|| Self(STANDARD.encode(der)))
    }
}

impl<'de> Deserialize<'de> for AuthorizationPublicKey {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).ok_or_else(|| D::Error::custom("no P-256 key in SPKI, DER and base64"))
    }
}

impl fmt::Display for AuthorizationPublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// P-256, kept as every key is.
struct Asker(Kept<SigningKey>);

impl Asker {
    fn born() -> Self {
        Self(Kept::born(|| SigningKey::random(&mut OsRng)))
    }

    fn public(&self) -> AuthorizationPublicKey {
        let point = self.0.with(|key| key.verifying_key().to_encoded_point(false));
        // A point of the curve always has this form; the empty string is nobody's key.
        let spki = p256::PublicKey::from_sec1_bytes(point.as_bytes())
            .ok()
            .and_then(|key| key.to_public_key_der().ok())
            .map(|der| STANDARD.encode(der.as_bytes()));
        AuthorizationPublicKey(spki.unwrap_or_default())
    }

    /// The one place where this curve signs: SHA-256 over the canonical form of a request that was made here.
    fn authorize(&self, request: WalletRequest) -> WalletRequest {
        let payload = request.payload();
        let signature: Signature = self.0.with(|key| key.sign(&payload));
        request.authorized(STANDARD.encode(signature.to_der().as_bytes()))
    }
}

/// The Golem's key of the embedded mode: what it authorises is a transaction within its bounds, and nothing else.
///
/// Born here (SPEC D12); neither shown, serialised nor copied (INV-2).
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct AuthorizationKey(Asker);

impl AuthorizationKey {
    /// A key from the operating system's randomness.
    #[must_use]
    pub fn born() -> Self {
        Self(Asker::born())
    }

    /// What the service knows it by.
    #[must_use]
    pub fn public(&self) -> AuthorizationPublicKey {
        self.0.public()
    }

    /// Asks for the wallet's signature under a transaction. The same transaction is the same request: it carries the same
    /// idempotency key, whenever and by whichever process it is asked for.
    #[must_use]
    pub fn sign_transaction(
        &self,
        app: &WalletApp,
        wallet: &WalletId,
        permitted: &PermittedTransaction,
        now: u64,
    ) -> WalletRequest {
        self.0.authorize(app.sign_transaction(wallet, permitted, now))
    }
}

/// The owner's key of the embedded mode: it rules over wallet and policy, so that no Golem can change its own bounds. It fetches
/// what a Golem that is gone left behind. Whoever loses it loses the wallet: it is kept in a file, unlike the Golem's.
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct KeeperKey(Asker);

impl KeeperKey {
    /// A key from the operating system's randomness.
    #[must_use]
    pub fn born() -> Self {
        Self(Asker::born())
    }

    /// Opens an encrypted keystore (V3). A file that others could read is refused.
    pub fn open(path: &Path, password: &Password) -> Result<Self, KeyFileError> {
        let kept = Kept::new(|| {
            let opened = keyfile::open_keystore(path, password)?;
            let secret = Zeroizing::new(opened.to_bytes().0);
            // The cause may not be kept: it could quote the key.
            match SigningKey::from_slice(secret.as_slice()) {
                Ok(key) => Ok(key),
                Err(_) => Err(KeyFileError::NotAKey { path: path.into() }),
            }
        });
        kept.map(|kept| Self(Asker(kept)))
    }

    /// Writes an encrypted keystore (V3), readable by its owner only. Never overwrites.
    ///
    /// A keystore holds 32 bytes, whatever they are for. This curve has fewer keys than Ethereum's, and so each of them
    /// passes for one of those on the way.
    pub fn save(&self, path: &Path, password: &Password) -> Result<(), KeyFileError> {
        self.0.0.with(|key| {
            let mut secret = key.to_bytes();
            let carried = PrivateKeySigner::from_slice(&secret);
            zeroize::Zeroize::zeroize(secret.as_mut_slice());
            match carried {
                Ok(carried) => keyfile::save_keystore(&carried, path, password),
                Err(_) => Err(KeyFileError::NotAKey { path: path.into() }),
            }
        })
    }

    /// What the service knows it by.
    #[must_use]
    pub fn public(&self) -> AuthorizationPublicKey {
        self.0.public()
    }

    /// Asks for the wallet's signature, as its owner: no policy is asked, and so only what is permitted here is asked for.
    #[must_use]
    pub fn sign_transaction(
        &self,
        app: &WalletApp,
        wallet: &WalletId,
        permitted: &PermittedTransaction,
        now: u64,
    ) -> WalletRequest {
        self.0.authorize(app.sign_transaction(wallet, permitted, now))
    }

    /// Lets a key ask for signatures of a wallet, within a policy.
    #[must_use]
    pub fn admit(
        &self,
        app: &WalletApp,
        wallet: &WalletId,
        signer: &KeyQuorumId,
        policy: &PolicyId,
        now: u64,
    ) -> WalletRequest {
        self.0.authorize(app.admit(wallet, Some((signer, policy)), now))
    }

    /// Lets nobody but the owner ask any more.
    #[must_use]
    pub fn dismiss(&self, app: &WalletApp, wallet: &WalletId, now: u64) -> WalletRequest {
        self.0.authorize(app.admit(wallet, None, now))
    }

    /// Puts other rules in the place of a policy's.
    #[must_use]
    pub fn replace_policy(
        &self,
        app: &WalletApp,
        id: &PolicyId,
        policy: &SigningPolicy,
        now: u64,
    ) -> WalletRequest {
        self.0.authorize(app.replace_policy(id, policy, now))
    }
}
