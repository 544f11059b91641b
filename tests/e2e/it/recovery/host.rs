//! Rows 2 and 3: everything that the Golem had is gone, while nothing or something was under way.

use super::{CAP, Golem, World};
use crate::books::kept;
use alloy::{
    primitives::U256,
    providers::{Provider as _, ext::AnvilApi as _},
};
use anyhow::{Result, ensure};
use bardo_testkit::{dollars, judged};
use golem_chain::AccountKind;
use golem_custody::DenialCode;
use golem_delegation::Delegation;

impl Golem {
    /// Its host is lost: books and keys are no more. What was granted to it is known to its owner.
    async fn lost(self) -> Result<Delegation> {
        let Self { folder, keys, mandate, store, grant } = self;
        keys.end().await.map_err(|fault| anyhow::anyhow!(fault))?;
        drop((mandate, store));
        folder.close()?;
        Ok(grant)
    }
}

/// K10, "host lost": the money is where it was, one signature and no transaction of the owner's gives a new Golem its work, and
/// from its first deed on whoever has the lost key has nothing.
#[tokio::test]
async fn after_a_lost_host_one_signature_lets_a_new_golem_go_on() -> Result<()> {
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let world = World::open(kind).await?;
        let golem = Golem::hosted(&world).await?;
        golem.sells(&world, 400).await?;
        let (held, before) = (world.usdc().await?, world.sent_by_owner().await?);

        let lost = golem.lost().await?;
        assert_eq!(world.usdc().await?, held, "{kind:?}: the money was never there");
        let golem = Golem::after(&world, &lost).await?;
        golem.sells(&world, 100).await?;

        assert_eq!(world.sent_by_owner().await?, before, "{kind:?}: one signature");
        world.is_dead(&lost, DenialCode::Superseded).await?;
        // D4: what the lost one spent counts for the new one.
        golem.is_refused(&world, CAP - 500 + 1, DenialCode::Spend).await?;
        golem.sells(&world, CAP - 500 - 1).await?;
        assert_eq!(world.sold().await?, dollars(CAP - 1));
    }
    Ok(())
}

/// K10, "host lost", where somebody found the key before the owner signed again (D4): the two share one window, and together they
/// have what one had.
#[tokio::test]
async fn whoever_finds_a_lost_key_has_no_more_than_the_window_had_left() -> Result<()> {
    let world = World::open(AccountKind::Hybrid).await?;
    let golem = Golem::hosted(&world).await?;
    golem.sells(&world, 400).await?;
    let lost = golem.lost().await?;

    let golem = Golem::after(&world, &lost).await?;
    ensure!(!world.forced(&lost, CAP - 400 + 1).await?, "more than was left");
    ensure!(world.forced(&lost, 300).await?, "until the new one acts the lost one may");
    golem.is_refused(&world, CAP - 700 + 1, DenialCode::Spend).await?;
    golem.sells(&world, 100).await?;
    world.is_dead(&lost, DenialCode::Superseded).await?;
    golem.is_refused(&world, CAP - 800 + 1, DenialCode::Spend).await?;
    golem.sells(&world, CAP - 800 - 1).await?;

    // A day for both of them, and not one for each.
    assert_eq!(world.sold().await?, dollars(CAP - 1));
    Ok(())
}

/// What becomes of a transaction whose sender is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is mined before anything else.
    Lands,
    /// Nobody keeps it.
    Vanishes,
    /// It is mined after the new Golem's first.
    LandsLate,
}

/// K10, "lost mid-transaction": nobody knows any more what was sent, and nobody needs to: the chain counts it or it does not, and
/// the new Golem has what is left.
#[tokio::test]
async fn whatever_becomes_of_a_transaction_of_a_lost_host_the_window_is_one() -> Result<()> {
    for (fate, counted) in [(Fate::Lands, 400), (Fate::Vanishes, 0), (Fate::LandsLate, 0)] {
        let world = World::open(AccountKind::Stateless7702).await?;
        let provider = world.stage.node().provider();
        let golem = Golem::hosted(&world).await?;
        let sale = judged(world.sale(&golem.grant, 400)?);
        let bytes = kept(&world.stage, &golem.keys, &golem.mandate, sale).await?;
        provider.anvil_set_auto_mine(false).await?;
        let hash = *provider.send_raw_transaction(&bytes).await?.tx_hash();
        let lost = golem.lost().await?;
        assert_eq!(world.sold().await?, U256::ZERO, "{fate:?}: it is pending");

        match fate {
            Fate::Lands => provider.anvil_mine(Some(1), None).await?,
            Fate::Vanishes | Fate::LandsLate => {
                provider.anvil_drop_transaction(hash).await?;
            }
        }
        provider.anvil_set_auto_mine(true).await?;
        assert_eq!(world.sold().await?, dollars(counted), "{fate:?}");
        let golem = Golem::after(&world, &lost).await?;
        golem.is_refused(&world, CAP - counted + 1, DenialCode::Spend).await?;
        golem.sells(&world, 100).await?;
        if fate == Fate::LandsLate {
            // Somebody kept it: it finds its block, and a grant that is dead.
            let late = provider.send_raw_transaction(&bytes).await?.get_receipt().await?;
            ensure!(!late.status(), "{fate:?}: it took effect");
        }

        assert_eq!(world.sold().await?, dollars(counted + 100), "{fate:?}");
        golem.is_refused(&world, CAP - counted - 100 + 1, DenialCode::Spend).await?;
        golem.sells(&world, CAP - counted - 100 - 1).await?;
        assert_eq!(world.sold().await?, dollars(CAP - 1), "{fate:?}");
        world.is_dead(&lost, DenialCode::Superseded).await?;
    }
    Ok(())
}
