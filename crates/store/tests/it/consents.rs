//! SPEC P8, INV-10: what an owner says, and what becomes of it, by the way that everything goes which a Golem signs.

use crate::{
    kit::{
        GOLEM, NO_CAPS, NOW, config, entry, folder, intent, ledger, ledger_path, owner, owner_key,
    },
    lives::{DOMAIN, FakeChain},
    roles::{child, say},
};
use alloy_primitives::{Address, B256, Bytes, U256};
use bardo_store::{CLOCK_SLACK, OwnerLedger, Replying, Store};
use golem_custody::{
    Approvals as _, Approving, Books as _, ByTransaction, Caps, Cleared, ClearingPolicy, Consent,
    Denial, DenialCode, Execution, Keyring as _, Keys, Mandate, Open, Proposed, Redemption,
    Rehearsal, Reservation, Reserving, SessionSigner as _, rehearse,
};
use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY};
use std::{io::Read as _, os::unix::process::ExitStatusExt as _, path::Path, sync::Arc};

const KILL: i32 = 9;
/// The deed that the owner is asked about.
const DEED: u64 = 1;
const LAST: u64 = NOW + 60;

/// A Golem whose owner is asked about everything.
struct House {
    store: Arc<Store>,
    ledger: Arc<OwnerLedger>,
    keys: Keys,
    caps: Caps,
    now: u64,
}

impl House {
    fn at(folder: &Path, caps: Caps) -> Self {
        let ledger = Arc::new(ledger(&ledger_path(folder)));
        let store = Arc::new(Store::open(&config(folder), Some(&ledger)).unwrap());
        Self { store, ledger, keys: Keys::hosted(), caps, now: NOW }
    }

    fn mandate(&self) -> Mandate {
        let consent = Some(Consent { above: 0, lifetime: 60, approvals: self.ledger.clone() });
        Mandate {
            golem: GOLEM,
            owner: owner(),
            caps: self.caps,
            consent,
            books: self.store.clone(),
        }
    }

    /// The deed, proposed once more.
    async fn reserves(&self) -> Result<Cleared<ByTransaction>, Denial> {
        let session = self.keys.current().await.unwrap();
        let grant = Delegation {
            delegate: session,
            delegator: Address::repeat_byte(1),
            authority: ROOT_AUTHORITY,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let call = Execution { target: DOMAIN.manager, value: U256::ZERO, data: Bytes::new() };
        let context = PermissionContext::new(vec![grant]).unwrap();
        let redemption = Redemption::single(DOMAIN.manager, context, &call);
        #[expect(clippy::disallowed_methods, reason = "what comes after a judgement is shown")]
        let judged = Proposed::new(intent(DEED), redemption).by_hand().asked(5_000_000, LAST);
        let (chain, policy) = (FakeChain { nonce: 0, now: self.now }, policy());
        let rehearsal = rehearse(&chain, judged, session, &policy).await;
        let Rehearsal::Passed(rehearsed) = rehearsal.unwrap() else {
            panic!("it allows everything")
        };
        match rehearsed.reserve(&self.mandate(), self.now).await.unwrap() {
            Reservation::Made(cleared) => Ok(cleared),
            Reservation::Refused(denial) => Err(denial),
        }
    }

    async fn refuses(&self) -> DenialCode {
        self.reserves().await.unwrap_err().code
    }

    async fn says(&self, approved: bool) {
        let question = self.ledger.waiting(NOW).await.unwrap().remove(0);
        let answer = owner_key().answer(&question, approved);
        let kept = self.ledger.reply(question.intent, &answer, NOW).await.unwrap();
        assert_eq!(kept, Replying::Kept);
    }

    /// What there is of his word, for the deed that he was asked about.
    async fn word(&self, digest: B256) -> Result<(), DenialCode> {
        match self.ledger.weigh(intent(DEED), digest, NOW).await.unwrap() {
            Approving::Granted => Ok(()),
            Approving::Refused(denial) => Err(denial.code),
        }
    }

    async fn open(&self) -> Vec<Open> {
        self.store.open().await.unwrap()
    }
}

const fn policy() -> ClearingPolicy {
    ClearingPolicy { fee_ceiling: U256::MAX, lifetime: 60 }
}

/// Role: proposes the deed, and signs it if it may.
pub(crate) fn propose(folder: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let house = House::at(folder, NO_CAPS);
        match house.reserves().await {
            Err(denial) => say(&denial.code.to_string()),
            Ok(cleared) => {
                let key = house.keys.signer().await.unwrap();
                let sealed = key.sign(cleared, NOW).await.unwrap();
                let _afloat = sealed.keep(&house.mandate(), NOW).await.unwrap();
                say("signed");
            }
        }
    });
}

