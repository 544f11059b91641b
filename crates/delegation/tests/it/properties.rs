//! Properties of every value, drawn from a fixed seed.

use crate::{fixtures::Delegations, fuzz_bodies};
use alloy_primitives::{Address, B256, Bytes, FixedBytes, Selector, U256};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, PermissionContext, ROOT_AUTHORITY, SigningDomain, TermsError,
    terms::{
        AllowedCalldata, AllowedMethods, AllowedTargets, LimitedCalls, MortalityTimeWindow,
        Redeemer, Timestamp, ValueLte,
    },
};
use proptest::{
    collection::vec,
    prelude::*,
    sample::Index,
    test_runner::{Config, RngSeed},
};

/// The same cases in every run, and no files left behind.
fn config() -> Config {
    Config {
        cases: 256,
        rng_seed: RngSeed::Fixed(0x7710),
        failure_persistence: None,
        ..Config::default()
    }
}

fn word() -> impl Strategy<Value = U256> {
    prop_oneof![
        any::<[u8; 32]>().prop_map(U256::from_be_bytes),
        any::<u64>().prop_map(U256::from),
        Just(U256::ZERO),
        Just(U256::MAX),
    ]
}

fn address() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address::from)
}

/// Lengths around the edges of a word, and some longer ones.
fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        Just(Bytes::new()),
        vec(any::<u8>(), 31..=33).prop_map(Bytes::from),
        vec(any::<u8>(), 0..150).prop_map(Bytes::from),
    ]
}

fn caveat() -> impl Strategy<Value = Caveat> {
    (address(), bytes(), bytes()).prop_map(|(enforcer, terms, args)| Caveat {
        enforcer,
        terms,
        args,
    })
}

fn delegation() -> impl Strategy<Value = Delegation> {
    let delegate = prop_oneof![4 => address(), 1 => Just(ANY_DELEGATE)];
    (delegate, address(), word(), vec(caveat(), 0..6), word(), bytes()).prop_map(
        |(delegate, delegator, authority, caveats, salt, signature)| Delegation {
            delegate,
            delegator,
            authority: authority.into(),
            caveats,
            salt,
            signature,
        },
    )
}

/// A sound chain, leaf first.
fn context() -> impl Strategy<Value = PermissionContext> {
    vec(delegation(), 1..6).prop_map(|mut links| {
        let last = links.len() - 1;
        links[last].authority = ROOT_AUTHORITY;
        for index in (0..last).rev() {
            links[index].authority = links[index + 1].hash().0;
            if links[index + 1].delegate != ANY_DELEGATE {
                links[index].delegator = links[index + 1].delegate;
            }
        }
        PermissionContext::new(links).unwrap()
    })
}

/// The fields a delegator signs.
#[derive(Clone, Copy, Debug)]
enum Signed {
    Delegate,
    Delegator,
    Authority,
    Salt,
    Enforcer,
    Terms,
    TermsGrown,
    CaveatGone,
    CaveatTwice,
    CaveatNew,
}

fn signed_field() -> impl Strategy<Value = Signed> {
    use Signed::{
        Authority, CaveatGone, CaveatNew, CaveatTwice, Delegate, Delegator, Enforcer, Salt, Terms,
        TermsGrown,
    };
    prop::sample::select(vec![
        Delegate,
        Delegator,
        Authority,
        Salt,
        Enforcer,
        Terms,
        TermsGrown,
        CaveatGone,
        CaveatTwice,
        CaveatNew,
    ])
}

fn flip<const N: usize>(bytes: FixedBytes<N>, bit: usize) -> FixedBytes<N> {
    let mut bytes = bytes;
    bytes[bit / 8 % N] ^= 1 << (bit % 8);
    bytes
}

