//! Policies against the vectors that drive the contract's tests too; `tests/e2e` publishes drawn ones.

use alloy_primitives::{Address, B256, Bytes};
use golem_safety::{Policy, PolicyRefusal, Published};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Vector {
    name: String,
    golem_id: B256,
    version: String,
    constitution_hash: B256,
    concentration_bps: String,
    drawdown_bps: String,
    spend_per_transaction: String,
    spend_per_session: String,
    spend_per_day: String,
    assets: Vec<Address>,
    hash: B256,
    answer: Bytes,
    error: String,
}

const fn name_of(refusal: &PolicyRefusal) -> &'static str {
    match refusal {
        PolicyRefusal::NoConstitution => "NoConstitution",
        PolicyRefusal::Concentration { .. } => "ConcentrationBps",
        PolicyRefusal::Drawdown { .. } => "DrawdownBps",
        PolicyRefusal::OverSession { .. } => "OverSession",
        PolicyRefusal::OverDay { .. } => "OverDay",
        PolicyRefusal::TooManyAssets { .. } => "TooManyAssets",
        PolicyRefusal::NotAscending { .. } => "NotAscending",
        _ => "none of the contract's",
    }
}

#[test]
fn matches_the_shared_vectors() {
    let file = include_str!("../../../../testdata/vectors/policy.json");
    let vectors = serde_json::from_str::<File>(file).unwrap().vectors;
    assert!(vectors.len() >= 21);
    for vector in vectors {
        let policy = Policy {
            constitution_hash: vector.constitution_hash,
            concentration_bps: vector.concentration_bps.parse().unwrap(),
            drawdown_bps: vector.drawdown_bps.parse().unwrap(),
            spend_per_transaction: vector.spend_per_transaction.parse().unwrap(),
            spend_per_session: vector.spend_per_session.parse().unwrap(),
            spend_per_day: vector.spend_per_day.parse().unwrap(),
            assets: vector.assets,
        };
        let version = vector.version.parse().unwrap();
        assert_eq!(policy.hash(vector.golem_id, version), vector.hash, "{}", vector.name);
        match Published::decode(vector.golem_id, &vector.answer) {
            Ok(published) => {
                assert_eq!(vector.error, "", "{}", vector.name);
                assert_eq!(published.policy(), &policy, "{}", vector.name);
                assert_eq!((published.version(), published.hash()), (version, vector.hash));
            }
            Err(refusal) => assert_eq!(name_of(&refusal), vector.error, "{}", vector.name),
        }
    }
}
