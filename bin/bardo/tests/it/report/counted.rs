//! What a page says, counted again from receipts, records and feeds, by code that knows nothing of the code that wrote it.

use super::{
    moments,
    page::{grouped, shown},
    witness::{All, Sent, Witness},
};
use alloy::{
    primitives::{Address, B256, U256, keccak256},
    providers::Provider as _,
    rpc::types::{Filter, TransactionReceipt},
    sol_types::SolEvent,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry, ReplicantBudgetEnforcer,
    defi::Erc20,
    framework::{DELEGATION_MANAGER, DelegationManager},
    golem_registry, replicant_budget_enforcer,
};
use bardo_store::{Record, Seal};
use golem_runtime::{DeathTrigger, GolemEvent};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// Every group of figures, and every sum of the first screen.
pub(crate) async fn all(life: &Witness, story: &Value) -> Result<()> {
    let Witness { records, seals, sent, .. } = life;
    identity(life, story);
    ticks(life, story, records).await?;
    caps(life, story)?;
    refusals(story, records)?;
    gas(life, story)?;
    sums(life, story)?;
    children(life, story).await?;
    moments::all(life, story).await?;
    moments::running_costs(life, story).await?;
    audit(life, story, records, seals).await?;
    death(life, story, records, sent).await?;
    timeline(life, story, records, sent).await
}

pub(super) fn rows<'a>(story: &'a Value, at: &str) -> Result<&'a Vec<Value>> {
    story.pointer(at).and_then(Value::as_array).with_context(|| format!("no {at}"))
}

/// Whose life it is, and with which keys: the registry knows them.
fn identity(life: &Witness, story: &Value) {
    let scene = &life.scene;
    assert_eq!(story["keys"], json!(life.keys), "every key, the first one first");
    assert_eq!((&story["golem"], &story["owner"]), (&json!(scene.golem), &json!(scene.owner)));
    assert_eq!(story["account"], json!(scene.account));
    let left = story["leftOut"].as_object().into_iter().flatten();
    assert_eq!(left.filter(|(_, count)| **count != 0).count(), 0, "{}", story["leftOut"]);
}

/// What each tick wrote down, and what it held by balances and feeds of its block.
async fn ticks(life: &Witness, story: &Value, records: &[Record]) -> Result<()> {
    let mut lives = Vec::new();
    for record in records.iter().filter(|record| record.kind == "step") {
        let body: Value = serde_json::from_str(&record.body)?;
        if body["name"] == "life" {
            lives.push((record.at, body["to"].clone()));
        }
    }
    let drawn = rows(story, "/ticks")?;
    assert_eq!(drawn.len(), lives.len());
    for (drawn, (at, lived)) in drawn.iter().zip(&lives) {
        assert_eq!(drawn["at"], json!(at));
        assert_eq!(drawn["number"], lived["ticks"]);
        for field in ["clocks", "mood", "phase", "dreaming", "worth"] {
            assert_eq!(drawn[field], lived[field], "{field} at {at}");
        }
        let clocks = drawn["clocks"].as_object().context("no clocks")?;
        let least = clocks.values().filter_map(Value::as_u64).min();
        assert_eq!((clocks.len(), drawn["vitality"].as_u64()), (3, least), "{drawn}");
        let block = drawn["block"].as_u64().context("no block")?;
        assert_eq!(drawn["worth"], json!(life.scene.worth_at(block).await?), "at {at}, on {block}");
    }
    Ok(())
}

/// What its owner wrote into the charter.
fn caps(life: &Witness, story: &Value) -> Result<()> {
    let charter: Value = serde_json::from_str(&fs::read_to_string(&life.scene.charter)?)?;
    let cap = json!(charter["spendCap"].as_str().context("no cap")?.parse::<u64>()?);
    assert_eq!(story["sums"]["cap"], cap);
    for moment in rows(story, "/moments")? {
        assert_eq!(moment["cap"], cap, "{moment}");
    }
    Ok(())
}

