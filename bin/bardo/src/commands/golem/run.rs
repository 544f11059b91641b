use super::{archive, nursery::Nursery, refused, replicant, voice::Voice};
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::RunArgs,
    commands::onboard::folder::{CONSTITUTION, GolemFile, HEARTBEAT, STRATEGY, written},
    input,
};
use alloy::primitives::U256;
use anyhow::{Context as _, anyhow};
use bardo_store::{DATABASE, OwnerLedger, Store, StoreConfig, StoreError};
use golem_chain::{Follow, LanePolicy, Node};
use golem_custody::{Consent, CustodyMode, DailyCosts, KeyFileError, Keyring as _, Keys, Password};
use golem_runtime::{
    Born, Clock, Documents, Dying, Ending, FolderInbox, Glance, Golem, Provisions, Pulse,
    WakeError, Waking,
};
use serde_json::json;
use std::{
    fs::{DirBuilder, File, OpenOptions, TryLockError},
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
    task::JoinSet,
    time::sleep,
};
use url::{Host, Url};

/// Held by the process that runs the Golem, also before there are books to lock.
const LOCK: &str = "run.lock";
/// How often the folder is looked into while nothing is there yet.
const GLANCE: Duration = Duration::from_millis(200);
/// How often it is tried to open books that onboarding has just written.
const TRIES: u32 = 150;
/// Why a process ends that can do nothing more, and whoever looks after it starts it again.
pub(super) const STOPPED: &str =
    "its books have stopped, and nothing more was done: start it again, and it goes on";
/// Seconds of a day.
const DAY: u64 = 86_400;

