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
    /// The registry does not take what a Golem says of itself.
    #[serde(rename = "EXE-REGISTRY")]
    Registry,
    /// The transaction could cost more than its ceiling.
    #[serde(rename = "CUS-FEE-CEILING")]
    FeeCeiling,
    /// The redeemer cannot pay the transaction's gas.
    #[serde(rename = "CUS-NO-GAS")]
    NoGas,
    /// Outside the bounds that the embedded wallet's policy was compiled from; nobody was asked.
    #[serde(rename = "CUS-WALLET-BOUNDS")]
    WalletBounds,
    /// The embedded wallet's service does not answer, or asked to be left alone.
    #[serde(rename = "CUS-WALLET-AWAY")]
    WalletAway,
    /// The embedded wallet's policy does not allow it.
    #[serde(rename = "CUS-WALLET-POLICY")]
    WalletPolicy,
    /// The embedded wallet's service does not take this app's or this key's word.
    #[serde(rename = "CUS-WALLET-AUTH")]
    WalletAuth,
    /// The embedded wallet's service does not take the request for another reason.
    #[serde(rename = "CUS-WALLET-REQUEST")]
    WalletRequest,
    /// An asset that the owner's policy does not name.
    #[serde(rename = "POL-ASSET")]
    PolicyAsset,
    /// A target that the owner did not list, or the account itself.
    #[serde(rename = "POL-TARGET")]
    PolicyTarget,
    /// A function that its target is not known to have.
    #[serde(rename = "POL-SELECTOR")]
    PolicySelector,
    /// A call whose effects cannot be read from it without doubt.
    #[serde(rename = "POL-ACTION")]
    PolicyAction,
    /// Value would go to, come from, or be pulled by somebody else than the owner's own.
    #[serde(rename = "POL-PARTY")]
    PolicyParty,
    /// No calls at all, or more than are judged at once.
    #[serde(rename = "POL-BATCH")]
    PolicyBatch,
    /// Too large a part of everything in one asset.
    #[serde(rename = "POL-CONCENTRATION")]
    PolicyConcentration,
    /// Too much in one transaction.
    #[serde(rename = "POL-SPEND-TRANSACTION")]
    PolicySpendTransaction,
    /// Too much in the life of one session key.
    #[serde(rename = "POL-SPEND-SESSION")]
    PolicySpendSession,
    /// Too much in a day.
    #[serde(rename = "POL-SPEND-DAY")]
    PolicySpendDay,
    /// The holdings fell too far below their highest, and only closing is left.
    #[serde(rename = "POL-DRAWDOWN")]
    PolicyDrawdown,
    /// No price, or none that can be relied on.
    #[serde(rename = "POL-PRICE-UNKNOWN")]
    PolicyPriceUnknown,
    /// A price that is too old, or not of this time.
    #[serde(rename = "POL-PRICE-STALE")]
    PolicyPriceStale,
    /// An amount beyond the arithmetic.
    #[serde(rename = "POL-AMOUNT")]
    PolicyAmount,
    /// A kind of message that is never signed, or one that says more than it may.
    #[serde(rename = "POL-SIGNATURE")]
    PolicySignature,
    /// Text of somebody else's, taken for a command.
    #[serde(rename = "POL-TAINTED")]
    PolicyTainted,
    /// The runtime's constitution is not the one that the owner published.
    #[serde(rename = "POL-CONSTITUTION")]
    PolicyConstitution,
    /// The owner published no policy.
    #[serde(rename = "POL-NO-POLICY")]
    NoPolicy,
    /// What was read as the owner's policy is none.
    #[serde(rename = "POL-MALFORMED")]
    PolicyMalformed,
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

impl fmt::Display for DenialCode {
    /// As it is serialised.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
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
