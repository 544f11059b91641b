//! SPEC K3, D11, D21: a key is replaced in steps, by its owner's word alone, and never are there two.

use crate::charter::{environment, granted};
use alloy_primitives::{Address, B256, U256};
use golem_custody::{
    Books, Caps, CustodyError, Ending, Entry, IntentId, KeyUse, Keyring as _, Keys, MemoryBooks,
    OwnerSigner, Password, Rotation, RotationError, RotationPolicy, RotationReason, Rotations,
    SessionSigner as _, Switching,
};
use golem_delegation::{Delegation, SigningDomain};
use std::path::Path;
use zeroize::Zeroizing;

const NOW: u64 = 1_000_000;
const DOMAIN: SigningDomain = SigningDomain { chain_id: 8453, manager: Address::repeat_byte(0xdb) };

fn password() -> Password {
    Password::typed(Zeroizing::new("open sesame".to_owned())).unwrap()
}

struct Scene {
    books: MemoryBooks,
    keys: Keys,
    owner: OwnerSigner,
    grant: Delegation,
}

impl Scene {
    async fn of(keys: Keys) -> Self {
        let owner = OwnerSigner::born();
        let key = keys.current().await.unwrap();
        let grant = owner.grant(&DOMAIN, granted(owner.address(), key)).unwrap();
        Self { books: MemoryBooks::default(), keys, owner, grant }
    }

    const fn rotations(&self) -> Rotations<'_, MemoryBooks, Keys> {
        Rotations::new(&self.books, &self.keys)
    }

    async fn begin(&self) -> Result<Delegation, RotationError> {
        self.rotations().begin(RotationReason::Age, &self.grant, &environment(), NOW).await
    }

    async fn granted(&self, signed: Delegation) -> Result<(), RotationError> {
        self.rotations().granted(signed, self.owner.address(), &DOMAIN, NOW).await
    }

    fn signs(&self, grant: Delegation) -> Delegation {
        self.owner.grant(&DOMAIN, grant).unwrap()
    }

    const fn entry(&self, name: u8, session: Address) -> Entry {
        Entry {
            intent: IntentId(B256::repeat_byte(name)),
            golem: B256::ZERO,
            owner: self.owner.address(),
            session,
            micro_dollars: 1,
            at: NOW,
            what: serde_json::Value::Null,
        }
    }
}

const CAPS: Caps = Caps { session: 10, day: 10, owner_day: None };

#[test]
fn each_rule_is_due_at_its_number_and_not_one_before() {
    let policy = RotationPolicy::default();
    let fresh = KeyUse { since: NOW, operations: 0, granted: Some(1_000), left: 1_000 };

    for (used, now, due) in [
        (fresh, NOW, None),
        (KeyUse { operations: 9_999, ..fresh }, NOW, None),
        (KeyUse { operations: 10_000, ..fresh }, NOW, Some(RotationReason::Operations)),
        (fresh, NOW + 604_799, None),
        (fresh, NOW + 604_800, Some(RotationReason::Age)),
        (KeyUse { left: 101, ..fresh }, NOW, None),
        (KeyUse { left: 100, ..fresh }, NOW, Some(RotationReason::Budget)),
        // Of a grant without an end no tenth is known, and a clock that went back makes no key old.
        (KeyUse { granted: None, left: 0, ..fresh }, NOW, None),
        (fresh, NOW - 10, None),
    ] {
        assert_eq!(policy.due(&used, now), due, "{used:?} at {now}");
    }
}

#[tokio::test]
async fn the_old_key_works_until_the_new_one_has_its_place_and_then_no_more() {
    let scene = Scene::of(Keys::hosted()).await;
    let old = scene.keys.signer().await.unwrap();
    let wanted = scene.begin().await.unwrap();

    assert_eq!(scene.keys.current().await, Some(old.address()), "while the owner is away");
    let signed = scene.signs(wanted.clone());
    scene.granted(signed.clone()).await.unwrap();
    scene.granted(signed).await.unwrap();
    assert_eq!(scene.keys.current().await, Some(old.address()), "until it is switched");

    let Switching::Done(new, grant) = scene.rotations().switch(&scene.books, NOW).await.unwrap()
    else {
        panic!("nothing is afloat");
    };
    assert_eq!((new, grant.hash()), (wanted.delegate, wanted.hash()));
    assert_eq!(scene.keys.current().await, Some(new));
    let cleared = crate::clearance::cleared_for(old.address()).await;
    let refused = old.sign(cleared, 1_000).await;
    assert!(matches!(refused, Err(CustodyError::Replaced { .. })));
    assert_eq!(scene.books.kinds(), ["rotation"; 3], "each step is in the log");
}

