use crate::{
    answer::{Answer, Failure, OrUse},
    cli::{AuditCommand, AuditExportArgs, AuditVerifyArgs},
    prose::paragraphs,
};
use alloy::primitives::B256;
use anyhow::{Context, anyhow};
use bardo_store::{
    Anchor, Archive, Export, ExportError, Seal, Verification, read_export, verify, write_export,
};
use golem_chain::{Node, Registry};
use serde_json::{Value, json};
use std::{
    fs::{File, OpenOptions},
    io::{BufReader, BufWriter, Write, stdin},
    path::Path,
};
use url::Url;

/// `bardo audit`
pub(crate) async fn audit(command: &AuditCommand) -> Result<Answer, Failure> {
    match command {
        AuditCommand::Verify(args) => verified(args).await,
        AuditCommand::Export(args) => export(args),
    }
}

async fn verified(args: &AuditVerifyArgs) -> Result<Answer, Failure> {
    let (log, golem) = match (&args.log.file, &args.log.data) {
        (Some(file), _) => match read(file)? {
            Ok(export) => {
                let first = export.records.first().map(|record| record.golem);
                let golem = first.or(export.end.map(|end| end.golem));
                (Log::File(export), golem)
            }
            Err(error) => return Ok(unreadable(&error)),
        },
        (None, Some(data)) => {
            let mut archive = Archive::open(data).or_use()?;
            let golem = archive.golem()?;
            (Log::Store(archive.audit()?), Some(golem))
        }
        // The parser takes one of the two.
        (None, None) => return Err(Failure::Use(anyhow!("--file or --data is needed"))),
    };
    let anchors = match (&args.rpc, golem) {
        (Some(rpc), Some(golem)) => Some(anchors(rpc, golem, args.from_block).await?),
        _ => None,
    };
    let (log, ignored) = log.sealed_by(args);
    let found = log.verify(anchors.as_deref().unwrap_or_default());
    Ok(answer(&found, anchors.as_deref(), ignored))
}

/// A log as it was found.
enum Log {
    File(Export),
    Store((Vec<bardo_store::Record>, Vec<Seal>)),
}

impl Log {
    /// The same without seals of keys that were not named, and how many these are.
    fn sealed_by(mut self, args: &AuditVerifyArgs) -> (Self, usize) {
        let seals = match &mut self {
            Self::File(export) => &mut export.seals,
            Self::Store((_, seals)) => seals,
        };
        let before = seals.len();
        if !args.signers.is_empty() {
            seals.retain(|seal| args.signers.contains(&seal.by));
        }
        let ignored = before.saturating_sub(seals.len());
        (self, ignored)
    }

    fn verify(&self, anchors: &[Anchor]) -> Verification {
        match self {
            Self::File(export) => export.verify(anchors),
            Self::Store((records, seals)) => verify(records, seals, anchors),
        }
    }
}

/// What the file says; or why it says nothing, which is an answer about it.
fn read(path: &Path) -> Result<Result<Export, ExportError>, Failure> {
    let read = if path == Path::new("-") {
        read_export(stdin().lock())
    } else {
        let file = File::open(path).with_context(|| format!("cannot open {}", path.display()));
        read_export(BufReader::new(file.or_use()?))
    };
    match read {
        Err(error @ ExportError::Io { .. }) => Err(error.into()),
        other => Ok(other),
    }
}

fn unreadable(error: &ExportError) -> Answer {
    let reason = error.to_string();
    Answer::no(json!({ "whole": false, "reason": reason }), format!("damaged: {reason}"))
}

async fn anchors(rpc: &Url, golem: B256, from: u64) -> Result<Vec<Anchor>, Failure> {
    let node = Node::connect(rpc).await?;
    let heartbeats = Registry::open(&node).await?.heartbeats(golem, from).await?;
    let anchors = heartbeats.into_iter();
    Ok(anchors.map(|beat| Anchor { hash: beat.audit_head, block: beat.block }).collect())
}

fn answer(found: &Verification, anchors: Option<&[Anchor]>, ignored: usize) -> Answer {
    let mut json = json!(found);
    if let Value::Object(fields) = &mut json {
        fields.insert("whole".into(), found.is_whole().into());
        fields.insert("anchors".into(), json!(anchors.map(<[_]>::len)));
        fields.insert("ignoredSeals".into(), json!(ignored));
    }
    let mut text = found.to_string();
    match anchors {
        None => text.push_str("\nthe chain was not asked: give --rpc"),
        Some([]) => text.push_str("\nthe chain has no heartbeat of this Golem"),
        Some(_) => {}
    }
    if ignored != 0 {
        text.push_str(&format!("\n{ignored} seals of other keys were left aside"));
    }
    let text = paragraphs(&text);
    if found.is_whole() { Answer::yes(json, text) } else { Answer::no(json, text) }
}

fn export(args: &AuditExportArgs) -> Result<Answer, Failure> {
    let mut archive = Archive::open(&args.data).or_use()?;
    let (records, seals) = archive.audit()?;
    let json = json!({ "records": records.len(), "seals": seals.len(), "file": args.out });
    match &args.out {
        Some(path) => {
            let file = OpenOptions::new().write(true).create_new(true).open(path);
            let file =
                file.with_context(|| format!("cannot create {}", path.display())).or_use()?;
            let mut file = BufWriter::new(file);
            write_export(&records, &seals, &mut file)?;
            file.flush()?;
            file.get_ref().sync_all()?;
            let text = format!("{} records and {} seals", records.len(), seals.len());
            Ok(Answer::yes(json, text))
        }
        None => {
            let mut lines = Vec::new();
            write_export(&records, &seals, &mut lines)?;
            let lines = String::from_utf8(lines)?;
            Ok(Answer::yes(json, lines.clone()).with("lines", lines))
        }
    }
}
