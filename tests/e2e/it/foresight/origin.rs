//! A refusal is said in the name of who made it, and of nobody else (X2, X4): before it is sent, and after it was mined.

use super::{call, golem, granted};
use crate::raw::RawKey;
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    sol_types::{Revert, SolError as _, SolValue as _},
};
use anyhow::{Result, bail, ensure};
use bardo_bindings::{
    framework::{
        CaveatEnforcer, DELEGATION_MANAGER, DelegationManager::CannotUseADisabledDelegation,
        SelectedGroup,
    },
    golem_charter_enforcer, mortality_time_window_enforcer,
};
use bardo_testkit::{Fault, Proxy, Stage, dollars, fair_swap};
use golem_chain::{AccountKind, Foresight, Node};
use golem_custody::{
    Denial, DenialCode, Execution, Outcome, Receipt, Redemption, SessionSigner as _,
};
use golem_delegation::{
    Caveat, PermissionContext, enforcers,
    terms::{LimitedCalls, LogicalOrWrapper, MortalityTimeWindow},
};
use serde_json::json;
use std::time::Duration;

fn calls(most: u64) -> Caveat {
    Caveat::new(enforcers::LIMITED_CALLS, LimitedCalls(U256::from(most)).encode())
}

const fn to(target: Address) -> Execution {
    Execution { target, value: U256::ZERO, data: Bytes::new() }
}

async fn refused(stage: &Stage, redemption: &Redemption, by: Address) -> Result<Denial> {
    match stage.foresight().judge(redemption, by).await? {
        Outcome::Refused(denial) => Ok(denial),
        Outcome::Allowed(preview) => bail!("{preview:?}"),
    }
}

/// What is said of it once it was mined: by a node that keeps traces, and by one that does not.
async fn autopsies(stage: &Stage, redemption: &Redemption, key: &RawKey) -> Result<[Denial; 2]> {
    let mined = key.send(stage, DELEGATION_MANAGER, redemption.calldata()).await?;
    ensure!(!mined.status(), "went through");
    let receipt = Receipt {
        hash: mined.transaction_hash,
        success: false,
        gas_used: mined.gas_used,
        block_number: mined.block_number.unwrap_or_default(),
    };
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let away = Fault::lie(|answer| {
        *answer = json!({ "jsonrpc": "2.0", "id": answer["id"],
            "error": { "code": -32601, "message": "method not found" } });
    });
    proxy.fail("debug_traceTransaction", 1, away);
    let without = Foresight::new(Node::connect(proxy.url()).await?);
    let without = without.autopsy(&receipt, redemption, key.address()).await?;
    ensure!(proxy.failed() == 1, "it was not asked for traces");
    Ok([stage.foresight().autopsy(&receipt, redemption, key.address()).await?, without])
}

/// Code that reverts with `data`.
fn reverting(data: &[u8]) -> Result<Bytes> {
    let [high, low] = u16::try_from(data.len())?.to_be_bytes();
    // PUSH2 length PUSH1 12 PUSH0 CODECOPY PUSH2 length PUSH0 REVERT, and the data.
    let code = [0x61, high, low, 0x60, 12, 0x5f, 0x39, 0x61, high, low, 0x5f, 0xfd];
    Ok([&code, data].concat().into())
}

#[tokio::test]
async fn a_target_speaks_neither_for_the_manager_nor_for_an_enforcer() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let key = RawKey::born(&stage).await?;
    let links = granted(&stage, &owner, key.address(), vec![calls(5)])?;
    let context = PermissionContext::new(links)?;
    let provider = stage.node().provider();
    let mut targets = vec![];
    for data in [
        CannotUseADisabledDelegation {}.abi_encode(),
        Revert::from("LimitedCallsEnforcer:limit-exceeded").abi_encode(),
        vec![],
    ] {
        let target = Address::repeat_byte(0x60 + u8::try_from(targets.len())?);
        provider.anvil_set_code(target, reverting(&data)?).await?;
        targets.push(to(target));
    }
    // The enforcer itself, asked by somebody else about the very grant.
    let none = calls(0);
    let posed = CaveatEnforcer::beforeHookCall {
        terms: none.terms,
        args: Bytes::new(),
        mode: B256::ZERO,
        executionCalldata: vec![0; 52].into(),
        delegationHash: context.leaf().hash().0,
        delegator: owner.account.address,
        redeemer: key.address(),
    };
    targets.push(call(enforcers::LIMITED_CALLS, &posed));
    // And the manager, asked within.
    let within = Redemption::single(DELEGATION_MANAGER, context.clone(), &to(Address::ZERO));
    targets.push(Execution { data: within.calldata(), ..to(DELEGATION_MANAGER) });
    provider.anvil_mine(Some(1), None).await?;

    for target in &targets {
        let redemption = Redemption::single(DELEGATION_MANAGER, context.clone(), target);
        let denial = refused(&stage, &redemption, key.address()).await?;
        ensure!(denial.code == DenialCode::Reverted, "{target:?}: {denial:?}");
        ensure!(denial.enforcer.is_none(), "{target:?}: {denial:?}");
        for mined in autopsies(&stage, &redemption, &key).await? {
            assert_eq!(mined, denial);
        }
    }
    Ok(())
}

