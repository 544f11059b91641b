use super::{FakeService, NOW, OWNER, Turn, USDC, call, permitted, transfer};
use alloy_primitives::{Address, U256};
use golem_custody::{
    Acting, Answered, AuthorizationKey, Backoff, Custody as _, CustodyMode, DenialCode,
    EmbeddedWallet, Observing, Presence, SignedTransaction, Verb, WalletError, WalletTransaction,
};
use serde_json::{Value, json};
use std::error::Error as _;

const ROLL: u64 = 0;
const BACKOFF: Backoff = Backoff { first: 10, most: 100 };

fn wallet(service: &FakeService) -> EmbeddedWallet<FakeService> {
    let id = "a-wallet".to_owned().try_into().unwrap();
    let key = AuthorizationKey::born();
    EmbeddedWallet::new(service.clone(), id, service.wallet(), key, BACKOFF)
}

fn payment() -> WalletTransaction {
    call(USDC, 0, transfer(OWNER, 5))
}

async fn sign(
    wallet: &EmbeddedWallet<FakeService>,
    tx: WalletTransaction,
    now: u64,
) -> Result<Answered<SignedTransaction>, WalletError> {
    wallet.sign(permitted(wallet.address(), tx), now, ROLL).await
}

fn idempotency(service: &FakeService) -> Vec<String> {
    let asked = service.asked();
    let posts = asked.iter().filter(|request| request.verb() == Verb::Post);
    posts
        .map(|request| {
            let mut headers = request.headers();
            headers.find(|(name, _)| *name == "privy-idempotency-key").unwrap().1.to_owned()
        })
        .collect()
}

#[tokio::test]
async fn a_wallet_signs_what_was_permitted() {
    let service = FakeService::new();
    let wallet = wallet(&service);

    let signed = sign(&wallet, payment(), NOW).await.unwrap();

    let Answered::Done(signed) = signed else { panic!("{signed:?}") };
    assert_eq!(signed.from, service.wallet());
    assert_eq!(wallet.presence(), Presence::Here);
}

#[tokio::test]
async fn what_the_service_signed_instead_is_not_taken() {
    let service = FakeService::new();
    let wallet = wallet(&service);
    let asked = payment();
    for other in [
        WalletTransaction { nonce: 8, ..asked.clone() },
        WalletTransaction { value: U256::from(1), ..asked.clone() },
        WalletTransaction { to: Address::repeat_byte(1), ..asked.clone() },
        WalletTransaction { data: transfer(OWNER, 6), ..asked.clone() },
        WalletTransaction { max_fee_per_gas: 11, ..asked.clone() },
    ] {
        service.next([Turn::Instead(other)]);
        let taken = sign(&wallet, asked.clone(), NOW).await;
        assert!(matches!(taken, Err(WalletError::OtherTransaction)), "{taken:?}");
    }
    let stranger = FakeService::new();
    service.next([Turn::Status(200, stranger.signed(&asked))]);
    let taken = sign(&wallet, asked, NOW).await;
    assert!(matches!(taken, Err(WalletError::OtherTransaction)), "another key's: {taken:?}");
}

