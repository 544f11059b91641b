//! What a dying Golem leaves, sealed for its owner alone (SPEC P7, K11).
//!
//! He is asked for nothing: his public key is recovered from the signature under his grant. The crate's README has the form.

use alloy_primitives::{Address, B256, Signature};
use alloy_signer::k256::elliptic_curve::rand_core::{OsRng, RngCore};
use chacha20poly1305::{Key, KeyInit as _, Tag, XChaCha20Poly1305, XNonce, aead::AeadInPlace as _};
use golem_delegation::{Delegation, SigningDomain};
use k256::{
    PublicKey,
    ecdh::{EphemeralSecret, SharedSecret, diffie_hellman},
    ecdsa::{SigningKey, VerifyingKey},
    elliptic_curve::sec1::ToEncodedPoint as _,
};
use sha2::Sha256;
use zeroize::Zeroizing;

/// Longest text of a bequest, in bytes: it is sealed and opened in memory.
pub const MAX_BEQUEST: usize = 256 * 1024 * 1024;

const MAGIC: [u8; 8] = *b"BARDOBEQ";
const VERSION: u8 = 1;
/// Keeps these keys apart from all others that anybody derives.
const INFO: &[u8] = b"bardo bequest, version 1\n";
/// A point, compressed.
const POINT: usize = 33;
const NONCE: usize = 24;
const TAG: usize = 16;
/// Magic, version, Golem, owner, length, ephemeral key, nonce.
const HEADER: usize = 8 + 1 + 32 + 20 + 8 + POINT + NONCE;

/// Why something is not sealed, or not opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BequestError {
    /// No plain key of 65 bytes signed: a passkey's or a council's owner has none to seal for.
    #[error("the grant has no signature of a plain key in its one form; nothing was sealed")]
    NoPlainSignature,
    /// Whoever signed is not the owner, on this chain.
    #[error("the grant is signed by {found}, and the owner is {owner}; nothing was sealed")]
    OtherSigner {
        /// Whom it should be sealed for.
        owner: Address,
        /// Who signed, by this domain.
        found: Address,
    },
    /// Too long.
    #[error("{length} bytes are more than a bequest holds ({MAX_BEQUEST})")]
    Length {
        /// How many.
        length: u64,
    },
    /// Not a bequest, cut, or with something behind it.
    #[error("this is no whole bequest: {0}")]
    Form(&'static str),
    /// Of a later program.
    #[error("this bequest has version {0}, and this program knows {VERSION}")]
    Version(u8),
    /// Of another Golem.
    #[error("this is the bequest of {found}, and not of {asked}")]
    OtherGolem {
        /// Whose was to be opened.
        asked: B256,
        /// Whose it says it is.
        found: B256,
    },
    /// For another owner.
    #[error("this bequest is for {found}; the key is that of {key}")]
    OtherOwner {
        /// Whose key it is.
        key: Address,
        /// For whom it says it is.
        found: Address,
    },
    /// The seal does not hold.
    #[error("this bequest was changed, or sealed for another key: its seal does not hold")]
    Broken,
}

/// What stands on the outside of a bequest. Nobody vouches for it before it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addressed {
    /// Whose it is.
    pub golem: B256,
    /// For whom.
    pub owner: Address,
}

impl Addressed {
    /// Reads the outside. What is cut or too long is refused.
    pub fn read(sealed: &[u8]) -> Result<Self, BequestError> {
        Frame::read(sealed).map(|frame| frame.to)
    }
}

/// A bequest in its parts.
struct Frame<'a> {
    to: Addressed,
    ephemeral: &'a [u8; POINT],
    nonce: &'a [u8; NONCE],
    header: &'a [u8],
    text: &'a [u8],
    tag: &'a [u8; TAG],
}

