//! What may be signed as typed data: four things, as values. Nothing that arrives as JSON is ever signed (ATK-20, ATK-21).

mod foreign;
mod operation;

pub use foreign::{ForeignKind, MOST_TYPED_DATA, refuse_typed_data};
pub use operation::{AccountForm, SessionOperation};

use crate::{Cage, Denial, DenialCode, Permit};
use alloy_primitives::{Address, B256};
use alloy_sol_types::{SolStruct as _, eip712_domain};
use golem_delegation::{
    ANY_DELEGATE, Delegation, Environment, GolemAttestation, PermissionContext, Rule,
    SigningDomain, attenuates,
};

mod wire {
    alloy_sol_types::sol! {
        struct AuditHead {
            bytes32 golemId;
            uint64 length;
            bytes32 head;
        }
    }
}

/// Where the audit chain of a Golem stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuditedHead {
    /// Whose chain.
    pub golem_id: B256,
    /// How many records there are.
    pub length: u64,
    /// The last one's hash, which holds all before it.
    pub head: B256,
}

impl AuditedHead {
    /// What is signed, on one chain.
    #[must_use]
    pub fn digest(&self, chain_id: u64) -> B256 {
        let domain = eip712_domain! { name: "BardoAudit", version: "1", chain_id: chain_id, };
        let Self { golem_id, length, head } = *self;
        wire::AuditHead { golemId: golem_id, length, head }.eip712_signing_hash(&domain)
    }
}

/// All that may be signed as typed data. There is no variant for anything else, and none for bytes or a hash.
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
    AuditHead(AuditedHead),
    /// That the key belongs to its Golem.
    Attestation(&'a GolemAttestation),
    /// A redemption by the session's own account, of calls that were judged.
    UserOperation {
        /// The operation.
        operation: &'a SessionOperation,
        /// Leave to make its calls.
        permit: &'a Permit,
    },
}

/// Who signs, and for which contracts.
#[derive(Clone, Debug)]
pub struct SigningFacts {
    /// Chain that is signed for.
    pub chain_id: u64,
    /// The DelegationManager.
    pub manager: Address,
    /// The ERC-4337 entry point.
    pub entry_point: Address,
    /// GolemRegistry.
    pub registry: Address,
    /// GolemAttestations.
    pub attestations: Address,
    /// The Golem's owner.
    pub owner: Address,
    /// The session's key.
    pub agent_key: Address,
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
            Signable::AuditHead(head) => self.audit_head(head, facts),
            Signable::Attestation(said) => self.attestation(said, facts),
            Signable::UserOperation { operation, permit } => {
                operation::judge(operation, permit, facts)
            }
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

    fn audit_head(&self, head: &AuditedHead, facts: &SigningFacts) -> Result<B256, Vec<String>> {
        let ours = self.published().golem_id();
        let mut against = Vec::new();
        if head.golem_id != ours {
            against.push(format!("the audit chain is Golem {}'s, this is {ours}", head.golem_id));
        }
        if head.length == 0 || head.head.is_zero() {
            against.push(format!("an audit chain of {} records has no head", head.length));
        }
        unless(against, || head.digest(facts.chain_id))
    }

    fn attestation(
        &self,
        said: &GolemAttestation,
        facts: &SigningFacts,
    ) -> Result<B256, Vec<String>> {
        let ours = self.published().golem_id();
        let mut against = Vec::new();
        if said.golem_id != ours {
            against
                .push(format!("the attestation is about Golem {}, this is {ours}", said.golem_id));
        }
        let parties = [
            ("key", said.agent_key, facts.agent_key),
            ("owner", said.owner, facts.owner),
            ("registry", said.registry, facts.registry),
        ];
        for (what, named, known) in parties {
            if named != known {
                against.push(format!("the attestation names {what} {named}, it is {known}"));
            }
        }
        let (from, until) = (said.issued_at, said.expires_at);
        if from > facts.now || facts.now > until {
            against
                .push(format!("the attestation holds from {from} to {until}, it is {}", facts.now));
        }
        unless(against, || said.digest(facts.chain_id, facts.attestations))
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
