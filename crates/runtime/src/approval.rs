//! What a Golem does not do before its owner has said yes (SPEC P8).
//!
//! ```text
//! wish ── judged ── above the owner's threshold? ── no ──────────────────────────────► as every intent
//!                          │ yes: kept in its life, then asked
//!                          ▼
//!                  waits: each tick proposes the same bytes under the same name
//!                          ├─ yes ─────► signed and redeemed once, by its name in the books
//!                          ├─ no ──────► nothing; nothing else of that aim until the question's last second
//!                          └─ silence ─► nothing after its last second; whoever wants it asks anew
//! ```
//!
//! It is in the life before the owner hears of it, so that no end of the process leaves a question that nobody goes on with; and its
//! name is over its bytes and its last second, so that another deed is another question.

use crate::{Golem, GolemEvent, Life, Outcome, TickError, Wish};
use alloy_primitives::{Address, B256, keccak256};
use golem_custody::{
    Books as _, Denial, DenialCode, Ending, Execution, IntentId, Judged, Judgement,
};
use golem_safety::{Call, CallsDigest};
use serde::{Deserialize, Serialize};

/// Most that a Golem asks about at once.
const MOST: usize = 16;

/// What something is wanted for: of each there is one question at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub enum Aim {
    /// One token for another.
    Swap {
        /// What is given.
        sell: Address,
        /// What is got.
        buy: Address,
    },
    /// Gas money for its key.
    Gas,
}

impl Aim {
    /// That of a wish.
    #[must_use]
    pub const fn of(wish: &Wish) -> Self {
        let Wish::Swap { sell, buy, .. } = *wish;
        Self::Swap { sell, buy }
    }
}

/// Something that its owner was asked about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pending {
    /// Its name, in the books and in the owner's ledger.
    pub intent: IntentId,
    /// What it is for.
    pub aim: Aim,
    /// The very calls.
    pub calls: Vec<Execution>,
    /// What is wanted, in words. Data: a model may have written it.
    pub about: String,
    /// Most that it could spend when it was judged first, in micro-dollars.
    pub micro_dollars: u64,
    /// The last second in which an answer counts.
    pub expires_at: u64,
    /// Whether the question is known to have reached the owner's ledger.
    pub asked: bool,
    /// Whether he said no.
    pub denied: bool,
}

impl Pending {
    /// Whether his answer is still waited for.
    #[must_use]
    pub const fn waits(&self, now: u64) -> bool {
        !self.denied && now <= self.expires_at
    }

    /// Over every byte that would be done by this account: what a yes is for.
    #[must_use]
    pub fn digest(&self, account: Address) -> B256 {
        digest(account, &self.calls)
    }

    /// As a wish, where it is one.
    const fn wish(&self) -> Option<Wish> {
        match self.aim {
            Aim::Swap { sell, buy } => {
                Some(Wish::Swap { sell, buy, micro_dollars: self.micro_dollars })
            }
            Aim::Gas => None,
        }
    }
}

fn digest(account: Address, calls: &[Execution]) -> B256 {
    let call =
        |call: &Execution| Call { target: call.target, value: call.value, data: call.data.clone() };
    CallsDigest::of(account, &calls.iter().map(call).collect::<Vec<_>>()).get()
}

/// The name of a deed that is asked about: over all that a yes is for.
fn name_of(wanted: IntentId, digest: B256, expires_at: u64) -> IntentId {
    let parts = [
        b"bardo ask ".as_slice(),
        wanted.0.as_slice(),
        digest.as_slice(),
        &expires_at.to_be_bytes(),
    ];
    IntentId(keccak256(parts.concat()))
}

