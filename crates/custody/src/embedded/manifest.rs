use super::{WalletId, request::canonical};
use alloy_primitives::{Address, B256, U256, keccak256};
use serde::{Deserialize, Serialize};

/// What a wallet can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Holding {
    /// The chain's own coin.
    Native,
    /// A token.
    Token(Address),
    /// Anything else, such as a liquidity position: where, and which.
    Position {
        /// The contract.
        contract: Address,
        /// Its number there.
        #[serde(with = "decimal")]
        id: U256,
    },
}

/// How much there was of something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Balance {
    /// Of what.
    pub of: Holding,
    /// In base units.
    #[serde(with = "decimal")]
    pub amount: U256,
}

/// What went to the owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SettledPosition {
    /// What.
    pub of: Holding,
    /// In base units.
    #[serde(with = "decimal")]
    pub amount: U256,
    /// The transaction.
    pub transaction: B256,
    /// The block that holds it.
    pub block: u64,
}

/// What stayed in the wallet, for its owner to fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeferredPosition {
    /// What.
    pub of: Holding,
    /// In base units.
    #[serde(with = "decimal")]
    pub amount: U256,
    /// Why, in words.
    pub reason: String,
    /// The transaction that took no effect, where there was one.
    pub transaction: Option<B256>,
}

/// A dead Golem's last account of an embedded wallet (SPEC K8): what there was, what the owner has, what is left to fetch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BardoManifest {
    /// [`Self::VERSION`].
    pub version: u32,
    /// Whose wallet it was: the Golem's id on chain.
    pub golem: B256,
    /// The wallet at the service.
    pub wallet_id: WalletId,
    /// The wallet on chain.
    pub wallet: Address,
    /// The chain.
    pub chain_id: u64,
    /// The owner.
    pub beneficiary: Address,
    /// What there was before the sweep.
    pub balances_before: Vec<Balance>,
    /// What the owner has.
    pub positions_settled: Vec<SettledPosition>,
    /// What is left.
    pub positions_deferred: Vec<DeferredPosition>,
    /// The second in which the sweep began.
    pub began_at: u64,
    /// The second in which it ended.
    pub ended_at: u64,
}

impl BardoManifest {
    /// The only version there is.
    pub const VERSION: u32 = 1;

    /// Its name: keccak of its canonical JSON (RFC 8785).
    #[must_use]
    pub fn hash(&self) -> B256 {
        // All of it is text and small integers, and so always has such a form.
        keccak256(canonical(&serde_json::to_value(self).unwrap_or_default()))
    }
}

/// Amounts are text: JSON's numbers are not integers.
pub(super) mod decimal {
    use alloy_primitives::U256;
    use serde::{Deserialize, Deserializer, Serializer, de::Error as _};

    pub(in super::super) fn serialize<S: Serializer>(
        amount: &U256,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(amount)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<U256, D::Error> {
        let text = String::deserialize(deserializer)?;
        let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let canonical = text == "0" || !text.starts_with('0');
        if !plain || !canonical {
            return Err(D::Error::custom("an amount is written in decimal digits"));
        }
        U256::from_str_radix(&text, 10).map_err(D::Error::custom)
    }
}
