//! Readers of the audit chain: where they are, what they are told, and that it is on the disk first.

use crate::kit::{GOLEM, NO_CAPS, NOW, bid, config, entry, folder, open, raw, records};
use alloy_primitives::B256;
use bardo_store::{DATABASE, DAY, Record, Store, StoreError, canonical};
use golem_custody::{Audit, AuditHead, Books, Caps, DenialCode, Ending, Reserving, Spent, Steps};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, sync::Arc};

async fn noted(store: &Store, many: u64) {
    for number in 0..many {
        store.note("note", &json!({ "n": number }), NOW).await.unwrap();
    }
}

#[tokio::test]
async fn a_cursor_goes_on_and_never_back_nor_ahead_of_the_chain() {
    let folder = folder();
    let store = open(folder.path());
    noted(&store, 3).await;

    assert_eq!(store.begin_cursor("report", false).await.unwrap(), 0);
    assert_eq!(store.advance_cursor("report", 2).await.unwrap(), 2);
    assert_eq!(store.advance_cursor("report", 1).await.unwrap(), 2, "back it does not go");
    let ahead = store.advance_cursor("report", 4).await;
    assert!(matches!(ahead, Err(StoreError::Ahead { asked: 4, length: 3, .. })), "{ahead:?}");
    let nobody = store.advance_cursor("nobody", 1).await;
    assert!(matches!(nobody, Err(StoreError::UnknownReader(_))), "{nobody:?}");
    assert!(matches!(store.begin_cursor("a b", false).await, Err(StoreError::Name(_))));

    assert_eq!(store.cursor("report").await.unwrap(), Some(2));
    assert_eq!(store.cursor("nobody").await.unwrap(), None);
    assert_eq!(records(folder.path()).len(), 3, "who reads makes the chain no longer");
    // The database holds to it by itself.
    let raw = raw(folder.path());
    for (statement, why) in [
        ("UPDATE cursors SET sequence = 1", "goes on"),
        ("UPDATE cursors SET sequence = 4", "ahead of the chain"),
        ("INSERT INTO cursors VALUES ('other', 4)", "ahead of the chain"),
        ("DELETE FROM cursors", "is kept"),
    ] {
        let refused = raw.execute(statement, []).unwrap_err().to_string();
        assert!(refused.contains(why), "{statement}: {refused}");
    }
}

#[tokio::test]
async fn a_new_reader_begins_where_it_wants_and_an_old_one_where_it_was() {
    let folder = folder();
    let store = open(folder.path());
    noted(&store, 3).await;
    assert_eq!(store.begin_cursor("late", true).await.unwrap(), 3);
    assert_eq!(store.begin_cursor("early", false).await.unwrap(), 0);
    store.advance_cursor("early", 1).await.unwrap();
    drop(store);

    let store = open(folder.path());
    noted(&store, 2).await;

    assert_eq!(store.begin_cursor("late", true).await.unwrap(), 3, "not at the end once more");
    assert_eq!(store.begin_cursor("early", false).await.unwrap(), 1, "nor at the beginning");
}

#[tokio::test]
async fn records_are_read_in_pages_and_in_order() {
    let folder = folder();
    let store = open(folder.path());
    noted(&store, 7).await;
    let whole = records(folder.path());

    let mut read = Vec::new();
    loop {
        let page = store.records_after(read.len() as u64, 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        read.extend(page);
    }

    assert_eq!(read, whole);
    assert!(store.records_after(u64::MAX, 3).await.unwrap().is_empty());
    assert!(store.records_after(0, 0).await.unwrap().is_empty());
}

/// Another connection reads what was told: it sees what is committed, and nothing else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_length_that_is_told_is_on_the_disk() {
    let folder = folder();
    let store = Arc::new(open(folder.path()));
    let mut length = store.length();
    assert_eq!(*length.borrow(), 0);
    let writing = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { noted(&store, 200).await })
    };

    let mut told = 0;
    while told < 200 {
        told = *length.wait_for(|length| *length > told).await.unwrap();
        let there = store.records_after(told - 1, 1).await.unwrap();
        assert_eq!(there.len(), 1, "record {told} was told, and is not there");
    }

    writing.await.unwrap();
    drop(store);
    assert_eq!(*open(folder.path()).length().borrow(), 200, "and known after a restart");
}

