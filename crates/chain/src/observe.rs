//! What the chain knows of a grant: what was counted, what is held, and what it is worth.

use crate::{
    ChainFault, Foresight, Node, environment,
    foresight::is_arbitrum,
    refusal::explain_caveat,
    registry::GolemState,
    snapshot::{Snapshot, revert_data, said},
};
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::{SolCall, SolValue},
};
use bardo_bindings::{
    GolemCharterEnforcer, GolemRegistry, ReplicantBudgetEnforcer,
    defi::{Erc20, Erc4626, NonfungiblePositionManager, PriceFeed},
    framework::{
        CaveatEnforcer, Counters, DelegationManager, ENTRY_POINT, EntryPoint, MODE_SINGLE,
        PeriodEntry, SelectedGroup, SignedBy,
    },
};
use futures_util::future::try_join_all;
use golem_custody::{BlockRef, Denial, DenialCode, Execution, Outcome, Redemption};
use golem_delegation::{
    ANY_DELEGATE, Caveat, Delegation, PermissionContext, Rule, SigningDomain,
    blast_radius::{CharterFacts, GolemFacts, Observed, Price, TokenFacts},
    enforcers,
    terms::{GolemCharter, Listing, LogicalOrWrapper, Role, TokenPeriod},
};
use std::collections::{BTreeMap, BTreeSet};

/// The chain's own coin.
pub(crate) const COIN: Address = Address::ZERO;
/// Liquidity positions that are looked at.
pub(crate) const MAX_POSITIONS: u64 = 64;
/// Entries of a list of allowances that are looked at.
const MAX_ENTRIES: usize = 64;
/// Who pulls tokens that he was approved for.
const SPENDERS: &[Role] =
    &[Role::SwapRouter, Role::SwapRouter02, Role::PositionManager, Role::Vault];

/// The manager's refusals that do not depend on the call.
const OF_THE_MANAGER: &[DenialCode] = &[
    DenialCode::Signature,
    DenialCode::BrokenChain,
    DenialCode::NoAccount,
    DenialCode::DelegationDisabled,
    DenialCode::Paused,
];

/// Those of rules.
const OF_RULES: &[DenialCode] = &[
    DenialCode::NotAlive,
    DenialCode::Revoked,
    DenialCode::Superseded,
    DenialCode::WindowEarly,
    DenialCode::WindowExpired,
    DenialCode::Calls,
    DenialCode::Redeemer,
    DenialCode::Terms,
];

/// Facts of one block.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Which.
    pub block: BlockRef,
    /// What was read there; what a contract would not say is not in it.
    pub facts: Observed,
    /// What went out in the present period by each entry of a list of allowances, by the link's hash, the enforcer and
    /// the entry's place; whoever redeems says which entry counts, so that no blast radius knows them.
    pub entries: BTreeMap<(B256, Address, usize), U256>,
}

/// Reads what a blast radius, a budget or an owner who asks needs to know of a chain of delegations, all on one block.
/// `also` are tokens that the grant does not mention.
///
/// What a contract refuses to say is left out, and so is taken at its worst; a node that does not answer is a fault.
pub async fn observe(
    node: &Node,
    manager: Address,
    chain: &PermissionContext,
    also: &[Address],
) -> Result<Observation, ChainFault> {
    observe_on(Snapshot::newest(node).await?, manager, chain, also).await
}

/// The same as it was on a block before. A node that keeps no states that old is a fault.
pub async fn observe_at(
    node: &Node,
    manager: Address,
    chain: &PermissionContext,
    block: u64,
) -> Result<Observation, ChainFault> {
    observe_on(Snapshot::at(node, block).await?, manager, chain, &[]).await
}

