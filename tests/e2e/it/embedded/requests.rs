use super::{OWNER, Scene};
use alloy::{
    primitives::{Bytes, U256},
    transports::http::{
        Client,
        reqwest::{Method, StatusCode},
    },
};
use anyhow::{Context, Result};
use bardo_testkit::{FakePrivy, Stage};
use golem_chain::Privy;
use golem_custody::{
    Answered, AppSecret, AuthorizationKey, DenialCode, KeeperKey, Password, SigningPolicy,
    WalletApp, WalletKeeper, WalletRequest, WalletService,
};
use std::{collections::BTreeMap, error::Error};

/// A request as somebody on the way could have it: every part can be changed.
#[derive(Clone)]
struct Recorded {
    url: String,
    body: String,
    headers: BTreeMap<String, String>,
}

impl Recorded {
    fn of(request: &WalletRequest, app: &WalletApp) -> Result<Self> {
        let headers = request.headers().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut headers: BTreeMap<_, _> = headers.collect();
        headers.insert("authorization".into(), FakePrivy::secret()?.basic(app).to_string());
        Ok(Self {
            url: request.url().to_owned(),
            body: request.body().context("no body")?,
            headers,
        })
    }

    fn with(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut other = self.clone();
        change(&mut other);
        other
    }

    fn header(&self, name: &str, value: &str) -> Self {
        self.with(|r| {
            r.headers.insert(name.to_owned(), value.to_owned());
        })
    }

    fn without(&self, name: &str) -> Self {
        self.with(|r| {
            r.headers.remove(name);
        })
    }

    async fn send(&self) -> Result<(StatusCode, serde_json::Value)> {
        let client = Client::builder().no_proxy().build()?;
        let mut sent = client.request(Method::POST, &self.url).body(self.body.clone());
        for (name, value) in &self.headers {
            sent = sent.header(name, value);
        }
        let answer = sent.send().await?;
        Ok((answer.status(), serde_json::from_slice(&answer.bytes().await?)?))
    }
}

const SIGNATURE: &str = "privy-authorization-signature";
const IDEMPOTENCY: &str = "privy-idempotency-key";
const EXPIRY: &str = "privy-request-expiry";

/// The verifier is node:crypto over npm's canonicalize: that it takes the request shows that ours is the protocol.
#[tokio::test]
async fn a_request_that_was_changed_anywhere_is_refused_and_the_unchanged_one_is_taken()
-> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    let app = scene.fake.app()?;
    let tx = scene.transaction(&stage, OWNER, U256::from(5), Bytes::new()).await?;
    let permitted = scene.permit(&scene.bounds, tx)?;
    let key = AuthorizationKey::born();
    super::done(scene.keeper.admit(&scene.made, &key.public(), &scene.bounds, scene.now).await?)?;
    let id = &scene.made.id;
    let whole = Recorded::of(&key.sign_transaction(&app, id, &permitted, scene.now), &app)?;
    let signature = whole.headers[SIGNATURE].clone();
    let others = AuthorizationKey::born().sign_transaction(&app, id, &permitted, scene.now);
    let others = Recorded::of(&others, &app)?.headers[SIGNATURE].clone();
    let (head, tail) = signature.split_at(20);
    let flipped = format!("{head}{}{}", if tail.starts_with('A') { 'B' } else { 'A' }, &tail[1..]);
    let wrong_secret = Password::typed("wrong".to_owned().into()).context("typed")?;
    let wrong_secret = AppSecret::new(wrong_secret).basic(&app);

    for (what, request, code) in [
        ("no signature", whole.without(SIGNATURE), "missing_or_empty_authorization_header"),
        ("an empty one", whole.header(SIGNATURE, ""), "missing_or_empty_authorization_header"),
        (
            "another key's",
            whole.header(SIGNATURE, &others),
            "zero_correct_authorization_signatures",
        ),
        (
            "a forged one",
            whole.header(SIGNATURE, &flipped),
            "zero_correct_authorization_signatures",
        ),
        (
            "another body",
            whole.with(|r| r.body = r.body.replace("\"value\":\"0x5\"", "\"value\":\"0x6\"")),
            "zero_correct_authorization_signatures",
        ),
        (
            "another idempotency key",
            whole.header(IDEMPOTENCY, "another"),
            "zero_correct_authorization_signatures",
        ),
        ("none", whole.without(IDEMPOTENCY), "zero_correct_authorization_signatures"),
        ("no end", whole.without(EXPIRY), "zero_correct_authorization_signatures"),
        (
            "a later end",
            whole.header(EXPIRY, "9999999999999"),
            "zero_correct_authorization_signatures",
        ),
        ("another app", whole.header("privy-app-id", "other"), "invalid_credentials"),
        ("another secret", whole.header("authorization", &wrong_secret), "invalid_credentials"),
        ("no secret", whole.without("authorization"), "invalid_credentials"),
    ] {
        let (status, body) = request.send().await?;
        assert!(status.is_client_error(), "{what}: {status} {body}");
        assert_eq!(body["code"], code, "{what}");
        assert_eq!(scene.fake.log().await?.signatures, 0, "{what}");
    }
    let (status, body) = whole.send().await?;
    assert_eq!(status, StatusCode::OK, "{body}");
    assert_eq!(whole.send().await?, (status, body), "once more is no other");
    assert_eq!(scene.fake.log().await?.signatures, 1);
    Ok(())
}

