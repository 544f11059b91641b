use crate::{ChainFault, Node, node::rpc};
use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::{Address, Bytes, U256},
    providers::Provider,
    rpc::types::{Header, TransactionReceipt, TransactionRequest},
    sol_types::SolCall,
};
use golem_custody::BlockRef;
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// How often somebody who is behind is asked again.
pub(crate) const POLL: Duration = Duration::from_millis(500);

/// An answer of whoever has the block.
macro_rules! patiently {
    ($snapshot:ident, $answer:expr) => {{
        let began = Instant::now();
        loop {
            let answer = $answer;
            if !$snapshot.is_late(&answer, began) {
                break answer;
            }
            sleep(POLL).await;
        }
    }};
}

/// The state of one block, read by its hash: answers that belong together, and know how old they are.
#[derive(Debug)]
pub(crate) struct Snapshot<'a> {
    node: &'a Node,
    block: BlockRef,
}

impl<'a> Snapshot<'a> {
    /// The newest block's.
    pub(crate) async fn newest(node: &'a Node) -> Result<Self, ChainFault> {
        Ok(Self { node, block: node.head().await? })
    }

    /// That of a block whose header is known.
    pub(crate) const fn of(node: &'a Node, header: &Header) -> Self {
        let block = BlockRef {
            number: header.inner.number,
            hash: header.hash,
            timestamp: header.inner.timestamp,
        };
        Self { node, block }
    }

    /// That of a block by its number.
    pub(crate) async fn at(node: &'a Node, number: u64) -> Result<Self, ChainFault> {
        Ok(Self::of(node, &node.header_of(number).await?))
    }

    /// That of the block that holds a transaction: it stands on the same line, whatever others call their newest.
    pub(crate) async fn after(
        node: &'a Node,
        receipt: &TransactionReceipt,
    ) -> Result<Self, ChainFault> {
        let (number, began) = (receipt.block_number.unwrap_or_default(), Instant::now());
        loop {
            let header = node.header_at(number.into()).await?;
            if let Some(header) = header.filter(|header| Some(header.hash) == receipt.block_hash) {
                return Ok(Self::of(node, &header));
            }
            if began.elapsed() >= node.catching_up() {
                return Err(ChainFault::NoBlock { number });
            }
            sleep(POLL).await;
        }
    }

    /// Whose state it is.
    pub(crate) const fn block(&self) -> BlockRef {
        self.block
    }

    /// Of which chain.
    pub(crate) const fn chain_id(&self) -> u64 {
        self.node.chain_id()
    }

    const fn id(&self) -> BlockId {
        BlockId::hash_canonical(self.block.hash)
    }

    /// Whether to ask again: of several nodes behind one address one may not have the block yet.
    fn is_late<T>(&self, answer: &Result<T, ChainFault>, began: Instant) -> bool {
        matches!(answer, Err(fault) if lacks_block(fault))
            && began.elapsed() < self.node.catching_up()
    }

    /// Native balance, in wei.
    pub(crate) async fn balance(&self, address: Address) -> Result<U256, ChainFault> {
        let provider = self.node.provider();
        let balance = || provider.get_balance(address).block_id(self.id());
        patiently!(self, balance().await.map_err(rpc("a balance")))
    }

    /// What stands at an address.
    pub(crate) async fn code(&self, address: Address) -> Result<Bytes, ChainFault> {
        let provider = self.node.provider();
        let code = || provider.get_code_at(address).block_id(self.id());
        patiently!(self, code().await.map_err(rpc("code")))
    }

    /// Fails unless there is code at `address`.
    pub(crate) async fn require(
        &self,
        what: &'static str,
        address: Address,
    ) -> Result<(), ChainFault> {
        if self.code(address).await?.is_empty() {
            return Err(ChainFault::Missing { what, address, chain_id: self.chain_id() });
        }
        Ok(())
    }

    /// What an account keeps in one of its slots.
    pub(crate) async fn slot(&self, address: Address, slot: U256) -> Result<U256, ChainFault> {
        let provider = self.node.provider();
        let kept = || provider.get_storage_at(address, slot).block_id(self.id());
        patiently!(self, kept().await.map_err(rpc("a slot")))
    }

    /// Calls a view function.
    pub(crate) async fn read<C: SolCall>(
        &self,
        to: Address,
        call: C,
    ) -> Result<C::Return, ChainFault> {
        self.read_as(Address::ZERO, to, call).await
    }

    /// Calls any function as somebody, and changes nothing by it.
    pub(crate) async fn read_as<C: SolCall>(
        &self,
        from: Address,
        to: Address,
        call: C,
    ) -> Result<C::Return, ChainFault> {
        let answer = self.answer(from, to, &call).await?;
        C::abi_decode_returns_validate(&answer).map_err(|source| ChainFault::Answer {
            contract: to,
            what: C::SIGNATURE,
            source: source.into(),
        })
    }

    /// The same, for whoever reads the bytes himself.
    pub(crate) async fn answer<C: SolCall>(
        &self,
        from: Address,
        to: Address,
        call: &C,
    ) -> Result<Bytes, ChainFault> {
        let request =
            TransactionRequest::default().with_from(from).with_to(to).with_input(call.abi_encode());
        let provider = self.node.provider();
        let call = || provider.call(request.clone()).block(self.id());
        patiently!(self, call().await.map_err(rpc(C::SIGNATURE)))
    }
}

/// Nodes have no code for a block that they do not have, only words.
pub(crate) fn lacks_block(fault: &ChainFault) -> bool {
    let ChainFault::Rpc { source, .. } = fault else { return false };
    // Contracts have the same words, and so has a node for what it does not serve.
    source.as_error_resp().filter(|_| !reverted(fault)).is_some_and(|error| {
        let words = error.message.to_lowercase().replace("method not found", "");
        ["not found", "not be found", "unknown block", "out of range", "outofrange"]
            .iter()
            .any(|known| words.contains(known))
    })
}

/// What a contract said when it reverted, where that is why the node said no.
pub(crate) fn revert_data(fault: &ChainFault) -> Option<Bytes> {
    match fault {
        ChainFault::Rpc { source, .. } => source.as_error_resp()?.as_revert_data(),
        _ => None,
    }
}

/// An answer, or that the contract had none: it reverted, or says something else. A node that fails is no answer.
pub(crate) fn said<T>(answer: Result<T, ChainFault>) -> Result<Option<T>, ChainFault> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(ChainFault::Answer { .. }) => Ok(None),
        Err(fault) if reverted(&fault) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Nodes have a code for a revert, and where they have not, words.
pub(crate) fn reverted(fault: &ChainFault) -> bool {
    let ChainFault::Rpc { source, .. } = fault else { return false };
    source.as_error_resp().is_some_and(|error| {
        let words = error.message.to_lowercase();
        error.code == 3
            || error.as_revert_data().is_some()
            || ["revert", "invalid opcode", "out of gas"].iter().any(|known| words.contains(known))
    })
}