async fn observe_on(
    on: Snapshot<'_>,
    manager: Address,
    chain: &PermissionContext,
    also: &[Address],
) -> Result<Observation, ChainFault> {
    let Counts { mut facts, entries, rules } = counts(&on, manager, chain).await?;
    let mut tokens: BTreeSet<Address> = also.iter().copied().chain([COIN]).collect();
    let mut listings = Vec::new();
    for rule in &rules {
        tokens.extend(token_of(rule));
        if let Rule::GolemCharter(charter) = rule {
            tokens.extend(charter.listing.held());
            listings.push(charter.listing.clone());
        }
    }
    for vault in named(&listings, &[Role::Vault]) {
        if let Some(asset) = said(on.read(vault, Erc4626::assetCall {}).await)? {
            tokens.insert(asset);
            facts.vaults.insert(vault, asset);
        }
    }
    let (account, key) = (chain.root().delegator, chain.leaf().delegate);
    let mut pooled = Some(BTreeMap::new());
    for manager in named(&listings, &[Role::PositionManager]) {
        pooled = positions(&on, manager, account, pooled).await?;
    }
    let all = tokens.iter().map(|token| held(&on, *token, account, key, &listings));
    for (token, mut known) in tokens.iter().zip(try_join_all(all).await?) {
        known.in_positions =
            pooled.as_ref().map(|pooled| pooled.get(token).copied().unwrap_or_default());
        facts.tokens.insert(*token, known);
    }
    Ok(Observation { block: on.block(), facts, entries })
}

/// The part of it that says whether a grant is alive: nothing of what is held, and in as few round trips as one caveat takes.
pub(crate) async fn observe_life(
    node: &Node,
    manager: Address,
    chain: &PermissionContext,
) -> Result<(BlockRef, Observed), ChainFault> {
    let on = Snapshot::newest(node).await?;
    let Counts { facts, .. } = counts(&on, manager, chain).await?;
    Ok((on.block(), facts))
}

/// What was counted for a chain of delegations, and the rules it was counted by.
struct Counts {
    facts: Observed,
    entries: BTreeMap<(B256, Address, usize), U256>,
    rules: Vec<Rule>,
}

/// What was counted for one caveat.
#[derive(Default)]
struct OfCaveat {
    golem: Option<((Address, B256), GolemFacts)>,
    charter: Option<CharterFacts>,
    entries: Vec<Option<U256>>,
    count: Option<U256>,
}

/// Everything is asked for at once.
async fn counts(
    on: &Snapshot<'_>,
    manager: Address,
    chain: &PermissionContext,
) -> Result<Counts, ChainFault> {
    let environment = environment();
    let links = chain.links().iter().map(async |link| {
        let hash = link.hash().0;
        let disabled = DelegationManager::disabledDelegationsCall { delegationHash: hash };
        let rules: Vec<_> = link
            .caveats
            .iter()
            .filter_map(|caveat| Some((caveat, environment.read(caveat).ok()?)))
            .collect();
        let counted = rules.iter().map(|(caveat, rule)| {
            let asked = Counted { on, manager, link, hash, enforcer: caveat.enforcer };
            asked.of_caveat(rule, &caveat.terms)
        });
        let (disabled, counted) =
            tokio::try_join!(on.read(manager, disabled), try_join_all(counted))?;
        Ok::<_, ChainFault>((link, hash, disabled, rules, counted))
    });
    let mut all =
        Counts { facts: Observed::default(), entries: BTreeMap::new(), rules: Vec::new() };
    for (link, hash, disabled, rules, counted) in try_join_all(links).await? {
        let Counts { facts, entries, rules: known } = &mut all;
        if disabled {
            facts.disabled.push(hash);
        }
        for ((caveat, rule), of) in rules.into_iter().zip(counted) {
            let at = (hash, caveat.enforcer);
            facts.golems.extend(of.golem);
            if let (Rule::GolemCharter(charter), Some(known)) = (&rule, of.charter) {
                facts.charters.insert((link.delegator, charter.golem_id), known);
            }
            for (place, sent) in of.entries.into_iter().enumerate() {
                if let Some(sent) = sent {
                    entries.entry((hash, caveat.enforcer, place)).or_insert(sent);
                }
            }
            match (&rule, of.count) {
                // Each id is one of its own: any that is used ends the link.
                (Rule::Id(_), Some(used)) => {
                    let all = facts.counters.entry(at).or_default();
                    *all = all.saturating_add(used);
                }
                // Of two other caveats of a kind the first one's count is the link's.
                (_, Some(count)) => {
                    facts.counters.entry(at).or_insert(count);
                }
                (_, None) => {}
            }
            known.push(rule);
        }
    }
    Ok(all)
}

