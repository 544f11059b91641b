//! kill -9 at any moment, under load: what was answered is there, and nothing is there in part.
//!
//! BARDO_KILLS says how often (100); `make soak` asks for 1,000. BARDO_KILLS_SEED draws other moments.

use crate::{
    kit::{
        Dice, NO_CAPS, NOW, bid, config, entry, folder, intent, ledger_path, owner, raw, records,
    },
    roles::{child, say, setting},
};
use alloy_primitives::Address;
use bardo_store::{OwnerLedger, Store, StoreConfig, verify};
use golem_custody::{Audit, Books, Caps, Ending, Entry, Reserving, Steps};
use rusqlite::Connection;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    hint,
    io::Read,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::runtime;

const WRITERS: u64 = 16;
/// Rounds on one store before a new one begins: opening a store for the first time is killed as well.
const ROUNDS_OF_A_STORE: u64 = 5;
const SUM: u64 = 10;
/// So that some rounds run into their cap and go on along it.
const SESSION_CAP: u64 = 60 * SUM;

fn home(folder: &Path) -> StoreConfig {
    config(&folder.join("golem"))
}

const fn caps() -> Caps {
    Caps { session: SESSION_CAP, owner_day: Some(u64::MAX >> 1), ..NO_CAPS }
}

fn session(round: u64) -> Address {
    Address::left_padding_from(&(round + 1).to_be_bytes())
}

/// Role: many writers, each of which says what was acknowledged, once it was.
pub(crate) fn load(folder: &Path) {
    let round = setting("BARDO_ROUND");
    let ledger = OwnerLedger::open(&ledger_path(folder), owner()).unwrap();
    let store = Arc::new(Store::open(&home(folder), Some(&ledger)).unwrap());
    say("open");
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let store = store.clone();
                tokio::spawn(async move {
                    for turn in 0..10_000 {
                        let number = round << 32 | writer << 16 | turn;
                        work(&store, round, number).await;
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
    });
}

async fn work(store: &Store, round: u64, number: u64) {
    let asked = Entry { session: session(round), ..entry(number, SUM, NOW + round) };
    if store.reserve(&asked, &caps()).await.unwrap() != Reserving::Made {
        store.note("note", &json!({ "n": number }), NOW).await.unwrap();
        say(&format!("note {number}"));
        return;
    }
    say(&format!("reserved {number}"));
    if number.is_multiple_of(4) {
        return;
    }
    store.signed(asked.intent, &bid(number), NOW).await.unwrap();
    say(&format!("signed {number}"));
    let ending = match number % 4 {
        1 => return,
        2 => Ending::Done { hash: bid(number).hash, block: number },
        _ => Ending::Abandoned { why: "test".into() },
    };
    store.settle(asked.intent, &ending, NOW).await.unwrap();
    say(&format!("ended {number}"));
    if number % 8 == 7 {
        store.advance(&format!("machine-{number}"), 0, &json!(number), NOW).await.unwrap();
        say(&format!("moved {number}"));
    }
}

/// What a killed process had said.
#[derive(Default)]
struct Said(BTreeMap<String, BTreeSet<u64>>);

impl Said {
    fn hear(&mut self, text: &str) -> usize {
        let mut lines = 0;
        // What was not said to its end was not said.
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            lines += 1;
            if let Some((what, number)) = line.split_once(' ')
                && let Ok(number) = number.parse()
            {
                self.0.entry(what.into()).or_default().insert(number);
            } else {
                assert_eq!(line, "open", "a child said something else");
            }
        }
        lines
    }

    fn of(&self, what: &str) -> impl Iterator<Item = u64> {
        self.0.get(what).into_iter().flatten().copied()
    }
}

