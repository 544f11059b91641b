use crate::{
    answer::{Answer, Failure},
    cli::AttenuatesArgs,
    input,
};
use anyhow::anyhow;
use golem_delegation::{
    Caveat, ContextError, Delegation, EXECUTIONS_IN_A_PERIOD, Environment, PermissionContext, Rule,
    attenuates as judge,
};
use serde_json::{Value, json};
use std::{
    io::{Write, stderr},
    path::Path,
};

/// `bardo delegation attenuates`
pub(crate) fn attenuates(args: &AttenuatesArgs) -> Result<Answer, Failure> {
    if args.parent == args.child && args.parent == Path::new("-") {
        return Err(Failure::Use(anyhow!(
            "standard input holds one of them: give the other as a file"
        )));
    }
    let (above, child) = (input::delegations(&args.parent)?, input::delegation(&args.child)?);
    let mut answer = within(&above, &child);
    // Bounds can be compared before there is a chain; what is said of them is then no word about one.
    let broken = chained(&above, &child).err();
    if let Some(object) = answer.json.as_object_mut() {
        object.insert("chained".to_owned(), json!(broken.is_none()));
    }
    if let Some(why) = broken {
        let warning =
            format!("these are bounds alone, and no chain from a root to this child: {why}");
        let _ = writeln!(stderr(), "bardo: {warning}");
    }
    Ok(answer)
}

/// Whether a child stands on what is above it, up to a root.
pub(crate) fn chained(above: &[Delegation], child: &Delegation) -> Result<(), ContextError> {
    let links = std::iter::once(child).chain(above).cloned().collect();
    PermissionContext::new(links).map(drop)
}

/// ATK-07: whether a child stays within every link above it.
pub(crate) fn within(above: &[Delegation], child: &Delegation) -> Answer {
    let environment = golem_chain::environment();
    let stated = match rules(&environment, child) {
        Ok(rules) => rules,
        Err(reason) => return no(child, Vec::new(), format!("the child's {reason}")),
    };
    let mut looser = Vec::new();
    let mut lines = Vec::new();
    // What a link leaves out it inherits, so each link above has its say.
    for link in above {
        let bounds = match rules(&environment, link) {
            Ok(rules) => rules,
            Err(reason) => return no(child, Vec::new(), format!("the parent's {reason}")),
        };
        for bound in judge(&bounds, &stated).err().unwrap_or_default() {
            lines.push(bound.to_string());
            looser.push(json!({
                "link": link.hash(),
                "kind": bound.kind.map_or("opaque", |kind| kind.name()),
                "bound": bound.bound,
                "parent": bound.parent,
                "child": bound.child,
            }));
        }
    }
    if !looser.is_empty() {
        return no(child, looser, lines.join("\n"));
    }
    let hash = child.hash();
    Answer::yes(
        json!({
            "attenuates": true,
            "child": hash,
            "looser": looser,
            "executionsInAPeriod": EXECUTIONS_IN_A_PERIOD,
        }),
        format!(
            "{hash} allows nothing that its parents refuse, in up to {EXECUTIONS_IN_A_PERIOD} executions of a spend period"
        ),
    )
}

fn no(child: &Delegation, looser: Vec<Value>, reason: String) -> Answer {
    let hash = child.hash();
    let json = json!({ "attenuates": false, "child": hash, "looser": looser, "reason": reason });
    Answer::no(json, reason)
}

/// What the caveats say, or which of them its contract would refuse.
fn rules(environment: &Environment, delegation: &Delegation) -> Result<Vec<Rule>, String> {
    let read = |(at, caveat): (usize, &Caveat)| {
        environment
            .read(caveat)
            .map_err(|error| format!("caveat {at} ({}) is malformed: {error}", caveat.enforcer))
    };
    (1..).zip(&delegation.caveats).map(read).collect()
}