async fn charter_facts(
    on: &Snapshot<'_>,
    manager: Address,
    enforcer: Address,
    link: &Delegation,
    charter: &GolemCharter,
) -> Result<CharterFacts, ChainFault> {
    let (delegator, golem) = (link.delegator, charter.golem_id);
    let spend = GolemCharterEnforcer::spendWindowOfCall { manager, delegator, golemId: golem };
    let gas = GolemCharterEnforcer::gasWindowOfCall { manager, delegator, golemId: golem };
    let settlement = GolemCharterEnforcer::settlementOfCall { manager, delegator, golemId: golem };
    let state = GolemRegistry::stateCall { golemId: golem, owner: charter.owner };
    let (known, spend, gas, settlement) = tokio::join!(
        on.read(charter.registry, state),
        on.read(enforcer, spend),
        on.read(enforcer, gas),
        on.read(enforcer, settlement),
    );
    let known = said(known)?;
    let word = known.as_ref().and_then(|known| GolemState::read(known.golemWord));
    Ok(CharterFacts {
        spend_window: said(spend)?,
        gas_window: said(gas)?,
        settlement: said(settlement)?,
        min_epoch: word.map(|word| word.min_epoch),
        generation: known.map(|known| known.generation),
    })
}

/// What a registry says of a Golem's life; none where it does not answer, or in words that no Golem has.
async fn life(
    on: &Snapshot<'_>,
    registry: Address,
    golem: B256,
) -> Result<Option<GolemFacts>, ChainFault> {
    let word = said(on.read(registry, GolemRegistry::wordCall { golemId: golem }).await)?;
    let state = word.and_then(GolemState::read);
    Ok(state.map(|state| GolemFacts { registered: state.registered, closed: state.closed }))
}

/// Why nothing at all can be redeemed on the block of `seen`; none where nothing speaks against every call.
///
/// Asked by a call of nothing: what is refused because of the call says nothing about others. Rules speak in their
/// order; so each is asked alone, too.
pub async fn unusable(
    node: &Node,
    manager: Address,
    chain: &PermissionContext,
    seen: &Observation,
) -> Result<Option<Denial>, ChainFault> {
    let BlockRef { number, hash, .. } = seen.block;
    let header = node.header_of(number).await?;
    if header.hash != hash {
        return Err(ChainFault::NoBlock { number });
    }
    let on = Snapshot::of(node, &header);
    let redeemer = redeemer(chain);
    let nothing = Execution { target: redeemer, value: U256::ZERO, data: Bytes::new() };
    let redemption = Redemption::single(manager, chain.clone(), &nothing);
    let now = header.timestamp;
    let judged = Foresight::new(node.clone()).rehearse(header, &redemption, redeemer).await;
    let denial = match judged {
        Ok(Outcome::Refused(denial)) => Some(denial),
        Ok(_) => None,
        // What cannot be run here, the node is asked, rule by rule.
        Err(ChainFault::Machine { .. } | ChainFault::TooMuchUnread { .. }) => None,
        Err(fault) => return Err(fault),
    };
    if let Some(denial) = denial {
        if denial.code == DenialCode::Reverted {
            // A signature that cannot even be read fails in words of its own.
            let domain = SigningDomain { chain_id: node.chain_id(), manager };
            for link in chain.links() {
                if !is_signed(&on, &domain, link).await? {
                    let words = format!("{} did not sign its delegation", link.delegator);
                    return Ok(Some(Denial::new(DenialCode::Signature, words)));
                }
            }
        }
        let always = match (denial.code, denial.enforcer) {
            (DenialCode::OtherCaveat, Some(enforcer)) => on.code(enforcer).await?.is_empty(),
            (code, _) => {
                // Of what others may redeem, or by other rules, one refusal says little.
                let certain = chain.leaf().delegate != ANY_DELEGATE && !chooses(chain);
                OF_THE_MANAGER.contains(&code) || (certain && OF_RULES.contains(&code))
            }
        };
        if always {
            return Ok(Some(denial));
        }
    }
    if let Some(denial) = by_its_terms(chain, now) {
        return Ok(Some(denial));
    }
    if let Some(denial) = refused_alone(&on, manager, chain).await? {
        return Ok(Some(denial));
    }
    let unknown = seen.facts.golems.iter().find(|(_, known)| !known.registered);
    Ok(unknown.map(|((_, golem), _)| {
        Denial::new(DenialCode::NotAlive, format!("Golem {golem} is not on the register"))
    }))
}

