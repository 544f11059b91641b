//! What the enforcers beside the charter say in words of their own.

use super::{moment, names, rules};
use alloy::{
    primitives::{Address, Bytes},
    sol_types::SolInterface,
};
use bardo_bindings::{
    CadenceEnforcer::CadenceEnforcerErrors as Cadence,
    EmotionalStateEnforcer::EmotionalStateEnforcerErrors as Emotion,
    HoldingsEnforcer::HoldingsEnforcerErrors as Holdings,
    KnowledgeRoyaltyEnforcer::KnowledgeRoyaltyEnforcerErrors as Royalty,
    ReplicantBudgetEnforcer::ReplicantBudgetEnforcerErrors as Budget,
    ThresholdEnforcer::ThresholdEnforcerErrors as Threshold, cadence_enforcer,
    emotional_state_enforcer, holdings_enforcer, knowledge_royalty_enforcer,
    replicant_budget_enforcer, threshold_enforcer,
};
use golem_custody::{Denial, DenialCode as Code};
use golem_delegation::Caveat;

/// A refusal of one of them, if its caveat was asked. What they share with the charter is
/// left to [`rules`].
pub(super) fn explain(data: &Bytes, asked: &[Caveat]) -> Option<Denial> {
    macro_rules! said {
        ($enforcer:expr, $name:literal, $errors:ident, $words:ident) => {
            if names(asked, $enforcer)
                && let Ok(error) = $errors::abi_decode(data)
                && let Some((code, reason)) = $words(&error)
            {
                return Some(Denial::new(code, reason).by($enforcer, $name));
            }
        };
    }
    said!(cadence_enforcer(), "CadenceEnforcer", Cadence, cadence);
    said!(threshold_enforcer(), "ThresholdEnforcer", Threshold, threshold);
    said!(replicant_budget_enforcer(), "ReplicantBudgetEnforcer", Budget, budget);
    said!(holdings_enforcer(), "HoldingsEnforcer", Holdings, holdings);
    said!(emotional_state_enforcer(), "EmotionalStateEnforcer", Emotion, emotion);
    said!(knowledge_royalty_enforcer(), "KnowledgeRoyaltyEnforcer", Royalty, royalty);
    None
}

type Words = Option<(Code, String)>;

fn malformed() -> Words {
    Some((Code::Terms, "a limit of the grant is malformed, so it refuses for ever".into()))
}

fn hidden(target: impl std::fmt::Display) -> Words {
    Some((Code::Target, format!("a call of {target} could carry another that no rule would see")))
}

fn cadence(error: &Cadence) -> Words {
    match error {
        Cadence::Cadence_TooSoon(e) => Some((
            Code::Cadence,
            format!(
                "the Golem acts {} times in any {} seconds, and next at {}",
                e.count,
                e.period,
                moment(e.dueAt)
            ),
        )),
        Cadence::Cadence_TermsLength(_)
        | Cadence::Cadence_ZeroCount(_)
        | Cadence::Cadence_ZeroPeriod(_) => malformed(),
        _ => None,
    }
}

fn threshold(error: &Threshold) -> Words {
    let reason = match error {
        Threshold::Threshold_ArgsLength(_) => {
            "not as many signatures came along as are needed".into()
        }
        Threshold::Threshold_Expired(e) => {
            format!("the signers agreed until {}, it is {}", moment(e.deadline), moment(e.nowAt))
        }
        Threshold::Threshold_NonceUsed(_) => {
            "the signers agreed to this once, and it was done".into()
        }
        Threshold::Threshold_SignatureOrder(e) => {
            format!("{} signed twice, or stands in the wrong place", e.signer)
        }
        Threshold::Threshold_NotASigner(e) => format!(
            "{} is nobody who may agree; a signature for something else looks like this, too",
            e.signer
        ),
        Threshold::GrantSignature_HighS(_)
        | Threshold::GrantSignature_Length(_)
        | Threshold::GrantSignature_NoSigner(_)
        | Threshold::GrantSignature_RecoveryId(_) => {
            "a signature has a form that nobody should send".into()
        }
        Threshold::Threshold_Needed(_)
        | Threshold::Threshold_SignerOrder(_)
        | Threshold::Threshold_TermsLength(_) => return malformed(),
        _ => return None,
    };
    Some((Code::Threshold, reason))
}

