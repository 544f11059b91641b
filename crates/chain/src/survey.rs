use crate::{
    ChainFault, DeployError, Node, Presence, inspect,
    snapshot::{revert_data, reverted, said},
};
use alloy::{
    primitives::{Address, B256, Bytes, FixedBytes, U256, b256, keccak256},
    sol_types::{Revert, SolCall, SolError as _},
};
use bardo_bindings::{
    ChainSpec, Deployable, deployables,
    framework::{
        CaveatEnforcer, DELEGATION_MANAGER, DETERMINISTIC_DEPLOYER, DeleGator, DelegationManager,
        ENTRY_POINT, HYBRID_IMPL, MODE_BATCH, MODE_SINGLE, MULTISIG_IMPL, ReadsTerms,
        SIMPLE_FACTORY, STATELESS_7702_IMPL, SimpleFactory,
    },
    identity::IdentityRegistry,
};
use golem_custody::{Execution, encode_batch};
use golem_delegation::{SigningDomain, enforcers};
use serde::Serialize;

/// Hashes of runtime code that is the same on every chain, because the address follows from it: the deployer's by its keyless
/// transaction, the others' by their creation code, which packages have as it was deployed. Packages have other builds of the
/// rest, or it holds what differs from chain to chain: that is asked something.
const PINNED: [(Address, B256); 3] = [
    (
        DETERMINISTIC_DEPLOYER,
        b256!("2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989"),
    ),
    (ENTRY_POINT, b256!("8db5ff695839d655407cc8490bb7a5d82337a86a6b39c3f0258aa6c3b582fc58")),
    (
        enforcers::APPROVAL_REVOCATION,
        b256!("bbef7783a5241cbd3c8074ca23e5f64bb740f228ccb3d6311cf46d97a13fc912"),
    ),
];

/// ERC-165's names of ERC-721, and of nothing.
const ERC721: FixedBytes<4> = FixedBytes([0x80, 0xac, 0x58, 0xcd]);
const NO_INTERFACE: FixedBytes<4> = FixedBytes([0xff; 4]);

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
    /// Ours, and what is the same everywhere, byte by byte; of the rest something that answers as it does.
    Present,
    /// No code.
    Missing,
    /// Code that is something else.
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
    /// Name, address and hash of code that is the same on every chain.
    #[must_use]
    pub fn pinned(&self) -> Option<(&'static str, Address, B256)> {
        let (_, hash) = PINNED.iter().find(|(address, _)| *address == self.address)?;
        Some((self.name, self.address, *hash))
    }

    /// Whether what stands there answers as it should, where there is a question that nothing else answers alike.
    async fn answers(&self, node: &Node) -> Result<bool, ChainFault> {
        let at = self.address;
        Ok(match at {
            DELEGATION_MANAGER => {
                let domain = SigningDomain { chain_id: node.chain_id(), manager: at };
                let said = said(node.read(at, DelegationManager::getDomainHashCall {}).await)?;
                said == Some(domain.separator())
            }
            SIMPLE_FACTORY => {
                let (salt, code) = (B256::repeat_byte(1), B256::repeat_byte(2));
                let asked = SimpleFactory::computeAddressCall { bytecodeHash: code, salt };
                said(node.read(at, asked).await)? == Some(at.create2(salt, code))
            }
            STATELESS_7702_IMPL | HYBRID_IMPL | MULTISIG_IMPL => {
                let manager = said(node.read(at, DeleGator::delegationManagerCall {}).await)?;
                manager == Some(DELEGATION_MANAGER)
            }
            _ => match self.part {
                Part::StockEnforcer => self.names_itself(node).await?,
                Part::Identity => {
                    let has = async |interface| {
                        let asked =
                            IdentityRegistry::supportsInterfaceCall { interfaceId: interface };
                        said(node.read(at, asked).await)
                    };
                    has(ERC721).await? == Some(true) && has(NO_INTERFACE).await? == Some(false)
                }
                // Whatever is added to the list and has no question of its own is not taken for what it should be.
                Part::Deployer | Part::Framework | Part::Bardo => false,
            },
        })
    }

    /// Whether an enforcer refuses in its own name what none of them takes: terms of no good length, a batch that is not theirs.
    async fn names_itself(&self, node: &Node) -> Result<bool, ChainFault> {
        // Long enough to be read into, and of no length that any of them has.
        let odd = Bytes::from_static(&[0; 53]);
        let data = Bytes::from_static(&[1]);
        let call = Execution { target: Address::ZERO, value: U256::ONE, data };
        let single = [call.target.as_slice(), &call.value.to_be_bytes::<32>(), &call.data];
        let hook = |terms: Bytes, mode: B256, execution: Bytes| CaveatEnforcer::beforeHookCall {
            terms,
            args: Bytes::new(),
            mode,
            executionCalldata: execution,
            delegationHash: B256::ZERO,
            delegator: Address::ZERO,
            redeemer: Address::ZERO,
        };
        let alone = hook(odd, MODE_SINGLE, single.concat().into());
        let together = hook(encode_batch(&[]), MODE_BATCH, encode_batch(&[call]));
        let short = ReadsTerms::getTermsInfoCall { terms: Bytes::from_static(&[0]) };
        Ok(self.refuses(node, short).await?
            || self.refuses(node, alone).await?
            || self.refuses(node, together).await?)
    }

    /// Whether a question is refused with a sentence that begins with the contract's name.
    async fn refuses<C: SolCall>(&self, node: &Node, call: C) -> Result<bool, ChainFault> {
        let fault = match node.read(self.address, call).await {
            // An answer, or one that does not decode.
            Ok(_) | Err(ChainFault::Answer { .. }) => return Ok(false),
            Err(fault) => fault,
        };
        if !reverted(&fault) {
            return Err(fault);
        }
        let own = format!("{}:", self.name);
        let words = revert_data(&fault).and_then(|data| Revert::abi_decode(&data).ok());
        Ok(words.is_some_and(|revert| revert.reason.starts_with(&own)))
    }

    /// What stands there now.
    pub async fn look(&self, node: &Node) -> Result<Standing, ChainFault> {
        let Some(contract) = self.exact else {
            let code = node.code(self.address).await?;
            if code.is_empty() {
                return Ok(Standing::Missing);
            }
            let right = match self.pinned() {
                Some((_, _, hash)) => keccak256(&code) == hash,
                None => self.answers(node).await?,
            };
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