impl Golem {
    /// Does what it wants by its charter; or asks first, where its owner wants to be asked.
    pub(crate) async fn act_or_ask(
        &mut self,
        next: &mut Life,
        aim: Aim,
        (wanted, calls, about): (IntentId, Vec<Execution>, String),
        now: u64,
    ) -> Result<Outcome, TickError> {
        let Some(consent) = self.mandate.consent.clone().filter(|_| !self.asleep) else {
            return self.act(wanted, &calls, &about).await;
        };
        let judgement = self.judge(wanted, &calls, &about).await?;
        // What was done before a crash is not asked about after it.
        let begun = self.fate(wanted).await? != Fate::Unknown;
        let micro_dollars = match &judgement {
            Judgement::Permitted(judged) if !begun && consent.asks_about(judged) => judged.most(),
            _ => {
                self.proposed(wanted, &about).await?;
                return self.conclude(wanted, judgement).await;
            }
        };
        if next.pending.len() >= MOST {
            let reason = format!("its owner is asked about {MOST} things already");
            return Ok(Outcome::Refused(vec![Denial::new(DenialCode::ApprovalMissing, reason)]));
        }
        let expires_at = now.saturating_add(consent.lifetime);
        let intent = name_of(wanted, digest(self.charter.account, &calls), expires_at);
        let (asked, denied) = (false, false);
        let pending =
            Pending { intent, aim, calls, about, micro_dollars, expires_at, asked, denied };
        self.proposed(intent, &pending.about).await?;
        // On the disk before anybody is asked.
        next.pending.push(pending.clone());
        self.life.pending.push(pending.clone());
        let kept = self.life.keep(self.store.as_ref(), self.version, now).await;
        self.version = kept.map_err(TickError::Books)?;
        crate::crash::at("approval.kept");
        self.propose_again(next, &pending, now).await
    }

    /// Goes on with all that its owner was asked about, and says what came of it.
    pub(crate) async fn go_on_asking(
        &self,
        next: &mut Life,
        (may_write, may_act): (bool, bool),
        now: u64,
    ) -> Result<Vec<(Wish, Outcome)>, TickError> {
        let mut deeds = Vec::new();
        for pending in next.pending.clone() {
            let may = if pending.aim == Aim::Gas { may_write } else { may_act };
            let outcome = match self.fate(pending.intent).await? {
                Fate::Ended(ending) => Some(self.ended(next, &pending, ending, now).await?),
                Fate::Open => None,
                Fate::Unknown if now > pending.expires_at => {
                    self.expire(next, &pending, now).await?;
                    None
                }
                // Nobody asks any more: what was never answered is not done for that. Whoever still wants it wants it anew.
                Fate::Unknown if self.mandate.consent.is_none() => {
                    forget(next, pending.intent);
                    None
                }
                Fate::Unknown if may && pending.waits(now) => {
                    Some(self.propose_again(next, &pending, now).await?)
                }
                Fate::Unknown => None,
            };
            let Some(outcome) = outcome.filter(|outcome| !still_waits(outcome)) else { continue };
            // A refusal of what is asked about still is the market's, or the day's: it waits on.
            if next.pending.iter().any(|one| one.intent == pending.intent && !one.denied)
                && matches!(outcome, Outcome::Refused(_))
            {
                continue;
            }
            self.learn(next, &outcome, now);
            deeds.extend(pending.wish().map(|wish| (wish, outcome)));
        }
        Ok(deeds)
    }

    /// Proposes it under its name, with its bytes.
    async fn propose_again(
        &self,
        next: &mut Life,
        pending: &Pending,
        now: u64,
    ) -> Result<Outcome, TickError> {
        let intent = pending.intent;
        let outcome = match self.judge(intent, &pending.calls, &pending.about).await? {
            Judgement::Permitted(judged) => self.lands(asked(judged, pending)).await?,
            Judgement::Refused(denials) => Outcome::Refused(denials),
        };
        let Outcome::Refused(denials) = &outcome else {
            self.answered(intent, true, now).await?;
            // What is not settled yet is known by its name in the books.
            if !matches!(outcome, Outcome::Unsettled(_)) {
                forget(next, intent);
            }
            return Ok(outcome);
        };
        match denials.first().map(|denial| denial.code) {
            Some(DenialCode::ApprovalMissing) => {
                let Pending { micro_dollars, expires_at, .. } = *pending;
                let event = GolemEvent::ApprovalAsked { intent, micro_dollars, expires_at };
                self.tell_once("asked", intent, &event, now).await?;
                mark(next, intent, |pending| pending.asked = true);
            }
            Some(DenialCode::ApprovalDenied) => {
                self.answered(intent, false, now).await?;
                mark(next, intent, |pending| pending.denied = true);
            }
            Some(DenialCode::ApprovalExpired) => self.expire(next, pending, now).await?,
            // His yes went with a process that ended before it set the sum aside: it is not used twice.
            Some(DenialCode::ApprovalUsed) => {
                self.answered(intent, true, now).await?;
                self.refused_once(intent, denials, now).await?;
                forget(next, intent);
            }
            _ => {
                self.refused_once(intent, denials, now).await?;
                // Nobody was asked: it was refused before that.
                if !pending.asked {
                    forget(next, intent);
                }
            }
        }
        Ok(outcome)
    }

