//! SPEC C13: every named bundle on the real chain, with something it lets through and something it does not.
//!
//! `docs/bundles.md` is what these runs found; `BLESS_BUNDLES=1` rewrites it.

use crate::field::Field;
use alloy::primitives::{Address, Bytes, U256};
use anyhow::{Context, Result, bail, ensure};
use bardo_bindings::{
    cadence_enforcer, defi::Erc20, deployables, framework::DELEGATION_MANAGER, holdings_enforcer,
    replicant_budget_enforcer,
};
use bardo_testkit::{Agent, STIPEND, Stage, bundled, charter, dollars, judged, root};
use golem_chain::AccountKind;
use golem_custody::{
    ClearingPolicy, Denial, DenialCode, Execution, OwnerSigner, Redemption, Rehearsal, SessionKey,
    SessionSigner, rehearse,
};
use golem_delegation::{
    Delegation, PermissionContext,
    bundles::{Bundle, Spend},
    enforcers,
    terms::MortalityTimeWindow,
};
use std::{env, fmt::Write as _, fs, num::NonZeroU32};

const DOLLAR: u64 = 1_000_000;
const DAY: u64 = 86_400;

/// One bundle's run: what stood in the grant, what went through, what did not and why.
struct Shown {
    bundle: &'static str,
    made_of: Vec<String>,
    accepted: &'static str,
    refused: &'static str,
    why: Denial,
}

/// A Golem under one bundle, on a chain of its own.
struct Scene {
    field: Field,
    agent: Agent,
}

impl Scene {
    async fn open(bundles: &[Bundle]) -> Result<Self> {
        let (stage, owner) = Field::prepared(AccountKind::Hybrid).await?;
        let agent = Agent::under(&stage, &owner, bundles).await?;
        let golem_id = charter(&stage, &owner, agent.key.address(), |_| ()).await?.golem_id;
        Ok(Self { field: Field { stage, owner, golem_id }, agent })
    }

    async fn does(&self, call: &Execution) -> Result<()> {
        let _ = self.agent.attempt(&self.field.stage, call).await?.receipt()?;
        Ok(())
    }

    /// Refused by the judge, and by the chain when a thief does not ask one.
    async fn refused(&self, call: &Execution, code: DenialCode) -> Result<Denial> {
        let denial = self.agent.attempt(&self.field.stage, call).await?.refusal()?;
        ensure!(denial.code == code, "{denial:?} instead of {code:?}");
        ensure!(
            !self.agent.force(&self.field.stage, call).await?.status(),
            "{denial:?}: went through"
        );
        Ok(denial)
    }

    fn shown(
        &self,
        bundle: &Bundle,
        accepted: &'static str,
        refused: &'static str,
        why: Denial,
    ) -> Shown {
        let name = |at: Address| {
            deployables()
                .iter()
                .find(|ours| ours.address == at)
                .map(|ours| ours.name)
                .or_else(|| {
                    enforcers::STOCK.iter().find(|(_, stock)| *stock == at).map(|(n, _)| *n)
                })
                .unwrap_or("unknown")
                .trim_end_matches("Enforcer")
                .to_owned()
        };
        let made_of = self.agent.grant.caveats.iter().map(|caveat| name(caveat.enforcer)).collect();
        Shown { bundle: bundle.name(), made_of, accepted, refused, why }
    }
}

