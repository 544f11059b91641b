//! A thief with the key.

use super::{DAY, KEY, LANDLORD, Play};
use crate::demo::{Narrator, dollars, people, swap_for};
use alloy::{
    primitives::{Address, Bytes, U256},
    providers::Provider as _,
    sol_types::SolCall as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{defi::Erc20, framework::DELEGATION_MANAGER};
use golem_custody::{Execution, Redemption};
use golem_delegation::{Delegation, PermissionContext, blast_radius::Dollars};

impl Play {
    pub(super) async fn theft(&mut self, narrator: &mut Narrator) -> Result<()> {
        self.until(self.born + 10 * DAY).await?;
        self.wants_another_key().await?;
        let process = self.process.take().context("the Golem does not run")?;
        process.stop().await?;
        let key = self.key()?;
        let radius = self.bardo(&["delegation", "blast-radius", &self.path("grant-2.json")])?;
        let total: U256 = radius.field("total").parse().context("no blast radius")?;
        let before = self.worth(key).await?;
        narrator.step(
            "its machine is broken into, and its key stolen: its owner asks for another. Before anything happens, this is the most that it can cost",
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

    /// Somebody is on its machine: its owner asks for another key before he takes it off the net.
    async fn wants_another_key(&mut self) -> Result<()> {
        let asked = self.as_owner(&["golem", "rotate", "--data", &self.path("golem")])?;
        ensure!(asked.yes(), "no other key was asked for: {}", asked.field("reason"));
        // It wakes for its owner's word.
        self.tick().await
    }

    /// The Golem goes on with the key that its owner asked for.
    async fn again(&mut self, narrator: &mut Narrator) -> Result<()> {
        let before = self.done();
        let letter = self.signs_for_next()?;
        let key = letter.1;
        self.process = Some(self.starts()?);
        let rotated = self.takes(letter, "grant-3.json").await?;
        self.wallet_pays_on().await?;
        let usdc = self.chain.book().usdc;
        let unpaid = self.balance(usdc, LANDLORD).await?;
        let now = self.now().await?;
        self.until(now + DAY + 12 * 3_600).await?;
        let (after, paid) = (self.done(), self.balance(usdc, LANDLORD).await?);
        narrator.step(
            "it is started again, with a key that nobody stole, and goes on; his wallet grants that key its running costs, and it pays on",
            rotated && after > before && paid > unpaid,
            || {
                let paid = people::cents(u64::try_from(paid).unwrap_or_default());
                format!("{key}; {after} trades by now, {paid} paid")
            },
        );
        Ok(())
    }

    async fn sent(&self) -> Result<u64> {
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
}
