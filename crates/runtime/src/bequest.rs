//! What a dying Golem leaves its owner (SPEC P7, K11): one text of JSON Lines, which custody seals for him.
//!
//! ```text
//! {"bequest":…}      whose, for whom, when, and the audit head that it ends with
//! {"testament":…}    the last word
//! {"settlement":…}   how its holdings were settled
//! {"memory":…}       the Grimoire, the oldest first
//! {"record":…} …     the audit chain, as `bardo audit export` writes it, to its `end`
//! ```

use crate::{Testament, testament::as_data};
use alloy_primitives::{Address, B256, Bytes};
use bardo_store::{
    Export, ExportError, Memory, MemoryId, MemoryKind, Page, Record, Seal, Store, StoreError,
    Untrusted, Verification, read_export, write_export,
};
use golem_custody::{Audit as _, AuditHead, BoxError, DeathSettlement, MAX_BEQUEST, RunwayError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// A dead Golem's last word, for people.
const TESTAMENT: &str = "TESTAMENT.md";
/// Longest line before the audit chain, in bytes.
pub const MAX_BUNDLE_LINE: usize = 16 * 1024 * 1024;

const VERSION: u32 = 1;
/// Records that are read at once.
const PAGE: u32 = 1_000;
/// The folder in a Golem's own.
pub(crate) const FOLDER: &str = "legacy";
/// The runway that it gave up, as whoever revokes it gives it to `bardo delegation revoke`.
pub(crate) const RUNWAY: &str = "runway.context";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Line {
    Bequest(Header),
    Testament(Box<Testament>),
    Settlement(Box<DeathSettlement>),
    Memory(MemoryLine),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Header {
    version: u32,
    golem: B256,
    owner: Address,
    made_at: u64,
    audit: AuditHead,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MemoryLine {
    id: MemoryId,
    kind: MemoryKind,
    author: Address,
    source: String,
    at: u64,
    #[serde(with = "as_data")]
    text: Untrusted,
    data: Value,
    parents: Vec<MemoryId>,
}

impl From<Memory> for MemoryLine {
    fn from(memory: Memory) -> Self {
        let Memory { id, kind, author, source, at, text, data, parents } = memory;
        Self { id, kind, author, source, at, text, data, parents }
    }
}

impl From<MemoryLine> for Memory {
    fn from(line: MemoryLine) -> Self {
        let MemoryLine { id, kind, author, source, at, text, data, parents } = line;
        Self { id, kind, author, source, at, text, data, parents }
    }
}

/// Why there is no bundle, or why a text is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// The store did not give it.
    #[error("the Golem's store cannot be read")]
    Store(#[from] StoreError),
    /// What is kept of its runway.
    #[error("what is kept of its runway cannot be read")]
    Runway(#[from] RunwayError),
    /// The store did not give its head.
    #[error("the head of the audit chain cannot be read")]
    Head(#[source] BoxError),
    /// The audit chain has no such form.
    #[error("the audit chain in it cannot be written or read")]
    Export(#[from] ExportError),
    /// Something has no form in JSON.
    #[error("it cannot be written as JSON")]
    Json(#[source] serde_json::Error),
    /// Too long, all of it or a line.
    #[error("it is longer than a bequest may be")]
    Length,
    /// A line is missing, or is not where it belongs.
    #[error("line {line} is not {expected}")]
    Form {
        /// Which one.
        line: u64,
        /// What should be there.
        expected: &'static str,
        /// Why, where that is known.
        source: Option<serde_json::Error>,
    },
    /// Right, but not in its one form.
    #[error("line {line} is not written in the one form that it has")]
    NotCanonical {
        /// Which one.
        line: u64,
    },
    /// Of a later program.
    #[error("it has version {0}, and this program knows {VERSION}")]
    Version(u32),
    /// Its parts do not belong together.
    #[error("its parts do not belong together: {0}")]
    Disagrees(&'static str),
    /// The audit chain was changed.
    #[error("its audit chain is {0}")]
    Damaged(Box<Verification>),
}

/// What a Golem left, read and found whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Whose it is.
    pub golem: B256,
    /// For whom.
    pub owner: Address,
    /// When it was made.
    pub made_at: u64,
    /// Its last word.
    pub testament: Testament,
    /// How its holdings were settled.
    pub settlement: DeathSettlement,
    /// Its Grimoire, the oldest first.
    pub memories: Vec<Memory>,
    /// Its audit chain.
    pub audit: Export,
    /// What is known of that: whole, or this would not be here.
    pub verification: Verification,
}

impl Bundle {
    /// Its memories as JSON Lines, as they stand in the bundle.
    pub fn write_memories(&self, mut to: impl Write) -> Result<(), BundleError> {
        for memory in &self.memories {
            let line = text(&Line::Memory(memory.clone().into()))?;
            writeln!(to, "{line}")
                .map_err(|source| BundleError::Json(serde_json::Error::io(source)))?;
        }
        Ok(())
    }
}

fn text(line: &Line) -> Result<String, BundleError> {
    let text = serde_json::to_string(line).map_err(BundleError::Json)?;
    if text.len() > MAX_BUNDLE_LINE { Err(BundleError::Length) } else { Ok(text) }
}

/// The audit chain up to what is its head now, and its seals. What a writer adds meanwhile is left out.
pub(crate) async fn chain(store: &Store) -> Result<(Vec<Record>, Vec<Seal>), BundleError> {
    let head = store.head().await.map_err(BundleError::Head)?;
    let mut seals = store.seals().await?;
    seals.retain(|seal| seal.head.length <= head.length);
    let mut records: Vec<Record> = Vec::new();
    loop {
        let after = records.last().map_or(0, |last| last.sequence);
        let page = store.records_after(after, PAGE).await?;
        let before = records.len();
        records.extend(page.into_iter().take_while(|record| record.sequence <= head.length));
        if records.len() == before {
            return Ok((records, seals));
        }
    }
}

/// The whole Grimoire, the oldest first.
pub(crate) async fn grimoire(store: &Store) -> Result<Vec<Memory>, BundleError> {
    let mut memories: Vec<Memory> = Vec::new();
    loop {
        let before = memories.last().map(|oldest| oldest.id);
        let page = store.memories(None, Page { before, limit: Page::MOST }).await?;
        if page.is_empty() {
            memories.reverse();
            return Ok(memories);
        }
        memories.extend(page);
    }
}

/// Gathers all that a Golem leaves. What a reader would refuse is not made: a damaged chain is found here, while its store is there.
pub async fn gather(
    store: &Store,
    testament: &Testament,
    settlement: &DeathSettlement,
    now: u64,
) -> Result<Vec<u8>, BundleError> {
    let (records, seals) = chain(store).await?;
    let golem = store.golem();
    let audit =
        records.last().map_or(AuditHead { golem, length: 0, hash: B256::ZERO }, Record::head);
    let owner = testament.owner;
    let header = Header { version: VERSION, golem, owner, made_at: now, audit };
    let mut bundle = Vec::new();
    let mut add = |line: Line| {
        bundle.extend_from_slice(text(&line)?.as_bytes());
        bundle.push(b'\n');
        if bundle.len() > MAX_BEQUEST { Err(BundleError::Length) } else { Ok(()) }
    };
    add(Line::Bequest(header))?;
    add(Line::Testament(Box::new(testament.clone())))?;
    add(Line::Settlement(Box::new(settlement.clone())))?;
    for memory in grimoire(store).await? {
        add(Line::Memory(memory.into()))?;
    }
    write_export(&records, &seals, &mut bundle)?;
    read_bundle(&bundle)?;
    Ok(bundle)
}

/// The lines before the audit chain, one after the other.
struct Lines<'a> {
    rest: &'a [u8],
    number: u64,
}

impl<'a> Lines<'a> {
    /// The next line, if it is one of ours; read strictly.
    fn next(&mut self, expected: &'static str) -> Result<Line, BundleError> {
        self.number = self.number.saturating_add(1);
        let line = self.number;
        let form = |source| BundleError::Form { line, expected, source };
        let end = self.rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| form(None))?;
        if end > MAX_BUNDLE_LINE {
            return Err(BundleError::Length);
        }
        let (bytes, rest) = self.rest.split_at_checked(end).ok_or_else(|| form(None))?;
        self.rest = rest.strip_prefix(b"\n").unwrap_or_default();
        let read: Line = serde_json::from_slice(bytes).map_err(|source| form(Some(source)))?;
        // One form only: neither a key twice nor a space can hide anything.
        if text(&read)?.as_bytes() == bytes {
            Ok(read)
        } else {
            Err(BundleError::NotCanonical { line })
        }
    }

    const fn misplaced(&self, expected: &'static str) -> BundleError {
        BundleError::Form { line: self.number, expected, source: None }
    }

    const fn audit(self) -> &'a [u8] {
        self.rest
    }
}

/// Reads a bundle and verifies it: its one form, that its parts belong together, and its audit chain. Unknown fields are refused.
///
/// That the chain is the Golem's and not written anew shows against the registry alone: see `bardo audit verify --rpc`.
pub fn read_bundle(bytes: &[u8]) -> Result<Bundle, BundleError> {
    if bytes.len() > MAX_BEQUEST {
        return Err(BundleError::Length);
    }
    let mut lines = Lines { rest: bytes, number: 0 };
    let expected = "the beginning of a bequest";
    let Line::Bequest(header) = lines.next(expected)? else {
        return Err(lines.misplaced(expected));
    };
    if header.version != VERSION {
        return Err(BundleError::Version(header.version));
    }
    let Line::Testament(testament) = lines.next("a testament")? else {
        return Err(lines.misplaced("a testament"));
    };
    let Line::Settlement(settlement) = lines.next("a settlement")? else {
        return Err(lines.misplaced("a settlement"));
    };
    let mut memories = Vec::new();
    while lines.rest.starts_with(br#"{"memory":"#) {
        let Line::Memory(memory) = lines.next("a memory")? else {
            return Err(lines.misplaced("a memory"));
        };
        memories.push(Memory::from(memory));
    }
    let audit = read_export(lines.audit())?;
    let verification = audit.verify(&[]);
    if !verification.is_whole() {
        return Err(BundleError::Damaged(Box::new(verification)));
    }
    let Header { golem, owner, made_at, audit: head, .. } = header;
    let bundle = Bundle {
        golem,
        owner,
        made_at,
        testament: *testament,
        settlement: *settlement,
        memories,
        audit,
        verification,
    };
    belongs_together(&bundle, &head)?;
    Ok(bundle)
}

fn belongs_together(bundle: &Bundle, head: &AuditHead) -> Result<(), BundleError> {
    let Bundle { golem, owner, testament, settlement, memories, audit, .. } = bundle;
    let no = |why| Err(BundleError::Disagrees(why));
    if (testament.golem, testament.owner) != (*golem, *owner) {
        return no("the testament is another Golem's, or for another owner");
    }
    if testament.settlement != settlement.hash()
        || testament.deferred != settlement.positions_deferred()
    {
        return no("the testament is about another settlement");
    }
    // A Golem that lived wrote something down: a chain of nothing is not its chain.
    if head.golem != *golem || audit.records.last().map(Record::head) != Some(*head) {
        return no("the audit chain is another Golem's, or ends elsewhere");
    }
    let ascending = memories.windows(2).all(|pair| match pair {
        [one, next] => one.id < next.id,
        _ => true,
    });
    if !ascending {
        return no("memories are there twice, or not in order");
    }
    let known = |id: &MemoryId| memories.binary_search_by_key(id, |memory| memory.id).is_ok();
    if memories.iter().any(|one| one.parents.iter().any(|id| *id >= one.id || !known(id))) {
        return no("a memory came of one that is not there");
    }
    Ok(())
}

/// Where the bequest of a Golem lies in its folder.
#[must_use]
pub fn bequest_path(data: &Path, golem: B256) -> PathBuf {
    data.join(FOLDER).join(format!("{golem}.bequest"))
}

/// Keeps a sealed bequest in the Golem's folder, for its user alone. Killed anywhere, the file is there whole or as it was; once this
/// returns, the disk has it. One that is there is replaced: a death that goes on after a crash leaves the same again.
pub fn keep_bequest(data: &Path, golem: B256, sealed: &[u8]) -> io::Result<PathBuf> {
    keep(data, &format!("{golem}.bequest"), sealed)
}

/// The same with its last word, for whoever has the folder to read.
pub(crate) fn keep_testament(data: &Path, testament: &Testament) -> io::Result<PathBuf> {
    keep(data, TESTAMENT, testament.to_markdown().as_bytes())
}

/// The same with the context of the runway that it gave up, in hex: its owner ends the grant by it.
pub(crate) fn keep_runway(data: &Path, context: &Bytes) -> io::Result<PathBuf> {
    keep(data, RUNWAY, format!("{context}\n").as_bytes())
}

fn keep(data: &Path, name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let folder = data.join(FOLDER);
    let path = folder.join(name);
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    // Always the same name: what a kill leaves of it the next one removes.
    let part = folder.join(format!(".{name}.part"));
    match fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&part, &path)?;
    File::open(&folder)?.sync_all()?;
    // The folder's own name, too.
    File::open(data)?.sync_all()?;
    Ok(path)
}
