use super::{Database, word};
use crate::StoreError;
use alloy_primitives::B256;
use golem_custody::IntentId;
use rusqlite::{Connection, OptionalExtension};
use std::collections::HashMap;

const NAMES: &str = "looking for an intent's name";

/// How many names wait at most before they are sorted into the file's index.
///
/// An index of a hundred thousand names has some 1,500 pages: 16,384 names together write each of them once, a tenth of a page a
/// name. One by one each name would write a whole one.
const MOST: usize = 16_384;

/// The names of the newest reservations, which the file's index does not have yet: for the one that writes, to whom nothing else is
/// ever added without its knowledge.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<B256, i64>);

impl Names {
    /// What the index lacks.
    pub(crate) fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut select = connection
            .prepare(
                "SELECT r.intent, r.number, n.number IS NOT NULL FROM reservations r
                 LEFT JOIN names n ON n.intent = r.intent
                 WHERE r.number > (SELECT up_to FROM named)",
            )
            .map_err(StoreError::sql(NAMES))?;
        let rows = select
            .query_map([], |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get(1)?, row.get::<_, bool>(2)?))
            })
            .map_err(StoreError::sql(NAMES))?;
        let mut names = HashMap::new();
        for row in rows {
            let (intent, number, is_sorted_in) = row.map_err(StoreError::sql(NAMES))?;
            let intent = word(NAMES, &intent)?;
            if is_sorted_in || names.insert(intent, number).is_some() {
                return Err(StoreError::Doubled(IntentId(intent)));
            }
        }
        Ok(Self(names))
    }

    /// The number of the reservation of this name, if it was used.
    pub(super) fn find(
        &self,
        connection: &Connection,
        intent: IntentId,
    ) -> Result<Option<i64>, StoreError> {
        if let Some(number) = self.0.get(&intent.0) {
            return Ok(Some(*number));
        }
        connection
            .prepare_cached("SELECT number FROM names WHERE intent = ?1")
            .and_then(|mut find| find.query_row([intent.0.as_slice()], |row| row.get(0)).optional())
            .map_err(StoreError::sql(NAMES))
    }

    /// These are on disk now.
    pub(crate) fn learn(&mut self, names: Vec<(IntentId, i64)>) {
        self.0.extend(names.into_iter().map(|(intent, number)| (intent.0, number)));
    }

    /// Whether there are enough of them to be sorted in.
    pub(crate) fn are_many(&self) -> bool {
        self.0.len() >= MOST
    }

    /// Sorts them into the index. They are forgotten here only once that is committed.
    pub(crate) fn sort_in(&mut self, database: &mut Database) -> Result<(), rusqlite::Error> {
        let together = database.begin()?;
        together.writing().execute_batch(
            "INSERT INTO names SELECT intent, number FROM reservations
               WHERE number > (SELECT up_to FROM named) ORDER BY intent;
             UPDATE named SET up_to = (SELECT coalesce(max(number), 0) FROM reservations);",
        )?;
        together.commit()?;
        self.0.clear();
        Ok(())
    }
}

/// The same for whoever reads, and knows nothing by heart.
pub(super) fn find(connection: &Connection, intent: IntentId) -> Result<Option<i64>, StoreError> {
    connection
        .prepare_cached(
            "SELECT number FROM names WHERE intent = ?1
             UNION ALL
             SELECT number FROM reservations
             WHERE number > (SELECT up_to FROM named) AND intent = ?1 LIMIT 1",
        )
        .and_then(|mut find| find.query_row([intent.0.as_slice()], |row| row.get(0)).optional())
        .map_err(StoreError::sql(NAMES))
}
