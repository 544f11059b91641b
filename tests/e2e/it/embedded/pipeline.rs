//! INV-1 for a wallet at a service: what its Golem wants takes the whole way of an intent, by the same lane and books as everything
//! that a session key signs, and the service is asked last.

use super::{BACKOFF, OWNER, STRANGER, Scene};
use alloy::{
    primitives::{Address, B256, U256, keccak256},
    sol_types::SolCall as _,
};
use anyhow::{Result, bail, ensure};
use bardo_bindings::defi::Erc20;
use bardo_store::{Archive, Store, StoreConfig};
use bardo_testkit::{PrivyTrouble, Stage, dollars, fair_swap};
use golem_chain::{Landing, Lane, LanePolicy, Ledger, Privy, facts, local::CharterParties};
use golem_custody::{
    AuthorizationKey, Books as _, Caps, ClearingPolicy, CustodyError, DenialCode, EmbeddedWallet,
    Execution, IntentId, Judged, Judgement, Mandate, WalletCall, WalletProposed, WalletSigner,
};
use golem_delegation::terms::{GolemCharter, MortalityTimeWindow};
use golem_safety::{Boot, Cage, Call, MicroDollars, Policy, Published};
use std::{sync::Arc, time::Duration};
use tempfile::TempDir;

const DOLLAR: u64 = 1_000_000;
const GOLEM: B256 = B256::repeat_byte(7);

/// A Golem whose money is in a wallet: $90 at once, $150 a day.
struct House {
    stage: Stage,
    scene: Scene,
    charter: GolemCharter,
    cage: Cage,
    store: Arc<Store>,
    lane: Lane<WalletSigner<Privy>>,
    folder: TempDir,
}

const fn name(number: u8) -> IntentId {
    IntentId(B256::repeat_byte(number))
}

impl House {
    async fn open() -> Result<Self> {
        let stage = Stage::open().await?;
        let mut scene = Scene::open(&stage).await?;
        let (wallet, now) = (scene.address(), scene.now);
        let parties = CharterParties {
            golem_id: GOLEM,
            owner: OWNER,
            account: wallet,
            agent_key: wallet,
            epoch: 1,
        };
        let window = MortalityTimeWindow::new(now, now + 86_400)?;
        let charter = stage.book().charter(&parties, window);
        let mut assets = vec![Address::ZERO, stage.book().usdc, stage.book().weth];
        assets.sort_unstable();
        let policy = Policy {
            constitution_hash: keccak256("law"),
            concentration_bps: 10_000,
            drawdown_bps: 5_000,
            spend_per_transaction: 90 * DOLLAR,
            spend_per_session: 1_000 * DOLLAR,
            spend_per_day: 150 * DOLLAR,
            assets,
        };
        let hash = policy.hash(GOLEM, 1);
        let caps =
            Caps { session: policy.spend_per_session, day: policy.spend_per_day, owner_day: None };
        let cage = match Cage::boot(GOLEM, b"law", Some(Published::new(GOLEM, policy, 1, hash))) {
            Boot::Caged(cage) => cage,
            Boot::Refused(denial) => bail!("{denial}"),
        };
        let folder = tempfile::tempdir()?;
        let config =
            StoreConfig { folder: folder.path().join("golem"), golem: GOLEM, max_pages: None };
        let store = Arc::new(Store::open(&config, None)?);
        let books = store.clone();
        let mandate = Mandate { golem: GOLEM, owner: OWNER, caps, consent: None, books };
        let (id, client) = (scene.made.id.clone(), scene.fake.client()?);
        let none = EmbeddedWallet::new(client, id, wallet, AuthorizationKey::born(), BACKOFF);
        let its_own = std::mem::replace(&mut scene.wallet, none);
        let signer = WalletSigner::new(its_own, scene.bounds.clone(), ClearingPolicy::default())?;
        let quick = LanePolicy {
            confirmations: 1,
            poll: Duration::from_millis(20),
            ..LanePolicy::default()
        };
        let foresight = Arc::new(stage.foresight());
        let lane = Lane::open(foresight, signer, mandate, quick, move || now).await?;
        Ok(Self { stage, scene, charter, cage, store, lane, folder })
    }

    async fn judge(&self, intent: IntentId, call: Execution) -> Result<Judgement> {
        let wallet = self.scene.address();
        let spent = self.store.spent(wallet, self.scene.now).await;
        let spent = spent.map_err(|fault| anyhow::anyhow!(fault))?;
        let ledger = Ledger {
            spent_in_session: MicroDollars::from(spent.session),
            spent_in_day: MicroDollars::from(spent.day),
            ..Ledger::default()
        };
        let (target, value, data) = (call.target, call.value, call.data.clone());
        let typed = [Call { target, value, data }];
        let facts = facts(self.stage.node(), &self.charter, &typed, ledger).await?;
        let proposed = WalletProposed::new(intent, WalletCall { wallet, call }).about("a test");
        Ok(proposed.judge(&self.charter, &self.cage, &facts))
    }

    async fn permitted(&self, intent: IntentId, call: Execution) -> Result<Judged> {
        match self.judge(intent, call).await? {
            Judgement::Permitted(judged) => Ok(judged),
            Judgement::Refused(denials) => bail!("{denials:?}"),
        }
    }

    async fn landed(&self, intent: IntentId, call: Execution) -> Result<Landing> {
        Ok(self.lane.redeem(self.permitted(intent, call).await?).await?)
    }

