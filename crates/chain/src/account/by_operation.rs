//! An owner's way into his vault while the manager is paused (ADR 2).

use super::{Account, OwnerCall, own_batch};
use crate::{Node, OwnerError, node::rpc};
use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::{B256, U256},
    providers::Provider,
    rpc::types::{TransactionReceipt, TransactionRequest},
    sol_types::SolEvent as _,
};
use bardo_bindings::framework::{DELEGATION_MANAGER, DelegationManager, ENTRY_POINT, EntryPoint};
use golem_custody::{Execution, OwnOperation, OwnerSigner};

/// Whether the manager's operator has stopped it.
pub(super) async fn is_paused(node: &Node) -> Result<bool, OwnerError> {
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
        let next = EntryPoint::getNonceCall { sender: self.address, key: Default::default() };
        let nonce = node.read(ENTRY_POINT, next).await?;
        // The entry point says of a call that fails only that it did; so it is tried before, as it will be made.
        let request = TransactionRequest::default()
            .with_from(ENTRY_POINT)
            .with_to(self.address)
            .with_input(own_batch(calls));
        let gas = node.provider().estimate_gas(request).block(BlockId::latest()).await;
        let gas = gas
            .map_err(rpc("an estimate of the account's calls"))
            .map_err(|source| OwnerError::WouldFail { to: self.address, source })?;
        // A quarter more: state may move before the block, and a call hands on no more than 63 of 64 parts of its gas.
        let call_gas = u128::from(gas.saturating_add(gas / 4));
        let own = OwnOperation { chain_id: node.chain_id(), vault: self.address, nonce, call_gas };
        let signed = owner.operation(&own, calls)?;
        let hand_in =
            EntryPoint::handleOpsCall { ops: vec![signed.packed()], beneficiary: self.owner };
        let call = OwnerCall::new(self.owner, ENTRY_POINT, &hand_in);
        let receipt = call.send(node, owner, ceiling).await?;
        if took_effect(&receipt, signed.hash) {
            Ok(receipt)
        } else {
            Err(OwnerError::Failed { hash: receipt.transaction_hash })
        }
    }
}

/// Whether the entry point says that the operation did what it was to do: its transaction succeeds either way.
fn took_effect(receipt: &TransactionReceipt, operation: B256) -> bool {
    receipt.logs().iter().filter(|log| log.address() == ENTRY_POINT).any(|log| {
        EntryPoint::UserOperationEvent::decode_log(&log.inner)
            .is_ok_and(|event| event.userOpHash == operation && event.success)
    })
}
