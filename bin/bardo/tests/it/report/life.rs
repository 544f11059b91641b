//! A short life with everything in it that a page shows.

use super::{
    moments::Paying,
    witness::{Scene, Witness},
};
use crate::command::{Key, Ran, bardo};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, anyhow, bail, ensure};
use bardo_bindings::{defi::Erc20, framework::DELEGATION_MANAGER};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{STIPEND, Stage, dollars, fair_swap, fixed_signer};
use golem_chain::{LanePolicy, environment, local::CharterParties, observe};
use golem_custody::{DailyCosts, Keys, Password, Payee, Purpose, Runway, Runways};
use golem_delegation::{
    Delegation, PermissionContext, ROOT_AUTHORITY, Rule,
    blast_radius::BlastRadius,
    terms::{Erc20PeriodTransfer, MortalityTimeWindow, Redeemer, Timestamp, ValueLte},
};
use golem_runtime::{
    Dca, DeathTrigger, Documents, Errand, FolderInbox, Golem, Outcome, Passing, Provisions,
    Rearing, Replicant, Spawning, Waking,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tempfile::TempDir;

pub(crate) const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;
const HEARTBEAT: &str = "- every: 6h\n- dream: 6h every 24h\n";

fn lane() -> LanePolicy {
    LanePolicy { confirmations: 1, poll: Duration::from_millis(20), ..LanePolicy::default() }
}

pub(crate) struct Lived {
    pub(crate) stage: Stage,
    pub(crate) owner: Key,
    pub(crate) golem: B256,
    pub(crate) account: Address,
    /// Its first key, and all that it had.
    pub(crate) session: Address,
    pub(crate) keys: Vec<Address>,
    /// What its owner's wallet pays its first key.
    paying: Option<Paying>,
    /// The grant of the newest, as a file.
    grant: String,
    /// A child's key, and its name.
    pub(crate) child: Address,
    pub(crate) replicant: B256,
    /// The block before everything.
    pub(crate) began: u64,
    /// What a thief could have taken, as it was seen then, by block.
    pub(crate) at_risk: BTreeMap<u64, Option<U256>>,
    /// How often one did something.
    pub(crate) thefts: u64,
    folder: TempDir,
    now: Arc<AtomicU64>,
}

impl Lived {
    /// A Golem of two thousand dollars that has not ticked.
    pub(crate) async fn onboarded(strategy: &str) -> Result<Self> {
        let stage = Stage::open().await?;
        let owner = Key::kept(0x62)?;
        stage.fund(owner.address, STIPEND * U256::from(20), dollars(5_000)).await?;
        let folder = tempfile::tempdir()?;
        let data = folder.path().join("golem");
        fs::create_dir(&data)?;
        fs::set_permissions(&data, fs::Permissions::from_mode(0o700))?;
        fs::write(data.join("STRATEGY.md"), strategy)?;
        fs::write(data.join("HEARTBEAT.md"), HEARTBEAT)?;
        fs::write(folder.path().join("pw"), "one key\n")?;
        fs::set_permissions(folder.path().join("pw"), fs::Permissions::from_mode(0o600))?;
        let began = stage.node().head().await?.number;
        let mut lived = Self {
            golem: B256::ZERO,
            account: Address::ZERO,
            session: Address::ZERO,
            keys: Vec::new(),
            paying: None,
            grant: data.join("grant.json").display().to_string(),
            child: Address::ZERO,
            replicant: B256::ZERO,
            began,
            at_risk: BTreeMap::new(),
            thefts: 0,
            folder,
            now: Arc::new(AtomicU64::new(stage.now().await?)),
            stage,
            owner,
        };
        let (pw, deposit) =
            (lived.path("pw"), format!("{}={}", lived.stage.book().usdc, dollars(2_000)));
        let said = lived
            .bardo(&[
                "onboard",
                "--mode",
                "local",
                "--by-charter-alone",
                "--session-password-file",
                &pw,
                "--days",
                "60",
                "--charter",
                &lived.charter()?,
                "--deposit",
                &deposit,
                "--data",
                &lived.path("golem"),
                "--key-file",
                &lived.owner.file,
            ])?
            .json()?;
        let word = |name: &str| said[name].as_str().with_context(|| format!("{name}: {said}"));
        lived.golem = word("golem")?.parse()?;
        lived.account = word("account")?.parse()?;
        lived.session = word("session")?.parse()?;
        lived.keys = vec![lived.session];
        lived.began += 1;
        Ok(lived)
    }

    /// By which children may act.
    fn charter(&self) -> Result<String> {
        let owner = self.owner.address;
        let parties = CharterParties {
            golem_id: B256::ZERO,
            owner,
            account: owner,
            agent_key: owner,
            epoch: 1,
        };
        let mut law = self.stage.book().charter(&parties, MortalityTimeWindow::new(1, 2)?);
        law.replicants = true;
        let shown = serde_json::to_value(Rule::GolemCharter(Box::new(law)))?;
        fs::write(self.path("charter.json"), shown["params"].to_string())?;
        Ok(self.path("charter.json"))
    }

    /// A child of forty dollars and a day, that spends thirty of them.
    async fn bears(&mut self, golem: &Golem) -> Result<()> {
        let keys = Keys::hosted();
        let asked = golem.asks_for_a_child(B256::repeat_byte(0x0c)).await?;
        let introduced = Replicant::introduces(&keys, asked).await?;
        let errand = Errand {
            budget: 40_000_000,
            lifespan: 24 * HOUR,
            targets: vec![],
            methods: vec![],
            calls: None,
        };
        let Spawning::Spawned(inheritance) = golem.spawns(&errand, &introduced).await? else {
            bail!("no child")
        };
        self.child = introduced.introduction.child;
        self.replicant = inheritance.replicant;
        self.stage.fund(self.child, STIPEND, U256::ZERO).await?;
        let config = StoreConfig {
            folder: self.folder.path().join("child"),
            golem: inheritance.replicant,
            max_pages: None,
        };
        let (now, book) = (Arc::clone(&self.now), self.stage.book());
        let rearing = Rearing {
            node: self.stage.node().clone(),
            store: Arc::new(Store::open(&config, None)?),
            keys,
            inheritance: *inheritance,
            constitution: fs::read_to_string(self.data().join("CONSTITUTION.md"))?,
            strategist: Arc::new(Dca {
                sell: book.usdc,
                buy: book.weth,
                micro_dollars: 30_000_000,
                every: HOUR,
            }),
            owner_day: None,
            lane: lane(),
            clock: Arc::new(move || now.load(Ordering::Relaxed)),
        };
        let mut child = Replicant::wake(rearing).await?.map_err(|denial| anyhow!("{denial}"))?;
        let stirred = child.tick().await?;
        ensure!(matches!(&stirred.deeds[..], [(_, Outcome::Done)]), "{stirred:?}");
        Ok(())
    }

    /// Days of trades and dreams, a fall, a Feed, a theft, a revocation.
    pub(crate) async fn whole() -> Result<Self> {
        let strategy =
            "- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $50\n- every: 12h\n";
        let mut lived = Self::onboarded(strategy).await?;
        let mut golem = lived.wakes().await?;
        for number in 0..9 {
            lived.ticks(&mut golem).await?;
            if number == 0 {
                lived.bears(&golem).await?;
            }
            lived.later(6 * HOUR).await?;
        }
        let price = i64::try_from(lived.stage.book().eth_price)? * 100_000_000;
        let feed = lived.stage.book().eth_usd;
        // A fall of all that it holds of ether, and of more than half of what its owner bears.
        lived.stage.set_price(feed, price / 100).await?;
        lived.later(2 * HOUR).await?;
        for _ in 0..3 {
            lived.ticks(&mut golem).await?;
            lived.later(3 * HOUR).await?;
        }
        lived.stage.set_price(feed, price).await?;
        lived.owner_writes(&["registry", "feed", "--phase", "stable"])?;
        for _ in 0..3 {
            lived.ticks(&mut golem).await?;
            lived.later(6 * HOUR).await?;
        }
        let router = lived.stage.book().swap_router_02;
        let allow = Erc20::approveCall { spender: router, amount: dollars(1_000) }.abi_encode();
        lived.steals(lived.stage.book().usdc, &allow.into())?;
        lived.rotates(&mut golem).await?;
        for usd in [40, 30] {
            let call = fair_swap(&lived.stage, lived.account, dollars(usd));
            lived.steals(call.target, &call.data)?;
        }
        lived.owner_writes(&["delegation", "revoke", "--golem"])?;
        lived.later(HOUR).await?;
        lived.ticks(&mut golem).await?;
        lived.dies(&mut golem, DeathTrigger::GrantEnded).await?;
        Ok(lived)
    }

    /// Two buys, and a death whose grant still does what it says: what it holds is settled by it.
    pub(crate) async fn settled() -> Result<Self> {
        let strategy =
            "- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $50\n- every: 12h\n";
        let mut lived = Self::onboarded(strategy).await?;
        let mut golem = lived.wakes().await?;
        for _ in 0..3 {
            lived.ticks(&mut golem).await?;
            lived.later(6 * HOUR).await?;
        }
        lived.dies(&mut golem, DeathTrigger::OwnerKillSwitch).await?;
        Ok(lived)
    }

    /// Its owner wants another key: he signs for the next one, and it follows.
    async fn rotates(&mut self, golem: &mut Golem) -> Result<()> {
        let (data, key) = (self.path("golem"), self.owner.file.clone());
        let words = |verb| ["golem", verb, "--data", &data, "--key-file", &key];
        self.bardo(&words("rotate"))?;
        self.ticks(golem).await?;
        self.later(HOUR).await?;
        let said = self.bardo(&words("grant"))?.json()?;
        self.ticks(golem).await?;
        self.later(HOUR).await?;
        let key: Address = said["key"].as_str().context("no key")?.parse()?;
        ensure!(golem.grant().delegate == key && key != self.session, "{said}");
        self.keys.push(key);
        self.grant = self.path("grant-2.json");
        fs::write(&self.grant, serde_json::to_string(golem.grant())?)?;
        self.ticks(golem).await
    }

    /// Ten dollars a day out of its owner's own wallet, as a wallet grants it.
    async fn runway(&self) -> Result<Runway> {
        let now = self.stage.now().await?;
        let (token, per_day, expires_at) = (self.stage.book().usdc, dollars(10), now + 30 * DAY);
        let rules = [
            Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                token_address: token,
                period_amount: per_day,
                period_duration: U256::from(DAY),
                start_date: U256::from(now),
            }),
            Rule::ValueLte(ValueLte(U256::ZERO)),
            Rule::Timestamp(Timestamp { after: 0, before: expires_at.into() }),
            Rule::Redeemer(Redeemer(vec![self.session])),
        ];
        let at = environment();
        let caveats = rules.iter().map(|rule| at.caveat(rule)?.context("no such enforcer"));
        let grant = Delegation {
            delegate: self.session,
            delegator: self.owner.address,
            authority: ROOT_AUTHORITY,
            caveats: caveats.collect::<Result<_>>()?,
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let grant = fixed_signer(0x62)?.grant(&self.stage.domain(), grant)?;
        Ok(Runway {
            chain_id: self.stage.node().chain_id(),
            owner: self.owner.address,
            session: self.session,
            token: Some(token),
            manager: DELEGATION_MANAGER,
            context: PermissionContext::new(vec![grant])?.encode(),
            dependencies: Vec::new(),
            per_day,
            most: per_day,
            expires_at,
        })
    }

    pub(crate) async fn witness(&self) -> Result<Witness> {
        Witness::of(self.scene()).await
    }

    fn scene(&self) -> Scene {
        Scene {
            node: self.stage.node().clone(),
            book: self.stage.book().clone(),
            golem: self.golem,
            account: self.account,
            owner: self.owner.address,
            data: self.data(),
            charter: PathBuf::from(self.path("charter.json")),
            began: self.began,
        }
    }

    async fn dies(&self, golem: &mut Golem, trigger: DeathTrigger) -> Result<()> {
        let passing = golem.dies(trigger).await?;
        ensure!(matches!(passing, Passing::Dead(_)), "{passing:?}");
        Ok(())
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("golem")
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn bardo(&self, words: &[&str]) -> Result<Ran> {
        let rpc = self.stage.chain().url().as_str();
        let ran = bardo([words, &["--rpc", rpc, "--json"]].concat())?;
        ensure!(ran.code == 0, "{words:?}: {ran:?}");
        Ok(ran)
    }

    fn owner_writes(&self, words: &[&str]) -> Result<()> {
        let golem = self.golem.to_string();
        self.bardo(&[words, &[&golem, "--key-file", &self.owner.file]].concat())?;
        Ok(())
    }

    /// Whoever has the key acts with it; the Golem knows nothing of it.
    fn steals(&mut self, target: Address, data: &Bytes) -> Result<()> {
        let (target, data) = (target.to_string(), data.to_string());
        self.bardo(&[
            "delegation",
            "redeem",
            "--context",
            &self.grant.clone(),
            "--keystore",
            &self.path("golem/session-key.json"),
            "--password-file",
            &self.path("pw"),
            "--target",
            &target,
            "--data",
            &data,
        ])?;
        self.thefts += 1;
        Ok(())
    }

    async fn later(&self, seconds: u64) -> Result<()> {
        let at = self.stage.now().await? + seconds;
        self.stage.warp(at).await?;
        self.now.store(self.stage.now().await?, Ordering::Relaxed);
        Ok(())
    }

    async fn wakes(&mut self) -> Result<Golem> {
        let data = self.data();
        let text = |name: &str| fs::read_to_string(data.join(name));
        let config = StoreConfig { folder: self.data(), golem: self.golem, max_pages: None };
        let now = Arc::clone(&self.now);
        let password = Password::from_file(&self.folder.path().join("pw"))?;
        let store = Arc::new(Store::open(&config, None)?);
        let since = self.now.load(Ordering::Relaxed);
        let runway = self.runway().await?;
        Runways::new(store.as_ref()).keep(&runway, since).await?;
        self.paying = Some(Paying::of(since, &serde_json::to_value(&runway)?)?);
        let provisions = Provisions {
            node: self.stage.node().clone(),
            store,
            keys: Keys::local(&self.data(), password)?,
            documents: Documents {
                strategy: text("STRATEGY.md")?,
                heartbeat: text("HEARTBEAT.md")?,
                constitution: text("CONSTITUTION.md")?,
            },
            costs: DailyCosts { inference: 1_000_000, compute: 500_000, ..DailyCosts::default() },
            expected_days: 3_650,
            machine_ends: None,
            payees: vec![
                Payee { address: Address::repeat_byte(0x71), purpose: Purpose::Inference },
                Payee { address: Address::repeat_byte(0x72), purpose: Purpose::Compute },
            ],
            consent: None,
            owner_day: None,
            lane: lane(),
            strategist: None,
            inbox: Some(Arc::new(FolderInbox::of(&self.data()))),
            folder: None,
            clock: Arc::new(move || now.load(Ordering::Relaxed)),
        };
        match Golem::wake(provisions).await? {
            Waking::Awake(golem) => Ok(golem),
            Waking::Refused(denial) => bail!("{denial}"),
        }
    }

    /// A tick; and before it what a thief could have, by a look at that very block.
    async fn ticks(&mut self, golem: &mut Golem) -> Result<()> {
        let chain = PermissionContext::new(vec![golem.grant().clone()])?;
        let seen = observe(self.stage.node(), DELEGATION_MANAGER, &chain, &[]).await?;
        let radius = BlastRadius::of(&chain, &environment(), seen.block.timestamp, &seen.facts)?;
        let mut risk = radius.total();
        if let Some(paying) =
            self.paying.as_ref().filter(|paying| paying.key == chain.leaf().delegate)
        {
            let more = paying.at_risk(&self.scene(), seen.block.number).await?;
            risk = risk.map(|risk| risk + more);
        }
        self.at_risk.insert(seen.block.number, risk);
        let ticked = golem.tick().await?;
        ensure!(ticked.observing.is_none(), "{ticked:?}");
        // In the second in which one key follows another the page goes by the newer grant, and this look was at the older.
        if golem.grant().delegate != chain.leaf().delegate {
            self.at_risk.remove(&seen.block.number);
        }
        Ok(())
    }

    /// The page, and the facts beside it.
    pub(crate) fn report(&self) -> Result<(String, Value)> {
        let out = self.path("report.html");
        let (data, out) = (self.path("golem"), std::env::var("REPORT_OUT").unwrap_or(out));
        let said = self.bardo(&["golem", "report", "--data", &data, "--out", &out])?.json()?;
        Ok((fs::read_to_string(&out)?, said["story"].clone()))
    }

    pub(crate) fn verified(&self) -> Result<Value> {
        self.bardo(&["audit", "verify", "--data", &self.path("golem")])?.json()
    }
}
