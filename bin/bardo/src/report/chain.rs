//! What the chain says of a Golem's life: its transactions, those of others, and every state in between that a node still has.

use super::{
    log::{Log, Raised, clipped},
    story::{
        Entry, Gas, LeftOut, MOST_POINTS, MOST_TRANSACTIONS, Mark, Moment, Observed, Offspring,
        thinned,
    },
    words,
};
use alloy::{
    consensus::BlockHeader as _,
    eips::BlockNumberOrTag,
    primitives::{Address, B256, U256},
    providers::Provider as _,
    rpc::types::{Filter, Log as ChainLog, TransactionReceipt},
    sol_types::SolEvent,
};
use anyhow::Context as _;
use bardo_bindings::{
    GolemRegistry, ReplicantBudgetEnforcer,
    defi::Erc20,
    framework::{DELEGATION_MANAGER, DelegationManager},
    golem_registry, replicant_budget_enforcer,
};
use golem_chain::{Node, environment, observe_at};
use golem_delegation::{PermissionContext, SpendWindow, blast_radius::BlastRadius, grant::Phase};
use golem_runtime::Upbringing;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Blocks of which logs are asked at once where all at once are too many.
const MANY: u64 = 10_000;
/// What is paid by the runway, out of the owner's own wallet.
const RUNNING_COSTS: &str = "running costs";
/// Letters of a token's name.
const SYMBOL: usize = 12;

/// Who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum By {
    /// The Golem, as its log says.
    Golem,
    /// The key of one of its children.
    Replicant,
    /// Its owner's wallet.
    Owner,
    /// Its key, and its log knows nothing of it.
    Strange,
    /// Anybody else.
    Other,
}

impl By {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Golem => "the Golem",
            Self::Replicant => "its Replicants",
            Self::Owner => "its owner",
            Self::Strange => "its key, not the Golem",
            Self::Other => "somebody else",
        }
    }
}

/// A transaction that has to do with it.
#[derive(Clone, Debug)]
pub(super) struct Deed {
    pub(super) at: u64,
    pub(super) block: u64,
    pub(super) hash: B256,
    /// Whose key sent it.
    pub(super) from: Address,
    pub(super) by: By,
    pub(super) action: &'static str,
    pub(super) gas: u64,
    pub(super) fees: U256,
    pub(super) done: bool,
    pub(super) record: Option<u64>,
    /// What was set aside for it, in micro-dollars.
    pub(super) micro_dollars: u64,
    /// What left the account, and what came.
    moved: Vec<Moved>,
    phases: Option<(Phase, Phase)>,
}

#[derive(Clone, Copy, Debug)]
struct Moved {
    token: Address,
    amount: U256,
    came: bool,
    /// To its owner.
    home: bool,
}

/// A token as it calls itself.
#[derive(Clone, Debug)]
struct Coin {
    symbol: String,
    decimals: u8,
}

/// Everything that is asked of a chain.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) asked: Moment,
    pub(super) deeds: Vec<Deed>,
    pub(super) observed: Vec<Observed>,
    pub(super) offspring: Vec<Offspring>,
    coins: BTreeMap<Address, Coin>,
}

impl Chain {
    pub(super) async fn ask(
        node: &Node,
        golem: B256,
        log: &Log,
        from: u64,
        left_out: &mut LeftOut,
        step: impl Fn(u64),
    ) -> anyhow::Result<Self> {
        let head = node.head().await?;
        let asked = Moment { block: head.number, at: head.timestamp };
        let coins = coins(node, log).await;
        let deeds = deeds(node, golem, log, from, left_out).await?;
        let mut blocks: BTreeSet<u64> = deeds.iter().map(|deed| deed.block).collect();
        blocks.extend(log.ticks.iter().map(|tick| tick.block));
        // From before its first grant there is nothing to ask.
        let first = deeds.iter().filter(|deed| deed.by == By::Owner).map(|deed| deed.block).min();
        blocks.retain(|block| *block != 0 && *block >= first.unwrap_or(0));
        if !log.grants.is_empty() {
            blocks.insert(asked.block);
        }
        let (blocks, left) = thinned(blocks.into_iter().collect(), MOST_POINTS);
        left_out.moments = left;
        let mut observed = Vec::new();
        for block in blocks {
            step(block);
            match look(node, log, block).await? {
                Some(seen) => observed.push(seen),
                None => left_out.forgotten = left_out.forgotten.saturating_add(1),
            }
        }
        let offspring = offspring(node, log, &deeds).await?;
        Ok(Self { asked, deeds, observed, offspring, coins })
    }

