use crate::{
    answer::{Answer, Failure, OrUse},
    cli::GrantStatusArgs,
    input::{self, Age},
    prose::{paragraphs, wrapped},
};
use alloy::primitives::U256;
use golem_chain::{Observation, environment, observe};
use golem_delegation::{
    PermissionContext, Rule, SpendWindow, State,
    blast_radius::{BlastRadius, Date, Dollars, Observed},
    terms::GolemCharter,
};
use serde_json::{Value, json};

/// `bardo delegation status`: what the chain says of a grant now.
pub(crate) async fn status(args: &GrantStatusArgs) -> Result<Answer, Failure> {
    let chain = input::context(&args.context)?;
    let node = args.node.connect().await?;
    node.require("DelegationManager", args.manager).await?;
    let Observation { block, facts } = observe(&node, args.manager, &chain, &args.tokens).await?;
    let radius = BlastRadius::of(&chain, &environment(), block.timestamp, &facts).or_use()?;
    let state = radius.ended.as_ref().map_or(State::Active, |ended| ended.state());
    let cause = radius.ended.as_ref().map(ToString::to_string);
    let lines = budgets(&chain, &facts, block.timestamp);

    let mut text = match &cause {
        Some(cause) => format!("{state}: {cause}\n"),
        None => format!("{state}\n"),
    };
    text.push_str(&format!("as of block {}, {}\n", block.number, Date(block.timestamp)));
    let age = Age::of(&node, block.timestamp)?;
    if let Some(warning) = age.warning() {
        text.push_str(&format!("{warning}\n"));
    }
    match radius.until {
        Some(until) => text.push_str(&format!("until {}\n", Date(until))),
        None => text.push_str("without an end\n"),
    }
    for line in &lines {
        text.push_str(&format!("{}\n", line.words));
    }
    if state == State::Active {
        text.push_str(&format!("{}\n", wrapped(&radius.to_string(), "").join("\n")));
    }
    let links: Vec<Value> = chain
        .links()
        .iter()
        .map(|link| {
            let hash = link.hash();
            json!({ "delegation": hash, "disabled": facts.disabled.contains(&hash.0) })
        })
        .collect();
    let json = json!({
        "state": name(state),
        "cause": cause,
        "block": { "number": block.number, "hash": block.hash, "timestamp": block.timestamp, "ageSeconds": age.seconds },
        "until": radius.until,
        "links": links,
        "limits": lines.iter().map(|line| &line.json).collect::<Vec<_>>(),
        "blastRadius": {
            "total": radius.total().map(|total| total.to_string()),
            "sentence": radius.to_string(),
        },
    });
    let text = paragraphs(&text);
    Ok(if state == State::Active { Answer::yes(json, text) } else { Answer::no(json, text) })
}

/// For programs.
const fn name(state: State) -> &'static str {
    match state {
        State::Active => "active",
        State::RevokedByOwner => "revokedByOwner",
        State::Expired => "expired",
        State::Exhausted => "exhausted",
        _ => "unknown",
    }
}

/// What of a limit is used.
struct Limit {
    words: String,
    json: Value,
}

/// What was spent, called and paid, beside what may be (SPEC G11).
fn budgets(chain: &PermissionContext, facts: &Observed, now: u64) -> Vec<Limit> {
    let environment = environment();
    let mut all = Vec::new();
    for link in chain.links() {
        let hash = link.hash();
        for caveat in &link.caveats {
            let count = facts.counters.get(&(hash.0, caveat.enforcer)).copied();
            match environment.read(caveat) {
                Ok(Rule::GolemCharter(charter)) => {
                    let known = facts.charters.get(&(link.delegator, charter.golem_id));
                    let word = known.and_then(|known| known.spend_window);
                    all.push(spent(&charter, word, now));
                }
                Ok(Rule::LimitedCalls(limit)) => all.push(counted("calls", count, limit.0)),
                Ok(Rule::ReplicantBudget(budget)) => {
                    let most = U256::from(budget.budget);
                    all.push(counted("micro-dollars of its life's budget", count, most));
                }
                Ok(Rule::Erc20TransferAmount(rule)) => {
                    let what = format!("base units of {}", rule.token_address);
                    all.push(counted(&what, count, rule.max_amount));
                }
                Ok(Rule::Erc20PeriodTransfer(rule)) => {
                    let what = format!("base units of {} in this period", rule.token_address);
                    all.push(counted(&what, count, rule.period_amount));
                }
                Ok(Rule::NativeTokenPeriodTransfer(rule)) => {
                    all.push(counted("wei in this period", count, rule.period_amount));
                }
                _ => {}
            }
        }
    }
    all
}

/// The charter's window: what counts now, of the cap.
fn spent(charter: &GolemCharter, word: Option<U256>, now: u64) -> Limit {
    let window = word.map(SpendWindow::from_word);
    let spent = window.and_then(|window| window.spent(now).ok());
    let cap = U256::from(charter.spend_cap);
    let shown =
        spent.map_or_else(|| "?".to_owned(), |spent| Dollars(U256::from(spent)).to_string());
    Limit {
        words: format!("spent {shown} of {} of late, by Golem {}", Dollars(cap), charter.golem_id),
        json: json!({
            "kind": "spend",
            "golemId": charter.golem_id,
            "used": spent.map(|spent| spent.to_string()),
            "most": cap.to_string(),
        }),
    }
}

fn counted(what: &str, used: Option<U256>, most: U256) -> Limit {
    let shown = used.map_or_else(|| "?".to_owned(), |used| used.to_string());
    Limit {
        words: format!("used {shown} of {most} {what}"),
        json: json!({
            "kind": what,
            "used": used.map(|used| used.to_string()),
            "most": most.to_string(),
        }),
    }
}
