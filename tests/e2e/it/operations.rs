//! Redemption through a real bundler by accounts whose key has no coins (SPEC X1, D20).

mod carried;
mod elsewhere;

use alloy::{
    primitives::{B256, Bytes, U256},
    providers::{Provider as _, ext::AnvilApi as _},
    rpc::types::TransactionRequest,
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::framework::{
    DELEGATION_MANAGER, ENTRY_POINT, EntryPoint, HYBRID_IMPL, STATELESS_7702_IMPL,
};
use bardo_testkit::{
    Fault, Owner, Proxy, Stage, charter, chartered, dollars, fair_swap, judged, mandate, swap,
    swap_grant, unsigned,
};
use golem_chain::{
    AccountKind, ChainFault, Foresight, Landing, Lane, LaneFault, LanePolicy, Node, Operations,
    OperationsFault, hybrid_account, local::Bundler, revocation,
};
use golem_custody::{
    ClearingPolicy, DenialCode, Execution, Password, Redemption, SessionAccount, SessionKey,
    SessionSigner as _,
};
use golem_delegation::{PermissionContext, terms::MortalityTimeWindow};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use url::Url;

const PATIENCE: Duration = Duration::from_secs(60);

/// Wei.
const GWEI: u128 = 1_000_000_000;

/// A tenth of an ether.
const DEPOSIT: U256 = U256::from_limbs([100_000_000_000_000_000, 0, 0, 0]);

fn policy() -> LanePolicy {
    LanePolicy {
        clearing: ClearingPolicy::default(),
        confirmations: 1,
        patience: Duration::from_secs(2),
        poll: Duration::from_millis(50),
        give_up: PATIENCE,
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Key,
    Hybrid,
}

/// A session account that holds a grant, and no coins.
struct Poor {
    node: Node,
    operations: Operations<SessionKey>,
    owner: Owner,
    context: PermissionContext,
}

impl Poor {
    async fn new(stage: &Stage, kind: Kind, bundler: &Url, policy: LanePolicy) -> Result<Self> {
        Self::by(stage, stage.chain().url(), kind, bundler, policy).await
    }

    /// Seeing the chain through another node.
    async fn by(
        stage: &Stage,
        node: &Url,
        kind: Kind,
        bundler: &Url,
        policy: LanePolicy,
    ) -> Result<Self> {
        let owner = stage.owner(AccountKind::Stateless7702).await?;
        Self::of(stage, owner, node, kind, bundler, policy).await
    }

    /// Of an owner who is there.
    async fn of(
        stage: &Stage,
        owner: Owner,
        node: &Url,
        kind: Kind,
        bundler: &Url,
        policy: LanePolicy,
    ) -> Result<Self> {
        let key = SessionKey::born();
        let account = match kind {
            Kind::Key => SessionAccount::Key(key.address()),
            Kind::Hybrid => {
                let vault = hybrid_account(key.address(), B256::ZERO, &stage.book().proxy_code);
                let creation = vault.creation().context("no creation")?.clone();
                SessionAccount::Hybrid { address: vault.address, creation }
            }
        };
        let now = stage.now().await?;
        let window = MortalityTimeWindow::new(now, now + 604_800)?;
        let terms = swap_grant(stage, account.address(), owner.account.address, 5, window);
        let grant = owner.signer.grant(&stage.domain(), unsigned(owner.account.address, &terms))?;
        let context = PermissionContext::new(vec![grant])?;
        let node = Node::connect(node).await?;
        let foresight = Arc::new(Foresight::new(node.clone()));
        let operations =
            Operations::through(bundler, foresight, account, key, mandate(), policy, move || now)
                .await?;
        Ok(Self { node, operations, owner, context })
    }

    /// The owner pays for the first operations, in a transaction of his own.
    async fn endow(&self, stage: &Stage) -> Result<()> {
        let give = EntryPoint::depositToCall { account: self.operations.address() };
        let give =
            Execution { target: ENTRY_POINT, value: DEPOSIT, data: give.abi_encode().into() };
        self.owner.account.act(stage.node(), &self.owner.signer, &[give]).await?;
        Ok(())
    }

    fn sale(&self, stage: &Stage, usd: u64) -> Redemption {
        let call = swap(stage, self.owner.account.address, dollars(usd));
        Redemption::single(DELEGATION_MANAGER, self.context.clone(), &call)
    }

    async fn sold(&self, stage: &Stage) -> Result<U256> {
        let left = stage.balance_of(stage.book().usdc, self.owner.account.address).await?;
        Ok(dollars(10_000) - left)
    }
}

fn done(landing: &Landing) -> Result<()> {
    ensure!(matches!(landing, Landing::Done(receipt) if receipt.success), "{landing:?}");
    Ok(())
}

async fn staged() -> Result<(Stage, Bundler)> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;
    Ok((stage, bundler))
}

/// SPEC C1, X1: no operation of an account whose code would be none is signed or handed over, and no key is upgraded to nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_whose_implementation_is_not_there_sends_nothing() -> Result<()> {
    for (kind, whose, gone) in [
        (Kind::Key, AccountKind::Hybrid, STATELESS_7702_IMPL),
        (Kind::Hybrid, AccountKind::Stateless7702, HYBRID_IMPL),
    ] {
        let (stage, bundler) = staged().await?;
        let proxy = Proxy::before(bundler.url(), Duration::ZERO).await?;
        proxy.fail("eth_sendUserOperation", u64::MAX, Fault::lie(|_| ()));
        let owner = stage.owner(whose).await?;
        let (node, by) = (stage.chain().url(), proxy.url());
        let poor = Poor::of(&stage, owner, node, kind, by, policy()).await?;
        poor.endow(&stage).await?;
        stage.node().provider().anvil_set_code(gone, Bytes::new()).await?;

        let Err(fault) = poor.operations.redeem(judged(poor.sale(&stage, 10))).await else {
            bail!("{kind:?} was taken");
        };

        let words = format!("{:#}", anyhow::Error::from(fault));
        ensure!(
            words.contains(&gone.to_string()) && words.contains("bardo chains check"),
            "{words}"
        );
        assert_eq!(proxy.failed(), 0, "{kind:?}: nothing was handed over");
        ensure!(stage.node().code(poor.operations.address()).await?.is_empty(), "{kind:?}");
    }
    Ok(())
}

