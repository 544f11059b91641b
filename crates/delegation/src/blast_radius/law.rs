//! What of a chain binds whoever holds its key.

use super::{Assumption, Ended, GolemFacts, Observed, SpendSchedule, outflow::Outflow};
use crate::{
    ANY_DELEGATE, Delegation, Environment, Kind, PermissionContext, Rule, SpendRefusal, SpendTerms,
    SpendWindow,
    terms::{Class, GolemCharter, ListedTarget, Listing, Role},
    utc::NEVER,
};
use alloy_primitives::{Address, B256, U256};
use std::collections::{BTreeMap, BTreeSet};

/// The whole, in basis points.
pub(super) const WHOLE: u16 = 10_000;
/// No grant's epoch.
const NO_EPOCH: u16 = u16::MAX;

/// Everything that binds him, over all links.
#[derive(Debug)]
pub(super) struct Law {
    pub(super) now: u64,
    /// First second at which the grant is good.
    pub(super) from: u64,
    /// The last; none where no link names one.
    pub(super) until: Option<u64>,
    pub(super) ended: Option<Ended>,
    pub(super) charters: Vec<CharterLaw>,
    pub(super) outflow: Outflow,
    /// Whether the key is the account's own.
    pub(super) owned: bool,
    /// Redemptions left.
    pub(super) calls: Option<U256>,
    /// What is left of budgets for a whole life, in micro-dollars.
    pub(super) budget: Option<U256>,
    budgets: Vec<(Listing, U256)>,
    /// Whether all charters price every token alike: only then are their dollars the same.
    pub(super) alike: bool,
    pub(super) assumptions: BTreeSet<Assumption>,
}

/// One charter, and what it has counted.
#[derive(Debug)]
pub(super) struct CharterLaw {
    pub(super) charter: GolemCharter,
    delegator: Address,
    pub(super) volume: SpendSchedule,
    pub(super) gas: Option<SpendSchedule>,
    /// What a dying Golem converts to; none where that is not known.
    pub(super) settlement: Option<Address>,
    /// What a trade may lose: all of it where its proceeds go to another account.
    pub(super) loss_bps: u16,
    /// Whether money that goes home goes to him.
    pub(super) open: bool,
}

impl Law {
    /// Of a chain whose thief has `key`.
    pub(super) fn read(
        chain: &PermissionContext,
        key: Address,
        environment: &Environment,
        now: u64,
        observed: &Observed,
    ) -> Self {
        let mut law = Self::of_the_grant(chain, key, environment, now, observed);
        law.say_who(chain, key);
        law
    }

