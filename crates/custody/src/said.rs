//! What a session key says of itself and of its Golem's log: each in a form of its own, and none of them a caller's bytes.

use crate::Denial;
use alloy_primitives::{Address, B256, Bytes, Signature};
use alloy_sol_types::{Eip712Domain, SolStruct as _, eip712_domain};
use golem_safety::{AuditHead, Cage, Signable, SigningFacts, SigningPermit, SigningVerdict};

mod typed {
    alloy_sol_types::sol! {
        /// Signed by a key that was born in a Golem's process.
        struct Birth {
            address key;
            uint64 at;
        }
    }
}

/// A head that may be sealed, once. Only [`JudgedHead::judge`] makes one.
///
/// ```compile_fail,E0451
/// # use golem_custody::{AuditHead, JudgedHead};
/// # fn never(head: AuditHead) -> JudgedHead {
/// JudgedHead { head, permit: todo!() }
/// # }
/// ```
/// ```compile_fail,E0308
/// # use golem_custody::{AuditHead, SessionSigner};
/// # async fn never(key: impl SessionSigner, head: AuditHead) {
/// let _ = key.seal(head).await;
/// # }
/// ```
#[derive(Debug)]
#[must_use = "what is judged and dropped is never sealed"]
pub struct JudgedHead {
    head: AuditHead,
    permit: SigningPermit,
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug)]
#[must_use]
pub enum Heading {
    /// May be sealed.
    Permitted(JudgedHead),
    /// Every reason there is; one at least.
    Refused(Vec<Denial>),
}

impl JudgedHead {
    /// Judges it: of the cage's own Golem, with a record at least, and behind what was sealed before.
    pub fn judge(
        head: AuditHead,
        before: Option<AuditHead>,
        cage: &Cage,
        facts: &SigningFacts,
    ) -> Heading {
        match cage.judge_signing(&Signable::AuditHead { head, before }, facts) {
            SigningVerdict::Permitted(permit) => Heading::Permitted(Self { head, permit }),
            SigningVerdict::Refused(denials) => Heading::Refused(denials),
        }
    }

    /// What would be sealed.
    #[must_use]
    pub const fn head(&self) -> AuditHead {
        self.head
    }

    pub(crate) const fn digest(&self) -> B256 {
        self.permit.digest()
    }
}

/// That a key was born, and when (SPEC D12). A key says it of itself alone: it takes no address.
///
/// ```
/// use alloy_primitives::Address;
/// use golem_custody::Birth;
/// let born = Birth { key: Address::repeat_byte(1), at: 7 };
/// assert_ne!(born.digest(), Birth { at: 8, ..born }.digest());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Birth {
    /// The key.
    pub key: Address,
    /// The second.
    pub at: u64,
}

impl Birth {
    /// Neither chain nor contract: a key is the same everywhere.
    pub const DOMAIN: Eip712Domain = eip712_domain! { name: "Bardo Birth", version: "1", };

    /// What the key signs (EIP-712): `Birth(address key,uint64 at)`.
    #[must_use]
    pub fn digest(&self) -> B256 {
        let Self { key, at } = *self;
        typed::Birth { key, at }.eip712_signing_hash(&Self::DOMAIN)
    }

    /// Whether the key itself said so.
    #[must_use]
    pub fn is_proved_by(&self, proof: &Bytes) -> bool {
        let Ok(signature) = Signature::from_raw(proof) else { return false };
        signature.normalize_s().is_none()
            && signature
                .recover_address_from_prehash(&self.digest())
                .is_ok_and(|signer| signer == self.key)
    }
}
