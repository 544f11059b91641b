//! One tick: nine steps, always in this order (SPEC L1).
//!
//! ```text
//! 1 wake      the mode is fixed by the first; signed grants are taken; a rotation goes on; children that are over are seen
//!             and what took effect since the last tick is told
//! 2 sense     registry, grant, holdings, books: all that the rest goes by
//! 3 feel      time calms; what happened to its holdings moves
//! 4 live      three clocks, vitality, phase, sleep
//! 5 tell      what changed of that goes to the registry
//! 6 sustain   what waited for its owner's yes, running costs, gas money, a key that is due
//! 7 think     what it wants
//! 8 act       each wish goes the way of every intent; a large one waits for its owner
//! 9 record    mood and life are kept, the log is anchored, the next tick is set
//! ```
//!
//! Everything that a tick does has a name made of the tick's number, and what a day costs one of its day. A process that ends in the middle does the same tick again, and
//! the books take no name twice: at most one tick is lost, and nothing is doubled. What it wanted is written down before it is set out, and counts as done in the
//! tick that is done again, whatever that one wants.

use crate::{
    Aim, Clocks, DeathTrigger, Economy, FabricError, Felt, Golem, GolemEvent, Held, Life,
    ObservingCause, Outcome, Owed, Pace, Thought, WHOLE, Wish, World,
    approval::still_waits,
    beyond, chance, crash, feel, flow, gain, kept_to_live, misjudged, moved,
    owed::Before,
    phase_of, terminal_at,
    wish::{calls, held},
};
use alloy_primitives::{Address, U256};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::StoreError;
use golem_chain::{ChainFault, Entry, Possession, environment, observe};
use golem_custody::{
    Acting, Audit as _, BoxError, ChoiceError, Custody as _, CustodyChoice, CustodyError,
    CustodyMode, Denial, DenialCode, Heading, Holding, IntentId, Judged, JudgedHead, KeyCustody,
    Metabolism, Mood, Onboarding, OnboardingError, OnboardingSteps, RegistryUpdate, RotationError,
    RunwayError, Says, SessionSigner as _, Ticking,
};
use golem_delegation::{
    blast_radius::{BlastRadiusError, Dollars, Ended, Life as GrantLife},
    grant::{GrantError, Phase},
};
use golem_safety::{Appraisal, Facts};
use std::collections::BTreeMap;

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
    pub(crate) held: BTreeMap<Address, Held>,
    pub(crate) worth: Option<u64>,
    /// Each thing that it has; none where a part of that is not known.
    pub(crate) possessions: Option<Vec<Possession>>,
    /// What came or left since the last look, other than by the market and its own trades.
    pub(crate) flow: i64,
    pub(crate) ended: Option<Ended>,
    pub(crate) key_balance: U256,
}

/// How it lives, and what follows from that.
struct Lived {
    observing: Option<ObservingCause>,
    economy: Economy,
    fed: bool,
}

