#![doc = include_str!("../README.md")]

mod account;
mod deploy;
mod enforcers;
mod foresight;
mod lane;
pub mod local;
mod node;
mod operations;
mod outbox;
mod refusal;
mod swap_grant;

pub use account::{Account, AccountKind, OwnerCall, hybrid_account, proxy_account, revocation};
pub use deploy::{DeployError, Deployed, Presence, deploy, inspect};
pub use enforcers::{bundle_enforcers, environment};
pub use foresight::Foresight;
pub use lane::{Landing, Lane, LaneFault, LanePolicy};
pub use node::{ChainFault, Node};
pub use operations::Operations;
pub use outbox::{OWNER_FEE_CEILING, OwnerError};
pub use refusal::{explain_revert, printable};
pub use swap_grant::SwapGrant;
