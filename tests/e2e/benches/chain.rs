//! What our way to the chain costs, beside what a node on loopback takes for the same with the connection kept. Medians; what lasts
//! is the ratio. `target/bench/chain.json` keeps the numbers.
//!
//! - **Dry run.** A charter's swap judged in this process on a block that was read before, beside `eth_call` of the same on the same
//!   block. They must agree.
//! - **Direct submission.** From the moment that a lane has cleared a redemption: it is signed, handed to the node, and done when its
//!   receipt is seen and its block is the one at that height. Beside it the node's floor: the same kind of transaction, signed before,
//!   handed in by `eth_sendRawTransaction` and its receipt asked for at the same intervals. Clearing is not in it; `whole` has it too.
//! - **Throughput.** Redemptions of one key, all asked for at once, until the last one is done, with a block for each of them, so that
//!   every dry run reads a new one; beside as many signed before and handed in one after the other, until the last one has its
//!   receipt. And the same without blocks, until the node has the last one in its queue.

mod machine;

use alloy::{
    network::TransactionBuilder as _,
    primitives::{B256, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::TransactionRequest,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_testkit::{Agent, Stage, dollars, fair_swap, judged, mandate, root, swap};
use golem_chain::{AccountKind, Landing, Lane, LanePolicy};
use golem_custody::{Outcome, SessionSigner as _, SignedTransaction};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Write as _, stdout},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{task::JoinSet, time::sleep};

/// Dry runs.
const TIMES: usize = 400;
/// Submissions of each kind.
const SENT: u32 = 100;
/// Redemptions of one key at once.
const AT_ONCE: u32 = 200;
/// How often a receipt is asked for, by the lane and for the floor.
const POLL: Duration = Duration::from_millis(1);

fn median(mut times: Vec<Duration>) -> Result<f64> {
    times.sort_unstable();
    Ok(times.get(times.len() / 2).context("nothing was timed")?.as_secs_f64() * 1e6)
}

fn done(landing: &Landing) -> Result<()> {
    ensure!(matches!(landing, Landing::Done(_)), "{landing:?}");
    Ok(())
}

async fn dry_run(stage: &Stage) -> Result<Value> {
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::chartered(stage, &owner, |_| ()).await?;
    let redemption = agent.redemption(&fair_swap(stage, agent.account, dollars(10)))?;
    let by = agent.key.address();
    let (foresight, header) = (stage.foresight(), stage.node().header().await?);
    let ask = TransactionRequest::default()
        .with_from(by)
        .with_to(redemption.manager())
        .with_input(redemption.calldata());
    stage.node().provider().call(ask.clone()).await?;
    let first = foresight.rehearse(header.clone(), &redemption, by).await?;
    ensure!(matches!(first, Outcome::Allowed(_)), "{first:?}");

    let (mut ours, mut nodes) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let since = Instant::now();
        let outcome = foresight.rehearse(header.clone(), &redemption, by).await?;
        ours.push(since.elapsed());
        ensure!(matches!(outcome, Outcome::Allowed(_)), "{outcome:?}");
        let since = Instant::now();
        stage.node().provider().call(ask.clone()).await?;
        nodes.push(since.elapsed());
    }
    let (ours, node) = (median(ours)?, median(nodes)?);
    let share = ours / node;
    writeln!(
        stdout(),
        "dry run of a charter's swap, warm: {ours:.0} µs; eth_call to the node: {node:.0} µs; share {share:.2} (0.5 is wanted)"
    )?;
    Ok(json!({ "dryRunMicros": ours.round(), "ethCallMicros": node.round(), "share": share }))
}

/// An agent that may sell a dollar often enough for everything here, and pay for it.
async fn hired(stage: &Stage) -> Result<Agent> {
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(stage, &owner, 1_000_000).await?;
    let ether = U256::from(1_000_000_000_000_000_000u64);
    stage.fund(agent.key.address(), ether, U256::ZERO).await?;
    Ok(agent)
}

/// One sale, signed and not handed in.
async fn signed(stage: &Stage, agent: &Agent) -> Result<SignedTransaction> {
    let redemption = agent.redemption(&swap(stage, agent.account, dollars(1)))?;
    match agent.signed(stage, redemption).await? {
        Ok(signed) => Ok(signed),
        Err(denial) => bail!("refused: {denial:?}"),
    }
}

/// Asks until there is a receipt, which must be one of success.
async fn receipt(stage: &Stage, hash: B256) -> Result<()> {
    loop {
        if let Some(receipt) = stage.node().provider().get_transaction_receipt(hash).await? {
            ensure!(receipt.status(), "{hash} failed");
            return Ok(());
        }
        sleep(POLL).await;
    }
}

fn policy() -> LanePolicy {
    LanePolicy { confirmations: 1, poll: POLL, ..LanePolicy::default() }
}

