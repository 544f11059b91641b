//! kill -9 at every step of onboarding and rotation, on a real store (SPEC K3, K7, D11, D12, D21; INV-5 to 7, 10).

use crate::{
    kit::records,
    lives::{Event, HOMES, Home, Run, World, golem_folder, password, place},
};
use alloy_primitives::{Address, hex};
use bardo_store::{Record, verify};
use golem_custody::{
    Choice, Keyring as _, Keys, Means, Onboarding, Replaced, Rotation, RotationReason,
    crash::Failpoint,
};
use k256::ecdsa::SigningKey;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

const SIGKILL: i32 = 9;
/// Enough for two rotations.
const TICKS: u64 = 6;
const NEXT_KEY: &str = "session-key.next.json";

/// Those of keys, rotation and onboarding; an intent's are gone through where there is a chain.
fn points() -> impl Iterator<Item = Failpoint> {
    Failpoint::ALL.iter().copied().filter(|point| !point.name().starts_with("intent."))
}

fn rotation_points() -> impl Iterator<Item = Failpoint> {
    Failpoint::ALL.iter().copied().filter(|point| point.name().starts_with("rotation."))
}

fn onboarding_points() -> impl Iterator<Item = Failpoint> {
    Failpoint::ALL.iter().copied().filter(|point| point.name().starts_with("onboarding."))
}

/// A Golem's processes, one after the other.
struct Lives {
    place: tempfile::TempDir,
    home: Home,
    kills: usize,
    /// How often a key was lost that is kept.
    losses: usize,
}

impl Lives {
    fn of(home: Home) -> Self {
        Self { place: place(), home, kills: 0, losses: 0 }
    }

    const fn run(&self) -> Run {
        Run::of(self.home, TICKS)
    }

    /// One process, and a look at all that it left. Whether it was killed.
    fn life(&mut self, run: Run, at: Option<Failpoint>) -> bool {
        let signal = run.lives(self.place.path(), at.map(Failpoint::name));
        assert!(matches!(signal, None | Some(SIGKILL)), "{signal:?}");
        self.kills += usize::from(signal.is_some());
        check(self.place.path(), self.home, self.kills);
        signal.is_some()
    }

    #[track_caller]
    fn killed(&mut self, run: Run, at: Failpoint) {
        assert!(self.life(run, Some(at)), "{:?} was not at {}", self.home, at.name());
    }

    /// The next boot, with nobody to kill it.
    #[track_caller]
    fn finishes(&mut self) {
        assert!(!self.life(self.run(), None));
        let path = self.place.path();
        let folder = golem_folder(path);
        let walked = walk(&records(&folder));
        assert_eq!(walked.onboarding, [1, 2, 3, 4, 5, 6, 7], "each step once, and in order");
        let Some(Rotation::Resting { key, grant, .. }) = walked.rotation else {
            panic!("{:?}", walked.rotation);
        };
        assert_eq!(grant.delegate, key, "the key in its place has a grant");
        let last = self.sent().last().copied().unwrap();
        assert_eq!(last.1, key, "and works");
        if self.home == Home::Local {
            assert_eq!(walked.rolled_back, self.losses, "what is kept is not asked for again");
        }
        let mut left: Vec<_> = names(&folder).into_iter().filter(|name| key_like(name)).collect();
        if self.home == Home::Local {
            assert_eq!(left.pop().unwrap(), "session-key.json");
            let keys = Keys::local(&folder, password(path)).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            assert_eq!(runtime.block_on(keys.current()), Some(key));
        }
        assert!(left.is_empty(), "of other keys nothing is left: {left:?}");
    }

    fn events(&self) -> Vec<Event> {
        World::of(self.place.path()).events()
    }

    /// Ticks and keys of all writes.
    fn sent(&self) -> Vec<(u64, Address)> {
        let sent = |event: &Event| match event {
            Event::Sent { tick, key, .. } => Some((*tick, *key)),
            _ => None,
        };
        self.events().iter().filter_map(sent).collect()
    }

