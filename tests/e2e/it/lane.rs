//! One key's way to the chain: nothing is sent twice, and nothing is thought done that is not (SPEC X1, X4, D20).

use crate::raw::RawKey;
use alloy::{
    consensus::Transaction as _,
    primitives::{Address, B256, Bytes, U256, address, bytes},
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::TransactionRequest,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{GolemRegistry, framework::DELEGATION_MANAGER, golem_registry};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{
    Agent, Fault, Owner, Proxy, Stage, dollars, judged, mandate, swap, swap_grant, unsigned,
};
use golem_chain::{
    AccountKind, ChainFault, Foresight, Landing, Lane, LaneFault, LanePolicy, Node,
    OWNER_FEE_CEILING, OwnerCall, OwnerError, revocation,
};
use golem_custody::{
    ClearingPolicy, CustodyError, DenialCode, Execution, Judged, Mandate, Open, Password,
    Redemption, SessionKey, SessionSigner as _,
};
use golem_delegation::{PermissionContext, terms::MortalityTimeWindow};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use url::Url;

/// Long enough for a busy machine, short enough for a test that failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks quickly, waits for one block and never raises a price unless a test says so.
fn policy() -> LanePolicy {
    LanePolicy {
        clearing: ClearingPolicy::default(),
        confirmations: 1,
        patience: PATIENCE,
        poll: Duration::from_millis(20),
        give_up: PATIENCE,
    }
}

/// A key with its grant, and what it may do `calls` times.
struct Line {
    lane: Arc<Lane<SessionKey>>,
    owner: Owner,
    context: PermissionContext,
    key: Address,
}

impl Line {
    async fn to(stage: &Stage, url: &Url, calls: u64, policy: LanePolicy) -> Result<Self> {
        let owner = stage.owner(AccountKind::Stateless7702).await?;
        let agent = Agent::hired(stage, &owner, calls).await?;
        let context = PermissionContext::new(vec![agent.grant.clone()])?;
        let now = stage.now().await?;
        let node = Node::connect_within(url, Duration::from_secs(2)).await?;
        let key = agent.key.address();
        let lane =
            Lane::open(Arc::new(Foresight::new(node)), agent.key, mandate(), policy, move || now)
                .await?;
        Ok(Self { lane: Arc::new(lane), owner, context, key })
    }

    async fn new(stage: &Stage, calls: u64, policy: LanePolicy) -> Result<Self> {
        Self::to(stage, stage.chain().url(), calls, policy).await
    }

    fn sale(&self, stage: &Stage, usd: u64) -> Redemption {
        let call = swap(stage, self.owner.account.address, dollars(usd));
        Redemption::single(DELEGATION_MANAGER, self.context.clone(), &call)
    }

    async fn sold(&self, stage: &Stage) -> Result<U256> {
        let left = stage.balance_of(stage.book().usdc, self.owner.account.address).await?;
        Ok(dollars(10_000) - left)
    }

    /// In the background, until it lands.
    fn go(&self, redemption: Redemption) -> tokio::task::JoinHandle<Result<Landing, LaneFault>> {
        let lane = Arc::clone(&self.lane);
        tokio::spawn(async move { lane.redeem(judged(redemption)).await })
    }
}

/// A key in a file, whose books outlive whoever uses it.
struct Kept {
    agent: Agent,
    folder: tempfile::TempDir,
    mandate: Mandate,
    now: u64,
}

impl Kept {
    async fn new(stage: &Stage) -> Result<Self> {
        let owner = stage.owner(AccountKind::Stateless7702).await?;
        let agent = Agent::hired(stage, &owner, 5).await?;
        let (folder, now) = (tempfile::tempdir()?, stage.now().await?);
        agent.key.save(&folder.path().join("key.json"), &Self::password()?)?;
        let books = folder.path().join("books");
        let golem = agent.key.address().into_word();
        let store = Store::open(&StoreConfig { folder: books, golem, max_pages: None }, None)?;
        let mandate = Mandate::by_hand(golem, owner.account.address, Arc::new(store));
        Ok(Self { agent, folder, mandate, now })
    }

    fn password() -> Result<Password> {
        Password::typed("one key".to_owned().into()).context("a password")
    }

    /// Another process on the same books.
    async fn lane(&self, node: Node, policy: LanePolicy) -> Result<Lane<SessionKey>> {
        let key = SessionKey::open(&self.folder.path().join("key.json"), &Self::password()?)?;
        let (foresight, now) = (Arc::new(Foresight::new(node)), self.now);
        Ok(Lane::open(foresight, key, self.mandate.clone(), policy, move || now).await?)
    }

    async fn by(&self, url: &Url, policy: LanePolicy) -> Result<Lane<SessionKey>> {
        self.lane(Node::connect_within(url, Duration::from_secs(2)).await?, policy).await
    }

    fn sale(&self, stage: &Stage, usd: u64) -> Result<Judged> {
        Ok(judged(self.agent.redemption(&swap(stage, self.agent.account, dollars(usd)))?))
    }

    async fn sold(&self, stage: &Stage) -> Result<U256> {
        Ok(dollars(10_000) - stage.balance_of(stage.book().usdc, self.agent.account).await?)
    }

    /// Places of what has not ended, and whether it is given up.
    async fn open(&self) -> Result<Vec<(U256, bool)>> {
        let open = self.mandate.books.open().await.map_err(|fault| anyhow::anyhow!(fault))?;
        let place = |one: &Open| Some((one.bids.last()?.place, one.forsaken));
        Ok(open.iter().filter_map(place).collect())
    }
}

/// Another node behind the same address, which knows neither the transaction nor its sender's coins.
fn without_coins() -> Fault {
    let no = json!({ "error": { "code": -32000, "message": "insufficient funds for gas" } });
    Fault::Claim(Arc::new(move || no.clone()))
}

fn done(landing: &Landing) -> Result<()> {
    match landing {
        Landing::Done(receipt) if receipt.success => Ok(()),
        other => bail!("not done: {other:?}"),
    }
}

/// Transactions of `sender` that wait for a block, by place: hash and price.
async fn waiting(stage: &Stage, sender: Address) -> Result<Vec<(B256, u128)>> {
    let pool: Value = stage.node().provider().raw_request("txpool_content".into(), ()).await?;
    let of = |from: &str| from.parse().is_ok_and(|from: Address| from == sender);
    let parts = ["pending", "queued"].into_iter().filter_map(|part| pool.get(part)?.as_object());
    let places = parts.flatten().filter(|(from, _)| of(from)).filter_map(|(_, tx)| tx.as_object());
    let mut found = Vec::new();
    for tx in places.flatten().map(|(_, tx)| tx) {
        let hash = serde_json::from_value(tx.get("hash").cloned().unwrap_or_default())?;
        let fee = tx.get("maxFeePerGas").cloned().unwrap_or_default();
        found.push((hash, serde_json::from_value::<U256>(fee)?.to::<u128>()));
    }
    Ok(found)
}

/// Waits until what waits for a block is as wanted.
async fn until<T>(
    stage: &Stage,
    sender: Address,
    wanted: impl Fn(&[(B256, u128)]) -> Option<T>,
) -> Result<T> {
    let look = async {
        loop {
            if let Some(found) = wanted(&waiting(stage, sender).await?) {
                return Ok(found);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, look).await.context("it never came")?
}

/// Waits until the lane has asked for what it waits for, more than once around.
async fn looked(proxy: &Proxy) -> Result<()> {
    let _ = proxy.requests();
    let mut seen = 0;
    let look = async {
        while seen < 12 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            seen += proxy.requests();
        }
    };
    Ok(tokio::time::timeout(PATIENCE, look).await?)
}

#[tokio::test]
async fn many_at_once_get_a_place_each() -> Result<()> {
    let stage = Stage::open().await?;
    let line = Line::new(&stage, 12, policy()).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;

    let sales: Vec<_> = (0..12).map(|_| line.go(line.sale(&stage, 10))).collect();
    until(&stage, line.key, |all| (all.len() == 12).then_some(())).await?;
    provider.anvil_mine(Some(1), None).await?;

    for sale in sales {
        done(&sale.await??)?;
    }
    assert_eq!(provider.get_transaction_count(line.key).await?, 12);
    assert_eq!(line.sold(&stage).await?, dollars(120));
    Ok(())
}

#[tokio::test]
async fn a_price_that_finds_no_block_is_raised_in_its_place() -> Result<()> {
    let stage = Stage::open().await?;
    let patience = Duration::from_millis(100);
    let line = Line::new(&stage, 3, LanePolicy { patience, ..policy() }).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;

    let sale = line.go(line.sale(&stage, 10));
    let (first, bid) = until(&stage, line.key, |all| all.first().copied()).await?;
    let (second, raised) =
        until(&stage, line.key, |all| all.iter().copied().find(|(hash, _)| *hash != first)).await?;
    ensure!(waiting(&stage, line.key).await?.len() == 1, "one place, one transaction");
    provider.anvil_mine(Some(1), None).await?;

    let landing = sale.await??;
    done(&landing)?;
    ensure!(raised >= bid + bid / 10, "{bid} became {raised}");
    ensure!(first != second);
    assert_eq!(provider.get_transaction_count(line.key).await?, 1);
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

#[tokio::test]
async fn a_price_at_its_ceiling_is_not_raised_and_what_is_open_is_said() -> Result<()> {
    let stage = Stage::open().await?;
    let mut narrow = policy();
    narrow.patience = Duration::from_millis(50);
    narrow.give_up = Duration::from_secs(3);
    let line = Line::new(&stage, 3, narrow).await?;
    let provider = stage.node().provider();
    // What the first bid could cost, and no more.
    let Landing::Done(receipt) = line.lane.redeem(judged(line.sale(&stage, 10))).await? else {
        bail!("not done");
    };
    let mined = provider.get_transaction_by_hash(receipt.hash).await?.context("gone")?;
    let price = mined.inner.max_fee_per_gas();
    narrow.clearing.fee_ceiling =
        U256::from(mined.inner.gas_limit()) * U256::from(price + price / 10);
    let line = Line::new(&stage, 3, narrow).await?;
    provider.anvil_set_auto_mine(false).await?;

    let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;

    let Err(LaneFault::Unsettled { hash, nonce: 0, .. }) = outcome else { bail!("{outcome:?}") };
    let left = waiting(&stage, line.key).await?;
    let [(only, bid)] = left.as_slice() else { bail!("{left:?}") };
    assert_eq!(*only, hash);
    let gas = provider.get_transaction_by_hash(hash).await?.context("gone")?.inner.gas_limit();
    let worst = |bid: u128| U256::from(gas) * U256::from(bid);
    ensure!(worst(*bid) <= narrow.clearing.fee_ceiling, "{bid}");
    ensure!(worst(bid + bid / 8 + 1) > narrow.clearing.fee_ceiling, "{bid} had room");
    Ok(())
}

/// D20, ATK-22: what a rollup charges for data is no less when a price is raised: of the ceiling there is so much less for gas.
#[tokio::test]
async fn a_raised_price_leaves_room_for_what_data_costs() -> Result<()> {
    // 0.001 coins, whatever is asked; and a quarter more that is kept for it.
    let (charged, kept) = (bytes!("66038d7ea4c680005f5260205ff3"), 1_250_000_000_000_000u64);
    let stage = Stage::open().await?;
    let provider = stage.node().provider();
    let mut narrow = policy();
    narrow.patience = Duration::from_millis(50);
    narrow.give_up = Duration::from_secs(3);
    let line = Line::new(&stage, 3, narrow).await?;
    provider.anvil_set_code(address!("420000000000000000000000000000000000000F"), charged).await?;
    let Landing::Done(receipt) = line.lane.redeem(judged(line.sale(&stage, 10))).await? else {
        bail!("not done");
    };
    let mined = provider.get_transaction_by_hash(receipt.hash).await?.context("gone")?;
    let price = mined.inner.max_fee_per_gas();
    let gas = U256::from(mined.inner.gas_limit()) * U256::from(price + price / 10);
    narrow.clearing.fee_ceiling = gas + U256::from(kept);
    let line = Line::new(&stage, 3, narrow).await?;
    provider.anvil_set_auto_mine(false).await?;

    let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;

    let Err(LaneFault::Unsettled { hash, nonce: 0, .. }) = outcome else { bail!("{outcome:?}") };
    let left = waiting(&stage, line.key).await?;
    let [(only, bid)] = left.as_slice() else { bail!("{left:?}") };
    assert_eq!(*only, hash);
    let limit = provider.get_transaction_by_hash(hash).await?.context("gone")?.inner.gas_limit();
    let worst = U256::from(limit) * U256::from(*bid) + U256::from(kept);
    ensure!(worst <= narrow.clearing.fee_ceiling, "{worst} of {}", narrow.clearing.fee_ceiling);
    Ok(())
}

/// A reorganisation that goes deeper than a receipt has to be: what it undid is handed in again as it was signed, before the next, which
/// would wait behind its place for ever.
#[tokio::test]
async fn what_was_undone_when_it_was_deep_enough_is_handed_in_before_the_next() -> Result<()> {
    let stage = Stage::open().await?;
    let line = Line::new(&stage, 3, policy()).await?;
    let provider = stage.node().provider();
    let before = provider.anvil_snapshot().await?;
    done(&line.lane.redeem(judged(line.sale(&stage, 10))).await?)?;
    provider.anvil_revert(before).await?;
    provider.anvil_mine(Some(2), None).await?;
    assert_eq!(line.sold(&stage).await?, U256::ZERO, "it was undone");

    done(&line.lane.redeem(judged(line.sale(&stage, 20))).await?)?;

    assert_eq!(provider.get_transaction_count(line.key).await?, 2);
    assert_eq!(line.sold(&stage).await?, dollars(30));
    Ok(())
}

/// Whoever was to be waited for so long is not waited for longer: a node that never answers is not asked one thing after the other when
/// that time has passed.
#[tokio::test]
async fn a_node_that_stalls_does_not_hold_up_who_gave_up() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let mut hasty = policy();
    hasty.patience = Duration::from_millis(50);
    hasty.give_up = Duration::from_secs(3);
    let line = Line::to(&stage, proxy.url(), 3, hasty).await?;
    for method in
        ["eth_sendRawTransaction", "eth_getTransactionReceipt", "eth_getTransactionByHash"]
    {
        proxy.fail(method, 1_000, Fault::Stall);
    }

    let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;

    ensure!(matches!(outcome, Err(LaneFault::Unsettled { .. })), "{outcome:?}");
    // It is handed in once, and looked for twice, and what was asked for last was not waited for.
    let stalled = proxy.failed();
    ensure!((3..=4).contains(&stalled), "{stalled}");
    Ok(())
}

#[tokio::test]
async fn what_a_reorganisation_undid_is_done_again_and_once() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let deep = LanePolicy { confirmations: 3, ..policy() };
    let line = Line::to(&stage, proxy.url(), 3, deep).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let before = provider.anvil_snapshot().await?;

    let sale = line.go(line.sale(&stage, 10));
    let (hash, _) = until(&stage, line.key, |all| all.first().copied()).await?;
    provider.anvil_mine(Some(2), None).await?;
    assert_eq!(line.sold(&stage).await?, dollars(10), "it was done, two blocks deep");
    looked(&proxy).await?;
    ensure!(!sale.is_finished(), "two blocks are not three");
    provider.anvil_revert(before).await?;
    provider.anvil_set_auto_mine(false).await?;
    assert_eq!(line.sold(&stage).await?, U256::ZERO, "it was undone");
    until(&stage, line.key, |all| all.iter().any(|(again, _)| *again == hash).then_some(()))
        .await?;
    provider.anvil_mine(Some(3), None).await?;

    done(&sale.await??)?;
    assert_eq!(line.sold(&stage).await?, dollars(10));
    assert_eq!(provider.get_transaction_count(line.key).await?, 1);
    Ok(())
}

#[tokio::test]
async fn a_redemption_that_a_reorganisation_put_behind_its_revocation_has_failed_and_says_why()
-> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let deep = LanePolicy { confirmations: 2, ..policy() };
    let line = Line::to(&stage, proxy.url(), 3, deep).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let before = provider.anvil_snapshot().await?;

    let sale = line.go(line.sale(&stage, 10));
    let (hash, _) = until(&stage, line.key, |all| all.first().copied()).await?;
    provider.anvil_mine(Some(1), None).await?;
    looked(&proxy).await?;
    provider.anvil_revert(before).await?;
    provider.anvil_drop_all_transactions().await?;
    provider.anvil_set_auto_mine(true).await?;
    disable(&stage, &line).await?;
    // The lane hands it over again, and it is mined where the grant is dead.
    let landing = {
        let mine = async {
            loop {
                provider.anvil_mine(Some(1), None).await?;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            #[expect(unreachable_code, reason = "says what it would give")]
            anyhow::Ok(())
        };
        tokio::select! {
            landing = sale => landing??,
            mined = mine => bail!("mining ended: {mined:?}"),
        }
    };

    let Landing::Failed { receipt, cause } = landing else { bail!("{landing:?}") };
    assert_eq!(receipt.hash, hash);
    assert_eq!(cause.code, DenialCode::DelegationDisabled, "{cause:?}");
    assert_eq!(line.sold(&stage).await?, U256::ZERO);
    Ok(())
}

async fn disable(stage: &Stage, line: &Line) -> Result<()> {
    let leaf = line.context.leaf();
    let from = line.owner.account.address;
    let receipt = stage.send_as(from, DELEGATION_MANAGER, U256::ZERO, revocation(leaf)).await?;
    ensure!(receipt.status(), "the revocation failed");
    Ok(())
}

/// The redemption is judged while the grant lives and mined after it ended: with a node that keeps traces, and with one
/// that does not.
#[tokio::test]
async fn a_failed_receipt_gets_its_cause_from_traces_or_without_them() -> Result<()> {
    for traces in [true, false] {
        let stage = Stage::open().await?;
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        if !traces {
            let away = Fault::Lie(Arc::new(|answer: &mut Value| {
                *answer = json!({ "jsonrpc": "2.0", "id": answer["id"],
                    "error": { "code": -32601, "message": "method not found" } });
            }));
            proxy.fail("debug_traceTransaction", 9, away);
        }
        let line = Line::to(&stage, proxy.url(), 3, policy()).await?;
        let provider = stage.node().provider();
        provider.anvil_set_auto_mine(false).await?;
        let sale = line.go(line.sale(&stage, 10));
        let (hash, _) = until(&stage, line.key, |all| all.first().copied()).await?;
        let tx = provider.get_transaction_by_hash(hash).await?.context("gone")?;
        let raw: alloy::primitives::Bytes = provider
            .raw_request("eth_getRawTransactionByHash".into(), (hash,))
            .await
            .with_context(|| format!("{tx:?}"))?;
        provider.anvil_drop_transaction(hash).await?;
        provider.anvil_set_auto_mine(true).await?;
        disable(&stage, &line).await?;
        drop(provider.send_raw_transaction(&raw).await?);

        let landing = sale.await??;

        let Landing::Failed { cause, .. } = landing else { bail!("{landing:?}") };
        assert_eq!(cause.code, DenialCode::DelegationDisabled, "{traces}: {cause:?}");
        assert_eq!(proxy.failed(), u64::from(!traces));
    }
    Ok(())
}

/// Every way in which a node can fail at every request of a redemption.
#[tokio::test]
async fn whatever_a_node_fails_at_a_redemption_is_done_once_or_not_at_all() -> Result<()> {
    let faults = [Fault::Stall, Fault::DropBefore, Fault::DropAfter, Fault::Half, Fault::TooMany];
    let methods = [
        "eth_getBlockByNumber",
        "eth_getStorageAt",
        "eth_getTransactionCount",
        "eth_getBalance",
        "eth_sendRawTransaction",
        "eth_getTransactionReceipt",
    ];
    for method in methods {
        for fault in faults.clone() {
            let stage = Stage::open().await?;
            let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
            let patience = Duration::from_millis(200);
            let line =
                Line::to(&stage, proxy.url(), 3, LanePolicy { patience, ..policy() }).await?;
            proxy.fail(method, 1, fault.clone());

            let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;

            let which = format!("{method}, {fault:?}: {outcome:?}");
            assert_eq!(proxy.failed(), 1, "{which}");
            let sold = line.sold(&stage).await?;
            match outcome {
                Ok(landing) => {
                    done(&landing).with_context(|| which.clone())?;
                    assert_eq!(sold, dollars(10), "{which}");
                }
                // Before anything is signed a fault is a fault; afterwards it is waited out.
                Err(LaneFault::Custody(
                    CustodyError::DryRun { .. } | CustodyError::Plan { .. },
                )) => {
                    assert_eq!(sold, U256::ZERO, "{which}");
                    ensure!(!matches!(fault, Fault::TooMany), "too many is waited out: {which}");
                    ensure!(
                        method != "eth_sendRawTransaction" && method != "eth_getTransactionReceipt",
                        "{which}"
                    );
                    // And the lane is as good as before.
                    done(&line.lane.redeem(judged(line.sale(&stage, 10))).await?)?;
                }
                Err(_) => bail!("{which}"),
            }
            let sent = stage.node().provider().get_transaction_count(line.key).await?;
            assert_eq!(sent, 1, "{which}");
        }
    }
    Ok(())
}

type Lie = fn(&mut Value);

#[tokio::test]
async fn a_node_that_lies_about_its_head_gets_nothing_signed() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let line = Line::to(&stage, proxy.url(), 3, policy()).await?;
    let lies: [(&str, Lie); 4] = [
        ("a later time", |block| block["timestamp"] = json!("0xffffffff")),
        ("a greater height", |block| block["number"] = json!("0xffffff")),
        ("another hash", |block| block["hash"] = json!(B256::repeat_byte(7))),
        ("no head", |block| *block = Value::Null),
    ];
    for (lie, change) in lies {
        proxy.fail("eth_getBlockByNumber", 1, Fault::lie(change));

        let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;

        ensure!(
            matches!(outcome, Err(LaneFault::Custody(CustodyError::DryRun { .. }))),
            "{lie}: {outcome:?}"
        );
        assert_eq!(proxy.failed(), 1);
    }
    // A head that is true and long past is not believed either: what was judged on it is too old to be signed.
    let agent = Agent::hired(&stage, &line.owner, 3).await?;
    let old: Value = stage
        .node()
        .provider()
        .raw_request("eth_getBlockByNumber".into(), ("latest", false))
        .await?;
    let later = stage.now().await? + 121;
    stage.warp(later).await?;
    let node = Node::connect(proxy.url()).await?;
    let grant = PermissionContext::new(vec![agent.grant.clone()])?;
    let call = swap(&stage, line.owner.account.address, dollars(10));
    let redemption = Redemption::single(DELEGATION_MANAGER, grant, &call);
    let key = agent.key.address();
    let lane =
        Lane::open(Arc::new(Foresight::new(node)), agent.key, mandate(), policy(), move || later)
            .await?;
    let past = old.clone();
    proxy.fail("eth_getBlockByNumber", 1, Fault::lie(move |block| *block = past.clone()));
    let outcome = lane.redeem(judged(redemption.clone())).await;
    ensure!(
        matches!(outcome, Err(LaneFault::Custody(CustodyError::Stale { .. }))),
        "an old head: {outcome:?}"
    );
    assert_eq!(proxy.failed(), 1);
    assert_eq!(stage.node().provider().get_transaction_count(key).await?, 0);
    done(&lane.redeem(judged(redemption)).await?)
}

