//! A way to a node that takes its time and counts who passes.

use anyhow::{Context as _, Result, bail};
use std::{
    sync::{
        Arc,
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
        node.write_all(&request).await?;
        let answer = message(&mut node).await;
        counts.under_way.fetch_sub(1, SeqCst);
        from.write_all(&answer?).await?;
    }
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
