//! A Golem's life on one page: what its audit log says, held against the chain.
//!
//! [`gather`] reads, [`render`] draws. Nothing else is read, and no network is needed to look at the page.

mod chain;
mod chart;
mod figure;
mod log;
mod page;
mod story;
mod tables;
#[cfg(test)]
mod tests;
mod words;

pub(crate) use page::render;
pub(crate) use story::Story;

use alloy::primitives::B256;
use bardo_store::{Anchor, Record, Seal, verify};
use chain::{By, Chain};
use golem_chain::Node;
use golem_custody::{DeathSettlement, Holding, Settlement};
use log::{Log, clipped};
use story::{Day, Entry, LeftOut, MOST_ENTRIES, Mark, Settled, SettledRow, Sums, thinned};

const DAY: u64 = 86_400;
/// Marks of an axis.
const MOST_DAYS: usize = 8;

/// Reads a life from its log, whose heads that are on chain were asked for before it was read. `step` is told which block is being looked
/// at.
pub(crate) async fn gather(
    node: &Node,
    golem: B256,
    (records, seals, anchors): (&[Record], &[Seal], &[Anchor]),
    from_block: u64,
    step: impl Fn(u64),
) -> anyhow::Result<Story> {
    let mut left_out = LeftOut::default();
    let log = Log::of(records, &mut left_out);
    let found = verify(records, seals, anchors);
    let chain = Chain::ask(node, golem, &log, from_block, &mut left_out, step).await?;
    let audit = story::Seal {
        whole: found.is_whole(),
        records: found.length,
        head: found.head,
        anchors: count(anchors.len()),
        anchored: found.anchored.map(|one| one.sequence),
        block: found.anchored.map(|one| one.block),
        sealed: found.sealed.map(|one| one.sequence),
        by: found.sealed.map(|one| one.by),
        newer: found.unanchored,
        damage: found.damage.as_ref().map(|damage| clipped(&damage.reason)),
    };
    let settlement = log.settlement.as_ref().map(|settlement| settled(settlement, &chain));
    Ok(Story {
        golem,
        chain_id: node.chain_id(),
        owner: log.owner,
        account: log.account,
        keys: log.keys(),
        asked: chain.asked,
        sums: sums(&log, &chain),
        days: days(&log),
        timeline: timeline(&log, &chain, &mut left_out),
        refusals: log.refusals,
        gas: chain.gas(),
        replicants: chain.offspring,
        ticks: log.ticks,
        moments: chain.observed,
        settlement,
        audit,
        left_out,
    })
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn sums(log: &Log, chain: &Chain) -> Sums {
    let life = log.life.as_ref();
    let born = life.map(|life| life.born);
    let own = || chain.deeds.iter().filter(|deed| deed.by == By::Golem && deed.done);
    let trades = || own().filter(|deed| deed.action == "trade");
    let at_risk = chain.observed.iter().map(|seen| seen.at_risk);
    Sums {
        born,
        last: born.and(log.last),
        days: log.last.zip(born).map_or(0, |(last, born)| last.saturating_sub(born) / DAY),
        ticks: log.all_ticks,
        done: count(own().count()),
        trades: count(trades().count()),
        traded: trades().map(|deed| deed.micro_dollars).fold(0, u64::saturating_add),
        refused: log.refused,
        cost: life.map_or(0, |life| life.cost),
        worth: life.and_then(|life| life.worth),
        high_water: life.map_or(0, golem_runtime::Life::peak),
        gas: chain.deeds.iter().map(|deed| deed.gas).fold(0, u64::saturating_add),
        fees: chain.deeds.iter().fold(Default::default(), |sum: alloy::primitives::U256, deed| {
            sum.saturating_add(deed.fees)
        }),
        strange: count(chain.deeds.iter().filter(|deed| deed.by == By::Strange).count()),
        most_spent: chain.observed.iter().filter_map(|seen| seen.spent).max().unwrap_or(0),
        cap: chain.observed.iter().map(|seen| seen.cap).max().unwrap_or(0),
        // One moment without a bound is a life without one.
        most_at_risk: at_risk.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max()),
        phase: life.map(|life| life.phase),
        died_of: log.died_of.clone(),
    }
}

