use super::{Names, audit_head, books, counted, stored};
use crate::StoreError;
use alloy_primitives::Address;
use golem_custody::{AuditHead, IntentId, Spent};
use rusqlite::{Connection, params};

/// What the writer knows of the file in the middle of a batch, so that not every job asks the file again.
///
/// It is true of one transaction only: a batch begins with an empty one, and a part that is taken back takes back what it learned.
#[derive(Clone, Debug)]
pub(crate) struct Standing<'a> {
    /// Names that are on disk and not in its index.
    names: &'a Names,
    /// Names of this batch.
    named: Vec<(IntentId, i64)>,
    head: Option<AuditHead>,
    newest: Option<u64>,
    spent: Option<Seen>,
    uncounted: Option<Uncounted>,
}

/// What counts for a session key and for its Golem at a second.
#[derive(Clone, Debug)]
struct Seen {
    session: Address,
    now: u64,
    spent: Spent,
}

/// Sums of reservations that are in the file, of one key and one minute, and not yet added up there.
#[derive(Clone, Copy, Debug)]
struct Uncounted {
    session: Address,
    minute: i64,
    micro_dollars: i64,
    /// Number of the first of them.
    first: i64,
}

impl<'a> Standing<'a> {
    /// Nothing is known but these names.
    pub(crate) const fn new(names: &'a Names) -> Self {
        Self { names, named: Vec::new(), head: None, newest: None, spent: None, uncounted: None }
    }

    /// The number of the reservation of this name, if it was used.
    pub(super) fn find(
        &self,
        connection: &Connection,
        intent: IntentId,
    ) -> Result<Option<i64>, StoreError> {
        // As many as share a commit, and so few.
        match self.named.iter().find(|(name, _)| *name == intent) {
            Some((_, number)) => Ok(Some(*number)),
            None => self.names.find(connection, intent),
        }
    }

    /// Whether a name was used.
    pub(crate) fn knows(
        &self,
        connection: &Connection,
        intent: IntentId,
    ) -> Result<bool, StoreError> {
        Ok(self.find(connection, intent)?.is_some())
    }

    /// The names of this batch, once it is committed.
    pub(crate) fn into_names(self) -> Vec<(IntentId, i64)> {
        self.named
    }

    /// The newest record.
    pub(super) fn head(&mut self, connection: &Connection) -> Result<AuditHead, StoreError> {
        match self.head {
            Some(head) => Ok(head),
            None => Ok(*self.head.insert(audit_head(connection)?)),
        }
    }

    /// A record was added.
    pub(super) const fn follow(&mut self, head: AuditHead) {
        self.head = Some(head);
    }

    /// The newest second that a reservation counts from.
    pub(super) fn newest(&mut self, connection: &Connection) -> Result<u64, StoreError> {
        match self.newest {
            Some(newest) => Ok(newest),
            None => Ok(*self.newest.insert(books::newest(connection)?)),
        }
    }

    /// What counts for a session key, and for its Golem on the day before `now`.
    pub(super) fn spent(
        &mut self,
        connection: &Connection,
        session: Address,
        now: u64,
    ) -> Result<Spent, StoreError> {
        if let Some(seen) = &self.spent
            && (seen.session, seen.now) == (session, now)
        {
            return Ok(seen.spent);
        }
        self.count(connection).map_err(StoreError::sql(books::RESERVE))?;
        let spent = books::spent_by(connection, session, now)?;
        self.spent = Some(Seen { session, now, spent });
        Ok(spent)
    }

    /// A sum was reserved, on top of what [`Self::spent`] said of this key and second.
    pub(super) fn reserve(
        &mut self,
        connection: &Connection,
        (intent, number): (IntentId, i64),
        session: Address,
        sum: i64,
        now: u64,
    ) -> Result<(), StoreError> {
        self.named.push((intent, number));
        let Spent { session: of_session, day } = self.spent(connection, session, now)?;
        let asked = counted(books::RESERVE, sum)?;
        let spent =
            Spent { session: of_session.saturating_add(asked), day: day.saturating_add(asked) };
        // No sum in the file is more than these two. Where they may be more than it can add up, it says so now, to this caller.
        let countable = i64::try_from(spent.session.max(spent.day)).is_ok();
        let minute = stored("a time", now / 60)?;
        let apart = |other: Uncounted| (other.session, other.minute) != (session, minute);
        if !countable || self.uncounted.is_some_and(apart) {
            self.count(connection).map_err(StoreError::sql(books::RESERVE))?;
        }
        let (before, first) =
            self.uncounted.map_or((0, number), |same| (same.micro_dollars, same.first));
        let micro_dollars = before.saturating_add(sum);
        self.uncounted = Some(Uncounted { session, minute, micro_dollars, first });
        self.newest = Some(now);
        if countable {
            self.spent = Some(Seen { session, now, spent });
            return Ok(());
        }
        self.spent = None;
        self.count(connection).map_err(StoreError::sql(books::RESERVE))
    }

    /// A sum is about to be given back: by the file itself, from what was added up.
    pub(super) fn give_back(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        self.spent = None;
        self.count(connection)
    }

    /// Adds up what is not yet. Without it no batch is whole.
    pub(crate) fn count(&mut self, connection: &Connection) -> Result<(), rusqlite::Error> {
        let Some(Uncounted { session, minute, micro_dollars, first }) = self.uncounted else {
            return Ok(());
        };
        connection
            .prepare_cached(
                "INSERT INTO sessions VALUES (?1, ?2)
                 ON CONFLICT DO UPDATE SET micro_dollars = micro_dollars + ?2",
            )?
            .execute(params![session.as_slice(), micro_dollars])?;
        connection
            .prepare_cached(
                "INSERT INTO minutes (minute, micro_dollars, first) VALUES (?1, ?2, ?3)
                 ON CONFLICT DO UPDATE SET micro_dollars = micro_dollars + ?2",
            )?
            .execute(params![minute, micro_dollars, first])?;
        self.uncounted = None;
        Ok(())
    }
}
