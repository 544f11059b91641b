//! The line to a node: what is asked again when it has no time, and what is never said of it.

use crate::ChainFault;
use alloy::{
    providers::{DynProvider, Provider as _, ProviderBuilder},
    rpc::{
        client::ClientBuilder,
        json_rpc::{RequestPacket, Response, ResponsePacket, SerializedRequest},
    },
    transports::{
        RpcError, TransportError, TransportErrorKind, TransportFut,
        http::{
            Client, Http,
            reqwest::{self},
        },
        utils::guess_local_url,
    },
};
use std::{
    mem,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::sleep;
use tower::{Layer, Service};
use url::Url;

/// How long a node may take for one answer.
pub(crate) const ANSWER: Duration = Duration::from_secs(20);
/// How often a node may say "too many requests" before it is believed.
const TOO_MANY: u32 = 5;
/// Wait after the first "too many requests"; after each further one it is twice as long.
const BACKOFF: Duration = Duration::from_millis(100);
/// Longest wait that a server may ask for. Whoever asks for more gets the usual: nothing here waits for an hour because somebody
/// says so.
const LONGEST: Duration = Duration::from_secs(2);
/// What JSON-RPC servers number "too many requests" by: HTTP's own number, EIP-1474's, and one that is in use beside it.
const BUSY: [i64; 3] = [429, -32_005, -32_007];

/// A connection over HTTP, with the time that nodes have for an answer; every request is made once.
pub(crate) fn once(url: &Url) -> Result<DynProvider, ChainFault> {
    connection(url, ANSWER, 0)
}

/// The same, making a request again where the server has no time for it.
pub(crate) fn repeating(url: &Url, answer: Duration) -> Result<DynProvider, ChainFault> {
    connection(url, answer, TOO_MANY)
}

fn connection(url: &Url, answer: Duration, most: u32) -> Result<DynProvider, ChainFault> {
    let client = Client::builder()
        .timeout(answer)
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|source| ChainFault::Client { source: source.without_url() })?;
    let client = ClientBuilder::default()
        .layer(Repeating { most })
        .transport(Http::with_client(client, url.clone()), guess_local_url(url));
    Ok(ProviderBuilder::new().disable_recommended_fillers().connect_client(client).erased())
}

/// Whether a server had no time for a request, and did nothing with it. Words are not believed: a contract can revert with any,
/// and what a node says of a block it lacks is for the one who asked.
pub(crate) fn is_busy(error: &TransportError) -> bool {
    match error {
        RpcError::Transport(kind) => {
            kind.as_http_error().is_some_and(|http| matches!(http.status, 429 | 503))
        }
        RpcError::ErrorResp(said) => BUSY.contains(&said.code) && said.data.is_none(),
        _ => false,
    }
}

/// Makes a request again where the server was [busy](is_busy), and of a batch the members that it was too busy for. At what else
/// members failed is for the one who asked. A batch that was refused as a whole is an error as a whole.
#[derive(Clone, Copy, Debug)]
struct Repeating {
    most: u32,
}

impl<S> Layer<S> for Repeating {
    type Service = Repeated<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Repeated { inner, most: self.most }
    }
}

#[derive(Clone, Debug)]
struct Repeated<S> {
    inner: S,
    most: u32,
}

impl<S> Service<RequestPacket> for Repeated<S>
where
    S: Service<
            RequestPacket,
            Response = ResponsePacket,
            Error = TransportError,
            Future = TransportFut<'static>,
        > + Clone
        + Send
        + 'static,
{
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: RequestPacket) -> Self::Future {
        let next = self.inner.clone();
        // The one that is ready is used up; the copy may not be.
        let mut inner = mem::replace(&mut self.inner, next);
        let most = self.most;
        Box::pin(async move {
            let (mut request, mut wait) = (request, BACKOFF);
            // What the members of a batch were answered that there was time for.
            let mut kept = Vec::new();
            for again in (0..=most).rev() {
                let said = inner.call(request.clone()).await.and_then(|said| whole(&request, said));
                let asked = match said {
                    Err(error) if again > 0 && is_busy(&error) => asked_for(&error),
                    Ok(ResponsePacket::Single(said)) if again > 0 && is_late(&said) => None,
                    Ok(ResponsePacket::Batch(all)) => {
                        let late = |one: &Response| again > 0 && is_late(one);
                        let (late, done): (Vec<_>, Vec<_>) = all.into_iter().partition(late);
                        kept.extend(done);
                        if late.is_empty() {
                            return Ok(ResponsePacket::Batch(kept));
                        }
                        request = of(&request, &late);
                        None
                    }
                    answer => return answer,
                };
                sleep(asked.map_or(wait, |asked| asked.max(wait))).await;
                wait *= 2;
            }
            Ok(ResponsePacket::Batch(kept))
        })
    }
}

/// Whether there was no time for one request.
fn is_late(said: &Response) -> bool {
    said.payload.as_error().is_some_and(|no| is_busy(&RpcError::ErrorResp(no.clone())))
}

/// The members of a batch that were answered so.
fn of(request: &RequestPacket, answers: &[Response]) -> RequestPacket {
    let named = |one: &&SerializedRequest| answers.iter().any(|answer| answer.id == *one.id());
    RequestPacket::Batch(request.requests().iter().filter(named).cloned().collect())
}

/// What was said to a batch; where that is one no for many questions, it is the answer to none of them.
fn whole(request: &RequestPacket, said: ResponsePacket) -> Result<ResponsePacket, TransportError> {
    let answers = match &said {
        ResponsePacket::Single(_) => 1,
        ResponsePacket::Batch(all) => all.len(),
    };
    if request.len() > answers
        && let Some(no) = said.as_error()
    {
        return Err(RpcError::ErrorResp(no.clone()));
    }
    Ok(said)
}

/// How long a server wants to be left alone, where that is bearable.
fn asked_for(refusal: &TransportError) -> Option<Duration> {
    let RpcError::Transport(kind) = refusal else { return None };
    kind.retry_after().filter(|asked| *asked <= LONGEST)
}

/// Providers put keys into paths and queries; the HTTP library quotes them in its errors, and a
/// server may echo them in its body (ATK-35). The status stays, the text goes.
pub(crate) fn without_url(error: RpcError<TransportErrorKind>) -> RpcError<TransportErrorKind> {
    match error {
        RpcError::Transport(TransportErrorKind::Custom(cause)) => {
            match cause.downcast::<reqwest::Error>() {
                Ok(http) => TransportErrorKind::custom(http.without_url()),
                Err(other) => RpcError::Transport(TransportErrorKind::Custom(other)),
            }
        }
        RpcError::Transport(
            TransportErrorKind::HttpError(http)
            | TransportErrorKind::HttpErrorWithRetryAfter { error: http, .. },
        ) => TransportErrorKind::http_error(http.status, String::new()),
        RpcError::DeserError { err, .. } => RpcError::DeserError { err, text: String::new() },
        other => other,
    }
}

/// A URL without user, password, path and query: providers put keys there.
#[must_use]
pub fn redacted(url: &Url) -> String {
    format!("{}://{}", url.scheme(), url.authority().rsplit('@').next().unwrap_or_default())
}
