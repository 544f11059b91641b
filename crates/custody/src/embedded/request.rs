use super::{AuthorizationPublicKey, PermittedTransaction, SigningPolicy};
use alloy_primitives::{B256, U256, hex, keccak256};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fmt};
use url::{Host, Url};

/// How long the service may take to begin with a request that was signed: whoever recorded one cannot use it later.
const REQUEST_SECONDS: u64 = 60;
const APP_ID: &str = "privy-app-id";
const EXPIRY: &str = "privy-request-expiry";
const IDEMPOTENCY: &str = "privy-idempotency-key";
const SIGNATURE: &str = "privy-authorization-signature";

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = WalletAppError;

            /// Names become parts of addresses: anything but letters, digits, `-` and `_` is refused.
            fn try_from(name: String) -> Result<Self, Self::Error> {
                if is_name(&name) { Ok(Self(name)) } else { Err(WalletAppError::Name) }
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

names! {
    /// What the service calls a wallet.
    WalletId,
    /// What the service calls a policy.
    PolicyId,
    /// What the service calls a set of keys that can be let to a wallet.
    KeyQuorumId,
}

fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Makes two requests for the same thing one, for a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// Follows from what is asked for: nothing has to be remembered to ask again.
    fn of(url: &str, body: &Value) -> Self {
        let whole = canonical(&json!({ "url": url, "body": body }));
        Self(hex::encode(keccak256(whole)))
    }

    /// The key as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a service cannot be asked as it is described.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WalletAppError {
    /// Not an address.
    #[error("the wallet service's address does not parse")]
    Url {
        /// Why.
        source: url::ParseError,
    },
    /// Secrets would go over the wire in the clear, or somewhere else.
    #[error(
        "the wallet service's address must be https://host, or http on this machine, with nothing behind it"
    )]
    Place,
    /// A name with other characters than it may have.
    #[error("names of the wallet service have 1 to 64 letters, digits, hyphens and underscores")]
    Name,
}

/// Where a wallet service answers, and as whose app it is asked. Nothing of it is secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletApp {
    base: Url,
    app_id: String,
}

impl WalletApp {
    /// Where Privy answers.
    pub const PRIVY: &str = "https://api.privy.io";

    /// Describes the app `app_id` at `base`.
    pub fn new(base: &str, app_id: &str) -> Result<Self, WalletAppError> {
        let base = Url::parse(base).map_err(|source| WalletAppError::Url { source })?;
        let near = match base.host() {
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.is_loopback(),
            _ => false,
        };
        let bare = base.path() == "/"
            && base.query().is_none()
            && base.fragment().is_none()
            && base.username().is_empty()
            && base.password().is_none();
        let sealed = base.scheme() == "https" || (base.scheme() == "http" && near);
        if !bare || !sealed || base.host().is_none() {
            return Err(WalletAppError::Place);
        }
        if !is_name(app_id) {
            return Err(WalletAppError::Name);
        }
        Ok(Self { base, app_id: app_id.to_owned() })
    }

    /// Where it answers.
    #[must_use]
    pub fn base(&self) -> &str {
        self.base.as_str()
    }

