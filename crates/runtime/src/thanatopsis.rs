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
    DeathTrigger, Golem, GolemEvent, RevocationReason, Testament, TickError,
    bequest::{gather, keep_bequest, keep_testament},
    crash,
};
use alloy_primitives::U256;
use golem_chain::{EstateError, GrantedEstate};
use golem_custody::{
    BoxError, CustodyMode, DeathOrder, DeathSettlement, DeathSteps, Denial, DenialCode, Estate,
    Exhaustion, ExpiryKind, Judged, Metabolism, RegistryUpdate, Says, SettlementError, Settling,
    Steps as _, seal,
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
        loop {
            let Some((version, at)) = self.read_death().await? else {
                return Err(DeathError::Alive);
            };
            let next = match at {
                Dying::Accepted { trigger, vitality, at } => {
                    self.accepts(trigger, vitality).await?;
                    match self.settles(trigger).await? {
                        Settling::Done(death) => Dying::Settled { trigger, at, death },
                        Settling::Halted(denial) => return Ok(Passing::Waits(denial)),
                    }
                }
                Dying::Settled { trigger, at, death } => {
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

    /// What the world is told: that it is in its last phase, and what it held of others' leave.
    async fn accepts(&self, trigger: DeathTrigger, vitality: u16) -> Result<(), DeathError> {
        let now = self.now();
        let started = GolemEvent::DeathProtocolStarted { trigger, vitality_score: vitality };
        self.once("started", started, now).await?;
        let grant = self.grant.hash().0;
        let terminal = GolemEvent::GolemTerminal { golem_id: self.id, permission_ids: vec![grant] };
        self.once("terminal", terminal, now).await?;
        let reason = match trigger {
            DeathTrigger::OwnerKillSwitch => RevocationReason::OwnerKillSwitch,
            DeathTrigger::PolicyViolation => RevocationReason::PolicyViolation,
            _ => RevocationReason::Terminal,
        };
        let revoked = GolemEvent::PermissionRevoked {
            golem_id: self.id,
            reason,
            cause: "it ends its own side; the grant itself is its owner's to revoke".to_owned(),
            revoked_count: 1,
        };
        self.once("revoked", revoked, now).await?;
        let entry = self.registry.entry(self.id).await.map_err(TickError::from)?;
        let speaks = entry.is_some_and(|entry| {
            entry.state.phase < Phase::Terminal && entry.agent_key == Some(self.grant.delegate)
        });
        if speaks && self.lane.is_some() {
            let says = Says::Vitality { phase: Phase::Terminal, score: vitality };
            let name = self.order(trigger).effect("terminal");
            let update = RegistryUpdate { golem: self.id, says };
            let _ = self.land(Judged::said(name, update)).await?;
            // The last word about the log while there is a key: what comes after it hangs on it.
            let _ = self.anchor_as(self.order(trigger).effect("anchor")).await?;
        }
        Ok(())
    }

    async fn once(&self, name: &str, event: GolemEvent, now: u64) -> Result<(), DeathError> {
        let name = format!("death-{name}");
        self.fabric.emit_once(&name, &event, now).await.map_err(TickError::from)?;
        Ok(())
    }

    fn order(&self, trigger: DeathTrigger) -> DeathOrder {
        let cause = match trigger {
            DeathTrigger::GrantEnded if self.charter.window.end() <= self.now() => {
                ExpiryKind::NaturalExpiry
            }
            DeathTrigger::GrantEnded | DeathTrigger::OwnerKillSwitch => ExpiryKind::OwnerRevocation,
            _ => ExpiryKind::Relinquished,
        };
        let metabolism = Metabolism { balance: 0, daily_revenue: 0, daily_costs: self.costs };
        let exhaustion = matches!(trigger, DeathTrigger::Exhaustion)
            .then(|| Exhaustion::of(&metabolism, 0, self.life.cost))
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
            steps.accept(CustodyMode::Delegation, self.order(trigger), now).await?;
        }
        if let Some(golem_custody::Settlement::Settled { death, .. }) = steps.at().await? {
            return Ok(Settling::Done(death));
        }
        let Some(lane) = &self.lane else {
            let reason = "the key that could settle what it held is gone: its owner takes it out himself, or grants a new key";
            return Ok(Settling::Halted(Denial::new(DenialCode::NotTheDelegate, reason)));
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
