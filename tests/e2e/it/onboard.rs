//! SPEC K7: from a plain EOA with nothing deployed, funded or registered to a Golem's first deed; by one grant and one transaction,
//! however often it is interrupted.

mod interrupted;

use crate::embedded::{BACKOFF, ROLL, bounds, done};
use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    providers::Provider as _,
    sol_types::SolCall,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{
    defi::Erc20,
    framework::{DELEGATION_MANAGER, STATELESS_7702_IMPL},
    identity::IDENTITY_REGISTRY,
};
use bardo_store::{Store, StoreConfig};
use bardo_testkit::{
    Agent, FakePrivy, Fault, Proxy, STIPEND, Stage, chartered, dollars, fair_swap, fixed_signer,
};
use golem_chain::{
    Account, Costs, Deposit, Identities, Kinship, Node, OWNER_FEE_CEILING, Onboard, OnboardError,
    Onboarded, OwnerError, Prompt, Registry, boot, hybrid_account, local::CharterParties,
};
use golem_custody::{
    Asset, AuthorizationKey, BoxError, Choice, ClearingPolicy, CustodyChoice, CustodyMode,
    EmbeddedWallet, Execution, KeeperKey, Keyring as _, Keys, Means, Onboarding, OnboardingError,
    OnboardingSteps, OwnerSigner, Password, Permit, Redemption, SessionKey, SessionSigner, SignIn,
    Steps, Submit, WalletKeeper, WalletTransaction,
};
use golem_delegation::{PermissionContext, terms::MortalityTimeWindow};
use golem_safety::{Boot, Policy};
use std::{path::Path, time::Duration};
use tempfile::TempDir;

const SALT: B256 = B256::repeat_byte(0x0b);
const CONSTITUTION: &[u8] = b"Do no harm.";
const DOLLAR: u64 = 1_000_000;
const EVERY_SEND: u64 = 1_000;

/// Somebody who has a wallet, and in it 10 ether and 10,000 USDC. There is nothing else of him anywhere.
struct Newcomer {
    stage: Stage,
    owner: OwnerSigner,
    folder: TempDir,
    now: u64,
}

fn store(folder: &Path, owner: Address) -> Result<Store> {
    let golem = Registry::golem_id(owner, SALT);
    Ok(Store::open(&StoreConfig { folder: folder.join("books"), golem, max_pages: None }, None)?)
}

fn request(owner: Address, chain_id: u64, now: u64) -> SignIn {
    SignIn {
        domain: "localhost".to_owned(),
        address: owner,
        statement: "Become the owner of a Golem.".to_owned(),
        uri: "bardo:onboard".to_owned(),
        chain_id,
        nonce: SignIn::fresh_nonce(),
        issued_at: now,
        expires_at: now + 600,
    }
}

/// An owner's wishes, whoever holds the key.
fn wishes<'a, S>(
    stage_book: &golem_chain::local::AddressBook,
    node: &'a Node,
    owner: &'a OwnerSigner,
    steps: &'a S,
    vault: Option<Account>,
) -> Onboard<'a, S> {
    let mut assets = vec![Address::ZERO, stage_book.usdc, stage_book.weth];
    assets.sort_unstable();
    Onboard {
        node,
        owner,
        steps,
        mode: CustodyMode::Delegation,
        salt: SALT,
        key: None,
        vault,
        policy: Policy {
            constitution_hash: keccak256(CONSTITUTION),
            concentration_bps: 10_000,
            drawdown_bps: 2_000,
            spend_per_transaction: 500 * DOLLAR,
            spend_per_session: 1_000 * DOLLAR,
            spend_per_day: 800 * DOLLAR,
            assets,
        },
        stipend: STIPEND,
        deposits: vec![Deposit { asset: Asset::Erc20(stage_book.usdc), amount: dollars(1_000) }],
        identity: None,
        strategy: "# Strategy\n\nBuy a little ether every day.\n".to_owned(),
        heartbeat: "# Heartbeat\n\nEvery hour.\n".to_owned(),
        ceiling: OWNER_FEE_CEILING,
    }
}

