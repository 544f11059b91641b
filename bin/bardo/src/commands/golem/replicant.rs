//! A Replicant's process: `bardo golem run --replicant`, as its parent's process starts it.
//!
//! ```text
//! parent                                          child
//! {"introduce": …} ──────────────── stdin ──────► a key is born
//!                  ◄─────────────── stdout ────── {"introduced": …}
//! {"inherit": …}   ──────────────── stdin ──────► wakes, and acts within both links
//! {"stop": true}   ──────────────── stdin ──────► stops between two ticks
//! ```
//!
//! Whoever runs it needs nobody for what it may do: that is in its two links, and the chain judges them. Without its parent's process it
//! goes on within its bounds, until the chain does not take that one's silence any more. That its parent's death is accepted it reads in
//! that one's books, and ends: nobody has to be there to tell it.

use super::{
    archive, moment,
    nursling::Nursling,
    refused,
    run::{STOPPED, Signals, lane, ledger},
    voice::{Voice, chain, told},
};
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::RunArgs,
    commands::onboard::folder::{CONSTITUTION, GolemFile, HEARTBEAT, STRATEGY},
    input,
    prose::dollars,
};
use alloy::primitives::U256;
use anyhow::{Context as _, anyhow};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::{Store, StoreConfig};
use golem_chain::{Heads, Node, environment, watch};
use golem_custody::{Introduction, Keyring as _, Keys, Password, redact};
use golem_delegation::{PermissionContext, Rule};
use golem_runtime::{
    Clock, Glance, Inheritance, Introduced, Rearing, Replicant, Rhythm, Stirred, Strategist,
    Strategy,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{io::BufRead as _, path::Path, sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    time::sleep,
};

/// What a parent says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Word {
    Introduce(Introduction),
    Inherit(Box<Inheritance>),
    Stop(bool),
}

/// What a child answers, before it wakes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answered {
    pub(super) introduced: Introduced,
}

/// Why a grant is of no use.
const KEYLESS: &str = "its key ended with its process, and its grant is for no other key";
/// Why it is over with its parent.
const BEREAVED: &str = "its parent dies";
/// How often its parent's books are looked at.
const LOOKS: Duration = Duration::from_millis(500);
/// How often gas money is looked for, and a chain asked again.
const NEAR: Duration = Duration::from_millis(100);
const FAR: Duration = Duration::from_secs(5);
/// Faults in a row after which one that has no parent's process any more gives up.
const ENOUGH: u32 = 20;

/// Its parent's words; none once that process is gone.
struct Parent(UnboundedReceiver<Word>);

impl Parent {
    /// Reads on a thread of its own, that ends with the process.
    fn listening() -> Self {
        let (tell, heard) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines().map_while(Result::ok) {
                let Ok(word) = serde_json::from_str(&line) else { continue };
                if tell.send(word).is_err() {
                    return;
                }
            }
        });
        Self(heard)
    }

    /// Until it wants this one to stop. A parent that is gone wants nothing.
    async fn stops(&mut self) {
        loop {
            match self.0.recv().await {
                Some(Word::Stop(true)) => return,
                Some(_) => {}
                None => std::future::pending().await,
            }
        }
    }

    fn is_gone(&self) -> bool {
        self.0.is_closed() && self.0.is_empty()
    }
}

