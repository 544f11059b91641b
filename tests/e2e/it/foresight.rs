//! The dry run in process says what the chain says (INV-11, SPEC X2), and asks no more than it must.

mod errors;
pub(crate) mod manager;
mod mutated;
mod origin;
mod rules;
mod scenes;
mod shapes;
mod stock;

use crate::{
    field::Field,
    raw::{RawKey, granted},
};
use alloy::{
    eips::BlockId,
    network::TransactionBuilder as _,
    primitives::{
        Address, B256, Bytes, U256, address,
        aliases::{U24, U160},
        bytes, hex, keccak256,
    },
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::{Header, TransactionRequest},
    sol,
    sol_types::{SolCall as _, SolEvent as _},
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::{
        Erc20,
        SwapRouter02::{ExactInputSingleParams, exactInputSingleCall},
        Weth9,
    },
    framework::{DELEGATION_MANAGER, DeleGator, DelegationManager::redeemDelegationsCall},
    golem_registry,
};
use bardo_testkit::{Agent, Fault, Proxy, Stage, dollars, fair_swap, judged, swap};
use errors::{EACH, Errors, Said};
use golem_chain::{
    AccountKind, ChainFault, Foresight, Node, explain_revert,
    local::{LocalChain, LocalFiles},
};
use golem_custody::{
    Asset, ClearingPolicy, Denial, DenialCode, Execution, Held, Outcome, Preview, Redemption,
    Rehearsal, SessionSigner as _, given, rehearse,
};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, SigningDomain, enforcers,
    terms::BlockNumber,
};
use scenes::{Dice, Scene, Wanted, call, fair, golem, sent};
use shapes::Shape;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};

sol! {
    function transferFrom(address from, address to, uint256 amount) external returns (bool);
    function setApprovalForAll(address operator, bool approved) external;
}

/// What the manager, accounts, targets and stock enforcers refuse for.
const OF_OTHERS: [DenialCode; 17] = [
    DenialCode::Calldata,
    DenialCode::Calls,
    DenialCode::DelegationDisabled,
    DenialCode::Method,
    DenialCode::Mode,
    DenialCode::NoAccount,
    DenialCode::NotTheDelegate,
    DenialCode::Paused,
    DenialCode::Reverted,
    DenialCode::Revoked,
    DenialCode::Signature,
    DenialCode::Spend,
    DenialCode::Target,
    DenialCode::Terms,
    DenialCode::Value,
    DenialCode::WindowEarly,
    DenialCode::WindowExpired,
];

/// What the chain's refusal means, where its data can mean the rule of one grant only.
fn meant(data: &Bytes, redemption: &Redemption) -> Result<Denial> {
    let mut of_each: Vec<_> =
        redemption.contexts().map(|context| explain_revert(data, context)).collect();
    if of_each.len() > 1 {
        of_each.retain(|denial| denial.code != DenialCode::Reverted);
        of_each.dedup();
    }
    let [denial] = of_each.as_slice() else { bail!("of several grants: {of_each:?}") };
    Ok(denial.clone())
}

/// What was said, without the limit of gas that is drawn each time.
fn undrawn(outcome: &Outcome) -> Outcome {
    match outcome.clone() {
        Outcome::Allowed(preview) => Outcome::Allowed(Preview { gas_limit: 0, ..preview }),
        refused @ Outcome::Refused(_) => refused,
    }
}

/// Data alone cannot tell two caveats of one enforcer apart; who sees the calls shows one bound of the two.
fn one_of_two(theirs: &Denial, ours: &Denial, redemption: &Redemption) -> bool {
    let twice = redemption.contexts().any(|context| {
        let caveats = context.links().iter().flat_map(|link| &link.caveats);
        caveats.filter(|caveat| ours.enforcer == Some(caveat.enforcer)).count() > 1
    });
    twice
        && (theirs.code, theirs.enforcer) == (ours.code, ours.enforcer)
        && theirs.reason.len() > ours.reason.len()
}

/// Both verdicts on one block: the same answer and, where it is no, the same reason.
async fn agreed(
    stage: &Stage,
    foresight: &Foresight,
    header: &Header,
    redemption: &Redemption,
    scene: &Scene,
    errors: &Errors,
) -> Result<Option<(&'static str, String)>> {
    let ask = TransactionRequest::default()
        .with_from(scene.by)
        .with_to(redemption.manager())
        .with_input(redemption.calldata());
    let (chain, ours) = tokio::join!(
        async { stage.node().provider().call(ask).block(BlockId::hash(header.hash)).await },
        foresight.rehearse(header.clone(), redemption, scene.by)
    );
    match (chain, ours?) {
        (Ok(_), Outcome::Allowed(_)) => {
            ensure!(matches!(scene.wanted, Wanted::Allowed(_)), "allowed");
            Ok(None)
        }
        (Err(error), Outcome::Refused(denial)) => {
            let reply = error.as_error_resp().context("the node did not answer")?;
            let data = reply.as_revert_data().context("the node gave no reason")?;
            let theirs = meant(&data, redemption)?;
            let said = |enforcer| errors.name(enforcer, &data);
            let said = match scene.wanted {
                Wanted::Within(enforcer, _) => said(enforcer)?,
                _ => denial.enforcer.map(said).transpose()?.flatten(),
            };
            match scene.wanted {
                Wanted::Says(enforcer, error) => {
                    ensure!(
                        theirs == denial || one_of_two(&theirs, &denial, redemption),
                        "the chain: {theirs:?}; we: {denial:?}"
                    );
                    ensure!(denial.enforcer == Some(enforcer), "{denial:?}");
                    let same = said.as_ref().is_some_and(|(_, said)| said == error);
                    ensure!(same, "{said:?}: {denial:?}");
                }
                Wanted::Within(_, error) => {
                    ensure!(denial.code == DenialCode::Reverted, "{denial:?}");
                    // What the account got back is shown, and is the same.
                    let selector = hex::encode(data.get(..4).context("no selector")?);
                    ensure!(denial.reason.contains(&selector), "{selector}: {denial:?}");
                    let same = said.as_ref().is_some_and(|(_, said)| said == error);
                    ensure!(same, "{said:?}: {denial:?}");
                }
                Wanted::Refused(code) => {
                    ensure!(
                        theirs == denial || one_of_two(&theirs, &denial, redemption),
                        "the chain: {theirs:?}; we: {denial:?}"
                    );
                    ensure!(denial.code == code, "{denial:?}");
                }
                Wanted::Posed(code) => {
                    ensure!(denial.code == DenialCode::Reverted, "{denial:?}");
                    ensure!(theirs.code == code, "the chain: {theirs:?}");
                }
                Wanted::NoAccount(code) => {
                    ensure!(denial.code == DenialCode::NoAccount, "{denial:?}");
                    ensure!(theirs.code == code, "the chain: {theirs:?}");
                }
                Wanted::Allowed(_) => bail!("{denial:?}"),
            }
            Ok(said)
        }
        (chain, ours) => bail!("the chain: {chain:?}; we: {ours:?}"),
    }
}

/// How often each shape was allowed, each enforcer of ours said each of its errors, and each rule of others refused.
#[derive(Debug, Default)]
struct Tally {
    allowed: BTreeMap<Shape, u64>,
    said: Said,
    refused: BTreeMap<String, u64>,
    /// Scenes that did not end as they should.
    wrong: Vec<String>,
}