    /// What transactions cost, by what they did.
    pub(super) fn gas(&self) -> Vec<Gas> {
        let mut all: BTreeMap<(By, &'static str), Gas> = BTreeMap::new();
        for deed in &self.deeds {
            let row = all.entry((deed.by, deed.action)).or_insert(Gas {
                action: deed.action,
                by: deed.by.name(),
                times: 0,
                least: u64::MAX,
                most: 0,
                total: 0,
                fees: U256::ZERO,
            });
            row.times = row.times.saturating_add(1);
            row.least = row.least.min(deed.gas);
            row.most = row.most.max(deed.gas);
            row.total = row.total.saturating_add(deed.gas);
            row.fees = row.fees.saturating_add(deed.fees);
        }
        let mut all: Vec<Gas> = all.into_values().collect();
        all.sort_by_key(|row| std::cmp::Reverse(row.total));
        all
    }

    /// What a timeline has of them: reports to the registry are told by what they report.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry> {
        self.deeds.iter().filter_map(|deed| self.entry(deed))
    }

    fn entry(&self, deed: &Deed) -> Option<Entry> {
        let all = |came: bool| -> Vec<String> {
            let those = deed.moved.iter().filter(|one| one.came == came);
            those.map(|one| self.amount(one.token, one.amount)).collect()
        };
        let (out, came) = (all(false).join(" and "), all(true).join(" and "));
        let (mark, title, detail) = match (deed.by, deed.action) {
            (By::Golem, _) if !deed.done => {
                (Mark::Refusal, "A transaction failed in its block".to_owned(), None)
            }
            // Its log says that, and of how much.
            (By::Golem, RUNNING_COSTS) => return None,
            (By::Golem, "trade") => (Mark::Trade, format!("Swapped {out} for {came}"), None),
            (By::Golem, "payment") if deed.moved.iter().all(|one| one.home) => {
                (Mark::Money, format!("Sent {out} home to its owner"), None)
            }
            (By::Golem, "payment") => (Mark::Money, format!("Paid {out}"), None),
            (By::Golem, "income") => (Mark::Money, format!("Received {came}"), None),
            (By::Golem, _) => return None,
            (By::Replicant, _) if !deed.done => {
                (Mark::Refusal, "A transaction of its child’s failed in its block".to_owned(), None)
            }
            (By::Replicant, "trade") => {
                (Mark::Child, format!("Its child swapped {out} for {came}"), None)
            }
            (By::Replicant, _) => return None,
            (By::Strange, action) => {
                let title = "Its key was used, and its log knows nothing of it".to_owned();
                let what = match (out.is_empty(), came.is_empty()) {
                    (false, _) if action == RUNNING_COSTS => {
                        format!("{out} left its owner’s own wallet.")
                    }
                    (true, true) => format!("{}.", words::capital(action)),
                    (false, true) => format!("{out} left the account."),
                    (true, false) => format!("{came} came to the account."),
                    (false, false) => format!("{out} were swapped for {came}."),
                };
                (Mark::Alarm, title, Some(what))
            }
            (By::Owner, "registration") => {
                let paid = (!came.is_empty()).then(|| format!("With {came} in its account."));
                (Mark::Birth, "Registered by its owner".to_owned(), paid)
            }
            // The Golem says that itself.
            (By::Owner, "Feed") => return None,
            (By::Owner, "revocation") => (
                Mark::Owner,
                "Revoked by its owner, in one transaction".to_owned(),
                Some("Whoever had that grant’s key can do nothing more with it.".to_owned()),
            ),
            (By::Owner, "phase") => {
                let to = deed.phases.map_or("another phase", |(_, to)| words::phase(to));
                (Mark::Owner, format!("Moved to {to} by its owner"), None)
            }
            (By::Owner, "deregistration") => {
                (Mark::Owner, "Taken off the register by its owner".to_owned(), None)
            }
            (_, _) if !came.is_empty() && out.is_empty() => {
                (Mark::Money, format!("{came} were paid in"), None)
            }
            (_, _) if !out.is_empty() => (Mark::Owner, format!("{out} were taken out"), None),
            (_, _) => return None,
        };
        Some(Entry {
            at: deed.at,
            mark,
            title,
            detail,
            times: 1,
            record: deed.record,
            transaction: Some(deed.hash),
        })
    }

