mod judgement;

use crate::{
    Call, Denial, DenialCode, MicroDollars, Observed, Permit, Policy, PolicyRefusal, Published,
};
use alloy_primitives::{Address, B256, keccak256};
use golem_delegation::terms::{GolemCharter, Listing};
use judgement::Judgement;
use std::collections::BTreeMap;

/// Most calls that are judged at once.
pub const MOST_CALLS: usize = 32;
/// Most bytes of calldata that are read at once.
pub const MOST_CALLDATA: usize = 64 * 1024;
/// Longest constitution that is hashed.
pub const MOST_CONSTITUTION: usize = 1024 * 1024;

/// Whose the money is, whose it may become, and whose key is paid for gas. All of it is in the charter that the owner signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parties {
    /// The executor: recipient of everything.
    pub account: Address,
    /// Where sweeps go.
    pub beneficiary: Address,
    /// Who redeems.
    pub agent_key: Address,
    /// What a Golem converts to when it closes.
    pub settlement_asset: Address,
}

impl Parties {
    /// As the owner signed them.
    #[must_use]
    pub const fn of(charter: &GolemCharter) -> Self {
        Self {
            account: charter.account,
            beneficiary: charter.beneficiary,
            agent_key: charter.agent_key,
            settlement_asset: charter.settlement_asset,
        }
    }
}

/// What a Golem is about to do, as typed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// Whose the money is.
    pub parties: Parties,
    /// Tokens and targets of the charter.
    pub listing: Listing,
    /// All or none of these.
    pub calls: Vec<Call>,
}

/// What is known at the moment of judging. What is not known is refused (INV-4).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Feeds, vaults, positions and pools.
    pub observed: Observed,
    /// What the account holds, by asset. A vault's shares are held as its asset, a position as its two tokens, and wrapped
    /// coins beside the coin itself. None at all where a part of it is not known.
    pub holdings: BTreeMap<Address, MicroDollars>,
    /// The most that all of it was ever worth.
    pub high_water: MicroDollars,
    /// What the session key has spent in its life, reservations included.
    pub spent_in_session: MicroDollars,
    /// What was spent within a day, reservations included.
    pub spent_in_day: MicroDollars,
    /// Whether the Golem is dying: what it sells into its settlement asset is exempt from spend limits (SPEC D18).
    pub is_settling: bool,
    /// Second.
    pub now: u64,
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug)]
#[must_use]
pub enum Verdict {
    /// Exactly these calls, once.
    Permitted(Permit),
    /// Every reason there is; one at least.
    Refused(Vec<Denial>),
}

/// Whether the runtime may start.
#[derive(Debug)]
#[must_use]
pub enum Boot {
    /// It may, under this policy.
    Caged(Cage),
    /// It may not.
    Refused(Denial),
}

/// The owner's limits, held by the runtime against itself (SPEC P1). Only [`boot`](Self::boot) makes one.
///
/// ```
/// use alloy_primitives::{B256, keccak256};
/// use golem_safety::{Boot, Cage, DenialCode, Policy, Published};
/// # let policy = Policy {
/// #     constitution_hash: keccak256("Do no harm."), concentration_bps: 3_000, drawdown_bps: 2_000,
/// #     spend_per_transaction: 1, spend_per_session: 1, spend_per_day: 1, assets: vec![],
/// # };
/// # let golem_id = B256::repeat_byte(7);
/// # let hash = policy.hash(golem_id, 1);
/// let published = Published::new(golem_id, policy, 1, hash);
/// assert!(matches!(Cage::boot(golem_id, b"Do no harm.", Some(published)), Boot::Caged(_)));
///
/// let Boot::Refused(denial) = Cage::boot(golem_id, b"Do no harm.", None) else { panic!() };
/// assert_eq!(denial.code, DenialCode::NoPolicy);
/// ```
#[derive(Clone, Debug)]
pub struct Cage {
    published: Published,
}

impl Cage {
    /// Starts under what the owner published for `golem_id`: none if he published nothing, and a refusal if what was read is no
    /// policy. The constitution is compared byte for byte.
    pub fn boot(
        golem_id: B256,
        constitution: &[u8],
        published: Option<Result<Published, PolicyRefusal>>,
    ) -> Boot {
        match Self::booted(golem_id, constitution, published) {
            Ok(cage) => Boot::Caged(cage),
            Err(denial) => Boot::Refused(denial),
        }
    }

