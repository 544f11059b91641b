//! What an owner's Golems share: his cap, and his answers.

use crate::{
    kit::{
        GOLEM, Key, NO_CAPS, NOW, assert_refused, entry, fault, folder, intent, kinds, ledger,
        ledger_path, open, owner, owner_key,
    },
    roles::{child, say, setting},
};
use alloy_primitives::{Address, B256};
use bardo_store::{CLOCK_SLACK, DAY, OwnerLedger, Replying, Store, StoreConfig, StoreError};
use golem_custody::{
    Answer, Approvals, Approving, Books, Caps, DenialCode, Ending, Entry, Question, Reserving,
};
use rusqlite::Connection;
use std::{io::Read, path::Path};
use tokio::runtime::Runtime;

const OTHER: B256 = B256::repeat_byte(0x61);
const CAPS: Caps = Caps { owner_day: Some(100), ..NO_CAPS };

fn golem_of(folder: &Path, golem: B256, ledger: &OwnerLedger) -> Store {
    let config = StoreConfig { folder: folder.join(golem.to_string()), golem, max_pages: None };
    Store::open(&config, Some(ledger)).unwrap()
}

fn entry_of(golem: B256, number: u64, micro_dollars: u64, at: u64) -> Entry {
    Entry { golem, ..entry(number, micro_dollars, at) }
}

fn abandoned() -> Ending {
    Ending::Abandoned { why: "test".into() }
}

/// Sum that the ledger holds.
fn held(folder: &Path) -> u64 {
    let sum: i64 = Connection::open(ledger_path(folder))
        .unwrap()
        .query_row(
            "SELECT coalesce(sum(micro_dollars), 0) FROM held WHERE released = 0",
            [],
            |row| row.get(0),
        )
        .unwrap();
    sum.cast_unsigned()
}

#[tokio::test]
async fn two_golems_share_one_cap_to_the_micro_dollar() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let one = golem_of(folder.path(), GOLEM, &ledger);
    let two = golem_of(folder.path(), OTHER, &ledger);
    assert_eq!(one.reserve(&entry(1, 60, NOW), &CAPS).await.unwrap(), Reserving::Made);

    let over = two.reserve(&entry_of(OTHER, 1, 41, NOW), &CAPS).await.unwrap();

    assert_refused(over, DenialCode::BudgetOwner, &["41 micro", "60 of 100", "all Golems"]);
    assert_eq!(kinds(&folder.path().join(OTHER.to_string())), ["intent.refused"]);
    let fits = two.reserve(&entry_of(OTHER, 1, 40, NOW), &CAPS).await.unwrap();
    assert_eq!(fits, Reserving::Made);
    // The first one's sum counts in its last second, and then no more.
    let over = two.reserve(&entry_of(OTHER, 2, 1, NOW + DAY - 1), &CAPS).await.unwrap();
    assert_refused(over, DenialCode::BudgetOwner, &["100 of 100"]);
    let fits = two.reserve(&entry_of(OTHER, 2, 100, NOW + DAY), &CAPS).await.unwrap();
    assert_eq!(fits, Reserving::Made);
}

#[tokio::test]
async fn what_a_golem_without_the_cap_spends_counts_for_those_with_it() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let one = golem_of(folder.path(), GOLEM, &ledger);
    let two = golem_of(folder.path(), OTHER, &ledger);
    assert_eq!(one.reserve(&entry(1, 500, NOW), &NO_CAPS).await.unwrap(), Reserving::Made);

    let over = two.reserve(&entry_of(OTHER, 1, 1, NOW), &CAPS).await.unwrap();

    assert_refused(over, DenialCode::BudgetOwner, &["500 of 100"]);
}

#[tokio::test]
async fn what_the_books_refuse_or_give_back_the_ledger_does_not_hold() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let one = golem_of(folder.path(), GOLEM, &ledger);

    let tight = Caps { session: 50, ..CAPS };
    let over = one.reserve(&entry(1, 51, NOW), &tight).await.unwrap();
    assert_refused(over, DenialCode::BudgetSession, &[]);
    assert_eq!(held(folder.path()), 0);
    assert_eq!(one.reserve(&entry(1, 50, NOW), &tight).await.unwrap(), Reserving::Made);
    assert_eq!(held(folder.path()), 50);

    let again = one.reserve(&entry(1, 50, NOW), &CAPS).await.unwrap();
    assert_refused(again, DenialCode::IntentUsed, &[]);
    assert_eq!(held(folder.path()), 50, "a name that is tried again frees nothing");
    one.settle(intent(1), &abandoned(), NOW).await.unwrap();
    assert_eq!(held(folder.path()), 0);
    let again = one.reserve(&entry(1, 50, NOW), &CAPS).await.unwrap();
    assert_refused(again, DenialCode::IntentUsed, &[]);
    assert_eq!(held(folder.path()), 0);
    // What cannot be written down at all is not held either.
    let fraction = Entry { what: serde_json::json!(0.5), ..entry(2, 9, NOW) };
    assert!(one.reserve(&fraction, &CAPS).await.is_err());
    assert_eq!(held(folder.path()), 0);
}

