//! One thread writes. Whatever waits when it is ready goes into one transaction, and nobody is answered before that is on disk.
//!
//! ```text
//!  callers ──► queue ──► 1. owner's ledger holds the sums of all reservations    (its own commit)
//!                        2. one transaction; again with a savepoint for each,
//!                           where one of them failed                             (one commit, one fdatasync)
//!                        3. owner's ledger releases what was refused or given back
//!                        4. everybody is answered, and who waits for records is told how many there are
//! ```
//!
//! Killed after 1, the ledger holds what the books do not know: the next boot releases it, for nothing was signed. Killed after 2, the
//! ledger holds more than it has to, and the next boot releases that.

use crate::{
    StoreError,
    db::{self, Database, Held, Hold, Names, Part, Standing},
    error::{is_disk_failure, is_out_of_step, is_shared, is_uncertain},
    place::Lock,
};
use alloy_primitives::B256;
use golem_custody::IntentId;
use rusqlite::Connection;
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};
use tokio::sync::{
    mpsc::{self, error::TryRecvError},
    oneshot, watch,
};

/// How many share a commit at most.
const MOST: usize = 256;
/// How many may wait before the next waits to wait.
const QUEUE: usize = 1_024;
/// Longest time that a batch waits for those who are on their way.
const LINGER: Duration = Duration::from_micros(500);

/// What a caller's work sees.
pub(crate) struct Desk<'a, 'b> {
    pub(crate) connection: &'a Connection,
    /// What is known of the file already.
    pub(crate) standing: &'a mut Standing<'b>,
    /// What the owner's ledger said, where there is one and it was asked.
    pub(crate) held: Option<&'a Result<Held, Arc<StoreError>>>,
    /// Sums that the owner's ledger gives back once this is committed.
    pub(crate) release: &'a mut Vec<IntentId>,
}

/// One caller's part of a batch.
trait Job: Send {
    fn what(&self) -> &'static str;
    /// What the owner's ledger has to hold first.
    fn hold(&self) -> Option<Hold>;
    /// Whether it is to be kept. Where the batch is taken back it is written again, and what counts is the last time.
    fn write(&mut self, desk: Desk<'_, '_>) -> bool;
    /// What the database said against it, if that is why it is not.
    fn cause(&self) -> Option<Arc<rusqlite::Error>>;
    /// After the commit, or without one.
    fn answer(self: Box<Self>, failure: Option<StoreError>);
}

struct Task<T, F> {
    what: &'static str,
    hold: Option<Hold>,
    work: F,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Task<T, F>
where
    T: Send,
    F: Fn(Desk<'_, '_>) -> Result<T, StoreError> + Send,
{
    fn what(&self) -> &'static str {
        self.what
    }

    fn hold(&self) -> Option<Hold> {
        self.hold
    }

    fn write(&mut self, desk: Desk<'_, '_>) -> bool {
        let outcome = (self.work)(desk);
        let kept = outcome.is_ok();
        self.outcome = Some(outcome);
        kept
    }

    fn cause(&self) -> Option<Arc<rusqlite::Error>> {
        self.outcome.as_ref()?.as_ref().err()?.cause()
    }

    fn answer(self: Box<Self>, failure: Option<StoreError>) {
        let Self { what, outcome, reply, .. } = *self;
        let answer = match (outcome, failure) {
            // What the caller did wrong is known whatever became of the others.
            (Some(Err(error)), _) => Err(error),
            (_, Some(failure)) => Err(failure),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(StoreError::Stopped { what }),
        };
        // Whoever asked may be gone; it is done all the same.
        let _ = reply.send(answer);
    }
}

#[derive(Debug)]
pub(crate) struct Writer {
    queue: Option<mpsc::Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    length: watch::Receiver<u64>,
    stopped: Arc<AtomicBool>,
}

impl std::fmt::Debug for dyn Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what())
    }
}

