//! Events over HTTP: pages, and a WebSocket that goes on.

use crate::kit::{NOW, fabric, folder, intent_done, tick};
use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use bardo_store::Store;
use futures_util::{SinkExt, StreamExt, future::join_all};
use golem_runtime::{Fabric, GolemEvent, LAG_BOUND, Told, router};
use serde_json::{Value, json};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinHandle,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest, protocol::frame::coding::CloseCode},
};
use tower::ServiceExt;

type Socket = WebSocketStream<TcpStream>;

/// What a side of a connection keeps for the other, in bytes: little, so that a slow reader is felt.
const BUFFER: u32 = 8 * 1_024;

async fn get(fabric: &Arc<Fabric>, query: &str) -> (StatusCode, Value) {
    let request = Request::get(format!("/v1/events{query}")).body(Body::empty()).unwrap();
    answered(fabric, request).await
}

async fn answered(fabric: &Arc<Fabric>, request: Request<Body>) -> (StatusCode, Value) {
    let response = router(Arc::clone(fabric)).oneshot(request).await.unwrap();
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

fn numbers(page: &Value) -> Vec<u64> {
    let events = page["events"].as_array().unwrap();
    events.iter().map(|event| event["sequence"].as_u64().unwrap()).collect()
}

async fn emitted(fabric: &Fabric, numbers: std::ops::RangeInclusive<u64>) {
    for number in numbers {
        fabric.emit(&tick(number), NOW).await.unwrap();
    }
}

#[tokio::test]
async fn a_page_is_what_follows_and_says_how_much_there_is() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    emitted(&fabric, 1..=20).await;

    let (status, page) = get(&fabric, "?after=3&limit=2").await;

    assert_eq!(status, StatusCode::OK);
    assert_eq!(page["length"], 20);
    assert_eq!(
        page["events"][0],
        json!({
            "sequence": 4, "at": NOW, "kind": "tick",
            "number": 4, "block": 4, "phase": "thriving", "score": 9000,
        })
    );
    assert_eq!(numbers(&page), [4, 5]);
    assert_eq!(numbers(&get(&fabric, "").await.1), (1..=16).collect::<Vec<_>>());
    let most = get(&fabric, "?limit=4294967295").await.1;
    assert_eq!(numbers(&most).len(), 16, "a page has an end");
    let max = u64::MAX;
    for (query, none) in [("?after=20", 0), (&format!("?after={max}"), 0), ("?limit=0", 0)] {
        assert_eq!(numbers(&get(&fabric, query).await.1).len(), none, "{query}");
    }
}

#[tokio::test]
async fn a_query_that_is_none_is_refused_by_a_code() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    for query in [
        "?after=x",
        "?after=-1",
        "?after=18446744073709551616",
        "?after=1&after=2",
        "?limit=many",
        "?after=1&before=2",
        "?after=%00",
        "?after=",
    ] {
        let (status, body) = get(&fabric, query).await;

        assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(body["code"], "events.query", "{query}");
    }
    let half = Request::get("/v1/events").header("upgrade", "websocket").body(Body::empty());
    let (status, body) = answered(&fabric, half.unwrap()).await;
    assert_eq!((status, &body["code"]), (StatusCode::BAD_REQUEST, &json!("events.upgrade")));
}

/// A server of its own on a free port.
struct Served {
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Served {
    async fn of(fabric: &Arc<Fabric>) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(BUFFER).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(128).unwrap();
        let address = listener.local_addr().unwrap();
        let routes = router(Arc::clone(fabric));
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { address, server }
    }

    fn url(&self, query: &str) -> String {
        format!("ws://{}/v1/events{query}", self.address)
    }

    async fn reader(&self, query: &str) -> Socket {
        self.asked(self.url(query)).await.unwrap()
    }

