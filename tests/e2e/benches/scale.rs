//! How many Golems one machine carries: what an idle one weighs, how long one takes to wake, how many ticks there are in a second.
//!
//! Every tick is a whole one against a real chain on the same machine: nine steps, all facts of one block, a record in a store of its own. A
//! Golem has nothing to buy in these ticks, as in most of its life. The node's own rate is that of one plain question (`eth_getBalance`) by as many
//! askers in the same run: a tick asks some dozens of such questions, and so the share of the node's rate says how much of a tick is ours.
//! `target/bench/scale.json` keeps the numbers; BENCH_GOLEMS names the most of them (1,000).

mod machine;

use alloy::{
    network::TransactionBuilder as _,
    primitives::{Address, B256, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::TransactionRequest,
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use bardo_bindings::{GolemRegistry, PolicyCage, golem_registry, policy_cage};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{Owner, STIPEND, Stage, chartered, root};
use golem_chain::{AccountKind, LanePolicy, Registry, local::CharterParties};
use golem_custody::{CustodyMode, DailyCosts, Keyring as _, Keys, Means, OnboardingSteps, SignIn};
use golem_delegation::terms::MortalityTimeWindow;
use golem_runtime::{Documents, Golem, Provisions, Waking};
use serde_json::json;
use std::{
    env, fs,
    io::Write as _,
    ops::Range,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

const CONSTITUTION: &str = "Do no harm.\n";
const DAY: u64 = 86_400;
/// Golems that tick at the same time.
const AT_ONCE: usize = 16;
/// Golems that are registered in one block: two transactions each, within a block's gas.
const A_BLOCK: usize = 20;

#[tokio::main]
async fn main() -> Result<()> {
    let busy = machine::quiet()?;
    let most: usize =
        env::var("BENCH_GOLEMS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000);
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let folder = tempfile::tempdir_in(root().join("target"))?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
    let now = Arc::new(AtomicU64::new(stage.now().await?));

    let mut golems: Vec<Golem> = Vec::new();
    let mut rows = Vec::new();
    // Each row as soon as it is known: the last takes minutes.
    let tell = |line: String| std::io::stdout().write_all(line.as_bytes());
    tell(format!(
        "{:>7}{:>14}{:>14}{:>16}{:>12}{:>12}{:>14}{:>12}\n",
        "golems",
        "onboard, ms",
        "wake, ms",
        "weight, KiB",
        "threads",
        "files",
        "ticks / s",
        "of node's"
    ))?;
    let empty = weight()?;
    for count in [1, 10, 100, 300, 1_000].into_iter().filter(|count| *count <= most) {
        let (mut waking, mut onboarding) = (Duration::ZERO, Duration::ZERO);
        let added = count - golems.len();
        while golems.len() < count {
            let group = golems.len()..count.min(golems.len() + A_BLOCK);
            let began = Instant::now();
            let born = registered(&stage, &owner, group).await?;
            onboarding += began.elapsed();
            for (salt, keys) in born {
                let began = Instant::now();
                let place = folder.path().join(golems.len().to_string());
                let provisions = onboarded(&stage, &owner, &place, (salt, keys), &now).await?;
                onboarding += began.elapsed();
                let began = Instant::now();
                match Golem::wake(provisions).await? {
                    Waking::Awake(golem) => golems.push(golem),
                    Waking::Refused(denial) => bail!("{denial}"),
                }
                waking += began.elapsed();
            }
            std::io::stderr().write_all(format!("\r{} Golems live", golems.len()).as_bytes())?;
        }
        std::io::stderr().write_all(b"\r")?;
        // The first tick fixes and tells much that later ones do not: it is not timed.
        golems = ticked(golems, AT_ONCE).await?.0;
        let (kib, threads, files) = (weight()?.saturating_sub(empty), threads()?, open_files()?);
        let (back, took) = ticked(golems, AT_ONCE).await?;
        golems = back;
        let rate = per_second(golems.len(), took);
        let asked = node_rate(&stage).await?;
        let of_each =
            |took: Duration| -> Result<u64> { Ok(millis(took) / u64::try_from(added.max(1))?) };
        let (onboard_ms, wake_ms) = (of_each(onboarding)?, of_each(waking)?);
        let each = kib / u64::try_from(count)?;
        tell(format!(
            "{count:>7}{onboard_ms:>14}{wake_ms:>14}{each:>16}{threads:>12}{files:>12}{rate:>14.1}{:>12.4}\n",
            rate / asked
        ))?;
        rows.push(json!({
            "golems": count, "onboardMillis": onboard_ms, "wakeMillis": wake_ms, "kibEach": each, "threads": threads, "files": files,
            "ticksPerSecond": (rate * 10.0).round() / 10.0, "nodePerSecond": asked.round(),
        }));
    }
    let result = json!({ "busy": (busy * 100.0).round() / 100.0, "atOnce": AT_ONCE, "rows": rows });
    fs::create_dir_all(root().join("target/bench"))?;
    fs::write(root().join("target/bench/scale.json"), format!("{result:#}\n"))?;
    Ok(())
}

/// More Golems of the same owner, on the register and under a policy: all of them in one block, for the node copies all that it knows
/// with each, and that is not what is measured.
async fn registered(
    stage: &Stage,
    owner: &Owner,
    group: Range<usize>,
) -> Result<Vec<(B256, Keys)>> {
    let (book, signer, provider) = (stage.book(), owner.signer.address(), stage.node().provider());
    let mut assets = vec![Address::ZERO, book.usdc, book.weth];
    assets.sort_unstable();
    let policy = PolicyCage::Policy {
        constitutionHash: alloy::primitives::keccak256(CONSTITUTION),
        concentrationBps: 10_000,
        drawdownBps: 2_000,
        spendPerTransaction: 500_000_000,
        spendPerSession: 1_000_000_000,
        spendPerDay: 800_000_000,
        assets,
    };
    provider.anvil_impersonate_account(signer).await?;
    provider.anvil_set_auto_mine(false).await?;
    let (mut born, mut sent) = (Vec::new(), Vec::new());
    for number in group {
        let salt = B256::left_padding_from(&number.to_be_bytes());
        let keys = Keys::hosted();
        let key = keys.current().await.context("no key")?;
        let register = GolemRegistry::registerCall { salt, agentKey: key }.abi_encode();
        let publish = PolicyCage::publishCall { salt, policy: policy.clone() }.abi_encode();
        for (to, data) in [(golem_registry(), register), (policy_cage(), publish)] {
            let request = TransactionRequest::default()
                .with_from(signer)
                .with_to(to)
                .with_gas_limit(600_000)
                .with_input(data);
            sent.push(*provider.send_transaction(request).await?.tx_hash());
        }
        stage.fund(key, STIPEND, U256::ZERO).await?;
        born.push((salt, keys));
    }
    provider.anvil_mine(Some(1), None).await?;
    provider.anvil_set_auto_mine(true).await?;
    for hash in sent {
        let receipt = provider.get_transaction_receipt(hash).await?.context("not in its block")?;
        ensure!(receipt.status(), "not onboarded");
    }
    Ok(born)
}

/// One of them onboarded, with a grant that is signed.
async fn onboarded(
    stage: &Stage,
    owner: &Owner,
    folder: &Path,
    (salt, keys): (B256, Keys),
    now: &Arc<AtomicU64>,
) -> Result<Provisions> {
    let key = keys.current().await.context("no key")?;
    let (book, signer, at) = (stage.book(), owner.signer.address(), now.load(Relaxed));
    let golem = Registry::golem_id(signer, salt);
    let account = owner.account.address;
    let parties =
        CharterParties { golem_id: golem, owner: signer, account, agent_key: key, epoch: 1 };
    let law = book.charter(&parties, MortalityTimeWindow::new(at, at + 60 * DAY)?);
    let grant = Box::new(owner.signer.grant(&stage.domain(), chartered(&law)?)?);
    let config = StoreConfig { folder: folder.into(), golem, max_pages: None };
    let store = Arc::new(Store::open(&config, None)?);
    let steps = OnboardingSteps::new(store.as_ref());
    let request = SignIn {
        domain: "localhost".to_owned(),
        address: signer,
        statement: "Become the owner of a Golem.".to_owned(),
        uri: "bardo:onboard".to_owned(),
        chain_id: stage.node().chain_id(),
        nonce: SignIn::fresh_nonce(),
        issued_at: at,
        expires_at: at + 600,
    };
    let signature = owner.signer.sign_in(&request)?;
    steps.begin(request, at).await?;
    steps.signed_in(&signature, at).await?;
    steps.chose(CustodyMode::Delegation, at).await?;
    steps.set_up(Means::Granted { account, session: key, grant }, at).await?;
    let documents = Documents {
        strategy: "- goal: to be there\n".to_owned(),
        heartbeat: "- every: 1h\n".to_owned(),
        constitution: CONSTITUTION.to_owned(),
    };
    steps.wrote(&documents.strategy, &documents.heartbeat, at).await?;
    steps.registered(None, at).await?;
    let clock = Arc::clone(now);
    Ok(Provisions {
        node: stage.node().clone(),
        store,
        keys,
        documents,
        costs: DailyCosts::default(),
        expected_days: 3_650,
        machine_ends: None,
        payees: Vec::new(),
        consent: None,
        owner_day: None,
        lane: LanePolicy {
            confirmations: 1,
            poll: Duration::from_millis(20),
            ..LanePolicy::default()
        },
        strategist: None,
        folder: None,
        inbox: None,
        clock: Arc::new(move || clock.load(Relaxed)),
    })
}

/// Each of them once, so many at a time.
async fn ticked(golems: Vec<Golem>, at_once: usize) -> Result<(Vec<Golem>, Duration)> {
    let began = Instant::now();
    let (mut waiting, mut ticking, mut done) = (golems.into_iter(), JoinSet::new(), Vec::new());
    loop {
        while ticking.len() < at_once {
            let Some(mut golem) = waiting.next() else { break };
            ticking.spawn(async move {
                let ticked = golem.tick().await;
                ticked.map(|_| golem)
            });
        }
        match ticking.join_next().await {
            Some(golem) => done.push(golem?.map_err(|error| anyhow!(error))?),
            None => break,
        }
    }
    Ok((done, began.elapsed()))
}

/// How often the node answers one plain question, asked by as many at once.
async fn node_rate(stage: &Stage) -> Result<f64> {
    const EACH: usize = 200;
    let began = Instant::now();
    let mut asking = JoinSet::new();
    for _ in 0..AT_ONCE {
        let provider = stage.node().provider().clone();
        asking.spawn(async move {
            for _ in 0..EACH {
                provider.get_balance(Address::ZERO).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(asked) = asking.join_next().await {
        asked??;
    }
    Ok(per_second(AT_ONCE * EACH, began.elapsed()))
}

fn per_second(count: usize, took: Duration) -> f64 {
    u32::try_from(count).map_or(0.0, f64::from) / took.as_secs_f64()
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

/// What this process holds of the machine's memory, in KiB.
fn weight() -> Result<u64> {
    status("VmRSS:")
}

fn threads() -> Result<u64> {
    status("Threads:")
}

fn status(field: &str) -> Result<u64> {
    let text = fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)).context("no such field")?;
    Ok(line.split_whitespace().next().context("no number")?.parse()?)
}

fn open_files() -> Result<usize> {
    Ok(fs::read_dir("/proc/self/fd")?.count())
}
