//! An operation that was signed for one entry point and one chain, at another (ATK-01, ATK-02).

use super::{DEPOSIT, Kind, Poor, done, policy, staged};
use crate::raw::RawKey;
use alloy::{
    consensus::Transaction as _,
    network::TransactionBuilder as _,
    primitives::{Address, B256, Bytes, U256, aliases::U192},
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::TransactionRequest,
    sol,
    sol_types::{SolCall as _, SolError as _},
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{
    create2_address, deterministic_call,
    framework::{
        DETERMINISTIC_DEPLOYER, ENTRY_POINT, EntryPoint, HYBRID_IMPL, PackedUserOperation,
        STATELESS_7702_IMPL,
    },
};
use bardo_testkit::{Stage, dollars, judged, root};
use std::fs;

sol! {
    function incrementNonce(uint192 key) external;
    error NotEntryPoint();
}

/// Who hands operations in.
const CARRIER: Address = Address::repeat_byte(0x2b);

/// The entry point's own code, at another address.
async fn second(stage: &Stage) -> Result<Address> {
    let file = "node_modules/@account-abstraction/contracts/artifacts/EntryPoint.json";
    let artifact: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(root().join(file))?)?;
    let code = artifact.get("bytecode").cloned().context("no code")?;
    let code: Bytes = serde_json::from_value(code)?;
    let salt = B256::repeat_byte(0x2e);
    let address = create2_address(salt, &code);
    let deploy = deterministic_call(salt, &code);
    let receipt = RawKey::born(stage).await?.send(stage, DETERMINISTIC_DEPLOYER, deploy).await?;
    ensure!(receipt.status() && !stage.node().code(address).await?.is_empty(), "not there");
    Ok(address)
}

/// The operation of the newest block in which one was handed in.
async fn signed(stage: &Stage) -> Result<PackedUserOperation> {
    let head = stage.node().head().await?.number;
    for number in (head.saturating_sub(5)..=head).rev() {
        let block = stage.node().provider().get_block(number.into()).full().await?;
        for tx in block.into_iter().flat_map(|block| block.transactions.into_transactions()) {
            if tx.to() == Some(ENTRY_POINT)
                && let Ok(handed) = EntryPoint::handleOpsCall::abi_decode(tx.input())
            {
                return handed.ops.into_iter().next().context("none in it");
            }
        }
    }
    bail!("nobody handed one in")
}

/// Why an entry point does not take it, and what the account said; none where it does.
async fn refused(
    stage: &Stage,
    at: Address,
    op: &PackedUserOperation,
) -> Result<Option<(String, Bytes)>> {
    let hand = EntryPoint::handleOpsCall { ops: vec![op.clone()], beneficiary: CARRIER };
    let ask = TransactionRequest::default()
        .with_from(CARRIER)
        .with_to(at)
        .with_gas_limit(10_000_000)
        .with_input(hand.abi_encode());
    let Err(error) = stage.node().provider().call(ask).await else { return Ok(None) };
    let data = error.as_error_resp().and_then(|reply| reply.as_revert_data());
    let data = data.with_context(|| format!("no reason: {error}"))?;
    if let Ok(failed) = EntryPoint::FailedOpWithRevert::abi_decode(&data) {
        return Ok(Some((failed.reason, failed.inner)));
    }
    Ok(Some((EntryPoint::FailedOp::abi_decode(&data)?.reason, Bytes::new())))
}

