//! Takes each defence out in turn and demands that its test notices.
//!
//! A patch in tests/mutants starts with lines such as
//!
//! ```text
//! # ATK-12: the rule no longer refuses batch mode
//! # expect-fail: forge MortalityTimeWindowEnforcerTest::test_refusesBatchMode
//! # expect-fail: nextest golem-custody a_refused_redemption_is_never_cleared
//! ```
//!
//! followed by a unified diff. Each named test must pass on the clean tree and fail on the patched one by
//! its own failing: a patch that does not apply or does not compile proves nothing.
//!
//! Tests that use the local chain load our contracts from its dumped state, which a mutant does not
//! rebuild. A patch of Solidity therefore names a forge test that deploys from source.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use walkdir::WalkDir;

use crate::longrun::{self, Name};
use crate::reports::{self, Outcome};
use crate::sources;

const FOLDER: &str = "tests/mutants";
const TREE: &str = "target/mutants/tree";
const RESULT: &str = "target/mutants/result.json";
/// What was shown of each patch, by what it was shown on: a run that is ended goes on where it was. What was recorded
/// on the same patch, code and tests counts as well, so that a fresh clone runs only what has changed.
const SHOWN: &str = "target/mutants/shown.json";
const RECORD: &str = "testdata/longruns/mutants.json";
/// Patches that no run had time for since their sources changed. They are said by every check, and judged by the next run.
const PENDING: &str = "testdata/longruns/mutants-pending.txt";
/// How forge compiles a mutant: as fast as it can, and code without its guard may well have an unused argument.
pub(crate) const FORGE: [(&str, &str); 3] = [
    ("FOUNDRY_PROFILE", "mutants"),
    ("FOUNDRY_DENY", "never"),
    ("FOUNDRY_LINT_LINT_ON_BUILD", "false"),
];
/// nextest's own exit codes: some test failed; nothing to run.
const NEXTEST_FAILED: i32 = 100;
const NEXTEST_NO_TESTS: i32 = 4;

/// A test that must notice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Expectation {
    Forge { contract: String, test: String },
    Nextest { package: String, filter: String },
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Forge { contract, test } => write!(f, "forge {contract}::{test}"),
            Self::Nextest { package, filter } => write!(f, "nextest {package} {filter}"),
        }
    }
}

#[derive(Debug)]
struct Mutant {
    /// File name of the patch.
    name: String,
    /// Rows and what is taken out, as written.
    removes: Vec<(String, String)>,
    expectations: Vec<Expectation>,
    /// Files the patch touches.
    touches: BTreeSet<String>,
}

/// What a test did in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Run {
    Passed,
    Failed,
    /// Did not compile, or no such test: proves nothing either way.
    Unproven(String),
}

