//! Where a Golem's key lives, and who may use it.

use crate::{
    BoxError, ByOperation, ByTransaction, ChildGrant, Cleared, CustodyError, CustodyMode,
    Introduction, JudgedHead, KeyFileError, Keyring, Offer, Password, Sealed, SessionKey,
    SessionSigner, SignedOperation, SignedTransaction, Unkept, keyfile,
};
use alloy_primitives::{Address, Bytes, U256};
use async_trait::async_trait;
use golem_delegation::Delegation;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::Mutex;

/// The key in use, in a Golem's folder (SPEC K2).
const CURRENT: &str = "session-key.json";
/// The one that waits for its grant.
const NEXT: &str = "session-key.next.json";

/// A Golem's key and the one that follows it.
///
/// A hosted Golem's are in this process's memory and nowhere else: they end with it (SPEC D21). Those of a Golem on its owner's
/// own machine are in encrypted files beside it.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct Keys(Arc<Mutex<Held>>);

struct Held {
    current: Option<SessionKey>,
    next: Option<SessionKey>,
    files: Option<Files>,
}

struct Files {
    folder: PathBuf,
    password: Password,
}

impl Files {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn open(&self, name: &str) -> Result<Option<SessionKey>, KeyFileError> {
        let path = self.path(name);
        if !path.exists() {
            return Ok(None);
        }
        SessionKey::open(&path, &self.password).map(Some)
    }

    /// What was done in the folder is on the disk.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }
}

impl Keys {
    /// A hosted Golem's, with a key that is born now (SPEC D12).
    #[must_use]
    pub fn hosted() -> Self {
        Self::holding(Some(SessionKey::born()), None, None)
    }

    /// Those in a folder of the owner's, for whoever onboards a Golem there: a first key is born where there is none.
    pub fn local(folder: &Path, password: Password) -> Result<Self, KeyFileError> {
        Self::in_folder(folder, password, |files| {
            let key = SessionKey::born();
            key.save(&files.path(CURRENT), &files.password)?;
            Ok(Some(key))
        })
    }

    /// Those of a Golem that was onboarded: the same key as before or none, and never another in its place (SPEC D21).
    pub fn open(folder: &Path, password: Password) -> Result<Self, KeyFileError> {
        Self::in_folder(folder, password, |files| {
            Err(KeyFileError::Missing { path: files.path(CURRENT) })
        })
    }

    /// Those of a Golem whose death was accepted: the same key as before, or none, for it wipes its key before it is over (INV-9).
    pub fn of_the_dying(folder: &Path, password: Password) -> Result<Self, KeyFileError> {
        Self::in_folder(folder, password, |_files| Ok(None))
    }

    fn in_folder(
        folder: &Path,
        password: Password,
        otherwise: impl FnOnce(&Files) -> Result<Option<SessionKey>, KeyFileError>,
    ) -> Result<Self, KeyFileError> {
        keyfile::clear_staging(folder)?;
        let files = Files { folder: folder.to_owned(), password };
        let current = match files.open(CURRENT)? {
            Some(key) => Some(key),
            None => otherwise(&files)?,
        };
        let next = files.open(NEXT)?;
        Ok(Self::holding(current, next, Some(files)))
    }

    /// Which mode keys are kept so in.
    pub async fn mode(&self) -> CustodyMode {
        match self.0.lock().await.files {
            Some(_) => CustodyMode::LocalKey,
            None => CustodyMode::Delegation,
        }
    }

    fn holding(
        current: Option<SessionKey>,
        next: Option<SessionKey>,
        files: Option<Files>,
    ) -> Self {
        Self(Arc::new(Mutex::new(Held { current, next, files })))
    }

    /// Signs with the key that is in use now, and no longer once another has its place; none where there is no key.
    pub async fn signer(&self) -> Option<KeyHandle> {
        let address = self.0.lock().await.current.as_ref()?.address();
        Some(KeyHandle { keys: self.clone(), address })
    }

    /// The name of a key that was used here and is gone with its process (SPEC D21): it signs nothing, and what it had signed
    /// before can be brought to its end, without which no other key takes its place.
    #[must_use]
    pub fn gone(&self, address: Address) -> KeyHandle {
        KeyHandle { keys: self.clone(), address }
    }

