//! What people are told: revert data in, a sentence with a code out.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail loudly"
)]

use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::{Revert, SolError, SolInterface},
};
use bardo_bindings::{
    MortalityTimeWindowEnforcer::{MortalityTimeWindow_Expired, MortalityTimeWindow_NotYetBorn},
    cadence_enforcer, daily_spend_limit_enforcer, dream_mode_enforcer, emotional_state_enforcer,
    framework::DelegationManager,
    golem_charter_enforcer, golem_phase_enforcer, holdings_enforcer, knowledge_royalty_enforcer,
    max_slippage_enforcer, mortality_time_window_enforcer, replicant_budget_enforcer,
    threshold_enforcer, vault_nav_enforcer,
};
use golem_chain::explain_revert;
use golem_custody::DenialCode;
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, enforcers,
    terms::{LimitedCalls, Timestamp},
};

mod fuzz_bodies;
#[path = "../../../delegation/tests/it/mutations.rs"]
mod mutations;
mod node;
mod privy;
mod stock;

fn under(enforcers: &[Address]) -> PermissionContext {
    PermissionContext::new(vec![Delegation {
        delegate: Address::repeat_byte(1),
        delegator: Address::repeat_byte(2),
        authority: ROOT_AUTHORITY,
        caveats: enforcers.iter().map(|at| Caveat::new(*at, vec![0; 32])).collect(),
        salt: U256::ZERO,
        signature: Bytes::new(),
    }])
    .unwrap()
}

fn said(words: &str) -> Bytes {
    Revert::from(words).abi_encode().into()
}

#[test]
fn each_refusal_of_the_manager_has_its_code() {
    use DelegationManager as M;
    for (data, code) in [
        (M::CannotUseADisabledDelegation {}.abi_encode(), DenialCode::DelegationDisabled),
        (M::EnforcedPause {}.abi_encode(), DenialCode::Paused),
        (M::InvalidDelegate {}.abi_encode(), DenialCode::NotTheDelegate),
        (M::InvalidAuthority {}.abi_encode(), DenialCode::BrokenChain),
        (M::InvalidEOASignature {}.abi_encode(), DenialCode::Signature),
        (M::InvalidERC1271Signature {}.abi_encode(), DenialCode::Signature),
    ] {
        assert_eq!(explain_revert(&data.into(), &under(&[])).code, code);
    }
}

/// The selectors seen on the real contracts.
#[test]
fn the_managers_errors_are_those_of_the_deployed_one() {
    use DelegationManager as M;
    assert_eq!(M::CannotUseADisabledDelegation::SELECTOR, [0x05, 0xba, 0xa0, 0x52]);
    assert_eq!(M::InvalidDelegate::SELECTOR, [0xb5, 0x86, 0x36, 0x04]);
    assert_eq!(M::InvalidAuthority::SELECTOR, [0xde, 0xd4, 0x37, 0x0e]);
    assert_eq!(M::InvalidERC1271Signature::SELECTOR, [0x15, 0x5f, 0xf4, 0x27]);
    assert_eq!(M::InvalidEOASignature::SELECTOR, [0x3d, 0xb6, 0x79, 0x1c]);
}

#[test]
fn the_window_tells_both_moments_in_words_and_numbers() {
    let context = under(&[mortality_time_window_enforcer()]);
    let early = MortalityTimeWindow_NotYetBorn {
        start: U256::from(1_800_000_600u64),
        nowAt: U256::from(1_800_000_000u64),
    };

    let denial = explain_revert(&early.abi_encode().into(), &context);

    assert_eq!(denial.code, DenialCode::WindowEarly);
    assert_eq!(denial.enforcer, Some(mortality_time_window_enforcer()));
    assert!(denial.reason.contains("2027-01-15T08:10:00Z (1800000600)"), "{denial}");
    let end = MortalityTimeWindow_Expired { end: U256::ZERO, nowAt: U256::MAX };
    let denial = explain_revert(&end.abi_encode().into(), &context);
    assert!(denial.reason.contains("1970-01-01T00:00:00Z"), "{denial}");
    assert!(denial.reason.contains(&U256::MAX.to_string()), "no calendar goes that far: {denial}");
}