/// Patches that are not judged yet on the sources as they are.
pub(crate) fn pending(root: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(root.join(PENDING)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Judges every patch that was not judged on the same sources before; those that there is no time for after
/// `MUTANTS_SECONDS`, where that is set, are written down as pending.
pub(crate) fn run(root: &Path, only: Option<&str>, out: &mut dyn Write) -> Result<bool> {
    let began = Instant::now();
    let most = std::env::var("MUTANTS_SECONDS").ok().and_then(|text| text.parse().ok());
    let most: Option<Duration> = most.map(Duration::from_secs);
    let mutants: Vec<_> = read(root)?
        .into_iter()
        .filter(|mutant| only.is_none_or(|part| mutant.name.contains(part)))
        .collect();
    ensure!(!mutants.is_empty(), "{FOLDER} holds no such patch");
    let tree = root.join(TREE);
    sync(root, &tree)?;

    let mut problems = Vec::new();
    let mut shown = shown(root);
    let workspace = Workspace::read(root)?;
    let keys = mutants.iter().map(|mutant| key(&workspace, mutant)).collect::<Result<Vec<_>>>()?;
    let is_left = |(mutant, key): &(&Mutant, &String)| shown.get(&mutant.name) != Some(*key);
    let left: BTreeSet<_> =
        mutants.iter().zip(&keys).filter(is_left).map(|(mutant, _)| mutant.name.clone()).collect();
    let in_time = most.is_none_or(|most| began.elapsed() < most);
    let all: BTreeSet<_> = mutants
        .iter()
        .filter(|mutant| in_time && left.contains(&mutant.name))
        .flat_map(|mutant| &mutant.expectations)
        .collect();
    let all: Vec<_> = all.into_iter().cloned().collect();
    for (expectation, run) in observe_clean(root, &tree, &all)? {
        match run {
            Run::Passed => {}
            Run::Failed => problems.push(format!("{expectation} fails without any mutant")),
            Run::Unproven(why) => problems.push(format!("{expectation} without any mutant: {why}")),
        }
    }
    if !crate::verdict(&problems, out)? {
        return Ok(false);
    }

    let (mut rows, mut waiting) = (Vec::new(), Vec::new());
    for (mutant, key) in mutants.iter().zip(&keys) {
        if left.contains(&mutant.name) && most.is_some_and(|most| began.elapsed() >= most) {
            waiting.push(mutant.name.clone());
            continue;
        }
        rows.push(json!({
            "patch": mutant.name,
            "removes": mutant.removes.iter().map(|(id, what)| json!({ "id": id, "what": what })).collect::<Vec<_>>(),
            "noticed_by": mutant.expectations.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "shown_on": key,
        }));
        if !left.contains(&mutant.name) {
            writeln!(out, "killed before {}", mutant.name)?;
            continue;
        }
        let before = problems.len();
        sync(root, &tree)?;
        apply(root, &tree, &mutant.name)?;
        for (expectation, seen) in observe(root, &tree, &mutant.expectations)? {
            let word = match &seen {
                Run::Failed => "killed",
                Run::Passed => "SURVIVED",
                Run::Unproven(_) => "UNPROVEN",
            };
            writeln!(out, "{word:<9} {:<44} {expectation}", mutant.name)?;
            match seen {
                Run::Failed => {}
                Run::Passed => {
                    problems.push(format!("{}: {expectation} did not notice", mutant.name))
                }
                Run::Unproven(why) => {
                    problems.push(format!("{}: {expectation}: {why}", mutant.name))
                }
            }
        }
        if problems.len() == before {
            shown.insert(mutant.name.clone(), key.clone());
            let text = serde_json::to_string(&shown).context("write what was shown")?;
            fs::write(root.join(SHOWN), text).with_context(|| format!("write {SHOWN}"))?;
        }
    }
    sync(root, &tree)?;
    let fine = crate::verdict(&problems, out)?;
    writeln!(
        out,
        "{} mutants, {} problems, {} pending",
        mutants.len(),
        problems.len(),
        waiting.len()
    )?;

    let result = serde_json::to_string(&json!({ "ok": fine, "mutants": rows }))
        .context("write the result")?;
    fs::write(root.join(RESULT), &result).with_context(|| format!("write {RESULT}"))?;
    if fine && only.is_none() {
        longrun::record(root, Name::Mutants, &workspace.depends_on(&mutants)?, &result)?;
        let waiting: String = waiting.iter().map(|name| format!("{name}\n")).collect();
        fs::write(root.join(PENDING), waiting).with_context(|| format!("write {PENDING}"))?;
        writeln!(out, "recorded testdata/longruns/mutants.json; commit it")?;
    }
    Ok(fine)
}

/// By the name of each patch, on what it was shown.
fn shown(root: &Path) -> BTreeMap<String, String> {
    let json = |file| fs::read_to_string(root.join(file)).ok();
    let recorded: Value =
        json(RECORD).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let rows = recorded.get("mutants").and_then(Value::as_array).into_iter().flatten();
    let word = |row: &Value, name: &str| row.get(name)?.as_str().map(ToOwned::to_owned);
    let mut shown: BTreeMap<String, String> =
        rows.filter_map(|row| Some((word(row, "patch")?, word(row, "shown_on")?))).collect();
    let begun: Option<BTreeMap<String, String>> =
        json(SHOWN).and_then(|text| serde_json::from_str(&text).ok());
    shown.extend(begun.into_iter().flatten());
    shown
}

/// The patch, what it touches and the tests that must notice.
fn key(workspace: &Workspace<'_>, mutant: &Mutant) -> Result<String> {
    let root = workspace.root;
    let patch = format!("{FOLDER}/{}", mutant.name);
    let mut paths = workspace.depends_on(std::slice::from_ref(mutant))?;
    paths.retain(|path| path != FOLDER);
    paths.push(patch);
    Ok(sources::digest(&sources::hashes(root, &paths)?))
}

fn read(root: &Path) -> Result<Vec<Mutant>> {
    let folder = root.join(FOLDER);
    let mut mutants = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("list {FOLDER}"))? {
        let name = entry
            .with_context(|| format!("list {FOLDER}"))?
            .file_name()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".patch") {
            let text =
                fs::read_to_string(folder.join(&name)).with_context(|| format!("read {name}"))?;
            mutants.push(parse(&name, &text).with_context(|| format!("read {FOLDER}/{name}"))?);
        }
    }
    mutants.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(mutants)
}

