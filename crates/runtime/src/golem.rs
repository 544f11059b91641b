//! A Golem that is awake: what it is made of, and how it does one thing.

use crate::{
    Fabric, GolemEvent, Inbox, Life, Rhythm, RhythmError, Strategist, Strategy, StrategyError,
    TickError, sustenance::RENEWED,
};
use alloy_primitives::{Address, B256, keccak256};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::{NewMemory, Store};
use golem_chain::{
    ChainFault, Foresight, Known, Landing, Lane, LaneFault, LanePolicy, Ledger, Node, Possession,
    Registry, boot, environment, facts_of_golem,
};
use golem_custody::{
    Books as _, BoxError, Caps, ChoiceError, Consent, CustodyChoice, CustodyError, CustodyMode,
    DailyCosts, Denial, DenialCode, Execution, IntentId, Judged, Judgement, KeyHandle,
    Keyring as _, Keys, Mandate, Means, Onboarding, OnboardingError, OnboardingSteps, Payee,
    Proposed, Redemption, Rotation, RotationError, Rotations, Steps as _,
};
use golem_delegation::{
    ContextError, Delegation, PermissionContext,
    grant::{Grant, GrantError},
    terms::GolemCharter,
};
use golem_safety::{Boot, Cage, Call, Facts, MicroDollars, Violation};
use std::{
    fmt, mem,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

/// What a Golem's owner wrote for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Documents {
    /// STRATEGY.md.
    pub strategy: String,
    /// HEARTBEAT.md.
    pub heartbeat: String,
    /// CONSTITUTION.md, whose hash is on the chain.
    pub constitution: String,
}

