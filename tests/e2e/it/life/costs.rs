//! SPEC T3, D25, C19, C9: what a Golem lives on, and what its mood keeps it from.

use super::{DAY, DCA, DOLLAR, HOUR, Home, awake, ticks};
use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use bardo_bindings::{defi::Weth9, framework::DELEGATION_MANAGER};
use bardo_testkit::dollars;
use golem_chain::{Writing, environment};
use golem_custody::{
    BoxError, DenialCode, Keyring as _, Payee, Purpose, Runway, Runways, SessionSigner as _,
};
use golem_delegation::{
    Delegation, PermissionContext, ROOT_AUTHORITY, Rule,
    grant::Phase,
    terms::{
        CharterMood, Class, Classes, Erc20PeriodTransfer, MoodBounds, Redeemer, Timestamp, ValueLte,
    },
};
use golem_runtime::{Outcome, Provisions, Strategist, Thought, Wish, World};
use std::sync::Arc;

pub(super) const MODELS: Address = Address::repeat_byte(0x71);
pub(super) const MACHINE: Address = Address::repeat_byte(0x72);

/// Ten dollars a day out of the owner's own account, as a wallet grants it: its own caveats, and no charter.
pub(super) async fn runway(home: &Home, token: Address) -> Result<Runway> {
    let now = home.now();
    let session = home.keys.current().await.context("no key")?;
    let (per_day, expires_at) = (dollars(10), now + 60 * DAY);
    let rules = [
        Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
            token_address: token,
            period_amount: per_day,
            period_duration: U256::from(DAY),
            start_date: U256::from(now),
        }),
        Rule::ValueLte(ValueLte(U256::ZERO)),
        Rule::Timestamp(Timestamp { after: 0, before: expires_at.into() }),
        Rule::Redeemer(Redeemer(vec![session])),
    ];
    let at = environment();
    let caveats = rules.iter().map(|rule| at.caveat(rule)?.context("no such enforcer"));
    let grant = Delegation {
        delegate: session,
        delegator: home.owner.address(),
        authority: ROOT_AUTHORITY,
        caveats: caveats.collect::<Result<_>>()?,
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let grant = home.owner.grant(&home.stage.domain(), grant)?;
    Ok(Runway {
        chain_id: home.stage.node().chain_id(),
        owner: home.owner.address(),
        session,
        token: Some(token),
        manager: DELEGATION_MANAGER,
        context: PermissionContext::new(vec![grant])?.encode(),
        dependencies: Vec::new(),
        per_day,
        most: per_day,
        expires_at,
    })
}

pub(super) fn payees() -> Vec<Payee> {
    vec![
        Payee { address: MODELS, purpose: Purpose::Inference },
        Payee { address: MACHINE, purpose: Purpose::Compute },
    ]
}

/// T3, D25: each day's costs go from the owner to whom he named, by the part that the phase allows; the key holds none of it.
#[tokio::test]
async fn running_costs_are_paid_by_phase_and_never_lie_with_the_key() -> Result<()> {
    let home = Home::with("- goal: to be there\n", "- every: 6h\n").await?;
    let store = home.store()?;
    let usdc = home.stage.book().usdc;
    Runways::new(store.as_ref()).keep(&runway(&home, usdc).await?, home.now()).await?;
    drop(store);
    let mut golem = awake(Provisions { payees: payees(), ..home.provisions()? }).await?;
    let paid = async || -> Result<(u64, u64)> {
        let of = async |who| anyhow::Ok(u64::try_from(home.stage.balance_of(usdc, who).await?)?);
        Ok((of(MODELS).await?, of(MACHINE).await?))
    };

    let _ = ticks(&mut golem).await?;
    assert_eq!(paid().await?, (0, 0), "a day is paid when it is over");
    home.later(DAY).await?;
    let _ = ticks(&mut golem).await?;
    assert_eq!(paid().await?, (DOLLAR, DOLLAR / 2));
    home.later(HOUR).await?;
    let _ = ticks(&mut golem).await?;
    assert_eq!(paid().await?, (DOLLAR, DOLLAR / 2), "once a day");
    // A declining Golem thinks, and pays for nothing else.
    home.writes(&Writing::Advance { golem: home.id, phase: Phase::Declining }).await?;
    home.later(DAY).await?;
    let _ = ticks(&mut golem).await?;
    assert_eq!(paid().await?, (2 * DOLLAR, DOLLAR / 2));

    ensure!(home.stage.balance_of(usdc, golem.grant().delegate).await?.is_zero());
    drop(golem);
    assert_eq!(home.once("runwayRedeemed")?, 3);
    Ok(())
}

/// T3: costs are dollars. A token that is none would be paid by the wrong measure, and is not paid at all.
#[tokio::test]
async fn running_costs_are_not_paid_in_what_is_no_dollar() -> Result<()> {
    let home = Home::with("- goal: to be there\n", "- every: 6h\n").await?;
    let (store, weth) = (home.store()?, home.stage.book().weth);
    Runways::new(store.as_ref()).keep(&runway(&home, weth).await?, home.now()).await?;
    drop(store);
    let (owner, coins) = (home.owner.address(), U256::from(10 * DOLLAR));
    let wrap = Weth9::depositCall {}.abi_encode().into();
    ensure!(home.stage.send_as(owner, weth, coins, wrap).await?.status());
    let mut golem = awake(Provisions { payees: payees(), ..home.provisions()? }).await?;

    let _ = ticks(&mut golem).await?;
    home.later(DAY).await?;
    let _ = ticks(&mut golem).await?;

    for payee in payees() {
        ensure!(home.stage.balance_of(weth, payee.address).await?.is_zero());
    }
    drop(golem);
    assert_eq!((home.once("runwayRedeemed")?, home.told("event.intentRefused")?), (0, 1));
    Ok(())
}

