use super::{audit::anchors, onboard::folder::GolemFile};
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::ReportArgs,
    report,
};
use anyhow::{Context as _, anyhow};
use bardo_store::Archive;
use golem_chain::Node;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use std::{io::Write as _, path::Path};

/// `bardo golem report`
pub(crate) async fn report(args: &ReportArgs) -> Result<Answer, Failure> {
    let mut archive = Archive::open(&args.data).or_use()?;
    let golem = archive.golem()?;
    if let Some(file) = GolemFile::of(&args.data)?.filter(|file| file.golem != golem) {
        let named = file.golem;
        return Err(Failure::Use(anyhow!(
            "the books are of golem={golem}, and golem.toml beside them says golem={named}"
        )));
    }
    let node = Node::connect(&args.rpc).await?;
    // The chain first: of a Golem that runs it may have a newer head in a moment, and never one that is not on disk before.
    let anchors = anchors(&node, golem, args.from_block).await?;
    let (records, seals) = archive.audit()?;
    // Drawn on a terminal only.
    let bar = ProgressBar::new_spinner()
        .with_style(ProgressStyle::with_template("{spinner} reading block {msg}")?);
    let step = |block: u64| {
        bar.set_message(block.to_string());
        bar.tick();
    };
    let log = (&records[..], &seals[..], &anchors[..]);
    let story = report::gather(&node, golem, log, args.from_block, step).await?;
    bar.finish_and_clear();
    written(&args.out, &report::render(&story))?;
    let json = json!({ "file": args.out, "golem": golem, "story": story });
    Ok(Answer::yes(json, format!("the life of Golem {golem} is in {}", args.out.display())))
}

/// Whole, or not at all.
fn written(path: &Path, page: &str) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => return Err(Failure::Use(anyhow!("{} is no file", path.display()))),
    };
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(page.as_bytes())?;
        file.persist(path)?;
        anyhow::Ok(())
    };
    write().with_context(|| format!("cannot write {}", path.display())).or_use()
}
