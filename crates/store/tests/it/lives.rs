//! A Golem that is killed: custody's own machines and keys on a real store, in a process of its own.
//!
//! Everything outside of it is a fake, and one file: the owner, the register of identities and the chain. A line is on the
//! disk before what it says has an effect.

use crate::{
    kit::{GOLEM, NOW, config, owner},
    roles::{child, setting},
};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use async_trait::async_trait;
use bardo_store::Store;
use golem_custody::{
    Act, BlockRef, Books, BoxError, ClearingPolicy, CustodyMode, DryRun, Ending, Execution,
    IntentId, KeyUse, Keyring as _, Keys, Mandate, Means, Onboarding, OnboardingSteps, Outcome,
    OwnerSigner, Password, Preview, Proposed, Receipt, Redemption, Rehearsal, Reservation,
    Rotation, RotationPolicy, RotationReason, Rotations, SessionSigner as _, SignIn,
    SignedTransaction, Submit, Switching, TransactionPlan, limit, rehearse,
};
use golem_delegation::{
    Caveat, Delegation, Environment, Kind, PermissionContext, ROOT_AUTHORITY, SigningDomain,
    grant::Grant,
    terms::{Classes, GolemCharter, Listing, MortalityTimeWindow},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;

pub(crate) const DOMAIN: SigningDomain =
    SigningDomain { chain_id: 8453, manager: Address::repeat_byte(0xdb) };
const IDENTITY: u64 = 7;
/// A key is replaced after so many signatures.
const OPERATIONS: u64 = 2;

/// What happened outside of the Golem, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// A process began, with this key.
    Boot { key: Address },
    /// The wallet showed who asks.
    Shown { nonce: String },
    /// The owner signed a grant.
    Signed { epoch: u16, key: Address },
    /// Somebody is on the register of identities.
    Minted { identity: u64 },
    /// A tick began.
    Tick { tick: u64 },
    /// It went by without a write: something of the old key was afloat.
    Waits { tick: u64 },
    /// It went by without a write: the key has no grant.
    Observes { tick: u64 },
    /// It wrote. The chain has it.
    Sent { tick: u64, key: Address, epoch: u16, nonce: u64, hash: B256 },
}

/// The fake of everything outside.
pub(crate) struct World(PathBuf);

impl World {
    pub(crate) fn of(place: &Path) -> Self {
        Self(place.join("world.jsonl"))
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn happens(&self, event: &Event) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        writeln!(file, "{}", serde_json::to_string(event).unwrap()).unwrap();
        file.sync_all().unwrap();
    }

    fn sent(&self) -> Vec<(u64, Address, u16, B256)> {
        let sent = |event| match event {
            Event::Sent { tick, key, epoch, hash, .. } => Some((tick, key, epoch, hash)),
            _ => None,
        };
        self.events().into_iter().filter_map(sent).collect()
    }

    /// The fake chain: a lower epoch than one that it saw is refused (SPEC D4).
    fn takes(&self, tick: u64, nonce: u64, epoch: u16, signed: &SignedTransaction) {
        let highest = self.sent().iter().map(|(_, _, epoch, _)| *epoch).max();
        assert!(highest.is_none_or(|highest| highest <= epoch), "the chain refuses epoch {epoch}");
        let SignedTransaction { hash, from: key, .. } = *signed;
        self.happens(&Event::Sent { tick, key, epoch, nonce, hash });
    }
}

/// Who holds the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    Hosted,
    Local,
}

pub(crate) const HOMES: [Home; 2] = [Home::Hosted, Home::Local];

fn private(path: &Path, text: &str) {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

pub(crate) fn golem_folder(place: &Path) -> PathBuf {
    place.join("golem")
}

/// Where a Golem can begin: an owner's key and a password, and nothing of the Golem's.
pub(crate) fn place() -> TempDir {
    let place = crate::kit::folder();
    private(&place.path().join("owner.key"), &"0a".repeat(32));
    private(&place.path().join("password"), "open sesame\n");
    place
}

pub(crate) fn password(place: &Path) -> Password {
    Password::from_file(&place.join("password")).unwrap()
}

/// How one process is to live.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) home: Home,
    pub(crate) ticks: u64,
    /// Whether the owner answers what he is asked about rotations.
    pub(crate) present: bool,
    /// Whether a write is settled two ticks later, and not in its own.
    pub(crate) slow: bool,
}

