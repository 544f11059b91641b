//! SPEC L1 to L4, K1, K9, P2, T3: a Golem's days, on a real chain, from onboarding on.

mod again;
mod approvals;
mod awake;
mod costs;
mod crashes;
mod days;
mod deaths;
mod events;
mod keys;
mod marks;
mod modes;
mod policy;
mod reserve;

use alloy::primitives::{Address, B256, U256, keccak256};
use anyhow::{Context as _, Result, bail};
use bardo_store::{Archive, Record, Store, StoreConfig, verify};
use bardo_testkit::{STIPEND, Stage, chartered, dollars, fixed_signer};
use golem_chain::{
    Account, Deposit, Entry, LanePolicy, Node, OWNER_FEE_CEILING, Onboard, Registry, Writing,
    Written, hybrid_account, local::CharterParties,
};
use golem_custody::{
    Asset, CustodyChoice, DailyCosts, Keyring as _, Keys, Means, OwnerSigner, SignIn,
};
use golem_delegation::terms::{GolemCharter, MortalityTimeWindow};
use golem_runtime::{Documents, Golem, Provisions, Strategist, Ticked, Told, Waking};
use golem_safety::Policy;
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;

pub(crate) const SALT: B256 = B256::repeat_byte(0x1f);
pub(crate) const CONSTITUTION: &str = "Do no harm.\n";
pub(crate) const DOLLAR: u64 = 1_000_000;
pub(crate) const HOUR: u64 = 3_600;
pub(crate) const DAY: u64 = 86_400;
pub(crate) const DCA: &str =
    "# Strategy\n\n- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $50\n- every: 1d\n";

/// An owner, his vault with 2,000 dollars, and a Golem that was onboarded and has not ticked.
pub(crate) struct Home {
    pub(crate) stage: Stage,
    pub(crate) owner: OwnerSigner,
    pub(crate) vault: Account,
    pub(crate) keys: Keys,
    pub(crate) folder: TempDir,
    pub(crate) id: B256,
    pub(crate) documents: Documents,
    /// The chain's own time: what all clocks go by here.
    pub(crate) now: Arc<AtomicU64>,
}

