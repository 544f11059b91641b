//! Subscribers: everything, in order, at least once, through restarts.

use crate::kit::{NOW, fabric, folder, intent_done, records, tick};
use bardo_store::DATABASE;
use golem_custody::{Audit, Steps};
use golem_runtime::{Fabric, FabricError, GolemEvent, Start, Subscription, Told};
use proptest::{prelude::*, test_runner::FileFailurePersistence};
use serde_json::json;
use std::{
    future::Future,
    path::Path,
    pin::pin,
    task::{Context, Poll, Waker},
};

/// What it comes to at once, if it does; dropped where it has to wait.
fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}

fn waits<T>(future: impl Future<Output = T>) -> bool {
    at_once(future).is_none()
}

async fn hears(subscription: &mut Subscription, many: usize) -> Vec<Told> {
    let mut heard = Vec::new();
    for _ in 0..many {
        heard.push(subscription.next().await.unwrap());
    }
    heard
}

fn sequences(heard: &[Told]) -> Vec<u64> {
    heard.iter().map(|told| told.sequence).collect()
}

#[tokio::test]
async fn all_hear_the_whole_story_in_one_order_whoever_wrote_it() {
    let folder = folder();
    let (store, fabric) = fabric(folder.path());
    let mut first = fabric.subscribe("first", Start::Beginning).await.unwrap();

    fabric.emit(&tick(1), NOW).await.unwrap();
    intent_done(&store, 1).await;
    store.advance("machine", 0, &json!(1), NOW).await.unwrap();
    fabric.emit(&tick(2), NOW + 1).await.unwrap();
    let mut second = fabric.subscribe("second", Start::Beginning).await.unwrap();

    let heard = hears(&mut first, 6).await;
    assert_eq!(sequences(&heard), [1, 2, 3, 4, 5, 6]);
    assert_eq!(heard, hears(&mut second, 6).await);
    let written: Vec<_> = records(folder.path()).iter().map(Told::of).collect();
    assert_eq!(heard, written);
    assert_eq!(heard[5], Told { sequence: 6, at: NOW + 1, event: tick(2) });
}

#[tokio::test]
async fn who_waits_is_woken_by_an_event_and_by_a_record_of_the_store() {
    let folder = folder();
    let (store, fabric) = fabric(folder.path());
    let mut subscription = fabric.subscribe("report", Start::Now).await.unwrap();
    assert!(waits(subscription.next()), "there is nothing yet");

    let (event, value) = (tick(1), json!(1));
    let (told, emitted) = tokio::join!(subscription.next(), fabric.emit(&event, NOW));
    assert_eq!(told.unwrap().sequence, emitted.unwrap());

    let stepped = store.advance("machine", 0, &value, NOW);
    let (told, stepped) = tokio::join!(subscription.next(), stepped);
    stepped.unwrap();
    assert!(matches!(told.unwrap().event, GolemEvent::MachineAdvanced { .. }));
}

#[tokio::test]
async fn what_was_not_acknowledged_is_told_again_after_a_restart_and_nothing_else() {
    let folder = folder();
    {
        let (_store, fabric) = fabric(folder.path());
        for number in 1..=5 {
            fabric.emit(&tick(number), NOW).await.unwrap();
        }
        let mut subscription = fabric.subscribe("report", Start::Beginning).await.unwrap();
        hears(&mut subscription, 4).await;
        subscription.ack(2).await.unwrap();
    }

    let (_store, fabric) = fabric(folder.path());
    let mut subscription = fabric.subscribe("report", Start::Now).await.unwrap();

    assert_eq!((subscription.cursor(), subscription.lag()), (2, 3));
    assert_eq!(sequences(&hears(&mut subscription, 3).await), [3, 4, 5]);
    assert!(waits(subscription.next()));
    assert_eq!(records(folder.path()).len(), 5, "acknowledging is no event");
}

#[tokio::test]
async fn a_new_subscriber_begins_at_the_beginning_or_now_as_it_wants() {
    let folder = folder();
    {
        let (_store, fabric) = fabric(folder.path());
        fabric.emit(&tick(1), NOW).await.unwrap();
        let mut early = fabric.subscribe("early", Start::Beginning).await.unwrap();
        let mut late = fabric.subscribe("late", Start::Now).await.unwrap();
        assert_eq!((early.lag(), late.lag()), (1, 0));
        assert_eq!(early.next().await.unwrap().sequence, 1);
        assert!(waits(late.next()));
    }
    let (_store, fabric) = fabric(folder.path());
    fabric.emit(&tick(2), NOW).await.unwrap();

    // What happened since it first listened is not left out because it was away.
    let mut late = fabric.subscribe("late", Start::Now).await.unwrap();

    assert_eq!(late.next().await.unwrap().event, tick(2));
}

#[tokio::test]
async fn what_was_not_told_cannot_be_acknowledged() {
    let folder = folder();
    let (store, fabric) = fabric(folder.path());
    for number in 1..=3 {
        fabric.emit(&tick(number), NOW).await.unwrap();
    }
    let mut subscription = fabric.subscribe("report", Start::Beginning).await.unwrap();
    hears(&mut subscription, 2).await;

    let refused = subscription.ack(3).await;

    assert!(
        matches!(refused, Err(FabricError::NotTold { sequence: 3, told: 2, .. })),
        "{refused:?}"
    );
    assert_eq!(store.cursor("report").await.unwrap(), Some(0));
    subscription.ack(2).await.unwrap();
    subscription.ack(1).await.unwrap();
    assert_eq!(store.cursor("report").await.unwrap(), Some(2), "an earlier one changes nothing");
    assert_eq!(subscription.lag(), 1);
}