    /// One that the books know the end of.
    async fn ended(
        &self,
        next: &mut Life,
        pending: &Pending,
        ending: Ending,
        now: u64,
    ) -> Result<Outcome, TickError> {
        self.answered(pending.intent, true, now).await?;
        forget(next, pending.intent);
        Ok(match ending {
            Ending::Done { .. } => Outcome::Done,
            Ending::Failed { code, .. } => {
                let reason = format!("it failed in its block: {code}");
                Outcome::Failed(Denial::new(DenialCode::Reverted, reason))
            }
            _ => {
                let reason = "it was given up with the process that had begun it";
                Outcome::Refused(vec![Denial::new(DenialCode::ApprovalUsed, reason)])
            }
        })
    }

    async fn expire(&self, next: &mut Life, pending: &Pending, now: u64) -> Result<(), TickError> {
        if !pending.denied {
            let event = GolemEvent::ApprovalExpired { intent: pending.intent };
            self.tell_once("expired", pending.intent, &event, now).await?;
        }
        forget(next, pending.intent);
        Ok(())
    }

    async fn answered(&self, intent: IntentId, approved: bool, now: u64) -> Result<(), TickError> {
        let event = GolemEvent::ApprovalAnswered { intent, approved };
        self.tell_once("answered", intent, &event, now).await
    }

    async fn refused_once(
        &self,
        intent: IntentId,
        denials: &[Denial],
        now: u64,
    ) -> Result<(), TickError> {
        for denial in denials {
            let event = GolemEvent::IntentRefused {
                intent,
                code: denial.code.to_string(),
                reason: denial.reason.clone(),
                enforcer: denial.enforcer,
            };
            self.tell_once(&format!("refused-{}", denial.code), intent, &event, now).await?;
        }
        Ok(())
    }

    async fn tell_once(
        &self,
        what: &str,
        intent: IntentId,
        event: &GolemEvent,
        now: u64,
    ) -> Result<(), TickError> {
        // A machine's name has little room, and this one is for nobody to read.
        let name = keccak256([intent.0.as_slice(), what.as_bytes()].concat());
        let name = format!("approval-{}", Address::from_word(name));
        self.fabric.emit_once(&name, event, now).await?;
        Ok(())
    }

    /// What the books have of a name.
    pub(crate) async fn fate(&self, intent: IntentId) -> Result<Fate, TickError> {
        if let Some(ending) = self.store.ended(intent).await.map_err(TickError::Books)? {
            return Ok(Fate::Ended(ending));
        }
        let open = self.store.open().await.map_err(TickError::Books)?;
        let open = open.iter().any(|one| one.entry.intent == intent);
        Ok(if open { Fate::Open } else { Fate::Unknown })
    }
}

/// How far the books are with a name.
#[derive(Debug, PartialEq)]
pub(crate) enum Fate {
    Unknown,
    Open,
    Ended(Ending),
}

const fn asked(judged: Judged, pending: &Pending) -> Judged {
    judged.asked(pending.micro_dollars, pending.expires_at)
}

/// Whether its owner has not answered yet.
pub(crate) fn still_waits(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Refused(denials)
        if denials.iter().any(|denial| denial.code == DenialCode::ApprovalMissing))
}

fn forget(next: &mut Life, intent: IntentId) {
    next.pending.retain(|pending| pending.intent != intent);
}

fn mark(next: &mut Life, intent: IntentId, change: impl FnOnce(&mut Pending)) {
    if let Some(pending) = next.pending.iter_mut().find(|pending| pending.intent == intent) {
        change(pending);
    }
}
