//! Every kind of caveat: parameters as JSON, terms as bytes, and what is refused on the way.

use crate::fixtures::read;
use alloy_primitives::{Address, Bytes, U256};
use golem_delegation::{
    Caveat, Environment, Kind, Opaque, Rule, TermsError, enforcers,
    terms::{ExactExecutionBatch, LimitedCalls, LogicalOrWrapper, NativeTokenTransferAmount},
};
use serde::{Deserialize, de::DeserializeSeed};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Rows of each kind that the packages themselves, or viem for our own, must have made.
const ROWS: usize = 10;

/// The packages write it for a contract that is gone; viem writes it as the one at the address reads it.
const MISWRITTEN: Kind = Kind::SpecificActionErc20TransferBatch;

#[derive(Debug, Deserialize)]
struct File {
    vectors: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    kind: String,
    params: Value,
    enforcer: Option<Address>,
    terms: Bytes,
    /// Who made it, where MetaMask's packages would not.
    by: Option<String>,
    /// The packages write it, and the contract refuses it.
    #[serde(default)]
    refused: bool,
}

fn rows() -> Vec<Row> {
    let files = ["stock-terms.json", "golem-terms.json"];
    files.into_iter().flat_map(|file| read::<File>(file).vectors).collect()
}

fn parse(kind: Kind, params: &Value) -> serde_json::Result<Rule> {
    kind.deserialize(&mut serde_json::Deserializer::from_str(&params.to_string()))
}

#[test]
fn every_set_of_parameters_gives_the_terms_and_comes_back_from_them() {
    let mut seen: BTreeMap<Kind, usize> = BTreeMap::new();

    for row in rows().into_iter().filter(|row| !row.refused) {
        let kind: Kind = row.kind.parse().unwrap();
        let stated = json!({ "kind": row.kind, "params": row.params });
        let rule = parse(kind, &row.params).unwrap_or_else(|error| panic!("{stated}: {error}"));

        assert_eq!(rule.kind(), Some(kind));
        assert_eq!(rule.encode().unwrap(), row.terms, "{stated}");
        assert_eq!(Rule::decode(kind, &row.terms), Ok(rule.clone()), "{stated}");
        assert_eq!(serde_json::to_value(&rule).unwrap(), stated);
        assert_eq!(serde_json::from_value::<Rule>(stated).unwrap(), rule);
        if row.by.is_none() || kind == MISWRITTEN {
            *seen.entry(kind).or_default() += 1;
        }
    }

    for kind in Kind::ALL {
        let rows = seen.get(kind).copied().unwrap_or_default();
        assert!(rows >= ROWS, "{kind}: {rows} rows");
    }
}

#[test]
fn every_stock_enforcer_is_where_the_kit_has_it() {
    let stock = Environment::stock();
    let mut met = BTreeMap::new();

    for row in rows() {
        let Some(enforcer) = row.enforcer else { continue };
        let kind: Kind = row.kind.parse().unwrap();
        assert_eq!(stock.enforcer(kind), Some(enforcer), "{kind}");
        assert_eq!(stock.kind(enforcer), Some(kind), "{kind}");
        met.insert(enforcer, kind);
        if row.refused {
            continue;
        }
        let caveat = Caveat::new(enforcer, row.terms);
        let rule = stock.read(&caveat).unwrap();
        assert_eq!(stock.caveat(&rule), Ok(Some(caveat)), "{kind}");
    }

    assert_eq!(met.len(), 33);
    assert_eq!(enforcers::STOCK.len(), 33);
    assert!(enforcers::STOCK.iter().all(|(_, at)| met.contains_key(at)));
}

/// The kit would let an owner sign caveats that always revert: `allowedCalldata` without a value, and
/// `specificActionERC20TransferBatch` in the layout of an older contract.
#[test]
fn what_the_kit_writes_and_its_contract_refuses_is_refused() {
    let mut met: BTreeMap<Kind, usize> = BTreeMap::new();

    for row in rows().into_iter().filter(|row| row.refused) {
        let kind: Kind = row.kind.parse().unwrap();
        let said = parse(kind, &row.params).unwrap_err().to_string();
        let (least, reason) = match kind {
            MISWRITTEN => (124, "missing field `value`"),
            _ => (33, "terms have 32 bytes, the contract accepts 33 or more"),
        };
        let refusal = TermsError::TooShort { least, actual: row.terms.len() };
        assert_eq!(Rule::decode(kind, &row.terms), Err(refusal), "{kind}");
        assert!(said.starts_with(reason), "{said}");
        *met.entry(kind).or_default() += 1;
    }

    assert_eq!(met, BTreeMap::from([(Kind::AllowedCalldata, 1), (MISWRITTEN, 3)]));
}

