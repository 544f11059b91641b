use super::{Standing, counted, name, stored, unreadable, whose, word};
use crate::{
    StoreError,
    audit::{Record, Seal},
    canonical::canonical,
};
use alloy_primitives::{Address, B256};
use golem_custody::AuditHead;
use rusqlite::{Connection, params, types::ValueRef};
use serde_json::Value;

const APPEND: &str = "adding to the audit chain";
const READ: &str = "reading the audit chain";
const SEAL: &str = "keeping a seal";

/// What a record is to say, in its one form. It is made by whoever asks for it, before he waits for his turn: all that is left to
/// the one thread that writes is the chain.
#[derive(Debug)]
pub(crate) struct Draft {
    kind: String,
    body: String,
    at: u64,
}

impl Draft {
    pub(crate) fn new(kind: &str, body: &Value, at: u64) -> Result<Self, StoreError> {
        let body = canonical(body).map_err(|source| StoreError::Body { what: APPEND, source })?;
        Ok(Self { kind: name(kind)?.to_owned(), body, at })
    }
}

/// The newest record.
pub(crate) fn audit_head(connection: &Connection) -> Result<AuditHead, StoreError> {
    let (golem, newest, hash): (Vec<u8>, Option<i64>, Option<Vec<u8>>) = connection
        .prepare_cached(
            "SELECT id, (SELECT max(sequence) FROM audit),
                    (SELECT hash FROM audit ORDER BY sequence DESC LIMIT 1) FROM whose",
        )
        .and_then(|mut newest| {
            newest.query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        })
        .map_err(StoreError::sql(READ))?;
    let golem = word(READ, &golem)?;
    Ok(match newest.zip(hash) {
        None => AuditHead { golem, length: 0, hash: B256::ZERO },
        Some((length, hash)) => {
            AuditHead { golem, length: counted(READ, length)?, hash: word(READ, &hash)? }
        }
    })
}

/// Adds a record to the chain.
pub(crate) fn append(
    connection: &Connection,
    standing: &mut Standing,
    draft: &Draft,
) -> Result<AuditHead, StoreError> {
    let Draft { kind, body, at } = draft;
    let record = Record::after(&standing.head(connection)?, *at, kind.as_str(), body.clone());
    let number = stored("a number of records", record.sequence)?;
    let time = stored("a time", record.at)?;
    connection
        .prepare_cached(
            "INSERT OR FAIL INTO audit (sequence, at, kind, body, previous, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                number,
                time,
                record.kind,
                record.body,
                record.previous.as_slice(),
                record.hash.as_slice(),
            ])
        })
        .map_err(StoreError::sql(APPEND))?;
    standing.follow(record.head());
    Ok(record.head())
}

/// Refuses a seal that its key did not make.
pub(crate) fn refuse_forged(seal: &Seal) -> Result<(), StoreError> {
    let (length, by) = (seal.head.length, seal.by);
    if seal.is_genuine() { Ok(()) } else { Err(StoreError::ForgedSeal { length, by }) }
}

/// Keeps a seal of a record that is there.
pub(crate) fn keep_seal(connection: &Connection, seal: &Seal) -> Result<(), StoreError> {
    let Seal { head: AuditHead { golem, length, hash }, by, seal: bytes } = seal;
    let found = whose(connection)?;
    if *golem != found {
        return Err(StoreError::OtherGolem { asked: *golem, found });
    }
    let number = stored("a number of records", *length)?;
    let there: bool = connection
        .query_row(
            "SELECT EXISTS (SELECT 1 FROM audit WHERE sequence = ?1 AND hash = ?2)",
            params![number, hash.as_slice()],
            |row| row.get(0),
        )
        .map_err(StoreError::sql(SEAL))?;
    if !there {
        return Err(StoreError::OtherHead { length: *length, hash: *hash });
    }
    connection
        .execute(
            // The same key over the same head: one seal says as much as two.
            "INSERT INTO seals (length, hash, by, seal) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            params![number, hash.as_slice(), by.as_slice(), bytes.as_ref()],
        )
        .map_err(StoreError::sql(SEAL))?;
    Ok(())
}

/// A text, or what is left of one: whatever somebody put in its place does not have its hash, and that is for the verifier to say.
fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            String::from_utf8_lossy(bytes).into_owned()
        }
        _ => String::new(),
    }
}

/// All records as they lie there, in order of their numbers. What they say is not believed yet.
pub(crate) fn read_records(connection: &Connection) -> Result<Vec<Record>, StoreError> {
    read_after(connection, 0, None)
}

/// Those behind `sequence`, at most so many.
pub(crate) fn read_after(
    connection: &Connection,
    sequence: u64,
    most: Option<u32>,
) -> Result<Vec<Record>, StoreError> {
    let golem = whose(connection)?;
    // Behind what the disk cannot count there is nothing; without a bound there is none.
    let (after, most) = (i64::try_from(sequence).unwrap_or(i64::MAX), most.map_or(-1, i64::from));
    let mut select = connection
        .prepare_cached(
            "SELECT sequence, at, kind, body, previous, hash FROM audit WHERE sequence > ?1
             ORDER BY sequence LIMIT ?2",
        )
        .map_err(StoreError::sql(READ))?;
    let rows = select
        .query_map([after, most], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, i64>(1)?,
                text(row.get_ref(2)?),
                text(row.get_ref(3)?),
                row.get::<_, Vec<u8>>(4)?,
                row.get::<_, Vec<u8>>(5)?,
            ))
        })
        .map_err(StoreError::sql(READ))?;
    rows.map(|row| {
        let (sequence, at, kind, body, previous, hash) = row.map_err(StoreError::sql(READ))?;
        Ok(Record {
            golem,
            sequence: counted(READ, sequence)?,
            at: counted(READ, at)?,
            kind,
            body,
            previous: word(READ, &previous)?,
            hash: word(READ, &hash)?,
        })
    })
    .collect()
}

/// All seals.
pub(crate) fn read_seals(connection: &Connection) -> Result<Vec<Seal>, StoreError> {
    let golem = whose(connection)?;
    let mut select = connection
        .prepare("SELECT length, hash, by, seal FROM seals ORDER BY length, by")
        .map_err(StoreError::sql(READ))?;
    let rows = select
        .query_map([], |row| {
            Ok((
                row.get::<_, i64>(0)?,
                row.get::<_, Vec<u8>>(1)?,
                row.get::<_, Vec<u8>>(2)?,
                row.get::<_, Vec<u8>>(3)?,
            ))
        })
        .map_err(StoreError::sql(READ))?;
    rows.map(|row| {
        let (length, hash, by, seal) = row.map_err(StoreError::sql(READ))?;
        let head = AuditHead { golem, length: counted(READ, length)?, hash: word(READ, &hash)? };
        let by = Address::try_from(by.as_slice()).map_err(|_source| unreadable(READ))?;
        Ok(Seal { head, by, seal: seal.into() })
    })
    .collect()
}
