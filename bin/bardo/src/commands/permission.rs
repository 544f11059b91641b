use crate::{
    answer::{Answer, Failure},
    cli::{GrantArgs, PermissionExplainArgs, PermissionHealthArgs},
    input,
    prose::{length, paragraphs},
};
use anyhow::anyhow;
use golem_chain::{environment, printable};
use golem_delegation::{
    Utc,
    permission::{
        self, Asset, Cause, Condition, Edit, Expected, GrantError, Granted, Health, Message,
        Permission, Request, Signed, Tokens, Usage, explain_request,
    },
};
use serde_json::{Map, Value, json};
use std::error::Error;

/// `bardo permission explain`
pub(crate) fn explain(args: &PermissionExplainArgs) -> Result<Answer, Failure> {
    let asked = match &args.request {
        None => Vec::new(),
        Some(file) => match input::permission(file, &[])?.message {
            Message::Requests(requests) => requests,
            _ => return Err(Failure::Use(anyhow!("{} holds no request", file.display()))),
        },
    };
    let tokens = tokens(&args.grant);
    let read = input::permission(&args.grant.file, &asked)?;
    let form = read.form.name();
    match read.message {
        Message::Requests(requests) => {
            let each = requests.iter().map(|request| {
                let sentences = explain_request(request, &tokens);
                (described(request, &sentences), paragraphs(&sentences.join("\n")))
            });
            let (json, text): (Vec<Value>, Vec<String>) = each.unzip();
            Ok(Answer::yes(
                json!({ "kind": "request", "form": form, "permissions": json }),
                text.join("\n\n"),
            ))
        }
        Message::Answers(answers) => {
            if !asked.is_empty() && asked.len() < answers.len() {
                let (asked, granted) = (asked.len(), answers.len());
                return Err(Failure::Use(anyhow!("{granted} answers to {asked} requests")));
            }
            let mut whole = true;
            let (mut json, mut text) = (Vec::new(), Vec::new());
            for (index, answer) in answers.iter().enumerate() {
                match check(answer, &args.grant) {
                    Ok(granted) => {
                        let (value, words) = explained(&granted, asked.get(index), &tokens);
                        json.push(value);
                        text.push(words);
                    }
                    Err(error) => {
                        whole = false;
                        let reason = reasons(&error);
                        json.push(json!({ "granted": false, "reason": reason }));
                        let words =
                            format!("This answer grants nothing we would rely on: {reason}");
                        text.push(paragraphs(&words));
                    }
                }
            }
            let json = json!({ "kind": "answer", "form": form, "permissions": json });
            let text = text.join("\n\n");
            Ok(if whole { Answer::yes(json, text) } else { Answer::no(json, text) })
        }
        _ => Err(Failure::Use(anyhow!("neither requests nor answers"))),
    }
}

/// `bardo permission health`
pub(crate) fn health(args: &PermissionHealthArgs) -> Result<Answer, Failure> {
    let (_, answer) = input::permission_answer(&args.grant.file)?;
    let granted = match check(&answer, &args.grant) {
        Ok(granted) => granted,
        Err(error) => {
            let reason = reasons(&error);
            return Ok(Answer::no(json!({ "granted": false, "reason": reason }), reason));
        }
    };
    let now = args.now.map_or_else(input::now, Ok)?;
    let usage = Usage { spent: args.spent, now, disabled: args.disabled };
    let health = granted.health(usage);
    let text = in_words(&health, granted.permission().asset(), &tokens(&args.grant));
    let cause = match health.condition {
        Condition::Revoked(cause) => Some(cause),
        _ => None,
    };
    let amount = |amount: Option<alloy::primitives::U256>| amount.map(|it| it.to_string());
    // An expiry may be any number, and beyond 2^53 another reader of a JSON number sees another one.
    let seconds = |seconds: Option<u64>| seconds.map(|it| it.to_string());
    let json = json!({
        "health": health.condition.name(),
        "cause": cause.map(Cause::name),
        "cap": amount(health.cap),
        "left": amount(health.left),
        "available": amount(health.available),
        "secondsLeft": seconds(health.seconds_left),
        "startsIn": seconds(Some(health.starts_in)),
        "periodEnds": seconds(health.period_ends),
        "now": now,
    });
    Ok(if cause.is_none() { Answer::yes(json, text) } else { Answer::no(json, text) })
}

