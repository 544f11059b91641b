//! Who says what happens, and who hears of it.

use crate::{
    GolemEvent, Told,
    told::{machine_of, record_of},
};
use alloy_primitives::B256;
use bardo_store::{Record, Store, StoreError};
use golem_custody::{Audit as _, BoxError, Steps as _};
use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;

/// Records that are read at once. A body has 64 KiB at most, and so this has a megabyte.
const PAGE: u32 = 16;

/// Why nothing is said, or nothing heard.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FabricError {
    /// The disk did not take it, or did not say.
    #[error("the event was not written down; nobody is told")]
    Unwritten {
        /// Why.
        source: BoxError,
    },
    /// An event without a form in which it can be kept.
    #[error("an event of the kind {kind} cannot be written; nobody is told")]
    Form {
        /// Which kind.
        kind: &'static str,
        /// Why.
        source: serde_json::Error,
    },
    /// What is read from records of others is not said a second time.
    #[error("{kind} is read from the record of whoever does it, and not emitted; nobody is told")]
    NotOurs {
        /// Which kind.
        kind: &'static str,
    },
    /// The chain could not be read, or a cursor not kept.
    #[error("events could not be read on; what was heard so far counts")]
    Unread {
        /// Why.
        source: StoreError,
    },
    /// A record that does not follow from the one before.
    #[error("record {sequence} does not follow from the one before; nothing behind it is told")]
    Damaged {
        /// Which.
        sequence: u64,
    },
    /// Two of one name would move each other's cursor.
    #[error("{name:?} is subscribed already")]
    Taken {
        /// Which name.
        name: String,
    },
    /// What was not told cannot have been dealt with.
    #[error("{name:?} was told as far as {told}, and not {sequence}; its cursor was not moved")]
    NotTold {
        /// Which subscriber.
        name: String,
        /// What it says it has.
        sequence: u64,
        /// What it was told.
        told: u64,
    },
    /// The store is closed.
    #[error("the store is closed; nothing more will be told")]
    Closed,
}

/// Where a new subscriber begins. One that is known goes on where it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With the first record of the Golem's life.
    Beginning,
    /// With what happens from now on.
    Now,
}

/// A Golem's events: what is emitted is a record of its audit chain, and what is heard is read from there.
///
/// Nobody is told of anything that the disk does not have, all are told the same in the same order, and what the store or a machine
/// of steps writes by itself is told as well.
#[derive(Debug)]
pub struct Fabric {
    store: Arc<Store>,
    /// Names of those who listen now.
    names: Arc<Mutex<HashSet<String>>>,
}

impl Fabric {
    /// Of the Golem whose store it is.
    #[must_use]
    pub fn new(store: Arc<Store>) -> Self {
        Self { store, names: Arc::default() }
    }

    /// Says that something happened. Returns its place in the order of all once the disk has it.
    pub async fn emit(&self, event: &GolemEvent, at: u64) -> Result<u64, FabricError> {
        ours(event)?;
        let (kind, body) = record_of(event).map_err(form(event))?;
        let noted = self.store.note(&kind, &body, at).await;
        Ok(noted.map_err(|source| FabricError::Unwritten { source })?.length)
    }

    /// Says it if nothing was said under this name before: a process that is killed and does the same again does not say it twice.
    /// Whether it was said now.
    pub async fn emit_once(
        &self,
        name: &str,
        event: &GolemEvent,
        at: u64,
    ) -> Result<bool, FabricError> {
        ours(event)?;
        let value = serde_json::to_value(event).map_err(form(event))?;
        match self.store.advance(&machine_of(name), 0, &value, at).await {
            Ok(()) => Ok(true),
            Err(source) => match source.downcast_ref() {
                Some(StoreError::Moved { .. }) => Ok(false),
                _ => Err(FabricError::Unwritten { source }),
            },
        }
    }

    /// Listens, under a name that is kept: after a restart it goes on behind what it last acknowledged.
    pub async fn subscribe(&self, name: &str, start: Start) -> Result<Subscription, FabricError> {
        let place = Place::take(&self.names, name)?;
        let begun = self.store.begin_cursor(name, start == Start::Now).await;
        let cursor = begun.map_err(|source| FabricError::Unread { source })?;
        let walk = Walk::behind(Arc::clone(&self.store), cursor);
        Ok(Subscription { place, walk, cursor })
    }

    /// Events behind `after`, the oldest first: at most `most`, and no more than fit into a page.
    pub async fn page(&self, after: u64, most: u32) -> Result<Vec<Told>, FabricError> {
        let mut walk = Walk::behind(Arc::clone(&self.store), after);
        walk.read(most.min(PAGE)).await?;
        Ok(walk.read.iter().map(Told::of).collect())
    }