/// A height that is not there does not bury a receipt.
#[tokio::test]
async fn a_receipt_counts_only_under_blocks_that_are_there() -> Result<()> {
    let stage = Stage::open().await?;
    let hasty = LanePolicy { confirmations: 2, give_up: Duration::from_millis(700), ..policy() };
    let line = Line::new(&stage, 3, hasty).await?;

    let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;

    ensure!(matches!(outcome, Err(LaneFault::Unsettled { .. })), "{outcome:?}");
    assert_eq!(line.sold(&stage).await?, dollars(10), "it is there, one block deep");
    Ok(())
}

#[tokio::test]
async fn a_key_that_was_used_elsewhere_goes_on_behind_it_and_a_lost_place_is_said() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    // A place is lost when it was seen taken for that long.
    let patience = Duration::from_millis(300);
    let policy = LanePolicy { patience, ..policy() };
    let line = Line::to(&stage, proxy.url(), 3, policy).await?;
    let provider = stage.node().provider();
    let elsewhere = TransactionRequest::default().from(line.key).to(line.key);
    // Another process sends with the key, and the node is slow to say so.
    provider.anvil_impersonate_account(line.key).await?;
    drop(provider.send_transaction(elsewhere.clone()).await?.get_receipt().await?);
    proxy.fail("eth_getTransactionCount", 1, Fault::lie(|count| *count = json!("0x0")));

    // The batch of the dry run reads a nonce too; only a plain answer is a lie's.
    done(&line.lane.redeem(judged(line.sale(&stage, 10))).await?)?;
    assert_eq!(provider.get_transaction_count(line.key).await?, 2);

    // And here it takes the very place.
    provider.anvil_set_auto_mine(false).await?;
    let sale = line.go(line.sale(&stage, 10));
    let (hash, _) = until(&stage, line.key, |all| all.first().copied()).await?;
    provider.anvil_drop_transaction(hash).await?;
    let _taken = provider.send_transaction(elsewhere.nonce(2)).await?;
    // Rollups have kinds of transactions that nobody else knows.
    let deposit = Fault::lie(|block| {
        if let Some(all) = block.get_mut("transactions").and_then(Value::as_array_mut) {
            let (hash, from) = (B256::repeat_byte(7), Address::repeat_byte(7));
            all.insert(0, json!({ "type": "0x7e", "hash": hash, "from": from, "nonce": "0x0" }));
        }
    });
    proxy.fail("eth_getBlockByHash", 1_000, deposit);
    provider.anvil_mine(Some(1), None).await?;
    let outcome = sale.await?;
    ensure!(matches!(outcome, Err(LaneFault::Displaced { nonce: 2, .. })), "{outcome:?}");
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

