//! Results of runs that are too long for every check, bound to the sources they ran on.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::artifacts::sorted;
use crate::generated_mutants;
use crate::mutants;
use crate::sources;

const FOLDER: &str = "testdata/longruns";
/// Enough of a hash to tell which file moved; the whole set is bound by a full one.
const SHORT: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    Fuzz,
    Mutants,
    Soak,
}

impl Name {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Fuzz => "fuzz",
            Self::Mutants => "mutants",
            Self::Soak => "soak",
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Writes `testdata/longruns/NAME.json`.
    Record {
        /// Which run.
        name: Name,
        /// Files and folders the run depends on.
        #[arg(long, num_args = 1.., required = true)]
        sources: Vec<String>,
        /// A JSON object with at least `"ok": true`.
        #[arg(long)]
        result: PathBuf,
    },
    /// Fails when a recorded run is missing, failed or worth nothing, or when a mutant does not apply any more; says which
    /// ran on other sources.
    Check,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sources {
    paths: Vec<String>,
    sha256: String,
    files: BTreeMap<String, String>,
}

pub(crate) fn run(root: &Path, action: Action, out: &mut dyn Write) -> Result<bool> {
    match action {
        Action::Record { name, sources, result } => {
            let text = fs::read_to_string(&result)
                .with_context(|| format!("read {}", result.display()))?;
            record(root, name, &sources, &text)?;
            writeln!(out, "recorded {FOLDER}/{}.json; commit it", name.as_str())?;
            Ok(true)
        }
        Action::Check => {
            let mut problems = Vec::new();
            for name in Name::value_variants() {
                match check(root, *name)? {
                    Record::Fresh => problems.extend(hollow(root, *name)?),
                    // It was worth something when it was recorded, and says by itself that this was on other sources.
                    Record::Stale(why, changes) => {
                        writeln!(out, "notice: {why}")?;
                        writeln!(out, "{}", changes.join(", "))?;
                    }
                    Record::Broken(why) => problems.push(why),
                }
            }
            problems.extend(mutants::misfits(root)?);
            problems.extend(generated_mutants::unrecorded(root)?);
            let pending = mutants::pending(root);
            if !pending.is_empty() {
                writeln!(out, "notice: {} patches wait for `make mutants`", pending.len())?;
            }
            for patch in pending {
                writeln!(out, "{patch} is not judged yet")?;
            }
            for file in generated_mutants::pending(root) {
                writeln!(out, "generated mutants of {file} are not judged yet")?;
            }
            crate::verdict(&problems, out)
        }
    }
}

/// Writes a result with the hashes of its sources. A run that failed is not recorded.
pub(crate) fn record(root: &Path, name: Name, paths: &[String], result: &str) -> Result<()> {
    let mut result: Map<String, Value> =
        serde_json::from_str(result).context("parse the result")?;
    ensure!(
        result.get("ok") == Some(&Value::Bool(true)),
        "the {} run does not say \"ok\": true, so it is not recorded",
        name.as_str()
    );
    let hashes = sources::hashes(root, paths)?;
    ensure!(!hashes.is_empty(), "no source under {}", paths.join(", "));
    let mut paths = paths.to_vec();
    paths.sort();
    paths.dedup();
    let sources = Sources { paths, sha256: sources::digest(&hashes), files: short(&hashes) };
    result
        .insert("sources".to_owned(), serde_json::to_value(sources).context("write the sources")?);

    let mut text =
        serde_json::to_string_pretty(&sorted(&Value::Object(result))).context("write JSON")?;
    text.push('\n');
    fs::create_dir_all(root.join(FOLDER)).with_context(|| format!("create {FOLDER}"))?;
    let file = root.join(FOLDER).join(format!("{}.json", name.as_str()));
    fs::write(&file, text).with_context(|| format!("write {}", file.display()))
}

fn short(hashes: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    hashes.iter().map(|(name, hash)| (name.clone(), hash.chars().take(SHORT).collect())).collect()
}

/// How a record stands to the sources as they are.
#[derive(Debug, PartialEq, Eq)]
enum Record {
    Fresh,
    /// It ran on other sources than these, true and old: what to say, and what has changed since.
    Stale(String, Vec<String>),
    /// Missing, failed or edited.
    Broken(String),
}

fn check(root: &Path, name: Name) -> Result<Record> {
    let name = name.as_str();
    let file = format!("{FOLDER}/{name}.json");
    let mend = format!("run `make {name}` and commit {file}");
    let Ok(text) = fs::read_to_string(root.join(&file)) else {
        return Ok(Record::Broken(format!("{file} is missing; {mend}")));
    };
    let recorded: Value = serde_json::from_str(&text).with_context(|| format!("parse {file}"))?;
    if recorded.get("ok") != Some(&Value::Bool(true)) {
        return Ok(Record::Broken(format!("{file} records a run that did not pass; {mend}")));
    }
    let sources = recorded.get("sources").cloned().unwrap_or_default();
    let sources: Sources =
        serde_json::from_value(sources).with_context(|| format!("parse sources of {file}"))?;
    let hashes = sources::hashes(root, &sources.paths)?;
    if sources::digest(&hashes) == sources.sha256 {
        return Ok(Record::Fresh);
    }
    let changes = changes(&sources.files, &short(&hashes));
    if changes.is_empty() {
        return Ok(Record::Broken(format!("{file}: its own hash was edited; {mend}")));
    }
    let why = format!("{file} is of older sources, {} files changed since; {mend}", changes.len());
    Ok(Record::Stale(why, changes))
}

/// Least seconds of a run that counts.
const SECONDS: u64 = 60;

impl Name {
    /// What a run depends on at least, whatever the record says of itself.
    const fn demands(self) -> &'static [&'static str] {
        match self {
            Self::Fuzz => &["crates/delegation/src", "fuzz"],
            Self::Mutants => &["tests/mutants"],
            Self::Soak => &[
                "contracts/artifacts",
                "crates/chain/src",
                "crates/custody/src",
                "tests/e2e/soak.rs",
            ],
        }
    }
}

