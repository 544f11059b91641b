//! The decoder against the vectors that drive the contract's tests too; `tests/e2e` compares the two on mutated calls.

use alloy_primitives::{Address, B256, Bytes, Selector, U256, aliases::U24};
use golem_delegation::terms::{Class, ListedTarget, ListedToken, Listing, Role};
use golem_safety::{
    Action, ActionRefusal, decode_call, hidden_call, is_carrier, is_multicall, read_call, role_of,
};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    name: String,
    role: String,
    target: Address,
    value: String,
    data: Bytes,
    ok: bool,
    error: String,
    actions: Vec<Expected>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Expected {
    class: String,
    target: Address,
    token_out: Address,
    amount_out: String,
    token_out2: Address,
    amount_out2: String,
    token_in: Address,
    minimum_in: String,
    minimum0: String,
    minimum1: String,
    recipient: Address,
    spender: Address,
    source: Address,
    position_id: String,
    fee: String,
    golem_id: B256,
    entry_id: B256,
}

/// The contract's names begin with a capital.
fn capital(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

fn role(name: &str) -> Option<Role> {
    Role::ALL.into_iter().find(|role| capital(role.name()) == name)
}

impl Expected {
    fn action(&self) -> Action {
        let class = Class::ALL.into_iter().find(|class| capital(class.name()) == self.class);
        Action {
            class: class.unwrap(),
            target: self.target,
            token_out: self.token_out,
            amount_out: self.amount_out.parse().unwrap(),
            token_out2: self.token_out2,
            amount_out2: self.amount_out2.parse().unwrap(),
            token_in: self.token_in,
            minimum_in: self.minimum_in.parse().unwrap(),
            minimum0: self.minimum0.parse().unwrap(),
            minimum1: self.minimum1.parse().unwrap(),
            recipient: self.recipient,
            spender: self.spender,
            source: self.source,
            position_id: self.position_id.parse().unwrap(),
            fee: self.fee.parse::<U24>().unwrap(),
            golem_id: self.golem_id,
            entry_id: self.entry_id,
        }
    }
}

fn name_of(refusal: &ActionRefusal) -> String {
    let debug = format!("{refusal:?}");
    debug.split(' ').next().unwrap().to_owned()
}

#[test]
fn matches_the_shared_vectors() {
    let file = include_str!("../../../../testdata/vectors/actions.json");
    let vectors = serde_json::from_str::<File>(file).unwrap().vectors;
    let mut seen = BTreeMap::<String, usize>::new();
    for vector in &vectors {
        let value = vector.value.parse().unwrap();
        let read = decode_call(role(&vector.role), vector.target, value, &vector.data);
        *seen.entry(vector.error.clone()).or_default() += 1;
        match read {
            Ok(actions) => {
                assert!(vector.ok, "{} should be refused: {}", vector.name, vector.error);
                let expected: Vec<_> = vector.actions.iter().map(Expected::action).collect();
                assert_eq!(actions, expected, "{}", vector.name);
            }
            Err(refusal) => {
                assert!(!vector.ok, "{}: {refusal}", vector.name);
                assert_eq!(name_of(&refusal), vector.error, "{}", vector.name);
            }
        }
    }
    // Every refusal there is, and calls that are read.
    assert_eq!(seen.len(), 13, "{seen:?}");
    assert!(vectors.len() >= 450, "{}", vectors.len());
}

#[test]
fn targets_count_before_tokens_and_of_two_entries_the_first() {
    let [twice, priced, nobody] = [1, 2, 3].map(Address::repeat_byte);
    let token = |token, role| ListedToken {
        token,
        role,
        feed: Address::ZERO,
        token_decimals: 6,
        feed_decimals: 8,
        max_age: 1,
    };
    let target = |role| ListedTarget { target: twice, role };
    let listing = Listing {
        tokens: vec![token(twice, Some(Role::Token)), token(priced, None)],
        targets: vec![target(Role::Vault), target(Role::Weth)],
        ..Listing::default()
    };

    assert_eq!(role_of(&listing, twice), Some(Role::Vault));
    assert_eq!(role_of(&listing, priced), None);
    assert_eq!(role_of(&listing, nobody), None);
    let refusal = read_call(&listing, priced, U256::ZERO, &[0xa9, 0x05, 0x9c, 0xbb]);
    assert_eq!(refusal, Err(ActionRefusal::UnknownTarget { target: priced }));
}

/// ATK-18: what carries calls in a form of its own is known by its selector.
#[test]
fn carriers_are_known_wherever_they_are_called() {
    let [target, manager, account] = [1, 2, 3].map(Address::repeat_byte);
    let redeem = Selector::from([0xce, 0xf6, 0xd2, 0x09]);

    assert!(is_carrier(redeem) && !is_multicall(redeem));
    assert_eq!(hidden_call(target, redeem.as_slice(), manager, account), Some(redeem));
    assert_eq!(hidden_call(target, &redeem[..3], manager, account), None);
    assert_eq!(hidden_call(manager, &[], manager, account), None);
    assert_eq!(hidden_call(manager, &[1], manager, account), Some([1, 0, 0, 0].into()));
    assert_eq!(hidden_call(account, &[1], manager, account), Some([1, 0, 0, 0].into()));
}

/// ATK-10 of another kind: a list as long as calldata can be costs one look at each of its offsets, and is refused.
#[test]
fn a_multicall_of_thousands_that_overlap_is_refused_without_copies() {
    let count = 20_000usize;
    let mut data = vec![0xac, 0x96, 0x50, 0xd8];
    let word = |n: usize| U256::from(n).to_be_bytes::<32>();
    data.extend(word(32));
    data.extend(word(count));
    for _ in 0..count {
        // All of them are the same call, which is as long as everything.
        data.extend(word(count * 32));
    }
    data.extend(word(count * 16));
    data.extend(vec![7; count * 16]);
    let router = Address::repeat_byte(9);

    let read = decode_call(Some(Role::SwapRouter02), router, U256::ZERO, &data);

    let selector = Selector::from([0xac, 0x96, 0x50, 0xd8]);
    assert_eq!(read, Err(ActionRefusal::NotCanonical { target: router, selector }));
}
