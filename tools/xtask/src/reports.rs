//! What the test runners said, in one form.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use serde::Deserialize;
use serde_json::Value;

/// Touched by `make check` before anything runs: older reports are another run's.
pub(crate) const STARTED: &str = "target/check-started";
pub(crate) const NEXTEST: &str = "target/nextest/ci/junit.xml";
pub(crate) const FORGE: &str = "contracts/out/forge-tests.json";
pub(crate) const NODE: &str = "target/node-tests.xml";
pub(crate) const COMMANDS: &str = "target/commands.json";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed,
    Skipped,
}

/// Outcome by name, as the ledger writes names.
pub(crate) type Outcomes = BTreeMap<String, Outcome>;

/// Reads one runner's report.
pub(crate) type Parse = fn(&str) -> Result<Outcomes>;

/// A report of this run, or why there is none.
#[derive(Debug)]
pub(crate) enum Report {
    Read(Outcomes),
    Missing,
    /// Written before this run started.
    Old,
}

impl Report {
    /// Reads a report and judges its age by the start stamp.
    pub(crate) fn read(root: &Path, file: &str, parse: Parse) -> Result<Self> {
        let path = root.join(file);
        let Ok(written) = modified(&path) else { return Ok(Self::Missing) };
        let Ok(started) = modified(&root.join(STARTED)) else { return Ok(Self::Old) };
        if written < started {
            return Ok(Self::Old);
        }
        let text = fs::read_to_string(&path).with_context(|| format!("read {file}"))?;
        Ok(Self::Read(parse(&text).with_context(|| format!("parse {file}"))?))
    }
}

fn modified(path: &Path) -> std::io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}

/// Names are `suite test`, which for nextest is the binary's id and the test's path.
pub(crate) fn junit(text: &str) -> Result<Outcomes> {
    cases(text, |suite, case| format!("{suite} {case}"))
}

/// Names are `node test`: node puts a test's file, not a suite, around it.
pub(crate) fn node(text: &str) -> Result<Outcomes> {
    cases(text, |_, case| format!("node {case}"))
}

fn cases(text: &str, name: fn(&str, &str) -> String) -> Result<Outcomes> {
    let mut outcomes = Outcomes::new();
    let mut reader = Reader::from_str(text);
    let mut suite = String::new();
    let mut open: Option<(String, Outcome)> = None;
    loop {
        let event = reader.read_event().context("read XML")?;
        match &event {
            Event::Eof => break,
            Event::Start(tag) | Event::Empty(tag) => {
                let empty = matches!(event, Event::Empty(_));
                match tag.name().as_ref() {
                    "testsuite" => suite = attribute(tag, "name")?,
                    "testcase" => {
                        let case = (name(&suite, &attribute(tag, "name")?), Outcome::Passed);
                        if empty { add(&mut outcomes, case) } else { open = Some(case) }
                    }
                    // A pass at the second try is no pass: retries hide what is broken.
                    "failure" | "error" | "flakyFailure" | "flakyError" | "rerunFailure" => {
                        if let Some((_, outcome)) = &mut open {
                            *outcome = Outcome::Failed;
                        }
                    }
                    "skipped" => {
                        if let Some((_, outcome @ Outcome::Passed)) = &mut open {
                            *outcome = Outcome::Skipped;
                        }
                    }
                    _ => {}
                }
            }
            Event::End(tag) if tag.name().as_ref() == "testcase" => {
                if let Some(case) = open.take() {
                    add(&mut outcomes, case);
                }
            }
            _ => {}
        }
    }
    if !text.trim_end().ends_with("</testsuites>") {
        bail!("the report is cut off");
    }
    Ok(outcomes)
}

/// Two tests of one name count as the worse of the two.
fn add(outcomes: &mut Outcomes, (name, outcome): (String, Outcome)) {
    let kept = outcomes.entry(name).or_insert(outcome);
    if outcome != Outcome::Passed {
        *kept = outcome;
    }
}

fn attribute(tag: &BytesStart<'_>, wanted: &str) -> Result<String> {
    for attribute in tag.attributes() {
        let attribute = attribute.context("read an attribute")?;
        if attribute.key.as_ref() == wanted {
            return Ok(attribute
                .normalized_value(XmlVersion::Explicit1_0)
                .context("read a value")?
                .into_owned());
        }
    }
    bail!("a tag has no {wanted}");
}

/// Names are `forge Contract::test`, without the signature's parentheses.
pub(crate) fn forge(text: &str) -> Result<Outcomes> {
    #[derive(Deserialize)]
    struct Suite {
        test_results: BTreeMap<String, Test>,
    }
    #[derive(Deserialize)]
    struct Test {
        status: String,
    }
    let suites: BTreeMap<String, Suite> =
        serde_json::from_str(text).context("parse forge's JSON")?;
    let mut outcomes = Outcomes::new();
    for (path, suite) in suites {
        let contract = path.rsplit(':').next().unwrap_or(&path);
        for (signature, test) in suite.test_results {
            let name = signature.split('(').next().unwrap_or(&signature);
            let outcome = match test.status.as_str() {
                "Success" => Outcome::Passed,
                "Skipped" => Outcome::Skipped,
                _ => Outcome::Failed,
            };
            add(&mut outcomes, (format!("forge {contract}::{name}"), outcome));
        }
    }
    Ok(outcomes)
}

