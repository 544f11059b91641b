//! SPEC L3, P2: what moves a mood, and how far.

use golem_custody::{Denial, DenialCode, Mood};
use golem_runtime::{Felt, feel};
use proptest::prelude::*;

fn felt(all: &[Felt]) -> Mood {
    all.iter().fold(Mood::default(), feel)
}

fn refused(code: DenialCode) -> Felt {
    Felt::Refusal(Denial::new(code, "no"))
}

#[test]
fn each_thing_moves_it_as_the_table_says() {
    let mood = |pleasure, arousal, dominance| Mood { pleasure, arousal, dominance };
    for (what, expected) in [
        (Felt::Success, mood(4, 0, 6)),
        (Felt::Failure, mood(-10, 12, -12)),
        (Felt::Fed, mood(20, -10, 10)),
        (Felt::Fortune(500), mood(5, 5, 5)),
        (Felt::Fortune(-500), mood(-5, 5, -5)),
        (Felt::Fortune(99), mood(0, 0, 0)),
        (refused(DenialCode::PolicySpendDay), mood(-4, 10, -4)),
        (refused(DenialCode::PolicyTainted), mood(-4, 25, -4)),
        // What a chain refuses is the market's business.
        (refused(DenialCode::Slippage), mood(-4, 0, -4)),
        (Felt::Time, mood(0, 0, 0)),
    ] {
        assert_eq!(felt(std::slice::from_ref(&what)), expected, "{what:?}");
    }
}

#[test]
fn whatever_it_was_it_passes() {
    let mut mood = Mood { pleasure: -100, arousal: 100, dominance: 1 };
    for _ in 0..60 {
        mood = feel(mood, &Felt::Time);
    }
    assert_eq!(mood, Mood::default());
}

proptest! {
    #[test]
    fn it_stays_within_its_bounds(all in prop::collection::vec(0u8..6, 0..200)) {
        let mood = all.iter().fold(Mood::default(), |mood, what| {
            feel(mood, &match what {
                0 => Felt::Time,
                1 => Felt::Success,
                2 => Felt::Failure,
                3 => refused(DenialCode::PolicyConstitution),
                4 => Felt::Fortune(i32::MIN),
                _ => Felt::Fed,
            })
        });
        for part in [mood.pleasure, mood.arousal, mood.dominance] {
            prop_assert!((-100..=100).contains(&part));
        }
    }
}
