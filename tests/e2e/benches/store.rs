//! How many audited intents a Golem's store takes in a second, beside what its disk can do.
//!
//! The disk's own rate is that of writing a page over an old one and waiting until it has it, one after the other, in the same folder
//! and the same run: a log is written over again and again, too. An intent is one reservation with its record in the audit chain,
//! answered once it is durable. "One caller" is the rate of one per commit: one intent after the other, each a commit of its own that
//! nobody shares. 32 callers at once share commits; "to one" is how many times the rate of the one caller they get. Under an owner's cap
//! each batch is a commit in his ledger first. A whole intent is reserved, signed and done: three answers, three records.
//! Rates are reported and not asserted: what lasts is the ratio, of the medians and of each round.
//! `target/bench/store.json` keeps the numbers; BENCH_FOLDER names another disk.

mod machine;

use alloy::primitives::{Address, B256, U256, keccak256};
use anyhow::{Result, anyhow, ensure};
use bardo_store::{Archive, OwnerLedger, Store, StoreConfig, verify};
use bardo_testkit::root;
use golem_custody::{Bid, Books, BoxError, Caps, Ending, Entry, IntentId, Reserving, Route};
use serde_json::json;
use std::{
    env,
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::{FileExt, PermissionsExt},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(1_000);
const CALLERS: u64 = 32;
/// As many as SQLite's log has before it is written over.
const PAGES: u32 = 4_000;
const NOW: u64 = 1_800_000_000;
const GOLEM: B256 = B256::repeat_byte(0x60);
const CAPS: Caps = Caps { session: 1_000_000_000_000, day: 1_000_000_000_000, owner_day: None };
const OWNERS_CAP: Caps = Caps { owner_day: Some(1_000_000_000_000), ..CAPS };
const OWNER: Address = Address::repeat_byte(0x0a);

fn main() -> Result<()> {
    let busy = machine::quiet()?;
    let place = env::var_os("BENCH_FOLDER").map_or_else(|| root().join("target"), Into::into);
    fs::create_dir_all(&place)?;
    let folder = tempfile::tempdir_in(place)?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
    let runtime = Runtime::new()?;
    let store = Arc::new(open(&folder.path().join("alone"), None)?);
    let ledger = OwnerLedger::open(&folder.path().join("owner.db"), OWNER)?;
    let shared = Arc::new(open(&folder.path().join("shared"), Some(&ledger))?);
    let lives = Arc::new(open(&folder.path().join("lives"), None)?);
    let names = Arc::new(AtomicU64::new(0));

    // Turn by turn, so that whatever else the disk does meanwhile falls on all of them.
    let (mut disk, mut one, mut many) = (vec![], vec![], vec![]);
    let (mut owned, mut whole) = (vec![], vec![]);
    for _ in 0..ROUNDS {
        let rate = |store, caps, callers, to_the_end| {
            runtime.block_on(intents(store, &names, caps, callers, to_the_end))
        };
        disk.push(syncs(folder.path())?);
        one.push(rate(&store, CAPS, 1, false)?);
        many.push(rate(&store, CAPS, CALLERS, false)?);
        owned.push(rate(&shared, OWNERS_CAP, CALLERS, false)?);
        whole.push(rate(&lives, CAPS, CALLERS, true)?);
    }
    let rounds: Vec<String> =
        one.iter().zip(&many).map(|(one, many)| format!("{:.1}", many / one)).collect();
    drop((store, shared, lives));
    for name in ["alone", "shared", "lives"] {
        let (records, seals) = Archive::open(&folder.path().join(name))?.audit()?;
        ensure!(verify(&records, &seals, &[]).is_whole(), "{name}: the chain does not verify");
    }

    let rows = [
        ("disk: fdatasync", median(disk)),
        ("one caller", median(one)),
        ("32 callers", median(many)),
        ("32, owner's cap", median(owned)),
        ("32, whole intents", median(whole)),
    ];
    let [(_, disk), (_, one), (_, many), ..] = rows;
    let mut table =
        format!("{:<20}{:>12}{:>12}{:>12}\n", "per second", "rate", "to disk", "to one");
    for (name, rate) in rows {
        table += &format!("{name:<20}{rate:>12.0}{:>12.2}{:>12.1}\n", rate / disk, rate / one);
    }
    table += &format!(
        "32 callers to one per commit: {:.1} times; round by round: {}\n",
        many / one,
        rounds.join(" "),
    );
    let result = json!({
        "timesOnePerCommit": { "median": format!("{:.1}", many / one), "rounds": rounds },
        "busy": (busy * 100.0).round() / 100.0,
        "callers": CALLERS,
        "perSecond": rows.iter().map(|(name, rate)| (*name, rate.round())).collect::<std::collections::BTreeMap<_, _>>(),
    });
    fs::create_dir_all(root().join("target/bench"))?;
    fs::write(root().join("target/bench/store.json"), format!("{result:#}\n"))?;
    std::io::stdout().write_all(table.as_bytes())?;
    Ok(())
}

fn open(folder: &Path, ledger: Option<&OwnerLedger>) -> Result<Store> {
    let config = StoreConfig { folder: folder.into(), golem: GOLEM, max_pages: None };
    Ok(Store::open(&config, ledger)?)
}

/// What the disk does: a page written over an old one, and on it when the call returns.
fn syncs(folder: &Path) -> Result<f64> {
    let path = folder.join("disk");
    let file = OpenOptions::new().create(true).truncate(true).write(true).open(&path)?;
    let page = [7u8; 4_096];
    for number in 0..PAGES {
        file.write_all_at(&page, u64::from(number) * 4_096)?;
    }
    file.sync_all()?;
    let began = Instant::now();
    let mut count = 0u32;
    while began.elapsed() < ROUND {
        file.write_all_at(&page, u64::from(count % PAGES) * 4_096)?;
        file.sync_data()?;
        count += 1;
    }
    Ok(f64::from(count) / began.elapsed().as_secs_f64())
}

/// Intents that were reserved, audited and answered, by so many callers at once; some of them to the end.
async fn intents(
    store: &Arc<Store>,
    names: &Arc<AtomicU64>,
    caps: Caps,
    callers: u64,
    to_the_end: bool,
) -> Result<f64> {
    let began = Instant::now();
    let done = Arc::new(AtomicU64::new(0));
    let working: Vec<_> = (0..callers)
        .map(|_| {
            let (store, names, done) = (store.clone(), names.clone(), done.clone());
            tokio::spawn(async move {
                while began.elapsed() < ROUND {
                    let entry = entry(names.fetch_add(1, Relaxed));
                    reserve(&store, &entry, &caps).await?;
                    if to_the_end {
                        finish(&store, &entry).await.map_err(|error| anyhow!(error))?;
                    }
                    done.fetch_add(1, Relaxed);
                }
                Ok::<_, anyhow::Error>(())
            })
        })
        .collect();
    for worker in working {
        worker.await??;
    }
    let done = u32::try_from(done.load(Relaxed))?;
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}

fn entry(number: u64) -> Entry {
    Entry {
        intent: IntentId(keccak256(number.to_be_bytes())),
        golem: GOLEM,
        owner: OWNER,
        session: Address::left_padding_from(&(number / 500).to_be_bytes()),
        micro_dollars: 1_000_000,
        at: NOW + number / 10_000,
        what: json!({ "do": "swap", "pool": Address::repeat_byte(9), "sum": number.to_string() }),
    }
}

async fn reserve(store: &Store, entry: &Entry, caps: &Caps) -> Result<()> {
    let made = store.reserve(entry, caps).await.map_err(|error| anyhow!(error))?;
    ensure!(made == Reserving::Made, "{made:?}");
    Ok(())
}

/// The rest of an intent's life: what is signed for it, and that it took effect.
async fn finish(store: &Store, entry: &Entry) -> Result<(), BoxError> {
    let hash = keccak256(entry.intent.0);
    let bytes = vec![0x02; 200].into();
    let bid = Bid { route: Route::Transaction, hash, place: U256::ZERO, since: 7, bytes };
    store.signed(entry.intent, &bid, entry.at).await?;
    store.settle(entry.intent, &Ending::Done { hash, block: 8 }, entry.at).await
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}
