use crate::{
    Record, Seal, StoreError,
    db::{self, Database, Kind},
    store::DATABASE,
};
use alloy_primitives::B256;
use std::path::Path;

/// A store opened for reading alone: also while its Golem runs, and after it died.
#[derive(Debug)]
pub struct Archive(Database);

impl Archive {
    /// Opens the store in `folder`. It takes no lock and changes nothing.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Database::read(&folder.join(DATABASE), Kind::Golem).map(Self)
    }

    /// Whose it is.
    pub fn golem(&self) -> Result<B256, StoreError> {
        db::whose(self.0.reading())
    }

    /// The audit chain and its seals, of one moment. Nothing about them is verified yet.
    pub fn audit(&mut self) -> Result<(Vec<Record>, Vec<Seal>), StoreError> {
        // Two reads of one snapshot: a Golem that goes on writing does not come between them.
        let snapshot = self.0.snapshot()?;
        Ok((db::read_records(snapshot.writing())?, db::read_seals(snapshot.writing())?))
    }
}
