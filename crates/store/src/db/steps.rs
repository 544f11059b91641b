use super::{Draft, Standing, append, counted, name, stored};
use crate::{StoreError, canonical::canonical};
use golem_custody::Step;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

const LOAD: &str = "reading a step";
const ADVANCE: &str = "moving a step";

/// Where the machine of this name is.
pub(crate) fn load(connection: &Connection, name: &str) -> Result<Option<Step>, StoreError> {
    let found: Option<(i64, String)> = connection
        .prepare_cached("SELECT version, value FROM steps WHERE name = ?1")
        .and_then(|mut found| {
            found.query_row([name], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(StoreError::sql(LOAD))?;
    let Some((version, text)) = found else { return Ok(None) };
    let value = serde_json::from_str(&text)
        .map_err(|source| StoreError::Unreadable { what: LOAD, source: Some(source) })?;
    Ok(Some(Step { version: counted(LOAD, version)?, value }))
}

/// A machine's next step, ready to be written.
#[derive(Debug)]
pub(crate) struct Advance {
    machine: String,
    from: u64,
    version: u64,
    value: String,
    draft: Draft,
}

impl Advance {
    pub(crate) fn new(machine: &str, from: u64, to: &Value, at: u64) -> Result<Self, StoreError> {
        let machine = name(machine)?.to_owned();
        let version = from.saturating_add(1);
        let value = canonical(to).map_err(|source| StoreError::Body { what: ADVANCE, source })?;
        let body = json!({ "name": machine, "version": version, "to": to });
        Ok(Self { draft: Draft::new("step", &body, at)?, machine, from, version, value })
    }
}

/// Moves it, if it is where the caller believes it to be.
pub(crate) fn advance(
    connection: &Connection,
    standing: &mut Standing<'_>,
    step: &Advance,
) -> Result<(), StoreError> {
    let Advance { machine, from, version, value, draft } = step;
    let (before, after) = (stored("a version", *from)?, stored("a version", *version)?);
    let moved = connection
        .prepare_cached(if *from == 0 {
            "INSERT INTO steps (name, version, value) VALUES (?1, ?2, ?4) ON CONFLICT DO NOTHING"
        } else {
            "UPDATE steps SET version = ?2, value = ?4 WHERE name = ?1 AND version = ?3"
        })
        .and_then(|mut moves| moves.execute(params![machine, after, before, value]))
        .map_err(StoreError::sql(ADVANCE))?;
    if moved == 0 {
        let found = load(connection, machine)?.map_or(0, |step| step.version);
        return Err(StoreError::Moved { name: machine.clone(), expected: *from, found });
    }
    append(connection, standing, draft)?;
    Ok(())
}
