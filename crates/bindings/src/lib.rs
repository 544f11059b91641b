#![doc = include_str!("../README.md")]

mod bardo;
mod chains;
pub mod defi;
pub mod enforcers;
pub mod framework;

pub use bardo::{
    DailySpendLimitEnforcer, Deployable, DreamModeEnforcer, GolemCharterEnforcer,
    GolemPhaseEnforcer, GolemRegistry, MaxSlippageEnforcer, MortalityTimeWindowEnforcer,
    VaultNAVEnforcer, create2_address, daily_spend_limit_enforcer, deployables, deterministic_call,
    dream_mode_enforcer, golem_charter_enforcer, golem_phase_enforcer, golem_registry,
    max_slippage_enforcer, mortality_time_window_enforcer, vault_nav_enforcer,
};
pub use chains::{ChainError, ChainSpec, chains};
