use crate::{
    BlockRef, BoxError, Denial, DenialCode, DryRun, Outcome, Redemption, Submit, TransactionPlan,
    transaction::Body,
};
use alloy_primitives::{Address, U256};
use golem_delegation::DelegationHash;
use std::hash::{BuildHasher, Hasher, RandomState};

/// Limits of the signer that no grant can widen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClearingPolicy {
    /// Most that one transaction may cost, in wei (SPEC D20, ATK-22).
    pub fee_ceiling: U256,
    /// Seconds by which clocks may differ from the block that a clearance was made on, either way.
    pub lifetime: u64,
}

impl Default for ClearingPolicy {
    /// 0.005 ETH for a transaction; two minutes from dry run to signature.
    fn default() -> Self {
        Self { fee_ceiling: U256::from(5_000_000_000_000_000u64), lifetime: 120 }
    }
}

impl ClearingPolicy {
    /// Why a transaction that could cost `worst` wei is not signed.
    pub(crate) fn against(&self, worst: U256, balance: U256, payer: Address) -> Option<Denial> {
        let ceiling = self.fee_ceiling;
        if worst > ceiling {
            return Some(Denial::new(
                DenialCode::FeeCeiling,
                format!(
                    "the transaction could cost {worst} wei, more than its ceiling of {ceiling} wei"
                ),
            ));
        }
        (worst > balance).then(|| {
            Denial::new(
                DenialCode::NoGas,
                format!("the transaction could cost {worst} wei, {payer} holds {balance}"),
            )
        })
    }
}

/// A redemption that passed the dry run, with everything its transaction needs (INV-1).
///
/// Only [`clear`] makes one.
#[derive(Debug)]
pub struct Cleared {
    redemption: Redemption,
    redeemer: Address,
    plan: TransactionPlan,
    gas_limit: u64,
    block: BlockRef,
    within: Within,
}

/// The seconds in which a clearance may be signed: a head from long ago or from far ahead is none to judge by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within {
    begins_at: u64,
    expires_at: u64,
}

impl Within {
    pub(crate) const fn around(block: BlockRef, policy: &ClearingPolicy) -> Self {
        Self {
            begins_at: block.timestamp.saturating_sub(policy.lifetime),
            expires_at: block.timestamp.saturating_add(policy.lifetime),
        }
    }

    pub(crate) const fn expires_at(self) -> u64 {
        self.expires_at
    }

    pub(crate) const fn holds(self, now: u64) -> Result<(), CustodyError> {
        let Self { begins_at, expires_at } = self;
        if now < begins_at {
            return Err(CustodyError::Ahead { begins_at, now });
        }
        if now > expires_at {
            return Err(CustodyError::Stale { expires_at, now });
        }
        Ok(())
    }
}

impl Cleared {
    /// State the dry run saw.
    #[must_use]
    pub const fn block(&self) -> BlockRef {
        self.block
    }

    /// Last second in which it may be signed.
    #[must_use]
    pub const fn expires_at(&self) -> u64 {
        self.within.expires_at()
    }

    pub(crate) const fn within(&self) -> Within {
        self.within
    }

    /// Who was judged: only his key may sign.
    #[must_use]
    pub const fn redeemer(&self) -> Address {
        self.redeemer
    }

    /// Its place in the key's queue.
    #[must_use]
    pub const fn nonce(&self) -> u64 {
        self.plan.nonce
    }

    pub(crate) fn into_parts(self) -> (TransactionPlan, Body) {
        let body = Body {
            to: self.redemption.manager(),
            value: U256::ZERO,
            data: self.redemption.calldata(),
            gas_limit: self.gas_limit,
            authorizations: vec![],
        };
        (self.plan, body)
    }
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug)]
#[must_use]
#[expect(clippy::large_enum_variant, reason = "made once for an intent and taken apart at once")]
pub enum Clearance {
    /// May be signed, once.
    Granted(Cleared),
    /// Nothing was signed.
    Refused(Denial),
}

