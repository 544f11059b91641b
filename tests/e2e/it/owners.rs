//! SPEC G5, G8, G11: what an owner does to a grant, whoever he is: one key of his own account, one key behind a vault, or
//! two of three. Each deed is a signature, or one transaction.

use alloy::{
    primitives::{
        Address, B256, Bytes, U256,
        aliases::{I24, U24},
    },
    providers::{Provider, ext::AnvilApi},
    sol_types::SolCall,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    GolemRegistry,
    defi::{Erc20, Erc4626, NonfungiblePositionManager, Weth9},
    framework::{DELEGATION_MANAGER, ENTRY_POINT, EntryPoint},
    golem_registry,
};
use bardo_testkit::{
    Agent, Fault, MultiSigOwner, Owner, Proxy, STIPEND, Stage, chartered, dollars, fair_swap,
};
use golem_chain::{
    AccountKind, Node, OWNER_FEE_CEILING, OwnerCall, OwnerError, SharedAccount, Withdrawal,
    Withdrawn, environment, local::CharterParties,
};
use golem_custody::{DenialCode, Execution, Redemption, SessionKey, SessionSigner};
use golem_delegation::{
    Caveat, Delegation, Rule,
    grant::{Adjustment, Grant},
    terms::{GolemCharter, MortalityTimeWindow},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

const DOLLAR: u64 = 1_000_000;
const HOME: Address = Address::repeat_byte(0xb0);

enum Ruler {
    One(Box<Owner>),
    Several { owners: MultiSigOwner, shared: SharedAccount },
}

impl Ruler {
    async fn all(stage: &Stage) -> Result<[Self; 3]> {
        let owners = stage.multisig_owner().await?;
        let shared = SharedAccount::at(stage.node(), owners.address()).await?;
        for key in owners.keys() {
            stage.fund(key.address(), STIPEND, U256::ZERO).await?;
        }
        Ok([
            Self::One(Box::new(stage.owner(AccountKind::Stateless7702).await?)),
            Self::One(Box::new(stage.owner(AccountKind::Hybrid).await?)),
            Self::Several { owners, shared },
        ])
    }

    fn account(&self) -> Address {
        match self {
            Self::One(owner) => owner.account.address,
            Self::Several { shared, .. } => shared.address,
        }
    }

    /// Who speaks to the registry: several owners do by their account.
    fn registrant(&self) -> Address {
        match self {
            Self::One(owner) => owner.signer.address(),
            Self::Several { shared, .. } => shared.address,
        }
    }

    /// Whose transactions these are.
    fn senders(&self) -> Vec<Address> {
        match self {
            Self::One(owner) => vec![owner.signer.address()],
            Self::Several { owners, .. } => owners.keys().iter().map(|key| key.address()).collect(),
        }
    }

    fn signs(&self, stage: &Stage, grant: Delegation) -> Result<Delegation> {
        Ok(match self {
            Self::One(owner) => owner.signer.grant(&stage.domain(), grant)?,
            Self::Several { owners, shared } => {
                shared.grant(&stage.domain(), owners.keys(), grant)?
            }
        })
    }

    /// The account does something, by one transaction.
    async fn does(&self, stage: &Stage, calls: &[Execution]) -> Result<()> {
        match self {
            Self::One(owner) => {
                owner.account.act(stage.node(), &owner.signer, calls).await?;
            }
            Self::Several { owners, shared } => {
                shared.act(stage.node(), owners.keys(), calls, OWNER_FEE_CEILING).await?;
            }
        }
        Ok(())
    }

    /// Speaks to the registry: with his own key, or by the account.
    async fn says(&self, stage: &Stage, data: impl SolCall) -> Result<()> {
        let call = Execution {
            target: golem_registry(),
            value: U256::ZERO,
            data: data.abi_encode().into(),
        };
        match self {
            Self::One(owner) => {
                let human = owner.signer.address();
                let sent = stage.send_as(human, call.target, U256::ZERO, call.data).await?;
                ensure!(sent.status());
                Ok(())
            }
            Self::Several { .. } => self.does(stage, &[call]).await,
        }
    }

    /// How many transactions all of his keys have sent.
    async fn sent(&self, stage: &Stage) -> Result<u64> {
        let mut sum = 0;
        for sender in self.senders() {
            sum += stage.node().provider().get_transaction_count(sender).await?;
        }
        Ok(sum)
    }
}

/// A registered Golem under a charter of a thousand dollars a day.
async fn hired(stage: &Stage, ruler: &Ruler) -> Result<Agent> {
    let key = SessionKey::born();
    stage.fund(key.address(), STIPEND, U256::ZERO).await?;
    let (owner, salt) = (ruler.registrant(), B256::repeat_byte(7));
    let golem_id = GolemRegistry::golemIdOfCall { owner, salt };
    let golem_id = stage.node().read(golem_registry(), golem_id).await?;
    ruler.says(stage, GolemRegistry::registerCall { salt, agentKey: key.address() }).await?;
    let now = stage.now().await?;
    let account = ruler.account();
    let parties = CharterParties { golem_id, owner, account, agent_key: key.address(), epoch: 1 };
    let window = MortalityTimeWindow::new(now, now + 604_800)?;
    let mut charter = stage.book().charter(&parties, window);
    (charter.nav_cap, charter.vault) = (charter.spend_cap, Address::ZERO);
    let grant = ruler.signs(stage, chartered(&charter)?)?;
    let allow =
        Erc20::approveCall { spender: stage.book().swap_router_02, amount: dollars(10_000) };
    let allow =
        Execution { target: stage.book().usdc, value: U256::ZERO, data: allow.abi_encode().into() };
    ruler.does(stage, &[allow]).await?;
    Ok(Agent { key, grant, account })
}

async fn passes(stage: &Stage, agent: &Agent, usd: u64) -> Result<()> {
    let swap = fair_swap(stage, agent.account, dollars(usd));
    agent.attempt(stage, &swap).await?.receipt().map(drop)
}

async fn refused(stage: &Stage, agent: &Agent, usd: u64) -> Result<DenialCode> {
    let swap = fair_swap(stage, agent.account, dollars(usd));
    Ok(agent.attempt(stage, &swap).await?.refusal()?.code)
}

/// The same grant with another charter.
fn with(agent: &Agent, change: impl FnOnce(&mut GolemCharter)) -> Result<Vec<Caveat>> {
    let environment = environment();
    let mut rules = environment.rules(&agent.grant.caveats)?;
    let Some(Rule::GolemCharter(charter)) = rules.first_mut() else {
        anyhow::bail!("no charter");
    };
    charter.epoch += 1;
    change(charter);
    let caveats = rules.iter().map(|rule| environment.caveat(rule));
    caveats.map(|caveat| caveat?.ok_or_else(|| anyhow::anyhow!("no enforcer"))).collect()
}

#[tokio::test]
async fn every_kind_of_owner_grants_adjusts_feeds_revokes_and_takes_everything_out() -> Result<()> {
    let stage = Stage::open().await?;
    for ruler in Ruler::all(&stage).await? {
        let mut agent = hired(&stage, &ruler).await?;
        passes(&stage, &agent, 100).await?;
        let before = ruler.sent(&stage).await?;

        // Adjusted by a signature alone: less a day, and what was spent still counts.
        let key = agent.key.address();
        let tighter = Adjustment { spend_cap: Some(150 * DOLLAR), ..Adjustment::default() };
        let next = Grant::read(&agent.grant, &environment())?.adjust(tighter)?;
        let old = std::mem::replace(&mut agent.grant, ruler.signs(&stage, next.delegation)?);
        assert_eq!(refused(&stage, &agent, 60).await?, DenialCode::Spend);
        passes(&stage, &agent, 40).await?;
        let adjusted = std::mem::replace(&mut agent.grant, old);
        assert_eq!(
            refused(&stage, &agent, 1).await?,
            DenialCode::Superseded,
            "the old one is dead"
        );
        agent.grant = adjusted;

        // Fed by a signature alone: alive when the one before would have ended.
        let until = stage.now().await? + 3 * 604_800;
        let fed = Grant::read(&agent.grant, &environment())?.feed(until)?;
        let fed = ruler.signs(&stage, fed.delegation)?;
        let adjusted = std::mem::replace(&mut agent.grant, fed);
        let end = |agent: &Agent| {
            let mut end = 0;
            with(agent, |law| end = law.window.end()).map(|_| end)
        };
        assert_eq!(end(&agent)?, until);
        passes(&stage, &agent, 1).await?;
        let fed = std::mem::replace(&mut agent.grant, adjusted);
        ensure!(end(&agent)? < until);
        assert_eq!(refused(&stage, &agent, 1).await?, DenialCode::Superseded);
        agent.grant = fed;
        assert_eq!(ruler.sent(&stage).await?, before, "no transaction of the owner's so far");

        // Revoked by one transaction.
        match &ruler {
            Ruler::One(owner) => {
                let chain_id = stage.node().chain_id();
                let call = owner.account.revocation(chain_id, &owner.signer, &agent.grant)?;
                call.send(stage.node(), &owner.signer, OWNER_FEE_CEILING).await?;
            }
            Ruler::Several { owners, shared } => {
                let keys = owners.keys();
                shared.revoke(stage.node(), keys, &agent.grant, OWNER_FEE_CEILING).await?;
            }
        }
        assert_eq!(ruler.sent(&stage).await?, before + 1);
        assert_eq!(refused(&stage, &agent, 1).await?, DenialCode::DelegationDisabled);

        // Granted anew, and everything revoked at once.
        let again = with(&agent, |_| ())?;
        let next = Grant::read(&agent.grant, &environment())?.regrant(key, again)?;
        agent.grant = ruler.signs(&stage, next.delegation)?;
        passes(&stage, &agent, 1).await?;
        let before = ruler.sent(&stage).await?;
        ruler.says(&stage, GolemRegistry::revokeAllCall {}).await?;
        if matches!(ruler, Ruler::Several { .. }) {
            assert_eq!(ruler.sent(&stage).await?, before + 1);
        }
        assert_eq!(refused(&stage, &agent, 1).await?, DenialCode::Revoked);

        // Everything out, by one transaction: tokens, shares of a vault, a liquidity position, coins, and what lies with
        // the entry point.
        let held = invested(&stage, &ruler).await?;
        let withdrawal = Withdrawal {
            to: HOME,
            tokens: held.to_vec(),
            collections: vec![stage.book().position_manager],
            ether: true,
        };
        let before = ruler.sent(&stage).await?;
        let withdrawn = match &ruler {
            Ruler::One(owner) => {
                let (account, signer) = (&owner.account, &owner.signer);
                account.withdraw(stage.node(), signer, &withdrawal, OWNER_FEE_CEILING).await?
            }
            Ruler::Several { owners, shared } => {
                let keys = owners.keys();
                shared.withdraw(stage.node(), keys, &withdrawal, OWNER_FEE_CEILING).await?
            }
        };
        let Withdrawn::Done { moved, .. } = withdrawn else { anyhow::bail!("{withdrawn:?}") };
        assert_eq!(moved.len(), 6, "{moved:?}");
        assert_eq!(ruler.sent(&stage).await?, before + 1);
        let account = ruler.account();
        for token in held.into_iter().chain([ENTRY_POINT, stage.book().position_manager]) {
            assert_eq!(stage.balance_of(token, account).await?, U256::ZERO, "{token}");
        }
        let coins = stage.node().balance(account).await?;
        let gas = U256::from(10_000_000_000_000_000_u64);
        ensure!(coins.is_zero() || (account == ruler.registrant() && coins < gas), "{coins}");
    }
    Ok(())
}

/// Some of everything that an account can hold; gives its tokens.
async fn invested(stage: &Stage, ruler: &Ruler) -> Result<[Address; 3]> {
    let (book, account) = (stage.book(), ruler.account());
    let [usdc, weth, vault] = [book.usdc, book.weth, book.vault];
    stage.fund(account, STIPEND * U256::from(4), dollars(1_000)).await?;
    let call = |target, value, data: Vec<u8>| Execution { target, value, data: data.into() };
    let allow = |token: Address, spender: Address| {
        let allow = Erc20::approveCall { spender, amount: U256::MAX };
        call(token, U256::ZERO, allow.abi_encode())
    };
    let open = NonfungiblePositionManager::mintCall {
        params: NonfungiblePositionManager::MintParams {
            token0: weth,
            token1: usdc,
            fee: U24::from(500),
            tickLower: I24::try_from(-887_270)?,
            tickUpper: I24::try_from(887_270)?,
            amount0Desired: STIPEND / U256::from(2),
            amount1Desired: dollars(100),
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            recipient: account,
            deadline: U256::MAX,
        },
    };
    let deposit = Erc4626::depositCall { assets: dollars(100), receiver: account };
    let leave = EntryPoint::depositToCall { account };
    let positions = book.position_manager;
    ruler
        .does(
            stage,
            &[
                call(weth, STIPEND, Weth9::depositCall {}.abi_encode()),
                allow(usdc, vault),
                call(vault, U256::ZERO, deposit.abi_encode()),
                allow(usdc, positions),
                allow(weth, positions),
                call(positions, U256::ZERO, open.abi_encode()),
                call(ENTRY_POINT, U256::from(7), leave.abi_encode()),
            ],
        )
        .await?;
    Ok([usdc, weth, vault])
}

/// What two agreed to is all that one of them can do, once.
#[tokio::test]
async fn one_of_several_owners_can_do_what_they_agreed_to_and_nothing_else() -> Result<()> {
    let stage = Stage::open().await?;
    let owners = stage.multisig_owner().await?;
    let shared = SharedAccount::at(stage.node(), owners.address()).await?;
    let keys = owners.keys();
    for key in keys {
        stage.fund(key.address(), STIPEND, U256::ZERO).await?;
    }
    let usdc = stage.book().usdc;
    let send = Erc20::transferCall { to: HOME, amount: dollars(1) };
    let send = Execution { target: usdc, value: U256::ZERO, data: send.abi_encode().into() };

    let (one, two) = keys.split_at(1);
    let alone = shared.act(stage.node(), one, std::slice::from_ref(&send), OWNER_FEE_CEILING).await;
    assert!(matches!(alone, Err(OwnerError::TooFewKeys { needed: 2, given: 1, .. })));
    let done =
        shared.act(stage.node(), two, std::slice::from_ref(&send), OWNER_FEE_CEILING).await?;
    assert_eq!(stage.balance_of(usdc, HOME).await?, dollars(1));

    // The same transaction once more, by whoever sent it.
    let sent = stage.node().provider().get_transaction_by_hash(done.transaction_hash).await?;
    let input = sent.map(|sent| alloy::consensus::Transaction::input(&sent).clone());
    let input = input.ok_or_else(|| anyhow::anyhow!("not found"))?;
    let by_him = |data: Bytes| stage.send_as(done.from, DELEGATION_MANAGER, U256::ZERO, data);
    assert!(!by_him(input).await?.status(), "once is once");
    assert_eq!(stage.balance_of(usdc, HOME).await?, dollars(1));
    // Two calls were agreed to: not others, not one of them, and not when the hour is over.
    let other = Erc20::transferCall { to: HOME, amount: dollars(2) };
    let other = Execution { data: other.abi_encode().into(), ..send.clone() };
    let both = [send.clone(), send.clone()];
    let (_, agreed) = shared.agreement(stage.node(), two, &both).await?;
    let batch = |calls: &[Execution]| {
        Redemption::batch(DELEGATION_MANAGER, agreed.clone(), calls).calldata()
    };
    for calls in [vec![other.clone(), other], vec![send]] {
        assert!(!by_him(batch(&calls)).await?.status(), "nothing else");
    }
    let in_time = stage.node().provider().anvil_snapshot().await?;
    stage.warp(stage.now().await? + 3_600).await?;
    assert!(!by_him(batch(&both)).await?.status(), "for an hour");
    ensure!(stage.node().provider().anvil_revert(in_time).await?, "no such state");
    assert!(by_him(batch(&both)).await?.status(), "what they agreed to");
    assert_eq!(stage.balance_of(usdc, HOME).await?, dollars(3));
    // An account of one key is none of several.
    let other = stage.owner(AccountKind::Hybrid).await?;
    owned(&stage, &other).await?;
    let not_shared = SharedAccount::at(stage.node(), other.account.address).await;
    assert!(matches!(not_shared, Err(OwnerError::NotShared { .. })), "{not_shared:?}");
    Ok(())
}

/// An account that has code.
async fn owned(stage: &Stage, owner: &Owner) -> Result<()> {
    let nothing = Execution { target: HOME, value: U256::ZERO, data: Bytes::new() };
    owner.account.act(stage.node(), &owner.signer, &[nothing]).await?;
    Ok(())
}

/// Of several nodes behind one address one is behind: what it says of before is not taken for what there is now.
#[tokio::test]
async fn a_node_that_is_behind_is_asked_until_it_has_caught_up() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let (proxy, before) =
        (Proxy::before(stage.chain().url(), Duration::ZERO).await?, stage.node().header().await?);
    let old: Value = stage
        .node()
        .provider()
        .raw_request("eth_getBlockByNumber".into(), json!([before.inner.number, false]))
        .await?;
    // A name of loopback that is not taken for a chain to play with, which has one node.
    let url = proxy.url().as_str().replace("127.0.0.1", "0.0.0.0").parse()?;
    let node = Node::connect(&url).await?;
    let to = Address::repeat_byte(0x61);
    let call = Erc20::transferCall { to, amount: U256::from(7) };
    let pay =
        Execution { target: stage.book().usdc, value: U256::ZERO, data: call.abi_encode().into() };
    owner.account.act(&node, &owner.signer, &[pay]).await?;
    let latest = Fault::lie(move |said| *said = old.clone());
    proxy.fail("eth_getBlockByNumber", 2, latest);

    let has = node.read(stage.book().usdc, Erc20::balanceOfCall { account: to }).await?;

    assert_eq!(has, U256::from(7));
    assert_eq!(proxy.failed(), 2, "it was behind, twice");
    Ok(())
}