    /// So much of a token, as people say it.
    pub(super) fn amount(&self, token: Address, amount: U256) -> String {
        match self.coins.get(&token) {
            Some(Coin { symbol, decimals }) => format!("{} {symbol}", decimal(amount, *decimals)),
            None => format!("{amount} units of {token}"),
        }
    }
}

/// An amount in a token's own decimals: six of them at most are shown, and none that is zero behind the second.
pub(super) fn decimal(amount: U256, decimals: u8) -> String {
    let decimals = usize::from(decimals);
    let digits = format!("{amount:0>width$}", width = decimals.saturating_add(1));
    let (whole, part) = digits.split_at(digits.len().saturating_sub(decimals));
    let part: String = part.chars().take(6).collect();
    let least = part.len().min(2);
    let short = part.trim_end_matches('0');
    let part = if short.len() < least { part.get(..least).unwrap_or_default() } else { short };
    let whole = super::figure::grouped(whole);
    if part.is_empty() { whole } else { format!("{whole}.{part}") }
}

/// Names and decimals of what it may hold. They are the tokens' own words.
async fn coins(node: &Node, log: &Log) -> BTreeMap<Address, Coin> {
    let mut coins = BTreeMap::new();
    coins.insert(Address::ZERO, Coin { symbol: "ETH".to_owned(), decimals: 18 });
    for listed in log.grants.iter().flat_map(|given| &given.charter.listing.tokens) {
        if coins.contains_key(&listed.token) {
            continue;
        }
        let said = node.read(listed.token, Erc20::symbolCall {}).await.unwrap_or_default();
        let letters: String =
            said.chars().filter(|one| one.is_ascii_alphanumeric()).take(SYMBOL).collect();
        let symbol = if letters.is_empty() { clipped(&listed.token.to_string()) } else { letters };
        coins.insert(listed.token, Coin { symbol, decimals: listed.token_decimals });
    }
    coins
}