/// The first operation also puts the account on the chain.
#[tokio::test]
async fn a_key_without_a_wei_redeems_by_operation() -> Result<()> {
    for kind in [Kind::Key, Kind::Hybrid] {
        let (stage, bundler) = staged().await?;
        let poor = Poor::new(&stage, kind, bundler.url(), policy()).await?;
        let account = poor.operations.address();
        ensure!(stage.node().code(account).await?.is_empty(), "{kind:?}");
        poor.endow(&stage).await?;

        done(&poor.operations.redeem(judged(poor.sale(&stage, 10))).await?)
            .context(format!("{kind:?}"))?;
        ensure!(!stage.node().code(account).await?.is_empty(), "{kind:?} stands");
        // Two at once: one after the other.
        let (one, other) = (poor.sale(&stage, 20), poor.sale(&stage, 30));
        let (one, other) = tokio::join!(
            poor.operations.redeem(judged(one.clone())),
            poor.operations.redeem(judged(other.clone()))
        );
        done(&one?)?;
        done(&other?)?;

        assert_eq!(poor.sold(&stage).await?, dollars(60), "{kind:?}");
        assert_eq!(stage.node().balance(account).await?, U256::ZERO, "{kind:?} has no coins");
    }
    Ok(())
}

/// X1, D20: from nothing to its own transactions. The first operation fetches gas money, the next sale goes without a bundler, and
/// what the key holds stays below its ceiling.
#[tokio::test]
async fn a_key_that_begins_with_nothing_fetches_gas_money_up_to_its_ceiling() -> Result<()> {
    const GWEI: u64 = 1_000_000_000;
    let (stage, bundler) = staged().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    stage.fund(owner.account.address, DEPOSIT * U256::from(2), U256::ZERO).await?;
    let key = SessionKey::born();
    let session = key.address();
    let law = charter(&stage, &owner, session, |law| law.gas_ceiling = 5_000_000).await?;
    let grant = owner.signer.grant(&stage.domain(), chartered(&law)?)?;
    let context = PermissionContext::new(vec![grant])?;
    let give = EntryPoint::depositToCall { account: session };
    let give = Execution { target: ENTRY_POINT, value: DEPOSIT, data: give.abi_encode().into() };
    owner.account.act(stage.node(), &owner.signer, &[give]).await?;
    let now = stage.now().await?;
    let foresight = Arc::new(Foresight::new(stage.node().clone()));
    let fetch = |gwei: u64| {
        let value = U256::from(gwei) * U256::from(GWEI);
        let pay = Execution { target: session, value, data: Bytes::new() };
        Redemption::single(DELEGATION_MANAGER, context.clone(), &pay)
    };
    assert_eq!(stage.node().balance(session).await?, U256::ZERO);

    let keystore = tempfile::tempdir()?;
    let (file, pw) = (keystore.path().join("key.json"), keystore.path().join("pw"));
    fs::write(&pw, "pw")?;
    fs::set_permissions(&pw, fs::Permissions::from_mode(0o600))?;
    let pw = Password::from_file(&pw)?;
    key.save(&file, &pw)?;
    let account = SessionAccount::Key(session);
    let operations = Operations::through(
        bundler.url(),
        Arc::clone(&foresight),
        account,
        key,
        mandate(),
        policy(),
        move || now,
    )
    .await?;
    done(&operations.redeem(judged(fetch(4_000_000))).await?)?;
    // The same key from its file: what it holds pays for what it does next.
    let lane =
        Lane::open(foresight, SessionKey::open(&file, &pw)?, mandate(), policy(), move || now)
            .await?;
    let sale = fair_swap(&stage, owner.account.address, dollars(10));
    done(
        &lane
            .redeem(judged(Redemption::single(DELEGATION_MANAGER, context.clone(), &sale)))
            .await?,
    )?;
    let held = stage.node().balance(session).await?;
    let more = lane.redeem(judged(fetch(2_000_000))).await?;

    let ceiling = U256::from(5_000_000u64) * U256::from(GWEI);
    ensure!(held > U256::ZERO && held < ceiling, "{held}");
    let Landing::Refused(denial) = more else { bail!("{more:?}") };
    assert_eq!(denial.code, DenialCode::GasMoney, "{denial}");
    assert_eq!(stage.node().balance(session).await?, held, "nothing was sent");
    let left = stage.balance_of(stage.book().usdc, owner.account.address).await?;
    assert_eq!(left, dollars(9_990));
    Ok(())
}