    fn lose_the_next_key(&mut self) {
        self.losses += 1;
        fs::remove_file(golem_folder(self.place.path()).join(NEXT_KEY)).unwrap();
    }
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn key_like(name: &str) -> bool {
    name.contains("key")
}

/// What the audit chain says.
#[derive(Default)]
struct Walked {
    onboarding: Vec<u8>,
    choice: Option<Choice>,
    rotation: Option<Rotation>,
    /// How often it was not finished.
    rolled_back: usize,
    /// Whose turn it is to write.
    turn: Option<Address>,
}

/// Goes through the audit chain: every step follows from the one before, and nobody wrote out of turn (INV-5, INV-7).
fn walk(records: &[Record]) -> Walked {
    let mut walked = Walked::default();
    for record in records {
        let body: Value = serde_json::from_str(&record.body).unwrap();
        match (record.kind.as_str(), body["name"].as_str()) {
            ("step", Some("custody")) => {
                walked.choice = Some(serde_json::from_value(body["to"].clone()).unwrap());
            }
            ("step", Some("onboarding")) => {
                let step: Onboarding = serde_json::from_value(body["to"].clone()).unwrap();
                walked.onboarding.push(step.number());
                // SPEC K1: no step is there before the choice that it stands on.
                let fine = match step.number() {
                    0..=2 => walked.choice.is_none(),
                    3 => matches!(walked.choice, Some(Choice::Open { .. })),
                    4..=6 => matches!(walked.choice, Some(Choice::Bound { .. })),
                    _ => matches!(walked.choice, Some(Choice::Fixed { .. })),
                };
                assert!(fine, "step {} beside {:?}", step.number(), walked.choice);
                if let Onboarding::WritingStrategy {
                    means: Means::Granted { session, .. }, ..
                } = step
                {
                    walked.turn = Some(session);
                }
            }
            ("step", Some("rotation")) => {
                let step: Rotation = serde_json::from_value(body["to"].clone()).unwrap();
                let end = follows(walked.rotation.as_ref(), &step);
                walked.rolled_back += usize::from(end == Follows::Back);
                walked.turn = match &step {
                    Rotation::Asked { .. } => walked.turn,
                    Rotation::Granted { .. } => None,
                    Rotation::Resting { key, grant, .. } => {
                        (grant.delegate == *key).then_some(*key)
                    }
                };
                walked.rotation = Some(step);
            }
            ("intent.reserved", _) => {
                let session: Address =
                    serde_json::from_value(body["entry"]["session"].clone()).unwrap();
                assert_eq!(Some(session), walked.turn, "it was not its turn: {}", record.body);
            }
            _ => {}
        }
    }
    walked
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    On,
    Back,
}

/// On to the next step or back to rest, and never is one epoch asked for twice.
#[track_caller]
fn follows(from: Option<&Rotation>, to: &Rotation) -> Follows {
    use Rotation::{Asked, Granted, Resting};
    let (follows, fine) = match (from, to) {
        (None, Asked { old, grant, epoch, .. }) => {
            (Follows::On, grant.delegate == *old && *epoch == 2)
        }
        (
            Some(Resting { key, grant: last, epoch: before, .. }),
            Asked { old, new, grant, wanted, epoch, reason },
        ) => {
            let gone = last.delegate != *key;
            let why = if gone { RotationReason::Gone } else { RotationReason::Operations };
            let parties = (grant.delegate, wanted.delegate) == (*old, *new);
            let next = *epoch == before + 1 && last == grant;
            (Follows::On, parties && next && *reason == why)
        }
        (
            Some(Asked { old, new, reason, grant: last, wanted, epoch }),
            Granted { old: still, new: next, reason: why, before, grant, epoch: same },
        ) => {
            let kept = (old, new, reason, last, epoch) == (still, next, why, before, same);
            (Follows::On, kept && wanted.hash() == grant.hash())
        }
        (
            Some(Granted { old, new, reason, grant, epoch, .. }),
            Resting { key, grant: kept, epoch: same, replaced },
        ) if new == key => {
            let whom = Some(Replaced { key: *old, reason: *reason });
            (Follows::On, (grant, epoch, &whom) == (kept, same, replaced))
        }
        (
            Some(
                Asked { grant, epoch, .. }
                | Granted { before: grant, epoch, .. }
                | Resting { grant, epoch, .. },
            ),
            Resting { grant: kept, epoch: same, replaced, .. },
        ) => (Follows::Back, (grant, epoch, &None) == (kept, same, replaced)),
        _ => (Follows::On, false),
    };
    assert!(fine, "{to:?} after {from:?}");
    follows
}

/// Everything that must hold whenever a process has ended.
#[track_caller]
fn check(place: &Path, home: Home, kills: usize) {
    let records = records(&golem_folder(place));
    let found = verify(&records, &[], &[]);
    assert!(found.is_whole(), "{found}");
    let walked = walk(&records);
    let steps = walked.onboarding.len();
    assert_eq!(walked.onboarding, [1, 2, 3, 4, 5, 6, 7][..steps], "each step once, and in order");
    outside(&World::of(place).events(), home, kills);
}

/// The same of what the world saw, in its order.
#[track_caller]
fn outside(events: &[Event], home: Home, kills: usize) {
    let mut grants: BTreeMap<u16, Address> = BTreeMap::new();
    let (mut known, mut gone) = (BTreeSet::new(), BTreeSet::new());
    let (mut nonces, mut hashes) = (BTreeMap::new(), BTreeSet::new());
    let (mut ticks, mut ended, mut waits, mut minted) = (0, BTreeSet::new(), 0, 0);
    let mut live: Option<(u16, Address)> = None;
    for event in events {
        match event {
            Event::Boot { key } if home == Home::Hosted => {
                // SPEC D21: what was before this process is gone with the one before it.
                gone.append(&mut known);
                known.insert(*key);
                assert!(!gone.contains(key), "{key} came back");
            }
            Event::Boot { key } => {
                assert!(known.is_empty() || known.contains(key), "the key is the same: {key}");
                known.insert(*key);
            }
            Event::Signed { epoch, key } => {
                assert!(!gone.contains(key), "the owner signed for {key}, which is gone");
                known.insert(*key);
                // Before it is written down there is no grant; of a hosted key that died then there is nobody to use it.
                let unborn = *epoch == 1 && live.is_none();
                let other = grants.insert(*epoch, *key).filter(|other| other != key);
                assert!(other.is_none() || unborn, "two keys were granted epoch {epoch}");
            }
            Event::Sent { tick, key, epoch, nonce, hash } => {
                assert_eq!(grants.get(epoch), Some(key), "INV-7: it has no grant of epoch {epoch}");
                assert!(!gone.contains(key), "{key} is gone, and signs");
                if let Some((before, by)) = live {
                    assert!(before < *epoch || (before, by) == (*epoch, *key), "INV-7: two keys");
                }
                live = Some((*epoch, *key));
                let expected = nonces.entry(*key).or_insert(0);
                assert_eq!(nonce, expected, "INV-10: a place in the queue twice");
                *expected += 1;
                assert!(hashes.insert(*hash) && ended.insert(*tick), "one write a tick");
            }
            Event::Tick { tick } => {
                ticks += 1;
                assert_eq!(*tick, ticks);
            }
            Event::Waits { tick } => {
                waits += 1;
                assert!(ended.insert(*tick));
            }
            Event::Observes { tick } => assert!(ended.insert(*tick)),
            Event::Minted { .. } => minted += 1,
            Event::Shown { nonce } => assert_eq!(nonce, "5f3a9c1e7b2d4860", "one question"),
        }
    }
    assert!(minted <= 1, "one identity");
    let lost = usize::try_from(ticks).unwrap() - ended.len();
    assert!(lost <= kills, "{lost} ticks were lost in {kills} kills");
    assert!(waits <= grants.len(), "a rotation waits a tick, and not for ever");
}

#[test]
fn nobody_is_killed_and_no_tick_is_lost() {
    for home in HOMES {
        let mut lives = Lives::of(home);

        lives.finishes();

        assert_eq!(lives.sent().len() as u64, TICKS, "{home:?}");
        let keys: BTreeSet<_> = lives.sent().into_iter().map(|(_, key)| key).collect();
        assert_eq!(keys.len(), 3, "{home:?}: two rotations");
    }
}

/// What has to go before for a process to come to this place: a rotation is given up only if its keys are gone.
fn come_to(lives: &mut Lives, point: Failpoint) {
    if matches!(point, Failpoint::RotationDiscarded | Failpoint::RotationForgotten) {
        lives.killed(lives.run(), Failpoint::RotationAsked);
        if lives.home == Home::Local {
            lives.lose_the_next_key();
        }
    }
}

fn killed_everywhere(home: Home) {
    for point in points() {
        let mut lives = Lives::of(home);
        come_to(&mut lives, point);
        if home == Home::Hosted && point.name().starts_with("keyfile.") {
            assert!(!lives.life(lives.run(), Some(point)), "a hosted key is in no file");
            continue;
        }

        lives.killed(lives.run(), point);
        if let Some(made) = onboarding_points().position(|one| one == point) {
            // Two places a step: before the disk has it, and after.
            let walked = walk(&records(&golem_folder(lives.place.path())));
            assert_eq!(walked.onboarding.len(), made.div_ceil(2), "at {}", point.name());
        }
        // Again, if the next boot comes by.
        lives.life(lives.run(), Some(point));
        lives.finishes();
    }
}

#[test]
fn a_hosted_golem_killed_at_any_step_goes_on_or_back_and_never_has_two_keys() {
    killed_everywhere(Home::Hosted);
}

#[test]
fn a_golem_of_its_owners_machine_killed_at_any_step_goes_on_or_back_and_never_has_two_keys() {
    killed_everywhere(Home::Local);
}

#[test]
fn killed_at_one_step_after_the_other_it_is_whole_every_time() {
    for home in HOMES {
        let mut lives = Lives::of(home);

        for point in
            points().collect::<Vec<_>>().iter().rev().chain(points().collect::<Vec<_>>().iter())
        {
            lives.life(Run { ticks: 3, ..lives.run() }, Some(*point));
        }

        assert!(lives.kills > points().count() / 2, "{home:?}: {} kills", lives.kills);
        lives.finishes();
    }
}

#[test]
fn what_is_afloat_when_it_is_killed_is_waited_for() {
    for home in HOMES {
        for point in rotation_points() {
            let mut lives = Lives::of(home);
            let slow = Run { slow: true, ..lives.run() };
            if matches!(point, Failpoint::RotationDiscarded | Failpoint::RotationForgotten) {
                lives.killed(slow, Failpoint::RotationGranted);
                if home == Home::Local {
                    lives.lose_the_next_key();
                }
            }

            lives.killed(slow, point);
            lives.life(slow, None);
            let waits = lives.events().iter().any(|event| matches!(event, Event::Waits { .. }));
            assert!(waits, "{home:?} at {}: nothing was afloat", point.name());
            lives.finishes();
        }
    }
}

/// SPEC D11, D21.
#[test]
fn while_the_owner_is_away_a_kept_key_works_on_and_a_new_one_observes() {
    for home in HOMES {
        let mut lives = Lives::of(home);
        let away = Run { present: false, ..lives.run() };
        lives.killed(away, Failpoint::RotationAsked);
        let before = lives.sent();

        assert!(!lives.life(away, None));

        let after = lives.sent()[before.len()..].to_vec();
        match home {
            Home::Hosted => assert_eq!(after, [], "it has no grant"),
            Home::Local => {
                let old = before[0].1;
                assert!(after.len() as u64 == TICKS && after.iter().all(|(_, key)| *key == old));
            }
        }
        lives.finishes();
    }
}

/// The file of the next key is lost: the old one's grant is as good as it was.
#[test]
fn a_rotation_whose_next_key_is_lost_is_rolled_back_and_asked_for_anew() {
    for point in [Failpoint::RotationAsked, Failpoint::RotationGranted] {
        let mut lives = Lives::of(Home::Local);
        lives.killed(lives.run(), point);
        let (old, written) = (lives.sent()[0].1, lives.sent().len());
        lives.lose_the_next_key();

        assert!(!lives.life(Run { present: false, ticks: 1, ..lives.run() }, None));

        assert_eq!(lives.sent()[written..].iter().map(|sent| sent.1).collect::<Vec<_>>(), [old]);
        lives.finishes();
    }
}

/// A process that is killed while it writes a key file leaves another copy, of which no rotation knows.
#[test]
fn half_made_key_files_do_not_stay() {
    for point in [Failpoint::KeySealed, Failpoint::KeyNamed] {
        let mut lives = Lives::of(Home::Local);
        let folder = golem_folder(lives.place.path());
        let staged = || names(&folder).iter().any(|name| name.starts_with(".bardo-key-"));
        // Of the first key; and of one that follows it.
        lives.killed(lives.run(), point);
        assert!(staged(), "{point:?} leaves nothing behind");
        assert!(!lives.life(Run { ticks: 2, ..lives.run() }, None));
        assert!(!staged());
        lives.killed(lives.run(), point);
        assert!(staged());

        lives.finishes();
    }
}

/// Keys that lie in `bytes` as they are or in hex, of those who are looked for.
fn found(bytes: &[u8], looked_for: &BTreeSet<Address>) -> Vec<Address> {
    let key = |bytes: &[u8]| {
        let key = SigningKey::from_slice(bytes).ok()?;
        Some(Address::from_public_key(key.verifying_key()))
    };
    // Chance makes no key of few different bytes, nor of letters alone.
    let random = |window: &&[u8]| {
        let different: BTreeSet<_> = window.iter().collect();
        different.len() > 16 && !window.is_ascii()
    };
    let plain: BTreeSet<_> = bytes.windows(32).filter(random).collect();
    let digits = bytes.windows(64).filter(|window| window.iter().all(u8::is_ascii_hexdigit));
    let digits: BTreeSet<Vec<u8>> = digits.map(|window| hex::decode(window).unwrap()).collect();
    let all = plain.into_iter().chain(digits.iter().map(Vec::as_slice));
    all.filter_map(key).filter(|address| looked_for.contains(address)).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files
}

/// SPEC D21, ATK-35: of a hosted key nothing is on the disk, at whatever step its process ended.
#[test]
fn a_hosted_key_is_gone_with_its_process() {
    let bytes: Vec<u8> = (0..32).map(|n| 200 - n * 3).collect();
    let known = SigningKey::from_slice(&bytes).unwrap();
    let planted = BTreeSet::from([Address::from_public_key(known.verifying_key())]);
    let noise = |key: &[u8]| [b"noise \xff".as_slice(), key, b"\xfe noise".as_slice()].concat();
    assert_eq!(found(&noise(&known.to_bytes()), &planted).len(), 1, "it would be seen");
    assert_eq!(found(&noise(hex::encode(known.to_bytes()).as_bytes()), &planted).len(), 1);

    for point in [Failpoint::RotationGranted, Failpoint::RotationSwitched] {
        let mut lives = Lives::of(Home::Hosted);
        lives.killed(lives.run(), point);
        let keys: BTreeSet<Address> = lives
            .events()
            .into_iter()
            .filter_map(|event| match event {
                Event::Boot { key } | Event::Signed { key, .. } => Some(key),
                _ => None,
            })
            .collect();
        assert_eq!(keys.len(), 2, "the old and the new");

        for file in files(lives.place.path()) {
            let left = found(&fs::read(&file).unwrap(), &keys);
            assert!(left.is_empty(), "{} holds the keys of {left:?}", file.display());
        }
        lives.finishes();
    }
}

/// A place to end at that has no name in the list is one that no test above knows of.
#[test]
fn every_failpoint_of_custody_is_in_the_list() {
    for source in [
        include_str!("../../../custody/src/keyfile.rs"),
        include_str!("../../../custody/src/keyring.rs"),
        include_str!("../../../custody/src/mode.rs"),
        include_str!("../../../custody/src/onboarding.rs"),
        include_str!("../../../custody/src/rotation.rs"),
    ] {
        assert!(!source.contains("crash::at"), "use Failpoint");
    }
    let names: BTreeSet<_> = Failpoint::ALL.iter().map(|point| point.name()).collect();
    assert_eq!(names.len(), Failpoint::ALL.len(), "two of one name");
}
