//! Signatures of the P-256 keys that own a Hybrid account.

use super::SigningDomain;
use crate::Delegation;
use alloy_primitives::{B256, Bytes, U256, keccak256};
use alloy_sol_types::{Error as AbiError, SolType, abi::AbiDecoderConfig, sol_data};
use p256::{
    EncodedPoint, FieldBytes,
    ecdsa::{Signature, VerifyingKey, signature::hazmat::PrehashVerifier as _},
};
use sha2::{Digest as _, Sha256};

/// Largest signature of a passkey that is looked at.
///
/// ```
/// use golem_delegation::{MAX_PASSKEY_BYTES, PasskeyError, PasskeySignature};
/// let mut bytes = vec![0xff; MAX_PASSKEY_BYTES];
/// assert_eq!(PasskeySignature::decode(&bytes), Err(PasskeyError::Malformed));
///
/// bytes.push(0xff);
/// let (limit, actual) = (16_384, 16_385);
/// assert_eq!(PasskeySignature::decode(&bytes), Err(PasskeyError::TooLarge { limit, actual }));
/// ```
pub const MAX_PASSKEY_BYTES: usize = 16 * 1024;

/// Length of the form without a browser around it: `keyIdHash ‖ r ‖ s`.
const BARE_LEN: usize = 96;

/// Where an authenticator's flags stand, and the least it says.
const FLAGS_AT: usize = 32;
const AUTHENTICATOR_LEAST: usize = 37;

const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const BACKUP_ELIGIBLE: u8 = 0x08;
const BACKED_UP: u8 = 0x10;

const ASSERTION: &[u8] = br#""type":"webauthn.get""#;
const CHALLENGE: &[u8] = br#""challenge":""#;

/// What the account decodes. Text is taken for bytes: nobody needs it to be UTF-8.
type Wire = (
    sol_data::FixedBytes<32>,
    sol_data::Uint<256>,
    sol_data::Uint<256>,
    sol_data::Bytes,
    sol_data::Bool,
    sol_data::Bytes,
    sol_data::Bytes,
    sol_data::Uint<256>,
);

