//! Machines of steps.

use crate::kit::{NOW, fault, folder, kinds, open, records};
use bardo_store::StoreError;
use golem_custody::{Step, Steps};
use serde_json::{Value, json};
use std::sync::Arc;

#[tokio::test]
async fn a_machine_moves_from_where_it_is_and_survives_a_restart() {
    let folder = folder();
    let store = open(folder.path());
    assert_eq!(store.load("rotation").await.unwrap(), None);

    store.advance("rotation", 0, &json!("born"), NOW).await.unwrap();
    store.advance("rotation", 1, &json!({ "signed": 2 }), NOW + 1).await.unwrap();
    drop(store);

    let store = open(folder.path());
    let expected = Step { version: 2, value: json!({ "signed": 2 }) };
    assert_eq!(store.load("rotation").await.unwrap(), Some(expected));
    assert_eq!(store.load("onboarding").await.unwrap(), None);
    assert_eq!(kinds(folder.path()), ["step", "step"]);
    let body: Value = serde_json::from_str(&records(folder.path())[1].body).unwrap();
    assert_eq!(body, json!({ "name": "rotation", "version": 2, "to": { "signed": 2 } }));
}

#[tokio::test]
async fn a_machine_that_somebody_else_moved_stays_where_it_is() {
    let folder = folder();
    let store = open(folder.path());
    store.advance("rotation", 0, &json!(1), NOW).await.unwrap();

    for (from, found) in [(0, 1), (2, 1), (u64::MAX - 1, 1)] {
        let moved = store.advance("rotation", from, &json!(9), NOW).await;
        let error = fault(moved);
        assert!(
            matches!(&error, StoreError::Moved { expected, found: at, .. } if (*expected, *at) == (from, found))
                || matches!(&error, StoreError::TooLarge { .. }),
            "{error:?}"
        );
    }
    let unborn = store.advance("onboarding", 1, &json!(9), NOW).await;
    assert!(matches!(fault(unborn), StoreError::Moved { found: 0, .. }));
    assert_eq!(kinds(folder.path()), ["step"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_who_move_it_at_once_one_does() {
    let folder = folder();
    let store = Arc::new(open(folder.path()));
    let movers: Vec<_> = (0..40)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.advance("m", 0, &json!(number), NOW).await.is_ok() })
        })
        .collect();

    let mut moved = 0;
    for mover in movers {
        moved += u32::from(mover.await.unwrap());
    }

    assert_eq!((moved, kinds(folder.path()).len()), (1, 1));
}
