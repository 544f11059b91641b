//! A record of the audit chain as the event that it is. Whatever stands in the record, this has an answer and does not fail.

use crate::{GolemEvent, Origin};
use alloy_primitives::{Address, B256};
use bardo_store::Record;
use golem_custody::{
    Balance, Choice, Ending, IntentId, Means, Onboarding, Positions, Rotation, Route, Settlement,
};
use golem_delegation::Delegation;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _, ser};
use serde_json::{Map, Value};

/// What the runtime says is kept under its kind behind this.
const SAID: &str = "event.";
/// What it says once is the only step of a machine whose name begins so.
const ONCE: &str = "once.";

/// An event, and its place in the order of all.
///
/// On the wire it is one object: `sequence`, `at`, `kind`, and the fields of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The record's number, from one. Between two neighbours there is none.
    pub sequence: u64,
    /// The second in which it was written, as its writer says.
    pub at: u64,
    /// What happened.
    pub event: GolemEvent,
}

impl Told {
    /// What a record tells.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let Record { sequence, at, .. } = *record;
        Self { sequence, at, event: GolemEvent::of_record(&record.kind, &record.body) }
    }
}

impl Serialize for Told {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut frame = fields(&self.event).map_err(ser::Error::custom)?;
        frame.insert("sequence".into(), self.sequence.into());
        frame.insert("at".into(), self.at.into());
        frame.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Told {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut frame = Map::deserialize(deserializer)?;
        let mut number = |name: &'static str| {
            let found = frame.remove(name).as_ref().and_then(Value::as_u64);
            found.ok_or_else(|| D::Error::missing_field(name))
        };
        let (sequence, at) = (number("sequence")?, number("at")?);
        let event = serde_json::from_value(Value::Object(frame)).map_err(D::Error::custom)?;
        Ok(Self { sequence, at, event })
    }
}

/// An event as an object.
fn fields(event: &GolemEvent) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::to_value(event)? {
        Value::Object(fields) => Ok(fields),
        other => Err(serde_json::Error::custom(format!("{other} is no event"))),
    }
}

/// What is written down of an event: the kind of its record, and the body.
pub(crate) fn record_of(event: &GolemEvent) -> Result<(String, Value), serde_json::Error> {
    let mut body = fields(event)?;
    body.remove("kind");
    Ok((format!("{SAID}{}", event.kind().name), Value::Object(body)))
}

/// The machine whose only step an event is that is said once.
pub(crate) fn machine_of(name: &str) -> String {
    format!("{ONCE}{name}")
}

impl GolemEvent {
    /// Whether the runtime may say it: what a record of another says already is not said again.
    pub(crate) fn may_be_said(&self) -> bool {
        self.kind().origin != Origin::Read
    }

    /// What a record of this kind tells.
    ///
    /// What is not understood is [`Self::Other`] with all that it says; a step that is not understood, [`Self::MachineAdvanced`].
    #[must_use]
    pub fn of_record(kind: &str, body: &str) -> Self {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            return Self::Other { record: kind.into(), body: body.into() };
        };
        let known = match kind {
            "intent.reserved" => reserved(&value),
            "intent.refused" => refused(&value),
            "intent.signed" => signed(&value),
            "intent.settled" => settled(&value),
            "step" => stepped(&value),
            _ => kind.strip_prefix(SAID).and_then(|kind| said(kind, &value)),
        };
        known.unwrap_or_else(|| Self::Other { record: kind.into(), body: value })
    }
}

/// What the runtime wrote.
fn said(kind: &str, body: &Value) -> Option<GolemEvent> {
    let mut fields = body.as_object()?.clone();
    // The record's kind is the event's: a body with another is none.
    if fields.insert("kind".into(), kind.into()).is_some() {
        return None;
    }
    let event: GolemEvent = serde_json::from_value(Value::Object(fields)).ok()?;
    event.may_be_said().then_some(event)
}

/// A field of a body.
fn field<T: serde::de::DeserializeOwned>(body: &Value, name: &str) -> Option<T> {
    T::deserialize(body.get(name)?).ok()
}

fn reserved(body: &Value) -> Option<GolemEvent> {
    let entry = body.get("entry")?;
    Some(GolemEvent::IntentReserved {
        intent: field(body, "intent")?,
        session: field(entry, "session")?,
        micro_dollars: field(entry, "microDollars")?,
    })
}

fn refused(body: &Value) -> Option<GolemEvent> {
    let denial = body.get("denial")?;
    Some(GolemEvent::IntentRefused {
        intent: field(body, "intent")?,
        code: field(denial, "code")?,
        reason: field(denial, "reason")?,
        enforcer: field(denial, "enforcer").unwrap_or_default(),
    })
}

fn signed(body: &Value) -> Option<GolemEvent> {
    Some(GolemEvent::OperationSigned {
        intent: field::<IntentId>(body, "intent")?,
        op_hash: field::<B256>(body, "hash")?,
        route: field::<Route>(body, "route")?,
        micro_dollars: field(body, "microDollars"),
        remaining: field(body, "remaining"),
    })
}