/// Every transaction that has to do with it, the oldest first.
async fn deeds(
    node: &Node,
    golem: B256,
    log: &Log,
    from: u64,
    left_out: &mut LeftOut,
) -> anyhow::Result<Vec<Deed>> {
    let keys = log.keys();
    // Where a log of the chain says that something was, and when.
    let mut places: BTreeMap<B256, (u64, Option<u64>)> = BTreeMap::new();
    let mut found = |logs: Vec<ChainLog>| {
        for one in logs {
            if let (Some(hash), Some(block)) = (one.transaction_hash, one.block_number) {
                places.insert(hash, (block, one.block_timestamp));
            }
        }
    };
    let of_golem = Filter::new().address(golem_registry()).topic1(golem);
    found(logs(node, of_golem, from).await?);
    if let Some(owner) = log.owner {
        let all = Filter::new()
            .address(golem_registry())
            .event_signature(GolemRegistry::AllRevoked::SIGNATURE_HASH)
            .topic1(owner.into_word());
        found(logs(node, all, from).await?);
    }
    if !log.grants.is_empty() {
        let hashes: Vec<B256> = log.grants.iter().map(|given| given.grant.hash().0).collect();
        let disabled = Filter::new()
            .address(DELEGATION_MANAGER)
            .event_signature(DelegationManager::DisabledDelegation::SIGNATURE_HASH)
            .topic1(hashes);
        found(logs(node, disabled, from).await?);
    }
    if !keys.is_empty() {
        let childrens = log.children.iter().map(|one| one.child.key);
        let redeemers: Vec<B256> =
            keys.iter().copied().chain(childrens).map(|key| key.into_word()).collect();
        let redeemed = Filter::new()
            .address(DELEGATION_MANAGER)
            .event_signature(DelegationManager::RedeemedDelegation::SIGNATURE_HASH)
            .topic2(redeemers);
        found(logs(node, redeemed, from).await?);
    }
    let tokens: BTreeSet<Address> = log
        .grants
        .iter()
        .flat_map(|given| given.charter.listing.tokens.iter().map(|listed| listed.token))
        .collect();
    if let (Some(account), false) = (log.account, tokens.is_empty()) {
        let moved = || {
            Filter::new()
                .address(tokens.iter().copied().collect::<Vec<_>>())
                .event_signature(Erc20::Transfer::SIGNATURE_HASH)
        };
        found(logs(node, moved().topic1(account.into_word()), from).await?);
        found(logs(node, moved().topic2(account.into_word()), from).await?);
    }
    let ended: HashMap<B256, _> = log.ended.iter().map(|one| (one.hash, one)).collect();
    for one in &log.ended {
        places.insert(one.hash, (one.block, Some(one.at)));
    }
    let mut all: Vec<(u64, B256, Option<u64>)> =
        places.into_iter().map(|(hash, (block, at))| (block, hash, at)).collect();
    all.sort_unstable();
    let (all, left) = thinned(all, MOST_TRANSACTIONS);
    left_out.transactions = left;
    let mut deeds = Vec::new();
    for (block, hash, at) in all {
        let receipt = node.provider().get_transaction_receipt(hash).await;
        // What a bundler carried has a name of its own, by which there is no transaction.
        let Some(receipt) = receipt.context("a receipt")? else { continue };
        let at = match at {
            Some(at) => at,
            None => second(node, block).await?,
        };
        let by = match receipt.from {
            _ if log.signed.contains(&hash) => By::Golem,
            from if keys.contains(&from) => By::Strange,
            from if log.is_childs(from) => By::Replicant,
            from if Some(from) == log.owner => By::Owner,
            _ => By::Other,
        };
        let kept = ended.get(&hash);
        let (mut action, moved, phases) =
            read(&receipt, golem, log.account.unwrap_or_default(), log.owner);
        if log.running_costs.contains(&hash) && receipt.status() {
            action = RUNNING_COSTS;
        }
        deeds.push(Deed {
            at,
            block,
            hash,
            from: receipt.from,
            by,
            action,
            gas: receipt.gas_used,
            fees: U256::from(receipt.gas_used)
                .saturating_mul(U256::from(receipt.effective_gas_price)),
            done: receipt.status(),
            record: kept.map(|one| one.record),
            micro_dollars: kept.map_or(0, |one| one.micro_dollars),
            moved,
            phases,
        });
    }
    Ok(deeds)
}

/// Its children: what its log says of them, and what the chain counts for their names.
async fn offspring(node: &Node, log: &Log, deeds: &[Deed]) -> anyhow::Result<Vec<Offspring>> {
    let mut all = Vec::new();
    for Raised { at, child } in &log.children {
        let (spent, ended, cause) = match &child.upbringing {
            Upbringing::Ended { cause, at, spent } => (*spent, Some(*at), Some(clipped(cause))),
            _ => {
                let asked = ReplicantBudgetEnforcer::spentByCall {
                    manager: DELEGATION_MANAGER,
                    delegator: child.above.delegate,
                    replicantId: child.id,
                };
                let counted = node.read(replicant_budget_enforcer(), asked).await?;
                let counted = u64::try_from(counted).unwrap_or(u64::MAX);
                (counted.saturating_sub(child.counted), None, None)
            }
        };
        let own = || deeds.iter().filter(|deed| deed.from == child.key);
        all.push(Offspring {
            id: child.id,
            key: child.key,
            at: *at,
            until: child.not_after,
            budget: child.errand.budget,
            spent,
            trades: super::count(own().filter(|deed| deed.done && deed.action == "trade").count()),
            gas: own().map(|deed| deed.gas).fold(0, u64::saturating_add),
            ended,
            cause,
        });
    }
    Ok(all)
}

