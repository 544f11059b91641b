//! One Golem's whole life, as a process of its own on a chain whose time and prices are moved by hand.
//!
//! This script moves time, sets prices, and acts as the owner, by `bardo` commands, or as a thief, by `cast`. The Golem knows of none of it.

mod birth;
mod child;
mod end;
mod middle;
mod theft;

use super::{
    Narrator, dollars,
    people::{self, Cast, Folder, Reply},
    process::Process,
    swap_for,
};
use alloy::primitives::{Address, B256, I256, U256};
use anyhow::{Context as _, Result};
use bardo_bindings::defi::{Erc20, PriceFeed};
use golem_chain::{
    Node, Registry,
    local::{LocalChain, LocalFiles},
};
use golem_custody::{Execution, OwnerSigner};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use std::{io, path::PathBuf};

const DAY: u64 = 86_400;
/// How long the owner's grant lasts, in days.
const DAYS: u64 = 21;
/// What the Golem begins with, and what it buys for each day, in dollars.
const DEPOSIT: u64 = 3_100;
const BUY: u64 = 150;
/// What its Replicant may spend, and what that one sells, in dollars.
const SHARE: u64 = 100;
const CHILD_BUY: u64 = 60;
/// What a day of it costs, in micro-dollars, and who is paid.
const INFERENCE: u64 = 1_000_000;
const LANDLORD: Address = Address::repeat_byte(0x4a);
const STRATEGY: &str = "# Strategy\n\nBuy a little ether every day.\n\n- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $150\n- every: 1d\n";
const TASK: &str = "# Task\n\nBuy ether with a share, beside its parent.\n\n- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $60\n- every: 2h\n";
const HEARTBEAT: &str =
    "# Heartbeat\n\n- every: 12h\n- fastest: 12h\n- slowest: 12h\n- dream: 6h every 24h\n";

/// Everybody and everything.
pub(super) struct Play {
    chain: LocalChain,
    node: Node,
    folder: Folder,
    cast: Cast,
    owner: OwnerSigner,
    golem: B256,
    account: Address,
    /// Its first tick.
    born: u64,
    process: Option<Process>,
    /// What it said of its last tick.
    last: Value,
    /// Every tick so far.
    ticks: Vec<Value>,
    bar: ProgressBar,
}

impl Play {
    pub(super) async fn open(files: &LocalFiles) -> Result<Self> {
        let chain = LocalChain::start(files)?;
        let node = Node::connect(chain.url()).await?;
        let folder = Folder::new()?;
        let cast = Cast::new(&chain, folder.clone());
        let owner = OwnerSigner::born();
        owner.save(&folder.path("owner.json"), &folder.password()?)?;
        // Drawn on a terminal only.
        let bar = ProgressBar::new(DAYS)
            .with_style(ProgressStyle::with_template("     day {pos:>2} of {len} {bar:30} {msg}")?);
        let (golem, account) = (B256::ZERO, Address::ZERO);
        let (last, ticks) = (Value::Null, Vec::new());
        Ok(Self {
            chain,
            node,
            folder,
            cast,
            owner,
            golem,
            account,
            born: 0,
            process: None,
            last,
            ticks,
            bar,
        })
    }

    /// The whole life; where its page is.
    pub(super) async fn run(&mut self, narrator: &mut Narrator) -> Result<()> {
        narrator.scene("A Golem's whole life: a process of its own, three weeks, on a chain whose clock is moved by hand");
        self.onboarding(narrator).await?;
        self.first_days(narrator).await?;
        self.replicant(narrator).await?;
        self.four_days(narrator).await?;
        self.emotion(narrator).await?;
        self.crash_and_feed(narrator).await?;
        self.rotation(narrator).await?;
        self.theft(narrator).await?;
        self.decline_and_death(narrator).await?;
        self.bar.finish_and_clear();
        self.last_account(narrator)
    }

    /// Everything is left as it is until somebody has looked.
    pub(super) fn stays(&self, narrator: &Narrator) -> Result<()> {
        let left = json!({
            "rpc": self.chain.url(),
            "data": self.data(),
            "charter": self.folder.path("charter.json"),
            "golem": self.golem,
            "account": self.account,
            "owner": self.owner.address(),
        });
        narrator.say(&format!("stays until standard input ends: {left}"));
        io::copy(&mut io::stdin().lock(), &mut io::sink())?;
        Ok(())
    }

    // What an owner does.

    fn path(&self, name: &str) -> String {
        self.folder.path(name).display().to_string()
    }

    fn data(&self) -> PathBuf {
        self.folder.path("golem")
    }

    fn bardo(&self, words: &[&str]) -> Result<Reply> {
        let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        all.extend(["--rpc".to_owned(), self.chain.url().to_string()]);
        people::bardo(&all)
    }

