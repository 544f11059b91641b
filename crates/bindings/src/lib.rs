#![doc = include_str!("../README.md")]

mod bardo;
mod chains;
pub mod defi;
pub mod framework;
pub mod identity;

pub use bardo::{
    CadenceEnforcer, DailySpendLimitEnforcer, Deployable, DreamModeEnforcer,
    EmotionalStateEnforcer, GolemAttestations, GolemCharterEnforcer, GolemLifecycle,
    GolemPhaseEnforcer, GolemRegistry, HoldingsEnforcer, KnowledgeMarket, KnowledgeRoyaltyEnforcer,
    MaxSlippageEnforcer, MortalityTimeWindowEnforcer, PolicyCage, ReplicantBudgetEnforcer,
    ThresholdEnforcer, VaultNAVEnforcer, cadence_enforcer, create2_address,
    daily_spend_limit_enforcer, deployables, deterministic_call, dream_mode_enforcer,
    emotional_state_enforcer, golem_attestations, golem_charter_enforcer, golem_lifecycle,
    golem_phase_enforcer, golem_registry, holdings_enforcer, knowledge_market,
    knowledge_royalty_enforcer, max_slippage_enforcer, mortality_time_window_enforcer, policy_cage,
    replicant_budget_enforcer, threshold_enforcer, vault_nav_enforcer,
};
pub use chains::{ChainError, ChainSpec, Chains};
