//! Small mistakes, made on purpose and by rule in every line of the contracts: the tests must notice each.
//!
//! The hand-written patches of `mutants` take out the defences that somebody thought of; these stand for
//! the ones nobody did. A mutant is one edit of one file: a guard dropped or turned round, a boundary
//! moved, a key of a mapping dropped or swapped, arithmetic or a constant changed, a check or a step not called,
//! `and` for `or`. The source is read as tokens, so comments and texts are left alone.
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
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::mutants;
use crate::reports::{self, Outcome, Outcomes};
use crate::sources;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    GuardDropped,
    GuardNegated,
    Boundary,
    Key,
    Arithmetic,
    Constant,
    CheckOmitted,
    StepOmitted,
    Logic,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::GuardDropped => "guard dropped",
            Self::GuardNegated => "guard negated",
            Self::Boundary => "boundary",
            Self::Key => "key",
            Self::Arithmetic => "arithmetic",
            Self::Constant => "constant",
            Self::CheckOmitted => "check omitted",
            Self::StepOmitted => "step omitted",
            Self::Logic => "logic",
        }
    }
}

/// One edit of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mutant {
    file: String,
    /// First line of the edit, from one.
    line: usize,
    kind: Kind,
    range: Range<usize>,
    replacement: String,
    /// The lines it touches, before and after, on one line each.
    before: String,
    after: String,
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
    let fresh = |record: &Record, file: &str| {
        record.get(file).is_some_and(|shown| hashes.get(file) == Some(&shown.sha256))
    };
    record.retain(|file, _| hashes.contains_key(file));
    let files: BTreeSet<_> = chosen.iter().map(|mutant| mutant.file.as_str()).collect();
    for file in files {
        let Some(sha256) = hashes.get(file) else { continue };
        let mut left: Vec<_> = chosen.iter().filter(|mutant| mutant.file == file).collect();
        let mut shown = Shown { sha256: sha256.clone(), ..Shown::default() };
        if fresh(&record, file) {
            shown = record.get(file).cloned().unwrap_or_default();
            let newer: Vec<_> =
                left.iter().copied().filter(|mutant| mutant.kind == Kind::StepOmitted).collect();
            // Steps came later: a file of which the rest was shown goes on with them.
            if shown.all() == left.len() {
                continue;
            } else if shown.all() + newer.len() == left.len() {
                left = newer;
            } else {
                shown = Shown { sha256: sha256.clone(), ..Shown::default() };
            }
        }
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
    // What has a reason has been through all of it once.
    if !excused || stages.is_empty() {
        stages.extend([(whole.clone(), true), (whole, false)]);
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

// Generating

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Number,
    Text,
    Sign,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Token<'a> {
    class: Class,
    text: &'a str,
    range: Range<usize>,
}

/// Longest first, so that `>=` is never read as `>` and `=`.
const SIGNS: &[&str] = &[
    ">>>=", ">>>", "<<=", ">>=", "**", "=>", "==", "!=", "<=", ">=", "&&", "||", "++", "--", "+=",
    "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<", ">>",
];

/// Words, numbers, texts and signs; comments and blanks are left out.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(' ');
        let (class, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if rest.starts_with("//") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if first == '"' || first == '\'' {
            (Some(Class::Text), quoted(rest, first))
        } else if first.is_ascii_digit() {
            let more = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            (Some(Class::Number), rest.find(|c| !more(c)).unwrap_or(rest.len()))
        } else if first.is_alphabetic() || first == '_' || first == '$' {
            let more = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
            (Some(Class::Word), rest.find(|c| !more(c)).unwrap_or(rest.len()))
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (Some(Class::Sign), sign.map_or(first.len_utf8(), |sign| sign.len()))
        };
        if let (Some(class), Some(text)) = (class, rest.get(..length)) {
            found.push(Token { class, text, range: at..at + length });
        }
        at += length.max(1);
    }
    found
}

fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !escaped {
            return at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    rest.len()
}

/// Every mutant of one file, in the order of the text.
fn generate(file: &str, text: &str) -> Vec<Mutant> {
    let tokens = tokens(text);
    let maker = Maker { file, text, tokens: &tokens };
    let mut made = Vec::new();
    for at in 0..tokens.len() {
        if maker.is_declaration(at) {
            continue;
        }
        maker.guard(at, &mut made);
        maker.check(at, &mut made);
        maker.sign(at, &mut made);
        maker.constant(at, &mut made);
        maker.key(at, &mut made);
    }
    made.sort_by(|a, b| {
        (a.range.start, a.range.end, &a.replacement).cmp(&(
            b.range.start,
            b.range.end,
            &b.replacement,
        ))
    });
    made
}

