//! Reservations: what there is room for, what there is not, and what is written down about it.

use crate::kit::{
    GOLEM, NO_CAPS, NOW, assert_refused, bid, entry, fault, folder, intent, kinds, open, raw,
    records, refusal, reserved,
};
use alloy_primitives::{Address, B256};
use bardo_store::{CLOCK_SLACK, DAY, Store, StoreError};
use golem_custody::{Audit, Books, Caps, DenialCode, Ending, Entry, Reserving};
use serde_json::{Value, json};
use std::{future::Future, pin::pin, sync::Arc, task::Context};

const DONE: Ending = Ending::Done { hash: B256::repeat_byte(1), block: 9 };

fn abandoned() -> Ending {
    Ending::Abandoned { why: "the price moved".into() }
}

fn failed() -> Ending {
    Ending::Failed { hash: B256::repeat_byte(2), block: 9, code: "EXE-REVERTED".into() }
}

#[tokio::test]
async fn a_reservation_is_open_with_what_was_asked_and_is_in_the_audit_chain() {
    let folder = folder();
    let store = open(folder.path());
    let asked = entry(1, 5, NOW);

    assert_eq!(store.reserve(&asked, &NO_CAPS).await.unwrap(), Reserving::Made);

    let found = Books::open(&store).await.unwrap();
    assert_eq!((found.len(), &found[0].entry, found[0].bids.len()), (1, &asked, 0));
    let record = records(folder.path()).pop().unwrap();
    assert_eq!((record.kind.as_str(), record.at, record.golem), ("intent.reserved", NOW, GOLEM));
    let body: Value = serde_json::from_str(&record.body).unwrap();
    assert_eq!(body["entry"], serde_json::to_value(&asked).unwrap());
}

#[tokio::test]
async fn a_session_spends_its_cap_and_not_a_micro_dollar_more() {
    let folder = folder();
    let store = open(folder.path());
    let caps = Caps { session: 100, ..NO_CAPS };
    assert_eq!(store.reserve(&entry(1, 60, NOW), &caps).await.unwrap(), Reserving::Made);

    let over = store.reserve(&entry(2, 41, NOW), &caps).await.unwrap();

    assert_refused(over, DenialCode::BudgetSession, &["41 micro", "60 of 100", "whole life"]);
    assert_eq!(store.reserve(&entry(3, 40, NOW + 30 * DAY), &caps).await.unwrap(), Reserving::Made);
    let over = store.reserve(&entry(4, 1, NOW + 60 * DAY), &caps).await.unwrap();
    assert_refused(over, DenialCode::BudgetSession, &["100 of 100"]);
    let another = Entry { session: Address::repeat_byte(9), ..entry(5, 100, NOW + 60 * DAY) };
    assert_eq!(store.reserve(&another, &caps).await.unwrap(), Reserving::Made);
}

#[tokio::test]
async fn any_24_hours_have_their_cap_to_the_second() {
    let folder = folder();
    let store = open(folder.path());
    let caps = Caps { day: 100, ..NO_CAPS };
    assert_eq!(store.reserve(&entry(1, 70, NOW), &caps).await.unwrap(), Reserving::Made);
    assert_eq!(store.reserve(&entry(2, 30, NOW + 10), &caps).await.unwrap(), Reserving::Made);

    // In the last second of the first one's day it still counts; a second later it is a day ago.
    let over = store.reserve(&entry(3, 1, NOW + DAY - 1), &caps).await.unwrap();
    assert_refused(over, DenialCode::BudgetDay, &["1 micro", "100 of 100", "24 hours"]);
    assert_eq!(store.reserve(&entry(4, 70, NOW + DAY), &caps).await.unwrap(), Reserving::Made);
    let over = store.reserve(&entry(5, 1, NOW + DAY + 9), &caps).await.unwrap();
    assert_refused(over, DenialCode::BudgetDay, &["100 of 100"]);
    assert_eq!(store.reserve(&entry(6, 30, NOW + DAY + 10), &caps).await.unwrap(), Reserving::Made);
}