#[tokio::test]
async fn whoever_writes_a_record_wakes_the_readers() {
    let folder = folder();
    let store = open(folder.path());
    let mut length = store.length();
    let mut woken = || {
        let changed = length.has_changed().unwrap();
        length.mark_unchanged();
        changed
    };
    let asked = entry(1, 10, NOW);

    let _ = store.reserve(&asked, &NO_CAPS).await.unwrap();
    assert!(woken(), "a reservation");
    store.signed(asked.intent, &bid(1), NOW).await.unwrap();
    assert!(woken(), "a signature");
    let ending = Ending::Abandoned { why: "test".into() };
    store.settle(asked.intent, &ending, NOW).await.unwrap();
    assert!(woken(), "an end");
    let _ = store.reserve(&asked, &NO_CAPS).await.unwrap();
    assert!(woken(), "a refusal");
    store.advance("machine", 0, &json!(1), NOW).await.unwrap();
    assert!(woken(), "a step");
    store.begin_cursor("report", false).await.unwrap();
    store.settle(asked.intent, &ending, NOW).await.unwrap();
    assert!(!woken(), "what writes no record wakes nobody");
}

#[tokio::test]
async fn the_record_of_a_signature_says_what_is_left() {
    let folder = folder();
    let store = open(folder.path());
    let caps = Caps { session: 100, ..NO_CAPS };
    for (number, sum) in [(1, 10), (2, 25)] {
        let asked = entry(number, sum, NOW);
        let _ = store.reserve(&asked, &caps).await.unwrap();
        store.signed(asked.intent, &bid(number), NOW).await.unwrap();
    }

    let left: Vec<(u64, u64)> = records(folder.path())
        .iter()
        .filter(|record| record.kind == "intent.signed")
        .map(|record| {
            let body: Value = serde_json::from_str(&record.body).unwrap();
            (body["microDollars"].as_u64().unwrap(), body["remaining"].as_u64().unwrap())
        })
        .collect();

    assert_eq!(left, [(10, 90), (25, 65)]);
}

#[tokio::test]
async fn a_store_of_the_first_schema_is_brought_to_the_newest_with_all_that_is_in_it() {
    let folder = folder();
    let path = folder.path().join(DATABASE);
    let asked = entry(1, 10, NOW);
    {
        let old = Connection::open(&path).unwrap();
        old.execute_batch(include_str!("../../src/db/golem-1.sql")).unwrap();
        old.pragma_update(None, "application_id", 0x4247_6f6c).unwrap();
        old.pragma_update(None, "user_version", 1).unwrap();
        old.execute("INSERT INTO whose VALUES (1, ?1)", [GOLEM.as_slice()]).unwrap();
        old.execute(
            "INSERT INTO reservations (intent, session, micro_dollars, at, entry) VALUES (?1, ?2, 10, ?3, ?4)",
            rusqlite::params![
                asked.intent.0.as_slice(),
                asked.session.as_slice(),
                i64::try_from(NOW).unwrap(),
                serde_json::to_string(&asked).unwrap(),
            ],
        )
        .unwrap();
        let head = AuditHead { golem: GOLEM, length: 0, hash: B256::ZERO };
        let body = canonical(&json!({ "intent": asked.intent, "entry": asked, "caps": NO_CAPS }));
        let record = Record::after(&head, NOW, "intent.reserved", body.unwrap());
        old.execute(
            "INSERT INTO audit VALUES (1, ?1, ?2, ?3, ?4, ?5)",
            rusqlite::params![
                i64::try_from(NOW).unwrap(),
                record.kind,
                record.body,
                record.previous.as_slice(),
                record.hash.as_slice(),
            ],
        )
        .unwrap();
        old.execute(
            "INSERT INTO bids (intent, hash, bid) VALUES (?1, ?2, ?3)",
            rusqlite::params![
                asked.intent.0.as_slice(),
                bid(1).hash.as_slice(),
                serde_json::to_string(&bid(1)).unwrap(),
            ],
        )
        .unwrap();
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

    let store = Store::open(&config(folder.path()), None).unwrap();

    let open = store.open().await.unwrap();
    assert_eq!((open.len(), &open[0].entry, &open[0].bids[..]), (1, &asked, &[bid(1)][..]));
    assert_eq!(
        store.spent(asked.session, NOW + DAY - 1).await.unwrap(),
        Spent { session: 10, day: 10 }
    );
    assert_eq!(store.spent(asked.session, NOW + DAY).await.unwrap(), Spent { session: 10, day: 0 });
    let again = store.reserve(&asked, &NO_CAPS).await.unwrap();
    assert!(
        matches!(&again, Reserving::Refused(denial) if denial.code == DenialCode::IntentUsed),
        "{again:?}"
    );
    store.signed(asked.intent, &bid(2), NOW).await.unwrap();
    let body: Value = serde_json::from_str(&records(folder.path())[2].body).unwrap();
    assert_eq!((&body["microDollars"], &body["remaining"]), (&json!(10), &Value::Null));
    assert_eq!(store.begin_cursor("report", true).await.unwrap(), 3);
}
