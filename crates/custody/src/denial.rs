use alloy_primitives::Address;
use serde::Serialize;
use std::fmt;

/// Stable name of a refusal. People search for it; programs match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub enum DenialCode {
    /// The delegation, or one above it, was disabled by its delegator.
    #[serde(rename = "DELEGATION_DISABLED")]
    DelegationDisabled,
    /// The Golem's life has not begun.
    #[serde(rename = "CAV-WINDOW-EARLY")]
    WindowEarly,
    /// The Golem's life is over.
    #[serde(rename = "CAV-WINDOW-EXPIRED")]
    WindowExpired,
    /// A contract outside the list.
    #[serde(rename = "CAV-TARGET")]
    Target,
    /// A function outside the list.
    #[serde(rename = "CAV-METHOD")]
    Method,
    /// An argument that was pinned to another value.
    #[serde(rename = "CAV-CALLDATA")]
    Calldata,
    /// More native value than allowed.
    #[serde(rename = "CAV-VALUE")]
    Value,
    /// The number of redemptions is used up.
    #[serde(rename = "CAV-CALLS")]
    Calls,
    /// Somebody who may not redeem.
    #[serde(rename = "CAV-REDEEMER")]
    Redeemer,
    /// An execution mode the enforcer does not judge.
    #[serde(rename = "CAV-MODE")]
    Mode,
    /// Terms the enforcer does not accept: the grant itself is broken.
    #[serde(rename = "CAV-TERMS")]
    Terms,
    /// The Golem's phase of life does not allow this kind of action.
    #[serde(rename = "CAV-PHASE")]
    Phase,
    /// The Golem dreams.
    #[serde(rename = "CAV-DREAMING")]
    Dreaming,
    /// The Golem is not registered, or dead.
    #[serde(rename = "CAV-NOT-ALIVE")]
    NotAlive,
    /// The owner revoked the Golem's grants, or all of his, at the registry or by his nonce.
    #[serde(rename = "CAV-REVOKED")]
    Revoked,
    /// A newer grant of the same Golem was used already.
    #[serde(rename = "CAV-SUPERSEDED")]
    Superseded,
    /// A kind of action that the owner did not allow.
    #[serde(rename = "CAV-CLASS")]
    Class,
    /// Value would go to, or come from, somebody else.
    #[serde(rename = "CAV-RECIPIENT")]
    Recipient,
    /// An allowance for somebody the owner does not trust with one.
    #[serde(rename = "CAV-SPENDER")]
    Spender,
    /// Somebody else's liquidity position.
    #[serde(rename = "CAV-POSITION")]
    Position,
    /// What comes back may be worth too little, or the pool's price was moved.
    #[serde(rename = "CAV-SLIPPAGE")]
    Slippage,
    /// No price that can be relied on.
    #[serde(rename = "CAV-PRICE")]
    Price,
    /// Too much beside the vault, or too much at once.
    #[serde(rename = "CAV-NAV")]
    Nav,
    /// Over the cap of the period.
    #[serde(rename = "CAV-SPEND")]
    Spend,
    /// More gas money than the agent's key may have.
    #[serde(rename = "CAV-GAS")]
    GasMoney,
    /// Too soon after the last time.
    #[serde(rename = "CAV-CADENCE")]
    Cadence,
    /// Not enough of the named signers agreed to this.
    #[serde(rename = "CAV-THRESHOLD")]
    Threshold,
    /// A whole life's sum is used up.
    #[serde(rename = "CAV-BUDGET")]
    Budget,
    /// More of one thing than its share of everything.
    #[serde(rename = "CAV-SHARE")]
    Share,
    /// The account is worth too little beside the most it was worth, and only closes.
    #[serde(rename = "CAV-DRAWDOWN")]
    Drawdown,
    /// Not in this mood.
    #[serde(rename = "CAV-EMOTION")]
    Emotion,
    /// Authors of sold knowledge would not get what they are due.
    #[serde(rename = "CAV-ROYALTY")]
    Royalty,
    /// Whoever redeems did not pay what the grant asks for each use.
    #[serde(rename = "CAV-PAYMENT")]
    Payment,
    /// Another stock enforcer said no.
    #[serde(rename = "CAV-OTHER")]
    OtherCaveat,
    /// The redeemer is not the delegate.
    #[serde(rename = "DEL-DELEGATE")]
    NotTheDelegate,
    /// The chain of delegations is broken.
    #[serde(rename = "DEL-AUTHORITY")]
    BrokenChain,
    /// The delegator did not sign this.
    #[serde(rename = "DEL-SIGNATURE")]
    Signature,
    /// The manager is paused by its operator.
    #[serde(rename = "DEL-PAUSED")]
    Paused,
    /// The delegator's account cannot execute: it has no code.
    #[serde(rename = "DEL-NO-ACCOUNT")]
    NoAccount,
    /// Everything agreed, but the call itself failed at its target.
    #[serde(rename = "EXE-REVERTED")]
    Reverted,
    /// The transaction could cost more than its ceiling.
    #[serde(rename = "CUS-FEE-CEILING")]
    FeeCeiling,
    /// The redeemer cannot pay the transaction's gas.
    #[serde(rename = "CUS-NO-GAS")]
    NoGas,
    /// The session key has no room left in its whole life's sum.
    #[serde(rename = "CUS-BUDGET-SESSION")]
    BudgetSession,
    /// The Golem has no room left in these 24 hours.
    #[serde(rename = "CUS-BUDGET-DAY")]
    BudgetDay,
    /// All of the owner's Golems together have no room left in these 24 hours.
    #[serde(rename = "CUS-BUDGET-OWNER")]
    BudgetOwner,
    /// The name of the intent was used.
    #[serde(rename = "CUS-INTENT-USED")]
    IntentUsed,
    /// The time is behind what the books have seen.
    #[serde(rename = "CUS-CLOCK")]
    Clock,
    /// The owner was not asked, or has not answered.
    #[serde(rename = "CUS-APPROVAL-MISSING")]
    ApprovalMissing,
    /// The owner said no.
    #[serde(rename = "CUS-APPROVAL-DENIED")]
    ApprovalDenied,
    /// The time to answer, or to use the answer, is over.
    #[serde(rename = "CUS-APPROVAL-EXPIRED")]
    ApprovalExpired,
    /// The owner was asked about something else.
    #[serde(rename = "CUS-APPROVAL-OTHER")]
    ApprovalOther,
    /// The answer is not signed by the owner.
    #[serde(rename = "CUS-APPROVAL-SIGNER")]
    ApprovalSigner,
    /// The answer was used.
    #[serde(rename = "CUS-APPROVAL-USED")]
    ApprovalUsed,
}

/// A refusal: which rule, whose, and why in words an owner understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// Which rule.
    pub code: DenialCode,
    /// The enforcer that refused, where one did. Programs find the key in any case.
    pub enforcer: Option<Address>,
    /// Its name, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enforcer_name: Option<String>,
    /// A sentence with the numbers.
    pub reason: String,
}

impl Denial {
    /// A refusal that no enforcer made.
    #[must_use]
    pub fn new(code: DenialCode, reason: impl Into<String>) -> Self {
        Self { code, enforcer: None, enforcer_name: None, reason: reason.into() }
    }

    /// The same refusal, made by `enforcer`.
    #[must_use]
    pub fn by(mut self, enforcer: Address, name: impl Into<String>) -> Self {
        self.enforcer = Some(enforcer);
        self.enforcer_name = Some(name.into());
        self
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
