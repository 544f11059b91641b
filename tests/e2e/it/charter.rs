//! A Golem under its charter, through everything between its wish and the chain.

use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::SolCall,
};
use anyhow::{Result, bail, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::{Erc20, Erc4626},
    framework::DELEGATION_MANAGER,
    golem_charter_enforcer, golem_registry,
};
use bardo_testkit::{Agent, STIPEND, Stage, charter, chartered, dollars, fair_swap, swap};
use golem_chain::{AccountKind, local::CharterParties};
use golem_custody::{DenialCode, Execution, Redemption, SessionKey, SessionSigner};
use golem_delegation::{PermissionContext, SpendWindow, terms::MortalityTimeWindow};

const KINDS: [AccountKind; 2] = [AccountKind::Stateless7702, AccountKind::Hybrid];

fn call<C: SolCall>(target: Address, call: &C) -> Execution {
    Execution { target, value: U256::ZERO, data: call.abi_encode().into() }
}

async fn refused(stage: &Stage, agent: &Agent, call: &Execution, code: DenialCode) -> Result<()> {
    let denial = agent.attempt(stage, call).await?.refusal()?;
    ensure!(denial.code == code, "{denial:?} instead of {code:?}");
    ensure!(denial.enforcer == Some(golem_charter_enforcer()), "{denial:?} names nobody");
    ensure!(!agent.force(stage, call).await?.status(), "{code:?} went through on chain");
    Ok(())
}

/// Micro-dollars in the Golem's window, by the Rust twin of the contract that counts them.
async fn spent(stage: &Stage, agent: &Agent, golem_id: B256) -> Result<u128> {
    let read = bardo_bindings::GolemCharterEnforcer::spendWindowOfCall {
        manager: DELEGATION_MANAGER,
        delegator: agent.account,
        golemId: golem_id,
    };
    let word = stage.node().read(golem_charter_enforcer(), read).await?;
    Ok(SpendWindow::from_word(word).spent(stage.now().await?)?)
}

/// X1, D28: approve and swap in one execution, cleared, signed and mined.
#[tokio::test]
async fn a_golem_approves_and_swaps_in_one_batch() -> Result<()> {
    for kind in KINDS {
        let stage = Stage::open().await?;
        let owner = stage.owner(kind).await?;
        let book = stage.book();
        let nothing = Erc20::approveCall { spender: book.swap_router_02, amount: U256::ZERO };
        owner.act(&stage, book.usdc, nothing).await?;
        let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
        let allow = Erc20::approveCall { spender: book.swap_router_02, amount: dollars(100) };
        let both = [call(book.usdc, &allow), fair_swap(&stage, agent.account, dollars(100))];
        let context = PermissionContext::new(vec![agent.grant.clone()])?;
        let batch = Redemption::batch(DELEGATION_MANAGER, context, &both);

        let signed = match agent.signed(&stage, batch).await? {
            Ok(signed) => signed,
            Err(denial) => bail!("{kind:?}: {denial}"),
        };

        assert!(stage.node().send(&signed).await?.status(), "{kind:?}");
        assert_eq!(stage.balance_of(book.usdc, agent.account).await?, dollars(9_900), "{kind:?}");
        assert!(!stage.balance_of(book.weth, agent.account).await?.is_zero(), "{kind:?}");
    }
    Ok(())
}