/// Whether a redeemer chooses between rules.
fn chooses(chain: &PermissionContext) -> bool {
    let mut caveats = chain.links().iter().flat_map(|link| &link.caveats);
    caveats.any(|caveat| caveat.enforcer == enforcers::LOGICAL_OR_WRAPPER)
}

/// What its terms alone say against every call: they are none, or let nothing out before their time.
fn by_its_terms(chain: &PermissionContext, now: u64) -> Option<Denial> {
    let environment = environment();
    let now = U256::from(now);
    chain.links().iter().flat_map(|link| &link.caveats).find_map(|caveat| {
        let start = match environment.read(caveat) {
            Ok(Rule::Erc20PeriodTransfer(rule)) => rule.start_date,
            Ok(Rule::Erc20Streaming(rule)) => rule.start_time,
            Ok(Rule::MultiTokenPeriod(list)) => {
                list.0.iter().map(|entry| entry.start_date).min()?
            }
            Err(error) if error.is_final() => {
                let words =
                    format!("a limit of the grant is malformed, so it refuses for ever: {error}");
                let mut denial = Denial::new(DenialCode::Terms, words);
                denial.enforcer = Some(caveat.enforcer);
                return Some(denial);
            }
            _ => return None,
        };
        let mut denial =
            Denial::new(DenialCode::WindowEarly, format!("it begins in second {start}"));
        denial.enforcer = Some(caveat.enforcer);
        (start > now).then_some(denial)
    })
}

/// Who may redeem: the delegate; of what anybody may, somebody whom a rule names.
fn redeemer(chain: &PermissionContext) -> Address {
    let delegate = chain.leaf().delegate;
    if delegate != ANY_DELEGATE {
        return delegate;
    }
    let environment = environment();
    let rules = chain.links().iter().flat_map(|link| &link.caveats);
    let named =
        rules.filter_map(|caveat| environment.read(caveat).ok()).find_map(|rule| match rule {
            Rule::Redeemer(list) => list.0.first().copied(),
            Rule::GolemCharter(charter) => Some(charter.agent_key),
            _ => None,
        });
    named.unwrap_or(chain.root().delegator)
}

/// What one rule refuses whatever the call, asked as the manager asks it and without those before it.
async fn refused_alone(
    on: &Snapshot<'_>,
    manager: Address,
    chain: &PermissionContext,
) -> Result<Option<Denial>, ChainFault> {
    // Where anybody may redeem, that one may not says nothing of others.
    let open = chain.leaf().delegate == ANY_DELEGATE;
    let lasting = |denial: &Denial| {
        OF_RULES.contains(&denial.code) && !(open && denial.code == DenialCode::Redeemer)
    };
    for link in chain.links() {
        let question = Question { on, manager, link, redeemer: redeemer(chain) };
        for caveat in &link.caveats {
            // Whoever redeems chooses the group, whatever the file says: all of them must refuse.
            let choices = choices(caveat);
            let mut last = choices
                .is_empty()
                .then(|| Denial::new(DenialCode::Terms, "there is no group of rules to choose"));
            for args in choices {
                last = question.ask(caveat, args).await?.filter(lasting);
                if last.is_none() {
                    break;
                }
            }
            if last.is_some() {
                return Ok(last);
            }
        }
    }
    Ok(None)
}

