//! What must hold for any bytes at all. The fuzz target runs this, and so do the stable tests.

use bardo_store::{MAX_LINE, read_export, write_export};

/// An export that is read has one form only, and verifying it finds a place in it or nothing.
pub(crate) fn export(bytes: &[u8]) {
    let Ok(export) = read_export(bytes) else { return };

    assert!(bytes.split(|byte| *byte == b'\n').all(|line| line.len() <= MAX_LINE));
    let found = export.verify(&[]);
    let length = u64::try_from(export.records.len()).unwrap_or(u64::MAX);
    assert_eq!(found.length, length);
    if let Some(damage) = &found.damage {
        assert!(damage.sequence >= 1);
    }
    let mut text = Vec::new();
    assert!(write_export(&export.records, &export.seals, &mut text).is_ok());
    let again = read_export(text.as_slice());
    assert!(
        again.is_ok_and(|again| { again.records == export.records && again.seals == export.seals })
    );
    if found.damage.is_none() {
        // Whole and in order: written again it is the same file, but for where its seals stand.
        let sorted = |bytes: &[u8]| {
            let mut lines: Vec<Vec<u8>> = bytes
                .split(|byte| *byte == b'\n')
                .filter(|line| !line.is_empty())
                .map(<[u8]>::to_vec)
                .collect();
            lines.sort_unstable();
            lines
        };
        if length != 0 {
            assert_eq!(sorted(&text), sorted(bytes), "read from another form");
        }
    }
}
