use golem_chain::{ChainFault, Heads, Node};
use std::{fmt, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, sleep, timeout_at},
};

/// How often a chain on this machine is asked what time it is.
const NEAR: Duration = Duration::from_millis(100);
/// A machine that was asleep, or was told another time, notices within this.
const GLANCE: Duration = Duration::from_secs(30);

/// What a Golem's time goes by: the machine's clock, or that of a chain to play with, whose time is its own.
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    Machine(Arc<dyn Fn() -> u64 + Send + Sync>),
    Chain(Arc<Following>),
}

/// The chain's newest second, followed until nobody needs it.
struct Following {
    second: watch::Receiver<u64>,
    task: JoinHandle<()>,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = match self.0 {
            Kind::Machine(_) => "the machine",
            Kind::Chain(_) => "the chain",
        };
        f.debug_struct("Clock").field("by", &by).field("now", &self.now()).finish()
    }
}

impl Clock {
    /// The one that counts on this node's chain.
    pub async fn of(
        node: &Node,
        machine: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<Self, ChainFault> {
        if !node.is_near() {
            return Ok(Self(Kind::Machine(Arc::new(machine))));
        }
        let (tell, second) = watch::channel(node.head().await?.timestamp);
        let mut heads = Heads::of(node.clone(), NEAR);
        let task = tokio::spawn(async move {
            while !tell.is_closed() {
                match heads.next().await {
                    Ok(head) => drop(tell.send_replace(head.timestamp)),
                    // A node that is away has no time: what it said last counts.
                    Err(_away) => sleep(NEAR).await,
                }
            }
        });
        Ok(Self(Kind::Chain(Arc::new(Following { second, task }))))
    }

    /// The second it is.
    #[must_use]
    pub fn now(&self) -> u64 {
        match &self.0 {
            Kind::Machine(machine) => machine(),
            Kind::Chain(chain) => *chain.second.borrow(),
        }
    }

    /// The same, for whoever asks often.
    #[must_use]
    pub fn port(&self) -> Arc<dyn Fn() -> u64 + Send + Sync> {
        let clock = self.clone();
        Arc::new(move || clock.now())
    }

    /// Waits until it is that second, or later.
    pub async fn reaches(&self, second: u64) {
        match &self.0 {
            Kind::Chain(chain) => {
                let mut now = chain.second.clone();
                if now.wait_for(|now| *now >= second).await.is_err() {
                    // Nobody follows the chain any more: its time stands still.
                    std::future::pending::<()>().await;
                }
            }
            Kind::Machine(machine) => loop {
                let left = second.saturating_sub(machine());
                if left == 0 {
                    return;
                }
                sleep(Duration::from_secs(left).min(GLANCE)).await;
            },
        }
    }

    /// Waits for so many seconds of this machine, or of this clock if that is sooner.
    pub(crate) async fn passes(&self, pause: Duration) {
        let until = self.now().saturating_add(pause.as_secs());
        // Either way it is over.
        let _sooner = timeout_at(Instant::now() + pause, self.reaches(until)).await;
    }
}
