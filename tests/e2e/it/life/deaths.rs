//! SPEC K11, K8, D13, D18, INV-9: a death that was accepted comes to its end, however it is interrupted, and its owner has what was his.

use super::{DAY, DCA, DOLLAR, HOUR, Home, awake, costs::runway, documents, provisions, ticks};
use alloy::primitives::{Bytes, U256};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_store::{Archive, Store, StoreConfig};
use bardo_testkit::dollars;
use golem_chain::{Node, Writing, environment};
use golem_custody::{
    DeathSettlement, DenialCode, Keyring as _, Keys, OwnerSigner, Password, Runways, Steps as _,
};
use golem_delegation::{
    PermissionContext,
    grant::{Grant, Phase},
};
use golem_runtime::{
    Clock, DeathTrigger, Dying, Ending, FolderInbox, Glance, Golem, GolemEvent, Passing,
    Provisions, Pulse, Told,
};
use serde_json::{Value, json};

use std::{
    env, fs,
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{process::Command, sync::Notify, time::sleep};

/// All that the owner has, in dollars by the feeds and a little less: vault, purse and wrapped ether.
async fn fortune(home: &Home) -> Result<u64> {
    let (book, price) = (home.stage.book(), home.ether_price().await?);
    let mut micro = U256::ZERO;
    for who in [home.vault.address, home.owner.address()] {
        micro += home.stage.balance_of(book.usdc, who).await?;
        let weth = home.stage.balance_of(book.weth, who).await?;
        micro += weth * U256::from(price) / U256::from(10).pow(U256::from(20));
    }
    Ok(u64::try_from(micro)? / DOLLAR)
}

/// A Golem that bought a little, and now has no more life than a day.
async fn old(home: &Home, provisions: Provisions) -> Result<golem_runtime::Golem> {
    let mut golem = awake(provisions).await?;
    for _ in 0..2 {
        let _ = ticks(&mut golem).await?;
        home.later(DAY).await?;
    }
    Ok(golem)
}

/// The whole way: its last phase on the register, all of it home, no allowance, no key, no grant that does anything.
#[tokio::test]
async fn a_golem_dies_and_its_owner_has_everything() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let folder = Some(home.path().to_owned());
    let mut golem = old(&home, Provisions { folder, ..home.provisions()? }).await?;
    let before = fortune(&home).await?;
    ensure!(!home.holds(home.stage.book().weth).await?.is_zero(), "it bought nothing");

    let passing = golem.dies(DeathTrigger::Age).await?;

    let Passing::Dead(death) = passing else { bail!("{passing:?}") };
    ensure!(death.positions_deferred().is_empty(), "{death:?}");
    ensure!(matches!(death, DeathSettlement::DelegationExpiry { .. }), "{death:?}");
    let after = fortune(&home).await?;
    ensure!(after * 100 >= before * 99, "{before} before, {after} after");
    let state = home.entry().await?.state;
    ensure!(state.closed && state.phase == Phase::Terminal, "{state:?}");
    ensure!(home.keys.current().await.is_none(), "the key is there");
    let denied = home.judged(&golem, 1).await?;
    assert_eq!(denied, Some(DenialCode::NotAlive));
    // Its last word, and all of it for its owner alone.
    let told = fs::read_to_string(home.path().join("legacy/TESTAMENT.md"))?;
    ensure!(told.contains(&home.id.to_string()), "{told}");
    let sealed = fs::read(golem_runtime::bequest_path(home.path(), home.id))?;
    let left = golem_runtime::read_bundle(&home.owner.open_bequest(home.id, &sealed)?)?;
    assert_eq!((left.settlement, left.testament.ticks), (death.clone(), 2));
    ensure!(left.verification.is_whole() && left.testament.deeds.done >= 2, "{:?}", left.testament);
    ensure!(OwnerSigner::born().open_bequest(home.id, &sealed).is_err(), "anybody opens it");
    // It cannot be undone, and not be done twice.
    assert_eq!(golem.dies(DeathTrigger::Exhaustion).await?, Passing::Dead(death));
    let fed = home.writes(&Writing::Feed { golem: home.id, phase: Phase::Stable }).await;
    ensure!(fed.is_err(), "a dead Golem was fed");
    drop(golem);
    for once in ["deathProtocolStarted", "GOLEM_TERMINAL", "PERMISSION_REVOKED", "deathCompleted"] {
        let told = home.log()?.iter().filter(|record| record.body.contains(once)).count();
        assert_eq!(told, 1, "{once}");
    }
    Ok(())
}