/// ATK-01, ATK-02: what an account signed for one entry point and one chain is worth nothing at a second deployment of the same code,
/// not even where the account's own code trusts that one, nor on another chain; where it was meant for, it is done.
#[tokio::test]
async fn an_operation_counts_at_its_own_entry_point_and_on_its_own_chain() -> Result<()> {
    for (kind, code) in [(Kind::Key, STATELESS_7702_IMPL), (Kind::Hybrid, HYBRID_IMPL)] {
        let (stage, bundler) = staged().await?;
        let provider = stage.node().provider();
        stage.fund(CARRIER, DEPOSIT * U256::from(10), U256::ZERO).await?;
        let poor = Poor::new(&stage, kind, bundler.url(), policy()).await?;
        let account = poor.operations.address();
        poor.endow(&stage).await?;
        // The first puts the account on the chain; the second is the one that is carried about.
        done(&poor.operations.redeem(judged(poor.sale(&stage, 10))).await?)?;
        let before = provider.anvil_snapshot().await?;
        done(&poor.operations.redeem(judged(poor.sale(&stage, 20))).await?)?;
        let op = signed(&stage).await?;
        ensure!(op.sender == account, "{kind:?}: somebody else's");
        // Nobody but the bundler has it from here on.
        drop(bundler);
        ensure!(provider.anvil_revert(before).await?, "no way back");
        assert_eq!(poor.sold(&stage).await?, dollars(10), "{kind:?}");

        // Its money and its place in the queue are at the other entry point too: nothing else is in its way.
        let other = second(&stage).await?;
        let give = EntryPoint::depositToCall { account }.abi_encode().into();
        ensure!(stage.send_as(CARRIER, other, DEPOSIT, give).await?.status());
        stage.fund(account, DEPOSIT, U256::ZERO).await?;
        let next = EntryPoint::getNonceCall { sender: account, key: U192::ZERO };
        while stage.node().read(other, next.clone()).await? < op.nonce {
            let raise = incrementNonceCall { key: U192::ZERO }.abi_encode().into();
            ensure!(stage.send_as(account, other, U256::ZERO, raise).await?.status());
        }
        assert_eq!(stage.node().read(ENTRY_POINT, next).await?, op.nonce, "{kind:?}");

        ensure!(refused(&stage, ENTRY_POINT, &op).await?.is_none(), "{kind:?}: at its own");
        let (why, inner) = refused(&stage, other, &op).await?.context("taken elsewhere")?;
        ensure!(why.starts_with("AA23"), "{kind:?}: {why}");
        assert_eq!(inner[..], NotEntryPoint::SELECTOR, "{kind:?}: {why}");
        let carrier = RawKey::born(&stage).await?;
        let hand = EntryPoint::handleOpsCall { ops: vec![op.clone()], beneficiary: CARRIER };
        let hand: Bytes = hand.abi_encode().into();
        let sent = carrier.send(&stage, other, hand.clone()).await?;
        ensure!(!sent.status() && poor.sold(&stage).await? == dollars(10), "{kind:?}");

        // An account whose code trusts the other one: the signature does not.
        let trusting = provider.anvil_snapshot().await?;
        let own = stage.node().code(code).await?.to_vec();
        let mut turned = own.clone();
        let mut places = 0;
        for at in 0..own.len().saturating_sub(19) {
            if own.get(at..at + 20) == Some(ENTRY_POINT.as_slice()) {
                turned.get_mut(at..at + 20).context("cut")?.copy_from_slice(other.as_slice());
                places += 1;
            }
        }
        ensure!(places > 0, "{kind:?} knows its entry point otherwise");
        provider.anvil_set_code(code, turned.into()).await?;
        let (why, _) = refused(&stage, other, &op).await?.context("taken by who trusts it")?;
        ensure!(why.starts_with("AA24"), "{kind:?}: {why}");
        ensure!(provider.anvil_revert(trusting).await?, "no way back");

        // Another chain with the same contracts at the same addresses.
        let here = stage.node().chain_id();
        provider.anvil_set_chain_id(here + 1).await?;
        let (why, _) =
            refused(&stage, ENTRY_POINT, &op).await?.context("taken on another chain")?;
        ensure!(why.starts_with("AA24"), "{kind:?}: {why}");
        provider.anvil_set_chain_id(here).await?;

        let sent = carrier.send(&stage, ENTRY_POINT, hand).await?;
        ensure!(sent.status(), "{kind:?}: at its own, on its own");
        assert_eq!(poor.sold(&stage).await?, dollars(30), "{kind:?}");
    }
    Ok(())
}
