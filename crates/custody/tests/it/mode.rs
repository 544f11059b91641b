//! SPEC K1, D21, D27: one of three, chosen until the first tick and never after it.

use crate::charter::granted;
use alloy_primitives::Address;
use async_trait::async_trait;
use golem_custody::{
    Acting, BoxError, Choice, ChoiceError, Choosing, Custody as _, CustodyChoice, CustodyMode,
    KeyCustody, Keyring as _, Keys, MemoryBooks, Observing, OwnerSigner, SettlementKind,
    SigningParty, Step, Steps, Ticking,
};
use golem_delegation::SigningDomain;
use serde_json::{Value, json};
use std::sync::Mutex;

const NOW: u64 = 1_000_000;
const DOMAIN: SigningDomain = SigningDomain { chain_id: 8453, manager: Address::repeat_byte(0xdb) };

/// The table of the specification, in one place.
#[test]
fn each_mode_is_what_was_said_of_it() {
    use CustodyMode::{Delegation, Embedded, LocalKey};
    use SettlementKind::{DelegationExpiry, PrivySweep};

    for (mode, name, party, settlement, rotates, keeps, permit2) in [
        (Delegation, "delegation", SigningParty::SessionKey, DelegationExpiry, true, false, false),
        (Embedded, "embedded", SigningParty::WalletService, PrivySweep, false, false, true),
        (LocalKey, "localKey", SigningParty::KeyFile, DelegationExpiry, true, true, false),
    ] {
        assert_eq!((mode.name(), json!(mode)), (name, json!(name)));
        assert_eq!((mode.signing_party(), mode.settlement()), (party, settlement), "{name}");
        assert_eq!((mode.rotates_keys(), mode.keeps_its_key()), (rotates, keeps), "{name}");
        assert_eq!(mode.allows_permit2(), permit2, "{name}");
    }
}

#[tokio::test]
async fn before_the_first_tick_the_last_choice_counts_and_after_it_none() {
    for first in CustodyMode::ALL {
        for last in CustodyMode::ALL {
            let books = MemoryBooks::default();
            // As after a restart each time: nothing but the books is kept.
            let choice = || CustodyChoice::new(&books);
            assert_eq!(choice().at().await.unwrap(), None);
            for mode in [first, last] {
                let taken = choice().choose(mode, NOW).await.unwrap();
                assert_eq!(taken, Choosing::Taken(Choice::Open { mode }));
            }

            assert_eq!(choice().tick(NOW + 1).await.unwrap(), Ticking::In(last));

            let fixed = Choice::Fixed { mode: last, since: NOW + 1 };
            assert_eq!(choice().tick(NOW + 2).await.unwrap(), Ticking::In(last));
            for wanted in CustodyMode::ALL {
                let after = choice().choose(wanted, NOW + 3).await.unwrap();
                let expected = if wanted == last {
                    Choosing::Taken(fixed)
                } else {
                    Choosing::Refused { fixed: last, since: NOW + 1, wanted }
                };
                assert_eq!(after, expected, "{wanted:?} after {last:?}");
                assert_eq!(choice().at().await.unwrap(), Some(fixed));
            }
            // What changes nothing is not written.
            let writes = if first == last { 2 } else { 3 };
            assert_eq!(books.kinds(), vec!["custody"; writes]);
        }
    }
}

#[tokio::test]
async fn a_golem_without_a_mode_does_not_tick() {
    let books = MemoryBooks::default();

    assert_eq!(CustodyChoice::new(&books).tick(NOW).await.unwrap(), Ticking::Unchosen);
    assert_eq!(books.kinds(), [""; 0]);
}

/// Books in which somebody else writes after the first look.
struct Raced<'a>(&'a MemoryBooks, Mutex<Option<Choice>>);

impl<'a> Raced<'a> {
    const fn by(books: &'a MemoryBooks, theirs: Choice) -> Self {
        Self(books, Mutex::new(Some(theirs)))
    }
}

