//! Small mistakes, made on purpose and by rule in every line of the contracts: the tests must notice each.
//!
//! The hand-written patches of `mutants` take out the defences that somebody thought of; these stand for
//! the ones nobody did. A mutant is one edit of one file: a guard dropped or turned round, a boundary
//! moved, a key of a mapping dropped or swapped, arithmetic or a constant changed, a check or a step not called,
//! `and` for `or` ([`mistakes`]).
//!
//! ```text
//! generate ──> sample ──> named tests ──> all tests, short ──> all tests ──> survivor
//!                             │                 │                  │            │
//!                             └──────── killed, or does not compile ┘     needs a reason
//! ```
//!
//! A mutant that changes nothing anybody could see gets a reason in testdata/longruns/generated-survivors.toml.
//!
//! All of them take an hour, so what was shown of a file is recorded with the file's hash, and `longruns` demands
//! every file as it is. It does not bind the tests: they are expected to grow.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::mutants;
use crate::reports::{self, Outcome, Outcomes};
use crate::sources;

mod mistakes;

use mistakes::{Kind, Mutant, apply, generate};

const FOLDERS: &[&str] = &[
    "contracts/src/enforcers",
    "contracts/src/identity",
    "contracts/src/lifecycle",
    "contracts/src/market",
    "contracts/src/policy",
    "contracts/src/registry",
    "contracts/src/rules",
];
const REASONS: &str = "testdata/longruns/generated-survivors.toml";
const TREE: &str = "target/generated-mutants/tree";
const RESULT: &str = "target/generated-mutants/result.json";
const RECORD: &str = "testdata/longruns/generated-mutants.json";
/// Files that nobody has judged yet, a line each: said aloud by every check, and each of them a contract.
const PENDING: &str = "testdata/longruns/generated-pending.txt";
/// What a record is of.
const RECORDED: &[Kind] = &[
    Kind::GuardDropped,
    Kind::GuardNegated,
    Kind::Boundary,
    Kind::Key,
    Kind::Arithmetic,
    Kind::CheckOmitted,
    Kind::StepOmitted,
];
/// Its tests are many files, named after what of it they look at.
const CHARTER: &str = "GolemCharterEnforcer";

/// Makes small mistakes in the contracts and demands that a test notices each.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Only files whose path contains one of these.
    #[arg(long, value_delimiter = ',')]
    files: Vec<String>,
    /// Only these kinds, by the beginning of their name: guard, boundary, key, arithmetic, constant, check, logic.
    #[arg(long, value_delimiter = ',')]
    kinds: Vec<String>,
    /// Only so many, drawn by the seed.
    #[arg(long)]
    sample: Option<usize>,
    /// What to draw by: the same seed draws the same mutants.
    #[arg(long, default_value = "0")]
    seed: String,
    /// Print the mutants and run nothing.
    #[arg(long)]
    list: bool,
    /// Run guards, boundaries, keys, arithmetic and checks of every file that changed since it was recorded, and
    /// record those in which none survived.
    #[arg(long, conflicts_with_all = ["kinds", "sample", "list"])]
    record: bool,
}

/// Why a survivor may live.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    file: String,
    /// The line as it is.
    line: String,
    /// The line as the mutant has it.
    mutation: String,
    reason: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reasons {
    #[serde(default)]
    survivor: Vec<Reason>,
}

/// What became of one file's mutants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Shown {
    sha256: String,
    killed: usize,
    /// Did not compile.
    invalid: usize,
    /// Survived, with a reason.
    excused: usize,
}

impl Shown {
    const fn all(&self) -> usize {
        self.killed + self.invalid + self.excused
    }
}

type Record = BTreeMap<String, Shown>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Killed,
    /// Does not compile: no mistake anybody could make.
    Invalid,
    Survived,
}