#[tokio::test]
async fn an_answer_that_was_lost_is_asked_for_again_as_the_same() {
    let service = FakeService::new();
    let wallet = wallet(&service);
    service.next([Turn::LostAfter]);
    let tx = payment();

    let lost = sign(&wallet, tx.clone(), NOW).await;
    assert!(matches!(lost, Err(WalletError::Lost { .. })), "{lost:?}");
    let signed = sign(&wallet, tx, NOW + 10).await.unwrap();

    assert!(matches!(signed, Answered::Done(_)), "{signed:?}");
    let keys = idempotency(&service);
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn while_the_service_is_away_nothing_is_asked_for_and_it_is_told_since_when_and_until_when() {
    for fault in [
        Turn::Lost,
        Turn::Status(500, json!({})),
        Turn::Status(503, json!({ "code": "policy_violation" })),
        Turn::Status(408, json!({})),
        Turn::Status(409, json!({})),
        Turn::Status(200, json!({ "data": {} })),
        Turn::Status(301, json!({})),
    ] {
        let service = FakeService::new();
        let wallet = wallet(&service);
        service.next([fault.clone()]);

        let faulted = sign(&wallet, payment(), NOW).await;
        assert!(faulted.is_err(), "{fault:?}: {faulted:?}");
        assert_eq!(wallet.presence(), Presence::Away { since: NOW, next: NOW + 5 });
        let refused = sign(&wallet, payment(), NOW + 4).await.unwrap();

        let Answered::Refused(denial) = refused else { panic!("{refused:?}") };
        assert_eq!(denial.code, DenialCode::WalletAway);
        assert!(denial.reason.contains(&NOW.to_string()), "{denial}");
        assert!(denial.reason.contains(&(NOW + 5).to_string()), "{denial}");
        assert_eq!(service.asked().len(), 1, "nobody was asked while it is away");
    }
}

#[tokio::test]
async fn whoever_wants_to_write_looks_first_and_is_back_when_the_service_is() {
    let service = FakeService::new();
    let wallet = wallet(&service);
    service.next([Turn::Lost, Turn::Lost]);
    sign(&wallet, payment(), NOW).await.unwrap_err();

    // The time has come, and it is still away: the signature is not asked for.
    let still = sign(&wallet, payment(), NOW + 5).await;
    assert!(matches!(still, Err(WalletError::Lost { .. })), "{still:?}");
    assert_eq!(service.signatures(), 1);
    assert_eq!(wallet.presence(), Presence::Away { since: NOW, next: NOW + 5 + 10 });
    let signed = sign(&wallet, payment(), NOW + 15).await.unwrap();

    assert!(matches!(signed, Answered::Done(_)), "{signed:?}");
    let verbs: Vec<_> = service.asked().iter().map(|request| request.verb().as_str()).collect();
    assert_eq!(verbs, ["POST", "GET", "GET", "POST"]);
    assert_eq!(wallet.presence(), Presence::Here);
}

#[tokio::test]
async fn too_many_requests_is_a_refusal_that_is_kept_as_long_as_it_asks() {
    let service = FakeService::new();
    let wallet = wallet(&service);
    service.next([Turn::Busy(Some(42))]);

    let refused = sign(&wallet, payment(), NOW).await.unwrap();

    let Answered::Refused(denial) = refused else { panic!("{refused:?}") };
    assert_eq!(denial.code, DenialCode::WalletAway);
    assert_eq!(wallet.presence(), Presence::Away { since: NOW, next: NOW + 42 });
    service.next([Turn::Busy(None)]);
    let look = wallet.look(NOW + 42, ROLL).await.unwrap();
    assert!(matches!(look, Answered::Refused(_)), "{look:?}");
    assert_eq!(wallet.presence(), Presence::Away { since: NOW, next: NOW + 42 + 10 });
}

#[tokio::test]
async fn a_no_is_an_answer_with_a_code_and_without_the_services_words() {
    let secret = "words that quote a secret";
    for (status, body, code) in [
        (400, json!({ "error": secret, "code": "policy_violation" }), DenialCode::WalletPolicy),
        (403, json!({ "error": secret, "code": "policy_violation" }), DenialCode::WalletPolicy),
        (401, json!({ "error": secret, "code": secret }), DenialCode::WalletAuth),
        (403, json!({ "error": secret }), DenialCode::WalletAuth),
        (400, json!({ "error": secret, "code": "insufficient_funds" }), DenialCode::WalletRequest),
        (404, Value::String(secret.into()), DenialCode::WalletRequest),
    ] {
        let service = FakeService::new();
        let wallet = wallet(&service);
        service.next([Turn::Status(status, body.clone())]);

        let refused = sign(&wallet, payment(), NOW).await.unwrap();

        let Answered::Refused(denial) = refused else { panic!("{body}: {refused:?}") };
        assert_eq!(denial.code, code, "{body}");
        assert!(!denial.reason.contains("secret"), "{denial}");
        assert_eq!(wallet.presence(), Presence::Here, "it is there");
    }
}

#[tokio::test]
async fn a_wallet_at_another_address_is_not_the_wallet() {
    let service = FakeService::new();
    let wallet = wallet(&service);
    let other = json!({ "id": "a-wallet", "address": OWNER, "additional_signers": [] });
    service.next([Turn::Status(200, other)]);

    let look = wallet.look(NOW, ROLL).await;

    assert!(matches!(look, Err(WalletError::OtherWallet { .. })), "{look:?}");
}

/// K2: nothing on the way shows the key, and errors say what was not done.
#[tokio::test]
async fn nothing_that_is_shown_has_the_key_in_it() {
    let service = FakeService::new();
    let wallet = wallet(&service);
    service.next([Turn::Lost]);
    let error = sign(&wallet, payment(), NOW).await.unwrap_err();

    assert!(error.to_string().contains("not known"), "{error}");
    assert!(!error.to_string().contains("the connection ended"), "the cause is not repeated");
    assert_eq!(error.source().unwrap().to_string(), "the connection ended");
    let shown = format!("{:?}", service.asked());
    assert!(!shown.contains("SigningKey") && !shown.contains("secret"), "{shown}");
}

/// SPEC K1, K5: behind the port of all modes, a service that is away is a Golem that looks on.
#[tokio::test]
async fn a_golem_of_a_service_that_is_away_looks_on() {
    let service = FakeService::new();
    let wallet = wallet(&service);
    assert_eq!(wallet.mode(), CustodyMode::Embedded);
    assert_eq!(wallet.acting().await, Acting::Signs(service.wallet()));
    service.next([Turn::Lost]);
    let _ = sign(&wallet, payment(), NOW).await;

    let Presence::Away { since, next } = wallet.presence() else { panic!("it is here") };
    let away = Observing::WalletAway { since, next };
    assert_eq!(wallet.acting().await, Acting::Observes(away));
}
