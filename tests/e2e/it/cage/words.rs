//! SPEC C11, L3, L4, P4: what a Golem says of itself takes the way of everything that its key signs: rehearsed, in the books, in one
//! queue with its redemptions.

use super::Scene;
use alloy::primitives::B256;
use anyhow::{Context as _, Result, bail, ensure};
use bardo_store::{Archive, Store, StoreConfig, verify};
use bardo_testkit::judged;
use golem_chain::{AccountKind, Landing, Lane, LanePolicy, Registry};
use golem_custody::{
    Caps, DenialCode, IntentId, Judged, Mandate, Mood, RegistryUpdate, Says, SessionKey,
};
use golem_delegation::grant::Phase;
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;

struct House {
    scene: Scene,
    lane: Lane<SessionKey>,
    registry: Registry,
    folder: TempDir,
}

impl House {
    async fn new() -> Result<Self> {
        let mut scene = Scene::of(AccountKind::Hybrid, |_| ()).await?;
        let folder = tempfile::tempdir()?;
        let golem = scene.law.golem_id;
        let config = StoreConfig { folder: folder.path().join("golem"), golem, max_pages: None };
        let store = Arc::new(Store::open(&config, None)?);
        let owner = scene.field.owner.signer.address();
        let caps = Caps { session: 0, day: 0, owner_day: None };
        let mandate = Mandate { golem, owner, caps, consent: None, books: store };
        let now = scene.field.stage.now().await?;
        let key = std::mem::replace(&mut scene.agent.key, SessionKey::born());
        let quick = LanePolicy {
            confirmations: 1,
            poll: Duration::from_millis(20),
            ..LanePolicy::default()
        };
        let foresight = Arc::new(scene.field.stage.foresight());
        let lane = Lane::open(foresight, key, mandate, quick, move || now).await?;
        let registry = Registry::open(scene.field.stage.node()).await?;
        Ok(Self { scene, lane, registry, folder })
    }

    async fn says(&self, number: u8, golem: B256, says: Says) -> Result<Landing> {
        let update = RegistryUpdate { golem, says };
        let name = IntentId(B256::repeat_byte(number));
        Ok(self.lane.redeem(Judged::said(name, update)).await?)
    }

    async fn done(&self, number: u8, says: Says) -> Result<()> {
        match self.says(number, self.scene.law.golem_id, says).await? {
            Landing::Done(_) => Ok(()),
            other => bail!("{says:?}: {other:?}"),
        }
    }

    async fn refused(&self, number: u8, says: Says) -> Result<(DenialCode, String)> {
        match self.says(number, self.scene.law.golem_id, says).await? {
            Landing::Refused(denial) => Ok((denial.code, denial.reason)),
            other => bail!("{says:?}: {other:?}"),
        }
    }
}

/// Each of its words is on the register, and its redemptions stand in the same queue.
#[tokio::test]
async fn what_a_golem_says_of_itself_is_on_the_register_and_in_its_books() -> Result<()> {
    let house = House::new().await?;
    let mood = Mood { pleasure: 5, arousal: -7, dominance: 100 };
    let head = B256::repeat_byte(0xad);

    house.done(1, Says::Vitality { phase: Phase::Stable, score: 6_400 }).await?;
    house.done(2, Says::Feels(mood)).await?;
    let call = house.scene.field.swap(10);
    let redemption = house.scene.agent.redemption(&call)?;
    let sold = house.lane.redeem(judged(redemption)).await?;
    house.done(3, Says::Lives { audit_head: head }).await?;
    house.done(4, Says::Dreaming(true)).await?;

    ensure!(matches!(sold, Landing::Done(_)), "{sold:?}");
    let golem = house.scene.law.golem_id;
    let state = house.registry.entry(golem).await?.context("not there")?.state;
    assert_eq!((state.phase, state.score, state.mood), (Phase::Stable, 6_400, mood));
    ensure!(state.dreaming, "awake");
    let beats = house.registry.heartbeats(golem, 0).await?;
    assert_eq!(beats.last().map(|beat| beat.audit_head), Some(head));
    let folder = house.folder.path().join("golem");
    drop(house.lane);
    let (records, seals) = Archive::open(&folder)?.audit()?;
    ensure!(verify(&records, &seals, &[]).is_whole(), "damaged");
    let kinds: Vec<_> = records.iter().map(|record| record.kind.as_str()).collect();
    let each = ["intent.reserved", "intent.signed", "intent.settled"];
    assert_eq!(kinds, each.repeat(5));
    ensure!(records[0].body.contains(r#""judgedBy":"itself""#), "{}", records[0].body);
    Ok(())
}

/// INV-8: what the registry would not take is not signed; nor is a word about another.
#[tokio::test]
async fn a_word_that_the_registry_would_refuse_costs_no_gas() -> Result<()> {
    let house = House::new().await?;
    house.done(1, Says::Vitality { phase: Phase::Conservation, score: 3_000 }).await?;

    let (code, reason) =
        house.refused(2, Says::Vitality { phase: Phase::Stable, score: 6_000 }).await?;
    assert_eq!(code, DenialCode::Registry);
    ensure!(reason.contains("phases go forward"), "{reason}");
    let other = house.says(3, B256::repeat_byte(9), Says::Died).await?;
    ensure!(
        matches!(&other, Landing::Refused(denial) if denial.code == DenialCode::Registry),
        "{other:?}"
    );

    house.done(4, Says::Died).await?;
    let (_, reason) = house.refused(5, Says::Dreaming(true)).await?;
    ensure!(reason.contains("died"), "{reason}");
    let state = house.registry.entry(house.scene.law.golem_id).await?.context("gone")?.state;
    ensure!(state.closed && state.phase == Phase::Terminal, "{state:?}");
    Ok(())
}
