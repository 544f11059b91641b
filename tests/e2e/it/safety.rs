//! `golem-safety` beside the contracts it is the twin of: mutated calls, prices and policies, in process, with every field and
//! every refusal compared. Each test counts what it has covered, and fails where that is too little.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests fail like tests"
)]

mod actions;
mod policy;
mod window;
mod worth;

use alloy::{
    primitives::{Address, Bytes, U256},
    sol,
    sol_types::{Panic, SolError as _},
};
use anyhow::{Context as _, Result};
use bardo_testkit::{Course, root};
use std::{collections::BTreeMap, fs};

sol! {
    #[derive(Debug, PartialEq, Eq)]
    struct Action {
        uint8 class;
        address target;
        address tokenOut;
        uint256 amountOut;
        address tokenOut2;
        uint256 amountOut2;
        address tokenIn;
        uint256 minimumIn;
        uint256 minimum0;
        uint256 minimum1;
        address recipient;
        address spender;
        address source;
        uint256 positionId;
        uint24 fee;
        bytes32 golemId;
        bytes32 entryId;
    }

    #[derive(Debug, PartialEq, Eq)]
    struct Worth {
        uint256 out;
        uint256 back;
        uint256 poolPrice;
        uint256 feedPrice;
    }

    struct Policy {
        bytes32 constitutionHash;
        uint16 concentrationBps;
        uint16 drawdownBps;
        uint64 spendPerTransaction;
        uint64 spendPerSession;
        uint64 spendPerDay;
        address[] assets;
    }

    interface RulesHarness {
        function decode(uint8 role, address target, uint256 value, bytes data) returns (Action[] actions);
        function read(bytes listing, address target, uint256 value, bytes data) returns (Action[] actions);
        function requireNone(address target, bytes data, address manager, address delegator);
        function measure(bytes listing, Action action) returns (Worth worth);
        function total(bytes listing, Action[] actions) returns (uint256 value);
        function spend(
            uint256 word, uint256 amount, uint64 cap, uint16 bucketMinutes, uint16 epoch, uint256 nowAt
        ) returns (uint256 next);
        function publish(bytes32 salt, Policy policy) returns (bytes32 golemId, uint64 version);
        function policyOf(bytes32 golemId) returns (Policy policy, uint64 version, bytes32 policyHash);
        function hashOf(bytes32 golemId, uint64 version, Policy policy) returns (bytes32 hash);
    }

    interface Told {
        function tell(bytes4 selector, bytes answer);
    }
}

const HARNESS: Address = Address::repeat_byte(0xaa);
const NOW: u64 = 1_767_225_600;

/// Runtime code of a contract of `contracts/test/harness`, as forge built it.
pub(crate) fn built(name: &str) -> Result<Bytes> {
    let path = root().join(format!("contracts/out/RulesHarness.sol/{name}.json"));
    let json =
        fs::read_to_string(path).context("harness of the rules; build it with `make contracts`")?;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    let code = json.pointer("/deployedBytecode/object").and_then(serde_json::Value::as_str);
    Ok(code.context("no code in the artifact")?.parse()?)
}

/// A chain with the harness and nothing else.
fn stage() -> Result<Course> {
    let mut course = Course::bare(NOW);
    course.put(HARNESS, U256::ZERO, &built("RulesHarness")?);
    Ok(course)
}

/// Whether a revert is the compiler's own: without a word, or a panic.
fn is_wordless(revert: &[u8]) -> bool {
    revert.is_empty() || is_panic(revert)
}

fn is_panic(revert: &[u8]) -> bool {
    revert.starts_with(&Panic::SELECTOR)
}

/// The same draws in every run.
struct Dice(u64);

impl Dice {
    const fn next(&mut self) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(bound).unwrap()).unwrap()
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    const fn word(&mut self) -> U256 {
        U256::from_limbs([self.next(), self.next(), self.next(), self.next()])
    }
}

/// How often something happened.
#[derive(Default)]
struct Counts(BTreeMap<String, usize>);

impl Counts {
    fn add(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    /// Shown with `--nocapture`.
    fn show(&self) {
        for (name, count) in &self.0 {
            eprintln!("{count:>7} {name}");
        }
    }

    #[track_caller]
    fn require(&self, least: usize, what: &[&str]) {
        for name in what {
            let count = self.0.get(*name).copied().unwrap_or_default();
            assert!(count >= least, "{name} only {count} times");
        }
    }
}
