//! ERC-7715: against MetaMask's packages, against answers that lie, and against hostile text.

mod forms;
mod granted;
mod health;
mod properties;
mod words;

use crate::fixtures::read as vectors;
use alloy_primitives::{Address, U256};
use golem_delegation::{
    Delegation, Environment, PermissionContext,
    permission::{
        Allowance, Answer, Asset, Edit, Expected, Form, GrantError, Granted, Message, Periodic,
        Permission, Request, Rules, Stream, read,
    },
    terms::ApprovalRevocation,
};
use serde::Deserialize;
use serde_json::Value;

/// Nothing was changed; and a start that the request left open is told, and nothing else is.
fn only_a_start_was_chosen(edits: &[Edit], asked: &Request) -> bool {
    let open = asked.permission.start().is_none() && asked.permission.asset().is_some();
    match edits {
        [] => !open,
        [Edit::StartChosen { .. }] => open,
        _ => false,
    }
}

/// What of `permissions.json` is compared.
#[derive(Debug, Deserialize)]
pub(crate) struct Vectors {
    pub(crate) manager: Address,
    pub(crate) owner: Address,
    pub(crate) session: Address,
    pub(crate) today: Vec<Exchange>,
    pub(crate) edits: Vec<Edited>,
    pub(crate) year2025: Vec<Exchange>,
    pub(crate) draft: Draft,
    #[serde(rename = "supportedCall")]
    pub(crate) supported_call: Value,
    pub(crate) supported: Value,
    #[serde(rename = "grantedCall")]
    pub(crate) granted_call: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Exchange {
    pub(crate) name: String,
    pub(crate) asked: Asked,
    pub(crate) request: Value,
    pub(crate) answer: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Edited {
    pub(crate) name: String,
    pub(crate) answer: Value,
    pub(crate) edits: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Draft {
    pub(crate) request: Value,
    pub(crate) answer: Value,
}

/// What the kit was asked for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Asked {
    chain_id: u64,
    from: Option<Address>,
    to: Address,
    #[serde(rename = "type")]
    kind: String,
    data: Value,
    is_adjustment_allowed: bool,
    expiry: Option<u64>,
    redeemers: Vec<Address>,
    payees: Vec<Address>,
}

impl Asked {
    pub(crate) fn request(&self) -> Request {
        let text = |field: &str| self.data[field].as_str();
        let amount = |field: &str| text(field).map(|text| text.parse::<U256>().unwrap());
        let asset = match text("tokenAddress") {
            Some(token) => Asset::Erc20(token.parse().unwrap()),
            None => Asset::Native,
        };
        let start = self.data["startTime"].as_u64();
        let flag = |field: &str| self.data[field].as_bool().unwrap();
        let permission = match self.kind.split_once("-token-").map(|(_, rest)| rest) {
            Some("periodic") => Permission::Periodic(Periodic {
                asset,
                amount: amount("periodAmount").unwrap(),
                duration: self.data["periodDuration"].as_u64().unwrap(),
                start,
            }),
            Some("stream") => Permission::Stream(Stream {
                asset,
                per_second: amount("amountPerSecond").unwrap(),
                initial: amount("initialAmount"),
                max: amount("maxAmount"),
                start,
            }),
            Some("allowance") => Permission::Allowance(Allowance {
                asset,
                amount: amount("allowanceAmount").unwrap(),
                start,
            }),
            _ => Permission::ApprovalRevocation(ApprovalRevocation {
                erc20_approve: flag("erc20Approve"),
                erc721_approve: flag("erc721Approve"),
                erc721_set_approval_for_all: flag("erc721SetApprovalForAll"),
                permit2_approve: flag("permit2Approve"),
                permit2_lockdown: flag("permit2Lockdown"),
                permit2_invalidate_nonces: flag("permit2InvalidateNonces"),
            }),
        };
        assert_eq!(permission.type_name(), self.kind);
        Request {
            chain_id: self.chain_id,
            from: self.from,
            to: self.to,
            permission,
            adjustable: self.is_adjustment_allowed,
            justification: text("justification").map(str::to_owned),
            rules: Rules {
                expiry: self.expiry,
                redeemers: self.redeemers.clone(),
                payees: self.payees.clone(),
                adjustable: self.is_adjustment_allowed,
            },
        }
    }
}

impl Vectors {
    pub(crate) fn load() -> Self {
        vectors("permissions.json")
    }

    /// The daily cap in tokens that the seeds call a runway.
    pub(crate) fn runway() -> (Self, Request, Answer) {
        let file = Self::load();
        let request = file.today[0].asked.request();
        let answer = answer(&file.today[0].answer);
        (file, request, answer)
    }

    pub(crate) fn check(&self, answer: &Answer) -> Result<Granted, GrantError> {
        let environment = Environment::stock();
        let (session, manager) = (self.session, self.manager);
        Granted::check(answer, Expected { session, manager, environment: &environment })
    }
}

pub(crate) fn requests(text: &Value) -> (Form, Vec<Request>) {
    let read = read(&text.to_string()).unwrap();
    let Message::Requests(requests) = read.message else { panic!("an answer: {text}") };
    (read.form, requests)
}

pub(crate) fn answer(text: &Value) -> Answer {
    let Message::Answers(mut answers) = read(&text.to_string()).unwrap().message else {
        panic!("a request: {text}")
    };
    assert_eq!(answers.len(), 1);
    answers.pop().unwrap()
}

/// The same answer with another delegation in it, signature and all left as they were.
pub(crate) fn with_leaf(answer: &Answer, change: impl FnOnce(&mut Delegation)) -> Answer {
    let mut leaf = PermissionContext::decode(&answer.context).unwrap().leaf().clone();
    change(&mut leaf);
    let context = PermissionContext::new(vec![leaf]).unwrap().encode();
    Answer { context, ..answer.clone() }
}
