use super::{NOW, OWNER, USDC, app, bounds, call, permitted, transfer};
use alloy_primitives::{Address, B256, keccak256};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use golem_custody::{
    AuthorizationKey, AuthorizationPublicKey, KeeperKey, KeyFileError, Password, SigningPolicy,
    WalletApp, WalletAppError, WalletId, WalletRequest,
};
use p256::{
    ecdsa::{Signature, VerifyingKey, signature::Verifier as _},
    pkcs8::DecodePublicKey as _,
};
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt};

const WALLET: Address = Address::repeat_byte(9);

fn wallet_id() -> WalletId {
    WalletId::try_from("a1b2c3d4e5f6g7h8i9j0k1l2".to_owned()).unwrap()
}

fn headers(request: &WalletRequest) -> BTreeMap<&'static str, String> {
    request.headers().map(|(name, value)| (name, value.to_owned())).collect()
}

fn holds(key: &AuthorizationPublicKey, payload: &str, signature: &str) -> bool {
    let spki = STANDARD.decode(key.to_string()).unwrap();
    let key = VerifyingKey::from_public_key_der(&spki).unwrap();
    let signature = Signature::from_der(&STANDARD.decode(signature).unwrap()).unwrap();
    key.verify(payload.as_bytes(), &signature).is_ok()
}

/// The payload is written by hand here: sorted keys, no spaces, all of Privy's headers but the signature.
#[test]
fn an_authorisation_covers_verb_url_body_and_every_header() {
    let key = AuthorizationKey::born();
    let tx = permitted(WALLET, call(USDC, 0, transfer(OWNER, 5)));
    let request = key.sign_transaction(&app(), &wallet_id(), &tx, NOW);

    let headers = headers(&request);
    let data = transfer(OWNER, 5);
    let body = format!(
        "{{\"chain_type\":\"ethereum\",\"method\":\"eth_signTransaction\",\"params\":{{\"transaction\":{{\
         \"chain_id\":8453,\"data\":\"{data}\",\"gas_limit\":\"0xea60\",\"max_fee_per_gas\":\"0xa\",\
         \"max_priority_fee_per_gas\":\"0x1\",\"nonce\":\"0x7\",\"to\":\"{USDC}\",\"type\":2,\"value\":\"0x0\"}}}}}}"
    );
    let url = "https://api.privy.io/v1/wallets/a1b2c3d4e5f6g7h8i9j0k1l2/rpc";
    let idempotency = &headers["privy-idempotency-key"];
    let expiry = (NOW + 60) * 1_000;
    let payload = |url: &str, body: &str, verb: &str, idempotency: &str| {
        format!(
            "{{\"body\":{body},\"headers\":{{\"privy-app-id\":\"an-app\",\"privy-idempotency-key\":\
             \"{idempotency}\",\"privy-request-expiry\":\"{expiry}\"}},\"method\":\"{verb}\",\
             \"url\":\"{url}\",\"version\":1}}"
        )
    };
    let signature = &headers["privy-authorization-signature"];

    assert_eq!((request.url(), request.verb().as_str()), (url, "POST"));
    assert_eq!(request.body().unwrap(), body);
    assert_eq!(headers.len(), 4);
    let public = key.public();
    assert!(holds(&public, &payload(url, &body, "POST", idempotency), signature));
    for (what, other) in [
        ("url", payload(&url.replace("a1b2", "b1b2"), &body, "POST", idempotency)),
        ("body", payload(url, &body.replace("0x7", "0x8"), "POST", idempotency)),
        ("verb", payload(url, &body, "PATCH", idempotency)),
        ("header", payload(url, &body, "POST", "another")),
    ] {
        assert!(!holds(&public, &other, signature), "{what}");
    }
    assert!(!holds(
        &AuthorizationKey::born().public(),
        &payload(url, &body, "POST", idempotency),
        signature
    ));
}

#[test]
fn the_same_transaction_is_the_same_request_whenever_and_by_whomever_it_is_asked_for() {
    let tx = permitted(WALLET, call(USDC, 0, transfer(OWNER, 5)));
    let other = permitted(WALLET, call(USDC, 0, transfer(OWNER, 6)));
    let key = |tx, now| {
        let request = AuthorizationKey::born().sign_transaction(&app(), &wallet_id(), tx, now);
        headers(&request)["privy-idempotency-key"].clone()
    };

    assert_eq!(key(&tx, NOW), key(&tx, NOW + 9_999));
    assert_ne!(key(&tx, NOW), key(&other, NOW));
    assert!(key(&tx, NOW).len() <= 256);
}