/// The local chain's charter for a key, which nobody has signed yet.
fn means(
    book: &golem_chain::local::AddressBook,
    owner: Address,
    account: Address,
    session: Address,
    now: u64,
) -> Result<Means, BoxError> {
    let golem_id = Registry::golem_id(owner, SALT);
    let parties = CharterParties { golem_id, owner, account, agent_key: session, epoch: 1 };
    let law = book.charter(&parties, MortalityTimeWindow::new(now, now + 604_800)?);
    Ok(Means::Granted { account, session, grant: Box::new(chartered(&law)?) })
}

impl Newcomer {
    async fn arrives() -> Result<Self> {
        let stage = Stage::open().await?;
        let owner = fixed_signer(0x0c)?;
        let ten = U256::from(10_000_000_000_000_000_000u128);
        stage.fund(owner.address(), ten, dollars(10_000)).await?;
        let now = stage.now().await?;
        Ok(Self { stage, owner, folder: tempfile::tempdir()?, now })
    }

    fn vault(&self) -> Account {
        hybrid_account(self.owner.address(), B256::ZERO, &self.stage.book().proxy_code)
    }

    fn store(&self) -> Result<Store> {
        store(self.folder.path(), self.owner.address())
    }

    fn wishes<'a, S>(
        &'a self,
        node: &'a Node,
        steps: &'a S,
        vault: Option<Account>,
    ) -> Onboard<'a, S> {
        wishes(self.stage.book(), node, &self.owner, steps, vault)
    }

    async fn run<S: Steps>(
        &self,
        onboard: &Onboard<'_, S>,
        session: Address,
    ) -> Result<Onboarded, OnboardError> {
        let owner = self.owner.address();
        let account = onboard.vault.as_ref().map_or(owner, |vault| vault.address);
        let asked = request(owner, onboard.node.chain_id(), self.now);
        let means = || means(self.stage.book(), owner, account, session, self.now);
        onboard.run(&asked, async || means(), self.now).await
    }

    /// Transactions and authorizations of the EOA.
    async fn nonce(&self) -> Result<u64> {
        Ok(self.stage.node().provider().get_transaction_count(self.owner.address()).await?)
    }

    /// The first deed of the Golem: it lets the router take a hundred dollars, and sells them fairly.
    async fn first_deed(&self, key: SessionKey, onboarded: &Onboarded) -> Result<()> {
        let book = self.stage.book();
        let Onboarding::Summoning { means: Means::Granted { account, grant, .. }, .. } =
            &onboarded.at
        else {
            bail!("no grant: {:?}", onboarded.at)
        };
        let agent = Agent { key, grant: (**grant).clone(), account: *account };
        let allow = Erc20::approveCall { spender: book.swap_router_02, amount: dollars(100) };
        let allow =
            Execution { target: book.usdc, value: U256::ZERO, data: allow.abi_encode().into() };
        let both = [allow, fair_swap(&self.stage, agent.account, dollars(100))];
        let context = PermissionContext::new(vec![agent.grant.clone()])?;
        let batch = Redemption::batch(DELEGATION_MANAGER, context, &both);
        let before = self.stage.balance_of(book.usdc, agent.account).await?;
        let signed = match agent.signed(&self.stage, batch).await? {
            Ok(signed) => signed,
            Err(denial) => bail!("the first redemption is refused: {denial}"),
        };
        ensure!(self.stage.node().send(&signed).await?.status(), "the first redemption failed");
        let after = self.stage.balance_of(book.usdc, agent.account).await?;
        assert_eq!(before - after, dollars(100));
        ensure!(!self.stage.balance_of(book.weth, agent.account).await?.is_zero());
        Ok(())
    }
}

/// Sign-ins, grants, transactions that were signed, and those in blocks.
fn counted(costs: &Costs) -> (usize, usize, usize, u64) {
    let of = |prompt| costs.prompts_for(prompt);
    (of(Prompt::SignIn), of(Prompt::Grant), of(Prompt::Transaction), costs.transactions())
}

