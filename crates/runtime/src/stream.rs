//! Events for other processes: a WebSocket that goes on, and pages for whoever asks once.
//!
//! ```text
//!  GET /v1/events?after=N            upgraded: one frame an event, from N+1 on, for as long as somebody reads
//!  GET /v1/events?after=N&limit=M    a page: { "events": [...], "length": n }
//! ```
//!
//! A reader who is slow is told how far he is behind, and goes on from where he was: the chain is on the disk, so nothing is lost, and
//! nothing is kept for him in memory but a page. Who may read is decided by whoever mounts this.

use crate::{Fabric, FabricError, Told, fabric::Walk};
use axum::{
    Json, Router,
    extract::{
        FromRequestParts, Query, State,
        ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code},
    },
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Whoever is more records behind than this is told.
pub const LAG_BOUND: u64 = 256;
/// Readers at the same time.
const READERS: usize = 64;
/// Events of a page if nobody says how many.
const A_PAGE: u32 = 16;
/// A reader says nothing but that he is there.
const MOST_FROM_READER: usize = 1_024;
/// What is kept for a reader who does not read, in bytes: one frame, and a little. A body has 64 KiB, and signs that need six letters.
const MOST_TO_READER: usize = 1_024 * 1_024;
/// How long a reader may take nothing at all before his place is given to another.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often an idle reader is looked for.
const PULSE: Duration = Duration::from_secs(30);

/// Routes of `/v1/events`.
pub fn router(fabric: Arc<Fabric>) -> Router {
    let readers = Arc::new(Semaphore::new(READERS));
    Router::new().route("/v1/events", get(events)).with_state(Desk { fabric, readers })
}

#[derive(Clone, Debug)]
struct Desk {
    fabric: Arc<Fabric>,
    readers: Arc<Semaphore>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    after: u64,
    limit: Option<u32>,
}

/// Why a request has no answer. Each has a code that stays, and a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    Query,
    Upgrade,
    Origin,
    Crowded,
    Unread,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code, message) = match self {
            Self::Query => (
                StatusCode::BAD_REQUEST,
                "events.query",
                "after and limit are whole numbers, and nothing else can be asked for",
            ),
            Self::Upgrade => {
                (StatusCode::BAD_REQUEST, "events.upgrade", "this is no handshake of a WebSocket")
            }
            Self::Origin => (
                StatusCode::FORBIDDEN,
                "events.origin",
                "pages of a browser do not read events from here",
            ),
            Self::Crowded => (
                StatusCode::SERVICE_UNAVAILABLE,
                "events.crowded",
                "as many read already as there are places",
            ),
            Self::Unread => (
                StatusCode::SERVICE_UNAVAILABLE,
                "events.unread",
                "the events could not be read; nothing is lost",
            ),
        };
        (status, Json(json!({ "code": code, "message": message }))).into_response()
    }
}

/// An upgrade, if the request asks for one.
struct Upgrade(Option<WebSocketUpgrade>);

impl<S: Send + Sync> FromRequestParts<S> for Upgrade {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        Ok(Self(WebSocketUpgrade::from_request_parts(parts, state).await.ok()))
    }
}

#[derive(Debug, Serialize)]
struct Page {
    events: Vec<Told>,
    length: u64,
}