#[tokio::test]
async fn done_stays_spent_for_the_owner_too() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let one = golem_of(folder.path(), GOLEM, &ledger);
    assert_eq!(one.reserve(&entry(1, 100, NOW), &CAPS).await.unwrap(), Reserving::Made);
    let done = Ending::Done { hash: B256::ZERO, block: 1 };
    one.settle(intent(1), &done, NOW).await.unwrap();

    let over = one.reserve(&entry(2, 1, NOW), &CAPS).await.unwrap();

    assert_refused(over, DenialCode::BudgetOwner, &["100 of 100"]);
}

#[tokio::test]
async fn a_cap_without_a_ledger_and_another_owners_intent_are_not_reserved() {
    let folder = folder();
    let alone = open(&folder.path().join("alone"));
    let asked = alone.reserve(&entry(1, 1, NOW), &CAPS).await;
    assert!(matches!(fault(asked), StoreError::NoLedger(_)));

    let ledger = ledger(&ledger_path(folder.path()));
    let one = golem_of(folder.path(), GOLEM, &ledger);
    let foreign = Entry { owner: Address::repeat_byte(1), ..entry(1, 1, NOW) };
    assert!(matches!(fault(one.reserve(&foreign, &CAPS).await), StoreError::OtherOwner { .. }));
    let other = OwnerLedger::open(&ledger_path(folder.path()), Address::repeat_byte(1));
    assert!(matches!(other, Err(StoreError::OtherOwner { .. })), "{other:?}");
}

#[tokio::test]
async fn a_clock_behind_the_ledgers_frees_nothing() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let one = golem_of(folder.path(), GOLEM, &ledger);
    let two = golem_of(folder.path(), OTHER, &ledger);
    assert_eq!(one.reserve(&entry(1, 50, NOW), &CAPS).await.unwrap(), Reserving::Made);

    let late = two.reserve(&entry_of(OTHER, 1, 1, NOW - CLOCK_SLACK - 1), &CAPS).await.unwrap();
    assert_refused(late, DenialCode::Clock, &[]);
    let late = two.reserve(&entry_of(OTHER, 1, 50, NOW - CLOCK_SLACK), &CAPS).await.unwrap();
    assert_eq!(late, Reserving::Made);
    let over = two.reserve(&entry_of(OTHER, 2, 1, NOW + DAY - 1), &CAPS).await.unwrap();
    assert_refused(over, DenialCode::BudgetOwner, &["100 of 100"]);
}

/// A crash after the ledger's commit and before the books': as the disk has it then.
#[tokio::test]
async fn a_sum_that_was_held_and_never_booked_is_released_at_the_next_boot() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let one = golem_of(folder.path(), GOLEM, &ledger);
    assert_eq!(one.reserve(&entry(1, 30, NOW), &CAPS).await.unwrap(), Reserving::Made);
    let two = golem_of(folder.path(), OTHER, &ledger);
    assert_eq!(two.reserve(&entry_of(OTHER, 1, 20, NOW), &CAPS).await.unwrap(), Reserving::Made);
    drop(one);
    let raw = Connection::open(ledger_path(folder.path())).unwrap();
    raw.execute(
        "INSERT INTO held (golem, intent, micro_dollars, at) VALUES (?1, ?2, 50, ?3)",
        rusqlite::params![GOLEM.as_slice(), intent(9).0.as_slice(), NOW.cast_signed()],
    )
    .unwrap();
    assert_eq!(held(folder.path()), 100);

    let one = golem_of(folder.path(), GOLEM, &ledger);

    assert_eq!(held(folder.path()), 50, "its own leftovers, and nobody else's");
    assert_eq!(one.reserve(&entry(9, 50, NOW), &CAPS).await.unwrap(), Reserving::Made);
    assert_refused(
        one.reserve(&entry(10, 1, NOW), &CAPS).await.unwrap(),
        DenialCode::BudgetOwner,
        &["100 of 100"],
    );
}

/// A crash after the books gave back and before the ledger did; and a ledger that was lost.
#[tokio::test]
async fn the_next_boot_makes_the_ledger_say_what_the_books_say() {
    let folder = folder();
    let path = ledger_path(folder.path());
    let ledger = ledger(&path);
    let one = golem_of(folder.path(), GOLEM, &ledger);
    for (number, sum) in [(1, 30), (2, 20)] {
        assert_eq!(one.reserve(&entry(number, sum, NOW), &CAPS).await.unwrap(), Reserving::Made);
    }
    one.settle(intent(1), &abandoned(), NOW).await.unwrap();
    drop(one);
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE held SET released = 0", []).unwrap();
    assert_eq!(held(folder.path()), 50);
    drop(golem_of(folder.path(), GOLEM, &ledger));
    assert_eq!(held(folder.path()), 20);

    raw.execute_batch("DROP TRIGGER held_is_not_deleted; DELETE FROM held; DELETE FROM minutes;")
        .unwrap();
    drop(golem_of(folder.path(), GOLEM, &ledger));
    assert_eq!(held(folder.path()), 20);
}

