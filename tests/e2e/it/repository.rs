//! The repository itself: what a stranger finds in it.

use anyhow::{Context, Result, ensure};
use bardo_testkit::root;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::Command,
};

#[test]
fn the_papers_of_a_good_repository_are_there() -> Result<()> {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "docs/dependencies.md",
        "docs/threat-model.md",
        "clippy.toml",
        "rustfmt.toml",
        "deny.toml",
        "rust-toolchain.toml",
        ".editorconfig",
        "Cargo.lock",
        "package-lock.json",
        "docs/plans/01-ground.md",
    ] {
        let text = fs::read_to_string(root().join(name)).with_context(|| name.to_owned())?;
        ensure!(text.len() > 40, "{name} says nothing");
    }
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    for lint in
        ["unsafe_code = \"deny\"", "missing_docs", "unwrap_used", "cast_possible_truncation"]
    {
        ensure!(manifest.contains(lint), "workspace lint {lint}");
    }
    Ok(())
}

/// Invariants are cited by number, so their numbers must stay.
#[test]
fn the_architecture_numbers_twelve_invariants_and_fits_two_pages() -> Result<()> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md"))?;

    for number in 1..=12 {
        ensure!(
            text.contains(&format!("INV-{number}")) || text.contains(&format!("| {number} |")),
            "INV-{number}"
        );
    }
    ensure!(text.split_whitespace().count() < 1_700, "longer than two pages");
    Ok(())
}

#[test]
fn the_threat_model_has_a_row_for_every_rule_in_use() -> Result<()> {
    let text = fs::read_to_string(root().join("docs/threat-model.md"))?;

    ensure!(
        text.contains("| rule | honest bug | leaked key | malicious host |"),
        "the table's head"
    );
    for rule in [
        "time window",
        "redeemer pin",
        "targets",
        "methods",
        "pinned calldata",
        "native value",
        "call count",
        "allowance",
        "revocation",
        "fee ceiling",
        "clearance",
    ] {
        ensure!(text.lines().any(|line| line.starts_with(&format!("| {rule}"))), "{rule}");
    }
    Ok(())
}

#[test]
fn a_stage_is_quiet_on_success_and_shows_its_log_on_failure() -> Result<()> {
    let stage = |name: &str, script: &str| {
        Command::new(root().join("tools/stage.sh"))
            .args([name, "--", "sh", "-c", script])
            .env_remove("CI")
            .output()
    };

    let good = stage("test-good", "echo chatter")?;
    let bad = stage("test-bad", "echo reason; exit 7")?;

    let said = String::from_utf8(good.stdout)?;
    ensure!(good.status.success(), "{said}");
    ensure!(said.starts_with("ok   test-good") && said.trim_end().ends_with(" s"), "{said}");
    ensure!(!said.contains("chatter"), "{said}");
    // `script` gives the stage a terminal, and there it ticks.
    let script = format!("{} test-tick -- sleep 1", root().join("tools/stage.sh").display());
    let ticked = Command::new("script")
        .args(["-qec", &script, "/dev/null"])
        .env("TERM", "xterm")
        .env_remove("CI")
        .output()?;
    let ticked = String::from_utf8_lossy(&ticked.stdout).into_owned();
    ensure!(ticked.matches("test-tick").count() > 2, "no progress: {ticked:?}");
    let said = [bad.stdout, bad.stderr].concat();
    let said = String::from_utf8(said)?;
    ensure!(bad.status.code() == Some(7), "{said}");
    ensure!(said.contains("FAIL test-bad") && said.contains("reason"), "{said}");
    Ok(())
}

#[test]
fn stale_vectors_and_bad_formatting_are_noticed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("testdata");
    let copied = Command::new("cp").arg("-r").arg(root().join("testdata")).arg(&copy).status()?;
    ensure!(copied.success(), "copy");
    symlink(root().join("node_modules"), folder.path().join("node_modules"))?;
    fs::copy(root().join("package.json"), folder.path().join("package.json"))?;
    for (maker, name) in [
        ("generate.mjs", "delegations.json"),
        ("terms.mjs", "stock-terms.json"),
        ("terms.mjs", "golem-terms.json"),
    ] {
        let check =
            || Command::new("node").arg(copy.join("vectors").join(maker)).arg("--check").output();
        ensure!(check()?.status.success(), "{maker}, as committed");
        let path = copy.join("vectors").join(name);
        let good = fs::read_to_string(&path)?;
        fs::write(&path, good.replacen('1', "2", 1))?;
        let stale = check()?;
        ensure!(!stale.status.success(), "{name} was changed");
        let said = String::from_utf8([stale.stdout, stale.stderr].concat())?;
        ensure!(said.contains(name), "{said}");
        fs::write(&path, good)?;
    }

    let untidy = folder.path().join("untidy.rs");
    fs::write(&untidy, "fn  main( ) { }\n")?;
    let formatted = Command::new("rustfmt")
        .args(["--check", "--edition", "2024", "--config-path"])
        .arg(root().join("rustfmt.toml"))
        .arg(&untidy)
        .output()?;
    ensure!(!formatted.status.success(), "untidy code was taken");
    Ok(())
}

