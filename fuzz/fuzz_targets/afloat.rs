//! Redemptions and signatures as the books hold them: any bytes that somebody could put there.

#![no_main]

#[expect(dead_code, reason = "each target runs one body")]
#[path = "../../crates/custody/tests/it/fuzz_bodies.rs"]
mod fuzz_bodies;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_bodies::afloat(bytes));
