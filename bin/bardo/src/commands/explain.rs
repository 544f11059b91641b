use crate::{
    answer::{Answer, Failure},
    input,
    prose::paragraphs,
};
use golem_chain::environment;
use golem_delegation::{Delegation, Environment, Explanation, Kind};
use serde_json::{Value, json};
use std::path::Path;

/// `bardo delegation explain`
pub(crate) fn explain(file: &Path) -> Result<Answer, Failure> {
    let environment = environment();
    let links = input::links(file)?;
    let said: Vec<(Value, String)> = links.iter().map(|link| say(link, &environment)).collect();
    let (rows, texts): (Vec<Value>, Vec<String>) = said.into_iter().unzip();
    Ok(Answer::yes(json!(rows), texts.join("\n")))
}

fn say(delegation: &Delegation, environment: &Environment) -> (Value, String) {
    let hash = delegation.hash();
    let words = Explanation::of(delegation, environment);
    let clauses: Vec<Value> = words
        .clauses
        .iter()
        .zip(&delegation.caveats)
        .map(|(clause, caveat)| {
            // None for terms that their contract refuses: there is nothing to read in them.
            let rule =
                environment.read(caveat).ok().and_then(|rule| serde_json::to_value(rule).ok());
            json!({
                "enforcer": clause.enforcer,
                "kind": clause.kind.map_or("opaque", Kind::name),
                "params": rule.and_then(|rule| rule.get("params").cloned()),
                "sentences": clause.sentences,
            })
        })
        .collect();
    let row = json!({
        "hash": hash,
        "delegator": delegation.delegator,
        "delegate": delegation.delegate,
        "parties": words.parties,
        "caveats": clauses,
        "missing": words.gaps.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    (row, format!("{hash}\n{}\n", paragraphs(&words.to_string())))
}
