//! SPEC K1, K7: six steps, forward only; each is there after a restart, and none is made twice or otherwise.

use crate::charter::granted;
use alloy_primitives::{Address, B256, Bytes, U256};
use golem_custody::{
    Choice, Choosing, CustodyChoice, CustodyMode, Means, MemoryBooks, Onboarding, OnboardingError,
    OnboardingSteps, OwnerSigner, SignIn, SignInError,
};
use golem_delegation::SigningDomain;

const NOW: u64 = 1_000_000;
const DOMAIN: SigningDomain = SigningDomain { chain_id: 8453, manager: Address::repeat_byte(0xdb) };

fn asked(address: Address) -> SignIn {
    SignIn {
        domain: "127.0.0.1:3003".to_owned(),
        address,
        statement: "Become the owner of a Golem.".to_owned(),
        uri: "http://127.0.0.1:3003/onboard".to_owned(),
        chain_id: 8453,
        nonce: "5f3a9c1e7b2d4860".to_owned(),
        issued_at: NOW,
        expires_at: NOW + 600,
    }
}

fn wallet(owner: &OwnerSigner) -> Means {
    let session = Address::repeat_byte(9);
    let grant = owner.grant(&DOMAIN, granted(owner.address(), session)).unwrap();
    Means::Granted { account: grant.delegator, session, grant: Box::new(grant) }
}

/// Makes step `number`, whatever the state is.
async fn make(
    steps: &OnboardingSteps<'_, MemoryBooks>,
    owner: &OwnerSigner,
    number: u8,
) -> Result<Onboarding, OnboardingError> {
    let now = NOW + u64::from(number);
    match number {
        0 => steps.begin(asked(owner.address()), now).await,
        1 => {
            let signature = owner.sign_in(&asked(owner.address())).unwrap();
            steps.signed_in(&signature, now).await
        }
        2 => steps.chose(CustodyMode::Delegation, now).await,
        3 => steps.set_up(wallet(owner), now).await,
        4 => steps.wrote("DCA into ether", "every 5 minutes", now).await,
        5 => steps.registered(Some(U256::from(7)), now).await,
        _ => steps.summoned(B256::repeat_byte(3), now).await,
    }
}

#[tokio::test]
async fn from_each_step_only_the_next_can_be_made() {
    let owner = OwnerSigner::born();
    for reached in 0..=6u8 {
        for tried in 0..=6u8 {
            let books = MemoryBooks::default();
            let steps = OnboardingSteps::new(&books);
            for number in 0..=reached {
                make(&steps, &owner, number).await.unwrap();
            }
            let before = steps.at().await.unwrap();

            let made = make(&steps, &owner, tried).await;

            // Who has not answered yet may be asked again.
            let next = tried == reached + 1 || (reached, tried) == (0, 0);
            assert_eq!(made.is_ok(), next, "{tried} after {reached}: {made:?}");
            if let Err(refused) = made {
                assert!(matches!(refused, OnboardingError::OutOfStep { .. }), "{refused:?}");
                assert_eq!(steps.at().await.unwrap(), before, "nothing was changed");
            }
        }
    }
}

#[tokio::test]
async fn what_was_made_is_there_for_whoever_comes_next() {
    let (owner, books) = (OwnerSigner::born(), MemoryBooks::default());
    let means = wallet(&owner);
    for number in 0..=6u8 {
        // As after a restart: nothing but the books is kept.
        make(&OnboardingSteps::new(&books), &owner, number).await.unwrap();
    }

    let at = OnboardingSteps::new(&books).at().await.unwrap();

    let golem = B256::repeat_byte(3);
    assert_eq!(at, Some(Onboarding::Live { golem, owner: owner.address(), means }));
    let kinds = books.kinds();
    let of = |name: &str| kinds.iter().filter(|kind| *kind == name).count();
    assert_eq!((of("onboarding"), of("custody")), (7, 3), "each step is in the log: {kinds:?}");
    let fixed = Choice::Fixed { mode: CustodyMode::Delegation, since: NOW + 6 };
    assert_eq!(CustodyChoice::new(&books).at().await.unwrap(), Some(fixed));
}

#[tokio::test]
async fn nobody_signs_in_for_another_nor_late_nor_with_other_words() {
    let (owner, other) = (OwnerSigner::born(), OwnerSigner::born());
    let request = asked(owner.address());
    let good = owner.sign_in(&request).unwrap();
    assert_eq!(request.verify(&good, NOW).unwrap(), owner.address());
    assert_eq!(request.verify(&good, NOW + 600).unwrap(), owner.address());

    assert!(matches!(request.verify(&good, NOW + 601), Err(SignInError::Expired { .. })));
    assert!(matches!(request.verify(&good, NOW - 1), Err(SignInError::Early { .. })));
    let theirs = other.sign_in(&request).unwrap();
    assert!(matches!(request.verify(&theirs, NOW), Err(SignInError::OtherSigner { .. })));
    for change in [
        |it: &mut SignIn| it.domain = "127.0.0.1:3004".to_owned(),
        |it: &mut SignIn| it.uri.push('x'),
        |it: &mut SignIn| it.statement.push('x'),
        |it: &mut SignIn| it.nonce.push('x'),
        |it: &mut SignIn| it.chain_id += 1,
        |it: &mut SignIn| it.expires_at += 1,
    ] {
        let mut changed = request.clone();
        change(&mut changed);
        let refused = changed.verify(&good, NOW);
        assert!(matches!(refused, Err(SignInError::OtherSigner { .. })), "{changed:?}");
    }
    for torn in [&good[..64], &[], &[0xff; 65]] {
        let refused = request.verify(&Bytes::copy_from_slice(torn), NOW);
        assert!(refused.is_err(), "{torn:?}");
    }
}

