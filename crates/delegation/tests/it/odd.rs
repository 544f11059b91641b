//! Delegations of odd sizes, as MetaMask's packages hash, sign and encode them.

use crate::fixtures::{Domain, read};
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, DelegationHash, PermissionContext, SigningDomain,
};
use serde::Deserialize;
use std::collections::BTreeSet;

#[derive(Debug, Deserialize)]
struct File {
    enforcers: Vec<Address>,
    domains: Vec<Domain>,
    delegations: Vec<Kept>,
    contexts: Vec<Context>,
}

#[derive(Debug, Deserialize)]
struct Kept {
    name: String,
    delegate: Address,
    delegator: Address,
    authority: B256,
    salt: U256,
    /// Enforcer, length of its terms, length of its args.
    caveats: Vec<(usize, usize, usize)>,
    hash: DelegationHash,
    digests: Vec<Digest>,
}

#[derive(Debug, Deserialize)]
struct Digest {
    domain: usize,
    digest: B256,
    signature: Bytes,
}

#[derive(Debug, Deserialize)]
struct Context {
    delegations: Vec<usize>,
    bytes: usize,
    keccak: B256,
}

/// The bytes that the generator did not keep.
fn bytes_of(name: &str, length: usize) -> Bytes {
    let mut bytes = Vec::new();
    for block in 0_u32.. {
        if bytes.len() >= length {
            break;
        }
        bytes.extend(keccak256([name.as_bytes(), &block.to_be_bytes()].concat()));
    }
    bytes.truncate(length);
    bytes.into()
}

impl File {
    fn load() -> Self {
        read("odd-delegations.json")
    }

    /// As it was signed for its first domain.
    fn whole(&self, kept: &Kept) -> Delegation {
        let caveat = |(index, (enforcer, terms, args)): (usize, &(usize, usize, usize))| Caveat {
            enforcer: self.enforcers[*enforcer],
            terms: bytes_of(&format!("{}/{index}/terms", kept.name), *terms),
            args: bytes_of(&format!("{}/{index}/args", kept.name), *args),
        };
        Delegation {
            delegate: kept.delegate,
            delegator: kept.delegator,
            authority: kept.authority,
            caveats: kept.caveats.iter().enumerate().map(caveat).collect(),
            salt: kept.salt,
            signature: kept.digests[0].signature.clone(),
        }
    }

    fn domain(&self, digest: &Digest) -> SigningDomain {
        let Domain { chain_id, manager, .. } = self.domains[digest.domain];
        SigningDomain { chain_id, manager }
    }
}

#[test]
fn at_least_two_hundred_are_compared_and_they_are_odd() {
    let file = File::load();
    let all = &file.delegations;
    let count = |test: fn(&Kept) -> bool| all.iter().filter(|kept| test(kept)).count();
    let sizes: BTreeSet<usize> =
        all.iter().flat_map(|kept| &kept.caveats).flat_map(|(_, t, a)| [*t, *a]).collect();
    let counts: BTreeSet<usize> = all.iter().map(|kept| kept.caveats.len()).collect();
    let hashes: BTreeSet<DelegationHash> = all.iter().map(|kept| kept.hash).collect();

    assert!(hashes.len() >= 200, "{} delegations", hashes.len());
    assert_eq!(counts, (0..=40).collect(), "every number of caveats");
    assert!([0, 1, 31, 33, 4999, 5000].iter().all(|size| sizes.contains(size)), "{sizes:?}");
    assert!(count(|kept| kept.salt.is_zero()) >= 10);
    assert!(count(|kept| kept.salt == U256::from(1)) >= 10);
    assert!(count(|kept| kept.salt == U256::MAX) >= 10);
    assert!(count(|kept| kept.delegate == ANY_DELEGATE) >= 10);
    assert!(count(|kept| kept.delegate.is_zero()) >= 10);
    assert!(count(|kept| kept.authority != golem_delegation::ROOT_AUTHORITY) >= 30);
    assert!(file.domains.len() >= 20);
}

#[test]
fn every_odd_hash_digest_and_signature_is_the_frameworks() {
    let file = File::load();

    for domain in &file.domains {
        let ours = SigningDomain { chain_id: domain.chain_id, manager: domain.manager };
        assert_eq!(ours.separator(), domain.separator, "chain {}", domain.chain_id);
    }
    for kept in &file.delegations {
        let delegation = file.whole(kept);
        assert_eq!(delegation.hash(), kept.hash, "{}", kept.name);
        for digest in &kept.digests {
            let domain = file.domain(digest);
            assert_eq!(domain.digest(&delegation), digest.digest, "{}", kept.name);
            let signed = delegation.clone().signed(digest.signature.clone());
            assert_eq!(domain.verify(&signed, kept.delegator), Ok(()), "{}", kept.name);
        }
    }
}

#[test]
fn every_odd_context_is_the_kits_and_decodes() {
    let file = File::load();
    let lengths: BTreeSet<usize> = file.contexts.iter().map(|one| one.delegations.len()).collect();

    assert_eq!(lengths, (1..=5).collect());
    assert!(file.contexts.len() >= 40);
    for vector in &file.contexts {
        let links: Vec<Delegation> =
            vector.delegations.iter().map(|index| file.whole(&file.delegations[*index])).collect();
        let context = PermissionContext::new(links).unwrap();
        let bytes = context.encode();
        assert_eq!((bytes.len(), keccak256(&bytes)), (vector.bytes, vector.keccak));
        assert_eq!(PermissionContext::decode(&bytes), Ok(context));
    }
}
