//! What a child can do, and what nobody can make of it.

use super::{Nursling, Sells, errand, judged, on_chain, parent, told};
use crate::life::{CONSTITUTION, DAY, DOLLAR, HOUR, Home, ticks};
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall as _,
};
use anyhow::{Result, bail, ensure};
use bardo_bindings::{
    defi::Erc20, framework::DELEGATION_MANAGER, golem_charter_enforcer, golem_registry,
};
use bardo_testkit::dollars;
use golem_chain::{Writing, boot, environment};
use golem_custody::{
    ChildGrant, DenialCode, Execution, Handing, Keys, Outcome as Rehearsed, Redemption,
};
use golem_delegation::{
    Caveat, PermissionContext, Rule,
    grant::{Parent, Phase, Replicant as Terms},
    terms::GolemCharter,
};
use golem_runtime::{Outcome, Replicant, Spawning, Upbringing};
use golem_safety::{Boot, SigningFacts};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Everybody who refused, and as what.
fn codes(spawning: &Spawning) -> Vec<DenialCode> {
    match spawning {
        Spawning::Refused(denials) => denials.iter().map(|denial| denial.code).collect(),
        _ => vec![],
    }
}

/// A child sells from its owner's account what it was given to spend, and not a dollar more, and neither does a thief of its key.
#[tokio::test]
async fn a_child_trades_within_its_budget_and_not_a_dollar_more() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let mut child = Nursling::of(&home, &golem, &errand(50)).await?;
    let usdc = home.stage.book().usdc;

    child.sold(&home, 30).await?;

    assert_eq!(home.holds(usdc).await?, dollars(1_970));
    assert_eq!(child.sells(&home, 21).await?.0, [DenialCode::Budget.to_string()]);
    assert_eq!(child.stolen(&home, 21).await?, Some(DenialCode::Budget));
    child.sold(&home, 18).await?;
    assert_eq!(home.holds(usdc).await?, dollars(1_952));
    ensure!(home.stage.balance_of(usdc, child.key()).await?.is_zero(), "the key holds dollars");
    assert_eq!(on_chain(&home).await?, U256::ONE);
    // Its time is over, and its parent sees it.
    home.later(3 * DAY + 1).await?;
    assert_eq!(child.stolen(&home, 1).await?, Some(DenialCode::WindowExpired));
    ensure!(child.sells(&home, 1).await?.1, "it goes on");
    let _ = ticks(&mut golem).await?;
    let _ = ticks(&mut golem).await?;
    let children = golem.children().await?;
    let Upbringing::Ended { spent, .. } = children[0].upbringing else { bail!("{children:?}") };
    ensure!((48 * DOLLAR..=49 * DOLLAR).contains(&spent), "{spent}");
    drop(golem);
    assert_eq!((told(&home, "replicantSpawned")?, told(&home, "replicantEnded")?), (1, 1));
    Ok(())
}

/// ATK-46: whoever has a child's key has the child's bounds: no other recipient, no children, not its parent's grant, no word on the
/// register.
#[tokio::test]
async fn a_thief_of_a_childs_key_gains_nothing_beyond_the_child() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let child = Nursling::of(&home, &golem, &errand(50)).await?;
    let thief = Address::repeat_byte(0x66);

    let alone = PermissionContext::new(vec![golem.grant().clone()])?;
    assert_eq!(judged(&home, alone, child.key(), 1).await?, Some(DenialCode::NotTheDelegate));
    let data = Erc20::transferCall { to: thief, amount: dollars(1) }.abi_encode();
    let usdc = home.stage.book().usdc;
    let theft = Execution { target: usdc, value: U256::ZERO, data: data.into() };
    let theft = Redemption::single(DELEGATION_MANAGER, child.context()?, &theft);
    let Rehearsed::Refused(_) = home.stage.foresight().judge(&theft, child.key()).await? else {
        bail!("the thief is paid")
    };
    assert_eq!(judged(&home, child.context()?, thief, 1).await?, Some(DenialCode::NotTheDelegate));
    let said =
        bardo_bindings::GolemRegistry::updateVitalityCall { golemId: home.id, phase: 4, score: 0 };
    let word = home
        .stage
        .send_as(child.key(), golem_registry(), U256::ZERO, said.abi_encode().into())
        .await;
    ensure!(
        word.is_err() || word.is_ok_and(|receipt| !receipt.status()),
        "it speaks for its parent"
    );
    assert_eq!(home.entry().await?.state.phase, Phase::Thriving);
    Ok(())
}