fn refusals(story: &Value, records: &[Record]) -> Result<()> {
    let mut all: BTreeMap<String, (u64, u64, u64, String)> = BTreeMap::new();
    for record in records {
        let event = GolemEvent::of_record(&record.kind, &record.body);
        if let GolemEvent::IntentRefused { code, reason, .. } = event {
            let row = all.entry(code).or_insert((0, record.at, 0, String::new()));
            (row.0, row.2, row.3) = (row.0 + 1, record.at, reason);
        }
    }
    let told = rows(story, "/refusals")?;
    assert_eq!(told.len(), all.len());
    for row in told {
        let (times, first, last, reason) = &all[row["code"].as_str().context("no code")?];
        assert_eq!((&row["times"], &row["reason"]), (&json!(times), &json!(reason)), "{row}");
        assert_eq!((&row["first"], &row["last"]), (&json!(first), &json!(last)), "{row}");
    }
    Ok(())
}

/// What left an account, and what came, in the order of the logs.
fn moved(receipt: &TransactionReceipt, account: Address) -> [Vec<(Address, U256)>; 2] {
    let mut moved = [Vec::new(), Vec::new()];
    for log in receipt.logs() {
        if let Ok(event) = Erc20::Transfer::decode_log(&log.inner) {
            if event.from == account && event.to != account {
                moved[0].push((log.address(), event.value));
            } else if event.to == account && event.from != account {
                moved[1].push((log.address(), event.value));
            }
        }
    }
    moved
}

/// What it did, by what it left behind: the first of these that is true.
fn action(life: &Witness, receipt: &TransactionReceipt) -> &'static str {
    let has = |hash: B256| receipt.logs().iter().any(|log| log.topic0() == Some(&hash));
    let back = receipt.logs().iter().any(|log| {
        GolemRegistry::PhaseChanged::decode_log(&log.inner).is_ok_and(|it| it.to < it.from)
    });
    let said = [
        (GolemRegistry::GolemDeregistered::SIGNATURE_HASH, "deregistration"),
        (GolemRegistry::GolemRegistered::SIGNATURE_HASH, "registration"),
        (GolemRegistry::GolemClosed::SIGNATURE_HASH, "death"),
        (GolemRegistry::AllRevoked::SIGNATURE_HASH, "revocation"),
        (GolemRegistry::GolemRevoked::SIGNATURE_HASH, "revocation"),
        (DelegationManager::DisabledDelegation::SIGNATURE_HASH, "revocation"),
        (GolemRegistry::AgentAttached::SIGNATURE_HASH, "key"),
        (GolemRegistry::HeartbeatRecorded::SIGNATURE_HASH, "anchor"),
        (GolemRegistry::PadUpdated::SIGNATURE_HASH, "mood"),
        (GolemRegistry::DreamingSet::SIGNATURE_HASH, "dream"),
        (GolemRegistry::VitalityUpdated::SIGNATURE_HASH, if back { "Feed" } else { "vitality" }),
        (GolemRegistry::PhaseChanged::SIGNATURE_HASH, if back { "Feed" } else { "phase" }),
    ];
    if let Some((_, name)) = said.into_iter().find(|(hash, _)| has(*hash)) {
        return name;
    }
    if !receipt.status() {
        return "failed";
    }
    let [out, came] = moved(receipt, life.scene.account);
    match (out.is_empty(), came.is_empty()) {
        (false, false) => "trade",
        (false, true) => "payment",
        (true, false) => "income",
        (true, true)
            if has(DelegationManager::RedeemedDelegation::SIGNATURE_HASH)
                && !moved(receipt, life.scene.owner)[0].is_empty() =>
        {
            "running costs"
        }
        (true, true) if has(Erc20::Approval::SIGNATURE_HASH) => "allowance",
        (true, true) if receipt.logs().iter().any(|it| it.address() == DELEGATION_MANAGER) => {
            "gas money"
        }
        (true, true) => "other",
    }
}

/// What each of them did, by whom.
fn deeds(life: &Witness) -> impl Iterator<Item = (&'static str, &'static str, &B256, &Sent)> {
    let of = |hash, one: &Sent| (life.by(hash, &one.receipt), action(life, &one.receipt));
    life.concerned().map(move |(hash, one)| {
        let (by, action) = of(hash, one);
        (by, action, hash, one)
    })
}

fn fee(one: &TransactionReceipt) -> U256 {
    U256::from(one.gas_used) * U256::from(one.effective_gas_price)
}

