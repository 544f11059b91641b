//! `bardo delegation explain`, `tree`, and `verify` of chains and passkeys.

use crate::command::{Ran, bardo_with};
use anyhow::{Context, Result};
use bardo_testkit::root;
use golem_chain::environment;
use golem_delegation::{Delegation, Kind, PermissionContext};
use serde_json::{Value, json};
use std::fs;

fn vectors(file: &str) -> Result<Value> {
    Ok(serde_json::from_str(&fs::read_to_string(root().join("testdata/vectors").join(file))?)?)
}

/// A chain of `length` that MetaMask's kit signed for Base, leaf first.
fn chain(length: usize) -> Result<Vec<Delegation>> {
    let file = vectors("delegations.json")?;
    let all = file["delegations"].as_array().context("no delegations")?;
    let mut links = Vec::new();
    for at in (1..=length).rev() {
        let name = json!(format!("link {at} of a chain of {length}"));
        let found = all.iter().find(|one| one["name"] == name).context("no such link")?;
        links.push(serde_json::from_value(found["delegation"].clone())?);
    }
    Ok(links)
}

fn run(input: &impl serde::Serialize, words: &[&str]) -> Result<Ran> {
    bardo_with(&serde_json::to_string(input)?, words)
}

#[test]
fn a_tree_is_drawn_from_lines_in_any_order_and_from_a_context() -> Result<()> {
    let links = chain(3)?;
    let context = PermissionContext::new(links.clone())?.encode();
    let lines: String =
        links.iter().map(|link| Ok(serde_json::to_string(link)? + "\n")).collect::<Result<_>>()?;
    let words = ["delegation", "tree", "-"];

    let drawn = run(&links, &words)?;
    let from_lines = bardo_with(&lines, words)?;
    let from_context = bardo_with(&context.to_string(), words)?;

    assert_eq!(drawn.code, 0, "{drawn:?}");
    let lines: Vec<&str> = drawn.stdout.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[1].starts_with("└── 0x") && lines[2].starts_with("    └── 0x"), "{drawn:?}");
    assert!(lines.iter().all(|line| line.ends_with("state unknown")));
    assert_eq!(from_lines.stdout, drawn.stdout);
    assert_eq!(from_context.stdout, drawn.stdout);
    Ok(())
}