/// D18: a life that ends by its clocks ends in its tick, and says of what.
#[tokio::test]
async fn a_life_at_its_end_says_what_it_dies_of() -> Result<()> {
    let home = Home::under(DCA, "- every: 6h\n", |law| {
        let start = law.window.start();
        law.window =
            golem_delegation::terms::MortalityTimeWindow::new(start, start + 3 * DAY).unwrap();
    })
    .await?;
    let mut golem = home.wakes().await?;
    let ticked = ticks(&mut golem).await?;
    ensure!(ticked.dies_of.is_none(), "{ticked:?}");
    home.later(2 * DAY + 20 * HOUR).await?;

    let ticked = ticks(&mut golem).await?;

    assert_eq!((ticked.phase, ticked.dies_of), (Phase::Terminal, Some(DeathTrigger::Expiry)));
    ensure!(ticked.deeds.is_empty(), "a dying Golem buys: {ticked:?}");
    let passing = golem.dies(DeathTrigger::Expiry).await?;
    ensure!(
        matches!(passing, Passing::Dead(DeathSettlement::DelegationExpiry { .. })),
        "no time is no poverty: {passing:?}"
    );
    Ok(())
}

/// D21: without its key nothing can be settled, and it waits for its owner, whose money was his all the time.
#[tokio::test]
async fn a_death_without_a_key_waits_and_harms_nobody() -> Result<()> {
    let mut home = Home::with(DCA, "- every: 6h\n").await?;
    let golem = old(&home, home.provisions()?).await?;
    drop(golem);
    home.keys = Keys::hosted();
    let mut golem = home.wakes().await?;
    let passing = golem.dies(DeathTrigger::OwnerKillSwitch).await?;
    ensure!(matches!(passing, Passing::Waits(_)), "{passing:?}");
    let dying = golem.dying().await?.context("it lives")?;
    ensure!(matches!(dying, Dying::Accepted { .. }), "{dying:?}");
    Ok(())
}

/// A Golem whose death waits for gas money.
async fn penniless(home: &Home, golem: &mut Golem) -> Result<()> {
    let key = home.keys.current().await.context("no key")?;
    home.stage.fund(key, U256::ZERO, U256::ZERO).await?;
    let passing = golem.dies(DeathTrigger::Exhaustion).await?;
    let Passing::Waits(denial) = passing else { bail!("{passing:?}") };
    ensure!(denial.code == DenialCode::NoGas, "it says what it waits for: {denial}");
    Ok(())
}

/// The same, once somebody gave it some.
async fn ends(home: &Home, golem: &mut Golem) -> Result<()> {
    let key = home.keys.current().await.context("no key")?;
    home.stage.fund(key, bardo_testkit::STIPEND, U256::ZERO).await?;
    let passing = golem.dies(DeathTrigger::Exhaustion).await?;
    ensure!(matches!(passing, Passing::Dead(_)), "{passing:?}");
    ensure!(home.entry().await?.state.closed, "it lives on the register");
    Ok(())
}

/// D13: Feed is taken until Acceptance is written. After that it is answered with words, and nothing goes by it.
#[tokio::test]
async fn a_feed_that_comes_while_it_dies_is_answered_and_not_lived_by() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let inbox = Arc::new(FolderInbox::of(home.path()));
    let mut golem =
        old(&home, Provisions { inbox: Some(inbox.clone()), ..home.provisions()? }).await?;
    penniless(&home, &mut golem).await?;
    let before = golem.grant().clone();
    let longer = Grant::read(&before, &environment())?.feed(home.now() + 90 * DAY)?.delegation;
    let letter = inbox.put(&home.owner.grant(&home.stage.domain(), longer)?, home.now())?;
    let done = home.path().join("inbox/done").join(letter.file_name().context("no name")?);
    let answered = async {
        while !done.is_file() {
            sleep(Duration::from_millis(20)).await;
        }
    };

    let clock = Clock::of(home.stage.node(), || 0).await?;
    let ending = golem.live(&clock, answered, |_| ()).await;

    assert_eq!(ending, Ending::Stopped);
    let said: Value = serde_json::from_str(&fs::read_to_string(done)?)?;
    let words = said["answer"].as_str().context("no answer")?;
    ensure!(words.contains("takes no Feed"), "{words}");
    assert_eq!(golem.grant(), &before);
    ends(&home, &mut golem).await
}

