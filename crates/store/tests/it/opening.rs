//! What a store opens, what it refuses to, and what it says.

use crate::{
    kit::{GOLEM, NO_CAPS, NOW, config, entry, fault, folder, kinds, open, raw, records, reserved},
    roles::{child, child_of, dress, say},
};
use alloy_primitives::{Address, B256};
use bardo_store::{Archive, DATABASE, LOCK, OwnerLedger, Store, StoreConfig, StoreError, verify};
use golem_custody::{Books, Reserving};
use rusqlite::Connection;
use std::{
    error::Error,
    fs,
    io::{BufRead, BufReader, stdin},
    os::unix::fs::{MetadataExt, PermissionsExt, chown},
    path::Path,
    process::{Command, Output},
};
use tokio::runtime::Runtime;

/// Role: has the store open until its input ends.
pub(crate) fn hold(folder: &Path) {
    let _store = open(folder);
    say("open");
    let _ = stdin().read_line(&mut String::new());
}

fn words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        words = format!("{words}: {source}");
        next = source.source();
    }
    words
}

/// Role: opens and reserves, and says what came of it.
pub(crate) fn try_to_write(folder: &Path) {
    match Store::open(&config(folder), None) {
        Err(error) => say(&format!("refused {}", words(&error))),
        Ok(store) => {
            let asked = entry(77, 1, NOW);
            let made = Runtime::new().unwrap().block_on(store.reserve(&asked, &NO_CAPS));
            say(&match made {
                Ok(made) => format!("{made:?}"),
                Err(error) => format!("failed {}", words(error.as_ref())),
            });
        }
    }
}

/// Role: reserves until it fails, then tries once more.
pub(crate) fn fill(folder: &Path) {
    let store = open(folder);
    let runtime = Runtime::new().unwrap();
    for number in 0..100_000 {
        match runtime.block_on(store.reserve(&entry(number, 1, NOW), &NO_CAPS)) {
            Ok(made) => {
                assert_eq!(made, Reserving::Made);
                say(&format!("made {number}"));
            }
            Err(error) => {
                say(&format!("failed {}", words(error.as_ref())));
                let again = runtime.block_on(store.reserve(&entry(200_000, 1, NOW), &NO_CAPS));
                say(&format!(
                    "again {}",
                    again.map_or_else(|e| words(e.as_ref()), |m| format!("{m:?}"))
                ));
                return;
            }
        }
    }
}