/// What was taken, and then answered with a fault or a complaint, is not signed for another place; nor is one that the node
/// says nothing of for a while. Whatever is said, the deed is done once.
#[tokio::test]
async fn what_was_taken_and_complained_of_is_done_once() -> Result<()> {
    let complaint = |words: &'static str| {
        Fault::Lie(Arc::new(move |answer| {
            *answer = json!({
                "jsonrpc": "2.0", "id": answer["id"],
                "error": { "code": -32000, "message": words },
            });
        }))
    };
    // The last is of another node behind the same address, which knows neither the transaction nor its sender's coins.
    let (late, refused) = (complaint("context deadline exceeded"), complaint("insufficient funds"));
    for fault in [late, Fault::DropAfter, Fault::TooManyAfter, refused] {
        let stage = Stage::open().await?;
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        let policy = LanePolicy { patience: Duration::from_millis(300), ..policy() };
        let line = Line::to(&stage, proxy.url(), 5, policy).await?;
        let told = format!("{fault:?}");
        proxy.fail("eth_sendRawTransaction", 1, fault);
        // And for a while nobody can say where it is.
        proxy.fail("eth_getTransactionByHash", 2, Fault::lie(|found| *found = Value::Null));
        proxy.fail("eth_getTransactionCount", 3, Fault::lie(|count| *count = json!("0x0")));
        proxy.fail("eth_getTransactionReceipt", 3, Fault::lie(|found| *found = Value::Null));

        done(&line.lane.redeem(judged(line.sale(&stage, 10))).await?)?;

        assert_eq!(line.sold(&stage).await?, dollars(10), "{told}");
    }
    Ok(())
}

