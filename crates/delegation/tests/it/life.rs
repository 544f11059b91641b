//! Cadence, council and attestation: the vectors that the contracts' tests read too.

use crate::fixtures::read;
use alloy_primitives::{Address, B256, Bytes, U256};
use golem_delegation::{
    GolemAttestation, TermsError,
    terms::{Cadence, CoSignature, Threshold},
};
use serde::Deserialize;
use std::num::{NonZeroU8, NonZeroU32};

#[derive(Debug, Deserialize)]
struct Malformed {
    name: String,
    terms: Bytes,
    error: String,
}

#[derive(Debug, Deserialize)]
struct Cadences {
    valid: Vec<NamedCadence>,
    malformed: Vec<Malformed>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedCadence {
    name: String,
    golem_id: B256,
    period: String,
    count: String,
    terms: Bytes,
}

#[derive(Debug, Deserialize)]
struct Councils {
    agreed: Vec<Agreed>,
    malformed: Vec<Malformed>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Agreed {
    name: String,
    enforcer: Address,
    chain_id: String,
    manager: Address,
    delegation_hash: B256,
    mode: B256,
    execution: Bytes,
    nonce: U256,
    deadline: String,
    needed: String,
    signers: Vec<Address>,
    terms: Bytes,
    args: Bytes,
    digest: B256,
}

#[derive(Debug, Deserialize)]
struct Attestations {
    held: Vec<Held>,
    refused: Vec<Held>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Held {
    name: String,
    chain_id: String,
    verifying_contract: Address,
    attestation: Named,
    struct_hash: B256,
    digest: B256,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    golem_id: B256,
    owner: Address,
    agent_key: Address,
    account: Address,
    registry: Address,
    identity_registry: Address,
    agent_id: U256,
    issued_at: String,
    expires_at: String,
}

#[test]
fn every_cadence_says_what_the_contract_reads() {
    let file: Cadences = read("cadence.json");

    assert!(file.valid.len() >= 3 && file.malformed.len() >= 9);
    for vector in file.valid {
        let cadence = Cadence {
            golem_id: vector.golem_id,
            period: vector.period.parse::<NonZeroU32>().unwrap(),
            count: vector.count.parse::<NonZeroU8>().unwrap(),
        };
        assert_eq!(cadence.encode(), vector.terms, "{}", vector.name);
        assert_eq!(Cadence::decode(&vector.terms), Ok(cadence), "{}", vector.name);
    }
    for vector in file.malformed {
        let refusal = Cadence::decode(&vector.terms).unwrap_err();
        let same = match vector.error.as_str() {
            "TermsLength" => matches!(refusal, TermsError::Length { .. }),
            "ZeroPeriod" => refusal == TermsError::Zero { what: "period" },
            "ZeroCount" => refusal == TermsError::Zero { what: "count" },
            _ => false,
        };
        assert!(same, "{}: {refusal}", vector.name);
    }
}

#[test]
fn every_council_signs_what_the_contract_checks() {
    let file: Councils = read("threshold.json");

    assert!(file.agreed.len() >= 10 && file.malformed.len() >= 10);
    for vector in file.agreed {
        let council = Threshold::decode(&vector.terms).unwrap();
        assert_eq!(council.needed(), vector.needed.parse::<u8>().unwrap(), "{}", vector.name);
        assert_eq!(council.signers(), vector.signers, "{}", vector.name);
        assert_eq!(council.encode(), vector.terms, "{}", vector.name);
        let what = CoSignature {
            manager: vector.manager,
            delegation_hash: vector.delegation_hash,
            mode: vector.mode,
            execution: vector.execution,
            nonce: vector.nonce,
            deadline: vector.deadline.parse().unwrap(),
        };
        let chain_id = vector.chain_id.parse().unwrap();
        assert_eq!(what.digest(chain_id, vector.enforcer), vector.digest, "{}", vector.name);
        let (signatures, rest) = vector.args[37..].as_chunks::<65>();
        assert!(rest.is_empty(), "{}", vector.name);
        assert_eq!(what.args(signatures), Ok(vector.args.clone()), "{}", vector.name);
    }
    for vector in file.malformed {
        let refusal = Threshold::decode(&vector.terms).unwrap_err();
        let same = match vector.error.as_str() {
            "TermsLength" => {
                matches!(refusal, TermsError::TooShort { .. } | TermsError::Entries { .. })
            }
            "Needed" => matches!(refusal, TermsError::Needed { .. }),
            "SignerOrder" => matches!(refusal, TermsError::SignerOrder { .. }),
            _ => false,
        };
        assert!(same, "{}: {refusal}", vector.name);
    }
}

/// SPEC C16.
#[test]
fn every_attestation_is_signed_as_the_contract_reads_it() {
    let file: Attestations = read("attestation.json");

    assert!(file.held.len() >= 30 && file.refused.len() >= 27);
    for vector in file.held.into_iter().chain(file.refused) {
        let named = vector.attestation;
        let attestation = GolemAttestation {
            golem_id: named.golem_id,
            owner: named.owner,
            agent_key: named.agent_key,
            account: named.account,
            registry: named.registry,
            identity_registry: named.identity_registry,
            agent_id: named.agent_id,
            issued_at: named.issued_at.parse().unwrap(),
            expires_at: named.expires_at.parse().unwrap(),
        };
        let chain_id = vector.chain_id.parse().unwrap();
        assert_eq!(attestation.struct_hash(), vector.struct_hash, "{}", vector.name);
        assert_eq!(
            attestation.digest(chain_id, vector.verifying_contract),
            vector.digest,
            "{}",
            vector.name
        );
    }
}
