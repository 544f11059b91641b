//! How a Golem feels: pleasure, arousal, dominance, each from −100 to 100 (SPEC L3). Outcomes move it; time calms it.

use golem_custody::Mood;
use golem_safety::{Arousal, Denial};

/// Farthest from zero.
const BOUND: i16 = 100;

/// What can move a mood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Felt {
    /// A tick passed: everything goes a tenth of its way back to nothing.
    Time,
    /// What it did took effect.
    Success,
    /// What it did failed in its block.
    Failure,
    /// Somebody said no. What its own policy refuses excites, by the policy's own table (SPEC P2).
    Refusal(Denial),
    /// Its holdings moved by so many basis points since the last tick, up or down.
    Fortune(i32),
    /// Its owner fed it.
    Fed,
}

/// The mood after something.
///
/// | what | pleasure | arousal | dominance |
/// |---|---|---|---|
/// | time | a tenth back to 0 | a tenth back to 0 | a tenth back to 0 |
/// | success | +4 | | +6 |
/// | failure | −10 | +12 | −12 |
/// | refusal | −4 | by the policy's table | −4 |
/// | fortune of 100 bps | ±1 | +1 | ±1 |
/// | fed | +20 | −10 | +10 |
///
/// ```
/// use golem_custody::Mood;
/// use golem_runtime::{Felt, feel};
/// let calm = feel(Mood::default(), &Felt::Failure);
/// assert_eq!((calm.pleasure, calm.arousal, calm.dominance), (-10, 12, -12));
/// assert_eq!(feel(calm, &Felt::Time), Mood { pleasure: -9, arousal: 11, dominance: -11 });
/// ```
#[must_use]
pub fn feel(mood: Mood, felt: &Felt) -> Mood {
    let moved = |pleasure: i16, arousal: i16, dominance: i16| Mood {
        pleasure: bounded(i16::from(mood.pleasure).saturating_add(pleasure)),
        arousal: bounded(i16::from(mood.arousal).saturating_add(arousal)),
        dominance: bounded(i16::from(mood.dominance).saturating_add(dominance)),
    };
    match felt {
        Felt::Time => Mood {
            pleasure: calmed(mood.pleasure),
            arousal: calmed(mood.arousal),
            dominance: calmed(mood.dominance),
        },
        Felt::Success => moved(4, 0, 6),
        Felt::Failure => moved(-10, 12, -12),
        Felt::Refusal(denial) => {
            let before = Arousal::new(bounded(mood.arousal.into()));
            let arousal = before.map_or(0, |one| one.raised_by([denial.code]).get());
            Mood { arousal, ..moved(-4, 0, -4) }
        }
        Felt::Fortune(bps) => {
            let steps = i16::try_from((bps / 100).clamp(-200, 200)).unwrap_or(0);
            moved(steps, steps.abs(), steps)
        }
        Felt::Fed => moved(20, -10, 10),
    }
}

fn bounded(value: i16) -> i8 {
    i8::try_from(value.clamp(-BOUND, BOUND)).unwrap_or(0)
}

/// A tenth of the way back, and at least one step: whatever it was, it passes.
const fn calmed(value: i8) -> i8 {
    let tenth = value / 10;
    value - if tenth == 0 { value.signum() } else { tenth }
}