/// Role: has a filesystem to itself and fills it; when something there was deleted it goes on, in this process and in the next.
pub(crate) fn flood(folder: &Path) {
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![1; 1 << 20]).unwrap();
    let store = open(folder);
    let runtime = Runtime::new().unwrap();
    let reserve = |number| runtime.block_on(store.reserve(&entry(number, 1, NOW), &NO_CAPS));
    let mut made = 0;
    let full = loop {
        match reserve(made) {
            Ok(reserving) => assert_eq!(reserving, Reserving::Made),
            Err(full) => break full,
        }
        made += 1;
    };
    say(&format!("full {}", words(full.as_ref())));
    say(&format!("again {}", words(reserve(made).unwrap_err().as_ref())));
    let left = fs::write(folder.join("more"), vec![1; 1 << 20]).unwrap_err();
    say(&format!("nor has the system room: {left}"));
    fs::remove_file(folder.join("more")).unwrap();
    assert!(!store.has_stopped());
    assert!(made > 50, "{made}");
    assert_eq!(runtime.block_on(Books::open(&store)).unwrap().len() as u64, made);

    fs::remove_file(ballast).unwrap();
    assert_eq!(reserve(made).unwrap(), Reserving::Made);
    drop(store);
    let store = open(folder);
    runtime.block_on(reserved(&store, made + 1, 1, NOW));
    let records = records(folder);
    assert_eq!(records.len() as u64, made + 2);
    assert!(verify(&records, &[], &[]).is_whole());
    say("whole");
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_second_process_is_refused_until_the_first_is_gone() {
    let folder = folder();
    let mut first = child("hold", folder.path()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(first.stderr.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "open");

    let refused = Store::open(&config(folder.path()), None);
    assert!(matches!(refused, Err(StoreError::Locked { .. })), "{refused:?}");
    let second = child("try", folder.path()).output().unwrap();
    assert!(said(&second).contains("in use by another process"), "{}", said(&second));

    // Not asked to leave: killed. The system lets go of its lock.
    first.kill().unwrap();
    first.wait().unwrap();
    let third = child("try", folder.path()).output().unwrap();
    assert!(said(&third).contains("Made"), "{}", said(&third));
}

#[test]
fn a_store_opens_once_in_a_process_too() {
    let folder = folder();
    let first = open(folder.path());

    assert!(matches!(Store::open(&config(folder.path()), None), Err(StoreError::Locked { .. })));
    drop(first);
    assert!(Store::open(&config(folder.path()), None).is_ok());
}

#[tokio::test]
async fn files_and_folder_are_private_and_loose_ones_are_refused() {
    let outer = folder();
    let inner = outer.path().join("new");
    let store = open(&inner);
    reserved(&store, 1, 1, NOW).await;

    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&inner), 0o700);
    let mut files = 0;
    for file in fs::read_dir(&inner).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        files += 1;
    }
    assert_eq!(files, 4, "database, its log and index, lock");
    drop(store);

    for (path, loose) in
        [(inner.clone(), 0o705), (inner.join(DATABASE), 0o640), (inner.join(LOCK), 0o604)]
    {
        let before = mode(&path);
        fs::set_permissions(&path, fs::Permissions::from_mode(loose)).unwrap();
        let refused = Store::open(&config(&inner), None);
        assert!(matches!(refused, Err(StoreError::Loose { mode, .. }) if mode == loose));
        fs::set_permissions(&path, fs::Permissions::from_mode(before)).unwrap();
    }
    assert!(Store::open(&config(&inner), None).is_ok());
}

#[test]
fn what_is_no_database_is_refused_and_left_as_it_is() {
    for garbage in [
        "garbage ".repeat(1_000),
        "x".into(),
        "y".repeat(99),
        "z".repeat(511),
        format!("SQLite format 3\0{}", "x".repeat(9_000)),
    ] {
        let folder = folder();
        let path = folder.path().join(DATABASE);
        fs::write(&path, &garbage).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();

        let refused = Store::open(&config(folder.path()), None);

        assert!(matches!(refused, Err(StoreError::NotADatabase { .. })), "{refused:?}");
        assert_eq!(fs::read(&path).unwrap(), garbage.as_bytes());
        assert!(Archive::open(folder.path()).is_err());
    }
}

#[test]
fn a_database_of_something_else_is_refused_and_left_as_it_is() {
    let folder = folder();
    let path = folder.path().join(DATABASE);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE songs (title)").unwrap();
    drop(other);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let before = fs::read(&path).unwrap();

    let refused = Store::open(&config(folder.path()), None);

    assert!(matches!(refused, Err(StoreError::OtherDatabase { .. })), "{refused:?}");
    assert_eq!(fs::read(&path).unwrap(), before);
    // An owner's ledger is no Golem's store.
    let ledger = folder.path().join("ledger").join(DATABASE);
    drop(OwnerLedger::open(&ledger, Address::repeat_byte(1)).unwrap());
    let refused = Store::open(&config(ledger.parent().unwrap()), None);
    assert!(matches!(refused, Err(StoreError::OtherDatabase { .. })), "{refused:?}");
}

#[test]
fn a_schema_of_a_later_program_is_refused_and_left_as_it_is() {
    let folder = folder();
    drop(open(folder.path()));
    raw(folder.path()).pragma_update(None, "user_version", 99).unwrap();

    let refused = Store::open(&config(folder.path()), None);

    assert!(matches!(refused, Err(StoreError::Newer { found: 99, known: 5, .. })), "{refused:?}");
    assert!(matches!(Archive::open(folder.path()), Err(StoreError::Newer { .. })));
    raw(folder.path()).pragma_update(None, "user_version", 5).unwrap();
    assert!(Store::open(&config(folder.path()), None).is_ok());
}