/// What one node does not take another may have: it may still take effect, and its place is the next one's.
#[tokio::test]
async fn what_a_node_refused_is_not_called_unsent_and_leaves_its_place() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let line = Line::to(&stage, proxy.url(), 5, policy()).await?;
    proxy.fail("eth_sendRawTransaction", 1, without_coins());

    let refused = line.lane.redeem(judged(line.sale(&stage, 10))).await;

    ensure!(
        matches!(refused, Err(LaneFault::Forsaken { nonce: 0, source: Some(_), .. })),
        "{refused:?}"
    );
    assert_eq!(stage.node().provider().get_transaction_count(line.key).await?, 0);
    done(&line.lane.redeem(judged(line.sale(&stage, 20))).await?)?;
    assert_eq!(stage.node().provider().get_transaction_count(line.key).await?, 1);
    assert_eq!(line.sold(&stage).await?, dollars(20));
    Ok(())
}

/// What nobody took is not brought back by a restart: it keeps no place, is handed in by nobody, and ends when something has its
/// place for good. Until then it may still take effect, and counts.
#[tokio::test]
async fn what_a_node_refused_is_given_up_by_every_later_process_too() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let kept = Kept::new(&stage).await?;
    let provider = stage.node().provider();
    let key = kept.agent.key.address();
    proxy.fail("eth_sendRawTransaction", 1, without_coins());
    let lane = kept.by(proxy.url(), policy()).await?;
    let refused = lane.redeem(kept.sale(&stage, 10)?).await;
    ensure!(matches!(refused, Err(LaneFault::Forsaken { nonce: 0, .. })), "{refused:?}");
    drop(lane);
    let _ = proxy.failed();
    proxy.fail("eth_sendRawTransaction", u64::MAX, Fault::lie(|_| ()));

    // The same deed again, by the next process: it is not two.
    let lane = kept.by(proxy.url(), policy()).await?;
    let ends = lane.finish().await;
    let [(_, Err(LaneFault::Forsaken { nonce: 0, source: None, .. }))] = &ends[..] else {
        bail!("{ends:?}")
    };
    assert_eq!(proxy.failed(), 0, "nobody was handed anything");
    assert_eq!(kept.open().await?, [(U256::ZERO, true)]);
    done(&lane.redeem(kept.sale(&stage, 10)?).await?)?;
    assert_eq!(provider.get_transaction_count(key).await?, 1);
    assert_eq!(kept.sold(&stage).await?, dollars(10));
    assert_eq!(kept.open().await?, [], "what has its place ends it");

    // What took its place waits itself when the process ends: the next one's stands behind it, and nothing behind that is empty.
    let other = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    other.fail("eth_sendRawTransaction", 1, without_coins());
    let hasty = LanePolicy { give_up: Duration::from_secs(2), ..policy() };
    let lane = kept.by(other.url(), hasty).await?;
    let refused = lane.redeem(kept.sale(&stage, 20)?).await;
    ensure!(matches!(refused, Err(LaneFault::Forsaken { nonce: 1, .. })), "{refused:?}");
    provider.anvil_set_auto_mine(false).await?;
    let waits = lane.redeem(kept.sale(&stage, 30)?).await;
    ensure!(matches!(waits, Err(LaneFault::Unsettled { nonce: 1, .. })), "{waits:?}");
    drop(lane);
    let lane = kept.by(other.url(), hasty).await?;
    let behind = lane.redeem(kept.sale(&stage, 40)?).await;
    ensure!(matches!(behind, Err(LaneFault::Unsettled { nonce: 2, .. })), "{behind:?}");
    provider.anvil_mine(Some(1), None).await?;
    let ends = lane.finish().await;
    let landed = ends.iter().filter(|(_, end)| matches!(end, Ok(Landing::Done(_)))).count();
    assert_eq!((landed, kept.open().await?.len()), (2, 0), "{ends:?}");
    assert_eq!(kept.sold(&stage).await?, dollars(80));
    Ok(())
}

