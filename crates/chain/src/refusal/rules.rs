//! What our own rules say when they refuse, whichever of our enforcers asked them.

use super::{moment, names};
use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::{SolError, SolInterface, SolValue},
};
use bardo_bindings::{
    DailySpendLimitEnforcer::DailySpendLimitEnforcer_TermsLength,
    DreamModeEnforcer::DreamModeEnforcer_TermsLength,
    GolemCharterEnforcer::GolemCharterEnforcerErrors as Rule,
    GolemPhaseEnforcer::GolemPhaseEnforcer_TermsLength,
    MaxSlippageEnforcer::MaxSlippageEnforcer_TermsLength,
    MortalityTimeWindowEnforcer::MortalityTimeWindow_TermsLength,
    VaultNAVEnforcer::VaultNAVEnforcer_TermsLength, cadence_enforcer, daily_spend_limit_enforcer,
    dream_mode_enforcer, emotional_state_enforcer, golem_charter_enforcer, golem_phase_enforcer,
    holdings_enforcer, knowledge_royalty_enforcer, max_slippage_enforcer,
    mortality_time_window_enforcer, replicant_budget_enforcer, threshold_enforcer,
    vault_nav_enforcer,
};
use golem_custody::{Denial, DenialCode};
use golem_delegation::{Caveat, terms::Class};

/// A refusal of one of our rules, if a caveat was asked that could have made it.
///
/// The charter knows the errors of every rule, so its interface reads those of all our enforcers.
pub(super) fn explain(data: &Bytes, asked: &[Caveat]) -> Option<Denial> {
    if let Some(denial) = terms_length(data, asked) {
        return Some(denial);
    }
    let rule = Rule::abi_decode(data).ok()?;
    let (enforcer, name) = speaker(&rule, asked)?;
    let (code, reason) = words(&rule);
    Some(Denial::new(code, reason).by(enforcer, name))
}

/// Terms too short or too long, which each enforcer says in its own name and all in one form.
fn terms_length(data: &Bytes, asked: &[Caveat]) -> Option<Denial> {
    let (selector, numbers) = data.split_first_chunk::<4>()?;
    let (enforcer, name) = [
        (
            MortalityTimeWindow_TermsLength::SELECTOR,
            mortality_time_window_enforcer(),
            "MortalityTimeWindowEnforcer",
        ),
        (DreamModeEnforcer_TermsLength::SELECTOR, dream_mode_enforcer(), "DreamModeEnforcer"),
        (GolemPhaseEnforcer_TermsLength::SELECTOR, golem_phase_enforcer(), "GolemPhaseEnforcer"),
        (MaxSlippageEnforcer_TermsLength::SELECTOR, max_slippage_enforcer(), "MaxSlippageEnforcer"),
        (
            DailySpendLimitEnforcer_TermsLength::SELECTOR,
            daily_spend_limit_enforcer(),
            "DailySpendLimitEnforcer",
        ),
        (VaultNAVEnforcer_TermsLength::SELECTOR, vault_nav_enforcer(), "VaultNAVEnforcer"),
    ]
    .into_iter()
    .find(|(known, enforcer, _)| known == selector && names(asked, *enforcer))
    .map(|(_, enforcer, name)| (enforcer, name))?;
    let (needed, actual) = <(U256, U256)>::abi_decode(numbers).ok()?;
    let reason =
        format!("a limit of the grant is malformed: {actual} bytes where {needed} are needed");
    Some(Denial::new(DenialCode::Terms, reason).by(enforcer, name))
}

