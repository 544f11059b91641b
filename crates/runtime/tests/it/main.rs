//! Tests of the runtime's own parts; whole lives are in `tests/e2e`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail loudly")]

mod bequest;
mod events;
mod fabric;
mod inbox;
mod kills;
mod kit;
mod mood;
mod rhythm;
mod strategies;
mod stream;
mod vitality;
