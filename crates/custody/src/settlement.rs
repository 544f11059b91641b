//! How a death ends what a Golem holds, in every mode: forward only, each step on the disk before the next (SPEC K8, D18, INV-9).
//!
//! ```text
//! accepted ──► positions closed ──► allowances zeroed ──► rest sent home ──► registry closed ──► key wiped: settled
//!              what cannot be is     they outlive a key    Embedded: sweep     the grant is dead
//!              deferred, and said                          else: leftovers
//! ```
//!
//! Nothing leads back, and nothing but the end leads out. A step's effect comes before its record, so a crash between the two
//! has it asked for again: under the same name, by which whoever makes it knows that it was made.

use crate::{
    BardoManifest, BoxError, CustodyMode, DeferredPosition, Denial, IntentId, Metabolism,
    SettledPosition, SettlementKind, Steps, Sustainability, SweepOrder, Swept, WalletId,
};
use alloy_primitives::{B256, U256, keccak256};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

/// Where it is kept.
const CELL: &str = "settlement";
/// What pays for itself, in basis points.
const WHOLE: u64 = 10_000;

/// What ended a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExpiryKind {
    /// Its last second.
    NaturalExpiry,
    /// Its owner.
    OwnerRevocation,
    /// Its last call.
    CallLimitReached,
    /// Nothing yet: the Golem died first, and ends its own side alone (SPEC D19). The root is the owner's.
    Relinquished,
}

/// What a Golem died of when it could no longer pay for itself. Money in micro-dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Exhaustion {
    /// Revenue beside costs at the end, in basis points: less than [`Self::MOST`].
    pub final_sustainability_bps: u64,
    /// All that it ever earned.
    pub lifetime_revenue: u64,
    /// All that its thoughts cost.
    pub lifetime_inference_spend: u64,
}

impl Exhaustion {
    /// More than this is no exhaustion: it pays for itself.
    pub const MOST: u64 = WHOLE - 1;

    /// Of a Golem that does not earn what it costs; none of one that does.
    ///
    /// ```
    /// use golem_custody::{DailyCosts, Exhaustion, Metabolism};
    /// let costs = DailyCosts { inference: 4_000_000, ..DailyCosts::default() };
    /// let poor = Metabolism { balance: 0, daily_revenue: 1_000_000, daily_costs: costs };
    /// assert_eq!(Exhaustion::of(&poor, 7, 9).map(|it| it.final_sustainability_bps), Some(2_500));
    /// assert_eq!(Exhaustion::of(&Metabolism { daily_revenue: 4_000_000, ..poor }, 7, 9), None);
    /// ```
    #[must_use]
    pub fn of(
        metabolism: &Metabolism,
        lifetime_revenue: u64,
        lifetime_inference_spend: u64,
    ) -> Option<Self> {
        match metabolism.sustainability() {
            Sustainability::Share(final_sustainability_bps)
                if final_sustainability_bps <= Self::MOST =>
            {
                Some(Self { final_sustainability_bps, lifetime_revenue, lifetime_inference_spend })
            }
            Sustainability::Share(_) | Sustainability::Free => None,
        }
    }
}

/// What a dead Golem held.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum Estate {
    /// A grant. The money was its owner's all the time.
    Granted {
        /// Its hash.
        delegation: B256,
        /// What ended it.
        cause: ExpiryKind,
    },
    /// A wallet that somebody else signs for.
    Provided {
        /// What the service calls it.
        wallet: WalletId,
    },
}

impl Estate {
    /// How such a thing ends.
    #[must_use]
    pub const fn settlement(&self) -> SettlementKind {
        match self {
            Self::Granted { .. } => SettlementKind::DelegationExpiry,
            Self::Provided { .. } => SettlementKind::PrivySweep,
        }
    }
}

/// A death that was accepted. There is no other after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeathOrder {
    /// Who died: its id on chain.
    pub golem: B256,
    /// What it held.
    pub estate: Estate,
    /// That it could not pay for itself, if that is why.
    pub exhaustion: Option<Exhaustion>,
}

impl DeathOrder {
    /// The name of one of its effects. Whoever makes it makes one of a name: intents are reserved by theirs, once.
    #[must_use]
    pub fn effect(&self, step: &str) -> IntentId {
        IntentId(keccak256([b"bardo death ", self.golem.as_slice(), step.as_bytes()].concat()))
    }
}