/// What a redeemer may say to a rule, as far as it matters to a call of nothing.
fn choices(caveat: &Caveat) -> Vec<Bytes> {
    match LogicalOrWrapper::decode(&caveat.terms) {
        Ok(LogicalOrWrapper(groups)) if caveat.enforcer == enforcers::LOGICAL_OR_WRAPPER => {
            (0u64..)
                .zip(&groups)
                .map(|(place, group)| {
                    let caveat_args = group.iter().map(|one| one.args.clone()).collect();
                    SelectedGroup { groupIndex: U256::from(place), caveatArgs: caveat_args }
                        .abi_encode()
                        .into()
                })
                .collect()
        }
        _ => vec![caveat.args.clone()],
    }
}

/// A link whose rules are asked one by one.
struct Question<'a> {
    on: &'a Snapshot<'a>,
    manager: Address,
    link: &'a Delegation,
    redeemer: Address,
}

impl Question<'_> {
    /// Why a rule refuses a call of nothing, before anything is done.
    async fn ask(&self, caveat: &Caveat, args: Bytes) -> Result<Option<Denial>, ChainFault> {
        let nothing: Bytes = (self.redeemer, U256::ZERO).abi_encode_packed().into();
        let first = CaveatEnforcer::beforeAllHookCall {
            terms: caveat.terms.clone(),
            args: args.clone(),
            mode: MODE_SINGLE,
            executionCalldata: nothing.clone(),
            delegationHash: self.link.hash().0,
            delegator: self.link.delegator,
            redeemer: self.redeemer,
        };
        let second = CaveatEnforcer::beforeHookCall {
            terms: caveat.terms.clone(),
            args,
            mode: MODE_SINGLE,
            executionCalldata: nothing,
            delegationHash: self.link.hash().0,
            delegator: self.link.delegator,
            redeemer: self.redeemer,
        };
        let answers = [
            self.on.read_as(self.manager, caveat.enforcer, first).await.map(|_| ()),
            self.on.read_as(self.manager, caveat.enforcer, second).await.map(|_| ()),
        ];
        for answer in answers {
            let Err(fault) = answer else { continue };
            let Some(data) = revert_data(&fault) else {
                said::<()>(Err(fault))?;
                continue;
            };
            if let Some(denial) = explain_caveat(&data, caveat) {
                return Ok(Some(denial));
            }
        }
        Ok(None)
    }
}

/// Whether a delegation is signed for this chain and manager: by its account as it stands on the newest block, or by the key of
/// `owner` or of the account itself, whatever code it obeys now.
pub async fn is_signed_for(
    node: &Node,
    manager: Address,
    link: &Delegation,
    owner: Address,
) -> Result<bool, ChainFault> {
    let on = Snapshot::newest(node).await?;
    let domain = SigningDomain { chain_id: node.chain_id(), manager };
    let by_key = [owner, link.delegator].iter().any(|key| domain.verify(link, *key).is_ok());
    Ok(by_key || is_signed(&on, &domain, link).await?)
}

/// As the manager asks: the account where there is one, and otherwise its key.
async fn is_signed(
    on: &Snapshot<'_>,
    domain: &SigningDomain,
    link: &Delegation,
) -> Result<bool, ChainFault> {
    if on.code(link.delegator).await?.is_empty() {
        return Ok(domain.verify(link, link.delegator).is_ok());
    }
    let (hash, signature) = (domain.digest(link), link.signature.clone());
    let asked = SignedBy::isValidSignatureCall { hash, signature };
    let yes = SignedBy::isValidSignatureCall::SELECTOR;
    Ok(said(on.read_as(domain.manager, link.delegator, asked).await)?
        .is_some_and(|word| word == yes))
}

/// One caveat's counter.
struct Counted<'a> {
    on: &'a Snapshot<'a>,
    manager: Address,
    link: &'a Delegation,
    hash: B256,
    enforcer: Address,
}