/// INV-4, INV-9: what stands where a death is kept and is none that is known may be one. It is a fault, and the Golem does not tick.
#[tokio::test]
async fn a_death_that_cannot_be_read_is_a_fault_and_no_life() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let store = home.store()?;
    store.advance("thanatopsis", 0, &json!({ "phase": "later" }), home.now()).await.unwrap();
    drop(store);
    let mut golem = home.wakes().await?;
    let clock = Clock::of(home.stage.node(), || 0).await?;
    let (known, mut ticked) = (Notify::new(), 0);

    let ending = golem
        .live(&clock, known.notified(), |pulse| match pulse {
            Pulse::NotSettled { .. } => known.notify_one(),
            Pulse::Ticked(_) | Pulse::Faulted { .. } => {
                ticked += 1;
                known.notify_one();
            }
            _ => {}
        })
        .await;

    assert_eq!((ending, ticked, golem.life().ticks), (Ending::Stopped, 0, 0));
    Ok(())
}

/// D18, D19: the runway is given up with Acceptance, the trading grant after Settlement; and its owner is told what is his to end.
#[tokio::test]
async fn the_runway_is_given_up_first_and_its_owner_told_what_is_his_to_end() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let store = home.store()?;
    let kept = runway(&home, home.stage.book().usdc).await?;
    Runways::new(store.as_ref()).keep(&kept, home.now()).await?;
    drop(store);
    let folder = Some(home.path().to_owned());
    let mut golem = old(&home, Provisions { folder, ..home.provisions()? }).await?;
    let (own, trading) = (kept.grant().context("no grant")?.0, golem.grant().hash().0);
    let revoked = || -> Result<Vec<_>> {
        let told = home.log()?.into_iter().map(|record| Told::of(&record));
        Ok(told
            .filter_map(|told| match told.event {
                GolemEvent::PermissionRevoked { permission_id, .. } => {
                    Some((told.sequence, permission_id))
                }
                _ => None,
            })
            .collect())
    };

    penniless(&home, &mut golem).await?;

    let ids = |ids: &[(u64, _)]| ids.iter().map(|(_, id)| *id).collect::<Vec<_>>();
    assert_eq!(ids(&revoked()?), [Some(own)], "only what it gave up");
    let terminal = home.log()?.iter().find_map(|record| match Told::of(record).event {
        GolemEvent::GolemTerminal { permission_ids, .. } => Some(permission_ids),
        _ => None,
    });
    assert_eq!(terminal, Some(vec![own, trading]));
    let archive = Archive::open(&home.books())?;
    assert_eq!(Glance::of(&archive, home.now())?.given_up.as_ref(), Some(&kept));
    let context = fs::read_to_string(home.path().join("legacy/runway.context"))?;
    let context = PermissionContext::decode(&context.trim().parse::<Bytes>()?)?;
    assert_eq!(context.leaf().hash().0, own);

    ends(&home, &mut golem).await?;

    let all = revoked()?;
    assert_eq!(ids(&all), [Some(own), Some(trading)]);
    let settled = home.log()?.iter().map(Told::of).find_map(|told| {
        matches!(told.event, GolemEvent::EstateSettled { .. }).then_some(told.sequence)
    });
    ensure!(settled.is_some_and(|settled| all[0].0 < settled && settled < all[1].0), "{all:?}");
    let last = fs::read_to_string(home.path().join("legacy/TESTAMENT.md"))?;
    for words in [own.to_string().as_str(), "bardo delegation revoke --context"] {
        ensure!(last.contains(words), "{words}: {last}");
    }
    Ok(())
}

