//! What a running Golem says to who started it: lines for people, objects for programs, keys for nobody.

use super::moment;
use alloy::primitives::{Address, B256};
use golem_chain::End;
use golem_custody::{DenialCode, redact};
use golem_runtime::{Born, Outcome, Pulse, Ticked};
use serde_json::{Value, json};
use std::io::{Write as _, stderr, stdout};

#[derive(Clone, Copy, Debug)]
pub(super) struct Voice {
    pub(super) json: bool,
}

impl Voice {
    /// Says it to whom it is for. Who does not listen any more misses it; a Golem does not die of that.
    pub(super) fn say(self, json: &Value, words: &str) {
        let _gone = if self.json {
            let mut out = stdout().lock();
            writeln!(out, "{json}").and_then(|()| out.flush())
        } else {
            writeln!(stderr(), "{}", redact(words))
        };
    }

    pub(super) fn born(self, born: &Born, onboarded: bool) {
        let Born { address, proof, .. } = born;
        let next = if onboarded {
            "It looks on until `bardo golem grant`."
        } else {
            "It waits for `bardo onboard --mode vault --session` with this address, and this folder."
        };
        // A signature has the form of a secret, and is none.
        let json = json!({ "born": address, "proof": proof, "onboarded": onboarded });
        if self.json {
            self.say(&json, "");
        } else {
            let _gone = writeln!(stderr(), "born     {address}\nproof    {proof}\n{next}");
        }
    }

    pub(super) fn awake(self, golem: B256, key: Option<Address>, granted: Address, next_at: u64) {
        let words = if key == Some(granted) {
            format!("golem={golem} is awake and acts by {granted}")
        } else {
            format!("golem={golem} is awake and looks on: its grant is for {granted}")
        };
        let json = json!({ "awake": golem, "key": key, "granted": granted, "nextAt": next_at });
        self.say(&json, &words);
    }

    pub(super) fn pulse(self, pulse: &Pulse<'_>) {
        match pulse {
            Pulse::Ticked(ticked) => self.ticked(ticked),
            Pulse::Faulted { error, pause } => {
                let words = chain(*error);
                let seconds = pause.as_secs();
                let line = format!("fault: {words}; again in {seconds} seconds");
                self.say(&json!({ "fault": redact(&words), "againIn": seconds }), &line);
            }
            Pulse::BooksStopped(error) => {
                let words = chain(*error);
                self.say(&json!({ "fault": redact(&words) }), &format!("fault: {words}"));
            }
            Pulse::Waits { denial, pause } => {
                let seconds = pause.as_secs();
                let line = format!("its death waits: {denial}; again in {seconds} seconds");
                let json = json!({ "waits": redact(&denial.to_string()), "againIn": seconds });
                self.say(&json, &line);
            }
            Pulse::NotSettled { error, pause } => {
                let (words, seconds) = (chain(*error), pause.as_secs());
                let line = format!("its death goes on: {words}; again in {seconds} seconds");
                self.say(&json!({ "notSettled": redact(&words), "againIn": seconds }), &line);
            }
            Pulse::Unwatched(fault) => {
                let words = chain(*fault);
                let line = format!("its grant is not watched until the next tick: {words}");
                self.say(&json!({ "unwatched": redact(&words) }), &line);
            }
            Pulse::GrantEnded(End { block, cause }) => {
                let line = format!("its grant is over in block {}: {cause}", block.number);
                let (cause, why) = (cause.code(), cause.to_string());
                let json = json!({ "grantEnded": cause, "why": why, "block": block.number });
                self.say(&json, &line);
            }
            _ => {}
        }
    }

    fn ticked(self, ticked: &Ticked) {
        let Ticked { number, phase, clocks, dreaming, observing, deeds, next_at, dies_of } = ticked;
        let done: Vec<Value> = deeds
            .iter()
            .map(|(wish, outcome)| {
                let (how, why) = told(outcome);
                json!({ "wish": format!("{wish:?}"), "outcome": how, "why": redact(&why) })
            })
            .collect();
        let json = json!({
            "tick": number, "phase": format!("{phase:?}"), "vitality": clocks.vitality(),
            "clocks": clocks, "dreaming": dreaming, "observing": observing, "deeds": done,
            "nextAt": next_at, "diesOf": dies_of,
        });
        let mut line = format!("tick {number}  {phase:?} {}", clocks.vitality());
        if *dreaming {
            line.push_str("  dreams");
        }
        if let Some(why) = observing {
            line.push_str(&format!("  looks on: {why:?}"));
        }
        for (wish, outcome) in deeds {
            let (how, why) = told(outcome);
            line.push_str(&format!("  {wish:?}: {how} {why}"));
        }
        line.push_str(&format!("  next {}", moment(*next_at)));
        self.say(&json, &line);
    }
}

pub(super) fn told(outcome: &Outcome) -> (&'static str, String) {
    match outcome {
        Outcome::Done => ("done", String::new()),
        Outcome::Refused(denials)
            if denials.iter().any(|denial| denial.code == DenialCode::ApprovalMissing) =>
        {
            ("asked", denials.iter().map(|denial| denial.reason.clone()).collect())
        }
        Outcome::Refused(denials) => {
            let all: Vec<String> = denials.iter().map(ToString::to_string).collect();
            ("refused", all.join("; "))
        }
        Outcome::Failed(denial) => ("failed", denial.to_string()),
        Outcome::Unsettled(why) => ("unsettled", why.clone()),
    }
}

/// Causes, outermost first.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
