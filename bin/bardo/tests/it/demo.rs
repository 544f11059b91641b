//! `bardo demo`.

use crate::{
    command::bardo,
    report::{
        browser, counted, page,
        witness::{Scene, Witness},
    },
};
use alloy::primitives::Address;
use anyhow::{Context as _, Result};
use golem_chain::{Node, local::LocalFiles};
use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

#[test]
fn the_demo_ends_by_itself_without_a_surprise_and_its_last_line_counts() -> Result<()> {
    let ran = bardo(["demo", "--only", "grants"])?;

    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let steps = ran.stdout.lines().filter(|line| line.contains(". ok ")).count();
    let last = ran.stdout.lines().last().unwrap_or_default();
    assert_eq!(last, format!("demo: {steps} steps, {steps} as expected, 0 surprises"));
    assert!(steps > 30, "{steps}");
    Ok(())
}

#[test]
fn in_json_it_answers_once_with_every_step() -> Result<()> {
    let ran = bardo(["demo", "--only", "grants", "--json"])?;

    let answer = ran.json()?;
    assert_eq!(answer["surprises"], 0);
    let steps = answer["steps"].as_array().unwrap();
    assert!(steps.iter().all(|step| step["expected"] == true));
    for words in [
        "msg.sender",
        "the owner revokes",
        "no ETH",
        "another contract",
        "a swap that pays the thief",
    ] {
        let said = steps.iter().filter(|s| s["title"].as_str().unwrap().contains(words)).count();
        assert_eq!(said, 2, "{words}: once for each kind of owner");
    }
    Ok(())
}

#[test]
fn without_a_built_chain_it_says_how_to_build_one() -> Result<()> {
    let folder = tempfile::tempdir()?;

    let output = Command::new(env!("CARGO_BIN_EXE_bardo"))
        .arg("demo")
        .env("BARDO_HOME", folder.path())
        .output()?;

    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("make devchain"));
    Ok(())
}

/// A folder that has the local chain, and where the play may write.
fn home() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let root = bardo_testkit::root();
    for name in ["node_modules", "crates"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name))?;
    }
    let devchain = folder.path().join(".devchain");
    std::fs::create_dir(&devchain)?;
    for name in ["book.json", "state.json"] {
        std::fs::copy(root.join(".devchain").join(name), devchain.join(name))?;
    }
    Ok(folder)
}

fn plays(folder: &TempDir, words: &[&str]) -> Result<(Option<i32>, String)> {
    let output = Command::new(env!("CARGO_BIN_EXE_bardo"))
        .arg("demo")
        .args(words)
        .env("BARDO_HOME", folder.path())
        .output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?))
}

/// Plays on a chain where `enforcer` agrees to everything.
fn on_a_chain_without(part: &str, enforcer: Address) -> Result<(Option<i32>, String)> {
    // STOP: every hook agrees.
    on_a_chain_with(part, enforcer, "0x00")
}

fn on_a_chain_with(part: &str, enforcer: Address, code: &str) -> Result<(Option<i32>, String)> {
    let folder = home()?;
    let path = folder.path().join(".devchain/state.json");
    let mut state: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    let at = enforcer.to_string().to_lowercase();
    state["accounts"][at.as_str()]["code"] = serde_json::json!(code);
    std::fs::write(path, state.to_string())?;
    plays(&folder, &["--only", part])
}

