//! SPEC K6, INV-4: every bound of a local key becomes a caveat, or there is no grant.

use crate::charter::environment;
use alloy_primitives::{Address, B256, U256};
use golem_custody::{DelegationBounds, DelegationBoundsError as Refused};
use golem_delegation::{
    Caveat, Environment, Kind, Rule, attenuates,
    bundles::BundleError,
    terms::{
        AllowedTargets, Class, Classes, GolemCharter, LimitedCalls, ListedTarget, ListedToken,
        Listing, MortalityTimeWindow, Role,
    },
};
use proptest::{collection, prelude::*};

const NOW: u64 = 1_000_000;
const DOLLAR: u64 = 1_000_000;
const KEY: Address = Address::repeat_byte(0x20);
const USDC: Address = Address::repeat_byte(0x21);
const ROUTER: Address = Address::repeat_byte(0x22);
const VAULT: Address = Address::repeat_byte(0x23);
/// A token that is priced and cannot be called.
const QUIET: Address = Address::repeat_byte(0x24);
const MANY: u8 = 0x80;

/// All that an owner would ever grant.
fn most() -> GolemCharter {
    let token = |token, role| ListedToken {
        token,
        role,
        feed: Address::repeat_byte(9),
        token_decimals: 6,
        feed_decimals: 8,
        max_age: 3_600,
    };
    let many = (MANY..=MANY + 64).map(|byte| (Address::repeat_byte(byte), Role::Vault));
    let targets = [(ROUTER, Role::SwapRouter02), (VAULT, Role::Vault), (KEY, Role::AgentKey)];
    GolemCharter {
        golem_id: B256::repeat_byte(3),
        owner: Address::repeat_byte(1),
        epoch: 1,
        generation: 0,
        registry: Address::repeat_byte(4),
        account: Address::repeat_byte(2),
        beneficiary: Address::repeat_byte(1),
        agent_key: KEY,
        replicants: true,
        classes: Classes::ALL,
        window: MortalityTimeWindow::new(NOW - 1_000, NOW + 10_000).unwrap(),
        spend_cap: 1_000 * DOLLAR,
        // Half a day: what a bound says of a day must not be halved.
        bucket_minutes: 60,
        slippage_bps: 100,
        vault: Address::ZERO,
        nav_bps: 0,
        nav_cap: 500 * DOLLAR,
        staleness: 86_400,
        gas_ceiling: 1,
        gas_daily_cap: 1,
        settlement_asset: USDC,
        max_royalty_bps: None,
        mood: None,
        listing: Listing {
            tokens: vec![token(USDC, Some(Role::Token)), token(QUIET, None)],
            targets: targets
                .into_iter()
                .chain(many)
                .map(|(target, role)| ListedTarget { target, role })
                .collect(),
            ..Listing::default()
        },
    }
}

fn bounds() -> DelegationBounds {
    DelegationBounds {
        max_daily_micro_dollars: 25 * DOLLAR,
        max_total_calls: 100,
        expires_at: NOW + 5_000,
        allowed_targets: vec![USDC, ROUTER],
    }
}

fn rules(caveats: &[Caveat]) -> (GolemCharter, AllowedTargets, LimitedCalls) {
    let read: Vec<_> = caveats.iter().map(|caveat| environment().read(caveat).unwrap()).collect();
    let Ok([Rule::GolemCharter(charter), Rule::AllowedTargets(to), Rule::LimitedCalls(calls)]) =
        <[Rule; 3]>::try_from(read)
    else {
        panic!("a charter, its targets and its calls");
    };
    (*charter, to, calls)
}

#[test]
fn each_bound_stands_in_a_caveat() {
    let (charter, targets, calls) = rules(&bounds().compile(most(), &environment(), NOW).unwrap());

    assert_eq!((charter.spend_cap, charter.bucket_minutes), (25 * DOLLAR, 120), "in any day");
    assert_eq!((charter.window.start(), charter.window.end()), (NOW - 1_000, NOW + 5_000));
    assert_eq!(targets.0, [USDC, ROUTER]);
    assert_eq!(calls.0, U256::from(100));
    let listed: Vec<_> = charter.listing.targets.iter().map(|listed| listed.target).collect();
    assert_eq!(listed, [ROUTER], "a spender that is no target is no spender either");
    assert!(!charter.replicants && !charter.classes.contains(Class::SpawnReplicant));
    assert!(!charter.classes.contains(Class::GasTopUp), "gas money is in no daily sum");
    assert_eq!(charter.nav_cap, most().nav_cap, "what is not bounded here stays as it was");
}