/// What a transaction did, by what it left behind.
fn read(
    receipt: &TransactionReceipt,
    golem: B256,
    account: Address,
    owner: Option<Address>,
) -> (&'static str, Vec<Moved>, Option<(Phase, Phase)>) {
    let mut action = None;
    let (mut redeemed, mut allowed) = (false, false);
    let mut phases = None;
    let mut moved: Vec<Moved> = Vec::new();
    // What left its owner's own wallet: that is how a runway pays.
    let mut paid: Vec<Moved> = Vec::new();
    for log in receipt.logs() {
        let topic = log.topic0().copied().unwrap_or_default();
        let of_golem = log.topics().get(1) == Some(&golem);
        let revoked = [
            (golem_registry(), GolemRegistry::AllRevoked::SIGNATURE_HASH),
            (DELEGATION_MANAGER, DelegationManager::DisabledDelegation::SIGNATURE_HASH),
        ];
        if revoked.contains(&(log.address(), topic)) {
            action = Some("revocation");
        } else if log.address() == golem_registry() && of_golem {
            let (name, weight) = named(topic);
            if let Ok(changed) = GolemRegistry::PhaseChanged::decode_log(&log.inner) {
                phases = phase_of(changed.from).zip(phase_of(changed.to));
            }
            // A registration reports vitality too; what says more counts.
            if action.is_none_or(|before| weight > named_weight(before)) && weight > 0 {
                action = Some(name);
            }
        } else if log.address() == DELEGATION_MANAGER {
            redeemed = true;
        } else if let Ok(event) = Erc20::Transfer::decode_log(&log.inner) {
            let came = event.to == account;
            if came != (event.from == account) {
                let home = Some(event.to) == owner;
                moved.push(Moved { token: log.address(), amount: event.value, came, home });
            } else if Some(event.from) == owner && event.to != event.from {
                paid.push(Moved {
                    token: log.address(),
                    amount: event.value,
                    came: false,
                    home: false,
                });
            }
        } else if topic == Erc20::Approval::SIGNATURE_HASH {
            allowed = true;
        }
    }
    let (out, came) = (moved.iter().any(|one| !one.came), moved.iter().any(|one| one.came));
    let action = match (action, phases) {
        (Some("vitality" | "phase"), Some((from, to))) if to < from => "Feed",
        (Some(action), _) => action,
        (None, _) if !receipt.status() => "failed",
        (None, _) => match (out, came) {
            (true, true) => "trade",
            (true, false) => "payment",
            (false, true) => "income",
            (false, false) if redeemed && !paid.is_empty() => {
                moved = paid;
                RUNNING_COSTS
            }
            (false, false) if allowed => "allowance",
            (false, false) if redeemed => "gas money",
            (false, false) => "other",
        },
    };
    (action, moved, phases)
}

/// What an event of the registry says, and how much it says beside others of its transaction.
fn named(topic: B256) -> (&'static str, u8) {
    let known = [
        (GolemRegistry::GolemDeregistered::SIGNATURE_HASH, "deregistration"),
        (GolemRegistry::GolemRegistered::SIGNATURE_HASH, "registration"),
        (GolemRegistry::GolemClosed::SIGNATURE_HASH, "death"),
        (GolemRegistry::GolemRevoked::SIGNATURE_HASH, "revocation"),
        (GolemRegistry::AgentAttached::SIGNATURE_HASH, "key"),
        (GolemRegistry::HeartbeatRecorded::SIGNATURE_HASH, "anchor"),
        (GolemRegistry::PadUpdated::SIGNATURE_HASH, "mood"),
        (GolemRegistry::DreamingSet::SIGNATURE_HASH, "dream"),
        (GolemRegistry::VitalityUpdated::SIGNATURE_HASH, "vitality"),
        (GolemRegistry::PhaseChanged::SIGNATURE_HASH, "phase"),
    ];
    let found = known.iter().find(|(hash, _)| *hash == topic);
    found.map_or(("other", 0), |(_, name)| (name, named_weight(name)))
}

