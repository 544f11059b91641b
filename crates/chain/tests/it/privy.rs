//! How requests of custody are carried to the wallet service, and what is made of its answers.

use golem_chain::{Privy, PrivyFault};
use golem_custody::{
    AppSecret, KeeperKey, Password, ServiceReply, WalletApp, WalletId, WalletService,
};
use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::mpsc,
    thread,
    time::Duration,
};

const SECRET: &str = "a-very-secret-secret";

/// A service that answers one request with these bytes, and tells what it was sent. A fake: for what a real one cannot be
/// made to do.
fn answering(answer: impl Into<Vec<u8>>) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heard) = mpsc::channel();
    let answer = answer.into();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = Vec::new();
            let mut buffer = [0; 4_096];
            loop {
                let read = stream.read(&mut buffer).unwrap();
                request.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.parse().unwrap())
                });
                if body.len() >= length.unwrap_or(0usize) {
                    let _ = sender.send(text);
                    break;
                }
            }
            let _ = stream.write_all(&answer);
        }
    });
    (url, heard)
}

fn with_body(head: &str, body: &str) -> String {
    format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn secret() -> AppSecret {
    AppSecret::new(Password::typed(SECRET.to_owned().into()).unwrap())
}

fn client(url: &str) -> (Privy, WalletApp) {
    let app = WalletApp::new(url, "an-app").unwrap();
    let wait = Duration::from_millis(500);
    (Privy::answering_within(app.clone(), &secret(), wait).unwrap(), app)
}

fn wallet() -> WalletId {
    WalletId::try_from("a-wallet".to_owned()).unwrap()
}

async fn asked(answer: &str) -> Result<ServiceReply, Box<dyn std::error::Error + Send + Sync>> {
    let (url, _heard) = answering(answer);
    let (privy, app) = client(&url);
    privy.ask(&app.read_wallet(&wallet())).await
}

#[tokio::test]
async fn a_request_is_sent_as_it_was_made_with_the_apps_credentials() {
    let (url, heard) = answering(with_body("200 OK", "{}"));
    let (privy, app) = client(&url);
    let request = KeeperKey::born().dismiss(&app, &wallet(), 1_800_000_000);

    let reply = privy.ask(&request).await.unwrap();

    assert_eq!((reply.status, reply.body.as_slice()), (200, &b"{}"[..]));
    let sent = heard.recv().unwrap();
    assert!(sent.starts_with("PATCH /v1/wallets/a-wallet HTTP/1.1\r\n"), "{sent}");
    assert!(sent.ends_with(&format!("\r\n\r\n{}", request.body().unwrap())), "{sent}");
    for (name, value) in request.headers() {
        assert!(sent.contains(&format!("\r\n{name}: {value}\r\n")), "{name}: {sent}");
    }
    // base64 of an-app:a-very-secret-secret, made elsewhere.
    assert!(sent.contains("Basic YW4tYXBwOmEtdmVyeS1zZWNyZXQtc2VjcmV0\r\n"), "{sent}");
}

#[tokio::test]
async fn a_rest_that_is_asked_for_in_seconds_is_heard() {
    for (header, seconds) in [
        ("retry-after: 17", Some(17)),
        ("Retry-After:  0 ", Some(0)),
        ("retry-after: Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("retry-after: -1", None),
        ("x-nothing: 1", None),
    ] {
        let answer = with_body(&format!("429 Too Many Requests\r\n{header}"), "{}");
        let reply = asked(&answer).await.unwrap();
        assert_eq!((reply.status, reply.retry_after), (429, seconds), "{header}");
    }
}

/// Credentials go where they are for, and nowhere else.
#[tokio::test]
async fn nobody_is_followed_elsewhere_and_no_other_service_is_asked() {
    let (elsewhere, heard) = answering(with_body("200 OK", "{}"));
    let moved = with_body(&format!("307 Temporary Redirect\r\nlocation: {elsewhere}/v1"), "");

    let reply = asked(&moved).await.unwrap();
    assert_eq!(reply.status, 307, "a redirect is an answer like any other");
    let (privy, _) = client("http://127.0.0.1:9");
    let (_, foreign) = client(&elsewhere);
    let refused = privy.ask(&foreign.read_wallet(&wallet())).await.unwrap_err();

    assert!(matches!(refused.downcast_ref(), Some(PrivyFault::NotOurs)), "{refused}");
    assert!(heard.try_recv().is_err(), "nobody was asked");
}

#[tokio::test]
async fn half_an_answer_too_long_a_one_and_none_are_faults_that_quote_nothing() {
    let half = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{\"data\":";
    let long = with_body("200 OK", &" ".repeat((1 << 20) + 1));
    for (what, answer) in
        [("half", half), ("long", &long), ("none", ""), ("noise", "what?\r\n\r\n")]
    {
        let fault = asked(answer).await.unwrap_err();
        let mut shown = format!("{fault:?}");
        let mut cause: Option<&dyn std::error::Error> = Some(&*fault);
        while let Some(next) = cause {
            shown.push_str(&next.to_string());
            cause = next.source();
        }
        assert!(!shown.contains("secret") && !shown.contains("YW4tYXBw"), "{what}: {shown}");
        assert!(!shown.contains("a-wallet"), "{what}: {shown}");
    }
    let enough = with_body("200 OK", &" ".repeat(1 << 20));
    assert_eq!(asked(&enough).await.unwrap().body.len(), 1 << 20);
}

#[tokio::test]
async fn a_service_that_never_answers_is_given_up_on() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (privy, app) = client(&format!("http://{}", listener.local_addr().unwrap()));
    let fault = privy.ask(&app.read_wallet(&wallet())).await.unwrap_err();
    assert!(matches!(fault.downcast_ref(), Some(PrivyFault::Http { .. })), "{fault}");
}
