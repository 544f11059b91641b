//! Properties of every request, drawn from a fixed seed.

use alloy_primitives::{Address, Bytes, U256};
use golem_delegation::{
    permission::{
        Allowance, Answer, Asset, Dependency, Edit, Form, MAX_PERIOD, Message, Periodic,
        Permission, Request, Rules, Stream, read,
    },
    terms::ApprovalRevocation,
};
use proptest::{
    collection::vec,
    option,
    prelude::*,
    test_runner::{Config, RngSeed},
};

fn config() -> Config {
    Config {
        cases: 256,
        rng_seed: RngSeed::Fixed(0x7715),
        failure_persistence: None,
        ..Config::default()
    }
}

const LATEST: u64 = (1 << 53) - 1;

fn address() -> impl Strategy<Value = Address> {
    any::<[u8; 20]>().prop_map(Address::from).prop_filter("zero", |address| !address.is_zero())
}

fn amount() -> impl Strategy<Value = U256> {
    prop_oneof![
        any::<[u8; 32]>().prop_map(U256::from_be_bytes),
        any::<u64>().prop_map(U256::from),
        Just(U256::ONE),
        Just(U256::MAX),
    ]
    .prop_filter("zero", |amount| !amount.is_zero())
}

fn asset() -> impl Strategy<Value = Asset> {
    prop_oneof![Just(Asset::Native), address().prop_map(Asset::Erc20)]
}

fn start() -> impl Strategy<Value = Option<u64>> {
    option::of(1..LATEST)
}

fn permission() -> impl Strategy<Value = Permission> {
    prop_oneof![
        (asset(), amount(), 1..=MAX_PERIOD, start()).prop_map(
            |(asset, amount, duration, start)| {
                Permission::Periodic(Periodic { asset, amount, duration, start })
            }
        ),
        (asset(), amount(), option::of(amount()), option::of(amount()), start()).prop_map(
            |(asset, per_second, initial, max, start)| {
                // More in all than at the start.
                let (initial, max) = match (initial, max) {
                    (Some(a), Some(b)) if a > b => (Some(b), Some(a)),
                    (Some(a), Some(b)) if a == b => (None, Some(b)),
                    (Some(U256::MAX), None) => (None, None),
                    other => other,
                };
                Permission::Stream(Stream { asset, per_second, initial, max, start })
            }
        ),
        (asset(), amount(), start()).prop_map(|(asset, amount, start)| {
            Permission::Allowance(Allowance { asset, amount, start })
        }),
        (1_u8..64).prop_map(|bits| {
            Permission::ApprovalRevocation(ApprovalRevocation::decode(&[bits]).unwrap())
        }),
    ]
}

prop_compose! {
    fn request()(
        chain_id in 1..=LATEST,
        from in option::of(address()),
        to in address(),
        permission in permission(),
        adjustable in any::<bool>(),
        justification in option::of("[^\\x00]{1,80}"),
        expiry in option::of(1..=LATEST),
        redeemers in vec(address(), 0..4),
        mut payees in vec(address(), 0..4),
    ) -> Request {
        match permission.asset() {
            None => payees.clear(),
            Some(Asset::Erc20(_)) => payees.truncate(1),
            _ => {}
        }
        let expiry = expiry.map(|expiry| permission.start().map_or(expiry, |start| expiry.max(start + 1)));
        let rules = Rules { expiry, redeemers, payees, adjustable };
        Request { chain_id, from, to, permission, adjustable, justification, rules }
    }
}

fn read_requests(text: &str) -> (Form, Vec<Request>) {
    let read = read(text).unwrap();
    let Message::Requests(requests) = read.message else { panic!("{text}") };
    (read.form, requests)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_is_written_reads_the_same(requests in vec(request(), 1..4)) {
        for form in [Form::Today, Form::Year2025, Form::Draft] {
            match form.write_requests(&requests) {
                Ok(call) => prop_assert_eq!(read_requests(&call.to_string()), (form, requests.clone())),
                Err(error) => prop_assert!(form != Form::Today, "{error}"),
            }
        }
    }

    #[test]
    fn answers_that_are_written_read_the_same(
        granted in request(),
        context in vec(any::<u8>(), 0..200),
        data in vec(vec(any::<u8>(), 0..40), 0..3),
        manager in address(),
    ) {
        let dependencies = data
            .into_iter()
            .map(|data| Dependency { factory: manager, factory_data: Bytes::from(data) })
            .collect();
        let answer = Answer { granted, context: context.into(), dependencies, manager: Some(manager) };
        for form in [Form::Today, Form::Year2025] {
            let Ok(text) = form.write_answers(std::slice::from_ref(&answer)) else {
                prop_assert!(form != Form::Today);
                continue;
            };
            let read = read(&text.to_string()).unwrap();
            prop_assert_eq!((read.form, read.message), (form, Message::Answers(vec![answer.clone()])));
        }
    }

    #[test]
    fn a_difference_is_an_edit_and_no_difference_is_none(one in request(), other in request()) {
        prop_assert_eq!(Edit::between(&one, &one), []);
        prop_assert_ne!(Edit::between(&one, &other), []);
    }
}
