//! A Golem's children: how they are made, what they were given, and when they are over (SPEC G9, C6).
//!
//! ```text
//!  child's process                         parent                                             chain
//!  key is born ── Introduced ──► Thriving? within its own grant? ── asked, on the disk
//!                                                     spawnReplicant(hash) ──────────────────► only in Thriving
//!                                signed, on the disk ◄───────────────────────────────────────
//!  Replicant::wake ◄── Inheritance: two links, no secret
//!  acts with both links ─────────────────────────────────────────────────────────────────────► both links' caveats
//! ```
//!
//! The hash of a grant is known before it is signed. So the chain has it first, and a child that the chain would not let be made is
//! never signed for.
//!
//! What a child spends counts against its own budget and against its parent's window; all of them together never spend more than the
//! parent could alone (ATK-08). A child hangs on the very grant that its parent had when it was made: once that is revoked, over, dead or
//! superseded, it does nothing any more, whatever process it lives in.

mod child;

pub use child::{Rearing, Replicant, Stirred};

use crate::{Golem, GolemEvent, Outcome, TickError, crash};
use alloy_primitives::{Address, B256, Bytes, Selector, U256, keccak256};
use alloy_sol_types::SolCall as _;
use bardo_bindings::{
    GolemLifecycle, ReplicantBudgetEnforcer, framework::DELEGATION_MANAGER, golem_lifecycle,
    replicant_budget_enforcer,
};
use golem_chain::{Node, environment, observe};
use golem_custody::{
    ChildGrant, Denial, DenialCode, Execution, Handing, IntentId, Introduction, SessionSigner as _,
    Spent, Steps as _,
};
use golem_delegation::{
    Delegation, PermissionContext,
    blast_radius::{Dollars, Ended, Life as GrantLife},
    grant::{GrantError, Parent, Phase, Replicant as Terms},
};
use golem_safety::SigningFacts;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;

/// Where it is kept which ones there are, and what each one's own place begins with. Each change is one record of the audit chain.
pub(crate) const CELL: &str = "replicants";
const CELL_OF: &str = "replicant.";
/// What children were asked with and did not answer yet.
const ASKED: &str = "introductions";
/// Seconds for which an introduction may be made.
const ASKED_FOR: u64 = 3_600;
/// Most of these that are open at a time.
const MOST_ASKED: usize = 32;
/// Seconds of an hour.
const HOUR: u64 = 3_600;
/// Seconds of a day.
const DAY: u64 = 86_400;
/// Most that live at a time.
pub const MOST_REPLICANTS: usize = 16;
/// How many of those that ended are kept beside the log, for whoever is made in their place. Of others their sums are, as long as they count.
const MOST_ENDED: usize = 16;

/// What a child is made for, and within which bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Errand {
    /// What it spends in its whole life, in micro-dollars.
    pub budget: u64,
    /// For how many seconds.
    pub lifespan: u64,
    /// Where it acts; empty for wherever its parent may.
    pub targets: Vec<Address>,
    /// What it calls; empty for whatever its parent may.
    pub methods: Vec<Selector>,
    /// How often it acts, if that is bounded.
    pub calls: Option<NonZeroU64>,
}

/// A child's word about its key, and the key's own signature of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Introduced {
    /// Who it is.
    pub introduction: Introduction,
    /// That it has the key.
    pub proof: Bytes,
}

/// All that a child gets from its parent. There is no secret in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inheritance {
    /// The parent's id on chain.
    pub golem: B256,
    /// The child's name under its parent.
    pub replicant: B256,
    /// Whose money it is.
    pub owner: Address,
    /// Its grant and its parent's, as the manager takes them.
    pub context: Bytes,
    /// What it may spend in its life, in micro-dollars.
    pub budget: u64,
    /// The most that the holdings were ever worth, in micro-dollars: a child begins with its parent's mark.
    pub high_water: u64,
}

/// How far a child is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase", deny_unknown_fields)]
pub enum Upbringing {
    /// It is to be made. Nothing is signed.
    Asked,
    /// It has its grant.
    Living,
    /// It does nothing any more.
    Ended {
        /// Why, in words.
        cause: String,
        /// When its parent saw it.
        at: u64,
        /// What it spent, in micro-dollars.
        spent: u64,
    },
}