/// Why a signature is not one of a passkey's over this delegation.
///
/// ```
/// use golem_delegation::{PasskeyError, PasskeySignature};
/// # use golem_delegation::{Caveat, Delegation, PasskeyOwner, ROOT_AUTHORITY, SigningDomain};
/// # use alloy_primitives::{U256, address, hex, uint};
/// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// # let base = SigningDomain { chain_id: 8453, manager };
/// # let limited = address!("04658B29F6b82ed55274221a06Fc97D318E25416");
/// # let grant = Delegation {
/// #     delegate: address!("b3Cc4e1647bf5F98D69AfA8c26d9d8F3DC407D68"),
/// #     delegator: address!("decDbc4ab614EDd3e518B50dAc35759e45974308"),
/// #     authority: ROOT_AUTHORITY,
/// #     caveats: vec![Caveat::new(limited, U256::from(3).to_be_bytes::<32>())],
/// #     salt: uint!(0x2a7bef9732a002758f61434830cb5d638d36da3dd272fdc314fa9ccbca55193e_U256),
/// #     signature: Default::default(),
/// # };
/// # let x = uint!(0x98e6d295a39f8305ed5a05df62d12639fbdcebbb8fd0975c59e03d8e815745a0_U256);
/// # let y = uint!(0x4f20e31736a285af5e454f0606e2416c3c85b75e6215154e0ef3ba2ceee9154b_U256);
/// # let owner = PasskeyOwner::new("OTAzOWQyYzRiYWYwNjMyNzI1NWFhYTQ0OTBjN2YwYjI", x, y);
/// # let r = uint!(0xdba2e71fc647079bd89b8785371b3ce03bb225efaaf1486a827ce4bb37af4414_U256);
/// # let s = uint!(0x0e359fb8da40936ec1e0978cddca43bd014cc6b11c49d3e49bda5a221ec6b139_U256);
/// let key_id_hash = owner.key_id_hash;
/// let bare = PasskeySignature { key_id_hash, r, s, assertion: None };
/// let signed = grant.signed(bare.encode());
/// assert_eq!(base.verify_passkey(&signed, &owner.verified()), Err(PasskeyError::Bare));
/// let mainnet = SigningDomain { chain_id: 1, ..base };
/// assert_eq!(mainnet.verify_passkey(&signed, &owner), Err(PasskeyError::Mismatch));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PasskeyError {
    /// More bytes than [`MAX_PASSKEY_BYTES`].
    #[error("signature of {actual} bytes is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
        /// What was given.
        actual: usize,
    },
    /// Shorter than the account looks at for a passkey.
    #[error("signature has {actual} bytes, a passkey's has {BARE_LEN} or more")]
    TooShort {
        /// What was given.
        actual: usize,
    },
    /// Not the structure that the account decodes.
    #[error("signature is not an ABI encoded assertion of a passkey")]
    Malformed,
    /// Decodes, and another form decodes to the same (ATK-15).
    #[error("signature is not in canonical ABI form")]
    NotCanonical,
    /// The owner's coordinates are on no P-256 curve.
    #[error("the owner's key is not a point of P-256")]
    NotAKey,
    /// The account would look up another of its keys.
    #[error("signature names the key {actual}, not {expected}")]
    OtherKey {
        /// Hash of the owner's key id.
        expected: B256,
        /// What is named.
        actual: B256,
    },
    /// Neither `r` nor `s` may be zero, nor reach the order of the curve.
    #[error("signature has an r or s that no P-256 signature has")]
    Scalar,
    /// `s` lies in the upper half: a second signature for the same message.
    #[error("signature has a high s")]
    Malleable,
    /// Fewer bytes from the authenticator than every one of them writes.
    #[error("authenticator data has {actual} bytes, {AUTHENTICATOR_LEAST} is the least")]
    AuthenticatorData {
        /// What was given.
        actual: usize,
    },
    /// Nobody touched the authenticator.
    #[error("the authenticator saw no user: flags {flags:#04x}")]
    UserAbsent {
        /// Its flags.
        flags: u8,
    },
    /// It was touched by somebody it did not recognise, where that is demanded.
    #[error("the authenticator did not verify its user: flags {flags:#04x}")]
    UserUnverified {
        /// Its flags.
        flags: u8,
    },
    /// Backed up, and not fit to be: no authenticator says so.
    #[error("a key that cannot be backed up is backed up: flags {flags:#04x}")]
    Backup {
        /// The flags.
        flags: u8,
    },
    /// Made for another site.
    #[error("signature was made for the relying party {actual}, not for {expected}")]
    RelyingParty {
        /// SHA-256 of the owner's.
        expected: B256,
        /// What the authenticator says.
        actual: B256,
    },
    /// No browser and no authenticator stood around the key, and the owner demands something of them.
    #[error("signature is a bare one: it says nothing of a relying party or of a user")]
    Bare,
    /// It answers something else than a request to sign.
    #[error("client data has no assertion's type at byte {location}")]
    ResponseType {
        /// Where the signature says that it is.
        location: U256,
    },
    /// What was signed need not be the challenge: it stands elsewhere in the client data.
    #[error("client data does not have the delegation's digest as its challenge")]
    Challenge,
    /// Another key, another challenge, another chain or manager: the signature is over something else.
    #[error("signature is not this key's over this delegation")]
    Mismatch,
}

/// A passkey that owns a Hybrid account, as the account knows it, and what is demanded of it besides.
///
/// ```
/// use golem_delegation::PasskeyOwner;
/// # use alloy_primitives::U256;
/// # let (x, y) = (U256::from(1), U256::from(2));
/// let owner = PasskeyOwner::new("credential-id", x, y)
///     .of_relying_party("bardo.example")
///     .verified();
/// assert_eq!(owner.key_id_hash, alloy_primitives::keccak256("credential-id"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PasskeyOwner {
    /// keccak256 of the credential's id: the account's name for the key.
    pub key_id_hash: B256,
    /// The public key's x.
    pub x: U256,
    /// The public key's y.
    pub y: U256,
    /// SHA-256 of the only site the signature may be made for. The account does not look.
    pub relying_party: Option<B256>,
    /// Whether the authenticator must have recognised its user. The account asks only where the signature says so,
    /// and that bit is signed by nobody.
    pub user_verified: bool,
}

impl PasskeyOwner {
    /// The key with this id, with no demands beyond the account's.
    #[must_use]
    pub fn new(key_id: &str, x: U256, y: U256) -> Self {
        Self { key_id_hash: keccak256(key_id), x, y, relying_party: None, user_verified: false }
    }

    /// The same, for one site alone.
    #[must_use]
    pub fn of_relying_party(self, id: &str) -> Self {
        Self { relying_party: Some(sha256(&[id.as_bytes()])), ..self }
    }

    /// The same, with a user who is recognised.
    #[must_use]
    pub const fn verified(self) -> Self {
        Self { user_verified: true, ..self }
    }