/// Counts what is sent, and changes nothing.
async fn counting(stage: &Stage) -> Result<(Proxy, Node)> {
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    proxy.fail("eth_sendRawTransaction", EVERY_SEND, Fault::lie(|_| ()));
    let node = Node::connect(proxy.url()).await?;
    Ok((proxy, node))
}

/// K7, D6, D20: a vault, its Golem, its policy and its gas money by one grant and one transaction; then the Golem acts.
#[tokio::test]
async fn a_vault_takes_one_grant_and_one_transaction_and_its_golem_acts_at_once() -> Result<()> {
    for in_vault in [true, false] {
        let newcomer = Newcomer::arrives().await?;
        let (proxy, node) = counting(&newcomer.stage).await?;
        let (store, key) = (newcomer.store()?, SessionKey::born());
        let vault = in_vault.then(|| newcomer.vault());
        let onboard = newcomer.wishes(&node, &store, vault.clone());
        assert_eq!(newcomer.nonce().await?, 0);

        let onboarded = newcomer.run(&onboard, key.address()).await?;

        assert_eq!(proxy.failed(), 1, "sent once");
        assert_eq!(counted(&onboarded.costs), (1, 1, 1, 1));
        assert_eq!(newcomer.nonce().await?, 2, "a transaction, and the upgrade in it");
        let owner = newcomer.owner.address();
        let code = [&[0xef, 0x01, 0x00], STATELESS_7702_IMPL.as_slice()].concat();
        assert_eq!(newcomer.stage.node().code(owner).await?, Bytes::from(code));
        let entry = Registry::open(newcomer.stage.node()).await?.entry(onboarded.golem).await?;
        let entry = entry.context("not registered")?;
        assert_eq!((entry.owner, entry.agent_key), (owner, Some(key.address())));
        let caged = boot(newcomer.stage.node(), onboarded.golem, CONSTITUTION).await?;
        ensure!(matches!(caged, Boot::Caged(_)), "{caged:?}");
        assert_eq!(newcomer.stage.node().balance(key.address()).await?, STIPEND);
        if let Some(vault) = vault {
            let paid_in = newcomer.stage.balance_of(newcomer.stage.book().usdc, vault.address);
            assert_eq!(paid_in.await?, dollars(1_000));
        }
        println_costs(if in_vault { "vault" } else { "upgraded EOA" }, &onboarded.costs);
        newcomer.first_deed(key, &onboarded).await?;

        // Whoever asks once more is told the same, and nothing is asked or sent.
        let again = newcomer.run(&onboard, Address::repeat_byte(9)).await?;
        assert_eq!(again, onboarded);
        assert_eq!((proxy.failed(), newcomer.nonce().await?), (0, 2));
        OnboardingSteps::new(&store).summoned(onboarded.golem, newcomer.now).await?;
        let live = newcomer.run(&onboard, key_of(&onboarded)?).await?;
        ensure!(matches!(live.at, Onboarding::Live { golem, .. } if golem == onboarded.golem));
        // K1: the first tick has fixed what step 2 chose.
        let fixed = Choice::Fixed { mode: CustodyMode::Delegation, since: newcomer.now };
        assert_eq!(CustodyChoice::new(&store).at().await?, Some(fixed));
    }
    Ok(())
}

fn key_of(onboarded: &Onboarded) -> Result<Address> {
    match &onboarded.at {
        Onboarding::Summoning { means: Means::Granted { session, .. }, .. } => Ok(*session),
        other => bail!("{other:?}"),
    }
}

#[expect(clippy::disallowed_macros, reason = "what is measured is shown: SPEC K7")]
fn println_costs(mode: &str, costs: &Costs) {
    println!(
        "{mode}: {} prompts, {} transactions, {} gas, {}.{:03} s",
        costs.prompts(),
        costs.transactions(),
        costs.gas(),
        costs.milliseconds() / 1_000,
        costs.milliseconds() % 1_000
    );
}