/// ATK-08: each of two may spend all that their parent may, and together they spend that once; the parent's own policy counts it, too.
#[tokio::test]
async fn two_children_with_all_of_their_parents_budget_spend_it_once() -> Result<()> {
    let home = Home::under("- goal: none of its own\n", "- every: 1h\n", |law| {
        law.replicants = true;
        law.spend_cap = 100 * DOLLAR;
    })
    .await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let mut one = Nursling::of(&home, &golem, &errand(100)).await?;
    let mut two = Nursling::of(&home, &golem, &errand(100)).await?;

    one.sold(&home, 60).await?;
    assert_eq!(two.sells(&home, 60).await?.0, [DenialCode::Spend.to_string()]);
    two.sold(&home, 38).await?;

    for usd in [2, 100] {
        ensure!(one.stolen(&home, usd).await?.is_some(), "{usd}");
        assert_eq!(two.stolen(&home, usd).await?, Some(DenialCode::Spend), "{usd}");
        assert_eq!(home.judged(&golem, usd).await?, Some(DenialCode::Spend), "{usd}");
    }
    assert_eq!(home.holds(home.stage.book().usdc).await?, dollars(2_000 - 98));
    Ok(())
}

/// What its children spent counts for a parent's own policy: 800 dollars a day are not 848.
#[tokio::test]
async fn what_children_spend_counts_in_their_parents_policy() -> Result<()> {
    let home = parent().await?;
    let book = home.stage.book();
    let sells = Arc::new(Sells { sell: book.usdc, buy: book.weth, usd: AtomicU64::new(480) });
    let mut golem = home.wakes_with(sells.clone()).await?;
    let _ = ticks(&mut golem).await?;
    sells.usd.store(0, Ordering::Relaxed);
    let mut child = Nursling::of(&home, &golem, &errand(50)).await?;
    child.sold(&home, 40).await?;

    sells.usd.store(300, Ordering::Relaxed);
    home.later(60).await?;
    let ticked = ticks(&mut golem).await?;

    let [(_, Outcome::Refused(denials))] = &ticked.deeds[..] else { bail!("{ticked:?}") };
    assert_eq!(denials[0].code, DenialCode::PolicySpendDay, "{denials:?}");
    Ok(())
}

/// P1, G9: what its children spent counts for as long as it counts, however many others ended since, and whoever of them is still kept.
#[tokio::test]
async fn what_children_spent_counts_however_many_have_ended_since() -> Result<()> {
    let home = parent().await?;
    let book = home.stage.book();
    let sells = Arc::new(Sells { sell: book.usdc, buy: book.weth, usd: AtomicU64::new(480) });
    let mut golem = home.wakes_with(sells.clone()).await?;
    let _ = ticks(&mut golem).await?;
    sells.usd.store(0, Ordering::Relaxed);
    let mut child = Nursling::of(&home, &golem, &errand(50)).await?;
    child.sold(&home, 40).await?;
    golem.lost_child(child.key()).await?;
    for number in 1..=17_u8 {
        let asked = golem.asks_for_a_child(B256::repeat_byte(number)).await?;
        let introduced = Replicant::introduces(&Keys::hosted(), asked).await?;
        let spawning = golem.spawns(&errand(1), &introduced).await?;
        ensure!(matches!(spawning, Spawning::Spawned(_)), "{number}: {spawning:?}");
        golem.lost_child(introduced.introduction.child).await?;
    }
    ensure!(golem.children().await?.iter().all(|one| one.key != child.key()), "it is kept");

    sells.usd.store(300, Ordering::Relaxed);
    home.later(60).await?;
    let ticked = ticks(&mut golem).await?;

    let [(_, Outcome::Refused(denials))] = &ticked.deeds[..] else { bail!("{ticked:?}") };
    assert_eq!(denials[0].code, DenialCode::PolicySpendDay, "{denials:?}");
    // A day later it counts for the day no more, and it is bought.
    home.later(2 * DAY).await?;
    let later = ticks(&mut golem).await?;
    ensure!(matches!(&later.deeds[..], [(_, Outcome::Done)]), "{later:?}");
    Ok(())
}