/// How a death ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
pub enum DeathSettlement {
    /// Nothing was swept: the money never left its owner.
    DelegationExpiry {
        /// The grant's hash.
        delegation: B256,
        /// What ended it.
        cause: ExpiryKind,
        /// What was closed, and what the key had left over and sent home (SPEC D25).
        positions_settled: Vec<SettledPosition>,
        /// What stays open in the owner's account, for him.
        positions_deferred: Vec<DeferredPosition>,
    },
    /// A wallet was swept.
    PrivySweep {
        /// What there was, what the owner has, and what is left for him to fetch.
        manifest: BardoManifest,
    },
    /// Either of these, because it could not pay for itself.
    EconomicExhaustion {
        /// In numbers.
        exhaustion: Exhaustion,
        /// Which of them.
        inner: Box<Self>,
    },
}

impl DeathSettlement {
    /// What the owner has to look after himself.
    #[must_use]
    pub fn positions_deferred(&self) -> &[DeferredPosition] {
        match self {
            Self::DelegationExpiry { positions_deferred, .. } => positions_deferred,
            Self::PrivySweep { manifest } => &manifest.positions_deferred,
            Self::EconomicExhaustion { inner, .. } => inner.positions_deferred(),
        }
    }

    /// What the registry is told (SPEC C15): the manifest's own hash where there is one, keccak of the canonical JSON
    /// (RFC 8785) of everything else.
    #[must_use]
    pub fn hash(&self) -> B256 {
        match self {
            Self::PrivySweep { manifest } => manifest.hash(),
            Self::EconomicExhaustion { inner, .. } => inner.hash(),
            Self::DelegationExpiry { .. } => {
                // All of it is text and small integers, and so always has such a form.
                keccak256(serde_json_canonicalizer::to_string(self).unwrap_or_default())
            }
        }
    }
}

/// What became of positions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Positions {
    /// Closed, or sent home.
    pub settled: Vec<SettledPosition>,
    /// Not; each with its reason.
    pub deferred: Vec<DeferredPosition>,
}

/// What came home at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BroughtHome {
    /// What the key had left over: gas money, and runway that was not used (SPEC C19, D25).
    Leftovers(Positions),
    /// All of a wallet.
    Swept(Box<BardoManifest>),
}

/// How far an effect came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Effect<T> {
    /// To its end.
    Done(T),
    /// Not now: the wallet is away, or the key waits for its owner. The same is asked for later.
    Halted(Denial),
}

impl From<Swept> for Effect<BroughtHome> {
    fn from(swept: Swept) -> Self {
        match swept {
            Swept::Done(manifest) => Self::Done(BroughtHome::Swept(Box::new(manifest))),
            Swept::Halted(denial) => Self::Halted(denial),
        }
    }
}

/// Port: what a death does outside. Each is asked for again after a crash, by the same name: what was made under it is found and
/// not made anew.
#[async_trait]
pub trait Undertaker: Send + Sync {
    /// Closes what is open. What cannot be closed is no reason to wait.
    async fn close_positions(&self, effect: IntentId) -> Result<Effect<Positions>, BoxError>;

    /// Takes every allowance back: it would outlive key and grant (SPEC D28).
    async fn zero_allowances(&self, effect: IntentId) -> Result<Effect<()>, BoxError>;

    /// Sends the owner what is left, and nobody else. Of a wallet it is all; see [`crate::Sweep`].
    async fn bring_home(
        &self,
        effect: IntentId,
        order: &SweepOrder,
    ) -> Result<Effect<BroughtHome>, BoxError>;

    /// Tells the registry that the Golem is dead, and how: from then on its grant is nobody's.
    async fn close_registry(
        &self,
        effect: IntentId,
        settlement: B256,
    ) -> Result<Effect<()>, BoxError>;

    /// Wipes every key, in memory and on disk. Of none there is nothing to wipe.
    async fn end_keys(&self) -> Result<(), BoxError>;
}

/// How far a death is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "camelCase", deny_unknown_fields)]
pub enum Settlement {
    /// It is certain.
    Accepted {
        /// What is to end.
        order: DeathOrder,
    },
    /// Nothing is open that can be closed.
    Closed {
        /// What is to end.
        order: DeathOrder,
        /// What became of what was open.
        positions: Positions,
    },
    /// Nobody may take anything any more.
    Disallowed {
        /// What is to end.
        order: DeathOrder,
        /// What became of what was open.
        positions: Positions,
    },
    /// The owner has what he can have.
    Returned {
        /// What is to end.
        order: DeathOrder,
        /// How.
        death: DeathSettlement,
    },
    /// The registry knows.
    Deregistered {
        /// What is to end.
        order: DeathOrder,
        /// How.
        death: DeathSettlement,
    },
    /// Nothing is left, and no key.
    Settled {
        /// What ended.
        order: DeathOrder,
        /// How.
        death: DeathSettlement,
    },
}

