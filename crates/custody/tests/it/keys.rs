use alloy_primitives::U256;
use bardo_bindings::framework::STATELESS_7702_IMPL;
use golem_custody::{
    KeyFileError, Keyring as _, Keys, OwnerSigner, Password, SessionKey, SessionSigner,
    TransactionPlan,
};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn password(folder: &Path, text: &str) -> Password {
    let path = folder.join(format!("pw-{}", text.len()));
    write(&path, text, 0o600);
    Password::from_file(&path).unwrap()
}

#[test]
fn a_keystore_opens_with_its_password_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    let key = SessionKey::born();
    key.save(&path, &password(folder.path(), "right")).unwrap();

    let opened = SessionKey::open(&path, &password(folder.path(), "right")).unwrap();
    assert_eq!(opened.address(), key.address());
    let locked = SessionKey::open(&path, &password(folder.path(), "not right"));
    assert!(matches!(locked, Err(KeyFileError::Locked { .. })));
}

#[test]
fn a_keystore_that_others_can_read_is_refused_with_the_right_password_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    let pw = password(folder.path(), "pw");
    OwnerSigner::born().save(&path, &pw).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();

    assert!(matches!(OwnerSigner::from_keystore(&path, &pw), Err(KeyFileError::Loose { .. })));
    assert!(matches!(SessionKey::open(&path, &pw), Err(KeyFileError::Loose { .. })));
}

#[test]
fn a_password_file_is_private_and_says_something() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pw");
    for (text, mode) in [("", 0o600), ("\nsecond line", 0o600)] {
        write(&path, text, mode);
        assert!(matches!(Password::from_file(&path), Err(KeyFileError::NoPassword { .. })));
    }
    write(&path, "good", 0o644);
    assert!(matches!(Password::from_file(&path), Err(KeyFileError::Loose { .. })));
    assert!(matches!(
        Password::from_file(&folder.path().join("none")),
        Err(KeyFileError::Read { .. })
    ));
}

#[test]
fn a_key_is_never_written_over_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    let pw = password(folder.path(), "pw");
    let first = SessionKey::born();
    first.save(&path, &pw).unwrap();

    let second = SessionKey::born().save(&path, &pw);

    assert!(matches!(second, Err(KeyFileError::Write { .. })));
    assert_eq!(SessionKey::open(&path, &pw).unwrap().address(), first.address());
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "key and password; no half of the second stays");
}

/// Nothing beside the keystore is touched, whatever it is called.
#[test]
fn what_lies_beside_a_keystore_stays() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join(".key.json.new/precious");
    fs::create_dir_all(&precious).unwrap();
    let path = folder.path().join("key.json");

    SessionKey::born().save(&path, &password(folder.path(), "pw")).unwrap();

    assert!(precious.is_dir());
    let missing = folder.path().join("no/such/folder/key.json");
    let refused = SessionKey::born().save(&missing, &password(folder.path(), "pw"));
    assert!(matches!(refused, Err(KeyFileError::Write { .. })));
    assert!(!folder.path().join("no").exists(), "folders are not made on the way");
}

#[test]
fn of_many_writers_one_wins_and_its_key_is_the_one_that_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key.json");
    let writers: Vec<_> = (0..6)
        .map(|_| {
            let (path, folder) = (path.clone(), folder.path().to_owned());
            std::thread::spawn(move || {
                let key = SessionKey::born();
                let name = folder.join(key.address().to_string());
                write(&name, "pw", 0o600);
                let pw = Password::from_file(&name).unwrap();
                key.save(&path, &pw).ok().map(|()| key.address())
            })
        })
        .collect();

    let won: Vec<_> = writers.into_iter().filter_map(|writer| writer.join().unwrap()).collect();

    let opened = SessionKey::open(&path, &password(folder.path(), "pw")).unwrap();
    assert_eq!(won, [opened.address()]);
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

/// D21: whoever opens gets the key that was there, and none that was not.
#[tokio::test]
async fn a_key_that_is_gone_is_missed_and_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let pw = || password(folder.path(), "pw");
    let key = folder.path().join("session-key.json");
    let missing = |keys: Result<Keys, KeyFileError>| matches!(keys, Err(KeyFileError::Missing { path }) if path == key);
    assert!(missing(Keys::open(folder.path(), pw())));
    assert!(!key.exists());

    let born = Keys::local(folder.path(), pw()).unwrap().current().await;

    assert!(born.is_some());
    assert_eq!(Keys::open(folder.path(), pw()).unwrap().current().await, born);
    fs::remove_file(&key).unwrap();
    assert!(missing(Keys::open(folder.path(), pw())));
    assert!(!key.exists());
}

/// Whoever seals a key, for the test below. By itself it does nothing.
#[test]
fn sealer() {
    let Some(folder) = std::env::var_os("BARDO_SEALING") else { return };
    SessionKey::born()
        .save(&Path::new(&folder).join("key.json"), &password(Path::new(&folder), "pw"))
        .unwrap();
}

/// Seen from outside of the process: a key whose name is not on the disk is lost with the power, and what was granted to it too.
#[test]
fn the_name_of_a_key_is_on_the_disk_before_anybody_hears_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    let traced = Command::new("strace")
        .args(["-f", "-y", "-e", "trace=link,linkat,fsync", "-o"])
        .arg(&trace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "keys::sealer"])
        .env("BARDO_SEALING", folder.path())
        .output()
        .expect("strace is needed to see what the disk is asked: apt-get install strace, as tools/setup.sh does");
    assert!(traced.status.success(), "{traced:?}");

    let trace = fs::read_to_string(&trace).unwrap();
    let (_, after) = trace.split_once("key.json").expect("the key got its name");
    let place = fs::canonicalize(folder.path()).unwrap();
    let synced = format!("<{}>)", place.display());
    let asked =
        |line: &str| line.contains("fsync(") && line.contains(&synced) && line.ends_with("= 0");

    assert!(after.lines().any(asked), "{trace}");
}