fn budget(error: &Budget) -> Words {
    match error {
        Budget::ReplicantBudget_Exceeded(e) => Some((
            Code::Budget,
            format!(
                "{} more would be over the whole budget: {} of {} are spent",
                rules::dollars(e.amount),
                rules::dollars(e.spent),
                rules::dollars(e.budget)
            ),
        )),
        Budget::ReplicantBudget_Outlived(e) => Some((
            Code::WindowExpired,
            format!("its life ended at {}, it is {}", moment(e.notAfter), moment(e.nowAt)),
        )),
        Budget::ReplicantBudgetEnforcer_TermsLength(_) => malformed(),
        _ => None,
    }
}

/// Coins and wrapped coins are one position, which the contract calls zero.
fn position(token: Address) -> String {
    if token.is_zero() { "ether".into() } else { token.to_string() }
}

fn holdings(error: &Holdings) -> Words {
    match error {
        Holdings::Holdings_TooLarge(e) => Some((
            Code::Share,
            format!(
                "{} of {} would be held, and {} is its share",
                rules::dollars(e.value),
                position(e.position),
                rules::dollars(e.most)
            ),
        )),
        Holdings::Holdings_PhaseForbidsGrowth(e) => Some((
            Code::Phase,
            format!(
                "a Golem in {} buys nothing, not {}",
                rules::phase(e.phase),
                position(e.position)
            ),
        )),
        Holdings::Holdings_Drawdown(e) => Some((
            Code::Drawdown,
            format!(
                "the account is worth {}, below {} it only closes, and {} would grow",
                rules::dollars(e.total),
                rules::dollars(e.least),
                position(e.position)
            ),
        )),
        Holdings::Holdings_Loss(e) => Some((
            Code::Drawdown,
            format!(
                "below its floor the account gave {} for {}: more than {} basis points are lost",
                rules::dollars(e.out),
                rules::dollars(e.back),
                e.bps
            ),
        )),
        Holdings::Holdings_StaleSeries(e) => Some((
            Code::Superseded,
            format!(
                "the owner began a newer mark for this Golem: this grant is of series {}, the newer one of {}",
                e.series, e.highest
            ),
        )),
        Holdings::Holdings_Mixed(_) => Some((
            Code::Drawdown,
            "what comes back from a pool is not traded in the same execution: take it back first"
                .into(),
        )),
        Holdings::Holdings_Liquidity(_) => Some((
            Code::Share,
            "where a position may be a share of everything only, no liquidity is added; and below its \
             floor an account puts nothing into vaults or pools"
                .into(),
        )),
        Holdings::HoldingsEnforcer_Nested(_) | Holdings::HoldingsEnforcer_NotBegun(_) => {
            Some((Code::Mode, "the Golem is in the middle of another execution".into()))
        }
        Holdings::Holdings_Bps(_) | Holdings::Holdings_TermsLength(_) => malformed(),
        _ => None,
    }
}

fn emotion(error: &Emotion) -> Words {
    match error {
        Emotion::EmotionalState_OutOfBounds(e) => Some((
            Code::Emotion,
            format!(
                "a Golem that feels like this (pleasure {}, arousal {}, dominance {}) does not call {}",
                e.pleasure, e.arousal, e.dominance, e.selector
            ),
        )),
        Emotion::EmotionalState_Stale(e) => Some((
            Code::Emotion,
            format!(
                "the Golem last said at {} how it feels, and that counts for {} seconds",
                moment(e.updatedAt),
                e.staleness
            ),
        )),
        Emotion::HiddenCalls_Refused(e) => hidden(e.target),
        Emotion::EmotionalStateEnforcer_TermsLength(_) | Emotion::EmotionalState_Selectors(_) => {
            malformed()
        }
        _ => None,
    }
}

fn royalty(error: &Royalty) -> Words {
    match error {
        Royalty::KnowledgeRoyalty_NotCanonical(_) => {
            Some((Code::Calldata, "a sale's arguments are not in their one encoding".into()))
        }
        Royalty::HiddenCalls_Refused(e) => hidden(e.target),
        Royalty::KnowledgeRoyaltyEnforcer_TermsLength(_) => malformed(),
        _ => None,
    }
}