/// SPEC G5.
#[test]
fn a_revoked_parent_shows_its_children_dead() -> Result<()> {
    let links = chain(3)?;
    let [leaf, middle, top] = [0, 1, 2].map(|at: usize| links[at].hash().to_string());
    let state = |hash: &str, state: &str| format!("{hash}={state}");
    let (alive, dead) = (state(&top, "active"), state(&middle, "revoked"));
    let words = ["delegation", "tree", "-", "--json", "--state", &alive, "--state", &dead];

    let drawn = run(&links, &words)?.json()?;

    let node = |hash: &str| -> Value {
        let nodes = drawn["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["hash"] == json!(hash)).unwrap().clone()
    };
    assert_eq!((&node(&top)["state"], &node(&top)["killedBy"]), (&json!("active"), &Value::Null));
    assert_eq!(node(&leaf)["state"], "revoked");
    assert_eq!(node(&leaf)["killedBy"], json!(middle));
    assert_eq!((&node(&leaf)["depth"], &node(&leaf)["parent"]), (&json!(2), &json!(middle)));
    let stranger = format!("0x{}=active", "11".repeat(32));
    for wrong in [stranger.as_str(), "0x11=active", &format!("{top}=well"), &top] {
        let refused = run(&links, &["delegation", "tree", "-", "--state", wrong])?;
        assert_eq!(refused.code, 2, "{wrong}: {refused:?}");
    }
    Ok(())
}

/// ATK-10.
#[test]
fn what_is_no_tree_is_refused_with_the_reason() -> Result<()> {
    let links = chain(3)?;
    let twice = [links.clone(), links.clone()].concat();

    for (given, reason) in [(&links[..2], "which is not there"), (&twice, "is there twice")] {
        let refused = run(&given, &["delegation", "tree", "-", "--json"])?;
        assert_eq!(refused.code, 1, "{refused:?}");
        let answer = refused.json()?;
        assert_eq!(answer["valid"], false);
        assert!(answer["reason"].as_str().unwrap().contains(reason), "{answer}");
    }
    Ok(())
}

#[test]
fn a_grant_is_explained_with_what_it_leaves_open() -> Result<()> {
    let enforcer = environment().enforcer(Kind::LimitedCalls).context("no enforcer")?;
    let grant = json!({
        "delegate": format!("0x{}", "01".repeat(20)),
        "delegator": format!("0x{}", "02".repeat(20)),
        "authority": format!("0x{}", "ff".repeat(32)),
        "caveats": [
            { "enforcer": enforcer, "terms": format!("0x{:064x}", 3), "args": "0x" },
            { "enforcer": format!("0x{}", "03".repeat(20)), "terms": "0x", "args": "0x" },
        ],
        "salt": "0x0",
        "signature": "0x"
    });

    let said = run(&grant, &["delegation", "explain", "-"])?;
    let answer = run(&grant, &["delegation", "explain", "-", "--json"])?.json()?;

    assert_eq!(said.code, 0, "{said:?}");
    for part in [
        "may act for",
        "1. It can be used 3 times at most.",
        "2. An unknown enforcer 0x0303",
        "! no expiry",
        "! no spend bound",
        "! no signature",
        "! one unknown enforcer",
    ] {
        assert!(said.stdout.contains(part), "no {part:?} in {}", said.stdout);
    }
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    let caveats = &answer[0]["caveats"];
    assert_eq!(caveats[0]["kind"], "limitedCalls");
    assert_eq!(caveats[0]["sentences"], json!(["It can be used 3 times at most."]));
    assert_eq!(caveats[0]["params"]["limit"], "3");
    assert_eq!(caveats[1]["kind"], "opaque");
    assert_eq!(answer[0]["missing"].as_array().map(Vec::len), Some(4));
    Ok(())
}

#[test]
fn a_chain_is_verified_link_by_link() -> Result<()> {
    let links = chain(3)?;
    let words = ["delegation", "verify", "-", "--chain-id", "8453"];
    let mut forged = links.clone();
    forged[1].signature = links[0].signature.clone();
    let broken = [links[0].clone(), links[2].clone()];

    let sound = run(&links, &words)?;
    let refused = run(&forged, &[&words[..], &["--json"]].concat())?;
    let apart = run(&broken, &words)?;

    assert_eq!(sound.code, 0, "{sound:?}");
    assert_eq!(sound.stdout.lines().count(), 3);
    assert_eq!(refused.code, 1);
    let verdicts: Vec<Value> = refused.json()?["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["valid"].clone())
        .collect();
    assert_eq!(verdicts, [true, false, true]);
    assert_eq!(apart.code, 1);
    assert!(apart.stdout.contains("authority of link 0"), "{apart:?}");
    Ok(())
}

#[test]
fn a_passkey_is_verified_and_held_to_what_is_demanded() -> Result<()> {
    let file = vectors("hybrid-owners.json")?;
    let passkeys = file["passkeys"].as_array().context("no passkeys")?;
    let (first, present) = (&passkeys[0], &passkeys[1]);
    let owner = |one: &Value| {
        let text = |field: &str| one[field].as_str().unwrap().to_owned();
        format!("{},{},{}", text("keyId"), text("x"), text("y"))
    };
    let verify = |one: &Value, more: &[&str]| {
        let chain_id = one["chainId"].to_string();
        let words = ["delegation", "verify", "-", "--chain-id", &chain_id];
        run(&one["delegation"], &[&words[..], more].concat())
    };

    let signed = verify(first, &["--passkey", &owner(first), "--json"])?;
    assert_eq!(signed.code, 0, "{signed:?}");
    assert_eq!(signed.json()?["passkey"], first["keyIdHash"]);
    let demands = ["--relying-party", "bardo.example", "--user-verified"];
    assert_eq!(verify(first, &[&["--passkey", &owner(first)], &demands[..]].concat())?.code, 0);
    let other_site = ["--passkey", &owner(first), "--relying-party", "thief.example"];
    assert_eq!(verify(first, &other_site)?.code, 1);
    let unverified = verify(present, &["--passkey", &owner(present), "--user-verified", "--json"])?;
    assert_eq!(unverified.code, 1);
    assert!(unverified.json()?["reason"].as_str().unwrap().contains("did not verify its user"));
    assert_eq!(verify(first, &["--passkey", &owner(present)])?.code, 1, "another key");
    assert_eq!(verify(first, &[])?.code, 1, "no plain key signed it");
    for wrong in ["id", "id,1,2", "id,0x1,0xg", ",0x1,0x2", &format!("id,0x1,0x{}", "1".repeat(65))]
    {
        assert_eq!(verify(first, &["--passkey", wrong])?.code, 2, "{wrong}");
    }
    let both =
        ["--passkey", &owner(first), "--signer", "0x0101010101010101010101010101010101010101"];
    assert_eq!(verify(first, &both)?.code, 2);
    assert_eq!(verify(first, &["--user-verified"])?.code, 2);
    Ok(())
}
