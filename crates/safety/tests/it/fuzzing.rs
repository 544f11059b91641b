//! The fuzz bodies on stable: the committed corpus, and mutations of it from a fixed seed.

use crate::{
    fixtures::{GOLEM, policy},
    fuzz_bodies, signing,
};
use alloy_primitives::Bytes;
use alloy_sol_types::SolValue as _;
use golem_delegation::terms::Role;
use golem_safety::{Published, decode_call};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
};

const MUTATIONS: usize = 20_000;

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/fuzz").join(target)
}

fn corpus(target: &str) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder(target)).unwrap().map(|entry| entry.unwrap());
    files
        .map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()))
        .collect()
}

/// Splitmix: the same draws in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((word ^ (word >> 31)) % u64::try_from(bound).unwrap()).unwrap()
    }
}

fn hold(target: &str, body: fn(&[u8])) {
    let seeds: Vec<_> = corpus(target).into_values().collect();
    seeds.iter().for_each(|seed| body(seed));
    let mut dice = Dice(0xf022);
    for _ in 0..MUTATIONS {
        let mut bytes = seeds[dice.below(seeds.len())].clone();
        for _ in 0..=dice.below(3) {
            let at = dice.below(bytes.len() + 1);
            match dice.below(5) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, u8::try_from(dice.below(256)).unwrap()),
                2 if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
                3 if at < bytes.len() => bytes[at] = [0, 1, 32, 0xff][dice.below(4)],
                _ => {
                    let other = &seeds[dice.below(seeds.len())];
                    let from = dice.below(other.len() + 1);
                    bytes.truncate(at);
                    bytes.extend(&other[from..]);
                }
            }
        }
        body(&bytes);
    }
}

#[test]
fn any_bytes_for_a_call_hold() {
    hold("action", fuzz_bodies::action);
}

#[test]
fn any_text_for_a_message_holds() {
    hold("typed_data", fuzz_bodies::typed_data);
}

#[test]
fn any_bytes_for_a_policy_hold() {
    hold("policy", fuzz_bodies::policy);
}

/// Seeds: one call of each kind that is read or refused, out of the shared vectors; the known messages; two policies.
fn seeds() -> BTreeMap<(&'static str, String), Vec<u8>> {
    #[derive(serde::Deserialize)]
    struct Vector {
        name: String,
        role: String,
        data: Bytes,
        ok: bool,
    }
    let file = include_str!("../../../../testdata/vectors/actions.json");
    let mut file: serde_json::Value = serde_json::from_str(file).unwrap();
    let vectors: Vec<Vector> = serde_json::from_value(file["vectors"].take()).unwrap();
    let mut seeds = BTreeMap::new();
    for (index, vector) in
        vectors.iter().enumerate().filter(|(index, vector)| vector.ok || index % 9 == 0)
    {
        let role =
            Role::ALL.into_iter().find(|role| role.name().eq_ignore_ascii_case(&vector.role));
        let mut bytes =
            vec![role.map_or(0, |role| role as u8), u8::from(vector.name.starts_with("wrap"))];
        bytes.extend(&vector.data);
        seeds.insert(("action", format!("vector-{index:03}")), bytes);
    }
    for name in signing::MESSAGES.into_iter().filter(|name| *name != "(no JSON)") {
        seeds.insert(("typed_data", name.to_owned()), signing::message(name).into_bytes());
    }
    for version in [1, 2] {
        let said = policy();
        let hash = said.hash(GOLEM, version);
        let fields = (
            said.constitution_hash,
            said.concentration_bps,
            said.drawdown_bps,
            said.spend_per_transaction,
            said.spend_per_session,
            said.spend_per_day,
            said.assets,
        );
        let answer = (fields, version, hash).abi_encode_params();
        seeds
            .insert(("policy", format!("version-{version}")), [GOLEM.as_slice(), &answer].concat());
    }
    seeds
}

/// The seeds are made here, so that a change of the vectors does not leave old bytes behind; `BLESS_SEEDS=1` rewrites them.
#[test]
fn the_corpus_is_made_of_the_vectors_and_reaches_both_sides() {
    let seeds = seeds();
    for ((target, name), bytes) in &seeds {
        let path = folder(target).join(name);
        if env::var_os("BLESS_SEEDS").is_some() {
            fs::create_dir_all(folder(target)).unwrap();
            fs::write(&path, bytes).unwrap();
        }
        assert!(
            fs::read(&path).unwrap_or_default() == *bytes,
            "{target}/{name}; run with BLESS_SEEDS=1"
        );
    }
    for target in ["action", "typed_data", "policy"] {
        assert_eq!(corpus(target).len(), seeds.keys().filter(|(of, _)| *of == target).count());
    }
    let is_read = |seed: &[u8]| {
        let role = Role::ALL.into_iter().find(|role| *role as u8 == seed[0]);
        let value = alloy_primitives::U256::from(seed[1]);
        decode_call(role, GOLEM[..20].try_into().unwrap(), value, &seed[2..]).is_ok()
    };
    let calls = corpus("action");
    let read = calls.values().filter(|seed| is_read(seed)).count();
    assert!(read >= 80 && calls.len() - read >= 30, "{read} of {} are read", calls.len());
    assert!(corpus("policy").values().all(|seed| Published::decode(GOLEM, &seed[32..]).is_ok()));
}
