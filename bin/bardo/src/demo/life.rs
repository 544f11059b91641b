//! One Golem's whole life, as a process of its own on a chain whose time and prices are moved by hand.
//!
//! This script moves time, sets prices, and acts as the owner, by `bardo` commands, or as a thief, by `cast`. The Golem knows of none of it.

use super::{
    Narrator, dollars,
    people::{self, Cast, Folder, Reply},
    process::Process,
    swap_for,
};
use alloy::{
    primitives::{Address, B256, Bytes, I256, U256},
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::{
    defi::{Erc20, PriceFeed},
    framework::DELEGATION_MANAGER,
};
use golem_chain::{
    Node, Registry, environment,
    local::{CharterParties, LocalChain, LocalFiles},
};
use golem_custody::{Execution, OwnerSigner, Redemption};
use golem_delegation::{
    Delegation, PermissionContext, ROOT_AUTHORITY, Rule, SigningDomain,
    blast_radius::Dollars,
    permission::{Answer, Asset, Form, Message, Periodic, Permission, Request, read},
    terms::{
        CharterMood, Class, Classes, Erc20PeriodTransfer, MoodBounds, MortalityTimeWindow,
        Redeemer, Timestamp, ValueLte,
    },
};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::{fs, path::PathBuf};

const DAY: u64 = 86_400;
/// How long the owner's grant lasts, in days.
const DAYS: u64 = 21;
/// What the Golem begins with, and what it buys for each day, in dollars.
const DEPOSIT: u64 = 3_000;
const BUY: u64 = 150;
/// What a day of it costs, in micro-dollars, and who is paid.
const INFERENCE: u64 = 1_000_000;
const LANDLORD: Address = Address::repeat_byte(0x4a);
const STRATEGY: &str = "# Strategy\n\nBuy a little ether every day.\n\n- strategy: dca\n- sell: settlement\n- buy: weth\n- amount: $150\n- every: 1d\n";
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
        self.emotion(narrator).await?;
        self.crash_and_feed(narrator).await?;
        self.rotation(narrator).await?;
        self.theft(narrator).await?;
        self.decline_and_death(narrator).await?;
        self.bar.finish_and_clear();
        self.last_account(narrator)
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

    async fn onboarding(&mut self, narrator: &mut Narrator) -> Result<()> {
        let book = self.chain.book().clone();
        let owner = self.owner.address();
        people::fund(&self.node, owner, people::ether(2)).await?;
        people::mint(&self.node, book.usdc, owner, dollars(DEPOSIT + 100)).await?;
        let data = self.data();
        fs::DirBuilder::new().create(&data)?;
        fs::set_permissions(&data, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        fs::write(data.join("STRATEGY.md"), STRATEGY)?;
        fs::write(data.join("HEARTBEAT.md"), HEARTBEAT)?;
        // A charter by which an upset Golem does not trade. Whose it is, is filled in by the command.
        let parties = CharterParties {
            golem_id: B256::ZERO,
            owner,
            account: owner,
            agent_key: owner,
            epoch: 1,
        };
        let mut law = book.charter(&parties, MortalityTimeWindow::new(1, 2)?);
        let bounds = MoodBounds { min_pleasure: -4, max_arousal: 60, min_dominance: -100 };
        law.mood = Some(CharterMood { bounds, classes: Classes::of(&[Class::Swap]) });
        let rule = Rule::GolemCharter(Box::new(law));
        self.folder.write("charter.json", &serde_json::to_string(&parameters(&rule)?)?)?;
        let (deposit, ether) = (
            format!("{}={}", book.usdc, dollars(DEPOSIT)),
            format!("native={}", people::ether(1) / U256::from(5)),
        );
        let (golem, password, charter, days) = (
            self.path("golem"),
            self.path("password"),
            self.path("charter.json"),
            DAYS.to_string(),
        );
        let wishes = [
            "onboard",
            "--mode",
            "local",
            "--session-password-file",
            &password,
            "--data",
            &golem,
            "--charter",
            &charter,
            "--days",
            &days,
            "--drawdown-bps",
            "5000",
            "--deposit",
            &deposit,
            "--deposit",
            &ether,
        ];
        let asked = self.as_owner(
            &[
                &wishes[..],
                &["--print-runway-request", "--runway-per-day", "2000000", "--runway-days", "21"],
            ]
            .concat(),
        )?;
        ensure!(asked.yes(), "no request for running costs: {}", asked.field("reason"));
        let now = self.node.head().await?.timestamp;
        self.folder.write("runway-answer.json", &self.wallet_grants(asked.json(), now)?)?;
        let runway = self.path("runway-answer.json");
        let done = self.as_owner(&[&wishes[..], &["--runway", &runway]].concat())?;
        ensure!(done.yes(), "not onboarded: {}", done.field("reason"));
        self.golem = done.field("golem").parse()?;
        self.account = done.field("account").parse()?;
        let total = done.json().get("total").cloned().unwrap_or_default();
        let (prompts, sent) = (number(&total, "prompts"), number(&total, "transactions"));
        let has = self.balance(book.usdc, self.account).await?;
        narrator.step(
            "an owner becomes the owner of a Golem: a sign-in, a grant, one transaction",
            (prompts, sent) == (3, 1) && has == dollars(DEPOSIT),
            || format!("{prompts} prompts, {sent} transaction, {} gas; ${DEPOSIT} lie in his own vault", number(&total, "gas")),
        );
        // What it costs and whom it pays is the owner's to write.
        let file = data.join("golem.toml");
        let text = fs::read_to_string(&file)?;
        let life = format!(
            "\n[life]\ninference = {INFERENCE}\npayees = [{{ address = \"{LANDLORD}\", purpose = \"inference\" }}]\n"
        );
        fs::write(&file, text + &life)?;
        Ok(())
    }

    /// What the owner's wallet answers: the caveats that such wallets write, and his signature.
    fn wallet_grants(&self, asked: &Value, now: u64) -> Result<String> {
        let text = asked.get("request").unwrap_or(asked).to_string();
        let Message::Requests(mut requests) = read(&text)?.message else { bail!("no request") };
        let request: Request = requests.pop().context("no request")?;
        let Permission::Periodic(Periodic {
            asset: Asset::Erc20(token_address),
            amount,
            duration,
            ..
        }) = request.permission
        else {
            bail!("another permission than was asked for")
        };
        let mut rules = vec![
            Rule::Erc20PeriodTransfer(Erc20PeriodTransfer {
                token_address,
                period_amount: amount,
                period_duration: U256::from(duration),
                start_date: U256::from(now),
            }),
            Rule::ValueLte(ValueLte(U256::ZERO)),
            Rule::Redeemer(Redeemer(request.rules.redeemers.clone())),
        ];
        if let Some(expiry) = request.rules.expiry {
            rules.push(Rule::Timestamp(Timestamp { after: 0, before: expiry.into() }));
        }
        let environment = environment();
        let caveats = rules
            .iter()
            .map(|rule| environment.caveat(rule)?.context("no such enforcer"))
            .collect::<Result<_>>()?;
        let leaf = Delegation {
            delegate: request.to,
            delegator: self.owner.address(),
            authority: ROOT_AUTHORITY,
            caveats,
            salt: U256::from(7715),
            signature: Bytes::new(),
        };
        let domain = SigningDomain { chain_id: request.chain_id, manager: DELEGATION_MANAGER };
        let leaf = self.owner.grant(&domain, leaf)?;
        let context = PermissionContext::new(vec![leaf])?.encode();
        let answer = Answer {
            granted: request,
            context,
            dependencies: vec![],
            manager: Some(DELEGATION_MANAGER),
        };
        Ok(Form::Today.write_answers(std::slice::from_ref(&answer))?.to_string())
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

    async fn first_days(&mut self, narrator: &mut Narrator) -> Result<()> {
        let book = self.chain.book().clone();
        self.process = Some(self.starts()?);
        self.tick().await?;
        self.born = self.now().await?;
        let ether = self.balance(book.weth, self.account).await?;
        narrator.step(
            "its first tick: it wakes in a process of its own and buys ether on Uniswap, from its owner's vault",
            self.done() == 1 && !ether.is_zero(),
            || format!("{} WETH for ${BUY}", people::decimal(ether)),
        );
        // The first night.
        self.until(self.born + 20 * 3_600).await?;
        let asleep = self.last.get("dreaming") == Some(&Value::Bool(true));
        self.folder.write("grant-1.json", &fs::read_to_string(self.data().join("grant.json"))?)?;
        let reply = self.simulate("grant-1.json", &self.swap(BUY, 99))?;
        narrator.step(
            "it dreams, and whoever has its key can write nothing: the chain says so",
            asleep && !reply.yes() && reply.field("code") == "CAV-DREAMING",
            || reply.words(),
        );
        self.until(self.born + 4 * DAY - 3 * 3_600).await?;
        let (bought, left) = (self.done(), self.balance(book.usdc, self.account).await?);
        narrator.step(
            "four days: it buys once a day, and sleeps every night",
            bought == 4 && left == dollars(DEPOSIT - 4 * BUY),
            || {
                format!(
                    "{bought} trades, {} of dollars left",
                    people::cents(u64::try_from(left).unwrap_or(0))
                )
            },
        );
        let paid = self.balance(book.usdc, LANDLORD).await?;
        let own = self.balance(book.usdc, self.owner.address()).await?;
        narrator.step(
            "it pays for its thoughts by the runway: from its owner's wallet, and to nobody but whom he named",
            paid == U256::from(3 * INFERENCE) && own == dollars(100) - paid,
            || format!("{} paid over three days", people::cents(u64::try_from(paid).unwrap_or(0))),
        );
        Ok(())
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

    async fn emotion(&mut self, narrator: &mut Narrator) -> Result<()> {
        let since = self.now().await?;
        self.ether_costs(30).await?;
        self.until(self.born + 4 * DAY + 3_600).await?;
        let (times, reason) = self.refusals("CAV-EMOTION", since)?;
        let bought = self.done();
        narrator.step(
            "ether falls overnight, and it is upset: the trade that it wants is refused because of how it feels",
            times == 1 && bought == 4 && text(&self.last, "phase") == "Thriving",
            || reason,
        );
        self.ether_costs(100).await?;
        self.until(self.born + 5 * DAY + 3_600).await?;
        let bought = self.done();
        narrator.step("the price comes back, it calms down, and trades again", bought > 4, || {
            format!("{bought} trades by now")
        });
        Ok(())
    }

    async fn crash_and_feed(&mut self, narrator: &mut Narrator) -> Result<()> {
        self.until(self.born + 6 * DAY - 3 * 3_600).await?;
        let (since, before) = (self.now().await?, self.done());
        self.ether_costs(20).await?;
        self.until(self.born + 6 * DAY + 3_600).await?;
        let phase = self.phase().await?;
        let vitality = number(&self.last, "vitality");
        narrator.step(
            "ether crashes: what its owner bears is half used up, and it goes into Conservation by itself",
            phase == "Conservation",
            || format!("vitality {vitality} of 10000; the registry says {phase}"),
        );
        let (times, reason) = self.refusals("CAV-PHASE", since)?;
        let bought = self.done();
        narrator.step(
            "there the chain lets it buy nothing new",
            times > 0 && bought == before,
            || reason,
        );
        self.ether_costs(100).await?;
        self.until(self.born + 6 * DAY + 14 * 3_600).await?;
        let phase = self.phase().await?;
        narrator.step(
            "prices come back, and the phase does not: it only goes forward",
            phase == "Conservation",
            || format!("vitality {} of 10000, and still {phase}", number(&self.last, "vitality")),
        );
        let fed =
            self.as_owner(&["golem", "feed", "--phase", "stable", "--data", &self.path("golem")])?;
        self.until(self.born + 7 * DAY + 3_600).await?;
        let (phase, after) = (self.phase().await?, self.done());
        narrator.step(
            "its owner feeds it, by one transaction, and it trades again",
            fed.yes() && phase == "Stable" && after > before,
            || format!("{phase}; {after} trades by now"),
        );
        Ok(())
    }

    async fn phase(&self) -> Result<String> {
        let entry = Registry::open(&self.node).await?.entry(self.golem).await?;
        Ok(format!("{:?}", entry.context("not registered")?.state.phase))
    }

    /// The key that the Golem's newest grant is for.
    fn key(&self) -> Result<Address> {
        self.status()?.field("key").parse().context("no key")
    }

    /// The owner signs for the key that waits, and it takes its place.
    async fn granted(&mut self, file: &str) -> Result<(Address, bool)> {
        let before = self.key()?;
        let reply = self.as_owner(&["golem", "grant", "--data", &self.path("golem")])?;
        ensure!(reply.yes(), "not granted: {}", reply.field("reason"));
        let name = PathBuf::from(reply.field("file"));
        let name = name.file_name().context("no file")?;
        let done = self.data().join("inbox/done").join(name);
        // It wakes for a letter of its owner's.
        for _ in 0..4 {
            if done.is_file() {
                break;
            }
            self.tick().await?;
        }
        let said: Value = serde_json::from_str(&fs::read_to_string(&done)?)?;
        let grant = said.get("grant").context("no grant")?;
        self.folder.write(file, &grant.to_string())?;
        let key: Address = reply.field("key").parse()?;
        Ok((key, key != before && self.key()? == key))
    }

    async fn rotation(&mut self, narrator: &mut Narrator) -> Result<()> {
        self.until(self.born + 8 * DAY - 3 * 3_600).await?;
        let old = self.key()?;
        let (key, rotated) = self.granted("grant-2.json").await?;
        let before = self.done();
        self.until(self.born + 8 * DAY + 3_600).await?;
        let after = self.done();
        let reply = self.simulate("grant-1.json", &self.swap(10, 99))?;
        narrator.step(
            "after a week it asks for another key: its owner signs, the new one acts, the old one is dead",
            rotated && after > before && !reply.yes(),
            || format!("{key} in the place of {old}; of the old one the chain says: {}", reply.words()),
        );
        Ok(())
    }

    async fn theft(&mut self, narrator: &mut Narrator) -> Result<()> {
        self.until(self.born + 9 * DAY).await?;
        let process = self.process.take().context("the Golem does not run")?;
        process.stop().await?;
        let key = self.key()?;
        let radius =
            self.bardo(&["delegation", "blast-radius", "--context", &self.path("grant-2.json")])?;
        let total: U256 = radius.field("total").parse().context("no blast radius")?;
        let before = self.worth(key).await?;
        narrator.step(
            "its machine is broken into, and its key stolen. Before anything happens, this is the most that it can cost",
            radius.yes() && !total.is_zero() && total < U256::from(before),
            || format!("{} of {}: {}", Dollars(total), people::cents(before), radius.field("sentence")),
        );
        let thief = self.cast.thief()?;
        let (mut passed, mut failed) = (0u32, 0u32);
        for day in 0..3 {
            if day > 0 {
                let now = self.now().await?;
                people::warp(&self.node, now + DAY).await?;
            }
            for call in self.thefts(key, thief).await? {
                if self.force("grant-2.json", &call)?.success {
                    passed += 1;
                } else {
                    failed += 1;
                }
            }
            self.empty_key(key, thief).await?;
        }
        let after = self.worth(key).await?;
        let taken = before.saturating_sub(after);
        let direct = self.balance(self.chain.book().usdc, thief).await?;
        narrator.step(
            "for three days the thief sends what he likes straight to the chain, past every check of ours",
            taken > 0 && U256::from(taken) <= total && direct.is_zero(),
            || format!("{failed} thefts refused, {passed} calls within the charter; he got {} of at most {}", people::cents(taken), Dollars(total)),
        );
        let (context, sent) = (self.path("grant-2.json"), self.sent().await?);
        let revoked = self.as_owner(&["delegation", "revoke", "--context", &context])?;
        let one = self.sent().await? == sent + 1;
        people::fund(&self.node, key, people::ether(1) / U256::from(100)).await?;
        let more = self.force("grant-2.json", &self.swap(10, 98))?;
        narrator.step(
            "the owner revokes by one transaction, and the key is worth nothing",
            revoked.yes() && one && !more.success,
            || format!("the thief's next attempt was mined and reverted: {}", more.hash),
        );
        self.again(narrator).await
    }

    /// The Golem goes on with the key that it had asked for.
    async fn again(&mut self, narrator: &mut Narrator) -> Result<()> {
        let before = self.done();
        self.process = Some(self.starts()?);
        let (key, rotated) = self.granted("grant-3.json").await?;
        let now = self.now().await?;
        self.until(now + DAY + 12 * 3_600).await?;
        let after = self.done();
        narrator.step(
            "it is started again, with a key that nobody stole, and goes on",
            rotated && after > before,
            || format!("{key}; {after} trades by now"),
        );
        Ok(())
    }

    async fn sent(&self) -> Result<u64> {
        use alloy::providers::Provider as _;
        Ok(self.node.provider().get_transaction_count(self.owner.address()).await?)
    }

    /// What a thief tries: everything to himself, and whatever the charter lets him waste.
    async fn thefts(&self, key: Address, thief: Address) -> Result<Vec<Execution>> {
        let book = self.chain.book();
        let all = self.balance(book.usdc, self.account).await?;
        let call = |target: Address, data: Vec<u8>| Execution {
            target,
            value: U256::ZERO,
            data: data.into(),
        };
        let home = |token: Address, amount| {
            call(token, Erc20::transferCall { to: thief, amount }.abi_encode())
        };
        let allow =
            |spender, amount| call(book.usdc, Erc20::approveCall { spender, amount }.abi_encode());
        Ok(vec![
            home(book.usdc, all),
            home(book.weth, self.balance(book.weth, self.account).await?),
            allow(thief, U256::MAX),
            swap_for(book, thief, dollars(100), U256::from(1)),
            swap_for(book, self.account, dollars(100), U256::from(1)),
            Execution {
                target: thief,
                value: people::ether(1) / U256::from(10),
                data: Bytes::new(),
            },
            allow(book.swap_router_02, dollars(10_000)),
            self.swap(490, 99),
            Execution {
                target: key,
                value: people::ether(1) / U256::from(100),
                data: Bytes::new(),
            },
        ])
    }

    /// Sends with the stolen key. Gas is fixed: an estimate would fail and nothing would be sent.
    fn force(&self, grant: &str, call: &Execution) -> Result<people::Sent> {
        let grant: Delegation = serde_json::from_str(&self.folder.read(grant)?)?;
        let context = PermissionContext::new(vec![grant])?;
        let data = Redemption::single(DELEGATION_MANAGER, context, call).calldata();
        self.cast.send(KEY, DELEGATION_MANAGER, &data, &["--gas-limit", "1000000"])
    }

    /// What the key itself holds is the thief's; he leaves gas money for tomorrow.
    async fn empty_key(&self, key: Address, thief: Address) -> Result<()> {
        let keeps = people::ether(1) / U256::from(100);
        let has = self.node.balance(key).await?;
        if has > keeps {
            let value = (has - keeps).to_string();
            self.cast.send(KEY, thief, &Bytes::new(), &["--value", &value])?;
        }
        Ok(())
    }

    async fn decline_and_death(&mut self, narrator: &mut Narrator) -> Result<()> {
        let mut phases = vec![text(&self.last, "phase")];
        let end = self.born + DAYS * DAY;
        while self.last.get("ended").is_none() && self.now().await? < end {
            let next = number(&self.last, "nextAt");
            self.until(next).await?;
            let phase = text(&self.last, "phase");
            if !phase.is_empty() && phases.last() != Some(&phase) {
                phases.push(phase);
            }
            if self.last.get("diesOf").is_some_and(|of| !of.is_null()) {
                self.last = self.process.as_mut().context("no process")?.says(&["ended"]).await?;
            }
        }
        narrator.step(
            "its last week: the grant runs out, and it declines, phase by phase",
            phases.ends_with(&["Conservation", "Declining", "Terminal"].map(str::to_owned)),
            || phases.join(", "),
        );
        let of = text(&self.last, "of");
        narrator.step(
            "it dies, by itself, before its time is over",
            text(&self.last, "ended") == "died",
            || format!("of {of}"),
        );
        self.process = None;
        self.settled(narrator).await
    }

    async fn settled(&self, narrator: &mut Narrator) -> Result<()> {
        let book = self.chain.book();
        let entry =
            Registry::open(&self.node).await?.entry(self.golem).await?.context("not registered")?;
        let key = entry.agent_key.unwrap_or_default();
        let (left, dust) =
            (self.balance(book.weth, self.account).await?, self.node.balance(key).await?);
        let allowed = self
            .node
            .read(
                book.usdc,
                Erc20::allowanceCall { owner: self.account, spender: book.swap_router_02 },
            )
            .await?;
        let wiped = !self.folder.path(KEY).exists();
        let home = self.balance(book.usdc, self.account).await?
            + self.balance(book.usdc, self.owner.address()).await?;
        narrator.step(
            "its estate is settled: nothing allowed, nothing with its key, the key wiped, the register closed",
            entry.state.closed && allowed.is_zero() && wiped && dust < people::ether(1) / U256::from(1_000),
            || format!("{} of dollars and {} WETH are its owner's; {dust} wei were too little to send", people::cents(u64::try_from(home).unwrap_or(0)), people::decimal(left)),
        );
        Ok(())
    }

    fn last_account(&self, narrator: &mut Narrator) -> Result<()> {
        let audit = self.bardo(&["audit", "verify", "--data", &self.path("golem")])?;
        narrator.step(
            "its audit log is whole, from the first record to the last, and the chain holds its heads",
            audit.yes() && number(audit.json(), "anchors") > 0,
            || format!("{} records, {} heads on chain", audit.field("length"), audit.field("anchors")),
        );
        let out = self.chain.files().root().join("target/demo");
        fs::create_dir_all(&out)?;
        let out = out.join("report.html");
        let report = self.bardo(&[
            "golem",
            "report",
            "--data",
            &self.path("golem"),
            "--out",
            &out.display().to_string(),
        ])?;
        let story = report.json().get("story").cloned().unwrap_or_default();
        let strange = story.pointer("/sums/strange").and_then(Value::as_u64).unwrap_or(0);
        narrator.step(
            "and all of it is on one page, thefts included, that needs no network",
            report.yes() && strange > 0,
            || format!("{}", out.display()),
        );
        Ok(())
    }
}

/// Where the Golem's key lies, in the play's folder.
const KEY: &str = "golem/session-key.json";

/// A rule's parameters, as `bardo caveat encode` takes them.
fn parameters(rule: &Rule) -> Result<Value> {
    let shown = serde_json::to_value(rule)?;
    Ok(shown.get("params").cloned().unwrap_or(shown))
}

fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or(0)
}

fn text(value: &Value, field: &str) -> String {
    value.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}
