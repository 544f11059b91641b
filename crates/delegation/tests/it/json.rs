//! The JSON that MetaMask's kit writes, and what is not it.

use crate::fixtures::{Delegations, link, read};
use alloy_primitives::{Address, U256, uint};
use golem_delegation::{Delegation, DelegationHash, ROOT_AUTHORITY};
use serde_json::{Value, json};

/// A delegation as the kit writes it.
fn kits() -> Value {
    json!({
        "delegate": "0x1111111111111111111111111111111111111111",
        "delegator": "0x2222222222222222222222222222222222222222",
        "authority": "0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "caveats": [{
            "enforcer": "0x3333333333333333333333333333333333333333",
            "terms": "0x0102",
            "args": "0x",
        }],
        "salt": "0x20000000000001",
        "signature": "0x",
    })
}

fn parse(value: &Value) -> Result<Delegation, serde_json::Error> {
    serde_json::from_str(&value.to_string())
}

/// Why a value is refused.
fn refusal(value: &Value) -> String {
    match parse(value) {
        Ok(delegation) => panic!("parsed: {delegation:?}"),
        Err(error) => error.to_string(),
    }
}

/// The kit's delegation with one field replaced, named by a JSON pointer.
fn with(pointer: &str, field: Value) -> Value {
    let mut value = kits();
    *value.pointer_mut(pointer).unwrap() = field;
    value
}

#[test]
fn every_delegation_of_the_kit_keeps_its_json() {
    let file: Value = read("delegations.json");

    for vector in file["delegations"].as_array().unwrap() {
        let text = &vector["delegation"];
        let delegation = parse(text).unwrap();
        let mut expected = text.clone();
        // The kit keeps a salt as it was written; we write one number one way.
        expected["salt"] = json!(format!("{:#x}", delegation.salt));
        let ours = serde_json::to_value(&delegation).unwrap();
        assert_eq!(
            ours.to_string().to_lowercase(),
            expected.to_string().to_lowercase(),
            "{}",
            vector["name"]
        );
        let salt = text["salt"].as_str().unwrap();
        let digits = salt.trim_start_matches("0x").trim_start_matches('0');
        assert_eq!(format!("{:x}", delegation.salt).trim_start_matches('0'), digits);
    }
}

#[test]
fn fields_are_written_by_the_kits_names() {
    let ours = serde_json::to_value(link(0, ROOT_AUTHORITY)).unwrap();

    let names: Vec<&String> = ours.as_object().unwrap().keys().collect();
    assert_eq!(names, ["authority", "caveats", "delegate", "delegator", "salt", "signature"]);
    let names: Vec<&String> = ours["caveats"][0].as_object().unwrap().keys().collect();
    assert_eq!(names, ["args", "enforcer", "terms"]);
}

#[test]
fn a_hash_is_written_as_hex() {
    let [first, ..] = &Delegations::load().delegations[..] else { panic!("no delegation") };

    let text = serde_json::to_string(&first.hash).unwrap();

    assert_eq!(text, format!("\"{}\"", first.hash));
    assert_eq!(format!("{:?}", first.hash), first.hash.to_string());
    assert_eq!(serde_json::from_str::<DelegationHash>(&text).unwrap(), first.hash);
}

/// A field that is not looked at could be one that the sender relies on.
#[test]
fn unknown_fields_are_refused() {
    let mut value = kits();
    value["expiry"] = json!(1);
    assert!(refusal(&value).contains("unknown field `expiry`"));

    let mut value = kits();
    value["caveats"][0]["argz"] = json!("0x");
    assert!(refusal(&value).contains("unknown field `argz`"));
}

#[test]
fn a_field_given_twice_is_refused() {
    let text = kits().to_string().replacen('{', "{\"salt\":\"0x1\",", 1);

    let error = serde_json::from_str::<Delegation>(&text).unwrap_err();

    assert!(error.to_string().contains("duplicate field `salt`"), "{error}");
}

#[test]
fn missing_fields_are_refused() {
    for field in ["delegate", "delegator", "authority", "caveats", "salt"] {
        let mut value = kits();
        value.as_object_mut().unwrap().remove(field);
        assert!(refusal(&value).contains(&format!("missing field `{field}`")));
    }
    for field in ["enforcer", "terms"] {
        let mut value = kits();
        value["caveats"][0].as_object_mut().unwrap().remove(field);
        assert!(refusal(&value).contains(&format!("missing field `{field}`")));
    }
}

/// Neither is part of the hash: the kit's unsigned delegations have no signature yet.
#[test]
fn signature_and_args_may_be_missing() {
    let mut value = kits();
    value.as_object_mut().unwrap().remove("signature");
    value["caveats"][0].as_object_mut().unwrap().remove("args");

    assert_eq!(parse(&value).unwrap(), parse(&kits()).unwrap());
}

#[test]
fn null_is_no_value() {
    for pointer in [
        "/delegate",
        "/delegator",
        "/authority",
        "/caveats",
        "/caveats/0",
        "/caveats/0/enforcer",
        "/caveats/0/terms",
        "/caveats/0/args",
        "/salt",
        "/signature",
    ] {
        refusal(&with(pointer, Value::Null));
    }
}

