//! A Golem's life as facts. Everything that the page shows is here, and is there for programs too.

use alloy::primitives::{Address, B256, U256};
use golem_custody::Mood;
use golem_delegation::grant::Phase;
use golem_runtime::Clocks;
use serde::{Serialize, Serializer};

/// Most points of a curve: more than a screen has.
pub(super) const MOST_POINTS: usize = 240;
/// Most entries of a timeline: more than anybody reads.
pub(super) const MOST_ENTRIES: usize = 400;
/// Most transactions that are asked for by their hashes.
pub(super) const MOST_TRANSACTIONS: usize = 2_000;
/// Most letters of one sentence of others.
pub(super) const MOST_LETTERS: usize = 280;

/// A life, from its audit log and the chain.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Story {
    /// Its id on chain.
    pub(super) golem: B256,
    pub(super) chain_id: u64,
    /// Whose it is.
    pub(super) owner: Option<Address>,
    /// Where its owner's money is.
    pub(super) account: Option<Address>,
    /// The keys that it had, the first one first.
    pub(super) keys: Vec<Address>,
    /// The newest block when it was asked.
    pub(super) asked: Moment,
    pub(super) sums: Sums,
    /// Whole days of its life, for the axes.
    pub(super) days: Vec<Day>,
    pub(super) ticks: Vec<Tick>,
    /// What the chain said, block by block.
    pub(super) moments: Vec<Observed>,
    pub(super) timeline: Vec<Entry>,
    pub(super) refusals: Vec<Refusals>,
    pub(super) gas: Vec<Gas>,
    /// Its children, the oldest first.
    pub(super) replicants: Vec<Offspring>,
    pub(super) settlement: Option<Settled>,
    pub(super) audit: Seal,
    pub(super) left_out: LeftOut,
}

/// A block and its second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Moment {
    pub(super) block: u64,
    pub(super) at: u64,
}

/// What it comes to. Money in micro-dollars.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Sums {
    /// Its first tick.
    pub(super) born: Option<u64>,
    /// Its last word.
    pub(super) last: Option<u64>,
    /// Whole days between them.
    pub(super) days: u64,
    pub(super) ticks: u64,
    /// Transactions of its own that took effect.
    pub(super) done: u64,
    /// Of these, trades.
    pub(super) trades: u64,
    /// What its trades were set aside for.
    pub(super) traded: u64,
    /// How often somebody said no.
    pub(super) refused: u64,
    /// What its life cost.
    pub(super) cost: u64,
    /// What its holdings were last worth; none where nobody could say.
    pub(super) worth: Option<u64>,
    /// The most that they ever were.
    pub(super) high_water: u64,
    /// Gas of all transactions that are known.
    pub(super) gas: u64,
    /// What they cost, in wei.
    #[serde(serialize_with = "decimal")]
    pub(super) fees: U256,
    /// Redemptions by its keys that its log knows nothing of.
    pub(super) strange: u64,
    /// The most of the spend window that was ever used.
    pub(super) most_spent: u64,
    /// The highest cap that it had.
    pub(super) cap: u64,
    /// The most that a thief could ever have taken; none where that was once without a bound.
    #[serde(serialize_with = "decimal_or_none")]
    pub(super) most_at_risk: Option<U256>,
    /// The phase that it is in.
    pub(super) phase: Option<Phase>,
    /// What it died of, in a word.
    pub(super) died_of: Option<String>,
}

/// A mark of the axes.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Day {
    pub(super) day: u64,
    pub(super) at: u64,
}

/// One look at the world.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tick {
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) block: u64,
    pub(super) phase: Phase,
    pub(super) vitality: u16,
    pub(super) clocks: Clocks,
    pub(super) mood: Mood,
    pub(super) dreaming: bool,
    pub(super) worth: Option<u64>,
}

/// What the chain said on a block. Money in micro-dollars.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Observed {
    pub(super) block: u64,
    pub(super) at: u64,
    /// What counts in the spend window.
    pub(super) spent: Option<u64>,
    /// Of so much.
    pub(super) cap: u64,
    /// The most that a thief of the key could take from here on; none where nothing bounds it.
    #[serde(serialize_with = "decimal_or_none")]
    pub(super) at_risk: Option<U256>,
}

