//! How a Golem dies: four phases, each on the disk before the next, and no way back (SPEC K11, D13, D18, INV-9).
//!
//! ```text
//! Acceptance ──► Settlement ──► Reflection ──► Legacy ──► dead
//! Terminal on     positions,     what it was,   all of it,
//! the register,   allowances,    in words       sealed for its
//! the log         leftovers,                    owner
//! anchored        registry, key
//! ```
//!
//! Feed is taken until Acceptance is written, and never after. Killed anywhere, the next process goes on from the last phase that the disk
//! has; each effect has a name under which it is made once.

use crate::{
    DeathTrigger, Golem, GolemEvent, Outcome, RevocationReason, Testament, TickError,
    bequest::{gather, keep_bequest, keep_runway, keep_testament},
    crash,
};
use alloy_primitives::{B256, U256};
use async_trait::async_trait;
use golem_chain::{EstateError, GrantedEstate};
use golem_custody::{
    BoxError, BroughtHome, CustodyChoice, CustodyMode, DeathOrder, DeathSettlement, DeathSteps,
    Denial, DenialCode, Effect, Estate, Exhaustion, ExpiryKind, IntentId, Judged, Keys, Metabolism,
    Positions, RegistryUpdate, Runway, Runways, Says, SettlementError, Settling, Steps as _,
    SweepOrder, Undertaker, seal,
};
use golem_delegation::grant::Phase;
use serde::{Deserialize, Serialize};

/// Where it is kept.
pub(crate) const CELL: &str = "thanatopsis";

/// How far a death is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Dying {
    /// It is certain. There is no other end from here on.
    Accepted {
        /// What it dies of.
        trigger: DeathTrigger,
        /// How much life it had.
        vitality: u16,
        /// The second in which it was accepted.
        at: u64,
    },
    /// What it held is its owner's, as far as that can be.
    Settled {
        /// What it died of.
        trigger: DeathTrigger,
        /// The second in which it was accepted.
        at: u64,
        /// How.
        death: DeathSettlement,
    },
    /// What it was is written down.
    Reflected {
        /// What it died of.
        trigger: DeathTrigger,
        /// The second in which it was accepted.
        at: u64,
        /// How it was settled.
        death: DeathSettlement,
    },
    /// All of it lies sealed, for its owner.
    Left {
        /// What it died of.
        trigger: DeathTrigger,
        /// The second in which it was accepted.
        at: u64,
        /// How it was settled.
        death: DeathSettlement,
    },
}

impl Dying {
    /// What it dies of.
    #[must_use]
    pub const fn trigger(&self) -> DeathTrigger {
        match self {
            Self::Accepted { trigger, .. }
            | Self::Settled { trigger, .. }
            | Self::Reflected { trigger, .. }
            | Self::Left { trigger, .. } => *trigger,
        }
    }

    /// Whether nothing of it is left to do.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        matches!(self, Self::Left { .. })
    }
}

/// How far a death came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Passing {
    /// To its end.
    Dead(DeathSettlement),
    /// It waits, and goes on from here.
    Waits(Denial),
}