#[test]
fn what_changes_a_wallet_or_a_policy_is_signed_by_its_keeper_and_ends() {
    let keeper = KeeperKey::born();
    let policy = SigningPolicy::compile(&bounds(WALLET)).unwrap();
    let id = "p1b2c3d4e5f6g7h8i9j0k1l2".to_owned().try_into().unwrap();
    let quorum = "q1b2c3d4e5f6g7h8i9j0k1l2".to_owned().try_into().unwrap();
    for request in [
        keeper.replace_policy(&app(), &id, &policy, NOW),
        keeper.admit(&app(), &wallet_id(), &quorum, &id, NOW),
        keeper.dismiss(&app(), &wallet_id(), NOW),
    ] {
        let headers = headers(&request);
        assert_eq!(request.verb().as_str(), "PATCH");
        assert!(headers.contains_key("privy-authorization-signature"));
        assert_eq!(headers["privy-request-expiry"], ((NOW + 60) * 1_000).to_string());
    }
}

#[test]
fn a_wallet_belongs_to_its_keeper_and_nobody_is_let_in_when_it_is_made() {
    let keeper = KeeperKey::born();
    let request = app().create_wallet(&keeper.public(), B256::repeat_byte(1));

    let body: serde_json::Value = serde_json::from_str(&request.body().unwrap()).unwrap();
    assert_eq!(body["owner"]["public_key"], keeper.public().to_string());
    assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
    assert_eq!(body["external_id"].as_str().unwrap().len(), 64);
}

#[test]
fn secrets_go_over_https_or_nowhere_and_names_cannot_lead_elsewhere() {
    for base in [
        "http://api.privy.io",
        "http://localhost:1",
        "ftp://127.0.0.1",
        "https://user@api.privy.io",
        "https://api.privy.io/v1",
        "https://api.privy.io/?a=b",
        "https://api.privy.io/#x",
        "unix:/tmp/x",
    ] {
        assert!(matches!(WalletApp::new(base, "app"), Err(WalletAppError::Place)), "{base}");
    }
    assert!(matches!(WalletApp::new("api.privy.io", "app"), Err(WalletAppError::Url { .. })));
    for base in ["http://127.0.0.1:80", "http://[::1]:80", "https://api.privy.io"] {
        WalletApp::new(base, "app").unwrap();
    }
    for name in ["", "../policies/x", "a/b", "a?b", "a b", "ä", &"x".repeat(65)] {
        assert!(WalletId::try_from(name.to_owned()).is_err(), "{name}");
        assert!(WalletApp::new(WalletApp::PRIVY, name).is_err(), "{name}");
    }
}

#[test]
fn a_request_for_another_app_or_place_is_not_ours() {
    let request = app().read_wallet(&wallet_id());
    assert!(app().made(&request));
    for other in [
        WalletApp::new(WalletApp::PRIVY, "another-app").unwrap(),
        WalletApp::new("https://api.privy.io.example", "an-app").unwrap(),
    ] {
        assert!(!other.made(&request));
    }
}

/// Born here, and each another.
#[test]
fn keys_differ_and_show_their_public_half_only() {
    let (one, two) = (AuthorizationKey::born(), AuthorizationKey::born());
    assert_ne!(one.public(), two.public());
    let spki = STANDARD.decode(one.public().to_string()).unwrap();
    assert_eq!(spki.len(), 91, "P-256, uncompressed");
    assert_ne!(keccak256(&spki), B256::ZERO);
}

/// The owner's key is kept: who loses it loses the wallet.
#[test]
fn a_keepers_key_is_kept_in_a_keystore_that_opens_with_its_password_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keeper.json");
    let password = |text: &str| Password::typed(text.to_owned().into()).unwrap();
    let key = KeeperKey::born();
    key.save(&path, &password("right")).unwrap();

    let opened = KeeperKey::open(&path, &password("right")).unwrap();

    assert_eq!(opened.public(), key.public());
    let locked = KeeperKey::open(&path, &password("wrong"));
    assert!(matches!(locked, Err(KeyFileError::Locked { .. })));
    assert!(key.save(&path, &password("right")).is_err(), "never over another");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let loose = KeeperKey::open(&path, &password("right"));
    assert!(matches!(loose, Err(KeyFileError::Loose { .. })));
}

#[test]
fn a_public_key_that_was_born_elsewhere_is_read_in_one_form_only() {
    let key = AuthorizationKey::born().public();
    let text = key.to_string();
    assert_eq!(AuthorizationPublicKey::parse(&format!("{text}\n")), Some(key));
    let cut = text.get(..text.len() - 4).unwrap();
    let twice = format!("{text}{text}");
    for none in ["", "AAAA", "not base64", cut, twice.as_str()] {
        assert_eq!(AuthorizationPublicKey::parse(none), None, "{none}");
    }
}
