//! Records as events: each says what it is, and none can be made to say something else.

use crate::kit::{
    GOLEM, NEW, NOW, OLD, OWNER, entry, fabric, folder, grant, intent, intent_done, one_of_each,
    open, records, tick,
};
use alloy_primitives::{Address, B256, U256};
use async_trait::async_trait;
use bardo_store::Store;
use golem_custody::{
    Audit, Balance, Books, BoxError, BroughtHome, Choice, CustodyChoice, CustodyMode, DeathOrder,
    DeathSteps, Effect, Ending, Estate, ExpiryKind, Holding, IntentId, Means, Onboarding,
    Positions, Replaced, Rotation, RotationReason, SettledPosition, SettlementKind, Settling,
    Steps, SweepOrder, Undertaker,
};
use golem_runtime::{EventKind, FabricError, GolemEvent, Origin, Told};
use proptest::{prelude::*, test_runner::FileFailurePersistence};
use serde::Serialize;
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

/// What a store's whole chain tells.
fn told(folder: &Path) -> Vec<GolemEvent> {
    records(folder).iter().map(|record| Told::of(record).event).collect()
}

fn kinds(origin: impl Fn(Origin) -> bool) -> BTreeSet<&'static str> {
    GolemEvent::KINDS.iter().filter(|kind| origin(kind.origin)).map(|kind| kind.name).collect()
}

#[test]
fn there_is_one_of_each_kind_to_test_with() {
    let samples: Vec<EventKind> = one_of_each().iter().map(GolemEvent::kind).collect();

    assert_eq!(samples, GolemEvent::KINDS);
    assert_eq!(kinds(|_| true).len(), GolemEvent::KINDS.len(), "two of one name");
}

/// SPEC K4, L6: the names that others look for.
#[test]
fn every_event_that_was_promised_is_there() {
    for name in [
        // Of a session key.
        "sessionKeyGenerated",
        "delegationGranted",
        "operationSigned",
        "rotationTriggered",
        "sessionKeyRevoked",
        "budgetWarning",
        // Of custody.
        "custodyModeSelected",
        "sessionKeyRotated",
        "delegationRevoked",
        "delegationExpiringWarning",
        // Of a death.
        "deathProtocolStarted",
        "positionsUnwound",
        "deathCompleted",
        "GOLEM_TERMINAL",
        "PERMISSION_REVOKED",
    ] {
        assert!(kinds(|_| true).contains(name), "{name}");
    }
}

#[test]
fn a_frame_is_one_object_and_comes_back_as_it_was() {
    for event in one_of_each() {
        let frame = Told { sequence: u64::MAX, at: NOW, event: event.clone() };
        let text = serde_json::to_string(&frame).unwrap();

        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["kind"], event.kind().name);
        assert_eq!((&value["sequence"], &value["at"]), (&json!(u64::MAX), &json!(NOW)));
        assert_eq!(serde_json::from_str::<Told>(&text).unwrap(), frame);
        for name in event.kind().fields {
            assert!(!["sequence", "at", "kind"].contains(name), "{name} is taken");
        }
        let mut more = value;
        more["more"] = json!(1);
        assert!(serde_json::from_value::<Told>(more).is_err(), "what is not known is refused");
    }
}

