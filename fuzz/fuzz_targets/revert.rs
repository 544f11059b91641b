//! Revert data: any bytes that a chain, or a target on it, answers with.

#![no_main]

#[path = "../../crates/chain/tests/it/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_bodies::revert(bytes));