/// It was given up, and somebody had it all the same: what is signed next takes its place, and one of them takes effect.
#[tokio::test]
async fn what_turns_up_after_it_was_given_up_is_not_done_beside_the_next() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let kept = Kept::new(&stage).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    proxy.fail("eth_sendRawTransaction", 1, without_coins());
    let lane = kept.by(proxy.url(), policy()).await?;
    let refused = lane.redeem(kept.sale(&stage, 10)?).await;
    ensure!(matches!(refused, Err(LaneFault::Forsaken { nonce: 0, .. })), "{refused:?}");
    let open = kept.mandate.books.open().await.map_err(|fault| anyhow::anyhow!(fault))?;
    let bytes = &open.first().and_then(|one| one.bids.first()).context("no bid")?.bytes;
    let _late = provider.send_raw_transaction(bytes).await?;

    let lane = kept.by(proxy.url(), policy()).await?;
    let (landing, mined) = tokio::join!(lane.redeem(kept.sale(&stage, 20)?), async {
        let late = open[0].bids[0].hash;
        let another =
            |all: &[(B256, u128)]| all.iter().any(|(hash, _)| *hash != late).then_some(());
        until(&stage, kept.agent.key.address(), another).await?;
        provider.anvil_mine(Some(2), None).await?;
        anyhow::Ok(())
    });

    mined?;
    done(&landing?)?;
    assert_eq!(provider.get_transaction_count(kept.agent.key.address()).await?, 1);
    assert_eq!(kept.sold(&stage).await?, dollars(20));
    assert_eq!(kept.open().await?, []);
    Ok(())
}

/// Whoever gives up what no node has names it: what is signed then takes its place, and nobody brings it back.
#[tokio::test]
async fn what_no_node_has_can_be_replaced_by_whoever_names_it() -> Result<()> {
    let stage = Stage::open().await?;
    let kept = Kept::new(&stage).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let hasty = LanePolicy { give_up: Duration::from_secs(2), ..policy() };
    let url = stage.chain().url();
    let waits = kept.by(url, hasty).await?.redeem(kept.sale(&stage, 10)?).await;
    let Err(LaneFault::Unsettled { hash, nonce: 0, .. }) = waits else { bail!("{waits:?}") };
    provider.anvil_drop_transaction(hash).await?;
    provider.anvil_set_auto_mine(true).await?;

    let node = Node::connect(url).await?.instead_of(Some(hash));
    done(&kept.lane(node, hasty).await?.redeem(kept.sale(&stage, 20)?).await?)?;

    assert_eq!(provider.get_transaction_count(kept.agent.key.address()).await?, 1);
    assert_eq!(kept.sold(&stage).await?, dollars(20));
    assert_eq!(kept.open().await?, []);
    // What is done is nothing that could be replaced.
    let node = Node::connect(url).await?.instead_of(Some(hash));
    let gone = kept.lane(node, hasty).await?.redeem(kept.sale(&stage, 30)?).await;
    ensure!(matches!(gone, Err(LaneFault::Custody(CustodyError::Plan { .. }))), "{gone:?}");
    assert_eq!(kept.sold(&stage).await?, dollars(20));
    Ok(())
}

/// Another process's transaction was dropped by the node: nothing behind its place moves until something stands there.
#[tokio::test]
async fn a_place_that_a_node_dropped_is_filled_by_the_next() -> Result<()> {
    let stage = Stage::open().await?;
    let kept = Kept::new(&stage).await?;
    let provider = stage.node().provider();
    let key = kept.agent.key.address();
    provider.anvil_set_auto_mine(false).await?;
    provider.anvil_impersonate_account(key).await?;
    let elsewhere = TransactionRequest::default().from(key).to(key);
    let elsewhere = *provider.send_transaction(elsewhere).await?.tx_hash();
    let patience = Duration::from_millis(500);
    let hasty = LanePolicy { patience, give_up: Duration::from_secs(4), ..policy() };
    let lane = Arc::new(kept.by(stage.chain().url(), hasty).await?);
    let (going, sale) = (Arc::clone(&lane), kept.sale(&stage, 10)?);
    let waits = tokio::spawn(async move { going.redeem(sale).await });
    until(&stage, key, |all| (all.len() == 2).then_some(())).await?;
    provider.anvil_drop_transaction(elsewhere).await?;
    let waits = waits.await?;
    ensure!(matches!(waits, Err(LaneFault::Unsettled { nonce: 1, .. })), "{waits:?}");
    drop(lane);
    provider.anvil_set_auto_mine(true).await?;

    // The next process waits for it in vain, and its own deed fills the place.
    let lane = kept.by(stage.chain().url(), hasty).await?;
    let ends = lane.finish().await;
    ensure!(matches!(&ends[..], [(_, Err(LaneFault::Unsettled { nonce: 1, .. }))]), "{ends:?}");
    done(&lane.redeem(kept.sale(&stage, 20)?).await?)?;
    let ends = lane.finish().await;

    let [(_, Ok(landing))] = &ends[..] else { bail!("{ends:?}") };
    done(landing)?;
    assert_eq!(provider.get_transaction_count(key).await?, 2);
    assert_eq!(kept.sold(&stage).await?, dollars(30), "each once");
    Ok(())
}

/// Not every node keeps the states of long ago: who took a place is found in the blocks.
#[tokio::test]
async fn a_lost_place_is_seen_by_a_node_without_old_states() -> Result<()> {
    for earlier in [true, false] {
        let stage = Stage::open().await?;
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        let kept = Kept::new(&stage).await?;
        let provider = stage.node().provider();
        let key = kept.agent.key.address();
        provider.anvil_set_auto_mine(false).await?;
        let hasty = LanePolicy { give_up: Duration::from_secs(1), ..policy() };
        let waits = kept.by(stage.chain().url(), hasty).await?.redeem(kept.sale(&stage, 10)?).await;
        let Err(LaneFault::Unsettled { hash, nonce: 0, .. }) = waits else { bail!("{waits:?}") };
        provider.anvil_drop_transaction(hash).await?;
        provider.anvil_mine(Some(100), None).await?;
        provider.anvil_impersonate_account(key).await?;
        let elsewhere = TransactionRequest::default().from(key).to(key);
        let _taker = provider.send_transaction(elsewhere).await?;
        provider.anvil_mine(Some(1), None).await?;
        let taken = provider.get_block_number().await?;
        provider.anvil_mine(Some(250), None).await?;
        // The oldest state is from before it, or from long after.
        let oldest = if earlier { taken - 40 } else { taken + 200 };
        let pruned = Fault::LieTo(Arc::new(move |asked, said| {
            let block = asked["params"][1].as_str().and_then(|hex| hex.strip_prefix("0x"));
            let block = block.and_then(|hex| u64::from_str_radix(hex, 16).ok());
            if block.is_some_and(|block| block < oldest) {
                let error = json!({ "code": -32000, "message": "missing trie node" });
                *said = json!({ "jsonrpc": "2.0", "id": said["id"], "error": error });
            }
        }));
        proxy.fail("eth_getTransactionCount", u64::MAX, pruned);

        let patient = LanePolicy { give_up: Duration::from_secs(20), ..policy() };
        let ends = kept.by(proxy.url(), patient).await?.finish().await;

        let [(_, Err(LaneFault::Displaced { nonce: 0, .. }))] = &ends[..] else {
            bail!("{oldest}, {taken}: {ends:?}")
        };
        assert_eq!(kept.open().await?, [], "what was set aside is given back");
    }
    Ok(())
}

/// Somebody between here and the node hands it over twice, so that the node calls its place taken, and one behind it does not know
/// it yet: it was this very transaction.
#[tokio::test]
async fn a_place_that_our_own_transaction_took_is_not_left_for_another() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let policy = LanePolicy { patience: Duration::from_millis(300), ..policy() };
    let line = Line::to(&stage, proxy.url(), 5, policy).await?;
    let twice = Fault::Lie(Arc::new(|answer| {
        *answer = json!({
            "jsonrpc": "2.0", "id": answer["id"],
            "error": { "code": -32_000, "message": "nonce too low" },
        });
    }));
    proxy.fail("eth_sendRawTransaction", 1, twice);
    proxy.fail("eth_getTransactionByHash", 4, Fault::lie(|found| *found = Value::Null));
    proxy.fail("eth_getTransactionReceipt", 3, Fault::lie(|found| *found = Value::Null));

    done(&line.lane.redeem(judged(line.sale(&stage, 10))).await?)?;

    assert_eq!(stage.node().provider().get_transaction_count(line.key).await?, 1);
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

