//! Row 5: MetaMask stops its DelegationManager.

use super::{Golem, World};
use crate::{
    books::verified,
    foresight::manager::{operate, pauseCall, unpauseCall},
};
use alloy::{
    primitives::{Address, Bytes, U256},
    providers::ext::AnvilApi as _,
    sol_types::SolCall as _,
};
use anyhow::{Result, ensure};
use bardo_bindings::{
    defi::Erc20,
    framework::{ENTRY_POINT, EntryPoint},
};
use bardo_testkit::dollars;
use golem_chain::{AccountKind, OWNER_FEE_CEILING, OwnerError, Withdrawal, Withdrawn};
use golem_custody::{DenialCode, Execution, OwnOperation, OwnerSigner, SignedOperation};

const HOME: Address = Address::repeat_byte(0xb0);

/// Everything out of the account while the manager is paused, by one transaction of the owner's key and no other process.
async fn taken_out(world: &World, token: Address) -> Result<()> {
    let out = Withdrawal { to: HOME, tokens: vec![token], collections: vec![], ether: false };
    let (account, signer, node) = (&world.owner.account, &world.owner.signer, world.stage.node());
    let before = world.sent_by_owner().await?;
    match account.withdraw(node, signer, &out, OWNER_FEE_CEILING).await? {
        Withdrawn::Done { transactions, moved, .. } => {
            assert_eq!(transactions.len(), 1, "{transactions:?}");
            ensure!(moved.iter().all(|one| one.left.is_zero()), "{moved:?}");
        }
        other => anyhow::bail!("{other:?}"),
    }
    assert_eq!(world.sent_by_owner().await?, before + 1);
    Ok(())
}

/// K10, "DelegationManager paused": nothing is signed and nothing reserved, the reason is said, the owner has his money, and after
/// it the same Golem goes on under the same grant.
#[tokio::test]
async fn while_the_manager_is_paused_nothing_is_signed_and_the_owner_has_his_money() -> Result<()> {
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let world = World::open(kind).await?;
        let (stage, usdc) = (&world.stage, world.stage.book().usdc);
        let golem = Golem::hosted(&world).await?;
        golem.sells(&world, 100).await?;
        let before = verified(golem.path())?;

        operate(stage, &pauseCall {}).await?;
        golem.is_refused(&world, 100, DenialCode::Paused).await?;
        ensure!(!world.forced(&golem.grant, 100).await?, "{kind:?}: the chain lets it through");
        assert_eq!(verified(golem.path())?, before, "{kind:?}: nothing was set aside");

        // The account is its owner's, whoever stops the manager.
        let held = world.usdc().await?;
        if kind == AccountKind::Hybrid {
            // A vault without a coin: nobody is paid for the operation but by its sender.
            stage.node().provider().anvil_set_balance(world.account(), U256::ZERO).await?;
        }
        taken_out(&world, usdc).await?;
        assert_eq!(stage.balance_of(usdc, HOME).await?, held, "{kind:?}");
        assert_eq!(world.usdc().await?, U256::ZERO, "{kind:?}");

        operate(stage, &unpauseCall {}).await?;
        let back = Erc20::mintCall { to: world.account(), amount: dollars(1_000) };
        stage.faucet(usdc, back).await?;
        golem.sells(&world, 100).await?;
        assert_eq!(world.usdc().await?, dollars(900), "{kind:?}");
        // What was refused was not spent.
        golem.is_refused(&world, 801, DenialCode::Spend).await?;
        golem.sells(&world, 799).await?;
    }
    Ok(())
}

/// D6, K10: the owner ends a grant while the manager is paused, and it stays ended when the manager goes on.
#[tokio::test]
async fn while_the_manager_is_paused_the_owner_ends_a_grant_by_one_transaction() -> Result<()> {
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let world = World::open(kind).await?;
        let golem = Golem::hosted(&world).await?;
        golem.sells(&world, 100).await?;
        operate(&world.stage, &pauseCall {}).await?;
        let (account, signer) = (&world.owner.account, &world.owner.signer);
        let before = world.sent_by_owner().await?;

        account.revoke(world.stage.node(), signer, &golem.grant, OWNER_FEE_CEILING).await?;

        assert_eq!(world.sent_by_owner().await?, before + 1, "{kind:?}");
        operate(&world.stage, &unpauseCall {}).await?;
        world.is_dead(&golem.grant, DenialCode::DelegationDisabled).await?;
    }
    Ok(())
}