pub(crate) fn run(root: &Path, options: &Options, out: &mut dyn Write) -> Result<bool> {
    let all = generate_all(root)?;
    let reasons = read_reasons(root)?;
    let mut problems = stale(&reasons, &all);
    let chosen = choose(all, options);
    ensure!(!chosen.is_empty(), "no such mutant");
    if options.list {
        for mutant in &chosen {
            writeln!(out, "{}", described(mutant))?;
        }
        writeln!(out, "{} mutants", chosen.len())?;
        return crate::verdict(&problems, out);
    }

    let tree = root.join(TREE);
    mutants::sync(root, &tree)?;
    let failing = baseline(root, &tree)?;
    for name in &failing {
        writeln!(out, "without any mutant {name} fails: it is left out")?;
    }
    let judge = Judge { root, tree: &tree, failing: &failing, reasons: &reasons };
    if options.record {
        return record(&judge, &chosen, problems, out);
    }
    let started = Instant::now();
    let mut rows = Vec::new();
    for mutant in &chosen {
        rows.push(judge.run(mutant, &mut problems, out)?.1);
    }
    let count = u64::try_from(chosen.len()).context("count the mutants")?;
    let each = started.elapsed().as_secs() / count;
    let fine = crate::verdict(&problems, out)?;
    writeln!(out, "{count} mutants, {} problems, {each} s each", problems.len())?;
    let result = serde_json::to_string(&json!({ "ok": fine, "mutants": rows }))
        .context("write the result")?;
    fs::write(root.join(RESULT), result).with_context(|| format!("write {RESULT}"))?;
    Ok(fine)
}

/// What all mutants of a run are judged by.
struct Judge<'a> {
    root: &'a Path,
    tree: &'a Path,
    failing: &'a BTreeSet<String>,
    reasons: &'a [Reason],
}

impl Judge<'_> {
    fn run(
        &self,
        mutant: &Mutant,
        problems: &mut Vec<String>,
        out: &mut dyn Write,
    ) -> Result<(Fate, Value)> {
        let since = Instant::now();
        let reason = self.reasons.iter().find(|reason| reason.fits(mutant));
        let fate = judge(self.root, self.tree, mutant, self.failing, reason.is_some())?;
        let seconds = since.elapsed().as_secs();
        let word = match (fate, reason) {
            (Fate::Killed, _) => "killed",
            (Fate::Invalid, _) => "invalid",
            (Fate::Survived, Some(_)) => "excused",
            (Fate::Survived, None) => "SURVIVED",
        };
        writeln!(out, "{word:<9} {seconds:>4} s  {}", described(mutant))?;
        match (fate, reason) {
            (Fate::Survived, None) => {
                problems.push(format!("{} survived without a reason", described(mutant)));
            }
            (Fate::Killed, Some(_)) => {
                problems.push(format!("{} is killed; take its reason out", described(mutant)));
            }
            _ => {}
        }
        let row = json!({
            "file": mutant.file, "line": mutant.line, "kind": mutant.kind.name(),
            "before": mutant.before, "after": mutant.after, "fate": word, "seconds": seconds,
        });
        Ok((fate, row))
    }
}

// Recording

/// Judges file by file, and writes after each, so that a run that is ended goes on where it was.
fn record(
    judge: &Judge<'_>,
    chosen: &[Mutant],
    mut problems: Vec<String>,
    out: &mut dyn Write,
) -> Result<bool> {
    let hashes = hashes(judge.root)?;
    let mut record = read_record(judge.root)?;
    let whole = |record: &Record, file: &str| {
        let all = chosen.iter().filter(|mutant| mutant.file == file).count();
        record
            .get(file)
            .is_some_and(|shown| hashes.get(file) == Some(&shown.sha256) && shown.all() == all)
    };
    record.retain(|file, _| hashes.contains_key(file));
    let files: BTreeSet<_> = chosen.iter().map(|mutant| mutant.file.as_str()).collect();
    for file in files {
        let Some(sha256) = hashes.get(file).filter(|_| !whole(&record, file)) else { continue };
        let left: Vec<_> = chosen.iter().filter(|mutant| mutant.file == file).collect();
        let mut shown = Shown { sha256: sha256.clone(), ..Shown::default() };
        let before = problems.len();
        for mutant in left {
            match judge.run(mutant, &mut problems, out)?.0 {
                Fate::Killed => shown.killed += 1,
                Fate::Invalid => shown.invalid += 1,
                Fate::Survived => shown.excused += 1,
            }
        }
        if problems.len() == before {
            record.insert(file.to_owned(), shown);
            write_record(judge.root, &record)?;
        }
    }
    crate::verdict(&problems, out)
}

fn hashes(root: &Path) -> Result<BTreeMap<String, String>> {
    let folders: Vec<_> = FOLDERS.iter().map(|&folder| folder.to_owned()).collect();
    sources::hashes(root, &folders)
}

fn read_record(root: &Path) -> Result<Record> {
    let Ok(text) = fs::read_to_string(root.join(RECORD)) else { return Ok(Record::new()) };
    serde_json::from_str(&text).with_context(|| format!("parse {RECORD}"))
}

fn write_record(root: &Path, record: &Record) -> Result<()> {
    let mut text = serde_json::to_string_pretty(record).context("write the record")?;
    text.push('\n');
    fs::write(root.join(RECORD), text).with_context(|| format!("write {RECORD}"))
}

