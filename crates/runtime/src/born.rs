use alloy_primitives::{Address, Bytes};
use golem_custody::{Birth, CustodyError, Keys, SessionSigner as _};
use serde::{Deserialize, Serialize};

/// A key that was born in a Golem's process, as it is told to its owner: he grants to this address, and to no other (SPEC D12).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Born {
    /// Its address.
    pub address: Address,
    /// The second in which it was born.
    pub at: u64,
    /// Its own signature over both: whoever wrote this has the key.
    pub proof: Bytes,
}

impl Born {
    /// Its name in a Golem's folder.
    pub const NAME: &str = "born.json";

    /// The key in use says that it is there; none where there is no key.
    pub async fn of(keys: &Keys, at: u64) -> Result<Option<Self>, CustodyError> {
        let Some(key) = keys.signer().await else { return Ok(None) };
        let address = key.address();
        Ok(Some(Self { address, at, proof: key.says_born(at).await? }))
    }

    /// Whether the key itself said so.
    #[must_use]
    pub fn is_proven(&self) -> bool {
        let Self { address, at, proof } = self;
        Birth { key: *address, at: *at }.is_proved_by(proof)
    }
}