#[test]
fn what_is_not_called_is_priced_all_the_same() {
    let only = DelegationBounds { allowed_targets: vec![ROUTER], ..bounds() };

    let (charter, ..) = rules(&only.compile(most(), &environment(), NOW).unwrap());

    let roles: Vec<_> = charter.listing.tokens.iter().map(|it| (it.token, it.role)).collect();
    assert_eq!(roles, [(USDC, None), (QUIET, None)]);
}

#[test]
fn a_charter_that_is_tighter_stays_so() {
    let wide = DelegationBounds {
        max_daily_micro_dollars: u64::MAX,
        max_total_calls: u32::MAX,
        expires_at: u64::MAX,
        ..bounds()
    };

    let (charter, _, calls) = rules(&wide.compile(most(), &environment(), NOW).unwrap());

    assert_eq!((charter.spend_cap, charter.window), (most().spend_cap, most().window));
    assert_eq!(calls.0, U256::from(u32::MAX));
}

#[test]
fn nothing_is_nothing_and_never_as_much_as_you_like() {
    for (change, bound) in [
        (
            (|it: &mut DelegationBounds| it.max_daily_micro_dollars = 0) as fn(&mut _),
            "maxDailyMicroDollars",
        ),
        (|it| it.max_total_calls = 0, "maxTotalCalls"),
        (|it| it.allowed_targets.clear(), "allowedTargets"),
    ] {
        let mut none = bounds();
        change(&mut none);
        let refused = none.compile(most(), &environment(), NOW);
        assert_eq!(refused, Err(Refused::Nothing { bound }));
    }
}

#[test]
fn bounds_that_cannot_be_kept_are_refused() {
    let refused = |bounds: &DelegationBounds| bounds.compile(most(), &environment(), NOW);
    let until = |expires_at| DelegationBounds { expires_at, ..bounds() };
    let to = |allowed_targets: &[Address]| DelegationBounds {
        allowed_targets: allowed_targets.to_vec(),
        ..bounds()
    };
    for expires_at in [0, NOW - 1, NOW] {
        assert_eq!(refused(&until(expires_at)), Err(Refused::Expired { expires_at, now: NOW }));
    }
    assert!(refused(&until(NOW + 1)).is_ok());
    let early = until(NOW - 1_500).compile(most(), &environment(), NOW - 2_000);
    assert_eq!(early, Err(Refused::Charter(BundleError::NoTime)), "over before the charter begins");

    let stranger = Address::repeat_byte(0x66);
    assert_eq!(refused(&to(&[ROUTER, USDC, ROUTER])), Err(Refused::Duplicate { target: ROUTER }));
    for target in [stranger, QUIET, Address::ZERO] {
        assert_eq!(refused(&to(&[ROUTER, target])), Err(Refused::UnknownTarget { target }));
    }
    assert_eq!(refused(&to(&[KEY])), Err(Refused::OwnKey { key: KEY }));
    let many: Vec<_> = (MANY..=MANY + 64).map(Address::repeat_byte).collect();
    assert!(refused(&to(&many[..64])).is_ok());
    assert_eq!(refused(&to(&many)), Err(Refused::TooManyTargets { limit: 64, actual: 65 }));
}

/// INV-4: a chain on which one of the three contracts is missing gets no grant with two of them.
#[test]
fn an_enforcer_that_stands_nowhere_is_no_bound() {
    for missing in [Kind::GolemCharter, Kind::AllowedTargets, Kind::LimitedCalls] {
        let all = Kind::ALL.iter().zip(0x10_u8..).filter(|(kind, _)| **kind != missing);
        let rest = all.fold(Environment::default(), |all, (kind, byte)| {
            all.with(*kind, Address::repeat_byte(byte))
        });

        let refused = bounds().compile(most(), &rest, NOW);

        assert_eq!(refused, Err(Refused::NoEnforcer { enforcer: missing.name() }));
    }
}