/// K6, K7: the key lies in the owner's folder and is the same after a restart. An identity goes along in the same transaction.
#[tokio::test]
async fn a_local_golem_has_its_key_in_a_file_and_its_identity_in_the_same_transaction() -> Result<()>
{
    let newcomer = Newcomer::arrives().await?;
    let (proxy, node) = counting(&newcomer.stage).await?;
    let store = newcomer.store()?;
    let open = || -> Result<Keys> {
        let password = Password::typed("one key".to_owned().into()).context("a password")?;
        Ok(Keys::local(newcomer.folder.path(), password)?)
    };
    let session = open()?.current().await.context("no key")?;
    let mut onboard = newcomer.wishes(&node, &store, Some(newcomer.vault()));
    onboard.mode = CustodyMode::LocalKey;
    onboard.identity = Some((IDENTITY_REGISTRY, "ipfs://golem".to_owned()));

    let onboarded = newcomer.run(&onboard, session).await?;

    assert_eq!((counted(&onboarded.costs), proxy.failed()), ((1, 1, 1, 1), 1));
    assert_eq!(open()?.current().await, Some(session), "the same key");
    let Onboarding::Summoning { identity: Some(identity), .. } = onboarded.at else {
        bail!("no identity: {:?}", onboarded.at)
    };
    let identities = Identities::open(&node, IDENTITY_REGISTRY).await?;
    let registry = Registry::open(&node).await?;
    let kin = identities.kinship(&registry, identity, onboarded.golem).await?;
    assert_eq!(kin, Kinship::Same { owner: newcomer.owner.address() });
    println_costs("local", &onboarded.costs);
    Ok(())
}

/// K5, K7: a provider's wallet is made in step 3 and funded by the same one transaction; no grant is signed.
#[tokio::test]
async fn an_embedded_wallet_takes_no_grant_and_one_transaction() -> Result<()> {
    let newcomer = Newcomer::arrives().await?;
    let (proxy, node) = counting(&newcomer.stage).await?;
    let store = newcomer.store()?;
    let fake = FakePrivy::start(newcomer.now).await?;
    let keeper = WalletKeeper::new(fake.client()?, KeeperKey::born());
    let mut onboard = newcomer.wishes(&node, &store, None);
    onboard.mode = CustodyMode::Embedded;
    let golem = onboard.golem();
    let asked = request(newcomer.owner.address(), node.chain_id(), newcomer.now);
    let made = async || -> Result<Means, BoxError> {
        let wallet = done(keeper.create(golem).await?)?;
        let (id, address) = (wallet.id.into(), wallet.address);
        Ok(Means::Provided { wallet: id, address, policy: None, key: None })
    };

    let onboarded = onboard.run(&asked, made, newcomer.now).await?;

    assert_eq!((counted(&onboarded.costs), proxy.failed()), ((1, 0, 1, 1), 1));
    // The same wallet, whoever asks again; what it may do is its keeper's to say.
    let wallet = done(keeper.create(golem).await?)?;
    let usdc = newcomer.stage.book().usdc;
    assert_eq!(newcomer.stage.balance_of(usdc, wallet.address).await?, dollars(1_000));
    assert_eq!(newcomer.stage.node().balance(wallet.address).await?, STIPEND);
    let bounds = bounds(&newcomer.stage, wallet.address, newcomer.now)?;
    let key = AuthorizationKey::born();
    done(keeper.admit(&wallet, &key.public(), &bounds, newcomer.now).await?)?;
    let embedded =
        EmbeddedWallet::new(fake.client()?, wallet.id.clone(), wallet.address, key, BACKOFF);
    let spender = newcomer.stage.book().swap_router_02;
    let allow = Erc20::approveCall { spender, amount: dollars(100) }.abi_encode();
    let plan = newcomer.stage.node().plan(wallet.address).await?;
    let tx = WalletTransaction::new(&plan, usdc, U256::ZERO, allow.into(), 100_000);
    let most = U256::from(u64::MAX);
    let Permit::Granted(permitted) =
        bounds.permit(tx, &ClearingPolicy::default(), most, newcomer.now)
    else {
        bail!("refused")
    };
    #[expect(clippy::disallowed_methods, reason = "that the service signs is the point")]
    let signed = done(embedded.sign(permitted, newcomer.now, ROLL).await?)?;
    let receipt = Submit::submit(newcomer.stage.node(), &signed).await;
    ensure!(receipt.is_ok_and(|receipt| receipt.success), "its first deed failed");
    println_costs("embedded", &onboarded.costs);
    Ok(())
}

