use super::{KeyQuorumId, WalletApp, WalletId, WalletRequest};
use crate::{BoxError, Denial, DenialCode, Password};
use alloy_primitives::Address;
use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use zeroize::Zeroizing;

/// The secret by which an app shows the service who it is. Wiped on drop.
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct AppSecret(Password);

impl AppSecret {
    /// From a file of its owner's alone, or as it was typed.
    #[must_use]
    pub const fn new(secret: Password) -> Self {
        Self(secret)
    }

    /// The value of HTTP's `Authorization`, for whoever carries requests.
    #[must_use]
    pub fn basic(&self, app: &WalletApp) -> Zeroizing<String> {
        let pair = Zeroizing::new(format!("{}:{}", app.id(), self.0.text()));
        let encoded = Zeroizing::new(STANDARD.encode(pair.as_bytes()));
        Zeroizing::new(format!("Basic {}", encoded.as_str()))
    }
}

/// What came back, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceReply {
    /// HTTP's status.
    pub status: u16,
    /// Seconds for which the service asks to be left alone.
    pub retry_after: Option<u64>,
    /// The whole body.
    pub body: Vec<u8>,
}

/// Port: the way to the service that holds the wallet's key. It carries requests and authorises none.
#[async_trait]
pub trait WalletService: Send + Sync {
    /// As whose app it asks.
    fn app(&self) -> &WalletApp;

    /// Hands a request over once. An error means that no whole answer came: whether the service heard is not known.
    async fn ask(&self, request: &WalletRequest) -> Result<ServiceReply, BoxError>;
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Answered<T> {
    /// The service did it.
    Done(T),
    /// It did not, or was not asked.
    Refused(Denial),
}

/// The service did not do its part. Nothing was sent to the chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalletError {
    /// No whole answer.
    #[error(
        "the wallet service did not answer {what}; whether it heard is not known, and asking for the same again is safe"
    )]
    Lost {
        /// What was asked.
        what: &'static str,
        /// Why.
        source: BoxError,
    },
    /// A fault of its own.
    #[error("the wallet service answered {what} with status {status}; asking again is safe")]
    Status {
        /// What was asked.
        what: &'static str,
        /// HTTP's status.
        status: u16,
    },
    /// An answer that is none.
    #[error("the wallet service's answer to {what} is not one; asking again is safe")]
    Garbled {
        /// What was asked.
        what: &'static str,
    },
    /// The wallet is not the one it was.
    #[error("wallet {id} is at {found}, and {expected} is meant; nothing was sent")]
    OtherWallet {
        /// Its name.
        id: WalletId,
        /// What is meant.
        expected: Address,
        /// What was found.
        found: Address,
    },
    /// The service signed something else, or somebody else did.
    #[error(
        "what the wallet service signed is not what it was asked for; nothing was sent, do not trust it"
    )]
    OtherTransaction,
}

/// A wallet as the service describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Wallet {
    /// Its name.
    pub id: WalletId,
    /// Its address.
    pub address: Address,
    /// Who may ask beside its owner.
    #[serde(default)]
    pub additional_signers: Vec<AdmittedSigner>,
}

/// Who may ask for a wallet's signatures, beside its owner.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AdmittedSigner {
    /// Their name.
    pub signer_id: KeyQuorumId,
}

/// What became of one request, before anybody makes a verdict of it.
pub(super) enum Heard<T> {
    Done(T),
    /// Asked to be left alone, for so long where it said so.
    Busy(Option<u64>),
    Refused(Denial),
}

impl ServiceReply {
    /// What it says to `what` was asked. A service that asks to be left alone did not say anything.
    pub fn answer<T: for<'a> Deserialize<'a>>(
        &self,
        what: &'static str,
    ) -> Result<Answered<T>, WalletError> {
        match heard(what, self)? {
            Heard::Done(done) => Ok(Answered::Done(done)),
            Heard::Refused(denial) => Ok(Answered::Refused(denial)),
            Heard::Busy(_) => Err(WalletError::Status { what, status: self.status }),
        }
    }
}

/// Makes a verdict of a reply. Words of the service are not repeated: they could be anything; its code is, if it looks like one.
pub(super) fn heard<T: for<'a> Deserialize<'a>>(
    what: &'static str,
    reply: &ServiceReply,
) -> Result<Heard<T>, WalletError> {
    #[derive(Deserialize)]
    struct Failure {
        code: Option<String>,
    }

    match reply.status {
        200..=299 => match serde_json::from_slice(&reply.body) {
            Ok(done) => Ok(Heard::Done(done)),
            Err(_) => Err(WalletError::Garbled { what }),
        },
        429 => Ok(Heard::Busy(reply.retry_after)),
        // Timeouts of its own, of a request or of a lock.
        status @ (408 | 409) => Err(WalletError::Status { what, status }),
        status @ 400..=499 => {
            let said = serde_json::from_slice::<Failure>(&reply.body).ok().and_then(|f| f.code);
            let code = said.filter(|code| is_code(code)).unwrap_or_else(|| "no code".to_owned());
            let kind = match (status, code.as_str()) {
                (_, "policy_violation") => DenialCode::WalletPolicy,
                (401 | 403, _) => DenialCode::WalletAuth,
                _ => DenialCode::WalletRequest,
            };
            Ok(Heard::Refused(Denial::new(
                kind,
                format!(
                    "the wallet service refused {what} with status {status} ({code}); nothing was signed"
                ),
            )))
        }
        status => Err(WalletError::Status { what, status }),
    }
}

fn is_code(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}