impl Settlement {
    /// What is to end.
    #[must_use]
    pub const fn order(&self) -> &DeathOrder {
        match self {
            Self::Accepted { order }
            | Self::Closed { order, .. }
            | Self::Disallowed { order, .. }
            | Self::Returned { order, .. }
            | Self::Deregistered { order, .. }
            | Self::Settled { order, .. } => order,
        }
    }

    /// Between a step's effect and its record, and behind the record.
    const fn failpoints(&self) -> (&'static str, &'static str) {
        match self {
            Self::Accepted { .. } => ("settlement.accepting", "settlement.accepted"),
            Self::Closed { .. } => ("settlement.closing", "settlement.closed"),
            Self::Disallowed { .. } => ("settlement.disallowing", "settlement.disallowed"),
            Self::Returned { .. } => ("settlement.returning", "settlement.returned"),
            Self::Deregistered { .. } => ("settlement.deregistering", "settlement.deregistered"),
            Self::Settled { .. } => ("settlement.settling", "settlement.settled"),
        }
    }
}

/// How far a run came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Settling {
    /// To the end.
    Done(DeathSettlement),
    /// It waits, and goes on from here.
    Halted(Denial),
}

/// A death is not at its end. What was done is written down, and the same goes on from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettlementError {
    /// The disk.
    #[error("the settlement could not be written down; it is where it was")]
    Books {
        /// Why.
        source: BoxError,
    },
    /// What stands on the disk is none of its steps.
    #[error("what is kept of the settlement is not understood; nothing was done")]
    Unread {
        /// Why.
        source: serde_json::Error,
    },
    /// Nobody died.
    #[error("no death was accepted; nothing was done")]
    Alive,
    /// A Golem dies once.
    #[error("another death of {golem} was accepted, and goes on; this one was not")]
    Another {
        /// Who.
        golem: B256,
    },
    /// An estate of another kind than its mode has.
    #[error("a Golem of the mode {} leaves something else behind; nothing was done", .mode.name())]
    OtherEstate {
        /// Its mode.
        mode: CustodyMode,
    },
    /// What a death did outside could not be done, or is not known to have been.
    #[error("the step after {after} could not be made, and is made again")]
    Effect {
        /// The last step that was.
        after: &'static str,
        /// Why.
        source: BoxError,
    },
    /// A manifest that is of something else, or is silent on what was said before.
    #[error("what came home is not of this death: {why}; nothing was written down")]
    NotThis {
        /// What is wrong with it.
        why: &'static str,
    },
}

/// One Golem's death.
#[derive(Clone, Copy, Debug)]
pub struct DeathSteps<'a, S> {
    steps: &'a S,
    /// Wei that stay in a wallet beyond gas, for a rollup's own fee.
    reserve: U256,
}

/// What a step comes to.
enum Next {
    Step(Box<Settlement>),
    Waits(Denial),
    End(DeathSettlement),
}

impl<'a, S: Steps> DeathSteps<'a, S> {
    /// Kept by `steps`. `reserve` are wei that a sweep leaves in the wallet beyond gas.
    pub const fn new(steps: &'a S, reserve: U256) -> Self {
        Self { steps, reserve }
    }

    /// How far it is; none of a Golem that lives.
    pub async fn at(&self) -> Result<Option<Settlement>, SettlementError> {
        Ok(self.read().await?.map(|(_, at)| at))
    }

    /// Accepts a death: from here on there is no other end. The same again changes nothing.
    pub async fn accept(
        &self,
        mode: CustodyMode,
        order: DeathOrder,
        now: u64,
    ) -> Result<(), SettlementError> {
        if order.estate.settlement() != mode.settlement() {
            return Err(SettlementError::OtherEstate { mode });
        }
        match self.read().await? {
            Some((_, at)) if *at.order() == order => Ok(()),
            Some((_, at)) => Err(SettlementError::Another { golem: at.order().golem }),
            None => {
                self.write(0, &Settlement::Accepted { order }, now).await?;
                crate::crash::at("settlement.accepted");
                Ok(())
            }
        }
    }

    /// Goes on from where it is, as far as it can.
    pub async fn run(&self, by: &dyn Undertaker, now: u64) -> Result<Settling, SettlementError> {
        let Some((mut version, mut at)) = self.read().await? else {
            return Err(SettlementError::Alive);
        };
        loop {
            at = match self.next(by, at).await? {
                Next::End(death) => return Ok(Settling::Done(death)),
                Next::Waits(denial) => return Ok(Settling::Halted(denial)),
                Next::Step(next) => *next,
            };
            let (made, kept) = at.failpoints();
            crate::crash::at(made);
            self.write(version, &at, now).await?;
            crate::crash::at(kept);
            version = version.saturating_add(1);
        }
    }