/// Everything that a Golem is woken with.
#[expect(missing_debug_implementations, reason = "INV-2: it reaches a key")]
pub struct Provisions {
    /// The chain.
    pub node: Node,
    /// Books, log, memory: one process has them.
    pub store: Arc<Store>,
    /// Its keys.
    pub keys: Keys,
    /// What its owner wrote.
    pub documents: Documents,
    /// What a day costs.
    pub costs: DailyCosts,
    /// How many days chance leaves it, as a rule.
    pub expected_days: u16,
    /// When its machine stops, if that is known (SPEC D32).
    pub machine_ends: Option<u64>,
    /// Whom its owner named for running costs.
    pub payees: Vec<Payee>,
    /// When its owner is asked first.
    pub consent: Option<Consent>,
    /// Most that all Golems of its owner spend in a day, in micro-dollars.
    pub owner_day: Option<u64>,
    /// How its transactions are brought into blocks.
    pub lane: LanePolicy,
    /// Who says what it wants, in the place of what STRATEGY.md says.
    pub strategist: Option<Arc<dyn Strategist>>,
    /// Where it leaves what it leaves behind; nowhere, if there is none.
    pub folder: Option<PathBuf>,
    /// Where its owner puts what he signs.
    pub inbox: Option<Arc<dyn Inbox>>,
    /// The second it is.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// Why a Golem does not wake. Nothing was signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WakeError {
    /// Nobody onboarded it as far as that.
    #[error("onboarding is at step {at} of 6: finish it with `bardo onboard`")]
    NotOnboarded {
        /// The step; zero before the first.
        at: u8,
    },
    /// Its money is in a wallet that another program signs for.
    #[error("its money is in a wallet that a service signs for: it is not woken by this program")]
    OtherMode,
    /// Its keys are kept otherwise than its owner chose, which nothing changes any more (SPEC K1).
    #[error(
        "it was onboarded in {chosen} mode and lives in no other, and is started in {started} mode: golem.toml is to say \
         mode = \"{chosen}\"",
        chosen = chosen.name(),
        started = started.name()
    )]
    AnotherMode {
        /// What its books have.
        chosen: CustodyMode,
        /// What it was to be woken in.
        started: CustodyMode,
    },
    /// What was chosen cannot be read.
    #[error("the mode of custody cannot be read")]
    Choice(#[from] ChoiceError),
    /// Its grant is none that it can live by.
    #[error("the grant cannot be read as a charter of this Golem")]
    Grant(#[from] GrantError),
    /// Its grant has no such form.
    #[error("the grant has no form that the manager takes")]
    Context(#[from] ContextError),
    /// HEARTBEAT.md.
    #[error(transparent)]
    Rhythm(#[from] RhythmError),
    /// STRATEGY.md.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// The steps that it took to get here.
    #[error("its onboarding cannot be read")]
    Onboarding(#[from] OnboardingError),
    /// The rotation of its keys.
    #[error("the rotation of its keys cannot be gone on with")]
    Rotation(#[from] RotationError),
    /// The chain.
    #[error("the chain cannot be asked")]
    Chain(#[from] ChainFault),
    /// Its books.
    #[error("its books cannot be opened")]
    Custody(#[from] CustodyError),
    /// Its disk.
    #[error("what it knows of its life cannot be read")]
    Life(#[source] BoxError),
}

/// Whether a Golem woke.
#[must_use]
#[expect(missing_debug_implementations, reason = "INV-2: it reaches a key")]
#[expect(clippy::large_enum_variant, reason = "made once in a life")]
pub enum Waking {
    /// It lives.
    Awake(Golem),
    /// Its owner's policy is not the one that it has (SPEC P1).
    Refused(Denial),
}

/// One Golem that is awake.
pub struct Golem {
    pub(crate) id: B256,
    pub(crate) owner: Address,
    pub(crate) node: Node,
    pub(crate) foresight: Arc<Foresight>,
    pub(crate) registry: Registry,
    pub(crate) store: Arc<Store>,
    pub(crate) fabric: Arc<Fabric>,
    pub(crate) keys: Keys,
    pub(crate) cage: Cage,
    /// The one under what its owner has published since; it takes the other one's place when the next tick begins.
    pub(crate) newer: Mutex<Option<Cage>>,
    pub(crate) grant: Delegation,
    pub(crate) charter: GolemCharter,
    pub(crate) context: PermissionContext,
    pub(crate) lane: Option<Lane<KeyHandle>>,
    pub(crate) rhythm: Rhythm,
    pub(crate) strategist: Option<Arc<dyn Strategist>>,
    pub(crate) costs: DailyCosts,
    pub(crate) expected_days: u16,
    pub(crate) machine_ends: Option<u64>,
    pub(crate) payees: Vec<Payee>,
    pub(crate) life: Life,
    pub(crate) version: u64,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) inbox: Option<Arc<dyn Inbox>>,
    /// Whether it sleeps in this tick.
    pub(crate) asleep: bool,
    /// What its policy reckons a fall from in this tick.
    pub(crate) high_water: u64,
    pub(crate) mandate: Mandate,
    pub(crate) policy: LanePolicy,
    pub(crate) clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl fmt::Debug for Golem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Golem")
            .field("id", &self.id)
            .field("life", &self.life)
            .finish_non_exhaustive()
    }
}

/// What became of one thing that a Golem wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// It took effect.
    Done,
    /// Somebody said no, and nothing was signed: every reason, one at least.
    Refused(Vec<Denial>),
    /// It failed in its block.
    Failed(Denial),
    /// It is not known what became of it; it is looked for when the Golem acts or wakes next.
    Unsettled(String),
}

impl Golem {
    /// Wakes it: under what its owner published last, with the newest grant that it has, behind what it did before.
    pub async fn wake(provisions: Provisions) -> Result<Waking, WakeError> {
        let Provisions {
            node,
            store,
            keys,
            documents,
            costs,
            expected_days,
            machine_ends,
            payees,
            consent,
            owner_day,
            lane,
            strategist,
            folder,
            inbox,
            clock,
        } = provisions;
        let now = clock();
        let onboarding = OnboardingSteps::new(store.as_ref());
        let (owner, means) = match onboarding.at().await? {
            Some(
                Onboarding::Summoning { owner, means, .. } | Onboarding::Live { owner, means, .. },
            ) => (owner, means),
            at => return Err(WakeError::NotOnboarded { at: at.map_or(0, |at| at.number()) }),
        };
        let Means::Granted { grant: first, .. } = means else {
            return Err(WakeError::OtherMode);
        };
        let started = keys.mode().await;
        let chosen = CustodyChoice::new(store.as_ref()).at().await?.map(|choice| choice.mode());
        if let Some(chosen) = chosen.filter(|chosen| *chosen != started) {
            return Err(WakeError::AnotherMode { chosen, started });
        }
        let rotation = Rotations::new(store.as_ref(), &keys).resume(now).await?;
        let grant = newest(&store, *first, rotation.as_ref()).await?;
        let charter = Grant::read(&grant, &environment())?.charter().clone();
        let id = charter.golem_id;
        let cage = match boot(&node, id, documents.constitution.as_bytes()).await? {
            Boot::Caged(cage) => cage,
            Boot::Refused(denial) => return Ok(Waking::Refused(denial)),
        };
        let rhythm: Rhythm = documents.heartbeat.parse()?;
        let strategist = match strategist {
            Some(given) => Some(given),
            None => written(Strategy::read(&documents.strategy, &charter)?),
        };
        let policy = cage.policy();
        let caps = Caps { session: policy.spend_per_session, day: policy.spend_per_day, owner_day };
        let books = store.clone();
        let mandate = Mandate { golem: id, owner, caps, consent, books };
        let kept = Life::load(store.as_ref()).await.map_err(WakeError::Life)?;
        let (version, life) = kept.unwrap_or_else(|| (0, Life::born(now)));
        let mut golem = Self {
            high_water: life.high_water,
            id,
            owner,
            registry: Registry::open(&node).await?,
            foresight: Arc::new(Foresight::new(node.clone())),
            node,
            fabric: Arc::new(Fabric::new(store.clone())),
            store,
            keys,
            cage,
            newer: Mutex::default(),
            context: PermissionContext::new(vec![grant.clone()])?,
            grant,
            charter,
            lane: None,
            rhythm,
            strategist,
            costs,
            expected_days,
            machine_ends,
            payees,
            life,
            version,
            folder,
            inbox,
            asleep: false,
            mandate,
            policy: lane,
            clock,
        };
        // Since it fell asleep its machine may have got another end.
        golem.life.next_at = golem.not_beyond_its_end(golem.life.next_at, now);
        golem.bring_to_its_end().await?;
        golem.take_its_lane().await?;
        let told = golem.tell_of_keys(rotation.as_ref(), now).await;
        told.map_err(|error| WakeError::Life(error.into()))?;
        Ok(Waking::Awake(golem))
    }

    /// Its id on chain.
    #[must_use]
    pub const fn id(&self) -> B256 {
        self.id
    }

    /// Its life so far.
    #[must_use]
    pub const fn life(&self) -> &Life {
        &self.life
    }

    /// What it may do.
    #[must_use]
    pub const fn grant(&self) -> &Delegation {
        &self.grant
    }

    /// What its books let it spend.
    #[must_use]
    pub const fn caps(&self) -> Caps {
        self.mandate.caps
    }

    /// Where its events are told.
    #[must_use]
    pub fn fabric(&self) -> Arc<Fabric> {
        Arc::clone(&self.fabric)
    }

    /// The second it is.
    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// What keys that are gone have signed is finished first: without that no other key takes their place (SPEC D21).
    pub(crate) async fn bring_to_its_end(&self) -> Result<(), WakeError> {
        let current = self.keys.current().await;
        let open = self.store.open().await.map_err(WakeError::Life)?;
        let mut gone: Vec<Address> = open.iter().map(|one| one.entry.session).collect();
        gone.sort_unstable();
        gone.dedup();
        for key in gone.into_iter().filter(|key| Some(*key) != current) {
            let lane = self.lane_of(self.keys.gone(key)).await?;
            // What is not settled yet is open still, and looked for when it wakes next.
            drop(lane.finish().await);
        }
        Ok(())
    }

    /// The lane of the key in use, if the grant is that key's.
    pub(crate) async fn take_its_lane(&mut self) -> Result<(), CustodyError> {
        let signer = self.keys.signer().await;
        let current = self.keys.current().await;
        self.lane = match signer {
            Some(signer) if current == Some(self.grant.delegate) => {
                let lane = self.lane_of(signer).await?;
                drop(lane.finish().await);
                Some(lane)
            }
            _ => None,
        };
        Ok(())
    }

    async fn lane_of(&self, key: KeyHandle) -> Result<Lane<KeyHandle>, CustodyError> {
        let clock = Arc::clone(&self.clock);
        let (foresight, mandate) = (Arc::clone(&self.foresight), self.mandate.clone());
        Lane::open(foresight, key, mandate, self.policy, move || clock()).await
    }

    /// The name of what is done in a tick: the same when the tick is done again after a crash, so that nothing is done twice.
    pub(crate) fn name(&self, what: &str, number: usize) -> IntentId {
        let tick = self.life.ticks.to_be_bytes();
        let place = u64::try_from(number).unwrap_or(u64::MAX).to_be_bytes();
        let parts = [b"bardo tick ".as_slice(), self.id.as_slice(), &tick, &place, what.as_bytes()];
        IntentId(keccak256(parts.concat()))
    }

    /// What the chain says and what the books say, and each thing that the account has; none where a part of that is not known.
    pub(crate) async fn facts_of_all(&self) -> Result<(Facts, Option<Vec<Possession>>), TickError> {
        let (facts, possessions, _) = self.known(&[]).await?;
        Ok((facts, possessions))
    }

    /// The same for a judgement of these calls, with the cage to judge by, of the very block that the facts are of: what its owner has
    /// tightened meanwhile counts from the next deed on. A refusal is of all deeds.
    async fn known(
        &self,
        calls: &[Execution],
    ) -> Result<(Facts, Option<Vec<Possession>>, Result<Cage, Denial>), TickError> {
        let spent = match self.keys.current().await {
            Some(key) => self.store.spent(key, self.now()).await.map_err(TickError::Books)?,
            None => golem_custody::Spent::default(),
        };
        let lent = self.spent_by_children().await?;
        let ledger = Ledger {
            high_water: MicroDollars::from(self.high_water),
            spent_in_session: MicroDollars::from(spent.session.saturating_add(lent.session)),
            spent_in_day: MicroDollars::from(spent.day.saturating_add(lent.day)),
            is_settling: false,
        };
        let calls: Vec<Call> = calls
            .iter()
            .map(|call| Call { target: call.target, value: call.value, data: call.data.clone() })
            .collect();
        // A child is under its parent's policy.
        let whose = self.cage.published().golem_id();
        let Known { facts, possessions, published } =
            facts_of_golem(&self.node, whose, &self.charter, &calls, ledger).await?;
        let cage = self.newer().clone().unwrap_or_else(|| self.cage.clone());
        let cage = match cage.follow(published) {
            Ok(None) => Ok(cage),
            Ok(Some(newer)) => {
                let (version, hash) = (newer.published().version(), newer.published().hash());
                self.tell(GolemEvent::PolicyFollowed { version, hash }).await?;
                *self.newer() = Some(newer.clone());
                Ok(newer)
            }
            Err(denial) => Err(denial),
        };
        Ok((facts, possessions, cage))
    }

    fn newer(&self) -> std::sync::MutexGuard<'_, Option<Cage>> {
        self.newer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its books count by what its owner published last, too.
    pub(crate) async fn adopt_policy(&mut self) -> Result<(), TickError> {
        let Some(newer) = mem::take(&mut *self.newer()) else { return Ok(()) };
        let policy = newer.policy();
        let (session, day) = (policy.spend_per_session, policy.spend_per_day);
        self.mandate.caps = Caps { session, day, ..self.mandate.caps };
        self.cage = newer;
        Ok(self.take_its_lane().await?)
    }

    /// Does what it wants by its charter: judged, rehearsed, reserved, signed, kept, sent, settled.
    pub(crate) async fn act(
        &self,
        intent: IntentId,
        calls: &[Execution],
        about: &str,
    ) -> Result<Outcome, TickError> {
        self.proposed(intent, about).await?;
        if self.asleep {
            let denial =
                Denial::new(DenialCode::Dreaming, "it dreams, and does nothing until it wakes");
            self.refused(intent, &denial).await?;
            return Ok(Outcome::Refused(vec![denial]));
        }
        let judgement = self.judge(intent, calls, about).await?;
        self.conclude(intent, judgement).await
    }

    /// Says what it wants.
    pub(crate) async fn proposed(&self, intent: IntentId, about: &str) -> Result<(), TickError> {
        self.tell(GolemEvent::IntentProposed { intent, what: about.to_owned() }).await
    }

    /// Has it judged by its owner's policy, on what is known now.
    pub(crate) async fn judge(
        &self,
        intent: IntentId,
        calls: &[Execution],
        about: &str,
    ) -> Result<Judgement, TickError> {
        let (facts, _, cage) = self.known(calls).await?;
        let cage = match cage {
            Ok(cage) => cage,
            Err(denial) => return Ok(Judgement::Refused(vec![denial])),
        };
        let redemption = Redemption::of(DELEGATION_MANAGER, self.context.clone(), calls);
        Ok(Proposed::new(intent, redemption).about(about).judge(&cage, &facts))
    }

    /// Does what was permitted; remembers what was not.
    pub(crate) async fn conclude(
        &self,
        intent: IntentId,
        judgement: Judgement,
    ) -> Result<Outcome, TickError> {
        match judgement {
            Judgement::Permitted(judged) => self.land(judged).await,
            Judgement::Refused(denials) => {
                self.remember(intent, &denials).await?;
                Ok(Outcome::Refused(denials))
            }
        }
    }

    /// Brings something judged into a block, and says what became of it.
    pub(crate) async fn land(&self, judged: Judged) -> Result<Outcome, TickError> {
        let intent = judged.intent();
        let outcome = self.lands(judged).await?;
        if let Outcome::Refused(denials) = &outcome {
            for denial in denials {
                self.refused(intent, denial).await?;
            }
        }
        Ok(outcome)
    }

    /// The same, without a word about a refusal.
    pub(crate) async fn lands(&self, judged: Judged) -> Result<Outcome, TickError> {
        let Some(lane) = &self.lane else {
            return Ok(Outcome::Unsettled("it looks on".to_owned()));
        };
        Ok(match lane.redeem(judged).await {
            Ok(Landing::Done(_)) => Outcome::Done,
            Ok(Landing::Failed { cause, .. }) => Outcome::Failed(cause),
            Ok(Landing::Refused(denial)) => Outcome::Refused(vec![denial]),
            // Nothing was decided or signed: the node, or the disk.
            Err(LaneFault::Custody(fault)) => return Err(fault.into()),
            Err(fault) => Outcome::Unsettled(fault.to_string()),
        })
    }

    /// Warnings of what its own policy refused (SPEC P2).
    async fn remember(&self, intent: IntentId, denials: &[Denial]) -> Result<(), TickError> {
        for denial in denials {
            self.refused(intent, denial).await?;
            let violation = Violation::new(denial.clone(), None, self.now());
            let author = self.keys.current().await.unwrap_or_default();
            self.store.remember(NewMemory::warning(&violation, author)).await?;
        }
        Ok(())
    }

    pub(crate) async fn refused(&self, intent: IntentId, denial: &Denial) -> Result<(), TickError> {
        // The books have written down what they refused.
        if of_the_books(denial.code) {
            return Ok(());
        }
        self.tell(GolemEvent::IntentRefused {
            intent,
            code: denial.code.to_string(),
            reason: denial.reason.clone(),
            enforcer: denial.enforcer,
        })
        .await
    }

    /// Says that something happened.
    pub(crate) async fn tell(&self, event: GolemEvent) -> Result<(), TickError> {
        self.fabric.emit(&event, self.now()).await?;
        Ok(())
    }
}

/// Whether it is the books that refuse by this name.
const fn of_the_books(code: DenialCode) -> bool {
    matches!(
        code,
        DenialCode::BudgetSession
            | DenialCode::BudgetDay
            | DenialCode::BudgetOwner
            | DenialCode::IntentUsed
            | DenialCode::Clock
    )
}

/// Of all grants that it was ever given, the one with the highest number: the first redemption of that ends all before (SPEC D4).
async fn newest(
    store: &Store,
    first: Delegation,
    rotation: Option<&Rotation>,
) -> Result<Delegation, WakeError> {
    let renewed = store.load(RENEWED).await.map_err(WakeError::Life)?;
    let renewed: Option<Delegation> = renewed
        .map(|step| serde_json::from_value(step.value))
        .transpose()
        .map_err(|error| WakeError::Life(error.into()))?;
    Ok(newest_of(first, renewed, rotation)?)
}

/// The same of grants that were read already.
pub(crate) fn newest_of(
    first: Delegation,
    renewed: Option<Delegation>,
    rotation: Option<&Rotation>,
) -> Result<Delegation, GrantError> {
    let rotated = rotation.map(|rotation| rotation.grant().clone());
    let mut newest = (Grant::read(&first, &environment())?.charter().epoch, first);
    for grant in renewed.into_iter().chain(rotated) {
        let epoch = Grant::read(&grant, &environment())?.charter().epoch;
        if epoch > newest.0 {
            newest = (epoch, grant);
        }
    }
    Ok(newest.1)
}

/// Who does what STRATEGY.md says; nobody where it says nothing.
fn written(strategy: Strategy) -> Option<Arc<dyn Strategist>> {
    match strategy {
        Strategy::Observe => None,
        Strategy::Dca(dca) => Some(Arc::new(dca)),
        Strategy::Rebalance(rebalance) => Some(Arc::new(rebalance)),
    }
}
