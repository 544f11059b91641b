//! What a session signs as typed data about itself and its children, as values. Nothing that arrives as JSON is ever signed (ATK-20, ATK-21).
//!
//! Transactions and operations are no typed data that anybody hands over: custody makes them of what was judged call by call, and
//! nobody else can.

mod foreign;

pub use foreign::{ForeignKind, MOST_TYPED_DATA, refuse_typed_data};

use crate::{Cage, Denial, DenialCode};
use alloy_primitives::{Address, B256};
use alloy_sol_types::{Eip712Domain, SolStruct as _, eip712_domain};
use golem_delegation::{
    ANY_DELEGATE, Delegation, Environment, PermissionContext, Rule, SigningDomain, attenuates,
};
use serde::{Deserialize, Serialize};

/// The type string is part of what others verify.
mod typed {
    alloy_sol_types::sol! {
        /// Signed by a session key.
        struct AuditHead {
            bytes32 golem;
            uint64 length;
            bytes32 hash;
        }
    }
}

/// The newest record of an audit chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditHead {
    /// Whose chain.
    pub golem: B256,
    /// How many records there are.
    pub length: u64,
    /// The last one's hash, which holds all before it.
    pub hash: B256,
}

impl AuditHead {
    /// Neither chain nor contract: a log is the same wherever its Golem acts.
    pub const DOMAIN: Eip712Domain = eip712_domain! { name: "Bardo Audit", version: "1", };

    /// What a session key signs (EIP-712): `AuditHead(bytes32 golem,uint64 length,bytes32 hash)`.
    #[must_use]
    pub fn digest(&self) -> B256 {
        let Self { golem, length, hash } = *self;
        typed::AuditHead { golem, length, hash }.eip712_signing_hash(&Self::DOMAIN)
    }
}

/// All that is judged before it is signed as typed data. There is no variant for anything else, and none for bytes or a hash.
#[derive(Clone, Copy, Debug)]
pub enum Signable<'a> {
    /// A grant to a child, out of the session's own.
    SubDelegation {
        /// What the session holds.
        above: &'a PermissionContext,
        /// What it gives on; its signature does not matter.
        child: &'a Delegation,
    },
    /// Where the audit chain stands.
    AuditHead {
        /// The newest record.
        head: AuditHead,
        /// What was sealed last; none if nothing was.
        before: Option<AuditHead>,
    },
}

/// Who signs, and for which contracts.
#[derive(Clone, Debug)]
pub struct SigningFacts {
    /// Chain that is signed for.
    pub chain_id: u64,
    /// The DelegationManager.
    pub manager: Address,
    /// The session's account: the key itself, or a contract that it owns.
    pub session_account: Address,
    /// Enforcers that are known.
    pub environment: Environment,
    /// Second.
    pub now: u64,
}

/// Leave to sign one typed message, once. Only [`Cage::judge_signing`] makes one.
///
/// ```compile_fail,E0451
/// use golem_safety::SigningPermit;
/// let permit = SigningPermit { digest: Default::default(), judged_at: 0, policy_version: 1 };
/// ```
/// ```compile_fail,E0599
/// # use golem_safety::SigningPermit;
/// fn twice(permit: SigningPermit) -> (SigningPermit, SigningPermit) { (permit.clone(), permit) }
/// ```
#[derive(Debug)]
#[must_use = "a permit that is dropped permits nothing"]
pub struct SigningPermit {
    digest: B256,
    judged_at: u64,
    policy_version: u64,
}

impl SigningPermit {
    /// Whether this is the EIP-712 digest of what was judged.
    #[must_use]
    pub fn covers(&self, digest: B256) -> bool {
        self.digest == digest
    }

    /// What is signed.
    #[must_use]
    pub const fn digest(&self) -> B256 {
        self.digest
    }

    /// The second that was judged by.
    #[must_use]
    pub const fn judged_at(&self) -> u64 {
        self.judged_at
    }