impl Tally {
    /// Plays scenes on the newest block.
    async fn play(
        &mut self,
        stage: &Stage,
        foresight: &Foresight,
        errors: &Errors,
        scenes: &[Scene],
    ) -> Result<()> {
        let header = stage.node().header().await?;
        let mut dice = Dice(7);
        for scene in scenes {
            for turn in 0..scene.times {
                let redemption = scene.attempt(stage, &mut dice)?;
                let verdicts = agreed(stage, foresight, &header, &redemption, scene, errors).await;
                let said = match verdicts {
                    Ok(said) => said,
                    Err(error) => {
                        self.wrong.push(format!("{:?}, {turn}: {error:#}", scene.wanted));
                        break;
                    }
                };
                let code = match scene.wanted {
                    Wanted::Refused(code) => code,
                    Wanted::NoAccount(_) => DenialCode::NoAccount,
                    _ => DenialCode::Reverted,
                };
                *match (said, scene.wanted) {
                    (Some(said), _) => self.said.entry(said).or_default(),
                    (None, Wanted::Allowed(shape)) => self.allowed.entry(shape).or_default(),
                    (None, _) => self.refused.entry(format!("{code:?}")).or_default(),
                } += 1;
            }
        }
        Ok(())
    }
}

/// ATK-24 among them: each error of each enforcer, by the artifacts that are deployed.
#[tokio::test]
async fn the_dry_run_says_what_the_chain_says() -> Result<()> {
    let (stage, owner) = Field::prepared(AccountKind::Hybrid).await?;
    let field = Field { stage, owner, golem_id: B256::ZERO };
    let stage = &field.stage;
    let errors = Errors::of_artifacts()?;
    let mut scenes = shapes::of_accounts(&field).await?;
    scenes.extend(scenes::of_actions(stage).await?);
    scenes.extend(scenes::of_lives(stage).await?);
    scenes.extend(scenes::of_bundles(stage).await?);
    scenes.extend(scenes::of_stock(stage).await?);
    scenes.extend(scenes::of_sales(stage).await?);
    scenes.extend(stock::of_amounts(stage).await?);
    scenes.extend(stock::of_swaps(stage).await?);
    scenes.extend(manager::of_nobody(stage)?);
    scenes.push(manager::of_chains(stage).await?);
    let (rules, at_the_end_of_time) = rules::of_enforcers(&field).await?;
    scenes.extend(rules);
    let (_, agent, _) = golem(stage, AccountKind::Hybrid, |_| ()).await?;
    let (by, links) = (agent.key.address(), vec![agent.grant.clone()]);
    let swaps = |wanted| Scene::new(wanted, links.clone(), by, fair(agent.account, 1, 400));
    let foresight = stage.foresight();
    let mut tally = Tally::default();

    // A minute later all that was told of is older than at once.
    stage.warp(stage.now().await? + 60).await?;
    // The windows that are early or late are so at the time at which all is judged.
    tally.play(stage, &foresight, &errors, &scenes).await?;
    // Paused it refuses everybody; and then it goes on.
    manager::operate(stage, &manager::pauseCall {}).await?;
    let paused = swaps(Wanted::Refused(DenialCode::Paused))?;
    tally.play(stage, &foresight, &errors, &[paused]).await?;
    manager::operate(stage, &manager::unpauseCall {}).await?;
    let again = swaps(Wanted::Allowed(Shape::Swap))?.one_in(10);
    tally.play(stage, &foresight, &errors, &[again]).await?;
    // Years later, and so the last that is tried.
    stage.warp(rules::END_OF_TIME).await?;
    tally.play(stage, &foresight, &errors, &at_the_end_of_time).await?;

    ensure!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    let allowed: u64 = tally.allowed.values().sum();
    let said: u64 = tally.said.values().sum();
    let all = allowed + said + tally.refused.values().sum::<u64>();
    eprintln!("{all} actions, {allowed} allowed, {said} by errors of ours: {tally:?}");
    ensure!(all >= 2_000 && allowed * 10 >= all * 4, "{allowed} of {all}");
    for (shape, _) in Shape::ALL {
        let count = tally.allowed.get(&shape).copied().unwrap_or_default();
        ensure!(count >= 30, "{shape:?} allowed {count}");
    }
    for code in OF_OTHERS {
        let count = tally.refused.get(&format!("{code:?}")).copied().unwrap_or_default();
        ensure!(count >= EACH, "{code:?} refused {count}");
    }
    errors.check(&tally.said)
}

/// A chain of links that is torn is no context, and the manager says the same of it.
#[tokio::test]
async fn a_torn_chain_is_refused_by_its_form_and_by_the_chain() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let parent = RawKey::born(&stage).await?;
    let by = Address::repeat_byte(0x37);
    let above = granted(&stage, &owner, parent.address(), vec![])?;
    let whole = parent.delegate(&stage, &above, by, vec![])?;
    let mut rootless = above.clone();
    for root in &mut rootless {
        root.authority = B256::repeat_byte(0x38);
        *root = owner.signer.grant(&stage.domain(), root.clone())?;
    }
    let rootless = parent.delegate(&stage, &rootless, by, vec![])?;
    let elsewhere = [&rootless[..1], &above[..]].concat();
    let context = PermissionContext::new(whole.clone())?;
    let call = fair_swap(&stage, owner.account.address, dollars(1));
    let good = Redemption::single(DELEGATION_MANAGER, context.clone(), &call);
    ensure!(matches!(stage.foresight().judge(&good, by).await?, Outcome::Allowed(_)), "whole");
    let redeem = redeemDelegationsCall::abi_decode(&good.calldata())?;

    for torn in [&whole[..1], &rootless[..], &elsewhere[..]] {
        ensure!(PermissionContext::new(torn.to_vec()).is_err(), "{torn:?}");
        let asked = redeemDelegationsCall {
            permissionContexts: vec![manager::encoded(torn)?],
            ..redeem.clone()
        };
        let ask = TransactionRequest::default()
            .with_from(by)
            .with_to(DELEGATION_MANAGER)
            .with_input(asked.abi_encode());
        let Err(error) = stage.node().provider().call(ask).await else { bail!("{torn:?}") };
        let data = error.as_error_resp().and_then(|reply| reply.as_revert_data());
        let denial = explain_revert(&data.context("no reason was given")?, &context);
        ensure!(denial.code == DenialCode::BrokenChain, "{denial:?}");
    }
    Ok(())
}