/// K1, ATK-32: what cannot be is said before the owner is asked, and an onboarding goes on only as it began.
#[tokio::test]
async fn what_cannot_be_is_refused_before_anybody_signs() -> Result<()> {
    let newcomer = Newcomer::arrives().await?;
    let (proxy, node) = counting(&newcomer.stage).await?;
    let (store, session) = (newcomer.store()?, Address::repeat_byte(0x5e));
    let wishes = || newcomer.wishes(&node, &store, Some(newcomer.vault()));

    let mut off = wishes();
    off.policy.spend_per_day = off.policy.spend_per_transaction - 1;
    let no = newcomer.run(&off, session).await;
    ensure!(matches!(no, Err(OnboardError::Policy(_))), "{no:?}");
    ensure!(OnboardingSteps::new(&store).at().await?.is_none(), "somebody was asked");

    // More than there is: the batch fails whole, and is not sent.
    let mut dear = wishes();
    dear.deposits = vec![Deposit { asset: Asset::Native, amount: U256::from(u128::MAX) }];
    let no = newcomer.run(&dear, session).await;
    ensure!(matches!(no, Err(OnboardError::Owner(OwnerError::WouldFail { .. }))), "{no:?}");
    let mut cheap = wishes();
    cheap.ceiling = U256::from(1);
    let no = newcomer.run(&cheap, session).await;
    ensure!(matches!(no, Err(OnboardError::Owner(OwnerError::FeeCeiling { .. }))), "{no:?}");

    let mut other = wishes();
    other.mode = CustodyMode::LocalKey;
    let no = newcomer.run(&other, session).await;
    ensure!(matches!(no, Err(OnboardError::Otherwise { what: "mode" })), "{no:?}");
    let stranger = fixed_signer(0x0d)?;
    let theirs = Onboard { owner: &stranger, ..wishes() };
    let no = newcomer.run(&theirs, session).await;
    ensure!(matches!(no, Err(OnboardError::Otherwise { what: "owner" })), "{no:?}");
    let mut mute = wishes();
    mute.heartbeat.clear();
    let elsewhere = TempDir::new()?;
    let fresh = crate::onboard::store(elsewhere.path(), newcomer.owner.address())?;
    let mute = Onboard { steps: &fresh, ..mute };
    let no = newcomer.run(&mute, session).await;
    ensure!(matches!(no, Err(OnboardError::Step(OnboardingError::Text { .. }))), "{no:?}");
    ensure!(OnboardingSteps::new(&fresh).at().await?.is_none(), "somebody was asked");
    assert_eq!((proxy.failed(), newcomer.nonce().await?), (0, 0));

    let onboarded = newcomer.run(&wishes(), session).await?;
    assert_eq!(counted(&onboarded.costs), (1, 1, 1, 1));
    Ok(())
}

/// K1: a Golem that had its first tick is not onboarded into another mode, wherever its steps are.
#[tokio::test]
async fn after_the_first_tick_nobody_is_onboarded_into_another_mode() -> Result<()> {
    let newcomer = Newcomer::arrives().await?;
    let (proxy, node) = counting(&newcomer.stage).await?;
    let (store, session) = (newcomer.store()?, Address::repeat_byte(0x5e));
    let choice = CustodyChoice::new(&store);
    let _ = choice.choose(CustodyMode::LocalKey, newcomer.now).await?;
    let _ = choice.tick(newcomer.now).await?;

    let no = newcomer.run(&newcomer.wishes(&node, &store, Some(newcomer.vault())), session).await;

    ensure!(matches!(no, Err(OnboardError::Otherwise { what: "mode" })), "{no:?}");
    ensure!(OnboardingSteps::new(&store).at().await?.is_none(), "somebody was asked");
    assert_eq!((proxy.failed(), newcomer.nonce().await?), (0, 0));
    Ok(())
}