#[tokio::test]
async fn what_is_said_is_a_record_and_is_read_from_it() {
    let folder = folder();
    let (_store, fabric) = fabric(folder.path());
    let sayable: Vec<GolemEvent> =
        one_of_each().into_iter().filter(|event| event.kind().origin != Origin::Read).collect();

    for (number, event) in (1..).zip(&sayable) {
        assert_eq!(fabric.emit(event, NOW).await.unwrap(), number);
    }

    assert_eq!(told(folder.path()), sayable);
    let first = &records(folder.path())[0];
    assert_eq!(first.kind, "event.tick");
    assert_eq!(first.body, r#"{"block":1,"number":1,"phase":"thriving","score":9000}"#);
}

#[tokio::test]
async fn what_a_record_of_others_says_already_cannot_be_said() {
    let folder = folder();
    let (store, fabric) = fabric(folder.path());
    for event in one_of_each().iter().filter(|event| event.kind().origin == Origin::Read) {
        let name = event.kind().name;
        for refused in
            [fabric.emit(event, NOW).await.err(), fabric.emit_once(name, event, NOW).await.err()]
        {
            assert!(
                matches!(refused, Some(FabricError::NotOurs { kind }) if kind == name),
                "{refused:?}"
            );
        }
        // Nor slipped in beside us.
        let mut body = serde_json::to_value(event).unwrap();
        store.advance(&format!("once.{name}"), 0, &body, NOW).await.unwrap();
        body.as_object_mut().unwrap().remove("kind");
        store.note(&format!("event.{name}"), &body, NOW).await.unwrap();
    }

    for event in told(folder.path()) {
        let fine = matches!(event, GolemEvent::Other { .. } | GolemEvent::MachineAdvanced { .. });
        assert!(fine, "{event:?}");
    }
}

#[tokio::test]
async fn each_stage_of_an_intent_is_an_event() {
    let folder = folder();
    let store = open(folder.path());
    intent_done(&store, 1).await;
    // The name was used.
    let _ = store.reserve(&entry(1), &crate::kit::caps()).await.unwrap();
    for (number, ending) in [
        (2, Ending::Abandoned { why: "never left".into() }),
        (3, Ending::Failed { hash: B256::ZERO, block: 4, code: "BP-001".into() }),
    ] {
        let _ = store.reserve(&entry(number), &crate::kit::caps()).await.unwrap();
        store.settle(intent(number), &ending, NOW).await.unwrap();
    }

    let told = told(folder.path());

    let names: Vec<_> = told.iter().map(|event| event.kind().name).collect();
    assert_eq!(
        names,
        [
            "intentReserved",
            "operationSigned",
            "intentDone",
            "intentRefused",
            "intentReserved",
            "intentAbandoned",
            "intentReserved",
            "intentFailed",
        ]
    );
    assert!(matches!(
        told[1],
        GolemEvent::OperationSigned { micro_dollars: Some(10), remaining: Some(990), .. }
    ));
    assert!(matches!(&told[3], GolemEvent::IntentRefused { code, reason, enforcer: None, .. }
            if !code.is_empty() && reason.contains("was used")));
}

async fn walked(store: &Store, machine: &str, steps: &[impl Serialize + Sync]) {
    for (version, step) in (0..).zip(steps) {
        let value = serde_json::to_value(step).unwrap();
        store.advance(machine, version, &value, NOW).await.unwrap();
    }
}

#[tokio::test]
async fn each_step_of_a_rotation_is_an_event() {
    let folder = folder();
    let store = open(folder.path());
    let (old, new, reason, epoch) = (OLD, NEW, RotationReason::Budget, 2);
    let asked = Rotation::Asked { old, new, reason, grant: grant(old), wanted: grant(new), epoch };
    let granted =
        Rotation::Granted { old, new, reason, before: grant(old), grant: grant(new), epoch };
    let replaced = Some(Replaced { key: old, reason });
    let done = Rotation::Resting { key: new, grant: grant(new), epoch, replaced };
    let lost = Rotation::Resting { key: old, grant: grant(new), epoch, replaced: None };

    walked(&store, "rotation", &[asked, granted, done, lost]).await;

    assert_eq!(
        told(folder.path()),
        [
            GolemEvent::RotationTriggered { reason, old_address: old, new_address: new },
            GolemEvent::DelegationGranted {
                delegation_hash: grant(new).hash(),
                delegate: new,
                caveats: vec![Address::repeat_byte(0xe1)],
            },
            GolemEvent::SessionKeyRotated {
                old_address: old,
                new_address: new,
                reason,
                delegation_hash: grant(new).hash(),
            },
            GolemEvent::RotationDropped { address: old, attached: false },
        ]
    );
}

#[tokio::test]
async fn each_step_of_onboarding_and_the_choice_of_custody_are_events() {
    let folder = folder();
    let store = open(folder.path());
    let (owner, mode) = (OWNER, CustodyMode::LocalKey);
    let means = Means::Granted { account: OWNER, session: OLD, grant: Box::new(grant(OLD)) };
    let (strategy, heartbeat) = (B256::ZERO, B256::ZERO);
    walked(
        &store,
        "onboarding",
        &[
            Onboarding::ChoosingCustody { owner },
            Onboarding::SettingUpWallet { owner },
            Onboarding::WritingStrategy { owner, means: means.clone() },
            Onboarding::WritingStrategy {
                owner,
                means: Means::Provided {
                    wallet: "w".into(),
                    address: NEW,
                    policy: None,
                    key: None,
                },
            },
            Onboarding::Registering { owner, means: means.clone(), strategy, heartbeat },
            Onboarding::Live { golem: GOLEM, owner, means },
        ],
    )
    .await;
    let choice = CustodyChoice::new(&*store);
    let _ = choice.choose(mode, NOW).await.unwrap();
    let _ = choice.tick(NOW + 1).await.unwrap();

    assert_eq!(
        told(folder.path()),
        [
            GolemEvent::OnboardingStepped { step: 2, owner },
            GolemEvent::OnboardingStepped { step: 3, owner },
            GolemEvent::DelegationGranted {
                delegation_hash: grant(OLD).hash(),
                delegate: OLD,
                caveats: vec![Address::repeat_byte(0xe1)],
            },
            GolemEvent::WalletProvided { wallet: NEW },
            GolemEvent::OnboardingStepped { step: 5, owner },
            GolemEvent::GolemSummoned { golem_id: GOLEM, owner },
            GolemEvent::CustodyModeSelected { mode },
            GolemEvent::CustodyModeFixed { mode, since: NOW + 1 },
        ]
    );
    assert_eq!(choice.at().await.unwrap(), Some(Choice::Fixed { mode, since: NOW + 1 }));
}

struct Quick;

fn position() -> SettledPosition {
    let of = Holding::Token(Address::repeat_byte(0x20));
    SettledPosition { of, amount: U256::from(42), transaction: B256::ZERO, block: 3 }
}

#[async_trait]
impl Undertaker for Quick {
    async fn close_positions(&self, _: IntentId) -> Result<Effect<Positions>, BoxError> {
        Ok(Effect::Done(Positions { settled: vec![position()], deferred: Vec::new() }))
    }

    async fn zero_allowances(&self, _: IntentId) -> Result<Effect<()>, BoxError> {
        Ok(Effect::Done(()))
    }

    async fn bring_home(
        &self,
        _: IntentId,
        _: &SweepOrder,
    ) -> Result<Effect<BroughtHome>, BoxError> {
        Ok(Effect::Done(BroughtHome::Leftovers(Positions::default())))
    }

    async fn close_registry(&self, _: IntentId, _: B256) -> Result<Effect<()>, BoxError> {
        Ok(Effect::Done(()))
    }

    async fn end_keys(&self) -> Result<(), BoxError> {
        Ok(())
    }
}

#[tokio::test]
async fn each_step_of_a_settlement_is_an_event() {
    let folder = folder();
    let store = open(folder.path());
    let death = DeathSteps::new(&*store, U256::ZERO);
    let estate = Estate::Granted { delegation: B256::ZERO, cause: ExpiryKind::Relinquished };
    let order = DeathOrder { golem: GOLEM, estate, exhaustion: None };
    death.accept(CustodyMode::Delegation, order, NOW).await.unwrap();

    let Settling::Done(settled) = death.run(&Quick, NOW).await.unwrap() else { panic!("it waits") };

    let (golem_id, settlement_hash) = (GOLEM, settled.hash());
    let settlement = SettlementKind::DelegationExpiry;
    assert_eq!(
        told(folder.path()),
        [
            GolemEvent::SettlementBegan { golem_id, settlement, exhausted: false },
            GolemEvent::PositionsUnwound {
                positions_exited: 1,
                positions_deferred: 0,
                total_recovered: vec![Balance { of: position().of, amount: position().amount }],
            },
            GolemEvent::AllowancesZeroed { golem_id },
            GolemEvent::EstateReturned { golem_id, settlement_hash, positions_deferred: 0 },
            GolemEvent::RegistryClosed { golem_id, settlement_hash },
            GolemEvent::EstateSettled { golem_id, settlement_hash },
        ]
    );
}

/// A machine's value may be nobody's business; a record of a later program is somebody's.
#[tokio::test]
async fn what_is_not_known_is_told_as_such_and_a_machines_value_not_at_all() {
    let folder = folder();
    let store = open(folder.path());
    store.advance("sweep.w", 0, &json!({ "raw": "0xsecret" }), NOW).await.unwrap();
    store
        .advance("rotation", 0, &json!({ "step": "later", "raw": "0xsecret" }), NOW)
        .await
        .unwrap();
    store.note("later", &json!({ "new": [1] }), NOW).await.unwrap();
    store.note("event.tick", &json!({ "number": 1, "later": 2 }), NOW).await.unwrap();

    let told = told(folder.path());

    assert_eq!(
        told,
        [
            GolemEvent::MachineAdvanced { machine: "sweep.w".into(), version: 1 },
            GolemEvent::MachineAdvanced { machine: "rotation".into(), version: 1 },
            GolemEvent::Other { record: "later".into(), body: json!({ "new": [1] }) },
            GolemEvent::Other {
                record: "event.tick".into(),
                body: json!({ "number": 1, "later": 2 })
            },
        ]
    );
    assert!(!serde_json::to_string(&told).unwrap().contains("secret"));
}

/// `snake_case` as it is on the wire.
fn on_the_wire(field: &str) -> String {
    let mut words = field.split('_');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

#[test]
fn the_readme_lists_every_kind_with_its_fields() {
    let row = |kind: &EventKind| {
        let fields: Vec<_> =
            kind.fields.iter().map(|name| format!("`{}`", on_the_wire(name))).collect();
        let origin = match kind.origin {
            Origin::Said => "said",
            Origin::Read => "read",
            Origin::Both => "both",
        };
        (format!("`{}`", kind.name), origin.to_owned(), fields.join(", "))
    };
    let listed: Vec<_> = include_str!("../../README.md")
        .lines()
        .filter_map(|line| {
            let cells: Vec<_> = line.strip_prefix("| `")?.split(" | ").collect();
            let [kind, origin, when, fields] = cells[..] else { return None };
            assert!(!when.is_empty(), "{kind}");
            let fields = fields.trim_end_matches(" |");
            Some((format!("`{kind}"), origin.to_owned(), fields.to_owned()))
        })
        .collect();

    let known: Vec<_> = GolemEvent::KINDS.iter().map(row).collect();
    assert_eq!(listed, known);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "rotation",
            "onboarding",
            "custody",
            "settlement",
            "once.x",
            "tick",
            "resting",
            "open",
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        let name = prop_oneof![
            prop::sample::select(vec![
                "kind", "name", "version", "to", "step", "intent", "entry", "ending", "denial",
                "mode", "number", "key", "grant", "sequence", "at",
            ])
            .prop_map(str::to_owned),
            "[a-z]{0,8}",
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn any_kind() -> impl Strategy<Value = String> {
    let known = ["step", "intent.reserved", "intent.refused", "intent.signed", "intent.settled"];
    let said = GolemEvent::KINDS.iter().map(|kind| format!("event.{}", kind.name));
    let all: Vec<String> = known.map(str::to_owned).into_iter().chain(said).collect();
    prop_oneof![prop::sample::select(all), ".{0,20}"]
}

fn config(cases: u32) -> ProptestConfig {
    let persistence = Box::new(FileFailurePersistence::Off);
    ProptestConfig { cases, failure_persistence: Some(persistence), ..ProptestConfig::default() }
}

/// What a record tells is an event that has a frame, and the frame says the same.
fn holds(kind: &str, body: &str) {
    let event = GolemEvent::of_record(kind, body);
    let frame = Told { sequence: 1, at: NOW, event };
    let text = serde_json::to_string(&frame).unwrap();
    assert_eq!(serde_json::from_str::<Told>(&text).unwrap(), frame, "{kind}: {body}");
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn any_json_is_some_event(kind in any_kind(), body in any_json()) {
        holds(&kind, &body.to_string());
    }

    #[test]
    fn any_text_is_some_event(kind in any_kind(), body in ".{0,200}") {
        holds(&kind, &body);
    }

    /// Records that are true but for one field.
    #[test]
    fn a_known_record_with_one_field_changed_is_some_event(
        which in 0..GolemEvent::KINDS.len(),
        at in any::<prop::sample::Index>(),
        with in any_json(),
    ) {
        let event = &one_of_each()[which];
        let kind = format!("event.{}", event.kind().name);
        let mut body = serde_json::to_value(event).unwrap();
        let fields = body.as_object_mut().unwrap();
        fields.remove("kind");
        if event.kind().origin != Origin::Read {
            let whole = Value::Object(fields.clone()).to_string();
            prop_assert_eq!(&GolemEvent::of_record(&kind, &whole), event);
        }
        let names: Vec<_> = fields.keys().cloned().collect();
        fields.insert(at.get(&names).clone(), with);
        holds(&kind, &body.to_string());
    }
}

#[test]
fn a_body_with_a_kind_of_its_own_is_not_believed() {
    let body = serde_json::to_string(&tick(1)).unwrap();
    assert!(matches!(GolemEvent::of_record("event.tick", &body), GolemEvent::Other { .. }));
    assert!(matches!(GolemEvent::of_record("event.fed", &body), GolemEvent::Other { .. }));
}
