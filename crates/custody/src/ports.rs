use crate::{
    Act, ByOperation, ByTransaction, ChildGrant, Cleared, Counted, CustodyError, Denial,
    Introduction, JudgedHead, Offer, Sealed, SignedOperation, SignedTransaction, TransactionPlan,
    Unkept,
};
use alloy_primitives::{Address, B256, Bytes, U256, b256};
use async_trait::async_trait;
use golem_delegation::Delegation;

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

/// What can be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asset {
    /// The chain's own coin.
    Native,
    /// A token.
    Erc20(Address),
}

/// A number of a state that a call can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// What an account has.
    Balance {
        /// Of what.
        asset: Asset,
        /// Who.
        account: Address,
    },
    /// What somebody may take of it.
    Allowance {
        /// Of what.
        token: Address,
        /// From whom.
        owner: Address,
        /// Who.
        spender: Address,
    },
    /// Whether somebody may take every item of a collection: one, or zero.
    Operator {
        /// The collection.
        token: Address,
        /// From whom.
        owner: Address,
        /// Who.
        operator: Address,
    },
    /// Whose one item of a collection is: his address as a number.
    Owner {
        /// The collection.
        token: Address,
        /// Which.
        id: U256,
    },
    /// Who may take one item of a collection: his address as a number.
    Item {
        /// The collection.
        token: Address,
        /// Which.
        id: U256,
    },
}

/// What a call would do to one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Which.
    pub of: Held,
    /// What it is.
    pub before: U256,
    /// What it would be.
    pub after: U256,
}

/// What a dry run that passed has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// State it ran on.
    pub block: BlockRef,
    /// Gas that it took, before refunds.
    pub gas: u64,
    /// Gas that it is to be given, which it ran with: contracts can ask. See [`limit`](crate::limit).
    pub gas_limit: u64,
    /// Most that its data is charged on the chain's parent, in wei, beside its gas; nothing where the chain has none, or counts it as gas.
    pub data_fee: U256,
    /// Balances and allowances that came out otherwise than they were.
    pub changes: Vec<Change>,
    /// What was not seen, or does not do what it looks like, in words.
    pub notes: Vec<String>,
    /// What the chain had counted under the Golem's name before it; none where no charter counts.
    pub counted: Option<Counted>,
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

/// Port: judges an act on live state without sending anything.
#[async_trait]
pub trait DryRun: Send + Sync {
    /// Runs `act` as `sender` on the newest state.
    async fn dry_run(&self, act: &Act, sender: Address) -> Result<Outcome, BoxError>;
}

/// Port: the way to the chain.
#[async_trait]
pub trait Submit: Send + Sync {
    /// Next nonce, fees and balance of `sender`.
    async fn plan(&self, sender: Address) -> Result<TransactionPlan, BoxError>;

    /// Sends, and waits for the receipt.
    async fn submit(&self, transaction: &SignedTransaction) -> Result<Receipt, BoxError>;
}

/// Port: a session key that signs what was cleared and nothing else. What it signs leaves only by way of the books.
#[async_trait]
pub trait SessionSigner: Send + Sync {
    /// Address the delegation names as delegate.
    fn address(&self) -> Address;

    /// A signature of nobody in particular, so that an account that checks it fails as late as it does with a true one: what
    /// a bundler reckons gas with.
    fn stub(&self) -> Bytes {
        // Its first half has to be a point of the curve, and is the curve's own.
        const POINT: B256 =
            b256!("79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798");
        [POINT.as_slice(), POINT.as_slice(), &[0x1b]].concat().into()
    }

    /// Signs an act that was cleared, unless its clearance is older than `now` allows.
    async fn sign(
        &self,
        cleared: Cleared<ByTransaction>,
        now: u64,
    ) -> Result<Sealed<SignedTransaction>, CustodyError>;

    /// Signs an operation that was cleared, unless its clearance is older than `now` allows; and the upgrade of its own
    /// address, to the framework's account and on this chain only, where the operation is the first.
    async fn sign_operation(
        &self,
        cleared: Cleared<ByOperation>,
        now: u64,
    ) -> Result<Sealed<SignedOperation>, CustodyError>;

    /// Signs once more what it signed before, at a higher price and in the same place of its queue: of the two, one can
    /// take effect. The whole may cost `ceiling` wei.
    async fn raise(
        &self,
        signed: &SignedTransaction,
        offer: Offer,
        ceiling: U256,
    ) -> Result<Unkept<SignedTransaction>, CustodyError>;

    /// The same for an operation.
    async fn raise_operation(
        &self,
        signed: &SignedOperation,
        offer: Offer,
        ceiling: U256,
    ) -> Result<Unkept<SignedOperation>, CustodyError>;

    /// Signs the newest record of the Golem's audit chain, once it was judged to be that.
    async fn seal(&self, head: JudgedHead) -> Result<Bytes, CustodyError>;

    /// Signs that it is there since second `at`: a [`Birth`](crate::Birth) of its own address.
    async fn says_born(&self, at: u64) -> Result<Bytes, CustodyError>;

    /// Signs what it hands on of its own grant, once it was judged to be within it.
    async fn delegate(&self, child: ChildGrant) -> Result<Delegation, CustodyError>;

    /// Signs that it is the child that an introduction names.
    async fn introduce(&self, child: &Introduction) -> Result<Bytes, CustodyError>;
}