#[tokio::test]
async fn a_day_is_one_golems_whichever_key_signs() {
    let folder = folder();
    let store = open(folder.path());
    let caps = Caps { day: 100, ..NO_CAPS };
    assert_eq!(store.reserve(&entry(1, 100, NOW), &caps).await.unwrap(), Reserving::Made);

    let another = Entry { session: Address::repeat_byte(9), ..entry(2, 1, NOW) };

    assert_refused(
        store.reserve(&another, &caps).await.unwrap(),
        DenialCode::BudgetDay,
        &["100 of 100"],
    );
}

#[tokio::test]
async fn what_is_done_stays_spent_and_what_failed_or_was_abandoned_is_given_back() {
    let folder = folder();
    let store = open(folder.path());
    let caps = Caps { session: 100, day: 100, owner_day: None };
    for (number, ending, left) in [(1, failed(), true), (2, abandoned(), true), (3, DONE, false)] {
        assert_eq!(store.reserve(&entry(number, 100, NOW), &caps).await.unwrap(), Reserving::Made);
        store.settle(intent(number), &ending, NOW).await.unwrap();

        let next = store.reserve(&entry(number + 10, 100, NOW), &caps).await.unwrap();

        assert_eq!(next == Reserving::Made, left, "{ending:?}: {next:?}");
        if left {
            store.settle(intent(number + 10), &abandoned(), NOW).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_name_is_used_once_even_after_it_ended() {
    let folder = folder();
    let store = open(folder.path());
    reserved(&store, 1, 5, NOW).await;

    let again = store.reserve(&entry(1, 5, NOW), &NO_CAPS).await.unwrap();
    assert_refused(again, DenialCode::IntentUsed, &[&intent(1).0.to_string()]);
    store.settle(intent(1), &abandoned(), NOW).await.unwrap();
    let again = store.reserve(&entry(1, 6, NOW), &NO_CAPS).await.unwrap();
    assert_refused(again, DenialCode::IntentUsed, &[]);

    reserved(&store, 2, 5, NOW).await;
}

#[tokio::test]
async fn a_refused_name_may_be_tried_again_and_each_refusal_is_in_the_audit_chain() {
    let folder = folder();
    let store = open(folder.path());
    let tight = Caps { day: 4, ..NO_CAPS };

    let denial = refusal(store.reserve(&entry(1, 5, NOW), &tight).await.unwrap());
    reserved(&store, 1, 5, NOW).await;

    assert_eq!(kinds(folder.path()), ["intent.refused", "intent.reserved"]);
    let body: Value = serde_json::from_str(&records(folder.path())[0].body).unwrap();
    assert_eq!(body["denial"], json!(denial));
    assert_eq!(body["denial"]["code"], "CUS-BUDGET-DAY");
}

#[tokio::test]
async fn a_clock_that_goes_back_frees_nothing() {
    let folder = folder();
    let store = open(folder.path());
    let caps = Caps { day: 100, ..NO_CAPS };
    assert_eq!(store.reserve(&entry(1, 50, NOW), &caps).await.unwrap(), Reserving::Made);

    let late = store.reserve(&entry(2, 1, NOW - CLOCK_SLACK - 1), &caps).await.unwrap();
    assert_refused(late, DenialCode::Clock, &[&NOW.to_string()]);
    // Late within the slack it is taken, and counts as long as if it had been in time.
    let late = store.reserve(&entry(3, 50, NOW - CLOCK_SLACK), &caps).await.unwrap();
    assert_eq!(late, Reserving::Made);
    let over = store.reserve(&entry(4, 1, NOW + DAY - 1), &caps).await.unwrap();
    assert_refused(over, DenialCode::BudgetDay, &["100 of 100"]);
}

#[tokio::test]
async fn an_abandoned_intent_does_not_take_the_clock_back_with_it() {
    let folder = folder();
    let store = open(folder.path());
    reserved(&store, 1, 1, NOW).await;
    store.settle(intent(1), &abandoned(), NOW).await.unwrap();

    let late = store.reserve(&entry(2, 1, NOW - CLOCK_SLACK - 1), &NO_CAPS).await.unwrap();

    assert_refused(late, DenialCode::Clock, &[]);
}

#[tokio::test]
async fn sums_that_cannot_be_counted_are_not_reserved() {
    let folder = folder();
    let store = open(folder.path());
    let caps = Caps { session: u64::MAX, day: u64::MAX, owner_day: None };

    let asked = store.reserve(&entry(1, u64::MAX, NOW), &caps).await;
    assert!(matches!(fault(asked), StoreError::TooLarge { .. }));
    let most = i64::MAX.cast_unsigned();
    assert_eq!(store.reserve(&entry(2, most, NOW), &caps).await.unwrap(), Reserving::Made);

    // A micro-dollar more is more than the database can add up: then nothing is known to have room.
    let asked = store.reserve(&entry(3, 1, NOW), &caps).await;
    assert!(matches!(fault(asked), StoreError::Sql { .. }));
    let another = Entry { session: Address::repeat_byte(9), ..entry(4, 1, NOW + 60) };
    assert_eq!(store.reserve(&another, &caps).await.unwrap(), Reserving::Made);
    let asked = store.reserve(&entry(5, 1, NOW + 120), &caps).await;
    assert!(matches!(fault(asked), StoreError::Sql { .. }));
    assert_eq!(kinds(folder.path()).len(), 2);
}

#[tokio::test]
async fn signatures_are_kept_in_order_each_once() {
    let folder = folder();
    let store = open(folder.path());
    reserved(&store, 1, 5, NOW).await;
    reserved(&store, 2, 5, NOW).await;

    for number in [7, 8, 7] {
        store.signed(intent(1), &bid(number), NOW).await.unwrap();
    }

    let found = Books::open(&store).await.unwrap();
    assert_eq!(found[0].bids, [bid(7), bid(8)]);
    assert_eq!(found[1].bids, []);
    let elsewhere = store.signed(intent(2), &bid(7), NOW).await;
    assert!(matches!(fault(elsewhere), StoreError::OtherBid(_)));
    let expected = ["intent.reserved", "intent.reserved", "intent.signed", "intent.signed"];
    assert_eq!(kinds(folder.path()), expected);
}

/// What is given up stays open, and counts: somebody may have it.
#[tokio::test]
async fn what_is_given_up_is_found_given_up_and_still_counts() {
    let folder = folder();
    let store = open(folder.path());
    reserved(&store, 1, 5, NOW).await;
    reserved(&store, 2, 5, NOW).await;
    store.signed(intent(1), &bid(7), NOW).await.unwrap();
    store.signed(intent(1), &bid(8), NOW).await.unwrap();

    store.forsake(intent(1), NOW).await.unwrap();
    store.forsake(intent(1), NOW + 5).await.unwrap();
    drop(store);
    let store = open(folder.path());

    let found = Books::open(&store).await.unwrap();
    let found: Vec<_> = found.iter().map(|one| (one.bids.len(), one.forsaken)).collect();
    assert_eq!(found, [(2, true), (0, false)]);
    assert_eq!(store.spent(entry(1, 5, NOW).session, NOW).await.unwrap().day, 10);
    store.settle(intent(1), &DONE, NOW).await.unwrap();
    assert!(matches!(fault(store.forsake(intent(1), NOW).await), StoreError::Ended(_)));
    assert!(matches!(fault(store.forsake(intent(9), NOW).await), StoreError::UnknownIntent(_)));
    let given_up = kinds(folder.path()).into_iter().filter(|kind| kind == "intent.forsaken");
    assert_eq!(given_up.count(), 1);
}

#[tokio::test]
async fn nothing_is_signed_for_what_was_not_reserved_or_has_ended() {
    let folder = folder();
    let store = open(folder.path());

    let unknown = store.signed(intent(1), &bid(1), NOW).await;
    assert!(matches!(fault(unknown), StoreError::UnknownIntent(_)));
    reserved(&store, 1, 5, NOW).await;
    store.settle(intent(1), &DONE, NOW).await.unwrap();
    assert!(matches!(fault(store.signed(intent(1), &bid(1), NOW).await), StoreError::Ended(_)));
}

#[tokio::test]
async fn the_same_end_twice_is_one_and_another_is_an_error() {
    let folder = folder();
    let store = open(folder.path());
    reserved(&store, 1, 5, NOW).await;

    store.settle(intent(1), &DONE, NOW).await.unwrap();
    store.settle(intent(1), &DONE, NOW + 5).await.unwrap();

    assert!(matches!(fault(store.settle(intent(1), &failed(), NOW).await), StoreError::Ended(_)));
    let unknown = store.settle(intent(2), &DONE, NOW).await;
    assert!(matches!(fault(unknown), StoreError::UnknownIntent(_)));
    assert_eq!(kinds(folder.path()), ["intent.reserved", "intent.settled"]);
    assert_eq!(Books::open(&store).await.unwrap(), []);
}

#[tokio::test]
async fn everything_is_there_after_the_store_was_opened_again() {
    let folder = folder();
    let store = open(folder.path());
    let caps = Caps { session: 100, ..NO_CAPS };
    assert_eq!(store.reserve(&entry(1, 60, NOW), &caps).await.unwrap(), Reserving::Made);
    store.signed(intent(1), &bid(1), NOW).await.unwrap();
    let before = Books::open(&store).await.unwrap();
    drop(store);

    let store = open(folder.path());

    assert_eq!(Books::open(&store).await.unwrap(), before);
    let over = store.reserve(&entry(2, 41, NOW), &caps).await.unwrap();
    assert_refused(over, DenialCode::BudgetSession, &["60 of 100"]);
}

#[tokio::test]
async fn another_golems_intent_is_not_booked() {
    let folder = folder();
    let store = open(folder.path());

    let foreign = Entry { golem: B256::repeat_byte(1), ..entry(1, 5, NOW) };

    let refused = store.reserve(&foreign, &NO_CAPS).await;
    assert!(matches!(fault(refused), StoreError::OtherGolem { .. }));
    assert_eq!(kinds(folder.path()), Vec::<String>::new());
}

/// Callers whose work shares a commit: some fail, and nobody else notices.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_callers_error_takes_nothing_from_the_others() {
    let folder = folder();
    let store = Arc::new(open(folder.path()));
    let callers: Vec<_> = (0..120)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                match number % 3 {
                    0 => store.reserve(&entry(number, 1, NOW), &NO_CAPS).await.is_ok(),
                    // No intent of this name; a fraction in the audit chain.
                    1 => store.signed(intent(9_000 + number), &bid(number), NOW).await.is_ok(),
                    _ => store.note("note", &json!({ "x": 0.5 }), NOW).await.is_ok(),
                }
            })
        })
        .collect();

    for (number, caller) in callers.into_iter().enumerate() {
        assert_eq!(caller.await.unwrap(), number % 3 == 0, "caller {number}");
    }

    assert_eq!(Books::open(&*store).await.unwrap().len(), 40);
    assert_eq!(kinds(folder.path()), ["intent.reserved"; 40]);
}

