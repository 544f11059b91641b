//! Decline, death, settlement, and the last account of it.

use super::{DAY, DAYS, KEY, Play, number, text};
use crate::demo::{Narrator, people};
use alloy::primitives::U256;
use anyhow::{Context as _, Result};
use bardo_bindings::defi::Erc20;
use golem_chain::Registry;
use serde_json::Value;
use std::fs;

impl Play {
    pub(super) async fn decline_and_death(&mut self, narrator: &mut Narrator) -> Result<()> {
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
        let owner = self.owner.address();
        let (left, dust) = (
            self.balance(book.weth, self.account).await? + self.balance(book.weth, owner).await?,
            self.node.balance(key).await?,
        );
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

    pub(super) fn last_account(&self, narrator: &mut Narrator) -> Result<()> {
        let audit = self.bardo(&["audit", "verify", "--data", &self.path("golem")])?;
        narrator.step(
            "its audit log is whole, from the first record to the last, and the chain holds its heads",
            audit.yes() && number(audit.json(), "anchors") > 0,
            || format!("{} records, {} heads on chain", audit.field("length"), audit.field("anchors")),
        );
        self.bequest(narrator)?;
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

    /// What it left, for its owner alone.
    fn bequest(&self, narrator: &mut Narrator) -> Result<()> {
        let left = fs::read_dir(self.data().join("legacy"))?.flatten().map(|file| file.path());
        let file = left.into_iter().find(|path| path.extension().is_some_and(|of| of == "bequest"));
        let file = file.context("it left nothing")?.display().to_string();
        let (key, password) = (self.path("owner.json"), self.path("password"));
        let words = ["bequest", "open", &file, "--keystore", &key, "--password-file", &password];
        let opened = people::bardo(&words.map(str::to_owned))?;
        narrator.step(
            "it left its testament, its memories and its log, sealed for its owner alone; he opens them",
            opened.yes(),
            || "sealed to the key that signed its grant; nobody was asked for anything".to_owned(),
        );
        Ok(())
    }
}
