//! Decoders held against the contracts that are deployed: what one refuses, the other refuses.
//!
//! Terms that are good are bent in many small ways, and `getTermsInfo` is asked about each.

use alloy::{
    network::TransactionBuilder as _,
    primitives::{Address, Selector},
    providers::Provider as _,
    rpc::types::TransactionRequest,
    sol,
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    cadence_enforcer, daily_spend_limit_enforcer, dream_mode_enforcer, emotional_state_enforcer,
    golem_charter_enforcer, golem_phase_enforcer, holdings_enforcer, knowledge_royalty_enforcer,
    max_slippage_enforcer, mortality_time_window_enforcer, replicant_budget_enforcer,
    threshold_enforcer, vault_nav_enforcer,
};
use bardo_testkit::{Stage, charter};
use golem_chain::AccountKind;
use golem_delegation::{
    TermsError,
    terms::{
        Cadence, CharterMood, Class, Classes, DailySpendLimit, DreamMode, EmotionalState,
        GolemCharter, GolemPhase, Holdings, KnowledgeRoyalty, MaxSlippage, MoodBounds,
        MortalityTimeWindow, ReplicantBudget, Threshold, VaultNav,
    },
};
use std::num::{NonZeroU8, NonZeroU32};

sol! {
    /// Of every enforcer of ours.
    function getTermsInfo(bytes terms);
}

/// A contract, good terms of it, and what Rust says to any bytes.
type Case = (&'static str, Address, Vec<u8>, fn(&[u8]) -> Result<(), TermsError>);

macro_rules! decoder {
    ($terms:ty) => {
        |bytes| <$terms>::decode(bytes).map(drop)
    };
}

fn cases(law: &GolemCharter) -> Result<Vec<Case>> {
    let (golem_id, registry, listing) = (law.golem_id, law.registry, law.listing.clone());
    let bounds = MoodBounds { min_pleasure: -50, max_arousal: 60, min_dominance: -60 };
    let whole = GolemCharter {
        max_royalty_bps: Some(2_000),
        mood: Some(CharterMood { bounds, classes: Classes::of(&[Class::Swap, Class::Sell]) }),
        ..law.clone()
    };
    let holdings = Holdings {
        golem_id,
        account: law.account,
        staleness: law.staleness,
        epoch: 1,
        thriving_bps: 3_000,
        stable_bps: 2_000,
        drawdown_bps: 1_500,
        registry,
        cash: law.settlement_asset,
        loss_bps: 100,
        listing: listing.clone(),
    };
    let week = NonZeroU32::new(604_800).context("a week")?;
    let council = [3, 1, 2].map(Address::repeat_byte).to_vec();
    Ok(vec![
        (
            "cadence",
            cadence_enforcer(),
            Cadence { golem_id, period: week, count: NonZeroU8::MIN }.encode(),
            decoder!(Cadence),
        ),
        (
            "daily spend",
            daily_spend_limit_enforcer(),
            DailySpendLimit {
                golem_id,
                epoch: 1,
                cap: 5,
                bucket_minutes: 120,
                listing: listing.clone(),
            }
            .encode()?,
            decoder!(DailySpendLimit),
        ),
        (
            "dream",
            dream_mode_enforcer(),
            DreamMode { golem_id, registry }.encode(),
            decoder!(DreamMode),
        ),
        (
            "emotion",
            emotional_state_enforcer(),
            EmotionalState {
                golem_id,
                registry,
                staleness: 9,
                bounds,
                selectors: vec![Selector::repeat_byte(4); 3],
            }
            .encode()?,
            decoder!(EmotionalState),
        ),
        ("charter", golem_charter_enforcer(), law.encode()?, decoder!(GolemCharter)),
        ("charter, sections", golem_charter_enforcer(), whole.encode()?, decoder!(GolemCharter)),
        (
            "phase",
            golem_phase_enforcer(),
            GolemPhase { golem_id, registry, staleness: 9, listing: listing.clone() }.encode()?,
            decoder!(GolemPhase),
        ),
        ("holdings", holdings_enforcer(), holdings.encode()?, decoder!(Holdings)),
        (
            "royalty",
            knowledge_royalty_enforcer(),
            KnowledgeRoyalty { market: registry, max_royalty_bps: 2_000 }.encode()?,
            decoder!(KnowledgeRoyalty),
        ),
        (
            "slippage",
            max_slippage_enforcer(),
            MaxSlippage { bps: 100, listing: listing.clone() }.encode()?,
            decoder!(MaxSlippage),
        ),
        (
            "window",
            mortality_time_window_enforcer(),
            MortalityTimeWindow::new(7, 9)?.encode(),
            decoder!(MortalityTimeWindow),
        ),
        (
            "budget",
            replicant_budget_enforcer(),
            ReplicantBudget {
                replicant_id: golem_id,
                budget: 5,
                not_after: 9,
                listing: listing.clone(),
            }
            .encode()?,
            decoder!(ReplicantBudget),
        ),
        (
            "council",
            threshold_enforcer(),
            Threshold::new(2, council)?.encode(),
            decoder!(Threshold),
        ),
        (
            "vault NAV",
            vault_nav_enforcer(),
            VaultNav { golem_id, vault: law.vault, bps: 9, cap: 9, listing }.encode()?,
            decoder!(VaultNav),
        ),
    ])
}

/// Every byte turned in turn, every length, and both ends longer.
fn bent(good: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![good.to_vec()];
    for at in 0..good.len() {
        for turn in [0x01, 0x80, 0xff] {
            let mut one = good.to_vec();
            if let Some(byte) = one.get_mut(at) {
                *byte ^= turn;
            }
            all.push(one);
        }
        all.push(good.get(..at).unwrap_or_default().to_vec());
    }
    for extra in [1, 4, 20, 32, 47] {
        all.push([good, &vec![0; extra]].concat());
        all.push([good, &vec![0xff; extra]].concat());
    }
    all
}

#[tokio::test]
async fn terms_are_good_in_rust_where_they_are_on_chain() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.fixed_owner(AccountKind::Stateless7702).await?;
    let law = charter(&stage, &owner, Address::repeat_byte(0x5e), |_| ()).await?;
    let provider = stage.node().provider();
    let (mut accepted, mut refused, mut stricter) = (0, 0, 0);
    for (name, enforcer, good, decode) in cases(&law)? {
        for (index, terms) in bent(&good).into_iter().enumerate() {
            let data = getTermsInfoCall { terms: terms.clone().into() }.abi_encode();
            let ask = TransactionRequest::default().with_to(enforcer).with_input(data);
            let chain = provider.call(ask).await.is_ok();
            let ours = decode(&terms);
            match (chain, &ours) {
                (true, Ok(())) => accepted += 1,
                (false, Err(_)) => refused += 1,
                // The one strictness: a role nobody knows is refused at once, not when it is called.
                (true, Err(TermsError::UnknownRole { .. })) => stricter += 1,
                _ => anyhow::bail!(
                    "{name}, {index}: chain {chain}, Rust {ours:?}: {}",
                    alloy::hex::encode(&terms)
                ),
            }
        }
    }

    ensure!(accepted > 4_000 && refused > 3_000, "{accepted} and {refused}: too few to tell");
    ensure!(stricter < refused / 10, "Rust alone refused {stricter}");
    Ok(())
}
