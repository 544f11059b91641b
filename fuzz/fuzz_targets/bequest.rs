//! Bequests: any file that somebody could hand to an owner.

#![no_main]

#[expect(dead_code, reason = "each target runs one body")]
#[path = "../../crates/custody/tests/it/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_bodies::bequest(bytes));