/// Two processes hold one key and do the same: each is done by itself, or says that it was not.
#[tokio::test]
async fn the_same_twice_by_one_key_is_not_one_deed_called_two() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let context = PermissionContext::new(vec![agent.grant.clone()])?;
    let call = swap(&stage, owner.account.address, dollars(10));
    let redemption = Redemption::single(DELEGATION_MANAGER, context, &call);
    let key = agent.key.address();
    let now = stage.now().await?;
    let folder = tempfile::tempdir()?;
    let (file, password) = (
        folder.path().join("key.json"),
        Password::typed("one key".to_owned().into()).context("a password")?,
    );
    agent.key.save(&file, &password)?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let mut lanes = Vec::new();
    for _ in 0..2 {
        let key = SessionKey::open(&file, &password)?;
        let node = Node::connect(stage.chain().url()).await?;
        let hasty = LanePolicy { give_up: Duration::from_secs(5), ..policy() };
        lanes.push(
            Lane::open(Arc::new(Foresight::new(node)), key, mandate(), hasty, move || now).await?,
        );
    }
    let [one, two] = &lanes[..] else { bail!("two lanes") };

    let (first, second, _mined) = tokio::join!(
        one.redeem(judged(redemption.clone())),
        two.redeem(judged(redemption.clone())),
        async {
            until(&stage, key, |all| all.first().copied()).await?;
            tokio::time::sleep(Duration::from_millis(300)).await;
            provider.anvil_set_auto_mine(true).await?;
            provider.anvil_mine(Some(1), None).await?;
            anyhow::Ok(())
        }
    );

    let claimed =
        [&first, &second].iter().filter(|one| matches!(one, Ok(Landing::Done(_)))).count();
    let left = stage.balance_of(stage.book().usdc, owner.account.address).await?;
    let sold = dollars(10_000) - left;
    ensure!(claimed > 0, "{first:?} {second:?}");
    assert_eq!(sold, dollars(10) * U256::from(claimed), "{first:?} {second:?}");
    Ok(())
}

/// What was to be replaced is in its block already, and one node does not know that yet: nothing is signed for another place.
#[tokio::test]
async fn what_takes_the_place_of_another_is_not_done_beside_it() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 5).await?;
    let call = swap(&stage, owner.account.address, dollars(10));
    let redemption = agent.redemption(&call)?;
    let (key, now) = (agent.key.address(), stage.now().await?);
    let folder = tempfile::tempdir()?;
    let (file, password) = (
        folder.path().join("key.json"),
        Password::typed("one key".to_owned().into()).context("a password")?,
    );
    agent.key.save(&file, &password)?;
    let provider = stage.node().provider();
    provider.anvil_mine(Some(80), None).await?;
    provider.anvil_set_auto_mine(false).await?;
    let lane = async |node: Node| -> Result<Lane<SessionKey>> {
        let key = SessionKey::open(&file, &password)?;
        let hasty = LanePolicy { give_up: Duration::from_secs(3), ..policy() };
        Ok(Lane::open(Arc::new(Foresight::new(node)), key, mandate(), hasty, move || now).await?)
    };
    let first = lane(Node::connect(stage.chain().url()).await?)
        .await?
        .redeem(judged(redemption.clone()))
        .await;
    let Err(LaneFault::Unsettled { hash, .. }) = first else { bail!("{first:?}") };
    let waits: Value =
        provider.raw_request("eth_getTransactionByHash".into(), json!([hash])).await?;
    provider.anvil_set_auto_mine(true).await?;
    provider.anvil_mine(Some(1), None).await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    proxy.fail("eth_getTransactionByHash", 1, Fault::lie(move |said| *said = waits.clone()));

    let node = Node::connect(proxy.url()).await?.instead_of(Some(hash));
    let outcome = lane(node).await?.redeem(judged(redemption)).await;

    ensure!(matches!(outcome, Err(LaneFault::Displaced { nonce: 0, .. })), "{outcome:?}");
    assert_eq!(provider.get_transaction_count(key).await?, 1);
    let left = stage.balance_of(stage.book().usdc, owner.account.address).await?;
    assert_eq!(dollars(10_000) - left, dollars(10), "once");
    Ok(())
}

/// A node counts a transaction before it has its receipt; what it says for a moment displaces nothing.
#[tokio::test]
async fn a_count_that_runs_ahead_of_its_receipts_displaces_nothing() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let line = Line::to(&stage, proxy.url(), 3, policy()).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let sale = line.go(line.sale(&stage, 10));
    let (hash, _) = until(&stage, line.key, |all| all.first().copied()).await?;
    let bytes: Bytes = provider.raw_request("eth_getRawTransactionByHash".into(), [hash]).await?;

    // On the block that it was judged on the place is known to be free: a block without it is what makes the lane count.
    provider.anvil_drop_transaction(hash).await?;
    proxy.fail("eth_getTransactionCount", 3, Fault::lie(|count| *count = json!("0x9")));
    provider.anvil_mine(Some(1), None).await?;
    let mut lies = 0;
    while lies < 3 {
        ensure!(!sale.is_finished(), "it ended on a count alone");
        lies += proxy.failed();
        tokio::task::yield_now().await;
    }
    let _again = provider.send_raw_transaction(&bytes).await?;
    provider.anvil_mine(Some(2), None).await?;

    done(&sale.await??)?;
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

/// "Done" is the manager's word, and not the node's: a receipt that says yes and knows of no redemption is none.
#[tokio::test]
async fn what_no_manager_logged_is_not_done() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let line = Line::to(&stage, proxy.url(), 3, policy()).await?;
    proxy.fail(
        "eth_getTransactionReceipt",
        1_000,
        Fault::lie(|receipt| {
            if let Some(logs) = receipt.get_mut("logs") {
                *logs = json!([]);
            }
        }),
    );

    let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;

    // Nor is it called failed: whoever did it again would do it twice.
    ensure!(matches!(outcome, Err(LaneFault::Unproven { .. })), "{outcome:?}");
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

/// A receipt of a block that was undone, and blocks of another line on its height: told by two nodes behind one address, or by one
/// between two questions. They do not hang together.
#[tokio::test]
async fn blocks_of_two_lines_bury_nothing() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let give_up = Duration::from_secs(3);
    let deep = LanePolicy { confirmations: 2, give_up, ..policy() };
    let line = Line::to(&stage, proxy.url(), 3, deep).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let before = provider.anvil_snapshot().await?;
    let sale = line.go(line.sale(&stage, 10));
    let (hash, _) = until(&stage, line.key, |all| all.first().copied()).await?;
    provider.anvil_mine(Some(1), None).await?;
    let asked = |what: &'static str, params: Value| provider.raw_request(what.into(), params);
    let receipt: Value = asked("eth_getTransactionReceipt", json!([hash])).await?;
    let number = receipt["blockNumber"].clone();
    let undone: Value = asked("eth_getBlockByNumber", json!([number, false])).await?;
    proxy.fail(
        "eth_getTransactionReceipt",
        10_000,
        Fault::lie(move |said| *said = receipt.clone()),
    );
    let other_line = Fault::lie(move |said| {
        if said["number"] == number {
            *said = undone.clone();
        }
    });
    proxy.fail("eth_getBlockByNumber", 10_000, other_line);
    provider.anvil_revert(before).await?;
    provider.anvil_drop_all_transactions().await?;
    provider.anvil_set_auto_mine(false).await?;
    provider.anvil_mine(Some(4), None).await?;

    let outcome = sale.await?;

    ensure!(matches!(outcome, Err(LaneFault::Unsettled { .. })), "{outcome:?}");
    assert_eq!(line.sold(&stage).await?, U256::ZERO, "it was undone");
    Ok(())
}

