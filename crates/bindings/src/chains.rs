use crate::identity::{IDENTITY_REGISTRY, TESTNET_IDENTITY_REGISTRY};
use alloy_primitives::Address;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A chain Bardo knows by name. That is no promise: whether it works there is for `bardo chains check` to show.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainSpec {
    /// What people call it.
    pub name: String,
    /// EIP-155 id.
    pub chain_id: u64,
    /// Whether its money is play money.
    pub testnet: bool,
    /// Where signed transactions may be handed in without being shown to everybody first, as a URL. A file may leave
    /// it out, and those here do: whose it is, and what it costs, is for whoever runs the chain's node to choose. Where
    /// one is named, all that a Golem and its owner sign goes there alone, unless `bardo delegation redeem` is told another
    /// (`--private-rpc`) or an owner's command none (`--in-the-open`). What ends a grant or takes money home goes by the chain's own
    /// RPC while this one is away.
    #[serde(default)]
    pub private_rpc: Option<String>,
    /// A WebSocket that tells of new blocks, as a URL. Where one is named, `bardo golem run` listens there, unless it is told another;
    /// where none is, or it is lost, the node is asked.
    #[serde(default)]
    pub ws: Option<String>,
    /// Most that a transaction costs there unless somebody says otherwise, in millionths of a millionth of the chain's coin (wei).
    /// Left out where the coin is ether.
    #[serde(default)]
    pub fee_ceiling: Option<u64>,
    /// How far its blocks are apart, in milliseconds. Where nobody tells of new ones, it is asked as often.
    #[serde(default = "two_seconds")]
    pub block_millis: u64,
}

/// As most rollups have it.
const fn two_seconds() -> u64 {
    2_000
}

impl ChainSpec {
    /// Where this chain's ERC-8004 Identity registry is. Main networks share an address, test networks another.
    pub const fn identity_registry(&self) -> Address {
        if self.testnet { TESTNET_IDENTITY_REGISTRY } else { IDENTITY_REGISTRY }
    }
}

/// A chain file that does not parse.
#[derive(Debug, thiserror::Error)]
#[error("chain file {file} does not parse")]
pub struct ChainError {
    /// Its name.
    pub file: String,
    source: toml::de::Error,
}

const FILES: &[(&str, &str)] = &[
    ("arbitrum.toml", include_str!("../../../chains/arbitrum.toml")),
    ("base.toml", include_str!("../../../chains/base.toml")),
    ("base-sepolia.toml", include_str!("../../../chains/base-sepolia.toml")),
    ("celo.toml", include_str!("../../../chains/celo.toml")),
    ("ethereum.toml", include_str!("../../../chains/ethereum.toml")),
    ("sepolia.toml", include_str!("../../../chains/sepolia.toml")),
];

/// Chains that go by a name, or by the name of their file.
///
/// ```
/// use bardo_bindings::Chains;
/// let mut chains = Chains::known()?;
/// assert_eq!(chains.called("base-sepolia").map(|chain| chain.chain_id), Some(84_532));
/// assert_eq!(chains.called("Arbitrum One"), chains.called("42161"));
/// assert_eq!(chains.called("atlantis"), None);
/// chains.add("atlantis.toml", "name = 'Atlantis'\nchain_id = 9\ntestnet = true")?;
/// assert_eq!(chains.called("atlantis"), chains.of(9));
/// # Ok::<(), bardo_bindings::ChainError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chains(BTreeMap<u64, (String, ChainSpec)>);

impl Chains {
    /// The six chains of SPEC C1.
    pub fn known() -> Result<Self, ChainError> {
        let mut chains = Self(BTreeMap::new());
        for (file, text) in FILES {
            chains.add(file, text)?;
        }
        Ok(chains)
    }

    /// Adds a file's chain. It takes the place of one with the same id.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), ChainError> {
        let chain: ChainSpec =
            toml::from_str(text).map_err(|source| ChainError { file: file.to_owned(), source })?;
        self.0.insert(chain.chain_id, (file.trim_end_matches(".toml").to_owned(), chain));
        Ok(())
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &ChainSpec> {
        self.0.values().map(|(_, chain)| chain)
    }

    /// The one with this id.
    pub fn of(&self, chain_id: u64) -> Option<&ChainSpec> {
        self.0.get(&chain_id).map(|(_, chain)| chain)
    }

    /// The one that goes by `word`: its name or its file's name in any case, or its id.
    pub fn called(&self, word: &str) -> Option<&ChainSpec> {
        self.0.values().find_map(|(stem, chain)| {
            let called = word.eq_ignore_ascii_case(stem)
                || word.eq_ignore_ascii_case(&chain.name)
                || word == chain.chain_id.to_string();
            called.then_some(chain)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::address;

    #[test]
    fn six_chains_of_the_spec_parse_and_differ() {
        let mut ids: Vec<u64> = Chains::known().unwrap().all().map(|c| c.chain_id).collect();

        ids.sort_unstable();

        assert_eq!(ids, [1, 8453, 42161, 42220, 84532, 11_155_111]);
    }

    #[test]
    fn a_chain_file_may_name_a_private_rpc_and_nothing_unknown() {
        let file = "name = \"Here\"\nchain_id = 1\ntestnet = true\n";
        let read = |more: &str| toml::from_str::<ChainSpec>(&format!("{file}{more}"));

        assert_eq!(read("").unwrap().private_rpc, None);
        let named = read("private_rpc = \"https://relay.example\"").unwrap();
        assert_eq!(named.private_rpc.as_deref(), Some("https://relay.example"));
        assert!(read("privat_rpc = \"https://relay.example\"").is_err());
        let told = read("ws = \"wss://node.example\"").unwrap();
        assert_eq!(told.ws.as_deref(), Some("wss://node.example"));
    }

    #[test]
    fn blocks_are_as_far_apart_as_a_file_says() {
        let chains = Chains::known().unwrap();
        let apart = |id| chains.of(id).unwrap().block_millis;

        assert_eq!([1, 8453, 42161, 42220].map(apart), [12_000, 2_000, 250, 1_000]);
    }

    #[test]
    fn a_file_of_ones_own_takes_the_place_of_its_chain_or_adds_one() {
        let mut chains = Chains::known().unwrap();
        let file = |id: u64| format!("name = \"Chain {id}\"\nchain_id = {id}\ntestnet = true\n");

        chains.add("mine.toml", &file(8453)).unwrap();
        chains.add("here.toml", &file(31_337)).unwrap();

        assert_eq!(chains.all().count(), 7);
        assert_eq!(chains.called("mine"), chains.of(8453));
        assert_eq!(chains.called("base"), None);
        assert_eq!(chains.called("here").unwrap().chain_id, 31_337);
        let off = chains.add("off.toml", "name = 1").unwrap_err();
        assert!(off.to_string().contains("off.toml"));
    }

    #[test]
    fn identities_of_main_and_test_networks_are_in_different_registries() {
        let main = address!("8004A169FB4a3325136EB29fA0ceB6D2e539a432");
        let test = address!("8004A818BFB912233c491871b3d84c89A494BD9e");

        let mut found: Vec<_> =
            Chains::known().unwrap().all().map(|c| (c.chain_id, c.identity_registry())).collect();
        found.sort_unstable();

        assert_eq!(
            found,
            [
                (1, main),
                (8453, main),
                (42161, main),
                (42220, main),
                (84532, test),
                (11_155_111, test)
            ]
        );
    }
}
