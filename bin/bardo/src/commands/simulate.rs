use crate::{
    answer::{Answer, Failure},
    cli::{CallArgs, SimulateArgs},
    input,
};
use anyhow::anyhow;
use golem_chain::Node;
use golem_custody::{BoxError, Denial, DryRun, Execution, Outcome, Redemption};
use serde_json::{Value, json};

/// `bardo delegation simulate`
pub(crate) async fn simulate(args: &SimulateArgs) -> Result<Answer, Failure> {
    let redemption = redemption(&args.call)?;
    let redeemer = args.redeemer.unwrap_or(redemption.context().leaf().delegate);
    let node = Node::connect(&args.call.rpc).await?;
    Ok(match node.dry_run(&redemption, redeemer).await.map_err(fault)? {
        Outcome::Allowed(preview) => Answer::yes(
            json!({
                "allowed": true,
                "gas": preview.gas,
                "block": preview.block.number,
                "blockHash": preview.block.hash,
            }),
            format!("allowed: about {} gas, judged on block {}", preview.gas, preview.block.number),
        ),
        Outcome::Refused(denial) => refused(&denial)?,
    })
}

/// The redemption the arguments describe.
pub(crate) fn redemption(call: &CallArgs) -> Result<Redemption, Failure> {
    let context = input::context(&call.context)?;
    let execution = Execution { target: call.target, value: call.value, data: call.data.clone() };
    Ok(Redemption::single(call.manager, context, &execution))
}

/// A refusal, for programs and for people.
pub(crate) fn refused(denial: &Denial) -> Result<Answer, Failure> {
    let mut json = serde_json::to_value(denial)?;
    if let Value::Object(fields) = &mut json {
        fields.insert("allowed".into(), Value::Bool(false));
    }
    let by = denial.enforcer_name.as_deref().map(|name| format!(" by {name}")).unwrap_or_default();
    Ok(Answer::no(json, format!("refused{by}: {denial}")))
}

/// An adapter's error, with its causes.
pub(crate) fn fault(error: BoxError) -> Failure {
    Failure::Fault(anyhow!(error))
}