#[tokio::test]
async fn a_request_that_was_recorded_is_of_no_use_later() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    let app = scene.fake.app()?;
    let key = AuthorizationKey::born();
    super::done(scene.keeper.admit(&scene.made, &key.public(), &scene.bounds, scene.now).await?)?;
    let tx = scene.transaction(&stage, OWNER, U256::from(5), Bytes::new()).await?;
    let permitted = scene.permit(&scene.bounds, tx)?;
    let request = key.sign_transaction(&app, &scene.made.id, &permitted, scene.now);
    scene.fake.set_clock(scene.now + 61).await?;

    let (status, body) = Recorded::of(&request, &app)?.send().await?;

    assert_eq!((status, &body["code"]), (StatusCode::BAD_REQUEST, &"request_expired".into()));
    Ok(())
}

/// The Golem's key cannot even make such a request; whoever else does is not the owner.
#[tokio::test]
async fn nobody_but_the_owner_changes_policy_or_signers() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    let thief = WalletKeeper::new(scene.fake.client()?, KeeperKey::born());

    let rebound = thief.rebind(&scene.made, &scene.policy, &scene.bounds, scene.now).await?;
    let stranger = AuthorizationKey::born().public();
    let admitted = thief.admit(&scene.made, &stranger, &scene.bounds, scene.now).await?;

    for answer in [format!("{rebound:?}"), format!("{admitted:?}")] {
        assert!(answer.contains("zero_correct_authorization_signatures"), "{answer}");
    }
    let Answered::Refused(denial) = rebound else { panic!("refused") };
    assert_eq!(denial.code, DenialCode::WalletAuth);
    Ok(())
}

/// K2, ATK-35: neither the app's secret nor the key nor what a service says is in what people see.
#[tokio::test]
async fn no_error_on_the_way_quotes_a_secret() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;
    let app = scene.fake.app()?;
    let secret = FakePrivy::secret()?.basic(&app).to_string();
    let client = scene.fake.client()?;
    let foreign = WalletApp::new("http://127.0.0.1:1", app.id())?;
    let elsewhere = foreign.read_wallet(&scene.made.id);
    let refused = client.ask(&elsewhere).await.err().context("not ours")?;
    let gone = Privy::new(foreign.clone(), &FakePrivy::secret()?)?;
    let lost = gone.ask(&elsewhere).await.err().context("nobody is there")?;

    assert!(refused.to_string().contains("not sent"), "{refused}");
    for error in [refused, lost] {
        let mut shown = format!("{error:?}");
        let mut cause: Option<&dyn Error> = Some(&*error);
        while let Some(next) = cause {
            shown.push_str(&next.to_string());
            cause = next.source();
        }
        assert!(!shown.contains(&secret[6..]), "{shown}");
        assert!(!shown.contains("fake-secret"), "{shown}");
        assert!(!shown.contains(scene.made.id.as_str()), "urls are cut off: {shown}");
    }
    Ok(())
}

#[tokio::test]
async fn the_same_wallet_asked_for_twice_is_one() -> Result<()> {
    let stage = Stage::open().await?;
    let scene = Scene::open(&stage).await?;

    let again = super::done(scene.keeper.create(alloy::primitives::B256::repeat_byte(7)).await?)?;

    assert_eq!(again.id, scene.made.id);
    assert_eq!(again.address, scene.address());
    let policy = SigningPolicy::compile(&scene.bounds)?;
    assert!(!policy.rules().is_empty());
    Ok(())
}