/// Who said it. Where only one was asked, it did; of several it may have been the charter where there is one, else the
/// enforcer of the rule, else any that reads actions.
fn speaker(rule: &Rule, asked: &[Caveat]) -> Option<(Address, &'static str)> {
    let charter = (golem_charter_enforcer(), "GolemCharterEnforcer");
    let window = (mortality_time_window_enforcer(), "MortalityTimeWindowEnforcer");
    let dream = (dream_mode_enforcer(), "DreamModeEnforcer");
    let phase = (golem_phase_enforcer(), "GolemPhaseEnforcer");
    let slippage = (max_slippage_enforcer(), "MaxSlippageEnforcer");
    let spend = (daily_spend_limit_enforcer(), "DailySpendLimitEnforcer");
    let nav = (vault_nav_enforcer(), "VaultNAVEnforcer");
    let budget = (replicant_budget_enforcer(), "ReplicantBudgetEnforcer");
    let holdings = (holdings_enforcer(), "HoldingsEnforcer");
    let emotion = (emotional_state_enforcer(), "EmotionalStateEnforcer");
    let royalty = (knowledge_royalty_enforcer(), "KnowledgeRoyaltyEnforcer");
    let cadence = (cadence_enforcer(), "CadenceEnforcer");
    let threshold = (threshold_enforcer(), "ThresholdEnforcer");
    let alone: &[_] = match rule {
        Rule::MortalityTimeWindow_Expired(_)
        | Rule::MortalityTimeWindow_NotYetBorn(_)
        | Rule::MortalityTimeWindow_InvertedWindow(_) => &[window],
        Rule::GolemLife_Dreaming(_) => &[dream],
        Rule::GolemLife_NotAlive(_) => &[phase, dream, holdings, emotion],
        Rule::GolemPhase_NotAllowed(_) => &[phase],
        Rule::MaxSlippage_Bps(_)
        | Rule::MaxSlippage_PoolMoved(_)
        | Rule::MaxSlippage_TooMuch(_)
        | Rule::VaultShares_TooFew(_) => &[slippage],
        Rule::SpendWindow_BucketLength(_)
        | Rule::SpendWindow_OverCap(_)
        | Rule::SpendWindow_StaleEpoch(_)
        | Rule::SpendWindow_TimeOutOfRange(_)
        | Rule::SpendWindow_TimeWentBack(_)
        | Rule::SpendWindow_ZeroCap(_) => &[spend],
        Rule::VaultNav_Bps(_) | Rule::VaultNav_TooMuch(_) => &[nav],
        Rule::EmotionalState_Bound(_) => &[emotion],
        Rule::KnowledgeRoyalty_Bps(_)
        | Rule::KnowledgeRoyalty_Missing(_)
        | Rule::KnowledgeRoyalty_TooMuch(_) => &[royalty],
        Rule::ExecutionModes_NotBatchDefault(_)
        | Rule::ExecutionModes_NotDefaultExecution(_)
        | Rule::ExecutionModes_NotSingleDefault(_) => &[
            window, dream, phase, slippage, spend, nav, budget, holdings, emotion, royalty,
            cadence, threshold,
        ],
        // Those that read calls without a listing know neither tokens nor prices.
        Rule::Actions_NoSelector(_)
        | Rule::Actions_Multicall(_)
        | Rule::Actions_NotCanonical(_)
        | Rule::Actions_UnknownCall(_)
        | Rule::Executions_Batch(_)
        | Rule::Executions_Short(_) => {
            &[phase, slippage, spend, nav, budget, holdings, emotion, royalty]
        }
        _ => &[phase, slippage, spend, nav, budget, holdings],
    };
    [charter].iter().chain(alone).copied().find(|(enforcer, _)| names(asked, *enforcer))
}

