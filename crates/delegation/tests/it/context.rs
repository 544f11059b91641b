//! Permission contexts that must be refused, and that refusing them is cheap.

use crate::fixtures::{Delegations, chain, encode, link, party, word};
use alloy_primitives::{Address, B256, Bytes, U256};
use golem_delegation::{
    ANY_DELEGATE, ContextError, Delegation, MAX_CONTEXT_BYTES, MAX_LINKS, PermissionContext,
    ROOT_AUTHORITY,
};

const WORD: usize = 32;

fn refusal(bytes: &[u8]) -> ContextError {
    PermissionContext::decode(bytes).unwrap_err()
}

/// A context of one delegation with one caveat, as MetaMask's kit writes it.
fn kits() -> Vec<u8> {
    Delegations::load().context("one: 1 caveats").to_vec()
}

fn set_word(bytes: &mut [u8], index: usize, value: usize) {
    bytes[index * WORD..(index + 1) * WORD].copy_from_slice(&word(value));
}

fn word_at(bytes: &[u8], index: usize) -> U256 {
    U256::from_be_slice(&bytes[index * WORD..(index + 1) * WORD])
}

/// Position of each offset in a context of one delegation with one caveat.
const OFFSETS: [(&str, usize); 7] = [
    ("list", 0),
    ("delegation", 2),
    ("caveats", 6),
    ("signature", 8),
    ("caveat", 10),
    ("terms", 12),
    ("args", 13),
];

#[test]
fn our_framing_of_a_list_is_the_kits() {
    let file = Delegations::load();

    for vector in &file.contexts {
        assert_eq!(encode(&file.links(vector)), vector.context, "{}", vector.name);
    }
}

#[test]
fn trailing_bytes_are_refused() {
    let bytes = kits();

    for extra in [&[0_u8][..], &[1], &[0; 31], &[0; 32], &[0xff; 32], &[0; 4096]] {
        let longer = [&bytes, extra].concat();
        assert_eq!(refusal(&longer), ContextError::NotCanonical, "{} more", extra.len());
    }
}

#[test]
fn a_context_cut_anywhere_is_refused() {
    let bytes = kits();

    for length in 0..bytes.len() {
        let error = refusal(&bytes[..length]);
        assert!(
            matches!(error, ContextError::Malformed | ContextError::NotCanonical),
            "{length}: {error}"
        );
    }
}

/// ATK-15: another decoder must not read something else out of the same bytes.
#[test]
fn an_offset_that_points_past_a_gap_is_refused() {
    let bytes = kits();
    // A copy of everything follows, so that a longer offset finds what it looks for.
    let tail = bytes.len() - WORD;
    let doubled = [&bytes[..], &bytes[WORD..]].concat();

    for (name, index) in OFFSETS {
        let mut odd = doubled.clone();
        let offset = usize::try_from(word_at(&bytes, index)).unwrap();
        set_word(&mut odd, index, offset + tail);
        assert_eq!(refusal(&odd), ContextError::NotCanonical, "{name}");
    }
}

#[test]
fn an_offset_off_by_a_byte_or_a_word_is_refused() {
    let bytes = kits();

    for (name, index) in OFFSETS {
        let offset = usize::try_from(word_at(&bytes, index)).unwrap();
        for wrong in [0, offset - WORD, offset - 1, offset + 1, offset + WORD, usize::MAX] {
            if wrong == offset {
                continue;
            }
            let mut odd = bytes.clone();
            set_word(&mut odd, index, wrong);
            let error = refusal(&odd);
            assert!(
                matches!(error, ContextError::Malformed | ContextError::NotCanonical),
                "{name} at {wrong}: {error}"
            );
        }
        let mut huge = bytes.clone();
        huge[index * WORD] = 0xff;
        assert!(PermissionContext::decode(&huge).is_err(), "{name} beyond 2^64");
    }
}

/// ATK-15: two lists that share one element are read alike by most decoders, but not written so.
#[test]
fn two_offsets_to_the_same_bytes_are_refused() {
    let link = link(0, ROOT_AUTHORITY);
    let mut shared = encode(&[link.clone(), link]);
    let one = (shared.len() - 4 * WORD) / 2;

    set_word(&mut shared, 3, 2 * WORD);
    assert_eq!(refusal(&shared), ContextError::NotCanonical);

    shared.truncate(shared.len() - one);
    assert_eq!(refusal(&shared), ContextError::NotCanonical);
}

#[test]
fn tails_in_another_order_are_refused() {
    let links = chain(2);
    let bytes = encode(&links);
    let one = (bytes.len() - 4 * WORD) / 2;
    let (head, tails) = bytes.split_at(4 * WORD);
    let (first, second) = tails.split_at(one);
    let mut swapped = [head, second, first].concat();
    assert_eq!(PermissionContext::decode(&bytes).unwrap().links(), links);

    set_word(&mut swapped, 2, 2 * WORD + one);
    set_word(&mut swapped, 3, 2 * WORD);

    assert_eq!(refusal(&swapped), ContextError::NotCanonical);
}

