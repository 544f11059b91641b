//! INV-9: kill -9 at every step of a death, on a real chain and a real disk. The next process goes on; nothing is done twice.

use super::{Deathbed, books, die, parts};
use alloy::{
    primitives::{Bytes, U256, hex},
    providers::{Provider as _, ext::AnvilApi as _},
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_store::Store;
use golem_chain::{AccountKind, Node};
use golem_custody::{DeathSteps, Holding, SettledPosition, Settlement, Settling, crash::Failpoint};
use golem_delegation::PermissionContext;
use std::{
    env, fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};
use tempfile::TempDir;
use tokio::process::Command;

const SIGKILL: i32 = 9;
const KEY: &str = "session-key.json";
/// More than a death has intents.
const MOST_KILLS: usize = 30;

/// Between each step's effect and its record, and behind the record.
const STEPS: [&str; 11] = [
    "settlement.accepted",
    "settlement.closing",
    "settlement.closed",
    "settlement.disallowing",
    "settlement.disallowed",
    "settlement.returning",
    "settlement.returned",
    "settlement.deregistering",
    "settlement.deregistered",
    "settlement.settling",
    "settlement.settled",
];

/// The process that ends. It does nothing where nobody asked for it.
#[tokio::test]
async fn victim() -> Result<()> {
    let Some(folder) = env::var_os("BARDO_DYING").map(PathBuf::from) else { return Ok(()) };
    let node = Node::connect(&env::var("BARDO_DYING_URL")?.parse()?).await?;
    let context: Bytes = env::var("BARDO_DYING_CONTEXT")?.parse()?;
    let context = PermissionContext::decode(&context)?;
    let now = env::var("BARDO_DYING_NOW")?.parse()?;
    let settling = die(&folder, node, context, now).await?;
    ensure!(matches!(settling, Settling::Done(_)), "{settling:?}");
    Ok(())
}

/// A process that dies in `folder`.
async fn process(bed: &Deathbed, folder: &Path, crash_at: Option<&str>) -> Result<ExitStatus> {
    let now = bed.field.stage.now().await?;
    let mut process = Command::new(env::current_exe()?);
    process
        .args(["--exact", "settlement::crash::victim", "--nocapture"])
        .env("BARDO_DYING", folder)
        .env("BARDO_DYING_URL", bed.field.stage.chain().url().as_str())
        .env("BARDO_DYING_CONTEXT", hex::encode(bed.context.encode()))
        .env("BARDO_DYING_NOW", now.to_string())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    if let Some(step) = crash_at {
        process.env("BARDO_CRASH_AT", step);
    }
    Ok(process.status().await?)
}

/// What a death leaves: transactions of the key, dollars of the owner, and what is said of it, but for amounts of gas money.
async fn left(bed: &Deathbed, folder: &Path) -> Result<(u64, U256, Vec<(Holding, U256)>)> {
    let sent = bed.node().provider().get_transaction_count(bed.law.agent_key).await?;
    let store = Store::open(&books(folder, bed.law.golem_id), None)?;
    let at = DeathSteps::new(&store, U256::ZERO).at().await?;
    let Some(Settlement::Settled { death, .. }) = at else { bail!("not settled: {at:?}") };
    let (settled, deferred) = parts(&death)?;
    assert_eq!(deferred, []);
    let known = |one: &SettledPosition| match one.of {
        Holding::Native => (one.of, U256::ZERO),
        of => (of, one.amount),
    };
    Ok((sent, bed.usdc(bed.law.owner).await?, settled.iter().map(known).collect()))
}

#[tokio::test]
async fn killed_anywhere_a_death_ends_settled_and_nothing_is_done_twice() -> Result<()> {
    let bed = Deathbed::open(AccountKind::Hybrid).await?;
    let provider = bed.node().provider();
    let mut scene = provider.anvil_snapshot().await?;
    let begun = |at: &str| -> Result<TempDir> {
        let folder = tempfile::tempdir().context(at.to_owned())?;
        fs::copy(bed.folder.path().join(KEY), folder.path().join(KEY))?;
        Ok(folder)
    };
    let folder = begun("alive")?;
    let whole = process(&bed, folder.path(), None).await?;
    ensure!(whole.success(), "{whole}");
    let once = left(&bed, folder.path()).await?;
    ensure!(once.2.len() >= 5, "{once:?}");

    let of_intents = Failpoint::ALL.iter().map(|point| point.name());
    let of_intents = of_intents.filter(|name| name.starts_with("intent."));
    for step in STEPS.into_iter().chain(of_intents) {
        ensure!(provider.anvil_revert(scene).await?, "{step}: no way back");
        scene = provider.anvil_snapshot().await?;
        let folder = begun(step)?;
        let killed = process(&bed, folder.path(), Some(step)).await?;
        ensure!(killed.signal() == Some(SIGKILL), "{step}: {killed}");

        // Of what each next process brings one further, every one is killed.
        let each = [Failpoint::IntentKept, Failpoint::IntentEnded].map(Failpoint::name);
        let mut done = killed;
        for _ in 0..MOST_KILLS {
            let crash_at = each.contains(&step).then_some(step);
            done = process(&bed, folder.path(), crash_at).await?;
            if done.success() {
                break;
            }
        }

        ensure!(done.success(), "{step}: {done}");
        assert_eq!(left(&bed, folder.path()).await?, once, "{step}");
        assert_eq!(bed.positions().await?, U256::ZERO, "{step}");
        bed.nobody_may_take().await?;
        ensure!(!folder.path().join(KEY).exists(), "{step}: the key is there");
    }
    Ok(())
}