#[test]
fn a_field_that_would_make_another_message_is_refused() {
    for change in [
        |it: &mut SignIn| it.domain = "evil.example/127.0.0.1:3003".to_owned(),
        |it: &mut SignIn| it.domain = "two words".to_owned(),
        |it: &mut SignIn| it.domain.clear(),
        |it: &mut SignIn| it.statement = "one\nURI: http://evil.example".to_owned(),
        |it: &mut SignIn| it.statement.clear(),
        |it: &mut SignIn| it.uri = "no scheme".to_owned(),
        |it: &mut SignIn| it.nonce = "short".to_owned(),
        |it: &mut SignIn| it.nonce = "0123456789abcdef\nURI: x".to_owned(),
        |it: &mut SignIn| it.expires_at = it.issued_at,
        |it: &mut SignIn| it.expires_at = u64::MAX,
    ] {
        let mut changed = asked(Address::ZERO);
        change(&mut changed);
        assert!(matches!(changed.message(), Err(SignInError::Malformed { .. })), "{changed:?}");
    }
}

#[tokio::test]
async fn a_wallet_fits_what_was_chosen() {
    let owner = OwnerSigner::born();
    let provided = || Means::Provided {
        wallet: "w".to_owned(),
        address: Address::ZERO,
        policy: None,
        key: None,
    };
    let changed = |change: fn(&mut golem_delegation::Delegation)| {
        let Means::Granted { account, session, mut grant } = wallet(&owner) else {
            panic!("granted");
        };
        change(&mut grant);
        Means::Granted { account, session, grant }
    };
    for (mode, wallet, fits) in [
        (CustodyMode::Embedded, provided(), true),
        (CustodyMode::Delegation, provided(), false),
        (CustodyMode::LocalKey, provided(), false),
        (CustodyMode::LocalKey, wallet(&owner), true),
        (CustodyMode::Embedded, wallet(&owner), false),
        (CustodyMode::Delegation, changed(|grant| grant.delegate = Address::ZERO), false),
        (CustodyMode::Delegation, changed(|grant| grant.delegator = Address::ZERO), false),
        (CustodyMode::Delegation, changed(|grant| grant.signature = Bytes::new()), false),
    ] {
        let books = MemoryBooks::default();
        let steps = OnboardingSteps::new(&books);
        for number in 0..=1 {
            make(&steps, &owner, number).await.unwrap();
        }
        steps.chose(mode, NOW).await.unwrap();

        let made = steps.set_up(wallet, NOW).await;

        assert_eq!(made.is_ok(), fits, "{mode:?}: {made:?}");
    }
}

#[tokio::test]
async fn a_strategy_says_something_and_not_too_much() {
    let owner = OwnerSigner::born();
    let books = MemoryBooks::default();
    let steps = OnboardingSteps::new(&books);
    for number in 0..=3 {
        make(&steps, &owner, number).await.unwrap();
    }
    let long = "x".repeat(64 * 1024 + 1);

    for (strategy, heartbeat) in
        [("", "h"), ("s", " \n"), (long.as_str(), "h"), ("s", long.as_str())]
    {
        let refused = steps.wrote(strategy, heartbeat, NOW).await;
        assert!(matches!(refused, Err(OnboardingError::Text { .. })), "{refused:?}");
    }
    steps.wrote(&long[1..], "h", NOW).await.unwrap();
}

/// K1: there is one choice, which the steps have no copy of: between the second and the third step the last one counts, from the third
/// on there is no other.
#[tokio::test]
async fn the_choice_is_kept_in_one_place_and_bound_by_the_wallet() {
    let (owner, books) = (OwnerSigner::born(), MemoryBooks::default());
    let (steps, choice) = (OnboardingSteps::new(&books), CustodyChoice::new(&books));
    for number in 0..=2u8 {
        make(&steps, &owner, number).await.unwrap();
    }
    assert_eq!(steps.mode().await.unwrap(), Some(CustodyMode::Delegation));
    let open = Choice::Open { mode: CustodyMode::LocalKey };
    assert_eq!(
        choice.choose(CustodyMode::LocalKey, NOW).await.unwrap(),
        Choosing::Taken(open),
        "nothing is made for the first one yet"
    );
    assert_eq!(steps.mode().await.unwrap(), Some(CustodyMode::LocalKey));

    make(&steps, &owner, 3).await.unwrap();

    let (fixed, wanted, since) = (CustodyMode::LocalKey, CustodyMode::Embedded, NOW + 3);
    let refused = Choosing::Refused { fixed, since, wanted };
    assert_eq!(choice.choose(wanted, NOW).await.unwrap(), refused);
    assert_eq!(steps.mode().await.unwrap(), Some(fixed));
}

/// K1: a Golem that had its first tick is onboarded in its own mode or not at all.
#[tokio::test]
async fn after_the_first_tick_no_onboarding_chooses_otherwise() {
    let (owner, books) = (OwnerSigner::born(), MemoryBooks::default());
    let (steps, choice) = (OnboardingSteps::new(&books), CustodyChoice::new(&books));
    let _ = choice.choose(CustodyMode::LocalKey, NOW).await.unwrap();
    let _ = choice.tick(NOW).await.unwrap();
    make(&steps, &owner, 0).await.unwrap();
    make(&steps, &owner, 1).await.unwrap();

    let refused = make(&steps, &owner, 2).await;

    let (fixed, wanted) = (CustodyMode::LocalKey, CustodyMode::Delegation);
    assert!(
        matches!(refused, Err(OnboardingError::Bound { fixed: is, since: NOW, wanted: not }) if (is, not) == (fixed, wanted)),
        "{refused:?}"
    );
    assert_eq!(steps.at().await.unwrap().map(|at| at.number()), Some(2));
    steps.chose(fixed, NOW).await.unwrap();
}