    fn booted(
        golem_id: B256,
        constitution: &[u8],
        published: Option<Result<Published, PolicyRefusal>>,
    ) -> Result<Self, Denial> {
        let published = readable(golem_id, published)?;
        let length = constitution.len();
        if length == 0 || length > MOST_CONSTITUTION {
            let reason =
                format!("a constitution has 1 to {MOST_CONSTITUTION} bytes, this one {length}");
            return Err(Denial::new(DenialCode::PolicyConstitution, reason));
        }
        let (actual, signed) = (keccak256(constitution), published.policy().constitution_hash);
        if actual != signed {
            let (version, reason) = (
                published.version(),
                format!("the constitution's {length} bytes have hash {actual}"),
            );
            let reason = format!("{reason}, the owner published {signed} in version {version}");
            return Err(Denial::new(DenialCode::PolicyConstitution, reason));
        }
        Ok(Self { published })
    }

    /// The cage under what the owner publishes by now; none where that is what this one is under.
    ///
    /// Of two policies the one with the higher version counts: a node that is behind brings no older one back. A policy for another
    /// constitution is for a Golem that was started with that one, and this one is refused everything.
    ///
    /// ```
    /// # use alloy_primitives::{B256, keccak256};
    /// # use golem_safety::{Boot, Cage, DenialCode, Policy, Published};
    /// # let id = B256::repeat_byte(7);
    /// # let policy = Policy {
    /// #     constitution_hash: keccak256("Do no harm."), concentration_bps: 3_000, drawdown_bps: 2_000,
    /// #     spend_per_transaction: 9, spend_per_session: 9, spend_per_day: 9, assets: vec![],
    /// # };
    /// # let published = |policy: &Policy, version| {
    /// #     Some(Published::new(id, policy.clone(), version, policy.hash(id, version)))
    /// # };
    /// # let Boot::Caged(cage) = Cage::boot(id, b"Do no harm.", published(&policy, 2)) else { panic!() };
    /// let tight = Policy { spend_per_transaction: 0, spend_per_day: 0, ..policy.clone() };
    /// let newer = cage.follow(published(&tight, 3)).unwrap().unwrap();
    /// assert_eq!(newer.policy().spend_per_day, 0);
    /// assert!(newer.follow(published(&policy, 2)).unwrap().is_none());
    ///
    /// let other = Policy { constitution_hash: keccak256("Do as you like."), ..policy };
    /// assert_eq!(cage.follow(published(&other, 3)).unwrap_err().code, DenialCode::PolicyConstitution);
    /// assert_eq!(cage.follow(None).unwrap_err().code, DenialCode::NoPolicy);
    /// ```
    pub fn follow(
        &self,
        published: Option<Result<Published, PolicyRefusal>>,
    ) -> Result<Option<Self>, Denial> {
        let newest = readable(self.published.golem_id(), published)?;
        let (ours, theirs) = (self.published.version(), newest.version());
        if theirs < ours || newest == self.published {
            return Ok(None);
        }
        let signed = newest.policy().constitution_hash;
        let running = self.policy().constitution_hash;
        if signed != running {
            let reason = format!(
                "it was started with the constitution of hash {running}, and by version {theirs} of its owner's policy it is to hold \
                 itself to {signed}: it does nothing until it is started again with that one"
            );
            return Err(Denial::new(DenialCode::PolicyConstitution, reason));
        }
        Ok(Some(Self { published: newest }))
    }

    /// What it holds the runtime to.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        self.published.policy()
    }

    /// Whose it is, which version, and their hash.
    #[must_use]
    pub const fn published(&self) -> &Published {
        &self.published
    }

    /// Judges every call of an intent, and all of them together. Work is bounded by [`MOST_CALLS`] and [`MOST_CALLDATA`].
    ///
    /// Sums only ever grow with calls, and nothing is netted: an order of calls, or one call more, never makes room.
    pub fn judge(&self, intent: &Intent, facts: &Facts) -> Verdict {
        match Judgement::of(&self.published, intent, facts) {
            Ok(permit) => Verdict::Permitted(permit),
            Err(denials) => Verdict::Refused(denials),
        }
    }
}

/// What was published for a Golem, if it is a policy of his.
fn readable(
    golem_id: B256,
    published: Option<Result<Published, PolicyRefusal>>,
) -> Result<Published, Denial> {
    let published = published
        .ok_or_else(|| {
            let reason = format!("the owner of Golem {golem_id} published no policy");
            Denial::new(DenialCode::NoPolicy, reason)
        })?
        .map_err(|refusal| {
            Denial::new(DenialCode::PolicyMalformed, format!("no policy can be read: {refusal}"))
        })?;
    if published.golem_id() != golem_id {
        let reason = format!("the policy is Golem {}'s, this is {golem_id}", published.golem_id());
        return Err(Denial::new(DenialCode::PolicyMalformed, reason));
    }
    Ok(published)
}