fn parse(name: &str, text: &str) -> Result<Mutant> {
    let mut removes = Vec::new();
    let mut expectations = Vec::new();
    for line in text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim) {
        match line.split_once(':').map(|(key, value)| (key.trim(), value.trim())) {
            Some(("expect-fail", value)) => expectations.push(expectation(value)?),
            Some((id, what)) if !id.contains(' ') && !what.is_empty() => {
                removes.push((id.to_owned(), what.to_owned()));
            }
            _ => {}
        }
    }
    // `--- a/x` and `+++ b/x` name a file; a removed or added line never follows such a pair.
    let lines: Vec<_> = text.lines().collect();
    let mut touches = BTreeSet::new();
    for pair in lines.windows(2) {
        let [old, new] = pair else { continue };
        if let (true, Some(file)) = (old.starts_with("--- "), new.strip_prefix("+++ b/")) {
            touches.insert(file.split('\t').next().unwrap_or(file).to_owned());
        }
    }
    ensure!(!touches.is_empty(), "the patch touches no file (paths start with a/ and b/)");
    ensure!(!removes.is_empty(), "no header line `# ATK-n: what defence it removes`");
    ensure!(!expectations.is_empty(), "no header line `# expect-fail: …`");
    let solidity = touches.iter().any(|file| file.starts_with("contracts/"));
    if solidity
        && expectations.iter().any(|expected| matches!(expected, Expectation::Nextest { .. }))
    {
        bail!(
            "a patch of contracts cannot be shown by nextest: its tests load the local chain's dumped state, \
             which is not rebuilt; name a forge test that deploys from source"
        );
    }
    Ok(Mutant { name: name.to_owned(), removes, expectations, touches })
}

fn expectation(value: &str) -> Result<Expectation> {
    let words: Vec<_> = value.split_whitespace().collect();
    match words.as_slice() {
        ["forge", name] => {
            let (contract, test) = name.split_once("::").context("write `forge Contract::test`")?;
            Ok(Expectation::Forge { contract: contract.to_owned(), test: test.to_owned() })
        }
        ["nextest", package, filter] => Ok(Expectation::Nextest {
            package: (*package).to_owned(),
            filter: (*filter).to_owned(),
        }),
        _ => bail!("`{value}`: write `forge Contract::test` or `nextest package test`"),
    }
}

