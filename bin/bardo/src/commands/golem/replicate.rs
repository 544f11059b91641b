use super::{
    estate::Estate,
    moment,
    nursling::{Letter, Nursling},
    refused,
    run::alone,
};
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::ReplicateArgs,
    commands::onboard::folder::{HEARTBEAT, STRATEGY},
    input,
    prose::{dollars, length},
};
use alloy::primitives::{Address, B256, Bytes, U256};
use anyhow::{Context as _, anyhow};
use golem_chain::{Account, Registry};
use golem_custody::Execution;
use golem_delegation::{PermissionContext, grant::Phase};
use golem_runtime::{Child, Inheritance, MOST_REPLICANTS, Strategy};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// Gas money for a child's key.
const STIPEND: U256 = U256::from_limbs([10_000_000_000_000_000, 0, 0, 0]);
/// How often it is looked whether its parent has answered.
const GLANCE: Duration = Duration::from_millis(100);
/// How long one that runs is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// `bardo golem replicate`: what an owner wants a child for, for his Golem to make; and gas money for its key.
pub(super) async fn replicate(args: &ReplicateArgs) -> Result<Answer, Failure> {
    if Nursling::at(&args.data).is_some() {
        let reason = "a Replicant has no children; nothing was written, signed or sent";
        return Ok(refused("replicated", reason));
    }
    let estate = match Estate::of("replicated", &args.data, &args.send, &args.key).await? {
        Ok(estate) => estate,
        Err(no) => return Ok(no),
    };
    let nursling = Nursling::of(&args.data, &args.name);
    let known = nursling.letter()?.filter(|_| nursling.no().is_ok_and(|no| no.is_none()));
    match (&known, wanted(args, &estate)?) {
        (Some(letter), Some((other, _))) if letter.budget != other.budget => {
            let reason = format!(
                "there is one by the name of {} already, with another budget; nothing was written, signed or sent",
                args.name
            );
            return Ok(refused("replicated", &reason));
        }
        (Some(_), _) => {}
        (None, None) => {
            return Err(Failure::Use(anyhow!(
                "there is none by the name of {}: say --task FILE, --budget DOLLARS and --for TIME",
                args.name
            )));
        }
        (None, Some((letter, task))) => {
            if let Some(reason) = forbidden(&estate, &letter).await? {
                let reason = format!("{reason}; nothing was written, signed or sent");
                return Ok(refused("replicated", &reason));
            }
            let rhythm = rhythm(args)?;
            let documents = [(STRATEGY.name, task.as_str()), (HEARTBEAT.name, rhythm.as_str())];
            nursling.wanted(&letter, &documents)?;
        }
    }
    let given = match answered(args, &estate, &nursling).await? {
        Answered::Given(given) => *given,
        Answered::No(reason) => {
            let reason = format!("its parent refused: {reason}; nothing was signed or sent");
            return Ok(refused("replicated", &reason));
        }
        Answered::Waits(why) => {
            let json = json!({
                "replicated": false, "waits": why, "golem": estate.glance.golem, "name": args.name,
            });
            let text = format!(
                "it is written down, and is made when its parent can: {why}\n\
                 Its gas money is paid by the same command once it is made."
            );
            // Written down is not made.
            return Ok(Answer::no(json, text));
        }
    };
    made(args, &estate, &nursling, &given).await
}

/// The letter, and the task, of what was asked for; none where nothing new was.
fn wanted(args: &ReplicateArgs, estate: &Estate) -> Result<Option<(Letter, String)>, Failure> {
    let (Some(task), Some(budget), Some(life)) = (&args.task, args.budget, args.life) else {
        return Ok(None);
    };
    let text = input::file(task)?;
    if matches!(Strategy::read(&text, &estate.charter).or_use()?, Strategy::Observe) {
        return Err(Failure::Use(anyhow!(
            "{} names no strategy: a child needs something to do",
            task.display()
        )));
    }
    let until = estate.now.saturating_add(life.as_secs());
    Ok(Some((Letter { budget, until, calls: args.calls }, text)))
}

/// Its own cadence; without dreams, since it sleeps when its parent does.
fn rhythm(args: &ReplicateArgs) -> Result<String, Failure> {
    let text = HEARTBEAT.text(&args.data)?;
    let rhythm: golem_runtime::Rhythm = text.parse().or_use()?;
    let every = args.every.map_or(rhythm.every, |every| every.as_secs()).max(1);
    Ok(format!("- every: {every}s\n- fastest: {every}s\n- slowest: {every}s\n"))
}