/// The rule's code, and its numbers in a sentence.
fn words(rule: &Rule) -> (DenialCode, String) {
    use DenialCode as Code;
    match rule {
        Rule::MortalityTimeWindow_NotYetBorn(e) => (
            Code::WindowEarly,
            format!("the Golem's life begins at {}, it is {}", moment(e.start), moment(e.nowAt)),
        ),
        Rule::MortalityTimeWindow_Expired(e) => (
            Code::WindowExpired,
            format!("the Golem's life ended at {}, it is {}", moment(e.end), moment(e.nowAt)),
        ),
        Rule::MortalityTimeWindow_InvertedWindow(e) => (
            Code::Terms,
            format!("the grant's window ends at {}, before it starts at {}", e.end, e.start),
        ),
        Rule::GolemLife_NotAlive(_) => {
            (Code::NotAlive, "the Golem is not registered, or its life is closed".into())
        }
        Rule::GolemLife_Dreaming(_) => (Code::Dreaming, "the Golem dreams, and acts not".into()),
        Rule::GolemLife_EpochRevoked(e) => (
            Code::Revoked,
            format!(
                "the owner revoked this Golem's grants: this one has epoch {}, and {} is the first \
                 that counts",
                e.epoch, e.minEpoch
            ),
        ),
        Rule::GolemLife_OtherGeneration(e) => (
            Code::Revoked,
            format!(
                "the owner revoked all of his grants: this one is of generation {}, and {} counts",
                e.generation, e.current
            ),
        ),
        Rule::SpendWindow_StaleEpoch(e) => (
            Code::Superseded,
            format!(
                "a newer grant of this Golem was used: this one has epoch {}, the newer one {}",
                e.epoch, e.highest
            ),
        ),
        Rule::GolemPhase_NotAllowed(e) => {
            (Code::Phase, format!("a Golem in {} does not {}", phase(e.phase), class(e.class)))
        }
        Rule::GolemCharter_Class(e) => {
            (Code::Class, format!("the owner does not let this Golem {}", class(e.class)))
        }
        Rule::GolemCharter_Redeemer(e) => (
            Code::Redeemer,
            format!("only the agent's key {} redeems, not {}", e.agentKey, e.redeemer),
        ),
        Rule::GolemCharter_ForbiddenTarget(e) => (
            Code::Target,
            format!("nobody speaks as the owner's account to {}, which rules over it", e.target),
        ),
        Rule::Actions_UnknownTarget(e) => {
            (Code::Target, format!("the owner did not list the contract {}", e.target))
        }
        Rule::Actions_UnknownCall(e) => {
            (Code::Method, format!("{} of {} is no call that the rules know", e.selector, e.target))
        }
        Rule::Actions_NoSelector(e) => (
            Code::Method,
            format!("a call of {} bytes to {} names no function", e.length, e.target),
        ),
        Rule::Actions_Multicall(e) => {
            (Code::Method, format!("a multicall of {} calls is not judged", e.length))
        }
        Rule::Actions_NotCanonical(e) => (
            Code::Calldata,
            format!("arguments of {} to {} are not in their one encoding", e.selector, e.target),
        ),
        Rule::Actions_Sentinel(e) => (
            Code::Calldata,
            format!("{} is a router's word for something the owner cannot see", e.value),
        ),
        Rule::Actions_PriceLimit(_) => (
            Code::Calldata,
            "with a price limit an exact output may come short of what it names".into(),
        ),
        Rule::Actions_Path(e) => {
            (Code::Calldata, format!("a swap's path of {} bytes leads nowhere", e.length))
        }
        Rule::Actions_UnexpectedValue(e) => {
            (Code::Value, format!("the call carries {} wei that it does not need", e.value))
        }
        Rule::Actions_NotAPayment(_) => {
            (Code::Calldata, "gas money is a payment without a message".into())
        }
        Rule::Actions_HiddenApproval(e) => (
            Code::Spender,
            format!("{} gives away a right to pull {} that does not show", e.selector, e.token),
        ),
        Rule::GolemCharter_Spender(e) => (
            Code::Spender,
            format!(
                "{} is nobody whom the owner trusts with an allowance of {}",
                e.spender, e.token
            ),
        ),
        Rule::GolemCharter_Recipient(e) => (
            Code::Recipient,
            format!("value would go to {}, and may go to {} only", e.recipient, e.expected),
        ),
        Rule::GolemCharter_Source(e) => (
            Code::Recipient,
            format!("what belongs to {} is not the account's, {}", e.source, e.account),
        ),
        Rule::GolemCharter_SettlementAsset(e) => (
            Code::Recipient,
            format!(
                "a dying Golem buys {} only: not {} for {}",
                e.settlementAsset, e.tokenIn, e.tokenOut
            ),
        ),
        Rule::GolemCharter_OtherGolem(e) => {
            (Code::Target, format!("the call speaks of another Golem, {}", e.golemId))
        }
        Rule::Positions_NotOwned(e) => (
            Code::Position,
            format!("position {} belongs to {}, not to the account", e.positionId, e.owner),
        ),
        Rule::Positions_NoPool(e) => (
            Code::Position,
            format!("there is no pool of {} and {} at {}", e.token0, e.token1, e.fee),
        ),
        Rule::MaxSlippage_TooMuch(e) => (
            Code::Slippage,
            format!(
                "{} leave and {} may come back: more than {} basis points are lost",
                dollars(e.out),
                dollars(e.back),
                e.bps
            ),
        ),
        Rule::MaxSlippage_PoolMoved(e) => (
            Code::Slippage,
            format!("the pool's price is more than {} basis points off the feeds'", e.bps),
        ),
        Rule::VaultShares_TooFew(e) => (
            Code::Slippage,
            format!(
                "{} of the vault's asset for {}: more than {} basis points are rounded away",
                e.out, e.back, e.bps
            ),
        ),
        Rule::Listing_UnknownToken(e) => {
            (Code::Price, format!("the owner named no price feed for the token {}", e.token))
        }
        Rule::Valuation_Answer(e) => {
            (Code::Price, format!("the feed {} answers {}, which is no price", e.feed, e.answer))
        }
        Rule::Valuation_Stale(e) => (
            Code::Price,
            format!(
                "the feed {} answered last at {}, and answers count for {} seconds",
                e.feed,
                moment(e.updatedAt),
                e.maxAge
            ),
        ),
        Rule::Valuation_Incomplete(e) => {
            (Code::Price, format!("the feed {} has not finished its round", e.feed))
        }
        Rule::Valuation_Decimals(e) => (
            Code::Price,
            format!("the feed {} counts in {} decimals, not in {}", e.feed, e.actual, e.signed),
        ),
        Rule::Valuation_Sequencer(e) => (
            Code::Price,
            format!("the rollup's sequencer is down, or came back only at {}", moment(e.since)),
        ),
        Rule::Valuation_Amount(e) => {
            (Code::Price, format!("{} is more than there is of any token", e.amount))
        }
        Rule::VaultNav_TooMuch(e) => (
            Code::Nav,
            format!("{} at once, and {} is the most", dollars(e.value), dollars(e.most)),
        ),
        Rule::SpendWindow_OverCap(e) => (
            Code::Spend,
            format!(
                "{} more would be over the cap: {} of {} are spent in this period",
                dollars(e.amount),
                dollars(e.spent),
                dollars(e.cap)
            ),
        ),
        Rule::GolemCharter_GasCeiling(e) => (
            Code::GasMoney,
            format!(
                "the agent's key would hold {} wei of gas money, and may hold {}",
                e.balance, e.ceiling
            ),
        ),
        Rule::GolemCharter_GasDailyCap(e) => (
            Code::GasMoney,
            format!(
                "{} gwei of gas money, and {} of the day's {} are left",
                e.amount, e.room, e.cap
            ),
        ),
        Rule::EmotionalState_ClassOutOfBounds(e) => (
            Code::Emotion,
            format!(
                "a Golem that feels like this (pleasure {}, arousal {}, dominance {}) does not {}",
                e.pleasure,
                e.arousal,
                e.dominance,
                class(e.class)
            ),
        ),
        Rule::EmotionalState_ClassStale(e) => (
            Code::Emotion,
            format!(
                "the Golem last said at {} how it feels, and that counts for {} seconds",
                moment(e.updatedAt),
                e.staleness
            ),
        ),
        Rule::KnowledgeRoyalty_Missing(e) => (
            Code::Royalty,
            format!("the sale is not followed by {} of {} for {}", e.amount, e.token, e.author),
        ),
        Rule::KnowledgeRoyalty_TooMuch(e) => (
            Code::Royalty,
            format!(
                "authors would get {} of a price of {}, and {} basis points are the most",
                e.royalties, e.price, e.maxBps
            ),
        ),
        Rule::Executions_Order(e) => (
            Code::Mode,
            format!(
                "in one execution a Golem does not {} behind a call that could move its price",
                class(e.class)
            ),
        ),
        Rule::Executions_Batch(_) | Rule::Executions_Short(_) => {
            (Code::Mode, "the execution is empty or not in its one encoding".into())
        }
        Rule::ExecutionModes_NotBatchDefault(_)
        | Rule::ExecutionModes_NotDefaultExecution(_)
        | Rule::ExecutionModes_NotSingleDefault(_) => (
            Code::Mode,
            "our rules judge plain calls and batches only, whose failure undoes the redemption"
                .into(),
        ),
        _ => (Code::Terms, "a limit of the grant is malformed, so it refuses for ever".into()),
    }
}