/// What a process that proposes says; none where it was killed.
fn proposes(folder: &Path, crash_at: Option<&str>) -> Option<String> {
    let mut command = child("propose", folder);
    if let Some(step) = crash_at {
        command.env("BARDO_CRASH_AT", step);
    }
    let mut process = command.spawn().unwrap();
    let mut said = String::new();
    process.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    let status = process.wait().unwrap();
    let killed = status.signal() == Some(KILL);
    assert!(killed == crash_at.is_some() && (killed || status.success()), "{status}: {said}");
    (!killed).then(|| said.trim().to_owned())
}

/// What stands against it after his yes leaves him his yes; it is used with the reservation, and once.
#[tokio::test]
async fn a_yes_outlives_every_refusal_behind_it_and_is_used_once() {
    let folder = folder();
    let caps = Caps { owner_day: Some(100), ..NO_CAPS };
    let mut house = House::at(folder.path(), caps);
    assert_eq!(house.refuses().await, DenialCode::ApprovalMissing);
    let digest = house.ledger.waiting(NOW).await.unwrap()[0].digest;
    house.says(true).await;
    // By hand it spends nothing that is counted, and takes its turn in time like all the rest.
    let ahead = NOW + CLOCK_SLACK + 1;
    let later = house.store.reserve(&entry(2, 100, ahead), &caps).await.unwrap();
    assert_eq!(later, Reserving::Made);

    assert_eq!(house.refuses().await, DenialCode::Clock);
    assert_eq!(house.word(digest).await, Ok(()));

    house.now += 1;
    let cleared = house.reserves().await;
    assert!(cleared.is_ok(), "{cleared:?}");
    assert_eq!(house.word(digest).await, Err(DenialCode::ApprovalUsed));
    assert_eq!(house.refuses().await, DenialCode::ApprovalUsed);
}

/// Killed between the reservation and his yes, or behind it, or with a signature: of one yes comes one signature at most.
#[tokio::test]
async fn killed_around_its_owners_yes_it_signs_once_at_most() {
    for (step, word, bids) in [
        ("intent.reserved", Ok(()), 0),
        ("intent.sealed", Err(DenialCode::ApprovalUsed), 0),
        ("intent.kept", Err(DenialCode::ApprovalUsed), 1),
    ] {
        let folder = folder();
        assert_eq!(proposes(folder.path(), None).unwrap(), DenialCode::ApprovalMissing.to_string());
        let house = House::at(folder.path(), NO_CAPS);
        let digest = house.ledger.waiting(NOW).await.unwrap()[0].digest;
        house.says(true).await;
        drop(house);

        assert_eq!(proposes(folder.path(), Some(step)), None);

        let house = House::at(folder.path(), NO_CAPS);
        assert_eq!(house.word(digest).await, word, "{step}");
        let open = house.open().await;
        assert_eq!((open.len(), open[0].bids.len()), (1, bids), "{step}");
        drop(house);
        // Whoever comes next has the name in his books, whatever is left of the word.
        let next = proposes(folder.path(), None).unwrap();
        let codes = [DenialCode::IntentUsed, DenialCode::ApprovalUsed].map(|code| code.to_string());
        assert!(codes.contains(&next), "{step}: {next}");
    }
}
