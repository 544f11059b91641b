//! INV-1, INV-5, INV-6, INV-10: what is signed is in the books before anybody has it, and a process that ends at any moment leaves
//! what the next one brings to its end: nothing is done twice, and nothing is forgotten.

use alloy::primitives::{B256, Bytes, U256, hex};
use alloy::providers::ext::AnvilApi as _;
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::{Archive, Store, StoreConfig, verify};
use bardo_testkit::{Agent, Fault, Proxy, Stage, dollars, judged, swap};
use golem_chain::{AccountKind, Foresight, Landing, Lane, LanePolicy, Node};
use golem_custody::{
    Books, ClearingPolicy, IntentId, Judged, KeyHandle, Keys, Mandate, Open, Password, Proposed,
    Redemption, Rehearsal, Reservation, SessionKey, SessionSigner as _, crash::Failpoint, rehearse,
};
use std::{
    env,
    io::{self, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use tokio::process::Command;
use url::Url;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const GOLEM: B256 = B256::repeat_byte(0x60);
/// Where a Golem on its owner's machine has its key.
const KEY: &str = "session-key.json";

/// The places at which a process ends, and whether something was signed by then that may have left.
fn steps() -> impl Iterator<Item = (Failpoint, bool)> {
    let of_intents = Failpoint::ALL.iter().filter(|point| point.name().starts_with("intent."));
    of_intents.map(|point| {
        (*point, !matches!(point, Failpoint::IntentReserved | Failpoint::IntentSealed))
    })
}

pub(crate) fn policy() -> LanePolicy {
    LanePolicy {
        confirmations: 1,
        patience: PATIENCE,
        poll: Duration::from_millis(20),
        give_up: PATIENCE,
        ..LanePolicy::default()
    }
}

pub(crate) fn password() -> Result<Password> {
    Password::typed("one key".to_owned().into()).context("a password")
}

/// An agent whose key lies in a file and whose books lie beside it.
struct Desk {
    stage: Stage,
    agent: Agent,
    folder: TempDir,
    now: u64,
}

impl Desk {
    async fn new() -> Result<Self> {
        let stage = Stage::open().await?;
        let owner = stage.owner(AccountKind::Stateless7702).await?;
        let agent = Agent::hired(&stage, &owner, 20).await?;
        let folder = tempfile::tempdir()?;
        agent.key.save(&folder.path().join(KEY), &password()?)?;
        let now = stage.now().await?;
        Ok(Self { stage, agent, folder, now })
    }

    fn sale(&self, usd: u64) -> Result<Redemption> {
        self.agent.redemption(&swap(&self.stage, self.agent.account, dollars(usd)))
    }

    async fn sold(&self) -> Result<U256> {
        let left = self.stage.balance_of(self.stage.book().usdc, self.agent.account).await?;
        Ok(dollars(10_000) - left)
    }

    /// Another process with the same key and books, which redeems the sale of ten dollars.
    fn victim(&self, url: &Url, crash_at: Option<&str>) -> Result<Command> {
        let mut process = process(self.folder.path(), url, self.now, crash_at)?;
        process.env("BARDO_VICTIM_CALL", hex::encode(self.sale(10)?.calldata()));
        Ok(process)
    }

    fn mandate(&self) -> Result<(Mandate, Arc<Store>)> {
        mandate(self.folder.path())
    }

    async fn lane(&self, mandate: Mandate) -> Result<Lane<KeyHandle>> {
        let node = self.stage.node().clone();
        lane(self.folder.path(), node, mandate, self.now).await
    }

    /// The audit chain as anybody finds it.
    fn verified(&self) -> Result<Vec<String>> {
        verified(self.folder.path())
    }
}

/// The kinds of its records.
pub(crate) fn verified(folder: &Path) -> Result<Vec<String>> {
    let mut archive = Archive::open(&folder.join("books"))?;
    let (records, seals) = archive.audit()?;
    let found = verify(&records, &seals, &[]);
    ensure!(found.is_whole(), "{found}");
    Ok(records.iter().map(|record| record.kind.clone()).collect())
}

/// A process of the Golem in `folder`, which redeems what it is given and ends at a step of that.
///
/// It is given it as `BARDO_VICTIM_CALL`. A hosted Golem's key is born with its process: with `BARDO_VICTIM_HOSTED` it says on its
/// standard output which key it has, and reads from its standard input what to redeem with it.
pub(crate) fn process(
    folder: &Path,
    url: &Url,
    now: u64,
    crash_at: Option<&str>,
) -> Result<Command> {
    let mut process = Command::new(env::current_exe()?);
    process
        .args(["--exact", "books::victim", "--nocapture"])
        .env("BARDO_VICTIM", folder)
        .env("BARDO_VICTIM_URL", url.as_str())
        .env("BARDO_VICTIM_NOW", now.to_string())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    if let Some(step) = crash_at {
        process.env("BARDO_CRASH_AT", step);
    }
    Ok(process)
}

pub(crate) fn mandate(folder: &Path) -> Result<(Mandate, Arc<Store>)> {
    let config = StoreConfig { folder: folder.join("books"), golem: GOLEM, max_pages: None };
    let store = Arc::new(Store::open(&config, None)?);
    Ok((Mandate::by_hand(GOLEM, Default::default(), store.clone()), store))
}

async fn lane(folder: &Path, node: Node, mandate: Mandate, now: u64) -> Result<Lane<KeyHandle>> {
    let keys = Keys::local(folder, password()?)?;
    lane_of(&keys, node, mandate, now).await
}

/// The way to the chain of the key in use.
pub(crate) async fn lane_of(
    keys: &Keys,
    node: Node,
    mandate: Mandate,
    now: u64,
) -> Result<Lane<KeyHandle>> {
    let key = keys.signer().await.context("no key")?;
    Ok(Lane::open(Arc::new(Foresight::new(node)), key, mandate, policy(), move || now).await?)
}

pub(crate) async fn opened(store: &Store) -> Result<Vec<Open>> {
    store.open().await.map_err(|fault| anyhow::anyhow!(fault))
}

/// Signs something as the pipeline does, and hands it to nobody: the books have it, and whoever reads them.
pub(crate) async fn kept(
    stage: &Stage,
    keys: &Keys,
    mandate: &Mandate,
    judged: Judged,
) -> Result<Bytes> {
    let (key, now) = (keys.signer().await.context("no key")?, stage.now().await?);
    let (foresight, policy) = (stage.foresight(), ClearingPolicy::default());
    let rehearsed = match rehearse(&foresight, judged, key.address(), &policy).await? {
        Rehearsal::Passed(rehearsed) => rehearsed,
        Rehearsal::Refused(denial) => bail!("refused: {denial}"),
    };
    let cleared = match rehearsed.reserve(mandate, now).await? {
        Reservation::Made(cleared) => cleared,
        Reservation::Refused(denial) => bail!("not reserved: {denial}"),
    };
    let afloat = key.sign(cleared, now).await?.keep(mandate, now).await?;
    Ok(afloat.last().raw.clone())
}

/// The process that ends. It does nothing where nobody asked for it.
#[tokio::test]
async fn victim() -> Result<()> {
    let Some(folder) = env::var_os("BARDO_VICTIM").map(PathBuf::from) else { return Ok(()) };
    let url: Url = env::var("BARDO_VICTIM_URL")?.parse()?;
    let now = env::var("BARDO_VICTIM_NOW")?.parse()?;
    let hosted = env::var_os("BARDO_VICTIM_HOSTED").is_some();
    let keys = if hosted { Keys::hosted() } else { Keys::local(&folder, password()?)? };
    let call: Bytes = if hosted {
        // A line of its own, whatever the harness has written before.
        let key = keys.signer().await.context("no key")?.address();
        io::stdout().write_all(format!("\nkey {key}\n").as_bytes())?;
        io::stdout().flush()?;
        let mut call = String::new();
        io::stdin().read_line(&mut call)?;
        call.trim().parse()?
    } else {
        env::var("BARDO_VICTIM_CALL")?.parse()?
    };
    let sale = Redemption::decode(DELEGATION_MANAGER, &call).context("no redemption")?;
    let (mandate, _store) = mandate(&folder)?;
    let lane = lane_of(&keys, Node::connect(&url).await?, mandate, now).await?;
    done(&lane.redeem(judged(sale)).await?)
}

pub(crate) fn done(landing: &Landing) -> Result<()> {
    match landing {
        Landing::Done(receipt) if receipt.success => Ok(()),
        other => bail!("not done: {other:?}"),
    }
}

/// kill -9 at every step: the next process finishes what was signed, gives back what was not, and its own deed is one more.
#[tokio::test]
async fn a_process_that_ends_at_any_step_leaves_nothing_undone_and_nothing_doubled() -> Result<()> {
    for (point, leaves) in steps() {
        let step = point.name();
        let desk = Desk::new().await?;
        let url = desk.stage.chain().url();
        let status = desk.victim(url, Some(step))?.status().await?;
        assert_eq!(status.signal(), Some(9), "{step}: {status}");

        let (mandate, store) = desk.mandate()?;
        let open = opened(&store).await?;
        let lane = desk.lane(mandate).await?;
        let ends = lane.finish().await;

        let settled = usize::from(point == Failpoint::IntentEnded);
        assert_eq!(open.len(), 1 - settled, "{step}");
        assert_eq!(ends.len(), usize::from(leaves) - settled, "{step}: {ends:?}");
        for (_, end) in ends {
            done(&end?)?;
        }
        let first = if leaves { dollars(10) } else { U256::ZERO };
        assert_eq!(desk.sold().await?, first, "{step}");
        assert!(opened(&store).await?.is_empty(), "{step}");
        done(&lane.redeem(judged(desk.sale(20)?)).await?)?;
        assert_eq!(desk.sold().await?, first + dollars(20), "{step}");
        drop((lane, store));
        let kinds = desk.verified()?;
        ensure!(kinds.len() >= 4, "{step}: {kinds:?}");
    }
    Ok(())
}

/// The same while it waits: before the node has heard of it, and when the node has it and does not say so.
#[tokio::test]
async fn a_process_that_ends_while_it_waits_is_finished_by_the_next() -> Result<()> {
    for (method, heard) in [("eth_sendRawTransaction", false), ("eth_getTransactionReceipt", true)]
    {
        let desk = Desk::new().await?;
        let proxy = Proxy::before(desk.stage.chain().url(), Duration::ZERO).await?;
        proxy.fail(method, 1, Fault::Stall);
        let mut process = desk.victim(proxy.url(), None)?.spawn()?;
        let stalled = async {
            while proxy.failed() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            ended = process.wait() => bail!("{method}: it ended by itself: {ended:?}"),
            () = stalled => {}
        }
        process.kill().await?;
        assert_eq!(desk.sold().await?, if heard { dollars(10) } else { U256::ZERO }, "{method}");

        let (mandate, store) = desk.mandate()?;
        let lane = desk.lane(mandate).await?;
        // Whoever does not ask what was left gets it handed in before his own.
        done(&lane.redeem(judged(desk.sale(20)?)).await?)?;
        let ends = lane.finish().await;

        assert_eq!(desk.sold().await?, dollars(30), "{method}: {ends:?}");
        assert!(opened(&store).await?.is_empty(), "{method}");
    }
    Ok(())
}

/// INV-6: a second process on the same books is refused, while the first lives.
#[tokio::test]
async fn a_second_process_on_the_same_books_signs_nothing() -> Result<()> {
    let desk = Desk::new().await?;
    let (mandate, store) = desk.mandate()?;

    let refused = desk.victim(desk.stage.chain().url(), None)?.status().await?;

    ensure!(!refused.success(), "it did");
    assert_eq!(desk.sold().await?, U256::ZERO);
    drop((mandate, store));
    let taken = desk.victim(desk.stage.chain().url(), None)?.status().await?;
    ensure!(taken.success(), "{taken}");
    assert_eq!(desk.sold().await?, dollars(10));
    Ok(())
}

/// INV-10: a name is used once, whatever became of it.
#[tokio::test]
async fn the_same_intent_twice_is_one_deed() -> Result<()> {
    let desk = Desk::new().await?;
    let (mandate, store) = desk.mandate()?;
    let lane = desk.lane(mandate).await?;
    let name = IntentId(B256::repeat_byte(7));
    #[expect(clippy::disallowed_methods, reason = "what comes after a judgement is shown")]
    let asked = || -> Result<Judged> { Ok(Proposed::new(name, desk.sale(10)?).by_hand()) };

    done(&lane.redeem(asked()?).await?)?;
    let again = lane.redeem(asked()?).await;

    ensure!(!matches!(again, Ok(Landing::Done(_))), "{again:?}");
    assert_eq!(desk.sold().await?, dollars(10));
    assert!(opened(&store).await?.is_empty());
    Ok(())
}

/// INV-5: a price that is raised is in the books before the node has it, and they know both.
#[tokio::test]
async fn every_price_that_was_bid_is_in_the_books() -> Result<()> {
    let desk = Desk::new().await?;
    let provider = desk.stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let (mandate, store) = desk.mandate()?;
    let (key, now) = (desk.folder.path().join(KEY), desk.now);
    let key = SessionKey::open(&key, &password()?)?;
    let foresight = Arc::new(Foresight::new(desk.stage.node().clone()));
    let eager = LanePolicy { patience: Duration::from_millis(100), ..policy() };
    let lane = Lane::open(foresight, key, mandate, eager, move || now).await?;

    let raised = async {
        loop {
            let open = opened(&store).await?;
            if let Some([first, .., last]) = open.first().map(|one| &one.bids[..]) {
                provider.anvil_set_auto_mine(true).await?;
                provider.anvil_mine(Some(1), None).await?;
                return anyhow::Ok((first.clone(), last.clone()));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let sale = judged(desk.sale(10)?);
    let (landing, bids) = tokio::join!(lane.redeem(sale), tokio::time::timeout(PATIENCE, raised));

    let (first, last) = bids??;
    done(&landing?)?;
    assert_eq!(first.place, last.place);
    assert_ne!(first.hash, last.hash);
    assert_eq!(desk.sold().await?, dollars(10));
    Ok(())
}
