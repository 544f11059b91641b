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

    #[test]
    fn six_chains_of_the_spec_parse_and_differ() {
        let mut ids: Vec<u64> = chains().unwrap().into_iter().map(|c| c.chain_id).collect();

        ids.sort_unstable();

        assert_eq!(ids, [1, 8453, 42161, 42220, 84532, 11_155_111]);
    }
}
