#![doc = include_str!("../README.md")]

mod action;
mod cage;
mod denial;
mod money;
mod permit;
mod policy;
mod valuation;

pub use action::{
    Action, ActionRefusal, MAX_INNER, decode_call, hidden_call, is_carrier, is_multicall,
    read_call, role_of,
};
pub use cage::{
    Boot, Cage, Facts, Intent, MOST_CALLDATA, MOST_CALLS, MOST_CONSTITUTION, Parties, Verdict,
};
pub use denial::{Denial, DenialCode};
pub use money::MicroDollars;
pub use permit::{Call, CallsDigest, Permit};
pub use policy::{Policy, PolicyRefusal, Published};
pub use valuation::{
    Appraisal, Observed, PoolKey, PositionView, Round, Uptime, ValuationRefusal, VaultView, Worth,
    is_measured,
};
