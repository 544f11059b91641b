//! Where a database lies, and who else may look at it.

use crate::StoreError;
use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

fn place(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |source| StoreError::Place { path: path.into(), source }
}

/// A folder that the rest of the machine cannot look into; made where it is missing.
pub(crate) fn private_folder(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(place(path))?;
    keeps_out(path, 0o007)
}

/// A file of its owner's alone; made, empty, where it is missing.
///
/// SQLite gives its other files the mode of this one. It is closed again before SQLite opens it: closing it later would drop
/// SQLite's locks.
pub(crate) fn private_file(path: &Path) -> Result<(), StoreError> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        // The name is durable before anything that counts is in the file.
        Ok(file) => file.sync_all().map_err(place(path))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(place(path)(error)),
    }
    keeps_out(path, 0o077)
}

/// Refuses what is too short to be a database and yet something: SQLite takes a single byte for nothing, and writes over it.
pub(crate) fn database_or_nothing(path: &Path) -> Result<(), StoreError> {
    const HEADER: u64 = 100;
    match fs::metadata(path).map_err(place(path))?.len() {
        1..HEADER => Err(StoreError::NotADatabase { path: path.into() }),
        _ => Ok(()),
    }
}

/// Appends so many zeros to a file, and returns once the disk has them. Where it has no room for them, the file is what it was.
pub(crate) fn lengthen(path: &Path, by: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    let end = file.metadata()?.len();
    let zeros = vec![0; usize::try_from(by).map_err(io::Error::other)?];
    let full = match file.write_all(&zeros).and_then(|()| file.sync_data()) {
        Ok(()) => return Ok(()),
        Err(full) => full,
    };
    file.set_len(end)?;
    Err(full)
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(place(path))
}

fn keeps_out(path: &Path, others: u32) -> Result<(), StoreError> {
    let mode = fs::metadata(path).map_err(place(path))?.permissions().mode() & 0o777;
    if mode & others == 0 { Ok(()) } else { Err(StoreError::Loose { path: path.into(), mode }) }
}

/// Held as long as the value lives; the system lets go of it when the process dies, however it dies.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "holding it open is what it does")] File);

impl Lock {
    /// Waits for its turn.
    pub(crate) fn wait(path: &Path) -> Result<Self, StoreError> {
        let file = Self::file(path)?;
        file.lock().map_err(place(path))?;
        Ok(Self(file))
    }

    fn file(path: &Path) -> Result<File, StoreError> {
        private_file(path)?;
        OpenOptions::new().write(true).open(path).map_err(place(path))
    }

    /// Takes it, or says that somebody has it.
    pub(crate) fn take(path: &Path) -> Result<Self, StoreError> {
        let file = Self::file(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(StoreError::Locked { path: path.into() }),
            Err(TryLockError::Error(error)) => Err(place(path)(error)),
        }
    }
}
