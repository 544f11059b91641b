use crate::identity::{IDENTITY_REGISTRY, TESTNET_IDENTITY_REGISTRY};
use alloy_primitives::Address;
use serde::Deserialize;

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
    /// one is named, `bardo delegation redeem` sends there, unless it is told another.
    #[serde(default)]
    pub private_rpc: Option<String>,
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

/// The chain that goes by `word`: its name or its file's name in any case, or its id.
///
/// ```
/// use bardo_bindings::chain_called;
/// assert_eq!(chain_called("base-sepolia")?.map(|chain| chain.chain_id), Some(84_532));
/// assert_eq!(chain_called("Arbitrum One")?, chain_called("42161")?);
/// assert_eq!(chain_called("atlantis")?, None);
/// # Ok::<(), bardo_bindings::ChainError>(())
/// ```
pub fn chain_called(word: &str) -> Result<Option<ChainSpec>, ChainError> {
    let known = FILES.iter().zip(chains()?);
    Ok(known.map(|((file, _), chain)| (file.trim_end_matches(".toml"), chain)).find_map(
        |(stem, chain)| {
            let called = word.eq_ignore_ascii_case(stem)
                || word.eq_ignore_ascii_case(&chain.name)
                || word == chain.chain_id.to_string();
            called.then_some(chain)
        },
    ))
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
    fn a_chain_file_may_name_a_private_rpc_and_nothing_unknown() {
        let file = "name = \"Here\"\nchain_id = 1\ntestnet = true\n";
        let read = |more: &str| toml::from_str::<ChainSpec>(&format!("{file}{more}"));

        assert_eq!(read("").unwrap().private_rpc, None);
        let named = read("private_rpc = \"https://relay.example\"").unwrap();
        assert_eq!(named.private_rpc.as_deref(), Some("https://relay.example"));
        assert!(read("privat_rpc = \"https://relay.example\"").is_err());
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
