//! What an onboarding came to: files for whoever goes on, and what it took.

use super::{
    bounds::Bounds,
    folder::{GolemFile, GolemWallet, written},
    runway,
};
use crate::answer::{Answer, Failure};
use alloy::primitives::{Address, B256, U256};
use anyhow::anyhow;
use golem_chain::{Costs, Node, Onboarded, Prompt, Provisioned, Wished, provisioning};
use golem_custody::{CustodyMode, Means, Onboarding, Runway, WalletApp};
use golem_delegation::PermissionContext;
use serde_json::{Map, Value, json};
use std::path::Path;

/// All that is to be said.
pub(super) struct Shown<'a> {
    pub(super) folder: &'a Path,
    pub(super) salt: B256,
    pub(super) node: &'a Node,
    pub(super) onboarded: &'a Onboarded,
    pub(super) was_done: bool,
    pub(super) wished: Wished,
    pub(super) app: Option<WalletApp>,
    /// What a wallet may hold, shares of vaults among it.
    pub(super) tokens: Vec<Address>,
    pub(super) runway: Option<Runway>,
}

impl Shown<'_> {
    /// Lays the files down and says what was done. They are written anew each time: the books have everything, and these are
    /// copies.
    pub(super) async fn answer(self) -> Result<Answer, Failure> {
        let Onboarded { golem, at, costs } = self.onboarded;
        let (owner, means, identity) = match at {
            Onboarding::Summoning { owner, means, identity, .. } => (owner, means, *identity),
            Onboarding::Live { owner, means, .. } => (owner, means, None),
            other => return Err(Failure::Fault(anyhow!("it ended at step {}", other.number()))),
        };
        let mut file = GolemFile {
            golem: *golem,
            chain_id: self.node.chain_id(),
            mode: self.wished.mode,
            owner: *owner,
            salt: Some(self.salt),
            account: *owner,
            session: None,
            grant: None,
            runway: None,
            wallet: None,
            life: GolemFile::of(self.folder)?.and_then(|file| file.life),
        };
        let mut json = Map::new();
        let mut put = |name: &str, value: Value| {
            json.insert(name.to_owned(), value);
        };
        let mut text = format!("Golem    {golem}\nowner    {owner}\n");
        match means {
            Means::Granted { account, session, grant } => {
                let path =
                    written(self.folder, "grant.json", &serde_json::to_string_pretty(grant)?)?;
                (file.account, file.session) = (*account, Some(*session));
                file.grant = Some("grant.json".to_owned());
                put("account", json!(account));
                put("session", json!(session));
                put("grant", json!(path));
                text.push_str(&format!(
                    "account  {account}\nkey      {session}\ngrant    {}\n",
                    path.display()
                ));
                let bounds = Bounds::of(grant);
                put("bounds", json!(bounds.as_ref().map(Bounds::json)));
                if let Some(bounds) = bounds {
                    text.push_str(&bounds.text());
                } else if self.wished.mode == CustodyMode::LocalKey {
                    text.push_str(
                        "bounds   none but the charter's: nothing counts its calls, and gas money is in no daily sum\n",
                    );
                }
            }
            Means::Provided { wallet, address, policy, .. } => {
                file.account = *address;
                file.wallet = self.app.as_ref().map(|app| GolemWallet {
                    service: app.base().to_owned(),
                    app_id: app.id().to_owned(),
                    id: wallet.clone(),
                    policy: policy.clone(),
                    tokens: self.tokens.clone(),
                });
                put("account", json!(address));
                put("wallet", json!({ "id": wallet, "address": address, "policy": policy }));
                let rules = policy.as_deref().unwrap_or("none");
                text.push_str(&format!("wallet   {wallet}, {address}\nrules    {rules}\n"));
            }
        }
        let mut runway_words = String::new();
        if let Some(runway) = &self.runway {
            let links = PermissionContext::decode(&runway.context)?;
            let links = serde_json::to_string_pretty(links.links())?;
            written(self.folder, "runway.json", &links)?;
            file.runway = Some("runway.json".to_owned());
            let held = self.node.balance(runway.session).await?;
            put("runway", runway::json(runway, held));
            runway_words = format!("\n{}\n", runway::said(runway, held));
        }
        let config = file.laid_down(self.folder)?;
        let rows = provisioning(costs, self.wished);
        put("done", json!(true));
        put("wasDone", json!(self.was_done));
        put("live", json!(self.wished.live));
        put("mode", json!(self.wished.mode));
        put("golem", json!(golem));
        put("owner", json!(owner));
        put("identity", json!(identity.map(|id: U256| id.to_string())));
        put("config", json!(config));
        put("steps", json!(costs));
        put("provisioning", json!(rows));
        put(
            "total",
            json!({
                "prompts": costs.prompts(),
                "transactions": costs.transactions(),
                "gas": costs.gas(),
                "milliseconds": costs.milliseconds(),
            }),
        );
        text.push_str(&format!("config   {}\n\n", config.display()));
        text.push_str(&table(costs));
        text.push('\n');
        text.push_str(&eight(&rows));
        text.push_str(&runway_words);
        text.push_str(match (self.was_done, self.wished.mode) {
            (true, CustodyMode::Embedded) => {
                "\nIt was done before: nothing was asked or sent. `bardo golem run` does not wake its Golem; \
                 `bardo wallet sweep` brings everything home."
            }
            (true, _) => "\nIt was done before: nothing was asked or sent. The first tick is the Golem's.",
            (false, CustodyMode::Embedded) => {
                "\nDone. The wallet's rules are the service's to keep: what they do not say is in docs/adr/0010-embedded-wallets.md.\n\
                 `bardo golem run` does not wake its Golem; `bardo wallet sweep` brings everything home."
            }
            (false, _) => {
                "\nDone. The sign-in is a signature of its own; the upgrade of your account is signed with the transaction that carries it.\n\
                 The first tick is the Golem's."
            }
        });
        Ok(Answer::yes(Value::Object(json), text))
    }
}