/// What a parent knows of one child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Child {
    /// Its name: what it spends is counted by this.
    pub id: B256,
    /// Its key.
    pub key: Address,
    /// Why it was made.
    pub errand: Errand,
    /// Its last second.
    pub not_after: u64,
    /// What the chain had counted for its name before it was made, in micro-dollars.
    pub counted: u64,
    /// What it was asked with when it introduced itself: that is used up.
    #[serde(default)]
    pub nonce: B256,
    /// Its grant, signed once it lives.
    pub grant: Delegation,
    /// The parent's, which it hangs on.
    pub above: Delegation,
    /// How far it is.
    pub upbringing: Upbringing,
}

impl Child {
    /// Whether it may still act, as far as its parent knows.
    #[must_use]
    pub const fn lives(&self) -> bool {
        matches!(self.upbringing, Upbringing::Living)
    }

    fn context(&self) -> Result<PermissionContext, TickError> {
        PermissionContext::new(vec![self.grant.clone(), self.above.clone()])
            .map_err(|error| TickError::Books(error.into()))
    }
}

/// Which children are kept, and what those that are not any more have spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, from = "KeptRoll")]
pub(crate) struct Roll {
    /// Their keys, the oldest first.
    pub(crate) keys: Vec<Address>,
    /// Sums of those that are forgotten, as long as they count.
    forgotten: Vec<Forgotten>,
}

/// The same on the disk.
#[derive(Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum KeptRoll {
    /// Of before there were sums.
    Keys(Vec<Address>),
    /// Of since.
    Whole { keys: Vec<Address>, forgotten: Vec<Forgotten> },
}

impl From<KeptRoll> for Roll {
    fn from(kept: KeptRoll) -> Self {
        match kept {
            KeptRoll::Keys(keys) => Self { keys, forgotten: Vec::new() },
            KeptRoll::Whole { keys, forgotten } => Self { keys, forgotten },
        }
    }
}

/// What children of one key have spent that ended within an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Forgotten {
    /// The key of their parent that they hung on: as long as that is in use, they count for it.
    parent: Address,
    /// When the last of them ended: they count for the day as long as children do.
    at: u64,
    /// In micro-dollars.
    spent: u64,
}

impl Roll {
    /// Its sum takes the place of a child that ended.
    fn forget(&mut self, child: &Child) {
        let Upbringing::Ended { at, spent, .. } = child.upbringing else { return };
        let parent = child.above.delegate;
        let same = |one: &&mut Forgotten| one.parent == parent && one.at / HOUR == at / HOUR;
        if let Some(known) = self.forgotten.iter_mut().find(same) {
            *known = Forgotten {
                parent,
                at: known.at.max(at),
                spent: known.spent.saturating_add(spent),
            };
        } else if spent > 0 {
            self.forgotten.push(Forgotten { parent, at, spent });
        }
    }

    /// What counts for neither a day nor the key in use is left out, and what counts for that key alone is one sum.
    fn tidy(&mut self, key: Address, now: u64) {
        let (days, old): (Vec<_>, Vec<_>) =
            self.forgotten.drain(..).partition(|one| counts_for_the_day(one.at, now));
        let of_key = old.iter().filter(|one| one.parent == key);
        let at = of_key.clone().map(|one| one.at).max();
        let spent = of_key.fold(0, |sum: u64, one| sum.saturating_add(one.spent));
        self.forgotten = at.map(|at| Forgotten { parent: key, at, spent }).into_iter().collect();
        self.forgotten.extend(days);
    }
}

/// Whether what a child spent that ended then counts for this day's sum.
const fn counts_for_the_day(at: u64, now: u64) -> bool {
    at.saturating_add(DAY) >= now
}

/// What became of a wish for a child.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Spawning {
    /// This is for it.
    Spawned(Box<Inheritance>),
    /// Nothing was signed: every reason, one at least.
    Refused(Vec<Denial>),
    /// It is not known whether the chain has it. The same once more goes on from there.
    Unsettled(String),
}

