//! A way to a node that takes its time, counts who passes, and fails as it is told.

use anyhow::{Context as _, Result, bail};
use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use url::Url;

/// Longest head of a request or an answer.
const MAX_HEAD: usize = 64 * 1024;

/// Changes an answer of the node.
type Change = Arc<dyn Fn(&mut serde_json::Value) + Send + Sync>;
/// The same, by what was asked.
type Changed = Arc<dyn Fn(&serde_json::Value, &mut serde_json::Value) + Send + Sync>;

/// How a node that is asked for something can fail.
#[derive(Clone)]
pub enum Fault {
    /// It hears, and never answers.
    Stall,
    /// The connection ends before the node hears.
    DropBefore,
    /// The node hears and does it, and the connection ends before its answer.
    DropAfter,
    /// Half of the answer, and then the end.
    Half,
    /// Somebody between hands it over twice, and the second answer comes back.
    Twice,
    /// "Too many requests"; the node does not hear.
    TooMany,
    /// The node hears and does it, and the answer is "too many requests".
    TooManyAfter,
    /// The node's answer, with something else in it.
    Lie(Change),
    /// The same, as it was asked.
    LieTo(Changed),
    /// The node does not hear; this is answered, with the request's id.
    Claim(Arc<dyn Fn() -> serde_json::Value + Send + Sync>),
}

impl Fault {
    /// The node's answer, with its result as `change` makes it.
    pub fn lie(change: impl Fn(&mut serde_json::Value) + Send + Sync + 'static) -> Self {
        Self::Lie(Arc::new(move |answer| {
            if let Some(result) = answer.get_mut("result") {
                change(result);
            }
        }))
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stall => "a stall",
            Self::DropBefore => "a connection that ends before the node hears",
            Self::DropAfter => "a connection that ends after the node heard",
            Self::Half => "half an answer",
            Self::Twice => "a request that is made twice",
            Self::TooMany => "too many requests",
            Self::TooManyAfter => "too many requests, after the node heard",
            Self::Lie(_) | Self::LieTo(_) => "a lie",
            Self::Claim(_) => "a claim of what the node did not hear",
        })
    }
}

/// A fault for the next so many requests that name a method.
#[derive(Debug)]
struct Planned {
    method: String,
    fault: Fault,
    /// Requests that it lets pass first.
    after: u64,
    times: u64,
}

/// Passes requests on to a node, each after a while. Loopback only.
#[derive(Debug)]
pub struct Proxy {
    url: Url,
    counts: Arc<Counts>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: AtomicU64,
    trips: AtomicU64,
    under_way: AtomicU64,
    faults: Mutex<Vec<Planned>>,
    met: AtomicU64,
}

impl Counts {
    /// The fault that is planned for a request, where one is.
    fn fault(&self, request: &[u8]) -> Option<Fault> {
        let text = String::from_utf8_lossy(request);
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let met = faults
            .iter_mut()
            .find(|plan| plan.times > 0 && text.contains(&format!("\"{}\"", plan.method)))?;
        if met.after > 0 {
            met.after -= 1;
            return None;
        }
        met.times -= 1;
        self.met.fetch_add(1, SeqCst);
        Some(met.fault.clone())
    }
}