    fn key(&self) -> Result<VerifyingKey, PasskeyError> {
        let (x, y) = (field(self.x), field(self.y));
        let point = EncodedPoint::from_affine_coordinates(&x, &y, false);
        VerifyingKey::from_encoded_point(&point).map_err(|_off_curve| PasskeyError::NotAKey)
    }
}

/// A passkey's signature in the form a Hybrid account takes it.
///
/// ```
/// use golem_delegation::PasskeySignature;
/// # use golem_delegation::{Caveat, Delegation, PasskeyOwner, ROOT_AUTHORITY, SigningDomain};
/// # use alloy_primitives::{U256, address, hex, uint};
/// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// # let base = SigningDomain { chain_id: 8453, manager };
/// # let limited = address!("04658B29F6b82ed55274221a06Fc97D318E25416");
/// # let grant = Delegation {
/// #     delegate: address!("b3Cc4e1647bf5F98D69AfA8c26d9d8F3DC407D68"),
/// #     delegator: address!("decDbc4ab614EDd3e518B50dAc35759e45974308"),
/// #     authority: ROOT_AUTHORITY,
/// #     caveats: vec![Caveat::new(limited, U256::from(3).to_be_bytes::<32>())],
/// #     salt: uint!(0x2a7bef9732a002758f61434830cb5d638d36da3dd272fdc314fa9ccbca55193e_U256),
/// #     signature: Default::default(),
/// # };
/// # let x = uint!(0x98e6d295a39f8305ed5a05df62d12639fbdcebbb8fd0975c59e03d8e815745a0_U256);
/// # let y = uint!(0x4f20e31736a285af5e454f0606e2416c3c85b75e6215154e0ef3ba2ceee9154b_U256);
/// # let owner = PasskeyOwner::new("OTAzOWQyYzRiYWYwNjMyNzI1NWFhYTQ0OTBjN2YwYjI", x, y);
/// # let r = uint!(0xdba2e71fc647079bd89b8785371b3ce03bb225efaaf1486a827ce4bb37af4414_U256);
/// # let s = uint!(0x0e359fb8da40936ec1e0978cddca43bd014cc6b11c49d3e49bda5a221ec6b139_U256);
/// let key_id_hash = owner.key_id_hash;
/// let bare = PasskeySignature { key_id_hash, r, s, assertion: None };
/// assert_eq!(PasskeySignature::decode(&bare.encode()), Ok(bare.clone()));
/// assert_eq!(base.verify_passkey(&grant.signed(bare.encode()), &owner), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PasskeySignature {
    /// Which of the account's keys.
    pub key_id_hash: B256,
    /// r.
    pub r: U256,
    /// s.
    pub s: U256,
    /// What stood around the key; none where it signed the digest's SHA-256 itself.
    pub assertion: Option<WebAuthn>,
}

/// What an authenticator and a browser add to what is signed.
///
/// ```
/// use golem_delegation::{PasskeySignature, WebAuthn};
/// # use golem_delegation::{Caveat, Delegation, PasskeyOwner, ROOT_AUTHORITY, SigningDomain};
/// # use alloy_primitives::{U256, address, hex, uint};
/// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// # let base = SigningDomain { chain_id: 8453, manager };
/// # let limited = address!("04658B29F6b82ed55274221a06Fc97D318E25416");
/// # let grant = Delegation {
/// #     delegate: address!("b3Cc4e1647bf5F98D69AfA8c26d9d8F3DC407D68"),
/// #     delegator: address!("decDbc4ab614EDd3e518B50dAc35759e45974308"),
/// #     authority: ROOT_AUTHORITY,
/// #     caveats: vec![Caveat::new(limited, U256::from(3).to_be_bytes::<32>())],
/// #     salt: uint!(0x2a7bef9732a002758f61434830cb5d638d36da3dd272fdc314fa9ccbca55193e_U256),
/// #     signature: Default::default(),
/// # };
/// # let x = uint!(0x98e6d295a39f8305ed5a05df62d12639fbdcebbb8fd0975c59e03d8e815745a0_U256);
/// # let y = uint!(0x4f20e31736a285af5e454f0606e2416c3c85b75e6215154e0ef3ba2ceee9154b_U256);
/// # let owner = PasskeyOwner::new("OTAzOWQyYzRiYWYwNjMyNzI1NWFhYTQ0OTBjN2YwYjI", x, y);
/// # let r = uint!(0x06d276f881feda15a6a556395ac35a25a1e5601dd763df38f11faca3e2d96f9e_U256);
/// # let s = uint!(0x5860df3b92bf330c9e4257f2bd254ffaac0764e6c511d2627a9039a796bdccaa_U256);
/// # let authenticator_data = hex!(
/// #     "ea0335e241a2f87c615df97c7a993b6e93880279ac14ec7a41a95417b5a651ac0500000000"
/// # ).into();
/// let assertion = Some(WebAuthn {
///     authenticator_data, require_user_verification: true, response_type_location: U256::from(1),
///     before_challenge: br#"{"type":"webauthn.get","challenge":""#.into(),
///     after_challenge: br#"","origin":"https://bardo.example","crossOrigin":false}"#.into(),
/// });
/// # let key_id_hash = owner.key_id_hash;
/// let signature = PasskeySignature { key_id_hash, r, s, assertion };
/// assert_eq!(base.verify_passkey(&grant.signed(signature.encode()), &owner.verified()), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WebAuthn {
    /// Hash of the relying party, flags, a counter, and extensions.
    pub authenticator_data: Bytes,
    /// Whether the account is asked to insist on a verified user.
    pub require_user_verification: bool,
    /// The client data up to the challenge.
    pub before_challenge: Bytes,
    /// And behind it.
    pub after_challenge: Bytes,
    /// Where the client data says that it answers a request to sign.
    pub response_type_location: U256,
}