/// Starts the load and kills it once it has said some number of lines, or some time after its start.
fn killed(folder: &Path, round: u64, dice: &mut Dice, said: &mut Said) -> usize {
    let mut child = child("load", folder).env("BARDO_ROUND", round.to_string()).spawn().unwrap();
    let mut pipe = child.stderr.take().unwrap();
    let (mut text, mut buffer) = (Vec::new(), [0; 4_096]);
    if round.is_multiple_of(ROUNDS_OF_A_STORE) || dice.below(8) == 0 {
        // While it makes or opens its files, or shortly after.
        let end = Instant::now() + Duration::from_micros(dice.below(80_000));
        while Instant::now() < end {
            hint::spin_loop();
        }
    } else {
        let lines = usize::try_from(1 + dice.below(250)).unwrap();
        while text.iter().filter(|byte| **byte == b'\n').count() < lines {
            let read = pipe.read(&mut buffer).unwrap();
            assert_ne!(read, 0, "it ended by itself: {}", String::from_utf8_lossy(&text));
            text.extend_from_slice(&buffer[..read]);
        }
        let end = Instant::now() + Duration::from_micros(dice.below(3_000));
        while Instant::now() < end {
            hint::spin_loop();
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    pipe.read_to_end(&mut text).unwrap();
    said.hear(&String::from_utf8(text).unwrap())
}

fn count(connection: &Connection, query: &str) -> u64 {
    connection.query_row(query, [], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned()
}

/// Opens what is left, as the next boot does, and looks at all of it.
fn check(folder: &Path, round: u64, said: &Said) {
    let ledger = OwnerLedger::open(&ledger_path(folder), owner()).unwrap();
    let store = Store::open(&home(folder), Some(&ledger)).unwrap();
    drop(store);
    let raw = raw(&home(folder).folder);
    let state: String = raw.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(state, "ok", "round {round}");

    // What was acknowledged is there.
    let there = |table: &str, number: u64, condition: &str| {
        let query = format!("SELECT count(*) FROM {table} WHERE r.intent = ?1 AND {condition}");
        let name = intent(number).0;
        let mut found = raw.prepare_cached(&query).unwrap();
        let found: i64 = found.query_row([name.as_slice()], |row| row.get(0)).unwrap();
        assert_eq!(found, 1, "round {round}: {number} is not in {table} with {condition}");
    };
    said.of("reserved").for_each(|number| there("reservations r", number, "true"));
    said.of("signed").for_each(|number| {
        there("reservations r JOIN bids b ON b.reservation = r.number", number, "true");
    });
    said.of("ended").for_each(|number| {
        let back = if number % 4 == 2 { "given_back = 0" } else { "given_back = 1" };
        there("reservations r", number, &format!("ending IS NOT NULL AND {back}"));
    });
    for number in said.of("moved") {
        let query = format!("SELECT count(*) FROM steps WHERE name = 'machine-{number}'");
        assert_eq!(count(&raw, &query), 1);
    }

    // Nothing is there in part: each thing and its record, or neither.
    let records = records(&home(folder).folder);
    let found = verify(&records, &[], &[]);
    assert!(found.is_whole(), "round {round}: {found}");
    let kind = |kind: &str| records.iter().filter(|record| record.kind == kind).count() as u64;
    assert_eq!(kind("intent.reserved"), count(&raw, "SELECT count(*) FROM reservations"));
    let told_apart = "SELECT count(DISTINCT intent) FROM reservations";
    assert_eq!(kind("intent.reserved"), count(&raw, told_apart), "a name was used twice");
    assert_eq!(kind("intent.signed"), count(&raw, "SELECT count(*) FROM bids"));
    let ended = "SELECT count(*) FROM reservations WHERE ending IS NOT NULL";
    assert_eq!(kind("intent.settled"), count(&raw, ended));
    assert_eq!(kind("step"), count(&raw, "SELECT count(*) FROM steps"));
    let noted: BTreeSet<String> = records
        .iter()
        .filter(|record| record.kind == "note")
        .map(|record| record.body.clone())
        .collect();
    said.of("note").for_each(|number| assert!(noted.contains(&format!("{{\"n\":{number}}}"))));

    // No budget was doubled, in either file.
    let most =
        "SELECT coalesce(max(spent), 0) FROM (SELECT sum(micro_dollars) AS spent FROM reservations
                WHERE given_back = 0 GROUP BY session)";
    assert!(count(&raw, most) <= SESSION_CAP, "round {round}");
    let live = "SELECT coalesce(sum(micro_dollars), 0) FROM reservations WHERE given_back = 0";
    for added in ["sessions", "minutes"] {
        let added = format!("SELECT coalesce(sum(micro_dollars), 0) FROM {added}");
        assert_eq!(count(&raw, &added), count(&raw, live), "round {round}: {added}");
    }
    let names = |connection: &Connection, query: &str| -> BTreeSet<Vec<u8>> {
        let mut names = connection.prepare(query).unwrap();
        names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    let books = names(&raw, "SELECT intent FROM reservations WHERE given_back = 0");
    let owners = Connection::open(ledger_path(folder)).unwrap();
    let added = "SELECT coalesce(sum(micro_dollars), 0) FROM minutes";
    assert_eq!(count(&owners, added), count(&raw, live), "round {round}: the owner's minutes");
    let held = names(&owners, "SELECT intent FROM held WHERE released = 0");
    assert_eq!(books, held, "round {round}: the ledger holds what the books count");
}

#[test]
fn whatever_moment_a_process_is_killed_at_nothing_is_lost_doubled_or_torn() {
    let rounds = std::env::var("BARDO_KILLS").map_or(100, |rounds| rounds.parse().unwrap());
    let seed = std::env::var("BARDO_KILLS_SEED").map_or(1, |seed| seed.parse().unwrap());
    let mut dice = Dice(seed);
    let mut place = folder();
    let mut said = Said::default();
    let mut lines = 0;
    for round in 0..rounds {
        if round % ROUNDS_OF_A_STORE == 0 {
            (place, said) = (folder(), Said::default());
        }
        lines += killed(place.path(), round, &mut dice, &mut said);
        check(place.path(), round, &said);
    }

    assert!(lines > usize::try_from(rounds).unwrap() * 20, "hardly any load: {lines} lines");
}
