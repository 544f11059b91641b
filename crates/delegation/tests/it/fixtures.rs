//! The shared vectors, and delegations to start from.

use alloy_primitives::{Address, B256, Bytes, U256, bytes};
use golem_delegation::{
    Caveat, Delegation, DelegationHash, Environment, Kind, PermissionContext, ROOT_AUTHORITY,
    SigningDomain,
};
use serde::{Deserialize, de::DeserializeOwned};
use std::{fs, path::PathBuf};

/// A file or folder below `testdata/`.
pub(crate) fn testdata(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(path)
}

/// Reads one of the files that MetaMask's packages, or the contract's tests, share with us.
pub(crate) fn read<T: DeserializeOwned>(file: &str) -> T {
    serde_json::from_slice(&fs::read(testdata("vectors").join(file)).unwrap()).unwrap()
}

/// What of `delegations.json` is compared.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Delegations {
    pub(crate) root_authority: B256,
    pub(crate) any_delegate: Address,
    pub(crate) domains: Vec<Domain>,
    pub(crate) delegations: Vec<Signed>,
    pub(crate) contexts: Vec<Context>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Domain {
    pub(crate) chain_id: u64,
    pub(crate) manager: Address,
    pub(crate) separator: B256,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Signed {
    pub(crate) name: String,
    pub(crate) delegation: Delegation,
    pub(crate) hash: DelegationHash,
    pub(crate) digests: Vec<Digest>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Digest {
    pub(crate) chain_id: u64,
    pub(crate) manager: Address,
    pub(crate) digest: B256,
    pub(crate) signature: Bytes,
    pub(crate) signer: Address,
}

impl Digest {
    pub(crate) const fn domain(&self) -> SigningDomain {
        SigningDomain { chain_id: self.chain_id, manager: self.manager }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Context {
    pub(crate) name: String,
    /// Indices into the delegations, leaf first.
    pub(crate) delegations: Vec<usize>,
    pub(crate) context: Bytes,
}

impl Delegations {
    pub(crate) fn load() -> Self {
        read("delegations.json")
    }

    /// The delegations of a context, leaf first.
    pub(crate) fn links(&self, context: &Context) -> Vec<Delegation> {
        context
            .delegations
            .iter()
            .map(|index| self.delegations[*index].delegation.clone())
            .collect()
    }

    /// The bytes of the context with this name.
    pub(crate) fn context(&self, name: &str) -> Bytes {
        self.contexts.iter().find(|context| context.name == name).unwrap().context.clone()
    }
}

/// The account of everybody's chain at this height: 0 is the root's delegator.
pub(crate) fn party(height: usize) -> Address {
    Address::left_padding_from(&(0x1000 + height).to_be_bytes())
}

/// A delegation by `party(height)` to `party(height + 1)`.
pub(crate) fn link(height: usize, authority: B256) -> Delegation {
    Delegation {
        delegate: party(height + 1),
        delegator: party(height),
        authority,
        caveats: vec![Caveat {
            enforcer: Address::repeat_byte(0xee),
            terms: bytes!("0102030405"),
            args: bytes!("0a"),
        }],
        salt: U256::from(height),
        signature: bytes!("f00d"),
    }
}

/// A sound chain, leaf first.
pub(crate) fn chain(length: usize) -> Vec<Delegation> {
    let mut links: Vec<Delegation> = Vec::new();
    for height in 0..length {
        let authority = links.last().map_or(ROOT_AUTHORITY, |parent| parent.hash().0);
        links.push(link(height, authority));
    }
    links.reverse();
    links
}

/// `abi.encode` of any list of delegations, sound or not.
pub(crate) fn encode(links: &[Delegation]) -> Vec<u8> {
    // A single link is a context whatever its parent is; the framing of a list is ours.
    let tails: Vec<Vec<u8>> = links
        .iter()
        .map(|link| {
            let lone = Delegation { authority: ROOT_AUTHORITY, ..link.clone() };
            let mut tail = PermissionContext::new(vec![lone]).unwrap().encode()[3 * 32..].to_vec();
            tail[2 * 32..3 * 32].copy_from_slice(link.authority.as_slice());
            tail
        })
        .collect();
    let mut bytes = [word(0x20), word(links.len())].concat();
    let mut offset = links.len() * 32;
    for tail in &tails {
        bytes.extend(word(offset));
        offset += tail.len();
    }
    bytes.extend(tails.concat());
    bytes
}

/// An enforcer of every kind, each at an address of its own.
pub(crate) fn environment() -> Environment {
    Kind::ALL.iter().enumerate().fold(Environment::default(), |all, (index, kind)| {
        all.with(*kind, Address::left_padding_from(&(0xe000 + index).to_be_bytes()))
    })
}

/// A number as the ABI writes it.
pub(crate) fn word(value: usize) -> [u8; 32] {
    U256::from(value).to_be_bytes()
}
