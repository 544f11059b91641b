//! The other side: a child in its own process, with a key that was born there.

use super::{Inheritance, Introduced};
use crate::{
    Fabric, Golem, GolemEvent, Life, Outcome, Rhythm, Strategist, TickError, WakeError, Wish,
};
use alloy_primitives::{Address, B256};
use bardo_store::Store;
use golem_chain::{Foresight, LanePolicy, Node, Registry, boot, environment};
use golem_custody::{
    Caps, CustodyError, DailyCosts, Denial, Introduction, Keys, Mandate, SessionSigner as _,
};
use golem_delegation::{
    PermissionContext, Rule,
    blast_radius::Ended,
    grant::{GrantError, Phase},
    terms::GolemCharter,
};
use golem_safety::Boot;
use std::{fmt, sync::Arc};

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
    /// Whose child it is.
    parent: B256,
}

impl fmt::Debug for Replicant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { golem, parent } = self;
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
        let (version, mut life) = kept.unwrap_or_else(|| (0, Life::born(clock())));
        life.high_water = life.high_water.max(high_water);
        let mut golem = Golem {
            id,
            owner,
            registry: Registry::open(&node).await?,
            foresight: Arc::new(Foresight::new(node.clone())),
            node,
            fabric: Arc::new(Fabric::new(store.clone())),
            store,
            keys,
            cage,
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
        Ok(Ok(Self { golem, parent }))
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
        let (mut phase, mut block) = (Phase::Terminal, 0);
        if let Some(entry) = &sensed.entry {
            phase = entry.phase_within(self.golem.charter.staleness.into());
            self.golem.asleep = entry.state.dreaming;
            block = entry.block.number;
        }
        next.phase = phase;
        next.worth = sensed.worth;
        next.high_water = next.high_water.max(sensed.worth.unwrap_or(0));
        let may = sensed.ended.is_none() && !self.golem.asleep && phase < Phase::Terminal;
        let wishes =
            if may { self.golem.step_think(&mut next, &sensed, now).await? } else { Vec::new() };
        let deeds = self.golem.step_act(&mut next, &sensed, wishes, now).await?;
        next.ticks = next.ticks.saturating_add(1);
        let (number, score) = (next.ticks, next.clocks.vitality());
        self.golem.tell(GolemEvent::Tick { number, block, phase, score }).await?;
        let version = self.golem.version;
        let kept = next.keep(self.golem.store.as_ref(), version, now).await;
        self.golem.version = kept.map_err(TickError::Books)?;
        self.golem.life = next;
        Ok(Stirred { deeds, ended: sensed.ended })
    }
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