impl Proxy {
    /// Stands before `node`, and holds every request back for `delay`.
    pub async fn before(node: &Url, delay: Duration) -> Result<Self> {
        let to = format!(
            "{}:{}",
            node.host_str().context("the node has no host")?,
            node.port().context("the node has no port")?
        );
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?).parse()?;
        let counts = Arc::new(Counts::default());
        let counted = Arc::clone(&counts);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (to, counts) = (to.clone(), Arc::clone(&counted));
                tokio::spawn(async move {
                    // A side that went away ends its connection, and nothing else.
                    let _ = pass(stream, &to, delay, &counts).await;
                });
            }
        });
        Ok(Self { url, counts, task })
    }

    /// Where it listens.
    #[must_use]
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Fails the next `times` requests that name `method`.
    pub fn fail(&self, method: &str, times: u64, fault: Fault) {
        self.fail_after(method, 0, times, fault);
    }

    /// The same, after `after` of them passed.
    pub fn fail_after(&self, method: &str, after: u64, times: u64, fault: Fault) {
        let mut faults = self.counts.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.push(Planned { method: method.to_owned(), fault, after, times });
    }

    /// How many requests failed as they were told, since the last time this was asked.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.counts.met.swap(0, SeqCst)
    }

    /// HTTP requests since the last time this was asked.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.counts.requests.swap(0, SeqCst)
    }

    /// Round trips since the last time this was asked: requests that are under way together are one.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.counts.trips.swap(0, SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn pass(mut from: TcpStream, to: &str, delay: Duration, counts: &Counts) -> Result<()> {
    let mut node = TcpStream::connect(to).await?;
    loop {
        let request = message(&mut from).await?;
        counts.requests.fetch_add(1, SeqCst);
        if counts.under_way.fetch_add(1, SeqCst) == 0 {
            counts.trips.fetch_add(1, SeqCst);
        }
        tokio::time::sleep(delay).await;
        let answer = answered(&request, &mut node, counts).await;
        counts.under_way.fetch_sub(1, SeqCst);
        match answer? {
            Reply::Whole(answer) => from.write_all(&answer).await?,
            Reply::Part(answer) => return Ok(from.write_all(&answer).await?),
            Reply::None => return Ok(()),
            // The other side goes away when it has had enough.
            Reply::Never => drop(from.read(&mut [0; 1]).await?),
        }
    }
}

enum Reply {
    Whole(Vec<u8>),
    /// And then the end.
    Part(Vec<u8>),
    None,
    Never,
}

async fn answered(request: &[u8], node: &mut TcpStream, counts: &Counts) -> Result<Reply> {
    let fault = counts.fault(request);
    match &fault {
        Some(Fault::Stall) => return Ok(Reply::Never),
        Some(Fault::DropBefore) => return Ok(Reply::None),
        Some(Fault::TooMany) => {
            return Ok(Reply::Whole(too_many()));
        }
        Some(Fault::Claim(claimed)) => {
            let asked: serde_json::Value = serde_json::from_slice(body(request)?)?;
            let mut said = claimed();
            if let Some(said) = said.as_object_mut() {
                said.insert("jsonrpc".into(), "2.0".into());
                said.insert("id".into(), asked.get("id").cloned().unwrap_or_default());
            }
            return Ok(Reply::Whole(with_head("200 OK", &serde_json::to_vec(&said)?)));
        }
        _ => {}
    }
    if matches!(fault, Some(Fault::Twice)) {
        node.write_all(request).await?;
        let _first = message(node).await?;
    }
    node.write_all(request).await?;
    let answer = message(node).await?;
    Ok(match fault {
        Some(Fault::DropAfter) => Reply::None,
        Some(Fault::TooManyAfter) => Reply::Whole(too_many()),
        Some(Fault::Half) => {
            Reply::Part(answer.get(..answer.len() / 2).unwrap_or_default().to_vec())
        }
        Some(Fault::Lie(change)) => {
            let mut said = serde_json::from_slice(body(&answer)?)?;
            change(&mut said);
            Reply::Whole(with_head("200 OK", &serde_json::to_vec(&said)?))
        }
        Some(Fault::LieTo(change)) => {
            let mut said = serde_json::from_slice(body(&answer)?)?;
            change(&serde_json::from_slice(body(request)?)?, &mut said);
            Reply::Whole(with_head("200 OK", &serde_json::to_vec(&said)?))
        }
        _ => Reply::Whole(answer),
    })
}

/// What follows the head.
fn body(message: &[u8]) -> Result<&[u8]> {
    let head = message.windows(4).position(|four| four == b"\r\n\r\n").context("no body")?;
    Ok(message.get(head + 4..).unwrap_or_default())
}

fn with_head(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// As public providers say it: come back in an hour.
fn too_many() -> Vec<u8> {
    with_head("429 Too Many Requests\r\nretry-after: 3600", b"no more for key=0123456789abcdef")
}

/// One message of HTTP/1.1 whose length is said.
async fn message(stream: &mut TcpStream) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        if bytes.len() > MAX_HEAD {
            bail!("a head without an end");
        }
        bytes.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(bytes.clone())?.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let length: usize = length.context("no length")?.trim().parse()?;
    let end = bytes.len();
    bytes.resize(end + length, 0);
    stream.read_exact(bytes.get_mut(end..).unwrap_or_default()).await?;
    Ok(bytes)
}
