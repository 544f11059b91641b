//! New blocks as they come, and what they say of a grant.

use crate::{ChainFault, Node, environment, node::rpc, observe::observe_life};
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
use tokio::time::{sleep, timeout};
use url::Url;

/// New blocks of a chain: told by the node where it tells, asked for where it is silent.
///
/// A subscription only makes it sooner. What is handed out is always the head that the node names when it is asked, so
/// that a connection that died, or a node that tells of blocks it does not have, changes nothing but the time.
#[derive(Debug)]
pub struct Heads {
    node: Node,
    socket: Option<Url>,
    told: Option<Told>,
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
    pub const fn of(node: Node, poll: Duration) -> Self {
        Self { node, socket: None, told: None, poll, last: None }
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
            if self.told.is_none() {
                self.subscribe().await;
            }
            let head = self.node.head().await?;
            if self.last != Some(head) {
                self.last = Some(head);
                return Ok(head);
            }
            self.wait().await;
        }
    }

    /// Until something is told, or it is time to ask.
    async fn wait(&mut self) {
        let Some(told) = &mut self.told else {
            sleep(self.poll).await;
            return;
        };
        // A subscription that lags has missed what is asked for anyway; one that ended is made anew.
        if let Ok(Err(ended)) = timeout(self.poll, told.blocks.recv()).await
            && !matches!(ended, tokio::sync::broadcast::error::RecvError::Lagged(_))
        {
            self.told = None;
            sleep(self.poll).await;
        }
    }

    async fn subscribe(&mut self) {
        let Some(url) = &self.socket else { return };
        // The library would try for ever by itself; here asking goes on meanwhile.
        let connect = WsConnect::new(url.as_str()).with_max_retries(0);
        let made = async {
            let connection =
                ProviderBuilder::new().connect_ws(connect).await.map_err(rpc("a socket"))?;
            let blocks = connection.subscribe_blocks().await.map_err(rpc("new blocks"))?;
            Ok::<_, ChainFault>(Told { _connection: connection.erased(), blocks })
        };
        self.told = timeout(self.poll, made).await.ok().and_then(Result::ok);
    }
}

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