    async fn next(&self, by: &dyn Undertaker, at: Settlement) -> Result<Next, SettlementError> {
        /// The effect's word, or a wait.
        macro_rules! made {
            ($after:literal, $effect:expr) => {
                match $effect
                    .await
                    .map_err(|source| SettlementError::Effect { after: $after, source })?
                {
                    Effect::Done(done) => done,
                    Effect::Halted(denial) => return Ok(Next::Waits(denial)),
                }
            };
        }
        let next = match at {
            Settlement::Accepted { order } => {
                let effect = order.effect("close positions");
                let positions = made!("acceptance", by.close_positions(effect));
                Settlement::Closed { order, positions }
            }
            Settlement::Closed { order, positions } => {
                let effect = order.effect("zero allowances");
                made!("closing", by.zero_allowances(effect));
                Settlement::Disallowed { order, positions }
            }
            Settlement::Disallowed { order, positions } => {
                let sweep = SweepOrder {
                    golem: order.golem,
                    closed: positions.settled.clone(),
                    unclosed: positions.deferred.clone(),
                    reserve: self.reserve,
                };
                let effect = order.effect("bring home");
                let home = made!("the last allowance", by.bring_home(effect, &sweep));
                let death = concluded(&order, positions, home)?;
                Settlement::Returned { order, death }
            }
            Settlement::Returned { order, death } => {
                let effect = order.effect("close registry");
                made!("the return", by.close_registry(effect, death.hash()));
                Settlement::Deregistered { order, death }
            }
            Settlement::Deregistered { order, death } => {
                let ended = by.end_keys().await;
                ended
                    .map_err(|source| SettlementError::Effect { after: "the registry", source })?;
                Settlement::Settled { order, death }
            }
            Settlement::Settled { death, .. } => return Ok(Next::End(death)),
        };
        Ok(Next::Step(Box::new(next)))
    }

    async fn read(&self) -> Result<Option<(u64, Settlement)>, SettlementError> {
        let books = |source| SettlementError::Books { source };
        let Some(step) = self.steps.load(CELL).await.map_err(books)? else { return Ok(None) };
        let at = serde_json::from_value(step.value)
            .map_err(|source| SettlementError::Unread { source })?;
        Ok(Some((step.version, at)))
    }

    async fn write(&self, from: u64, to: &Settlement, now: u64) -> Result<(), SettlementError> {
        let value =
            serde_json::to_value(to).map_err(|source| SettlementError::Unread { source })?;
        let advanced = self.steps.advance(CELL, from, &value, now).await;
        advanced.map_err(|source| SettlementError::Books { source })
    }
}

/// How it ended, if what came home is of this death and says all that was known before.
fn concluded(
    order: &DeathOrder,
    positions: Positions,
    home: BroughtHome,
) -> Result<DeathSettlement, SettlementError> {
    let no = |why| Err(SettlementError::NotThis { why });
    let inner = match (&order.estate, home) {
        (Estate::Granted { delegation, cause }, BroughtHome::Leftovers(rest)) => {
            DeathSettlement::DelegationExpiry {
                delegation: *delegation,
                cause: *cause,
                positions_settled: [positions.settled, rest.settled].concat(),
                positions_deferred: [positions.deferred, rest.deferred].concat(),
            }
        }
        (Estate::Provided { wallet }, BroughtHome::Swept(manifest)) => {
            if manifest.golem != order.golem || manifest.wallet_id != *wallet {
                return no("it is another wallet's");
            }
            let told = positions.deferred.iter().all(|it| manifest.positions_deferred.contains(it))
                && positions.settled.iter().all(|it| manifest.positions_settled.contains(it));
            if !told {
                return no("it is silent on what was closed or deferred");
            }
            DeathSettlement::PrivySweep { manifest: *manifest }
        }
        (Estate::Granted { .. }, BroughtHome::Swept(_)) => return no("a grant has no wallet"),
        (Estate::Provided { .. }, BroughtHome::Leftovers(_)) => {
            return no("the wallet was not swept");
        }
    };
    Ok(match order.exhaustion {
        None => inner,
        Some(exhaustion) => {
            DeathSettlement::EconomicExhaustion { exhaustion, inner: Box::new(inner) }
        }
    })
}
