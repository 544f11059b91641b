//! The account that is robbed, and the ways to its grant.

use super::{
    Grant, Victim, calls,
    wish::{SESSION, THIEF, Wish},
};
use alloy::{
    network::TransactionBuilder,
    primitives::{Address, B256, Bytes, I256, U256},
    providers::{Provider, ext::AnvilApi},
    rpc::types::TransactionRequest,
    sol_types::SolCall,
};
use anyhow::{Context, Result, bail, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::{PriceAggregator, PriceFeed},
    framework::{DELEGATION_MANAGER, DelegationManager, MODE_SINGLE},
    golem_registry,
};
use bardo_testkit::Stage;
use golem_chain::local::FAUCET;
use golem_custody::Execution;
use golem_delegation::{Delegation, PermissionContext, ROOT_AUTHORITY, SigningDomain};
use serde_json::json;

/// Seconds between two blocks: time is part of what contracts read.
const BLOCK_TIME: u64 = 12;

/// A transaction of anybody.
#[derive(Clone, Debug)]
pub(super) struct Tx {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) value: U256,
    pub(super) data: Bytes,
}

impl Tx {
    /// A plain call by the thief's purse.
    pub(super) fn thief(call: &Execution) -> Self {
        Self::of(THIEF, call)
    }

    /// A plain call.
    pub(super) fn of(from: Address, call: &Execution) -> Self {
        Self { from, to: call.target, value: call.value, data: call.data.clone() }
    }
}

/// An owner's account, and a thief with the session key and the grant.
pub(super) struct Prey<'s> {
    pub(super) stage: &'s Stage,
    pub(super) wish: Wish,
    /// The grant as it was given; anybody may have read it.
    pub(super) grant: Delegation,
    owner: &'s Victim,
    column: &'s dyn Grant,
    refusals: Vec<String>,
    went_through: bool,
    ended: Option<&'static str>,
    broken: Option<String>,
    dying: u64,
}

impl<'s> Prey<'s> {
    /// Lets the owner grant `wish` the column's way.
    pub(super) async fn new(
        stage: &'s Stage,
        owner: &'s Victim,
        column: &'s dyn Grant,
        wish: Wish,
    ) -> Result<Self> {
        let unsigned = Delegation {
            delegate: wish.session,
            delegator: wish.account,
            authority: ROOT_AUTHORITY,
            caveats: column.caveats(&wish)?,
            salt: U256::from(wish.epoch),
            signature: Bytes::new(),
        };
        let grant = owner.grant(&stage.domain(), unsigned)?;
        let mut prey = Self {
            stage,
            owner,
            column,
            wish,
            grant,
            refusals: vec![],
            went_through: false,
            ended: None,
            broken: None,
            dying: u64::MAX,
        };
        for (from, call) in column.setup(&prey.wish, &prey.grant) {
            prey.must(Tx::of(from, &call)).await?;
        }
        Ok(prey)
    }

    /// The owner's next grant to the same key, in the place of this one.
    pub(super) async fn granted_again(&self) -> Result<Self> {
        let word = GolemRegistry::wordCall { golemId: self.wish.golem };
        let word: U256 = self.stage.node().read(golem_registry(), word).await?;
        // Above 84 lower bits of the Golem's word.
        let series: U256 = word >> 84;
        let series = series.wrapping_to::<u16>();
        let wish = Wish { epoch: self.wish.epoch + 1, series, ..self.wish.clone() };
        Self::new(self.stage, self.owner, self.column, wish).await
    }

    /// Takes over what happened under another grant.
    pub(super) fn absorb(&mut self, other: Prey<'_>) {
        self.went_through |= other.went_through;
        self.broken = self.broken.take().or(other.broken);
        for refusal in other.refusals {
            self.note(refusal);
        }
    }

    /// A grant that the owner signed for another chain or manager.
    pub(super) fn signed_for(&self, chain_id: u64, manager: Address) -> Result<Delegation> {
        let domain = SigningDomain { chain_id, manager };
        self.owner.grant(&domain, self.grant.clone())
    }

    /// The grant in chain form.
    pub(super) fn context(&self) -> Result<PermissionContext> {
        Ok(PermissionContext::new(vec![self.grant.clone()])?)
    }

    /// The grant's kind.
    pub(super) const fn column(&self) -> &dyn Grant {
        self.column
    }

    /// Who refused so far, each once.
    pub(super) fn refusals(&self) -> &[String] {
        &self.refusals
    }

