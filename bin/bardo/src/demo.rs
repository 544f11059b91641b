//! `bardo demo`: grants, their use, their limits and their end; and a Golem's whole life; each on a local chain.
//!
//! The narrator only moves time, hands out play money and acts as the owner when he grants. The agent
//! is this program's own command line, a process for each act that has ended when the next step
//! begins; so is the thief while he still uses our tools. The thief that skips them, and the owner
//! when he revokes, are Foundry's `cast`, which knows nothing of Bardo.

mod charter;
mod life;
mod named;
mod narrator;
mod people;
mod process;

use crate::{
    answer::{Answer, Failure},
    cli::DemoPart,
};
use alloy::{
    primitives::{
        Address, B256, Bytes, U256,
        aliases::{U24, U160},
    },
    sol_types::SolCall,
};
use anyhow::{Context, Result, anyhow, ensure};
use bardo_bindings::{
    defi::{
        Erc20,
        SwapRouter02::{self, ExactInputSingleParams, exactInputSingleCall},
    },
    framework::DELEGATION_MANAGER,
};
use golem_chain::{
    Account, AccountKind, Node, SwapGrant, hybrid_account,
    local::{AddressBook, Bundler, LocalChain, LocalFiles},
};
use golem_custody::{Execution, OwnerSigner, Redemption};
use golem_delegation::{
    Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, terms::MortalityTimeWindow,
};
use narrator::Narrator;
use people::{Agent, Cast, Folder};
use serde_json::json;

/// The 0.05 % pool.
const FEE: U24 = U24::from_limbs([500]);
/// Swaps the main grant allows, and the short one.
const CALLS: u64 = 3;
const BRIEF_CALLS: u64 = 1;
/// What the router may take in all, in dollars.
const ALLOWANCE: u64 = 400;
/// Seconds until the grant begins.
const WAIT: u64 = 600;
/// Life of the main grant, and of the short one that shows an end.
const WEEK: u64 = 604_800;
const SHORT: u64 = 60;

/// Plays the demo, or the part of it that is wished for; the answer is yes when nothing was a surprise.
pub(crate) async fn run(only: Option<DemoPart>, stay: bool, json: bool) -> Result<Answer, Failure> {
    if stay && only == Some(DemoPart::Grants) {
        return Err(Failure::Use(anyhow!("only a Golem's life leaves something to look at")));
    }
    let files = LocalFiles::find()?;
    let mut narrator = Narrator::new(json);
    if only != Some(DemoPart::Life) {
        grants(&files, &mut narrator).await?;
    }
    if only != Some(DemoPart::Grants) {
        let mut play = life::Play::open(&files).await?;
        if let Err(error) = play.run(&mut narrator).await {
            narrator.fault(&error);
        }
        if stay {
            play.stays(&narrator)?;
        }
    }
    let surprises = narrator.surprises();
    let (steps, expected) = (narrator.len(), narrator.len() - surprises);
    let text = format!("demo: {steps} steps, {expected} as expected, {surprises} surprises");
    let json = json!({ "steps": narrator.steps(), "expected": expected, "surprises": surprises });
    Ok(if surprises == 0 { Answer::yes(json, text) } else { Answer::no(json, text) })
}

/// Grants: their use, their limits and their end.
async fn grants(files: &LocalFiles, narrator: &mut Narrator) -> Result<()> {
    let chain = LocalChain::start(files)?;
    narrator.say(&format!("local chain at {}, chain id 8453", chain.url()));
    let bundler = Bundler::start(files, chain.url())?;
    let bundler_url = bundler.url().clone();
    let served = Node::connect(&bundler_url).await.is_ok();
    // An owner must be able to stop his agent when nothing but a node answers him.
    drop(bundler);
    let gone = Node::connect(&bundler_url).await.is_err();
    narrator.step(
        "a bundler ran beside the chain, and is stopped before anything begins",
        served && gone,
        || format!("{bundler_url} no longer answers"),
    );
    for kind in [AccountKind::Stateless7702, AccountKind::Hybrid] {
        let play = Play::open(&chain, kind).await?;
        // A fault on the way is the biggest surprise of all; it ends this part of the play.
        if let Err(error) = play.run(narrator).await {
            narrator.fault(&error);
        }
    }
    let play = Play::open(&chain, AccountKind::Hybrid).await?;
    if let Err(error) = play.live(narrator).await {
        narrator.fault(&error);
    }
    let play = Play::open(&chain, AccountKind::Hybrid).await?;
    if let Err(error) = play.named_limits(narrator).await {
        narrator.fault(&error);
    }
    Ok(())
}