/// Changes one signed field by as little as one bit; `None` where there is no such field.
fn change(delegation: &Delegation, field: Signed, which: &Index, bit: usize) -> Option<Delegation> {
    let mut changed = delegation.clone();
    let count = changed.caveats.len();
    let caveat = (count > 0).then(|| which.index(count));
    match field {
        Signed::Delegate => changed.delegate = Address(flip(changed.delegate.0, bit)),
        Signed::Delegator => changed.delegator = Address(flip(changed.delegator.0, bit)),
        Signed::Authority => changed.authority = flip(changed.authority, bit),
        Signed::Salt => changed.salt = flip(B256::from(changed.salt), bit).into(),
        Signed::Enforcer => {
            let enforcer = &mut changed.caveats[caveat?].enforcer;
            *enforcer = Address(flip(enforcer.0, bit));
        }
        Signed::Terms => {
            let terms = &mut changed.caveats[caveat?].terms;
            let mut bytes = terms.to_vec();
            let length = bytes.len();
            *bytes.get_mut(bit % length.max(1))? ^= 1;
            *terms = bytes.into();
        }
        Signed::TermsGrown => {
            let terms = &mut changed.caveats[caveat?].terms;
            *terms = [&terms[..], &[0]].concat().into();
        }
        Signed::CaveatGone => drop(changed.caveats.remove(caveat?)),
        Signed::CaveatTwice => changed.caveats.push(changed.caveats[caveat?].clone()),
        Signed::CaveatNew => changed.caveats.push(Caveat::new(Address::ZERO, Bytes::new())),
    }
    Some(changed)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_context_survives_the_round_trip(context in context()) {
        let bytes = context.encode();

        prop_assert_eq!(bytes.len() % 32, 0);
        prop_assert_eq!(PermissionContext::decode(&bytes), Ok(context));
        fuzz_bodies::context(&bytes);
    }

    #[test]
    fn the_hash_changes_with_every_signed_field(
        delegation in delegation(),
        field in signed_field(),
        which in any::<Index>(),
        bit in any::<u8>(),
    ) {
        if let Some(changed) = change(&delegation, field, &which, bit.into()) {
            let domain = SigningDomain { chain_id: 1, manager: Address::ZERO };

            prop_assert_ne!(changed.hash(), delegation.hash(), "{:?}", field);
            prop_assert_ne!(domain.digest(&changed), domain.digest(&delegation), "{:?}", field);
        }
    }

    /// ATK-03.
    #[test]
    fn the_hash_changes_with_the_order_of_caveats(
        mut delegation in delegation(),
        first in caveat(),
        second in caveat(),
    ) {
        prop_assume!((first.enforcer, &first.terms) != (second.enforcer, &second.terms));
        delegation.caveats.extend([first, second]);
        let mut swapped = delegation.clone();
        let count = swapped.caveats.len();

        swapped.caveats.swap(count - 2, count - 1);

        prop_assert_ne!(swapped.hash(), delegation.hash());
    }

    /// ATK-03.
    #[test]
    fn the_hash_does_not_change_with_args_or_signature(
        delegation in delegation(),
        args in bytes(),
        signature in bytes(),
    ) {
        let mut changed = delegation.clone().signed(signature);
        for caveat in &mut changed.caveats {
            caveat.args = args.clone();
        }

        prop_assert_eq!(changed.hash(), delegation.hash());
    }

    /// Terms that run into one another across caveats are still told apart.
    #[test]
    fn the_hash_tells_where_one_caveats_terms_end(
        delegation in delegation(),
        enforcer in address(),
        terms in vec(any::<u8>(), 2..80),
        cut in any::<Index>(),
    ) {
        let with = |at: usize| {
            let mut delegation = delegation.clone();
            let (left, right) = terms.split_at(at);
            for part in [left, right] {
                delegation.caveats.push(Caveat::new(enforcer, part.to_vec()));
            }
            delegation.hash()
        };

        let at = 1 + cut.index(terms.len() - 1);

        prop_assert_ne!(with(at), with(at - 1));
    }

    #[test]
    fn digests_differ_by_chain_and_by_manager(
        delegation in delegation(),
        chains in any::<(u64, u64)>(),
        managers in (address(), address()),
    ) {
        let digest = |chain_id, manager| SigningDomain { chain_id, manager }.digest(&delegation);

        let here = digest(chains.0, managers.0);

        prop_assert_eq!(chains.0 == chains.1, here == digest(chains.1, managers.0));
        prop_assert_eq!(managers.0 == managers.1, here == digest(chains.0, managers.1));
    }

    #[test]
    fn random_bytes_never_panic(bytes in vec(any::<u8>(), 0..400)) {
        fuzz_bodies::context(&bytes);
        fuzz_bodies::terms(&bytes);
    }

    #[test]
    fn a_changed_byte_of_a_context_is_refused_or_read_back(
        context in context(),
        at in any::<Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = context.encode().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;

        fuzz_bodies::context(&bytes);
    }

    #[test]
    fn a_changed_word_of_a_context_is_refused_or_read_back(
        context in context(),
        at in any::<Index>(),
        word in prop_oneof![word(), (0_usize..40).prop_map(|words| U256::from(32 * words))],
    ) {
        let mut bytes = context.encode().to_vec();
        let at = at.index(bytes.len() / 32) * 32;
        bytes[at..at + 32].copy_from_slice(&word.to_be_bytes::<32>());

        fuzz_bodies::context(&bytes);
    }

    #[test]
    fn a_context_with_bytes_behind_it_is_refused(
        context in context(),
        more in vec(any::<u8>(), 1..100),
    ) {
        let longer = [&context.encode()[..], &more].concat();

        prop_assert!(PermissionContext::decode(&longer).is_err());
    }

    #[test]
    fn a_delegation_survives_json(delegation in delegation()) {
        let text = serde_json::to_string(&delegation).unwrap();

        prop_assert_eq!(serde_json::from_str::<Delegation>(&text).unwrap(), delegation);
    }

    #[test]
    fn lists_of_addresses_survive_the_round_trip(addresses in vec(address(), 1..30)) {
        let targets = AllowedTargets(addresses.clone());
        let redeemer = Redeemer(addresses);

        prop_assert_eq!(AllowedTargets::decode(&targets.encode()), Ok(targets));
        prop_assert_eq!(Redeemer::decode(&redeemer.encode()), Ok(redeemer));
    }

    #[test]
    fn methods_survive_the_round_trip(selectors in vec(any::<[u8; 4]>(), 1..30)) {
        let methods = AllowedMethods(selectors.into_iter().map(Selector::from).collect());

        prop_assert_eq!(AllowedMethods::decode(&methods.encode()), Ok(methods));
    }

    #[test]
    fn calldata_survives_the_round_trip(start in word(), value in vec(any::<u8>(), 1..100)) {
        let pinned = AllowedCalldata { start, value: value.into() };

        prop_assert_eq!(AllowedCalldata::decode(&pinned.encode()), Ok(pinned));
    }

    #[test]
    fn numbers_survive_the_round_trip(number in word()) {
        let value = ValueLte(number);
        let calls = LimitedCalls(number);

        prop_assert_eq!(ValueLte::decode(&value.encode()), Ok(value));
        prop_assert_eq!(LimitedCalls::decode(&calls.encode()), Ok(calls));
    }

    #[test]
    fn timestamps_survive_the_round_trip(after in any::<u128>(), before in any::<u128>()) {
        let timestamp = Timestamp { after, before };

        prop_assert_eq!(Timestamp::decode(&timestamp.encode()), Ok(timestamp));
    }

    #[test]
    fn windows_survive_the_round_trip(ends in any::<(u64, u64)>()) {
        let (start, end) = (ends.0.min(ends.1), ends.0.max(ends.1));
        let window = MortalityTimeWindow::new(start, end).unwrap();

        prop_assert_eq!((window.start(), window.end()), (start, end));
        prop_assert_eq!(MortalityTimeWindow::decode(&window.encode()), Ok(window));
    }

    /// ATK-33.
    #[test]
    fn an_inverted_window_is_refused(ends in any::<(u64, u64)>()) {
        prop_assume!(ends.0 != ends.1);
        let (start, end) = (ends.0.max(ends.1), ends.0.min(ends.1));
        let terms = [start.to_be_bytes(), end.to_be_bytes()].concat();
        let refusal = TermsError::InvertedWindow { start, end };

        prop_assert_eq!(MortalityTimeWindow::new(start, end), Err(refusal.clone()));
        prop_assert_eq!(MortalityTimeWindow::decode(&terms), Err(refusal));
    }

    /// ATK-33: both ends belong to the window.
    #[test]
    fn a_window_allows_from_its_first_second_to_its_last(
        ends in any::<(u64, u64)>(),
        free in any::<u64>(),
        near in -2_i64..=2,
    ) {
        let (start, end) = (ends.0.min(ends.1), ends.0.max(ends.1));
        let window = MortalityTimeWindow::new(start, end).unwrap();

        for now in [free, start.saturating_add_signed(near), end.saturating_add_signed(near)] {
            prop_assert_eq!(window.allows(now), (start..=end).contains(&now), "at {}", now);
        }
    }

    #[test]
    fn terms_of_random_length_are_taken_where_the_contract_takes_them(
        length in 0_usize..100,
        fill in any::<u8>(),
    ) {
        fuzz_bodies::terms(&vec![fill; length]);
    }
}

/// One bit at a time, so that no byte of a context goes unread.
#[test]
fn every_flipped_bit_of_a_context_is_refused_or_shown() {
    let file = Delegations::load();
    let bytes = file.context("one: 1 caveats");
    let decoded = PermissionContext::decode(&bytes).unwrap();

    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(other) = PermissionContext::decode(&flipped) {
            assert_ne!(other, decoded, "bit {bit} is not read");
        }
        fuzz_bodies::context(&flipped);
    }
}
