use crate::{
    answer::{Answer, Failure, OrUse},
    cli::BlastRadiusArgs,
    input::{self, Age},
    prose::{self, DOLLARS, wrapped},
};
use alloy::primitives::U256;
use golem_chain::{Node, environment, observe};
use golem_delegation::blast_radius::{Asset, BlastRadius, Date, Day};
use serde_json::{Value, json};

/// Columns of the longest bar.
const BAR: u8 = 40;
/// Lines of the chart; longer times are shown by fewer days.
const LINES: usize = 31;
/// A cell's eighths, from the left.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// `bardo delegation blast-radius`
pub(crate) async fn blast_radius(args: &BlastRadiusArgs) -> Result<Answer, Failure> {
    let chain = input::context(&args.file)?;
    let (facts, now, read) = match &args.rpc {
        Some(url) => {
            let node = Node::connect(url).await?;
            node.require("DelegationManager", args.manager).await?;
            let seen = observe(&node, args.manager, &chain, &[]).await?;
            let age = Age::of(&node, seen.block.timestamp)?;
            (seen.facts, seen.block.timestamp, Some((seen.block, age)))
        }
        None => {
            let facts = args.facts.as_deref().map(input::facts).transpose()?;
            (facts.unwrap_or_default(), args.now.map_or_else(input::now, Ok)?, None)
        }
    };
    let radius = BlastRadius::of(&chain, &environment(), now, &facts).or_use()?;
    let (json, mut text) = (for_programs(&radius)?, for_people(&radius));
    let Some((block, age)) = read else { return Ok(Answer::yes(json, text)) };
    text.push_str(&format!("\n\nAs of block {}, {}", block.number, Date(block.timestamp)));
    if let Some(warning) = age.warning() {
        text.push_str(&format!("\n{warning}"));
    }
    let (number, hash, seconds) = (block.number, block.hash, age.seconds);
    let block = json!({ "number": number, "hash": hash, "timestamp": block.timestamp, "ageSeconds": seconds });
    Ok(Answer::yes(json, text).with("block", block))
}

fn for_programs(radius: &BlastRadius) -> Result<Value, Failure> {
    let mut json = serde_json::to_value(radius)?;
    let points = radius.series().into_iter().map(|point| {
        let dollars = point.micro_dollars.map(|value| value.to_string());
        json!({ "at": point.at.to_string(), "microDollars": dollars })
    });
    let total = radius.total();
    let said = [
        ("sentence", json!(radius.to_string())),
        ("bounded", json!(total.is_some())),
        ("total", json!(total.map(|total| total.to_string()))),
        ("known", json!(radius.causes.known().to_string())),
        ("series", Value::Array(points.collect())),
    ];
    if let Some(object) = json.as_object_mut() {
        object.extend(said.map(|(name, value)| (name.to_owned(), value)));
    }
    Ok(json)
}

fn for_people(radius: &BlastRadius) -> String {
    let mut lines = wrapped(&radius.to_string(), "");
    lines.push(String::new());
    lines.push("By asset, the most of each (they do not add up):".to_owned());
    lines.extend(radius.assets.iter().map(asset));
    lines.push(String::new());
    if radius.days.iter().any(|day| day.cumulative.is_some()) {
        lines.push("By the end of each day, all that was taken so far:".to_owned());
        lines.extend(chart(&radius.days));
    } else {
        lines.extend(wrapped("By day nothing can be told: see what is not known above.", ""));
    }
    lines.push(String::new());
    lines.push("Taken for granted:".to_owned());
    for assumption in &radius.assumptions {
        lines.extend(wrapped(&assumption.to_string(), "- "));
    }
    lines.join("\n")
}

fn asset(asset: &Asset) -> String {
    let name =
        if asset.token.is_zero() { "the chain's coin".to_owned() } else { asset.token.to_string() };
    let amount = asset.amount.map_or_else(|| "not known".to_owned(), |amount| short(&amount));
    format!("{name:<42} {:>DOLLARS$} {amount:>20}", dollars(asset.micro_dollars))
}

/// Base units; of more digits than have room, how many there are.
fn short(amount: &U256) -> String {
    let digits = amount.to_string();
    if digits.len() <= 20 { digits } else { format!("{} digits", digits.len()) }
}

fn dollars(value: Option<U256>) -> String {
    value.map_or_else(|| "not known".to_owned(), prose::dollars)
}

/// A bar for each day, or for as many of them as there are lines; the last is always there.
fn chart(days: &[Day]) -> Vec<String> {
    let step = days.len().div_ceil(LINES).max(1);
    let most = days.iter().filter_map(|day| day.cumulative).max().unwrap_or_default();
    let last = days.len().saturating_sub(1);
    days.iter()
        .enumerate()
        .filter(|(at, _)| at % step == 0 || *at == last)
        .map(|(_, day)| {
            let bar = day.cumulative.map_or_else(|| "?".to_owned(), |value| bar(value, most));
            format!("{} {:>DOLLARS$} {bar}", Date(day.start), dollars(day.cumulative))
        })
        .collect()
}

/// As long as the value is beside the most.
fn bar(value: U256, most: U256) -> String {
    let cells = U256::from(BAR) * U256::from(8);
    let eighths = value.saturating_mul(cells).checked_div(most).unwrap_or_default();
    let eighths = usize::try_from(eighths).unwrap_or_default();
    let [.., full] = EIGHTHS;
    let rest = (eighths % 8).checked_sub(1).and_then(|at| EIGHTHS.get(at));
    std::iter::repeat_n(full, eighths / 8).chain(rest.copied()).collect()
}
