//! What a life is counted again from: its chain, its folder, and whose it is. The page is not asked.

use alloy::{
    consensus::Transaction as _,
    eips::BlockId,
    eips::BlockNumberOrTag,
    network::{TransactionBuilder as _, TransactionResponse as _},
    primitives::{Address, B256, U256},
    providers::Provider as _,
    rpc::types::{Filter, Log, TransactionReceipt, TransactionRequest},
    sol_types::{SolCall, SolEvent as _},
};
use anyhow::{Context as _, Result};
use bardo_bindings::{
    GolemCharterEnforcer, GolemRegistry,
    defi::{Erc20, PriceFeed},
    framework::{DELEGATION_MANAGER, DelegationManager},
    golem_charter_enforcer, golem_registry,
};
use bardo_store::{Archive, Record, Seal};
use golem_chain::{Node, local::AddressBook};
use golem_delegation::SpendWindow;
use golem_runtime::GolemEvent;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

/// A transaction as its block has it.
pub(crate) struct Sent {
    pub(crate) receipt: TransactionReceipt,
    pub(crate) to: Option<Address>,
    pub(crate) value: U256,
}

pub(crate) type All = BTreeMap<B256, Sent>;

/// Where its chain and its folder are, and whose it is.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) node: Node,
    pub(crate) book: AddressBook,
    pub(crate) golem: B256,
    pub(crate) account: Address,
    pub(crate) owner: Address,
    pub(crate) data: PathBuf,
    /// What its owner wrote into every charter of it.
    pub(crate) charter: PathBuf,
    /// A block before everything.
    pub(crate) began: u64,
}

pub(crate) struct Witness {
    pub(crate) scene: Scene,
    /// The keys that the registry was told of, the first one first.
    pub(crate) keys: Vec<Address>,
    /// Keys of its children.
    pub(crate) children: Vec<Address>,
    /// Hashes of what it signed, as its log has them.
    pub(crate) signed: BTreeSet<B256>,
    pub(crate) records: Vec<Record>,
    pub(crate) seals: Vec<Seal>,
    /// Every transaction of every block.
    pub(crate) sent: All,
}

impl Witness {
    pub(crate) async fn of(scene: Scene) -> Result<Self> {
        let (records, seals) = Archive::open(&scene.data)?.audit()?;
        let (mut signed, mut children) = (BTreeSet::new(), Vec::new());
        for record in &records {
            match GolemEvent::of_record(&record.kind, &record.body) {
                GolemEvent::OperationSigned { op_hash: hash, .. }
                | GolemEvent::IntentDone { hash, .. }
                | GolemEvent::IntentFailed { hash, .. } => {
                    signed.insert(hash);
                }
                GolemEvent::ReplicantSpawned { session, .. } => children.push(session),
                _ => {}
            }
        }
        let attached = Filter::new()
            .address(golem_registry())
            .event_signature(GolemRegistry::AgentAttached::SIGNATURE_HASH)
            .topic1(scene.golem)
            .from_block(0);
        let attached = scene.node.provider().get_logs(&attached).await?;
        let mut keys = Vec::new();
        for log in attached {
            keys.push(GolemRegistry::AgentAttached::decode_log(&log.inner)?.agentKey);
        }
        let sent = scene.every_transaction().await?;
        Ok(Self { scene, keys, children, signed, records, seals, sent })
    }

    /// What left a trace of it on chain: an event of the registry, the manager or a token, about it.
    pub(crate) fn concerned(&self) -> impl Iterator<Item = (&B256, &Sent)> {
        self.sent.iter().filter(|(hash, one)| {
            self.signed.contains(*hash) || one.receipt.logs().iter().any(|log| self.is_its(log))
        })
    }