fn in_words(health: &Health, asset: Option<Asset>, tokens: &Tokens) -> String {
    let mut lines = vec![match health.condition {
        Condition::Healthy => "healthy".to_owned(),
        Condition::Low => {
            "low: half of its cap or less is there now, or it ends within a week".to_owned()
        }
        Condition::Critical => {
            "critical: less than a tenth of its cap is there now, or it ends within a day"
                .to_owned()
        }
        Condition::Revoked(Cause::ByOwner) => "revoked: the owner took it back".to_owned(),
        Condition::Revoked(Cause::Expired) => "revoked: it has expired".to_owned(),
        Condition::Revoked(Cause::Exhausted) => "revoked: all of it was spent".to_owned(),
        other => other.name().to_owned(),
    }];
    if matches!(health.condition, Condition::Revoked(_)) {
        return lines.join("\n");
    }
    if let (Some(asset), Some(cap), Some(left)) = (asset, health.cap, health.left) {
        lines.push(format!(
            "left: {} of {}",
            tokens.amount(asset, left),
            tokens.amount(asset, cap)
        ));
    }
    if let (Some(asset), Some(available)) = (asset, health.available)
        && health.available != health.left
    {
        lines.push(format!(
            "at once can be taken what has come together: {}",
            tokens.amount(asset, available)
        ));
    }
    if let Some(ends) = health.period_ends {
        lines.push(format!("whole again at {}", Utc(ends)));
    }
    lines.push(health.seconds_left.map_or_else(
        || "it has no end".to_owned(),
        |seconds| format!("it ends in {}", length(seconds)),
    ));
    if health.starts_in > 0 {
        lines.push(format!("it starts in {}", length(health.starts_in)));
    }
    lines.join("\n")
}

fn check(answer: &permission::Answer, args: &GrantArgs) -> Result<Granted, GrantError> {
    let environment = environment();
    let session = args.session.unwrap_or(answer.granted.to);
    Granted::check(answer, Expected { session, manager: args.manager, environment: &environment })
}

fn tokens(args: &GrantArgs) -> Tokens {
    let named = args.tokens.iter();
    named.fold(Tokens::default(), |all, (asset, token)| all.with(*asset, token.clone()))
}

/// Causes, outermost first.
pub(crate) fn reasons(error: &GrantError) -> String {
    let mut words = printable(&error.to_string());
    let mut cause = error.source();
    while let Some(inner) = cause {
        words = format!("{words}: {}", printable(&inner.to_string()));
        cause = inner.source();
    }
    words
}

fn explained(granted: &Granted, asked: Option<&Request>, tokens: &Tokens) -> (Value, String) {
    let mut sentences = granted.explain(tokens);
    let mut value = described(granted.terms(), &sentences);
    if let Some(fields) = value.as_object_mut() {
        let signed = match granted.signed() {
            Signed::ByOwnersKey => "ownersKey",
            _ => "leftToChain",
        };
        fields.insert("granted".to_owned(), json!(true));
        fields.insert("signed".to_owned(), json!(signed));
        fields.insert("nonce".to_owned(), json!(granted.nonce().map(|nonce| nonce.to_string())));
        fields.insert("further".to_owned(), json!(granted.further()));
        let first = granted.dependencies().iter();
        let first =
            first.map(|one| json!({ "factory": one.factory, "factoryData": one.factory_data }));
        fields.insert("dependencies".to_owned(), json!(first.collect::<Vec<_>>()));
        if let Some(asked) = asked {
            let edits = granted.edits(asked);
            let asset = granted.permission().asset();
            let said: Vec<String> = edits.iter().map(|edit| edit.explain(asset, tokens)).collect();
            let names: Vec<&str> = edits.iter().map(Edit::name).collect();
            fields.insert("edits".to_owned(), json!(names));
            fields.insert("editSentences".to_owned(), json!(said));
            if said.is_empty() {
                sentences.push("It is what was asked for.".to_owned());
            } else {
                sentences.push("It is not word for word what was asked for:".to_owned());
                sentences.extend(said.into_iter().map(|line| format!("- {line}")));
            }
        }
    }
    (value, paragraphs(&sentences.join("\n")))
}

/// A permission for programs: amounts are decimal text.
fn described(request: &Request, sentences: &[String]) -> Value {
    let Request { chain_id, from, to, permission, adjustable, justification, rules } = request;
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("type", json!(permission.type_name()));
    put("chainId", json!(chain_id));
    put("from", json!(from));
    put("to", json!(to));
    put("isAdjustmentAllowed", json!(adjustable));
    put("justification", json!(justification));
    put("expiry", json!(rules.expiry));
    put("redeemers", json!(rules.redeemers));
    put("payees", json!(rules.payees));
    put("startTime", json!(permission.start()));
    match permission.asset() {
        Some(Asset::Erc20(token)) => put("tokenAddress", json!(token)),
        Some(_) => put("tokenAddress", Value::Null),
        None => {}
    }
    match permission {
        Permission::Periodic(periodic) => {
            put("periodAmount", json!(periodic.amount.to_string()));
            put("periodDuration", json!(periodic.duration));
        }
        Permission::Stream(stream) => {
            put("amountPerSecond", json!(stream.per_second.to_string()));
            put("initialAmount", json!(stream.initial.map(|amount| amount.to_string())));
            put("maxAmount", json!(stream.max.map(|amount| amount.to_string())));
        }
        Permission::Allowance(allowance) => {
            put("allowanceAmount", json!(allowance.amount.to_string()));
        }
        _ => {}
    }
    put("sentences", json!(sentences));
    Value::Object(fields)
}
