//! SPEC K6: a key in a file on its owner's machine, under four bounds, and the chain that keeps each of them.

use crate::field::Field;
use alloy::{
    primitives::{Address, Bytes, U256},
    providers::ext::AnvilApi as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    defi::{Erc20, Erc4626},
    framework::DELEGATION_MANAGER,
};
use bardo_testkit::{Agent, STIPEND, Stage, charter, dollars};
use golem_chain::{AccountKind, environment, observe};
use golem_custody::{
    DelegationBounds, Denial, DenialCode, Execution, Password, Redemption, SessionKey,
    SessionSigner as _,
};
use golem_delegation::{
    Delegation, PermissionContext, ROOT_AUTHORITY,
    blast_radius::{BlastRadius, Ended},
    enforcers,
};
use std::{fs, os::unix::fs::PermissionsExt as _};

const DOLLAR: u64 = 1_000_000;
const HOUR: u64 = 3_600;

/// A local key and an account with 10,000 dollars, which it may trade at one router for an hour.
struct Scene {
    field: Field,
    agent: Agent,
    bounds: DelegationBounds,
}

/// From the file, as every start of such a Golem has it.
fn local_key() -> Result<SessionKey> {
    let folder = tempfile::tempdir()?;
    let (words, path) = (folder.path().join("password"), folder.path().join("session-key.json"));
    fs::write(&words, "open sesame\n")?;
    fs::set_permissions(&words, fs::Permissions::from_mode(0o600))?;
    let password = Password::from_file(&words)?;
    SessionKey::born().save(&path, &password)?;
    Ok(SessionKey::open(&path, &password)?)
}

impl Scene {
    async fn open(change: impl FnOnce(&mut DelegationBounds)) -> Result<Self> {
        let (stage, owner) = Field::prepared(AccountKind::Hybrid).await?;
        let key = local_key()?;
        stage.fund(key.address(), STIPEND, U256::ZERO).await?;
        let most = charter(&stage, &owner, key.address(), |_| ()).await?;
        let now = stage.now().await?;
        let mut bounds = DelegationBounds {
            max_daily_micro_dollars: 100 * DOLLAR,
            max_total_calls: 3,
            expires_at: now + HOUR,
            allowed_targets: vec![stage.book().swap_router_02],
        };
        change(&mut bounds);
        let golem_id = most.golem_id;
        let grant = Delegation {
            delegate: key.address(),
            delegator: owner.account.address,
            authority: ROOT_AUTHORITY,
            caveats: bounds.compile(most, &environment(), now)?,
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let grant = owner.signer.grant(&stage.domain(), grant)?;
        let agent = Agent { key, grant, account: owner.account.address };
        Ok(Self { field: Field { stage, owner, golem_id }, agent, bounds })
    }

    const fn stage(&self) -> &Stage {
        &self.field.stage
    }

    async fn does(&self, call: &Execution) -> Result<()> {
        let _ = self.agent.attempt(self.stage(), call).await?.receipt()?;
        Ok(())
    }

    /// By the judge, and by the chain when nobody asks one.
    async fn refused(&self, call: &Execution, code: DenialCode) -> Result<Denial> {
        let denial = self.agent.attempt(self.stage(), call).await?.refusal()?;
        ensure!(denial.code == code, "{denial:?} instead of {code:?}");
        ensure!(!self.agent.force(self.stage(), call).await?.status(), "{denial:?}: went through");
        Ok(denial)
    }

    /// What its owner is shown of a thief of this key.
    async fn radius(&self) -> Result<BlastRadius> {
        let chain = PermissionContext::new(vec![self.agent.grant.clone()])?;
        let seen = observe(self.stage().node(), DELEGATION_MANAGER, &chain, &[]).await?;
        Ok(BlastRadius::of(&chain, &environment(), seen.block.timestamp, &seen.facts)?)
    }
}

#[tokio::test]
async fn a_local_key_spends_its_daily_sum_and_not_a_dollar_more() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;

    scene.does(&scene.field.swap(60)).await?;
    scene.refused(&scene.field.swap(41), DenialCode::Spend).await?;
    scene.does(&scene.field.swap(39)).await?;
    scene.refused(&scene.field.swap(2), DenialCode::Spend).await?;
    Ok(())
}

