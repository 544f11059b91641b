use crate::{
    answer::{Answer, Failure},
    cli::TreeArgs,
    input,
};
use anyhow::anyhow;
use golem_delegation::{DelegationTree, Standing, State};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// `bardo delegation tree`
pub(crate) fn tree(args: &TreeArgs) -> Result<Answer, Failure> {
    let tree = match DelegationTree::new(input::links(&args.file)?) {
        Ok(tree) => tree,
        Err(error) => {
            let reason = error.to_string();
            return Ok(Answer::no(json!({ "valid": false, "reason": reason }), reason));
        }
    };
    let mut facts = BTreeMap::new();
    for (hash, state) in &args.state {
        if tree.node(*hash).is_none() {
            return Err(Failure::Use(anyhow!("--state: the tree has no delegation {hash}")));
        }
        if facts.insert(*hash, *state).is_some() {
            return Err(Failure::Use(anyhow!("--state: {hash} is given twice")));
        }
    }
    let standings = tree.standings(&facts);
    let nodes: Vec<Value> = tree
        .walk()
        .map(|(hash, node)| {
            let delegation = node.delegation();
            let (state, by) = match standings.get(&hash).copied() {
                Some(Standing::Active) => ("active", None),
                Some(Standing::Dead { cause, by }) => (name(cause), Some(by)),
                _ => ("unknown", None),
            };
            json!({
                "hash": hash,
                "parent": node.parent(),
                "depth": node.depth(),
                "delegator": delegation.delegator,
                "delegate": delegation.delegate,
                "caveats": delegation.caveats.len(),
                "state": state,
                "killedBy": by,
            })
        })
        .collect();
    Ok(Answer::yes(json!({ "valid": true, "nodes": nodes }), tree.render(&standings)))
}

/// The word that `--state` takes for it.
const fn name(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::RevokedByOwner => "revoked",
        State::Expired => "expired",
        State::Exhausted => "exhausted",
        _ => "unknown",
    }
}