/// Every row, by the receipts of every block.
fn gas(life: &Witness, story: &Value) -> Result<()> {
    let mut all: BTreeMap<(&str, &str), Vec<&TransactionReceipt>> = BTreeMap::new();
    for (by, action, _, one) in deeds(life) {
        all.entry((by, action)).or_default().push(&one.receipt);
    }
    let told = rows(story, "/gas")?;
    let names =
        |row: &Value| Some((row["by"].as_str()?.to_owned(), row["action"].as_str()?.to_owned()));
    let rows: BTreeSet<_> = told.iter().filter_map(names).collect();
    let known = all.keys().map(|(by, action)| ((*by).to_owned(), (*action).to_owned())).collect();
    assert_eq!(rows, known);
    for row in told {
        let (by, action) = names(row).context("no names")?;
        let those = &all[&(by.as_str(), action.as_str())];
        let used = || those.iter().map(|one| one.gas_used);
        assert_eq!(row["times"], json!(those.len()), "{row}");
        assert_eq!(row["least"], json!(used().min()), "{row}");
        assert_eq!(row["most"], json!(used().max()), "{row}");
        assert_eq!(row["total"], json!(used().sum::<u64>()), "{row}");
        let fees: U256 = those.iter().map(|one| fee(one)).sum();
        assert_eq!(row["fees"], json!(fees.to_string()), "{row}");
    }
    Ok(())
}

/// What it all comes to.
fn sums(life: &Witness, story: &Value) -> Result<()> {
    let (mut aside, mut worth, mut refused, mut ticks) = (BTreeMap::new(), BTreeMap::new(), 0, 0);
    let (mut last, mut best) = (Value::Null, 0);
    for record in &life.records {
        match GolemEvent::of_record(&record.kind, &record.body) {
            GolemEvent::IntentReserved { intent, micro_dollars, .. } => {
                aside.insert(intent, micro_dollars);
            }
            GolemEvent::IntentDone { intent, hash, .. } => {
                worth.insert(hash, aside.get(&intent).copied().unwrap_or(0));
            }
            GolemEvent::IntentRefused { .. } => refused += 1,
            GolemEvent::Tick { .. } => ticks += 1,
            _ => {}
        }
        if record.kind == "step" {
            let body: Value = serde_json::from_str(&record.body)?;
            if body["name"] == "life" {
                last = body["to"].clone();
                best = best.max(last["worth"].as_u64().unwrap_or(0));
            }
        }
    }
    let own = || deeds(life).filter(|(by, _, _, one)| *by == "the Golem" && one.receipt.status());
    let trades = || own().filter(|(_, action, ..)| *action == "trade");
    let strange = deeds(life).filter(|(by, ..)| *by == "its key, not the Golem").count();
    let traded: u64 = trades().map(|(_, _, hash, _)| worth.get(hash).copied().unwrap_or(0)).sum();
    let receipts = || life.concerned().map(|(_, one)| &one.receipt);
    let fees: U256 = receipts().map(fee).sum();
    let born = last["born"].as_u64().context("no birth")?;
    let end = life.records.iter().map(|record| record.at).max().context("no record")?;
    for (name, expected) in [
        ("born", json!(born)),
        ("last", json!(end)),
        ("days", json!((end - born) / 86_400)),
        ("ticks", json!(ticks)),
        ("done", json!(own().count())),
        ("trades", json!(trades().count())),
        ("traded", json!(traded)),
        ("refused", json!(refused)),
        ("cost", last["cost"].clone()),
        ("worth", last["worth"].clone()),
        ("highWater", json!(best)),
        ("phase", last["phase"].clone()),
        ("gas", json!(receipts().map(|one| one.gas_used).sum::<u64>())),
        ("fees", json!(fees.to_string())),
        ("strange", json!(strange)),
    ] {
        assert_eq!(story["sums"][name], expected, "{name}");
    }
    for day in rows(story, "/days")? {
        let number = day["day"].as_u64().context("no day")?;
        assert_eq!(day["at"], json!(born + number * 86_400), "{day}");
    }
    Ok(())
}