/// Callers whose work shares a commit share the room, too, also where some of it is taken back or given back on the way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_share_a_commit_share_a_cap() {
    for failing in [false, true] {
        let folder = folder();
        let store = Arc::new(open(folder.path()));
        let caps = Caps { session: 50, day: 40, owner_day: None };
        reserved(&store, 1_000, 7, NOW).await;
        let callers: Vec<_> = (0..120)
            .map(|number| {
                let store = store.clone();
                tokio::spawn(async move {
                    if number == 60 {
                        let why = "it never left".to_owned();
                        let ending = Ending::Abandoned { why };
                        store.settle(intent(1_000), &ending, NOW).await.unwrap();
                    } else if failing && number % 3 == 0 {
                        assert!(store.signed(intent(9_000), &bid(number), NOW).await.is_err());
                    } else {
                        let made = store.reserve(&entry(number, 1, NOW), &caps).await.unwrap();
                        return u64::from(made == Reserving::Made);
                    }
                    0
                })
            })
            .collect();

        let mut made = 0;
        for caller in callers {
            made += caller.await.unwrap();
        }

        assert!((33..=40).contains(&made), "{made} of 40, and 7 of them given back on the way");
        let spent = store.spent(entry(0, 0, NOW).session, NOW).await.unwrap();
        assert_eq!((spent.session, spent.day), (made, made));
    }
}

