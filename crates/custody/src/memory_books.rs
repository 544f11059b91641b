//! Books that are forgotten with their process, for tests of what uses them.

use crate::{
    Audit, AuditHead, Bid, Books, BoxError, Caps, Denial, DenialCode, Ending, Entry, IntentId,
    Open, Reserving, Spent, Step, Steps,
};
use alloy_primitives::{Address, B256, Bytes, keccak256};
use async_trait::async_trait;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Everything in memory. Counts as a real store does; promises nothing.
#[derive(Debug, Default)]
pub struct MemoryBooks(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    intents: Vec<(Entry, Vec<Bid>, Option<Ending>)>,
    forsaken: BTreeSet<IntentId>,
    cells: BTreeMap<String, Step>,
    log: Vec<(String, Value)>,
    head: B256,
}

impl MemoryBooks {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The kinds of what was noted, in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<String> {
        self.kept().log.iter().map(|(kind, _)| kind.clone()).collect()
    }
}

impl Kept {
    fn note(&mut self, kind: &str, body: &Value) {
        self.head = keccak256(
            [self.head.as_slice(), kind.as_bytes(), body.to_string().as_bytes()].concat(),
        );
        self.log.push((kind.to_owned(), body.clone()));
    }

    fn spent(&self, session: Address, at: u64) -> Spent {
        let spent = |counts: &dyn Fn(&Entry) -> bool| -> u64 {
            let counted = self.intents.iter().filter(|(known, _, ending)| {
                matches!(ending, None | Some(Ending::Done { .. })) && counts(known)
            });
            counted.map(|(known, ..)| known.micro_dollars).sum()
        };
        Spent {
            session: spent(&|known| known.session == session),
            day: spent(&|known| known.at.saturating_add(DAY) > at),
        }
    }

    fn find(
        &mut self,
        intent: IntentId,
    ) -> Result<&mut (Entry, Vec<Bid>, Option<Ending>), BoxError> {
        let found = self.intents.iter_mut().find(|(entry, ..)| entry.intent == intent);
        found.ok_or_else(|| "there is no such intent".into())
    }
}

#[async_trait]
impl Books for MemoryBooks {
    async fn reserve(&self, entry: &Entry, caps: &Caps) -> Result<Reserving, BoxError> {
        let mut kept = self.kept();
        if kept.intents.iter().any(|(known, ..)| known.intent == entry.intent) {
            return Ok(Reserving::Refused(Denial::new(
                DenialCode::Budget,
                "an intent of this name was used",
            )));
        }
        let Spent { session, day } = kept.spent(entry.session, entry.at);
        for (spent, cap) in [(session, caps.session), (day, caps.day)] {
            if spent.saturating_add(entry.micro_dollars) > cap {
                let words = format!("{spent} of {cap} micro-dollars are spent");
                return Ok(Reserving::Refused(Denial::new(DenialCode::Budget, words)));
            }
        }
        let body = serde_json::to_value(entry)?;
        kept.note("intent", &body);
        kept.intents.push((entry.clone(), Vec::new(), None));
        Ok(Reserving::Made)
    }

    async fn spent(&self, session: Address, at: u64) -> Result<Spent, BoxError> {
        Ok(self.kept().spent(session, at))
    }

    async fn signed(&self, intent: IntentId, bid: &Bid, _at: u64) -> Result<(), BoxError> {
        let mut kept = self.kept();
        kept.find(intent)?.1.push(bid.clone());
        let body = serde_json::to_value(bid)?;
        kept.note("signed", &body);
        Ok(())
    }

    async fn forsake(&self, intent: IntentId, _at: u64) -> Result<(), BoxError> {
        let mut kept = self.kept();
        if kept.find(intent)?.2.is_some() {
            return Err("it has ended".into());
        }
        if kept.forsaken.insert(intent) {
            kept.note("forsaken", &serde_json::to_value(intent)?);
        }
        Ok(())
    }

    async fn settle(&self, intent: IntentId, ending: &Ending, _at: u64) -> Result<(), BoxError> {
        let mut kept = self.kept();
        match &mut kept.find(intent)?.2 {
            Some(known) if known == ending => return Ok(()),
            Some(_) => return Err("it ended otherwise".into()),
            open => *open = Some(ending.clone()),
        }
        let body = serde_json::to_value(ending)?;
        kept.note("settled", &body);
        Ok(())
    }

    async fn open(&self) -> Result<Vec<Open>, BoxError> {
        let kept = self.kept();
        let open = kept.intents.iter().filter(|(.., ending)| ending.is_none());
        let told = |(entry, bids, _): &(Entry, Vec<Bid>, Option<Ending>)| Open {
            entry: entry.clone(),
            bids: bids.clone(),
            forsaken: kept.forsaken.contains(&entry.intent),
        };
        Ok(open.map(told).collect())
    }

    async fn ended(&self, intent: IntentId) -> Result<Option<Ending>, BoxError> {
        let kept = self.kept();
        let found = kept.intents.iter().find(|(entry, ..)| entry.intent == intent);
        Ok(found.and_then(|(.., ending)| ending.clone()))
    }
}

#[async_trait]
impl Steps for MemoryBooks {
    async fn load(&self, name: &str) -> Result<Option<Step>, BoxError> {
        Ok(self.kept().cells.get(name).cloned())
    }

    async fn advance(&self, name: &str, from: u64, to: &Value, _at: u64) -> Result<(), BoxError> {
        // What a disk would not take is not taken here either.
        if !(1..=64).contains(&name.len()) || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(format!("{name:?} is no name").into());
        }
        let mut kept = self.kept();
        let version = kept.cells.get(name).map_or(0, |step| step.version);
        if version != from {
            return Err(format!("it is at version {version}, not {from}").into());
        }
        let step = Step { version: version.saturating_add(1), value: to.clone() };
        kept.cells.insert(name.to_owned(), step);
        kept.note(name, to);
        Ok(())
    }
}

#[async_trait]
impl Audit for MemoryBooks {
    async fn note(&self, kind: &str, body: &Value, _at: u64) -> Result<AuditHead, BoxError> {
        self.kept().note(kind, body);
        self.head().await
    }

    async fn head(&self) -> Result<AuditHead, BoxError> {
        let kept = self.kept();
        let length = u64::try_from(kept.log.len())?;
        Ok(AuditHead { golem: B256::ZERO, length, hash: kept.head })
    }

    async fn sealed(&self, _: &AuditHead, _: Address, _: &Bytes) -> Result<(), BoxError> {
        Ok(())
    }
}