#[test]
fn a_rule_reads_its_fields_in_any_order() {
    let rule = Rule::LimitedCalls(LimitedCalls(U256::from(3)));

    for text in [
        r#"{"kind":"limitedCalls","params":{"limit":"3"}}"#,
        r#"{"params":{"limit":"3"},"kind":"limitedCalls"}"#,
    ] {
        assert_eq!(serde_json::from_str::<Rule>(text).unwrap(), rule, "{text}");
    }
    for text in [
        r#"{"kind":"limitedCalls"}"#,
        r#"{"params":{"limit":"3"}}"#,
        r#"{"kind":"limitedCalls","params":{"limit":"3"},"more":1}"#,
        r#"{"kind":"limitedCalls","params":{"limit":"3"},"kind":"id"}"#,
        r#"{"kind":"LimitedCalls","params":{"limit":"3"}}"#,
        r#"{"kind":"limitedCalls","params":["3"]}"#,
        r#"{"kind":"limitedCalls","params":null}"#,
    ] {
        assert!(serde_json::from_str::<Rule>(text).is_err(), "{text}");
    }
}

#[test]
fn numbers_are_decimal_text_and_read_from_three_forms() {
    let read = |text: &str| {
        let text = format!(r#"{{"kind":"id","params":{{"id":{text}}}}}"#);
        serde_json::from_str::<Rule>(&text)
    };
    let most = format!("\"{}\"", U256::MAX);
    let beyond = format!("\"{}6\"", &most[1..most.len() - 2]);

    for (text, number) in [
        ("0", U256::ZERO),
        ("9007199254740991", U256::from(9_007_199_254_740_991_u64)),
        ("\"9007199254740993\"", U256::from(9_007_199_254_740_993_u64)),
        ("\"0x0\"", U256::ZERO),
        ("\"0xfF\"", U256::from(255)),
        (&format!("\"0x{}\"", "f".repeat(64)), U256::MAX),
        (&most, U256::MAX),
    ] {
        let rule = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let out = serde_json::to_value(&rule).unwrap();
        assert_eq!(out["params"]["id"], Value::String(number.to_string()), "{text}");
    }
    for text in [
        "9007199254740992",
        "-1",
        "1.0",
        "1e3",
        "\"\"",
        "\"0x\"",
        "\"0X1\"",
        "\"-1\"",
        "\"+1\"",
        "\" 1\"",
        "\"1_0\"",
        "\"01\"",
        "\"1.0\"",
        "\"١\"",
        "\"ff\"",
        &format!("\"0x{}\"", "0".repeat(65)),
        &beyond,
        "null",
        "true",
        "[1]",
    ] {
        let error = read(text).expect_err(text).to_string();
        assert!(error.starts_with("id: "), "{text}: {error}");
    }
}

/// Each is refused, and the refusal begins with the name of what is wrong.
#[test]
fn what_is_wrong_with_parameters_is_named() {
    let to = format!("0x{}", "11".repeat(20));
    let word = format!("0x{}", "22".repeat(32));
    let short = format!("0x{}", "11".repeat(19));
    let long = format!("0x{}", "11".repeat(21));
    let bare = "11".repeat(20);
    let twice = format!("0x0x{}", "11".repeat(20));

    for (kind, params, said) in [
        (Kind::AllowedTargets, json!({ "targets": [to, short] }), "targets: entry 1: 19 bytes"),
        (Kind::AllowedTargets, json!({ "targets": [long] }), "targets: entry 0: 21 bytes"),
        (Kind::AllowedTargets, json!({ "targets": [bare] }), "targets: entry 0: "),
        (Kind::AllowedTargets, json!({ "targets": [twice] }), "targets: entry 0: "),
        (Kind::AllowedTargets, json!({ "targets": to }), "targets: "),
        (Kind::AllowedTargets, json!({ "targets": [] }), "terms have 0 bytes"),
        (Kind::AllowedTargets, json!({}), "missing field `targets`"),
        (Kind::AllowedTargets, json!({ "targets": [to], "x": 1 }), "unknown field `x`"),
        (Kind::AllowedMethods, json!({ "selectors": ["0xa9059c"] }), "selectors: entry 0: 3 bytes"),
        (
            Kind::AllowedMethods,
            json!({ "selectors": ["transfer(address,uint256)"] }),
            "selectors: entry 0: ",
        ),
        (Kind::AllowedCalldata, json!({ "startIndex": 0, "value": "0x0" }), "value: "),
        (Kind::AllowedCalldata, json!({ "startIndex": 0, "value": "00" }), "value: "),
        (Kind::AllowedCalldata, json!({ "startIndex": -4, "value": "0x00" }), "startIndex: "),
        (
            Kind::Timestamp,
            json!({ "afterThreshold": 0, "beforeThreshold": format!("0x1{}", "0".repeat(32)) }),
            "beforeThreshold: ",
        ),
        (
            Kind::Erc20PeriodTransfer,
            json!({ "tokenAddress": to, "periodAmount": 1, "periodDuration": 1, "startDate": 0 }),
            "start date: none",
        ),
        (
            Kind::NativeTokenStreaming,
            json!({ "initialAmount": 2, "maxAmount": 1, "amountPerSecond": 1, "startTime": 1 }),
            "a stream begins with 2 and ends at 1",
        ),
        (
            Kind::NativeBalanceChange,
            json!({ "recipient": to, "balance": 1, "changeType": 256 }),
            "changeType: 256 does not fit 8 bits",
        ),
        (
            Kind::Deployed,
            json!({ "contractAddress": to, "salt": "0x01", "bytecode": "0x00" }),
            "salt: 1 bytes",
        ),
        (
            Kind::ExactExecution,
            json!({ "execution": { "target": to, "value": 0 } }),
            "execution: missing field `callData`",
        ),
        (
            Kind::ExactExecutionBatch,
            json!({ "executions": [{ "target": to, "value": 0, "callData": "0x", "a": 0 }] }),
            "executions: entry 0: unknown field `a`",
        ),
        (
            Kind::LogicalOrWrapper,
            json!({ "caveatGroups": [[{ "enforcer": to, "terms": "0x" }]] }),
            "caveatGroups: entry 0: entry 0: missing field `args`",
        ),
        (Kind::LogicalOrWrapper, json!({ "caveatGroups": [] }), "groups of caveats: none"),
        (
            Kind::ApprovalRevocation,
            json!({
                "erc20Approve": 1, "erc721Approve": false, "erc721SetApprovalForAll": false,
                "permit2Approve": false, "permit2Lockdown": false, "permit2InvalidateNonces": false
            }),
            "erc20Approve: ",
        ),
        (Kind::Cadence, json!({ "golemId": word, "period": 0, "count": 1 }), "period: zero"),
        (Kind::Cadence, json!({ "golemId": word, "period": 1, "count": 256 }), "count: 256"),
        (Kind::MortalityTimeWindow, json!({ "start": 2, "end": 1 }), "window ends at 1"),
        (
            Kind::Threshold,
            json!({ "needed": 1, "signers": [word[..42].to_owned(), to] }),
            "signer 1 is zero, or not above",
        ),
        (Kind::KnowledgeRoyalty, json!({ "market": to, "maxRoyaltyBps": 10_001 }), "10001 basis"),
    ] {
        let error = parse(kind, &params).expect_err(said).to_string();
        assert!(error.starts_with(said), "{kind}: {error}, not {said}");
    }
}

#[test]
fn a_field_that_stands_there_twice_is_refused() {
    let text = r#"{"kind":"id","params":{"id":"1","id":"1"}}"#;
    let error = serde_json::from_str::<Rule>(text).unwrap_err().to_string();

    assert!(error.starts_with("duplicate field `id`"), "{error}");
}

#[test]
fn names_of_classes_and_roles_are_the_only_ones() {
    let charter = rows().into_iter().find(|row| row.kind == "golemCharter").unwrap().params;
    let with = |pointer: &str, value: Value| {
        let mut changed = charter.clone();
        changed["listing"]["targets"] = json!([{ "target": Address::ZERO, "role": "vault" }]);
        *changed.pointer_mut(pointer).unwrap() = value;
        parse(Kind::GolemCharter, &changed)
    };

    assert!(with("/classes", json!(["sell", "swap"])).is_ok());
    assert!(with("/mood", Value::Null).is_ok());
    for (pointer, value, said) in [
        ("/classes", json!(["swap", "swap"]), "classes: swap stands there twice"),
        ("/classes", json!(["Swap"]), "classes: entry 0: no class has the name \"Swap\""),
        ("/classes", json!(6), "classes: "),
        ("/listing/targets/0/role", json!("Vault"), "listing: targets: entry 0: role: no role"),
        ("/listing/targets/0/role", json!(null), "listing: targets: entry 0: role: "),
        ("/replicants", json!("true"), "replicants: "),
        ("/window/end", json!((1_u64 << 40).to_string()), "second 1099511627776 is later"),
        ("/gasCeiling", json!((1_u64 << 48).to_string()), "281474976710656 gwei"),
        (
            "/mood",
            json!({ "bounds": { "minPleasure": 0, "maxArousal": 0, "minDominance": 0 }, "classes": [] }),
            "classes of a mood: none",
        ),
        (
            "/mood",
            json!({ "bounds": { "minPleasure": -101, "maxArousal": 0, "minDominance": 0 }, "classes": ["swap"] }),
            "no mood reaches -101",
        ),
    ] {
        let error = with(pointer, value).expect_err(said).to_string();
        assert!(error.starts_with(said), "{error}, not {said}");
    }
}

#[test]
fn an_enforcer_nobody_knows_passes_through_unread() {
    let enforcer = Address::repeat_byte(0x77);
    let caveat = Caveat::new(enforcer, vec![1, 2, 3]);
    let rule = Environment::stock().read(&caveat).unwrap();
    let shown = json!({
        "kind": "opaque",
        "params": { "enforcer": format!("{enforcer:#x}"), "terms": "0x010203" }
    });

    assert_eq!(rule, Rule::Opaque(Opaque { enforcer, terms: vec![1, 2, 3].into() }));
    assert_eq!(rule.kind(), None);
    assert_eq!(serde_json::to_value(&rule).unwrap(), shown);
    assert_eq!(serde_json::from_value::<Rule>(shown).unwrap(), rule);
    assert_eq!(Environment::stock().caveat(&rule), Ok(Some(caveat)));
}

/// ATK-15: a second form of the same batch could be shown as one thing and executed as another.
#[test]
fn abi_terms_have_one_form() {
    let word = |number: u64| U256::from(number).to_be_bytes::<32>();
    let empty = [word(32), word(0)].concat();
    let late = [word(64), word(0), word(0)].concat();
    let longer = [empty.as_slice(), &[0; 32]].concat();
    let hostile = [word(32), U256::MAX.to_be_bytes()].concat();
    let many = [word(32), word(1 << 40), word(0)].concat();

    assert_eq!(ExactExecutionBatch::decode(&empty), Ok(ExactExecutionBatch(vec![])));
    for terms in [late, longer, hostile, many, empty[..63].to_vec(), vec![], vec![0xff; 4096]] {
        assert!(ExactExecutionBatch::decode(&terms).is_err(), "{terms:02x?}");
        assert!(LogicalOrWrapper::decode(&terms).is_err(), "{terms:02x?}");
    }
    assert_eq!(
        LogicalOrWrapper::decode(&empty),
        Err(TermsError::Zero { what: "groups of caveats" })
    );
}

/// Entries that share their bytes would let few bytes stand for many (ATK-10).
#[test]
fn abi_terms_cannot_grow_beyond_their_bytes() {
    let word = |number: usize| U256::from(number).to_be_bytes::<32>();
    let count = 1_000;
    let mut terms = [word(32), word(count)].concat();
    for _ in 0..count {
        terms.extend(word(32 * count));
    }
    // One call with a kilobyte of data, which every entry points at.
    terms.extend([word(0), word(0), word(96), word(1_024)].concat());
    terms.extend([0; 1_024]);

    assert!(ExactExecutionBatch::decode(&terms).is_err());
    assert!(LogicalOrWrapper::decode(&terms).is_err());
}

/// The contract does not look behind the first word; two readers could see two things.
#[test]
fn nothing_stands_behind_an_amount() {
    let terms = [0; 33];

    assert_eq!(NativeTokenTransferAmount::decode(&terms), Err(TermsError::Trailing { extra: 1 }));
}

#[test]
fn a_rule_that_no_contract_takes_is_not_encoded() {
    use golem_delegation::terms::AllowedTargets;

    let nobody = Rule::AllowedTargets(AllowedTargets(vec![]));

    assert_eq!(nobody.encode(), Err(TermsError::Entries { entry: 20, actual: 0 }));
    assert!(Environment::stock().caveat(&nobody).is_err());
}