/// Plays a life, and looks at what it left while its chain and folder are there still.
async fn plays_and_looks<T>(
    folder: &TempDir,
    look: impl AsyncFnOnce(Value) -> Result<T>,
) -> Result<(T, Option<i32>, String)> {
    let mut play = Command::new(env!("CARGO_BIN_EXE_bardo"))
        .args(["demo", "--only", "life", "--stay", "--json"])
        .env("BARDO_HOME", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut told = BufReader::new(play.stderr.take().context("no standard error")?).lines();
    let left = loop {
        let line = told.next().context("it went before anybody looked")??;
        if let Some((_, left)) = line.split_once("stays until standard input ends: ") {
            break serde_json::from_str(left)?;
        }
    };
    let seen = look(left).await;
    drop(play.stdin.take());
    let mut said = String::new();
    play.stdout.take().context("no standard output")?.read_to_string(&mut said)?;
    Ok((seen?, play.wait()?.code(), said))
}

/// Every figure of its page, from a chain of three keys, a child, a thief and a runway.
async fn counts_again(folder: &Path, left: Value) -> Result<(String, Witness)> {
    let word = |name: &str| left[name].as_str().with_context(|| format!("no {name}: {left}"));
    let scene = Scene {
        node: Node::connect(&word("rpc")?.parse()?).await?,
        book: LocalFiles::at(folder).address_book()?,
        golem: word("golem")?.parse()?,
        account: word("account")?.parse()?,
        owner: word("owner")?.parse()?,
        data: word("data")?.into(),
        charter: word("charter")?.into(),
        began: 0,
    };
    let witness = Witness::of(scene).await?;
    let html = std::fs::read_to_string(folder.join("target/demo/report.html"))?;
    counted::all(&witness, &page::embedded(&html)?).await?;
    Ok((html, witness))
}

/// The whole life, and its page: every figure is what chain and log say, nothing runs off a screen, nobody is asked for anything.
#[tokio::test]
async fn a_golem_lives_its_whole_life_without_a_surprise() -> Result<()> {
    let folder = home()?;

    let looked =
        plays_and_looks(&folder, async |left| counts_again(folder.path(), left).await).await?;

    let ((html, witness), code, said) = looked;
    assert_eq!(code, Some(0), "{said}");
    let lived = (witness.keys.len(), witness.children.len());
    assert_eq!(lived, (3, 1), "three keys and a child");
    let answer: Value = serde_json::from_str(&said)?;
    assert_eq!(answer["surprises"], 0, "{answer}");
    let steps = answer["steps"].as_array().unwrap();
    for words in [
        "becomes the owner",
        "on Uniswap",
        "makes a Replicant",
        "the child's own process buys",
        "above its share the chain refuses",
        "so is the child",
        "runway",
        "it dreams",
        "because of how it feels",
        "Conservation by itself",
        "buy nothing new",
        "feeds it",
        "another key",
        "the most that it can cost",
        "the thief sends what he likes",
        "revokes by one transaction",
        "it declines",
        "it dies",
        "settled",
        "audit log is whole",
        "sealed for its owner",
        "on one page",
    ] {
        let told = steps.iter().any(|step| step["title"].as_str().unwrap().contains(words));
        assert!(told, "{words}: {answer}");
    }
    let story = page::embedded(&html)?;
    for figure in page::figures(&html)? {
        page::holds(&figure, &story)?;
    }
    assert_eq!(page::stray_digits(&html), Vec::<String>::new());
    page::at_a_glance(&html)?;
    let child = &story["replicants"][0];
    assert_eq!((&child["spent"], &child["trades"]), (&60_000_000.into(), &1.into()), "{child}");
    let told = story["timeline"].as_array().unwrap();
    for words in ["Had a child", "Its child swapped 60.00 USDC for", "Its child ended"] {
        assert!(
            told.iter().any(|one| one["title"].as_str().unwrap().starts_with(words)),
            "{words}"
        );
    }
    browser::at_home_on_any_screen(&html)
}

/// Of grants nothing is left that could be looked at.
#[test]
fn staying_without_a_life_is_wrong_use() -> Result<()> {
    assert_eq!(bardo(["demo", "--only", "grants", "--stay"])?.code, 2);
    Ok(())
}

/// A thief who is not bounded, and a Golem that is not, are seen.
#[test]
fn a_life_on_a_chain_without_charters_is_a_surprise() -> Result<()> {
    let (code, said) = on_a_chain_without("life", bardo_bindings::golem_charter_enforcer())?;

    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("SURPRISE") && !said.ends_with(" 0 surprises\n"), "{said}");
    Ok(())
}

/// A child that nothing bounds is seen.
#[test]
fn a_life_on_a_chain_where_children_have_no_share_is_a_surprise() -> Result<()> {
    // Every hook agrees, and nothing is ever spent.
    let enforcer = bardo_bindings::replicant_budget_enforcer();
    let (code, said) = on_a_chain_with("life", enforcer, "0x60206000f3")?;

    assert_eq!(code, Some(1), "{said}");
    let line = said.lines().find(|line| line.contains("above its share")).unwrap_or_default();
    assert!(line.contains("SURPRISE"), "{said}");
    Ok(())
}

#[test]
fn a_chain_that_does_not_keep_the_rules_is_a_surprise_and_a_failure() -> Result<()> {
    let (code, said) =
        on_a_chain_without("grants", bardo_bindings::mortality_time_window_enforcer())?;

    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("SURPRISE"), "{said}");
    assert!(!said.ends_with(" 0 surprises\n"), "{said}");
    Ok(())
}

/// Refused, but by another rule than the one that was tried: that is a surprise too.
#[test]
fn a_refusal_for_another_reason_is_a_surprise() -> Result<()> {
    let (code, said) = on_a_chain_without("grants", golem_delegation::enforcers::ALLOWED_TARGETS)?;

    assert_eq!(code, Some(1), "{said}");
    let line = said.lines().find(|line| line.contains("another contract")).unwrap_or_default();
    assert!(line.contains("SURPRISE"), "{said}");
    Ok(())
}
