//! The port to a database: everything that is SQL is below here, and nothing of it is seen above.
//!
//! Above stand two kinds of callers: [`Batch`]es, which write and are durable once committed, and [`Database`]s, which read. A
//! remote database fills the same functions.

mod audit;
mod books;
mod cursors;
mod grimoire;
mod ledger;
mod names;
mod schema;
mod standing;
mod steps;

pub(crate) use audit::{
    Draft, append, audit_head, keep_seal, newest_seal, read_after, read_records, read_seals,
    refuse_forged,
};
pub(crate) use books::{
    Request, Settlement, Signed, ended, forsake, keep_bid, open_intents, reserve, settle,
    signatures, spent_by,
};
pub(crate) use cursors::{advance_cursor, begin_cursor, cursor};
pub(crate) use grimoire::{list, remember, search};
pub use ledger::Replying;
pub(crate) use ledger::{
    Held, Hold, ask, consume, hold, read_answer, reconcile, release, reply, waiting, weigh,
};
pub(crate) use names::Names;
pub(crate) use standing::Standing;
pub(crate) use steps::{Advance, advance, load};

use crate::{StoreError, place};
use alloy_primitives::{Address, B256};
use rusqlite::{Connection, OpenFlags, Savepoint, Transaction, TransactionBehavior, ffi};
use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

/// The seconds of a rolling window.
pub const DAY: u64 = 86_400;

/// How far a time may lie behind the newest that was written, in seconds.
///
/// Callers read the clock, then wait their turn, and clocks are put right by seconds. Nothing is gained by being late within
/// it: what is late counts from the newest time there is, as if it had not been.
pub const CLOCK_SLACK: u64 = 300;

/// Pages that the log has before they are copied to where they belong: 16 MiB. Moving them costs two more waits for the disk.
const CHECKPOINT: u32 = 4_000;
/// The least room that is made in the log, in bytes, and the most: as much as it ever needs.
const ROOM: (u64, u64) = (1 << 18, (CHECKPOINT as u64) << 12);

/// Statements that stay prepared: all that are written over and over.
const PREPARED: usize = 64;

/// Most that a connection which writes keeps of the file in memory, in KiB with a minus: two hundred thousand names.
const CACHE: i32 = -8_192;

/// How long another process may keep a shared file to itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// An open file.
#[derive(Debug)]
pub(crate) struct Database {
    connection: Connection,
    /// The file's version for this connection, where nobody else may write: it changes with what others commit, and with nothing else.
    alone: Option<i64>,
    /// The log beside the file, and how long it was when room was made in it.
    log: (PathBuf, u64),
}

/// Writes that become durable together.
#[derive(Debug)]
pub(crate) struct Batch<'a>(Transaction<'a>);

/// A part of a batch that can be taken back alone.
#[derive(Debug)]
pub(crate) struct Part<'a>(Savepoint<'a>);

/// Which file: a Golem's, or an owner's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Golem,
    Owner,
}

impl Database {
    /// Opens for writing, and makes sure that a commit is one.
    pub(crate) fn open(
        path: &Path,
        kind: Kind,
        max_pages: Option<u32>,
    ) -> Result<Self, StoreError> {
        place::private_file(path)?;
        place::database_or_nothing(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(opening(path))?;
        connection.busy_timeout(PATIENCE).map_err(opening(path))?;
        let plan = kind.plan();
        schema::recognise(&connection, path, &plan)?;
        make_durable(&connection, path)?;
        connection
            .pragma_update(None, "wal_autocheckpoint", CHECKPOINT)
            .or_else(|error| match error {
                // It answers with what it is now.
                rusqlite::Error::ExecuteReturnedResults => Ok(()),
                error => Err(error),
            })
            .map_err(opening(path))?;
        connection.set_prepared_statement_cache_capacity(PREPARED);
        connection.pragma_update(None, "cache_size", CACHE).map_err(opening(path))?;
        if let Some(pages) = max_pages {
            connection.pragma_update(None, "max_page_count", pages).map_err(opening(path))?;
        }
        schema::migrate(&mut connection, path, &plan)?;
        Ok(Self { connection, alone: None, log: (log_of(path), 0) })
    }

    /// Opens for reading alone: also what another process has locked, and what lies on a disk that cannot be written.
    pub(crate) fn read(path: &Path, kind: Kind) -> Result<Self, StoreError> {
        let open = |uri: &str| {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
                | OpenFlags::SQLITE_OPEN_NO_MUTEX
                | OpenFlags::SQLITE_OPEN_URI;
            let connection = Connection::open_with_flags(uri, flags).map_err(opening(path))?;
            connection.busy_timeout(PATIENCE).map_err(opening(path))?;
            schema::recognise(&connection, path, &kind.plan())?;
            Ok(Self { connection, alone: None, log: (log_of(path), 0) })
        };
        place::database_or_nothing(path)?;
        let uri = uri(path);
        let wal = log_of(path);
        match open(&uri) {
            // Without a log beside it nobody writes to it, and no files are needed to read it.
            Err(StoreError::ReadOnly { .. } | StoreError::Sql { .. }) if !wal.exists() => {
                open(&format!("{uri}?immutable=1"))
            }
            other => other,
        }
    }

    /// From here on nobody else may write. A lock on a file keeps others out as long as that file is there; whoever deletes it lets a
    /// second process in, and what the first one knows by heart is not true any more. So each transaction looks at the database itself.
    pub(crate) fn be_alone(&mut self) -> Result<(), rusqlite::Error> {
        self.alone = Some(version(&self.connection)?);
        Ok(())
    }

    /// Makes room in the log, where it has grown since: a commit that makes a file longer waits for the disk several times as long
    /// as one that writes over what is there. What is behind the last commit of a log nobody reads; SQLite writes over it.
    ///
    /// Nobody else writes meanwhile. Where the disk has no room it stays as it was: this is no promise to anybody.
    pub(crate) fn make_room(&mut self) -> io::Result<()> {
        let (path, before) = self.log.clone();
        let length = fs::metadata(&path)?.len();
        let (least, most) = ROOM;
        if length == before || length >= most {
            self.log.1 = length;
            return Ok(());
        }
        let batch = self.begin().map_err(io::Error::other)?;
        let length = fs::metadata(&path)?.len();
        let room = length.max(least).min(most.saturating_sub(length));
        let made = place::lengthen(&path, room);
        batch.take_back().map_err(io::Error::other)?;
        // Where there is no room, it is looked for again when the log has grown.
        self.log.1 = if made.is_ok() { length.saturating_add(room) } else { length };
        made
    }

    /// Begins to write, with the file to itself.
    pub(crate) fn begin(&mut self) -> Result<Batch<'_>, rusqlite::Error> {
        let alone = self.alone;
        let batch = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        match alone {
            Some(alone) if version(&batch)? != alone => Err(shared()),
            _ => Ok(Batch(batch)),
        }
    }

