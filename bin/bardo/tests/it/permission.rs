//! `bardo permission`.

use crate::command::{bardo, bardo_with};
use anyhow::Result;
use bardo_testkit::root;
use serde_json::{Value, json};
use std::fs;

const USDC: &str = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913=USDC:6";

fn vectors() -> Result<Value> {
    let file = fs::read_to_string(root().join("testdata/vectors/permissions.json"))?;
    Ok(serde_json::from_str(&file)?)
}

#[test]
fn a_request_in_any_form_is_explained() -> Result<()> {
    let file = vectors()?;
    let cases = [
        ("today", &file["today"][0]["request"], "Up to 10 USDC in each period of 1 day"),
        ("2025", &file["year2025"][0]["request"], "Up to 10 USDC in each period of 1 day"),
        ("draft", &file["draft"]["request"], "Up to 1000 USDC in each period of 1 day"),
    ];
    for (form, request, words) in cases {
        let ran =
            bardo_with(&request.to_string(), ["permission", "explain", "-", "--token", USDC])?;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains(words), "{form}: {}", ran.stdout);
        assert!(ran.stdout.contains("leaves your account when it is redeemed"), "{}", ran.stdout);
        let ran = bardo_with(&request.to_string(), ["permission", "explain", "-", "--json"])?;
        assert_eq!(ran.json()?["form"], form);
        assert_eq!(ran.json()?["kind"], "request");
    }
    Ok(())
}

#[test]
fn an_answer_is_checked_and_what_the_owner_changed_is_said() -> Result<()> {
    let file = vectors()?;
    let folder = tempfile::tempdir()?;
    let request = folder.path().join("request.json");
    fs::write(&request, file["today"][0]["request"].to_string())?;
    let request = request.display().to_string();
    let less = file["edits"][0]["answer"].to_string();
    let words = ["permission", "explain", "-", "--request", &request, "--token", USDC];

    let ran = bardo_with(&less, words)?;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stdout.contains("- The amount was lowered from 10 USDC to 5 USDC."),
        "{}",
        ran.stdout
    );
    let json = bardo_with(&less, words.iter().chain(&["--json"]))?.json()?;
    assert_eq!(json["permissions"][0]["edits"], json!(["amountLowered"]));
    assert_eq!(json["permissions"][0]["periodAmount"], "5000000");
    assert_eq!(json["permissions"][0]["signed"], "ownersKey");
    let same = bardo_with(&file["today"][0]["answer"].to_string(), words)?;
    assert!(same.stdout.contains("It is what was asked for."));
    Ok(())
}

#[test]
fn an_answer_that_says_other_than_its_caveats_is_a_refusal() -> Result<()> {
    let file = vectors()?;
    let mut lie = file["today"][0]["answer"].clone();
    lie["permission"]["data"]["periodAmount"] = json!("0x989681");

    let ran = bardo_with(&lie.to_string(), ["permission", "explain", "-"])?;

    assert_eq!(ran.code, 1, "{ran:?}");
    let said = ran.stdout.replace('\n', " ");
    assert!(said.contains("the answer says 10000001, the signed caveats say 10000000"), "{said}");
    let json = bardo_with(&lie.to_string(), ["permission", "explain", "-", "--json"])?;
    assert_eq!((json.code, &json.json()?["permissions"][0]["granted"]), (1, &json!(false)));
    let honest = file["today"][0]["answer"].to_string();
    let other = format!("0x{}", "11".repeat(20));
    for flag in ["--session", "--manager"] {
        let ran = bardo_with(&honest, ["permission", "explain", "-", flag, &other])?;
        assert_eq!(ran.code, 1, "{flag}: {ran:?}");
        let ran = bardo_with(&honest, ["permission", "health", "-", "--spent", "0", flag, &other])?;
        assert_eq!(ran.code, 1, "{flag}: {ran:?}");
    }
    Ok(())
}

/// G10.
#[test]
fn health_follows_what_is_left_of_cap_and_time() -> Result<()> {
    let answer = vectors()?["today"][0]["answer"].to_string();
    let health = |more: &[&str]| {
        bardo_with(&answer, [&["permission", "health", "-", "--json", "--spent"], more].concat())
    };
    for (spent, now, word, code) in [
        ("4999999", "1800000000", "healthy", 0),
        ("5000000", "1800000000", "low", 0),
        ("9000000", "1800000000", "low", 0),
        ("9000001", "1800000000", "critical", 0),
        ("0", "1801987199", "healthy", 0),
        ("0", "1801987200", "low", 0),
        ("0", "1802505600", "low", 0),
        ("0", "1802505601", "critical", 0),
        ("0", "1802591999", "critical", 0),
        ("0", "1802592000", "revoked", 1),
    ] {
        let ran = health(&[spent, "--now", now])?;
        assert_eq!((ran.json()?["health"].as_str(), ran.code), (Some(word), code), "{spent} {now}");
    }
    let revoked = health(&["0", "--now", "1800000000", "--disabled"])?;
    assert_eq!(revoked.code, 1);
    assert_eq!(revoked.json()?["cause"], "revokedByOwner");
    let expired = health(&["0", "--now", "1802592000"])?.json()?;
    assert_eq!((&expired["cause"], &expired["left"]), (&json!("expired"), &json!("0")));
    assert!(expired["periodEnds"].is_null(), "what is dead is never whole again: {expired}");
    let dead = ["permission", "health", "-", "--spent", "0", "--now", "1800000000", "--disabled"];
    assert_eq!(bardo_with(&answer, dead)?.stdout, "revoked: the owner took it back\n");
    assert_eq!(health(&["0", "--now", "253402300800"])?.code, 2, "after the last date there is");
    let words =
        ["permission", "health", "-", "--spent", "1", "--now", "1800000000", "--token", USDC];
    let said = bardo_with(&answer, words)?.stdout;
    assert!(said.contains("left: 9.999999 USDC of 10 USDC"), "{said}");
    assert!(said.contains("whole again at 2027-01-16T08:00:00Z"), "{said}");
    assert!(said.ends_with("it ends in 30 days\n"), "{said}");
    // Without --now it is now, whenever that is.
    assert!(health(&["0"])?.json()?["now"].as_u64().is_some_and(|now| now > 1_700_000_000));
    Ok(())
}

#[test]
fn what_is_no_permission_is_wrong_use() -> Result<()> {
    let request = vectors()?["today"][0]["request"].to_string();
    for (input, words) in [
        ("", &["permission", "explain", "-"][..]),
        ("{}", &["permission", "explain", "-"]),
        ("{\"surprise\":1}", &["permission", "explain", "-"]),
        (&request, &["permission", "health", "-", "--spent", "0"]),
        (&request, &["permission", "explain", "-", "--token", "USDC"]),
        (&request, &["permission", "explain", "-", "--token", "native=ETH:78"]),
        (&request, &["permission", "health", "-", "--spent", "0x1"]),
        (&request, &["permission", "health", "-"]),
    ] {
        let ran = bardo_with(input, words)?;
        assert_eq!(ran.code, 2, "{words:?}: {ran:?}");
        assert!(ran.stdout.is_empty());
    }
    assert_eq!(bardo(["permission", "explain", "/no/such/file"])?.code, 2);
    Ok(())
}