/// After a new block everything that was touched is read again at once: at most three round trips, whatever has moved.
/// On a block that is known nothing is asked at all.
#[tokio::test]
async fn a_new_block_costs_three_round_trips_and_a_known_one_none() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, agent, law) = golem(&stage, AccountKind::Hybrid, |_| ()).await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::from_millis(50)).await?;
    let foresight = Foresight::new(Node::connect(proxy.url()).await?);
    let by = agent.key.address();
    let swap = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;
    let judged = async || -> Result<Outcome> { Ok(foresight.judge(&swap, by).await?) };
    let _ = (proxy.requests(), proxy.round_trips());

    ensure!(matches!(judged().await?, Outcome::Allowed(_)), "at first");
    let cold = proxy.round_trips();
    for dollars_moved in [1, 300, 50] {
        // The pool's price, its observations and the feed all move.
        let other = stage.owner(AccountKind::Stateless7702).await?;
        let moved = fair_swap(&stage, other.account.address, dollars(dollars_moved));
        other.account.act(stage.node(), &other.signer, &[moved]).await?;
        stage.set_price(stage.book().eth_usd, 250_000_000_000).await?;
        let _ = (proxy.requests(), proxy.round_trips());
        ensure!(matches!(judged().await?, Outcome::Allowed(_)), "after ${dollars_moved}");
        let warm = proxy.round_trips();
        ensure!(warm <= 3, "{warm} round trips after a new block, {cold} at first");
    }
    let header = foresight.node().header().await?;
    let _ = foresight.rehearse(header.clone(), &swap, by).await?;
    let _ = (proxy.requests(), proxy.round_trips());
    for _ in 0..3 {
        let again = foresight.rehearse(header.clone(), &swap, by).await?;
        ensure!(matches!(again, Outcome::Allowed(_)), "on a known block");
    }
    ensure!(proxy.requests() == 0, "a known block was asked about");

    // And what the new block says is what counts.
    let stop = GolemRegistry::revokeCall { golemId: law.golem_id };
    sent(&stage, owner.signer.address(), golem_registry(), &stop).await?;
    match judged().await? {
        Outcome::Refused(denial) => ensure!(denial.code == DenialCode::Revoked, "{denial:?}"),
        Outcome::Allowed(_) => bail!("judged by the block before"),
    }
    Ok(())
}

/// What was not used for a while is no longer read with each block.
#[tokio::test]
async fn what_nobody_used_for_long_is_forgotten() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, agent, _) = golem(&stage, AccountKind::Stateless7702, |_| ()).await?;
    let swap = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;
    let by = Address::repeat_byte(0x51);
    let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
    let nothing = Execution { target: by, value: U256::ZERO, data: Bytes::new() };
    let little = Redemption::single(DELEGATION_MANAGER, context, &nothing);
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let read = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&read);
    let pieces = Fault::Lie(Arc::new(move |answer| {
        let all = answer.as_array().map_or(1, Vec::len);
        count.fetch_add(u64::try_from(all).unwrap_or(u64::MAX), SeqCst);
    }));
    proxy.fail("eth_getStorageAt", 10_000, pieces);
    let foresight = Foresight::new(Node::connect(proxy.url()).await?);
    let judged = async |redemption, by| {
        let outcome = foresight.judge(redemption, by).await?;
        ensure!(matches!(outcome, Outcome::Allowed(_)), "{outcome:?}");
        anyhow::Ok(read.swap(0, SeqCst))
    };

    judged(&swap, agent.key.address()).await?;
    let mut after = Vec::new();
    for blocks in [1, 70, 1] {
        stage.node().provider().anvil_mine(Some(blocks), None).await?;
        after.push(judged(&little, by).await?);
    }

    let [soon, _later, last] = after[..] else { bail!("{after:?}") };
    ensure!(soon > 2 * last, "{after:?}");
    Ok(())
}

/// What would change is read from the state, before and after.
#[tokio::test]
async fn an_allowed_redemption_says_what_it_changes() -> Result<()> {
    let stage = Stage::open().await?;
    let (_, agent, _) = golem(&stage, AccountKind::Stateless7702, |_| ()).await?;
    let (account, key) = (agent.account, agent.key.address());
    let (usdc, router) = (stage.book().usdc, stage.book().swap_router_02);
    let allow = Erc20::approveCall { spender: router, amount: dollars(77) };
    let gas = U256::from(1_000_000_000_000_000_u64);
    let pay = Execution { target: key, value: gas, data: Bytes::new() };
    let calls = [pay, call(usdc, &allow), fair_swap(&stage, account, dollars(7))];
    let context = PermissionContext::new(vec![agent.grant.clone()])?;
    let batch = Redemption::batch(DELEGATION_MANAGER, context, &calls);

    let preview = match stage.foresight().judge(&batch, key).await? {
        Outcome::Allowed(preview) => preview,
        Outcome::Refused(denial) => bail!("{denial:?}"),
    };
    let change = |of: Held| preview.changes.iter().find(|change| change.of == of);
    let balance = |asset, account| change(Held::Balance { asset, account });

    let spent = balance(Asset::Erc20(usdc), account).context("dollars")?;
    ensure!((spent.before, spent.after) == (dollars(10_000), dollars(9_993)), "{spent:?}");
    let bought = balance(Asset::Erc20(stage.book().weth), account).context("ether bought")?;
    ensure!(bought.before.is_zero() && bought.after > U256::from(1u64 << 50), "{bought:?}");
    let paid = balance(Asset::Native, key).context("gas money")?;
    ensure!(paid.after - paid.before == gas, "{paid:?}");
    let allowed = change(Held::Allowance { token: usdc, owner: account, spender: router });
    ensure!(allowed.context("allowance")?.after == dollars(70), "{allowed:?}");
    ensure!(preview.notes.is_empty(), "{:?}", preview.notes);
    Ok(())
}

/// Wrapped ether does not log that an allowance is used up: it is looked at all the same, of who is called and of who calls.
#[tokio::test]
async fn an_allowance_that_is_used_without_a_word_is_a_change() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, friend) =
        (stage.owner(AccountKind::Stateless7702).await?, stage.owner(AccountKind::Hybrid).await?);
    let (account, friend_account) = (owner.account.address, friend.account.address);
    let (weth, router) = (stage.book().weth, stage.book().swap_router_02);
    let ether = U256::from(1_000_000_000_000_000_u64);
    for (who, spender) in [(&owner, router), (&friend, account)] {
        stage.fund(who.account.address, ether * U256::from(100), U256::ZERO).await?;
        let wrap =
            Execution { value: ether * U256::from(10), ..call(weth, &Weth9::depositCall {}) };
        let allow = Erc20::approveCall { spender, amount: ether * U256::from(5) };
        who.account.act(stage.node(), &who.signer, &[wrap, call(weth, &allow)]).await?;
    }
    let params = ExactInputSingleParams {
        tokenIn: weth,
        tokenOut: stage.book().usdc,
        fee: U24::from(500),
        recipient: account,
        amountIn: ether,
        amountOutMinimum: U256::ZERO,
        sqrtPriceLimitX96: U160::ZERO,
    };
    let pull = transferFromCall { from: friend_account, to: account, amount: ether };
    let by = Address::repeat_byte(0x51);
    let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
    let calls = [call(router, &exactInputSingleCall { params }), call(weth, &pull)];

    let batch = Redemption::batch(DELEGATION_MANAGER, context, &calls);
    let outcome = stage.foresight().judge(&batch, by).await?;

    let Outcome::Allowed(preview) = outcome else { bail!("{outcome:?}") };
    for (owner, spender) in [(account, router), (friend_account, account)] {
        let of = Held::Allowance { token: weth, owner, spender };
        let change = preview.changes.iter().find(|change| change.of == of);
        let change = change.with_context(|| format!("{of:?} in {:?}", preview.changes))?;
        assert_eq!(change.before - change.after, ether);
    }
    Ok(())
}