/// Of an account with code some nodes take one transaction at a time: the owner's is handed in again until there is room, and not
/// only when the node might have forgotten it.
#[tokio::test]
async fn an_owner_of_an_account_with_code_does_not_wait_out_his_patience() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let node = Node::connect(proxy.url()).await?.with_patience(Duration::from_secs(15));
    let words = "in-flight transaction limit reached for delegated accounts";
    let no = json!({ "error": { "code": -32_000, "message": words } });
    proxy.fail("eth_sendRawTransaction", 3, Fault::Claim(Arc::new(move || no.clone())));
    let human = owner.signer.address();
    let call = OwnerCall::new(human, golem_registry(), &GolemRegistry::revokeAllCall {});

    let receipt = call.send(&node, &owner.signer, OWNER_FEE_CEILING).await?;

    ensure!(receipt.status());
    assert_eq!(proxy.failed(), 3, "it was refused three times");
    Ok(())
}

/// A revocation is done when its block stands, whatever the node says to it; and its hash is told before the node has it.
#[tokio::test]
async fn an_owners_transaction_is_told_first_and_waits_for_its_blocks() -> Result<()> {
    let stage = Stage::open().await?;
    let owner = stage.owner(AccountKind::Stateless7702).await?;
    let proxy = Proxy::before(stage.chain().url(), Duration::ZERO).await?;
    let (told, mut hashes) = tokio::sync::mpsc::unbounded_channel();
    let node = Node::connect(proxy.url()).await?.with_confirmations(2).telling(move |hash| {
        let _ = told.send(hash);
    });
    let complaint = Fault::Lie(Arc::new(|answer| {
        *answer = serde_json::json!({
            "jsonrpc": "2.0", "id": answer["id"],
            "error": { "code": -32000, "message": "context deadline exceeded" },
        });
    }));
    // Of several nodes behind one address one says no, and another that has it is slow to say so.
    let refusal = Fault::Lie(Arc::new(|answer| {
        *answer = serde_json::json!({
            "jsonrpc": "2.0", "id": answer["id"],
            "error": { "code": -32000, "message": "insufficient funds for gas" },
        });
    }));
    proxy.fail("eth_getTransactionByHash", 2, Fault::lie(|found| *found = Value::Null));
    for fault in [refusal, complaint, Fault::DropAfter, Fault::TooManyAfter] {
        let name = format!("{fault:?}");
        proxy.fail("eth_sendRawTransaction", 1, fault);
        let human = owner.signer.address();
        let call = OwnerCall::new(human, golem_registry(), &GolemRegistry::revokeAllCall {});
        let send = call.send(&node, &owner.signer, OWNER_FEE_CEILING);
        tokio::pin!(send);
        let hash = tokio::select! {
            early = &mut send => anyhow::bail!("{name}: {early:?} before its hash"),
            hash = hashes.recv() => hash.context("not told")?,
        };
        let provider = stage.node().provider();
        let mined = async {
            while provider.get_transaction_receipt(hash).await?.is_none() {
                tokio::task::yield_now().await;
            }
            anyhow::Ok(())
        };
        tokio::select! {
            early = &mut send => anyhow::bail!("{name}: {early:?} under one block"),
            mined = mined => mined?,
        }
        provider.anvil_mine(Some(1), None).await?;
        let receipt = send.await?;
        ensure!(receipt.transaction_hash == hash && receipt.status(), "{name}");
    }
    let generation = GolemRegistry::generationOfCall { owner: owner.signer.address() };
    assert_eq!(stage.node().read(golem_registry(), generation).await?, 4, "each once");
    Ok(())
}
