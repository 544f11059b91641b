//! How many audited intents a Golem's store takes in a second, beside what its disk can do.
//!
//! The disk's own rate is that of writing a page over an old one and waiting until it has it, one after the other, in the same folder
//! and the same run: a log is written over again and again, too. An intent is one reservation with its record in the audit chain, answered once it is durable: by one caller after the other,
//! which is one commit each, and by 32 callers at once, who share commits. Rates are reported and not asserted: what lasts is the ratio.
//! `target/bench/store.json` keeps the numbers; BENCH_FOLDER names another disk.

mod machine;

use alloy::primitives::{Address, B256, keccak256};
use anyhow::{Result, anyhow, ensure};
use bardo_store::{Archive, OwnerLedger, Store, StoreConfig, verify};
use bardo_testkit::root;
use golem_custody::{Books, Caps, Entry, IntentId, Reserving};
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
    let names = Arc::new(AtomicU64::new(0));

    // Turn by turn, so that whatever else the disk does meanwhile falls on all of them.
    let (mut disk, mut one, mut many, mut owned) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        disk.push(syncs(folder.path())?);
        one.push(runtime.block_on(intents(&store, &names, 1))?);
        many.push(runtime.block_on(intents(&store, &names, CALLERS))?);
        owned.push(runtime.block_on(intents(&shared, &names, CALLERS))?);
    }
    drop((store, shared));
    for name in ["alone", "shared"] {
        let (records, seals) = Archive::open(&folder.path().join(name))?.audit()?;
        ensure!(verify(&records, &seals, &[]).is_whole(), "{name}: the chain does not verify");
    }

    let rows = [
        ("disk: fdatasync", median(disk)),
        ("one caller", median(one)),
        ("32 callers", median(many)),
        ("32, owner's cap", median(owned)),
    ];
    let [(_, disk), (_, one), ..] = rows;
    let mut table =
        format!("{:<18}{:>12}{:>12}{:>12}\n", "per second", "rate", "to disk", "to one");
    for (name, rate) in rows {
        table += &format!("{name:<18}{rate:>12.0}{:>12.2}{:>12.1}\n", rate / disk, rate / one);
    }
    let result = json!({
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

/// Intents that were reserved, audited and answered, by so many callers at once.
async fn intents(store: &Arc<Store>, names: &Arc<AtomicU64>, callers: u64) -> Result<f64> {
    let began = Instant::now();
    let done = Arc::new(AtomicU64::new(0));
    let working: Vec<_> = (0..callers)
        .map(|_| {
            let (store, names, done) = (store.clone(), names.clone(), done.clone());
            tokio::spawn(async move {
                while began.elapsed() < ROUND {
                    reserve(&store, names.fetch_add(1, Relaxed)).await?;
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

async fn reserve(store: &Store, number: u64) -> Result<()> {
    let entry = Entry {
        intent: IntentId(keccak256(number.to_be_bytes())),
        golem: GOLEM,
        owner: OWNER,
        session: Address::left_padding_from(&(number / 500).to_be_bytes()),
        micro_dollars: 1_000_000,
        at: NOW + number / 10_000,
        what: json!({ "do": "swap", "pool": Address::repeat_byte(9), "sum": number.to_string() }),
    };
    let caps = Caps { session: 1_000_000_000_000, day: 1_000_000_000_000, owner_day: None };
    let made = store.reserve(&entry, &caps).await.map_err(|error| anyhow!(error))?;
    ensure!(made == Reserving::Made, "{made:?}");
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or_default()
}
