use crate::{
    audit::{Anchor, Damage, DamageKind, Record, Seal, Verification, verify},
    canonical::{self, CanonicalError},
};
use alloy_primitives::B256;
use golem_custody::AuditHead;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, BufRead, Read, Write};

/// Longest line of an export, in bytes: a body's bound, and room for what is around it.
pub const MAX_LINE: usize = canonical::MAX_BODY + 4 * 1024;

/// One line: `{"record":{…}}`, `{"seal":{…}}`, or `{"end":{…}}` as the last.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum Line {
    Record(RecordLine),
    Seal(Seal),
    End(AuditHead),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RecordLine {
    golem: B256,
    sequence: u64,
    at: u64,
    kind: String,
    body: Value,
    previous: B256,
    hash: B256,
}

/// A chain that was written to a file, read. Nothing about it is verified yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Export {
    /// Its records, in the order of the file.
    pub records: Vec<Record>,
    /// Its seals.
    pub seals: Vec<Seal>,
    /// How it ended when it was written; none where the file is cut.
    pub end: Option<AuditHead>,
}

impl Export {
    /// As [`verify`]; a file that ends too early is one whose newest records are gone.
    pub fn verify(&self, anchors: &[Anchor]) -> Verification {
        let mut verification = verify(&self.records, &self.seals, anchors);
        let length = verification.length;
        let ending = AuditHead {
            golem: verification.golem.or(self.end.map(|end| end.golem)).unwrap_or_default(),
            length,
            hash: verification.head,
        };
        let ended = match self.end {
            None => Some(Damage {
                sequence: length.saturating_add(1),
                kind: DamageKind::Cut,
                reason: "the file does not have its last line".into(),
            }),
            Some(end) if end != ending => Some(Damage {
                sequence: length.min(end.length).saturating_add(1),
                kind: if end.length > length { DamageKind::Cut } else { DamageKind::Inserted },
                reason: format!(
                    "the file's last line says {} records with head {}",
                    end.length, end.hash
                ),
            }),
            Some(_) => None,
        };
        verification.damage = verification.damage.or(ended);
        verification
    }
}

/// Why a line is none of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file did not give or take it.
    #[error("line {line} cannot be read or written")]
    Io {
        /// Which one.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// Too long.
    #[error("line {line} is longer than {MAX_LINE} bytes")]
    Length {
        /// Which one.
        line: u64,
    },
    /// Not JSON of one of the three forms.
    #[error("line {line} is neither a record, nor a seal, nor an end")]
    Form {
        /// Which one.
        line: u64,
        /// Why.
        source: serde_json::Error,
    },
    /// Right, but not in its one form.
    #[error("line {line} is not written in the one form that it has")]
    NotCanonical {
        /// Which one.
        line: u64,
    },
    /// A body that cannot be written.
    #[error("record {sequence} has no canonical body; verify the store itself")]
    Body {
        /// Which record.
        sequence: u64,
        /// Why, where that is known.
        source: Option<CanonicalError>,
    },
    /// Something behind the end.
    #[error("line {line} comes after the end")]
    AfterTheEnd {
        /// Which one.
        line: u64,
    },
}

/// Reads an export, line by line: unknown fields, other forms and long lines are refused.
pub fn read_export(mut from: impl BufRead) -> Result<Export, ExportError> {
    let mut export = Export::default();
    for number in 1.. {
        let mut line = Vec::new();
        let bound = u64::try_from(MAX_LINE).unwrap_or(u64::MAX).saturating_add(1);
        let read = from
            .by_ref()
            .take(bound)
            .read_until(b'\n', &mut line)
            .map_err(|source| ExportError::Io { line: number, source })?;
        if read == 0 {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > MAX_LINE {
            return Err(ExportError::Length { line: number });
        }
        if export.end.is_some() {
            return Err(ExportError::AfterTheEnd { line: number });
        }
        match parse(&line, number)? {
            Line::Record(record) => export.records.push(read_record(record)?),
            Line::Seal(seal) => export.seals.push(seal),
            Line::End(head) => export.end = Some(head),
        }
    }
    Ok(export)
}

fn parse(bytes: &[u8], number: u64) -> Result<Line, ExportError> {
    let form = |source| ExportError::Form { line: number, source };
    let line: Line = serde_json::from_slice(bytes).map_err(form)?;
    // One form only: neither a key twice nor a space can hide anything.
    match text(&line) {
        Some(text) if text.as_bytes() == bytes => Ok(line),
        _ => Err(ExportError::NotCanonical { line: number }),
    }
}

fn text(line: &Line) -> Option<String> {
    let value = serde_json::to_value(line).ok()?;
    let mut text = String::new();
    canonical::write(&value, canonical::LINE_DEPTH + 1, &mut text).ok()?;
    Some(text)
}

fn read_record(line: RecordLine) -> Result<Record, ExportError> {
    let RecordLine { golem, sequence, at, kind, body, previous, hash } = line;
    let body = canonical::canonical(&body)
        .map_err(|source| ExportError::Body { sequence, source: Some(source) })?;
    Ok(Record { golem, sequence, at, kind, body, previous, hash })
}

/// Writes a chain as JSON Lines: its records, its seals, and how it ends.
pub fn write_export(
    records: &[Record],
    seals: &[Seal],
    mut to: impl Write,
) -> Result<(), ExportError> {
    let mut number = 0;
    let mut line = |line: &Line, sequence: u64| {
        number += 1;
        let text = text(line).ok_or(ExportError::Body { sequence, source: None })?;
        writeln!(to, "{text}").map_err(|source| ExportError::Io { line: number, source })
    };
    for record in records {
        let sequence = record.sequence;
        let body: Option<Value> = serde_json::from_str(&record.body).ok();
        let body = body.filter(|body| canonical::canonical(body).as_ref() == Ok(&record.body));
        let body = body.ok_or(ExportError::Body { sequence, source: None })?;
        let Record { golem, at, kind, previous, hash, .. } = record.clone();
        let record = RecordLine { golem, sequence, at, kind, body, previous, hash };
        line(&Line::Record(record), sequence)?;
    }
    for seal in seals {
        line(&Line::Seal(seal.clone()), seal.head.length)?;
    }
    let golem = records.first().map_or(B256::ZERO, |first| first.golem);
    let end =
        records.last().map_or(AuditHead { golem, length: 0, hash: B256::ZERO }, |last| AuditHead {
            golem,
            length: u64::try_from(records.len()).unwrap_or(u64::MAX),
            hash: last.hash,
        });
    line(&Line::End(end), end.length)
}