/// We could not decide, or not sign. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CustodyError {
    /// The dry run did not finish.
    #[error("dry run of delegation {delegation} did not finish; nothing was signed")]
    DryRun {
        /// The leaf of the redemption.
        delegation: DelegationHash,
        /// Why.
        source: BoxError,
    },
    /// Nonce, fees or balance could not be read.
    #[error("transaction of {sender} could not be planned; nothing was signed")]
    Plan {
        /// Who would send.
        sender: Address,
        /// Why.
        source: BoxError,
    },
    /// The clearance was not used in time.
    #[error("clearance expired at {expires_at}, it is {now}; nothing was signed")]
    Stale {
        /// Its last second.
        expires_at: u64,
        /// The time given.
        now: u64,
    },
    /// The clearance was made on a block whose time has not come.
    #[error(
        "the block that was judged on is not before {begins_at}, it is {now}: the node's clock or this one is wrong; \
         nothing was signed"
    )]
    Ahead {
        /// Its first second.
        begins_at: u64,
        /// The time given.
        now: u64,
    },
    /// The clearance was made for somebody else.
    #[error("clearance is for {redeemer}, the key is {signer}'s; nothing was signed")]
    WrongKey {
        /// Who was judged.
        redeemer: Address,
        /// Whose key it is.
        signer: Address,
    },
    /// Another key has this one's place.
    #[error("the key of {signer} is no longer in use; nothing was signed")]
    Replaced {
        /// Whose key it was.
        signer: Address,
    },
    /// A price was to be raised for something that this key did not sign.
    #[error(
        "what should be paid more for is no redemption that {signer} signed; nothing was signed"
    )]
    NotSignedBefore {
        /// Whose key it is.
        signer: Address,
    },
    /// A raised price is not higher in both its parts: no node would take it.
    #[error("the offer is not above the one it should replace; nothing was signed")]
    NoRaise,
    /// A raised price could cost more than its ceiling.
    #[error(
        "the transaction could cost {worst} wei, more than its ceiling of {ceiling} wei; nothing was signed"
    )]
    RaiseCeiling {
        /// What it could cost.
        worst: U256,
        /// What it may.
        ceiling: U256,
    },
    /// The key did not sign.
    #[error("key of {signer} did not sign")]
    Sign {
        /// Whose key.
        signer: Address,
        /// Why.
        source: BoxError,
    },
}

/// Most gas that one transaction may have (EIP-7825).
const MOST_GAS: u64 = 1 << 24;

/// What a redemption that took so much gas in its dry run is given at least: a quarter more, since state may move before the
/// block.
#[must_use]
pub fn given(gas: u64) -> u64 {
    gas.saturating_add(gas / 4).min(MOST_GAS - APART)
}
/// Most gas by which two clearances of the same redemption differ.
const APART: u64 = 4_096;
/// And the part of the whole that it may be.
const PART: u64 = 64;

/// A little gas on top. Two processes with one key that clear the same redemption must not sign the same transaction: each
/// would take it for its own. So hardly any two limits are alike.
pub(crate) fn apart(gas: u64) -> u64 {
    RandomState::new().build_hasher().finish() % (gas / PART).clamp(1, APART)
}

/// Judges a redemption: dry run, fee ceiling, gas money. Signs nothing.
///
/// Gas is what the dry run took and a quarter: state may move between dry run and block, and a call hands on no more
/// than 63 of 64 parts of its gas. The ceiling is on execution gas; what a rollup charges for data on its parent chain
/// comes on top.
pub async fn clear<C: DryRun + Submit + ?Sized>(
    chain: &C,
    redemption: Redemption,
    redeemer: Address,
    policy: &ClearingPolicy,
) -> Result<Clearance, CustodyError> {
    let delegation = redemption.context().leaf().hash();
    let outcome = chain
        .dry_run(&redemption, redeemer)
        .await
        .map_err(|source| CustodyError::DryRun { delegation, source })?;
    let preview = match outcome {
        Outcome::Allowed(preview) => preview,
        Outcome::Refused(denial) => return Ok(Clearance::Refused(denial)),
    };

    let plan = chain
        .plan(redeemer)
        .await
        .map_err(|source| CustodyError::Plan { sender: redeemer, source })?;
    let gas_limit = given(preview.gas).saturating_add(apart(preview.gas));
    let worst = U256::from(gas_limit).saturating_mul(U256::from(plan.max_fee_per_gas));
    if let Some(denial) = policy.against(worst, plan.balance, redeemer) {
        return Ok(Clearance::Refused(denial));
    }

    Ok(Clearance::Granted(Cleared {
        redemption,
        redeemer,
        plan,
        gas_limit,
        block: preview.block,
        within: Within::around(preview.block, policy),
    }))
}