/// What the record does not show of the contracts as they are.
pub(crate) fn unrecorded(root: &Path) -> Result<Vec<String>> {
    let pending = pending(root);
    Ok(missing(&generate_all(root)?, &read_record(root)?, &hashes(root)?, &pending))
}

/// What is said to be not judged yet.
pub(crate) fn pending(root: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(root.join(PENDING)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn missing(
    all: &[Mutant],
    record: &Record,
    hashes: &BTreeMap<String, String>,
    pending: &BTreeSet<String>,
) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for mutant in all.iter().filter(|mutant| RECORDED.contains(&mutant.kind)) {
        *counts.entry(&mutant.file).or_default() += 1;
    }
    let shown = |file: &str, count: usize| {
        record
            .get(file)
            .is_some_and(|shown| hashes.get(file) == Some(&shown.sha256) && shown.all() == count)
    };
    let judged_after_all = counts
        .iter()
        .filter(|(file, count)| pending.contains(**file) && shown(file, **count))
        .map(|(file, _)| format!("{PENDING}: {file} is judged; take its line out"))
        .collect::<Vec<_>>();
    counts
        .iter()
        .filter(|(file, count)| !pending.contains(**file) && !shown(file, **count))
        .map(|(file, _)| {
            format!("{RECORD} does not show {file} as it is; run `make all-mutants` and commit it")
        })
        .chain(judged_after_all)
        .collect()
}

fn generate_all(root: &Path) -> Result<Vec<Mutant>> {
    let folders: Vec<_> = FOLDERS.iter().map(|&folder| folder.to_owned()).collect();
    let mut all = Vec::new();
    for file in sources::files(root, &folders)? {
        if file.ends_with(".sol") {
            let text =
                fs::read_to_string(root.join(&file)).with_context(|| format!("read {file}"))?;
            all.extend(generate(&file, &text));
        }
    }
    Ok(all)
}

/// Filters by file, then draws: mutants are ordered by a hash over the seed and their own words.
fn choose(all: Vec<Mutant>, options: &Options) -> Vec<Mutant> {
    let mut chosen: Vec<_> = all
        .into_iter()
        .filter(|mutant| {
            options.files.is_empty()
                || options.files.iter().any(|part| mutant.file.contains(part.as_str()))
        })
        .filter(|mutant| {
            options.kinds.is_empty()
                || options.kinds.iter().any(|kind| mutant.kind.name().starts_with(kind.as_str()))
        })
        .filter(|mutant| !options.record || RECORDED.contains(&mutant.kind))
        .collect();
    if let Some(count) = options.sample {
        chosen.sort_by_cached_key(|mutant| {
            sources::sha256(
                format!("{}\n{}\n{:?}", options.seed, described(mutant), mutant.range).as_bytes(),
            )
        });
        chosen.truncate(count);
        chosen.sort_by(|a, b| (&a.file, a.range.start).cmp(&(&b.file, b.range.start)));
    }
    chosen
}

fn described(mutant: &Mutant) -> String {
    let Mutant { file, line, kind, before, after, .. } = mutant;
    format!("{file}:{line} [{}] `{before}` => `{after}`", kind.name())
}

// Reasons

impl Reason {
    fn fits(&self, mutant: &Mutant) -> bool {
        self.file == mutant.file && self.line == mutant.before && self.mutation == mutant.after
    }
}

fn read_reasons(root: &Path) -> Result<Vec<Reason>> {
    let Ok(text) = fs::read_to_string(root.join(REASONS)) else { return Ok(Vec::new()) };
    parse_reasons(&text).with_context(|| format!("read {REASONS}"))
}

fn parse_reasons(text: &str) -> Result<Vec<Reason>> {
    let reasons: Reasons = toml::from_str(text).context("parse the survivors")?;
    for reason in &reasons.survivor {
        ensure!(
            !reason.reason.trim().is_empty(),
            "{}: `{}` has no reason",
            reason.file,
            reason.line
        );
    }
    Ok(reasons.survivor)
}

/// Reasons for mutants that are not made any more.
fn stale(reasons: &[Reason], all: &[Mutant]) -> Vec<String> {
    reasons
        .iter()
        .filter(|reason| !all.iter().any(|mutant| reason.fits(mutant)))
        .map(|reason| {
            format!("{REASONS}: no mutant makes `{}` of {}", reason.mutation, reason.file)
        })
        .collect()
}

// Running

/// Tests that fail without any mutant; they can notice nothing.
fn baseline(root: &Path, tree: &Path) -> Result<BTreeSet<String>> {
    let output = forge(root, tree, &[], false)?;
    let outcomes = outcomes(&output)
        .with_context(|| format!("the tests do not run without any mutant:\n{}", said(&output)))?;
    Ok(failures(&outcomes))
}

fn judge(
    root: &Path,
    tree: &Path,
    mutant: &Mutant,
    failing: &BTreeSet<String>,
    excused: bool,
) -> Result<Fate> {
    let path = tree.join(&mutant.file);
    let clean = fs::read_to_string(root.join(&mutant.file))
        .with_context(|| format!("read {}", mutant.file))?;
    fs::write(&path, apply(&clean, mutant)).with_context(|| format!("write {}", mutant.file))?;
    let fate = judge_applied(root, tree, mutant, failing, excused);
    fs::write(&path, clean).with_context(|| format!("restore {}", mutant.file))?;
    fate
}

fn judge_applied(
    root: &Path,
    tree: &Path,
    mutant: &Mutant,
    failing: &BTreeSet<String>,
    excused: bool,
) -> Result<Fate> {
    let stem = stem(&mutant.file);
    let mut stages: Vec<(Vec<String>, bool)> = Vec::new();
    let subject = if stem == CHARTER { "GolemCharter" } else { stem };
    // The test of that very name first, alone: the less is compiled, the better, and most end there.
    for pattern in [format!("{stem}.t.sol"), format!("*{subject}*.t.sol")] {
        let (named, others) = tests_of(tree, &pattern)?;
        if !named {
            continue;
        }
        // No filter on names: for one, forge compiles everything once more to see what it matches. So those that
        // fail anyway run too, and the first failure must not be the last.
        let mut arguments = Vec::new();
        for file in others {
            arguments.extend(["--skip".to_owned(), file]);
        }
        // Tests deploy it from forge's output: those of others do without, and it takes long to compile.
        if stem != CHARTER {
            arguments.extend(["--skip".to_owned(), format!("{CHARTER}.sol")]);
        }
        stages.push((arguments, true));
    }
    let mut whole = vec!["--fail-fast".to_owned()];
    if !failing.is_empty() {
        let names: Vec<_> = failing.iter().map(|name| test_of(name)).collect();
        let pattern = format!("^({})(\\(|$)", names.join("|"));
        whole.extend(["--no-match-test".to_owned(), pattern]);
    }
    // A reason is held against every test, with few runs of the fuzzed ones; a survivor without one against all.
    stages.push((whole.clone(), true));
    if !excused {
        stages.push((whole, false));
    }
    for (arguments, short) in stages {
        let output = forge(root, tree, &arguments, short)?;
        let Some(outcomes) = outcomes(&output) else { return Ok(Fate::Invalid) };
        if failures(&outcomes).iter().any(|name| !failing.contains(name)) {
            return Ok(Fate::Killed);
        }
    }
    Ok(Fate::Survived)
}

fn forge(root: &Path, tree: &Path, arguments: &[String], short: bool) -> Result<Output> {
    let forge = root.join("node_modules/@foundry-rs/forge-linux-amd64/bin/forge");
    let mut command = Command::new(forge);
    command
        .args(["test", "--json"])
        .args(arguments)
        .envs(mutants::FORGE)
        .current_dir(tree.join("contracts"));
    if short {
        command.env("FOUNDRY_FUZZ_RUNS", "48").env("FOUNDRY_INVARIANT_RUNS", "8");
    }
    command.output().context("start forge; run `make setup` first")
}

/// What the tests did; nothing where it did not compile.
fn outcomes(output: &Output) -> Option<Outcomes> {
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find('{')?;
    reports::forge(text.get(start..)?).ok()
}

fn failures(outcomes: &Outcomes) -> BTreeSet<String> {
    outcomes
        .iter()
        .filter(|(_, outcome)| **outcome == Outcome::Failed)
        .map(|(name, _)| name.clone())
        .collect()
}

/// `forge Contract::test` → `test`.
fn test_of(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".sol").unwrap_or(name)
}

