//! A Golem's life from one tick to the next, until it dies or is told to stop.

use crate::{
    Clock, DeathError, DeathTrigger, Golem, GolemEvent, Passing, Rhythm, TickError, Ticked,
    notice::kind_of,
};
use bardo_bindings::framework::DELEGATION_MANAGER;
use golem_chain::{End, Heads, WatchFault, ended, watch};
use golem_custody::Denial;
use golem_delegation::{Delegation, grant::Phase};
use std::{
    error::Error,
    pin::{Pin, pin},
    time::Duration,
};

/// Most that a pause after a fault is doubled.
const MOST_DOUBLED: u32 = 6;
/// Longest pause after a fault, and between two tries of a death, in seconds: however rarely it ticks, what was away is back sooner.
const MOST_PAUSE: u64 = 300;

/// What is to be said of a life as it goes on.
#[derive(Debug)]
#[non_exhaustive]
pub enum Pulse<'a> {
    /// A tick came to its end.
    Ticked(&'a Ticked),
    /// One did not; it is done again.
    Faulted {
        /// Why.
        error: &'a TickError,
        /// After so long.
        pause: Duration,
    },
    /// Its death waits for something.
    Waits {
        /// For what.
        denial: &'a Denial,
        /// It is gone on with after so long, or when its owner sends something.
        pause: Duration,
    },
    /// Its death did not come to its end, and is gone on with.
    NotSettled {
        /// Why.
        error: &'a DeathError,
        /// After so long.
        pause: Duration,
    },
    /// Its grant cannot be watched: that it ended will be known with the next tick, and not before.
    Unwatched(&'a WatchFault),
    /// A block says that its grant is over, and why.
    GrantEnded(&'a End),
    /// Its books have stopped for good by this fault or before it: it is the last, and nothing is done again.
    BooksStopped(&'a (dyn Error + 'static)),
}

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Ending {
    /// It was told to stop, between two ticks. Nothing is lost.
    Stopped,
    /// It died of this.
    Died(DeathTrigger),
    /// Its books have stopped for good ([`bardo_store::Store::has_stopped`]): who opens them again goes on, as after a crash.
    BooksStopped,
}

/// Why a pause is over.
enum Woken {
    Due,
    GrantEnded(End),
    Unwatched(WatchFault),
}

impl Golem {
    /// Ticks when a tick is due until it dies, or until `stop` is ready, which is waited for between ticks only.
    ///
    /// It wakes early when a block says that its grant is over, and when its owner has sent something.
    pub async fn live(
        &mut self,
        clock: &Clock,
        stop: impl Future<Output = ()>,
        mut say: impl FnMut(Pulse<'_>),
    ) -> Ending {
        let mut stop = pin!(stop);
        let mut faults = 0;
        loop {
            match self.dying().await {
                Ok(None) => break,
                // A death that was accepted is all that is left to do (INV-9).
                Ok(Some(dying)) => {
                    return self.passes_away(clock, stop, dying.trigger(), say).await;
                }
                // One that cannot be read may be accepted: nothing is done until it can (INV-4).
                Err(error) => {
                    if self.books_stopped(&error, &mut say) {
                        return Ending::BooksStopped;
                    }
                    let pause = pause(&self.rhythm, faults);
                    say(Pulse::NotSettled { error: &error, pause });
                    faults = faults.saturating_add(1);
                    tokio::select! {
                        biased;
                        () = &mut stop => return Ending::Stopped,
                        () = clock.passes(pause) => {}
                    }
                }
            }
        }
        faults = 0;
        let mut watched = true;
        // Whether it can act is another than when it was last awake, as of a key that went with its process: it looks at once. So does
        // one in its last phase, that was killed before it accepted its death.
        let mut at_once = self.lane.is_some() == self.life.observing.is_some()
            || self.life.phase == Phase::Terminal;
        loop {
            let woken = tokio::select! {
                biased;
                () = &mut stop => return Ending::Stopped,
                () = std::future::ready(()), if at_once => Woken::Due,
                woken = self.rests(clock, watched, faults) => woken,
            };
            at_once = false;
            // What ended is looked at by the tick; if that finds it alive, it is not looked at again before the next.
            watched = matches!(woken, Woken::Due);
            if let Woken::Unwatched(fault) = &woken {
                say(Pulse::Unwatched(fault));
                continue;
            }
            let end = match &woken {
                Woken::GrantEnded(end) => {
                    say(Pulse::GrantEnded(end));
                    Some(end)
                }
                _ => None,
            };
            let error = match self.beats(clock, end).await {
                Ok((ticked, None)) => {
                    faults = 0;
                    say(Pulse::Ticked(&ticked));
                    continue;
                }
                Ok((ticked, Some(trigger))) => {
                    say(Pulse::Ticked(&ticked));
                    return self.passes_away(clock, stop, trigger, say).await;
                }
                Err(error) => error,
            };
            if self.books_stopped(&error, &mut say) {
                return Ending::BooksStopped;
            }
            say(Pulse::Faulted { error: &error, pause: self.pause(faults, clock.now()) });
            faults = faults.saturating_add(1);
        }
    }

    /// Dies, however long that takes: what waits or fails is gone on with after a pause, or when its owner sends a grant.
    async fn passes_away(
        &mut self,
        clock: &Clock,
        mut stop: Pin<&mut impl Future<Output = ()>>,
        trigger: DeathTrigger,
        mut say: impl FnMut(Pulse<'_>),
    ) -> Ending {
        for faults in 0.. {
            let pause = pause(&self.rhythm, faults);
            match self.dies(trigger).await {
                Ok(Passing::Dead(_)) => return Ending::Died(trigger),
                Ok(Passing::Waits(denial)) => say(Pulse::Waits { denial: &denial, pause }),
                Err(error) if self.books_stopped(&error, &mut say) => return Ending::BooksStopped,
                Err(error) => say(Pulse::NotSettled { error: &error, pause }),
            }
            let inbox = self.inbox.clone();
            let came = async {
                match &inbox {
                    Some(inbox) => inbox.came().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = &mut stop => return Ending::Stopped,
                () = came => {}
                () = clock.passes(pause) => {}
            }
            if let Err(error) = self.go_on_with_keys(clock.now()).await {
                if self.books_stopped(&error, &mut say) {
                    return Ending::BooksStopped;
                }
                say(Pulse::Faulted { error: &error, pause });
            }
        }
        Ending::Stopped
    }

    /// Whether this fault is the last: trying again does not open books that have stopped, and whoever starts it anew does.
    fn books_stopped(
        &self,
        error: &(dyn Error + 'static),
        say: &mut impl FnMut(Pulse<'_>),
    ) -> bool {
        let stopped = self.store.has_stopped();
        if stopped {
            say(Pulse::BooksStopped(error));
        }
        stopped
    }

    /// One tick, and what it dies of. One that comes too late is told of.
    async fn beats(
        &mut self,
        clock: &Clock,
        end: Option<&End>,
    ) -> Result<(Ticked, Option<DeathTrigger>), TickError> {
        if let Some(end) = end {
            self.tell_of_end(end, clock.now()).await?;
        }
        let missed = self.rhythm.missed_ticks(self.life.next_at, clock.now());
        if self.rhythm.is_anomaly(missed) {
            let name = format!("late.{}", self.life.ticks);
            let event = GolemEvent::HeartbeatAnomaly { missed };
            self.fabric.emit_once(&name, &event, clock.now()).await?;
        }
        let ticked = self.tick().await?;
        // The tick may see it before the watch does.
        if ticked.dies_of == Some(DeathTrigger::GrantEnded) && end.is_none() {
            let seen = ended(&self.node, DELEGATION_MANAGER, &self.context).await;
            if let Some(end) = seen.map_err(unseen)? {
                self.tell_of_end(&end, clock.now()).await?;
            }
        }
        let trigger = match (ticked.dies_of, &self.inbox) {
            (Some(DeathTrigger::GrantEnded), Some(inbox))
                if inbox.end_asked().await.map_err(TickError::Inbox)? =>
            {
                Some(DeathTrigger::OwnerKillSwitch)
            }
            (trigger, _) => trigger,
        };
        Ok((ticked, trigger))
    }

    /// Says why its grant is over, once for each grant.
    async fn tell_of_end(&self, end: &End, now: u64) -> Result<(), TickError> {
        let event = GolemEvent::GrantEnded {
            block: end.block.number,
            cause: end.cause.code().to_owned(),
            why: end.cause.to_string(),
        };
        self.fabric.emit_once(&end_of(&self.grant), &event, now).await?;
        self.tell_of_over(&self.grant, kind_of(&end.cause), now).await
    }

    /// How long a fault is left alone: never beyond the second in which it has to be awake.
    fn pause(&self, faults: u32, now: u64) -> Duration {
        let due = now.saturating_add(pause(&self.rhythm, faults).as_secs());
        Duration::from_secs(self.not_beyond_its_end(due, now).saturating_sub(now))
    }

    /// Until there is something to do. After a fault that is the same, and a pause in the place of the next tick's second.
    async fn rests(&self, clock: &Clock, watched: bool, faults: u32) -> Woken {
        let due = async {
            match faults.checked_sub(1) {
                Some(before) => clock.passes(self.pause(before, clock.now())).await,
                None => clock.reaches(self.life.next_at).await,
            }
        };
        let mut heads = Heads::of(self.node.clone(), self.node.each_block());
        let over = async {
            if !watched {
                std::future::pending::<()>().await;
            }
            watch(&mut heads, DELEGATION_MANAGER, &self.context).await
        };
        let came = async {
            match &self.inbox {
                Some(inbox) => inbox.came().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = due => Woken::Due,
            () = came => Woken::Due,
            over = over => match over {
                Ok(end) => Woken::GrantEnded(end),
                Err(fault) => Woken::Unwatched(fault),
            },
        }
    }
}

/// The name under which the end of a grant is told.
pub(crate) fn end_of(grant: &Delegation) -> String {
    let hash = grant.hash().0.to_string();
    format!("grant.{}", hash.get(..18).unwrap_or(&hash))
}

fn unseen(fault: WatchFault) -> TickError {
    match fault {
        WatchFault::Chain(fault) => fault.into(),
        WatchFault::Grant(fault) => fault.into(),
        other => TickError::Books(other.into()),
    }
}

/// How long a fault is left alone: as the fastest tick at first, twice as long each time, and minutes at most.
fn pause(rhythm: &Rhythm, faults: u32) -> Duration {
    let doubled = rhythm.fastest.saturating_mul(1 << faults.min(MOST_DOUBLED));
    Duration::from_secs(doubled.min(rhythm.every).min(MOST_PAUSE))
}
