//! Failing disks, ended processes and silent nodes: nothing is asked twice that was kept, and nothing is sent twice.

use super::{EVERY_SEND, Newcomer, counted, counting, means, request, store, wishes};
use crate::onboard::hybrid_account;
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    providers::ext::AnvilApi as _,
};
use anyhow::{Result, bail, ensure};
use async_trait::async_trait;
use bardo_store::Store;
use bardo_testkit::{Fault, Proxy, STIPEND, dollars, fixed_signer, root};
use golem_chain::{Costs, Node, Onboard, OnboardError, local::LocalFiles};
use golem_custody::{
    AgentKey, BoxError, Choice, CustodyChoice, Onboarding, OnboardingSteps, Step, Steps,
    crash::Failpoint,
};
use serde_json::{Value, json};
use std::{
    env,
    os::unix::process::ExitStatusExt as _,
    path::PathBuf,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::process::Command;
use url::Url;

/// The key of a Golem that runs elsewhere. Always the same, so that gas is.
const SESSION: Address = Address::repeat_byte(0x5e);

/// Takes so many writings, and then fails one.
struct Failing<'a> {
    store: &'a Store,
    left: AtomicU64,
    /// Whether the one that fails is on the disk all the same.
    after: bool,
}

#[async_trait]
impl Steps for Failing<'_> {
    async fn load(&self, name: &str) -> Result<Option<Step>, BoxError> {
        self.store.load(name).await
    }

    async fn advance(&self, name: &str, from: u64, to: &Value, at: u64) -> Result<(), BoxError> {
        let left = self.left.fetch_sub(1, SeqCst);
        if left != 0 {
            return self.store.advance(name, from, to, at).await;
        }
        if self.after {
            self.store.advance(name, from, to, at).await?;
        }
        Err("the disk is gone".into())
    }
}

/// What must be the same however it went: all but the time.
fn timeless(costs: &Costs) -> Vec<(u8, usize, u64, u64)> {
    let one =
        |cost: &golem_chain::StepCost| (cost.step, cost.prompts.len(), cost.transactions, cost.gas);
    costs.steps().iter().map(one).collect()
}

/// Uninterrupted.
async fn whole() -> Result<Costs> {
    let newcomer = Newcomer::arrives().await?;
    let store = newcomer.store()?;
    let onboard = newcomer.wishes(newcomer.stage.node(), &store, Some(newcomer.vault()));
    Ok(newcomer.run(&onboard, SESSION).await?.costs)
}

#[tokio::test]
async fn a_disk_that_fails_at_any_writing_costs_nothing_more() -> Result<()> {
    let expected = whole().await?;
    for after in [false, true] {
        let mut writings = 0;
        loop {
            let newcomer = Newcomer::arrives().await?;
            let (proxy, node) = counting(&newcomer.stage).await?;
            let store = newcomer.store()?;
            let failing = Failing { store: &store, left: AtomicU64::new(writings), after };
            let vault = Some(newcomer.vault());
            let first =
                newcomer.run(&newcomer.wishes(&node, &failing, vault.clone()), SESSION).await;
            let failed = match first {
                Err(OnboardError::Books { .. } | OnboardError::Step(_)) => true,
                Err(other) => bail!("writing {writings}: {other}"),
                Ok(_) => false,
            };

            let onboarded = newcomer.run(&newcomer.wishes(&node, &store, vault), SESSION).await?;

            let (costs, nonce) = (&onboarded.costs, newcomer.nonce().await?);
            assert_eq!(timeless(costs), timeless(&expected), "writing {writings}, {after}");
            assert_eq!((proxy.failed(), nonce), (1, 2), "writing {writings}, {after}");
            if !failed {
                break;
            }
            writings += 1;
        }
        // Six steps, six costs, a choice that is made and bound, and what was sent.
        assert_eq!(writings, 15);
    }
    Ok(())
}

/// The process that ends. It does nothing where nobody asked for it.
#[tokio::test]
async fn victim() -> Result<()> {
    let Some(folder) = env::var_os("BARDO_NEWCOMER").map(PathBuf::from) else { return Ok(()) };
    let url: Url = env::var("BARDO_NEWCOMER_URL")?.parse()?;
    let now = env::var("BARDO_NEWCOMER_NOW")?.parse()?;
    let (owner, node) = (fixed_signer(0x0c)?, Node::connect(&url).await?);
    let (book, store) = (LocalFiles::at(root()).address_book()?, store(&folder, owner.address())?);
    let vault = hybrid_account(owner.address(), B256::ZERO, &book.proxy_code);
    let account = vault.address;
    let onboard = wishes(&book, &node, &owner, &store, Some(vault));
    let asked = request(owner.address(), node.chain_id(), now);
    let set_up = async || means(&book, owner.address(), account, SESSION, now);
    onboard.run(&asked, set_up, now).await?;
    Ok(())
}