impl Golem {
    /// One tick. A fault leaves it to be done again; what it did under its names is not done twice.
    pub async fn tick(&mut self) -> Result<Ticked, TickError> {
        let now = self.now();
        let mode = self.step_wake(now).await?;
        let mut next = self.life.clone();
        let Before { fed: saw_feed, mut deeds } = self.recall(&mut next, now).await?;
        // What the registry has by this very tick's word is not its owner's.
        let by_itself = next.seen == Some(Phase::Terminal);
        let sensed = self.step_sense(now).await?;
        self.step_feel(&mut next, &sensed);
        let Lived { observing, economy, fed } =
            self.step_live(&mut next, &sensed, (mode, saw_feed), now).await?;
        if next.phase == Phase::Terminal && next.ends_of.is_none() {
            let by_another = self.life.phase < Phase::Terminal && !by_itself;
            next.ends_of = Some(ends_of(by_another, &next.clocks, &economy));
        }
        let reserve = self.sense_reserve(sensed.possessions.as_deref()).await?;
        let spares = self.spare(&mut next, reserve, now).await?;
        if observing.is_none() {
            self.step_tell(&mut next, &sensed, fed, now).await?;
        }
        self.asleep = next.dreaming;
        let may_write = observing.is_none() && !next.dreaming && next.phase < Phase::Terminal;
        // Below its death's reserve it does what that needs: gas money is asked for, and nothing else.
        let may_act = may_write && !spares;
        // Nothing is wanted under a grant that is over, and nobody who cannot say what he wants holds up a death.
        let over = sensed.ended.is_some();
        deeds.extend(self.go_on_asking(&mut next, (may_write, may_act), now).await?);
        if may_write {
            self.step_sustain(&mut next, &sensed, now).await?;
        }
        let mut wishes = if may_act && !over {
            self.step_think(&mut next, &sensed, now).await?
        } else {
            Vec::new()
        };
        // What was done before this tick was interrupted, or its owner has just answered, is not wanted again in it.
        wishes.retain(|wish| deeds.iter().all(|(done, _)| Aim::of(done) != Aim::of(wish)));
        deeds.extend(self.step_act(&mut next, &sensed, wishes, now).await?);
        crash::at("heartbeat.acted");
        let dies_of = if over { Some(DeathTrigger::GrantEnded) } else { next.ends_of };
        let ticked = self.step_record(next, &sensed, observing, deeds, now).await?;
        Ok(Ticked { dies_of, ..ticked })
    }

    async fn step_wake(&mut self, now: u64) -> Result<CustodyMode, TickError> {
        let mode = match CustodyChoice::new(self.store.as_ref()).tick(now).await? {
            Ticking::In(mode) => mode,
            Ticking::Unchosen => return Err(TickError::Unchosen),
        };
        let onboarding = OnboardingSteps::new(self.store.as_ref());
        if matches!(onboarding.at().await?, Some(Onboarding::Summoning { .. })) {
            onboarding.summoned(self.id, now).await?;
        }
        self.go_on_with_keys(now).await?;
        self.tell_of_expiry(now).await?;
        self.look_after_children().await?;
        Ok(mode)
    }

    pub(crate) async fn step_sense(&self, _now: u64) -> Result<Sensed, TickError> {
        let (facts, possessions) = self.facts_of_all().await?;
        let entry = self.registry.entry(self.id).await?;
        let observation = observe(&self.node, DELEGATION_MANAGER, &self.context, &[]).await?;
        let at = observation.block.timestamp;
        let life = GrantLife::of(&self.context, &environment(), at, &observation.facts)?;
        let total: u128 =
            facts.holdings.values().map(|worth| worth.get()).fold(0, u128::saturating_add);
        // That nobody knows is not that there is nothing.
        let worth = possessions.is_some().then(|| u64::try_from(total).unwrap_or(u64::MAX));
        let flow = self.flowed(&facts, possessions.as_deref());
        let key_balance = match self.keys.signer().await {
            Some(key) => self.node.balance(key.address()).await?,
            None => U256::ZERO,
        };
        let held = held(&self.node, &self.charter, &facts).await?;
        let ended = life.ended;
        Ok(Sensed { entry, facts, held, worth, possessions, flow, ended, key_balance })
    }

    /// What came or left since everything last had a price, beyond what the charter lets its own trades lose (docs/vitality.md).
    fn flowed(&self, facts: &Facts, after: Option<&[Possession]>) -> i64 {
        let (Some(before), Some(after)) = (&self.life.possessions, after) else { return 0 };
        let appraisal = Appraisal::new(&self.charter.listing, &facts.observed, facts.now);
        let price = |of: Holding, units: U256| {
            let token = match of {
                Holding::Native => Address::ZERO,
                Holding::Token(token) => token,
                Holding::Position { .. } => return None,
            };
            appraisal.value_in(token, units).ok().and_then(|worth| u64::try_from(worth).ok())
        };
        let (spent, was) = (counted(facts), self.life.spent);
        // Another key's counting begins anew.
        let traded = spent.checked_sub(was).unwrap_or(spent);
        let bears = u64::from(self.charter.slippage_bps);
        let own = traded.saturating_mul(bears).checked_div(WHOLE.into()).unwrap_or(0);
        beyond(flow(before, after, price), own)
    }

