//! The proof ledger: which test or command shows each line of an issue.
//!
//! ```toml
//! issue = 2
//! title = "Ground"
//! covers = ["C1", "ATK-12"]          # each must stand in some line's ids
//!
//! [[line]]
//! says = "a batch around a single-call rule is refused"
//! ids = ["ATK-12"]                   # may be empty
//! tests = ["bardo-e2e::it slice::a_batch_is_refused", "forge RuleTest::test_refusesBatch"]
//! commands = ["make demo"]           # run as a stage of this very `make check`
//! ```
//!
//! A test is named as its runner names it: `binary-id test` for nextest, `forge Contract::test`,
//! `node name`. There are no patterns: a row that names nothing real is a row without proof.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::reports::{self, Outcome, Outcomes, Report};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ledger {
    issue: u32,
    title: String,
    covers: Vec<String>,
    #[serde(default, rename = "line")]
    lines: Vec<Line>,
}

/// What the ledgers must hold, kept apart from them: a ledger cannot forget what it promised.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Required {
    part: Vec<Part>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    /// The issue whose ledger is meant.
    issue: u32,
    /// Ids that the issue names.
    ids: Vec<String>,
    /// Statements of the issue, and so the least number of lines.
    lines: usize,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    says: String,
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    commands: Vec<String>,
}

/// Name of the list beside the ledgers.
const REQUIRED: &str = "required.toml";

/// Everything that ran.
struct Evidence {
    nextest: Report,
    forge: Report,
    node: Report,
    commands: Report,
}

impl Evidence {
    fn read(root: &Path) -> Result<Self> {
        Ok(Self {
            nextest: Report::read(root, reports::NEXTEST, reports::junit)?,
            forge: Report::read(root, reports::FORGE, reports::forge)?,
            node: Report::read(root, reports::NODE, reports::node)?,
            commands: Report::read(root, reports::COMMANDS, reports::commands)?,
        })
    }

    /// Why this test does not count as shown, if it does not.
    fn against_test(&self, name: &str) -> Option<String> {
        let (report, file) = match name.split_once(' ').map(|(runner, _)| runner) {
            Some("forge") => (&self.forge, reports::FORGE),
            Some("node") => (&self.node, reports::NODE),
            Some(_) => (&self.nextest, reports::NEXTEST),
            None => {
                return Some(format!(
                    "test `{name}` names no runner; write `binary-id test`, `forge Contract::test` or `node name`"
                ));
            }
        };
        against(report, file, "test", name)
    }

    fn against_command(&self, name: &str) -> Option<String> {
        against(&self.commands, reports::COMMANDS, "command", name)
    }
}

fn against(report: &Report, file: &str, what: &str, name: &str) -> Option<String> {
    let outcomes = match report {
        Report::Read(outcomes) => outcomes,
        Report::Missing => return Some(format!("{what} `{name}`: no report at {file}")),
        Report::Old => {
            return Some(format!("{what} `{name}`: the report at {file} is older than this run"));
        }
    };
    match outcomes.get(name) {
        Some(Outcome::Passed) => None,
        Some(Outcome::Failed) => Some(format!("{what} `{name}` failed")),
        Some(Outcome::Skipped) => Some(format!("{what} `{name}` was skipped")),
        None => Some(format!("{what} `{name}` did not run{}", hint(outcomes, name))),
    }
}

/// A test of the same last name is most likely the one that was meant.
fn hint(outcomes: &Outcomes, name: &str) -> String {
    let last = |name: &str| name.rsplit([':', ' ']).next().unwrap_or_default().to_owned();
    let wanted = last(name);
    outcomes
        .keys()
        .find(|known| last(known) == wanted)
        .map(|known| format!("; did you mean `{known}`?"))
        .unwrap_or_default()
}

pub(crate) fn run(root: &Path, out: &mut dyn Write) -> Result<bool> {
    let folder = root.join("acceptance");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .context("list acceptance")?
        .collect::<Result<Vec<_>, _>>()
        .context("list acceptance")?
        .into_iter()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .filter(|path| path.file_name().is_some_and(|name| name != REQUIRED))
        .collect();
    files.sort();

    let evidence = Evidence::read(root)?;
    let mut problems = Vec::new();
    let mut said = Vec::new();
    let mut ledgers = Vec::new();
    if files.is_empty() {
        problems.push("acceptance holds no ledger".to_owned());
    }
    for path in files {
        let name = format!("acceptance/{}", path.file_name().unwrap_or_default().to_string_lossy());
        let text = fs::read_to_string(&path).with_context(|| format!("read {name}"))?;
        match toml::from_str::<Ledger>(&text) {
            Ok(ledger) => {
                problems.extend(
                    judge(&ledger, &evidence).into_iter().map(|line| format!("{name}: {line}")),
                );
                said.push(format!(
                    "issue {} ({}): {} lines, {} ids shown by this run",
                    ledger.issue,
                    ledger.title,
                    ledger.lines.len(),
                    ledger.covers.len()
                ));
                ledgers.push(ledger);
            }
            Err(fault) => problems.push(format!("{name}: {}", fault.to_string().trim_end())),
        }
    }
    match fs::read_to_string(folder.join(REQUIRED)) {
        Ok(text) => {
            let required: Required =
                toml::from_str(&text).with_context(|| format!("parse acceptance/{REQUIRED}"))?;
            problems.extend(lacks(&required, &ledgers));
        }
        Err(_) => problems.push(format!("acceptance/{REQUIRED} cannot be read")),
    }
    let fine = crate::verdict(&problems, out)?;
    if fine {
        for line in said {
            writeln!(out, "{line}")?;
        }
    }
    Ok(fine)
}