    /// How many records there are.
    #[must_use]
    pub fn length(&self) -> u64 {
        *self.store.length().borrow()
    }

    /// A reader of its own, whose place is kept nowhere.
    pub(crate) fn walk(&self, after: u64) -> Walk {
        Walk::behind(Arc::clone(&self.store), after)
    }
}

fn ours(event: &GolemEvent) -> Result<(), FabricError> {
    let kind = event.kind().name;
    if event.may_be_said() { Ok(()) } else { Err(FabricError::NotOurs { kind }) }
}

fn form(event: &GolemEvent) -> impl FnOnce(serde_json::Error) -> FabricError {
    let kind = event.kind().name;
    move |source| FabricError::Form { kind, source }
}

/// A name among those who listen, given back when it is dropped.
#[derive(Debug)]
struct Place {
    names: Arc<Mutex<HashSet<String>>>,
    name: String,
}

impl Place {
    fn take(names: &Arc<Mutex<HashSet<String>>>, name: &str) -> Result<Self, FabricError> {
        let new = names.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        if !new {
            return Err(FabricError::Taken { name: name.into() });
        }
        Ok(Self { names: Arc::clone(names), name: name.into() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

/// A way along the chain. It holds a page, whatever the chain does meanwhile.
#[derive(Debug)]
pub(crate) struct Walk {
    store: Arc<Store>,
    length: watch::Receiver<u64>,
    /// Read, and not yet told.
    read: VecDeque<Record>,
    /// The last record that was read: its number, and its hash where it is known.
    last: (u64, Option<B256>),
    /// The last record that was told.
    told: u64,
}

impl Walk {
    fn behind(store: Arc<Store>, after: u64) -> Self {
        let length = store.length();
        Self { store, length, read: VecDeque::new(), last: (after, None), told: after }
    }

    /// The next event, as soon as there is one. Whoever stops waiting misses nothing.
    pub(crate) async fn next(&mut self) -> Result<Told, FabricError> {
        loop {
            if let Some(told) = self.read_already() {
                return Ok(told);
            }
            let last = self.last.0;
            // The store tells the number of records once the disk has them.
            let more = self.length.wait_for(|length| *length > last).await.map(|_length| ());
            more.map_err(|_closed| FabricError::Closed)?;
            self.read(PAGE).await?;
        }
    }

    fn read_already(&mut self) -> Option<Told> {
        let record = self.read.pop_front()?;
        self.told = record.sequence;
        Some(Told::of(&record))
    }

    /// Reads on. Each record has to be the next, with the hash of what it says and of the one before.
    async fn read(&mut self, most: u32) -> Result<(), FabricError> {
        let records = self.store.records_after(self.last.0, most).await;
        for record in records.map_err(|source| FabricError::Unread { source })? {
            let (number, hash) = self.last;
            let next = number.saturating_add(1);
            let follows = record.sequence == next
                && hash.is_none_or(|hash| hash == record.previous)
                && record.hash == record.computed_hash();
            if !follows {
                return Err(FabricError::Damaged { sequence: next });
            }
            self.last = (record.sequence, Some(record.hash));
            self.read.push_back(record);
        }
        Ok(())
    }

    /// How many records there are that were not told.
    pub(crate) fn behind_by(&self) -> u64 {
        self.length.borrow().saturating_sub(self.told)
    }
}

/// Somebody who listens, and says what he has dealt with.
///
/// What he was told and did not acknowledge he is told again after a restart: every event at least once, in order, none left out.
#[derive(Debug)]
pub struct Subscription {
    place: Place,
    walk: Walk,
    /// What was acknowledged, as the disk has it.
    cursor: u64,
}

impl Subscription {
    /// The next event, as soon as there is one. Whoever stops waiting misses nothing.
    pub async fn next(&mut self) -> Result<Told, FabricError> {
        self.walk.next().await
    }

    /// Says that this and everything before it is dealt with. Durable once it returns.
    pub async fn ack(&mut self, sequence: u64) -> Result<(), FabricError> {
        let told = self.walk.told;
        if sequence > told {
            return Err(FabricError::NotTold { name: self.place.name.clone(), sequence, told });
        }
        if sequence <= self.cursor {
            return Ok(());
        }
        let moved = self.walk.store.advance_cursor(&self.place.name, sequence).await;
        self.cursor = moved.map_err(|source| FabricError::Unread { source })?;
        Ok(())
    }

    /// What it has acknowledged.
    #[must_use]
    pub const fn cursor(&self) -> u64 {
        self.cursor
    }

    /// How many records there are that it has not acknowledged.
    #[must_use]
    pub fn lag(&self) -> u64 {
        self.walk.length.borrow().saturating_sub(self.cursor)
    }
}