/// `bardo golem run`
pub(super) async fn run(args: &RunArgs, json: bool) -> Result<Answer, Failure> {
    let voice = Voice { json };
    let mut signals = Signals::listening()?;
    let Some(_alone) = alone(&args.data)? else {
        let reason = format!("another process runs the Golem in {}", args.data.display());
        return Ok(refused("ran", &reason));
    };
    if args.replicant {
        return replicant::run(args, voice, signals).await;
    }
    let node = input::privately(Node::connect(&args.rpc).await?, None).await?;
    let follow = Follow::of(&node, socket(args, node.chain_id())?);
    let node = node.following(follow);
    let clock = Clock::of(&node, || input::now().unwrap_or_default()).await?;
    let before = GolemFile::of(&args.data)?;
    if let Some(file) = &before {
        file.shared_ledger(&args.data)?;
    }
    // Before a key is born for it.
    let dying = dying(&args.data, clock.now())?;
    if let Some(trigger) = dying.as_ref().filter(|dying| dying.is_over()).map(Dying::trigger) {
        return Ok(refused("ran", &format!("it is dead: {trigger:?}; nothing is left to do")));
    }
    // Without a file that says otherwise, whoever gives no password waits for an owner who grants to a key in no file.
    let started = match &before {
        Some(file) => file.mode,
        None if args.password_file.is_none() => CustodyMode::Delegation,
        None => CustodyMode::LocalKey,
    };
    if let Some(no) = another_mode(&args.data, started)? {
        return Ok(refused("ran", &no.to_string()));
    }
    // A key in no file is born before anything is onboarded: the owner grants to it (SPEC D12).
    let keys = if started == CustodyMode::Delegation {
        Some(born(args, voice, before.is_some(), clock.now()).await?)
    } else {
        None
    };
    let (file, waited) = match before {
        Some(file) => (file, false),
        None => {
            let there = tokio::select! {
                () = signals.either() => None,
                file = onboarded(&args.data) => Some(file?),
            };
            let Some(file) = there else {
                return Ok(Answer::yes(json!({ "ended": "stopped", "ticks": 0 }), ""));
            };
            (file, true)
        }
    };
    if node.chain_id() != file.chain_id {
        let (its, other) = (file.chain_id, node.chain_id());
        return Ok(refused(
            "ran",
            &format!("the Golem is on chain {its}, and the node on {other}"),
        ));
    }
    let keys = match (keys, file.mode) {
        (Some(keys), CustodyMode::Delegation) => keys,
        // It wiped its key, and was killed before it was over: what is left to do needs none.
        (None, CustodyMode::LocalKey) if dying.is_some() => {
            Keys::of_the_dying(&args.data, password(args)?).or_use()?
        }
        (None, CustodyMode::LocalKey) => match Keys::open(&args.data, password(args)?) {
            Err(missing @ KeyFileError::Missing { .. }) => {
                return Ok(refused("ran", &missing.to_string()));
            }
            keys => keys.or_use()?,
        },
        (_, CustodyMode::Embedded) => return Ok(refused("ran", &WakeError::OtherMode.to_string())),
        _ => {
            let reason =
                "it was onboarded in another mode than this process waited for: start it again";
            return Ok(refused("ran", reason));
        }
    };
    let asks = asks(args, &file);
    // Without a name it is for questions alone, and nobody's cap is counted in it.
    let place = match file.shared_ledger(&args.data)? {
        None => asks.is_some().then(|| file.ledger(&args.data)),
        shared => shared,
    };
    let ledger = match place {
        Some(place) => Some(Arc::new(OwnerLedger::open(&place, file.owner)?)),
        None => None,
    };
    let store = match books(&args.data, &file, ledger.as_deref(), waited).await {
        Ok(store) => store,
        Err(StoreError::Locked { .. }) => {
            let reason = format!("another process has the books in {}", args.data.display());
            return Ok(refused("ran", &reason));
        }
        Err(error) => return Err(error.into()),
    };
    let consent = asks.zip(ledger).map(|((above, lifetime), approvals)| Consent {
        above,
        lifetime,
        approvals,
    });
    let provisions =
        Provisions { consent, ..provisions(args, &file, &node, &keys, &clock, store)? };
    // Waking finishes what was left, and that may wait for blocks: whoever stops it loses nothing, as after a crash.
    let woken = tokio::select! {
        () = signals.either() => return Ok(Answer::yes(json!({ "ended": "stopped", "ticks": 0 }), "")),
        woken = Golem::wake(provisions) => woken,
    };
    let mut golem = match woken {
        Ok(Waking::Awake(golem)) => golem,
        Ok(Waking::Refused(denial)) => return Ok(refused("ran", &denial.to_string())),
        Err(
            no @ (WakeError::NotOnboarded { .. }
            | WakeError::OtherMode
            | WakeError::AnotherMode { .. }),
        ) => {
            return Ok(refused("ran", &no.to_string()));
        }
        Err(off @ (WakeError::Rhythm(_) | WakeError::Strategy(_))) => return Err(off).or_use(),
        Err(fault) => return Err(fault.into()),
    };
    voice.awake(golem.id(), keys.current().await, golem.grant().delegate, golem.life().next_at);
    let _events = match args.events {
        Some(at) => Some(events(at, &golem, voice).await?),
        None => None,
    };
    let mut nursery = Nursery::new(args, voice, &clock);
    nursery.looks_after(&golem).await;
    let ticked = nursery.ticked();
    let ending = loop {
        let mut wanted = false;
        let stop = async {
            tokio::select! {
                biased;
                () = signals.either() => {}
                () = nursery.wants() => wanted = true,
            }
        };
        let says = |pulse: Pulse<'_>| {
            if matches!(pulse, Pulse::Ticked(_)) {
                ticked.store(true, Ordering::Relaxed);
            }
            voice.pulse(&pulse);
        };
        let ending = golem.live(&clock, stop, says).await;
        if ending != Ending::Stopped || !wanted {
            break ending;
        }
        // Between two ticks: nobody acts with its key meanwhile.
        nursery.looks_after(&golem).await;
    };
    // Where its books have stopped its children go on, as when its process is lost.
    if ending != Ending::BooksStopped {
        nursery.stops(ending != Ending::Stopped).await;
    }
    let ticks = golem.life().ticks;
    Ok(match ending {
        Ending::Stopped => Answer::yes(
            json!({ "ended": "stopped", "ticks": ticks }),
            format!("stopped after tick {ticks}; the same command goes on"),
        ),
        Ending::Died(trigger) => Answer::yes(
            json!({ "ended": "died", "of": trigger, "ticks": ticks }),
            format!("it ended after tick {ticks}: {trigger:?}"),
        ),
        Ending::BooksStopped => return Err(Failure::Fault(anyhow!(STOPPED))),
    })
}