    fn is_its(&self, log: &Log) -> bool {
        let topics = log.topics();
        let is = |event: B256| topics.first() == Some(&event);
        let names = |at: usize, word: B256| topics.get(at) == Some(&word);
        let account = self.scene.account.into_word();
        if log.address() == golem_registry() {
            let all = is(GolemRegistry::AllRevoked::SIGNATURE_HASH);
            return names(1, self.scene.golem) || (all && names(1, self.scene.owner.into_word()));
        }
        if log.address() == DELEGATION_MANAGER {
            let disabled = is(DelegationManager::DisabledDelegation::SIGNATURE_HASH);
            let redeemed = is(DelegationManager::RedeemedDelegation::SIGNATURE_HASH);
            let mut own = self.keys.iter().chain(&self.children);
            return (disabled && names(2, account))
                || (redeemed && own.any(|key| names(2, key.into_word())));
        }
        [self.scene.book.usdc, self.scene.book.weth].contains(&log.address())
            && is(Erc20::Transfer::SIGNATURE_HASH)
            && (names(1, account) || names(2, account))
    }

    /// Whose it was, as the page says it.
    pub(crate) fn by(&self, hash: &B256, receipt: &TransactionReceipt) -> &'static str {
        match receipt.from {
            from if self.keys.contains(&from) && self.signed.contains(hash) => "the Golem",
            from if self.keys.contains(&from) => "its key, not the Golem",
            from if self.children.contains(&from) => "its Replicants",
            from if from == self.scene.owner => "its owner",
            _ => "somebody else",
        }
    }
}

impl Scene {
    async fn every_transaction(&self) -> Result<All> {
        let provider = self.node.provider();
        let mut all = BTreeMap::new();
        for number in self.began..=provider.get_block_number().await? {
            let number = BlockNumberOrTag::Number(number);
            let block = provider.get_block_by_number(number).full().await?;
            for one in block.context("no block")?.transactions.into_transactions() {
                let hash = one.tx_hash();
                let receipt = provider.get_transaction_receipt(hash).await?;
                let receipt = receipt.context("no receipt")?;
                all.insert(hash, Sent { receipt, to: one.to(), value: one.value() });
            }
        }
        Ok(all)
    }

    /// A view as it was.
    pub(crate) async fn on<C: SolCall>(
        &self,
        block: u64,
        to: Address,
        call: C,
    ) -> Result<C::Return> {
        let request = TransactionRequest::default().with_to(to).with_input(call.abi_encode());
        let asked = self.node.provider().call(request).block(BlockId::number(block));
        Ok(C::abi_decode_returns(&asked.await?)?)
    }

    pub(crate) async fn second(&self, block: u64) -> Result<u64> {
        let header = self.node.provider().get_block_by_number(block.into()).await?;
        Ok(header.context("no block")?.header.timestamp)
    }

    /// What counts in the spend window, by the contract's own word on that block.
    pub(crate) async fn spent_at(&self, block: u64) -> Result<u64> {
        let call = GolemCharterEnforcer::spendWindowOfCall {
            manager: DELEGATION_MANAGER,
            delegator: self.account,
            golemId: self.golem,
        };
        let word: U256 = self.on(block, golem_charter_enforcer(), call).await?;
        Ok(u64::try_from(SpendWindow::from_word(word).spent(self.second(block).await?)?)?)
    }

    /// What one unit of a dollar token is worth, with eight decimals.
    pub(crate) async fn dollar_at(&self, block: u64) -> Result<U256> {
        let round = self.on(block, self.book.usdc_usd, PriceFeed::latestRoundDataCall {}).await?;
        Ok(U256::try_from(round.answer)?)
    }

    /// Balances times prices, in micro-dollars.
    pub(crate) async fn worth_at(&self, block: u64) -> Result<u64> {
        let balance = Erc20::balanceOfCall { account: self.account };
        let dollars: U256 = self.on(block, self.book.usdc, balance.clone()).await?;
        let wrapped: U256 = self.on(block, self.book.weth, balance).await?;
        let coins = self.node.provider().get_balance(self.account).number(block).await?;
        let eth = self.on(block, self.book.eth_usd, PriceFeed::latestRoundDataCall {}).await?;
        let eth = U256::try_from(eth.answer)?;
        // Feeds have eight decimals.
        let of_ether = |amount: U256| amount * eth / U256::from(10).pow(U256::from(20));
        let worth = dollars * self.dollar_at(block).await? / U256::from(10).pow(U256::from(8))
            + of_ether(wrapped)
            + of_ether(coins);
        Ok(u64::try_from(worth)?)
    }
}