/// Makes the tree equal to the repository's own files. Files that are equal keep their time, so that
/// neither cargo nor forge builds them again.
pub(crate) fn sync(root: &Path, tree: &Path) -> Result<()> {
    fs::create_dir_all(tree).context("create the tree for mutants")?;
    let names: BTreeSet<_> = sources::files(root, &[".".to_owned()])?.into_iter().collect();
    for name in &names {
        let (from, to) = (root.join(name), tree.join(name));
        let bytes = fs::read(&from).with_context(|| format!("read {name}"))?;
        if fs::read(&to).is_ok_and(|old| old == bytes) {
            continue;
        }
        fs::create_dir_all(to.parent().context("find a file's folder")?)
            .context("create a folder")?;
        fs::write(&to, bytes).with_context(|| format!("copy {name}"))?;
        let mode = fs::metadata(&from).with_context(|| format!("read {name}"))?.permissions();
        fs::set_permissions(&to, mode).with_context(|| format!("copy {name}"))?;
    }
    let built = ["target", "node_modules", ".devchain", "contracts/out", "contracts/cache"]
        .map(|name| tree.join(name));
    let entries = WalkDir::new(tree)
        .into_iter()
        .filter_entry(|entry| !built.iter().any(|path| entry.path() == path));
    for entry in entries {
        let entry = entry.context("walk the tree for mutants")?;
        let name =
            entry.path().strip_prefix(tree).context("name a file of the tree")?.to_string_lossy();
        if entry.file_type().is_file() && !names.contains(name.as_ref()) {
            fs::remove_file(entry.path())
                .with_context(|| format!("remove {name} from the tree"))?;
        }
    }
    // What tests of Rust read of forge's; copies, because forge writes there for mutants of its own.
    for name in ["RulesHarness", "Stage"] {
        let harness = format!("contracts/out/RulesHarness.sol/{name}.json");
        let (from, to) = (root.join(&harness), tree.join(&harness));
        if from.exists() && !to.exists() {
            let folder = to.parent().context("find a file's folder")?;
            fs::create_dir_all(folder).context("create a folder")?;
            fs::copy(from, &to).with_context(|| format!("copy {harness}"))?;
        }
    }
    for name in ["node_modules", ".devchain"] {
        if root.join(name).exists() && !tree.join(name).exists() {
            symlink(root.join(name), tree.join(name))
                .with_context(|| format!("link {name} into the tree"))?;
        }
    }
    Ok(())
}

fn apply(root: &Path, tree: &Path, name: &str) -> Result<()> {
    let output = patch(root, tree, name, &[])?;
    ensure!(output.status.success(), "{name} does not apply any more:\n{}", said(&output));
    Ok(())
}

fn patch(root: &Path, tree: &Path, name: &str, more: &[&str]) -> Result<Output> {
    Command::new("patch")
        .args(["-p1", "--batch", "--forward", "--fuzz=0", "--no-backup-if-mismatch"])
        .args(more)
        .arg("-i")
        .arg(root.join(FOLDER).join(name))
        .current_dir(tree)
        .output()
        .context("start patch")
}

/// Patches that cannot be applied to the sources as they are, or say too little. Judging them all takes hours; this takes seconds.
pub(crate) fn misfits(root: &Path) -> Result<Vec<String>> {
    if !root.join(FOLDER).is_dir() {
        return Ok(Vec::new());
    }
    let mut misfits = Vec::new();
    for mutant in read(root)? {
        if !patch(root, root, &mutant.name, &["--dry-run"])?.status.success() {
            misfits.push(format!("{FOLDER}/{} does not apply any more", mutant.name));
        }
    }
    Ok(misfits)
}

/// The same on the clean tree, where nearly all pass: all tests of a package at once, and one by one only where that fails. That
/// a test is there at all is seen when its mutant is looked at.
fn observe_clean(
    root: &Path,
    tree: &Path,
    expectations: &[Expectation],
) -> Result<Vec<(Expectation, Run)>> {
    let mut packages: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for expectation in expectations {
        if let Expectation::Nextest { package, filter } = expectation {
            packages.entry(package).or_default().push(filter);
        }
    }
    let mut passed = BTreeSet::new();
    for (package, filters) in &packages {
        if nextest(root, tree, package, filters)?.status.success() {
            passed.insert((*package).to_owned());
        }
    }
    let (fine, rest): (Vec<_>, Vec<_>) = expectations.iter().cloned().partition(|expectation| {
        matches!(expectation, Expectation::Nextest { package, .. } if passed.contains(package))
    });
    let mut all = observe(root, tree, &rest)?;
    all.extend(fine.into_iter().map(|expectation| (expectation, Run::Passed)));
    Ok(all)
}

/// Runs tests of a package whose names hold one of `filters`.
fn nextest(root: &Path, tree: &Path, package: &str, filters: &[&str]) -> Result<Output> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Command::new(program)
        .args(["nextest", "run", "--offline", "--no-fail-fast", "-p", package])
        // It is compiled for each mutant of what it uses: that takes longer than one test on it.
        .args(["--config", "profile.dev.package.bardo-testkit.opt-level=1"])
        .args(filters)
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", root.join("target/mutants-target"))
        .output()
        .context("start cargo nextest")
}

