use crate::{
    answer::{Answer, Failure, OrUse},
    cli::{CallArgs, SimulateArgs},
    input::{self, Age},
};
use anyhow::{Context, anyhow};
use golem_chain::Foresight;
use golem_custody::{
    Asset, Change, Denial, DenialCode, Execution, Held, Outcome, Preview, Redemption,
};
use golem_delegation::ANY_DELEGATE;
use serde_json::{Value, json};

/// `bardo delegation simulate`
pub(crate) async fn simulate(args: &SimulateArgs) -> Result<Answer, Failure> {
    let redemption = redemption(&args.call)?;
    let delegate = redemption.context().leaf().delegate;
    let redeemer = match args.redeemer {
        Some(redeemer) => redeemer,
        None if delegate == ANY_DELEGATE => {
            return Err(anyhow!("anybody may redeem this grant: say who with --redeemer ADDRESS"))
                .or_use();
        }
        None => delegate,
    };
    let node = args.call.node.connect().await?;
    let header = node.header().await?;
    let age = Age::of(&node, header.timestamp)?;
    let mut answer = match Foresight::new(node).rehearse(header, &redemption, redeemer).await? {
        Outcome::Allowed(preview) => allowed(&preview),
        Outcome::Refused(denial) => refused(&denial)?,
    };
    if let Some(warning) = age.warning() {
        answer.text.push_str(&format!("\n{warning}"));
    }
    Ok(answer.with("ageSeconds", age.seconds))
}

/// What would come of it, for programs and for people.
fn allowed(preview: &Preview) -> Answer {
    let Preview { block, gas, data_fee, changes, notes, counted: _, gas_limit: _ } = preview;
    let mut lines = vec![format!("allowed: about {gas} gas, judged on block {}", block.number)];
    if !data_fee.is_zero() {
        lines.push(format!("  and for its data, on the chain's parent, up to {data_fee} wei"));
    }
    let mut rows = Vec::new();
    for Change { of, before, after } in changes {
        let (named, words) = match of {
            Held::Balance { asset, account } => {
                let (token, asset) = match asset {
                    Asset::Native => (None, "the chain's coin".to_owned()),
                    Asset::Erc20(token) => (Some(*token), token.to_string()),
                };
                let named = json!({ "kind": "balance", "token": token, "account": account });
                (named, format!("{account} has of {asset}"))
            }
            Held::Allowance { token, owner, spender } => {
                let named = json!({
                    "kind": "allowance", "token": token, "owner": owner, "spender": spender,
                });
                (named, format!("{spender} may take of {owner}'s {token}"))
            }
            Held::Operator { token, owner, operator } => {
                let named = json!({
                    "kind": "operator", "token": token, "owner": owner, "operator": operator,
                });
                (named, format!("{operator} may take every item of {owner}'s {token}"))
            }
            Held::Owner { token, id } => {
                let named = json!({ "kind": "owner", "token": token, "id": id.to_string() });
                (named, format!("whose item {id} of {token} is, as a number"))
            }
            Held::Item { token, id } => {
                let named = json!({ "kind": "item", "token": token, "id": id.to_string() });
                (named, format!("who may take item {id} of {token}, as a number"))
            }
        };
        let (more, sign) =
            if after > before { (after - before, '+') } else { (before - after, '-') };
        lines.push(format!("  {words}: {before} -> {after} ({sign}{more})"));
        let mut row = named;
        if let Value::Object(fields) = &mut row {
            fields.insert("before".into(), json!(before.to_string()));
            fields.insert("after".into(), json!(after.to_string()));
        }
        rows.push(row);
    }
    lines.extend(notes.iter().map(|note| format!("  note: {note}")));
    let json = json!({
        "allowed": true,
        "code": null,
        "enforcer": null,
        "reason": null,
        "gas": gas,
        "dataFee": data_fee.to_string(),
        "block": block.number,
        "blockHash": block.hash,
        "changes": rows,
        "notes": notes,
    });
    Answer::yes(json, lines.join("\n"))
}

/// The redemption the arguments describe.
pub(crate) fn redemption(call: &CallArgs) -> Result<Redemption, Failure> {
    if let Some(file) = &call.grants {
        let mut grants = input::grants(file)?.into_iter();
        let (context, calls) = grants.next().context("no grant").or_use()?;
        let first = match calls.as_slice() {
            [only] => Redemption::single(call.manager, context, only),
            several => Redemption::batch(call.manager, context, several),
        };
        return Ok(grants.fold(first, |all, (context, calls)| match calls.as_slice() {
            [only] => all.and_single(context, only),
            several => all.and_batch(context, several),
        }));
    }
    let context = call.context.as_deref().context("neither --context nor --grants").or_use()?;
    let context = input::context(context)?;
    if let Some(file) = &call.calls {
        return Ok(Redemption::of(call.manager, context, &input::calls(file)?));
    }
    let target = call.target.context("neither --target nor --calls").or_use()?;
    let execution = Execution { target, value: call.value, data: call.data.clone() };
    Ok(Redemption::single(call.manager, context, &execution))
}

/// A refusal, for programs and for people.
pub(crate) fn refused(denial: &Denial) -> Result<Answer, Failure> {
    let json = serde_json::to_value(denial)?;
    let by = denial.enforcer_name.as_deref().map(|name| format!(" by {name}")).unwrap_or_default();
    let hint = match denial.code {
        DenialCode::FeeCeiling => Some("--fee-ceiling says how much it may"),
        DenialCode::NoGas => Some(
            "send it coins, or redeem through --bundler URL, where its deposit at the entry point pays",
        ),
        _ => None,
    };
    let words = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    let answer = Answer::no(json, format!("refused{by}: {denial}{words}"));
    Ok(answer.with("allowed", false).with("changes", json!([])).with("next", hint))
}