/// Who tells of new blocks: who was named here or in the chain's file, or a node on this machine by the port that it is asked at. One
/// that does not answer leaves the node to be asked.
fn socket(args: &RunArgs, chain_id: u64) -> Result<Option<Url>, Failure> {
    if let Some(url) = &args.ws {
        return Ok(Some(url.clone()));
    }
    if let Some(listed) = input::chains()?.of(chain_id).and_then(|chain| chain.ws.clone()) {
        return Ok(Some(listed.parse().context("the chain's WebSocket").or_use()?));
    }
    let here = match args.rpc.host() {
        Some(Host::Ipv4(host)) => host.is_loopback(),
        Some(Host::Ipv6(host)) => host.is_loopback(),
        Some(Host::Domain(host)) => host == "localhost",
        None => false,
    };
    let mut url = args.rpc.clone();
    Ok((here && args.rpc.scheme() == "http" && url.set_scheme("ws").is_ok()).then_some(url))
}

/// Tells events to whoever asks on this machine, until it is dropped.
async fn events(at: SocketAddr, golem: &Golem, voice: Voice) -> Result<JoinSet<()>, Failure> {
    let listener =
        TcpListener::bind(at).await.with_context(|| format!("cannot listen at {at}")).or_use()?;
    let at = listener.local_addr()?;
    voice.say(
        &json!({ "events": format!("http://{at}/v1/events") }),
        &format!("events at http://{at}/v1/events"),
    );
    let routes = golem_runtime::router(golem.fabric());
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        // Whoever listens hears no more; the Golem goes on.
        drop(axum::serve(listener, routes).await);
    });
    Ok(serving)
}

