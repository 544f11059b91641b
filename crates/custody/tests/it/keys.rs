use alloy_primitives::U256;
use bardo_bindings::framework::STATELESS_7702_IMPL;
use golem_custody::{KeyFileError, OwnerSigner, SessionKey, SessionSigner, TransactionPlan};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_keystore_opens_with_its_password_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    let key = SessionKey::born();
    key.save(&path, "right").unwrap();

    assert_eq!(SessionKey::open(&path, "right").unwrap().address(), key.address());
    assert!(matches!(SessionKey::open(&path, "wrong"), Err(KeyFileError::Locked { .. })));
}

#[test]
fn a_key_is_never_written_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    let first = SessionKey::born();
    first.save(&path, "pw").unwrap();

    let second = SessionKey::born().save(&path, "pw");

    assert!(matches!(second, Err(KeyFileError::Write { .. })));
    assert_eq!(SessionKey::open(&path, "pw").unwrap().address(), first.address());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no half of the second stays");
}

#[test]
fn key_files_readable_by_others_are_refused_whatever_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    for mode in [0o640, 0o604, 0o666, 0o620] {
        write(&path, &format!("{:064x}", 1), mode);
        assert!(
            matches!(OwnerSigner::from_key_file(&path), Err(KeyFileError::Loose { .. })),
            "{mode:o}"
        );
    }
    for mode in [0o600, 0o400] {
        write(&path, &format!("{:064x}", 1), mode);
        assert!(OwnerSigner::from_key_file(&path).is_ok(), "{mode:o}");
    }
}

/// ATK-35: neither a broken key nor its error tells what was in the file.
#[test]
fn what_is_no_key_is_refused_without_being_quoted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let order = "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";
    for text in ["", "0x", "secret words", &"0".repeat(64), order, &"1".repeat(66)] {
        write(&path, text, 0o600);
        let error = match OwnerSigner::from_key_file(&path) {
            Err(error) => error,
            Ok(_) => panic!("{text:?} is no key"),
        };
        assert!(matches!(error, KeyFileError::NotAKey { .. }), "{error:?}");
        assert!(!format!("{error:?}{error}").contains("secret"), "{error:?}");
    }
}

/// ATK-32: an upgrade is for one chain and for the framework's code, and for the right nonce.
#[test]
fn an_upgrade_names_its_chain_and_the_frameworks_code() {
    let owner = OwnerSigner::born();
    let plan = TransactionPlan {
        chain_id: 8453,
        nonce: 5,
        max_fee_per_gas: 1,
        max_priority_fee_per_gas: 1,
        balance: U256::ZERO,
    };

    let signed = owner.upgrade(&plan).unwrap();

    assert_eq!(signed.inner().chain_id, U256::from(8453));
    assert_ne!(signed.inner().chain_id, U256::ZERO);
    assert_eq!(signed.inner().address, STATELESS_7702_IMPL);
    assert_eq!(signed.inner().nonce, 6, "the transaction that carries it uses 5");
    assert_eq!(signed.recover_authority().unwrap(), owner.address());
}
