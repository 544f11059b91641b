use crate::{ChainFault, Node, explain_revert, node::rpc};
use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::{Address, Bytes},
    providers::Provider,
    rpc::types::TransactionRequest,
    transports::{RpcError, TransportErrorKind},
};
use async_trait::async_trait;
use golem_custody::{BoxError, Denial, DenialCode, DryRun, Outcome, Preview, Redemption};

#[async_trait]
impl DryRun for Node {
    /// `eth_call` of the whole redemption on one block, pinned by its hash.
    ///
    /// A manager or account without code would "succeed" in doing nothing, so both are looked
    /// for first: a missing manager is a fault (cannot decide), a missing account a refusal.
    async fn dry_run(
        &self,
        redemption: &Redemption,
        redeemer: Address,
    ) -> Result<Outcome, BoxError> {
        let block = self.head().await?;
        let at = BlockId::hash(block.hash);
        let manager = redemption.manager();
        if self.code_at(manager, at).await?.is_empty() {
            let what = "DelegationManager";
            let chain_id = self.chain_id();
            return Err(ChainFault::Missing { what, address: manager, chain_id }.into());
        }
        let account = redemption.context().root().delegator;
        if self.code_at(account, at).await?.is_empty() {
            return Ok(Outcome::Refused(Denial::new(
                DenialCode::NoAccount,
                format!("the owner's account {account} has no code yet, so it cannot execute"),
            )));
        }

        let request = TransactionRequest::default()
            .with_from(redeemer)
            .with_to(manager)
            .with_input(redemption.calldata());
        if let Err(error) = self.provider().call(request.clone()).block(at).await {
            return judge(error, redemption).map_err(Into::into);
        }
        match self.provider().estimate_gas(request).block(at).await {
            Ok(gas) => Ok(Outcome::Allowed(Preview { block, gas })),
            Err(error) => judge(error, redemption).map_err(Into::into),
        }
    }
}

/// A revert is an answer; anything else is a fault.
fn judge(
    error: RpcError<TransportErrorKind>,
    redemption: &Redemption,
) -> Result<Outcome, ChainFault> {
    match revert_data(&error) {
        Some(data) => Ok(Outcome::Refused(explain_revert(&data, redemption.context()))),
        None => Err(rpc("a dry run")(error)),
    }
}

/// Revert data of a failed call. Nodes mark a revert by error code 3 and put the data beside it;
/// a revert without data may come without the field.
fn revert_data(error: &RpcError<TransportErrorKind>) -> Option<Bytes> {
    let payload = error.as_error_resp()?;
    payload.as_revert_data().or_else(|| (payload.code == 3).then(Bytes::new))
}