    fn step_feel(&mut self, next: &mut Life, sensed: &Sensed) {
        next.mood = feel(next.mood, &Felt::Time);
        let fortune = fortune(self.life.worth, sensed);
        next.mood = feel(next.mood, &Felt::Fortune(fortune));
        next.reckon(sensed);
        // Its policy goes by the same in this very tick.
        self.high_water = next.high_water;
    }

    /// Clocks, phase and sleep; and why it looks on, if it does.
    async fn step_live(
        &self,
        next: &mut Life,
        sensed: &Sensed,
        (mode, saw_feed): (CustodyMode, bool),
        now: u64,
    ) -> Result<Lived, TickError> {
        let before = self.life.phase;
        let on_chain = sensed.entry.as_ref().map_or(before, |entry| entry.state.phase);
        // Only its owner turns the registry back, and what it had lost by then counts no more (SPEC D9). That the registry is behind its
        // own clocks is no Feed: it was not told yet.
        let back = sensed.entry.is_some() && next.seen.is_some_and(|seen| on_chain < seen);
        let fed = (back || saw_feed) && before < Phase::Terminal;
        if fed {
            next.mark = sensed.worth.unwrap_or(0);
            next.experience.fed();
            next.mood = feel(next.mood, &Felt::Fed);
            let event = GolemEvent::Fed { from: self.owner, phase: on_chain };
            self.tell_in_tick("fed", event, now).await?;
        }
        if sensed.entry.is_some() {
            next.seen = Some(on_chain);
        }
        next.earnings
            .count(now.saturating_sub(next.born) / DAY, gain(&self.life.held, &sensed.held));
        // A worth beyond a life's arithmetic is nothing that it could have earned.
        let fits = |held: &Held| i64::try_from(held.worth).is_ok();
        next.held = sensed.held.clone();
        next.held.retain(|_, held| fits(held));
        let economy = Economy {
            metabolism: self.means(sensed).map(|balance| Metabolism {
                balance,
                daily_revenue: next.earnings.daily(),
                daily_costs: self.costs,
            }),
            seconds_left: self.time_ends().saturating_sub(now),
            worth: sensed.worth.map(u128::from),
            mark: next.mark.into(),
            bound_bps: self.cage.policy().drawdown_bps,
        };
        next.clocks = Clocks {
            economic: economy.clock(),
            epistemic: next.experience.clock(now),
            stochastic: chance(self.id, now.saturating_sub(next.born), self.expected_days),
        };
        // What it learnt before its owner fed it stays what it knows, and has moved its phase: it does not do so twice.
        let epistemic = next.experience.clock_since_feed(now);
        let moves = Clocks { epistemic, ..next.clocks };
        // What the economic clock did is undone in the tick that sees a Feed; from the next one on it counts again.
        next.phase =
            if fed { moves.phase_after_feed(on_chain) } else { moves.phase(on_chain.max(before)) };
        if next.phase != before {
            let (to, score) = (next.phase, next.clocks.vitality());
            let event = GolemEvent::PhaseChanged { from: before, to, score };
            self.tell_in_tick(&format!("phase-{to:?}"), event, now).await?;
        }
        next.dreaming = self.rhythm.is_dreaming(next.born, now) && next.phase < Phase::Terminal;
        let (keys, grant) = (self.keys.clone(), Some(self.grant.clone()));
        let custody = if mode == CustodyMode::LocalKey {
            KeyCustody::local(keys, grant)
        } else {
            KeyCustody::hosted(keys, grant)
        };
        let observing = match custody.acting().await {
            Acting::Observes(why) => Some(ObservingCause::from(why)),
            Acting::Signs(_) => None,
        };
        Ok(Lived { observing, economy, fed })
    }

    /// When its time is over: its grant's, or its machine's (SPEC D32).
    fn time_ends(&self) -> u64 {
        let ends = self.charter.window.end();
        self.machine_ends.map_or(ends, |stops| stops.min(ends))
    }

    /// That second, or the one in which time alone makes it Terminal, if that comes first: however rarely it looks up, it is awake then, with
    /// time enough left to settle.
    pub(crate) fn not_beyond_its_end(&self, due: u64, now: u64) -> u64 {
        let last = terminal_at(self.time_ends());
        if last > now { due.min(last) } else { due }
    }

