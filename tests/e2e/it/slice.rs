//! The thin slice: a delegated swap, what is refused around it, and the owner's way out.

use alloy::{
    consensus::TxType,
    network::TransactionBuilder,
    primitives::{
        Address, B256, Bytes, U256,
        aliases::{U24, U160},
    },
    providers::{
        Provider,
        ext::{AnvilApi, DebugApi},
    },
    rpc::types::TransactionRequest,
    rpc::types::trace::geth::{CallConfig, CallFrame, GethDebugTracingOptions, GethTrace},
    sol_types::{SolCall, SolValue},
};
use anyhow::{Result, bail};
use bardo_bindings::{
    defi::{Erc20, SwapRouter, SwapRouter02},
    framework::{DELEGATION_MANAGER, DeleGator, DelegationManager, MODE_SINGLE, MODE_SINGLE_TRY},
    mortality_time_window_enforcer,
};
use bardo_testkit::{
    Agent, Attempt, STIPEND, Stage, dollars, fixed_signer, judged, mandate, swap, swap_grant,
    unsigned,
};
use golem_chain::{Account, AccountKind, OwnerError, revocation};
use golem_custody::{
    ClearingPolicy, CustodyError, DenialCode, Execution, Redemption, Rehearsal, Reservation,
    SessionKey, SessionSigner, rehearse,
};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, terms::MortalityTimeWindow,
};

const KINDS: [AccountKind; 2] = [AccountKind::Stateless7702, AccountKind::Hybrid];

/// Every call of a trace, outermost first.
fn calls(frame: &CallFrame, out: &mut Vec<(Address, Option<Address>)>) {
    out.push((frame.from, frame.to));
    for inner in &frame.calls {
        calls(inner, out);
    }
}

async fn trace(stage: &Stage, hash: B256) -> Result<Vec<(Address, Option<Address>)>> {
    let options = GethDebugTracingOptions::call_tracer(CallConfig::default());
    let GethTrace::CallTracer(frame) =
        stage.node().provider().debug_trace_transaction(hash, options).await?
    else {
        bail!("not a call trace");
    };
    let mut found = Vec::new();
    calls(&frame, &mut found);
    Ok(found)
}