const NAMES: [&str; 10] = [
    "phase",
    "vitality",
    "dream",
    "mood",
    "anchor",
    "key",
    "revocation",
    "death",
    "registration",
    "deregistration",
];

fn named_weight(name: &str) -> u8 {
    let place = NAMES.iter().position(|one| *one == name);
    place.and_then(|place| u8::try_from(place).ok()).map_or(0, |place| place.saturating_add(1))
}

const fn phase_of(code: u8) -> Option<Phase> {
    Some(match code {
        0 => Phase::Thriving,
        1 => Phase::Stable,
        2 => Phase::Conservation,
        3 => Phase::Declining,
        4 => Phase::Terminal,
        _ => return None,
    })
}

async fn second(node: &Node, number: u64) -> anyhow::Result<u64> {
    let block = node.provider().get_block_by_number(BlockNumberOrTag::Number(number)).await;
    let block = block.context("a block")?.with_context(|| format!("block {number} is missing"))?;
    Ok(block.header.timestamp())
}

/// Logs since a block; of nodes that give few at once, in parts.
async fn logs(node: &Node, filter: Filter, from: u64) -> anyhow::Result<Vec<ChainLog>> {
    let whole = node.provider().get_logs(&filter.clone().from_block(from)).await;
    match whole {
        Err(limited) if limited.as_error_resp().is_some() => {}
        other => return other.context("logs"),
    }
    let (head, mut all, mut first) = (node.head().await?.number, Vec::new(), from);
    while first <= head {
        let last = first.saturating_add(MANY).min(head);
        let part = filter.clone().from_block(first).to_block(last);
        all.extend(node.provider().get_logs(&part).await.context("logs")?);
        first = last.saturating_add(1);
    }
    Ok(all)
}

/// What the grant in force came to on a block; none where the node keeps no state that old.
async fn look(node: &Node, log: &Log, block: u64) -> anyhow::Result<Option<Observed>> {
    let at = second(node, block).await?;
    let Some(given) = log.grant_at(at) else { return Ok(None) };
    let chain = PermissionContext::new(vec![given.grant.clone()])?;
    let Ok(seen) = observe_at(node, DELEGATION_MANAGER, &chain, block).await else {
        return Ok(None);
    };
    let radius = BlastRadius::of(&chain, &environment(), at, &seen.facts)?;
    let charter = &given.charter;
    let known = seen.facts.charters.get(&(charter.account, charter.golem_id));
    let window = known.and_then(|known| known.spend_window).map(SpendWindow::from_word);
    let spent = window.and_then(|window| window.spent(at).ok());
    let mut at_risk = radius.total();
    if let Some(runway) = log.runway_at(at, given.grant.delegate) {
        // No charter guards it: its thief has all of it (SPEC D6). What the key holds is counted already.
        let chain = PermissionContext::decode(&runway.context)?;
        let Ok(mut of_runway) = observe_at(node, runway.manager, &chain, block).await else {
            return Ok(None);
        };
        // It lists no feeds; what the charter's say of the same token counts.
        for (token, facts) in &mut of_runway.facts.tokens {
            facts.price = facts.price.or_else(|| seen.facts.tokens.get(token)?.price);
        }
        let outflow = BlastRadius::of(&chain, &environment(), at, &of_runway.facts)?.causes.outflow;
        at_risk = at_risk.zip(outflow).map(|(one, other)| one.saturating_add(other));
    }
    Ok(Some(Observed {
        block,
        at,
        spent: spent.and_then(|spent| u64::try_from(spent).ok()),
        cap: charter.spend_cap,
        at_risk,
    }))
}
