//! What our way to the chain costs, beside what a node on loopback takes for the same with the connection kept. Medians; what lasts
//! is the ratio. `target/bench/chain.json` keeps the numbers.
//!
//! - **Dry run.** A charter's swap judged as a lane has it judged, by a node that somebody follows, on a block that was read before;
//!   beside `eth_call` of the same on the same block. They must agree.
//! - **Direct submission.** From the moment that a redemption is cleared, its sum set aside in the books: it is signed, written down,
//!   handed to the node, and done when its receipt is seen and its block is the one at that height. Beside it the node's floor: the same
//!   kind of transaction, signed before, handed in by `eth_sendRawTransaction` and its receipt asked for after the same blocks, told by
//!   the same socket. Nobody is quicker than the floor: a ratio below one is a measurement that is broken, and an error. What comes
//!   before and after is shown by itself: the dry run and the plan, the sum that is set aside, the end that is written down. Once with
//!   books in memory, which is what the way itself costs, and once on the disk, as every Golem has them: what is signed waits for the
//!   disk before it leaves (INV-5). No way that keeps that promise is quicker than the disk, and so there is a second floor beside it:
//!   the node's, behind one write of as many bytes over old ones in the same folder, waited for. What idles meanwhile, node and cores, is
//!   slower to wake: that is in both.
//! - **Throughput.** The same two kinds of books. Redemptions of one key, all asked for at once, until the last one is done, with a block for each of them, so that
//!   every dry run reads a new one; beside as many signed before and handed in one after the other, until the last one has its
//!   receipt. And the same without blocks, until the node has the last one in its queue.

mod machine;

