//! The whole way of an intent for a wallet at a service (INV-1): what its Golem wants is judged by the owner's policy, rehearsed, set
//! aside and cleared as everything is that a session key signs, and only then is the service asked.

use super::{
    Answered, BoundsError, EmbeddedWallet, Permit, RiskBounds, WalletService, WalletTransaction,
};
use crate::{
    ByOperation, ByTransaction, ChildGrant, Cleared, ClearingPolicy, CustodyError, Denial,
    DenialCode, IntentId, Introduction, Judged, JudgedHead, Judgement, Offer, Sealed,
    SessionSigner, SignedOperation, SignedTransaction, Unkept, WalletCall, intent::judged_call,
};
use alloy_primitives::{Address, Bytes, U256};
use alloy_signer::k256::elliptic_curve::rand_core::{OsRng, RngCore as _};
use async_trait::async_trait;
use golem_delegation::{Delegation, terms::GolemCharter};
use golem_safety::{Cage, Facts, Intent, Parties, Verdict};
use serde_json::Value;

/// One call that a wallet at a service is to make. Nothing follows from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalletProposed {
    intent: IntentId,
    call: WalletCall,
    what: Value,
}

impl WalletProposed {
    /// Under a name that nothing had before: the books take each name once (INV-10).
    #[must_use]
    pub const fn new(intent: IntentId, call: WalletCall) -> Self {
        Self { intent, call, what: Value::Null }
    }

    /// The same, with words for whoever reads the books.
    #[must_use]
    pub fn about(mut self, what: impl Into<Value>) -> Self {
        self.what = what.into();
        self
    }

    /// Judges it by the owner's policy. Parties and lists are the charter's that the wallet's rules were compiled from.
    pub fn judge(self, charter: &GolemCharter, cage: &Cage, facts: &Facts) -> Judgement {
        let Self { intent, call, what } = self;
        if charter.account != call.wallet {
            let (account, wallet) = (charter.account, call.wallet);
            let reason = format!("the charter is {account}'s, and wallet {wallet} would act");
            return Judgement::Refused(vec![Denial::new(DenialCode::PolicyParty, reason)]);
        }
        let judged = Intent {
            parties: Parties::of(charter),
            listing: charter.listing.clone(),
            calls: vec![judged_call(&call.call)],
        };
        match cage.judge(&judged, facts) {
            Verdict::Refused(denials) => Judgement::Refused(denials),
            Verdict::Permitted(permit) => match Judged::by_wallet(intent, call, what, permit) {
                Ok(judged) => Judgement::Permitted(judged),
                Err(denial) => Judgement::Refused(vec![denial]),
            },
        }
    }
}

/// A wallet at a service that signs what was cleared, and nothing else: the embedded mode's place in the pipeline.
///
/// What was cleared is held against the bounds of the service's rules once more, and the service judges it by those itself. A service
/// that is away has signed nothing: what was set aside is given back.
#[expect(missing_debug_implementations, reason = "INV-2: it reaches a key")]
pub struct WalletSigner<S> {
    wallet: EmbeddedWallet<S>,
    bounds: RiskBounds,
    policy: ClearingPolicy,
}

impl<S: WalletService> WalletSigner<S> {
    /// Of a wallet whose rules were compiled from `bounds`.
    pub fn new(
        wallet: EmbeddedWallet<S>,
        bounds: RiskBounds,
        policy: ClearingPolicy,
    ) -> Result<Self, BoundsError> {
        bounds.check()?;
        if bounds.wallet != wallet.address() {
            let (expected, found) = (wallet.address(), bounds.wallet);
            return Err(BoundsError::OtherWallet { expected, found });
        }
        Ok(Self { wallet, bounds, policy })
    }

    /// The wallet, for whoever asks how the service is.
    pub const fn wallet(&self) -> &EmbeddedWallet<S> {
        &self.wallet
    }

    /// Asks for a signature of what is within the bounds.
    async fn asked(
        &self,
        tx: WalletTransaction,
        balance: U256,
        now: u64,
    ) -> Result<SignedTransaction, CustodyError> {
        let signer = self.wallet.address();
        let refused =
            |denial: Denial| CustodyError::Sign { signer, source: denial.to_string().into() };
        let permitted = match self.bounds.permit(tx, &self.policy, balance, now) {
            Permit::Granted(permitted) => permitted,
            Permit::Refused(denial) => return Err(refused(denial)),
        };
        #[expect(clippy::disallowed_methods, reason = "what is asked for was cleared")]
        let answered = self.wallet.sign(permitted, now, OsRng.next_u64()).await;
        match answered {
            Ok(Answered::Done(signed)) => Ok(signed),
            Ok(Answered::Refused(denial)) => Err(refused(denial)),
            Err(fault) => Err(CustodyError::Sign { signer, source: fault.into() }),
        }
    }

    const fn never(&self, what: &'static str) -> CustodyError {
        CustodyError::NotOfWallets { wallet: self.wallet.address(), what }
    }
}

#[async_trait]
impl<S: WalletService> SessionSigner for WalletSigner<S> {
    fn address(&self) -> Address {
        self.wallet.address()
    }

    async fn sign(
        &self,
        cleared: Cleared<ByTransaction>,
        now: u64,
    ) -> Result<Sealed<SignedTransaction>, CustodyError> {
        let (judged, way, since) = cleared.for_wallet(self.wallet.address(), now)?;
        let (plan, body) = way.into_parts(judged.act());
        let tx = WalletTransaction::new(&plan, body.to, body.value, body.data, body.gas_limit);
        let signed = self.asked(tx, plan.balance, now).await?;
        Ok(Sealed::new(signed, judged, since))
    }

    async fn sign_operation(
        &self,
        _cleared: Cleared<ByOperation>,
        _now: u64,
    ) -> Result<Sealed<SignedOperation>, CustodyError> {
        Err(self.never("operations"))
    }

    async fn raise(
        &self,
        _signed: &SignedTransaction,
        _offer: Offer,
        _ceiling: U256,
    ) -> Result<Unkept<SignedTransaction>, CustodyError> {
        // A request to the service has an end, and nobody says what time it is: it waits at the price that it has.
        Err(self.never("higher prices"))
    }

    async fn raise_operation(
        &self,
        _signed: &SignedOperation,
        _offer: Offer,
        _ceiling: U256,
    ) -> Result<Unkept<SignedOperation>, CustodyError> {
        Err(self.never("operations"))
    }

    async fn seal(&self, _head: JudgedHead) -> Result<Bytes, CustodyError> {
        Err(self.never("heads of logs"))
    }

    async fn says_born(&self, _at: u64) -> Result<Bytes, CustodyError> {
        Err(self.never("births"))
    }

    async fn delegate(&self, _child: ChildGrant) -> Result<Delegation, CustodyError> {
        Err(self.never("delegations"))
    }

    async fn introduce(&self, _child: &Introduction) -> Result<Bytes, CustodyError> {
        Err(self.never("introductions"))
    }
}
