use crate::{
    answer::{Answer, Failure, OrUse},
    cli::{CaveatDecodeArgs, CaveatEncodeArgs},
    input,
};
use alloy::hex;
use golem_chain::{environment, printable};
use golem_delegation::{Caveat, Kind, Opaque, Rule};
use serde::de::{Deserialize, DeserializeSeed};
use serde_json::json;
use std::fmt::Display;

/// `bardo caveat encode`
pub(crate) fn encode(args: &CaveatEncodeArgs) -> Result<Answer, Failure> {
    let kind = match args.kind.as_str() {
        Opaque::KIND => None,
        name => Some(name.parse::<Kind>().or_use()?),
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
            Answer::yes(json!({ "terms": terms }), terms)
        }
        Err(error) => refusal(&error),
    })
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