/// Fifty of one name at once: the database knows one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_callers_with_one_name_one_reserves() {
    let folder = folder();
    let store = Arc::new(open(folder.path()));
    let callers: Vec<_> = (0..50)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.reserve(&entry(1, 1, NOW), &NO_CAPS).await.unwrap() })
        })
        .collect();

    let mut made = 0;
    for caller in callers {
        made += u32::from(caller.await.unwrap() == Reserving::Made);
    }

    assert_eq!(made, 1);
}

#[tokio::test]
async fn a_caller_that_stops_waiting_loses_the_answer_and_nothing_else() {
    let folder = folder();
    let store = open(folder.path());
    for number in 1..=20 {
        let asked = entry(number, 1, NOW);
        let mut waiting = pin!(store.reserve(&asked, &NO_CAPS));
        // Handed over, and forgotten before it is answered.
        let _ = waiting.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
    }
    drop(store);

    let store = open(folder.path());

    assert_eq!(Books::open(&store).await.unwrap().len(), 20);
    assert_eq!(kinds(folder.path()), ["intent.reserved"; 20]);
}

#[tokio::test]
async fn books_cannot_be_changed_by_accident() {
    let folder = folder();
    let store = open(folder.path());
    reserved(&store, 1, 5, NOW).await;
    store.signed(intent(1), &bid(1), NOW).await.unwrap();
    store.settle(intent(1), &DONE, NOW).await.unwrap();
    drop(store);

    let raw = raw(folder.path());
    for change in [
        "UPDATE audit SET body = '{}'",
        "DELETE FROM audit",
        "INSERT INTO audit SELECT 9, at, kind, body, previous, zeroblob(32) FROM audit LIMIT 1",
        "UPDATE reservations SET given_back = 1",
        "UPDATE reservations SET ending = NULL",
        "UPDATE reservations SET micro_dollars = 0",
        "DELETE FROM reservations",
        "UPDATE bids SET bid = ''",
        "DELETE FROM bids",
        "INSERT INTO names VALUES (zeroblob(31), 1)",
        "UPDATE named SET up_to = -1",
        "DELETE FROM named",
        "INSERT INTO minutes VALUES (1, -1, 1)",
    ] {
        assert!(raw.execute(change, []).is_err(), "{change}");
    }
    assert_eq!(kinds(folder.path()).len(), 3);
}

