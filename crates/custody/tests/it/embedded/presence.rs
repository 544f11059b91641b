use super::NOW;
use golem_custody::{Backoff, DenialCode, Presence, WalletPresence};

#[test]
fn each_failure_doubles_the_wait_up_to_the_longest_and_the_roll_moves_it_within_its_half() {
    let backoff = Backoff { first: 2, most: 300 };
    for (failures, whole) in [(1, 2), (2, 4), (3, 8), (7, 128), (8, 256), (9, 300), (200, 300)] {
        assert_eq!(backoff.wait(failures, 0), whole / 2, "{failures}");
        assert_eq!(backoff.wait(failures, whole / 2), whole, "{failures}");
        for roll in [1, 77, u64::MAX] {
            let wait = backoff.wait(failures, roll);
            assert!((whole / 2..=whole).contains(&wait), "{failures} {roll}: {wait}");
        }
    }
    assert_eq!(Backoff { first: 0, most: 0 }.wait(9, u64::MAX), 1, "there is always a wait");
}

#[test]
fn a_service_that_fails_is_away_since_the_first_time_and_is_back_with_the_first_answer() {
    let mut presence = WalletPresence::new(Backoff { first: 10, most: 100 });
    assert_eq!(presence.now(), Presence::Here);
    assert!(presence.refuses_writes().is_none() && presence.may_look(0));

    presence.failed(NOW, 5, None);
    assert_eq!(presence.now(), Presence::Away { since: NOW, next: NOW + 10 });
    assert!(!presence.may_look(NOW + 9) && presence.may_look(NOW + 10));
    presence.failed(NOW + 10, 0, None);

    assert_eq!(presence.now(), Presence::Away { since: NOW, next: NOW + 20 });
    let denial = presence.refuses_writes().unwrap();
    assert_eq!(denial.code, DenialCode::WalletAway);
    for number in [NOW, NOW + 20] {
        assert!(denial.reason.contains(&number.to_string()), "{denial}");
    }
    presence.answered();
    assert_eq!(presence.now(), Presence::Here);
    presence.failed(NOW + 99, 5, None);
    assert_eq!(presence.now(), Presence::Away { since: NOW + 99, next: NOW + 109 }, "from anew");
}

#[test]
fn writes_are_refused_even_when_the_time_to_look_has_come() {
    let mut presence = WalletPresence::new(Backoff::default());
    presence.failed(NOW, 0, None);
    assert!(presence.may_look(NOW + 1_000) && presence.refuses_writes().is_some());
}

#[test]
fn a_wait_that_is_asked_for_is_kept_unless_it_is_shorter_or_never_ends() {
    let next = |asked| {
        let mut presence = WalletPresence::new(Backoff { first: 10, most: 10 });
        presence.failed(NOW, 5, asked);
        match presence.now() {
            Presence::Away { next, .. } => next - NOW,
            Presence::Here => panic!("it is away"),
        }
    };
    assert_eq!(next(None), 10);
    assert_eq!(next(Some(3)), 10);
    assert_eq!(next(Some(77)), 77);
    assert_eq!(next(Some(u64::MAX)), 86_400);
}
