//! SPEC D6a, D25: a grant for running costs is this Golem's, has an end and one redeemer, and no more than its owner meant.

use crate::charter::environment;
use alloy_primitives::{Address, U256};
use golem_custody::{
    MemoryBooks, OwnerSigner, Runway, RunwayFor, RunwayLimits, RunwayRefusal, Runways,
};
use golem_delegation::{
    Delegation, PermissionContext, ROOT_AUTHORITY, Rule, SigningDomain,
    permission::{Answer, Asset, Expected, Granted, Periodic, Permission, Request},
    terms::{Erc20PeriodTransfer, Redeemer, Timestamp, ValueLte},
};

const NOW: u64 = 1_800_000_000;
const DAY: u64 = 86_400;
const CHAIN: u64 = 8453;
const MANAGER: Address = Address::repeat_byte(0xdb);
const DOLLARS: Address = Address::repeat_byte(0x0d);
const SESSION: Address = Address::repeat_byte(0x5e);

fn dollars(amount: u64) -> U256 {
    U256::from(amount * 1_000_000)
}

const fn wanted(owner: &OwnerSigner) -> RunwayFor {
    RunwayFor { chain_id: CHAIN, owner: owner.address(), session: SESSION }
}

fn week(owner: &OwnerSigner) -> Request {
    Runway::request(&wanted(owner), DOLLARS, dollars(10), None, NOW + 7 * DAY)
}

/// What a wallet grants that was asked for this, and signs for `chain_id`.
fn granted_on(owner: &OwnerSigner, request: Request, chain_id: u64) -> Granted {
    let Permission::Periodic(periodic) = request.permission else { panic!("{request:?}") };
    let Asset::Erc20(token_address) = periodic.asset else { panic!("{request:?}") };
    let mut rules = vec![
        Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
            token_address,
            period_amount: periodic.amount,
            period_duration: U256::from(periodic.duration),
            start_date: U256::from(periodic.start.unwrap_or(NOW)),
        }),
        Rule::ValueLte(ValueLte(U256::ZERO)),
    ];
    if let Some(expiry) = request.rules.expiry {
        rules.push(Rule::Timestamp(Timestamp { after: 0, before: expiry.into() }));
    }
    if !request.rules.redeemers.is_empty() {
        rules.push(Rule::Redeemer(Redeemer(request.rules.redeemers.clone())));
    }
    let environment = environment();
    let leaf = Delegation {
        delegate: request.to,
        delegator: request.from.unwrap(),
        authority: ROOT_AUTHORITY,
        caveats: rules.iter().map(|rule| environment.caveat(rule).unwrap().unwrap()).collect(),
        salt: U256::ZERO,
        signature: Default::default(),
    };
    let leaf = owner.grant(&SigningDomain { chain_id, manager: MANAGER }, leaf).unwrap();
    let context = PermissionContext::new(vec![leaf]).unwrap().encode();
    let session = request.to;
    let answer =
        Answer { granted: request, context, dependencies: Vec::new(), manager: Some(MANAGER) };
    Granted::check(&answer, Expected { session, manager: MANAGER, environment: &environment })
        .unwrap()
}

fn granted(owner: &OwnerSigner, request: Request) -> Granted {
    let chain_id = request.chain_id;
    granted_on(owner, request, chain_id)
}

#[test]
fn what_was_asked_for_and_granted_is_taken_and_its_most_is_all_of_it() {
    let owner = OwnerSigner::born();
    let limits = RunwayLimits::of(DOLLARS);

    let runway = Runway::take(&granted(&owner, week(&owner)), &wanted(&owner), Some(&limits), NOW);

    let runway = runway.unwrap();
    assert_eq!((runway.per_day, runway.most), (dollars(10), dollars(70)), "seven days of it");
    assert_eq!((runway.session, runway.token), (SESSION, Some(DOLLARS)));
    assert_eq!(runway.expires_at, NOW + 7 * DAY);
    // Two days later there are five left, and a begun one counts whole.
    let later = granted(&owner, week(&owner));
    let later = Runway::take(&later, &wanted(&owner), Some(&limits), NOW + 2 * DAY + 1).unwrap();
    assert_eq!(later.most, dollars(50));
}