impl PasskeySignature {
    /// Decodes, accepting the one canonical form of each signature.
    ///
    /// Stricter than the account, which also reads offsets that were chosen freely.
    ///
    /// ```
    /// use golem_delegation::{PasskeyError, PasskeySignature};
    /// assert_eq!(PasskeySignature::decode(&[0; 65]), Err(PasskeyError::TooShort { actual: 65 }));
    /// let bare = PasskeySignature::decode(&[1; 96])?;
    /// assert_eq!(bare.encode(), vec![1; 96]);
    /// # Ok::<(), PasskeyError>(())
    /// ```
    pub fn decode(bytes: &[u8]) -> Result<Self, PasskeyError> {
        let actual = bytes.len();
        if actual > MAX_PASSKEY_BYTES {
            return Err(PasskeyError::TooLarge { limit: MAX_PASSKEY_BYTES, actual });
        }
        let Some((head, rest)) = bytes.split_first_chunk::<BARE_LEN>() else {
            return Err(PasskeyError::TooShort { actual });
        };
        if rest.is_empty() {
            let ([key_id_hash, r, s], []) = head.as_chunks::<32>() else {
                return Err(PasskeyError::Malformed);
            };
            let (r, s) = (U256::from_be_bytes(*r), U256::from_be_bytes(*s));
            return Ok(Self { key_id_hash: B256::from(*key_id_hash), r, s, assertion: None });
        }
        let strict = AbiDecoderConfig::new().strict(true);
        let decoded = match Wire::abi_decode_params_with_config(bytes, strict) {
            Ok(decoded) => decoded,
            Err(AbiError::ReserMismatch) => return Err(PasskeyError::NotCanonical),
            // The other errors carry nothing a person could act on.
            Err(_) => return Err(PasskeyError::Malformed),
        };
        let (key_id_hash, r, s, authenticator_data, require, before, after, location) = decoded;
        let assertion = WebAuthn {
            authenticator_data,
            require_user_verification: require,
            before_challenge: before,
            after_challenge: after,
            response_type_location: location,
        };
        Ok(Self { key_id_hash, r, s, assertion: Some(assertion) })
    }

    /// The bytes that go into a delegation.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let Some(assertion) = &self.assertion else {
            let (r, s) = (self.r.to_be_bytes::<32>(), self.s.to_be_bytes::<32>());
            return [self.key_id_hash.0, r, s].concat().into();
        };
        Wire::abi_encode_params(&(
            self.key_id_hash,
            self.r,
            self.s,
            assertion.authenticator_data.clone(),
            assertion.require_user_verification,
            assertion.before_challenge.clone(),
            assertion.after_challenge.clone(),
            assertion.response_type_location,
        ))
        .into()
    }
}

