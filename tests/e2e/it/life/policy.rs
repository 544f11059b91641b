//! SPEC P1, P2: an owner's policy counts from the block that has it on, also for a Golem that runs.

use super::{DAY, DCA, DOLLAR, HOUR, Home, SALT, ticks};
use alloy::{
    primitives::{U256, keccak256},
    sol_types::SolCall as _,
};
use anyhow::{Result, bail, ensure};
use bardo_bindings::{PolicyCage, policy_cage};
use bardo_testkit::dollars;
use golem_custody::{Denial, DenialCode};
use golem_runtime::{Outcome, Ticked};
use golem_safety::Policy;

impl Home {
    pub(super) async fn publishes(&self, policy: &Policy) -> Result<()> {
        let policy = PolicyCage::Policy {
            constitutionHash: policy.constitution_hash,
            concentrationBps: policy.concentration_bps,
            drawdownBps: policy.drawdown_bps,
            spendPerTransaction: policy.spend_per_transaction,
            spendPerSession: policy.spend_per_session,
            spendPerDay: policy.spend_per_day,
            assets: policy.assets.clone(),
        };
        let data = PolicyCage::publishCall { salt: SALT, policy }.abi_encode();
        let owner = self.owner.address();
        let sent = self.stage.send_as(owner, policy_cage(), U256::ZERO, data.into()).await?;
        ensure!(sent.status(), "not published");
        Ok(())
    }

    async fn bought(&self) -> Result<U256> {
        Ok(dollars(2_000) - self.holds(self.stage.book().usdc).await?)
    }
}

fn refusals(ticked: &Ticked) -> Result<&[Denial]> {
    match ticked.deeds.as_slice() {
        [(_, Outcome::Refused(denials))] => Ok(denials),
        other => bail!("{other:?}"),
    }
}

/// P1: what he tightens stops the very next deed, what he loosens lets it go on, and the log says when it was judged by what.
#[tokio::test]
async fn a_policy_that_its_owner_tightened_counts_for_the_very_next_deed() -> Result<()> {
    let home = Home::with(DCA, "- every: 1h\n- fastest: 1h\n- slowest: 1h\n").await?;
    let mut golem = home.wakes().await?;
    let first = ticks(&mut golem).await?;
    assert_eq!(first.deeds[0].1, Outcome::Done);
    let tight =
        Policy { spend_per_transaction: 49 * DOLLAR, spend_per_day: 49 * DOLLAR, ..home.policy() };

    home.publishes(&tight).await?;
    home.later(DAY).await?;
    let next = ticks(&mut golem).await?;

    let codes: Vec<_> = refusals(&next)?.iter().map(|denial| denial.code).collect();
    ensure!(codes.contains(&DenialCode::PolicySpendDay), "{codes:?}");
    assert_eq!(home.bought().await?, dollars(50));
    home.publishes(&home.policy()).await?;
    // A refusal excites it, and it trades again when it is calm.
    let mut deeds = Vec::new();
    for _ in 0..48 {
        home.later(HOUR).await?;
        deeds = ticks(&mut golem).await?.deeds;
        if !deeds.is_empty() {
            break;
        }
    }
    ensure!(matches!(deeds.as_slice(), [(_, Outcome::Done)]), "{deeds:?}");
    assert_eq!(home.bought().await?, dollars(100));
    drop(golem);
    assert_eq!(home.told("event.policyFollowed")?, 2);
    Ok(())
}

/// P8: the books count by the newer policy too, from the next tick on.
#[tokio::test]
async fn its_books_count_by_the_policy_that_counts() -> Result<()> {
    let home = Home::with("- goal: none of its own\n", "- every: 1h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let tight = Policy { spend_per_day: 500 * DOLLAR, ..home.policy() };
    home.publishes(&tight).await?;
    for _ in 0..2 {
        home.later(HOUR).await?;
        let _ = ticks(&mut golem).await?;
    }

    let caps = golem.caps();

    assert_eq!((caps.session, caps.day), (100_000 * DOLLAR, 500 * DOLLAR));
    Ok(())
}

/// P1: whoever was started with another constitution than the one that counts does nothing, and says why.
#[tokio::test]
async fn another_constitution_stops_all_deeds_until_it_is_started_with_that_one() -> Result<()> {
    let home = Home::with(DCA, "- every: 1h\n- fastest: 1h\n- slowest: 1h\n").await?;
    let mut golem = home.wakes().await?;
    let _bought = ticks(&mut golem).await?;
    let other = Policy { constitution_hash: keccak256("Do as you like.\n"), ..home.policy() };

    home.publishes(&other).await?;
    home.later(DAY).await?;
    let next = ticks(&mut golem).await?;

    let denials = refusals(&next)?;
    assert_eq!(denials[0].code, DenialCode::PolicyConstitution);
    ensure!(denials[0].reason.contains("started again"), "{denials:?}");
    assert_eq!(home.bought().await?, dollars(50));
    Ok(())
}
