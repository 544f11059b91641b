use crate::{Denial, DenialCode};

/// Most seconds that a service is left alone because it asks for it.
const LONGEST_ASKED: u64 = 86_400;

/// How long a service that does not answer is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// Seconds after the first time; each further one doubles it.
    pub first: u64,
    /// Most seconds.
    pub most: u64,
}

impl Default for Backoff {
    /// From two seconds to five minutes.
    fn default() -> Self {
        Self { first: 2, most: 300 }
    }
}

impl Backoff {
    /// Seconds to wait after `failures` in a row: between half and all of what doubling gives, as `roll` falls, so that
    /// many Golems do not come back together.
    #[must_use]
    pub fn wait(&self, failures: u32, roll: u64) -> u64 {
        let doubled = 1u64.checked_shl(failures.saturating_sub(1)).unwrap_or(u64::MAX);
        let whole = self.first.max(1).saturating_mul(doubled).min(self.most.max(1));
        let half = whole.div_ceil(2);
        half + roll % (whole - half + 1)
    }
}

/// Whether the service answers, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Presence {
    /// It answered the last time.
    Here,
    /// It did not: the Golem observes, and nothing can be signed.
    Away {
        /// The second in which it first did not answer.
        since: u64,
        /// The second from which on it is looked for again.
        next: u64,
    },
}

/// Follows whether the service answers. Time and dice are arguments.
#[derive(Clone, Debug)]
pub struct WalletPresence {
    backoff: Backoff,
    /// Since when, how often in a row, and when it is tried next.
    away: Option<(u64, u32, u64)>,
}

impl WalletPresence {
    /// It is taken to be there until it does not answer.
    #[must_use]
    pub const fn new(backoff: Backoff) -> Self {
        Self { backoff, away: None }
    }

    /// Whether it answers.
    pub const fn now(&self) -> Presence {
        match self.away {
            None => Presence::Here,
            Some((since, _, next)) => Presence::Away { since, next },
        }
    }

    /// Whether something may be asked for that changes anything: not while it is away, even if its time has come.
    /// Whoever wants to write looks first.
    #[must_use]
    pub fn refuses_writes(&self) -> Option<Denial> {
        let (since, failures, next) = self.away?;
        Some(Denial::new(
            DenialCode::WalletAway,
            format!(
                "the wallet service is away since {since} ({failures} times in a row) and is looked for again at {next}; \
                 nothing was signed"
            ),
        ))
    }

    /// Whether it may be looked for: always while it is there, and when its time has come.
    #[must_use]
    pub fn may_look(&self, at: u64) -> bool {
        self.away.is_none_or(|(_, _, next)| at >= next)
    }

    /// It answered.
    pub const fn answered(&mut self) {
        self.away = None;
    }

    /// It did not, or asked to be left alone for `asked` seconds.
    pub fn failed(&mut self, at: u64, roll: u64, asked: Option<u64>) {
        let (since, failures) = self.away.map_or((at, 0), |(since, count, _)| (since, count));
        let failures = failures.saturating_add(1);
        let asked = asked.unwrap_or_default().min(LONGEST_ASKED);
        let wait = self.backoff.wait(failures, roll).max(asked);
        self.away = Some((since, failures, at.saturating_add(wait)));
    }
}
