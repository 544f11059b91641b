//! Tests of the crate from outside: against MetaMask's packages, against hostile bytes, and by property.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail like tests"
)]

mod attenuation;
mod blast_radius;
mod bundles;
mod charter;
mod context;
mod examples;
mod explain;
mod fixtures;
mod fuzz_bodies;
mod fuzzing;
mod grant;
mod json;
mod life;
mod mutations;
mod odd;
mod passkeys;
mod permission;
mod properties;
mod rule_properties;
mod rules;
mod signatures;
mod spend_window;
mod tree;
mod vectors;