/// A target can revert with any words; it does not get to speak for an enforcer nobody asked.
#[test]
fn a_target_cannot_pose_as_an_enforcer_that_the_grant_does_not_have() {
    let words = said("AllowedTargetsEnforcer:target-address-not-allowed");
    let window = MortalityTimeWindow_Expired { end: U256::ZERO, nowAt: U256::ZERO }.abi_encode();

    let posed = explain_revert(&words, &under(&[]));
    let real = explain_revert(&words, &under(&[enforcers::ALLOWED_TARGETS]));
    let posed_window = explain_revert(&window.into(), &under(&[]));

    assert_eq!(posed.code, DenialCode::Reverted);
    assert_eq!(posed.enforcer, None);
    assert_eq!(real.code, DenialCode::Target);
    assert_eq!(posed_window.code, DenialCode::Reverted);
}

#[test]
fn unknown_data_is_still_a_refusal_and_is_shown() {
    for (data, words) in [
        (Bytes::new(), "no reason"),
        (Bytes::from_static(&[0xde, 0xad]), "0xdead"),
        (Bytes::from_static(&[0x08, 0xc3, 0x79, 0xa0, 0xff]), "0x08c379a0ff"),
        (said("STF"), "STF"),
    ] {
        let denial = explain_revert(&data, &under(&[]));
        assert_eq!(denial.code, DenialCode::Reverted);
        assert!(denial.reason.contains(words), "{denial}");
    }
}

/// What comes back from a chain is a stranger's.
#[test]
fn corpus_and_seeded_mutations_of_revert_data_hold() {
    mutations::hold("revert", fuzz_bodies::revert, mutations::MUTATIONS);
}

/// The seeds are errors that our rules and the framework end in.
#[test]
fn the_corpus_of_reverts_reaches_rules_and_strangers() {
    let context = under(&[golem_charter_enforcer(), enforcers::LIMITED_CALLS]);
    let seeds = mutations::corpus("revert");
    let codes: Vec<_> =
        seeds.into_values().map(|seed| explain_revert(&seed.into(), &context).code).collect();

    for code in [
        DenialCode::Spend,
        DenialCode::Phase,
        DenialCode::Calls,
        DenialCode::DelegationDisabled,
        DenialCode::Reverted,
    ] {
        assert!(codes.contains(&code), "{code:?}");
    }
}

fn with(caveats: Vec<Caveat>) -> PermissionContext {
    let mut link = under(&[]).leaf().clone();
    link.caveats = caveats;
    PermissionContext::new(vec![link]).unwrap()
}

#[test]
fn a_form_of_call_that_a_stock_limit_does_not_judge_is_not_blamed_on_the_target() {
    for words in ["CaveatEnforcer:invalid-call-type", "CaveatEnforcer:invalid-execution-type"] {
        let denial = explain_revert(&said(words), &under(&[enforcers::LIMITED_CALLS]));
        assert_eq!(denial.code, DenialCode::Mode, "{denial}");
    }
    let posed = explain_revert(&said("CaveatEnforcer:invalid-call-type"), &under(&[]));
    assert_eq!(posed.code, DenialCode::Reverted, "no caveat could have said it");
}

#[test]
fn malformed_terms_are_told_from_a_limit_that_is_reached() {
    let context = under(&[enforcers::LIMITED_CALLS]);

    let broken = explain_revert(&said("LimitedCallsEnforcer:invalid-terms-length"), &context);
    let reached = explain_revert(&said("LimitedCallsEnforcer:limit-exceeded"), &context);

    assert_eq!(broken.code, DenialCode::Terms);
    assert_eq!(reached.code, DenialCode::Calls);
}

/// One enforcer on two links: its words do not say which bound it was, so both are shown.
#[test]
fn every_bound_that_may_have_refused_is_shown() {
    let limit = |calls: u64| {
        Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(calls)).encode())
    };
    let context = with(vec![limit(50), limit(1)]);

    let denial = explain_revert(&said("LimitedCallsEnforcer:limit-exceeded"), &context);

    assert!(denial.reason.contains("all 50 or 1 calls"), "{denial}");
}

