#![doc = include_str!("../README.md")]

mod bardo;
mod chains;
pub mod defi;
pub mod enforcers;
pub mod framework;

pub use bardo::{
    Deployable, GolemRegistry, MortalityTimeWindowEnforcer, create2_address, deployables,
    deterministic_call, mortality_time_window_enforcer,
};
pub use chains::{ChainError, ChainSpec, chains};