async fn events(
    State(desk): State<Desk>,
    headers: HeaderMap,
    Upgrade(upgrade): Upgrade,
    wanted: Result<Query<Wanted>, axum::extract::rejection::QueryRejection>,
) -> Result<Response, Refusal> {
    let Query(Wanted { after, limit }) = wanted.map_err(|_malformed| Refusal::Query)?;
    let Some(upgrade) = upgrade else {
        if headers.contains_key(header::UPGRADE) {
            return Err(Refusal::Upgrade);
        }
        let most = limit.unwrap_or(A_PAGE);
        let events = desk.fabric.page(after, most).await.map_err(|_unread| Refusal::Unread)?;
        return Ok(Json(Page { events, length: desk.fabric.length() }).into_response());
    };
    if limit.is_some() {
        return Err(Refusal::Query);
    }
    // A browser lets any page open a socket to this machine, and says whose page it was.
    if headers.contains_key(header::ORIGIN) {
        return Err(Refusal::Origin);
    }
    let place = desk.readers.try_acquire_owned().map_err(|_crowded| Refusal::Crowded)?;
    let walk = desk.fabric.walk(after);
    Ok(upgrade
        .max_message_size(MOST_FROM_READER)
        .max_frame_size(MOST_FROM_READER)
        .write_buffer_size(0)
        .max_write_buffer_size(MOST_TO_READER)
        .on_upgrade(move |socket| stream(socket, walk, place)))
}

/// Whether a reader is to be told that he is behind: at the bound, and again each time that it has doubled.
#[derive(Debug, Default)]
struct Lag {
    told: Option<u64>,
}

impl Lag {
    fn look(&mut self, behind: u64) -> Option<u64> {
        if behind <= LAG_BOUND {
            self.told = None;
            return None;
        }
        if self.told.is_some_and(|told| behind < told.saturating_mul(2)) {
            return None;
        }
        self.told = Some(behind);
        Some(behind)
    }
}

/// Why a stream ends.
enum End {
    /// The reader is gone, or takes nothing.
    Gone,
    /// He says something, and there is nobody to hear it.
    Speaks,
    /// The chain cannot be read on.
    Unread,
}

async fn stream(mut socket: WebSocket, walk: Walk, place: OwnedSemaphorePermit) {
    let (code, reason) = match tell(&mut socket, walk).await {
        End::Gone => return,
        End::Speaks => (close_code::POLICY, "events.speaks"),
        End::Unread => (close_code::ERROR, "events.unread"),
    };
    let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    let _ = send(&mut socket, close).await;
    drop(place);
}

async fn tell(socket: &mut WebSocket, mut walk: Walk) -> End {
    let mut lag = Lag::default();
    loop {
        let told = tokio::select! {
            told = walk.next() => match told {
                Ok(told) => told,
                Err(FabricError::Closed) => return End::Gone,
                Err(_unread) => return End::Unread,
            },
            heard = socket.recv() => match heard {
                None | Some(Err(_) | Ok(Message::Close(_))) => return End::Gone,
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Text(_) | Message::Binary(_))) => return End::Speaks,
            },
            () = tokio::time::sleep(PULSE) => {
                if !send(socket, Message::Ping(Vec::new().into())).await {
                    return End::Gone;
                }
                continue;
            }
        };
        if let Some(behind) = lag.look(walk.behind_by().saturating_add(1)) {
            let lagged = json!({ "lagged": { "behind": behind } }).to_string();
            if !send(socket, Message::Text(lagged.into())).await {
                return End::Gone;
            }
        }
        let Ok(frame) = serde_json::to_string(&told) else { return End::Unread };
        if !send(socket, Message::Text(frame.into())).await {
            return End::Gone;
        }
    }
}

/// Whether the reader's side took it. Here a slow reader makes us wait, and nothing is piled up for him.
async fn send(socket: &mut WebSocket, message: Message) -> bool {
    matches!(tokio::time::timeout(PATIENCE, socket.send(message)).await, Ok(Ok(())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_is_told_at_the_bound_at_each_doubling_and_anew_after_he_was_near() {
        let mut lag = Lag::default();
        let told: Vec<_> = [
            0,
            LAG_BOUND,
            LAG_BOUND + 1,
            LAG_BOUND + 2,
            2 * LAG_BOUND + 1,
            2 * LAG_BOUND + 2,
            LAG_BOUND + 1,
            LAG_BOUND,
            LAG_BOUND + 1,
        ]
        .into_iter()
        .map(|behind| lag.look(behind).is_some())
        .collect();

        assert_eq!(told, [false, false, true, false, false, true, false, false, true]);
    }
}
