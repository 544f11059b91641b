//! SPEC K1, K8, INV-9: kill -9 at every failpoint of a death and of a choice, on a real disk. The next process goes on.

use crate::{
    kit::{GOLEM, NOW, config, folder},
    roles::child,
};
use alloy_primitives::{B256, U256};
use async_trait::async_trait;
use bardo_store::{Archive, Store};
use golem_custody::{
    BoxError, BroughtHome, Choice, CustodyChoice, CustodyMode, DeathOrder, DeathSteps, Effect,
    Estate, ExpiryKind, IntentId, Positions, Settlement, Settling, SweepOrder, Undertaker,
};
use std::{
    fs::{self, OpenOptions},
    io::{ErrorKind, Write as _},
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
};
use tokio::runtime;

const KILL: i32 = 9;
const POINTS: [&str; 11] = [
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

const fn order() -> DeathOrder {
    let estate =
        Estate::Granted { delegation: B256::repeat_byte(8), cause: ExpiryKind::CallLimitReached };
    DeathOrder { golem: GOLEM, estate, exhaustion: None }
}

/// What is done outside is a file: it is there or it is not, whoever is killed.
struct World(PathBuf);

impl World {
    fn make<T>(&self, effect: IntentId, what: &str, done: T) -> Result<Effect<T>, BoxError> {
        fs::create_dir_all(&self.0)?;
        let name = self.0.join(effect.0.to_string());
        match OpenOptions::new().write(true).create_new(true).open(name) {
            Ok(_) => self.log(what)?,
            Err(made) if made.kind() == ErrorKind::AlreadyExists => {}
            Err(fault) => return Err(fault.into()),
        }
        Ok(Effect::Done(done))
    }

    fn log(&self, what: &str) -> Result<(), BoxError> {
        let mut log = OpenOptions::new().append(true).create(true).open(self.0.join("log"))?;
        Ok(writeln!(log, "{what}")?)
    }
}

#[async_trait]
impl Undertaker for World {
    async fn close_positions(&self, effect: IntentId) -> Result<Effect<Positions>, BoxError> {
        self.make(effect, "positions", Positions::default())
    }

    async fn zero_allowances(&self, effect: IntentId) -> Result<Effect<()>, BoxError> {
        self.make(effect, "allowances", ())
    }

    async fn bring_home(
        &self,
        effect: IntentId,
        _: &SweepOrder,
    ) -> Result<Effect<BroughtHome>, BoxError> {
        self.make(effect, "home", BroughtHome::Leftovers(Positions::default()))
    }

    async fn close_registry(&self, effect: IntentId, _: B256) -> Result<Effect<()>, BoxError> {
        self.make(effect, "registry", ())
    }

    async fn end_keys(&self) -> Result<(), BoxError> {
        let key = self.0.join("key");
        if key.exists() {
            self.log("key")?;
            fs::remove_file(key)?;
        }
        Ok(())
    }
}

fn home(folder: &Path) -> Store {
    Store::open(&config(&folder.join("golem")), None).unwrap()
}

/// Role: a Golem that dies, or goes on dying.
pub(crate) fn die(folder: &Path) {
    let store = home(folder);
    runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let death = DeathSteps::new(&store, U256::ZERO);
        death.accept(CustodyMode::LocalKey, order(), NOW).await.unwrap();
        let done = death.run(&World(folder.join("world")), NOW + 1).await.unwrap();
        assert!(matches!(done, Settling::Done(_)), "{done:?}");
    });
}

/// Role: a choice, and the first tick.
pub(crate) fn choose(folder: &Path) {
    let store = home(folder);
    runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let choice = CustodyChoice::new(&store);
        let _ = choice.choose(CustodyMode::LocalKey, NOW).await.unwrap();
        let _ = choice.tick(NOW + 1).await.unwrap();
    });
}

fn killed_at(point: &str, role: &str, folder: &Path) {
    let status = child(role, folder).env("BARDO_CRASH_AT", point).status().unwrap();
    assert_eq!(status.signal(), Some(KILL), "{point} was not reached");
}

#[tokio::test]
async fn killed_anywhere_a_death_goes_on_and_nothing_is_done_twice() {
    for point in POINTS {
        let folder = folder();
        let world = folder.path().join("world");
        fs::create_dir_all(&world).unwrap();
        fs::write(world.join("key"), "a key").unwrap();

        killed_at(point, "die", folder.path());
        assert!(child("die", folder.path()).status().unwrap().success(), "{point}");

        let log = fs::read_to_string(world.join("log")).unwrap();
        assert_eq!(log, "positions\nallowances\nhome\nregistry\nkey\n", "{point}");
        let store = home(folder.path());
        let at = DeathSteps::new(&store, U256::ZERO).at().await.unwrap();
        assert!(matches!(at, Some(Settlement::Settled { .. })), "{point}: {at:?}");
        drop(store);
        let records = Archive::open(&folder.path().join("golem")).unwrap().audit().unwrap().0;
        assert_eq!(records.len(), 6, "{point}: each step is in the audit chain, once");
    }
}

#[tokio::test]
async fn killed_beside_the_first_tick_a_choice_is_whole() {
    let mode = CustodyMode::LocalKey;
    for (point, left) in [
        ("custody.chosen", Choice::Open { mode }),
        ("custody.fixed", Choice::Fixed { mode, since: NOW + 1 }),
    ] {
        let folder = folder();

        killed_at(point, "choose", folder.path());

        let store = home(folder.path());
        let at = CustodyChoice::new(&store).at().await.unwrap();
        assert_eq!(at, Some(left), "{point}");
    }
}
