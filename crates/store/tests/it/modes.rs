//! SPEC K1: the choice of custody on a real disk.

use crate::kit::{NOW, config, folder, kinds, open};
use bardo_store::Store;
use golem_custody::{Choice, Choosing, CustodyChoice, CustodyMode, Ticking};
use std::sync::Arc;

#[tokio::test]
async fn the_mode_of_the_first_tick_is_the_mode_after_every_restart() {
    let folder = folder();
    for mode in [CustodyMode::Embedded, CustodyMode::LocalKey] {
        let store = open(folder.path());
        let taken = CustodyChoice::new(&store).choose(mode, NOW).await.unwrap();
        assert_eq!(taken, Choosing::Taken(Choice::Open { mode }));
    }
    let fixed = CustodyMode::LocalKey;
    assert_eq!(
        CustodyChoice::new(&open(folder.path())).tick(NOW + 1).await.unwrap(),
        Ticking::In(fixed)
    );

    let store = open(folder.path());
    let wanted = CustodyMode::Delegation;
    let after = CustodyChoice::new(&store).choose(wanted, NOW + 2).await.unwrap();

    assert_eq!(after, Choosing::Refused { fixed, since: NOW + 1, wanted });
    assert!(Store::open(&config(folder.path()), None).is_err(), "a second process has no say");
    assert_eq!(kinds(folder.path()), ["step"; 3], "INV-5");
}

/// Whoever is told that his choice was taken before the tick may be overruled by a later one, and by nobody after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tick_among_many_who_choose_fixes_what_it_says() {
    let folder = folder();
    let store = Arc::new(open(folder.path()));
    let _ = CustodyChoice::new(&*store).choose(CustodyMode::Delegation, NOW).await.unwrap();
    let choosers: Vec<_> = (0..30)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move {
                let mode = CustodyMode::ALL[number % 3];
                let _ = CustodyChoice::new(&*store).choose(mode, NOW).await;
            })
        })
        .collect();

    // One that somebody came before is made again by the next heartbeat; each of them comes before it once at most.
    let mut said = None;
    for _ in 0..=30 {
        if let Ok(Ticking::In(mode)) = CustodyChoice::new(&*store).tick(NOW + 1).await {
            said = Some(mode);
            break;
        }
    }
    for chooser in choosers {
        chooser.await.unwrap();
    }

    let at = CustodyChoice::new(&*store).at().await.unwrap();
    assert_eq!(at, said.map(|mode| Choice::Fixed { mode, since: NOW + 1 }));
    assert!(said.is_some());
}
