//! How much life a Golem has: three clocks, one number, five phases. The tables are in `docs/vitality.md`.

use crate::DeathTrigger;
use alloy_primitives::{B256, keccak256};
use golem_custody::{DailyCosts, DenialCode, Lifespan, Metabolism};
use golem_delegation::grant::Phase;
use serde::{Deserialize, Serialize};

/// All of it.
pub const WHOLE: u16 = 10_000;
/// Hours of means that count as enough.
const ENOUGH_HOURS: u64 = 720;
/// Seconds of time that count as enough.
const ENOUGH_SECONDS: u64 = 7 * 86_400;
/// Seconds of time with which it is Declining still: a tenth of that, as [`THRESHOLDS`] has it.
const DECLINES: u64 = ENOUGH_SECONDS / 10;
/// Days of its costs that a Golem keeps of its money: it does not buy itself to death.
const KEPT_DAYS: u128 = 7;
/// How many outcomes are remembered.
const MEMORY: usize = 32;
/// Seconds for which an outcome counts.
const COUNTS: u64 = 7 * 86_400;
/// Benefit of the doubt: as many outcomes that are taken to have been right.
const DOUBT: u64 = 8;
/// Seconds of a day.
const DAY: u64 = 86_400;

/// From where on a phase is what a Golem is in: the latest first.
pub const THRESHOLDS: [(Phase, u16); 5] = [
    (Phase::Thriving, 7_000),
    (Phase::Stable, 5_000),
    (Phase::Conservation, 3_000),
    (Phase::Declining, 1_000),
    (Phase::Terminal, 0),
];

/// What the economic clock goes by. Money in micro-dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Economy {
    /// What it lives on; none where nobody can say now what is there.
    pub metabolism: Option<Metabolism>,
    /// Seconds until its grant ends or its machine stops (SPEC D32).
    pub seconds_left: u64,
    /// What its holdings are worth; none where nobody can say now.
    pub worth: Option<u128>,
    /// The most that they were worth.
    pub mark: u128,
    /// The fall that its owner bears, in basis points.
    pub bound_bps: u16,
}

impl Economy {
    /// What this clock shows.
    #[must_use]
    pub fn clock(&self) -> u16 {
        self.means().min(self.time()).min(self.standing())
    }

    /// What this clock ends a life of: the least of its shares.
    #[must_use]
    pub fn cause(&self) -> DeathTrigger {
        let (means, time, standing) = (self.means(), self.time(), self.standing());
        if time <= means.min(standing) {
            DeathTrigger::Expiry
        } else if means <= standing {
            DeathTrigger::Exhaustion
        } else {
            DeathTrigger::Loss
        }
    }

    /// What is not known is not lost.
    fn means(&self) -> u16 {
        match self.metabolism.map(|metabolism| metabolism.lifespan()) {
            None | Some(Lifespan::Endless) => WHOLE,
            Some(Lifespan::Hours(hours)) => share(hours.into(), ENOUGH_HOURS.into()),
        }
    }

    fn time(&self) -> u16 {
        share(self.seconds_left.into(), ENOUGH_SECONDS.into())
    }

    /// What is not known is not lost: a feed that is silent is the epistemic clock's business.
    fn standing(&self) -> u16 {
        let (Some(worth), false) = (self.worth, self.mark == 0) else { return WHOLE };
        let lost = self.mark.saturating_sub(worth);
        if lost == 0 {
            return WHOLE;
        }
        let bound = self.mark.saturating_mul(self.bound_bps.into()) / u128::from(WHOLE);
        share(bound.saturating_sub(lost), bound)
    }
}

/// What a Golem keeps of its money to live on, in micro-dollars: nothing that it wants is paid from that.
///
/// ```
/// use golem_custody::DailyCosts;
/// use golem_runtime::kept_to_live;
/// let costs = DailyCosts { inference: 1_000_000, compute: 500_000, ..DailyCosts::default() };
/// assert_eq!(kept_to_live(&costs), 10_500_000);
/// ```
#[must_use]
pub fn kept_to_live(costs: &DailyCosts) -> u64 {
    u64::try_from(costs.total().saturating_mul(KEPT_DAYS)).unwrap_or(u64::MAX)
}

/// The first second in which time alone makes a Golem Terminal whose grant, or machine, ends then.
///
/// ```
/// use golem_runtime::terminal_at;
/// // A tenth of seven days before the end it is Declining still.
/// assert_eq!(terminal_at(1_000_000), 1_000_000 - 60_480 + 1);
/// ```
#[must_use]
pub const fn terminal_at(end: u64) -> u64 {
    end.saturating_sub(DECLINES).saturating_add(1)
}

/// A part of a whole, out of 10,000, rounded down and never more than all; nothing is a part of nothing.
fn share(part: u128, whole: u128) -> u16 {
    let bps = part.saturating_mul(WHOLE.into()).checked_div(whole).unwrap_or(0);
    u16::try_from(bps).unwrap_or(WHOLE).min(WHOLE)
}

/// Whether a refusal says that a Golem misjudged its world: it wanted what nobody should have proposed, or what looks like an attack.
///
/// A bound of its owner's that holds, a fact that nobody knows and ground that its owner changed under it are no errors of judgement, and
/// a stranger can bring about all but the first: they move no phase (SPEC D9).
///
/// ```
/// use golem_custody::DenialCode;
/// use golem_runtime::misjudged;
/// assert!(misjudged(DenialCode::PolicyParty));
/// assert!(!misjudged(DenialCode::PolicyConcentration) && !misjudged(DenialCode::PolicyPriceStale));
/// ```
#[must_use]
pub const fn misjudged(code: DenialCode) -> bool {
    matches!(
        code,
        DenialCode::PolicyTarget
            | DenialCode::PolicySelector
            | DenialCode::PolicyAction
            | DenialCode::PolicyBatch
            | DenialCode::PolicyAmount
            | DenialCode::PolicyParty
            | DenialCode::PolicySignature
            | DenialCode::PolicyTainted
    )
}

