//! The owner's grant for running costs (ERC-7715): asked for, checked, and said what it is.

use crate::{
    answer::{Answer, Failure, OrUse},
    cli::RunwayRequestArgs,
    commands::permission::reasons,
    prose::paragraphs,
};
use alloy::primitives::{Address, U256};
use anyhow::anyhow;
use bardo_bindings::framework::DELEGATION_MANAGER;
use golem_chain::environment;
use golem_custody::{Runway, RunwayFor, RunwayLimits, RunwayRefusal};
use golem_delegation::{
    PermissionContext, Rule, Utc,
    permission::{self, Asset, Expected, Form, Granted},
};
use serde_json::{Value, json};

const DAY: u64 = 86_400;
/// Ten dollars.
const PER_DAY: U256 = U256::from_limbs([10_000_000, 0, 0, 0]);
/// What to do for more than is given without saying it twice.
const MEAN_IT: &str = "; if you mean it, say --runway-beyond-limits";

/// What to ask the wallet for, in today's form.
pub(in crate::commands) fn asked(
    args: &RunwayRequestArgs,
    of: &RunwayFor,
    dollars: Address,
    beyond_limits: bool,
    now: u64,
) -> Result<Answer, Failure> {
    let days = args.runway_days.unwrap_or(RunwayLimits::DAYS);
    let per_day = args.runway_per_day.unwrap_or(PER_DAY);
    let seconds = days.saturating_mul(DAY);
    if days == 0 || now.checked_add(seconds).is_none() {
        return Err(Failure::Use(anyhow!("runway-days: {days} days have no end, or are none")));
    }
    if !beyond_limits {
        let limits = RunwayLimits::of(dollars);
        if let Err(refused) = limits.allow(Asset::Erc20(dollars), per_day, seconds) {
            return Ok(declined(&refused));
        }
    }
    let ends = now.saturating_add(seconds);
    let request = Runway::request(of, dollars, per_day, args.runway_payee, ends);
    request.check().or_use()?;
    let call = Form::Today.write_requests(&[request])?;
    let text = serde_json::to_string_pretty(&call)?;
    Ok(Answer::yes(call, text))
}

/// The draft's form has no word for who redeems: there the signed caveats say it, which alone bind.
pub(in crate::commands) fn whole(
    (form, mut answer): (Form, permission::Answer),
) -> permission::Answer {
    let environment = environment();
    if form == Form::Draft
        && let Ok(context) = PermissionContext::decode(&answer.context)
    {
        let rules = context.leaf().caveats.iter().map(|caveat| environment.read(caveat));
        for rule in rules.flatten() {
            if let Rule::Redeemer(redeemers) = rule {
                answer.granted.rules.redeemers = redeemers.0;
            }
        }
    }
    answer
}

/// Holds a wallet's answer against its own caveats and against this Golem.
pub(in crate::commands) fn taken(
    answer: &permission::Answer,
    of: &RunwayFor,
    dollars: Address,
    beyond_limits: bool,
    now: u64,
) -> Result<Runway, Answer> {
    let environment = environment();
    let expected =
        Expected { session: of.session, manager: DELEGATION_MANAGER, environment: &environment };
    let granted = Granted::check(answer, expected).map_err(|error| no(reasons(&error)))?;
    let limits = RunwayLimits::of(dollars);
    Runway::take(&granted, of, (!beyond_limits).then_some(&limits), now)
        .map_err(|refused| declined(&refused))
}

fn declined(refused: &RunwayRefusal) -> Answer {
    no(format!("{refused}{}", if refused.is_a_limit() { MEAN_IT } else { "" }))
}

pub(in crate::commands) fn no(why: String) -> Answer {
    let reason = format!("runway: {why}; nothing was asked or sent");
    Answer::no(json!({ "done": false, "reason": reason }), reason)
}

/// For programs.
pub(in crate::commands) fn json(runway: &Runway, held: U256) -> Value {
    json!({
        "token": runway.token,
        "perDay": runway.per_day.to_string(),
        "expiresAt": runway.expires_at,
        "blastRadius": { "grant": runway.most.to_string(), "sessionBalance": held.to_string() },
    })
}

/// For people: what a thief of the key has by it.
pub(in crate::commands) fn said(runway: &Runway, held: U256) -> String {
    let Runway { per_day, most, expires_at, .. } = runway;
    let of = runway.token.map_or_else(|| "wei".to_owned(), |token| format!("units of {token}"));
    paragraphs(&format!(
        "Runway: up to {per_day} {of} a day until {}, out of your own account, redeemed by the Golem's key alone. It leaves your account \
         when it is redeemed. No charter binds it: whoever takes that key can have all of this grant, {most} {of}, and what the key \
         holds, {held} wei now.",
        Utc(*expires_at)
    ))
}
