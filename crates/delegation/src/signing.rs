mod passkey;

pub use passkey::{MAX_PASSKEY_BYTES, PasskeyError, PasskeyOwner, PasskeySignature, WebAuthn};

use crate::Delegation;
use alloy_primitives::{Address, B256, Keccak256, Signature, U256, keccak256};
use std::sync::LazyLock;

/// Length of the only signature form the manager accepts from a plain key: `r ‖ s ‖ v`.
///
/// ```
/// use golem_delegation::{SIGNATURE_LEN, SignatureError, SigningDomain};
/// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
/// # use alloy_primitives::{U256, address, hex};
/// # let owner = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
/// # let delegate = address!("2abb527846854CB2652A4b8Fa4Ba856500D8a5ef");
/// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// # let signature = hex!(
/// #     "231c1f6d6563bf7b5e6b1aa5b32eeb3d170d8d39bee4e5dd55cda68e1b6c894f"
/// #     "7e0690087c21d58b8aafa489f483e0a1d25a69604895284d4eb010be52e6cc8e1b"
/// # );
/// # let grant = Delegation { delegate, delegator: owner, authority: ROOT_AUTHORITY,
/// #     caveats: vec![], salt: U256::ZERO, signature: signature.into() };
/// let base = SigningDomain { chain_id: 8453, manager };
/// assert_eq!(grant.signature.len(), SIGNATURE_LEN);
/// assert_eq!(base.verify(&grant, owner), Ok(()));
///
/// let short = grant.clone().signed(grant.signature.slice(1..));
/// assert_eq!(base.verify(&short, owner), Err(SignatureError::Length { actual: 64 }));
/// ```
pub const SIGNATURE_LEN: usize = 65;

static DOMAIN_TYPE_HASH: LazyLock<B256> = LazyLock::new(|| {
    keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
});
static DOMAIN_NAME_HASH: LazyLock<B256> = LazyLock::new(|| keccak256("DelegationManager"));
static DOMAIN_VERSION_HASH: LazyLock<B256> = LazyLock::new(|| keccak256("1"));

/// Why a signature is not one of `expected`'s.
///
/// ```
/// use golem_delegation::{SignatureError, SigningDomain};
/// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
/// # use alloy_primitives::{U256, address, hex};
/// # let owner = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
/// # let delegate = address!("2abb527846854CB2652A4b8Fa4Ba856500D8a5ef");
/// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
/// # let signature = hex!(
/// #     "231c1f6d6563bf7b5e6b1aa5b32eeb3d170d8d39bee4e5dd55cda68e1b6c894f"
/// #     "7e0690087c21d58b8aafa489f483e0a1d25a69604895284d4eb010be52e6cc8e1b"
/// # );
/// # let grant = Delegation { delegate, delegator: owner, authority: ROOT_AUTHORITY,
/// #     caveats: vec![], salt: U256::ZERO, signature: signature.into() };
/// let base = SigningDomain { chain_id: 8453, manager };
/// let (expected, actual) = (delegate, owner);
/// assert_eq!(base.verify(&grant, expected), Err(SignatureError::Signer { expected, actual }));
///
/// // Some wallets write 0 and 1 where the contract wants 27 and 28.
/// let mut bytes = grant.signature.to_vec();
/// bytes[64] -= 27;
/// assert_eq!(base.verify(&grant.signed(bytes), owner), Err(SignatureError::Recovery { v: 0 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// Not 65 bytes: compact, wrapped (ERC-6492) and contract signatures are not a plain key's.
    #[error("signature has {actual} bytes, a plain key's has {SIGNATURE_LEN}")]
    Length {
        /// What was given.
        actual: usize,
    },
    /// The last byte is neither 27 nor 28.
    #[error("signature ends in v = {v}, the contract accepts 27 and 28")]
    Recovery {
        /// The last byte.
        v: u8,
    },
    /// `s` lies in the upper half: a second signature for the same message.
    #[error("signature has a high s")]
    Malleable,
    /// No key gives this signature.
    #[error("signature recovers no key")]
    Unrecoverable,
    /// Another key signed.
    #[error("signature is by {actual}, not by {expected}")]
    Signer {
        /// Whose it should be.
        expected: Address,
        /// Whose it is.
        actual: Address,
    },
}

/// What binds a signature to one manager on one chain (ATK-01, ATK-02).
///
/// ```
/// use golem_delegation::SigningDomain;
/// # use alloy_primitives::Address;
/// let base = SigningDomain { chain_id: 8453, manager: Address::repeat_byte(9) };
/// let mainnet = SigningDomain { chain_id: 1, ..base };
/// assert_ne!(base.separator(), mainnet.separator());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SigningDomain {
    /// Chain the delegation is redeemed on.
    pub chain_id: u64,
    /// The DelegationManager that will check the signature.
    pub manager: Address,
}

