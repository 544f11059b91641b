//! SPEC K10: what is lost and what is not, a test for each row of the table, on the real contracts with real books and keys.
//!
//! | row | where |
//! |---|---|
//! | process crash | `crash` |
//! | host lost, lost mid-transaction | `host` |
//! | Privy away | `embedded::away` |
//! | DelegationManager paused | `paused` |
//! | key stolen | `stolen`; with everything else the Golem has, `thief::disk` |

mod crash;
mod host;
mod paused;
mod stolen;

use crate::books::{done, lane_of, mandate, opened};
use alloy::{
    primitives::{Address, U256},
    providers::Provider as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::framework::DELEGATION_MANAGER;
use bardo_store::Store;
use bardo_testkit::{Owner, STIPEND, Stage, charter, chartered, dollars, fair_swap, judged};
use golem_chain::{AccountKind, Landing, Lane, environment};
use golem_custody::{
    ClearingPolicy, DenialCode, KeyHandle, Keyring as _, Keys, Mandate, Redemption, Rehearsal,
    rehearse,
};
use golem_delegation::{Delegation, PermissionContext, grant::Grant};
use std::{path::Path, sync::Arc};
use tempfile::TempDir;

/// What a grant lets go in any 24 hours, in dollars.
const CAP: u64 = 1_000;

/// An owner with 10,000 dollars, and the chain.
struct World {
    stage: Stage,
    owner: Owner,
}

impl World {
    async fn open(kind: AccountKind) -> Result<Self> {
        let stage = Stage::open().await?;
        let owner = stage.fixed_owner(kind).await?;
        Ok(Self { stage, owner })
    }

    /// The owner's first grant: [`CAP`] a day, by one call or many.
    async fn first_grant(&self, key: Address) -> Result<Delegation> {
        let law = charter(&self.stage, &self.owner, key, |law| {
            (law.nav_cap, law.vault) = (2 * law.spend_cap, Address::ZERO);
        });
        let law = law.await?;
        ensure!(U256::from(law.spend_cap) == dollars(CAP), "another cap");
        self.signs(chartered(&law)?)
    }

    /// His next one, for another key: the one before is all that he has to have kept.
    fn next_grant(&self, before: &Delegation, key: Address) -> Result<Delegation> {
        self.signs(Grant::read(before, &environment())?.rotate(key)?.delegation)
    }

    fn signs(&self, grant: Delegation) -> Result<Delegation> {
        Ok(self.owner.signer.grant(&self.stage.domain(), grant)?)
    }

    /// Transactions that the owner has sent.
    async fn sent_by_owner(&self) -> Result<u64> {
        let owner = self.owner.signer.address();
        Ok(self.stage.node().provider().get_transaction_count(owner).await?)
    }

    /// Gas money, from whoever runs the Golem.
    async fn fuels(&self, key: Address) -> Result<()> {
        self.stage.fund(key, STIPEND, U256::ZERO).await
    }

    const fn account(&self) -> Address {
        self.owner.account.address
    }

    async fn usdc(&self) -> Result<U256> {
        self.stage.balance_of(self.stage.book().usdc, self.account()).await
    }

    /// Dollars that were sold.
    async fn sold(&self) -> Result<U256> {
        Ok(dollars(10_000) - self.usdc().await?)
    }

    fn sale(&self, grant: &Delegation, usd: u64) -> Result<Redemption> {
        let call = fair_swap(&self.stage, self.account(), dollars(usd));
        let context = PermissionContext::new(vec![grant.clone()])?;
        Ok(Redemption::single(DELEGATION_MANAGER, context, &call))
    }

    /// Whether whoever has the grant's key gets a sale through, straight to the chain.
    async fn forced(&self, grant: &Delegation, usd: u64) -> Result<bool> {
        let data = self.sale(grant, usd)?.calldata();
        let sent = self.stage.send_as(grant.delegate, DELEGATION_MANAGER, U256::ZERO, data);
        Ok(sent.await?.status())
    }

    /// What a dry run says of a sale by `key`; none where it would pass.
    async fn judges(
        &self,
        grant: &Delegation,
        key: Address,
        usd: u64,
    ) -> Result<Option<DenialCode>> {
        let (sale, policy) = (judged(self.sale(grant, usd)?), ClearingPolicy::default());
        Ok(match rehearse(&self.stage.foresight(), sale, key, &policy).await? {
            Rehearsal::Passed(_) => None,
            Rehearsal::Refused(denial) => Some(denial.code),
        })
    }

    /// No sale under this grant passes, for this reason: neither the judge nor the chain lets it.
    async fn is_dead(&self, grant: &Delegation, why: DenialCode) -> Result<()> {
        assert_eq!(self.judges(grant, grant.delegate, 1).await?, Some(why));
        ensure!(!self.forced(grant, 1).await?, "{why}, and the chain lets it through");
        Ok(())
    }
}

/// A Golem's process: all that it has is in its folder and in here.
struct Golem {
    folder: TempDir,
    keys: Keys,
    mandate: Mandate,
    store: Arc<Store>,
    grant: Delegation,
}

impl Golem {
    /// A hosted one, which was granted what the owner grants first.
    async fn hosted(world: &World) -> Result<Self> {
        let keys = Keys::hosted();
        let key = keys.current().await.context("no key")?;
        Self::with(world, keys, world.first_grant(key).await?).await
    }

    /// Another one on another host, which has a newborn key and the grant for it.
    async fn after(world: &World, before: &Delegation) -> Result<Self> {
        let keys = Keys::hosted();
        let key = keys.current().await.context("no key")?;
        Self::with(world, keys, world.next_grant(before, key)?).await
    }

    async fn with(world: &World, keys: Keys, grant: Delegation) -> Result<Self> {
        world.fuels(grant.delegate).await?;
        Self::in_folder(tempfile::tempdir()?, keys, grant)
    }

    /// On the books that are there.
    fn in_folder(folder: TempDir, keys: Keys, grant: Delegation) -> Result<Self> {
        let (mandate, store) = mandate(folder.path())?;
        Ok(Self { folder, keys, mandate, store, grant })
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    async fn lane(&self, world: &World) -> Result<Lane<KeyHandle>> {
        let (node, now) = (world.stage.node().clone(), world.stage.now().await?);
        lane_of(&self.keys, node, self.mandate.clone(), now).await
    }

    async fn tries(&self, world: &World, usd: u64) -> Result<Landing> {
        let sale = judged(world.sale(&self.grant, usd)?);
        Ok(self.lane(world).await?.redeem(sale).await?)
    }

    async fn sells(&self, world: &World, usd: u64) -> Result<()> {
        done(&self.tries(world, usd).await?)?;
        ensure!(opened(&self.store).await?.is_empty(), "it is done, and open in the books");
        Ok(())
    }

    /// Refused before anything was signed, and nothing stays reserved.
    async fn is_refused(&self, world: &World, usd: u64, why: DenialCode) -> Result<()> {
        let provider = world.stage.node().provider();
        let before = provider.get_transaction_count(self.grant.delegate).await?;
        match self.tries(world, usd).await? {
            Landing::Refused(denial) => assert_eq!(denial.code, why, "{denial}"),
            other => anyhow::bail!("not refused: {other:?}"),
        }
        assert_eq!(provider.get_transaction_count(self.grant.delegate).await?, before);
        ensure!(opened(&self.store).await?.is_empty(), "refused, and open in the books");
        Ok(())
    }
}