impl Run {
    pub(crate) const fn of(home: Home, ticks: u64) -> Self {
        Self { home, ticks, present: true, slow: false }
    }

    /// Starts a process, and says by which signal it ended, if by one. One that fails is an error of the test.
    pub(crate) fn lives(self, place: &Path, crash_at: Option<&str>) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt;
        let mut command = child("live", place);
        command
            .env("BARDO_LOCAL", u64::from(self.home == Home::Local).to_string())
            .env("BARDO_TICKS", self.ticks.to_string())
            .env("BARDO_PRESENT", u64::from(self.present).to_string())
            .env("BARDO_SLOW", u64::from(self.slow).to_string())
            .env_remove("BARDO_CRASH_AT");
        if let Some(step) = crash_at {
            command.env("BARDO_CRASH_AT", step);
        }
        let output = command.output().unwrap();
        let signal = output.status.signal();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(signal.is_some() || output.status.success(), "{crash_at:?}: {said}");
        signal
    }
}

/// Role: one process of a Golem's life.
pub(crate) fn live(place: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut life = Life::boot(place).await;
        life.onboard().await;
        life.resume().await;
        for _ in 0..setting("BARDO_TICKS") {
            life.tick().await;
        }
    });
}

struct Life {
    folder: PathBuf,
    mode: CustodyMode,
    world: World,
    store: Arc<Store>,
    keys: Keys,
    owner: OwnerSigner,
    /// The last grant in use.
    grant: Option<Delegation>,
    /// Whether the owner has signed the next one.
    granted: bool,
}

impl Life {
    async fn boot(place: &Path) -> Self {
        let (folder, world) = (golem_folder(place), World::of(place));
        let store = Arc::new(Store::open(&config(&folder), None).unwrap());
        let (mode, keys) = match setting("BARDO_LOCAL") {
            0 => (CustodyMode::Delegation, Keys::hosted()),
            _ => (CustodyMode::LocalKey, Keys::local(&folder, password(place)).unwrap()),
        };
        world.happens(&Event::Boot { key: keys.current().await.unwrap() });
        let owner = OwnerSigner::from_key_file(&place.join("owner.key")).unwrap();
        Self { folder, mode, world, store, keys, owner, grant: None, granted: false }
    }

    /// The fake owner signs.
    fn signs(&self, wanted: Delegation) -> Delegation {
        let epoch = epoch(&wanted);
        self.world.happens(&Event::Signed { epoch, key: wanted.delegate });
        self.owner.grant(&DOMAIN, wanted).unwrap()
    }

    async fn onboard(&mut self) {
        loop {
            let steps = OnboardingSteps::new(self.store.as_ref());
            let made = match steps.at().await.unwrap() {
                None => steps.begin(asked(), NOW).await,
                Some(Onboarding::SigningIn { request }) => {
                    self.world.happens(&Event::Shown { nonce: request.nonce.clone() });
                    steps.signed_in(&self.owner.sign_in(&request).unwrap(), NOW).await
                }
                Some(Onboarding::ChoosingCustody { .. }) => steps.chose(self.mode, NOW).await,
                Some(Onboarding::SettingUpWallet { .. }) => {
                    let session = self.keys.current().await.unwrap();
                    let grant = Box::new(self.signs(first(session)));
                    let means = Means::Granted { account: grant.delegator, session, grant };
                    steps.set_up(means, NOW).await
                }
                Some(Onboarding::WritingStrategy { .. }) => {
                    let (strategy, heartbeat) = ("DCA into ether", "every 5 minutes");
                    for (name, text) in [("STRATEGY.md", strategy), ("HEARTBEAT.md", heartbeat)] {
                        let mut file = File::create(self.folder.join(name)).unwrap();
                        file.write_all(text.as_bytes()).unwrap();
                        file.sync_all().unwrap();
                    }
                    steps.wrote(strategy, heartbeat, NOW).await
                }
                Some(Onboarding::Registering { .. }) => {
                    // Whoever may have been here before looks first: the register is asked, not the memory.
                    let minted = Event::Minted { identity: IDENTITY };
                    if !self.world.events().contains(&minted) {
                        self.world.happens(&minted);
                    }
                    steps.registered(Some(U256::from(IDENTITY)), NOW).await
                }
                Some(Onboarding::Summoning { .. }) => steps.summoned(GOLEM, NOW).await,
                Some(Onboarding::Live { means: Means::Granted { grant, .. }, .. }) => {
                    self.grant = Some(*grant);
                    return;
                }
                other => panic!("{other:?}"),
            };
            made.unwrap();
        }
    }