#[test]
fn dirty_padding_of_bytes_is_refused() {
    let bytes = kits();
    // Terms of 31 bytes have one byte of padding, a signature of 65 has 31.
    let signature_end = bytes.len();
    let terms = 15;
    assert_eq!(word_at(&bytes, terms - 1), U256::from(31));

    for position in [terms * WORD + 31, signature_end - 1, signature_end - 31] {
        let mut dirty = bytes.clone();
        assert_eq!(dirty[position], 0, "{position}");
        dirty[position] = 1;
        assert_eq!(refusal(&dirty), ContextError::NotCanonical, "{position}");
    }
}

#[test]
fn dirty_padding_of_an_address_is_refused() {
    let bytes = kits();

    for (name, index) in [("delegate", 3), ("delegator", 4), ("enforcer", 11)] {
        for byte in [0, 11] {
            let mut dirty = bytes.clone();
            assert_eq!(dirty[index * WORD + byte], 0, "{name}");
            dirty[index * WORD + byte] = 1;
            let error = refusal(&dirty);
            assert!(
                matches!(error, ContextError::Malformed | ContextError::NotCanonical),
                "{name}: {error}"
            );
        }
    }
}

#[test]
fn bytes_that_are_no_list_are_malformed() {
    for bytes in [&[][..], &[0; 31], &[0xff; 32], &[0xff; 4096], b"permission"] {
        assert_eq!(refusal(bytes), ContextError::Malformed);
    }
}

#[test]
fn a_length_that_no_input_could_have_is_refused() {
    for length in [1, MAX_LINKS, 1 << 20, usize::MAX] {
        let bytes = [word(0x20), word(length)].concat();
        assert_eq!(refusal(&bytes), ContextError::Malformed, "{length}");
    }
    let mut bytes = word(0x20).to_vec();
    bytes.extend([0xff; 32]);
    assert_eq!(refusal(&bytes), ContextError::Malformed);
}

#[test]
fn an_empty_list_is_refused() {
    assert_eq!(refusal(&encode(&[])), ContextError::Empty);
    assert_eq!(PermissionContext::new(vec![]), Err(ContextError::Empty));
}

/// Changes one link of a sound chain of four and asks both ways in.
fn broken(change: impl FnOnce(&mut Vec<Delegation>)) -> ContextError {
    let mut links = chain(4);
    change(&mut links);
    let error = refusal(&encode(&links));
    assert_eq!(PermissionContext::new(links), Err(error.clone()));
    error
}

#[test]
fn a_link_that_names_another_parent_is_refused() {
    for link in 0..3 {
        let wrong = broken(|links| links[link].authority = B256::repeat_byte(0x11));
        // The link above the changed one, counted from the root, is the first that shows it.
        let shown = link.saturating_sub(1);
        assert_eq!(wrong, ContextError::BrokenAuthority { link: shown });

        let root_in_the_middle = broken(|links| links[link].authority = ROOT_AUTHORITY);
        assert_eq!(root_in_the_middle, ContextError::BrokenAuthority { link: shown });
    }
}

/// Rehashes upwards so that only the delegator is wrong.
fn resealed(mut links: Vec<Delegation>) -> Vec<Delegation> {
    for index in (0..links.len() - 1).rev() {
        links[index].authority = links[index + 1].hash().0;
    }
    links
}

#[test]
fn a_link_not_granted_by_its_parents_delegate_is_refused() {
    for link in 0..3 {
        let error = broken(|links| {
            links[link].delegator = Address::repeat_byte(0x66);
            *links = resealed(std::mem::take(links));
        });
        assert_eq!(error, ContextError::BrokenDelegator { link });
    }
}

#[test]
fn anybody_may_extend_a_delegation_to_any_delegate() {
    let mut links = chain(2);
    links[1].delegate = ANY_DELEGATE;
    let links = resealed(links);
    assert_ne!(links[0].delegator, links[1].delegate);

    let context = PermissionContext::decode(&encode(&links)).unwrap();

    assert_eq!(context.links(), links);
}

/// The name stands for whoever redeems; it is nobody who could grant.
#[test]
fn any_delegate_as_delegator_is_no_wildcard() {
    let mut links = chain(2);
    links[0].delegator = ANY_DELEGATE;

    let error = PermissionContext::new(resealed(links)).unwrap_err();

    assert_eq!(error, ContextError::BrokenDelegator { link: 0 });
}

#[test]
fn a_chain_without_its_root_is_refused() {
    assert_eq!(broken(|links| drop(links.pop())), ContextError::NoRoot);
    assert_eq!(broken(|links| links[3].authority = B256::ZERO), ContextError::NoRoot);
}

#[test]
fn links_in_reverse_or_twice_are_refused() {
    assert_eq!(broken(|links| links.reverse()), ContextError::NoRoot);
    let twice = broken(|links| {
        let root = links[3].clone();
        links.push(root);
    });
    assert_eq!(twice, ContextError::BrokenAuthority { link: 3 });
}

#[test]
fn a_chain_of_the_greatest_length_is_accepted() {
    let links = chain(MAX_LINKS);

    let context = PermissionContext::decode(&encode(&links)).unwrap();

    assert_eq!(context.links(), links);
    assert_eq!(context.leaf().delegate, party(MAX_LINKS));
    assert_eq!(context.root().delegator, party(0));
}

