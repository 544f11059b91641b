//! The draft that the seeds show. One request holds several permissions, which share everything else.

use super::{
    FormError, parse,
    wire::{Account, Amount, Chain, Hex, Seconds},
};
use crate::permission::{Answer, Asset, Dependency, Periodic, Permission, Request, Rules};
use alloy_primitives::Address;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::Value;

const FORM: &str = "draft";
const ERC20: &str = "erc20-recurring-allowance";
const NATIVE: &str = "native-token-recurring-allowance";

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Signer {
    #[serde(rename = "type")]
    kind: SignerKind,
    data: SignerData,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum SignerKind {
    Key,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SignerData {
    id: Account,
}

impl Signer {
    const fn of(address: Address) -> Self {
        Self { kind: SignerKind::Key, data: SignerData { id: Account(address) } }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct DraftPermission {
    #[serde(rename = "type")]
    kind: String,
    data: Data,
    /// The only word the draft has for "do not edit".
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    required: bool,
    /// Written by viem; none is understood.
    #[serde(default, skip_serializing)]
    policies: Vec<IgnoredAny>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Data {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    token: Option<Account>,
    allowance: Amount,
    period: Seconds,
}

impl DraftPermission {
    fn read(self) -> Result<(Permission, bool), FormError> {
        let (of, asset) = match (self.kind.as_str(), self.data.token) {
            (ERC20, Some(Account(token))) => (ERC20, Asset::Erc20(token)),
            (ERC20, None) => return Err(FormError::Missing { of: ERC20, field: "token" }),
            (NATIVE, None) => (NATIVE, Asset::Native),
            (NATIVE, Some(_)) => return Err(FormError::Unexpected { of: NATIVE, field: "token" }),
            _ => return Err(FormError::UnknownType { name: self.kind }),
        };
        if !self.policies.is_empty() {
            return Err(FormError::Unexpected { of, field: "policies" });
        }
        let (amount, duration) = (self.data.allowance.0, self.data.period.0);
        let periodic = Periodic { asset, amount, duration, start: None };
        Ok((Permission::Periodic(periodic), !self.required))
    }

    fn of(request: &Request) -> Result<Self, FormError> {
        let cannot = |what| FormError::CannotSay { form: FORM, what };
        request.check()?;
        let Permission::Periodic(Periodic { asset, amount, duration, start }) = request.permission
        else {
            return Err(cannot("a permission that does not recur"));
        };
        for (what, said) in [
            ("when it starts", start.is_some()),
            ("a justification", request.justification.is_some()),
            ("who redeems", !request.rules.redeemers.is_empty()),
            ("who is paid", !request.rules.payees.is_empty()),
            (
                "rules edited apart from the permission",
                request.rules.adjustable != request.adjustable,
            ),
        ] {
            if said {
                return Err(cannot(what));
            }
        }
        let (kind, token) = match asset {
            Asset::Erc20(token) => (ERC20, Some(Account(token))),
            Asset::Native => (NATIVE, None),
        };
        Ok(Self {
            kind: kind.to_owned(),
            data: Data { token, allowance: Amount(amount), period: Seconds(duration) },
            required: !request.adjustable,
            policies: Vec::new(),
        })
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Ask {
    chain_id: Chain,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<Account>,
    expiry: Seconds,
    signer: Signer,
    permissions: Vec<DraftPermission>,
}

/// The draft does not say that an answer repeats the request; ours do.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Reply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chain_id: Option<Chain>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<Account>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer: Option<Signer>,
    expiry: Seconds,
    granted_permissions: Vec<DraftPermission>,
    permissions_context: Hex,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer_data: Option<ReplySigner>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    factory: Option<Account>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    factory_data: Option<Hex>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ReplySigner {
    /// Where to redeem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    submit_to_address: Option<Account>,
}

/// What all permissions of a request share.
struct Shared {
    chain_id: u64,
    from: Option<Address>,
    to: Address,
    expiry: u64,
}

impl Shared {
    fn requests(&self, permissions: Vec<DraftPermission>) -> Result<Vec<Request>, FormError> {
        super::count(permissions.len())?;
        let one = |permission: DraftPermission| {
            let (permission, adjustable) = permission.read()?;
            let rules = Rules { expiry: Some(self.expiry), adjustable, ..Rules::default() };
            let (chain_id, from, to) = (self.chain_id, self.from, self.to);
            let justification = None;
            let request =
                Request { chain_id, from, to, permission, adjustable, justification, rules };
            request.check()?;
            Ok(request)
        };
        permissions.into_iter().map(one).collect()
    }

    /// What is said alike by all of them; an error where it is not.
    fn of<'a>(requests: impl Iterator<Item = &'a Request>) -> Result<Self, FormError> {
        let mut shared = None;
        for Request { chain_id, from, to, rules, .. } in requests {
            let Some(expiry) = rules.expiry else {
                return Err(FormError::CannotSay { form: FORM, what: "that it never expires" });
            };
            let this = (*chain_id, *from, *to, expiry);
            if shared.is_some_and(|before| before != this) {
                let what = "permissions of different accounts, chains or expiries at once";
                return Err(FormError::CannotSay { form: FORM, what });
            }
            shared = Some(this);
        }
        let (chain_id, from, to, expiry) = shared.ok_or(FormError::Empty)?;
        Ok(Self { chain_id, from, to, expiry })
    }
}

pub(super) fn read_requests(text: &str) -> Result<Vec<Request>, FormError> {
    let Ask { chain_id, address, expiry, signer, permissions } = parse(FORM, text)?;
    let from = address.map(|Account(from)| from);
    let shared = Shared { chain_id: chain_id.0, from, to: signer.data.id.0, expiry: expiry.0 };
    shared.requests(permissions)
}

pub(super) fn read_answers(text: &str, asked: Option<&Request>) -> Result<Vec<Answer>, FormError> {
    let reply: Reply = parse(FORM, text)?;
    let missing = |field| FormError::Missing { of: "answer", field };
    let chain_id = reply.chain_id.map(|Chain(id)| id).or(asked.map(|asked| asked.chain_id));
    let to = reply.signer.map(|signer| signer.data.id.0).or(asked.map(|asked| asked.to));
    let from = reply.address.map(|Account(from)| from);
    let shared = Shared {
        chain_id: chain_id.ok_or(missing("chainId"))?,
        from: from.or_else(|| asked.and_then(|asked| asked.from)),
        to: to.ok_or(missing("signer"))?,
        expiry: reply.expiry.0,
    };
    let dependencies = match (reply.factory, reply.factory_data) {
        (Some(Account(factory)), Some(Hex(factory_data))) => {
            vec![Dependency { factory, factory_data }]
        }
        (None, None) => Vec::new(),
        (Some(_), None) => return Err(missing("factoryData")),
        (None, Some(_)) => return Err(missing("factory")),
    };
    let manager = reply.signer_data.and_then(|data| data.submit_to_address);
    let answer = |granted| Answer {
        granted,
        context: reply.permissions_context.0.clone(),
        dependencies: dependencies.clone(),
        manager: manager.map(|Account(manager)| manager),
    };
    Ok(shared.requests(reply.granted_permissions)?.into_iter().map(answer).collect())
}

pub(super) fn write_requests(requests: &[Request]) -> Result<Value, FormError> {
    let Shared { chain_id, from, to, expiry } = Shared::of(requests.iter())?;
    written(&Ask {
        chain_id: Chain(chain_id),
        address: from.map(Account),
        expiry: Seconds(expiry),
        signer: Signer::of(to),
        permissions: requests.iter().map(DraftPermission::of).collect::<Result<_, _>>()?,
    })
}

pub(super) fn write_answers(answers: &[Answer]) -> Result<Value, FormError> {
    let Some(first) = answers.first() else { return Err(FormError::Empty) };
    let Shared { chain_id, from, to, expiry } =
        Shared::of(answers.iter().map(|answer| &answer.granted))?;
    let alike = |answer: &Answer| {
        (&answer.context, &answer.dependencies, answer.manager)
            == (&first.context, &first.dependencies, first.manager)
    };
    if !answers.iter().all(alike) {
        return Err(FormError::CannotSay { form: FORM, what: "several contexts at once" });
    }
    let (factory, factory_data) = match first.dependencies.as_slice() {
        [] => (None, None),
        [one] => (Some(Account(one.factory)), Some(Hex(one.factory_data.clone()))),
        _ => return Err(FormError::CannotSay { form: FORM, what: "several dependencies" }),
    };
    written(&Reply {
        chain_id: Some(Chain(chain_id)),
        address: from.map(Account),
        signer: Some(Signer::of(to)),
        expiry: Seconds(expiry),
        granted_permissions: answers
            .iter()
            .map(|answer| DraftPermission::of(&answer.granted))
            .collect::<Result<_, _>>()?,
        permissions_context: Hex(first.context.clone()),
        signer_data: first
            .manager
            .map(|manager| ReplySigner { submit_to_address: Some(Account(manager)) }),
        factory,
        factory_data,
    })
}

fn written(entry: &impl Serialize) -> Result<Value, FormError> {
    serde_json::to_value(entry).map_err(|source| FormError::Json { form: FORM, source })
}
