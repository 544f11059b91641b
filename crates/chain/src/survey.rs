use crate::{ChainFault, DeployError, Node, Presence, inspect, snapshot::said};
use alloy::primitives::Address;
use bardo_bindings::{
    ChainSpec, Deployable, deployables,
    framework::{
        DELEGATION_MANAGER, DETERMINISTIC_DEPLOYER, DeleGator, DelegationManager, ENTRY_POINT,
        EntryPoint, HYBRID_IMPL, MULTISIG_IMPL, SIMPLE_FACTORY, STATELESS_7702_IMPL,
    },
};
use golem_delegation::{SigningDomain, enforcers};
use serde::Serialize;

/// Whose contract it is, and so who could mend its absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// The deterministic deployer, through which ours get their addresses.
    Deployer,
    /// The delegation framework and the EntryPoint: nothing works without them.
    Framework,
    /// A stock enforcer: caveats that name it cannot be redeemed without it, others can.
    StockEnforcer,
    /// Bardo's own.
    Bardo,
    /// The ERC-8004 identity registry: only identities need it.
    Identity,
}

/// What stands at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Standing {
    /// Ours, byte by byte; of the framework something that answers as it does; of others some code, which is not compared: it
    /// is not ours to know.
    Present,
    /// No code.
    Missing,
    /// Code that is not ours where ours should be.
    OtherCode,
}

/// An address Bardo relies on.
#[derive(Clone, Debug)]
pub struct Place {
    /// The contract's name.
    pub name: &'static str,
    /// Where it should be.
    pub address: Address,
    /// Whose it is.
    pub part: Part,
    /// What exactly should be there, where that is known.
    exact: Option<&'static Deployable>,
}

/// Every address Bardo relies on. The identity registry is among them where the chain is known: others may have one
/// anywhere.
///
/// ```
/// use golem_chain::{Part, places};
/// let of = |part| places(None).iter().filter(|place| place.part == part).count();
/// assert_eq!((of(Part::Framework), of(Part::StockEnforcer), of(Part::Identity)), (6, 33, 0));
/// ```
#[must_use]
pub fn places(chain: Option<&ChainSpec>) -> Vec<Place> {
    let others = [
        ("deterministic deployer", DETERMINISTIC_DEPLOYER, Part::Deployer),
        ("DelegationManager", DELEGATION_MANAGER, Part::Framework),
        ("EntryPoint", ENTRY_POINT, Part::Framework),
        ("SimpleFactory", SIMPLE_FACTORY, Part::Framework),
        ("EIP7702StatelessDeleGator", STATELESS_7702_IMPL, Part::Framework),
        ("HybridDeleGator", HYBRID_IMPL, Part::Framework),
        ("MultiSigDeleGator", MULTISIG_IMPL, Part::Framework),
    ];
    let stock =
        enforcers::STOCK.iter().map(|(name, address)| (*name, *address, Part::StockEnforcer));
    let identity =
        chain.map(|chain| ("IdentityRegistry", chain.identity_registry(), Part::Identity));
    let ours = deployables().iter().map(|contract| Place {
        name: contract.name,
        address: contract.address,
        part: Part::Bardo,
        exact: Some(contract),
    });
    let others = others.into_iter().chain(stock).chain(identity);
    others
        .map(|(name, address, part)| Place { name, address, part, exact: None })
        .chain(ours)
        .collect()
}

impl Place {
    /// Whether what stands there answers as it should, where there is a question that nothing else answers alike.
    async fn answers(&self, node: &Node) -> Result<bool, ChainFault> {
        let at = self.address;
        Ok(match at {
            DELEGATION_MANAGER => {
                let domain = SigningDomain { chain_id: node.chain_id(), manager: at };
                let said = said(node.read(at, DelegationManager::getDomainHashCall {}).await)?;
                said == Some(domain.separator())
            }
            ENTRY_POINT => {
                let nonce = EntryPoint::getNonceCall { sender: at, key: Default::default() };
                said(node.read(at, nonce).await)?.is_some()
            }
            STATELESS_7702_IMPL | HYBRID_IMPL | MULTISIG_IMPL => {
                let manager = said(node.read(at, DeleGator::delegationManagerCall {}).await)?;
                manager == Some(DELEGATION_MANAGER)
            }
            _ => true,
        })
    }

    /// What stands there now.
    pub async fn look(&self, node: &Node) -> Result<Standing, ChainFault> {
        let Some(contract) = self.exact else {
            if node.code(self.address).await?.is_empty() {
                return Ok(Standing::Missing);
            }
            let right = self.answers(node).await?;
            return Ok(if right { Standing::Present } else { Standing::OtherCode });
        };
        match inspect(node, contract).await {
            Ok(Presence::Verified) => Ok(Standing::Present),
            Ok(Presence::Absent) => Ok(Standing::Missing),
            Err(DeployError::Chain(fault)) => Err(fault),
            // `inspect` sends nothing: what is left is a mismatch.
            Err(_) => Ok(Standing::OtherCode),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment;
    use golem_delegation::Kind;

    #[test]
    fn every_enforcer_that_is_known_is_looked_at() {
        let places = places(None);

        for kind in Kind::ALL {
            let enforcer = environment().enforcer(*kind).unwrap();
            assert!(places.iter().any(|place| place.address == enforcer), "{kind}");
        }
    }
}