/// One JSON object a line, as tools/stage.sh appends them.
pub(crate) fn commands(text: &str) -> Result<Outcomes> {
    #[derive(Deserialize)]
    struct Line {
        command: String,
        ok: bool,
    }
    let mut outcomes = Outcomes::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let line: Line = serde_json::from_str(line).context("parse a command's result")?;
        let outcome = if line.ok { Outcome::Passed } else { Outcome::Failed };
        add(&mut outcomes, (line.command, outcome));
    }
    Ok(outcomes)
}

/// Prints the closing line of `make check`. Always succeeds: the stages decided already.
pub(crate) fn totals(root: &Path, out: &mut dyn Write) -> Result<bool> {
    let mut passed = 0;
    let mut failed = 0;
    let parsers: [(&str, Parse); 3] = [(NEXTEST, junit), (FORGE, forge), (NODE, node)];
    for (file, parse) in parsers {
        // A report that cannot be read belongs to a stage that failed and said so.
        if let Ok(Report::Read(outcomes)) = Report::read(root, file, parse) {
            passed += outcomes.values().filter(|outcome| **outcome == Outcome::Passed).count();
            failed += outcomes.values().filter(|outcome| **outcome == Outcome::Failed).count();
        }
    }
    writeln!(out, "{passed} passed, {failed} failed")?;
    Ok(true)
}

/// Says in lines what forge said in JSON; `false` when a test failed or none ran.
pub(crate) fn forge_report(file: &Path, out: &mut dyn Write) -> Result<bool> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    let Ok(outcomes) = forge(&text) else {
        writeln!(out, "forge gave no report:\n{}", text.chars().take(4_000).collect::<String>())?;
        return Ok(false);
    };
    let count = |wanted| outcomes.values().filter(|outcome| **outcome == wanted).count();
    let reasons: BTreeMap<String, Value> =
        serde_json::from_str(&text).context("parse forge's JSON")?;
    for (path, suite) in &reasons {
        let results = suite.get("test_results").and_then(Value::as_object);
        for (test, result) in results.into_iter().flatten() {
            if result.get("status").and_then(Value::as_str) == Some("Failure") {
                let reason =
                    result.get("reason").and_then(Value::as_str).unwrap_or("no reason given");
                writeln!(out, "FAILED {path} {test}: {reason}")?;
                if let Some(example) =
                    result.get("counterexample").filter(|example| !example.is_null())
                {
                    writeln!(out, "       counterexample {example}")?;
                }
            }
        }
    }
    let (passed, failed, skipped) =
        (count(Outcome::Passed), count(Outcome::Failed), count(Outcome::Skipped));
    writeln!(out, "forge: {passed} passed, {failed} failed, {skipped} skipped")?;
    Ok(failed == 0 && passed > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JUNIT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="4" failures="1" errors="0">
  <testsuite name="bardo-e2e::it" tests="3" disabled="0" errors="0" failures="1">
    <testcase name="kit::passes" classname="bardo-e2e::it" time="0.1"/>
    <testcase name="kit::fails" classname="bardo-e2e::it"><failure type="test failure">no</failure></testcase>
    <testcase name="kit::skips" classname="bardo-e2e::it"><skipped/></testcase>
  </testsuite>
  <testsuite name="golem-delegation">
    <testcase name="a&lt;b&gt;"><system-out>fine</system-out></testcase>
    <testcase name="flaky"><flakyFailure type="x">once</flakyFailure></testcase>
  </testsuite>
</testsuites>"#;

    #[test]
    fn nextest_names_are_binary_and_test() {
        let outcomes = junit(JUNIT).unwrap();

        assert_eq!(outcomes["bardo-e2e::it kit::passes"], Outcome::Passed);
        assert_eq!(outcomes["bardo-e2e::it kit::fails"], Outcome::Failed);
        assert_eq!(outcomes["bardo-e2e::it kit::skips"], Outcome::Skipped);
        assert_eq!(outcomes["golem-delegation a<b>"], Outcome::Passed);
        assert_eq!(outcomes.len(), 5);
    }

    #[test]
    fn a_pass_after_a_retry_is_a_failure() {
        assert_eq!(junit(JUNIT).unwrap()["golem-delegation flaky"], Outcome::Failed);
    }

    #[test]
    fn a_cut_off_report_is_an_error() {
        assert!(junit(&JUNIT[..JUNIT.find("<failure").unwrap()]).is_err());
        assert!(junit("").is_err());
    }

    #[test]
    fn forge_names_lose_their_signature() {
        let text = r#"{"test/A.t.sol:ATest":{"duration":"1ms","test_results":{
            "test_one()":{"status":"Success"},"test_two(uint256)":{"status":"Failure","reason":"x"},
            "test_three()":{"status":"Skipped"}},"warnings":[]}}"#;

        let outcomes = forge(text).unwrap();

        assert_eq!(outcomes["forge ATest::test_one"], Outcome::Passed);
        assert_eq!(outcomes["forge ATest::test_two"], Outcome::Failed);
        assert_eq!(outcomes["forge ATest::test_three"], Outcome::Skipped);
    }

    #[test]
    fn a_command_that_failed_once_has_failed() {
        let text =
            "{\"command\":\"make demo\",\"ok\":false}\n{\"command\":\"make demo\",\"ok\":true}\n";

        assert_eq!(commands(text).unwrap()["make demo"], Outcome::Failed);
    }
}