/// One owner, one agent, one thief.
struct Play<'a> {
    chain: &'a LocalChain,
    node: Node,
    folder: Folder,
    cast: Cast,
    agent: Agent,
    owner: OwnerSigner,
    account: Account,
}

impl<'a> Play<'a> {
    async fn open(chain: &'a LocalChain, kind: AccountKind) -> Result<Self> {
        let node = Node::connect(chain.url()).await?;
        let folder = Folder::new()?;
        let cast = Cast::new(chain, folder.clone());
        let owner = OwnerSigner::born();
        owner.save(&folder.path("owner.json"), &folder.password()?)?;
        let account = match kind {
            AccountKind::Stateless7702 => Account::stateless_7702(owner.address()),
            AccountKind::Hybrid => {
                hybrid_account(owner.address(), B256::ZERO, &chain.book().proxy_code)
            }
        };
        let agent = Agent::new(chain.url().clone(), folder.clone());
        Ok(Self { chain, node, folder, cast, agent, owner, account })
    }

    async fn run(&self, narrator: &mut Narrator) -> Result<()> {
        let book = self.chain.book();
        let account = self.account.address;
        narrator.scene(match self.account.kind {
            AccountKind::Stateless7702 => {
                "An owner whose wallet address is his smart account (EIP-7702)"
            }
            AccountKind::Hybrid => {
                "An owner with a vault: a Hybrid smart account ruled by his wallet"
            }
        });
        people::fund(&self.node, self.owner.address(), people::ether(1)).await?;
        if account != self.owner.address() {
            people::fund(&self.node, account, people::ether(1)).await?;
        }
        people::mint(&self.node, book.usdc, account, dollars(1_000)).await?;
        narrator.say(&format!("owner {}, account {account}: 1,000 USDC", self.owner.address()));

        // Birth and grant.
        let session = self.agent.born()?;
        let gas_money = self.node.balance(session).await?;
        narrator.step("the agent's session key is born with no ETH", gas_money.is_zero(), || {
            format!("{session} holds {gas_money} wei")
        });
        let start = self.node.head().await?.timestamp + WAIT;
        let grant = self.sign_swaps(
            "grant.json",
            session,
            MortalityTimeWindow::new(start, start + WEEK)?,
            CALLS,
        )?;
        let brief = self.sign_swaps(
            "brief.json",
            session,
            MortalityTimeWindow::new(start, start + SHORT)?,
            BRIEF_CALLS,
        )?;
        let mut owner_sent = self.grant_transactions(session).await?;
        let stop = self.account.revocation(self.node.chain_id(), &self.owner, &grant)?;
        self.folder.write("stop.json", &serde_json::to_string(&stop)?)?;
        let allowance = self
            .node
            .read(book.usdc, Erc20::allowanceCall { owner: account, spender: book.swap_router_02 })
            .await?;
        narrator.step("the owner grants: three swaps of USDC for WETH, to himself, for a week; and one more for a minute", allowance == dollars(ALLOWANCE), || {
            format!("signed off chain; {} transaction(s) set the account up, let the router take {ALLOWANCE} USDC and give the key 0.01 ETH for gas", owner_sent.len())
        });

        // The grant's beginning.
        let good = swap(book, account, dollars(100));
        self.refused(
            narrator,
            "before its first second the grant is asleep",
            "grant.json",
            &good,
            "CAV-WINDOW-EARLY",
        )?;
        people::warp(&self.node, start).await?;

        // A swap.
        let before = self.balances().await?;
        let done = self.agent.redeem("grant.json", &good)?;
        let after = self.balances().await?;
        let (sold, bought) = (before.0 - after.0, after.1 - before.1);
        narrator.step(
            "the agent swaps 100 USDC on Uniswap from the owner's account",
            done.yes() && sold == dollars(100) && !bought.is_zero(),
            || {
                format!(
                    "{} WETH arrived in the account; {} gas",
                    people::decimal(bought),
                    done.field("gasUsed")
                )
            },
        );
        let sender = people::sender_at(&self.node, done.hash()?, book.swap_router_02).await?;
        narrator.step(
            "msg.sender at the router is the owner's account",
            sender == Some(account),
            || sender.map_or("the router was not called".to_owned(), |sender| sender.to_string()),
        );

        self.limits(narrator, &grant, session, &good).await?;

        // The grant of one call and one minute.
        let only = self.agent.redeem("brief.json", &good)?;
        narrator.step("the short grant's only swap", only.yes(), || only.words());
        self.refused(narrator, "its number of calls is used up", "brief.json", &good, "CAV-CALLS")?;
        people::warp(&self.node, start + 2 * SHORT).await?;
        self.refused(
            narrator,
            "after its last second a grant is dead",
            "brief.json",
            &good,
            "CAV-WINDOW-EXPIRED",
        )?;
        ensure!(brief.hash() != grant.hash(), "two grants, two hashes");
        let second = self.agent.redeem("grant.json", &good)?;
        narrator.step("the other grant still works, and has a call left", second.yes(), || {
            second.words()
        });

        // Revocation: the owner's wallet and a node, nothing else.
        let stopped = self.cast.send_as_owner(&stop)?;
        owner_sent.push(stopped.hash);
        narrator.step(
            "the owner revokes by one transaction of his wallet, to a node, with nothing else running",
            stopped.success, || {
            format!("sent by cast, {} gas", stopped.gas_used)
        });
        self.refused(
            narrator,
            "the next attempt fails",
            "grant.json",
            &good,
            "DELEGATION_DISABLED",
        )?;
        let attempt = self.agent.redeem("grant.json", &good)?;
        narrator.step(
            "and the agent's own command refuses to sign it",
            !attempt.yes() && attempt.field("code") == "DELEGATION_DISABLED",
            || attempt.words(),
        );
        let forced = self.force("grant.json", &good)?;
        narrator.step("sent straight to the chain it fails there too", !forced.success, || {
            format!("mined and reverted: {}", forced.hash)
        });

        let seen = people::sent_by(&self.node, self.owner.address()).await?;
        narrator.step(
            "the owner's key sent nothing but grant and revocation",
            seen == owner_sent,
            || format!(
                    "{} transactions: {} to set the account up, bound it and pay first gas, 1 to revoke; off chain two grants{}",
                    seen.len(),
                    seen.len().saturating_sub(1),
                    match self.account.kind {
                        AccountKind::Stateless7702 => " and the account's upgrade",
                        AccountKind::Hybrid => " and the vault's delegation to himself",
                    }
                ),
        );
        Ok(())
    }