/// A refused call is not counted; one that went through is, whatever it was; and a batch is not one call.
#[tokio::test]
async fn a_local_key_makes_its_calls_and_not_one_more() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let (stage, one) = (scene.stage(), scene.field.swap(1));
    let context = PermissionContext::new(vec![scene.agent.grant.clone()])?;
    let both = Redemption::batch(DELEGATION_MANAGER, context, &[one.clone(), one.clone()]);
    let key = scene.agent.key.address();
    let sent = stage.send_as(key, DELEGATION_MANAGER, U256::ZERO, both.calldata()).await?;
    ensure!(!sent.status(), "two calls in one redemption");
    for _ in 0..scene.bounds.max_total_calls {
        scene.does(&one).await?;
    }
    let denial = scene.refused(&one, DenialCode::Calls).await?;
    ensure!(denial.enforcer == Some(enforcers::LIMITED_CALLS), "{denial:?}");
    let left = scene.radius().await?;
    let delegation = scene.agent.grant.hash().0;
    ensure!(left.ended == Some(Ended::NoCallsLeft { delegation }), "{left:?}");
    Ok(())
}

#[tokio::test]
async fn a_local_key_acts_in_its_last_second_and_not_in_the_next() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let (stage, end) = (scene.stage(), scene.bounds.expires_at);
    let one = scene.field.swap(1);
    stage.warp(end - 1).await?;

    for (second, done) in [(end, true), (end + 1, false)] {
        stage.node().provider().anvil_set_next_block_timestamp(second).await?;
        let receipt = scene.agent.force(stage, &one).await?;
        ensure!(stage.now().await? == second, "another second");
        ensure!(receipt.status() == done, "in second {second} of {end}");
    }
    scene.refused(&one, DenialCode::WindowExpired).await?;
    Ok(())
}

/// The charter knows them all; the bounds name one.
#[tokio::test]
async fn a_local_key_calls_its_targets_and_nothing_else() -> Result<()> {
    let scene = Scene::open(|_| ()).await?;
    let (field, book, account) = (&scene.field, scene.stage().book(), scene.field.account());
    let one = dollars(1);
    let allow = Erc20::approveCall { spender: book.swap_router_02, amount: one };
    let deposit = Erc4626::depositCall { assets: one, receiver: account };
    let gas =
        Execution { target: scene.agent.key.address(), value: U256::from(1), data: Bytes::new() };
    let first = Execution { target: book.swap_router, ..field.swap(1) };

    for other in [
        first,
        field.home(),
        field.call(book.usdc, &allow),
        field.call(book.vault, &deposit),
        field.spawn(),
        gas,
        field.call(Address::repeat_byte(0x66), &allow),
    ] {
        scene.refused(&other, DenialCode::Target).await?;
    }
    scene.does(&field.swap(1)).await?;
    Ok(())
}

/// SPEC G13: what is shown of a thief is what the bounds say, and nothing that no bound speaks of.
#[tokio::test]
async fn the_blast_radius_of_a_local_key_is_its_bounds() -> Result<()> {
    for (sum, calls, slippage) in [(100, 3, 1), (1_000, 3, 10), (1_000, 1, 5)] {
        let scene = Scene::open(|bounds| {
            bounds.max_daily_micro_dollars = sum * DOLLAR;
            bounds.max_total_calls = calls;
        })
        .await?;

        let shown = scene.radius().await?;

        // One per cent of what goes through in an hour: the daily sum, or so many calls of $500 at once.
        let most = U256::from(slippage * DOLLAR);
        let lost = shown.causes.slippage.context("slippage")?;
        ensure!(lost <= most && lost > most * U256::from(99) / U256::from(100), "{sum}: {shown:?}");
        let settlement = shown.causes.settlement.context("settlement")?;
        ensure!(settlement <= most, "{sum}: {shown:?}");
        let nothing = Some(U256::ZERO);
        let causes = shown.causes;
        ensure!((causes.outflow, causes.gas, causes.vaults) == (nothing, nothing, nothing));
        ensure!(shown.until == Some(scene.bounds.expires_at) && !shown.everything, "{shown:?}");
    }
    Ok(())
}
