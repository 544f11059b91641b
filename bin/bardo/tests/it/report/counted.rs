//! What a page says, counted again from receipts, records and feeds, by code that knows nothing of the code that wrote it.

use super::{
    life::Lived,
    page::{grouped, shown},
};
use alloy::{
    consensus::Transaction as _,
    eips::BlockNumberOrTag,
    network::TransactionResponse as _,
    primitives::{Address, B256, U256, keccak256},
    providers::Provider as _,
    rpc::types::{Filter, TransactionReceipt},
    sol_types::SolEvent,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::Erc20,
    framework::{DELEGATION_MANAGER, DelegationManager},
    golem_registry,
};
use bardo_store::{Archive, Record, Seal};
use golem_runtime::{DeathTrigger, GolemEvent};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// A transaction as its block has it.
struct Sent {
    receipt: TransactionReceipt,
    to: Option<Address>,
    value: U256,
}

type All = BTreeMap<B256, Sent>;

/// Every group of figures that is not one sum of all.
pub(crate) async fn all(lived: &Lived, story: &Value) -> Result<()> {
    let (records, seals) = Archive::open(&lived.data())?.audit()?;
    let sent = every_transaction(lived).await?;
    ticks(lived, story, &records).await?;
    caps(lived, story)?;
    refusals(story, &records)?;
    gas(lived, story, &records, &sent)?;
    audit(lived, story, &records, &seals).await?;
    death(lived, story, &records, &sent).await?;
    timeline(lived, story, &records, &sent).await
}

fn rows<'a>(story: &'a Value, at: &str) -> Result<&'a Vec<Value>> {
    story.pointer(at).and_then(Value::as_array).with_context(|| format!("no {at}"))
}

async fn every_transaction(lived: &Lived) -> Result<All> {
    let provider = lived.stage.node().provider();
    let mut all = BTreeMap::new();
    for number in lived.began..=provider.get_block_number().await? {
        let block = provider.get_block_by_number(BlockNumberOrTag::Number(number)).full().await?;
        for one in block.context("no block")?.transactions.into_transactions() {
            let hash = one.tx_hash();
            let receipt = provider.get_transaction_receipt(hash).await?.context("no receipt")?;
            all.insert(hash, Sent { receipt, to: one.to(), value: one.value() });
        }
    }
    Ok(all)
}

/// What each tick wrote down, and what it held by balances and feeds of its block.
async fn ticks(lived: &Lived, story: &Value, records: &[Record]) -> Result<()> {
    let mut lives = Vec::new();
    for record in records.iter().filter(|record| record.kind == "step") {
        let body: Value = serde_json::from_str(&record.body)?;
        if body["name"] == "life" {
            lives.push((record.at, body["to"].clone()));
        }
    }
    let drawn = rows(story, "/ticks")?;
    assert_eq!(drawn.len(), lives.len());
    for (drawn, (at, life)) in drawn.iter().zip(&lives) {
        assert_eq!(drawn["at"], json!(at));
        assert_eq!(drawn["number"], life["ticks"]);
        for field in ["clocks", "mood", "phase", "dreaming", "worth"] {
            assert_eq!(drawn[field], life[field], "{field} at {at}");
        }
        let clocks = drawn["clocks"].as_object().context("no clocks")?;
        let least = clocks.values().filter_map(Value::as_u64).min();
        assert_eq!((clocks.len(), drawn["vitality"].as_u64()), (3, least), "{drawn}");
        let block = drawn["block"].as_u64().context("no block")?;
        assert_eq!(drawn["worth"], json!(lived.worth_at(block).await?), "at {at}, on {block}");
    }
    Ok(())
}

/// What its owner wrote into the charter.
fn caps(lived: &Lived, story: &Value) -> Result<()> {
    let charter: Value = serde_json::from_str(&fs::read_to_string(lived.path("charter.json"))?)?;
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
fn action(lived: &Lived, receipt: &TransactionReceipt) -> &'static str {
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
    let [out, came] = moved(receipt, lived.account);
    match (out.is_empty(), came.is_empty()) {
        (false, false) => "trade",
        (false, true) => "payment",
        (true, false) => "income",
        (true, true) if has(Erc20::Approval::SIGNATURE_HASH) => "allowance",
        (true, true) if receipt.logs().iter().any(|it| it.address() == DELEGATION_MANAGER) => {
            "gas money"
        }
        (true, true) => "other",
    }
}

