//! What a page draws of the chain, block by block, and what its owner's wallet paid: counted again.

use super::{
    counted::rows,
    witness::{Scene, Witness},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    rpc::types::Log,
    sol_types::SolEvent as _,
};
use anyhow::{Context as _, Result, ensure};
use bardo_bindings::{
    defi::Erc20,
    framework::{Counters, DELEGATION_MANAGER, DelegationManager},
};
use golem_chain::{environment, observe_at};
use golem_delegation::{
    Delegation, PermissionContext,
    blast_radius::BlastRadius,
    enforcers::{ERC20_PERIOD_TRANSFER, TIMESTAMP},
    grant::{Grant, Phase},
};
use golem_runtime::GolemEvent;
use serde::Deserialize as _;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// A grant for running costs, as its own bytes say it.
pub(super) struct Paying {
    since: u64,
    pub(super) key: Address,
    token: Address,
    hash: B256,
    terms: Bytes,
    per_day: U256,
    period: U256,
    start: U256,
    /// Its last second.
    end: U256,
}

impl Paying {
    pub(super) fn of(since: u64, step: &Value) -> Result<Self> {
        let context: Bytes = serde_json::from_value(step["context"].clone())?;
        let context = PermissionContext::decode(&context)?;
        let leaf = context.leaf();
        let of = |enforcer: Address| {
            let found = leaf.caveats.iter().find(|caveat| caveat.enforcer == enforcer);
            found.map(|caveat| caveat.terms.clone()).context("no such caveat")
        };
        let (terms, times) = (of(ERC20_PERIOD_TRANSFER)?, of(TIMESTAMP)?);
        let word = |from: usize| U256::from_be_slice(&terms[from..from + 32]);
        Ok(Self {
            since,
            key: leaf.delegate,
            token: Address::from_slice(&terms[..20]),
            hash: leaf.hash().0,
            per_day: word(20),
            period: word(52),
            start: word(84),
            end: U256::from_be_slice(&times[16..32]) - U256::from(1),
            terms,
        })
    }

    /// What is used of the present period, by the enforcer's own word on that block.
    async fn used(&self, scene: &Scene, block: u64) -> Result<U256> {
        let asked = Counters::getAvailableAmountCall {
            delegationHash: self.hash,
            manager: DELEGATION_MANAGER,
            terms: self.terms.clone(),
        };
        let left = scene.on(block, ERC20_PERIOD_TRANSFER, asked).await?;
        Ok(self.per_day - left.available)
    }

    /// All that a thief of its key could take from that second on: every period until the end, less what is used.
    pub(super) async fn at_risk(&self, scene: &Scene, block: u64) -> Result<U256> {
        let at = U256::from(scene.second(block).await?);
        if at > self.end {
            return Ok(U256::ZERO);
        }
        let period = |at: U256| (at - self.start) / self.period;
        let periods = period(self.end) - period(at) + U256::from(1);
        let amount = periods * self.per_day - self.used(scene, block).await?;
        Ok(amount * scene.dollar_at(block).await? / U256::from(10).pow(U256::from(8)))
    }
}

/// Grants by which it acts, each with the second since when, and those that pay.
type Given = (Vec<(u64, Delegation)>, Vec<Paying>);

/// What the log says of grants: since when, and which.
fn given(life: &Witness) -> Result<Given> {
    let (mut grants, mut paying) = (Vec::new(), Vec::new());
    for record in life.records.iter().filter(|record| record.kind == "step") {
        let step: Value = serde_json::from_str(&record.body)?;
        let to = &step["to"];
        let found = match step["name"].as_str() {
            Some("runway") if to["context"].is_string() => {
                paying.push(Paying::of(record.at, to)?);
                None
            }
            // Signed for, and the one of before is still in its place.
            Some("rotation") if to["step"] == "granted" => Some(&to["before"]),
            Some("rotation") => Some(&to["grant"]),
            Some("grant") => Some(to),
            Some("onboarding") => named(to, "grant"),
            _ => None,
        };
        if let Some(grant) = found.filter(|grant| grant.is_object()) {
            grants.push((record.at, Delegation::deserialize(grant)?));
        }
    }
    Ok((grants, paying))
}

fn named<'a>(within: &'a Value, name: &str) -> Option<&'a Value> {
    let fields = within.as_object()?;
    fields.get(name).or_else(|| fields.values().find_map(|value| named(value, name)))
}

