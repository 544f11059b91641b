use super::{Standing, counted, name, stored, whose, word};
use crate::{
    StoreError,
    audit::{Record, Seal},
    canonical::canonical,
};
use alloy_primitives::{Address, B256};
use golem_custody::AuditHead;
use rusqlite::{Connection, OptionalExtension as _, params, types::ValueRef};
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
    standing: &mut Standing<'_>,
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

/// The longest head that was sealed.
pub(crate) fn newest_seal(connection: &Connection) -> Result<Option<AuditHead>, StoreError> {
    let golem = whose(connection)?;
    let newest: Option<(i64, Vec<u8>)> = connection
        .prepare_cached("SELECT length, hash FROM seals ORDER BY length DESC LIMIT 1")
        .and_then(|mut newest| {
            newest.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(StoreError::sql(SEAL))?;
    let read = |(length, hash): (i64, Vec<u8>)| {
        Ok(AuditHead { golem, length: counted(SEAL, length)?, hash: word(SEAL, &hash)? })
    };
    newest.map(read).transpose()
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

/// What stands in the place of a hash that is none. Nobody finds a text that has it.
const NO_HASH: B256 = B256::repeat_byte(0xff);

/// A hash, or a sign that there is none: a chain that is verified says where, and nothing else of it is lost.
fn hash(value: ValueRef<'_>) -> B256 {
    bytes(value).and_then(|bytes| B256::try_from(bytes).ok()).unwrap_or(NO_HASH)
}

const fn bytes(value: ValueRef<'_>) -> Option<&[u8]> {
    match value {
        ValueRef::Blob(bytes) => Some(bytes),
        _ => None,
    }
}

/// A number, or one that the disk has no room for.
const fn number(value: ValueRef<'_>) -> u64 {
    match value {
        ValueRef::Integer(number) => number.cast_unsigned(),
        _ => u64::MAX,
    }
}

/// All records as they lie there, in order of their numbers. What they say is not believed yet, nor that they have the form of one: what
/// has not is a record that does not have its hash.
pub(crate) fn read_records(connection: &Connection) -> Result<Vec<Record>, StoreError> {
    let golem = whose(connection)?;
    let mut select = connection
        .prepare_cached(
            "SELECT sequence, at, kind, body, previous, hash FROM audit ORDER BY sequence",
        )
        .map_err(StoreError::sql(READ))?;
    let rows = select
        .query_map([], |row| {
            Ok(Record {
                golem,
                sequence: number(row.get_ref(0)?),
                at: number(row.get_ref(1)?),
                kind: text(row.get_ref(2)?),
                body: text(row.get_ref(3)?),
                previous: hash(row.get_ref(4)?),
                hash: hash(row.get_ref(5)?),
            })
        })
        .map_err(StoreError::sql(READ))?;
    rows.map(|row| row.map_err(StoreError::sql(READ))).collect()
}

/// Those behind `sequence`, at most so many, for whoever goes on from there. One that has not the form of a record ends it.
pub(crate) fn read_after(
    connection: &Connection,
    sequence: u64,
    most: u32,
) -> Result<Vec<Record>, StoreError> {
    let golem = whose(connection)?;
    // Behind what the disk cannot count there is nothing.
    let after = i64::try_from(sequence).unwrap_or(i64::MAX);
    let mut select = connection
        .prepare_cached(
            "SELECT sequence, at, kind, body, previous, hash FROM audit WHERE sequence > ?1
             ORDER BY sequence LIMIT ?2",
        )
        .map_err(StoreError::sql(READ))?;
    let rows = select
        .query_map([after, most.into()], |row| {
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

/// All seals as they lie there. One that has not the form of a seal is one that its key did not make.
pub(crate) fn read_seals(connection: &Connection) -> Result<Vec<Seal>, StoreError> {
    let golem = whose(connection)?;
    let mut select = connection
        .prepare("SELECT length, hash, by, seal FROM seals ORDER BY length, by")
        .map_err(StoreError::sql(READ))?;
    let rows = select
        .query_map([], |row| {
            let head =
                AuditHead { golem, length: number(row.get_ref(0)?), hash: hash(row.get_ref(1)?) };
            let by = bytes(row.get_ref(2)?).and_then(|bytes| Address::try_from(bytes).ok());
            let seal = bytes(row.get_ref(3)?).unwrap_or_default().to_vec();
            // Nobody signs as nobody.
            Ok(Seal { head, by: by.unwrap_or_default(), seal: seal.into() })
        })
        .map_err(StoreError::sql(READ))?;
    rows.map(|row| row.map_err(StoreError::sql(READ))).collect()
}
