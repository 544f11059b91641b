//! The eight steps by which a Golem is provisioned, as people count them, and which of the six durable ones each of them is (SPEC K7).
//!
//! ```text
//! 1 validate manifest   before all of them         5 register identity    5, in the same transaction as 4
//! 2 create wallet       1 sign in, 2, 3            6 provision machine    4
//! 3 approve Permit2     none                       7 deploy               6
//! 4 fund                5                          8 start heartbeat      the first tick: the Golem's own
//! ```
//!
//! It is another way to read the same [`Costs`]: nothing is counted twice, and the sums are the same.

use super::{Costs, Prompt};
use golem_custody::CustodyMode;
use serde::Serialize;

/// One of the eight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Provision {
    /// All that was wished for is looked at, before anything is born, asked or sent.
    ValidateManifest,
    /// Who the owner is, who holds what, and what the Golem acts with.
    CreateWallet,
    /// An allowance for Permit2.
    ApprovePermit2,
    /// Gas money and deposits, in one transaction with all else that the chain has to know.
    FundWallet,
    /// An ERC-8004 identity.
    RegisterIdentity,
    /// The Golem's private folder with its documents.
    ProvisionMachine,
    /// What the Golem's process reads: whose it is, by which key or wallet, under which grant.
    Deploy,
    /// The first tick.
    StartHeartbeat,
}

impl Provision {
    /// All of them, in their order.
    pub const ALL: [Self; 8] = [
        Self::ValidateManifest,
        Self::CreateWallet,
        Self::ApprovePermit2,
        Self::FundWallet,
        Self::RegisterIdentity,
        Self::ProvisionMachine,
        Self::Deploy,
        Self::StartHeartbeat,
    ];

    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ValidateManifest => "validate manifest",
            Self::CreateWallet => "create wallet",
            Self::ApprovePermit2 => "approve Permit2",
            Self::FundWallet => "fund wallet",
            Self::RegisterIdentity => "register identity",
            Self::ProvisionMachine => "provision machine",
            Self::Deploy => "deploy",
            Self::StartHeartbeat => "start heartbeat",
        }
    }

    /// The durable steps whose costs are its own. Each step is in one of them.
    ///
    /// ```
    /// use golem_chain::Provision;
    /// let mut steps: Vec<u8> = Provision::ALL.iter().flat_map(|one| one.steps()).copied().collect();
    /// steps.sort_unstable();
    /// assert_eq!(steps, [1, 2, 3, 4, 5, 6]);
    /// ```
    #[must_use]
    pub const fn steps(self) -> &'static [u8] {
        match self {
            Self::CreateWallet => &[1, 2, 3],
            Self::FundWallet => &[5],
            Self::ProvisionMachine => &[4],
            Self::Deploy => &[6],
            Self::ValidateManifest
            | Self::ApprovePermit2
            | Self::RegisterIdentity
            | Self::StartHeartbeat => &[],
        }
    }
}

/// What was wished for, as far as it decides which of the eight are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wished {
    /// Who holds what.
    pub mode: CustodyMode,
    /// Whether an identity.
    pub identity: bool,
    /// Whether the first tick was.
    pub live: bool,
    /// How long it took to look at the wishes, in this run.
    pub validation: u64,
}

/// What one of the eight took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provisioned {
    /// Which.
    pub step: Provision,
    /// What the owner signed for it.
    pub prompts: Vec<Prompt>,
    /// Transactions that are in a block.
    pub transactions: u64,
    /// Gas that they used.
    pub gas: u64,
    /// Time, counted as in [`StepCost`](super::StepCost).
    pub milliseconds: u64,
    /// Whether it was left out.
    pub skipped: bool,
    /// Why it took nothing of its own; none where it did.
    pub why: Option<&'static str>,
}

/// The eight steps of an onboarding that took `costs`.
#[must_use]
pub fn provisioning(costs: &Costs, wished: Wished) -> Vec<Provisioned> {
    let one = |step: Provision| {
        let made = || step.steps().iter().filter_map(|number| costs.step(*number));
        let milliseconds = match step {
            Provision::ValidateManifest => wished.validation,
            _ => made().map(|cost| cost.milliseconds).sum(),
        };
        Provisioned {
            step,
            prompts: made().flat_map(|cost| cost.prompts.iter().copied()).collect(),
            transactions: made().map(|cost| cost.transactions).sum(),
            gas: made().map(|cost| cost.gas).sum(),
            milliseconds,
            skipped: why(step, wished).is_some_and(|(skipped, _)| skipped),
            why: why(step, wished).map(|(_, why)| why),
        }
    };
    Provision::ALL.into_iter().map(one).collect()
}

/// Whether it is left out, and why; none where it is made by steps of its own.
const fn why(step: Provision, wished: Wished) -> Option<(bool, &'static str)> {
    match (step, wished.mode) {
        (Provision::ApprovePermit2, CustodyMode::Delegation | CustodyMode::LocalKey) => {
            Some((true, "the money stays in the owner's account: Permit2 has no part in this mode"))
        }
        (Provision::ApprovePermit2, CustodyMode::Embedded) => Some((
            true,
            "the owner's own transaction pays the wallet: nobody is given an allowance",
        )),
        (Provision::RegisterIdentity, _) if wished.identity => {
            Some((false, "in the same transaction as step 4"))
        }
        (Provision::RegisterIdentity, _) => Some((true, "none was wished for")),
        (Provision::StartHeartbeat, _) if wished.live => Some((false, "made by the Golem itself")),
        (Provision::StartHeartbeat, CustodyMode::Embedded) => {
            Some((true, "left to a program of yours: bardo golem run does not wake it"))
        }
        (Provision::StartHeartbeat, _) => Some((true, "left to the Golem: bardo golem run")),
        _ => None,
    }
}