impl Newcomer {
    /// The same owner in a process of its own.
    fn victim(&self, url: &Url) -> Result<Command> {
        let mut victim = Command::new(env::current_exe()?);
        victim
            .args(["--exact", "onboard::interrupted::victim", "--nocapture"])
            .env("BARDO_NEWCOMER", self.folder.path())
            .env("BARDO_NEWCOMER_URL", url.as_str())
            .env("BARDO_NEWCOMER_NOW", self.now.to_string())
            .stdout(Stdio::null())
            .kill_on_drop(true);
        Ok(victim)
    }

    /// kill -9 while it waits for the answer to its first request of this method.
    async fn killed_at(&self, method: &str) -> Result<()> {
        let stalling = Proxy::before(self.stage.chain().url(), Duration::ZERO).await?;
        stalling.fail(method, 1, Fault::Stall);
        let mut process = self.victim(stalling.url())?.spawn()?;
        let stalled = async {
            while stalling.failed() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            ended = process.wait() => bail!("{method}: it ended by itself: {ended:?}"),
            () = stalled => {}
        }
        Ok(process.kill().await?)
    }
}

/// kill -9 before and after each step is on the disk, and beside the choice, which is kept in a place of its own: at no time do
/// steps and choice say two things (SPEC K1).
#[tokio::test]
async fn an_owner_whose_machine_stops_at_any_step_goes_on_where_he_was() -> Result<()> {
    let expected = whole().await?;
    let ours = |name: &&str| name.starts_with("onboarding.") || name.starts_with("custody.");
    let steps: Vec<_> = Failpoint::ALL.iter().map(|point| point.name()).filter(ours).collect();
    // The seventh step and the third of the choice are the first tick's.
    ensure!(steps.len() == 17, "{}", steps.len());
    for step in steps {
        let newcomer = Newcomer::arrives().await?;
        let (proxy, node) = counting(&newcomer.stage).await?;
        let mut process = newcomer.victim(proxy.url())?;
        let status = process.env("BARDO_CRASH_AT", step).status().await?;
        use Failpoint::{CustodyFixed, OnboardingSummoned, OnboardingSummons};
        let first_tick = [OnboardingSummons, OnboardingSummoned, CustodyFixed];
        let first_tick = first_tick.iter().any(|point| point.name() == step);
        assert_eq!(status.signal(), (!first_tick).then_some(9), "{step}: {status}");

        let store = newcomer.store()?;
        let left = OnboardingSteps::new(&store).at().await?;
        let choice = CustodyChoice::new(&store).at().await?;
        match left.as_ref().map_or(0, Onboarding::number) {
            0 | 1 => assert_eq!(choice, None, "{step}"),
            2 => ensure!(choice.is_none_or(|it| matches!(it, Choice::Open { .. })), "{choice:?}"),
            3 => ensure!(choice.is_some(), "{step}: a step without a choice"),
            _ => ensure!(matches!(choice, Some(Choice::Bound { .. })), "{step}: {choice:?}"),
        }
        let onboard = newcomer.wishes(&node, &store, Some(newcomer.vault()));
        let onboarded = newcomer.run(&onboard, SESSION).await?;

        assert_eq!(timeless(&onboarded.costs), timeless(&expected), "{step}");
        assert_eq!((proxy.failed(), newcomer.nonce().await?), (1, 2), "{step}");
    }
    Ok(())
}

/// The same while it waits: before the node has heard of the transaction, and when it is in a block and nobody says so.
#[tokio::test]
async fn an_owner_whose_machine_stops_while_it_waits_sends_nothing_twice() -> Result<()> {
    let expected = whole().await?;
    for (method, heard) in [("eth_sendRawTransaction", false), ("eth_getTransactionReceipt", true)]
    {
        let newcomer = Newcomer::arrives().await?;
        newcomer.killed_at(method).await?;
        assert_eq!(newcomer.nonce().await?, if heard { 2 } else { 0 }, "{method}");

        let (proxy, node) = counting(&newcomer.stage).await?;
        let store = newcomer.store()?;
        let onboard = newcomer.wishes(&node, &store, Some(newcomer.vault()));
        let onboarded = newcomer.run(&onboard, SESSION).await?;

        assert_eq!(timeless(&onboarded.costs), timeless(&expected), "{method}");
        assert_eq!(counted(&onboarded.costs), (1, 1, 1, 1), "{method}");
        assert_eq!(proxy.failed(), u64::from(!heard), "{method}");
        assert_eq!(newcomer.nonce().await?, 2, "{method}");
    }
    Ok(())
}

/// The owner's wallet was not idle meanwhile: what was signed can never land, and one batch in its stead does.
#[tokio::test]
async fn a_batch_whose_place_was_taken_is_signed_anew_and_lands_once() -> Result<()> {
    let newcomer = Newcomer::arrives().await?;
    newcomer.killed_at("eth_sendRawTransaction").await?;
    let owner = newcomer.owner.address();
    let other = newcomer.stage.send_as(owner, SESSION, U256::from(1), Bytes::new()).await?;
    ensure!(other.status() && newcomer.nonce().await? == 1, "{other:?}");

    let (proxy, node) = counting(&newcomer.stage).await?;
    let store = newcomer.store()?;
    let onboard = newcomer.wishes(&node, &store, Some(newcomer.vault()));
    let onboarded = newcomer.run(&onboard, SESSION).await?;

    // He was asked for two, and one of them is in a block.
    assert_eq!(counted(&onboarded.costs), (1, 1, 2, 1));
    assert_eq!((proxy.failed(), newcomer.nonce().await?), (2, 3));
    assert_eq!(newcomer.stage.node().balance(SESSION).await?, STIPEND);
    Ok(())
}

