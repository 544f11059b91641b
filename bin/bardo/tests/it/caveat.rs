//! `bardo caveat`.

use crate::command::{bardo, bardo_with};
use alloy::primitives::Address;
use anyhow::{Context, Result};
use bardo_testkit::root;
use golem_delegation::{Kind, enforcers};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

/// One row of every kind, stock and ours.
fn rows() -> Result<BTreeMap<String, Value>> {
    let mut rows = BTreeMap::new();
    for file in ["stock-terms.json", "golem-terms.json"] {
        let text = fs::read_to_string(root().join("testdata/vectors").join(file))?;
        let file: Value = serde_json::from_str(&text)?;
        for row in file["vectors"].as_array().context("no rows")? {
            let kind = row["kind"].as_str().context("no kind")?;
            if row["refused"].is_null() {
                rows.entry(kind.to_owned()).or_insert_with(|| row.clone());
            }
        }
    }
    Ok(rows)
}

#[test]
fn every_kind_is_encoded_and_decoded_to_the_same_parameters() -> Result<()> {
    let rows = rows()?;
    let environment = golem_chain::environment();

    assert_eq!(rows.len(), golem_delegation::Kind::ALL.len());
    for (kind, row) in rows {
        let params = row["params"].to_string();
        let terms = row["terms"].as_str().unwrap();
        let encode = ["caveat", "encode", "--kind", &kind, "--params"];

        let inline = bardo(encode.iter().chain(&[params.as_str()]))?;
        let piped = bardo_with(&params, encode.iter().chain(&["-", "--json"]))?;
        let enforcer = environment.enforcer(kind.parse()?).unwrap().to_string();
        let decoded = bardo(["caveat", "decode", "--enforcer", &enforcer, "--terms", terms])?;

        assert_eq!((inline.code, inline.stdout.trim()), (0, terms), "{kind}");
        assert_eq!(
            piped.json()?,
            json!({ "enforcer": enforcer.parse::<Address>()?, "terms": terms }),
            "{kind}"
        );
        assert_eq!(decoded.json()?, json!({ "kind": kind, "params": row["params"] }), "{kind}");
    }
    Ok(())
}

#[test]
fn an_unknown_enforcer_is_shown_as_opaque_and_encodes_again() -> Result<()> {
    let enforcer = format!("0x{}", "77".repeat(20));
    let decoded =
        bardo_with("0x0102\n", ["caveat", "decode", "--enforcer", &enforcer, "--terms", "-"])?;
    let shown = decoded.json()?;
    let params = shown["params"].to_string();
    let encoded = bardo(["caveat", "encode", "--kind", "opaque", "--params", &params])?;

    assert_eq!(
        shown,
        json!({ "kind": "opaque", "params": { "enforcer": enforcer, "terms": "0x0102" } })
    );
    assert_eq!(encoded.stdout.trim(), "0x0102");
    Ok(())
}

#[test]
fn what_the_contract_would_refuse_exits_1_and_says_why() -> Result<()> {
    for (kind, params, said) in [
        ("limitedCalls", r#"{"limit":9007199254740992}"#, "limit: 9007199254740992"),
        ("limitedCalls", r#"{"limit":"-1"}"#, "limit: "),
        ("limitedCalls", "{}", "missing field `limit`"),
        ("allowedTargets", r#"{"targets":[]}"#, "terms have 0 bytes"),
        ("allowedTargets", r#"{"targets":["0x01"]}"#, "targets: entry 0: 1 bytes"),
        ("allowedCalldata", r#"{"startIndex":0,"value":"0x"}"#, "33 or more"),
    ] {
        let words = ["caveat", "encode", "--kind", kind, "--params", params];
        let ran = bardo(words)?;
        let json = bardo(words.iter().chain(&["--json"]))?;
        assert_eq!((ran.code, json.code), (1, 1), "{params}: {ran:?}");
        assert!(ran.stdout.contains(said), "{params}: {ran:?}");
        assert_eq!(json.json()?["reason"], ran.stdout.trim(), "{params}");
    }
    for (params, said) in
        [(r#"{"limit":"1"} 2"#, "trailing"), (r#"{"limit":"1""#, "EOF"), ("not json", "expected")]
    {
        let ran = bardo(["caveat", "encode", "--kind", "limitedCalls", "--params", params])?;
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{params}: no JSON is wrong use");
        assert!(ran.stderr.contains(said), "{params}: {ran:?}");
    }
    for (enforcer, terms) in [
        (enforcers::TIMESTAMP, "0x00".to_owned()),
        (enforcers::ALLOWED_CALLDATA, format!("0x{}", "00".repeat(32))),
        (enforcers::APPROVAL_REVOCATION, "0x40".to_owned()),
        (enforcers::NATIVE_TOKEN_PERIOD_TRANSFER, format!("0x{}", "00".repeat(96))),
        (enforcers::EXACT_EXECUTION_BATCH, format!("0x{}", "00".repeat(64))),
    ] {
        let enforcer = enforcer.to_string();
        let ran = bardo(["caveat", "decode", "--enforcer", &enforcer, "--terms", &terms])?;
        assert_eq!(ran.code, 1, "{enforcer}: {ran:?}");
        assert!(!ran.stdout.is_empty(), "{enforcer}");
    }
    Ok(())
}

/// Whoever writes a caveat by hand finds its kind and its contract.
#[test]
fn every_kind_is_listed_with_its_contract() -> Result<()> {
    let listed = bardo(["caveat", "kinds", "--json"])?.json()?;
    let rows = listed.as_array().unwrap();

    assert_eq!(rows.len(), Kind::ALL.len());
    for row in rows {
        let enforcer = row["enforcer"].as_str().unwrap();
        let kind: Kind = row["kind"].as_str().unwrap().parse()?;
        assert_eq!(golem_chain::environment().enforcer(kind), Some(enforcer.parse()?));
    }
    let encoded = bardo([
        "caveat",
        "encode",
        "--kind",
        "limitedCalls",
        "--params",
        r#"{"limit":"3"}"#,
        "--json",
    ])?;
    assert_eq!(encoded.json()?["enforcer"], json!(enforcers::LIMITED_CALLS));
    let unknown = bardo(["caveat", "encode", "--kind", "nope", "--params", "{}"])?;
    assert_eq!(unknown.code, 2);
    assert!(unknown.stderr.contains("bardo caveat kinds"), "{}", unknown.stderr);
    Ok(())
}