#[test]
fn a_bound_that_is_misspelt_is_refused() {
    let good = serde_json::to_value(bounds()).unwrap();
    assert_eq!(serde_json::from_value::<DelegationBounds>(good.clone()).unwrap(), bounds());

    for name in ["maxDailyMicroDollars", "maxTotalCalls", "expiresAt", "allowedTargets"] {
        let mut bad = good.clone();
        let value = bad.as_object_mut().unwrap().remove(name).unwrap();
        assert!(serde_json::from_value::<DelegationBounds>(bad.clone()).is_err(), "no {name}");
        bad[format!("{name}s")] = value;
        assert!(serde_json::from_value::<DelegationBounds>(bad).is_err(), "{name} misspelt");
    }
    let mut float = good;
    float["maxDailyMicroDollars"] = 0.5.into();
    assert!(serde_json::from_value::<DelegationBounds>(float).is_err(), "INV-3");
}

fn any_target() -> impl Strategy<Value = Address> {
    prop_oneof![
        8 => prop::sample::select(vec![USDC, ROUTER, VAULT]),
        1 => prop::sample::select(vec![KEY, QUIET, Address::ZERO]),
        1 => any::<[u8; 20]>().prop_map(Address::from),
    ]
}

fn any_bounds() -> impl Strategy<Value = DelegationBounds> {
    let sum = prop_oneof![Just(0), 1..2_000 * DOLLAR, Just(u64::MAX)];
    let calls = prop_oneof![Just(0), 1..200u32, Just(u32::MAX)];
    let until = prop_oneof![NOW - 2..NOW + 20_000, any::<u64>()];
    (sum, calls, until, collection::vec(any_target(), 0..4)).prop_map(
        |(max_daily_micro_dollars, max_total_calls, expires_at, allowed_targets)| {
            DelegationBounds {
                max_daily_micro_dollars,
                max_total_calls,
                expires_at,
                allowed_targets,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// Whatever is asked for, a grant says all four bounds or is none; and nothing that the charter did not give.
    #[test]
    fn a_grant_never_says_more_than_its_bounds(bounds in any_bounds()) {
        let Ok(caveats) = bounds.compile(most(), &environment(), NOW) else { return Ok(()) };

        let (charter, targets, calls) = rules(&caveats);
        prop_assert!(charter.spend_cap > 0 && charter.spend_cap <= bounds.max_daily_micro_dollars);
        prop_assert!(charter.bucket_minutes >= 120);
        prop_assert!(charter.window.end() <= bounds.expires_at);
        prop_assert_eq!(calls.0, U256::from(bounds.max_total_calls));
        prop_assert!(!calls.0.is_zero() && !targets.0.is_empty());
        prop_assert_eq!(&targets.0, &bounds.allowed_targets);
        let callable = charter.listing.tokens.iter().filter(|it| it.role.is_some());
        let callable = callable.map(|it| it.token);
        for target in charter.listing.targets.iter().map(|it| it.target).chain(callable) {
            prop_assert!(bounds.allowed_targets.contains(&target));
        }
        // Buckets of another length are not comparable.
        let whole = GolemCharter { bucket_minutes: charter.bucket_minutes, ..most() };
        let whole = [Rule::GolemCharter(Box::new(whole))];
        prop_assert_eq!(attenuates(&whole, &[Rule::GolemCharter(Box::new(charter))]), Ok(()));
    }

    /// SPEC G4: tighter bounds are a tighter grant, by the procedure that judges children.
    #[test]
    fn tighter_bounds_are_a_tighter_grant(bounds in any_bounds(), less in 1u64..4, calls in 1u32..4) {
        let tighter = DelegationBounds {
            max_daily_micro_dollars: bounds.max_daily_micro_dollars / less,
            max_total_calls: bounds.max_total_calls / calls,
            expires_at: bounds.expires_at - bounds.expires_at.saturating_sub(NOW + 1) / less,
            allowed_targets: bounds.allowed_targets.iter().copied().skip(1).collect(),
        };
        let read = |caveats: Vec<Caveat>| -> Vec<Rule> {
            caveats.iter().map(|caveat| environment().read(caveat).unwrap()).collect()
        };
        let wide = bounds.compile(most(), &environment(), NOW);
        let narrow = tighter.compile(most(), &environment(), NOW);
        let (Ok(wide), Ok(narrow)) = (wide, narrow) else { return Ok(()) };

        prop_assert_eq!(attenuates(&read(wide), &read(narrow)), Ok(()));
    }
}
