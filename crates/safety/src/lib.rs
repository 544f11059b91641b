#![doc = include_str!("../README.md")]

mod action;
mod cage;
mod denial;
mod money;
mod permit;
mod policy;
mod signing;
mod untrusted;
mod valuation;
mod violation;

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
pub use signing::{
    AuditHead, ForeignKind, MOST_TYPED_DATA, Signable, SigningFacts, SigningPermit, SigningVerdict,
    refuse_typed_data,
};
pub use untrusted::{ForMemory, ForPeople, MOST_SHOWN, Origin, Untrusted};
pub use valuation::{
    Appraisal, Observed, PoolKey, PositionView, Round, Uptime, ValuationRefusal, VaultView, Worth,
    is_measured,
};
pub use violation::{Arousal, Violation, Warning};
