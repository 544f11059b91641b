//! Events in plain words.

use super::{
    log::clipped,
    story::{Entry, Mark},
};
use alloy::primitives::{Address, U256};
use bardo_bindings::deployables;
use golem_custody::RotationReason;
use golem_delegation::{Utc, blast_radius::Dollars, enforcers, grant::Phase};
use golem_runtime::{DeathTrigger, GolemEvent, ObservingCause, RevocationReason, Told};

/// A phase as people say it.
pub(super) const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Thriving => "Thriving",
        Phase::Stable => "Stable",
        Phase::Conservation => "Conservation",
        Phase::Declining => "Declining",
        _ => "Terminal",
    }
}

/// What a Golem dies of.
pub(super) const fn trigger(trigger: DeathTrigger) -> &'static str {
    match trigger {
        DeathTrigger::Age => "age",
        DeathTrigger::Exhaustion => "exhaustion",
        DeathTrigger::Expiry => "the end of its time",
        DeathTrigger::Loss => "losses",
        DeathTrigger::Staleness => "no longer knowing its world",
        DeathTrigger::OwnerKillSwitch => "its owner's word",
        DeathTrigger::GrantEnded => "the end of its grant",
        _ => "something that is not known here",
    }
}

const fn reason(reason: RotationReason) -> &'static str {
    match reason {
        RotationReason::Operations => "it had signed often enough",
        RotationReason::Age => "it was old enough",
        RotationReason::Budget => "little of its grant was left",
        RotationReason::Asked => "its owner wanted another",
        RotationReason::Gone => "it was gone with its process",
    }
}

const fn observing(why: ObservingCause) -> &'static str {
    match why {
        ObservingCause::NoKey => "it has no key any more",
        ObservingCause::Unattached => "its owner has granted nothing to this key",
        ObservingCause::WalletAway => "the wallet service does not answer",
        _ => "nobody knows why",
    }
}

/// What a refusal comes to, for whoever does not know its name.
fn refusal(code: &str) -> &'static str {
    match code {
        "CAV-EMOTION" => "it was not to trade in that mood",
        "CAV-PHASE" => "its phase does not let it",
        "CAV-DREAMING" => "it was asleep",
        "CAV-SPEND" => "too much for one day",
        "CAV-BUDGET" => "more than its share",
        "CAV-SLIPPAGE" => "the price was too bad",
        "CAV-CALLS" => "its calls were used up",
        "CAV-WINDOW-EARLY" => "its time had not begun",
        "CAV-WINDOW-EXPIRED" => "its time was over",
        "CAV-CADENCE" => "it was too soon again",
        "CAV-TARGET" | "CAV-METHOD" | "CAV-CALLDATA" => "its grant does not name that",
        "DELEGATION_DISABLED" | "CAV-REVOKED" => "its grant was taken",
        "CAV-SUPERSEDED" => "a newer grant had taken the place of its own",
        "CAV-NOT-ALIVE" => "the register did not count it as alive",
        "CAV-DRAWDOWN" | "POL-DRAWDOWN" => "it had lost too much",
        "CAV-PRICE" | "POL-PRICE-UNKNOWN" | "POL-PRICE-STALE" => "no price could be trusted",
        "CUS-BUDGET-SESSION" | "CUS-BUDGET-DAY" | "CUS-BUDGET-OWNER" => "its budget was used up",
        "POL-SPEND-TRANSACTION" | "POL-SPEND-SESSION" | "POL-SPEND-DAY" => "its policy allows less",
        "DEL-DELEGATE" => "it was granted to another key",
        "CUS-NO-GAS" => "its key could not pay for the gas",
        "EXE-REVERTED" => "the contract that it called refused",
        _ => "it went beyond its limits",
    }
}

/// A contract's name, where it is one that is known.
pub(super) fn contract(address: Address) -> String {
    let ours = deployables().iter().find(|one| one.address == address);
    let stock = || {
        let mut all = enforcers::STOCK.iter();
        all.find_map(|(name, at)| (*at == address).then_some(*name))
    };
    ours.map(|one| one.name).or_else(stock).map_or_else(|| address.to_string(), str::to_owned)
}

/// Micro-dollars in dollars and cents.
pub(super) fn dollars(micro: u64) -> String {
    Dollars(U256::from(micro)).to_string()
}