#[tokio::test]
async fn a_session_key_swaps_from_the_owners_account() -> Result<()> {
    for kind in KINDS {
        let stage = Stage::open().await?;
        let owner = stage.owner(kind).await?;
        let agent = Agent::hired(&stage, &owner, 3).await?;
        let book = stage.book();
        let weth_before = stage.balance_of(book.weth, agent.account).await?;

        let receipt =
            agent.attempt(&stage, &swap(&stage, agent.account, dollars(100))).await?.receipt()?;

        let sold = dollars(10_000) - stage.balance_of(book.usdc, agent.account).await?;
        let bought = stage.balance_of(book.weth, agent.account).await? - weth_before;
        assert_eq!(sold, dollars(100), "{kind:?}");
        // 100 USDC at 2,500 less the 0.05 % fee and a little price impact.
        assert!(bought > U256::from(39_900_000_000_000_000u64), "{kind:?} bought {bought}");
        assert!(bought < U256::from(40_000_000_000_000_000u64), "{kind:?} bought {bought}");
        let seen = trace(&stage, receipt.hash).await?;
        assert!(
            seen.contains(&(agent.account, Some(book.swap_router_02))),
            "msg.sender at the router is the owner's account: {seen:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_multisig_owner_grants_with_two_of_three_keys_and_not_with_one() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.multisig_owner().await?;
    let session = SessionKey::born();
    stage.fund(session.address(), STIPEND, U256::ZERO).await?;
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 3600)?;
    let mut terms = swap_grant(&stage, session.address(), owner.address(), 2, window);
    // Nobody approved the router here: a call that needs no allowance shows the same thing.
    terms.router = stage.book().usdc;
    let mut grant = unsigned(owner.address(), &terms);
    grant.caveats.truncate(3);
    let transfer = Execution {
        target: stage.book().usdc,
        value: U256::ZERO,
        data: Erc20::transferCall { to: Address::repeat_byte(0x77), amount: dollars(5) }
            .abi_encode()
            .into(),
    };

    let one = owner.grant_by(1, &stage.domain(), grant.clone())?;
    let two = owner.grant(&stage.domain(), grant)?;
    let by_one = Agent { key: SessionKey::born(), grant: one, account: owner.address() };
    let weak = Redemption::single(
        DELEGATION_MANAGER,
        PermissionContext::new(vec![by_one.grant.clone()])?,
        &transfer,
    );
    let agent = Agent { key: session, grant: two, account: owner.address() };

    let policy = ClearingPolicy::default();
    let refused = rehearse(&stage.foresight(), judged(weak), agent.key.address(), &policy).await?;
    assert!(
        matches!(&refused, Rehearsal::Refused(d) if d.code == DenialCode::Signature),
        "{refused:?}"
    );
    let _ = agent.attempt(&stage, &transfer).await?.receipt()?;
    assert_eq!(stage.balance_of(stage.book().usdc, Address::repeat_byte(0x77)).await?, dollars(5));
    Ok(())
}

/// Each caveat of the grant, one attempt outside it: refused by the judge with its own code, and
/// by the chain when the judge is skipped.
#[tokio::test]
async fn what_a_caveat_does_not_allow_is_refused_by_judge_and_chain() -> Result<()> {
    for kind in KINDS {
        let stage = Stage::open().await?;
        let owner = stage.owner(kind).await?;
        let agent = Agent::hired(&stage, &owner, 1).await?;
        let thief = Address::repeat_byte(0x66);
        let good = swap(&stage, agent.account, dollars(10));
        let other_target = Execution { target: stage.book().usdc, ..good.clone() };
        let other_method =
            Execution { data: SwapRouter02::factoryCall {}.abi_encode().into(), ..good.clone() };
        let to_thief = swap(&stage, thief, dollars(10));
        let mut reversed = good.data.to_vec();
        reversed[4..68].rotate_left(32);
        let other_pair = Execution { data: reversed.into(), ..good.clone() };
        let mut dear = good.data.to_vec();
        // The fee's last two bytes: the unused 1 % tier, where a thief could open a pool.
        dear[98..100].copy_from_slice(&10_000u16.to_be_bytes());
        let other_pool = Execution { data: dear.into(), ..good.clone() };
        let with_value = Execution { value: U256::from(1), ..good.clone() };
        // ATK-16: too short for a selector, too short for the pinned argument.
        let no_selector = Execution { data: Bytes::from_static(&[0x04]), ..good.clone() };
        let cut = Execution { data: good.data.slice(..70), ..good.clone() };

        for (attempt, code) in [
            (&other_target, DenialCode::Target),
            (&other_method, DenialCode::Method),
            (&to_thief, DenialCode::Calldata),
            (&other_pair, DenialCode::Calldata),
            (&other_pool, DenialCode::Calldata),
            (&with_value, DenialCode::Value),
            (&no_selector, DenialCode::Method),
            (&cut, DenialCode::Calldata),
        ] {
            let denial = agent.attempt(&stage, attempt).await?.refusal()?;
            assert_eq!(denial.code, code, "{kind:?} {denial}");
            assert!(denial.enforcer.is_some(), "{denial:?} names the enforcer");
            let forced = agent.force(&stage, attempt).await?;
            assert!(!forced.status(), "{kind:?} {code:?} went through");
        }
        assert_eq!(stage.balance_of(stage.book().weth, thief).await?, U256::ZERO);

        let _ = agent.attempt(&stage, &good).await?.receipt()?;
        let again = agent.attempt(&stage, &good).await?.refusal()?;
        assert_eq!(again.code, DenialCode::Calls);
        assert!(again.reason.contains("all 1 calls"), "{again}");
        assert!(!agent.force(&stage, &good).await?.status());
    }
    Ok(())
}

#[tokio::test]
async fn the_window_opens_with_its_first_second_and_closes_after_its_last() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let start = stage.now().await? + 1_000;
    let window = MortalityTimeWindow::new(start, start + 100)?;
    let agent = Agent::hired_for(&stage, &owner, 10, window).await?;
    let good = swap(&stage, agent.account, dollars(1));

    stage.warp(start - 1).await?;
    let early = agent.attempt(&stage, &good).await?.refusal()?;
    assert_eq!(early.code, DenialCode::WindowEarly);
    assert!(early.reason.contains(&start.to_string()), "{early}");

    // The transaction itself must stand on the bound, not only the dry run before it.
    let provider = stage.node().provider();
    stage.warp(start).await?;
    let _ = agent.attempt(&stage, &good).await?.receipt()?;
    provider.anvil_set_next_block_timestamp(start + 100).await?;
    assert!(agent.force(&stage, &good).await?.status(), "the last second belongs to the window");
    provider.anvil_set_next_block_timestamp(start + 101).await?;
    assert!(!agent.force(&stage, &good).await?.status(), "one second later it is closed");
    let late = agent.attempt(&stage, &good).await?.refusal()?;
    assert_eq!(late.code, DenialCode::WindowExpired);
    Ok(())
}

