//! Requests and answers of ERC-7715: any text that a site or a wallet could hand over.

#![no_main]

#[expect(dead_code, reason = "each target runs one body")]
#[path = "../../crates/delegation/tests/it/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_bodies::permission(bytes));
