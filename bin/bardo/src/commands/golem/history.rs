use super::{archive, moment};
use crate::{
    answer::{Answer, Failure},
    cli::HistoryArgs,
    prose::dollars,
};
use alloy::primitives::{U256, utils::format_ether};
use golem_chain::printable;
use golem_runtime::{GolemEvent, Told};
use serde_json::{Value, json};

/// `bardo golem history`
pub(super) fn history(args: &HistoryArgs) -> Result<Answer, Failure> {
    let archive = archive(&args.data)?;
    let length = archive.length()?;
    let after = args.after.unwrap_or_else(|| length.saturating_sub(args.limit.into()));
    let records = archive.records_after(after, args.limit)?;
    let told: Vec<Told> = records.iter().map(Told::of).collect();
    let lines: Vec<String> = told
        .iter()
        .map(|one| format!("{:>6}  {}  {}", one.sequence, moment(one.at), words(&one.event)))
        .collect();
    let text = if lines.is_empty() { "nothing happened".to_owned() } else { lines.join("\n") };
    let json = json!({ "golem": archive.golem()?, "records": length, "events": told });
    Ok(Answer::yes(json, text))
}

/// An event as a sentence. What others wrote is shown as what it is.
pub(super) fn words(event: &GolemEvent) -> String {
    let money = |micro: u64| dollars(U256::from(micro));
    match event {
        GolemEvent::Tick { number, phase, score, .. } => {
            format!("tick {number}: {phase:?}, {score} of 10000")
        }
        GolemEvent::PhaseChanged { from, to, .. } => format!("from {from:?} to {to:?}"),
        GolemEvent::VitalityReported { phase, score } => {
            format!("the registry was told: {phase:?}, {score} of 10000")
        }
        GolemEvent::MoodChanged { pleasure, arousal, dominance } => {
            format!("it feels {pleasure} {arousal} {dominance}")
        }
        GolemEvent::DreamBegan { until } => format!("it dreams until {}", moment(*until)),
        GolemEvent::DreamEnded { .. } => "it woke".to_owned(),
        GolemEvent::HeartbeatAnomaly { missed } => format!("{missed} ticks did not come"),
        GolemEvent::IntentProposed { what, .. } => format!("it wants: {}", printable(what)),
        GolemEvent::IntentRefused { code, reason, .. } => {
            format!("refused: {code}: {}", printable(reason))
        }
        GolemEvent::IntentReserved { micro_dollars, .. } => {
            format!("{} set aside", money(*micro_dollars))
        }
        GolemEvent::OperationSigned { op_hash, .. } => format!("signed: {op_hash}"),
        GolemEvent::IntentDone { hash, block, .. } => format!("done in block {block}: {hash}"),
        GolemEvent::IntentFailed { code, block, .. } => format!("failed in block {block}: {code}"),
        GolemEvent::IntentAbandoned { why, .. } => format!("given up: {}", printable(why)),
        GolemEvent::RunwayRedeemed { redeemed, remaining, .. } => {
            format!(
                "running costs: {} paid, {} left of the day",
                money(*redeemed),
                money(*remaining)
            )
        }
        GolemEvent::Fed { phase, .. } => format!("its owner fed it: {phase:?} again"),
        GolemEvent::DeathReserveShort { needed, balance } => format!(
            "its key has {} coins, and its death costs {}: it does only what that needs",
            format_ether(*balance),
            format_ether(*needed)
        ),
        GolemEvent::DeathReserveRestored { needed, balance } => format!(
            "its key has {} coins, and can pay for its death again, which costs {}",
            format_ether(*balance),
            format_ether(*needed)
        ),
        GolemEvent::DelegationGranted { delegate, .. } => format!("its owner granted {delegate}"),
        GolemEvent::RotationTriggered { new_address, reason, .. } => {
            format!("{new_address} is to follow its key ({reason:?}): its owner is asked")
        }
        GolemEvent::SessionKeyRotated { old_address, new_address, .. } => {
            format!("{new_address} is in the place of {old_address}, which is wiped")
        }
        GolemEvent::GrantEnded { block, why, .. } => {
            format!("its grant is over in block {block}: {}", printable(why))
        }
        GolemEvent::PolicyFollowed { version, .. } => {
            format!("its owner published another policy, version {version}")
        }
        GolemEvent::ObservingBegan { why } => format!("it looks on: {why:?}"),
        GolemEvent::ActingBegan { signer } => format!("it acts by {signer}"),
        GolemEvent::GolemSummoned { owner, .. } => format!("it lives: {owner} is its owner"),
        GolemEvent::CustodyModeFixed { mode, .. } => format!("its mode is {mode:?}, for life"),
        GolemEvent::DeathProtocolStarted { trigger, .. } => format!("it dies: {trigger:?}"),
        GolemEvent::DeathCompleted { lifetime_ticks, .. } => {
            format!("it is dead, after {lifetime_ticks} ticks")
        }
        other => plainly(other),
    }
}

/// Its kind, and its fields as they are.
fn plainly(event: &GolemEvent) -> String {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(event) else {
        return event.kind().name.to_owned();
    };
    fields.remove("kind");
    let said: Vec<String> = fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
    printable(format!("{} {}", event.kind().name, said.join(", ")).trim()).clone()
}
