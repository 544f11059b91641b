use crate::{
    Act, BlockRef, BoxError, Denial, DenialCode, DryRun, IntentId, Judged, Mandate, Outcome,
    Preview, Submit, TransactionPlan, WalletCall, transaction::Body,
};
use alloy_primitives::{Address, U256};
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

/// An act's own transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByTransaction {
    plan: TransactionPlan,
    gas_limit: u64,
}

/// Something judged that passed the dry run and can be paid for, with everything that its way to the chain, `W`, needs.
///
/// Only [`rehearse`] and [`rehearse_operation`](crate::rehearse_operation) make one. It cannot be signed: its sum is not set aside.
///
/// ```compile_fail,E0308
/// # use golem_custody::{ByTransaction, Rehearsed, SessionSigner};
/// # fn never(key: &dyn SessionSigner, rehearsed: Rehearsed<ByTransaction>) {
/// let signed = key.sign(rehearsed, 0);
/// # }
/// ```
#[derive(Debug)]
#[must_use = "what is rehearsed and dropped is never done"]
pub struct Rehearsed<W> {
    judged: Judged,
    session: Address,
    way: W,
    preview: Preview,
    within: Within,
}

impl<W> Rehearsed<W> {
    pub(crate) const fn new(
        judged: Judged,
        session: Address,
        way: W,
        preview: Preview,
        policy: &ClearingPolicy,
    ) -> Self {
        let within = Within::around(preview.block, policy);
        Self { judged, session, way, preview, within }
    }

    /// What the dry run saw.
    #[must_use]
    pub const fn preview(&self) -> &Preview {
        &self.preview
    }

    /// Sets its sum aside, after the owner's yes where that is needed. When it returns, the disk has it (INV-5, INV-6).
    pub async fn reserve(
        mut self,
        mandate: &Mandate,
        now: u64,
    ) -> Result<Reservation<W>, CustodyError> {
        // What is stale now would only be found to be so with the sum set aside.
        self.within.holds(now)?;
        let counted = self.preview.counted;
        let refused = mandate.reserve(&mut self.judged, self.session, counted, now).await?;
        if let Some(denial) = refused {
            return Ok(Reservation::Refused(denial));
        }
        let Self { judged, session, way, preview, within } = self;
        let block = preview.block;
        Ok(Reservation::Made(Cleared { judged, session, way, block, within }))
    }
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug)]
#[must_use]
#[expect(clippy::large_enum_variant, reason = "made once for an intent and taken apart at once")]
pub enum Rehearsal<W> {
    /// The chain would take it as it is now.
    Passed(Rehearsed<W>),
    /// It would not, or it costs too much. Nothing was set aside, and nothing was signed.
    Refused(Denial),
}

/// A refusal is an outcome, not an error: callers must look at both.
#[derive(Debug)]
#[must_use]
#[expect(clippy::large_enum_variant, reason = "made once for an intent and taken apart at once")]
pub enum Reservation<W> {
    /// May be signed, once.
    Made(Cleared<W>),
    /// Nothing was signed.
    Refused(Denial),
}

/// Something judged, rehearsed and in the books, which may be signed once (INV-1).
///
/// Only [`Rehearsed::reserve`] makes one.
#[derive(Debug)]
#[must_use = "what is cleared and dropped keeps its sum set aside until the next start"]
pub struct Cleared<W> {
    judged: Judged,
    session: Address,
    way: W,
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

impl<W> Cleared<W> {
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

    /// Its name in the books.
    #[must_use]
    pub const fn intent(&self) -> IntentId {
        self.judged.intent()
    }

    /// Whose key may sign.
    #[must_use]
    pub const fn session(&self) -> Address {
        self.session
    }

    /// Checks that it is `signer` who was to sign it, and that it is not too late. What is left is the intent, the way, and the
    /// block. What a wallet at a service does no session key signs, whatever its address is.
    pub(crate) fn for_signer(
        self,
        signer: Address,
        now: u64,
    ) -> Result<(Judged, W, u64), CustodyError> {
        if let Act::Wallet(WalletCall { wallet, .. }) = self.judged.act() {
            return Err(CustodyError::WrongKey { session: *wallet, signer });
        }
        self.checked(signer, now)
    }

    /// The same for a wallet at a service, which signs what is its own and nothing else.
    pub(crate) fn for_wallet(
        self,
        wallet: Address,
        now: u64,
    ) -> Result<(Judged, W, u64), CustodyError> {
        if !matches!(self.judged.act(), Act::Wallet(call) if call.wallet == wallet) {
            return Err(CustodyError::WrongKey { session: self.session, signer: wallet });
        }
        self.checked(wallet, now)
    }