#[async_trait]
impl Steps for Raced<'_> {
    async fn load(&self, name: &str) -> Result<Option<Step>, BoxError> {
        let seen = self.0.load(name).await?;
        let theirs = self.1.lock().unwrap().take();
        if let Some(theirs) = theirs {
            let from = seen.as_ref().map_or(0, |step| step.version);
            self.0.advance(name, from, &serde_json::to_value(theirs)?, NOW).await?;
        }
        Ok(seen)
    }

    async fn advance(&self, name: &str, from: u64, to: &Value, at: u64) -> Result<(), BoxError> {
        self.0.advance(name, from, to, at).await
    }
}

#[tokio::test]
async fn of_two_who_choose_at_once_one_does() {
    let books = MemoryBooks::default();
    let theirs = Choice::Open { mode: CustodyMode::Embedded };

    let mine =
        CustodyChoice::new(&Raced::by(&books, theirs)).choose(CustodyMode::LocalKey, NOW).await;

    assert!(matches!(mine, Err(ChoiceError::Books { .. })), "{mine:?}");
    assert_eq!(CustodyChoice::new(&books).at().await.unwrap(), Some(theirs));
}

/// A tick that begins between somebody's look and his choice wins; so does a choice over a tick, which then fails.
#[tokio::test]
async fn no_choice_slips_in_beside_the_first_tick() {
    let books = MemoryBooks::default();
    let (open, fixed) = (
        Choice::Open { mode: CustodyMode::Delegation },
        Choice::Fixed { mode: CustodyMode::Delegation, since: NOW },
    );
    let _ = CustodyChoice::new(&books).choose(CustodyMode::LocalKey, NOW).await.unwrap();

    let tick = CustodyChoice::new(&Raced::by(&books, open)).tick(NOW).await;
    assert!(matches!(tick, Err(ChoiceError::Books { .. })), "{tick:?}");
    let late =
        CustodyChoice::new(&Raced::by(&books, fixed)).choose(CustodyMode::Embedded, NOW).await;
    assert!(matches!(late, Err(ChoiceError::Books { .. })), "{late:?}");

    assert_eq!(CustodyChoice::new(&books).at().await.unwrap(), Some(fixed));
}

/// INV-4.
#[tokio::test]
async fn a_choice_that_is_not_understood_is_none_that_can_be_made_anew() {
    for strange in [json!({ "step": "open", "mode": "custodial" }), json!({ "step": "fixed" })] {
        let books = MemoryBooks::default();
        books.advance("custody", 0, &strange, NOW).await.unwrap();
        let choice = CustodyChoice::new(&books);

        let chosen = choice.choose(CustodyMode::Delegation, NOW).await;

        assert!(matches!(chosen, Err(ChoiceError::Unread { .. })), "{chosen:?}");
        assert!(matches!(choice.tick(NOW).await, Err(ChoiceError::Unread { .. })));
        assert_eq!(books.load("custody").await.unwrap().unwrap().value, strange);
    }
}

/// SPEC D21: a hosted Golem that was restarted has another key, and looks on until its owner says so.
#[tokio::test]
async fn a_key_without_a_grant_of_its_own_looks_on() {
    let owner = OwnerSigner::born();
    let keys = Keys::hosted();
    let key = keys.current().await.unwrap();
    let unsigned = granted(owner.address(), key);
    let grant = owner.grant(&DOMAIN, unsigned.clone()).unwrap();

    let before = KeyCustody::hosted(keys.clone(), Some(grant.clone()));
    assert_eq!(
        (before.mode(), before.acting().await),
        (CustodyMode::Delegation, Acting::Signs(key))
    );
    let local = KeyCustody::local(keys.clone(), Some(grant.clone()));
    assert_eq!((local.mode(), local.acting().await), (CustodyMode::LocalKey, Acting::Signs(key)));

    let reborn = Keys::hosted();
    let other = reborn.current().await.unwrap();
    let waits = |key| Acting::Observes(Observing::Unattached { key });
    assert_eq!(KeyCustody::hosted(reborn.clone(), Some(grant)).acting().await, waits(other));
    assert_eq!(KeyCustody::hosted(reborn, None).acting().await, waits(other));
    assert_eq!(KeyCustody::hosted(keys.clone(), Some(unsigned)).acting().await, waits(key));
    keys.end().await.unwrap();
    assert_eq!(before.acting().await, Acting::Observes(Observing::NoKey));
}