/// Each child, by its own transactions and the chain's own count of its share.
async fn children(life: &Witness, story: &Value) -> Result<()> {
    let told = rows(story, "/replicants")?;
    assert_eq!(told.len(), life.children.len());
    for (child, key) in told.iter().zip(&life.children) {
        let own = || deeds(life).filter(|(.., one)| one.receipt.from == *key);
        let trades = own().filter(|(_, action, _, one)| *action == "trade" && one.receipt.status());
        assert_eq!((&child["key"], &child["trades"]), (&json!(key), &json!(trades.count())));
        assert_eq!(child["gas"], json!(own().map(|(.., one)| one.receipt.gas_used).sum::<u64>()));
        let mut spent = U256::ZERO;
        let replicant: B256 = serde_json::from_value(child["id"].clone())?;
        for parent in &life.keys {
            let counted = ReplicantBudgetEnforcer::spentByCall {
                manager: DELEGATION_MANAGER,
                delegator: *parent,
                replicantId: replicant,
            };
            spent += life.scene.node.read(replicant_budget_enforcer(), counted).await?;
        }
        assert_eq!(child["spent"], json!(u64::try_from(spent)?), "{child}");
    }
    Ok(())
}

/// Records against what the registry was told of them.
async fn audit(life: &Witness, story: &Value, records: &[Record], seals: &[Seal]) -> Result<()> {
    let filter = Filter::new()
        .address(golem_registry())
        .event_signature(GolemRegistry::HeartbeatRecorded::SIGNATURE_HASH)
        .topic1(life.scene.golem)
        .from_block(0);
    let mut beats = BTreeMap::new();
    for log in life.scene.node.provider().get_logs(&filter).await? {
        let head = GolemRegistry::HeartbeatRecorded::decode_log(&log.inner)?.auditHead;
        beats.entry(head).or_insert(log.block_number.context("no block")?);
    }
    let audit = &story["audit"];
    let furthest = records.iter().rev().find(|record| beats.contains_key(&record.hash));
    let furthest = furthest.context("nothing is anchored")?;
    assert_eq!(audit["anchored"], json!(furthest.sequence));
    assert_eq!(audit["block"], json!(beats[&furthest.hash]));
    let newer = records.iter().filter(|record| record.sequence > furthest.sequence).count();
    assert_eq!(audit["newer"], json!(newer));
    assert_eq!(audit["records"], json!(records.len()));
    assert_eq!(audit["head"], json!(records.last().context("no record")?.hash));
    // A head that its own key signed, and that is a record's.
    let sealed = seals
        .iter()
        .filter(|seal| seal.is_genuine() && records.iter().any(|one| one.hash == seal.head.hash));
    let sealed = sealed.max_by_key(|seal| seal.head.length).context("nothing is sealed")?;
    assert_eq!(audit["sealed"], json!(sealed.head.length));
    assert_eq!(audit["by"], json!(sealed.by));
    Ok(())
}