fn settled(body: &Value) -> Option<GolemEvent> {
    let intent = field(body, "intent")?;
    Some(match field::<Ending>(body, "ending")? {
        Ending::Done { hash, block } => GolemEvent::IntentDone { intent, hash, block },
        Ending::Failed { hash, block, code } => {
            GolemEvent::IntentFailed { intent, hash, block, code }
        }
        Ending::Abandoned { why } => GolemEvent::IntentAbandoned { intent, why },
    })
}

/// A step of a machine. Its value is told only where it is understood: a machine may write down what is nobody's business.
fn stepped(body: &Value) -> Option<GolemEvent> {
    let machine: String = field(body, "name")?;
    let version = field(body, "version")?;
    let to = body.get("to")?;
    let known = match machine.as_str() {
        "rotation" => Rotation::deserialize(to).ok().map(rotated),
        "onboarding" => Onboarding::deserialize(to).ok().map(onboarded),
        "custody" => Choice::deserialize(to).ok().map(chosen),
        "settlement" => Settlement::deserialize(to).ok().map(died),
        name if name.starts_with(ONCE) => {
            GolemEvent::deserialize(to).ok().filter(GolemEvent::may_be_said)
        }
        _ => None,
    };
    Some(known.unwrap_or(GolemEvent::MachineAdvanced { machine, version }))
}

fn granted(grant: &Delegation) -> GolemEvent {
    GolemEvent::DelegationGranted {
        delegation_hash: grant.hash(),
        delegate: grant.delegate,
        caveats: grant.caveats.iter().map(|caveat| caveat.enforcer).collect::<Vec<Address>>(),
    }
}

fn rotated(rotation: Rotation) -> GolemEvent {
    match rotation {
        Rotation::Asked { old, new, reason, .. } => {
            GolemEvent::RotationTriggered { reason, old_address: old, new_address: new }
        }
        Rotation::Granted { grant, .. } => granted(&grant),
        Rotation::Resting { key, grant, replaced: Some(replaced), .. } => {
            GolemEvent::SessionKeyRotated {
                old_address: replaced.key,
                new_address: key,
                reason: replaced.reason,
                delegation_hash: grant.hash(),
            }
        }
        Rotation::Resting { key, grant, replaced: None, .. } => {
            GolemEvent::RotationDropped { address: key, attached: grant.delegate == key }
        }
    }
}

fn onboarded(onboarding: Onboarding) -> GolemEvent {
    let (step, owner) = (onboarding.number(), onboarding.owner());
    match onboarding {
        Onboarding::WritingStrategy { means: Means::Granted { grant, .. }, .. } => granted(&grant),
        Onboarding::WritingStrategy { means: Means::Provided { address, .. }, .. } => {
            GolemEvent::WalletProvided { wallet: address }
        }
        Onboarding::Live { golem, owner, .. } => {
            GolemEvent::GolemSummoned { golem_id: golem, owner }
        }
        Onboarding::SigningIn { .. }
        | Onboarding::ChoosingCustody { .. }
        | Onboarding::SettingUpWallet { .. }
        | Onboarding::Registering { .. }
        | Onboarding::Summoning { .. } => GolemEvent::OnboardingStepped { step, owner },
    }
}

const fn chosen(choice: Choice) -> GolemEvent {
    match choice {
        Choice::Open { mode } => GolemEvent::CustodyModeSelected { mode },
        Choice::Bound { mode, .. } => GolemEvent::CustodyModeChosen { mode },
        Choice::Fixed { mode, since } => GolemEvent::CustodyModeFixed { mode, since },
    }
}

fn died(settlement: Settlement) -> GolemEvent {
    let golem_id = settlement.order().golem;
    match settlement {
        Settlement::Accepted { order } => GolemEvent::SettlementBegan {
            golem_id,
            settlement: order.estate.settlement(),
            exhausted: order.exhaustion.is_some(),
        },
        Settlement::Closed { positions: Positions { settled, deferred }, .. } => {
            GolemEvent::PositionsUnwound {
                positions_exited: count(settled.len()),
                positions_deferred: count(deferred.len()),
                total_recovered: settled
                    .into_iter()
                    .map(|position| Balance { of: position.of, amount: position.amount })
                    .collect(),
            }
        }
        Settlement::Disallowed { .. } => GolemEvent::AllowancesZeroed { golem_id },
        Settlement::Returned { death, .. } => GolemEvent::EstateReturned {
            golem_id,
            settlement_hash: death.hash(),
            positions_deferred: count(death.positions_deferred().len()),
        },
        Settlement::Deregistered { death, .. } => {
            GolemEvent::RegistryClosed { golem_id, settlement_hash: death.hash() }
        }
        Settlement::Settled { death, .. } => {
            GolemEvent::EstateSettled { golem_id, settlement_hash: death.hash() }
        }
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
