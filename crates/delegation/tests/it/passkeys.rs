//! Owners of Hybrid accounts: a plain key, or a passkey, signing through MetaMask's kit.

use crate::fixtures::{read, word};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256, uint};
use golem_delegation::{
    Delegation, MAX_PASSKEY_BYTES, PasskeyError, PasskeyOwner, PasskeySignature, SigningDomain,
    WebAuthn,
};
use serde::Deserialize;

/// Order of P-256.
const ORDER: U256 = uint!(0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551_U256);

#[derive(Debug, Deserialize)]
pub(crate) struct Owners {
    pub(crate) keys: Vec<Key>,
    pub(crate) passkeys: Vec<Passkey>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Key {
    pub(crate) owner: Address,
    #[serde(flatten)]
    pub(crate) grant: Grant,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Passkey {
    name: String,
    key_id: String,
    key_id_hash: B256,
    x: U256,
    y: U256,
    pub(crate) raw: Bytes,
    #[serde(flatten)]
    pub(crate) grant: Grant,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Grant {
    chain_id: u64,
    manager: Address,
    digest: B256,
    pub(crate) delegation: Delegation,
}

impl Grant {
    pub(crate) const fn domain(&self) -> SigningDomain {
        SigningDomain { chain_id: self.chain_id, manager: self.manager }
    }
}

impl Passkey {
    pub(crate) fn owner(&self) -> PasskeyOwner {
        PasskeyOwner::new(&self.key_id, self.x, self.y)
    }

    fn signature(&self) -> PasskeySignature {
        PasskeySignature::decode(&self.grant.delegation.signature).unwrap()
    }

    fn verify(&self, signature: impl Into<Bytes>) -> Result<(), PasskeyError> {
        let signed = self.grant.delegation.clone().signed(signature);
        self.grant.domain().verify_passkey(&signed, &self.owner())
    }

    /// The verdict on the same signature with something else in it.
    fn changed(&self, change: impl FnOnce(&mut PasskeySignature)) -> Result<(), PasskeyError> {
        let mut signature = self.signature();
        change(&mut signature);
        self.verify(signature.encode())
    }

    fn rephrased(&self, change: impl FnOnce(&mut WebAuthn)) -> Result<(), PasskeyError> {
        self.changed(|signature| change(signature.assertion.as_mut().unwrap()))
    }
}

pub(crate) fn owners() -> Owners {
    read("hybrid-owners.json")
}

fn named(name: &str) -> Passkey {
    owners().passkeys.into_iter().find(|passkey| passkey.name == name).unwrap()
}

fn usual() -> Passkey {
    named("user present and verified")
}

#[test]
fn an_owners_plain_key_signs_for_his_account() {
    let keys = owners().keys;

    assert!(keys.len() >= 4);
    for Key { owner, grant } in keys {
        assert_ne!(owner, grant.delegation.delegator, "the account is not its owner");
        assert_eq!(grant.domain().digest(&grant.delegation), grant.digest);
        assert_eq!(grant.domain().verify(&grant.delegation, owner), Ok(()));
        assert!(grant.domain().verify(&grant.delegation, grant.delegation.delegator).is_err());
    }
}

#[test]
fn every_passkey_signs_for_its_account_however_its_authenticator_speaks() {
    let passkeys = owners().passkeys;

    assert!(passkeys.len() >= 12);
    for passkey in passkeys {
        let grant = &passkey.grant;
        assert_eq!(passkey.owner().key_id_hash, passkey.key_id_hash, "{}", passkey.name);
        assert_eq!(grant.domain().digest(&grant.delegation), grant.digest, "{}", passkey.name);
        assert_eq!(passkey.verify(grant.delegation.signature.clone()), Ok(()), "{}", passkey.name);
        assert_eq!(passkey.signature().encode(), grant.delegation.signature, "{}", passkey.name);
        assert_eq!(passkey.verify(passkey.raw.clone()), Ok(()), "{}: bare", passkey.name);
    }
}

/// ATK-01, ATK-02, ATK-03: the challenge is the digest, so another digest is another challenge.
#[test]
fn a_passkeys_signature_is_worth_nothing_for_anything_else() {
    let passkey = usual();
    let (domain, owner) = (passkey.grant.domain(), passkey.owner());
    let signed = &passkey.grant.delegation;
    let mismatch = Err(PasskeyError::Mismatch);

    for domain in [
        SigningDomain { chain_id: 1, ..domain },
        SigningDomain { manager: Address::repeat_byte(7), ..domain },
    ] {
        assert_eq!(domain.verify_passkey(signed, &owner), mismatch);
        let bare = signed.clone().signed(passkey.raw.clone());
        assert_eq!(domain.verify_passkey(&bare, &owner), mismatch);
    }
    let mut changed = signed.clone();
    changed.salt += U256::from(1);
    assert_eq!(domain.verify_passkey(&changed, &owner), mismatch);
    let other = named("a low s");
    let stranger = PasskeyOwner { x: other.x, y: other.y, ..owner };
    assert_eq!(domain.verify_passkey(signed, &stranger), mismatch);
    // Not signed by the authenticator: it is the redeemer's to choose.
    let mut unsigned = signed.clone();
    unsigned.caveats[0].args = vec![1].into();
    assert_eq!(domain.verify_passkey(&unsigned, &owner), Ok(()));
}

#[test]
fn a_second_signature_for_the_same_message_is_refused() {
    let passkey = usual();
    let mirrored = passkey.changed(|signature| signature.s = ORDER - signature.s);
    let bare = PasskeySignature::decode(&passkey.raw).unwrap();
    let bare = PasskeySignature { s: ORDER - bare.s, ..bare };

    assert_eq!(mirrored, Err(PasskeyError::Malleable));
    assert_eq!(passkey.verify(bare.encode()), Err(PasskeyError::Malleable));
}

#[test]
fn numbers_that_no_signature_has_are_refused() {
    let passkey = usual();

    for scalar in [U256::ZERO, ORDER, ORDER + U256::from(1), U256::MAX] {
        assert_eq!(passkey.changed(|one| one.r = scalar), Err(PasskeyError::Scalar), "r {scalar}");
        assert_eq!(passkey.changed(|one| one.s = scalar), Err(PasskeyError::Scalar), "s {scalar}");
    }
    assert_eq!(passkey.changed(|one| one.r = U256::from(1)), Err(PasskeyError::Mismatch));
}

#[test]
fn a_key_that_is_no_point_or_not_the_accounts_is_refused() {
    let passkey = usual();
    let signed = &passkey.grant.delegation;
    let domain = passkey.grant.domain();
    let owner = passkey.owner();

    for (x, y) in
        [(U256::ZERO, U256::ZERO), (owner.x, owner.y + U256::from(1)), (U256::MAX, owner.y)]
    {
        let off = PasskeyOwner { x, y, ..owner };
        assert_eq!(domain.verify_passkey(signed, &off), Err(PasskeyError::NotAKey));
    }
    let expected = keccak256("another id");
    let renamed = PasskeyOwner { key_id_hash: expected, ..owner };
    let refusal = PasskeyError::OtherKey { expected, actual: owner.key_id_hash };
    assert_eq!(domain.verify_passkey(signed, &renamed), Err(refusal));
}

#[test]
fn a_user_who_was_not_there_did_not_sign() {
    let passkey = usual();
    let with_flags = |flags: u8, require: bool| {
        passkey.rephrased(|assertion| {
            let mut data = assertion.authenticator_data.to_vec();
            data[32] = flags;
            assertion.authenticator_data = data.into();
            assertion.require_user_verification = require;
        })
    };

    for flags in [0, 0x04, 0xfe] {
        assert_eq!(with_flags(flags, false), Err(PasskeyError::UserAbsent { flags }));
    }
    assert_eq!(with_flags(0x01, true), Err(PasskeyError::UserUnverified { flags: 0x01 }));
    assert_eq!(with_flags(0x11, false), Err(PasskeyError::Backup { flags: 0x11 }));
    // Good flags that the authenticator did not sign.
    assert_eq!(with_flags(0x01, false), Err(PasskeyError::Mismatch));
    assert_eq!(with_flags(0x1d, true), Err(PasskeyError::Mismatch));
}

/// The account asks for a verified user only where the signature says so, and nobody signs that bit.
#[test]
fn the_owner_may_demand_more_than_his_account_does() {
    let present = named("user present alone");
    let (domain, signed) = (present.grant.domain(), &present.grant.delegation);
    let refusal = PasskeyError::UserUnverified { flags: 0x01 };
    assert_eq!(domain.verify_passkey(signed, &present.owner()), Ok(()));
    assert_eq!(domain.verify_passkey(signed, &present.owner().verified()), Err(refusal));

    let usual = usual();
    let (domain, signed) = (usual.grant.domain(), &usual.grant.delegation);
    let demanding = usual.owner().of_relying_party("bardo.example").verified();
    assert_eq!(domain.verify_passkey(signed, &demanding), Ok(()));
    let elsewhere = usual.owner().of_relying_party("bardo.exampl");
    let verdict = domain.verify_passkey(signed, &elsewhere);
    assert!(matches!(verdict, Err(PasskeyError::RelyingParty { .. })), "{verdict:?}");
    let bare = signed.clone().signed(usual.raw.clone());
    assert_eq!(domain.verify_passkey(&bare, &demanding), Err(PasskeyError::Bare));
    let other = named("another relying party");
    let at_home = other.owner().of_relying_party("wallet.example");
    assert_eq!(other.grant.domain().verify_passkey(&other.grant.delegation, &at_home), Ok(()));
}

#[test]
fn client_data_that_says_something_else_is_refused() {
    let passkey = usual();
    let shifted = passkey.rephrased(|one| one.response_type_location += U256::from(1));
    let huge = passkey.rephrased(|one| one.response_type_location = U256::MAX);
    let made = passkey.rephrased(|one| {
        let text = String::from_utf8(one.before_challenge.to_vec()).unwrap();
        one.before_challenge = text.replace("webauthn.get", "webauthn.create").into_bytes().into();
    });
    let elsewhere = passkey.rephrased(|one| {
        one.before_challenge = br#"{"type":"webauthn.get","challenge":"x","origin":""#.into();
    });
    let longer = passkey.rephrased(|one| {
        one.after_challenge = [b"x", &one.after_challenge[..]].concat().into();
    });
    let origin = passkey.rephrased(|one| {
        let text = String::from_utf8(one.after_challenge.to_vec()).unwrap();
        one.after_challenge = text.replace("bardo.example", "thief.example").into_bytes().into();
    });

    let at = |location: U256| Err(PasskeyError::ResponseType { location });
    assert_eq!(shifted, at(U256::from(2)));
    assert_eq!(huge, at(U256::MAX));
    assert_eq!(made, at(U256::from(1)));
    assert_eq!(elsewhere, Err(PasskeyError::Challenge));
    assert_eq!(longer, Err(PasskeyError::Challenge));
    assert_eq!(origin, Err(PasskeyError::Mismatch));
}

#[test]
fn authenticator_data_cut_short_is_refused() {
    let passkey = usual();

    for length in [0, 1, 31, 32, 33, 36] {
        let verdict = passkey.rephrased(|one| {
            one.authenticator_data = one.authenticator_data.slice(..length);
        });
        assert_eq!(verdict, Err(PasskeyError::AuthenticatorData { actual: length }));
    }
}

/// ATK-05, ATK-15: one form of each signature, and nothing behind it.
#[test]
fn every_other_form_of_the_same_signature_is_refused() {
    let passkey = usual();
    let sound = passkey.grant.delegation.signature.clone();

    for length in 0..sound.len() {
        let verdict = passkey.verify(sound.slice(..length));
        let refusal = match length {
            0..96 => PasskeyError::TooShort { actual: length },
            // A bare signature by its length: r and s are over something else.
            96 => PasskeyError::Mismatch,
            _ => PasskeyError::Malformed,
        };
        assert_eq!(verdict, Err(refusal), "cut to {length}");
    }
    for extra in [1, 31, 32, 64] {
        let longer = [&sound[..], &vec![0; extra]].concat();
        assert_eq!(passkey.verify(longer), Err(PasskeyError::NotCanonical), "{extra} more");
    }
    // The second string's offset points at the first.
    let mut shared = sound.to_vec();
    let first = shared[5 * 32..6 * 32].to_vec();
    shared[6 * 32..7 * 32].copy_from_slice(&first);
    let verdict = passkey.verify(shared);
    assert!(matches!(verdict, Err(PasskeyError::NotCanonical | PasskeyError::Malformed)));
    let mut truth = sound.to_vec();
    truth[4 * 32..5 * 32].copy_from_slice(&word(2));
    assert_eq!(passkey.verify(truth), Err(PasskeyError::Malformed));
}

#[test]
fn more_bytes_than_any_passkey_writes_are_not_looked_at() {
    let passkey = usual();
    let actual = MAX_PASSKEY_BYTES + 1;

    let verdict = passkey.verify(vec![0; actual]);

    assert_eq!(verdict, Err(PasskeyError::TooLarge { limit: MAX_PASSKEY_BYTES, actual }));
}

#[test]
fn a_plain_keys_signature_is_no_passkeys() {
    let passkey = usual();
    let plain = owners().keys[0].grant.delegation.signature.clone();

    assert_eq!(passkey.verify(plain), Err(PasskeyError::TooShort { actual: 65 }));
}