/// Why its parent would not make it. The parent and the chain judge it again.
async fn forbidden(estate: &Estate, letter: &Letter) -> Result<Option<String>, Failure> {
    let Estate { glance, charter, node, now, .. } = estate;
    let money = |micro: u64| dollars(U256::from(micro));
    let entry = Registry::open(node).await?.entry(glance.golem).await?;
    let Some(entry) = entry.filter(|entry| entry.state.registered && !entry.state.closed) else {
        return Ok(Some("its parent is dead, or not registered".to_owned()));
    };
    if glance.dying.is_some() {
        return Ok(Some("its parent dies, and has no children any more".to_owned()));
    }
    if entry.state.min_epoch > charter.epoch {
        return Ok(Some("its parent's grant is revoked".to_owned()));
    }
    if !charter.replicants {
        let words = "its parent's grant lets no child act: only a charter with `replicants` does";
        return Ok(Some(words.to_owned()));
    }
    let own = glance.life.as_ref().map_or(Phase::Thriving, |life| life.phase);
    let phase = entry.phase_within(charter.staleness.into()).max(own);
    if phase != Phase::Thriving {
        return Ok(Some(format!(
            "its parent is in {phase:?}: children are made in Thriving and in no other phase"
        )));
    }
    let living = glance.children.iter().filter(|child| child.lives()).count();
    if living >= MOST_REPLICANTS {
        return Ok(Some(format!("its parent has {living} children, and no more than that")));
    }
    if letter.budget == 0 {
        return Ok(Some("a budget of nothing buys nothing".to_owned()));
    }
    if letter.budget > charter.spend_cap {
        let (asked, most) = (money(letter.budget), money(charter.spend_cap));
        return Ok(Some(format!("{asked} are more than its parent's own budget of {most}")));
    }
    if letter.until > charter.window.end() {
        let (until, end) = (moment(letter.until), moment(charter.window.end()));
        return Ok(Some(format!(
            "until {until} it would outlive its parent, whose grant ends {end}"
        )));
    }
    if letter.until <= *now {
        return Ok(Some("its time would be over at once".to_owned()));
    }
    Ok(None)
}

enum Answered {
    Given(Box<Inheritance>),
    No(String),
    Waits(String),
}

/// What its parent's process says, for as long as that is there and awake.
async fn answered(
    args: &ReplicateArgs,
    estate: &Estate,
    nursling: &Nursling,
) -> Result<Answered, Failure> {
    let life = estate.glance.life.as_ref();
    let asleep = life.is_some_and(|life| life.dreaming || life.observing.is_some());
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(given) = nursling.inheritance()? {
            return Ok(Answered::Given(Box::new(given)));
        }
        if let Some(no) = nursling.no()? {
            return Ok(Answered::No(no.reason));
        }
        if alone(&args.data)?.is_some() {
            return Ok(Answered::Waits("it does not run: `bardo golem run`".to_owned()));
        }
        if asleep {
            return Ok(Answered::Waits("it sleeps, or has no grant for its key yet".to_owned()));
        }
        if Instant::now() >= until {
            return Ok(Answered::Waits("it has not answered yet".to_owned()));
        }
        sleep(GLANCE).await;
    }
}

/// It is there: gas money, where its key has less, and what it may do in plain words.
async fn made(
    args: &ReplicateArgs,
    estate: &Estate,
    nursling: &Nursling,
    given: &Inheritance,
) -> Result<Answer, Failure> {
    let context = PermissionContext::decode(&given.context)?;
    let (key, hash) = (context.leaf().delegate, context.leaf().hash());
    let archive = super::archive(&args.data)?;
    let glance = golem_runtime::Glance::of(&archive, estate.now)?;
    let child = nursling.among(&glance.children).context("its parent does not know it")?;
    let lives = child.lives();
    let transaction = if lives { fed(args, estate, key).await? } else { None };
    let letter = nursling.letter()?.context("its letter is gone")?;
    let json = json!({
        "replicated": lives, "golem": estate.glance.golem, "name": args.name,
        "replicant": given.replicant, "key": key, "budget": given.budget, "until": child.not_after,
        "calls": letter.calls, "delegationHash": hash, "context": context.links(),
        "state": child.upbringing, "transaction": transaction,
    });
    let text = words(args, estate, child, given.replicant, transaction);
    Ok(if lives { Answer::yes(json, text) } else { Answer::no(json, text) })
}

async fn fed(args: &ReplicateArgs, estate: &Estate, key: Address) -> Result<Option<B256>, Failure> {
    let stipend = args.stipend.unwrap_or(STIPEND);
    let has = estate.node.balance(key).await?;
    // What it used of it is not filled up by looking at it.
    if has >= stipend || (args.stipend.is_none() && !has.is_zero()) {
        return Ok(None);
    }
    let call = Execution { target: key, value: stipend - has, data: Bytes::new() };
    let account = Account::stateless_7702(estate.signer.address());
    let ceiling = args.send.ceiling(&estate.node)?;
    let receipts = account.act_within(&estate.node, &estate.signer, &[call], ceiling).await?;
    Ok(receipts.last().map(|receipt| receipt.transaction_hash))
}

fn words(
    args: &ReplicateArgs,
    estate: &Estate,
    child: &Child,
    id: B256,
    transaction: Option<B256>,
) -> String {
    let Estate { charter, now, .. } = estate;
    let money = |micro: u64| dollars(U256::from(micro));
    let left = length(child.not_after.saturating_sub(*now));
    let calls =
        child.errand.calls.map_or_else(String::new, |calls| format!(", {calls} times at most"));
    let mut lines = vec![
        format!("replicant {}  {id}", args.name),
        format!("key       {}", child.key),
        format!(
            "It may spend {} in its whole life{calls}, until {}: {left}.",
            money(child.errand.budget),
            moment(child.not_after)
        ),
        format!(
            "What it spends counts as its parent's, too: both together spend no more than {} in 24 hours.",
            money(charter.spend_cap)
        ),
        format!("It acts from {} and pays nobody else; it has no children.", charter.account),
        "It ends with its time, its budget, or its parent's grant.".to_owned(),
    ];
    if let golem_runtime::Upbringing::Ended { cause, at, spent } = &child.upbringing {
        lines.push(format!("It ended {}: {cause}; it spent {}.", moment(*at), money(*spent)));
    }
    lines.extend(transaction.map(|hash| format!("gas money: {hash}")));
    lines.join("\n")
}
