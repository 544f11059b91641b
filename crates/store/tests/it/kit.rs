//! What the tests build with.

use alloy_primitives::{Address, B256, Bytes, Signature, U256, keccak256};
use bardo_store::{Archive, OwnerLedger, Record, Store, StoreConfig, StoreError};
use golem_custody::{
    Answer, AuditHead, Bid, Books, BoxError, Caps, Denial, DenialCode, Entry, IntentId, Question,
    Reserving, Route,
};
use k256::ecdsa::SigningKey;
use rusqlite::Connection;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

pub(crate) const GOLEM: B256 = B256::repeat_byte(0x60);
pub(crate) const SESSION: Address = Address::repeat_byte(0x5e);
/// A second in 2027.
pub(crate) const NOW: u64 = 1_800_000_000;
pub(crate) const NO_CAPS: Caps =
    Caps { session: i64::MAX.cast_unsigned(), day: i64::MAX.cast_unsigned(), owner_day: None };

/// A folder that nobody else can look into, as stores want it.
pub(crate) fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    folder
}

pub(crate) fn config(folder: &Path) -> StoreConfig {
    StoreConfig { folder: folder.into(), golem: GOLEM, max_pages: None }
}

pub(crate) fn open(folder: &Path) -> Store {
    Store::open(&config(folder), None).unwrap()
}

/// The owner's ledger that lies beside a Golem's folder.
pub(crate) fn ledger(path: &Path) -> OwnerLedger {
    OwnerLedger::open(path, owner()).unwrap()
}

/// The database itself, for looks behind the store's back.
pub(crate) fn raw(folder: &Path) -> Connection {
    Connection::open(folder.join(bardo_store::DATABASE)).unwrap()
}

pub(crate) fn records(folder: &Path) -> Vec<Record> {
    Archive::open(folder).unwrap().audit().unwrap().0
}

/// Kinds of all records, the oldest first.
pub(crate) fn kinds(folder: &Path) -> Vec<String> {
    records(folder).into_iter().map(|record| record.kind).collect()
}

pub(crate) fn intent(number: u64) -> IntentId {
    IntentId(keccak256(number.to_be_bytes()))
}

pub(crate) fn entry(number: u64, micro_dollars: u64, at: u64) -> Entry {
    Entry {
        intent: intent(number),
        golem: GOLEM,
        owner: owner(),
        session: SESSION,
        micro_dollars,
        at,
        what: json!({ "do": "swap", "number": number }),
    }
}

pub(crate) fn bid(number: u64) -> Bid {
    Bid {
        route: Route::Transaction,
        hash: keccak256([b"bid".as_slice(), &number.to_be_bytes()].concat()),
        place: U256::from(number),
        since: 7,
        bytes: vec![0x02; 100].into(),
    }
}

pub(crate) async fn reserved(store: &Store, number: u64, micro_dollars: u64, at: u64) {
    assert_eq!(
        store.reserve(&entry(number, micro_dollars, at), &NO_CAPS).await.unwrap(),
        Reserving::Made
    );
}

#[track_caller]
pub(crate) fn refusal(reserving: Reserving) -> Denial {
    match reserving {
        Reserving::Refused(denial) => denial,
        Reserving::Made => panic!("it was not refused"),
    }
}

#[track_caller]
pub(crate) fn assert_refused(reserving: Reserving, code: DenialCode, numbers: &[&str]) {
    let denial = refusal(reserving);
    assert_eq!(denial.code, code, "{denial}");
    for number in numbers {
        assert!(denial.reason.contains(number), "no {number} in: {denial}");
    }
}

/// The store's own error behind a port's.
#[track_caller]
pub(crate) fn fault<T: std::fmt::Debug>(result: Result<T, BoxError>) -> StoreError {
    *result.unwrap_err().downcast::<StoreError>().expect("not an error of the store")
}

/// A key of the tests. Custody's own signs only what was cleared.
pub(crate) struct Key(SigningKey);

impl Key {
    pub(crate) fn of(byte: u8) -> Self {
        Self(SigningKey::from_slice(&[byte; 32]).unwrap())
    }

    pub(crate) fn address(&self) -> Address {
        Address::from_public_key(self.0.verifying_key())
    }

    pub(crate) fn sign(&self, digest: &B256) -> Bytes {
        let (signature, recovery) = self.0.sign_prehash_recoverable(digest.as_slice()).unwrap();
        Signature::from((signature, recovery)).as_bytes().to_vec().into()
    }

    pub(crate) fn seal(&self, head: AuditHead) -> bardo_store::Seal {
        bardo_store::Seal { head, by: self.address(), seal: self.sign(&head.digest()) }
    }

    pub(crate) fn answer(&self, question: &Question, approved: bool) -> Answer {
        Answer { approved, signature: self.sign(&question.answer_digest(approved)) }
    }
}

pub(crate) fn owner_key() -> Key {
    Key::of(0x0a)
}

pub(crate) fn owner() -> Address {
    owner_key().address()
}

pub(crate) fn ledger_path(folder: &Path) -> PathBuf {
    folder.join("owner.db")
}

/// SplitMix64: the same numbers everywhere from one seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) const fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) const fn below(&mut self, bound: u64) -> u64 {
        self.roll() % bound
    }
}