impl Counted<'_> {
    async fn of_caveat(self, rule: &Rule, terms: &[u8]) -> Result<OfCaveat, ChainFault> {
        let golem = async {
            let Some((registry, golem)) = rule.golem() else { return Ok(None) };
            let known = life(self.on, registry, golem).await?;
            Ok::<_, ChainFault>(known.map(|known| ((registry, golem), known)))
        };
        let counted = async {
            let mut of = OfCaveat::default();
            match rule {
                Rule::GolemCharter(charter) => {
                    let Self { on, manager, link, enforcer, .. } = self;
                    of.charter = Some(charter_facts(on, manager, enforcer, link, charter).await?);
                }
                Rule::MultiTokenPeriod(list) => {
                    let entries = list.0.iter().enumerate().take(MAX_ENTRIES);
                    let entries = entries.map(|(place, entry)| self.entry(entry, terms, place));
                    of.entries = try_join_all(entries).await?;
                }
                _ => of.count = self.count(rule, terms).await?,
            }
            Ok(of)
        };
        let (golem, of) = tokio::try_join!(golem, counted)?;
        Ok(OfCaveat { golem, ..of })
    }

    async fn count(&self, rule: &Rule, terms: &[u8]) -> Result<Option<U256>, ChainFault> {
        let (manager, hash, at) = (self.manager, self.hash, self.enforcer);
        Ok(match rule {
            Rule::LimitedCalls(_) => {
                let calls = Counters::callCountsCall { manager, delegationHash: hash };
                said(self.on.read(at, calls).await)?
            }
            Rule::Erc20TransferAmount(_) | Rule::NativeTokenTransferAmount(_) => {
                let spent = Counters::spentMapCall { manager, delegationHash: hash };
                said(self.on.read(at, spent).await)?
            }
            Rule::Erc20PeriodTransfer(rule) => {
                self.period(rule.period_amount, rule.start_date, terms).await?
            }
            Rule::NativeTokenPeriodTransfer(rule) => {
                self.period(rule.period_amount, rule.start_date, terms).await?
            }
            Rule::Erc20Streaming(_) | Rule::NativeTokenStreaming(_) => {
                let stream = Counters::streamingAllowancesCall { manager, delegationHash: hash };
                said(self.on.read(at, stream).await)?.map(|stream| stream.spent)
            }
            Rule::ReplicantBudget(rule) => {
                let spent = ReplicantBudgetEnforcer::spentByCall {
                    manager,
                    delegator: self.link.delegator,
                    replicantId: rule.replicant_id,
                };
                said(self.on.read(at, spent).await)?.map(U256::from)
            }
            Rule::Id(id) => {
                let delegator = self.link.delegator;
                let used = Counters::getIsUsedCall { manager, delegator, id: id.0 };
                said(self.on.read(at, used).await)?.map(U256::from)
            }
            // Contracts there see another number than the header's.
            Rule::BlockNumber(_) => {
                (!is_arbitrum(self.on.chain_id())).then(|| U256::from(self.on.block().number))
            }
            Rule::Nonce(_) => {
                let nonce = Counters::currentNonceCall { manager, delegator: self.link.delegator };
                said(self.on.read(at, nonce).await)?
            }
            _ => None,
        })
    }

    /// The same by one entry of a list.
    async fn entry(
        &self,
        entry: &TokenPeriod,
        terms: &[u8],
        place: usize,
    ) -> Result<Option<U256>, ChainFault> {
        if self.is_before(entry.start_date) {
            return Ok(Some(U256::ZERO));
        }
        let left = PeriodEntry::getAvailableAmountCall {
            delegationHash: self.hash,
            manager: self.manager,
            terms: terms.to_vec().into(),
            args: U256::from(place).abi_encode().into(),
        };
        let left = said(self.on.read(self.enforcer, left).await)?;
        Ok(left.map(|left| entry.period_amount.saturating_sub(left.available)))
    }

    /// Before its start nothing is left, and nothing went out.
    fn is_before(&self, start: U256) -> bool {
        U256::from(self.on.block().timestamp) < start
    }

    /// What went out in the present period: what it allows less what is left.
    async fn period(
        &self,
        amount: U256,
        start: U256,
        terms: &[u8],
    ) -> Result<Option<U256>, ChainFault> {
        if self.is_before(start) {
            return Ok(Some(U256::ZERO));
        }
        let left = Counters::getAvailableAmountCall {
            delegationHash: self.hash,
            manager: self.manager,
            terms: terms.to_vec().into(),
        };
        let left = said(self.on.read(self.enforcer, left).await)?;
        Ok(left.map(|left| amount.saturating_sub(left.available)))
    }
}

