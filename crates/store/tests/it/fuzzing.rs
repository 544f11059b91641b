//! The fuzz body over seeds and over bytes that are nearly right.

use crate::{
    fuzz_bodies,
    kit::{Dice, GOLEM, Key, NOW},
};
use alloy_primitives::B256;
use bardo_store::{Record, write_export};
use golem_custody::AuditHead;

fn export(length: u64) -> Vec<u8> {
    let mut head = AuditHead { golem: GOLEM, length: 0, hash: B256::ZERO };
    let mut records = Vec::new();
    for number in 0..length {
        let body = format!(r#"{{"list":[1,null,"\n"],"n":{number}}}"#);
        let record = Record::after(&head, NOW, "note", body);
        head = record.head();
        records.push(record);
    }
    let seals: Vec<_> =
        records.last().map(|last| Key::of(1).seal(last.head())).into_iter().collect();
    let mut text = Vec::new();
    write_export(&records, &seals, &mut text).unwrap();
    text
}

#[test]
fn any_bytes_are_an_export_or_are_refused() {
    let mut dice = Dice(7);
    for length in [0, 1, 3] {
        let whole = export(length);
        fuzz_bodies::export(&whole);
        for _ in 0..3_000 {
            let mut bytes = whole.clone();
            for _ in 0..=dice.below(3) {
                let at = usize::try_from(dice.below(bytes.len() as u64 + 1)).unwrap();
                let byte = u8::try_from(dice.below(256)).unwrap();
                match (dice.below(4), bytes.get_mut(at)) {
                    (0, Some(old)) => *old = byte,
                    (1, Some(old)) => *old ^= 1 << (byte % 8),
                    (2, Some(_)) => drop(bytes.remove(at)),
                    _ => bytes.insert(at, byte),
                }
            }
            fuzz_bodies::export(&bytes);
        }
    }
}

/// The seeds that the fuzzer starts from are exports of today's form. `BLESS_SEEDS=1` rewrites them.
#[test]
fn every_seed_of_the_fuzzer_is_an_export() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/fuzz/export");
    for length in [0, 1, 3] {
        let (path, made) = (format!("{folder}/chain-of-{length}.jsonl"), export(length));
        if std::env::var_os("BLESS_SEEDS").is_some() {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(&path, &made).unwrap();
        }

        let kept = std::fs::read(&path).unwrap();

        assert!(kept.as_slice() == &made[..], "{path} is not what is exported");
        fuzz_bodies::export(&kept);
        assert!(bardo_store::read_export(kept.as_slice()).is_ok());
    }
}
