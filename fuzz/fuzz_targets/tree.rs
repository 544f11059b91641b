//! Trees: any list of delegations, sound or not.

#![no_main]

#[expect(dead_code, reason = "each target runs one body")]
#[path = "../../crates/delegation/tests/it/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_bodies::tree(bytes));