    /// One attempt outside each caveat.
    async fn limits(
        &self,
        narrator: &mut Narrator,
        grant: &Delegation,
        session: Address,
        good: &Execution,
    ) -> Result<()> {
        let book = self.chain.book();
        let thief = self.cast.thief()?;
        people::fund(&self.node, thief, people::ether(1)).await?;
        let other_target = Execution {
            target: book.usdc,
            data: Erc20::transferCall { to: thief, amount: dollars(1) }.abi_encode().into(),
            ..good.clone()
        };
        let other_method =
            Execution { data: SwapRouter02::factoryCall {}.abi_encode().into(), ..good.clone() };
        let to_thief = swap(book, thief, dollars(100));
        let other_pair = Execution {
            data: changed(&good.data, |swap| {
                std::mem::swap(&mut swap.tokenIn, &mut swap.tokenOut)
            })?,
            ..good.clone()
        };
        let other_pool = Execution {
            data: changed(&good.data, |swap| swap.fee = U24::from(10_000))?,
            ..good.clone()
        };
        let with_value = Execution { value: U256::from(1), ..good.clone() };
        for (what, attempt, code) in [
            ("another contract: USDC.transfer to the thief", &other_target, "CAV-TARGET"),
            ("another function of the router", &other_method, "CAV-METHOD"),
            ("a swap that pays the thief", &to_thief, "CAV-CALLDATA"),
            ("a swap the other way round", &other_pair, "CAV-CALLDATA"),
            (
                "a swap in another fee tier, where a thief could open a pool of his own",
                &other_pool,
                "CAV-CALLDATA",
            ),
            ("a swap that carries the account's ether", &with_value, "CAV-VALUE"),
        ] {
            self.refused(narrator, what, "grant.json", attempt, code)?;
        }

        // The key leaks, and the thief passes the grant on to a key of his own.
        let child = Delegation {
            delegate: thief,
            delegator: session,
            authority: grant.hash().0,
            caveats: vec![],
            salt: U256::ZERO,
            signature: Bytes::new(),
        };
        self.folder.write("child.json", &serde_json::to_string(&child)?)?;
        let child = self.agent.sign_with("session.json", "child.json", true)?;
        let chain = serde_json::to_string(&[&child, grant])?;
        self.folder.write("passed-on.json", &chain)?;
        self.refused(
            narrator,
            "a thief passes the grant on to himself",
            "passed-on.json",
            good,
            "CAV-REDEEMER",
        )?;

        let before = self.balances().await?;
        let forced = self.force("grant.json", &to_thief)?;
        let untouched = before == self.balances().await?;
        narrator.step(
            "a thief with the key skips every check of ours and sends the theft himself",
            !forced.success && untouched,
            || format!("mined and reverted: {}; nothing moved", forced.hash),
        );
        Ok(())
    }