/// Something that happened, in words.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub(super) at: u64,
    pub(super) mark: Mark,
    /// One sentence. May hold words of others.
    pub(super) title: String,
    /// More of it.
    pub(super) detail: Option<String>,
    /// How often in a row.
    pub(super) times: u64,
    /// Its record in the audit log; none for what only the chain knows.
    pub(super) record: Option<u64>,
    pub(super) transaction: Option<B256>,
}

/// What kind of thing it is, for whoever looks and does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Mark {
    Birth,
    Phase,
    Trade,
    Money,
    Refusal,
    Dream,
    Mood,
    Key,
    Owner,
    Child,
    Alarm,
    Death,
}

/// Refusals by one name.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Refusals {
    pub(super) code: String,
    pub(super) times: u64,
    pub(super) first: u64,
    pub(super) last: u64,
    /// The last one's sentence.
    pub(super) reason: String,
    /// Who refused: a contract's name or address; none for the Golem's own policy and books.
    pub(super) enforcer: Option<String>,
}

/// One of its children. Money in micro-dollars.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Offspring {
    pub(super) id: B256,
    pub(super) key: Address,
    /// Since when it lived.
    pub(super) at: u64,
    /// Its last second.
    pub(super) until: u64,
    /// What it might spend in its life.
    pub(super) budget: u64,
    /// What it spent, as the chain counted.
    pub(super) spent: u64,
    /// Swaps of its key's.
    pub(super) trades: u64,
    /// Gas of what its key redeemed.
    pub(super) gas: u64,
    /// When its parent saw that it was over, and why.
    pub(super) ended: Option<u64>,
    pub(super) cause: Option<String>,
}

/// What one kind of transaction cost.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Gas {
    pub(super) action: &'static str,
    pub(super) by: &'static str,
    pub(super) times: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) total: u64,
    #[serde(serialize_with = "decimal")]
    pub(super) fees: U256,
}

/// What became of what it held.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Settled {
    /// How far it came, in words.
    pub(super) step: &'static str,
    pub(super) hash: Option<B256>,
    pub(super) rows: Vec<SettledRow>,
}

/// One thing of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SettledRow {
    pub(super) what: String,
    /// In the token's own decimals.
    pub(super) amount: String,
    /// Whether it is done, or the owner's to do.
    pub(super) settled: bool,
    pub(super) why: Option<String>,
    pub(super) transaction: Option<B256>,
}

/// What is known of the log.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Seal {
    pub(super) whole: bool,
    pub(super) records: u64,
    pub(super) head: B256,
    /// How many heads of it are on chain.
    pub(super) anchors: u64,
    /// The furthest record that is, and where.
    pub(super) anchored: Option<u64>,
    pub(super) block: Option<u64>,
    pub(super) sealed: Option<u64>,
    pub(super) by: Option<Address>,
    /// Records that are newer than that.
    pub(super) newer: u64,
    /// What is wrong with it.
    pub(super) damage: Option<String>,
}

/// What there was too much of, or what a node would not say.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LeftOut {
    pub(super) ticks: u64,
    pub(super) entries: u64,
    pub(super) transactions: u64,
    pub(super) moments: u64,
    /// Blocks whose state this node has no more.
    pub(super) forgotten: u64,
}

fn decimal<S: Serializer>(amount: &U256, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

fn decimal_or_none<S: Serializer>(amount: &Option<U256>, serializer: S) -> Result<S::Ok, S::Error> {
    match amount {
        Some(amount) => serializer.collect_str(amount),
        None => serializer.serialize_none(),
    }
}

/// At most `most` of them, evenly, the first and the last among them, and how many are not.
pub(super) fn thinned<T>(all: Vec<T>, most: usize) -> (Vec<T>, u64) {
    let length = all.len();
    if length <= most {
        return (all, 0);
    }
    let place =
        |of: usize| of.saturating_mul(length.saturating_sub(1)) / most.saturating_sub(1).max(1);
    let mut wanted = (0..most).map(place).peekable();
    let kept: Vec<T> = (0..)
        .zip(all)
        .filter_map(|(at, one)| {
            let take = wanted.peek() == Some(&at);
            while wanted.peek() == Some(&at) {
                wanted.next();
            }
            take.then_some(one)
        })
        .collect();
    let left = u64::try_from(length.saturating_sub(kept.len())).unwrap_or(u64::MAX);
    (kept, left)
}
