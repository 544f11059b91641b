use alloy_consensus::{SignableTransaction, TxEip1559, TxEip7702, TxEnvelope};
use alloy_eips::{eip2718::Encodable2718, eip7702::SignedAuthorization};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use alloy_signer::{Error as SignerError, SignerSync};
use alloy_signer_local::PrivateKeySigner;

/// Chain, place in the sender's queue, and price of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransactionPlan {
    /// Chain the transaction is for.
    pub chain_id: u64,
    /// Sender's next nonce.
    pub nonce: u64,
    /// Most that is paid per unit of gas, in wei.
    pub max_fee_per_gas: u128,
    /// Of that, most that goes to the block's builder.
    pub max_priority_fee_per_gas: u128,
    /// What the sender can pay with.
    pub balance: U256,
}

/// A transaction that any node takes as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedTransaction {
    /// Its identity on chain.
    pub hash: B256,
    /// EIP-2718 bytes.
    pub raw: Bytes,
    /// Who signed.
    pub from: Address,
}

/// The part of a transaction that does not come from the plan.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    pub(crate) to: Address,
    pub(crate) value: U256,
    pub(crate) data: Bytes,
    pub(crate) gas_limit: u64,
    pub(crate) authorizations: Vec<SignedAuthorization>,
}

/// The one place where transactions are signed.
pub(crate) fn sign(
    key: &PrivateKeySigner,
    plan: &TransactionPlan,
    body: Body,
) -> Result<SignedTransaction, SignerError> {
    let Body { to, value, data, gas_limit, authorizations } = body;
    let envelope: TxEnvelope = if authorizations.is_empty() {
        let tx = TxEip1559 {
            chain_id: plan.chain_id,
            nonce: plan.nonce,
            gas_limit,
            max_fee_per_gas: plan.max_fee_per_gas,
            max_priority_fee_per_gas: plan.max_priority_fee_per_gas,
            to: TxKind::Call(to),
            value,
            access_list: Default::default(),
            input: data,
        };
        let signature = sign_digest(key, &tx.signature_hash())?;
        tx.into_signed(signature).into()
    } else {
        let tx = TxEip7702 {
            chain_id: plan.chain_id,
            nonce: plan.nonce,
            gas_limit,
            max_fee_per_gas: plan.max_fee_per_gas,
            max_priority_fee_per_gas: plan.max_priority_fee_per_gas,
            to,
            value,
            access_list: Default::default(),
            authorization_list: authorizations,
            input: data,
        };
        let signature = sign_digest(key, &tx.signature_hash())?;
        tx.into_signed(signature).into()
    };
    Ok(SignedTransaction {
        hash: *envelope.tx_hash(),
        raw: envelope.encoded_2718().into(),
        from: key.address(),
    })
}

/// Every signature of this crate passes here; callers own the preimage.
pub(crate) fn sign_digest(
    key: &PrivateKeySigner,
    digest: &B256,
) -> Result<alloy_primitives::Signature, SignerError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the digest was computed in this crate from a typed value"
    )]
    key.sign_hash_sync(digest)
}