/// X2, X4: each rule by its own code, before anything is signed and on the chain itself.
#[tokio::test]
async fn what_the_charter_does_not_allow_is_refused_by_judge_and_chain() -> Result<()> {
    for kind in KINDS {
        let stage = Stage::open().await?;
        let owner = stage.owner(kind).await?;
        let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
        let book = stage.book();
        let thief = Address::repeat_byte(0x66);
        let one = dollars(1);
        let gas = |wei: u128| Execution {
            target: agent.key.address(),
            value: U256::from(wei),
            data: Bytes::new(),
        };
        let deposit = Erc4626::depositCall { assets: one, receiver: thief };

        for (attempt, code) in [
            (swap(&stage, agent.account, one), DenialCode::Slippage),
            (fair_swap(&stage, thief, one), DenialCode::Recipient),
            (fair_swap(&stage, agent.account, dollars(501)), DenialCode::Nav),
            (
                call(book.usdc, &Erc20::transferCall { to: thief, amount: one }),
                DenialCode::Recipient,
            ),
            (
                call(book.usdc, &Erc20::approveCall { spender: thief, amount: one }),
                DenialCode::Spender,
            ),
            (call(book.usdc, &Erc20::mintCall { to: thief, amount: one }), DenialCode::Method),
            (call(book.vault, &deposit), DenialCode::Recipient),
            (call(thief, &Erc20::transferCall { to: thief, amount: one }), DenialCode::Target),
            (gas(20_000_000_000_000_000), DenialCode::GasMoney),
            (
                Execution { value: U256::from(1), ..fair_swap(&stage, agent.account, one) },
                DenialCode::Value,
            ),
        ] {
            refused(&stage, &agent, &attempt, code).await?;
        }
        assert_eq!(stage.balance_of(book.usdc, agent.account).await?, dollars(10_000));
        let good = fair_swap(&stage, agent.account, dollars(500));
        let _ = agent.attempt(&stage, &good).await?.receipt()?;
    }
    Ok(())
}

/// D4, D17, ATK-31: the cap is one for all grants of a Golem, and the newest grant alone counts.
#[tokio::test]
async fn a_new_grant_ends_the_old_one_and_refills_nothing() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Hybrid).await?;
    let old = Agent::chartered(&stage, &owner, |_| ()).await?;
    let half = fair_swap(&stage, old.account, dollars(500));
    let _ = old.attempt(&stage, &half).await?.receipt()?;
    let law = charter(&stage, &owner, old.key.address(), |law| law.epoch = 2).await?;
    let golem_id = law.golem_id;

    // Rotation: another key, under a higher epoch.
    let new = Agent::chartered(&stage, &owner, |law| law.epoch = 2).await?;
    let _ = new.attempt(&stage, &fair_swap(&stage, new.account, dollars(499))).await?.receipt()?;

    let dead = old.attempt(&stage, &fair_swap(&stage, old.account, dollars(1))).await?.refusal()?;
    assert_eq!(dead.code, DenialCode::Superseded);
    refused(&stage, &new, &fair_swap(&stage, new.account, dollars(2)), DenialCode::Spend).await?;
    let counted = spent(&stage, &new, golem_id).await?;
    assert!((999_000_000..=999_200_000).contains(&counted), "{counted}");
    stage.warp(stage.now().await? + 26 * 3_600).await?;
    let _ = new.attempt(&stage, &half).await?.receipt()?;
    Ok(())
}

/// G5, D4: one plain call of the owner's EOA, for either kind of account and for all grants at once.
#[tokio::test]
async fn the_owners_wallet_revokes_at_the_registry() -> Result<()> {
    for kind in KINDS {
        for all in [false, true] {
            let stage = Stage::open().await?;
            let owner = stage.owner(kind).await?;
            let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
            let good = fair_swap(&stage, agent.account, dollars(1));
            let _ = agent.attempt(&stage, &good).await?.receipt()?;
            let law = charter(&stage, &owner, agent.key.address(), |_| ()).await?;
            let data = if all {
                GolemRegistry::revokeAllCall {}.abi_encode()
            } else {
                GolemRegistry::revokeCall { golemId: law.golem_id }.abi_encode()
            };
            let by_thief = stage.send_as(
                agent.key.address(),
                golem_registry(),
                U256::ZERO,
                data.clone().into(),
            );
            // A thief's revokeAll is about his own Golems, of which he has none.
            assert_eq!(by_thief.await?.status(), all, "{kind:?}");
            let _ = agent.attempt(&stage, &good).await?.receipt()?;

            let human = owner.signer.address();
            let stopped = stage.send_as(human, golem_registry(), U256::ZERO, data.into()).await?;

            assert!(stopped.status() && stopped.gas_used <= 60_000, "{kind:?} {stopped:?}");
            refused(&stage, &agent, &good, DenialCode::Revoked).await?;
        }
    }
    Ok(())
}

