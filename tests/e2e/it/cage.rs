//! SPEC P1: the cage under what the owner published, judging by facts of a real chain.

mod boot;
mod budget;
mod holdings;
mod judging;
mod pipeline;
mod words;

use crate::{
    field::Field,
    safety::{RulesHarness, built},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    providers::ext::AnvilApi as _,
    sol_types::SolCall as _,
};
use anyhow::{Result, bail, ensure};
use bardo_bindings::{
    GolemCharterEnforcer, PolicyCage, framework::DELEGATION_MANAGER, golem_charter_enforcer,
    policy_cage,
};
use bardo_testkit::{Agent, STIPEND, charter_of, chartered};
use golem_chain::{AccountKind, Ledger, boot, facts};
use golem_custody::{Execution, SessionKey, SessionSigner as _};
use golem_delegation::{SpendWindow, terms::GolemCharter};
use golem_safety::{
    Boot, Cage, Call, DenialCode, Facts, Intent, MicroDollars, Parties, Permit, Policy, Verdict,
};

const SALT: B256 = B256::repeat_byte(0x61);
const CONSTITUTION: &[u8] = b"Lose nothing that is not yours.\n";
const DOLLAR: u64 = 1_000_000;
const COIN: Address = Address::ZERO;

const fn dollars(dollars: u64) -> MicroDollars {
    MicroDollars::new(dollars as u128 * DOLLAR as u128)
}

/// A Golem under its charter, whose account holds 10,000 dollars and no ether.
struct Scene {
    field: Field,
    agent: Agent,
    law: GolemCharter,
}

impl Scene {
    async fn open(change: impl FnOnce(&mut GolemCharter)) -> Result<Self> {
        Self::of(AccountKind::Hybrid, change).await
    }

    async fn of(kind: AccountKind, change: impl FnOnce(&mut GolemCharter)) -> Result<Self> {
        let (stage, owner) = Field::prepared(kind).await?;
        let key = SessionKey::born();
        stage.fund(key.address(), STIPEND, U256::ZERO).await?;
        let law = charter_of(&stage, &owner, SALT, key.address(), change).await?;
        let grant = owner.signer.grant(&stage.domain(), chartered(&law)?)?;
        let agent = Agent { key, grant, account: law.account };
        let field = Field { stage, owner, golem_id: law.golem_id };
        Ok(Self { field, agent, law })
    }

    /// A third in one asset, a fifth down, $500 at once, $800 a day, $1000 a session.
    fn policy(&self) -> Policy {
        let book = self.field.stage.book();
        let mut assets = vec![COIN, book.usdc, book.weth];
        assets.sort_unstable();
        Policy {
            constitution_hash: keccak256(CONSTITUTION),
            concentration_bps: 3_333,
            drawdown_bps: 2_000,
            spend_per_transaction: 500 * DOLLAR,
            spend_per_session: 1_000 * DOLLAR,
            spend_per_day: 800 * DOLLAR,
            assets,
        }
    }

    /// The owner's key publishes it.
    async fn publish(&self, policy: &Policy) -> Result<()> {
        let policy = PolicyCage::Policy {
            constitutionHash: policy.constitution_hash,
            concentrationBps: policy.concentration_bps,
            drawdownBps: policy.drawdown_bps,
            spendPerTransaction: policy.spend_per_transaction,
            spendPerSession: policy.spend_per_session,
            spendPerDay: policy.spend_per_day,
            assets: policy.assets.clone(),
        };
        let data = PolicyCage::publishCall { salt: SALT, policy }.abi_encode();
        let owner = self.field.owner.signer.address();
        let sent = self.field.stage.send_as(owner, policy_cage(), U256::ZERO, data.into()).await?;
        ensure!(sent.status(), "not published");
        Ok(())
    }

    async fn boot(&self, constitution: &[u8]) -> Result<Boot> {
        Ok(boot(self.field.stage.node(), self.law.golem_id, constitution).await?)
    }

    /// The cage under this policy, by way of the chain.
    async fn caged(&self, policy: &Policy) -> Result<Cage> {
        self.publish(policy).await?;
        match self.boot(CONSTITUTION).await? {
            Boot::Caged(cage) => Ok(cage),
            Boot::Refused(denial) => bail!("{denial}"),
        }
    }

    async fn facts(&self, calls: &[Execution], ledger: Ledger) -> Result<Facts> {
        Ok(facts(self.field.stage.node(), &self.law, &typed(calls), ledger).await?)
    }

    async fn judge(&self, cage: &Cage, calls: &[Execution], ledger: Ledger) -> Result<Verdict> {
        let facts = self.facts(calls, ledger).await?;
        let intent = Intent {
            parties: Parties::of(&self.law),
            listing: self.law.listing.clone(),
            calls: typed(calls),
        };
        Ok(cage.judge(&intent, &facts))
    }

    async fn permitted(&self, cage: &Cage, calls: &[Execution], ledger: Ledger) -> Result<Permit> {
        match self.judge(cage, calls, ledger).await? {
            Verdict::Permitted(permit) => Ok(permit),
            Verdict::Refused(denials) => bail!("refused: {denials:?}"),
        }
    }

    /// Refused for these reasons, and no other.
    async fn refused(
        &self,
        cage: &Cage,
        calls: &[Execution],
        ledger: Ledger,
        codes: &[DenialCode],
    ) -> Result<()> {
        match self.judge(cage, calls, ledger).await? {
            Verdict::Permitted(permit) => bail!("{permit:?} instead of {codes:?}"),
            Verdict::Refused(denials) => {
                let found: Vec<_> = denials.iter().map(|denial| denial.code).collect();
                ensure!(found == codes, "{denials:?} instead of {codes:?}");
                Ok(())
            }
        }
    }

    /// The window in which the charter counts.
    async fn window(&self) -> Result<SpendWindow> {
        let read = GolemCharterEnforcer::spendWindowOfCall {
            manager: DELEGATION_MANAGER,
            delegator: self.law.account,
            golemId: self.law.golem_id,
        };
        let word = self.field.stage.node().read(golem_charter_enforcer(), read).await?;
        Ok(SpendWindow::from_word(word))
    }

    /// What a call sends out, as the contracts that the charter is made of see it now.
    async fn measured(&self, call: &Execution) -> Result<U256> {
        let node = self.field.stage.node();
        let harness = Address::repeat_byte(0xaa);
        node.provider().anvil_set_code(harness, built("RulesHarness")?).await?;
        let listing: Bytes = self.law.listing.encode()?.into();
        let Execution { target, value, data } = call.clone();
        let read = RulesHarness::readCall { listing: listing.clone(), target, value, data };
        let actions = node.read(harness, read).await?;
        Ok(node.read(harness, RulesHarness::totalCall { listing, actions }).await?)
    }
}

fn typed(calls: &[Execution]) -> Vec<Call> {
    let call =
        |call: &Execution| Call { target: call.target, value: call.value, data: call.data.clone() };
    calls.iter().map(call).collect()
}

/// What all of it is worth.
fn total(facts: &Facts) -> u128 {
    facts.holdings.values().map(|worth| worth.get()).sum()
}
