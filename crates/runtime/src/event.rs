//! What happens to a Golem, as values. No disk here, and no socket.
//!
//! Every event is one record of the audit chain. Some are [`Origin::Said`]: the runtime writes them. Others are [`Origin::Read`]: the
//! record is there already, because the store or a machine of steps wrote it when it happened, and it is read as what it means. So
//! what custody does is told without custody telling it, never twice and never forgotten.

use alloy_primitives::{Address, B256, U256};
use golem_custody::{
    Balance, CustodyMode, ExpiryKind, IntentId, Observing, RotationReason, Route, SettlementKind,
};
use golem_delegation::{DelegationHash, grant::Phase};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Who wrote the record that an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The runtime, through [`crate::Fabric::emit`].
    Said,
    /// The store or a machine of steps, when it happened. Nobody can emit such an event.
    Read,
    /// Either: what is refused before the books are asked, and what they refuse.
    Both,
}

/// One kind of event, for whoever lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventKind {
    /// Its name, on disk and on the wire.
    pub name: &'static str,
    /// Who writes it.
    pub origin: Origin,
    /// Names of its fields, as Rust writes them.
    pub fields: &'static [&'static str],
}

/// Writes each kind once: its name, who writes it, and its fields.
macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal, $origin:ident {
        $($(#[$about:meta])* $field:ident: $of:ty,)*
    })*) => {
        /// Something that happened. On disk and on the wire an object with its `kind` and its fields.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all_fields = "camelCase", deny_unknown_fields)]
        #[non_exhaustive]
        pub enum GolemEvent {
            $($(#[$doc])* #[serde(rename = $name)] $event { $($(#[$about])* $field: $of,)* },)*
        }

        impl GolemEvent {
            /// Every kind there is.
            pub const KINDS: &[EventKind] = &[$(EventKind {
                name: $name,
                origin: Origin::$origin,
                fields: &[$(stringify!($field),)*],
            },)*];

            /// Which kind it is.
            #[must_use]
            pub const fn kind(&self) -> EventKind {
                match self {
                    $(Self::$event { .. } => EventKind {
                        name: $name,
                        origin: Origin::$origin,
                        fields: &[$(stringify!($field),)*],
                    },)*
                }
            }
        }
    };
}

events! {
    // A heartbeat.

    /// A tick went by.
    Tick = "tick", Said {
        /// Its number, from one.
        number: u64,
        /// The block that was looked at.
        block: u64,
        /// The phase it was in.
        phase: Phase,
        /// Survival score, 0 to 10,000.
        score: u16,
    }
    /// A phase ended, and the next began.
    PhaseChanged = "phaseChanged", Said {
        /// The one before.
        from: Phase,
        /// The one that is.
        to: Phase,
        /// Survival score, 0 to 10,000.
        score: u16,
    }
    /// The registry was told how it is.
    VitalityReported = "vitalityReported", Said {
        /// The phase.
        phase: Phase,
        /// Survival score, 0 to 10,000.
        score: u16,
    }
    /// It feels otherwise; each from -100 to 100.
    MoodChanged = "moodChanged", Said {
        /// Pleasure.
        pleasure: i8,
        /// Arousal.
        arousal: i8,
        /// Dominance.
        dominance: i8,
    }
    /// It dreams, and acts no more until it wakes.
    DreamBegan = "dreamBegan", Said {
        /// The second in which it is to wake.
        until: u64,
    }
    /// It woke.
    DreamEnded = "dreamEnded", Said {
        /// Memories that came of it.
        memories: u64,
    }
    /// Two models did not agree, and so nothing was wanted.
    ModelsDisagreed = "modelsDisagreed", Said {
        /// Why, in a word.
        why: String,
    }
    /// Ticks did not come when they were due.
    HeartbeatAnomaly = "heartbeatAnomaly", Said {
        /// How many in a row.
        missed: u64,
    }

    // An intent.

    /// Something was wanted, and nobody judged it yet.
    IntentProposed = "intentProposed", Said {
        /// Its name.
        intent: IntentId,
        /// What is wanted, in words. Data: a model may have written it.
        what: String,
    }
    /// It was refused; nothing was signed.
    IntentRefused = "intentRefused", Both {
        /// Its name.
        intent: IntentId,
        /// The denial's code.
        code: String,
        /// The denial's sentence.
        reason: String,
        /// The enforcer that refused, where one did.
        enforcer: Option<Address>,
    }
    /// A sum was set aside for it.
    IntentReserved = "intentReserved", Read {
        /// Its name.
        intent: IntentId,
        /// The key that would sign.
        session: Address,
        /// Most that it can spend, in micro-dollars.
        micro_dollars: u64,
    }
    /// The session key signed for it.
    OperationSigned = "operationSigned", Read {
        /// Its name.
        intent: IntentId,
        /// What the chain calls what was signed.
        op_hash: B256,
        /// How it travels.
        route: Route,
        /// Most that it can spend, in micro-dollars; none in records from before this was kept.
        micro_dollars: Option<u64>,
        /// What the key may still spend in its life, in micro-dollars; the same.
        remaining: Option<u64>,
    }
    /// It took effect.
    IntentDone = "intentDone", Read {
        /// Its name.
        intent: IntentId,
        /// What the chain calls it.
        hash: B256,
        /// The block that holds it.
        block: u64,
    }
    /// It is in a block, and took no effect.
    IntentFailed = "intentFailed", Read {
        /// Its name.
        intent: IntentId,
        /// What the chain calls it.
        hash: B256,
        /// The block that holds it.
        block: u64,
        /// The denial's code.
        code: String,
    }
    /// It never left, or can take no effect any more.
    IntentAbandoned = "intentAbandoned", Read {
        /// Its name.
        intent: IntentId,
        /// Why, in words.
        why: String,
    }
    /// The owner is asked whether it may be done.
    ApprovalAsked = "approvalAsked", Said {
        /// Its name.
        intent: IntentId,
        /// Most that it can spend, in micro-dollars.
        micro_dollars: u64,
        /// The last second in which an answer counts.
        expires_at: u64,
    }
    /// He answered.
    ApprovalAnswered = "approvalAnswered", Said {
        /// Its name.
        intent: IntentId,
        /// Yes or no.
        approved: bool,
    }
    /// He did not answer in time: it is not done.
    ApprovalExpired = "approvalExpired", Said {
        /// Its name.
        intent: IntentId,
    }

    // What it lives on.

    /// A day's allowance was fetched.
    RunwayRedeemed = "runwayRedeemed", Said {
        /// The intent that fetched it.
        intent: IntentId,
        /// How much, in micro-dollars.
        redeemed: u64,
        /// What is left of the day, in micro-dollars.
        remaining: u64,
        /// The phase that decided how much.
        phase: Phase,
    }
    /// Its owner turned its phase back.
    Fed = "fed", Said {
        /// Who: its owner.
        from: Address,
        /// The phase that it is in again.
        phase: Phase,
    }
    /// Little of its grant is left.
    BudgetWarning = "budgetWarning", Said {
        /// What is left of the whole, in basis points.
        remaining_bps: u16,
        /// For how many operations like those before.
        estimated_operations_left: u64,
    }

    /// Its key has less than its death costs: it does only what that needs.
    DeathReserveShort = "deathReserveShort", Said {
        /// What its death costs, in wei.
        needed: U256,
        /// What its key has, in wei.
        balance: U256,
    }
    /// Its key can pay for its death again.
    DeathReserveRestored = "deathReserveRestored", Said {
        /// What its death costs, in wei.
        needed: U256,
        /// What its key has, in wei.
        balance: U256,
    }

    // Keys and grants.

    /// A key was born, and is in its place.
    SessionKeyGenerated = "sessionKeyGenerated", Said {
        /// The key.
        address: Address,
        /// The last second of the grant that it has, or that it asks for.
        expires_at: u64,
    }
    /// The owner signed a grant.
    DelegationGranted = "delegationGranted", Read {
        /// Its hash.
        delegation_hash: DelegationHash,
        /// To which key.
        delegate: Address,
        /// Who watches over it: the enforcers, in order.
        caveats: Vec<Address>,
    }
    /// A key is to be replaced: the next one is born, and the owner is asked.
    RotationTriggered = "rotationTriggered", Read {
        /// Why.
        reason: RotationReason,
        /// The key that works on.
        old_address: Address,
        /// The one that waits.
        new_address: Address,
    }
    /// It was: the old key is wiped.
    SessionKeyRotated = "sessionKeyRotated", Read {
        /// The key that was.
        old_address: Address,
        /// The key that is.
        new_address: Address,
        /// Why.
        reason: RotationReason,
        /// What it may do.
        delegation_hash: DelegationHash,
    }
    /// No rotation is under way any more: its next key is gone, or the key itself went with its process.
    RotationDropped = "rotationDropped", Read {
        /// The key in its place.
        address: Address,
        /// Whether that one has a grant. Without one it looks on until the owner gives it one.
        attached: bool,
    }
    /// A key can do nothing any more.
    SessionKeyRevoked = "sessionKeyRevoked", Said {
        /// The key.
        address: Address,
        /// What ended it.
        cause: ExpiryKind,
    }
    /// A grant is over.
    DelegationRevoked = "delegationRevoked", Said {
        /// Its hash.
        delegation_hash: DelegationHash,
        /// What ended it.
        cause: ExpiryKind,
    }
    /// A grant is about to be.
    DelegationExpiringWarning = "delegationExpiringWarning", Said {
        /// Its hash.
        delegation_hash: DelegationHash,
        /// How long it lasts still.
        seconds_remaining: u64,
    }
    /// It gave up a permission: its own side of it. The grant itself is its owner's to revoke.
    PermissionRevoked = "PERMISSION_REVOKED", Said {
        /// Whose: its id on chain.
        golem_id: B256,
        /// Which rule asked for it.
        reason: RevocationReason,
        /// What happened, in words.
        cause: String,
        /// How many.
        revoked_count: u32,
        /// Which: the grant's hash; none in records from before this was kept.
        permission_id: Option<B256>,
    }

    // Custody.

    /// A step of onboarding was made.
    OnboardingStepped = "onboardingStepped", Read {
        /// The step that it is at, from one.
        step: u8,
        /// Whose Golem it is to be.
        owner: Address,
    }
    /// Its owner said who holds what.
    CustodyModeSelected = "custodyModeSelected", Read {
        /// What he chose.
        mode: CustodyMode,
    }
    /// What it acts with was made for that mode.
    CustodyModeChosen = "custodyModeChosen", Read {
        /// Which mode.
        mode: CustodyMode,
    }
    /// The first tick fixed it, for life.
    CustodyModeFixed = "custodyModeFixed", Read {
        /// Which mode.
        mode: CustodyMode,
        /// The second of that tick.
        since: u64,
    }
    /// A wallet that somebody else signs for is its own now.
    WalletProvided = "walletProvided", Read {
        /// Its address.
        wallet: Address,
    }
    /// It lives.
    GolemSummoned = "golemSummoned", Read {
        /// Its id on chain.
        golem_id: B256,
        /// Whose it is.
        owner: Address,
    }
    /// Its grant is over.
    GrantEnded = "grantEnded", Said {
        /// The first block on which that was seen.
        block: u64,
        /// Why, as a name.
        cause: String,
        /// And in words.
        why: String,
    }
    /// Its owner published another policy, and it is judged by that one.
    PolicyFollowed = "policyFollowed", Said {
        /// The policy's version.
        version: u64,
        /// The policy's hash on chain.
        hash: B256,
    }
    /// It looks on, and signs nothing.
    ObservingBegan = "observingBegan", Said {
        /// Why.
        why: ObservingCause,
    }
    /// It can act.
    ActingBegan = "actingBegan", Said {
        /// Who signs for it.
        signer: Address,
    }

    // Children.

    /// It has a child.
    ReplicantSpawned = "replicantSpawned", Said {
        /// The child's id on chain.
        replicant: B256,
        /// The child's key.
        session: Address,
        /// What the child may do.
        delegation_hash: DelegationHash,
        /// The last second of that.
        expires_at: u64,
    }
    /// A child ended.
    ReplicantEnded = "replicantEnded", Said {
        /// The child's id on chain.
        replicant: B256,
        /// Why, in words.
        cause: String,
    }

    // Death.

    /// It reached its last phase.
    GolemTerminal = "GOLEM_TERMINAL", Said {
        /// Its id on chain.
        golem_id: B256,
        /// The permissions that it had.
        permission_ids: Vec<B256>,
    }
    /// Its death is accepted.
    DeathProtocolStarted = "deathProtocolStarted", Said {
        /// What it dies of.
        trigger: DeathTrigger,
        /// Survival score, 0 to 10,000.
        vitality_score: u16,
    }
    /// What it holds begins to be settled.
    SettlementBegan = "settlementBegan", Read {
        /// Its id on chain.
        golem_id: B256,
        /// How it ends what it held.
        settlement: SettlementKind,
        /// Whether it could not pay for itself.
        exhausted: bool,
    }
    /// Nothing is open that can be closed.
    PositionsUnwound = "positionsUnwound", Read {
        /// How many were closed.
        positions_exited: u64,
        /// How many could not be.
        positions_deferred: u64,
        /// What came of it, in base units of each.
        total_recovered: Vec<Balance>,
    }
    /// Nobody may take anything of it any more.
    AllowancesZeroed = "allowancesZeroed", Read {
        /// Its id on chain.
        golem_id: B256,
    }
    /// Its owner has what he can have.
    EstateReturned = "estateReturned", Read {
        /// Its id on chain.
        golem_id: B256,
        /// Hash of the settlement.
        settlement_hash: B256,
        /// How many positions he has to look after himself.
        positions_deferred: u64,
    }
    /// The registry knows that it is dead.
    RegistryClosed = "registryClosed", Read {
        /// Its id on chain.
        golem_id: B256,
        /// Hash of the settlement.
        settlement_hash: B256,
    }
    /// Its keys are wiped, and nothing is left to settle.
    EstateSettled = "estateSettled", Read {
        /// Its id on chain.
        golem_id: B256,
        /// Hash of the settlement.
        settlement_hash: B256,
    }
    /// It is dead, and its will is written.
    DeathCompleted = "deathCompleted", Said {
        /// Its id on chain.
        golem_id: B256,
        /// How many ticks it had.
        lifetime_ticks: u64,
        /// What it cost, in micro-dollars.
        total_cost: u64,
        /// What it was worth at the end, in micro-dollars.
        final_nav: u64,
    }

    // The rest.

    /// A machine of steps moved that is none of the above. What it wrote stays in the chain and is not told.
    MachineAdvanced = "machineAdvanced", Read {
        /// Which.
        machine: String,
        /// How often it has moved.
        version: u64,
    }
    /// A record of a kind that is not known here.
    Other = "other", Read {
        /// Its kind.
        record: String,
        /// What it says, as data.
        body: Value,
    }
}

/// What a Golem dies of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum DeathTrigger {
    /// Its time was over.
    Age,
    /// It could not pay for itself.
    Exhaustion,
    /// Its grant, or its machine, had no time left.
    Expiry,
    /// It lost all that its owner bears.
    Loss,
    /// It no longer understood its world.
    Staleness,
    /// Its owner, or whoever he let do it.
    OwnerKillSwitch,
    /// Its grant was taken, or ended.
    GrantEnded,
}

/// Which rule took a Golem's permissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RevocationReason {
    /// It reached its last phase.
    Terminal,
    /// It did what its policy forbids.
    PolicyViolation,
    /// Its owner.
    OwnerKillSwitch,
    /// Its ticks did not come.
    HeartbeatAnomaly,
}

/// Why a Golem looks on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum ObservingCause {
    /// There is no key any more.
    NoKey,
    /// The owner has granted nothing to this key.
    Unattached,
    /// The wallet service does not answer.
    WalletAway,
    /// What is not known here.
    Unknown,
}

impl From<Observing> for ObservingCause {
    fn from(why: Observing) -> Self {
        match why {
            Observing::NoKey => Self::NoKey,
            Observing::Unattached { .. } => Self::Unattached,
            Observing::WalletAway { .. } => Self::WalletAway,
            _ => Self::Unknown,
        }
    }
}