impl WebAuthn {
    /// What was signed, if everything around the challenge is as `owner` and the account want it.
    fn signed(&self, digest: B256, owner: &PasskeyOwner) -> Result<B256, PasskeyError> {
        let data = &self.authenticator_data;
        let actual = data.len();
        let (Some((site, [flags, ..])), true) =
            (data.split_first_chunk::<FLAGS_AT>(), actual >= AUTHENTICATOR_LEAST)
        else {
            return Err(PasskeyError::AuthenticatorData { actual });
        };
        self.check_flags(*flags, owner.user_verified)?;
        let actual = B256::from(*site);
        if let Some(expected) = owner.relying_party.filter(|expected| *expected != actual) {
            return Err(PasskeyError::RelyingParty { expected, actual });
        }
        // The account puts the digest wherever the redeemer says. Only as the challenge it was asked for.
        let placed = self.before_challenge.ends_with(CHALLENGE)
            && self.after_challenge.first() == Some(&b'"');
        if !placed {
            return Err(PasskeyError::Challenge);
        }
        let challenge = base64url(digest);
        let client =
            [&*self.before_challenge, challenge.as_bytes(), &*self.after_challenge].concat();
        let location = self.response_type_location;
        let typed = usize::try_from(location)
            .ok()
            .and_then(|start| client.get(start..))
            .is_some_and(|from| from.starts_with(ASSERTION));
        if !typed {
            return Err(PasskeyError::ResponseType { location });
        }
        Ok(sha256(&[data, sha256(&[&client]).as_slice()]))
    }

    const fn check_flags(&self, flags: u8, verified: bool) -> Result<(), PasskeyError> {
        if flags & USER_PRESENT == 0 {
            return Err(PasskeyError::UserAbsent { flags });
        }
        if (verified || self.require_user_verification) && flags & USER_VERIFIED == 0 {
            return Err(PasskeyError::UserUnverified { flags });
        }
        if flags & BACKUP_ELIGIBLE == 0 && flags & BACKED_UP != 0 {
            return Err(PasskeyError::Backup { flags });
        }
        Ok(())
    }
}

impl SigningDomain {
    /// Checks that the delegation carries the signature of a passkey that owns its delegator, a Hybrid account.
    ///
    /// Whether the account still has that key (ERC-1271) only the chain knows.
    ///
    /// ```
    /// use golem_delegation::{Delegation, PasskeyError, PasskeyOwner, ROOT_AUTHORITY, SigningDomain};
    /// # use alloy_primitives::{Address, Bytes, U256, uint};
    /// # let grant = Delegation { delegate: Address::ZERO, delegator: Address::ZERO,
    /// #     authority: ROOT_AUTHORITY, caveats: vec![], salt: U256::ZERO, signature: Bytes::new() };
    /// # let x = uint!(0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296_U256);
    /// # let y = uint!(0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5_U256);
    /// let owner = PasskeyOwner::new("credential-id", x, y);
    /// let domain = SigningDomain { chain_id: 8453, manager: Address::repeat_byte(9) };
    /// let verdict = domain.verify_passkey(&grant, &owner);
    /// assert_eq!(verdict, Err(PasskeyError::TooShort { actual: 0 }));
    /// ```
    pub fn verify_passkey(
        &self,
        delegation: &Delegation,
        owner: &PasskeyOwner,
    ) -> Result<(), PasskeyError> {
        let key = owner.key()?;
        let given = PasskeySignature::decode(&delegation.signature)?;
        if given.key_id_hash != owner.key_id_hash {
            let (expected, actual) = (owner.key_id_hash, given.key_id_hash);
            return Err(PasskeyError::OtherKey { expected, actual });
        }
        let Ok(signature) = Signature::from_scalars(field(given.r), field(given.s)) else {
            return Err(PasskeyError::Scalar);
        };
        if signature.normalize_s().is_some() {
            return Err(PasskeyError::Malleable);
        }
        let digest = self.digest(delegation);
        let signed = match &given.assertion {
            Some(assertion) => assertion.signed(digest, owner)?,
            None if owner.relying_party.is_some() || owner.user_verified => {
                return Err(PasskeyError::Bare);
            }
            None => sha256(&[digest.as_slice()]),
        };
        key.verify_prehash(signed.as_slice(), &signature).map_err(|_no| PasskeyError::Mismatch)
    }
}

fn field(word: U256) -> FieldBytes {
    word.to_be_bytes::<32>().into()
}

fn sha256(parts: &[&[u8]]) -> B256 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    B256::from(<[u8; 32]>::from(hasher.finalize()))
}

/// 32 bytes in the alphabet of URLs, without padding.
fn base64url(bytes: B256) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    // 43 digits of six bits are two bits more than 32 bytes.
    let mut bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1));
    (0..43)
        .filter_map(|_| {
            let digit = (0..6).fold(0, |sum, _| sum << 1 | bits.next().unwrap_or(0));
            ALPHABET.get(usize::from(digit)).copied().map(char::from)
        })
        .collect()
}
