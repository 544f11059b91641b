//! An owner's way into his vault while the manager is paused (ADR 2).

use super::{Account, OwnerCall, own_batch};
use crate::{Node, OwnerError, node::rpc};
use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::{Address, B256, U256},
    providers::Provider,
    rpc::types::{TransactionReceipt, TransactionRequest},
    sol_types::SolEvent as _,
};
use bardo_bindings::framework::{DELEGATION_MANAGER, DelegationManager, ENTRY_POINT, EntryPoint};
use golem_custody::{Execution, OwnOperation, OwnerSigner, SignedOwnOperation, VaultKind};

/// Whether the manager's operator has stopped it.
pub(crate) async fn is_paused(node: &Node) -> Result<bool, OwnerError> {
    Ok(node.read(DELEGATION_MANAGER, DelegationManager::pausedCall {}).await?)
}

impl Account {
    /// Makes a vault that is on the chain do `calls`, all or none, past the manager: the owner signs an operation of the account's and
    /// hands it to the entry point himself, in one transaction of his EOA.
    pub(super) async fn by_operation(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        calls: &[Execution],
        ceiling: U256,
    ) -> Result<TransactionReceipt, OwnerError> {
        let own = own_operation(node, self.address, VaultKind::Hybrid, calls).await?;
        hand_in(node, owner, owner.operation(&own, calls)?, ceiling).await
    }
}

/// The next operation of a vault that is on the chain, by which it would do `calls`. Whoever rules it has to sign.
pub(crate) async fn own_operation(
    node: &Node,
    vault: Address,
    kind: VaultKind,
    calls: &[Execution],
) -> Result<OwnOperation, OwnerError> {
    let next = EntryPoint::getNonceCall { sender: vault, key: Default::default() };
    let nonce = node.read(ENTRY_POINT, next).await?;
    // The entry point says of a call that fails only that it did; so it is tried before, as it will be made.
    let request = TransactionRequest::default()
        .with_from(ENTRY_POINT)
        .with_to(vault)
        .with_input(own_batch(calls));
    let gas = node.provider().estimate_gas(request).block(BlockId::latest()).await;
    let gas = gas
        .map_err(rpc("an estimate of the account's calls"))
        .map_err(|source| OwnerError::WouldFail { to: vault, source })?;
    // A quarter more: state may move before the block, and a call hands on no more than 63 of 64 parts of its gas.
    let call_gas = u128::from(gas.saturating_add(gas / 4));
    Ok(OwnOperation { chain_id: node.chain_id(), vault, kind, nonce, call_gas })
}

/// Hands an operation to the entry point, in one transaction of `sender`'s EOA.
pub(crate) async fn hand_in(
    node: &Node,
    sender: &OwnerSigner,
    signed: SignedOwnOperation,
    ceiling: U256,
) -> Result<TransactionReceipt, OwnerError> {
    let SignedOwnOperation { hash, packed } = signed;
    let beneficiary = sender.address();
    let hand_in = EntryPoint::handleOpsCall { ops: vec![packed], beneficiary };
    let call = OwnerCall::new(beneficiary, ENTRY_POINT, &hand_in);
    let receipt = call.send(node, sender, ceiling).await?;
    if took_effect(&receipt, hash) {
        Ok(receipt)
    } else {
        Err(OwnerError::Failed { hash: receipt.transaction_hash })
    }
}

/// Whether the entry point says that the operation did what it was to do: its transaction succeeds either way.
fn took_effect(receipt: &TransactionReceipt, operation: B256) -> bool {
    receipt.logs().iter().filter(|log| log.address() == ENTRY_POINT).any(|log| {
        EntryPoint::UserOperationEvent::decode_log(&log.inner)
            .is_ok_and(|event| event.userOpHash == operation && event.success)
    })
}
