//! Typed data: any text that somebody wants signed.

#![no_main]

#[expect(dead_code, reason = "each target runs one body")]
#[path = "../../crates/safety/tests/it/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_bodies::typed_data(bytes));