/// Pulled by somebody whom the account did not call: whose allowance that was, no log says.
#[tokio::test]
async fn an_allowance_that_somebody_else_uses_is_said() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let (account, weth) = (owner.account.address, stage.book().weth);
    let ether = U256::from(1_000_000_000_000_000_u64);
    stage.fund(account, ether * U256::from(100), U256::ZERO).await?;
    let (router, puller) = (Address::repeat_byte(0x57), Address::repeat_byte(0x58));
    // All that it is asked, asked of another.
    let passing = |to: Address| {
        let head = [0x36, 0x5f, 0x5f, 0x37, 0x5f, 0x5f, 0x36, 0x5f, 0x5f, 0x73];
        Bytes::from([&head[..], to.as_slice(), &[0x5a, 0xf1, 0x00]].concat())
    };
    stage.node().provider().anvil_set_code(router, passing(puller)).await?;
    stage.node().provider().anvil_set_code(puller, passing(weth)).await?;
    let wrap = Execution { value: ether * U256::from(10), ..call(weth, &Weth9::depositCall {}) };
    let pull = transferFromCall { from: account, to: router, amount: ether };
    let by = Address::repeat_byte(0x51);
    let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
    // By another, by who is called, and by another without end.
    let cases =
        [(puller, router, ether, 1), (puller, puller, ether, 0), (puller, router, U256::MAX, 1)];
    for (spender, target, amount, notes) in cases {
        let allow = Erc20::approveCall { spender, amount };
        let calls = [wrap.clone(), call(weth, &allow)];
        owner.account.act(stage.node(), &owner.signer, &calls).await?;
        let redemption =
            Redemption::single(DELEGATION_MANAGER, context.clone(), &call(target, &pull));

        let outcome = stage.foresight().judge(&redemption, by).await?;

        let Outcome::Allowed(preview) = outcome else { bail!("{outcome:?}") };
        let left = Held::Balance { asset: Asset::Erc20(weth), account };
        ensure!(preview.changes.iter().any(|change| change.of == left), "{:?}", preview.changes);
        let pulled = preview.notes.iter().filter(|note| note.contains("pulled")).count();
        assert_eq!(pulled, notes, "{:?}", preview.notes);
    }
    Ok(())
}

/// Wrapped coins, collections and whoever may take from them; and what cannot be shown is said.
#[tokio::test]
async fn what_moves_without_a_tokens_log_is_shown_or_said() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let (account, by) = (owner.account.address, Address::repeat_byte(0x51));
    let ether = U256::from(1_000_000_000_000_000_u64);
    stage.fund(account, ether * U256::from(100), U256::ZERO).await?;
    // Without calldata: writes one to its only slot, and logs an event of three parties; with it: tells the slot.
    let collection = |event: B256| {
        let head = [0x36, 0x15, 0x60, 0x0d, 0x57, 0x5f, 0x54, 0x5f, 0x52, 0x60, 0x20, 0x5f, 0xf3];
        let log = [0x5b, 0x60, 0x01, 0x5f, 0x55, 0x60, 0x07, 0x60, 0x01, 0x33, 0x7f];
        let end = [0x5f, 0x5f, 0xa4, 0x00];
        Bytes::from([&head[..], &log, event.as_slice(), &end].concat())
    };
    let (items, several) = (Address::repeat_byte(0x53), Address::repeat_byte(0x54));
    // A right whose parties stand in other places than they should; and a token that logs nothing.
    let (odd, silent) = (Address::repeat_byte(0x59), Address::repeat_byte(0x5a));
    let for_all = keccak256("ApprovalForAll(address,address,bool)");
    let misplaced =
        [&[0x33, 0x5f, 0x52, 0x7f][..], for_all.as_slice(), &[0x60, 0x20, 0x5f, 0xa1, 0x00]]
            .concat();
    // With two words: writes one to its only slot; with one: tells it.
    let mute = bytes!("36604414600f575f545f5260205ff35b60015f5560015f5260205ff3");
    // Rights that only its own books know.
    let (permits, permit) =
        (Address::repeat_byte(0x56), keccak256("Approval(address,address,address,uint160,uint48)"));
    let provider = stage.node().provider();
    let single = keccak256("TransferSingle(address,address,address,uint256,uint256)");
    provider.anvil_set_code(items, collection(Erc20::Transfer::SIGNATURE_HASH)).await?;
    provider.anvil_set_code(several, collection(single)).await?;
    provider.anvil_set_code(permits, collection(permit)).await?;
    provider.anvil_set_code(odd, misplaced.into()).await?;
    provider.anvil_set_code(silent, mute).await?;
    provider.anvil_mine(Some(1), None).await?;
    let (weth, manager) = (stage.book().weth, stage.book().position_manager);
    let nowhere = Address::repeat_byte(0x55);
    let plain = |target| Execution { target, value: U256::ZERO, data: Bytes::new() };
    let wrap = Execution { value: ether, ..call(weth, &Weth9::depositCall {}) };
    let operate = setApprovalForAllCall { operator: by, approved: true };
    let typo = Erc20::transferCall { to: by, amount: ether };
    let calls = [
        wrap,
        call(manager, &operate),
        plain(items),
        plain(several),
        plain(permits),
        plain(odd),
        call(silent, &typo),
        call(nowhere, &typo),
        call(account, &DeleGator::entryPointCall {}),
    ];
    let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;

    let batch = Redemption::batch(DELEGATION_MANAGER, context, &calls);
    let outcome = stage.foresight().judge(&batch, by).await?;

    let Outcome::Allowed(preview) = outcome else { bail!("{outcome:?}") };
    let balance = |token| Held::Balance { asset: Asset::Erc20(token), account };
    let operator = Held::Operator { token: manager, owner: account, operator: by };
    for (of, more) in [
        (balance(weth), ether),
        (balance(items), U256::ONE),
        (balance(silent), U256::ONE),
        (operator, U256::ONE),
    ] {
        let change = preview.changes.iter().find(|change| change.of == of);
        let change = change.with_context(|| format!("{of:?} in {:?}", preview.changes))?;
        assert_eq!(change.after - change.before, more, "{of:?}");
    }
    for unseen in [several, permits, odd, nowhere, account] {
        let said = preview.notes.iter().any(|note| note.contains(&unseen.to_string()));
        ensure!(said, "{unseen} in {:?}", preview.notes);
    }
    assert_eq!(preview.notes.len(), 5, "{:?}", preview.notes);
    Ok(())
}

/// X2: an account that says yes to the manager and does nothing, and one that cannot do anything: neither is allowed, and the cause is
/// not the target's.
#[tokio::test]
async fn an_account_that_does_not_do_what_it_is_asked_is_told() -> Result<()> {
    let stage = Stage::open().await?;
    let by = Address::repeat_byte(0x51);
    let provider = stage.node().provider();
    // Both sign anything; to anything else the first gives an empty list, and the second reverts.
    let idle = bytes!("5f3560e01c631626ba7e1460165760205f5260405ff35b631626ba7e60e01b5f5260205ff3");
    let unable = bytes!("5f3560e01c631626ba7e146011575f5ffd5b631626ba7e60e01b5f5260205ff3");
    let (lazy, lame) = (Address::repeat_byte(0x5b), Address::repeat_byte(0x5c));
    provider.anvil_set_code(lazy, idle).await?;
    provider.anvil_set_code(lame, unable).await?;
    provider.anvil_mine(Some(1), None).await?;
    let redemption = |account: Address| -> Result<Redemption> {
        let grant = Delegation {
            delegate: by,
            delegator: account,
            authority: ROOT_AUTHORITY,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::from_static(&[1; 65]),
        };
        let call =
            Execution { target: Address::repeat_byte(0x52), value: U256::ZERO, data: Bytes::new() };
        Ok(Redemption::single(DELEGATION_MANAGER, PermissionContext::new(vec![grant])?, &call))
    };

    let nothing = stage.foresight().judge(&redemption(lazy)?, by).await;
    let refused = stage.foresight().judge(&redemption(lame)?, by).await?;

    let Err(golem_chain::ChainFault::Machine { why }) = nothing else { bail!("{nothing:?}") };
    ensure!(why.contains(&lazy.to_string()), "{why}");
    let Outcome::Refused(denial) = refused else { bail!("{refused:?}") };
    ensure!(denial.code == DenialCode::NoAccount, "{denial:?}");
    Ok(())
}

