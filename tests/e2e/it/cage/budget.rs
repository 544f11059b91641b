//! SPEC X3: the books are held against what the charter counted, and the stricter of both gates what is signed next.

use super::{
    DOLLAR,
    pipeline::{House, name},
};
use alloy::primitives::U256;
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::{Archive, Record};
use golem_chain::Landing;
use golem_custody::{DenialCode, Drift, Redemption};
use golem_delegation::PermissionContext;
use serde_json::Value;

impl House {
    /// Another process with the same key sells so much, and these books hear nothing of it.
    async fn sold_elsewhere(&self, usd: u64) -> Result<()> {
        let context = PermissionContext::new(vec![self.scene.agent.grant.clone()])?;
        let sale = Redemption::single(DELEGATION_MANAGER, context, &self.field().swap(usd));
        let stage = &self.field().stage;
        let sent =
            stage.send_as(self.session, DELEGATION_MANAGER, U256::ZERO, sale.calldata()).await?;
        ensure!(sent.status(), "the charter refuses it");
        Ok(())
    }

    /// What was written down of an intent when it was reserved or refused.
    fn drift_of(&self, intent: u8, kind: &str) -> Result<Option<Drift>> {
        let (records, _) = Archive::open(&self.folder.path().join("golem"))?.audit()?;
        let of = name(intent).0.to_string();
        let is_it = |record: &&Record| record.kind == kind && record.body.contains(&of);
        let record = records.iter().find(is_it).context("it is not in the log")?;
        let body: Value = serde_json::from_str(&record.body)?;
        let drift = body.pointer("/entry/what/drift").cloned();
        Ok(drift.map(serde_json::from_value).transpose()?)
    }
}

#[tokio::test]
async fn what_another_process_spent_takes_room_away_and_is_in_the_log() -> Result<()> {
    let house = House::new().await?;
    let landing = house.landed(name(1), 200).await?;
    ensure!(matches!(landing, Landing::Done(_)), "{landing:?}");
    house.sold_elsewhere(200).await?;
    house.sold_elsewhere(200).await?;

    // By the books 450 of 700 dollars; by the chain 850.
    let denial = house.refused(name(2), 250).await?;

    ensure!(matches!(denial.code, DenialCode::BudgetDay | DenialCode::BudgetOwner), "{denial:?}");
    ensure!(denial.reason.contains("the chain counts"), "{denial}");
    let about = 395 * DOLLAR..=405 * DOLLAR;
    let drift = house.drift_of(2, "intent.refused")?;
    ensure!(
        matches!(drift, Some(Drift::ChainCountsMore(more)) if about.contains(&more)),
        "{drift:?}"
    );
    // What both have room for is done, with the same note.
    let landing = house.landed(name(3), 50).await?;
    ensure!(matches!(landing, Landing::Done(_)), "{landing:?}");
    let drift = house.drift_of(3, "intent.reserved")?;
    ensure!(
        matches!(drift, Some(Drift::ChainCountsMore(more)) if about.contains(&more)),
        "{drift:?}"
    );
    Ok(())
}

/// By the books 400 of 700 dollars, none of which is on the chain; by the chain another 400.
#[tokio::test]
async fn what_is_under_way_covers_nothing_of_what_another_process_spent() -> Result<()> {
    let house = House::new().await?;
    house.under_way(name(1), 400).await?;
    house.sold_elsewhere(200).await?;
    house.sold_elsewhere(200).await?;

    let denial = house.refused(name(2), 250).await?;

    ensure!(matches!(denial.code, DenialCode::BudgetDay | DenialCode::BudgetOwner), "{denial:?}");
    let about = 395 * DOLLAR..=405 * DOLLAR;
    let drift = house.drift_of(2, "intent.refused")?;
    ensure!(
        matches!(drift, Some(Drift::ChainCountsMore(more)) if about.contains(&more)),
        "{drift:?}"
    );
    Ok(())
}

#[tokio::test]
async fn where_both_count_alike_nothing_is_said_and_all_of_the_cap_is_there() -> Result<()> {
    let house = House::new().await?;

    for (intent, usd) in [(1, 200), (2, 250), (3, 200)] {
        let landing = house.landed(name(intent), usd).await?;
        ensure!(matches!(landing, Landing::Done(_)), "{usd}: {landing:?}");
        assert_eq!(house.drift_of(intent, "intent.reserved")?, None, "{usd}");
    }
    Ok(())
}