impl Spawning {
    fn refused(code: DenialCode, reason: impl Into<String>) -> Self {
        Self::Refused(vec![Denial::new(code, reason)])
    }
}

/// What a child was asked with, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    nonce: B256,
    at: u64,
}

impl Golem {
    /// What a child has to say to be this one's; its key is for itself to write. The nonce is given out here, is on the disk before anybody
    /// has it, and counts for one child and an hour (INV-10).
    pub async fn asks_for_a_child(&self, nonce: B256) -> Result<Introduction, TickError> {
        let children = self.children().await?;
        let (version, mut asked) = self.read_asked(&children).await?;
        asked.retain(|one| one.nonce != nonce);
        asked.push(Asked { nonce, at: self.now() });
        let old = asked.len().saturating_sub(MOST_ASKED);
        asked.drain(..old);
        self.keep_asked(version, &asked).await?;
        Ok(self.introduction(Address::ZERO, nonce))
    }

    const fn introduction(&self, child: Address, nonce: B256) -> Introduction {
        let parent = self.grant.delegate;
        Introduction { chain_id: self.node.chain_id(), golem: self.id, parent, child, nonce }
    }

    /// What was given out, and neither used nor too old.
    async fn read_asked(&self, children: &[Child]) -> Result<(u64, Vec<Asked>), TickError> {
        let Some(step) = self.store.load(ASKED).await.map_err(TickError::Books)? else {
            return Ok((0, Vec::new()));
        };
        let mut asked: Vec<Asked> = serde_json::from_value(step.value)
            .map_err(|error: serde_json::Error| TickError::Books(error.into()))?;
        let now = self.now();
        asked.retain(|one| {
            let used = children.iter().any(|child| child.nonce == one.nonce);
            !used && now.saturating_sub(one.at) <= ASKED_FOR
        });
        Ok((step.version, asked))
    }

    async fn keep_asked(&self, version: u64, asked: &[Asked]) -> Result<(), TickError> {
        let value = serde_json::to_value(asked).map_err(|error| TickError::Books(error.into()))?;
        self.store.advance(ASKED, version, &value, self.now()).await.map_err(TickError::Books)
    }

    /// Its children, the oldest first; of those that ended, the last ones.
    pub async fn children(&self) -> Result<Vec<Child>, TickError> {
        Ok(self.read_children().await?.2)
    }

    /// Which ones there are is one record, and each of them another: all of them in one would be longer than a record may be.
    async fn read_children(&self) -> Result<(u64, Roll, Vec<Child>), TickError> {
        let Some(step) = self.store.load(CELL).await.map_err(TickError::Books)? else {
            return Ok((0, Roll::default(), Vec::new()));
        };
        let unread = |error: serde_json::Error| TickError::Books(error.into());
        let roll: Roll = serde_json::from_value(step.value).map_err(unread)?;
        let mut all = Vec::new();
        for key in &roll.keys {
            let kept = self.store.load(&cell_of(*key)).await.map_err(TickError::Books)?;
            if let Some(kept) = kept {
                all.push(serde_json::from_value(kept.value).map_err(unread)?);
            }
        }
        Ok((step.version, roll, all))
    }

    /// Writes down what became of one, in the place of what was known of its key. One that is not in the list yet is nobody: nothing is
    /// signed for it.
    async fn keep_child(&self, child: &Child) -> Result<(), TickError> {
        let unread = |error: serde_json::Error| TickError::Books(error.into());
        let cell = cell_of(child.key);
        let known = self.store.load(&cell).await.map_err(TickError::Books)?;
        let value = serde_json::to_value(child).map_err(unread)?;
        let from = known.map_or(0, |known| known.version);
        self.store.advance(&cell, from, &value, self.now()).await.map_err(TickError::Books)?;
        let (version, mut roll, mut all) = self.read_children().await?;
        if all.iter().any(|one| one.key == child.key) {
            return Ok(());
        }
        all.push(child.clone());
        let ended = |one: &Child| matches!(one.upbringing, Upbringing::Ended { .. });
        let mut over = all.iter().filter(|one| ended(one)).count().saturating_sub(MOST_ENDED);
        all.retain(|one| {
            let forgotten = over > 0 && ended(one);
            if forgotten {
                roll.forget(one);
            }
            over = over.saturating_sub(usize::from(forgotten));
            !forgotten
        });
        roll.keys = all.iter().map(|one| one.key).collect();
        roll.tidy(self.grant.delegate, self.now());
        let value = serde_json::to_value(&roll).map_err(unread)?;
        self.store.advance(CELL, version, &value, self.now()).await.map_err(TickError::Books)
    }

