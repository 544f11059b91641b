//! Named gas figures: what the Solidity tests measured against what is committed.
//!
//! forge writes these files itself, but not when it reports in JSON, and it takes a new or a missing figure
//! without a word. The report carries the figures, so they are compared here.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::reports::FORGE;

const FOLDER: &str = "contracts/snapshots";
const MEND: &str = "run `make snapshots` and commit contracts/snapshots";

/// Figures by name, by group; a group is a file.
type Figures = BTreeMap<String, BTreeMap<String, String>>;

pub(crate) fn run(root: &Path, check: bool, out: &mut dyn Write) -> Result<bool> {
    let report = fs::read_to_string(root.join(FORGE)).with_context(|| format!("read {FORGE}"))?;
    let measured = measured(&report)?;
    let committed = committed(&root.join(FOLDER))?;
    if check {
        return crate::verdict(&moved(&committed, &measured), out);
    }
    for (group, figures) in &measured {
        // Without a last newline, as forge writes it.
        let text = serde_json::to_string_pretty(figures).context("write JSON")?;
        fs::create_dir_all(root.join(FOLDER)).with_context(|| format!("create {FOLDER}"))?;
        fs::write(root.join(FOLDER).join(format!("{group}.json")), text)
            .with_context(|| format!("write the figures of {group}"))?;
    }
    for group in committed.keys().filter(|group| !measured.contains_key(*group)) {
        fs::remove_file(root.join(FOLDER).join(format!("{group}.json")))
            .with_context(|| format!("remove the figures of {group}"))?;
    }
    Ok(true)
}

fn measured(report: &str) -> Result<Figures> {
    #[derive(Deserialize)]
    struct Suite {
        test_results: BTreeMap<String, Test>,
    }
    #[derive(Deserialize)]
    struct Test {
        #[serde(default)]
        gas_snapshots: Figures,
    }
    let suites: BTreeMap<String, Suite> =
        serde_json::from_str(report).context("parse forge's JSON")?;
    let mut all = Figures::new();
    for test in suites.into_values().flat_map(|suite| suite.test_results.into_values()) {
        for (group, figures) in test.gas_snapshots {
            for (name, gas) in figures {
                let kept = all.entry(group.clone()).or_default().entry(name).or_insert(gas.clone());
                if *kept != gas {
                    bail!("two tests measure one figure of {group} differently: {kept} and {gas}");
                }
            }
        }
    }
    Ok(all)
}

fn committed(folder: &Path) -> Result<Figures> {
    let mut all = Figures::new();
    if folder.is_dir() {
        for entry in fs::read_dir(folder).with_context(|| format!("list {FOLDER}"))? {
            let name = entry.with_context(|| format!("list {FOLDER}"))?.file_name();
            let name = name.to_string_lossy();
            if let Some(group) = name.strip_suffix(".json") {
                let text = fs::read_to_string(folder.join(name.as_ref()))
                    .with_context(|| format!("read {name}"))?;
                let figures =
                    serde_json::from_str(&text).with_context(|| format!("parse {name}"))?;
                all.insert(group.to_owned(), figures);
            }
        }
    }
    Ok(all)
}

fn moved(committed: &Figures, measured: &Figures) -> Vec<String> {
    let flat = |figures: &Figures| -> BTreeMap<(String, String), String> {
        let groups = figures.iter();
        groups
            .flat_map(|(group, figures)| {
                figures.iter().map(|(name, gas)| ((group.clone(), name.clone()), gas.clone()))
            })
            .collect()
    };
    let (old, new) = (flat(committed), flat(measured));
    let mut problems = Vec::new();
    for ((group, name), gas) in &new {
        match old.get(&(group.clone(), name.clone())) {
            None => problems.push(format!("gas of {group}, \"{name}\" is new: {gas}; {MEND}")),
            Some(before) if before != gas => {
                problems.push(format!(
                    "gas of {group}, \"{name}\" moved from {before} to {gas}; {MEND}"
                ));
            }
            Some(_) => {}
        }
    }
    for (group, name) in old.keys().filter(|key| !new.contains_key(*key)) {
        problems.push(format!("gas of {group}, \"{name}\" is no longer measured; {MEND}"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::scratch;

    const REPORT: &str = r#"{"test/A.t.sol:ATest":{"test_results":{
        "test_gas()":{"status":"Success","gas_snapshots":{"A":{"redeem":"100","revoke":"50"}}},
        "test_other()":{"status":"Success","gas_snapshots":{}}}}}"#;

    fn repository(name: &str) -> std::path::PathBuf {
        let root = scratch(name);
        fs::create_dir_all(root.join("contracts/out")).unwrap();
        fs::write(root.join(FORGE), REPORT).unwrap();
        run(&root, false, &mut Vec::new()).unwrap();
        root
    }

    fn check(root: &Path) -> (bool, String) {
        let mut out = Vec::new();
        let fine = run(root, true, &mut out).unwrap();
        (fine, String::from_utf8(out).unwrap())
    }

    #[test]
    fn figures_that_were_written_pass_the_check() {
        let root = repository("gas-same");

        assert_eq!(check(&root), (true, String::new()));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_figure_that_moved_is_new_or_is_gone_fails() {
        let root = repository("gas-moved");
        let file = root.join("contracts/snapshots/A.json");
        fs::write(&file, r#"{"redeem":"101","pause":"7"}"#).unwrap();

        let (fine, said) = check(&root);

        assert!(!fine);
        assert!(said.contains("gas of A, \"redeem\" moved from 101 to 100; run `make snapshots`"));
        assert!(said.contains("gas of A, \"revoke\" is new: 50"));
        assert!(said.contains("gas of A, \"pause\" is no longer measured"));
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_group_without_a_test_is_removed_when_written() {
        let root = repository("gas-group");
        fs::write(root.join("contracts/snapshots/Gone.json"), r#"{"x":"1"}"#).unwrap();
        assert!(!check(&root).0);

        run(&root, false, &mut Vec::new()).unwrap();

        assert!(check(&root).0);
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn one_name_with_two_figures_is_an_error() {
        let twice =
            REPORT.replace(r#""gas_snapshots":{}"#, r#""gas_snapshots":{"A":{"redeem":"99"}}"#);

        assert!(measured(&twice).is_err());
    }
}
