mod by_operation;

use crate::{
    Node, OwnerError,
    foresight::toll,
    node::rpc,
    outbox::{OWNER_FEE_CEILING, Outgoing, send},
    snapshot::said,
};
use alloy::{
    eips::BlockId,
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, U256, keccak256},
    providers::Provider,
    rpc::types::{TransactionReceipt, TransactionRequest},
    sol_types::{SolCall, SolValue},
};
use bardo_bindings::framework::{
    DELEGATION_MANAGER, DeleGator, DelegationManager, HYBRID_IMPL, HybridDeleGator, MODE_BATCH,
    SIMPLE_FACTORY, STATELESS_7702_IMPL, SimpleFactory,
};
pub(crate) use by_operation::{hand_in, is_paused, own_operation};
use golem_custody::{Execution, OwnerSigner, P256Owner, Redemption, SessionAccount, encode_batch};
use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY, SigningDomain};
use serde::{Deserialize, Serialize};

/// What EIP-7702 puts before the address of an EOA's code.
pub(crate) const UPGRADED: [u8; 3] = [0xef, 0x01, 0x00];

/// The kinds of owner's account Bardo drives by a single key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccountKind {
    /// The owner's EOA itself, upgraded by EIP-7702.
    #[serde(rename = "7702")]
    Stateless7702,
    /// A Hybrid smart account owned by the EOA: the vault.
    Hybrid,
}

/// An owner's account: where the money is and stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Which kind.
    pub kind: AccountKind,
    /// Its address: the delegator of every root grant.
    pub address: Address,
    /// The EOA whose key rules it.
    pub owner: Address,
    /// Creation of the proxy, for an account that is not deployed yet.
    factory_call: Option<Bytes>,
}

/// A transaction for the owner's wallet, as any wallet takes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnerCall {
    /// Who must send it.
    pub from: Address,
    /// Whom it calls.
    pub to: Address,
    /// Calldata.
    pub data: Bytes,
}

/// Where the factory puts the Hybrid account of `owner` under `salt`.
///
/// `proxy_code` is the creation code of the framework's ERC-1967 proxy; it is not ours and comes
/// from its package.
#[must_use]
pub fn hybrid_account(owner: Address, salt: B256, proxy_code: &[u8]) -> Account {
    let init =
        HybridDeleGator::initializeCall { owner, keyIds: vec![], xValues: vec![], yValues: vec![] };
    let (address, create) = proxy_account(HYBRID_IMPL, init.abi_encode(), salt, proxy_code);
    Account { kind: AccountKind::Hybrid, address, owner, factory_call: Some(create) }
}

/// Where the factory puts the Hybrid account that a P-256 session key owns, and the factory's calldata that creates it.
#[must_use]
pub fn p256_session_account(owner: &P256Owner, salt: B256, proxy_code: &[u8]) -> SessionAccount {
    let init = HybridDeleGator::initializeCall {
        owner: Address::ZERO,
        keyIds: vec![owner.key_id.clone()],
        xValues: vec![owner.x],
        yValues: vec![owner.y],
    };
    let (address, creation) = proxy_account(HYBRID_IMPL, init.abi_encode(), salt, proxy_code);
    SessionAccount::Hybrid { address, creation }
}

/// Address of a proxy account, and the factory's calldata that creates it.
#[must_use]
pub fn proxy_account(
    implementation: Address,
    init: Vec<u8>,
    salt: B256,
    proxy_code: &[u8],
) -> (Address, Bytes) {
    let arguments = (implementation, Bytes::from(init)).abi_encode_params();
    let bytecode: Bytes = [proxy_code, &arguments].concat().into();
    let address = SIMPLE_FACTORY.create2(salt, keccak256(&bytecode));
    (address, SimpleFactory::deployCall { bytecode, salt }.abi_encode().into())
}

impl Account {
    /// The account that `owner`'s EOA becomes by EIP-7702.
    #[must_use]
    pub const fn stateless_7702(owner: Address) -> Self {
        Self { kind: AccountKind::Stateless7702, address: owner, owner, factory_call: None }
    }

    /// The account at `address` that `owner`'s key rules: his own EOA, or a Hybrid account that names him.
    pub async fn ruled_by(
        node: &Node,
        owner: Address,
        address: Address,
    ) -> Result<Self, OwnerError> {
        if address == owner {
            return Ok(Self::stateless_7702(owner));
        }
        if node.code(address).await?.is_empty() {
            return Err(OwnerError::NotCreated { account: address });
        }
        // Other kinds have no such function, or another owner: either way this key does not rule them.
        match said(node.read(address, HybridDeleGator::ownerCall {}).await)? {
            Some(named) if named == owner => {
                Ok(Self { kind: AccountKind::Hybrid, address, owner, factory_call: None })
            }
            _ => Err(OwnerError::NotTheOwner { account: address, owner }),
        }
    }

    /// The factory's calldata that creates the account; none for an EOA, which is upgraded.
    #[must_use]
    pub const fn creation(&self) -> Option<&Bytes> {
        self.factory_call.as_ref()
    }

