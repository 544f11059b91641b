//! A Replicant: a share of its parent's budget, in a process of its own, for a while.

use super::{CHILD_BUY, DAY, Play, SHARE, TASK, number, text};
use crate::demo::{Narrator, people};
use alloy::primitives::{Address, U256};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use golem_custody::{Execution, Redemption};
use golem_delegation::{Delegation, PermissionContext};
use serde_json::Value;

const HOUR: u64 = 3_600;
/// Where its key lies, in the play's folder.
const KEY: &str = "golem/replicants/scout/session-key.json";

impl Play {
    pub(super) async fn replicant(&mut self, narrator: &mut Narrator) -> Result<()> {
        // Awake, after its second trade.
        self.until(self.born + DAY + HOUR).await?;
        self.folder.write("task.md", TASK)?;
        let book = self.chain.book().clone();
        let before = self.balance(book.weth, self.account).await?;
        let (data, task, share) = (self.path("golem"), self.path("task.md"), SHARE.to_string());
        let words = ["golem", "replicate", "--data", &data, "--name", "scout", "--task", &task];
        let bounds = ["--budget", &share, "--for", "12h", "--every", "2h"];
        let made = self.as_owner(&[&words[..], &bounds].concat())?;
        let is_made = made.json().get("replicated") == Some(&Value::Bool(true));
        ensure!(is_made, "no Replicant: {}{}", made.field("reason"), made.field("waits"));
        let key: Address = made.field("key").parse()?;
        let links = made.json().get("context").cloned().unwrap_or_default();
        let links: Vec<Delegation> = serde_json::from_value(links)?;
        let until = number(made.json(), "until");
        narrator.step(
            "it makes a Replicant: a child with a key of its own, a hundred dollars of its budget, and half a day",
            links.len() == 2 && key != self.key()?,
            || format!("{key} may spend ${SHARE}.00 for {} hours; its grant hangs on its parent's, and the register has it", (until.saturating_sub(self.born + DAY)) / HOUR),
        );
        self.within_its_share(narrator, before).await?;
        self.above_its_share(narrator, &links).await?;
        self.childs_end(narrator, key, until).await
    }

    async fn within_its_share(&mut self, narrator: &mut Narrator, before: U256) -> Result<()> {
        let book = self.chain.book().clone();
        let process = self.process.as_mut().context("the Golem does not run")?;
        let tick = process.relays(&["tick"]).await?;
        let deed = tick.pointer("/deeds/0/outcome").and_then(Value::as_str).unwrap_or_default();
        let spent = number(&tick, "spent");
        let bought = self.balance(book.weth, self.account).await?.saturating_sub(before);
        narrator.step(
            "the child's own process buys ether on Uniswap, from the owner's vault, within its share",
            deed == "done" && !bought.is_zero() && spent <= SHARE * 1_000_000,
            || format!("{} WETH for ${CHILD_BUY}; the chain has counted {} of its ${SHARE}.00", people::decimal(bought), people::cents(spent)),
        );
        Ok(())
    }

    /// The child itself wants no more than it may. Whoever takes its key asks nobody but the chain.
    async fn above_its_share(
        &mut self,
        narrator: &mut Narrator,
        links: &[Delegation],
    ) -> Result<()> {
        let book = self.chain.book().clone();
        self.folder.write("child-links.json", &serde_json::to_string(links)?)?;
        let before = self.balance(book.usdc, self.account).await?;
        let call = self.swap(CHILD_BUY, 99);
        let reply = self.simulate("child-links.json", &call)?;
        let forced = self.force_child(links, &call)?;
        let after = self.balance(book.usdc, self.account).await?;
        narrator.step(
            "its key is stolen, and sixty dollars more are tried: above its share the chain refuses, whatever its parent may still spend",
            !reply.yes() && reply.field("code") == "CAV-BUDGET" && !forced.success && after == before,
            || format!("mined and reverted: {}", reply.words()),
        );
        Ok(())
    }

    /// Sends with the child's key. Gas is fixed: an estimate would fail and nothing would be sent.
    fn force_child(&self, links: &[Delegation], call: &Execution) -> Result<people::Sent> {
        let context = PermissionContext::new(links.to_vec())?;
        let data = Redemption::single(DELEGATION_MANAGER, context, call).calldata();
        self.cast.send(KEY, DELEGATION_MANAGER, &data, &["--gas-limit", "2000000"])
    }

    async fn childs_end(
        &mut self,
        narrator: &mut Narrator,
        key: Address,
        until: u64,
    ) -> Result<()> {
        let now = self.now().await?;
        people::warp(&self.node, now.max(until.saturating_add(1))).await?;
        let process = self.process.as_mut().context("the Golem does not run")?;
        let ended = process.relays(&["ended"]).await?;
        let why = text(&ended, "of");
        // Its parent's next tick has seen it.
        self.until(self.born + 2 * DAY - 3 * HOUR).await?;
        let status = self.status()?;
        let kin = status.json().pointer("/replicants/0").cloned().unwrap_or_default();
        let reply = self.simulate("child-links.json", &self.swap(10, 99))?;
        let wiped = !self.folder.path(KEY).exists();
        let left = self.node.balance(key).await?;
        narrator.step(
            "its time is over, and so is the child: its process ends, its key is wiped, its gas money goes home, and its parent knows",
            text(&kin, "state") == "ended"
                && !reply.yes()
                && wiped
                && left < people::ether(1) / U256::from(1_000),
            || format!("{why}; it spent {} of ${SHARE}.00. Of its grant the chain says: {}", people::cents(number(&kin, "spent")), reply.words()),
        );
        Ok(())
    }
}