#[tokio::test]
async fn what_could_cost_too_much_or_cannot_be_paid_is_not_signed() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let poor = Poor::new(&stage, Kind::Key, bundler.url(), policy()).await?;
    let refused = poor.operations.redeem(judged(poor.sale(&stage, 10))).await;
    let Landing::Refused(denial) = refused? else { bail!("not refused") };
    assert_eq!(denial.code, DenialCode::NoGas);
    let mut narrow = policy();
    narrow.clearing.fee_ceiling = U256::from(1);
    let poor = Poor::new(&stage, Kind::Key, bundler.url(), narrow).await?;
    poor.endow(&stage).await?;
    let Landing::Refused(denial) = poor.operations.redeem(judged(poor.sale(&stage, 10))).await?
    else {
        bail!("not refused");
    };
    assert_eq!(denial.code, DenialCode::FeeCeiling);
    // And what the grant does not allow is refused as ever, before any bundler hears of it.
    let poor = Poor::new(&stage, Kind::Key, bundler.url(), policy()).await?;
    let stray = swap(&stage, poor.operations.address(), dollars(1));
    let stray = Redemption::single(DELEGATION_MANAGER, poor.context.clone(), &stray);
    let Landing::Refused(denial) = poor.operations.redeem(judged(stray.clone())).await? else {
        bail!("not refused");
    };
    assert_eq!(denial.code, DenialCode::Calldata);
    Ok(())
}