#[tokio::test]
async fn a_name_listens_once() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    let first = fabric.subscribe("report", Start::Now).await.unwrap();

    let second = fabric.subscribe("report", Start::Now).await;

    assert!(matches!(second, Err(FabricError::Taken { .. })), "{second:?}");
    drop(first);
    assert!(fabric.subscribe("report", Start::Now).await.is_ok());
    let unnamed = fabric.subscribe("two words", Start::Now).await;
    assert!(matches!(unnamed, Err(FabricError::Unread { .. })), "{unnamed:?}");
}

#[tokio::test]
async fn whoever_stops_waiting_misses_nothing() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    let mut subscription = fabric.subscribe("report", Start::Now).await.unwrap();
    let mut heard = Vec::new();
    for number in 1..=20 {
        // Dropped wherever it is: waiting for a record, or for the disk.
        assert!(waits(subscription.next()), "it is told before it is there");
        fabric.emit(&tick(number), NOW).await.unwrap();
        let told = match at_once(subscription.next()) {
            Some(told) => told,
            None => subscription.next().await,
        };
        heard.push(told.unwrap().sequence);
    }

    assert_eq!(heard, (1..=20).collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_said_once_is_said_once_through_restarts() {
    let folder = folder();
    for life in 0..3 {
        let (_store, fabric) = fabric(folder.path());
        let said = fabric.emit_once("death", &tick(life), NOW).await.unwrap();
        assert_eq!(said, life == 0);
        assert!(fabric.emit_once(&format!("life-{life}"), &tick(9), NOW).await.unwrap());
    }

    let told: Vec<_> = records(folder.path()).iter().map(|it| Told::of(it).event).collect();
    assert_eq!(told, [tick(0), tick(9), tick(9), tick(9)]);
}

#[tokio::test]
async fn a_record_that_was_changed_stops_whoever_listens() {
    let folder = folder();
    {
        let (store, fabric) = fabric(folder.path());
        for number in 1..=3 {
            fabric.emit(&tick(number), NOW).await.unwrap();
        }
        store.note("note", &json!({}), NOW).await.unwrap();
    }
    let raw = rusqlite::Connection::open(folder.path().join(DATABASE)).unwrap();
    raw.execute_batch(
        "DROP TRIGGER audit_is_not_changed;
         UPDATE audit SET body = replace(body, '\"number\":3', '\"number\":4') WHERE sequence = 3",
    )
    .unwrap();
    drop(raw);
    let (_store, fabric) = fabric(folder.path());
    let mut subscription = fabric.subscribe("report", Start::Beginning).await.unwrap();

    let told = [subscription.next().await, subscription.next().await, subscription.next().await];

    assert!(
        told.iter().any(|it| matches!(it, Err(FabricError::Damaged { sequence: 3 }))),
        "{told:?}"
    );
    assert!(told.iter().flatten().all(|it| it.sequence < 3), "{told:?}");
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Emit,
    Step,
    Hear,
    Ack { of: u64 },
    AckBeyond,
    Restart,
}

fn any_act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::Emit),
        2 => Just(Act::Step),
        6 => Just(Act::Hear),
        3 => any::<u64>().prop_map(|of| Act::Ack { of }),
        1 => Just(Act::AckBeyond),
        2 => Just(Act::Restart),
    ]
}

/// What a subscriber must see, reckoned beside it: a number for each of the three.
#[derive(Debug, Default)]
struct Model {
    written: u64,
    told: u64,
    acked: u64,
}

async fn lives(path: &Path, acts: &[Act]) {
    let mut model = Model::default();
    let (mut store, mut threads) = fabric(path);
    let mut subscription = threads.subscribe("report", Start::Beginning).await.unwrap();
    for act in acts {
        match act {
            Act::Emit => {
                model.written += 1;
                let sequence = threads.emit(&tick(model.written), NOW).await.unwrap();
                assert_eq!(sequence, model.written);
            }
            Act::Step => {
                let machine = format!("machine-{}", model.written);
                store.advance(&machine, 0, &json!(1), NOW).await.unwrap();
                model.written += 1;
            }
            Act::Hear if model.told == model.written => assert!(waits(subscription.next())),
            Act::Hear => {
                model.told += 1;
                assert_eq!(subscription.next().await.unwrap().sequence, model.told);
            }
            Act::Ack { of } => {
                let sequence = of % (model.told + 1);
                subscription.ack(sequence).await.unwrap();
                model.acked = model.acked.max(sequence);
            }
            Act::AckBeyond => assert!(subscription.ack(model.told + 1).await.is_err()),
            Act::Restart => {
                drop((subscription, threads, store));
                (store, threads) = fabric(path);
                subscription = threads.subscribe("report", Start::Beginning).await.unwrap();
                model.told = model.acked;
            }
        }
        assert_eq!(subscription.cursor(), model.acked);
        assert_eq!(subscription.lag(), model.written - model.acked);
    }
    while model.told < model.written {
        model.told += 1;
        assert_eq!(subscription.next().await.unwrap().sequence, model.told);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: Some(Box::new(FileFailurePersistence::Off)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_is_said_heard_acknowledged_and_restarted_nothing_is_left_out(
        acts in prop::collection::vec(any_act(), 0..40),
    ) {
        let folder = folder();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(lives(folder.path(), &acts));
    }
}

/// So that runtime code can hold it anywhere.
#[test]
fn a_fabric_is_shared_between_threads() {
    const fn shared<T: Send + Sync>() {}
    shared::<Fabric>();
    shared::<Subscription>();
}