    /// What binds whoever redeems it, though the account be his own.
    pub(super) fn of_the_grant(
        chain: &PermissionContext,
        key: Address,
        environment: &Environment,
        now: u64,
        observed: &Observed,
    ) -> Self {
        let mut law = Self {
            now,
            from: now,
            until: None,
            ended: None,
            charters: Vec::new(),
            outflow: Outflow::default(),
            owned: false,
            calls: None,
            budget: None,
            budgets: Vec::new(),
            alike: true,
            assumptions: BTreeSet::new(),
        };
        for link in chain.links() {
            let hash = link.hash().0;
            if observed.disabled.contains(&hash) {
                law.end(Ended::Disabled { delegation: hash });
            }
            let rules: Vec<_> =
                link.caveats.iter().map(|caveat| environment.read(caveat)).collect();
            let entries = |rule: &&Rule| matches!(rule, Rule::MultiTokenPeriod(_));
            let entangled = rules.iter().flatten().filter(entries).count() > 1;
            let mut seen = BTreeSet::new();
            let (mut counted, mut ids) = (0u64, BTreeSet::new());
            for (caveat, rule) in link.caveats.iter().zip(rules) {
                let enforcer = caveat.enforcer;
                let mut count = observed.counters.get(&(hash, enforcer)).copied();
                match &rule {
                    // All of a link count by one number: each redemption raises it for each of them.
                    Ok(Rule::LimitedCalls(_)) => {
                        count = count.map(|calls| calls.saturating_add(U256::from(counted)));
                        counted += 1;
                    }
                    // Of two the second finds it used.
                    Ok(Rule::Id(id)) if !ids.insert(id.0) => law.end(Ended::IdUsed { id: id.0 }),
                    _ => {}
                }
                if let Some((registry, golem)) = rule.as_ref().ok().and_then(Rule::golem) {
                    law.live(golem, observed.golems.get(&(registry, golem)));
                }
                match rule {
                    // Whoever redeems says which entry counts, and of two lists either may have been the first there.
                    Ok(rule @ Rule::MultiTokenPeriod(_)) if entangled => {
                        law.or_not_counted(false, &rule);
                    }
                    // The contract keeps the first one's amounts for the whole link: a second one only counts.
                    Ok(rule) if rule.keeps_its_first() && !seen.insert(rule.kind()) => {
                        law.or_not_counted(false, &rule);
                    }
                    // Each budget counts by its own name, and the fact is the first one's.
                    Ok(rule @ Rule::ReplicantBudget(_)) if !seen.insert(rule.kind()) => {
                        law.bind(hash, None, &rule);
                    }
                    Ok(rule) => law.bind(hash, count, &rule),
                    // What cannot be read may bind him or not.
                    Err(_unreadable) => law.not_counted(caveat.enforcer.to_string()),
                }
            }
        }
        if law.until.is_some_and(|until| until < law.from) {
            let at = law.until.unwrap_or(law.from);
            law.end(Ended::Expired { at });
        }
        law.count_charters(chain, key, environment, observed);
        law.compare_prices();
        law
    }

    /// The charters of each Golem: they are in one phase, and those of another may be in another one.
    pub(super) fn golems(&self) -> impl Iterator<Item = Vec<&CharterLaw>> {
        let mut golems: BTreeMap<(Address, B256), Vec<&CharterLaw>> = BTreeMap::new();
        for law in &self.charters {
            golems.entry((law.charter.registry, law.charter.golem_id)).or_default().push(law);
        }
        golems.into_values()
    }

    /// Whose key it is about, and what rides along.
    fn say_who(&mut self, chain: &PermissionContext, key: Address) {
        let owner = self.charters.iter().any(|law| law.charter.owner == key);
        if chain.root().delegator == key || owner {
            self.owned = true;
            // Who owns the account needs no grant: neither its beginning nor its end is his.
            (self.ended, self.from, self.until) = (None, self.now, None);
            self.assumptions.insert(Assumption::KeyIsTheAccount);
        }
        if chain.links().len() > 1 {
            self.assumptions.insert(Assumption::OnlyTheLeafsKey);
        }
        if chain.leaf().delegate == ANY_DELEGATE {
            self.assumptions.insert(Assumption::AnyDelegate);
        }
        let coins = self.outflow.most(Address::ZERO, self.calls, self.now, self.from, self.from);
        if self.is_open() && self.outflow.is_closed() && coins.is_none() {
            self.assumptions.insert(Assumption::CoinsUnbounded);
        }
    }

    /// Whether no charter keeps money from leaving.
    pub(super) fn is_open(&self) -> bool {
        self.owned || self.charters.iter().all(|law| law.open)
    }

    /// Whether what leaves is bounded by the grant itself, whatever the account has: a runway is the owner's own
    /// account, which is filled again (SPEC D6).
    pub(super) fn is_runway(&self) -> bool {
        !self.owned && self.is_open() && self.outflow.is_closed()
    }

    /// Whether nothing says at all what may leave.
    pub(super) fn is_boundless(&self) -> bool {
        self.owned || (self.is_open() && !self.outflow.is_closed())
    }

    /// Death is for ever, and so is leaving the register.
    fn live(&mut self, golem: B256, known: Option<&GolemFacts>) {
        let Some(GolemFacts { registered, closed: true }) = known else { return };
        self.end(if *registered { Ended::Closed { golem } } else { Ended::Deregistered { golem } });
    }

    fn end(&mut self, why: Ended) {
        self.ended.get_or_insert(why);
    }