    fn allow(&self, spender: Address, usd: u64) -> Execution {
        let amount = dollars(usd);
        let data = Erc20::approveCall { spender, amount }.abi_encode().into();
        Execution { target: self.stage.book().usdc, value: U256::ZERO, data }
    }

    fn buy(&self, usd: u64) -> Execution {
        let swap = fair_swap(&self.stage, self.scene.address(), dollars(usd));
        Execution { target: swap.target, value: swap.value, data: swap.data }
    }

    async fn signatures(&self) -> Result<u64> {
        Ok(self.scene.fake.log().await?.signatures)
    }

    async fn dollars(&self) -> Result<U256> {
        self.stage.balance_of(self.stage.book().usdc, self.scene.address()).await
    }

    async fn spent(&self) -> Result<u64> {
        let spent = self.store.spent(self.scene.address(), self.scene.now).await;
        Ok(spent.map_err(|fault| anyhow::anyhow!(fault))?.day)
    }

    fn kinds(&self) -> Result<Vec<String>> {
        let (records, _) = Archive::open(&self.folder.path().join("golem"))?.audit()?;
        Ok(records.into_iter().map(|record| record.kind).collect())
    }
}

/// Judged, rehearsed, reserved, signed by the service, kept, sent, settled; and each step before the service says no without it.
#[tokio::test]
async fn a_wallet_signs_what_was_judged_rehearsed_and_reserved_and_nothing_else() -> Result<()> {
    let house = House::open().await?;
    let router = house.stage.book().swap_router_02;

    let allowed = house.landed(name(1), house.allow(router, 80)).await?;
    let bought = house.landed(name(2), house.buy(80)).await?;

    ensure!(matches!(allowed, Landing::Done(_)), "{allowed:?}");
    ensure!(matches!(bought, Landing::Done(_)), "{bought:?}");
    assert_eq!((house.dollars().await?, house.signatures().await?), (dollars(920), 2));
    let kinds = house.kinds()?;
    for step in ["intent.reserved", "intent.signed", "intent.settled"] {
        assert_eq!(kinds.iter().filter(|kind| *kind == step).count(), 2, "{step}: {kinds:?}");
    }
    let spent = house.spent().await?;
    ensure!(spent >= 80 * DOLLAR, "{spent} were counted");

    // The owner's policy: somebody else's spender, and too much at once.
    for (number, call, code) in [
        (3, house.allow(STRANGER, 1), DenialCode::PolicyParty),
        (4, house.buy(95), DenialCode::PolicySpendTransaction),
    ] {
        let Judgement::Refused(denials) = house.judge(name(number), call).await? else {
            bail!("{code:?} was permitted")
        };
        ensure!(denials.iter().any(|denial| denial.code == code), "{code:?}: {denials:?}");
    }
    // The chain: nothing is allowed to the router any more.
    let Landing::Refused(denial) = house.landed(name(5), house.buy(60)).await? else {
        bail!("the chain took a swap without an allowance")
    };
    assert_eq!(denial.code, DenialCode::Reverted, "{denial}");
    // The books: a name counts once.
    let again = house.landed(name(1), house.allow(router, 80)).await?;
    ensure!(matches!(&again, Landing::Refused(denial) if denial.code == DenialCode::IntentUsed));
    assert_eq!((house.signatures().await?, house.spent().await?), (2, spent), "nobody was asked");
    Ok(())
}

/// SPEC K5: while the service is away nothing is signed, what was set aside is given back, and the same is done when it is there again.
#[tokio::test]
async fn a_wallet_whose_service_is_away_costs_nothing_and_goes_on_later() -> Result<()> {
    let house = House::open().await?;
    let router = house.stage.book().swap_router_02;
    house.scene.fake.fail("/rpc", 1, &PrivyTrouble::DropAfter).await?;

    let judged = house.permitted(name(1), house.allow(router, 50)).await?;
    let away = house.lane.redeem(judged).await;

    ensure!(
        matches!(&away, Err(golem_chain::LaneFault::Custody(CustodyError::Sign { .. }))),
        "{away:?}"
    );
    let open = house.store.open().await.map_err(|fault| anyhow::anyhow!(fault))?;
    assert_eq!((house.spent().await?, open.len()), (0, 0), "all of it is given back");
    let quiet = house.permitted(name(2), house.allow(router, 50)).await?;
    ensure!(house.lane.redeem(quiet).await.is_err(), "it is left alone for a while");
    let sent = house.stage.node().plan(house.scene.address()).await?.nonce;
    assert_eq!(sent, 0, "nothing was sent");
    Ok(())
}

/// What is a wallet's to do no session key does, whatever was judged.
#[tokio::test]
async fn no_session_key_does_what_is_a_wallets() -> Result<()> {
    let house = House::open().await?;
    let router = house.stage.book().swap_router_02;
    let key = golem_custody::SessionKey::born();
    let stolen = house.permitted(name(2), house.allow(router, 50)).await?;
    let mandate = Mandate::by_hand(GOLEM, OWNER, house.store.clone());
    let quick = LanePolicy { confirmations: 1, ..LanePolicy::default() };
    let now = house.scene.now;
    let foresight = Arc::new(house.stage.foresight());
    let other = Lane::open(foresight, key, mandate, quick, move || now).await?;
    let Landing::Refused(denial) = other.redeem(stolen).await? else {
        bail!("a session key did what is the wallet's")
    };
    assert_eq!(denial.code, DenialCode::PolicyParty, "{denial}");
    Ok(())
}