    /// A step that expects one refusal by the dry run, with its code.
    fn refused(
        &self,
        narrator: &mut Narrator,
        what: &str,
        context: &str,
        call: &Execution,
        code: &str,
    ) -> Result<()> {
        let reply = self.agent.simulate(context, call)?;
        narrator.step(
            &format!("refused: {what}"),
            !reply.yes() && reply.field("code") == code,
            || reply.words(),
        );
        Ok(())
    }

    /// The owner signs by the same command a person would use; what he signed is in `file`.
    fn sign(&self, file: &str, delegation: &Delegation) -> Result<Delegation> {
        self.folder.write(file, &serde_json::to_string(delegation)?)?;
        let signed = self.agent.sign_with("owner.json", file, false)?;
        self.folder.write(file, &serde_json::to_string(&signed)?)?;
        Ok(signed)
    }

    /// A grant of the account's own money, not signed yet.
    const fn unsigned(&self, delegate: Address, caveats: Vec<Caveat>, salt: U256) -> Delegation {
        Delegation {
            delegate,
            delegator: self.account.address,
            authority: ROOT_AUTHORITY,
            caveats,
            salt,
            signature: Bytes::new(),
        }
    }

    /// The owner grants so many swaps within `window`.
    fn sign_swaps(
        &self,
        file: &str,
        session: Address,
        window: MortalityTimeWindow,
        calls: u64,
    ) -> Result<Delegation> {
        let book = self.chain.book();
        let terms = SwapGrant {
            session,
            account: self.account.address,
            router: book.swap_router_02,
            token_in: book.usdc,
            token_out: book.weth,
            fee: FEE,
            calls,
            window,
        };
        self.sign(file, &self.unsigned(session, terms.caveats(), U256::ZERO))
    }

    /// Sets the account up, bounds what the router may take, and gives the key its first gas.
    async fn grant_transactions(&self, session: Address) -> Result<Vec<B256>> {
        let book = self.chain.book();
        let allow = Execution {
            target: book.usdc,
            value: U256::ZERO,
            data: Erc20::approveCall { spender: book.swap_router_02, amount: dollars(ALLOWANCE) }
                .abi_encode()
                .into(),
        };
        let stipend = Execution {
            target: session,
            value: people::ether(1) / U256::from(100),
            data: Bytes::new(),
        };
        let receipts = self.account.act(&self.node, &self.owner, &[allow, stipend]).await?;
        Ok(receipts.into_iter().map(|receipt| receipt.transaction_hash).collect())
    }

    /// Sends with the session key, past the dry run.
    fn force(&self, grant: &str, call: &Execution) -> Result<people::Sent> {
        let grant: Delegation = serde_json::from_str(&self.folder.read(grant)?)?;
        let context = PermissionContext::new(vec![grant])?;
        let data = Redemption::single(DELEGATION_MANAGER, context, call).calldata();
        self.cast.force_with_session_key(DELEGATION_MANAGER, &data)
    }

    /// USDC and WETH of the account.
    async fn balances(&self) -> Result<(U256, U256)> {
        let book = self.chain.book();
        let account = self.account.address;
        Ok((
            self.node.read(book.usdc, Erc20::balanceOfCall { account }).await?,
            self.node.read(book.weth, Erc20::balanceOfCall { account }).await?,
        ))
    }
}

fn dollars(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000)
}

/// Sells `amount` of USDC on the 0.05 % pool, to `recipient`.
fn swap(book: &AddressBook, recipient: Address, amount: U256) -> Execution {
    swap_for(book, recipient, amount, U256::ZERO)
}

/// The same, for no less than `minimum` of WETH.
fn swap_for(book: &AddressBook, recipient: Address, amount: U256, minimum: U256) -> Execution {
    let call = exactInputSingleCall {
        params: ExactInputSingleParams {
            tokenIn: book.usdc,
            tokenOut: book.weth,
            fee: FEE,
            recipient,
            amountIn: amount,
            amountOutMinimum: minimum,
            sqrtPriceLimitX96: U160::ZERO,
        },
    };
    Execution { target: book.swap_router_02, value: U256::ZERO, data: call.abi_encode().into() }
}

/// The same swap with something changed.
fn changed(data: &Bytes, change: impl FnOnce(&mut ExactInputSingleParams)) -> Result<Bytes> {
    let mut call = exactInputSingleCall::abi_decode(data).context("a swap")?;
    change(&mut call.params);
    Ok(call.abi_encode().into())
}