    /// The policy that was judged by.
    #[must_use]
    pub const fn policy_version(&self) -> u64 {
        self.policy_version
    }
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug)]
#[must_use]
pub enum SigningVerdict {
    /// Exactly this message, once.
    Permitted(SigningPermit),
    /// Every reason there is; one at least.
    Refused(Vec<Denial>),
}

impl Cage {
    /// Judges a message that would be signed as typed data, by the same rules as a call: a signature is no side door.
    pub fn judge_signing(&self, message: &Signable<'_>, facts: &SigningFacts) -> SigningVerdict {
        let judged = match message {
            Signable::SubDelegation { above, child } => sub_delegation(above, child, facts),
            Signable::AuditHead { head, before } => self.audit_head(head, before.as_ref()),
        };
        match judged {
            Ok(digest) => SigningVerdict::Permitted(SigningPermit {
                digest,
                judged_at: facts.now,
                policy_version: self.published().version(),
            }),
            Err(reasons) => SigningVerdict::Refused(
                reasons
                    .into_iter()
                    .map(|reason| Denial::new(DenialCode::PolicySignature, reason))
                    .collect(),
            ),
        }
    }

    /// A chain only grows: whoever has the key for a moment has no shorter one sealed, and no other one of the same length.
    fn audit_head(
        &self,
        head: &AuditHead,
        before: Option<&AuditHead>,
    ) -> Result<B256, Vec<String>> {
        let ours = self.published().golem_id();
        let mut against = Vec::new();
        if head.golem != ours {
            against.push(format!("the audit chain is Golem {}'s, this is {ours}", head.golem));
        }
        if head.length == 0 || head.hash.is_zero() {
            against.push(format!("an audit chain of {} records has no head", head.length));
        }
        if let Some(before) =
            before.filter(|before| *before != head && head.length <= before.length)
        {
            against.push(format!(
                "record {} was sealed, and record {} is not behind it",
                before.length, head.length
            ));
        }
        unless(against, || head.digest())
    }
}

/// `child ⊆ parent` for every link above (SPEC G4), and nothing that cannot be compared.
fn sub_delegation(
    above: &PermissionContext,
    child: &Delegation,
    facts: &SigningFacts,
) -> Result<B256, Vec<String>> {
    let mut against = Vec::new();
    let leaf = above.leaf();
    if child.delegator != facts.session_account || leaf.delegate != facts.session_account {
        against.push(format!(
            "a grant from {} to {} is given on by {}, the session is {}",
            leaf.delegator, leaf.delegate, child.delegator, facts.session_account
        ));
    }
    if child.authority != leaf.hash().0 {
        against.push(format!("the child stands on {}, not on {}", child.authority, leaf.hash().0));
    }
    if child.delegate == ANY_DELEGATE || child.delegate.is_zero() {
        against.push(format!("the child is for anybody: its delegate is {}", child.delegate));
    }
    if child.caveats.is_empty() {
        against.push("the child has no caveat at all".to_owned());
    }
    let stated = rules(child, &facts.environment, &mut against);
    for link in above.links() {
        let bounds = rules(link, &facts.environment, &mut against);
        if let Err(looser) = attenuates(&bounds, &stated) {
            against.extend(looser.iter().map(ToString::to_string));
        }
    }
    let domain = SigningDomain { chain_id: facts.chain_id, manager: facts.manager };
    unless(against, || domain.digest(child))
}

/// What a delegation's caveats say; an enforcer that nobody knows speaks against it (INV-4).
fn rules(delegation: &Delegation, known: &Environment, against: &mut Vec<String>) -> Vec<Rule> {
    let mut rules = Vec::new();
    for caveat in &delegation.caveats {
        match known.read(caveat) {
            Ok(Rule::Opaque(opaque)) => {
                against.push(format!("nobody knows what {} enforces", opaque.enforcer));
            }
            Ok(rule) => rules.push(rule),
            Err(refusal) => against.push(format!("terms of {}: {refusal}", caveat.enforcer)),
        }
    }
    rules
}

fn unless(against: Vec<String>, digest: impl FnOnce() -> B256) -> Result<B256, Vec<String>> {
    if against.is_empty() { Ok(digest()) } else { Err(against) }
}