    fn not_counted(&mut self, rule: String) {
        self.assumptions.insert(Assumption::RuleNotCounted { rule });
    }

    fn or_not_counted(&mut self, bound: bool, rule: &Rule) {
        if let Some(kind) = rule.kind().filter(|_| !bound) {
            self.not_counted(kind.name().to_owned());
        }
    }

    fn starts(&mut self, at: u64) {
        self.from = self.from.max(at);
    }

    fn ends(&mut self, at: u64) {
        // An end that no clock of ours reaches is none.
        if at >= NEVER {
            return;
        }
        self.until = Some(self.until.map_or(at, |until| until.min(at)));
    }

    fn bind(&mut self, hash: B256, count: Option<U256>, rule: &Rule) {
        match rule {
            Rule::GolemCharter(charter) => {
                self.starts(charter.window.start());
                self.ends(charter.window.end());
            }
            Rule::MortalityTimeWindow(window) => {
                self.starts(window.start());
                self.ends(window.end());
            }
            Rule::Timestamp(timestamp) => {
                if timestamp.after != 0 {
                    self.starts(
                        u64::try_from(timestamp.after).unwrap_or(u64::MAX).saturating_add(1),
                    );
                }
                if timestamp.before != 0 {
                    self.ends(
                        u64::try_from(timestamp.before).unwrap_or(u64::MAX).saturating_sub(1),
                    );
                }
            }
            Rule::ReplicantBudget(budget) => {
                self.ends(budget.not_after);
                let left = U256::from(budget.budget).saturating_sub(self.counted(count));
                self.budgets.push((budget.listing.clone(), left));
            }
            Rule::LimitedCalls(limit) => {
                let left = limit.0.saturating_sub(self.counted(count));
                if left.is_zero() {
                    self.end(Ended::NoCallsLeft { delegation: hash });
                }
                self.calls = Some(self.calls.map_or(left, |before| before.min(left)));
            }
            // One that has not come yet will come; one that is past is past.
            Rule::Nonce(nonce) => {
                let current = self.counted(count);
                if current > nonce.0 {
                    self.end(Ended::NonceRaised { nonce: nonce.0, current });
                }
            }
            Rule::BlockNumber(blocks) => {
                let number = count.unwrap_or_default();
                if blocks.before != 0 && number >= U256::from(blocks.before) {
                    self.end(Ended::PastBlock { before: blocks.before, number });
                }
                self.or_not_counted(false, rule);
            }
            Rule::Id(id) => {
                if count.is_some_and(|used| !used.is_zero()) {
                    self.end(Ended::IdUsed { id: id.0 });
                }
                self.or_not_counted(false, rule);
            }
            Rule::Opaque(opaque) => self.not_counted(opaque.enforcer.to_string()),
            Rule::ValueLte(_) | Rule::ExactCalldata(_) | Rule::MultiTokenPeriod(_) => {
                let bound = self.outflow.bind(rule, U256::ZERO);
                self.or_not_counted(bound, rule);
            }
            other => {
                // What it may send is sent, and it may do nothing else.
                let most = match other {
                    Rule::Erc20TransferAmount(rule) => Some(rule.max_amount),
                    Rule::Erc20Streaming(rule) => Some(rule.max_amount),
                    _ => None,
                };
                if most.zip(count).is_some_and(|(most, sent)| sent >= most) {
                    self.end(Ended::AllSent { delegation: hash });
                }
                let bound = self.outflow.bind(other, count.unwrap_or_default());
                if bound {
                    self.counted(count);
                }
                self.or_not_counted(bound, other);
            }
        }
    }

    /// What was counted already; nothing where that is not known.
    fn counted(&mut self, count: Option<U256>) -> U256 {
        if count.is_none() {
            self.assumptions.insert(Assumption::CounterUnknown);
        }
        count.unwrap_or_default()
    }