/// One outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Kept")]
struct Learnt {
    /// When.
    at: u64,
    /// Whether what was expected came to be.
    right: bool,
    /// Whether its owner has fed it since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fed: bool,
}

/// An outcome on the disk.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kept {
    /// Of before outcomes had a second: nobody knows how old, and so too old to count.
    Undated(bool),
    /// Of since.
    Dated {
        at: u64,
        right: bool,
        #[serde(default)]
        fed: bool,
    },
}

impl From<Kept> for Learnt {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Undated(right) => Self { at: 0, right, fed: false },
            Kept::Dated { at, right, fed } => Self { at, right, fed },
        }
    }
}

/// Whether what a Golem expected came to be, for its last outcomes, each for a week.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Experience(Vec<Learnt>);

impl Experience {
    /// With one more outcome, of that second.
    pub fn learn(&mut self, right: bool, at: u64) {
        self.0.push(Learnt { at, right, fed: false });
        let forgotten = self.0.len().saturating_sub(MEMORY);
        self.0.drain(..forgotten);
    }

    /// Its owner has fed it, knowing all of this.
    pub fn fed(&mut self) {
        for one in &mut self.0 {
            one.fed = true;
        }
    }

    /// What this clock shows at that second.
    ///
    /// ```
    /// use golem_runtime::Experience;
    /// let mut golem = Experience::default();
    /// assert_eq!(golem.clock(7), 10_000);
    /// golem.learn(false, 7);
    /// assert_eq!(golem.clock(7), 8_888);
    /// // It is forgotten after a week.
    /// assert_eq!(golem.clock(7 + 604_800), 10_000);
    /// ```
    #[must_use]
    pub fn clock(&self, now: u64) -> u16 {
        self.shows(now, |_| true)
    }

    /// What its phase goes by: what came of it since its owner fed it last. What was before that has moved its phase once, and does not
    /// undo the Feed.
    #[must_use]
    pub fn clock_since_feed(&self, now: u64) -> u16 {
        self.shows(now, |one| !one.fed)
    }

    fn shows(&self, now: u64, counts: impl Fn(&Learnt) -> bool) -> u16 {
        let count = |right: bool| {
            let fresh = |one: &&Learnt| now.saturating_sub(one.at) < COUNTS && counts(one);
            let those = self.0.iter().filter(fresh).filter(|one| one.right == right).count();
            u64::try_from(those).unwrap_or(u64::MAX)
        };
        let right = count(true).saturating_add(DOUBT);
        share(right.into(), right.saturating_add(count(false)).into())
    }
}

/// What chance has left of a Golem of this age.
///
/// ```
/// use golem_runtime::chance;
/// let golem = alloy_primitives::B256::repeat_byte(7);
/// assert_eq!(chance(golem, 86_399, 180), 10_000);
/// assert!(chance(golem, 90 * 86_400, 180) > chance(golem, 180 * 86_400, 180));
/// ```
#[must_use]
pub fn chance(golem: B256, age: u64, expected_days: u16) -> u16 {
    let days = age / DAY;
    let most = (2 * u64::from(WHOLE)).checked_div(expected_days.into()).unwrap_or(u64::MAX);
    let mut left = u64::from(WHOLE);
    for day in 1..=days {
        let drawn = keccak256([b"bardo chance", golem.as_slice(), &day.to_be_bytes()].concat());
        let first = drawn.first_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        left = left.saturating_sub(first % most.saturating_add(1));
        if left == 0 {
            break;
        }
    }
    u16::try_from(left).unwrap_or(WHOLE)
}

/// The three clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clocks {
    /// Money, time, standing.
    pub economic: u16,
    /// How well it knows the world.
    pub epistemic: u16,
    /// Chance.
    pub stochastic: u16,
}

impl Clocks {
    /// How much life there is: the shortest of them.
    #[must_use]
    pub fn vitality(&self) -> u16 {
        self.economic.min(self.without_money())
    }

    /// What no Feed can change.
    fn without_money(&self) -> u16 {
        self.epistemic.min(self.stochastic)
    }

    /// The phase of a Golem whose registry says `on_chain`: never an earlier one, whatever the clocks say (INV-8).
    ///
    /// After a Feed the registry says an earlier phase than before, and the mark of the economic clock begins anew; the other two still
    /// count.
    #[must_use]
    pub fn phase(&self, on_chain: Phase) -> Phase {
        phase_of(self.vitality()).max(on_chain)
    }

    /// The earliest phase that a Feed can lead to.
    #[must_use]
    pub fn phase_after_feed(&self, on_chain: Phase) -> Phase {
        phase_of(self.without_money()).max(on_chain)
    }
}

/// The phase of a vitality.
///
/// ```
/// use golem_delegation::grant::Phase;
/// use golem_runtime::phase_of;
/// assert_eq!([7_000, 6_999, 999].map(phase_of), [Phase::Thriving, Phase::Stable, Phase::Terminal]);
/// ```
#[must_use]
pub fn phase_of(vitality: u16) -> Phase {
    let found = THRESHOLDS.iter().find(|(_, from)| vitality >= *from);
    found.map_or(Phase::Terminal, |(phase, _)| *phase)
}