/// Whether the store refuses the name of this number, because it was used.
async fn is_used(store: &Store, number: u64) -> bool {
    let again = store.reserve(&entry(number, 1, NOW), &NO_CAPS).await.unwrap();
    match again {
        Reserving::Refused(denial) => denial.code == DenialCode::IntentUsed,
        Reserving::Made => false,
    }
}

#[tokio::test]
async fn a_name_stays_used_when_so_many_are_that_they_were_sorted_in() {
    const MANY: u64 = 16_500;
    let folder = folder();
    let store = Arc::new(open(folder.path()));
    let callers: Vec<_> = (0..128)
        .map(|caller| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in (0..MANY).skip(caller).step_by(128) {
                    let made = store.reserve(&entry(number, 1, NOW), &NO_CAPS).await.unwrap();
                    assert_eq!(made, Reserving::Made, "{number}");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.unwrap();
    }
    let sorted_in = |folder| {
        let count = |query| raw(folder).query_row(query, [], |row| row.get::<_, i64>(0)).unwrap();
        let (names, up_to) =
            (count("SELECT count(*) FROM names"), count("SELECT up_to FROM named"));
        assert_eq!(names, up_to, "the index has what it says");
        names
    };

    let names = sorted_in(folder.path());
    assert!((1..MANY.cast_signed()).contains(&names), "some are sorted in, some are not: {names}");
    for number in [0, 1, MANY / 2, MANY - 2, MANY - 1] {
        assert!(is_used(&store, number).await, "{number}");
        store.settle(intent(number), &DONE, NOW).await.unwrap();
        assert_eq!(store.ended(intent(number)).await.unwrap(), Some(DONE), "{number}");
    }
    assert_eq!(store.ended(intent(MANY)).await.unwrap(), None);
    drop(store);

    // The next process learns from the file which it did not sort in.
    let store = open(folder.path());
    for number in [0, 1, MANY / 2, MANY - 2, MANY - 1] {
        assert!(is_used(&store, number).await, "{number} after it was opened again");
    }
    assert_eq!(store.reserve(&entry(MANY, 1, NOW), &NO_CAPS).await.unwrap(), Reserving::Made);
    assert_eq!(Books::open(&store).await.unwrap().len(), usize::try_from(MANY - 4).unwrap());
    let spent = store.spent(entry(0, 1, NOW).session, NOW).await.unwrap();
    assert_eq!((spent.session, spent.day), (MANY + 1, MANY + 1));
}