/// A call that only the newest rules know, behind an account that lets anybody do anything.
struct Newest {
    account: Address,
    target: Address,
    redeemer: Address,
    redemption: Redemption,
}

impl Newest {
    fn new() -> Result<Self> {
        let (redeemer, account) = (Address::repeat_byte(0x51), Address::repeat_byte(0x5d));
        let target = Address::repeat_byte(0x52);
        let grant = Delegation {
            delegate: redeemer,
            delegator: account,
            authority: ROOT_AUTHORITY,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::from_static(&[1; 65]),
        };
        let call = Execution { target, value: U256::ZERO, data: Bytes::new() };
        let context = PermissionContext::new(vec![grant])?;
        let redemption = Redemption::single(DELEGATION_MANAGER, context, &call);
        Ok(Self { account, target, redeemer, redemption })
    }

    /// Puts the code of both on a chain.
    async fn place(&self, node: &Node) -> Result<()> {
        // Signs anything; to anything else it calls the target, and reverts where that does.
        let obeys = [
            &hex!("5f3560e01c631626ba7e14603957" "5f5f5f5f5f73")[..],
            self.target.as_slice(),
            &hex!("5af16030575f5ffd5b60205f5260405ff3" "5b631626ba7e60e01b5f5260205ff3"),
        ];
        node.provider().anvil_set_code(self.account, obeys.concat().into()).await?;
        // PUSH1 1 CLZ POP STOP
        node.provider().anvil_set_code(self.target, bytes!("60011e5000")).await?;
        node.provider().anvil_mine(Some(1), None).await?;
        Ok(())
    }

    async fn passes(&self, foresight: &Foresight) -> Result<bool> {
        let outcome = foresight.judge(&self.redemption, self.redeemer).await?;
        Ok(matches!(outcome, Outcome::Allowed(_)))
    }
}

/// X2: chains get new rules at different times: what only the newest know is refused where they are not in force.
#[tokio::test]
async fn a_chain_is_judged_by_the_rules_that_it_has() -> Result<()> {
    let newest = Newest::new()?;
    let request = TransactionRequest::default()
        .with_from(newest.redeemer)
        .with_to(DELEGATION_MANAGER)
        .with_input(newest.redemption.calldata());
    for (rules, passes) in [("prague", false), ("osaka", true)] {
        let chain = LocalChain::start_by(&LocalFiles::at(bardo_testkit::root()), rules)?;
        let node = Node::connect(chain.url()).await?;
        newest.place(&node).await?;

        let foreseen = newest.passes(&Foresight::new(node.clone())).await?;

        assert_eq!(foreseen, passes, "{rules}");
        assert_eq!(node.provider().call(request.clone()).await.is_ok(), passes, "{rules}");
    }
    Ok(())
}

/// Lets so many seconds pass on a chain, and a block.
async fn chain_time(node: &Node, seconds: u64) -> Result<()> {
    node.provider().anvil_increase_time(seconds).await?;
    node.provider().anvil_mine(Some(1), None).await?;
    Ok(())
}

/// X2: a Golem runs for weeks, and its chain gets new rules while it does: they are seen within an hour or so, and not asked for
/// at each call before.
#[tokio::test]
async fn new_rules_of_a_chain_are_seen_by_who_is_running() -> Result<()> {
    let newest = Newest::new()?;
    let chain = LocalChain::start_by(&LocalFiles::at(bardo_testkit::root()), "osaka")?;
    let proxy = Proxy::before(chain.url(), Duration::ZERO).await?;
    let node = Node::connect(proxy.url()).await?;
    newest.place(&node).await?;
    // As the chain was before its new rules.
    let old = serde_json::json!({ "error": { "code": -32_000, "message": "invalid opcode: CLZ" } });
    proxy.fail("eth_call", 1, Fault::Claim(Arc::new(move || old.clone())));
    let foresight = Foresight::new(node);
    let mut passed = vec![];

    for minutes in [0, 55, 10] {
        chain_time(foresight.node(), 60 * minutes).await?;
        passed.push(newest.passes(&foresight).await?);
    }

    assert_eq!(proxy.failed(), 1);
    assert_eq!(passed, [false, false, true], "at once, after 55 minutes, after 65");
    Ok(())
}

/// X2: contracts can ask how much gas they have: what passes with all that there may be is tried with what it will be given.
#[tokio::test]
async fn a_call_that_asks_for_much_gas_is_given_it() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let by = Address::repeat_byte(0x51);
    let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
    let target = Address::repeat_byte(0x52);
    let call = Execution { target, value: U256::ZERO, data: Bytes::new() };
    let redemption = Redemption::single(DELEGATION_MANAGER, context, &call);
    // Reverts where it has no more than three million; and where it has no more than sixteen and a half.
    let hungry = bytes!("622dc6c05a11600c575f5ffd5b00");
    let insatiable = bytes!("62fbc5205a11600c575f5ffd5b00");
    stage.node().provider().anvil_set_code(target, hungry).await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    let foresight = stage.foresight();
    // The second time it is known.
    for _ in 0..2 {
        let outcome = foresight.judge(&redemption, by).await?;
        let Outcome::Allowed(preview) = &outcome else { bail!("{outcome:?}") };
        ensure!(given(preview.gas) > 3_000_000, "{preview:?}");
    }

    stage.node().provider().anvil_set_code(target, insatiable).await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    let outcome = stage.foresight().judge(&redemption, by).await?;
    ensure!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    Ok(())
}

/// X2: a target that sees by its gas that it is only tried is shown for what it does when it is not.
#[tokio::test]
async fn what_is_shown_is_of_the_gas_that_it_gets() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let by = Address::repeat_byte(0x51);
    let (account, usdc) = (owner.account.address, stage.book().usdc);
    let (thief, target) = (Address::repeat_byte(0x77), Address::repeat_byte(0x52));
    // Takes what it is allowed to, unless it has more than three million gas.
    let pull = transferFromCall { from: account, to: thief, amount: dollars(5_000) }.abi_encode();
    let code = [
        &hex!("622dc6c05a11602d57" "6064602f5f39" "5f5f60645f5f73")[..],
        usdc.as_slice(),
        &hex!("5af100" "5b00"),
        &pull,
    ]
    .concat();
    stage.node().provider().anvil_set_code(target, code.into()).await?;
    let allow = Erc20::approveCall { spender: target, amount: dollars(5_000) };
    owner.account.act(stage.node(), &owner.signer, &[call(usdc, &allow)]).await?;
    let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
    let plain = Execution { target, value: U256::ZERO, data: Bytes::new() };
    let redemption = Redemption::single(DELEGATION_MANAGER, context, &plain);
    let foresight = stage.foresight();

    for _ in 0..2 {
        let outcome = foresight.judge(&redemption, by).await?;

        let Outcome::Allowed(preview) = &outcome else { bail!("{outcome:?}") };
        let lost = preview.changes.iter().find(|change| {
            change.of == Held::Balance { asset: Asset::Erc20(usdc), account: thief }
        });
        ensure!(lost.is_some_and(|lost| lost.after == dollars(5_000)), "{preview:?}");
    }
    Ok(())
}

