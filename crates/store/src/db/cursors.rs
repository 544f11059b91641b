use super::{audit_head, counted, name, stored};
use crate::StoreError;
use rusqlite::{Connection, OptionalExtension, params};

const READ: &str = "reading a cursor";
const MOVE: &str = "moving a cursor";

/// How far the reader of this name is; none if there is no such reader.
pub(crate) fn cursor(connection: &Connection, reader: &str) -> Result<Option<u64>, StoreError> {
    let found: Option<i64> = connection
        .prepare_cached("SELECT sequence FROM cursors WHERE name = ?1")
        .and_then(|mut found| found.query_row([reader], |row| row.get(0)).optional())
        .map_err(StoreError::sql(READ))?;
    found.map(|sequence| counted(READ, sequence)).transpose()
}

/// Begins a cursor before the first record or behind the last, unless there is one. Where it is now.
pub(crate) fn begin_cursor(
    connection: &Connection,
    reader: &str,
    behind_all: bool,
) -> Result<u64, StoreError> {
    let reader = name(reader)?;
    if let Some(found) = cursor(connection, reader)? {
        return Ok(found);
    }
    let from = if behind_all { audit_head(connection)?.length } else { 0 };
    let number = stored("a cursor", from)?;
    connection
        .prepare_cached("INSERT INTO cursors (name, sequence) VALUES (?1, ?2)")
        .and_then(|mut begin| begin.execute(params![reader, number]))
        .map_err(StoreError::sql(MOVE))?;
    Ok(from)
}

/// Moves a cursor on; never back, and never ahead of the chain. Where it is now.
pub(crate) fn advance_cursor(
    connection: &Connection,
    reader: &str,
    to: u64,
) -> Result<u64, StoreError> {
    let Some(found) = cursor(connection, reader)? else {
        return Err(StoreError::UnknownReader(reader.chars().take(80).collect()));
    };
    if to <= found {
        return Ok(found);
    }
    let length = audit_head(connection)?.length;
    if to > length {
        return Err(StoreError::Ahead { name: reader.to_owned(), asked: to, length });
    }
    let number = stored("a cursor", to)?;
    connection
        .prepare_cached("UPDATE cursors SET sequence = ?2 WHERE name = ?1")
        .and_then(|mut advance| advance.execute(params![reader, number]))
        .map_err(StoreError::sql(MOVE))?;
    Ok(to)
}
