#![doc = include_str!("../README.md")]

pub mod devchain;
mod multisig;
mod stage;

pub use multisig::MultiSigOwner;
pub use stage::{Owner, Stage, dollars, fixed_signer, root};