/// A bundler that loses an operation, or the word about it: it is done, and once.
#[tokio::test]
async fn an_operation_that_a_bundler_lost_is_handed_to_it_again() -> Result<()> {
    // It took it, and complains of something that happened later.
    let complaint = Fault::Lie(Arc::new(|answer| {
        *answer = json!({
            "jsonrpc": "2.0", "id": answer["id"],
            "error": { "code": -32_603, "message": "request timed out" },
        });
    }));
    for fault in [
        Fault::DropBefore,
        Fault::DropAfter,
        Fault::Half,
        Fault::TooMany,
        Fault::TooManyAfter,
        complaint,
    ] {
        let (stage, bundler) = staged().await?;
        let proxy = Proxy::before(bundler.url(), Duration::ZERO).await?;
        let mut url = proxy.url().clone();
        url.set_path(bundler.url().path());
        let poor = Poor::new(&stage, Kind::Key, &url, policy()).await?;
        poor.endow(&stage).await?;
        proxy.fail("eth_sendUserOperation", 1, fault.clone());

        let landing = poor.operations.redeem(judged(poor.sale(&stage, 10))).await;

        let landing = landing.with_context(|| format!("{fault:?}"))?;
        done(&landing).with_context(|| format!("{fault:?}"))?;
        assert_eq!(proxy.failed(), 1, "{fault:?}");
        assert_eq!(poor.sold(&stage).await?, dollars(10), "{fault:?}");
        let next =
            EntryPoint::getNonceCall { sender: poor.operations.address(), key: Default::default() };
        assert_eq!(stage.node().read(ENTRY_POINT, next).await?, U256::from(1), "{fault:?}");
    }
    Ok(())
}

/// A bundler that says no and took it, as its place shows after a while; and one that says no, and may have it all the same.
#[tokio::test]
async fn a_bundlers_no_proves_nothing_and_what_nobody_shows_leaves_its_place() -> Result<()> {
    let no = json!({ "code": -32_500, "message": "AA21 didn't pay prefund" });
    let (stage, bundler) = staged().await?;
    let slow = LanePolicy { poll: Duration::from_secs(1), ..policy() };
    let (proxy, poor) = behind_proxy(&stage, &bundler, slow).await?;
    let error = no.clone();
    let took = Fault::Lie(Arc::new(move |answer| {
        *answer = json!({ "jsonrpc": "2.0", "id": answer["id"], "error": error });
    }));
    proxy.fail("eth_sendUserOperation", 1, took);
    done(&poor.operations.redeem(judged(poor.sale(&stage, 10))).await?)?;
    assert_eq!(poor.sold(&stage).await?, dollars(10));

    // What is unknown is not known.
    let unknown = json!({ "code": -32_602, "message": "unknown field eip7702Auth" });
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let poor = Poor {
        operations: poor.operations.telling(move |_| {
            count.fetch_add(1, SeqCst);
        }),
        ..poor
    };
    let _ = proxy.failed();
    for error in [no, unknown] {
        let refusal = json!({ "error": error });
        proxy.fail("eth_sendUserOperation", 1, Fault::Claim(Arc::new(move || refusal.clone())));
        let refused = poor.operations.redeem(judged(poor.sale(&stage, 20))).await;
        let Err(LaneFault::Forsaken { source: Some(ChainFault::Bundler { .. }), .. }) = refused
        else {
            bail!("{refused:?}")
        };
    }
    assert_eq!((proxy.failed(), told.load(SeqCst)), (2, 2), "neither was raised");
    assert_eq!(poor.sold(&stage).await?, dollars(10));
    // Nor are they handed over by whoever finishes what is left.
    proxy.fail("eth_sendUserOperation", u64::MAX, Fault::lie(|_| ()));
    let ends = poor.operations.finish().await;
    ensure!(
        ends.iter().all(|(_, end)| matches!(end, Err(LaneFault::Forsaken { .. })))
            && ends.len() == 2,
        "{ends:?}"
    );
    assert_eq!(proxy.failed(), 0, "nothing was handed over");
    done(&poor.operations.redeem(judged(poor.sale(&stage, 30))).await?)?;
    assert_eq!(poor.sold(&stage).await?, dollars(40));
    ensure!(poor.operations.finish().await.is_empty(), "whoever has the place ends them");
    Ok(())
}