/// D12, D21: the process that had the key is gone, wherever the owner was with it; the next has another. What was begun for the first is
/// not paid to it, and not to the second.
#[tokio::test]
async fn an_onboarding_pays_no_key_but_the_one_that_the_golem_has() -> Result<()> {
    let later = Address::repeat_byte(0x5f);
    for (killed_at, transactions) in
        [(None, 0), (Some("eth_sendRawTransaction"), 0), (Some("eth_getTransactionReceipt"), 2)]
    {
        let newcomer = Newcomer::arrives().await?;
        let (proxy, node) = counting(&newcomer.stage).await?;
        if let Some(method) = killed_at {
            newcomer.killed_at(method).await?;
        }
        let store = newcomer.store()?;
        let wishes = |session| {
            let key = Some(AgentKey::Session(session));
            Onboard { key, ..newcomer.wishes(&node, &store, Some(newcomer.vault())) }
        };
        if killed_at.is_none() {
            // Step 3 is made, and no transaction is signed.
            let cheap = Onboard { ceiling: U256::from(1), ..wishes(SESSION) };
            let no = newcomer.run(&cheap, SESSION).await;
            ensure!(matches!(no, Err(OnboardError::Owner(_))), "{no:?}");
        }

        let no = newcomer.run(&wishes(later), later).await;

        ensure!(matches!(no, Err(OnboardError::Otherwise { what: "session" })), "{no:?}");
        let sent = (proxy.failed(), newcomer.nonce().await?);
        assert_eq!(sent, (0, transactions), "{killed_at:?}");
        assert_eq!(newcomer.stage.node().balance(later).await?, U256::ZERO);
        assert_eq!(wishes(later).has_signed().await?, killed_at.is_some());
        let onboarded = newcomer.run(&wishes(SESSION), SESSION).await?;
        assert_eq!(counted(&onboarded.costs), (1, 1, 1, 1), "{killed_at:?}");
        assert_eq!(newcomer.nonce().await?, 2, "{killed_at:?}");
        // Nor is it taken for the Golem's when all is done.
        let no = newcomer.run(&wishes(later), later).await;
        ensure!(matches!(no, Err(OnboardError::Otherwise { what: "session" })), "{no:?}");
    }
    Ok(())
}

/// A node that shows no receipt, and one without old states beside, prove nothing: the batch that landed is not paid again.
#[tokio::test]
async fn a_batch_that_landed_is_not_paid_again_where_a_node_shows_no_receipt() -> Result<()> {
    let expected = whole().await?;
    let newcomer = Newcomer::arrives().await?;
    newcomer.killed_at("eth_getTransactionReceipt").await?;
    assert_eq!(newcomer.nonce().await?, 2, "it landed");
    newcomer.stage.node().provider().anvil_mine(Some(8), None).await?;
    let newest = newcomer.stage.node().head().await?.number;
    let paid_in = async || {
        let (usdc, vault) = (newcomer.stage.book().usdc, newcomer.vault().address);
        newcomer.stage.balance_of(usdc, vault).await
    };
    let store = newcomer.store()?;

    for old_states in [true, false] {
        let (proxy, node) = counting(&newcomer.stage).await?;
        proxy.fail("eth_getTransactionReceipt", EVERY_SEND, Fault::lie(|it| *it = Value::Null));
        if !old_states {
            let pruned = Fault::LieTo(Arc::new(move |asked, said| {
                let of = asked["params"][1].as_str().unwrap_or_default();
                let of = u64::from_str_radix(of.trim_start_matches("0x"), 16);
                if of.is_ok_and(|of| of < newest) {
                    *said = json!({ "jsonrpc": "2.0", "id": asked["id"],
                        "error": { "code": -32_000, "message": "missing trie node" } });
                }
            }));
            proxy.fail("eth_getTransactionCount", EVERY_SEND, pruned);
        }
        let onboard = newcomer.wishes(&node, &store, Some(newcomer.vault()));

        let no = newcomer.run(&onboard, SESSION).await;

        assert_eq!(newcomer.nonce().await?, 2, "{old_states}: another batch was sent");
        assert_eq!(paid_in().await?, dollars(1_000), "{old_states}");
        ensure!(matches!(no, Err(OnboardError::Unseen { .. })), "{old_states}: {no:?}");
    }
    let (proxy, node) = counting(&newcomer.stage).await?;
    let onboard = newcomer.wishes(&node, &store, Some(newcomer.vault()));
    let onboarded = newcomer.run(&onboard, SESSION).await?;

    assert_eq!(timeless(&onboarded.costs), timeless(&expected));
    assert_eq!((proxy.failed(), newcomer.nonce().await?), (0, 2));
    assert_eq!(paid_in().await?, dollars(1_000));
    Ok(())
}
