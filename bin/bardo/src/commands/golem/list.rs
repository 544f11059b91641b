use super::{archive, kin::Kin, moment};
use crate::{
    answer::{Answer, Failure, OrUse},
    cli::ListArgs,
    commands::onboard::folder::GolemFile,
    input,
};
use anyhow::{Context as _, anyhow};
use golem_runtime::{Dying, Glance};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// `bardo golem list`
pub(super) fn list(args: &ListArgs) -> Result<Answer, Failure> {
    let home = match &args.home {
        Some(home) => home.clone(),
        None => env::var_os("HOME")
            .map(|home| PathBuf::from(home).join(".bardo"))
            .ok_or_else(|| Failure::Use(anyhow!("where: --home DIR")))?,
    };
    let entries = fs::read_dir(&home)
        .with_context(|| format!("cannot look into {}", home.display()))
        .or_use()?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join(GolemFile::NAME).is_file())
        .collect();
    folders.sort_unstable();
    let now = input::now()?;
    let (rows, lines): (Vec<Value>, Vec<String>) =
        folders.iter().map(|folder| row(folder, now)).unzip();
    let text = if lines.is_empty() {
        format!("no Golem lives in {}", home.display())
    } else {
        lines.join("\n")
    };
    Ok(Answer::yes(json!({ "home": home, "golems": rows }), text))
}

/// One that cannot be read is shown with the reason: it hides no other.
fn row(folder: &Path, now: u64) -> (Value, String) {
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match seen(folder, now) {
        Ok((file, glance)) => {
            let life = glance.life.as_ref();
            let phase = life.map(|life| format!("{:?}", life.phase));
            let kin = Kin::of(folder, &glance, now);
            let died_of = glance.dying.as_ref().map(Dying::trigger);
            let json = json!({
                "name": name, "data": folder, "golem": file.golem, "owner": file.owner,
                "mode": file.mode, "chainId": file.chain_id, "phase": phase,
                "ticks": life.map(|life| life.ticks), "nextAt": life.map(|life| life.next_at).filter(|_| died_of.is_none()),
                "dead": glance.is_dead(), "dying": died_of,
                "replicants": kin.iter().map(Kin::json).collect::<Vec<_>>(),
            });
            let how = match (life, died_of) {
                (_, Some(trigger)) if glance.is_dead() => format!("dead: {trigger:?}"),
                (_, Some(trigger)) => format!("dies: {trigger:?}"),
                (Some(life), None) => {
                    let (phase, ticks, next) = (life.phase, life.ticks, moment(life.next_at));
                    format!("{phase:?}, {ticks} ticks, next {next}")
                }
                (None, None) => "no tick yet".to_owned(),
            };
            let mut lines = vec![format!("{name:<20} {}  {how}", file.golem)];
            lines.extend(kin.iter().map(|one| format!("  {}", one.text())));
            (json, lines.join("\n"))
        }
        Err(why) => (
            json!({ "name": name, "data": folder, "error": why }),
            format!("{name:<20} cannot be read: {why}"),
        ),
    }
}

fn seen(folder: &Path, now: u64) -> Result<(GolemFile, Glance), String> {
    let words = |failure: Failure| failure.why().to_string();
    let file = GolemFile::of(folder).map_err(words)?.ok_or("it is gone")?;
    let archive = archive(folder).map_err(words)?;
    let glance = Glance::of(&archive, now).map_err(|error| error.to_string())?;
    Ok((file, glance))
}
