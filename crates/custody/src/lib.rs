#![doc = include_str!("../README.md")]

mod act;
mod afloat;
mod bequest;
mod books;
mod bounds;
mod child;
mod clearance;
#[cfg(feature = "test-utils")]
pub mod crash;
#[cfg(not(feature = "test-utils"))]
#[expect(unreachable_pub, clippy::missing_const_for_fn, reason = "only tests see it, or do it")]
mod crash;
mod embedded;
mod intent;
mod keyfile;
mod keyring;
#[cfg(feature = "memory-books")]
mod memory_books;
mod metabolism;
mod mode;
mod onboarding;
mod operation;
mod owner;
mod ports;
mod reconcile;
mod redact;
mod redemption;
mod rotation;
mod running_costs;
mod runway;
mod said;
mod secret;
mod session;
mod session_p256;
mod settlement;
mod sign_in;
mod transaction;

pub use act::{Act, Leftover, Mood, RegistryUpdate, Says, WalletCall};
pub use afloat::{Afloat, Carried, Sealed, Unkept};
pub use bequest::{Addressed, BequestError, MAX_BEQUEST, seal};
pub use books::{
    Answer, Approvals, Approving, Audit, Bid, Books, Caps, Ending, Entry, IntentId, Open, Question,
    Reserving, Route, Spent, Step, Steps,
};
pub use bounds::{DelegationBounds, DelegationBoundsError};
pub use child::{ChildGrant, Handing, Introduction};
pub use clearance::{
    ByTransaction, Cleared, ClearingPolicy, CustodyError, Rehearsal, Rehearsed, Reservation, given,
    limit, rehearse,
};
pub use embedded::{
    AdmittedSigner, AllowedCall, Answered, AppSecret, AuthorizationKey, AuthorizationPublicKey,
    Backoff, Balance, BardoManifest, BoundsError, DeferredPosition, EmbeddedWallet, Gas, Holding,
    IdempotencyKey, KeeperKey, KeyQuorumId, Permit, PermittedTransaction, Pin, PolicyId, Presence,
    Purse, RiskBounds, ServiceReply, SettledPosition, SigningPolicy, Sweep, SweepError, SweepOrder,
    SweepSoFar, Swept, TokenBound, Verb, Wallet, WalletApp, WalletAppError, WalletError, WalletId,
    WalletKeeper, WalletPresence, WalletProposed, WalletRequest, WalletService, WalletSigner,
    WalletTransaction,
};
pub use golem_safety::{AuditHead, Denial, DenialCode};
pub use intent::{Consent, Judged, Judgement, Mandate, Proposed};
pub use keyfile::{KeyFileError, Password};
pub use keyring::{KeyHandle, Keys};
#[cfg(feature = "memory-books")]
pub use memory_books::MemoryBooks;
pub use metabolism::{
    AGREEMENT, DailyCosts, Disagreement, Fare, InferenceTier, Lifespan, Metabolism, Parameter,
    Recommendation, Sustainability, agree, inference_tier,
};
pub use mode::{
    Acting, Binding, Choice, ChoiceError, Choosing, Custody, CustodyChoice, KeyCustody, Observing,
    SettlementKind, SigningParty, Ticking,
};
pub use onboarding::{AgentKey, CustodyMode, Means, Onboarding, OnboardingError, OnboardingSteps};
pub use operation::{
    ByOperation, Operate, OperationDraft, OperationPlan, OwnOperation, SessionAccount,
    SignedOperation, SignedOwnOperation, VaultKind, rehearse_operation,
};
pub use owner::OwnerSigner;
pub use ports::{
    Asset, BlockRef, BoxError, Change, DryRun, Held, Outcome, Preview, Receipt, SessionSigner,
    Submit,
};
pub use reconcile::{Counted, Drift};
pub use redact::{RedactedWriter, redact};
pub use redemption::{Execution, Redemption, encode_batch};
pub use rotation::{
    KeyUse, Keyring, Replaced, Rotation, RotationError, RotationPolicy, RotationReason, Rotations,
    Switching,
};
pub use running_costs::{Payee, Purpose, RunningCosts, runway_share};
pub use runway::{Runway, RunwayError, RunwayFor, RunwayLimits, RunwayRefusal, Runways};
pub use said::{Birth, Heading, JudgedHead};
pub use secret::{HardeningError, harden_process};
pub use session::SessionKey;
pub use session_p256::{P256Key, P256Owner, P256SessionKey};
pub use settlement::{
    BroughtHome, DeathOrder, DeathSettlement, DeathSteps, Effect, Estate, Exhaustion, ExpiryKind,
    Positions, Settlement, SettlementError, Settling, Undertaker,
};
pub use sign_in::{SignIn, SignInError};
pub use transaction::{Offer, SignedTransaction, TransactionPlan};