/// What is required and stands in no ledger.
fn lacks(required: &Required, ledgers: &[Ledger]) -> Vec<String> {
    let mut problems = Vec::new();
    for part in &required.part {
        let issue = part.issue;
        let Some(ledger) = ledgers.iter().find(|ledger| ledger.issue == issue) else {
            problems.push(format!("issue {issue} has no ledger"));
            continue;
        };
        for id in part.ids.iter().filter(|id| !ledger.covers.contains(id)) {
            problems.push(format!("issue {issue}: id {id} is required and not covered"));
        }
        if ledger.lines.len() < part.lines {
            problems.push(format!(
                "issue {issue}: {} lines, {} are required",
                ledger.lines.len(),
                part.lines
            ));
        }
    }
    for ledger in ledgers {
        if !required.part.iter().any(|part| part.issue == ledger.issue) {
            problems.push(format!("issue {} stands not in {REQUIRED}", ledger.issue));
        }
    }
    problems
}

fn judge(ledger: &Ledger, evidence: &Evidence) -> Vec<String> {
    let mut problems = Vec::new();
    if ledger.lines.is_empty() {
        problems.push("there is no line".to_owned());
    }
    for line in &ledger.lines {
        let says = &line.says;
        if line.tests.is_empty() && line.commands.is_empty() {
            problems.push(format!("line \"{says}\" has neither a test nor a command"));
        }
        let tests = line.tests.iter().filter_map(|name| evidence.against_test(name));
        let commands = line.commands.iter().filter_map(|name| evidence.against_command(name));
        problems.extend(tests.chain(commands).map(|why| format!("line \"{says}\": {why}")));
    }
    let shown: BTreeSet<_> = ledger.lines.iter().flat_map(|line| &line.ids).collect();
    for id in ledger.covers.iter().filter(|id| !shown.contains(id)) {
        problems.push(format!("id {id} has no row"));
    }
    let covered: BTreeSet<_> = ledger.covers.iter().collect();
    for id in shown.iter().filter(|id| !covered.contains(*id)) {
        problems.push(format!("id {id} stands in a row but not in covers"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::scratch;

    const GOOD: &str = r#"
        issue = 2
        title = "Ground"
        covers = ["C1", "ATK-12"]
        [[line]]
        says = "first"
        ids = ["C1", "ATK-12"]
        tests = ["bardo-e2e::it slice::swaps", "forge ATest::test_one", "node the kit resolves"]
        [[line]]
        says = "second"
        commands = ["make demo"]
    "#;

    fn passed(names: &[&str]) -> Report {
        Report::Read(names.iter().map(|name| ((*name).to_owned(), Outcome::Passed)).collect())
    }

    fn evidence() -> Evidence {
        Evidence {
            nextest: passed(&["bardo-e2e::it slice::swaps"]),
            forge: passed(&["forge ATest::test_one"]),
            node: passed(&["node the kit resolves"]),
            commands: passed(&["make demo"]),
        }
    }

    fn problems(text: &str, evidence: &Evidence) -> Vec<String> {
        judge(&toml::from_str(text).unwrap(), evidence)
    }

    #[test]
    fn a_ledger_whose_rows_all_ran_passes() {
        assert_eq!(problems(GOOD, &evidence()), Vec::<String>::new());
    }

    /// The command itself, not only its parts.
    #[test]
    fn the_check_judges_rows_requirements_and_broken_ledgers() {
        let said = |ledger: &str, required: &str| {
            let root = scratch("ledger-command");
            fs::create_dir_all(root.join("acceptance")).unwrap();
            fs::write(root.join("acceptance/01.toml"), ledger).unwrap();
            fs::write(root.join("acceptance/required.toml"), required).unwrap();
            let mut out = Vec::new();
            let fine = run(&root, &mut out).unwrap();
            fs::remove_dir_all(root).unwrap();
            (fine, String::from_utf8(out).unwrap())
        };
        let required = "[[part]]\nissue = 2\nids = [\"X9\"]\nlines = 2";

        let (fine, words) = said(GOOD, required);
        assert!(!fine);
        assert!(words.contains("no report at"), "rows are judged: {words}");
        assert!(words.contains("id X9 is required"), "requirements are: {words}");
        let (fine, words) = said("issue = ", required);
        assert!(!fine);
        assert!(words.contains("acceptance/01.toml"), "a broken ledger is named: {words}");
    }

    #[test]
    fn a_ledger_that_forgets_a_required_id_or_line_fails() {
        let ledger: Ledger = toml::from_str(GOOD).unwrap();
        let required = |text: &str| toml::from_str::<Required>(text).unwrap();
        let good = required("[[part]]\nissue = 2\nids = [\"C1\"]\nlines = 2");
        let id = required("[[part]]\nissue = 2\nids = [\"X5\"]\nlines = 2");
        let lines = required("[[part]]\nissue = 2\nids = []\nlines = 3");
        let other = required("[[part]]\nissue = 3\nids = []\nlines = 0");
        let ledgers = [ledger];

        assert_eq!(lacks(&good, &ledgers), Vec::<String>::new());
        assert_eq!(lacks(&id, &ledgers), ["issue 2: id X5 is required and not covered"]);
        assert_eq!(lacks(&lines, &ledgers), ["issue 2: 2 lines, 3 are required"]);
        assert_eq!(
            lacks(&other, &ledgers),
            ["issue 3 has no ledger", "issue 2 stands not in required.toml"]
        );
    }

    #[test]
    fn an_id_without_a_row_fails() {
        let text = GOOD.replace(r#"["C1", "ATK-12"]"#, r#"["C1"]"#).replacen(
            r#"["C1"]"#,
            r#"["C1", "X5"]"#,
            1,
        );

        assert_eq!(problems(&text, &evidence()), ["id X5 has no row"]);
    }

    #[test]
    fn an_id_that_is_not_covered_fails() {
        let text = GOOD.replacen(r#"["C1", "ATK-12"]"#, r#"["C1"]"#, 1);

        assert_eq!(problems(&text, &evidence()), ["id ATK-12 stands in a row but not in covers"]);
    }

    #[test]
    fn a_row_without_proof_fails() {
        let text = GOOD.replace(r#"commands = ["make demo"]"#, "");

        assert_eq!(
            problems(&text, &evidence()),
            [r#"line "second" has neither a test nor a command"#]
        );
    }

    #[test]
    fn a_test_that_did_not_run_fails_and_the_likely_one_is_named() {
        let text = GOOD.replace("slice::swaps", "other::swaps");

        assert_eq!(
            problems(&text, &evidence()),
            [
                "line \"first\": test `bardo-e2e::it other::swaps` did not run; did you mean `bardo-e2e::it slice::swaps`?"
            ]
        );
    }

    #[test]
    fn a_test_name_without_a_runner_fails() {
        let text = GOOD.replace("bardo-e2e::it slice::swaps", "slice::swaps");

        assert!(problems(&text, &evidence())[0].contains("names no runner"));
    }

    #[test]
    fn a_failed_and_a_skipped_test_fail() {
        for (outcome, word) in [(Outcome::Failed, "failed"), (Outcome::Skipped, "was skipped")] {
            let mut evidence = evidence();
            evidence.forge = Report::Read([("forge ATest::test_one".to_owned(), outcome)].into());

            let found = problems(GOOD, &evidence);

            assert_eq!(found, [format!("line \"first\": test `forge ATest::test_one` {word}")]);
        }
    }

    #[test]
    fn a_missing_and_an_old_report_fail() {
        let mut evidence = evidence();
        evidence.nextest = Report::Missing;
        evidence.forge = Report::Old;

        let found = problems(GOOD, &evidence);

        assert!(found[0].contains("no report at target/nextest/ci/junit.xml"));
        assert!(found[1].contains("contracts/out/forge-tests.json is older than this run"));
    }

    #[test]
    fn a_command_that_was_not_run_fails() {
        let mut evidence = evidence();
        evidence.commands = passed(&[]);

        assert_eq!(problems(GOOD, &evidence), ["line \"second\": command `make demo` did not run"]);
    }

    #[test]
    fn an_unknown_field_is_refused() {
        assert!(
            toml::from_str::<Ledger>(&GOOD.replace("says = \"second\"", "say = \"second\""))
                .is_err()
        );
    }

    #[test]
    fn a_report_from_before_the_start_is_old_and_without_a_stamp_all_are() {
        let root = scratch("ledger-age");
        fs::create_dir_all(root.join("target")).unwrap();
        let start = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        let touch = |name: &str, later: u64| {
            let file = fs::File::create(root.join(name)).unwrap();
            file.set_modified(start + std::time::Duration::from_secs(later)).unwrap();
        };
        let age = || Report::read(&root, reports::COMMANDS, reports::commands).unwrap();

        assert!(matches!(age(), Report::Missing));
        touch(reports::COMMANDS, 5);
        assert!(matches!(age(), Report::Old));
        touch(reports::STARTED, 6);
        assert!(matches!(age(), Report::Old));
        touch(reports::COMMANDS, 7);
        assert!(matches!(age(), Report::Read(_)));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_repository_without_a_ledger_fails() {
        let root = scratch("ledger-none");
        fs::create_dir_all(root.join("acceptance")).unwrap();
        let mut out = Vec::new();

        assert!(!run(&root, &mut out).unwrap());
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "error: acceptance holds no ledger\nerror: acceptance/required.toml cannot be read\n"
        );
        fs::remove_dir_all(root).unwrap();
    }
}
