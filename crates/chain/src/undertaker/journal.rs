//! What was set out to be done, before it was.

use alloy::primitives::U256;
use golem_custody::{Books, BoxError, Ending, Holding, IntentId, SettledPosition, Steps};
use serde::{Deserialize, Serialize};

/// Where it is kept.
const CELL: &str = "undertaker";

/// One thing that an intent of this name ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Item {
    effect: IntentId,
    name: IntentId,
    of: Holding,
    amount: U256,
}

/// The list of them. What became of each the books know, by its name.
#[derive(Clone, Copy)]
pub(super) struct Journal<'a> {
    pub(super) steps: &'a dyn Steps,
}

impl Journal<'_> {
    async fn read(&self) -> Result<(u64, Vec<Item>), BoxError> {
        match self.steps.load(CELL).await? {
            None => Ok((0, Vec::new())),
            Some(step) => Ok((step.version, serde_json::from_value(step.value)?)),
        }
    }

    /// Writes down what is about to be done. It is on the disk when this returns.
    pub(super) async fn sets_out(
        &self,
        effect: IntentId,
        name: IntentId,
        ends: &[(Holding, U256)],
        now: u64,
    ) -> Result<(), BoxError> {
        if ends.is_empty() {
            return Ok(());
        }
        let (version, mut items) = self.read().await?;
        // A try that the books never took is made again under its name, perhaps of another amount.
        items.retain(|item| item.name != name);
        items.extend(ends.iter().map(|&(of, amount)| Item { effect, name, of, amount }));
        self.steps.advance(CELL, version, &serde_json::to_value(items)?, now).await
    }

    /// What of it took effect, as the books have it.
    pub(super) async fn ended(
        &self,
        effect: IntentId,
        books: &dyn Books,
    ) -> Result<Vec<SettledPosition>, BoxError> {
        let (_, items) = self.read().await?;
        let mut settled: Vec<SettledPosition> = Vec::new();
        for Item { name, of, amount, .. } in
            items.into_iter().rev().filter(|it| it.effect == effect)
        {
            let mut name = name;
            // Where an attempt came to nothing the next one has the next name, and may be an item of its own.
            let done = loop {
                match books.ended(name).await? {
                    Some(Ending::Done { hash, block }) => break Some((hash, block)),
                    Some(Ending::Abandoned { .. }) => name = name.again(),
                    Some(Ending::Failed { .. }) | None => break None,
                }
            };
            let Some((transaction, block)) = done else { continue };
            if !settled.iter().any(|one| one.of == of && one.transaction == transaction) {
                settled.push(SettledPosition { of, amount, transaction, block });
            }
        }
        settled.reverse();
        Ok(settled)
    }
}
