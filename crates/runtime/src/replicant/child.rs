//! The other side: a child in its own process, with a key that was born there.

use super::{Inheritance, Introduced, cause, ended_at};
use crate::{
    Aim, Fabric, Golem, GolemEvent, Life, Outcome, Rhythm, Strategist, TickError, WakeError, Wish,
    owed::Before,
};
use alloy_primitives::{Address, B256, U256, keccak256};
use bardo_store::Store;
use golem_chain::{Foresight, LanePolicy, Node, Registry, boot, environment};
use golem_custody::{
    Asset, Caps, CustodyError, DailyCosts, Denial, IntentId, Introduction, Judged, Keys, Leftover,
    Mandate, SessionSigner as _,
};
use golem_delegation::{
    PermissionContext, Rule,
    blast_radius::Ended,
    grant::{GrantError, Phase},
    terms::GolemCharter,
};
use golem_safety::Boot;
use std::{
    fmt,
    sync::{Arc, Mutex},
};

/// Gas that is kept back for the last transaction: what a plain one needs, and as much again for a fee that rises.
const LAST_GAS: u64 = 42_000;
/// How often it is tried to send it home.
const TRIES: u8 = 3;

/// Everything that a child is woken with. Its books are its own, under its own name: two processes never write into one (INV-6). The
/// owner's ledger, where its store has one, counts it beside its parent.
#[expect(missing_debug_implementations, reason = "INV-2: it reaches a key")]
pub struct Rearing {
    /// The chain.
    pub node: Node,
    /// Books and log, of the child's own name.
    pub store: Arc<Store>,
    /// Its key.
    pub keys: Keys,
    /// What its parent gave it.
    pub inheritance: Inheritance,
    /// The parent's CONSTITUTION.md: it is bound by the same policy.
    pub constitution: String,
    /// Who says what it wants.
    pub strategist: Arc<dyn Strategist>,
    /// Most that all Golems of its owner spend in a day, in micro-dollars.
    pub owner_day: Option<u64>,
    /// How its transactions are brought into blocks.
    pub lane: LanePolicy,
    /// The second it is.
    pub clock: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// One child that is awake: it looks, wants and acts. It says nothing on the register, has no children, and pays for nothing.
pub struct Replicant {
    /// What it looks and acts with.
    golem: Golem,
    /// What it was given to spend, in micro-dollars.
    budget: u64,
    /// What the chain lets its name spend in all: with what was counted for that before it.
    most: u64,
    /// Whose child it is.
    parent: B256,
}

impl fmt::Debug for Replicant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { golem, parent, .. } = self;
        f.debug_struct("Replicant").field("parent", parent).field("golem", golem).finish()
    }
}

/// What a child's tick did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Stirred {
    /// What became of each wish.
    pub deeds: Vec<(Wish, Outcome)>,
    /// Why it can do nothing any more; none while it can.
    pub ended: Option<Ended>,
    /// What it spent so far, as the chain counts, in micro-dollars.
    pub spent: u64,
    /// The phase that its parent is in.
    pub phase: Phase,
}

impl Stirred {
    /// Why it does nothing any more, in words.
    #[must_use]
    pub fn over(&self, replicant: &Replicant) -> Option<String> {
        match &self.ended {
            Some(ended) => Some(cause(ended)),
            None if self.spent >= replicant.budget => Some("its budget is spent".to_owned()),
            None => None,
        }
    }
}

impl Replicant {
    /// Says who it is to a parent, with the key that it has.
    pub async fn introduces(keys: &Keys, asked: Introduction) -> Result<Introduced, CustodyError> {
        let Some(key) = keys.signer().await else {
            return Err(CustodyError::Replaced { signer: asked.child });
        };
        let introduction = Introduction { child: key.address(), ..asked };
        let proof = key.introduce(&introduction).await?;
        Ok(Introduced { introduction, proof })
    }

    /// Why a child with this can do nothing any more, as the chain says; none while it can.
    pub async fn is_over(
        node: &Node,
        inheritance: &Inheritance,
    ) -> Result<Option<String>, TickError> {
        let context = PermissionContext::decode(&inheritance.context)
            .map_err(|error| TickError::Books(error.into()))?;
        Ok(ended_at(node, &context).await?.0.as_ref().map(cause))
    }

    /// Wakes it under its parent's policy, behind what it did before. A refusal of that policy is a value.
    pub async fn wake(rearing: Rearing) -> Result<Result<Self, Denial>, WakeError> {
        let Rearing {
            node,
            store,
            keys,
            inheritance,
            constitution,
            strategist,
            owner_day,
            lane,
            clock,
        } = rearing;
        let Inheritance { golem: parent, replicant: id, owner, context, budget, high_water } =
            inheritance;
        let context = PermissionContext::decode(&context)?;
        let grant = context.leaf().clone();
        let charter = charter_of(&context)?;
        let most = most_of(&context)?;
        let cage = match boot(&node, parent, constitution.as_bytes()).await? {
            Boot::Caged(cage) => cage,
            Boot::Refused(denial) => return Ok(Err(denial)),
        };
        let policy = cage.policy();
        let caps = Caps {
            session: policy.spend_per_session.min(budget),
            day: policy.spend_per_day.min(budget),
            owner_day,
        };
        let books = store.clone();
        let mandate = Mandate { golem: id, owner, caps, consent: None, books };
        let kept = Life::load(store.as_ref()).await.map_err(WakeError::Life)?;
        // What it was born with moves with what comes and leaves, and is not taken up again.
        let (version, life) =
            kept.unwrap_or_else(|| (0, Life { high_water, ..Life::born(clock()) }));
        let mut golem = Golem {
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
            grant,
            charter,
            context,
            lane: None,
            rhythm: Rhythm::default(),
            strategist: Some(strategist),
            costs: DailyCosts::default(),
            expected_days: 1,
            machine_ends: None,
            payees: Vec::new(),
            life,
            version,
            folder: None,
            inbox: None,
            asleep: false,
            mandate,
            policy: lane,
            clock,
        };
        golem.bring_to_its_end().await?;
        golem.take_its_lane().await?;
        Ok(Ok(Self { golem, budget, most, parent }))
    }