#[tokio::test]
async fn another_redeemer_gains_nothing_even_by_a_redelegation() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let good = swap(&stage, agent.account, dollars(1));
    let thief = SessionKey::born();
    stage.fund(thief.address(), STIPEND, U256::ZERO).await?;
    let policy = ClearingPolicy::default();

    // The same grant, redeemed by a stranger.
    let plain = agent.redemption(&good)?;
    let stranger = rehearse(&stage.foresight(), judged(plain), thief.address(), &policy).await?;
    assert!(
        matches!(&stranger, Rehearsal::Refused(d) if d.code == DenialCode::NotTheDelegate),
        "{stranger:?}"
    );

    // Passed on by a key that was stolen: the redeemer caveat of the root still names the agent.
    let stolen = fixed_signer(0x31)?;
    stage.fund(stolen.address(), STIPEND, U256::ZERO).await?;
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 3600)?;
    let terms = swap_grant(&stage, stolen.address(), agent.account, 5, window);
    let root = owner.signer.grant(&stage.domain(), unsigned(agent.account, &terms))?;
    let child = Delegation {
        delegate: thief.address(),
        delegator: stolen.address(),
        authority: root.hash().0,
        caveats: vec![],
        salt: U256::ZERO,
        signature: Bytes::new(),
    };
    let child = stolen.grant(&stage.domain(), child)?;
    let context = PermissionContext::new(vec![child, root])?;
    let passed_on = Redemption::single(DELEGATION_MANAGER, context, &good);
    let refused = rehearse(&stage.foresight(), judged(passed_on), thief.address(), &policy).await?;
    assert!(
        matches!(&refused, Rehearsal::Refused(d) if d.code == DenialCode::Redeemer),
        "{refused:?}"
    );
    Ok(())
}

/// ATK-01, ATK-02: a grant signed for another manager or chain is worth nothing here.
#[tokio::test]
async fn a_grant_for_another_chain_or_manager_is_refused() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let good = swap(&stage, agent.account, dollars(1));
    let mut elsewhere = stage.domain();
    elsewhere.chain_id = 1;
    let mut other_manager = stage.domain();
    other_manager.manager = Address::repeat_byte(0x99);

    for domain in [elsewhere, other_manager] {
        let grant = owner.signer.grant(&domain, agent.grant.clone())?;
        let context = PermissionContext::new(vec![grant])?;
        let redemption = Redemption::single(DELEGATION_MANAGER, context, &good);
        let policy = ClearingPolicy::default();
        let answer =
            rehearse(&stage.foresight(), judged(redemption), agent.key.address(), &policy).await?;
        assert!(
            matches!(&answer, Rehearsal::Refused(d) if d.code == DenialCode::Signature),
            "{answer:?}"
        );
    }
    Ok(())
}

