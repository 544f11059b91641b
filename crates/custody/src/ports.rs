use crate::{Cleared, CustodyError, Denial, Redemption, SignedTransaction, TransactionPlan};
use alloy_primitives::{Address, B256};
use async_trait::async_trait;

/// Cause of a fault, whatever the adapter's own error type.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A block, by number and hash: the number alone can mean two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRef {
    /// Height.
    pub number: u64,
    /// Identity.
    pub hash: B256,
    /// Its time, in seconds.
    pub timestamp: u64,
}

/// What a dry run that passed has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preview {
    /// State it ran on.
    pub block: BlockRef,
    /// Gas it would need, by the node's estimate.
    pub gas: u64,
}

/// Answer of a dry run. "Could not find out" is an error, never an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Outcome {
    /// The chain would accept it on this state.
    Allowed(Preview),
    /// The chain would refuse it.
    Refused(Denial),
}

/// What became of a submitted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Receipt {
    /// The transaction.
    pub hash: B256,
    /// Whether it took effect.
    pub success: bool,
    /// Gas that was paid for.
    pub gas_used: u64,
    /// Block that holds it.
    pub block_number: u64,
}

/// Port: judges a redemption on live state without sending anything.
#[async_trait]
pub trait DryRun: Send + Sync {
    /// Runs `redemption` as `redeemer` on the newest state.
    async fn dry_run(
        &self,
        redemption: &Redemption,
        redeemer: Address,
    ) -> Result<Outcome, BoxError>;
}

/// Port: the way to the chain.
#[async_trait]
pub trait Submit: Send + Sync {
    /// Next nonce, fees and balance of `sender`.
    async fn plan(&self, sender: Address) -> Result<TransactionPlan, BoxError>;

    /// Sends, and waits for the receipt.
    async fn submit(&self, transaction: &SignedTransaction) -> Result<Receipt, BoxError>;
}

/// Port: a session key that signs what was cleared and nothing else.
#[async_trait]
pub trait SessionSigner: Send + Sync {
    /// Address the delegation names as delegate.
    fn address(&self) -> Address;

    /// Signs a redemption that was cleared, unless its clearance is older than `now` allows.
    async fn sign(&self, cleared: Cleared, now: u64) -> Result<SignedTransaction, CustodyError>;
}
