use super::onboard::folder::GolemFile;
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::{AuditCommand, AuditExportArgs, AuditVerifyArgs},
    prose::paragraphs,
};
use alloy::primitives::B256;
use anyhow::{Context, anyhow};
use bardo_store::{
    Anchor, Archive, Damage, DamageKind, Export, ExportError, Seal, Verification, read_export,
    verify, write_export,
};
use golem_chain::{Node, Registry};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    fs::{File, OpenOptions},
    io::{BufReader, BufWriter, Write, stdin},
    path::Path,
};

/// `bardo audit`
pub(crate) async fn audit(command: &AuditCommand) -> Result<Answer, Failure> {
    match command {
        AuditCommand::Verify(args) => verified(args).await,
        AuditCommand::Export(args) => export(args),
    }
}

async fn verified(args: &AuditVerifyArgs) -> Result<Answer, Failure> {
    let (found, whose, chain, ignored) = match (&args.log.file, &args.log.data) {
        (Some(file), _) => {
            let export = match read(file)? {
                Ok(export) => export,
                Err(error) => return Ok(unreadable(&error)),
            };
            let first = export.records.first().map(|record| record.golem);
            let ends = export.end.map(|end| end.golem).filter(|golem| !golem.is_zero());
            let whose = Whose::of(args.golem, None, first.or(ends));
            let chain = Chain::asked(args, whose.id).await?;
            let (log, ignored) = Log::File(export).sealed_by(args);
            (log.verify(chain.anchors()), whose, chain, ignored)
        }
        (None, Some(data)) => {
            let mut archive = Archive::open(data).or_use()?;
            let named = GolemFile::of(data)?.map(|file| file.golem);
            let whose = Whose::of(args.golem, named, Some(archive.golem()?));
            // The chain first: of a Golem that runs it may have a newer head in a moment, and never one that is not on disk before.
            let chain = Chain::asked(args, whose.id).await?;
            let (log, ignored) = Log::Store(archive.audit()?).sealed_by(args);
            (log.verify(chain.anchors()), whose, chain, ignored)
        }
        // The parser takes one of the two.
        (None, None) => return Err(Failure::Use(anyhow!("--file or --data is needed"))),
    };
    Ok(answer(whose.holds(found), &whose, &chain, ignored))
}

/// Whose log it has to be, and who says so.
struct Whose {
    id: Option<B256>,
    by: Namer,
    /// Whom the log names, by its end or as a whole.
    says: Option<B256>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Namer {
    Caller,
    GolemToml,
    Log,
}

impl Whose {
    const fn of(asked: Option<B256>, named: Option<B256>, says: Option<B256>) -> Self {
        let (id, by) = match (asked, named) {
            (Some(_), _) => (asked, Namer::Caller),
            (None, Some(_)) => (named, Namer::GolemToml),
            (None, None) => (says, Namer::Log),
        };
        Self { id, by, says }
    }

    /// The same where the log is this one's; another's is damaged from its beginning (ATK-47).
    fn holds(&self, mut found: Verification) -> Verification {
        let says = [self.says, found.golem];
        let other = says.iter().flatten().find(|says| Some(**says) != self.id);
        let reason = match other {
            Some(other) => format!("the log is of another Golem, {other}"),
            None if self.id.is_some() && says == [None; 2] => "the log names no Golem".to_owned(),
            None => return found,
        };
        found.damage = Some(Damage { sequence: 1, kind: DamageKind::Foreign, reason });
        found
    }

