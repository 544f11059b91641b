use super::OnboardError;
use alloy::{primitives::Bytes, rpc::types::TransactionReceipt};
use golem_custody::Steps;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Where it is kept.
const CELL: &str = "onboarding.costs";

/// What the owner is asked to sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Prompt {
    /// That it is he (ERC-4361).
    SignIn,
    /// What the Golem may do.
    Grant,
    /// A transaction, with the upgrade of his account where it carries one.
    Transaction,
}

/// What one step took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepCost {
    /// Which, from one.
    pub step: u8,
    /// What the owner signed for it.
    pub prompts: Vec<Prompt>,
    /// Transactions that are in a block.
    pub transactions: u64,
    /// Gas that they used.
    pub gas: u64,
    /// Time, without what the owner took to answer and without runs that were interrupted.
    pub milliseconds: u64,
}

impl StepCost {
    pub(super) fn new(step: u8, prompts: Vec<Prompt>, began: Instant) -> Self {
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Self { step, prompts, transactions: 0, gas: 0, milliseconds }
    }

    pub(super) fn with(mut self, receipts: &[TransactionReceipt]) -> Self {
        self.transactions = receipts.iter().map(|_| 1).sum();
        self.gas = receipts.iter().map(|receipt| receipt.gas_used).sum();
        self
    }
}

/// What an onboarding took, step by step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Costs(Vec<StepCost>);

impl Costs {
    /// Those of the steps that were made, in their order.
    #[must_use]
    pub fn steps(&self) -> &[StepCost] {
        &self.0
    }

    /// That of one step.
    #[must_use]
    pub fn step(&self, number: u8) -> Option<&StepCost> {
        self.0.iter().find(|cost| cost.step == number)
    }

    /// How often the owner signed.
    #[must_use]
    pub fn prompts(&self) -> usize {
        self.0.iter().map(|cost| cost.prompts.len()).sum()
    }

    /// How often for one thing.
    #[must_use]
    pub fn prompts_for(&self, prompt: Prompt) -> usize {
        self.0.iter().flat_map(|cost| &cost.prompts).filter(|one| **one == prompt).count()
    }

    /// All transactions.
    #[must_use]
    pub fn transactions(&self) -> u64 {
        self.0.iter().map(|cost| cost.transactions).sum()
    }

    /// All gas.
    #[must_use]
    pub fn gas(&self) -> u64 {
        self.0.iter().map(|cost| cost.gas).sum()
    }

    /// All time.
    #[must_use]
    pub fn milliseconds(&self) -> u64 {
        self.0.iter().map(|cost| cost.milliseconds).sum()
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Kept {
    costs: Costs,
    /// Transactions as they were signed, the oldest first.
    sent: Vec<Bytes>,
}

/// What was spent and sent, kept beside the steps.
#[derive(Debug)]
pub(super) struct Ledger<'a, S> {
    steps: &'a S,
    version: u64,
    kept: Kept,
}

impl<'a, S: Steps> Ledger<'a, S> {
    pub(super) async fn open(steps: &'a S) -> Result<Self, OnboardError> {
        let found = steps.load(CELL).await.map_err(|source| OnboardError::Books { source })?;
        let Some(step) = found else {
            return Ok(Self { steps, version: 0, kept: Kept::default() });
        };
        let kept =
            serde_json::from_value(step.value).map_err(|source| OnboardError::Unread { source })?;
        Ok(Self { steps, version: step.version, kept })
    }

    pub(super) const fn costs(&self) -> &Costs {
        &self.kept.costs
    }

    pub(super) fn sent(&self) -> &[Bytes] {
        &self.kept.sent
    }

    /// Notes what a step took, before the step counts. One that is made again, because it did not, is noted in its place.
    pub(super) async fn took(&mut self, cost: StepCost, now: u64) -> Result<(), OnboardError> {
        let costs = &mut self.kept.costs.0;
        costs.retain(|one| one.step != cost.step);
        costs.push(cost);
        costs.sort_unstable_by_key(|one| one.step);
        self.write(now).await
    }

    /// Keeps what is about to be sent.
    pub(super) async fn sends(&mut self, raw: &Bytes, now: u64) -> Result<(), OnboardError> {
        self.kept.sent.push(raw.clone());
        self.write(now).await
    }

    async fn write(&mut self, now: u64) -> Result<(), OnboardError> {
        let value =
            serde_json::to_value(&self.kept).map_err(|source| OnboardError::Unread { source })?;
        self.steps
            .advance(CELL, self.version, &value, now)
            .await
            .map_err(|source| OnboardError::Books { source })?;
        self.version = self.version.saturating_add(1);
        Ok(())
    }
}
