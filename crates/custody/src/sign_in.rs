//! Who an owner is: a message that he signs with his wallet, as ERC-4361 has it.

use crate::BoxError;
use alloy_primitives::{Address, B256, Bytes, Signature, hex};
use alloy_signer::k256::elliptic_curve::rand_core::{OsRng, RngCore as _};
use serde::{Deserialize, Serialize};
use std::time::{Duration, UNIX_EPOCH};

/// Least letters of a number that is used once; the standard asks for eight.
const LEAST_NONCE: usize = 16;

/// What a wallet is asked to sign. The text is made here, and what is signed must be that text: nothing that a stranger
/// wrote is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignIn {
    /// Who asks: the page's host, with its port where it has one.
    pub domain: String,
    /// Whose wallet.
    pub address: Address,
    /// What for, in one line.
    pub statement: String,
    /// Where the answer goes.
    pub uri: String,
    /// The chain of the session.
    pub chain_id: u64,
    /// Letters and digits that were never asked with before.
    pub nonce: String,
    /// The second in which it was asked.
    pub issued_at: u64,
    /// The last second in which the answer counts.
    pub expires_at: u64,
}

/// Why nobody is signed in.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// A field that would make another message of it.
    #[error("the sign-in's {field} is malformed; nobody is signed in")]
    Malformed {
        /// Which.
        field: &'static str,
    },
    /// It was signed too late.
    #[error("the sign-in ended in second {expires_at}, it is {now}; ask for a new one")]
    Expired {
        /// Its last second.
        expires_at: u64,
        /// The time given.
        now: u64,
    },
    /// It was asked in the future.
    #[error("the sign-in was asked in second {issued_at}, it is {now}: one of the clocks is wrong")]
    Early {
        /// When it was asked.
        issued_at: u64,
        /// The time given.
        now: u64,
    },
    /// Not a signature of a key.
    #[error("the signature is malformed; nobody is signed in")]
    Unreadable {
        /// Why.
        source: BoxError,
    },
    /// Somebody else signed, or something else.
    #[error("{found} signed, and not {address}; nobody is signed in")]
    OtherSigner {
        /// Who was asked.
        address: Address,
        /// Whose signature it would be.
        found: Address,
    },
}

impl SignIn {
    /// Letters and digits that nobody has asked with before: 32 random bytes.
    #[must_use]
    pub fn fresh_nonce() -> String {
        let mut nonce = B256::ZERO;
        OsRng.fill_bytes(nonce.as_mut_slice());
        hex::encode(nonce)
    }

    /// The text that a wallet shows and signs.
    ///
    /// ```
    /// # use golem_custody::SignIn;
    /// # use alloy_primitives::Address;
    /// let asked = SignIn {
    ///     domain: "127.0.0.1:3003".into(), address: Address::ZERO, statement: "Become a Golem's owner.".into(),
    ///     uri: "http://127.0.0.1:3003/onboard".into(), chain_id: 8453, nonce: "0123456789abcdef".into(),
    ///     issued_at: 1_000, expires_at: 1_600,
    /// };
    /// assert!(asked.message()?.starts_with("127.0.0.1:3003 wants you to sign in with your Ethereum account:\n0x0000"));
    /// # Ok::<(), golem_custody::SignInError>(())
    /// ```
    pub fn message(&self) -> Result<String, SignInError> {
        let no = |field| Err(SignInError::Malformed { field });
        let plain = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic()) && !text.contains('\\')
        };
        if !plain(&self.domain) || self.domain.contains('/') {
            return no("domain");
        }
        if !plain(&self.uri) || !self.uri.contains(':') {
            return no("uri");
        }
        // One line, or the lines after it could be the stranger's.
        if self.statement.is_empty()
            || !self.statement.chars().all(|c| c.is_ascii_graphic() || c == ' ')
        {
            return no("statement");
        }
        if self.nonce.len() < LEAST_NONCE || !self.nonce.chars().all(|c| c.is_ascii_alphanumeric())
        {
            return no("nonce");
        }
        if self.expires_at <= self.issued_at {
            return no("time");
        }
        let Self { domain, address, statement, uri, chain_id, nonce, .. } = self;
        let (issued, expires) = (date(self.issued_at)?, date(self.expires_at)?);
        Ok(format!(
            "{domain} wants you to sign in with your Ethereum account:\n{address}\n\n{statement}\n\n\
             URI: {uri}\nVersion: 1\nChain ID: {chain_id}\nNonce: {nonce}\nIssued At: {issued}\n\
             Expiration Time: {expires}"
        ))
    }

    /// Whether the wallet's key signed this very text, in time.
    pub fn verify(&self, signature: &Bytes, now: u64) -> Result<Address, SignInError> {
        let Self { address, issued_at, expires_at, .. } = *self;
        if now < issued_at {
            return Err(SignInError::Early { issued_at, now });
        }
        if now > expires_at {
            return Err(SignInError::Expired { expires_at, now });
        }
        let unreadable = |source: BoxError| SignInError::Unreadable { source };
        let message = self.message()?;
        let signature =
            Signature::from_raw(signature).map_err(|source| unreadable(source.into()))?;
        let found = signature
            .recover_address_from_msg(message)
            .map_err(|source| unreadable(source.into()))?;
        if found != address {
            return Err(SignInError::OtherSigner { address, found });
        }
        Ok(address)
    }
}

/// As the standard writes a time.
fn date(second: u64) -> Result<String, SignInError> {
    // Years have four digits.
    let most = 253_402_300_799;
    if second > most {
        return Err(SignInError::Malformed { field: "time" });
    }
    let at = UNIX_EPOCH.checked_add(Duration::from_secs(second));
    let at = at.ok_or(SignInError::Malformed { field: "time" })?;
    Ok(humantime::format_rfc3339_seconds(at).to_string())
}