/// Why a fresh record shows nothing, if it does not: sources left out, too short, or without substance.
fn hollow(root: &Path, name: Name) -> Result<Option<String>> {
    let file = format!("{FOLDER}/{}.json", name.as_str());
    let text = fs::read_to_string(root.join(&file)).with_context(|| format!("read {file}"))?;
    let recorded: Value = serde_json::from_str(&text).with_context(|| format!("parse {file}"))?;
    let paths: Vec<&str> = recorded
        .pointer("/sources/paths")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    // A folder is depended on as a whole, or through a folder above it; a file in it is not it.
    let under = |demand: &str| {
        paths.iter().any(|path| demand == *path || demand.starts_with(&format!("{path}/")))
    };
    if let Some(missing) = name.demands().iter().find(|demand| !under(demand)) {
        return Ok(Some(format!("{file} does not depend on {missing}")));
    }
    let number = |value: &Value, field: &str| value[field].as_u64().unwrap_or_default();
    let list =
        |field: &str| recorded.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let found = match name {
        Name::Fuzz => {
            let rows = list("targets");
            let shown = |target: &str| {
                rows.iter().any(|row| {
                    row["target"] == target
                        && number(row, "seconds") >= SECONDS
                        && number(row, "execs") > 1_000
                        && row["crashes"] == 0
                })
            };
            names(root, "fuzz/fuzz_targets", ".rs")?.into_iter().find(|target| !shown(target)).map(
                |target| format!("target {target} was not run for {SECONDS} s without a crash"),
            )
        }
        Name::Mutants => {
            let (rows, pending) = (list("mutants"), mutants::pending(root));
            // Only a run in which every mutant was noticed is recorded at all.
            let killed = |patch: &str| {
                rows.iter().any(|row| {
                    row["patch"] == format!("{patch}.patch")
                        && row["noticed_by"].as_array().is_some_and(|tests| !tests.is_empty())
                })
            };
            names(root, "tests/mutants", ".patch")?
                .into_iter()
                .find(|patch| !killed(patch) && !pending.contains(&format!("{patch}.patch")))
                .map(|patch| format!("mutant {patch} was not killed"))
        }
        Name::Soak => {
            let enough = number(&recorded, "seconds") >= SECONDS
                && number(&recorded, "allowed") > 0
                && number(&recorded, "refused") > 0;
            (!enough).then(|| format!("it did not run for {SECONDS} s with both answers"))
        }
    };
    Ok(found.map(|why| format!("{file} shows nothing: {why}")))
}

/// Names of the files with an ending, without it.
fn names(root: &Path, folder: &str, ending: &str) -> Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(root.join(folder))
        .with_context(|| format!("list {folder}"))?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(ending).map(str::to_owned))
        .collect();
    names.sort();
    Ok(names)
}