/// `bardo golem run --replicant`
pub(super) async fn run(
    args: &RunArgs,
    voice: Voice,
    mut signals: Signals,
) -> Result<Answer, Failure> {
    let nursling = Nursling::at(&args.data).ok_or_else(|| {
        Failure::Use(anyhow!(
            "{} is no Replicant's folder: `bardo golem replicate` makes one",
            args.data.display()
        ))
    })?;
    let home = nursling.parent().context("no parent's folder")?.to_owned();
    let file = GolemFile::of(&home)?.with_context(|| format!("{} is no Golem's", home.display()));
    let file = file.or_use()?;
    // Before a key is born for it.
    let ledger = ledger(&home, &file)?;
    let node = input::privately(Node::connect(&args.rpc).await?, None).await?;
    let clock = Clock::of(&node, || crate::input::now().unwrap_or_default()).await?;
    if is_bereaved(&home)? {
        return Ok(refused("ran", &format!("{BEREAVED}: it can do nothing any more")));
    }
    let kept = nursling.inheritance()?;
    if let Some(given) = &kept {
        // Before a key is born for it.
        if let Some(why) = Replicant::is_over(&node, given).await? {
            return Ok(refused("ran", &format!("{why}: it can do nothing any more")));
        }
        if !nursling.has_key_file() || args.password_file.is_none() {
            return Ok(refused("ran", KEYLESS));
        }
    }
    let password = args.password_file.as_deref().map(Password::from_file).transpose().or_use()?;
    let keys = match (password, &kept) {
        // One that was made has its key, and gets no other.
        (Some(password), Some(_)) => Keys::open(&args.data, password).or_use()?,
        (Some(password), None) => Keys::local(&args.data, password).or_use()?,
        (None, _) => Keys::hosted(),
    };
    let mut parent = Parent::listening();
    let inheritance = match kept {
        Some(kept) => kept,
        None => match inherits(&mut parent, &keys).await? {
            Some(given) => given,
            None => return Ok(refused("ran", "its parent's process gave it nothing")),
        },
    };
    let context = PermissionContext::decode(&inheritance.context)?;
    if keys.current().await != Some(context.leaf().delegate) {
        return Ok(refused("ran", KEYLESS));
    }
    let rhythm: Rhythm = HEARTBEAT.text(&args.data)?.parse().or_use()?;
    let strategist = strategist(&STRATEGY.text(&args.data)?, &context)?;
    let config =
        StoreConfig { folder: args.data.clone(), golem: inheritance.replicant, max_pages: None };
    let life = file.life.clone().unwrap_or_default();
    let store = Arc::new(Store::open(&config, ledger.as_ref())?);
    let rearing = Rearing {
        node: node.clone(),
        store: Arc::clone(&store),
        keys,
        inheritance,
        constitution: CONSTITUTION.kept(&home)?,
        strategist,
        owner_day: life.owner_day,
        lane: lane(&node, args.fee_ceiling)?,
        clock: clock.port(),
    };
    let woken = tokio::select! {
        () = signals.either() => return Ok(stopped(0)),
        woken = Replicant::wake(rearing) => woken?,
    };
    let replicant = match woken {
        Ok(replicant) => replicant,
        Err(denial) => return Ok(refused("ran", &denial.to_string())),
    };
    let json = json!({
        "awake": replicant.id(), "key": replicant.key(), "budget": replicant.budget(),
        "until": replicant.not_after(), "process": std::process::id(),
    });
    voice.say(
        &json,
        &format!("replicant={} is awake and acts by {}", replicant.id(), replicant.key()),
    );
    lives(replicant, (&node, &store), &clock, &rhythm, (&home, parent, signals), voice).await
}

/// Whether its parent's death is accepted, as that one's books have it.
fn is_bereaved(home: &Path) -> Result<bool, Failure> {
    Ok(Glance::accepted_death(&archive(home)?)?)
}

/// Returns once it is. Books that cannot be read are the next tick's to tell of.
async fn bereaved(home: &Path) {
    while !is_bereaved(home).unwrap_or(false) {
        sleep(LOOKS).await;
    }
}

/// Says who it is, and gets what it is given; none where nobody gives it anything.
async fn inherits(parent: &mut Parent, keys: &Keys) -> Result<Option<Inheritance>, Failure> {
    loop {
        match parent.0.recv().await {
            Some(Word::Introduce(asked)) => {
                let introduced = Replicant::introduces(keys, asked).await?;
                let said = serde_json::to_value(&Answered { introduced })?;
                Voice { json: true }.say(&said, "");
            }
            Some(Word::Inherit(given)) => return Ok(Some(*given)),
            Some(Word::Stop(_)) | None => return Ok(None),
        }
    }
}

/// Who does what its task says, by what its own link lists.
fn strategist(text: &str, context: &PermissionContext) -> Result<Arc<dyn Strategist>, Failure> {
    let rules = environment().rules(&context.leaf().caveats)?;
    let charter = rules.into_iter().find_map(|rule| match rule {
        Rule::GolemCharter(charter) => Some(*charter),
        _ => None,
    });
    let charter = charter.context("its grant has no charter")?;
    Ok(match Strategy::read(text, &charter).or_use()? {
        Strategy::Dca(dca) => Arc::new(dca),
        Strategy::Rebalance(rebalance) => Arc::new(rebalance),
        _ => return Err(Failure::Use(anyhow!("STRATEGY.md says nothing that it is to do"))),
    })
}

fn stopped(ticks: u64) -> Answer {
    let words = format!("stopped after tick {ticks}; its parent starts it again");
    Answer::yes(json!({ "ended": "stopped", "ticks": ticks }), words)
}