/// Role: one Golem of an owner reserves as often as it can.
pub(crate) fn race(folder: &Path) {
    let number = setting("BARDO_NUMBER");
    let ledger = OwnerLedger::open(&ledger_path(folder), owner()).unwrap();
    let golem = B256::left_padding_from(&number.to_be_bytes());
    let store = golem_of(folder, golem, &ledger);
    say("ready");
    let _ = std::io::stdin().read_line(&mut String::new());
    let runtime = Runtime::new().unwrap();
    for attempt in 0..40 {
        let asked = Entry { at: NOW + attempt, ..entry_of(golem, attempt, 7, NOW) };
        match runtime.block_on(store.reserve(&asked, &CAPS)).unwrap() {
            Reserving::Made => say("made"),
            Reserving::Refused(denial) => {
                assert_eq!(denial.code, DenialCode::BudgetOwner, "{denial}");
                say("refused");
            }
        }
    }
}

#[test]
fn processes_that_race_never_exceed_the_owners_cap() {
    let folder = folder();
    let mut racers: Vec<_> = (1..=4)
        .map(|number: u64| {
            child("race", folder.path()).env("BARDO_NUMBER", number.to_string()).spawn().unwrap()
        })
        .collect();
    for racer in &mut racers {
        let mut line = [0; 6];
        racer.stderr.as_mut().unwrap().read_exact(&mut line).unwrap();
        assert_eq!(&line, b"ready\n");
    }
    // All are ready; each goes once its input ends.
    let starts: Vec<_> = racers.iter_mut().map(|racer| racer.stdin.take()).collect();
    drop(starts);

    let mut made = 0;
    for racer in racers {
        let output = racer.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        let count = |word: &str| said.lines().filter(|line| *line == word).count();
        assert_eq!(count("made") + count("refused"), 40, "{said}");
        made += count("made");
    }

    // Fourteen of seven fit into a hundred.
    assert_eq!((made, held(folder.path())), (14, 98));
}

fn question(number: u64) -> Question {
    Question {
        intent: intent(number),
        golem: GOLEM,
        owner: owner(),
        digest: B256::repeat_byte(0xd1),
        micro_dollars: 5_000_000,
        words: "swap 5 dollars".into(),
        expires_at: NOW + 60,
    }
}

#[track_caller]
fn code(approving: Approving) -> DenialCode {
    match approving {
        Approving::Refused(denial) => denial.code,
        Approving::Granted => panic!("it was granted"),
    }
}

#[track_caller]
fn not_kept(replying: Replying) -> DenialCode {
    match replying {
        Replying::Refused(denial) => denial.code,
        Replying::Kept => panic!("it was kept"),
    }
}

#[tokio::test]
async fn a_yes_is_used_once_by_one_process_or_another() {
    let folder = folder();
    let path = ledger_path(folder.path());
    let (asking, answering) = (ledger(&path), ledger(&path));
    let asked = question(1);
    assert_eq!(
        code(asking.consume(asked.intent, asked.digest, NOW).await.unwrap()),
        DenialCode::ApprovalMissing
    );
    asking.ask(&asked).await.unwrap();
    asking.ask(&asked).await.unwrap();
    assert_eq!(answering.waiting(NOW).await.unwrap(), std::slice::from_ref(&asked));
    assert_eq!(asking.answer(asked.intent).await.unwrap(), None);
    assert_eq!(
        code(asking.consume(asked.intent, asked.digest, NOW).await.unwrap()),
        DenialCode::ApprovalMissing
    );

    let yes = owner_key().answer(&asked, true);
    assert_eq!(answering.reply(asked.intent, &yes, NOW + 60).await.unwrap(), Replying::Kept);

    assert_eq!(asking.answer(asked.intent).await.unwrap(), Some(yes.clone()));
    assert_eq!(answering.waiting(NOW).await.unwrap(), []);
    let used = asking.consume(asked.intent, asked.digest, NOW + 60).await.unwrap();
    assert_eq!(used, Approving::Granted);
    drop((asking, answering));
    let later = ledger(&path);
    assert_eq!(
        code(later.consume(asked.intent, asked.digest, NOW).await.unwrap()),
        DenialCode::ApprovalUsed
    );
    assert_eq!(
        not_kept(later.reply(asked.intent, &yes, NOW).await.unwrap()),
        DenialCode::ApprovalUsed
    );
}