fn changes(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
    let mut changes = Vec::new();
    for (name, hash) in new {
        match old.get(name) {
            None => changes.push(format!("{name} is new")),
            Some(before) if before != hash => changes.push(format!("{name} changed")),
            Some(_) => {}
        }
    }
    changes.extend(
        old.keys().filter(|name| !new.contains_key(*name)).map(|name| format!("{name} is gone")),
    );
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::scratch;

    const ALL: [Name; 3] = [Name::Fuzz, Name::Mutants, Name::Soak];

    fn recorded(folder: &str) -> PathBuf {
        let root = scratch(folder);
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "one").unwrap();
        fs::write(root.join("src/b.rs"), "two").unwrap();
        for name in ALL {
            record(&root, name, &["src".to_owned()], r#"{"ok": true, "runs": 5}"#).unwrap();
        }
        root
    }

    fn said(root: &Path) -> (bool, String) {
        let found = ALL.into_iter().filter_map(|name| match check(root, name).unwrap() {
            Record::Fresh => None,
            Record::Stale(why, changes) => Some(format!("{why}: {}", changes.join(", "))),
            Record::Broken(why) => Some(why),
        });
        let found: Vec<String> = found.collect();
        (found.is_empty(), found.join("\n"))
    }

    /// A record of `result` that depends on what is demanded, or on one file beside it.
    fn judged(folder: &str, name: Name, result: &str, whole: bool) -> Option<String> {
        let root = scratch(folder);
        for file in [
            "crates/delegation/src/a.rs",
            "crates/chain/src/a.rs",
            "crates/custody/src/a.rs",
            "contracts/artifacts/a.json",
            "tests/e2e/soak.rs",
            "tests/mutants/one.patch",
            "fuzz/fuzz_targets/terms.rs",
            "README.md",
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        let demands = name.demands().iter().map(|path| (*path).to_owned()).collect();
        let paths: Vec<String> = if whole { demands } else { vec!["README.md".to_owned()] };
        record(&root, name, &paths, result).unwrap();
        let found = hollow(&root, name).unwrap();
        fs::remove_dir_all(root).unwrap();
        found
    }

    #[test]
    fn a_patch_that_waits_is_pending_and_any_other_must_be_killed() {
        let root = scratch("longrun-pending");
        fs::create_dir_all(root.join("tests/mutants")).unwrap();
        fs::create_dir_all(root.join(FOLDER)).unwrap();
        for name in ["killed", "waits"] {
            fs::write(root.join(format!("tests/mutants/{name}.patch")), "text").unwrap();
        }
        let rows =
            r#"{"ok":true,"mutants":[{"patch":"killed.patch","noticed_by":["forge A::b"]}]}"#;
        let paths = ["tests/mutants".to_owned()];
        record(&root, Name::Mutants, &paths, rows).unwrap();
        assert!(hollow(&root, Name::Mutants).unwrap().unwrap().contains("mutant waits"));

        fs::write(root.join(FOLDER).join("mutants-pending.txt"), "waits.patch\n").unwrap();
        assert_eq!(hollow(&root, Name::Mutants).unwrap(), None);
        // What changes after the run is stale all the same.
        fs::write(root.join("tests/mutants/waits.patch"), "other").unwrap();
        assert!(matches!(check(&root, Name::Mutants).unwrap(), Record::Stale(..)));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_record_that_leaves_its_sources_out_shows_nothing() {
        let soak = r#"{"ok":true,"seconds":60,"allowed":1,"refused":1}"#;

        assert_eq!(judged("longrun-whole", Name::Soak, soak, true), None);
        let found = judged("longrun-partly", Name::Soak, soak, false).unwrap();
        assert!(found.contains("does not depend on"), "{found}");
    }

    /// One file of a folder does not stand for it.
    #[test]
    fn a_file_does_not_stand_for_its_folder() {
        let root = scratch("longrun-file");
        for file in ["crates/chain/src/a.rs", "crates/chain/src/b.rs"] {
            fs::create_dir_all(root.join("crates/chain/src")).unwrap();
            fs::write(root.join(file), "text").unwrap();
        }
        let result = r#"{"ok":true,"seconds":60,"allowed":1,"refused":1}"#;
        record(&root, Name::Soak, &["crates/chain/src/a.rs".to_owned()], result).unwrap();

        assert!(hollow(&root, Name::Soak).unwrap().unwrap().contains("does not depend on"));
        fs::remove_dir_all(root).unwrap();
    }

    /// The command itself, not only its parts: all three runs are looked at, for staleness and for
    /// substance.
    #[test]
    fn the_check_looks_at_every_run_and_at_what_it_is_worth() {
        for name in ALL {
            let root = recorded(&format!("longrun-command-{}", name.as_str()));
            let mut out = Vec::new();

            let fine = run(&root, Action::Check, &mut out).unwrap();

            let said = String::from_utf8(out).unwrap();
            assert!(!fine);
            assert!(said.contains(&format!("{}.json does not depend on", name.as_str())), "{said}");
            fs::remove_dir_all(root).unwrap();
        }
    }

    #[test]
    fn a_run_too_short_or_without_substance_shows_nothing() {
        for (name, good, hollow) in [
            (
                Name::Soak,
                r#"{"ok":true,"seconds":60,"allowed":1,"refused":1}"#,
                r#"{"ok":true,"seconds":59,"allowed":1,"refused":1}"#,
            ),
            (
                Name::Fuzz,
                r#"{"ok":true,"targets":[{"target":"terms","seconds":60,"execs":5000,"crashes":0}]}"#,
                r#"{"ok":true,"targets":[]}"#,
            ),
            (
                Name::Fuzz,
                r#"{"ok":true,"targets":[{"target":"terms","seconds":75,"execs":5000,"crashes":0}]}"#,
                r#"{"ok":true,"targets":[{"target":"terms","seconds":75,"execs":5000,"crashes":1}]}"#,
            ),
            (
                Name::Fuzz,
                r#"{"ok":true,"targets":[{"target":"terms","seconds":75,"execs":5000,"crashes":0}]}"#,
                r#"{"ok":true,"targets":[{"target":"terms","seconds":75,"execs":0,"crashes":0}]}"#,
            ),
            (
                Name::Soak,
                r#"{"ok":true,"seconds":60,"allowed":1,"refused":1}"#,
                r#"{"ok":true,"seconds":60,"allowed":1,"refused":0}"#,
            ),
            (
                Name::Mutants,
                r#"{"ok":true,"mutants":[{"patch":"one.patch","noticed_by":["forge A::b"]}]}"#,
                r#"{"ok":true,"mutants":[]}"#,
            ),
        ] {
            assert_eq!(judged("longrun-good", name, good, true), None, "{name:?}");
            assert!(judged("longrun-hollow", name, hollow, true).is_some(), "{name:?}");
        }
    }

    #[test]
    fn a_fresh_record_passes_and_keeps_its_result() {
        let root = recorded("longrun-fresh");

        assert_eq!(said(&root), (true, String::new()));
        let text = fs::read_to_string(root.join("testdata/longruns/fuzz.json")).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["runs"], 5);
        assert_eq!(value["sources"]["paths"][0], "src");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_changed_a_new_and_a_removed_source_are_each_named() {
        let root = recorded("longrun-stale");
        fs::write(root.join("src/a.rs"), "other").unwrap();
        fs::remove_file(root.join("src/b.rs")).unwrap();
        fs::write(root.join("src/c.rs"), "three").unwrap();

        let (fine, said) = said(&root);

        assert!(!fine);
        assert!(
            said.contains("soak.json is of older sources, 3 files changed since; run `make soak`"),
            "{said}"
        );
        assert!(said.contains("src/a.rs changed, src/c.rs is new, src/b.rs is gone"), "{said}");
        fs::remove_dir_all(root).unwrap();
    }

    /// What is old is said and holds nobody up; what was edited does.
    #[test]
    fn an_old_record_is_a_notice_and_an_edited_one_a_fault() {
        let root = recorded("longrun-old");
        fs::write(root.join("src/a.rs"), "other").unwrap();
        let mut out = Vec::new();

        let fine = run(&root, Action::Check, &mut out).unwrap();

        let said = String::from_utf8(out).unwrap();
        assert!(fine, "{said}");
        assert_eq!(said.matches("notice: ").count(), ALL.len(), "{said}");
        fs::write(root.join("src/a.rs"), "one").unwrap();
        let file = root.join("testdata/longruns/soak.json");
        let mut record: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        record["sources"]["sha256"] = "00".into();
        fs::write(&file, record.to_string()).unwrap();
        assert!(
            matches!(check(&root, Name::Soak).unwrap(), Record::Broken(why) if why.contains("edited"))
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_missing_record_fails() {
        let root = recorded("longrun-missing");
        fs::remove_file(root.join("testdata/longruns/mutants.json")).unwrap();

        let (fine, said) = said(&root);

        assert!(!fine);
        assert!(
            said.contains("testdata/longruns/mutants.json is missing; run `make mutants`"),
            "{said}"
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_run_that_failed_is_neither_recorded_nor_accepted() {
        let root = recorded("longrun-failed");
        assert!(record(&root, Name::Soak, &["src".to_owned()], r#"{"ok": false}"#).is_err());
        assert!(record(&root, Name::Soak, &["src".to_owned()], "{}").is_err());

        let file = root.join("testdata/longruns/soak.json");
        let text = fs::read_to_string(&file).unwrap().replace("\"ok\": true", "\"ok\": false");
        fs::write(&file, text).unwrap();

        assert!(said(&root).1.contains("records a run that did not pass"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_record_without_sources_is_refused() {
        let root = recorded("longrun-empty");

        assert!(record(&root, Name::Fuzz, &["nowhere".to_owned()], r#"{"ok": true}"#).is_err());
        fs::remove_dir_all(root).unwrap();
    }
}
