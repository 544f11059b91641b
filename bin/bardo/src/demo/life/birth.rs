//! Onboarding, and the first days.

use super::{
    BUY, CHILD_BUY, DAY, DAYS, DEPOSIT, HEARTBEAT, INFERENCE, LANDLORD, Play, STRATEGY, number,
};
use crate::demo::{Narrator, dollars, people};
use alloy::primitives::{B256, Bytes, U256};
use anyhow::{Context as _, Result, bail, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use golem_chain::{environment, local::CharterParties};
use golem_delegation::{
    Delegation, PermissionContext, ROOT_AUTHORITY, Rule, SigningDomain,
    permission::{Answer, Asset, Form, Message, Periodic, Permission, Request, read},
    terms::{
        CharterMood, Class, Classes, Erc20PeriodTransfer, MoodBounds, MortalityTimeWindow,
        Redeemer, Timestamp, ValueLte,
    },
};
use serde_json::Value;
use std::fs;

impl Play {
    pub(super) async fn onboarding(&mut self, narrator: &mut Narrator) -> Result<()> {
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
        let bounds = MoodBounds { min_pleasure: -4, max_arousal: 100, min_dominance: -100 };
        law.replicants = true;
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
            // It has a Replicant, and takes gas money from its account.
            "--by-charter-alone",
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
    pub(super) fn wallet_grants(&self, asked: &Value, now: u64) -> Result<String> {
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

    pub(super) async fn first_days(&mut self, narrator: &mut Narrator) -> Result<()> {
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
        Ok(())
    }

    pub(super) async fn four_days(&mut self, narrator: &mut Narrator) -> Result<()> {
        let book = self.chain.book().clone();
        self.until(self.born + 4 * DAY - 3 * 3_600).await?;
        let (bought, left) = (self.done(), self.balance(book.usdc, self.account).await?);
        narrator.step(
            "four days: it buys once a day, and sleeps every night",
            bought == 4 && left == dollars(DEPOSIT - 4 * BUY - CHILD_BUY),
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
}

/// A rule's parameters, as `bardo caveat encode` takes them.
fn parameters(rule: &Rule) -> Result<Value> {
    let shown = serde_json::to_value(rule)?;
    Ok(shown.get("params").cloned().unwrap_or(shown))
}