    /// What it lives on: what is left of its runway is the owner's to give; what it holds of the settlement asset is what it could live on.
    /// None where a part of all that it has is not known: that part may be of this asset too.
    fn means(&self, sensed: &Sensed) -> Option<u64> {
        sensed.worth?;
        let asset = self.charter.settlement_asset;
        let worth = sensed.facts.holdings.get(&asset).map_or(0, |worth| worth.get());
        Some(u64::try_from(worth).unwrap_or(u64::MAX))
    }

    /// What the registry does not have, each by a transaction of its own. What comes of them is told once it is known.
    async fn step_tell(
        &self,
        next: &mut Life,
        sensed: &Sensed,
        fed: bool,
        now: u64,
    ) -> Result<(), TickError> {
        let Some(entry) = &sensed.entry else { return Ok(()) };
        let (state, score) = (&entry.state, next.clocks.vitality());
        let old = entry.age() > u64::from(self.charter.staleness) / 2;
        let moved = state.score.abs_diff(score) >= WORTH_TELLING;
        let spares = next.is_sparing() && next.phase < Phase::Terminal;
        let mut words = Vec::new();
        if next.phase != state.phase || ((moved || old) && !spares) {
            let phase = next.phase;
            let event = GolemEvent::VitalityReported { phase, score };
            words.push(("vitality", Says::Vitality { phase, score }, event));
        }
        if farther(state.mood, next.mood) >= WORTH_FEELING && !spares {
            let Mood { pleasure, arousal, dominance } = next.mood;
            let event = GolemEvent::MoodChanged { pleasure, arousal, dominance };
            words.push(("mood", Says::Feels(next.mood), event));
        }
        // That it woke is said: asleep on the register, it could not settle.
        if state.dreaming != next.dreaming && !(spares && next.dreaming) {
            let event = if next.dreaming {
                let until = self.rhythm.next_turn(next.born, now).unwrap_or(now);
                GolemEvent::DreamBegan { until }
            } else {
                // How many it is, is known when it is told.
                GolemEvent::DreamEnded { memories: 0 }
            };
            words.push(("dream", Says::Dreaming(next.dreaming), event));
        }
        if words.is_empty() {
            return Ok(());
        }
        let (mut owed, mut named) = (Vec::new(), Vec::new());
        for (what, says, event) in words {
            let (intent, _) = self.unused(self.name(what, 0)).await?;
            owed.push(Owed { intent, event });
            named.push((what, intent, says));
        }
        self.promise(next, fed, owed, now).await?;
        crash::at("heartbeat.promised");
        for (what, intent, says) in named {
            let update = RegistryUpdate { golem: self.id, says };
            let _ = self.land(Judged::said(intent, update)).await?;
            crash::at(&format!("heartbeat.said-{what}"));
        }
        self.keep_word(next, now).await?;
        crash::at("heartbeat.told");
        Ok(())
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
            held: self.to_spend(&sensed.held),
            spendable: policy
                .spend_per_day
                .saturating_sub(today)
                .min(policy.spend_per_transaction)
                .min(self.mandate.caps.session.saturating_sub(in_session)),
            last_deed: next.last_deed,
            sustainability: Metabolism {
                balance: 0,
                daily_revenue: next.earnings.daily(),
                daily_costs: self.costs,
            }
            .sustainability(),
        };
        let thought = strategist.think(&world).await;
        let name = || strategist.name().to_owned();
        match thought.map_err(|source| TickError::Strategist { name: name(), source })? {
            Thought::Wishes(wishes) => Ok(wishes),
            Thought::Disagreed(why) => {
                next.experience.learn(false, now);
                let event = GolemEvent::ModelsDisagreed { why: format!("{why:?}") };
                self.tell_in_tick("disagreed", event, now).await?;
                Ok(Vec::new())
            }
        }
    }

    /// What it holds, less what it keeps to live on.
    fn to_spend(&self, held: &BTreeMap<Address, Held>) -> BTreeMap<Address, Held> {
        let (mut all, kept) = (held.clone(), u128::from(kept_to_live(&self.costs)));
        if let Some(money) = all.get_mut(&self.charter.settlement_asset) {
            let worth = money.worth.saturating_sub(kept);
            let part = money.amount.saturating_mul(U256::from(worth));
            money.amount = part.checked_div(U256::from(money.worth)).unwrap_or(U256::ZERO);
            money.worth = worth;
        }
        all
    }

    /// Why a wish is not paid: it would take what the Golem keeps to live on, whoever wants it. `gone` is what others of this tick took.
    fn beyond_its_means(&self, sensed: &Sensed, wish: &Wish, gone: u128) -> Option<Denial> {
        let kept = kept_to_live(&self.costs);
        let Wish::Swap { sell, micro_dollars, .. } = *wish;
        if sell != self.charter.settlement_asset || kept == 0 {
            return None;
        }
        // What has no price now is refused for that.
        let has = sensed.held.get(&sell)?.worth.saturating_sub(gone);
        if u128::from(micro_dollars).saturating_add(kept.into()) <= has {
            return None;
        }
        let (has, kept) = (Dollars(U256::from(has)), Dollars(U256::from(kept)));
        let reason = format!("of {has} it keeps {kept} to live on");
        Some(Denial::new(DenialCode::PolicySpendTransaction, reason))
    }

    pub(crate) async fn step_act(
        &mut self,
        next: &mut Life,
        sensed: &Sensed,
        wishes: Vec<Wish>,
        now: u64,
    ) -> Result<Vec<(Wish, Outcome)>, TickError> {
        let (mut deeds, mut named, mut gone) = (Vec::new(), 0, 0_u128);
        for wish in wishes {
            // Its owner is asked about one of this aim, or has just said no to it.
            let aim = Aim::of(&wish);
            if next.pending.iter().any(|pending| pending.aim == aim) {
                continue;
            }
            let intent = self.name_of_wish(&mut named).await?;
            let calls = match self.beyond_its_means(sensed, &wish, gone) {
                Some(denial) => Err(denial),
                None => calls(&self.node, &self.charter, &sensed.facts, &wish).await?,
            };
            let outcome = match calls {
                Ok(calls) => {
                    let Wish::Swap { sell, micro_dollars, .. } = wish;
                    if sell == self.charter.settlement_asset {
                        gone = gone.saturating_add(micro_dollars.into());
                    }
                    self.sets_out(intent, &wish, now).await?;
                    let wanted = (intent, calls, format!("{wish:?}"));
                    self.act_or_ask(next, aim, wanted, now).await?
                }
                Err(denial) => {
                    self.refused(intent, &denial).await?;
                    Outcome::Refused(vec![denial])
                }
            };
            self.learn(next, &outcome, now);
            deeds.push((wish, outcome));
        }
        Ok(deeds)
    }

    /// What an outcome teaches, and how it feels.
    pub(crate) fn learn(&self, next: &mut Life, outcome: &Outcome, now: u64) {
        match outcome {
            // Whoever waits has learnt nothing yet.
            waiting if still_waits(waiting) => {}
            Outcome::Done => {
                next.experience.learn(true, now);
                next.mood = feel(next.mood, &Felt::Success);
                next.last_deed = Some(now);
            }
            Outcome::Failed(_) => {
                next.experience.learn(false, now);
                next.mood = feel(next.mood, &Felt::Failure);
            }
            Outcome::Refused(denials) => {
                if denials.iter().any(|denial| misjudged(denial.code)) {
                    next.experience.learn(false, now);
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
            && !next.is_sparing()
            && now.saturating_sub(next.anchored_at) >= ANCHOR
            && self.anchor().await?
        {
            next.anchored_at = now;
        }
        let acted = !deeds.is_empty();
        next.quiet = if acted { 0 } else { next.quiet.saturating_add(1) };
        let elapsed = now.saturating_sub(self.life.ticked_at);
        next.ticked_at = now;
        let part = |day: u64| day.saturating_mul(elapsed) / DAY;
        let day = u64::try_from(self.costs.total()).unwrap_or(u64::MAX);
        next.cost = next.cost.saturating_add(part(day));
        next.inference = next.inference.saturating_add(part(self.costs.inference));
        let moved_bps = fortune(self.life.worth, sensed).unsigned_abs();
        let pace = Pace { phase: next.phase, mood: next.mood, moved_bps, acted, quiet: next.quiet };
        let after = now.saturating_add(self.rhythm.pause(&pace));
        let turn = self.rhythm.next_turn(next.born, now).unwrap_or(u64::MAX);
        next.next_at = self.not_beyond_its_end(after.min(turn), now);
        next.ticks = next.ticks.saturating_add(1);
        let (number, phase, clocks) = (next.ticks, next.phase, next.clocks);
        let block = sensed.entry.as_ref().map_or(0, |entry| entry.block.number);
        let (dreaming, next_at) = (next.dreaming, next.next_at);
        self.tell(GolemEvent::Tick { number, block, phase, score: clocks.vitality() }).await?;
        self.version =
            next.keep(self.store.as_ref(), self.version, now).await.map_err(TickError::Books)?;
        self.life = next;
        crash::at("heartbeat.recorded");
        let dies_of = None;
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
        let before = self.store.newest_seal().await?;
        let facts = self.signing_facts();
        let judged = match JudgedHead::judge(head, before, &self.cage, &facts) {
            Heading::Permitted(judged) => judged,
            Heading::Refused(denials) => {
                for denial in &denials {
                    self.refused(name, denial).await?;
                }
                return Ok(false);
            }
        };
        let seal = key.seal(judged).await?;
        self.store.sealed(&head, key.address(), &seal).await.map_err(TickError::Books)?;
        let update = RegistryUpdate { golem: self.id, says: Says::Lives { audit_head: head.hash } };
        Ok(self.land(Judged::said(name, update)).await? == Outcome::Done)
    }
}

impl Life {
    /// What its holdings are now, and the two marks that a fall is reckoned from: moved by what came and left, and never below them.
    pub(crate) fn reckon(&mut self, sensed: &Sensed) {
        self.worth = sensed.worth;
        let Some(worth) = sensed.worth else { return };
        self.best = self.peak().max(worth);
        self.mark = moved(self.mark, worth, sensed.flow).max(worth);
        self.high_water = moved(self.high_water, worth, sensed.flow).max(worth);
        self.possessions.clone_from(&sensed.possessions);
        self.spent = counted(&sensed.facts);
    }
}

/// What the books count for its key, in micro-dollars.
fn counted(facts: &Facts) -> u64 {
    u64::try_from(facts.spent_in_session.get()).unwrap_or(u64::MAX)
}

/// How far the market moved its holdings, in basis points; nothing where one of the two is not known.
fn fortune(before: Option<u64>, sensed: &Sensed) -> i32 {
    let (Some(before), Some(after)) = (before, sensed.worth) else { return 0 };
    let (before, after) = (i128::from(before), i128::from(after));
    let moved = after.saturating_sub(sensed.flow.into()).saturating_sub(before);
    let bps = moved.saturating_mul(10_000).checked_div(before).unwrap_or(0);
    i32::try_from(bps.clamp(-10_000, 10_000)).unwrap_or(0)
}

/// How far two moods are apart in what moved most.
fn farther(one: Mood, other: Mood) -> i8 {
    let apart = |a: i8, b: i8| a.saturating_sub(b).saturating_abs();
    apart(one.pleasure, other.pleasure)
        .max(apart(one.arousal, other.arousal))
        .max(apart(one.dominance, other.dominance))
}

/// What made a life Terminal: the least of its clocks, or whoever wrote what none of them says.
fn ends_of(by_another: bool, clocks: &Clocks, economy: &Economy) -> DeathTrigger {
    if by_another && phase_of(clocks.vitality()) < Phase::Terminal {
        return DeathTrigger::OwnerKillSwitch;
    }
    let Clocks { economic, epistemic, stochastic } = *clocks;
    if economic <= epistemic.min(stochastic) {
        economy.cause()
    } else if epistemic <= stochastic {
        DeathTrigger::Staleness
    } else {
        DeathTrigger::Age
    }
}
