//! An account that several keys rule together.

use crate::{
    Node, OwnerCall, OwnerError,
    account::{self, hand_in, is_paused, own_operation},
    environment,
    snapshot::said,
};
use alloy::{
    primitives::{Address, Bytes, U256},
    rpc::types::TransactionReceipt,
};
use bardo_bindings::framework::{DELEGATION_MANAGER, MultiSigDeleGator};
use golem_custody::{Execution, OwnerSigner, Redemption, SignedOwnOperation, VaultKind};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, Rule, SigningDomain,
    terms::{self, ExactExecutionBatch, LimitedCalls, Timestamp},
};

/// How long the keys' agreement is good for, in seconds.
const AGREED_FOR: u64 = 3_600;

/// MetaMask's MultiSig account, as an owner uses it: as many of its keys as must agree sign, and one of them sends. No
/// bundler, no paymaster, no other process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedAccount {
    /// Its address: the delegator of every root grant.
    pub address: Address,
    /// Whose keys count.
    pub signers: Vec<Address>,
    /// How many of them must agree.
    pub threshold: usize,
}

impl SharedAccount {
    /// The one at an address.
    pub async fn at(node: &Node, address: Address) -> Result<Self, OwnerError> {
        node.require("the owners' account", address).await?;
        let signers = said(node.read(address, MultiSigDeleGator::getSignersCall {}).await)?;
        let needed = said(node.read(address, MultiSigDeleGator::getThresholdCall {}).await)?;
        let Some((signers, needed)) = signers.zip(needed) else {
            return Err(OwnerError::NotShared { account: address });
        };
        let threshold = usize::try_from(needed).unwrap_or(usize::MAX);
        Ok(Self { address, signers, threshold })
    }

    /// Signs a grant with as many of these keys as must agree.
    pub fn grant(
        &self,
        domain: &SigningDomain,
        keys: &[OwnerSigner],
        delegation: Delegation,
    ) -> Result<Delegation, OwnerError> {
        let mut together = Vec::new();
        for key in self.agreeing(keys)? {
            together.extend_from_slice(&key.grant(domain, delegation.clone())?.signature);
        }
        Ok(delegation.signed(Bytes::from(together)))
    }

    /// Makes the account do `calls`, all or none, by one transaction of the first of the keys, for at most `ceiling` wei.
    ///
    /// The keys lend him these very calls, once, for an hour: what they agreed to is all that one of them can do alone. While the manager
    /// is paused they sign an operation of the account's instead, which he hands to the entry point himself: once, too, but for as long
    /// as the account does nothing else that way.
    pub async fn act(
        &self,
        node: &Node,
        keys: &[OwnerSigner],
        calls: &[Execution],
        ceiling: U256,
    ) -> Result<TransactionReceipt, OwnerError> {
        if is_paused(node).await? {
            return self.by_operation(node, keys, calls, ceiling).await;
        }
        let (sender, context) = self.agreement(node, keys, calls).await?;
        let data = Redemption::batch(DELEGATION_MANAGER, context, calls).calldata();
        let call = OwnerCall { from: sender.address(), to: DELEGATION_MANAGER, data };
        call.send(node, sender, ceiling).await
    }

    /// What the keys sign for that, and which of them may redeem it.
    pub async fn agreement<'k>(
        &self,
        node: &Node,
        keys: &'k [OwnerSigner],
        calls: &[Execution],
    ) -> Result<(&'k OwnerSigner, PermissionContext), OwnerError> {
        self.agreeing(keys)?;
        let sender = self.sender(keys)?;
        let until = node.head().await?.timestamp.saturating_add(AGREED_FOR);
        let own = Delegation {
            delegate: sender.address(),
            delegator: self.address,
            authority: ROOT_AUTHORITY,
            caveats: agreed(calls, until)?,
            // The same calls may be agreed to again in a later block.
            salt: U256::from(until),
            signature: Bytes::new(),
        };
        let domain = SigningDomain { chain_id: node.chain_id(), manager: DELEGATION_MANAGER };
        let signed = self.grant(&domain, keys, own)?;
        let context = PermissionContext::new(vec![signed]);
        Ok((sender, context.map_err(|source| OwnerError::Context { source })?))
    }

    /// The same past the manager: each of the keys signs one operation of the account's, and the account takes their signatures joined.
    async fn by_operation(
        &self,
        node: &Node,
        keys: &[OwnerSigner],
        calls: &[Execution],
        ceiling: U256,
    ) -> Result<TransactionReceipt, OwnerError> {
        let (agreeing, sender) = (self.agreeing(keys)?, self.sender(keys)?);
        let own = own_operation(node, self.address, VaultKind::MultiSig, calls).await?;
        let SignedOwnOperation { hash, mut packed } = sender.operation(&own, calls)?;
        let mut together = Vec::new();
        for key in agreeing {
            together.extend_from_slice(&key.operation(&own, calls)?.packed.signature);
        }
        packed.signature = together.into();
        hand_in(node, sender, SignedOwnOperation { hash, packed }, ceiling).await
    }

    /// Ends a grant.
    pub async fn revoke(
        &self,
        node: &Node,
        keys: &[OwnerSigner],
        grant: &Delegation,
        ceiling: U256,
    ) -> Result<TransactionReceipt, OwnerError> {
        let data = account::revocation(grant);
        let disable = Execution { target: DELEGATION_MANAGER, value: U256::ZERO, data };
        self.act(node, keys, &[disable], ceiling).await
    }

    /// As many of the keys as must agree, by ascending address: the account takes signatures in this order only.
    fn agreeing<'k>(&self, keys: &'k [OwnerSigner]) -> Result<Vec<&'k OwnerSigner>, OwnerError> {
        let mut own: Vec<&OwnerSigner> = self.own(keys).collect();
        own.sort_by_key(|key| key.address());
        own.dedup_by_key(|key| key.address());
        if own.len() < self.threshold {
            let (account, needed) = (self.address, self.threshold);
            return Err(OwnerError::TooFewKeys { account, needed, given: own.len() });
        }
        own.truncate(self.threshold);
        Ok(own)
    }

    /// The first of them that counts here: whose transaction it is.
    fn sender<'k>(&self, keys: &'k [OwnerSigner]) -> Result<&'k OwnerSigner, OwnerError> {
        let (account, needed) = (self.address, self.threshold);
        self.own(keys).next().ok_or(OwnerError::TooFewKeys { account, needed, given: 0 })
    }

    /// Those of the keys that count here.
    fn own<'k>(&self, keys: &'k [OwnerSigner]) -> impl Iterator<Item = &'k OwnerSigner> {
        keys.iter().filter(|key| self.signers.contains(&key.address()))
    }
}

/// Nothing but these calls, once and soon.
fn agreed(calls: &[Execution], until: u64) -> Result<Vec<Caveat>, OwnerError> {
    let exactly = calls.iter().map(|call| terms::Execution {
        target: call.target,
        value: call.value,
        call_data: call.data.clone(),
    });
    let rules = [
        Rule::ExactExecutionBatch(ExactExecutionBatch(exactly.collect())),
        Rule::LimitedCalls(LimitedCalls(U256::ONE)),
        Rule::Timestamp(Timestamp { after: 0, before: until.into() }),
    ];
    let environment = environment();
    let caveat = |rule: &Rule| {
        let kind = rule.kind().map_or("unknown", golem_delegation::Kind::name);
        environment.caveat(rule).ok().flatten().ok_or(OwnerError::NoEnforcer { kind })
    };
    rules.iter().map(caveat).collect()
}
