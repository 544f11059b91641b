//! SPEC K4, L6: what is promised to be told is told, by lives that are lived here, and not by a list of names alone.

use super::{DAY, DCA, DOLLAR, Home, awake, ticks};
use alloy::primitives::U256;
use anyhow::{Context as _, Result, ensure};
use bardo_store::Archive;
use bardo_testkit::STIPEND;
use golem_chain::{Writing, environment};
use golem_custody::{Books as _, Caps, Ending, Entry, IntentId, Keyring as _};
use golem_delegation::grant::Grant;
use golem_runtime::{DeathTrigger, FolderInbox, Glance, Passing, Provisions, Told};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc};

/// Written out by hand: SessionKeyEvent and the custody events of SPEC K4, and the events of L6.
const PROMISED: [&str; 16] = [
    "sessionKeyGenerated",
    "delegationGranted",
    "operationSigned",
    "rotationTriggered",
    "sessionKeyRevoked",
    "budgetWarning",
    "custodyModeSelected",
    "custodyModeFixed",
    "sessionKeyRotated",
    "delegationRevoked",
    "delegationExpiringWarning",
    "deathProtocolStarted",
    "positionsUnwound",
    "deathCompleted",
    "GOLEM_TERMINAL",
    "PERMISSION_REVOKED",
];

/// How often each kind was told.
fn kinds(home: &Home) -> Result<BTreeMap<&'static str, usize>> {
    let mut kinds = BTreeMap::new();
    for record in home.log()? {
        *kinds.entry(Told::of(&record).event.kind().name).or_default() += 1;
    }
    Ok(kinds)
}

/// What its key had spent before this day, as the books have it.
async fn has_spent(home: &Home, dollars: u64) -> Result<()> {
    let (store, intent) = (home.store()?, IntentId([7; 32].into()));
    let entry = Entry {
        intent,
        golem: home.id,
        owner: home.owner.address(),
        session: home.keys.current().await.context("no key")?,
        micro_dollars: dollars * DOLLAR,
        at: home.now(),
        what: json!({ "do": "what it did before" }),
    };
    let caps = Caps { session: u64::MAX, day: u64::MAX, owner_day: None };
    ensure!(store.reserve(&entry, &caps).await.is_ok(), "not taken");
    let done = Ending::Done { hash: [7; 32].into(), block: 1 };
    store.settle(intent, &done, home.now()).await.map_err(|fault| anyhow::anyhow!(fault))?;
    Ok(())
}

/// One life: born, traded, nearly out of money, replaced its key, nearly out of time, and died.
#[tokio::test]
async fn every_event_that_was_promised_is_told_in_a_life() -> Result<()> {
    // Six thousand dollars in sixty days.
    let home = Home::under(DCA, "- every: 6h\n", |law| law.spend_cap = 100 * DOLLAR).await?;
    has_spent(&home, 5_500).await?;
    let inbox = Arc::new(FolderInbox::of(home.path()));
    let mut golem = awake(Provisions { inbox: Some(inbox.clone()), ..home.provisions()? }).await?;
    let first = home.keys.current().await;
    let _ = ticks(&mut golem).await?;
    let told = kinds(&home)?;
    assert_eq!(told.get("budgetWarning"), Some(&1), "{told:?}");
    ensure!(!told.contains_key("delegationExpiringWarning"), "{told:?}");
    // Its money being nearly spent, it asked for another key.
    let asked = Glance::of(&Archive::open(&home.books())?, home.now())?;
    let wanted = asked.asks().context("it asks for nothing")?.clone();
    let agent_key = wanted.delegate;
    home.stage.fund(agent_key, STIPEND, U256::ZERO).await?;
    home.writes(&Writing::Attach { golem: home.id, agent_key }).await?;
    inbox.put(&home.owner.grant(&home.stage.domain(), wanted)?, home.now())?;
    let _ = ticks(&mut golem).await?;
    ensure!(home.keys.current().await != first, "its key is the old one");
    // Six days and a little before the end of its grant, and then hours.
    let end = Grant::read(golem.grant(), &environment())?.charter().window.end();
    home.later(end - home.now() - 6 * DAY).await?;
    for _ in 0..2 {
        let _ = ticks(&mut golem).await?;
    }
    assert_eq!(kinds(&home)?.get("delegationExpiringWarning"), Some(&1), "once");
    home.later(end - home.now() - DAY / 2).await?;
    let _ = ticks(&mut golem).await?;
    assert_eq!(kinds(&home)?.get("delegationExpiringWarning"), Some(&2), "and once more");

    let passing = golem.dies(DeathTrigger::Exhaustion).await?;

    ensure!(matches!(passing, Passing::Dead(_)), "{passing:?}");
    drop(golem);
    let told = kinds(&home)?;
    for name in PROMISED {
        ensure!(told.contains_key(name), "{name} was promised, and never told: {told:?}");
    }
    // A key for each birth and a wiping for each end: the first, and the one that followed.
    assert_eq!((told["sessionKeyGenerated"], told["sessionKeyRevoked"]), (2, 2), "{told:?}");
    assert_eq!((told["budgetWarning"], told["delegationRevoked"]), (1, 1), "{told:?}");
    Ok(())
}