struct Maker<'a> {
    file: &'a str,
    text: &'a str,
    tokens: &'a [Token<'a>],
}

impl<'a> Maker<'a> {
    fn text_at(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |at| self.text_at(at))
    }

    fn make(&self, kind: Kind, range: Range<usize>, replacement: &str) -> Mutant {
        let start = self.text.get(..range.start).and_then(|head| head.rfind('\n'));
        let start = start.map_or(0, |at| at + 1);
        let end = self.text.get(range.end..).and_then(|tail| tail.find('\n'));
        let end = end.map_or(self.text.len(), |at| range.end + at);
        let part = |from: usize, to: usize| self.text.get(from..to).unwrap_or_default();
        let after = [part(start, range.start), replacement, part(range.end, end)].concat();
        Mutant {
            file: self.file.to_owned(),
            line: part(0, range.start).matches('\n').count() + 1,
            kind,
            replacement: replacement.to_owned(),
            before: squeezed(part(start, end)),
            after: squeezed(&after),
            range,
        }
    }

    /// In a pragma, an import or the declaration of an error or event: nothing there runs.
    fn is_declaration(&self, at: usize) -> bool {
        let start = (0..at).rev().find(|&at| matches!(self.text_at(at), ";" | "}" | "{"));
        let first = self.text_at(start.map_or(0, |at| at + 1));
        matches!(first, "pragma" | "import" | "error" | "event" | "using" | "type")
            || self.is_inside_import(at)
    }

    /// `import { A, B } from` has braces of its own.
    fn is_inside_import(&self, at: usize) -> bool {
        let start = (0..at).rev().find(|&at| self.text_at(at) == ";").map_or(0, |at| at + 1);
        self.text_at(start) == "import"
    }

    /// The token that closes the bracket at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.text_at(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(at);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn range(&self, from: usize, to: usize) -> Option<Range<usize>> {
        Some(self.tokens.get(from)?.range.start..self.tokens.get(to)?.range.end)
    }

    /// `if (condition) revert …;`, with or without braces.
    fn guard(&self, at: usize, made: &mut Vec<Mutant>) {
        let mut find = || -> Option<()> {
            if self.text_at(at) != "if" {
                return None;
            }
            let close = self.closing(at + 1)?;
            let end = if self.text_at(close + 1) == "revert" {
                (close..self.tokens.len()).find(|&at| self.text_at(at) == ";")?
            } else if self.text_at(close + 1) == "{" && self.text_at(close + 2) == "revert" {
                self.closing(close + 1)?
            } else {
                return None;
            };
            made.push(self.make(Kind::GuardDropped, self.range(at, end)?, "{}"));
            let condition = self.range(at + 2, close.checked_sub(1)?)?;
            let negated = format!("!({})", self.text.get(condition.clone())?);
            made.push(self.make(Kind::GuardNegated, condition, &negated));
            Some(())
        };
        find();
    }

    /// A statement that only checks, or a modifier that does.
    fn check(&self, at: usize, made: &mut Vec<Mutant>) {
        let name = self.text_at(at);
        if self.text_at(at + 1) != "(" {
            return;
        }
        let Some(close) = self.closing(at + 1) else { return };
        let bare = name.trim_start_matches('_');
        let kind = if bare.starts_with("require") || bare.starts_with("check") {
            Some(Kind::CheckOmitted)
        } else {
            // A step of its own: `_count(…);`.
            name.starts_with('_').then_some(Kind::StepOmitted)
        };
        if let Some(kind) = kind
            && self.text_at(close + 1) == ";"
        {
            let mut start = at;
            while self.before(start) == "." && start >= 2 {
                start -= 2;
            }
            let starts = matches!(self.before(start), ";" | "{" | "}" | ")" | "else");
            if let (true, Some(range)) = (starts, self.range(start, close + 1)) {
                made.push(self.make(kind, range, "{}"));
            }
        }
        if name.starts_with("only")
            && !matches!(self.before(at), "modifier" | "function")
            && let Some(range) = self.range(at, close)
        {
            made.push(self.make(Kind::CheckOmitted, range, ""));
        }
    }

    fn sign(&self, at: usize, made: &mut Vec<Mutant>) {
        let Some(token) = self.tokens.get(at).filter(|token| token.class == Class::Sign) else {
            return;
        };
        let (kind, replacement) = match token.text {
            "<" => (Kind::Boundary, "<="),
            "<=" => (Kind::Boundary, "<"),
            ">" => (Kind::Boundary, ">="),
            ">=" => (Kind::Boundary, ">"),
            "&&" => (Kind::Logic, "||"),
            "||" => (Kind::Logic, "&&"),
            "+" => (Kind::Arithmetic, "-"),
            "-" => (Kind::Arithmetic, "+"),
            "*" => (Kind::Arithmetic, "/"),
            "/" => (Kind::Arithmetic, "*"),
            "+=" => (Kind::Arithmetic, "-="),
            "-=" => (Kind::Arithmetic, "+="),
            _ => return,
        };
        // A sign in front of a number has nothing on its left.
        let left = at.checked_sub(1).and_then(|at| self.tokens.get(at));
        let binary = left.is_some_and(|left| {
            (left.class != Class::Sign && left.text != "return") || matches!(left.text, ")" | "]")
        });
        if binary {
            made.push(self.make(kind, token.range.clone(), replacement));
        }
    }

    fn constant(&self, at: usize, made: &mut Vec<Mutant>) {
        let Some(token) = self.tokens.get(at).filter(|token| token.class == Class::Number) else {
            return;
        };
        let plain = token.text.replace('_', "");
        let Ok(value) = plain.parse::<u64>() else { return };
        let more = value.checked_add(1).map(|value| value.to_string());
        let less = value.checked_sub(1).map(|value| value.to_string());
        for replacement in [more, less].into_iter().flatten() {
            made.push(self.make(Kind::Constant, token.range.clone(), &replacement));
        }
    }

    /// An index of state: `_state[a][b]`.
    fn key(&self, at: usize, made: &mut Vec<Mutant>) {
        if self.text_at(at) != "[" {
            return;
        }
        let Some(close) = self.closing(at).filter(|&close| close > at + 1) else { return };
        let Some(content) = self.range(at + 1, close - 1) else { return };
        let Some(key) = self.text.get(content.clone()) else { return };
        if !self.is_state(at) {
            return;
        }
        let nobody = if key.contains("golemId") { "bytes32(0)" } else { "address(0)" };
        made.push(self.make(Kind::Key, content.clone(), nobody));
        // Its neighbour's place.
        let next = (self.text_at(close + 1) == "[").then(|| self.closing(close + 1)).flatten();
        let next = next.and_then(|end| self.range(close + 2, end - 1));
        if let Some(other) = next {
            let swapped = self.text.get(other.clone()).map(|other| format!("{other}][{key}"));
            if let Some(swapped) = swapped {
                made.push(self.make(Kind::Key, content.start..other.end, &swapped));
            }
        }
    }

    /// Whether what is indexed is state: its name starts with `_`, or it is a mapping at hand.
    fn is_state(&self, open: usize) -> bool {
        let mut at = open;
        while self.before(at) == "]" {
            let mut depth = 0_usize;
            let Some(start) = (0..at).rev().find(|&at| {
                match self.text_at(at) {
                    "]" => depth += 1,
                    "[" => depth -= 1,
                    _ => {}
                }
                depth == 0
            }) else {
                return false;
            };
            at = start;
        }
        let name = self.before(at);
        name.starts_with('_') || matches!(name, "nav" | "windows" | "checkpoints")
    }
}

