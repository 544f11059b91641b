use crate::{
    ChainFault, Node, foresight::toll, node::rpc, refusal::explain_manager,
    registry::refused_because, snapshot::revert_data,
};
use alloy::{
    eips::{BlockId, eip7702::SignedAuthorization},
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, U256},
    providers::Provider,
    rpc::types::{TransactionReceipt, TransactionRequest},
};
use golem_custody::{
    CustodyError, Denial, DenialCode, OwnerSigner, SignedTransaction, TransactionPlan,
};

/// Most that one transaction of an owner may cost unless he says otherwise, with what a rollup charges for its data: 0.05 ether. A
/// node names the fees; without a ceiling it could name any.
pub const OWNER_FEE_CEILING: U256 = U256::from_limbs([50_000_000_000_000_000, 0, 0, 0]);

/// What an owner asked for was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OwnerError {
    /// The chain could not be asked.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The key did not sign.
    #[error(transparent)]
    Custody(#[from] CustodyError),
    /// The chain of delegations is broken.
    #[error("the owner's own delegation is not a permission context")]
    Context {
        /// Why.
        source: golem_delegation::ContextError,
    },
    /// The EOA obeys other code than the framework's.
    #[error("account {account} runs code that is not the framework's; nothing was sent")]
    UnknownCode {
        /// The account.
        account: Address,
    },
    /// Somebody else rules the account.
    #[error("the key of {owner} does not rule account {account}; nothing was sent")]
    NotTheOwner {
        /// The account.
        account: Address,
        /// Whose key it is.
        owner: Address,
    },
    /// Nothing is there: a vault that is not on the chain yet, or a plain EOA of another key.
    #[error(
        "account {account} has no code here, and the key that was given is not its own: if it is an EOA, its own key is needed; if it is \
         your vault, it is not on the chain yet, but anybody can put it there, and then its grants are good: do so by \
         `bardo vault create` and ask again at once; nothing was sent"
    )]
    NotCreated {
        /// The account.
        account: Address,
    },
    /// Not an account that several keys rule.
    #[error("account {account} is none that several keys rule; nothing was sent")]
    NotShared {
        /// The account.
        account: Address,
    },
    /// Fewer keys than must agree.
    #[error(
        "account {account} needs {needed} of its keys, and {given} of them are here; nothing was sent"
    )]
    TooFewKeys {
        /// The account.
        account: Address,
        /// How many must agree.
        needed: usize,
        /// How many of its keys there are.
        given: usize,
    },
    /// A caveat that bounds what one of several owners may do has no contract here.
    #[error("the enforcer {kind} is not known; nothing was sent")]
    NoEnforcer {
        /// Which.
        kind: &'static str,
    },
    /// The upgrade was sent and did not take effect.
    #[error("account {account} was not upgraded: its nonce had moved; nothing else was done")]
    NotUpgraded {
        /// The account.
        account: Address,
    },
    /// The transaction could cost more than its ceiling.
    #[error(
        "the transaction to {to} could cost {worst} wei, more than its ceiling of {ceiling} wei; nothing was sent"
    )]
    FeeCeiling {
        /// Whom it calls.
        to: Address,
        /// What it could cost.
        worst: U256,
        /// What it may.
        ceiling: U256,
    },
    /// The key cannot pay for the transaction.
    #[error(
        "the transaction could cost {worst} wei, and {payer} holds {balance}: fund it; nothing was sent"
    )]
    NoGas {
        /// Who pays.
        payer: Address,
        /// What it could cost.
        worst: U256,
        /// What there is.
        balance: U256,
    },
    /// The transaction would fail, so it was not sent.
    #[error("the transaction to {to} would fail; nothing was sent")]
    WouldFail {
        /// Whom it calls.
        to: Address,
        /// Why.
        source: ChainFault,
    },
    /// The transaction was mined and failed.
    #[error("the transaction {hash} failed on chain")]
    Failed {
        /// The transaction.
        hash: B256,
    },
}

impl OwnerError {
    /// A name that programs can match on: that of a refusal, or of what went wrong with the chain.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        match self {
            Self::FeeCeiling { .. } => Some(DenialCode::FeeCeiling.to_string()),
            Self::NoGas { .. } => Some(DenialCode::NoGas.to_string()),
            Self::Chain(fault) | Self::WouldFail { source: fault, .. } => {
                Some(fault.code().to_owned())
            }
            _ => None,
        }
    }

    /// In plain words why the registry would refuse the transaction, where it is that which refuses.
    #[must_use]
    pub fn registrys_no(&self) -> Option<String> {
        let Self::WouldFail { source, .. } = self else { return None };
        refused_because(&revert_data(source)?)
    }

    /// Whether it is a no to what was asked for, before anything was sent, and nothing that went wrong.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        matches!(self, Self::FeeCeiling { .. } | Self::NoGas { .. })
    }

    /// In plain words why the DelegationManager would refuse the transaction, where it is that which refuses.
    #[must_use]
    pub fn denial(&self) -> Option<Denial> {
        let Self::WouldFail { source, .. } = self else { return None };
        explain_manager(&revert_data(source)?)
    }
}

/// A transaction of an owner's EOA, before its gas is known.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) plan: TransactionPlan,
    pub(crate) to: Address,
    pub(crate) data: Bytes,
    pub(crate) upgrade: Option<SignedAuthorization>,
    pub(crate) ceiling: U256,
    /// Coins that leave the EOA beside the gas, where it has to have both.
    pub(crate) spends: U256,
}

/// Signs, sends and waits.
pub(crate) async fn send(
    node: &Node,
    owner: &OwnerSigner,
    outgoing: Outgoing,
) -> Result<TransactionReceipt, OwnerError> {
    let signed = sign(node, owner, outgoing).await?;
    let receipt = node.send(&signed).await?;
    if receipt.status() {
        Ok(receipt)
    } else {
        Err(OwnerError::Failed { hash: receipt.transaction_hash })
    }
}

/// Estimates, holds the worst cost against the ceiling, and signs. Gas is the estimate and a fifth: state may move before
/// the block.
pub(crate) async fn sign(
    node: &Node,
    owner: &OwnerSigner,
    outgoing: Outgoing,
) -> Result<SignedTransaction, OwnerError> {
    let Outgoing { plan, to, data, upgrade, ceiling, spends } = outgoing;
    let mut request = TransactionRequest::default()
        .with_from(owner.address())
        .with_to(to)
        .with_input(data.clone());
    request.authorization_list = upgrade.clone().map(|signed| vec![signed]);
    let gas = node
        .provider()
        .estimate_gas(request)
        // What only waits for a block may never be in one.
        .block(BlockId::latest())
        .await
        .map_err(rpc("an estimate of the transaction"))
        .map_err(|source| OwnerError::WouldFail { to, source })?;
    let limit = gas.saturating_add(gas / 5);
    let toll = toll::of_transaction(node, data.len(), upgrade.is_some()).await?;
    let worst =
        U256::from(limit).saturating_mul(U256::from(plan.max_fee_per_gas)).saturating_add(toll);
    if worst > ceiling {
        return Err(OwnerError::FeeCeiling { to, worst, ceiling });
    }
    let worst = worst.saturating_add(spends);
    if worst > plan.balance {
        return Err(OwnerError::NoGas { payer: owner.address(), worst, balance: plan.balance });
    }
    Ok(owner.transaction(&plan, to, U256::ZERO, data, limit, upgrade)?)
}