/// What became of each test. All of forge's run at once: most of the time goes into compiling.
fn observe(
    root: &Path,
    tree: &Path,
    expectations: &[Expectation],
) -> Result<Vec<(Expectation, Run)>> {
    let mut contracts = BTreeSet::new();
    let mut tests = BTreeSet::new();
    for expectation in expectations {
        if let Expectation::Forge { contract, test } = expectation {
            contracts.insert(contract.as_str());
            tests.insert(test.as_str());
        }
    }
    let either = |names: BTreeSet<&str>| names.into_iter().collect::<Vec<_>>().join("|");
    let forge = if contracts.is_empty() {
        None
    } else {
        let forge = root.join("node_modules/@foundry-rs/forge-linux-amd64/bin/forge");
        let output = Command::new(forge)
            .args(["test", "--json", "--match-contract", &format!("^({})$", either(contracts))])
            .args(["--match-test", &format!("^({})(\\(|$)", either(tests))])
            .envs(FORGE)
            .current_dir(tree.join("contracts"))
            .output()
            .context("start forge; run `make setup` first")?;
        Some(output)
    };
    expectations
        .iter()
        .map(|expectation| {
            let run = match (expectation, &forge) {
                (Expectation::Forge { .. }, Some(output)) => {
                    judge_forge(output, &expectation.to_string())
                }
                (Expectation::Forge { .. }, None) => Run::Unproven("forge was not run".to_owned()),
                (Expectation::Nextest { package, filter }, _) => {
                    let output = nextest(root, tree, package, &[filter.as_str()])?;
                    judge_nextest(&output)
                }
            };
            Ok((expectation.clone(), run))
        })
        .collect()
}

fn judge_forge(output: &Output, name: &str) -> Run {
    let text = String::from_utf8_lossy(&output.stdout);
    match reports::forge(&text).ok().and_then(|outcomes| outcomes.get(name).copied()) {
        Some(Outcome::Passed) => Run::Passed,
        Some(Outcome::Failed) => Run::Failed,
        Some(Outcome::Skipped) => Run::Unproven("it was skipped".to_owned()),
        None => Run::Unproven(format!("it did not run:\n{}", said(output))),
    }
}

fn judge_nextest(output: &Output) -> Run {
    match output.status.code() {
        Some(0) => Run::Passed,
        Some(NEXTEST_FAILED) => Run::Failed,
        Some(NEXTEST_NO_TESTS) => Run::Unproven("no test has that name".to_owned()),
        _ => Run::Unproven(format!("it did not run:\n{}", said(output))),
    }
}

/// The end of what a program said.
fn said(output: &Output) -> String {
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    let lines: Vec<_> = text.lines().collect();
    lines.get(lines.len().saturating_sub(30)..).unwrap_or_default().join("\n")
}

/// Where tests stand, read once for all patches: cargo takes its time to say it.
struct Workspace<'a> {
    root: &'a Path,
    /// Of forge.
    tests: Vec<String>,
    packages: crate::metadata::Metadata,
}

impl<'a> Workspace<'a> {
    fn read(root: &'a Path) -> Result<Self> {
        let tests = sources::files(root, &["contracts/test".to_owned()])?;
        Ok(Self { root, tests, packages: crate::metadata::Metadata::read(root)? })
    }