/// SIGINT and SIGTERM.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listening() -> Result<Self, Failure> {
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }

    pub(super) async fn either(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The folder, for this process alone; none while another has it. The system lets go of it however a process dies.
pub(super) fn alone(data: &Path) -> Result<Option<File>, Failure> {
    let place = || format!("cannot use {}", data.display());
    DirBuilder::new().recursive(true).mode(0o700).create(data).with_context(place).or_use()?;
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(data.join(LOCK))
        .with_context(place)
        .or_use()?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// How far its death is; none while it lives.
fn dying(data: &Path, now: u64) -> Result<Option<Dying>, Failure> {
    if !data.join(DATABASE).is_file() {
        return Ok(None);
    }
    Ok(Glance::of(&archive(data)?, now)?.dying)
}

/// Why a Golem that is started in this mode does not run; none where its books have no other. Before a key is born for it or asked for.
pub(super) fn another_mode(
    data: &Path,
    started: CustodyMode,
) -> Result<Option<WakeError>, Failure> {
    if !data.join(DATABASE).is_file() {
        return Ok(None);
    }
    let chosen = Glance::bound_mode(&archive(data)?)?.filter(|chosen| *chosen != started);
    Ok(chosen.map(|chosen| WakeError::AnotherMode { chosen, started }))
}

/// A key of this process, said to whoever started it and to whoever looks into the folder.
async fn born(args: &RunArgs, voice: Voice, onboarded: bool, now: u64) -> Result<Keys, Failure> {
    if args.password_file.is_some() {
        return Err(Failure::Use(anyhow!(
            "password-file: in vault mode the key is in no file: leave it out"
        )));
    }
    let keys = Keys::hosted();
    let born = Born::of(&keys, now).await?.context("a key that was born is not there")?;
    written(&args.data, Born::NAME, &serde_json::to_string_pretty(&born)?)?;
    voice.born(&born, onboarded);
    Ok(keys)
}

/// What onboarding lays down last.
async fn onboarded(data: &Path) -> Result<GolemFile, Failure> {
    loop {
        if let Some(file) = GolemFile::of(data)? {
            return Ok(file);
        }
        sleep(GLANCE).await;
    }
}

fn password(args: &RunArgs) -> Result<Password, Failure> {
    match &args.password_file {
        Some(file) => Password::from_file(file).or_use(),
        None => input::asked(&args.data.join("session-key.json")).or_use(),
    }
}

/// Above how much its owner is asked, and for how long his answer counts: what the command says, or else his file.
fn asks(args: &RunArgs, file: &GolemFile) -> Option<(u64, u64)> {
    let life = file.life.clone().unwrap_or_default();
    let above = args.ask_above.or(life.ask_above)?;
    let within = args.answer_within.map(|time| time.as_secs()).or(life.answer_within);
    Some((above, within.unwrap_or(DAY)))
}

/// The Golem's books. Who has just onboarded lets go of them in a moment.
async fn books(
    data: &Path,
    file: &GolemFile,
    ledger: Option<&OwnerLedger>,
    waited: bool,
) -> Result<Store, StoreError> {
    let config = StoreConfig { folder: data.to_owned(), golem: file.golem, max_pages: None };
    let mut tries = if waited { TRIES } else { 1 };
    loop {
        tries = tries.saturating_sub(1);
        match Store::open(&config, ledger) {
            Err(StoreError::Locked { .. }) if tries > 0 => sleep(GLANCE).await,
            opened => return opened,
        }
    }
}

/// The owner's ledger, where his Golem's file names one: a Golem's children are counted in the same.
pub(super) fn ledger(data: &Path, file: &GolemFile) -> Result<Option<OwnerLedger>, Failure> {
    match file.shared_ledger(data)? {
        Some(path) => Ok(Some(OwnerLedger::open(&path, file.owner)?)),
        None => Ok(None),
    }
}

/// How transactions are brought into blocks of this node's chain, and what each may cost there at most.
pub(super) fn lane(node: &Node, ceiling: Option<U256>) -> Result<LanePolicy, Failure> {
    let mut policy = LanePolicy::default();
    if node.is_near() {
        policy.confirmations = 1;
        policy.poll = Duration::from_millis(50);
    }
    if let Some(ceiling) = ceiling.or(input::chain_ceiling(node)?) {
        policy.clearing.fee_ceiling = ceiling;
    }
    Ok(policy)
}

fn provisions(
    args: &RunArgs,
    file: &GolemFile,
    node: &Node,
    keys: &Keys,
    clock: &Clock,
    store: Store,
) -> Result<Provisions, Failure> {
    let life = file.life.clone().unwrap_or_default();
    let text = |document: crate::commands::onboard::folder::Document| document.text(&args.data);
    Ok(Provisions {
        node: node.clone(),
        store: Arc::new(store),
        keys: keys.clone(),
        documents: Documents {
            strategy: text(STRATEGY)?,
            heartbeat: text(HEARTBEAT)?,
            constitution: CONSTITUTION.kept(&args.data)?,
        },
        costs: DailyCosts {
            inference: life.inference,
            gas: life.gas,
            compute: life.compute,
            data: life.data,
        },
        expected_days: life.expected_days,
        machine_ends: life.machine_ends,
        payees: life.payees,
        consent: None,
        owner_day: life.owner_day,
        lane: lane(node, args.fee_ceiling)?,
        strategist: None,
        folder: Some(args.data.clone()),
        inbox: Some(Arc::new(FolderInbox::of(&args.data))),
        clock: clock.port(),
    })
}
