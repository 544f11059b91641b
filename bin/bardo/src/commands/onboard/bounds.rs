//! What bounds a local key, as its grant says it (SPEC K6).

use crate::prose::dollars;
use alloy::primitives::{Address, U256};
use golem_chain::environment;
use golem_delegation::{Delegation, Rule, Utc};
use serde_json::{Value, json};

/// Read from the grant itself: what was wished for is not what counts.
pub(in crate::commands) struct Bounds {
    daily: u64,
    /// Most calls, all in all.
    pub(in crate::commands) calls: U256,
    until: u64,
    pub(in crate::commands) targets: Vec<Address>,
}

impl Bounds {
    /// Those of a grant; none where its charter is all there is.
    pub(in crate::commands) fn of(grant: &Delegation) -> Option<Self> {
        let (mut charter, mut calls, mut targets) = (None, None, None);
        for caveat in &grant.caveats {
            match environment().read(caveat) {
                Ok(Rule::GolemCharter(one)) => charter = Some(one),
                Ok(Rule::LimitedCalls(one)) => calls = Some(one.0),
                Ok(Rule::AllowedTargets(one)) => targets = Some(one.0),
                _ => {}
            }
        }
        let (charter, calls, targets) = (charter?, calls?, targets?);
        Some(Self { daily: charter.spend_cap, calls, until: charter.window.end(), targets })
    }

    pub(in crate::commands) fn json(&self) -> Value {
        json!({
            "microDollarsInADay": self.daily,
            "calls": self.calls.to_string(),
            "until": self.until,
            "targets": self.targets,
        })
    }

    pub(super) fn text(&self) -> String {
        let Self { daily, calls, until, targets } = self;
        let listed: Vec<String> = targets.iter().map(Address::to_string).collect();
        format!(
            "bounds   {} in any 24 hours, {calls} calls, until {}, and to these alone:\n         {}\n         \
             An allowance and its swap are two calls. Its gas it pays itself. When no call is left, its grant is over.\n",
            dollars(U256::from(*daily)),
            Utc(*until),
            listed.join("\n         "),
        )
    }
}