    /// Makes a child, or goes on with one of the same key.
    pub async fn spawns(
        &self,
        errand: &Errand,
        introduced: &Introduced,
    ) -> Result<Spawning, TickError> {
        if let Some(refused) = self.bears(introduced).await? {
            return Ok(refused);
        }
        let key = introduced.introduction.child;
        let children = self.children().await?;
        if let Some(known) = children.iter().find(|one| one.key == key) {
            return self.goes_on_with(known).await;
        }
        if children.iter().filter(|one| one.lives()).count() >= MOST_REPLICANTS {
            let reason =
                format!("{MOST_REPLICANTS} children live already, and no more can be looked after");
            return Ok(Spawning::refused(DenialCode::PolicyBatch, reason));
        }
        let most = self.charter.spend_cap;
        if errand.budget > most {
            let (asked, most) = (Dollars(U256::from(errand.budget)), Dollars(U256::from(most)));
            let reason = format!("{asked} are more than its parent's own budget of {most}");
            return Ok(Spawning::refused(DenialCode::Budget, reason));
        }
        let id = keccak256(
            [b"bardo replicant ".as_slice(), self.id.as_slice(), key.as_slice()].concat(),
        );
        let not_after = self.now().saturating_add(errand.lifespan);
        self.makes(id, errand, not_after, &introduced.introduction).await
    }

    /// Makes a child in the place of one that ended with its parent's last grant: a key of its own, and what was left of budget and
    /// time. What it spent before stays spent.
    pub async fn spawns_again(
        &self,
        before: B256,
        introduced: &Introduced,
    ) -> Result<Spawning, TickError> {
        if let Some(refused) = self.bears(introduced).await? {
            return Ok(refused);
        }
        let key = introduced.introduction.child;
        let children = self.children().await?;
        if let Some(known) = children.iter().find(|one| one.key == key) {
            return self.goes_on_with(known).await;
        }
        let last = children.iter().rfind(|one| one.id == before);
        let ended = |one: &&Child| matches!(one.upbringing, Upbringing::Ended { .. });
        let Some(last) = last.filter(ended) else {
            let reason = "nobody of this name ended: two would have one budget each";
            return Ok(Spawning::refused(DenialCode::IntentUsed, reason));
        };
        // What the parent believes is not enough: an older grant that still counts would be a second budget.
        if self.end_of(last).await?.is_none() {
            let reason = "its older grant can be redeemed still";
            return Ok(Spawning::refused(DenialCode::IntentUsed, reason));
        }
        let spent = self.counted(last.above.delegate, last.id).await?.saturating_sub(last.counted);
        let left = last.errand.budget.saturating_sub(spent);
        let lifespan = last.not_after.saturating_sub(self.now());
        if left == 0 || lifespan == 0 {
            let reason = "its budget is spent, or its time is over";
            return Ok(Spawning::refused(DenialCode::Budget, reason));
        }
        let errand = Errand { budget: left, lifespan, ..last.errand.clone() };
        self.makes(before, &errand, last.not_after, &introduced.introduction).await
    }

    /// Its process is gone, and its key with it.
    pub async fn lost_child(&self, key: Address) -> Result<(), TickError> {
        let children = self.children().await?;
        match children.into_iter().find(|one| one.key == key && one.lives()) {
            Some(child) => self.ends(child, "its process is gone").await,
            None => Ok(()),
        }
    }