/// ATK-10.
#[test]
fn a_chain_that_is_too_long_is_refused() {
    for length in [MAX_LINKS + 1, 100] {
        let links = chain(length);
        let error = ContextError::TooLong { limit: MAX_LINKS, actual: length };
        assert_eq!(refusal(&encode(&links)), error);
        assert_eq!(PermissionContext::new(links), Err(error));
    }
}

/// ATK-10.
#[test]
fn a_thousand_duplicates_are_refused() {
    // As many of the smallest as fit below the limit on bytes, more or less.
    let bare = Delegation { caveats: vec![], signature: Bytes::new(), ..link(0, ROOT_AUTHORITY) };
    let links = vec![bare; 600];
    let error = ContextError::TooLong { limit: MAX_LINKS, actual: 600 };
    assert_eq!(refusal(&encode(&links)), error);

    let links = vec![link(0, ROOT_AUTHORITY); 1000];
    let bytes = encode(&links);
    let error = ContextError::TooLarge { limit: MAX_CONTEXT_BYTES, actual: bytes.len() };
    assert_eq!(refusal(&bytes), error);
    let error = ContextError::TooLong { limit: MAX_LINKS, actual: 1000 };
    assert_eq!(PermissionContext::new(links), Err(error));
}

#[test]
fn the_greatest_context_is_accepted_and_one_more_word_is_not() {
    let mut link = link(0, ROOT_AUTHORITY);
    let rest = encode(std::slice::from_ref(&link)).len() - WORD;
    let fill = MAX_CONTEXT_BYTES - rest;
    link.signature = vec![0xab; fill].into();
    let bytes = encode(std::slice::from_ref(&link));
    assert_eq!(bytes.len(), MAX_CONTEXT_BYTES);
    assert_eq!(PermissionContext::decode(&bytes).unwrap().leaf(), &link);

    link.signature = vec![0xab; fill + 1].into();
    let bytes = encode(&[link]);

    let actual = MAX_CONTEXT_BYTES + WORD;
    assert_eq!(refusal(&bytes), ContextError::TooLarge { limit: MAX_CONTEXT_BYTES, actual });
}

/// A list of `delegations` that are all the same bytes, with `caveats` that are all the same
/// bytes, with terms of `terms` words: what it says is the product, what it takes is the sum.
fn bomb(delegations: usize, caveats: usize, terms: usize) -> Vec<u8> {
    let mut bytes = [word(0x20), word(delegations)].concat();
    for _ in 0..delegations {
        bytes.extend(word(delegations * WORD));
    }
    // delegate, delegator, authority, caveats, salt, signature (the empty args below).
    let args_of_caveat = (caveats + 3 + 1 + terms) * WORD;
    bytes.extend([word(1), word(2), [0xff; 32], word(6 * WORD), word(0)].concat());
    bytes.extend(word(7 * WORD + args_of_caveat));
    bytes.extend(word(caveats));
    for _ in 0..caveats {
        bytes.extend(word(caveats * WORD));
    }
    // enforcer, terms, args.
    bytes.extend([word(3), word(3 * WORD), word((4 + terms) * WORD)].concat());
    bytes.extend(word(terms * WORD));
    bytes.resize(bytes.len() + terms * WORD, 0xab);
    bytes.extend(word(0));
    bytes
}

/// ATK-10: shared offsets let a quarter of a megabyte stand for hundreds of gigabytes.
///
/// A decoder that followed them would run into its own limit and call the bytes malformed; ours
/// stops at the first offset that does not point behind what was read.
#[test]
fn offsets_that_multiply_are_refused_at_the_first_repeat() {
    for (delegations, caveats, terms) in
        [(2, 2, 1), (2700, 2700, 2700), (32, 64, 8000), (4000, 4000, 0)]
    {
        let bytes = bomb(delegations, caveats, terms);
        assert!(bytes.len() <= MAX_CONTEXT_BYTES);
        assert_eq!(
            refusal(&bytes),
            ContextError::NotCanonical,
            "{delegations} × {caveats} × {terms}"
        );
    }
}

#[test]
fn refusals_say_what_is_wrong() {
    for (error, text) in [
        (
            ContextError::TooLarge { limit: 262_144, actual: 262_145 },
            "permission context of 262145 bytes is larger than 262144 bytes",
        ),
        (ContextError::Malformed, "permission context is not an ABI encoded list of delegations"),
        (ContextError::NotCanonical, "permission context is not in canonical ABI form"),
        (ContextError::Empty, "permission context holds no delegation"),
        (
            ContextError::TooLong { limit: 32, actual: 33 },
            "chain of 33 delegations is longer than 32",
        ),
        (
            ContextError::BrokenAuthority { link: 1 },
            "authority of link 1 is not the hash of link 2",
        ),
        (
            ContextError::BrokenDelegator { link: 0 },
            "delegator of link 0 is not the delegate of link 1",
        ),
        (ContextError::NoRoot, "last link is not a root delegation"),
    ] {
        assert_eq!(error.to_string(), text);
    }
}