    /// Makes the account do `calls`, all or none, by plain transactions of the owner's EOA: no
    /// bundler, no paymaster, no other process. Each costs [`OWNER_FEE_CEILING`] at most.
    ///
    /// A 7702 account calls itself, and is upgraded in the same transaction where it has no code.
    /// A Hybrid account is deployed first where it has no code, and then obeys its owner through
    /// a delegation to him that he signs for this one batch; while the manager is paused, through
    /// an operation that he hands to the entry point himself.
    pub async fn act(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        calls: &[Execution],
    ) -> Result<Vec<TransactionReceipt>, OwnerError> {
        self.act_within(node, owner, calls, OWNER_FEE_CEILING).await
    }

    /// The same with another ceiling for what each transaction may cost, in wei.
    pub async fn act_within(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        calls: &[Execution],
        ceiling: U256,
    ) -> Result<Vec<TransactionReceipt>, OwnerError> {
        let mut receipts = Vec::new();
        match self.kind {
            AccountKind::Stateless7702 => {
                let outgoing = self.own_outgoing(node, owner, calls, ceiling).await?;
                receipts.push(send(node, owner, outgoing).await?);
                // A void authorization fails silently, and a call to an account without code succeeds.
                if self.requires_creation(node).await? {
                    return Err(OwnerError::NotUpgraded { account: self.address });
                }
            }
            AccountKind::Hybrid => {
                receipts.extend(self.create(node, owner, ceiling).await?);
                if is_paused(node).await? {
                    receipts.push(self.by_operation(node, owner, calls, ceiling).await?);
                    return Ok(receipts);
                }
                let context = self.own_context(node.chain_id(), owner)?;
                let data = Redemption::batch(DELEGATION_MANAGER, context, calls).calldata();
                let call = OwnerCall { from: self.owner, to: DELEGATION_MANAGER, data };
                receipts.push(call.send(node, owner, ceiling).await?);
            }
        }
        Ok(receipts)
    }

    /// The transaction by which a 7702 account does `calls` itself, with its upgrade where it has no code.
    pub(crate) async fn own_outgoing(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        calls: &[Execution],
        ceiling: U256,
    ) -> Result<Outgoing, OwnerError> {
        let fresh = self.requires_creation(node).await?;
        // One plan for both: the authorization names the nonce after the transaction's.
        let plan = node.plan(self.owner).await?;
        let upgrade = if fresh { Some(owner.upgrade(&plan)?) } else { None };
        let (to, data, spends) = (self.owner, own_batch(calls), U256::ZERO);
        Ok(Outgoing { plan, to, data, upgrade, ceiling, spends })
    }

    /// Deploys a Hybrid account that has no code yet, for at most `ceiling` wei. Nothing is sent where there is code, nor
    /// for an EOA, which is upgraded by its first act.
    pub async fn create(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        ceiling: U256,
    ) -> Result<Option<TransactionReceipt>, OwnerError> {
        let Some(create) = &self.factory_call else { return Ok(None) };
        if !self.requires_creation(node).await? {
            return Ok(None);
        }
        node.require("SimpleFactory", SIMPLE_FACTORY).await?;
        node.require("HybridDeleGator", HYBRID_IMPL).await?;
        let call = OwnerCall { from: self.owner, to: SIMPLE_FACTORY, data: create.clone() };
        let receipt = match call.send(node, owner, ceiling).await {
            // Another creation may have been first.
            Err(OwnerError::Failed { .. }) if !self.requires_creation(node).await? => {
                return Ok(None);
            }
            sent => sent?,
        };
        // Believe the code, not the receipt.
        node.require("the owner's account", self.address).await?;
        Ok(Some(receipt))
    }

    /// The most that gas for `calls` of a 7702 account may cost now, with what a rollup charges for their data, in wei. The account
    /// pays it itself.
    pub(crate) async fn gas_money(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        calls: &[Execution],
    ) -> Result<U256, OwnerError> {
        let fresh = self.requires_creation(node).await?;
        let plan = node.plan(self.owner).await?;
        let upgrade = if fresh { Some(owner.upgrade(&plan)?) } else { None };
        let data = own_batch(calls);
        let toll = toll::of_transaction(node, data.len(), fresh).await?;
        let mut request = TransactionRequest::default()
            .with_from(self.owner)
            .with_to(self.owner)
            .with_input(data);
        request.authorization_list = upgrade.map(|signed| vec![signed]);
        let gas = node.provider().estimate_gas(request).block(BlockId::latest()).await.map_err(
            |source| {
                let source = rpc("an estimate of the transaction")(source);
                OwnerError::WouldFail { to: self.owner, source }
            },
        )?;
        Ok(U256::from(gas).saturating_mul(U256::from(plan.max_fee_per_gas)).saturating_add(toll))
    }

