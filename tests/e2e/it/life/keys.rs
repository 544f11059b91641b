//! SPEC K3: a key that signed often enough, or has little of its grant left, asks for the next one; and no other does.

use super::{DOLLAR, HOUR, Home, ticks};
use alloy::primitives::{B256, U256};
use anyhow::{Context as _, Result, anyhow};
use bardo_store::Store;
use golem_custody::{
    Bid, Books as _, Caps, Ending, Entry, IntentId, Reserving, RotationPolicy, Route, Steps as _,
};
use golem_delegation::terms::GolemCharter;
use golem_runtime::Golem;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinSet;

const QUIET: &str = "- goal: none of its own\n";
const HOURLY: &str = "- every: 1h\n- fastest: 1h\n- slowest: 1h\n";
const NO_CAPS: Caps = Caps { session: u64::MAX >> 1, day: u64::MAX >> 1, owner_day: None };

impl Home {
    /// A deed of another day that its key has behind it: so many micro-dollars, signed for as often.
    async fn did(
        &self,
        golem: &Golem,
        store: &Arc<Store>,
        (number, micro_dollars, times): (u8, u64, u64),
    ) -> Result<()> {
        let (intent, at) = (IntentId(B256::repeat_byte(number)), self.now());
        let session = golem.grant().delegate;
        let (golem, owner, what) = (self.id, self.owner.address(), Value::Null);
        let entry = Entry { intent, golem, owner, session, micro_dollars, at, what };
        let made = store.reserve(&entry, &NO_CAPS).await.map_err(|fault| anyhow!(fault))?;
        assert_eq!(made, Reserving::Made);
        let bids: Vec<_> = (0..times)
            .map(|time| Bid {
                route: Route::Transaction,
                hash: B256::from(U256::from(time) + (U256::from(number) << 128)),
                place: U256::ZERO,
                since: 0,
                bytes: vec![2].into(),
            })
            .collect();
        let mut kept = JoinSet::new();
        for bid in bids {
            let store = Arc::clone(store);
            kept.spawn(async move { store.signed(intent, &bid, at).await });
        }
        for one in kept.join_all().await {
            one.map_err(|fault| anyhow!(fault))?;
        }
        let done = Ending::Done { hash: B256::ZERO, block: 1 };
        store.settle(intent, &done, at).await.map_err(|fault| anyhow!(fault))
    }

    async fn an_hour_later(&self, golem: &mut Golem) -> Result<()> {
        self.later(HOUR).await?;
        let _ = ticks(golem).await?;
        Ok(())
    }
}

/// Why its owner is asked for a next key.
async fn asked(store: &Store) -> Result<Option<String>> {
    let step = store.load("rotation").await.map_err(|fault| anyhow!(fault))?;
    Ok(step.and_then(|step| Some(step.value.get("reason")?.as_str()?.to_owned())))
}

/// Ticks are no signatures: a Golem that looked on ten thousand times has a fresh key, and one that signed so often has not.
#[tokio::test]
async fn a_key_is_due_by_what_it_signed_and_not_by_how_often_it_ticked() -> Result<()> {
    let home = Home::with(QUIET, HOURLY).await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    drop(golem);
    let provisions = home.provisions()?;
    let store = provisions.store.clone();
    let life = store.load("life").await.map_err(|fault| anyhow!(fault))?;
    let mut life = life.context("it never ticked")?;
    life.value["ticks"] = json!(20_000);
    let kept = store.advance("life", life.version, &life.value, home.now()).await;
    kept.map_err(|fault| anyhow!(fault))?;
    let mut golem = super::awake(provisions).await?;
    home.an_hour_later(&mut golem).await?;
    assert_eq!(asked(&store).await?, None, "it ticked, and signed little");
    let key = golem.grant().delegate;
    let most = RotationPolicy::default().operations;
    let so_far = store.signatures(key, 0).await?;
    home.did(&golem, &store, (1, 0, most - so_far - 1)).await?;
    home.an_hour_later(&mut golem).await?;
    assert_eq!(asked(&store).await?, None, "one is left");

    let so_far = store.signatures(key, 0).await?;
    home.did(&golem, &store, (2, 0, most.saturating_sub(so_far))).await?;
    home.an_hour_later(&mut golem).await?;

    assert_eq!(asked(&store).await?.as_deref(), Some("operations"));
    Ok(())
}

/// A grant whose period is an hour is twenty-four times what it is by the day: a tenth of that is left, and not before.
#[tokio::test]
async fn a_key_is_due_when_a_tenth_of_its_whole_grant_is_left() -> Result<()> {
    let hours = |law: &mut GolemCharter| {
        (law.bucket_minutes, law.spend_cap) = (5, 60 * DOLLAR);
    };
    let home = Home::under(QUIET, HOURLY, hours).await?;
    let provisions = home.provisions()?;
    let store = provisions.store.clone();
    let mut golem = super::awake(provisions).await?;
    let _ = ticks(&mut golem).await?;
    // Sixty dollars an hour for sixty days.
    let whole = 60 * 24 * 60 * DOLLAR;

    home.did(&golem, &store, (1, whole / 10 * 9 - DOLLAR, 1)).await?;
    home.an_hour_later(&mut golem).await?;

    assert_eq!(asked(&store).await?, None, "more than a tenth is left");
    home.did(&golem, &store, (2, DOLLAR, 1)).await?;
    home.an_hour_later(&mut golem).await?;
    assert_eq!(asked(&store).await?.as_deref(), Some("budget"));
    Ok(())
}
