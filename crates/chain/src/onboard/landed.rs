use super::{Onboard, OnboardError};
use crate::{ChainFault, Registry};
use alloy::{
    consensus::{Transaction as _, TxEnvelope},
    eips::eip2718::Decodable2718 as _,
    primitives::{B256, Bytes, keccak256},
    rpc::types::TransactionReceipt,
};
use golem_custody::{SignedTransaction, Steps};

impl<S: Steps> Onboard<'_, S> {
    /// What became of everything that was ever signed here. What no node has any more is handed in again, as it was signed;
    /// what cannot land any more is left out.
    pub(super) async fn landed(
        &self,
        sent: &[Bytes],
    ) -> Result<Vec<TransactionReceipt>, OnboardError> {
        let (mut receipts, mut unseen) = (Vec::new(), Vec::new());
        for raw in sent {
            let hash = keccak256(raw);
            let kept = SignedTransaction { hash, raw: raw.clone(), from: self.owner.address() };
            let receipt = match self.node.settled(hash).await? {
                Some(receipt) => Some(receipt),
                None => match self.node.send(&kept).await {
                    Ok(receipt) => Some(receipt),
                    // Somebody has its place, or no node takes it at its price.
                    Err(fault @ (ChainFault::PlaceTaken { .. } | ChainFault::Rpc { .. })) => {
                        unseen.push((kept, fault));
                        None
                    }
                    Err(fault) => return Err(fault.into()),
                },
            };
            receipts.extend(receipt);
        }
        // Where one of them did it all, the others could not.
        if !receipts.iter().any(TransactionReceipt::status) {
            for (kept, fault) in unseen {
                self.took_no_effect(&kept, fault).await?;
            }
        }
        Ok(receipts)
    }

    /// Makes sure that a batch of which the node shows no receipt did nothing and never will: that there is none proves nothing,
    /// and whoever signs another beside it pays twice.
    async fn took_no_effect(
        &self,
        kept: &SignedTransaction,
        fault: ChainFault,
    ) -> Result<(), OnboardError> {
        let hash = kept.hash;
        let Ok(transaction) = TxEnvelope::decode_2718_exact(&kept.raw) else {
            return Err(OnboardError::Unseen { hash });
        };
        let (owner, place) = (self.owner.address(), transaction.nonce());
        let newest = self.node.head().await?.number;
        if self.node.sent_by(owner, newest).await? <= place {
            return match fault {
                // Its place is free: what is signed next has it, and only one of them can land.
                ChainFault::Rpc { .. } => Ok(()),
                // One that says both at once does not know.
                taken => Err(taken.into()),
            };
        }
        let on = self.node.settled_state().await?;
        let settled = on.block().number;
        if self.node.sent_by(owner, settled).await? <= place {
            return Err(ChainFault::PlaceTaken { hash }.into());
        }
        if self.taker(place, settled).await?.is_some_and(|taker| taker != hash) {
            return Ok(());
        }
        // It is this one, or nobody knows which. It is done whole or not at all, and its Golem would be there.
        match Registry::open(self.node).await?.entry_on(&on, self.golem()).await? {
            None => Ok(()),
            Some(_) => Err(OnboardError::Unseen { hash }),
        }
    }

    /// Which transaction has a place of the owner's queue, in a block up to `settled`; none where the node does not show it.
    async fn taker(&self, place: u64, settled: u64) -> Result<Option<B256>, ChainFault> {
        let owner = self.owner.address();
        // The last block without it, and the first with it.
        let (mut without, mut with) = (0, settled);
        while with.saturating_sub(without) > 1 {
            let middle = without.midpoint(with);
            match self.node.sent_by(owner, middle).await {
                Ok(count) if count > place => with = middle,
                Ok(_) => without = middle,
                // It has no such old states: from the oldest that it has.
                Err(ChainFault::Rpc { source, .. }) if source.is_error_resp() => without = middle,
                Err(away) => return Err(away),
            }
        }
        let Some(header) = self.node.header_at(with.into()).await? else { return Ok(None) };
        let senders = self.node.senders(header.hash).await?;
        Ok(senders.iter().find(|one| one.uses(owner, place)).map(|one| one.hash))
    }
}