/// What it died of, and where everything went that it held.
async fn death(life: &Witness, story: &Value, records: &[Record], sent: &All) -> Result<()> {
    let mut triggers = Vec::new();
    let mut settled = Value::Null;
    for record in records {
        let event = GolemEvent::of_record(&record.kind, &record.body);
        if let GolemEvent::DeathProtocolStarted { trigger, .. } = event {
            triggers.push(trigger);
        }
        if record.kind == "step" {
            let body: Value = serde_json::from_str(&record.body)?;
            if body["name"] == "settlement" {
                settled = body["to"].clone();
            }
        }
    }
    let of = match triggers[..] {
        [DeathTrigger::GrantEnded] => "the end of its grant",
        [DeathTrigger::Expiry] => "the end of its time",
        [DeathTrigger::OwnerKillSwitch] => "its owner's word",
        _ => anyhow::bail!("{triggers:?}"),
    };
    assert_eq!(story["sums"]["diedOf"], of);
    let closed = |one: &Sent| {
        one.receipt.logs().iter().any(|log| {
            log.address() == golem_registry()
                && log
                    .topics()
                    .starts_with(&[GolemRegistry::GolemClosed::SIGNATURE_HASH, life.scene.golem])
        })
    };
    assert_eq!(sent.values().filter(|one| closed(one)).count(), 1, "the registry knows of it");
    assert_eq!(story["settlement"]["step"], "nothing is left, and no key", "{settled}");
    let death = &settled["death"];
    // Keys in order, short numbers, plain letters: this text is the canonical one.
    assert_eq!(story["settlement"]["hash"], json!(keccak256(death.to_string())), "{death}");

    let told = rows(story, "/settlement/rows")?;
    let mut home = U256::ZERO;
    for row in told.iter().filter(|row| row["settled"] == true) {
        let hash: B256 = serde_json::from_value(row["transaction"].clone())?;
        let one = sent.get(&hash).with_context(|| format!("nobody sent {row}"))?;
        ensure!(one.receipt.status() && life.keys.contains(&one.receipt.from), "{row}");
        let expected = if row["what"] == "the chain's coin" {
            assert_eq!(one.to, Some(life.scene.owner), "{row}");
            home += one.value;
            coins(life, Address::ZERO, one.value).await?
        } else {
            let token: Address = row["what"].as_str().context("no token")?.parse()?;
            let [out, _] = moved(&one.receipt, life.scene.account);
            let left = out.into_iter().filter(|(of, _)| *of == token).map(|(_, amount)| amount);
            coins(life, token, left.sum()).await?
        };
        assert_eq!(row["amount"], json!(expected), "{row}");
    }
    // What it kept for its last words goes home behind them, and no row can have it: their hash is on chain before that.
    let coins_sent = sent
        .values()
        .filter(|one| life.keys.contains(&one.receipt.from) && one.to == Some(life.scene.owner));
    let most = coins_sent.map(|one| one.value).max();
    ensure!(!home.is_zero() && Some(home) == most, "{home}, {most:?}: {told:#?}");
    // What is left to its owner: what is in his account, and what others may take out of it.
    let head = life.scene.node.head().await?.number;
    for row in told.iter().filter(|row| row["settled"] == false) {
        let token: Address = row["what"].as_str().context("no token")?.parse()?;
        let why = row["why"].as_str().context("no reason")?;
        let account = life.scene.account;
        let held = match why.split_once(" may still take so much of it") {
            Some((spender, _)) => {
                let asked = Erc20::allowanceCall { owner: account, spender: spender.parse()? };
                life.scene.on(head, token, asked).await?
            }
            None => life.scene.on(head, token, Erc20::balanceOfCall { account }).await?,
        };
        assert_eq!(row["amount"], json!(coins(life, token, held).await?), "{row}");
    }
    let of = |field: &str| death[field].as_array().map_or(0, Vec::len);
    assert_eq!(told.len(), of("positions_settled") + of("positions_deferred"), "{death}");
    Ok(())
}

/// So much of a token, by its own name and decimals.
async fn coins(life: &Witness, token: Address, amount: U256) -> Result<String> {
    let node = &life.scene.node;
    let (symbol, decimals) = if token.is_zero() {
        ("ETH".to_owned(), 18)
    } else {
        let decimals = if token == life.scene.book.usdc { 6 } else { 18 };
        (node.read(token, Erc20::symbolCall {}).await?, decimals)
    };
    let one = U256::from(10).pow(U256::from(decimals));
    let part = (amount % one) / U256::from(10).pow(U256::from(decimals - 6));
    let mut part = format!("{part:06}");
    while part.len() > 2 && part.ends_with('0') {
        part.pop();
    }
    Ok(format!("{}.{part} {symbol}", grouped(&(amount / one).to_string())))
}

