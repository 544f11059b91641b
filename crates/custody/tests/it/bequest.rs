//! What a Golem leaves opens for its owner, whole, and for nobody and in no other way.

use alloy_primitives::{Address, B256, Bytes, U256, hex};
use golem_custody::{Addressed, BequestError, MAX_BEQUEST, OwnerSigner, seal};
use golem_delegation::{Delegation, ROOT_AUTHORITY, SigningDomain};
use proptest::prelude::*;
use serde::Deserialize;
use std::{fs, os::unix::fs::PermissionsExt, sync::OnceLock};

const GOLEM: B256 = B256::repeat_byte(0x60);
const TEXT: &[u8] = b"what it learned";
/// Where the parts of a sealed bequest begin.
const GOLEM_AT: usize = 9;
const OWNER_AT: usize = 41;
const LENGTH_AT: usize = 61;
const HEADER: usize = 126;

const fn domain() -> SigningDomain {
    SigningDomain { chain_id: 8453, manager: Address::repeat_byte(0xaa) }
}

fn unsigned() -> Delegation {
    Delegation {
        delegate: Address::repeat_byte(1),
        // A vault: whose it is the grant does not say.
        delegator: Address::repeat_byte(2),
        authority: ROOT_AUTHORITY,
        caveats: vec![],
        salt: U256::from(7),
        signature: Bytes::new(),
    }
}

fn granted(owner: &OwnerSigner) -> Delegation {
    owner.grant(&domain(), unsigned()).unwrap()
}

fn sealed_for(owner: &OwnerSigner, plain: &[u8]) -> Vec<u8> {
    seal(&granted(owner), &domain(), owner.address(), GOLEM, plain).unwrap()
}

#[test]
fn what_is_sealed_under_a_grant_opens_for_whoever_signed_it() {
    let owner = OwnerSigner::born();
    for plain in [&b""[..], TEXT, &[0; 70_000]] {
        let sealed = sealed_for(&owner, plain);

        assert_eq!(owner.open_bequest(GOLEM, &sealed).unwrap().as_slice(), plain);
        let outside = Addressed { golem: GOLEM, owner: owner.address() };
        assert_eq!(Addressed::read(&sealed).unwrap(), outside);
        assert_eq!(sealed.len(), HEADER + plain.len() + 16);
    }
    let sealed = sealed_for(&owner, TEXT);
    assert!(!sealed.windows(TEXT.len()).any(|part| part == TEXT));
    assert_ne!(sealed[HEADER..], sealed_for(&owner, TEXT)[HEADER..], "a key of its own each time");
}

#[test]
fn nobody_is_sealed_for_but_the_owner() {
    let (owner, thief) = (OwnerSigner::born(), OwnerSigner::born());
    let grant = granted(&owner);
    let refused = |grant: &Delegation, domain: &SigningDomain, owner| {
        seal(grant, domain, owner, GOLEM, TEXT).unwrap_err()
    };

    let other = refused(&granted(&thief), &domain(), owner.address());
    assert!(
        matches!(other, BequestError::OtherSigner { found, .. } if found == thief.address()),
        "{other}"
    );
    // By another domain or of another grant the same bytes are somebody else's signature.
    let elsewhere = SigningDomain { chain_id: 1, ..domain() };
    let other = refused(&grant, &elsewhere, owner.address());
    assert!(matches!(other, BequestError::OtherSigner { .. }), "{other}");
    let changed = Delegation { salt: U256::from(8), ..grant.clone() };
    let other = refused(&changed, &domain(), owner.address());
    assert!(matches!(other, BequestError::OtherSigner { .. }), "{other}");
    for signature in [vec![], vec![9; 64], vec![0; 65], vec![0xff; 65], vec![7; 300]] {
        let none = refused(&grant.clone().signed(signature), &domain(), owner.address());
        assert!(matches!(none, BequestError::NoPlainSignature), "{none}");
    }
}

#[test]
fn another_key_and_another_golem_are_refused_by_name() {
    let (owner, other) = (OwnerSigner::born(), OwnerSigner::born());
    let sealed = sealed_for(&owner, TEXT);

    let refused = other.open_bequest(GOLEM, &sealed).unwrap_err();
    assert!(
        matches!(refused, BequestError::OtherOwner { found, .. } if found == owner.address()),
        "{refused}"
    );
    let refused = owner.open_bequest(B256::ZERO, &sealed).unwrap_err();
    assert!(matches!(refused, BequestError::OtherGolem { found: GOLEM, .. }), "{refused}");
}

