//! Policies: any bytes that a node could answer with.

#![no_main]

#[expect(dead_code, reason = "each target runs one body")]
#[path = "../../crates/safety/tests/it/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_bodies::policy(bytes));
