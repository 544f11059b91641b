//! The fuzz bodies on stable: the committed corpus, and mutations of it from a fixed seed.

use crate::{
    fixtures::{Delegations, read},
    fuzz_bodies,
    mutations::{MUTATIONS, corpus, hold},
    passkeys::owners,
};
use alloy_primitives::{Bytes, hex};
use golem_delegation::{MAX_CONTEXT_BYTES, PasskeySignature, PermissionContext, permission};

#[test]
fn corpus_and_seeded_mutations_hold() {
    hold("context", fuzz_bodies::context, MUTATIONS);
    hold("terms", fuzz_bodies::terms, MUTATIONS);
}

#[test]
fn any_text_for_a_permission_holds() {
    hold("permission", fuzz_bodies::permission, MUTATIONS);
}

#[test]
fn any_bytes_for_a_passkeys_signature_hold() {
    hold("passkey", fuzz_bodies::passkey, MUTATIONS);
}

#[test]
fn any_list_for_a_tree_holds() {
    // Every delegation of every list is hashed, several times over.
    hold("tree", fuzz_bodies::tree, MUTATIONS / 5);
}

/// A corpus that the decoder turns away at the door would show nothing.
#[test]
fn the_corpus_reaches_both_sides_of_the_decoder() {
    let seeds = corpus("context");
    let accepted = seeds.values().filter(|seed| PermissionContext::decode(seed).is_ok()).count();

    assert!(accepted >= 5, "{accepted} accepted");
    assert!(seeds.len() - accepted >= 3, "{} refused", seeds.len() - accepted);
    assert!(seeds.values().all(|seed| seed.len() <= MAX_CONTEXT_BYTES / 16));
}

/// The same of the reader of requests and answers.
#[test]
fn the_corpus_of_permissions_is_read_but_for_what_says_so() {
    let file: serde_json::Value = read("permissions.json");
    for (name, seed) in corpus("permission") {
        let text = String::from_utf8(seed).unwrap();
        assert_eq!(permission::read(&text).is_err(), name.starts_with("refused"), "{name}");
        let [form, rest @ ..] = &name.split('-').collect::<Vec<_>>()[..] else { panic!("{name}") };
        let vector = match rest {
            [index, kind] => &file[form][index.parse::<usize>().unwrap()][kind],
            [kind] => &file[form][kind],
            _ => panic!("{name}"),
        };
        if *form != "refused" {
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(&text).unwrap(),
                *vector,
                "{name}"
            );
        }
    }
}

#[test]
fn the_passkeys_corpus_reaches_both_sides_of_the_decoder() {
    let seeds = corpus("passkey");
    let accepted = seeds.values().filter(|seed| PasskeySignature::decode(seed).is_ok()).count();

    assert!(accepted >= 6, "{accepted} accepted");
    assert!(seeds.len() - accepted >= 3, "{} refused", seeds.len() - accepted);
}

/// The seeds are the vectors, so that a change of those does not leave old bytes behind.
#[test]
fn seeds_that_name_a_vector_are_that_vector() {
    let file = Delegations::load();
    let contexts = corpus("context");
    for (seed, name) in [
        ("bare", "one: 0 caveats"),
        ("caveat", "one: 1 caveats"),
        ("caveats", "one: terms of every size together"),
        ("unsigned", "one: not signed"),
        ("multisig", "one: two signatures in one, as of a MultiSig account"),
        ("chain-of-3", "chain of 3"),
        ("empty", "none"),
    ] {
        assert_eq!(contexts[seed], file.context(name), "{seed}");
    }

    let owners = owners();
    let passkeys = corpus("passkey");
    for (seed, index) in [
        ("usual", 0),
        ("present", 1),
        ("backed-up", 2),
        ("extensions", 4),
        ("challenge-first", 7),
        ("long-origin", 9),
    ] {
        assert_eq!(passkeys[seed], owners.passkeys[index].grant.delegation.signature, "{seed}");
    }
    assert_eq!(passkeys["bare"], owners.passkeys[0].raw);

    let stock: serde_json::Value = read("stock-terms.json");
    let known: Vec<Bytes> = stock["vectors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|vector| vector["terms"].as_str().unwrap().parse().unwrap())
        .collect();
    for (seed, bytes) in corpus("terms") {
        // Terms of our own contracts, which MetaMask's packages do not make.
        if ["window", "charter", "listing", "golem"].iter().any(|ours| seed.starts_with(ours)) {
            continue;
        }
        assert!(known.iter().any(|terms| *terms == bytes), "{seed}: {}", hex::encode(bytes));
    }
}