/// An account has one place for what waits and what is asked for next: nothing is signed for it while the first may still take
/// effect, unless somebody gives that up by its name. Of both one takes effect.
#[tokio::test]
async fn nothing_is_signed_beside_an_operation_that_may_still_take_effect() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let hasty = LanePolicy { patience: PATIENCE, give_up: Duration::from_secs(4), ..policy() };
    let (_proxy, poor) = behind_proxy(&stage, &bundler, hasty).await?;
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let poor = Poor {
        operations: poor.operations.telling(move |_| {
            count.fetch_add(1, SeqCst);
        }),
        ..poor
    };
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let waits = poor.operations.redeem(judged(poor.sale(&stage, 10))).await;
    let Err(LaneFault::Unsettled { hash, .. }) = waits else { bail!("{waits:?}") };

    let beside = poor.operations.redeem(judged(poor.sale(&stage, 20))).await;

    let Err(beside) = beside else { bail!("{beside:?}") };
    assert_eq!(beside.code(), "UNSETTLED");
    ensure!(beside.to_string().contains(&format!("--instead-of {hash}")), "{beside}");
    assert_eq!(told.load(SeqCst), 1, "nothing else was signed");
    let stranger = B256::repeat_byte(9);
    let _ = poor.node.clone().instead_of(Some(stranger));
    let unknown = poor.operations.redeem(judged(poor.sale(&stage, 20))).await;
    ensure!(matches!(unknown, Err(LaneFault::Custody(_))), "{unknown:?}");
    let _ = poor.node.clone().instead_of(Some(hash));
    let sale = poor.sale(&stage, 20);
    let (landing, mined) = tokio::join!(poor.operations.redeem(judged(sale)), async {
        while told.load(SeqCst) < 2 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        provider.anvil_set_auto_mine(true).await?;
        provider.anvil_mine(Some(1), None).await?;
        anyhow::Ok(())
    });
    mined?;

    // Whichever the bundler carried, it is one of them, and the other's end is known.
    let sold = poor.sold(&stage).await?;
    match landing {
        Ok(landing) => {
            done(&landing)?;
            assert_eq!(sold, dollars(20));
        }
        Err(LaneFault::Displaced { .. }) => assert_eq!(sold, dollars(10)),
        other => bail!("{other:?}"),
    }
    done(&poor.operations.redeem(judged(poor.sale(&stage, 30))).await?)?;
    assert_eq!(poor.sold(&stage).await?, sold + dollars(30));
    assert!(poor.operations.finish().await.is_empty());
    Ok(())
}

/// A bundler behind which a proxy stands, and an account that uses it.
async fn behind_proxy(
    stage: &Stage,
    bundler: &Bundler,
    policy: LanePolicy,
) -> Result<(Proxy, Poor)> {
    let proxy = Proxy::before(bundler.url(), Duration::ZERO).await?;
    let mut url = proxy.url().clone();
    url.set_path(bundler.url().path());
    let poor = Poor::new(stage, Kind::Key, &url, policy).await?;
    poor.endow(stage).await?;
    Ok((proxy, poor))
}