    async fn resume(&mut self) {
        let now = NOW + self.ticks();
        match Rotations::new(self.store.as_ref(), &self.keys).resume(now).await.unwrap() {
            None => {}
            Some(Rotation::Resting { grant, .. } | Rotation::Asked { grant, .. }) => {
                self.grant = Some(grant);
            }
            Some(Rotation::Granted { before, .. }) => {
                self.grant = Some(before);
                self.granted = true;
            }
        }
    }

    fn ticks(&self) -> u64 {
        let ticks = self.world.events();
        ticks.iter().filter(|event| matches!(event, Event::Tick { .. })).count() as u64
    }

    async fn tick(&mut self) {
        let tick = self.ticks() + 1;
        let now = NOW + tick;
        self.world.happens(&Event::Tick { tick });
        self.settle(tick).await;
        let grant = self.grant.clone().unwrap();
        let rotations = Rotations::new(self.store.as_ref(), &self.keys);
        let key = self.keys.current().await.unwrap();
        let operations = self.world.sent().iter().filter(|(_, by, ..)| *by == key).count() as u64;
        let used = KeyUse { since: now, operations, granted: None, left: 0 };
        let policy = RotationPolicy { operations: OPERATIONS, ..RotationPolicy::default() };
        let reason = match grant.delegate == key {
            true => policy.due(&used, now),
            false => Some(RotationReason::Gone),
        };
        if let (Some(reason), false) = (reason, self.granted) {
            let wanted = rotations.begin(reason, &grant, &environment(), now).await.unwrap();
            if setting("BARDO_PRESENT") == 1 {
                let signed = self.signs(wanted);
                rotations.granted(signed, owner(), &DOMAIN, now).await.unwrap();
                self.granted = true;
            }
        }
        if self.granted {
            match rotations.switch(self.store.as_ref(), now).await.unwrap() {
                Switching::Waits(_) => return self.world.happens(&Event::Waits { tick }),
                Switching::Done(_, grant) => (self.grant, self.granted) = (Some(*grant), false),
            }
        }
        self.write(tick).await;
    }

    /// Does one thing, if the key may.
    async fn write(&self, tick: u64) {
        let now = NOW + tick;
        let signer = self.keys.signer().await.unwrap();
        let grant = self.grant.clone().unwrap();
        if grant.delegate != signer.address() {
            return self.world.happens(&Event::Observes { tick });
        }
        let sent = self.world.sent();
        let nonce = sent.iter().filter(|(_, by, ..)| *by == signer.address()).count() as u64;
        let epoch = epoch(&grant);
        let call = Execution { target: DOMAIN.manager, value: U256::ZERO, data: Bytes::new() };
        let context = PermissionContext::new(vec![grant]).unwrap();
        let redemption = Redemption::single(DOMAIN.manager, context, &call);
        let policy = ClearingPolicy { fee_ceiling: U256::MAX, lifetime: 60 };
        let chain = FakeChain { nonce, now };
        let intent = IntentId(keccak256(tick.to_be_bytes()));
        let proposed = Proposed::new(intent, redemption).about(json!({ "tick": tick }));
        #[expect(clippy::disallowed_methods, reason = "what comes after a judgement is shown")]
        let rehearsal = rehearse(&chain, proposed.by_hand(), signer.address(), &policy).await;
        let Rehearsal::Passed(rehearsed) = rehearsal.unwrap() else {
            panic!("it allows everything")
        };
        let mandate = Mandate::by_hand(GOLEM, owner(), self.store.clone());
        let Reservation::Made(cleared) = rehearsed.reserve(&mandate, now).await.unwrap() else {
            panic!("there is room")
        };
        let afloat = signer.sign(cleared, now).await.unwrap().keep(&mandate, now).await.unwrap();
        self.world.takes(tick, nonce, epoch, afloat.last());
        if setting("BARDO_SLOW") == 0 {
            self.settle(tick).await;
        }
    }