/// C4, C2, C17: what the agent says of itself, the owner's push, and a feed that fails.
#[tokio::test]
async fn dreams_phases_and_dead_feeds_stop_a_golem() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::chartered(&stage, &owner, |_| ()).await?;
    let golem_id = charter(&stage, &owner, agent.key.address(), |_| ()).await?.golem_id;
    let good = fair_swap(&stage, agent.account, dollars(1));
    let say = async |from: Address, data: Vec<u8>| {
        let receipt = stage.send_as(from, golem_registry(), U256::ZERO, data.into()).await?;
        ensure!(receipt.status(), "the registry refused");
        anyhow::Ok(())
    };
    let dream =
        |dreaming| GolemRegistry::setDreamingCall { golemId: golem_id, dreaming }.abi_encode();
    let (key, human) = (agent.key.address(), owner.signer.address());

    say(key, dream(true)).await?;
    refused(&stage, &agent, &good, DenialCode::Dreaming).await?;
    say(key, dream(false)).await?;
    say(human, GolemRegistry::advanceCall { golemId: golem_id, phase: 2 }.abi_encode()).await?;
    refused(&stage, &agent, &good, DenialCode::Phase).await?;
    say(human, GolemRegistry::feedCall { golemId: golem_id, phase: 1 }.abi_encode()).await?;
    for answer in [0, -1] {
        stage.set_price(stage.book().eth_usd, answer).await?;
        refused(&stage, &agent, &good, DenialCode::Price).await?;
    }
    stage.set_price(stage.book().eth_usd, 250_000_000_000).await?;

    let _ = agent.attempt(&stage, &good).await?.receipt()?;
    say(key, GolemRegistry::closeCall { golemId: golem_id }.abi_encode()).await?;
    refused(&stage, &agent, &good, DenialCode::NotAlive).await
}

/// D29: the registry knows one signer of a MultiSig account as the Golem's owner; two keys grant.
#[tokio::test]
async fn a_golem_of_a_multisig_account_trades_under_its_charter() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.multisig_owner().await?;
    let key = SessionKey::born();
    let human = bardo_testkit::fixed_signer(0x77)?.address();
    for address in [key.address(), human] {
        stage.fund(address, STIPEND, U256::ZERO).await?;
    }
    let salt = B256::repeat_byte(7);
    let register = GolemRegistry::registerCall { salt, agentKey: key.address() }.abi_encode();
    let receipt = stage.send_as(human, golem_registry(), U256::ZERO, register.into()).await?;
    assert!(receipt.status());
    let golem_id = stage
        .node()
        .read(golem_registry(), GolemRegistry::golemIdOfCall { owner: human, salt })
        .await?;
    let parties = CharterParties {
        golem_id,
        owner: human,
        account: owner.address(),
        agent_key: key.address(),
        epoch: 1,
    };
    let now = stage.now().await?;
    let law = stage.book().charter(&parties, MortalityTimeWindow::new(now, now + 3_600)?);
    let grant = owner.grant(&stage.domain(), chartered(&law)?)?;
    let agent = Agent { key, grant, account: owner.address() };
    let book = stage.book();
    let allow = Erc20::approveCall { spender: book.swap_router_02, amount: dollars(100) };

    let _ = agent.attempt(&stage, &call(book.usdc, &allow)).await?.receipt()?;
    let good = fair_swap(&stage, agent.account, dollars(100));
    let _ = agent.attempt(&stage, &good).await?.receipt()?;

    assert!(!stage.balance_of(book.weth, agent.account).await?.is_zero());
    refused(&stage, &agent, &swap(&stage, agent.account, dollars(1)), DenialCode::Slippage).await
}
