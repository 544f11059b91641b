//! A wallet whose key another service holds, in an enclave (SPEC K5). The Golem has a key that asks, and no key that signs.

mod bounds;
mod charter;
mod key;
mod manifest;
mod policy;
mod presence;
mod request;
mod service;
mod signer;
mod sweep;
mod wallet;

pub use bounds::{
    AllowedCall, BoundsError, Permit, PermittedTransaction, Pin, RiskBounds, TokenBound,
    WalletTransaction,
};
pub use key::{AuthorizationKey, AuthorizationPublicKey, KeeperKey};
pub use manifest::{Balance, BardoManifest, DeferredPosition, Holding, SettledPosition};
pub use policy::SigningPolicy;
pub use presence::{Backoff, Presence, WalletPresence};
pub use request::{
    IdempotencyKey, KeyQuorumId, PolicyId, Verb, WalletApp, WalletAppError, WalletId, WalletRequest,
};
pub use service::{
    AdmittedSigner, Answered, AppSecret, ServiceReply, Wallet, WalletError, WalletService,
};
pub use signer::{WalletProposed, WalletSigner};
pub use sweep::{Gas, Purse, Sweep, SweepError, SweepOrder, SweepSoFar, Swept};
pub use wallet::{EmbeddedWallet, WalletKeeper};
