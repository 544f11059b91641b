//! What an owner sends is taken in order and answered; what is no letter is put aside, and nothing of it is without bounds.

use crate::kit::{NEW, NOW, OLD, folder};
use alloy_primitives::{Bytes, U256};
use golem_custody::Keys;
use golem_delegation::{
    Delegation, ROOT_AUTHORITY,
    permission::{Allowance, Answer, Asset, Permission, Request, Rules},
};
use golem_runtime::{Born, FolderInbox, Inbox as _, SentRunway};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    time::Duration,
};
use tokio::time::timeout;

fn grant(salt: u64) -> Delegation {
    Delegation {
        delegate: NEW,
        delegator: OLD,
        authority: ROOT_AUTHORITY,
        caveats: Vec::new(),
        salt: U256::from(salt),
        signature: Bytes::from_static(&[1; 65]),
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn letters_are_read_in_order_and_answered_once() {
    let data = folder();
    let inbox = FolderInbox::of(data.path());
    assert_eq!(inbox.waiting().unwrap(), 0);
    assert!(names(data.path()).is_empty(), "looking makes nothing");
    for (second, salt) in [(3, 30), (1, 10), (2, 20)] {
        let path = inbox.put(&grant(salt), NOW + second).unwrap();
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    let read = inbox.grants().await.unwrap();

    assert_eq!(read, [10, 20, 30].map(grant));
    for one in &read {
        inbox.answered(one, "it is in use").await.unwrap();
    }
    assert_eq!((inbox.waiting().unwrap(), inbox.grants().await.unwrap()), (0, Vec::new()));
    let done = data.path().join("inbox/done");
    let first = fs::read(done.join(&names(&done)[0])).unwrap();
    let first: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(first["answer"], "it is in use");
    assert_eq!(first["grant"], serde_json::to_value(grant(10)).unwrap());
}

#[tokio::test]
async fn what_is_no_letter_is_put_aside_with_words_and_hides_none_that_is() {
    let data = folder();
    let inbox = FolderInbox::of(data.path());
    inbox.put(&grant(1), NOW).unwrap();
    let place = data.path().join("inbox");
    symlink("/dev/zero", place.join("0-link.json")).unwrap();
    fs::create_dir(place.join("0-folder.json")).unwrap();
    for (name, text) in [("0-empty.json", vec![]), ("0-long.json", vec![b'['; 100_000])] {
        fs::write(place.join(name), text).unwrap();
        fs::set_permissions(place.join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    fs::write(place.join("notes.txt"), "not for it").unwrap();

    assert_eq!(inbox.grants().await.unwrap(), [grant(1)]);

    assert_eq!(inbox.waiting().unwrap(), 1);
    let done = names(&place.join("done"));
    for name in ["0-link.json", "0-folder.json", "0-empty.json", "0-long.json"] {
        assert!(done.contains(&name.to_owned()), "{name}: {done:?}");
        let said = fs::read_to_string(place.join("done").join(name)).unwrap();
        assert!(said.contains("it is no") || said.contains("more than"), "{name}: {said}");
    }
    assert!(place.join("notes.txt").is_file());
}

#[tokio::test]
async fn a_flood_is_worked_off_in_parts_and_forgotten_in_time() {
    let data = folder();
    let inbox = FolderInbox::of(data.path());
    for number in 0..300 {
        inbox.put(&grant(number), NOW + number).unwrap();
    }

    let mut parts = Vec::new();
    while inbox.waiting().unwrap() > 0 {
        let part = inbox.grants().await.unwrap();
        parts.push(part.len());
        for one in &part {
            inbox.answered(one, "no").await.unwrap();
        }
    }

    assert_eq!(parts.iter().sum::<usize>(), 300);
    assert!(parts.iter().all(|part| *part <= 32), "{parts:?}");
    assert_eq!(names(&data.path().join("inbox/done")).len(), 256);
}

#[tokio::test(start_paused = true)]
async fn a_letter_wakes_once() {
    let data = folder();
    let inbox = FolderInbox::of(data.path());
    let day = Duration::from_secs(86_400);
    assert!(timeout(day, inbox.came()).await.is_err(), "nothing came");

    inbox.put(&grant(1), NOW).unwrap();
    assert!(timeout(day, inbox.came()).await.is_ok());
    assert!(timeout(day, inbox.came()).await.is_err(), "the same letter twice");
    inbox.ask_end().unwrap();
    assert!(timeout(day, inbox.came()).await.is_ok());

    assert!(inbox.end_asked().await.unwrap());
    inbox.put(&grant(2), NOW).unwrap();
    assert!(!inbox.end_asked().await.unwrap(), "who gives it more wants it to live");
}

fn runway(amount: u64) -> SentRunway {
    let allowance = Allowance { asset: Asset::Native, amount: U256::from(amount), start: None };
    let granted = Request {
        chain_id: 1,
        from: Some(OLD),
        to: NEW,
        permission: Permission::Allowance(allowance),
        adjustable: false,
        justification: None,
        rules: Rules { expiry: Some(NOW), redeemers: vec![NEW], ..Rules::default() },
    };
    let context = Bytes::from_static(&[7]);
    let answer = Answer { granted, context, dependencies: vec![], manager: Some(OLD) };
    SentRunway { answer, beyond_limits: false }
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_running_costs_wakes_and_is_looked_at_once() {
    let data = folder();
    let inbox = FolderInbox::of(data.path());
    assert_eq!(inbox.runway().await.unwrap(), None);
    let path = inbox.put_runway(&runway(1)).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(timeout(Duration::from_secs(9), inbox.came()).await.is_ok());
    inbox.noticed().await.unwrap();
    assert_eq!(inbox.runway().await.unwrap(), Some(runway(1)), "waking is no answer");

    // A later one takes its place, and is not answered with it.
    inbox.put_runway(&runway(2)).unwrap();
    inbox.runway_answered(&runway(1), "it is in use").await.unwrap();
    assert!(inbox.has_runway());
    inbox.runway_answered(&runway(2), "it is over").await.unwrap();
    assert_eq!((inbox.runway().await.unwrap(), inbox.has_runway()), (None, false));
    let done = fs::read_to_string(data.path().join("inbox/done/runway")).unwrap();
    assert!(done.contains("it is over"), "{done}");

    // What is none, or could be others', stops nobody.
    for (text, mode) in [("{}", 0o600), (r#"{"beyondLimits":true,"answer":[],"more":1}"#, 0o600)] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(inbox.runway().await.unwrap(), None);
        let done = fs::read_to_string(data.path().join("inbox/done/runway")).unwrap();
        assert!(done.contains("no wallet's answer"), "{done}");
    }
    inbox.put_runway(&runway(3)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(inbox.runway().await.unwrap(), None);
    assert!(!inbox.has_runway());
}

#[tokio::test]
async fn a_birth_is_believed_from_its_key_alone() {
    let born = Born::of(&Keys::hosted(), NOW).await.unwrap().unwrap();

    assert!(born.is_proven());
    assert!(!Born { address: NEW, ..born.clone() }.is_proven());
    assert!(!Born { at: NOW + 1, ..born.clone() }.is_proven());
    let other = Born::of(&Keys::hosted(), NOW).await.unwrap().unwrap();
    assert!(!Born { proof: other.proof, ..born }.is_proven());
}