    /// Its key.
    #[must_use]
    pub const fn key(&self) -> Address {
        self.golem.grant.delegate
    }

    /// One tick: it looks, and does what it wants while its parent lives. Nothing is wanted while that one sleeps.
    pub async fn tick(&mut self) -> Result<Stirred, TickError> {
        let now = self.golem.now();
        let mut sensed = self.golem.step_sense(now).await?;
        sensed.entry = self.golem.registry.entry(self.parent).await?;
        let mut next = self.golem.life.clone();
        let Before { mut deeds, .. } = self.golem.recall(&mut next, now).await?;
        let (mut phase, mut block) = (Phase::Terminal, 0);
        if let Some(entry) = &sensed.entry {
            phase = entry.phase_within(self.golem.charter.staleness.into());
            self.golem.asleep = entry.state.dreaming;
            block = entry.block.number;
        }
        next.phase = phase;
        next.reckon(&sensed);
        self.golem.high_water = next.high_water;
        let may = sensed.ended.is_none() && !self.golem.asleep && phase < Phase::Terminal;
        let mut wishes =
            if may { self.golem.step_think(&mut next, &sensed, now).await? } else { Vec::new() };
        wishes.retain(|wish| deeds.iter().all(|(done, _)| Aim::of(done) != Aim::of(wish)));
        deeds.extend(self.golem.step_act(&mut next, &sensed, wishes, now).await?);
        next.ticks = next.ticks.saturating_add(1);
        let (number, score) = (next.ticks, next.clocks.vitality());
        self.golem.tell(GolemEvent::Tick { number, block, phase, score }).await?;
        let version = self.golem.version;
        let kept = next.keep(self.golem.store.as_ref(), version, now).await;
        self.golem.version = kept.map_err(TickError::Books)?;
        self.golem.life = next;
        let spent = self.spent().await?;
        Ok(Stirred { deeds, ended: sensed.ended, spent, phase })
    }

    /// Its name under its parent.
    #[must_use]
    pub const fn id(&self) -> B256 {
        self.golem.id
    }

    /// What it was given to spend, in micro-dollars.
    #[must_use]
    pub const fn budget(&self) -> u64 {
        self.budget
    }

    /// Its last second.
    #[must_use]
    pub const fn not_after(&self) -> u64 {
        self.golem.charter.window.end()
    }

    /// Its ticks so far, in all of its processes.
    #[must_use]
    pub const fn ticks(&self) -> u64 {
        self.golem.life.ticks
    }

    /// Both links, its own first.
    #[must_use]
    pub const fn context(&self) -> &PermissionContext {
        &self.golem.context
    }

    async fn spent(&self) -> Result<u64, TickError> {
        let counted = self.golem.counted(self.golem.grant.delegator, self.golem.id).await?;
        let before = self.most.saturating_sub(self.budget);
        Ok(counted.saturating_sub(before))
    }

    /// It is over: what its key has of its own goes to its owner, where that is worth a transaction, and the key is wiped. That is so
    /// whatever became of the money: a chain that does not answer keeps no key.
    pub async fn ends(&self) -> Result<(), TickError> {
        let mut sent = self.sends_home(0).await;
        for again in 1..TRIES {
            if sent.is_ok() {
                break;
            }
            sent = self.sends_home(again).await;
        }
        self.golem.keys.end().await.map_err(TickError::Books)?;
        sent
    }

    /// One try, by a name of its own.
    async fn sends_home(&self, number: u8) -> Result<(), TickError> {
        let key = self.key();
        let plan = self.golem.node.plan(key).await?;
        let kept = U256::from(LAST_GAS).saturating_mul(U256::from(plan.max_fee_per_gas));
        let amount = plan.balance.saturating_sub(kept);
        if amount <= kept {
            return Ok(());
        }
        let leftover = Leftover { to: self.golem.owner, asset: Asset::Native, amount };
        let name = [b"bardo child home ".as_slice(), key.as_slice(), &[number]].concat();
        // What is refused is the owner's loss of gas money, and holds up no end.
        let judged = Judged::leftover(IntentId(keccak256(name)), leftover);
        self.golem.land(judged).await.map(drop)
    }
}

/// What the chain lets its name spend in all, in micro-dollars.
fn most_of(context: &PermissionContext) -> Result<u64, GrantError> {
    let rules = environment().rules(&context.leaf().caveats)?;
    let most = rules.into_iter().find_map(|rule| match rule {
        Rule::ReplicantBudget(bound) => Some(bound.budget),
        _ => None,
    });
    most.ok_or(GrantError::Nothing { what: "budget" })
}

/// The law that its own link has: its parent's, as it was handed on.
fn charter_of(context: &PermissionContext) -> Result<GolemCharter, GrantError> {
    let rules = environment().rules(&context.leaf().caveats)?;
    let charter = rules.into_iter().find_map(|rule| match rule {
        Rule::GolemCharter(charter) => Some(*charter),
        _ => None,
    });
    charter.ok_or(GrantError::Charters { found: 0 })
}