    /// Whether a redemption passed.
    pub(super) const fn went_through(&self) -> bool {
        self.went_through
    }

    /// What passed although the owner had ruled it out.
    pub(super) fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// From here on the owner wants no redemption to pass: one that does is a win, as `why`.
    pub(super) const fn ended(&mut self, why: &'static str) {
        self.ended = Some(why);
    }

    /// From the next block on the Golem is Terminal.
    pub(super) async fn dies(&mut self) -> Result<()> {
        self.dying = self.stage.node().head().await?.number + 1;
        Ok(())
    }

    /// The block from which on it was.
    pub(super) const fn dying(&self) -> u64 {
        self.dying
    }

    fn note(&mut self, refusal: String) {
        if !self.refusals.contains(&refusal) {
            self.refusals.push(refusal);
        }
    }

    // Redeeming

    /// Redeems the grant for `calls`, in one transaction of the session key.
    pub(super) async fn redeem(&mut self, calls: &[Execution]) -> Result<bool> {
        let data = self.column.redeem(&self.context()?, calls);
        self.redeem_with(SESSION, data).await
    }

    /// Each call in a transaction of its own: what is refused does not take the rest with it.
    pub(super) async fn redeem_each(&mut self, calls: &[Execution]) -> Result<()> {
        for call in calls {
            self.redeem(std::slice::from_ref(call)).await?;
        }
        Ok(())
    }

    /// The same calls as often as they go through, within reason.
    pub(super) async fn redeem_greedily(&mut self, calls: &[Execution]) -> Result<()> {
        for _ in 0..12 {
            if !self.redeem(calls).await? {
                break;
            }
        }
        Ok(())
    }

    /// Redeems a chain of delegations, as `redeemer`.
    pub(super) async fn redeem_chain(
        &mut self,
        redeemer: Address,
        links: Vec<Delegation>,
        calls: &[Execution],
    ) -> Result<bool> {
        let data = self.column.redeem(&PermissionContext::new(links)?, calls);
        self.redeem_with(redeemer, data).await
    }

    /// Redeems the grant with any mode and any bytes for an execution.
    pub(super) async fn redeem_raw(&mut self, mode: B256, execution: Bytes) -> Result<bool> {
        let context = self.context()?.encode();
        let data = redeem_calldata(vec![context], vec![mode], vec![execution]);
        self.redeem_with(SESSION, data).await
    }

    /// Sends calldata to the manager.
    pub(super) async fn redeem_with(&mut self, redeemer: Address, data: Bytes) -> Result<bool> {
        let tx = Tx { from: redeemer, to: DELEGATION_MANAGER, value: U256::ZERO, data };
        let passed = self.send(tx).await?;
        self.passed(passed);
        Ok(passed)
    }

    /// Notes that a redemption passed, or did not.
    pub(super) fn passed(&mut self, passed: bool) {
        self.went_through |= passed;
        if passed && let Some(why) = self.ended {
            self.broken = Some(why.into());
        }
    }

    /// The transaction in which the session key redeems `calls`.
    pub(super) fn redemption(&self, calls: &[Execution]) -> Result<Tx> {
        let data = self.column.redeem(&self.context()?, calls);
        Ok(Tx { from: SESSION, to: DELEGATION_MANAGER, value: U256::ZERO, data })
    }

    /// A link below the grant that the session key signs: to `delegate`, without any caveat.
    pub(super) async fn child(&self, delegate: Address, salt: u64) -> Result<Delegation> {
        self.link(&self.grant, SESSION, delegate, salt).await
    }

    /// A link without caveats below `parent`, signed by a development account.
    pub(super) async fn link(
        &self,
        parent: &Delegation,
        delegator: Address,
        delegate: Address,
        salt: u64,
    ) -> Result<Delegation> {
        let link = Delegation {
            delegate,
            delegator,
            authority: parent.hash().0,
            caveats: vec![],
            salt: U256::from(salt),
            signature: Bytes::new(),
        };
        self.sign_link(link, delegator).await
    }