use alloy::{
    network::TransactionBuilder as _,
    primitives::{Address, B256, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::TransactionRequest,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{Agent, Stage, dollars, fair_swap, judged, mandate, root, swap};
use golem_chain::{AccountKind, Follow, Foresight, Heads, Landing, Lane, LanePolicy, Node};
use golem_custody::{Mandate, Outcome, SessionSigner as _, SignedTransaction};
use serde_json::{Map, Value, json};
use std::{
    fs::{self, File, OpenOptions},
    io::{Write as _, stdout},
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

/// Dry runs.
const TIMES: usize = 400;
/// Submissions of each kind.
const SENT: u32 = 100;
/// Bytes that a commit of the books writes, about.
const A_COMMIT: usize = 6 * 4_096;
/// Redemptions of one key at once.
const AT_ONCE: u32 = 200;
/// How often a receipt is asked for where no block is told of, by the lane and for the floor.
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
    let foresight = Foresight::new(followed(stage)?);
    let ask = TransactionRequest::default()
        .with_from(by)
        .with_to(redemption.manager())
        .with_input(redemption.calldata());
    stage.node().provider().call(ask.clone()).await?;
    let first = foresight.judge(&redemption, by).await?;
    ensure!(matches!(first, Outcome::Allowed(_)), "{first:?}");

    let (mut ours, mut nodes) = (Vec::new(), Vec::new());
    for _ in 0..TIMES {
        let since = Instant::now();
        let outcome = foresight.judge(&redemption, by).await?;
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

/// Asks until there is a receipt, which must be one of success: at each block, and every so often.
async fn receipt(stage: &Stage, hash: B256, blocks: &mut Heads) -> Result<()> {
    loop {
        if let Some(receipt) = stage.node().provider().get_transaction_receipt(hash).await? {
            ensure!(receipt.status(), "{hash} failed");
            return Ok(());
        }
        let _ = timeout(POLL, blocks.next()).await;
    }
}

fn policy() -> LanePolicy {
    LanePolicy { confirmations: 1, poll: POLL, ..LanePolicy::default() }
}

/// Where it is written down what a key signed.
#[derive(Clone, Copy, Debug)]
enum Books {
    Disk,
    Memory,
}

impl Books {
    const fn words(self) -> &'static str {
        match self {
            Self::Disk => "books on the disk",
            Self::Memory => "books in memory",
        }
    }

    /// A name of a number for the report: those on the disk are the ones that count.
    fn named(self, name: &str) -> String {
        match self {
            Self::Disk => name.to_owned(),
            Self::Memory => format!("{name}InMemory"),
        }
    }

    /// New ones for a key, and the folder that they are in.
    fn open(self, key: Address) -> Result<(Mandate, Option<TempDir>)> {
        if let Self::Memory = self {
            return Ok((mandate(), None));
        }
        let place = root().join("target");
        fs::create_dir_all(&place)?;
        let folder = tempfile::tempdir_in(place)?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        let golem = key.into_word();
        let config = StoreConfig { folder: folder.path().join("books"), golem, max_pages: None };
        let store = Arc::new(Store::open(&config, None)?);
        Ok((Mandate::by_hand(golem, Address::ZERO, store), Some(folder)))
    }
}

/// The stage's node with one task that follows its blocks, told by its socket: as a Golem has it.
fn followed(stage: &Stage) -> Result<Node> {
    let mut url = stage.chain().url().clone();
    ensure!(url.set_scheme("ws").is_ok());
    Ok(stage.node().clone().following(Follow::of(stage.node(), Some(url))))
}

/// A file of zeros as long as all that is written over it, one commit after the other.
struct Disk(File, u64);

impl Disk {
    fn beside(folder: &TempDir) -> Result<Self> {
        let path = folder.path().join("floor");
        let file = OpenOptions::new().create_new(true).write(true).open(path)?;
        file.write_all_at(&vec![0; A_COMMIT * usize::try_from(SENT)?], 0)?;
        file.sync_all()?;
        Ok(Self(file, 0))
    }

    fn commits(&mut self) -> Result<()> {
        self.0.write_all_at(&[7; A_COMMIT], self.1)?;
        self.0.sync_data()?;
        self.1 += u64::try_from(A_COMMIT)?;
        Ok(())
    }
}

/// The node's floor: from a signed transaction to its receipt, and how long it took to be handed in.
async fn floor_of(
    stage: &Stage,
    agent: &Agent,
    node: &Node,
    disk: Option<&mut Disk>,
) -> Result<(Duration, Duration)> {
    let signed = signed(stage, agent).await?;
    let mut blocks = Heads::of(node.clone(), POLL);
    blocks.next().await?;
    let begins = Instant::now();
    if let Some(disk) = disk {
        disk.commits()?;
    }
    let hands_in = Instant::now();
    let _pending = stage.node().provider().send_raw_transaction(&signed.raw).await?;
    let handed_in = hands_in.elapsed();
    receipt(stage, signed.hash, &mut blocks).await?;
    Ok((begins.elapsed(), handed_in))
}

async fn submission(stage: &Stage, books: Books) -> Result<Value> {
    let (agent, floor_agent) = (hired(stage).await?, hired(stage).await?);
    let sale = agent.redemption(&swap(stage, agent.account, dollars(1)))?;
    let now = stage.now().await?;
    // A lane asks for the time at each step: when the sum is set aside, when it is signed, when that is written down, and when its end
    // is. It tells the hash right before it hands it in.
    let (steps, told) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let note = |at: &Mutex<Vec<Instant>>| {
        at.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
    };
    let noted = |at: &Mutex<Vec<Instant>>| {
        std::mem::take(&mut *at.lock().unwrap_or_else(PoisonError::into_inner))
    };
    let (at_step, at_tell) = (Arc::clone(&steps), Arc::clone(&told));
    let clock = move || {
        note(&at_step);
        now
    };
    let (mandate, folder) = books.open(agent.key.address())?;
    let mut disk = folder.as_ref().map(Disk::beside).transpose()?;
    let node = followed(stage)?;
    let foresight = Arc::new(Foresight::new(node.clone()));
    let lane = Lane::open(foresight, agent.key, mandate, policy(), clock)
        .await?
        .telling(move |_| note(&at_tell));
    // Opening asks for the time, too.
    let _opened = noted(&steps);

    let mut times: [Vec<Duration>; 7] = Default::default();
    let mut behind_disk = Vec::new();
    for _ in 0..SENT {
        let began = Instant::now();
        done(&lane.redeem(judged(sale.clone())).await?)?;
        let ended = Instant::now();
        let (steps, told) = (noted(&steps), noted(&told));
        let (&[aside, signed, kept, end], &[told]) = (steps.as_slice(), told.as_slice()) else {
            bail!("broken measurement: {} steps and {} bids", steps.len(), told.len());
        };
        ensure!(
            [began, aside, signed, kept, told, end, ended].is_sorted(),
            "broken measurement: the steps are not in their order"
        );

        let (floor, handed_in) = floor_of(stage, &floor_agent, &node, None).await?;
        if let Some(disk) = &mut disk {
            behind_disk.push(floor_of(stage, &floor_agent, &node, Some(disk)).await?.0);
        }
        let all = [
            end - signed,
            floor,
            signed - aside,
            told - signed,
            handed_in,
            ended - end,
            ended - began,
        ];
        times.iter_mut().zip(all).for_each(|(times, time)| times.push(time));
    }
    let [ours, floor, aside, written, handed_in, end, whole] = times;
    let (ours, floor) = (median(ours)?, median(floor)?);
    let (aside, written, handed_in) = (median(aside)?, median(written)?, median(handed_in)?);
    let (end, whole, ratio) = (median(end)?, median(whole)?, ours / floor);
    ensure!(
        ratio >= 1.0,
        "broken measurement: {ours:.0} µs is less than the node's floor of {floor:.0}"
    );
    let behind_disk = if behind_disk.is_empty() { None } else { Some(median(behind_disk)?) };
    let beside = behind_disk.map_or_else(String::new, |floor| {
        let ratio = ours / floor;
        format!("the node's floor behind one write to the disk: {floor:.0} µs; ratio {ratio:.2}\n")
    });
    writeln!(
        stdout(),
        "direct submission, {}, from cleared to in its block: {ours:.0} µs; the node's floor: {floor:.0} µs; ratio {ratio:.2} (1.2 is wanted)\n\
         {beside}\
         of it signed and written down {written:.0} µs, eth_sendRawTransaction {handed_in:.0} µs\n\
         before it the sum set aside {aside:.0} µs, after it the end written down {end:.0} µs; \
         the whole with its dry run on a new block, fees, nonce and balance {whole:.0} µs",
        books.words()
    )?;
    let numbers = [
        ("submissionMicros", ours.round()),
        ("submissionFloorMicros", floor.round()),
        ("submissionRatio", ratio),
        ("reserveMicros", aside.round()),
        ("signingMicros", written.round()),
        ("sendRawMicros", handed_in.round()),
        ("endMicros", end.round()),
        ("wholeMicros", whole.round()),
    ];
    let mut kept: Map<String, Value> =
        numbers.into_iter().map(|(name, number)| (books.named(name), json!(number))).collect();
    if let Some(floor) = behind_disk {
        kept.insert("durableFloorMicros".into(), json!(floor.round()));
        kept.insert("durableRatio".into(), json!(ours / floor));
    }
    Ok(kept.into())
}

/// Redemptions of one key in a second, and raw transactions: until all are done, with a block for each; or until all are in the
/// node's queue, on one block.
async fn throughput(stage: &Stage, books: Books, blocks: bool) -> Result<(f64, f64)> {
    let (agent, floor_agent) = (hired(stage).await?, hired(stage).await?);
    let (provider, node) = (stage.node().provider(), followed(stage)?);
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
        let mut blocks = Heads::of(node.clone(), POLL);
        for one in &all {
            receipt(stage, one.hash, &mut blocks).await?;
        }
    }
    let floor = began.elapsed();
    provider.anvil_drop_all_transactions().await?;

    let (by, now) = (agent.key.address(), stage.now().await?);
    let sale = agent.redemption(&swap(stage, agent.account, dollars(1)))?;
    // Where all of them wait for a block side by side, they ask as seldom as they do anywhere.
    let poll = if blocks { POLL } else { LanePolicy::default().poll };
    let policy = LanePolicy { poll, ..policy() };
    let (mandate, _folder) = books.open(by)?;
    let lane = Arc::new(
        Lane::open(Arc::new(Foresight::new(node)), agent.key, mandate, policy, move || now).await?,
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

async fn throughputs(stage: &Stage, books: Books) -> Result<Value> {
    let (ours, floor) = throughput(stage, books, true).await?;
    let (queued, raw) = throughput(stage, books, false).await?;
    let (share, queued_share) = (ours / floor, queued / raw);
    writeln!(
        stdout(),
        "one key, {}, {AT_ONCE} redemptions at once, a block for each: {ours:.0} a second; raw: {floor:.0} a second; share {share:.2}\n\
         the same until all are in the node's queue, on one block: {queued:.0} a second; raw: {raw:.0} a second; share {queued_share:.2}",
        books.words()
    )?;
    let numbers = [
        ("redemptionsPerSecond", ours),
        ("rawPerSecond", floor),
        ("throughputShare", share),
        ("queuedPerSecond", queued),
        ("rawQueuedPerSecond", raw),
        ("queuedShare", queued_share),
    ];
    Ok(numbers.into_iter().map(|(name, number)| (books.named(name), json!(number))).collect())
}

#[tokio::main]
async fn main() -> Result<()> {
    machine::quiet()?;
    let stage = Stage::open().await?;
    let mut kept = dry_run(&stage).await?;
    let mut parts = Vec::new();
    for books in [Books::Memory, Books::Disk] {
        parts.push(submission(&stage, books).await?);
        parts.push(throughputs(&stage, books).await?);
    }
    for part in parts {
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
