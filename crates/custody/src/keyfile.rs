use crate::crash::Failpoint;
use alloy_primitives::hex;
use alloy_signer::k256::elliptic_curve::rand_core::OsRng;
use alloy_signer_local::PrivateKeySigner;
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// Why a key file could not be used. Never says what is in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyFileError {
    /// Not there, or not readable.
    #[error("key file {path} cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A Golem that was onboarded has none any more.
    #[error(
        "key file {path} is not there, and no other key takes its place: put back your copy of it; without one, take back its \
         grant with `bardo golem kill`, and onboard another in another folder"
    )]
    Missing {
        /// Where it was.
        path: PathBuf,
    },
    /// Others on the machine could read it.
    #[error("key file {path} has mode {mode:03o}; make it private: chmod 600 {path}")]
    Loose {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Not a private key in hex.
    #[error("key file {path} does not hold a private key: 64 hex digits are expected")]
    NotAKey {
        /// The file.
        path: PathBuf,
    },
    /// Wrong password, or not a keystore.
    #[error("keystore {path} does not open: wrong password, or not a V3 keystore")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// No password to open or close a keystore with.
    #[error("password file {path} is empty")]
    NoPassword {
        /// The file.
        path: PathBuf,
    },
    /// Could not be written.
    #[error("keystore {path} cannot be written")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: BoxedCause,
    },
}

type BoxedCause = Box<dyn std::error::Error + Send + Sync>;

fn private(path: &Path) -> Result<(), KeyFileError> {
    let read = |source| KeyFileError::Read { path: path.into(), source };
    let mode = fs::metadata(path).map_err(read)?.permissions().mode() & 0o777;
    if mode & 0o077 == 0 { Ok(()) } else { Err(KeyFileError::Loose { path: path.into(), mode }) }
}

/// Reads a private key in hex, with or without `0x`.
pub(crate) fn open_hex(path: &Path) -> Result<PrivateKeySigner, KeyFileError> {
    private(path)?;
    let text = Zeroizing::new(
        fs::read(path).map_err(|source| KeyFileError::Read { path: path.into(), source })?,
    );
    let mut key = Zeroizing::new([0u8; 32]);
    // Neither cause may be kept: it can quote the key.
    if hex::decode_to_slice(text.trim_ascii(), key.as_mut_slice()).is_err() {
        return Err(KeyFileError::NotAKey { path: path.into() });
    }
    match PrivateKeySigner::from_slice(key.as_slice()) {
        Ok(signer) => Ok(signer),
        Err(_) => Err(KeyFileError::NotAKey { path: path.into() }),
    }
}

/// The password of a keystore, from a file of its owner's alone. Wiped on drop.
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct Password(Zeroizing<String>);

impl Password {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// A second one of the same letters, for whoever keeps his own. Wiped on drop, as the first is.
    #[must_use]
    pub fn again(&self) -> Self {
        Self(self.0.clone())
    }

    /// What somebody typed, without the end of its line; nothing is no password.
    #[must_use]
    pub fn typed(line: Zeroizing<String>) -> Option<Self> {
        let password = line.trim_end_matches(['\r', '\n']);
        (!password.is_empty()).then(|| Self(Zeroizing::new(password.to_owned())))
    }

    /// The first line of `path`. A file that others could read is refused, and so is nothing.
    pub fn from_file(path: &Path) -> Result<Self, KeyFileError> {
        private(path)?;
        let text = Zeroizing::new(
            fs::read_to_string(path)
                .map_err(|source| KeyFileError::Read { path: path.into(), source })?,
        );
        match text.lines().next() {
            Some(line) if !line.is_empty() => Ok(Self(Zeroizing::new(line.to_owned()))),
            _ => Err(KeyFileError::NoPassword { path: path.into() }),
        }
    }
}

pub(crate) fn open_keystore(
    path: &Path,
    password: &Password,
) -> Result<PrivateKeySigner, KeyFileError> {
    private(path)?;
    match PrivateKeySigner::decrypt_keystore(path, password.0.as_bytes()) {
        Ok(signer) => Ok(signer),
        // The cause tells wrong passwords from broken files; an owner needs neither told apart.
        Err(_) => Err(KeyFileError::Locked { path: path.into() }),
    }
}

/// How the folders begin in which keys are sealed.
const STAGING: &str = ".bardo-key-";

/// Removes what a process that was killed while it sealed a key left in `folder`. A rotation could not wipe that copy: nobody
/// knew of it. Only for a folder of one process's own.
pub(crate) fn clear_staging(folder: &Path) -> Result<(), KeyFileError> {
    let read = |source| KeyFileError::Read { path: folder.into(), source };
    for entry in fs::read_dir(folder).map_err(read)? {
        let entry = entry.map_err(read)?;
        let ours = entry.file_name().as_encoded_bytes().starts_with(STAGING.as_bytes());
        if ours && entry.file_type().map_err(read)?.is_dir() {
            let path = entry.path();
            fs::remove_dir_all(&path)
                .map_err(|source| KeyFileError::Write { path, source: source.into() })?;
        }
    }
    Ok(())
}

/// Encrypts in a private folder of a name nobody can foresee, beside `path`, and links the file into
/// place: it appears whole or not at all, and never replaces another.
pub(crate) fn save_keystore(
    key: &PrivateKeySigner,
    path: &Path,
    password: &Password,
) -> Result<(), KeyFileError> {
    write_keystore(key, path, password)
        .map_err(|source| KeyFileError::Write { path: path.into(), source })
}

fn write_keystore(
    key: &PrivateKeySigner,
    path: &Path,
    password: &Password,
) -> Result<(), BoxedCause> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Private to us from the start, and gone with everything in it however this function ends.
    let staging = tempfile::Builder::new().prefix(STAGING).tempdir_in(parent)?;
    let secret = Zeroizing::new(key.to_bytes().0);
    PrivateKeySigner::encrypt_keystore(
        staging.path(),
        &mut OsRng,
        secret.as_slice(),
        password.0.as_bytes(),
        Some("key"),
    )?;
    let sealed = fs::read(staging.path().join("key"))?;
    let whole = staging.path().join("whole");
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&whole)?;
    file.write_all(&sealed)?;
    file.sync_all()?;
    Failpoint::KeySealed.reached();
    fs::hard_link(&whole, path)?;
    // A name that is not on the disk is none: whoever was granted something by this key has it after a loss of power too.
    fs::File::open(parent)?.sync_all()?;
    Failpoint::KeyNamed.reached();
    Ok(())
}
