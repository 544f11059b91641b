//! The newest block, followed by one task: what it last heard, and when, is what everybody asks.

use crate::{ChainFault, Heads, Node};
use alloy::rpc::types::Header;
use bardo_bindings::Chains;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep},
};
use url::Url;

/// How often a chain on this machine is asked for a block.
const NEAR: Duration = Duration::from_millis(100);
/// The same of another one: as often as it has one, within these. Where blocks are farther apart, the longest keeps what is said of them fresh.
const FAR: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));
/// How long a node that failed is left alone, at most.
const AGAIN: Duration = Duration::from_secs(1);

/// How the newest block is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    /// The WebSocket that tells of new blocks, if there is one.
    pub socket: Option<Url>,
    /// How often the node is asked, told or not.
    pub poll: Duration,
    /// For how long the last answer counts as the newest. Whoever needs it later asks the node himself.
    pub fresh: Duration,
}

impl Follow {
    /// As often as suits `node`; an answer counts until the next one is due, and its way.
    #[must_use]
    pub fn of(node: &Node, socket: Option<Url>) -> Self {
        let poll = node.each_block();
        let way = if node.is_near() { poll } else { poll / 2 };
        Self { socket, poll, fresh: poll + way }
    }
}

/// A header that the node named when it was asked for its newest.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    header: Header,
    /// When it was asked, not when it answered: nothing is newer than the question.
    asked: Instant,
}

/// What was last heard of the newest block, by whoever asked last.
#[derive(Debug)]
pub(crate) struct News(watch::Sender<Option<Heard>>);

impl Default for News {
    fn default() -> Self {
        Self(watch::Sender::new(None))
    }
}

impl News {
    /// Notes an answer, unless one to a later question is there. Who waits is woken by another block, and not by the same again.
    pub(crate) fn heard(&self, header: &Header, asked: Instant) {
        self.0.send_if_modified(|last| {
            if last.as_ref().is_some_and(|last| last.asked > asked) {
                return false;
            }
            let other = last.as_ref().is_none_or(|last| last.header.hash != header.hash);
            *last = Some(Heard { header: header.clone(), asked });
            other
        });
    }

    /// The last answer, if it is no older than `fresh` and its block not before `lowest`.
    pub(crate) fn current(&self, fresh: Duration, lowest: u64) -> Option<Header> {
        let last = self.0.borrow();
        let last = last.as_ref()?;
        (last.asked.elapsed() <= fresh && last.header.number >= lowest).then(|| last.header.clone())
    }

    /// Wakes whoever waits for another block.
    pub(crate) fn listen(&self) -> watch::Receiver<Option<Heard>> {
        self.0.subscribe()
    }
}

/// The task, until nobody needs it.
#[derive(Debug)]
pub(crate) struct Following {
    pub(crate) fresh: Duration,
    task: JoinHandle<()>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Node {
    /// The same connection, and all copies of it, with one task that follows its newest block: whoever asks for that is told what
    /// was heard last, without a request, while it is fresh. Nothing old is taken for new: where the task is late, or this process
    /// knows of a later block, the node is asked as it would be without it.
    ///
    /// What a socket says is only a reason to ask.
    #[must_use]
    pub fn following(mut self, follow: Follow) -> Self {
        // The task itself asks, and keeps nothing alive.
        self.following = None;
        let Follow { socket, poll, fresh } = follow;
        let mut heads = Heads::of(self.clone(), poll);
        if let Some(socket) = socket {
            heads = heads.told_by(socket);
        }
        let task = tokio::spawn(async move {
            loop {
                // Each answer is noted where it arrives.
                if let Err(_away) = heads.next().await {
                    sleep(poll.min(AGAIN)).await;
                }
            }
        });
        self.following = Some(Arc::new(Following { fresh, task }));
        self
    }

    /// How often to ask for a new block where nobody tells: once for each (SPEC G5: what ended is known within one).
    #[must_use]
    pub fn each_block(&self) -> Duration {
        if self.is_near() {
            return NEAR;
        }
        let (least, most) = FAR;
        let chains = Chains::known().ok();
        let apart = chains.as_ref().and_then(|chains| chains.of(self.chain_id()));
        apart.map_or(most, |chain| Duration::from_millis(chain.block_millis).clamp(least, most))
    }

    /// The newest block's header, as far as is known without asking; asked for where that is not fresh.
    pub(crate) async fn current(&self) -> Result<Header, ChainFault> {
        match self.known() {
            Some(header) => Ok(header),
            None => self.header().await,
        }
    }
}