#[tokio::test]
async fn of_several_grants_and_bounds_the_one_that_refused_is_shown() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let key = RawKey::born(&stage).await?;
    let of = |caveats| {
        anyhow::Ok(PermissionContext::new(granted(&stage, &owner, key.address(), caveats)?)?)
    };
    let deed = to(Address::repeat_byte(0x52));
    let pair = |one: &PermissionContext, other: &PermissionContext| {
        Redemption::single(DELEGATION_MANAGER, one.clone(), &deed).and_single(other.clone(), &deed)
    };
    let alone = |context| Redemption::single(DELEGATION_MANAGER, context, &deed);
    let (seven, one) = (of(vec![calls(7)])?, of(vec![calls(1)])?);
    let used = key.send(&stage, DELEGATION_MANAGER, alone(one.clone()).calldata()).await?;
    ensure!(used.status(), "the first call");
    let group = LogicalOrWrapper(vec![vec![calls(7)], vec![calls(9), calls(0)]]).encode()?;
    let mut either = Caveat::new(enforcers::LOGICAL_OR_WRAPPER, group);
    let chosen = SelectedGroup { groupIndex: U256::from(1), caveatArgs: vec![Bytes::new(); 2] };
    either.args = chosen.abi_encode().into();

    for (redemption, bound) in [
        (pair(&seven, &one), "all 1 calls"),
        (pair(&one, &seven), "all 1 calls"),
        (alone(of(vec![calls(7), calls(0)])?), "all 0 calls"),
        (alone(of(vec![calls(7), either])?), "all 0 calls"),
    ] {
        let denial = refused(&stage, &redemption, key.address()).await?;
        ensure!(denial.code == DenialCode::Calls, "{denial:?}");
        ensure!(denial.enforcer == Some(enforcers::LIMITED_CALLS), "{denial:?}");
        ensure!(denial.reason.starts_with(bound), "{denial:?}");
        for mined in autopsies(&stage, &redemption, &key).await? {
            assert_eq!(mined, denial);
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_window_beside_a_charter_is_named() -> Result<()> {
    let stage = Stage::open().await?;
    let (owner, mut agent, _) = golem(&stage, AccountKind::Stateless7702, |_| ()).await?;
    let over = MortalityTimeWindow::new(1, 2)?;
    agent.grant.caveats.push(Caveat::new(mortality_time_window_enforcer(), over.encode()));
    agent.grant = owner.signer.grant(&stage.domain(), agent.grant)?;
    let swap = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;

    let denial = refused(&stage, &swap, agent.key.address()).await?;

    ensure!(denial.code == DenialCode::WindowExpired, "{denial:?}");
    ensure!(denial.enforcer == Some(mortality_time_window_enforcer()), "{denial:?}");
    assert_eq!(denial.enforcer_name.as_deref(), Some("MortalityTimeWindowEnforcer"));
    Ok(())
}

/// X4: what an enforcer asks, and gets no answer from, is no target, and no enforcer either.
#[tokio::test]
async fn a_feed_that_fails_is_told_by_the_enforcer_that_asked_it() -> Result<()> {
    let stage = Stage::open().await?;
    let (_, agent, _) = golem(&stage, AccountKind::Stateless7702, |_| ()).await?;
    let swap = agent.redemption(&fair_swap(&stage, agent.account, dollars(1)))?;
    let feed = stage.book().eth_usd;
    let forged = Revert::from("LimitedCallsEnforcer:limit-exceeded").abi_encode();
    for data in [Revert::from("No data present").abi_encode(), vec![], forged] {
        stage.node().provider().anvil_set_code(feed, reverting(&data)?).await?;
        stage.node().provider().anvil_mine(Some(1), None).await?;

        let denial = refused(&stage, &swap, agent.key.address()).await?;

        ensure!(denial.code == DenialCode::OtherCaveat, "{denial:?}");
        ensure!(denial.enforcer == Some(golem_charter_enforcer()), "{denial:?}");
        ensure!(denial.reason.contains(&feed.to_string()), "{denial:?}");
    }
    Ok(())
}

/// An enforcer that nobody knows is still no target.
#[tokio::test]
async fn an_enforcer_of_ones_own_refuses_in_its_own_name() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let by = Address::repeat_byte(0x51);
    let own = Address::repeat_byte(0x53);
    let forged = reverting(&Revert::from("LimitedCallsEnforcer:limit-exceeded").abi_encode())?;
    stage.node().provider().anvil_set_code(own, forged).await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    let links = granted(&stage, &owner, by, vec![calls(5), Caveat::new(own, vec![1])])?;
    let context = PermissionContext::new(links)?;
    let redemption = Redemption::single(DELEGATION_MANAGER, context, &to(Address::ZERO));

    let denial = refused(&stage, &redemption, by).await?;

    ensure!(denial.code == DenialCode::OtherCaveat, "{denial:?}");
    assert_eq!((denial.enforcer, denial.enforcer_name), (Some(own), None));
    Ok(())
}

#[tokio::test]
async fn more_coins_than_the_account_holds_are_told_with_both_numbers() -> Result<()> {
    let stage = Stage::open().await?;
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let owner = stage.owner(kind).await?;
        let account = owner.account.address;
        let key = RawKey::born(&stage).await?;
        let context = PermissionContext::new(granted(&stage, &owner, key.address(), vec![])?)?;
        let holds = stage.node().provider().get_balance(account).await?;
        let first = Execution { value: holds / U256::from(2), ..to(Address::repeat_byte(0x52)) };
        let left = holds - first.value;
        let value = left + U256::from(1);
        let batch = [first.clone(), Execution { value, ..first }];
        let redemption = Redemption::batch(DELEGATION_MANAGER, context, &batch);

        let denial = refused(&stage, &redemption, key.address()).await?;

        let sends = format!("{account} was to send {value} wei, and holds ");
        assert_eq!(denial.reason, format!("{sends}{left} wei"));
        ensure!(denial.code == DenialCode::Reverted, "{denial:?}");
        let [traced, untraced] = autopsies(&stage, &redemption, &key).await?;
        assert_eq!(untraced, denial);
        assert_eq!(traced.reason, format!("{sends}less"));
    }
    Ok(())
}
