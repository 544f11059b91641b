use crate::{
    answer::{Answer, Failure, OrUse},
    cli::{BequestCommand, BequestOpenArgs},
    input,
    prose::paragraphs,
};
use anyhow::{Context, anyhow};
use bardo_store::write_export;
use golem_custody::{Addressed, MAX_BEQUEST};
use golem_runtime::{Bundle, read_bundle};
use serde_json::json;
use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::Path,
};

/// What a sealed file has around its text at most.
const AROUND: usize = 1024;

/// `bardo bequest`
pub(crate) fn bequest(command: &BequestCommand) -> Result<Answer, Failure> {
    let BequestCommand::Open(args) = command;
    open(args)
}

fn open(args: &BequestOpenArgs) -> Result<Answer, Failure> {
    let sealed = read(&args.file)?;
    let owner = input::owner(&args.key)?;
    let outside = match Addressed::read(&sealed) {
        Ok(outside) => outside,
        Err(error) => return Ok(refused(error)),
    };
    let plain = match owner.open_bequest(outside.golem, &sealed) {
        Ok(plain) => plain,
        Err(error) => return Ok(refused(error)),
    };
    let bundle = match read_bundle(&plain) {
        Ok(bundle) => bundle,
        Err(error) => return Ok(refused(error)),
    };
    // What is inside was vouched for by nobody but its writer; the seal says whose it is.
    if (bundle.golem, bundle.owner) != (outside.golem, outside.owner) {
        let error = anyhow!("what is in it is another Golem's, or for another owner");
        return Ok(refused(error));
    }
    let files = match &args.out {
        Some(folder) => write(&bundle, folder)?,
        None => Vec::new(),
    };
    Ok(summary(&bundle, &files))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let cannot = || format!("cannot read {}", path.display());
    let most = u64::try_from(MAX_BEQUEST.saturating_add(AROUND))?;
    let file = File::open(path).with_context(cannot).or_use()?;
    let mut sealed = Vec::new();
    file.take(most).read_to_end(&mut sealed).with_context(cannot).or_use()?;
    Ok(sealed)
}

fn refused(error: impl Into<anyhow::Error>) -> Answer {
    let causes: Vec<String> = error.into().chain().map(ToString::to_string).collect();
    let reason = golem_chain::printable(&causes.join(": "));
    Answer::no(json!({ "opened": false, "reason": reason }), format!("not opened: {reason}"))
}

/// Writes new files alone: where one is there already, none is written.
fn write(bundle: &Bundle, folder: &Path) -> Result<Vec<String>, Failure> {
    let mut audit = Vec::new();
    write_export(&bundle.audit.records, &bundle.audit.seals, &mut audit)?;
    let mut memories = Vec::new();
    bundle.write_memories(&mut memories)?;
    let testament = bundle.testament.to_markdown().into_bytes();
    let parts = [("TESTAMENT.md", testament), ("audit.jsonl", audit), ("memories.jsonl", memories)];
    for (name, _) in &parts {
        let path = folder.join(name);
        if path.symlink_metadata().is_ok() {
            let words = anyhow!("{} is there already; nothing was written", path.display());
            return Err(Failure::Use(words));
        }
    }
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot make {}", folder.display())).or_use()?;
    let mut written = Vec::new();
    for (name, bytes) in parts {
        let path = folder.join(name);
        let cannot = || format!("cannot create {}", path.display());
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        let mut file = file.with_context(cannot).or_use()?;
        file.write_all(&bytes).with_context(cannot)?;
        file.sync_all().with_context(cannot)?;
        written.push(path.display().to_string());
    }
    Ok(written)
}

fn summary(bundle: &Bundle, files: &[String]) -> Answer {
    let Bundle { golem, owner, testament, memories, verification, made_at, .. } = bundle;
    let json = json!({
        "opened": true,
        "golem": golem,
        "owner": owner,
        "madeAt": made_at,
        "testament": testament,
        "settlement": bundle.settlement,
        "memories": memories.len(),
        "audit": verification,
        "files": files,
    });
    let mut text = testament.to_markdown();
    text.push_str(&format!("\n{} memories. Its audit log is {verification}", memories.len()));
    for file in files {
        text.push_str(&format!("\nwritten: {file}"));
    }
    Answer::yes(json, paragraphs(&text))
}
