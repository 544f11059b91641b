use super::{Deposit, Onboard, OnboardError};
use crate::{Registry, Writing, cage::published, snapshot::Snapshot};
use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::SolCall,
};
use bardo_bindings::{
    PolicyCage, defi::Erc20, framework::SIMPLE_FACTORY, identity::IdentityRegistry, policy_cage,
};
use golem_custody::{Asset, Execution, Means, Steps};
use golem_safety::Policy;

/// What the chain does not have yet of an onboarding.
#[derive(Debug)]
pub(super) struct Lacking {
    /// Calls of the owner's EOA that bring it about.
    pub(super) calls: Vec<Execution>,
    /// Whether the EOA has no code of its own to make them with, or to grant with.
    pub(super) upgrade: bool,
}

fn call<C: SolCall>(target: Address, call: &C) -> Execution {
    Execution { target, value: U256::ZERO, data: call.abi_encode().into() }
}

impl<S: Steps> Onboard<'_, S> {
    /// Compares what there should be with the newest block. Money goes along with the first batch only: what was spent
    /// since is not paid again.
    pub(super) async fn lacking(
        &self,
        means: &Means,
        first: bool,
    ) -> Result<Lacking, OnboardError> {
        let (agent, purse) = match means {
            Means::Granted { account, session, .. } => (*session, *account),
            Means::Provided { address, .. } => (*address, *address),
        };
        let on = Snapshot::newest(self.node).await?;
        let (owner, golem) = (self.owner.address(), self.golem());
        let mut calls = Vec::new();

        if let Some(vault) = &self.vault
            && on.code(vault.address).await?.is_empty()
        {
            let data = vault.creation().cloned().unwrap_or_default();
            calls.push(Execution { target: SIMPLE_FACTORY, value: U256::ZERO, data });
        }
        let entry = Registry::open(self.node).await?.entry_on(&on, golem).await?;
        let agent_key = Some(agent);
        let writing = match entry {
            None => Some(Writing::Register { salt: self.salt, agent_key }),
            Some(entry) if entry.agent_key != agent_key => {
                Some(Writing::Attach { golem, agent_key: agent })
            }
            Some(_) => None,
        };
        calls.extend(writing.map(|writing| {
            let call = writing.call(owner);
            Execution { target: call.to, value: U256::ZERO, data: call.data }
        }));
        let known = published(&on, golem).await?;
        if !matches!(&known, Some(Ok(known)) if *known.policy() == self.policy) {
            calls.push(self.publication());
        }
        if first {
            if let Some((at, uri)) = &self.identity {
                let register = IdentityRegistry::registerCall { agentURI: uri.clone() };
                calls.push(call(*at, &register));
            }
            let held = on.balance(agent).await?;
            if held < self.stipend {
                let value = self.stipend.saturating_sub(held);
                calls.push(Execution { target: agent, value, data: Bytes::new() });
            }
            if purse != owner {
                calls.extend(self.deposits.iter().map(|deposit| deposit.paid_to(purse)));
            }
        }
        // Where nothing is left to do, an EOA that is no delegator may stay what it is.
        let upgrade = (purse == owner || !calls.is_empty())
            && self.eoa().requires_creation(self.node).await?;
        Ok(Lacking { calls, upgrade })
    }

    fn publication(&self) -> Execution {
        let Policy { constitution_hash, concentration_bps, drawdown_bps, .. } = self.policy;
        let policy = PolicyCage::Policy {
            constitutionHash: constitution_hash,
            concentrationBps: concentration_bps,
            drawdownBps: drawdown_bps,
            spendPerTransaction: self.policy.spend_per_transaction,
            spendPerSession: self.policy.spend_per_session,
            spendPerDay: self.policy.spend_per_day,
            assets: self.policy.assets.clone(),
        };
        call(policy_cage(), &PolicyCage::publishCall { salt: self.salt, policy })
    }
}

impl Deposit {
    fn paid_to(&self, to: Address) -> Execution {
        match self.asset {
            Asset::Native => Execution { target: to, value: self.amount, data: Bytes::new() },
            Asset::Erc20(token) => call(token, &Erc20::transferCall { to, amount: self.amount }),
        }
    }
}