#[test]
fn hex_of_the_wrong_size_is_refused() {
    let hex = |bytes: usize| json!(format!("0x{}", "11".repeat(bytes)));

    for pointer in ["/delegate", "/delegator", "/caveats/0/enforcer"] {
        for size in [0, 19, 21, 32] {
            refusal(&with(pointer, hex(size)));
        }
        assert!(parse(&with(pointer, hex(20))).is_ok());
    }
    for size in [0, 20, 31, 33, 64] {
        refusal(&with("/authority", hex(size)));
    }
    assert!(parse(&with("/authority", hex(32))).is_ok());
    for size in [33, 64, 1000] {
        refusal(&with("/salt", hex(size)));
    }
    assert!(parse(&with("/salt", hex(32))).is_ok());
}

#[test]
fn text_that_is_no_hex_is_refused() {
    for text in ["0x1", "0xzz", "hello", "0x 1", "0x12 "] {
        for pointer in
            ["/delegate", "/authority", "/caveats/0/terms", "/caveats/0/args", "/signature"]
        {
            refusal(&with(pointer, json!(text)));
        }
    }
}

#[test]
fn a_salt_is_a_number_in_hex_or_decimal() {
    for (text, salt) in [
        ("0x", U256::ZERO),
        ("0x0", U256::ZERO),
        ("0x00", U256::ZERO),
        ("0x1", U256::ONE),
        ("0xA", U256::from(10)),
        ("0", U256::ZERO),
        ("10", U256::from(10)),
        ("9007199254740993", uint!(9007199254740993_U256)),
        ("0xffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", U256::MAX),
        (
            "115792089237316195423570985008687907853269984665640564039457584007913129639935",
            U256::MAX,
        ),
    ] {
        assert_eq!(parse(&with("/salt", json!(text))).unwrap().salt, salt, "{text}");
    }
    for text in [
        "0x10000000000000000000000000000000000000000000000000000000000000000",
        "115792089237316195423570985008687907853269984665640564039457584007913129639936",
        "-1",
        "+1",
        "1.0",
        "1e3",
        "ten",
        "0xg",
        "_",
        "0x_",
        "1_000",
        "",
        " 1",
        "1 ",
    ] {
        refusal(&with("/salt", json!(text)));
    }
}

/// Numbers lose digits in JavaScript above 2^53; here they are exact or refused.
#[test]
fn a_salt_as_a_json_number_is_exact_or_refused() {
    let parse = |number: &str| {
        let text = kits().to_string().replace("\"0x20000000000001\"", number);
        assert!(text.contains(number));
        serde_json::from_str::<Delegation>(&text).map(|delegation| delegation.salt)
    };

    for exact in ["0", "7", "9007199254740991"] {
        assert_eq!(parse(exact).unwrap().to_string(), exact);
    }
    for refused in [
        "9007199254740992",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "1e3",
        "1.5",
        "0.0",
        "9007199254740993.0",
        "-0.0",
        "-1",
        "1e99",
    ] {
        assert!(parse(refused).is_err(), "{refused} became {:?}", parse(refused));
    }
}

/// The types' own readers take more than the kit writes.
#[test]
fn fields_are_hex_with_its_prefix_and_have_names() {
    let bare = "01".repeat(20);
    for field in ["/delegate", "/delegator"] {
        refusal(&with(field, json!(bare)));
        refusal(&with(field, json!(format!("0X{bare}"))));
        refusal(&with(field, json!(vec![1; 20])));
    }
    refusal(&with("/authority", json!("ff".repeat(32))));
    refusal(&with("/authority", json!(vec![255; 32])));
    for field in ["/caveats/0/terms", "/caveats/0/args", "/signature"] {
        for value in [json!(""), json!("01"), json!([1, 2]), json!("0x0"), json!("0xzz")] {
            refusal(&with(field, value));
        }
    }
    let whole = kits();
    let listed: Vec<&Value> =
        ["delegate", "delegator", "authority", "caveats", "salt", "signature"]
            .iter()
            .map(|field| &whole[*field])
            .collect();
    refusal(&json!(listed));
}

#[test]
fn other_shapes_are_refused() {
    for value in [json!(null), json!("0x"), json!(7), json!({}), json!([kits()])] {
        refusal(&value);
    }
    refusal(&with("/caveats", json!({})));
    refusal(&with("/caveats", json!("0x")));
    refusal(&with("/caveats", json!([[]])));
    refusal(&with("/salt", json!([0])));
    refusal(&with("/salt", json!(true)));
}

#[test]
fn addresses_are_read_in_any_case() {
    let checksummed = "0xdb9B1e94B5b69Df7e401DDbedE43491141047dB3";

    for text in [checksummed.to_owned(), checksummed.to_lowercase()] {
        let delegation = parse(&with("/delegate", json!(text))).unwrap();
        assert_eq!(delegation.delegate, checksummed.parse::<Address>().unwrap());
    }
}
