//! The fuzz body over seeds and over bytes that are nearly right.

use crate::{
    clearance::{afloat_operation, afloat_transaction, redemption},
    fuzz_bodies,
};
use alloy_primitives::{Bytes, keccak256};
use golem_custody::{Carried as _, Redemption, SignedOperation, SignedTransaction};
use std::{env, fs};

/// A small generator: what is drawn is the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }
}

/// One of each that the books hold.
async fn seeds() -> Vec<(&'static str, Vec<u8>)> {
    let batch = {
        let one = redemption();
        let calls: Vec<_> = one.calls().map(|(_, call)| call.clone()).collect();
        let twice = [&calls[..], &calls[..]].concat();
        Redemption::batch(one.manager(), one.context().clone(), &twice)
            .and_single(one.context().clone(), &calls[0])
    };
    vec![
        ("single", redemption().calldata().to_vec()),
        ("batch-and-single", batch.calldata().to_vec()),
        ("transaction", afloat_transaction().await.last().bytes().to_vec()),
        ("operation", afloat_operation().await.last().bytes().to_vec()),
    ]
}

#[tokio::test]
async fn any_bytes_in_the_books_are_a_signature_or_are_refused() {
    let mut dice = Dice(7);
    for (_, whole) in seeds().await {
        fuzz_bodies::afloat(&whole);
        for _ in 0..2_000 {
            let mut bytes = whole.clone();
            for _ in 0..=dice.below(3) {
                let at = dice.below(bytes.len());
                let byte = u8::try_from(dice.below(256)).unwrap();
                match dice.below(4) {
                    0 => bytes[at] = byte,
                    1 => bytes[at] ^= 1 << (byte % 8),
                    2 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, byte),
                }
            }
            fuzz_bodies::afloat(&bytes);
        }
    }
}

/// The seeds that the fuzzer starts from are read, each as what it is called. `BLESS_SEEDS=1` rewrites them.
#[tokio::test]
async fn every_seed_of_the_fuzzer_is_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/fuzz/afloat");
    for (name, made) in seeds().await {
        let path = format!("{folder}/{name}");
        if env::var_os("BLESS_SEEDS").is_some() {
            fs::create_dir_all(folder).unwrap();
            fs::write(&path, &made).unwrap();
        }

        let kept = fs::read(&path).unwrap();

        let bytes = Bytes::from(kept.clone());
        // Keys are born, and so no two signatures are alike.
        let is_read = match name {
            "transaction" => SignedTransaction::read(keccak256(&kept), &bytes).is_some(),
            "operation" => serde_json::from_slice::<SignedOperation>(&kept).is_ok(),
            _ => kept == made,
        };
        assert!(is_read, "{path}");
        fuzz_bodies::afloat(&kept);
    }
}

/// What others sealed, as it is and nearly as it is, for an heir who is not theirs.
#[test]
fn no_bytes_are_a_bequest_that_nobody_sealed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/fuzz/bequest");
    let mut dice = Dice(11);
    let mut seeds = 0;
    for seed in fs::read_dir(folder).unwrap() {
        let whole = fs::read(seed.unwrap().path()).unwrap();
        fuzz_bodies::bequest(&whole);
        for _ in 0..40 {
            let mut bytes = whole.clone();
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
            fuzz_bodies::bequest(&bytes);
        }
        seeds += 1;
    }
    assert_ne!(seeds, 0);
}
