use crate::{
    answer::{Answer, Failure, OrUse},
    cli::GrantStatusArgs,
    input::{self, Age},
    prose::{paragraphs, wrapped},
};
use alloy::primitives::U256;
use golem_chain::{Observation, environment, observe, unusable};
use golem_custody::{Denial, DenialCode};
use golem_delegation::{
    PermissionContext, Rule, SpendWindow, State,
    blast_radius::{BlastRadius, Date, Dollars, Ended, Life},
    terms::{Class, GolemCharter},
};
use serde_json::{Value, json};

/// `bardo delegation status`: what the chain says of a grant now.
pub(crate) async fn status(args: &GrantStatusArgs) -> Result<Answer, Failure> {
    let chain = input::context(&args.context)?;
    let node = args.node.connect().await?;
    node.require("DelegationManager", args.manager).await?;
    let seen = observe(&node, args.manager, &chain, &args.tokens).await?;
    let Observation { block, facts, .. } = &seen;
    let now = block.timestamp;
    let life = Life::of(&chain, &environment(), now, facts).or_use()?;
    let radius = BlastRadius::of(&chain, &environment(), now, facts).or_use()?;
    let verdict = match life.ended {
        Some(ended) => Verdict::Ended(ended),
        None => {
            let early = || {
                let words = format!("it begins on {}", Date(life.from));
                (life.from > now).then(|| Denial::new(DenialCode::WindowEarly, words))
            };
            let denial = unusable(&node, args.manager, &chain, &seen).await?.or_else(early);
            denial.map_or(Verdict::Active, Verdict::Unusable)
        }
    };
    let (state, shown) = verdict.state();
    let cause = verdict.cause();
    let lines = budgets(&chain, &seen);

    let mut text = match &cause {
        Some(cause) => format!("{shown}: {cause}\n"),
        None => format!("{shown}\n"),
    };
    text.push_str(&format!("as of block {}, {}\n", block.number, Date(block.timestamp)));
    let age = Age::of(&node, block.timestamp)?;
    if let Some(warning) = age.warning() {
        text.push_str(&format!("{warning}\n"));
    }
    match life.until {
        Some(until) => text.push_str(&format!("until {}\n", Date(until))),
        None => text.push_str("without an end\n"),
    }
    for line in &lines {
        text.push_str(&format!("{}\n", line.words));
    }
    let takes = match &verdict {
        Verdict::Active => Some(String::new()),
        // A thief may need no grant: the key is the account's own, or was given a higher link.
        Verdict::Ended(_) => radius.ended.is_none().then(String::new),
        // What nobody signed is nobody's; anything else may become of use.
        Verdict::Unusable(denial) => (denial.code != DenialCode::Signature)
            .then(|| "If it becomes usable as it is: ".to_owned()),
    };
    if let Some(when) = takes {
        text.push_str(&format!("{}\n", wrapped(&format!("{when}{radius}"), "").join("\n")));
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
        "state": state,
        "cause": cause,
        "code": verdict.code(),
        "block": { "number": block.number, "hash": block.hash, "timestamp": block.timestamp, "ageSeconds": age.seconds },
        "until": life.until,
        "links": links,
        "limits": lines.iter().map(|line| &line.json).collect::<Vec<_>>(),
        "blastRadius": {
            "total": radius.total().map(|total| total.to_string()),
            "sentence": radius.to_string(),
        },
    });
    let text = paragraphs(&text);
    Ok(match verdict {
        Verdict::Active => Answer::yes(json, text),
        _ => Answer::no(json, text),
    })
}

/// What the chain says of a grant.
enum Verdict {
    /// Nothing is known against it.
    Active,
    /// It is over for ever.
    Ended(Ended),
    /// It never lived, or does not yet: whatever is asked for is refused.
    Unusable(Denial),
}

impl Verdict {
    /// For programs, and for people.
    fn state(&self) -> (&'static str, String) {
        let state = match self {
            Self::Active => State::Active,
            Self::Ended(ended) => ended.state(),
            Self::Unusable(_) => return ("unusable", "unusable".to_owned()),
        };
        let name = match state {
            State::Active => "active",
            State::RevokedByOwner => "revokedByOwner",
            State::Expired => "expired",
            State::Exhausted => "exhausted",
            _ => "unknown",
        };
        (name, state.to_string())
    }

    fn cause(&self) -> Option<String> {
        match self {
            Self::Active => None,
            Self::Ended(ended) => Some(ended.to_string()),
            Self::Unusable(denial) => Some(denial.to_string()),
        }
    }

    /// As `simulate` has it.
    const fn code(&self) -> Option<DenialCode> {
        match self {
            Self::Unusable(denial) => Some(denial.code),
            _ => None,
        }
    }
}

/// What of a limit is used.
struct Limit {
    words: String,
    json: Value,
}

/// What was spent, called and paid, beside what may be (SPEC G11).
fn budgets(chain: &PermissionContext, seen: &Observation) -> Vec<Limit> {
    let Observation { block, facts, entries } = seen;
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
                    all.push(spent(&charter, word, block.timestamp));
                    if charter.classes.contains(Class::GasTopUp) {
                        let word = known.and_then(|known| known.gas_window);
                        let gas = in_window(word, block.timestamp).map(U256::from);
                        let most = U256::from(charter.gas_daily_cap);
                        all.push(counted("gwei of gas money of late", gas, most));
                    }
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
                Ok(Rule::NativeTokenTransferAmount(most)) => {
                    all.push(counted("wei", count, most.0));
                }
                Ok(Rule::Erc20Streaming(rule)) => {
                    let what = format!("base units of {} in its stream", rule.token_address);
                    all.push(counted(&what, count, rule.max_amount));
                }
                Ok(Rule::NativeTokenStreaming(rule)) => {
                    all.push(counted("wei in its stream", count, rule.max_amount));
                }
                Ok(Rule::MultiTokenPeriod(list)) => {
                    for (place, entry) in list.0.iter().enumerate() {
                        let used = entries.get(&(hash.0, caveat.enforcer, place)).copied();
                        let what = if entry.token.is_zero() {
                            "wei in this period".to_owned()
                        } else {
                            format!("base units of {} in this period", entry.token)
                        };
                        all.push(counted(&what, used, entry.period_amount));
                    }
                }
                _ => {}
            }
        }
    }
    all
}

/// What counts now in a window.
fn in_window(word: Option<U256>, now: u64) -> Option<u128> {
    word.and_then(|word| SpendWindow::from_word(word).spent(now).ok())
}

/// The charter's window: what counts now, of the cap.
fn spent(charter: &GolemCharter, word: Option<U256>, now: u64) -> Limit {
    let spent = in_window(word, now);
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