/// What would fail inside the account is not sent: the entry point would take the transaction and the gas for it.
#[tokio::test]
async fn while_the_manager_is_paused_what_would_fail_is_not_sent() -> Result<()> {
    let world = World::open(AccountKind::Hybrid).await?;
    let (stage, usdc) = (&world.stage, world.stage.book().usdc);
    operate(stage, &pauseCall {}).await?;
    let (before, held) = (world.sent_by_owner().await?, world.usdc().await?);
    let much = Erc20::transferCall { to: HOME, amount: held + U256::ONE };
    let call = Execution { target: usdc, value: U256::ZERO, data: much.abi_encode().into() };

    let acted = world.owner.account.act(stage.node(), &world.owner.signer, &[call]).await;

    ensure!(matches!(acted, Err(OwnerError::WouldFail { .. })), "{acted:?}");
    assert_eq!(world.sent_by_owner().await?, before);
    assert_eq!(world.usdc().await?, held);
    Ok(())
}

/// The entry point's transaction succeeds whatever the account did. The owner is told what it did.
#[tokio::test]
async fn while_the_manager_is_paused_a_failure_inside_is_no_success() -> Result<()> {
    let world = World::open(AccountKind::Hybrid).await?;
    let stage = &world.stage;
    operate(stage, &pauseCall {}).await?;
    let before = world.sent_by_owner().await?;
    let target = stage.two_faced().await?;
    let call = Execution { target, value: U256::ZERO, data: Bytes::new() };

    let acted = world.owner.account.act(stage.node(), &world.owner.signer, &[call]).await;

    ensure!(matches!(acted, Err(OwnerError::Failed { .. })), "{acted:?}");
    assert_eq!(world.sent_by_owner().await?, before + 1);
    Ok(())
}

/// The owner's operation is his vault's alone, and good once: handed in again, or for another account, the entry point takes neither.
#[tokio::test]
async fn an_owners_operation_is_good_once_and_for_his_vault_alone() -> Result<()> {
    let world = World::open(AccountKind::Hybrid).await?;
    let stage = &world.stage;
    operate(stage, &pauseCall {}).await?;
    let send = Erc20::transferCall { to: HOME, amount: dollars(1) };
    let data = send.abi_encode().into();
    let call = Execution { target: stage.book().usdc, value: U256::ZERO, data };
    let (vault, chain_id) = (world.account(), stage.node().chain_id());
    let own = OwnOperation { chain_id, vault, nonce: U256::ZERO, call_gas: 200_000 };
    let signed = world.owner.signer.operation(&own, std::slice::from_ref(&call))?;
    let stranger = OwnerSigner::born();
    let forged = stranger.operation(&own, &[call])?;
    stage.fund(stranger.address(), U256::from(1u64 << 60), U256::ZERO).await?;
    let hand_in = async |operation: &SignedOperation| -> Result<bool> {
        let ops = vec![operation.packed()];
        let call = EntryPoint::handleOpsCall { ops, beneficiary: HOME };
        let data = call.abi_encode().into();
        let from = stranger.address();
        Ok(stage.send_as(from, ENTRY_POINT, U256::ZERO, data).await?.status())
    };

    ensure!(!hand_in(&forged).await?, "somebody else's signature");
    assert_eq!(stage.balance_of(stage.book().usdc, HOME).await?, U256::ZERO);
    ensure!(hand_in(&signed).await?, "whoever hands it in, it is the owner's");
    ensure!(!hand_in(&signed).await?, "twice");
    assert_eq!(stage.balance_of(stage.book().usdc, HOME).await?, dollars(1));
    Ok(())
}
