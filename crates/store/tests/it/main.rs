//! The store as its Golem meets it: on a real disk, in real processes, some of which are killed.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail loudly"
)]

mod audit;
mod books;
mod consents;
mod crashes;
mod cursors;
mod deaths;
mod durability;
mod fuzz_bodies;
mod fuzzing;
mod grimoire;
mod kills;
mod kit;
mod lives;
mod modes;
mod opening;
mod owner;
mod properties;
mod roles;
mod steps;
