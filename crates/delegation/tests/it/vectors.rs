//! Byte for byte what MetaMask's packages give, and what the Solidity tests of our own rule expect.

use crate::fixtures::{Delegations, read};
use alloy_primitives::{Address, B256, Bytes, U256};
use golem_delegation::{
    ANY_DELEGATE, ContextError, Delegation, PermissionContext, ROOT_AUTHORITY, SignatureError,
    SigningDomain, TermsError, terms::MortalityTimeWindow,
};
use serde::Deserialize;

#[test]
fn constants_are_the_frameworks() {
    let file = Delegations::load();

    assert_eq!(ROOT_AUTHORITY, file.root_authority);
    assert_eq!(ANY_DELEGATE, file.any_delegate);
}

#[test]
fn every_domain_separator_is_the_frameworks() {
    let file = Delegations::load();

    assert!(file.domains.len() >= 2);
    for domain in file.domains {
        let ours = SigningDomain { chain_id: domain.chain_id, manager: domain.manager };
        assert_eq!(ours.separator(), domain.separator, "chain {}", domain.chain_id);
    }
}

#[test]
fn every_hash_is_the_frameworks() {
    let file = Delegations::load();

    assert!(file.delegations.len() >= 70);
    for vector in file.delegations {
        assert_eq!(vector.delegation.hash(), vector.hash, "{}", vector.name);
    }
}

#[test]
fn every_digest_is_the_frameworks() {
    for vector in Delegations::load().delegations {
        for digest in vector.digests {
            let ours = digest.domain().digest(&vector.delegation);
            assert_eq!(ours, digest.digest, "{} on chain {}", vector.name, digest.chain_id);
        }
    }
}

#[test]
fn every_signature_verifies_for_its_signer() {
    for vector in Delegations::load().delegations {
        for digest in vector.digests {
            let signed = vector.delegation.clone().signed(digest.signature.clone());
            let verdict = digest.domain().verify(&signed, digest.signer);
            assert_eq!(verdict, Ok(()), "{} on chain {}", vector.name, digest.chain_id);
        }
    }
}

#[test]
fn no_signature_verifies_for_another_signer() {
    for vector in Delegations::load().delegations {
        for digest in vector.digests {
            let signed = vector.delegation.clone().signed(digest.signature.clone());
            let other = Address::repeat_byte(0x99);
            let refusal = SignatureError::Signer { expected: other, actual: digest.signer };
            assert_eq!(digest.domain().verify(&signed, other), Err(refusal), "{}", vector.name);
        }
    }
}

/// ATK-01: a signature for one manager is worth nothing before another.
#[test]
fn no_signature_verifies_for_another_manager() {
    let other_manager = Address::repeat_byte(0x77);

    for vector in Delegations::load().delegations {
        for digest in vector.digests {
            let signed = vector.delegation.clone().signed(digest.signature.clone());
            let domain = SigningDomain { manager: other_manager, ..digest.domain() };
            assert_foreign(domain.verify(&signed, digest.signer), digest.signer, &vector.name);
        }
    }
}

/// ATK-02: nor on another chain, be it one the same owner uses.
#[test]
fn no_signature_verifies_on_another_chain() {
    for vector in Delegations::load().delegations {
        for digest in &vector.digests {
            let signed = vector.delegation.clone().signed(digest.signature.clone());
            for chain_id in [0, 1, 8453, 84532, u64::MAX] {
                if chain_id == digest.chain_id {
                    continue;
                }
                let domain = SigningDomain { chain_id, ..digest.domain() };
                assert_foreign(domain.verify(&signed, digest.signer), digest.signer, &vector.name);
            }
        }
    }
}

