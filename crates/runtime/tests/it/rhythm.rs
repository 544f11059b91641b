//! SPEC L1, L4: HEARTBEAT.md, and what is made of it.

use golem_custody::Mood;
use golem_delegation::grant::Phase;
use golem_runtime::{Dreams, Pace, Rhythm, RhythmError};
use proptest::prelude::*;

const CALM: Pace = Pace {
    phase: Phase::Stable,
    mood: Mood { pleasure: 0, arousal: 0, dominance: 0 },
    moved_bps: 0,
    acted: false,
    quiet: 0,
};

#[test]
fn a_page_of_words_and_five_lines_is_read() {
    let text = "# Heartbeat\n\nLook often, but not too often.\n\n- every: 30m\n- fastest: 1m\n- slowest: 2h\n- dream: 1h every 1d\n- missed: 5\n";
    let read: Rhythm = text.parse().unwrap();
    let dreams = Some(Dreams { every: 86_400, length: 3_600 });
    assert_eq!(read, Rhythm { every: 1_800, fastest: 60, slowest: 7_200, dreams, missed: 5 });
    assert_eq!("just words".parse(), Ok(Rhythm::default()));
    let daily: Rhythm = "- every: 1d".parse().unwrap();
    assert_eq!((daily.fastest, daily.slowest), (300, 86_400), "bounds make room for it");
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let no = |text: &str| text.parse::<Rhythm>().unwrap_err();
    assert!(matches!(no("a\n- often: 1h"), RhythmError::Unknown { line: 2, .. }));
    assert!(matches!(no("- every: 1h\n- every: 2h"), RhythmError::Twice { line: 2, .. }));
    for bad in [
        "- every: soon",
        "- every: 0s",
        "- every: 8d",
        "- missed: 0",
        "- missed: -1",
        "- missed: 1001",
    ] {
        assert!(matches!(no(bad), RhythmError::Value { line: 1, .. }), "{bad}");
    }
    for bad in ["- dream: 1h", "- dream: 2h every 1h", "- dream: 1h every 1h"] {
        assert!(matches!(no(bad), RhythmError::Value { .. }), "{bad}");
    }
    assert!(matches!(no("- every: 1m\n- fastest: 2m"), RhythmError::Order { .. }));
    assert!(matches!(no(&" ".repeat(65_537)), RhythmError::Long));
}

#[test]
fn a_golem_looks_more_often_when_something_is_the_matter() {
    let rhythm = Rhythm::default();
    let excited = Mood { arousal: 50, ..Mood::default() };
    for (pace, seconds) in [
        (CALM, 3_600),
        (Pace { acted: true, ..CALM }, 1_800),
        (Pace { mood: excited, ..CALM }, 900),
        (Pace { mood: Mood { arousal: 49, ..excited }, ..CALM }, 3_600),
        (Pace { phase: Phase::Declining, ..CALM }, 900),
        (Pace { moved_bps: 199, ..CALM }, 3_600),
        (Pace { quiet: 3, ..CALM }, 3_600),
        (Pace { quiet: 4, ..CALM }, 7_200),
        (Pace { quiet: 8, ..CALM }, 14_400),
        (Pace { quiet: 12, ..CALM }, 21_600),
    ] {
        assert_eq!(rhythm.pause(&pace), seconds, "{pace:?}");
    }
}

#[test]
fn sleep_is_the_end_of_each_turn_and_its_edges_are_known() {
    let rhythm: Rhythm = "- dream: 1h every 24h".parse().unwrap();
    let born = 1_800_000_000;
    for (after, asleep, next) in [
        (0, false, 82_800),
        (82_799, false, 82_800),
        (82_800, true, 86_400),
        (86_399, true, 86_400),
        (86_400, false, 86_400 + 82_800),
    ] {
        assert_eq!(rhythm.is_dreaming(born, born + after), asleep, "{after}");
        assert_eq!(rhythm.next_turn(born, born + after), Some(born + next), "{after}");
    }
    assert_eq!(Rhythm::default().next_turn(born, born), None);
}

proptest! {
    #[test]
    fn no_text_is_more_than_read_or_refused(text in "\\PC{0,200}") {
        if let Ok(rhythm) = text.parse::<Rhythm>() {
            prop_assert!(rhythm.fastest <= rhythm.every && rhythm.every <= rhythm.slowest);
        }
    }

    #[test]
    fn a_pause_keeps_to_its_bounds(every in 1u64..10_000, quiet in any::<u32>(), arousal in -100i8..=100, moved in any::<u32>(), acted: bool) {
        let rhythm = Rhythm { every, fastest: every.min(300), slowest: every.max(3_000), ..Rhythm::default() };
        let mood = Mood { arousal, ..Mood::default() };
        let pause = rhythm.pause(&Pace { mood, moved_bps: moved, acted, quiet, ..CALM });
        prop_assert!((rhythm.fastest..=rhythm.slowest).contains(&pause));
    }
}