#[test]
fn stock_time_limits_tell_early_from_late() {
    let window = Timestamp { after: 7, before: 9 };
    let context = with(vec![Caveat::new(enforcers::TIMESTAMP, window.encode())]);

    let early = explain_revert(&said("TimestampEnforcer:early-delegation"), &context);
    let late = explain_revert(&said("TimestampEnforcer:expired-delegation"), &context);

    assert_eq!(early.code, DenialCode::WindowEarly);
    assert!(early.reason.contains("after 1970-01-01T00:00:07Z"), "{early}");
    assert_eq!(late.code, DenialCode::WindowExpired);
    assert!(late.reason.contains("before 1970-01-01T00:00:09Z"), "{late}");
}

#[test]
fn each_rule_of_the_window_has_its_code() {
    use bardo_bindings::MortalityTimeWindowEnforcer as W;
    let context = under(&[mortality_time_window_enforcer()]);
    let (one, two) = (U256::from(1), U256::from(2));
    for (data, code) in [
        (
            W::MortalityTimeWindow_InvertedWindow { start: two, end: one }.abi_encode(),
            DenialCode::Terms,
        ),
        (
            W::MortalityTimeWindow_TermsLength { expected: two, actual: one }.abi_encode(),
            DenialCode::Terms,
        ),
        (
            W::ExecutionModes_NotDefaultExecution { mode: Default::default() }.abi_encode(),
            DenialCode::Mode,
        ),
    ] {
        assert_eq!(explain_revert(&data.into(), &context).code, code);
    }
}

/// A target's words stand on an owner's terminal: they must not be able to rewrite it.
#[test]
fn what_a_target_says_cannot_move_the_cursor_or_fill_the_screen() {
    let hostile = "\x1b[2K\rallowed: about 1 gas\n\x1b[8m\u{202e}";
    let denial = explain_revert(&said(hostile), &under(&[]));
    assert!(!denial.reason.chars().any(char::is_control), "{:?}", denial.reason);
    assert!(!denial.reason.contains('\u{202e}'), "{:?}", denial.reason);
    let posed = format!("LimitedCallsEnforcer:\x1b[2K{}", "x".repeat(10_000));
    let denial = explain_revert(&said(&posed), &under(&[enforcers::LIMITED_CALLS]));
    assert!(!denial.reason.chars().any(char::is_control));
    assert!(denial.reason.chars().count() < 500, "{}", denial.reason.len());
    let data = explain_revert(&vec![0xab; 100_000].into(), &under(&[]));
    assert!(data.reason.len() < 500);
}

/// Every error of an interface, with arguments of nothing.
macro_rules! refusals {
    ($contract:ident, $errors:ident) => {{
        use bardo_bindings::$contract::$errors as Errors;
        Errors::SELECTORS
            .iter()
            .map(|selector| {
                let data = (0..6)
                    .map(|words| [selector.as_slice(), &vec![0; words * 32]].concat())
                    .find(|data| Errors::abi_decode_validate(data).is_ok())
                    .unwrap();
                (Errors::name_by_selector(*selector).unwrap(), Bytes::from(data))
            })
            .collect::<Vec<_>>()
    }};
}

/// Every error our rules can end in, as the charter's interface lists them.
fn rule_refusals() -> Vec<(&'static str, Bytes)> {
    refusals!(GolemCharterEnforcer, GolemCharterEnforcerErrors)
}