    /// Signs a delegation as a development account.
    pub(super) async fn sign_link(&self, link: Delegation, signer: Address) -> Result<Delegation> {
        let caveats: Vec<_> = link
            .caveats
            .iter()
            .map(|caveat| json!({ "enforcer": caveat.enforcer, "terms": caveat.terms }))
            .collect();
        let message = json!({
            "delegate": link.delegate,
            "delegator": link.delegator,
            "authority": link.authority,
            "caveats": caveats,
            "salt": link.salt.to_string(),
        });
        let types = json!({
            "Caveat": [
                { "name": "enforcer", "type": "address" },
                { "name": "terms", "type": "bytes" },
            ],
            "Delegation": [
                { "name": "delegate", "type": "address" },
                { "name": "delegator", "type": "address" },
                { "name": "authority", "type": "bytes32" },
                { "name": "caveats", "type": "Caveat[]" },
                { "name": "salt", "type": "uint256" },
            ],
        });
        let domain = ("DelegationManager", Some("1"), DELEGATION_MANAGER);
        let signature = self.sign(signer, domain, "Delegation", types, message).await?;
        Ok(link.signed(signature))
    }

    /// EIP-712 signature of a development account over anything.
    pub(super) async fn sign(
        &self,
        signer: Address,
        (name, version, contract): (&str, Option<&str>, Address),
        primary: &str,
        types: serde_json::Value,
        message: serde_json::Value,
    ) -> Result<Bytes> {
        let mut types = types.as_object().cloned().unwrap_or_default();
        let mut own = vec![
            json!({ "name": "name", "type": "string" }),
            json!({ "name": "chainId", "type": "uint256" }),
            json!({ "name": "verifyingContract", "type": "address" }),
        ];
        let mut domain = serde_json::Map::new();
        domain.insert("name".into(), name.into());
        domain.insert("chainId".into(), self.stage.node().chain_id().into());
        domain.insert("verifyingContract".into(), json!(contract));
        if let Some(version) = version {
            own.insert(1, json!({ "name": "version", "type": "string" }));
            domain.insert("version".into(), version.into());
        }
        types.insert("EIP712Domain".into(), own.into());
        let data = json!({
            "types": types,
            "primaryType": primary,
            "domain": domain,
            "message": message,
        });
        let provider = self.stage.node().provider();
        Ok(provider.raw_request("eth_signTypedData_v4".into(), (signer, data)).await?)
    }

    // Chain

    /// Time of the newest block.
    pub(super) async fn now(&self) -> Result<u64> {
        self.stage.now().await
    }

    /// Sends a transaction and demands success.
    pub(super) async fn must(&mut self, tx: Tx) -> Result<()> {
        let (from, to) = (tx.from, tx.to);
        let passed = self.send(tx).await?;
        ensure!(passed, "transaction from {from} to {to} failed: {:?}", self.refusals);
        Ok(())
    }

    /// Several of the thief's own, which must all succeed.
    pub(super) async fn thief_does(&mut self, calls: &[Execution]) -> Result<()> {
        for call in calls {
            self.must(Tx::thief(call)).await?;
        }
        Ok(())
    }

    /// Sends a transaction in the next block; what refused it is written down.
    pub(super) async fn send(&mut self, tx: Tx) -> Result<bool> {
        let next = self.now().await? + BLOCK_TIME;
        self.send_at(tx, next).await
    }

    /// The same in a block of a given second.
    pub(super) async fn send_at(&mut self, tx: Tx, time: u64) -> Result<bool> {
        let [hash] = self.mine([(&tx, 1, 15_000_000)], time).await?[..] else {
            bail!("one transaction has one hash");
        };
        self.look_up(hash).await
    }

    /// Sends a transaction of the thief's that may fail for want of what he did not get: it is no
    /// refusal of the grant's.
    pub(super) async fn hope(&self, call: &Execution) -> Result<()> {
        let next = self.now().await? + BLOCK_TIME;
        self.mine([(&Tx::thief(call), 1, 1_000_000)], next).await.map(drop)
    }

    /// Sends an empty transaction that pays `price` for each of its 21,000 gas.
    pub(super) async fn burn(&self, from: Address, price: u128) -> Result<()> {
        let next = self.now().await? + BLOCK_TIME;
        let tx = Tx { from, to: THIEF, value: U256::ZERO, data: Bytes::new() };
        self.mine([(&tx, price, 21_000)], next).await.map(drop)
    }

    /// Several transactions in one block, in this order. Answers for each.
    pub(super) async fn in_one_block(&mut self, txs: &[Tx]) -> Result<Vec<bool>> {
        let next = self.now().await? + BLOCK_TIME;
        // Who pays more comes first.
        let tips = (1..=1_000).rev();
        let hashes = self.mine(txs.iter().zip(tips).map(|(tx, tip)| (tx, tip, 1_500_000)), next);
        let mut answers = Vec::new();
        for (tx, hash) in txs.iter().zip(hashes.await?) {
            let passed = self.look_up(hash).await?;
            if tx.from == SESSION {
                self.passed(passed);
            }
            answers.push(passed);
        }
        Ok(answers)
    }