/// Bundles that say which kinds of action there are.
async fn of_classes() -> Result<Vec<Shown>> {
    let mut all = Vec::new();
    for bundle in [
        Bundle::FullTrading,
        Bundle::ReadOnly,
        Bundle::NoTransfers,
        Bundle::OraclePublishOnly,
        Bundle::CloseOnly,
        Bundle::NoNewPositions,
        Bundle::WithdrawAllowed,
        Bundle::UnwindOnly,
        Bundle::SweepToOwner,
        Bundle::SettlementOnly,
        Bundle::DeathProtocol,
        Bundle::ReplicantSpawning,
        Bundle::NoReplicantSpawning,
    ] {
        let scene = Scene::open(std::slice::from_ref(&bundle)).await?;
        let (accepted, good, refused, bad) = match bundle {
            Bundle::FullTrading => {
                ("swap", Some(scene.field.swap(1)), "send home", scene.field.home())
            }
            Bundle::ReadOnly => {
                ("a look, which no grant is needed for", None, "swap", scene.field.swap(1))
            }
            Bundle::NoTransfers => {
                ("swap", Some(scene.field.swap(1)), "send home", scene.field.home())
            }
            Bundle::OraclePublishOnly => (
                "say how it feels",
                Some(scene.field.published().await?),
                "swap",
                scene.field.swap(1),
            ),
            Bundle::CloseOnly => {
                let [remove, _] = scene.field.position().await?;
                ("remove liquidity", Some(remove), "deposit", scene.field.deposit())
            }
            Bundle::NoNewPositions => {
                ("send home", Some(scene.field.home()), "swap", scene.field.swap(1))
            }
            Bundle::WithdrawAllowed | Bundle::UnwindOnly => (
                "leave a vault",
                Some(scene.field.deposited().await?),
                "deposit",
                scene.field.deposit(),
            ),
            Bundle::SweepToOwner => {
                ("send home", Some(scene.field.home()), "swap", scene.field.swap(1))
            }
            Bundle::SettlementOnly => {
                scene.field.owner_does(&[scene.field.swap(10)]).await?;
                let sell = scene.field.swap_back();
                ("swap to the settlement asset", Some(sell), "swap from it", scene.field.swap(1))
            }
            Bundle::DeathProtocol => {
                ("settle", Some(scene.field.settle()), "swap", scene.field.swap(1))
            }
            Bundle::ReplicantSpawning => {
                ("make a child", Some(scene.field.spawn()), "swap", scene.field.swap(1))
            }
            _ => ("swap", Some(scene.field.swap(1)), "make a child", scene.field.spawn()),
        };
        let code = match bundle {
            Bundle::SettlementOnly => DenialCode::Share,
            _ => DenialCode::Class,
        };
        let why = scene.refused(&bad, code).await.context(bundle.name())?;
        match good {
            Some(good) => scene.does(&good).await.context(bundle.name())?,
            None => {
                let held = scene
                    .field
                    .stage
                    .balance_of(scene.field.stage.book().usdc, scene.agent.account);
                ensure!(held.await? == dollars(10_000), "a look");
            }
        }
        all.push(scene.shown(&bundle, accepted, refused, why));
    }
    Ok(all)
}

/// Bundles that bound how much.
async fn of_amounts() -> Result<Vec<Shown>> {
    let mut all = Vec::new();
    for (bundle, code) in [
        (Bundle::MaxSpend(Spend::Total(50 * DOLLAR)), DenialCode::Budget),
        (Bundle::MaxSpend(Spend::Day(50 * DOLLAR)), DenialCode::Spend),
        (Bundle::MaxSpend(Spend::Week(50 * DOLLAR)), DenialCode::Spend),
        (Bundle::MaxValue(50 * DOLLAR), DenialCode::Nav),
        (Bundle::max_position(50), DenialCode::Share),
    ] {
        let scene = Scene::open(std::slice::from_ref(&bundle)).await?;
        let at_once = matches!(bundle, Bundle::MaxValue(_));
        scene.does(&scene.field.swap(49)).await.context(bundle.name())?;
        let more = if at_once { scene.field.swap(51) } else { scene.field.swap(2) };
        let why = scene.refused(&more, code).await.context(bundle.name())?;
        let later = scene.field.stage.now().await? + 26 * 3_600;
        scene.field.stage.warp(later).await?;
        match bundle {
            // A day's sum is free again, the others are not.
            Bundle::MaxSpend(Spend::Day(_)) => scene.does(&more).await?,
            _ => drop(scene.refused(&more, code).await.context(bundle.name())?),
        }
        let accepted = "swap of $49";
        all.push(scene.shown(
            &bundle,
            accepted,
            if at_once { "$51 at once" } else { "$2 more" },
            why,
        ));
    }

    all.push(of_a_drawdown().await?);
    Ok(all)
}

async fn of_a_drawdown() -> Result<Shown> {
    let bundle = Bundle::MaxDrawdown(1_500);
    let scene = Scene::open(std::slice::from_ref(&bundle)).await?;
    scene.does(&scene.field.swap(1)).await?;
    let leave =
        Erc20::transferCall { to: scene.field.owner.signer.address(), amount: dollars(1_600) };
    scene.field.owner.act(&scene.field.stage, scene.field.stage.book().usdc, leave).await?;
    let why = scene.refused(&scene.field.swap(1), DenialCode::Drawdown).await?;
    scene.does(&scene.field.swap_back()).await?;
    let refused = "buy, 16 % below the mark; it still sells";
    Ok(scene.shown(&bundle, "swap", refused, why))
}