    /// Ends what the chain has had for long enough; and what nothing was signed for.
    async fn settle(&self, tick: u64) {
        let depth = 2 * setting("BARDO_SLOW");
        for open in Books::open(self.store.as_ref()).await.unwrap() {
            let since = open.entry.at - NOW;
            let ending = match open.bids.last() {
                None => Ending::Abandoned { why: "nothing was signed".into() },
                Some(bid) if since + depth <= tick => {
                    let known = self.world.sent().iter().any(|(.., hash)| *hash == bid.hash);
                    assert!(known, "no failpoint lies between signing and sending");
                    Ending::Done { hash: bid.hash, block: tick }
                }
                Some(_) => continue,
            };
            self.store.settle(open.entry.intent, &ending, NOW + tick).await.unwrap();
        }
    }
}

/// A fake that allows everything and sends nothing.
pub(crate) struct FakeChain {
    pub(crate) nonce: u64,
    pub(crate) now: u64,
}

#[async_trait]
impl DryRun for FakeChain {
    async fn dry_run(&self, _: &Act, _: Address) -> Result<Outcome, BoxError> {
        let block = BlockRef { number: 7, hash: B256::repeat_byte(7), timestamp: self.now };
        Ok(Outcome::Allowed(Preview {
            data_fee: U256::ZERO,
            block,
            gas: 100,
            gas_limit: limit(100),
            changes: vec![],
            notes: vec![],
            counted: None,
        }))
    }
}

#[async_trait]
impl Submit for FakeChain {
    async fn plan(&self, _: Address) -> Result<TransactionPlan, BoxError> {
        Ok(TransactionPlan {
            chain_id: DOMAIN.chain_id,
            nonce: self.nonce,
            max_fee_per_gas: 10,
            max_priority_fee_per_gas: 1,
            balance: U256::MAX,
        })
    }

    async fn submit(&self, _: &SignedTransaction) -> Result<Receipt, BoxError> {
        Err("the test hands it over".into())
    }
}

fn asked() -> SignIn {
    SignIn {
        domain: "127.0.0.1:3003".to_owned(),
        address: owner(),
        statement: "Become the owner of a Golem.".to_owned(),
        uri: "http://127.0.0.1:3003/onboard".to_owned(),
        chain_id: DOMAIN.chain_id,
        nonce: "5f3a9c1e7b2d4860".to_owned(),
        issued_at: NOW,
        expires_at: NOW + 600,
    }
}

/// An enforcer of every kind, somewhere.
fn environment() -> Environment {
    Kind::ALL.iter().zip(0x10_u8..).fold(Environment::default(), |all, (kind, byte)| {
        all.with(*kind, Address::repeat_byte(byte))
    })
}

fn epoch(grant: &Delegation) -> u16 {
    Grant::read(grant, &environment()).unwrap().charter().epoch
}

/// The first grant, unsigned.
fn first(key: Address) -> Delegation {
    let account = Address::repeat_byte(1);
    let charter = GolemCharter {
        golem_id: GOLEM,
        owner: owner(),
        epoch: 1,
        generation: 0,
        registry: Address::repeat_byte(4),
        account,
        beneficiary: owner(),
        agent_key: key,
        replicants: true,
        classes: Classes::ALL,
        window: MortalityTimeWindow::new(NOW, NOW + 2_000_000).unwrap(),
        spend_cap: 1_000_000_000,
        bucket_minutes: 120,
        slippage_bps: 100,
        vault: Address::ZERO,
        nav_bps: 0,
        nav_cap: 1,
        staleness: 86_400,
        gas_ceiling: 1,
        gas_daily_cap: 1,
        settlement_asset: Address::ZERO,
        max_royalty_bps: None,
        mood: None,
        listing: Listing::default(),
    };
    let enforcer = environment().enforcer(Kind::GolemCharter).unwrap();
    Delegation {
        delegate: key,
        delegator: account,
        authority: ROOT_AUTHORITY,
        caveats: vec![Caveat::new(enforcer, charter.encode().unwrap())],
        salt: U256::ZERO,
        signature: Bytes::new(),
    }
}
