//! The wallet's other methods: what it supports, what it has granted, and taking one back.

use super::{
    Answer, FormError, MAX_TEXT,
    form::{Chain, read_each_answer},
};
use alloy_primitives::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Asks which permissions the wallet knows.
///
/// ```
/// use golem_delegation::permission::supported_call;
/// let call = supported_call();
/// assert_eq!(call["method"], "wallet_getSupportedExecutionPermissions");
/// assert_eq!(call["params"].as_array().map(Vec::len), Some(0));
/// ```
#[must_use]
pub fn supported_call() -> Value {
    json!({ "method": "wallet_getSupportedExecutionPermissions", "params": [] })
}

/// Asks what was granted and not revoked.
///
/// ```
/// use golem_delegation::permission::granted_call;
/// let call = granted_call();
/// assert_eq!(call["method"], "wallet_getGrantedExecutionPermissions");
/// assert_eq!(call["params"].as_array().map(Vec::len), Some(0));
/// ```
#[must_use]
pub fn granted_call() -> Value {
    json!({ "method": "wallet_getGrantedExecutionPermissions", "params": [] })
}

/// Asks the owner to take a permission back. Not EIP-2255's `wallet_revokePermissions`, which is about sites (D19).
///
/// ```
/// use golem_delegation::permission::revoke_call;
/// # use alloy_primitives::bytes;
/// let call = revoke_call(&bytes!("c0ffee"));
/// assert_eq!(call["params"][0]["permissionContext"], "0xc0ffee");
/// ```
#[must_use]
pub fn revoke_call(context: &Bytes) -> Value {
    json!({
        "method": "wallet_revokeExecutionPermission",
        "params": [{ "permissionContext": context.to_string() }],
    })
}

/// What the wallet knows, by type of permission.
///
/// ```
/// use golem_delegation::permission::Supported;
/// let text = r#"{"erc20-token-periodic":{"chainIds":["0x2105"],"ruleTypes":["expiry","redeemer"]}}"#;
/// let supported = Supported::read(text)?;
/// assert!(supported.types().eq(["erc20-token-periodic"]));
/// assert!(supported.grants("erc20-token-periodic", 8453));
/// assert!(!supported.grants("native-token-stream", 8453));
/// assert!(supported.takes("erc20-token-periodic", 8453, "redeemer"));
/// assert!(!supported.takes("erc20-token-periodic", 8453, "payee"));
/// assert!(!supported.takes("erc20-token-periodic", 1, "expiry"));
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Supported(BTreeMap<String, Kind>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Kind {
    /// Every chain where nothing is said.
    chains: Option<Vec<u64>>,
    rules: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WireKind {
    chain_ids: Option<Vec<Chain>>,
    rule_types: Vec<String>,
}

impl Supported {
    /// Reads the answer. Types and rules that nobody here knows are kept, and ask for nothing.
    pub fn read(text: &str) -> Result<Self, FormError> {
        if text.len() > MAX_TEXT {
            return Err(FormError::TooLarge { limit: MAX_TEXT, actual: text.len() });
        }
        let kinds: BTreeMap<String, WireKind> = serde_json::from_str(text)
            .map_err(|source| FormError::Json { form: "supported permissions", source })?;
        let kind = |WireKind { chain_ids, rule_types }| Kind {
            chains: chain_ids.map(|ids| ids.into_iter().map(|Chain(id)| id).collect()),
            rules: rule_types,
        };
        Ok(Self(kinds.into_iter().map(|(name, wire)| (name, kind(wire))).collect()))
    }

    /// Whether a type is granted on a chain.
    #[must_use]
    pub fn grants(&self, type_name: &str, chain_id: u64) -> bool {
        self.on(type_name, chain_id).is_some()
    }

    /// Whether a type is granted on a chain with a rule.
    #[must_use]
    pub fn takes(&self, type_name: &str, chain_id: u64, rule: &str) -> bool {
        self.on(type_name, chain_id)
            .is_some_and(|kind| kind.rules.iter().any(|known| known == rule))
    }

    /// Every type.
    pub fn types(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    fn on(&self, type_name: &str, chain_id: u64) -> Option<&Kind> {
        let kind = self.0.get(type_name)?;
        kind.chains.as_ref().is_none_or(|chains| chains.contains(&chain_id)).then_some(kind)
    }
}

/// Reads the list of granted permissions, each by itself: one that is not understood hides no other.
///
/// ```
/// use golem_delegation::permission::{Answer, Form, read_granted};
/// # use golem_delegation::permission::{Asset, Periodic, Permission, Request, Rules};
/// # use alloy_primitives::{Address, U256};
/// # let (asset, amount) = (Asset::Native, U256::from(10));
/// # let daily = Periodic { asset, amount, duration: 86_400, start: None };
/// # let request = Request { chain_id: 8453, from: None, to: Address::repeat_byte(1),
/// #     permission: Permission::Periodic(daily), adjustable: false, justification: None,
/// #     rules: Rules::default() };
/// # let (context, manager) = (alloy_primitives::bytes!("00"), Some(Address::repeat_byte(4)));
/// # let answer = Answer { granted: request, context, dependencies: vec![], manager };
/// let good = &Form::Today.write_answers(&[answer.clone()])?[0];
/// let all = read_granted(&format!(r#"[{{"from":"another time"}}, {good}]"#))?;
/// assert_eq!(all.len(), 2);
/// assert!(all[0].is_err());
/// assert_eq!(all[1].as_ref().ok(), Some(&answer));
/// # Ok::<(), golem_delegation::permission::FormError>(())
/// ```
pub fn read_granted(text: &str) -> Result<Vec<Result<Answer, FormError>>, FormError> {
    read_each_answer(text)
}
