#![doc = include_str!("../README.md")]

mod account;
mod deploy;
mod dry_run;
pub mod local;
mod node;
mod refusal;
mod swap_grant;

pub use account::{
    Account, AccountKind, OwnerCall, OwnerError, hybrid_account, proxy_account, revocation,
};
pub use deploy::{DeployError, Deployed, Presence, deploy, inspect};
pub use node::{ChainFault, Node};
pub use refusal::explain_revert;
pub use swap_grant::SwapGrant;
