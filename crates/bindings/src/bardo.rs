use crate::framework::DETERMINISTIC_DEPLOYER;
use alloy_primitives::{Address, B256, Bytes, keccak256};
use std::sync::LazyLock;

/// Everything of ours that is deployed: bindings, what `bardo deploy` needs, and where it stands.
macro_rules! contracts {
    ($($name:ident, $artifact:literal, $at:ident;)*) => {
        mod artifact {
            #![expect(missing_docs, reason = "generated from an ABI, which has no docs")]

            $(alloy_sol_types::sol!(
                #[derive(Debug)]
                $name,
                $artifact
            );)*
        }

        pub use artifact::{$($name),*};

        static DEPLOYABLES: LazyLock<Vec<Deployable>> = LazyLock::new(|| {
            vec![$(
                deployable(stringify!($name), &$name::BYTECODE, &$name::DEPLOYED_BYTECODE)
            ),*]
        });

        $(
            #[doc = concat!("Address of the ", stringify!($name), " on every chain.")]
            #[must_use]
            pub fn $at() -> Address {
                static AT: LazyLock<Address> =
                    LazyLock::new(|| create2_address(keccak256(SALT), &$name::BYTECODE));
                *AT
            }
        )*
    };
}

contracts! {
    CadenceEnforcer, "../../contracts/artifacts/CadenceEnforcer.json", cadence_enforcer;
    DailySpendLimitEnforcer, "../../contracts/artifacts/DailySpendLimitEnforcer.json", daily_spend_limit_enforcer;
    DreamModeEnforcer, "../../contracts/artifacts/DreamModeEnforcer.json", dream_mode_enforcer;
    EmotionalStateEnforcer, "../../contracts/artifacts/EmotionalStateEnforcer.json", emotional_state_enforcer;
    GolemAttestations, "../../contracts/artifacts/GolemAttestations.json", golem_attestations;
    GolemCharterEnforcer, "../../contracts/artifacts/GolemCharterEnforcer.json", golem_charter_enforcer;
    GolemLifecycle, "../../contracts/artifacts/GolemLifecycle.json", golem_lifecycle;
    GolemPhaseEnforcer, "../../contracts/artifacts/GolemPhaseEnforcer.json", golem_phase_enforcer;
    GolemRegistry, "../../contracts/artifacts/GolemRegistry.json", golem_registry;
    HoldingsEnforcer, "../../contracts/artifacts/HoldingsEnforcer.json", holdings_enforcer;
    KnowledgeMarket, "../../contracts/artifacts/KnowledgeMarket.json", knowledge_market;
    KnowledgeRoyaltyEnforcer, "../../contracts/artifacts/KnowledgeRoyaltyEnforcer.json", knowledge_royalty_enforcer;
    MaxSlippageEnforcer, "../../contracts/artifacts/MaxSlippageEnforcer.json", max_slippage_enforcer;
    MortalityTimeWindowEnforcer, "../../contracts/artifacts/MortalityTimeWindowEnforcer.json", mortality_time_window_enforcer;
    PolicyCage, "../../contracts/artifacts/PolicyCage.json", policy_cage;
    ReplicantBudgetEnforcer, "../../contracts/artifacts/ReplicantBudgetEnforcer.json", replicant_budget_enforcer;
    ThresholdEnforcer, "../../contracts/artifacts/ThresholdEnforcer.json", threshold_enforcer;
    VaultNAVEnforcer, "../../contracts/artifacts/VaultNAVEnforcer.json", vault_nav_enforcer;
}

/// Salt of every Bardo deployment: with fixed bytecode it fixes the address on every chain.
const SALT: &[u8] = b"bardo.deploy.v1";

/// A contract of ours and the address it has wherever it is deployed.
#[derive(Clone, Debug)]
pub struct Deployable {
    /// Name of contract and artifact.
    pub name: &'static str,
    /// Where the deterministic deployer puts it.
    pub address: Address,
    /// Creation code.
    pub init_code: Bytes,
    /// Code found at `address` afterwards. None of our contracts has immutables or arguments, so
    /// it is known before deployment.
    pub runtime_code: Bytes,
    /// CREATE2 salt.
    pub salt: B256,
}

fn deployable(name: &'static str, init_code: &Bytes, runtime_code: &Bytes) -> Deployable {
    let salt = keccak256(SALT);
    Deployable {
        name,
        address: create2_address(salt, init_code),
        init_code: init_code.clone(),
        runtime_code: runtime_code.clone(),
        salt,
    }
}

/// Everything `bardo deploy` puts on a chain, in order.
#[must_use]
pub fn deployables() -> &'static [Deployable] {
    &DEPLOYABLES
}

/// Where the deterministic deployer puts `init_code` under `salt`.
#[must_use]
pub fn create2_address(salt: B256, init_code: &[u8]) -> Address {
    DETERMINISTIC_DEPLOYER.create2_from_code(salt, init_code)
}

/// Calldata that makes the deterministic deployer create `init_code` under `salt`.
#[must_use]
pub fn deterministic_call(salt: B256, init_code: &[u8]) -> Bytes {
    [salt.as_slice(), init_code].concat().into()
}
