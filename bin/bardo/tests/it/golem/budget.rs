//! SPEC G8, G11, P1: what an owner signs has effect, also where what he published before was narrower; and he is told what lacks.

use super::{DAY, HOUR, Process, Scene};
use crate::command::bardo;
use alloy::{
    primitives::{B256, U256},
    sol_types::{SolCall as _, SolValue as _},
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{PolicyCage, policy_cage};
use bardo_testkit::dollars;
use serde_json::{Value, json};
use std::fs;

const DOLLAR: u64 = 1_000_000;

impl Scene {
    /// Sixty dollars a day, which is one purchase.
    async fn of_sixty_a_day() -> Result<Self> {
        let scene = Self::open().await?;
        let pw = scene.path("pw");
        let mode = ["--mode", "local", "--session-password-file", &pw];
        scene.onboards(&[&mode[..], &["--daily", "60000000"]].concat())?;
        Ok(scene)
    }

    fn id(&self) -> Result<B256> {
        Ok(self.status()?["golem"].as_str().context("no id")?.parse()?)
    }

    async fn published(&self) -> Result<PolicyCage::Policy> {
        let asked = PolicyCage::policyOfCall { golemId: self.id()? };
        Ok(self.stage.node().read(policy_cage(), asked).await?.policy)
    }

    /// The owner lets one key spend so much, whichever way he publishes it.
    async fn lets_one_key_spend(&self, micro_dollars: u64) -> Result<()> {
        let policy =
            PolicyCage::Policy { spendPerSession: micro_dollars, ..self.published().await? };
        let data = PolicyCage::publishCall { salt: B256::ZERO, policy }.abi_encode();
        let sent = self.stage.send_as(self.owner.address, policy_cage(), U256::ZERO, data.into());
        ensure!(sent.await?.status(), "not published");
        Ok(())
    }

    fn asked(&self) -> Result<Vec<String>> {
        let asks = self.status()?["asks"].clone();
        let all = asks.as_array().context("no list")?.iter();
        Ok(all.filter_map(|one| one["what"].as_str().map(str::to_owned)).collect())
    }

    /// Ticks by the hour until its account has so much, at most so often.
    async fn has_within(&self, golem: &Process, hours: u64, wanted: u64) -> Result<()> {
        for _ in 0..hours {
            self.ticks_after(golem, HOUR).await?;
            if self.dollars().await? == dollars(wanted) {
                return Ok(());
            }
        }
        anyhow::bail!("it has {} and not {wanted}", self.dollars().await?)
    }
}

/// What its policy lets one key spend is used up: its owner is told, and the Feed that gives it more time lets it buy again, by one
/// transaction more; with the same constitution, and not a dollar wider than what he signed.
#[tokio::test]
async fn a_feed_lets_it_buy_again_when_its_key_has_spent_all_that_its_policy_lets_it() -> Result<()>
{
    let scene = Scene::of_sixty_a_day().await?;
    scene.lets_one_key_spend(100 * DOLLAR).await?;
    let golem = scene.runs_local()?;
    golem.does()?;
    ensure!(!scene.asked()?.contains(&"budget".to_owned()));
    scene.does_after(&golem, DAY + 3 * HOUR).await?;
    assert_eq!(scene.dollars().await?, dollars(900));
    scene.ticks_after(&golem, DAY + 3 * HOUR).await?;
    assert_eq!(scene.dollars().await?, dollars(900), "it bought beyond its policy");
    ensure!(scene.asked()?.contains(&"budget".to_owned()), "{}", scene.status()?);
    let (before, sent) = (scene.published().await?, scene.owner.sent(&scene.stage).await?);

    let fed = scene.owner("feed", &["--days", "30"])?;

    assert_eq!(fed.code, 0, "{fed:?}");
    ensure!(fed.stderr.contains("One transaction publishes"), "{fed:?}");
    let (said, after) = (fed.json()?, scene.published().await?);
    let left = said["until"].as_u64().context("no end")? - scene.stage.now().await?;
    let most = 100 * DOLLAR + left.div_ceil(DAY) * 60 * DOLLAR;
    assert_eq!(said["policy"]["spendPerSession"], most, "{said}");
    let wanted = PolicyCage::Policy { spendPerSession: most, ..before };
    ensure!(after.abi_encode() == wanted.abi_encode(), "something else is wider");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1);
    scene.has_within(&golem, 4, 850).await?;
    ensure!(!scene.asked()?.contains(&"budget".to_owned()));
    // What is wide enough stays as it is.
    let again = scene.owner("feed", &["--days", "1"])?;
    assert_eq!((again.code, &again.json()?["policy"]), (0, &Value::Null), "{again:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1);
    golem.stops()?;
    Ok(())
}

/// A higher cap than the first has effect: what was published for that one follows.
#[tokio::test]
async fn a_cap_beyond_the_first_has_effect() -> Result<()> {
    let scene = Scene::of_sixty_a_day().await?;
    let often = "- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $50\n- every: 3h\n";
    fs::write(scene.data().join("STRATEGY.md"), often)?;
    let golem = scene.runs_local()?;
    golem.does()?;
    scene.ticks_after(&golem, 4 * HOUR).await?;
    assert_eq!(scene.dollars().await?, dollars(950), "sixty are the whole of a day");
    let sent = scene.owner.sent(&scene.stage).await?;

    let adjusted = scene.owner("adjust", &["--cap", "200000000"])?;

    assert_eq!(adjusted.code, 0, "{adjusted:?}");
    let policy = adjusted.json()?["policy"].clone();
    assert_eq!(
        (&policy["spendPerDay"], &policy["spendPerTransaction"]),
        (&(200 * DOLLAR).into(), &(200 * DOLLAR).into()),
        "{policy}"
    );
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1);
    scene.has_within(&golem, 12, 900).await?;
    let less = scene.owner("adjust", &["--cap", "100000000"])?;
    assert_eq!((less.code, &less.json()?["policy"]), (0, &Value::Null), "{less:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent + 1, "it is as wide as it was");
    golem.stops()?;
    Ok(())
}

/// A Golem's policy is published for an id that is made from a salt: one that does not make it is refused before anything is sent.
#[tokio::test]
async fn nothing_is_published_for_another_golem() -> Result<()> {
    let scene = Scene::of_sixty_a_day().await?;
    let toml = scene.data().join("golem.toml");
    let file = fs::read_to_string(&toml)?;
    ensure!(file.contains("salt = "), "{file}");
    let other = B256::repeat_byte(9).to_string();
    let sent = scene.owner.sent(&scene.stage).await?;

    let no = scene.owner("adjust", &["--cap", "200000000", "--salt", &other])?;

    ensure!(no.code == 2 && no.stderr.contains("is not made from"), "{no:?}");
    assert_eq!(scene.owner.sent(&scene.stage).await?, sent);
    ensure!(!scene.data().join("inbox").exists(), "something was signed");
    Ok(())
}

/// Nobody who says nothing gets a Golem that is short of time from its first days on; and he is asked for more before time is what it
/// lacks.
#[tokio::test]
async fn a_new_golem_has_time_enough_and_its_owner_is_asked_before_it_has_not() -> Result<()> {
    let scene = Scene::open().await?;
    let (pw, data) = (scene.path("pw"), scene.path("golem"));
    let whose = ["--rpc", scene.rpc(), "--data", &data, "--key-file", &scene.owner.file];
    let mode = ["--mode", "local", "--session-password-file", &pw];
    let ran = bardo([&["onboard"][..], &whose, &mode].concat())?;
    assert_eq!(ran.code, 0, "{ran:?}");
    let status = scene.status()?;
    let ends = status["expiresAt"].as_u64().context("no end")?;
    let days = (ends - scene.stage.now().await?).div_ceil(DAY);
    assert_eq!((days, &status["asks"]), (30, &json!([])), "{status}");

    // Seven tenths of seven days are what Thriving takes.
    scene.until(ends - 423_360 - 60).await?;
    assert_eq!(scene.status()?["asks"], json!([]));
    scene.until(ends - 423_360 + 61).await?;
    assert_eq!(scene.asked()?, ["feed"]);
    Ok(())
}

/// D9: time and phase are two things, and whoever gives the one is told that the other stays.
#[tokio::test]
async fn who_gives_time_is_told_that_the_phase_stays() -> Result<()> {
    let scene = Scene::local().await?;
    let id = scene.id()?.to_string();
    let key = ["--rpc", scene.rpc(), "--key-file", &scene.owner.file];
    let advance = [&["registry", "advance", &id, "--phase", "conservation"][..], &key].concat();
    assert_eq!(bardo(advance)?.code, 0);

    let fed = scene.owner("feed", &["--days", "30"])?;

    assert_eq!((fed.code, &fed.json()?["stays"]), (0, &json!("conservation")), "{fed:?}");
    let turned = scene.owner("feed", &["--phase", "stable"])?;
    assert_eq!((turned.code, &turned.json()?["stays"]), (0, &Value::Null), "{turned:?}");
    Ok(())
}