    /// Whether the account has no code yet. Code that is not the framework's is refused: an EOA
    /// upgraded to something else obeys something else (ATK-32). A Hybrid account's address is
    /// derived from its first code, and only its owner can change that.
    ///
    /// What an EOA is upgraded to has to be there: a call to an account that points at nothing succeeds and does nothing.
    pub(crate) async fn requires_creation(&self, node: &Node) -> Result<bool, OwnerError> {
        if self.kind == AccountKind::Stateless7702 {
            node.require("EIP7702StatelessDeleGator", STATELESS_7702_IMPL).await?;
        }
        let code = node.code(self.address).await?;
        if code.is_empty() {
            return Ok(true);
        }
        let ours = [UPGRADED.as_slice(), STATELESS_7702_IMPL.as_slice()].concat();
        if self.kind == AccountKind::Stateless7702 && code != ours {
            return Err(OwnerError::UnknownCode { account: self.address });
        }
        Ok(false)
    }

    /// The owner's way into his own vault: a root delegation from the account to his EOA.
    ///
    /// It has no caveats on purpose: it lends the owner nothing that he does not have.
    pub(crate) fn own_context(
        &self,
        chain_id: u64,
        owner: &OwnerSigner,
    ) -> Result<PermissionContext, OwnerError> {
        let own = Delegation {
            delegate: self.owner,
            delegator: self.address,
            authority: ROOT_AUTHORITY,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        let domain = SigningDomain { chain_id, manager: DELEGATION_MANAGER };
        let signed = owner.grant(&domain, own)?;
        PermissionContext::new(vec![signed]).map_err(|source| OwnerError::Context { source })
    }

    /// Has an account that is on the chain call `to`, by one transaction of the owner's EOA, for at most `ceiling` wei, whether or not the
    /// manager is paused. An EOA calls by itself, whatever code it has.
    pub async fn tell(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        to: Address,
        data: Bytes,
        ceiling: U256,
    ) -> Result<TransactionReceipt, OwnerError> {
        if self.kind == AccountKind::Hybrid && is_paused(node).await? {
            let call = Execution { target: to, value: U256::ZERO, data };
            return self.by_operation(node, owner, &[call], ceiling).await;
        }
        self.told(node.chain_id(), owner, to, data)?.send(node, owner, ceiling).await
    }

    /// Ends `grant` by one transaction of the owner's EOA, for at most `ceiling` wei, whether or not the manager is paused.
    pub async fn revoke(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        grant: &Delegation,
        ceiling: U256,
    ) -> Result<TransactionReceipt, OwnerError> {
        self.tell(node, owner, DELEGATION_MANAGER, revocation(grant), ceiling).await
    }

    /// The transaction that ends `grant`, complete at the time of the grant.
    ///
    /// The owner keeps it: sent by his wallet to any node, it needs nothing of Bardo (SPEC G5).
    pub fn revocation(
        &self,
        chain_id: u64,
        owner: &OwnerSigner,
        grant: &Delegation,
    ) -> Result<OwnerCall, OwnerError> {
        self.told(chain_id, owner, DELEGATION_MANAGER, revocation(grant))
    }

    /// The transaction of the owner's EOA by which the account makes one call, while the manager is not paused.
    fn told(
        &self,
        chain_id: u64,
        owner: &OwnerSigner,
        to: Address,
        data: Bytes,
    ) -> Result<OwnerCall, OwnerError> {
        let from = self.owner;
        if self.kind == AccountKind::Stateless7702 {
            return Ok(OwnerCall { from, to, data });
        }
        let call = Execution { target: to, value: U256::ZERO, data };
        let context = self.own_context(chain_id, owner)?;
        let data = Redemption::single(DELEGATION_MANAGER, context, &call).calldata();
        Ok(OwnerCall { from, to: DELEGATION_MANAGER, data })
    }
}

impl OwnerCall {
    /// A plain call of the owner's EOA.
    #[must_use]
    pub fn new<C: SolCall>(from: Address, to: Address, call: &C) -> Self {
        Self { from, to, data: call.abi_encode().into() }
    }

    /// Sends it by the owner's key, for at most `ceiling` wei, and waits.
    pub async fn send(
        &self,
        node: &Node,
        owner: &OwnerSigner,
        ceiling: U256,
    ) -> Result<TransactionReceipt, OwnerError> {
        let plan = node.plan(self.from).await?;
        let data = self.data.clone();
        let (to, upgrade, spends) = (self.to, None, U256::ZERO);
        send(node, owner, Outgoing { plan, to, data, upgrade, ceiling, spends }).await
    }
}

/// Calldata by which an account does `calls` itself, all or none.
fn own_batch(calls: &[Execution]) -> Bytes {
    let execute =
        DeleGator::executeCall { mode: MODE_BATCH, executionCalldata: encode_batch(calls) };
    execute.abi_encode().into()
}

/// Calldata of `disableDelegation`, to be sent by the delegator's account.
#[must_use]
pub fn revocation(grant: &Delegation) -> Bytes {
    [DelegationManager::disableDelegationCall::SELECTOR.as_slice(), &grant.encode()].concat().into()
}