/// Bundles that bound what, when and by whom.
async fn of_the_rest() -> Result<Vec<Shown>> {
    let (usdc, weth, now) = {
        let stage = Stage::open().await?;
        (stage.book().usdc, stage.book().weth, stage.now().await?)
    };
    let week = NonZeroU32::new(604_800).context("a week")?;
    let mut all = Vec::new();
    for bundle in [
        Bundle::OnlySwap { sells: usdc, buys: weth },
        Bundle::ApprovedAssets(vec![usdc]),
        Bundle::MaxLifespan(DAY),
        Bundle::TimeWindow(MortalityTimeWindow::new(now + DAY, now + 2 * DAY)?),
        Bundle::CronOnly(week),
        Bundle::NoSubDelegation,
    ] {
        let scene = Scene::open(std::slice::from_ref(&bundle)).await?;
        let (accepted, refused, why) = match bundle {
            Bundle::OnlySwap { .. } => {
                scene.does(&scene.field.swap(1)).await?;
                let why = scene.refused(&scene.field.swap_back(), DenialCode::Calldata).await?;
                ("dollars for ether", "ether for dollars", why)
            }
            Bundle::ApprovedAssets(_) => {
                scene.does(&scene.field.home()).await?;
                let why = scene.refused(&scene.field.swap(1), DenialCode::Price).await?;
                ("send dollars home", "swap for another token", why)
            }
            Bundle::MaxLifespan(_) => {
                scene.does(&scene.field.swap(1)).await?;
                scene.field.stage.warp(scene.field.stage.now().await? + DAY + 1).await?;
                let why = scene.refused(&scene.field.swap(1), DenialCode::WindowExpired).await?;
                ("swap", "swap a day later", why)
            }
            Bundle::TimeWindow(window) => {
                let why = scene.refused(&scene.field.swap(1), DenialCode::WindowEarly).await?;
                scene.field.stage.warp(window.start()).await?;
                scene.does(&scene.field.swap(1)).await?;
                ("swap in it", "swap before it", why)
            }
            Bundle::CronOnly(_) => {
                scene.does(&scene.field.swap(1)).await?;
                let why = scene.refused(&scene.field.swap(1), DenialCode::Cadence).await?;
                ("swap", "swap again in the same week", why)
            }
            _ => {
                scene.does(&scene.field.swap(1)).await?;
                ("swap", "swap by somebody it hands the grant on to", handed_on(&scene).await?)
            }
        };
        all.push(scene.shown(&bundle, accepted, refused, why));
    }
    Ok(all)
}

/// A key with the same grant delegates all it has to another key, which tries.
async fn handed_on(scene: &Scene) -> Result<Denial> {
    let stage = &scene.field.stage;
    let parent = OwnerSigner::born();
    let child = SessionKey::born();
    stage.fund(child.address(), STIPEND, U256::ZERO).await?;
    let mut found = Vec::new();
    for bundles in [vec![], vec![Bundle::NoSubDelegation]] {
        let grant = bundled(stage, &scene.field.owner, parent.address(), &bundles).await?;
        let link = Delegation {
            delegate: child.address(),
            delegator: parent.address(),
            authority: grant.hash().0,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let link = parent.grant(&stage.domain(), link)?;
        let context = PermissionContext::new(vec![link, grant])?;
        let one = Redemption::single(DELEGATION_MANAGER, context, &scene.field.swap(1));
        let policy = ClearingPolicy::default();
        let sent =
            stage.send_as(child.address(), DELEGATION_MANAGER, U256::ZERO, one.calldata()).await?;
        ensure!(sent.status() == bundles.is_empty(), "the chain says otherwise");
        found.push(
            match rehearse(&stage.foresight(), judged(one), child.address(), &policy).await? {
                Rehearsal::Passed(_) => None,
                Rehearsal::Refused(denial) => Some(denial),
            },
        );
    }
    // Under no bundle the chain of two is good.
    let [None, Some(denial)] = found.try_into().unwrap_or([None, None]) else {
        bail!("the bundle makes no difference");
    };
    ensure!(denial.code == DenialCode::Redeemer, "{denial:?}");
    Ok(denial)
}

#[tokio::test]
async fn every_bundle_lets_something_through_and_something_not() -> Result<()> {
    let mut all = of_classes().await?;
    all.extend(of_amounts().await?);
    all.extend(of_the_rest().await?);
    ensure!(all.len() == 25, "{} bundles", all.len());
    for beside in [holdings_enforcer(), cadence_enforcer(), replicant_budget_enforcer()] {
        ensure!(
            all.iter().any(|shown| shown.why.enforcer == Some(beside)),
            "{beside} said nothing"
        );
    }

    let mut table = String::from(
        "| bundle | caveats | goes through | does not | because |\n|---|---|---|---|---|\n",
    );
    for Shown { bundle, made_of, accepted, refused, why } in &all {
        let code = serde_json::to_value(why.code)?;
        let code = code.as_str().context("a code is a word")?.to_owned();
        writeln!(
            table,
            "| `{bundle}` | {} | {accepted} | {refused} | `{code}` |",
            made_of.join(", ")
        )?;
    }
    let path = root().join("docs/bundles.md");
    let text = fs::read_to_string(&path)?;
    let (head, rest) = text.split_once("<!-- table -->\n").context("docs/bundles.md: no table")?;
    let (_, tail) = rest.split_once("<!-- end -->").context("docs/bundles.md: no end")?;
    let fresh = format!("{head}<!-- table -->\n{table}<!-- end -->{tail}");
    if env::var_os("BLESS_BUNDLES").is_some() {
        fs::write(&path, &fresh)?;
    }
    ensure!(
        fs::read_to_string(&path)? == fresh,
        "docs/bundles.md is not what these runs found; run with BLESS_BUNDLES=1 and commit it"
    );
    Ok(())
}