/// It says that it has it, by its true name, and never heard of it; or it hears and never says anything.
#[tokio::test]
async fn an_operation_that_a_bundler_swallowed_is_handed_to_it_again() -> Result<()> {
    let named = Arc::new(Mutex::new(B256::ZERO));
    let claimed = Arc::clone(&named);
    let claim = Fault::Claim(Arc::new(
        move || json!({ "result": *claimed.lock().unwrap_or_else(PoisonError::into_inner) }),
    ));
    for fault in [claim, Fault::Stall, Fault::Twice] {
        let (stage, bundler) = staged().await?;
        let (proxy, mut poor) = behind_proxy(&stage, &bundler, policy()).await?;
        let heard = Arc::clone(&named);
        poor.operations = poor.operations.telling(move |hash| {
            *heard.lock().unwrap_or_else(PoisonError::into_inner) = hash;
        });
        proxy.fail("eth_sendUserOperation", 1, fault.clone());

        let landing = poor.operations.redeem(judged(poor.sale(&stage, 10))).await;

        done(&landing.with_context(|| format!("{fault:?}"))?)
            .with_context(|| format!("{fault:?}"))?;
        assert_eq!(proxy.failed(), 1, "{fault:?}");
        assert_eq!(poor.sold(&stage).await?, dollars(10), "{fault:?}");
    }
    Ok(())
}

/// A bundler that finds the price too low, since blocks got dearer: it is raised in the same place, and of two bids one
/// takes effect.
#[tokio::test]
async fn an_operation_whose_price_is_too_low_is_raised_in_its_place() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let (proxy, mut poor) = behind_proxy(&stage, &bundler, policy()).await?;
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    poor.operations = poor.operations.telling(move |_| {
        count.fetch_add(1, SeqCst);
    });
    let too_low = || json!({ "error": { "code": -32_602, "message": "maxFeePerGas must be at least 1000000000000" } });
    proxy.fail("eth_sendUserOperation", 1, Fault::DropBefore);
    proxy.fail("eth_sendUserOperation", 1, Fault::Claim(Arc::new(too_low)));

    let landing = poor.operations.redeem(judged(poor.sale(&stage, 10))).await;

    assert_eq!(proxy.failed(), 2);
    assert_eq!(told.load(SeqCst), 2, "a second bid was signed");
    done(&landing?)?;
    assert_eq!(poor.sold(&stage).await?, dollars(10), "one of them took effect");
    Ok(())
}

/// What is refused for something else than its price is offered again as it is.
#[tokio::test]
async fn an_operation_is_not_raised_for_a_refusal_of_something_else() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let (proxy, mut poor) = behind_proxy(&stage, &bundler, policy()).await?;
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    poor.operations = poor.operations.telling(move |_| {
        count.fetch_add(1, SeqCst);
    });
    let later =
        || json!({ "error": { "code": -32_504, "message": "sender throttled, try later" } });
    proxy.fail("eth_sendUserOperation", 1, Fault::DropBefore);
    proxy.fail("eth_sendUserOperation", 1, Fault::Claim(Arc::new(later)));

    done(&poor.operations.redeem(judged(poor.sale(&stage, 10))).await?)?;

    assert_eq!((proxy.failed(), told.load(SeqCst)), (2, 1));
    assert_eq!(poor.sold(&stage).await?, dollars(10));
    Ok(())
}

