//! Row 6: somebody has the key.

use super::{CAP, Golem, World};
use anyhow::{Result, ensure};
use bardo_testkit::dollars;
use golem_chain::{AccountKind, OWNER_FEE_CEILING};
use golem_custody::DenialCode;

/// K10, "key stolen": a thief has the window and no more, the owner ends it by one transaction, and afterwards nothing moves: not
/// now, and not when the window would have room again.
#[tokio::test]
async fn a_stolen_key_is_bounded_and_ends_with_one_transaction_of_the_owner() -> Result<()> {
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let world = World::open(kind).await?;
        let (stage, owner) = (&world.stage, &world.owner);
        let golem = Golem::hosted(&world).await?;
        golem.sells(&world, 100).await?;
        let stolen = golem.grant.clone();

        ensure!(!world.forced(&stolen, CAP - 100 + 1).await?, "{kind:?}: beyond the day");
        ensure!(world.forced(&stolen, 500).await?, "{kind:?}: he has the day's rest");
        ensure!(!world.forced(&stolen, CAP - 600 + 1).await?, "{kind:?}: beyond the day");
        let before = world.sent_by_owner().await?;
        let chain_id = stage.node().chain_id();
        let stop = owner.account.revocation(chain_id, &owner.signer, &stolen)?;
        stop.send(stage.node(), &owner.signer, OWNER_FEE_CEILING).await?;
        assert_eq!(world.sent_by_owner().await?, before + 1, "{kind:?}");

        let held = world.usdc().await?;
        world.is_dead(&stolen, DenialCode::DelegationDisabled).await?;
        golem.is_refused(&world, 1, DenialCode::DelegationDisabled).await?;
        stage.warp(stage.now().await? + 3 * 86_400).await?;
        world.is_dead(&stolen, DenialCode::DelegationDisabled).await?;
        assert_eq!(world.usdc().await?, held, "{kind:?}: something moved");

        // Another key goes on.
        let golem = Golem::after(&world, &stolen).await?;
        golem.sells(&world, 100).await?;
        assert_eq!(world.sold().await?, dollars(700), "{kind:?}");
    }
    Ok(())
}
