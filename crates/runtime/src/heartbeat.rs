//! One tick: nine steps, always in this order (SPEC L1).
//!
//! ```text
//! 1 wake      the mode is fixed by the first; signed grants are taken; a rotation goes on; children that are over are seen
//! 2 sense     registry, grant, holdings, books: all that the rest goes by
//! 3 feel      time calms; what happened to its holdings moves
//! 4 live      three clocks, vitality, phase, sleep
//! 5 tell      what changed of that goes to the registry
//! 6 sustain   running costs, gas money, a key that is due
//! 7 think     what it wants
//! 8 act       each wish goes the way of every intent
//! 9 record    mood and life are kept, the log is anchored, the next tick is set
//! ```
//!
//! Everything that a tick does has a name made of the tick's number. A process that ends in the middle does the same tick again, and
//! the books take no name twice: at most one tick is lost, and nothing is doubled.

use crate::{
    Clocks, DeathTrigger, Economy, FabricError, Felt, Golem, GolemEvent, Life, ObservingCause,
    Outcome, Pace, Thought, Wish, World, chance, feel,
    wish::{calls, held},
};
use alloy_primitives::U256;
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::StoreError;
use golem_chain::{ChainFault, Entry, environment, observe};
use golem_custody::{
    Acting, Audit as _, Books as _, BoxError, ChoiceError, Custody as _, CustodyChoice,
    CustodyError, Denial, DenialCode, Ending, IntentId, Judged, KeyCustody, Metabolism, Mood,
    Onboarding, OnboardingError, OnboardingSteps, RegistryUpdate, RotationError, RunwayError, Says,
    SessionSigner as _, Ticking,
};
use golem_delegation::{
    blast_radius::{BlastRadiusError, Ended, Life as GrantLife},
    grant::{GrantError, Phase},
};
use golem_safety::Facts;

/// A score that moved by less is not worth a transaction.
const WORTH_TELLING: u16 = 250;
/// A mood that moved by less is not worth one either.
const WORTH_FEELING: i8 = 5;
/// Seconds after which the log is anchored again.
const ANCHOR: u64 = 86_400;
/// Seconds of a day.
const DAY: u64 = 86_400;