fn apply(text: &str, mutant: &Mutant) -> String {
    let part = |range: Range<usize>| text.get(range).unwrap_or_default();
    let (start, end) = (mutant.range.start, mutant.range.end);
    [part(0..start), &mutant.replacement, part(end..text.len())].concat()
}

/// Runs of blanks as one, none at the ends.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Vec<(Kind, String)> {
        generate("a.sol", text).into_iter().map(|mutant| (mutant.kind, mutant.after)).collect()
    }

    fn of(kind: Kind, text: &str) -> Vec<String> {
        made(text).into_iter().filter(|(found, _)| *found == kind).map(|(_, after)| after).collect()
    }

    #[test]
    fn a_guard_is_dropped_and_negated_with_and_without_braces() {
        let short = "f() { if (a == b) revert No(a, b); g(); }";
        let long = "f() {\n  if (\n    a == b\n  ) {\n    revert No(a);\n  }\n}";

        assert_eq!(of(Kind::GuardDropped, short), ["f() { {} g(); }"]);
        assert_eq!(of(Kind::GuardNegated, short), ["f() { if (!(a == b)) revert No(a, b); g(); }"]);
        assert_eq!(of(Kind::GuardDropped, long), ["{}"]);
        assert_eq!(of(Kind::GuardNegated, long), ["!(a == b)"]);
    }

    #[test]
    fn an_if_that_only_branches_is_no_guard() {
        assert!(of(Kind::GuardDropped, "f() { if (a) return b; }").is_empty());
    }

    #[test]
    fn boundaries_move_and_shifts_and_arrows_stay() {
        assert_eq!(of(Kind::Boundary, "f() { x = a < b; }"), ["f() { x = a <= b; }"]);
        assert_eq!(of(Kind::Boundary, "f() { x = a >= b; }"), ["f() { x = a > b; }"]);
        assert!(of(Kind::Boundary, "f() { x = a << b; y >>= 1; }").is_empty());
        assert!(of(Kind::Boundary, "mapping(address => uint256) private x;").is_empty());
    }

    #[test]
    fn comments_texts_and_declarations_are_left_alone() {
        let text = "pragma solidity 0.8.30;\nimport {A, B} from \"./x < y.sol\";\n\
                    /// if (a) revert B(1);\n/* a + b */\ncontract C {\n  error E(uint256 a);\n\
                    // a && b\n  string s = \"1 + 1\";\n}";

        assert!(made(text).is_empty(), "{:?}", made(text));
    }

    #[test]
    fn keys_are_dropped_and_swapped_where_they_index_state() {
        let text = "f() { x = _windows[msg.sender][delegator][golemId]; }";

        assert_eq!(
            of(Kind::Key, text),
            [
                "f() { x = _windows[address(0)][delegator][golemId]; }",
                "f() { x = _windows[delegator][msg.sender][golemId]; }",
                "f() { x = _windows[msg.sender][address(0)][golemId]; }",
                "f() { x = _windows[msg.sender][golemId][delegator]; }",
                "f() { x = _windows[msg.sender][delegator][bytes32(0)]; }",
            ]
        );
        assert!(of(Kind::Key, "f() { x = actions[i]; }").is_empty());
    }

    #[test]
    fn checks_are_omitted_as_statements_and_as_modifiers() {
        assert_eq!(of(Kind::CheckOmitted, "f() { _requireX(a, g(b)); }"), ["f() { {} }"]);
        assert_eq!(of(Kind::CheckOmitted, "f() { Rule.check(a); h(); }"), ["f() { {} h(); }"]);
        assert_eq!(
            of(Kind::CheckOmitted, "f() { a; if (b) _checkKey(k); }"),
            ["f() { a; if (b) {} }"]
        );
        assert_eq!(
            of(Kind::CheckOmitted, "function f() public onlySingle(mode) {}"),
            ["function f() public {}"]
        );
        assert!(of(Kind::CheckOmitted, "modifier onlySingle(Mode mode) { _; }").is_empty());
        assert!(of(Kind::CheckOmitted, "function check(A a) internal { x; }").is_empty());
        assert!(of(Kind::CheckOmitted, "f() { x = required(a); }").is_empty());
        assert_eq!(of(Kind::StepOmitted, "f() { if (a) _count(b); }"), ["f() { if (a) {} }"]);
        assert!(of(Kind::StepOmitted, "f() { x = _count(b); return _sum(a); }").is_empty());
    }

    #[test]
    fn arithmetic_constants_and_logic_change() {
        assert_eq!(of(Kind::Arithmetic, "f() { x = a * b; }"), ["f() { x = a / b; }"]);
        assert_eq!(of(Kind::Arithmetic, "f() { x += b; }"), ["f() { x -= b; }"]);
        assert!(of(Kind::Arithmetic, "f() { x = -b; i++; return -c; }").is_empty());
        assert_eq!(of(Kind::Logic, "f() { x = a && b; }"), ["f() { x = a || b; }"]);
        assert_eq!(
            of(Kind::Constant, "uint256 private constant A = 10_000;"),
            ["uint256 private constant A = 10001;", "uint256 private constant A = 9999;"]
        );
        assert_eq!(of(Kind::Constant, "f() { x = 0; }"), ["f() { x = 1; }"]);
    }

    #[test]
    fn an_edit_changes_its_place_and_nothing_else() {
        let text = "a;\nf() { x = a && b; }\nc;";
        let mutant = generate("a.sol", text).remove(0);

        assert_eq!(mutant.line, 2);
        assert_eq!(apply(text, &mutant), "a;\nf() { x = a || b; }\nc;");
    }

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
