//! New blocks as they come, and what they say of a grant.

use crate::{ChainFault, Node, environment, following::Heard, node::rpc, observe::observe_life};
use alloy::{
    primitives::Address,
    providers::{DynProvider, Provider, ProviderBuilder, WsConnect},
    pubsub::Subscription,
    rpc::types::Header,
};
use golem_custody::BlockRef;
use golem_delegation::{
    PermissionContext,
    blast_radius::{BlastRadiusError, Ended, Life},
};
use std::time::Duration;
use tokio::{
    sync::{broadcast::error::RecvError, watch::Receiver},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout, timeout_at},
};
use url::Url;

/// New blocks of a chain: told by the node where it tells, asked for where it is silent.
///
/// A subscription only makes it sooner. What is handed out is always the head that the node names when it is asked, so
/// that a connection that died, or a node that tells of blocks it does not have, changes nothing but the time. Where the node is
/// [followed](Node::following), whoever follows it tells, and is asked.
#[derive(Debug)]
pub struct Heads {
    node: Node,
    socket: Option<Url>,
    told: Option<Told>,
    /// A subscription that is being made: one at a time.
    calling: JoinSet<Option<Told>>,
    /// Who follows the node's newest block already.
    followed: Option<Receiver<Option<Heard>>>,
    poll: Duration,
    last: Option<BlockRef>,
}

/// A subscription, and the connection that it lives on.
#[derive(Debug)]
struct Told {
    _connection: DynProvider,
    blocks: Subscription<Header>,
}

impl Heads {
    /// Of `node`, asked every `poll`.
    #[must_use]
    pub fn of(node: Node, poll: Duration) -> Self {
        let (followed, calling) = (node.listen(), JoinSet::new());
        Self { node, socket: None, told: None, calling, followed, poll, last: None }
    }

    /// The same, told by the WebSocket at `url` as soon as there is one.
    #[must_use]
    pub fn told_by(mut self, url: Url) -> Self {
        self.socket = Some(url);
        self
    }

    /// Whether a subscription is alive.
    #[must_use]
    pub const fn is_told(&self) -> bool {
        self.told.is_some()
    }

    /// The next head that is not the last one: the newest there is, and not each one in between.
    pub async fn next(&mut self) -> Result<BlockRef, ChainFault> {
        loop {
            // Who asks for the first time would rather be told of what comes after it; later on, nobody waits for a socket.
            if self.subscribe() && self.last.is_none() {
                self.told = answered(&mut self.calling, Instant::now() + self.poll).await;
            }
            let header = self.node.current().await?;
            let (number, hash, timestamp) = (header.number, header.hash, header.timestamp);
            let head = BlockRef { number, hash, timestamp };
            if self.last != Some(head) {
                self.last = Some(head);
                return Ok(head);
            }
            self.wait().await;
        }
    }

    /// Until something is told, or it is time to ask.
    async fn wait(&mut self) {
        if let Some(followed) = &mut self.followed {
            // Who is told nothing asks, and is told by the node where nobody else knows.
            if let Ok(Err(_gone)) = timeout(self.poll, followed.changed()).await {
                sleep(self.poll).await;
            }
            return;
        }
        let Some(told) = &mut self.told else {
            self.told = answered_or_due(&mut self.calling, Instant::now() + self.poll).await;
            return;
        };
        match timeout(self.poll, told.blocks.recv()).await {
            // Until it is asked for, nothing before it is the newest.
            Ok(Ok(header)) => self.node.has_seen(header.number),
            // A subscription that lags has missed what is asked for anyway; one that ended is made anew.
            Ok(Err(RecvError::Lagged(_))) | Err(_) => {}
            Ok(Err(RecvError::Closed)) => {
                self.told = None;
                sleep(self.poll).await;
            }
        }
    }