/// ATK-03: nothing that is not signed may widen a grant; what is signed may not be changed.
#[tokio::test]
async fn a_changed_field_beside_a_valid_signature_is_refused() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let good = swap(&stage, agent.account, dollars(1));
    let policy = ClearingPolicy::default();
    let mut salted = agent.grant.clone();
    salted.salt = U256::from(1);
    let mut reordered = agent.grant.clone();
    reordered.caveats.swap(0, 1);
    let mut fewer = agent.grant.clone();
    fewer.caveats.pop();
    let mut widened = agent.grant.clone();
    widened.caveats[0].terms = MortalityTimeWindow::new(0, u64::MAX)?.encode().into();

    for changed in [salted, reordered, fewer, widened] {
        let context = PermissionContext::new(vec![changed])?;
        let redemption = Redemption::single(DELEGATION_MANAGER, context, &good);
        let answer =
            rehearse(&stage.foresight(), judged(redemption), agent.key.address(), &policy).await?;
        assert!(
            matches!(&answer, Rehearsal::Refused(d) if d.code == DenialCode::Signature),
            "{answer:?}"
        );
    }
    // ATK-04, ATK-05: a wrapped signature, and bytes behind a good one.
    let good_signature = agent.grant.signature.clone();
    let wrapped = (Address::repeat_byte(0x42), Bytes::new(), good_signature.clone()).abi_encode();
    let wrapped = [wrapped, [0x64, 0x92].repeat(16)].concat();
    for signature in [wrapped, [good_signature.as_ref(), &[0][..]].concat()] {
        let context = PermissionContext::new(vec![agent.grant.clone().signed(signature)])?;
        let redemption = Redemption::single(DELEGATION_MANAGER, context, &good);
        let answer =
            rehearse(&stage.foresight(), judged(redemption), agent.key.address(), &policy).await?;
        assert!(matches!(&answer, Rehearsal::Refused(_)), "{answer:?}");
    }
    let mut with_args = agent.grant.clone();
    with_args.caveats[0].args = Bytes::from_static(&[1; 64]);
    let to_thief = swap(&stage, Address::repeat_byte(0x66), dollars(1));
    let context = PermissionContext::new(vec![with_args])?;
    let redemption = Redemption::single(DELEGATION_MANAGER, context, &to_thief);
    let answer =
        rehearse(&stage.foresight(), judged(redemption), agent.key.address(), &policy).await?;
    assert!(
        matches!(&answer, Rehearsal::Refused(d) if d.code == DenialCode::Calldata),
        "{answer:?}"
    );
    Ok(())
}

/// ATK-12: the window judges plain calls and batches; in try mode it refuses.
#[tokio::test]
async fn try_mode_is_refused_by_the_window() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    // Only the window, so that no stock enforcer can be the one that refuses.
    let mut grant = agent.grant.clone();
    grant.caveats.truncate(1);
    let grant = owner.signer.grant(&stage.domain(), grant)?;
    let context = PermissionContext::new(vec![grant])?.encode();
    let call = swap(&stage, agent.account, dollars(1));
    let packed: Bytes =
        [call.target.as_slice(), &call.value.to_be_bytes::<32>(), &call.data].concat().into();
    let redeem = |mode| -> Bytes {
        DelegationManager::redeemDelegationsCall {
            permissionContexts: vec![context.clone()],
            modes: vec![mode],
            executionCallDatas: vec![packed.clone()],
        }
        .abi_encode()
        .into()
    };
    let key = agent.key.address();

    let tried = stage.send_as(key, DELEGATION_MANAGER, U256::ZERO, redeem(MODE_SINGLE_TRY)).await?;
    let plain = stage.send_as(key, DELEGATION_MANAGER, U256::ZERO, redeem(MODE_SINGLE)).await?;

    assert!(!tried.status());
    assert!(plain.status(), "the same call in default mode goes through");
    Ok(())
}

#[tokio::test]
async fn a_batch_is_judged_as_one() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let mut grant = agent.grant.clone();
    grant.caveats.truncate(1);
    let grant = owner.signer.grant(&stage.domain(), grant)?;
    let context = PermissionContext::new(vec![grant])?;
    let one = swap(&stage, agent.account, dollars(1));
    let too_much = swap(&stage, agent.account, dollars(1_000_000));
    let policy = ClearingPolicy::default();
    let before = stage.balance_of(stage.book().usdc, agent.account).await?;

    let both = Redemption::batch(DELEGATION_MANAGER, context.clone(), &[one.clone(), one.clone()]);
    let signed = match agent.signed(&stage, both).await? {
        Ok(signed) => signed,
        Err(denial) => bail!("refused: {denial}"),
    };
    assert!(stage.node().send(&signed).await?.status());
    let half = Redemption::batch(DELEGATION_MANAGER, context, &[one, too_much]);
    let refused = rehearse(&stage.foresight(), judged(half), agent.key.address(), &policy).await?;

    assert!(
        matches!(&refused, Rehearsal::Refused(d) if d.code == DenialCode::Reverted),
        "{refused:?}"
    );
    assert_eq!(before - stage.balance_of(stage.book().usdc, agent.account).await?, dollars(2));
    Ok(())
}