    /// Files whose change makes the result stale: patches, what they touch, and the tests that notice.
    fn depends_on(&self, mutants: &[Mutant]) -> Result<Vec<String>> {
        let Self { root, tests, packages } = self;
        let mut paths = BTreeSet::from([FOLDER.to_owned()]);
        for mutant in mutants {
            paths.extend(mutant.touches.iter().cloned());
            for expectation in &mutant.expectations {
                match expectation {
                    Expectation::Forge { contract, .. } => {
                        let declares = format!("contract {contract} ");
                        for file in tests {
                            let text = fs::read_to_string(root.join(file))
                                .with_context(|| format!("read {file}"))?;
                            if text.contains(&declares) {
                                paths.insert(file.clone());
                            }
                        }
                    }
                    Expectation::Nextest { package, filter } => {
                        let found = packages.members().find(|member| member.name == *package);
                        let found = found.with_context(|| format!("find the package {package}"))?;
                        let folder = PathBuf::from(&found.manifest_path);
                        let folder =
                            folder.parent().and_then(|folder| folder.strip_prefix(root).ok());
                        let folder =
                            folder.with_context(|| format!("find the folder of {package}"))?;
                        let folder = folder.to_string_lossy().into_owned();
                        let files = sources::files(root, std::slice::from_ref(&folder))?;
                        let declares = module_files(&files, filter);
                        if declares.is_empty() {
                            paths.insert(folder);
                        }
                        paths.extend(declares);
                    }
                }
            }
        }
        Ok(paths.into_iter().collect())
    }
}