/// A second, as people write it.
pub(super) fn when(at: u64) -> String {
    let text = Utc(at).to_string();
    match text.split_once('T') {
        Some((date, time)) => {
            let short = time.get(..5).unwrap_or(time);
            format!("{date} {short}")
        }
        None => text,
    }
}

/// Whether a timeline has it: ticks, reports and steps in between are told elsewhere.
pub(super) fn is_told(event: &GolemEvent) -> bool {
    sentence(event).is_some()
}

/// An event's entry.
pub(super) fn entry(told: &Told) -> Option<Entry> {
    let (mark, title, detail) = sentence(&told.event)?;
    Some(Entry {
        at: told.at,
        mark,
        title,
        detail,
        times: 1,
        record: Some(told.sequence),
        transaction: None,
    })
}

fn sentence(event: &GolemEvent) -> Option<(Mark, String, Option<String>)> {
    keys(event).or_else(|| life(event)).or_else(|| death(event))
}

fn life(event: &GolemEvent) -> Option<(Mark, String, Option<String>)> {
    let plain = |mark, title: &str, detail: Option<String>| Some((mark, title.to_owned(), detail));
    match event {
        GolemEvent::GolemSummoned { .. } => plain(Mark::Birth, "Had its first tick", None),
        GolemEvent::PhaseChanged { from, to, score } => {
            let title = format!("{} became {}", phase(*from), phase(*to));
            Some((Mark::Phase, title, Some(format!("Vitality {}.", percent(u64::from(*score))))))
        }
        GolemEvent::Fed { phase: to, .. } => {
            let title = format!("Fed by its owner, and {} again", phase(*to));
            Some((Mark::Owner, title, None))
        }
        GolemEvent::DreamBegan { until } => {
            let title = format!("Slept until {}", when(*until));
            Some((Mark::Dream, title, None))
        }
        GolemEvent::ModelsDisagreed { why } => {
            plain(Mark::Mood, "Two models disagreed, and nothing was done", Some(clipped(why)))
        }
        GolemEvent::HeartbeatAnomaly { missed } => {
            Some((Mark::Alarm, format!("Missed {missed} ticks"), None))
        }
        GolemEvent::IntentRefused { code, reason, enforcer, .. } => {
            let code = clipped(code);
            let title = format!("Told no: {} ({code})", refusal(&code));
            let who = enforcer.map_or_else(|| "its own policy".to_owned(), contract);
            Some((Mark::Refusal, title, Some(format!("{} ({who}).", clipped(reason)))))
        }
        GolemEvent::IntentAbandoned { why, .. } => {
            plain(Mark::Refusal, "Gave something up", Some(clipped(why)))
        }
        GolemEvent::ApprovalAsked { micro_dollars, .. } => {
            Some((Mark::Owner, format!("Asked its owner for {}", dollars(*micro_dollars)), None))
        }
        GolemEvent::ApprovalAnswered { approved, .. } => {
            plain(Mark::Owner, if *approved { "He said yes" } else { "He said no" }, None)
        }
        GolemEvent::ApprovalExpired { .. } => plain(Mark::Owner, "He did not answer in time", None),
        GolemEvent::RunwayRedeemed { redeemed, remaining, .. } => {
            let title = format!("Paid {} of running costs", dollars(*redeemed));
            let left =
                format!("From its owner's runway; {} were left that day.", dollars(*remaining));
            Some((Mark::Money, title, Some(left)))
        }
        GolemEvent::BudgetWarning { remaining_bps, .. } => {
            let left = percent(u64::from(*remaining_bps));
            Some((Mark::Alarm, format!("Only {left} of its grant was left"), None))
        }
        GolemEvent::GrantEnded { why, .. } => {
            plain(Mark::Alarm, "Its grant was over", Some(clipped(why)))
        }
        GolemEvent::PolicyFollowed { version, .. } => {
            let detail = format!("Version {version} is what it was judged by from then on.");
            plain(Mark::Key, "Its owner changed its policy", Some(detail))
        }
        GolemEvent::ObservingBegan { why } => {
            plain(Mark::Alarm, "Could only look on", Some(capital(observing(*why))))
        }
        GolemEvent::ActingBegan { .. } => plain(Mark::Key, "Could act again", None),
        GolemEvent::ReplicantSpawned { replicant, expires_at, .. } => {
            let detail = format!("{replicant}, until {}.", when(*expires_at));
            plain(Mark::Child, "Had a child", Some(detail))
        }
        GolemEvent::ReplicantEnded { cause, .. } => {
            plain(Mark::Child, "Its child ended", Some(clipped(cause)))
        }
        _ => None,
    }
}