pub(super) const fn phase(number: u8) -> &'static str {
    match number {
        0 => "Thriving",
        1 => "Stable",
        2 => "Conservation",
        3 => "Declining",
        4 => "Terminal",
        _ => "no known phase",
    }
}

fn class(number: u8) -> &'static str {
    let Some(class) = Class::ALL.into_iter().find(|class| *class as u8 == number) else {
        return "do anything unknown";
    };
    match class {
        Class::Swap => "swap",
        Class::AddLiquidity => "add liquidity",
        Class::RemoveLiquidity => "remove liquidity",
        Class::Collect => "collect from positions",
        Class::BurnPosition => "burn positions",
        Class::Deposit => "deposit into vaults",
        Class::Withdraw => "withdraw from vaults",
        Class::Approve => "give allowances",
        Class::Disapprove => "take allowances back",
        Class::Transfer => "send tokens home",
        Class::Wrap => "wrap ether",
        Class::Unwrap => "unwrap ether",
        Class::GasTopUp => "fetch gas money",
        Class::SpawnReplicant => "make children",
        Class::Settle => "settle",
        Class::Publish => "publish about itself",
        Class::Sell => "sell knowledge",
        _ => "do that",
    }
}

/// Micro-dollars in dollars and cents, rounded down; what is smaller is shown whole.
pub(super) fn dollars(micro: U256) -> String {
    let unit = U256::from(1_000_000u64);
    let (whole, rest) = micro.div_rem(unit);
    let cents = rest / U256::from(10_000u64);
    if rest % U256::from(10_000u64) == U256::ZERO {
        format!("${whole}.{cents:02}")
    } else {
        format!("${whole}.{rest:06}")
    }
}
