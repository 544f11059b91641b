use crate::{
    answer::{Answer, Failure, OrUse},
    cli::{CaveatDecodeArgs, CaveatEncodeArgs},
    input,
};
use alloy::{hex, primitives::Address};
use anyhow::Context as _;
use golem_chain::{environment, printable};
use golem_delegation::{Caveat, Kind, Opaque, Rule};
use serde::de::{Deserialize, DeserializeSeed};
use serde_json::json;
use std::fmt::Display;

/// `bardo caveat encode`
pub(crate) fn encode(args: &CaveatEncodeArgs) -> Result<Answer, Failure> {
    let kind = match args.kind.as_str() {
        Opaque::KIND => None,
        name => {
            Some(name.parse::<Kind>().context("`bardo caveat kinds` lists all kinds").or_use()?)
        }
    };
    let rule = match parse(kind, &input::inline(&args.params).or_use()?) {
        Ok(rule) => rule,
        // Words that are no JSON say nothing that a contract could refuse.
        Err(error) if !error.is_data() => return Err(Failure::Use(error.into())),
        Err(error) => return Ok(refusal(&error)),
    };
    Ok(match rule.encode() {
        Ok(terms) => {
            let terms = hex::encode_prefixed(terms);
            let enforcer = kind.and_then(|kind| environment().enforcer(kind));
            Answer::yes(json!({ "enforcer": enforcer, "terms": terms }), terms)
        }
        Err(error) => refusal(&error),
    })
}

/// `bardo caveat kinds`
pub(crate) fn kinds() -> Answer {
    let environment = environment();
    let known = Kind::ALL.iter().filter_map(|kind| Some((*kind, environment.enforcer(*kind)?)));
    let known: Vec<(Kind, Address)> = known.collect();
    let text: Vec<String> =
        known.iter().map(|(kind, at)| format!("{:<34} {at}", kind.name())).collect();
    let rows: Vec<_> = known
        .iter()
        .map(|(kind, enforcer)| json!({ "kind": kind.name(), "enforcer": enforcer }))
        .collect();
    Answer::yes(json!(rows), text.join("\n"))
}

fn parse(kind: Option<Kind>, params: &str) -> serde_json::Result<Rule> {
    let mut reader = serde_json::Deserializer::from_str(params);
    let rule = match kind {
        Some(kind) => kind.deserialize(&mut reader)?,
        None => Rule::Opaque(Opaque::deserialize(&mut reader)?),
    };
    reader.end()?;
    Ok(rule)
}

/// `bardo caveat decode`
pub(crate) fn decode(args: &CaveatDecodeArgs) -> Result<Answer, Failure> {
    let terms = input::bytes(input::inline(&args.terms).or_use()?.trim()).or_use()?;
    Ok(match environment().read(&Caveat::new(args.enforcer, terms)) {
        Ok(rule) => {
            let shown = serde_json::to_value(&rule)?;
            let text = shown.to_string();
            Answer::yes(shown, text)
        }
        Err(error) => refusal(&error),
    })
}

/// What was given is not what the contract takes.
fn refusal(reason: &dyn Display) -> Answer {
    let reason = printable(&reason.to_string());
    Answer::no(json!({ "reason": reason }), reason)
}
