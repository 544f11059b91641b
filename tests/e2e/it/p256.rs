//! SPEC K2: a session key of P-256, which acts through a Hybrid account that it owns; and an operation that a process left in the
//! books, of either curve.

use alloy::{
    primitives::{B256, U256},
    sol_types::SolCall,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::framework::{DELEGATION_MANAGER, ENTRY_POINT, EntryPoint};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{
    Fault, Owner, Proxy, Stage, dollars, judged, mandate, swap, swap_grant, unsigned,
};
use golem_chain::{
    AccountKind, Foresight, Landing, Lane, LaneFault, LanePolicy, Operations, hybrid_account,
    p256_session_account,
};
use golem_custody::{
    Books as _, CustodyError, DenialCode, Execution, Mandate, P256Key, P256SessionKey, Password,
    Redemption, SessionAccount, SessionKey, SessionSigner,
};
use golem_delegation::{PermissionContext, terms::MortalityTimeWindow};
use std::{path::Path, sync::Arc, time::Duration};
use url::Url;

/// A tenth of an ether.
const DEPOSIT: U256 = U256::from_limbs([100_000_000_000_000_000, 0, 0, 0]);
const GOLEM: B256 = B256::repeat_byte(0x62);

fn policy() -> LanePolicy {
    LanePolicy {
        confirmations: 1,
        patience: Duration::from_secs(2),
        poll: Duration::from_millis(50),
        give_up: Duration::from_secs(60),
        ..LanePolicy::default()
    }
}

fn password() -> Result<Password> {
    Password::typed("one key".to_owned().into()).context("a password")
}

/// A grant to a session account, whose first operations the owner has paid for.
struct Hired {
    owner: Owner,
    context: PermissionContext,
    account: SessionAccount,
    now: u64,
}

impl Hired {
    async fn new(stage: &Stage, account: SessionAccount) -> Result<Self> {
        let owner = stage.owner(AccountKind::Stateless7702).await?;
        let now = stage.now().await?;
        let window = MortalityTimeWindow::new(now, now + 604_800)?;
        let terms = swap_grant(stage, account.address(), owner.account.address, 5, window);
        let grant = owner.signer.grant(&stage.domain(), unsigned(owner.account.address, &terms))?;
        let context = PermissionContext::new(vec![grant])?;
        let give = EntryPoint::depositToCall { account: account.address() };
        let give =
            Execution { target: ENTRY_POINT, value: DEPOSIT, data: give.abi_encode().into() };
        owner.account.act(stage.node(), &owner.signer, &[give]).await?;
        Ok(Self { owner, context, account, now })
    }

    async fn through<K: SessionSigner>(
        &self,
        stage: &Stage,
        bundler: &Url,
        key: K,
        mandate: Mandate,
    ) -> Result<Operations<K>> {
        let (foresight, account) = (Arc::new(stage.foresight()), self.account.clone());
        let now = self.now;
        Ok(Operations::through(bundler, foresight, account, key, mandate, policy(), move || now)
            .await?)
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

/// A key that lies in a keystore, and what acts for it.
fn kept(stage: &Stage, folder: &Path) -> Result<(P256SessionKey, SessionAccount)> {
    let file = folder.join("session-key.json");
    if !file.exists() {
        P256Key::born().save(&file, &password()?)?;
    }
    let key = P256Key::open(&file, &password()?)?;
    let account = p256_session_account(&key.owner(), B256::ZERO, &stage.book().proxy_code);
    Ok((key.of_account(account.address()), account))
}

/// Its first operation creates the account; prices are raised in their place; nothing but operations is signed.
#[tokio::test]
async fn a_p256_key_redeems_through_its_account() -> Result<()> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;
    let folder = tempfile::tempdir()?;
    let (key, account) = kept(&stage, folder.path())?;
    let hired = Hired::new(&stage, account).await?;
    let operations = hired.through(&stage, bundler.url(), key, mandate()).await?;

    done(&operations.redeem(judged(hired.sale(&stage, 10))).await?)?;
    done(&operations.redeem(judged(hired.sale(&stage, 20))).await?)?;

    assert_eq!(hired.sold(&stage).await?, dollars(30));
    // Another key of the same curve is not the account's.
    let stranger = P256Key::born().of_account(hired.account.address());
    let thief = hired.through(&stage, bundler.url(), stranger, mandate()).await?;
    let refused = thief.redeem(judged(hired.sale(&stage, 40))).await;
    ensure!(!matches!(refused, Ok(Landing::Done(_))), "{refused:?}");
    assert_eq!(hired.sold(&stage).await?, dollars(30));
    // A call that the grant does not have is refused before anything is signed.
    let (key, _) = kept(&stage, folder.path())?;
    let operations = hired.through(&stage, bundler.url(), key, mandate()).await?;
    let stray = swap(&stage, hired.account.address(), dollars(1));
    let stray = Redemption::single(DELEGATION_MANAGER, hired.context.clone(), &stray);
    let Landing::Refused(denial) = operations.redeem(judged(stray)).await? else { bail!("done") };
    assert_eq!(denial.code, DenialCode::Calldata);
    // Chains know no transactions of this curve.
    let (key, _) = kept(&stage, folder.path())?;
    stage.fund(hired.account.address(), DEPOSIT, U256::ZERO).await?;
    let (foresight, now) = (Arc::new(Foresight::new(stage.node().clone())), hired.now);
    let lane = Lane::open(foresight, key, mandate(), policy(), move || now).await?;
    let outcome = lane.redeem(judged(hired.sale(&stage, 10))).await;
    ensure!(
        matches!(outcome, Err(LaneFault::Custody(CustodyError::OtherCurve { .. }))),
        "{outcome:?}"
    );
    Ok(())
}

async fn left_and_finished<K: SessionSigner + 'static>(
    stage: &Stage,
    bundler: &Url,
    account: SessionAccount,
    key: impl Fn() -> Result<K>,
) -> Result<()> {
    let hired = Hired::new(stage, account).await?;
    let folder = tempfile::tempdir()?;
    let books = || -> Result<(Mandate, Arc<Store>)> {
        let folder = folder.path().join("books");
        let store = Store::open(&StoreConfig { folder, golem: GOLEM, max_pages: None }, None)?;
        let store = Arc::new(store);
        Ok((Mandate::by_hand(GOLEM, hired.owner.account.address, store.clone()), store))
    };
    let proxy = Proxy::before(bundler, Duration::ZERO).await?;
    let mut url = proxy.url().clone();
    url.set_path(bundler.path());
    proxy.fail("eth_sendUserOperation", 1, Fault::Stall);
    {
        let (mandate, _store) = books()?;
        let operations = hired.through(stage, &url, key()?, mandate).await?;
        let redeem = operations.redeem(judged(hired.sale(stage, 10)));
        let stalled = async {
            while proxy.failed() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            early = redeem => bail!("it ended: {early:?}"),
            () = stalled => {}
        }
    }
    assert_eq!(hired.sold(stage).await?, U256::ZERO);

    let (mandate, store) = books()?;
    let operations = hired.through(stage, bundler, key()?, mandate).await?;
    let ends = operations.finish().await;

    assert_eq!(ends.len(), 1, "{ends:?}");
    for (_, end) in ends {
        done(&end?)?;
    }
    done(&operations.redeem(judged(hired.sale(stage, 20))).await?)?;
    assert_eq!(hired.sold(stage).await?, dollars(30));
    let open = store.open().await.map_err(|fault| anyhow::anyhow!(fault))?;
    ensure!(open.is_empty(), "{open:?}");
    Ok(())
}

/// INV-6: an operation that was signed and never handed over is finished by whoever opens the books next, once.
#[tokio::test]
async fn an_operation_that_a_process_left_is_finished_by_the_next() -> Result<()> {
    let stage = Stage::open().await?;
    let bundler = stage.bundler()?;
    let folder = tempfile::tempdir()?;
    let (_, account) = kept(&stage, folder.path())?;
    let p256 = || Ok(kept(&stage, folder.path())?.0);
    left_and_finished(&stage, bundler.url(), account, p256).await?;

    let file = folder.path().join("other.json");
    let first = SessionKey::born();
    first.save(&file, &password()?)?;
    let vault = hybrid_account(first.address(), B256::ZERO, &stage.book().proxy_code);
    let creation = vault.creation().context("no creation")?.clone();
    let account = SessionAccount::Hybrid { address: vault.address, creation };
    let other = || Ok(SessionKey::open(&file, &password()?)?);
    left_and_finished(&stage, bundler.url(), account, other).await?;
    let own = SessionAccount::Key(first.address());
    left_and_finished(&stage, bundler.url(), own, other).await
}
