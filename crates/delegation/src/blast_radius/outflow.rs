//! What stock caveats let out of an account that no charter guards.

use super::worth::{Known, least, sum};
use crate::{Rule, terms::TokenPeriod};
use alloy_primitives::{Address, U256};
use std::collections::BTreeSet;

/// The chain's own coin.
const COIN: Address = Address::ZERO;

/// What may be sent where, over all links.
#[derive(Debug, Default)]
pub(super) struct Outflow {
    /// Tokens of which a transfer is the only call there is; none where any call is possible.
    tokens: Option<BTreeSet<Address>>,
    caps: Vec<Cap>,
    /// Coins that one call may carry.
    per_call: Option<U256>,
}

/// Sums of one token that count apart, and together are all there is.
#[derive(Debug)]
struct Cap {
    token: Address,
    parts: Vec<Allowance>,
}

/// What is let out by a moment.
#[derive(Clone, Copy, Debug)]
enum Allowance {
    Sum { left: U256 },
    Period { amount: U256, duration: U256, start: U256, used: U256 },
    Stream { initial: U256, most: U256, rate: U256, start: U256, used: U256 },
}

impl Outflow {
    /// Takes a rule in, if it is about what leaves; `used` is what its enforcer has counted.
    pub(super) fn bind(&mut self, rule: &Rule, used: U256) -> bool {
        match rule {
            Rule::Erc20TransferAmount(rule) => {
                let left = rule.max_amount.saturating_sub(used);
                self.transfers_of(rule.token_address, Allowance::Sum { left });
            }
            Rule::Erc20PeriodTransfer(rule) => {
                let (amount, duration) = (rule.period_amount, rule.period_duration);
                let allowance =
                    Allowance::Period { amount, duration, start: rule.start_date, used };
                self.transfers_of(rule.token_address, allowance);
            }
            Rule::Erc20Streaming(rule) => {
                let (initial, most) = (rule.initial_amount, rule.max_amount);
                let (rate, start) = (rule.amount_per_second, rule.start_time);
                let allowance = Allowance::Stream { initial, most, rate, start, used };
                self.transfers_of(rule.token_address, allowance);
            }
            Rule::NativeTokenTransferAmount(most) => {
                self.cap(COIN, Allowance::Sum { left: most.0.saturating_sub(used) });
            }
            Rule::NativeTokenPeriodTransfer(rule) => {
                let (amount, duration) = (rule.period_amount, rule.period_duration);
                self.cap(
                    COIN,
                    Allowance::Period { amount, duration, start: rule.start_date, used },
                );
            }
            Rule::NativeTokenStreaming(rule) => {
                let (initial, most) = (rule.initial_amount, rule.max_amount);
                let (rate, start) = (rule.amount_per_second, rule.start_time);
                self.cap(COIN, Allowance::Stream { initial, most, rate, start, used });
            }
            Rule::MultiTokenPeriod(rule) => self.periods_of(&rule.0),
            Rule::ExactCalldata(data) if data.0.is_empty() => self.only(BTreeSet::new()),
            Rule::ValueLte(value) => {
                self.per_call = least(self.per_call, Some(value.0));
            }
            _ => return false,
        }
        true
    }

    /// Every call is a transfer of this token. Coins that it carries are another matter.
    fn transfers_of(&mut self, token: Address, allowance: Allowance) {
        self.only([token].into());
        self.cap(token, allowance);
    }

    /// Which entry counts is the redeemer's to say, and each counts by itself. What it has counted is not among
    /// the facts.
    fn periods_of(&mut self, entries: &[TokenPeriod]) {
        let tokens: BTreeSet<Address> = entries.iter().map(|entry| entry.token).collect();
        for token in tokens.iter().copied().chain([COIN]) {
            let parts = entries.iter().filter(|entry| entry.token == token);
            let parts = parts.map(|entry| Allowance::Period {
                amount: entry.period_amount,
                duration: entry.period_duration,
                start: entry.start_date,
                used: U256::ZERO,
            });
            self.caps.push(Cap { token, parts: parts.collect() });
        }
        self.only(tokens);
    }

    fn only(&mut self, tokens: BTreeSet<Address>) {
        self.tokens = Some(match self.tokens.take() {
            Some(before) => before.intersection(&tokens).copied().collect(),
            None => tokens,
        });
    }

    fn cap(&mut self, token: Address, allowance: Allowance) {
        self.caps.push(Cap { token, parts: vec![allowance] });
    }

    /// Whether it is known which tokens can leave at all.
    pub(super) const fn is_closed(&self) -> bool {
        self.tokens.is_some()
    }

    /// Whether what may leave of a token has an end though the grant has none: a sum has, and what comes back with every
    /// period has not.
    pub(super) fn ends(&self, token: Address, calls: Known) -> bool {
        let carried = self.per_call.is_some_and(|each| each.is_zero() || calls.is_some());
        if token == COIN && carried {
            return true;
        }
        let mut caps = self.caps.iter().filter(|cap| cap.token == token);
        caps.any(|cap| cap.parts.iter().all(Allowance::ends))
    }

    /// Tokens that a rule names.
    pub(super) fn tokens(&self) -> impl Iterator<Item = Address> + '_ {
        self.caps.iter().map(|cap| cap.token)
    }

    /// The most of a token that leaves from `from` on by `moment`; none where nothing bounds it.
    pub(super) fn most(
        &self,
        token: Address,
        calls: Known,
        now: u64,
        from: u64,
        moment: u64,
    ) -> Known {
        let other = self.tokens.as_ref().is_some_and(|tokens| !tokens.contains(&token));
        if token != COIN && other {
            return Some(U256::ZERO);
        }
        let span = [now, from, moment].map(U256::from);
        let caps = self.caps.iter().filter(|cap| cap.token == token);
        let caps = caps.map(|cap| sum(cap.parts.iter().map(|part| Some(part.most(span)))));
        let most = caps.fold(None, least);
        if token != COIN {
            return most;
        }
        match (self.per_call, calls) {
            (Some(each), _) if each.is_zero() => Some(U256::ZERO),
            (Some(each), Some(calls)) => least(most, Some(each.saturating_mul(calls))),
            _ => most,
        }
    }
}

impl Allowance {
    fn ends(&self) -> bool {
        match *self {
            Self::Sum { left } => left != U256::MAX,
            // So long that no second one ever begins.
            Self::Period { amount, duration, .. } => {
                amount.is_zero() || duration > U256::from(u64::MAX)
            }
            Self::Stream { most, rate, .. } => most != U256::MAX || rate.is_zero(),
        }
    }

    fn most(&self, [now, from, moment]: [U256; 3]) -> U256 {
        match *self {
            Self::Sum { left } => left,
            Self::Period { amount, duration, start, used } => {
                let period = |at: U256| at.checked_sub(start)?.checked_div(duration);
                let Some(last) = period(moment) else { return U256::ZERO };
                let first = period(from).unwrap_or_default();
                let periods = last.saturating_sub(first).saturating_add(U256::from(1));
                // What is used counts in the present period alone.
                let used = if period(now) == Some(first) { used.min(amount) } else { U256::ZERO };
                periods.saturating_mul(amount).saturating_sub(used)
            }
            Self::Stream { initial, most, rate, start, used } => {
                let Some(passed) = moment.checked_sub(start) else { return U256::ZERO };
                let unlocked = initial.saturating_add(rate.saturating_mul(passed)).min(most);
                unlocked.saturating_sub(used)
            }
        }
    }
}
