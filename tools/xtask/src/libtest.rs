//! nextest's report without nextest.
//!
//! A machine where cargo-nextest cannot be installed still has to show which tests ran. This builds the
//! test binaries as `cargo test` does, runs each, and writes the same report under the same names.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use quick_xml::escape::escape;
use serde::Deserialize;

use crate::metadata::{Metadata, Package};
use crate::reports::{self, Outcome};

/// Longest time one binary may take; nextest has a limit for each test instead.
const SECONDS: &str = "1200";

#[derive(Debug, Deserialize)]
struct Message {
    reason: String,
    package_id: Option<String>,
    target: Option<Target>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

pub(crate) fn run(root: &Path, out: &mut dyn Write) -> Result<bool> {
    let metadata = Metadata::read(root)?;
    let mut suites = BTreeMap::new();
    for (id, package, executable) in binaries(root, &metadata)? {
        let folder =
            Path::new(&package.manifest_path).parent().context("find a package's folder")?;
        let output = Command::new("timeout")
            .arg(SECONDS)
            .arg(&executable)
            .args(["--test-threads", "2"])
            .current_dir(folder)
            .env("CARGO_MANIFEST_DIR", folder)
            .env("CARGO_PKG_NAME", &package.name)
            .env("CARGO_PKG_VERSION", &package.version)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("start the tests of {id}"))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let cases = parse(&text).with_context(|| format!("read the tests of {id}"))?;
        let failed = cases.iter().any(|(_, outcome)| *outcome == Outcome::Failed);
        ensure!(
            failed || output.status.success(),
            "the tests of {id} ended with {}\n{text}",
            output.status
        );
        if failed {
            writeln!(out, "{text}{}", String::from_utf8_lossy(&output.stderr))?;
        }
        suites.insert(id, cases);
    }
    let file = root.join(reports::NEXTEST);
    fs::create_dir_all(file.parent().context("find the report's folder")?)
        .context("create the report's folder")?;
    fs::write(&file, junit(&suites)).context("write the report")?;

    let count =
        |wanted| suites.values().flatten().filter(|(_, outcome)| *outcome == wanted).count();
    let (passed, failed) = (count(Outcome::Passed), count(Outcome::Failed));
    writeln!(
        out,
        "libtest: {passed} passed, {failed} failed, {} skipped",
        count(Outcome::Skipped)
    )?;
    Ok(failed == 0 && passed > 0)
}

/// Builds all test binaries: nextest's id, package and file of each.
fn binaries<'a>(
    root: &Path,
    metadata: &'a Metadata,
) -> Result<Vec<(String, &'a Package, PathBuf)>> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(program)
        .args([
            "test",
            "--workspace",
            "--locked",
            "--no-run",
            "--message-format",
            "json-render-diagnostics",
        ])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("start cargo test --no-run")?;
    ensure!(output.status.success(), "the tests do not build");
    let text = String::from_utf8(output.stdout).context("read cargo's messages as UTF-8")?;
    let mut binaries = Vec::new();
    for line in text.lines() {
        let Ok(message) = serde_json::from_str::<Message>(line) else { continue };
        let tests = message.profile.is_some_and(|profile| profile.test);
        if message.reason != "compiler-artifact" || !tests {
            continue;
        }
        let (Some(id), Some(target), Some(file)) =
            (message.package_id, message.target, message.executable)
        else {
            continue;
        };
        let package = metadata.packages.iter().find(|package| package.id == id);
        let package = package.with_context(|| format!("find the package {id}"))?;
        binaries.push((binary_id(&package.name, &target), package, file));
    }
    Ok(binaries)
}

/// The id nextest gives a binary.
fn binary_id(package: &str, target: &Target) -> String {
    let name = &target.name;
    match target.kind.first().map(String::as_str) {
        Some("test") => format!("{package}::{name}"),
        Some(kind @ ("bin" | "bench" | "example")) => format!("{package}::{kind}/{name}"),
        _ => package.to_owned(),
    }
}

/// Reads libtest's lines and holds them against its own count.
fn parse(text: &str) -> Result<Vec<(String, Outcome)>> {
    let mut cases = Vec::new();
    // After this word come the failed tests' own outputs, which may say anything.
    let lines = text.lines().take_while(|line| *line != "failures:");
    for line in lines {
        let Some((name, outcome)) =
            line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        else {
            continue;
        };
        let outcome = match outcome {
            "ok" => Outcome::Passed,
            "FAILED" => Outcome::Failed,
            ignored if ignored.starts_with("ignored") => Outcome::Skipped,
            _ => continue,
        };
        let name = name.trim_end_matches(" - should panic");
        cases.push((name.to_owned(), outcome));
    }
    let passed = cases.iter().filter(|(_, outcome)| *outcome == Outcome::Passed).count();
    let Some(result) = text.lines().rfind(|line| line.starts_with("test result: ")) else {
        bail!("there is no closing line");
    };
    ensure!(result.contains(&format!(" {passed} passed;")), "read {passed} passes, but: {result}");
    Ok(cases)
}

fn junit(suites: &BTreeMap<String, Vec<(String, Outcome)>>) -> String {
    let mut text =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"libtest\">\n");
    for (id, cases) in suites {
        text.push_str(&format!("  <testsuite name=\"{}\">\n", escape(id.as_str())));
        for (name, outcome) in cases {
            let name = escape(name.as_str());
            text.push_str(&match outcome {
                Outcome::Passed => format!("    <testcase name=\"{name}\"/>\n"),
                Outcome::Failed => format!("    <testcase name=\"{name}\"><failure/></testcase>\n"),
                Outcome::Skipped => {
                    format!("    <testcase name=\"{name}\"><skipped/></testcase>\n")
                }
            });
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 4 tests
test a::passes ... ok
test a::panics - should panic ... ok
test a::fails ... FAILED
test a::waits ... ignored, needs a chain

failures:

---- a::fails stdout ----
test a::invented ... ok

test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s
";

    #[test]
    fn the_report_has_the_names_and_outcomes_the_ledger_expects() {
        let suites = BTreeMap::from([("bardo-e2e::it".to_owned(), parse(OUTPUT).unwrap())]);

        let outcomes = reports::junit(&junit(&suites)).unwrap();

        assert_eq!(outcomes["bardo-e2e::it a::passes"], Outcome::Passed);
        assert_eq!(outcomes["bardo-e2e::it a::panics"], Outcome::Passed);
        assert_eq!(outcomes["bardo-e2e::it a::fails"], Outcome::Failed);
        assert_eq!(outcomes["bardo-e2e::it a::waits"], Outcome::Skipped);
        assert_eq!(outcomes.len(), 4);
    }

    #[test]
    fn lines_that_do_not_add_up_are_an_error() {
        assert!(parse(&OUTPUT.replace("2 passed", "3 passed")).is_err());
        assert!(parse("running 1 test\ntest a ... ok\n").is_err());
    }

    #[test]
    fn binaries_get_the_ids_nextest_gives_them() {
        let target = |kind: &str| Target { name: "it".to_owned(), kind: vec![kind.to_owned()] };

        assert_eq!(binary_id("bardo-e2e", &target("test")), "bardo-e2e::it");
        assert_eq!(binary_id("bardo", &target("bin")), "bardo::bin/it");
        assert_eq!(binary_id("golem-delegation", &target("lib")), "golem-delegation");
    }
}
