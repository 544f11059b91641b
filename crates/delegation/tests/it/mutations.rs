//! Seeds of a fuzz target, and mutations of them that are the same in every run.
//!
//! Tests of other crates take this file by its path: one way to be hostile is enough.

use std::{collections::BTreeMap, fs, path::PathBuf};

/// How many mutations a cheap body gets.
pub(crate) const MUTATIONS: usize = 20_000;

/// What must hold for any bytes.
pub(crate) type Body = fn(&[u8]);

/// SplitMix64: small, and the same on every machine.
struct Random(u64);

impl Random {
    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }

    const fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    /// One word, biased towards what a decoder might trip over.
    fn word(&mut self, length: usize) -> [u8; 32] {
        let numbers = [0, 1, 31, 32, 33, 64, 96, 192, 224, length, length - length % 32, 1 << 32];
        let mut word = [0; 32];
        match self.below(4) {
            0 => word = [0xff; 32],
            1 => word.fill_with(|| self.byte()),
            _ => word[24..].copy_from_slice(&numbers[self.below(numbers.len())].to_be_bytes()),
        }
        word
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        let length = bytes.len();
        let at = self.below(length);
        let word = at - at % 32;
        match self.below(8) {
            0 if length > 0 => bytes[at] ^= 1 << self.below(8),
            1 if length > 0 => bytes[at] = self.byte(),
            2 => bytes.truncate(at),
            3 => bytes.resize(length + self.below(65), self.byte()),
            4 => {
                let end = length.min(word + 32);
                let value = self.word(length);
                bytes[word..end].copy_from_slice(&value[..end - word]);
            }
            5 => {
                let end = length.min(word + 32 * (1 + self.below(8)));
                bytes.drain(word..end);
            }
            6 => {
                let end = length.min(word + 32 * (1 + self.below(8)));
                let copy = bytes[word..end].to_vec();
                bytes.splice(word..word, copy);
            }
            _ => {
                let from = self.below(other.len());
                bytes.truncate(word);
                bytes.extend_from_slice(&other[from - from % 32..]);
            }
        }
    }
}

/// The committed seeds of a target, by their names.
pub(crate) fn corpus(target: &str) -> BTreeMap<String, Vec<u8>> {
    let testdata = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let folder = fs::read_dir(testdata.join("fuzz").join(target)).unwrap();
    folder
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// The committed seeds, and mutations of them.
pub(crate) fn hold(target: &str, body: Body, mutations: usize) {
    let seeds: Vec<Vec<u8>> = corpus(target).into_values().collect();
    assert!(seeds.len() >= 8, "{target} has {} seeds", seeds.len());
    seeds.iter().for_each(|seed| body(seed));
    let mut random = Random(0xba2d0);
    for _ in 0..mutations {
        let mut bytes = seeds[random.below(seeds.len())].clone();
        let other = &seeds[random.below(seeds.len())];
        for _ in 0..1 + random.below(4) {
            random.mutate(&mut bytes, other);
        }
        body(&bytes);
    }
}