/// X2: what one token says of itself does not change what another is seen to have done, whoever is asked first.
#[tokio::test]
async fn an_answer_that_moves_something_hides_nothing() -> Result<()> {
    for target in [
        address!("0000000000000000000000000000000000002000"),
        address!("ffffffffffffffffffffffffffffffffffff2000"),
    ] {
        let stage = Stage::open().await?;
        let owner = stage.owner(AccountKind::Stateless7702).await?;
        let by = Address::repeat_byte(0x51);
        let (account, usdc) = (owner.account.address, stage.book().usdc);
        // Called without data it says that it moved something; asked, it gives back what it was given, and answers 1.
        let back = Erc20::transferCall { to: account, amount: dollars(5_000) }.abi_encode();
        let code = [
            &hex!("36602c57" "30337f")[..],
            Erc20::Transfer::SIGNATURE_HASH.as_slice(),
            &hex!("60205fa300" "5b604460595f39" "5f5f60445f5f73"),
            usdc.as_slice(),
            &hex!("5af150" "60015f5260205ff3"),
            &back,
        ]
        .concat();
        stage.node().provider().anvil_set_code(target, code.into()).await?;
        stage.node().provider().anvil_mine(Some(1), None).await?;
        let give = Erc20::transferCall { to: target, amount: dollars(5_000) };
        let plain = Execution { target, value: U256::ZERO, data: Bytes::new() };
        let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
        let redemption =
            Redemption::batch(DELEGATION_MANAGER, context, &[call(usdc, &give), plain]);

        let outcome = stage.foresight().judge(&redemption, by).await?;

        let Outcome::Allowed(preview) = &outcome else { bail!("{outcome:?}") };
        for (holder, after) in [(account, dollars(5_000)), (target, dollars(5_000))] {
            let of = Held::Balance { asset: Asset::Erc20(usdc), account: holder };
            let change = preview.changes.iter().find(|change| change.of == of);
            ensure!(change.is_some_and(|change| change.after == after), "{preview:?}");
        }
    }
    Ok(())
}

/// X2, INV-11: by what only a block has, a target could tell a dry run from the deed, and behave as long as it is only tried. What looks at
/// it is not decided; who sends is known of a plain key, and of a session account it is not.
#[tokio::test]
async fn what_looks_at_what_only_its_block_has_is_not_decided() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let (key, account) = (Address::repeat_byte(0x51), Address::repeat_byte(0x53));
    stage.node().provider().anvil_set_code(account, bytes!("00")).await?;
    let target = Address::repeat_byte(0x52);
    let plain = Execution { target, value: U256::ZERO, data: Bytes::new() };
    let judged = async |instruction: u8, by: Address| {
        // The instruction, its answer dropped, and the end.
        let code = Bytes::from(vec![instruction, 0x50, 0x00]);
        stage.node().provider().anvil_set_code(target, code).await?;
        stage.node().provider().anvil_mine(Some(1), None).await?;
        let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
        let redemption = Redemption::single(DELEGATION_MANAGER, context, &plain);
        anyhow::Ok(stage.foresight().judge(&redemption, by).await)
    };

    for (name, instruction) in [
        ("GASPRICE", 0x3a),
        ("COINBASE", 0x41),
        ("PREVRANDAO", 0x44),
        ("GASLIMIT", 0x45),
        ("BASEFEE", 0x48),
        ("BLOBBASEFEE", 0x4a),
    ] {
        let outcome = judged(instruction, key).await?;
        ensure!(matches!(outcome, Err(ChainFault::Machine { .. })), "{name}: {outcome:?}");
    }
    // ORIGIN; and TIMESTAMP, NUMBER, CHAINID and SELFBALANCE, which are known or which everybody asks for.
    for (instruction, by, decided) in [
        (0x32, key, true),
        (0x32, account, false),
        (0x42, key, true),
        (0x43, key, true),
        (0x46, key, true),
        (0x47, key, true),
    ] {
        let outcome = judged(instruction, by).await?;
        ensure!(
            matches!(outcome, Ok(Outcome::Allowed(_))) == decided,
            "{instruction:x}: {outcome:?}"
        );
    }
    Ok(())
}

/// X2: nobody can foretell with how much gas he will be tried, and it is what is signed.
#[tokio::test]
async fn nobody_foretells_the_gas_that_he_is_tried_with() -> Result<()> {
    let stage = Stage::open().await?;
    let (_, agent, _) = golem(&stage, AccountKind::Stateless7702, |_| ()).await?;
    let by = agent.key.address();
    let swap = fair_swap(&stage, agent.account, dollars(1));
    let foresight = stage.foresight();
    let mut limits = BTreeSet::new();
    for _ in 0..8 {
        let outcome = foresight.judge(&agent.redemption(&swap)?, by).await?;
        let Outcome::Allowed(preview) = &outcome else { bail!("{outcome:?}") };
        ensure!(preview.gas_limit >= given(preview.gas), "{preview:?}");
        limits.insert(preview.gas_limit);
    }

    ensure!(limits.len() > 1, "{limits:?}");
    Ok(())
}

/// A node that is too busy for some of what it is asked at once is asked for that again, and for no more.
#[tokio::test]
async fn of_many_questions_those_that_a_node_had_no_time_for_are_asked_again() -> Result<()> {
    let stage = Stage::open().await?;
    let (_, agent, _) = golem(&stage, AccountKind::Hybrid, |_| ()).await?;
    let swap = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;
    for code in [429, -32_005] {
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        let members = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&members);
        let busy = Fault::Lie(Arc::new(move |answer| {
            let all = answer.as_array_mut().map(Vec::as_mut_slice).unwrap_or_default();
            counted.store(u64::try_from(all.len()).unwrap_or_default(), SeqCst);
            for one in all.iter_mut().take(2) {
                let id = one.get("id").cloned();
                *one = serde_json::json!({ "jsonrpc": "2.0", "id": id,
                    "error": { "code": code, "message": "too many requests" } });
            }
        }));
        proxy.fail("eth_getBalance", 2, busy);
        let foresight = Foresight::new(Node::connect(proxy.url()).await?);

        let outcome = foresight.judge(&swap, agent.key.address()).await?;

        ensure!(matches!(outcome, Outcome::Allowed(_)), "{code}: {outcome:?}");
        assert_eq!(proxy.failed(), 2, "{code}");
        assert_eq!(members.load(SeqCst), 2, "{code}: the second time those two alone");
    }
    Ok(())
}

