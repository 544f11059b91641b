//! How secrets are kept in memory, and kept out of everything else (INV-2).

use std::{convert::Infallible, hint::black_box};
use zeroize::Zeroize;

/// What lies below the caller on the stack and may hold what functions that have returned left there. Deeper than the
/// curve library goes: the test that looks at the memory says so.
const LEFTOVERS: usize = 64 * 1024;

/// Overwrites what functions that have returned left on this thread's stack.
///
/// A key that a library returns by value was copied on the way, and nobody wipes the copy.
#[inline(never)]
pub(crate) fn wipe_stack() {
    let mut leftovers = [0u8; LEFTOVERS];
    leftovers.zeroize();
    black_box(&mut leftovers);
}

/// A key that stays where it is: behind a pointer, so that moving its holder copies nothing, and on a page that is not
/// swapped out where the system allows that. The curve library wipes it on drop.
pub(crate) struct Kept<K> {
    key: Box<K>,
}

impl<K> Kept<K> {
    /// Keeps what `make` returns, and wipes what it left behind.
    pub(crate) fn new<E>(make: impl FnOnce() -> Result<K, E>) -> Result<Self, E> {
        let key = make().map(Box::new);
        wipe_stack();
        let key = key?;
        // A system that refuses to lock pages is no reason to have no key.
        if let Ok(page) = region::lock(std::ptr::from_ref(&*key), size_of::<K>()) {
            // Another key may lie on the same page: unlocked for one, it would be for both.
            std::mem::forget(page);
        }
        Ok(Self { key })
    }

    /// Keeps a key that is born by `bear`.
    pub(crate) fn born(bear: impl FnOnce() -> K) -> Self {
        match Self::new(|| Ok::<_, Infallible>(bear())) {
            Ok(kept) => kept,
            Err(never) => match never {},
        }
    }

    /// Uses the key, and wipes what that left behind.
    pub(crate) fn with<T>(&self, use_it: impl FnOnce(&K) -> T) -> T {
        let result = use_it(&self.key);
        wipe_stack();
        result
    }
}

impl<K> Drop for Kept<K> {
    fn drop(&mut self) {
        wipe_stack();
    }
}

/// What a process does before it has a key: no core dumps, and no other process of the same user looks into it.
///
/// Says which of the two the system did not grant.
pub fn harden_process() -> Result<(), HardeningError> {
    use rustix::process::{DumpableBehavior, Resource, Rlimit};
    let nothing = Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(Resource::Core, nothing)
        .map_err(|source| HardeningError::CoreDumps { source: source.into() })?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(|source| HardeningError::Dumpable { source: source.into() })
}

/// The system did not let us keep a secret.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HardeningError {
    /// A crash could write memory to disk.
    #[error("core dumps could not be switched off; no key was made")]
    CoreDumps {
        /// Why.
        source: std::io::Error,
    },
    /// Others could attach to this process.
    #[error("this process could not be closed to others of the same user; no key was made")]
    Dumpable {
        /// Why.
        source: std::io::Error,
    },
}