    /// Behind the rest: a charter's windows are counted from the first second that all links allow.
    fn count_charters(
        &mut self,
        chain: &PermissionContext,
        key: Address,
        environment: &Environment,
        observed: &Observed,
    ) {
        for link in chain.links() {
            for caveat in &link.caveats {
                if let Ok(Rule::GolemCharter(charter)) = environment.read(caveat) {
                    self.count_charter(chain, key, environment, link, *charter, observed);
                }
            }
        }
    }

    /// Budgets and charters bind together where a dollar of one is a dollar of the other.
    fn compare_prices(&mut self) {
        let listings = self.charters.iter().map(|law| &law.charter.listing);
        let prices = Prices::merge(listings);
        let same = prices.0.values().all(Option::is_some);
        let (counted, other): (Vec<_>, Vec<_>) =
            self.budgets.iter().partition(|(listing, _)| prices.agree(listing));
        let (budget, any) = (counted.iter().map(|(_, left)| *left).min(), !other.is_empty());
        (self.alike, self.budget) = (same, budget);
        if any {
            self.not_counted(Kind::ReplicantBudget.name().to_owned());
        }
        if !same {
            self.assumptions.insert(Assumption::PricesDiffer);
        }
    }

    fn count_charter(
        &mut self,
        chain: &PermissionContext,
        key: Address,
        environment: &Environment,
        link: &Delegation,
        charter: GolemCharter,
        observed: &Observed,
    ) {
        let facts = observed.charters.get(&(link.delegator, charter.golem_id)).cloned();
        let facts = facts.unwrap_or_default();
        let (epoch, generation) = (charter.epoch, charter.generation);
        // Epochs and generations that have not begun will begin; those that are past are past.
        if let Some(lowest) = facts.min_epoch.filter(|lowest| epoch < *lowest || epoch == NO_EPOCH)
        {
            self.end(Ended::EpochRevoked { epoch, lowest });
        }
        if let Some(current) = facts.generation.filter(|current| generation < *current) {
            self.end(Ended::GenerationRevoked { generation, current });
        }
        let volume = charter.spend_window();
        let volume = volume.and_then(|terms| self.schedule(facts.spend_window, &terms));
        let Some(volume) = self.or_end(volume) else { return };
        let gas = match SpendTerms::new(charter.gas_daily_cap, SpendTerms::DAY, epoch) {
            Ok(terms) if charter.tops_up() => {
                let gas = self.schedule(facts.gas_window, &terms);
                self.or_end(gas)
            }
            _ => None,
        };
        let settlement = facts.settlement.map(|word| {
            let named = word >> 160usize == U256::from(epoch) && !word.is_zero();
            if named { Address::from_word(B256::from(word)) } else { charter.settlement_asset }
        });
        let settlement = self.settlement_beside(link.delegator, &charter, settlement);
        if settlement.is_none() {
            self.assumptions.insert(Assumption::SettlementUnknown);
        }
        self.assumptions.insert(Assumption::RegistryBehaves { registry: charter.registry });
        let home = charter.account == chain.root().delegator;
        if !home {
            self.assumptions.insert(Assumption::OtherAccount { account: charter.account });
        }
        let beneficiary = charter.beneficiary;
        let his = [charter.agent_key, key].contains(&beneficiary)
            || chain.links().iter().any(|link| link.delegate == beneficiary);
        let listed = charter.keeps(beneficiary) || environment.contains(beneficiary);
        let open = (his || listed) && charter.allows(Class::Transfer);
        self.assumptions.insert(match (open, his) {
            (true, true) => Assumption::BeneficiaryIsTheKey,
            (true, false) => Assumption::BeneficiaryIsListed { beneficiary },
            (false, _) => Assumption::Beneficiary { beneficiary },
        });
        if charter.allows(Class::Sell) {
            self.assumptions.insert(Assumption::KnowledgeHasNoPrice);
        }
        let loss_bps = if home { charter.slippage_bps } else { WHOLE };
        let delegator = link.delegator;
        self.charters.push(CharterLaw {
            charter,
            delegator,
            volume,
            gas,
            settlement,
            loss_bps,
            open,
        });
    }

