use crate::{
    Record, Seal, StoreError,
    db::{self, Database, Kind},
    store::DATABASE,
};
use alloy_primitives::{Address, B256};
use golem_custody::{Spent, Step};
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

    /// Where the machine of this name is; none if it never moved.
    pub fn step(&self, name: &str) -> Result<Option<Step>, StoreError> {
        db::load(self.0.reading(), name)
    }

    /// Records behind `sequence`, the oldest first, at most so many. Nothing about them is verified yet.
    pub fn records_after(&self, sequence: u64, most: u32) -> Result<Vec<Record>, StoreError> {
        db::read_after(self.0.reading(), sequence, most)
    }

    /// How many records there are.
    pub fn length(&self) -> Result<u64, StoreError> {
        Ok(db::audit_head(self.0.reading())?.length)
    }

    /// What a key spent, and the Golem in the last day, as seen at `at`.
    pub fn spent(&self, session: Address, at: u64) -> Result<Spent, StoreError> {
        db::spent_by(self.0.reading(), session, at)
    }
}