/// One that was carried and undone is carried again, and counts once.
#[tokio::test]
async fn an_operation_that_a_reorganisation_undid_is_done_again_and_once() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let deep = LanePolicy { confirmations: 4, ..policy() };
    let (_proxy, poor) = behind_proxy(&stage, &bundler, deep).await?;
    let provider = stage.node().provider();
    let before = provider.anvil_snapshot().await?;
    let sale = poor.sale(&stage, 10);

    let landing = poor.operations.redeem(judged(sale.clone()));
    tokio::pin!(landing);
    let carried = async {
        while poor.sold(&stage).await? == U256::ZERO {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // As deep as it can be and not count yet.
        provider.anvil_mine(Some(2), None).await?;
        anyhow::Ok(())
    };
    tokio::select! {
        early = &mut landing => bail!("{early:?} under too few blocks"),
        carried = carried => carried?,
    }
    provider.anvil_revert(before).await?;
    assert_eq!(poor.sold(&stage).await?, U256::ZERO, "it was undone");
    let mine = async {
        loop {
            provider.anvil_mine(Some(1), None).await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        #[expect(unreachable_code, reason = "says what it would give")]
        anyhow::Ok(())
    };
    let landing = tokio::select! {
        landing = &mut landing => landing?,
        mined = mine => bail!("mining ended: {mined:?}"),
    };

    done(&landing)?;
    assert_eq!(poor.sold(&stage).await?, dollars(10));
    let next =
        EntryPoint::getNonceCall { sender: poor.operations.address(), key: Default::default() };
    assert_eq!(stage.node().read(ENTRY_POINT, next).await?, U256::from(1));
    Ok(())
}

/// Judged while the grant lives, carried after it ended: mined, without effect, and the cause is known.
#[tokio::test]
async fn an_operation_behind_its_revocation_fails_and_says_why() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let proxy = Proxy::before(bundler.url(), Duration::ZERO).await?;
    let mut url = proxy.url().clone();
    url.set_path(bundler.url().path());
    let poor = Poor::new(&stage, Kind::Hybrid, &url, policy()).await?;
    poor.endow(&stage).await?;
    done(&poor.operations.redeem(judged(poor.sale(&stage, 10))).await?)?;
    proxy.fail("eth_sendUserOperation", 1, Fault::DropBefore);
    let sale = poor.sale(&stage, 20);

    let (landing, revoked) = tokio::join!(poor.operations.redeem(judged(sale.clone())), async {
        while proxy.failed() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let from = poor.owner.account.address;
        let data = revocation(poor.context.leaf());
        stage.send_as(from, DELEGATION_MANAGER, U256::ZERO, data).await
    });

    ensure!(revoked?.status());
    let Landing::Failed { cause, .. } = landing? else { bail!("not failed") };
    assert_eq!(cause.code, DenialCode::DelegationDisabled, "{cause:?}");
    assert_eq!(poor.sold(&stage).await?, dollars(10));
    Ok(())
}

/// Revoked by a transaction before it in the same block: the state before that block knows nothing of it, and what the entry
/// point wrote down could be anybody's word. A node that keeps traces knows who refused; without one nobody is named.
#[tokio::test]
async fn an_operation_that_was_overtaken_in_its_block_says_who_refused_where_that_is_known()
-> Result<()> {
    for traces in [true, false] {
        let (stage, bundler) = staged().await?;
        let (proxy, node) = (
            Proxy::before(bundler.url(), Duration::ZERO).await?,
            Proxy::before(stage.chain().url(), Duration::ZERO).await?,
        );
        if !traces {
            let none = json!({ "error": { "code": -32_601, "message": "method not found" } });
            node.fail("debug_traceTransaction", 9, Fault::Claim(Arc::new(move || none.clone())));
        }
        let mut url = proxy.url().clone();
        url.set_path(bundler.url().path());
        let poor = Poor::by(&stage, node.url(), Kind::Hybrid, &url, policy()).await?;
        poor.endow(&stage).await?;
        done(&poor.operations.redeem(judged(poor.sale(&stage, 10))).await?)?;
        proxy.fail("eth_sendUserOperation", 1, Fault::DropBefore);
        let provider = stage.node().provider();
        let sale = poor.sale(&stage, 20);

        let (landing, mined) = tokio::join!(poor.operations.redeem(judged(sale.clone())), async {
            while proxy.failed() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            provider.anvil_set_auto_mine(false).await?;
            let from = poor.owner.account.address;
            provider.anvil_impersonate_account(from).await?;
            let first = TransactionRequest::default()
                .from(from)
                .to(DELEGATION_MANAGER)
                .input(revocation(poor.context.leaf()).into())
                .max_fee_per_gas(GWEI * 1_000)
                .max_priority_fee_per_gas(GWEI * 100);
            let first = *provider.send_transaction(first).await?.tx_hash();
            while queued(&stage).await? < 2 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            provider.anvil_mine(Some(1), None).await?;
            provider.get_transaction_receipt(first).await?.context("not mined")
        });

        let revoked = mined?;
        let Landing::Failed { cause, receipt } = landing? else { bail!("not failed") };
        assert_eq!(revoked.block_number, Some(receipt.block_number), "in one block");
        let code = if traces { DenialCode::DelegationDisabled } else { DenialCode::Reverted };
        assert_eq!(cause.code, code, "{cause:?}");
        assert_eq!(poor.sold(&stage).await?, dollars(10));
    }
    Ok(())
}

