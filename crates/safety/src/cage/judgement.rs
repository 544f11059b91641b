use super::{Facts, Intent, MOST_CALLDATA, MOST_CALLS};
use crate::{
    Action, ActionRefusal, Appraisal, CallsDigest, Denial, DenialCode, MicroDollars, Permit,
    Policy, Published, ValuationRefusal, read_call, role_of,
};
use alloy_primitives::{Address, U256};
use golem_delegation::terms::{Class, Role};
use std::collections::{BTreeMap, BTreeSet};

/// Spenders that pull from their caller alone (SPEC D28).
const PULLS_FROM_CALLER: [Role; 4] =
    [Role::SwapRouter, Role::SwapRouter02, Role::PositionManager, Role::Vault];

/// What is said where the worth of the whole is not known.
const UNKNOWN: &str = "nobody knows now what all holdings are worth: what is held has no price, or there is more of it than is looked \
     at; only what closes goes on";

/// One intent as it is judged. What goes against it is gathered, not returned at once: whoever proposed it learns everything.
pub(super) struct Judgement<'a> {
    published: &'a Published,
    intent: &'a Intent,
    facts: &'a Facts,
    appraisal: Appraisal<'a>,
    denials: Vec<Denial>,
    /// What this intent sells for what the Golem settles in.
    sold: BTreeSet<Address>,
    spend: MicroDollars,
    grown: BTreeMap<Address, MicroDollars>,
}

impl<'a> Judgement<'a> {
    pub(super) fn of(
        published: &'a Published,
        intent: &'a Intent,
        facts: &'a Facts,
    ) -> Result<Permit, Vec<Denial>> {
        let appraisal = Appraisal::new(&intent.listing, &facts.observed, facts.now);
        let mut judgement = Self {
            published,
            intent,
            facts,
            appraisal,
            denials: Vec::new(),
            sold: BTreeSet::new(),
            spend: MicroDollars::ZERO,
            grown: BTreeMap::new(),
        };
        if judgement.is_bounded() {
            judgement.judge_calls();
            judgement.judge_spend();
            judgement.judge_concentration();
        }
        if !judgement.denials.is_empty() {
            return Err(judgement.denials);
        }
        let account = intent.parties.account;
        Ok(Permit {
            digest: CallsDigest::of(account, &intent.calls),
            account,
            most: judgement.spend,
            judged_at: facts.now,
            policy_version: published.version(),
        })
    }