#[test]
fn books_of_another_golem_are_refused() {
    let folder = folder();
    drop(open(folder.path()));

    let other = StoreConfig { golem: B256::repeat_byte(1), ..config(folder.path()) };

    let refused = Store::open(&other, None);
    assert!(matches!(refused, Err(StoreError::OtherGolem { found: GOLEM, .. })), "{refused:?}");
}

/// The database's own bound: SQLite says "full" as it does for a full disk.
#[tokio::test]
async fn a_full_database_refuses_clearly_and_loses_nothing() {
    let folder = folder();
    drop(open(folder.path()));
    let pages: u32 =
        raw(folder.path()).pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    let bounded = StoreConfig { max_pages: Some(pages + 12), ..config(folder.path()) };
    let store = Store::open(&bounded, None).unwrap();
    let mut made = 0;
    let error = loop {
        match store.reserve(&entry(made, 1, NOW), &NO_CAPS).await {
            Ok(reserving) => assert_eq!(reserving, Reserving::Made),
            Err(error) => break *error.downcast::<StoreError>().unwrap(),
        }
        made += 1;
    };

    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert!(error.to_string().ends_with("the disk is full; nothing of it was kept"), "{error}");
    assert!(made > 5);
    assert_eq!(Books::open(&store).await.unwrap().len() as u64, made);
    drop(store);
    // With room again it goes on where it was.
    let store = open(folder.path());
    reserved(&store, made, 1, NOW).await;
    let records = records(folder.path());
    assert_eq!(records.len() as u64, made + 1);
    assert!(verify(&records, &[], &[]).is_whole());
}