    fn checked(self, signer: Address, now: u64) -> Result<(Judged, W, u64), CustodyError> {
        self.within.holds(now)?;
        if self.session != signer {
            return Err(CustodyError::WrongKey { session: self.session, signer });
        }
        Ok((self.judged, self.way, self.block.number))
    }
}

impl Cleared<ByTransaction> {
    /// Its place in the key's queue.
    #[must_use]
    pub const fn nonce(&self) -> u64 {
        self.way.plan.nonce
    }
}

impl ByTransaction {
    pub(crate) fn into_parts(self, act: &Act) -> (TransactionPlan, Body) {
        let body = Body {
            to: act.target(),
            value: act.coins(),
            data: act.calldata(),
            gas_limit: self.gas_limit,
            authorizations: vec![],
        };
        (self.plan, body)
    }
}

/// We could not decide, or not sign. Nothing was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CustodyError {
    /// The dry run did not finish.
    #[error("dry run of {of} did not finish; nothing was signed")]
    DryRun {
        /// What was to be run.
        of: String,
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
    #[error("clearance is for {session}, the key is {signer}'s; nothing was signed")]
    WrongKey {
        /// Whose key was to sign.
        session: Address,
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
    /// The disk did not take or give something.
    #[error("the books failed at {what}; nothing of it left")]
    Books {
        /// At what.
        what: &'static str,
        /// Why.
        source: BoxError,
    },
    /// A key of P-256 was to sign what only the other curve does.
    #[error("the key of {signer} is of P-256, and signs no {what}; nothing was signed")]
    OtherCurve {
        /// Whose key it is.
        signer: Address,
        /// What was to be signed.
        what: &'static str,
    },
    /// What is signed for an intent is no act of ours.
    #[error("what is signed for intent {} cannot be read", intent.0)]
    Unreadable {
        /// Which.
        intent: IntentId,
    },
    /// A wallet at a service was asked for what it never signs.
    #[error("the wallet {wallet} signs transactions of its own, and no {what}; nothing was signed")]
    NotOfWallets {
        /// Which.
        wallet: Address,
        /// What was to be signed.
        what: &'static str,
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

/// The gas limit of something that took so much in its dry run: what it is [`given`], and a little more, drawn anew each time.
/// Whoever runs it runs it with this, so that nobody who counts his gas knows whether he is only tried.
#[must_use]
pub fn limit(gas: u64) -> u64 {
    given(gas).saturating_add(apart(gas))
}

/// A little gas on top. Two processes with one key that clear the same redemption must not sign the same transaction: each
/// would take it for its own. So hardly any two limits are alike.
pub(crate) fn apart(gas: u64) -> u64 {
    RandomState::new().build_hasher().finish() % (gas / PART).clamp(1, APART)
}

/// Rehearses what was judged: dry run, fee ceiling, gas money. Signs nothing.
///
/// Gas is what the dry run took and a quarter: state may move between dry run and block, and a call hands on no more
/// than 63 of 64 parts of its gas. What a rollup charges for data on its parent chain counts as well.
pub async fn rehearse<C: DryRun + Submit + ?Sized>(
    chain: &C,
    judged: Judged,
    redeemer: Address,
    policy: &ClearingPolicy,
) -> Result<Rehearsal<ByTransaction>, CustodyError> {
    let preview = match previewed(chain, &judged, redeemer).await? {
        Outcome::Allowed(preview) => preview,
        Outcome::Refused(denial) => return Ok(Rehearsal::Refused(denial)),
    };
    let plan = chain
        .plan(redeemer)
        .await
        .map_err(|source| CustodyError::Plan { sender: redeemer, source })?;
    let gas_limit = preview.gas_limit;
    // A quarter more, as with gas: what data costs moves, too.
    let data_fee = preview.data_fee.saturating_add(preview.data_fee >> 2);
    let execution = U256::from(gas_limit).saturating_mul(U256::from(plan.max_fee_per_gas));
    let worst = execution.saturating_add(data_fee);
    // What is sent is not there for gas.
    let balance = plan.balance.saturating_sub(judged.act().coins());
    if let Some(denial) = policy.against(worst, balance, redeemer) {
        return Ok(Rehearsal::Refused(denial));
    }
    let way = ByTransaction { plan, gas_limit };
    Ok(Rehearsal::Passed(Rehearsed::new(judged, redeemer, way, preview, policy)))
}

/// What the chain would say.
pub(crate) async fn previewed<C: DryRun + ?Sized>(
    chain: &C,
    judged: &Judged,
    redeemer: Address,
) -> Result<Outcome, CustodyError> {
    let act = judged.act();
    let outcome = chain.dry_run(act, redeemer).await;
    outcome.map_err(|source| CustodyError::DryRun { of: act.name(), source })
}