/// SPEC G5 for both kinds of account: one plain transaction of the owner's EOA.
#[tokio::test]
async fn after_revocation_the_next_attempt_fails_and_names_the_cause() -> Result<()> {
    for kind in KINDS {
        let stage = Stage::open().await?;
        let owner = stage.owner(kind).await?;
        let agent = Agent::hired(&stage, &owner, 5).await?;
        let good = swap(&stage, agent.account, dollars(1));
        let stop =
            owner.account.revocation(stage.node().chain_id(), &owner.signer, &agent.grant)?;
        let _ = agent.attempt(&stage, &good).await?.receipt()?;

        // Sent by anybody else it does nothing.
        let stranger = Address::repeat_byte(0x55);
        stage.fund(stranger, STIPEND, U256::ZERO).await?;
        assert!(!stage.send_as(stranger, stop.to, U256::ZERO, stop.data.clone()).await?.status());
        assert!(matches!(agent.attempt(&stage, &good).await?, Attempt::Done(_)));

        let receipt = stage.send_as(stop.from, stop.to, U256::ZERO, stop.data).await?;

        assert!(receipt.status(), "{kind:?}");
        let denial = agent.attempt(&stage, &good).await?.refusal()?;
        assert_eq!(denial.code, DenialCode::DelegationDisabled, "{kind:?}");
        assert!(!agent.force(&stage, &good).await?.status(), "{kind:?}");
        let hash = agent.grant.hash().0;
        let read = DelegationManager::disabledDelegationsCall { delegationHash: hash };
        assert!(stage.node().read(DELEGATION_MANAGER, read).await?);
    }
    Ok(())
}

/// ATK-09: a chain is as good as its weakest link.
#[tokio::test]
async fn a_middle_link_revoked_or_expired_stops_everything_below() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let (first, second) = (fixed_signer(0x51)?, fixed_signer(0x52)?);
    let leaf = SessionKey::born();
    for key in [first.address(), leaf.address()] {
        stage.fund(key, STIPEND, U256::ZERO).await?;
    }
    let now = stage.now().await?;
    let link = |delegate: Address, delegator: Address, authority: B256, life: u64| {
        let window = MortalityTimeWindow::new(now, now + life)?;
        let caveat = Caveat::new(mortality_time_window_enforcer(), window.encode());
        anyhow::Ok(Delegation {
            delegate,
            delegator,
            authority,
            caveats: vec![caveat],
            salt: U256::ZERO,
            signature: Bytes::new(),
        })
    };
    let domain = stage.domain();
    let account = owner.account.address;
    let root = link(first.address(), account, ROOT_AUTHORITY, 10_000)?;
    let root = owner.signer.grant(&domain, root)?;
    let middle = link(second.address(), first.address(), root.hash().0, 1_000)?;
    let middle = first.grant(&domain, middle)?;
    let last = link(leaf.address(), second.address(), middle.hash().0, 10_000)?;
    let last = second.grant(&domain, last)?;
    let context = PermissionContext::new(vec![last, middle.clone(), root])?;
    let good = swap(&stage, account, dollars(1));
    let redemption = || Redemption::single(DELEGATION_MANAGER, context.clone(), &good);
    let answer = async || {
        let policy = ClearingPolicy::default();
        let answer =
            rehearse(&stage.foresight(), judged(redemption()), leaf.address(), &policy).await?;
        anyhow::Ok(match answer {
            Rehearsal::Passed(_) => None,
            Rehearsal::Refused(denial) => Some(denial.code),
        })
    };
    let force = async || {
        let data = redemption().calldata();
        stage.send_as(leaf.address(), DELEGATION_MANAGER, U256::ZERO, data).await
    };
    assert_eq!(answer().await?, None);
    assert!(force().await?.status());

    let before = stage.node().provider().anvil_snapshot().await?;
    let stop = revocation(&middle);
    let receipt = stage.send_as(first.address(), DELEGATION_MANAGER, U256::ZERO, stop).await?;
    assert!(receipt.status());
    assert_eq!(answer().await?, Some(DenialCode::DelegationDisabled));
    assert!(!force().await?.status());

    stage.node().provider().anvil_revert(before).await?;
    assert_eq!(answer().await?, None);
    stage.warp(now + 1_001).await?;
    assert_eq!(answer().await?, Some(DenialCode::WindowExpired));
    assert!(!force().await?.status());
    Ok(())
}

