#![doc = include_str!("../README.md")]

mod archive;
mod audit;
mod canonical;
mod db;
mod error;
mod export;
mod grimoire;
mod ledger;
mod place;
mod store;
mod worker;
mod writer;

pub use archive::Archive;
pub use audit::{Anchor, Anchored, Damage, DamageKind, Record, Seal, Sealed, Verification, verify};
pub use canonical::{CanonicalError, MAX_BODY, canonical};
pub use db::{CLOCK_SLACK, DAY, Replying};
pub use error::StoreError;
pub use export::{Export, ExportError, MAX_LINE, read_export, write_export};
pub use grimoire::{MAX_QUERY, Memory, MemoryId, MemoryKind, NewMemory, Page, Untrusted};
pub use ledger::OwnerLedger;
pub use store::{DATABASE, LOCK, Store, StoreConfig};