#[tokio::test]
async fn an_answer_counts_up_to_its_last_second_and_so_does_its_use() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let asked = question(1);
    ledger.ask(&asked).await.unwrap();
    let yes = owner_key().answer(&asked, true);

    let late = ledger.reply(asked.intent, &yes, NOW + 61).await.unwrap();
    assert_eq!(not_kept(late), DenialCode::ApprovalExpired);
    assert_eq!(ledger.waiting(NOW + 61).await.unwrap(), []);
    assert_eq!(ledger.reply(asked.intent, &yes, NOW + 60).await.unwrap(), Replying::Kept);
    let late = ledger.consume(asked.intent, asked.digest, NOW + 61).await.unwrap();
    assert_eq!(code(late), DenialCode::ApprovalExpired);
    let used = ledger.consume(asked.intent, asked.digest, NOW + 60).await.unwrap();
    assert_eq!(used, Approving::Granted);
}

#[tokio::test]
async fn an_answer_by_another_key_or_about_something_else_is_not_kept() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let asked = question(1);
    ledger.ask(&asked).await.unwrap();
    let owner = owner_key();
    let no = owner.answer(&asked, false);
    for forged in [
        Key::of(0x77).answer(&asked, true),
        // A no that is called a yes.
        Answer { approved: true, ..no },
        owner.answer(&question(2), true),
        owner.answer(&Question { digest: B256::ZERO, ..asked.clone() }, true),
        owner.answer(&Question { expires_at: NOW + 61, ..asked.clone() }, true),
        owner.answer(&Question { golem: OTHER, ..asked.clone() }, true),
        owner.answer(&Question { micro_dollars: 1, ..asked.clone() }, true),
        Answer { approved: true, signature: vec![0; 65].into() },
        Answer { approved: true, signature: vec![].into() },
    ] {
        let refused = ledger.reply(asked.intent, &forged, NOW).await.unwrap();
        assert_eq!(not_kept(refused), DenialCode::ApprovalSigner, "{forged:?}");
    }
    assert_eq!(ledger.answer(asked.intent).await.unwrap(), None);
    let unasked = ledger.reply(intent(5), &owner.answer(&question(5), true), NOW).await.unwrap();
    assert_eq!(not_kept(unasked), DenialCode::ApprovalMissing);
}

/// The file is shared by everything that runs as this user: what somebody writes into it is no owner's word.
#[tokio::test]
async fn an_answer_that_was_put_into_the_file_by_another_key_is_not_used() {
    let folder = folder();
    let path = ledger_path(folder.path());
    let ledger = ledger(&path);
    let asked = question(1);
    ledger.ask(&asked).await.unwrap();
    let forged = Key::of(0x77).answer(&asked, true);
    Connection::open(&path)
        .unwrap()
        .execute("UPDATE questions SET answer = ?1", [serde_json::to_string(&forged).unwrap()])
        .unwrap();

    let refused = ledger.consume(asked.intent, asked.digest, NOW).await.unwrap();

    assert_eq!(code(refused), DenialCode::ApprovalSigner);
}

#[tokio::test]
async fn a_yes_is_for_its_digest_and_a_no_is_none() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let (first, second) = (question(1), question(2));
    for asked in [&first, &second] {
        ledger.ask(asked).await.unwrap();
    }
    let owner = owner_key();
    let reply = async |asked: &Question, approved| {
        ledger.reply(asked.intent, &owner.answer(asked, approved), NOW).await.unwrap()
    };
    assert_eq!(reply(&first, true).await, Replying::Kept);
    assert_eq!(reply(&second, false).await, Replying::Kept);

    let other = ledger.consume(first.intent, B256::ZERO, NOW).await.unwrap();
    assert_eq!(code(other), DenialCode::ApprovalOther);
    let no = ledger.consume(second.intent, second.digest, NOW).await.unwrap();
    assert_eq!(code(no), DenialCode::ApprovalDenied);
    // A no stays one; a yes that was not used can be taken back.
    assert_eq!(not_kept(reply(&second, true).await), DenialCode::ApprovalDenied);
    assert_eq!(reply(&first, false).await, Replying::Kept);
    let no = ledger.consume(first.intent, first.digest, NOW).await.unwrap();
    assert_eq!(code(no), DenialCode::ApprovalDenied);
}

#[tokio::test]
async fn another_question_of_the_same_name_is_not_asked() {
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    ledger.ask(&question(1)).await.unwrap();

    let other = ledger.ask(&Question { expires_at: NOW + 61, ..question(1) }).await;
    assert!(matches!(fault(other), StoreError::OtherQuestion(_)));
    let foreign = ledger.ask(&Question { owner: Address::ZERO, ..question(3) }).await;
    assert!(matches!(fault(foreign), StoreError::OtherOwner { .. }));
}
