//! That the disk said "I have it" before a caller heard it.
//!
//! Seen from outside of the process, by strace: nothing inside it could show that the system was asked and had answered.

use crate::{
    kit::{NO_CAPS, NOW, entry, folder, open, records},
    roles::{dress, say},
};
use bardo_store::DATABASE;
use golem_custody::{Books, Reserving};
use std::{fs, path::Path, process::Command};
use tokio::runtime::Runtime;

const WRITES: u64 = 25;

/// Role: one reservation after the other, each said once it was acknowledged.
pub(crate) fn one_by_one(folder: &Path) {
    let store = open(folder);
    let runtime = Runtime::new().unwrap();
    for number in 0..WRITES {
        let made = runtime.block_on(store.reserve(&entry(number, 1, NOW), &NO_CAPS)).unwrap();
        assert_eq!(made, Reserving::Made);
        say(&format!("acknowledged {number}"));
    }
}

/// What happened to the log, in the order in which the system saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// Bytes went to the log.
    Written,
    /// The disk has everything that went to the log before.
    Synced,
    /// A caller was told.
    Told,
}

/// Reads strace's lines. A call that others interrupt is printed in two: it began at the first and is over at the second.
fn events(trace: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let mut syncing: Vec<&str> = Vec::new();
    for line in trace.lines() {
        let Some((process, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        let log = call.contains("golem.db-wal>");
        if call.starts_with("pwrite64(") && log {
            events.push(Event::Written);
        } else if call.starts_with("fdatasync(") || call.starts_with("fsync(") {
            if log && call.ends_with("<unfinished ...>") {
                syncing.push(process);
            } else if log && call.ends_with("= 0") {
                events.push(Event::Synced);
            }
        } else if call.starts_with("<... fdatasync resumed>")
            || call.starts_with("<... fsync resumed>")
        {
            if let Some(at) = syncing.iter().position(|one| *one == process) {
                syncing.remove(at);
                if call.ends_with("= 0") {
                    events.push(Event::Synced);
                }
            }
        } else if call.starts_with("write(2") && call.contains("\"acknowledged ") {
            events.push(Event::Told);
        }
    }
    events
}

#[test]
fn nobody_is_told_of_a_commit_before_the_disk_has_it() {
    let folder = folder();
    let trace = folder.path().join("trace");
    let mut strace = Command::new("strace");
    strace
        .args(["-f", "-y", "-s", "64", "-e", "trace=fdatasync,fsync,pwrite64,write", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap());
    let store = folder.path().join("store");
    dress(&mut strace, "one-by-one", &store);

    let output = strace
        .output()
        .expect("strace is needed to see what the disk is asked: apt-get install strace, as tools/setup.sh does");

    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(store.join(DATABASE).exists());
    let events = events(&fs::read_to_string(&trace).unwrap());
    let told: Vec<usize> = (0..events.len()).filter(|at| events[*at] == Event::Told).collect();
    assert_eq!(told.len() as u64, WRITES);
    let mut since = 0;
    for at in told {
        let part = &events[since..at];
        let written = part.iter().rposition(|event| *event == Event::Written);
        let synced = part.iter().rposition(|event| *event == Event::Synced);
        assert!(written.is_some(), "told at {at}, and nothing was written: {part:?}");
        assert!(synced > written, "told at {at} before the disk had it: {part:?}");
        since = at;
    }
}

#[test]
fn a_trace_is_read_as_it_happened() {
    let trace = "\
1 pwrite64(7</f/golem.db-wal>, \"x\", 1, 0) = 1
1 fdatasync(7</f/golem.db-wal> <unfinished ...>
2 write(2</dev/pts>, \"acknowledged 1\\n\", 15) = 15
1 <... fdatasync resumed>)          = 0
2 write(2</dev/pts>, \"acknowledged 2\\n\", 15) = 15
1 fdatasync(8</f/golem.db>) = 0
1 fdatasync(7</f/golem.db-wal>) = -1 EIO (Input/output error)
1 fdatasync(7</f/golem.db-wal>) = 0
";

    let expected = [Event::Written, Event::Told, Event::Synced, Event::Told, Event::Synced];
    assert_eq!(events(trace), expected);
}

/// A commit that makes the log longer waits for the disk several times as long as one that writes over what is there.
#[test]
fn commits_write_over_room_that_was_made_in_the_log() {
    const SIZE: u64 = 20;
    let folder = folder();
    let runtime = Runtime::new().unwrap();
    let store = open(folder.path());
    let log = folder.path().join(format!("{DATABASE}-wal"));
    let lengths: Vec<u64> = (0..SIZE)
        .map(|number| {
            let made = runtime.block_on(store.reserve(&entry(number, 1, NOW), &NO_CAPS)).unwrap();
            assert_eq!(made, Reserving::Made);
            fs::metadata(&log).unwrap().len()
        })
        .collect();

    let grown = lengths.windows(2).filter(|two| two[0] != two[1]).count();

    // Once past what was there when it was opened, and once for the room that was made behind it.
    assert!(grown <= 2, "{lengths:?}");
    assert_eq!(
        records(folder.path()).len() as u64,
        SIZE,
        "the room is no part of what was written"
    );
    drop(store);
    assert_eq!(records(folder.path()).len() as u64, SIZE);
}
