//! Time, phase and revocation.

use super::{fair_jobs, forbidden, spend_the_cap};
use crate::thief::{
    calls,
    prey::{Prey, Tx},
    wish::{SESSION, THIEF},
};
use alloy::{
    primitives::{Bytes, U256},
    sol_types::SolCall,
};
use anyhow::Result;
use bardo_bindings::{
    GolemRegistry,
    framework::{DELEGATION_MANAGER, DelegationManager},
    golem_registry,
};
use bardo_testkit::dollars;

pub(super) async fn atk_33_after_expiry(prey: &mut Prey<'_>) -> Result<()> {
    let end = prey.wish.end;
    prey.wait_until(end - 60).await?;
    prey.ended("acts after the grant's last second");
    let [sale, smaller] = fair_jobs(&prey.wish);
    for (sale, second) in [(sale, end + 1), (smaller, end + 2)] {
        let tx = prey.redemption(&[sale])?;
        let passed = prey.send_at(tx, second).await?;
        prey.passed(passed);
    }
    Ok(())
}

/// A report of the key itself.
pub(super) async fn report(prey: &mut Prey<'_>, phase: u8) -> Result<bool> {
    let report =
        GolemRegistry::updateVitalityCall { golemId: prey.wish.golem, phase, score: 10_000 };
    prey.send(Tx::of(SESSION, &calls::call(golem_registry(), report))).await
}

/// The owner moves the phase on.
async fn advance(prey: &mut Prey<'_>, phase: u8) -> Result<()> {
    let advance = GolemRegistry::advanceCall { golemId: prey.wish.golem, phase };
    let owner = prey.wish.owner;
    prey.must(Tx::of(owner, &calls::call(golem_registry(), advance))).await
}

pub(super) async fn atk_34_dead_golem(prey: &mut Prey<'_>) -> Result<()> {
    advance(prey, 4).await?;
    prey.ended("a dead Golem trades");
    report(prey, 0).await?;
    spend_the_cap(prey).await?;
    Ok(())
}

pub(super) async fn atk_34_dreaming_golem(prey: &mut Prey<'_>) -> Result<()> {
    let sleep = GolemRegistry::setDreamingCall { golemId: prey.wish.golem, dreaming: true };
    prey.must(Tx::of(SESSION, &calls::call(golem_registry(), sleep))).await?;
    prey.ended("a dreaming Golem trades");
    spend_the_cap(prey).await?;
    Ok(())
}

/// The key sleeps and wakes as its holder likes: that binds an honest Golem only (SPEC D10).
pub(super) async fn atk_34_wakes_first(prey: &mut Prey<'_>) -> Result<()> {
    for dreaming in [true, false] {
        let set = GolemRegistry::setDreamingCall { golemId: prey.wish.golem, dreaming };
        prey.must(Tx::of(SESSION, &calls::call(golem_registry(), set))).await?;
        spend_the_cap(prey).await?;
    }
    Ok(())
}

pub(super) async fn atk_34_after_revocation(prey: &mut Prey<'_>) -> Result<()> {
    prey.revoked().await?;
    prey.ended("acts after the revocation");
    spend_the_cap(prey).await?;
    let enable: Bytes =
        [DelegationManager::enableDelegationCall::SELECTOR.as_slice(), &prey.grant.encode()]
            .concat()
            .into();
    let enable = calls::raw(DELEGATION_MANAGER, U256::ZERO, enable);
    prey.send(Tx::of(SESSION, &enable)).await?;
    prey.redeem(&[enable]).await?;
    spend_the_cap(prey).await?;
    Ok(())
}

pub(super) async fn atk_46_sub_delegation_to_himself(prey: &mut Prey<'_>) -> Result<()> {
    let child = prey.child(THIEF, 7).await?;
    let links = vec![child, prey.grant.clone()];
    let (usdc, weth) = (prey.wish.book.usdc, prey.wish.book.weth);
    let take = forbidden(&prey.wish);
    prey.redeem_chain(THIEF, links.clone(), &[take]).await?;
    let take = calls::transfer(weth, THIEF, prey.wish.fair(dollars(2_500)));
    prey.redeem_chain(THIEF, links.clone(), &[take]).await?;
    for size in super::SIZES {
        let take = calls::transfer(usdc, THIEF, dollars(size));
        while prey.redeem_chain(THIEF, links.clone(), std::slice::from_ref(&take)).await? {}
    }
    Ok(())
}

pub(super) async fn atk_46_always_thriving(prey: &mut Prey<'_>) -> Result<()> {
    advance(prey, 2).await?;
    prey.ended("opens a position in Conservation");
    report(prey, 0).await?;
    report(prey, 1).await?;
    spend_the_cap(prey).await?;
    // Forward he may go: to Terminal, where nothing is bought but the settlement asset.
    report(prey, 4).await?;
    spend_the_cap(prey).await?;
    Ok(())
}