    fn words(&self) -> String {
        let Some(id) = self.id else { return "of no Golem".to_owned() };
        let says = match self.by {
            Namer::Caller => "",
            Namer::GolemToml => "\nas golem.toml says",
            Namer::Log => {
                "\nas the log itself says: whoever writes one anew chooses that too, so compare it or give --golem"
            }
        };
        format!("of Golem {id}{says}")
    }
}

/// What the chain has of a Golem.
enum Chain {
    NotAsked,
    /// Somebody wants it asked, and nobody says of which.
    OfNobody,
    Asked(Known),
}

struct Known {
    /// Whether the registry knows it.
    registered: bool,
    /// From which block on it was looked.
    from: u64,
    anchors: Vec<Anchor>,
}

impl Chain {
    async fn asked(args: &AuditVerifyArgs, golem: Option<B256>) -> Result<Self, Failure> {
        let Some(rpc) = &args.rpc else { return Ok(Self::NotAsked) };
        let Some(golem) = golem else { return Ok(Self::OfNobody) };
        let node = Node::connect(rpc).await?;
        let registered = Registry::open(&node).await?.entry(golem).await?.is_some();
        let from = args.from_block;
        let anchors = anchors(&node, golem, from).await?;
        Ok(Self::Asked(Known { registered, from, anchors }))
    }

    const fn known(&self) -> Option<&Known> {
        match self {
            Self::Asked(known) => Some(known),
            Self::NotAsked | Self::OfNobody => None,
        }
    }

    fn anchors(&self) -> &[Anchor] {
        self.known().map_or(&[], |known| &known.anchors)
    }

    /// Why a log without damage is not vouched for, though somebody asked whether it is.
    fn against(&self, found: &Verification) -> Option<String> {
        let Known { registered, from, anchors } = match self {
            Self::NotAsked => return None,
            Self::OfNobody => return Some("nobody says of which Golem it is".to_owned()),
            Self::Asked(known) => known,
        };
        match (anchors.len(), found.anchored) {
            (0, _) if !registered => {
                Some("the registry on this chain does not know this Golem".to_owned())
            }
            (0, _) if *from > 0 => Some(format!(
                "the chain has no heartbeat of this Golem from block {from} on: look from an earlier one"
            )),
            // It is young.
            (0, _) | (_, Some(_)) => None,
            (many, None) => {
                Some(format!("the chain's heartbeats of this Golem ({many}) are of no record"))
            }
        }
    }
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

/// Every head of this Golem's log that is on chain, from a block on.
pub(super) async fn anchors(node: &Node, golem: B256, from: u64) -> Result<Vec<Anchor>, Failure> {
    let heartbeats = Registry::open(node).await?.heartbeats(golem, from).await?;
    let anchors = heartbeats.into_iter();
    Ok(anchors.map(|beat| Anchor { hash: beat.audit_head, block: beat.block }).collect())
}

fn answer(found: Verification, whose: &Whose, chain: &Chain, ignored: usize) -> Answer {
    let known = chain.known();
    let against = if found.is_whole() { chain.against(&found) } else { None };
    let mut json = json!(found);
    if let Value::Object(fields) = &mut json {
        fields.insert("whole".into(), found.is_whole().into());
        fields.insert("golem".into(), json!(whose.id));
        fields.insert("namedBy".into(), json!(whose.by));
        fields.insert("registered".into(), json!(known.map(|known| known.registered)));
        fields.insert("anchors".into(), json!(known.map(|known| known.anchors.len())));
        fields.insert("unvouched".into(), json!(against));
        fields.insert("ignoredSeals".into(), json!(ignored));
    }
    let mut text = match &against {
        Some(why) => format!("not vouched for: {why}\nby itself {found}"),
        None => found.to_string(),
    };
    text.push_str(&format!("\n{}", whose.words()));
    match known {
        None => text.push_str("\nthe chain was not asked: give --rpc"),
        Some(known) if known.anchors.is_empty() => {
            text.push_str("\nthe chain has no heartbeat of this Golem");
        }
        Some(_) => {}
    }
    if ignored != 0 {
        text.push_str(&format!("\n{ignored} seals of other keys were left aside"));
    }
    let text = paragraphs(&text);
    let yes = found.is_whole() && against.is_none();
    if yes { Answer::yes(json, text) } else { Answer::no(json, text) }
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