/// Another transaction of the key in a block that was undone, told by a node that is still on it, and the height of one that is
/// not: what waits is not displaced by that.
#[tokio::test]
async fn a_transaction_of_an_undone_block_displaces_nothing() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let give_up = Duration::from_secs(3);
    let deep = LanePolicy { confirmations: 2, give_up, ..policy() };
    let line = Line::to(&stage, proxy.url(), 3, deep).await?;
    let provider = stage.node().provider();
    let before = provider.anvil_snapshot().await?;
    let elsewhere = TransactionRequest::default().from(line.key).to(line.key);
    provider.anvil_impersonate_account(line.key).await?;
    let other = provider.send_transaction(elsewhere).await?.get_receipt().await?;
    let asked = |what: &'static str, params: Value| provider.raw_request(what.into(), params);
    let number = json!(format!("0x{:x}", other.block_number.context("no block")?));
    let header: Value = asked("eth_getBlockByNumber", json!([number, false])).await?;
    let full: Value = asked("eth_getBlockByNumber", json!([number, true])).await?;
    provider.anvil_revert(before).await?;
    provider.anvil_set_auto_mine(false).await?;

    let sale = line.go(line.sale(&stage, 10));
    let (hash, _) = until(&stage, line.key, |all| all.first().copied()).await?;
    provider.anvil_drop_transaction(hash).await?;
    provider.anvil_mine(Some(3), None).await?;
    // From that block on the key has sent one; and before it none.
    let height = other.block_number.unwrap_or_default();
    let counted = Fault::LieTo(Arc::new(move |asked, said| {
        let block = asked["params"][1].as_str().and_then(|hex| hex.strip_prefix("0x"));
        let block = block.and_then(|hex| u64::from_str_radix(hex, 16).ok());
        if block.is_some_and(|block| block >= height) {
            said["result"] = json!("0x1");
        }
    }));
    proxy.fail("eth_getTransactionCount", 10_000, counted);
    let at = number.clone();
    let undone = Fault::lie(move |said| {
        if said["number"] == at {
            *said = header.clone();
        }
    });
    proxy.fail("eth_getBlockByNumber", 10_000, undone);
    proxy.fail("eth_getBlockByHash", 10_000, Fault::lie(move |said| *said = full.clone()));
    let outcome = sale.await?;

    ensure!(matches!(outcome, Err(LaneFault::Unsettled { .. })), "{outcome:?}");
    Ok(())
}

/// A node that has it in a block and shows no receipt: that is no proof of another in its place, and nothing is signed again.
#[tokio::test]
async fn a_receipt_that_never_comes_proves_nothing() -> Result<()> {
    for fault in [None, Some(Fault::Twice)] {
        let stage = Stage::open().await?;
        let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
        let (patience, give_up) = (Duration::from_millis(100), Duration::from_secs(3));
        let line = Line::to(&stage, proxy.url(), 3, LanePolicy { patience, give_up, ..policy() });
        let line = line.await?;
        proxy.fail("eth_getTransactionReceipt", 10_000, Fault::lie(|said| *said = Value::Null));
        if let Some(fault) = &fault {
            proxy.fail("eth_sendRawTransaction", 1, fault.clone());
        }

        let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;

        ensure!(matches!(outcome, Err(LaneFault::Unsettled { .. })), "{fault:?}: {outcome:?}");
        assert_eq!(stage.node().provider().get_transaction_count(line.key).await?, 1, "{fault:?}");
        assert_eq!(line.sold(&stage).await?, dollars(10), "{fault:?}");
    }
    Ok(())
}