impl<'a> Frame<'a> {
    fn read(sealed: &'a [u8]) -> Result<Self, BequestError> {
        let cut = || BequestError::Form("it is cut");
        let (magic, rest) = sealed.split_first_chunk().ok_or_else(cut)?;
        if *magic != MAGIC {
            return Err(BequestError::Form("it begins as something else"));
        }
        let ([version], rest) = rest.split_first_chunk().ok_or_else(cut)?;
        if *version != VERSION {
            return Err(BequestError::Version(*version));
        }
        let (golem, rest) = rest.split_first_chunk::<32>().ok_or_else(cut)?;
        let (owner, rest) = rest.split_first_chunk::<20>().ok_or_else(cut)?;
        let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(cut)?;
        let (ephemeral, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (nonce, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let (text, tag) = rest.split_last_chunk().ok_or_else(cut)?;
        let length = u64::from_be_bytes(*length);
        match usize::try_from(length) {
            Ok(length) if length > MAX_BEQUEST => {
                return Err(BequestError::Length {
                    length: u64::try_from(length).unwrap_or(u64::MAX),
                });
            }
            Ok(length) if length == text.len() => {}
            Ok(length) if length < text.len() => {
                return Err(BequestError::Form("something is behind its end"));
            }
            _ => return Err(cut()),
        }
        let (header, _) = sealed.split_at_checked(HEADER).ok_or_else(cut)?;
        let to = Addressed { golem: B256::new(*golem), owner: Address::new(*owner) };
        Ok(Self { to, ephemeral, nonce, header, text, tag })
    }
}

fn header(to: Addressed, length: u64, ephemeral: &[u8; POINT], nonce: &[u8; NONCE]) -> Vec<u8> {
    let Addressed { golem, owner } = to;
    let length = length.to_be_bytes();
    [&MAGIC[..], &[VERSION], golem.as_slice(), owner.as_slice(), &length, ephemeral, nonce].concat()
}

/// A point in the form that is hashed and written.
fn compressed(point: &PublicKey) -> Option<[u8; POINT]> {
    point.to_encoded_point(true).as_bytes().try_into().ok()
}

/// The cipher under what both sides know. Both public keys are bound: another pair has another key.
fn cipher(
    shared: &SharedSecret,
    ephemeral: &[u8; POINT],
    owner: &[u8; POINT],
) -> Option<XChaCha20Poly1305> {
    let mut key = Zeroizing::new([0u8; 32]);
    let info = [INFO, ephemeral, owner].concat();
    shared.extract::<Sha256>(None).expand(&info, key.as_mut_slice()).ok()?;
    Some(XChaCha20Poly1305::new(Key::from_slice(key.as_slice())))
}

/// The owner's public key, out of his signature under `grant`; nobody else's.
fn owners_key(
    grant: &Delegation,
    domain: &SigningDomain,
    owner: Address,
) -> Result<PublicKey, BequestError> {
    let none = || BequestError::NoPlainSignature;
    let bytes: &[u8; 65] = grant.signature.as_ref().try_into().map_err(|_long| none())?;
    let signature = Signature::from_raw_array(bytes).map_err(|_odd| none())?;
    // With a high s the same signature would have a second form.
    if signature.normalize_s().is_some() {
        return Err(none());
    }
    let key: VerifyingKey =
        signature.recover_from_prehash(&domain.digest(grant)).map_err(|_odd| none())?;
    let found = Address::from_public_key(&key);
    if found != owner {
        return Err(BequestError::OtherSigner { owner, found });
    }
    Ok(key.into())
}

/// Seals `plain` for the owner who signed `grant`: nobody else opens it, the Golem neither.
///
/// Its key is born for this one text and wiped. That owner and signature belong together is checked; that the grant is the
/// Golem's is the caller's to know.
pub fn seal(
    grant: &Delegation,
    domain: &SigningDomain,
    owner: Address,
    golem: B256,
    plain: &[u8],
) -> Result<Vec<u8>, BequestError> {
    let length = u64::try_from(plain.len()).unwrap_or(u64::MAX);
    if plain.len() > MAX_BEQUEST {
        return Err(BequestError::Length { length });
    }
    let key = owners_key(grant, domain, owner)?;
    let secret = EphemeralSecret::random(&mut OsRng);
    let mut nonce = [0u8; NONCE];
    OsRng.fill_bytes(&mut nonce);
    // Points of keys are never the one without a compressed form, and 32 bytes are never too many.
    let (Some(ephemeral), Some(owners)) = (compressed(&secret.public_key()), compressed(&key))
    else {
        return Err(BequestError::NoPlainSignature);
    };
    let shared = secret.diffie_hellman(&key);
    let cipher = cipher(&shared, &ephemeral, &owners).ok_or(BequestError::Broken)?;
    let header = header(Addressed { golem, owner }, length, &ephemeral, &nonce);
    // All the room at once: growing would leave copies of the plain text behind.
    let mut sealed = Vec::with_capacity(HEADER.saturating_add(plain.len()).saturating_add(TAG));
    sealed.extend_from_slice(&header);
    sealed.extend_from_slice(plain);
    let (_, text) = sealed.split_at_mut(HEADER);
    let tag = cipher
        .encrypt_in_place_detached(XNonce::from_slice(&nonce), &header, text)
        .map_err(|_long| BequestError::Length { length })?;
    sealed.extend_from_slice(&tag);
    Ok(sealed)
}

/// Opens what was sealed for `key`, which is `address`'s.
pub(crate) fn open(
    key: &SigningKey,
    address: Address,
    golem: B256,
    sealed: &[u8],
) -> Result<Zeroizing<Vec<u8>>, BequestError> {
    let frame = Frame::read(sealed)?;
    if frame.to.golem != golem {
        return Err(BequestError::OtherGolem { asked: golem, found: frame.to.golem });
    }
    if frame.to.owner != address {
        return Err(BequestError::OtherOwner { key: address, found: frame.to.owner });
    }
    let broken = || BequestError::Broken;
    let ephemeral = PublicKey::from_sec1_bytes(frame.ephemeral).map_err(|_odd| broken())?;
    let owners = compressed(&key.verifying_key().into()).ok_or_else(broken)?;
    let shared = diffie_hellman(key.as_nonzero_scalar(), ephemeral.as_affine());
    let cipher = cipher(&shared, frame.ephemeral, &owners).ok_or_else(broken)?;
    let mut text = Zeroizing::new(frame.text.to_vec());
    let (nonce, tag) = (XNonce::from_slice(frame.nonce), Tag::from_slice(frame.tag));
    cipher
        .decrypt_in_place_detached(nonce, frame.header, &mut text, tag)
        .map_err(|_forged| broken())?;
    Ok(text)
}