    /// The chain keeps one settlement asset for a delegator's Golem, that of the charter which is judged first. One
    /// that asks another registry may find its Golem dying first, so that either may count.
    fn settlement_beside(
        &self,
        delegator: Address,
        charter: &GolemCharter,
        own: Option<Address>,
    ) -> Option<Address> {
        let shares = |law: &&CharterLaw| {
            law.delegator == delegator
                && law.charter.golem_id == charter.golem_id
                && law.charter.epoch == charter.epoch
        };
        let Some(first) = self.charters.iter().find(shares) else { return own };
        let same = first.charter.registry == charter.registry || first.settlement == own;
        first.settlement.filter(|_| same)
    }

    /// Of a window that is not known, or that cannot be of this time, nothing is used up.
    fn schedule(
        &mut self,
        word: Option<U256>,
        terms: &SpendTerms,
    ) -> Result<SpendSchedule, SpendRefusal> {
        let unused = SpendWindow::default();
        if word.is_none() {
            self.assumptions.insert(Assumption::WindowUnknown);
        }
        let window = word.map_or(unused, SpendWindow::from_word);
        match SpendSchedule::new(&window, terms, self.from) {
            Err(SpendRefusal::TimeWentBack { .. }) => {
                self.assumptions.insert(Assumption::WindowUnknown);
                SpendSchedule::new(&unused, terms, self.from)
            }
            other => other,
        }
    }

    /// A charter whose window refuses even nothing lets nothing through.
    fn or_end(&mut self, schedule: Result<SpendSchedule, SpendRefusal>) -> Option<SpendSchedule> {
        match schedule {
            Ok(schedule) => Some(schedule),
            Err(refusal) => {
                self.end(Ended::WindowRefuses { why: refusal.to_string() });
                None
            }
        }
    }
}

impl GolemCharter {
    pub(super) const fn allows(&self, class: Class) -> bool {
        self.classes.contains(class)
    }

    /// Whether anything has the role; an address may stand twice, and then either may count.
    pub(super) fn lists(&self, role: Role) -> bool {
        self.listing.targets.iter().any(|target| target.role == role)
            || self.listing.tokens.iter().any(|token| token.role == Some(role))
    }

    /// Whether what is sent there is gone: to nobody, or to a contract that this charter knows. Routers let anybody sweep
    /// them, and a token, a vault, a registry or an enforcer gives nothing back.
    pub(crate) fn keeps(&self, address: Address) -> bool {
        let targets = self.listing.targets.iter().filter(|target| target.role != Role::AgentKey);
        // Precompiles and other addresses that a chain keeps for itself, and the one that is a grave by its name.
        let nobodys = address.into_word() < Address::left_padding_from(&[1, 0, 0]).into_word()
            || address == Address::left_padding_from(&[0xde, 0xad]);
        nobodys
            || [ANY_DELEGATE, self.registry, self.vault, self.settlement_asset].contains(&address)
            || self.listing.tokens.iter().any(|known| known.feed == address)
            || targets.into_iter().any(|target| target.target == address)
            || self.listing.tokens.iter().any(|known| known.token == address)
    }

    /// Every vault that is listed.
    pub(super) fn vaults(&self) -> BTreeSet<Address> {
        let targets = self.listing.targets.iter().map(|known| (known.target, Some(known.role)));
        let tokens = self.listing.tokens.iter().map(|known| (known.token, known.role));
        let vaults = targets.chain(tokens).filter(|(_, role)| *role == Some(Role::Vault));
        vaults.map(|(address, _)| address).collect()
    }

    /// How many vaults withdrawals can lead through: one may hold another's shares, and to take them back needs no price.
    pub(super) fn vault_levels(&self) -> usize {
        self.vaults().len().max(1)
    }

    /// Whether shares of a vault are listed as a token.
    fn lists_shares(&self) -> bool {
        let as_vault = |address: Address| {
            let known = |known: &&ListedTarget| known.target == address;
            self.listing.targets.iter().filter(known).any(|known| known.role == Role::Vault)
        };
        let mut tokens = self.listing.tokens.iter();
        tokens.any(|known| known.role == Some(Role::Vault) || as_vault(known.token))
    }

