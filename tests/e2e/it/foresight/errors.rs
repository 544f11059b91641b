//! Every custom error of our enforcers, by the artifacts that are deployed, and which of them no redemption meets.

use alloy::{
    json_abi::JsonAbi,
    primitives::{Address, Selector},
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::deployables;
use bardo_testkit::root;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// Attempts that each error must refuse. Enforcers that can say the same share them, and each of them says it.
pub(super) const EACH: u64 = 50;

/// What no redemption can end in, and why.
const UNREACHED: [(&str, &str); 6] = [
    ("ExecutionModes_NotSingleDefault", "no rule of ours takes single calls alone"),
    ("ExecutionModes_NotBatchDefault", "no rule of ours takes batches alone"),
    ("GolemCharter_UnknownCall", "the manager calls the four hooks and nothing else"),
    ("HoldingsEnforcer_NotBegun", "the manager calls no hook after without the one before"),
    ("GrantSignature_Length", "the arguments are cut into signatures, once their length is right"),
    ("SpendWindow_TimeWentBack", "the time of a block is never before that of its parent"),
];

/// Who can say what.
pub(super) struct Errors(BTreeMap<Address, (&'static str, BTreeMap<Selector, String>)>);

/// How often each enforcer said each of its errors.
pub(super) type Said = BTreeMap<(&'static str, String), u64>;

impl Errors {
    /// Of every enforcer of ours.
    pub(super) fn of_artifacts() -> Result<Self> {
        let mut all = BTreeMap::new();
        for one in deployables().iter().filter(|one| one.name.ends_with("Enforcer")) {
            let file = root().join(format!("contracts/artifacts/{}.json", one.name));
            let artifact: serde_json::Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
            let abi = artifact.get("abi").cloned().context("no interface")?;
            let abi: JsonAbi = serde_json::from_value(abi)?;
            let errors = abi.errors().map(|error| (error.selector(), error.name.clone())).collect();
            all.insert(one.address, (one.name, errors));
        }
        ensure!(all.len() == 13, "{} enforcers", all.len());
        Ok(Self(all))
    }

    /// Which error of that enforcer's it is; none where it is nobody of ours.
    pub(super) fn name(
        &self,
        enforcer: Address,
        data: &[u8],
    ) -> Result<Option<(&'static str, String)>> {
        let Some((who, errors)) = self.0.get(&enforcer) else { return Ok(None) };
        let selector = data.first_chunk::<4>().context("no selector")?;
        let error = errors.get(selector).with_context(|| format!("{who} does not say that"))?;
        Ok(Some((who, error.clone())))
    }

    /// Every error often enough, by every enforcer that has it; and those that no redemption meets never.
    pub(super) fn check(&self, said: &Said) -> Result<()> {
        let unreached: BTreeSet<&str> = UNREACHED.iter().map(|(error, _)| *error).collect();
        let mut who_can: BTreeMap<&str, Vec<&'static str>> = BTreeMap::new();
        for (who, errors) in self.0.values() {
            for error in errors.values() {
                who_can.entry(error).or_default().push(who);
            }
        }
        let unknown: Vec<_> = unreached.iter().filter(|one| !who_can.contains_key(*one)).collect();
        ensure!(unknown.is_empty(), "no errors of ours: {unknown:?}");
        let mut wrong = Vec::new();
        for (error, who) in who_can {
            let least = EACH.div_ceil(u64::try_from(who.len())?);
            let mut sum = 0;
            for who in who {
                let times = said.get(&(who, error.to_owned())).copied().unwrap_or_default();
                sum += times;
                let fine = if unreached.contains(error) { times == 0 } else { times >= least };
                if !fine {
                    wrong.push(format!("{who} said {error} {times} times, of {least}"));
                }
            }
            if !unreached.contains(error) && sum < EACH {
                wrong.push(format!("{error} was said {sum} times"));
            }
        }
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(())
    }
}