    /// Its app id: the user of Basic authentication.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.app_id
    }

    /// Whether a request was made for this app and no other.
    #[must_use]
    pub fn made(&self, request: &WalletRequest) -> bool {
        request.url.starts_with(self.base.as_str())
            && request.headers.get(APP_ID) == Some(&self.app_id)
    }

    /// Reads a wallet.
    #[must_use]
    pub fn read_wallet(&self, wallet: &WalletId) -> WalletRequest {
        self.request(Verb::Get, &format!("v1/wallets/{wallet}"), None)
    }

    /// Makes a wallet that nobody but `owner` has a say over. The same `name` is the same wallet.
    #[must_use]
    pub fn create_wallet(&self, owner: &AuthorizationPublicKey, name: B256) -> WalletRequest {
        let body = json!({
            "chain_type": "ethereum",
            // 64 characters are taken.
            "external_id": hex::encode(name),
            "owner": { "public_key": owner },
        });
        self.request(Verb::Post, "v1/wallets", Some(body)).once()
    }

    /// Makes a set of one key, which can be let to wallets.
    #[must_use]
    pub fn create_quorum(&self, key: &AuthorizationPublicKey) -> WalletRequest {
        let body = json!({ "public_keys": [key], "authorization_threshold": 1 });
        self.request(Verb::Post, "v1/key_quorums", Some(body))
    }

    /// Makes a policy that nobody but `owner` can change: a new one each time. The answer to an earlier request would name
    /// a policy whose rules may have been replaced since.
    #[must_use]
    pub fn create_policy(
        &self,
        policy: &SigningPolicy,
        owner: &AuthorizationPublicKey,
    ) -> WalletRequest {
        let body = json!({
            "version": SigningPolicy::VERSION,
            "chain_type": SigningPolicy::CHAIN_TYPE,
            "name": policy.name(),
            "rules": policy.rules(),
            "owner": { "public_key": owner },
        });
        self.request(Verb::Post, "v1/policies", Some(body))
    }

    pub(super) fn admit(
        &self,
        wallet: &WalletId,
        signer: Option<(&KeyQuorumId, &PolicyId)>,
        now: u64,
    ) -> WalletRequest {
        let signers: Vec<Value> = signer
            .into_iter()
            .map(|(id, policy)| json!({ "signer_id": id, "override_policy_ids": [policy] }))
            .collect();
        let body = json!({ "additional_signers": signers });
        self.request(Verb::Patch, &format!("v1/wallets/{wallet}"), Some(body)).until(now)
    }

    pub(super) fn replace_policy(
        &self,
        id: &PolicyId,
        policy: &SigningPolicy,
        now: u64,
    ) -> WalletRequest {
        let body = json!({ "name": policy.name(), "rules": policy.rules() });
        self.request(Verb::Patch, &format!("v1/policies/{id}"), Some(body)).until(now)
    }

    pub(super) fn sign_transaction(
        &self,
        wallet: &WalletId,
        permitted: &PermittedTransaction,
        now: u64,
    ) -> WalletRequest {
        let tx = permitted.transaction();
        let quantity = |number: U256| format!("{number:#x}");
        let body = json!({
            "method": "eth_signTransaction",
            "chain_type": "ethereum",
            "params": { "transaction": {
                "type": 2,
                // The bounds have no chain whose number JSON could not carry.
                "chain_id": tx.chain_id,
                "nonce": quantity(U256::from(tx.nonce)),
                "to": tx.to.to_string(),
                "value": quantity(tx.value),
                "data": tx.data,
                "gas_limit": quantity(U256::from(tx.gas_limit)),
                "max_fee_per_gas": quantity(U256::from(tx.max_fee_per_gas)),
                "max_priority_fee_per_gas": quantity(U256::from(tx.max_priority_fee_per_gas)),
            }},
        });
        self.request(Verb::Post, &format!("v1/wallets/{wallet}/rpc"), Some(body)).once().until(now)
    }

    fn request(&self, verb: Verb, path: &str, body: Option<Value>) -> WalletRequest {
        WalletRequest {
            verb,
            url: format!("{}{path}", self.base),
            body,
            headers: BTreeMap::from([(APP_ID, self.app_id.clone())]),
            signature: None,
        }
    }
}

/// How a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reads.
    Get,
    /// Makes, or asks for a signature.
    Post,
    /// Changes.
    Patch,
}

impl Verb {
    /// As HTTP has it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
        }
    }
}

/// One request of the service's protocol. Only [`WalletApp`] and the two keys make one: there is no way to have
/// something else authorised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletRequest {
    verb: Verb,
    url: String,
    body: Option<Value>,
    headers: BTreeMap<&'static str, String>,
    signature: Option<String>,
}

impl WalletRequest {
    /// How.
    #[must_use]
    pub const fn verb(&self) -> Verb {
        self.verb
    }

    /// Where.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What, in the form that was signed.
    #[must_use]
    pub fn body(&self) -> Option<String> {
        self.body.as_ref().map(canonical)
    }

    /// The service's own headers. How the app shows who it is comes from elsewhere.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let signature = self.signature.as_deref().map(|signature| (SIGNATURE, signature));
        self.headers.iter().map(|(name, value)| (*name, value.as_str())).chain(signature)
    }

    /// What an authorisation signs (RFC 8785). Without the headers, somebody between could turn one request into many.
    pub(super) fn payload(&self) -> Vec<u8> {
        canonical(&json!({
            "version": 1,
            "method": self.verb.as_str(),
            "url": self.url,
            "body": self.body,
            "headers": self.headers,
        }))
        .into_bytes()
    }

    pub(super) fn authorized(mut self, signature: String) -> Self {
        self.signature = Some(signature);
        self
    }

    fn once(mut self) -> Self {
        let body = self.body.as_ref().unwrap_or(&Value::Null);
        let key = IdempotencyKey::of(&self.url, body);
        self.headers.insert(IDEMPOTENCY, key.0);
        self
    }

    fn until(mut self, now: u64) -> Self {
        let millis = now.saturating_add(REQUEST_SECONDS).saturating_mul(1_000);
        self.headers.insert(EXPIRY, millis.to_string());
        self
    }
}

/// RFC 8785. What this crate makes into JSON has text keys and no floats, and so always has such a form.
pub(super) fn canonical(value: &Value) -> String {
    serde_json_canonicalizer::to_string(value).unwrap_or_default()
}