async fn submission(stage: &Stage) -> Result<Value> {
    let (agent, floor_agent) = (hired(stage).await?, hired(stage).await?);
    let sale = agent.redemption(&swap(stage, agent.account, dollars(1)))?;
    let now = stage.now().await?;
    // A lane asks for the time when it signs, and tells the hash when it has.
    let (cleared, told) = (Arc::new(Mutex::new(None)), Arc::new(Mutex::new(None)));
    let note = |at: &Mutex<Option<Instant>>| {
        *at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    };
    let noted = |at: &Mutex<Option<Instant>>| {
        at.lock().unwrap_or_else(PoisonError::into_inner).context("it was never signed")
    };
    let (at_clock, at_tell) = (Arc::clone(&cleared), Arc::clone(&told));
    let clock = move || {
        note(&at_clock);
        now
    };
    let lane = Lane::open(Arc::new(stage.foresight()), agent.key, mandate(), policy(), clock)
        .await?
        .telling(move |_| note(&at_tell));

    let (mut ours, mut whole, mut signing) = (Vec::new(), Vec::new(), Vec::new());
    let (mut floor, mut handed_in) = (Vec::new(), Vec::new());
    for _ in 0..SENT {
        let began = Instant::now();
        done(&lane.redeem(judged(sale.clone())).await?)?;
        whole.push(began.elapsed());
        ours.push(noted(&cleared)?.elapsed());
        signing.push(noted(&told)?.duration_since(noted(&cleared)?));

        let before = signed(stage, &floor_agent).await?;
        let began = Instant::now();
        let _pending = stage.node().provider().send_raw_transaction(&before.raw).await?;
        handed_in.push(began.elapsed());
        receipt(stage, before.hash).await?;
        floor.push(began.elapsed());
    }
    let (ours, whole, signing) = (median(ours)?, median(whole)?, median(signing)?);
    let (floor, handed_in) = (median(floor)?, median(handed_in)?);
    let (ratio, answer) = (ours / floor, (signing + handed_in) / handed_in);
    writeln!(
        stdout(),
        "direct submission, from clearance to done: {ours:.0} µs; the node's floor: {floor:.0} µs; ratio {ratio:.2} (1.2 is wanted)\n\
         of it up to the node's answer: signing {signing:.0} µs, eth_sendRawTransaction {handed_in:.0} µs; ratio {answer:.2}\n\
         the whole with its dry run on a new block, fees, nonce and balance: {whole:.0} µs"
    )?;
    Ok(json!({
        "submissionMicros": ours.round(),
        "submissionFloorMicros": floor.round(),
        "submissionRatio": ratio,
        "signingMicros": signing.round(),
        "sendRawMicros": handed_in.round(),
        "wholeMicros": whole.round(),
    }))
}

/// Redemptions of one key in a second, and raw transactions: until all are done, with a block for each; or until all are in the
/// node's queue, on one block.
async fn throughput(stage: &Stage, blocks: bool) -> Result<(f64, f64)> {
    let (agent, floor_agent) = (hired(stage).await?, hired(stage).await?);
    let provider = stage.node().provider();
    // What is signed takes its place from the node's queue: it is put there once, and taken out again.
    provider.anvil_set_auto_mine(false).await?;
    let mut all = Vec::new();
    for _ in 0..AT_ONCE {
        let one = signed(stage, &floor_agent).await?;
        let _pending = provider.send_raw_transaction(&one.raw).await?;
        all.push(one);
    }
    provider.anvil_drop_all_transactions().await?;
    provider.anvil_set_auto_mine(blocks).await?;
    let began = Instant::now();
    for one in &all {
        let _pending = provider.send_raw_transaction(&one.raw).await?;
    }
    if blocks {
        for one in &all {
            receipt(stage, one.hash).await?;
        }
    }
    let floor = began.elapsed();
    provider.anvil_drop_all_transactions().await?;

    let (by, now) = (agent.key.address(), stage.now().await?);
    let sale = agent.redemption(&swap(stage, agent.account, dollars(1)))?;
    // Where all of them wait for a block side by side, they ask as seldom as they do anywhere.
    let poll = if blocks { POLL } else { LanePolicy::default().poll };
    let policy = LanePolicy { poll, ..policy() };
    let lane = Arc::new(
        Lane::open(Arc::new(stage.foresight()), agent.key, mandate(), policy, move || now).await?,
    );
    let began = Instant::now();
    let mut sales = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (lane, sale) = (Arc::clone(&lane), sale.clone());
        sales.spawn(async move { lane.redeem(judged(sale)).await });
    }
    let mut handed_in = None;
    if !blocks {
        while provider.get_transaction_count(by).pending().await? < AT_ONCE.into() {
            sleep(POLL).await;
        }
        handed_in = Some(began.elapsed());
        provider.anvil_mine(Some(AT_ONCE.into()), None).await?;
    }
    while let Some(landing) = sales.join_next().await {
        done(&landing??)?;
    }
    let ours = handed_in.unwrap_or_else(|| began.elapsed());
    provider.anvil_set_auto_mine(true).await?;
    let rate = |time: Duration| f64::from(AT_ONCE) / time.as_secs_f64();
    Ok((rate(ours), rate(floor)))
}

async fn throughputs(stage: &Stage) -> Result<Value> {
    let (ours, floor) = throughput(stage, true).await?;
    let (queued, raw) = throughput(stage, false).await?;
    let (share, queued_share) = (ours / floor, queued / raw);
    writeln!(
        stdout(),
        "one key, {AT_ONCE} redemptions at once, a block for each: {ours:.0} a second; raw: {floor:.0} a second; share {share:.2}\n\
         the same until all are in the node's queue, on one block: {queued:.0} a second; raw: {raw:.0} a second; share {queued_share:.2}"
    )?;
    Ok(json!({
        "redemptionsPerSecond": ours,
        "rawPerSecond": floor,
        "throughputShare": share,
        "queuedPerSecond": queued,
        "rawQueuedPerSecond": raw,
        "queuedShare": queued_share,
    }))
}

#[tokio::main]
async fn main() -> Result<()> {
    machine::quiet()?;
    let stage = Stage::open().await?;
    let mut kept = dry_run(&stage).await?;
    for part in [submission(&stage).await?, throughputs(&stage).await?] {
        let (Some(kept), Value::Object(part)) = (kept.as_object_mut(), part) else {
            bail!("a part is no object");
        };
        kept.extend(part);
    }
    let folder = root().join("target/bench");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("chain.json"), format!("{kept:#}\n"))?;
    Ok(())
}
