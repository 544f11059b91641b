#![doc = include_str!("../README.md")]

mod action;
mod denial;
mod money;
mod valuation;

pub use action::{
    Action, ActionRefusal, MAX_INNER, decode_call, hidden_call, is_carrier, is_multicall,
    read_call, role_of,
};
pub use denial::{Denial, DenialCode};
pub use money::MicroDollars;
pub use valuation::{
    Appraisal, Observed, PoolKey, PositionView, Round, Uptime, ValuationRefusal, VaultView, Worth,
    is_measured,
};
