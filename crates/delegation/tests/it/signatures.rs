//! Signatures the manager would refuse, or that say something else than the delegation they lie in.

use crate::fixtures::Delegations;
use alloy_primitives::{Address, B256, Bytes, Signature, U256, aliases::B512, hex, uint};
use golem_delegation::{
    Caveat, Delegation, ROOT_AUTHORITY, SIGNATURE_LEN, SignatureError, SigningDomain,
};

/// Order of secp256k1.
const ORDER: U256 = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);

type Change = fn(&mut Delegation);

/// A delegation with two caveats that its delegator signed, by the kit.
struct Subject {
    domain: SigningDomain,
    delegation: Delegation,
    digest: B256,
    signer: Address,
}

impl Subject {
    fn load() -> Self {
        let file = Delegations::load();
        let vector =
            file.delegations.into_iter().find(|vector| vector.name == "2 caveats").unwrap();
        let [digest, ..] = vector.digests.as_slice() else { panic!("no digest") };
        Self {
            domain: digest.domain(),
            delegation: vector.delegation.signed(digest.signature.clone()),
            digest: digest.digest,
            signer: digest.signer,
        }
    }

    fn verify(&self, signature: impl Into<Bytes>) -> Result<(), SignatureError> {
        self.domain.verify(&self.delegation.clone().signed(signature), self.signer)
    }

    fn signature(&self) -> Signature {
        Signature::from_raw(&self.delegation.signature).unwrap()
    }
}

/// `r ‖ s ‖ v`.
fn raw(r: U256, s: U256, v: u8) -> Vec<u8> {
    [&r.to_be_bytes::<32>()[..], &s.to_be_bytes::<32>()[..], &[v]].concat()
}

#[test]
fn the_subject_itself_verifies() {
    let subject = Subject::load();

    assert_eq!(subject.verify(subject.delegation.signature.clone()), Ok(()));
}

#[test]
fn a_recovery_byte_other_than_27_and_28_is_refused() {
    let subject = Subject::load();
    let signature = subject.signature();
    let parity = u8::from(signature.v());

    for v in [parity, 0, 1, 2, 26, 29, 35, 36, 255] {
        let verdict = subject.verify(raw(signature.r(), signature.s(), v));
        assert_eq!(verdict, Err(SignatureError::Recovery { v }));
    }
}

#[test]
fn the_other_recovery_byte_recovers_another_signer() {
    let subject = Subject::load();
    let signature = subject.signature();
    let other = 27 + u8::from(!signature.v());

    let verdict = subject.verify(raw(signature.r(), signature.s(), other));

    assert!(
        matches!(verdict, Err(SignatureError::Signer { expected, actual })
            if expected == subject.signer && actual != subject.signer),
        "{verdict:?}"
    );
}

#[test]
fn a_compact_signature_is_refused() {
    let subject = Subject::load();
    let signature = subject.signature();
    // ERC-2098: the parity is the highest bit of s.
    let parity = U256::from(signature.v()) << 255;
    let compact = B512::from_slice(&raw(signature.r(), signature.s() | parity, 0)[..64]);
    assert_eq!(Signature::from_erc2098(compact.as_slice()), signature);

    let verdict = subject.verify(compact.to_vec());

    assert_eq!(verdict, Err(SignatureError::Length { actual: 64 }));
}

/// ATK-05: nothing is read from bytes behind a signature, so there may be none.
#[test]
fn bytes_after_a_valid_signature_are_refused() {
    let subject = Subject::load();

    for extra in [&[0_u8][..], &[27], &[0; 32], &[0xff; 65], &[0; 1000]] {
        let appended = [&subject.delegation.signature, extra].concat();
        let actual = appended.len();
        assert_eq!(subject.verify(appended), Err(SignatureError::Length { actual }));
    }
}

#[test]
fn bytes_before_a_valid_signature_are_refused() {
    let subject = Subject::load();

    let verdict = subject.verify([&[0], &subject.delegation.signature[..]].concat());

    assert_eq!(verdict, Err(SignatureError::Length { actual: SIGNATURE_LEN + 1 }));
}

#[test]
fn a_signature_cut_short_is_refused() {
    let subject = Subject::load();

    for actual in 0..SIGNATURE_LEN {
        let cut = subject.delegation.signature.slice(..actual);
        assert_eq!(subject.verify(cut), Err(SignatureError::Length { actual }));
    }
}

/// ATK-04: the wrapper names a call to make before the check; a plain key has no use for it.
#[test]
fn a_wrapped_signature_is_refused() {
    let subject = Subject::load();
    let magic = hex!("6492649264926492649264926492649264926492649264926492649264926492");
    let inner = &subject.delegation.signature;
    let mut wrapped = Vec::new();
    wrapped.extend(subject.delegation.delegator.into_word());
    for word in [0x60_u64, 0x80, 0, 65] {
        wrapped.extend(U256::from(word).to_be_bytes::<32>());
    }
    wrapped.extend_from_slice(inner);
    wrapped.extend([0; 31]);
    wrapped.extend(magic);

    let actual = wrapped.len();
    assert_eq!(subject.verify(wrapped), Err(SignatureError::Length { actual }));
    // Neither is the magic suffix alone, nor a wrapper cut to the length of a signature.
    let suffixed = [&inner[..], &magic].concat();
    assert_eq!(subject.verify(suffixed), Err(SignatureError::Length { actual: 97 }));
    let cut = [&inner[..33], &magic].concat();
    assert_eq!(subject.verify(cut), Err(SignatureError::Recovery { v: 0x92 }));
}