#[test]
fn make_up_and_make_demo_run_the_binary() -> Result<()> {
    for verb in ["up", "demo"] {
        let plan = Command::new("make").args(["-n", verb]).current_dir(root()).output()?;
        let plan = String::from_utf8(plan.stdout)?;
        let last = plan.lines().last().unwrap_or_default();
        ensure!(last.ends_with(&format!("target/debug/bardo {verb}")), "{last}");
    }
    Ok(())
}

fn make_targets() -> Result<BTreeSet<String>> {
    let output = Command::new("make").arg("help").current_dir(root()).output()?;
    ensure!(output.status.success(), "make help");
    Ok(String::from_utf8(output.stdout)?
        .lines()
        .filter_map(|line| line.trim().strip_prefix("make "))
        .filter_map(|rest| rest.split_whitespace().next().map(str::to_owned))
        .collect())
}

#[test]
fn make_help_lists_every_promised_target() -> Result<()> {
    let targets = make_targets()?;

    for target in [
        "setup",
        "demo",
        "up",
        "test",
        "check",
        "bench",
        "fuzz",
        "mutants",
        "soak",
        "fmt",
        "contracts",
        "artifacts",
        "devchain",
        "help",
    ] {
        ensure!(targets.contains(target), "make {target}");
    }
    Ok(())
}

/// What the README names can be typed.
#[test]
fn every_command_the_readme_names_exists() -> Result<()> {
    let readme = fs::read_to_string(root().join("README.md"))?;
    let targets = make_targets()?;
    for named in readme.split('`').skip(1).step_by(2) {
        if let Some(target) = named.strip_prefix("make ") {
            ensure!(targets.contains(target), "{named}");
        }
    }
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        ensure!(root().join(link).exists(), "{link} leads nowhere");
    }
    Ok(())
}

#[test]
fn ci_runs_make_check() -> Result<()> {
    let script = fs::read_to_string(root().join(".ci/run"))?;

    ensure!(script.lines().any(|line| line == "exec make check"), "{script}");
    Ok(())
}

/// Two clones in different folders give the same bytecode, and so the same addresses.
#[test]
fn contracts_built_in_another_folder_are_the_committed_ones() -> Result<()> {
    let elsewhere = tempfile::tempdir()?;
    let clone = elsewhere.path().join("some where/else/clone");
    fs::create_dir_all(clone.join("contracts"))?;
    for name in ["src", "tools", "foundry.toml"] {
        let copied = Command::new("cp")
            .arg("-r")
            .arg(root().join("contracts").join(name))
            .arg(clone.join("contracts"))
            .status()?;
        ensure!(copied.success(), "{name}");
    }
    symlink(root().join("node_modules"), clone.join("node_modules"))?;

    let forge = root().join("node_modules/@foundry-rs/forge-linux-amd64/bin/forge");
    let built =
        Command::new(forge).args(["build", "src"]).current_dir(clone.join("contracts")).output()?;
    ensure!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let mut compared = 0;
    for entry in fs::read_dir(root().join("contracts/artifacts"))? {
        let artifact = entry?.path();
        let committed = read_json(&artifact)?;
        let name = artifact.file_stem().and_then(|stem| stem.to_str()).context("no name")?;
        let path = clone.join(format!("contracts/out/{name}.sol/{name}.json"));
        let fresh = read_json(&path)?;
        for part in ["bytecode", "deployedBytecode"] {
            ensure!(committed[part] == fresh[part]["object"], "{part} of {name} differs");
        }
        compared += 1;
    }
    ensure!(compared > 0, "no artifact was compared");
    Ok(())
}

fn read_json(path: &Path) -> Result<Value> {
    let text = fs::read(path).with_context(|| path.display().to_string())?;
    Ok(serde_json::from_slice(&text)?)
}