    /// Whether it can have a child now, and this one: none if so.
    async fn bears(&self, introduced: &Introduced) -> Result<Option<Spawning>, TickError> {
        let no = |code, reason: &str| Ok(Some(Spawning::refused(code, reason)));
        let death = self.dying().await.map_err(|error| TickError::Books(error.into()))?;
        if death.is_some() {
            return no(DenialCode::NotAlive, "it dies, and has no children any more");
        }
        let entry = self.registry.entry(self.id).await?;
        let Some(entry) = entry.filter(|entry| entry.state.registered && !entry.state.closed)
        else {
            return no(DenialCode::NotAlive, "it is not registered, or dead");
        };
        let phase = entry.phase_within(self.charter.staleness.into()).max(self.life.phase);
        if phase != Phase::Thriving {
            return no(DenialCode::Phase, "children are made in Thriving and in no other phase");
        }
        if self.lane.is_none() {
            return no(DenialCode::NotTheDelegate, "it looks on, and has nothing to hand on");
        }
        if self.life.is_sparing() {
            return no(DenialCode::NoGas, "its key has no more than its own death costs");
        }
        let Introduced { introduction, proof } = introduced;
        if *introduction != self.introduction(introduction.child, introduction.nonce) {
            let reason = "it introduces itself to another parent, or on another chain";
            return no(DenialCode::PolicyParty, reason);
        }
        if !introduction.is_proved_by(proof) {
            return no(DenialCode::PolicyParty, "it does not show that the key is its own");
        }
        if !self.was_asked(introduction).await? {
            let reason = "it was not asked with this, or that was used or is an hour old";
            return no(DenialCode::IntentUsed, reason);
        }
        Ok(None)
    }

    /// Whether this very introduction was asked for: an old one, of whoever has it, makes nobody (INV-10). The same once more is of the
    /// child that it made, and goes on with that one.
    async fn was_asked(&self, introduction: &Introduction) -> Result<bool, TickError> {
        let children = self.children().await?;
        let of = |one: &&Child| one.nonce == introduction.nonce && one.nonce != B256::ZERO;
        if let Some(used) = children.iter().find(of) {
            return Ok(used.key == introduction.child);
        }
        let (_, asked) = self.read_asked(&children).await?;
        Ok(asked.iter().any(|one| one.nonce == introduction.nonce))
    }

    /// A grant within its own, written down.
    async fn makes(
        &self,
        id: B256,
        errand: &Errand,
        not_after: u64,
        introduction: &Introduction,
    ) -> Result<Spawning, TickError> {
        let Introduction { child: key, nonce, .. } = *introduction;
        let Errand { targets, methods, calls, .. } = errand.clone();
        // The chain counts by name and by whoever hands on: with the same key the old sum stands, with another one none does.
        let counted = self.counted(self.grant.delegate, id).await?;
        let budget = match errand.budget {
            0 => 0,
            some => some.saturating_add(counted),
        };
        let born = self.now();
        let lifespan = not_after.saturating_sub(born);
        let terms = Terms { key, id, budget, born, lifespan, targets, methods, calls };
        let at = environment();
        let parent = Parent::read(&self.context, &at).map_err(TickError::Adopted)?;
        let grant = match parent.replicant(&terms, U256::ZERO) {
            Ok(grant) => grant,
            Err(wider) => return Ok(Spawning::refused(code_of(&wider), wider.to_string())),
        };
        let grant = match self.within(grant) {
            Handing::Permitted(child) => child.delegation().clone(),
            Handing::Refused(denials) => return Ok(Spawning::Refused(denials)),
        };
        let errand = errand.clone();
        let above = self.grant.clone();
        let upbringing = Upbringing::Asked;
        let child = Child { id, key, errand, not_after, counted, nonce, grant, above, upbringing };
        self.keep_child(&child).await?;
        // Used with the child, in one write; here it is only no longer kept as open.
        let (version, asked) = self.read_asked(&self.children().await?).await?;
        self.keep_asked(version, &asked).await?;
        crash::at("replicant.asked");
        self.goes_on_with(&child).await
    }

    /// Who signs, and for which contracts.
    pub(crate) fn signing_facts(&self) -> SigningFacts {
        SigningFacts {
            chain_id: self.node.chain_id(),
            manager: DELEGATION_MANAGER,
            session_account: self.grant.delegate,
            environment: environment(),
            now: self.now(),
        }
    }