    /// Reads that belong together: what others write meanwhile is not seen.
    pub(crate) fn snapshot(&mut self) -> Result<Batch<'_>, StoreError> {
        self.connection.transaction().map(Batch).map_err(StoreError::sql("reading the store"))
    }

    pub(crate) const fn reading(&self) -> &Connection {
        &self.connection
    }
}

impl Batch<'_> {
    pub(crate) fn part(&mut self) -> Result<Part<'_>, rusqlite::Error> {
        self.0.savepoint().map(Part)
    }

    /// Durable once this returns.
    pub(crate) fn commit(self) -> Result<(), rusqlite::Error> {
        self.0.commit()
    }

    pub(crate) fn take_back(self) -> Result<(), rusqlite::Error> {
        self.0.rollback()
    }

    /// Whether the database took it back by itself, as it may when the disk is full.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.is_autocommit()
    }

    pub(crate) fn writing(&self) -> &Connection {
        &self.0
    }
}

impl Part<'_> {
    /// Whether the database took back the whole batch by itself.
    pub(crate) fn is_gone(&self) -> bool {
        self.0.is_autocommit()
    }

    pub(crate) fn keep(self) -> Result<(), rusqlite::Error> {
        self.0.commit()
    }

    pub(crate) fn take_back(mut self) -> Result<(), rusqlite::Error> {
        self.0.rollback()
    }

    pub(crate) fn writing(&self) -> &Connection {
        &self.0
    }
}

impl Kind {
    const fn plan(self) -> schema::Plan {
        match self {
            Self::Golem => schema::GOLEM,
            Self::Owner => schema::OWNER,
        }
    }
}

/// Writes down whose file it is, once; afterwards it is nobody else's.
pub(crate) fn claim_golem(connection: &Connection, golem: B256) -> Result<(), StoreError> {
    match claim(connection, golem.as_slice())? {
        found if found == golem.as_slice() => Ok(()),
        found => Err(StoreError::OtherGolem { asked: golem, found: word("whose books", &found)? }),
    }
}

/// The same for an owner.
pub(crate) fn claim_owner(connection: &Connection, owner: Address) -> Result<(), StoreError> {
    match claim(connection, owner.as_slice())? {
        found if found == owner.as_slice() => Ok(()),
        found => {
            let found = Address::try_from(found.as_slice())
                .map_err(|_source| unreadable("whose ledger"))?;
            Err(StoreError::OtherOwner { asked: owner, found })
        }
    }
}

fn claim(connection: &Connection, whose: &[u8]) -> Result<Vec<u8>, StoreError> {
    let what = "claiming the file";
    connection
        .execute("INSERT INTO whose (only, id) VALUES (1, ?1) ON CONFLICT DO NOTHING", [whose])
        .map_err(StoreError::sql(what))?;
    connection
        .query_row("SELECT id FROM whose", [], |row| row.get(0))
        .map_err(StoreError::sql(what))
}

/// Whose file it is.
pub(crate) fn whose(connection: &Connection) -> Result<B256, StoreError> {
    let what = "reading whose books these are";
    let id: Vec<u8> = connection
        .prepare_cached("SELECT id FROM whose")
        .and_then(|mut whose| whose.query_row([], |row| row.get(0)))
        .map_err(StoreError::sql(what))?;
    word(what, &id)
}