impl SigningDomain {
    /// EIP-712 domain separator.
    #[must_use]
    pub fn separator(&self) -> B256 {
        let mut hasher = Keccak256::new();
        hasher.update(*DOMAIN_TYPE_HASH);
        hasher.update(*DOMAIN_NAME_HASH);
        hasher.update(*DOMAIN_VERSION_HASH);
        hasher.update(U256::from(self.chain_id).to_be_bytes::<32>());
        hasher.update(self.manager.into_word());
        hasher.finalize()
    }

    /// What a delegator signs: `keccak(0x1901 ‖ separator ‖ delegation hash)`.
    ///
    /// ```
    /// use golem_delegation::SigningDomain;
    /// # use alloy_primitives::b256;
    /// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
    /// # use alloy_primitives::{U256, address, hex};
    /// # let owner = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
    /// # let delegate = address!("2abb527846854CB2652A4b8Fa4Ba856500D8a5ef");
    /// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
    /// # let signature = hex!(
    /// #     "231c1f6d6563bf7b5e6b1aa5b32eeb3d170d8d39bee4e5dd55cda68e1b6c894f"
    /// #     "7e0690087c21d58b8aafa489f483e0a1d25a69604895284d4eb010be52e6cc8e1b"
    /// # );
    /// # let grant = Delegation { delegate, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![], salt: U256::ZERO, signature: signature.into() };
    /// let base = SigningDomain { chain_id: 8453, manager };
    /// let digest = b256!("f8c77db60358bd18cf0f021b8c6f31ab0ac475d00147784c6d251355f445b050");
    /// assert_eq!(base.digest(&grant), digest);
    /// assert_ne!(SigningDomain { chain_id: 1, ..base }.digest(&grant), digest);
    /// ```
    #[must_use]
    pub fn digest(&self, delegation: &Delegation) -> B256 {
        let mut hasher = Keccak256::new();
        hasher.update([0x19, 0x01]);
        hasher.update(self.separator());
        hasher.update(delegation.hash().0);
        hasher.finalize()
    }

    /// Checks that the delegation carries the signature of `signer`'s plain key.
    ///
    /// A smart account's owner signs the same digest, so this also answers for a Hybrid account
    /// when `signer` is its owner. Whether the account accepts it (ERC-1271) only the chain knows.
    ///
    /// ```
    /// use golem_delegation::SigningDomain;
    /// # use golem_delegation::{Delegation, ROOT_AUTHORITY};
    /// # use alloy_primitives::{U256, address, hex};
    /// # let owner = address!("7E5F4552091A69125d5DfCb7b8C2659029395Bdf");
    /// # let delegate = address!("2abb527846854CB2652A4b8Fa4Ba856500D8a5ef");
    /// # let manager = address!("db9B1e94B5b69Df7e401DDbedE43491141047dB3");
    /// # let signature = hex!(
    /// #     "231c1f6d6563bf7b5e6b1aa5b32eeb3d170d8d39bee4e5dd55cda68e1b6c894f"
    /// #     "7e0690087c21d58b8aafa489f483e0a1d25a69604895284d4eb010be52e6cc8e1b"
    /// # );
    /// # let grant = Delegation { delegate, delegator: owner, authority: ROOT_AUTHORITY,
    /// #     caveats: vec![], salt: U256::ZERO, signature: signature.into() };
    /// let base = SigningDomain { chain_id: 8453, manager };
    /// assert_eq!(base.verify(&grant, owner), Ok(()));
    ///
    /// // Not on another chain, and not once the grant was changed.
    /// assert!(SigningDomain { chain_id: 1, ..base }.verify(&grant, owner).is_err());
    /// assert!(base.verify(&Delegation { salt: U256::from(1), ..grant }, owner).is_err());
    /// ```
    pub fn verify(&self, delegation: &Delegation, signer: Address) -> Result<(), SignatureError> {
        let raw = &delegation.signature;
        let Ok(bytes) = <[u8; SIGNATURE_LEN]>::try_from(raw.as_ref()) else {
            return Err(SignatureError::Length { actual: raw.len() });
        };
        let [.., v] = bytes;
        if !matches!(v, 27 | 28) {
            return Err(SignatureError::Recovery { v });
        }
        let Ok(signature) = Signature::from_raw_array(&bytes) else {
            return Err(SignatureError::Unrecoverable);
        };
        if signature.normalize_s().is_some() {
            return Err(SignatureError::Malleable);
        }
        let Ok(actual) = signature.recover_address_from_prehash(&self.digest(delegation)) else {
            return Err(SignatureError::Unrecoverable);
        };
        if actual == signer {
            Ok(())
        } else {
            Err(SignatureError::Signer { expected: signer, actual })
        }
    }
}
