//! What MetaMask and its kit 2.0 speak.

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

const FORM: &str = "today";

/// A request; with the last four fields, an answer.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<Account>,
    chain_id: Chain,
    permission: WirePermission,
    to: Account,
    #[serde(default)]
    rules: Option<Vec<WireRule>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    context: Option<Hex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dependencies: Option<Vec<WireDependency>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delegation_manager: Option<Account>,
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
            from: self.from.map(|Account(from)| from),
            to: self.to.0,
            permission,
            adjustable,
            justification,
            rules: read_rules(self.rules.unwrap_or_default(), Edits::Together, adjustable)?,
        };
        request.check()?;
        Ok(request)
    }

    fn of(request: &Request) -> Result<Self, FormError> {
        request.check()?;
        let Request { chain_id, from, to, permission, adjustable, justification, rules } = request;
        Ok(Self {
            from: from.map(Account),
            chain_id: Chain(*chain_id),
            permission: WirePermission::write(permission, *adjustable, justification.as_deref())?,
            to: Account(*to),
            rules: Some(write_rules(rules, Edits::Together, *adjustable)?),
            context: None,
            dependencies: None,
            delegation_manager: None,
            is_adjustment_allowed: None,
        })
    }
}

pub(super) fn read_request(text: &str) -> Result<Request, FormError> {
    let entry: Entry = parse(FORM, text)?;
    for (field, there) in [
        ("dependencies", entry.dependencies.is_some()),
        ("delegationManager", entry.delegation_manager.is_some()),
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
    let dependencies = entry.dependencies.take().ok_or(missing("dependencies"))?;
    let manager = entry.delegation_manager.take().ok_or(missing("delegationManager"))?;
    Ok(Answer {
        context: context.0,
        dependencies: read_dependencies(dependencies)?,
        manager: Some(manager.0),
        granted: entry.request()?,
    })
}

pub(super) fn write_request(request: &Request) -> Result<Value, FormError> {
    written(&Entry::of(request)?)
}

pub(super) fn write_answer(answer: &Answer) -> Result<Value, FormError> {
    let Some(manager) = answer.manager else {
        return Err(FormError::CannotSay { form: FORM, what: "an answer without a manager" });
    };
    written(&Entry {
        context: Some(Hex(answer.context.clone())),
        dependencies: Some(write_dependencies(&answer.dependencies)),
        delegation_manager: Some(Account(manager)),
        ..Entry::of(&answer.granted)?
    })
}

fn written(entry: &Entry) -> Result<Value, FormError> {
    serde_json::to_value(entry).map_err(|source| FormError::Json { form: FORM, source })
}