const STEPS: [&str; 16] = [
    "thanatopsis.accepted",
    // Of the first thing that it signs: that the registry is told of its last phase.
    "intent.reserved",
    "intent.sealed",
    "intent.kept",
    "intent.ending",
    "intent.ended",
    "settlement.accepted",
    "settlement.closed",
    "settlement.returned",
    // The registry knows, and then the key is wiped: what is left takes none.
    "settlement.deregistering",
    "settlement.deregistered",
    "settlement.settling",
    "settlement.settled",
    "thanatopsis.settled",
    "thanatopsis.reflected",
    "thanatopsis.left",
];

fn password() -> Result<Password> {
    Password::typed("a death".to_owned().into()).context("a password")
}

/// A process that dies, and is killed on the way. By itself it does nothing.
#[tokio::test]
async fn victim() -> Result<()> {
    let Ok(folder) = env::var("BARDO_DYING") else { return Ok(()) };
    let folder = PathBuf::from(folder);
    let node = Node::connect(&env::var("BARDO_DYING_URL")?.parse()?).await?;
    let golem = env::var("BARDO_DYING_GOLEM")?.parse()?;
    let config = StoreConfig { folder: folder.join("books"), golem, max_pages: None };
    let store = Arc::new(Store::open(&config, None)?);
    let keys = Keys::of_the_dying(&folder, password()?)?;
    let now = Arc::new(AtomicU64::new(env::var("BARDO_DYING_NOW")?.parse()?));
    let written = documents(DCA, "- every: 6h\n");
    let provisions = provisions(node, store, keys, written, now);
    let mut golem = awake(Provisions { folder: Some(folder), ..provisions }).await?;
    let _ = golem.dies(DeathTrigger::Age).await?;
    Ok(())
}

/// INV-9: killed at each step, the next process goes on, and at the end all is as after one that nobody killed.
#[tokio::test]
async fn killed_in_any_phase_a_death_goes_on_where_it_was() -> Result<()> {
    for step in STEPS {
        let local = |folder: &Path| Ok(Keys::local(folder, password()?)?);
        let home = Home::keeping(local, DCA, "- every: 6h\n", |_| ()).await?;
        let folder = home.path().to_owned();
        let golem = old(&home, home.provisions()?).await?;
        drop(golem);
        let before = fortune(&home).await?;
        let process = |at: Option<&str>| {
            let mut process = Command::new(env::current_exe()?);
            process
                .args(["--exact", "life::deaths::victim", "--nocapture"])
                .env("BARDO_DYING", &folder)
                .env("BARDO_DYING_GOLEM", home.id.to_string())
                .env("BARDO_DYING_URL", home.stage.chain().url().as_str())
                .env("BARDO_DYING_NOW", home.now.load(Ordering::Relaxed).to_string())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .kill_on_drop(true);
            if let Some(at) = at {
                process.env("BARDO_CRASH_AT", at);
            }
            anyhow::Ok(process)
        };

        let killed = process(Some(step))?.status().await?;
        assert_eq!(killed.signal(), Some(9), "{step}: {killed}");
        // As with a key in no file: it went with its process, and what the registry's last word leaves to do takes none.
        if step == "settlement.deregistering" {
            fs::remove_file(folder.join("session-key.json"))?;
        }
        let finished = process(None)?.status().await?;

        ensure!(finished.success(), "{step}: {finished}");
        // One that waits for ever ends well too.
        let archive = Archive::open(&home.books())?;
        let glance = Glance::of(&archive, home.now())?;
        ensure!(glance.is_dead(), "{step}: {:?}", glance.dying);
        let after = fortune(&home).await?;
        ensure!(after * 100 >= before * 99, "{step}: {before} before, {after} after");
        ensure!(home.entry().await?.state.closed, "{step}: it lives on the register");
        let log = home.log()?;
        for once in ["deathProtocolStarted", "deathCompleted"] {
            let told = log.iter().filter(|record| record.body.contains(once)).count();
            assert_eq!(told, 1, "{step}: {once}");
        }
        ensure!(
            home.holds(home.stage.book().usdc).await? <= dollars(1),
            "{step}: left in the vault"
        );
    }
    Ok(())
}