#[test]
fn what_is_not_this_golems_or_has_no_end_is_not_taken_whoever_means_it() {
    type Change = fn(&mut Request);
    type Refusal = fn(&RunwayRefusal) -> bool;
    let owner = OwnerSigner::born();
    let other = Address::repeat_byte(0x66);
    let cases: [(Change, Refusal); 6] = [
        (|it| it.chain_id = 1, |no| matches!(no, RunwayRefusal::OtherChain { actual: 1, .. })),
        (
            |it| {
                it.to = Address::repeat_byte(0x66);
                it.rules.redeemers = vec![it.to];
            },
            |no| matches!(no, RunwayRefusal::OtherKey { expected: SESSION, .. }),
        ),
        (
            |it| it.rules.redeemers.push(Address::repeat_byte(0x66)),
            |no| matches!(no, RunwayRefusal::Redeemers { redeemers: 2 }),
        ),
        (|it| it.rules.redeemers.clear(), |no| matches!(no, RunwayRefusal::Redeemers { .. })),
        (|it| it.rules.expiry = None, |no| matches!(no, RunwayRefusal::NoExpiry)),
        (|it| it.rules.expiry = Some(NOW), |no| matches!(no, RunwayRefusal::Over { .. })),
    ];
    for (change, is_it) in cases {
        let mut request = week(&owner);
        change(&mut request);
        let refused = Runway::take(&granted(&owner, request), &wanted(&owner), None, NOW);
        assert!(refused.as_ref().is_err_and(|no| is_it(no) && !no.is_a_limit()), "{refused:?}");
    }
    let theirs = Runway::take(
        &granted(&owner, week(&owner)),
        &RunwayFor { owner: other, ..wanted(&owner) },
        None,
        NOW,
    );
    assert!(matches!(theirs, Err(RunwayRefusal::OtherOwner { .. })), "{theirs:?}");
    let elsewhere = granted_on(&owner, week(&owner), 1);
    let elsewhere = Runway::take(&elsewhere, &wanted(&owner), None, NOW);
    assert_eq!(elsewhere, Err(RunwayRefusal::OtherSigner), "signed for another chain");
}

#[test]
fn more_than_a_careful_owner_gives_has_to_be_meant() {
    type Change = fn(&mut Request);
    fn periodic(request: &mut Request) -> &mut Periodic {
        match &mut request.permission {
            Permission::Periodic(periodic) => periodic,
            other => panic!("{other:?}"),
        }
    }
    let owner = OwnerSigner::born();
    let limits = RunwayLimits::of(DOLLARS);
    let cases: [(Change, bool); 9] = [
        (|it| periodic(it).amount = dollars(100), true),
        (|it| periodic(it).amount = dollars(100) + U256::from(1), false),
        // What is for a week can be had in a day.
        (|it| (periodic(it).amount, periodic(it).duration) = (dollars(700), 7 * DAY), false),
        (|it| (periodic(it).amount, periodic(it).duration) = (dollars(4), DAY / 24), true),
        (|it| (periodic(it).amount, periodic(it).duration) = (dollars(5), DAY / 24), false),
        (|it| (periodic(it).amount, periodic(it).duration) = (dollars(40), DAY / 2 + 1), true),
        (|it| it.rules.expiry = Some(NOW + 90 * DAY), true),
        (|it| it.rules.expiry = Some(NOW + 90 * DAY + 1), false),
        (|it| periodic(it).asset = Asset::Erc20(Address::repeat_byte(0x0e)), false),
    ];
    for (index, (change, taken)) in cases.into_iter().enumerate() {
        let mut request = week(&owner);
        change(&mut request);
        let granted = granted(&owner, request);

        let found = Runway::take(&granted, &wanted(&owner), Some(&limits), NOW);

        assert_eq!(found.is_ok(), taken, "{index}: {found:?}");
        assert!(found.err().is_none_or(|no| no.is_a_limit()), "{index}");
        assert!(Runway::take(&granted, &wanted(&owner), None, NOW).is_ok(), "{index}: meant");
    }
}

#[tokio::test]
async fn a_runway_is_kept_once_and_a_later_one_takes_its_place() {
    let (owner, books) = (OwnerSigner::born(), MemoryBooks::default());
    let take = |request| Runway::take(&granted(&owner, request), &wanted(&owner), None, NOW);
    let first = take(week(&owner)).unwrap();
    assert_eq!(Runways::new(&books).at().await.unwrap(), None);

    for _ in 0..2 {
        Runways::new(&books).keep(&first, NOW).await.unwrap();
    }

    assert_eq!(Runways::new(&books).at().await.unwrap().as_ref(), Some(&first));
    assert_eq!(books.kinds(), ["runway"], "once");
    let mut longer = week(&owner);
    longer.rules.expiry = Some(NOW + 30 * DAY);
    let second = take(longer).unwrap();
    Runways::new(&books).keep(&second, NOW).await.unwrap();
    assert_eq!(Runways::new(&books).at().await.unwrap(), Some(second));
}

/// D18, D19: what is given up is redeemed no more, and is known still, for its owner to revoke.
#[tokio::test]
async fn a_runway_that_is_given_up_is_none_and_is_known_still() {
    let (owner, books) = (OwnerSigner::born(), MemoryBooks::default());
    let runways = Runways::new(&books);
    assert_eq!(runways.end(NOW).await.unwrap(), None, "there is none");
    let first = Runway::take(&granted(&owner, week(&owner)), &wanted(&owner), None, NOW).unwrap();
    runways.keep(&first, NOW).await.unwrap();
    assert_eq!(runways.ended().await.unwrap(), None);

    for _ in 0..2 {
        assert_eq!(runways.end(NOW).await.unwrap().as_ref(), Some(&first));
    }

    assert_eq!(runways.at().await.unwrap(), None);
    assert_eq!(runways.ended().await.unwrap().as_ref(), Some(&first));
    assert_eq!(books.kinds(), ["runway", "runway"], "once");
}