    const fn policy(&self) -> &'a Policy {
        self.published.policy()
    }

    fn deny(&mut self, code: DenialCode, reason: String) {
        self.denials.push(Denial::new(code, reason));
    }

    /// Refuses what would be too much to look at, before looking.
    fn is_bounded(&mut self) -> bool {
        let count = self.intent.calls.len();
        if count == 0 || count > MOST_CALLS {
            let reason = format!("an intent has 1 to {MOST_CALLS} calls, this one {count}");
            self.deny(DenialCode::PolicyBatch, reason);
            return false;
        }
        let bytes =
            self.intent.calls.iter().fold(0usize, |sum, call| sum.saturating_add(call.data.len()));
        if bytes > MOST_CALLDATA {
            let reason =
                format!("an intent has up to {MOST_CALLDATA} bytes of calldata, this one {bytes}");
            self.deny(DenialCode::PolicyBatch, reason);
            return false;
        }
        true
    }

    fn judge_calls(&mut self) {
        let is_fallen = self.is_fallen();
        self.sold = self.sold();
        for call in &self.intent.calls {
            if call.target == self.intent.parties.account {
                // ATK-14: whoever may speak as the account to itself may do anything.
                let reason = format!("a call goes to the account {} itself", call.target);
                self.deny(DenialCode::PolicyTarget, reason);
                continue;
            }
            match read_call(&self.intent.listing, call.target, call.value, &call.data) {
                Ok(actions) => {
                    for action in actions {
                        self.judge_action(&action, is_fallen);
                    }
                }
                Err(refusal) => {
                    let code = match refusal {
                        ActionRefusal::UnknownTarget { .. } => DenialCode::PolicyTarget,
                        ActionRefusal::UnknownCall { .. } | ActionRefusal::NoSelector { .. } => {
                            DenialCode::PolicySelector
                        }
                        _ => DenialCode::PolicyAction,
                    };
                    self.deny(code, refusal.to_string());
                }
            }
        }
    }

    fn judge_action(&mut self, action: &Action, is_fallen: bool) {
        self.judge_parties(action);
        self.judge_assets(action);
        if is_fallen && !self.is_closing(action) && !self.deny_unknown() {
            let reason = format!(
                "holdings are below {} of their highest, {}, and {} does not close anything",
                Share(Policy::MAX_BPS.saturating_sub(self.policy().drawdown_bps)),
                self.facts.high_water,
                action.class.name(),
            );
            self.deny(DenialCode::PolicyDrawdown, reason);
        }
        match self.cost(action) {
            Ok(worth) => match self.spend.checked_add(worth) {
                Some(spend) => self.spend = spend,
                None => self.deny_valuation(&ValuationRefusal::Overflow),
            },
            Err(refusal) => self.deny_valuation(&refusal),
        }
        if let Err(refusal) = self.grow(action) {
            self.deny_valuation(&refusal);
        }
    }

    // Who

    /// Who gives, who gets, who may pull: for each class that knows one, as the charter asks it.
    fn judge_parties(&mut self, action: &Action) {
        let parties = self.intent.parties;
        let (expected, source) = match action.class {
            Class::Swap | Class::Deposit => (Some(parties.account), None),
            Class::AddLiquidity if action.position_id.is_zero() => (Some(parties.account), None),
            Class::Collect => (Some(parties.account), None),
            Class::Withdraw => (Some(parties.account), Some(action.source)),
            // A transfer without a source is the account's own.
            Class::Transfer if action.source.is_zero() => (Some(parties.beneficiary), None),
            Class::Transfer => (Some(parties.beneficiary), Some(action.source)),
            Class::GasTopUp => (Some(parties.agent_key), None),
            Class::Sell => (None, Some(action.source)),
            _ => (None, None),
        };
        let class = action.class.name();
        if let Some(expected) = expected
            && action.recipient != expected
        {
            let reason = format!("{class} pays {}, not {expected}", action.recipient);
            self.deny(DenialCode::PolicyParty, reason);
        }
        if let Some(source) = source
            && source != parties.account
        {
            let reason = format!("{class} takes from {source}, not from {}", parties.account);
            self.deny(DenialCode::PolicyParty, reason);
        }
        self.judge_spender(action);
        self.judge_position(action);
        self.judge_golem(action);
    }

    fn judge_spender(&mut self, action: &Action) {
        if action.class != Class::Approve {
            return;
        }
        let role = role_of(&self.intent.listing, action.spender);
        if !role.is_some_and(|role| PULLS_FROM_CALLER.contains(&role)) {
            let (token, spender) = (action.token_out, action.spender);
            let reason = format!("an allowance of {token} for {spender}, who may pull at any time");
            self.deny(DenialCode::PolicyParty, reason);
        }
    }

    /// Anybody may add to anybody's position (ATK-45).
    fn judge_position(&mut self, action: &Action) {
        let names_one = match action.class {
            Class::AddLiquidity => !action.position_id.is_zero(),
            Class::RemoveLiquidity | Class::Collect | Class::BurnPosition => true,
            _ => false,
        };
        if !names_one {
            return;
        }
        let account = self.intent.parties.account;
        let id = action.position_id;
        let reason = match self.facts.observed.positions.get(&(action.target, id)) {
            Some(position) if position.owner == account => return,
            Some(position) => format!("position {id} is {}'s, not {account}'s", position.owner),
            None => format!("nobody knows whose position {id} is"),
        };
        self.deny(DenialCode::PolicyParty, reason);
    }

    fn judge_golem(&mut self, action: &Action) {
        let speaks = matches!(action.class, Class::SpawnReplicant | Class::Settle | Class::Publish);
        let ours = self.published.golem_id();
        if speaks && action.golem_id != ours {
            let reason = format!("a call speaks for Golem {}, this is {ours}", action.golem_id);
            self.deny(DenialCode::PolicyParty, reason);
        }
    }

    // What

    /// What comes in and what goes out must be on the owner's list. What merely closes is exempt: taking an asset off the list
    /// must not trap what is held of it (SPEC D18). So what is sold for what the Golem settles in need not be listed, nor what a
    /// router is allowed for that very sale; and a dying Golem's sales ask for no list at all.
    fn judge_assets(&mut self, action: &Action) {
        let coin = Address::ZERO;
        let assets = match action.class {
            Class::Swap if self.is_sale(action) && self.facts.is_settling => return,
            Class::Swap if self.is_sale(action) => vec![action.token_in],
            Class::Approve if self.sold.contains(&action.token_out) => return,
            Class::Swap => vec![action.token_out, action.token_in],
            Class::Approve => vec![action.token_out],
            Class::Wrap | Class::Unwrap => vec![coin, action.target],
            Class::GasTopUp => vec![coin],
            Class::AddLiquidity => match self.appraisal.pool_of(action) {
                Ok(pool) => vec![pool.token0, pool.token1],
                // Its price is refused for the same reason.
                Err(_unread) => return,
            },
            Class::Deposit => match self.appraisal.deposited(action) {
                Ok((asset, _assets)) => vec![asset],
                Err(_unread) => return,
            },
            _ => return,
        };
        for asset in assets {
            if !self.policy().has(asset) {
                let (class, count) = (action.class.name(), self.policy().assets.len());
                let reason =
                    format!("{class} of {asset}, none of the {count} assets of the policy");
                self.deny(DenialCode::PolicyAsset, reason);
            }
        }
    }

    /// Whether the holdings fell farther below their highest than the owner allows.
    fn is_fallen(&mut self) -> bool {
        let Some(total) = self.total_holdings() else { return true };
        let kept = Policy::MAX_BPS.saturating_sub(self.policy().drawdown_bps);
        total.times(Policy::MAX_BPS) < self.facts.high_water.times(kept)
    }

    /// Nothing new is begun by these: what was the account's comes back, turns into what it settles in, or goes home. Gas
    /// to do so may be fetched.
    fn is_closing(&self, action: &Action) -> bool {
        match action.class {
            Class::RemoveLiquidity
            | Class::Collect
            | Class::BurnPosition
            | Class::Withdraw
            | Class::Disapprove
            | Class::Transfer
            | Class::Wrap
            | Class::Unwrap
            | Class::GasTopUp
            | Class::Settle
            | Class::Publish => true,
            Class::Swap => self.is_sale(action),
            _ => false,
        }
    }

    /// What the calls of this intent sell that can be read.
    fn sold(&self) -> BTreeSet<Address> {
        let calls = self.intent.calls.iter();
        let actions = calls.filter_map(|call| {
            read_call(&self.intent.listing, call.target, call.value, &call.data).ok()
        });
        let swaps = actions.flatten().filter(|action| action.class == Class::Swap);
        swaps.filter(|swap| self.is_sale(swap)).map(|sale| sale.token_out).collect()
    }

    /// A swap into what the Golem settles in. The same for the same is no sale: it is lost, and nothing is closed.
    fn is_sale(&self, action: &Action) -> bool {
        let cash = self.form(self.intent.parties.settlement_asset);
        self.form(action.token_in) == cash && self.form(action.token_out) != cash
    }

    /// Coins and wrapped coins are one asset.
    fn form(&self, token: Address) -> Address {
        match role_of(&self.intent.listing, token) {
            Some(Role::Weth) => Address::ZERO,
            _ => token,
        }
    }

    // How much

    /// What an action counts for. What a dying Golem sells counts for nothing (SPEC D18), but must still be known; gas money
    /// leaves for good and always counts.
    fn cost(&self, action: &Action) -> Result<MicroDollars, ValuationRefusal> {
        let worth = match action.class {
            Class::GasTopUp => self.appraisal.value_out(self.priced_coin(), action.amount_out)?,
            class if crate::valuation::sends_out(class) => self.appraisal.measure(action)?.out,
            _ => return Ok(MicroDollars::ZERO),
        };
        if self.facts.is_settling && action.class == Class::Swap && self.is_sale(action) {
            return Ok(MicroDollars::ZERO);
        }
        micro_dollars(worth)
    }

    /// The coin by its own feed, or by the feed of its wrapped form.
    fn priced_coin(&self) -> Address {
        let tokens = &self.intent.listing.tokens;
        if tokens.iter().any(|entry| entry.token.is_zero()) {
            return Address::ZERO;
        }
        let wrapped = tokens.iter().find(|entry| entry.role == Some(Role::Weth));
        wrapped.map_or(Address::ZERO, |entry| entry.token)
    }

    /// Notes what an action makes more of. A swap brings about as much as it takes: the more of what it takes at most and of
    /// what it brings at least. What the Golem settles in has no bound, as in `Holdings.sol`: it is where closing leads.
    fn grow(&mut self, action: &Action) -> Result<(), ValuationRefusal> {
        let grown = self.form(action.token_in);
        if action.class != Class::Swap || grown == self.form(self.intent.parties.settlement_asset) {
            return Ok(());
        }
        // A swap that has no price was refused for it already.
        let Ok(worth) = self.appraisal.measure(action) else { return Ok(()) };
        let more = micro_dollars(worth.out.max(worth.back))?;
        let entry = self.grown.entry(grown).or_default();
        *entry = entry.checked_add(more).ok_or(ValuationRefusal::Overflow)?;
        Ok(())
    }

    fn judge_spend(&mut self) {
        let spend = self.spend;
        if spend == MicroDollars::ZERO {
            return;
        }
        let Facts { spent_in_session, spent_in_day, .. } = *self.facts;
        let Policy { spend_per_transaction, spend_per_session, spend_per_day, .. } = *self.policy();
        let limits = [
            (
                DenialCode::PolicySpendTransaction,
                MicroDollars::ZERO,
                spend_per_transaction,
                "a transaction",
            ),
            (DenialCode::PolicySpendSession, spent_in_session, spend_per_session, "a session"),
            (DenialCode::PolicySpendDay, spent_in_day, spend_per_day, "a day"),
        ];
        for (code, before, limit, period) in limits {
            let limit = MicroDollars::from(limit);
            if before.checked_add(spend).is_none_or(|after| after > limit) {
                let reason = format!("{spend} beside {before} is over the {limit} of {period}");
                self.deny(code, reason);
            }
        }
    }

    fn judge_concentration(&mut self) {
        let Some(total) = self.total_holdings() else {
            self.deny(DenialCode::PolicyAmount, "holdings are beyond the arithmetic".to_owned());
            return;
        };
        let most = self.policy().concentration_bps;
        for (asset, more) in std::mem::take(&mut self.grown) {
            let held = MicroDollars::checked_sum(
                self.facts
                    .holdings
                    .iter()
                    .filter(|(token, _)| self.form(**token) == asset)
                    .map(|(_, worth)| *worth),
            );
            let Some(after) = held.and_then(|held| held.checked_add(more)) else {
                self.deny(
                    DenialCode::PolicyAmount,
                    format!("holdings of {asset} are beyond the arithmetic"),
                );
                continue;
            };
            if after.times(Policy::MAX_BPS) > total.times(most) && !self.deny_unknown() {
                let share = Share(most);
                let reason = format!("{after} of {asset} would be more than {share} of {total}");
                self.deny(DenialCode::PolicyConcentration, reason);
            }
        }
    }

    /// Where nobody knows what all of it is worth, that is what is in the way: there is no share of it, and no fall. Said once, however
    /// many calls it stops. Whether that is so.
    fn deny_unknown(&mut self) -> bool {
        let is_unknown = self.facts.holdings.is_empty();
        if is_unknown && !self.denials.iter().any(|denial| denial.reason == UNKNOWN) {
            self.deny(DenialCode::PolicyPriceUnknown, UNKNOWN.to_owned());
        }
        is_unknown
    }

    fn total_holdings(&self) -> Option<MicroDollars> {
        MicroDollars::checked_sum(self.facts.holdings.values().copied())
    }

    fn deny_valuation(&mut self, refusal: &ValuationRefusal) {
        let code = match refusal {
            refusal if refusal.is_amount() => DenialCode::PolicyAmount,
            refusal if refusal.is_stale() => DenialCode::PolicyPriceStale,
            _ => DenialCode::PolicyPriceUnknown,
        };
        self.deny(code, refusal.to_string());
    }
}

fn micro_dollars(worth: U256) -> Result<MicroDollars, ValuationRefusal> {
    MicroDollars::try_from(worth).map_err(|_too_large| ValuationRefusal::Overflow)
}

/// Basis points as people read them.
struct Share(u16);

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:02} %", self.0 / 100, self.0 % 100)
    }
}
