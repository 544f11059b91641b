//! The fuzz bodies on stable: the committed corpus, and mutations of it from a fixed seed.

use crate::{
    fixtures::{Delegations, read, testdata},
    fuzz_bodies,
    passkeys::owners,
};
use alloy_primitives::{Bytes, hex};
use golem_delegation::{MAX_CONTEXT_BYTES, PasskeySignature, PermissionContext, permission};
use std::{collections::BTreeMap, fs};

const MUTATIONS: usize = 20_000;

type Body = fn(&[u8]);

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

fn corpus(target: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = fs::read_dir(testdata("fuzz").join(target)).unwrap();
    folder
        .map(|entry| {
            let entry = entry.unwrap();
            (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// The committed seeds, and mutations of them.
fn hold(target: &str, body: Body, mutations: usize) {
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

#[test]
fn corpus_and_seeded_mutations_hold() {
    hold("context", fuzz_bodies::context, MUTATIONS);
    hold("terms", fuzz_bodies::terms, MUTATIONS);
}

#[test]
fn any_text_for_a_permission_holds() {
    hold("permission", fuzz_bodies::permission, MUTATIONS);
}

#[test]
fn any_bytes_for_a_passkeys_signature_hold() {
    hold("passkey", fuzz_bodies::passkey, MUTATIONS);
}

#[test]
fn any_list_for_a_tree_holds() {
    // Every delegation of every list is hashed, several times over.
    hold("tree", fuzz_bodies::tree, MUTATIONS / 5);
}

/// A corpus that the decoder turns away at the door would show nothing.
#[test]
fn the_corpus_reaches_both_sides_of_the_decoder() {
    let seeds = corpus("context");
    let accepted = seeds.values().filter(|seed| PermissionContext::decode(seed).is_ok()).count();

    assert!(accepted >= 5, "{accepted} accepted");
    assert!(seeds.len() - accepted >= 3, "{} refused", seeds.len() - accepted);
    assert!(seeds.values().all(|seed| seed.len() <= MAX_CONTEXT_BYTES / 16));
}

/// The same of the reader of requests and answers.
#[test]
fn the_corpus_of_permissions_is_read_but_for_what_says_so() {
    let file: serde_json::Value = read("permissions.json");
    for (name, seed) in corpus("permission") {
        let text = String::from_utf8(seed).unwrap();
        assert_eq!(permission::read(&text).is_err(), name.starts_with("refused"), "{name}");
        let [form, rest @ ..] = &name.split('-').collect::<Vec<_>>()[..] else { panic!("{name}") };
        let vector = match rest {
            [index, kind] => &file[form][index.parse::<usize>().unwrap()][kind],
            [kind] => &file[form][kind],
            _ => panic!("{name}"),
        };
        if *form != "refused" {
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&text).unwrap(),
                *vector,
                "{name}"
            );
        }
    }
}

#[test]
fn the_passkeys_corpus_reaches_both_sides_of_the_decoder() {
    let seeds = corpus("passkey");
    let accepted = seeds.values().filter(|seed| PasskeySignature::decode(seed).is_ok()).count();

    assert!(accepted >= 6, "{accepted} accepted");
    assert!(seeds.len() - accepted >= 3, "{} refused", seeds.len() - accepted);
}

/// The seeds are the vectors, so that a change of those does not leave old bytes behind.
#[test]
fn seeds_that_name_a_vector_are_that_vector() {
    let file = Delegations::load();
    let contexts = corpus("context");
    for (seed, name) in [
        ("bare", "one: 0 caveats"),
        ("caveat", "one: 1 caveats"),
        ("caveats", "one: terms of every size together"),
        ("unsigned", "one: not signed"),
        ("multisig", "one: two signatures in one, as of a MultiSig account"),
        ("chain-of-3", "chain of 3"),
        ("empty", "none"),
    ] {
        assert_eq!(contexts[seed], file.context(name), "{seed}");
    }

    let owners = owners();
    let passkeys = corpus("passkey");
    for (seed, index) in [
        ("usual", 0),
        ("present", 1),
        ("backed-up", 2),
        ("extensions", 4),
        ("challenge-first", 7),
        ("long-origin", 9),
    ] {
        assert_eq!(passkeys[seed], owners.passkeys[index].grant.delegation.signature, "{seed}");
    }
    assert_eq!(passkeys["bare"], owners.passkeys[0].raw);

    let stock: serde_json::Value = read("stock-terms.json");
    let known: Vec<Bytes> = stock["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|vector| vector["terms"].as_str().unwrap().parse().unwrap())
        .collect();
    for (seed, bytes) in corpus("terms") {
        // Terms of our own contracts, which MetaMask's packages do not make.
        if ["window", "charter", "listing", "golem"].iter().any(|ours| seed.starts_with(ours)) {
            continue;
        }
        assert!(known.iter().any(|terms| *terms == bytes), "{seed}: {}", hex::encode(bytes));
    }
}