    /// Whether shares of a vault can be had: by depositing, or by buying what is listed as a token.
    pub(super) fn buys_shares(&self) -> bool {
        self.deposits() || (self.trades() && self.lists_shares())
    }

    /// Whether what lies in pools can come back as shares, whatever it was, and be withdrawn.
    pub(super) fn withdraws_from_pools(&self) -> bool {
        self.withdraws() && self.takes_back() && self.lists_shares()
    }

    /// Whether liquidity comes back, as whatever its pool makes of it.
    pub(super) fn takes_back(&self) -> bool {
        let takes = self.allows(Class::RemoveLiquidity) || self.allows(Class::Collect);
        takes && self.lists(Role::PositionManager)
    }

    pub(super) fn is_callable(&self, token: Address) -> bool {
        self.listing.targets.iter().any(|target| target.target == token)
            || self.listing.tokens.iter().any(|known| known.token == token && known.role.is_some())
    }

    pub(super) fn swaps(&self) -> bool {
        self.allows(Class::Swap) && (self.lists(Role::SwapRouter) || self.lists(Role::SwapRouter02))
    }

    pub(super) fn deposits(&self) -> bool {
        self.allows(Class::Deposit) && self.lists(Role::Vault)
    }

    pub(super) fn withdraws(&self) -> bool {
        self.allows(Class::Withdraw) && self.lists(Role::Vault)
    }

    /// Whether anything that counts as spending is possible; no execution may be worth more than the cap on one.
    pub(super) fn trades(&self) -> bool {
        let pools = self.allows(Class::AddLiquidity) && self.lists(Role::PositionManager);
        self.nav_cap > 0 && (self.swaps() || self.deposits() || pools)
    }

    pub(super) fn wraps(&self) -> bool {
        self.allows(Class::Wrap) && self.lists(Role::Weth)
    }

    pub(super) fn unwraps(&self) -> bool {
        self.allows(Class::Unwrap) && self.lists(Role::Weth)
    }

    pub(super) fn tops_up(&self) -> bool {
        self.allows(Class::GasTopUp) && self.gas_ceiling > 0 && self.lists(Role::AgentKey)
    }
}

/// The part of a chain that whoever holds the leaf's key redeems without what stands below it; none where that is
/// nothing but the whole. Nearer to the root less binds, so the last such link counts.
pub(super) fn redeemable_alone(chain: &PermissionContext) -> Option<PermissionContext> {
    let key = chain.leaf().delegate;
    let his = |link: &Delegation| link.delegate == key || link.delegate == ANY_DELEGATE;
    let at = chain.links().iter().rposition(his).filter(|at| *at > 0)?;
    PermissionContext::new(chain.links().get(at..)?.to_vec()).ok()
}

/// By what a token is priced: its feed, its decimals and those of the feed.
type PricedBy = (Address, u8, u8);

/// What prices each token over several listings; none where two of them differ.
struct Prices(BTreeMap<Address, Option<PricedBy>>);

impl Prices {
    fn merge<'a>(listings: impl Iterator<Item = &'a Listing>) -> Self {
        let mut prices = BTreeMap::new();
        for (token, by) in listings.flat_map(priced_by) {
            let known = prices.entry(token).or_insert(Some(by));
            *known = known.filter(|known| *known == by);
        }
        Self(prices)
    }

    /// Whether no token is worth anything else by that listing.
    fn agree(&self, listing: &Listing) -> bool {
        priced_by(listing)
            .into_iter()
            .all(|(token, by)| self.0.get(&token).is_none_or(|known| *known == Some(by)))
    }
}

/// Of entries that repeat, the first counts.
fn priced_by(listing: &Listing) -> BTreeMap<Address, PricedBy> {
    let mut tokens = BTreeMap::new();
    for known in &listing.tokens {
        let by = (known.feed, known.token_decimals, known.feed_decimals);
        tokens.entry(known.token).or_insert(by);
    }
    tokens
}