/// Every so many days, so that there are few enough to be read.
fn days(log: &Log) -> Vec<Day> {
    let Some((born, last)) = log.life.as_ref().map(|life| life.born).zip(log.last) else {
        return Vec::new();
    };
    let all = last.saturating_sub(born) / DAY;
    let most = count(MOST_DAYS).saturating_sub(1).max(1);
    let step = [1, 2, 5, 7, 10, 14, 30, 60, 90, 180, 365]
        .into_iter()
        .find(|step| all / step <= most)
        .unwrap_or(all / most + 1);
    (0..=all / step)
        .map(|number| number.saturating_mul(step))
        .map(|day| Day { day, at: born.saturating_add(day.saturating_mul(DAY)) })
        .collect()
}

/// Everything in the order of time; the same in a row is told once.
fn timeline(log: &Log, chain: &Chain, left_out: &mut LeftOut) -> Vec<Entry> {
    let mut all: Vec<Entry> =
        log.told.iter().filter_map(words::entry).chain(chain.entries()).collect();
    // Of one second, what only the chain knows comes first; but nothing of a child before its birth.
    let unknown = |entry: &Entry| if entry.mark == Mark::Child { u64::MAX } else { 0 };
    all.sort_by_key(|entry| (entry.at, entry.record.unwrap_or_else(|| unknown(entry))));
    let mut told: Vec<Entry> = Vec::new();
    for entry in all {
        let again = |last: &&mut Entry| {
            last.title == entry.title && matches!(entry.mark, Mark::Refusal | Mark::Alarm)
        };
        match told.last_mut().filter(again) {
            Some(last) => {
                last.times = last.times.saturating_add(1);
                last.detail = entry.detail;
            }
            None => told.push(entry),
        }
    }
    let (told, left) = thinned(told, MOST_ENTRIES);
    left_out.entries = left;
    told
}

fn settled(settlement: &Settlement, chain: &Chain) -> Settled {
    let (step, death) = match settlement {
        Settlement::Accepted { .. } => ("its death is certain", None),
        Settlement::Closed { .. } => ("what was open is closed", None),
        Settlement::Disallowed { .. } => ("every allowance is taken back", None),
        Settlement::Returned { death, .. } => ("its owner has what he can have", Some(death)),
        Settlement::Deregistered { death, .. } => {
            ("the registry knows that it is dead", Some(death))
        }
        Settlement::Settled { death, .. } => ("nothing is left, and no key", Some(death)),
    };
    Settled {
        step,
        hash: death.map(DeathSettlement::hash),
        rows: death.map_or_else(Vec::new, |death| rows(death, chain)),
    }
}

fn rows(death: &DeathSettlement, chain: &Chain) -> Vec<SettledRow> {
    let (settled, deferred) = match death {
        DeathSettlement::DelegationExpiry { positions_settled, positions_deferred, .. } => {
            (positions_settled, positions_deferred)
        }
        DeathSettlement::PrivySweep { manifest } => {
            (&manifest.positions_settled, &manifest.positions_deferred)
        }
        DeathSettlement::EconomicExhaustion { inner, .. } => return rows(inner, chain),
    };
    let done = settled.iter().map(|one| {
        let (what, amount) = held(&one.of, one.amount, chain);
        SettledRow { what, amount, settled: true, why: None, transaction: Some(one.transaction) }
    });
    let left = deferred.iter().map(|one| {
        let (what, amount) = held(&one.of, one.amount, chain);
        let why = Some(clipped(&one.reason));
        SettledRow { what, amount, settled: false, why, transaction: one.transaction }
    });
    let all: Vec<SettledRow> = done.chain(left).collect();
    thinned(all, MOST_ENTRIES).0
}

fn held(of: &Holding, amount: alloy::primitives::U256, chain: &Chain) -> (String, String) {
    match of {
        Holding::Native => {
            ("the chain's coin".to_owned(), chain.amount(Default::default(), amount))
        }
        Holding::Token(token) => (token.to_string(), chain.amount(*token, amount)),
        Holding::Position { contract, id } => {
            (format!("position {id} of {contract}"), amount.to_string())
        }
    }
}