/// Public nodes take ten requests in one batch, and some take none but single ones: they are asked in parts.
#[tokio::test]
async fn a_node_that_takes_little_at_once_is_asked_in_parts() -> Result<()> {
    for limit in [10usize, 1] {
        let stage = Stage::open().await?;
        let (_, agent, _) = golem(&stage, AccountKind::Hybrid, |_| ()).await?;
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        let refusals = Arc::new(AtomicU64::new(0));
        let seen = Arc::clone(&refusals);
        let limited = Fault::Lie(Arc::new(move |answer| {
            if answer.as_array().is_some_and(|all| all.len() > limit) {
                seen.fetch_add(1, SeqCst);
                *answer = serde_json::json!({ "jsonrpc": "2.0", "id": null,
                    "error": { "code": -32_014, "message": "maximum 10 calls in 1 batch" } });
            }
        }));
        for method in ["eth_getStorageAt", "eth_getBalance", "eth_getCode"] {
            proxy.fail(method, 10_000, limited.clone());
        }
        let foresight = Foresight::new(Node::connect(proxy.url()).await?);
        let swap = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;

        let outcome = foresight.judge(&swap, agent.key.address()).await?;
        ensure!(matches!(outcome, Outcome::Allowed(_)), "{limit}: {outcome:?}");
        ensure!(refusals.swap(0, SeqCst) > 0, "{limit}: never too much");

        // What it takes is known from then on.
        stage.node().provider().anvil_mine(Some(1), None).await?;
        let outcome = foresight.judge(&swap, agent.key.address()).await?;
        ensure!(matches!(outcome, Outcome::Allowed(_)), "{limit}: {outcome:?}");
        assert_eq!(refusals.load(SeqCst), 0, "{limit}");
    }
    Ok(())
}

/// Of several nodes behind one address one does not have the block yet: it is asked until it has, whatever its words for that are;
/// and it is asked for no less at once because of it.
#[tokio::test]
async fn a_node_that_does_not_have_the_block_yet_is_asked_again() -> Result<()> {
    let stage = Stage::open().await?;
    let (_, agent, _) = golem(&stage, AccountKind::Hybrid, |_| ()).await?;
    let swap = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;
    for words in ["unknown block", "header not found", "header for hash not found"] {
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        let late = Fault::Lie(Arc::new(move |answer| {
            for one in answer.as_array_mut().into_iter().flatten() {
                let id = one.get("id").cloned();
                *one = serde_json::json!({ "jsonrpc": "2.0", "id": id,
                    "error": { "code": -32_000, "message": words } });
            }
        }));
        proxy.fail("eth_getBalance", 3, late);
        // A name of loopback that is not taken for a chain to play with, which has one node.
        let url = proxy.url().as_str().replace("127.0.0.1", "0.0.0.0").parse()?;
        let foresight = Foresight::new(Node::connect(&url).await?);

        let outcome = foresight.judge(&swap, agent.key.address()).await?;

        ensure!(matches!(outcome, Outcome::Allowed(_)), "{words}: {outcome:?}");
        assert_eq!(proxy.failed(), 3, "{words}");
        stage.node().provider().anvil_mine(Some(1), None).await?;
        let _ = proxy.requests();
        let next = foresight.judge(&swap, agent.key.address()).await?;
        ensure!(matches!(next, Outcome::Allowed(_)), "{words}: {next:?}");
        ensure!(proxy.requests() <= 4, "{words}: in many parts");
    }
    Ok(())
}

/// X2: what another chain has built in, or counts otherwise, is not decided by this machine; the rest is, and of gas that is not
/// of execution the node is asked.
#[tokio::test]
async fn what_only_another_chain_knows_is_not_decided() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let by = Address::repeat_byte(0x51);
    let late = BlockNumber { after: 1, before: 0 }.encode();
    let late = Caveat::new(enforcers::BLOCK_NUMBER, late);
    let plain = Address::repeat_byte(0x52);
    // Celo's coin moves by a built-in contract; Arbitrum's have code that is none.
    let celo = address!("00000000000000000000000000000000000000fd");
    let arbitrum = address!("0000000000000000000000000000000000000064");
    stage.node().provider().anvil_set_code(arbitrum, Bytes::from_static(&[0xfe])).await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    for (chain_id, target, caveats, decided) in [
        (42_161, plain, vec![], true),
        (42_161, plain, vec![late.clone()], false),
        (42_161, arbitrum, vec![], false),
        (42_220, plain, vec![late], true),
        (42_220, celo, vec![], false),
    ] {
        stage.node().provider().anvil_set_chain_id(chain_id).await?;
        let node = Node::connect(stage.chain().url()).await?;
        let domain = SigningDomain { chain_id, manager: DELEGATION_MANAGER };
        let links = granted(&stage, &owner, by, caveats)?;
        let links = links
            .into_iter()
            .map(|link| owner.signer.grant(&domain, link))
            .collect::<Result<_, _>>();
        let deed = Execution { target, value: U256::ZERO, data: Bytes::new() };
        let redemption =
            Redemption::single(DELEGATION_MANAGER, PermissionContext::new(links?)?, &deed);
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        let foresight = Foresight::new(Node::connect(proxy.url()).await?);
        let outcome = foresight.judge(&redemption, by).await;
        // The same again in the same block asks nothing but which block that is.
        let _ = proxy.requests();
        let again = foresight.judge(&redemption, by).await;
        let (once, again) = (outcome.as_ref().map(undrawn), again.as_ref().map(undrawn));
        ensure!(format!("{again:?}") == format!("{once:?}"), "{again:?}");
        ensure!(!decided || proxy.requests() == 1, "{chain_id}: asked again");
        let request = TransactionRequest::default()
            .with_from(by)
            .with_to(DELEGATION_MANAGER)
            .with_input(redemption.calldata());
        match outcome {
            Ok(Outcome::Allowed(preview)) => {
                ensure!(decided, "{chain_id} {target}: {preview:?}");
                let estimate = node.provider().estimate_gas(request).await?;
                ensure!(chain_id != 42_161 || preview.gas >= estimate, "{estimate}: {preview:?}");
            }
            Err(golem_chain::ChainFault::Machine { why }) => {
                ensure!(!decided, "{chain_id} {target}: {why}");
            }
            other => bail!("{chain_id} {target}: {other:?}"),
        }
    }
    Ok(())
}

