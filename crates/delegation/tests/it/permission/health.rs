use super::{Vectors, answer};
use alloy_primitives::U256;
use golem_delegation::permission::{
    Allowance, Asset, Cause, Condition, DAY, Health, Periodic, Permission, Stream, Usage,
};

const START: u64 = 1_800_000_000;
const LONG: u64 = START + 1000 * DAY;

const fn daily(amount: U256) -> Permission {
    let start = Some(START);
    Permission::Periodic(Periodic { asset: Asset::Native, amount, duration: DAY, start })
}

fn usage(spent: u64, now: u64) -> Usage {
    Usage { spent: U256::from(spent), now, disabled: false }
}

fn of_cap(cap: u64, spent: u64) -> Condition {
    Health::of(&daily(U256::from(cap)), Some(LONG), usage(spent, START)).condition
}

fn of_time(seconds_left: u64) -> Condition {
    let usage = usage(0, LONG - seconds_left);
    Health::of(&daily(U256::from(100)), Some(LONG), usage).condition
}

/// G10: healthy is more than half, critical less than a tenth; each boundary from both sides.
#[test]
fn the_caps_boundaries_are_exact() {
    assert_eq!(of_cap(100, 49), Condition::Healthy);
    assert_eq!(of_cap(100, 50), Condition::Low, "half is not more than half");
    assert_eq!(of_cap(101, 50), Condition::Healthy);
    assert_eq!(of_cap(101, 51), Condition::Low);
    assert_eq!(of_cap(100, 90), Condition::Low, "a tenth is not less than a tenth");
    assert_eq!(of_cap(100, 91), Condition::Critical);
    assert_eq!(of_cap(101, 90), Condition::Low, "11 of 101 are more than a tenth");
    assert_eq!(of_cap(101, 91), Condition::Critical, "10 of 101 are less than a tenth");
    assert_eq!(of_cap(1, 0), Condition::Healthy);
    assert_eq!(of_cap(1, 1), Condition::Critical);
    assert_eq!(of_cap(100, 100), Condition::Critical, "tomorrow it is whole again");
    assert_eq!(of_cap(100, 101), Condition::Critical);
}

#[test]
fn the_times_boundaries_are_exact() {
    assert_eq!(of_time(7 * DAY + 1), Condition::Healthy);
    assert_eq!(of_time(7 * DAY), Condition::Low, "seven days are not more than seven days");
    assert_eq!(of_time(DAY), Condition::Low, "a day is not less than a day");
    assert_eq!(of_time(DAY - 1), Condition::Critical);
    assert_eq!(of_time(1), Condition::Critical);
    // ATK-33: the contract takes `now < expiry`.
    assert_eq!(of_time(0), Condition::Revoked(Cause::Expired));
    let after = Health::of(&daily(U256::ONE), Some(START), usage(0, START + 1));
    assert_eq!(after.condition, Condition::Revoked(Cause::Expired));
    assert_eq!(after.seconds_left, Some(0));
}

#[test]
fn the_largest_numbers_are_judged_exactly() {
    let max = U256::MAX;
    let of = |spent: U256| {
        let usage = Usage { spent, now: START, disabled: false };
        Health::of(&daily(max), Some(LONG), usage).condition
    };
    let half = max / U256::from(2);
    assert_eq!(of(half), Condition::Healthy, "max is odd, so this leaves one more than it spent");
    assert_eq!(of(half + U256::ONE), Condition::Low);
    let tenth = max.div_ceil(U256::from(10));
    assert_eq!(of(max - tenth), Condition::Low);
    assert_eq!(of(max - tenth + U256::ONE), Condition::Critical);
}

#[test]
fn what_the_owner_took_back_is_revoked_whatever_else_holds() {
    for now in [START, LONG, u64::MAX] {
        let usage = Usage { spent: U256::ZERO, now, disabled: true };
        let health = Health::of(&daily(U256::ONE), Some(LONG), usage);
        assert_eq!(health.condition, Condition::Revoked(Cause::ByOwner));
        assert_eq!(health.condition.name(), "revoked");
    }
    let names = [Cause::ByOwner, Cause::Expired, Cause::Exhausted].map(Cause::name);
    assert_eq!(names, ["revokedByOwner", "expired", "exhausted"]);
}

#[test]
fn an_allowance_ends_with_its_last_unit() {
    let amount = U256::from(10);
    let all = Permission::Allowance(Allowance { asset: Asset::Native, amount, start: Some(START) });
    let of = |spent| Health::of(&all, None, usage(spent, START)).condition;
    assert_eq!(of(4), Condition::Healthy, "no end is more than seven days");
    assert_eq!(of(9), Condition::Low);
    assert_eq!(of(10), Condition::Revoked(Cause::Exhausted));
    assert_eq!(of(11), Condition::Revoked(Cause::Exhausted));
}

#[test]
fn a_stream_is_measured_by_what_a_day_adds() {
    let stream = |initial: u64, max: Option<u64>| {
        Permission::Stream(Stream {
            asset: Asset::Native,
            per_second: U256::ONE,
            initial: Some(U256::from(initial)),
            max: max.map(U256::from),
            start: Some(START),
        })
    };
    let of = |initial, max, spent, now| Health::of(&stream(initial, max), None, usage(spent, now));

    let fresh = of(0, None, 0, START);
    assert_eq!((fresh.cap, fresh.left), (Some(U256::from(DAY)), Some(U256::ZERO)));
    assert_eq!(fresh.condition, Condition::Critical, "nothing can be taken yet");
    assert_eq!(of(0, None, 0, START + DAY / 2).condition, Condition::Low);
    assert_eq!(of(0, None, 0, START + DAY / 2 + 1).condition, Condition::Healthy);
    assert_eq!(of(DAY, None, 0, START - 1).condition, Condition::Healthy, "what it begins with");
    let long = of(0, None, 7, START + 10 * DAY);
    assert_eq!(long.left, Some(U256::from(DAY)), "never more than the cap");
    assert_eq!(long.available, Some(U256::from(10 * DAY - 7)), "all that has come together");
    assert_eq!(of(0, Some(100), 99, START + DAY).condition, Condition::Critical);
    let spent = of(0, Some(100), 100, START + DAY);
    assert_eq!(spent.condition, Condition::Revoked(Cause::Exhausted));
}

#[test]
fn the_numbers_behind_the_verdict_are_there() {
    let cap = U256::from(100);
    let health = Health::of(&daily(cap), Some(LONG), usage(30, START + 2 * DAY + 5));
    assert_eq!((health.cap, health.left), (Some(cap), Some(U256::from(70))));
    assert_eq!(health.period_ends, Some(START + 3 * DAY));
    assert_eq!((health.starts_in, health.seconds_left), (0, Some(998 * DAY - 5)));
    let early = Health::of(&daily(cap), Some(LONG), usage(0, START - 9));
    assert_eq!((early.starts_in, early.period_ends), (9, Some(START + DAY)));
    let edge = Health::of(&daily(cap), Some(LONG), usage(0, START + DAY));
    assert_eq!(edge.period_ends, Some(START + 2 * DAY), "an edge belongs to the new period");
    assert_eq!(Health::of(&daily(cap), None, usage(0, u64::MAX)).period_ends, None);
}

#[test]
fn a_permission_that_moves_no_money_has_no_cap() {
    let file = Vectors::load();
    let granted = file.check(&answer(&file.today[15].answer)).unwrap();
    let health = granted.health(usage(0, START));
    assert_eq!((health.cap, health.left), (None, None));
    assert_eq!(health.condition, Condition::Healthy);
}