impl Writer {
    pub(crate) fn start(
        golem: B256,
        books: Database,
        names: Names,
        ledger: Option<Database>,
        lock: Lock,
    ) -> Result<Self, StoreError> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (told, length) = watch::channel(db::audit_head(books.reading())?.length);
        let stopped = Arc::new(AtomicBool::new(false));
        let scribe = Scribe {
            golem,
            books,
            names,
            ledger,
            unreleased: Vec::new(),
            stopped: Arc::clone(&stopped),
            told,
        };
        let thread = thread::Builder::new()
            .name("bardo-store-writer".into())
            .spawn(move || {
                scribe.run(waiting);
                // Nobody else may open it before the last commit is done.
                drop(lock);
            })
            .map_err(StoreError::Thread)?;
        Ok(Self { queue: Some(queue), thread: Some(thread), length, stopped })
    }

    /// Whether nothing is written any more, whoever asks.
    pub(crate) fn has_stopped(&self) -> bool {
        // A thread that ended takes nothing either.
        self.stopped.load(Ordering::Acquire)
            || self.queue.as_ref().is_none_or(mpsc::Sender::is_closed)
    }

    /// How many records the disk has; changes once it has more.
    pub(crate) fn length(&self) -> watch::Receiver<u64> {
        self.length.clone()
    }

    /// Writes, and returns once the disk has it. It is written even where the caller stops waiting.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        what: &'static str,
        hold: Option<Hold>,
        work: impl Fn(Desk<'_, '_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let task = Task { what, hold, work, outcome: None, reply };
        let stopped = || StoreError::Stopped { what };
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        if queue.send(Box::new(task)).await.is_err() {
            return Err(stopped());
        }
        answer.await.unwrap_or_else(|_gone| Err(stopped()))
    }
}

impl Drop for Writer {
    /// Waits until what was asked is written.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What went wrong with a whole batch.
enum Failure {
    None,
    Stopped,
    Commit(Arc<rusqlite::Error>),
}

impl Failure {
    fn of(&self, what: &'static str) -> Option<StoreError> {
        match self {
            Self::None => None,
            Self::Stopped => Some(StoreError::Stopped { what }),
            Self::Commit(source) => Some(StoreError::of_commit(what, source)),
        }
    }
}

/// Who writes.
struct Scribe {
    golem: B256,
    books: Database,
    /// What the index of names in the books lacks.
    names: Names,
    ledger: Option<Database>,
    /// What the ledger should have given back and could not yet.
    unreleased: Vec<IntentId>,
    /// The disk failed, or somebody else wrote: what is in the file is only known after it was opened again.
    stopped: Arc<AtomicBool>,
    /// How many records the disk has.
    told: watch::Sender<u64>,
}

impl Scribe {
    fn run(mut self, mut waiting: mpsc::Receiver<Box<dyn Job>>) {
        let mut next = None;
        // Who was answered asks again soon, as a rule: without waiting for him, callers fall into groups that pay for a commit each.
        let (mut crowd, mut linger) = (1, Duration::ZERO);
        self.make_room();
        while let Some(first) = next.take().or_else(|| waiting.blocking_recv()) {
            let began = Instant::now();
            let mut names: Vec<IntentId> =
                first.hold().map(|hold| hold.intent).into_iter().collect();
            let mut batch = vec![first];
            while batch.len() < MOST {
                let job = match waiting.try_recv() {
                    Ok(job) => job,
                    Err(TryRecvError::Empty) if batch.len() < crowd && began.elapsed() < linger => {
                        thread::yield_now();
                        continue;
                    }
                    Err(_) => break,
                };
                if let Some(hold) = job.hold() {
                    // The second one of a name has to see what became of the first, in both files.
                    if names.contains(&hold.intent) {
                        next = Some(job);
                        break;
                    }
                    names.push(hold.intent);
                }
                batch.push(job);
            }
            let begun = Instant::now();
            let failure = self.write(&mut batch);
            self.tell();
            // Never for long beside what it saves: a commit.
            linger = (begun.elapsed() / 4).min(LINGER);
            crowd = batch.len().saturating_add(waiting.len()).min(MOST);
            for job in batch {
                let failure = failure.of(job.what());
                job.answer(failure);
            }
            self.sort_names_in();
            self.make_room();
        }
    }