#[tokio::test]
async fn a_key_cannot_disable_or_re_enable_what_its_owner_granted() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let good = swap(&stage, agent.account, dollars(1));
    let key = agent.key.address();
    let disable = revocation(&agent.grant);
    let enable: Bytes =
        [DelegationManager::enableDelegationCall::SELECTOR.as_slice(), &agent.grant.encode()]
            .concat()
            .into();

    let disabled_by_key =
        stage.send_as(key, DELEGATION_MANAGER, U256::ZERO, disable.clone()).await?;
    assert!(!disabled_by_key.status());
    let _ = agent.attempt(&stage, &good).await?.receipt()?;
    let by_owner = stage.send_as(agent.account, DELEGATION_MANAGER, U256::ZERO, disable).await?;
    assert!(by_owner.status());
    let enabled_by_key = stage.send_as(key, DELEGATION_MANAGER, U256::ZERO, enable.clone()).await?;

    assert!(!enabled_by_key.status());
    assert_eq!(agent.attempt(&stage, &good).await?.refusal()?.code, DenialCode::DelegationDisabled);
    // The owner can: the call itself is right.
    let by_owner = stage.send_as(agent.account, DELEGATION_MANAGER, U256::ZERO, enable).await?;
    assert!(by_owner.status());
    Ok(())
}

/// ATK-09: a redemption behind the revocation in the very block that holds both fails.
#[tokio::test]
async fn a_revocation_counts_within_its_own_block() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let good = swap(&stage, agent.account, dollars(1));
    let provider = stage.node().provider();
    let (key, account) = (agent.key.address(), agent.account);
    for address in [key, account] {
        provider.anvil_impersonate_account(address).await?;
    }
    provider.anvil_set_auto_mine(false).await?;
    let request = |from: Address, data: Bytes, gwei: u128| {
        TransactionRequest::default()
            .with_from(from)
            .with_to(DELEGATION_MANAGER)
            .with_gas_limit(1_000_000)
            .with_max_fee_per_gas(gwei * 1_000_000_000)
            .with_max_priority_fee_per_gas(gwei * 100_000_000)
            .with_input(data)
    };

    // The thief's comes first in time; the owner pays to be first in the block.
    let redeem = agent.redemption(&good)?.calldata();
    let theft = provider.send_transaction(request(key, redeem, 10)).await?;
    let stop = request(account, revocation(&agent.grant), 20);
    let stop = provider.send_transaction(stop).await?;
    provider.anvil_mine(Some(1), None).await?;
    provider.anvil_set_auto_mine(true).await?;
    let (stop, theft) = (stop.get_receipt().await?, theft.get_receipt().await?);

    assert_eq!(stop.block_number, theft.block_number);
    assert!(stop.transaction_index < theft.transaction_index);
    assert!(stop.status());
    assert!(!theft.status());
    Ok(())
}