/// A disk that takes no more, as the system has it: every write beyond a file's largest size fails.
#[test]
fn a_disk_that_takes_no_more_stops_the_store_and_loses_nothing() {
    let folder = folder();
    drop(open(folder.path()));
    let mut shell = Command::new("sh");
    // 256 KiB a file; a write beyond is an error and no signal.
    shell.args(["-c", r#"trap '' XFSZ; ulimit -f 512; exec "$0" "$@""#]);
    shell.arg(std::env::current_exe().unwrap());
    dress(&mut shell, "fill", folder.path());

    let output = shell.output().unwrap();

    let said = said(&output);
    let made = said.lines().filter(|line| line.starts_with("made ")).count();
    assert!(made > 5, "{said}");
    let failed = said.lines().find(|line| line.starts_with("failed ")).expect("it never failed");
    assert!(failed.contains("reserving failed; nothing of it was kept"), "{failed}");
    let again = said.lines().find(|line| line.starts_with("again ")).unwrap();
    assert!(again.contains("the store has stopped; nothing of it was done"), "{again}");
    let store = open(folder.path());
    let open = Runtime::new().unwrap().block_on(Books::open(&store)).unwrap();
    assert_eq!(open.len(), made, "as many as were answered");
    assert_eq!(kinds(folder.path()).len(), made);
    assert!(verify(&records(folder.path()), &[], &[]).is_whole());
}

/// A filesystem that has no room any more, for real: a small one in memory, seen by the child alone.
#[test]
fn a_filesystem_without_room_refuses_clearly_and_goes_on_once_there_is_some() {
    let folder = folder();
    let mut own = Command::new("unshare");
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    own.args(if root { &["--mount"][..] } else { &["--user", "--map-root-user", "--mount"] });
    let mounts = r#"mount -t tmpfs -o size=4m,mode=700 bardo "$BARDO_FOLDER" && exec "$0" "$@""#;
    own.args(["sh", "-c", mounts]).arg(std::env::current_exe().unwrap());
    dress(&mut own, "flood", folder.path());

    let output = own.output().expect("unshare and mount are needed, as every Debian has them");

    let said = said(&output);
    assert!(output.status.success(), "{said}");
    for line in ["full ", "again "] {
        let line = said.lines().find(|said| said.starts_with(line)).expect("a line");
        assert!(line.contains("reserving: the disk is full; nothing of it was kept"), "{line}");
    }
    assert!(said.contains("nor has the system room: No space left on device"), "{said}");
    assert!(said.lines().any(|line| line == "whole"), "{said}");
    assert!(!folder.path().join(DATABASE).exists(), "it was somewhere else");
}

/// Root may write anything, so somebody else has to try.
#[test]
fn a_file_that_cannot_be_written_is_refused_and_can_still_be_read() {
    const NOBODY: u32 = 65_534;
    let folder = folder();
    let store = open(folder.path());
    Runtime::new().unwrap().block_on(reserved(&store, 1, 1, NOW));
    drop(store);
    let path = folder.path().join(DATABASE);
    let before = fs::read(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    let output = if root {
        let binary = folder.path().join("it");
        fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
        for path in [folder.path(), &binary, &path, &folder.path().join(LOCK)] {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut other = Command::new("setpriv");
        other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary);
        dress(&mut other, "try", folder.path());
        other.output().unwrap()
    } else {
        child_of(&std::env::current_exe().unwrap(), "try", folder.path()).output().unwrap()
    };

    let said = said(&output);

    assert!(said.contains("cannot be written; nothing of it was kept"), "{said}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(records(folder.path()).len(), 1);
}

/// INV-6, INV-10: a lock that somebody deleted lets a second process in. Of the two the one that writes first goes on, and the other one
/// writes nothing any more: no name is used twice, and no budget is spent twice.
#[test]
fn of_two_processes_that_a_deleted_lock_let_in_one_writes() {
    let folder = folder();
    let runtime = Runtime::new().unwrap();
    let first = open(folder.path());
    runtime.block_on(reserved(&first, 1, 1, NOW));
    fs::remove_file(folder.path().join(LOCK)).unwrap();

    let second = child("try", folder.path()).output().unwrap();
    assert!(!first.has_stopped());
    let doubled = runtime.block_on(first.reserve(&entry(77, 1, NOW), &NO_CAPS));
    let other = runtime.block_on(first.reserve(&entry(2, 1, NOW), &NO_CAPS));

    assert_eq!(said(&second).trim(), "Made");
    assert!(matches!(fault(doubled), StoreError::Shared { .. }));
    assert!(matches!(fault(other), StoreError::Stopped { .. }), "it has stopped for good");
    assert!(first.has_stopped(), "and says so");
    drop(first);
    assert_eq!(kinds(folder.path()), ["intent.reserved"; 2]);
    assert!(Store::open(&config(folder.path()), None).is_ok());
}

/// The same the other way around: what the second one learnt when it opened them is not true any more.
#[test]
fn the_second_one_stops_where_the_first_one_wrote() {
    let folder = folder();
    let runtime = Runtime::new().unwrap();
    let first = open(folder.path());
    fs::remove_file(folder.path().join(LOCK)).unwrap();
    let second = open(folder.path());
    runtime.block_on(reserved(&first, 1, 1, NOW));

    let doubled = runtime.block_on(second.reserve(&entry(1, 1, NOW), &NO_CAPS));

    assert!(matches!(fault(doubled), StoreError::Shared { .. }));
    runtime.block_on(reserved(&first, 2, 1, NOW));
    drop((first, second));
    assert_eq!(kinds(folder.path()), ["intent.reserved"; 2]);
}

/// INV-10: books in which a name is twice are not opened, wherever the second one is.
#[test]
fn books_with_a_name_twice_are_not_opened() {
    let folder = folder();
    let runtime = Runtime::new().unwrap();
    let store = open(folder.path());
    runtime.block_on(reserved(&store, 1, 1, NOW));
    drop(store);
    let twice = "INSERT INTO reservations (intent, session, micro_dollars, at, record)
                 SELECT intent, session, micro_dollars, at, record FROM reservations";
    raw(folder.path()).execute(twice, []).unwrap();

    let opened = Store::open(&config(folder.path()), None);

    assert!(matches!(opened, Err(StoreError::Doubled(_))), "{opened:?}");
}
