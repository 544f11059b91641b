//! Tests of the crate from outside: against shared vectors, against hostile bytes, and by property.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail like tests"
)]

mod action;
mod fixtures;
mod fuzz_bodies;
mod fuzzing;
mod judging;
mod matrix;
mod policy;
mod properties;
mod signing;
mod untrusted;