/// What a commit has to be, and is: set, and read back.
fn make_durable(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let settings: [(&'static str, &str, &str); 3] =
        [("journal_mode", "WAL", "wal"), ("synchronous", "FULL", "2"), ("foreign_keys", "ON", "1")];
    for (setting, value, wanted) in settings {
        connection
            .pragma_update_and_check(None, setting, value, |_| Ok(()))
            .or_else(|error| match error {
                // Setting it answers nothing.
                rusqlite::Error::QueryReturnedNoRows => Ok(()),
                error => Err(error),
            })
            .map_err(opening(path))?;
        let found = connection
            .pragma_query_value(None, setting, |row| {
                Ok(match row.get_ref(0)? {
                    rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                    other => other.as_str().unwrap_or("unknown").to_owned(),
                })
            })
            .map_err(opening(path))?;
        if found != wanted {
            return Err(StoreError::NotDurable { path: path.into(), setting, found });
        }
    }
    Ok(())
}

/// Changes when another connection committed.
fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
}

/// Somebody else wrote where nobody else may.
fn shared() -> rusqlite::Error {
    let words = "another process has written to these books".to_owned();
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_PROTOCOL), Some(words))
}

fn opening(path: &Path) -> impl Fn(rusqlite::Error) -> StoreError {
    move |error| match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
            StoreError::NotADatabase { path: path.into() }
        }
        _ => StoreError::sql("opening the store")(error),
    }
}

/// Where SQLite keeps what is committed and not yet in the file.
fn log_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    name.into()
}

/// A path as SQLite's URI: what has a meaning there is escaped.
fn uri(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

const fn unreadable(what: &'static str) -> StoreError {
    StoreError::Unreadable { what, source: None }
}

fn word(what: &'static str, bytes: &[u8]) -> Result<B256, StoreError> {
    B256::try_from(bytes).map_err(|_source| unreadable(what))
}

/// A number as the disk has it: 63 bits.
fn stored(what: &'static str, value: u64) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|_source| StoreError::TooLarge { what, value })
}

/// A number as it was.
fn counted(what: &'static str, value: i64) -> Result<u64, StoreError> {
    u64::try_from(value).map_err(|_source| unreadable(what))
}

/// Names that are searched for and printed.
fn name(text: &str) -> Result<&str, StoreError> {
    let fine = (1..=64).contains(&text.len()) && text.chars().all(|char| char.is_ascii_graphic());
    if fine { Ok(text) } else { Err(StoreError::Name(text.chars().take(80).collect())) }
}

/// The second that something counts from, for a caller whose clock says `at` where `newest` was written already; none where
/// he is too far behind.
const fn counts_from(at: u64, newest: u64) -> Option<u64> {
    if at >= newest {
        Some(at)
    } else if newest - at <= CLOCK_SLACK {
        Some(newest)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::hooks::{AuthAction, AuthContext, Authorization};

    /// A database on which setting `setting` silently does nothing.
    fn deaf(folder: &Path, setting: &'static str) -> Connection {
        let mut connection = Connection::open(folder.join("deaf.db")).unwrap();
        connection.pragma_update(None, "synchronous", "NORMAL").unwrap();
        connection.pragma_update(None, "foreign_keys", "OFF").unwrap();
        let ignore = move |context: AuthContext<'_>| match context.action {
            AuthAction::Pragma { pragma_name, pragma_value: Some(_) } if pragma_name == setting => {
                Authorization::Ignore
            }
            _ => Authorization::Allow,
        };
        connection.authorizer(Some(ignore)).unwrap();
        connection
    }

    #[test]
    fn a_file_that_does_not_take_a_setting_is_not_opened() {
        for setting in ["journal_mode", "synchronous", "foreign_keys"] {
            let folder = tempfile::tempdir().unwrap();
            let connection = deaf(folder.path(), setting);

            let refused = make_durable(&connection, Path::new("deaf.db"));

            assert!(
                matches!(&refused, Err(StoreError::NotDurable { setting: named, .. }) if *named == setting),
                "{setting}: {refused:?}"
            );
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(make_durable(&deaf(folder.path(), "none"), Path::new("deaf.db")).is_ok());
    }

    #[test]
    fn late_within_the_slack_counts_from_the_newest_and_later_not_at_all() {
        let newest = 1_800_000_000;
        for (at, from) in [
            (newest + 1, Some(newest + 1)),
            (newest, Some(newest)),
            (newest - CLOCK_SLACK, Some(newest)),
            (newest - CLOCK_SLACK - 1, None),
        ] {
            assert_eq!(counts_from(at, newest), from, "{at}");
        }
    }

    #[test]
    fn a_path_with_signs_of_its_own_is_one_path() {
        assert_eq!(uri(Path::new("/a b/c?d=e#f%.db")), "file:/a%20b/c%3Fd%3De%23f%25.db");
    }
}
