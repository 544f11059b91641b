//! SPEC G9, C6, C15; ATK-07, ATK-08, ATK-09, ATK-46: children in processes of their own, with keys that were born there, on a real chain.

mod bounds;
mod parents;

use crate::life::{CONSTITUTION, DAY, DOLLAR, Home};
use alloy::primitives::{Address, B256, U256, keccak256};
use anyhow::{Context as _, Result, bail, ensure};
use async_trait::async_trait;
use bardo_bindings::{GolemLifecycle, framework::DELEGATION_MANAGER, golem_lifecycle};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{STIPEND, dollars, fair_swap};
use golem_chain::{LanePolicy, Node};
use golem_custody::{BoxError, DenialCode, Introduction, Keys, Outcome as Rehearsed, Redemption};
use golem_delegation::{Delegation, PermissionContext};
use golem_runtime::{
    Errand, Golem, GolemEvent, Inbox, Inheritance, Introduced, Outcome, Rearing, Replicant,
    Spawning, Strategist, Thought, Wish, World,
};
use serde::{Deserialize, Serialize};
use std::{
    env,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// What marks a line of a process of these among those of the harness.
const MARK: &str = "replicant: ";

/// Nothing of its own, and children.
async fn parent() -> Result<Home> {
    Home::under("- goal: none of its own\n", "- every: 1h\n", |law| law.replicants = true).await
}

const fn errand(usd: u64) -> Errand {
    let (budget, lifespan) = (usd * DOLLAR, 3 * DAY);
    Errand { budget, lifespan, targets: vec![], methods: vec![], calls: None }
}

/// Sells so many dollars, whenever it is asked.
struct Sells {
    sell: Address,
    buy: Address,
    usd: AtomicU64,
}

#[async_trait]
impl Strategist for Sells {
    fn name(&self) -> &str {
        "sells"
    }

    async fn think(&self, _: &World) -> Result<Thought, BoxError> {
        let micro_dollars = self.usd.load(Ordering::Relaxed) * DOLLAR;
        let wish = Wish::Swap { sell: self.sell, buy: self.buy, micro_dollars };
        Ok(Thought::Wishes(if micro_dollars == 0 { vec![] } else { vec![wish] }))
    }
}

/// What a process of these is asked.
#[derive(Serialize, Deserialize)]
enum Ask {
    /// Of a child: who it is.
    Introduce(Introduction),
    /// Of a child: to wake with this.
    Inherit(Inheritance),
    /// Of a child: to sell so much in this second.
    Sell { now: u64, usd: u64 },
    /// Of a parent: to make this child.
    Spawn { errand: Errand, introduced: Introduced },
}

/// What it answers.
#[derive(Serialize, Deserialize)]
enum Reply {
    Introduced(Introduced),
    Awake,
    /// Codes of refusals; none where it was done.
    Sold {
        codes: Vec<String>,
        wanted: usize,
        ended: bool,
    },
    Spawned(Box<Inheritance>),
}

/// One of these processes.
struct Kin {
    process: Child,
    asks: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Kin {
    fn starts(home: &Home, role: &str, folder: &Path, crash_at: Option<&str>) -> Result<Self> {
        let book = home.stage.book();
        let mut command = Command::new(env::current_exe()?);
        command
            .args(["--exact", "replicants::kin", "--nocapture"])
            .env("BARDO_KIN", role)
            .env("BARDO_KIN_FOLDER", folder)
            .env("BARDO_KIN_URL", home.stage.chain().url().as_str())
            .env("BARDO_KIN_GOLEM", home.id.to_string())
            .env("BARDO_KIN_NOW", home.now().to_string())
            .env("BARDO_KIN_TOKENS", format!("{},{}", book.usdc, book.weth))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        if let Some(step) = crash_at {
            command.env("BARDO_CRASH_AT", step);
        }
        let mut process = command.spawn()?;
        let asks = process.stdin.take().context("no stdin")?;
        let replies = process.stdout.take().context("no stdout")?;
        Ok(Self { process, asks, replies: BufReader::new(replies).lines() })
    }

    /// None where the process ended instead.
    async fn asked(&mut self, ask: &Ask) -> Result<Option<Reply>> {
        let line = format!("{}\n", serde_json::to_string(ask)?);
        self.asks.write_all(line.as_bytes()).await?;
        while let Some(line) = self.replies.next_line().await? {
            if let Some((_, reply)) = line.split_once(MARK) {
                return Ok(Some(serde_json::from_str(reply)?));
            }
        }
        Ok(None)
    }

    async fn answers(&mut self, ask: &Ask) -> Result<Reply> {
        self.asked(ask).await?.context("the process ended")
    }

    /// kill -9.
    async fn killed(mut self) -> Result<()> {
        self.process.kill().await?;
        Ok(())
    }
}

/// A child, as its parent's test sees it.
struct Nursling {
    kin: Kin,
    introduced: Introduced,
    inheritance: Option<Inheritance>,
    _folder: TempDir,
}

impl Nursling {
    /// A process with a key of its own, that has said to this parent who it is; and gas money from the owner.
    async fn born(home: &Home, golem: &Golem) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut kin = Kin::starts(home, "child", folder.path(), None)?;
        let asked =
            golem.asks_for_a_child(keccak256(folder.path().as_os_str().as_encoded_bytes())).await?;
        let Reply::Introduced(introduced) = kin.answers(&Ask::Introduce(asked)).await? else {
            bail!("no introduction")
        };
        home.stage.fund(introduced.introduction.child, STIPEND, U256::ZERO).await?;
        Ok(Self { kin, introduced, inheritance: None, _folder: folder })
    }

    /// The same, and made a child.
    async fn of(home: &Home, golem: &Golem, errand: &Errand) -> Result<Self> {
        let mut child = Self::born(home, golem).await?;
        let spawned = golem.spawns(errand, &child.introduced).await?;
        child.inherits(spawned).await?;
        Ok(child)
    }

    async fn inherits(&mut self, spawning: Spawning) -> Result<()> {
        let Spawning::Spawned(inheritance) = spawning else { bail!("{spawning:?}") };
        self.inheritance = Some((*inheritance).clone());
        let Reply::Awake = self.kin.answers(&Ask::Inherit(*inheritance)).await? else {
            bail!("it does not wake")
        };
        Ok(())
    }

    /// Why it can do nothing any more, in words; none of them while it can.
    async fn over(&self, home: &Home) -> Result<String> {
        let inheritance = self.inheritance.as_ref().context("no child yet")?;
        Ok(Replicant::is_over(home.stage.node(), inheritance).await?.unwrap_or_default())
    }

    const fn key(&self) -> Address {
        self.introduced.introduction.child
    }

    fn id(&self) -> Result<B256> {
        Ok(self.inheritance.as_ref().context("no child yet")?.replicant)
    }

    fn context(&self) -> Result<PermissionContext> {
        let inheritance = self.inheritance.as_ref().context("no child yet")?;
        Ok(PermissionContext::decode(&inheritance.context)?)
    }

    /// The child itself sells.
    async fn sells(&mut self, home: &Home, usd: u64) -> Result<(Vec<String>, bool)> {
        let ask = Ask::Sell { now: home.now(), usd };
        let Reply::Sold { codes, wanted, ended } = self.kin.answers(&ask).await? else {
            bail!("no sale")
        };
        ensure!(wanted == 1 || ended, "it wanted nothing");
        Ok((codes, ended))
    }

    /// It is done.
    async fn sold(&mut self, home: &Home, usd: u64) -> Result<()> {
        let (codes, ended) = self.sells(home, usd).await?;
        ensure!(codes.is_empty() && !ended, "not sold: {codes:?}, ended: {ended}");
        Ok(())
    }

    /// A thief with the child's key and both links, who asks nobody but the chain.
    async fn stolen(&self, home: &Home, usd: u64) -> Result<Option<DenialCode>> {
        judged(home, self.context()?, self.key(), usd).await
    }
}

/// What the chain says to a sale of this key's under these links.
async fn judged(
    home: &Home,
    context: PermissionContext,
    key: Address,
    usd: u64,
) -> Result<Option<DenialCode>> {
    let call = fair_swap(&home.stage, home.vault.address, dollars(usd));
    let redemption = Redemption::single(DELEGATION_MANAGER, context, &call);
    Ok(match home.stage.foresight().judge(&redemption, key).await? {
        Rehearsed::Refused(denial) => Some(denial.code),
        Rehearsed::Allowed(_) => None,
    })
}

/// How many children the chain knows.
async fn on_chain(home: &Home) -> Result<U256> {
    let asked = GolemLifecycle::replicantsOfCall { account: home.vault.address, golemId: home.id };
    Ok(home.stage.node().read(golem_lifecycle(), asked).await?)
}

/// How often the log tells of something of this kind.
fn told(home: &Home, kind: &str) -> Result<usize> {
    let told = home.log()?;
    Ok(told
        .iter()
        .filter(|record| GolemEvent::of_record(&record.kind, &record.body).kind().name == kind)
        .count())
}

/// Where an owner puts what he signs.
#[derive(Default)]
struct Letters(Mutex<Vec<Delegation>>);

#[async_trait]
impl Inbox for Letters {
    async fn grants(&self) -> Result<Vec<Delegation>, BoxError> {
        Ok(self.0.lock().map_err(|_poisoned| "poisoned")?.drain(..).collect())
    }

    async fn answered(&self, _: &Delegation, words: &str) -> Result<(), BoxError> {
        if words == "it is in use" || words == "the next key may follow" {
            Ok(())
        } else {
            Err(words.into())
        }
    }
}

fn said(reply: &Reply) -> Result<()> {
    let line = format!("\n{MARK}{}\n", serde_json::to_string(reply)?);
    io::stdout().write_all(line.as_bytes())?;
    io::stdout().flush()?;
    Ok(())
}

fn heard() -> Result<Option<Ask>> {
    let mut line = String::new();
    if io::stdin().read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

fn lane() -> LanePolicy {
    LanePolicy { confirmations: 1, poll: Duration::from_millis(20), ..LanePolicy::default() }
}

/// The other process. It does nothing where nobody asked for it.
#[tokio::test]
async fn kin() -> Result<()> {
    let Ok(role) = env::var("BARDO_KIN") else { return Ok(()) };
    let folder = PathBuf::from(env::var("BARDO_KIN_FOLDER")?);
    let node = Node::connect(&env::var("BARDO_KIN_URL")?.parse()?).await?;
    let golem = env::var("BARDO_KIN_GOLEM")?.parse()?;
    let now = Arc::new(AtomicU64::new(env::var("BARDO_KIN_NOW")?.parse()?));
    if role == "parent" {
        parents::kin(&folder, node, golem, now).await
    } else {
        child(&folder, node, now).await
    }
}

async fn child(folder: &Path, node: Node, now: Arc<AtomicU64>) -> Result<()> {
    let tokens = env::var("BARDO_KIN_TOKENS")?;
    let (sell, buy) = tokens.split_once(',').context("two tokens")?;
    let sells = Sells { sell: sell.parse()?, buy: buy.parse()?, usd: AtomicU64::new(0) };
    let (sells, keys) = (Arc::new(sells), Keys::hosted());
    let mut replicant = None;
    while let Some(ask) = heard()? {
        match ask {
            Ask::Introduce(asked) => {
                said(&Reply::Introduced(Replicant::introduces(&keys, asked).await?))?;
            }
            Ask::Inherit(inheritance) => {
                let golem = inheritance.replicant;
                let config = StoreConfig { folder: folder.join("books"), golem, max_pages: None };
                let clock = Arc::clone(&now);
                let rearing = Rearing {
                    node: node.clone(),
                    store: Arc::new(Store::open(&config, None)?),
                    keys: keys.clone(),
                    inheritance,
                    constitution: CONSTITUTION.to_owned(),
                    strategist: sells.clone(),
                    owner_day: None,
                    lane: lane(),
                    clock: Arc::new(move || clock.load(Ordering::Relaxed)),
                };
                replicant =
                    Some(Replicant::wake(rearing).await?.map_err(|no| anyhow::anyhow!(no))?);
                said(&Reply::Awake)?;
            }
            Ask::Sell { now: at, usd } => {
                now.store(at, Ordering::Relaxed);
                sells.usd.store(usd, Ordering::Relaxed);
                let stirred = replicant.as_mut().context("not awake")?.tick().await?;
                let mut codes = Vec::new();
                for (_, outcome) in &stirred.deeds {
                    match outcome {
                        Outcome::Done => {}
                        Outcome::Refused(denials) => {
                            codes.extend(denials.iter().map(|one| one.code.to_string()))
                        }
                        other => bail!("{other:?}"),
                    }
                }
                let (wanted, ended) = (stirred.deeds.len(), stirred.ended.is_some());
                said(&Reply::Sold { codes, wanted, ended })?;
            }
            Ask::Spawn { .. } => bail!("a child has none"),
        }
    }
    Ok(())
}