    /// Judged once more by its own policy's side, bound by bound, whoever wrote it.
    fn within(&self, child: Delegation) -> Handing {
        ChildGrant::judge(&self.context, child, &self.cage, &self.signing_facts())
    }

    /// From where it is to where it lives.
    async fn goes_on_with(&self, known: &Child) -> Result<Spawning, TickError> {
        let refused = |reason: &str| Ok(Spawning::refused(DenialCode::IntentUsed, reason));
        match known.upbringing {
            Upbringing::Living => return self.inheritance(known),
            Upbringing::Ended { .. } => return refused("its key had its life"),
            Upbringing::Asked => {}
        }
        if known.above != self.grant {
            self.ends(known.clone(), "its parent had another grant before it was made").await?;
            return refused("its parent has another grant by now: it needs a key of its own again");
        }
        let hash = known.grant.hash().0;
        let recorded = GolemLifecycle::delegationOfCall {
            account: self.charter.account,
            golemId: self.id,
            replicant: known.key,
        };
        if self.node.read(golem_lifecycle(), recorded).await? != hash {
            let spawn = GolemLifecycle::spawnReplicantCall {
                golemId: self.id,
                replicant: known.key,
                delegationHash: hash,
            };
            let call = Execution {
                target: golem_lifecycle(),
                value: U256::ZERO,
                data: spawn.abi_encode().into(),
            };
            let name = [b"bardo child ".as_slice(), self.id.as_slice(), hash.as_slice()].concat();
            match self.act(IntentId(keccak256(name)), &[call], "a child").await? {
                Outcome::Done => {}
                Outcome::Refused(denials) => {
                    self.ends(known.clone(), "it was not made").await?;
                    return Ok(Spawning::Refused(denials));
                }
                Outcome::Failed(denial) => {
                    self.ends(known.clone(), "it was not made").await?;
                    return Ok(Spawning::Refused(vec![denial]));
                }
                Outcome::Unsettled(why) => return Ok(Spawning::Unsettled(why)),
            }
        }
        crash::at("replicant.recorded");
        // What was read from the disk is judged like what was just made.
        let child = match self.within(known.grant.clone()) {
            Handing::Permitted(child) => child,
            Handing::Refused(denials) => return Ok(Spawning::Refused(denials)),
        };
        let Some(key) = self.keys.signer().await else { return refused("there is no key") };
        let grant = key.delegate(child).await?;
        crash::at("replicant.signed");
        let living = Child { grant, upbringing: Upbringing::Living, ..known.clone() };
        self.keep_child(&living).await?;
        crash::at("replicant.living");
        let told = GolemEvent::ReplicantSpawned {
            replicant: living.id,
            session: living.key,
            delegation_hash: living.grant.hash(),
            expires_at: living.not_after,
        };
        self.fabric.emit_once(&format!("spawned-{}", living.key), &told, self.now()).await?;
        self.inheritance(&living)
    }

    fn inheritance(&self, child: &Child) -> Result<Spawning, TickError> {
        Ok(Spawning::Spawned(Box::new(Inheritance {
            golem: self.id,
            replicant: child.id,
            owner: self.owner,
            context: child.context()?.encode(),
            budget: child.errand.budget,
            high_water: self.life.high_water,
        })))
    }

    /// Sees which of its children are over, and writes down why.
    pub async fn look_after_children(&self) -> Result<(), TickError> {
        for child in self.children().await?.into_iter().filter(Child::lives) {
            if let Some(cause) = self.end_of(&child).await? {
                self.ends(child, &cause).await?;
            }
        }
        Ok(())
    }

    /// Its own death is theirs.
    pub(crate) async fn children_end(&self) -> Result<(), TickError> {
        for child in self.children().await?.into_iter().filter(Child::lives) {
            self.ends(child, "its parent is dead").await?;
        }
        Ok(())
    }

    /// What the chain has against it; none while it may act.
    async fn end_of(&self, child: &Child) -> Result<Option<String>, TickError> {
        let (ended, at) = ended_at(&self.node, &child.context()?).await?;
        let spent = self.spent_by(child).await?;
        Ok(match ended {
            Some(ended) => Some(cause(&ended)),
            None if at > child.not_after => Some("its time is over".to_owned()),
            None if spent >= child.errand.budget => Some("its budget is spent".to_owned()),
            None => None,
        })
    }