    fn has_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// For good, and before anybody is answered: who hears of the failure can see that it is the last.
    fn stops_where(&self, for_good: bool) {
        self.stopped.fetch_or(for_good, Ordering::Release);
    }

    /// Behind the answers, so that nobody waits for it but who comes next. Without room a commit takes longer, and no more.
    fn make_room(&mut self) {
        if !self.has_stopped() {
            let _ = self.books.make_room();
        }
    }

    /// Once there are many. What cannot be written now is known by heart all the same, and by the next boot from the books.
    fn sort_names_in(&mut self) {
        if self.has_stopped() || !self.names.are_many() {
            return;
        }
        if let Err(failure) = self.names.sort_in(&mut self.books) {
            // A name that cannot be sorted in is there already: somebody else made it.
            self.stops_where(is_disk_failure(&failure) || is_out_of_step(&failure));
        }
    }

    /// Writes a batch, and says what went wrong with all of it.
    fn write(&mut self, batch: &mut [Box<dyn Job>]) -> Failure {
        if self.has_stopped() {
            return Failure::Stopped;
        }
        self.release(Vec::new());
        let held = self.hold(batch);
        let mut release = Vec::new();
        let failure = self.commit(batch, &held, &mut release).err();
        if let Some(failure) = &failure {
            self.stops_where(is_disk_failure(failure) || is_shared(failure));
            // Nothing was given back after all. What was held for nothing goes back, where it is certain that it was for nothing.
            release.clear();
            if !is_uncertain(failure) {
                let held = batch.iter().zip(&held);
                release.extend(held.filter_map(|(job, held)| match held {
                    Some(Ok(Held::Made)) => job.hold().map(|hold| hold.intent),
                    _ => None,
                }));
            }
        }
        self.release(release);
        failure.map_or(Failure::None, Failure::Commit)
    }

    /// Wakes whoever waits for records. What is told is read from the file, behind its commit, and so never more than it has.
    fn tell(&self) {
        // Where it cannot be read now, the next batch tells.
        if let Ok(head) = db::audit_head(self.books.reading()) {
            self.told.send_if_modified(|told| {
                let more = head.length > *told;
                *told = head.length;
                more
            });
        }
    }

    /// Lets the owner's ledger hold what the batch reserves. One answer for each job that asks for it.
    fn hold(&mut self, batch: &[Box<dyn Job>]) -> Vec<Option<Result<Held, Arc<StoreError>>>> {
        let Some(ledger) = &mut self.ledger else { return batch.iter().map(|_| None).collect() };
        let holds: Vec<Option<Hold>> = batch.iter().map(|job| job.hold()).collect();
        if holds.iter().all(Option::is_none) {
            return holds.iter().map(|_| None).collect();
        }
        let all = |ledger: &mut Database| -> Result<Vec<_>, StoreError> {
            let what = "holding sums in the owner's ledger";
            let together = ledger.begin().map_err(StoreError::sql(what))?;
            let mut held = Vec::with_capacity(holds.len());
            for hold in &holds {
                held.push(match hold.as_ref().map(|hold| db::hold(together.writing(), hold)) {
                    // Without this look the next one would commit by itself.
                    Some(Err(error)) if together.is_gone() => return Err(error),
                    answer => answer.map(|answer| answer.map_err(Arc::new)),
                });
            }
            together.commit().map_err(StoreError::sql(what))?;
            Ok(held)
        };
        match all(ledger) {
            Ok(held) => held,
            Err(error) => {
                let error = Arc::new(error);
                let failed = |hold: &Option<Hold>| hold.map(|_| Err(Arc::clone(&error)));
                holds.iter().map(failed).collect()
            }
        }
    }