/// ATK-32: an EOA that already obeys other code, and one whose storage was prepared.
#[tokio::test]
async fn an_account_with_unknown_code_is_refused_and_planted_storage_changes_nothing() -> Result<()>
{
    let stage = Stage::open().await?;
    let provider = stage.node().provider();
    let signer = fixed_signer(0x61)?;
    let account = Account::stateless_7702(signer.address());
    stage.fund(signer.address(), STIPEND, U256::ZERO).await?;
    let nothing =
        Execution { target: Address::repeat_byte(9), value: U256::ZERO, data: Bytes::new() };
    let foreign = [&[0xef, 0x01, 0x00][..], Address::repeat_byte(0xee).as_slice()].concat();
    provider.anvil_set_code(signer.address(), foreign.into()).await?;

    let refused = account.act(stage.node(), &signer, std::slice::from_ref(&nothing)).await;
    assert!(matches!(refused, Err(OwnerError::UnknownCode { .. })), "{refused:?}");
    assert_eq!(provider.get_transaction_count(signer.address()).await?, 0, "nothing was sent");

    provider.anvil_set_code(signer.address(), Bytes::new()).await?;
    for slot in 0..8 {
        let value = B256::repeat_byte(0xff);
        provider.anvil_set_storage_at(signer.address(), U256::from(slot), value).await?;
    }
    let first = account.act(stage.node(), &signer, std::slice::from_ref(&nothing)).await?;
    let second = account.act(stage.node(), &signer, &[nothing]).await?;

    assert_eq!(first[0].transaction_type(), TxType::Eip7702, "the first act upgrades");
    assert_eq!(second[0].transaction_type(), TxType::Eip1559, "and only the first");
    let thief = Address::repeat_byte(0x66);
    stage.fund(thief, STIPEND, U256::ZERO).await?;
    let packed: Bytes = [thief.as_slice(), &[0; 32]].concat().into();
    let take = DeleGator::executeCall { mode: MODE_SINGLE, executionCalldata: packed };
    let data: Bytes = take.abi_encode().into();
    let stolen = stage.send_as(thief, signer.address(), U256::ZERO, data.clone()).await?;
    let own = stage.send_as(signer.address(), signer.address(), U256::ZERO, data).await?;
    assert!(!stolen.status(), "planted storage makes nobody an owner");
    assert!(own.status(), "the same call by the owner goes through");
    Ok(())
}

/// The first SwapRouter is a real one too.
#[tokio::test]
async fn an_owner_swaps_on_the_first_router() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let book = stage.book();
    let account = owner.account.address;
    let approve = Erc20::approveCall { spender: book.swap_router, amount: dollars(100) };
    owner.act(&stage, book.usdc, approve).await?;
    let swap = SwapRouter::exactInputSingleCall {
        params: SwapRouter::ExactInputSingleParams {
            tokenIn: book.usdc,
            tokenOut: book.weth,
            fee: U24::from(3_000),
            recipient: account,
            deadline: U256::MAX,
            amountIn: dollars(10),
            amountOutMinimum: U256::ZERO,
            sqrtPriceLimitX96: U160::ZERO,
        },
    };

    owner.act(&stage, book.swap_router, swap).await?;

    assert_eq!(stage.balance_of(book.usdc, account).await?, dollars(9_990));
    assert!(!stage.balance_of(book.weth, account).await?.is_zero());
    Ok(())
}