    fn as_owner(&self, words: &[&str]) -> Result<Reply> {
        let (key, password) = (self.path("owner.json"), self.path("password"));
        self.bardo(&[words, &["--keystore", &key, "--password-file", &password]].concat())
    }

    fn status(&self) -> Result<Reply> {
        self.bardo(&["golem", "status", "--data", &self.path("golem")])
    }

    // Time, and prices.

    async fn now(&self) -> Result<u64> {
        Ok(self.node.head().await?.timestamp)
    }

    /// Goes on until this second of its life, tick by tick.
    async fn until(&mut self, second: u64) -> Result<()> {
        loop {
            let next = number(&self.last, "nextAt");
            if next > second || self.last.get("ended").is_some() {
                return Ok(());
            }
            if next > self.now().await? {
                people::warp(&self.node, next).await?;
            }
            self.tick().await?;
        }
    }

    /// The next tick that has nothing due behind it.
    async fn tick(&mut self) -> Result<()> {
        loop {
            let process = self.process.as_mut().context("the Golem does not run")?;
            self.last = process.says(&["tick", "ended"]).await?;
            self.ticks.push(self.last.clone());
            let now = self.now().await?;
            let day = now.saturating_sub(self.born.max(1)) / DAY;
            self.bar.set_position(if self.born == 0 { 0 } else { day });
            self.bar.set_message(text(&self.last, "phase"));
            if self.last.get("ended").is_some() || number(&self.last, "nextAt") > now {
                return Ok(());
            }
        }
    }

    async fn ether_costs(&self, percent: u64) -> Result<()> {
        let book = self.chain.book();
        let price = book.eth_price * U256::from(1_000_000u64) * U256::from(percent);
        people::set_price(&self.node, book.eth_usd, I256::try_from(price)?).await
    }

    // What is checked.

    async fn balance(&self, token: Address, account: Address) -> Result<U256> {
        Ok(self.node.read(token, Erc20::balanceOfCall { account }).await?)
    }

    /// Refusals by this name since a second, and the last one's sentence.
    fn refusals(&self, code: &str, since: u64) -> Result<(usize, String)> {
        let data = self.path("golem");
        let words = ["golem", "history", "--data", &data, "--limit", "400"].map(str::to_owned);
        let history = people::bardo(&words)?;
        let events =
            history.json().get("events").and_then(Value::as_array).cloned().unwrap_or_default();
        let those: Vec<Value> = events
            .into_iter()
            .filter(|event| text(event, "code") == code && number(event, "at") >= since)
            .collect();
        let reason = those.last().map(|event| text(event, "reason")).unwrap_or_default();
        Ok((those.len(), reason))
    }

    fn done(&self) -> u64 {
        let deeds =
            |tick: &Value| tick.get("deeds").and_then(Value::as_array).cloned().unwrap_or_default();
        let done = self
            .ticks
            .iter()
            .flat_map(deeds)
            .filter(|deed| text(deed, "outcome") == "done")
            .count();
        u64::try_from(done).unwrap_or(u64::MAX)
    }

    /// What the account and the key of a grant are worth, by the feeds, in micro-dollars.
    async fn worth(&self, key: Address) -> Result<u64> {
        let book = self.chain.book();
        let round = self.node.read(book.eth_usd, PriceFeed::latestRoundDataCall {}).await?;
        let price = U256::try_from(round.answer)?;
        let wei = self.balance(book.weth, self.account).await?
            + self.node.balance(self.account).await?
            + self.node.balance(key).await?;
        let ether = wei * price / U256::from(10).pow(U256::from(20));
        Ok(u64::try_from(self.balance(book.usdc, self.account).await? + ether)?)
    }

    fn starts(&self) -> Result<Process> {
        Process::start(&self.data(), self.chain.url(), &self.folder.path("password"))
    }

    /// A swap for at least so many per cent of what it is worth at the first price.
    fn swap(&self, amount: u64, percent: u64) -> Execution {
        let book = self.chain.book();
        let worth = dollars(amount) * U256::from(1_000_000_000_000u64) / book.eth_price;
        swap_for(book, self.account, dollars(amount), worth * U256::from(percent) / U256::from(100))
    }

    fn simulate(&self, grant: &str, call: &Execution) -> Result<Reply> {
        let (context, target, data) =
            (self.path(grant), call.target.to_string(), call.data.to_string());
        self.bardo(&[
            "delegation",
            "simulate",
            "--context",
            &context,
            "--target",
            &target,
            "--data",
            &data,
        ])
    }

    async fn phase(&self) -> Result<String> {
        let entry = Registry::open(&self.node).await?.entry(self.golem).await?;
        Ok(format!("{:?}", entry.context("not registered")?.state.phase))
    }

    /// The key that the Golem's newest grant is for.
    fn key(&self) -> Result<Address> {
        self.status()?.field("key").parse().context("no key")
    }
}

/// Where the Golem's key lies, in the play's folder.
const KEY: &str = "golem/session-key.json";

fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or(0)
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
