//! A thread that owns something blocking, and answers those who wait without blocking.

use crate::StoreError;
use std::thread::{self, JoinHandle};
use tokio::sync::{mpsc, oneshot};

/// How many may wait before the next waits to wait.
const QUEUE: usize = 1_024;

type Work<S> = Box<dyn FnOnce(&mut S) + Send>;

#[derive(Debug)]
pub(crate) struct Worker<S> {
    queue: Option<mpsc::Sender<Work<S>>>,
    thread: Option<JoinHandle<()>>,
}

impl<S: Send + 'static> Worker<S> {
    pub(crate) fn start(name: &str, mut state: S) -> Result<Self, StoreError> {
        let (queue, mut waiting) = mpsc::channel::<Work<S>>(QUEUE);
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                while let Some(work) = waiting.blocking_recv() {
                    work(&mut state);
                }
            })
            .map_err(StoreError::Thread)?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Done even where the caller stops waiting.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&mut S) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work: Work<S> = Box::new(move |state| {
            // Whoever asked may be gone.
            let _ = reply.send(work(state));
        });
        let stopped = || StoreError::Stopped { what };
        let queue = self.queue.as_ref().ok_or_else(stopped)?;
        if queue.send(work).await.is_err() {
            return Err(stopped());
        }
        answer.await.unwrap_or_else(|_gone| Err(stopped()))
    }
}

impl<S> Drop for Worker<S> {
    /// Waits until what was asked is done.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
