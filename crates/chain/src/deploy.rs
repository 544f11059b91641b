use crate::{
    ChainFault, Node, OwnerError,
    outbox::{Outgoing, send},
};
use alloy::primitives::{Address, B256, U256};
use bardo_bindings::{
    Deployable, deterministic_call,
    framework::{DELEGATION_MANAGER, DETERMINISTIC_DEPLOYER},
};
use golem_custody::OwnerSigner;
use serde::Serialize;

/// Why a deployment stopped. What was deployed before stays; running it again goes on there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// The chain could not be asked.
    #[error(transparent)]
    Chain(#[from] ChainFault),
    /// The transaction was not sent, or failed.
    #[error(transparent)]
    Owner(#[from] OwnerError),
    /// The address holds something else.
    #[error("code at {address} is not {name}: expected hash {expected}, found {found}")]
    Mismatch {
        /// The contract.
        name: &'static str,
        /// Where.
        address: Address,
        /// Hash of our runtime code.
        expected: B256,
        /// Hash of the code found.
        found: B256,
    },
    /// The creation failed on chain.
    #[error("creation of {name} failed in transaction {hash}")]
    Failed {
        /// The contract.
        name: &'static str,
        /// The transaction.
        hash: B256,
    },
}

impl DeployError {
    /// A name that programs can match on, where it is a refusal or the chain's fault.
    #[must_use]
    pub fn code(&self) -> Option<String> {
        match self {
            Self::Chain(fault) => Some(fault.code().to_owned()),
            Self::Owner(error) => error.code(),
            Self::Mismatch { .. } | Self::Failed { .. } => None,
        }
    }
}

/// What is at a contract's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// Nothing.
    Absent,
    /// Exactly our code.
    Verified,
}

/// One line of the address book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployed {
    /// The contract.
    pub name: &'static str,
    /// Its address, the same on every chain.
    pub address: Address,
    /// Whether this run created it.
    pub created: bool,
    /// The creation, where this run made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction: Option<B256>,
    /// Gas paid for it.
    pub gas_used: u64,
}

/// Compares the code at a contract's address with ours, byte by byte.
pub async fn inspect(node: &Node, contract: &Deployable) -> Result<Presence, DeployError> {
    let code = node.code(contract.address).await?;
    if code.is_empty() {
        return Ok(Presence::Absent);
    }
    if code == contract.runtime_code {
        return Ok(Presence::Verified);
    }
    Err(DeployError::Mismatch {
        name: contract.name,
        address: contract.address,
        expected: alloy::primitives::keccak256(&contract.runtime_code),
        found: alloy::primitives::keccak256(&code),
    })
}

/// Puts one contract where it belongs, unless it is there already, for at most `ceiling` wei.
pub async fn deploy(
    node: &Node,
    signer: &OwnerSigner,
    contract: &Deployable,
    ceiling: U256,
) -> Result<Deployed, DeployError> {
    let done = |created, transaction, gas_used| Deployed {
        name: contract.name,
        address: contract.address,
        created,
        transaction,
        gas_used,
    };
    if inspect(node, contract).await? == Presence::Verified {
        return Ok(done(false, None, 0));
    }
    node.require("deterministic deployer", DETERMINISTIC_DEPLOYER).await?;
    node.require("DelegationManager", DELEGATION_MANAGER).await?;

    let plan = node.plan(signer.address()).await?;
    let data = deterministic_call(contract.salt, &contract.init_code);
    let (to, upgrade, spends) = (DETERMINISTIC_DEPLOYER, None, U256::ZERO);
    let outgoing = Outgoing { plan, to, data, upgrade, ceiling, spends };
    let receipt = send(node, signer, outgoing).await?;
    // Believe the code, not the receipt: the deployer answers success for a failed creation.
    match inspect(node, contract).await? {
        Presence::Verified => Ok(done(true, Some(receipt.transaction_hash), receipt.gas_used)),
        Presence::Absent => {
            Err(DeployError::Failed { name: contract.name, hash: receipt.transaction_hash })
        }
    }
}