/// Figures within sentences, each out of its own record or receipt.
async fn timeline(life: &Witness, story: &Value, records: &[Record], sent: &All) -> Result<()> {
    let has_digit = |text: &str| text.chars().any(|letter| letter.is_ascii_digit());
    let mut thefts = 0;
    for entry in rows(story, "/timeline")? {
        let title = entry["title"].as_str().context("no title")?;
        let detail = entry["detail"].as_str().unwrap_or_default();
        let times = entry["times"].as_u64().context("no times")?;
        if let Ok(hash) = serde_json::from_value::<B256>(entry["transaction"].clone()) {
            let one = &sent[&hash].receipt;
            let [out, came] = moved(one, life.scene.account);
            let mut amounts = Vec::new();
            for (token, amount) in out.into_iter().chain(came) {
                amounts.push(coins(life, token, amount).await?);
            }
            let words = format!("{title} {detail}");
            thefts += if title.starts_with("Its key was used") { times } else { 0 };
            if times == 1 {
                let mut rest = words.clone();
                for amount in &amounts {
                    ensure!(rest.contains(amount), "{amount} is not in {entry}");
                    rest = rest.replacen(amount, "", 1);
                }
                ensure!(!has_digit(&rest), "{rest} in {entry}");
            }
            continue;
        }
        let sequence = entry["record"].as_u64().context("neither a record nor a transaction")?;
        let record = records.iter().find(|record| record.sequence == sequence);
        let record = record.context("no such record")?;
        assert_eq!(entry["at"], json!(record.at), "{entry}");
        let second = |at: u64| shown("time", &json!(at));
        let (first, more) = match GolemEvent::of_record(&record.kind, &record.body) {
            GolemEvent::PhaseChanged { score, .. } => {
                (String::new(), format!("Vitality {}.{:02} %.", score / 100, score % 100))
            }
            GolemEvent::DreamBegan { until } => (second(until)?, String::new()),
            GolemEvent::ReplicantSpawned { replicant, expires_at, .. } => {
                (String::new(), format!("{replicant}, until {}.", second(expires_at)?))
            }
            GolemEvent::IntentRefused { code, reason, .. } => {
                (code, if times == 1 { reason } else { detail.to_owned() })
            }
            GolemEvent::RunwayRedeemed { redeemed, remaining, .. } => {
                (shown("dollars", &json!(redeemed))?, shown("dollars", &json!(remaining))?)
            }
            GolemEvent::DelegationGranted { delegate, .. } => (String::new(), delegate.to_string()),
            GolemEvent::RotationTriggered { new_address, .. } => {
                (String::new(), format!("{new_address} waits for its grant."))
            }
            GolemEvent::SessionKeyRotated { old_address, new_address, .. } => {
                (String::new(), format!("{new_address} took the place of {old_address}"))
            }
            GolemEvent::HeartbeatAnomaly { missed } => (missed.to_string(), String::new()),
            GolemEvent::BudgetWarning { remaining_bps, .. } => {
                (format!("{}.{:02} %", remaining_bps / 100, remaining_bps % 100), String::new())
            }
            GolemEvent::DelegationExpiringWarning { seconds_remaining, .. } => {
                let (days, hours) =
                    (seconds_remaining / 86_400, seconds_remaining % 86_400 / 3_600);
                let minutes = seconds_remaining % 3_600 / 60;
                let said = if days > 0 {
                    [(days, "day"), (hours, "hour")]
                } else {
                    [(hours, "hour"), (minutes, "minute")]
                };
                let said = said.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| {
                    format!("{count} {unit}{}", if *count == 1 { "" } else { "s" })
                });
                (String::new(), said.collect::<Vec<_>>().join(" and "))
            }
            GolemEvent::PositionsUnwound { positions_exited, positions_deferred, .. } => (
                String::new(),
                format!("{positions_exited} closed; {positions_deferred} left to its owner."),
            ),
            GolemEvent::DeathCompleted { lifetime_ticks, total_cost, final_nav, .. } => {
                assert_eq!(json!(lifetime_ticks), story["sums"]["ticks"]);
                assert_eq!(json!(total_cost), story["sums"]["cost"]);
                let money = |micro: u64| shown("dollars", &json!(micro));
                let (cost, worth) = (money(total_cost)?, money(final_nav)?);
                let words = format!(
                    "After {lifetime_ticks} ticks, that cost {cost}; worth {worth} at the end."
                );
                (String::new(), words)
            }
            // Words of others, as they stand in the log.
            GolemEvent::ReplicantEnded { cause, .. } => (String::new(), cause),
            GolemEvent::GrantEnded { why, .. } => (String::new(), why),
            _ => (String::new(), String::new()),
        };
        ensure!(title.contains(&first), "{first} is not in {entry}");
        ensure!(!has_digit(&title.replacen(&first, "", 1)), "{entry}");
        ensure!(detail.contains(&more), "{more} is not in {entry}");
        let rest = detail.replacen(&more, "", 1);
        ensure!(!has_digit(&rest) || times > 1, "{entry}");
    }
    assert_eq!(json!(thefts), story["sums"]["strange"]);
    Ok(())
}