/// One line: what it was, and what it took.
fn row(name: &str, prompts: &[Prompt], transactions: u64, gas: u64, milliseconds: u64) -> String {
    let words: Vec<&str> = prompts
        .iter()
        .map(|prompt| match prompt {
            Prompt::SignIn => "sign-in",
            Prompt::Grant => "grant",
            Prompt::Transaction => "transaction",
        })
        .collect();
    let words = if words.is_empty() { "-".to_owned() } else { words.join(", ") };
    line(name, &words, transactions, gas, milliseconds)
}

fn line(name: &str, prompts: &str, transactions: u64, gas: u64, milliseconds: u64) -> String {
    let (seconds, rest) = (milliseconds / 1_000, milliseconds % 1_000);
    format!("{name:<13} {prompts:<15} {transactions:>12} {gas:>9} {seconds:>6}.{rest:03}\n")
}

/// What each step took, and the sum.
fn table(costs: &Costs) -> String {
    const NAMES: [&str; 6] = ["sign in", "custody", "wallet", "strategy", "identity", "summoning"];
    let mut text = format!(
        "{:<13} {:<15} {:>12} {:>9} {:>10}\n",
        "step", "prompts", "transactions", "gas", "seconds"
    );
    for cost in costs.steps() {
        let name = NAMES.get(usize::from(cost.step).saturating_sub(1)).copied().unwrap_or("?");
        let name = format!("{} {name}", cost.step);
        text.push_str(&row(&name, &cost.prompts, cost.transactions, cost.gas, cost.milliseconds));
    }
    let (prompts, transactions) = (costs.prompts().to_string(), costs.transactions());
    text.push_str(&line("sum", &prompts, transactions, costs.gas(), costs.milliseconds()));
    text
}

/// The eight by which Golems are provisioned: the same costs, read otherwise.
fn eight(rows: &[Provisioned]) -> String {
    let mut text = String::from("provisioning, by the same costs\n");
    for (number, one) in (1..).zip(rows) {
        let name = format!("{number} {}", one.step.name());
        let took = match (one.skipped, one.why) {
            (true, Some(why)) => format!("skipped: {why}"),
            (false, Some(why)) => why.to_owned(),
            (_, None) => {
                let (seconds, rest) = (one.milliseconds / 1_000, one.milliseconds % 1_000);
                let (prompts, transactions, gas) = (one.prompts.len(), one.transactions, one.gas);
                format!(
                    "{prompts} prompts, {transactions} transactions, {gas} gas, {seconds}.{rest:03} s"
                )
            }
        };
        text.push_str(&format!("{name:<20} {took}\n"));
    }
    text
}