#[test]
fn the_outside_cannot_be_written_anew() {
    let (owner, other) = (OwnerSigner::born(), OwnerSigner::born());
    let sealed = sealed_for(&owner, TEXT);

    let mut renamed = sealed.clone();
    renamed[GOLEM_AT..OWNER_AT].fill(0x61);
    let refused = owner.open_bequest(B256::repeat_byte(0x61), &renamed).unwrap_err();
    assert!(matches!(refused, BequestError::Broken), "another Golem's name is on it: {refused}");

    let mut readdressed = sealed;
    readdressed[OWNER_AT..LENGTH_AT].copy_from_slice(other.address().as_slice());
    let refused = other.open_bequest(GOLEM, &readdressed).unwrap_err();
    assert!(matches!(refused, BequestError::Broken), "{refused}");
}

#[test]
fn what_is_cut_extended_or_too_long_is_refused() {
    let owner = OwnerSigner::born();
    let sealed = sealed_for(&owner, TEXT);
    for length in 0..sealed.len() {
        let refused = owner.open_bequest(GOLEM, &sealed[..length]).unwrap_err();
        assert!(matches!(refused, BequestError::Form(_)), "{length}: {refused}");
    }
    let refused = owner.open_bequest(GOLEM, &[&sealed[..], &[0]].concat()).unwrap_err();
    assert!(matches!(refused, BequestError::Form("something is behind its end")), "{refused}");
    let mut lying = sealed.clone();
    lying[LENGTH_AT..LENGTH_AT + 8].fill(0xff);
    let refused = owner.open_bequest(GOLEM, &lying).unwrap_err();
    assert!(matches!(refused, BequestError::Length { .. }), "{refused}");
    let mut later = sealed;
    later[8] = 2;
    let refused = owner.open_bequest(GOLEM, &later).unwrap_err();
    assert!(matches!(refused, BequestError::Version(2)), "{refused}");

    let huge = vec![0; MAX_BEQUEST + 1];
    let refused = seal(&granted(&owner), &domain(), owner.address(), GOLEM, &huge).unwrap_err();
    assert!(matches!(refused, BequestError::Length { .. }), "{refused}");
}

fn kept() -> &'static (OwnerSigner, Vec<u8>) {
    static KEPT: OnceLock<(OwnerSigner, Vec<u8>)> = OnceLock::new();
    KEPT.get_or_init(|| {
        let owner = OwnerSigner::born();
        let sealed = sealed_for(&owner, TEXT);
        (owner, sealed)
    })
}

proptest! {
    #[test]
    fn no_bit_can_be_flipped(at in 0..(HEADER + TEXT.len() + 16), bit in 0..8) {
        let (owner, sealed) = kept();
        let mut flipped = sealed.clone();
        flipped[at] ^= 1u8 << bit;

        prop_assert!(owner.open_bequest(GOLEM, &flipped).is_err());
        // Nor if its reader believes the outside.
        if let Ok(Addressed { golem, .. }) = Addressed::read(&flipped) {
            prop_assert!(owner.open_bequest(golem, &flipped).is_err());
        }
    }

    #[test]
    fn any_text_comes_back_as_it_was(plain in proptest::collection::vec(any::<u8>(), 0..500)) {
        let (owner, _) = kept();
        let sealed = sealed_for(owner, &plain);
        prop_assert_eq!(owner.open_bequest(GOLEM, &sealed).unwrap().to_vec(), plain);
    }
}

#[derive(Deserialize)]
struct Vectors {
    bequests: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    secret: B256,
    owner: Address,
    golem: B256,
    plain: Bytes,
    sealed: Bytes,
}

/// Sealed by OpenSSL and noble: see `testdata/vectors/bequest.mjs`.
#[test]
fn what_others_sealed_by_the_same_form_is_opened() {
    let text = include_str!("../../../../testdata/vectors/bequest.json");
    let vectors: Vectors = serde_json::from_str(text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for Vector { name, secret, owner, golem, plain, sealed } in vectors.bequests {
        let file = folder.path().join("key");
        fs::write(&file, hex::encode(secret)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let key = OwnerSigner::from_key_file(&file).unwrap();
        assert_eq!(key.address(), owner, "{name}");

        assert_eq!(key.open_bequest(golem, &sealed).unwrap().as_slice(), &plain[..], "{name}");
    }
}