/// ATK-07: what is wider than its parent is not made and not signed, and neither is a child of whoever cannot show its key.
#[tokio::test]
async fn a_child_that_would_be_wider_is_not_signed() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let child = Nursling::born(&home, &golem).await?;

    let mut outlives = errand(50);
    outlives.lifespan = 90 * DAY;
    assert_eq!(
        codes(&golem.spawns(&outlives, &child.introduced).await?),
        [DenialCode::PolicySignature]
    );
    assert_eq!(
        codes(&golem.spawns(&errand(0), &child.introduced).await?),
        [DenialCode::PolicySignature]
    );
    let mut another = child.introduced.clone();
    another.introduction.child = Address::repeat_byte(7);
    assert_eq!(codes(&golem.spawns(&errand(50), &another).await?), [DenialCode::PolicyParty]);
    let stranger = Keys::hosted();
    let mut asked = golem.asks_for_a_child(B256::repeat_byte(3)).await?;
    asked.golem = B256::repeat_byte(9);
    let elsewhere = Replicant::introduces(&stranger, asked).await?;
    assert_eq!(codes(&golem.spawns(&errand(50), &elsewhere).await?), [DenialCode::PolicyParty]);
    ensure!(golem.children().await?.is_empty(), "one was written down");
    assert_eq!(on_chain(&home).await?, U256::ZERO);

    // And whoever wrote the grant by hand is judged the same way.
    let above = PermissionContext::new(vec![golem.grant().clone()])?;
    let at = environment();
    let (born, lifespan) = (home.now(), DAY);
    let terms = Terms {
        key: child.key(),
        id: B256::repeat_byte(1),
        budget: DOLLAR,
        born,
        lifespan,
        targets: vec![],
        methods: vec![],
        calls: None,
    };
    let narrow = Parent::read(&above, &at)?.replicant(&terms, U256::ZERO)?;
    let mut wide = narrow.clone();
    for caveat in &mut wide.caveats {
        if caveat.enforcer == golem_charter_enforcer() {
            let charter = GolemCharter::decode(&caveat.terms)?;
            let charter = GolemCharter { spend_cap: charter.spend_cap * 2, ..charter };
            *caveat = Caveat::new(caveat.enforcer, charter.encode()?);
        }
    }
    ensure!(wide != narrow);
    let Boot::Caged(cage) = boot(home.stage.node(), home.id, CONSTITUTION.as_bytes()).await? else {
        bail!("no policy")
    };
    let facts = SigningFacts {
        chain_id: home.stage.node().chain_id(),
        manager: DELEGATION_MANAGER,
        session_account: golem.grant().delegate,
        environment: at,
        now: home.now(),
    };
    let Handing::Permitted(_) = ChildGrant::judge(&above, narrow, &cage, &facts) else {
        bail!("the narrow one is refused")
    };
    let Handing::Refused(denials) = ChildGrant::judge(&above, wide, &cage, &facts) else {
        bail!("the wide one may be signed")
    };
    assert_eq!(denials[0].code, DenialCode::PolicySignature, "{denials:?}");
    Ok(())
}

/// C2: in any other phase nothing is wanted, written down or signed.
#[tokio::test]
async fn children_are_made_in_thriving_only() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let child = Nursling::born(&home, &golem).await?;
    home.writes(&Writing::Advance { golem: home.id, phase: Phase::Stable }).await?;

    let spawning = golem.spawns(&errand(50), &child.introduced).await?;

    assert_eq!(codes(&spawning), [DenialCode::Phase]);
    ensure!(golem.children().await?.is_empty(), "one was written down");
    drop(golem);
    assert_eq!(home.told("event.intentProposed")?, 0, "one was wanted");
    Ok(())
}

