//! Exports of audit logs: any file that somebody could hand over.

#![no_main]

#[path = "../../crates/store/tests/it/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_bodies::export(bytes));
