//! Row 5: MetaMask stops its DelegationManager.

use super::{Golem, World};
use crate::{
    books::verified,
    foresight::manager::{operate, pauseCall, unpauseCall},
    raw::RawKey,
};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::{SolCall as _, SolStruct as _, eip712_domain},
};
use anyhow::{Result, ensure};
use bardo_bindings::{
    defi::Erc20,
    framework::{DeleGator, ENTRY_POINT, EntryPoint, MODE_SINGLE, PackedUserOperation},
};
use bardo_testkit::dollars;
use golem_chain::{AccountKind, OWNER_FEE_CEILING, Withdrawal, Withdrawn};
use golem_custody::DenialCode;

const HOME: Address = Address::repeat_byte(0xb0);
/// Of the key that [`World::open`] gives its owner.
const OWNER: u8 = 0x0b;

/// What a Hybrid account has its owner sign.
mod signed {
    alloy::sol! {
        struct PackedUserOperation {
            address sender;
            uint256 nonce;
            bytes initCode;
            bytes callData;
            bytes32 accountGasLimits;
            uint256 preVerificationGas;
            bytes32 gasFees;
            bytes paymasterAndData;
            address entryPoint;
        }
    }
}

/// A vault's owner sends all of a token home, with his key and a node: by an operation of his account's that he hands to the entry
/// point himself. Bardo does not build it for him (ADR 2).
async fn taken_out_by_operation(world: &World, token: Address) -> Result<()> {
    let (stage, sender) = (&world.stage, world.account());
    let key = RawKey::fixed(OWNER)?;
    ensure!(key.address() == world.owner.signer.address(), "another owner");
    let send = Erc20::transferCall { to: HOME, amount: stage.balance_of(token, sender).await? };
    let single: Bytes = [token.as_slice(), &[0; 32], &send.abi_encode()].concat().into();
    let call_data = DeleGator::executeCall { mode: MODE_SINGLE, executionCalldata: single };
    let nonce = EntryPoint::getNonceCall { sender, key: Default::default() };
    // Two numbers of sixteen bytes.
    let two = |high: u128, low: u128| B256::from((U256::from(high) << 128) | U256::from(low));
    let gas = U256::from(100_000);
    let mut operation = PackedUserOperation {
        sender,
        nonce: stage.node().read(ENTRY_POINT, nonce).await?,
        initCode: Bytes::new(),
        callData: call_data.abi_encode().into(),
        accountGasLimits: two(300_000, 300_000),
        preVerificationGas: gas,
        gasFees: two(1_000_000_000, 10_000_000_000),
        paymasterAndData: Bytes::new(),
        signature: Bytes::new(),
    };
    let domain = eip712_domain! {
        name: "HybridDeleGator",
        version: "1",
        chain_id: stage.node().chain_id(),
        verifying_contract: sender,
    };
    let digest = signed::PackedUserOperation {
        sender,
        nonce: operation.nonce,
        initCode: Bytes::new(),
        callData: operation.callData.clone(),
        accountGasLimits: operation.accountGasLimits,
        preVerificationGas: gas,
        gasFees: operation.gasFees,
        paymasterAndData: Bytes::new(),
        entryPoint: ENTRY_POINT,
    };
    operation.signature = key.sign(digest.eip712_signing_hash(&domain))?.into();
    let hand_in = EntryPoint::handleOpsCall { ops: vec![operation], beneficiary: key.address() };
    let data = hand_in.abi_encode().into();
    let receipt = stage.send_as(key.address(), ENTRY_POINT, U256::ZERO, data).await?;
    ensure!(receipt.status(), "the entry point refuses it");
    Ok(())
}

/// Everything out of the account, while the manager is paused.
async fn taken_out(world: &World, kind: AccountKind, token: Address) -> Result<()> {
    let out = Withdrawal { to: HOME, tokens: vec![token], collections: vec![], ether: false };
    let (account, signer, node) = (&world.owner.account, &world.owner.signer, world.stage.node());
    let withdrawn = account.withdraw(node, signer, &out, OWNER_FEE_CEILING).await?;
    match (kind, withdrawn) {
        (AccountKind::Stateless7702, Withdrawn::Done { .. }) => Ok(()),
        // The road of Bardo's own leads by the manager, and it says so.
        (AccountKind::Hybrid, Withdrawn::Refused { reason, .. }) => {
            ensure!(reason.contains("paused"), "{reason}");
            taken_out_by_operation(world, token).await
        }
        (_, other) => anyhow::bail!("{kind:?}: {other:?}"),
    }
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
        taken_out(&world, kind, usdc).await?;
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