/// Over another digest a signature recovers some other key, or none.
fn assert_foreign(verdict: Result<(), SignatureError>, signer: Address, name: &str) {
    match verdict {
        Err(SignatureError::Signer { expected, actual }) => {
            assert_eq!(expected, signer, "{name}");
            assert_ne!(actual, signer, "{name}");
        }
        Err(SignatureError::Unrecoverable) => {}
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn every_context_encodes_to_the_kits_bytes() {
    let file = Delegations::load();

    for vector in file.contexts.iter().filter(|vector| !vector.delegations.is_empty()) {
        let context = PermissionContext::new(file.links(vector));
        let context = context.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        assert_eq!(context.encode(), vector.context, "{}", vector.name);
    }
}

#[test]
fn every_context_decodes_to_the_kits_delegations() {
    let file = Delegations::load();

    assert!(file.contexts.len() >= 17);
    for vector in file.contexts.iter().filter(|vector| !vector.delegations.is_empty()) {
        let context = PermissionContext::decode(&vector.context);
        let context = context.unwrap_or_else(|error| panic!("{}: {error}", vector.name));
        let links = file.links(vector);
        assert_eq!(context.links(), links, "{}", vector.name);
        assert_eq!(Some(context.leaf()), links.first(), "{}", vector.name);
        assert_eq!(Some(context.root()), links.last(), "{}", vector.name);
    }
}

#[test]
fn the_kits_empty_context_is_refused() {
    let bytes = Delegations::load().context("none");

    assert_eq!(PermissionContext::decode(&bytes), Err(ContextError::Empty));
}

#[test]
fn a_delegation_whose_parent_is_missing_is_no_context() {
    let file = Delegations::load();
    let orphans: Vec<Delegation> = file
        .delegations
        .into_iter()
        .map(|vector| vector.delegation)
        .filter(|delegation| !delegation.is_root())
        .collect();

    assert!(orphans.len() >= 3);
    for orphan in orphans {
        assert_eq!(PermissionContext::new(vec![orphan]), Err(ContextError::NoRoot));
    }
}

#[derive(Debug, Deserialize)]
struct Windows {
    valid: Vec<Valid>,
    malformed: Vec<Malformed>,
}

#[derive(Debug, Deserialize)]
struct Valid {
    name: String,
    start: String,
    end: String,
    terms: Bytes,
    now: String,
    verdict: Verdict,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Verdict {
    Ok,
    NotYetBorn,
    Expired,
}

#[derive(Debug, Deserialize)]
struct Malformed {
    name: String,
    terms: Bytes,
    error: Malformation,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Malformation {
    TermsLength,
    InvertedWindow,
}

/// ATK-33: the Solidity tests read the same file.
#[test]
fn every_window_is_judged_as_the_contract_judges_it() {
    let file = read::<Windows>("mortality-time-window.json");

    assert!(file.valid.len() >= 28);
    for vector in file.valid {
        let (start, end) = (vector.start.parse().unwrap(), vector.end.parse().unwrap());
        let now: u64 = vector.now.parse().unwrap();
        let window = MortalityTimeWindow::decode(&vector.terms).unwrap();
        assert_eq!(MortalityTimeWindow::new(start, end), Ok(window), "{}", vector.name);
        assert_eq!((window.start(), window.end()), (start, end), "{}", vector.name);
        assert_eq!(window.encode(), vector.terms, "{}", vector.name);
        assert_eq!(window.allows(now), vector.verdict == Verdict::Ok, "{}", vector.name);
        assert_eq!(now < window.start(), vector.verdict == Verdict::NotYetBorn, "{}", vector.name);
        assert_eq!(now > window.end(), vector.verdict == Verdict::Expired, "{}", vector.name);
    }
}

#[test]
fn every_malformed_window_is_refused_for_the_contracts_reason() {
    let file = read::<Windows>("mortality-time-window.json");

    assert!(file.malformed.len() >= 13);
    for vector in file.malformed {
        let refusal = match vector.error {
            Malformation::TermsLength => {
                TermsError::Length { expected: 16, actual: vector.terms.len() }
            }
            Malformation::InvertedWindow => TermsError::InvertedWindow {
                start: u64::from_be_bytes(vector.terms[..8].try_into().unwrap()),
                end: u64::from_be_bytes(vector.terms[8..].try_into().unwrap()),
            },
        };
        assert_eq!(MortalityTimeWindow::decode(&vector.terms), Err(refusal), "{}", vector.name);
    }
}

/// Neither value is taken from the crate: both are in the framework's deployed code.
#[test]
fn authority_of_a_root_is_the_highest_word() {
    assert_eq!(ROOT_AUTHORITY, B256::from(U256::MAX));
}