#[test]
fn the_second_form_of_a_signature_is_refused() {
    let subject = Subject::load();
    let signature = subject.signature();
    let twin = raw(signature.r(), ORDER - signature.s(), 27 + u8::from(!signature.v()));
    // It is by the same key over the same digest: nothing but the check keeps it out.
    let by = Signature::from_raw(&twin).unwrap().recover_address_from_prehash(&subject.digest);
    assert_eq!(by.unwrap(), subject.signer);

    assert_eq!(subject.verify(twin), Err(SignatureError::Malleable));
}

#[test]
fn s_may_reach_half_of_the_order_and_no_further() {
    let subject = Subject::load();
    let r = subject.signature().r();
    let half = ORDER >> 1;

    let at = subject.verify(raw(r, half, 27));
    let above = subject.verify(raw(r, half + U256::ONE, 27));

    assert!(matches!(at, Err(SignatureError::Signer { .. })), "{at:?}");
    assert_eq!(above, Err(SignatureError::Malleable));
    for s in [ORDER - U256::ONE, ORDER, ORDER + U256::ONE, U256::MAX] {
        assert_eq!(subject.verify(raw(r, s, 28)), Err(SignatureError::Malleable), "{s}");
    }
}

#[test]
fn r_or_s_of_zero_is_refused() {
    let subject = Subject::load();
    let signature = subject.signature();

    for v in [27, 28] {
        for (r, s) in
            [(U256::ZERO, signature.s()), (signature.r(), U256::ZERO), (U256::ZERO, U256::ZERO)]
        {
            let verdict = subject.verify(raw(r, s, v));
            assert_eq!(verdict, Err(SignatureError::Unrecoverable), "r {r}, s {s}");
        }
    }
}

#[test]
fn r_beyond_the_order_is_refused() {
    let subject = Subject::load();
    let signature = subject.signature();

    for r in [ORDER, ORDER + U256::ONE, U256::MAX] {
        let verdict = subject.verify(raw(r, signature.s(), 27));
        assert_eq!(verdict, Err(SignatureError::Unrecoverable), "r {r}");
    }
}

/// `ecrecover` answers zero where it fails; here a failure never passes for an address.
#[test]
fn a_signature_that_recovers_nothing_is_not_the_zero_accounts() {
    let subject = Subject::load();
    let delegation = subject.delegation.clone().signed(raw(U256::ZERO, U256::ZERO, 27));

    let verdict = subject.domain.verify(&delegation, Address::ZERO);

    assert_eq!(verdict, Err(SignatureError::Unrecoverable));
}

/// ATK-03: whoever redeems chooses `args`, so a signature says nothing about them.
#[test]
fn args_are_not_signed() {
    let mut subject = Subject::load();
    for caveat in &mut subject.delegation.caveats {
        caveat.args = Bytes::from_static(b"something else");
    }

    assert_eq!(subject.verify(subject.delegation.signature.clone()), Ok(()));
}

/// ATK-03: everything else beside a valid signature is.
#[test]
fn a_signature_does_not_outlive_a_change_of_any_signed_field() {
    let subject = Subject::load();
    let changes: [(&str, Change); 12] = [
        ("delegate", |d| d.delegate = Address::repeat_byte(0x66)),
        ("delegator", |d| d.delegator = Address::repeat_byte(0x66)),
        ("parties swapped", |d| std::mem::swap(&mut d.delegate, &mut d.delegator)),
        ("authority", |d| d.authority = B256::ZERO),
        ("salt", |d| d.salt ^= U256::ONE),
        ("order of caveats", |d| d.caveats.reverse()),
        ("a caveat less", |d| drop(d.caveats.pop())),
        ("no caveats", |d| d.caveats.clear()),
        ("a caveat twice", |d| d.caveats.extend(d.caveats.first().cloned())),
        ("a caveat more", |d| d.caveats.push(Caveat::new(Address::ZERO, Bytes::new()))),
        ("enforcer", |d| d.caveats[0].enforcer = Address::ZERO),
        ("terms", |d| d.caveats[0].terms = [&d.caveats[0].terms[..], &[0]].concat().into()),
    ];

    for (name, change) in changes {
        let mut changed = subject.delegation.clone();
        change(&mut changed);
        assert_ne!(changed, subject.delegation, "{name}");
        let verdict = subject.domain.verify(&changed, subject.signer);
        assert!(
            matches!(verdict, Err(SignatureError::Signer { .. } | SignatureError::Unrecoverable)),
            "{name}: {verdict:?}"
        );
    }
    assert_eq!(subject.delegation.authority, ROOT_AUTHORITY);
}

#[test]
fn refusals_say_what_is_wrong() {
    let expected = Address::repeat_byte(1);
    let actual = Address::repeat_byte(2);

    for (error, text) in [
        (SignatureError::Length { actual: 64 }, "signature has 64 bytes, a plain key's has 65"),
        (
            SignatureError::Recovery { v: 1 },
            "signature ends in v = 1, the contract accepts 27 and 28",
        ),
        (SignatureError::Malleable, "signature has a high s"),
        (SignatureError::Unrecoverable, "signature recovers no key"),
        (
            SignatureError::Signer { expected, actual },
            "signature is by 0x0202020202020202020202020202020202020202, \
             not by 0x0101010101010101010101010101010101010101",
        ),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
