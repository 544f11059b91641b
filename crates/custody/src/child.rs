//! What a session key signs about children (SPEC G9): what it hands on of its own grant, and, as a child, who it is.

use crate::{CustodyError, Denial};
use alloy_primitives::{Address, B256, Bytes, Signature};
use alloy_signer::k256::elliptic_curve::rand_core::{OsRng, RngCore as _};
use alloy_sol_types::{SolStruct as _, eip712_domain};
use golem_delegation::{Delegation, PermissionContext};
use golem_safety::{Cage, Signable, SigningFacts, SigningPermit, SigningVerdict};
use serde::{Deserialize, Serialize};

mod typed {
    alloy_sol_types::sol! {
        /// Signed by a child's key.
        struct Introduction {
            bytes32 golem;
            address parent;
            address child;
            bytes32 nonce;
        }
    }
}

/// A child's grant that may be signed, once: within every link above it, and out of the signer's own. Only
/// [`ChildGrant::judge`] makes one.
///
/// Whoever judges it against links that nobody signed gains nothing: the child names its parent by its hash, and the chain
/// asks for that one's signature.
///
/// ```compile_fail,E0451
/// # use golem_custody::ChildGrant;
/// # fn never(delegation: golem_delegation::Delegation) -> ChildGrant {
/// ChildGrant { delegation, permit: todo!() }
/// # }
/// ```
/// ```compile_fail,E0599
/// # use golem_custody::ChildGrant;
/// fn twice(child: ChildGrant) -> (ChildGrant, ChildGrant) { (child.clone(), child) }
/// ```
#[derive(Debug)]
#[must_use = "what is judged and dropped is never signed"]
pub struct ChildGrant {
    delegation: Delegation,
    permit: SigningPermit,
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug)]
#[must_use]
pub enum Handing {
    /// May be signed.
    Permitted(ChildGrant),
    /// Every reason there is; one at least.
    Refused(Vec<Denial>),
}

impl ChildGrant {
    /// Judges what would be handed on: by every link above, bound by bound, whoever made it and however (ATK-07).
    pub fn judge(
        above: &PermissionContext,
        child: Delegation,
        cage: &Cage,
        facts: &SigningFacts,
    ) -> Handing {
        let message = Signable::SubDelegation { above, child: &child };
        match cage.judge_signing(&message, facts) {
            SigningVerdict::Permitted(permit) => {
                Handing::Permitted(Self { delegation: child, permit })
            }
            SigningVerdict::Refused(denials) => Handing::Refused(denials),
        }
    }

    /// What would be signed.
    #[must_use]
    pub const fn delegation(&self) -> &Delegation {
        &self.delegation
    }

    /// The grant and its digest, for the key that hands it on and for no other.
    pub(crate) fn for_signer(self, signer: Address) -> Result<(Delegation, B256), CustodyError> {
        let session = self.delegation.delegator;
        if session != signer {
            return Err(CustodyError::WrongKey { session, signer });
        }
        Ok((self.delegation, self.permit.digest()))
    }
}

/// Who a child is, for one parent: its key is born where it is used and says so itself (SPEC D12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Introduction {
    /// The chain that it would act on.
    pub chain_id: u64,
    /// The parent's id on chain.
    pub golem: B256,
    /// The parent's key.
    pub parent: Address,
    /// The child's key.
    pub child: Address,
    /// What the parent asked with: an old introduction is none.
    pub nonce: B256,
}

impl Introduction {
    /// What to ask a child with: nobody can foresee it.
    #[must_use]
    pub fn fresh_nonce() -> B256 {
        let mut nonce = B256::ZERO;
        OsRng.fill_bytes(nonce.as_mut_slice());
        nonce
    }

    /// What the child signs (EIP-712): `Introduction(bytes32 golem,address parent,address child,bytes32 nonce)`.
    #[must_use]
    pub fn digest(&self) -> B256 {
        let Self { chain_id, golem, parent, child, nonce } = *self;
        let domain = eip712_domain! { name: "Bardo Replicant", version: "1", chain_id: chain_id, };
        typed::Introduction { golem, parent, child, nonce }.eip712_signing_hash(&domain)
    }

    /// Whether the child's own key made this signature.
    #[must_use]
    pub fn is_proved_by(&self, proof: &Bytes) -> bool {
        let Ok(signature) = Signature::from_raw(proof) else { return false };
        signature.normalize_s().is_none()
            && signature
                .recover_address_from_prehash(&self.digest())
                .is_ok_and(|signer| signer == self.child)
    }
}
