//! A Golem's children, as its books, their own books and the chain have them.

use super::{archive, moment, nursling::Nursling};
use crate::{answer::Failure, prose::dollars};
use alloy::primitives::{Address, U256};
use bardo_bindings::{
    ReplicantBudgetEnforcer, framework::DELEGATION_MANAGER, replicant_budget_enforcer,
};
use golem_chain::Node;
use golem_delegation::grant::Phase;
use golem_runtime::{Child, Glance, Upbringing};
use serde_json::{Value, json};
use std::path::Path;

/// One of them.
pub(super) struct Kin {
    /// What its owner calls it; none where no folder is its.
    name: Option<String>,
    /// What its parent knows; none before it is made.
    child: Option<Child>,
    /// Why its parent refused it.
    refused: Option<String>,
    /// Its parent's phase, as it saw that last.
    phase: Option<Phase>,
    ticks: u64,
    /// In micro-dollars: by the chain where it was asked, otherwise by its own books.
    spent: u64,
    runs: bool,
}

impl Kin {
    /// All of a Golem's, those that it made first, by what is on the disk.
    pub(super) fn of(data: &Path, glance: &Glance, now: u64) -> Vec<Self> {
        let folders = Nursling::all(data);
        let made = glance.children.iter().map(|child| {
            let own = folders.iter().find(|one| one.key().ok().flatten() == Some(child.key));
            Self::made(child, own, now)
        });
        let others = folders.iter().filter(|one| one.among(&glance.children).is_none());
        let waiting = others.map(|one| Self {
            name: Some(one.name()),
            child: None,
            refused: one.no().ok().flatten().map(|no| no.reason),
            phase: None,
            ticks: 0,
            spent: 0,
            runs: false,
        });
        made.chain(waiting).collect()
    }

    fn made(child: &Child, own: Option<&Nursling>, now: u64) -> Self {
        let books = own.and_then(|own| archive(&own.folder).ok());
        let life = books.as_ref().and_then(|books| Glance::of(books, now).ok()?.life);
        let spent = match child.upbringing {
            Upbringing::Ended { spent, .. } => spent,
            _ => books
                .and_then(|books| books.spent(child.key, now).ok())
                .map_or(0, |spent| spent.session),
        };
        Self {
            name: own.map(Nursling::name),
            refused: None,
            phase: life.as_ref().map(|life| life.phase),
            ticks: life.as_ref().map_or(0, |life| life.ticks),
            spent,
            runs: own.is_some_and(Nursling::runs),
            child: Some(child.clone()),
        }
    }

    /// The same by the chain's own count.
    pub(super) async fn by_chain(self, node: &Node) -> Result<Self, Failure> {
        let Some(child) = self.child.as_ref().filter(|child| child.lives()) else {
            return Ok(self);
        };
        let asked = ReplicantBudgetEnforcer::spentByCall {
            manager: DELEGATION_MANAGER,
            delegator: child.above.delegate,
            replicantId: child.id,
        };
        let counted = node.read(replicant_budget_enforcer(), asked).await?;
        let counted = u64::try_from(counted).unwrap_or(u64::MAX);
        let spent = counted.saturating_sub(child.counted);
        Ok(Self { spent, ..self })
    }

    /// What it spent in the name of this key of its parent's.
    pub(super) fn spent_of(&self, key: Address) -> u64 {
        let lent = self.child.as_ref().is_some_and(|child| child.above.delegate == key);
        if lent { self.spent } else { 0 }
    }

    pub(super) fn json(&self) -> Value {
        let Self { name, child, refused, phase, ticks, spent, runs } = self;
        let state = match (child.as_ref().map(|child| &child.upbringing), refused) {
            (Some(Upbringing::Living), _) => "living",
            (Some(Upbringing::Ended { .. }), _) => "ended",
            (None, Some(_)) => "refused",
            _ => "waits",
        };
        let why = match child.as_ref().map(|child| &child.upbringing) {
            Some(Upbringing::Ended { cause, .. }) => Some(cause.clone()),
            _ => refused.clone(),
        };
        json!({
            "name": name, "state": state, "why": why, "runs": runs, "ticks": ticks,
            "phase": phase.map(|phase| format!("{phase:?}")), "spent": spent,
            "replicant": child.as_ref().map(|child| child.id),
            "key": child.as_ref().map(|child| child.key),
            "budget": child.as_ref().map(|child| child.errand.budget),
            "until": child.as_ref().map(|child| child.not_after),
        })
    }

    pub(super) fn text(&self) -> String {
        let money = |micro: u64| dollars(U256::from(micro));
        let name = self.name.clone().unwrap_or_else(|| "a Replicant".to_owned());
        let Some(child) = &self.child else {
            return match &self.refused {
                Some(why) => format!("{name}: refused: {why}"),
                None => format!("{name}: waits for its parent to make it"),
            };
        };
        let share = format!("spent {} of {}", money(self.spent), money(child.errand.budget));
        match &child.upbringing {
            Upbringing::Ended { cause, at, .. } => {
                format!("{name}: ended {}, {cause}; {share}", moment(*at))
            }
            Upbringing::Asked => format!("{name}: is being made; {share}"),
            Upbringing::Living => {
                let how = if self.runs { "acts" } else { "has no process" };
                let phase = self.phase.map_or_else(String::new, |phase| format!("{phase:?}, "));
                format!("{name}: {phase}{how}; {share}; until {}", moment(child.not_after))
            }
        }
    }
}