    /// All of the batch in one commit.
    ///
    /// A savepoint costs more than what is written in it, and few batches have somebody's error in them: so first without. Where
    /// one fails, the batch is taken back and written again, each job in a part of its own.
    fn commit(
        &mut self,
        batch: &mut [Box<dyn Job>],
        held: &[Option<Result<Held, Arc<StoreError>>>],
        release: &mut Vec<IntentId>,
    ) -> Result<(), Arc<rusqlite::Error>> {
        if self.commit_whole(batch, held, release)? {
            return Ok(());
        }
        release.clear();
        self.commit_in_parts(batch, held, release)
    }

    /// Whether all of it is on disk; else nothing of it is, for one job failed.
    fn commit_whole(
        &mut self,
        batch: &mut [Box<dyn Job>],
        held: &[Option<Result<Held, Arc<StoreError>>>],
        release: &mut Vec<IntentId>,
    ) -> Result<bool, Arc<rusqlite::Error>> {
        let together = self.books.begin()?;
        let mut standing = Standing::new(&self.names);
        for (job, held) in batch.iter_mut().zip(held) {
            let desk = Desk {
                connection: together.writing(),
                standing: &mut standing,
                held: held.as_ref(),
                release: &mut *release,
            };
            if job.write(desk) {
                continue;
            }
            return match job.cause() {
                // The disk, and not the job.
                Some(cause) if together.is_gone() => Err(cause),
                _ => together.take_back().map(|()| false).map_err(Arc::new),
            };
        }
        standing.count(together.writing())?;
        together.commit()?;
        let named = standing.into_names();
        self.names.learn(named);
        Ok(true)
    }

    fn commit_in_parts(
        &mut self,
        batch: &mut [Box<dyn Job>],
        held: &[Option<Result<Held, Arc<StoreError>>>],
        release: &mut Vec<IntentId>,
    ) -> Result<(), Arc<rusqlite::Error>> {
        let mut together = self.books.begin()?;
        let mut standing = Standing::new(&self.names);
        for (job, held) in batch.iter_mut().zip(held) {
            let part = together.part()?;
            let (mut then, mut gives) = (standing.clone(), Vec::new());
            let desk = Desk {
                connection: part.writing(),
                standing: &mut then,
                held: held.as_ref(),
                release: &mut gives,
            };
            let kept = job.write(desk);
            // Without this look the next part would begin, and commit, a transaction of its own.
            if let (true, Some(cause)) = (part.is_gone(), job.cause()) {
                return Err(cause);
            }
            finish(part, kept)?;
            if kept {
                standing = then;
                release.append(&mut gives);
            } else if let (Some(Ok(Held::Made)), Some(hold)) = (held, job.hold()) {
                release.push(hold.intent);
            }
        }
        standing.count(together.writing())?;
        together.commit()?;
        let named = standing.into_names();
        self.names.learn(named);
        Ok(())
    }

    /// Gives sums back in the owner's ledger. What it does not take now is tried again before the next batch, and at the next boot:
    /// meanwhile it counts, which is the safe side.
    fn release(&mut self, intents: Vec<IntentId>) {
        self.unreleased.extend(intents);
        let Some(ledger) = &mut self.ledger else {
            self.unreleased.clear();
            return;
        };
        if self.unreleased.is_empty() {
            return;
        }
        let (golem, intents) = (self.golem, &self.unreleased);
        let all = |ledger: &mut Database| -> Result<(), StoreError> {
            let what = "releasing sums in the owner's ledger";
            let together = ledger.begin().map_err(StoreError::sql(what))?;
            db::release(together.writing(), golem, intents)?;
            together.commit().map_err(StoreError::sql(what))
        };
        if all(ledger).is_ok() {
            self.unreleased.clear();
        }
    }
}

fn finish(part: Part<'_>, kept: bool) -> Result<(), rusqlite::Error> {
    if kept { part.keep() } else { part.take_back() }
}