/// A tick that did not come to its end. It is done again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TickError {
    /// The chain could not be asked.
    #[error("the chain could not be asked; the tick is done again")]
    Chain(#[from] ChainFault),
    /// Something was not decided or not signed.
    #[error("something could not be decided or signed; the tick is done again")]
    Custody(#[from] CustodyError),
    /// The books did not answer.
    #[error("the books could not be read; the tick is done again")]
    Books(#[source] BoxError),
    /// The disk.
    #[error("the disk did not take it; the tick is done again")]
    Store(#[from] StoreError),
    /// The log.
    #[error("an event was not written; the tick is done again")]
    Fabric(#[from] FabricError),
    /// The choice of custody.
    #[error("the mode of custody cannot be read")]
    Choice(#[from] ChoiceError),
    /// Nothing was chosen.
    #[error("no mode of custody was chosen: finish onboarding first")]
    Unchosen,
    /// Onboarding.
    #[error("the last step of onboarding was not made")]
    Onboarding(#[from] OnboardingError),
    /// Rotation.
    #[error("a rotation does not go on")]
    Rotation(#[from] RotationError),
    /// The grant is more than can be looked at.
    #[error("the grant cannot be watched")]
    Grant(#[from] BlastRadiusError),
    /// The grant for running costs.
    #[error("the grant for running costs cannot be read")]
    Runway(#[from] RunwayError),
    /// What its owner sent could not be read.
    #[error("what the owner sent cannot be read")]
    Inbox(#[source] BoxError),
    /// A grant that it lives by is none.
    #[error("a grant that was taken cannot be read as one")]
    Adopted(#[source] GrantError),
    /// Whoever says what it wants could not.
    #[error("the strategist {name} failed; nothing was wanted")]
    Strategist {
        /// Who.
        name: String,
        /// Why.
        source: BoxError,
    },
}

/// What a tick did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Ticked {
    /// Its number, from one.
    pub number: u64,
    /// The phase that it is in.
    pub phase: Phase,
    /// The clocks.
    pub clocks: Clocks,
    /// Whether it sleeps.
    pub dreaming: bool,
    /// Why it looks on; none if it acts.
    pub observing: Option<ObservingCause>,
    /// What became of each wish.
    pub deeds: Vec<(Wish, Outcome)>,
    /// When the next one is due.
    pub next_at: u64,
    /// What it dies of, if it does.
    pub dies_of: Option<DeathTrigger>,
}

/// What the rest of a tick goes by.
pub(crate) struct Sensed {
    pub(crate) entry: Option<Entry>,
    pub(crate) facts: Facts,
    pub(crate) worth: Option<u64>,
    pub(crate) ended: Option<Ended>,
    pub(crate) key_balance: U256,
}

impl Golem {
    /// One tick. A fault leaves it to be done again; what it did under its names is not done twice.
    pub async fn tick(&mut self) -> Result<Ticked, TickError> {
        let now = self.now();
        self.step_wake(now).await?;
        let sensed = self.step_sense(now).await?;
        let mut next = self.life.clone();
        self.step_feel(&mut next, &sensed);
        let observing = self.step_live(&mut next, &sensed, now).await?;
        if observing.is_none() {
            self.step_tell(&mut next, &sensed, now).await?;
        }
        self.asleep = next.dreaming;
        let may_write = observing.is_none() && !next.dreaming && next.phase < Phase::Terminal;
        if may_write {
            self.step_sustain(&mut next, &sensed, now).await?;
        }
        let wishes =
            if may_write { self.step_think(&mut next, &sensed, now).await? } else { Vec::new() };
        let deeds = self.step_act(&mut next, &sensed, wishes, now).await?;
        self.step_record(next, &sensed, observing, deeds, now).await
    }

    async fn step_wake(&mut self, now: u64) -> Result<(), TickError> {
        match CustodyChoice::new(self.store.as_ref()).tick(now).await? {
            Ticking::In(_) => {}
            Ticking::Unchosen => return Err(TickError::Unchosen),
        }
        let onboarding = OnboardingSteps::new(self.store.as_ref());
        if matches!(onboarding.at().await?, Some(Onboarding::Summoning { .. })) {
            onboarding.summoned(self.id, now).await?;
        }
        self.go_on_with_keys(now).await?;
        self.look_after_children().await
    }

    pub(crate) async fn step_sense(&self, _now: u64) -> Result<Sensed, TickError> {
        let facts = self.facts(&[], false).await?;
        let entry = self.registry.entry(self.id).await?;
        let observation = observe(&self.node, DELEGATION_MANAGER, &self.context, &[]).await?;
        let at = observation.block.timestamp;
        let life = GrantLife::of(&self.context, &environment(), at, &observation.facts)?;
        let total: u128 =
            facts.holdings.values().map(|worth| worth.get()).fold(0, u128::saturating_add);
        let worth = (!facts.holdings.is_empty()).then(|| u64::try_from(total).unwrap_or(u64::MAX));
        let key_balance = match self.keys.signer().await {
            Some(key) => self.node.balance(key.address()).await?,
            None => U256::ZERO,
        };
        Ok(Sensed { entry, facts, worth, ended: life.ended, key_balance })
    }

    fn step_feel(&self, next: &mut Life, sensed: &Sensed) {
        next.mood = feel(next.mood, &Felt::Time);
        let fortune = fortune(self.life.worth, sensed.worth);
        next.mood = feel(next.mood, &Felt::Fortune(fortune));
        next.worth = sensed.worth;
        if let Some(worth) = sensed.worth {
            next.mark = next.mark.max(worth);
            next.high_water = next.high_water.max(worth);
        }
    }

    /// Clocks, phase and sleep; and why it looks on, if it does.
    async fn step_live(
        &self,
        next: &mut Life,
        sensed: &Sensed,
        now: u64,
    ) -> Result<Option<ObservingCause>, TickError> {
        let on_chain = sensed.entry.as_ref().map_or(self.life.phase, |entry| entry.state.phase);
        // Only its owner turns a phase back: what it had lost by then counts no more (SPEC D9).
        if on_chain < self.life.phase && self.life.phase < Phase::Terminal {
            next.mark = sensed.worth.unwrap_or(0);
            next.mood = feel(next.mood, &Felt::Fed);
            self.tell(GolemEvent::Fed { from: self.owner, phase: on_chain }).await?;
        }
        let ends = self.charter.window.end();
        let economy = Economy {
            metabolism: Metabolism {
                balance: self.means(sensed),
                daily_revenue: 0,
                daily_costs: self.costs,
            },
            seconds_left: self
                .machine_ends
                .map_or(ends, |stops| stops.min(ends))
                .saturating_sub(now),
            worth: sensed.worth.map(u128::from),
            mark: next.mark.into(),
            bound_bps: self.cage.policy().drawdown_bps,
        };
        next.clocks = Clocks {
            economic: economy.clock(),
            epistemic: next.experience.clock(),
            stochastic: chance(self.id, now.saturating_sub(next.born), self.expected_days),
        };
        next.phase = next.clocks.phase(on_chain);
        next.dreaming = self.rhythm.is_dreaming(next.born, now) && next.phase < Phase::Terminal;
        let custody = KeyCustody::hosted(self.keys.clone(), Some(self.grant.clone()));
        let observing = match custody.acting().await {
            Acting::Observes(why) => Some(ObservingCause::from(why)),
            Acting::Signs(_) => None,
        };
        Ok(observing)
    }

    /// What it lives on: what is left of its runway is the owner's to give; what it holds of the settlement asset is what it could live on.
    fn means(&self, sensed: &Sensed) -> u64 {
        let asset = self.charter.settlement_asset;
        let worth = sensed.facts.holdings.get(&asset).map_or(0, |worth| worth.get());
        u64::try_from(worth).unwrap_or(u64::MAX)
    }

    /// What changed since the registry was last told, each by a transaction of its own.
    async fn step_tell(&self, next: &mut Life, sensed: &Sensed, now: u64) -> Result<(), TickError> {
        let Some(entry) = &sensed.entry else { return Ok(()) };
        let (state, score) = (&entry.state, next.clocks.vitality());
        let old = entry.age() > u64::from(self.charter.staleness) / 2;
        let moved = state.score.abs_diff(score) >= WORTH_TELLING;
        if next.phase != state.phase || moved || old {
            let phase = next.phase;
            if phase != self.life.phase {
                self.tell(GolemEvent::PhaseChanged { from: self.life.phase, to: phase, score })
                    .await?;
            }
            if self.says("vitality", Says::Vitality { phase, score }).await? {
                self.tell(GolemEvent::VitalityReported { phase, score }).await?;
            }
        }
        if farther(state.mood, next.mood) >= WORTH_FEELING
            && self.says("mood", Says::Feels(next.mood)).await?
        {
            let Mood { pleasure, arousal, dominance } = next.mood;
            self.tell(GolemEvent::MoodChanged { pleasure, arousal, dominance }).await?;
        }
        if state.dreaming != next.dreaming
            && self.says("dream", Says::Dreaming(next.dreaming)).await?
        {
            let event = if next.dreaming {
                let until = self.rhythm.next_turn(next.born, now).unwrap_or(now);
                GolemEvent::DreamBegan { until }
            } else {
                GolemEvent::DreamEnded { memories: 0 }
            };
            self.tell(event).await?;
        }
        Ok(())
    }

    /// Whether the registry has it now.
    pub(crate) async fn says(&self, what: &str, says: Says) -> Result<bool, TickError> {
        let update = RegistryUpdate { golem: self.id, says };
        let outcome = self.land(Judged::said(self.name(what, 0), update)).await?;
        Ok(outcome == Outcome::Done)
    }

    pub(crate) async fn step_think(
        &self,
        next: &mut Life,
        sensed: &Sensed,
        now: u64,
    ) -> Result<Vec<Wish>, TickError> {
        let Some(strategist) = &self.strategist else { return Ok(Vec::new()) };
        let policy = self.cage.policy();
        let today = u64::try_from(sensed.facts.spent_in_day.get()).unwrap_or(u64::MAX);
        let in_session = u64::try_from(sensed.facts.spent_in_session.get()).unwrap_or(u64::MAX);
        let world = World {
            now,
            phase: next.phase,
            vitality: next.clocks.vitality(),
            mood: next.mood,
            held: held(&self.node, &self.charter, &sensed.facts).await?,
            spendable: policy
                .spend_per_day
                .saturating_sub(today)
                .min(policy.spend_per_transaction)
                .min(self.mandate.caps.session.saturating_sub(in_session)),
            last_deed: next.last_deed,
            sustainability: Metabolism { balance: 0, daily_revenue: 0, daily_costs: self.costs }
                .sustainability(),
        };
        let thought = strategist.think(&world).await;
        let name = || strategist.name().to_owned();
        match thought.map_err(|source| TickError::Strategist { name: name(), source })? {
            Thought::Wishes(wishes) => Ok(wishes),
            Thought::Disagreed(why) => {
                next.experience.learn(false);
                self.tell(GolemEvent::ModelsDisagreed { why: format!("{why:?}") }).await?;
                Ok(Vec::new())
            }
        }
    }

    pub(crate) async fn step_act(
        &self,
        next: &mut Life,
        sensed: &Sensed,
        wishes: Vec<Wish>,
        now: u64,
    ) -> Result<Vec<(Wish, Outcome)>, TickError> {
        let mut deeds = Vec::new();
        for (number, wish) in wishes.into_iter().enumerate() {
            let intent = self.name("wish", number);
            let outcome = match calls(&self.node, &self.charter, &sensed.facts, &wish).await? {
                Ok(calls) => self.act(intent, &calls, &format!("{wish:?}")).await?,
                Err(denial) => {
                    self.refused(intent, &denial).await?;
                    Outcome::Refused(vec![denial])
                }
            };
            let outcome = self.as_before(intent, outcome).await?;
            self.learn(next, &outcome, now);
            deeds.push((wish, outcome));
        }
        Ok(deeds)
    }

    /// A name that was used is a deed of this very tick, done before a crash: it counts as that. One that was given up is none, and
    /// wanted again.
    async fn as_before(&self, intent: IntentId, outcome: Outcome) -> Result<Outcome, TickError> {
        let used = |denial: &Denial| denial.code == DenialCode::IntentUsed;
        match outcome {
            Outcome::Refused(denials) if denials.iter().any(used) => {
                let ended = self.store.ended(intent).await.map_err(TickError::Books)?;
                let undone =
                    matches!(ended, Some(Ending::Failed { .. } | Ending::Abandoned { .. }));
                Ok(if undone { Outcome::Refused(denials) } else { Outcome::Done })
            }
            other => Ok(other),
        }
    }

    /// What an outcome teaches, and how it feels.
    fn learn(&self, next: &mut Life, outcome: &Outcome, now: u64) {
        match outcome {
            Outcome::Done => {
                next.experience.learn(true);
                next.mood = feel(next.mood, &Felt::Success);
                next.last_deed = Some(now);
            }
            Outcome::Failed(_) => {
                next.experience.learn(false);
                next.mood = feel(next.mood, &Felt::Failure);
            }
            Outcome::Refused(denials) => {
                // What its own policy refuses it should not have wanted.
                if denials.iter().any(|denial| denial.code.to_string().starts_with("POL-")) {
                    next.experience.learn(false);
                }
                for denial in denials {
                    next.mood = feel(next.mood, &Felt::Refusal(denial.clone()));
                }
            }
            // It may be done: what was wanted is not wanted again at once.
            Outcome::Unsettled(_) => next.last_deed = Some(now),
        }
    }

    async fn step_record(
        &mut self,
        mut next: Life,
        sensed: &Sensed,
        observing: Option<ObservingCause>,
        deeds: Vec<(Wish, Outcome)>,
        now: u64,
    ) -> Result<Ticked, TickError> {
        self.tell_of_custody(&mut next, observing).await?;
        if observing.is_none()
            && now.saturating_sub(next.anchored_at) >= ANCHOR
            && self.anchor().await?
        {
            next.anchored_at = now;
        }
        let acted = !deeds.is_empty();
        next.quiet = if acted { 0 } else { next.quiet.saturating_add(1) };
        let elapsed = now.saturating_sub(self.life.ticked_at);
        next.ticked_at = now;
        let day = u64::try_from(self.costs.total()).unwrap_or(u64::MAX);
        next.cost = next.cost.saturating_add(day.saturating_mul(elapsed) / DAY);
        let moved_bps = fortune(self.life.worth, sensed.worth).unsigned_abs();
        let pace = Pace { phase: next.phase, mood: next.mood, moved_bps, acted, quiet: next.quiet };
        let after = now.saturating_add(self.rhythm.pause(&pace));
        let turn = self.rhythm.next_turn(next.born, now).unwrap_or(u64::MAX);
        next.next_at = after.min(turn);
        next.ticks = next.ticks.saturating_add(1);
        let (number, phase, clocks) = (next.ticks, next.phase, next.clocks);
        let block = sensed.entry.as_ref().map_or(0, |entry| entry.block.number);
        let dies_of = dies_of(&next, sensed);
        let (dreaming, next_at) = (next.dreaming, next.next_at);
        self.tell(GolemEvent::Tick { number, block, phase, score: clocks.vitality() }).await?;
        self.version =
            next.keep(self.store.as_ref(), self.version, now).await.map_err(TickError::Books)?;
        self.life = next;
        Ok(Ticked { number, phase, clocks, dreaming, observing, deeds, next_at, dies_of })
    }

    /// That it looks on, or acts again.
    async fn tell_of_custody(
        &self,
        next: &mut Life,
        observing: Option<ObservingCause>,
    ) -> Result<(), TickError> {
        let why = observing.map(|why| format!("{why:?}"));
        if why != self.life.observing {
            match observing {
                Some(why) => self.tell(GolemEvent::ObservingBegan { why }).await?,
                None => {
                    let signer = self.grant.delegate;
                    self.tell(GolemEvent::ActingBegan { signer }).await?;
                }
            }
        }
        next.observing = why;
        Ok(())
    }

    /// Seals the newest record and has the registry keep its hash: nobody rewrites what lies before it (SPEC P4, ATK-47).
    pub(crate) async fn anchor(&self) -> Result<bool, TickError> {
        self.anchor_as(self.name("heartbeat", 0)).await
    }

    /// The same under a name of the caller's.
    pub(crate) async fn anchor_as(&self, name: IntentId) -> Result<bool, TickError> {
        let head = self.store.head().await.map_err(TickError::Books)?;
        let Some(key) = self.keys.signer().await else { return Ok(false) };
        let seal = key.seal(&head).await?;
        self.store.sealed(&head, key.address(), &seal).await.map_err(TickError::Books)?;
        let update = RegistryUpdate { golem: self.id, says: Says::Lives { audit_head: head.hash } };
        Ok(self.land(Judged::said(name, update)).await? == Outcome::Done)
    }
}

/// How far its holdings moved, in basis points; nothing where one of the two is not known.
fn fortune(before: Option<u64>, after: Option<u64>) -> i32 {
    let (Some(before), Some(after)) = (before, after) else { return 0 };
    let (before, after) = (i128::from(before), i128::from(after));
    let bps = after.saturating_sub(before).saturating_mul(10_000).checked_div(before).unwrap_or(0);
    i32::try_from(bps.clamp(-10_000, 10_000)).unwrap_or(0)
}

/// How far two moods are apart in what moved most.
fn farther(one: Mood, other: Mood) -> i8 {
    let apart = |a: i8, b: i8| a.saturating_sub(b).saturating_abs();
    apart(one.pleasure, other.pleasure)
        .max(apart(one.arousal, other.arousal))
        .max(apart(one.dominance, other.dominance))
}

/// What it dies of: a life at its end, or a grant that is over.
fn dies_of(next: &Life, sensed: &Sensed) -> Option<DeathTrigger> {
    if sensed.ended.is_some() {
        return Some(DeathTrigger::GrantEnded);
    }
    if next.phase < Phase::Terminal {
        return None;
    }
    let Clocks { economic, epistemic, stochastic } = next.clocks;
    Some(if economic <= epistemic.min(stochastic) {
        DeathTrigger::Exhaustion
    } else if epistemic <= stochastic {
        DeathTrigger::Staleness
    } else {
        DeathTrigger::Age
    })
}
