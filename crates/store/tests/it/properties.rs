//! Any order of reserving, signing, settling and reopening, against a model that adds up a list.

use crate::kit::{GOLEM, NOW, bid, entry, folder, intent, ledger, ledger_path, records};
use alloy_primitives::{Address, B256};
use bardo_store::{DAY, OwnerLedger, Store, StoreConfig, verify};
use golem_custody::{Books, Caps, DenialCode, Ending, Entry, Reserving};
use proptest::prelude::*;
use std::path::Path;
use tokio::runtime::Runtime;

const CAPS: Caps = Caps { session: 300, day: 100, owner_day: Some(150) };

#[derive(Clone, Debug)]
enum Act {
    Reserve { golem: usize, name: u64, session: u8, sum: u64, later: u64 },
    Sign { golem: usize, name: u64 },
    Settle { golem: usize, name: u64, done: bool },
    Reopen { golem: usize },
}

fn act() -> impl Strategy<Value = Act> {
    let (golem, name) = (0..2usize, 0..12u64);
    // Mostly small steps of time; some over the edge of a day.
    let later = prop_oneof![3 => 0..600u64, 1 => DAY - 700..DAY + 2];
    prop_oneof![
        6 => (golem.clone(), name.clone(), 0..3u8, 0..70u64, later).prop_map(
            |(golem, name, session, sum, later)| Act::Reserve { golem, name, session, sum, later }
        ),
        1 => (golem.clone(), name.clone()).prop_map(|(golem, name)| Act::Sign { golem, name }),
        3 => (golem.clone(), name, any::<bool>())
            .prop_map(|(golem, name, done)| Act::Settle { golem, name, done }),
        1 => golem.prop_map(|golem| Act::Reopen { golem }),
    ]
}

/// One reservation as the model has it.
struct Booked {
    golem: usize,
    name: u64,
    session: u8,
    sum: u64,
    at: u64,
    /// Ended, and how: done or not.
    ended: Option<bool>,
}

impl Booked {
    fn counts(&self) -> bool {
        self.ended != Some(false)
    }
}

/// What the caps say, by adding up the whole list.
fn judged(
    booked: &[Booked],
    golem: usize,
    name: u64,
    session: u8,
    sum: u64,
    at: u64,
) -> Option<DenialCode> {
    let spent = |of: &dyn Fn(&Booked) -> bool| -> u64 {
        booked.iter().filter(|one| one.counts() && of(one)).map(|one| one.sum).sum()
    };
    let recent = |one: &Booked| one.at + DAY > at;
    if booked.iter().any(|one| one.golem == golem && one.name == name) {
        Some(DenialCode::IntentUsed)
    } else if spent(&|one| recent(one)) + sum > CAPS.owner_day.unwrap() {
        Some(DenialCode::BudgetOwner)
    } else if spent(&|one| one.golem == golem && one.session == session) + sum > CAPS.session {
        Some(DenialCode::BudgetSession)
    } else if spent(&|one| one.golem == golem && recent(one)) + sum > CAPS.day {
        Some(DenialCode::BudgetDay)
    } else {
        None
    }
}

const fn id(golem: usize) -> B256 {
    if golem == 0 { GOLEM } else { B256::repeat_byte(0x61) }
}

fn store(folder: &Path, golem: usize, ledger: &OwnerLedger) -> Store {
    let folder = folder.join(golem.to_string());
    Store::open(&StoreConfig { folder, golem: id(golem), max_pages: None }, Some(ledger)).unwrap()
}

fn play(acts: &[Act]) -> Result<(), TestCaseError> {
    let runtime = Runtime::new().unwrap();
    let folder = folder();
    let ledger = ledger(&ledger_path(folder.path()));
    let mut stores: Vec<Option<Store>> =
        (0..2).map(|golem| Some(store(folder.path(), golem, &ledger))).collect();
    let mut booked: Vec<Booked> = Vec::new();
    let mut now = NOW;
    for act in acts {
        match *act {
            Act::Reserve { golem, name, session, sum, later } => {
                now += later;
                let expected = judged(&booked, golem, name, session, sum, now);
                let asked = Entry {
                    golem: id(golem),
                    session: Address::repeat_byte(session),
                    ..entry(name, sum, now)
                };
                let store = stores[golem].as_ref().unwrap();
                let found = match runtime.block_on(store.reserve(&asked, &CAPS)).unwrap() {
                    Reserving::Made => None,
                    Reserving::Refused(denial) => Some(denial.code),
                };
                prop_assert_eq!(found, expected, "{:?}", act);
                if found.is_none() {
                    booked.push(Booked { golem, name, session, sum, at: now, ended: None });
                }
            }
            Act::Sign { golem, name } => {
                let expected = booked
                    .iter()
                    .any(|one| one.golem == golem && one.name == name && one.ended.is_none());
                let store = stores[golem].as_ref().unwrap();
                let found = runtime.block_on(store.signed(intent(name), &bid(name), now)).is_ok();
                prop_assert_eq!(found, expected, "{:?}", act);
            }
            Act::Settle { golem, name, done } => {
                let ending = if done {
                    Ending::Done { hash: B256::ZERO, block: 1 }
                } else {
                    Ending::Abandoned { why: "test".into() }
                };
                let one = booked.iter_mut().find(|one| one.golem == golem && one.name == name);
                let expected = match one {
                    None => false,
                    Some(one) => *one.ended.get_or_insert(done) == done,
                };
                let store = stores[golem].as_ref().unwrap();
                let found = runtime.block_on(store.settle(intent(name), &ending, now)).is_ok();
                prop_assert_eq!(found, expected, "{:?}", act);
            }
            Act::Reopen { golem } => {
                drop(stores[golem].take());
                stores[golem] = Some(store(folder.path(), golem, &ledger));
            }
        }
    }
    for (golem, store) in stores.iter().enumerate() {
        let open = runtime.block_on(Books::open(store.as_ref().unwrap())).unwrap();
        let expected: Vec<_> = booked
            .iter()
            .filter(|one| one.golem == golem && one.ended.is_none())
            .map(|one| intent(one.name))
            .collect();
        let found: Vec<_> = open.iter().map(|open| open.entry.intent).collect();
        prop_assert_eq!(found, expected);
        let records = records(&folder.path().join(golem.to_string()));
        prop_assert!(verify(&records, &[], &[]).is_whole());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..Default::default() })]

    #[test]
    fn books_agree_with_a_list_that_is_added_up(acts in prop::collection::vec(act(), 1..40)) {
        play(&acts)?;
    }
}

#[test]
fn the_model_meets_every_refusal() {
    let booked = [Booked { golem: 0, name: 1, session: 1, sum: 100, at: NOW, ended: None }];
    let judged = |golem, name, sum, at| judged(&booked, golem, name, 1, sum, at);
    assert_eq!(judged(0, 1, 0, NOW), Some(DenialCode::IntentUsed));
    assert_eq!(judged(1, 2, 51, NOW), Some(DenialCode::BudgetOwner));
    assert_eq!(judged(0, 2, 1, NOW), Some(DenialCode::BudgetDay));
    assert_eq!(judged(0, 2, 201, NOW + DAY), Some(DenialCode::BudgetOwner));
    assert_eq!(judged(0, 2, 100, NOW + DAY), None);
}
