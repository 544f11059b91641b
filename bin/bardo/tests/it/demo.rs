//! `bardo demo`.

use crate::command::bardo;
use anyhow::Result;
use std::process::Command;

#[test]
fn the_demo_ends_by_itself_without_a_surprise_and_its_last_line_counts() -> Result<()> {
    let ran = bardo(["demo"])?;

    assert_eq!(ran.code, 0, "{}", ran.stdout);
    let steps = ran.stdout.lines().filter(|line| line.contains(". ok ")).count();
    let last = ran.stdout.lines().last().unwrap_or_default();
    assert_eq!(last, format!("demo: {steps} steps, {steps} as expected, 0 surprises"));
    assert!(steps > 30, "{steps}");
    Ok(())
}

#[test]
fn in_json_it_answers_once_with_every_step() -> Result<()> {
    let ran = bardo(["demo", "--json"])?;

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

/// Plays on a chain where `enforcer` agrees to everything.
fn on_a_chain_without(enforcer: alloy::primitives::Address) -> Result<(Option<i32>, String)> {
    let folder = tempfile::tempdir()?;
    let root = bardo_testkit::root();
    for name in ["node_modules", "crates"] {
        std::os::unix::fs::symlink(root.join(name), folder.path().join(name))?;
    }
    let devchain = folder.path().join(".devchain");
    std::fs::create_dir(&devchain)?;
    std::fs::copy(root.join(".devchain/book.json"), devchain.join("book.json"))?;
    let state = std::fs::read_to_string(root.join(".devchain/state.json"))?;
    let mut state: serde_json::Value = serde_json::from_str(&state)?;
    // STOP: every hook agrees.
    let at = enforcer.to_string().to_lowercase();
    state["accounts"][at.as_str()]["code"] = serde_json::json!("0x00");
    std::fs::write(devchain.join("state.json"), state.to_string())?;
    let output = Command::new(env!("CARGO_BIN_EXE_bardo"))
        .arg("demo")
        .env("BARDO_HOME", folder.path())
        .output()?;
    Ok((output.status.code(), String::from_utf8(output.stdout)?))
}

#[test]
fn a_chain_that_does_not_keep_the_rules_is_a_surprise_and_a_failure() -> Result<()> {
    let (code, said) = on_a_chain_without(bardo_bindings::mortality_time_window_enforcer())?;

    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("SURPRISE"), "{said}");
    assert!(!said.ends_with(" 0 surprises\n"), "{said}");
    Ok(())
}

/// Refused, but by another rule than the one that was tried: that is a surprise too.
#[test]
fn a_refusal_for_another_reason_is_a_surprise() -> Result<()> {
    let (code, said) = on_a_chain_without(golem_delegation::enforcers::ALLOWED_TARGETS)?;

    assert_eq!(code, Some(1), "{said}");
    let line = said.lines().find(|line| line.contains("another contract")).unwrap_or_default();
    assert!(line.contains("SURPRISE"), "{said}");
    Ok(())
}
