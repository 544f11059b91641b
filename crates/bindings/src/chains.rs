use crate::identity::{IDENTITY_REGISTRY, TESTNET_IDENTITY_REGISTRY};
use alloy_primitives::Address;
use serde::Deserialize;

/// A chain Bardo knows by name. Whether it works is for its RPC to show.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainSpec {
    /// What people call it.
    pub name: String,
    /// EIP-155 id.
    pub chain_id: u64,
    /// Whether its money is play money.
    pub testnet: bool,
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
    /// Name of the file under `chains/`.
    pub file: &'static str,
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

/// The six chains of SPEC C1.
pub fn chains() -> Result<Vec<ChainSpec>, ChainError> {
    FILES
        .iter()
        .map(|(file, text)| toml::from_str(text).map_err(|source| ChainError { file, source }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::address;

    #[test]
    fn six_chains_of_the_spec_parse_and_differ() {
        let mut ids: Vec<u64> = chains().unwrap().into_iter().map(|c| c.chain_id).collect();

        ids.sort_unstable();

        assert_eq!(ids, [1, 8453, 42161, 42220, 84532, 11_155_111]);
    }

    #[test]
    fn identities_of_main_and_test_networks_are_in_different_registries() {
        let main = address!("8004A169FB4a3325136EB29fA0ceB6D2e539a432");
        let test = address!("8004A818BFB912233c491871b3d84c89A494BD9e");

        let mut found: Vec<_> =
            chains().unwrap().iter().map(|c| (c.chain_id, c.identity_registry())).collect();
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