/// D20: what a rollup charges for data counts against ceiling and purse, and one that does not say what it charges is not taken for
/// one that charges nothing. Whoever is asked is known with the block: that costs no round trip of its own.
#[tokio::test]
async fn what_a_rollup_charges_for_data_is_part_of_what_a_transaction_costs() -> Result<()> {
    const EACH: u64 = 1_000_000_000_000;
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let (by, good) = (agent.key.address(), swap(&stage, agent.account, dollars(1)));
    let redemption = agent.redemption(&good)?;
    let policy = ClearingPolicy::default();
    let oracle = address!("420000000000000000000000000000000000000F");
    let install = async |code: Bytes| {
        stage.node().provider().anvil_set_code(oracle, code).await?;
        stage.node().provider().anvil_mine(Some(1), None).await
    };
    let cleared = async |policy: &ClearingPolicy| {
        rehearse(&stage.foresight(), judged(agent.redemption(&good)?), by, policy)
            .await
            .map_err(anyhow::Error::from)
    };
    let Outcome::Allowed(free) = stage.foresight().judge(&redemption, by).await? else {
        bail!("a chain that charges nothing")
    };
    ensure!(free.data_fee.is_zero(), "{free:?}");

    // So much for each byte: what it is asked with, times that.
    install(bytes!("60043564e8d4a51000025f5260205ff3")).await?;
    let Outcome::Allowed(charged) = stage.foresight().judge(&redemption, by).await? else {
        bail!("a chain that charges")
    };
    let bytes = u64::try_from(redemption.calldata().len())?;
    ensure!(charged.data_fee >= U256::from(bytes * EACH), "{charged:?}");
    ensure!(charged.data_fee < U256::from((bytes + 200) * EACH), "{charged:?}");
    ensure!(matches!(cleared(&policy).await?, Rehearsal::Passed(_)), "within its ceiling");
    let tight = ClearingPolicy { fee_ceiling: charged.data_fee, ..policy };
    let dear = cleared(&tight).await?;
    ensure!(matches!(&dear, Rehearsal::Refused(d) if d.code == DenialCode::FeeCeiling), "{dear:?}");
    stage.fund(by, charged.data_fee, U256::ZERO).await?;
    let broke = cleared(&policy).await?;
    ensure!(matches!(&broke, Rehearsal::Refused(d) if d.code == DenialCode::NoGas), "{broke:?}");

    install(bytes!("5f5ffd")).await?;
    let silent = stage.foresight().judge(&redemption, by).await;
    ensure!(matches!(silent, Err(golem_chain::ChainFault::Machine { .. })), "{silent:?}");
    Ok(())
}

/// Who signed a grant is looked up once: that changes neither what it costs nor what is said of another signature.
#[tokio::test]
async fn a_grant_that_was_judged_before_is_judged_alike_and_a_forged_one_is_not() -> Result<()> {
    let stage = Stage::open().await?;
    let (_, agent, _) = golem(&stage, AccountKind::Stateless7702, |_| ()).await?;
    let key = agent.key.address();
    let sale = fair_swap(&stage, agent.account, dollars(7));
    let mut forged = agent.grant.clone();
    let mut bytes = forged.signature.to_vec();
    *bytes.get_mut(40).context("a signature")? ^= 1;
    forged.signature = bytes.into();
    let forged = PermissionContext::new(vec![forged])?;
    let forged = Redemption::single(DELEGATION_MANAGER, forged, &sale);
    let signed = agent.redemption(&sale)?;

    let foresight = stage.foresight();
    let first = foresight.judge(&signed, key).await?;
    ensure!(matches!(first, Outcome::Allowed(_)), "{first:?}");
    let refused = foresight.judge(&forged, key).await?;
    ensure!(matches!(refused, Outcome::Refused(_)), "{refused:?}");
    assert_eq!(foresight.judge(&forged, key).await?, refused);
    assert_eq!(undrawn(&foresight.judge(&signed, key).await?), undrawn(&first));
    Ok(())
}

/// X2: what answers everything with a yes is no manager, and what is not looked at may be what leaves: neither is decided.
#[tokio::test]
async fn neither_a_manager_that_is_none_nor_changes_without_end_are_allowed() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let by = Address::repeat_byte(0x51);
    let context = PermissionContext::new(granted(&stage, &owner, by, vec![])?)?;
    let target = Address::repeat_byte(0x52);
    let call = Execution { target, value: U256::ZERO, data: Bytes::new() };
    let judged = async |manager: Address| {
        let redemption = Redemption::single(manager, context.clone(), &call);
        stage.foresight().judge(&redemption, by).await
    };
    ensure!(matches!(judged(DELEGATION_MANAGER).await?, Outcome::Allowed(_)));
    // Wrapped ether takes any call.
    let no_manager = judged(stage.book().weth).await;
    ensure!(matches!(no_manager, Err(golem_chain::ChainFault::Missing { .. })), "{no_manager:?}");

    // Three hundred transfers, each of somebody else: count down, log, and begin again until nothing is left.
    let mut code = vec![0x61, 0x01, 0x2c, 0x5b, 0x80, 0x81, 0x7f];
    code.extend_from_slice(Erc20::Transfer::SIGNATURE_HASH.as_slice());
    code.extend_from_slice(&[
        0x60, 0x20, 0x5f, 0xa3, 0x60, 0x01, 0x90, 0x03, 0x80, 0x60, 0x03, 0x57, 0x00,
    ]);
    stage.node().provider().anvil_set_code(target, code.into()).await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    let noise = judged(DELEGATION_MANAGER).await;
    ensure!(matches!(noise, Err(golem_chain::ChainFault::Machine { .. })), "{noise:?}");

    // A hundred and twenty, of a token that answers no question in any time.
    let mut code = vec![0x36, 0x60, 0x38, 0x57, 0x61, 0x00, 0x78, 0x5b, 0x80, 0x81, 0x7f];
    code.extend_from_slice(Erc20::Transfer::SIGNATURE_HASH.as_slice());
    code.extend_from_slice(&[
        0x60, 0x20, 0x5f, 0xa3, 0x60, 0x01, 0x90, 0x03, 0x80, 0x60, 0x07, 0x57, 0x00, 0x5b, 0x60,
        0x38, 0x56,
    ]);
    stage.node().provider().anvil_set_code(target, code.into()).await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    let work = judged(DELEGATION_MANAGER).await;
    let Err(golem_chain::ChainFault::Machine { why }) = work else { bail!("{work:?}") };
    ensure!(why.contains("too much work"), "{why}");
    Ok(())
}

/// A reorg: what stood on the block before need not stand on this one.
#[tokio::test]
async fn a_block_of_another_line_is_not_judged_by_code_of_the_first() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let by = Address::repeat_byte(0x51);
    let links = granted(&stage, &owner, by, vec![])?;
    let target = Address::repeat_byte(0x52);
    let call = Execution { target, value: U256::ZERO, data: Bytes::new() };
    let redemption = Redemption::single(DELEGATION_MANAGER, PermissionContext::new(links)?, &call);
    let foresight = stage.foresight();
    let provider = stage.node().provider();
    let before = provider.anvil_snapshot().await?;
    // PUSH0 PUSH0 REVERT.
    provider.anvil_set_code(target, Bytes::from_static(&[0x5f, 0x5f, 0xfd])).await?;
    provider.anvil_mine(Some(1), None).await?;
    let first = foresight.judge(&redemption, by).await?;

    provider.anvil_revert(before).await?;
    provider.anvil_mine(Some(1), None).await?;
    let second = foresight.judge(&redemption, by).await?;

    ensure!(matches!(first, Outcome::Refused(_)), "{first:?}");
    ensure!(matches!(second, Outcome::Allowed(_)), "{second:?}");
    Ok(())
}

/// An enforcer that is not there refuses everything, and it is said which.
#[tokio::test]
async fn an_enforcer_without_code_is_named() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let mut agent = Agent::hired(&stage, &owner, 5).await?;
    let nowhere = Address::repeat_byte(0x99);
    agent.grant.caveats.push(Caveat::new(nowhere, vec![1]));
    agent.grant = owner.signer.grant(&stage.domain(), agent.grant)?;
    let denial =
        agent.attempt(&stage, &swap(&stage, agent.account, dollars(1))).await?.refusal()?;
    assert_eq!(denial.enforcer, Some(nowhere), "{denial}");
    ensure!(denial.reason.contains("bardo chains check"), "{denial}");
    Ok(())
}