/// What a node dropped and does not take again at its price, or knows by words of its own, is raised all the same.
#[tokio::test]
async fn a_price_that_a_node_refuses_is_raised() -> Result<()> {
    let stage = Stage::open().await?;
    let patience = Duration::from_millis(200);
    let line = Line::new(&stage, 3, LanePolicy { patience, ..policy() }).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let sale = line.go(line.sale(&stage, 10));
    let (first, bid) = until(&stage, line.key, |all| all.first().copied()).await?;
    let dear = U256::from(bid) * U256::from(2);
    provider.anvil_set_next_block_base_fee_per_gas(dear.to()).await?;
    provider.anvil_drop_transaction(first).await?;
    provider.anvil_mine(Some(1), None).await?;

    let (_, raised) =
        until(&stage, line.key, |all| all.iter().copied().find(|(hash, _)| *hash != first)).await?;
    provider.anvil_mine(Some(1), None).await?;

    done(&sale.await??)?;
    ensure!(raised > bid, "{bid} became {raised}");
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

/// A bid that the key cannot pay for is not signed; where it could and no longer can, an earlier one is handed in again.
#[tokio::test]
async fn a_bid_that_cannot_be_paid_keeps_nothing_waiting() -> Result<()> {
    let stage = Stage::open().await?;
    let patience = Duration::from_millis(200);
    let line = Line::new(&stage, 3, LanePolicy { patience, ..policy() }).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let sale = line.go(line.sale(&stage, 10));
    let (first, bid) = until(&stage, line.key, |all| all.first().copied()).await?;
    let limit = provider.get_transaction_by_hash(first).await?.context("gone")?.inner.gas_limit();
    let (second, _) =
        until(&stage, line.key, |all| all.iter().copied().find(|(hash, _)| *hash != first)).await?;
    provider.anvil_set_balance(line.key, U256::from(limit) * U256::from(bid)).await?;
    let all = waiting(&stage, line.key).await?;
    for (hash, _) in all {
        provider.anvil_drop_transaction(hash).await?;
    }

    until(&stage, line.key, |all| all.iter().any(|(hash, _)| *hash == first).then_some(())).await?;
    provider.anvil_mine(Some(1), None).await?;

    let landing = sale.await??;
    done(&landing)?;
    ensure!(matches!(&landing, Landing::Done(receipt) if receipt.hash == first), "{second}");
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

/// What somebody gave up waiting for, and the node forgot, would keep everything behind it waiting: it is handed in again.
#[tokio::test]
async fn what_was_given_up_on_is_handed_in_before_the_next() -> Result<()> {
    let stage = Stage::open().await?;
    let hasty = LanePolicy { give_up: Duration::from_secs(3), ..policy() };
    let line = Line::new(&stage, 3, hasty).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;
    let Err(LaneFault::Unsettled { hash, nonce: 0, .. }) = outcome else { bail!("{outcome:?}") };
    provider.anvil_drop_transaction(hash).await?;
    provider.anvil_set_auto_mine(true).await?;

    done(&line.lane.redeem(judged(line.sale(&stage, 10))).await?)?;

    assert_eq!(provider.get_transaction_count(line.key).await?, 2);
    assert_eq!(line.sold(&stage).await?, dollars(20));
    Ok(())
}

/// Whoever asked may be gone while it is waited for: what he left behind is raised in its place, or nothing behind it would move.
#[tokio::test]
async fn what_its_caller_dropped_is_raised_before_the_next() -> Result<()> {
    let stage = Stage::open().await?;
    let patience = Duration::from_millis(1);
    let line = Line::new(&stage, 3, LanePolicy { patience, ..policy() }).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let dropped = line.go(line.sale(&stage, 10));
    let (first, _) = until(&stage, line.key, |all| all.first().copied()).await?;
    dropped.abort();
    ensure!(dropped.await.is_err_and(|end| end.is_cancelled()));

    let sale = line.go(line.sale(&stage, 20));
    let raised =
        |all: &[(B256, u128)]| all.len() == 2 && all.iter().all(|(hash, _)| *hash != first);
    until(&stage, line.key, |all| raised(all).then_some(())).await?;
    provider.anvil_mine(Some(1), None).await?;

    done(&sale.await??)?;
    assert_eq!(provider.get_transaction_count(line.key).await?, 2);
    assert_eq!(line.sold(&stage).await?, dollars(30), "each once");
    Ok(())
}

/// Some nodes answer what they know with its hash. And where the market asks for more than the ceiling, the bid is raised as far
/// as it goes.
#[tokio::test]
async fn a_known_bid_is_raised_whatever_the_node_calls_it_and_as_far_as_its_ceiling() -> Result<()>
{
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let patience = Duration::from_millis(100);
    let line = Line::to(&stage, proxy.url(), 3, LanePolicy { patience, ..policy() }).await?;
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let sale = line.go(line.sale(&stage, 10));
    let (first, bid) = until(&stage, line.key, |all| all.first().copied()).await?;
    let known = Fault::Lie(Arc::new(|answer| {
        if answer.get("error").is_some() {
            *answer = json!({ "jsonrpc": "2.0", "id": answer["id"], "result": B256::ZERO });
        }
    }));
    proxy.fail("eth_sendRawTransaction", 1_000, known);
    let dear = Fault::lie(|history| {
        if let Some(fees) = history.get_mut("baseFeePerGas").and_then(Value::as_array_mut) {
            fees.fill(json!("0xffffffffffff"));
        }
    });
    proxy.fail("eth_feeHistory", 1_000, dear);

    let (_, raised) =
        until(&stage, line.key, |all| all.iter().copied().find(|(hash, _)| *hash != first)).await?;
    provider.anvil_mine(Some(1), None).await?;

    done(&sale.await??)?;
    ensure!(raised >= bid + bid / 10 && raised < 2 * bid, "{bid} became {raised}");
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

#[tokio::test]
async fn what_is_signed_goes_to_the_private_node_alone() -> Result<()> {
    let stage = Stage::open().await?;
    let open = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let private = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let agent = Agent::hired(&stage, &owner, 1).await?;
    let redemption = agent.redemption(&swap(&stage, agent.account, dollars(10)))?;
    let now = stage.now().await?;
    let foresight = Arc::new(Foresight::new(Node::connect(open.url()).await?));
    let policy = LanePolicy { patience: Duration::from_millis(200), ..policy() };
    let lane = Lane::open(foresight, agent.key, mandate(), policy, move || now)
        .await?
        .through(Node::connect(private.url()).await?);
    // Whoever is asked to send answers with a fault: only one of them is asked.
    open.fail("eth_sendRawTransaction", 1, Fault::TooMany);
    private.fail("eth_sendRawTransaction", 1, Fault::TooMany);

    done(&lane.redeem(judged(redemption)).await?)?;

    assert_eq!((open.failed(), private.failed()), (0, 1));
    Ok(())
}

/// Two owners, one transaction: both deeds or none, and a refusal is the right one's.
#[tokio::test]
async fn grants_of_two_owners_are_redeemed_together_or_not_at_all() -> Result<()> {
    let stage = Stage::open().await?;
    let line = Line::new(&stage, 3, policy()).await?;
    let second = stage.owner(AccountKind::Hybrid).await?;
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 3600)?;
    let account = second.account.address;
    let terms = bardo_testkit::swap_grant(&stage, line.key, account, 2, window);
    let grant = second.signer.grant(&stage.domain(), bardo_testkit::unsigned(account, &terms))?;
    let context = PermissionContext::new(vec![grant])?;
    let pair = |usd: u64, to: Address| {
        line.sale(&stage, usd).and_single(context.clone(), &swap(&stage, to, dollars(usd)))
    };

    done(&line.lane.redeem(judged(pair(10, account))).await?)?;
    let refused = line.lane.redeem(judged(pair(20, line.key))).await?;
    let broke = line.lane.redeem(judged(pair(6_000, account).and_batch(
        context.clone(),
        &[Execution { target: stage.book().usdc, value: U256::ZERO, data: Default::default() }],
    )));
    let broke = broke.await?;

    let sold = dollars(10_000) - stage.balance_of(stage.book().usdc, account).await?;
    assert_eq!((line.sold(&stage).await?, sold), (dollars(10), dollars(10)));
    let Landing::Refused(denial) = refused else { bail!("{refused:?}") };
    assert_eq!(denial.code, DenialCode::Calldata, "{denial:?}");
    ensure!(matches!(broke, Landing::Refused(_)), "{broke:?}");
    Ok(())
}

/// Nodes take one transaction at a time of an account that EIP-7702 gave code: the next is handed in as soon as it is taken,
/// and not when patience ends.
#[tokio::test]
async fn what_a_node_takes_one_at_a_time_does_not_wait_out_its_patience() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let line = Line::to(&stage, proxy.url(), 5, policy()).await?;
    let words = "in-flight transaction limit reached for delegated accounts";
    let no = json!({ "error": { "code": -32_000, "message": words } });
    proxy.fail("eth_sendRawTransaction", 3, Fault::Claim(Arc::new(move || no.clone())));

    // Whoever waits for his patience to end is given up on at the same moment.
    let landing = line.lane.redeem(judged(line.sale(&stage, 10))).await?;

    done(&landing)?;
    assert_eq!(proxy.failed(), 3);
    assert_eq!(line.sold(&stage).await?, dollars(10));
    Ok(())
}

/// Whoever asks to be left alone for an hour is waited for as long as was said, and no longer.
#[tokio::test]
async fn a_node_that_wants_to_be_left_alone_does_not_hold_up_who_gave_up() -> Result<()> {
    let stage = Stage::open().await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let hasty = LanePolicy { give_up: Duration::from_millis(500), ..policy() };
    let line = Line::to(&stage, proxy.url(), 3, hasty).await?;
    proxy.fail("eth_getTransactionReceipt", 1_000, Fault::TooMany);
    let node = Node::connect(proxy.url()).await?.with_patience(Duration::from_millis(500));
    let owner = line.owner.signer.address();
    let call = OwnerCall::new(owner, golem_registry(), &GolemRegistry::revokeAllCall {});

    let outcome = line.lane.redeem(judged(line.sale(&stage, 10))).await;
    let by_lane = proxy.failed();
    let sent = call.send(&node, &line.owner.signer, OWNER_FEE_CEILING).await;
    let by_owner = proxy.failed();

    ensure!(matches!(outcome, Err(LaneFault::Unsettled { .. })), "{outcome:?}");
    ensure!(matches!(sent, Err(OwnerError::Chain(ChainFault::NotMined { .. }))), "{sent:?}");
    // Each time is twice as long as the one before: whoever waits for the end of them has asked six times.
    ensure!((1..5).contains(&by_lane) && (1..5).contains(&by_owner), "{by_lane}, {by_owner}");
    Ok(())
}

/// EIP-7702: an authorization takes a place of its signer's queue as a transaction does. What was signed for that place never takes
/// effect, and that is seen.
#[tokio::test]
async fn a_place_that_an_authorization_took_is_seen_to_be_taken() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let raw = RawKey::born(&stage).await?;
    let folder = tempfile::tempdir()?;
    let (file, password) = (
        folder.path().join("key.json"),
        Password::typed("one key".to_owned().into()).context("a password")?,
    );
    raw.owner(folder.path())?.save(&file, &password)?;
    let now = stage.now().await?;
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let terms = swap_grant(&stage, raw.address(), owner.account.address, 3, window);
    let grant = owner.signer.grant(&stage.domain(), unsigned(owner.account.address, &terms))?;
    let context = PermissionContext::new(vec![grant])?;
    let call = swap(&stage, owner.account.address, dollars(10));
    let sale = Redemption::single(DELEGATION_MANAGER, context, &call);
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let key = SessionKey::open(&file, &password)?;
    let node = Node::connect(stage.chain().url()).await?;
    let foresight = Arc::new(Foresight::new(node));
    let hasty = LanePolicy { give_up: Duration::from_secs(15), ..policy() };
    let lane = Arc::new(Lane::open(foresight, key, mandate(), hasty, move || now).await?);
    let going = Arc::clone(&lane);
    let outcome = tokio::spawn(async move { going.redeem(judged(sale)).await });
    until(&stage, raw.address(), |all| all.first().copied()).await?;

    provider.anvil_drop_all_transactions().await?;
    raw.upgraded_by(&stage, 0).await?;
    provider.anvil_mine(Some(2), None).await?;

    assert_eq!(provider.get_transaction_count(raw.address()).await?, 1);
    let outcome = tokio::time::timeout(PATIENCE, outcome).await??;
    ensure!(matches!(outcome, Err(LaneFault::Displaced { nonce: 0, .. })), "{outcome:?}");
    Ok(())
}