fn keys(event: &GolemEvent) -> Option<(Mark, String, Option<String>)> {
    let plain = |mark, title: &str, detail: Option<String>| Some((mark, title.to_owned(), detail));
    match event {
        GolemEvent::DelegationGranted { delegate, .. } => {
            plain(Mark::Owner, "Its owner signed a grant", Some(format!("To the key {delegate}.")))
        }
        GolemEvent::WalletProvided { wallet } => {
            plain(Mark::Key, "Got a wallet that a service signs for", Some(wallet.to_string()))
        }
        GolemEvent::RotationTriggered { reason: why, new_address, .. } => {
            let detail = format!("{}; {new_address} waits for its grant.", capital(reason(*why)));
            plain(Mark::Key, "Asked for its key to be replaced", Some(detail))
        }
        GolemEvent::SessionKeyRotated { old_address, new_address, .. } => {
            let detail = format!("{new_address} took the place of {old_address}, which was wiped.");
            plain(Mark::Key, "Changed its key", Some(detail))
        }
        GolemEvent::RotationDropped { attached, .. } => {
            let detail = if *attached { "It has its grant." } else { "It has no grant yet." };
            plain(Mark::Key, "A key is in the place of another", Some(detail.to_owned()))
        }
        GolemEvent::SessionKeyRevoked { .. } => {
            plain(Mark::Key, "Its key can do nothing more", None)
        }
        GolemEvent::DelegationRevoked { .. } => plain(Mark::Owner, "Its grant is over", None),
        GolemEvent::DelegationExpiringWarning { seconds_remaining, .. } => {
            let left = crate::prose::length(*seconds_remaining);
            plain(Mark::Alarm, "Its grant is about to end", Some(format!("In {left}.")))
        }
        GolemEvent::PermissionRevoked { cause, reason: RevocationReason::Terminal, .. } => {
            plain(Mark::Death, "Let go of what it was permitted", Some(capital(&clipped(cause))))
        }
        GolemEvent::PermissionRevoked { cause, .. } => {
            plain(Mark::Alarm, "Its permissions were taken", Some(capital(&clipped(cause))))
        }
        _ => None,
    }
}

fn death(event: &GolemEvent) -> Option<(Mark, String, Option<String>)> {
    let plain = |title: &str, detail: Option<String>| Some((Mark::Death, title.to_owned(), detail));
    match event {
        GolemEvent::GolemTerminal { .. } => plain("Reached its last phase", None),
        GolemEvent::DeathProtocolStarted { trigger: of, .. } => {
            plain("Began to die", Some(format!("Of {}.", trigger(*of))))
        }
        GolemEvent::SettlementBegan { .. } => plain("Its estate began to be settled", None),
        GolemEvent::PositionsUnwound { positions_exited, positions_deferred, .. } => {
            let detail =
                format!("{positions_exited} closed; {positions_deferred} left to its owner.");
            plain("What was open was closed", Some(detail))
        }
        GolemEvent::AllowancesZeroed { .. } => plain("Every allowance was taken back", None),
        GolemEvent::EstateReturned { .. } => plain("Its owner has what he can have", None),
        GolemEvent::RegistryClosed { .. } => plain("The registry knows that it is dead", None),
        GolemEvent::EstateSettled { .. } => {
            plain("Its keys were wiped; nothing is left to settle", None)
        }
        GolemEvent::DeathCompleted { lifetime_ticks, total_cost, final_nav, .. } => {
            let detail = format!(
                "After {lifetime_ticks} ticks, that cost {}; worth {} at the end.",
                dollars(*total_cost),
                dollars(*final_nav)
            );
            plain("Died", Some(detail))
        }
        _ => None,
    }
}

/// Hundredths of a per cent, as a share.
pub(super) fn percent(bps: u64) -> String {
    format!("{}.{:02} %", bps / 100, bps % 100)
}

/// A sentence begins so.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