/// Figures in prose drift: each row of the table is compared with the measurement it names.
#[test]
fn the_gas_figures_of_the_contracts_readme_are_measured_ones() -> Result<()> {
    let readme = fs::read_to_string(root().join("contracts/README.md"))?;
    let section = readme.split("## Rules").nth(1).context("no rules")?;
    let section = section.split("What a phase allows").next().context("no matrix")?;
    let mut known: BTreeMap<String, u64> = BTreeMap::new();
    for file in ["redemptions", "rules", "charter"] {
        let path = root().join(format!("contracts/snapshots/{file}.json"));
        let figures: BTreeMap<String, u64> = serde_json::from_str(&fs::read_to_string(path)?)?;
        known.extend(figures);
    }
    let figures = |text: &str| -> Vec<u64> {
        text.split(|letter: char| !letter.is_ascii_digit() && letter != ',')
            .filter_map(|word| word.trim_matches(',').replace(',', "").parse().ok())
            .filter(|figure| *figure >= 100_000)
            .collect()
    };

    for (row, names) in [
        ("GolemPhase", &["phase alone, swap later"][..]),
        ("MortalityTimeWindow", &["time window alone, swap later"]),
        ("DreamMode", &["dream alone, swap later"]),
        ("VaultNAV", &["vault NAV alone, swap later"]),
        ("MaxSlippage", &["slippage alone, swap later"]),
        ("DailySpendLimit", &["daily spend alone, swap later"]),
        (
            "all six as caveats",
            &["six separate rules, swap later", "six separate rules, swap first"],
        ),
        (
            "**charter**",
            &["charter swap later", "charter swap later, an hour on", "charter swap first"],
        ),
        ("Cadence", &["cadence alone, swap later", "cadence alone, swap first"]),
        (
            "Threshold",
            &[
                "threshold two of three alone, swap later",
                "threshold two of three alone, swap first",
            ],
        ),
        (
            "ReplicantBudget",
            &["replicant budget alone, swap later", "replicant budget alone, swap first"],
        ),
        ("Holdings", &["holdings alone, swap later", "holdings alone, swap first"]),
        ("EmotionalState", &["emotional state alone, swap later"]),
        ("KnowledgeRoyalty", &["knowledge royalty alone, sale later", "no caveat sale later"]),
        (
            "**charter with both sections**",
            &["charter with both sections, swap later", "charter with both sections, sale later"],
        ),
    ] {
        let head = format!("| {row} |");
        let line = section.lines().find(|line| line.starts_with(&head)).context(head.clone())?;
        let measured: Vec<u64> =
            names.iter().filter_map(|name| known.get(*name).copied()).collect();
        assert_eq!(figures(line), measured, "{row}");
    }
    // Between the rows and the matrix: what else is said, and what is promised.
    let prose =
        section.lines().filter(|line| !line.starts_with('|')).collect::<Vec<_>>().join("\n");
    let all: BTreeSet<u64> = known.into_values().chain([285_000, 260_000]).collect();
    let shown = figures(&prose);
    assert!(shown.len() >= 5, "{shown:?}");
    for figure in shown {
        assert!(all.contains(&figure), "{figure} is in no snapshot");
    }
    Ok(())
}

/// Papers that point nowhere help nobody: links of every document, and files that the guides name.
#[test]
fn every_link_of_the_documents_and_every_path_of_the_guides_exists() -> Result<()> {
    let listed = Command::new("git").args(["ls-files", "*.md"]).current_dir(root()).output()?;
    let (mut links, mut paths) = (0, 0);
    for name in String::from_utf8(listed.stdout)?.lines() {
        let text = fs::read_to_string(root().join(name))?;
        let folder = root().join(name);
        let folder = folder.parent().context("a folder")?;
        for link in text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next()) {
            if link.is_empty() || link.contains("://") {
                continue;
            }
            ensure!(folder.join(link).exists(), "{name} links to {link}");
            links += 1;
        }
        if !name.starts_with("docs/guides/") {
            continue;
        }
        for path in text.split('`').skip(1).step_by(2) {
            let kinds = ["sol", "rs", "mjs", "json", "patch", "toml", "md"];
            let file = Path::new(path).extension().and_then(|kind| kind.to_str());
            let whole = path.contains('/') && !path.contains([' ', '*', '<', '{', '.'].as_slice());
            let named = file.is_some_and(|kind| kinds.contains(&kind))
                && path.contains('/')
                && !path.contains([' ', '*', '<', '{']);
            if !(whole || named) || path.starts_with(['.', '/']) {
                continue;
            }
            // A guide stands in the root, or where it said to go.
            let places = ["", "contracts", "crates/delegation"];
            let exists = places.iter().any(|place| root().join(place).join(path).exists());
            ensure!(exists, "{name} names {path}");
            paths += 1;
        }
    }
    ensure!(links > 10 && paths > 15, "{links} links, {paths} paths: the test reads nothing");
    Ok(())
}

/// A patch that no longer fits breaks nothing, and so shows nothing.
#[test]
fn every_mutant_patch_still_applies() -> Result<()> {
    let mut count = 0;
    for entry in fs::read_dir(root().join("tests/mutants"))? {
        let path = entry?.path();
        if path.extension().is_none_or(|kind| kind != "patch") {
            continue;
        }
        let fits = Command::new("git")
            .current_dir(root())
            .args(["apply", "--check"])
            .arg(&path)
            .status()?;
        assert!(fits.success(), "{}", path.display());
        count += 1;
    }
    assert!(count > 150, "{count}");
    Ok(())
}
