use crate::CustodyError;
use alloy_consensus::{
    SignableTransaction, Transaction as _, TxEip1559, TxEip7702, TxEnvelope,
    transaction::SignerRecoverable as _,
};
use alloy_eips::{
    eip2718::{Decodable2718, Encodable2718},
    eip7702::SignedAuthorization,
};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use alloy_signer::{Error as SignerError, SignerSync};
use alloy_signer_local::PrivateKeySigner;
use serde::{Deserialize, Serialize};

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

impl TransactionPlan {
    /// The same, for another place; above what is bid there, if anything is.
    #[must_use]
    pub fn over(mut self, place: u64, bid: Option<Offer>) -> Self {
        self.nonce = place;
        if let Some(bid) = bid.map(Offer::raised) {
            self.max_fee_per_gas = self.max_fee_per_gas.max(bid.max_fee_per_gas);
            self.max_priority_fee_per_gas =
                self.max_priority_fee_per_gas.max(bid.max_priority_fee_per_gas);
        }
        self
    }
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

impl SignedTransaction {
    /// What it bids, where its bytes are a transaction with a price of two parts.
    #[must_use]
    pub fn offer(&self) -> Option<Offer> {
        match TxEnvelope::decode_2718_exact(&self.raw).ok()? {
            TxEnvelope::Eip1559(signed) => Some(Offer {
                max_fee_per_gas: signed.tx().max_fee_per_gas,
                max_priority_fee_per_gas: signed.tx().max_priority_fee_per_gas,
            }),
            _ => None,
        }
    }

    /// As it was kept, if it is signed at all.
    pub(crate) fn decode(raw: &Bytes) -> Option<Self> {
        let envelope = TxEnvelope::decode_2718_exact(raw).ok()?;
        let from = envelope.recover_signer().ok()?;
        Some(wrapped(&envelope, from))
    }

    /// Its place in the sender's queue.
    #[must_use]
    pub fn nonce(&self) -> Option<u64> {
        Some(TxEnvelope::decode_2718_exact(&self.raw).ok()?.nonce())
    }

    /// Whom it calls, with how many coins, and with what.
    pub(crate) fn call(&self) -> Option<(Address, U256, Bytes)> {
        let envelope = TxEnvelope::decode_2718_exact(&self.raw).ok()?;
        Some((envelope.to()?, envelope.value(), envelope.input().clone()))
    }
}

/// What is bid for a transaction's place in a block, per unit of gas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Offer {
    /// Most that is paid, in wei.
    pub max_fee_per_gas: u128,
    /// Of that, most that goes to the block's builder.
    pub max_priority_fee_per_gas: u128,
}

impl Offer {
    /// The least that nodes take in place of this one: a tenth more is asked for, an eighth is given.
    #[must_use]
    pub const fn raised(self) -> Self {
        Self {
            max_fee_per_gas: raised(self.max_fee_per_gas),
            max_priority_fee_per_gas: raised(self.max_priority_fee_per_gas),
        }
    }

    /// In each part the higher of both.
    #[must_use]
    pub fn or_higher(self, other: Self) -> Self {
        Self {
            max_fee_per_gas: self.max_fee_per_gas.max(other.max_fee_per_gas),
            max_priority_fee_per_gas: self
                .max_priority_fee_per_gas
                .max(other.max_priority_fee_per_gas),
        }
    }
}

/// An eighth more, and at least one.
const fn raised(fee: u128) -> u128 {
    fee.saturating_add(fee / 8).saturating_add(1)
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
    let signed: TxEnvelope = if authorizations.is_empty() {
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
    Ok(wrapped(&signed, key.address()))
}

fn wrapped(signed: &TxEnvelope, from: Address) -> SignedTransaction {
    SignedTransaction { hash: *signed.tx_hash(), raw: signed.encoded_2718().into(), from }
}

/// Signs a transaction of this key again, with nothing changed but the price. Only what carries the key's own
/// signature is taken: what was never cleared cannot come in this way.
pub(crate) fn raise(
    key: &PrivateKeySigner,
    signed: &SignedTransaction,
    offer: Offer,
    ceiling: U256,
) -> Result<SignedTransaction, CustodyError> {
    let signer = key.address();
    let stranger = || CustodyError::NotSignedBefore { signer };
    let Ok(TxEnvelope::Eip1559(before)) = TxEnvelope::decode_2718_exact(&signed.raw) else {
        return Err(stranger());
    };
    if before.recover_signer().ok() != Some(signer) {
        return Err(stranger());
    }
    let mut tx = before.strip_signature();
    if offer.max_fee_per_gas <= tx.max_fee_per_gas
        || offer.max_priority_fee_per_gas <= tx.max_priority_fee_per_gas
    {
        return Err(CustodyError::NoRaise);
    }
    tx.max_fee_per_gas = offer.max_fee_per_gas;
    tx.max_priority_fee_per_gas = offer.max_priority_fee_per_gas;
    let worst = U256::from(tx.gas_limit).saturating_mul(U256::from(tx.max_fee_per_gas));
    if worst > ceiling {
        return Err(CustodyError::RaiseCeiling { worst, ceiling });
    }
    let signature = sign_digest(key, &tx.signature_hash())
        .map_err(|source| CustodyError::Sign { signer, source: source.into() })?;
    Ok(wrapped(&tx.into_signed(signature).into(), signer))
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