/// The files of the module of `it` in which a test stands; none if it stands elsewhere. As with forge, the files of
/// its helpers do not count: they change with every part of the project, and each would void every record.
fn module_files(files: &[String], filter: &str) -> Vec<String> {
    let Some((module, _)) = filter.split_once("::") else { return Vec::new() };
    let (file, folder) = (format!("/it/{module}.rs"), format!("/it/{module}/"));
    files.iter().filter(|name| name.ends_with(&file) || name.contains(&folder)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;
    use crate::sources::scratch;

    const PATCH: &str = "# ATK-12: batch mode is let through\n\
        # expect-fail: forge RuleTest::test_refusesBatch\n\
        --- a/contracts/src/rules/Rule.sol\n+++ b/contracts/src/rules/Rule.sol\n\
        @@ -1,2 +1,1 @@\n-guard();\n act();\n";

    fn output(code: i32, stdout: &str) -> Output {
        Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: stdout.into(),
            stderr: Vec::new(),
        }
    }

    #[test]
    fn a_patch_says_what_it_removes_and_who_must_notice() {
        let mutant = parse("a.patch", PATCH).unwrap();

        assert_eq!(mutant.removes, [("ATK-12".to_owned(), "batch mode is let through".to_owned())]);
        assert_eq!(mutant.expectations[0].to_string(), "forge RuleTest::test_refusesBatch");
        assert_eq!(mutant.touches, BTreeSet::from(["contracts/src/rules/Rule.sol".to_owned()]));
    }

    #[test]
    fn a_patch_without_a_row_an_expectation_or_a_diff_is_refused() {
        let without = |start: &str| {
            let text: Vec<_> = PATCH.lines().filter(|line| !line.starts_with(start)).collect();
            parse("a.patch", &text.join("\n")).unwrap_err().to_string()
        };

        assert!(without("# ATK").contains("what defence"));
        assert!(without("# expect").contains("expect-fail"));
        assert!(without("+++").contains("touches no file"));
    }

    #[test]
    fn a_solidity_patch_cannot_be_shown_by_nextest() {
        let text =
            PATCH.replace("forge RuleTest::test_refusesBatch", "nextest bardo-e2e slice::swaps");

        assert!(parse("a.patch", &text).unwrap_err().to_string().contains("dumped state"));
    }

    #[test]
    fn a_test_is_its_modules_files_and_nothing_beside_them() {
        let files = ["a/it/lane.rs", "a/it/lane/faults.rs", "a/it/lanes.rs", "a/it/main.rs"];
        let files = files.map(ToOwned::to_owned);

        assert_eq!(module_files(&files, "lane::x"), files[..2]);
        assert!(module_files(&files, "a_test_of_main").is_empty());
        assert!(module_files(&files, "gone::x").is_empty());
    }

    #[test]
    fn an_unknown_runner_is_refused() {
        assert!(expectation("cargo test x").is_err());
        assert!(expectation("forge test_x").is_err());
    }

    #[test]
    fn only_a_failing_test_kills_a_forge_mutant() {
        let report = |status: &str| {
            format!(
                r#"{{"test/R.t.sol:RuleTest":{{"test_results":{{"test_x()":{{"status":"{status}"}}}}}}}}"#
            )
        };
        let name = "forge RuleTest::test_x";

        assert_eq!(judge_forge(&output(1, &report("Failure")), name), Run::Failed);
        assert_eq!(judge_forge(&output(0, &report("Success")), name), Run::Passed);
        assert!(matches!(judge_forge(&output(0, &report("Skipped")), name), Run::Unproven(_)));
        assert!(matches!(judge_forge(&output(1, "Compiler run failed"), name), Run::Unproven(_)));
        assert!(matches!(judge_forge(&output(0, "{}"), name), Run::Unproven(_)));
    }

    #[test]
    fn only_a_failing_test_kills_a_nextest_mutant() {
        assert_eq!(judge_nextest(&output(100, "")), Run::Failed);
        assert_eq!(judge_nextest(&output(0, "")), Run::Passed);
        for code in [4, 101, 1] {
            assert!(matches!(judge_nextest(&output(code, "")), Run::Unproven(_)), "{code}");
        }
    }

    #[test]
    fn what_was_recorded_is_not_run_again_and_what_was_begun_counts_more() {
        let root = scratch("mutants-shown");
        fs::create_dir_all(root.join("testdata/longruns")).unwrap();
        fs::create_dir_all(root.join("target/mutants")).unwrap();
        assert!(shown(&root).is_empty());

        let record = r#"{"mutants":[{"patch":"a","shown_on":"1"},{"patch":"b","shown_on":"2"},{"patch":"c"}]}"#;
        fs::write(root.join(RECORD), record).unwrap();
        fs::write(root.join(SHOWN), r#"{"b":"3"}"#).unwrap();

        let expected = [("a", "1"), ("b", "3")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(shown(&root), BTreeMap::from(expected));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_patch_that_does_not_fit_is_named_and_changes_nothing() {
        let root = scratch("mutants-misfits");
        fs::create_dir_all(root.join(FOLDER)).unwrap();
        fs::create_dir_all(root.join("contracts/src/rules")).unwrap();
        fs::write(root.join(FOLDER).join("a.patch"), PATCH).unwrap();
        let rule = root.join("contracts/src/rules/Rule.sol");

        fs::write(&rule, "guard();\nact();\n").unwrap();
        assert!(misfits(&root).unwrap().is_empty());
        fs::write(&rule, "guards();\nact();\n").unwrap();
        let found = misfits(&root).unwrap();

        assert_eq!(found, ["tests/mutants/a.patch does not apply any more"]);
        assert_eq!(fs::read_to_string(&rule).unwrap(), "guards();\nact();\n");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn the_tree_is_restored_after_a_patch_and_equal_files_keep_their_time() {
        let root = scratch("mutants-sync");
        let tree = root.join(TREE);
        fs::create_dir_all(root.join(FOLDER)).unwrap();
        fs::create_dir_all(root.join("contracts/src/rules")).unwrap();
        fs::create_dir_all(root.join("node_modules")).unwrap();
        fs::write(root.join("contracts/src/rules/Rule.sol"), "guard();\nact();\n").unwrap();
        fs::write(root.join("other"), "x").unwrap();
        fs::write(root.join(FOLDER).join("a.patch"), PATCH).unwrap();
        sync(&root, &tree).unwrap();
        let time = fs::metadata(tree.join("other")).unwrap().modified().unwrap();

        apply(&root, &tree, "a.patch").unwrap();
        assert_eq!(
            fs::read_to_string(tree.join("contracts/src/rules/Rule.sol")).unwrap(),
            "act();\n"
        );
        fs::write(tree.join("stray"), "x").unwrap();
        sync(&root, &tree).unwrap();

        assert_eq!(
            fs::read_to_string(tree.join("contracts/src/rules/Rule.sol")).unwrap(),
            "guard();\nact();\n"
        );
        assert_eq!(fs::metadata(tree.join("other")).unwrap().modified().unwrap(), time);
        assert!(!tree.join("stray").exists());
        assert!(tree.join("node_modules").is_symlink());
        fs::write(root.join("contracts/src/rules/Rule.sol"), "act();\n").unwrap();
        sync(&root, &tree).unwrap();
        assert!(apply(&root, &tree, "a.patch").unwrap_err().to_string().contains("does not apply"));
        fs::remove_dir_all(root).unwrap();
    }
}