/// A bundle that finds no block: a better price is offered in its place, to the very bundler that has the first.
#[tokio::test]
async fn an_operation_that_waits_with_its_bundler_is_raised_in_its_place() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let mut poor = Poor::new(&stage, Kind::Key, bundler.url(), policy()).await?;
    poor.endow(&stage).await?;
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    poor.operations = poor.operations.telling(move |_| {
        count.fetch_add(1, SeqCst);
    });
    let provider = stage.node().provider();
    provider.anvil_set_auto_mine(false).await?;
    let sale = poor.sale(&stage, 10);

    let (landing, mined) = tokio::join!(poor.operations.redeem(judged(sale.clone())), async {
        while told.load(SeqCst) < 2 || queued(&stage).await? < 1 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        provider.anvil_set_auto_mine(true).await?;
        provider.anvil_mine(Some(1), None).await?;
        anyhow::Ok(())
    });

    mined?;
    done(&landing?)?;
    assert_eq!(poor.sold(&stage).await?, dollars(10), "one of them took effect");
    let next =
        EntryPoint::getNonceCall { sender: poor.operations.address(), key: Default::default() };
    assert_eq!(stage.node().read(ENTRY_POINT, next).await?, U256::from(1));
    Ok(())
}

/// Transactions that wait for a block.
async fn queued(stage: &Stage) -> Result<u64> {
    let status: Value = stage.node().provider().raw_request("txpool_status".into(), ()).await?;
    Ok(serde_json::from_value::<U256>(status.get("pending").cloned().unwrap_or_default())?.to())
}

#[tokio::test]
async fn a_bundler_of_another_chain_or_entry_point_is_not_used() -> Result<()> {
    let (stage, bundler) = staged().await?;
    let proxy = Proxy::before(bundler.url(), Duration::ZERO).await?;
    let mut url = proxy.url().clone();
    url.set_path(bundler.url().path());
    proxy.fail("eth_chainId", 1, Fault::lie(|id| *id = json!("0x1")));
    let other = Poor::new(&stage, Kind::Key, &url, policy()).await.map(|_| ());
    let other = other.err().context("taken")?.downcast::<OperationsFault>()?;
    let OperationsFault::Chain(other) = other else { bail!("{other:?}") };
    ensure!(matches!(other, ChainFault::OtherChain { found: 1, .. }), "{other:?}");
    proxy.fail("eth_supportedEntryPoints", 1, Fault::lie(|all| *all = json!([])));
    let other = Poor::new(&stage, Kind::Key, &url, policy()).await.map(|_| ());
    let other = other.err().context("taken")?.downcast::<OperationsFault>()?;
    let OperationsFault::Chain(other) = other else { bail!("{other:?}") };
    ensure!(matches!(other, ChainFault::EntryPoint { .. }), "{other:?}");
    // One that names another operation than it was given carries something that nobody signed.
    let poor = Poor::new(&stage, Kind::Key, &url, policy()).await?;
    poor.endow(&stage).await?;
    proxy.fail("eth_sendUserOperation", 1, Fault::lie(|hash| *hash = json!(B256::repeat_byte(1))));
    done(&poor.operations.redeem(judged(poor.sale(&stage, 10))).await?)?;
    assert_eq!(poor.sold(&stage).await?, dollars(10), "what took effect is what was signed");
    Ok(())
}