/// Which moments there are, and of each what was spent and what was at risk: by the chain as it was then.
pub(super) async fn all(life: &Witness, story: &Value) -> Result<()> {
    let (grants, paying) = given(life)?;
    let moments = rows(story, "/moments")?;
    let number = |value: &Value| value.as_u64().context("no block");
    let drawn: BTreeSet<u64> =
        moments.iter().map(|one| number(&one["block"])).collect::<Result<_>>()?;
    let blocks =
        || life.concerned().filter_map(|(hash, one)| Some((hash, one, one.receipt.block_number?)));
    let by_owner = blocks().filter(|(hash, one, _)| life.by(hash, &one.receipt) == "its owner");
    let first = by_owner.map(|(_, _, block)| block).min().context("its owner did nothing")?;
    let mut expected: BTreeSet<u64> = blocks().map(|(_, _, block)| block).collect();
    for record in &life.records {
        if let GolemEvent::Tick { block, .. } = GolemEvent::of_record(&record.kind, &record.body) {
            expected.insert(block);
        }
    }
    expected.retain(|block| *block >= first);
    expected.insert(life.scene.node.head().await?.number);
    assert_eq!(drawn, expected, "every moment, and no other");
    assert_eq!(story["leftOut"]["forgotten"], 0);

    let (mut with_runway, mut keys) = (0, BTreeSet::new());
    for moment in moments {
        let block = number(&moment["block"])?;
        let at = life.scene.second(block).await?;
        assert_eq!(moment["at"], json!(at), "{moment}");
        assert_eq!(moment["spent"], json!(life.scene.spent_at(block).await?), "block {block}");
        let then = grants.iter().filter(|(since, _)| *since <= at).map(|(_, grant)| grant);
        let epoch = |grant: &&Delegation| {
            Grant::read(grant, &environment()).map(|read| read.charter().epoch).ok()
        };
        let grant = then.max_by_key(epoch).or_else(|| grants.first().map(|(_, grant)| grant));
        let grant = grant.context("no grant")?;
        keys.insert(grant.delegate);
        let chain = PermissionContext::new(vec![grant.clone()])?;
        let seen = observe_at(&life.scene.node, DELEGATION_MANAGER, &chain, block).await?;
        let mut risk = BlastRadius::of(&chain, &environment(), at, &seen.facts)?
            .total()
            .context("without a bound")?;
        let runway = paying.iter().rfind(|runway| runway.since <= at);
        if let Some(runway) = runway.filter(|runway| runway.key == grant.delegate) {
            let more = runway.at_risk(&life.scene, block).await?;
            with_runway += u64::from(!more.is_zero());
            risk += more;
        }
        assert_eq!(moment["atRisk"], json!(risk.to_string()), "block {block}: {moment}");
    }
    assert_eq!(with_runway > 0, !paying.is_empty(), "what a runway adds was looked at");
    // Not only of one key.
    let attached: BTreeSet<Address> = life.keys.iter().copied().collect();
    assert_eq!(keys, attached);

    let risks = moments.iter().filter_map(|one| one["atRisk"].as_str()?.parse::<U256>().ok());
    assert_eq!(story["sums"]["mostAtRisk"], json!(risks.max().map(|most| most.to_string())));
    let spent = moments.iter().filter_map(|one| one["spent"].as_u64()).max();
    assert_eq!(story["sums"]["mostSpent"], json!(spent));
    Ok(())
}

/// What the log says that a runway paid, against what left the owner's own wallet; and the row of each.
pub(super) async fn running_costs(life: &Witness, story: &Value) -> Result<()> {
    let (_, paying) = given(life)?;
    let mut landed = BTreeMap::new();
    let mut told = Vec::new();
    for record in &life.records {
        match GolemEvent::of_record(&record.kind, &record.body) {
            GolemEvent::IntentDone { intent, hash, .. } => {
                landed.insert(intent, hash);
            }
            GolemEvent::RunwayRedeemed { intent, redeemed, remaining, phase } => {
                told.push((record.sequence, intent, redeemed, remaining, phase));
            }
            _ => {}
        }
    }
    // Every redemption by a key of its own that moved something out of its owner's wallet.
    let mut left: BTreeMap<B256, U256> = BTreeMap::new();
    for (hash, one) in life.concerned() {
        let redeems = |log: &Log| {
            log.topic0() == Some(&DelegationManager::RedeemedDelegation::SIGNATURE_HASH)
        };
        if life.by(hash, &one.receipt) != "the Golem" || !one.receipt.logs().iter().any(redeems) {
            continue;
        }
        for log in one.receipt.logs() {
            if let Ok(event) = Erc20::Transfer::decode_log(&log.inner)
                && event.from == life.scene.owner
            {
                ensure!(event.to != one.receipt.from, "the key took it: {hash}");
                *left.entry(*hash).or_default() += event.value;
            }
        }
    }
    assert_eq!(left.len(), told.len(), "each payment is told once");
    for (sequence, intent, redeemed, remaining, phase) in &told {
        let hash = landed.get(intent).context("it never landed")?;
        assert_eq!(left.get(hash), Some(&U256::from(*redeemed)), "{hash}");
        let receipt = &life.sent.get(hash).context("nobody sent it")?.receipt;
        let runway = paying.iter().find(|one| one.key == receipt.from).context("no runway")?;
        ensure!(receipt.logs().iter().any(|log| log.address() == runway.token), "{hash}");
        // The phase's part of a day, less what the enforcer has counted.
        let part = match phase {
            Phase::Thriving | Phase::Stable => runway.per_day,
            Phase::Conservation => runway.per_day / U256::from(2),
            Phase::Declining => runway.per_day / U256::from(10),
            _ => U256::ZERO,
        };
        let used = runway.used(&life.scene, receipt.block_number.context("no block")?).await?;
        assert_eq!(U256::from(*remaining), part.saturating_sub(used), "record {sequence}");
        let told = rows(story, "/timeline")?.iter().any(|entry| entry["record"] == json!(sequence));
        ensure!(told, "record {sequence} is not on the page");
    }
    let paid = rows(story, "/timeline")?.iter();
    let paid =
        paid.filter(|one| one["title"].as_str().is_some_and(|it| it.contains("running costs")));
    assert_eq!(paid.count(), told.len());
    Ok(())
}