    async fn ends(&self, child: Child, cause: &str) -> Result<(), TickError> {
        let spent = self.spent_by(&child).await?;
        let (id, key, at) = (child.id, child.key, self.now());
        let upbringing = Upbringing::Ended { cause: cause.to_owned(), at, spent };
        let lived = child.lives();
        self.keep_child(&Child { upbringing, ..child }).await?;
        crash::at("replicant.ended");
        if lived {
            let told = GolemEvent::ReplicantEnded { replicant: id, cause: cause.to_owned() };
            self.fabric.emit_once(&format!("ended-{key}"), &told, at).await?;
        }
        Ok(())
    }

    /// What one has spent itself, in micro-dollars: what was counted for its name before it is left out.
    async fn spent_by(&self, child: &Child) -> Result<u64, TickError> {
        if let Upbringing::Ended { spent, .. } = child.upbringing {
            return Ok(spent);
        }
        let counted = self.counted(child.above.delegate, child.id).await?;
        Ok(counted.saturating_sub(child.counted))
    }

    /// What the chain has counted for a name, in micro-dollars.
    async fn counted(&self, delegator: Address, id: B256) -> Result<u64, TickError> {
        let manager = DELEGATION_MANAGER;
        let asked = ReplicantBudgetEnforcer::spentByCall { manager, delegator, replicantId: id };
        let counted = self.node.read(replicant_budget_enforcer(), asked).await?;
        // More than the form holds is all (INV-4).
        Ok(u64::try_from(counted).unwrap_or(u64::MAX))
    }

    /// What they have spent: its own judgement counts that with what it spent itself. A child's whole life counts for the day, as long as
    /// it lives and a day longer.
    pub(crate) async fn spent_by_children(&self) -> Result<Spent, TickError> {
        let mut all = Spent::default();
        let (_, roll, children) = self.read_children().await?;
        for Forgotten { parent, at, spent } in roll.forgotten {
            if parent == self.grant.delegate {
                all.session = all.session.saturating_add(spent);
            }
            if counts_for_the_day(at, self.now()) {
                all.day = all.day.saturating_add(spent);
            }
        }
        for child in &children {
            let spent = self.spent_by(child).await?;
            if child.above.delegate == self.grant.delegate {
                all.session = all.session.saturating_add(spent);
            }
            let over = match child.upbringing {
                Upbringing::Ended { at, .. } => !counts_for_the_day(at, self.now()),
                Upbringing::Asked | Upbringing::Living => false,
            };
            if !over {
                all.day = all.day.saturating_add(spent);
            }
        }
        Ok(all)
    }
}

/// What the chain has against these links, and the second in which it said so.
async fn ended_at(
    node: &Node,
    context: &PermissionContext,
) -> Result<(Option<Ended>, u64), TickError> {
    let seen = observe(node, DELEGATION_MANAGER, context, &[]).await?;
    let at = seen.block.timestamp;
    Ok((GrantLife::of(context, &environment(), at, &seen.facts)?.ended, at))
}

/// Where one is kept.
pub(crate) fn cell_of(key: Address) -> String {
    format!("{CELL_OF}{key:x}")
}

/// Why one can do nothing any more, in words.
fn cause(ended: &Ended) -> String {
    match ended {
        Ended::WindowRefuses { .. } => "its parent has another grant".to_owned(),
        Ended::Closed { .. } => "its parent is dead".to_owned(),
        Ended::Deregistered { .. } => "its parent was taken off the register".to_owned(),
        Ended::EpochRevoked { .. }
        | Ended::GenerationRevoked { .. }
        | Ended::Disabled { .. }
        | Ended::NonceRaised { .. } => format!("its parent's grant is revoked: {ended}"),
        Ended::Expired { .. } => format!("its time is over: {ended}"),
        ended => ended.to_string(),
    }
}

const fn code_of(wider: &GrantError) -> DenialCode {
    match wider {
        GrantError::NoReplicants { .. } | GrantError::NotListed { .. } => DenialCode::Redeemer,
        _ => DenialCode::PolicySignature,
    }
}