    async fn asked(&self, request: impl IntoClientRequest + Unpin) -> Result<Socket, Error> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(BUFFER).unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        Ok(client_async(request, stream).await?.0)
    }

    async fn refused(&self, request: impl IntoClientRequest + Unpin) -> (u16, Value) {
        match self.asked(request).await {
            Err(Error::Http(response)) => {
                let body = response.body().as_deref().unwrap_or_default();
                (response.status().as_u16(), serde_json::from_slice(body).unwrap_or_default())
            }
            other => panic!("{other:?}"),
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The next frame, within reason.
async fn frame(socket: &mut Socket) -> Value {
    loop {
        let message = timeout(Duration::from_secs(30), socket.next()).await.unwrap();
        match message.unwrap().unwrap() {
            Message::Text(text) => return serde_json::from_str(text.as_str()).unwrap(),
            Message::Ping(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_gets_what_was_and_then_what_happens_in_order() {
    let folder = folder();
    let (store, fabric) = fabric(folder.path());
    emitted(&fabric, 1..=40).await;
    let served = Served::of(&fabric).await;

    let mut socket = served.reader("?after=3").await;

    for sequence in 4..=40 {
        let told: Told = serde_json::from_value(frame(&mut socket).await).unwrap();
        assert_eq!(told, Told { sequence, at: NOW, event: tick(sequence) });
    }
    emitted(&fabric, 41..=41).await;
    assert_eq!(frame(&mut socket).await["sequence"], 41);
    intent_done(&store, 1).await;
    for kind in ["intentReserved", "operationSigned", "intentDone"] {
        assert_eq!(frame(&mut socket).await["kind"], kind);
    }
}

/// Long enough that no buffer between the two takes it all.
async fn many_long_ones(fabric: &Fabric, many: u64) {
    let what = "long ".repeat(400);
    let event = GolemEvent::IntentProposed { intent: crate::kit::intent(1), what };
    for each in join_all((0..many).map(|_| fabric.emit(&event, NOW))).await {
        each.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_is_told_how_far_it_is_behind_and_loses_nothing() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    emitted(&fabric, 1..=1).await;
    let served = Served::of(&fabric).await;
    let mut socket = served.reader("").await;
    assert_eq!(frame(&mut socket).await["sequence"], 1, "it is not behind");

    let many = 3 * LAG_BOUND;
    many_long_ones(&fabric, many).await;

    let (mut sequence, mut lagged) = (1, Vec::new());
    while sequence < many + 1 {
        let frame = frame(&mut socket).await;
        if let Some(behind) = frame["lagged"]["behind"].as_u64() {
            lagged.push(behind);
            continue;
        }
        sequence += 1;
        assert_eq!(frame["sequence"], sequence, "nothing is left out");
    }
    assert!(!lagged.is_empty(), "it was not told");
    assert!(lagged.iter().all(|behind| (LAG_BOUND + 1..=many).contains(behind)), "{lagged:?}");
    // Near again, it is told nothing of the kind.
    emitted(&fabric, 1..=1).await;
    assert_eq!(frame(&mut socket).await["sequence"], many + 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_late_is_told_how_much_there_is_first() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    let many = LAG_BOUND + 1;
    let event = tick(1);
    join_all((0..many).map(|_| fabric.emit(&event, NOW))).await;
    let served = Served::of(&fabric).await;

    let mut socket = served.reader("?after=0").await;
    assert_eq!(frame(&mut socket).await, json!({ "lagged": { "behind": many } }));
    for sequence in 1..=many {
        assert_eq!(frame(&mut socket).await["sequence"], sequence);
    }

    let mut near = served.reader("?after=1").await;
    assert_eq!(frame(&mut near).await["sequence"], 2, "one less is near enough");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_who_does_not_read_keeps_nobody_else_waiting() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    let served = Served::of(&fabric).await;
    let _asleep = served.reader("").await;
    let mut awake = served.reader("").await;
    let many = 2 * LAG_BOUND;

    many_long_ones(&fabric, many).await;

    let mut heard = 0;
    while heard < many {
        heard = frame(&mut awake).await["sequence"].as_u64().unwrap_or(heard);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_of_a_browser_and_bad_questions_get_no_socket() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    let served = Served::of(&fabric).await;

    let mut foreign = served.url("").into_client_request().unwrap();
    foreign.headers_mut().insert("origin", "https://example.com".parse().unwrap());
    let (status, body) = served.refused(foreign).await;
    assert_eq!((status, &body["code"]), (403, &json!("events.origin")));

    for query in ["?after=x", "?after=1&limit=2"] {
        let (status, body) = served.refused(served.url(query)).await;
        assert_eq!((status, &body["code"]), (400, &json!("events.query")), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_who_speaks_is_shown_out() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    let served = Served::of(&fabric).await;
    let mut socket = served.reader("").await;
    socket.send(Message::Ping(Vec::new().into())).await.unwrap();
    let pong = timeout(Duration::from_secs(30), socket.next()).await.unwrap();
    assert!(matches!(pong, Some(Ok(Message::Pong(_)))), "{pong:?}");

    socket.send(Message::text("sell everything")).await.unwrap();

    let end = timeout(Duration::from_secs(30), socket.next()).await.unwrap();
    assert!(
        matches!(&end, Some(Ok(Message::Close(Some(close)))) if close.code == CloseCode::Policy),
        "{end:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn there_are_so_many_places_and_one_that_is_left_is_free_again() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    let served = Served::of(&fabric).await;
    let mut sockets = Vec::new();
    for _ in 0..64 {
        sockets.push(served.reader("").await);
    }
    let (status, body) = served.refused(served.url("")).await;
    assert_eq!((status, &body["code"]), (503, &json!("events.crowded")));

    let mut leaves = sockets.pop().unwrap();
    leaves.close(None).await.unwrap();
    // It is gone once the server has answered, and its place is free a moment later.
    while let Some(Ok(_)) = leaves.next().await {}
    let free = async { while served.asked(served.url("")).await.is_err() {} };

    timeout(Duration::from_secs(30), free).await.unwrap();
}

/// A chain that was changed behind our back is not read on to anybody.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_chain_ends_the_stream_and_has_no_page() {
    let folder = folder();
    let (store, fabric) = fabric(folder.path());
    emitted(&fabric, 1..=2).await;
    damage(&store, folder.path());
    let served = Served::of(&fabric).await;

    let (status, body) = get(&fabric, "").await;
    assert_eq!((status, &body["code"]), (StatusCode::SERVICE_UNAVAILABLE, &json!("events.unread")));

    let mut socket = served.reader("").await;
    let end = timeout(Duration::from_secs(30), socket.next()).await.unwrap();
    assert!(
        matches!(&end, Some(Ok(Message::Close(Some(close)))) if close.code == CloseCode::Error),
        "{end:?}"
    );
}

fn damage(_open: &Store, folder: &std::path::Path) {
    let raw = rusqlite::Connection::open(folder.join(bardo_store::DATABASE)).unwrap();
    raw.execute_batch(
        "DROP TRIGGER audit_is_not_changed; UPDATE audit SET at = 1 WHERE sequence = 1",
    )
    .unwrap();
}