/// A death is not at its end. What was done is written down, and the same goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeathError {
    /// The disk.
    #[error("the death could not be written down; it is where it was")]
    Books(#[source] BoxError),
    /// What stands on the disk is none of its phases.
    #[error("what is kept of the death is not understood; nothing was done")]
    Unread(#[source] serde_json::Error),
    /// Nobody died.
    #[error("no death was accepted; nothing was done")]
    Alive,
    /// What it held.
    #[error("what it held could not be settled; that is tried again")]
    Settlement(#[from] SettlementError),
    /// By which rules.
    #[error(transparent)]
    Estate(#[from] EstateError),
    /// Something that it does while it dies.
    #[error("something that it does while it dies was not done; that is tried again")]
    Tick(#[from] TickError),
    /// What it leaves behind.
    #[error("what it leaves behind could not be written; that is tried again")]
    Legacy(#[source] BoxError),
}

impl Golem {
    /// How far its death is; none while it lives.
    pub async fn dying(&self) -> Result<Option<Dying>, DeathError> {
        Ok(self.read_death().await?.map(|(_, at)| at))
    }

    /// Whether it was accepted. What is there and cannot be read is no life (INV-4).
    pub(crate) async fn is_dying(&self) -> Result<bool, TickError> {
        Ok(self.store.load(CELL).await.map_err(TickError::Books)?.is_some())
    }

    async fn read_death(&self) -> Result<Option<(u64, Dying)>, DeathError> {
        let Some(step) = self.store.load(CELL).await.map_err(DeathError::Books)? else {
            return Ok(None);
        };
        let at = serde_json::from_value(step.value).map_err(DeathError::Unread)?;
        Ok(Some((step.version, at)))
    }

    async fn write_death(&self, version: u64, to: &Dying) -> Result<u64, DeathError> {
        let value = serde_json::to_value(to).map_err(DeathError::Unread)?;
        let advanced = self.store.advance(CELL, version, &value, self.now()).await;
        advanced.map_err(DeathError::Books)?;
        crash::at(match to {
            Dying::Accepted { .. } => "thanatopsis.accepted",
            Dying::Settled { .. } => "thanatopsis.settled",
            Dying::Reflected { .. } => "thanatopsis.reflected",
            Dying::Left { .. } => "thanatopsis.left",
        });
        Ok(version.saturating_add(1))
    }

    /// Accepts its death, and goes as far as it can. One that was accepted before is gone on with, whatever it is said to die of now.
    pub async fn dies(&mut self, trigger: DeathTrigger) -> Result<Passing, DeathError> {
        if self.read_death().await?.is_none() {
            let vitality = self.life.clocks.vitality();
            let accepted = Dying::Accepted { trigger, vitality, at: self.now() };
            self.write_death(0, &accepted).await?;
        }
        self.goes_on_dying().await
    }

    /// Goes on from where it is.
    pub async fn goes_on_dying(&mut self) -> Result<Passing, DeathError> {
        // All that is left to do brings what it has to its owner: he is not asked whether it may (SPEC D18, INV-9).
        if self.mandate.consent.take().is_some() {
            self.take_its_lane().await.map_err(TickError::from)?;
        }
        loop {
            let Some((version, at)) = self.read_death().await? else {
                return Err(DeathError::Alive);
            };
            let next = match at {
                Dying::Accepted { trigger, vitality, at } => {
                    if let Some(denial) = self.accepts(trigger, vitality).await? {
                        return Ok(Passing::Waits(denial));
                    }
                    match self.settles(trigger).await? {
                        Settling::Done(death) => Dying::Settled { trigger, at, death },
                        Settling::Halted(denial) => return Ok(Passing::Waits(denial)),
                    }
                }
                Dying::Settled { trigger, at, death } => {
                    self.lets_go(trigger).await?;
                    self.children_end().await?;
                    let reflected = self.reflects(trigger, at, &death).await;
                    reflected.map_err(DeathError::Legacy)?;
                    Dying::Reflected { trigger, at, death }
                }
                Dying::Reflected { trigger, at, death } => {
                    self.leaves(trigger, at, &death).await.map_err(DeathError::Legacy)?;
                    Dying::Left { trigger, at, death }
                }
                Dying::Left { death, .. } => return Ok(Passing::Dead(death)),
            };
            self.write_death(version, &next).await?;
        }
    }

    /// What the world is told: that it is in its last phase, and what it held of others' leave. Or why that waits.
    async fn accepts(
        &self,
        trigger: DeathTrigger,
        vitality: u16,
    ) -> Result<Option<Denial>, DeathError> {
        let now = self.now();
        let started = GolemEvent::DeathProtocolStarted { trigger, vitality_score: vitality };
        self.once("started", started, now).await?;
        let runways = Runways::new(self.store.as_ref());
        // Given up before a crash it is what it had all the same.
        let runway = match runways.at().await.map_err(TickError::from)? {
            None => runways.ended().await.map_err(TickError::from)?,
            runway => runway,
        };
        let grants = runway.iter().filter_map(Runway::grant).chain([self.grant.hash()]);
        let permission_ids = grants.map(|grant| grant.0).collect();
        let terminal = GolemEvent::GolemTerminal { golem_id: self.id, permission_ids };
        self.once("terminal", terminal, now).await?;
        // Runway first, the trading grant after Settlement, the key last (SPEC D18).
        if let Some(runway) = runways.end(now).await.map_err(TickError::from)? {
            if let Some(folder) = &self.folder {
                let kept = keep_runway(folder, &runway.context);
                kept.map_err(|error| DeathError::Legacy(error.into()))?;
            }
            if runway.expires_at > now {
                let cause = "it gave up its runway, and redeems no more of it; the grant is its owner's to revoke";
                let id = runway.grant().map(|grant| grant.0);
                self.once("revoked-runway", self.revoked(trigger, cause, id), now).await?;
            }
        }
        self.tells_the_registry(trigger, vitality).await
    }

    /// That it is in its last phase, and how long its log is; or why that waits. Without it the charter lets nothing be settled.
    async fn tells_the_registry(
        &self,
        trigger: DeathTrigger,
        vitality: u16,
    ) -> Result<Option<Denial>, DeathError> {
        let Some(lane) = &self.lane else { return Ok(None) };
        // What was signed before may be that very word: it is not said beside it. What came of it is in the books, or still open.
        drop(lane.finish().await);
        let entry = self.registry.entry(self.id).await.map_err(TickError::from)?;
        let entry = entry
            .filter(|entry| !entry.state.closed && entry.agent_key == Some(self.grant.delegate));
        let Some(entry) = entry else { return Ok(None) };
        let order = self.order(trigger);
        if entry.state.phase < Phase::Terminal {
            let says = Says::Vitality { phase: Phase::Terminal, score: vitality };
            let (name, _) = self.unused(order.effect("terminal")).await?;
            let update = RegistryUpdate { golem: self.id, says };
            if let Some(denial) = in_the_way(self.land(Judged::said(name, update)).await?) {
                return Ok(Some(denial));
            }
        }
        // The last word about the log while there is a key: what comes after it hangs on it. One that is refused holds up no death.
        let (name, anchored) = self.unused(order.effect("anchor")).await?;
        if !anchored {
            let _ = self.anchor_as(name).await?;
        }
        Ok(None)
    }

    /// That it gave up a permission.
    fn revoked(
        &self,
        trigger: DeathTrigger,
        cause: &str,
        permission_id: Option<B256>,
    ) -> GolemEvent {
        let reason = match trigger {
            DeathTrigger::OwnerKillSwitch => RevocationReason::OwnerKillSwitch,
            _ => RevocationReason::Terminal,
        };
        let (golem_id, cause) = (self.id, cause.to_owned());
        GolemEvent::PermissionRevoked { golem_id, reason, cause, revoked_count: 1, permission_id }
    }

    /// What Settlement ended on its side: with the key, all that it could do by its grant.
    async fn lets_go(&self, trigger: DeathTrigger) -> Result<(), DeathError> {
        let now = self.now();
        let kind = self.kind(trigger);
        let cause = "its key is wiped, and nobody redeems its grant any more; the grant is its owner's to revoke";
        let revoked = self.revoked(trigger, cause, Some(self.grant.hash().0));
        self.once("revoked", revoked, now).await?;
        self.tell_of_over(&self.grant, kind, now).await?;
        Ok(self.tell_of_wiped(self.grant.delegate, kind, now).await?)
    }

    async fn once(&self, name: &str, event: GolemEvent, now: u64) -> Result<(), DeathError> {
        let name = format!("death-{name}");
        self.fabric.emit_once(&name, &event, now).await.map_err(TickError::from)?;
        Ok(())
    }

    /// What ended its grant.
    fn kind(&self, trigger: DeathTrigger) -> ExpiryKind {
        match trigger {
            DeathTrigger::GrantEnded if self.charter.window.end() <= self.now() => {
                ExpiryKind::NaturalExpiry
            }
            DeathTrigger::GrantEnded | DeathTrigger::OwnerKillSwitch => ExpiryKind::OwnerRevocation,
            _ => ExpiryKind::Relinquished,
        }
    }

    fn order(&self, trigger: DeathTrigger) -> DeathOrder {
        let (cause, life) = (self.kind(trigger), &self.life);
        let daily_revenue = life.earnings.daily();
        let metabolism = Metabolism { balance: 0, daily_revenue, daily_costs: self.costs };
        let exhaustion = matches!(trigger, DeathTrigger::Exhaustion)
            .then(|| Exhaustion::of(&metabolism, life.earnings.lifetime(), life.inference))
            .flatten();
        DeathOrder {
            golem: self.id,
            estate: Estate::Granted { delegation: self.grant.hash().0, cause },
            exhaustion,
        }
    }

    async fn settles(&self, trigger: DeathTrigger) -> Result<Settling, DeathError> {
        let now = self.now();
        let steps = DeathSteps::new(self.store.as_ref(), U256::ZERO);
        // The first order counts: what it is said to die of later changes nothing.
        if steps.at().await?.is_none() {
            let choice = CustodyChoice::new(self.store.as_ref()).at().await;
            let choice = choice.map_err(TickError::from)?;
            // A child has chosen nothing: its key is one of its process.
            let mode = choice.map_or(CustodyMode::Delegation, |choice| choice.mode());
            steps.accept(mode, self.order(trigger), now).await?;
        }
        if let Some(golem_custody::Settlement::Settled { death, .. }) = steps.at().await? {
            return Ok(Settling::Done(death));
        }
        let Some(lane) = &self.lane else {
            let entry = self.registry.entry(self.id).await.map_err(TickError::from)?;
            let closed = entry.is_some_and(|entry| entry.state.closed);
            return Ok(steps.run(&Keyless { keys: &self.keys, closed }, now).await?);
        };
        let estate = GrantedEstate::new(
            self.context.clone(),
            lane,
            &self.cage,
            &self.keys,
            self.store.as_ref(),
        )?
        .paid_in([self.charter.settlement_asset]);
        Ok(steps.run(&estate, now).await?)
    }

    /// What it was, in words: for its owner to read, beside what is sealed for him.
    async fn reflects(
        &self,
        trigger: DeathTrigger,
        at: u64,
        death: &DeathSettlement,
    ) -> Result<Testament, BoxError> {
        let testament =
            Testament::written(&self.store, &self.life, self.owner, trigger, death, at).await?;
        if let Some(folder) = &self.folder {
            keep_testament(folder, &testament)?;
        }
        Ok(testament)
    }

    /// All of it, sealed for its owner by the signature under his own grant. The log in it ends before this: a log cannot hold itself.
    async fn leaves(
        &self,
        trigger: DeathTrigger,
        at: u64,
        death: &DeathSettlement,
    ) -> Result<(), BoxError> {
        if let Some(folder) = &self.folder {
            let testament = self.reflects(trigger, at, death).await?;
            let bundle = gather(&self.store, &testament, death, self.now()).await?;
            let sealed = seal(&self.grant, &self.domain(), self.owner, self.id, &bundle)?;
            keep_bequest(folder, self.id, &sealed)?;
        }
        let completed = GolemEvent::DeathCompleted {
            golem_id: self.id,
            lifetime_ticks: self.life.ticks,
            total_cost: self.life.cost,
            final_nav: self.life.worth.unwrap_or(0),
        };
        self.fabric.emit_once("death-completed", &completed, self.now()).await?;
        Ok(())
    }
}

/// Who settles where the key is gone: nothing that takes one. What lies behind the registry's last word takes none.
struct Keyless<'a> {
    keys: &'a Keys,
    /// Whether the registry has it as dead.
    closed: bool,
}

impl Keyless<'_> {
    fn gone<T>() -> Result<Effect<T>, BoxError> {
        let reason = "the key that could settle what it held is gone: its owner takes it out himself, or grants a new key";
        Ok(Effect::Halted(Denial::new(DenialCode::NotTheDelegate, reason)))
    }
}

#[async_trait]
impl Undertaker for Keyless<'_> {
    async fn close_positions(&self, _: IntentId) -> Result<Effect<Positions>, BoxError> {
        Self::gone()
    }

    async fn zero_allowances(&self, _: IntentId) -> Result<Effect<()>, BoxError> {
        Self::gone()
    }

    async fn bring_home(
        &self,
        _: IntentId,
        _: &SweepOrder,
    ) -> Result<Effect<BroughtHome>, BoxError> {
        Self::gone()
    }

    async fn close_registry(&self, _: IntentId, _: B256) -> Result<Effect<()>, BoxError> {
        if self.closed { Ok(Effect::Done(())) } else { Self::gone() }
    }

    async fn end_keys(&self) -> Result<(), BoxError> {
        self.keys.end().await
    }
}

/// Why a word to the registry did not come through; none where it did.
fn in_the_way(outcome: Outcome) -> Option<Denial> {
    match outcome {
        Outcome::Done => None,
        Outcome::Refused(denials) => Some(denials.into_iter().next().unwrap_or_else(|| {
            Denial::new(DenialCode::Phase, "the registry was not told that it is in its last phase")
        })),
        Outcome::Failed(denial) => Some(denial),
        Outcome::Unsettled(why) => {
            let reason = format!("it is not known whether the registry has its last phase: {why}");
            Some(Denial::new(DenialCode::Phase, reason))
        }
    }
}