/// T3: a grant for a key that is gone pays nothing, and neither does one that is over; each day says so once, however often it looks.
#[tokio::test]
async fn a_runway_that_pays_nothing_is_told_of_once_a_day() -> Result<()> {
    let home = Home::with("- goal: to be there\n", "- every: 6h\n").await?;
    let (store, usdc) = (home.store()?, home.stage.book().usdc);
    let granted = runway(&home, usdc).await?;
    let others = Runway { session: MODELS, ..granted.clone() };
    Runways::new(store.as_ref()).keep(&others, home.now()).await?;
    drop(store);
    let mut golem = awake(Provisions { payees: payees(), ..home.provisions()? }).await?;

    for pause in [0, DAY, HOUR, DAY, HOUR] {
        home.later(pause + 1).await?;
        let _ = ticks(&mut golem).await?;
    }

    drop(golem);
    assert_eq!((home.once("runwayRedeemed")?, home.once("intentRefused")?), (0, 2));
    let store = home.store()?;
    let over = Runway { context: [granted.context.as_ref(), &[0]].concat().into(), ..granted };
    let over = Runway { expires_at: home.now(), ..over };
    Runways::new(store.as_ref()).keep(&over, home.now()).await?;
    drop(store);
    home.later(DAY).await?;
    let mut golem = awake(Provisions { payees: payees(), ..home.provisions()? }).await?;
    let _ = ticks(&mut golem).await?;
    drop(golem);
    assert_eq!((home.once("runwayRedeemed")?, home.once("intentRefused")?), (0, 3));
    Ok(())
}

/// C19: gas money comes from the owner's account when the purse is half empty, and no more than he signed.
#[tokio::test]
async fn a_purse_that_is_half_empty_is_filled_within_what_was_signed() -> Result<()> {
    let home = Home::with("- goal: to be there\n", "- every: 6h\n").await?;
    let ether = U256::from(1_000_000_000_000_000_000u64);
    home.stage.fund(home.vault.address, ether, U256::ZERO).await?;
    let key = home.keys.signer().await.context("no key")?.address();
    let fifth = U256::from(10_000_000_000_000_000u64);
    home.stage.fund(key, fifth, U256::ZERO).await?;
    let mut golem = home.wakes().await?;

    let _ = ticks(&mut golem).await?;

    // A hundredth of an ether a day, less what it took to ask for it.
    let purse = home.stage.node().balance(key).await?;
    ensure!(purse > fifth + fifth / U256::from(2), "{purse}");
    ensure!(purse <= fifth + fifth, "{purse}");
    Ok(())
}

/// Wants too much again and again, and then what it may.
struct Excited;

#[async_trait]
impl Strategist for Excited {
    fn name(&self) -> &str {
        "excited"
    }

    async fn think(&self, world: &World) -> Result<Thought, BoxError> {
        let tokens: Vec<Address> = world.held.keys().copied().collect();
        let [one, other] = tokens.as_slice() else { return Ok(Thought::Wishes(Vec::new())) };
        let has = |token: &Address| world.held.get(token).is_some_and(|held| held.worth > 0);
        let (sell, buy) = if has(one) { (*one, *other) } else { (*other, *one) };
        let micro_dollars = if world.mood.arousal < 40 { 501 * DOLLAR } else { 10 * DOLLAR };
        let wish = Wish::Swap { sell, buy, micro_dollars };
        Ok(Thought::Wishes(vec![wish; 3]))
    }
}

/// C9, L3: refusals excite it, it says so, and its charter keeps it from trading in that mood until it is calm.
#[tokio::test]
async fn what_excites_it_keeps_it_from_trading_until_it_is_calm() -> Result<()> {
    let home = Home::under(DCA, "- every: 1h\n", |law| {
        let bounds = MoodBounds { min_pleasure: -100, max_arousal: 50, min_dominance: -100 };
        law.mood = Some(CharterMood { bounds, classes: Classes::of(&[Class::Swap]) });
    })
    .await?;
    let mut golem = home.wakes_with(Arc::new(Excited)).await?;
    // Thirty with each tick, less a tenth.
    for _ in 0..2 {
        let _ = ticks(&mut golem).await?;
        home.later(HOUR).await?;
    }
    let ticked = ticks(&mut golem).await?;

    let told = home.entry().await?.state.mood.arousal;
    ensure!(told > 50, "the registry says {told}");
    for (wish, outcome) in &ticked.deeds {
        let Outcome::Refused(denials) = outcome else { anyhow::bail!("{wish:?}: {outcome:?}") };
        assert_eq!(denials[0].code, DenialCode::Emotion, "{denials:?}");
    }
    ensure!(!ticked.deeds.is_empty());
    drop(golem);
    // Calm again, the same is bought.
    let mut golem = home.wakes().await?;
    for _ in 0..8 {
        home.later(HOUR).await?;
        let ticked = ticks(&mut golem).await?;
        if ticked.deeds.iter().any(|(_, outcome)| *outcome == Outcome::Done) {
            return Ok(());
        }
    }
    anyhow::bail!("it never traded again")
}