    /// Wipes every key: a death, or an end that the owner wants. Files of them are removed.
    pub async fn end(&self) -> Result<(), BoxError> {
        let mut held = self.0.lock().await;
        (held.current, held.next) = (None, None);
        if let Some(files) = &held.files {
            for name in [CURRENT, NEXT] {
                removed(&files.path(name))?;
            }
            files.sync()?;
        }
        Ok(())
    }
}

/// One that is not there is removed.
fn removed(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(gone) if gone.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[async_trait]
impl Keyring for Keys {
    async fn current(&self) -> Option<Address> {
        self.0.lock().await.current.as_ref().map(SessionSigner::address)
    }

    async fn next(&self) -> Result<Address, BoxError> {
        let mut held = self.0.lock().await;
        if let Some(next) = &held.next {
            return Ok(next.address());
        }
        let key = SessionKey::born();
        if let Some(files) = &held.files {
            key.save(&files.path(NEXT), &files.password)?;
        }
        let address = key.address();
        held.next = Some(key);
        Ok(address)
    }

    async fn switch(&self) -> Result<(), BoxError> {
        let mut held = self.0.lock().await;
        if held.next.is_none() {
            return Err("there is no next key".into());
        }
        if let Some(files) = &held.files {
            // One rename: whatever happens, the folder has the one key or the other in its place.
            fs::rename(files.path(NEXT), files.path(CURRENT))?;
            files.sync()?;
        }
        // The old one is wiped here.
        held.current = held.next.take();
        Ok(())
    }

    async fn discard(&self) -> Result<(), BoxError> {
        let mut held = self.0.lock().await;
        held.next = None;
        if let Some(files) = &held.files {
            removed(&files.path(NEXT))?;
            files.sync()?;
        }
        Ok(())
    }
}

/// The right to use one key for as long as it has its place.
#[derive(Clone)]
#[expect(missing_debug_implementations, reason = "INV-2: a secret is never shown")]
pub struct KeyHandle {
    keys: Keys,
    address: Address,
}

/// Uses the key, if it is still the one.
macro_rules! with_key {
    ($handle:ident, $key:ident => $use:expr) => {{
        let held = $handle.keys.0.lock().await;
        match held.current.as_ref().filter(|key| key.address() == $handle.address) {
            Some($key) => $use,
            None => Err(CustodyError::Replaced { signer: $handle.address }),
        }
    }};
}

#[async_trait]
impl SessionSigner for KeyHandle {
    fn address(&self) -> Address {
        self.address
    }

    async fn sign(
        &self,
        cleared: Cleared<ByTransaction>,
        now: u64,
    ) -> Result<Sealed<SignedTransaction>, CustodyError> {
        with_key!(self, key => key.sign(cleared, now).await)
    }

    async fn sign_operation(
        &self,
        cleared: Cleared<ByOperation>,
        now: u64,
    ) -> Result<Sealed<SignedOperation>, CustodyError> {
        with_key!(self, key => key.sign_operation(cleared, now).await)
    }

    async fn raise(
        &self,
        signed: &SignedTransaction,
        offer: Offer,
        ceiling: U256,
    ) -> Result<Unkept<SignedTransaction>, CustodyError> {
        with_key!(self, key => key.raise(signed, offer, ceiling).await)
    }

    async fn raise_operation(
        &self,
        signed: &SignedOperation,
        offer: Offer,
        ceiling: U256,
    ) -> Result<Unkept<SignedOperation>, CustodyError> {
        with_key!(self, key => key.raise_operation(signed, offer, ceiling).await)
    }

    async fn seal(&self, head: JudgedHead) -> Result<Bytes, CustodyError> {
        with_key!(self, key => key.seal(head).await)
    }

    async fn says_born(&self, at: u64) -> Result<Bytes, CustodyError> {
        with_key!(self, key => key.says_born(at).await)
    }

    async fn delegate(&self, child: ChildGrant) -> Result<Delegation, CustodyError> {
        with_key!(self, key => key.delegate(child).await)
    }

    async fn introduce(&self, child: &Introduction) -> Result<Bytes, CustodyError> {
        with_key!(self, key => key.introduce(child).await)
    }
}