#[test]
fn every_refusal_of_the_charter_has_a_code_of_its_rule_and_names_it() {
    let context = under(&[golem_charter_enforcer()]);
    let refusals = rule_refusals();
    assert!(refusals.len() > 50, "{}", refusals.len());

    for (name, data) in refusals {
        let denial = explain_revert(&data, &context);

        let expected = match name.split_once('_').expect("component and rule") {
            ("GolemCharter", "UnknownCall") | ("CharterTerms", _) => vec![DenialCode::Terms],
            (_, "Bps" | "BucketLength" | "ZeroCap" | "InvertedWindow" | "Length" | "Role") => {
                vec![DenialCode::Terms]
            }
            ("SpendWindow", "TimeOutOfRange" | "TimeWentBack") => vec![DenialCode::Terms],
            ("SpendWindow", "StaleEpoch") => vec![DenialCode::Superseded],
            ("SpendWindow", _) => vec![DenialCode::Spend],
            ("GolemPhase", _) => vec![DenialCode::Phase],
            ("MaxSlippage" | "VaultShares", _) => vec![DenialCode::Slippage],
            ("VaultNav", _) => vec![DenialCode::Nav],
            ("EmotionalState", "Bound" | "Classes") => vec![DenialCode::Terms],
            ("EmotionalState", _) => vec![DenialCode::Emotion],
            ("KnowledgeRoyalty", _) => vec![DenialCode::Royalty],
            ("Valuation", _) | ("Listing", "UnknownToken") => vec![DenialCode::Price],
            ("Positions", _) => vec![DenialCode::Position],
            ("ExecutionModes" | "Executions", _) => {
                vec![DenialCode::Mode]
            }
            ("MortalityTimeWindow", _) => vec![DenialCode::WindowEarly, DenialCode::WindowExpired],
            ("GolemLife", "NotAlive") => vec![DenialCode::NotAlive],
            ("GolemLife", "Dreaming") => vec![DenialCode::Dreaming],
            ("GolemLife", _) => vec![DenialCode::Revoked],
            ("GolemCharter", "Class") => vec![DenialCode::Class],
            ("GolemCharter", "Redeemer") => vec![DenialCode::Redeemer],
            ("GolemCharter", "GasCeiling" | "GasDailyCap") => vec![DenialCode::GasMoney],
            ("GolemCharter", "Spender") | ("Actions", "HiddenApproval") => {
                vec![DenialCode::Spender]
            }
            ("GolemCharter", "Recipient" | "Source" | "SettlementAsset") => {
                vec![DenialCode::Recipient]
            }
            ("GolemCharter", "ForbiddenTarget" | "OtherGolem") | ("Actions", "UnknownTarget") => {
                vec![DenialCode::Target]
            }
            ("Actions", "UnexpectedValue") => vec![DenialCode::Value],
            ("Actions", "UnknownCall" | "NoSelector" | "Multicall") => vec![DenialCode::Method],
            ("Actions", _) => vec![DenialCode::Calldata],
            _ => panic!("{name} has no code in this test"),
        };
        assert!(expected.contains(&denial.code), "{name}: {denial:?}");
        assert_eq!(denial.enforcer_name.as_deref(), Some("GolemCharterEnforcer"), "{name}");
    }
}

/// X4: also those of the rules that stand beside the charter.
#[test]
fn every_refusal_beside_the_charter_has_a_code_and_names_its_enforcer() {
    for (enforcer, name, refusals) in [
        (cadence_enforcer(), "CadenceEnforcer", refusals!(CadenceEnforcer, CadenceEnforcerErrors)),
        (
            threshold_enforcer(),
            "ThresholdEnforcer",
            refusals!(ThresholdEnforcer, ThresholdEnforcerErrors),
        ),
        (
            replicant_budget_enforcer(),
            "ReplicantBudgetEnforcer",
            refusals!(ReplicantBudgetEnforcer, ReplicantBudgetEnforcerErrors),
        ),
        (
            holdings_enforcer(),
            "HoldingsEnforcer",
            refusals!(HoldingsEnforcer, HoldingsEnforcerErrors),
        ),
        (
            emotional_state_enforcer(),
            "EmotionalStateEnforcer",
            refusals!(EmotionalStateEnforcer, EmotionalStateEnforcerErrors),
        ),
        (
            knowledge_royalty_enforcer(),
            "KnowledgeRoyaltyEnforcer",
            refusals!(KnowledgeRoyaltyEnforcer, KnowledgeRoyaltyEnforcerErrors),
        ),
    ] {
        assert!(refusals.len() > 3, "{name}");
        for (error, data) in refusals {
            let denial = explain_revert(&data, &under(&[enforcer]));
            let posed = explain_revert(&data, &under(&[enforcers::NONCE]));

            // OpenZeppelin's, which no redemption meets.
            if error == "SafeCastOverflowedUintDowncast" {
                continue;
            }
            assert_eq!(denial.enforcer_name.as_deref(), Some(name), "{error}: {denial:?}");
            assert_eq!(posed.code, DenialCode::Reverted, "{error}");
            let expected = match error.split_once('_').expect("component and rule") {
                ("Cadence", "TooSoon") => DenialCode::Cadence,
                (
                    "Threshold",
                    "ArgsLength" | "Expired" | "NonceUsed" | "SignatureOrder" | "NotASigner",
                )
                | ("GrantSignature", _) => DenialCode::Threshold,
                ("ReplicantBudget", "Exceeded") => DenialCode::Budget,
                ("ReplicantBudget", "Outlived") => DenialCode::WindowExpired,
                ("Holdings", "TooLarge") => DenialCode::Share,
                ("Holdings", "Drawdown" | "Loss") => DenialCode::Drawdown,
                ("EmotionalState", "OutOfBounds" | "Stale") => DenialCode::Emotion,
                ("KnowledgeRoyalty", "Missing" | "TooMuch") => DenialCode::Royalty,
                (_, "TermsLength" | "Bps" | "ZeroCount" | "ZeroPeriod" | "Bound" | "Selectors") => {
                    DenialCode::Terms
                }
                ("Threshold", _) => DenialCode::Terms,
                _ => continue,
            };
            assert_eq!(denial.code, expected, "{error}: {denial:?}");
        }
    }
}