    /// Begins to subscribe where nothing is told, and says whether it did. Asking goes on meanwhile: a server far away, or one that
    /// is silent, holds up nothing.
    fn subscribe(&mut self) -> bool {
        if self.told.is_some() || !self.calling.is_empty() {
            return false;
        }
        let Some(url) = &self.socket else { return false };
        // The library would try for ever by itself.
        let connect = WsConnect::new(url.as_str()).with_max_retries(0);
        let made = async {
            let connection =
                ProviderBuilder::new().connect_ws(connect).await.map_err(rpc("a socket"))?;
            let blocks = connection.subscribe_blocks().await.map_err(rpc("new blocks"))?;
            Ok::<_, ChainFault>(Told { _connection: connection.erased(), blocks })
        };
        self.calling.spawn(async { timeout(CALLING, made).await.ok().and_then(Result::ok) });
        true
    }
}

/// What came of a subscription that is being made, if that is known by `due`.
async fn answered(calling: &mut JoinSet<Option<Told>>, due: Instant) -> Option<Told> {
    timeout_at(due, calling.join_next()).await.ok()??.ok()?
}

/// The same; where it is nothing, not before `due`: a socket that fails at once, or never, makes nobody ask more often or less.
async fn answered_or_due(calling: &mut JoinSet<Option<Told>>, due: Instant) -> Option<Told> {
    let told = answered(calling, due).await;
    if told.is_none() {
        sleep_until(due).await;
    }
    told
}

/// How long a socket may take to be opened and subscribed to: several round trips to the other side of the world.
const CALLING: Duration = Duration::from_secs(10);

/// How long a node that failed is left alone, at most.
const AGAIN: Duration = Duration::from_secs(1);
/// Faults in a row that a watch bears.
const MOST_FAULTS: u32 = 32;

/// A grant that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The first block on which it was seen.
    pub block: BlockRef,
    /// Why.
    pub cause: Ended,
}

/// Why a watch stopped before its grant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchFault {
    /// The chain could not be asked.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The grant is more than is looked at.
    #[error("the grant cannot be watched")]
    Grant(#[from] BlastRadiusError),
}

/// Whether a grant is dead on the newest block, and why; none where it lives.
pub async fn ended(
    node: &Node,
    manager: Address,
    chain: &PermissionContext,
) -> Result<Option<End>, WatchFault> {
    let (block, facts) = observe_life(node, manager, chain).await?;
    let life = Life::of(chain, &environment(), block.timestamp, &facts)?;
    Ok(life.ended.map(|cause| End { block, cause }))
}

/// Waits until a block says that a grant is dead, and says why (SPEC G5, D19).
///
/// A node that fails is asked again: only one that does so a few dozen times in a row ends the watch.
pub async fn watch(
    heads: &mut Heads,
    manager: Address,
    chain: &PermissionContext,
) -> Result<End, WatchFault> {
    let mut faults = 0;
    loop {
        let looked = async {
            heads.next().await?;
            observe_life(&heads.node, manager, chain).await
        };
        let (block, facts) = match looked.await {
            Ok(seen) => seen,
            Err(fault) => {
                faults += 1;
                if faults >= MOST_FAULTS {
                    return Err(fault.into());
                }
                // What was not looked at is looked at, though it is no new block.
                heads.last = None;
                sleep(heads.poll.min(AGAIN)).await;
                continue;
            }
        };
        faults = 0;
        let life = Life::of(chain, &environment(), block.timestamp, &facts)?;
        if let Some(cause) = life.ended {
            return Ok(End { block, cause });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};

    #[tokio::test(start_paused = true)]
    async fn a_socket_that_is_silent_or_fails_at_once_changes_nothing_about_when_it_is_asked() {
        const POLL: Duration = Duration::from_secs(2);
        let mut nobody = JoinSet::new();
        let mut silent = JoinSet::new();
        silent.spawn(pending());
        let mut closed = JoinSet::new();
        closed.spawn(ready(None));

        for calling in [&mut nobody, &mut silent, &mut closed] {
            let began = Instant::now();
            assert!(answered_or_due(calling, began + POLL).await.is_none());
            assert_eq!(began.elapsed(), POLL);
        }
    }
}