/// Whether some test file is called so, and the names of those that are not.
fn tests_of(tree: &Path, pattern: &str) -> Result<(bool, Vec<String>)> {
    let files = sources::files(tree, &["contracts/test".to_owned()])?;
    let names = files.iter().filter_map(|file| file.rsplit('/').next());
    let (named, others): (Vec<_>, Vec<_>) =
        names.filter(|name| name.ends_with(".t.sol")).partition(|name| fits(pattern, name));
    Ok((!named.is_empty(), others.into_iter().map(str::to_owned).collect()))
}

/// A name, with anything for a star at either side of its stem.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*').and_then(|rest| rest.strip_suffix("*.t.sol")) {
        Some(part) => stem(name).contains(part),
        None => name == pattern,
    }
}

fn said(output: &Output) -> String {
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let lines: Vec<_> = text.lines().collect();
    lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same_mutants() {
        let all = generate("a.sol", "f() { x = a < b && c < d || e + f > g; }");
        let options = |seed: &str| Options {
            kinds: vec![],
            files: Vec::new(),
            sample: Some(3),
            seed: seed.to_owned(),
            list: false,
            record: false,
        };

        assert_eq!(choose(all.clone(), &options("1")), choose(all.clone(), &options("1")));
        let drawn: BTreeSet<_> = (0..8)
            .map(|seed| format!("{:?}", choose(all.clone(), &options(&seed.to_string()))))
            .collect();
        assert!(drawn.len() > 1);
    }

    #[test]
    fn a_record_shows_a_file_as_it_is_and_all_of_its_mutants() {
        let all = generate("a.sol", "f() { if (a < 5) revert B(); x = a + b; }");
        let count = all.iter().filter(|mutant| RECORDED.contains(&mutant.kind)).count();
        assert!(count < all.len(), "constants are not recorded");
        let hashes = BTreeMap::from([("a.sol".to_owned(), "1".to_owned())]);
        let shown = |sha256: &str, killed: usize| {
            let shown = Shown { sha256: sha256.to_owned(), killed, invalid: 1, excused: 0 };
            Record::from([("a.sol".to_owned(), shown)])
        };

        let (none, this) = (BTreeSet::new(), BTreeSet::from(["a.sol".to_owned()]));
        assert!(missing(&all, &shown("1", count - 1), &hashes, &none).is_empty());
        assert_eq!(missing(&all, &shown("2", count - 1), &hashes, &none).len(), 1);
        assert_eq!(missing(&all, &shown("1", count - 2), &hashes, &none).len(), 1);
        assert_eq!(missing(&all, &Record::new(), &hashes, &none).len(), 1, "never recorded");
        assert!(missing(&all, &Record::new(), &hashes, &this).is_empty(), "said to be pending");
        assert_eq!(missing(&all, &shown("1", count - 1), &hashes, &this).len(), 1, "and is not");
    }

    #[test]
    fn a_reason_fits_one_mutant_is_not_empty_and_does_not_outlive_it() {
        let text = |reason: &str| {
            format!(
                "[[survivor]]\nfile = \"a.sol\"\nline = \"x = a && b;\"\n\
                 mutation = \"x = a || b;\"\nreason = \"{reason}\"\n"
            )
        };
        let reasons = parse_reasons(&text("a is b")).unwrap();
        let all = generate("a.sol", "x = a && b;\ny = a && b;");

        assert_eq!(all.iter().filter(|mutant| reasons[0].fits(mutant)).count(), 1);
        assert!(stale(&reasons, &all).is_empty());
        assert_eq!(stale(&reasons, &generate("b.sol", "x = a && b;")).len(), 1);
        assert!(parse_reasons(&text(" ")).is_err());
    }

    #[test]
    fn tests_that_bear_the_name_are_tried_first_and_alone() {
        let root = sources::scratch("named");
        for name in ["Rule.t.sol", "RuleDevchain.t.sol", "Other.t.sol", "RuleTest.sol"] {
            fs::create_dir_all(root.join("contracts/test/rules")).unwrap();
            fs::write(root.join("contracts/test/rules").join(name), name).unwrap();
        }

        let others = vec!["Other.t.sol".to_owned()];
        assert_eq!(tests_of(&root, "*Rule*.t.sol").unwrap(), (true, others));
        let others = vec!["Other.t.sol".to_owned(), "RuleDevchain.t.sol".to_owned()];
        assert_eq!(tests_of(&root, "Rule.t.sol").unwrap(), (true, others));
        assert!(!tests_of(&root, "*Absent*.t.sol").unwrap().0);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_failing_test_is_found_after_whatever_the_compiler_said() {
        let output = Output {
            status: std::process::ExitStatus::default(),
            stdout: br#"Compiling
{"t.sol:T":{"test_results":{"test_x()":{"status":"Failure"},"test_y()":{"status":"Success"}}}}"#
                .to_vec(),
            stderr: Vec::new(),
        };

        let names = failures(&outcomes(&output).unwrap());

        assert_eq!(names.iter().map(|name| test_of(name)).collect::<Vec<_>>(), ["test_x"]);
    }
}
