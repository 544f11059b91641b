//! What MetaMask spoke in 2025, as its permissions snap 0.7 does.

use super::{
    FormError, parse,
    wire::{
        Account, Chain, Edits, Hex, WireDependency, WirePermission, WireRule, read_dependencies,
        read_rules, write_dependencies, write_rules,
    },
};
use crate::permission::{Answer, Request};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const FORM: &str = "2025";

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
    Account,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct SignerData {
    address: Account,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SignerMeta {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delegation_manager: Option<Account>,
}

/// A request; with the last four fields, an answer.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    chain_id: Chain,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<Account>,
    signer: Signer,
    permission: WirePermission,
    rules: Vec<WireRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Hex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dependency_info: Option<Vec<WireDependency>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signer_meta: Option<SignerMeta>,
    /// The wallet repeats here what its permission says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    is_adjustment_allowed: Option<bool>,
}

impl Entry {
    fn request(self) -> Result<Request, FormError> {
        let (permission, adjustable, justification) = self.permission.read()?;
        if self.is_adjustment_allowed.is_some_and(|again| again != adjustable) {
            return Err(FormError::Contradiction { field: "isAdjustmentAllowed" });
        }
        let request = Request {
            chain_id: self.chain_id.0,
            from: self.address.map(|Account(from)| from),
            to: self.signer.data.address.0,
            permission,
            adjustable,
            justification,
            rules: read_rules(self.rules, Edits::Apart, adjustable)?,
        };
        check(&request)?;
        Ok(request)
    }

    fn of(request: &Request) -> Result<Self, FormError> {
        check(request)?;
        let Request { chain_id, from, to, permission, adjustable, justification, rules } = request;
        Ok(Self {
            chain_id: Chain(*chain_id),
            address: from.map(Account),
            signer: Signer {
                kind: SignerKind::Account,
                data: SignerData { address: Account(*to) },
            },
            permission: WirePermission::write(permission, *adjustable, justification.as_deref())?,
            rules: write_rules(rules, Edits::Apart, *adjustable)?,
            context: None,
            dependency_info: None,
            signer_meta: None,
            is_adjustment_allowed: None,
        })
    }
}

/// That wallet insisted on an expiry.
fn check(request: &Request) -> Result<(), FormError> {
    if request.rules.expiry.is_none() {
        return Err(FormError::Missing { of: FORM, field: "expiry" });
    }
    Ok(request.check()?)
}

pub(super) fn read_request(text: &str) -> Result<Request, FormError> {
    let entry: Entry = parse(FORM, text)?;
    for (field, there) in [
        ("dependencyInfo", entry.dependency_info.is_some()),
        ("signerMeta", entry.signer_meta.is_some()),
        ("isAdjustmentAllowed", entry.is_adjustment_allowed.is_some()),
    ] {
        if there {
            return Err(FormError::Unexpected { of: "request", field });
        }
    }
    entry.request()
}

pub(super) fn read_answer(text: &str) -> Result<Answer, FormError> {
    let mut entry: Entry = parse(FORM, text)?;
    let missing = |field| FormError::Missing { of: "answer", field };
    let context = entry.context.take().ok_or(missing("context"))?;
    let dependencies = entry.dependency_info.take().ok_or(missing("dependencyInfo"))?;
    let meta = entry.signer_meta.take().ok_or(missing("signerMeta"))?;
    Ok(Answer {
        context: context.0,
        dependencies: read_dependencies(dependencies)?,
        manager: meta.delegation_manager.map(|Account(manager)| manager),
        granted: entry.request()?,
    })
}

pub(super) fn write_request(request: &Request) -> Result<Value, FormError> {
    written(&Entry::of(request)?)
}

pub(super) fn write_answer(answer: &Answer) -> Result<Value, FormError> {
    written(&Entry {
        context: Some(Hex(answer.context.clone())),
        dependency_info: Some(write_dependencies(&answer.dependencies)),
        signer_meta: Some(SignerMeta { delegation_manager: answer.manager.map(Account) }),
        ..Entry::of(&answer.granted)?
    })
}

fn written(entry: &Entry) -> Result<Value, FormError> {
    serde_json::to_value(entry).map_err(|source| FormError::Json { form: FORM, source })
}
