//! The audit chain: what is damaged is found, and where.

use crate::kit::{Dice, GOLEM, Key, NOW, fault, folder, kinds, open, raw, records, reserved};
use alloy_primitives::{B256, Bytes, b256};
use bardo_store::{
    Anchor, Anchored, Archive, Damage, DamageKind, ExportError, MAX_LINE, Record, Seal, Sealed,
    StoreError, read_export, verify, write_export,
};
use golem_custody::{Audit, AuditHead};
use proptest::prelude::*;
use serde_json::json;

const EMPTY: AuditHead = AuditHead { golem: GOLEM, length: 0, hash: B256::ZERO };

/// A chain whose bodies come of `seed`.
fn chain(length: u64, seed: u64) -> Vec<Record> {
    let mut dice = Dice(seed);
    let mut head = EMPTY;
    (0..length)
        .map(|number| {
            let body = format!(r#"{{"n":{number},"x":{}}}"#, dice.roll());
            let kind = ["note", "step", "intent.signed"][usize::try_from(dice.below(3)).unwrap()];
            let record = Record::after(&head, NOW + number, kind, body);
            head = record.head();
            record
        })
        .collect()
}

/// The same chain after somebody wrote it anew from record `from` on.
fn rewritten(records: &[Record], from: usize) -> Vec<Record> {
    let mut head = records[..from].last().map_or(EMPTY, Record::head);
    let mut all = records[..from].to_vec();
    for record in &records[from..] {
        let body = record.body.replace("\"n\"", "\"m\"");
        let record = Record::after(&head, record.at, record.kind.clone(), body);
        head = record.head();
        all.push(record);
    }
    all
}

fn damage(records: &[Record]) -> Option<(u64, DamageKind)> {
    verify(records, &[], &[]).damage.map(|Damage { sequence, kind, .. }| (sequence, kind))
}

const fn anchor(record: &Record, block: u64) -> Anchor {
    Anchor { hash: record.hash, block }
}

/// Fixed bytes, hashed by foundry's cast from the layout of [`Record::computed_hash`], so that nobody changes the form of old logs without noticing.
#[test]
fn the_hash_of_a_record_is_what_it_always_was() {
    let record = Record::after(&EMPTY, NOW, "note", r#"{"a":1}"#.into());

    let expected = b256!("0x288b679bb7d25bce57aa5e14ff294451492ecaaca8ee083be74f79e3bafcfa27");
    assert_eq!(record.hash, expected);
}

#[test]
fn lengths_keep_a_kind_and_a_body_apart() {
    let one = Record::after(&EMPTY, NOW, "ab", "c".into());
    let other = Record::after(&EMPTY, NOW, "a", "bc".into());

    assert_ne!(one.hash, other.hash);
}

#[test]
fn a_whole_chain_is_whole_and_says_that_it_has_no_anchor() {
    let records = chain(5, 1);

    let found = verify(&records, &[], &[]);

    assert!(found.is_whole());
    assert_eq!((found.golem, found.length, found.head), (Some(GOLEM), 5, records[4].hash));
    assert_eq!((found.sealed, found.anchored, found.unanchored), (None, None, 5));
    assert!(found.to_string().contains("no anchor"), "{found}");
    assert!(verify(&[], &[], &[]).is_whole());
}

#[test]
fn an_anchor_says_how_far_the_chain_is_on_chain() {
    let records = chain(9, 1);
    let anchors = [anchor(&records[6], 120), anchor(&records[2], 100), anchor(&records[2], 130)];

    let found = verify(&records, &[], &anchors);

    assert!(found.is_whole(), "{found}");
    assert_eq!(found.anchored, Some(Anchored { sequence: 7, block: 120 }));
    assert_eq!(found.unanchored, 2);
    assert!(found.to_string().contains("2 records are newer"), "{found}");
}

#[test]
fn a_cut_tail_is_seen_against_a_seal_and_located() {
    let records = chain(9, 1);
    let seals = [Key::of(1).seal(records[8].head()), Key::of(1).seal(records[3].head())];
    assert_eq!(
        verify(&records, &seals, &[]).sealed,
        Some(Sealed { sequence: 9, by: Key::of(1).address() })
    );

    for left in 4..9 {
        let found = verify(&records[..left], &seals, &[]).damage.unwrap();
        assert_eq!((found.sequence, found.kind), (left as u64 + 1, DamageKind::Cut), "{found:?}");
    }
    assert!(verify(&records[..8], &seals[1..], &[]).is_whole(), "nobody vouched for the last one");
}

#[test]
fn a_cut_tail_is_seen_against_an_anchor() {
    let records = chain(9, 1);
    let anchors = [anchor(&records[3], 100), anchor(&records[8], 110)];

    let found = verify(&records[..7], &[], &anchors);

    // How long the chain was, a hash does not say: what is beyond the last anchor that agrees cannot be vouched for.
    let damage = found.damage.clone().unwrap();
    assert_eq!((damage.sequence, damage.kind), (5, DamageKind::Missing), "{found}");
    assert!(damage.reason.contains("block 110"), "{found}");
    // Together with a seal of the same head it is.
    let seals = [Key::of(1).seal(records[8].head())];
    let damage = verify(&records[..7], &seals, &anchors).damage.unwrap();
    assert_eq!((damage.sequence, damage.kind), (8, DamageKind::Cut));
}

/// ATK-47: whoever has the key can write and seal another chain; what is on chain he cannot.
#[test]
fn a_chain_that_its_keys_holder_wrote_anew_is_seen_against_an_anchor_alone() {
    let records = chain(9, 1);
    let key = Key::of(1);
    for from in 0..9 {
        let forged = rewritten(&records, from);
        let seals: Vec<Seal> = forged.iter().map(|record| key.seal(record.head())).collect();
        assert!(verify(&forged, &seals, &[]).is_whole(), "by itself it is a chain like any other");

        let found = verify(&forged, &seals, &[anchor(&records[0], 99), anchor(&records[8], 100)]);

        let damage = found.damage.clone().unwrap();
        assert_eq!(damage.kind, DamageKind::Missing, "{found}");
        assert_eq!(damage.sequence, if from == 0 { 1 } else { 2 }, "{found}");
    }
}

#[test]
fn a_chain_that_was_written_anew_without_the_key_is_seen_against_its_seals() {
    let records = chain(9, 1);
    let seals = [Key::of(1).seal(records[2].head()), Key::of(1).seal(records[6].head())];

    let found = verify(&rewritten(&records, 4), &seals, &[]).damage.unwrap();

    assert_eq!((found.sequence, found.kind), (4, DamageKind::Rewritten), "{found:?}");
    assert!(verify(&rewritten(&records, 7), &seals, &[]).is_whole());
}

#[test]
fn a_seal_that_its_key_did_not_make_is_found() {
    let records = chain(3, 1);
    let good = Key::of(1).seal(records[2].head());
    let other = Key::of(2).address();
    let stretched: Bytes = [good.seal.as_ref(), &[0]].concat().into();
    let of_another = AuditHead { golem: B256::repeat_byte(9), ..records[2].head() };
    for (seal, kind) in [
        (Seal { by: other, ..good.clone() }, DamageKind::Forged),
        (Seal { seal: Bytes::new(), ..good.clone() }, DamageKind::Forged),
        (Seal { seal: stretched, ..good.clone() }, DamageKind::Forged),
        (Seal { head: records[1].head(), ..good.clone() }, DamageKind::Forged),
        (Key::of(1).seal(of_another), DamageKind::Foreign),
    ] {
        assert_eq!(verify(&records, &[seal], &[]).damage.unwrap().kind, kind);
    }
    assert!(verify(&records, &[good], &[]).is_whole());
}

#[test]
fn a_record_of_another_golem_is_found() {
    let mut records = chain(3, 1);
    let head = AuditHead { golem: B256::repeat_byte(9), ..records[1].head() };
    records[2] = Record::after(&head, NOW, "note", "{}".into());

    assert_eq!(damage(&records), Some((3, DamageKind::Foreign)));
}

#[test]
fn a_record_with_a_fresh_hash_is_given_away_by_the_next() {
    let mut records = chain(6, 1);
    let mut forged = Record { body: "{}".into(), ..records[2].clone() };
    forged.hash = forged.computed_hash();
    records[2] = forged.clone();

    assert_eq!(damage(&records), Some((3, DamageKind::Changed)));

    // Put before the true one instead of in its place.
    let mut records = chain(6, 1);
    records.insert(2, forged);
    assert_eq!(damage(&records), Some((3, DamageKind::Inserted)));
}

/// One thing that somebody does to a chain, and what has to be said of it.
#[derive(Clone, Debug)]
enum Tampering {
    Byte { field: usize, bit: usize },
    Remove,
    Repeat { to: usize },
    Swap { with: usize },
    Cut,
}

fn tampering() -> impl Strategy<Value = Tampering> {
    prop_oneof![
        (0..7usize, 0..256usize).prop_map(|(field, bit)| Tampering::Byte { field, bit }),
        Just(Tampering::Remove),
        (0..64usize).prop_map(|to| Tampering::Repeat { to }),
        (1..64usize).prop_map(|with| Tampering::Swap { with }),
        Just(Tampering::Cut),
    ]
}

const fn flip_word(word: &mut B256, bit: usize) {
    word.0[bit / 8] ^= 1 << (bit % 8);
}

fn flip_text(text: &mut String, bit: usize) {
    let mut bytes = std::mem::take(text).into_bytes();
    let at = bit % bytes.len();
    // Any other letter; the text stays one.
    bytes[at] = if bytes[at] == b'a' { b'b' } else { b'a' };
    *text = String::from_utf8(bytes).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_single_tampering_is_found_at_its_record(
        length in 2..24usize, seed: u64, at in 0..64usize, tampering in tampering(),
    ) {
        let original = chain(length as u64, seed);
        let mut records = original.clone();
        let at = at % length;
        let number = at as u64 + 1;
        let key = Key::of(1);
        let seals = [key.seal(original[length - 1].head())];
        let expected = match tampering {
            Tampering::Byte { field, bit } => {
                let record = &mut records[at];
                match field {
                    0 => flip_word(&mut record.golem, bit),
                    1 => record.sequence ^= 1 << (bit % 64),
                    2 => record.at ^= 1 << (bit % 64),
                    3 => flip_text(&mut record.kind, bit),
                    4 => flip_text(&mut record.body, bit),
                    5 => flip_word(&mut record.previous, bit),
                    _ => flip_word(&mut record.hash, bit),
                }
                Some((number, DamageKind::Changed))
            }
            Tampering::Remove if at + 1 == length => {
                records.pop();
                Some((number, DamageKind::Cut))
            }
            Tampering::Remove => {
                records.remove(at);
                Some((number, DamageKind::Removed))
            }
            Tampering::Repeat { to } => {
                let to = to % (length + 1);
                records.insert(to, original[at].clone());
                // Right before or after itself it stands at the next number's place.
                let first = if to == at { to + 1 } else { to };
                Some((first as u64 + 1, DamageKind::Inserted))
            }
            Tampering::Swap { with } => {
                let with = (at + with) % length;
                records.swap(at, with);
                let first = at.min(with) as u64 + 1;
                (at != with).then_some((first, DamageKind::Reordered))
            }
            Tampering::Cut => {
                records.truncate(at);
                Some((number, DamageKind::Cut))
            }
        };

        let found = verify(&records, &seals, &[]);

        let damage = found.damage.as_ref().map(|damage| (damage.sequence, damage.kind));
        prop_assert_eq!(damage, expected, "{}", found);
    }

    #[test]
    fn an_export_reads_back_as_it_was(length in 0..12u64, seed: u64) {
        let records = chain(length, seed);
        let seals: Vec<Seal> =
            records.iter().step_by(3).map(|record| Key::of(1).seal(record.head())).collect();
        let mut text = Vec::new();

        write_export(&records, &seals, &mut text).unwrap();

        let export = read_export(text.as_slice()).unwrap();
        prop_assert_eq!(&export.records, &records);
        prop_assert_eq!(&export.seals, &seals);
        prop_assert!(export.verify(&[]).is_whole());
    }
}

#[tokio::test]
async fn a_store_gives_a_chain_that_verifies_and_keeps_its_seals() {
    let folder = folder();
    let store = open(folder.path());
    assert_eq!(store.head().await.unwrap(), EMPTY);
    reserved(&store, 1, 5, NOW).await;
    let head = store.note("boot", &json!({ "version": 1 }), NOW + 1).await.unwrap();
    let Seal { by, seal, .. } = Key::of(1).seal(head);

    store.sealed(&head, by, &seal).await.unwrap();
    store.sealed(&head, by, &seal).await.unwrap();

    assert_eq!(store.head().await.unwrap(), head);
    let (records, seals) = Archive::open(folder.path()).unwrap().audit().unwrap();
    let found = verify(&records, &seals, &[Anchor { hash: head.hash, block: 3 }]);
    assert!(found.is_whole(), "{found}");
    assert_eq!((found.length, found.unanchored, seals.len()), (2, 0, 1));
    assert_eq!(found.sealed, Some(Sealed { sequence: 2, by }));
}

#[tokio::test]
async fn a_seal_of_what_is_not_the_head_or_by_another_key_is_not_kept() {
    let folder = folder();
    let store = open(folder.path());
    let head = store.note("boot", &json!({}), NOW).await.unwrap();
    let (key, other) = (Key::of(1), Key::of(2));

    let forged = store.sealed(&head, other.address(), &key.seal(head).seal).await;
    assert!(matches!(fault(forged), StoreError::ForgedSeal { .. }));
    for wrong in [
        AuditHead { hash: B256::repeat_byte(1), ..head },
        AuditHead { length: 2, ..head },
        AuditHead { golem: B256::repeat_byte(1), ..head },
    ] {
        let refused = store.sealed(&wrong, key.address(), &key.seal(wrong).seal).await;
        let error = fault(refused);
        assert!(
            matches!(error, StoreError::OtherHead { .. } | StoreError::OtherGolem { .. }),
            "{error:?}"
        );
    }
    assert_eq!(Archive::open(folder.path()).unwrap().audit().unwrap().1, []);
}

#[tokio::test]
async fn kinds_are_names_and_bodies_are_bounded() {
    let folder = folder();
    let store = open(folder.path());
    for kind in ["", "two words", "ümlaut", "new\nline", &"x".repeat(65)] {
        let refused = store.note(kind, &json!({}), NOW).await;
        assert!(matches!(fault(refused), StoreError::Name(_)), "{kind:?}");
    }
    for body in [json!(0.5), json!("x".repeat(70_000))] {
        let refused = store.note("note", &body, NOW).await;
        assert!(matches!(fault(refused), StoreError::Body { .. }));
    }
    assert!(store.note(&"x".repeat(64), &json!({ "a": [1] }), NOW).await.is_ok());
    assert_eq!(kinds(folder.path()).len(), 1);
}

/// Somebody with a shell and without our triggers.
#[tokio::test]
async fn what_is_changed_behind_the_stores_back_is_found_in_the_database() {
    for (change, expected) in [
        ("UPDATE audit SET body = '{\"n\":9}' WHERE sequence = 3", (3, DamageKind::Changed)),
        ("UPDATE audit SET body = 'not json' WHERE sequence = 2", (2, DamageKind::Changed)),
        (
            "UPDATE audit SET body = CAST(x'ff00' AS TEXT) WHERE sequence = 2",
            (2, DamageKind::Changed),
        ),
        (
            "UPDATE audit SET kind = CAST(x'fe' AS TEXT) WHERE sequence = 5",
            (5, DamageKind::Changed),
        ),
        ("UPDATE audit SET at = at + 1 WHERE sequence = 4", (4, DamageKind::Changed)),
        ("DELETE FROM audit WHERE sequence = 2", (2, DamageKind::Removed)),
        ("DELETE FROM audit WHERE sequence > 3", (4, DamageKind::Cut)),
        ("UPDATE audit SET sequence = 9 WHERE sequence = 3", (3, DamageKind::Removed)),
    ] {
        let folder = folder();
        let store = open(folder.path());
        for number in 0..5 {
            let head = store.note("note", &json!({ "n": number }), NOW).await.unwrap();
            let Seal { by, seal, .. } = Key::of(1).seal(head);
            store.sealed(&head, by, &seal).await.unwrap();
        }
        drop(store);
        let raw = raw(folder.path());
        raw.execute_batch("DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted;")
            .unwrap();
        raw.execute(change, []).unwrap();

        let (records, seals) = Archive::open(folder.path()).unwrap().audit().unwrap();

        let found = verify(&records, &seals, &[]).damage.unwrap();
        assert_eq!((found.sequence, found.kind), expected, "{change}");
    }
}

/// What has not even the form of a record or of a seal is found and located like all that is wrong.
#[tokio::test]
async fn what_is_no_record_or_no_seal_any_more_is_located() {
    for (change, sequence, kind) in [
        ("UPDATE audit SET hash = x'00' WHERE sequence = 3", 3, DamageKind::Changed),
        ("UPDATE audit SET previous = x'00' WHERE sequence = 1", 1, DamageKind::Changed),
        ("UPDATE audit SET previous = x'' WHERE sequence = 4", 4, DamageKind::Changed),
        ("UPDATE audit SET at = -5 WHERE sequence = 2", 2, DamageKind::Changed),
        ("UPDATE audit SET sequence = -1 WHERE sequence = 4", 1, DamageKind::Changed),
        ("UPDATE seals SET hash = x'00' WHERE length = 3", 3, DamageKind::Forged),
        ("UPDATE seals SET by = x'00' WHERE length = 2", 2, DamageKind::Forged),
        ("UPDATE seals SET seal = x'' WHERE length = 4", 4, DamageKind::Forged),
        ("UPDATE seals SET length = -1 WHERE length = 5", 5, DamageKind::Forged),
    ] {
        let folder = folder();
        let store = open(folder.path());
        for number in 0..5 {
            let head = store.note("note", &json!({ "n": number }), NOW).await.unwrap();
            let Seal { by, seal, .. } = Key::of(1).seal(head);
            store.sealed(&head, by, &seal).await.unwrap();
        }
        drop(store);
        let raw = raw(folder.path());
        raw.execute_batch(
            "PRAGMA ignore_check_constraints = 1;
             DROP TRIGGER audit_is_not_changed; DROP TRIGGER seals_are_not_changed;",
        )
        .unwrap();
        assert_eq!(raw.execute(change, []).unwrap(), 1, "{change}");

        let (records, seals) = Archive::open(folder.path()).unwrap().audit().unwrap();

        let said = verify(&records, &seals, &[]);
        let found = said.damage.as_ref().unwrap();
        assert_eq!((found.sequence, found.kind), (sequence, kind), "{change}: {said}");
        assert!(said.to_string().starts_with(&format!("damaged at record {sequence}: ")), "{said}");
    }
}

#[tokio::test]
async fn an_archive_reads_what_a_running_golem_has_locked() {
    let folder = folder();
    let store = open(folder.path());
    reserved(&store, 1, 5, NOW).await;

    let mut archive = Archive::open(folder.path()).unwrap();
    assert_eq!(archive.golem().unwrap(), GOLEM);
    assert_eq!(archive.audit().unwrap().0.len(), 1);
    reserved(&store, 2, 5, NOW).await;
    assert_eq!(archive.audit().unwrap().0.len(), 2);
    assert_eq!(records(folder.path()).len(), 2);
}

#[test]
fn an_export_that_is_cut_or_has_more_than_its_end_says_is_found() {
    let records = chain(4, 1);
    let mut text = Vec::new();
    write_export(&records, &[], &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let export = |lines: &[&str]| read_export(lines.join("\n").as_bytes()).unwrap();
    let found = |lines: &[&str]| {
        let damage = export(lines).verify(&[]).damage.unwrap();
        (damage.sequence, damage.kind)
    };

    assert!(export(&lines).verify(&[]).is_whole());
    assert_eq!(found(&lines[..4]), (5, DamageKind::Cut));
    assert_eq!(found(&lines[..2]), (3, DamageKind::Cut));
    assert_eq!(found(&[lines[0], lines[1], lines[4]]), (3, DamageKind::Cut));
    let longer = chain(5, 1);
    let mut other = Vec::new();
    write_export(&longer, &[], &mut other).unwrap();
    let other = String::from_utf8(other).unwrap();
    let fifth = other.lines().nth(4).unwrap();
    let more = [lines[0], lines[1], lines[2], lines[3], fifth, lines[4]];
    assert_eq!(found(&more), (5, DamageKind::Inserted));
}

#[test]
fn a_line_that_is_not_in_its_one_form_is_refused() {
    let mut text = Vec::new();
    write_export(&chain(1, 1), &[], &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let line = text.lines().next().unwrap();
    let refused = |line: &str| read_export(line.as_bytes()).unwrap_err();

    assert!(matches!(
        refused(&line.replace("\"at\":", "\"at\": ")),
        ExportError::NotCanonical { .. }
    ));
    let twice = line.replacen("\"at\":", "\"at\":1,\"at\":", 1);
    assert!(matches!(refused(&twice), ExportError::Form { .. }));
    let body_twice = line.replacen("\"n\":0", "\"n\":1,\"n\":0", 1);
    assert!(matches!(refused(&body_twice), ExportError::NotCanonical { .. }));
    let more = line.replacen("\"at\":", "\"also\":1,\"at\":", 1);
    assert!(matches!(refused(&more), ExportError::Form { .. }));
    assert!(matches!(refused("{}"), ExportError::Form { .. }));
    assert!(matches!(refused("\n"), ExportError::Form { .. }));
    let after = format!("{text}{line}\n");
    assert!(matches!(refused(&after), ExportError::AfterTheEnd { line: 3 }));
}

#[test]
fn a_line_may_be_as_long_as_the_bound_and_no_longer() {
    let long = " ".repeat(MAX_LINE + 1);
    assert!(matches!(read_export(long.as_bytes()), Err(ExportError::Length { line: 1 })));
    let fits = " ".repeat(MAX_LINE);
    assert!(matches!(read_export(fits.as_bytes()), Err(ExportError::Form { line: 1, .. })));
    // The longest body that the chain takes fits into a line.
    let record =
        Record::after(&EMPTY, u64::MAX, "k".repeat(64), format!("\"{}\"", "x".repeat(65_534)));
    let mut text = Vec::new();
    write_export(&[record], &[], &mut text).unwrap();
    assert!(read_export(text.as_slice()).is_ok());
}