impl Home {
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) async fn with(strategy: &str, heartbeat: &str) -> Result<Self> {
        Self::under(strategy, heartbeat, |_| ()).await
    }

    pub(crate) async fn under(
        strategy: &str,
        heartbeat: &str,
        change: impl FnOnce(&mut GolemCharter),
    ) -> Result<Self> {
        Self::keeping(|_| Ok(Keys::hosted()), strategy, heartbeat, change).await
    }

    /// The same, whose keys are where the caller wants them.
    pub(crate) async fn keeping(
        keys: impl FnOnce(&Path) -> Result<Keys>,
        strategy: &str,
        heartbeat: &str,
        change: impl FnOnce(&mut GolemCharter),
    ) -> Result<Self> {
        let stage = Stage::open().await?;
        let owner = fixed_signer(0x0c)?;
        let ten = U256::from(10_000_000_000_000_000_000u128);
        stage.fund(owner.address(), ten, dollars(10_000)).await?;
        let now = stage.now().await?;
        let vault = hybrid_account(owner.address(), B256::ZERO, &stage.book().proxy_code);
        let folder = tempfile::tempdir()?;
        let keys = keys(folder.path())?;
        let id = Registry::golem_id(owner.address(), SALT);
        let documents = documents(strategy, heartbeat);
        let now = Arc::new(AtomicU64::new(now));
        let home = Self { stage, owner, vault, keys, folder, id, documents, now };
        home.onboards(change).await?;
        Ok(home)
    }

    /// What its owner publishes for it first.
    pub(crate) fn policy(&self) -> Policy {
        let book = self.stage.book();
        let mut assets = vec![Address::ZERO, book.usdc, book.weth];
        assets.sort_unstable();
        Policy {
            constitution_hash: keccak256(CONSTITUTION),
            concentration_bps: 10_000,
            drawdown_bps: 2_000,
            spend_per_transaction: 500 * DOLLAR,
            spend_per_session: 100_000 * DOLLAR,
            spend_per_day: 800 * DOLLAR,
            assets,
        }
    }

    async fn onboards(&self, change: impl FnOnce(&mut GolemCharter)) -> Result<()> {
        let (book, now) = (self.stage.book(), self.now());
        let store = self.store()?;
        let mode = self.keys.mode().await;
        let _ = CustodyChoice::new(store.as_ref()).choose(mode, now).await?;
        let onboard = Onboard {
            node: self.stage.node(),
            owner: &self.owner,
            steps: store.as_ref(),
            mode,
            salt: SALT,
            key: None,
            vault: Some(self.vault.clone()),
            policy: self.policy(),
            stipend: STIPEND,
            deposits: vec![Deposit { asset: Asset::Erc20(book.usdc), amount: dollars(2_000) }],
            identity: None,
            strategy: self.documents.strategy.clone(),
            heartbeat: self.documents.heartbeat.clone(),
            ceiling: OWNER_FEE_CEILING,
        };
        let request = SignIn {
            domain: "localhost".to_owned(),
            address: self.owner.address(),
            statement: "Become the owner of a Golem.".to_owned(),
            uri: "bardo:onboard".to_owned(),
            chain_id: self.stage.node().chain_id(),
            nonce: SignIn::fresh_nonce(),
            issued_at: now,
            expires_at: now + 600,
        };
        let session = self.keys.current().await.context("no key")?;
        let parties = CharterParties {
            golem_id: self.id,
            owner: self.owner.address(),
            account: self.vault.address,
            agent_key: session,
            epoch: 1,
        };
        let mut law = book.charter(&parties, MortalityTimeWindow::new(now, now + 60 * DAY)?);
        change(&mut law);
        let grant = Box::new(chartered(&law)?);
        let account = self.vault.address;
        onboard.run(&request, async || Ok(Means::Granted { account, session, grant }), now).await?;
        Ok(())
    }

    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub(crate) fn books(&self) -> PathBuf {
        self.folder.path().join("books")
    }

    pub(crate) fn store(&self) -> Result<Arc<Store>> {
        let config = StoreConfig { folder: self.books(), golem: self.id, max_pages: None };
        Ok(Arc::new(Store::open(&config, None)?))
    }

    pub(crate) fn provisions(&self) -> Result<Provisions> {
        let (node, keys) = (self.stage.node().clone(), self.keys.clone());
        let documents = self.documents.clone();
        Ok(provisions(node, self.store()?, keys, documents, Arc::clone(&self.now)))
    }

    pub(crate) async fn wakes(&self) -> Result<Golem> {
        awake(self.provisions()?).await
    }

    pub(crate) async fn wakes_with(&self, strategist: Arc<dyn Strategist>) -> Result<Golem> {
        awake(Provisions { strategist: Some(strategist), ..self.provisions()? }).await
    }

    /// Time passes, and the feeds say what they said.
    pub(crate) async fn later(&self, seconds: u64) -> Result<()> {
        let at = self.stage.now().await? + seconds;
        self.stage.warp(at).await?;
        self.now.store(self.stage.now().await?, Ordering::Relaxed);
        Ok(())
    }

    /// What ether costs by the feeds, in their own units.
    pub(crate) async fn ether_price(&self) -> Result<i64> {
        let asked = bardo_bindings::defi::PriceFeed::latestRoundDataCall {};
        let round = self.stage.node().read(self.stage.book().eth_usd, asked).await?;
        Ok(i64::try_from(round.answer)?)
    }

    /// Ether costs so much by the feeds from now on.
    pub(crate) async fn ether_costs(&self, answer: i64) -> Result<()> {
        self.stage.set_price(self.stage.book().eth_usd, answer).await
    }

    pub(crate) async fn entry(&self) -> Result<Entry> {
        let registry = Registry::open(self.stage.node()).await?;
        registry.entry(self.id).await?.context("not registered")
    }

    /// The owner writes something about his Golem.
    pub(crate) async fn writes(&self, writing: &Writing) -> Result<()> {
        let registry = Registry::open(self.stage.node()).await?;
        match registry.write(&self.owner, writing, OWNER_FEE_CEILING).await? {
            Written::Done { .. } => Ok(()),
            Written::Refused { reason } => bail!("{reason}"),
        }
    }

    pub(crate) async fn holds(&self, token: Address) -> Result<U256> {
        self.stage.balance_of(token, self.vault.address).await
    }

    /// The log, whole.
    pub(crate) fn log(&self) -> Result<Vec<Record>> {
        let (records, seals) = Archive::open(&self.books())?.audit()?;
        let found = verify(&records, &seals, &[]);
        if found.is_whole() { Ok(records) } else { bail!("{found}") }
    }

    /// How often something was told that is told once for each that it is about.
    pub(crate) fn once(&self, kind: &str) -> Result<usize> {
        let told = |record: &&Record| Told::of(record).event.kind().name == kind;
        Ok(self.log()?.iter().filter(told).count())
    }

    /// How many records of a kind there are.
    pub(crate) fn told(&self, kind: &str) -> Result<usize> {
        Ok(self.log()?.iter().filter(|record| record.kind == kind).count())
    }
}

/// What a Golem of these tests is woken with.
pub(crate) fn provisions(
    node: Node,
    store: Arc<Store>,
    keys: Keys,
    documents: Documents,
    now: Arc<AtomicU64>,
) -> Provisions {
    Provisions {
        node,
        store,
        keys,
        documents,
        costs: DailyCosts { inference: DOLLAR, compute: DOLLAR / 2, ..DailyCosts::default() },
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
        clock: Arc::new(move || now.load(Ordering::Relaxed)),
    }
}

pub(crate) fn documents(strategy: &str, heartbeat: &str) -> Documents {
    Documents {
        strategy: strategy.to_owned(),
        heartbeat: heartbeat.to_owned(),
        constitution: CONSTITUTION.to_owned(),
    }
}

pub(crate) async fn awake(provisions: Provisions) -> Result<Golem> {
    match Golem::wake(provisions).await? {
        Waking::Awake(golem) => Ok(golem),
        Waking::Refused(denial) => bail!("{denial}"),
    }
}

/// Ticks once, at the time that it is.
pub(crate) async fn ticks(golem: &mut Golem) -> Result<Ticked> {
    Ok(golem.tick().await?)
}

impl Home {
    /// What the chain says to a sale by the Golem's key, whatever the Golem thinks.
    pub(crate) async fn judged(
        &self,
        golem: &Golem,
        usd: u64,
    ) -> Result<Option<golem_custody::DenialCode>> {
        use bardo_bindings::framework::DELEGATION_MANAGER;
        use golem_custody::{Outcome, Redemption};
        use golem_delegation::PermissionContext;
        let call = bardo_testkit::fair_swap(&self.stage, self.vault.address, dollars(usd));
        let context = PermissionContext::new(vec![golem.grant().clone()])?;
        let redemption = Redemption::single(DELEGATION_MANAGER, context, &call);
        let key = golem.grant().delegate;
        Ok(match self.stage.foresight().judge(&redemption, key).await? {
            Outcome::Refused(denial) => Some(denial.code),
            Outcome::Allowed(_) => None,
        })
    }
}