    /// Makes a block of transactions, each with its fee and its gas limit; once the scene is set, nobody
    /// else makes blocks.
    async fn mine<'t>(
        &self,
        txs: impl IntoIterator<Item = (&'t Tx, u128, u64)>,
        time: u64,
    ) -> Result<Vec<B256>> {
        let provider = self.stage.node().provider();
        // Gas costs next to nothing here, so that what is measured is the theft alone.
        provider.anvil_set_next_block_base_fee_per_gas(0).await?;
        let mut hashes = Vec::new();
        for (tx, tip, gas) in txs {
            provider.anvil_impersonate_account(tx.from).await?;
            let request = TransactionRequest::default()
                .with_from(tx.from)
                .with_to(tx.to)
                .with_value(tx.value)
                .with_gas_limit(gas)
                .with_max_fee_per_gas(tip)
                .with_max_priority_fee_per_gas(tip)
                .with_input(tx.data.clone());
            hashes.push(*provider.send_transaction(request).await?.tx_hash());
        }
        provider.anvil_set_next_block_timestamp(time).await?;
        provider.anvil_mine(Some(1), None).await?;
        Ok(hashes)
    }

    async fn look_up(&mut self, hash: B256) -> Result<bool> {
        let provider = self.stage.node().provider();
        let receipt = provider.get_transaction_receipt(hash).await?.context("not mined")?;
        if !receipt.status() {
            let refusal = self.refusal(hash).await?;
            self.note(refusal);
        }
        Ok(receipt.status())
    }

    /// Moves the clock to `time` and lets the feeds answer anew.
    pub(super) async fn wait_until(&mut self, time: u64) -> Result<()> {
        self.stage.warp(time).await?;
        for feed in [self.wish.book.eth_usd, self.wish.book.usdc_usd] {
            let ask = PriceFeed::latestRoundDataCall {};
            let answer = self.stage.node().read(feed, ask).await?.answer;
            self.feed_says(feed, answer).await?;
        }
        Ok(())
    }

    /// Gives a feed a new answer. Not by the stage: it waits for a transaction by its hash, and on a
    /// copy of the chain the same transaction has been before.
    pub(super) async fn feed_says(&mut self, feed: Address, answer: I256) -> Result<()> {
        let aggregator = self.stage.node().read(feed, PriceFeed::aggregatorCall {}).await?;
        let set = calls::call(aggregator, PriceAggregator::setCall { answer });
        self.must(Tx::of(FAUCET, &set)).await
    }

    /// A state to come back to.
    pub(super) async fn snapshot(&self) -> Result<U256> {
        Ok(self.stage.node().provider().anvil_snapshot().await?)
    }

    /// Back to it: a trick that did not work is not played.
    pub(super) async fn revert(&self, snapshot: U256) -> Result<()> {
        ensure!(self.stage.node().provider().anvil_revert(snapshot).await?, "snapshot is gone");
        Ok(())
    }

    /// What the owner does to stop his agent.
    pub(super) async fn revoked(&mut self) -> Result<()> {
        for tx in self.revocation() {
            self.must(tx).await?;
        }
        Ok(())
    }

    /// The transactions of it.
    pub(super) fn revocation(&self) -> Vec<Tx> {
        let calls = self.column.revocation(&self.wish, &self.grant);
        calls.iter().map(|(from, call)| Tx::of(*from, call)).collect()
    }
}

/// Calldata of `redeemDelegations`, of any lengths.
pub(super) fn redeem_calldata(
    contexts: Vec<Bytes>,
    modes: Vec<B256>,
    executions: Vec<Bytes>,
) -> Bytes {
    DelegationManager::redeemDelegationsCall {
        permissionContexts: contexts,
        modes,
        executionCallDatas: executions,
    }
    .abi_encode()
    .into()
}

/// `target ‖ value ‖ data`: how the manager takes one call.
pub(super) fn single(call: &Execution) -> Bytes {
    let value = call.value.to_be_bytes::<32>();
    [call.target.as_slice(), &value, &call.data].concat().into()
}

/// One tuple per call: stock enforcers judge single calls only.
pub(super) fn one_tuple_each(context: &PermissionContext, calls: &[Execution]) -> Bytes {
    let contexts = vec![context.encode(); calls.len()];
    redeem_calldata(contexts, vec![MODE_SINGLE; calls.len()], calls.iter().map(single).collect())
}
