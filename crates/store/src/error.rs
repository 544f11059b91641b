use crate::canonical::CanonicalError;
use alloy_primitives::{Address, B256};
use golem_custody::IntentId;
use rusqlite::{Error as SqlError, ErrorCode, ffi};
use std::{io, path::PathBuf, sync::Arc};

/// Why the store could not do it. Every message says what was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process has it open (INV-6).
    #[error("{path} is in use by another process; this one does not open it")]
    Locked {
        /// The lock's file.
        path: PathBuf,
    },
    /// A file or folder could not be made or looked at.
    #[error("{path} cannot be used for a store")]
    Place {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Others on the machine could read or change it.
    #[error("{path} has mode {mode:03o}; make it private: chmod go-rwx {path}")]
    Loose {
        /// Which one.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Something else lies there.
    #[error("{path} is no database; nothing in it was changed")]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// A database, but of another program or purpose.
    #[error("{path} is a database of something else; nothing in it was changed")]
    OtherDatabase {
        /// The file.
        path: PathBuf,
    },
    /// Written by a later version of this program.
    #[error("{path} has schema {found}, and this program knows {known}; nothing in it was changed")]
    Newer {
        /// The file.
        path: PathBuf,
        /// What it has.
        found: i64,
        /// What is known.
        known: i64,
    },
    /// A change of the schema did not go through.
    #[error("{path} could not be brought to schema {to}; it is as it was")]
    Migration {
        /// The file.
        path: PathBuf,
        /// Where it should have gone.
        to: i64,
        /// Why.
        source: SqlError,
    },
    /// What a commit promises could not be kept.
    #[error("{path} does not keep what it commits: {setting} is {found}; it is not opened")]
    NotDurable {
        /// The file.
        path: PathBuf,
        /// Which setting.
        setting: &'static str,
        /// What it is.
        found: String,
    },
    /// Not this one's books.
    #[error("these books are of Golem {found}, not of {asked}; nothing was done")]
    OtherGolem {
        /// Who was asked for.
        asked: B256,
        /// Whose they are.
        found: B256,
    },
    /// Not this one's ledger.
    #[error("this ledger is of owner {found}, not of {asked}; nothing was done")]
    OtherOwner {
        /// Who was asked for.
        asked: Address,
        /// Whose it is.
        found: Address,
    },
    /// A cap over all Golems needs the owner's ledger.
    #[error("intent {} has an owner's cap, and there is no owner's ledger; nothing was reserved", .0.0)]
    NoLedger(IntentId),
    /// The owner's ledger has a sum for an intent that the books do not know.
    #[error("the owner's ledger still holds a sum for {}; nothing was reserved", .0.0)]
    StillHeld(IntentId),
    /// The owner's ledger did not answer.
    #[error("the owner's ledger could not be asked; nothing was reserved")]
    Ledger(#[source] Arc<Self>),
    /// The disk has no room.
    #[error("{what}: the disk is full; nothing of it was kept")]
    Full {
        /// What was to be done.
        what: &'static str,
        /// Why.
        source: Arc<SqlError>,
    },
    /// The file may not be written.
    #[error("{what}: the file cannot be written; nothing of it was kept")]
    ReadOnly {
        /// What was to be done.
        what: &'static str,
        /// Why.
        source: Arc<SqlError>,
    },
    /// Another process did not let go of the file in time.
    #[error("{what}: others keep the file busy; nothing of it was kept")]
    Busy {
        /// What was to be done.
        what: &'static str,
        /// Why.
        source: Arc<SqlError>,
    },
    /// Another process writes to the same books: its lock was taken away, or this one's was.
    #[error(
        "{what}: another process writes to the same books; nothing of it was kept; stop both, leave the lock file where it is, and open \
         them again"
    )]
    Shared {
        /// What was to be done.
        what: &'static str,
        /// Why.
        source: Arc<SqlError>,
    },
    /// The database said no.
    #[error("{what} failed; nothing of it was kept")]
    Sql {
        /// What was to be done.
        what: &'static str,
        /// Why.
        source: Arc<SqlError>,
    },
    /// The disk failed in the middle of a commit.
    #[error("{what}: it is not known whether the disk has it; open the store again to find out")]
    Uncertain {
        /// What was to be done.
        what: &'static str,
        /// Why.
        source: Arc<SqlError>,
    },
    /// The disk failed earlier, somebody else wrote, or the store is closing.
    #[error("{what}: the store has stopped; nothing of it was done; open it again")]
    Stopped {
        /// What was to be done.
        what: &'static str,
    },
    /// What lies on the disk is not what this program writes there.
    #[error("{what}: what is on the disk cannot be read")]
    Unreadable {
        /// What was to be read.
        what: &'static str,
        /// Why, where more is known.
        source: Option<serde_json::Error>,
    },
    /// A number that the disk has no room for.
    #[error("{what} of {value} is more than the store can count; nothing was done")]
    TooLarge {
        /// Which number.
        what: &'static str,
        /// The number.
        value: u64,
    },
    /// The value has no canonical form.
    #[error("{what} cannot be put into the audit chain; nothing was done")]
    Body {
        /// What.
        what: &'static str,
        /// Why.
        source: CanonicalError,
    },
    /// A name of a kind, a source or a machine of steps that is none.
    #[error("{0:?} is no name: 1 to 64 printable characters are needed; nothing was done")]
    Name(String),
    /// Two reservations of one name: nobody made them by this program alone.
    #[error("intent {} is in the books twice; they are not opened", .0.0)]
    Doubled(IntentId),
    /// Nothing was reserved under this name.
    #[error("nothing was reserved for intent {}; nothing was done", .0.0)]
    UnknownIntent(IntentId),
    /// It is over.
    #[error("intent {} has ended otherwise; nothing was done", .0.0)]
    Ended(IntentId),
    /// A hash that is kept already, with something else.
    #[error("{0} was signed for something else before; nothing was done")]
    OtherBid(B256),
    /// What is to be sealed is not in the chain.
    #[error("record {length} does not have the hash {hash}; its seal was not kept")]
    OtherHead {
        /// Of what length.
        length: u64,
        /// With what hash.
        hash: B256,
    },
    /// The seal is not by whom it should be.
    #[error("the seal of record {length} was not made by {by}; it was not kept")]
    ForgedSeal {
        /// Of what length.
        length: u64,
        /// By whom it should be.
        by: Address,
    },
    /// Somebody else moved the machine.
    #[error("{name} is at version {found}, not {expected}; it was not moved")]
    Moved {
        /// Which machine.
        name: String,
        /// Where the caller believed it to be.
        expected: u64,
        /// Where it is.
        found: u64,
    },
    /// Nobody of this name reads the audit chain.
    #[error("no reader is called {0:?}; nothing was moved")]
    UnknownReader(String),
    /// A cursor behind records that are not there.
    #[error("reader {name} says it has record {asked}, and there are {length}; it was not moved")]
    Ahead {
        /// Which reader.
        name: String,
        /// Where it says it is.
        asked: u64,
        /// How long the chain is.
        length: u64,
    },
    /// Another question has this name.
    #[error("the owner was asked something else about intent {}; this was not asked", .0.0)]
    OtherQuestion(IntentId),
    /// A parent that is not in the Grimoire.
    #[error("entry {0} is not in the Grimoire, so nothing can come of it; nothing was kept")]
    UnknownParent(u64),
    /// Text or data that is too long.
    #[error("{what} has {length} bytes, and {most} are the most; nothing was kept")]
    TooLong {
        /// What.
        what: &'static str,
        /// How long it is.
        length: usize,
        /// How long it may be.
        most: usize,
    },
    /// A thread could not be started.
    #[error("the store's own thread could not be started; it is not open")]
    Thread(#[source] io::Error),
}

impl StoreError {
    /// What the database's word means for something that was not committed yet.
    pub(crate) fn sql(what: &'static str) -> impl Fn(SqlError) -> Self {
        move |source| Self::of(what, &Arc::new(source))
    }

    pub(crate) fn of(what: &'static str, source: &Arc<SqlError>) -> Self {
        let source = source.clone();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { what, source },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                Self::ReadOnly { what, source }
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { what, source }
            }
            Some(ErrorCode::FileLockingProtocolFailed) => Self::Shared { what, source },
            _ => Self::Sql { what, source },
        }
    }

    /// What the database said, where that is the reason.
    pub(crate) fn cause(&self) -> Option<Arc<SqlError>> {
        match self {
            Self::Full { source, .. }
            | Self::ReadOnly { source, .. }
            | Self::Busy { source, .. }
            | Self::Shared { source, .. }
            | Self::Sql { source, .. }
            | Self::Uncertain { source, .. } => Some(Arc::clone(source)),
            _ => None,
        }
    }

    /// The same for a commit: where the disk failed, nobody knows what it has.
    pub(crate) fn of_commit(what: &'static str, source: &Arc<SqlError>) -> Self {
        if is_uncertain(source) {
            Self::Uncertain { what, source: source.clone() }
        } else {
            Self::of(what, source)
        }
    }
}

/// Whether the disk itself failed. A write that failed left no commit behind; a sync that failed may have.
pub(crate) fn is_uncertain(error: &SqlError) -> bool {
    is_disk_failure(error)
        && error.sqlite_error().is_none_or(|error| error.extended_code != ffi::SQLITE_IOERR_WRITE)
}

/// Whether somebody else wrote: what was learnt of the file is not true any more.
pub(crate) fn is_shared(error: &SqlError) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::FileLockingProtocolFailed)
}

/// The same of names that are sorted in: one that is there already is somebody else's, too.
pub(crate) fn is_out_of_step(error: &SqlError) -> bool {
    is_shared(error) || error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

/// Whether to believe the file any longer.
pub(crate) fn is_disk_failure(error: &SqlError) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
    )
}