#[tokio::test]
async fn what_is_afloat_of_the_old_key_is_waited_for() {
    let scene = Scene::of(Keys::hosted()).await;
    let old = scene.keys.current().await.unwrap();
    let one = scene.entry(1, old);
    let _ = scene.books.reserve(&one, &CAPS).await.unwrap();
    let _ = scene.books.reserve(&scene.entry(2, Address::ZERO), &CAPS).await.unwrap();
    let wanted = scene.begin().await.unwrap();
    scene.granted(scene.signs(wanted)).await.unwrap();

    assert_eq!(scene.rotations().switch(&scene.books, NOW).await.unwrap(), Switching::Waits(1));
    assert_eq!(scene.keys.current().await, Some(old));

    let done = Ending::Done { hash: B256::ZERO, block: 1 };
    scene.books.settle(one.intent, &done, NOW).await.unwrap();
    let switched = scene.rotations().switch(&scene.books, NOW).await.unwrap();
    assert!(matches!(switched, Switching::Done(..)));
}

#[tokio::test]
async fn nobody_but_the_owner_grants_and_nothing_but_what_he_was_asked_for() {
    let scene = Scene::of(Keys::hosted()).await;
    let unasked = scene.granted(scene.grant.clone()).await;
    assert!(matches!(unasked, Err(RotationError::OutOfStep { .. })), "{unasked:?}");
    let wanted = scene.begin().await.unwrap();

    let stranger = OwnerSigner::born().grant(&DOMAIN, wanted.clone()).unwrap();
    let refused = scene.granted(stranger).await;
    assert!(matches!(refused, Err(RotationError::Unsigned { .. })), "{refused:?}");
    let unsigned = scene.granted(wanted.clone()).await;
    assert!(matches!(unsigned, Err(RotationError::Unsigned { .. })), "{unsigned:?}");
    let mut other = wanted.clone();
    other.salt += U256::from(1);
    let refused = scene.granted(scene.signs(other)).await;
    assert!(matches!(refused, Err(RotationError::NotTheNext { .. })), "{refused:?}");
    let early = scene.rotations().switch(&scene.books, NOW).await;
    assert!(matches!(early, Err(RotationError::OutOfStep { .. })), "{early:?}");

    scene.granted(scene.signs(wanted)).await.unwrap();
    let again = scene.begin().await;
    assert!(matches!(again, Err(RotationError::OutOfStep { .. })), "{again:?}");
}

#[tokio::test]
async fn asked_again_it_is_the_same_key() {
    let scene = Scene::of(Keys::hosted()).await;

    let first = scene.begin().await.unwrap();
    let second = scene.begin().await.unwrap();

    assert_eq!(first, second);
    assert_eq!(scene.books.kinds().len(), 1);
}

#[tokio::test]
async fn a_hosted_golem_that_was_restarted_forgets_a_rotation_of_keys_that_are_gone() {
    for granted in [false, true] {
        let mut scene = Scene::of(Keys::hosted()).await;
        let old = scene.keys.current().await.unwrap();
        let wanted = scene.begin().await.unwrap();
        if granted {
            scene.granted(scene.signs(wanted.clone())).await.unwrap();
        }

        scene.keys = Keys::hosted();
        let after = scene.rotations().resume(NOW).await.unwrap();

        let fresh = scene.keys.current().await.unwrap();
        assert!(fresh != old && fresh != wanted.delegate, "{granted}");
        let resting =
            Rotation::Resting { key: fresh, grant: scene.grant.clone(), epoch: 2, replaced: None };
        assert_eq!(after, Some(resting), "{granted}: what was asked for is not asked for again");
        let late = scene.granted(scene.signs(wanted)).await;
        assert!(matches!(late, Err(RotationError::OutOfStep { .. })), "{granted}: {late:?}");
    }
}

#[tokio::test]
async fn a_golem_of_its_owners_machine_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let reopened = |path: &Path| Keys::local(path, password()).unwrap();
    let mut scene = Scene::of(reopened(folder.path())).await;
    let old = scene.keys.current().await.unwrap();
    let wanted = scene.begin().await.unwrap();

    scene.keys = reopened(folder.path());
    assert_eq!(scene.keys.current().await, Some(old));
    let at = scene.rotations().resume(NOW).await.unwrap();
    assert!(matches!(at, Some(Rotation::Asked { .. })), "{at:?}");
    scene.granted(scene.signs(wanted.clone())).await.unwrap();

    scene.keys = reopened(folder.path());
    let at = scene.rotations().resume(NOW).await.unwrap();
    assert!(matches!(at, Some(Rotation::Granted { .. })), "{at:?}");
    // Ended between the rename and its record: it is in its place, and is recorded.
    scene.keys.switch().await.unwrap();
    scene.keys = reopened(folder.path());
    let switched = scene.rotations().switch(&scene.books, NOW).await.unwrap();

    assert!(matches!(switched, Switching::Done(new, _) if new == wanted.delegate));
    let names: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["session-key.json"], "of the old key nothing is left");
    scene.keys.end().await.unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(scene.keys.signer().await.is_none());
}