/// Ticks when a tick is due, and at once when a block ends what it may do, until that is over or somebody stops it.
async fn lives(
    mut replicant: Replicant,
    (node, store): (&Node, &Store),
    clock: &Clock,
    rhythm: &Rhythm,
    (home, mut parent, mut signals): (&Path, Parent, Signals),
    voice: Voice,
) -> Result<Answer, Failure> {
    let pause = if node.is_near() { NEAR } else { FAR };
    let (mut faults, mut hungry, mut lived) = (0, false, false);
    loop {
        match is_bereaved(home) {
            Ok(false) => {}
            Ok(true) => return ended(&replicant, BEREAVED, lived, voice).await,
            // Nothing is done while nobody knows (INV-4); its key may be in no file, and is not given up for that.
            Err(failure) => {
                let words = redact(&failure.why().to_string()).to_string();
                voice.say(&json!({ "fault": words }), &format!("fault: {words}"));
                tokio::select! {
                    biased;
                    () = signals.either() => return Ok(stopped(replicant.ticks())),
                    () = parent.stops() => return Ok(stopped(replicant.ticks())),
                    () = sleep(FAR) => {}
                }
                continue;
            }
        }
        // A key without gas money does nothing; that its time is over is seen all the same.
        let poor = node.balance(replicant.key()).await.is_ok_and(|has| has.is_zero());
        let waits = poor && clock.now() <= replicant.not_after();
        let mut due = clock.now();
        let mut watched = false;
        if waits {
            if !hungry {
                let words = "it has no gas money: `bardo golem replicate` with its name pays some";
                voice.say(&json!({ "waits": words, "key": replicant.key() }), words);
            }
            hungry = true;
        } else {
            match replicant.tick().await {
                Ok(stirred) => {
                    (faults, watched) = (0, true);
                    // From when it began: a clock that moved on meanwhile costs no tick.
                    due = due.saturating_add(rhythm.every.max(1));
                    let over = stirred.over(&replicant);
                    says(voice, &replicant, &stirred, due);
                    if let Some(why) = over {
                        return ended(&replicant, &why, lived, voice).await;
                    }
                    lived = true;
                }
                Err(error) => {
                    faults += 1;
                    let words = redact(&chain(&error)).to_string();
                    voice.say(&json!({ "fault": words }), &format!("fault: {words}"));
                    if store.has_stopped() {
                        return Err(Failure::Fault(anyhow!(STOPPED)));
                    }
                    if faults >= ENOUGH && parent.is_gone() {
                        return Err(Failure::Fault(anyhow!(
                            "the chain does not answer, and nobody is there to tell: it gives up"
                        )));
                    }
                }
            }
        }
        let last = replicant.not_after().saturating_add(1);
        let mut heads = Heads::of(node.clone(), pause);
        let rests = async {
            if !watched {
                sleep(pause).await;
                return;
            }
            tokio::select! {
                () = clock.reaches(due.min(last.max(clock.now().saturating_add(1)))) => {}
                // What cannot be watched is seen with the next tick.
                over = watch(&mut heads, DELEGATION_MANAGER, replicant.context()) => {
                    if over.is_err() {
                        tokio::select! {
                            () = clock.reaches(due) => {}
                            // Gone for good, perhaps, and the clock with it: the next tick finds out.
                            () = unanswered(node, pause) => {}
                        }
                    }
                }
            }
        };
        tokio::select! {
            biased;
            () = signals.either() => return Ok(stopped(replicant.ticks())),
            () = bereaved(home) => {}
            () = parent.stops() => return Ok(stopped(replicant.ticks())),
            () = rests => {}
        }
    }
}

/// Returns once the chain did not answer many times in a row.
async fn unanswered(node: &Node, pause: Duration) {
    let mut faults = 0;
    while faults < ENOUGH {
        sleep(pause).await;
        faults = if node.header().await.is_ok() { 0 } else { faults + 1 };
    }
}

/// One line, or one object, of a tick.
fn says(voice: Voice, replicant: &Replicant, stirred: &Stirred, due: u64) {
    let (number, spent, budget) = (replicant.ticks(), stirred.spent, replicant.budget());
    let done: Vec<Value> = stirred
        .deeds
        .iter()
        .map(|(wish, outcome)| {
            let (how, why) = told(outcome);
            json!({ "wish": format!("{wish:?}"), "outcome": how, "why": redact(&why) })
        })
        .collect();
    let json = json!({
        "tick": number, "phase": format!("{:?}", stirred.phase), "deeds": done, "spent": spent,
        "budget": budget, "nextAt": due,
    });
    let money = |micro: u64| dollars(U256::from(micro));
    let mut line = format!("tick {number}  spent {} of {}", money(spent), money(budget));
    for (wish, outcome) in &stirred.deeds {
        let (how, why) = told(outcome);
        line.push_str(&format!("  {wish:?}: {how} {why}"));
    }
    line.push_str(&format!("  next {}", moment(due)));
    voice.say(&json, &line);
}

/// It is over. One that could do nothing from the beginning is refused.
async fn ended(
    replicant: &Replicant,
    why: &str,
    lived: bool,
    voice: Voice,
) -> Result<Answer, Failure> {
    let ticks = replicant.ticks();
    if let Err(error) = replicant.ends().await {
        let words = redact(&chain(&error)).to_string();
        voice.say(
            &json!({ "notSent": words }),
            &format!("its gas money stays where it is: {words}"),
        );
    }
    if !lived {
        return Ok(refused("ran", &format!("{why}: it can do nothing any more")));
    }
    let json = json!({ "ended": "over", "of": why, "ticks": ticks });
    Ok(Answer::yes(json, format!("it ended after tick {ticks}: {why}")))
}