/// A transaction that passed its estimate and failed in its block is not taken for done.
#[tokio::test]
async fn an_owners_transaction_that_fails_on_chain_is_an_error() -> Result<()> {
    let stage = Stage::open().await?;
    for kind in KINDS {
        let owner = stage.owner(kind).await?;
        let call =
            Execution { target: stage.two_faced().await?, value: U256::ZERO, data: Bytes::new() };

        let failed = owner.account.act(stage.node(), &owner.signer, &[call]).await;

        assert!(matches!(failed, Err(OwnerError::Failed { .. })), "{failed:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_clearance_that_waited_too_long_is_not_signed() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let policy = ClearingPolicy::default();
    let good = swap(&stage, agent.account, dollars(1));

    for (wait, stale) in [(policy.lifetime, false), (policy.lifetime + 1, true)] {
        let redemption = agent.redemption(&good)?;
        let Rehearsal::Passed(rehearsed) =
            rehearse(&stage.foresight(), judged(redemption), agent.key.address(), &policy).await?
        else {
            bail!("refused");
        };
        let at = rehearsed.preview().block.timestamp;
        let Reservation::Made(cleared) = rehearsed.reserve(&mandate(), at).await? else {
            bail!("not reserved");
        };
        let now = cleared.block().timestamp + wait;
        let signed = agent.key.sign(cleared, now).await;
        assert_eq!(matches!(signed, Err(CustodyError::Stale { .. })), stale, "after {wait} s");
    }
    Ok(())
}

/// A transaction that waits for its block is counted: the next one gets the next place.
#[tokio::test]
async fn a_plan_counts_what_is_still_pending() -> Result<()> {
    let stage = Stage::open().await?;
    let sender = Address::repeat_byte(0x71);
    stage.fund(sender, STIPEND, U256::ZERO).await?;
    let provider = stage.node().provider();
    provider.anvil_impersonate_account(sender).await?;
    provider.anvil_set_auto_mine(false).await?;

    let first = stage.node().plan(sender).await?.nonce;
    let request = TransactionRequest::default()
        .with_from(sender)
        .with_to(sender)
        .with_gas_limit(50_000)
        .with_max_fee_per_gas(10_000_000_000)
        .with_max_priority_fee_per_gas(1);
    let _pending = provider.send_transaction(request).await?;
    let second = stage.node().plan(sender).await?.nonce;
    provider.anvil_set_auto_mine(true).await?;

    assert_eq!((first, second), (0, 1));
    Ok(())
}

/// ATK-22 for the owner: a node that names absurd fees gets no signature of his.
#[tokio::test]
async fn an_owner_pays_no_more_than_his_ceiling() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    stage.fund(owner.signer.address(), U256::MAX >> 8, U256::ZERO).await?;
    let absurd = U256::from(1_000_000_000_000_000u64);
    stage.node().provider().anvil_set_next_block_base_fee_per_gas(absurd.to()).await?;
    stage.node().provider().anvil_mine(Some(1), None).await?;
    // anvil writes its fee history some moments after the block, and the owner's fee comes from there.
    while stage.node().provider().estimate_eip1559_fees().await?.max_fee_per_gas < absurd.to() {
        tokio::task::yield_now().await;
    }
    let nothing =
        Execution { target: Address::repeat_byte(9), value: U256::ZERO, data: Bytes::new() };

    let refused = owner.account.act(stage.node(), &owner.signer, &[nothing]).await;

    assert!(matches!(refused, Err(OwnerError::FeeCeiling { .. })), "{refused:?}");
    Ok(())
}

/// ATK-22: the signer's own ceiling, whatever the node says a block costs.
#[tokio::test]
async fn a_fee_over_the_ceiling_is_refused_and_so_is_an_empty_key() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let good = swap(&stage, agent.account, dollars(1));
    let tight = ClearingPolicy { fee_ceiling: U256::from(1), ..ClearingPolicy::default() };

    let dear =
        rehearse(&stage.foresight(), judged(agent.redemption(&good)?), agent.key.address(), &tight)
            .await?;
    stage.fund(agent.key.address(), U256::ZERO, U256::ZERO).await?;
    let broke = agent.attempt(&stage, &good).await?.refusal()?;

    assert!(matches!(&dear, Rehearsal::Refused(d) if d.code == DenialCode::FeeCeiling), "{dear:?}");
    assert_eq!(broke.code, DenialCode::NoGas);
    Ok(())
}

/// Unknown is never allowed: no manager is a fault, no account a refusal (INV-4).
#[tokio::test]
async fn a_missing_manager_is_a_fault_and_a_missing_account_a_refusal() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let good = swap(&stage, agent.account, dollars(1));
    let policy = ClearingPolicy::default();
    let nowhere = Address::repeat_byte(0x42);

    let context = PermissionContext::new(vec![agent.grant.clone()])?;
    let no_manager = Redemption::single(nowhere, context, &good);
    let fault =
        rehearse(&stage.foresight(), judged(no_manager), agent.key.address(), &policy).await;
    let ghost = Delegation { delegator: nowhere, authority: ROOT_AUTHORITY, ..agent.grant.clone() };
    let no_account =
        Redemption::single(DELEGATION_MANAGER, PermissionContext::new(vec![ghost])?, &good);
    let refused =
        rehearse(&stage.foresight(), judged(no_account), agent.key.address(), &policy).await?;

    assert!(matches!(fault, Err(CustodyError::DryRun { .. })), "{fault:?}");
    assert!(
        matches!(&refused, Rehearsal::Refused(d) if d.code == DenialCode::NoAccount),
        "{refused:?}"
    );
    Ok(())
}
