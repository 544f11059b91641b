//! SPEC L2, D9, K8: what counts as a loss, what counts as poverty, and what counts as neither.

use super::{DAY, DCA, DOLLAR, HOUR, Home, awake, days::Greedy, ticks};
use alloy::{
    primitives::{
        U256,
        aliases::{I24, U24},
    },
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::defi::{
    Erc20,
    NonfungiblePositionManager::{MintParams, mintCall, multicallCall},
    Weth9,
};
use bardo_testkit::dollars;
use golem_chain::Writing;
use golem_custody::{DailyCosts, DeathSettlement, DenialCode, Execution};
use golem_delegation::{grant::Phase, terms::MortalityTimeWindow};
use golem_runtime::{DeathTrigger, Outcome, Passing, Provisions, WHOLE, Wish, read_bundle};
use golem_safety::Policy;
use std::{fs, sync::Arc};

const REBALANCE: &str =
    "- strategy: rebalance\n- token: weth\n- against: settlement\n- target: 20%\n- band: 5%\n";

impl Home {
    /// Both feeds say the same once more, and with another time.
    async fn feeds_speak(&self) -> Result<()> {
        self.ether_costs(self.ether_price().await?).await?;
        self.stage.set_price(self.stage.book().usdc_usd, 100_000_000).await
    }

    /// The owner takes dollars out of his own vault.
    pub(super) async fn takes(&self, amount: U256) -> Result<()> {
        let data = Erc20::transferCall { to: self.owner.address(), amount }.abi_encode().into();
        let call = Execution { target: self.stage.book().usdc, value: U256::ZERO, data };
        self.vault.act(self.stage.node(), &self.owner, &[call]).await?;
        Ok(())
    }

    /// The owner puts wrapped ether worth so many dollars into his vault.
    pub(super) async fn has_ether(&self, usd: u64) -> Result<()> {
        let (weth, from) = (self.stage.book().weth, self.owner.address());
        let wei = U256::from(usd) * U256::from(10).pow(U256::from(26))
            / U256::from(self.ether_price().await?);
        let wrap = Weth9::depositCall {}.abi_encode().into();
        ensure!(self.stage.send_as(from, weth, wei, wrap).await?.status(), "not wrapped");
        let give = Erc20::transferCall { to: self.vault.address, amount: wei }.abi_encode();
        let given = self.stage.send_as(from, weth, U256::ZERO, give.into()).await?;
        ensure!(given.status(), "not given");
        Ok(())
    }
}

/// L2, INV-4: what nobody knows is no loss and no poverty: a feed that is silent stops its trades, in words, and not its life.
#[tokio::test]
async fn a_feed_that_is_silent_stops_its_trades_and_not_its_life() -> Result<()> {
    let home = Home::under(DCA, "- every: 1h\n", |law| {
        for token in &mut law.listing.tokens {
            token.max_age = 3_600;
        }
    })
    .await?;
    home.feeds_speak().await?;
    let (sell, buy) = (home.stage.book().usdc, home.stage.book().weth);
    let wish = Wish::Swap { sell, buy, micro_dollars: 20 * DOLLAR };
    let mut golem = home.wakes_with(Arc::new(Greedy(wish))).await?;
    let bought = ticks(&mut golem).await?;
    ensure!(matches!(bought.deeds.as_slice(), [(_, Outcome::Done)]), "{bought:?}");
    home.later(DAY + 2 * HOUR).await?;

    for tick in 0..40 {
        let silent = ticks(&mut golem).await?;
        assert_eq!((silent.phase, silent.dies_of), (Phase::Thriving, None), "{tick}: {silent:?}");
        assert_eq!((golem.life().worth, silent.clocks.epistemic), (None, WHOLE), "{tick}");
        ensure!(!silent.deeds.is_empty(), "nothing was wanted");
        for (wish, outcome) in &silent.deeds {
            let Outcome::Refused(denials) = outcome else { bail!("{wish:?}: {outcome:?}") };
            let stale = denials.iter().any(|one| one.code == DenialCode::PolicyPriceStale);
            ensure!(stale, "{tick}: {denials:?}");
        }
        home.later(HOUR).await?;
    }
    assert_eq!(home.entry().await?.state.phase, Phase::Thriving);
    // The feeds speak again, and it goes on.
    home.feeds_speak().await?;
    let again = ticks(&mut golem).await?;
    ensure!(matches!(again.deeds.as_slice(), [(_, Outcome::Done)]), "{again:?}");
    Ok(())
}

/// L2: more liquidity than is looked at, from whomever, leaves the whole unknown: nothing is bought, and nobody dies of it.
#[tokio::test]
async fn what_a_stranger_gives_it_does_not_kill_it() -> Result<()> {
    let home = Home::with(DCA, "- every: 1h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    let (stage, book) = (&home.stage, home.stage.book());
    let params = MintParams {
        token0: book.weth,
        token1: book.usdc,
        fee: U24::from(500),
        tickLower: I24::try_from(-887_270)?,
        tickUpper: I24::try_from(887_270)?,
        amount0Desired: U256::from(4_000_000_000_000u64),
        amount1Desired: U256::from(10_000),
        amount0Min: U256::ZERO,
        amount1Min: U256::ZERO,
        recipient: home.vault.address,
        deadline: U256::MAX,
    };
    for token in [book.weth, book.usdc] {
        let all = Erc20::approveCall { spender: book.position_manager, amount: U256::MAX };
        stage.faucet(token, all).await?;
    }
    let one = mintCall { params }.abi_encode();
    for _ in 0..13 {
        let data = vec![one.clone().into(); 5];
        stage.faucet(book.position_manager, multicallCall { data }).await?;
    }
    home.later(DAY).await?;

    for tick in 0..40 {
        let flooded = ticks(&mut golem).await?;
        assert_eq!(golem.life().worth, None, "65 positions are looked at");
        assert_eq!(
            (flooded.phase, flooded.dies_of),
            (Phase::Thriving, None),
            "{tick}: {flooded:?}"
        );
        ensure!(golem.life().mood.arousal < 50, "{tick}: {:?}", golem.life().mood);
        let [(_, Outcome::Refused(denials))] = flooded.deeds.as_slice() else {
            bail!("{tick}: {flooded:?}")
        };
        let [denial] = denials.as_slice() else { bail!("{tick}: {denials:?}") };
        assert_eq!(denial.code, DenialCode::PolicyPriceUnknown);
        ensure!(denial.reason.starts_with("nobody knows"), "{denial}");
        home.later(HOUR).await?;
    }
    Ok(())
}

/// D9: a bound that is simply reached costs no life, however often: its owner set it, and nobody erred.
#[tokio::test]
async fn a_bound_that_holds_moves_no_phase() -> Result<()> {
    let home = Home::with("- goal: none of its own\n", "- every: 1h\n").await?;
    let (sell, buy) = (home.stage.book().usdc, home.stage.book().weth);
    home.publishes(&Policy { concentration_bps: 500, ..home.policy() }).await?;
    let wish = Wish::Swap { sell, buy, micro_dollars: 150 * DOLLAR };
    let mut golem = home.wakes_with(Arc::new(Greedy(wish))).await?;
    for tick in 0..40 {
        let ticked = ticks(&mut golem).await?;
        let [(_, Outcome::Refused(denials))] = ticked.deeds.as_slice() else {
            bail!("{tick}: {ticked:?}")
        };
        assert_eq!(denials[0].code, DenialCode::PolicyConcentration);
        assert_eq!((ticked.phase, ticked.clocks.epistemic), (Phase::Thriving, WHOLE), "{tick}");
        home.later(HOUR).await?;
    }
    Ok(())
}

/// L2, D9: what nobody should have proposed costs it life; its owner's Feed is not undone by what was before it, and a week later that is
/// forgotten.
#[tokio::test]
async fn what_was_before_a_feed_does_not_undo_it() -> Result<()> {
    let home = Home::with("- goal: none of its own\n", "- every: 1h\n").await?;
    let (sell, buy) = (home.stage.book().usdc, home.stage.book().weth);
    let nothing = Wish::Swap { sell, buy, micro_dollars: 0 };
    let mut golem = home.wakes_with(Arc::new(Greedy(nothing))).await?;
    let mut fallen = ticks(&mut golem).await?;
    while fallen.phase < Phase::Conservation {
        ensure!(fallen.number < 40, "{fallen:?}");
        home.later(HOUR).await?;
        fallen = ticks(&mut golem).await?;
    }
    let knows = golem.life().experience.clock(home.now());
    drop(golem);
    home.writes(&Writing::Feed { golem: home.id, phase: Phase::Stable }).await?;
    let mut golem = home.wakes().await?;

    for tick in 0..40 {
        home.later(HOUR).await?;
        let ticked = ticks(&mut golem).await?;
        assert_eq!((ticked.phase, ticked.clocks.epistemic), (Phase::Stable, knows), "{tick}");
        assert_eq!(home.entry().await?.state.phase, Phase::Stable, "{tick}");
    }
    home.later(7 * DAY).await?;
    let later = ticks(&mut golem).await?;

    assert_eq!((later.phase, later.clocks.epistemic), (Phase::Stable, WHOLE));
    drop(golem);
    assert_eq!(home.once("fed")?, 1);
    Ok(())
}

/// D32: however rarely it looks up, it is awake when time alone makes it Terminal, and all that it held is settled.
#[tokio::test]
async fn it_does_not_sleep_through_its_end() -> Result<()> {
    const RARELY: &str = "- every: 1d\n- fastest: 1d\n- slowest: 1d\n";
    for machine in [false, true] {
        let home = Home::under("- goal: to be there\n", RARELY, |law| {
            if !machine {
                let start = law.window.start();
                law.window = MortalityTimeWindow::new(start, start + 2 * DAY).unwrap();
            }
        })
        .await?;
        let machine_ends = machine.then_some(home.now() + 2 * DAY);
        let ends = machine_ends.unwrap_or(home.now() + 2 * DAY);
        let mut golem = awake(Provisions { machine_ends, ..home.provisions()? }).await?;
        let mut ticked = ticks(&mut golem).await?;

        while ticked.phase < Phase::Terminal {
            ensure!(ticked.next_at > home.now() && ticked.next_at <= ends - 60_000, "{ticked:?}");
            home.later(ticked.next_at - home.now()).await?;
            ticked = ticks(&mut golem).await?;
        }

        assert_eq!(ticked.dies_of, Some(DeathTrigger::Expiry), "{ticked:?}");
        let Passing::Dead(_) = golem.dies(DeathTrigger::Expiry).await? else { bail!("alive") };
        ensure!(home.holds(home.stage.book().usdc).await?.is_zero(), "it kept its owner's money");
    }
    Ok(())
}

/// L2: what its owner takes out is no loss: not to its clock, not to its policy, and not to its mood. What the market takes afterwards is.
#[tokio::test]
async fn what_its_owner_takes_out_is_no_loss_and_a_fall_is() -> Result<()> {
    let home = Home::with(REBALANCE, "- every: 1h\n").await?;
    let mut golem = home.wakes().await?;
    for _ in 0..3 {
        let _ = ticks(&mut golem).await?;
        home.later(HOUR).await?;
    }
    let before = ticks(&mut golem).await?;
    let (mark, mood) = (golem.life().mark, golem.life().mood);
    let taken = home.holds(home.stage.book().usdc).await?;
    home.takes(dollars(600)).await?;
    home.later(HOUR).await?;

    let after = ticks(&mut golem).await?;

    assert_eq!((after.phase, after.dies_of), (before.phase, None), "{after:?}");
    ensure!(after.clocks.economic + 100 >= before.clocks.economic, "{after:?} {before:?}");
    let life = golem.life().clone();
    ensure!(life.mark.abs_diff(mark - 600 * DOLLAR) < 10 * DOLLAR, "{} {mark}", life.mark);
    assert_eq!(life.mark, life.high_water);
    ensure!(life.best >= 1_990 * DOLLAR && taken > dollars(1_500), "{life:?}");
    ensure!(life.mood.pleasure >= mood.pleasure - 5, "{mood:?} {:?}", life.mood);
    for (wish, outcome) in &after.deeds {
        assert_eq!(*outcome, Outcome::Done, "{wish:?}");
    }
    // What he puts in is no gain either, and hides no fall.
    home.stage.fund(home.vault.address, U256::ZERO, dollars(600)).await?;
    home.later(HOUR).await?;
    let _ = ticks(&mut golem).await?;
    ensure!(golem.life().mark.abs_diff(mark) < 20 * DOLLAR, "{} {mark}", golem.life().mark);
    let price = home.ether_price().await?;
    home.ether_costs(price * 45 / 100).await?;
    home.later(HOUR).await?;
    let fallen = ticks(&mut golem).await?;
    ensure!(fallen.phase >= Phase::Stable && fallen.clocks.economic < 7_000, "{fallen:?}");
    Ok(())
}

/// L2: its money is its dollars, and it keeps a week of its costs of them: however much ether it has, it does not buy itself to death.
#[tokio::test]
async fn a_golem_with_much_ether_does_not_buy_itself_to_death() -> Result<()> {
    for greedy in [false, true] {
        let home = Home::with(DCA, "- every: 6h\n").await?;
        home.has_ether(300).await?;
        // A day costs a dollar and a half: after another fifty there would be less than three days of that.
        let rest = home.holds(home.stage.book().usdc).await? - dollars(54);
        home.takes(rest).await?;
        let (sell, buy) = (home.stage.book().usdc, home.stage.book().weth);
        let wish = Wish::Swap { sell, buy, micro_dollars: 50 * DOLLAR };
        let mut golem = if greedy {
            home.wakes_with(Arc::new(Greedy(wish))).await?
        } else {
            home.wakes().await?
        };

        for _ in 0..4 {
            let ticked = ticks(&mut golem).await?;
            assert_eq!((ticked.phase, ticked.dies_of), (Phase::Thriving, None), "{ticked:?}");
            match ticked.deeds.as_slice() {
                [] if !greedy => {}
                [(_, Outcome::Refused(denials))] if greedy => {
                    assert_eq!(denials[0].code, DenialCode::PolicySpendTransaction, "{denials:?}");
                    ensure!(denials[0].reason.contains("$10.50 to live on"), "{denials:?}");
                }
                _ => bail!("{ticked:?}"),
            }
            home.later(6 * HOUR).await?;
        }
        assert_eq!(home.holds(sell).await?, dollars(54));
    }
    Ok(())
}

/// K8: what it dies of is told by what it is: without money it says what it earned, and what its thoughts cost.
#[tokio::test]
async fn a_golem_without_money_says_what_it_earned_and_what_it_cost() -> Result<()> {
    let home = Home::with("- goal: to be there\n", "- every: 6h\n").await?;
    home.has_ether(100).await?;
    let costs = DailyCosts { inference: 4 * DOLLAR, compute: 2 * DOLLAR, ..DailyCosts::default() };
    let folder = Some(home.path().to_owned());
    let mut golem = awake(Provisions { costs, folder, ..home.provisions()? }).await?;
    let _ = ticks(&mut golem).await?;
    // Seven dollars by the market.
    let price = home.ether_price().await?;
    home.ether_costs(price + price * 7 / 100).await?;
    home.later(6 * HOUR).await?;
    let _ = ticks(&mut golem).await?;
    home.later(18 * HOUR).await?;
    let _ = ticks(&mut golem).await?;
    let rest = home.holds(home.stage.book().usdc).await? - dollars(12);
    home.takes(rest).await?;

    let ticked = ticks(&mut golem).await?;

    assert_eq!((ticked.phase, ticked.dies_of), (Phase::Terminal, Some(DeathTrigger::Exhaustion)));
    let daily = golem.life().earnings.daily();
    ensure!((990_000..=1_000_000).contains(&daily), "a seventh of seven dollars: {daily}");
    let Passing::Dead(death) = golem.dies(DeathTrigger::Exhaustion).await? else { bail!("alive") };
    let DeathSettlement::EconomicExhaustion { exhaustion, .. } = death else { bail!("{death:?}") };
    assert_eq!(exhaustion.final_sustainability_bps, daily * 10_000 / (6 * DOLLAR));
    let earned = exhaustion.lifetime_revenue;
    ensure!((6_990_000..=7_000_000).contains(&earned), "{earned}");
    let thoughts = exhaustion.lifetime_inference_spend;
    ensure!((4 * DOLLAR..4 * DOLLAR + 1_000).contains(&thoughts), "{thoughts}");
    ensure!(golem.life().cost >= 6 * DOLLAR, "{}", golem.life().cost);
    Ok(())
}

/// K8, D32: losses and the end of time are no poverty, and the testament says which it was.
#[tokio::test]
async fn a_golem_that_lost_too_much_does_not_say_that_it_was_poor() -> Result<()> {
    let home = Home::with("- goal: to be there\n", "- every: 6h\n").await?;
    home.has_ether(1_000).await?;
    let folder = Some(home.path().to_owned());
    let mut golem = awake(Provisions { folder, ..home.provisions()? }).await?;
    let _ = ticks(&mut golem).await?;
    let price = home.ether_price().await?;
    home.ether_costs(price * 40 / 100).await?;
    home.later(HOUR).await?;

    let ticked = ticks(&mut golem).await?;

    assert_eq!((ticked.phase, ticked.dies_of), (Phase::Terminal, Some(DeathTrigger::Loss)));
    let Passing::Dead(death) = golem.dies(DeathTrigger::Loss).await? else { bail!("alive") };
    ensure!(matches!(death, DeathSettlement::DelegationExpiry { .. }), "{death:?}");
    let told = fs::read_to_string(home.path().join("legacy/TESTAMENT.md"))?;
    ensure!(told.contains("It lost all that its owner bears."), "{told}");
    let sealed = fs::read(golem_runtime::bequest_path(home.path(), home.id))?;
    let left = read_bundle(&home.owner.open_bequest(home.id, &sealed)?)?;
    let peak = left.testament.worth;
    ensure!(peak.peak > 2_990 * DOLLAR, "{peak:?}");
    ensure!(peak.end.context("unknown")? < 2_410 * DOLLAR, "{peak:?}");
    Ok(())
}

/// K8, INV-9: what its owner ended is told as his word, whatever its clocks say.
#[tokio::test]
async fn a_golem_that_its_owner_ended_does_not_say_that_it_was_poor() -> Result<()> {
    let home = Home::with(DCA, "- every: 6h\n").await?;
    let mut golem = home.wakes().await?;
    let _ = ticks(&mut golem).await?;
    home.writes(&Writing::Advance { golem: home.id, phase: Phase::Terminal }).await?;
    home.later(HOUR).await?;

    let ticked = ticks(&mut golem).await?;

    assert_eq!(ticked.dies_of, Some(DeathTrigger::OwnerKillSwitch), "{:?}", ticked.clocks);
    Ok(())
}
