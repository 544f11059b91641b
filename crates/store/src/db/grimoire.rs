use super::{counted, name, stored, unreadable};
use crate::{
    StoreError,
    grimoire::{MAX_QUERY, MAX_TERMS, Memory, MemoryId, MemoryKind, NewMemory, Page, Untrusted},
};
use alloy_primitives::Address;
use rusqlite::{Connection, Params, Row, params};

const REMEMBER: &str = "keeping a memory";
const RECALL: &str = "reading the Grimoire";
/// Longest text of a memory, and longest data, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// Keeps a memory, with those that it came of.
pub(crate) fn remember(
    connection: &Connection,
    memory: &NewMemory,
) -> Result<MemoryId, StoreError> {
    let data = crate::canonical::canonical(&memory.data)
        .map_err(|source| StoreError::Body { what: REMEMBER, source })?;
    let text = memory.text.as_data();
    if text.len() > MAX_TEXT {
        let (length, most) = (text.len(), MAX_TEXT);
        return Err(StoreError::TooLong { what: "a memory's text", length, most });
    }
    connection
        .prepare_cached(
            "INSERT INTO memories (kind, author, source, at, text, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )
        .map_err(StoreError::sql(REMEMBER))?
        .execute(params![
            memory.kind.name(),
            memory.author.as_slice(),
            name(&memory.source)?,
            stored("a time", memory.at)?,
            text,
            data,
        ])
        .map_err(StoreError::sql(REMEMBER))?;
    let id = connection.last_insert_rowid();
    for parent in &memory.parents {
        let number = stored("a memory's number", parent.0)?;
        let there: bool = connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM memories WHERE id = ?1 AND id < ?2)")
            .and_then(|mut there| there.query_row([number, id], |row| row.get(0)))
            .map_err(StoreError::sql(REMEMBER))?;
        if !there {
            return Err(StoreError::UnknownParent(parent.0));
        }
        connection
            .prepare_cached(
                "INSERT INTO ancestry (child, parent) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            )
            .and_then(|mut insert| insert.execute([id, number]))
            .map_err(StoreError::sql(REMEMBER))?;
    }
    counted(REMEMBER, id).map(MemoryId)
}

/// Memories, the newest first.
pub(crate) fn list(
    connection: &Connection,
    kind: Option<MemoryKind>,
    page: Page,
) -> Result<Vec<Memory>, StoreError> {
    let (before, limit) = bounds(page)?;
    match kind {
        Some(kind) => read(
            connection,
            "SELECT id, kind, author, source, at, text, data FROM memories
             WHERE kind = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3",
            params![kind.name(), before, limit],
        ),
        None => read(
            connection,
            "SELECT id, kind, author, source, at, text, data FROM memories
             WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
            params![before, limit],
        ),
    }
}

/// Memories that have all the words, the newest first.
pub(crate) fn search(
    connection: &Connection,
    words: &str,
    page: Page,
) -> Result<Vec<Memory>, StoreError> {
    let Some(query) = query(words) else { return Ok(Vec::new()) };
    let (before, limit) = bounds(page)?;
    read(
        connection,
        "SELECT m.id, m.kind, m.author, m.source, m.at, m.text, m.data
         FROM memories_text t JOIN memories m ON m.id = t.rowid
         WHERE memories_text MATCH ?1 AND t.rowid < ?2 ORDER BY t.rowid DESC LIMIT ?3",
        params![query, before, limit],
    )
}

/// Every word as a quoted string: whoever wrote them, they are words to look for and never a query.
fn query(words: &str) -> Option<String> {
    let words: String = words.chars().take(MAX_QUERY).collect();
    let quoted: Vec<String> = words
        .split(|char: char| !char.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(MAX_TERMS)
        .map(|word| format!("\"{word}\""))
        .collect();
    (!quoted.is_empty()).then(|| quoted.join(" "))
}

fn bounds(page: Page) -> Result<(i64, u32), StoreError> {
    let before = match page.before {
        Some(id) => stored("a memory's number", id.0)?,
        None => i64::MAX,
    };
    Ok((before, page.limit.min(Page::MOST)))
}

type Columns = (i64, String, Vec<u8>, String, i64, String, String);

fn columns(row: &Row<'_>) -> rusqlite::Result<Columns> {
    let [id, kind, author, source, at, text, data] = [0, 1, 2, 3, 4, 5, 6];
    Ok((
        row.get(id)?,
        row.get(kind)?,
        row.get(author)?,
        row.get(source)?,
        row.get(at)?,
        row.get(text)?,
        row.get(data)?,
    ))
}

fn read(
    connection: &Connection,
    query: &str,
    params: impl Params,
) -> Result<Vec<Memory>, StoreError> {
    let mut select = connection.prepare_cached(query).map_err(StoreError::sql(RECALL))?;
    let rows = select.query_map(params, columns).map_err(StoreError::sql(RECALL))?;
    rows.map(|row| {
        let (id, kind, author, source, at, text, data) = row.map_err(StoreError::sql(RECALL))?;
        Ok(Memory {
            id: MemoryId(counted(RECALL, id)?),
            kind: MemoryKind::named(&kind).ok_or_else(|| unreadable(RECALL))?,
            author: Address::try_from(author.as_slice()).map_err(|_source| unreadable(RECALL))?,
            source,
            at: counted(RECALL, at)?,
            text: Untrusted::new(text),
            data: serde_json::from_str(&data)
                .map_err(|source| StoreError::Unreadable { what: RECALL, source: Some(source) })?,
            parents: parents(connection, id)?,
        })
    })
    .collect()
}

fn parents(connection: &Connection, child: i64) -> Result<Vec<MemoryId>, StoreError> {
    let mut select = connection
        .prepare_cached("SELECT parent FROM ancestry WHERE child = ?1 ORDER BY parent")
        .map_err(StoreError::sql(RECALL))?;
    let rows =
        select.query_map([child], |row| row.get::<_, i64>(0)).map_err(StoreError::sql(RECALL))?;
    rows.map(|row| counted(RECALL, row.map_err(StoreError::sql(RECALL))?).map(MemoryId)).collect()
}
