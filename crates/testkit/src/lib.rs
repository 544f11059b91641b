#![doc = include_str!("../README.md")]

mod agent;
pub mod devchain;
mod in_process;
mod multisig;
mod privy;
mod proxy;
mod stage;

pub use agent::{
    Agent, Attempt, STIPEND, bundled, charter, charter_of, chartered, fair_swap, judged, mandate,
    swap, swap_grant, unsigned,
};
pub use in_process::Course;
pub use multisig::MultiSigOwner;
pub use privy::{FakePrivy, PrivyLog, PrivyRequest, PrivyTrouble};
pub use proxy::{Fault, Proxy};
pub use stage::{Owner, Stage, dollars, fixed_signer, root};
