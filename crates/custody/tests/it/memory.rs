//! Looks for a key in all of this process's memory (SPEC K2, ATK-35).

use crate::heads::judged;
use alloy_primitives::{B256, U256};
use golem_custody::{
    AuditHead, KeeperKey, Keyring, Keys, OwnerSigner, P256Key, Password, SessionKey, SessionSigner,
    TransactionPlan,
};
use std::{
    fs::{self, File},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};
use zeroize::Zeroize;

/// The secret, a byte at a time: written down as a whole it would be found here.
fn secret(at: usize) -> u8 {
    u8::try_from((at * 37 + 11) % 251).unwrap() ^ 0x5a
}

fn hex_digit(at: usize) -> u8 {
    let byte = secret(at / 2);
    b"0123456789abcdef"[usize::from(if at.is_multiple_of(2) { byte >> 4 } else { byte & 15 })]
}

/// A form in which it could lie in memory: how long, and which byte stands where.
type Form = (usize, fn(usize) -> u8);

const FORMS: [Form; 3] = [
    (32, secret),
    // As a scalar, least limb first.
    (32, |at| secret(31 - at)),
    (64, hex_digit),
];

/// How often the secret stands in memory that this process can write.
fn copies() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut memory = File::open("/proc/self/mem").unwrap();
    let mut found = 0;
    let mut page = vec![0u8; 1 << 20];
    let own = page.as_ptr() as usize..page.as_ptr() as usize + page.len();
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ').unwrap();
        if !rest.starts_with("rw") || line.ends_with("[vvar]") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let at = |text| usize::from_str_radix(text, 16).unwrap();
        let (mut from, to) = (at(from), at(to));
        while from < to {
            let length = (to - from).min(page.len());
            memory.seek(SeekFrom::Start(from as u64)).unwrap();
            // Some pages are nobody's to read.
            let Ok(read) = memory.read(&mut page[..length]) else { break };
            for (width, byte) in FORMS {
                let first = byte(0);
                let begins = page[..read].iter().enumerate().filter(|(_, one)| **one == first);
                found += begins
                    .filter(|(begin, _)| !own.contains(&(from + begin)))
                    .filter(|(begin, _)| {
                        let there = page[..read].get(*begin..begin + width);
                        there.is_some_and(|there| (0..width).all(|at| there[at] == byte(at)))
                    })
                    .count();
            }
            page.as_mut_slice().zeroize();
            // Two reads overlap, so that nothing hides on their seam.
            from += if read > 64 && read < to - from { read - 64 } else { length };
        }
    }
    found
}

fn key_file(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("owner");
    let mut file =
        fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).unwrap();
    for at in 0..64 {
        file.write_all(&[hex_digit(at)]).unwrap();
    }
    path
}

fn password(folder: &Path) -> Password {
    let path = folder.join("password");
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .unwrap();
    file.write_all(b"open sesame").unwrap();
    Password::from_file(&path).unwrap()
}

const PLAN: TransactionPlan = TransactionPlan {
    chain_id: 8453,
    nonce: 0,
    max_fee_per_gas: 2,
    max_priority_fee_per_gas: 1,
    balance: U256::MAX,
};

const HEAD: AuditHead =
    AuditHead { golem: B256::repeat_byte(1), length: 1, hash: B256::repeat_byte(2) };

/// A Golem's keys, in a folder whose key is the one that is looked for.
fn planted(owner: &OwnerSigner, folder: &Path, name: &str) -> Keys {
    let folder = folder.join(name);
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let password = password(&folder);
    owner.save(&folder.join("session-key.json"), &password).unwrap();
    Keys::local(&folder, password).unwrap()
}

#[tokio::test]
async fn a_dropped_key_is_nowhere_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (keystore, password) = (folder.path().join("session.json"), password(folder.path()));

    let file = key_file(folder.path());
    let owner = OwnerSigner::from_key_file(&file).unwrap();
    assert_eq!(copies(), 1, "alive it is in one place, and this test can see it");
    owner.upgrade(&PLAN).unwrap();
    owner.save(&keystore, &password).unwrap();
    assert_eq!(copies(), 1, "what was signed and saved left no copy");
    drop(owner);
    assert_eq!(copies(), 0, "an owner's key");

    let key = SessionKey::open(&keystore, &password).unwrap();
    assert_eq!(copies(), 1);
    let moved = Box::new(key);
    assert_eq!(copies(), 1, "moving its holder moves no secret");
    moved.seal(judged(HEAD)).await.unwrap();
    assert_eq!(copies(), 1, "what was signed left no copy");
    let address = moved.address();
    drop(moved);
    assert_eq!(copies(), 0, "the session key {address}");

    let key = P256Key::open(&keystore, &password).unwrap();
    assert_eq!(copies(), 1, "a session key on the other curve");
    key.save(&folder.path().join("p256.json"), &password).unwrap();
    drop(key);
    assert_eq!(copies(), 0, "a session key on the other curve");

    // Where a Golem has them: wiped by its rotation, and by its death.
    let owner = OwnerSigner::from_key_file(&file).unwrap();
    let (rotates, dies) =
        (planted(&owner, folder.path(), "rotates"), planted(&owner, folder.path(), "dies"));
    drop(owner);
    assert_eq!(copies(), 2, "each Golem has its own");
    rotates.signer().await.unwrap().seal(judged(HEAD)).await.unwrap();
    rotates.next().await.unwrap();
    assert_eq!(copies(), 2);
    rotates.switch().await.unwrap();
    assert_eq!(copies(), 1, "a key that was replaced");
    let handle = dies.signer().await.unwrap();
    dies.end().await.unwrap();
    assert_eq!(copies(), 0, "a key that died while somebody held it");
    assert!(handle.seal(judged(HEAD)).await.is_err());
    drop(rotates);

    let keeper = KeeperKey::open(&keystore, &password).unwrap();
    assert_eq!(copies(), 1, "on the other curve");
    keeper.save(&folder.path().join("keeper.json"), &password).unwrap();
    assert_eq!(copies(), 1);
    drop(keeper);
    assert_eq!(copies(), 0, "a wallet's keeper");

    let panicked = std::panic::catch_unwind(|| {
        let _owner = OwnerSigner::from_key_file(&file).unwrap();
        panic!("somewhere else");
    });
    assert!(panicked.is_err());
    assert_eq!(copies(), 0, "a key that a panic dropped");
}

/// SPEC K2: a crash writes no memory to disk, others of the same user cannot look in, and a key's page is not swapped out where
/// the system allows that.
#[test]
fn a_process_with_a_key_is_closed_to_others() {
    let said = |file: &str, name: &str| {
        let text = fs::read_to_string(format!("/proc/self/{file}")).unwrap();
        text.lines().find(|line| line.starts_with(name)).unwrap().to_owned()
    };
    let locked = |line: &str| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap();
    let before = locked(&said("status", "VmLck"));

    let key = SessionKey::born();
    drop(SessionKey::born());
    let now = locked(&said("status", "VmLck"));
    let mine = Box::new([0u8; 64]);
    let allowed = region::lock(mine.as_ptr(), mine.len()).is_ok();
    assert_eq!(now > before, allowed, "{}", key.address());
    golem_custody::harden_process().unwrap();

    let core = said("limits", "Max core file size");
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    let dumps = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(dumps, rustix::process::DumpableBehavior::NotDumpable);
}
