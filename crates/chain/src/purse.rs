use crate::{
    Node,
    node::{ChainFault, rpc},
};
use alloy::{
    network::TransactionBuilder as _,
    primitives::{Address, B256, Bytes, U256},
    providers::Provider as _,
    rpc::types::TransactionRequest,
    transports::RpcError,
};
use async_trait::async_trait;
use bardo_bindings::defi::Erc20;
use golem_custody::{Asset, BoxError, Gas, Purse, Receipt};

/// What nodes say of a call that fails by itself: geth's words, and those of others beside them. For all but a revert they
/// have no code.
const FAILURES: [&str; 8] = [
    "revert",
    "evm error",
    "invalid opcode",
    "stack",
    "invalid jump",
    "out of gas",
    "gas required exceeds",
    "always failing",
];

/// Whether the call failed, and not the node.
fn is_the_calls(code: i64, message: &str) -> bool {
    let words = message.to_lowercase();
    code == 3 || FAILURES.iter().any(|known| words.contains(known))
}

#[async_trait]
impl Purse for Node {
    async fn held(&self, asset: Asset, account: Address) -> Result<Option<U256>, BoxError> {
        match asset {
            Asset::Native => Ok(Some(self.balance(account).await?)),
            Asset::Erc20(token) => {
                match self.read(token, Erc20::balanceOfCall { account }).await {
                    Ok(held) => Ok(Some(held)),
                    Err(ChainFault::Answer { .. }) => Ok(None),
                    // The node answered, and the token failed.
                    Err(ChainFault::Rpc { source, .. }) if source.is_error_resp() => Ok(None),
                    Err(fault) => Err(fault.into()),
                }
            }
        }
    }

    async fn gas(
        &self,
        from: Address,
        to: Address,
        value: U256,
        data: &Bytes,
    ) -> Result<Gas, BoxError> {
        let request = TransactionRequest::default()
            .with_from(from)
            .with_to(to)
            .with_value(value)
            .with_input(data.clone());
        match self.provider().estimate_gas(request).await {
            Ok(units) => Ok(Gas::Units(units)),
            Err(RpcError::ErrorResp(said)) if is_the_calls(said.code, &said.message) => {
                Ok(Gas::Reverts)
            }
            Err(other) => Err(rpc("an estimate of gas")(other).into()),
        }
    }

    async fn receipt(&self, hash: B256) -> Result<Option<Receipt>, BoxError> {
        let found = Self::receipt(self, hash).await?;
        Ok(found.and_then(|receipt| {
            Some(Receipt {
                hash: receipt.transaction_hash,
                success: receipt.status(),
                gas_used: receipt.gas_used,
                block_number: receipt.block_number?,
            })
        }))
    }
}