const fn token_of(rule: &Rule) -> Option<Address> {
    match rule {
        Rule::Erc20PeriodTransfer(rule) => Some(rule.token_address),
        Rule::Erc20Streaming(rule) => Some(rule.token_address),
        Rule::Erc20TransferAmount(rule) => Some(rule.token_address),
        _ => None,
    }
}

async fn held(
    on: &Snapshot<'_>,
    token: Address,
    account: Address,
    key: Address,
    listings: &[Listing],
) -> Result<TokenFacts, ChainFault> {
    let price = price(on, token, listings).await?;
    if token == COIN {
        let purse = on.balance(key).await?;
        return Ok(TokenFacts {
            decimals: None,
            price,
            balance: Some(on.balance(account).await?),
            in_vaults: Some(U256::ZERO),
            in_positions: None,
            allowance: Some(U256::ZERO),
            key_balance: deposit(on, key).await?.map(|left| purse.saturating_add(left)),
        });
    }
    let balance = |account: Address| on.read(token, Erc20::balanceOfCall { account });
    let mut allowance = Some(U256::ZERO);
    for spender in named(listings, SPENDERS) {
        let may = Erc20::allowanceCall { owner: account, spender };
        let may = said(on.read(token, may).await)?;
        allowance = allowance.zip(may).map(|(all, may)| all.saturating_add(may));
    }
    let mut in_vaults = Some(U256::ZERO);
    for vault in named(listings, &[Role::Vault]) {
        let Some(asset) = said(on.read(vault, Erc4626::assetCall {}).await)? else {
            in_vaults = None;
            continue;
        };
        if asset != token {
            continue;
        }
        let shares = said(on.read(vault, Erc20::balanceOfCall { account }).await)?;
        let worth = match shares {
            Some(shares) => said(on.read(vault, Erc4626::convertToAssetsCall { shares }).await)?,
            None => None,
        };
        in_vaults = in_vaults.zip(worth).map(|(all, worth)| all.saturating_add(worth));
    }
    Ok(TokenFacts {
        decimals: said(on.read(token, Erc20::decimalsCall {}).await)?,
        price,
        balance: said(balance(account).await)?,
        in_vaults,
        in_positions: None,
        allowance,
        key_balance: said(balance(key).await)?,
    })
}

/// What an account's liquidity holds of each token, with fees: what it would get if it took everything back now. None
/// where that is not known: there is too much of it, or a pool does not answer. Who moves a pool's price moves what
/// lies in it, and at the feeds' prices only upwards.
async fn positions(
    on: &Snapshot<'_>,
    manager: Address,
    account: Address,
    known: Option<BTreeMap<Address, U256>>,
) -> Result<Option<BTreeMap<Address, U256>>, ChainFault> {
    let count = NonfungiblePositionManager::balanceOfCall { owner: account };
    let count = said(on.read(manager, count).await)?.and_then(|count| u64::try_from(count).ok());
    let (Some(count), Some(mut held)) = (count.filter(|count| *count <= MAX_POSITIONS), known)
    else {
        return Ok(None);
    };
    for index in 0..count {
        let index = U256::from(index);
        let id = NonfungiblePositionManager::tokenOfOwnerByIndexCall { owner: account, index };
        let Some(id) = said(on.read(manager, id).await)? else { return Ok(None) };
        let position = NonfungiblePositionManager::positionsCall { tokenId: id };
        let Some(position) = said(on.read(manager, position).await)? else { return Ok(None) };
        let taken = said(on.read_as(account, manager, take_back(id, &position)).await)?;
        let taken = taken.and_then(|answers| {
            let last = answers.last()?;
            NonfungiblePositionManager::collectCall::abi_decode_returns_validate(last).ok()
        });
        let Some(taken) = taken else { return Ok(None) };
        for (token, amount) in [(position.token0, taken.amount0), (position.token1, taken.amount1)]
        {
            let sum = held.entry(token).or_default();
            *sum = sum.saturating_add(amount);
        }
    }
    Ok(Some(held))
}