/// Every row, by the receipts of every block.
fn gas(lived: &Lived, story: &Value, records: &[Record], sent: &All) -> Result<()> {
    let mut signed = BTreeSet::new();
    for record in records {
        match GolemEvent::of_record(&record.kind, &record.body) {
            GolemEvent::OperationSigned { op_hash: hash, .. }
            | GolemEvent::IntentDone { hash, .. }
            | GolemEvent::IntentFailed { hash, .. } => {
                signed.insert(hash);
            }
            _ => {}
        }
    }
    let mut all: BTreeMap<(&str, &str), Vec<&TransactionReceipt>> = BTreeMap::new();
    for (hash, Sent { receipt, .. }) in sent {
        let by = match receipt.from {
            from if from == lived.session && signed.contains(hash) => "the Golem",
            from if from == lived.session => "its key, not the Golem",
            from if from == lived.owner.address => "its owner",
            from if from == lived.child => "its Replicants",
            _ => continue,
        };
        all.entry((by, action(lived, receipt))).or_default().push(receipt);
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
        let fee = |one: &&TransactionReceipt| {
            U256::from(one.gas_used) * U256::from(one.effective_gas_price)
        };
        let fees: U256 = those.iter().map(fee).sum();
        assert_eq!(row["fees"], json!(fees.to_string()), "{row}");
    }
    Ok(())
}

/// Records against what the registry was told of them.
async fn audit(lived: &Lived, story: &Value, records: &[Record], seals: &[Seal]) -> Result<()> {
    let filter = Filter::new()
        .address(golem_registry())
        .event_signature(GolemRegistry::HeartbeatRecorded::SIGNATURE_HASH)
        .topic1(lived.golem)
        .from_block(0);
    let mut beats = BTreeMap::new();
    for log in lived.stage.node().provider().get_logs(&filter).await? {
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
async fn death(lived: &Lived, story: &Value, records: &[Record], sent: &All) -> Result<()> {
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
        [DeathTrigger::OwnerKillSwitch] => "its owner's word",
        _ => anyhow::bail!("{triggers:?}"),
    };
    assert_eq!(story["sums"]["diedOf"], of);
    let closed = |one: &Sent| {
        one.receipt.logs().iter().any(|log| {
            log.address() == golem_registry()
                && log
                    .topics()
                    .starts_with(&[GolemRegistry::GolemClosed::SIGNATURE_HASH, lived.golem])
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
        ensure!(one.receipt.status() && one.receipt.from == lived.session, "{row}");
        let expected = if row["what"] == "the chain's coin" {
            assert_eq!(one.to, Some(lived.owner.address), "{row}");
            home += one.value;
            coins(lived, Address::ZERO, one.value).await?
        } else {
            let token: Address = row["what"].as_str().context("no token")?.parse()?;
            let [out, _] = moved(&one.receipt, lived.account);
            let left = out.into_iter().filter(|(of, _)| *of == token).map(|(_, amount)| amount);
            coins(lived, token, left.sum()).await?
        };
        assert_eq!(row["amount"], json!(expected), "{row}");
    }
    // What it kept for its last words goes home behind them, and no row can have it: their hash is on chain before that.
    let coins_sent = sent
        .values()
        .filter(|one| one.receipt.from == lived.session && one.to == Some(lived.owner.address));
    let most = coins_sent.map(|one| one.value).max();
    ensure!(!home.is_zero() && Some(home) == most, "{home}, {most:?}: {told:#?}");
    // What is left to its owner: what is in his account, and what others may take out of it.
    let head = lived.stage.node().head().await?.number;
    for row in told.iter().filter(|row| row["settled"] == false) {
        let token: Address = row["what"].as_str().context("no token")?.parse()?;
        let why = row["why"].as_str().context("no reason")?;
        let account = lived.account;
        let held = match why.split_once(" may still take so much of it") {
            Some((spender, _)) => {
                let asked = Erc20::allowanceCall { owner: account, spender: spender.parse()? };
                lived.on(head, token, asked).await?
            }
            None => lived.on(head, token, Erc20::balanceOfCall { account }).await?,
        };
        assert_eq!(row["amount"], json!(coins(lived, token, held).await?), "{row}");
    }
    let of = |field: &str| death[field].as_array().map_or(0, Vec::len);
    assert_eq!(told.len(), of("positions_settled") + of("positions_deferred"), "{death}");
    Ok(())
}

/// So much of a token, by its own name and decimals.
async fn coins(lived: &Lived, token: Address, amount: U256) -> Result<String> {
    let node = lived.stage.node();
    let (symbol, decimals) = if token.is_zero() {
        ("ETH".to_owned(), 18)
    } else {
        let decimals = if token == lived.stage.book().usdc { 6 } else { 18 };
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
async fn timeline(lived: &Lived, story: &Value, records: &[Record], sent: &All) -> Result<()> {
    let has_digit = |text: &str| text.chars().any(|letter| letter.is_ascii_digit());
    let mut thefts = 0;
    for entry in rows(story, "/timeline")? {
        let title = entry["title"].as_str().context("no title")?;
        let detail = entry["detail"].as_str().unwrap_or_default();
        let times = entry["times"].as_u64().context("no times")?;
        if let Ok(hash) = serde_json::from_value::<B256>(entry["transaction"].clone()) {
            let one = &sent[&hash].receipt;
            let [out, came] = moved(one, lived.account);
            let mut amounts = Vec::new();
            for (token, amount) in out.into_iter().chain(came) {
                amounts.push(coins(lived, token, amount).await?);
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
        ensure!(more.is_empty() || !has_digit(&rest), "{entry}");
    }
    assert_eq!(thefts, lived.thefts);
    Ok(())
}