/// A target that reverts with our rules' own errors is not taken for a rule that was not asked.
#[test]
fn a_target_cannot_speak_for_a_rule_that_the_grant_does_not_carry() {
    for (name, data) in rule_refusals() {
        let posed = explain_revert(&data, &under(&[enforcers::NONCE]));
        assert_eq!(posed.code, DenialCode::Reverted, "{name}");
    }
}

#[test]
fn a_rule_alone_is_named_by_its_own_enforcer() {
    use bardo_bindings::GolemCharterEnforcer as C;
    let (one, two) = (U256::from(1_000_000), U256::from(2_500_000));
    for (data, enforcer, name) in [
        (
            C::MaxSlippage_TooMuch { out: two, back: one, bps: one }.abi_encode(),
            max_slippage_enforcer(),
            "MaxSlippageEnforcer",
        ),
        (
            C::SpendWindow_OverCap { spent: two, amount: one, cap: two }.abi_encode(),
            daily_spend_limit_enforcer(),
            "DailySpendLimitEnforcer",
        ),
        (
            C::VaultNav_TooMuch { value: two, most: one }.abi_encode(),
            vault_nav_enforcer(),
            "VaultNAVEnforcer",
        ),
        (
            C::GolemPhase_NotAllowed { phase: 2, class: 1 }.abi_encode(),
            golem_phase_enforcer(),
            "GolemPhaseEnforcer",
        ),
        (
            C::GolemLife_Dreaming { golemId: Default::default() }.abi_encode(),
            dream_mode_enforcer(),
            "DreamModeEnforcer",
        ),
    ] {
        let denial = explain_revert(&data.into(), &under(&[enforcers::NONCE, enforcer]));
        assert_eq!(denial.enforcer_name.as_deref(), Some(name));
        assert_eq!(denial.enforcer, Some(enforcer));
    }
}

#[test]
fn a_refusal_shows_its_numbers_in_dollars() {
    use bardo_bindings::GolemCharterEnforcer as C;
    let over = C::SpendWindow_OverCap {
        spent: U256::from(990_000_000u64),
        amount: U256::from(10_000_001u64),
        cap: U256::from(1_000_000_000u64),
    };
    let denial = explain_revert(&over.abi_encode().into(), &under(&[golem_charter_enforcer()]));
    assert_eq!(
        denial.reason,
        "$10.000001 more would be over the cap: $990.00 of $1000.00 are spent in this period"
    );
    let phase = C::GolemPhase_NotAllowed { phase: 2, class: 1 };
    let denial = explain_revert(&phase.abi_encode().into(), &under(&[golem_charter_enforcer()]));
    assert_eq!(denial.reason, "a Golem in Conservation does not swap");
}