/// Everything out of one position.
fn take_back(
    id: U256,
    position: &NonfungiblePositionManager::positionsReturn,
) -> NonfungiblePositionManager::multicallCall {
    let mut data = Vec::new();
    if position.liquidity > 0 {
        let params = NonfungiblePositionManager::DecreaseLiquidityParams {
            tokenId: id,
            liquidity: position.liquidity,
            amount0Min: U256::ZERO,
            amount1Min: U256::ZERO,
            deadline: U256::MAX,
        };
        let decrease = NonfungiblePositionManager::decreaseLiquidityCall { params };
        data.push(decrease.abi_encode().into());
    }
    let params = NonfungiblePositionManager::CollectParams {
        tokenId: id,
        // Nobody: the manager keeps it, and nothing is sent on.
        recipient: Address::ZERO,
        amount0Max: u128::MAX,
        amount1Max: u128::MAX,
    };
    data.push(NonfungiblePositionManager::collectCall { params }.abi_encode().into());
    NonfungiblePositionManager::multicallCall { data }
}

/// What a session account left with the entry point for its operations: whoever has its key takes it back.
async fn deposit(on: &Snapshot<'_>, key: Address) -> Result<Option<U256>, ChainFault> {
    if on.code(ENTRY_POINT).await?.is_empty() {
        return Ok(Some(U256::ZERO));
    }
    // One that does not say is not one that has nothing.
    said(on.read(ENTRY_POINT, EntryPoint::balanceOfCall { account: key }).await)
}

/// Everything that has one of the roles.
fn named(listings: &[Listing], roles: &[Role]) -> BTreeSet<Address> {
    let targets = listings.iter().flat_map(|listing| &listing.targets);
    let targets = targets.map(|known| (known.target, Some(known.role)));
    let tokens = listings.iter().flat_map(|listing| &listing.tokens);
    let all = targets.chain(tokens.map(|known| (known.token, known.role)));
    let wanted = all.filter(|(_, role)| role.is_some_and(|role| roles.contains(&role)));
    wanted.map(|(address, _)| address).collect()
}

/// By the feed that the owner signed; the coin's is its wrapped form's.
async fn price(
    on: &Snapshot<'_>,
    token: Address,
    listings: &[Listing],
) -> Result<Option<Price>, ChainFault> {
    let is_it = |listing: &Listing, known: Address, role: Option<Role>| {
        let wrapped = role == Some(Role::Weth)
            || listing
                .targets
                .iter()
                .any(|target| target.target == known && target.role == Role::Weth);
        known == token || (token == COIN && wrapped)
    };
    let feed = listings.iter().find_map(|listing| {
        let tokens = listing.tokens.iter();
        let mut tokens = tokens.filter(|known| is_it(listing, known.token, known.role));
        tokens.next().map(|known| known.feed)
    });
    let Some(feed) = feed else { return Ok(None) };
    let round = said(on.read(feed, PriceFeed::latestRoundDataCall {}).await)?;
    let decimals = said(on.read(feed, PriceFeed::decimalsCall {}).await)?;
    let answer = round.and_then(|round| U256::try_from(round.answer).ok());
    Ok(answer.zip(decimals).map(|(answer, decimals)| Price { answer, decimals }))
}
