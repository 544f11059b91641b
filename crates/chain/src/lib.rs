#![doc = include_str!("../README.md")]

mod account;
mod cage;
mod deploy;
mod enforcers;
mod following;
mod foresight;
mod identity;
mod lane;
pub mod local;
mod node;
mod observe;
mod onboard;
mod operations;
mod outbox;
mod privy;
mod purse;
mod refusal;
mod registry;
mod shared;
mod snapshot;
mod survey;
mod swap_grant;
mod transport;
mod undertaker;
mod vault;
mod watch;

pub use account::{
    Account, AccountKind, OwnerCall, hybrid_account, p256_session_account, proxy_account,
    revocation,
};
pub use cage::{Known, Ledger, Possession, boot, facts, facts_of_golem, publish, published_policy};
pub use deploy::{DeployError, Deployed, Presence, deploy, inspect};
pub use enforcers::{bundle_enforcers, environment};
pub use following::Follow;
pub use foresight::Foresight;
pub use identity::{Identities, Identity, Kinship, NewIdentity};
pub use lane::{Landing, Lane, LaneFault, LanePolicy};
pub use node::{ChainFault, Node};
pub use observe::{Observation, is_signed_for, observe, observe_at, unusable};
pub use onboard::{
    Costs, Deposit, Onboard, OnboardError, Onboarded, Prompt, Provision, Provisioned, StepCost,
    Wished, provisioning,
};
pub use operations::{Operations, OperationsFault};
pub use outbox::{OWNER_FEE_CEILING, OwnerError};
pub use privy::{Privy, PrivyFault};
pub use refusal::{explain_revert, printable};
pub use registry::{Entry, GolemState, Heartbeat, Registry, Writing, Written};
pub use shared::SharedAccount;
pub use survey::{Part, Place, Standing, places};
pub use swap_grant::SwapGrant;
pub use transport::redacted;
pub use undertaker::{EstateError, GrantedEstate};
pub use vault::{AccountCode, Holdings, Moved, Withdrawal, Withdrawn, account_code};
pub use watch::{End, Heads, WatchFault, ended, watch};