/// An owner who did not write that children may act gets none.
#[tokio::test]
async fn children_are_made_with_the_owners_leave_only() -> Result<()> {
    let home = Home::with("- goal: none of its own\n", "- every: 1h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let child = Nursling::born(&home, &golem).await?;

    let spawning = golem.spawns(&errand(50), &child.introduced).await?;

    assert_eq!(codes(&spawning), [DenialCode::Redeemer]);
    Ok(())
}

/// INV-10: an introduction that nobody asked for, an old one, and one that made a child already, make nobody.
#[tokio::test]
async fn an_introduction_counts_once_and_only_if_it_was_asked_for() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let mut child = Nursling::born(&home, &golem).await?;

    // Made up by whoever has a key.
    let stranger = Keys::hosted();
    let mut asked = child.introduced.introduction;
    asked.nonce = B256::repeat_byte(0x5a);
    let uninvited = Replicant::introduces(&stranger, asked).await?;
    assert_eq!(codes(&golem.spawns(&errand(50), &uninvited).await?), [DenialCode::IntentUsed]);

    // The same nonce for two keys: the second is refused, whichever of them asks again.
    let spawned = golem.spawns(&errand(50), &child.introduced).await?;
    child.inherits(spawned).await?;
    let second = Replicant::introduces(&stranger, child.introduced.introduction).await?;
    assert_eq!(codes(&golem.spawns(&errand(50), &second).await?), [DenialCode::IntentUsed]);

    // Once more is the same child; after its end it is nobody.
    let Spawning::Spawned(again) = golem.spawns(&errand(50), &child.introduced).await? else {
        bail!("it does not go on")
    };
    assert_eq!(Some(&*again), child.inheritance.as_ref());
    golem.lost_child(child.key()).await?;
    assert_eq!(
        codes(&golem.spawns(&errand(50), &child.introduced).await?),
        [DenialCode::IntentUsed]
    );
    assert_eq!(on_chain(&home).await?, U256::ONE);

    // And who was asked too long ago is too late.
    let late = Nursling::born(&home, &golem).await?;
    home.later(HOUR + 1).await?;
    let _ = ticks(&mut golem).await?;
    assert_eq!(
        codes(&golem.spawns(&errand(50), &late.introduced).await?),
        [DenialCode::IntentUsed]
    );
    Ok(())
}

/// A share of what its parent has, and not more than all of it.
#[tokio::test]
async fn a_child_has_no_more_than_its_parents_own_budget() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let child = Nursling::born(&home, &golem).await?;
    let Rule::GolemCharter(law) = environment().read(&golem.grant().caveats[0])? else {
        bail!("no charter")
    };
    let mut wanted = errand(1);
    wanted.budget = law.spend_cap + 1;

    assert_eq!(codes(&golem.spawns(&wanted, &child.introduced).await?), [DenialCode::Budget]);

    ensure!(golem.children().await?.is_empty(), "one was written down");
    wanted.budget = law.spend_cap;
    let Spawning::Spawned(_) = golem.spawns(&wanted, &child.introduced).await? else {
        bail!("not all of it")
    };
    Ok(())
}

/// So many as one process can look after, and no more.
#[tokio::test]
async fn a_golem_has_sixteen_children_and_no_more() -> Result<()> {
    let home = parent().await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    for number in 1..=17_u8 {
        let asked = golem.asks_for_a_child(B256::repeat_byte(number)).await?;
        let introduced = Replicant::introduces(&Keys::hosted(), asked).await?;

        let spawning = golem.spawns(&errand(1), &introduced).await?;

        if number <= 16 {
            ensure!(matches!(spawning, Spawning::Spawned(_)), "{number}: {spawning:?}");
        } else {
            assert_eq!(codes(&spawning), [DenialCode::PolicyBatch]);
        }
    }
    assert_eq!(on_chain(&home).await?, U256::from(16));
    Ok(())
}
